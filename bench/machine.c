// The one place where the benchmarks meet the operating system.
//
// Time is processor time of the thread, not time on the wall: rows run on one thread, and a sample that the scheduler
// interrupted is as good as any other. Rows of several threads are the exception: what they take is time on the wall.
// What does disturb a sample (a slower clock, a stolen core) also slows the calibration loop, which is timed in the
// same way.
//
// Pages are asked for explicitly, since the system's default for large allocations differs from machine to machine, and
// a factor of five in the price of a page fault would be taken for a merit of one side.
#define _GNU_SOURCE

#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#endif

enum { CALIBRATION_STEPS = 400000 };

static const size_t huge_page_byte_size = (size_t)2 << 20;

#if defined(__linux__)
// The first line of a file, without its end. Returns false if there is none.
static bool read_line(const char *path, char *text, int byte_size) {
    FILE *file = fopen(path, "r");
    const bool found = file != NULL && fgets(text, byte_size, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    if (found) {
        text[strcspn(text, "\n")] = '\0';
    }
    return found;
}

// Fills in the text behind "model name : " of the first processor.
static void read_processor(bench_machine *machine) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", strlen("model name")) == 0 && value != NULL) {
            snprintf(machine->processor, sizeof machine->processor, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

// Fills in the caches that hold data.
static void read_caches(bench_machine *machine) {
    char path[80];
    char level[16];
    char type[24];
    char size[16];
    for (int32_t i = 0; machine->cache_count < 4; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", (int)i);
        if (!read_line(path, level, sizeof level)) {
            return;
        }
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", (int)i);
        const bool has_type = read_line(path, type, sizeof type);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", (int)i);
        if (has_type && strcmp(type, "Instruction") != 0 && read_line(path, size, sizeof size)) {
            snprintf(machine->caches[machine->cache_count++], sizeof machine->caches[0], "%s%s %s", level,
                     strcmp(type, "Data") == 0 ? " data" : "", size);
        }
    }
}

bench_machine bench_machine_read(void) {
    bench_machine machine = {.processor = "unknown", .system = "unknown"};
    struct utsname system;
    if (uname(&system) == 0) {
        snprintf(machine.system, sizeof machine.system, "%.32s %.48s", system.sysname, system.release);
    }
    machine.processor_count = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    read_processor(&machine);
    read_caches(&machine);
    return machine;
}
#else
bench_machine bench_machine_read(void) {
    return (bench_machine){.processor = "unknown", .system = "unknown"};
}
#endif

int64_t bench_wall_clock(void) {
    struct timespec now;
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &now);
#else
    timespec_get(&now, TIME_UTC);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_clock(void) {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#else
    return bench_wall_clock();
#endif
}

bool bench_unpin(void) {
#if defined(__linux__)
    cpu_set_t cores;
    memset(&cores, 0xff, sizeof cores); // the system leaves out those that there are not
    return sched_setaffinity(0, sizeof cores, &cores) == 0;
#else
    return false;
#endif
}

bool bench_pin(void) {
#if defined(__linux__)
    const int core = sched_getcpu();
    if (core < 0 || core >= CPU_SETSIZE) {
        return false;
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    return sched_setaffinity(0, sizeof cores, &cores) == 0;
#else
    return false;
#endif
}

int64_t bench_calibrate(void) {
    const int64_t start = bench_clock();
    uint64_t value = 0x9e3779b97f4a7c15u;
    for (int32_t i = 0; i < CALIBRATION_STEPS; i++) {
        value ^= value >> 29;
        value *= 0xbf58476d1ce4e5b9u;
    }
    volatile uint64_t sink = value;
    (void)sink;
    return bench_clock() - start;
}

void *bench_pages_allocate(size_t count, size_t element_size, bench_page_size page_size) {
    if (count == 0 || element_size == 0 || count > (SIZE_MAX - 2 * huge_page_byte_size) / element_size) {
        return NULL;
    }
    const size_t byte_size = count * element_size;
#if defined(__linux__)
    // More than needed is mapped, and the ends given back, so that the first large page starts where the memory does.
    const size_t kept = (byte_size + huge_page_byte_size - 1) / huge_page_byte_size * huge_page_byte_size;
    char *mapped = mmap(NULL, kept + huge_page_byte_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    const size_t before = (huge_page_byte_size - (uintptr_t)mapped % huge_page_byte_size) % huge_page_byte_size;
    if (before > 0) {
        munmap(mapped, before);
    }
    if (before < huge_page_byte_size) {
        munmap(mapped + before + kept, huge_page_byte_size - before);
    }
    // A kernel without large pages refuses the advice; its own page size is then the only one.
    (void)madvise(mapped + before, kept, page_size == BENCH_PAGES_2_MIB ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return mapped + before;
#else
    (void)page_size;
    return calloc(count, element_size);
#endif
}

void bench_pages_free(void *ptr, size_t count, size_t element_size) {
    if (ptr == NULL) {
        return;
    }
#if defined(__linux__)
    const size_t byte_size = count * element_size;
    munmap(ptr, (byte_size + huge_page_byte_size - 1) / huge_page_byte_size * huge_page_byte_size);
#else
    (void)count;
    (void)element_size;
    free(ptr);
#endif
}

void bench_pages_forget(void *ptr, size_t count, size_t element_size) {
#if defined(__linux__)
    (void)madvise(ptr, count * element_size, MADV_DONTNEED);
#else
    memset(ptr, 0, count * element_size);
#endif
}

// The splitmix64 generator: full period, and good from its first value on for any seed.
static uint64_t random_next(uint64_t *state) {
    uint64_t value = *state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

void bench_shuffle(uint32_t *order, uint32_t count, uint64_t seed) {
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t last = left - 1;
        const uint32_t chosen = (uint32_t)(((random_next(&seed) >> 32) * left) >> 32);
        const uint32_t swapped = order[last];
        order[last] = order[chosen];
        order[chosen] = swapped;
    }
}
