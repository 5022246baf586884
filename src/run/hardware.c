// Hardware counters of systems: a group of counters for each thread of the world's pool, opened by the thread when it
// first runs a system, since counters count the thread that opens them.
//
// What a system costs is the sum of what its runs cost on the threads that ran them, and of the shares that other
// threads had in its loops: shares that the system's own thread takes are part of its run.
//
// Invariants: systems->hardware is set exactly while the world is counted, and changes only between ticks; a thread
// opens and reads the lane of its number alone. An engine's threads may come and go under a number, so a lane knows its
// thread; one that was refused is not asked again.
#include "run/hardware.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/os.h"

// An address of its own for each thread.
static MI_THREAD_LOCAL char self;

// The lane of the calling thread, with its counters open; NULL: it cannot count.
static mi_hardware_lane *open_lane(const mi_systems *systems) {
    const mi_hardware *hardware = systems->hardware;
    const mica_jobs *jobs = systems->world->jobs;
    mi_hardware_lane *lane = &hardware->lanes[jobs == NULL ? 0 : mi_jobs_thread(jobs)];
    if (MICA_UNLIKELY(lane->thread != &self)) {
        if (lane->is_open) {
            mi_counters_close(&lane->counters);
        }
        lane->thread = &self;
        lane->is_open = mi_counters_open(&lane->counters, hardware->kinds);
    }
    return lane->is_open ? lane : NULL;
}

void mi_hardware_read(const mi_systems *systems, mi_hardware_mark *begin) {
    const mi_hardware_lane *lane = open_lane(systems);
    begin->is_counted = lane != NULL && mi_counters_read(&lane->counters, begin->counts);
}

void mi_hardware_add(const mi_systems *systems, mi_system *system, const mi_hardware_mark *begin) {
    const mi_hardware_lane *lane = open_lane(systems);
    uint64_t now[MI_COUNTER_COUNT];
    if (lane == NULL || !mi_counters_read(&lane->counters, now)) {
        return;
    }
    for (int32_t i = 0; i < MI_COUNTER_COUNT; i++) {
        mi_add_number(&system->hardware[i], now[i] - begin->counts[i]);
    }
}

void mi_hardware_free(mi_systems *systems) {
    mi_heap *heap = &systems->world->heap;
    mi_hardware *hardware = systems->hardware;
    if (hardware == NULL) {
        return;
    }
    for (uint32_t i = 0; i < hardware->lane_count; i++) {
        if (hardware->lanes[i].is_open) {
            mi_counters_close(&hardware->lanes[i].counters);
        }
    }
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, hardware->lanes, hardware->lane_count * sizeof(mi_hardware_lane),
                    _Alignof(mi_hardware_lane));
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, hardware, sizeof(*hardware), _Alignof(mi_hardware));
    systems->hardware = NULL;
}

static mica_result fail_refused(const mica_world *world, int error, const char *call) {
    if (error == EACCES || error == EPERM) {
        return mi_fail_plain(&world->log, MICA_UNSUPPORTED, call,
                             "the system lets this program read no hardware counters");
    }
    return mi_fail(&world->log, MICA_UNSUPPORTED, call, "there are no hardware counters here: {}",
                   MI_TEXT(strerror(error)));
}

mica_result mi_hardware_begin(mica_world *world, const mi_counter_kind kinds[MI_COUNTER_COUNT], const char *call) {
    mi_systems *systems = mi_systems_open_idle(world, call);
    if (systems == NULL) {
        return mica_last_result();
    }
    if (systems->hardware != NULL) {
        return MICA_OK;
    }
    mi_counters tried; // what this thread is refused, others are as well
    if (!mi_counters_open(&tried, kinds)) {
        return fail_refused(world, errno, call);
    }
    mi_counters_close(&tried);
    mi_heap *heap = &world->heap;
    const uint32_t lane_count = world->jobs == NULL ? 1 : (uint32_t)mica_jobs_thread_count(world->jobs);
    mi_hardware *hardware =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, sizeof(*hardware), _Alignof(mi_hardware));
    mi_hardware_lane *lanes =
        hardware == NULL ? NULL
                         : mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, lane_count * sizeof(mi_hardware_lane),
                                                   _Alignof(mi_hardware_lane));
    if (lanes == NULL) {
        mi_heap_release(heap, MICA_MEMORY_SYSTEMS, hardware, sizeof(*hardware), _Alignof(mi_hardware));
        return mi_fail_memory(&world->log, call, lane_count * sizeof(mi_hardware_lane));
    }
    *hardware = (mi_hardware){.kinds = kinds, .lane_count = lane_count, .lanes = lanes};
    systems->hardware = hardware;
    return MICA_OK;
}

mica_result mica_hardware_begin(mica_world *world) {
    return mi_hardware_begin(world, mi_counters_of_core, __func__);
}

mica_result mica_hardware_end(mica_world *world) {
    mi_systems *systems = mi_systems_open_idle(world, __func__);
    if (systems == NULL) {
        return mica_last_result();
    }
    mi_hardware_free(systems);
    return MICA_OK;
}

bool mica_hardware_is_counted(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL && systems->hardware != NULL;
}

mica_hardware_counts mi_hardware_counts(const uint64_t counts[MI_COUNTER_COUNT]) {
    return (mica_hardware_counts){.instruction_count = counts[0],
                                  .cycle_count = counts[1],
                                  .cache_miss_count = counts[2],
                                  .branch_miss_count = counts[3]};
}

mica_result mica_hardware_statistics(const mica_world *world, mica_system handle, mica_hardware_counts *counts) {
    const mi_system *system = mi_system_resolve(world, handle, __func__);
    if (system == NULL) {
        return MICA_UNKNOWN;
    }
    if (counts == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__, "there is no place for the counts");
    }
    *counts = mi_hardware_counts(system->hardware);
    return MICA_OK;
}
