// Observers of queries: who comes to match and who is about to match no longer, whatever made it so.
#include "observer_world.h"

#include "world/world.h"

static mica_entity entity_a(void) {
    return mica_entity_make(1, 0);
}

static void an_entity_matches_whichever_component_comes_last(void **state) {
    fixture *f = *state;
    listen_to_query(f, "fast", mica_read(Health), mica_read(Speed));
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    const mica_entity b = mica_spawn(f->world, mica_value_of(Speed, {1}));
    assert_told(f, "");
    mica_set(f->world, a, Speed, {2});
    mica_add(f->world, b, Health);
    assert_told(f, "entered a.fast, entered b.fast");
    mica_remove(f->world, a, Health);
    mica_remove(f->world, b, Speed);
    assert_told(f, "left a.fast, left b.fast");
    mica_remove(f->world, a, Speed);
    mica_spawn(f->world, mica_value_of(Speed, {1}), mica_value_of(Health, {1}));
    assert_told(f, "entered c.fast");
}

static void without_terms_are_left_by_adding(void **state) {
    fixture *f = *state;
    listen_to_query(f, "warm", mica_read(Health), mica_without(Frozen));
    listen_to_query(f, "bare", mica_without(Health));
    const mica_entity a = mica_create(f->world);
    mica_set(f->world, a, Health, {1});
    assert_told(f, "entered a.bare, left a.bare, entered a.warm");
    mica_add(f->world, a, Frozen);
    assert_told(f, "left a.warm");
    mica_remove(f->world, a, Frozen);
    assert_told(f, "entered a.warm");
    mica_add(f->world, a, Frozen);
    forget(f);
    mica_destroy(f->world, a); // it does not match
    assert_told(f, "");
    mica_spawn(f->world, mica_value_of(Armour, {1})); // brings Frozen along
    assert_told(f, "");
}

static void any_of_is_left_with_the_last_of_them(void **state) {
    fixture *f = *state;
    listen_to_query(f, "some", mica_any_read(1, Health), mica_any_read(1, Speed), mica_with(Owned));
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "");
    assert_int_equal(set_owned(f, a, 1), MICA_OK);
    assert_told(f, "entered a.some");
    mica_set(f->world, a, Speed, {1});
    mica_remove(f->world, a, Health);
    assert_told(f, "");
    mica_remove(f->world, a, Speed);
    assert_told(f, "left a.some");
}

static void optional_terms_and_values_make_no_difference(void **state) {
    fixture *f = *state;
    listen_to_query(f, "hurt", mica_read(Health), mica_read_optional(Speed));
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "entered a.hurt");
    mica_set(f->world, a, Speed, {1});
    mica_set(f->world, a, Health, {2});
    mica_remove(f->world, a, Speed);
    mica_add(f->world, a, Frozen);
    assert_told(f, "");
}

static void a_query_without_terms_is_entered_and_left_by_all(void **state) {
    fixture *f = *state;
    mica_query *all = mica_query_create(f->world, NULL, 0);
    connect_def(f, "all", (mica_observer_def){.on = MICA_ENTERED, .of = all}, NULL);
    connect_def(f, "all", (mica_observer_def){.on = MICA_LEFT, .of = all}, NULL);
    const mica_entity a = mica_create(f->world);
    const mica_entity at = mica_entity_make(3, 0);
    mica_entity_create_at(f->world, &at, 1);
    mica_clone(f->world, a);
    assert_told(f, "entered a.all, entered c.all, entered b.all");
    mica_set(f->world, a, Health, {1});
    assert_told(f, "");
    mica_destroy(f->world, a);
    assert_told(f, "left a.all");
    mica_query_release(all);
}

// The observers hold the query; the world drops what nobody holds when it is trimmed.
static void a_query_that_is_observed_stays(void **state) {
    fixture *f = *state;
    mica_query *query = mica_query_create(f->world, &mica_read(Health), 1);
    listener *on = connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .of = query}, NULL);
    mica_query_release(query);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "entered a.hurt");
    const int32_t query_count = mica_world_statistics(f->world).query_count;
    assert_int_equal(mica_observer_disconnect(f->world, on->observer), MICA_OK);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    assert_int_equal(mica_world_statistics(f->world).query_count, query_count - 1);
}

