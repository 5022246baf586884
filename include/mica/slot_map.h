/// \file slot_map.h
/// A container with keys that never lie: values packed in memory, named by index and generation.
///
/// Insert, find and remove are O(1); walking is over a plain array. Removing moves the last value into the hole. A key
/// is never issued twice; slots whose generations are used up are retired. Owned by one thread at a time.
#pragma once

#include <mica/memory.h>
#include <mica/result.h>

MICA_BEGIN

/// The key of a value; all zero is null.
typedef struct mica_key {
    uint32_t index;
    uint32_t generation;
} mica_key;

typedef struct mica_slot_map mica_slot_map;

/// Makes an empty map of values of `value_size` bytes (a multiple of `value_align`, not 0) at multiples of
/// `value_align` (a power of two up to `MICA_ALIGN_MAX`). `allocator` may be NULL; then the default one serves. NULL:
/// `MICA_INVALID`, `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_slot_map *mica_slot_map_create(uint32_t value_size, uint32_t value_align,
                                             const mica_allocator *allocator);

/// Ends a map. NULL is allowed. O(1).
MICA_API void mica_slot_map_destroy(mica_slot_map *map);

/// Inserts a copy of `value` (zeros if NULL; may be a value of this map) and returns its key; null: `MICA_INVALID`
/// (`map` is NULL), `MICA_OUT_OF_MEMORY`, `MICA_LIMIT` (2^31 - 1 slots are in use or retired). Invalidates pointers to
/// values. O(1), amortised.
MICA_API mica_key mica_slot_map_insert(mica_slot_map *map, const void *value);

/// Removes a value. Refuses: `MICA_STALE`, `MICA_INVALID` (`map` is NULL). Invalidates pointers to the removed and the
/// last value. O(1).
MICA_API mica_result mica_slot_map_remove(mica_slot_map *map, mica_key key);

/// The value of a key, or NULL if the key is null or stale (no error). O(1).
MICA_API void *mica_slot_map_find(const mica_slot_map *map, mica_key key);

/// How many values there are. O(1).
MICA_API uint32_t mica_slot_map_count(const mica_slot_map *map);

/// The values as an array of `mica_slot_map_count`; NULL if there never were any or room for them. O(1).
MICA_API void *mica_slot_map_values(const mica_slot_map *map);

/// The key of the value at `position` of the array; null if there is none. O(1).
MICA_API mica_key mica_slot_map_key_at(const mica_slot_map *map, uint32_t position);

/// Removes all values; their keys become stale. O(count).
MICA_API void mica_slot_map_clear(mica_slot_map *map);

/// Makes room for `count` values in all, so that inserting up to that many allocates nothing while no slot is retired.
/// Refuses: `MICA_OUT_OF_MEMORY`, `MICA_LIMIT`, `MICA_INVALID` (`map` is NULL). Invalidates pointers to values.
/// O(count).
MICA_API mica_result mica_slot_map_reserve(mica_slot_map *map, uint32_t count);

MICA_END
