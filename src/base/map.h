// A hash map from something the caller owns to a 32-bit value (an index into the caller's array): open addressing with
// linear probing and backward-shift deletion over (hash, value) pairs. Equality is the caller's. Order of walking is
// never shown to users.
#pragma once

#include "base/heap.h"

#define MI_MAP_NONE UINT32_MAX

typedef struct mi_map_cell {
    uint32_t hash;
    uint32_t value; // MI_MAP_NONE: empty
} mi_map_cell;

typedef struct mi_map {
    mi_map_cell *cells;
    uint32_t capacity; // 0 or a power of two
    uint32_t count;
} mi_map;

// Whether the thing that `value` stands for equals the one looked up.
typedef bool (*mi_map_equal)(const void *context, uint32_t value);

uint32_t mi_map_find(const mi_map *map, uint64_t hash, mi_map_equal equal, const void *context);
// Room for `extra` more; false when out of memory.
bool mi_map_reserve(mi_map *map, mi_heap *heap, mica_memory_purpose purpose, uint32_t extra);
// Needs room reserved, and that the thing is not in the map.
void mi_map_insert(mi_map *map, uint64_t hash, uint32_t value);
// Takes the cell with exactly this hash and value out; nothing if there is none.
void mi_map_remove(mi_map *map, uint64_t hash, uint32_t value);
// Gives back the room that the map does not need, if there is memory to move it to.
void mi_map_shrink(mi_map *map, mi_heap *heap, mica_memory_purpose purpose);
void mi_map_free(mi_map *map, mi_heap *heap, mica_memory_purpose purpose);

// Hashes that do not depend on addresses or seeds.
uint64_t mi_hash_bytes(const void *bytes, size_t byte_size);
static inline uint64_t mi_hash_mix(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}
