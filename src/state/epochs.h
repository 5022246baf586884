// Epochs: which handles that were kept as mica_ref are still good.
//
// A world numbers its epochs from 1 on and begins a new one with every snapshot that is taken of it and every state
// that is restored. Restoring makes the world forget all epochs after the snapshot's: what was seen then never was. The
// epochs that count are a list of ranges; it is immutable, and snapshots share it.
#pragma once

#include "base/heap.h"

typedef struct mi_epoch_range {
    uint64_t first;
    uint64_t last;
} mi_epoch_range;

typedef struct mi_epochs {
    uint32_t reference_count;
    uint32_t count;
    mi_heap *heap;
    mi_epoch_range ranges[]; // ascending, apart from each other
} mi_epochs;
