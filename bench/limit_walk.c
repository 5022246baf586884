// The limit of walks: the arrays a program would have if it knew its entities beforehand.
//
// The loops themselves are those of workload.h, which Mica's side runs too, so that a difference in how the compiler
// treats a loop cannot come from how it is written. The two columns of the movement loop are in pages of 2 MiB, as
// Mica's large chunks and pools are: what is compared is the walk, not the page size; for walks over several mixes of
// components they are in pages of 4 KiB too, which is what a program gets that does not ask. The arrays of the
// fragmented walk are allocated one by one, each with its own length.
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
static void *columns_make(int64_t count, uint32_t step, bench_page_size page_size) {
    limit_columns *columns = calloc(1, sizeof *columns);
    if (columns == NULL) {
        return NULL;
    }
    columns->count = (int32_t)count;
    columns->positions = bench_pages_allocate((size_t)count, sizeof *columns->positions, page_size);
    columns->velocities = bench_pages_allocate((size_t)count, sizeof *columns->velocities, page_size);
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
    return columns_make(n, 1, BENCH_PAGES_2_MIB);
}

static void *half_columns_make(int64_t n) {
    return columns_make(n / 2, 2, BENCH_PAGES_2_MIB);
}

static void *all_small_pages_make(int64_t n) {
    return columns_make(n, 1, BENCH_PAGES_4_KIB);
}

static void *half_small_pages_make(int64_t n) {
    return columns_make(n / 2, 2, BENCH_PAGES_4_KIB);
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

const bench_side limit_walk_two_small_pages = {
    .set_up = all_small_pages_make,
    .run = columns_run,
    .check = columns_check,
    .tear_down = columns_free,
};

const bench_side limit_walk_half_small_pages = {
    .set_up = half_small_pages_make,
    .run = columns_run,
    .check = columns_check,
    .tear_down = columns_free,
};

enum { LANE_COUNT = 6 };

// Positions and velocities, an array a field.
typedef struct limit_lanes {
    float *lanes[LANE_COUNT];
    int32_t count;
} limit_lanes;

static void lanes_free(void *context) {
    limit_lanes *state = context;
    for (int32_t i = 0; i < LANE_COUNT; i++) {
        bench_pages_free(state->lanes[i], (size_t)state->count, sizeof(float));
    }
    free(state);
}

static void *lanes_make(int64_t n) {
    limit_lanes *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->count = (int32_t)n;
    for (int32_t i = 0; i < LANE_COUNT; i++) {
        state->lanes[i] = bench_pages_allocate((size_t)n, sizeof(float), BENCH_PAGES_2_MIB);
        if (state->lanes[i] == NULL) {
            lanes_free(state);
            return NULL;
        }
    }
    for (int32_t i = 0; i < state->count; i++) {
        const Position position = bench_position((uint32_t)i);
        const Velocity velocity = bench_velocity((uint32_t)i);
        const float values[LANE_COUNT] = {position.x, position.y, position.z, velocity.x, velocity.y, velocity.z};
        for (int32_t k = 0; k < LANE_COUNT; k++) {
            state->lanes[k][i] = values[k];
        }
    }
    return state;
}

static void lanes_run(void *context) {
    const limit_lanes *state = context;
    float *const *lanes = state->lanes;
    bench_move_lanes(lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5], state->count);
}

static uint64_t lanes_check(void *context) {
    const limit_lanes *state = context;
    uint64_t checksum = 0;
    for (int32_t i = 0; i < state->count; i++) {
        checksum = bench_mix_floats(checksum, state->lanes[0][i], state->lanes[1][i], state->lanes[2][i]);
    }
    return checksum;
}

const bench_side limit_walk_lanes = {
    .set_up = lanes_make,
    .run = lanes_run,
    .check = lanes_check,
    .tear_down = lanes_free,
};

typedef struct limit_array {
    Data *data;
    int32_t count;
} limit_array;

typedef struct limit_arrays {
    int32_t array_count;
    limit_array arrays[];
} limit_arrays;

static void arrays_free(void *context) {
    limit_arrays *state = context;
    for (int32_t i = 0; i < state->array_count; i++) {
        free(state->arrays[i].data);
    }
    free(state);
}

// `array_count` arrays of `count` values each.
static void *arrays_make(int32_t array_count, int32_t count) {
    limit_arrays *state = calloc(1, sizeof *state + (size_t)array_count * sizeof *state->arrays);
    if (state == NULL) {
        return NULL;
    }
    state->array_count = array_count;
    for (int32_t i = 0; i < array_count; i++) {
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

static void *few_arrays_make(int64_t n) {
    return arrays_make(BENCH_TABLE_COUNT, (int32_t)n / BENCH_TABLE_COUNT);
}

static void *many_arrays_make(int64_t n) {
    return arrays_make((int32_t)n / BENCH_SUBSET_ROW_COUNT, BENCH_SUBSET_ROW_COUNT);
}

static void arrays_run(void *context) {
    const limit_arrays *state = context;
    for (int32_t i = 0; i < state->array_count; i++) {
        bench_advance(state->arrays[i].data, state->arrays[i].count);
    }
}

static uint64_t arrays_check(void *context) {
    const limit_arrays *state = context;
    uint64_t checksum = 0;
    for (int32_t i = 0; i < state->array_count; i++) {
        for (int32_t k = 0; k < state->arrays[i].count; k++) {
            checksum += bench_mix(0, state->arrays[i].data[k].value);
        }
    }
    return checksum;
}

const bench_side limit_walk_fragmented = {
    .set_up = few_arrays_make,
    .run = arrays_run,
    .check = arrays_check,
    .tear_down = arrays_free,
};

const bench_side limit_walk_subsets = {
    .set_up = many_arrays_make,
    .run = arrays_run,
    .check = arrays_check,
    .tear_down = arrays_free,
};
