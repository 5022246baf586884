/// \file trace.h
/// Traces: what ran when, and on which thread.
///
/// While a world is traced, each thread notes what it runs in a buffer of its own: two reads of a count and a store a
/// run of a system. The program takes the events between ticks and writes them wherever it likes; `mica run --trace`
/// writes a file that Perfetto opens. Traces are no state of the world: they change nothing, and no restore changes
/// them. Nothing is measured while there is none.
#pragma once

#include <mica/hardware.h>

MICA_BEGIN

/// What an event tells of. Events of one thread lie within each other or apart, as what they tell of did.
typedef enum mica_trace_kind {
    MICA_TRACE_TICK,    ///< a whole tick, or step of a paused world
    MICA_TRACE_SYSTEM,  ///< a run of a system
    MICA_TRACE_LOOP,    ///< what a thread did of a parallel loop that was shared out
    MICA_TRACE_BARRIER, ///< commands that are applied
    MICA_TRACE_WAIT     ///< the rest of systems side by side, or of a loop, is waited for: the thread helps, or sleeps
} mica_trace_kind;

/// Something that took time.
typedef struct mica_trace_event {
    mica_trace_kind kind;
    int32_t thread;     ///< its number in the world's pool; 0: the one that steps the world
    const char *system; ///< of a run, a loop, and who waits for a loop; as good as the system; NULL: none, or removed
    uint64_t tick;      ///< ticks completed before the one that it was in
    uint64_t begin_nanoseconds;    ///< since the trace was begun
    uint64_t nanoseconds;          ///< how long it took
    uint64_t span_count;           ///< of a loop: how many spans the thread has visited
    uint64_t entity_count;         ///< of a loop: how many entities in these
    mica_hardware_counts hardware; ///< of a run, what it has cost, all of its loops included; zero if nobody counts
} mica_trace_event;

/// Called for each event.
typedef void (*mica_trace_function)(const mica_trace_event *event, void *user);

/// Traces a world from the next tick on, or anew. Each thread has room for `event_limit` events (0: 4096) until they
/// are taken; of those beyond that none is kept. Refuses: `MICA_LOCKED` (in a tick, a stop function or a walk),
/// `MICA_INVALID` (no world, a negative limit), `MICA_OUT_OF_MEMORY`; the trace then goes on as it was. O(threads *
/// `event_limit`).
MICA_API mica_result mica_trace_begin(mica_world *world, int32_t event_limit);

/// Calls `function` for each event that was noted since the last call, thread by thread, on each in the order in which
/// they ended, and forgets them. Returns how many were not kept for want of room; -1: `MICA_LOCKED` as
/// `mica_trace_begin`, `MICA_INVALID` (no world, no function). None if the world is not traced. O(events *
/// log(systems)).
MICA_API int64_t mica_trace_take(mica_world *world, mica_trace_function function, void *user);

/// Ends the trace, with all events that were not taken; does nothing if there is none. Refuses: `MICA_LOCKED` as
/// `mica_trace_begin`, `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`.
MICA_API mica_result mica_trace_end(mica_world *world);

MICA_END
