// Reactions: what observers record is applied when the operation that caused it has ended, in rounds; what commands
// tell; and chains that do not end.
#include "observer_world.h"

MICA_TAG_WITH(Unseen, (.storage = MICA_POOL));

static mica_entity entity_a(void) {
    return mica_entity_make(1, 0);
}
static mica_entity entity_b(void) {
    return mica_entity_make(2, 0);
}
static mica_entity entity_c(void) {
    return mica_entity_make(3, 0);
}

static void make_entities(fixture *f, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        mica_create(f->world);
    }
}

// What commands tell

typedef struct net_change {
    void (*record)(mica_commands *commands);
    const char *told;
} net_change;

static void add_and_remove(mica_commands *commands) {
    mica_set(commands, entity_a(), Speed, {2});
    mica_remove(commands, entity_a(), Speed);
}
static void add_and_remove_a_tag(mica_commands *commands) {
    mica_add(commands, entity_a(), Frozen);
    mica_remove(commands, entity_a(), Frozen);
}
static void remove_and_set(mica_commands *commands) {
    mica_remove(commands, entity_a(), Health);
    mica_set(commands, entity_a(), Health, {9});
}
static void remove_and_add(mica_commands *commands) {
    mica_remove(commands, entity_a(), Health);
    mica_add_value(commands, entity_a(), Health, {9});
}
static void set_twice(mica_commands *commands) {
    mica_set(commands, entity_a(), Health, {2});
    mica_set(commands, entity_a(), Health, {3});
}
static void set_twice_what_is_new(mica_commands *commands) {
    mica_set(commands, entity_a(), Speed, {2});
    mica_set(commands, entity_a(), Speed, {3});
}
static void set_and_remove(mica_commands *commands) {
    mica_set(commands, entity_a(), Health, {2});
    mica_remove(commands, entity_a(), Health);
}
static void remove_one_and_add_another(mica_commands *commands) {
    mica_add_value(commands, entity_a(), Speed, {4});
    mica_remove(commands, entity_a(), Health);
}
static void add_and_remove_what_brings_others(mica_commands *commands) {
    mica_set(commands, entity_a(), Armour, {4});
    mica_remove(commands, entity_a(), Armour);
}
static void remove_what_is_not_there(mica_commands *commands) {
    mica_remove(commands, entity_a(), Speed);
    mica_remove(commands, entity_a(), Health);
}
static void record_what_is_skipped(mica_commands *commands) {
    mica_add_value(commands, entity_a(), Health, {5});
    mica_set(commands, mica_entity_make(9, 0), Health, {5});
    mica_destroy(commands, mica_entity_make(9, 0));
    mica_clone(commands, mica_entity_make(9, 0));
}
static void spawn_set_and_remove(mica_commands *commands) {
    const mica_entity made = mica_spawn(commands, mica_value_of(Health, {1}), mica_value_of(Speed, {2}));
    mica_remove(commands, made, Speed);
    mica_set(commands, made, Health, {7});
    mica_add(commands, made, Frozen);
}
static void change_three_in_turn(mica_commands *commands) {
    mica_set(commands, entity_c(), Health, {3});
    mica_set(commands, entity_a(), Health, {4});
    mica_set(commands, entity_b(), Health, {5});
    mica_set(commands, entity_c(), Speed, {6});
}
static void clone_what_is_destroyed(mica_commands *commands) {
    mica_destroy(commands, entity_a());
    mica_clone(commands, entity_a());
}
static void clone_and_destroy(mica_commands *commands) {
    mica_clone(commands, entity_a());
    mica_destroy(commands, entity_a());
}
static void link_and_destroy(mica_commands *commands) {
    mica_set_parent(commands, entity_b(), entity_c());
    mica_destroy(commands, entity_b());
}

