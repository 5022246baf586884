// Systems side by side and parallel loops: the same on any number of threads, whatever systems do.
#include <mica/checksum.h>
#include <mica/mica.h>

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/jobs.h"
#include "run/system.h"
#include "world/world.h"

#include "run/churn_world.h"
#include "support/test_flag.h"
#include "support/test_shared_allocator.h"

enum { TICKS = 40 };

static mica_world *begin(int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){.name = "test",
                                                            .allocator = test_allocator_hooks(&allocator),
                                                            .thread_count = thread_count,
                                                            .always_parallel = true});
    assert_non_null(world);
    return world;
}

static void end(mica_world *world) {
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
}

// The churning world

static mica_system add(mica_world *world, const mica_system_def *def) {
    const mica_system system = mica_system_add(world, def);
    assert_int_not_equal(system.id, 0);
    return system;
}

static mica_world *begin_churn(int32_t thread_count) {
    mica_world *world = begin(thread_count);
    churn_fill(world);
    return world;
}

static void churn(int32_t thread_count, uint64_t sums[TICKS]) {
    mica_world *world = begin_churn(thread_count);
    for (int32_t i = 0; i < TICKS; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_checksum(world, NULL, &sums[i]), MICA_OK);
    }
    assert_true(mica_resource(world, Score)->hits > 0);
    end(world);
}

static void a_world_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    static const int32_t thread_counts[] = {2, 3, 4, 8};
    uint64_t expected[TICKS];
    uint64_t sums[TICKS];
    churn(1, expected);
    for (size_t i = 0; i < sizeof(thread_counts) / sizeof(thread_counts[0]); i++) {
        churn(thread_counts[i], sums);
        assert_memory_equal(sums, expected, sizeof(sums));
    }
}

// Loops

MICA_STRUCT_WITH(Visit, (.storage = MICA_TABLE), {
    int32_t count;
    int32_t span;
});

static void visit_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    int64_t *visited = user;
    Visit *visit = mica_write_of(*span, Visit);
    for (int32_t i = 0; i < span->count; i++) {
        visit[i].count++;
    }
    __atomic_fetch_add(visited, span->count, __ATOMIC_RELAXED);
}

static void visit_all(mica_run *run) {
    int64_t visited = 0;
    must(run, mica_parallel_for(run, NULL, visit_span, &visited) == MICA_OK);
    if (visited != mica_query_count(mica_run_query(run, 0))) {
        mica_run_fail(run, MICA_FAILED, "spans were left out, or visited twice");
    }
}

static void a_loop_visits_every_span_once(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 20000; i++) { // many chunks in one table, and many tables of few rows
            const mica_entity entity = mica_spawn(world, mica_value_of(Visit, {0}));
            if (i % 100 == 0) {
                mica_set(world, entity, Group, {i});
            }
            if (i % 300 == 0) {
                mica_set(world, entity, Place, {0});
            }
            if (i % 500 == 0) {
                mica_set(world, entity, Life, {0});
            }
        }
        add(world, &(mica_system_def){.name = "visit",
                                      .run = visit_all,
                                      .query = {mica_write(Visit)},
                                      .query_count = 1,
                                      .queries = {{.terms = {mica_with(Visit)}}}});
        enum { RUNS = 5 };
        for (int32_t i = 0; i < RUNS; i++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Visit)}, 1);
        int32_t rows = 0;
        mica_each (query, it) {
            const Visit *visit = mica_read_of(it, Visit);
            for (int32_t i = 0; i < it.count; i++, rows++) {
                assert_int_equal(visit[i].count, RUNS);
            }
        }
        assert_int_equal(rows, 20000);
        mica_query_release(query);
        end(world);
    }
}

static void nest_span(mica_run *run, mica_iter *span, void *user) {
    int64_t *visited = user;
    *visited += span->count;
    (void)run;
}

static void outer_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    int64_t visited = 0;
    must(run, mica_parallel_for(run, mica_run_query(run, 0), nest_span, &visited) == MICA_OK);
    Visit *visit = mica_write_of(*span, Visit);
    for (int32_t i = 0; i < span->count; i++) {
        visit[i].count = (int32_t)visited;
    }
}

static void nest(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, outer_span, NULL) == MICA_OK);
}

static void loops_within_spans_run_where_they_are(void **state) {
    (void)state;
    mica_world *world = begin(4);
    mica_entity first = MICA_NULL;
    for (int32_t i = 0; i < 5000; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Visit, {0}));
        first = i == 0 ? entity : first;
        mica_spawn(world, mica_value_of(Place, {0}));
    }
    add(world, &(mica_system_def){.name = "nest",
                                  .run = nest,
                                  .query = {mica_write(Visit)},
                                  .query_count = 1,
                                  .queries = {{.terms = {mica_read(Place)}}}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_get(world, first, Visit)->count, 5000);
    end(world);
}

static void spawn_in_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    // Structure is locked within the loop, in an exclusive system as well.
    must(run, mica_entity_is_null(mica_create(mica_run_world(run))));
    for (int32_t i = 0; i < span->count; i++) {
        must(run, !mica_entity_is_null(mica_spawn(mica_iter_commands(*span), mica_value_of(Group, {i}))));
    }
}

static void loop_exclusively(mica_run *run) {
    mica_world *world = mica_run_world(run);
    must(run, mica_parallel_for(run, mica_run_query(run, 0), spawn_in_span, NULL) == MICA_OK);
    must(run, !mica_entity_is_null(mica_create(world))); // and unlocked again behind it
}

static void count_loop_part(const mica_trace_event *event, void *user) {
    *(int32_t *)user += event->kind == MICA_TRACE_LOOP;
}

static void visit_undeclared(mica_run *run) {
    mica_query *query = mica_run_user(run);
    int64_t visited = 0;
    must(run, mica_parallel_for(run, query, visit_span, &visited) == MICA_OK);
    must(run, visited == mica_query_count(query));
}

static void systems_that_declare_nothing_share_loops_out(void **state) {
    (void)state;
    mica_world *world = begin(4);
    mica_entity last = MICA_NULL;
    for (int32_t i = 0; i < 5000; i++) {
        last = mica_spawn(world, mica_value_of(Visit, {0}));
    }
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_write(Visit)}, 1);
    add(world, &(mica_system_def){.name = "visit", .run = visit_undeclared, .user = query});
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    int32_t part_count = 0;
    assert_int_equal(mica_trace_take(world, count_loop_part, &part_count), 0);
    assert_true(part_count > 0);
    assert_int_equal(mica_get(world, last, Visit)->count, 1);
    mica_query_release(query);
    end(world);
}

