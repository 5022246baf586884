// Destroying entities with three components in pools, in order of creation, in a world of 200 pools; beside it the
// same, by Mica as well, in a world of just these three: what it costs that there are others.
//
// The three pools are the first, the middle and the last one of their world. One entity, which stays, is in all pools.
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

enum { POOL_COUNT_MOST = 200, POOLS_OF_ENTITY = 3 };

typedef struct crowded {
    mica_world *world;
    mica_entity *entities;
    uint32_t n;
    uint32_t pool_count;
    mica_component pools[POOL_COUNT_MOST];
    uint64_t result;
} crowded;

// A world whose pools are all in use. Failures leave it with fewer entities than the other side has, which the checks
// report.
static void world_make(crowded *state) {
    state->world = mica_world_create(NULL);
    if (state->world == NULL) {
        return;
    }
    const mica_entity everywhere = mica_create(state->world);
    const Data data = {1};
    for (uint32_t i = 0; i < state->pool_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "Pool%u", (unsigned)i);
        state->pools[i] =
            mica_schema_register_named(mica_world_schema(state->world), mica_type_of(PoolData), name, NULL);
        mica_entity_set(state->world, everywhere, state->pools[i], &data);
    }
}

static void tear_down(void *context) {
    crowded *state = context;
    mica_world_destroy(state->world);
    bench_pages_free(state->entities, state->n, sizeof *state->entities);
    free(state);
}

static void *set_up(int64_t n, uint32_t pool_count) {
    crowded *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->pool_count = pool_count;
    state->entities = bench_pages_allocate(state->n, sizeof *state->entities, BENCH_PAGES_4_KIB);
    if (state->entities == NULL) {
        tear_down(state);
        return NULL;
    }
    return state;
}

static void *set_up_many(int64_t n) {
    return set_up(n, POOL_COUNT_MOST);
}

static void *set_up_few(int64_t n) {
    return set_up(n, POOLS_OF_ENTITY);
}

// A new world every time, as for the other ways to destroy.
static void prepare(void *context) {
    crowded *state = context;
    mica_world_destroy(state->world);
    world_make(state);
    const mica_component components[POOLS_OF_ENTITY] = {state->pools[0], state->pools[state->pool_count / 2],
                                                        state->pools[state->pool_count - 1]};
    for (uint32_t i = 0; state->world != NULL && i < state->n; i++) {
        const Data data = {i};
        mica_value values[POOLS_OF_ENTITY];
        for (int32_t k = 0; k < POOLS_OF_ENTITY; k++) {
            values[k] = (mica_value){NULL, &data, components[k], 0};
        }
        state->entities[i] = mica_entity_spawn(state->world, values, POOLS_OF_ENTITY);
    }
}

static void run(void *context) {
    crowded *state = context;
    uint64_t result = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        result += mica_destroy(state->world, state->entities[i]) == MICA_OK;
    }
    state->result = result;
}

static uint64_t check(void *context) {
    const crowded *state = context;
    uint64_t checksum = bench_mix(state->result, (uint64_t)mica_world_entity_count(state->world));
    checksum = bench_mix(checksum, (uint64_t)mica_pool_count(state->world, state->pools[0]));
    return bench_mix(checksum, (uint64_t)mica_pool_count(state->world, state->pools[state->pool_count - 1]));
}

static const bench_side among_many = {
    .set_up = set_up_many,
    .prepare = prepare,
    .run = run,
    .check = check,
    .tear_down = tear_down,
};

static const bench_side among_few = {
    .set_up = set_up_few,
    .prepare = prepare,
    .run = run,
    .check = check,
    .tear_down = tear_down,
};

static const bench_row rows[] = {
    {"destroy/pools", "main", 100000, "ns/entity", 100000, &among_many, &among_few},
};

const bench_family bench_destroy_pools = {rows, (int32_t)(sizeof rows / sizeof *rows)};