static void commands_tell_the_net_change_of_each_entity(void **state) {
    (void)state;
    const net_change cases[] = {
        {add_and_remove, ""},
        {add_and_remove_a_tag, ""},
        {remove_and_set, "set a.Health=9"},
        {remove_and_add, "set a.Health=9"},
        {set_twice, "set a.Health=3"},
        {set_twice_what_is_new, "added a.Speed, set a.Speed=3"},
        {set_and_remove, "left a.hurt, removed a.Health=1"},
        {remove_one_and_add_another, "left a.hurt, removed a.Health=1, added a.Speed, set a.Speed=4"},
        {add_and_remove_what_brings_others, "added a.Frozen"},
        {remove_what_is_not_there, "left a.hurt, removed a.Health=1"},
        {record_what_is_skipped, ""},
        {spawn_set_and_remove, "created d, added d.Frozen, added d.Health, set d.Health=7, entered d.hurt"},
        {change_three_in_turn, "added c.Health, added c.Speed, set c.Health=3, set c.Speed=6, entered c.hurt, "
                               "set a.Health=4, added b.Health, set b.Health=5, entered b.hurt"},
        {clone_what_is_destroyed, "left a.hurt, removed a.Health=1, destroyed a"},
        {clone_and_destroy, "created d, added d.Health, set d.Health=1, entered d.hurt, left a.hurt, "
                            "removed a.Health=1, destroyed a"},
        {link_and_destroy, "added b.ChildOf, set b.ChildOf=c, removed b.ChildOf=c, destroyed b"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture f;
        begin_limited(&f, 0);
        make_entities(&f, 3);
        mica_set(f.world, entity_a(), Health, {1});
        listen_to_all(&f);
        listen_to_query(&f, "hurt", mica_read(Health));
        cases[i].record(f.commands);
        assert_told(&f, "");
        apply(&f);
        assert_told(&f, cases[i].told);
        void *end = &f;
        tear_down(&end);
    }
}

// A value that was there and is replaced by removing and adding it is told of once, by its new value; the old one is
// not heard of again.
static void owned_values_that_are_replaced_in_a_buffer_end_once(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    assert_int_equal(set_owned(f, entity_a(), 1), MICA_OK);
    listen_to_all(f);
    Owned value;
    owned_hold(&value, 2, f->world);
    mica_remove(f->commands, entity_a(), Owned);
    mica_set_from(f->commands, entity_a(), Owned, &value);
    owned_drop(&value, f->world);
    apply(f);
    assert_told(f, "set a.Owned=2");
    assert_int_equal(ledger_live_count(), 1);
}

// Who made it is told that it has gone again: nobody keeps what is not there.
static void what_is_made_and_destroyed_in_one_buffer_is_not_left_with_anybody(void **state) {
    fixture *f = *state;
    listen(f, MICA_CREATED, NULL);
    listen(f, MICA_DESTROYED, NULL);
    listen_to_query(f, "hurt", mica_read(Health));
    const mica_entity made = mica_spawn(f->commands, mica_value_of(Health, {1}));
    mica_destroy(f->commands, made);
    apply(f);
    assert_int_equal(strstr(f->told, "created a") != NULL, strstr(f->told, "destroyed a") != NULL);
    assert_int_equal(strstr(f->told, "entered a.hurt") != NULL, strstr(f->told, "left a.hurt") != NULL);
    assert_int_equal(mica_world_entity_count(f->world), 0);
}

// When reactions are applied

static void record_speed_of_b(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_add(signal->commands, entity_b(), Speed), MICA_OK);
}

static void record_frozen_of_c(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_add(signal->commands, entity_c(), Frozen), MICA_OK);
}

static void record_removal_of_health(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_remove(signal->commands, entity_a(), Health), MICA_OK);
}

static void reactions_come_in_rounds_each_in_the_order_of_recording(void **state) {
    fixture *f = *state;
    make_entities(f, 3);
    const mica_observer_def on_health = {.on = MICA_ADDED, .type = mica_type_of(Health)};
    listen_to_all(f);
    connect_def(f, "first", on_health, record_speed_of_b);
    connect_def(f, "second", on_health, record_frozen_of_c);
    connect_def(f, "third", (mica_observer_def){.on = MICA_ADDED, .type = mica_type_of(Speed)},
                record_removal_of_health);
    mica_set(f->world, entity_a(), Health, {1});
    assert_told(f, "added a.Health, first added a.Health, second added a.Health, set a.Health=1, added b.Speed, "
                   "third added b.Speed, added c.Frozen, removed a.Health=1");
}

static void expect_to_be_alone(fixture *f, const mica_signal *signal) {
    assert_false(mica_has(f->world, signal->entity, Speed));
    assert_int_equal(mica_set(signal->commands, signal->entity, Speed, {1}), MICA_OK);
    assert_false(mica_has(f->world, signal->entity, Speed));
}

