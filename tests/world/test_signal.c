// Broadcasts: what an observer can do while it is called, and who is called when observers connect and disconnect
// meanwhile.
#include "observer_world.h"

static mica_entity entity_a(void) {
    return mica_entity_make(1, 0);
}

// Inside

static void leave_empty(void *user, const mica_spawn_span *span) {
    (void)user;
    (void)span;
}

static int by_value(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return ((const Health *)a->value)->now - ((const Health *)b->value)->now;
}

static void expect_locked_structure(fixture *f, const mica_signal *signal) {
    mica_world *world = f->world;
    const mica_entity it = entity_a();
    const mica_entity other = mica_entity_make(20, 0);
    const Health health = {1};
    (void)signal;
    assert_int_equal(mica_destroy(world, it), MICA_LOCKED);
    assert_int_equal(mica_destroy_many(world, &it, 1), MICA_LOCKED);
    assert_int_equal(mica_destroy_subtree(world, it), MICA_LOCKED);
    assert_int_equal(mica_set_parent(world, it, MICA_NULL), MICA_LOCKED);
    assert_int_equal(mica_entity_create_at(world, &other, 1), MICA_LOCKED);
    assert_true(mica_entity_is_null(mica_clone(world, it)));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_true(mica_entity_is_null(mica_spawn(world, mica_tag(Frozen))));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_spawn_many(world, 1, NULL, mica_column_of(Health, &health)), MICA_LOCKED);
    assert_int_equal(mica_entity_spawn_fill(world, &f->health, 1, 1, leave_empty, NULL), MICA_LOCKED);
    assert_int_equal(mica_add(world, it, Speed), MICA_LOCKED);
    assert_int_equal(mica_set(world, it, Speed, {1}), MICA_LOCKED);
    assert_int_equal(mica_remove(world, it, Health), MICA_LOCKED);
    assert_int_equal(mica_kill(world, it), MICA_LOCKED);
    assert_int_equal(mica_disable(world, it), MICA_LOCKED);
    assert_int_equal(mica_refresh(world), -1);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_world_clear(world), MICA_LOCKED);
    assert_int_equal(mica_world_trim(world), MICA_LOCKED);
    assert_int_equal(mica_world_step(world, 0.5f), MICA_LOCKED);
    assert_int_equal(mica_commands_apply(f->commands), MICA_LOCKED);
    mica_error_clear();
    mica_world_destroy(world); // it stays
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_true(mica_alive(world, it));
}

static void structure_is_locked_inside_observers_of_all_kinds(void **state) {
    fixture *f = *state;
    for (mica_signal_kind kind = MICA_ADDED; kind <= MICA_DESTROYED; kind++) {
        const bool is_of_component = kind <= MICA_REMOVED;
        listen_then(f, kind, is_of_component ? mica_type_of(Health) : NULL, expect_locked_structure);
    }
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_ENTERED, .query = {mica_read(Health)}},
                expect_locked_structure);
    connect_def(f, "hurt", (mica_observer_def){.on = MICA_LEFT, .query = {mica_read(Health)}}, expect_locked_structure);
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "created a, added a.Health, set a.Health=1, entered a.hurt");
    listen_then(f, MICA_RESOURCE_SET, mica_type_of(Speed), expect_locked_structure);
    listen_then(f, MICA_RESOURCE_REMOVED, mica_type_of(Speed), expect_locked_structure);
    mica_set_resource(f->world, Speed, {2});
    mica_remove_resource(f->world, Speed);
    assert_told(f, "resource set Speed=2, resource removed Speed=2");
    assert_int_equal(mica_destroy(f->world, a), MICA_OK);
    assert_told(f, "left a.hurt, removed a.Health=1, destroyed a");
    assert_int_equal(mica_world_tick(f->world), 0);
    assert_int_equal(mica_world_entity_count(f->world), 0);
}

static void sort_the_pool(fixture *f, const mica_signal *signal) {
    (void)signal;
    assert_int_equal(mica_pool_sort(f->world, f->speed, by_value, NULL), MICA_LOCKED);
}

