// Worlds without values that own something, and what tests of deltas do with them.
#pragma once

#include "state/state_world.h"

static inline void delta_world_open(state_world *w, const mica_world_def *def) {
    state_world_open(w, def);
    w->kinds[6] = w->kinds[9]; // in the place of what has hooks
    w->kind_count = 9;
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
