// The table of all benchmarks.
#pragma once

#include "harness.h"

/// Rows that belong together, in the order in which they run.
typedef struct bench_family {
    const bench_row *rows;
    int32_t count;
} bench_family;

// Every family of benchmarks is entered here once, in the order in which they run; `bench_NAME` is the family.
// clang-format off
#define BENCH_FAMILIES(DO) \
    DO(create) \
    DO(destroy) \
    DO(destroy_pools) \
    DO(clear) \
    DO(change) \
    DO(changed) \
    DO(observer) \
    DO(commands) \
    DO(event) \
    DO(jobs) \
    DO(threads) \
    DO(get) \
    DO(gather) \
    DO(index) \
    DO(walk) \
    DO(walk_lanes) \
    DO(walk_mixes) \
    DO(fragmented) \
    DO(walk_pools) \
    DO(tree) \
    DO(tree_position) \
    DO(world) \
    DO(memory) \
    DO(snapshot) \
    DO(checksum) \
    DO(delta) \
    DO(curve)
// clang-format on

#define BENCH_FAMILY_DECLARE(NAME) extern const bench_family bench_##NAME;
BENCH_FAMILIES(BENCH_FAMILY_DECLARE)
#undef BENCH_FAMILY_DECLARE

/// All families, in the order in which they run.
extern const bench_family *const bench_families[];
extern const int32_t bench_family_count;
