// Batches: the systems between two barriers, each of which starts when those that it waits for have ended.
//
// A step that has ended starts those that waited for it last, goes on with one of them itself and hands the others to
// the pool. So a chain stays on one thread, and what is ready early is looked for first.
//
// Steps of the main thread run on the thread that steps the world, and go before all else there. When another thread
// ends the last one that such a step waits for, it hands the step back (jobs.h), which the main thread is woken up for;
// one that is busy meanwhile ends what it is at. For the sake of that thread, steps that lead to such a step are begun
// before others. There is never more than one that is ready, as they wait for each other.
//
// Handing out costs some microseconds: a batch is run side by side only if, by what its systems took the last time,
// that saves more. Systems that have never run, start functions, watched steps and systems that write what is observed
// are run one after another, in the order of the plan; a batch is cut at those.
//
// Failures: the first step that fails in the order of the plan is the tick's failure, as on one thread. Steps behind it
// that have not begun do not run; those before it do, which keeps that step the same on any number of threads.
//
// Invariants: while a range runs, `waiting` of a step counts the steps of the range that it waits for and that have not
// ended; it is started by whoever brings that to 0, once; a step touches what its run owns, its system, and what its
// access says, and nothing of `mi_systems`.
#include "run/batch.h"
#include "run/hardware.h"
#include "run/trace.h"

#include "base/atomic.h"
#include "base/os.h"
#include "world/query.h"

// What has to be saved by running side by side. Waking a thread, sharing the world and the steps' bookkeeping take
// less.
#define SAVED_NANOSECONDS_LEAST 20000u

static mi_system *system_of(const mi_systems *systems, uint32_t index) {
    return mi_system_of(systems->plan.steps.data[index].system);
}

// Whether it pays

static uint64_t estimate_of(const mi_systems *systems, uint32_t index) {
    return mi_step_runs(systems, &systems->plan.steps.data[index]) ? system_of(systems, index)->last_nanoseconds : 0;
}

static bool reserve_steps(mi_systems *systems, mi_batch *batch, uint32_t count) {
    return MI_RESERVE(&systems->world->heap, MICA_MEMORY_SYSTEMS, &batch->steps, count);
}

// When a step would end if all that it waits for began as early as they can.
static uint64_t end_of(const mi_systems *systems, uint32_t first, uint32_t index) {
    const mi_plan_step *step = &systems->plan.steps.data[index];
    const uint32_t *waits = systems->plan.waits.data + step->first_wait;
    uint64_t end = 0;
    for (uint32_t i = 0; i < step->wait_count; i++) {
        const uint64_t earlier_end = systems->batch.steps.data[waits[i] - first].end_estimate;
        end = end < earlier_end ? earlier_end : end;
    }
    return end;
}

// Whether running the steps side by side saves enough: by their sum, their longest chain, and the threads. That of the
// main thread is one of the chains.
static bool pays(mi_systems *systems, const mi_plan_batch *steps) {
    mi_batch *batch = &systems->batch;
    if (!reserve_steps(systems, batch, steps->end - steps->first)) {
        return false;
    }
    uint64_t total = 0;
    uint64_t longest = 0;
    for (uint32_t i = steps->first; i < steps->end; i++) {
        const uint64_t own = estimate_of(systems, i);
        const uint64_t end = end_of(systems, steps->first, i) + own;
        batch->steps.data[i - steps->first].end_estimate = end;
        total += own;
        longest = longest < end ? end : longest;
    }
    const uint64_t share = total / (uint64_t)mica_jobs_thread_count(systems->world->jobs);
    return total - (longest < share ? share : longest) >= SAVED_NANOSECONDS_LEAST;
}

// Whether a step has to have the world to itself although its access is known.
static bool runs_alone(const mi_systems *systems, uint32_t index) {
    const mi_system *system = system_of(systems, index);
    return mi_step_runs(systems, &systems->plan.steps.data[index]) &&
           (!system->started || mi_access_is_observed(&system->order.access, systems->world));
}

