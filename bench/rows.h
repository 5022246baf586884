// The table of all benchmarks.
#pragma once

#include "harness.h"

/// Rows that belong together, in the order in which they run.
typedef struct bench_family {
    const bench_row *rows;
    int32_t count;
} bench_family;

extern const bench_family bench_create;
extern const bench_family bench_destroy;
extern const bench_family bench_destroy_pools;
extern const bench_family bench_clear;
extern const bench_family bench_change;
extern const bench_family bench_changed;
extern const bench_family bench_observer;
extern const bench_family bench_commands;
extern const bench_family bench_event;
extern const bench_family bench_get;
extern const bench_family bench_index;
extern const bench_family bench_walk;
extern const bench_family bench_walk_mixes;
extern const bench_family bench_fragmented;
extern const bench_family bench_walk_pools;
extern const bench_family bench_tree;
extern const bench_family bench_memory;
extern const bench_family bench_curve;

/// All families, in the order in which they run.
extern const bench_family *const bench_families[];
extern const int32_t bench_family_count;
