// Snapshots of a world of n entities of 64 bytes in 8 tables, and restoring them, beside copying the bytes of the
// columns concerned by memcpy.
//
// Before a run values are written: none, those of one chunk in a hundred, or all. Taking a snapshot lets the one before
// it go, as a ring does. The limit copies into, or out of, a mirror of all columns that is there already. Both sides
// are checked by all values that the state has at the end: Mica's out of the last snapshot, the limit's out of its
// mirror, or those of the world after a restore.
//
// "ring/memory" is what 64 snapshots take, each after one chunk in a hundred was written; its limit is the world.
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

MICA_STRUCT(BlockA, { float values[4]; });
MICA_NAMED(BlockB, BlockA);
MICA_NAMED(BlockC, BlockA);
MICA_NAMED(BlockD, BlockA);
MICA_TAG(MarkA);
MICA_TAG(MarkB);
MICA_TAG(MarkC);

enum { PART = 100, COLUMN_COUNT = 4, RING_COUNT = 64 };

typedef struct kept {
    mica_world *world;
    mica_query *blocks;
    mica_snapshot *last;
    mica_ring *ring;
    BlockA *mirror;
    uint32_t round; ///< Which part is written next.
    uint32_t step;  ///< Every so manieth chunk is written; 0: none.
} kept;

static void tear_down(void *context) {
    kept *state = context;
    mica_snapshot_release(state->last);
    mica_ring_destroy(state->ring);
    mica_query_release(state->blocks);
    mica_world_destroy(state->world);
    free(state->mirror);
    free(state);
}

static bool fill(mica_world *world, int64_t n) {
    const mica_component tags[] = {mica_register(world, MarkA), mica_register(world, MarkB),
                                   mica_register(world, MarkC)};
    for (uint32_t i = 0; i < n; i++) {
        const float start = (float)i;
        const mica_entity entity = mica_spawn(world, mica_value_of(BlockA, {{start}}), mica_value_of(BlockB, {{start}}),
                                              mica_value_of(BlockC, {{start}}), mica_value_of(BlockD, {{start}}));
        for (uint32_t k = 0; k < 3; k++) {
            if ((i >> k & 1) != 0 && mica_entity_add(world, entity, tags[k], NULL) != MICA_OK) {
                return false;
            }
        }
        if (mica_entity_is_null(entity)) {
            return false;
        }
    }
    return true;
}

typedef struct span {
    BlockA *columns[COLUMN_COUNT];
    int32_t count;
} span;

static span span_of(const mica_iter *it) {
    return (span){
        .columns = {mica_iter_column_write(it, mica_type_of(BlockA)), mica_iter_column_write(it, mica_type_of(BlockB)),
                    mica_iter_column_write(it, mica_type_of(BlockC)), mica_iter_column_write(it, mica_type_of(BlockD))},
        .count = it->count};
}

// Calls a function with every chunk that is due, and where its mirror begins.
static void each_due(kept *state, void (*visit)(const span *chunk, BlockA *mirror)) {
    uint32_t chunk = state->round;
    BlockA *mirror = state->mirror;
    mica_each (state->blocks, it) {
        if (state->step > 0 && chunk++ % state->step == 0) {
            const span due = span_of(&it);
            visit(&due, mirror);
        }
        mirror += mirror == NULL ? 0 : (size_t)it.count * COLUMN_COUNT;
    }
}

static void write_chunk(const span *chunk, BlockA *mirror) {
    (void)mirror;
    for (int32_t column = 0; column < COLUMN_COUNT; column++) {
        for (int32_t i = 0; i < chunk->count; i++) {
            chunk->columns[column][i].values[1] += 1;
        }
    }
}

static void copy_out(const span *chunk, BlockA *mirror) {
    const size_t count = (size_t)chunk->count;
    for (int32_t column = 0; column < COLUMN_COUNT; column++) {
        memcpy(mirror + count * (size_t)column, chunk->columns[column], count * sizeof(BlockA));
    }
}

static void copy_in(const span *chunk, BlockA *mirror) {
    const size_t count = (size_t)chunk->count;
    for (int32_t column = 0; column < COLUMN_COUNT; column++) {
        memcpy(chunk->columns[column], mirror + count * (size_t)column, count * sizeof(BlockA));
    }
}

// A world of which a snapshot was taken, or that was copied.
static void *make(int64_t n, uint32_t step, bool mirrors) {
    kept *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    const mica_term terms[] = {mica_write(BlockA), mica_write(BlockB), mica_write(BlockC), mica_write(BlockD)};
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->blocks = mica_query_create(state->world, terms, COLUMN_COUNT);
    }
    bool is_fine = state->blocks != NULL && fill(state->world, n);
    if (is_fine && mirrors) {
        state->mirror = calloc((size_t)n * COLUMN_COUNT, sizeof(BlockA));
        is_fine = state->mirror != NULL;
        state->step = 1;
        if (is_fine) {
            each_due(state, copy_out);
        }
    } else if (is_fine) {
        state->last = mica_snapshot_take(state->world, NULL);
        is_fine = state->last != NULL;
    }
    if (!is_fine) {
        tear_down(state);
        return NULL;
    }
    state->step = step;
    return state;
}

