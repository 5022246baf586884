// The harness of the benchmarks: statistics, which samples are dropped, when sampling ends, what counts as agreement.
// Clock and calibration loop are the test's own, so nothing here hangs on the machine's speed.
#include "bench/harness.h"
#include "bench/machine.h"

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

// A machine that does what a case wants: every reading of the clock is `clock_step` later than the one before, every
// run takes `run_step`, and calibration loops take the times of `calibrations`, over and over.
static int64_t clock_now;
static int64_t clock_step;
static int64_t run_step;
static const int64_t *calibrations;
static int32_t calibration_count;
static int32_t calibration_next;

static int64_t fake_clock(void) {
    return clock_now += clock_step;
}

static int64_t fake_calibrate(void) {
    return calibrations[calibration_next++ % calibration_count];
}

static bench_session fake_session(int64_t step, const int64_t *times, int32_t count) {
    clock_now = 0;
    clock_step = step;
    run_step = 0;
    calibrations = times;
    calibration_count = count;
    calibration_next = 0;
    return (bench_session){
        .clock = fake_clock,
        .calibrate = fake_calibrate,
        .budget_nanoseconds = 1000000000,
        .spare_nanoseconds = 4000000000,
        .kept_wanted = 9,
        .kept_least = 3,
    };
}

// A workload that counts how it is used.
typedef struct run_counter {
    uint64_t prepared;
    uint64_t runs;
    uint64_t checked;
    bool exists;
} run_counter;

static run_counter counters[2];

static void *counter_set_up(run_counter *counter) {
    *counter = (run_counter){.exists = true};
    return counter;
}

static void *first_set_up(int64_t n) {
    return n > 0 ? counter_set_up(&counters[0]) : NULL;
}

static void *second_set_up(int64_t n) {
    return n > 1 ? counter_set_up(&counters[1]) : NULL;
}

static void counter_prepare(void *state) {
    ((run_counter *)state)->prepared++;
}

static void counter_run(void *state) {
    ((run_counter *)state)->runs++;
    clock_now += run_step;
}

static uint64_t counter_check(void *state) {
    ((run_counter *)state)->checked++;
    return ((run_counter *)state)->runs;
}

static uint64_t check_other(void *state) {
    return ((run_counter *)state)->runs + 1;
}

// Agrees with `counter_check` at first, and no more after the samples.
static uint64_t check_at_first(void *state) {
    run_counter *counter = state;
    return counter->checked++ == 0 ? counter->runs : 0;
}

static void counter_tear_down(void *state) {
    ((run_counter *)state)->exists = false;
}

static const bench_side first = {
    .set_up = first_set_up,
    .prepare = counter_prepare,
    .run = counter_run,
    .check = counter_check,
    .tear_down = counter_tear_down,
};

static const bench_side second = {
    .set_up = second_set_up,
    .prepare = counter_prepare,
    .run = counter_run,
    .check = counter_check,
    .tear_down = counter_tear_down,
};

static const bench_side second_repeatable = {
    .set_up = second_set_up,
    .run = counter_run,
    .check = counter_check,
    .tear_down = counter_tear_down,
};

static const bench_side first_repeatable = {
    .set_up = first_set_up,
    .run = counter_run,
    .check = counter_check,
    .tear_down = counter_tear_down,
};

static bench_row row_of(const bench_side *mica, const bench_side *limit) {
    return (bench_row){"fake", "main", 10, "ns/op", 10, mica, limit};
}

static const int64_t steady[] = {1000};

static void assert_near(double actual, double expected) {
    assert_true(fabs(actual - expected) < 1e-12);
}

static void quantile_of_odd_count_is_the_middle(void **context) {
    (void)context;
    double values[] = {9, 1, 5, 3, 7};
    assert_near(bench_quantile(values, 5, 0.5), 5);
}

static void quantile_of_even_count_lies_between_the_middle_two(void **context) {
    (void)context;
    double values[] = {8, 1, 2, 4};
    assert_near(bench_quantile(values, 4, 0.5), 3);
}

static void quartiles_are_interpolated(void **context) {
    (void)context;
    double values[] = {4, 3, 2, 1};
    assert_near(bench_quantile(values, 4, 0.25), 1.75);
    assert_near(bench_quantile(values, 4, 0.75), 3.25);
}

static void quantiles_of_one_value_are_that_value(void **context) {
    (void)context;
    double values[] = {6};
    assert_near(bench_quantile(values, 1, 0.25), 6);
    assert_near(bench_quantile(values, 1, 0.5), 6);
    assert_near(bench_quantile(values, 1, 1), 6);
}

