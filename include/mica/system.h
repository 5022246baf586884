/// \file system.h
/// Systems, stages, and the clock.
///
/// A tick runs the enabled systems of a world once in each of their stages, in the order of its *plan*: stage by stage;
/// within a stage so that `before` and `after` hold; among the systems that could be next the one of highest priority,
/// then the one added first. Commands that systems record become visible at *barriers*. One ends each stage that has
/// systems; within a stage one stands right before each system that `before` or `after` puts behind a system planned
/// since the last barrier. A barrier applies the buffers of all systems planned before it, in the order of the plan;
/// all systems planned after it see what they did. The plan depends on what was added alone: disabled systems keep
/// their place and their barriers, whether or not commands are recorded.
///
/// **Access.** What a system reads and writes is what its queries say (a component that has to be there or not is not
/// touched by that; one that has to have changed, to have been added or removed is read) and what it lists beside them:
/// components of entities that it looks up, resources, events (to send is to write), and types that stand for anything
/// that systems share. Two systems conflict if one of them writes what the other reads or writes. Between two barriers
/// those that conflict run in the order of the plan, one after the other; those that do not may run side by side.
/// *Exclusive* systems, those without any query and access among them, run by themselves. In debug builds, or where
/// `mica_world_def.validate` asks for it, calls by which a system touches what it has not declared are refused with
/// `MICA_NO_ACCESS` and fail the tick: verbs on values of components, walks over further queries, pools' arrays,
/// resources, events, indexes. Whether an entity is alive and what it has is no access, and what is recorded is none.
/// Pointers are seen where `MICA_VALIDATE_PAGES` (world.h) asks for it.
///
/// **Turns.** An enabled system runs in each tick unless its definition says when it has its turn: every so many ticks,
/// after an interval of time, only while, or at the moment when, a *state of the program* has a value, and only if its
/// condition holds. All that is given has to agree. A state of the program is a resource whose type is an enumeration:
/// whoever sets it (`mica_set_resource(world, Phase, {PLAYING})`) changes from the next tick on which systems run.
/// Turns keep the system's place in the plan and its barriers; a system that has not had its turn for a while has
/// missed no change (query.h). Rates and states are looked at once, at the start of a tick. Time counts for an interval
/// while the system is enabled and its states let it run; a tick that fails counts for nothing. Steps of a paused world
/// (`mica_world_step_paused`) count for the systems that go on in them; where these run every so many ticks, steps are
/// counted instead.
///
/// Adding, removing, enabling and disabling systems changes what runs from the next tick on, also when a system does
/// it: the running tick goes on as it was planned. Outside systems and in exclusive ones, what can be asked about
/// systems changes at once. A system that declared its access, and its condition, may run beside others: it *asks* for
/// systems to be added and removed. That is carried out when the plan has run, in the order of the plan and, of one
/// system, in the order of asking; of a tick that fails nothing is. So handles, names and order of addition are the
/// same on any number of threads. Spans of parallel loops have no such order among them: there, adding, removing and
/// enabling is refused with `MICA_LOCKED`; the system does it behind its loop.
///
/// Snapshots (snapshot.h) hold of each system its own value, its random numbers, where its readers of events stand,
/// since when changes count for it, whether it is enabled, whether it was started, and how far it is from its turn; and
/// the clock. Systems go by their names: a restore changes values where they are, passes over systems that the world
/// does not have, and brings those that the state does not know back to how they were added, with constructed values.
/// Which systems there are, their functions, their order and what was measured stay. A restore runs no start and stop
/// functions, but it says who was started: one that was not yet is started again before its next run, as its traces in
/// the world are gone; one that was is not, wherever the state came from. A stop function runs once in the end if its
/// system counts as started, or was started in this world since it was last stopped.
///
/// All functions here belong to the world's thread.
#pragma once

#include <mica/commands.h>
#include <mica/query.h>
#include <mica/snapshot.h>
#include <mica/world.h>

MICA_BEGIN