static void exclusive_systems_share_loops_out(void **state) {
    (void)state;
    mica_world *world = begin(4);
    for (int32_t i = 0; i < 3000; i++) {
        mica_spawn(world, mica_value_of(Place, {0}));
    }
    add(world, &(mica_system_def){.name = "alone",
                                  .run = loop_exclusively,
                                  .exclusive = true,
                                  .query_count = 1,
                                  .queries = {{.terms = {mica_write(Place)}}}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 3000 + 3000 + 1);
    end(world);
}

static mica_entity leaked; // a placeholder of another span

static void leak_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    (void)span;
    if (mica_entity_is_null(leaked)) {
        leaked = mica_spawn(mica_run_commands(run), mica_value_of(Group, {1}));
    }
}

static void leak(mica_run *run) {
    leaked = MICA_NULL;
    must(run, mica_parallel_for(run, NULL, leak_span, NULL) == MICA_OK && !mica_alive(mica_run_world(run), leaked));
}

static void what_spans_spawn_is_there_after_the_barrier(void **state) {
    (void)state;
    mica_world *world = begin(1);
    mica_spawn(world, mica_value_of(Visit, {0}));
    add(world, &(mica_system_def){.name = "leak", .run = leak, .query = {mica_read(Visit)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 2);
    end(world);
}

static bool is_refused(mica_result result, mica_result expected, const char *text) {
    return result == expected && mica_last_result() == expected && strstr(mica_last_error(), text) != NULL;
}

static void loop_wrongly(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_query *foreign = mica_run_user(run);
    bool holds =
        is_refused(mica_parallel_for(NULL, NULL, visit_span, NULL), MICA_INVALID, "needs the run") &&
        is_refused(mica_parallel_for(run, NULL, NULL, NULL), MICA_INVALID, "system \"wrong\" needs a function") &&
        is_refused(mica_parallel_for(run, foreign, visit_span, NULL), MICA_INVALID, "of its own world");
    // What all systems would see belongs to exclusive ones, on any number of threads.
    const char *beside = "system \"wrong\" runs, maybe beside others";
    holds = holds && mica_query_create(world, (const mica_term[]){mica_read(Heat), mica_read(Shot)}, 2) == NULL &&
            is_refused(mica_last_result(), MICA_LOCKED, beside) && mica_stage_add_after(world, "x", MICA_LAST) == -1 &&
            is_refused(mica_last_result(), MICA_LOCKED, beside) &&
            is_refused(mica_world_pause(world, true), MICA_LOCKED, beside) && mica_entity_is_null(mica_create(world)) &&
            is_refused(mica_last_result(), MICA_LOCKED, "while system \"wrong\" runs");
    if (!holds) {
        mica_run_fail(run, MICA_FAILED, mica_last_error());
    }
}

MICA_STRUCT(Made, { int64_t number; });

static void make_resource(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const mica_component made = mica_register(world, Made);
    const uint64_t tick = mica_run_tick(run);
    if (tick > 0) {
        must(run, mica_set_resource(world, Made, {7}) == MICA_OK && mica_resource(world, Made)->number == 7 &&
                      mica_resource_remove(world, made) == MICA_OK && mica_resource(world, Made) == NULL &&
                      mica_resource_ensure(world, made) != NULL && mica_resource(world, Made)->number == 0 &&
                      mica_set_resource(world, Made, {(int64_t)tick}) == MICA_OK);
    }
}

// Made is the component that is registered last.
static void resources_come_and_go_on_any_number_of_threads(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        mica_world *world = begin(threads);
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        add(world, &(mica_system_def){.name = "make", .run = make_resource, .access = {mica_writes(Made)}});
        for (int32_t i = 0; i < 3; i++) {
            assert_string_equal(mica_world_step(world, 1) == MICA_OK ? "" : mica_last_error(), "");
        }
        assert_int_equal(mica_resource(world, Made)->number, 2);
        end(world);
    }
}

// Made outside, for a system that is to leave them alone.
static struct {
    mica_observer observer;
    mica_event_handler handler;
    mica_event_reader *reader;
    mica_order *order;
    mica_subscription *subscription;
} outside;

static void ignore_signal(const mica_signal *signal) {
    (void)signal;
}

static void ignore_event(const mica_event *event) {
    (void)event;
}

static int compare_nothing(const mica_element *a, const mica_element *b, void *user) {
    (void)a;
    (void)b;
    (void)user;
    return 0;
}

static void watch_nothing(mica_world *world, const mica_plan_step *step, void *user) {
    (void)world;
    (void)step;
    (void)user;
}

static void must_be_left(mica_run *run, bool was_refused) {
    must(run, was_refused && mica_last_result() == MICA_LOCKED &&
                  strstr(mica_last_error(), "system \"concern\" runs, maybe beside others") != NULL);
    mica_error_clear();
}

static void concern_all(mica_run *run) {
    mica_world *world = mica_run_world(run);
    if (mica_run_tick(run) == 0) {
        return;
    }
    mica_error_clear();
    must_be_left(run, mica_on_set(world, Speed, ignore_signal, NULL).id == 0);
    must_be_left(run, mica_observer_disconnect(world, outside.observer) == MICA_LOCKED);
    must_be_left(run, mica_event_bind(world, mica_register(world, Hit), ignore_event, NULL).id == 0);
    must_be_left(run, mica_event_unbind(world, outside.handler) == MICA_LOCKED);
    must_be_left(run, mica_reader_of(world, Hit, "late") == NULL);
    must_be_left(run, mica_event_set_limits(world, mica_register(world, Hit), 2, 9) == MICA_LOCKED);
    must_be_left(run,
                 mica_order_create(mica_run_query(run, 0), mica_register(world, Place), compare_nothing, NULL) == NULL);
    must_be_left(run, mica_subscribe(world, NULL) == NULL);
    must_be_left(run, mica_world_reserve(world, 100000) == MICA_LOCKED);
    must_be_left(run, mica_world_watch_steps(world, watch_nothing, NULL) == MICA_LOCKED);
    uint64_t checksum = 0;
    mica_difference difference;
    must_be_left(run, mica_world_checksum(world, NULL, &checksum) == MICA_LOCKED);
    must_be_left(run, mica_world_compare(world, world, NULL, &difference) == MICA_LOCKED);
    must_be_left(run, mica_world_validate(world) == MICA_LOCKED);
    mica_event_reader_destroy(outside.reader);
    must_be_left(run, true);
    mica_order_destroy(outside.order);
    must_be_left(run, true);
    mica_subscription_destroy(outside.subscription);
    must_be_left(run, true);
}

static void what_concerns_all_is_left_to_exclusive_systems(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        mica_world *world = begin(threads);
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Speed, {0}));
        mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Life)}, 1);
        outside.observer = mica_on_set(world, Life, ignore_signal, NULL);
        outside.handler = mica_event_bind(world, mica_register(world, Hit), ignore_event, NULL);
        outside.reader = mica_reader_of(world, Hit, "outside");
        outside.order = mica_order_create(query, mica_register(world, Life), compare_nothing, NULL);
        outside.subscription = mica_subscribe(world, &(mica_subscription_def){.components = {mica_type_of(Life)}});
        add(world, &(mica_system_def){.name = "concern",
                                      .run = concern_all,
                                      .query_count = 1,
                                      .queries = {{{mica_write(Place)}}},
                                      .access = {mica_writes(Hit)}});
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        for (int32_t i = 0; i < 3; i++) {
            assert_string_equal(mica_world_step(world, 1) == MICA_OK ? "" : mica_last_error(), "");
        }
        mica_subscription_destroy(outside.subscription);
        mica_order_destroy(outside.order);
        mica_event_reader_destroy(outside.reader);
        assert_int_equal(mica_event_unbind(world, outside.handler), MICA_OK);
        assert_int_equal(mica_observer_disconnect(world, outside.observer), MICA_OK);
        mica_query_release(query);
        end(world);
    }
}