static void queries_are_told_in_the_order_of_their_first_observers(void **state) {
    fixture *f = *state;
    const mica_observer_def fast = {.on = MICA_ENTERED, .query = {mica_read(Speed)}};
    const mica_observer_def hurt = {.on = MICA_ENTERED, .query = {mica_read(Health)}};
    connect_def(f, "fast", fast, NULL);
    connect_def(f, "hurt", hurt, NULL);
    connect_def(f, "fast again", fast, NULL);
    mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    assert_told(f, "entered a.fast, entered a.fast again, entered a.hurt");
}

static void a_change_may_leave_one_query_and_enter_another(void **state) {
    fixture *f = *state;
    listen_to_query(f, "warm", mica_read(Health), mica_without(Frozen));
    listen_to_query(f, "cold", mica_read(Health), mica_with(Frozen));
    listen_to_all(f);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "created a, added a.Health, set a.Health=1, entered a.warm");
    mica_add(f->world, entity_a(), Frozen);
    assert_told(f, "left a.warm, added a.Frozen, entered a.cold");
    mica_remove(f->world, entity_a(), Frozen);
    assert_told(f, "left a.cold, removed a.Frozen, entered a.warm");
    mica_add(f->commands, entity_a(), Frozen);
    mica_remove(f->commands, entity_a(), Health);
    apply(f);
    assert_told(f, "left a.warm, removed a.Health=1, added a.Frozen");
}

// Visibility

static void disabled_entities_are_left_out(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    listen_to_query(f, "seen", mica_read(Health));
    listen_to_query(f, "both", mica_read(Health), mica_disabled_too());
    listen_to_query(f, "hidden", mica_read(Health), mica_disabled_only());
    mica_disable(f->world, a);
    assert_told(f, "left a.seen, entered a.hidden");
    mica_disable(f->world, a);
    assert_told(f, "");
    mica_set(f->world, a, Health, {2});
    mica_remove(f->world, a, Health);
    assert_told(f, "left a.both, left a.hidden");
    mica_set(f->world, a, Health, {2});
    assert_told(f, "entered a.both, entered a.hidden");
    mica_clone(f->world, a);
    assert_told(f, "entered b.both, entered b.hidden");
    mica_enable(f->world, a);
    assert_told(f, "left a.hidden, entered a.seen");
    mica_enable(f->world, a);
    assert_told(f, "");
    mica_disable(f->world, a);
    forget(f);
    mica_destroy(f->world, a);
    assert_told(f, "left a.both, left a.hidden");
}

static void components_that_are_disabled_count_as_absent(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Speed, {1}), mica_tag(Frozen));
    listen_to_query(f, "fast", mica_read(Speed));
    listen_to_query(f, "slow", mica_without(Speed));
    listen(f, MICA_ADDED, mica_type_of(Speed));
    listen(f, MICA_REMOVED, mica_type_of(Speed));
    assert_int_equal(mica_disable_component(f->world, a, Speed), MICA_OK);
    assert_told(f, "left a.fast, entered a.slow");
    assert_int_equal(mica_disable_component(f->world, a, Speed), MICA_OK);
    assert_int_equal(mica_disable_component(f->world, a, Frozen), MICA_OK);
    assert_told(f, "");
    assert_int_equal(mica_enable_component(f->world, a, Speed), MICA_OK);
    assert_told(f, "left a.slow, entered a.fast");
    assert_int_equal(mica_disable_component(f->world, a, Speed), MICA_OK);
    forget(f);
    // It goes while it is disabled, and comes enabled.
    assert_int_equal(mica_remove(f->world, a, Speed), MICA_OK);
    assert_told(f, "removed a.Speed=1");
    assert_int_equal(mica_set(f->world, a, Speed, {2}), MICA_OK);
    assert_told(f, "left a.slow, added a.Speed, entered a.fast");
}

static void a_component_removed_and_added_in_a_buffer_is_enabled(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Speed, {1}));
    assert_int_equal(mica_disable_component(f->world, a, Speed), MICA_OK);
    listen_to_query(f, "fast", mica_read(Speed));
    mica_remove(f->commands, a, Speed);
    mica_set(f->commands, a, Speed, {2});
    apply(f);
    assert_told(f, "entered a.fast");
}