/// Where in a tick a system runs. The built-in stages run in the order first, input, pre-update, update, physics,
/// post-update, resolve, last, extract.
typedef int32_t mica_stage;
enum {
    MICA_UPDATE = 0,
    MICA_FIRST,
    MICA_INPUT,
    MICA_PRE_UPDATE,
    MICA_PHYSICS,
    MICA_POST_UPDATE,
    MICA_RESOLVE,
    MICA_LAST,
    MICA_EXTRACT,
    MICA_STAGE_OWN ///< the first stage of the program's own
};

/// A stage of the program's own, run right before or right after `neighbour`. Returns the stage; -1: `MICA_EXISTS` (the
/// name), `MICA_UNKNOWN` (the neighbour), `MICA_INVALID` (no name), `MICA_OUT_OF_MEMORY`; `MICA_LOCKED` in a system
/// that declared its access. Stages are never removed. O(stages).
MICA_API mica_stage mica_stage_add_before(mica_world *world, const char *name, mica_stage neighbour);

/// As `mica_stage_add_before`, right after `neighbour`.
MICA_API mica_stage mica_stage_add_after(mica_world *world, const char *name, mica_stage neighbour);

/// Lets all systems of a stage go on in it while the world is paused (`mica_world_pause`), whatever they say of
/// themselves, or no longer. Part of the program as its systems are, not of the world's state. Takes effect at the next
/// step. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`; `MICA_LOCKED` in a system that
/// declared its access. O(1).
MICA_API mica_result mica_stage_run_while_paused(mica_world *world, mica_stage stage, bool runs);

/// The name of a stage, as good as the world; NULL: `MICA_UNKNOWN`. O(1).
MICA_API const char *mica_stage_name(const mica_world *world, mica_stage stage);

/// A system of a world; 0 is none. Numbers are never used again.
typedef struct mica_system {
    uint64_t id;
} mica_system;

/// Most further queries, order constraints, further stages, entries of access, and states of the program of a system.
#define MICA_SYSTEM_QUERY_MAX 8
#define MICA_SYSTEM_ORDER_MAX 8
#define MICA_SYSTEM_STAGE_MAX 4
#define MICA_SYSTEM_ACCESS_MAX 32
#define MICA_SYSTEM_GATE_MAX 4

/// A query of a system.
typedef struct mica_query_def {
    mica_term terms[MICA_TERM_MAX]; ///< ends at the first zero
} mica_query_def;

/// Something that a system reads or writes beside what its queries say. Either `type` or `component` is set.
typedef struct mica_access {
    mica_type *type;
    mica_component component;
    bool writes; ///< and may read
} mica_access;

/// How a system is bound to a state of the program.
typedef enum mica_gate_use {
    MICA_GATE_NONE,  ///< ends a list
    MICA_GATE_WHILE, ///< it runs in ticks at whose start the state has the value
    MICA_GATE_ENTER, ///< in those of them alone at whose predecessor's start it did not; also the first of all
    MICA_GATE_EXIT   ///< in ticks at whose start it does not have the value any more, and did at the predecessor's
} mica_gate_use;

/// A state of the program and a value of it. Either `type` or `component` is set.
typedef struct mica_gate {
    mica_type *type; ///< an enumeration; its resource is the state
    mica_component component;
    uint8_t use; ///< a `mica_gate_use`
    int64_t value;
} mica_gate;

/// A further stage of a system.
typedef struct mica_system_place {
    mica_stage stage;
    int32_t priority;
} mica_system_place;

