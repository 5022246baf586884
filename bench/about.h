// What figures depend on besides the code: the machine, the compiler, the flags.
#pragma once

#include <stdio.h>

/// Writes a line for each of these: "machine: ...", "system: ...", "compiler: ...", "library: ...", "benchmarks: ...",
/// "handles: ...".
void bench_about_print(FILE *out);