static void the_killed_leave_at_once_and_are_told_of_as_gone_later(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    listen_to_query(f, "seen", mica_read(Health));
    listen_to_query(f, "both", mica_read(Health), mica_disabled_too());
    listen_to_query(f, "bare", mica_without(Health));
    listen(f, MICA_REMOVED, mica_type_of(Health));
    listen(f, MICA_DESTROYED, NULL);
    mica_kill(f->world, a);
    assert_told(f, "left a.seen, left a.both");
    mica_kill(f->world, a);
    mica_disable(f->world, a);
    mica_enable(f->world, a);
    assert_told(f, "");
    mica_remove(f->world, a, Health);
    mica_set(f->world, a, Health, {2});
    assert_told(f, "removed a.Health=1");
    mica_clone(f->world, a); // the clone is not killed
    assert_told(f, "entered b.seen, entered b.both");
    mica_refresh(f->world);
    assert_told(f, "removed a.Health=2, destroyed a");
}

static void visibility_in_buffers_is_told_of_too(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    listen_to_query(f, "hurt", mica_read(Health));
    listen_to_query(f, "fast", mica_read(Speed));
    mica_disable_component(f->commands, a, Speed);
    mica_disable(f->commands, a);
    apply(f);
    assert_told(f, "left a.fast, left a.hurt");
    mica_enable(f->commands, a);
    mica_kill(f->commands, a);
    mica_refresh(f->commands);
    apply(f);
    assert_told(f, "entered a.hurt, left a.hurt");
    assert_false(mica_alive(f->world, a));
}

static void links_enter_and_leave_queries(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    const mica_entity b = mica_create(f->world);
    const mica_entity c = mica_create(f->world);
    mica_set_parent(f->world, c, b);
    listen_to_query(f, "child", mica_read(mica_child_of));
    mica_set_parent(f->world, b, a);
    assert_told(f, "entered b.child");
    mica_set_parent(f->world, c, a);
    assert_told(f, "");
    mica_set_parent(f->world, c, b);
    mica_destroy(f->world, a); // b becomes a root
    assert_told(f, "left b.child");
    mica_destroy_subtree(f->world, b);
    assert_told(f, "left c.child");
}

// What is there already

static void those_that_match_already_come_in_order_of_visit(void **state) {
    fixture *f = *state;
    mica_entity entities[8];
    for (int32_t i = 0; i < 8; i++) {
        entities[i] = mica_spawn(f->world, mica_value_of(Health, {i}));
        if (i % 3 == 0) {
            mica_set(f->world, entities[i], Speed, {i});
        }
        if (i % 2 == 0) {
            mica_add(f->world, entities[i], Frozen);
        }
    }
    mica_destroy(f->world, entities[1]);
    mica_disable(f->world, entities[3]);
    mica_kill(f->world, entities[5]);
    mica_query *query =
        mica_query_create(f->world, (const mica_term[]){mica_read(Health), mica_read_optional(Speed)}, 2);
    char expected[256] = "";
    mica_entity found[8];
    const int32_t found_count = mica_query_entities(query, found, 8);
    for (int32_t i = 0; i < found_count; i++) {
        const size_t length = strlen(expected);
        snprintf(expected + length, sizeof(expected) - length, "%sentered %s.hurt", length == 0 ? "" : ", ",
                 name_entity(found[i]).text);
    }
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .of = query, .existing = true}, NULL);
    assert_int_equal(f->call_count, 5);
    assert_told(f, expected);
    mica_query_release(query);
}

static void record_a_wider_match(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_remove(signal->commands, signal->entity, Health), MICA_OK);
    mica_spawn(signal->commands, mica_value_of(Speed, {1}));
}

static void reacting_to_a_match_may_end_it(void **state) {
    fixture *f = *state;
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .query = {mica_read(Health)}}, record_a_wider_match);
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_LEFT, .query = {mica_read(Health)}}, NULL);
    listen_to_query(f, "fast", mica_read(Speed));
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "entered a.hurt, left a.hurt, entered b.fast");
    assert_false(mica_query_contains(mica_query_of(f->world, mica_read(Health)), entity_a()));
}

static void everybody_leaves_when_the_world_is_cleared_or_ends(void **state) {
    fixture *f = *state;
    listen_to_query(f, "hurt", mica_read(Health));
    for (uint32_t round = 0; round < 2; round++) {
        mica_spawn(f->world, mica_value_of(Health, {1}));
        mica_spawn(f->world, mica_value_of(Speed, {1}));
        mica_disable(f->world, mica_spawn(f->world, mica_value_of(Health, {1})));
        forget(f);
        f->call_count = 0;
        if (round == 0) {
            mica_world_clear(f->world);
        } else {
            end_world(f);
        }
        assert_int_equal(f->call_count, 1);
        assert_non_null(strstr(f->told, "left "));
    }
}

