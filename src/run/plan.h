// The plan of a tick: which system runs when, where commands are applied, and which systems may run side by side.
#pragma once

#include <mica/system.h>

#include "world/access.h"

// What decides a system's places in the plan. The lists of names end at the first NULL or when they are full; a name
// that nobody has is no constraint.
typedef struct mi_plan_system {
    const char *name; // no other system of the plan has it
    bool exclusive;   // runs alone
    bool main_thread; // runs on the thread that steps the world
    uint32_t place_count;
    mica_system_place places[1 + MICA_SYSTEM_STAGE_MAX]; // no stage twice
    const char *before[MICA_SYSTEM_ORDER_MAX];
    const char *after[MICA_SYSTEM_ORDER_MAX];
    mi_access access;
} mi_plan_system;

typedef struct mi_plan_step {
    const mi_plan_system *system; // NULL: a barrier
    mica_stage stage;
    uint32_t first_wait, wait_count;     // in `waits`: the earlier steps of its batch that it waits for, ascending
    uint32_t first_waiter, waiter_count; // in `waiters`: the later ones that wait for it, ascending
    bool leads_to_main_thread;           // one of the main thread waits for it, or for one that does
} mi_plan_step;

// Steps that follow each other between barriers and exclusive systems. Each may run as soon as those that it waits for
// have ended: of two that conflict, or that both belong to the main thread, the later one waits for the earlier one, or
// for one that does.
typedef struct mi_plan_batch {
    uint32_t first, end; // steps, all of them systems
} mi_plan_batch;

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

// Who touched a component last. Steps from before the batch that is being looked at mean nobody.
typedef struct mi_plan_touch {
    uint32_t writer; // step
    uint32_t reader; // in `readers`: the last one since then
} mi_plan_touch;

typedef struct mi_plan_reader {
    uint32_t step;
    uint32_t next; // the one before it, of the same component
} mi_plan_reader;

typedef struct mi_plan_pair {
    uint32_t earlier, later; // steps
} mi_plan_pair;

// Zero is an empty plan. All behind `cycle` is room for making the next one.
typedef struct mi_plan {
    MI_ARRAY(mi_plan_step) steps;
    MI_ARRAY(mi_plan_batch) batches; // in order of their steps; with barriers and exclusive systems they are all steps
    MI_ARRAY(uint32_t) waits;        // steps
    MI_ARRAY(uint32_t) waiters;      // steps
    MI_ARRAY(const mi_plan_system *)
    cycle;                               // after MICA_CYCLE: each must run before the next, the last before the first
    MI_ARRAY(mi_plan_name) names;        // ascending
    MI_ARRAY(uint32_t) nodes_of_systems; // in the stage that is being planned
    MI_ARRAY(mi_plan_node) nodes;        // of that stage, in order of addition
    MI_ARRAY(mi_plan_edge) edges;
    MI_ARRAY(uint32_t) ready;        // heap of nodes that wait for nobody
    MI_ARRAY(mi_plan_touch) touches; // by component
    MI_ARRAY(mi_plan_reader) readers;
    MI_ARRAY(mi_plan_pair) pairs; // of whom the later one waits for the earlier one
} mi_plan;

// Plans `systems`, given in order of addition, over `stages`, given in order of running. MICA_OK; MICA_CYCLE or
// MICA_OUT_OF_MEMORY, with no steps. Sets no error. O(stages * systems + constraints * log(systems) + what systems
// touch + components).
mica_result mi_plan_make(mi_plan *plan, mi_heap *heap, const mica_stage *stages, uint32_t stage_count,
                         const mi_plan_system *const *systems, uint32_t system_count);
void mi_plan_free(mi_plan *plan, mi_heap *heap);

// Parts of that, for who looks at the constraints of a stage: first the names, then for a stage its nodes and the edges
// between them. The systems are the same each time. False: out of memory. They set no error.
bool mi_plan_add_names(mi_plan *plan, mi_heap *heap, const mi_plan_system *const *systems, uint32_t count);
bool mi_plan_add_stage(mi_plan *plan, mi_heap *heap, mica_stage stage, const mi_plan_system *const *systems,
                       uint32_t count);

// Finds the batches among the steps, and who waits for whom. False: out of memory. Sets no error. See batches.c.
bool mi_plan_add_batches(mi_plan *plan, mi_heap *heap);
