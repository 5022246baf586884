// The limit of walks: the arrays a program would have if it knew its entities beforehand.
//
// The loops themselves are those of workload.h, which Mica's side runs too, so that a difference in how the compiler
// treats a loop cannot come from how it is written. The two columns of the movement loop are in pages of 2 MiB, as
// Mica's large chunks and pools are: what is compared is the walk, not the page size. The arrays of the fragmented walk
// are allocated one by one, each with its own length.
#include "limit_walk.h"

#include "machine.h"
#include "workload.h"

#include <stdlib.h>

typedef struct limit_columns {
    Position *positions;
    Velocity *velocities;
    int32_t count;
} limit_columns;

static void columns_free(void *context) {
    limit_columns *columns = context;
    bench_pages_free(columns->positions, (size_t)columns->count, sizeof *columns->positions);
    bench_pages_free(columns->velocities, (size_t)columns->count, sizeof *columns->velocities);
    free(columns);
}

// The columns of `count` entities of a world, every `step`th one.
static void *columns_make(int64_t count, uint32_t step) {
    limit_columns *columns = calloc(1, sizeof *columns);
    if (columns == NULL) {
        return NULL;
    }
    columns->count = (int32_t)count;
    columns->positions = bench_pages_allocate((size_t)count, sizeof *columns->positions, BENCH_PAGES_2_MIB);
    columns->velocities = bench_pages_allocate((size_t)count, sizeof *columns->velocities, BENCH_PAGES_2_MIB);
    if (columns->positions == NULL || columns->velocities == NULL) {
        columns_free(columns);
        return NULL;
    }
    for (int32_t i = 0; i < columns->count; i++) {
        columns->positions[i] = bench_position((uint32_t)i * step);
        columns->velocities[i] = bench_velocity((uint32_t)i * step);
    }
    return columns;
}

static void *all_columns_make(int64_t n) {
    return columns_make(n, 1);
}

static void *half_columns_make(int64_t n) {
    return columns_make(n / 2, 2);
}

static void columns_run(void *context) {
    const limit_columns *columns = context;
    bench_move(columns->positions, columns->velocities, columns->count);
}

static uint64_t columns_check(void *context) {
    const limit_columns *columns = context;
    uint64_t checksum = 0;
    for (int32_t i = 0; i < columns->count; i++) {
        checksum = bench_mix_position(checksum, &columns->positions[i]);
    }
    return checksum;
}

const bench_side limit_walk_two = {
    .set_up = all_columns_make,
    .run = columns_run,
    .check = columns_check,
    .tear_down = columns_free,
};

const bench_side limit_walk_half = {
    .set_up = half_columns_make,
    .run = columns_run,
    .check = columns_check,
    .tear_down = columns_free,
};

typedef struct limit_array {
    Data *data;
    int32_t count;
} limit_array;

typedef struct limit_arrays {
    limit_array arrays[BENCH_TABLE_COUNT];
} limit_arrays;

static void arrays_free(void *context) {
    limit_arrays *state = context;
    for (int32_t i = 0; i < BENCH_TABLE_COUNT; i++) {
        free(state->arrays[i].data);
    }
    free(state);
}

static void *arrays_make(int64_t n) {
    limit_arrays *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    const int32_t count = (int32_t)n / BENCH_TABLE_COUNT;
    for (int32_t i = 0; i < BENCH_TABLE_COUNT; i++) {
        limit_array *array = &state->arrays[i];
        array->data = calloc((size_t)count, sizeof *array->data);
        if (array->data == NULL) {
            arrays_free(state);
            return NULL;
        }
        array->count = count;
        for (int32_t k = 0; k < count; k++) {
            array->data[k].value = (uint32_t)(i * count + k);
        }
    }
    return state;
}

static void arrays_run(void *context) {
    const limit_arrays *state = context;
    for (int32_t i = 0; i < BENCH_TABLE_COUNT; i++) {
        bench_advance(state->arrays[i].data, state->arrays[i].count);
    }
}

static uint64_t arrays_check(void *context) {
    const limit_arrays *state = context;
    uint64_t checksum = 0;
    for (int32_t i = 0; i < BENCH_TABLE_COUNT; i++) {
        for (int32_t k = 0; k < state->arrays[i].count; k++) {
            checksum += bench_mix(0, state->arrays[i].data[k].value);
        }
    }
    return checksum;
}

const bench_side limit_walk_fragmented = {
    .set_up = arrays_make,
    .run = arrays_run,
    .check = arrays_check,
    .tear_down = arrays_free,
};
