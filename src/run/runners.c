// Running a range of a batch: each thread that takes part has a runner, and goes along its own strand.
//
// So a step runs where it ran last time as long as all goes as usual. A runner whose next step is not ready looks
// further along its strand, then at those of others; after a few microseconds it leaves, so that its thread can help
// with parallel loops, or sleep. A runner that has ended a step looks whether others have left, and starts as many as
// are needed for what can begin now.
//
// Steps of the main thread run on the thread that steps the world, and go before all else there. When its runner has
// left, whoever ends the last step that such a step waits for hands one back to it (jobs.h), which the thread is woken
// up for; one that is busy meanwhile ends what it is at. There is never more than one such step that is ready, as they
// wait for each other.
//
// Failures: the first step that fails in the order of the plan is the tick's failure, as on one thread. Steps behind it
// that have not begun do not run; those before it do, which keeps that step the same on any number of threads.
//
// Invariants, while a range runs:
// - A step is taken once, by a runner that has seen all that it waits for end. It touches what its run owns, its
//   system, and what its access says, and nothing of `mi_systems`.
// - All steps of a strand before its `next` are taken.
// - Nothing is left lying. Who has ended a step says so and then looks how many runners there are; a runner that leaves
//   counts itself off and then looks at all steps. All four stand in one order, so at least one of the two sees the
//   other. The last one to leave sees all that was ended; of what is then left, the step that was dealt out first waits
//   for nobody, so there is none.
#include "run/runners.h"

#include "base/atomic.h"
#include "run/hardware.h"
#include "run/system.h"
#include "run/trace.h"

// How often a runner looks for a step before it leaves, which takes it some microseconds, and how often of these in its
// own strand alone: what stays in its strand finds its memory near.
#define LOOK_ROUNDS 64u
#define OWN_LOOK_ROUNDS 16u
// How many steps of a strand are looked at each time.
#define LOOK_STEPS 16u

#define NO_STEP UINT32_MAX

// A runner at work.
typedef struct strand_worker {
    mi_batch *batch;
    mi_runner *runner; // NULL: it has left and come back
    uint32_t strand;   // its own
    bool is_main;      // of the main thread
    uint64_t count;    // mi_os_count when the last step had ended; 0: it has waited since then
    mica_run run;
} strand_worker;

// Taking steps

static const mi_plan_step *step_of(const mi_batch *batch, uint32_t index) {
    return &batch->tick->systems->plan.steps.data[index];
}

static bool has_step_ended(const mi_batch *batch, uint32_t index) {
    return mi_step_mark(&batch->steps.data[index].mark) > batch->round;
}

static bool is_step_taken(const mi_batch *batch, uint32_t index) {
    return mi_step_mark(&batch->steps.data[index].mark) >= batch->round;
}

static bool is_step_ready(const mi_batch *batch, uint32_t index) {
    const mi_plan *plan = &batch->tick->systems->plan;
    const mi_plan_step *step = step_of(batch, index);
    for (uint32_t i = step->wait_count; i-- > 0;) { // the latest ones first
        const uint32_t earlier = plan->waits.data[step->first_wait + i];
        if (earlier < batch->first) { // and so are all before it
            return true;
        }
        if (!has_step_ended(batch, earlier)) {
            return false;
        }
    }
    return true;
}

static bool belongs_to_main_thread(const mi_batch *batch, uint32_t index) {
    return step_of(batch, index)->system->main_thread;
}

static bool take_step(const strand_worker *at, uint32_t index) {
    mi_batch *batch = at->batch;
    return !is_step_taken(batch, index) && (at->is_main || !belongs_to_main_thread(batch, index)) &&
           is_step_ready(batch, index) && mi_step_take_mark(&batch->steps.data[index].mark, batch->round);
}

// Takes a step among the next `most` ones of a strand. NO_STEP: none of them is ready.
static uint32_t take_in_strand(const strand_worker *at, uint32_t strand_number, uint32_t most) {
    mi_batch *batch = at->batch;
    mi_batch_strand *strand = &batch->strand_cursors[strand_number];
    const uint32_t *order = batch->strands->order.data;
    const uint32_t begin = mi_strand_next(&strand->next);
    uint32_t next = begin;
    while (next < strand->end && is_step_taken(batch, order[next])) {
        next++;
    }
    uint32_t found = NO_STEP;
    for (uint32_t i = next; i < strand->end && i - next < most && found == NO_STEP; i++) {
        if (take_step(at, order[i])) {
            found = order[i];
            next += i == next;
        }
    }
    if (next != begin) {
        mi_strand_set_next(&strand->next, next);
    }
    return found;
}

