// The check of threads: what a tick does on several threads and not on one is named, and what is the same is left
// alone.
#include "run/churn_world.h"
#include "support/racing.h"
#include "support/test_shared_world.h"

#include <mica/checksum.h>
#include <mica/thread_check.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

MICA_STRUCT_WITH(Trace, (.storage = MICA_TABLE), { int32_t thread; });
MICA_STRUCT(Memory, { int32_t thread; });

static mica_thread_difference difference;

static mica_world *create(int32_t thread_count) {
    mica_world *made = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&allocator), .thread_count = thread_count});
    assert_non_null(made);
    return made;
}

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.thread_count = 3});
    racing = (race){.runs = {0}};
    difference = (mica_thread_difference){.tick = 0};
    mica_spawn(world, mica_value_of(Left, {0}), mica_value_of(Right, {0}), mica_value_of(Trace, {0}));
    return 0;
}

static mica_result check_tick(void) {
    return mica_world_check_threads(world, 1.0f / 60, &difference);
}

static void meet_left(mica_run *run) {
    racing_meet(run, 0);
}

static void add_pair(void (*right)(mica_run *run), mica_type *state) {
    const mica_system_def defs[] = {
        {.name = "left", .run = meet_left, .query = {mica_write(Left)}},
        {.name = "right", .run = right, .query = {mica_write(Right)}, .state = state},
    };
    for (size_t i = 0; i < 2; i++) {
        churn_add(world, &defs[i]);
    }
}

static void ticks_that_are_the_same_pass_and_leave_the_world_as_it_would_be(void **state) {
    (void)state;
    mica_world *plain = create(1);
    mica_world *checked = create(3);
    churn_fill(plain);
    churn_fill(checked);
    for (int32_t i = 0; i < 12; i++) {
        uint64_t sums[2] = {0};
        assert_int_equal(mica_world_step(plain, 1), MICA_OK);
        if (mica_world_check_threads(checked, 1, &difference) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
        assert_int_equal(difference.state.kind, MICA_DIFFERENCE_NONE);
        const mica_checksum_options exactly = {.exact = true};
        assert_int_equal(mica_world_checksum(plain, &exactly, &sums[0]), MICA_OK);
        assert_int_equal(mica_world_checksum(checked, &exactly, &sums[1]), MICA_OK);
        assert_true(sums[0] == sums[1]);
    }
    assert_int_equal(mica_world_validate(checked), MICA_OK);
    mica_world_destroy(checked);
    mica_world_destroy(plain);
}

static void a_value_that_hangs_on_the_thread_is_found(void **state) {
    (void)state;
    assert_true(racing_add(world));
    assert_int_equal(check_tick(), MICA_OK);
    assert_int_equal(check_tick(), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "tick 1 did something else on several threads, in system \"right\": "));
    assert_non_null(strstr(mica_last_error(), "Right.thread is 0 in the first and 1 in the second"));
    assert_int_equal(difference.tick, 1);
    assert_string_equal(difference.system, "right");
    assert_string_equal(difference.stage, "update");
    assert_string_equal(difference.suspects, "\"right\"");
    assert_true(difference.is_declared);
    assert_false(difference.in_commands);
    assert_int_equal(difference.state.kind, MICA_DIFFERENCE_VALUE);
    assert_int_equal(difference.state.component, mica_world_component(world, mica_type_of(Right)));
    assert_string_equal(difference.state.path, "thread");
    assert_int_equal(mica_world_tick(world), 2);
}

static void remember(mica_run *run) {
    mica_run_state(run, Memory)->thread = racing_meet(run, 1);
}

static void of_what_is_no_component_all_that_ran_side_by_side_are_suspected(void **state) {
    (void)state;
    add_pair(remember, mica_type_of(Memory));
    assert_int_equal(check_tick(), MICA_OK);
    assert_int_equal(check_tick(), MICA_MISMATCH);
    assert_string_equal(difference.suspects, "\"left\", \"right\"");
    assert_string_equal(difference.system, "left");
    assert_false(difference.is_declared);
    assert_int_equal(difference.state.kind, MICA_DIFFERENCE_PART);
    assert_non_null(strstr(mica_last_error(), "in one of the systems beside each other: \"left\", \"right\""));
}

