// Mica's side of what most workloads start from: a world of n entities that have a position and a velocity, in tables
// or in pools.
#pragma once

#include "harness.h"
#include "workload.h"

typedef struct bench_crowd {
    mica_world *world;
    mica_query *query;         ///< Positions to write, velocities to read.
    mica_entity *created;      ///< In order of creation.
    mica_entity *entities;     ///< In the order in which they are used.
    mica_entity *entities_too; ///< In the order of the second half of a workload.
    uint32_t *order;           ///< The permutation that a workload follows.
    uint32_t n;
    uint64_t result; ///< What runs have computed.
} bench_crowd;

/// A crowd whose entities exist, and stand in order of creation in all lists. `order` is the identity. NULL: out of
/// memory.
bench_crowd *bench_crowd_make(int64_t n);

/// A crowd whose entities have both components in pools, filled in the order of a permutation each: by its seed, or in
/// order of creation for 0. `query` names those components. NULL: out of memory.
bench_crowd *bench_crowd_make_in_pools(int64_t n, uint64_t position_seed, uint64_t velocity_seed);

/// `bench_crowd_make` as a side's set-up.
void *bench_crowd_set_up(int64_t n);

/// A side's tear-down.
void bench_crowd_tear_down(void *context);

/// Ends the world and makes another with the same entities, which stand in `entities` in the order that `order` says.
/// When memory is lacking, the crowd is left without entities, and its checks fail.
void bench_crowd_renew(bench_crowd *crowd);

/// Ends the world and makes another without entities; the lists stay as they are. When memory is lacking, the crowd is
/// left without a world, and its checks fail.
void bench_crowd_empty(bench_crowd *crowd);

/// A checksum of the positions in pools, in order of creation; entities without one are passed over.
uint64_t bench_crowd_check_in_pools(const bench_crowd *crowd);

/// Makes `order` a random permutation and puts the entities into `entities`, one of the crowd's lists, in that order.
void bench_crowd_arrange(bench_crowd *crowd, mica_entity *entities, uint64_t seed);

/// The movement loop over positions and velocities in tables, of a crowd (walk.c).
extern const bench_side bench_walk_two;
