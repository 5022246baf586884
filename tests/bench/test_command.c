// The command line of the benchmarks: selection, exit codes, the table and the JSON file, over rows of the test's own.
#include "bench/command.h"

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t clock_now;

static int64_t fake_clock(void) {
    return clock_now += 2000000;
}

// Each loop may be slower than those before, so that all samples but the first are dropped.
static int64_t calibration_growth;
static int64_t calibration_last;

static int64_t fake_calibrate(void) {
    return calibration_last += calibration_growth;
}

static bench_session fake_session(bool quick) {
    calibration_last = 1000;
    return (bench_session){
        .clock = fake_clock,
        .calibrate = fake_calibrate,
        .budget_nanoseconds = 1000000000,
        .spare_nanoseconds = 4000000000,
        .kept_wanted = quick ? 2 : 4,
        .kept_least = 2,
    };
}

static int32_t run_count;

static void *set_up(int64_t n) {
    return n > 0 ? &run_count : NULL;
}

static void run(void *state) {
    ++*(int32_t *)state;
}

static uint64_t check(void *state) {
    (void)state;
    return 7;
}

static uint64_t check_other(void *state) {
    (void)state;
    return 8;
}

static void tear_down(void *state) {
    (void)state;
}

static const bench_side right = {.set_up = set_up, .run = run, .check = check, .tear_down = tear_down};
static const bench_side wrong = {.set_up = set_up, .run = run, .check = check_other, .tear_down = tear_down};

static const bench_side threaded = {
    .set_up = set_up, .run = run, .check = check, .tear_down = tear_down, .has_threads = true};

static int64_t size_last; // at which a state was made
static int32_t prepare_count;

static void *set_up_sized(int64_t n) {
    size_last = n;
    return set_up(n);
}

static void prepare(void *state) {
    (void)state;
    prepare_count++;
}

static uint64_t weigh(void *state) {
    (void)state;
    return 640;
}

static const bench_side sized = {
    .set_up = set_up_sized, .prepare = prepare, .run = run, .check = check, .tear_down = tear_down};
static const bench_side weighed = {.set_up = set_up, .tear_down = tear_down, .weigh = weigh};

static const bench_row good_rows[] = {
    {"walk/2", "main", 100, "ns/entity", 100, &right, &right},
    {"walk/2/lanes", "main", 100, "ns/entity", 100, &right, &right},
    {"clear", "tables", 1000, "ns/entity", 1000, &right, NULL},
    {"get", "main", 1000, "ns/entity", 2000, &sized, &right},
    {"get", "main", 50000, "ns/entity", 100000, &sized, &right},
    {"memory", "main", 10, "bytes/entity", 10, &weighed, NULL},
    {"threads", "main", 100, "ns/job", 100, &threaded, &right},
    {"curve/get", "main", 100, "ns/entity", 100, &right, &right},
};

static const bench_row bad_rows[] = {
    {"broken/check", "main", 10, "ns/entity", 10, &right, &wrong},
    {"broken/set-up", "main", 0, "ns/entity", 10, &right, &right},
    {"broken/none", "main", 10, "ns/entity", 10, &right, &right},
};

static const bench_family good = {good_rows, sizeof good_rows / sizeof good_rows[0]};
static const bench_family bad = {bad_rows, 3};

// What a command line printed, and how it ended.
typedef struct outcome {
    int exit_code;
    char out[4096];
    char err[4096];
} outcome;

static void read_back(FILE *file, char *text, size_t byte_size) {
    rewind(file);
    text[fread(text, 1, byte_size - 1, file)] = '\0';
    fclose(file);
}

// Runs a command line given as its words after the name, NULL at the end.
static outcome run_command(const char *const *words) {
    const bench_family *const families[] = {&good, &bad};
    char *argv[8] = {(char *)"bench"};
    int argc = 1;
    while (words[argc - 1] != NULL) {
        argv[argc] = (char *)words[argc - 1];
        argc++;
    }
    const bench_command command = {
        .families = families,
        .family_count = 2,
        .out = tmpfile(),
        .err = tmpfile(),
        .session_make = fake_session,
    };
    assert_non_null(command.out);
    assert_non_null(command.err);
    outcome result = {.exit_code = bench_command_run(&command, argc, argv)};
    read_back(command.out, result.out, sizeof result.out);
    read_back(command.err, result.err, sizeof result.err);
    return result;
}