// What a verb hands out is not moved away by those who are told of it.
static void a_pool_is_not_sorted_while_its_newest_is_told_of(void **state) {
    (void)state;
    fixture f;
    const mica_type before = mica_type_Speed;
    mica_type_Speed.traits = (mica_traits){.storage = MICA_POOL};
    begin_limited(&f, 0);
    mica_spawn(f.world, mica_value_of(Speed, {9}));
    listen_then(&f, MICA_ADDED, mica_type_of(Speed), sort_the_pool);
    const mica_entity b = mica_spawn(f.world, mica_value_of(Speed, {1}));
    assert_int_equal(mica_get(f.world, b, Speed)->now, 1);
    assert_int_equal(f.call_count, 1);
    void *end = &f;
    tear_down(&end);
    mica_type_Speed = before;
}

static void look_around(fixture *f, const mica_signal *signal) {
    mica_query *query = mica_query_of(f->world, mica_read(Health), mica_read_optional(Speed));
    assert_int_equal(mica_query_count(query), 2);
    int32_t sum = 0;
    mica_each_row (query, it) {
        sum += mica_row_read(it, Health)->now;
    }
    assert_int_equal(sum, 7);
    assert_true(mica_has(f->world, signal->entity, Speed));
    f->held = signal->entity;
}

static void everything_can_be_read_inside(void **state) {
    fixture *f = *state;
    mica_spawn(f->world, mica_value_of(Health, {3}));
    const mica_entity b = mica_spawn(f->world, mica_value_of(Health, {4}));
    listen_then(f, MICA_ADDED, mica_type_of(Speed), look_around);
    listen_then(f, MICA_REMOVED, mica_type_of(Speed), look_around);
    mica_set(f->world, b, Speed, {1});
    mica_remove(f->world, b, Speed);
    assert_told(f, "added b.Speed, removed b.Speed=1");
    assert_true(mica_entity_equal(f->held, b));
}

// Values set inside

static void copy_to_speed(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_set(f->world, signal->entity, Speed, {mica_signal_value(signal, Health)->now}), MICA_OK);
}

static void a_value_set_inside_is_told_of_at_once(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    const mica_observer_def def = {.on = MICA_SET, .type = mica_type_of(Health)};
    connect_def(f, "first", def, copy_to_speed);
    connect_def(f, "second", def, NULL);
    listen(f, MICA_SET, mica_type_of(Speed));
    mica_set(f->world, a, Health, {5});
    assert_told(f, "first set a.Health=5, set a.Speed=5, second set a.Health=5");
    assert_int_equal(mica_get(f->world, a, Speed)->now, 5);
}

static void set_speed_of_dying(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_set(f->world, signal->entity, Speed, {8}), MICA_OK);
}

static void values_of_what_is_about_to_go_can_be_set(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    listen_then(f, MICA_REMOVED, mica_type_of(Health), set_speed_of_dying);
    listen(f, MICA_REMOVED, mica_type_of(Speed));
    listen(f, MICA_SET, mica_type_of(Speed));
    mica_destroy(f->world, a);
    assert_told(f, "removed a.Health=1, set a.Speed=8, removed a.Speed=8");
}

static void copy_back_to_health(fixture *f, const mica_signal *signal) {
    const int32_t now = mica_signal_value(signal, Speed)->now;
    const mica_result expected = f->call_count == 4 ? MICA_LIMIT : MICA_OK;
    assert_int_equal(mica_set(f->world, signal->entity, Health, {now + 1}), expected);
}

