// Walks by spans over entities of eight mixes of components, made in turns: positions and velocities with each subset
// of a rotation, a health and a tag. All of them match, or half do; and the same with the tag alone.
#include "limit_walk.h"
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

MICA_STRUCT(MixRotation, { float x, y, z, w; });
MICA_STRUCT(MixHealth, {
    int32_t points;
    int32_t most;
});
MICA_TAG(MixTag);

// Bits of an entity's number that say what it has beside a position and a velocity.
enum { MIX_ROTATION = 1, MIX_HEALTH = 2, MIX_TAG = 4 };

typedef struct mixed_world {
    mica_world *world;
    mica_query *query;
    mica_entity *created; // in order of creation
    uint32_t n;
    uint32_t step; // every so manyth entity matches, the first among them
} mixed_world;

static void mixed_tear_down(void *context) {
    mixed_world *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    bench_pages_free(state->created, state->n, sizeof *state->created);
    free(state);
}

static mica_entity spawn(mica_world *world, uint32_t i, uint32_t mix) {
    const Position position = bench_position(i);
    const Velocity velocity = bench_velocity(i);
    const MixRotation rotation = {0, 0, 0, 1};
    const MixHealth health = {(int32_t)(i & 127), 127};
    mica_value values[5] = {{mica_type_of(Position), &position, 0, 0}, {mica_type_of(Velocity), &velocity, 0, 0}};
    int32_t count = 2;
    if ((mix & MIX_ROTATION) != 0) {
        values[count++] = (mica_value){mica_type_of(MixRotation), &rotation, 0, 0};
    }
    if ((mix & MIX_HEALTH) != 0) {
        values[count++] = (mica_value){mica_type_of(MixHealth), &health, 0, 0};
    }
    if ((mix & MIX_TAG) != 0) {
        values[count++] = (mica_value){mica_type_of(MixTag), NULL, 0, 0};
    }
    return mica_entity_spawn(world, values, count);
}

// A world without entities yet, its query, and the list of n handles.
static mixed_world *mixed_make(int64_t n, const mica_term *terms, int32_t term_count, uint32_t step) {
    mixed_world *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->step = step;
    state->created = bench_pages_allocate(state->n, sizeof *state->created, BENCH_PAGES_4_KIB);
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->query = mica_query_create(state->world, terms, term_count);
    }
    if (state->created == NULL || state->query == NULL) {
        mixed_tear_down(state);
        return NULL;
    }
    return state;
}

static void *all_set_up(int64_t n) {
    const mica_term terms[] = {mica_write(Position), mica_read(Velocity)};
    mixed_world *state = mixed_make(n, terms, 2, 1);
    for (uint32_t i = 0; state != NULL && i < state->n; i++) {
        state->created[i] = spawn(state->world, i, i & (MIX_ROTATION | MIX_HEALTH | MIX_TAG));
    }
    return state;
}

static void *without_set_up(int64_t n) {
    const mica_term terms[] = {mica_write(Position), mica_read(Velocity), mica_without(MixRotation)};
    mixed_world *state = mixed_make(n, terms, 3, 2);
    for (uint32_t i = 0; state != NULL && i < state->n; i++) {
        state->created[i] = spawn(state->world, i, i & (MIX_ROTATION | MIX_HEALTH | MIX_TAG));
    }
    return state;
}

static void *tag_set_up(int64_t n) {
    const mica_term terms[] = {mica_write(Position), mica_read(Velocity), mica_without(MixTag)};
    mixed_world *state = mixed_make(n, terms, 3, 2);
    for (uint32_t i = 0; state != NULL && i < state->n; i++) {
        state->created[i] = spawn(state->world, i, (i & 1) != 0 ? MIX_TAG : 0);
    }
    return state;
}

static void move_run(void *context) {
    const mixed_world *state = context;
    mica_each (state->query, it) {
        bench_move(mica_write_of(it, Position), mica_read_of(it, Velocity), it.count);
    }
}

// Positions in order of creation, since a walk goes table by table.
static uint64_t move_check(void *context) {
    const mixed_world *state = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->n; i += state->step) {
        const Position *position = mica_get(state->world, state->created[i], Position);
        if (position != NULL) {
            checksum = bench_mix_position(checksum, position);
        }
    }
    return checksum;
}

static const bench_side all_mixes = {
    .set_up = all_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = mixed_tear_down,
};

static const bench_side half_the_mixes = {
    .set_up = without_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = mixed_tear_down,
};

static const bench_side without_tag = {
    .set_up = tag_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = mixed_tear_down,
};

static const bench_row rows[] = {
    {"walk/mixed", "main", 10000, "ns/entity", 10000, &all_mixes, &limit_walk_two_small_pages},
    {"walk/mixed", "main", 100000, "ns/entity", 100000, &all_mixes, &limit_walk_two_small_pages},
    {"walk/mixed", "main", 1000000, "ns/entity", 1000000, &all_mixes, &limit_walk_two_small_pages},
    {"walk/mixed", "beside 2 MiB pages", 1000000, "ns/entity", 1000000, &all_mixes, &limit_walk_two},
    {"walk/without", "main", 10000, "ns/entity", 5000, &half_the_mixes, &limit_walk_half_small_pages},
    {"walk/without", "main", 100000, "ns/entity", 50000, &half_the_mixes, &limit_walk_half_small_pages},
    {"walk/without", "main", 1000000, "ns/entity", 500000, &half_the_mixes, &limit_walk_half_small_pages},
    {"walk/without", "beside 2 MiB pages", 1000000, "ns/entity", 500000, &half_the_mixes, &limit_walk_half},
    {"walk/tag", "main", 1000000, "ns/entity", 500000, &without_tag, &limit_walk_half_small_pages},
    {"walk/tag", "beside 2 MiB pages", 1000000, "ns/entity", 500000, &without_tag, &limit_walk_half},
};

const bench_family bench_walk_mixes = {rows, (int32_t)(sizeof rows / sizeof *rows)};
