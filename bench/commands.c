// Recording changes of 10,000 entities into a command buffer, and applying them; an operation is one command.
//
// Before each run the entities are as they were and the buffer is empty, or filled where applying alone is timed. The
// buffer and the world have held as much before, so that neither allocates.
#include "crowd.h"
#include "limit_archetype.h"
#include "rows.h"

#include <stdlib.h>

MICA_TAG(Mark);
MICA_STRUCT(Health, { int32_t points, most; });

typedef struct buffered_crowd {
    bench_crowd *crowd;
    mica_commands *commands;
} buffered_crowd;

static void tear_down(void *context) {
    buffered_crowd *state = context;
    mica_commands_destroy(state->commands);
    bench_crowd_tear_down(state->crowd);
    free(state);
}

static void *set_up(int64_t n) {
    buffered_crowd *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->crowd = bench_crowd_make(n);
    state->commands = state->crowd != NULL ? mica_commands_create(state->crowd->world) : NULL;
    if (state->commands == NULL) {
        if (state->crowd != NULL) {
            bench_crowd_tear_down(state->crowd);
        }
        free(state);
        return NULL;
    }
    return state;
}

static void apply(void *context) {
    const buffered_crowd *state = context;
    mica_commands_apply(state->commands);
}

// One add of 4 bytes.

static void data_record(void *context) {
    const buffered_crowd *state = context;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        mica_add_value(state->commands, state->crowd->entities[i], Data, {i});
    }
}

static void data_both(void *context) {
    data_record(context);
    apply(context);
}

static void data_prepare(void *context) {
    const buffered_crowd *state = context;
    mica_commands_clear(state->commands);
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        mica_remove(state->crowd->world, state->crowd->entities[i], Data);
    }
}

static void data_prepare_recorded(void *context) {
    data_prepare(context);
    data_record(context);
}

// What is recorded only is applied here.
static uint64_t data_check(void *context) {
    const buffered_crowd *state = context;
    uint64_t checksum = 0;
    apply(context);
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        const Data *data = mica_get(state->crowd->world, entity, Data);
        const Position *position = mica_get(state->crowd->world, entity, Position);
        if (data != NULL && position != NULL) {
            checksum = bench_mix_position(bench_mix(checksum, data->value), position);
        }
    }
    return checksum;
}

static const bench_side data_main = {
    .set_up = set_up,
    .prepare = data_prepare,
    .run = data_both,
    .check = data_check,
    .tear_down = tear_down,
};

static const bench_side data_recorded = {
    .set_up = set_up,
    .prepare = data_prepare,
    .run = data_record,
    .check = data_check,
    .tear_down = tear_down,
};

static const bench_side data_applied = {
    .set_up = set_up,
    .prepare = data_prepare_recorded,
    .run = apply,
    .check = data_check,
    .tear_down = tear_down,
};

// One add of a tag.

static void mark_both(void *context) {
    const buffered_crowd *state = context;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        mica_add(state->commands, state->crowd->entities[i], Mark);
    }
    apply(context);
}

static void mark_prepare(void *context) {
    const buffered_crowd *state = context;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        mica_remove(state->crowd->world, state->crowd->entities[i], Mark);
    }
}

static uint64_t mark_check(void *context) {
    const buffered_crowd *state = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        const Position *position = mica_get(state->crowd->world, entity, Position);
        if (position != NULL) {
            checksum = bench_mix(checksum, mica_has(state->crowd->world, entity, Mark));
            checksum = bench_mix_position(checksum, position);
        }
    }
    return checksum;
}

static const bench_side mark_main = {
    .set_up = set_up,
    .prepare = mark_prepare,
    .run = mark_both,
    .check = mark_check,
    .tear_down = tear_down,
};

// An add, a set and a removal of one component each for every entity: recorded and folded, or by the world's verbs.

static void fold_both(void *context) {
    const buffered_crowd *state = context;
    mica_commands *commands = state->commands;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        mica_add_value(commands, entity, Data, {i});
        mica_set(commands, entity, Health, {(int32_t)i, (int32_t)i + 1});
        mica_remove(commands, entity, Velocity);
    }
    apply(context);
}

static void fold_by_verbs(void *context) {
    const buffered_crowd *state = context;
    mica_world *world = state->crowd->world;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        mica_add_value(world, entity, Data, {i});
        mica_set(world, entity, Health, {(int32_t)i, (int32_t)i + 1});
        mica_remove(world, entity, Velocity);
    }
}

static void fold_prepare(void *context) {
    const buffered_crowd *state = context;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        const Velocity velocity = bench_velocity(i);
        mica_remove(state->crowd->world, entity, Data);
        mica_remove(state->crowd->world, entity, Health);
        mica_set_from(state->crowd->world, entity, Velocity, &velocity);
    }
}

static uint64_t fold_check(void *context) {
    const buffered_crowd *state = context;
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < state->crowd->n; i++) {
        const mica_entity entity = state->crowd->entities[i];
        const Data *data = mica_get(state->crowd->world, entity, Data);
        const Health *health = mica_get(state->crowd->world, entity, Health);
        if (data != NULL && health != NULL && !mica_has(state->crowd->world, entity, Velocity)) {
            checksum = bench_mix(checksum, data->value);
            checksum = bench_mix(checksum, (uint64_t)health->points + (uint64_t)health->most);
        }
    }
    return checksum;
}

static const bench_side folded = {
    .set_up = set_up,
    .prepare = fold_prepare,
    .run = fold_both,
    .check = fold_check,
    .tear_down = tear_down,
};

static const bench_side not_folded = {
    .set_up = set_up,
    .prepare = fold_prepare,
    .run = fold_by_verbs,
    .check = fold_check,
    .tear_down = tear_down,
};

static const bench_row rows[] = {
    {"commands", "main", 10000, "ns/command", 10000, &data_main, &limit_commands},
    {"commands", "record", 10000, "ns/command", 10000, &data_recorded, &limit_commands_record},
    {"commands", "apply", 10000, "ns/command", 10000, &data_applied, &limit_commands_apply},
    {"commands", "tag", 10000, "ns/command", 10000, &mark_main, &limit_commands_tag},
    {"commands", "fold, beside single verbs", 10000, "ns/command", 30000, &folded, &not_folded},
};

const bench_family bench_commands = {rows, (int32_t)(sizeof rows / sizeof *rows)};
