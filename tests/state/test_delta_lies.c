// Deltas that lie: their checksum is right, and what they say is not. They are refused with the world as it was, or say
// nothing else of the state than the one that they were made of.
#include "state/delta_world.h"

#include <mica/checksum.h>

static uint64_t checksum_of(mica_world *world) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.exact = true}, &checksum), MICA_OK);
    return checksum;
}

typedef struct fixture {
    state_world w;
    delta_looking looking;
    mica_snapshot *states[2];
    uint64_t checksums[2];
    uint32_t refused_count;
} fixture;

static void link_some(mica_world *world, test_random *random) {
    const state_world w = {.world = world};
    for (uint32_t i = 0; i < 6; i++) {
        const mica_entity child = state_pick(&w, random);
        (void)mica_set_parent(world, child, state_pick(&w, random)); // refused where it would be a cycle
    }
}

static void open_fixture(fixture *f) {
    *f = (fixture){.refused_count = 0};
    delta_world_open(&f->w, NULL);
    f->looking = delta_open_parts(&f->w);
    test_random random = {.state = 3};
    for (uint32_t i = 0; i < 2; i++) {
        state_go_on(&f->w, 40 + i, i == 0 ? 50 : 20);
        link_some(f->w.world, &random);
        delta_fill_parts(&f->w, (int32_t)i + 1);
        f->states[i] = mica_snapshot_take(f->w.world, NULL);
        f->checksums[i] = checksum_of(f->w.world);
    }
}

static void close_fixture(fixture *f) {
    for (uint32_t i = 0; i < 2; i++) {
        mica_snapshot_release(f->states[i]);
    }
    delta_close_parts(&f->looking);
    mica_world_destroy(f->w.world);
    assert_int_equal(owned_alive, 0);
}

// Applies made-up bytes to the world at one end of the delta.
static void try_bytes(fixture *f, const uint8_t *bytes, size_t byte_size, bool is_limited, bool forwards) {
    const uint32_t from = forwards ? 0 : 1;
    uint8_t *exact = malloc(byte_size); // so that whoever reads beyond is caught
    assert_non_null(exact);
    memcpy(exact, bytes, byte_size);
    delta_mend(exact, byte_size);
    const mica_result result =
        mica_delta_apply(f->w.world, exact, byte_size, forwards ? MICA_DELTA_FORWARDS : MICA_DELTA_BACKWARDS, NULL);
    free(exact);
    if (result != MICA_OK) {
        f->refused_count++;
        assert_true(result == MICA_FORMAT || result == MICA_MISMATCH || result == MICA_UNKNOWN ||
                    result == MICA_INCOMPATIBLE || result == MICA_UNSUPPORTED || result == MICA_LIMIT);
        assert_true(checksum_of(f->w.world) == f->checksums[from]);
        return;
    }
    // A limited delta does not say what it leads to, so that another state is one that it may describe.
    assert_true(is_limited || checksum_of(f->w.world) == f->checksums[1 - from]);
    assert_int_equal(mica_world_validate(f->w.world), MICA_OK);
    assert_int_equal(mica_snapshot_restore(f->states[from], f->w.world, NULL), MICA_OK);
}

// Numbers that lie, each in the place of a byte: as a varint whatever is counted, skipped, numbered or measured there.
static const struct {
    uint32_t byte_size;
    uint8_t bytes[10];
} lies[] = {
    {1, {0}},
    {1, {1}},
    {1, {0x7f}},
    {2, {0xff, 0x7f}},
    {5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
    {5, {0xfe, 0xff, 0xff, 0xff, 0x1f}},
    {10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
    {0, {0}},
};

static void lie_everywhere(fixture *f, const delta_bytes *delta, bool is_limited, bool forwards) {
    assert_int_equal(mica_snapshot_restore(f->states[forwards ? 0 : 1], f->w.world, NULL), MICA_OK);
    uint8_t *bytes = malloc(delta->byte_size + sizeof(lies[0].bytes));
    assert_non_null(bytes);
    uint32_t tried_count = 0;
    f->refused_count = 0;
    for (size_t place = MI_DELTA_HEAD_SIZE; place < delta->byte_size; place++) {
        const size_t rest = delta->byte_size - place - 1;
        for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            if (lies[i].byte_size == 1 && lies[i].bytes[0] == delta->data[place]) {
                continue;
            }
            memcpy(bytes, delta->data, place);
            memcpy(bytes + place, lies[i].bytes, lies[i].byte_size);
            memcpy(bytes + place + lies[i].byte_size, delta->data + place + 1, rest);
            try_bytes(f, bytes, place + lies[i].byte_size + rest, is_limited, forwards);
            tried_count++;
        }
        memcpy(bytes, delta->data, delta->byte_size);
        bytes[place] ^= (uint8_t)(1u << place % 8);
        try_bytes(f, bytes, delta->byte_size, is_limited, forwards);
        tried_count++;
    }
    free(bytes);
    // Of exact deltas what is said of versions alone may be otherwise.
    assert_true(is_limited ? f->refused_count > tried_count / 2 : f->refused_count > tried_count * 9 / 10);
}

static void an_exact_delta_cannot_lie_forwards(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f);
    delta_bytes delta = delta_between(f.states[0], f.states[1]);
    lie_everywhere(&f, &delta, false, true);
    mica_delta_release(delta.delta);
    close_fixture(&f);
}

static void an_exact_delta_cannot_lie_backwards(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f);
    delta_bytes delta = delta_between(f.states[0], f.states[1]);
    lie_everywhere(&f, &delta, false, false);
    mica_delta_release(delta.delta);
    close_fixture(&f);
}

static void a_limited_delta_that_lies_leads_to_a_state_that_can_be(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f);
    const mica_delta_options options = {.components = f.w.kinds, .component_count = (int32_t)f.w.kind_count};
    delta_bytes delta = delta_bytes_of(mica_delta_make(f.states[0], f.states[1], &options));
    lie_everywhere(&f, &delta, true, true);
    mica_delta_release(delta.delta);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exact_delta_cannot_lie_forwards),
        cmocka_unit_test(an_exact_delta_cannot_lie_backwards),
        cmocka_unit_test(a_limited_delta_that_lies_leads_to_a_state_that_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
