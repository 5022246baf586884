// Queries for what was removed, since when changes count, and systems that ask; the log of removals; failing memory.
#include "changes_world.h"

#include "world/world.h"

// Removed

static void every_way_to_remove_counts(mica_world *world) {
    mica_entity e[7];
    for (int32_t i = 0; i < 7; i++) {
        e[i] = mica_spawn(world, mica_value_of(Plain, {i}), mica_value_of(Exact, {i}));
    }
    mica_query *removed = REMOVED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    mica_remove(world, e[4], Plain);
    mica_destroy(world, e[1]);
    mica_commands *commands = mica_commands_create(world);
    mica_remove(commands, e[2], Plain);
    mica_destroy(commands, e[3]);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    const found *all = ask(removed, since);
    assert_int_equal(all->count, 4);
    assert_entity_equal(all->entities[0], e[4]);
    assert_entity_equal(all->entities[1], e[1]);
    assert_true(has(all, e[2]) && has(all, e[3]));
    const uint64_t later = mica_world_advance_version(world);
    assert_int_equal(mica_world_clear(world), MICA_OK);
    all = ask(removed, later);
    assert_int_equal(all->count, 3);
    assert_true(has(all, e[0]) && has(all, e[5]) && has(all, e[6]));
    assert_int_equal(ask(removed, since)->count, 7);
}

static void who_was_removed_several_times_is_named_once(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *removed = REMOVED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    for (int32_t i = 0; i < 5; i++) {
        mica_remove(world, fifth, Plain);
        mica_set(world, fifth, Plain, {i});
    }
    assert_only(removed, since, fifth);
    const uint64_t later = mica_world_advance_version(world);
    assert_nobody(removed, later);
    mica_remove(world, fifth, Plain);
    assert_only(removed, later, fifth);
}

static void beside_other_terms_the_living_that_match_are_named(mica_world *world) {
    mica_entity e[4];
    for (int32_t i = 0; i < 4; i++) {
        e[i] = mica_spawn(world, mica_value_of(Plain, {i}), mica_value_of(Exact, {i}));
    }
    mica_query *without = mica_query_of(world, mica_removed(Plain), mica_without(Plain));
    mica_query *again = mica_query_of(world, mica_removed(Plain), mica_read(Plain), mica_read(Exact));
    const uint64_t since = mica_world_advance_version(world);
    for (int32_t i = 3; i >= 0; i--) {
        mica_remove(world, e[i], Plain);
    }
    mica_destroy(world, e[2]);
    mica_set(world, e[0], Plain, {50});
    const found *all = ask(without, since);
    assert_int_equal(all->count, 2);
    assert_entity_equal(all->entities[0], e[3]);
    assert_entity_equal(all->entities[1], e[1]);
    assert_only(again, since, e[0]);
    mica_each_since(again, since, it) {
        assert_int_equal(mica_read_of(it, Plain)[0].number, 50);
        assert_int_equal(mica_read_of(it, Exact)[0].number, 0);
    }
    assert_int_equal(ask(REMOVED(world, Plain), since)->count, 4);
}

static void an_older_version_than_is_kept_is_refused(mica_world *world) {
    mica_query *removed = REMOVED(world, Plain);
    const uint64_t old = mica_world_advance_version(world);
    const mica_entity first = mica_spawn(world, mica_value_of(Plain, {1}));
    mica_destroy(world, first);
    const uint64_t since = mica_world_advance_version(world);
    for (int32_t i = 0; i < MICA_REMOVED_ROUNDS - 2; i++) {
        mica_world_advance_version(world);
    }
    assert_only(removed, old, first);
    mica_world_advance_version(world);
    mica_world_advance_version(world);
    mica_iter it = mica_query_begin_since(removed, old);
    assert_false(it.open);
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("who lost Plain since version");
    assert_nobody(removed, since);
    assert_nobody(removed, 0);
}

// Systems

typedef struct asker {
    mica_system system;
    int32_t run_count;
    found changed; // Exact
    found added;   // Plain
    found removed; // Plain
    uint64_t since;
    bool writes;
    bool fails;
} asker;

