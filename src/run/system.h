// The systems of a world, as registration, ticks and the clock share them.
#pragma once

#include "base/counters.h"
#include "base/jobs.h"
#include "run/batch.h"
#include "run/loop.h"
#include "run/plan.h"
#include "run/turns.h"
#include "run/write_groups.h"
#include "world/actor.h"
#include "world/event.h"
#include "world/world.h"

// What a system that is held to its access is made of; its functions lead here (run/validation.c).
typedef struct mi_checked {
    void (*run)(mica_run *run);
    bool (*condition)(mica_run *run);
} mi_checked;

// A tick touches two cache lines of a system that does nothing by itself: one that its run writes, and one that threads
// only read.
typedef struct mi_system {
    _Alignas(MI_CACHE_LINE) uint64_t since; // version of its last run that did not fail; 0: none
    uint64_t run_count;
    uint64_t total_nanoseconds;
    uint64_t last_nanoseconds;
    uint64_t usual_nanoseconds; // what runs take of late
    uint64_t budget_nanoseconds;
    uint64_t over_budget_count; // runs that took longer
    void *user;

    // Seldom changes.
    _Alignas(MI_CACHE_LINE) mica_commands *commands;
    void (*functions[3])(mica_run *run); // by mi_call; those to start and to stop may be NULL
    bool (*condition)(mica_run *run);    // NULL: none
    bool enabled;                        // in the running tick
    bool enabled_next;
    bool started;   // its start function has run, as far as the world's state says
    bool is_here;   // it has its turn in the running step
    bool has_turns; // else each step is its turn
    bool runs_while_paused;
    mi_plan_system order; // a plan's steps lead back to the system: mi_system_of

    uint32_t id;     // grows in order of addition
    uint64_t handle; // of who asked for it and the how manieth that was; else its id
    uint32_t place;  // in `named`
    mi_checked checked;
    mica_random random; // its own generator
    mica_query *query;  // NULL: none
    uint32_t query_count;
    mica_query *queries[MICA_SYSTEM_QUERY_MAX];
    MI_ARRAY(mi_declared_query) declared; // of one that yields: what its queries are made of, the first one first
    mi_loop_room loop;
    const mi_type *state_type; // NULL: no state
    void *state;
    MI_ARRAY(mica_event_reader *) event_readers; // its own, one a type, ascending by the types' names
    uint32_t enabled_by;                  // the step of the plan that has enabled or disabled it in the running tick
    bool enabled_first;                   // as it was added
    bool stop_due;                        // its stop function has to run: it counts as started, or did before a restore
    bool removed;                         // from the next tick on
    MI_ARRAY(struct mi_request) requests; // of the running tick, in the order of asking
    uint32_t request_count_done;          // that are carried out
    uint32_t asked_count;                 // systems that it has ever asked for
    mi_turn turn;
    uint32_t listing;                         // the last mica_world_systems that named it
    uint64_t begun_before;                    // ticks begun before it was added
    uint64_t hardware[MI_COUNTER_COUNT];      // atomic: what hardware counters have counted of it
    uint64_t hardware_told[MI_COUNTER_COUNT]; // of that: what traces were told
} mi_system;

// What is said of a system that leaves a walk open.
#define MI_LEFT_WALK "it left a walk open"

typedef enum mi_call { MI_CALL_START, MI_CALL_RUN, MI_CALL_STOP, MI_CALL_CONDITION } mi_call;

// Why a tick ends early.
typedef struct mi_failure {
    mica_result code; // MICA_OK: it does not
    mica_stage stage;
    uint32_t system_id;
    uint32_t step;   // of the plan
    bool in_start;   // of the system's start function
    char system[96]; // names and texts are copied: the system may be gone when the failure is said
    char text[256];  // what a sentence has room for beside the names
} mi_failure;

typedef enum mi_plan_age {
    MI_PLAN_CURRENT, // `plan` is what the next tick runs
    MI_PLAN_NEXT,    // `next_plan` is
    MI_PLAN_VOID     // neither is
} mi_plan_age;

// A call into a system, or a part of one in a parallel loop. It lives on the stack of the step, or with its batch or
// loop.
struct mica_run {
    mi_actor actor; // of a shared world
    mica_world *world;
    mi_system *system;
    mi_failure *failure;
    mica_stage stage;
    float delta_seconds;
    bool is_paused; // a step of the paused world
    uint64_t tick;
    uint64_t since; // since when changes count
    bool holds;     // what the condition has said
    uint32_t step;  // of the plan
    mica_commands *commands;
    mica_random *random;
    mi_batch *batch; // NULL: it runs with the world to itself
    bool has_failed;
    struct mi_span *span; // of a parallel loop that it is for; NULL: none
};