static void misuse_is_refused_on_any_number_of_threads(void **state) {
    (void)state;
    mica_world *other = begin(1);
    mica_query *foreign = mica_query_create(other, (const mica_term[]){mica_read(Visit)}, 1);
    for (int32_t threads = 1; threads <= 3; threads++) {
        mica_world *world = begin(threads);
        mica_spawn(world, mica_value_of(Visit, {0}));
        add(world,
            &(mica_system_def){.name = "wrong", .run = loop_wrongly, .query = {mica_read(Visit)}, .user = foreign});
        add(world, &(mica_system_def){
                       .name = "beside", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        for (int32_t i = 0; i < 3; i++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        end(world);
    }
    mica_query_release(foreign);
    end(other);
}

// Failures

static int64_t runs[8]; // by the system's number

static void count_run(mica_run *run) {
    const int64_t number = *(const int64_t *)mica_run_user(run);
    __atomic_fetch_add(&runs[number], 1, __ATOMIC_RELAXED);
    if (number >= 3 && mica_run_tick(run) == 2) {
        mica_run_fail(run, MICA_IO, number == 3 ? "the third" : "a later one");
    }
}

static void the_first_failure_in_the_plan_counts(void **state) {
    (void)state;
    static const int64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int32_t threads = 1; threads <= 8; threads += 3) {
        memset(runs, 0, sizeof(runs));
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 8; i++) {
            char name[32];
            snprintf(name, sizeof(name), "system %d", i);
            add(world, &(mica_system_def){.name = name,
                                          .run = count_run,
                                          .query = {mica_read(Place)},
                                          .main_thread = i % 3 == 0,
                                          .user = (void *)(uintptr_t)&numbers[i]});
        }
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_IO);
        assert_non_null(
            strstr(mica_last_error(), "system \"system 3\" failed in stage \"update\" of tick 2: the third"));
        for (int32_t i = 0; i < 4; i++) { // those before it have run all the same
            assert_int_equal(runs[i], 3);
        }
        assert_int_equal(mica_world_tick(world), 2);
        end(world);
    }
}

// Of what systems leave open from tick 1 on.
static mica_iter left_walk;

static void leave_walk(mica_run *run) {
    if (mica_run_tick(run) > 0) {
        left_walk = mica_run_begin(run);
        must(run, mica_iter_next(&left_walk));
    }
}

static void end_walk_of_before(mica_run *run) {
    if (mica_run_tick(run) > 0) {
        mica_iter_end(&left_walk); // nobody's any more
        must(run, !mica_iter_next(&left_walk));
    }
}

static void a_walk_that_is_left_open_fails_the_tick_and_locks_nothing(void **state) {
    (void)state;
    const mica_term terms[] = {mica_write(Place), mica_write(Shot)}; // of a table, and of a pool
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        mica_world *world = begin(3);
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Life, {1}), mica_value_of(Shot, {1}));
        const mica_system leaves =
            add(world, &(mica_system_def){.name = "leaves", .run = leave_walk, .query = {terms[i]}});
        const mica_system ends =
            add(world, &(mica_system_def){.name = "ends", .run = end_walk_of_before, .query = {terms[i]}});
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        assert_int_equal(mica_world_step(world, 1), MICA_OK); // all have started, and run side by side
        for (int32_t k = 0; k < 3; k++) {
            assert_int_equal(mica_world_step(world, 1), MICA_LOCKED);
            assert_non_null(strstr(mica_last_error(), "system \"leaves\" failed"));
            assert_non_null(strstr(mica_last_error(), "left a walk open"));
            assert_true(mica_alive(world, mica_create(world)));
        }
        assert_int_equal(mica_system_enable(world, leaves, false), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_system_enable(world, ends, false), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        end(world);
    }
}

static void leave_walk_in_span(mica_run *run, mica_iter *span, void *user) {
    (void)span;
    (void)user;
    mica_iter it = mica_query_begin(mica_run_query(run, 0));
    must(run, mica_iter_next(&it));
}

static void loop_over_walks(mica_run *run) {
    if (mica_run_tick(run) > 0) {
        mica_parallel_for(run, NULL, leave_walk_in_span, NULL);
    }
}