static void a_buffer_is_applied_as_a_whole_before_anything_reacts(void **state) {
    fixture *f = *state;
    make_entities(f, 2);
    listen_then(f, MICA_SET, mica_type_of(Health), expect_to_be_alone);
    listen(f, MICA_SET, mica_type_of(Speed));
    listen(f, MICA_DESTROYED, NULL);
    mica_set(f->commands, entity_a(), Health, {1});
    mica_set(f->commands, entity_b(), Health, {2});
    const mica_entity c = mica_create(f->commands);
    mica_destroy(f->commands, c);
    apply(f);
    assert_told(f, "set a.Health=1, set b.Health=2, destroyed c, set a.Speed=1, set b.Speed=1");
}

static void many_at_once_are_one_operation(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_SET, mica_type_of(Health), expect_to_be_alone);
    listen(f, MICA_SET, mica_type_of(Speed));
    const Health healths[] = {{1}, {2}};
    assert_int_equal(mica_spawn_many(f->world, 2, NULL, mica_column_of(Health, healths)), MICA_OK);
    assert_told(f, "set a.Health=1, set b.Health=2, set a.Speed=1, set b.Speed=1");
}

static void record_the_end_of_b(fixture *f, const mica_signal *signal) {
    (void)f;
    mica_destroy(signal->commands, entity_b());
}

static void in_a_walk_reactions_wait_for_the_end_of_the_last(void **state) {
    fixture *f = *state;
    make_entities(f, 2);
    mica_set(f->world, entity_a(), Health, {1});
    mica_set(f->world, entity_b(), Health, {2});
    listen_then(f, MICA_SET, mica_type_of(Health), record_the_end_of_b);
    listen(f, MICA_DESTROYED, NULL);
    mica_query *query = mica_query_of(f->world, mica_read(Health));
    int32_t visited_count = 0;
    mica_each (query, outer) {
        mica_each_row (query, it) {
            assert_int_equal(mica_set(f->world, mica_row_entity(it), Health, {5}), MICA_OK);
            visited_count++;
        }
        assert_true(mica_alive(f->world, entity_b()));
    }
    assert_int_equal(visited_count % 2, 0);
    assert_false(mica_alive(f->world, entity_b()));
    assert_non_null(strstr(f->told, "set a.Health=5"));
    assert_non_null(strstr(f->told, "set b.Health=5"));
    assert_non_null(strstr(f->told, "destroyed b"));
}

static void what_a_walk_records_is_told_of_when_it_is_applied(void **state) {
    fixture *f = *state;
    make_entities(f, 2);
    mica_set(f->world, entity_a(), Health, {1});
    listen_to_all(f);
    mica_each_row (mica_query_of(f->world, mica_read(Health)), it) {
        mica_set(mica_iter_commands(it), mica_row_entity(it), Speed, {2});
        mica_destroy(mica_iter_commands(it), entity_b());
        assert_told(f, "");
    }
    assert_told(f, "added a.Speed, set a.Speed=2, destroyed b");
}

static void walk_and_record(fixture *f, const mica_signal *signal) {
    if (mica_signal_value(signal, Health)->now != 1) {
        return;
    }
    mica_each_row (mica_query_of(f->world, mica_read(Health)), it) {
        assert_int_equal(mica_add(mica_iter_commands(it), mica_row_entity(it), Frozen), MICA_OK);
    }
    assert_false(mica_has(f->world, signal->entity, Frozen));
}

static void a_walk_inside_an_observer_records_for_later(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    listen_then(f, MICA_SET, mica_type_of(Health), walk_and_record);
    mica_set(f->world, entity_a(), Health, {1});
    mica_set(f->world, entity_a(), Health, {2}); // whatever ends the operation, it has ended by now
    assert_true(mica_has(f->world, entity_a(), Frozen));
}

static void misuse_the_buffer(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_add(signal->commands, signal->entity, Frozen), MICA_OK);
    assert_int_equal(mica_commands_apply(signal->commands), MICA_LOCKED);
    mica_commands_destroy(signal->commands); // it is lent
    assert_ptr_equal(mica_commands_world(signal->commands), f->world);
}

