// Emptying a world of n entities by one call: entities with a position and a velocity in a table, and entities with a
// position in a pool alone.
//
// The world is filled anew before every run, in memory that it has held before.
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

typedef struct emptied {
    mica_world *world;
    uint32_t n;
    mica_entity last; // of those created last
} emptied;

static void tear_down(void *context) {
    emptied *state = context;
    mica_world_destroy(state->world);
    free(state);
}

static void *set_up(int64_t n) {
    emptied *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->world = mica_world_create(NULL);
    if (state->world == NULL) {
        tear_down(state);
        return NULL;
    }
    return state;
}

static void tables_prepare(void *context) {
    emptied *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        const mica_value values[] = {{mica_type_of(Position), &position, 0, 0},
                                     {mica_type_of(Velocity), &velocity, 0, 0}};
        state->last = mica_entity_spawn(state->world, values, 2);
    }
}

static void pool_prepare(void *context) {
    emptied *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        const PoolPosition position = bench_position(i);
        const mica_value values[] = {{mica_type_of(PoolPosition), &position, 0, 0}};
        state->last = mica_entity_spawn(state->world, values, 1);
    }
}

static void run(void *context) {
    const emptied *state = context;
    mica_world_clear(state->world);
}

static uint64_t check(void *context) {
    const emptied *state = context;
    return bench_mix((uint64_t)mica_world_entity_count(state->world), mica_alive(state->world, state->last));
}

static const bench_side in_tables = {
    .set_up = set_up,
    .prepare = tables_prepare,
    .run = run,
    .check = check,
    .tear_down = tear_down,
};

static const bench_side in_pool = {
    .set_up = set_up,
    .prepare = pool_prepare,
    .run = run,
    .check = check,
    .tear_down = tear_down,
};

static const bench_row rows[] = {
    {"clear", "main", 1000000, "ns/entity", 1000000, &in_tables, NULL},
    {"clear", "pool", 1000000, "ns/entity", 1000000, &in_pool, NULL},
};

const bench_family bench_clear = {rows, (int32_t)(sizeof rows / sizeof *rows)};