static void take(mica_run *run, mica_query *query, found *into) {
    (void)run;
    into->count = 0;
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            into->entities[into->count++] = it.entities[i];
        }
    }
}

static void ask_all(mica_run *run) {
    asker *a = mica_run_user(run);
    a->run_count++;
    a->since = mica_run_since(run);
    mica_error_clear();
    take(run, mica_run_query(run, 0), &a->changed);
    take(run, mica_run_query(run, 1), &a->added);
    take(run, mica_run_query(run, 2), &a->removed);
    assert_string_equal(mica_last_error(), "");
    if (a->writes) {
        mica_each (mica_run_query(run, 3), it) {
            mica_write_of(it, Exact)[0].number++;
        }
    }
    if (a->fails) {
        mica_run_fail(run, MICA_FAILED, "as asked");
    }
}

static void add_asker(mica_world *world, asker *a, const char *name, mica_stage stage) {
    a->system = mica_system_add(world, &(mica_system_def){.name = name,
                                                          .run = ask_all,
                                                          .stage = stage,
                                                          .user = a,
                                                          .query_count = 4,
                                                          .queries = {{{mica_changed(Exact)}},
                                                                      {{mica_added(Plain)}},
                                                                      {{mica_removed(Plain)}},
                                                                      {{mica_write(Exact)}}}});
    assert_int_not_equal(a->system.id, 0);
}

typedef struct writer {
    mica_entity entity;
    int32_t left; // runs that write
    bool removes;
    bool records;
} writer;

static void write_now(mica_run *run) {
    writer *w = mica_run_user(run);
    if (w->left <= 0) {
        return;
    }
    w->left--;
    if (w->records) {
        mica_set(mica_run_commands(run), w->entity, Exact, {5});
    } else if (w->removes) {
        mica_remove(mica_run_world(run), w->entity, Plain);
    } else {
        mica_set(mica_run_world(run), w->entity, Exact, {w->left});
    }
}

static void add_writer(mica_world *world, writer *w, const char *name, mica_stage stage) {
    assert_int_not_equal(
        mica_system_add(world, &(mica_system_def){.name = name, .run = write_now, .stage = stage, .user = w}).id, 0);
}

#define STEP(WORLD) assert_int_equal(mica_world_step((WORLD), 0.1f), MICA_OK)

static void in_its_first_run_a_system_sees_everything_as_new(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    spawn_ten(world);
    add_asker(world, &a, "ask", MICA_UPDATE);
    STEP(world);
    assert_int_equal(a.since, 0);
    assert_int_equal(a.changed.count, 10);
    assert_int_equal(a.added.count, 10);
    assert_int_equal(a.removed.count, 0);
    STEP(world);
    assert_true(a.since > 0);
    assert_int_equal(a.changed.count, 0);
    assert_int_equal(a.added.count, 0);
}

static void changes_of_the_same_tick_are_seen_once_before_and_after_the_asker(mica_world *world) {
    static asker a;
    for (int32_t way = 0; way < 3; way++) { // a verb, a removal, a command
        a = (asker){.run_count = 0};
        const mica_entity fifth = spawn_ten(world);
        writer before = {.entity = fifth, .removes = way == 1, .records = way == 2};
        writer after = before;
        add_writer(world, &before, "before", MICA_PRE_UPDATE);
        add_asker(world, &a, "ask", MICA_UPDATE);
        add_writer(world, &after, "after", MICA_POST_UPDATE);
        const found *seen = way == 1 ? &a.removed : &a.changed;
        STEP(world);
        for (int32_t round = 0; round < 2; round++) {
            writer *who = round == 0 ? &before : &after;
            mica_set(world, fifth, Plain, {1});
            STEP(world);
            who->left = 1;
            STEP(world);
            assert_int_equal(seen->count, round == 0 ? 1 : 0);
            STEP(world);
            assert_int_equal(seen->count, round == 0 ? 0 : 1);
            STEP(world);
            assert_int_equal(seen->count, 0);
        }
        assert_int_equal(mica_system_remove(world, mica_system_find(world, "before")), MICA_OK);
        assert_int_equal(mica_system_remove(world, mica_system_find(world, "after")), MICA_OK);
        assert_int_equal(mica_system_remove(world, a.system), MICA_OK);
    }
}

