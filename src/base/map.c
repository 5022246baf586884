// A hash map of (hash, value) pairs in one array of cells, with linear probing.
//
// Invariants: capacity is 0 or a power of two of at least 16, and at most three quarters of the cells are filled, so
// that every probe ends at an empty one. No cell between a pair's home (its hash, cut to the capacity) and its place is
// empty; removal restores that by moving pairs backwards, which keeps look-ups short without tombstones. Cells keep the
// hash, so growing never asks the caller to hash again, and most pairs that differ are told apart without a call.
#include "base/map.h"

#include <string.h>

#include "base/assert.h"

enum { CAPACITY_LEAST = 16 };
#define CAPACITY_MOST (UINT32_C(1) << 31)

static uint32_t fold(uint64_t hash) {
    return (uint32_t)(hash ^ hash >> 32);
}

static void insert_cell(mi_map_cell *cells, uint32_t mask, mi_map_cell cell) {
    uint32_t place = cell.hash & mask;
    while (cells[place].value != MI_MAP_NONE) {
        place = (place + 1) & mask;
    }
    cells[place] = cell;
}

uint32_t mi_map_find(const mi_map *map, uint64_t hash, mi_map_equal equal, const void *context) {
    if (map->capacity == 0) {
        return MI_MAP_NONE;
    }
    const uint32_t mask = map->capacity - 1;
    const uint32_t folded = fold(hash);
    for (uint32_t place = folded & mask; map->cells[place].value != MI_MAP_NONE; place = (place + 1) & mask) {
        const mi_map_cell cell = map->cells[place];
        if (cell.hash == folded && equal(context, cell.value)) {
            return cell.value;
        }
    }
    return MI_MAP_NONE;
}

// Moves the pairs to `capacity` cells, which are enough for them.
static bool resize(mi_map *map, mi_heap *heap, mica_memory_purpose purpose, uint32_t capacity) {
    size_t byte_size;
    if (!mi_size_product(capacity, sizeof(mi_map_cell), &byte_size)) {
        return false;
    }
    mi_map_cell *cells = mi_heap_allocate(heap, purpose, byte_size, _Alignof(mi_map_cell));
    if (cells == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < capacity; i++) {
        cells[i] = (mi_map_cell){.value = MI_MAP_NONE};
    }
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->cells[i].value != MI_MAP_NONE) {
            insert_cell(cells, capacity - 1, map->cells[i]);
        }
    }
    mi_heap_release(heap, purpose, map->cells, map->capacity * sizeof(mi_map_cell), _Alignof(mi_map_cell));
    map->cells = cells;
    map->capacity = capacity;
    return true;
}

bool mi_map_reserve(mi_map *map, mi_heap *heap, mica_memory_purpose purpose, uint32_t extra) {
    const uint64_t need = (uint64_t)map->count + extra;
    if (need <= map->capacity / 4 * 3) {
        return true;
    }
    uint32_t capacity = map->capacity < CAPACITY_LEAST ? CAPACITY_LEAST : map->capacity;
    while (need > capacity / 4 * 3) {
        if (capacity == CAPACITY_MOST) {
            return false;
        }
        capacity *= 2;
    }
    return resize(map, heap, purpose, capacity);
}

void mi_map_shrink(mi_map *map, mi_heap *heap, mica_memory_purpose purpose) {
    if (map->count == 0) {
        mi_map_free(map, heap, purpose);
        return;
    }
    uint32_t capacity = CAPACITY_LEAST;
    while (map->count > capacity / 4 * 3) {
        capacity *= 2;
    }
    if (capacity < map->capacity) {
        (void)resize(map, heap, purpose, capacity);
    }
}

void mi_map_insert(mi_map *map, uint64_t hash, uint32_t value) {
    MI_ASSERT(value != MI_MAP_NONE);
    MI_ASSERT(map->count < map->capacity / 4 * 3);
    insert_cell(map->cells, map->capacity - 1, (mi_map_cell){.hash = fold(hash), .value = value});
    map->count++;
}

void mi_map_remove(mi_map *map, uint64_t hash, uint32_t value) {
    if (map->capacity == 0 || value == MI_MAP_NONE) {
        return;
    }
    mi_map_cell *cells = map->cells;
    const uint32_t mask = map->capacity - 1;
    const uint32_t folded = fold(hash);
    uint32_t hole = folded & mask;
    while (cells[hole].hash != folded || cells[hole].value != value) {
        if (cells[hole].value == MI_MAP_NONE) {
            return;
        }
        hole = (hole + 1) & mask;
    }
    // A later pair of the run may fill the hole if that is no nearer than its home.
    for (uint32_t place = (hole + 1) & mask; cells[place].value != MI_MAP_NONE; place = (place + 1) & mask) {
        const uint32_t distance_from_home = (place - cells[place].hash) & mask;
        const uint32_t distance_from_hole = (place - hole) & mask;
        if (distance_from_home >= distance_from_hole) {
            cells[hole] = cells[place];
            hole = place;
        }
    }
    cells[hole].value = MI_MAP_NONE;
    map->count--;
}

void mi_map_free(mi_map *map, mi_heap *heap, mica_memory_purpose purpose) {
    mi_heap_release(heap, purpose, map->cells, map->capacity * sizeof(mi_map_cell), _Alignof(mi_map_cell));
    *map = (mi_map){.cells = NULL};
}

uint64_t mi_hash_bytes(const void *bytes, size_t byte_size) {
    const unsigned char *rest = bytes;
    uint64_t hash = mi_hash_mix(byte_size + 1);
    uint64_t word = 0;
    for (; byte_size >= sizeof(word); byte_size -= sizeof(word), rest += sizeof(word)) {
        memcpy(&word, rest, sizeof(word));
        hash = mi_hash_mix(hash ^ word);
    }
    if (byte_size > 0) {
        word = 0;
        memcpy(&word, rest, byte_size);
        hash = mi_hash_mix(hash ^ word);
    }
    return hash;
}