static void the_buffer_of_observers_is_not_theirs_to_apply_or_destroy(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_ADDED, mica_type_of(Health), misuse_the_buffer);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_true(mica_has(f->world, entity_a(), Frozen));
}

static void record_a_family(fixture *f, const mica_signal *signal) {
    const mica_entity parent = mica_spawn(signal->commands, mica_value_of(Speed, {1}));
    const mica_entity child = mica_create(signal->commands);
    assert_int_equal(mica_set_parent(signal->commands, child, parent), MICA_OK);
    assert_int_equal(mica_set(signal->commands, signal->entity, mica_child_of, {parent}), MICA_OK);
    (void)f;
}

static void what_observers_make_may_be_named_in_the_same_round(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    listen_then(f, MICA_SET, mica_type_of(Health), record_a_family);
    mica_set(f->world, entity_a(), Health, {1});
    const mica_entity parent = mica_parent(f->world, entity_a());
    assert_non_null(mica_get(f->world, parent, Speed));
    assert_int_equal(mica_child_count(f->world, parent), 2);
}

static void record_speed(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_set(signal->commands, signal->entity, Speed, {1}), MICA_OK);
}

static void reactions_to_what_is_there_already_are_applied_by_connecting(void **state) {
    fixture *f = *state;
    make_entities(f, 2);
    mica_set(f->world, entity_b(), Health, {1});
    connect_def(f, NULL, (mica_observer_def){.on = MICA_ADDED, .type = mica_type_of(Health), .existing = true},
                record_speed);
    assert_true(mica_has(f->world, entity_b(), Speed));
    assert_false(mica_has(f->world, entity_a(), Speed));
}

// Reacting to what goes

static void record_an_empty_one(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_true(mica_entity_is_placeholder(mica_create(signal->commands)));
}

static void an_entity_made_because_another_goes_takes_its_place(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    listen_then(f, MICA_REMOVED, mica_type_of(Health), record_an_empty_one);
    listen_then(f, MICA_DESTROYED, NULL, record_an_empty_one);
    assert_int_equal(mica_destroy(f->world, a), MICA_OK);
    assert_false(mica_alive(f->world, a));
    assert_int_equal(mica_world_entity_count(f->world), 2);
    assert_told(f, "removed a.Health=1, destroyed a");
}

static void record_changes_of_the_same(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_set(signal->commands, signal->entity, Armour, {3}), MICA_OK);
    assert_int_equal(mica_remove(signal->commands, signal->entity, Owned), MICA_OK);
    assert_int_equal(mica_set(signal->commands, signal->entity, Speed, {4}), MICA_OK);
}

static void an_entity_that_loses_something_may_be_changed_for_it(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_int_equal(set_owned(f, a, 2), MICA_OK);
    listen_to_all(f);
    listen_then(f, MICA_REMOVED, mica_type_of(Health), record_changes_of_the_same);
    assert_int_equal(mica_remove(f->world, a, Health), MICA_OK);
    assert_told(f, "removed a.Health=1, removed a.Health=1, removed a.Owned=2, added a.Armour, added a.Frozen, "
                   "added a.Health, added a.Speed, set a.Armour=3, set a.Speed=4");
    // It is gone by the time: skipped and counted.
    assert_int_equal(mica_destroy(f->world, a), MICA_OK);
    assert_false(mica_alive(f->world, a));
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 3);
    assert_int_equal(mica_world_entity_count(f->world), 0);
}

static void record_unseen(fixture *f, const mica_signal *signal) {
    (void)f;
    assert_int_equal(mica_remove(signal->commands, signal->entity, Unseen), MICA_OK);
    assert_int_equal(mica_add(signal->commands, entity_b(), Unseen), MICA_OK);
    assert_false(mica_has(f->world, signal->entity, Unseen));
}

static void a_type_nobody_has_seen_may_come_up_while_an_entity_goes(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    make_entities(f, 1);
    listen_then(f, MICA_REMOVED, mica_type_of(Health), record_unseen);
    listen_then(f, MICA_DESTROYED, NULL, record_unseen);
    assert_int_equal(mica_destroy(f->world, a), MICA_OK);
    assert_true(mica_has(f->world, entity_b(), Unseen));
}

