// A tick: runs the steps of the plan one after another, and applies commands at its barriers.
//
// Everything that a tick changes in the world is stamped with a version that is a function of the plan alone: the
// step's base plus the place of the system or barrier in the plan. Systems that are added, removed, enabled or disabled
// meanwhile change nothing of the running tick, so the plan and the flags it reads stand still.
//
// Invariants: world->running is set exactly while a function of a system runs; outside ticks the buffers of all systems
// are empty; a tick that failed leaves no command behind and does not count. The error of a failed tick is set last, so
// that nothing that happens while the tick is wound up hides it.
#include "run/extract.h"
#include "run/hardware.h"
#include "run/requests.h"
#include "run/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/os.h"
#include "base/text.h"
#include "state/restore.h"
#include "world/commands.h"
#include "world/inbox.h"
#include "world/query.h"
#include "world/rewind.h"
#include "world/tracker.h"

// Notes why the tick ends. Of the plan's steps the first that fails counts, and of what it says the first.
static void fail(mica_run *run, mica_result code, const char *text) {
    mi_failure *failure = run->failure;
    mi_world_lock(run->world);
    if (failure->code == MICA_OK || run->step < failure->step) {
        failure->code = code > MICA_OK && code < MICA_RESULT_COUNT ? code : MICA_FAILED;
        failure->stage = run->stage;
        failure->system_id = run->system->id;
        failure->step = run->step;
        failure->in_start = false;
        // What is too long is cut, as the precision says.
        mi_text_copy(failure->system, sizeof(failure->system), run->system->order.name);
        mi_text_copy(failure->text, sizeof(failure->text), text != NULL ? text : "");
    }
    mi_world_unlock(run->world);
    run->has_failed = true;
    if (run->batch != NULL) {
        mi_lower_first(&run->batch->failed, run->step);
    }
}

static inline void call_system(mi_system *system, mi_call call, mica_run *run) {
    const bool is_condition = call == MI_CALL_CONDITION;
    if (is_condition ? system->condition == NULL : system->functions[call] == NULL) {
        run->holds = true;
        return;
    }
    mica_world *world = run->world;
    const uint32_t walk_count = world->front.walk_count;
    world->running = run;
    world->running_system = system->order.name;
    world->front.running_locks = is_condition || (call == MI_CALL_RUN && !system->order.exclusive);
    world->running_since = run->since;
    if (is_condition) {
        run->holds = system->condition(run);
    } else {
        system->functions[call](run);
    }
    world->running = NULL;
    world->running_system = NULL;
    world->front.running_locks = false;
    world->running_since = world->outside_since;
    if (world->front.walk_count > walk_count) {
        mi_world_close_walks(world); // it would lock the world for ever
        fail(run, MICA_LOCKED, MI_LEFT_WALK);
    }
}

void mi_system_call(mi_system *system, mi_call call, mica_run *run) {
    call_system(system, call, run);
}

mi_systems *mi_systems_open_idle(mica_world *world, const char *call) {
    mi_systems *systems = mi_systems_open(world, call);
    return systems != NULL && mi_systems_check_idle(systems, call) == MICA_OK ? systems : NULL;
}

mica_result mi_systems_check_idle(const mi_systems *systems, const char *call) {
    mica_world *world = systems->world;
    if (world->running_system != NULL) {
        return mi_fail(&world->log, MICA_LOCKED, call, "system \"{}\" is running", MI_TEXT(world->running_system));
    }
    if (systems->ticking || systems->stopping) {
        return mi_fail_plain(&world->log, MICA_LOCKED, call, "a tick runs, or systems are being removed");
    }
    return mi_world_check_structure(world, call);
}

// What observers recorded was dropped since the count was taken, and the error that says why is the last one.
static void fail_dropped(mica_run *run, uint64_t dropped_count) {
    if (run->world->signals.dropped_count != dropped_count) {
        fail(run, mica_last_result(), mica_last_error());
    }
}

// What runs usually take, the last one counted in. One that was held up by something else moves it by little.
static uint64_t usual_after(const mi_system *system) {
    const uint64_t usual = system->usual_nanoseconds;
    const uint64_t most = 2 * usual + 1000;
    const uint64_t last = system->last_nanoseconds < most ? system->last_nanoseconds : most;
    return system->run_count == 0 ? system->last_nanoseconds : usual - usual / 4 + last / 4;
}