static void own_writes_do_not_count_and_those_of_others_do(mica_world *world) {
    static asker a, b;
    a = (asker){.writes = true};
    b = (asker){.run_count = 0};
    spawn_ten(world);
    add_asker(world, &a, "writes", MICA_UPDATE);
    add_asker(world, &b, "looks", MICA_POST_UPDATE);
    STEP(world);
    STEP(world);
    assert_int_equal(a.changed.count, 0);
    assert_int_equal(b.changed.count, 10);
}

static void a_system_that_sleeps_misses_nothing(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    const mica_entity fifth = spawn_ten(world);
    const mica_entity doomed = mica_spawn(world, mica_value_of(Plain, {1}));
    add_asker(world, &a, "sleeps", MICA_UPDATE);
    STEP(world);
    mica_system_enable(world, a.system, false);
    mica_destroy(world, doomed);
    mica_set(world, fifth, Exact, {3});
    const mica_entity fresh = mica_spawn(world, mica_value_of(Plain, {1}));
    for (int32_t i = 0; i < MICA_REMOVED_ROUNDS + 10; i++) {
        STEP(world);
    }
    assert_int_equal(a.run_count, 1);
    mica_system_enable(world, a.system, true);
    STEP(world);
    assert_int_equal(a.changed.count, 1);
    assert_entity_equal(a.changed.entities[0], fifth);
    assert_int_equal(a.added.count, 1);
    assert_entity_equal(a.added.entities[0], fresh);
    assert_int_equal(a.removed.count, 1);
    assert_entity_equal(a.removed.entities[0], doomed);
    STEP(world);
    assert_int_equal(a.changed.count + a.added.count + a.removed.count, 0);
}

static void versions_far_apart_are_told_apart(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    const mica_entity fifth = spawn_ten(world);
    add_asker(world, &a, "sleeps", MICA_UPDATE);
    STEP(world);
    const uint64_t own = mica_world_advance_version(world);
    mica_system_enable(world, a.system, false);
    mica_set(world, fifth, Exact, {3});
    world->store.version += UINT64_C(1) << 40; // what no program lives to see
    STEP(world);
    mica_system_enable(world, a.system, true);
    STEP(world);
    assert_int_equal(a.changed.count, 1);
    assert_only(CHANGED(world, Exact), own, fifth);
    const uint64_t now = mica_world_advance_version(world);
    assert_nobody(CHANGED(world, Exact), now);
}

static void a_run_that_fails_is_none(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    const mica_entity fifth = spawn_ten(world);
    add_asker(world, &a, "fails", MICA_UPDATE);
    STEP(world);
    mica_set(world, fifth, Exact, {3});
    a.fails = true;
    assert_int_equal(mica_world_step(world, 0.1f), MICA_FAILED);
    assert_int_equal(a.changed.count, 1);
    a.fails = false;
    STEP(world);
    assert_int_equal(a.changed.count, 1);
    STEP(world);
    assert_int_equal(a.changed.count, 0);
}

// A reader at a fixed rate of its own beside writers at every frame, and the other way round: each change once.
static void a_reader_at_another_rate_sees_each_change_once(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    add_asker(world, &a, "reader", MICA_UPDATE);
    STEP(world);
    int32_t removed_count = 0;
    int32_t seen_count = 0;
    for (int32_t frame = 0; frame < 60; frame++) {
        const int32_t many = frame % 7 == 0 ? 3 : 1;
        for (int32_t i = 0; i < many; i++) {
            mica_destroy(world, mica_spawn(world, mica_value_of(Plain, {1})));
            removed_count++;
        }
        const int32_t steps = frame % 5 == 0 ? 4 : frame % 2; // none, one, or several a frame
        for (int32_t i = 0; i < steps; i++) {
            STEP(world);
            seen_count += a.removed.count;
        }
    }
    STEP(world);
    seen_count += a.removed.count;
    assert_int_equal(seen_count, removed_count);
}

