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
