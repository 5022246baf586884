// Batches: the systems between two barriers, each of which starts when those that it waits for have ended.
//
// Handing out costs some microseconds, and what threads do not find in their caches costs more: a batch is run side by
// side only if, by what its systems usually take, that saves more, and for as long as it does by the clock on the wall.
// Systems that have never run, start functions, watched steps and systems that write what is observed are run one after
// another, in the order of the plan; a batch is cut into ranges at those.
//
// Invariants: ranges ascend and do not overlap; a range's strands are those of its steps in the plan that runs.
#include "run/batch.h"

#include "run/system.h"
#include "world/query.h"

// What strands have to save. What they really save is measured as well.
#define SAVED_NANOSECONDS_LEAST 10000u
// How many runs there are at most from one making of strands to the next.
#define RUNS_A_MAKING 64u

static const mi_system *step_system(const mi_systems *systems, uint32_t index) {
    return mi_system_of(systems->plan.steps.data[index].system);
}

// Ranges

// Whether a step has to have the world to itself although its access is known.
static bool has_to_run_alone(const mi_systems *systems, uint32_t index) {
    const mi_system *system = step_system(systems, index);
    return !system->started || mi_access_is_observed(&system->order.access, systems->world);
}

// Where the steps end, from `first` on, that may run side by side.
static uint32_t range_end(const mi_systems *systems, uint32_t first, uint32_t batch_end) {
    uint32_t end = first;
    while (end < batch_end && !has_to_run_alone(systems, end)) {
        end++;
    }
    return end;
}

static void drop_ranges(mi_batching *batching, mi_heap *heap, uint32_t kept) {
    while (batching->ranges.count > kept) {
        mi_strands_free(&batching->ranges.data[--batching->ranges.count].strands, heap);
    }
}

// What is kept of the range; what was kept of others that overlap with it is dropped. NULL: out of memory.
static mi_batch_range *have_range(mi_systems *systems, uint32_t first, uint32_t end) {
    mi_batching *batching = &systems->batching;
    mi_heap *heap = &systems->world->heap;
    uint32_t at = batching->next_range;
    while (at < batching->ranges.count && batching->ranges.data[at].end <= first) {
        at++;
    }
    batching->next_range = at;
    if (at < batching->ranges.count && batching->ranges.data[at].first == first &&
        batching->ranges.data[at].end == end) {
        return &batching->ranges.data[at];
    }
    drop_ranges(batching, heap, at);
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &batching->ranges, (size_t)at + 1)) {
        return NULL;
    }
    batching->ranges.data[batching->ranges.count++] = (mi_batch_range){.first = first, .end = end};
    return &batching->ranges.data[at];
}

static bool make_strands(mi_systems *systems, mi_batch_range *range) {
    mi_strands_room *room = &systems->batching.room;
    mi_heap *heap = &systems->world->heap;
    if (!mi_strands_begin(room, heap, range->end - range->first)) {
        return false;
    }
    for (uint32_t i = range->first; i < range->end; i++) {
        const bool runs = mi_step_runs(systems, &systems->plan.steps.data[i]);
        room->nodes.data[i - range->first].nanoseconds = runs ? step_system(systems, i)->usual_nanoseconds : 0;
    }
    return mi_strands_make(&range->strands, room, heap, &systems->plan, range->first, range->end,
                           (uint32_t)mica_jobs_thread_count(systems->world->jobs));
}

// A range with strands, which are new if `anew` says so. NULL: out of memory.
static mi_batch_range *have_strands(mi_systems *systems, uint32_t first, uint32_t end, bool anew) {
    mi_batch_range *range = have_range(systems, first, end);
    if (range == NULL || ((anew || range->strands.order.count == 0) && !make_strands(systems, range))) {
        drop_ranges(&systems->batching, &systems->world->heap, systems->batching.next_range);
        return NULL;
    }
    return range;
}

// Running

static void run_in_order(mi_tick *tick, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && tick->failure->code == MICA_OK; i++) {
        if (i + 1 < end) {
            mi_system_fetch(step_system(tick->systems, i + 1));
        }
        mi_step_take(tick, i);
    }
}

static void run_side_by_side(mi_tick *tick, const mi_plan_batch *steps) {
    mi_systems *systems = tick->systems;
    uint32_t first = steps->first;
    while (first < steps->end && tick->failure->code == MICA_OK) {
        const uint32_t end = range_end(systems, first, steps->end);
        const mi_batch_range *range = end - first > 1 ? have_strands(systems, first, end, false) : NULL;
        if (range != NULL) {
            mi_batch_run_range(tick, first, end, &range->strands);
            tick->count = mi_os_count();
            first = end;
        } else {
            mi_step_take(tick, first++);
        }
    }
}

