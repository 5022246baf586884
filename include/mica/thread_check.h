/// \file thread_check.h
/// Whether a tick does on several threads what it does on one.
///
/// Systems that declare what they touch do the same on any number of threads. One that touches more than it says, or
/// that keeps something outside of the world, may not. The check runs a tick twice from the same state, the first time
/// on one thread, and compares the world wherever the second one has no system running: what differs is named, with the
/// systems that may have done it. It is for tests and costs two ticks, and a snapshot a system.
#pragma once

#include <mica/checksum.h>
#include <mica/snapshot.h>

MICA_BEGIN

#define MICA_THREAD_SUSPECTS_SIZE 256

/// What was not the same on several threads.
typedef struct mica_thread_difference {
    uint64_t tick;    ///< the tick: so many were complete before it
    char system[96];  ///< the first system, in the order of the plan, that may have done it; empty: none of the tick
    char stage[96];   ///< the stage that it ran in
    bool in_commands; ///< behind a barrier: `system` is the last one whose commands were applied there
    bool is_declared; ///< that system writes what differs, by its own account
    char suspects[MICA_THREAD_SUSPECTS_SIZE]; ///< `system` and all others that may have done it: "a", "b"; cut
    mica_difference state;                    ///< between the world on one thread (a) and on several (b)
} mica_thread_difference;

/// Runs a tick as `mica_world_step` on the calling thread alone, goes back, and runs it again with the same messages on
/// all threads of the world, however small the work. The world is afterwards in the state that the second run led to.
///
/// `MICA_MISMATCH`: something was not the same; `difference` (may be NULL) and the error say what. Systems that have
/// run side by side cannot be told apart: suspected are those of them that write the component that differs, or all of
/// them if none says so; then one touches what it has not declared. Systems run for the first time are not run beside
/// others, so that a check of one tick finds little.
///
/// Whatever is no state of the world happens twice: observers are called, systems added. A tick that fails on one
/// thread is not repeated; one that fails only on several is refused with what failed. Otherwise refuses as
/// `mica_world_step`, `mica_snapshot_take` and `mica_snapshot_restore`, and `MICA_INVALID`: the world has one thread.
/// Messages that other threads post into the inbox meanwhile are lost, as with every restore.
MICA_API mica_result mica_world_check_threads(mica_world *world, float delta_seconds,
                                              mica_thread_difference *difference);

MICA_END
