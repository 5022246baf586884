// Reading the positions of all entities of a world by one call, into an array that is then summed up, and writing them
// back by another one; by handles in random order. The limit of reading is that of get/random: it sums up what it finds
// where it finds it.
#include "crowd.h"
#include "limit_archetype.h"
#include "limit_pool.h"
#include "rows.h"

#include <stdlib.h>

typedef struct gather_state {
    bench_crowd *crowd;
    Position *values; // in the order of the handles
} gather_state;

static void tear_down(void *context) {
    gather_state *state = context;
    bench_crowd_tear_down(state->crowd);
    free(state->values);
    free(state);
}

static void *set_up_with(bench_crowd *crowd) {
    gather_state *state = crowd == NULL ? NULL : calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->crowd = crowd;
    state->values = malloc(crowd->n * sizeof *state->values);
    if (state->values == NULL) {
        tear_down(state);
        return NULL;
    }
    bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
    for (uint32_t i = 0; i < crowd->n; i++) {
        state->values[i] = bench_position(crowd->order[i]);
    }
    return state;
}

static void *set_up(int64_t n) {
    return set_up_with(bench_crowd_make(n));
}

static void *pool_set_up(int64_t n) {
    return set_up_with(bench_crowd_make_in_pools(n, 0, 0));
}

static void sum_up(gather_state *state) {
    float sum = 0;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        sum += state->values[i].x + state->values[i].y + state->values[i].z;
    }
    state->crowd->result = bench_mix_floats(0, sum, 0, 0);
}

static void run(void *context) {
    gather_state *state = context;
    const bench_crowd *crowd = state->crowd;
    if (mica_gather(crowd->world, crowd->entities, (int32_t)crowd->n, Position, state->values, NULL) ==
        (int32_t)crowd->n) {
        sum_up(state);
    }
}

static void pool_run(void *context) {
    gather_state *state = context;
    const bench_crowd *crowd = state->crowd;
    if (mica_gather(crowd->world, crowd->entities, (int32_t)crowd->n, PoolPosition, state->values, NULL) ==
        (int32_t)crowd->n) {
        sum_up(state);
    }
}

static uint64_t check(void *context) {
    const gather_state *state = context;
    return state->crowd->result;
}

// Writing back what was read leaves the world as it was.
static void scatter_run(void *context) {
    gather_state *state = context;
    const bench_crowd *crowd = state->crowd;
    state->crowd->result =
        (uint64_t)mica_scatter(crowd->world, crowd->entities, (int32_t)crowd->n, Position, state->values, NULL);
}

static uint64_t scatter_check(void *context) {
    const gather_state *state = context;
    const bench_crowd *crowd = state->crowd;
    uint64_t checksum = crowd->result;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Position *position = mica_get(crowd->world, crowd->created[i], Position);
        checksum = position == NULL ? 0 : bench_mix_position(checksum, position);
    }
    return checksum;
}

static const bench_side from_table = {.set_up = set_up, .run = run, .check = check, .tear_down = tear_down};
static const bench_side from_pool = {.set_up = pool_set_up, .run = pool_run, .check = check, .tear_down = tear_down};
static const bench_side scatter = {
    .set_up = set_up,
    .run = scatter_run,
    .check = scatter_check,
    .tear_down = tear_down,
};

static const bench_row rows[] = {
    {"gather/random", "main", 10000, "ns/entity", 10000, &from_table, &limit_get_random},
    {"gather/random", "main", 100000, "ns/entity", 100000, &from_table, &limit_get_random},
    {"gather/random", "main", 1000000, "ns/entity", 1000000, &from_table, &limit_get_random},
    {"gather/random", "pool", 100000, "ns/entity", 100000, &from_pool, &limit_pool_get},
    {"gather/random", "pool", 1000000, "ns/entity", 1000000, &from_pool, &limit_pool_get},
    {"gather/random", "scatter", 100000, "ns/entity", 100000, &scatter, &limit_scatter_random},
    {"gather/random", "scatter", 1000000, "ns/entity", 1000000, &scatter, &limit_scatter_random},
};

const bench_family bench_gather = {rows, (int32_t)(sizeof rows / sizeof *rows)};
