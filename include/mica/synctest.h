/// \file synctest.h
/// SyncTest: whether ticks that are run again do the same.
///
/// Rollback, replay and lockstep stand on systems that do the same with the same: on nothing but the world and what
/// comes in. A SyncTest goes so many ticks back after every tick, runs them again with the same messages and lengths,
/// and compares the world after every system and barrier. What differs is named: the first system, entity, component
/// and field. It is for tests and costs as many ticks as it goes back, and a snapshot a system.
#pragma once

#include <mica/checksum.h>
#include <mica/snapshot.h>

MICA_BEGIN

typedef struct mica_synctest mica_synctest;

/// Most ticks that a SyncTest goes back.
#define MICA_SYNCTEST_TICKS_MAX 64

/// What was not the same when a tick was run again.
typedef struct mica_synctest_difference {
    uint64_t tick;         ///< the tick: so many were complete before it
    int32_t run_number;    ///< the run of the tick that differed from the first one: 1 is the first repetition
    char system[96];       ///< the first system behind which the world differed
    char stage[96];        ///< the stage that it ran in
    bool in_commands;      ///< behind a barrier: `system` is the last one whose commands were applied there
    mica_difference state; ///< between the world as it was the first time (a) and the one it was now (b), at that place
} mica_synctest_difference;

/// Makes a SyncTest of a world, which must outlive it, that goes `tick_count` ticks back: 1 to
/// `MICA_SYNCTEST_TICKS_MAX`. NULL: `MICA_INVALID`, `MICA_OUT_OF_MEMORY`.
MICA_API mica_synctest *mica_synctest_create(mica_world *world, int32_t tick_count);

/// NULL is allowed.
MICA_API void mica_synctest_destroy(mica_synctest *test);

/// Runs a tick as `mica_world_step`, then goes back and runs the last ticks again, as many as there are since the
/// SyncTest was made, up to its number. What the program changes between ticks is repeated as well. The world is
/// afterwards in the state that the last repetition led to, which is the same as without a SyncTest. Messages that
/// other threads post into the inbox meanwhile are lost, as with every restore.
///
/// `MICA_MISMATCH`: something was not the same; `difference` (may be NULL) and the error say what. The test then begins
/// anew with the next tick. Otherwise refuses as `mica_world_step`, `mica_snapshot_take` and `mica_snapshot_restore`; a
/// tick that fails is not repeated.
MICA_API mica_result mica_synctest_step(mica_synctest *test, float delta_seconds, mica_synctest_difference *difference);

MICA_END