static void the_log_stays_as_small_as_what_nobody_has_seen(mica_world *world) {
    static asker a;
    a = (asker){.run_count = 0};
    add_asker(world, &a, "reader", MICA_UPDATE);
    size_t settled = 0;
    for (int32_t tick = 0; tick < 200; tick++) {
        for (int32_t i = 0; i < 20; i++) {
            mica_destroy(world, mica_spawn(world, mica_value_of(Plain, {1})));
        }
        STEP(world);
        assert_int_equal(a.removed.count, 20);
        const size_t now = mica_world_memory(world).bytes[MICA_MEMORY_QUERIES];
        settled = tick == 20 ? now : settled;
        assert_true(tick <= 20 || now == settled);
    }
}

static void advance_in_a_system(mica_run *run) {
    mica_error_clear();
    assert_int_equal(mica_world_advance_version(mica_run_world(run)), 0);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    *(bool *)mica_run_user(run) = true;
}

static void versions_are_not_drawn_inside_ticks(mica_world *world) {
    bool ran = false;
    mica_system_add(world, &(mica_system_def){.name = "advance", .run = advance_in_a_system, .user = &ran});
    STEP(world);
    assert_true(ran);
    assert_int_equal(mica_world_advance_version(NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const uint64_t a = mica_world_advance_version(world);
    const uint64_t b = mica_world_advance_version(world);
    assert_true(a > 0 && b > a);
}

// Failing memory

static void what_cannot_be_noted_is_reported_too_often_and_never_too_little(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    place_type(mica_type_of(Exact), ALL_IN_TABLES, 0);
    place_type(mica_type_of(Plain), ALL_IN_TABLES, 0);
    mica_entity entities[10];
    for (int32_t i = 0; i < 10; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Exact, {i}), mica_value_of(Plain, {i}));
    }
    mica_query *exact = CHANGED(w.world, Exact);
    mica_query *removed = REMOVED(w.world, Plain);
    const uint64_t since = mica_world_advance_version(w.world);
    test_allocator_fail_from(&w.allocator, 1);
    mica_get_write(w.world, entities[3], Exact)->number = 5;
    assert_true(test_allocator_fail_stop(&w.allocator));
    assert_true(has(ask(exact, since), entities[3]));
    const uint64_t later = mica_world_advance_version(w.world);
    assert_nobody(exact, later);
    mica_set(w.world, entities[4], Exact, {5}); // now there is a page
    assert_only(exact, later, entities[4]);
    assert_true(has(ask(exact, since), entities[3]));

    test_allocator_fail_from(&w.allocator, 1);
    mica_destroy(w.world, entities[5]);
    assert_true(test_allocator_fail_stop(&w.allocator));
    mica_iter it = mica_query_begin_since(removed, later);
    assert_false(it.open);
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_said("no memory to note a removal of Plain");
    const uint64_t last = mica_world_advance_version(w.world);
    mica_destroy(w.world, entities[6]);
    assert_only(removed, last, entities[6]);
    watched_end(&w);
}

#define CASES(X)                                                         \
    X(every_way_to_remove_counts)                                        \
    X(who_was_removed_several_times_is_named_once)                       \
    X(beside_other_terms_the_living_that_match_are_named)                \
    X(an_older_version_than_is_kept_is_refused)                          \
    X(in_its_first_run_a_system_sees_everything_as_new)                  \
    X(changes_of_the_same_tick_are_seen_once_before_and_after_the_asker) \
    X(own_writes_do_not_count_and_those_of_others_do)                    \
    X(a_system_that_sleeps_misses_nothing)                               \
    X(versions_far_apart_are_told_apart)                                 \
    X(a_run_that_fails_is_none)                                          \
    X(a_reader_at_another_rate_sees_each_change_once)                    \
    X(the_log_stays_as_small_as_what_nobody_has_seen)                    \
    X(versions_are_not_drawn_inside_ticks)
CASES(EVERY_STORAGE)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASES(TEST_OF) cmocka_unit_test(what_cannot_be_noted_is_reported_too_often_and_never_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