#define RUN(...) run_command((const char *const[]){__VA_ARGS__, NULL})

static void list_names_the_selected_rows_and_runs_none(void **context) {
    (void)context;
    run_count = 0;
    const outcome result = RUN("--list", "walk/");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.out, "walk/2 "));
    assert_non_null(strstr(result.out, "walk/2/lanes"));
    assert_null(strstr(result.out, "clear"));
    assert_int_equal(run_count, 0);
}

static void list_without_names_shows_all_rows(void **context) {
    (void)context;
    const outcome result = RUN("--list");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.out, "clear"));
    assert_non_null(strstr(result.out, "broken/check"));
}

static void a_row_is_printed_with_its_figures_aligned_under_the_headings(void **context) {
    (void)context;
    const outcome result = RUN("walk/2");
    assert_int_equal(result.exit_code, 0);
    const char *expected = "row     variant          n  unit            mica      limit    ratio   spread  dropped\n"
                           "walk/2  main           100  ns/entity  20000.000  20000.000     1.00     0.00        0\n";
    const char *table = strstr(result.out, "\n\n");
    assert_non_null(table);
    assert_string_equal(table + 2, expected);
}

static void above_the_table_stands_what_was_measured_with(void **context) {
    (void)context;
    const outcome result = RUN("clear");
    assert_memory_equal(result.out, "machine: ", 9);
    assert_non_null(strstr(result.out, "\nlibrary: "));
    assert_non_null(strstr(result.out, "\nbenchmarks: "));
    const outcome alone = RUN("--about");
    assert_int_equal(alone.exit_code, 0);
    assert_memory_equal(alone.out, result.out, strlen(alone.out));
    assert_null(strstr(alone.out, "clear"));
}

static void rows_apart_are_selected_by_name_alone(void **context) {
    (void)context;
    assert_null(strstr(RUN("--list").out, "curve/get"));
    assert_non_null(strstr(RUN("--list", "curve/").out, "curve/get"));
}

static void main_leaves_other_variants_out(void **context) {
    (void)context;
    const outcome result = RUN("--main", "--list");
    assert_non_null(strstr(result.out, "walk/2 "));
    assert_null(strstr(result.out, "clear"));
    assert_int_equal(RUN("--main", "--list", "clear").exit_code, 2);
}

static void sizes_take_the_place_of_the_rows_own_once_a_variant(void **context) {
    (void)context;
    const outcome result = RUN("--sizes", "200,4000", "--list", "get");
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(result.out, "get  main           200  ns/entity\n"
                                    "get  main          4000  ns/entity\n");
    assert_int_equal(RUN("--sizes", "4000", "--quick", "get").exit_code, 0);
    assert_int_equal(size_last, 4000);
}

static void sizes_that_are_none_are_wrong_usage(void **context) {
    (void)context;
    const char *const texts[] = {
        "", "0", "-1", "1,", ",1", "1,,2", "x", "1x", "1000000000000", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const outcome result = RUN("--sizes", texts[i], "--list", "get");
        assert_int_equal(result.exit_code, 2);
        assert_non_null(strstr(result.err, texts[i]));
    }
    assert_int_equal(RUN("--sizes").exit_code, 2);
}

static void countable_lists_each_variant_once_at_the_size_that_it_is_counted_at(void **context) {
    (void)context;
    const outcome result = RUN("--countable");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.out, "walk/2\tmain\t100\t100\tboth\n"));
    assert_non_null(strstr(result.out, "clear\ttables\t1000\t1000\tmica\n"));
    assert_non_null(strstr(result.out, "get\tmain\t20000\t40000\tboth\n"));
    assert_null(strstr(result.out, "get\tmain\t1000\t"));
    assert_null(strstr(result.out, "memory"));
    assert_null(strstr(result.out, "threads"));
    assert_null(strstr(result.out, "curve/"));
}