static void observers_that_set_each_other_off_are_cut_off(void **state) {
    (void)state;
    fixture f;
    begin_limited(&f, 4);
    const mica_entity a = mica_spawn(f.world, mica_value_of(Health, {1}), mica_value_of(Speed, {1}));
    connect_def(&f, NULL, (mica_observer_def){.name = "hasten", .on = MICA_SET, .type = mica_type_of(Health)},
                copy_to_speed);
    connect_def(&f, NULL, (mica_observer_def){.name = "heal", .on = MICA_SET, .type = mica_type_of(Speed)},
                copy_back_to_health);
    mica_error_clear();
    assert_int_equal(mica_set(f.world, a, Health, {5}), MICA_OK);
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("hasten");
    assert_said("heal");
    assert_non_null(strstr(f.logged, "hasten"));
    assert_non_null(strstr(f.logged, "heal"));
    assert_told(&f, "set a.Health=5, set a.Speed=5, set a.Health=6, set a.Speed=6");
    assert_int_equal(mica_get(f.world, a, Health)->now, 6); // nobody could be told of a seventh
    // The next one starts afresh.
    f.call_count = 0;
    f.listeners[0].then = NULL;
    mica_set(f.world, a, Speed, {1});
    assert_told(&f, "set a.Speed=1, set a.Health=2");
    void *end = &f;
    tear_down(&end);
}

// Connecting and disconnecting meanwhile

static void disconnect_itself(fixture *f, const mica_signal *signal) {
    assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_OK);
    assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_UNKNOWN);
}

static void disconnect_listener(fixture *f, uint32_t number) {
    assert_int_equal(mica_observer_disconnect(f->world, f->listeners[number].observer), MICA_OK);
}

static void disconnect_first(fixture *f, const mica_signal *signal) {
    if (signal->entity.bits == entity_a().bits) {
        disconnect_listener(f, 0);
    }
}

static void disconnect_third(fixture *f, const mica_signal *signal) {
    if (signal->entity.bits == entity_a().bits) {
        disconnect_listener(f, 2);
    }
}

static void disconnect_all(fixture *f, const mica_signal *signal) {
    (void)signal;
    for (uint32_t i = 0; i < f->listener_count; i++) {
        disconnect_listener(f, i);
    }
}

static void connect_a_fourth(fixture *f, const mica_signal *signal) {
    if (signal->entity.bits == entity_a().bits) {
        connect_def(f, "fourth", (mica_observer_def){.on = MICA_SET, .type = mica_type_of(Health)}, NULL);
    }
}

// Three observers, of which the second does something when it is told of the first entity.
static void with_second(fixture *f, listener_function then) {
    const mica_observer_def def = {.on = MICA_SET, .type = mica_type_of(Health)};
    connect_def(f, "first", def, NULL);
    connect_def(f, "second", def, then);
    connect_def(f, "third", def, NULL);
    mica_spawn(f->world, mica_value_of(Health, {1}));
}

static void one_that_is_connected_by_an_observer_hears_the_next_signal_of_the_same_change(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_ADDED, mica_type_of(Health), connect_a_fourth);
    const mica_entity a = mica_create(f->world);
    assert_true(a.bits == entity_a().bits);
    for (uint32_t i = 0; i < 2; i++) { // by a verb, then by a buffer
        const int32_t before = mica_world_statistics(f->world).observer_count;
        if (i == 0) {
            assert_int_equal(mica_set(f->world, a, Health, {5}), MICA_OK);
            assert_told(f, "added a.Health, fourth set a.Health=5");
        } else {
            assert_int_equal(mica_set(f->commands, a, Health, {6}), MICA_OK);
            assert_int_equal(mica_commands_apply(f->commands), MICA_OK);
            assert_told(f, "added a.Health, fourth set a.Health=6");
        }
        assert_int_equal(mica_world_statistics(f->world).observer_count, before + 1);
        // Nobody hears of values any more, so that the next change begins as the first one did.
        mica_observer last = {0};
        for (uint32_t k = 0; k < f->world->signals.observers.count; k++) {
            last.id = f->world->signals.observers.data[k]->id;
        }
        assert_int_equal(mica_observer_disconnect(f->world, last), MICA_OK);
        assert_int_equal(mica_remove(f->world, a, Health), MICA_OK);
    }
}

static void one_that_disconnects_itself_is_called_once(void **state) {
    fixture *f = *state;
    with_second(f, disconnect_itself);
    assert_told(f, "first set a.Health=1, second set a.Health=1, third set a.Health=1");
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "first set b.Health=2, third set b.Health=2");
}