static void a_walk_that_a_span_leaves_open_fails_the_tick_and_locks_nothing(void **state) {
    (void)state;
    mica_world *world = begin(3);
    for (int32_t i = 0; i < 3000; i++) {
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Life, {1}));
    }
    add(world, &(mica_system_def){.name = "loops",
                                  .run = loop_over_walks,
                                  .query = {mica_write(Place)},
                                  .queries = {{{mica_read(Life)}}},
                                  .query_count = 1});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_LOCKED);
        assert_non_null(strstr(mica_last_error(), "left a walk open"));
        assert_true(mica_alive(world, mica_create(world)));
    }
    end(world);
}

static void destroy_first(mica_run *run) {
    must(run, mica_destroy(mica_run_commands(run), mica_query_first(mica_run_query(run, 0))) == MICA_OK);
}

static void the_second_in_the_plan_to_destroy_is_skipped(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 10; i++) {
            mica_spawn(world, mica_value_of(Place, {0}));
        }
        static const char *const names[] = {"first", "second", "third"};
        for (int32_t i = 0; i < 3; i++) {
            add(world,
                &(mica_system_def){
                    .name = names[i], .run = destroy_first, .query_count = 1, .queries = {{{mica_read(Place)}}}});
        }
        for (int32_t i = 0; i < 4; i++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        assert_int_equal(mica_world_entity_count(world), 6);
        for (int32_t i = 0; i < 3; i++) {
            mica_system_stats stats;
            assert_int_equal(mica_system_statistics(world, mica_system_find(world, names[i]), &stats), MICA_OK);
            assert_int_equal(stats.command_count, i == 0 ? 4 : 0);
            assert_int_equal(stats.command_skipped_count, i == 0 ? 0 : 4);
        }
        end(world);
    }
}

static void a_disabled_system_holds_nobody_up(void **state) {
    (void)state;
    static const int64_t numbers[3] = {0, 1, 2}; // below those that fail
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        memset(runs, 0, sizeof(runs));
        mica_world *world = begin(threads);
        mica_spawn(world, mica_value_of(Place, {0}));
        static const char *const names[] = {"before", "disabled", "behind"};
        for (int32_t i = 0; i < 3; i++) { // each waits for the one before it
            add(world, &(mica_system_def){.name = names[i],
                                          .run = count_run,
                                          .query = {mica_write(Place)},
                                          .user = (void *)(uintptr_t)&numbers[i]});
        }
        for (int32_t i = 0; i < 4; i++) {
            if (i == 1 || i == 3) {
                assert_int_equal(mica_system_enable(world, mica_system_find(world, "disabled"), i == 3), MICA_OK);
            }
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        assert_int_equal(runs[0], 4);
        assert_int_equal(runs[1], 2);
        assert_int_equal(runs[2], 4);
        end(world);
    }
}

static void fail_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    mica_spawn(mica_iter_commands(*span), mica_value_of(Place, {0}));
    mica_run_fail(run, MICA_IO, "a span fails");
}

static void fail_in_loop(mica_run *run) {
    mica_parallel_for(run, NULL, fail_span, NULL);
}

static void a_span_that_fails_fails_the_tick(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 5000; i++) {
            mica_spawn(world, mica_value_of(Visit, {0}));
        }
        add(world, &(mica_system_def){.name = "fails", .run = fail_in_loop, .query = {mica_write(Visit)}});
        for (int32_t i = 0; i < 3; i++) {
            assert_int_equal(mica_world_step(world, 1), MICA_IO);
            assert_non_null(strstr(mica_last_error(), "a span fails"));
            assert_int_equal(mica_world_entity_count(world), 5000);
        }
        end(world);
    }
}

static bool is_asked(const mica_run *run) {
    return *(const bool *)mica_run_user(run);
}

static void fail_span_if_asked(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    Place *place = mica_write_of(*span, Place);
    place[0].x += 1;
    mica_spawn(mica_iter_commands(*span), mica_value_of(Place, {0}));
    if (is_asked(run)) {
        mica_run_fail(run, MICA_IO, "as asked");
    }
}

static void fail_if_asked(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, fail_span_if_asked, NULL) == MICA_OK);
}

static uint64_t exact_checksum(mica_world *world) {
    uint64_t sum = 0;
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.exact = true}, &sum), MICA_OK);
    return sum;
}

// Beside others, and when barriers have applied what they have recorded.
static void a_tick_that_fails_is_taken_back_on_several_threads(void **state) {
    (void)state;
    static const mica_stage stages[] = {MICA_UPDATE, MICA_LAST};
    for (int32_t i = 0; i < 2; i++) {
        bool asks[2] = {false, false};
        mica_world *worlds[2];
        for (int32_t k = 0; k < 2; k++) {
            worlds[k] = begin_churn(4);
            const mica_system_def fails = {.name = "fails",
                                           .run = fail_if_asked,
                                           .stage = stages[i],
                                           .query = {mica_write(Place), mica_with(Speed)},
                                           .user = &asks[k]};
            add(worlds[k], &fails);
        }
        assert_int_equal(mica_world_restore_failed_ticks(worlds[0], true, NULL), MICA_OK);
        for (int32_t tick = 0; tick < 6; tick++) {
            asks[0] = true;
            assert_int_equal(mica_world_step(worlds[0], 1), MICA_IO);
            asks[0] = false;
            assert_int_equal(exact_checksum(worlds[0]), exact_checksum(worlds[1]));
            assert_int_equal(mica_world_step(worlds[0], 1), MICA_OK);
            assert_int_equal(mica_world_step(worlds[1], 1), MICA_OK);
        }
        assert_int_equal(exact_checksum(worlds[0]), exact_checksum(worlds[1]));
        end(worlds[0]);
        end(worlds[1]);
    }
}

// Observers, and systems that change systems

static char heard[64];

static void hear(const mica_signal *signal) {
    (void)signal;
    const size_t length = strlen(heard);
    snprintf(heard + length, sizeof(heard) - length, "%d", mica_get(signal->world, signal->entity, Group)->number);
}

static void set_group(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            mica_set(world, it.entities[i], Group, {mica_get(world, it.entities[i], Group)->number + 1});
        }
    }
}