static mi_urgency urgency_of(const mi_systems *systems, const mi_plan_step *step) {
    if (step->system->main_thread && mi_step_runs(systems, step)) {
        return MI_URGENCY_MAIN_THREAD;
    }
    return step->leads_to_main_thread ? MI_URGENCY_LEADS_TO_MAIN_THREAD : MI_URGENCY_NONE;
}

// Running

static void run_step(const mi_batch *batch, uint32_t index) {
    const mi_tick *tick = batch->tick;
    mi_systems *systems = tick->systems;
    if (mi_load_first(&batch->failed) < index || !mi_step_runs(systems, &systems->plan.steps.data[index])) {
        return;
    }
    mica_run run;
    mi_run_make(&run, tick, index);
    run.batch = (mi_batch *)(uintptr_t)batch;
    run.actor.run = &run;
    run.actor.seat = &systems->world->sharing.seats[mi_jobs_thread(systems->world->jobs)];
    mi_system *system = run.system;
    mi_actor_enter(&run.actor);
    run.holds = system->condition == NULL || system->condition(&run);
    system->turn.held_back = !run.holds;
    if (run.holds && !run.has_failed) {
        mi_hardware_mark counted;
        mi_hardware_open(systems, &counted);
        const uint64_t begin = mi_os_count();
        system->functions[MI_CALL_RUN](&run);
        mi_hardware_close(systems, system, &counted);
        mi_system_note_run(systems, system, begin, mi_os_count());
    }
    if (!mi_actor_leave(&run.actor)) {
        mica_run_fail(&run, MICA_LOCKED, MI_LEFT_WALK);
    }
    if (run.holds && !run.has_failed) {
        system->since = run.actor.version;
    }
}

static uint32_t index_of(const mi_batch_step *step) {
    return step->batch->first + (uint32_t)(step - step->batch->steps.data);
}

// A step has ended: hands out those that waited for it last, but for one that this thread goes on with. NULL: there is
// none.
static mi_batch_step *end_step(mi_batch *batch, const mi_plan_step *ended, bool is_main_thread) {
    const mi_systems *systems = batch->tick->systems;
    mica_jobs *jobs = systems->world->jobs;
    mi_batch_step *next = NULL;
    for (uint32_t i = 0; i < ended->waiter_count; i++) {
        const uint32_t later = systems->plan.waiters.data[ended->first_waiter + i];
        if (later >= batch->end) {
            break;
        }
        mi_batch_step *waiter = &batch->steps.data[later - batch->first];
        if (!mi_count_down(&waiter->waiting)) {
            continue;
        }
        if (waiter->urgency == MI_URGENCY_MAIN_THREAD && !is_main_thread) {
            mi_jobs_hand_back(jobs, &batch->group, &waiter->job);
        } else if (next == NULL) {
            next = waiter;
        } else if (waiter->urgency > next->urgency) {
            mi_jobs_start(jobs, &batch->group, &next->job);
            next = waiter;
        } else {
            mi_jobs_start(jobs, &batch->group, &waiter->job);
        }
    }
    return next;
}

static void run_job(mi_job *job) {
    mi_batch_step *step = (mi_batch_step *)(void *)job;
    mi_batch *batch = step->batch;
    mica_jobs *jobs = batch->tick->systems->world->jobs;
    const bool is_main_thread = mi_jobs_thread(jobs) == batch->main_thread;
    mi_os_set_float_mode(batch->float_mode);
    while (step != NULL) {
        const uint32_t index = index_of(step);
        run_step(batch, index);
        step = end_step(batch, &batch->tick->systems->plan.steps.data[index], is_main_thread);
        if (step != NULL && is_main_thread && mi_jobs_is_wanted(jobs)) {
            mi_jobs_start(jobs, &batch->group, &step->job);
            step = NULL;
        }
    }
}