static void an_earlier_one_that_is_disconnected_is_called_no_more(void **state) {
    fixture *f = *state;
    with_second(f, disconnect_first);
    assert_told(f, "first set a.Health=1, second set a.Health=1, third set a.Health=1");
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "second set b.Health=2, third set b.Health=2");
}

static void a_later_one_that_is_disconnected_misses_this_signal_already(void **state) {
    fixture *f = *state;
    with_second(f, disconnect_third);
    assert_told(f, "first set a.Health=1, second set a.Health=1");
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "first set b.Health=2, second set b.Health=2");
}

static void all_may_be_disconnected_by_one_of_them(void **state) {
    fixture *f = *state;
    with_second(f, disconnect_all);
    assert_told(f, "first set a.Health=1, second set a.Health=1");
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "");
}

static void one_that_is_connected_meanwhile_is_told_from_the_next_signal_on(void **state) {
    fixture *f = *state;
    with_second(f, connect_a_fourth);
    assert_told(f, "first set a.Health=1, second set a.Health=1, third set a.Health=1");
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_told(f, "first set b.Health=2, second set b.Health=2, third set b.Health=2, fourth set b.Health=2");
}

static void connect_many(fixture *f, const mica_signal *signal) {
    const mica_observer_def def = {.on = signal->kind, .component = signal->component};
    for (uint32_t i = 0; i < 40; i++) { // the list of observers is certain to move
        connect_def(f, "late", def, NULL);
    }
    assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_OK);
}

static void many_may_be_connected_meanwhile(void **state) {
    fixture *f = *state;
    with_second(f, connect_many);
    assert_told(f, "first set a.Health=1, second set a.Health=1, third set a.Health=1");
    f->call_count = 0;
    mica_spawn(f->world, mica_value_of(Health, {2}));
    assert_int_equal(f->call_count, 42);
}

// Set off once more while the outer broadcast stands at the first of the two.
static void disconnect_in_a_nested_broadcast(fixture *f, const mica_signal *signal) {
    const int32_t now = mica_signal_value(signal, Health)->now;
    if (now == 1) {
        mica_set(f->world, signal->entity, Health, {2});
    } else if (now == 2) {
        disconnect_itself(f, signal);
        disconnect_listener(f, 1);
        connect_def(f, "late", (mica_observer_def){.on = MICA_SET, .type = mica_type_of(Health)}, NULL);
    }
}

static void broadcasts_inside_each_other_agree_on_who_is_connected(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {0}));
    const mica_observer_def def = {.on = MICA_SET, .type = mica_type_of(Health)};
    connect_def(f, "first", def, disconnect_in_a_nested_broadcast);
    connect_def(f, "second", def, NULL);
    mica_set(f->world, a, Health, {1});
    assert_told(f, "first set a.Health=1, first set a.Health=2");
    mica_set(f->world, a, Health, {3});
    assert_told(f, "late set a.Health=3");
}

static void disconnect_the_other_kind(fixture *f, const mica_signal *signal) {
    (void)signal;
    disconnect_listener(f, 1);
}

static void observers_of_other_signals_of_the_same_change_may_go(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_ADDED, mica_type_of(Health), disconnect_the_other_kind);
    listen(f, MICA_SET, mica_type_of(Health));
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "added a.Health");
}

static void connect_a_set(fixture *f, const mica_signal *signal) {
    disconnect_itself(f, signal);
    listen(f, MICA_SET, mica_type_of(Health));
    listen(f, MICA_SET, mica_type_of(Speed));
}

static void an_observer_connected_in_an_earlier_signal_of_the_change_hears_the_later_ones(void **state) {
    fixture *f = *state;
    listen_then(f, MICA_CREATED, NULL, connect_a_set);
    mica_spawn(f->world, mica_value_of(Health, {1}), mica_value_of(Speed, {2}));
    assert_told(f, "created a, set a.Health=1, set a.Speed=2");
}

static void query_observers_go_and_come_meanwhile(void **state) {
    fixture *f = *state;
    const mica_observer_def def = {.on = MICA_ENTERED, .query = {mica_read(Health)}};
    connect_def(f, "first", def, NULL);
    connect_def(f, "second", def, disconnect_all);
    connect_def(f, "third", def, NULL);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "entered a.first, entered a.second");
    connect_def(f, "next", def, NULL);
    mica_spawn(f->world, mica_value_of(Health, {1}));
    assert_told(f, "entered b.next");
}