void mi_system_note_run(const mi_systems *systems, mi_system *system, uint64_t begin, uint64_t end) {
    const int64_t count = (int64_t)(end - begin); // counts of two cores may differ by a little
    system->last_nanoseconds = count > 0 ? (uint64_t)(int64_t)((double)count * systems->count_nanoseconds) : 0;
    system->total_nanoseconds += system->last_nanoseconds;
    system->usual_nanoseconds = usual_after(system);
    system->run_count++;
    system->over_budget_count += system->last_nanoseconds > system->budget_nanoseconds;
    if (MICA_UNLIKELY(systems->trace != NULL)) {
        mi_trace_record record = {.kind = MICA_TRACE_SYSTEM, .system_id = system->id, .begin = begin, .end = end};
        for (int32_t i = 0; i < MI_COUNTER_COUNT; i++) {
            record.hardware[i] = system->hardware[i] - system->hardware_told[i];
            system->hardware_told[i] = system->hardware[i];
        }
        mi_trace_note(systems, &record);
    }
}

void mi_run_begin(mica_run *run, const mi_tick *tick) {
    mi_systems *systems = tick->systems;
    *run = (mica_run){.actor.world = systems->world,
                      .world = systems->world,
                      .failure = tick->failure,
                      .is_paused = systems->is_paused_step,
                      .tick = systems->tick};
}

// Makes it the run of a system in one of its stages.
static inline void aim_run(mica_run *run, const mi_tick *tick, mi_system *system, mica_stage stage, uint32_t step) {
    run->actor.system = system->order.name;
    run->actor.version = tick->base_version + step;
    run->actor.since = system->since;
    run->system = system;
    run->stage = stage;
    run->delta_seconds =
        MICA_UNLIKELY(system->has_turns) ? mi_turn_delta(&system->turn, tick->delta_seconds) : tick->delta_seconds;
    run->holds = true;
    run->has_failed = false;
    run->since = system->since;
    run->step = step;
    run->commands = system->commands;
    run->random = &system->random;
}

void mi_run_aim(mica_run *run, const mi_tick *tick, uint32_t index) {
    const mi_plan_step *step = &tick->systems->plan.steps.data[index];
    aim_run(run, tick, mi_system_of(step->system), step->stage, index);
}

MI_APART static void start_system(mi_tick *tick, mica_run *run) {
    mi_system_call(run->system, MI_CALL_START, run);
    if (run->has_failed) {
        run->failure->in_start = true;
    } else {
        mi_system_note_start(tick->systems, run->system);
    }
    tick->count = mi_os_count();
}

static void run_system(mi_tick *tick, mica_run *run) {
    mi_system *system = run->system;
    const uint64_t dropped_count = run->world->signals.dropped_count;
    if (MICA_UNLIKELY(!system->started)) {
        start_system(tick, run);
        if (run->has_failed) {
            return;
        }
    }
    mi_hardware_mark counted;
    mi_hardware_open(tick->systems, &counted);
    call_system(system, MI_CALL_RUN, run);
    mi_hardware_close(tick->systems, system, &counted);
    const uint64_t end = mi_os_count();
    mi_system_note_run(tick->systems, system, tick->count, end);
    tick->count = end;
    fail_dropped(run, dropped_count);
    if (!run->has_failed) {
        system->since = run->world->store.version;
    }
}

// Asks the system's condition.
MI_APART static bool holds(mi_tick *tick, mica_run *run) {
    mi_system_call(run->system, MI_CALL_CONDITION, run);
    run->system->turn.held_back = !run->holds;
    tick->count = mi_os_count();
    return run->holds && !run->has_failed;
}

// Runs a system if its condition holds; false: it does not.
static bool take_turn(mi_tick *tick, mica_run *run) {
    if (MICA_UNLIKELY(run->system->condition != NULL) && !holds(tick, run)) {
        return run->has_failed;
    }
    run_system(tick, run);
    return true;
}

// Applies what a system has recorded in its run.
static void apply_run(mica_run *run) {
    mica_world *world = run->world;
    const uint64_t dropped_count = world->signals.dropped_count;
    world->applied_run = run;
    const mica_result result = mi_commands_apply(run->commands, "mica_world_step");
    world->applied_run = NULL;
    fail_dropped(run, dropped_count);
    if (result != MICA_OK) {
        char text[128];
        snprintf(text, sizeof(text), "its commands could not be applied: %s", mica_result_text(result));
        fail(run, result, text);
    }
}

