// Systems that are added and removed by systems that may run side by side: the same from the next tick on, on any
// number of threads, or not at all.
#include <mica/checksum.h>
#include <mica/mica.h>
#include <mica/snapshot.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_run.h"
#include "support/test_shared_allocator.h"

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), { int64_t x; });
MICA_STRUCT_WITH(Heat, (.storage = MICA_POOL), { int64_t degrees; });
MICA_STRUCT(Left, { int64_t number; });
MICA_STRUCT(Right, { int64_t number; });

enum { THREAD_COUNTS = 4 };

static const int32_t thread_counts[THREAD_COUNTS] = {1, 2, 3, 8};

static mica_world *begin(int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&allocator), .thread_count = thread_count, .always_parallel = true});
    assert_non_null(world);
    for (int32_t i = 0; i < 40; i++) {
        assert_false(mica_entity_is_null(mica_spawn(world, mica_value_of(Place, {i}), mica_value_of(Heat, {i}))));
    }
    return world;
}

static void end(mica_world *world) {
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
}

static mica_system add(mica_world *world, mica_system_def def) {
    const mica_system system = mica_system_add(world, &def);
    assert_string_equal(system.id != 0 ? "" : mica_last_error(), "");
    return system;
}

static bool is_there(const mica_world *world, const char *name) {
    return mica_system_find(world, name).id != 0;
}

static bool is_refused(mica_result result, mica_result expected, const char *text) {
    return result == expected && mica_last_result() == expected && strstr(mica_last_error(), text) != NULL;
}

static void assert_step_fails(mica_world *world, mica_result code, const char *text) {
    assert_int_equal(mica_world_step(world, 1), code);
    assert_string_equal(strstr(mica_last_error(), text) != NULL ? text : mica_last_error(), text);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

// What systems do when they are told to: in the tick of that number.

typedef struct plan_of_one {
    uint64_t tick;
    const char *added;   // NULL: none
    const char *removed; // NULL: none; before one is added
    const char *before;  // that the added one runs before
    mica_system handle;  // of the added one
    mica_result result;  // of the last call
    int32_t run_count;   // of itself
} plan_of_one;

static void count_heat(mica_run *run) {
    mica_each (run, it) {
        Heat *heat = mica_write_of(it, Heat);
        for (int32_t i = 0; i < it.count; i++) {
            heat[i].degrees++;
        }
    }
}

static mica_system_def counting(const char *name) {
    return (mica_system_def){.name = name, .run = count_heat, .query = {mica_write(Heat)}};
}

static void follow_plan(mica_run *run) {
    plan_of_one *plan = mica_run_user(run);
    mica_world *world = mica_run_world(run);
    plan->run_count++;
    if (mica_run_tick(run) != plan->tick) {
        return;
    }
    plan->result = MICA_OK;
    if (plan->removed != NULL) {
        plan->result = mica_system_remove(world, mica_system_find(world, plan->removed));
    }
    if (plan->added != NULL && plan->result == MICA_OK) {
        mica_system_def def = counting(plan->added);
        def.before[0] = plan->before;
        plan->handle = mica_system_add(world, &def);
        plan->result = plan->handle.id == 0 ? mica_last_result() : MICA_OK;
    }
}

// Two systems that run side by side.
static void add_both(mica_world *world, plan_of_one *left, plan_of_one *right) {
    add(world, (mica_system_def){.name = "left", .run = follow_plan, .access = {mica_writes(Left)}, .user = left});
    add(world, (mica_system_def){.name = "right", .run = follow_plan, .access = {mica_writes(Right)}, .user = right});
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // they have started
}

static int64_t heat_of_first(mica_world *world) {
    return mica_get(world, mica_query_first(mica_query_of(world, mica_read(Heat))), Heat)->degrees;
}

static void what_is_added_runs_from_the_next_tick_on(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 1, .added = "first"};
        plan_of_one right = {.tick = 1, .added = "second"};
        add_both(world, &left, &right);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(heat_of_first(world), 0);
        assert_int_equal(left.result, MICA_OK);
        assert_int_equal(right.result, MICA_OK);
        assert_true(left.handle.id != 0 && left.handle.id != right.handle.id);
        assert_int_equal(mica_system_find(world, "first").id, left.handle.id);
        assert_int_equal(mica_system_find(world, "second").id, right.handle.id);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(heat_of_first(world), 2);
        char text[512];
        mica_world_plan(world, text, sizeof(text));
        assert_string_equal(text, "stage update\n  left\n  right\n  first\n  second (waits for first)\n  barrier\n");
        assert_int_equal(mica_system_remove(world, left.handle), MICA_OK);
        assert_int_equal(mica_system_remove(world, left.handle), MICA_UNKNOWN);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(heat_of_first(world), 3);
        end(world);
    }
}

