// Deals out the steps of a range to threads: list scheduling, in which the step that the most time still follows from
// comes first, and goes to the strand in which it can begin first. (Hu, "Parallel sequencing and assembly line
// problems", 1961, where all steps are of one length; Graham 1969 bounds what may be lost with any.)
//
// That a step stays in its strand from one tick to the next matters as much as the balance: what it touches, and what
// is kept of it, then lies in the cache of the core that runs it. Who runs late or early at the moment is evened out
// while the range runs (runners.c), so strands need not be right, only good.
//
// What a system of the main thread waits for comes before all that has none to wait for, as it may be long until that
// thread has a moment again.
//
// Invariants: a step's tail is longer than those of the steps that wait for it, or as long where numbers end, and equal
// ones keep the order of the plan: so a step is dealt out after all that it waits for.
#include "run/strands.h"

#include "base/assert.h"
#include "base/sort.h"

// What a step costs beside what it does, about.
#define STEP_NANOSECONDS 50u
// Until another thread knows that a step has ended.
#define HANDOVER_NANOSECONDS 250u
// Until another thread has woken up.
#define WAKE_NANOSECONDS 5000u

bool mi_strands_begin(mi_strands_room *room, mi_heap *heap, uint32_t step_count) {
    room->nodes.count = 0;
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->nodes, step_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->items, step_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->spare, step_count)) {
        return false;
    }
    room->nodes.count = step_count;
    return true;
}

static bool reserve_strands(mi_strands *strands, mi_strands_room *room, mi_heap *heap, uint32_t strand_count) {
    return MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &room->free_from, strand_count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &strands->order, room->nodes.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &strands->main, room->nodes.count) &&
           MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &strands->ends, strand_count);
}

// Adds up the times, and finds the tails.
static uint64_t measure_tails(mi_strands_room *room, const mi_plan *plan, uint32_t first, uint32_t end) {
    uint64_t total = 0;
    for (uint32_t i = end; i-- > first;) {
        const mi_plan_step *step = &plan->steps.data[i];
        mi_strands_node *node = &room->nodes.data[i - first];
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
static void sort_by_tail(mi_strands_room *room, const mi_plan *plan, uint32_t first) {
    for (uint32_t i = 0; i < room->nodes.count; i++) {
        const uint64_t tail = room->nodes.data[i].tail < INT32_MAX ? room->nodes.data[i].tail : INT32_MAX;
        const uint64_t is_late = plan->steps.data[first + i].leads_to_main_thread ? 0 : 1;
        room->items.data[i] = (is_late << 31 | (INT32_MAX - tail)) << 32 | i;
    }
    mi_sort_by_high_half(room->items.data, room->spare.data, room->nodes.count);
}

// When what a step waits for has ended.
typedef struct readiness {
    uint64_t here;      // as its strand knows
    uint64_t elsewhere; // as all others do
    uint32_t strand;
} readiness;

static readiness find_readiness(const mi_strands_room *room, const mi_plan *plan, uint32_t first, uint32_t index) {
    const mi_plan_step *step = &plan->steps.data[first + index];
    readiness ready = {0};
    uint64_t second = 0; // the latest end in another strand than `strand`
    uint64_t latest = 0;
    for (uint32_t k = 0; k < step->wait_count; k++) {
        const uint32_t earlier = plan->waits.data[step->first_wait + k];
        if (earlier < first) {
            continue;
        }
        const mi_strands_node *node = &room->nodes.data[earlier - first];
        if (node->end >= latest) {
            second = node->strand != ready.strand ? latest : second;
            latest = node->end;
            ready.strand = node->strand;
        } else if (node->strand != ready.strand && node->end > second) {
            second = node->end;
        }
    }
    ready.elsewhere = latest > 0 ? latest + HANDOVER_NANOSECONDS : 0;
    ready.here = second > 0 && second + HANDOVER_NANOSECONDS > latest ? second + HANDOVER_NANOSECONDS : latest;
    return ready;
}

// Gives a step to the strand in which it begins first; of several to the one that is free for the shortest time then.
static void deal_step(mi_strands_room *room, const mi_plan *plan, uint32_t first, uint32_t index,
                      uint32_t strand_count) {
    const readiness ready = find_readiness(room, plan, first, index);
    const bool is_main = plan->steps.data[first + index].system->main_thread;
    uint64_t best_begin = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t strand = 0; strand < (is_main ? 1 : strand_count); strand++) {
        const uint64_t known = strand == ready.strand ? ready.here : ready.elsewhere;
        const uint64_t free_from = room->free_from.data[strand];
        const uint64_t begin = known > free_from ? known : free_from;
        if (begin < best_begin || (begin == best_begin && free_from > room->free_from.data[best])) {
            best_begin = begin;
            best = strand;
        }
    }
    mi_strands_node *node = &room->nodes.data[index];
    node->strand = best;
    node->end = best_begin + node->nanoseconds;
    room->free_from.data[best] = node->end;
}

// Lists the steps strand by strand, and those of the main thread, in the order in which they were dealt out.
static void list_strands(mi_strands *strands, const mi_strands_room *room, const mi_plan *plan, uint32_t first,
                         uint32_t strand_count) {
    const uint32_t count = room->nodes.count;
    uint32_t *ends = strands->ends.data;
    for (uint32_t strand = 0; strand < strand_count; strand++) {
        ends[strand] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        ends[room->nodes.data[i].strand]++;
    }
    uint32_t begin = 0;
    for (uint32_t strand = 0; strand < strand_count; strand++) {
        const uint32_t own = ends[strand];
        ends[strand] = begin;
        begin += own;
    }
    strands->main.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)room->items.data[i];
        strands->order.data[ends[room->nodes.data[index].strand]++] = first + index;
        if (plan->steps.data[first + index].system->main_thread) {
            strands->main.data[strands->main.count++] = first + index;
        }
    }
    strands->order.count = count;
    strands->ends.count = strand_count;
}

bool mi_strands_make(mi_strands *strands, mi_strands_room *room, mi_heap *heap, const mi_plan *plan, uint32_t first,
                     uint32_t end, uint32_t strand_count) {
    MI_ASSERT(room->nodes.count == end - first && strand_count > 0);
    if (!reserve_strands(strands, room, heap, strand_count)) {
        return false;
    }
    strands->total = measure_tails(room, plan, first, end);
    sort_by_tail(room, plan, first);
    for (uint32_t strand = 0; strand < strand_count; strand++) {
        room->free_from.data[strand] = strand == 0 ? 0 : WAKE_NANOSECONDS;
    }
    strands->length = 0;
    for (uint32_t i = 0; i < end - first; i++) {
        const uint32_t index = (uint32_t)room->items.data[i];
        deal_step(room, plan, first, index, strand_count);
        const uint64_t node_end = room->nodes.data[index].end;
        strands->length = strands->length > node_end ? strands->length : node_end;
    }
    list_strands(strands, room, plan, first, strand_count);
    return true;
}

void mi_strands_free(mi_strands *strands, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &strands->order);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &strands->ends);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &strands->main);
}

void mi_strands_room_free(mi_strands_room *room, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->nodes);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->items);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->spare);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &room->free_from);
}
