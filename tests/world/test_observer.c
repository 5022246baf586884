// Observers: who is told of what by each verb, in which order, and what can be read meanwhile. In all storages.
#include "observer_world.h"

// Spawning and changing

static void a_spawn_is_told_of_as_a_whole_in_order_of_names(void **state) {
    fixture *f = *state;
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    const mica_entity a = mica_spawn(f->world, mica_value_of(Speed, {2}), mica_value_of(Health, {1}), mica_tag(Frozen));
    assert_told(f, "created a, added a.Frozen, added a.Health, added a.Speed, set a.Health=1, set a.Speed=2, "
                   "entered a.hurt");
    mica_destroy(f->world, a);
    assert_told(f, "left a.hurt, removed a.Frozen, removed a.Health=1, removed a.Speed=2, destroyed a");
    mica_create(f->world);
    assert_told(f, "created a1");
}

static void what_is_constructed_is_added_and_not_set(void **state) {
    fixture *f = *state;
    listen_to_all(f);
    const mica_entity a = mica_spawn(f->world, mica_tag(Health), mica_tag(Owned));
    assert_told(f, "created a, added a.Health, added a.Owned");
    mica_add(f->world, a, Speed);
    assert_told(f, "added a.Speed");
    mica_spawn(f->world, mica_value_of(Armour, {4}));
    assert_told(f, "created b, added b.Armour, added b.Frozen, added b.Health, set b.Armour=4");
}

static void adding_setting_and_patching_tell_of_the_value(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    listen_to_all(f);
    assert_int_equal(mica_add_value(f->world, a, Health, {1}), MICA_OK);
    assert_told(f, "added a.Health, set a.Health=1");
    assert_int_equal(mica_set(f->world, a, Speed, {2}), MICA_OK);
    assert_told(f, "added a.Speed, set a.Speed=2");
    assert_int_equal(mica_set(f->world, a, Health, {1}), MICA_OK);
    assert_told(f, "set a.Health=1");
    assert_int_equal(set_owned(f, a, 5), MICA_OK);
    assert_told(f, "added a.Owned, set a.Owned=5");
    assert_int_equal(set_owned(f, a, 6), MICA_OK);
    assert_told(f, "set a.Owned=6");
    assert_int_equal(mica_set_from(f->world, a, Health, mica_get(f->world, a, Health)), MICA_OK);
    assert_told(f, "set a.Health=1");
    assert_int_equal(mica_add(f->world, a, Frozen), MICA_OK);
    assert_told(f, "added a.Frozen");
}

static void hurt(void *value, void *user) {
    ((Health *)value)->now -= *(const int32_t *)user;
}

static void a_patch_is_a_set_and_an_address_for_writing_is_none(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {10}));
    listen_to_all(f);
    int32_t points = 3;
    assert_int_equal(mica_patch(f->world, a, Health, hurt, &points), MICA_OK);
    assert_told(f, "set a.Health=7");
    mica_get_write(f->world, a, Health)->now = 1;
    mica_each (mica_query_of(f->world, mica_write(Health)), it) {
        mica_write_of(it, Health)[0].now = 2;
    }
    assert_told(f, "");
}

// Armour brings two others along, and moves the entity to another table: what was there before is not told of.
static void what_is_required_comes_along_and_what_was_there_is_not_told_of(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Speed, {1}), mica_value_of(Health, {2}));
    assert_int_equal(set_owned(f, a, 3), MICA_OK);
    listen_to_all(f);
    assert_int_equal(mica_set(f->world, a, Armour, {4}), MICA_OK);
    assert_told(f, "added a.Armour, added a.Frozen, set a.Armour=4");
    assert_int_equal(mica_remove(f->world, a, Armour), MICA_OK);
    assert_told(f, "removed a.Armour=4");
    assert_int_equal(mica_remove(f->world, a, Health), MICA_OK);
    assert_int_equal(mica_remove(f->world, a, Health), MICA_OK); // nothing is there
    assert_told(f, "removed a.Health=2");
    assert_int_equal(mica_add(f->world, a, Armour), MICA_OK);
    assert_told(f, "added a.Armour, added a.Health");
}

static void a_clone_is_told_of_like_a_spawn_with_values(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}), mica_tag(Frozen));
    assert_int_equal(set_owned(f, a, 7), MICA_OK);
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    mica_clone(f->world, a);
    assert_told(f, "created b, added b.Frozen, added b.Health, added b.Owned, set b.Health=1, set b.Owned=7, "
                   "entered b.hurt");
}

static void of_many_each_is_told_of_by_itself(void **state) {
    fixture *f = *state;
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    const Health healths[] = {{1}, {2}};
    mica_entity made[2];
    assert_int_equal(
        mica_spawn_many(f->world, 2, made, mica_tag(Speed), mica_column_of(Health, healths), mica_tag(Frozen)),
        MICA_OK);
    assert_told(f, "created a, added a.Frozen, added a.Health, added a.Speed, set a.Health=1, entered a.hurt, "
                   "created b, added b.Frozen, added b.Health, added b.Speed, set b.Health=2, entered b.hurt");
    const mica_entity twice[] = {made[1], made[0], made[1]};
    assert_int_equal(mica_destroy_many(f->world, twice, 3), MICA_OK);
    assert_told(f, "left b.hurt, removed b.Frozen, removed b.Health=2, removed b.Speed=0, destroyed b, "
                   "left a.hurt, removed a.Frozen, removed a.Health=1, removed a.Speed=0, destroyed a");
    const mica_entity at[] = {mica_entity_make(6, 0), mica_entity_make(4, 0)};
    assert_int_equal(mica_entity_create_at(f->world, at, 2), MICA_OK);
    assert_told(f, "created f, created d");
}

static void many_that_nobody_asked_the_handles_of_are_told_of(void **state) {
    fixture *f = *state;
    listen(f, MICA_CREATED, NULL);
    listen(f, MICA_ADDED, mica_type_of(Speed));
    assert_int_equal(mica_entity_spawn_many(f->world, NULL, 0, 2, NULL), MICA_OK);
    assert_told(f, "created a, created b");
    assert_int_equal(mica_spawn_many(f->world, 2, NULL, mica_tag(Speed)), MICA_OK);
    assert_told(f, "created c, added c.Speed, created d, added d.Speed");
}