// What of a tick all its steps share.
struct mi_tick {
    struct mi_systems *systems;
    mi_failure *failure;
    float delta_seconds;
    uint64_t base_version; // of the first step
    uint64_t count;        // mi_os_count, when what ran last had ended
    mica_run run;          // of the step that runs with the world to itself
};

typedef struct mi_systems {
    mica_world *world;
    MI_ARRAY(mi_system *) all;          // ascending by id; those removed during a tick stay until it ends
    MI_ARRAY(mi_system *) named;        // those that are not removed, ascending by name; has room for all
    MI_ARRAY(mi_system *) asked;        // of the named ones those that systems have asked for, ascending by handle
    MI_ARRAY(mi_system *) started;      // whose stop functions are due, in order of start; has room for all
    MI_ARRAY(const char *) stages;      // names by stage
    MI_ARRAY(bool) stages_while_paused; // by stage: all its systems run while the world is paused
    MI_ARRAY(mica_stage) stage_order;
    MI_ARRAY(mi_write_group_entry) write_groups;
    bool groups_grew;                           // the queries of systems that yield do not know all members yet
    MI_ARRAY(const mi_plan_system *) described; // room for what plans are made of
    mi_plan plan;                               // of the running tick, or of the last one
    mi_plan next_plan;
    mi_plan_age plan_age;
    mi_batching batching;
    uint32_t last_id;
    uint32_t removed_count;     // in `all`
    uint32_t listing;           // grows with each mica_world_systems
    uint64_t paused_step_count; // steps of the paused world; no state, as it counts for those alone
    uint64_t version_before;    // the world's, when the running step began
    bool has_turns;             // of the systems that there are or were, some have
    bool has_requests;          // of systems, in the running tick
    bool has_switched;          // since the last step began systems were added, enabled or disabled
    bool ticking;
    bool stopping;              // stop functions run
    bool is_paused_step;        // what runs is a step of the paused world
    uint64_t tick;              // ticks completed
    uint64_t begun_count;       // ticks begun
    mi_failure last_failure;    // of the last tick
    uint64_t first_nanoseconds; // clock and count when the systems were made
    uint64_t first_count;
    double count_nanoseconds; // how long one of the count takes, as of the last step
    double due_seconds;       // scaled real time that no tick has used yet
    double time_scale;
    bool paused;         // from the next step on
    int32_t ticks_after; // in mica_world_advance: that are due after the running one
    double alpha_after;  // likewise: the interpolation factor when it has ended
    bool is_advancing;
    bool stops_advancing;      // after the running step
    double paused_due_seconds; // real time that no step of the paused world has used yet
    mica_step_function watch;  // is called after each step; NULL: nobody is
    void *watch_user;
    bool watches_ranges;          // steps that run side by side are told of as one, by the last of them; else none do
    struct mi_trace *trace;       // NULL: the world is not traced
    struct mi_hardware *hardware; // NULL: it is not counted
    MI_ARRAY(struct mica_extract *) extracts;
    bool restores_failed;                 // the state in which a step begins is restored if it fails
    mica_restore_options restore_options; // how
    mica_snapshot *step_begin; // that state, kept so that the next one shares with it; NULL: none was taken yet
} mi_systems;

// The systems of a world; NULL: it has none yet.
mi_systems *mi_systems_find(const mica_world *world);
// As mi_systems_find, made on first use. NULL: MICA_OUT_OF_MEMORY, or MICA_INVALID for no world; set for `call`.
mi_systems *mi_systems_open(mica_world *world, const char *call);
// The same outside of ticks, stop functions and walks; NULL besides: MICA_LOCKED.
mi_systems *mi_systems_open_idle(mica_world *world, const char *call);

// The system that a plan's step, of which it is a part, leads to; NULL for NULL.
static inline mi_system *mi_system_of(const mi_plan_system *order) {
    return order == NULL ? NULL : (mi_system *)((uintptr_t)order - offsetof(mi_system, order));
}

// Asks for what a tick is going to touch of a system.
static inline void mi_system_fetch(const mi_system *system) {
    __builtin_prefetch(&system->since, 1);
    __builtin_prefetch(&system->functions);
}

