// What queries leave out: disabled and killed entities, components that are disabled on an entity; in either storage,
// by every way of asking, and against arrays under random churn.
#include "toggles.h"

#include <stdlib.h>

#include "world/actor.h"
#include "world/query.h"

// Types whose values walks never copy: spans over them are just the runs of what matches.
MICA_STRUCT_WITH(Wired, (.storage = MICA_TABLE, .always_dirty = true), { int32_t now; });
MICA_STRUCT_WITH(Pinned, (.storage = MICA_POOL, .always_dirty = true), { int32_t now; });

enum { FOUND_MAX = 8192 };

static int compare_entities(const void *a, const void *b) {
    const uint64_t left = ((const mica_entity *)a)->bits;
    const uint64_t right = ((const mica_entity *)b)->bits;
    return (left > right) - (left < right);
}

// Walks a query span by span and row by row; both have to come by the same entities. Returns how many spans there were.
static int32_t walk(mica_query *query, mica_entity *found, int32_t *count) {
    int32_t span_count = 0;
    *count = 0;
    mica_each (query, it) {
        span_count++;
        assert_true(it.count > 0 && *count + it.count <= FOUND_MAX);
        memcpy(found + *count, it.entities, (size_t)it.count * sizeof(mica_entity));
        *count += it.count;
    }
    int32_t row_count = 0;
    mica_each_row (query, it) {
        assert_entity_equal(mica_row_entity(it), found[row_count]);
        row_count++;
    }
    assert_int_equal(row_count, *count);
    return span_count;
}

// A query finds just these entities, whichever way it is asked. Returns the number of spans.
static int32_t assert_finds(mica_query *query, const mica_entity *expected, int32_t count) {
    static mica_entity found[FOUND_MAX], listed[FOUND_MAX], sorted[FOUND_MAX];
    int32_t found_count = 0;
    assert_non_null(query);
    assert_int_equal(mica_query_count(query), count);
    assert_true(mica_query_size_hint(query) >= count);
    const int32_t span_count = walk(query, found, &found_count);
    assert_int_equal(found_count, count);
    assert_int_equal(mica_query_entities(query, listed, FOUND_MAX), count);
    assert_entity_equal(mica_query_first(query), count > 0 ? found[0] : MICA_NULL);
    for (int32_t i = 0; i < count; i++) {
        assert_true(mica_query_contains(query, expected[i]));
    }
    if (count > 0) {
        memcpy(sorted, expected, (size_t)count * sizeof(mica_entity));
        qsort(sorted, (size_t)count, sizeof(mica_entity), compare_entities);
        qsort(found, (size_t)count, sizeof(mica_entity), compare_entities);
        qsort(listed, (size_t)count, sizeof(mica_entity), compare_entities);
        assert_memory_equal(found, sorted, (size_t)count * sizeof(mica_entity));
        assert_memory_equal(listed, sorted, (size_t)count * sizeof(mica_entity));
    }
    return span_count;
}

// The same, and in this order.
static int32_t assert_visits(mica_query *query, const mica_entity *expected, int32_t count) {
    static mica_entity found[FOUND_MAX];
    int32_t found_count = 0;
    const int32_t span_count = assert_finds(query, expected, count);
    walk(query, found, &found_count);
    for (int32_t i = 0; i < count; i++) {
        assert_entity_equal(found[i], expected[i]);
    }
    assert_int_equal(mica_query_entities(query, found, FOUND_MAX), count);
    for (int32_t i = 0; i < count; i++) {
        assert_entity_equal(found[i], expected[i]);
    }
    return span_count;
}

static void assert_misses(mica_query *query, mica_entity entity) {
    assert_false(mica_query_contains(query, entity));
}

static mica_query *query_by_uses(mica_world *world, mica_type *type, mica_use use, mica_use other) {
    const mica_term terms[] = {{.type = type, .use = (uint8_t)use}, {.use = (uint8_t)other}};
    return mica_query_find(world, terms, other == MICA_USE_NONE ? 1 : 2);
}

// Runs of rows that are not in `hidden`, a bit a row.
static int32_t runs_beside(uint32_t hidden, int32_t row_count) {
    int32_t runs = 0;
    for (int32_t row = 0; row < row_count; row++) {
        const bool is_shown = (hidden >> row & 1) == 0;
        runs += is_shown && (row == 0 || (hidden >> (row - 1) & 1) != 0);
    }
    return runs;
}