static void record_everything(fixture *f, const mica_signal *signal) {
    mica_create(signal->commands);
    mica_set(signal->commands, signal->entity, Speed, {4});
    mica_remove(signal->commands, signal->entity, mica_child_of);
    mica_destroy(signal->commands, signal->entity);
    mica_clone(signal->commands, entity_a());
    if (mica_has(f->world, signal->entity, Health)) {
        assert_int_equal(mica_set(f->world, signal->entity, Health, {9}), MICA_OK);
    }
}

static void a_world_that_ends_tells_all_and_drops_what_is_recorded(void **state) {
    fixture *f = *state;
    for (int32_t i = 0; i < 4; i++) {
        const mica_entity made = mica_spawn(f->world, mica_value_of(Health, {i}));
        assert_int_equal(set_owned(f, made, i), MICA_OK);
    }
    mica_set_parent(f->world, entity_a(), entity_b());
    mica_set_parent(f->world, entity_b(), entity_c());
    listen_then(f, MICA_REMOVED, mica_type_of(Health), record_everything);
    listen_then(f, MICA_REMOVED, mica_type_of(mica_child_of), record_everything);
    listen_then(f, MICA_REMOVED, mica_type_of(Owned), record_everything);
    listen_then(f, MICA_DESTROYED, NULL, record_everything);
    end_world(f);
    assert_int_equal(f->call_count, 4 + 2 + 4 + 4);
}

static void a_world_that_ends_in_a_walk_tells_all(void **state) {
    fixture *f = *state;
    for (int32_t i = 0; i < 3; i++) {
        mica_spawn(f->world, mica_value_of(Health, {i}));
    }
    listen_then(f, MICA_REMOVED, mica_type_of(Health), record_everything);
    mica_iter it = mica_query_begin(mica_query_of(f->world, mica_write(Health)));
    assert_true(mica_iter_next(&it));
    mica_write_of(it, Health)[0].now = 8;
    mica_destroy(mica_iter_commands(it), it.entities[0]);
    end_world(f);
    assert_int_equal(f->call_count, 3);
    assert_non_null(strstr(f->told, "=8"));
}

static void clearing_drops_nobodys_reaction(void **state) {
    fixture *f = *state;
    make_entities(f, 3);
    listen_then(f, MICA_DESTROYED, NULL, record_an_empty_one);
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    assert_int_equal(mica_world_entity_count(f->world), 3);
    assert_false(mica_alive(f->world, entity_a()));
}

// In ticks

static void set_health_in_a_system(mica_run *run) {
    fixture *f = mica_run_user(run);
    mica_each_row (run, it) {
        mica_row_write(it, Health)->now = 7; // not told of
        assert_int_equal(mica_set(f->world, mica_row_entity(it), Health, {8}), MICA_OK);
    }
    assert_false(mica_has(f->world, entity_a(), Speed));
    assert_int_equal(mica_commands_count(mica_run_commands(run)), 1);
}

static void expect_speed_in_a_system(mica_run *run) {
    fixture *f = mica_run_user(run);
    tell(f, mica_has(f->world, entity_a(), Speed) ? "has speed" : "has none");
}

static void reactions_in_a_system_wait_for_the_barrier(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    mica_set(f->world, entity_a(), Health, {1});
    listen_then(f, MICA_SET, mica_type_of(Health), record_speed);
    listen(f, MICA_ADDED, mica_type_of(Speed));
    mica_system_add(
        f->world,
        &(mica_system_def){.name = "strike", .query = {mica_write(Health)}, .run = set_health_in_a_system, .user = f});
    mica_system_add(f->world, &(mica_system_def){.name = "before the barrier",
                                                 .query = {mica_read(Health)},
                                                 .run = expect_speed_in_a_system,
                                                 .user = f});
    mica_system_add(f->world, &(mica_system_def){.name = "behind the barrier",
                                                 .query = {mica_read(Health)},
                                                 .after = {"strike"},
                                                 .run = expect_speed_in_a_system,
                                                 .user = f});
    assert_int_equal(mica_world_step(f->world, 0.5f), MICA_OK);
    assert_told(f, "set a.Health=8, has none, added a.Speed, has speed");
}

static void record_in_a_system(mica_run *run) {
    mica_set(mica_run_commands(run), entity_a(), Health, {3});
}

