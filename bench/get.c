// Reading the position of every entity of a world by its handle, and asking for a component that every second one has,
// in random order. What the loops go over stands in variables of their own, as the compiler arranges it for the limit,
// which calls nothing.
#include "crowd.h"
#include "limit_archetype.h"
#include "limit_pool.h"
#include "rows.h"

static void *random_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL) {
        bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
    }
    return crowd;
}

static void run(void *context) {
    bench_crowd *crowd = context;
    mica_world *world = crowd->world;
    const mica_entity *entities = crowd->entities;
    const uint32_t n = crowd->n;
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Position *position = mica_get(world, entities[i], Position);
        if (position != NULL) {
            sum += position->x + position->y + position->z;
        }
    }
    crowd->result = bench_mix_floats(0, sum, 0, 0);
}

static uint64_t check(void *context) {
    const bench_crowd *crowd = context;
    return crowd->result;
}

static const bench_side at_random = {
    .set_up = random_set_up,
    .run = run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static void *pool_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make_in_pools(n, 0, 0);
    if (crowd != NULL) {
        bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
    }
    return crowd;
}

static void pool_run(void *context) {
    bench_crowd *crowd = context;
    mica_world *world = crowd->world;
    const mica_entity *entities = crowd->entities;
    const uint32_t n = crowd->n;
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const PoolPosition *position = mica_get(world, entities[i], PoolPosition);
        if (position != NULL) {
            sum += position->x + position->y + position->z;
        }
    }
    crowd->result = bench_mix_floats(0, sum, 0, 0);
}

static const bench_side from_pool = {
    .set_up = pool_set_up,
    .run = pool_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static void *has_set_up(int64_t n) {
    bench_crowd *crowd = random_set_up(n);
    for (uint32_t i = 0; crowd != NULL && i < crowd->n; i += 2) {
        mica_add_value(crowd->world, crowd->created[i], Data, {i});
        mica_add_value(crowd->world, crowd->created[i], PoolData, {i});
    }
    return crowd;
}

static void has_run(void *context) {
    bench_crowd *crowd = context;
    mica_world *world = crowd->world;
    const mica_entity *entities = crowd->entities;
    const uint32_t n = crowd->n;
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += mica_has(world, entities[i], Data);
    }
    crowd->result = count;
}

static void has_in_pool_run(void *context) {
    bench_crowd *crowd = context;
    mica_world *world = crowd->world;
    const mica_entity *entities = crowd->entities;
    const uint32_t n = crowd->n;
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += mica_has(world, entities[i], PoolData);
    }
    crowd->result = count;
}

static const bench_side has = {
    .set_up = has_set_up,
    .run = has_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side has_in_pool = {
    .set_up = has_set_up,
    .run = has_in_pool_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_row rows[] = {
    {"get/random", "main", 10000, "ns/entity", 10000, &at_random, &limit_get_random},
    {"get/random", "main", 100000, "ns/entity", 100000, &at_random, &limit_get_random},
    {"get/random", "main", 1000000, "ns/entity", 1000000, &at_random, &limit_get_random},
    {"get/random", "pool", 10000, "ns/entity", 10000, &from_pool, &limit_pool_get},
    {"get/random", "pool", 100000, "ns/entity", 100000, &from_pool, &limit_pool_get},
    {"get/random", "pool", 1000000, "ns/entity", 1000000, &from_pool, &limit_pool_get},
    {"has/random", "main", 1000000, "ns/entity", 1000000, &has, &limit_has_random},
    {"has/random", "pool", 1000000, "ns/entity", 1000000, &has_in_pool, &limit_pool_has},
};

const bench_family bench_get = {rows, (int32_t)(sizeof rows / sizeof *rows)};
