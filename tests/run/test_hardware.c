// Hardware counters of systems. Few machines that run tests have some, so that what is counted here is what the kernel
// itself counts of a thread: the time that it had a core, to the nanosecond, and pages that it touched first.
#include "run/hardware.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#if defined(__linux__)
#include <linux/perf_event.h>
#endif

#include <cmocka.h>

#include "support/test_run.h"
#include "support/test_shared_world.h"

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), { float x; });
MICA_STRUCT_WITH(Speed, (.storage = MICA_TABLE), { float x; });

#if defined(__linux__)
static const mi_counter_kind software[MI_COUNTER_COUNT] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
                                                           {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                                                           {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
                                                           {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}};
#else
static const mi_counter_kind software[MI_COUNTER_COUNT];
#endif
static const mi_counter_kind unknown[MI_COUNTER_COUNT] = {{UINT32_MAX, 0}};

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.thread_count = 4, .always_parallel = true});
    for (int32_t i = 0; i < 5000; i++) {
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Speed, {1}));
    }
    return 0;
}

// Skips the test where the kernel lets nobody count.
static void begin_counting(void) {
    if (mi_hardware_begin(world, software, "test") != MICA_OK) {
        assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
        skip();
    }
}

static void work(void) {
    for (volatile int32_t i = 0; i < 50000; i++) {
    }
}

static void work_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    mica_write_of(*span, Place)[0].x++;
    work();
}

static void loop(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, work_span, NULL) == MICA_OK);
}

static void be_busy(mica_run *run) {
    (void)run;
    work();
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static void add_all(void) {
    const mica_system_def defs[] = {
        {.name = "busy", .run = be_busy, .query = {mica_read(Speed)}},
        {.name = "idle", .run = do_nothing, .query = {mica_read(Speed)}},
        {.name = "loop", .run = loop, .query = {mica_write(Place)}},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        assert_int_not_equal(mica_system_add(world, &defs[i]).id, 0);
    }
}

static mica_hardware_counts counts_of(const char *name) {
    mica_hardware_counts counts;
    assert_int_equal(mica_hardware_statistics(world, mica_system_find(world, name), &counts), MICA_OK);
    return counts;
}

static void what_systems_do_is_counted_on_the_thread_that_runs_them(void **state) {
    (void)state;
    begin_counting();
    add_all();
    for (int32_t i = 0; i < 10; i++) { // the first time alone, then side by side
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    // The loop works twice as much as "busy" at least, wherever its spans ran.
    const uint64_t busy = counts_of("busy").instruction_count;
    assert_true(busy > 2 * counts_of("idle").instruction_count);
    assert_true(counts_of("loop").instruction_count > busy);
}

static void counting_ends_and_begins_anew(void **state) {
    (void)state;
    add_all();
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(counts_of("busy").instruction_count, 0);
    begin_counting();
    begin_counting(); // goes on
    assert_true(mica_hardware_is_counted(world));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const uint64_t once = counts_of("busy").instruction_count;
    assert_true(once > 0);
    assert_int_equal(mica_hardware_end(world), MICA_OK);
    assert_int_equal(mica_hardware_end(world), MICA_OK);
    assert_false(mica_hardware_is_counted(world));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(counts_of("busy").instruction_count, once);
    begin_counting();
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(counts_of("busy").instruction_count > once);
}

typedef struct traced {
    uint64_t busy;  // counts of its runs together
    uint64_t other; // of events that are no runs
} traced;

static void see_event(const mica_trace_event *event, void *user) {
    traced *seen = user;
    if (event->kind != MICA_TRACE_SYSTEM) {
        seen->other += event->hardware.instruction_count;
    } else if (strcmp(event->system, "busy") == 0) {
        seen->busy += event->hardware.instruction_count;
    }
}

static void traces_tell_what_each_run_has_cost(void **state) {
    (void)state;
    begin_counting();
    add_all();
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const uint64_t before = counts_of("busy").instruction_count;
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    traced seen = {0};
    assert_int_equal(mica_trace_take(world, see_event, &seen), 0);
    assert_int_equal(seen.busy, counts_of("busy").instruction_count - before);
    assert_int_equal(seen.other, 0);
}

static void where_there_are_no_counters_all_else_goes_on(void **state) {
    (void)state;
    add_all();
    assert_int_equal(mi_hardware_begin(world, unknown, "test"), MICA_UNSUPPORTED);
    assert_non_null(strstr(mica_last_error(), "hardware counters"));
    assert_false(mica_hardware_is_counted(world));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(counts_of("busy").instruction_count, 0);
}

static void without_memory_nobody_counts(void **state) {
    (void)state;
    add_all();
    begin_counting();
    assert_int_equal(mica_hardware_end(world), MICA_OK);
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mi_hardware_begin(world, software, "test");
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_false(mica_hardware_is_counted(world));
    }
    assert_true(n > 1);
}

static void the_cores_own_counters_count_or_are_refused(void **state) {
    (void)state;
    add_all();
    const mica_result result = mica_hardware_begin(world);
    assert_int_equal(result == MICA_OK, mica_hardware_is_counted(world));
    assert_true(result == MICA_OK || result == MICA_UNSUPPORTED);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(result == MICA_OK, counts_of("busy").instruction_count > 50000);
}

static void ask_inside(mica_run *run) {
    must(run, mica_hardware_begin(mica_run_world(run)) == MICA_LOCKED &&
                  mica_hardware_end(mica_run_world(run)) == MICA_LOCKED);
}

static void misuse_is_refused(void **state) {
    (void)state;
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "ask", .run = ask_inside}).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_hardware_counts counts;
    assert_int_equal(mica_hardware_statistics(world, (mica_system){99}, &counts), MICA_UNKNOWN);
    assert_int_equal(mica_hardware_statistics(world, mica_system_find(world, "ask"), NULL), MICA_INVALID);
    assert_int_equal(mica_hardware_begin(NULL), MICA_INVALID);
    assert_int_equal(mica_hardware_end(NULL), MICA_INVALID);
    assert_false(mica_hardware_is_counted(NULL));
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(what_systems_do_is_counted_on_the_thread_that_runs_them),
        CASE(counting_ends_and_begins_anew),
        CASE(traces_tell_what_each_run_has_cost),
        CASE(where_there_are_no_counters_all_else_goes_on),
        CASE(without_memory_nobody_counts),
        CASE(the_cores_own_counters_count_or_are_refused),
        CASE(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