static void fill_healths(void *user, const mica_spawn_span *span) {
    const fixture *f = user;
    assert_string_equal(f->told, ""); // nothing is told of what is half made
    for (int32_t i = 0; i < span->count; i++) {
        ((Health *)span->columns[0])[i].now = 10 + span->first + i;
    }
}

static void what_is_filled_in_is_told_of_when_it_is_there(void **state) {
    fixture *f = *state;
    listen(f, MICA_CREATED, NULL);
    listen(f, MICA_ADDED, mica_type_of(Health));
    listen(f, MICA_SET, mica_type_of(Health));
    listen_to_query(f, "hurt", mica_read(Health));
    assert_int_equal(mica_entity_spawn_fill(f->world, &f->health, 1, 3, fill_healths, f), MICA_OK);
    assert_told(f, "created a, added a.Health, set a.Health=10, entered a.hurt, created b, added b.Health, "
                   "set b.Health=11, entered b.hurt, created c, added c.Health, set c.Health=12, entered c.hurt");
    int32_t sum = 0;
    mica_each_row (mica_query_of(f->world, mica_read(Health)), it) {
        sum += mica_row_read(it, Health)->now;
    }
    assert_int_equal(sum, 33);
}

static void expect_filled_value(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_signal_value(signal, Health)->now, 9 + (int32_t)mica_entity_index(signal->entity));
}

static void a_value_that_is_filled_in_is_there_when_it_is_told_of(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_ADDED, mica_type_of(Health), expect_filled_value);
    listen_then(f, MICA_SET, mica_type_of(Health), expect_filled_value);
    assert_int_equal(mica_entity_spawn_fill(f->world, &f->health, 1, 2, fill_healths, f), MICA_OK);
    assert_int_equal(f->call_count, 4);
}

// Going

static void kill_and_refresh(fixture *f, mica_entity entity) {
    assert_int_equal(mica_kill(f->world, entity), MICA_OK);
    assert_int_equal(mica_refresh(f->world), 1);
}

static void remove_each(fixture *f, mica_entity entity) {
    assert_int_equal(mica_remove(f->world, entity, Frozen), MICA_OK);
    assert_int_equal(mica_remove(f->world, entity, Health), MICA_OK);
    assert_int_equal(mica_remove(f->world, entity, Owned), MICA_OK);
}

static void destroy_it(fixture *f, mica_entity entity) {
    assert_int_equal(mica_destroy(f->world, entity), MICA_OK);
}

static void destroy_it_among_many(fixture *f, mica_entity entity) {
    assert_int_equal(mica_destroy_many(f->world, &entity, 1), MICA_OK);
}

static void destroy_it_with_its_subtree(fixture *f, mica_entity entity) {
    assert_int_equal(mica_destroy_subtree(f->world, entity), MICA_OK);
}

static void destroy_what_is_above_it(fixture *f, mica_entity entity) {
    assert_int_equal(mica_destroy_subtree(f->world, mica_parent(f->world, entity)), MICA_OK);
}

static void clear_the_world(fixture *f, mica_entity entity) {
    (void)entity;
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
}

static void end_it_with_the_world(fixture *f, mica_entity entity) {
    (void)entity;
    end_world(f);
}

static void record_removals(fixture *f, mica_entity entity) {
    mica_remove(f->commands, entity, Owned);
    mica_remove(f->commands, entity, Health);
    mica_remove(f->commands, entity, Frozen);
    apply(f);
}

static void record_its_end(fixture *f, mica_entity entity) {
    mica_set(f->commands, entity, Speed, {1});
    mica_destroy(f->commands, entity);
    apply(f);
}

static void record_its_end_among_many(fixture *f, mica_entity entity) {
    mica_destroy_many(f->commands, &entity, 1);
    apply(f);
}

static void record_the_end_of_the_subtree(fixture *f, mica_entity entity) {
    mica_destroy_subtree(f->commands, mica_parent(f->world, entity));
    apply(f);
}

static void record_a_kill_and_refresh(fixture *f, mica_entity entity) {
    mica_kill(f->commands, entity);
    mica_refresh(f->commands);
    apply(f);
}

static const struct {
    const char *name;
    void (*end)(fixture *f, mica_entity entity);
    bool is_whole; // everything goes at once
} ways[] = {
    {"remove", remove_each, false},
    {"destroy", destroy_it, true},
    {"destroy many", destroy_it_among_many, true},
    {"destroy subtree", destroy_it_with_its_subtree, true},
    {"destroy subtree above", destroy_what_is_above_it, true},
    {"kill and refresh", kill_and_refresh, true},
    {"clear", clear_the_world, true},
    {"end of the world", end_it_with_the_world, true},
    {"recorded removals", record_removals, true},
    {"recorded destroy", record_its_end, true},
    {"recorded destroy many", record_its_end_among_many, true},
    {"recorded destroy subtree", record_the_end_of_the_subtree, true},
    {"recorded kill and refresh", record_a_kill_and_refresh, true},
};

static void expect_all_values(fixture *f, const mica_signal *signal) {
    const Health *health = mica_get(f->world, signal->entity, Health);
    assert_non_null(health);
    assert_int_equal(health->now, 5);
    const Owned *owned = mica_get(f->world, signal->entity, Owned);
    assert_non_null(owned);
    assert_ptr_equal(owned->self, owned);
    assert_int_equal(*owned->number, 6);
    assert_true(mica_has(f->world, signal->entity, Frozen));
    assert_false(mica_entity_is_null(mica_parent(f->world, signal->entity)));
}

// The entity stands between two others, so that rows and elements move when it goes.
static void what_goes_can_be_read_whatever_made_it_go(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        fixture f;
        begin_limited(&f, 0);
        const mica_entity parent = mica_create(f.world);
        mica_entity entities[3];
        for (int32_t k = 0; k < 3; k++) {
            entities[k] = mica_spawn(f.world, mica_value_of(Health, {k == 1 ? 5 : 50}), mica_tag(Frozen));
            assert_int_equal(set_owned(&f, entities[k], k == 1 ? 6 : 60), MICA_OK);
        }
        assert_int_equal(mica_set_parent(f.world, entities[1], parent), MICA_OK);
        mica_destroy(f.world, entities[2]);
        mica_destroy(f.world, entities[0]);
        const listener_function then = ways[i].is_whole ? expect_all_values : NULL;
        listen_then(&f, MICA_REMOVED, mica_type_of(Owned), then);
        listen_then(&f, MICA_REMOVED, mica_type_of(Health), then);
        listen_then(&f, MICA_REMOVED, mica_type_of(Frozen), then);
        ways[i].end(&f, entities[1]);
        if (strcmp(f.told, "removed c.Frozen, removed c.Health=5, removed c.Owned=6") != 0) {
            fail_msg("%s: %s", ways[i].name, f.told);
        }
        void *end = &f;
        tear_down(&end);
    }
}

