// What the guide's page "Table or pool?" shows as curves: one component in a pool beside the same one in tables, both
// by Mica, at growing shares of the entities that have it. The pool takes the place of Mica in a row and the table that
// of the limit, so the ratio says how many times as long the pool takes.
//
// A world has WORLD_COUNT entities with a position in a table; n of them, chosen and ordered at random, have a
// velocity.
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORLD_COUNT = 100000, PART_COUNT = 5 };

typedef struct shared_world {
    mica_world *world;
    mica_query *both;      ///< Positions to write, velocities to read.
    mica_query *alone;     ///< Velocities to write.
    mica_type *velocity;   ///< In a table or in a pool.
    mica_entity *created;  ///< All, in order of creation.
    mica_entity *members;  ///< Those with a velocity, in the order in which they got it.
    mica_entity *departed; ///< The same in the order in which they lose it.
    uint32_t member_count;
    uint64_t result;
} shared_world;

static void tear_down(void *context) {
    shared_world *state = context;
    mica_query_release(state->both);
    mica_query_release(state->alone);
    mica_world_destroy(state->world);
    free(state->created);
    free(state->members);
    free(state->departed);
    free(state);
}

// Brings the members into the order of a seed, as `members` is in that of BENCH_SEED_FIRST.
static void arrange_departed(shared_world *state, uint32_t *order) {
    bench_shuffle(order, state->member_count, BENCH_SEED_SECOND);
    for (uint32_t i = 0; i < state->member_count; i++) {
        state->departed[i] = state->members[order[i]];
    }
}

static bool entities_make(shared_world *state) {
    state->created = calloc(WORLD_COUNT, sizeof *state->created);
    state->members = calloc(WORLD_COUNT, sizeof *state->members);
    state->departed = calloc(WORLD_COUNT, sizeof *state->departed);
    uint32_t *order = calloc(WORLD_COUNT, sizeof *order);
    const bool made = state->created != NULL && state->members != NULL && state->departed != NULL && order != NULL;
    mica_value values[1 + PART_COUNT] = {{mica_type_of(Position), NULL, 0, 0}};
    for (uint32_t i = 1; i <= PART_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "Part%u", (unsigned)i);
        mica_schema *schema = mica_world_schema(state->world);
        values[i].component = mica_schema_register_named(schema, mica_type_of(Velocity), name, NULL);
    }
    for (uint32_t i = 0; made && i < WORLD_COUNT; i++) {
        const Position position = bench_position(i);
        values[0].value = &position;
        state->created[i] = mica_entity_spawn(state->world, values, 1 + PART_COUNT);
    }
    if (made) {
        bench_shuffle(order, WORLD_COUNT, BENCH_SEED_FIRST);
        for (uint32_t i = 0; i < state->member_count; i++) {
            state->members[i] = state->created[order[i]];
        }
        arrange_departed(state, order);
    }
    free(order);
    return made;
}

static shared_world *world_make(int64_t n, mica_type *velocity) {
    shared_world *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->velocity = velocity;
    state->member_count = (uint32_t)n;
    state->world = n <= WORLD_COUNT ? mica_world_create(NULL) : NULL;
    if (state->world != NULL) {
        const mica_term both[] = {mica_write(Position), {velocity, 0, MICA_USE_READ, 0}};
        const mica_term alone = {velocity, 0, MICA_USE_WRITE, 0};
        state->both = mica_query_create(state->world, both, 2);
        state->alone = mica_query_create(state->world, &alone, 1);
    }
    if (state->both == NULL || state->alone == NULL || !entities_make(state)) {
        tear_down(state);
        return NULL;
    }
    return state;
}

static uint64_t add_all(const shared_world *state) {
    const mica_component component = mica_world_register(state->world, state->velocity);
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->member_count; i++) {
        const Velocity velocity = bench_velocity(i);
        count += mica_entity_add(state->world, state->members[i], component, &velocity) == MICA_OK;
    }
    return count;
}

static uint64_t remove_all(const shared_world *state) {
    const mica_component component = mica_world_register(state->world, state->velocity);
    uint64_t count = 0;
    for (uint32_t i = 0; i < state->member_count; i++) {
        count += mica_entity_remove(state->world, state->departed[i], component) == MICA_OK;
    }
    return count;
}

static void *pool_set_up(int64_t n) {
    return world_make(n, mica_type_of(PoolVelocity));
}

static void *table_set_up(int64_t n) {
    return world_make(n, mica_type_of(Velocity));
}

static void *pool_set_up_filled(int64_t n) {
    shared_world *state = pool_set_up(n);
    if (state != NULL) {
        add_all(state);
    }
    return state;
}

static void *table_set_up_filled(int64_t n) {
    shared_world *state = table_set_up(n);
    if (state != NULL) {
        add_all(state);
    }
    return state;
}

static void change_run(void *context) {
    shared_world *state = context;
    state->result = add_all(state) + remove_all(state);
}

static uint64_t change_check(void *context) {
    const shared_world *state = context;
    uint64_t checksum = state->result;
    for (uint32_t i = 0; i < WORLD_COUNT; i++) {
        checksum = bench_mix_position(checksum, mica_get(state->world, state->created[i], Position));
    }
    return checksum;
}

static void both_run(void *context) {
    const shared_world *state = context;
    mica_each (state->both, it) {
        bench_move(mica_write_of(it, Position), mica_iter_read(&it, state->velocity), it.count);
    }
}

static void alone_run(void *context) {
    const shared_world *state = context;
    mica_each (state->alone, it) {
        Velocity *velocities = mica_iter_write(&it, state->velocity);
        for (int32_t i = 0; i < it.count; i++) {
            velocities[i].y -= bench_delta_seconds;
        }
    }
}

static uint64_t walk_check(void *context) {
    const shared_world *state = context;
    const mica_component component = mica_world_register(state->world, state->velocity);
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->member_count; i++) {
        checksum = bench_mix_position(checksum, mica_get(state->world, state->members[i], Position));
        checksum = bench_mix_velocity(checksum, mica_entity_get(state->world, state->members[i], component));
    }
    return checksum;
}

#define SIDE(NAME, SET_UP, RUN, CHECK) \
    static const bench_side NAME = {.set_up = (SET_UP), .run = (RUN), .check = (CHECK), .tear_down = tear_down}

SIDE(change_in_pool, pool_set_up, change_run, change_check);
SIDE(change_in_table, table_set_up, change_run, change_check);
SIDE(both_in_pool, pool_set_up_filled, both_run, walk_check);
SIDE(both_in_table, table_set_up_filled, both_run, walk_check);
SIDE(alone_in_pool, pool_set_up_filled, alone_run, walk_check);
SIDE(alone_in_table, table_set_up_filled, alone_run, walk_check);

// clang-format off
#define ROWS(N)                                                                                \
    {"curve/walk/both", "main", (N), "ns/entity", (N), &both_in_pool, &both_in_table},         \
    {"curve/walk/alone", "main", (N), "ns/entity", (N), &alone_in_pool, &alone_in_table},      \
    {"curve/change", "main", (N), "ns/change", 2 * (N), &change_in_pool, &change_in_table}
// clang-format on

static const bench_row rows[] = {
    ROWS(100), ROWS(300), ROWS(1000), ROWS(3000), ROWS(10000), ROWS(30000), ROWS(WORLD_COUNT),
};

const bench_family bench_curve = {rows, (int32_t)(sizeof rows / sizeof *rows)};