static void use_handle_at_once(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const mica_system_def def = counting("late");
    const mica_system system = mica_system_add(world, &def);
    must(run, system.id != 0);
    const bool is_unknown = !is_there(world, "late") && mica_system_enable(world, system, false) == MICA_UNKNOWN &&
                            mica_system_remove(world, system) == MICA_UNKNOWN &&
                            mica_system_state(world, system) == NULL;
    if (!is_unknown || mica_system_add(world, &def).id != 0 ||
        !is_refused(mica_last_result(), MICA_EXISTS, "there is a system \"late\" already")) {
        mica_run_fail(run, MICA_FAILED, "it is there already, or may be asked for twice");
    }
}

static void nobody_finds_it_before_the_tick_has_ended(void **state) {
    (void)state;
    mica_world *world = begin(1);
    add(world, (mica_system_def){.name = "ask", .run = use_handle_at_once, .access = {mica_writes(Left)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(is_there(world, "late"));
    end(world);
}

static int32_t stop_count;

static void count_stop(mica_run *run) {
    (void)run;
    stop_count++;
}

static void what_is_removed_still_runs_in_this_tick(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 1, .removed = "last"};   // which comes later in the tick
        plan_of_one right = {.tick = 1, .removed = "right"}; // itself
        add_both(world, &left, &right);
        mica_system_def last = counting("last");
        last.stage = MICA_LAST;
        last.stop = count_stop;
        add(world, last);
        stop_count = 0;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(heat_of_first(world), 1);
        assert_int_equal(stop_count, 1);
        assert_false(is_there(world, "last") || is_there(world, "right"));
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(heat_of_first(world), 1);
        assert_int_equal(left.run_count, 3);
        assert_int_equal(right.run_count, 2);
        end(world);
    }
}

static void change_many(mica_run *run) {
    mica_world *world = mica_run_world(run);
    if (mica_run_tick(run) != 1) {
        return;
    }
    const mica_system_def def = counting("added");
    must(run, mica_system_add(world, &def).id != 0);
    must(run, mica_system_remove(world, mica_system_find(world, "removed")) == MICA_OK);
    must(run, mica_system_enable(world, mica_system_find(world, "disabled"), false) == MICA_OK);
    must(run, mica_system_enable(world, mica_run_system(run), false) == MICA_OK);
}

static void one_system_changes_many_beside_others(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 7};
        plan_of_one right = {.tick = 7};
        add_both(world, &left, &right);
        add(world, (mica_system_def){.name = "change", .run = change_many, .query = {mica_read(Place)}});
        add(world, counting("removed"));
        add(world, counting("disabled"));
        static const int64_t heats[] = {2, 3, 4}; // in the tick that changes them both, then the new one alone
        for (int32_t k = 0; k < 3; k++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_int_equal(heat_of_first(world), heats[k]);
        }
        mica_system_stats stats;
        assert_int_equal(mica_system_statistics(world, mica_system_find(world, "change"), &stats), MICA_OK);
        assert_int_equal(stats.run_count, 1);
        end(world);
    }
}

static void a_system_that_two_remove_is_removed_once(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 1, .removed = "spare"};
        plan_of_one right = {.tick = 1, .removed = "spare", .added = "spare"};
        add_both(world, &left, &right);
        const mica_system before = add(world, counting("spare"));
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(right.result, MICA_OK); // its name is free to who has removed it
        assert_int_equal(mica_system_find(world, "spare").id, right.handle.id);
        assert_true(right.handle.id != before.id);
        assert_int_equal(mica_system_enable(world, before, false), MICA_UNKNOWN);
        end(world);
    }
}

