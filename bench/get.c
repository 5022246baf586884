// Reading the position of every entity of a world by its handle, in random order.
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

static void run(void *context) {
    bench_crowd *crowd = context;
    float sum = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Position *position = mica_get(crowd->world, crowd->entities[i], Position);
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

static const bench_row rows[] = {
    {"get/random", "main", 10000, "ns/entity", 10000, &at_random, &limit_get_random},
    {"get/random", "main", 100000, "ns/entity", 100000, &at_random, &limit_get_random},
    {"get/random", "main", 1000000, "ns/entity", 1000000, &at_random, &limit_get_random},
};

const bench_family bench_get = {rows, (int32_t)(sizeof rows / sizeof *rows)};
