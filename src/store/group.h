// Groups: pools that keep the entities which have a set of pool components (and lack another) packed in front, all in
// the same order.
//
// Invariants: the first `count` elements of every owned pool are the members, the same entity at the same position in
// each; nobody else is one. A pool has one owner at most, and none if it is stable. Membership follows from the masks
// alone: all bits of `all` and none of `none`.
#pragma once

#include "store/pool.h"

typedef struct mi_group {
    uint32_t count; // members
    uint32_t owned_count;
    mi_pool **owned;
    uint32_t word_count;    // of the masks below; pools made later have no bit in them
    uint64_t *all;          // must be there: the owned ones and others
    uint64_t *none;         // must not be there
    char *name;             // for messages: "[own] Position, Velocity, !Frozen"
    size_t allocation_size; // of this struct with its arrays
} mi_group;