// Applies what the systems of the plan's steps from `first` up to `end` recorded.
static void apply_commands(mi_tick *tick, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && tick->failure->code == MICA_OK; i++) {
        const mi_system *system = mi_system_of(tick->systems->plan.steps.data[i].system);
        if (mica_commands_count(system->commands) > 0) {
            mi_run_aim(&tick->run, tick, i);
            apply_run(&tick->run);
        }
    }
}

void mi_step_tell(const mi_systems *systems, uint32_t index) {
    mica_world *world = systems->world;
    const mi_plan_step *step = &systems->plan.steps.data[index];
    const mica_plan_step taken = {.system = step->system == NULL ? NULL : step->system->name,
                                  .stage = step->stage,
                                  .index = (int32_t)index,
                                  .tick = systems->tick};
    const mi_callback callback = {.call = "mica_world_watch_steps", .outer = world->front.callback};
    world->front.callback = &callback; // nothing may be changed between two steps
    systems->watch(world, &taken, systems->watch_user);
    world->front.callback = callback.outer;
    if (world->front.walk_count > 0) {
        mi_world_close_walks(world);
    }
}

mica_result mica_world_watch_steps(mica_world *world, mica_step_function function, void *user) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_world_check_making(world, "who watches steps", __func__) != MICA_OK) {
        return mica_last_result();
    }
    systems->watch = function;
    systems->watch_user = user;
    return MICA_OK;
}

void mi_step_take(mi_tick *tick, uint32_t index) {
    mi_systems *systems = tick->systems;
    if (!mi_step_runs(systems, &systems->plan.steps.data[index])) {
        return;
    }
    systems->world->store.version = tick->base_version + index;
    mi_run_aim(&tick->run, tick, index);
    if (take_turn(tick, &tick->run) && MICA_UNLIKELY(systems->watch != NULL)) {
        mi_step_tell(systems, index);
        tick->count = mi_os_count();
    }
}

static void apply_barrier(mi_tick *tick, uint32_t first, uint32_t index) {
    const uint64_t begin = tick->count;
    tick->systems->world->store.version = tick->base_version + index;
    apply_commands(tick, first, index);
    if (MICA_UNLIKELY(tick->systems->watch != NULL)) {
        mi_step_tell(tick->systems, index);
    }
    tick->count = mi_os_count();
    if (MICA_UNLIKELY(tick->systems->trace != NULL)) {
        mi_trace_note(tick->systems,
                      &(mi_trace_record){.kind = MICA_TRACE_BARRIER, .begin = begin, .end = tick->count});
    }
}

// Runs the plan, up to the first failure.
static void run_plan(mi_tick *tick) {
    const mi_plan *plan = &tick->systems->plan;
    uint32_t batch = 0;
    uint32_t unapplied = 0; // the first step whose commands wait for a barrier
    uint32_t i = 0;
    while (i < plan->steps.count && tick->failure->code == MICA_OK) {
        if (batch < plan->batches.count && plan->batches.data[batch].first == i) {
            mi_batch_run(tick, batch);
            i = plan->batches.data[batch++].end;
        } else if (plan->steps.data[i].system == NULL) {
            apply_barrier(tick, unapplied, i);
            unapplied = ++i;
        } else {
            mi_step_take(tick, i++);
        }
    }
    tick->systems->world->store.version = tick->base_version + plan->steps.count;
}

static void keep_removals(const mi_system *system, const mica_query *query) {
    if (query != NULL && query->removed != NULL) {
        mi_tracker_keep(query->removed, system->since);
    }
}

// Keeps the removals that systems have yet to see.
static void keep_for_systems(const void *user) {
    const mi_systems *systems = user;
    for (uint32_t i = 0; systems != NULL && i < systems->all.count; i++) {
        const mi_system *system = systems->all.data[i];
        keep_removals(system, system->query);
        for (uint32_t k = 0; k < system->query_count; k++) {
            keep_removals(system, system->queries[k]);
        }
    }
}

uint64_t mica_world_advance_version(mica_world *world) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
        return 0;
    }
    const mi_systems *systems = mi_systems_find(world);
    if (world->running != NULL || (systems != NULL && systems->ticking)) {
        mi_fail_plain(&world->log, MICA_LOCKED, __func__, "a tick runs: its versions are those of its plan");
        return 0;
    }
    const uint64_t version = mi_outside_version(world, world->store.version++);
    if (world->front.walk_count == 0) { // a walk may be going over removals
        mi_trackers_end_round(world, keep_for_systems, systems);
    }
    return version;
}

static bool is_in_stage(const mi_system *system, mica_stage stage) {
    for (uint32_t i = 0; i < system->order.place_count; i++) {
        if (system->order.places[i].stage == stage) {
            return true;
        }
    }
    return false;
}