static void who_writes_what_is_observed_runs_alone(void **state) {
    (void)state;
    heard[0] = 0;
    mica_world *world = begin(4);
    for (int32_t i = 0; i < 3; i++) {
        mica_spawn(world, mica_value_of(Group, {i}), mica_value_of(Heat, {1}), mica_value_of(Visit, {0}));
    }
    assert_int_not_equal(mica_on_set(world, Group, hear, NULL).id, 0);
    add(world, &(mica_system_def){
                   .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
    add(world, &(mica_system_def){.name = "group", .run = set_group, .query = {mica_write(Group)}});
    add(world, &(mica_system_def){.name = "visit",
                                  .run = visit_all,
                                  .query = {mica_write(Visit)},
                                  .query_count = 1,
                                  .queries = {{.terms = {mica_with(Visit)}}}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_string_equal(heard, "123234");
    end(world);
}

static void send_in_span(mica_run *run, mica_iter *span, void *user) {
    (void)span;
    mica_world *world = mica_run_world(run);
    const bool is_nested = user != NULL;
    int32_t inner = 1;
    must(run, mica_send(world, Hit, {1}) == MICA_LOCKED && strstr(mica_last_error(), "\"send\"") != NULL);
    must(run, mica_system_enable(world, mica_run_system(run), false) == MICA_LOCKED);
    must(run, mica_run_events(run, Hit) == NULL && mica_last_result() == MICA_LOCKED);
    must(run, is_nested || mica_parallel_for(run, NULL, send_in_span, &inner) == MICA_OK);
    must(run, mica_send(world, Hit, {1}) == MICA_LOCKED);
}

static void send_around(mica_run *run) {
    mica_world *world = mica_run_world(run);
    must(run, mica_send(world, Hit, {1}) == MICA_OK);
    must(run, mica_parallel_for(run, NULL, send_in_span, NULL) == MICA_OK);
    must(run, mica_send(world, Hit, {1}) == MICA_OK);
}

static void spans_do_nothing_that_would_tell_of_their_order(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 3000; i++) {
            mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Heat, {1}));
        }
        add(world, &(mica_system_def){
                       .name = "send", .run = send_around, .query = {mica_read(Place)}, .access = {mica_writes(Hit)}});
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        for (int32_t i = 0; i < 3; i++) { // the first time alone, then beside the other one
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        mica_event_stats stats;
        assert_int_equal(mica_event_statistics(world, mica_world_component(world, mica_type_of(Hit)), &stats), MICA_OK);
        assert_int_equal(stats.sent_count, 6);
        end(world);
    }
}

MICA_STRUCT_WITH(Kept, (.storage = MICA_POOL, .track_rows = true), { int32_t number; });

// By handle, of components that the loop's query does not name.
static void write_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    mica_world *world = mica_run_world(run);
    for (int32_t i = 0; i < span->count; i += 2) {
        Kept *kept = mica_get_write(world, span->entities[i], Kept);
        must(run, kept != NULL && mica_set(world, span->entities[i], Shot, {++kept->number}) == MICA_OK);
    }
}

static void write_by_handle(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, write_span, NULL) == MICA_OK);
}

static void count_signal(const mica_signal *signal) {
    ++*(int64_t *)signal->user;
}

// What is observed or tracked goes by one thread, with nobody beside.
static void what_spans_write_by_handle_is_told_of(void **state) {
    (void)state;
    enum { ENTITIES = 2000 };
    for (int32_t is_observed = 0; is_observed < 2; is_observed++) {
        mica_world *world = begin(4);
        int64_t told_count = 0;
        if (is_observed) {
            assert_int_not_equal(mica_on_set(world, Shot, count_signal, &told_count).id, 0);
            add(world, &(mica_system_def){.name = "note",
                                          .run = churn_note_changes,
                                          .stage = MICA_LAST,
                                          .query = {mica_changed(Kept)},
                                          .state = mica_type_of(Count)});
        }
        for (int32_t i = 0; i < ENTITIES; i++) {
            mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Kept, {0}), mica_value_of(Shot, {0}));
        }
        add(world, &(mica_system_def){.name = "write",
                                      .run = write_by_handle,
                                      .query = {mica_read(Place)},
                                      .access = {mica_writes(Kept), mica_writes(Shot)}});
        assert_int_equal(mica_world_step(world, 1), MICA_OK); // in which all that was made counts as changed
        const Count *noted = mica_system_state(world, mica_system_find(world, "note"));
        const int64_t noted_before = noted == NULL ? 0 : noted->runs;
        told_count = 0;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        if (is_observed) {
            assert_int_equal(told_count, ENTITIES / 2);
            assert_int_equal(noted->runs - noted_before, ENTITIES / 2);
        }
        end(world);
    }
}

static void enable_other(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const int64_t number = *(const int64_t *)mica_run_user(run);
    must(run, mica_system_enable(world, mica_system_find(world, "other"), number % 2 == 1) == MICA_OK);
}

static void the_last_word_in_the_plan_enables(void **state) {
    (void)state;
    static const int64_t numbers[4] = {1, 0, 1, 0};
    mica_world *world = begin(4);
    for (int32_t i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "system %d", i);
        add(world, &(mica_system_def){.name = name,
                                      .run = enable_other,
                                      .query = {mica_read(Place)},
                                      .user = (void *)(uintptr_t)&numbers[i]});
    }
    add(world, &(mica_system_def){
                   .name = "other", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
    for (int32_t i = 0; i < 200; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        mica_system_stats stats;
        assert_int_equal(mica_system_statistics(world, mica_system_find(world, "other"), &stats), MICA_OK);
        assert_false(stats.enabled);
    }
    end(world);
}

// Arithmetic

MICA_STRUCT_WITH(Third, (.storage = MICA_TABLE), { float value; });

static float sum_of_parts(const volatile float *divisor) {
    float sum = 0;
    for (int32_t i = 0; i < 100; i++) {
        sum += 1.0f / (*divisor + (float)i);
    }
    return sum;
}

static void third_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    Third *third = mica_write_of(*span, Third);
    for (int32_t i = 0; i < span->count; i++) {
        third[i].value = sum_of_parts(user);
    }
}

static void divide(mica_run *run) {
    float three = 3;
    must(run, mica_parallel_for(run, NULL, third_span, &three) == MICA_OK);
}

