// Which systems of a plan may run side by side: its batches, and within each who waits for whom.
//
// A batch is cut where all have to wait anyway: at barriers, and at exclusive systems. `before` and `after` need no
// look here, since a barrier stands between any two that they name. What is left are conflicts, and of these only the
// ones that no others imply: a reader waits for the last writer of a component before it, a writer for the readers
// since then, or for that writer if there are none. So there are at most twice as many waits as systems name
// components, and still any two that conflict are tied by a chain of waits in the order of the plan.
//
// Systems of the main thread wait for each other as if the thread were something that they all write: what they do
// there, to a window or a device, is told by no access, and comes in the order of the plan as well.
//
// Invariants: the steps of a pair are of one batch, and none is listed twice; `pairs` ascends by the later step; the
// last reader in the list of a component is the latest one, so where it stands before the batch, all do.
#include "run/plan.h"

#include "base/assert.h"

#define NO_STEP UINT32_MAX
#define NO_READER UINT32_MAX

// How much the steps touch.
typedef struct extent {
    size_t entry_count;
    uint32_t component_count; // above the highest one
} extent;

static extent measure(const mi_plan *plan) {
    extent all = {0};
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_system *system = plan->steps.data[i].system;
        const uint32_t count = system == NULL ? 0 : system->access.entries.count;
        all.entry_count += count;
        if (count > 0 && system->access.entries.data[count - 1].component >= all.component_count) {
            all.component_count = system->access.entries.data[count - 1].component + 1u;
        }
    }
    return all;
}

static bool reserve(mi_plan *plan, mi_heap *heap, extent all) {
    // An entry waits for one writer at most, and readers are waited for by one writer each; and a system of the main
    // thread waits for another one.
    const size_t pair_count = 2 * all.entry_count + plan->steps.count;
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->batches, plan->steps.count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->touches, all.component_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->readers, all.entry_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->pairs, pair_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->waits, pair_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &plan->waiters, pair_count)) {
        return false;
    }
    for (uint32_t i = 0; i < all.component_count; i++) {
        plan->touches.data[i] = (mi_plan_touch){NO_STEP, NO_READER};
    }
    plan->touches.count = all.component_count;
    plan->readers.count = 0;
    plan->pairs.count = 0;
    return true;
}

// Until all pairs are known, `first_waiter` of a step holds the last step that waits for it.
static void add_pair(mi_plan *plan, uint32_t earlier, uint32_t later) {
    mi_plan_step *step = &plan->steps.data[earlier];
    if (step->first_waiter == later) {
        return;
    }
    MI_ASSERT(plan->pairs.count < plan->pairs.capacity);
    plan->pairs.data[plan->pairs.count++] = (mi_plan_pair){earlier, later};
    step->first_waiter = later;
    step->waiter_count++;
    plan->steps.data[later].wait_count++;
}

static void add_reader(mi_plan *plan, mi_plan_touch *touch, uint32_t batch_first, uint32_t later) {
    if (touch->writer != NO_STEP && touch->writer >= batch_first) {
        add_pair(plan, touch->writer, later);
    }
    const bool is_first = touch->reader == NO_READER || plan->readers.data[touch->reader].step < batch_first;
    plan->readers.data[plan->readers.count] = (mi_plan_reader){later, is_first ? NO_READER : touch->reader};
    touch->reader = plan->readers.count++;
}

static void add_writer(mi_plan *plan, mi_plan_touch *touch, uint32_t batch_first, uint32_t later) {
    const mi_plan_reader *readers = plan->readers.data;
    if (touch->reader != NO_READER && readers[touch->reader].step >= batch_first) {
        for (uint32_t reader = touch->reader; reader != NO_READER; reader = readers[reader].next) {
            add_pair(plan, readers[reader].step, later);
        }
    } else if (touch->writer != NO_STEP && touch->writer >= batch_first) {
        add_pair(plan, touch->writer, later);
    }
    *touch = (mi_plan_touch){later, NO_READER};
}

static void add_pairs(mi_plan *plan, const mi_plan_batch *batch) {
    uint32_t main_thread = NO_STEP; // the last step that belongs to it
    for (uint32_t i = batch->first; i < batch->end; i++) {
        const mi_access *access = &plan->steps.data[i].system->access;
        for (uint32_t k = 0; k < access->entries.count; k++) {
            const mi_access_entry *entry = &access->entries.data[k];
            mi_plan_touch *touch = &plan->touches.data[entry->component];
            if (entry->writes) {
                add_writer(plan, touch, batch->first, i);
            } else {
                add_reader(plan, touch, batch->first, i);
            }
        }
        if (plan->steps.data[i].system->main_thread) {
            if (main_thread != NO_STEP) {
                add_pair(plan, main_thread, i);
            }
            main_thread = i;
        }
    }
}

static bool is_in_batch(const mi_plan *plan, uint32_t step) {
    const mi_plan_system *system = step < plan->steps.count ? plan->steps.data[step].system : NULL;
    return system != NULL && !system->exclusive;
}

static void find_batches(mi_plan *plan) {
    plan->batches.count = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        if (!is_in_batch(plan, i)) {
            continue;
        }
        const uint32_t first = i;
        while (is_in_batch(plan, i + 1)) {
            i++;
        }
        plan->batches.data[plan->batches.count++] = (mi_plan_batch){first, i + 1};
    }
}

// Gives each step its own parts of `waits` and `waiters`.
static void sort_pairs(mi_plan *plan) {
    uint32_t wait_count = 0;
    uint32_t waiter_count = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        mi_plan_step *step = &plan->steps.data[i];
        step->first_wait = wait_count;
        step->first_waiter = waiter_count;
        wait_count += step->wait_count;
        waiter_count += step->waiter_count;
        step->wait_count = 0;
        step->waiter_count = 0;
    }
    plan->waits.count = wait_count;
    plan->waiters.count = waiter_count;
    for (uint32_t i = 0; i < plan->pairs.count; i++) {
        mi_plan_step *earlier = &plan->steps.data[plan->pairs.data[i].earlier];
        plan->waiters.data[earlier->first_waiter + earlier->waiter_count++] = plan->pairs.data[i].later;
    }
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_step *earlier = &plan->steps.data[i];
        for (uint32_t k = 0; k < earlier->waiter_count; k++) {
            mi_plan_step *later = &plan->steps.data[plan->waiters.data[earlier->first_waiter + k]];
            plan->waits.data[later->first_wait + later->wait_count++] = i;
        }
    }
}

static void find_ways_to_main_thread(mi_plan *plan) {
    for (uint32_t i = plan->steps.count; i-- > 0;) {
        mi_plan_step *step = &plan->steps.data[i];
        step->leads_to_main_thread = false;
        for (uint32_t k = 0; k < step->waiter_count && !step->leads_to_main_thread; k++) {
            const mi_plan_step *later = &plan->steps.data[plan->waiters.data[step->first_waiter + k]];
            step->leads_to_main_thread = later->leads_to_main_thread || later->system->main_thread;
        }
    }
}

bool mi_plan_add_batches(mi_plan *plan, mi_heap *heap) {
    if (!reserve(plan, heap, measure(plan))) {
        return false;
    }
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        plan->steps.data[i].first_waiter = NO_STEP;
        plan->steps.data[i].waiter_count = 0;
        plan->steps.data[i].wait_count = 0;
    }
    find_batches(plan);
    for (uint32_t i = 0; i < plan->batches.count; i++) {
        add_pairs(plan, &plan->batches.data[i]);
    }
    sort_pairs(plan);
    find_ways_to_main_thread(plan);
    return true;
}
