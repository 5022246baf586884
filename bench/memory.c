// Bytes that an entity takes in a world of many: without components, and with a position and a velocity in tables or in
// pools. Entities are spawned one by one, so that the room that growing leaves is counted.
#include "limit_growth.h"
#include "rows.h"
#include "workload.h"

static void *empty_set_up(int64_t n) {
    mica_world *world = mica_world_create(NULL);
    for (int64_t i = 0; world != NULL && i < n; i++) {
        mica_create(world);
    }
    return world;
}

static void *filled_set_up(int64_t n, mica_type *position_type, mica_type *velocity_type) {
    mica_world *world = mica_world_create(NULL);
    for (uint32_t i = 0; world != NULL && i < n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        const mica_value values[] = {{position_type, &position, 0, 0}, {velocity_type, &velocity, 0, 0}};
        mica_entity_spawn(world, values, 2);
    }
    return world;
}

static void *tables_set_up(int64_t n) {
    return filled_set_up(n, mica_type_of(Position), mica_type_of(Velocity));
}

static void *pools_set_up(int64_t n) {
    return filled_set_up(n, mica_type_of(PoolPosition), mica_type_of(PoolVelocity));
}

static uint64_t weigh(void *context) {
    const mica_world *world = context;
    return mica_world_memory(world).total;
}

static void tear_down(void *context) {
    mica_world *world = context;
    mica_world_destroy(world);
}

static const bench_side empty = {.set_up = empty_set_up, .tear_down = tear_down, .weigh = weigh};
static const bench_side in_tables = {.set_up = tables_set_up, .tear_down = tear_down, .weigh = weigh};
static const bench_side in_pools = {.set_up = pools_set_up, .tear_down = tear_down, .weigh = weigh};

static const bench_row rows[] = {
    {"memory/PV", "main", 1000000, "bytes/entity", 1000000, &in_tables, &limit_growth},
    {"memory/PV", "pools", 1000000, "bytes/entity", 1000000, &in_pools, NULL},
    {"memory/empty", "main", 1000000, "bytes/entity", 1000000, &empty, NULL},
};

const bench_family bench_memory = {rows, (int32_t)(sizeof rows / sizeof *rows)};
