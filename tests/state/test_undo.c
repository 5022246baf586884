// Undo and redo: states come back exactly, handles with them, and whatever the history does not know is found.
#include "state/state_world.h"

#include <mica/checksum.h>
#include <mica/undo.h>

static state_world w;

enum { PLAIN_COUNT = 6 }; // kinds without hooks, which live in tables

static int set_up(void **state) {
    (void)state;
    state_world_open(&w, NULL);
    w.kind_count = PLAIN_COUNT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(w.world);
    return 0;
}

static mica_snapshot *take(void) {
    mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

// The world is exactly in a state.
static void assert_state(const mica_snapshot *snapshot) {
    mica_difference difference;
    const mica_checksum_options exactly = {.exact = true};
    assert_int_equal(mica_snapshot_compare_world(snapshot, w.world, &exactly, &difference), MICA_OK);
    if (difference.kind != MICA_DIFFERENCE_NONE) {
        fail_msg("%s", difference.text);
    }
}

static mica_history *open_history(const mica_history_def *def) {
    mica_history *history = mica_history_create(w.world, def);
    assert_non_null(history);
    return history;
}

static void begin(mica_history *history, const char *name) {
    if (mica_history_begin(history, name) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static void end(mica_history *history) {
    if (mica_history_end(history) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static void a_destroyed_entity_comes_back_with_its_handle_and_goes_again(void **state) {
    (void)state;
    const mica_entity ship = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Pooled, {4}));
    mica_history *history = open_history(NULL);
    begin(history, "destroy the ship");
    mica_destroy(w.world, ship);
    end(history);
    assert_string_equal(mica_history_undo_name(history), "destroy the ship");
    assert_null(mica_history_redo_name(history));
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_true(mica_alive(w.world, ship));
    assert_int_equal(mica_get(w.world, ship, Position)->z, 3);
    assert_int_equal(mica_get(w.world, ship, Pooled)->value, 4);
    assert_null(mica_history_undo_name(history));
    assert_string_equal(mica_history_redo_name(history), "destroy the ship");
    assert_int_equal(mica_history_redo(history), MICA_OK);
    assert_false(mica_alive(w.world, ship));
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_true(mica_alive(w.world, ship));
    mica_history_destroy(history);
}

enum { STEPS = 40 };

static void any_steps_lead_back_and_forth(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        mica_snapshot *states[STEPS + 1] = {take()};
        mica_history *history = open_history(NULL);
        int32_t count = 0;
        for (int32_t i = 0; i < STEPS; i++) {
            begin(history, "step");
            state_go_on(&w, seed * 1000 + (uint64_t)i, 12);
            end(history);
            count = mica_history_statistics(history).undo_count;
            mica_snapshot_release(states[count]);
            states[count] = take();
        }
        test_random random = {.state = seed};
        int32_t at = count;
        for (int32_t i = 0; i < 100; i++) {
            const bool goes_back = test_random_below(&random, 5) < (i < 50 ? 3 : 2);
            const mica_result result = goes_back ? mica_history_undo(history) : mica_history_redo(history);
            assert_int_equal(result, (goes_back ? at > 0 : at < count) ? MICA_OK : MICA_ABSENT);
            at += result != MICA_OK ? 0 : goes_back ? -1 : 1;
            assert_state(states[at]);
            assert_int_equal(mica_world_validate(w.world), MICA_OK);
        }
        for (int32_t i = 0; i <= count; i++) {
            mica_snapshot_release(states[i]);
        }
        mica_history_destroy(history);
    }
}

static void values_with_hooks_come_back_too(void **state) {
    (void)state;
    w.kind_count = KIND_COUNT;
    state_go_on(&w, 1, 200);
    mica_history *history = open_history(NULL);
    state_dump dumps[9] = {dump_world(w.world)};
    for (int32_t i = 1; i < 9; i++) {
        begin(history, "step");
        state_go_on(&w, (uint64_t)i, 20);
        end(history);
        dumps[i] = dump_world(w.world);
    }
    assert_int_equal(mica_history_statistics(history).undo_count, 8);
    for (int32_t turn = 0; turn < 2; turn++) {
        for (int32_t i = 7; i >= 0; i--) {
            if (mica_history_undo(history) != MICA_OK) {
                fail_msg("%s", mica_last_error());
            }
            state_dump dump = dump_world(w.world);
            assert_dumps_equal(&dump, &dumps[i]);
            dump_free(&dump);
            assert_int_equal(mica_world_validate(w.world), MICA_OK);
        }
        while (mica_history_redo(history) == MICA_OK) {
        }
        assert_int_equal(mica_history_statistics(history).undo_count, 8);
    }
    for (int32_t i = 0; i < 9; i++) {
        dump_free(&dumps[i]);
    }
    mica_history_destroy(history);
}

static void steps_inside_of_a_step_are_part_of_it(void **state) {
    (void)state;
    mica_history *history = open_history(NULL);
    begin(history, "outer");
    const mica_entity a = mica_create(w.world);
    begin(history, "inner");
    const mica_entity b = mica_create(w.world);
    end(history);
    assert_int_equal(mica_history_statistics(history).open_count, 1);
    assert_int_equal(mica_history_undo(history), MICA_EXISTS);
    assert_int_equal(mica_history_redo(history), MICA_EXISTS);
    end(history);
    assert_int_equal(mica_history_statistics(history).undo_count, 1);
    assert_string_equal(mica_history_undo_name(history), "outer");
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_false(mica_alive(w.world, a) || mica_alive(w.world, b));
    mica_history_destroy(history);
}

static void a_step_that_changes_nothing_is_none(void **state) {
    (void)state;
    mica_history *history = open_history(NULL);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {.x = 1}));
    assert_int_equal(mica_history_begin(history, NULL), MICA_MISMATCH);
    mica_history_destroy(history);
    history = open_history(NULL);
    begin(history, "first");
    mica_set(w.world, entity, Position, {.x = 2});
    end(history);
    assert_int_equal(mica_history_undo(history), MICA_OK);
    begin(history, "nothing");
    mica_set(w.world, entity, Position, {.x = 1});
    (void)mica_world_advance_version(w.world);
    end(history);
    assert_int_equal(mica_history_statistics(history).undo_count, 0);
    assert_string_equal(mica_history_redo_name(history), "first"); // it was not dropped for that
    assert_int_equal(mica_history_redo(history), MICA_OK);
    assert_true(mica_get(w.world, entity, Position)->x == 2);
    mica_history_destroy(history);
}