static void a_name_that_two_ask_for_fails_the_tick_by_the_later_one(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 1, .removed = "spare", .added = "same"};
        plan_of_one right = {.tick = 1, .removed = "spare", .added = "same"};
        add_both(world, &left, &right);
        const mica_system spare = add(world, counting("spare"));
        assert_step_fails(world, MICA_EXISTS,
                          "system \"right\" failed in stage \"update\" of tick 1: mica_system_add: there is a system "
                          "\"same\" already");
        assert_int_equal(left.result, MICA_OK);
        assert_int_equal(right.result, MICA_OK);
        assert_false(is_there(world, "same")); // nothing of what was asked for in that tick
        assert_int_equal(mica_system_find(world, "spare").id, spare.id);
        const mica_system discarded = left.handle;
        right.tick = 7;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_system_find(world, "same").id, left.handle.id);
        assert_int_equal(mica_system_enable(world, discarded, true), MICA_UNKNOWN);
        end(world);
    }
}

static void a_name_that_is_taken_is_refused_at_once(void **state) {
    (void)state;
    mica_world *world = begin(3);
    plan_of_one left = {.tick = 1, .added = "right"};
    plan_of_one right = {.tick = 7};
    add_both(world, &left, &right);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(left.result, MICA_EXISTS);
    end(world);
}

static void a_cycle_fails_the_tick_and_names_who_closed_it(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one left = {.tick = 1, .added = "hen", .before = "egg"};
        plan_of_one right = {.tick = 1, .added = "egg", .before = "hen"};
        add_both(world, &left, &right);
        assert_step_fails(world, MICA_CYCLE,
                          "system \"right\" failed in stage \"update\" of tick 1: mica_system_add: "
                          "system \"egg\" would have to run before itself: ");
        assert_false(is_there(world, "hen") || is_there(world, "egg"));
        left.tick = right.tick = 7;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        end(world);
    }
}

static void ask_wrongly(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const mica_system_def defs[] = {
        {.name = NULL, .run = count_heat},
        {.name = "x"},
        {.name = "x", .run = count_heat, .stage = 99},
        {.name = "x", .run = count_heat, .also_count = 1},
        {.name = "x", .run = count_heat, .every = -1},
        {.name = "x", .run = count_heat, .budget_seconds = -1},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        if (mica_system_add(world, &defs[i]).id != 0 || mica_last_result() != MICA_INVALID) {
            mica_run_fail(run, MICA_FAILED, mica_last_error());
        }
    }
}

