/// \file hardware.h
/// Hardware counters: what systems cost in instructions, cycles and misses, as the cores count them.
///
/// While a world is counted, each thread that runs its systems counts for itself, without what the kernel does. Linux
/// has such counters where the machine has them and the system lets the program count (`perf_event_paranoid` of 2 or
/// less); many virtual machines and containers have none. Then `mica_hardware_begin` refuses, and all else goes on as
/// it was. A world that is not counted pays nothing.
///
/// Counts are no state of the world: they change nothing, and no restore changes them. All functions here belong to the
/// world's thread.
#pragma once

#include <mica/system.h>

MICA_BEGIN

/// What cores have counted.
typedef struct mica_hardware_counts {
    uint64_t instruction_count;
    uint64_t cycle_count;
    uint64_t cache_miss_count; ///< of the last level
    uint64_t branch_miss_count;
} mica_hardware_counts;

/// Counts what the systems of a world do from the next tick on; one that is counted already goes on. A run of a system,
/// and a thread's share of a parallel loop, costs two calls into the system more, about a microsecond. Refuses:
/// `MICA_UNSUPPORTED` (there are no counters here, or the program may not use them; the message says which),
/// `MICA_LOCKED` (in a tick, a stop function or a walk), `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`. O(threads).
MICA_API mica_result mica_hardware_begin(mica_world *world);

/// Counts no longer, and closes what threads have opened; does nothing if the world is not counted. What was counted
/// stays. Refuses: `MICA_LOCKED` as `mica_hardware_begin`, `MICA_INVALID` (no world), `MICA_OUT_OF_MEMORY`. O(threads).
MICA_API mica_result mica_hardware_end(mica_world *world);

/// Whether the world is counted. O(1).
MICA_API bool mica_hardware_is_counted(const mica_world *world);

/// What the runs of a system and its parallel loops have cost on all threads together since it was added, its start
/// function left out. What threads did that could not count is missing. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no
/// place for it). O(log(systems)).
MICA_API mica_result mica_hardware_statistics(const mica_world *world, mica_system system,
                                              mica_hardware_counts *counts);

MICA_END