/// A system. Zero is the default everywhere but for `name` and `run`. Texts are copied.
///
/// `start` and `stop` are called with the system's run as `run` is, and may use the world's structural verbs. `start`
/// is called in a tick, right before the first `run`; if it fails, the tick fails, and `start` is called again in the
/// next one. `stop` is called outside ticks, for systems that were started, disabled ones included; a system without
/// `start` counts as started when it first runs. What `stop` records is applied when it returns. How restores of states
/// go with that stands above.
typedef struct mica_system_def {
    const char *name; ///< unique in the world
    void (*run)(mica_run *run);
    void (*start)(mica_run *run); ///< once, before the first run; again after a restore to before that
    void (*stop)(mica_run *run);  ///< once, when the system is removed or the world ends
    mica_stage stage;
    int32_t priority; ///< higher runs first
    int32_t also_count;
    mica_system_place also[MICA_SYSTEM_STAGE_MAX]; ///< further stages; none twice
    /// Names of systems that must run after this one in every stage that both are in; known now or later, or never
    /// (then they mean nothing). Ends at the first NULL.
    const char *before[MICA_SYSTEM_ORDER_MAX];
    const char *after[MICA_SYSTEM_ORDER_MAX];      ///< names of systems that must run before this one
    mica_term query[MICA_TERM_MAX];                ///< the first query: `mica_each(run, it)`
    int32_t query_count;                           ///< of `queries`
    mica_query_def queries[MICA_SYSTEM_QUERY_MAX]; ///< further ones: `mica_each(mica_run_query(run, n), it)`
    /// What is read and written beside the queries, `mica_reads(T)` and `mica_writes(T)`; ends at the first zero. No
    /// access and no query at all: the system is exclusive.
    mica_access access[MICA_SYSTEM_ACCESS_MAX];
    int32_t every;  ///< it runs in every so many ticks; 0 and 1: in each
    int32_t offset; ///< 0 to below `every`: in the ticks whose number divided by `every` leaves this
    /// It runs when so much time has passed, at most once a tick, in the tick whose end is nearest to that moment; 0:
    /// in each. Turns do not drift: what a turn came too early or late is left to the next.
    double interval_seconds;
    /// States of the program, `mica_while(T, VALUE)`, `mica_on_enter(T, VALUE)` and `mica_on_exit(T, VALUE)`; ends at
    /// the first zero.
    mica_gate gates[MICA_SYSTEM_GATE_MAX];
    /// Asked right before `run` (and `start`), in each stage, with the same access and on the same thread; false: not
    /// now. Structure is locked meanwhile, also for exclusive systems; `mica_run_fail` fails the tick.
    bool (*condition)(mica_run *run);
    mica_type *state; ///< type of the system's own value, constructed when it is added and destructed when it is
                      ///< removed, after its stop function; owned by the world
    void *user;       ///< for constants
    bool exclusive;   ///< may use the world's structural verbs in spite of its queries and access; runs by itself
    /// Runs on the thread that steps the world (so does its condition; spans of its parallel loops run anywhere),
    /// beside others on other threads unless it is exclusive. Systems of the main thread that lie between the same two
    /// barriers run in the order of the plan, as if they all wrote one component.
    bool main_thread;
    bool disabled; ///< added disabled
    bool yields;   ///< its queries leave out who is in write groups of what they write (`mica_write_group_join`)
    double budget_seconds;  ///< what a run of it may take: runs that take longer are counted; 0: there is no budget
    bool runs_while_paused; ///< goes on while the world is paused (`mica_world_pause`)
} mica_system_def;

/// Adds a system, from the next tick on. 0 on failure: `MICA_INVALID` (no name, no function, a stage that there is not
/// or that is named twice, bad counts, a bad rate or budget, a state of the program that is no enumeration),
/// `MICA_EXISTS` (the name), `MICA_CYCLE` (its constraints, or what others say of its name, close a cycle; the message
/// names the systems on it), `MICA_NO_VALUE` (a tag as state), `MICA_LIMIT`, `MICA_UNKNOWN` (a component of its access
/// or states), `MICA_OUT_OF_MEMORY`, or as `mica_query_create` and `mica_schema_register`. O(systems). If it has
/// constraints, or others have constraints on it, the plan is made at once, otherwise with the next tick: O(systems *
/// stages + constraints * log(systems) + what all systems touch).
///
/// In a system that declared its access: notes a copy of the definition and returns the handle, which names nobody
/// until the tick has ended. What needs no other system is refused at once (`MICA_INVALID`, `MICA_OUT_OF_MEMORY`), so
/// is a name of the world's systems that this system has not asked to be removed, or has asked for itself
/// (`MICA_EXISTS`). What shows only when it is carried out (another system has asked for the name before, in the order
/// of the plan; a cycle; types and queries that are refused; no memory) fails the tick by the system that asked, and
/// then nothing of what was asked for in the tick is carried out. `MICA_LOCKED` in spans of parallel loops. O(what was
/// asked for by the system in the tick + log(systems)).
MICA_API mica_system mica_system_add(mica_world *world, const mica_system_def *def);