static uint32_t take_of_main_thread(const strand_worker *at) {
    mi_batch *batch = at->batch;
    if (!at->is_main) {
        return NO_STEP;
    }
    const uint32_t *steps = batch->strands->main.data;
    const uint32_t count = batch->strands->main.count;
    while (batch->next_main < count && is_step_taken(batch, steps[batch->next_main])) {
        batch->next_main++;
    }
    const bool is_found = batch->next_main < count && take_step(at, steps[batch->next_main]);
    return is_found ? steps[batch->next_main] : NO_STEP;
}

static uint32_t take_elsewhere(const strand_worker *at, uint32_t most) {
    const uint32_t count = at->batch->strands->ends.count;
    uint32_t found = NO_STEP;
    for (uint32_t i = 1; i < count && found == NO_STEP; i++) {
        found = take_in_strand(at, (at->strand + i) % count, most);
    }
    return found;
}

// Takes whatever is ready.
static uint32_t take_any(const strand_worker *at) {
    uint32_t found = take_of_main_thread(at);
    found = found == NO_STEP ? take_in_strand(at, at->strand, UINT32_MAX) : found;
    return found == NO_STEP ? take_elsewhere(at, UINT32_MAX) : found;
}

// Whether every step is taken, as far as the strands know.
static bool is_through(const mi_batch *batch) {
    for (uint32_t i = 0; i < batch->strands->ends.count; i++) {
        if (mi_strand_next(&batch->strand_cursors[i].next) < batch->strand_cursors[i].end) {
            return false;
        }
    }
    return true;
}

// Takes the next step, waiting a little for one. NO_STEP: there is none, and it is time to leave.
static uint32_t take_next(strand_worker *at) {
    uint32_t found = take_of_main_thread(at);
    found = found == NO_STEP ? take_in_strand(at, at->strand, 1) : found;
    for (uint32_t round = 0; found == NO_STEP && round < LOOK_ROUNDS && !is_through(at->batch); round++) {
        at->count = 0;
        found = take_of_main_thread(at);
        found = found == NO_STEP ? take_in_strand(at, at->strand, LOOK_STEPS) : found;
        if (found == NO_STEP && round >= OWN_LOOK_ROUNDS) {
            found = take_elsewhere(at, LOOK_STEPS);
        }
        if (found == NO_STEP) {
            mi_os_pause();
        }
    }
    return found;
}

// Running steps

static void run_in_strand(strand_worker *at, uint32_t index) {
    mi_batch *batch = at->batch;
    const mi_tick *tick = batch->tick;
    mi_systems *systems = tick->systems;
    if (mi_load_first(&batch->failed) < index || !mi_step_runs(systems, &systems->plan.steps.data[index])) {
        return;
    }
    mica_run *run = &at->run;
    mi_run_aim(run, tick, index);
    mi_system *system = run->system;
    mi_actor_enter(&run->actor);
    if (MICA_UNLIKELY(system->condition != NULL)) {
        run->holds = system->condition(run);
        system->turn.held_back = !run->holds;
        at->count = 0;
    }
    if (run->holds && !run->has_failed) {
        mi_hardware_mark counted;
        mi_hardware_open(systems, &counted);
        const uint64_t begin = at->count != 0 ? at->count : mi_os_count();
        system->functions[MI_CALL_RUN](run);
        mi_hardware_close(systems, system, &counted);
        at->count = mi_os_count();
        mi_system_note_run(systems, system, begin, at->count);
    }
    if (!mi_actor_leave(&run->actor)) {
        mica_run_fail(run, MICA_LOCKED, MI_LEFT_WALK);
    }
    if (run->holds && !run->has_failed) {
        system->since = run->actor.version;
    }
}

static void run_runner(mi_job *job);

// Starts a further runner if there is a thread for one.
static void start_runner(mi_batch *batch) {
    if (!mi_runners_add_below(&batch->runner_count, batch->thread_count)) {
        return;
    }
    // Each that is taken is counted, and this one besides: so one is not.
    mi_runner *runner = batch->runners;
    while (!mi_runner_take(&runner->is_taken)) {
        runner = runner + 1 < batch->runners + batch->thread_count ? runner + 1 : batch->runners;
    }
    mi_jobs_start(batch->tick->systems->world->jobs, &batch->group, &runner->job);
}

// Has the main thread run a step of its own that is ready, if its runner has left.
static void call_main_thread(mi_batch *batch) {
    if (mi_main_runner_change(&batch->main_runner, MI_MAIN_AWAY, MI_MAIN_CALLED)) {
        mi_runners_add(&batch->runner_count);
        mi_jobs_hand_back(batch->tick->systems->world->jobs, &batch->group, &batch->main.job);
    }
}

