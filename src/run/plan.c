// Makes the plan of a tick out of what systems ask for. A function of its arguments alone: the same systems, added in
// the same order, give the same plan on every machine.
//
// Each stage is planned by itself, in topological order of the constraints between systems that are both in it; among
// those that are ready the one of highest priority comes first, then the one added first. A stage with systems ends
// with a barrier, so commands never wait beyond their stage. Within a stage a barrier stands right before a system that
// must run after one planned since the last barrier. Looking at direct constraints is enough for that: where A comes
// before C by way of B, the barrier before B has applied what A recorded.
//
// Invariants while a stage is planned: node numbers ascend in order of addition; nodes_of_systems is NO_NODE for
// systems outside the stage; a node is in `ready` or planned exactly if its waiting_count is 0.
#include "run/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define NO_NODE UINT32_MAX
#define NO_EDGE UINT32_MAX
#define NO_STEP UINT32_MAX

static int compare_names(const void *a, const void *b) {
    return strcmp(((const mi_plan_name *)a)->name, ((const mi_plan_name *)b)->name);
}

// The node of the system called `name` in the stage that is being planned.
static uint32_t find_node(const mi_plan *plan, const char *name) {
    const mi_plan_name key = {.name = name};
    const mi_plan_name *found =
        bsearch(&key, plan->names.data, plan->names.count, sizeof(*plan->names.data), compare_names);
    return found == NULL ? NO_NODE : plan->nodes_of_systems.data[found->system_index];
}

// Whether node a is planned before node b when both are ready.
static bool comes_first(const mi_plan *plan, uint32_t a, uint32_t b) {
    const int32_t priority_a = plan->nodes.data[a].priority;
    const int32_t priority_b = plan->nodes.data[b].priority;
    return priority_a != priority_b ? priority_a > priority_b : a < b;
}

static void push_ready(mi_plan *plan, uint32_t node) {
    uint32_t *heap = plan->ready.data;
    uint32_t hole = plan->ready.count++;
    while (hole > 0 && comes_first(plan, node, heap[(hole - 1) / 2])) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = node;
}

static uint32_t pop_ready(mi_plan *plan) {
    uint32_t *heap = plan->ready.data;
    const uint32_t top = heap[0];
    const uint32_t moved = heap[--plan->ready.count];
    uint32_t hole = 0;
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child + 1 < plan->ready.count && comes_first(plan, heap[child + 1], heap[child])) {
            child++;
        }
        if (child >= plan->ready.count || comes_first(plan, moved, heap[child])) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = moved;
    return top;
}

bool mi_plan_add_names(mi_plan *plan, mi_heap *heap, const mi_plan_system *const *systems, uint32_t count) {
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->names, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->nodes_of_systems, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        plan->names.data[i] = (mi_plan_name){systems[i]->name, i};
    }
    plan->names.count = count;
    plan->nodes_of_systems.count = count;
    if (count > 1) {
        qsort(plan->names.data, count, sizeof(*plan->names.data), compare_names);
    }
    return true;
}

static bool add_node(mi_plan *plan, mi_heap *heap, const mi_plan_system *system, int32_t priority) {
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->nodes, (size_t)plan->nodes.count + 1)) {
        return false;
    }
    plan->nodes.data[plan->nodes.count++] = (mi_plan_node){
        .system = system, .priority = priority, .first_edge = NO_EDGE, .waiting_count = 0, .earlier_step = NO_STEP};
    return true;
}

