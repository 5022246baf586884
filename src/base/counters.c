// Counters of a thread, on Linux by perf_event_open, which has no function in the C library.
//
// The counters of a thread are one group: they count at the same times or not at all, and one call reads them. Where
// one of them is refused, as cache misses are by many virtual machines, there is no group.

// syscall is no part of POSIX.
#define _GNU_SOURCE

#include "base/counters.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define HAS_COUNTERS 1
#endif
#endif

#ifdef HAS_COUNTERS

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

const mi_counter_kind mi_counters_of_core[MI_COUNTER_COUNT] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

static void close_files(const int *files, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        (void)close(files[i]);
    }
}

bool mi_counters_open(mi_counters *counters, const mi_counter_kind kinds[MI_COUNTER_COUNT]) {
    for (int32_t i = 0; i < MI_COUNTER_COUNT; i++) {
        struct perf_event_attr attributes = {.type = kinds[i].type,
                                             .size = sizeof(attributes),
                                             .config = kinds[i].event,
                                             .read_format = PERF_FORMAT_GROUP,
                                             .exclude_kernel = 1, // else most systems refuse
                                             .exclude_hv = 1};
        const int first = i == 0 ? -1 : counters->files[0];
        counters->files[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, first, PERF_FLAG_FD_CLOEXEC);
        if (counters->files[i] < 0) {
            const int error = errno;
            close_files(counters->files, i);
            errno = error;
            return false;
        }
    }
    return true;
}

bool mi_counters_read(const mi_counters *counters, uint64_t counts[MI_COUNTER_COUNT]) {
    uint64_t words[1 + MI_COUNTER_COUNT]; // how many follow, and they
    if (read(counters->files[0], words, sizeof(words)) != (ssize_t)sizeof(words)) {
        return false;
    }
    for (int32_t i = 0; i < MI_COUNTER_COUNT; i++) {
        counts[i] = words[1 + i];
    }
    return true;
}

void mi_counters_close(const mi_counters *counters) {
    close_files(counters->files, MI_COUNTER_COUNT);
}

#else

const mi_counter_kind mi_counters_of_core[MI_COUNTER_COUNT];

bool mi_counters_open(mi_counters *counters, const mi_counter_kind kinds[MI_COUNTER_COUNT]) {
    (void)counters;
    (void)kinds;
    errno = ENOSYS;
    return false;
}

bool mi_counters_read(const mi_counters *counters, uint64_t counts[MI_COUNTER_COUNT]) {
    (void)counters;
    (void)counts;
    return false;
}

void mi_counters_close(const mi_counters *counters) {
    (void)counters;
}

#endif
