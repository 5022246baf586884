// The sorted entities of an order, which walks that are open hold as well: what is sorted anew meanwhile is another
// list.
#pragma once

#include "world/world.h"

typedef struct mi_sorted {
    uint32_t holder_count; // the order, and open walks
    uint32_t count;
    uint32_t capacity;
    mica_entity entities[];
} mi_sorted;

// Gives a list back; NULL is allowed. The last one frees it.
void mi_sorted_release(mi_sorted *sorted, mi_heap *heap);

// A state was restored: what orders know of who matches is void. Keys are compared by outside versions and notes.
void mi_world_forget_orders(mica_world *world);