static void what_is_wrong_by_itself_is_refused_at_once(void **state) {
    (void)state;
    mica_world *world = begin(1);
    add(world, (mica_system_def){.name = "ask", .run = ask_wrongly, .access = {mica_writes(Left)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    end(world);
}

// Where

static void ask_in_span(mica_run *run, mica_iter *span, void *user) {
    (void)span;
    (void)user;
    mica_world *world = mica_run_world(run);
    const mica_system_def def = counting("x");
    const char *text = "is in a parallel loop";
    if (mica_system_add(world, &def).id != 0 || !is_refused(mica_last_result(), MICA_LOCKED, text) ||
        !is_refused(mica_system_remove(world, mica_run_system(run)), MICA_LOCKED, text) ||
        !is_refused(mica_system_enable(world, mica_run_system(run), false), MICA_LOCKED, text)) {
        mica_run_fail(run, MICA_FAILED, "spans have no order among them");
    }
}

static void ask_behind_loop(mica_run *run) {
    must(run, mica_parallel_for(run, mica_run_query(run, 0), ask_in_span, NULL) == MICA_OK);
    const mica_system_def def = counting(mica_run_user(run));
    must(run, mica_run_tick(run) > 0 || mica_system_add(mica_run_world(run), &def).id != 0);
}

static void spans_are_refused_and_their_system_is_not(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        mica_system_def def = {.name = "loop",
                               .run = ask_behind_loop,
                               .query_count = 1,
                               .queries = {{{mica_write(Place)}}},
                               .user = (void *)(uintptr_t) "declared"};
        add(world, def);
        def.name = "exclusive loop";
        def.exclusive = true;
        def.user = (void *)(uintptr_t) "exclusive";
        add(world, def);
        for (int32_t k = 0; k < 3; k++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        assert_true(is_there(world, "declared") && is_there(world, "exclusive"));
        end(world);
    }
}

static bool ask_when_asked(mica_run *run) {
    follow_plan(run);
    return false;
}

static void conditions_ask_as_their_systems_do(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        plan_of_one plan = {.tick = 0, .added = "by condition"};
        plan_of_one exclusive = {.tick = 0, .added = "by exclusive condition"};
        add(world, (mica_system_def){.name = "never",
                                     .run = count_heat,
                                     .query = {mica_write(Heat)},
                                     .condition = ask_when_asked,
                                     .user = &plan});
        add(world, (mica_system_def){
                       .name = "never alone", .run = count_heat, .condition = ask_when_asked, .user = &exclusive});
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_system_find(world, "by condition").id, plan.handle.id);
        assert_int_equal(mica_system_find(world, "by exclusive condition").id, exclusive.handle.id);
        end(world);
    }
}

// Asks for a system named after itself and the stage, each time that it runs.
static void ask_in_stage(mica_run *run) {
    char name[16];
    snprintf(name, sizeof(name), "%s%d", (const char *)mica_run_user(run), mica_run_stage(run) == MICA_UPDATE ? 1 : 2);
    const mica_system_def def = counting(name);
    must(run, mica_run_tick(run) != 1 || mica_system_add(mica_run_world(run), &def).id != 0);
}

static mica_system add_asking(mica_world *world, const char *name, mica_type *written) {
    return add(world, (mica_system_def){.name = name,
                                        .run = ask_in_stage,
                                        .access = {{.type = written, .writes = true}},
                                        .stage = MICA_UPDATE,
                                        .also = {{.stage = MICA_LAST}},
                                        .also_count = 1,
                                        .user = (void *)(uintptr_t)name});
}

static void requests_are_carried_out_in_the_order_of_the_plan(void **state) {
    (void)state;
    for (int32_t i = 0; i < THREAD_COUNTS; i++) {
        mica_world *world = begin(thread_counts[i]);
        add_asking(world, "a", mica_type_of(Left));
        add_asking(world, "b", mica_type_of(Right));
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        char text[512];
        mica_world_plan(world, text, sizeof(text));
        assert_non_null(strstr(text, "  a1\n  b1 (waits for a1)\n  a2 (waits for b1)\n  b2 (waits for a2)\n"));
        end(world);
    }
}

static void single_steps_carry_out_as_well(void **state) {
    (void)state;
    mica_world *world = begin(1);
    plan_of_one plan = {.tick = 0, .added = "added"};
    const mica_system asks = add(world, (mica_system_def){.name = "ask",
                                                          .run = follow_plan,
                                                          .access = {mica_writes(Left)},
                                                          .runs_while_paused = true,
                                                          .user = &plan});
    assert_int_equal(mica_world_step_system(world, asks, 1), MICA_OK);
    assert_true(is_there(world, "added"));
    plan.added = "added while paused";
    assert_int_equal(mica_world_step_paused(world, 1), MICA_OK);
    assert_true(is_there(world, "added while paused"));
    const mica_system twice = add_asking(world, "twice", mica_type_of(Right));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_world_step_system(world, twice, 1), MICA_OK);
    assert_true(is_there(world, "twice1") && is_there(world, "twice2"));
    end(world);
}

// Ticks that fail

static void fail_at_two(mica_run *run) {
    bool *fails = mica_run_user(run);
    if (*fails && mica_run_tick(run) == 2) {
        mica_run_fail(run, MICA_IO, "as asked");
    }
}

