// Adding one component of 4 bytes, or a tag, to every entity of a world, then removing it; an operation is one add or
// one remove. The entities have a position and a velocity in a table.
//
// In the random rows adding and removing follow different permutations; after one, the other would find its rows in
// order.
#include "crowd.h"
#include "limit_archetype.h"
#include "limit_pool.h"
#include "rows.h"

#include <stdlib.h>

static void *random_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL) {
        bench_crowd_arrange(crowd, crowd->entities, BENCH_SEED_FIRST);
        bench_crowd_arrange(crowd, crowd->entities_too, BENCH_SEED_SECOND);
    }
    return crowd;
}

// How many adds, and how many removes, were done.
static uint64_t add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add_value(crowd->world, crowd->entities[i], Data, {i}) == MICA_OK;
    }
    return count;
}

static uint64_t remove_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_remove(crowd->world, crowd->entities_too[i], Data) == MICA_OK;
    }
    return count;
}

static void run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = add_all(crowd) + remove_all(crowd);
}

static uint64_t check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result + add_all(crowd);
    for (uint32_t i = 0; i < crowd->n; i++) {
        const mica_entity entity = crowd->entities[i];
        const Data *data = mica_get(crowd->world, entity, Data);
        const Position *position = mica_get(crowd->world, entity, Position);
        const Velocity *velocity = mica_get(crowd->world, entity, Velocity);
        if (data != NULL && position != NULL && velocity != NULL) {
            checksum = bench_mix(checksum, data->value);
            checksum = bench_mix_position(checksum, position);
            checksum = bench_mix_velocity(checksum, velocity);
        }
    }
    return checksum + remove_all(crowd);
}

static const bench_side in_order = {
    .set_up = bench_crowd_set_up,
    .run = run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side at_random = {
    .set_up = random_set_up,
    .run = run,
    .check = check,
    .tear_down = bench_crowd_tear_down,
};

// In pools.

static uint64_t pool_add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add_value(crowd->world, crowd->entities[i], PoolData, {i}) == MICA_OK;
    }
    return count;
}

static uint64_t pool_remove_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_remove(crowd->world, crowd->entities_too[i], PoolData) == MICA_OK;
    }
    return count;
}

static void pool_run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = pool_add_all(crowd) + pool_remove_all(crowd);
}

// In stored order: removing leaves another one behind than adding found.
static uint64_t pool_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result + pool_add_all(crowd);
    const mica_pool_view view = mica_pool_read(crowd->world, mica_register(crowd->world, PoolData));
    for (int32_t i = 0; i < view.count; i++) {
        const PoolData *data = mica_pool_at(&view, i);
        checksum = bench_mix(checksum, data->value);
    }
    return checksum + pool_remove_all(crowd);
}

static uint64_t tag_add_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_add(crowd->world, crowd->entities[i], PoolMark) == MICA_OK;
    }
    return count;
}

static uint64_t tag_remove_all(const bench_crowd *crowd) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += mica_remove(crowd->world, crowd->entities_too[i], PoolMark) == MICA_OK;
    }
    return count;
}

static void tag_run(void *context) {
    bench_crowd *crowd = context;
    crowd->result = tag_add_all(crowd) + tag_remove_all(crowd);
}

static uint64_t tag_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t checksum = crowd->result + tag_add_all(crowd);
    for (uint32_t i = 0; i < crowd->n; i++) {
        checksum = bench_mix(checksum, mica_has(crowd->world, crowd->entities[i], PoolMark));
    }
    return checksum + tag_remove_all(crowd);
}