static const uint32_t hidden_patterns[] = {0x000, 0x001, 0x200, 0x0f0, 0x155, 0x2aa, 0x3ff, 0x201, 0x1fe};
enum { PATTERN_COUNT = sizeof(hidden_patterns) / sizeof(hidden_patterns[0]), ROW_COUNT = 10 };

// Disables the rows of a pattern and enables the others; returns how many are enabled.
static int32_t hide_rows(mica_world *world, const mica_entity *rows, uint32_t pattern, mica_entity *shown) {
    int32_t count = 0;
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        const bool is_hidden = (pattern >> i & 1) != 0;
        assert_int_equal(mica_entity_enable(world, rows[i], !is_hidden), MICA_OK);
        if (!is_hidden) {
            shown[count++] = rows[i];
        }
    }
    return count;
}

static void disabled_rows_are_left_out_wherever_they_stand(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity rows[ROW_COUNT];
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        rows[i] = mica_spawn(w.world, mica_value_of(Health, {i}), mica_value_of(Wired, {i}));
    }
    mica_query *copied = mica_query_of(w.world, mica_read(Health));
    mica_query *in_place = mica_query_of(w.world, mica_read(Health), mica_read(Wired));
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
        mica_entity shown[ROW_COUNT];
        const int32_t count = hide_rows(w.world, rows, hidden_patterns[p], shown);
        for (int32_t i = 0; i < ROW_COUNT; i++) {
            assert_int_equal(mica_query_contains(copied, rows[i]), (hidden_patterns[p] >> i & 1) == 0);
        }
        assert_int_equal(assert_visits(copied, shown, count), count > 0);
        assert_int_equal(assert_visits(in_place, shown, count), runs_beside(hidden_patterns[p], ROW_COUNT));
        mica_each (in_place, it) { // columns stand beside the handles
            const Health *health = mica_read_of(it, Health);
            const Wired *wired = mica_read_of(it, Wired);
            for (int32_t i = 0; i < it.count; i++) {
                assert_entity_equal(rows[health[i].now], it.entities[i]);
                assert_ptr_equal(&wired[i], mica_get(w.world, it.entities[i], Wired));
            }
        }
    }
    watched_end(&w);
}

static void writing_between_disabled_rows_leaves_those_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity rows[ROW_COUNT];
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
        mica_entity shown[ROW_COUNT];
        assert_int_equal(mica_world_clear(w.world), MICA_OK);
        for (int32_t i = 0; i < ROW_COUNT; i++) {
            rows[i] = mica_spawn(w.world, mica_value_of(Health, {i}), mica_value_of(Glow, {i}));
        }
        hide_rows(w.world, rows, hidden_patterns[p], shown);
        mica_each (mica_query_of(w.world, mica_write(Health), mica_write(Glow)), it) {
            Health *health = mica_write_of(it, Health);
            Glow *glow = mica_write_of(it, Glow);
            for (int32_t i = 0; i < it.count; i++) {
                health[i].now += 100;
                glow[i].now += 200;
            }
        }
        for (int32_t i = 0; i < ROW_COUNT; i++) {
            const bool is_hidden = (hidden_patterns[p] >> i & 1) != 0;
            assert_int_equal(mica_get(w.world, rows[i], Health)->now, is_hidden ? i : i + 100);
            assert_int_equal(mica_get(w.world, rows[i], Glow)->now, is_hidden ? i : i + 200);
        }
    }
    watched_end(&w);
}

