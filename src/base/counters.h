// Counters of a thread: what its instructions cost, as the core counts. Linux has them; elsewhere, and where the system
// or the machine gives none, none open.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// So many are read at once.
#define MI_COUNTER_COUNT 4

// What is counted, in the system's numbers.
typedef struct mi_counter_kind {
    uint32_t type;
    uint64_t event;
} mi_counter_kind;

// Instructions, cycles, cache misses, branch misses; of the program, without what the kernel does for it.
extern const mi_counter_kind mi_counters_of_core[MI_COUNTER_COUNT];

typedef struct mi_counters {
    int files[MI_COUNTER_COUNT]; // of which the first one stands for all
} mi_counters;

// Counts what the calling thread does from now on; false: not here, and `errno` says why.
bool mi_counters_open(mi_counters *counters, const mi_counter_kind kinds[MI_COUNTER_COUNT]);
// What has been counted so far; any thread. False: it could not be read. A call into the system.
bool mi_counters_read(const mi_counters *counters, uint64_t counts[MI_COUNTER_COUNT]);
// Any thread.
void mi_counters_close(const mi_counters *counters);