// Whether it pays

// Whether strands are to be made anew before a run: ever more rarely as runs go on.
static bool are_strands_due(uint32_t run_count) {
    return (run_count & (run_count - 1)) == 0 || run_count % RUNS_A_MAKING == 0;
}

// Makes the strands of a batch anew. Returns what they are expected to save.
static uint64_t make_all_strands(mi_systems *systems, const mi_plan_batch *steps) {
    const uint32_t next_range = systems->batching.next_range;
    uint64_t saved = 0;
    uint32_t first = steps->first;
    while (first < steps->end) {
        const uint32_t end = range_end(systems, first, steps->end);
        const mi_batch_range *range = end - first > 1 ? have_strands(systems, first, end, true) : NULL;
        if (range != NULL && range->strands.total > range->strands.length) {
            saved += range->strands.total - range->strands.length;
        }
        first = end > first ? end : first + 1;
    }
    systems->batching.next_range = next_range;
    return saved;
}

// By what running the batch has taken, alone and side by side, and by what its strands look like.
static bool batch_pays(mi_systems *systems, mi_batch_known *known, const mi_plan_batch *steps) {
    const bool is_asked = systems->world->def.always_parallel;
    const uint64_t thread_count = (uint64_t)mica_jobs_thread_count(systems->world->jobs);
    if (!is_asked && mi_cost_share(&known->cost, 1, thread_count).count < 2) {
        return false;
    }
    if (are_strands_due(known->run_count++)) {
        known->strands_save = make_all_strands(systems, steps) >= SAVED_NANOSECONDS_LEAST;
    }
    return is_asked || known->strands_save;
}

static bool have_batch_room(mi_systems *systems) {
    mica_world *world = systems->world;
    mi_batching *batching = &systems->batching;
    const uint32_t thread_count = (uint32_t)mica_jobs_thread_count(world->jobs);
    const uint32_t known_count = batching->known.count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &batching->known, systems->plan.batches.count) ||
        !mi_batch_reserve(&batching->batch, &world->heap, systems->plan.steps.count, thread_count) ||
        !mi_world_have_seats(world, thread_count)) {
        return false;
    }
    for (uint32_t i = known_count; i < systems->plan.batches.count; i++) {
        batching->known.data[batching->known.count++] = (mi_batch_known){0};
    }
    return true;
}

// Whether the batch may be run side by side at all, and there is room for that.
static bool can_share_batch(mi_systems *systems, const mi_plan_batch *steps) {
    return systems->world->jobs != NULL && steps->end - steps->first > 1 &&
           (systems->watch == NULL || systems->watches_ranges) && have_batch_room(systems);
}

void mi_batch_run(mi_tick *tick, uint32_t batch_number) {
    mi_systems *systems = tick->systems;
    const mi_plan_batch *steps = &systems->plan.batches.data[batch_number];
    if (!can_share_batch(systems, steps)) {
        run_in_order(tick, steps->first, steps->end);
        return;
    }
    mi_batch_known *known = &systems->batching.known.data[batch_number];
    const uint64_t begin = tick->count;
    const bool shared = batch_pays(systems, known, steps);
    if (shared) {
        run_side_by_side(tick, steps);
    } else {
        run_in_order(tick, steps->first, steps->end);
    }
    const uint64_t nanoseconds = (uint64_t)((double)(tick->count - begin) * systems->count_nanoseconds);
    if (shared) {
        mi_cost_note_shared(&known->cost, 1, (uint64_t)mica_jobs_thread_count(systems->world->jobs), nanoseconds);
    } else {
        mi_cost_note_alone(&known->cost, 1, nanoseconds);
    }
}

void mi_batching_begin_tick(mi_batching *batching) {
    batching->next_range = 0;
}

void mi_batching_forget(mi_batching *batching, mi_heap *heap) {
    drop_ranges(batching, heap, 0);
    batching->known.count = 0;
}

void mi_batching_free(mi_batching *batching, mi_heap *heap) {
    mi_batching_forget(batching, heap);
    mi_batch_free(&batching->batch, heap);
    mi_strands_room_free(&batching->room, heap);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &batching->ranges);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &batching->known);
}
