// Every family of benchmarks is entered here once.
#include "rows.h"

const bench_family *const bench_families[] = {
    &bench_create,     &bench_destroy,    &bench_destroy_pools, &bench_clear, &bench_change, &bench_changed,
    &bench_observer,   &bench_commands,   &bench_event,         &bench_get,   &bench_index,  &bench_walk,
    &bench_walk_mixes, &bench_fragmented, &bench_walk_pools,    &bench_tree,  &bench_memory, &bench_curve,
};

const int32_t bench_family_count = (int32_t)(sizeof bench_families / sizeof bench_families[0]);
