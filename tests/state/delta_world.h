// Worlds in which whatever owns something can be written and read, and what tests of deltas do with them.
#pragma once

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