static void a_tenth_slower_is_not_disturbed_yet(void **context) {
    (void)context;
    assert_false(bench_was_disturbed(1000, 1000));
    assert_false(bench_was_disturbed(1099, 1000));
    assert_true(bench_was_disturbed(1101, 1000));
}

static void summary_leaves_disturbed_samples_out_and_counts_them(void **context) {
    (void)context;
    const bench_sample samples[] = {
        {4, 2, 100}, {1000, 1, 111}, {6, 2, 109}, {8, 2, 100}, {1, 1000, 200},
    };
    const bench_result result = bench_summarise(samples, 5, true, 100);
    assert_int_equal(result.status, BENCH_DONE);
    assert_int_equal(result.kept, 3);
    assert_int_equal(result.dropped, 2);
    assert_near(result.mica, 6);
    assert_near(result.limit, 2);
    assert_near(result.ratio, 3);
    assert_near(result.spread, 3.5 - 2.5);
}

static void ratio_is_of_medians_and_spread_of_paired_ratios(void **context) {
    (void)context;
    const bench_sample samples[] = {{10, 1, 100}, {20, 10, 100}, {30, 5, 100}};
    const bench_result result = bench_summarise(samples, 3, true, 100);
    assert_near(result.ratio, 20.0 / 5.0);
    assert_near(result.spread, 8 - 4); // ratios 2, 6, 10
}

static void summary_without_a_limit_has_no_ratio_but_a_relative_spread(void **context) {
    (void)context;
    const bench_sample samples[] = {{8, 0, 100}, {10, 0, 100}, {14, 0, 100}};
    const bench_result result = bench_summarise(samples, 3, false, 100);
    assert_near(result.mica, 10);
    assert_near(result.ratio, 0);
    assert_near(result.spread, (12.0 - 9.0) / 10.0);
}

static void what_was_taken_away_counts_in_the_spread(void **context) {
    (void)context;
    const bench_sample samples[] = {{1, 9, 100}, {2, 9, 100}, {3, 9, 100}};
    const bench_result result = bench_summarise(samples, 3, false, 100);
    assert_near(result.mica, 2);
    assert_near(result.limit, 0);
    assert_near(result.spread, (2.5 - 1.5) / (2 + 9));
}

static void summary_of_disturbed_samples_alone_is_no_result(void **context) {
    (void)context;
    const bench_sample samples[] = {{8, 1, 300}, {10, 1, 200}};
    const bench_result result = bench_summarise(samples, 2, true, 100);
    assert_int_equal(result.status, BENCH_ALL_DROPPED);
    assert_int_equal(result.kept, 0);
    assert_int_equal(result.dropped, 2);
}

static void pattern_selects_its_own_name_alone(void **context) {
    (void)context;
    assert_true(bench_pattern_selects("walk/2", "walk/2"));
    assert_false(bench_pattern_selects("walk/2", "walk/2/lanes"));
    assert_false(bench_pattern_selects("walk/2", "walk/26"));
    assert_false(bench_pattern_selects("walk", "walk/2"));
    assert_false(bench_pattern_selects("", "walk/2"));
}

static void pattern_with_a_slash_at_the_end_selects_what_begins_so(void **context) {
    (void)context;
    assert_true(bench_pattern_selects("walk/", "walk/2"));
    assert_true(bench_pattern_selects("walk/", "walk/fragmented/26"));
    assert_true(bench_pattern_selects("walk/fragmented/", "walk/fragmented/26"));
    assert_false(bench_pattern_selects("walk/", "get/random"));
    assert_false(bench_pattern_selects("walk/2/", "walk/2"));
}

static void sampling_ends_when_enough_samples_are_kept(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    const bench_row row = row_of(&first, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_DONE);
    assert_int_equal(result.kept, 9);
    assert_int_equal(result.dropped, 0);
    assert_near(result.mica, 100); // a step of 1000 for 10 operations
    assert_near(result.limit, 100);
    assert_near(result.ratio, 1);
}

static int32_t unpinned_count, pinned_count;
static bool was_unpinned_first;

static int64_t fake_wall_clock(void) {
    return clock_now += 3 * clock_step;
}

static bool fake_unpin(void) {
    unpinned_count++;
    was_unpinned_first = !counters[0].exists; // threads take over what their maker may use
    return true;
}

static bool fake_pin(void) {
    pinned_count++;
    return true;
}

