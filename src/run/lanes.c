// Deals out the steps of a range to threads: list scheduling, in which the step that the most time still follows from
// comes first, and goes to the lane in which it can begin first. (Hu, "Parallel sequencing and assembly line problems",
// 1961, for steps of any length; Graham 1969 bounds what it may lose.)
//
// That a step stays in its lane from one tick to the next matters as much as the balance: what it touches, and what is
// kept of it, then lies in the cache of the core that runs it. Who runs late or early at the moment is evened out while
// the range runs (batch.c), so lanes need not be right, only good.
//
// What a system of the main thread waits for comes before all that has none to wait for, as it may be long until that
// thread has a moment again.
//
// Invariants: a step's tail is longer than those of the steps that wait for it, or as long where numbers end, and equal
// ones keep the order of the plan: so a step is dealt out after all that it waits for.
#include "run/lanes.h"

#include "base/assert.h"
#include "base/sort.h"

// What a step costs beside what it does, about.
#define STEP_NANOSECONDS 50u
// Until another thread knows that a step has ended.
#define HANDOVER_NANOSECONDS 250u
// Until another thread has woken up.
#define WAKE_NANOSECONDS 5000u

bool mi_lanes_begin(mi_lanes_room *room, mi_heap *heap, uint32_t step_count) {
    room->nodes.count = 0;
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->nodes, step_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->items, step_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->spare, step_count)) {
        return false;
    }
    room->nodes.count = step_count;
    return true;
}

static bool reserve_lanes(mi_lanes *lanes, mi_lanes_room *room, mi_heap *heap, uint32_t lane_count) {
    return MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->free_from, lane_count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &lanes->order, room->nodes.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &lanes->main, room->nodes.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &lanes->ends, lane_count);
}

// Adds up the times, and finds the tails.
static uint64_t measure_tails(mi_lanes_room *room, const mi_plan *plan, uint32_t first, uint32_t end) {
    uint64_t total = 0;
    for (uint32_t i = end; i-- > first;) {
        const mi_plan_step *step = &plan->steps.data[i];
        mi_lanes_node *node = &room->nodes.data[i - first];
        node->nanoseconds += STEP_NANOSECONDS;
        node->tail = 0;
        for (uint32_t k = 0; k < step->waiter_count; k++) {
            const uint32_t later = plan->waiters.data[step->first_waiter + k];
            if (later < end && room->nodes.data[later - first].tail > node->tail) {
                node->tail = room->nodes.data[later - first].tail;
            }
        }
        node->tail += node->nanoseconds;
        total += node->nanoseconds;
    }
    return total;
}

// Puts the steps in the order in which they are dealt out, as the lower halves of `items`.
static void sort_by_tail(mi_lanes_room *room, const mi_plan *plan, uint32_t first) {
    for (uint32_t i = 0; i < room->nodes.count; i++) {
        const uint64_t tail = room->nodes.data[i].tail < INT32_MAX ? room->nodes.data[i].tail : INT32_MAX;
        const uint64_t is_late = plan->steps.data[first + i].leads_to_main_thread ? 0 : 1;
        room->items.data[i] = (is_late << 31 | (INT32_MAX - tail)) << 32 | i;
    }
    mi_sort_by_high_half(room->items.data, room->spare.data, room->nodes.count);
}

// When what a step waits for has ended.
typedef struct readiness {
    uint64_t here;      // as its lane knows
    uint64_t elsewhere; // as all others do
    uint32_t lane;
} readiness;