static void every_thread_rounds_as_the_one_that_steps(void **state) {
    (void)state;
    mica_world *world = begin(4);
    for (int32_t i = 0; i < 50000; i++) {
        mica_spawn(world, mica_value_of(Third, {0}));
    }
    add(world, &(mica_system_def){.name = "divide", .run = divide, .query = {mica_write(Third)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const int before = fegetround();
    assert_int_equal(fesetround(FE_DOWNWARD), 0); // after the threads were made
    const float three = 3;
    const float expected = sum_of_parts(&three);
    const mica_result result = mica_world_step(world, 1);
    fesetround(before);
    assert_int_equal(result, MICA_OK);
    assert_true(expected != sum_of_parts(&three));
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Third)}, 1);
    mica_each (query, it) {
        const Third *third = mica_read_of(it, Third);
        for (int32_t i = 0; i < it.count; i++) {
            assert_true(third[i].value == expected);
        }
    }
    mica_query_release(query);
    end(world);
}

// Memory that fails

static void a_tick_without_memory_does_all_or_says_so(void **state) {
    (void)state;
    uint64_t expected = 0;
    mica_world *world = begin_churn(3);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    assert_int_equal(mica_world_checksum(world, NULL, &expected), MICA_OK);
    end(world);
    for (uint64_t n = 1;; n += 1 + n / 8) {
        uint64_t sum = 0;
        world = begin_churn(3);
        for (int32_t i = 0; i < 5; i++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_world_step(world, 1);
        const bool failed = test_allocator_fail_stop(&allocator);
        assert_int_equal(mica_world_validate(world), MICA_OK);
        if (result == MICA_OK) { // what was not there could be done without
            assert_int_equal(mica_world_checksum(world, NULL, &sum), MICA_OK);
            assert_int_equal(sum, expected);
        } else {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        end(world);
        if (!failed) {
            break;
        }
    }
}

// The main thread

static pthread_t main_thread;
static uint32_t has_begun, done_count; // atomic: whether a system of another thread has, and how often
static char order[64];                 // of the main thread's systems, which have it to themselves

static void note_order(mica_run *run) {
    must(run, pthread_equal(pthread_self(), main_thread) != 0);
    const size_t length = strlen(order);
    snprintf(order + length, sizeof(order) - length, "%s", (const char *)mica_run_user(run));
}

// Goes on until a system has begun that only another thread can begin.
static void meet_other(mica_run *run) {
    note_order(run);
    if (mica_run_tick(run) > 0) {
        test_flag_wait(&has_begun);
    }
}

// Goes on until the main thread has nothing to do, or nearly.
static void work_elsewhere(mica_run *run) {
    must(run, mica_run_tick(run) == 0 || pthread_equal(pthread_self(), main_thread) == 0);
    test_flag_raise(&has_begun);
    for (int i = 0; i < 3; i++) {
        sched_yield();
    }
    __atomic_fetch_add(&done_count, 1, __ATOMIC_RELAXED);
}

// "work" begins beside "meet", on another thread; that one ends it, and then it is "show" for which the main thread
// waits.
static void the_main_thread_runs_its_systems_and_is_woken_for_them(void **state) {
    (void)state;
    main_thread = pthread_self();
    for (int32_t threads = 2; threads <= 4; threads += 2) {
        mica_world *world = begin(threads);
        done_count = 0;
        add(world, &(mica_system_def){.name = "work", .run = work_elsewhere, .query = {mica_write(Place)}});
        add(world,
            &(mica_system_def){
                .name = "meet", .run = meet_other, .query = {mica_read(Heat)}, .main_thread = true, .user = "m"});
        add(world,
            &(mica_system_def){
                .name = "show", .run = note_order, .query = {mica_read(Place)}, .main_thread = true, .user = "s"});
        add(world, &(mica_system_def){.name = "off",
                                      .run = note_order,
                                      .query = {mica_read(Place)},
                                      .main_thread = true,
                                      .user = "-",
                                      .disabled = true});
        for (uint32_t i = 0; i < 20; i++) {
            has_begun = 0;
            order[0] = 0;
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_string_equal(order, "ms");
            assert_int_equal(done_count, i + 1);
        }
        end(world);
    }
}

// Whoever is ready first: "second" and "third" wait for nobody but those before them on their thread.
static void systems_of_the_main_thread_keep_the_order_of_the_plan(void **state) {
    (void)state;
    main_thread = pthread_self();
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        mica_world *world = begin(threads);
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        add(world,
            &(mica_system_def){
                .name = "first", .run = note_order, .query = {mica_read(Heat)}, .main_thread = true, .user = "1"});
        add(world,
            &(mica_system_def){
                .name = "second", .run = note_order, .query = {mica_read(Life)}, .main_thread = true, .user = "2"});
        add(world, &(mica_system_def){.name = "age", .run = churn_age, .query = {mica_write(Life)}});
        add(world,
            &(mica_system_def){
                .name = "third", .run = note_order, .query = {mica_read(Speed)}, .main_thread = true, .user = "3"});
        for (int32_t i = 0; i < 200; i++) {
            order[0] = 0;
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_string_equal(order, "123");
        }
        end(world);
    }
}

// The main thread helps in a loop of another thread when "show" becomes ready, and leaves it for that although all
// others wait for "show" in their spans.
static struct {
    uint32_t has_begun, other_has_begun, helps, shown; // atomic
    uint32_t helped_count;                             // spans that the main thread has visited before
    bool is_void;                                      // the main thread has taken the loop itself
} helped;

static void help_span(mica_run *run, mica_iter *span, void *user) {
    (void)span;
    (void)user;
    if (pthread_equal(pthread_self(), main_thread) == 0) {
        test_flag_wait(&helped.shown);
        return;
    }
    helped.helped_count += !test_flag_is_raised(&helped.shown);
    test_flag_raise(&helped.helps);
    while (!test_flag_is_raised(&helped.shown) && !mi_jobs_is_wanted(mica_run_world(run)->jobs)) {
        sched_yield();
    }
}

static void loop_elsewhere(mica_run *run) {
    test_flag_raise(&helped.has_begun);
    if (pthread_equal(pthread_self(), main_thread) != 0) {
        helped.is_void = true;
        test_flag_raise(&helped.helps);
    } else if (mica_run_tick(run) > 0) {
        test_flag_wait(&helped.other_has_begun); // its thread would otherwise help here
        must(run, mica_parallel_for(run, NULL, help_span, NULL) == MICA_OK);
    }
}

// There are two of it. The one that the main thread runs waits until it could only help; the other one, for that.
static void lead(mica_run *run) {
    if (mica_run_tick(run) == 0) {
        return;
    }
    if (pthread_equal(pthread_self(), main_thread) != 0) {
        test_flag_wait(&helped.has_begun);
        test_flag_wait(&helped.other_has_begun);
    } else {
        test_flag_raise(&helped.other_has_begun);
        test_flag_wait(&helped.helps);
    }
}

static void show_at_last(mica_run *run) {
    must(run, pthread_equal(pthread_self(), main_thread) != 0);
    test_flag_raise(&helped.shown);
}

static void the_main_thread_leaves_a_loop_in_which_it_helps(void **state) {
    (void)state;
    main_thread = pthread_self();
    mica_world *world = begin(3);
    add(world, &(mica_system_def){.name = "loop", .run = loop_elsewhere, .query = {mica_write(Visit)}});
    add(world, &(mica_system_def){.name = "lead", .run = lead, .query = {mica_write(Life)}});
    add(world, &(mica_system_def){.name = "lead too", .run = lead, .query = {mica_write(Heat)}});
    add(world,
        &(mica_system_def){
            .name = "show", .run = show_at_last, .query = {mica_read(Life), mica_read(Heat)}, .main_thread = true});
    for (int32_t i = 0; i < 100000; i++) {
        mica_spawn(world, mica_value_of(Visit, {0}));
    }
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Visit)}, 1);
    uint32_t span_count = 0;
    mica_each (query, it) {
        span_count++;
    }
    assert_true(span_count > 10);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    for (int32_t seen = 0; seen < 3; seen += !helped.is_void) {
        memset(&helped, 0, sizeof(helped));
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(helped.helped_count, helped.is_void ? 0 : 1);
    }
    mica_query_release(query);
    end(world);
}