static void a_chunk_of_disabled_rows_is_passed_over(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 8000 };
    static mica_entity entities[COUNT], shown[COUNT];
    static Wide values[COUNT];
    assert_int_equal(mica_spawn_many(w.world, COUNT, entities, mica_column_of(Wide, values)), MICA_OK);
    mica_query *query = mica_query_of(w.world, mica_read(Wide));
    const int32_t chunk_count = assert_visits(query, entities, COUNT);
    assert_true(chunk_count > 2);
    int32_t first_rows = 0; // of the first chunk, and of each but the last
    mica_each (query, it) {
        first_rows = it.count;
        break;
    }
    int32_t count = 0;
    for (int32_t i = 0; i < COUNT; i++) {
        if (i / first_rows == 1) {
            assert_int_equal(mica_disable(w.world, entities[i]), MICA_OK);
        } else {
            shown[count++] = entities[i];
        }
    }
    assert_int_equal(assert_visits(query, shown, count), chunk_count - 1);
    // All of them, then all but one row in the middle of a chunk.
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_disable(w.world, entities[i]), MICA_OK);
    }
    assert_int_equal(assert_finds(query, NULL, 0), 0);
    assert_int_equal(mica_enable(w.world, entities[first_rows + first_rows / 2]), MICA_OK);
    assert_int_equal(assert_finds(query, &entities[first_rows + first_rows / 2], 1), 1);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_enable(w.world, entities[i]), MICA_OK);
    }
    assert_int_equal(assert_visits(query, entities, COUNT), chunk_count);
    assert_valid(w.world);
    watched_end(&w);
}

static void a_query_says_whether_it_wants_the_disabled(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entities[] = {mica_spawn(w.world, mica_value_of(Health, {0})),
                                    mica_spawn(w.world, mica_value_of(Health, {1})),
                                    mica_spawn(w.world, mica_value_of(Health, {2}), mica_tag(Frozen))};
    assert_int_equal(mica_disable(w.world, entities[1]), MICA_OK);
    assert_int_equal(mica_disable(w.world, entities[2]), MICA_OK);
    assert_finds(mica_query_of(w.world, mica_read(Health)), entities, 1);
    assert_finds(mica_query_of(w.world, mica_read(Health), mica_disabled_too()), entities, 3);
    assert_finds(mica_query_of(w.world, mica_read(Health), mica_disabled_only()), entities + 1, 2);
    assert_finds(mica_query_of(w.world, mica_with(Frozen)), NULL, 0);
    assert_misses(mica_query_of(w.world, mica_read(Health), mica_disabled_only()), entities[0]);
    watched_end(&w);
}

static void who_has_no_row_is_left_out_as_well(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity bare[5];
    for (int32_t i = 0; i < 5; i++) {
        bare[i] = mica_create(w.world);
    }
    const mica_entity only_in_pool = mica_spawn(w.world, mica_value_of(Glow, {1}));
    assert_int_equal(mica_disable(w.world, bare[1]), MICA_OK);
    assert_int_equal(mica_kill(w.world, bare[4]), MICA_OK);
    assert_int_equal(mica_disable(w.world, only_in_pool), MICA_OK);
    const mica_entity shown[] = {bare[0], bare[2], bare[3]};
    const mica_entity hidden[] = {bare[1], only_in_pool};
    const mica_term only = mica_disabled_only();
    assert_finds(mica_query_find(w.world, NULL, 0), shown, 3);
    assert_finds(mica_query_of(w.world, mica_without(Health)), shown, 3);
    assert_finds(mica_query_find(w.world, &only, 1), hidden, 2);
    watched_end(&w);
}

static void no_query_finds_the_killed(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[4];
    for (int32_t i = 0; i < 4; i++) {
        entities[i] = spawn_toggles(w.world, i);
    }
    assert_int_equal(mica_disable(w.world, entities[1]), MICA_OK);
    assert_int_equal(mica_disable(w.world, entities[2]), MICA_OK);
    assert_int_equal(mica_kill(w.world, entities[2]), MICA_OK); // disabled and killed
    assert_int_equal(mica_kill(w.world, entities[3]), MICA_OK);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        mica_type *type = toggle_types[i];
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_NONE), entities, 1);
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_DISABLED_TOO), entities, 2);
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_DISABLED_ONLY), entities + 1, 1);
        assert_misses(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_DISABLED_TOO), entities[2]);
        assert_misses(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_DISABLED_TOO), entities[3]);
    }
    assert_int_equal(mica_refresh(w.world), 2);
    assert_finds(mica_query_of(w.world, mica_read(Shield), mica_read(Glow), mica_disabled_too()), entities, 2);
    watched_end(&w);
}