// Sees to it that what can begin now that a step has ended is begun, although some runners have left.
static void start_needed_runners(const strand_worker *at, uint32_t ended) {
    mi_batch *batch = at->batch;
    const mi_plan *plan = &batch->tick->systems->plan;
    const mi_plan_step *step = step_of(batch, ended);
    uint32_t ready_count = 0;
    for (uint32_t i = 0; i < step->waiter_count; i++) {
        const uint32_t later = plan->waiters.data[step->first_waiter + i];
        if (later >= batch->end) {
            break;
        }
        if (is_step_taken(batch, later) || !is_step_ready(batch, later)) {
            continue;
        }
        if (!belongs_to_main_thread(batch, later)) {
            ready_count++;
        } else if (!at->is_main) {
            call_main_thread(batch);
        }
    }
    const mi_batch_strand *own = &batch->strand_cursors[at->strand];
    const uint32_t next = mi_strand_next(&own->next);
    const bool has_next = next < own->end && is_step_ready(batch, batch->strands->order.data[next]);
    for (uint32_t i = has_next ? 0 : 1; i < ready_count; i++) {
        start_runner(batch);
    }
}

static void end_in_strand(const strand_worker *at, uint32_t index) {
    mi_batch *batch = at->batch;
    mi_step_end_mark(&batch->steps.data[index].mark, batch->round);
    if (mi_runners(&batch->runner_count) < batch->thread_count ||
        (batch->strands->main.count > 0 && mi_main_runner_is(&batch->main_runner, MI_MAIN_AWAY))) {
        start_needed_runners(at, index);
    }
}

// Asks for what the next step in the strand is going to touch.
static void fetch_next(const strand_worker *at) {
    mi_batch *batch = at->batch;
    const mi_batch_strand *strand = &batch->strand_cursors[at->strand];
    const uint32_t next = mi_strand_next(&strand->next);
    if (next < strand->end) {
        const uint32_t index = batch->strands->order.data[next];
        __builtin_prefetch(&batch->steps.data[index], 1);
        mi_system_fetch(mi_system_of(step_of(batch, index)->system));
    }
}

static void work_through_strand(strand_worker *at, uint32_t index) {
    while (index != NO_STEP) {
        fetch_next(at);
        run_in_strand(at, index);
        end_in_strand(at, index);
        index = take_next(at);
    }
}

// Runners

// Counts the runner off, and then looks once more at all steps. NO_STEP: it has left.
static uint32_t leave_range(strand_worker *at) {
    mi_batch *batch = at->batch;
    if (at->runner != NULL) {
        mi_runner_give(&at->runner->is_taken);
        at->runner = NULL;
    }
    if (at->is_main) {
        (void)mi_main_runner_change(&batch->main_runner, MI_MAIN_HERE, MI_MAIN_AWAY);
    }
    mi_runners_remove(&batch->runner_count);
    at->count = 0;
    const uint32_t found = take_any(at);
    if (found != NO_STEP) {
        mi_runners_add(&batch->runner_count);
        if (at->is_main) {
            (void)mi_main_runner_change(&batch->main_runner, MI_MAIN_AWAY, MI_MAIN_HERE);
        }
    }
    return found;
}

static void run_runner(mi_job *job) {
    mi_runner *runner = (mi_runner *)(void *)job;
    mi_batch *batch = runner->batch;
    const mi_tick *tick = batch->tick;
    mica_world *world = tick->systems->world;
    const int32_t thread = mi_jobs_thread(world->jobs);
    const int32_t thread_count = (int32_t)batch->thread_count;
    strand_worker at = {.batch = batch,
                        .runner = runner,
                        .strand = (uint32_t)((thread - batch->main_thread + thread_count) % thread_count),
                        .is_main = thread == batch->main_thread};
    mi_batch_strand *strand = &batch->strand_cursors[at.strand];
    if (strand->is_used) { // the thread waits in a step, and is not to be held up there
        mi_runner_give(&runner->is_taken);
        mi_runners_remove(&batch->runner_count);
        return;
    }
    if (at.is_main) {
        (void)mi_main_runner_change(&batch->main_runner, runner == &batch->main ? MI_MAIN_CALLED : MI_MAIN_AWAY,
                                    MI_MAIN_HERE);
    }
    strand->is_used = true;
    mi_os_set_float_mode(batch->float_mode);
    mi_run_begin(&at.run, tick);
    at.run.batch = batch;
    at.run.actor.run = &at.run;
    at.run.actor.seat = &world->sharing.seats[thread];
    uint32_t index = take_next(&at);
    do {
        work_through_strand(&at, index);
        index = leave_range(&at);
    } while (index != NO_STEP);
    strand->is_used = false;
}

