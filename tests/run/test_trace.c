// Traces and what is counted of systems: what ran is told of with its thread, once, and in no tick that was not traced.
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_shared_world.h"

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), { int32_t x; });
MICA_STRUCT_WITH(Heat, (.storage = MICA_TABLE), { int32_t degrees; });

enum { ENTITIES = 20000, THREADS = 3, EVENT_MAX = 4096 };

static mica_trace_event events[EVENT_MAX];
static int32_t event_count;

static void keep(const mica_trace_event *event, void *user) {
    (void)user;
    assert_true(event_count < EVENT_MAX);
    events[event_count++] = *event;
}

static int64_t take(void) {
    event_count = 0;
    return mica_trace_take(world, keep, NULL);
}

// How many events there are of a kind, and of a system if it is named.
static int32_t count(mica_trace_kind kind, const char *system) {
    int32_t found = 0;
    for (int32_t i = 0; i < event_count; i++) {
        const bool is_its = system == NULL || (events[i].system != NULL && strcmp(events[i].system, system) == 0);
        found += events[i].kind == kind && is_its;
    }
    return found;
}

static void move_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    Place *place = mica_write_of(*span, Place);
    for (int32_t i = 0; i < span->count; i++) {
        place[i].x++;
    }
}

static void move(mica_run *run) {
    mica_parallel_for(run, NULL, move_span, NULL);
}

static void cool(mica_run *run) {
    mica_each (run, it) {
        mica_write_of(it, Heat)[0].degrees--;
    }
}

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.thread_count = THREADS, .always_parallel = true});
    for (int32_t i = 0; i < ENTITIES; i++) {
        mica_spawn(world, mica_value_of(Place, {i}));
    }
    mica_spawn(world, mica_value_of(Heat, {0}));
    const mica_system_def defs[] = {
        {.name = "move", .run = move, .query = {mica_write(Place)}, .budget_seconds = 1e-9},
        {.name = "cool", .run = cool, .query = {mica_write(Heat)}, .budget_seconds = 1e6},
    };
    for (size_t i = 0; i < 2; i++) {
        assert_int_not_equal(mica_system_add(world, &defs[i]).id, 0);
    }
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    return 0;
}

static void a_tick_is_told_of_with_all_that_ran_in_it(void **state) {
    (void)state;
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(take(), 0);
    assert_int_equal(count(MICA_TRACE_TICK, NULL), 1);
    assert_int_equal(count(MICA_TRACE_SYSTEM, NULL), 2);
    assert_int_equal(count(MICA_TRACE_SYSTEM, "move"), 1);
    assert_int_equal(count(MICA_TRACE_SYSTEM, "cool"), 1);
    assert_int_equal(count(MICA_TRACE_BARRIER, NULL), 1);
    assert_int_equal(count(MICA_TRACE_WAIT, "move"), 1); // of its loop
    assert_int_equal(count(MICA_TRACE_WAIT, NULL), 2);   // and of both systems
    assert_in_range(count(MICA_TRACE_LOOP, "move"), 1, THREADS);
    assert_int_equal(count(MICA_TRACE_LOOP, NULL), count(MICA_TRACE_LOOP, "move"));
    uint64_t entity_count = 0;
    for (int32_t i = 0; i < event_count; i++) {
        assert_in_range(events[i].thread, 0, THREADS - 1);
        assert_int_equal(events[i].tick, 1);
        entity_count += events[i].entity_count;
    }
    assert_int_equal(entity_count, ENTITIES);
}

static void events_of_a_tick_lie_within_it(void **state) {
    (void)state;
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(take(), 0);
    const mica_trace_event *tick = NULL;
    for (int32_t i = 0; i < event_count; i++) {
        tick = events[i].kind == MICA_TRACE_TICK ? &events[i] : tick;
    }
    assert_non_null(tick);
    assert_int_equal(tick->thread, 0);
    for (int32_t i = 0; i < event_count; i++) {
        if (events[i].thread == 0) { // counts of other cores may differ by a little; rounding, by one
            assert_true(events[i].begin_nanoseconds >= tick->begin_nanoseconds);
            assert_true(events[i].begin_nanoseconds + events[i].nanoseconds <=
                        tick->begin_nanoseconds + tick->nanoseconds + 1);
        }
    }
}

