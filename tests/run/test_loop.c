// What a parallel loop goes over: the same spans, rows and random numbers on any number of threads, for all kinds of
// queries, in pieces that are a matter of the world alone.
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_run.h"
#include "support/test_shared_allocator.h"

MICA_STRUCT_WITH(Value, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Extra, (.storage = MICA_TABLE), { int64_t number; });
MICA_STRUCT_WITH(Small, (.storage = MICA_TABLE), { int8_t number; });
MICA_STRUCT_WITH(Three, (.storage = MICA_TABLE), { float x, y, z; });
MICA_STRUCT_WITH(Apart, (.layout = MICA_LANES), {
    float x;
    int16_t y;
});
MICA_STRUCT_WITH(Heat, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(Fuel, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(Shot, (.storage = MICA_POOL, .stable = true), { int32_t number; });
MICA_STRUCT_WITH(Child, (.storage = MICA_TABLE), {
    mica_entity of;
    uint64_t drawn;
});

enum { ENTITIES = 3000, TICKS = 3, INDEX_MAX = 16 * ENTITIES, EVENTS = 4096 };

static mica_entity entities[ENTITIES];

static uint64_t mix(uint64_t sum, uint64_t value) {
    return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
}

static mica_world *begin(int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&allocator), .thread_count = thread_count, .always_parallel = true});
    assert_non_null(world);
    return world;
}

// Kinds of queries

typedef struct query_kind {
    const char *name;
    mica_term terms[5];
    void (*write)(mica_iter *span, int32_t row, int32_t number); // NULL: nothing is written
    bool on_one_thread;
    bool hides;  // while some are disabled or killed
    bool groups; // while Heat and Fuel are a group
} query_kind;

// What spans have seen of entities and written beside the world, where each has a place of its own.
typedef struct sight {
    const query_kind *kind;
    uint64_t seen[INDEX_MAX]; // by entity index
} sight;

static void write_value(mica_iter *span, int32_t row, int32_t number) {
    mica_write_of(*span, Value)[row].number += number;
}

static void mark_value(mica_iter *span, int32_t row, int32_t number) {
    mica_write_of(*span, Value)[row].number += number;
    if (number % 2 == 0) {
        mica_mark(*span, Value, row);
    }
}

static void write_heat(mica_iter *span, int32_t row, int32_t number) {
    mica_write_of(*span, Heat)[row].number += number;
}

static void write_shot(mica_iter *span, int32_t row, int32_t number) {
    mica_write_of(*span, Shot)[row].number += number;
}

static void write_optional_heat(mica_iter *span, int32_t row, int32_t number) {
    Heat *heat = mica_write_of(*span, Heat);
    if (heat != NULL) {
        heat[row].number += number;
    }
    write_shot(span, row, number);
}

static void write_group(mica_iter *span, int32_t row, int32_t number) {
    write_heat(span, row, number);
    mica_write_of(*span, Fuel)[row].number -= number;
}

static void write_both(mica_iter *span, int32_t row, int32_t number) {
    write_value(span, row, number);
    write_heat(span, row, number);
}

static void write_optional(mica_iter *span, int32_t row, int32_t number) {
    Heat *heat = mica_write_of(*span, Heat);
    if (heat != NULL) {
        heat[row].number += number;
    }
    mica_write_of(*span, Value)[row].number += number;
}

static void write_apart(mica_iter *span, int32_t row, int32_t number) {
    mica_lane(*span, Apart, x)[row] += (float)(number % 8);
    mica_lane(*span, Apart, y)[row] = (int16_t)number;
}

