// Reading the positions of all entities of a world by calls for BATCH_SIZE of them, into an array that is then summed
// up, and writing them back; by handles in random order. The limit of reading is that of get/random: it sums up what it
// finds where it finds it.
#include "crowd.h"
#include "limit_archetype.h"
#include "limit_pool.h"
#include "rows.h"

#include <stdlib.h>

enum { BATCH_SIZE = 1024 };

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

static void sum_up(const Position *values, uint32_t count, float *sum) {
    for (uint32_t i = 0; i < count; i++) {
        *sum += values[i].x + values[i].y + values[i].z;
    }
}

static uint32_t batch_size(const bench_crowd *crowd, uint32_t first) {
    const uint32_t rest = crowd->n - first;
    return rest < BATCH_SIZE ? rest : BATCH_SIZE;
}

static void run(void *context) {
    gather_state *state = context;
    bench_crowd *crowd = state->crowd;
    int32_t found_count = 0;
    float sum = 0;
    for (uint32_t first = 0; first < crowd->n; first += BATCH_SIZE) {
        const uint32_t count = batch_size(crowd, first);
        Position values[BATCH_SIZE];
        found_count += mica_gather(crowd->world, crowd->entities + first, (int32_t)count, Position, values, NULL);
        sum_up(values, count, &sum);
    }
    crowd->result = found_count == (int32_t)crowd->n ? bench_mix_floats(0, sum, 0, 0) : 0;
}

static void pool_run(void *context) {
    gather_state *state = context;
    bench_crowd *crowd = state->crowd;
    int32_t found_count = 0;
    float sum = 0;
    for (uint32_t first = 0; first < crowd->n; first += BATCH_SIZE) {
        const uint32_t count = batch_size(crowd, first);
        Position values[BATCH_SIZE];
        found_count += mica_gather(crowd->world, crowd->entities + first, (int32_t)count, PoolPosition, values, NULL);
        sum_up(values, count, &sum);
    }
    crowd->result = found_count == (int32_t)crowd->n ? bench_mix_floats(0, sum, 0, 0) : 0;
}

// All values in one array, which is larger than the cache.
static void whole_run(void *context) {
    gather_state *state = context;
    bench_crowd *crowd = state->crowd;
    const int32_t n = (int32_t)crowd->n;
    float sum = 0;
    if (mica_gather(crowd->world, crowd->entities, n, Position, state->values, NULL) == n) {
        sum_up(state->values, crowd->n, &sum);
    }
    crowd->result = bench_mix_floats(0, sum, 0, 0);
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
static const bench_side whole = {.set_up = set_up, .run = whole_run, .check = check, .tear_down = tear_down};
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
    {"gather/random", "whole", 1000000, "ns/entity", 1000000, &whole, &limit_get_random},
    {"gather/random", "pool", 100000, "ns/entity", 100000, &from_pool, &limit_pool_get},
    {"gather/random", "pool", 1000000, "ns/entity", 1000000, &from_pool, &limit_pool_get},
    {"gather/random", "scatter", 100000, "ns/entity", 100000, &scatter, &limit_scatter_random},
    {"gather/random", "scatter", 1000000, "ns/entity", 1000000, &scatter, &limit_scatter_random},
};

const bench_family bench_gather = {rows, (int32_t)(sizeof rows / sizeof *rows)};
