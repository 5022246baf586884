// Walks as hand-written C would do them: loops over bare arrays.
#pragma once

#include "harness.h"

enum { BENCH_TABLE_COUNT = 26, BENCH_TABLE_ROW_COUNT = 20 };

extern const bench_side limit_walk_two;        ///< move n positions by n velocities
extern const bench_side limit_walk_half;       ///< the same for every second of n entities
extern const bench_side limit_walk_fragmented; ///< advance `Data` in 26 arrays of 20 rows