#define MICA_ACCESS_(T, WRITES) \
    { mica_type_of(T), 0, (WRITES) }
#ifdef __cplusplus
#define MICA_ACCESS(T, WRITES) (mica_access MICA_ACCESS_(T, WRITES))
#else
#define MICA_ACCESS(T, WRITES) ((mica_access)MICA_ACCESS_(T, WRITES))
#endif

/// An entry of `mica_system_def.access`: values of this type are read.
#define mica_reads(T) MICA_ACCESS(T, false)
/// An entry of `mica_system_def.access`: values of this type are written; they may be read, too.
#define mica_writes(T) MICA_ACCESS(T, true)

#define MICA_GATE_(T, USE, VALUE) \
    { mica_type_of(T), 0, (USE), (VALUE) }
#ifdef __cplusplus
#define MICA_GATE(T, USE, VALUE) (mica_gate MICA_GATE_(T, USE, VALUE))
#else
#define MICA_GATE(T, USE, VALUE) ((mica_gate)MICA_GATE_(T, USE, VALUE))
#endif

/// An entry of `mica_system_def.gates`: the system runs while the state of the program `T` is `VALUE`.
#define mica_while(T, VALUE) MICA_GATE(T, MICA_GATE_WHILE, VALUE)
/// An entry of `mica_system_def.gates`: the system runs once when the state of the program `T` has become `VALUE`.
#define mica_on_enter(T, VALUE) MICA_GATE(T, MICA_GATE_ENTER, VALUE)
/// An entry of `mica_system_def.gates`: the system runs once when the state of the program `T` is no longer `VALUE`.
#define mica_on_exit(T, VALUE) MICA_GATE(T, MICA_GATE_EXIT, VALUE)

/// Lets the component `member` say that somebody else writes the component `written` of the entities that have it: it
/// joins the *write group* of `written`. Queries of systems that yield (`mica_system_def.yields`) and write `written`
/// leave these entities out, unless they name `member` themselves, in whatever way. So a plugin takes entities over
/// from a system that it does not know: it gives them a component of its own, and writes what the system would have
/// written. Several members are each left out; a second time changes nothing; nobody leaves. From the next tick on,
/// for systems added before and after. Part of the program as its systems are, not of the world's state. Refuses:
/// `MICA_UNKNOWN`, `MICA_INVALID` (no world, a component of its own group), `MICA_OUT_OF_MEMORY`; `MICA_LOCKED` in a
/// system that declared its access. The next tick is refused with `MICA_LIMIT` if a query would have more than
/// `MICA_QUERY_TERM_MAX` terms. O(members), and making those queries anew.
MICA_API mica_result mica_write_group_join(mica_world *world, mica_component written, mica_component member);

/// Removes a system, from the next tick on. Its stop function runs now or, inside a tick or a stop function, when that
/// has ended, in order of addition if there are several; a tick that fails removes it all the same. Its name is free at
/// once. In a system that declared its access: when the tick has ended without failure; if others remove it as well,
/// the first does. Refuses: `MICA_UNKNOWN`; `MICA_LOCKED` outside ticks while a walk is open, and in spans of parallel
/// loops; `MICA_OUT_OF_MEMORY` (to note it). O(systems).
MICA_API mica_result mica_system_remove(mica_world *world, mica_system system);