// `restored`: whether what the step did was taken back, where that was asked for.
static mica_result fail_tick(const mi_systems *systems, const mi_failure *failure, mica_result restored,
                             const char *call) {
    const mica_log_handler *log = &systems->world->log;
    const char *stage = systems->stages.data[failure->stage];
    if (restored != MICA_OK) {
        return mi_fail(log, restored, call,
                       "system \"{}\" failed in stage \"{}\" of tick {} with: {}; and what was before could not be "
                       "restored: {}",
                       MI_TEXT(failure->system), MI_TEXT(stage), MI_UINT(systems->tick),
                       MI_TEXT(mica_result_text(failure->code)), MI_TEXT(mica_result_text(restored)));
    }
    const mi_pieces pieces = mi_text_pieces(failure->text);
    return mi_fail(log, failure->code, call, "system \"{}\" failed in stage \"{}\" of tick {}: {}{}{}",
                   MI_TEXT(failure->system), MI_TEXT(stage), MI_UINT(systems->tick), MI_TEXT(pieces.first),
                   MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
}

mica_result mica_world_restore_failed_ticks(mica_world *world, bool restores, const mica_restore_options *options) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_systems_check_idle(systems, __func__) != MICA_OK) {
        return mica_last_result();
    }
    systems->restores_failed = restores;
    const mica_restore_options quiet = {0};
    systems->restore_options = options == NULL ? quiet : *options;
    if (!restores) {
        mica_snapshot_release(systems->step_begin);
        systems->step_begin = NULL;
    }
    return MICA_OK;
}

// Takes the state that is restored if the step fails.
static mica_result take_begin(mi_systems *systems, const char *call) {
    mica_snapshot *taken = mi_snapshot_take(systems->world, false, call);
    if (taken == NULL) {
        return mica_last_result();
    }
    mica_snapshot_release(systems->step_begin);
    systems->step_begin = taken;
    return MICA_OK;
}

// Takes a step that failed back, if that was asked for. Messages that wait stay: others may have posted them meanwhile.
static mica_result take_back(mi_systems *systems, const char *call) {
    if (!systems->restores_failed) {
        return MICA_OK;
    }
    return mi_snapshot_restore_without(&mi_inbox_part, systems->step_begin, systems->world, &systems->restore_options,
                                       call);
}

// Parts may add further ones meanwhile, whose turn it is then as well.
static mica_result begin_parts(mica_world *world) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; result == MICA_OK && i < world->extensions.count; i++) {
        const mi_extension part = world->extensions.data[i];
        result = part.begin_tick != NULL ? part.begin_tick(world, part.state) : MICA_OK;
    }
    return result;
}

// MICA_OK: the world is such that systems may begin to run.
static mica_result check_step(mi_systems *systems, float delta_seconds, const char *call) {
    if (systems == NULL) {
        return mica_last_result();
    }
    if (!isfinite(delta_seconds) || delta_seconds < 0) {
        return mi_fail_plain(&systems->world->log, MICA_INVALID, call,
                             "the length of a tick is negative or not finite");
    }
    return mi_systems_check_idle(systems, call);
}

// What was said of systems since the last step began takes effect.
static void switch_systems(mi_systems *systems) {
    for (uint32_t i = 0; i < systems->all.count; i++) {
        mi_system *system = systems->all.data[i];
        system->enabled = system->enabled_next;
        system->enabled_by = 0;
    }
    systems->has_switched = false;
}

// Brings the plan and what is enabled up to date, and lets systems run.
static mica_result begin_systems(mi_systems *systems, const char *call) {
    mica_result result = mi_systems_prepare(systems, call);
    if (result == MICA_OK && systems->restores_failed) {
        result = take_begin(systems, call);
    }
    if (result == MICA_OK && MICA_UNLIKELY(systems->has_switched)) {
        switch_systems(systems);
    }
    systems->ticking = result == MICA_OK;
    return result;
}

// No system runs any more. After a failure no command stays behind.
static mica_result end_systems(mi_systems *systems, float delta_seconds, const mi_failure *failure, const char *call) {
    mi_extracts_end_step(systems, delta_seconds, failure->code != MICA_OK);
    systems->ticking = false;
    systems->is_paused_step = false;
    mi_trackers_end_round(systems->world, keep_for_systems, systems);
    for (uint32_t i = 0; failure->code != MICA_OK && i < systems->all.count; i++) {
        mica_commands_clear(systems->all.data[i]->commands); // which may have borrowed from those of loops
        mi_loop_clear(&systems->all.data[i]->loop);
    }
    mi_requests_clear(systems, failure->code != MICA_OK && systems->restores_failed);
    const mica_result restored = failure->code == MICA_OK ? MICA_OK : take_back(systems, call);
    mi_systems_sweep(systems);
    return failure->code == MICA_OK ? MICA_OK : fail_tick(systems, failure, restored, call);
}

