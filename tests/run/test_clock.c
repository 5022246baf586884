// The clock: how real time becomes ticks of a fixed length.
#include <mica/mica.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

static mica_world *world;
static float seen_delta_seconds;
static int32_t run_count;
static int32_t fail_at_run; // 0: never

static void count_run(mica_run *run) {
    run_count++;
    seen_delta_seconds = mica_delta_time(run);
    if (run_count == fail_at_run) {
        mica_run_fail(run, MICA_FAILED, "as asked");
    }
}

static void make_world(double fixed_delta_seconds, int32_t limit) {
    mica_world_destroy(world);
    world =
        mica_world_create(&(mica_world_def){.fixed_delta_seconds = fixed_delta_seconds, .advance_tick_limit = limit});
    assert_non_null(world);
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "count", .run = count_run}).id, 0);
    run_count = 0;
    fail_at_run = 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(world);
    world = NULL;
    return 0;
}

static void time_is_kept_until_a_tick_is_due(void **state) {
    (void)state;
    make_world(0.25, 0);
    assert_true(mica_world_alpha(world) == 0);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    assert_true(mica_world_alpha(world) == 0.5);
    assert_int_equal(mica_world_advance(world, 0.0625), 0);
    assert_true(mica_world_alpha(world) == 0.75);
    assert_int_equal(mica_world_advance(world, 0.0625), 1);
    assert_true(mica_world_alpha(world) == 0);
    assert_int_equal(mica_world_advance(world, 0), 0);
    assert_int_equal(mica_world_advance(world, 0.875), 3);
    assert_true(mica_world_alpha(world) == 0.5);
    assert_int_equal(run_count, 4);
    assert_int_equal(mica_world_tick(world), 4);
    assert_true(seen_delta_seconds == 0.25f);
}

static void the_default_is_sixty_ticks_a_second_and_eight_at_most(void **state) {
    (void)state;
    make_world(0, 0);
    assert_int_equal(mica_world_advance(world, 1.0 / 60), 1);
    assert_true(seen_delta_seconds == 1.0f / 60);
    assert_int_equal(mica_world_advance(world, 1), 8);
    assert_true(mica_world_alpha(world) == 0);
}

static void time_over_the_limit_is_dropped(void **state) {
    (void)state;
    make_world(0.25, 3);
    assert_int_equal(mica_world_advance(world, 0.625), 2);
    assert_int_equal(mica_world_advance(world, 100), 3);
    assert_true(mica_world_alpha(world) == 0);
    assert_int_equal(mica_world_advance(world, 0.24), 0);
    assert_int_equal(mica_world_advance(world, DBL_MAX), 3);
    assert_int_equal(mica_world_advance(world, DBL_MAX), 3);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    assert_true(mica_world_alpha(world) == 0.5);
}

static void exactly_the_limit_is_not_over_it(void **state) {
    (void)state;
    make_world(0.1, 3);
    for (int32_t i = 0; i < 100; i++) {
        assert_int_equal(mica_world_advance(world, 3 * 0.1), 3);
        assert_true(mica_world_alpha(world) == 0);
    }
}

static void quotients_that_rounding_moves_give_whole_ticks(void **state) {
    (void)state;
    // 31 lengths, divided by the length, are just below 31 in double precision.
    make_world(1.0 / 60, 31);
    assert_true(1.0 / 60 * 31 / (1.0 / 60) < 31);
    assert_int_equal(mica_world_advance(world, 1.0 / 60 * 31), 31);
    assert_true(mica_world_alpha(world) == 0);
    // Just below 6 lengths, divided by the length, is 6.
    make_world(1.0 / 30, 8);
    assert_true(nextafter(1.0 / 30 * 6, 0) / (1.0 / 30) == 6);
    assert_int_equal(mica_world_advance(world, nextafter(1.0 / 30 * 6, 0)), 6);
    assert_true(mica_world_alpha(world) == 0);
}

static void alpha_is_never_one(void **state) {
    (void)state;
    const double lengths[] = {1.0 / 60, 0.1, 1.0 / 3, 1e-9, 1e9, 0.007};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        make_world(lengths[i], 5);
        double real_seconds = lengths[i] * 0.1;
        for (int32_t k = 0; k < 2000; k++) {
            assert_true(mica_world_advance(world, real_seconds) >= 0);
            assert_true(mica_world_alpha(world) >= 0 && mica_world_alpha(world) < 1);
            real_seconds = lengths[i] * (k % 17) * 0.3;
        }
        make_world(lengths[i], 5);
        assert_int_equal(mica_world_advance(world, nextafter(lengths[i], 0)), 0);
        assert_true(mica_world_alpha(world) < 1 && mica_world_alpha(world) > 0.999);
    }
}

