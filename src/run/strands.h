// Strands: which thread is to run which steps of a range of a plan, and in which order, by what they usually take.
#pragma once

#include "run/plan.h"

// A step while strands are made.
typedef struct mi_strands_node {
    uint64_t nanoseconds; // that it takes
    uint64_t tail;        // until the last step that follows from it has ended, its own time with it
    uint64_t end;         // from the beginning of the range
    uint32_t strand;
} mi_strands_node;

// Room for making strands, kept from one time to the next.
typedef struct mi_strands_room {
    MI_ARRAY(mi_strands_node) nodes; // by step - first; those who ask fill in the nanoseconds
    MI_ARRAY(uint64_t) items, spare; // for sorting
    MI_ARRAY(uint64_t) free_from;    // by strand: nanoseconds from the beginning of the range
} mi_strands_room;

// Zero has no strands. Strand 0 is that of the main thread.
typedef struct mi_strands {
    MI_ARRAY(uint32_t) order; // steps, strand by strand
    MI_ARRAY(uint32_t) ends;  // by strand: where it ends in `order`; it begins where the one before it ends
    MI_ARRAY(uint32_t) main;  // the steps of the main thread, in order
    uint64_t total;           // nanoseconds that the steps take one after another
    uint64_t length;          // and in these strands
} mi_strands;

// Makes the nodes of a range of so many steps. False: out of memory. Sets no error.
bool mi_strands_begin(mi_strands_room *room, mi_heap *heap, uint32_t step_count);
// Makes `strand_count` strands for the plan's steps from `first` up to `end`, for which the room was begun. Each
// strand's order agrees with what waits for what: of all steps that have not run, one stands first in its strand and
// waits for none. False: out of memory; the strands are void. Sets no error. O(steps + waits + steps * strands).
bool mi_strands_make(mi_strands *strands, mi_strands_room *room, mi_heap *heap, const mi_plan *plan, uint32_t first,
                     uint32_t end, uint32_t strand_count);

void mi_strands_free(mi_strands *strands, mi_heap *heap);
void mi_strands_room_free(mi_strands_room *room, mi_heap *heap);