static void see_span(mica_run *run, mica_iter *span, void *user) {
    sight *seen = user;
    const uint64_t drawn = mica_random_next(mica_run_random(run));
    for (int32_t i = 0; i < span->count; i++) {
        uint64_t *sum = &seen->seen[mica_entity_index(span->entities[i])];
        *sum = mix(mix(mix(*sum, drawn), (uint64_t)i), (uint64_t)span->count);
        if (seen->kind->write != NULL) {
            seen->kind->write(span, i, (int32_t)(*sum >> 40 & 1023));
        }
        if (seen->kind->write == write_heat) { // copies too are seen by handle
            const Heat *heat = mica_get(mica_run_world(run), span->entities[i], Heat);
            must(run, heat->number == mica_read_of(*span, Heat)[i].number);
        }
        if (*sum % 32 == 0) {
            must(run, !mica_entity_is_null(
                          mica_spawn(mica_iter_commands(*span), mica_value_of(Child, {span->entities[i], drawn}))));
        }
    }
}

static void see(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, see_span, mica_run_user(run)) == MICA_OK);
}

static void fill(mica_world *world, const query_kind *kind) {
    for (int32_t i = 0; i < ENTITIES; i++) {
        const mica_entity entity = mica_create(world);
        assert_false(mica_entity_is_null(entity));
        entities[i] = entity;
        if (i % 10 != 0) {
            mica_set(world, entity, Value, {i});
        }
        if (i % 3 == 0) {
            mica_set(world, entity, Extra, {i});
        }
        if (i % 100 == 1) {
            mica_set(world, entity, Small, {1});
        }
        if (i % 4 == 1) {
            mica_set(world, entity, Apart, {(float)i, 0});
        }
        if (i % 7 == 0) {
            mica_set(world, entity, Shot, {i});
        }
        if (i % 28 == 0) {
            mica_remove(world, entity, Shot);
        }
    }
    for (int32_t i = ENTITIES - 1; i >= 0; i--) { // the other way round than elsewhere
        const mica_entity entity = entities[i];
        if (i % 5 != 0) {
            mica_set(world, entity, Heat, {i});
        }
        if (i % 2 == 0) {
            mica_set(world, entity, Fuel, {i});
        }
        if (kind->hides && i % 6 == 0 && i < ENTITIES / 2) {
            mica_disable(world, entity);
        }
        if (kind->hides && i % 50 == 0) {
            mica_kill(world, entity);
        }
    }
    if (kind->groups) {
        const mica_group_def def = {.owned = {mica_type_of(Heat), mica_type_of(Fuel)}};
        assert_non_null(mica_group_create(world, &def));
    }
}

// Lets values change, come and go between ticks.
static void churn(mica_world *world, int32_t tick) {
    for (int32_t i = tick; i < ENTITIES; i += 7) {
        const mica_entity entity = entities[i];
        if (i < 600 && mica_has(world, entity, Value)) {
            mica_set(world, entity, Value, {i});
        }
        if (i < 600 && mica_has(world, entity, Heat)) {
            mica_set(world, entity, Heat, {i});
        }
        if (i % 2 == 0) {
            mica_set(world, entity, Extra, {i});
        } else if (mica_has(world, entity, Extra)) {
            mica_remove(world, entity, Extra);
        }
    }
}

static void count_loops(const mica_trace_event *event, void *user) {
    *(int32_t *)user += event->kind == MICA_TRACE_LOOP;
}

// Runs a loop of a kind for some ticks; the world's checksum. `seen` is to be zeros.
static uint64_t run_kind(const query_kind *kind, int32_t thread_count, sight *seen, bool *is_shared) {
    mica_world *world = begin(thread_count);
    fill(world, kind);
    seen->kind = kind;
    mica_system_def def = {.name = "see", .run = see, .user = seen};
    memcpy(def.query, kind->terms, sizeof(kind->terms));
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_trace_begin(world, EVENTS), MICA_OK);
    for (int32_t i = 0; i < TICKS; i++) {
        churn(world, i);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    int32_t loops = 0;
    mica_trace_take(world, count_loops, &loops);
    *is_shared = loops > 0;
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.exact = true}, &checksum), MICA_OK);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
    return checksum;
}

