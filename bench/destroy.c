// Destroying all entities of a world, by handles in order of creation or in random order.
#include "crowd.h"
#include "limit_archetype.h"
#include "rows.h"

static void *random_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL) {
        bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
    }
    return crowd;
}

// A new world every time: the free list that a run leaves behind would decide where the next run's entities lie.
static void prepare(void *context) {
    bench_crowd_renew(context);
}

static void one_run(void *context) {
    bench_crowd *crowd = context;
    uint64_t result = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        result += mica_destroy(crowd->world, crowd->entities[i]) == MICA_OK;
    }
    crowd->result = result;
}

static void many_run(void *context) {
    bench_crowd *crowd = context;
    const mica_result destroyed = mica_destroy_many(crowd->world, crowd->entities, (int32_t)crowd->n);
    crowd->result = destroyed == MICA_OK ? crowd->n : 0;
}

static uint64_t check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = bench_mix(crowd->result, (uint64_t)mica_world_entity_count(crowd->world));
    for (uint32_t i = 0; i < crowd->n; i++) {
        checksum = bench_mix(checksum, mica_alive(crowd->world, crowd->entities[i]));
    }
    return checksum;
}

static const bench_side in_order = {
    .set_up = bench_crowd_set_up,
    .prepare = prepare,
    .run = one_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side at_random = {
    .set_up = random_set_up,
    .prepare = prepare,
    .run = one_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side many_at_random = {
    .set_up = random_set_up,
    .prepare = prepare,
    .run = many_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_row rows[] = {
    {"destroy/order", "main", 1000000, "ns/entity", 1000000, &in_order, &limit_destroy_order},
    {"destroy/random", "main", 1000000, "ns/entity", 1000000, &at_random, &limit_destroy_random},
    {"destroy/random", "many", 1000000, "ns/entity", 1000000, &many_at_random, &limit_destroy_random},
};

const bench_family bench_destroy = {rows, (int32_t)(sizeof rows / sizeof *rows)};
