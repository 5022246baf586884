// Doing one side of a row once, for tools that count what the processor does.
#pragma once

#include "harness.h"
#include "rows.h"

#include <stdio.h>

/// Rows are counted at this size, or at their own if that is smaller.
enum { BENCH_ONCE_SIZE = 20000 };

/// Writes a line for each variant of each row that can be counted: row, variant, size, operations of a run, and "both"
/// or "mica" (there is no limit), separated by tabs.
void bench_once_list(const bench_family *const *families, int32_t family_count, FILE *out);

/// The row of that name and variant at the size at which it is counted. False: there is none that can be counted.
bool bench_once_find(const bench_family *const *families, int32_t family_count, const char *name, const char *variant,
                     bench_row *found);

/// Makes a state of n, runs the side on it to warm it up, and runs it again by `bench_once_counted`.
bench_status bench_once_do(const bench_side *side, int64_t n);

/// Runs a side. This function's name is what tools are told to count in.
void bench_once_counted(const bench_side *side, void *state);