// Whether the system of a step of the plan runs in the running tick, or step of the paused world.
static inline bool mi_step_runs(const mi_systems *systems, const mi_plan_step *step) {
    const mi_system *system = mi_system_of(step->system);
    return system->enabled && system->is_here &&
           (!systems->is_paused_step || system->runs_while_paused || systems->stages_while_paused.data[step->stage]);
}

// Makes sure that `plan` is what the next tick runs. Not during a tick. MICA_OUT_OF_MEMORY, set for `call`.
mica_result mi_systems_prepare(mi_systems *systems, const char *call);

// The system of a number, unless it was removed; NULL: MICA_UNKNOWN, set for `call`.
mi_system *mi_system_resolve(const mica_world *world, mica_system handle, const char *call);

// Parts of adding and removing, for requests (requests.h). Each that fails has set its error for `call`.

// What shows without making anything of the definition, but for the name. Checks the stages as well.
mica_result mi_system_check_def(const mi_systems *systems, const mica_system_def *def, const char *call);
// The system of a name that is not removed; NULL: there is none. Sets no error.
mi_system *mi_system_find(const mi_systems *systems, const char *name);
// As mi_system_resolve. Sets no error.
mi_system *mi_system_look_up(const mi_systems *systems, uint64_t handle);
// Adds a system; `handle` 0: it is its number. NULL: nothing has changed.
mi_system *mi_system_enter(mi_systems *systems, const mica_system_def *def, uint64_t handle, const char *call);
// Takes the one that was added last out again. It has not run.
void mi_system_withdraw(mi_systems *systems, mi_system *system);
// Removes a system from the next tick on; and takes that back.
void mi_system_leave(mi_systems *systems, mi_system *system);
void mi_system_come_back(mi_systems *systems, mi_system *system);

// Lists in `described` all systems that are not removed, in order of addition. False: out of memory. Sets no error.
bool mi_systems_describe(mi_systems *systems);

// Takes the systems that were removed during a tick out, and runs their stop functions. Not during a tick.
void mi_systems_sweep(mi_systems *systems);

// Holds the system to what it has declared from now on, unless it is exclusive.
void mi_system_validate(mi_system *system);
// What runs of systems are to the world.
extern const mi_run_face mi_systems_run_face;

// The generator of random numbers that a system of this name begins with.
mica_random mi_system_first_random(const mica_world *world, const char *name);

// A system's start function has run.
void mi_system_note_start(mi_systems *systems, mi_system *system);

// Systems as state of the world; see run/state.c.
extern const mi_part mi_systems_part;

// Calls one of a system's functions with the world set up for it; does nothing if the system does not have it. Walks
// that the function left open are closed, and that is a failure.
void mi_system_call(mi_system *system, mi_call call, mica_run *run);

// Fills in what the runs of a tick share, and then makes it the run of a step of the plan.
void mi_run_begin(mica_run *run, const mi_tick *tick);
void mi_run_aim(mica_run *run, const mi_tick *tick, uint32_t index);
// Counts a run that took from one mi_os_count to another.
void mi_system_note_run(const mi_systems *systems, mi_system *system, uint64_t begin, uint64_t end);
// Runs a step that is a system, if it runs in this tick, on this thread and with the world to itself.
void mi_step_take(mi_tick *tick, uint32_t index);

// Tells whoever watches that a step was taken. Somebody does.
void mi_step_tell(const mi_systems *systems, uint32_t index);

// Notes what observers took in a tick of so many nanoseconds.
void mi_observers_begin_tick(mica_world *world);
void mi_observers_end_tick(mica_world *world, uint64_t nanoseconds);

// Advances a world as mica_world_advance, by ticks that `tick` runs.
typedef mica_result (*mi_clock_tick)(void *user, float delta_seconds);
int32_t mi_clock_advance(mica_world *world, double real_seconds, mi_clock_tick tick, void *user, const char *call);

// A world that is being advanced runs no further tick, or step of the paused world, of the same call.
void mi_clock_stop(mica_world *world);

// How far the clock is going to stand behind the tick that has just run, in ticks, those counted that follow at once.
double mi_clock_alpha_after(const mi_systems *systems);

// MICA_OK, or MICA_LOCKED set for `call`: from inside a tick, a stop function, or a walk.
mica_result mi_systems_check_idle(const mi_systems *systems, const char *call);
