// Deltas of a world of n entities of 64 bytes in 8 tables in which one row in a hundred has changed, beside reading
// both images of the columns concerned.
//
// Before each run 4 bytes of such rows, spread over all chunks, are written, and a snapshot is taken. The limit
// compares two arrays of the same values word by word. Both sides are checked by how many rows differ.
//
// "delta/size" is what a delta takes a changed row; its limit is the bytes that changed and 4 more.
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

MICA_STRUCT(Load, { uint32_t words[16]; });
MICA_TAG(LoadA);
MICA_TAG(LoadB);
MICA_TAG(LoadC);

enum { PART = 100, WORD_COUNT = 16 };

typedef struct loaded {
    mica_world *world;
    mica_query *loads;
    mica_snapshot *base;
    mica_snapshot *target;
    mica_delta *delta;
    Load *arrays[2];
    uint32_t n;
    uint32_t round; ///< Which rows are written next.
    uint32_t different_count;
} loaded;

static void tear_down(void *context) {
    loaded *state = context;
    mica_delta_release(state->delta);
    mica_snapshot_release(state->base);
    mica_snapshot_release(state->target);
    mica_query_release(state->loads);
    mica_world_destroy(state->world);
    free(state->arrays[0]);
    free(state->arrays[1]);
    free(state);
}

static bool fill(mica_world *world, uint32_t n) {
    const mica_component tags[] = {mica_register(world, LoadA), mica_register(world, LoadB),
                                   mica_register(world, LoadC)};
    for (uint32_t i = 0; i < n; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Load, {{i}}));
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

static void *set_up(int64_t n) {
    loaded *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    const mica_term terms[] = {mica_write(Load)};
    state->n = (uint32_t)n;
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->loads = mica_query_create(state->world, terms, 1);
    }
    if (state->loads != NULL && fill(state->world, state->n)) {
        state->target = mica_snapshot_take(state->world, NULL);
    }
    if (state->target == NULL) {
        tear_down(state);
        return NULL;
    }
    return state;
}

// Changes rows, those of another place each time: all four bytes of a word.
static void write_rows(void *context) {
    loaded *state = context;
    uint32_t row = state->round++ % PART;
    mica_each (state->loads, it) {
        Load *loads = mica_iter_column_write(&it, mica_type_of(Load));
        for (; row < (uint32_t)it.count; row += PART) {
            loads[row].words[3] ^= UINT32_C(0x01010101) * (1 + state->round % 255);
        }
        row -= (uint32_t)it.count;
    }
    mica_snapshot_release(state->base);
    state->base = state->target;
    state->target = mica_snapshot_take(state->world, NULL);
    mica_delta_release(state->delta);
    state->delta = NULL;
}

static void make(void *context) {
    loaded *state = context;
    state->delta = mica_delta_make(state->base, state->target, NULL);
}

static uint64_t check(void *context) {
    const loaded *state = context;
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(state->delta, &byte_size);
    mica_delta_info info;
    mica_delta_component_info component = {.changed_count = 0};
    (void)mica_delta_describe(bytes, byte_size, &info, &component, 1);
    return bench_mix(1, (uint64_t)component.changed_count);
}

static void *weighed_set_up(int64_t n) {
    loaded *state = set_up(n);
    if (state != NULL) {
        write_rows(state);
        make(state);
    }
    return state;
}

static uint64_t weigh(void *context) {
    const loaded *state = context;
    size_t byte_size = 0;
    (void)mica_delta_bytes(state->delta, &byte_size);
    return byte_size;
}

// The limit

static void *arrays_set_up(int64_t n) {
    loaded *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    for (uint32_t i = 0; i < 2; i++) {
        state->arrays[i] = calloc((size_t)n, sizeof(Load));
        if (state->arrays[i] == NULL) {
            tear_down(state);
            return NULL;
        }
    }
    return state;
}

static void arrays_write(void *context) {
    loaded *state = context;
    memcpy(state->arrays[0], state->arrays[1], state->n * sizeof(Load));
    for (uint32_t row = state->round++ % PART; row < state->n; row += PART) {
        state->arrays[1][row].words[3]++;
    }
}

static void arrays_compare(void *context) {
    loaded *state = context;
    uint32_t different_count = 0;
    for (uint32_t row = 0; row < state->n; row++) {
        uint32_t difference = 0;
        for (uint32_t word = 0; word < WORD_COUNT; word++) {
            difference |= state->arrays[0][row].words[word] ^ state->arrays[1][row].words[word];
        }
        different_count += difference != 0;
    }
    state->different_count = different_count;
}

static uint64_t arrays_check(void *context) {
    const loaded *state = context;
    return bench_mix(1, state->different_count);
}

static uint64_t arrays_weigh(void *context) {
    const loaded *state = context;
    return (uint64_t)(state->n / PART) * (sizeof(uint32_t) + 4);
}

static const bench_side delta = {
    .set_up = set_up, .prepare = write_rows, .run = make, .check = check, .tear_down = tear_down};
static const bench_side reading = {.set_up = arrays_set_up,
                                   .prepare = arrays_write,
                                   .run = arrays_compare,
                                   .check = arrays_check,
                                   .tear_down = tear_down};
static const bench_side size = {.set_up = weighed_set_up, .tear_down = tear_down, .weigh = weigh};
static const bench_side size_limit = {.set_up = arrays_set_up, .tear_down = tear_down, .weigh = arrays_weigh};

static const bench_row rows[] = {
    {"delta/make", "main", 1000000, "us/delta", 1, &delta, &reading},
    {"delta/size", "main", 1000000, "bytes/row", 10000, &size, &size_limit},
};

const bench_family bench_delta = {rows, (int32_t)(sizeof rows / sizeof *rows)};