static void a_step_can_be_given_up(void **state) {
    (void)state;
    mica_history *history = open_history(NULL);
    mica_snapshot *before = take();
    begin(history, "outer");
    begin(history, "inner");
    state_go_on(&w, 3, 100);
    assert_int_equal(mica_history_cancel(history), MICA_OK);
    assert_state(before);
    mica_snapshot_release(before);
    assert_int_equal(mica_history_statistics(history).open_count, 0);
    assert_int_equal(mica_history_statistics(history).undo_count, 0);
    assert_int_equal(mica_history_cancel(history), MICA_ABSENT);
    assert_int_equal(mica_history_end(history), MICA_ABSENT);
    mica_history_destroy(history);
}

static void a_new_step_drops_those_that_were_taken_back(void **state) {
    (void)state;
    mica_history *history = open_history(NULL);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {.x = 0}));
    mica_history_destroy(history);
    history = open_history(NULL);
    for (int32_t i = 1; i <= 3; i++) {
        begin(history, "move");
        mica_set(w.world, entity, Position, {.x = (float)i});
        end(history);
    }
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_int_equal(mica_history_statistics(history).redo_count, 2);
    begin(history, "elsewhere");
    mica_set(w.world, entity, Position, {.x = 9});
    end(history);
    const mica_history_stats stats = mica_history_statistics(history);
    assert_int_equal(stats.redo_count, 0);
    assert_int_equal(stats.undo_count, 2);
    assert_int_equal(mica_history_redo(history), MICA_ABSENT);
    mica_history_destroy(history);
}

static void changes_outside_of_steps_are_refused_by_name(void **state) {
    (void)state;
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {.x = 1}));
    mica_history *history = open_history(NULL);
    begin(history, "move");
    mica_set(w.world, entity, Position, {.x = 2});
    end(history);
    mica_set(w.world, entity, Position, {3, 4, 5});
    assert_int_equal(mica_history_undo(history), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "Position"));
    assert_int_equal(mica_history_begin(history, "more"), MICA_MISMATCH);
    assert_true(mica_get(w.world, entity, Position)->x == 3);
    mica_set(w.world, entity, Position, {.x = 2});
    assert_int_equal(mica_history_undo(history), MICA_OK); // as it was left
    assert_true(mica_get(w.world, entity, Position)->x == 1);
    mica_history_destroy(history);
}