static void in_destroyed_everything_can_still_be_read(void **state) {
    fixture *f = *state;
    const mica_entity parent = mica_create(f->world);
    const mica_entity child = mica_spawn(f->world, mica_value_of(Health, {5}), mica_tag(Frozen));
    assert_int_equal(set_owned(f, child, 6), MICA_OK);
    assert_int_equal(mica_set_parent(f->world, child, parent), MICA_OK);
    listen_then(f, MICA_DESTROYED, NULL, expect_all_values);
    assert_int_equal(mica_destroy(f->world, child), MICA_OK);
    assert_told(f, "destroyed b");
}

static void the_killed_are_told_of_in_order_of_their_indices(void **state) {
    fixture *f = *state;
    mica_entity entities[3];
    for (int32_t i = 0; i < 3; i++) {
        entities[i] = mica_spawn(f->world, mica_value_of(Health, {i}));
    }
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    mica_kill(f->world, entities[2]);
    mica_kill(f->world, entities[0]);
    assert_told(f, "left c.hurt, left a.hurt");
    assert_int_equal(mica_refresh(f->world), 2);
    assert_told(f, "removed a.Health=0, destroyed a, removed c.Health=2, destroyed c");
}

static void build_a_tree(fixture *f, mica_entity *tree) {
    for (uint32_t i = 0; i < 4; i++) {
        tree[i] = mica_create(f->world);
    }
    // a has the children d and b; b has c.
    mica_set_parent(f->world, tree[3], tree[0]);
    mica_set_parent(f->world, tree[1], tree[0]);
    mica_set_parent(f->world, tree[2], tree[1]);
}

static void children_are_told_of_before_their_parents_go(void **state) {
    fixture *f = *state;
    mica_entity tree[4];
    build_a_tree(f, tree);
    listen(f, MICA_REMOVED, mica_type_of(mica_child_of));
    listen(f, MICA_DESTROYED, NULL);
    assert_int_equal(mica_destroy_subtree(f->world, tree[0]), MICA_OK);
    assert_told(f, "removed d.ChildOf=a, destroyed d, removed c.ChildOf=b, destroyed c, removed b.ChildOf=a, "
                   "destroyed b, destroyed a");
}

static void expect_parents_to_live(fixture *f, const mica_signal *signal) {
    const mica_entity parent = mica_parent(f->world, signal->entity);
    assert_true(mica_entity_is_null(parent) || mica_alive(f->world, parent));
}

static void clearing_and_ending_tell_of_children_first(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_DESTROYED, NULL, expect_parents_to_live);
    for (uint32_t round = 0; round < 2; round++) {
        mica_entity chain[5];
        for (uint32_t i = 0; i < 5; i++) {
            chain[i] = mica_create(f->world);
        }
        const uint32_t links[4][2] = {{1, 3}, {3, 0}, {0, 4}, {4, 2}}; // child, parent
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(mica_set_parent(f->world, chain[links[i][0]], chain[links[i][1]]), MICA_OK);
        }
        char expected[256];
        snprintf(expected, sizeof(expected), "destroyed %s, destroyed %s, destroyed %s, destroyed %s, destroyed %s",
                 name_entity(chain[1]).text, name_entity(chain[3]).text, name_entity(chain[0]).text,
                 name_entity(chain[4]).text, name_entity(chain[2]).text);
        if (round == 0) {
            assert_int_equal(mica_world_clear(f->world), MICA_OK);
        } else {
            end_world(f);
        }
        assert_told(f, expected);
    }
}

static void clearing_tells_all_of_everybody(void **state) {
    fixture *f = *state;
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {2}), mica_tag(Frozen));
    forget(f);
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    assert_told(f, "left a.hurt, removed a.Frozen, removed a.Health=1, removed a.Speed=2, destroyed a");
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    assert_told(f, "");
    const mica_entity next = mica_spawn(f->world, mica_value_of(Health, {3}));
    char expected[256];
    snprintf(expected, sizeof(expected), "created %s, added %s.Health, set %s.Health=3, entered %s.hurt",
             name_entity(next).text, name_entity(next).text, name_entity(next).text, name_entity(next).text);
    assert_told(f, expected);
}

// Hooks and observers

static fixture *loud_fixture; // hooks cannot be told of it: their type is declared once

static bool loud_construct(void *values, int32_t count, const mica_hook_context *context) {
    memset(values, 0, (size_t)count * sizeof(int32_t));
    (void)context;
    tell(loud_fixture, "construct");
    return true;
}

static void loud_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
    tell(loud_fixture, "destruct");
}

static bool loud_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * sizeof(int32_t));
    tell(loud_fixture, "copy");
    return true;
}

static void values_are_made_before_observers_hear_of_them_and_end_after(void **state) {
    fixture *f = *state;
    mica_type loud = {.name = "Loud", .size = sizeof(int32_t), .align = _Alignof(int32_t)};
    loud.traits = mica_type_Health.traits; // its storage
    loud.traits.hooks = (mica_hooks){.construct = loud_construct, .destruct = loud_destruct, .copy = loud_copy};
    loud_fixture = f;
    listen(f, MICA_SET, &loud);
    listen(f, MICA_REMOVED, &loud);
    listen(f, MICA_ADDED, &loud);
    listen(f, MICA_DESTROYED, NULL);
    const mica_component component = mica_world_register(f->world, &loud);
    const int32_t number = 3;
    const mica_entity a = mica_create(f->world);
    assert_int_equal(mica_entity_add(f->world, a, component, NULL), MICA_OK);
    assert_told(f, "construct, added a.Loud");
    assert_int_equal(mica_entity_remove(f->world, a, component), MICA_OK);
    assert_told(f, "removed a.Loud=0, destruct");
    assert_int_equal(mica_entity_add(f->world, a, component, &number), MICA_OK);
    assert_told(f, "copy, added a.Loud, set a.Loud=3");
    assert_int_equal(mica_destroy(f->world, a), MICA_OK);
    assert_told(f, "removed a.Loud=3, destroyed a, destruct");
}

