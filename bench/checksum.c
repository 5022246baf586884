// Checksums of a world beside reading the memory that they are of.
//
// A world of n entities in 8 tables, each entity with one component of 64, 12 or 4 bytes and a tag. The limit adds up
// the words of the same handles and values, which is the least that anybody who looks at all of them has to do.
#include "rows.h"
#include "workload.h"

#include <mica/checksum.h>

#include <stdlib.h>

enum { STATE_TABLE_COUNT = 8 };

MICA_STRUCT(Block, { uint64_t words[8]; });
MICA_TAG(Kind0);
MICA_TAG(Kind1);
MICA_TAG(Kind2);
MICA_TAG(Kind3);
MICA_TAG(Kind4);
MICA_TAG(Kind5);
MICA_TAG(Kind6);
MICA_TAG(Kind7);

static mica_type *const state_kinds[STATE_TABLE_COUNT] = {mica_type_of(Kind0), mica_type_of(Kind1), mica_type_of(Kind2),
                                                          mica_type_of(Kind3), mica_type_of(Kind4), mica_type_of(Kind5),
                                                          mica_type_of(Kind6), mica_type_of(Kind7)};

// The value of entity number `i`, as bytes; the first `byte_size` count.
static Block state_value(uint32_t i) {
    Block value;
    for (uint32_t k = 0; k < 8; k++) {
        value.words[k] = bench_mix(k, i);
    }
    return value;
}

// Mica

typedef struct state_world {
    mica_world *world;
    uint64_t first;  // checksum
    uint64_t latest; // checksum, of the last run
    uint32_t n;
    uint32_t byte_size;
} state_world;

static void state_tear_down(void *context) {
    state_world *state = context;
    mica_world_destroy(state->world);
    free(state);
}

static const mica_checksum_options state_options = {.entities_only = true};

static void *state_set_up(int64_t n, mica_type *type, uint32_t byte_size) {
    state_world *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    *state = (state_world){.world = mica_world_create(NULL), .n = (uint32_t)n, .byte_size = byte_size};
    for (uint32_t i = 0; i < state->n; i++) {
        const Block block = state_value(i);
        const mica_value values[] = {{type, &block, 0, 0}, {state_kinds[i % STATE_TABLE_COUNT], NULL, 0, 0}};
        mica_entity_spawn(state->world, values, 2);
    }
    if (state->world == NULL || mica_world_checksum(state->world, &state_options, &state->first) != MICA_OK) {
        state_tear_down(state);
        return NULL;
    }
    return state;
}

static void *state_set_up_64(int64_t n) {
    return state_set_up(n, mica_type_of(Block), sizeof(Block));
}

static void *state_set_up_12(int64_t n) {
    return state_set_up(n, mica_type_of(Position), sizeof(Position));
}

static void *state_set_up_4(int64_t n) {
    return state_set_up(n, mica_type_of(Data), sizeof(Data));
}

static void checksum_run(void *context) {
    state_world *state = context;
    if (mica_world_checksum(state->world, &state_options, &state->latest) != MICA_OK) {
        state->latest = ~state->first;
    }
}

// What both sides have looked at: how many bytes of how many entities. A checksum that is not that of the set-up is a
// failure.
static uint64_t checksum_check(void *context) {
    const state_world *state = context;
    return state->latest == state->first ? bench_mix(state->byte_size, state->n) : 0;
}

// The limit

typedef struct state_arrays {
    uint8_t *bytes[STATE_TABLE_COUNT]; // handles, then values
    size_t word_count;                 // of each
    uint64_t first;
    uint64_t latest;
    uint32_t n;
    uint32_t byte_size;
} state_arrays;

static void arrays_tear_down(void *context) {
    state_arrays *state = context;
    for (uint32_t i = 0; i < STATE_TABLE_COUNT; i++) {
        free(state->bytes[i]);
    }
    free(state);
}

static uint64_t arrays_sum(const state_arrays *state) {
    uint64_t sums[4] = {0};
    for (uint32_t table = 0; table < STATE_TABLE_COUNT; table++) {
        const uint64_t *words = (const uint64_t *)(const void *)state->bytes[table];
        for (size_t i = 0; i < state->word_count; i += 4) {
            for (uint32_t k = 0; k < 4; k++) {
                sums[k] += words[i + k];
            }
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

static void *arrays_set_up(int64_t n, uint32_t byte_size) {
    state_arrays *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    const size_t rows = ((size_t)n + STATE_TABLE_COUNT - 1) / STATE_TABLE_COUNT;
    *state = (state_arrays){.n = (uint32_t)n, .byte_size = byte_size};
    state->word_count = (rows * (sizeof(mica_entity) + byte_size) + 31) / 32 * 4;
    for (uint32_t table = 0; table < STATE_TABLE_COUNT; table++) {
        state->bytes[table] = calloc(state->word_count, 8); // words of 8 bytes
        if (state->bytes[table] == NULL) {
            arrays_tear_down(state);
            return NULL;
        }
    }
    for (uint32_t i = 0; i < state->n; i++) {
        const Block block = state_value(i);
        const mica_entity entity = mica_entity_make(i + 1, 0);
        uint8_t *table = state->bytes[i % STATE_TABLE_COUNT];
        const size_t row = i / STATE_TABLE_COUNT;
        memcpy(table + row * sizeof(entity), &entity, sizeof(entity));
        memcpy(table + rows * sizeof(entity) + row * byte_size, &block, byte_size);
    }
    state->first = arrays_sum(state);
    return state;
}

static void *arrays_set_up_64(int64_t n) {
    return arrays_set_up(n, sizeof(Block));
}

static void *arrays_set_up_12(int64_t n) {
    return arrays_set_up(n, sizeof(Position));
}

static void *arrays_set_up_4(int64_t n) {
    return arrays_set_up(n, sizeof(Data));
}

static void arrays_run(void *context) {
    state_arrays *state = context;
    state->latest = arrays_sum(state);
}

static uint64_t arrays_check(void *context) {
    const state_arrays *state = context;
    return state->latest == state->first ? bench_mix(state->byte_size, state->n) : 1;
}

#define STATE_SIDES(BYTES)                                                                                           \
    static const bench_side checksum_##BYTES = {                                                                     \
        .set_up = state_set_up_##BYTES, .run = checksum_run, .check = checksum_check, .tear_down = state_tear_down}; \
    static const bench_side reading_##BYTES = {                                                                      \
        .set_up = arrays_set_up_##BYTES, .run = arrays_run, .check = arrays_check, .tear_down = arrays_tear_down};
STATE_SIDES(64)
STATE_SIDES(12)
STATE_SIDES(4)

static const bench_row rows[] = {
    {"checksum/world", "main", 1000000, "ns/entity", 1000000, &checksum_64, &reading_64},
    {"checksum/world", "12 bytes", 1000000, "ns/entity", 1000000, &checksum_12, &reading_12},
    {"checksum/world", "4 bytes", 1000000, "ns/entity", 1000000, &checksum_4, &reading_4},
};

const bench_family bench_checksum = {rows, (int32_t)(sizeof rows / sizeof *rows)};