static void loops_of_every_kind_visit_the_same_spans_on_any_number_of_threads(void **state) {
    (void)state;
    const query_kind kinds[] = {
        {.name = "tables", .terms = {mica_write(Value)}, .write = write_value},
        {.name = "marked rows", .terms = {mica_write_marked(Value)}, .write = mark_value},
        {.name = "lanes", .terms = {mica_write(Apart), mica_read(Value)}, .write = write_apart},
        {.name = "optional in tables", .terms = {mica_write(Value), mica_read_optional(Extra)}, .write = write_value},
        {.name = "hidden", .terms = {mica_write(Value)}, .write = write_value, .hides = true},
        {.name = "hidden too", .terms = {mica_write(Value), mica_disabled_too()}, .write = write_value, .hides = true},
        {.name = "hidden alone",
         .terms = {mica_write(Value), mica_disabled_only()},
         .write = write_value,
         .hides = true},
        {.name = "changed", .terms = {mica_changed(Value), mica_write(Value)}, .write = write_value},
        {.name = "changed, hidden",
         .terms = {mica_changed(Extra), mica_write(Value)},
         .write = write_value,
         .hides = true},
        {.name = "added", .terms = {mica_added(Extra), mica_write(Value)}, .write = write_value},
        {.name = "changed in a pool",
         .terms = {mica_changed(Heat), mica_write(Apart), mica_write(Heat)},
         .write = write_heat},
        {.name = "one of two changed",
         .terms = {mica_any_changed(1, Value), mica_any_changed(1, Extra), mica_write(Value)},
         .write = write_value,
         .on_one_thread = true},
        {.name = "removed",
         .terms = {mica_removed(Extra), mica_write(Value)},
         .write = write_value,
         .on_one_thread = true},
        {.name = "tables before a pool", .terms = {mica_read(Small), mica_write(Heat)}, .write = write_heat},
        {.name = "an optional pool", .terms = {mica_write(Value), mica_write_optional(Heat)}, .write = write_optional},
        {.name = "not in a pool", .terms = {mica_write(Value), mica_without(Heat)}, .write = write_value},
        {.name = "without rows", .terms = {mica_without(Value)}},
        {.name = "everybody", .terms = {mica_disabled_too()}, .hides = true},
        {.name = "a pool", .terms = {mica_write(Heat)}, .write = write_heat},
        {.name = "a stable pool", .terms = {mica_write(Shot)}, .write = write_shot},
        {.name = "a pool, hidden", .terms = {mica_write(Heat)}, .write = write_heat, .hides = true},
        {.name = "a pool that changes", .terms = {mica_changed(Heat), mica_write(Heat)}, .write = write_heat},
        {.name = "a pool before tables", .terms = {mica_write(Heat), mica_write(Value)}, .write = write_both},
        {.name = "tables in the order of a pool",
         .terms = {mica_with(Shot), mica_write(Value), mica_changed(Value)},
         .write = write_value},
        {.name = "two pools", .terms = {mica_write(Heat), mica_read(Shot)}, .write = write_heat},
        {.name = "a pool and an optional one",
         .terms = {mica_write(Shot), mica_write_optional(Heat)},
         .write = write_optional_heat},
        {.name = "a group", .terms = {mica_write(Heat), mica_write(Fuel)}, .write = write_group, .groups = true},
        {.name = "one of two pools", .terms = {mica_any_read(1, Heat), mica_any_read(1, Shot)}, .on_one_thread = true},
    };
    static const int32_t thread_counts[] = {2, 3, 8};
    static sight expected;
    static sight seen;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        bool is_shared = true;
        memset(&expected, 0, sizeof(expected));
        const uint64_t checksum = run_kind(&kinds[i], 1, &expected, &is_shared);
        assert_false(is_shared);
        for (size_t k = 0; k < sizeof(thread_counts) / sizeof(thread_counts[0]); k++) {
            memset(&seen, 0, sizeof(seen));
            if (run_kind(&kinds[i], thread_counts[k], &seen, &is_shared) != checksum ||
                memcmp(&seen, &expected, sizeof(seen)) != 0) {
                fail_msg("%s: %d threads do something else than one", kinds[i].name, thread_counts[k]);
            }
            if (is_shared == kinds[i].on_one_thread) {
                fail_msg("%s: %s on %d threads", kinds[i].name, is_shared ? "runs" : "does not run", thread_counts[k]);
            }
        }
    }
}