static void who_was_disconnected_is_never_called(void **state) {
    fixture *f = *state;
    const mica_entity a = mica_spawn(f->world, mica_value_of(Health, {1}));
    listen_to_all(f);
    listen_to_query(f, "hurt", mica_read(Health));
    for (uint32_t i = 0; i < f->listener_count; i++) {
        disconnect_listener(f, i);
    }
    mica_set(f->world, a, Health, {2});
    mica_clone(f->world, a);
    mica_destroy(f->world, a);
    mica_world_clear(f->world);
    assert_int_equal(f->call_count, 0);
}

// A component whose elements are plain bytes, told of by itself

MICA_STRUCT_WITH(Bare, (.storage = MICA_POOL), { int32_t now; });
MICA_STRUCT_WITH(Row, (.storage = MICA_TABLE), { int32_t now; });
MICA_TAG_WITH(Note, (.storage = MICA_POOL));

typedef struct bare_count {
    int32_t added;
    int32_t set;
    int32_t removed;
    int32_t expected; // the value that is told of
    void (*then)(const mica_signal *signal);
} bare_count;

static void hear_of_bare(const mica_signal *signal) {
    bare_count *count = signal->user;
    count->added += signal->kind == MICA_ADDED;
    count->set += signal->kind == MICA_SET;
    count->removed += signal->kind == MICA_REMOVED;
    assert_int_equal(*(const int32_t *)signal->value, count->expected);
    assert_true(mica_entity_has(signal->world, signal->entity, signal->component));
    assert_int_equal(mica_entity_remove(signal->world, signal->entity, signal->component), MICA_LOCKED);
    if (count->then != NULL) {
        count->then(signal);
    }
}

// Of both storages: what is told of a component that comes by itself.
static mica_observer listen_to_bare(mica_world *world, bool is_row, mica_signal_kind on, bare_count *count) {
    return mica_observer_connect_to(world, on, is_row ? mica_type_of(Row) : mica_type_of(Bare), hear_of_bare, count);
}

static mica_entity add_bare(mica_world *world, bool is_row, bare_count *count, int32_t now) {
    const mica_entity entity = mica_create(world);
    count->expected = now;
    assert_int_equal(is_row ? mica_add_value(world, entity, Row, {now}) : mica_add_value(world, entity, Bare, {now}),
                     MICA_OK);
    return entity;
}

static void connect_to_what_follows(const mica_signal *signal) {
    bare_count *count = signal->user;
    count->then = NULL;
    const bool is_row = signal->component == mica_register(signal->world, Row);
    assert_int_not_equal(listen_to_bare(signal->world, is_row, MICA_SET, count).id, 0);
}

static void go_itself(const mica_signal *signal) {
    assert_int_equal(mica_observer_disconnect(signal->world, signal->observer), MICA_OK);
}

static void note_down(const mica_signal *signal) {
    assert_int_equal(mica_add(signal->commands, signal->entity, Note), MICA_OK);
}