// "show" becomes ready while the main thread is in a step that another one waits for: that one comes after "show"
// there.
static bool has_lead_ended(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    uint32_t step = 0;
    while (strcmp(systems->plan.steps.data[step].system->name, "lead too") != 0) {
        step++;
    }
    const mi_batch *batch = &systems->batching.batch;
    return mi_step_mark(&batch->steps.data[step].mark) > batch->round;
}

static void lead_beside_other(mica_run *run) {
    if (mica_run_tick(run) > 0) {
        test_flag_wait(&helped.other_has_begun);
    }
}

static void lead_until_next_has_begun(mica_run *run) {
    test_flag_raise(&helped.other_has_begun);
    if (mica_run_tick(run) > 0) {
        test_flag_wait(&helped.has_begun);
    }
}

static void go_on_until_show_is_ready(mica_run *run) {
    test_flag_raise(&helped.has_begun);
    if (mica_run_tick(run) > 0 && pthread_equal(pthread_self(), main_thread) != 0) {
        helped.helped_count++;
        while (!has_lead_ended(mica_run_world(run))) {
            sched_yield();
        }
    }
}

static void come_after_show(mica_run *run) {
    // If it has not run "next", "show" may not have been ready.
    must(run, mica_run_tick(run) == 0 || pthread_equal(pthread_self(), main_thread) == 0 || helped.helped_count == 0 ||
                  test_flag_is_raised(&helped.shown));
}

static void the_main_thread_runs_its_own_steps_before_what_follows(void **state) {
    (void)state;
    main_thread = pthread_self();
    mica_world *world = begin(3);
    add(world, &(mica_system_def){.name = "lead", .run = lead_beside_other, .query = {mica_write(Life)}});
    add(world, &(mica_system_def){.name = "lead too", .run = lead_until_next_has_begun, .query = {mica_write(Heat)}});
    add(world, &(mica_system_def){
                   .name = "next", .run = go_on_until_show_is_ready, .query = {mica_read(Life), mica_write(Place)}});
    add(world,
        &(mica_system_def){
            .name = "show", .run = show_at_last, .query = {mica_read(Life), mica_read(Heat)}, .main_thread = true});
    add(world, &(mica_system_def){.name = "last", .run = come_after_show, .query = {mica_read(Place)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    for (uint32_t seen = 0; seen < 3; seen += helped.helped_count) {
        memset(&helped, 0, sizeof(helped));
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    end(world);
}

// One of many systems takes far longer than it ever did: until all others have run, whose strand they stand in.
enum { QUICK_COUNT = 60 };

static uint64_t quick_run_count; // atomic

static void run_quickly(mica_run *run) {
    (void)run;
    mi_add_number(&quick_run_count, 1);
}

static void wait_for_quick_ones(mica_run *run) {
    while (mica_run_tick(run) > 0 && mi_load_stamp(&quick_run_count) < QUICK_COUNT) {
        sched_yield();
    }
}

static void a_slow_system_holds_up_only_those_that_wait_for_it(void **state) {
    (void)state;
    for (int32_t place = 0; place <= QUICK_COUNT; place += QUICK_COUNT / 2) { // of the slow one
        mica_world *world = begin(2);
        for (int32_t i = 0; i <= QUICK_COUNT; i++) {
            char name[32];
            snprintf(name, sizeof(name), "system %d", i);
            const bool is_slow = i == place;
            add(world, &(mica_system_def){.name = name,
                                          .run = is_slow ? wait_for_quick_ones : run_quickly,
                                          .query = {mica_read(Life)}});
        }
        for (int32_t i = 0; i < 30; i++) {
            quick_run_count = 0;
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            assert_int_equal(quick_run_count, QUICK_COUNT);
        }
        end(world);
    }
}

MICA_STRUCT(Shown, { int64_t count; });

static void show_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    const Place *place = mica_read_of(*span, Place);
    for (int32_t i = 0; i < span->count; i++) {
        if ((int64_t)place[i].x % 50 == 0) {
            mica_spawn(mica_run_commands(run),
                       mica_value_of(Heat, {place[i].x + mica_random_unitf(mica_run_random(run))}));
        }
    }
}

static void show(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, show_span, NULL) == MICA_OK);
    mica_resource_write(mica_run_world(run), Shown)->count++;
}

// Takes the latest out of what is shown.
static void hide_hot(mica_run *run) {
    mica_each (run, it) {
        Heat *heat = mica_write_of(it, Heat);
        for (int32_t i = 0; i < it.count; i++) {
            heat[i].degrees += 0.25f;
            if (mica_random_below(mica_run_random(run), 16) == 0) {
                mica_destroy(mica_run_commands(run), it.entities[i]);
            }
        }
    }
}

static void churn_on_main_thread(int32_t thread_count, uint64_t sums[TICKS]) {
    mica_world *world = begin_churn(thread_count);
    assert_int_equal(mica_set_resource(world, Shown, {0}), MICA_OK);
    add(world, &(mica_system_def){.name = "show",
                                  .run = show,
                                  .query = {mica_read(Place)},
                                  .access = {mica_writes(Shown)},
                                  .main_thread = true});
    add(world,
        &(mica_system_def){.name = "hide hot", .run = hide_hot, .query = {mica_write(Heat)}, .main_thread = true});
    for (int32_t i = 0; i < TICKS; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_checksum(world, NULL, &sums[i]), MICA_OK);
    }
    assert_int_equal(mica_resource(world, Shown)->count, TICKS);
    end(world);
}

