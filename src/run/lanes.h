// Lanes: which thread is to run which steps of a range of a plan, and in which order, by what they usually take.
#pragma once

#include "run/plan.h"

// A step while lanes are made.
typedef struct mi_lanes_node {
    uint64_t nanoseconds; // that it takes
    uint64_t tail;        // until the last step that follows from it has ended, its own time with it
    uint64_t end;         // from the beginning of the range
    uint32_t lane;
} mi_lanes_node;

// Room for making lanes, kept from one time to the next.
typedef struct mi_lanes_room {
    MI_ARRAY(mi_lanes_node) nodes;   // by step - first; those who ask fill in the nanoseconds
    MI_ARRAY(uint64_t) items, spare; // for sorting
    MI_ARRAY(uint64_t) free_from;    // by lane: nanoseconds from the beginning of the range
} mi_lanes_room;

// Zero has no lanes. Lane 0 is that of the main thread.
typedef struct mi_lanes {
    MI_ARRAY(uint32_t) order; // steps, lane by lane
    MI_ARRAY(uint32_t) ends;  // by lane: where it ends in `order`; it begins where the one before it ends
    MI_ARRAY(uint32_t) main;  // the steps of the main thread, in order
    uint64_t total;           // nanoseconds that the steps take one after another
    uint64_t length;          // and in these lanes
} mi_lanes;

// Makes the nodes of a range of so many steps. False: out of memory. Sets no error.
bool mi_lanes_begin(mi_lanes_room *room, mi_heap *heap, uint32_t step_count);
// Makes `lane_count` lanes for the plan's steps from `first` up to `end`, for which the room was begun. Each lane's
// order agrees with what waits for what: of all steps that have not run, one stands first in its lane and waits for
// none. False: out of memory; the lanes are void. Sets no error. O(steps + waits + steps * lanes).
bool mi_lanes_make(mi_lanes *lanes, mi_lanes_room *room, mi_heap *heap, const mi_plan *plan, uint32_t first,
                   uint32_t end, uint32_t lane_count);

void mi_lanes_free(mi_lanes *lanes, mi_heap *heap);
void mi_lanes_room_free(mi_lanes_room *room, mi_heap *heap);
