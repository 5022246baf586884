// Thousands of tables: 10,000 of 10 rows, each `Data` and a subset of 14 components of four bytes. What it costs to
// walk them, to make a query of them and walk it once, to build them, and what they take.
//
// A world is built the way a program does it that knows no prepared sets: an entity is created, gets its `Data`, and
// then each component of its subset by a call of its own, in one order. So it goes through the tables of all prefixes
// of its subset: the subsets are the numbers from 0 to 9,999, bit by bit from the lowest, and what a number is without
// its highest bits is a smaller number, so that there are no other tables than those. Entities come table by table.
#include "limit_walk.h"
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

// clang-format off
#define PARTS(DO) \
    DO(Part1) DO(Part2) DO(Part3) DO(Part4) DO(Part5) DO(Part6) DO(Part7) DO(Part8) DO(Part9) DO(Part10) DO(Part11) \
    DO(Part12) DO(Part13) DO(Part14)
// clang-format on
#define PART_DECLARE(T) MICA_STRUCT(T, { uint32_t value; });
#define PART_TYPE(T) mica_type_of(T),

PARTS(PART_DECLARE)

static mica_type *const parts[] = {PARTS(PART_TYPE)};

enum { PART_COUNT = sizeof parts / sizeof parts[0], ENTITY_COUNT = BENCH_SUBSET_COUNT * BENCH_SUBSET_ROW_COUNT };

_Static_assert(BENCH_SUBSET_COUNT <= 1 << PART_COUNT, "there are as many subsets");

typedef struct subsets {
    mica_world *world;
    mica_query *query;
    mica_component part_ids[PART_COUNT];
    uint32_t n;
} subsets;

static void build(const subsets *state) {
    for (uint32_t i = 0; i < state->n; i++) {
        const uint32_t subset = i / BENCH_SUBSET_ROW_COUNT;
        const Data data = {i};
        const mica_entity entity = mica_create(state->world);
        mica_set_from(state->world, entity, Data, &data);
        for (uint32_t k = 0; subset >> k != 0; k++) {
            if ((subset >> k & 1) != 0) {
                mica_entity_set(state->world, entity, state->part_ids[k], &i);
            }
        }
    }
}

static void empty_tear_down(void *context) {
    subsets *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    free(state);
}

// Ends the world, if there is one, and makes another one without entities, whose components are known.
static bool world_renew(subsets *state) {
    mica_query_release(state->query);
    state->query = NULL;
    mica_world_destroy(state->world);
    state->world = mica_world_create(NULL);
    bool is_whole = state->world != NULL && mica_register(state->world, Data) != 0;
    for (uint32_t k = 0; k < PART_COUNT && is_whole; k++) {
        state->part_ids[k] = mica_world_register(state->world, parts[k]);
        is_whole = state->part_ids[k] != 0;
    }
    return is_whole;
}

static subsets *empty_make(int64_t n) {
    subsets *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    if (!world_renew(state)) {
        empty_tear_down(state);
        return NULL;
    }
    return state;
}

static void *built_set_up(int64_t n) {
    subsets *state = empty_make(n);
    if (state != NULL) {
        build(state);
        state->query = mica_query_create(state->world, &mica_write(Data), 1);
    }
    return state;
}

static void walk(const subsets *state) {
    mica_each (state->query, it) {
        bench_advance(mica_write_of(it, Data), it.count);
    }
}

static void walk_run(void *context) {
    walk(context);
}

// Does not depend on the order of tables, which the limit does not have.
static uint64_t sum_check(void *context) {
    const subsets *state = context;
    uint64_t checksum = 0;
    mica_query *query = state->world == NULL ? NULL : mica_query_find(state->world, &mica_read(Data), 1);
    mica_each (query, it) {
        const Data *data = mica_read_of(it, Data);
        for (int32_t i = 0; i < it.count; i++) {
            checksum += bench_mix(0, data[i].value);
        }
    }
    return checksum;
}

static const bench_side walk_subsets = {
    .set_up = built_set_up,
    .run = walk_run,
    .check = sum_check,
    .tear_down = empty_tear_down,
};

// A world whose tables nobody has walked yet: nothing about them is in order, and no query knows them.
static void unwalked_prepare(void *context) {
    subsets *state = context;
    if (world_renew(state)) {
        build(state);
    }
}

static void *unwalked_set_up(int64_t n) {
    return empty_make(n);
}

static void query_run(void *context) {
    subsets *state = context;
    if (state->world != NULL) {
        state->query = mica_query_create(state->world, &mica_write(Data), 1);
        walk(state);
    }
}

static const bench_side make_query = {
    .set_up = unwalked_set_up,
    .prepare = unwalked_prepare,
    .run = query_run,
    .check = sum_check,
    .tear_down = empty_tear_down,
};

// The same beside a query that has been walked: the tables are in order, and the new query alone does not know them.
static void walked_prepare(void *context) {
    subsets *state = context;
    mica_query_release(state->query);
    state->query = NULL;
    if (state->world != NULL) {
        mica_world_trim(state->world);
    }
}

static void *walked_set_up(int64_t n) {
    return built_set_up(n);
}

static const bench_side make_second_query = {
    .set_up = walked_set_up,
    .prepare = walked_prepare,
    .run = query_run,
    .check = sum_check,
    .tear_down = empty_tear_down,
};

static void empty_prepare(void *context) {
    world_renew(context);
}

static void build_run(void *context) {
    const subsets *state = context;
    if (state->world != NULL) {
        build(state);
    }
}

static const bench_side build_tables = {
    .set_up = unwalked_set_up,
    .prepare = empty_prepare,
    .run = build_run,
    .check = sum_check,
    .tear_down = empty_tear_down,
};

// Tables and their chunks, without the entity index.
static uint64_t tables_weigh(void *context) {
    const subsets *state = context;
    const mica_memory_usage usage = mica_world_memory(state->world);
    return usage.bytes[MICA_MEMORY_TABLES] + usage.bytes[MICA_MEMORY_CHUNKS];
}

static uint64_t all_weigh(void *context) {
    const subsets *state = context;
    return mica_world_memory(state->world).total;
}

static const bench_side weigh_tables = {.set_up = built_set_up, .tear_down = empty_tear_down, .weigh = tables_weigh};
static const bench_side weigh_all = {.set_up = built_set_up, .tear_down = empty_tear_down, .weigh = all_weigh};

static const bench_row rows[] = {
    {"walk/fragmented/10k", "main", ENTITY_COUNT, "ns/entity", ENTITY_COUNT, &walk_subsets, &limit_walk_subsets},
    {"query/create/10k", "main", ENTITY_COUNT, "ms/query", 1, &make_query, NULL},
    {"query/create/10k", "tables in order", ENTITY_COUNT, "ms/query", 1, &make_second_query, NULL},
    {"table/create", "main", ENTITY_COUNT, "ns/entity", ENTITY_COUNT, &build_tables, NULL},
    {"table/memory", "main", ENTITY_COUNT, "bytes/table", BENCH_SUBSET_COUNT, &weigh_tables, NULL},
    {"table/memory", "with entities", ENTITY_COUNT, "bytes/table", BENCH_SUBSET_COUNT, &weigh_all, NULL},
};

const bench_family bench_fragmented = {rows, (int32_t)(sizeof rows / sizeof *rows)};
