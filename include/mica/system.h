/// \file system.h
/// Systems, stages, and the clock.
#pragma once

#include <mica/commands.h>
#include <mica/query.h>
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
/// name), `MICA_UNKNOWN` (the neighbour), `MICA_INVALID`, `MICA_OUT_OF_MEMORY`. Inside a system: from the next tick on.
/// O(stages).
MICA_API mica_stage mica_stage_add_before(mica_world *world, const char *name, mica_stage neighbour);

/// As `mica_stage_add_before`, right after `neighbour`.
MICA_API mica_stage mica_stage_add_after(mica_world *world, const char *name, mica_stage neighbour);

/// The name of a stage; NULL: `MICA_UNKNOWN`. O(1).
MICA_API const char *mica_stage_name(const mica_world *world, mica_stage stage);

/// A system of a world; 0 is none. Numbers are never used again.
typedef struct mica_system {
    uint32_t id;
} mica_system;

/// Most further queries, order constraints and further stages of a system.
#define MICA_SYSTEM_QUERY_MAX 8
#define MICA_SYSTEM_ORDER_MAX 8
#define MICA_SYSTEM_STAGE_MAX 4

/// A query of a system.
typedef struct mica_query_def {
    mica_term terms[MICA_TERM_MAX]; ///< ends at the first zero
} mica_query_def;

/// A further stage of a system.
typedef struct mica_system_place {
    mica_stage stage;
    int32_t priority;
} mica_system_place;

/// A system. Zero is the default everywhere but for `name` and `run`.
typedef struct mica_system_def {
    const char *name; ///< unique in the world; copied
    void (*run)(mica_run *run);
    void (*start)(mica_run *run); ///< once, before the first run
    void (*stop)(mica_run *run);  ///< once, when the system is removed or the world ends, if it was started
    mica_stage stage;
    int32_t priority; ///< higher runs first
    int32_t also_count;
    mica_system_place also[MICA_SYSTEM_STAGE_MAX]; ///< further stages
    const char *before[MICA_SYSTEM_ORDER_MAX]; ///< names of systems that must run after this one in a stage that both
                                               ///< are in; known now or later
    const char *after[MICA_SYSTEM_ORDER_MAX];
    mica_term query[MICA_TERM_MAX]; ///< the first query: `mica_each(run, it)`. No query at all: the system is exclusive
    int32_t query_count;            ///< of `queries`
    mica_query_def queries[MICA_SYSTEM_QUERY_MAX]; ///< further ones: `mica_each(mica_run_query(run, n), it)`
    mica_type *state; ///< type of the system's own value, constructed when it is added; owned by the world
    void *user;       ///< for constants
    bool exclusive;   ///< may use the world's structural verbs in spite of its queries
    bool disabled;    ///< added disabled
} mica_system_def;

/// Adds a system, from the next tick on. 0 on failure: `MICA_INVALID` (no name, no function, a bad stage),
/// `MICA_EXISTS` (the name), `MICA_CYCLE` (names the systems on it), `MICA_OUT_OF_MEMORY`, or as `mica_query_create`.
/// O(1); the plan is made anew before the next tick.
MICA_API mica_system mica_system_add(mica_world *world, const mica_system_def *def);

/// Removes a system, from the next tick on; its stop function runs at that time, or now outside ticks. Refuses:
/// `MICA_UNKNOWN`. O(1).
MICA_API mica_result mica_system_remove(mica_world *world, mica_system system);

/// Enables or disables a system, from the next tick on. Its place in the order stays. Refuses: `MICA_UNKNOWN`. O(1).
MICA_API mica_result mica_system_enable(mica_world *world, mica_system system, bool enabled);

/// The system of a name; 0 if there is none (no error). O(systems).
MICA_API mica_system mica_system_find(const mica_world *world, const char *name);

/// The system's own value for writing; NULL: it has none, or `MICA_UNKNOWN`. O(1).
MICA_API void *mica_system_state(mica_world *world, mica_system system);

/// What a system did since it was added.
typedef struct mica_system_stats {
    const char *name;
    mica_stage stage;
    bool enabled;
    uint64_t run_count;
    uint64_t command_count;         ///< commands of its buffer that were applied
    uint64_t command_skipped_count; ///< commands of its buffer that were skipped
    double total_seconds;
    double last_seconds;
} mica_system_stats;

/// What a system did; `MICA_UNKNOWN`. O(1).
MICA_API mica_result mica_system_statistics(const mica_world *world, mica_system system, mica_system_stats *stats);

/// Writes up to `capacity` systems in the order in which a tick runs them (each once, at its first place) and returns
/// how many there are. O(systems).
MICA_API int32_t mica_world_systems(mica_world *world, mica_system *systems, int32_t capacity);

/// The plan of a tick as text, a line a stage, system and barrier, closed by zero, cut to `capacity`; returns the
/// length without the cut. O(systems).
MICA_API size_t mica_world_plan(mica_world *world, char *text, size_t capacity);

// Inside a system

/// The world that is stepped. Its structural verbs are refused with `MICA_LOCKED` unless the system is exclusive.
MICA_API mica_world *mica_run_world(const mica_run *run);

/// The length of the tick in seconds.
MICA_API float mica_delta_time(const mica_run *run);

/// The number of ticks completed before this one.
MICA_API uint64_t mica_run_tick(const mica_run *run);

/// The stage this call belongs to.
MICA_API mica_stage mica_run_stage(const mica_run *run);

/// The system that runs.
MICA_API mica_system mica_run_system(const mica_run *run);

/// The system's command buffer, applied at the next barrier of the plan.
MICA_API mica_commands *mica_run_commands(mica_run *run);

/// The system's own value; NULL if it has none. `mica_run_state(run, T)` is a `T *`.
MICA_API void *mica_run_state_of(mica_run *run);
#define mica_run_state(RUN, T) ((T *)mica_run_state_of(RUN))

/// The definition's `user`.
MICA_API void *mica_run_user(const mica_run *run);

/// The system's `number`-th further query, from 0; NULL: `MICA_INVALID`.
MICA_API mica_query *mica_run_query(mica_run *run, int32_t number);

/// Ends the tick with an error: systems after this one do not run, commands not yet applied are dropped, the tick does
/// not count. `code` is not `MICA_OK` (taken as `MICA_FAILED`); `text` is copied. The first failure of a tick counts.
MICA_API void mica_run_fail(mica_run *run, mica_result code, const char *text);

// The clock

/// Runs one tick of `delta_seconds`. Refuses: `MICA_LOCKED` (from inside a tick or a walk), `MICA_INVALID` (negative or
/// not finite), `MICA_CYCLE`. A system's failure is returned with its code; the last error names the system. O(systems)
/// and what they do.
MICA_API mica_result mica_world_step(mica_world *world, float delta_seconds);

/// Adds real time to the clock and runs as many ticks of the fixed length as are due, up to the limit (time over it is
/// dropped). Returns their number; on failure -1 - n, where n ticks were completed: as `mica_world_step`. The time of a
/// failed tick stays due.
MICA_API int32_t mica_world_advance(mica_world *world, double real_seconds);

/// How far the clock stands between the last tick and the next: 0 to below 1, for interpolation. O(1).
MICA_API double mica_world_alpha(const mica_world *world);

/// The number of ticks completed. O(1).
MICA_API uint64_t mica_world_tick(const mica_world *world);

MICA_END