// The reaction to what a barrier applies is there for those behind the barrier.
static void a_barrier_ends_with_the_reactions_to_it(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    listen_then(f, MICA_SET, mica_type_of(Health), record_speed);
    mica_system_add(f->world,
                    &(mica_system_def){.name = "strike", .query = {mica_read(Owned)}, .run = record_in_a_system});
    mica_system_add(f->world, &(mica_system_def){.name = "behind the barrier",
                                                 .query = {mica_read(Owned)},
                                                 .after = {"strike"},
                                                 .run = expect_speed_in_a_system,
                                                 .user = f});
    assert_int_equal(mica_world_step(f->world, 0.5f), MICA_OK);
    assert_told(f, "set a.Health=3, has speed");
}

static void change_the_world_in_a_system(mica_run *run) {
    fixture *f = mica_run_user(run);
    assert_int_equal(mica_set(f->world, entity_a(), Health, {4}), MICA_OK);
    assert_true(mica_has(f->world, entity_a(), Speed));
}

static void an_exclusive_systems_verbs_end_with_the_reactions_to_them(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    listen_then(f, MICA_SET, mica_type_of(Health), record_speed);
    mica_system_add(f->world, &(mica_system_def){.name = "strike", .run = change_the_world_in_a_system, .user = f});
    assert_int_equal(mica_world_step(f->world, 0.5f), MICA_OK);
    assert_told(f, "set a.Health=4");
}

// Chains

static void record_hunger(fixture *f, const mica_signal *signal) {
    (void)f;
    mica_set(signal->commands, signal->entity, Speed, {1});
    mica_remove(signal->commands, signal->entity, Health);
}

static void record_a_meal(fixture *f, const mica_signal *signal) {
    (void)f;
    mica_set(signal->commands, signal->entity, Health, {1});
    mica_remove(signal->commands, signal->entity, Speed);
}

static void connect_a_chain(fixture *f) {
    connect_def(f, NULL, (mica_observer_def){.name = "starve", .on = MICA_ADDED, .type = mica_type_of(Health)},
                record_hunger);
    connect_def(f, NULL, (mica_observer_def){.name = "feed", .on = MICA_ADDED, .type = mica_type_of(Speed)},
                record_a_meal);
}

static void a_chain_without_an_end_is_cut_off_and_named(void **state) {
    (void)state;
    fixture f;
    begin_limited(&f, 4);
    make_entities(&f, 1);
    connect_a_chain(&f);
    mica_error_clear();
    assert_int_equal(mica_set(f.world, entity_a(), Health, {1}), MICA_OK); // the operation itself stands
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("starve");
    assert_said("feed");
    assert_non_null(strstr(f.logged, "starve"));
    assert_non_null(strstr(f.logged, "feed"));
    assert_told(&f, "added a.Health, added a.Speed, added a.Health, added a.Speed");
    assert_true(mica_has(f.world, entity_a(), Speed)); // what the last link recorded was dropped
    assert_false(mica_has(f.world, entity_a(), Health));
    assert_int_equal(mica_world_statistics(f.world).reaction_dropped_count, 1);
    // The next operation starts afresh, and nothing of the old chain is left.
    mica_error_clear();
    mica_remove(f.world, entity_a(), Speed);
    assert_told(&f, "");
    assert_int_equal(mica_last_result(), MICA_OK);
    mica_set(f.world, entity_a(), Speed, {1});
    assert_told(&f, "added a.Speed, added a.Health, added a.Speed, added a.Health");
    void *end = &f;
    tear_down(&end);
}

static void count_down(fixture *f, const mica_signal *signal) {
    (void)f;
    const int32_t now = mica_signal_value(signal, Health)->now;
    if (now > 1) {
        mica_set(signal->commands, signal->entity, Health, {now - 1});
    }
}

static void a_chain_as_long_as_the_limit_is_not_cut_off(void **state) {
    (void)state;
    for (int32_t length = 4; length <= 5; length++) {
        fixture f;
        begin_limited(&f, 4);
        make_entities(&f, 1);
        listen_then(&f, MICA_SET, mica_type_of(Health), count_down);
        f.is_quiet = true; // so that no other error comes in between
        mica_error_clear();
        assert_int_equal(mica_set(f.world, entity_a(), Health, {length}), MICA_OK);
        assert_int_equal(f.call_count, 4);
        assert_int_equal(mica_last_result(), length == 4 ? MICA_OK : MICA_LIMIT);
        assert_int_equal(mica_get(f.world, entity_a(), Health)->now, length == 4 ? 1 : 2);
        void *end = &f;
        tear_down(&end);
    }
}