// Pieces

typedef struct shape {
    int32_t rows_most; // of a span; 0: that of the first is taken
    int32_t spans;
    int32_t rows;
    int32_t unaligned;
} shape;

static void measure_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    shape *found = user;
    const void *columns[] = {span->entities, mica_read_of(*span, Three), mica_read_of(*span, Small),
                             mica_lane_read(*span, Apart, x), mica_lane_read(*span, Apart, y)};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        found->unaligned += (uintptr_t)columns[i] % 64 != 0;
    }
    found->spans++;
    found->rows += span->count;
    found->rows_most = span->count > found->rows_most ? span->count : found->rows_most;
}

static void measure(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, measure_span, mica_run_user(run)) == MICA_OK);
}

// The spans of a loop over so many rows of one table, with columns of these terms, which may be no more than four.
static shape measure_loop(int32_t rows, const mica_term *terms, size_t term_count) {
    shape found = {0};
    mica_world *world = begin(1);
    for (int32_t i = 0; i < rows; i++) {
        mica_spawn(world, mica_value_of(Three, {0, 0, 0}), mica_value_of(Small, {0}), mica_value_of(Apart, {0, 0}));
    }
    mica_system_def def = {.name = "measure", .run = measure, .user = &found};
    memcpy(def.query, terms, term_count * sizeof(*terms));
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(found.rows, rows);
    mica_world_destroy(world);
    return found;
}

static void spans_are_short_where_rows_are_few(void **state) {
    (void)state;
    const mica_term wide[] = {mica_read(Three), mica_read_optional(Value)};
    shape found = measure_loop(1000, wide, 2);
    assert_int_equal(found.rows_most, 16);
    assert_int_equal(found.spans, 63);
    found = measure_loop(10000, wide, 2);
    assert_int_equal(found.rows_most, 128); // a 128th, up to the next power of two
    assert_in_range(found.spans, 79, 90);
    found = measure_loop(9, wide, 2);
    assert_int_equal(found.spans, 1);
    found = measure_loop(0, wide, 2);
    assert_int_equal(found.spans, 0);
}

static void spans_begin_where_vectors_want_it(void **state) {
    (void)state;
    const mica_term all[] = {mica_read(Three), mica_read(Small), mica_read(Apart)};
    const shape found = measure_loop(1000, all, 3);
    assert_int_equal(found.unaligned, 0);
    assert_int_equal(found.rows_most, 64); // of bytes
}

// Columns of a part of a chunk

static void read_all_ways(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    const mica_component value = mica_world_component(mica_run_world(run), mica_type_of(Value));
    const Value *by_type = mica_read_of(*span, Value);
    const Value *by_id = mica_iter_read_id(span, value);
    const Extra *optional = mica_read_of(*span, Extra);
    const float *lane = mica_lane_read(*span, Apart, x);
    for (int32_t i = 0; i < span->count; i++) {
        Value loaded = {-1};
        const Value *by_entity = mica_get(mica_run_world(run), span->entities[i], Value);
        must(run, mica_iter_load_id(span, value, i, &loaded) == MICA_OK);
        if (by_entity != &by_type[i] || by_id != by_type || loaded.number != by_entity->number ||
            optional[i].number != loaded.number || lane[i] != (float)loaded.number) {
            mica_run_fail(run, MICA_FAILED, "a column is another row's");
        }
    }
}