static void disabled_entities_are_left_out_of_walks_over_pools(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity rows[ROW_COUNT];
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        rows[i] = mica_spawn(w.world, mica_value_of(Glow, {i}), mica_value_of(Pinned, {i}), mica_value_of(Health, {i}),
                             mica_tag(Noisy));
    }
    mica_query *const copied[] = {mica_query_of(w.world, mica_read(Glow)),
                                  mica_query_of(w.world, mica_read(Glow), mica_with(Noisy)),
                                  mica_query_of(w.world, mica_read(Glow), mica_read(Health))};
    mica_query *in_place = mica_query_of(w.world, mica_read(Pinned), mica_read(Glow), mica_read(Health));
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
        mica_entity shown[ROW_COUNT];
        const int32_t count = hide_rows(w.world, rows, hidden_patterns[p], shown);
        assert_visits(mica_query_of(w.world, mica_with(Noisy)), shown, count);
        for (int32_t q = 0; q < 3; q++) {
            assert_int_equal(assert_visits(copied[q], shown, count), count > 0);
        }
        assert_int_equal(assert_visits(in_place, shown, count), runs_beside(hidden_patterns[p], ROW_COUNT));
        mica_each (in_place, it) {
            const Pinned *pinned = mica_read_of(it, Pinned);
            const Glow *glow = mica_read_of(it, Glow);
            const Health *health = mica_read_of(it, Health);
            for (int32_t i = 0; i < it.count; i++) {
                assert_entity_equal(rows[pinned[i].now], it.entities[i]);
                assert_int_equal(glow[i].now, pinned[i].now);
                assert_int_equal(health[i].now, pinned[i].now);
            }
        }
    }
    watched_end(&w);
}

static void a_disabled_component_counts_as_absent_in_every_term(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    // Two that have all of them, one of the two with the component disabled, and one that has none.
    const mica_entity on = spawn_toggles(w.world, 1);
    const mica_entity off = spawn_toggles(w.world, 2);
    const mica_entity none = mica_spawn(w.world, mica_value_of(Health, {3}));
    const mica_entity absent[] = {off, none};
    const mica_entity all[] = {on, off, none};
    const mica_term reads_health = mica_read(Health);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        mica_type *type = toggle_types[i];
        const mica_component id = mica_world_component(w.world, type);
        assert_int_equal(mica_entity_enable_component(w.world, off, id, false), MICA_OK);
        const bool has_data = mica_schema_info(mica_world_schema(w.world), id)->size > 0;
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_NONE), &on, 1);
        assert_misses(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_NONE), off);
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITHOUT, MICA_USE_NONE), absent, 2);
        const mica_term beside[] = {reads_health, {.type = type, .use = MICA_USE_WITHOUT}};
        assert_finds(mica_query_find(w.world, beside, 2), absent, 2);
        const mica_term any[] = {{.type = type, .use = MICA_USE_WITH, .any = 1},
                                 {.type = mica_type_of(Frozen), .use = MICA_USE_WITH, .any = 1}};
        assert_finds(mica_query_find(w.world, any, 2), &on, 1);
        if (has_data) {
            assert_finds(query_by_uses(w.world, type, MICA_USE_READ, MICA_USE_NONE), &on, 1);
            assert_finds(query_by_uses(w.world, type, MICA_USE_WRITE, MICA_USE_NONE), &on, 1);
            const mica_term optional[] = {reads_health, {.type = type, .use = MICA_USE_OPTIONAL_READ}};
            assert_finds(mica_query_find(w.world, optional, 2), all, 3);
        }
        assert_int_equal(mica_entity_enable_component(w.world, off, id, true), MICA_OK);
        const mica_entity both[] = {on, off};
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITH, MICA_USE_NONE), both, 2);
        assert_finds(query_by_uses(w.world, type, MICA_USE_WITHOUT, MICA_USE_NONE), &none, 1);
    }
    watched_end(&w);
}

