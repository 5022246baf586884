// Traces: a lane of records for each thread of the world's pool.
//
// A thread writes to the lane of its number alone, and lanes are read between ticks, when all threads have been waited
// for, so nothing is locked. Records hold counts of the core, which become nanoseconds when they are taken: by then a
// count's length is known as well as it is going to be. Systems go by their numbers, since one may be removed before
// its records are taken.
//
// Invariants: systems->trace is set exactly while the world is traced, and changes only between ticks; a lane holds at
// most `limit` records; what has no room is counted.
#include "run/trace.h"

#include "base/os.h"
#include "run/hardware.h"

#include <string.h>

#define EVENT_LIMIT_DEFAULT 4096

void mi_trace_note(const mi_systems *systems, const mi_trace_record *record) {
    mi_trace *trace = systems->trace;
    const mica_jobs *jobs = systems->world->jobs;
    const uint32_t thread = jobs == NULL ? 0 : (uint32_t)mi_jobs_thread(jobs);
    mi_trace_lane *lane = &trace->lanes[thread];
    if (lane->count == trace->limit) {
        lane->lost_count++;
        return;
    }
    mi_trace_record *place = &lane->records[lane->count++];
    *place = *record;
    place->tick = systems->tick;
    place->end = record->end == 0 ? mi_os_count() : record->end;
}

static size_t lanes_size(const mi_trace *trace) {
    return trace->lane_count * sizeof(mi_trace_lane);
}

static size_t records_size(const mi_trace *trace) {
    return (size_t)trace->lane_count * trace->limit * sizeof(mi_trace_record);
}

static void free_trace(mi_heap *heap, mi_trace *trace) {
    if (trace == NULL) {
        return;
    }
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, trace->records, records_size(trace), _Alignof(mi_trace_record));
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, trace->lanes, lanes_size(trace), _Alignof(mi_trace_lane));
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, trace, sizeof(*trace), _Alignof(mi_trace));
}

void mi_trace_free(mi_systems *systems) {
    free_trace(&systems->world->heap, systems->trace);
    systems->trace = NULL;
}

// NULL: out of memory.
static mi_trace *make_trace(mi_heap *heap, uint32_t lane_count, uint32_t limit) {
    mi_trace *trace = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, sizeof(*trace), _Alignof(mi_trace));
    if (trace == NULL) {
        return NULL;
    }
    *trace = (mi_trace){.first_count = mi_os_count(), .limit = limit, .lane_count = lane_count};
    trace->lanes = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, lanes_size(trace), _Alignof(mi_trace_lane));
    if (trace->lanes != NULL) {
        trace->records = mi_heap_allocate(heap, MICA_MEMORY_SYSTEMS, records_size(trace), _Alignof(mi_trace_record));
    }
    if (trace->records == NULL) {
        free_trace(heap, trace);
        return NULL;
    }
    for (uint32_t i = 0; i < lane_count; i++) {
        trace->lanes[i].records = trace->records + (size_t)i * limit;
    }
    return trace;
}

mica_result mica_trace_begin(mica_world *world, int32_t event_limit) {
    mi_systems *systems = mi_systems_open_idle(world, __func__);
    if (systems == NULL) {
        return mica_last_result();
    }
    if (event_limit < 0) {
        return mi_fail(&world->log, MICA_INVALID, __func__, "there is no room for {} events", MI_INT(event_limit));
    }
    const uint32_t limit = event_limit == 0 ? EVENT_LIMIT_DEFAULT : (uint32_t)event_limit;
    const uint32_t lane_count = world->jobs == NULL ? 1 : (uint32_t)mica_jobs_thread_count(world->jobs);
    mi_trace *trace = make_trace(&world->heap, lane_count, limit);
    if (trace == NULL) {
        return mi_fail_memory(&world->log, __func__, (size_t)lane_count * limit * sizeof(mi_trace_record));
    }
    mi_trace_free(systems);
    systems->trace = trace;
    for (uint32_t i = 0; i < systems->all.count; i++) {
        memcpy(systems->all.data[i]->hardware_told, systems->all.data[i]->hardware,
               sizeof(systems->all.data[i]->hardware));
    }
    return MICA_OK;
}

mica_result mica_trace_end(mica_world *world) {
    mi_systems *systems = mi_systems_open_idle(world, __func__);
    if (systems == NULL) {
        return mica_last_result();
    }
    mi_trace_free(systems);
    return MICA_OK;
}

// Of counts of two cores, a later one may be lower by a little.
static uint64_t nanoseconds_between(const mi_systems *systems, uint64_t begin, uint64_t end) {
    return end > begin ? (uint64_t)((double)(end - begin) * systems->count_nanoseconds) : 0;
}

static const char *name_of_system(const mi_systems *systems, uint32_t id) {
    uint32_t low = 0;
    uint32_t high = systems->all.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const mi_system *system = systems->all.data[middle];
        if (system->id == id) {
            return system->order.name;
        }
        low = system->id < id ? middle + 1 : low;
        high = system->id < id ? high : middle;
    }
    return NULL;
}

int64_t mica_trace_take(mica_world *world, mica_trace_function function, void *user) {
    mi_systems *systems = mi_systems_open_idle(world, __func__);
    if (systems == NULL) {
        return -1;
    }
    if (function == NULL) {
        mi_fail_plain(&world->log, MICA_INVALID, __func__, "needs a function to call");
        return -1;
    }
    const mi_trace *trace = systems->trace;
    uint64_t lost_count = 0;
    for (uint32_t thread = 0; trace != NULL && thread < trace->lane_count; thread++) {
        mi_trace_lane *lane = &trace->lanes[thread];
        for (uint32_t i = 0; i < lane->count; i++) {
            const mi_trace_record *record = &lane->records[i];
            const mica_trace_event event = {.kind = record->kind,
                                            .thread = (int32_t)thread,
                                            .system = name_of_system(systems, record->system_id),
                                            .tick = record->tick,
                                            .begin_nanoseconds =
                                                nanoseconds_between(systems, trace->first_count, record->begin),
                                            .nanoseconds = nanoseconds_between(systems, record->begin, record->end),
                                            .span_count = record->span_count,
                                            .entity_count = record->entity_count,
                                            .hardware = mi_hardware_counts(record->hardware)};
            function(&event, user);
        }
        lost_count += lane->lost_count;
        lane->count = 0;
        lane->lost_count = 0;
    }
    return (int64_t)lost_count;
}
