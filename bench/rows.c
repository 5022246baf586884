// The families of benchmarks as a list.
#include "rows.h"

#define FAMILY_ENTRY(NAME) &bench_##NAME,
const bench_family *const bench_families[] = {BENCH_FAMILIES(FAMILY_ENTRY)};

const int32_t bench_family_count = (int32_t)(sizeof bench_families / sizeof bench_families[0]);