// Relations

static void expect_the_link(fixture *f, const mica_signal *signal) {
    const mica_entity parent = mica_signal_value(signal, mica_child_of)->parent;
    assert_true(mica_entity_equal(mica_parent(f->world, signal->entity), parent));
    bool is_listed = false;
    for (mica_entity child = mica_first_child(f->world, parent); !mica_entity_is_null(child);
         child = mica_next_sibling(f->world, child)) {
        is_listed |= mica_entity_equal(child, signal->entity);
    }
    assert_true(is_listed);
}

static void listen_to_links(fixture *f) {
    mica_type *type = mica_type_of(mica_child_of);
    listen_then(f, MICA_REMOVED, type, expect_the_link);
    listen_then(f, MICA_ADDED, type, expect_the_link);
    listen_then(f, MICA_SET, type, expect_the_link);
    listen(f, MICA_CREATED, NULL);
    listen(f, MICA_DESTROYED, NULL);
}

static void links_are_told_of_when_both_ends_agree(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    const mica_entity b = mica_create(f->world);
    const mica_entity c = mica_create(f->world);
    listen_to_links(f);
    assert_int_equal(mica_set_parent(f->world, c, a), MICA_OK);
    assert_told(f, "added c.ChildOf, set c.ChildOf=a");
    assert_int_equal(mica_set_parent(f->world, c, b), MICA_OK);
    assert_told(f, "set c.ChildOf=b");
    assert_int_equal(mica_set(f->world, c, mica_child_of, {a}), MICA_OK);
    assert_told(f, "set c.ChildOf=a");
    assert_int_equal(mica_clone(f->world, c).bits != 0, true);
    assert_told(f, "created d, added d.ChildOf, set d.ChildOf=a");
    assert_int_equal(mica_remove(f->world, c, mica_child_of), MICA_OK);
    assert_told(f, "removed c.ChildOf=a");
    assert_int_equal(mica_set_parent(f->world, c, MICA_NULL), MICA_OK); // a root already
    assert_told(f, "");
    assert_int_equal(mica_set_parent(f->world, c, b), MICA_OK);
    forget(f);
    assert_int_equal(mica_set_parent(f->world, c, MICA_NULL), MICA_OK);
    assert_told(f, "removed c.ChildOf=b");
    mica_spawn(f->world, mica_value_of(mica_child_of, {b}));
    assert_told(f, "created e, added e.ChildOf, set e.ChildOf=b");
    mica_spawn(f->world, mica_value_of(mica_child_of, {MICA_NULL})); // nobody's child is a root
    assert_told(f, "created f");
}

static void many_links_at_once_are_told_of_one_by_one(void **state) {
    fixture *f = *state;
    mica_entity entities[4];
    for (uint32_t i = 0; i < 4; i++) {
        entities[i] = mica_create(f->world);
    }
    assert_int_equal(mica_set_parent(f->world, entities[3], entities[0]), MICA_OK);
    listen(f, MICA_REMOVED, mica_type_of(mica_child_of));
    listen(f, MICA_ADDED, mica_type_of(mica_child_of));
    listen(f, MICA_SET, mica_type_of(mica_child_of));
    const mica_entity children[] = {entities[2], entities[1], entities[3]};
    const mica_entity parents[] = {entities[1], entities[0], MICA_NULL};
    assert_int_equal(mica_set_parent_many(f->world, children, parents, 3), MICA_OK);
    assert_told(f, "removed d.ChildOf=a, added c.ChildOf, set c.ChildOf=b, added b.ChildOf, set b.ChildOf=a");
}

// Links and lists of children say the same of everybody, and no way up goes on for ever.
static void expect_sound_links(fixture *f, const mica_signal *signal) {
    (void)signal;
    for (uint32_t index = 1; index <= 3; index++) {
        const mica_entity entity = mica_entity_make(index, 0);
        const mica_child_of *link = mica_get(f->world, entity, mica_child_of);
        assert_true(mica_entity_equal(mica_parent(f->world, entity), link == NULL ? MICA_NULL : link->parent));
        mica_entity above = entity;
        for (int32_t depth = 0; !mica_entity_is_null(above); depth++) {
            assert_true(depth < 3);
            above = mica_parent(f->world, above);
        }
    }
}

// Of three in a chain the last one becomes the first, so that the way from one end to the other leads over a loop.
static void links_are_sound_whenever_one_of_many_is_told_of(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_create(f->world);
    const mica_entity b = mica_create(f->world);
    const mica_entity c = mica_create(f->world);
    mica_set_parent(f->world, b, a);
    mica_set_parent(f->world, c, b);
    for (mica_signal_kind kind = MICA_ADDED; kind <= MICA_REMOVED; kind++) {
        listen_then(f, kind, mica_type_of(mica_child_of), expect_sound_links);
    }
    const mica_term above = mica_without(mica_child_of);
    connect_def(f, "root", (mica_observer_def){.on = MICA_LEFT, .query = {above}}, expect_sound_links);
    connect_def(f, "root", (mica_observer_def){.on = MICA_ENTERED, .query = {above}}, expect_sound_links);
    const mica_entity children[] = {a, b, c};
    const mica_entity parents[] = {b, c, MICA_NULL};
    assert_int_equal(mica_set_parent_many(f->world, children, parents, 3), MICA_OK);
    assert_told(f, "left a.root, removed c.ChildOf=b, added a.ChildOf, set a.ChildOf=b, set b.ChildOf=c, "
                   "entered c.root");
}