/// Enables or disables a system, from the next tick on; of several systems that do so in a tick, the last in the plan
/// counts. Its place in the order stays. Refuses: `MICA_UNKNOWN`; `MICA_LOCKED` in spans of parallel loops.
/// O(log(systems)).
MICA_API mica_result mica_system_enable(mica_world *world, mica_system system, bool enabled);

/// The system of a name; 0 if there is none (no error). O(log(systems)).
MICA_API mica_system mica_system_find(const mica_world *world, const char *name);

/// The system's own value for writing, as good as the system; NULL: it has none (no error), or `MICA_UNKNOWN`.
/// O(log(systems)).
MICA_API void *mica_system_state(mica_world *world, mica_system system);

/// What a system did since it was added.
typedef struct mica_system_stats {
    const char *name;               ///< as good as the system
    mica_stage stage;               ///< the one it was added with, not a further one
    bool enabled;                   ///< from the next tick on
    uint64_t run_count;             ///< once for each stage
    uint64_t command_count;         ///< commands of its buffer that were applied
    uint64_t command_skipped_count; ///< commands of its buffer that were skipped
    double total_seconds;           ///< in its run function
    double last_seconds;            ///< in the latest run
    uint64_t over_budget_count;     ///< runs that took longer than the budget
    uint64_t span_count;            ///< that its parallel loops have visited, those within spans left out
    uint64_t entity_count;          ///< in these spans
    double wait_seconds;            ///< in which its loops waited until other threads were through
} mica_system_stats;

/// What a system did. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no place for it). O(log(systems)).
MICA_API mica_result mica_system_statistics(const mica_world *world, mica_system system, mica_system_stats *stats);

/// Writes up to `capacity` systems in the order in which the next tick runs them (each once, at its first place, the
/// disabled ones too) and returns how many there are; -1: `MICA_OUT_OF_MEMORY`. Inside a system: the order of the
/// running tick, without those removed meanwhile. O(systems).
MICA_API int32_t mica_world_systems(mica_world *world, mica_system *systems, int32_t capacity);

/// A step of a tick's plan that has just been taken.
typedef struct mica_plan_step {
    const char *system; ///< the name of the system that ran, as good as the system; NULL: a barrier applied commands
    mica_stage stage;
    int32_t index; ///< in the plan, from 0; steps of disabled systems count
    uint64_t tick; ///< ticks completed before this one
} mica_plan_step;

typedef void (*mica_step_function)(mica_world *world, const mica_plan_step *step, void *user);

/// Calls `function` in every tick after each step of its plan, also after one that has failed; disabled systems have
/// none. There is one such function a world, replaced by the next; NULL: none. Takes effect from the next step on. Made
/// for tools that find out which system did something: the world is for looking at, structure is locked meanwhile, and
/// walks left open are closed. Refuses: `MICA_OUT_OF_MEMORY`, `MICA_INVALID` (no world), `MICA_LOCKED` (in a
/// system that may run beside others). O(1).
MICA_API mica_result mica_world_watch_steps(mica_world *world, mica_step_function function, void *user);

// Inside a system: in its start, run and stop functions, on the `run` they were called with. O(1) each. No run gives
// NULL, 0, or -1 for a stage: `MICA_INVALID`.

/// The world of the system. Its structural verbs are refused with `MICA_LOCKED` in the run function unless the system
/// is exclusive, and so is `mica_world_step`. Other worlds may be used, and stepped.
MICA_API mica_world *mica_run_world(const mica_run *run);

/// The length of the tick, or of the step of a paused world, in seconds; 0 in a stop function. Of a system that has a
/// rate, in ticks or in time: how much time has been counted since its last run.
MICA_API float mica_delta_time(const mica_run *run);

/// Whether the world is paused in this step: it is none that counts, and only systems that go on while it is run. True
/// only in `mica_world_step_paused`, which `mica_world_advance` calls.
MICA_API bool mica_run_is_paused(const mica_run *run);

/// The number of ticks completed before this one.
MICA_API uint64_t mica_run_tick(const mica_run *run);