static void changes_outside_of_steps_become_steps_if_that_is_asked_for(void **state) {
    (void)state;
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {.x = 1}));
    mica_history *history = open_history(&(mica_history_def){.take_others = "simulation"});
    mica_set(w.world, entity, Position, {.x = 2});
    begin(history, "move");
    mica_set(w.world, entity, Position, {.x = 3});
    end(history);
    mica_set(w.world, entity, Position, {.x = 4});
    assert_int_equal(mica_history_redo(history), MICA_ABSENT);
    static const char *const names[] = {"simulation", "move", "simulation"};
    for (int32_t i = 0; i < 3; i++) {
        assert_string_equal(mica_history_undo_name(history), names[i]);
        assert_int_equal(mica_history_undo(history), MICA_OK);
        assert_true(mica_get(w.world, entity, Position)->x == (float)(3 - i));
    }
    mica_history_destroy(history);
}

static void the_oldest_steps_are_forgotten(void **state) {
    (void)state;
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {.x = 0}));
    mica_history *history = open_history(&(mica_history_def){.step_limit = 5});
    for (int32_t i = 1; i <= 20; i++) {
        begin(history, "move");
        mica_set(w.world, entity, Position, {.x = (float)i});
        end(history);
    }
    assert_int_equal(mica_history_statistics(history).undo_count, 5);
    assert_int_equal(mica_history_statistics(history).forgotten_count, 15);
    while (mica_history_undo(history) == MICA_OK) {
    }
    assert_true(mica_get(w.world, entity, Position)->x == 15);
    const size_t byte_size = mica_history_statistics(history).byte_size;
    assert_true(byte_size > 0);
    mica_history_destroy(history);

    history = open_history(&(mica_history_def){.byte_limit = byte_size});
    for (int32_t i = 1; i <= 20; i++) {
        begin(history, "move");
        mica_set(w.world, entity, Position, {.x = (float)(i + 100)});
        end(history);
        assert_true(mica_history_statistics(history).byte_size <= byte_size);
    }
    const int32_t kept = mica_history_statistics(history).undo_count;
    assert_true(kept >= 2 && kept <= 8);
    mica_history_destroy(history);

    history = open_history(&(mica_history_def){.byte_limit = 1}); // the last one stays
    begin(history, "move");
    mica_set(w.world, entity, Position, {.x = 7});
    end(history);
    assert_int_equal(mica_history_undo(history), MICA_OK);
    mica_history_destroy(history);
}

static void references_are_good_where_what_they_name_is(void **state) {
    (void)state;
    mica_history *history = open_history(NULL);
    begin(history, "make");
    const mica_entity entity = mica_create(w.world);
    end(history);
    const mica_ref made = mica_ref_of(w.world, entity);
    begin(history, "destroy");
    mica_destroy(w.world, entity);
    const mica_entity other = mica_create(w.world);
    end(history);
    const mica_ref of_other = mica_ref_of(w.world, other);
    assert_true(mica_entity_is_null(mica_ref_entity(w.world, made)));

    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_int_equal(mica_ref_entity(w.world, made).bits, entity.bits); // taken in this state, before the step
    assert_true(mica_entity_is_null(mica_ref_entity(w.world, of_other)));
    const mica_ref again = mica_ref_of(w.world, entity);
    assert_int_equal(mica_history_undo(history), MICA_OK);
    assert_true(mica_entity_is_null(mica_ref_entity(w.world, made)));
    assert_int_equal(mica_history_redo(history), MICA_OK);
    assert_int_equal(mica_ref_entity(w.world, made).bits, entity.bits);
    assert_int_equal(mica_ref_entity(w.world, again).bits, entity.bits);
    assert_int_equal(mica_history_redo(history), MICA_OK);
    assert_int_equal(mica_ref_entity(w.world, of_other).bits, other.bits);
    assert_true(mica_entity_is_null(mica_ref_entity(w.world, again)));

    // Taken back, and something else done: what was made then is somebody else, whatever the handle says.
    assert_int_equal(mica_history_undo(history), MICA_OK);
    begin(history, "something else");
    mica_destroy(w.world, entity);
    const mica_entity third = mica_create(w.world);
    end(history);
    assert_int_equal(third.bits, other.bits);
    assert_true(mica_entity_is_null(mica_ref_entity(w.world, of_other)));
    mica_history_destroy(history);
}

static mica_result begin_step(mica_history *history) {
    return mica_history_begin(history, "step");
}