static void write_all_ways(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    const mica_component value = mica_world_component(mica_run_world(run), mica_type_of(Value));
    for (int32_t i = 0; i < span->count; i++) {
        const Value now = {mica_read_of(*span, Value)[i].number + 1};
        must(run, mica_iter_store_id(span, value, i, &now) == MICA_OK);
        ((Extra *)mica_iter_write(span, mica_type_of(Extra)))[i].number++;
        mica_lane(*span, Apart, x)[i]++;
    }
}

static void read_loop(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, read_all_ways, NULL) == MICA_OK);
}

static void write_loop(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, write_all_ways, NULL) == MICA_OK);
}

static void every_way_to_a_column_leads_to_the_rows_of_the_span(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 1000; i++) {
            mica_spawn(world, mica_value_of(Value, {i}), mica_value_of(Extra, {i}),
                       mica_value_of(Apart, {(float)i, 0}));
        }
        assert_int_not_equal(
            mica_system_add(
                world, &(mica_system_def){.name = "write",
                                          .run = write_loop,
                                          .query = {mica_write(Value), mica_write_optional(Extra), mica_write(Apart)}})
                .id,
            0);
        assert_int_not_equal(
            mica_system_add(
                world, &(mica_system_def){.name = "read",
                                          .run = read_loop,
                                          .query = {mica_read(Value), mica_read_optional(Extra), mica_read(Apart)}})
                .id,
            0);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        mica_world_destroy(world);
    }
}

static void write_one_row(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    const mica_entity *only = user;
    for (int32_t i = 0; i < span->count; i++) {
        if (mica_entity_equal(span->entities[i], *only)) {
            mica_write_of(*span, Value)[i].number++;
        }
    }
}

static void write_one(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, write_one_row, mica_run_user(run)) == MICA_OK);
}

static void count_changed(mica_run *run) {
    mica_each (run, it) {
        *(int32_t *)mica_run_user(run) += it.count;
    }
}

static void what_one_piece_writes_counts_as_changed(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        int32_t changed = 0;
        mica_entity last = MICA_NULL;
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 700; i++) {
            last = i < 500 ? mica_spawn(world, mica_value_of(Value, {i}))
                           : mica_spawn(world, mica_value_of(Value, {i}), mica_value_of(Extra, {i}));
        }
        const mica_system_def defs[] = {
            {.name = "write", .run = write_one, .query = {mica_write(Value)}, .user = &last},
            {.name = "count", .run = count_changed, .query = {mica_changed(Value)}, .user = &changed},
        };
        assert_int_not_equal(mica_system_add(world, &defs[0]).id, 0);
        assert_int_not_equal(mica_system_add(world, &defs[1]).id, 0);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(changed, 700); // for the first time
        changed = 0;
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(changed, 200); // of its chunk
        mica_world_destroy(world);
    }
}

static void end_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    mica_iter_end(span);
}

static void end_loop(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, end_span, NULL) == MICA_OK);
}

static void ending_the_walk_of_a_span_fails_the_system(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++) {
        mica_world *world = begin(threads);
        for (int32_t i = 0; i < 1000; i++) {
            mica_spawn(world, mica_value_of(Value, {i}));
        }
        assert_int_not_equal(
            mica_system_add(world, &(mica_system_def){.name = "end", .run = end_loop, .query = {mica_read(Value)}}).id,
            0);
        assert_int_equal(mica_world_step(world, 1), MICA_INVALID);
        assert_non_null(strstr(mica_last_error(), "has ended the walk of its span"));
        assert_int_equal(mica_world_validate(world), MICA_OK);
        mica_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loops_of_every_kind_visit_the_same_spans_on_any_number_of_threads, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(spans_are_short_where_rows_are_few, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spans_begin_where_vectors_want_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_way_to_a_column_leads_to_the_rows_of_the_span, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_one_piece_writes_counts_as_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ending_the_walk_of_a_span_fails_the_system, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