// Where there is no memory to take ChildOf away, a child keeps it, with nobody as its parent.
static void many_links_without_memory_are_told_of_as_they_end(void **state) {
    (void)state;
    for (uint64_t n = 1, is_reached = 1; is_reached != 0; n++) {
        fixture f;
        begin_limited(&f, 0);
        const mica_entity parent = mica_create(f.world);
        const mica_entity child = mica_create(f.world);
        assert_int_equal(mica_set_parent(f.world, child, parent), MICA_OK);
        assert_int_equal(mica_set(f.world, child, Health, {1}), MICA_OK); // no table has Health alone
        listen(&f, MICA_REMOVED, mica_type_of(mica_child_of));
        listen(&f, MICA_SET, mica_type_of(mica_child_of));
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = mica_set_parent_many(f.world, &child, &(mica_entity){0}, 1);
        is_reached = test_allocator_fail_stop(&f.allocator);
        assert_true(result == MICA_OK || is_reached != 0);
        assert_told(&f, result != MICA_OK                         ? ""
                        : mica_has(f.world, child, mica_child_of) ? "set b.ChildOf=nobody"
                                                                  : "removed b.ChildOf=a");
        void *end = &f;
        tear_down(&end);
    }
}

static void children_of_what_is_destroyed_are_told_to_have_moved_up(void **state) {
    fixture *f = *state;
    mica_entity tree[4];
    build_a_tree(f, tree);
    listen_to_links(f);
    // c moves up to a: it is told of before or after b's own end, and b's end is told of when it has its link.
    assert_int_equal(mica_destroy(f->world, tree[1]), MICA_OK);
    assert_non_null(strstr(f->told, "set c.ChildOf=a"));
    assert_non_null(strstr(f->told, "removed b.ChildOf=a, destroyed b"));
    assert_null(strstr(f->told, "removed c"));
    forget(f);
    // d and c become roots.
    assert_int_equal(mica_destroy(f->world, tree[0]), MICA_OK);
    assert_non_null(strstr(f->told, "removed d.ChildOf=a, removed c.ChildOf=a"));
    assert_non_null(strstr(f->told, "destroyed a"));
    forget(f);
    assert_int_equal(mica_destroy(f->world, tree[2]), MICA_OK);
    assert_told(f, "destroyed c");
}

// Several, and nobody

static void observers_are_called_in_the_order_in_which_they_were_connected(void **state) {
    fixture *f = *state;
    const mica_observer_def def = {.on = MICA_SET, .type = mica_type_of(Health)};
    connect_def(f, "first", def, NULL);
    listener *second = connect_def(f, "second", def, NULL);
    connect_def(f, "third", def, NULL);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "first set a.Health=1, second set a.Health=1, third set a.Health=1");
    assert_int_equal(mica_observer_disconnect(f->world, second->observer), MICA_OK);
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "first set b.Health=2, third set b.Health=2");
    connect_def(f, "fourth", def, NULL);
    mica_spawn(f->world, mica_value_of(Health, {3}));
    assert_told(f, "first set c.Health=3, third set c.Health=3, fourth set c.Health=3");
}

static void told_on_set(const mica_signal *signal) {
    fixture *f = signal->user;
    f->call_count++;
    assert_int_equal(mica_signal_value(signal, Health)->now, 4);
}

static void a_function_is_connected_by_type(void **state) {
    fixture *f = *state;
    const mica_observer on = mica_on_set(f->world, Health, told_on_set, f);
    assert_int_not_equal(on.id, 0);
    assert_int_not_equal(mica_on_added(f->world, Health, told_on_set, f).id, 0);
    assert_int_not_equal(mica_on_removed(f->world, Health, told_on_set, f).id, 0);
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {4}));
    assert_int_equal(f->call_count, 2);
    mica_remove(f->world, a, Health);
    assert_int_equal(f->call_count, 3);
    assert_int_equal(mica_observer_disconnect(f->world, on), MICA_OK);
    mica_set(f->world, a, Health, {4});
    assert_int_equal(f->call_count, 4);
}

static void identities_are_never_used_again(void **state) {
    fixture *f = *state;
    const mica_observer first = mica_on_set(f->world, Health, told_on_set, f);
    assert_int_equal(mica_observer_disconnect(f->world, first), MICA_OK);
    mica_error_clear();
    assert_int_equal(mica_observer_disconnect(f->world, first), MICA_UNKNOWN);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    const mica_observer second = mica_on_set(f->world, Health, told_on_set, f);
    assert_int_not_equal(second.id, first.id);
    assert_int_equal(mica_observer_disconnect(f->world, first), MICA_UNKNOWN);
    assert_int_equal(mica_observer_disconnect(f->world, (mica_observer){0}), MICA_UNKNOWN);
    mica_spawn(f->world, mica_value_of(Health, {4}));
    assert_int_equal(f->call_count, 1);
    mica_observer_stats stats;
    assert_int_equal(mica_observer_statistics(f->world, first, &stats), MICA_UNKNOWN);
}

static void statistics_count_calls(void **state) {
    fixture *f = *state;
    char name[] = "medic";
    const mica_observer named = mica_observer_connect(
        f->world, &(mica_observer_def){
                      .name = name, .on = MICA_SET, .type = mica_type_of(Health), .call = told_on_set, .user = f});
    name[0] = 'x'; // it was copied
    const mica_observer plain = mica_on_removed(f->world, Health, told_on_set, f);
    for (uint32_t i = 0; i < 3; i++) {
        mica_spawn(f->world, mica_value_of(Health, {4}));
    }
    mica_observer_stats stats = {.name = NULL};
    assert_int_equal(mica_observer_statistics(f->world, named, &stats), MICA_OK);
    assert_string_equal(stats.name, "medic");
    assert_int_equal(stats.call_count, 3);
    assert_int_equal(mica_observer_statistics(f->world, plain, &stats), MICA_OK);
    assert_string_equal(stats.name, "observer");
    assert_int_equal(stats.call_count, 0);
    assert_int_equal(stats.estimated_nanoseconds, 0);
    assert_int_equal(mica_observer_statistics(f->world, plain, NULL), MICA_INVALID);
}

