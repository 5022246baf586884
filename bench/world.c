// Creating and destroying a world: an empty one, and one in which a thousand entities with a position and a velocity
// are spawned one by one.
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

typedef struct lives {
    uint32_t n;
    uint64_t result;
} lives;

static void *set_up(int64_t n) {
    lives *state = calloc(1, sizeof *state);
    if (state != NULL) {
        state->n = (uint32_t)n;
    }
    return state;
}

static void run(void *context) {
    lives *state = context;
    mica_world *world = mica_world_create(NULL);
    state->result = world != NULL;
    mica_world_destroy(world);
}

static void filled_run(void *context) {
    lives *state = context;
    mica_world *world = mica_world_create(NULL);
    if (world == NULL) {
        state->result = 0;
        return;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        mica_spawn(world, mica_value_of(Position, {position.x, position.y, position.z}),
                   mica_value_of(Velocity, {velocity.x, velocity.y, velocity.z}));
    }
    state->result = (uint64_t)mica_world_entity_count(world);
    mica_world_destroy(world);
}

static uint64_t check(void *context) {
    return ((const lives *)context)->result;
}

static const bench_side empty = {.set_up = set_up, .run = run, .check = check, .tear_down = free};
static const bench_side filled = {.set_up = set_up, .run = filled_run, .check = check, .tear_down = free};

static const bench_row rows[] = {
    {"world", "main", 1, "us/world", 1, &empty, NULL},
    {"world", "with 1,000 entities", 1000, "us/world", 1, &filled, NULL},
};

const bench_family bench_world = {rows, (int32_t)(sizeof rows / sizeof *rows)};