static void what_was_taken_is_forgotten_and_nothing_is_noted_without_a_trace(void **state) {
    (void)state;
    assert_int_equal(take(), 0);
    assert_int_equal(event_count, 0);
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(take(), 0);
    assert_int_equal(event_count, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(take(), 0);
    assert_true(event_count > 0);
    assert_int_equal(take(), 0);
    assert_int_equal(event_count, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_trace_end(world), MICA_OK);
    assert_int_equal(take(), 0);
    assert_int_equal(event_count, 0);
    assert_int_equal(mica_trace_end(world), MICA_OK);
}

static void what_has_no_room_is_counted(void **state) {
    (void)state;
    assert_int_equal(mica_trace_begin(world, 1), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    assert_true(take() >= 3); // at least the ticks: the first thread has noted something before each of them
    assert_in_range(event_count, 1, THREADS);
    assert_int_equal(take(), 0);
}

static void a_system_that_is_gone_has_no_name(void **state) {
    (void)state;
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_system_remove(world, mica_system_find(world, "cool")), MICA_OK);
    assert_int_equal(take(), 0);
    assert_int_equal(count(MICA_TRACE_SYSTEM, NULL), 2);
    assert_int_equal(count(MICA_TRACE_SYSTEM, "move"), 1);
    assert_int_equal(count(MICA_TRACE_SYSTEM, "cool"), 0);
}

static void runs_over_budget_spans_and_entities_are_counted(void **state) {
    (void)state;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, mica_system_find(world, "move"), &stats), MICA_OK);
    assert_int_equal(stats.over_budget_count, 2); // nothing takes a nanosecond
    assert_int_equal(stats.entity_count, 2 * ENTITIES);
    assert_in_range(stats.span_count, 2, 2 * ENTITIES);
    assert_true(stats.wait_seconds > 0);
    assert_int_equal(mica_system_statistics(world, mica_system_find(world, "cool"), &stats), MICA_OK);
    assert_int_equal(stats.over_budget_count, 0);
    assert_int_equal(stats.span_count, 0);
    assert_true(stats.wait_seconds == 0);
}

static void misuse_is_refused(void **state) {
    (void)state;
    assert_int_equal(mica_trace_begin(NULL, 0), MICA_INVALID);
    assert_int_equal(mica_trace_begin(world, -1), MICA_INVALID);
    assert_int_equal(mica_trace_take(world, NULL, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_trace_take(NULL, keep, NULL), -1);
    assert_int_equal(mica_trace_end(NULL), MICA_INVALID);
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Place)}, 1);
    mica_iter it = mica_query_begin(query);
    assert_true(mica_iter_next(&it));
    assert_int_equal(mica_trace_begin(world, 0), MICA_LOCKED);
    mica_iter_end(&it);
    mica_query_release(query);
    for (int32_t i = 0; i < 2; i++) {
        const mica_system_def def = {
            .name = "late", .run = cool, .query = {mica_write(Heat)}, .budget_seconds = i == 0 ? -1 : 1e300};
        assert_int_equal(mica_system_add(world, &def).id, 0);
        assert_int_equal(mica_last_result(), MICA_INVALID);
        assert_non_null(strstr(mica_last_error(), "the budget of system \"late\""));
    }
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_tick_is_told_of_with_all_that_ran_in_it),
        TEST(events_of_a_tick_lie_within_it),
        TEST(what_was_taken_is_forgotten_and_nothing_is_noted_without_a_trace),
        TEST(what_has_no_room_is_counted),
        TEST(a_system_that_is_gone_has_no_name),
        TEST(runs_over_budget_spans_and_entities_are_counted),
        TEST(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