static void rows_with_threads_have_all_cores_and_the_clock_on_the_wall(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    session.wall_clock = fake_wall_clock;
    session.unpin = fake_unpin;
    session.pin = fake_pin;
    counters[0].exists = false;
    bench_side threads = first;
    threads.has_threads = true;
    const bench_row row = row_of(&threads, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_near(result.mica, 300);
    assert_near(result.limit, 300);
    assert_true(was_unpinned_first);
    assert_int_equal(unpinned_count, 1);
    assert_int_equal(pinned_count, 1);
    assert_true(session.clock == fake_clock);
}

static void both_sides_run_equally_often_and_are_prepared_each_time(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    const bench_row row = row_of(&first, &second);
    bench_measure(&session, &row);
    assert_int_equal(counters[0].runs, 10); // one to warm up
    assert_int_equal(counters[0].prepared, 10);
    assert_int_equal(counters[1].runs, 10);
    assert_int_equal(counters[1].prepared, 10);
    assert_false(counters[0].exists);
    assert_false(counters[1].exists);
}

static void short_runs_are_repeated_within_a_sample(void **context) {
    (void)context;
    bench_session session = fake_session(0, steady, 1);
    run_step = 100000;
    const bench_row row = row_of(&first_repeatable, &second_repeatable);
    const bench_result result = bench_measure(&session, &row);
    const uint64_t passes = 16; // the first power of two that takes a millisecond
    assert_int_equal(counters[0].runs, (1 + 2 + 4 + 8 + 16) + 9 * passes);
    assert_int_equal(counters[1].runs, counters[0].runs);
    assert_near(result.mica, 10000);
}

static void one_side_that_needs_preparation_keeps_both_from_repeating(void **context) {
    (void)context;
    bench_session session = fake_session(1, steady, 1);
    const bench_row row = row_of(&first, &second_repeatable);
    bench_measure(&session, &row);
    assert_int_equal(counters[0].runs, 10);
    assert_int_equal(counters[1].runs, 10);
}

static void a_slow_loop_beside_either_side_drops_the_pair(void **context) {
    (void)context;
    // Three loops a pair: the second pair is disturbed before, the third between, the fourth after.
    static const int64_t times[] = {100, 100, 100, 120, 100, 100, 100, 120, 100, 100, 100, 120};
    bench_session session = fake_session(1000, times, 12);
    const bench_row row = row_of(&first, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.kept, 9);
    assert_int_equal(result.dropped, 24);
}

static void a_better_loop_later_drops_earlier_samples(void **context) {
    (void)context;
    static const int64_t times[] = {120, 120, 120, 100, 100, 100};
    bench_session session = fake_session(1000, times, 6);
    const bench_row row = row_of(&first, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(session.best_calibration, 100);
    assert_int_equal(result.kept, 9);
    assert_int_equal(result.dropped, 9);
}

static void the_best_loop_is_remembered_from_row_to_row(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    const bench_row row = row_of(&first, &second);
    bench_measure(&session, &row);
    static const int64_t slower[] = {1200};
    calibrations = slower;
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_ALL_DROPPED);
    assert_true(result.dropped > 0);
}

static void a_spent_budget_ends_sampling_once_few_samples_are_kept(void **context) {
    (void)context;
    bench_session session = fake_session(100000000, steady, 1); // 0.1 s a reading, some 5 readings a sample
    const bench_row row = row_of(&first, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_DONE);
    assert_int_equal(result.kept, session.kept_least);
}

static void sampling_ends_even_when_nothing_is_kept(void **context) {
    (void)context;
    bench_session session = fake_session(100000000, steady, 1);
    session.best_calibration = 1;
    const bench_row row = row_of(&first, &second);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_ALL_DROPPED);
    assert_in_range(result.dropped, 3, 10);
}

static void rows_share_what_they_may_take_beyond_their_budgets(void **context) {
    (void)context;
    bench_session session = fake_session(100000000, steady, 1);
    session.best_calibration = 1; // everything is dropped, so that each row takes what it can get
    session.spare_nanoseconds = 2000000000;
    const bench_row row = row_of(&first, &second);
    const int32_t more = bench_measure(&session, &row).dropped;
    const int32_t fewer = bench_measure(&session, &row).dropped;
    assert_true(session.spare_nanoseconds <= 0);
    assert_true(more > fewer);
    assert_int_equal(bench_measure(&session, &row).dropped, fewer);
}

static void a_row_within_its_budget_leaves_the_spare_time_to_others(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    const bench_row row = row_of(&first, &second);
    bench_measure(&session, &row);
    assert_int_equal(session.spare_nanoseconds, 4000000000);
}

