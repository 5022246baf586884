// Deciding whether loops are shared out, by numbers instead of clocks.
#include "run/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 1000000, THREADS = 2 };

// What a loop takes either way, in microseconds.
typedef struct loop {
    uint64_t alone;
    uint64_t shared;
    uint64_t row_count;
} loop;

static bool is_shared(const mi_cost *cost, uint64_t row_count) {
    return mi_cost_share(cost, row_count, THREADS).count > 1;
}

// Runs a loop as it is decided; whether it was shared.
static bool run(mi_cost *cost, const loop *one) {
    if (is_shared(cost, one->row_count)) {
        mi_cost_note_shared(cost, one->row_count, THREADS, one->shared * 1000);
        return true;
    }
    mi_cost_note_alone(cost, one->row_count, one->alone * 1000);
    return false;
}

// How many of so many loops were shared.
static int32_t run_many(mi_cost *cost, const loop *one, int32_t count) {
    int32_t shared_count = 0;
    for (int32_t i = 0; i < count; i++) {
        shared_count += run(cost, one);
    }
    return shared_count;
}

static const loop heavy = {.alone = 50000, .shared = 26000, .row_count = ROWS};
static const loop memory_bound = {.alone = 95, .shared = 105, .row_count = ROWS};

static void two_loops_run_alone_before_one_is_shared(void **state) {
    (void)state;
    mi_cost cost = {0};
    assert_false(run(&cost, &heavy));
    assert_false(run(&cost, &heavy));
    assert_true(run(&cost, &heavy));
}

static void a_loop_that_gains_stays_shared(void **state) {
    (void)state;
    mi_cost cost = {0};
    const int32_t shared_count = run_many(&cost, &heavy, 100);
    assert_int_equal(shared_count, 96); // two to begin with, and two to make sure of them
    assert_int_equal(run_many(&cost, &heavy, 100000), 100000);
}

static void a_loop_that_waits_for_memory_runs_alone(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &memory_bound, 5);
    assert_int_equal(run_many(&cost, &memory_bound, 8), 0);
    assert_in_range(run_many(&cost, &memory_bound, 100000), 3, 60); // trials, ever fewer
}

static void a_gain_of_a_few_per_cent_is_none(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &(loop){.alone = 100, .shared = 97, .row_count = ROWS}, 5);
    assert_int_equal(cost.mode, MI_COST_ALONE);
}

static void the_first_loop_may_find_its_memory_cold(void **state) {
    (void)state;
    mi_cost cost = {0};
    run(&cost, &(loop){.alone = 300, .row_count = ROWS});
    run_many(&cost, &memory_bound, 4);
    assert_int_equal(cost.mode, MI_COST_ALONE);
}

static void a_program_that_begins_slowly_is_not_misjudged_for_long(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &(loop){.alone = 170, .shared = 132, .row_count = ROWS}, 5);
    assert_int_equal(cost.mode, MI_COST_SHARED);
    run_many(&cost, &memory_bound, 8 + 2 * (5 + 3)); // checked and tried twice
    assert_int_equal(cost.mode, MI_COST_ALONE);
}

// In each check the first loops find their memory in other caches.
static void loops_are_slow_at_first_when_they_have_been_shared(void **state) {
    (void)state;
    mi_cost cost = {0};
    int32_t alone_count = 0; // in a row
    int32_t shared_count = 0;
    for (int32_t i = 0; i < 1000; i++) {
        const uint64_t alone = alone_count == 0 ? 250 : alone_count == 1 ? 170 : 85;
        const bool is_shared_now = run(&cost, &(loop){.alone = alone, .shared = 140, .row_count = ROWS});
        alone_count = is_shared_now ? 0 : alone_count + 1;
        shared_count += is_shared_now;
    }
    assert_in_range(shared_count, 3, 40);
}

static void interrupted_loops_change_nothing(void **state) {
    (void)state;
    mi_cost cost = {0};
    const loop interrupted = {.alone = 90000, .shared = 90000, .row_count = ROWS};
    for (int32_t i = 0; i < 5000; i++) {
        assert_true(run(&cost, i % 3 == 1 ? &interrupted : &heavy) || i < 20);
    }
}

static void a_trial_that_was_interrupted_is_soon_repeated(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &heavy, 2);
    run_many(&cost, &(loop){.shared = 60000, .row_count = ROWS}, 3);
    assert_int_equal(cost.mode, MI_COST_ALONE);
    run_many(&cost, &heavy, 8 + 3);
    assert_int_equal(cost.mode, MI_COST_SHARED);
}

static void cores_that_others_take_for_a_while_are_missed_only_as_long(void **state) {
    (void)state;
    const loop taken = {.alone = 50000, .shared = 50100, .row_count = ROWS};
    mi_cost cost = {0};
    run_many(&cost, &heavy, 100);
    assert_in_range(run_many(&cost, &taken, 5000), 4950, 5000); // which costs nothing
    assert_int_equal(cost.mode, MI_COST_SHARED);
    // From the beginning on: tried again and again, as that costs nothing either.
    cost = (mi_cost){0};
    run_many(&cost, &taken, 5000);
    run_many(&cost, &heavy, 8 + 3);
    assert_int_equal(cost.mode, MI_COST_SHARED);
}