// Makes the nodes of a stage and says which systems they belong to; the nodes of the stage before are forgotten.
static bool add_nodes(mi_plan *plan, mi_heap *heap, mica_stage stage, const mi_plan_system *const *systems,
                      uint32_t count) {
    plan->nodes.count = 0;
    plan->edges.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        plan->nodes_of_systems.data[i] = NO_NODE;
        for (uint32_t k = 0; k < systems[i]->place_count; k++) {
            if (systems[i]->places[k].stage == stage) {
                plan->nodes_of_systems.data[i] = plan->nodes.count;
                if (!add_node(plan, heap, systems[i], systems[i]->places[k].priority)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool add_edge(mi_plan *plan, mi_heap *heap, uint32_t earlier, uint32_t later) {
    if (earlier == NO_NODE || later == NO_NODE) {
        return true;
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->edges, (size_t)plan->edges.count + 1)) {
        return false;
    }
    mi_plan_node *node = &plan->nodes.data[earlier];
    plan->edges.data[plan->edges.count] = (mi_plan_edge){earlier, later, node->first_edge};
    node->first_edge = plan->edges.count++;
    plan->nodes.data[later].waiting_count++;
    return true;
}

static bool add_edges(mi_plan *plan, mi_heap *heap) {
    for (uint32_t node = 0; node < plan->nodes.count; node++) {
        const mi_plan_system *system = plan->nodes.data[node].system;
        for (uint32_t i = 0; i < MICA_SYSTEM_ORDER_MAX && system->before[i] != NULL; i++) {
            if (!add_edge(plan, heap, node, find_node(plan, system->before[i]))) {
                return false;
            }
        }
        for (uint32_t i = 0; i < MICA_SYSTEM_ORDER_MAX && system->after[i] != NULL; i++) {
            if (!add_edge(plan, heap, find_node(plan, system->after[i]), node)) {
                return false;
            }
        }
    }
    return true;
}

bool mi_plan_add_stage(mi_plan *plan, mi_heap *heap, mica_stage stage, const mi_plan_system *const *systems,
                       uint32_t count) {
    return add_nodes(plan, heap, stage, systems, count) && add_edges(plan, heap);
}

// Names a cycle among the nodes that could not be planned. Each of them waits for another one, so going back from any
// of them comes to a node that was met before.
static mica_result find_cycle(mi_plan *plan, mi_heap *heap) {
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->cycle, plan->nodes.count)) {
        return MICA_OUT_OF_MEMORY;
    }
    // The places of steps are not needed any more: they now hold a node that each one waits for.
    uint32_t node = NO_NODE;
    for (uint32_t i = plan->edges.count; i-- > 0;) {
        const mi_plan_edge *edge = &plan->edges.data[i];
        if (plan->nodes.data[edge->earlier].waiting_count > 0 && plan->nodes.data[edge->later].waiting_count > 0) {
            plan->nodes.data[edge->later].earlier_step = edge->earlier;
            node = edge->later;
        }
    }
    MI_ASSERT(node != NO_NODE);
    for (uint32_t i = 0; i < plan->nodes.count; i++) {
        node = plan->nodes.data[node].earlier_step;
    }
    // After as many steps back as there are nodes, this one is on the cycle.
    const uint32_t last = node;
    do {
        plan->cycle.data[plan->cycle.count++] = plan->nodes.data[node].system;
        node = plan->nodes.data[node].earlier_step;
    } while (node != last);
    for (uint32_t i = 0, k = plan->cycle.count - 1; i < k; i++, k--) {
        const mi_plan_system *swapped = plan->cycle.data[i];
        plan->cycle.data[i] = plan->cycle.data[k];
        plan->cycle.data[k] = swapped;
    }
    return MICA_CYCLE;
}

static void add_step(mi_plan *plan, const mi_plan_system *system, mica_stage stage) {
    MI_ASSERT(plan->steps.count < plan->steps.capacity);
    plan->steps.data[plan->steps.count++] = (mi_plan_step){.system = system, .stage = stage};
}

// Puts the nodes of the stage into the plan.
static mica_result order_nodes(mi_plan *plan, mi_heap *heap, mica_stage stage) {
    const uint32_t count = plan->nodes.count;
    // At most one barrier before each system, and one at the end.
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->ready, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->steps, (size_t)plan->steps.count + 2 * (size_t)count + 1)) {
        return MICA_OUT_OF_MEMORY;
    }
    plan->ready.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (plan->nodes.data[i].waiting_count == 0) {
            push_ready(plan, i);
        }
    }
    uint32_t planned_count = 0;
    uint32_t unapplied_step = plan->steps.count; // commands of systems from this step on wait for a barrier
    for (; plan->ready.count > 0; planned_count++) {
        const mi_plan_node *node = &plan->nodes.data[pop_ready(plan)];
        if (node->earlier_step != NO_STEP && node->earlier_step >= unapplied_step) {
            add_step(plan, NULL, stage);
            unapplied_step = plan->steps.count;
        }
        for (uint32_t edge = node->first_edge; edge != NO_EDGE; edge = plan->edges.data[edge].next) {
            const uint32_t later = plan->edges.data[edge].later;
            plan->nodes.data[later].earlier_step = plan->steps.count;
            if (--plan->nodes.data[later].waiting_count == 0) {
                push_ready(plan, later);
            }
        }
        add_step(plan, node->system, stage);
    }
    if (planned_count < count) {
        return find_cycle(plan, heap);
    }
    add_step(plan, NULL, stage);
    return MICA_OK;
}

mica_result mi_plan_make(mi_plan *plan, mi_heap *heap, const mica_stage *stages, uint32_t stage_count,
                         const mi_plan_system *const *systems, uint32_t system_count) {
    plan->steps.count = 0;
    plan->batches.count = 0;
    plan->cycle.count = 0;
    mica_result result = mi_plan_add_names(plan, heap, systems, system_count) ? MICA_OK : MICA_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < stage_count && result == MICA_OK; i++) {
        if (!mi_plan_add_stage(plan, heap, stages[i], systems, system_count)) {
            result = MICA_OUT_OF_MEMORY;
        } else if (plan->nodes.count > 0) {
            result = order_nodes(plan, heap, stages[i]);
        }
    }
    if (result == MICA_OK && !mi_plan_add_batches(plan, heap)) {
        result = MICA_OUT_OF_MEMORY;
    }
    if (result != MICA_OK) {
        plan->steps.count = 0;
        plan->batches.count = 0;
    }
    return result;
}

void mi_plan_free(mi_plan *plan, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->steps);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->batches);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->waits);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->waiters);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->cycle);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->names);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->nodes_of_systems);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->nodes);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->edges);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->ready);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->touches);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->readers);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &plan->pairs);
}