static void a_resized_row_does_as_many_operations_more(void **context) {
    (void)context;
    bench_row row = row_of(&first, &second);
    row.n = 1000;
    row.operations = 2000;
    const bench_row resized = bench_row_resized(&row, 50);
    assert_int_equal(resized.n, 50);
    assert_int_equal(resized.operations, 100);
    row.operations = 1; // of a world, say, however many are in it
    assert_int_equal(bench_row_resized(&row, 50).operations, 1);
    row.n = 0;
    row.operations = 3;
    assert_int_equal(bench_row_resized(&row, 50).operations, 3);
}

static void a_variant_is_first_at_the_first_of_its_sizes(void **context) {
    (void)context;
    bench_row rows[] = {row_of(&first, NULL), row_of(&first, NULL), row_of(&first, NULL), row_of(&first, NULL)};
    rows[1].n = 100;
    rows[2].variant = "other";
    rows[3].name = "another";
    assert_true(bench_variant_is_first(rows, 0));
    assert_false(bench_variant_is_first(rows, 1));
    assert_true(bench_variant_is_first(rows, 2));
    assert_true(bench_variant_is_first(rows, 3));
}

static void disagreement_about_the_first_run_is_a_failed_check(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    bench_side wrong = second;
    wrong.check = check_other;
    const bench_row row = row_of(&first, &wrong);
    assert_int_equal(bench_measure(&session, &row).status, BENCH_CHECK_FAILED);
    assert_int_equal(counters[0].runs, 1);
    assert_false(counters[0].exists);
    assert_false(counters[1].exists);
}

static void disagreement_about_the_last_run_is_a_failed_check(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    bench_side wrong = second;
    wrong.check = check_at_first;
    const bench_row row = row_of(&first, &wrong);
    assert_int_equal(bench_measure(&session, &row).status, BENCH_CHECK_FAILED);
    assert_int_equal(counters[0].runs, 10);
}

static void a_row_without_a_limit_is_measured_alone(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    const bench_row row = row_of(&first, NULL);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_DONE);
    assert_near(result.mica, 100);
    assert_near(result.limit, 0);
}

static uint64_t counter_weigh(void *state) {
    return state == &counters[0] ? 300 : 200;
}

static void units_larger_than_nanoseconds_are_measured_in_them(void **context) {
    (void)context;
    bench_session session = fake_session(1000000, steady, 1);
    bench_row row = row_of(&first, &second);
    row.unit = "us/op";
    assert_near(bench_measure(&session, &row).mica, 100);
    row.unit = "ms/op";
    assert_near(bench_measure(&session, &row).mica, 0.1);
}

// A run that takes as long again as another.
static void slow_run(void *state) {
    counter_run(state);
    clock_now += run_step;
}

static void a_baseline_is_taken_away_and_is_no_limit(void **context) {
    (void)context;
    bench_session session = fake_session(0, steady, 1);
    run_step = 5000000;
    bench_side slow = first_repeatable;
    bench_side baseline = second_repeatable;
    slow.run = slow_run;
    baseline.is_baseline = true;
    const bench_row row = row_of(&slow, &baseline);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_DONE);
    assert_false(bench_row_has_limit(&row));
    assert_near(result.mica, 500000); // of 10 operations
    assert_near(result.limit, 0);
    assert_near(result.ratio, 0);
    baseline.check = check_other;
    assert_int_equal(bench_measure(&session, &row).status, BENCH_CHECK_FAILED);
}

static void sides_that_are_weighed_are_not_run(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    bench_side heavy = {.set_up = first_set_up, .tear_down = counter_tear_down, .weigh = counter_weigh};
    bench_side light = {.set_up = second_set_up, .tear_down = counter_tear_down, .weigh = counter_weigh};
    const bench_row row = row_of(&heavy, &light);
    const bench_result result = bench_measure(&session, &row);
    assert_int_equal(result.status, BENCH_DONE);
    assert_near(result.mica, 30);
    assert_near(result.limit, 20);
    assert_near(result.ratio, 1.5);
    assert_int_equal(result.kept, 1);
    assert_false(counters[0].exists);
    assert_false(counters[1].exists);
    const bench_row alone = row_of(&heavy, NULL);
    assert_near(bench_measure(&session, &alone).limit, 0);
}

static void a_failed_set_up_frees_the_side_that_was_made(void **context) {
    (void)context;
    bench_session session = fake_session(1000, steady, 1);
    bench_row row = row_of(&first, &second);
    row.n = 1; // the second side refuses it
    assert_int_equal(bench_measure(&session, &row).status, BENCH_SET_UP_FAILED);
    assert_false(counters[0].exists);
    row.n = 0; // both refuse it
    assert_int_equal(bench_measure(&session, &row).status, BENCH_SET_UP_FAILED);
}

