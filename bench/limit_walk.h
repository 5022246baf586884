// Walks as hand-written C would do them: loops over bare arrays.
#pragma once

#include "harness.h"

enum { BENCH_TABLE_COUNT = 26, BENCH_TABLE_ROW_COUNT = 20, BENCH_SUBSET_COUNT = 10000, BENCH_SUBSET_ROW_COUNT = 10 };

extern const bench_side limit_walk_two;        ///< move n positions by n velocities
extern const bench_side limit_walk_lanes;      ///< the same in an array a field
extern const bench_side limit_walk_half;       ///< the same for every second of n entities
extern const bench_side limit_walk_fragmented; ///< advance `Data` in 26 arrays of 20 rows
extern const bench_side limit_walk_subsets;    ///< advance `Data` in 10,000 arrays of 10 rows
/// As `limit_walk_two` and `limit_walk_half`, in pages of 4 KiB.
extern const bench_side limit_walk_two_small_pages;
extern const bench_side limit_walk_half_small_pages;
