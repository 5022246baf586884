// Notes what ran when, by thread; see mica/trace.h.
#pragma once

#include "run/system.h"

#include <mica/trace.h>

typedef struct mi_trace_record {
    uint64_t begin, end; // mi_os_count
    uint64_t tick;
    uint64_t span_count;
    uint64_t entity_count;
    uint64_t hardware[MI_COUNTER_COUNT];
    uint32_t system_id; // 0: none
    mica_trace_kind kind;
} mi_trace_record;

// What a thread has noted, a cache line of its own.
typedef struct mi_trace_lane {
    _Alignas(MI_CACHE_LINE) mi_trace_record *records;
    uint32_t count;
    uint64_t lost_count;
} mi_trace_lane;

typedef struct mi_trace {
    uint64_t first_count; // mi_os_count when it was begun
    uint32_t limit;       // records of a lane
    uint32_t lane_count;
    mi_trace_lane *lanes; // by thread
    mi_trace_record *records;
} mi_trace;

// Notes what the calling thread has done from `record->begin` on until now or, if that is given, `record->end`. The
// world is traced.
void mi_trace_note(const mi_systems *systems, const mi_trace_record *record);

// Ends the trace of systems that are about to end.
void mi_trace_free(mi_systems *systems);