// How many steps of the range a step waits for.
static uint32_t count_waits(const mi_plan *plan, uint32_t index, uint32_t first) {
    const mi_plan_step *planned = &plan->steps.data[index];
    uint32_t count = planned->wait_count;
    while (count > 0 && plan->waits.data[planned->first_wait + planned->wait_count - count] < first) { // they ascend
        count--;
    }
    return count;
}

// Hands out the steps that wait for nobody, but for the most urgent one, the main thread's share. The last ones are
// handed out first, and urgent ones last: who starts them takes back what was handed out last.
static void start_steps(mi_batch *batch) {
    mica_jobs *jobs = batch->tick->systems->world->jobs;
    mi_batch_step *steps = batch->steps.data;
    mi_batch_step *own = steps; // the first one waits for nobody
    const uint32_t count = batch->end - batch->first;
    for (uint32_t i = 1; i < count; i++) {
        own = steps[i].waits_for_nobody && steps[i].urgency > own->urgency ? &steps[i] : own;
    }
    for (mi_urgency now = MI_URGENCY_NONE; now <= MI_URGENCY_LEADS_TO_MAIN_THREAD; now++) {
        for (uint32_t i = count; i-- > 0;) {
            if (steps[i].waits_for_nobody && steps[i].urgency == now && &steps[i] != own) {
                mi_jobs_start(jobs, &batch->group, &steps[i].job);
            }
        }
    }
    mi_jobs_run(jobs, &batch->group, &own->job);
}

// Runs steps that may all run side by side.
static void run_range(const mi_tick *tick, uint32_t first, uint32_t end) {
    mi_systems *systems = tick->systems;
    mica_world *world = systems->world;
    mi_batch *batch = &systems->batch;
    batch->tick = tick;
    batch->first = first;
    batch->end = end;
    batch->failed = UINT32_MAX;
    batch->main_thread = mi_jobs_thread(world->jobs);
    batch->float_mode = mi_os_float_mode();
    world->store.version = tick->base_version + first;
    if (mi_world_share(world, "mica_world_step") != MICA_OK) {
        mica_run run;
        mi_run_make(&run, tick, first);
        mica_run_fail(&run, mica_last_result(), mica_last_error());
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        mi_batch_step *step = &batch->steps.data[i - first];
        step->job.function = run_job;
        step->batch = batch;
        step->waiting = count_waits(&systems->plan, i, first);
        step->waits_for_nobody = step->waiting == 0;
        step->urgency = urgency_of(systems, &systems->plan.steps.data[i]);
    }
    start_steps(batch);
    const uint64_t begin = mi_os_count();
    mi_jobs_wait(world->jobs, &batch->group);
    if (MICA_UNLIKELY(systems->trace != NULL)) {
        mi_trace_note(systems, &(mi_trace_record){.kind = MICA_TRACE_WAIT, .begin = begin});
    }
    mi_world_unshare(world);
    if (MICA_UNLIKELY(systems->watch != NULL)) {
        world->store.version = tick->base_version + end - 1;
        mi_step_tell(systems, end - 1);
    }
}

bool mi_batch_run(mi_tick *tick, const mi_plan_batch *steps) {
    mi_systems *systems = tick->systems;
    if (systems->world->jobs == NULL || (systems->watch != NULL && !systems->watches_ranges) ||
        steps->end - steps->first < 2 ||
        !(systems->world->def.always_parallel ? reserve_steps(systems, &systems->batch, steps->end - steps->first)
                                              : pays(systems, steps)) ||
        !mi_world_have_seats(systems->world, (uint32_t)mica_jobs_thread_count(systems->world->jobs))) {
        return false;
    }
    uint32_t first = steps->first;
    while (first < steps->end && tick->failure->code == MICA_OK) {
        uint32_t end = first;
        while (end < steps->end && !runs_alone(systems, end)) {
            end++;
        }
        if (end - first > 1) {
            run_range(tick, first, end);
            first = end;
        } else {
            mi_step_take(tick, first++);
        }
    }
    return true;
}

void mi_batch_free(mi_batch *batch, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &batch->steps);
}