static void an_optional_component_that_is_disabled_is_reported_absent(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity rows[ROW_COUNT];
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        rows[i] = spawn_toggles(w.world, i);
    }
    mica_query *in_table = mica_query_of(w.world, mica_read(Health), mica_read_optional(Shield));
    mica_query *in_pool = mica_query_of(w.world, mica_read(Health), mica_write_optional(Glow));
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
        for (int32_t i = 0; i < ROW_COUNT; i++) {
            const bool is_enabled = (hidden_patterns[p] >> i & 1) == 0;
            assert_int_equal(mica_entity_enable_component(w.world, rows[i], mica_register(w.world, Shield), is_enabled),
                             MICA_OK);
            assert_int_equal(mica_entity_enable_component(w.world, rows[i], mica_register(w.world, Glow), is_enabled),
                             MICA_OK);
        }
        assert_finds(in_table, rows, ROW_COUNT);
        assert_finds(in_pool, rows, ROW_COUNT);
        mica_each (in_table, it) {
            const Health *health = mica_read_of(it, Health);
            const Shield *shield = mica_read_of(it, Shield);
            for (int32_t i = 0; i < it.count; i++) {
                assert_int_equal(shield == NULL, hidden_patterns[p] >> health[i].now & 1);
                assert_true(shield == NULL || shield[i].now == health[i].now);
            }
        }
        mica_each (in_pool, it) {
            const Health *health = mica_read_of(it, Health);
            const Glow *glow = mica_write_of(it, Glow);
            for (int32_t i = 0; i < it.count; i++) {
                assert_int_equal(glow == NULL, hidden_patterns[p] >> health[i].now & 1);
                assert_true(glow == NULL || glow[i].now == health[i].now);
            }
        }
    }
    watched_end(&w);
}

static void any_of_terms_hand_out_what_is_enabled(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[4];
    for (int32_t i = 0; i < 4; i++) {
        entities[i] = spawn_toggles(w.world, i);
    }
    // 0: both, 1: Shield alone, 2: Glow alone, 3: neither.
    assert_int_equal(mica_disable_component(w.world, entities[1], Glow), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, entities[2], Shield), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, entities[3], Shield), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, entities[3], Glow), MICA_OK);
    mica_query *query = mica_query_of(w.world, mica_read(Health), mica_any_read(1, Shield), mica_any_read(1, Glow));
    assert_finds(query, entities, 3);
    assert_misses(query, entities[3]);
    mica_each (query, it) {
        const Health *health = mica_read_of(it, Health);
        const Shield *shield = mica_read_of(it, Shield);
        const Glow *glow = mica_read_of(it, Glow);
        for (int32_t i = 0; i < it.count; i++) {
            assert_int_equal(shield != NULL, health[i].now != 2);
            assert_int_equal(glow != NULL, health[i].now != 1);
            assert_true(shield == NULL || shield[i].now == health[i].now);
            assert_true(glow == NULL || glow[i].now == health[i].now);
        }
    }
    watched_end(&w);
}

static void rows_with_a_disabled_component_are_passed_over(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity rows[ROW_COUNT];
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        rows[i] = spawn_toggles(w.world, i);
        assert_int_equal(mica_set(w.world, rows[i], Wired, {i}), MICA_OK);
    }
    for (int32_t t = 0; t < TOGGLE_COUNT; t++) {
        const mica_component id = mica_world_component(w.world, toggle_types[t]);
        mica_query *alone = query_by_uses(w.world, toggle_types[t], MICA_USE_WITH, MICA_USE_NONE);
        const mica_term terms[] = {{.component = id, .use = MICA_USE_WITH}, mica_read(Health), mica_read(Wired)};
        mica_query *beside = mica_query_find(w.world, terms, 3);
        for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
            mica_entity shown[ROW_COUNT];
            int32_t count = 0;
            for (int32_t i = 0; i < ROW_COUNT; i++) {
                const bool is_enabled = (hidden_patterns[p] >> i & 1) == 0;
                assert_int_equal(mica_entity_enable_component(w.world, rows[i], id, is_enabled), MICA_OK);
                if (is_enabled) {
                    shown[count++] = rows[i];
                }
            }
            assert_visits(alone, shown, count);
            assert_int_equal(assert_visits(beside, shown, count), runs_beside(hidden_patterns[p], ROW_COUNT));
            mica_each (beside, it) {
                const Health *health = mica_read_of(it, Health);
                for (int32_t i = 0; i < it.count; i++) {
                    assert_entity_equal(rows[health[i].now], it.entities[i]);
                }
            }
        }
        for (int32_t i = 0; i < ROW_COUNT; i++) {
            assert_int_equal(mica_entity_enable_component(w.world, rows[i], id, true), MICA_OK);
        }
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void what_a_walk_disables_is_left_out_of_the_next_one(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[6];
    for (int32_t i = 0; i < 6; i++) {
        entities[i] = spawn_toggles(w.world, i);
    }
    mica_query *query = mica_query_of(w.world, mica_read(Shield), mica_read(Glow));
    int32_t visited = 0;
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            visited++;
            mica_commands *commands = mica_iter_commands(it);
            if (mica_entity_equal(it.entities[i], entities[1])) {
                assert_int_equal(mica_disable(commands, it.entities[i]), MICA_OK);
            } else if (mica_entity_equal(it.entities[i], entities[2])) {
                assert_int_equal(mica_kill(commands, it.entities[i]), MICA_OK);
            } else if (mica_entity_equal(it.entities[i], entities[3])) {
                assert_int_equal(mica_disable_component(commands, it.entities[i], Shield), MICA_OK);
            } else if (mica_entity_equal(it.entities[i], entities[4])) {
                assert_int_equal(mica_disable_component(commands, it.entities[i], Glow), MICA_OK);
            }
        }
    }
    assert_int_equal(visited, 6);
    const mica_entity left[] = {entities[0], entities[5]};
    assert_finds(query, left, 2);
    watched_end(&w);
}

