// Epochs: which handles that were kept as mica_ref are still good.
//
// A world numbers its epochs from 1 on and begins a new one with every snapshot that is taken of it and every state
// that is restored. Restoring makes the world forget all epochs after the snapshot's: what was seen then never was. The
// epochs that count are the present range and a list of ranges before it. Lists are immutable and shared by snapshots.
#pragma once

#include "state/image.h"

typedef struct mi_epoch_range {
    uint64_t first;
    uint64_t last;
} mi_epoch_range;

typedef struct mi_epochs {
    mi_vault *vault; // holds a reference
    uint32_t reference_count;
    uint32_t count;
    mi_epoch_range ranges[]; // ascending, apart from each other
} mi_epochs;

// All of them take NULL for an empty list.
mi_epochs *mi_epochs_retain(mi_epochs *epochs);
void mi_epochs_release(mi_epochs *epochs);
// A new list with one more range behind the others; NULL: out of memory.
mi_epochs *mi_epochs_extend(mi_vault *vault, const mi_epochs *epochs, mi_epoch_range range);
// O(log ranges).
bool mi_epochs_have(const mi_epochs *epochs, uint64_t epoch);
