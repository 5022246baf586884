// Counts what systems cost by the counters of the threads that run them; see mica/hardware.h.
#pragma once

#include "base/counters.h"
#include "run/system.h"

#include <mica/hardware.h>

// Of one thread of the world's pool, a cache line of its own.
typedef struct mi_hardware_lane {
    _Alignas(MI_CACHE_LINE) const void *thread; // whose counters they are; NULL: none was asked yet
    bool is_open;
    mi_counters counters;
} mi_hardware_lane;

typedef struct mi_hardware {
    const mi_counter_kind *kinds;
    uint32_t lane_count;
    mi_hardware_lane *lanes; // by thread
} mi_hardware;

// What a thread had counted when it began something.
typedef struct mi_hardware_mark {
    bool is_counted;
    uint64_t counts[MI_COUNTER_COUNT];
} mi_hardware_mark;

void mi_hardware_read(const mi_systems *systems, mi_hardware_mark *begin);
void mi_hardware_add(const mi_systems *systems, mi_system *system, const mi_hardware_mark *begin);

// What a run of a system, or another thread's share of a loop, begins and ends with: what was counted between is added
// to what the system has cost. Nothing if the world is not counted.
static inline void mi_hardware_open(const mi_systems *systems, mi_hardware_mark *begin) {
    begin->is_counted = false;
    if (MICA_UNLIKELY(systems->hardware != NULL)) {
        mi_hardware_read(systems, begin);
    }
}
static inline void mi_hardware_close(const mi_systems *systems, mi_system *system, const mi_hardware_mark *begin) {
    if (MICA_UNLIKELY(begin->is_counted)) {
        mi_hardware_add(systems, system, begin);
    }
}

// As mica_hardware_begin, counting what `kinds` says, which stays where it is.
mica_result mi_hardware_begin(mica_world *world, const mi_counter_kind kinds[MI_COUNTER_COUNT], const char *call);

// Counts as a program sees them.
mica_hardware_counts mi_hardware_counts(const uint64_t counts[MI_COUNTER_COUNT]);

// Ends the counting of systems that are about to end.
void mi_hardware_free(mi_systems *systems);