static void an_only_observer_hears_of_bare_values_as_one_of_many_does(void **state) {
    fixture *f = *state;
    for (int32_t is_row = 0; is_row < 2; is_row++) {
        bare_count count = {0};
        const mica_observer first = listen_to_bare(f->world, is_row, MICA_ADDED, &count);
        for (int32_t i = 0; i < 40; i++) { // past the calls that are measured
            add_bare(f->world, is_row, &count, i);
        }
        assert_int_equal(count.added, 40);
        mica_observer_stats stats;
        assert_int_equal(mica_observer_statistics(f->world, first, &stats), MICA_OK);
        assert_int_equal(stats.call_count, 40);
        const mica_observer second = listen_to_bare(f->world, is_row, MICA_ADDED, &count);
        add_bare(f->world, is_row, &count, 1);
        assert_int_equal(count.added, 42);
        assert_int_equal(mica_observer_disconnect(f->world, first), MICA_OK);
        const mica_entity entity = add_bare(f->world, is_row, &count, 2);
        assert_int_equal(count.added, 43);
        const mica_observer removed = listen_to_bare(f->world, is_row, MICA_REMOVED, &count);
        assert_int_equal(is_row ? mica_remove(f->world, entity, Row) : mica_remove(f->world, entity, Bare), MICA_OK);
        assert_int_equal(count.removed, 1);
        assert_false(is_row ? mica_has(f->world, entity, Row) : mica_has(f->world, entity, Bare));
        assert_int_equal(mica_observer_disconnect(f->world, removed), MICA_OK);
        assert_int_equal(mica_observer_disconnect(f->world, second), MICA_OK);
        add_bare(f->world, is_row, &count, 3);
        assert_int_equal(count.added, 43);
        assert_int_equal(count.set, 0);
    }
}

static void an_only_observer_of_bare_values_may_connect_disconnect_and_record(void **state) {
    fixture *f = *state;
    for (int32_t is_row = 0; is_row < 2; is_row++) {
        bare_count count = {.then = connect_to_what_follows};
        const mica_observer added = listen_to_bare(f->world, is_row, MICA_ADDED, &count);
        add_bare(f->world, is_row, &count, 1);
        assert_int_equal(count.set, 1); // of the same add
        add_bare(f->world, is_row, &count, 2);
        assert_int_equal(count.added, 2);
        assert_int_equal(count.set, 2);
        assert_int_equal(mica_observer_disconnect(f->world, added), MICA_OK);
        bare_count going = {.then = go_itself};
        assert_int_not_equal(listen_to_bare(f->world, is_row, MICA_ADDED, &going).id, 0);
        going.expected = 3;
        add_bare(f->world, is_row, &count, 3);
        add_bare(f->world, is_row, &count, 4);
        assert_int_equal(going.added, 1);
        bare_count noting = {.then = note_down};
        assert_int_not_equal(listen_to_bare(f->world, is_row, MICA_ADDED, &noting).id, 0);
        for (int32_t i = 5; i < 8; i++) {
            noting.expected = i;
            const mica_entity entity = add_bare(f->world, is_row, &count, i);
            assert_true(mica_has(f->world, entity, Note));
        }
        assert_int_equal(noting.added, 3);
        assert_int_equal(count.set, 7);
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(structure_is_locked_inside_observers_of_all_kinds),
        CASE(everything_can_be_read_inside),
        CASE(a_value_set_inside_is_told_of_at_once),
        CASE(values_of_what_is_about_to_go_can_be_set),
        cmocka_unit_test(observers_that_set_each_other_off_are_cut_off),
        CASE(one_that_disconnects_itself_is_called_once),
        CASE(an_earlier_one_that_is_disconnected_is_called_no_more),
        CASE(a_later_one_that_is_disconnected_misses_this_signal_already),
        CASE(all_may_be_disconnected_by_one_of_them),
        CASE(one_that_is_connected_meanwhile_is_told_from_the_next_signal_on),
        CASE(one_that_is_connected_by_an_observer_hears_the_next_signal_of_the_same_change),
        CASE(many_may_be_connected_meanwhile),
        CASE(broadcasts_inside_each_other_agree_on_who_is_connected),
        CASE(observers_of_other_signals_of_the_same_change_may_go),
        CASE(an_observer_connected_in_an_earlier_signal_of_the_change_hears_the_later_ones),
        CASE(query_observers_go_and_come_meanwhile),
        CASE(who_was_disconnected_is_never_called),
        CASE(an_only_observer_hears_of_bare_values_as_one_of_many_does),
        CASE(an_only_observer_of_bare_values_may_connect_disconnect_and_record),
    };
    const struct CMUnitTest in_a_pool[] = {cmocka_unit_test(a_pool_is_not_sorted_while_its_newest_is_told_of)};
    return run_in_all_storages(tests, sizeof(tests) / sizeof(tests[0])) +
           cmocka_run_group_tests_name("in a pool", in_a_pool, NULL, NULL);
}