// Fills in what a tick's steps share, of which the first one is next.
static void begin_tick(mi_tick *tick, mi_systems *systems, float delta_seconds, mi_failure *failure) {
    const uint64_t count = mi_os_count();
    if (count > systems->first_count) {
        systems->count_nanoseconds =
            (double)(mi_os_nanoseconds() - systems->first_nanoseconds) / (double)(count - systems->first_count);
    }
    tick->systems = systems;
    tick->failure = failure;
    tick->delta_seconds = delta_seconds;
    tick->base_version = systems->world->store.version + 1;
    tick->count = count;
    mi_run_begin(&tick->run, tick);
}

static void run_whole_plan(mi_systems *systems, float delta_seconds, mi_failure *failure) {
    mi_observers_begin_tick(systems->world);
    const uint64_t begin = mi_os_nanoseconds();
    mi_tick tick;
    begin_tick(&tick, systems, delta_seconds, failure);
    const uint64_t begin_count = tick.count;
    mi_turns_begin(systems, delta_seconds);
    mi_batching_begin_tick(&systems->batching);
    run_plan(&tick);
    mi_requests_carry_out(systems, failure);
    if (MICA_UNLIKELY(systems->trace != NULL)) {
        mi_trace_note(systems, &(mi_trace_record){.kind = MICA_TRACE_TICK, .begin = begin_count});
    }
    if (failure->code == MICA_OK) {
        mi_turns_end(systems, delta_seconds);
    }
    mi_observers_end_tick(systems->world, mi_os_nanoseconds() - begin);
}

mica_result mica_world_step(mica_world *world, float delta_seconds) {
    mi_systems *systems = mi_systems_open(world, __func__);
    mica_result result = check_step(systems, delta_seconds, __func__);
    if (result == MICA_OK) {
        result = begin_parts(world);
    }
    if (result == MICA_OK) {
        result = begin_systems(systems, __func__);
    }
    if (result != MICA_OK) {
        return result;
    }
    mi_failure failure = {0};
    systems->begun_count++;
    run_whole_plan(systems, delta_seconds, &failure);
    systems->last_failure = failure;
    systems->tick += failure.code == MICA_OK;
    return end_systems(systems, delta_seconds, &failure, __func__);
}

mica_result mica_world_step_paused(mica_world *world, float delta_seconds) {
    mi_systems *systems = mi_systems_open(world, __func__);
    mica_result result = check_step(systems, delta_seconds, __func__);
    if (result == MICA_OK && mica_inbox_drain(world) < 0) {
        result = mica_last_result();
    }
    if (result == MICA_OK) {
        result = begin_systems(systems, __func__);
    }
    if (result != MICA_OK) {
        return result;
    }
    mi_failure failure = {0};
    systems->is_paused_step = true;
    run_whole_plan(systems, delta_seconds, &failure);
    return end_systems(systems, delta_seconds, &failure, __func__);
}

mica_result mica_world_step_system(mica_world *world, mica_system handle, float delta_seconds) {
    mi_system *system = mi_system_resolve(world, handle, __func__);
    if (system == NULL) {
        return MICA_UNKNOWN;
    }
    mi_systems *systems = mi_systems_find(world);
    mica_result result = check_step(systems, delta_seconds, __func__);
    if (result == MICA_OK) {
        result = begin_systems(systems, __func__);
    }
    if (result != MICA_OK) {
        return result;
    }
    mi_failure failure = {0};
    for (uint32_t rank = 0; rank < systems->stage_order.count && failure.code == MICA_OK; rank++) {
        const mica_stage stage = systems->stage_order.data[rank];
        if (!is_in_stage(system, stage)) {
            continue;
        }
        mi_tick tick;
        begin_tick(&tick, systems, delta_seconds, &failure);
        aim_run(&tick.run, &tick, system, stage, 0);
        world->store.version++;
        run_system(&tick, &tick.run);
        if (failure.code == MICA_OK) {
            world->store.version++;
            apply_run(&tick.run);
        }
    }
    mi_requests_carry_out(systems, &failure);
    world->store.version++;
    return end_systems(systems, delta_seconds, &failure, __func__);
}

