// Handles and entity slots of the hand-written storages.
#pragma once

#include <stdint.h>

typedef struct limit_entity {
    uint32_t index;
    uint32_t generation;
} limit_entity;

typedef struct limit_slot {
    uint32_t generation;
    uint32_t row; ///< Of a free slot: the next free slot, 0 at the end.
} limit_slot;

/// A function that is told of every entity that gets a component.
typedef struct limit_listener {
    void (*call)(void *user, limit_entity entity, const void *value);
    void *user;
} limit_listener;

/// A listener's function; `user` points to what it counts in.
static inline void limit_count_call(void *user, limit_entity entity, const void *value) {
    uint64_t *count = (uint64_t *)user;
    (void)value;
    *count += entity.index != 0;
}
