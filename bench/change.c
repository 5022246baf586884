// Adding one component of 4 bytes to every entity of a world, then removing it; an operation is one add or one remove.
//
// In the random rows adding and removing follow different permutations; after one, the other would find its rows in
// order.
#include "crowd.h"
#include "limit_archetype.h"
#include "rows.h"

static void *random_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL) {
        bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
        bench_crowd_arrange(crowd, crowd->entities_too, BENCH_SEED_SECOND);
    }
    return crowd;
}

// How many adds, and how many removes, were done.
static uint64_t add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add_value(crowd->world, crowd->entities[i], Data, {i}) == MICA_OK;
    }
    return count;
}

static uint64_t remove_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_remove(crowd->world, crowd->entities_too[i], Data) == MICA_OK;
    }
    return count;
}

static void run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = add_all(crowd) + remove_all(crowd);
}

static uint64_t check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result + add_all(crowd);
    for (uint32_t i = 0; i < crowd->n; i++) {
        const mica_entity entity = crowd->entities[i];
        const Data *data = mica_get(crowd->world, entity, Data);
        const Position *position = mica_get(crowd->world, entity, Position);
        const Velocity *velocity = mica_get(crowd->world, entity, Velocity);
        if (data != NULL && position != NULL && velocity != NULL) {
            checksum = bench_mix(checksum, data->value);
            checksum = bench_mix_position(checksum, position);
            checksum = bench_mix_velocity(checksum, velocity);
        }
    }
    return checksum + remove_all(crowd);
}

static const bench_side in_order = {
    .set_up = bench_crowd_set_up,
    .run = run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side at_random = {
    .set_up = random_set_up,
    .run = run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_row rows[] = {
    {"change/table/order", "main", 1000000, "ns/change", 2000000, &in_order, &limit_change_order},
    {"change/table/random", "main", 1000000, "ns/change", 2000000, &at_random, &limit_change_random},
};

const bench_family bench_change = {rows, (int32_t)(sizeof rows / sizeof *rows)};