static void a_tick_that_fails_forgets_what_was_asked(void **state) {
    (void)state;
    for (int32_t restores = 0; restores <= 1; restores++) {
        for (int32_t i = 0; i < THREAD_COUNTS; i++) {
            mica_world *world = begin(thread_counts[i]);
            plan_of_one left = {.tick = 2, .added = "new"};
            plan_of_one right = {.tick = 2, .removed = "left"};
            bool fails = true;
            assert_int_equal(mica_world_restore_failed_ticks(world, restores == 1, NULL), MICA_OK);
            add_both(world, &left, &right);
            add(world, (mica_system_def){.name = "fail", .run = fail_at_two, .stage = MICA_LAST, .user = &fails});
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_step_fails(world, MICA_IO, "as asked");
            assert_true(is_there(world, "left"));
            assert_false(is_there(world, "new"));
            const mica_system first = left.handle;
            fails = false;
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_false(is_there(world, "left"));
            assert_int_equal(mica_system_find(world, "new").id, left.handle.id);
            // What is taken back is as if it had never been; else no number comes again.
            assert_int_equal(first.id == left.handle.id, restores);
            end(world);
        }
    }
}

static void a_restore_leaves_the_systems_that_there_are(void **state) {
    (void)state;
    mica_world *world = begin(3);
    plan_of_one left = {.tick = 1, .added = "new"};
    plan_of_one right = {.tick = 7};
    add_both(world, &left, &right);
    mica_snapshot *before = mica_snapshot_take(world, NULL);
    assert_non_null(before);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_snapshot_restore(before, world, NULL), MICA_OK);
    assert_int_equal(mica_system_find(world, "new").id, left.handle.id);
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // and it asks again
    assert_int_equal(left.result, MICA_EXISTS);
    assert_int_equal(heat_of_first(world), 1);
    mica_snapshot_release(before);
    end(world);
}

static void must_follow_plan(mica_run *run) {
    follow_plan(run);
    const plan_of_one *plan = mica_run_user(run);
    if (plan->result != MICA_OK) {
        mica_run_fail(run, plan->result, mica_last_error());
    }
}

static void what_has_no_memory_is_not_done_at_all(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        bool failed = true;
        int32_t refused_count = 0;
        for (uint64_t n = 1; failed; n++) {
            mica_world *world = begin(threads);
            plan_of_one left = {.tick = 1, .added = "new", .removed = "old", .before = "left"};
            plan_of_one right = {.tick = 1, .added = "newer"};
            add(world, (mica_system_def){
                           .name = "left", .run = must_follow_plan, .access = {mica_writes(Left)}, .user = &left});
            add(world, (mica_system_def){
                           .name = "right", .run = must_follow_plan, .access = {mica_writes(Right)}, .user = &right});
            add(world, counting("old"));
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            test_allocator_fail_at(&allocator, n);
            const mica_result result = mica_world_step(world, 1);
            failed = test_allocator_fail_stop(&allocator);
            if (result != MICA_OK) {
                assert_int_equal(result, MICA_OUT_OF_MEMORY);
                assert_true(is_there(world, "old"));
                assert_false(is_there(world, "new") || is_there(world, "newer"));
                assert_int_equal(mica_world_validate(world), MICA_OK);
                refused_count++;
                assert_int_equal(mica_world_step(world, 1), MICA_OK);
            }
            assert_false(is_there(world, "old"));
            assert_int_equal(mica_system_find(world, "new").id, left.handle.id);
            assert_int_equal(mica_system_find(world, "newer").id, right.handle.id);
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            end(world);
        }
        assert_true(refused_count > 20);
    }
}

// Against one thread: systems come and go for a while, asked for by many that run side by side

enum { BUILDERS = 6, BUILT = 5, TICKS = 60, TEXT_SIZE = 8192 };

MICA_STRUCT(Builder, {
    uint64_t handles[5]; // of what it has built last by number, 0: none
    uint64_t refused_count;
});