#define SET_UPS(NAME, STEP)                          \
    static void *NAME##_set_up(int64_t n) {          \
        return make(n, (STEP), false);               \
    }                                                \
    static void *NAME##_mirrored_set_up(int64_t n) { \
        return make(n, (STEP), true);                \
    }
SET_UPS(none, 0)
SET_UPS(some, PART)
SET_UPS(all, 1)

static void write_due(void *context) {
    kept *state = context;
    state->round++;
    each_due(state, write_chunk);
}

static void take(void *context) {
    kept *state = context;
    mica_snapshot *taken = mica_snapshot_take(state->world, NULL);
    mica_snapshot_release(state->last);
    state->last = taken;
}

static void take_limit(void *context) {
    each_due(context, copy_out);
}

static void restore(void *context) {
    kept *state = context;
    (void)mica_snapshot_restore(state->last, state->world, NULL);
}

static void restore_limit(void *context) {
    each_due(context, copy_in);
}

static uint64_t mix_blocks(uint64_t checksum, const BlockA *blocks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        checksum = bench_mix_floats(checksum, blocks[i].values[0], blocks[i].values[1], blocks[i].values[2]);
    }
    return checksum;
}

static uint64_t check_world(void *context) {
    kept *state = context;
    uint64_t checksum = 0;
    mica_each (state->blocks, it) {
        const BlockA *const columns[] = {mica_read_of(it, BlockA), mica_read_of(it, BlockB), mica_read_of(it, BlockC),
                                         mica_read_of(it, BlockD)};
        for (int32_t column = 0; column < COLUMN_COUNT; column++) {
            checksum = mix_blocks(checksum, columns[column], (size_t)it.count);
        }
    }
    return checksum;
}

// What the last snapshot holds: the world is in its state when a run has ended.
static uint64_t check_snapshot(void *context) {
    restore(context);
    return check_world(context);
}

static uint64_t check_mirror(void *context) {
    const kept *state = context;
    return mix_blocks(0, state->mirror, (size_t)mica_world_entity_count(state->world) * COLUMN_COUNT);
}

#define SIDES(NAME)                            \
    static const bench_side take_##NAME = {    \
        .set_up = NAME##_set_up,               \
        .prepare = write_due,                  \
        .run = take,                           \
        .check = check_snapshot,               \
        .tear_down = tear_down,                \
    };                                         \
    static const bench_side restore_##NAME = { \
        .set_up = NAME##_set_up,               \
        .prepare = write_due,                  \
        .run = restore,                        \
        .check = check_world,                  \
        .tear_down = tear_down,                \
    }
#define LIMITS(NAME)                                   \
    static const bench_side take_##NAME##_limit = {    \
        .set_up = NAME##_mirrored_set_up,              \
        .prepare = write_due,                          \
        .run = take_limit,                             \
        .check = check_mirror,                         \
        .tear_down = tear_down,                        \
    };                                                 \
    static const bench_side restore_##NAME##_limit = { \
        .set_up = NAME##_mirrored_set_up,              \
        .prepare = write_due,                          \
        .run = restore_limit,                          \
        .check = check_world,                          \
        .tear_down = tear_down,                        \
    }
SIDES(none);
SIDES(some);
SIDES(all);
LIMITS(some);
LIMITS(all);

// A ring that is full.

static void *ring_set_up(int64_t n) {
    kept *state = make(n, PART, false);
    if (state == NULL) {
        return NULL;
    }
    mica_snapshot_release(state->last);
    state->last = NULL;
    state->ring = mica_ring_create(state->world, &(mica_ring_def){.capacity = RING_COUNT});
    for (uint64_t number = 1; state->ring != NULL && number <= RING_COUNT; number++) {
        write_due(state);
        if (mica_ring_take(state->ring, number) != MICA_OK) {
            tear_down(state);
            return NULL;
        }
    }
    return state;
}

static uint64_t weigh_ring(void *context) {
    const kept *state = context;
    return mica_ring_statistics(state->ring).byte_size;
}

static uint64_t weigh_world(void *context) {
    const kept *state = context;
    return mica_world_memory(state->world).total;
}

static const bench_side ring = {.set_up = ring_set_up, .tear_down = tear_down, .weigh = weigh_ring};
static const bench_side ring_world = {.set_up = none_mirrored_set_up, .tear_down = tear_down, .weigh = weigh_world};

static const bench_row rows[] = {
    {"snapshot/none", "main", 1000000, "us/snapshot", 1, &take_none, NULL},
    {"snapshot/some", "main", 1000000, "us/snapshot", 1, &take_some, &take_some_limit},
    {"snapshot/all", "main", 1000000, "us/snapshot", 1, &take_all, &take_all_limit},
    {"restore/none", "main", 1000000, "us/restore", 1, &restore_none, NULL},
    {"restore/some", "main", 1000000, "us/restore", 1, &restore_some, &restore_some_limit},
    {"restore/all", "main", 1000000, "us/restore", 1, &restore_all, &restore_all_limit},
    {"ring/memory", "main", 1000000, "bytes/entity", 1000000, &ring, &ring_world},
};

const bench_family bench_snapshot = {rows, (int32_t)(sizeof rows / sizeof *rows)};