static void spawn_elsewhere(mica_run *run) {
    if (racing_meet(run, 1) != 0) {
        mica_spawn(mica_run_commands(run), mica_value_of(Trace, {1}));
    }
}

static void what_was_recorded_shows_at_its_barrier(void **state) {
    (void)state;
    add_pair(spawn_elsewhere, NULL);
    assert_int_equal(check_tick(), MICA_OK);
    assert_int_equal(check_tick(), MICA_MISMATCH);
    assert_true(difference.in_commands);
    assert_string_equal(difference.system, "right");
    assert_int_equal(difference.state.kind, MICA_DIFFERENCE_ENTITY);
    assert_non_null(strstr(mica_last_error(), "in the commands up to those of system \"right\""));
}

static int32_t span_arrived; // atomic
static bool spans_meet;

static void trace_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    __atomic_fetch_add(&span_arrived, 1, __ATOMIC_ACQ_REL);
    while (spans_meet && __atomic_load_n(&span_arrived, __ATOMIC_ACQUIRE) < 2) {
        sched_yield();
    }
    mica_write_of(*span, Trace)[0].thread = !pthread_equal(pthread_self(), racing.threads[0]);
}

// In every second run the first two spans wait for each other, so that two threads have them.
static void trace_loop(mica_run *run) {
    racing.threads[0] = pthread_self();
    span_arrived = 0;
    spans_meet = racing.runs[0]++ % 2 == 1;
    must(run, mica_parallel_for(run, NULL, trace_span, NULL) == MICA_OK);
}

static void a_loop_whose_spans_differ_is_found_in_its_system(void **state) {
    (void)state;
    mica_spawn(world, mica_value_of(Trace, {0})); // in another table
    churn_add(world, &(mica_system_def){.name = "trace", .run = trace_loop, .query = {mica_write(Trace)}});
    assert_int_equal(check_tick(), MICA_MISMATCH); // also in the first tick
    assert_string_equal(difference.system, "trace");
    assert_string_equal(difference.suspects, "\"trace\"");
    assert_int_equal(difference.state.component, mica_world_component(world, mica_type_of(Trace)));
    assert_non_null(strstr(mica_last_error(), "in system \"trace\""));
}

static void fail_elsewhere(mica_run *run) {
    if (racing_meet(run, 1) != 0) {
        mica_run_fail(run, MICA_IO, "it wants to be at home");
    }
}

static void a_tick_that_fails_on_several_threads_alone_says_so(void **state) {
    (void)state;
    add_pair(fail_elsewhere, NULL);
    assert_int_equal(check_tick(), MICA_OK);
    assert_int_equal(check_tick(), MICA_IO);
    assert_non_null(strstr(mica_last_error(), "tick 1 fails on several threads, and does not on one"));
    assert_non_null(strstr(mica_last_error(), "it wants to be at home"));
}

static void misuse_is_refused(void **state) {
    (void)state;
    assert_int_equal(mica_world_check_threads(NULL, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_world_check_threads(world, -1, NULL), MICA_INVALID);
    mica_world *single = create(1);
    assert_int_equal(mica_world_check_threads(single, 1, NULL), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "the world has one thread"));
    assert_int_equal(mica_world_tick(single), 0);
    mica_world_destroy(single);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(ticks_that_are_the_same_pass_and_leave_the_world_as_it_would_be),
        TEST(a_value_that_hangs_on_the_thread_is_found),
        TEST(of_what_is_no_component_all_that_ran_side_by_side_are_suspected),
        TEST(what_was_recorded_shows_at_its_barrier),
        TEST(a_loop_whose_spans_differ_is_found_in_its_system),
        TEST(a_tick_that_fails_on_several_threads_alone_says_so),
        TEST(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