// Random churn against arrays: what queries find, and what validation counts.

enum { MODEL_MAX = 3000 };

typedef struct model_entity {
    mica_entity entity;
    bool has[TOGGLE_COUNT];
    bool is_off[TOGGLE_COUNT];
    bool is_disabled;
    bool is_killed;
} model_entity;

typedef struct model {
    mica_world *world;
    model_entity entities[MODEL_MAX];
    int32_t count;
    test_random random;
} model;

static void model_spawn(model *m) {
    model_entity *made = &m->entities[m->count++];
    *made = (model_entity){.entity = mica_spawn(m->world, mica_value_of(Health, {m->count}))};
    for (int32_t t = 0; t < TOGGLE_COUNT; t++) {
        if (test_random_below(&m->random, 2) == 0) {
            made->has[t] = true;
            assert_int_equal(
                mica_entity_add(m->world, made->entity, mica_world_component(m->world, toggle_types[t]), NULL),
                MICA_OK);
        }
    }
}

static void model_forget(model *m, int32_t i) {
    m->entities[i] = m->entities[--m->count];
}

static void model_change(model *m, model_entity *one, int32_t t) {
    const mica_component id = mica_world_component(m->world, toggle_types[t]);
    switch (test_random_below(&m->random, 4)) {
    case 0:
        assert_int_equal(mica_entity_add(m->world, one->entity, id, NULL), one->has[t] ? MICA_EXISTS : MICA_OK);
        one->has[t] = true;
        break;
    case 1:
        assert_int_equal(mica_entity_remove(m->world, one->entity, id), MICA_OK);
        one->has[t] = false;
        one->is_off[t] = false;
        break;
    default: {
        const bool enabled = test_random_below(&m->random, 2) == 0;
        assert_int_equal(mica_entity_enable_component(m->world, one->entity, id, enabled),
                         one->has[t] ? MICA_OK : MICA_ABSENT);
        one->is_off[t] = one->has[t] ? !enabled : one->is_off[t];
        break;
    }
    }
}

static void model_refresh(model *m) {
    int32_t killed = 0;
    for (int32_t i = m->count; i-- > 0;) {
        if (m->entities[i].is_killed) {
            killed++;
            model_forget(m, i);
        }
    }
    assert_int_equal(mica_refresh(m->world), killed);
}

static void model_step(model *m) {
    const uint32_t choice = test_random_below(&m->random, 16);
    if (m->count == 0 || (choice < 4 && m->count < MODEL_MAX - 1)) {
        model_spawn(m);
        return;
    }
    const int32_t i = (int32_t)test_random_below(&m->random, (uint32_t)m->count);
    model_entity *one = &m->entities[i];
    if (choice == 4) {
        assert_int_equal(mica_destroy(m->world, one->entity), MICA_OK);
        model_forget(m, i);
    } else if (choice == 5 && m->count < MODEL_MAX - 1) {
        model_entity copy = *one;
        copy.entity = mica_clone(m->world, one->entity);
        copy.is_killed = false;
        m->entities[m->count++] = copy;
    } else if (choice == 6) {
        assert_int_equal(mica_kill(m->world, one->entity), MICA_OK);
        one->is_killed = true;
    } else if (choice == 7 && test_random_below(&m->random, 20) == 0) {
        model_refresh(m);
    } else if (choice < 11) {
        one->is_disabled = test_random_below(&m->random, 2) == 0;
        assert_int_equal(mica_entity_enable(m->world, one->entity, !one->is_disabled), MICA_OK);
    } else {
        model_change(m, one, (int32_t)test_random_below(&m->random, TOGGLE_COUNT));
    }
}

