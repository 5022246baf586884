// The movement loop over components in lanes, and beside the same limit over whole values.
#include "crowd.h"
#include "limit_walk.h"
#include "rows.h"

#include <stdlib.h>

MICA_NAMED_WITH(LanePosition, Position, (.layout = MICA_LANES));
MICA_NAMED_WITH(LaneVelocity, Velocity, (.layout = MICA_LANES));

typedef struct lane_world {
    mica_world *world;
    mica_query *query;
} lane_world;

static void lanes_tear_down(void *context) {
    lane_world *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    free(state);
}

static void *lanes_set_up(int64_t n) {
    lane_world *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        const mica_term terms[] = {mica_write(LanePosition), mica_read(LaneVelocity)};
        state->query = mica_query_create(state->world, terms, 2);
    }
    if (state->query == NULL) {
        lanes_tear_down(state);
        return NULL;
    }
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        const mica_value values[] = {{.type = mica_type_of(LanePosition), .value = &position},
                                     {.type = mica_type_of(LaneVelocity), .value = &velocity}};
        mica_entity_spawn(state->world, values, 2);
    }
    return state;
}

static void lanes_run(void *context) {
    const lane_world *state = context;
    mica_each (state->query, it) {
        bench_move_lanes(mica_lane(it, LanePosition, x), mica_lane(it, LanePosition, y), mica_lane(it, LanePosition, z),
                         mica_lane_read(it, LaneVelocity, x), mica_lane_read(it, LaneVelocity, y),
                         mica_lane_read(it, LaneVelocity, z), it.count);
    }
}

static uint64_t lanes_check(void *context) {
    const lane_world *state = context;
    uint64_t checksum = 0;
    mica_each (state->query, it) {
        const float *x = mica_lane_read(it, LanePosition, x);
        const float *y = mica_lane_read(it, LanePosition, y);
        const float *z = mica_lane_read(it, LanePosition, z);
        for (int32_t i = 0; i < it.count; i++) {
            checksum = bench_mix_floats(checksum, x[i], y[i], z[i]);
        }
    }
    return checksum;
}

static const bench_side move_lanes = {
    .set_up = lanes_set_up,
    .run = lanes_run,
    .check = lanes_check,
    .tear_down = lanes_tear_down,
};

static const bench_row rows[] = {
    {"walk/2/lanes", "main", 10000, "ns/entity", 10000, &move_lanes, &limit_walk_lanes},
    {"walk/2/lanes", "main", 100000, "ns/entity", 100000, &move_lanes, &limit_walk_lanes},
    {"walk/2/lanes", "main", 1000000, "ns/entity", 1000000, &move_lanes, &limit_walk_lanes},
    {"walk/2/lanes", "structs", 10000, "ns/entity", 10000, &bench_walk_two, &limit_walk_lanes},
    {"walk/2/lanes", "structs", 100000, "ns/entity", 100000, &bench_walk_two, &limit_walk_lanes},
    {"walk/2/lanes", "structs", 1000000, "ns/entity", 1000000, &bench_walk_two, &limit_walk_lanes},
};

const bench_family bench_walk_lanes = {rows, (int32_t)(sizeof rows / sizeof *rows)};