/// The version of the system's last run that did not fail; 0: this is the first. What is later counts as changed, added
/// or removed to its queries that ask for that (query.h).
MICA_API uint64_t mica_run_since(const mica_run *run);

/// The stage this call belongs to; in a stop function the one that the system was added with.
MICA_API mica_stage mica_run_stage(const mica_run *run);

/// The system that runs.
MICA_API mica_system mica_run_system(const mica_run *run);

/// The system's command buffer, applied at the next barrier of the plan; what a stop function records, when it
/// returns. If it can be applied only in part (`MICA_OUT_OF_MEMORY`, `MICA_LIMIT`), the system has failed.
MICA_API mica_commands *mica_run_commands(mica_run *run);

/// The system's own value; NULL if it has none.
MICA_API void *mica_run_state_of(mica_run *run);
/// The system's own value as a `T *`; NULL if it has none.
#define mica_run_state(RUN, T) ((T *)mica_run_state_of(RUN))

/// The system's own generator of random numbers (random.h), as good as the system and part of the world's state. It
/// begins as `mica_random_split_named` of the generator of the world's seed, by the system's name, when the system is
/// added: what a system draws depends on neither other systems nor the order of adding them, and the same whatever runs
/// beside it. A system that is removed and added again begins anew.
MICA_API mica_random *mica_run_random(mica_run *run);

/// The definition's `user`.
MICA_API void *mica_run_user(const mica_run *run);

/// The system's `number`-th further query, from 0; NULL: `MICA_INVALID`.
MICA_API mica_query *mica_run_query(mica_run *run, int32_t number);

/// Ends the tick with an error once this function returns: systems after this one do not run, commands not yet applied
/// are dropped, the tick does not count; what barriers applied stays, unless the world restores failed ticks. `code` is
/// not `MICA_OK` (taken as `MICA_FAILED`, as are numbers that are no code); `text` is copied, up to 255 bytes of it.
/// The first failure of a tick counts. In a stop function: drops what it recorded and sends the text to the log.
MICA_API void mica_run_fail(mica_run *run, mica_result code, const char *text);

// The clock

/// Runs one tick of `delta_seconds`. Refuses: `MICA_LOCKED` (from inside a tick, a stop function or a walk),
/// `MICA_INVALID` (negative or not finite), `MICA_OUT_OF_MEMORY` (for the plan). A system's failure is returned with
/// its code; the last error names system, stage and tick. A system that leaves a walk open has failed (`MICA_LOCKED`).
/// Whatever happens, all that it changed carries versions above those before, and later changes versions above its own.
/// Allocates nothing unless systems were added or removed or what they do needs memory. O(systems) and what they do.
MICA_API mica_result mica_world_step(mica_world *world, float delta_seconds);

/// Lets steps that fail leave the world as it was when they began, or no longer: a snapshot is taken before each, and
/// restored if a system fails, with `options` (may be NULL; `tell` lets observers undo outside of the world what they
/// did). It holds for ticks, for steps of a paused world and for single systems, from the next one on. Systems that
/// were added or removed in such a tick stay so, and stop functions run in the restored world; which are enabled is
/// state. Messages that were taken in are events already, and what other threads have posted since waits on.
///
/// A step then refuses as `mica_snapshot_take` besides, before it has begun. If the state cannot be restored
/// (`MICA_OUT_OF_MEMORY`, `MICA_LIMIT`), that code is returned in place of the system's, the message names both, and
/// the world is what a failed tick leaves. Refuses: `MICA_LOCKED`, `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`.
/// O(1); each step costs a snapshot more: O(columns of all chunks + what was written since the step before), and what
/// is said there of addresses for writing.
MICA_API mica_result mica_world_restore_failed_ticks(mica_world *world, bool restores,
                                                     const mica_restore_options *options);

