// The plan of a tick: which system runs when, and where commands are applied.
#pragma once

#include <mica/system.h>

#include "base/array.h"

// What decides a system's places in the plan. The lists of names end at the first NULL or when they are full; a name
// that nobody has is no constraint.
typedef struct mi_plan_system {
    const char *name; // no other system of the plan has it
    uint32_t place_count;
    mica_system_place places[1 + MICA_SYSTEM_STAGE_MAX]; // no stage twice
    const char *before[MICA_SYSTEM_ORDER_MAX];
    const char *after[MICA_SYSTEM_ORDER_MAX];
} mi_plan_system;

typedef struct mi_plan_step {
    const mi_plan_system *system; // NULL: a barrier
    mica_stage stage;
} mi_plan_step;

typedef struct mi_plan_name {
    const char *name;
    uint32_t system_index;
} mi_plan_name;

// A system in the stage that is being planned.
typedef struct mi_plan_node {
    const mi_plan_system *system;
    int32_t priority;
    uint32_t first_edge;    // to nodes that must come later
    uint32_t waiting_count; // nodes that must come earlier and are not planned yet, once for each constraint
    uint32_t earlier_step;  // of the plan: where the last of those that must come earlier was planned
} mi_plan_node;

typedef struct mi_plan_edge {
    uint32_t earlier, later; // nodes
    uint32_t next;           // of the same earlier node
} mi_plan_edge;

// Zero is an empty plan. All but `steps` and `cycle` is room for making the next one.
typedef struct mi_plan {
    MI_ARRAY(mi_plan_step) steps;
    MI_ARRAY(const mi_plan_system *)
    cycle;                               // after MICA_CYCLE: each must run before the next, the last before the first
    MI_ARRAY(mi_plan_name) names;        // ascending
    MI_ARRAY(uint32_t) nodes_of_systems; // in the stage that is being planned
    MI_ARRAY(mi_plan_node) nodes;        // of that stage, in order of addition
    MI_ARRAY(mi_plan_edge) edges;
    MI_ARRAY(uint32_t) ready; // heap of nodes that wait for nobody
} mi_plan;

// Plans `systems`, given in order of addition, over `stages`, given in order of running. MICA_OK; MICA_CYCLE or
// MICA_OUT_OF_MEMORY, with no steps. Sets no error. O(stages * systems + constraints * log(systems)).
mica_result mi_plan_make(mi_plan *plan, mi_heap *heap, const mica_stage *stages, uint32_t stage_count,
                         const mi_plan_system *const *systems, uint32_t system_count);
void mi_plan_free(mi_plan *plan, mi_heap *heap);
