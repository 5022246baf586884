// What the benchmarks need from the machine: a clock, one core to stay on, a loop of known work, and memory in pages of
// a known size.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_page_size { BENCH_PAGES_4_KIB, BENCH_PAGES_2_MIB } bench_page_size;

/// What a machine says of itself; "unknown" and 0 where it does not.
typedef struct bench_machine {
    char processor[64];
    char system[96];
    int32_t processor_count;
    int32_t cache_count;
    char caches[4][64]; ///< "1 data 32 KiB", of one processor.
} bench_machine;

/// Asks the system.
bench_machine bench_machine_read(void);

/// Nanoseconds of processor time that the calling thread has used: what other processes take in between is not counted.
int64_t bench_clock(void);

/// Nanoseconds on the wall: for what several threads do.
int64_t bench_wall_clock(void);

/// Keeps the calling thread, and those that it starts, on the core that it runs on now. Returns false where the system
/// does not allow it.
bool bench_pin(void);

/// Lets the calling thread, and those that it starts from now on, run on all cores. Likewise.
bool bench_unpin(void);

/// Does a fixed amount of integer work, about a millisecond, and returns the nanoseconds it took.
int64_t bench_calibrate(void);

/// Zeroed memory in pages of that size, none of it touched yet, or NULL. Where the system cannot choose the size, its
/// own.
void *bench_pages_allocate(size_t count, size_t element_size, bench_page_size page_size);

/// Gives back what `bench_pages_allocate` returned for the same count and element size; NULL is allowed.
void bench_pages_free(void *ptr, size_t count, size_t element_size);

/// Makes all of that memory as if it had never been touched.
void bench_pages_forget(void *ptr, size_t count, size_t element_size);

/// Fills `order` with a permutation of 0 ... count - 1 that depends on the seed alone.
void bench_shuffle(uint32_t *order, uint32_t count, uint64_t seed);