/// Draws a line between changes: those so far carry versions up to the one that is returned, later ones higher
/// versions. For programs that ask for changes outside systems: `mica_each_since(query, version, it)` (query.h). A
/// value that is written through an address counts as written when the address was asked for. 0 on failure:
/// `MICA_LOCKED` (a tick runs: versions there are those of the plan), `MICA_INVALID` (no world). O(1), and what is
/// dropped of removals that nobody asks for any more.
MICA_API uint64_t mica_world_advance_version(mica_world *world);

/// Runs one step of a paused world, whether or not it is: the systems that go on while it is paused, in the order of
/// the plan, with its barriers. It is no tick: the number of ticks stands still, nothing becomes due, and events grow
/// no older, so that systems that stand still miss none (those of types that are sent meanwhile wait for them;
/// `mica_event_set_limits` bounds how many). Messages that other threads have posted are taken in. What it changes is,
/// for journals, a change between ticks. Refuses and fails as `mica_world_step`.
MICA_API mica_result mica_world_step_paused(mica_world *world, float delta_seconds);

/// Runs one system alone, outside ticks, for debuggers: its start function if that is due, then its function in each of
/// its stages, each followed by a barrier. It runs also if it is disabled, or the world paused; for its queries it has
/// run. It is no tick, as `mica_world_step_paused`, and takes no messages in. Refuses as `mica_world_step`,
/// `MICA_UNKNOWN` (the system); fails as it.
MICA_API mica_result mica_world_step_system(mica_world *world, mica_system system, float delta_seconds);

/// Adds real time, times the time scale, to what is due and runs as many ticks of the fixed length as are due, each
/// with this length. Due is the quotient of the two in double precision, cut to a whole number; time over
/// `advance_tick_limit` ticks is dropped (no part of a tick stays then). Returns the number of ticks; on failure -1 -
/// n, where n ticks were completed: as `mica_world_step`, `MICA_INVALID` (negative or not finite). A call that is
/// refused adds no time; the time of a tick that failed, and of those after it, stays due. O(ticks that are due) times
/// `mica_world_step`.
///
/// While the world is paused, real time runs steps of `mica_world_step_paused` in place of ticks, of the same length,
/// at the rate of an unscaled clock, and 0 is returned; of those that fail none is made up for. Where a system pauses
/// the world or lets it go on, no further step of the same call runs, and whole ones that were due are dropped.
MICA_API int32_t mica_world_advance(mica_world *world, double real_seconds);

/// How far the clock stands between the last tick and the next: 0 to below 1, for interpolation. Just below 1 while a
/// tick that failed is due; it stands still while the world is paused. O(1).
MICA_API double mica_world_alpha(const mica_world *world);

/// Pauses the world's clock, or lets it go on: `mica_world_advance` then runs only the systems that say
/// `runs_while_paused` or stand in such a stage (menus, tools, drawing), and simulated time and the number of ticks
/// stand still. `mica_world_step` runs a tick all the same, which is how a tool goes on by single ticks. Takes effect
/// after the running step. Part of the world's state: who pauses in a tick does so again when it is run again. To halt
/// a world from outside, whatever states are restored into it, do not advance it (worlds.h). Refuses: `MICA_LOCKED` in
/// a system that declared its access, because of two side by side the last one would count (let one that is exclusive
/// do it); `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_result mica_world_pause(mica_world *world, bool paused);

/// Whether the world's clock is paused. O(1).
MICA_API bool mica_world_is_paused(const mica_world *world);

/// Lets time run faster or slower: real time is multiplied by `scale` before it becomes due in `mica_world_advance`,
/// from its next call on. There are more or fewer ticks then, of the same length: what a tick does stays the same. 1 at
/// first; with 0 nothing becomes due, and no system runs. Part of the world's state. Refuses as `mica_world_pause`,
/// `MICA_INVALID` (negative or not finite) besides. O(1).
MICA_API mica_result mica_world_set_time_scale(mica_world *world, double scale);

/// The time scale. O(1).
MICA_API double mica_world_time_scale(const mica_world *world);

/// The number of ticks completed. O(1).
MICA_API uint64_t mica_world_tick(const mica_world *world);

MICA_END