static void once_runs_one_side_twice_at_that_size(void **context) {
    (void)context;
    run_count = prepare_count = 0;
    assert_int_equal(RUN("--once", "mica", "get", "main").exit_code, 0);
    assert_int_equal(run_count, 2);
    assert_int_equal(prepare_count, 2);
    assert_int_equal(size_last, 20000);
    run_count = prepare_count = 0;
    assert_int_equal(RUN("--once", "limit", "get", "main").exit_code, 0);
    assert_int_equal(run_count, 2);
    assert_int_equal(prepare_count, 0);
}

static void once_refuses_what_cannot_be_counted(void **context) {
    (void)context;
    run_count = 0;
    assert_int_equal(RUN("--once", "mica", "get").exit_code, 2);
    assert_int_equal(RUN("--once", "both", "get", "main").exit_code, 2);
    assert_int_equal(RUN("--once", "mica", "get", "other").exit_code, 2);
    assert_int_equal(RUN("--once", "mica", "memory", "main").exit_code, 2);
    assert_int_equal(RUN("--once", "limit", "clear", "tables").exit_code, 2);
    assert_int_equal(RUN("--once", "mica", "broken/set-up", "main").exit_code, 1);
    assert_int_equal(run_count, 0);
}

static void the_rows_and_their_time_are_told_at_the_end(void **context) {
    (void)context;
    assert_non_null(strstr(RUN("walk/").err, "bench: 2 rows in "));
}

static void a_row_without_a_limit_shows_dashes(void **context) {
    (void)context;
    const outcome result = RUN("clear");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.out, "2000.000          -        -     0.00        0\n"));
}

static void quick_takes_fewer_samples(void **context) {
    (void)context;
    run_count = 0;
    RUN("clear");
    assert_int_equal(run_count, 1 + 4);
    run_count = 0;
    RUN("--quick", "clear");
    assert_int_equal(run_count, 1 + 2);
}

static void too_few_kept_samples_are_owned_up_to(void **context) {
    (void)context;
    calibration_growth = 40; // two loops a sample of a row without a limit: from the second sample on over a tenth
    const outcome result = RUN("clear");
    calibration_growth = 0;
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.err, "clear, tables, n = 1000: only 1 samples"));
    assert_null(strstr(RUN("clear").err, "only"));
}

static void a_failed_check_exits_with_one_after_the_rows_behind_it(void **context) {
    (void)context;
    const outcome result = RUN("broken/check", "broken/none");
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(result.err, "broken/check"));
    assert_non_null(strstr(result.err, "disagree"));
    assert_non_null(strstr(result.out, "broken/none"));
}

static void a_failed_set_up_exits_with_one_and_says_so(void **context) {
    (void)context;
    const outcome result = RUN("broken/set-up");
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(result.err, "broken/set-up, main, n = 0: could not be set up"));
}

static void wrong_usage_exits_with_two_and_names_the_culprit(void **context) {
    (void)context;
    const outcome unknown_row = RUN("walk/3");
    assert_int_equal(unknown_row.exit_code, 2);
    assert_non_null(strstr(unknown_row.err, "walk/3"));
    const outcome unknown_option = RUN("--fast");
    assert_int_equal(unknown_option.exit_code, 2);
    assert_non_null(strstr(unknown_option.err, "--fast"));
    const outcome missing_file = RUN("--json");
    assert_int_equal(missing_file.exit_code, 2);
    assert_non_null(strstr(missing_file.err, "--json"));
}

static void one_misspelt_row_among_others_is_wrong_usage(void **context) {
    (void)context;
    run_count = 0;
    const outcome result = RUN("walk/2", "wakl/");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(result.err, "wakl/"));
    assert_int_equal(run_count, 0);
}

static void help_goes_to_standard_output(void **context) {
    (void)context;
    const outcome result = RUN("--help");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(result.out, "--json FILE"));
}