// Ranges

bool mi_batch_reserve(mi_batch *batch, mi_heap *heap, uint32_t step_count, uint32_t thread_count) {
    if (!mi_array_reserve(heap, MICA_MEMORY_SYSTEMS, &batch->steps, step_count, sizeof(mi_batch_step),
                          _Alignof(mi_batch_step))) {
        return false;
    }
    while (batch->steps.count < step_count) {
        batch->steps.data[batch->steps.count++] = (mi_batch_step){0};
    }
    if (batch->thread_count > 0) { // that of the world's pool stays the same
        return true;
    }
    mi_runner *runners =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, thread_count * sizeof(mi_runner), _Alignof(mi_runner));
    mi_batch_strand *cursors = mi_heap_allocate_zeroed(
        heap, MICA_MEMORY_SYSTEMS, thread_count * sizeof(mi_batch_strand), _Alignof(mi_batch_strand));
    if (runners == NULL || cursors == NULL) {
        mi_heap_release(heap, MICA_MEMORY_SYSTEMS, runners, thread_count * sizeof(mi_runner), _Alignof(mi_runner));
        mi_heap_release(heap, MICA_MEMORY_SYSTEMS, cursors, thread_count * sizeof(mi_batch_strand),
                        _Alignof(mi_batch_strand));
        return false;
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        runners[i] = (mi_runner){.job.function = run_runner, .batch = batch};
    }
    batch->main = (mi_runner){.job.function = run_runner, .batch = batch};
    batch->runners = runners;
    batch->strand_cursors = cursors;
    batch->thread_count = thread_count;
    return true;
}

// Returns how many have steps.
static uint32_t open_strands(mi_batch *batch, const mi_strands *strands) {
    uint32_t begin = 0;
    uint32_t used_count = 0;
    for (uint32_t i = 0; i < strands->ends.count; i++) {
        batch->strand_cursors[i] = (mi_batch_strand){.next = begin, .end = strands->ends.data[i]};
        used_count += begin < strands->ends.data[i];
        begin = strands->ends.data[i];
    }
    return used_count;
}

void mi_batch_run_range(const mi_tick *tick, uint32_t first, uint32_t end, const mi_strands *strands) {
    mi_systems *systems = tick->systems;
    mica_world *world = systems->world;
    mi_batch *batch = &systems->batching.batch;
    world->store.version = tick->base_version + first;
    if (mi_world_share(world, "mica_world_step") != MICA_OK) {
        mica_run run;
        mi_run_begin(&run, tick);
        mi_run_aim(&run, tick, first);
        mica_run_fail(&run, mica_last_result(), mica_last_error());
        return;
    }
    batch->tick = tick;
    batch->main_thread = mi_jobs_thread(world->jobs);
    batch->float_mode = mi_os_float_mode();
    batch->first = first;
    batch->end = end;
    batch->strands = strands;
    batch->round += 2;
    batch->next_main = 0;
    batch->failed = UINT32_MAX;
    batch->runner_count = 1;
    batch->main_runner = MI_MAIN_CALLED; // by what follows
    const uint32_t strand_count = open_strands(batch, strands);
    for (uint32_t i = world->def.always_parallel ? batch->thread_count : strand_count; i > 1; i--) {
        start_runner(batch);
    }
    mi_jobs_run(world->jobs, &batch->group, &batch->main.job);
    const uint64_t begin = mi_os_count();
    mi_jobs_wait(world->jobs, &batch->group);
    if (MICA_UNLIKELY(systems->trace != NULL)) {
        mi_trace_note(systems, &(mi_trace_record){.kind = MICA_TRACE_WAIT, .begin = begin});
    }
    for (uint32_t i = first; i < end; i++) {
        MI_ASSERT(has_step_ended(batch, i));
    }
    mi_world_unshare(world);
    if (MICA_UNLIKELY(systems->watch != NULL)) {
        world->store.version = tick->base_version + end - 1;
        mi_step_tell(systems, end - 1);
    }
}

void mi_batch_free(mi_batch *batch, mi_heap *heap) {
    const size_t count = batch->thread_count;
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, batch->runners, count * sizeof(mi_runner), _Alignof(mi_runner));
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, batch->strand_cursors, count * sizeof(mi_batch_strand),
                    _Alignof(mi_batch_strand));
    mi_array_free(heap, MICA_MEMORY_SYSTEMS, &batch->steps, sizeof(mi_batch_step), _Alignof(mi_batch_step));
}