static const bench_side pool_in_order = {
    .set_up = bench_crowd_set_up,
    .run = pool_run,
    .check = pool_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side pool_at_random = {
    .set_up = random_set_up,
    .run = pool_run,
    .check = pool_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side tag_in_order = {
    .set_up = bench_crowd_set_up,
    .run = tag_run,
    .check = tag_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side tag_at_random = {
    .set_up = random_set_up,
    .run = tag_run,
    .check = tag_check,
    .tear_down = bench_crowd_tear_down,
};

// By one call for all.

typedef struct many_state {
    bench_crowd *crowd;
    Data *values; // in the order of the handles
} many_state;

static void many_tear_down(void *context) {
    many_state *state = context;
    bench_crowd_tear_down(state->crowd);
    free(state->values);
    free(state);
}

static void *many_set_up(int64_t n) {
    bench_crowd *crowd = random_set_up(n);
    many_state *state = crowd == NULL ? NULL : calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->crowd = crowd;
    state->values = malloc(crowd->n * sizeof *state->values);
    if (state->values == NULL) {
        many_tear_down(state);
        return NULL;
    }
    for (uint32_t i = 0; i < crowd->n; i++) {
        state->values[i] = (Data){i};
    }
    return state;
}

static void many_run(void *context) {
    many_state *state = context;
    bench_crowd *crowd = state->crowd;
    const int32_t n = (int32_t)crowd->n;
    const bool is_done = mica_add_many(crowd->world, crowd->entities, n, Data, state->values) == MICA_OK &&
                         mica_remove_many(crowd->world, crowd->entities_too, n, Data) == MICA_OK;
    crowd->result = is_done ? 2 * (uint64_t)crowd->n : 0;
}

static uint64_t many_check(void *context) {
    many_state *state = context;
    return check(state->crowd);
}

static void pool_many_run(void *context) {
    many_state *state = context;
    bench_crowd *crowd = state->crowd;
    const int32_t n = (int32_t)crowd->n;
    const bool is_done = mica_add_many(crowd->world, crowd->entities, n, PoolData, state->values) == MICA_OK &&
                         mica_remove_many(crowd->world, crowd->entities_too, n, PoolData) == MICA_OK;
    crowd->result = is_done ? 2 * (uint64_t)crowd->n : 0;
}

static uint64_t pool_many_check(void *context) {
    many_state *state = context;
    return pool_check(state->crowd);
}

static void tag_many_run(void *context) {
    many_state *state = context;
    bench_crowd *crowd = state->crowd;
    const int32_t n = (int32_t)crowd->n;
    const bool is_done = mica_tag_many(crowd->world, crowd->entities, n, PoolMark) == MICA_OK &&
                         mica_remove_many(crowd->world, crowd->entities_too, n, PoolMark) == MICA_OK;
    crowd->result = is_done ? 2 * (uint64_t)crowd->n : 0;
}

static uint64_t tag_many_check(void *context) {
    many_state *state = context;
    return tag_check(state->crowd);
}

static const bench_side many_at_random = {
    .set_up = many_set_up,
    .run = many_run,
    .check = many_check,
    .tear_down = many_tear_down,
};

static const bench_side pool_many_at_random = {
    .set_up = many_set_up,
    .run = pool_many_run,
    .check = pool_many_check,
    .tear_down = many_tear_down,
};

static const bench_side tag_many_at_random = {
    .set_up = many_set_up,
    .run = tag_many_run,
    .check = tag_many_check,
    .tear_down = many_tear_down,
};

static const bench_row rows[] = {
    {"change/table/order", "main", 1000000, "ns/change", 2000000, &in_order, &limit_change_order},
    {"change/table/random", "main", 1000000, "ns/change", 2000000, &at_random, &limit_change_random},
    {"change/table/random", "many", 1000000, "ns/change", 2000000, &many_at_random, &limit_change_random},
    {"change/pool/order", "main", 1000000, "ns/change", 2000000, &pool_in_order, &limit_pool_change_order},
    {"change/pool/order", "tag", 1000000, "ns/change", 2000000, &tag_in_order, &limit_pool_tag_order},
    {"change/pool/random", "main", 1000000, "ns/change", 2000000, &pool_at_random, &limit_pool_change_random},
    {"change/pool/random", "many", 1000000, "ns/change", 2000000, &pool_many_at_random, &limit_pool_change_random},
    {"change/pool/random", "tag", 1000000, "ns/change", 2000000, &tag_at_random, &limit_pool_tag_random},
    {"change/pool/random", "tag/many", 1000000, "ns/change", 2000000, &tag_many_at_random, &limit_pool_tag_random},
};

const bench_family bench_change = {rows, (int32_t)(sizeof rows / sizeof *rows)};