static json_t *json_of(const char *row, int expected_exit_code) {
    char path[] = "/tmp/mica-bench-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const outcome result = RUN("--json", path, row);
    assert_int_equal(result.exit_code, expected_exit_code);
    json_t *results = json_load_file(path, 0, NULL);
    unlink(path);
    assert_true(json_is_array(results));
    return results;
}

static void json_holds_a_list_of_rows_with_their_figures(void **context) {
    (void)context;
    json_t *results = json_of("walk/", 0);
    assert_int_equal(json_array_size(results), 2);
    const json_t *row = json_array_get(results, 0);
    assert_string_equal(json_string_value(json_object_get(row, "row")), "walk/2");
    assert_string_equal(json_string_value(json_object_get(row, "variant")), "main");
    assert_int_equal(json_integer_value(json_object_get(row, "n")), 100);
    assert_string_equal(json_string_value(json_object_get(row, "unit")), "ns/entity");
    assert_true(json_real_value(json_object_get(row, "mica")) == 20000);
    assert_true(json_real_value(json_object_get(row, "limit")) == 20000);
    assert_true(json_real_value(json_object_get(row, "ratio")) == 1);
    assert_true(json_is_real(json_object_get(row, "spread")));
    assert_int_equal(json_object_size(row), 8);
    json_decref(results);
}

static void json_has_null_for_figures_that_do_not_exist(void **context) {
    (void)context;
    json_t *results = json_of("clear", 0);
    const json_t *row = json_array_get(results, 0);
    assert_true(json_is_null(json_object_get(row, "limit")));
    assert_true(json_is_null(json_object_get(row, "ratio")));
    assert_true(json_is_real(json_object_get(row, "mica")));
    json_decref(results);
    results = json_of("broken/check", 1);
    assert_true(json_is_null(json_object_get(json_array_get(results, 0), "mica")));
    json_decref(results);
}

static void an_unwritable_file_is_refused_before_anything_is_measured(void **context) {
    (void)context;
    run_count = 0;
    const outcome result = RUN("--json", "/nonexistent/results.json", "walk/2");
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(result.err, "/nonexistent/results.json"));
    assert_int_equal(run_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_names_the_selected_rows_and_runs_none),
        cmocka_unit_test(list_without_names_shows_all_rows),
        cmocka_unit_test(a_row_is_printed_with_its_figures_aligned_under_the_headings),
        cmocka_unit_test(above_the_table_stands_what_was_measured_with),
        cmocka_unit_test(rows_apart_are_selected_by_name_alone),
        cmocka_unit_test(main_leaves_other_variants_out),
        cmocka_unit_test(sizes_take_the_place_of_the_rows_own_once_a_variant),
        cmocka_unit_test(sizes_that_are_none_are_wrong_usage),
        cmocka_unit_test(countable_lists_each_variant_once_at_the_size_that_it_is_counted_at),
        cmocka_unit_test(once_runs_one_side_twice_at_that_size),
        cmocka_unit_test(once_refuses_what_cannot_be_counted),
        cmocka_unit_test(the_rows_and_their_time_are_told_at_the_end),
        cmocka_unit_test(a_row_without_a_limit_shows_dashes),
        cmocka_unit_test(quick_takes_fewer_samples),
        cmocka_unit_test(too_few_kept_samples_are_owned_up_to),
        cmocka_unit_test(a_failed_check_exits_with_one_after_the_rows_behind_it),
        cmocka_unit_test(a_failed_set_up_exits_with_one_and_says_so),
        cmocka_unit_test(wrong_usage_exits_with_two_and_names_the_culprit),
        cmocka_unit_test(one_misspelt_row_among_others_is_wrong_usage),
        cmocka_unit_test(help_goes_to_standard_output),
        cmocka_unit_test(json_holds_a_list_of_rows_with_their_figures),
        cmocka_unit_test(json_has_null_for_figures_that_do_not_exist),
        cmocka_unit_test(an_unwritable_file_is_refused_before_anything_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
