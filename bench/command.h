// The command line of the benchmarks, apart from which rows there are, so that tests can bring their own.
#pragma once

#include "harness.h"
#include "rows.h"

#include <stdio.h>

typedef struct bench_command {
    const bench_family *const *families;
    int32_t family_count;
    FILE *out; ///< Results.
    FILE *err; ///< Everything else.
    /// Makes the session to measure with.
    bench_session (*session_make)(bool quick);
} bench_command;

/// Runs a command line as `mica_bench_main` describes it, and returns its exit code.
int bench_command_run(const bench_command *command, int argc, char **argv);
