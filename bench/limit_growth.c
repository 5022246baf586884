// The limit of memory: the minimal archetype storage of limit_archetype.c, but made for no known number of entities.
// Its arrays (slots, handles, two columns) begin small and double when they are full. Handles are as wide as Mica's.
#include "limit_growth.h"

#include "limit_entity.h"
#include "workload.h"

#include <stdlib.h>

enum { CAPACITY_FIRST = 64 };

typedef struct limit_arrays {
    limit_slot *slots;
    mica_entity *entities;
    Position *positions;
    Velocity *velocities;
    size_t count;
    size_t capacity;
} limit_arrays;

static void tear_down(void *context) {
    limit_arrays *arrays = context;
    free(arrays->slots);
    free(arrays->entities);
    free(arrays->positions);
    free(arrays->velocities);
    free(arrays);
}

// The array with room for so many, or as it was, and `failed` set.
static void *array_grow(void *array, size_t capacity, size_t element_size, bool *failed) {
    void *grown = realloc(array, capacity * element_size);
    if (grown == NULL) {
        *failed = true;
        return array;
    }
    return grown;
}

static bool arrays_grow(limit_arrays *arrays) {
    const size_t capacity = arrays->capacity == 0 ? CAPACITY_FIRST : 2 * arrays->capacity;
    bool failed = false;
    arrays->slots = array_grow(arrays->slots, capacity, sizeof *arrays->slots, &failed);
    arrays->entities = array_grow(arrays->entities, capacity, sizeof *arrays->entities, &failed);
    arrays->positions = array_grow(arrays->positions, capacity, sizeof *arrays->positions, &failed);
    arrays->velocities = array_grow(arrays->velocities, capacity, sizeof *arrays->velocities, &failed);
    if (!failed) {
        arrays->capacity = capacity;
    }
    return !failed;
}

static void *set_up(int64_t n) {
    limit_arrays *arrays = calloc(1, sizeof *arrays);
    while (arrays != NULL && arrays->count < (size_t)n) {
        if (arrays->count == arrays->capacity && !arrays_grow(arrays)) {
            tear_down(arrays);
            return NULL;
        }
        const uint32_t row = (uint32_t)arrays->count++;
        arrays->slots[row] = (limit_slot){0, row};
        arrays->entities[row] = MICA_NULL;
        arrays->positions[row] = bench_position(row);
        arrays->velocities[row] = bench_velocity(row);
    }
    return arrays;
}

static uint64_t weigh(void *context) {
    const limit_arrays *arrays = context;
    return arrays->capacity *
           (sizeof *arrays->slots + sizeof *arrays->entities + sizeof *arrays->positions + sizeof *arrays->velocities);
}

const bench_side limit_growth = {.set_up = set_up, .tear_down = tear_down, .weigh = weigh};
