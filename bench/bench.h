// The benchmarks as one command, run by `mica bench`.
#pragma once

/// Runs the benchmarks that the arguments select and prints a table of them. `argv[0]` is the name used in messages;
/// the rest is options and rows, as `--help` tells. Returns 0 when done, 1 when a check failed or a row could not be
/// measured, 2 on wrong usage.
int mica_bench_main(int argc, char **argv);