static void definitions_that_make_no_sense_are_refused(void **state) {
    fixture *f = *state;
    mica_query *query = mica_query_create(f->world, &mica_read(Health), 1);
    mica_type *health = mica_type_of(Health);
    mica_type *frozen = mica_type_of(Frozen);
    const struct {
        mica_result result;
        const char *said;
        mica_observer_def def;
    } cases[] = {
        {MICA_INVALID, "a function to call", {.on = MICA_ADDED, .type = health}}, // no function
        {MICA_INVALID, "needs a component", {.on = MICA_ADDED, .call = told_on_set}},
        {MICA_INVALID, "number 77", {.on = (mica_signal_kind)77, .type = health, .call = told_on_set}},
        {MICA_INVALID,
         "is about entities as a whole, and names a component",
         {.on = MICA_CREATED, .type = health, .call = told_on_set}},
        {MICA_INVALID,
         "is about entities as a whole, and names a component",
         {.on = MICA_DESTROYED, .component = f->health, .call = told_on_set}},
        {MICA_INVALID,
         "says twice",
         {.on = MICA_ENTERED, .of = query, .query = {mica_read(Health)}, .call = told_on_set}},
        {MICA_INVALID,
         "is about a query, and names a component",
         {.on = MICA_ENTERED, .of = query, .type = health, .call = told_on_set}},
        {MICA_INVALID,
         "is not about a query, and names one",
         {.on = MICA_ADDED, .type = health, .of = query, .call = told_on_set}},
        {MICA_INVALID,
         "term 1",
         {.on = MICA_LEFT, .query = {mica_read(Health), mica_with(Health)}, .call = told_on_set}},
        {MICA_NO_VALUE, "has no value to be told of", {.on = MICA_SET, .type = frozen, .call = told_on_set}},
        {MICA_NO_VALUE, "has no value to be told of", {.on = MICA_RESOURCE_SET, .type = frozen, .call = told_on_set}},
        {MICA_NO_VALUE,
         "has no value to be told of",
         {.on = MICA_RESOURCE_REMOVED, .type = frozen, .call = told_on_set}},
        {MICA_UNKNOWN, "999", {.on = MICA_ADDED, .component = 999, .call = told_on_set}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mica_error_clear();
        const mica_observer on = mica_observer_connect(f->world, &cases[i].def);
        if (on.id != 0 || mica_last_result() != cases[i].result || strstr(mica_last_error(), cases[i].said) == NULL) {
            fail_msg("case %u: %s", (unsigned)i, mica_last_error());
        }
    }
    assert_int_equal(mica_observer_connect(f->world, NULL).id, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_observer_connect_to(f->world, MICA_ADDED, health, NULL, NULL).id, 0);
    mica_query_release(query);
    mica_spawn(f->world, mica_value_of(Health, {4}), mica_tag(Frozen));
    assert_int_equal(f->call_count, 0);
}

// What is there already

static void those_that_are_there_are_told_of_in_order_of_visit(void **state) {
    fixture *f = *state;
    mica_entity entities[6];
    for (int32_t i = 0; i < 6; i++) {
        entities[i] = mica_spawn(f->world, mica_value_of(Health, {i}));
    }
    mica_set(f->world, entities[1], Speed, {1}); // another table
    mica_set(f->world, entities[4], Speed, {4});
    mica_destroy(f->world, entities[0]); // the last one moves into the hole
    char expected[256] = "";
    mica_each_row (mica_query_of(f->world, mica_read(Health)), it) {
        const size_t length = strlen(expected);
        snprintf(expected + length, sizeof(expected) - length, "%sadded %s.Health", length == 0 ? "" : ", ",
                 name_entity(mica_row_entity(it)).text);
    }
    const mica_observer_def def = {.on = MICA_ADDED, .type = mica_type_of(Health), .existing = true};
    listener *on = connect_def(f, NULL, def, NULL);
    assert_told(f, expected);
    mica_observer_disconnect(f->world, on->observer);
    connect_def(f, "fast", (mica_observer_def){.on = MICA_ENTERED, .query = {mica_read(Speed)}, .existing = true},
                NULL);
    assert_told(f, "entered b.fast, entered e.fast");
    connect_def(f, NULL, (mica_observer_def){.on = MICA_CREATED, .existing = true}, NULL);
    assert_int_equal(f->call_count, 5 + 2 + 5);
    forget(f);
    mica_spawn(f->world, mica_value_of(Speed, {1}));
    assert_told(f, "created a1, entered a1.fast");
}

static void disconnect_itself(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_OK);
}

static void who_disconnects_itself_is_told_of_no_more_that_are_there(void **state) {
    fixture *f = *state;
    for (int32_t i = 0; i < 3; i++) {
        mica_spawn(f->world, mica_value_of(Health, {i}));
    }
    connect_def(f, NULL, (mica_observer_def){.on = MICA_ADDED, .type = mica_type_of(Health), .existing = true},
                disconnect_itself);
    assert_told(f, "added a.Health");
    mica_spawn(f->world, mica_value_of(Health, {7}));
    assert_told(f, "");
}

// Refusals

static void what_is_refused_is_told_to_nobody(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    const mica_entity b = mica_create(f->world);
    const mica_entity dead = mica_create(f->world);
    mica_destroy(f->world, dead);
    mica_set_parent(f->world, b, a);
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    mica_world *world = f->world;
    assert_int_equal(mica_add(world, a, Health), MICA_EXISTS);
    assert_int_equal(mica_add_value(world, a, Health, {2}), MICA_EXISTS);
    assert_int_equal(mica_set(world, dead, Health, {2}), MICA_STALE);
    assert_int_equal(mica_remove(world, dead, Health), MICA_STALE);
    assert_int_equal(mica_entity_add(world, a, 999, NULL), MICA_UNKNOWN);
    assert_int_equal(mica_entity_add(world, a, f->frozen, &a), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set(world, a, f->health, NULL), MICA_INVALID);
    assert_int_equal(mica_patch(world, b, Health, hurt, NULL), MICA_ABSENT);
    assert_true(mica_entity_is_null(mica_spawn(world, mica_tag(Health), mica_tag(Health))));
    assert_true(mica_entity_is_null(mica_spawn(world, mica_tag(Health), mica_value_of(mica_child_of, {dead}))));
    assert_true(mica_entity_is_null(mica_clone(world, dead)));
    const mica_entity many[] = {a, dead};
    assert_int_equal(mica_destroy_many(world, many, 2), MICA_STALE);
    assert_int_equal(mica_entity_create_at(world, many, 2), MICA_EXISTS);
    assert_int_equal(mica_set_parent(world, a, b), MICA_CYCLE);
    assert_int_equal(mica_destroy_subtree(world, dead), MICA_STALE);
    assert_int_equal(mica_enable_component(world, b, Frozen), MICA_ABSENT);
    mica_each (mica_query_of(world, mica_read(Health)), it) {
        assert_int_equal(mica_destroy(world, a), MICA_LOCKED);
        assert_int_equal(mica_set(world, b, Health, {1}), MICA_LOCKED);
        assert_int_equal(mica_set_parent(world, b, MICA_NULL), MICA_LOCKED);
        assert_int_equal(mica_kill(world, a), MICA_LOCKED);
        assert_int_equal(mica_world_clear(world), MICA_LOCKED);
    }
    assert_told(f, "");
    mica_set(world, a, Health, {3});
    assert_told(f, "set a.Health=3");
}