static void a_loop_that_has_become_long_is_tried_at_once(void **state) {
    (void)state;
    const loop grown = {.alone = 400, .shared = 220, .row_count = 10 * ROWS};
    mi_cost cost = {0};
    run_many(&cost, &(loop){.alone = 40, .shared = 45, .row_count = ROWS}, 5000);
    assert_int_equal(cost.mode, MI_COST_ALONE);
    run_many(&cost, &grown, 1 + 3);
    assert_int_equal(cost.mode, MI_COST_SHARED);
    // Rows that take longer count as more rows do.
    mi_cost dearer = {0};
    run_many(&dearer, &memory_bound, 5000);
    run_many(&dearer, &heavy, 3 + 3);
    assert_int_equal(dearer.mode, MI_COST_SHARED);
}

static void a_loop_that_gains_no_more_runs_alone_again(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &heavy, 100);
    // Sharing gains seemingly a lot by what rows took alone before.
    run_many(&cost, &memory_bound, 32 + 2 + 3);
    assert_int_equal(cost.mode, MI_COST_ALONE);
    // And seemingly nothing: that rows take longer is no reason not to share them.
    cost = (mi_cost){0};
    run_many(&cost, &heavy, 100);
    const loop heavier = {.alone = 200000, .shared = 104000, .row_count = ROWS};
    assert_int_equal(run_many(&cost, &heavier, 1000), 998);
    assert_int_equal(cost.mode, MI_COST_SHARED);
}

// Both ways of a loop that takes three times as long for some loops, then as before.
static int32_t run_restless(mi_cost *cost, const loop *one, int32_t count) {
    const loop longer = {.alone = 3 * one->alone, .shared = 3 * one->shared, .row_count = one->row_count};
    int32_t shared_count = 0;
    for (int32_t i = 0; i < count; i++) {
        shared_count += run(cost, i / 20 % 2 == 0 ? one : &longer);
    }
    return shared_count;
}

static void restless_loops_are_seldom_measured(void **state) {
    (void)state;
    mi_cost gains = {0};
    assert_in_range(run_restless(&gains, &heavy, 100000), 99800, 100000);
    mi_cost loses = {0};
    assert_in_range(run_restless(&loses, &memory_bound, 100000), 3, 15000); // each takes a tenth more
}

static void short_loops_are_not_noted(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &(loop){.alone = 9, .row_count = ROWS}, 10);
    assert_int_equal(cost.alone.count, 0);
    run_many(&cost, &heavy, 3);
    const uint32_t known = cost.alone.count;
    run_many(&cost, &(loop){.alone = 9, .row_count = 10}, 10); // of rows that take as long as ever
    assert_int_equal(cost.alone.count, known);
    mi_cost_note_alone(&cost, 0, 50000); // of no rows
    assert_int_equal(cost.alone.count, known);
}

static void only_what_saves_something_is_shared(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &heavy, 100); // 50 ns a row
    assert_false(is_shared(&cost, 0));
    assert_false(is_shared(&cost, 390));
    assert_true(is_shared(&cost, 410));
}

static void threads_have_enough_to_do_each(void **state) {
    (void)state;
    mi_cost cost = {0};
    run_many(&cost, &heavy, 100); // 50 ns a row
    assert_int_equal(mi_cost_share(&cost, 700, 8).count, 3);
    assert_int_equal(mi_cost_share(&cost, 700, 8).range_rows, 20); // a microsecond
    assert_int_equal(mi_cost_share(&cost, ROWS, 8).count, 8);
    assert_int_equal(mi_cost_share(&cost, ROWS, 8).range_rows, ROWS / (8 * 32));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_loops_run_alone_before_one_is_shared),
        cmocka_unit_test(a_loop_that_gains_stays_shared),
        cmocka_unit_test(a_loop_that_waits_for_memory_runs_alone),
        cmocka_unit_test(a_gain_of_a_few_per_cent_is_none),
        cmocka_unit_test(the_first_loop_may_find_its_memory_cold),
        cmocka_unit_test(a_program_that_begins_slowly_is_not_misjudged_for_long),
        cmocka_unit_test(loops_are_slow_at_first_when_they_have_been_shared),
        cmocka_unit_test(interrupted_loops_change_nothing),
        cmocka_unit_test(a_trial_that_was_interrupted_is_soon_repeated),
        cmocka_unit_test(cores_that_others_take_for_a_while_are_missed_only_as_long),
        cmocka_unit_test(a_loop_that_has_become_long_is_tried_at_once),
        cmocka_unit_test(a_loop_that_gains_no_more_runs_alone_again),
        cmocka_unit_test(restless_loops_are_seldom_measured),
        cmocka_unit_test(short_loops_are_not_noted),
        cmocka_unit_test(only_what_saves_something_is_shared),
        cmocka_unit_test(threads_have_enough_to_do_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