// The query of one type with a use, beside which disabled entities are wanted or not.
static void model_compare(model *m, int32_t t, mica_use use, mica_use wanted) {
    static mica_entity expected[MODEL_MAX];
    int32_t count = 0;
    for (int32_t i = 0; i < m->count; i++) {
        const model_entity *one = &m->entities[i];
        const bool is_there = one->has[t] && !one->is_off[t];
        const bool matches = use == MICA_USE_WITH ? is_there : !is_there;
        const bool is_wanted =
            wanted == MICA_USE_DISABLED_TOO || one->is_disabled == (wanted == MICA_USE_DISABLED_ONLY);
        if (matches && is_wanted && !one->is_killed) {
            expected[count++] = one->entity;
        }
    }
    assert_finds(query_by_uses(m->world, toggle_types[t], use, wanted), expected, count);
}

// Threads that share the world may all walk over the query, which none of them may then change.
static void what_was_disabled_for_a_while_leaves_queries_ready_for_sharing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = spawn_toggles(w.world, 1);
    mica_query *query = mica_query_create(w.world, (const mica_term[]){mica_read(Shield), mica_read(Glow)}, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(mi_world_share(w.world, "test"), MICA_OK);
        assert_int_equal(query->toggles_active, 0);
        assert_true(query->table_bits.count > 0);
        mi_world_unshare(w.world);
        assert_int_equal(mica_disable_component(w.world, entity, Shield), MICA_OK);
        assert_int_equal(mica_query_count(query), 0);
        assert_int_equal(mica_enable_component(w.world, entity, Shield), MICA_OK);
    }
    mica_query_release(query);
    watched_end(&w);
}

static void queries_agree_with_arrays_under_random_churn(void **state) {
    (void)state;
    static model m;
    watched_world w;
    watched_begin(&w);
    memset(&m, 0, sizeof(m));
    m.world = w.world;
    m.random.state = 2024;
    for (int32_t step = 0; step < 12000; step++) {
        model_step(&m);
        if (step % 1500 == 1499) {
            for (int32_t t = 0; t < TOGGLE_COUNT; t++) {
                model_compare(&m, t, MICA_USE_WITH, MICA_USE_NONE);
                model_compare(&m, t, MICA_USE_WITH, MICA_USE_DISABLED_ONLY);
                model_compare(&m, t, MICA_USE_WITHOUT, MICA_USE_NONE);
                model_compare(&m, t, MICA_USE_WITHOUT, MICA_USE_DISABLED_TOO);
            }
            assert_valid(w.world);
        }
    }
    model_refresh(&m);
    assert_int_equal(mica_world_entity_count(w.world), m.count);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disabled_rows_are_left_out_wherever_they_stand),
        cmocka_unit_test(writing_between_disabled_rows_leaves_those_alone),
        cmocka_unit_test(a_chunk_of_disabled_rows_is_passed_over),
        cmocka_unit_test(a_query_says_whether_it_wants_the_disabled),
        cmocka_unit_test(who_has_no_row_is_left_out_as_well),
        cmocka_unit_test(no_query_finds_the_killed),
        cmocka_unit_test(disabled_entities_are_left_out_of_walks_over_pools),
        cmocka_unit_test(a_disabled_component_counts_as_absent_in_every_term),
        cmocka_unit_test(an_optional_component_that_is_disabled_is_reported_absent),
        cmocka_unit_test(any_of_terms_hand_out_what_is_enabled),
        cmocka_unit_test(rows_with_a_disabled_component_are_passed_over),
        cmocka_unit_test(what_a_walk_disables_is_left_out_of_the_next_one),
        cmocka_unit_test(what_was_disabled_for_a_while_leaves_queries_ready_for_sharing),
        cmocka_unit_test(queries_agree_with_arrays_under_random_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