// The value's observer is told of something that no query asks about.
static void a_value_that_comes_elsewhere_lets_nobody_enter_again(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    const mica_entity b = mica_create(f->world);
    listen(f, MICA_SET, mica_type_of(Speed));
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .query = {mica_read(Health)}}, NULL);
    mica_set(f->world, a, Health, {1});
    assert_told(f, "entered a.hurt");
    mica_set(f->world, b, Speed, {1});
    assert_told(f, "set b.Speed=1");
    mica_set(f->commands, a, Speed, {2});
    apply(f);
    assert_told(f, "set a.Speed=2");
}

static void go(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_OK);
}

static void a_query_is_let_go_with_its_last_observer(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    const listener *on = connect_def(f, "hurt", (mica_observer_def){.on = MICA_LEFT, .query = {mica_read(Health)}}, go);
    assert_int_equal(mica_observer_disconnect(f->world, on->observer), MICA_OK);
    assert_false(f->world->front.is_watched);
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .query = {mica_read(Health)}}, go);
    mica_set(f->world, a, Health, {1}); // it goes by itself, during the broadcast
    assert_told(f, "entered a.hurt");
    assert_false(f->world->front.is_watched);
    assert_int_equal(f->world->signals.queries.count, 0);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    assert_int_equal(mica_world_statistics(f->world).query_count, 0);
}

enum { HIGH_COUNT = 300 };
static mica_observer high_observer;
static mica_component highest;

static void connect_without_memory(fixture *f, const mica_signal *signal) {
    mica_query *query = mica_query_find(f->world, &(mica_term){.use = MICA_USE_WITH, .component = highest}, 1);
    const mica_observer_def def = {.on = MICA_ENTERED, .of = query, .call = write_down, .user = signal->user};
    uint64_t n = 1;
    do {
        test_allocator_fail_at(&f->allocator, n++);
        high_observer = mica_observer_connect(f->world, &def);
        test_allocator_fail_stop(&f->allocator);
        // Another one that needs no memory: all that is known of who listens is brought up to date.
        assert_int_equal(mica_observer_disconnect(f->world, f->listeners[1].observer), MICA_OK);
        f->listeners[1].observer = mica_on_set(f->world, Speed, write_down, &f->listeners[1]);
    } while (high_observer.id == 0);
}

static void connecting_to_a_query_inside_without_memory_connects_nobody(void **state) {
    static mica_type types[HIGH_COUNT];
    static char names[HIGH_COUNT][16];
    fixture *f = *state;
    for (int32_t i = 0; i < HIGH_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "High%d", i);
        types[i] = (mica_type){.name = names[i], .kind = MICA_KIND_TAG};
        highest = mica_world_register(f->world, &types[i]);
        assert_int_not_equal(highest, 0);
    }
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    listen_then(f, MICA_SET, mica_type_of(Health), connect_without_memory);
    listen(f, MICA_SET, mica_type_of(Speed));
    mica_set(f->world, a, Health, {2});
    assert_int_equal(mica_observer_disconnect(f->world, high_observer), MICA_OK);
    assert_int_equal(f->world->signals.queries.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_value_that_comes_elsewhere_lets_nobody_enter_again),
        CASE(a_query_is_let_go_with_its_last_observer),
        CASE(connecting_to_a_query_inside_without_memory_connects_nobody),
        CASE(an_entity_matches_whichever_component_comes_last),
        CASE(without_terms_are_left_by_adding),
        CASE(any_of_is_left_with_the_last_of_them),
        CASE(optional_terms_and_values_make_no_difference),
        CASE(a_query_without_terms_is_entered_and_left_by_all),
        CASE(a_query_that_is_observed_stays),
        CASE(queries_are_told_in_the_order_of_their_first_observers),
        CASE(a_change_may_leave_one_query_and_enter_another),
        CASE(disabled_entities_are_left_out),
        CASE(components_that_are_disabled_count_as_absent),
        CASE(a_component_removed_and_added_in_a_buffer_is_enabled),
        CASE(the_killed_leave_at_once_and_are_told_of_as_gone_later),
        CASE(visibility_in_buffers_is_told_of_too),
        CASE(links_enter_and_leave_queries),
        CASE(those_that_match_already_come_in_order_of_visit),
        CASE(reacting_to_a_match_may_end_it),
        CASE(everybody_leaves_when_the_world_is_cleared_or_ends),
    };
    return run_in_all_storages(tests, sizeof(tests) / sizeof(tests[0]));
}
