// Worlds in which whatever owns something can be written and read, and what tests of deltas do with them.
#pragma once

#include "base/map.h"
#include "state/delta.h"
#include "state/state_world.h"

// Tells the number's bytes, the low ones first, without zeros at the end: so lengths differ.
static inline void owned_write(const void *value, const mica_sink *sink, const mica_hook_context *context) {
    (void)context;
    for (uint32_t rest = (uint32_t) * ((const Owned *)value)->number; rest != 0; rest >>= 8) {
        const uint8_t byte = (uint8_t)rest;
        sink->put(sink->user, &byte, 1);
    }
}

static inline mica_result owned_read(void *to, const void *bytes, size_t byte_size, const mica_hook_context *context) {
    const uint8_t *digits = bytes;
    uint32_t number = 0;
    if (byte_size > sizeof(number) || (byte_size > 0 && digits[byte_size - 1] == 0)) {
        return MICA_FORMAT;
    }
    for (size_t i = 0; i < byte_size; i++) {
        number |= (uint32_t)digits[i] << 8 * i;
    }
    return owned_hold(to, (int32_t)number, context) ? MICA_OK : MICA_OUT_OF_MEMORY;
}

#define TOLD_HOOKS                                                                                          \
    {                                                                                                       \
        .construct = owned_construct, .destruct = owned_destruct, .copy = owned_copy, .write = owned_write, \
        .read = owned_read                                                                                  \
    }

MICA_NAMED_WITH(Told, Owned, (.storage = MICA_TABLE, .hooks = TOLD_HOOKS));
MICA_NAMED_WITH(PoolTold, Owned, (.storage = MICA_POOL, .hooks = TOLD_HOOKS));
MICA_NAMED_WITH(StableTold, Owned, (.storage = MICA_POOL, .stable = true, .page_size = 16, .hooks = TOLD_HOOKS));

static inline void delta_world_open(state_world *w, const mica_world_def *def) {
    state_world_open(w, def);
    w->kinds[6] = mica_register(w->world, Told); // in the place of what no hooks write and read
    w->kinds[10] = mica_register(w->world, PoolTold);
    w->kinds[11] = mica_register(w->world, StableTold);
    w->kind_count = KIND_MAX;
    for (uint32_t i = 0; i < KIND_MAX; i++) {
        assert_int_not_equal(w->kinds[i], 0);
    }
}

// A delta's bytes.
typedef struct delta_bytes {
    mica_delta *delta;
    const uint8_t *data;
    size_t byte_size;
} delta_bytes;

static inline delta_bytes delta_bytes_of(mica_delta *delta) {
    delta_bytes bytes = {.delta = delta};
    if (delta == NULL) {
        print_error("%s\n", mica_last_error());
    }
    assert_non_null(delta);
    bytes.data = mica_delta_bytes(delta, &bytes.byte_size);
    return bytes;
}

static inline delta_bytes delta_between(const mica_snapshot *from, const mica_snapshot *to) {
    return delta_bytes_of(mica_delta_make(from, to, NULL));
}

static inline void assert_applies(mica_world *world, const delta_bytes *delta, mica_delta_direction direction) {
    const mica_result result = mica_delta_apply(world, delta->data, delta->byte_size, direction, NULL);
    if (result != MICA_OK) {
        print_error("%s\n", mica_last_error());
    }
    assert_int_equal(result, MICA_OK);
}

static inline void assert_world_is(mica_world *world, const state_dump *dump) {
    state_dump now = dump_world(world);
    assert_dumps_equal(&now, dump);
    dump_free(&now);
}

// Puts the size and the checksum of bytes right that were made up.
static inline void delta_mend(uint8_t *bytes, size_t byte_size) {
    if (byte_size < MI_DELTA_HEAD_SIZE) {
        return;
    }
    const uint64_t size = byte_size;
    memcpy(bytes + MI_DELTA_SIZE_AT, &size, sizeof(size));
    const uint64_t sum = mi_hash_mix(mi_hash_bytes(bytes, MI_DELTA_CHECKSUM_AT) ^
                                     mi_hash_bytes(bytes + MI_DELTA_HEAD_SIZE, byte_size - MI_DELTA_HEAD_SIZE));
    memcpy(bytes + MI_DELTA_CHECKSUM_AT, &sum, sizeof(sum));
}

// What fills the parts of the state: a system with a value that owns something, and those who look on.
typedef struct delta_looking {
    mica_query *query;
    mica_event_reader *reader;
} delta_looking;

static inline void delta_hear(mica_run *run) {
    mica_event_reader *events = mica_run_events(run, PoolTold);
    for (const PoolTold *event; (event = mica_next_event(events, PoolTold)) != NULL;) {
        *mica_run_state(run, Told)->number += *event->number;
    }
}

static inline delta_looking delta_open_parts(const state_world *w) {
    const mica_system_def system = {.name = "hear", .run = delta_hear, .state = mica_type_of(Told)};
    assert_int_not_equal(mica_system_add(w->world, &system).id, 0);
    const delta_looking looking = {
        .query = mica_query_create(w->world, (const mica_term[]){mica_removed(Position)}, 1),
        .reader = mica_event_reader_create(w->world, mica_register(w->world, PoolTold), "looking on")};
    assert_true(looking.query != NULL && looking.reader != NULL);
    return looking;
}

static inline void delta_close_parts(const delta_looking *looking) {
    mica_query_release(looking->query);
    mica_event_reader_destroy(looking->reader);
}

static inline void delta_fill_parts(const state_world *w, int32_t number) {
    mica_world *world = w->world;
    const PoolTold event = {.number = &number};
    for (uint32_t i = 0; i < 2; i++) { // the system hears of the first
        assert_int_equal(mica_event_send(world, mica_register(world, PoolTold), &event), MICA_OK);
        assert_int_equal(i == 0 ? mica_world_step(world, 0.25f) : MICA_OK, MICA_OK);
    }
    assert_non_null(mica_resource_ensure(world, mica_register(world, StableTold)));
    *mica_resource_write(world, StableTold)->number = number;
}