static void frames_of_any_length_add_up(void **state) {
    (void)state;
    // Short frames (many a tick) and long ones (many ticks a frame): every tick once.
    const double frames[] = {0.001, 0.1};
    for (size_t i = 0; i < 2; i++) {
        make_world(1.0 / 60, 0);
        int32_t ticks = 0;
        const int32_t frame_count = (int32_t)(100 / frames[i] + 0.5);
        for (int32_t k = 0; k < frame_count; k++) {
            ticks += mica_world_advance(world, frames[i]);
        }
        assert_in_range(ticks, 5999, 6000);
        assert_int_equal(run_count, ticks);
        assert_int_equal(mica_world_tick(world), ticks);
        // What is not run is due.
        assert_true(fabs((ticks + mica_world_alpha(world)) / 60 - 100) < 1e-9);
    }
}

static void the_time_of_a_failed_tick_stays_due(void **state) {
    (void)state;
    make_world(0.25, 0);
    fail_at_run = 2;
    assert_int_equal(mica_world_advance(world, 0.875), -1 - 1);
    assert_int_equal(mica_last_result(), MICA_FAILED);
    assert_int_equal(mica_world_tick(world), 1);
    assert_true(mica_world_alpha(world) > 0.999 && mica_world_alpha(world) < 1);
    assert_int_equal(mica_world_advance(world, 0), 2);
    assert_true(mica_world_alpha(world) == 0.5);
    assert_int_equal(run_count, 4);
}

static void a_tick_that_fails_for_ever_does_not_pile_up_time(void **state) {
    (void)state;
    make_world(0.25, 3);
    for (int32_t i = 1; i <= 100; i++) {
        fail_at_run = i;
        assert_int_equal(mica_world_advance(world, 10), -1);
    }
    fail_at_run = 0;
    assert_int_equal(mica_world_advance(world, 0), 3);
    assert_true(mica_world_alpha(world) == 0);
}

static void bad_times_are_refused_and_add_nothing(void **state) {
    (void)state;
    make_world(0.25, 0);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    const double times[] = {-0.1, -DBL_TRUE_MIN, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        assert_int_equal(mica_world_advance(world, times[i]), -1);
        assert_int_equal(mica_last_result(), MICA_INVALID);
    }
    assert_int_equal(mica_world_advance(NULL, 1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_true(mica_world_alpha(world) == 0.5);
}

static void a_refused_advance_adds_no_time(void **state) {
    (void)state;
    make_world(0.25, 0);
    mica_create(world);
    mica_each (mica_query_find(world, NULL, 0), it) {
        assert_int_equal(mica_world_advance(world, 0.125), -1);
        assert_int_equal(mica_last_result(), MICA_LOCKED);
    }
    assert_true(mica_world_alpha(world) == 0);
}

static void steps_leave_the_clock_alone(void **state) {
    (void)state;
    make_world(0.25, 0);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    assert_int_equal(mica_world_step(world, 5), MICA_OK);
    assert_true(mica_world_alpha(world) == 0.5);
    assert_int_equal(mica_world_tick(world), 1);
}

static void a_world_that_was_never_advanced_has_a_clock(void **state) {
    (void)state;
    mica_world *fresh = mica_world_create(NULL);
    assert_true(mica_world_alpha(fresh) == 0);
    assert_int_equal(mica_world_tick(fresh), 0);
    assert_int_equal(mica_world_advance(fresh, 1.0 / 30), 2);
    assert_int_equal(mica_world_tick(fresh), 2);
    mica_world_destroy(fresh);
}

static void memory_that_runs_out_adds_no_time(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *fresh = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    assert_non_null(fresh);
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&allocator, n);
        const int32_t ticks = mica_world_advance(fresh, 0);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(ticks, 0);
            break;
        }
        assert_int_equal(ticks, -1);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
    assert_true(n > 1);
    mica_world_destroy(fresh);
    test_allocator_finish(&allocator);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_teardown(NAME, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(time_is_kept_until_a_tick_is_due),
        CASE(the_default_is_sixty_ticks_a_second_and_eight_at_most),
        CASE(time_over_the_limit_is_dropped),
        CASE(exactly_the_limit_is_not_over_it),
        CASE(quotients_that_rounding_moves_give_whole_ticks),
        CASE(alpha_is_never_one),
        CASE(frames_of_any_length_add_up),
        CASE(the_time_of_a_failed_tick_stays_due),
        CASE(a_tick_that_fails_for_ever_does_not_pile_up_time),
        CASE(bad_times_are_refused_and_add_nothing),
        CASE(a_refused_advance_adds_no_time),
        CASE(steps_leave_the_clock_alone),
        CASE(a_world_that_was_never_advanced_has_a_clock),
        CASE(memory_that_runs_out_adds_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
