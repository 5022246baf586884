// The layout of mica_slot_map, for its own file and its tests.
#pragma once

#include <mica/slot_map.h>

#include "base/array.h"

typedef struct mi_map_slot {
    uint32_t generation; // of the key that names the slot now or, while it is free, next
    uint32_t place;      // position of the value, or MI_MAP_SLOT_FREE | index of the next free slot
} mi_map_slot;

#define MI_MAP_SLOT_FREE (UINT32_C(1) << 31)
#define MI_MAP_SLOT_NONE (MI_MAP_SLOT_FREE - 1) // in place of a next free slot: there is none
#define MI_MAP_SLOT_LIMIT MI_MAP_SLOT_NONE      // most slots, and so most values

struct mica_slot_map {
    mi_heap heap;
    uint32_t value_size, value_align;
    uint32_t generation_limit; // the last one issued; tests lower it
    uint32_t free_head;        // the slot freed last, or MI_MAP_SLOT_NONE
    uint32_t free_count;       // retired slots are not among them
    MI_ARRAY(void) values;
    MI_ARRAY(uint32_t) owners; // slot of the value at each position; as many as values
    MI_ARRAY(mi_map_slot) slots;
};
