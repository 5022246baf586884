// Creating entities with a position and a velocity, in a world that has held as many before, or in a new one ("fresh").
//
// Before each run the world is emptied from its last entity on, so that every slot comes from the free list, in
// ascending order, and no memory is touched for the first time. The caller keeps the handles.
#include "crowd.h"
#include "limit_archetype.h"
#include "rows.h"

#include "machine.h"

#include <stdlib.h>

static void prepare(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = crowd->n; i-- > 0;) {
        mica_destroy(crowd->world, crowd->entities[i]);
    }
}

// Of the values in order of their rows: new entities stand in order of creation.
static uint64_t check(void *context) {
    bench_crowd *crowd = context;
    uint64_t checksum = (uint64_t)mica_world_entity_count(crowd->world);
    mica_each (crowd->query, it) {
        const Position *position = mica_read_of(it, Position);
        const Velocity *velocity = mica_read_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            checksum = bench_mix_position(checksum, &position[i]);
            checksum = bench_mix_velocity(checksum, &velocity[i]);
        }
    }
    return checksum;
}

static void spawn_run(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        crowd->entities[i] = mica_spawn(crowd->world, mica_value_of(Position, {position.x, position.y, position.z}),
                                        mica_value_of(Velocity, {velocity.x, velocity.y, velocity.z}));
    }
}

static const bench_side one_by_spawn = {
    .set_up = bench_crowd_set_up,
    .prepare = prepare,
    .run = spawn_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static void fresh_prepare(void *context) {
    bench_crowd_empty(context);
}

static const bench_side one_by_spawn_fresh = {
    .set_up = bench_crowd_set_up,
    .prepare = fresh_prepare,
    .run = spawn_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static void spawner_run(void *context) {
    const bench_crowd *crowd = context;
    mica_spawner spawner = mica_spawner_of(crowd->world, mica_type_of(Position), mica_type_of(Velocity));
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        crowd->entities[i] = mica_spawn(&spawner, mica_value_of(Position, {position.x, position.y, position.z}),
                                        mica_value_of(Velocity, {velocity.x, velocity.y, velocity.z}));
    }
}

static const bench_side one_by_spawner = {
    .set_up = bench_crowd_set_up,
    .prepare = prepare,
    .run = spawner_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static void set_run(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        const mica_entity entity = mica_create(crowd->world);
        mica_set_from(crowd->world, entity, Position, &position);
        mica_set_from(crowd->world, entity, Velocity, &velocity);
        crowd->entities[i] = entity;
    }
}

static const bench_side one_by_set = {
    .set_up = bench_crowd_set_up,
    .prepare = prepare,
    .run = set_run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

// A crowd and the columns that the bulk call takes.
typedef struct bulk {
    bench_crowd *crowd;
    Position *positions;
    Velocity *velocities;
} bulk;

static void bulk_tear_down(void *context) {
    bulk *state = context;
    const size_t count = state->crowd->n;
    bench_pages_free(state->positions, count, sizeof *state->positions);
    bench_pages_free(state->velocities, count, sizeof *state->velocities);
    bench_crowd_tear_down(state->crowd);
    free(state);
}

static void *bulk_set_up(int64_t n) {
    bulk *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->crowd = bench_crowd_make(n);
    if (state->crowd == NULL) {
        free(state);
        return NULL;
    }
    state->positions = bench_pages_allocate((size_t)n, sizeof *state->positions, BENCH_PAGES_4_KIB);
    state->velocities = bench_pages_allocate((size_t)n, sizeof *state->velocities, BENCH_PAGES_4_KIB);
    if (state->positions == NULL || state->velocities == NULL) {
        bulk_tear_down(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        state->positions[i] = bench_position(i);
        state->velocities[i] = bench_velocity(i);
    }
    return state;
}

static void bulk_prepare(void *context) {
    prepare(((bulk *)context)->crowd);
}

static void bulk_run(void *context) {
    const bulk *state = context;
    bench_crowd *crowd = state->crowd;
    crowd->result = (uint64_t)mica_spawn_many(crowd->world, (int32_t)crowd->n, crowd->entities,
                                              mica_column_of(Position, state->positions),
                                              mica_column_of(Velocity, state->velocities));
}

static uint64_t bulk_check(void *context) {
    return check(((bulk *)context)->crowd);
}

static const bench_side by_columns = {
    .set_up = bulk_set_up,
    .prepare = bulk_prepare,
    .run = bulk_run,
    .check = bulk_check,
    .tear_down = bulk_tear_down,
};

static void bulk_fresh_prepare(void *context) {
    bench_crowd_empty(((bulk *)context)->crowd);
}

static const bench_side by_columns_fresh = {
    .set_up = bulk_set_up,
    .prepare = bulk_fresh_prepare,
    .run = bulk_run,
    .check = bulk_check,
    .tear_down = bulk_tear_down,
};

static const bench_row rows[] = {
    {"create/one", "main", 1000000, "ns/entity", 1000000, &one_by_spawn, &limit_create_one},
    {"create/one", "spawner", 1000000, "ns/entity", 1000000, &one_by_spawner, &limit_create_one},
    {"create/one", "create, set, set", 1000000, "ns/entity", 1000000, &one_by_set, &limit_create_one},
    {"create/one/fresh", "main", 1000000, "ns/entity", 1000000, &one_by_spawn_fresh, &limit_create_one_fresh},
    {"create/bulk", "main", 1000000, "ns/entity", 1000000, &by_columns, &limit_create_bulk},
    {"create/bulk/fresh", "main", 1000000, "ns/entity", 1000000, &by_columns_fresh, &limit_create_bulk_fresh},
};

const bench_family bench_create = {rows, (int32_t)(sizeof rows / sizeof *rows)};