// Lets the n-th allocation of a call fail, for every n until it is done: all other calls leave everything as it was.
static void fail_until_done(test_allocator *allocator, mica_history *history,
                            mica_result (*call)(mica_history *history)) {
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK; n++) {
        const mica_history_stats stats = mica_history_statistics(history);
        mica_snapshot *before = take();
        test_allocator_fail_at(allocator, n);
        result = call(history);
        (void)test_allocator_fail_stop(allocator);
        assert_int_equal(mica_world_validate(w.world), MICA_OK);
        if (result != MICA_OK) {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_state(before);
            assert_int_equal(mica_history_statistics(history).undo_count, stats.undo_count);
            assert_int_equal(mica_history_statistics(history).redo_count, stats.redo_count);
            assert_int_equal(mica_history_statistics(history).open_count, stats.open_count);
        }
        mica_snapshot_release(before);
    }
}

static void no_memory_leaves_world_and_history(void **state) {
    (void)state;
    static test_allocator allocator; // the world outlives a case that fails
    test_allocator_init(&allocator);
    mica_world_destroy(w.world);
    const mica_world_def def = {.allocator = test_allocator_hooks(&allocator)};
    state_world_open(&w, &def);
    w.kind_count = PLAIN_COUNT;
    state_go_on(&w, 5, 200);
    mica_history *history = open_history(NULL);
    mica_snapshot *states[2] = {take(), NULL};
    fail_until_done(&allocator, history, begin_step);
    state_go_on(&w, 6, 200);
    fail_until_done(&allocator, history, mica_history_end);
    states[1] = take();
    for (int32_t i = 0; i < 2; i++) {
        fail_until_done(&allocator, history, mica_history_undo);
        assert_state(states[0]);
        fail_until_done(&allocator, history, mica_history_redo);
        assert_state(states[1]);
    }
    mica_snapshot_release(states[0]);
    mica_snapshot_release(states[1]);
    mica_history_destroy(history);
    mica_world_destroy(w.world);
    test_allocator_finish(&allocator);
    state_world_open(&w, NULL);
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static void who_only_looks_between_steps_changes_nothing(void **state) {
    (void)state;
    const mica_system_def def = {.name = "idle", .run = do_nothing};
    assert_int_not_equal(mica_system_add(w.world, &def).id, 0);
    const mica_term terms[] = {mica_removed(Position)};
    mica_query *removals = mica_query_create(w.world, terms, 1);
    const mica_entity ship = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    mica_history *history = open_history(NULL);
    mica_world_advance_version(w.world);
    begin(history, "lose the position");
    mica_remove(w.world, ship, Position);
    end(history);
    mica_world_advance_version(w.world);
    mica_snapshot_release(take());
    assert_int_equal(mica_history_undo(history), MICA_OK);
    mica_world_advance_version(w.world);
    assert_int_equal(mica_history_redo(history), MICA_OK);
    assert_false(mica_has(w.world, ship, Position));
    mica_history_destroy(history);
    mica_query_release(removals);
}

static void misuse_is_refused(void **state) {
    (void)state;
    assert_null(mica_history_create(NULL, NULL));
    assert_null(mica_history_create(w.world, &(mica_history_def){.step_limit = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_history_begin(NULL, "x"), MICA_INVALID);
    assert_int_equal(mica_history_end(NULL), MICA_INVALID);
    assert_int_equal(mica_history_cancel(NULL), MICA_INVALID);
    assert_int_equal(mica_history_undo(NULL), MICA_INVALID);
    assert_int_equal(mica_history_redo(NULL), MICA_INVALID);
    assert_null(mica_history_undo_name(NULL));
    assert_null(mica_history_redo_name(NULL));
    assert_int_equal(mica_history_statistics(NULL).undo_count, 0);
    mica_history_destroy(NULL);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_destroyed_entity_comes_back_with_its_handle_and_goes_again),
        CASE(any_steps_lead_back_and_forth),
        CASE(values_with_hooks_come_back_too),
        CASE(steps_inside_of_a_step_are_part_of_it),
        CASE(a_step_that_changes_nothing_is_none),
        CASE(a_step_can_be_given_up),
        CASE(a_new_step_drops_those_that_were_taken_back),
        CASE(changes_outside_of_steps_are_refused_by_name),
        CASE(changes_outside_of_steps_become_steps_if_that_is_asked_for),
        CASE(the_oldest_steps_are_forgotten),
        CASE(references_are_good_where_what_they_name_is),
        CASE(no_memory_leaves_world_and_history),
        CASE(who_only_looks_between_steps_changes_nothing),
        CASE(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