static void a_world_with_systems_of_the_main_thread_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    uint64_t expected[TICKS];
    uint64_t sums[TICKS];
    churn_on_main_thread(1, expected);
    for (int32_t threads = 2; threads <= 8; threads *= 2) {
        churn_on_main_thread(threads, sums);
        assert_memory_equal(sums, expected, sizeof(sums));
    }
}

// Pools of threads

static void step_other(mica_run *run) {
    mica_world *other = mica_run_user(run);
    main_thread = pthread_self(); // as that world sees it
    order[0] = 0;
    must(run, mica_world_step(other, 1) == MICA_OK && strcmp(order, "m") == 0);
}

static void a_system_may_step_another_world_on_the_same_pool(void **state) {
    (void)state;
    mica_jobs *jobs = mica_jobs_create(&(mica_jobs_def){.thread_count = 3});
    assert_non_null(jobs);
    mica_world *worlds[2];
    for (int32_t i = 0; i < 2; i++) {
        worlds[i] = mica_world_create(&(mica_world_def){.jobs = jobs, .always_parallel = true});
        assert_non_null(worlds[i]);
        for (int32_t k = 0; k < 2000; k++) {
            mica_spawn(worlds[i], mica_value_of(Place, {0}), mica_value_of(Speed, {1, 1}), mica_value_of(Heat, {1}),
                       mica_value_of(Life, {k % 9}));
        }
        add(worlds[i],
            &(mica_system_def){.name = "move", .run = churn_move, .query = {mica_write(Place), mica_read(Speed)}});
        add(worlds[i], &(mica_system_def){.name = "age", .run = churn_age, .query = {mica_write(Life)}});
    }
    add(worlds[1],
        &(mica_system_def){
            .name = "mark", .run = note_order, .query = {mica_read(Life)}, .main_thread = true, .user = "m"});
    add(worlds[0],
        &(mica_system_def){.name = "step", .run = step_other, .query = {mica_read(Heat)}, .user = worlds[1]});
    for (int32_t i = 0; i < 100; i++) {
        assert_int_equal(mica_world_step(worlds[0], 1), MICA_OK);
    }
    assert_int_equal(mica_world_tick(worlds[1]), 100);
    end(worlds[0]);
    end(worlds[1]);
    mica_jobs_release(jobs);
}

static void empty_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)span;
    (void)user;
}

static void loop_for_nothing(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, empty_span, NULL) == MICA_OK);
}

static void more_parallel_systems_than_threads_never_hang(void **state) {
    (void)state;
    mica_world *world = begin(4);
    const mica_query_def queries[5] = {{{mica_write(Place)}},
                                       {{mica_write(Speed)}},
                                       {{mica_write(Life)}},
                                       {{mica_write(Group)}},
                                       {{mica_write(Chosen)}}};
    for (int32_t i = 0; i < 3000; i++) {
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Speed, {0}), mica_value_of(Life, {0}),
                   mica_value_of(Group, {0}), mica_value_of(Chosen, {0}));
    }
    for (int32_t i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof(name), "system %d", i);
        mica_system_def def = {.name = name, .run = loop_for_nothing};
        memcpy(def.query, queries[i].terms, sizeof(def.query));
        add(world, &def);
    }
    for (int32_t i = 0; i < 2000; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    end(world);
}

static void worlds_with_threads_end_whenever_they_do(void **state) {
    (void)state;
    for (int32_t i = 0; i < 300; i++) {
        mica_world *world = begin(8);
        mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Speed, {0}));
        add(world,
            &(mica_system_def){.name = "move", .run = churn_move, .query = {mica_write(Place), mica_read(Speed)}});
        add(world, &(mica_system_def){
                       .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
        for (int32_t k = 0; k < i % 3; k++) {
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
        }
        mica_world_destroy(world);
    }
    assert_null(mica_world_create(&(mica_world_def){.thread_count = -2}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_world_is_the_same_on_any_number_of_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loop_visits_every_span_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loops_within_spans_run_where_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(systems_that_declare_nothing_share_loops_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exclusive_systems_share_loops_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_spans_spawn_is_there_after_the_barrier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misuse_is_refused_on_any_number_of_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resources_come_and_go_on_any_number_of_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_concerns_all_is_left_to_exclusive_systems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_failure_in_the_plan_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_walk_that_is_left_open_fails_the_tick_and_locks_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_walk_that_a_span_leaves_open_fails_the_tick_and_locks_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_second_in_the_plan_to_destroy_is_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disabled_system_holds_nobody_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_span_that_fails_fails_the_tick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tick_that_fails_is_taken_back_on_several_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_writes_what_is_observed_runs_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spans_do_nothing_that_would_tell_of_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_spans_write_by_handle_is_told_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_word_in_the_plan_enables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_thread_rounds_as_the_one_that_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tick_without_memory_does_all_or_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_main_thread_runs_its_systems_and_is_woken_for_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(systems_of_the_main_thread_keep_the_order_of_the_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_main_thread_leaves_a_loop_in_which_it_helps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_main_thread_runs_its_own_steps_before_what_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_world_with_systems_of_the_main_thread_is_the_same_on_any_number_of_threads,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_system_holds_up_only_those_that_wait_for_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_system_may_step_another_world_on_the_same_pool, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_parallel_systems_than_threads_never_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(worlds_with_threads_end_whenever_they_do, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