// Each works on a, which has Health 1 and Owned 2, and on b, which has nothing.
static mica_entity entity_a(void) {
    return mica_entity_make(1, 0);
}
static mica_entity entity_b(void) {
    return mica_entity_make(2, 0);
}

static mica_result result_of(mica_entity made) {
    return mica_entity_is_null(made) ? mica_last_result() : MICA_OK;
}

static mica_result try_create(fixture *f) {
    return result_of(mica_create(f->world));
}

static mica_result try_spawn(fixture *f) {
    return result_of(mica_spawn(f->world, mica_value_of(Speed, {3}), mica_value_of(Armour, {4})));
}

static mica_result try_spawn_many(fixture *f) {
    const Speed speeds[2] = {{5}, {6}};
    return mica_spawn_many(f->world, 2, NULL, mica_column_of(Speed, speeds), mica_tag(Owned));
}

static mica_result try_clone(fixture *f) {
    return result_of(mica_clone(f->world, entity_a()));
}

static mica_result try_add(fixture *f) {
    return mica_add_value(f->world, entity_b(), Armour, {4});
}

static mica_result try_set(fixture *f) {
    return mica_set(f->world, entity_b(), Speed, {4});
}

static mica_result try_replace(fixture *f) {
    return mica_entity_set(f->world, entity_a(), f->owned, mica_get(f->world, entity_a(), Owned));
}

static mica_result try_remove(fixture *f) {
    return mica_remove(f->world, entity_a(), Health);
}

static mica_result try_link(fixture *f) {
    return mica_set_parent(f->world, entity_b(), entity_a());
}

static mica_result try_kill(fixture *f) {
    return mica_kill(f->world, entity_a());
}

static mica_result try_destroy(fixture *f) {
    return mica_destroy(f->world, entity_a());
}

static mica_result try_commands(fixture *f) {
    if (mica_commands_count(f->commands) == 0) {
        mica_spawn(f->commands, mica_value_of(Health, {7}));
        mica_set(f->commands, entity_a(), Armour, {8});
        mica_remove(f->commands, entity_a(), Owned);
        mica_destroy(f->commands, entity_b());
        if (mica_commands_count(f->commands) < 4) { // all or none, for the next try
            mica_commands_clear(f->commands);
            return mica_last_result();
        }
    }
    return mica_commands_apply(f->commands);
}

static void without_memory_nothing_is_told_until_it_has_happened(void **state) {
    (void)state;
    const struct {
        mica_result (*verb)(fixture *f);
        const char *told;
    } cases[] = {
        {try_create, "created c"},
        {try_spawn, "created c, added c.Armour, added c.Frozen, added c.Health, added c.Speed, set c.Armour=4, "
                    "set c.Speed=3, entered c.hurt"},
        {try_spawn_many, "created c, added c.Owned, added c.Speed, set c.Speed=5, created d, added d.Owned, "
                         "added d.Speed, set d.Speed=6"},
        {try_clone, "created c, added c.Health, added c.Owned, set c.Health=1, set c.Owned=2, entered c.hurt"},
        {try_add, "added b.Armour, added b.Frozen, added b.Health, set b.Armour=4, entered b.hurt"},
        {try_set, "added b.Speed, set b.Speed=4"},
        {try_replace, "set a.Owned=2"},
        {try_remove, "left a.hurt, removed a.Health=1"},
        {try_link, "added b.ChildOf, set b.ChildOf=a"},
        {try_kill, "left a.hurt"},
        {try_destroy, "left a.hurt, removed a.Health=1, removed a.Owned=2, destroyed a"},
        {try_commands, "created c, added c.Health, set c.Health=7, entered c.hurt, removed a.Owned=2, "
                       "added a.Armour, added a.Frozen, set a.Armour=8, destroyed b"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture f;
        begin_limited(&f, 0);
        mica_spawn(f.world, mica_value_of(Health, {1}));
        mica_create(f.world);
        assert_int_equal(set_owned(&f, entity_a(), 2), MICA_OK);
        listen_to_all(&f);
        listen_to_query(&f, "hurt", mica_read(Health));
        for (uint64_t n = 1;; n++) {
            test_allocator_fail_at(&f.allocator, n);
            const mica_result result = cases[i].verb(&f);
            const bool has_failed = test_allocator_fail_stop(&f.allocator);
            if (result == MICA_OK) {
                break;
            }
            assert_true(has_failed);
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_true(cases[i].verb == try_commands || f.told[0] == '\0');
        }
        assert_told(&f, cases[i].told);
        void *end = &f;
        tear_down(&end);
    }
}

static void connecting_without_memory_connects_nobody(void **state) {
    fixture *f = *state;
    mica_spawn(f->world, mica_value_of(Health, {4}));
    const mica_observer_def defs[] = {
        {.name = "by component", .on = MICA_SET, .type = mica_type_of(Health), .call = told_on_set, .user = f},
        {.name = "by query", .on = MICA_ENTERED, .query = {mica_read(Health)}, .call = told_on_set, .user = f},
        {.name = "by resource", .on = MICA_RESOURCE_SET, .type = mica_type_of(Speed), .call = told_on_set, .user = f},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        mica_observer on = {0};
        for (uint64_t n = 1; on.id == 0; n++) {
            test_allocator_fail_at(&f->allocator, n);
            on = mica_observer_connect(f->world, &defs[i]);
            assert_true(test_allocator_fail_stop(&f->allocator) || on.id != 0);
            assert_true(on.id != 0 || mica_last_result() == MICA_OUT_OF_MEMORY);
            mica_set(f->world, entity_a(), Health, {4});
            assert_int_equal(f->call_count, i == 0 ? on.id != 0 : 0);
        }
        f->call_count = 0;
        assert_int_equal(mica_observer_disconnect(f->world, on), MICA_OK);
    }
}

// Resources

static void resources_are_told_of_when_they_come_and_before_they_go(void **state) {
    fixture *f = *state;
    listen(f, MICA_RESOURCE_SET, mica_type_of(Speed));
    listen(f, MICA_RESOURCE_REMOVED, mica_type_of(Speed));
    listen(f, MICA_SET, mica_type_of(Speed)); // of entities: not told
    assert_int_equal(mica_set_resource(f->world, Speed, {1}), MICA_OK);
    assert_told(f, "resource set Speed=1");
    assert_int_equal(mica_set_resource(f->world, Speed, {2}), MICA_OK);
    assert_told(f, "resource set Speed=2");
    mica_resource_write(f->world, Speed)->now = 3;
    assert_told(f, "");
    assert_int_equal(mica_remove_resource(f->world, Speed), MICA_OK);
    assert_told(f, "resource removed Speed=3");
    assert_int_equal(mica_remove_resource(f->world, Speed), MICA_OK);
    assert_told(f, "");
    assert_non_null(mica_ensure_resource(f->world, Speed));
    assert_told(f, "resource set Speed=0");
    assert_non_null(mica_ensure_resource(f->world, Speed));
    assert_told(f, "");
    connect_def(f, "late", (mica_observer_def){.on = MICA_RESOURCE_SET, .type = mica_type_of(Speed), .existing = true},
                NULL);
    assert_told(f, "late resource set Speed=0");
    end_world(f);
    assert_told(f, "resource removed Speed=0");
}

static bool is_by_pointer;

static void take_the_resource_away(fixture *f, const mica_signal *signal) {
    static Speed other = {9};
    (void)signal;
    assert_int_equal(mica_remove_resource(f->world, Speed), MICA_LOCKED);
    assert_int_equal(mica_set_resource_pointer(f->world, Speed, &other), is_by_pointer ? MICA_LOCKED : MICA_EXISTS);
    assert_int_equal(mica_set_resource(f->world, Armour, {1}), MICA_OK); // others come and go
    assert_int_equal(mica_remove_resource(f->world, Armour), MICA_OK);
}

static void a_resource_stays_while_observers_are_told_of_it(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_RESOURCE_SET, mica_type_of(Speed), take_the_resource_away);
    listen(f, MICA_RESOURCE_SET, mica_type_of(Speed));
    listen_then(f, MICA_RESOURCE_REMOVED, mica_type_of(Speed), take_the_resource_away);
    listen(f, MICA_RESOURCE_REMOVED, mica_type_of(Speed));
    for (uint32_t i = 0; i < 2; i++) { // by value, and by pointer
        Speed own = {7};
        is_by_pointer = i == 1;
        assert_int_equal(i == 0 ? mica_set_resource(f->world, Speed, {7})
                                : mica_set_resource_pointer(f->world, Speed, &own),
                         MICA_OK);
        assert_told(f, "resource set Speed=7, resource set Speed=7");
        assert_int_equal(mica_remove_resource(f->world, Speed), MICA_OK);
        assert_told(f, "resource removed Speed=7, resource removed Speed=7");
        assert_null(mica_resource(f->world, Speed));
    }
}