static void build(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_random *random = mica_run_random(run);
    Builder *builder = mica_run_state(run, Builder);
    const uint32_t number = mica_random_below(random, BUILT);
    const mica_system held = {builder->handles[number]};
    mica_result result = MICA_OK;
    switch (mica_random_below(random, 8)) {
    case 0:
    case 1:
    case 2: {
        char name[64];
        if (mica_random_below(random, 3) == 0) { // now and then two ask for this one, and the tick fails
            snprintf(name, sizeof(name), "shared");
        } else {
            snprintf(name, sizeof(name), "%s %u", (const char *)mica_run_user(run), number);
        }
        mica_system_def def = counting(name);
        def.priority = (int32_t)mica_random_below(random, 3);
        def.stage = mica_random_below(random, 2) == 0 ? MICA_UPDATE : MICA_LAST;
        builder->handles[number] = mica_system_add(world, &def).id;
        result = builder->handles[number] != 0 ? MICA_OK : mica_last_result();
        break;
    }
    case 3:
    case 4:
        result = mica_system_remove(world, held);
        break;
    case 5:
        result = mica_system_enable(world, held, mica_random_below(random, 2) == 0);
        break;
    default:
        break;
    }
    builder->refused_count += result != MICA_OK;
}

static void build_alone(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const mica_system found = mica_system_find(world, "shared");
    if (found.id != 0) {
        must(run, mica_system_remove(world, found) == MICA_OK);
        const mica_system_def def = counting("alone");
        must(run, is_there(world, "alone") || mica_system_add(world, &def).id != 0);
    }
}

typedef struct history {
    uint64_t sums[TICKS];
    mica_result results[TICKS];
    char plans[TEXT_SIZE];
    int32_t failed_count;
} history;

static void live(int32_t thread_count, history *lived) {
    static const char *const names[BUILDERS] = {"ash", "birch", "cedar", "elm", "fir", "oak"};
    memset(lived, 0, sizeof(*lived));
    mica_world *world = begin(thread_count);
    for (int32_t i = 0; i < BUILDERS; i++) {
        add(world, (mica_system_def){.name = names[i],
                                     .run = build,
                                     .query = {mica_read(Place)},
                                     .state = mica_type_of(Builder),
                                     .user = (void *)(uintptr_t)names[i]});
    }
    add(world, (mica_system_def){.name = "alone at last", .run = build_alone, .stage = MICA_POST_UPDATE});
    for (int32_t i = 0; i < TICKS; i++) {
        lived->results[i] = mica_world_step(world, 1);
        lived->failed_count += lived->results[i] == MICA_EXISTS;
        assert_int_equal(mica_world_validate(world), MICA_OK);
        assert_int_equal(mica_world_checksum(world, NULL, &lived->sums[i]), MICA_OK);
        if (i % 12 == 11) {
            const size_t length = strlen(lived->plans);
            assert_true(mica_world_plan(world, lived->plans + length, TEXT_SIZE - length) < TEXT_SIZE - length);
        }
    }
    end(world);
}

static void systems_come_and_go_alike_on_any_number_of_threads(void **state) {
    (void)state;
    static history expected;
    static history lived;
    live(1, &expected);
    assert_in_range(expected.failed_count, 1, TICKS / 2);
    for (int32_t i = 1; i < THREAD_COUNTS; i++) {
        live(thread_counts[i], &lived);
        assert_string_equal(lived.plans, expected.plans);
        assert_memory_equal(lived.results, expected.results, sizeof(lived.results));
        assert_memory_equal(lived.sums, expected.sums, sizeof(lived.sums));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_added_runs_from_the_next_tick_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_finds_it_before_the_tick_has_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_removed_still_runs_in_this_tick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_system_changes_many_beside_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_system_that_two_remove_is_removed_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_two_ask_for_fails_the_tick_by_the_later_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_is_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_fails_the_tick_and_names_who_closed_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_by_itself_is_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spans_are_refused_and_their_system_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions_ask_as_their_systems_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_are_carried_out_in_the_order_of_the_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(single_steps_carry_out_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tick_that_fails_forgets_what_was_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restore_leaves_the_systems_that_there_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_memory_is_not_done_at_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(systems_come_and_go_alike_on_any_number_of_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