// Inside a system

static bool is_run(const mica_run *run, const char *call) {
    if (MICA_UNLIKELY(run == NULL)) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs the run that the system was called with");
    }
    return run != NULL;
}

mica_world *mica_run_world(const mica_run *run) {
    return is_run(run, __func__) ? run->world : NULL;
}

float mica_delta_time(const mica_run *run) {
    return is_run(run, __func__) ? run->delta_seconds : 0;
}

bool mica_run_is_paused(const mica_run *run) {
    return is_run(run, __func__) && run->is_paused;
}

uint64_t mica_run_tick(const mica_run *run) {
    return is_run(run, __func__) ? run->tick : 0;
}

mica_stage mica_run_stage(const mica_run *run) {
    return is_run(run, __func__) ? run->stage : -1;
}

uint64_t mica_run_since(const mica_run *run) {
    return is_run(run, __func__) ? mi_outside_version(run->world, run->since) : 0;
}

mica_system mica_run_system(const mica_run *run) {
    return (mica_system){is_run(run, __func__) ? run->system->handle : 0};
}

mica_commands *mica_run_commands(mica_run *run) {
    return is_run(run, __func__) ? run->commands : NULL;
}

void *mica_run_state_of(mica_run *run) {
    return is_run(run, __func__) ? run->system->state : NULL;
}

mica_random *mica_run_random(mica_run *run) {
    if (!is_run(run, __func__)) {
        return NULL;
    }
    mi_span *span = run->span;
    if (MICA_LIKELY(span == NULL)) {
        return run->random;
    }
    if (!span->has_random) {
        span->random = mica_random_split(span->from, span->number);
        span->has_random = true;
    }
    return &span->random;
}

void *mica_run_user(const mica_run *run) {
    return is_run(run, __func__) ? run->system->user : NULL;
}

mica_iter mica_run_begin(mica_run *run) {
    if (!is_run(run, __func__)) {
        return (mica_iter){0};
    }
    if (run->system->query == NULL) {
        mi_fail(&run->world->log, MICA_INVALID, __func__, "system \"{}\" has no query",
                MI_TEXT(run->system->order.name));
        return (mica_iter){0};
    }
    return mica_query_begin(run->system->query);
}

mica_query *mica_run_query(mica_run *run, int32_t number) {
    if (!is_run(run, __func__)) {
        return NULL;
    }
    const mi_system *system = run->system;
    if (number < 0 || (uint32_t)number >= system->query_count) {
        mi_fail(&run->world->log, MICA_INVALID, __func__,
                "system \"{}\" has no further query number {}: it has {} of them, numbered from 0",
                MI_TEXT(system->order.name), MI_INT(number), MI_UINT(system->query_count));
        return NULL;
    }
    return system->queries[number];
}

// Gives the system a reader of a type of which it has none.
static mica_event_reader *add_reader(mica_world *world, mi_system *system, mica_component component, const char *call) {
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &system->event_readers,
                    (size_t)system->event_readers.count + 1)) {
        mi_fail_memory(&world->log, call, sizeof(mica_event_reader *));
        return NULL;
    }
    mica_event_reader *reader = mi_event_reader_lend(world, component, system->order.name, call);
    if (reader == NULL) {
        return NULL;
    }
    mica_event_reader **readers = system->event_readers.data;
    uint32_t place = system->event_readers.count++;
    for (; place > 0 && strcmp(readers[place - 1]->queue->type->info.name, reader->queue->type->info.name) > 0;
         place--) {
        readers[place] = readers[place - 1];
    }
    readers[place] = reader;
    return reader;
}

mica_event_reader *mica_run_event_reader(mica_run *run, mica_component component) {
    if (!is_run(run, __func__)) {
        return NULL;
    }
    if (run->span != NULL) {
        mi_world_fail_in_span(run->world, "reads events before it", __func__);
        return NULL;
    }
    const mi_system *system = run->system;
    mica_event_reader **readers = system->event_readers.data;
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        if (readers[i]->queue->type->info.id == component) {
            return readers[i];
        }
    }
    mica_event_reader *reader = add_reader(run->world, run->system, component, __func__);
    if (reader == NULL) {
        mi_world_fail_unheard(run->world); // the caller goes on to read from it
    }
    return reader;
}

void mica_run_fail(mica_run *run, mica_result code, const char *text) {
    if (is_run(run, __func__)) {
        fail(run, code, text);
    }
}