static void a_shuffle_is_a_permutation_that_its_seed_decides(void **context) {
    (void)context;
    uint32_t order[100];
    uint32_t again[100];
    uint32_t other[100];
    bench_shuffle(order, 100, 1);
    bench_shuffle(again, 100, 1);
    bench_shuffle(other, 100, 2);
    assert_memory_equal(order, again, sizeof order);
    assert_memory_not_equal(order, other, sizeof order);
    bool seen[100] = {false};
    int32_t fixed = 0;
    for (uint32_t i = 0; i < 100; i++) {
        assert_in_range(order[i], 0, 99);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        fixed += order[i] == i;
    }
    assert_in_range(fixed, 0, 10);
}

static void pages_are_zeroed_and_refused_when_their_size_overflows(void **context) {
    (void)context;
    for (bench_page_size size = BENCH_PAGES_4_KIB; size <= BENCH_PAGES_2_MIB; size++) {
        uint8_t *pages = bench_pages_allocate(3, 1000000, size);
        assert_non_null(pages);
        assert_int_equal(pages[0], 0);
        pages[2999999] = 1;
        bench_pages_forget(pages, 3, 1000000);
        assert_int_equal(pages[2999999], 0);
        bench_pages_free(pages, 3, 1000000);
    }
    assert_null(bench_pages_allocate(SIZE_MAX / 2, 3, BENCH_PAGES_4_KIB));
    assert_null(bench_pages_allocate(0, 8, BENCH_PAGES_4_KIB));
    bench_pages_free(NULL, 3, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantile_of_odd_count_is_the_middle),
        cmocka_unit_test(quantile_of_even_count_lies_between_the_middle_two),
        cmocka_unit_test(quartiles_are_interpolated),
        cmocka_unit_test(quantiles_of_one_value_are_that_value),
        cmocka_unit_test(a_tenth_slower_is_not_disturbed_yet),
        cmocka_unit_test(summary_leaves_disturbed_samples_out_and_counts_them),
        cmocka_unit_test(ratio_is_of_medians_and_spread_of_paired_ratios),
        cmocka_unit_test(summary_without_a_limit_has_no_ratio_but_a_relative_spread),
        cmocka_unit_test(what_was_taken_away_counts_in_the_spread),
        cmocka_unit_test(summary_of_disturbed_samples_alone_is_no_result),
        cmocka_unit_test(pattern_selects_its_own_name_alone),
        cmocka_unit_test(pattern_with_a_slash_at_the_end_selects_what_begins_so),
        cmocka_unit_test(sampling_ends_when_enough_samples_are_kept),
        cmocka_unit_test(rows_with_threads_have_all_cores_and_the_clock_on_the_wall),
        cmocka_unit_test(both_sides_run_equally_often_and_are_prepared_each_time),
        cmocka_unit_test(short_runs_are_repeated_within_a_sample),
        cmocka_unit_test(one_side_that_needs_preparation_keeps_both_from_repeating),
        cmocka_unit_test(a_slow_loop_beside_either_side_drops_the_pair),
        cmocka_unit_test(a_better_loop_later_drops_earlier_samples),
        cmocka_unit_test(the_best_loop_is_remembered_from_row_to_row),
        cmocka_unit_test(a_spent_budget_ends_sampling_once_few_samples_are_kept),
        cmocka_unit_test(sampling_ends_even_when_nothing_is_kept),
        cmocka_unit_test(rows_share_what_they_may_take_beyond_their_budgets),
        cmocka_unit_test(a_row_within_its_budget_leaves_the_spare_time_to_others),
        cmocka_unit_test(a_resized_row_does_as_many_operations_more),
        cmocka_unit_test(a_variant_is_first_at_the_first_of_its_sizes),
        cmocka_unit_test(disagreement_about_the_first_run_is_a_failed_check),
        cmocka_unit_test(disagreement_about_the_last_run_is_a_failed_check),
        cmocka_unit_test(a_row_without_a_limit_is_measured_alone),
        cmocka_unit_test(units_larger_than_nanoseconds_are_measured_in_them),
        cmocka_unit_test(a_baseline_is_taken_away_and_is_no_limit),
        cmocka_unit_test(sides_that_are_weighed_are_not_run),
        cmocka_unit_test(a_failed_set_up_frees_the_side_that_was_made),
        cmocka_unit_test(a_shuffle_is_a_permutation_that_its_seed_decides),
        cmocka_unit_test(pages_are_zeroed_and_refused_when_their_size_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