// Many links that are no chain: each is caused by the operation itself.
static void breadth_is_not_depth(void **state) {
    (void)state;
    enum { COUNT = 50 };
    fixture f;
    begin_limited(&f, 2);
    listen_then(&f, MICA_SET, mica_type_of(Health), record_speed);
    listen(&f, MICA_SET, mica_type_of(Speed));
    f.is_quiet = true;
    mica_error_clear();
    for (int32_t i = 0; i < COUNT; i++) {
        mica_spawn(f.commands, mica_value_of(Health, {i}));
    }
    apply(&f);
    assert_int_equal(f.call_count, 2 * COUNT);
    assert_int_equal(mica_last_result(), MICA_OK);
    void *end = &f;
    tear_down(&end);
}

static void the_default_limit_is_thirty_two(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    connect_a_chain(f);
    mica_set(f->world, entity_a(), Health, {1});
    assert_int_equal(f->call_count, 32);
    mica_error_clear();
    assert_null(mica_world_create(&(mica_world_def){.reaction_limit = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void start_the_chain(mica_run *run) {
    mica_set(mica_run_commands(run), entity_a(), Health, {1});
}

static void in_a_tick_a_chain_without_an_end_fails_the_tick(void **state) {
    fixture *f = *state;
    make_entities(f, 1);
    connect_a_chain(f);
    const mica_system system = mica_system_add(
        f->world, &(mica_system_def){.name = "eat", .query = {mica_read(Owned)}, .run = start_the_chain});
    mica_error_clear();
    assert_int_equal(mica_world_step(f->world, 0.5f), MICA_LIMIT);
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("starve");
    assert_said("feed");
    assert_int_equal(mica_world_tick(f->world), 0);
    assert_int_equal(f->call_count, 32);
    mica_system_remove(f->world, system);
    assert_int_equal(mica_world_step(f->world, 0.5f), MICA_OK);
    assert_int_equal(mica_world_tick(f->world), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_tell_the_net_change_of_each_entity),
        CASE(owned_values_that_are_replaced_in_a_buffer_end_once),
        CASE(what_is_made_and_destroyed_in_one_buffer_is_not_left_with_anybody),
        CASE(reactions_come_in_rounds_each_in_the_order_of_recording),
        CASE(a_buffer_is_applied_as_a_whole_before_anything_reacts),
        CASE(many_at_once_are_one_operation),
        CASE(in_a_walk_reactions_wait_for_the_end_of_the_last),
        CASE(what_a_walk_records_is_told_of_when_it_is_applied),
        CASE(a_walk_inside_an_observer_records_for_later),
        CASE(the_buffer_of_observers_is_not_theirs_to_apply_or_destroy),
        CASE(what_observers_make_may_be_named_in_the_same_round),
        CASE(reactions_to_what_is_there_already_are_applied_by_connecting),
        CASE(an_entity_made_because_another_goes_takes_its_place),
        CASE(an_entity_that_loses_something_may_be_changed_for_it),
        CASE(a_type_nobody_has_seen_may_come_up_while_an_entity_goes),
        CASE(a_world_that_ends_tells_all_and_drops_what_is_recorded),
        CASE(a_world_that_ends_in_a_walk_tells_all),
        CASE(clearing_drops_nobodys_reaction),
        CASE(reactions_in_a_system_wait_for_the_barrier),
        CASE(a_barrier_ends_with_the_reactions_to_it),
        CASE(an_exclusive_systems_verbs_end_with_the_reactions_to_them),
        cmocka_unit_test(a_chain_without_an_end_is_cut_off_and_named),
        cmocka_unit_test(a_chain_as_long_as_the_limit_is_not_cut_off),
        cmocka_unit_test(breadth_is_not_depth),
        CASE(the_default_limit_is_thirty_two),
        CASE(in_a_tick_a_chain_without_an_end_fails_the_tick),
    };
    return run_in_all_storages(tests, sizeof(tests) / sizeof(tests[0]));
}