static void a_resource_that_the_caller_holds_is_told_of_as_well(void **state) {
    fixture *f = *state;
    static Speed speed = {7};
    connect_def(f, "early", (mica_observer_def){.on = MICA_RESOURCE_SET, .type = mica_type_of(Speed), .existing = true},
                NULL);
    assert_told(f, "");
    listen(f, MICA_RESOURCE_REMOVED, mica_type_of(Speed));
    assert_int_equal(mica_set_resource_pointer(f->world, Speed, &speed), MICA_OK);
    assert_told(f, "early resource set Speed=7");
    assert_int_equal(mica_set_resource(f->world, Speed, {1}), MICA_EXISTS);
    assert_told(f, "");
    assert_int_equal(mica_remove_resource(f->world, Speed), MICA_OK);
    assert_told(f, "resource removed Speed=7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_spawn_is_told_of_as_a_whole_in_order_of_names),
        CASE(what_is_constructed_is_added_and_not_set),
        CASE(adding_setting_and_patching_tell_of_the_value),
        CASE(a_patch_is_a_set_and_an_address_for_writing_is_none),
        CASE(what_is_required_comes_along_and_what_was_there_is_not_told_of),
        CASE(a_clone_is_told_of_like_a_spawn_with_values),
        CASE(of_many_each_is_told_of_by_itself),
        CASE(many_that_nobody_asked_the_handles_of_are_told_of),
        CASE(what_is_filled_in_is_told_of_when_it_is_there),
        CASE(a_value_that_is_filled_in_is_there_when_it_is_told_of),
        cmocka_unit_test(what_goes_can_be_read_whatever_made_it_go),
        CASE(in_destroyed_everything_can_still_be_read),
        CASE(the_killed_are_told_of_in_order_of_their_indices),
        CASE(children_are_told_of_before_their_parents_go),
        CASE(clearing_and_ending_tell_of_children_first),
        CASE(clearing_tells_all_of_everybody),
        CASE(values_are_made_before_observers_hear_of_them_and_end_after),
        CASE(links_are_told_of_when_both_ends_agree),
        CASE(many_links_at_once_are_told_of_one_by_one),
        CASE(links_are_sound_whenever_one_of_many_is_told_of),
        cmocka_unit_test(many_links_without_memory_are_told_of_as_they_end),
        CASE(children_of_what_is_destroyed_are_told_to_have_moved_up),
        CASE(observers_are_called_in_the_order_in_which_they_were_connected),
        CASE(a_function_is_connected_by_type),
        CASE(identities_are_never_used_again),
        CASE(statistics_count_calls),
        CASE(definitions_that_make_no_sense_are_refused),
        CASE(those_that_are_there_are_told_of_in_order_of_visit),
        CASE(who_disconnects_itself_is_told_of_no_more_that_are_there),
        CASE(what_is_refused_is_told_to_nobody),
        cmocka_unit_test(without_memory_nothing_is_told_until_it_has_happened),
        CASE(connecting_without_memory_connects_nobody),
        CASE(resources_are_told_of_when_they_come_and_before_they_go),
        CASE(a_resource_stays_while_observers_are_told_of_it),
        CASE(a_resource_that_the_caller_holds_is_told_of_as_well),
    };
    return run_in_all_storages(tests, sizeof(tests) / sizeof(tests[0]));
}
