// Walks by spans: a movement loop over one large table, and a short loop over many small tables.
#include "crowd.h"
#include "limit_walk.h"
#include "rows.h"

#include <stdlib.h>

static void move_run(void *context) {
    const bench_crowd *crowd = context;
    mica_each (crowd->query, it) {
        bench_move(mica_write_of(it, Position), mica_read_of(it, Velocity), it.count);
    }
}

static uint64_t move_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = 0;
    mica_each (crowd->query, it) {
        const Position *positions = mica_read_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            checksum = bench_mix_position(checksum, &positions[i]);
        }
    }
    return checksum;
}

const bench_side bench_walk_two = {
    .set_up = bench_crowd_set_up,
    .run = move_run,
    .check = move_check,
    .tear_down = bench_crowd_tear_down,
};

// The 26 components of which each table has one beside `Data`.
// clang-format off
#define LETTERS(DO) \
    DO(A) DO(B) DO(C) DO(D) DO(E) DO(F) DO(G) DO(H) DO(I) DO(J) DO(K) DO(L) DO(M) \
    DO(N) DO(O) DO(P) DO(Q) DO(R) DO(S) DO(T) DO(U) DO(V) DO(W) DO(X) DO(Y) DO(Z)
// clang-format on
#define LETTER_DECLARE(T) MICA_STRUCT(T, { uint32_t value; });
#define LETTER_TYPE(T) mica_type_of(T),

LETTERS(LETTER_DECLARE)

static mica_type *const letters[] = {LETTERS(LETTER_TYPE)};

_Static_assert(sizeof letters / sizeof letters[0] == BENCH_TABLE_COUNT, "one letter a table");

typedef struct tables {
    mica_world *world;
    mica_query *query;
} tables;

static void tables_tear_down(void *context) {
    tables *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    free(state);
}

static void *tables_set_up(int64_t n) {
    tables *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->query = mica_query_create(state->world, &mica_write(Data), 1);
    }
    if (state->query == NULL) {
        tables_tear_down(state);
        return NULL;
    }
    const uint32_t count = (uint32_t)n / BENCH_TABLE_COUNT;
    for (uint32_t i = 0; i < count * BENCH_TABLE_COUNT; i++) {
        const Data data = {i};
        const mica_value values[] = {{mica_type_of(Data), &data, 0, 0}, {letters[i / count], &i, 0, 0}};
        mica_entity_spawn(state->world, values, 2);
    }
    return state;
}

static void tables_run(void *context) {
    const tables *state = context;
    mica_each (state->query, it) {
        bench_advance(mica_write_of(it, Data), it.count);
    }
}

// Does not depend on the order of tables, which the limit does not have.
static uint64_t tables_check(void *context) {
    const tables *state = context;
    uint64_t checksum = 0;
    mica_each (state->query, it) {
        const Data *data = mica_read_of(it, Data);
        for (int32_t i = 0; i < it.count; i++) {
            checksum += bench_mix(0, data[i].value);
        }
    }
    return checksum;
}

static const bench_side advance_tables = {
    .set_up = tables_set_up,
    .run = tables_run,
    .check = tables_check,
    .tear_down = tables_tear_down,
};

enum { FRAGMENTED_COUNT = BENCH_TABLE_COUNT * BENCH_TABLE_ROW_COUNT };

static const bench_row rows[] = {
    {"walk/2", "main", 10000, "ns/entity", 10000, &bench_walk_two, &limit_walk_two},
    {"walk/2", "main", 100000, "ns/entity", 100000, &bench_walk_two, &limit_walk_two},
    {"walk/2", "main", 1000000, "ns/entity", 1000000, &bench_walk_two, &limit_walk_two},
    {"walk/fragmented/26", "main", FRAGMENTED_COUNT, "ns/entity", FRAGMENTED_COUNT, &advance_tables,
     &limit_walk_fragmented},
};

const bench_family bench_walk = {rows, (int32_t)(sizeof rows / sizeof *rows)};