static readiness find_readiness(const mi_lanes_room *room, const mi_plan *plan, uint32_t first, uint32_t index) {
    const mi_plan_step *step = &plan->steps.data[first + index];
    readiness ready = {0};
    uint64_t second = 0; // the latest end in another lane than `lane`
    uint64_t latest = 0;
    for (uint32_t k = 0; k < step->wait_count; k++) {
        const uint32_t earlier = plan->waits.data[step->first_wait + k];
        if (earlier < first) {
            continue;
        }
        const mi_lanes_node *node = &room->nodes.data[earlier - first];
        if (node->end >= latest) {
            second = node->lane != ready.lane ? latest : second;
            latest = node->end;
            ready.lane = node->lane;
        } else if (node->lane != ready.lane && node->end > second) {
            second = node->end;
        }
    }
    ready.elsewhere = latest > 0 ? latest + HANDOVER_NANOSECONDS : 0;
    ready.here = second > 0 && second + HANDOVER_NANOSECONDS > latest ? second + HANDOVER_NANOSECONDS : latest;
    return ready;
}

// Gives a step to the lane in which it begins first; of several to the one that is free for the shortest time then.
static void deal_step(mi_lanes_room *room, const mi_plan *plan, uint32_t first, uint32_t index, uint32_t lane_count) {
    const readiness ready = find_readiness(room, plan, first, index);
    const bool is_main = plan->steps.data[first + index].system->main_thread;
    uint64_t best_begin = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t lane = 0; lane < (is_main ? 1 : lane_count); lane++) {
        const uint64_t known = lane == ready.lane ? ready.here : ready.elsewhere;
        const uint64_t free_from = room->free_from.data[lane];
        const uint64_t begin = known > free_from ? known : free_from;
        if (begin < best_begin || (begin == best_begin && free_from > room->free_from.data[best])) {
            best_begin = begin;
            best = lane;
        }
    }
    mi_lanes_node *node = &room->nodes.data[index];
    node->lane = best;
    node->end = best_begin + node->nanoseconds;
    room->free_from.data[best] = node->end;
}

// Lists the steps lane by lane, and those of the main thread, in the order in which they were dealt out.
static void list_lanes(mi_lanes *lanes, const mi_lanes_room *room, const mi_plan *plan, uint32_t first,
                       uint32_t lane_count) {
    const uint32_t count = room->nodes.count;
    uint32_t *ends = lanes->ends.data;
    for (uint32_t lane = 0; lane < lane_count; lane++) {
        ends[lane] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        ends[room->nodes.data[i].lane]++;
    }
    uint32_t begin = 0;
    for (uint32_t lane = 0; lane < lane_count; lane++) {
        const uint32_t own = ends[lane];
        ends[lane] = begin;
        begin += own;
    }
    lanes->main.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)room->items.data[i];
        lanes->order.data[ends[room->nodes.data[index].lane]++] = first + index;
        if (plan->steps.data[first + index].system->main_thread) {
            lanes->main.data[lanes->main.count++] = first + index;
        }
    }
    lanes->order.count = count;
    lanes->ends.count = lane_count;
}

bool mi_lanes_make(mi_lanes *lanes, mi_lanes_room *room, mi_heap *heap, const mi_plan *plan, uint32_t first,
                   uint32_t end, uint32_t lane_count) {
    MI_ASSERT(room->nodes.count == end - first && lane_count > 0);
    if (!reserve_lanes(lanes, room, heap, lane_count)) {
        return false;
    }
    lanes->total = measure_tails(room, plan, first, end);
    sort_by_tail(room, plan, first);
    for (uint32_t lane = 0; lane < lane_count; lane++) {
        room->free_from.data[lane] = lane == 0 ? 0 : WAKE_NANOSECONDS;
    }
    lanes->length = 0;
    for (uint32_t i = 0; i < end - first; i++) {
        const uint32_t index = (uint32_t)room->items.data[i];
        deal_step(room, plan, first, index, lane_count);
        const uint64_t node_end = room->nodes.data[index].end;
        lanes->length = lanes->length > node_end ? lanes->length : node_end;
    }
    list_lanes(lanes, room, plan, first, lane_count);
    return true;
}

void mi_lanes_free(mi_lanes *lanes, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &lanes->order);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &lanes->ends);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &lanes->main);
}

void mi_lanes_room_free(mi_lanes_room *room, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->nodes);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->items);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->spare);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->free_from);
}
