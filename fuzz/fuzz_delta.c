// Fuzzes the reading and applying of deltas. An input is a delta (it begins with "MDLT"), or says how one is spoiled:
//
//   a letter of "abwWcCeE"   which delta: from state a to b, from b to a, the whole of a or b, limited to some
//   components
//                            or entities, each from a to b or from b to a
//   a letter of "fFbB"       the direction, and whether the world is in state a (small) or b
//   4 bytes each             what to do at which place of it: 'x' exclusive-or, 'i' insert, 'd' delete a byte; the
//   place
//                            in two bytes, the low one first; the byte
//
// Its size and its checksum are put right, and it is applied without the sums of states being looked at, so that it is
// read as far as it can be. Whatever comes of it: it is refused with a reason and the world is as it was, or the world
// holds all its invariants and goes on.
#include "fuzz.h"

#include "state/delta_target.h"
#include "state/delta_world.h"

#include <string.h>

enum { MOMENT_COUNT = 2, DELTA_COUNT = 8, EDIT_SIZE = 4, STEPS_AFTER = 12 };

static const char delta_letters[] = "abwWcCeE";

typedef struct stage {
    test_allocator allocator;
    state_world w;
    mica_snapshot *moments[MOMENT_COUNT];
    state_dump dumps[MOMENT_COUNT];
    mica_delta *deltas[DELTA_COUNT];
    delta_looking looking;
} stage;

static stage prepared;

static void end_stage(void) {
    for (uint32_t i = 0; i < DELTA_COUNT; i++) {
        mica_delta_release(prepared.deltas[i]);
    }
    for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
        mica_snapshot_release(prepared.moments[i]);
        dump_free(&prepared.dumps[i]);
    }
    delta_close_parts(&prepared.looking);
    mica_world_destroy(prepared.w.world);
    FUZZ_CHECK_MEMORY(&prepared.allocator);
}

static void link_some(mica_world *world, test_random *random) {
    const state_world w = {.world = world};
    for (uint32_t i = 0; i < 8; i++) {
        const mica_entity child = state_pick(&w, random);
        const mica_entity parent = state_pick(&w, random);
        (void)mica_set_parent(world, child, parent); // refused where it would be a cycle
    }
}

static void make_moments(stage *s) {
    test_random random = {.state = 5};
    for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
        state_go_on(&s->w, 20 + i, i == 0 ? 90 : 30);
        link_some(s->w.world, &random);
        FUZZ_CHECK(mica_set_resource(s->w.world, Position, {(float)i, 2, 3}) == MICA_OK, mica_last_error());
        delta_fill_parts(&s->w, (int32_t)i);
        s->moments[i] = mica_snapshot_take(s->w.world, NULL);
        s->dumps[i] = dump_world(s->w.world);
    }
}

static mica_delta *make_delta(const stage *s, char letter) {
    mica_entity entities[8];
    test_random random = {.state = 6};
    for (uint32_t i = 0; i < 8; i++) {
        entities[i] = state_pick(&s->w, &random);
    }
    const mica_delta_options of_components = {.components = s->w.kinds, .component_count = 4};
    const mica_delta_options of_entities = {.entities = entities, .entity_count = 8};
    mica_snapshot *const a = s->moments[0];
    mica_snapshot *const b = s->moments[1];
    switch (letter) {
    case 'a':
        return mica_delta_make(a, b, NULL);
    case 'b':
        return mica_delta_make(b, a, NULL);
    case 'w':
        return mica_delta_make(NULL, a, NULL);
    case 'W':
        return mica_delta_make(NULL, b, NULL);
    case 'c':
        return mica_delta_make(a, b, &of_components);
    case 'C':
        return mica_delta_make(b, a, &of_components);
    case 'e':
        return mica_delta_make(a, b, &of_entities);
    default:
        return mica_delta_make(b, a, &of_entities);
    }
}

static void open_stage(stage *s) {
    test_allocator_init(&s->allocator);
    delta_world_open(&s->w, &(mica_world_def){.allocator = test_allocator_hooks(&s->allocator)});
    s->looking = delta_open_parts(&s->w);
    make_moments(s);
    for (uint32_t i = 0; i < DELTA_COUNT; i++) {
        s->deltas[i] = make_delta(s, delta_letters[i]);
        FUZZ_CHECK(s->deltas[i] != NULL, mica_last_error());
    }
    FUZZ_CHECK(atexit(end_stage) == 0, "");
}

static void apply(const stage *s, const uint8_t *bytes, size_t byte_size, bool forwards, uint32_t moment) {
    mica_world *world = s->w.world;
    FUZZ_CHECK(mica_snapshot_restore(s->moments[moment], world, NULL) == MICA_OK, mica_last_error());
    const mica_result result =
        mi_delta_apply(world, bytes, byte_size, forwards ? MICA_DELTA_FORWARDS : MICA_DELTA_BACKWARDS, NULL, false);
    FUZZ_CHECK_WORLD(world);
    if (result != MICA_OK) {
        FUZZ_CHECK(result == mica_last_result() && result != MICA_OUT_OF_MEMORY, mica_last_error());
        assert_world_is(world, &s->dumps[moment]);
        return;
    }
    state_world w = s->w;
    state_go_on(&w, byte_size, STEPS_AFTER);
    FUZZ_CHECK_WORLD(world);
}

// Describing and composing look at the same bytes, and need no world.
static void look(const stage *s, const uint8_t *bytes, size_t byte_size) {
    mica_delta_info info;
    mica_delta_component_info components[2];
    (void)mica_delta_describe(bytes, byte_size, &info, components, 2);
    for (uint32_t i = 0; i < DELTA_COUNT; i++) {
        size_t other_size = 0;
        const void *other = mica_delta_bytes(s->deltas[i], &other_size);
        mica_delta_release(mica_delta_compose(bytes, byte_size, other, other_size, NULL));
        mica_delta_release(mica_delta_compose(other, other_size, bytes, byte_size, NULL));
    }
}

// Spoils a delta as an input says; its new size.
static size_t spoil(uint8_t *bytes, size_t byte_size, const uint8_t *edits, size_t edit_count) {
    for (size_t i = 0; i < edit_count; i++) {
        const uint8_t *edit = edits + i * EDIT_SIZE;
        const size_t place = (size_t)edit[1] | (size_t)edit[2] << 8;
        if (place >= byte_size) {
            continue;
        }
        if (edit[0] == 'x') {
            bytes[place] ^= edit[3];
        } else if (edit[0] == 'i') {
            memmove(bytes + place + 1, bytes + place, byte_size - place);
            bytes[place] = edit[3];
            byte_size++;
        } else if (edit[0] == 'd') {
            memmove(bytes + place, bytes + place + 1, byte_size - place - 1);
            byte_size--;
        }
    }
    return byte_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    if (prepared.w.world == NULL) {
        open_stage(&prepared);
    }
    const bool is_delta = byte_size >= 4 && memcmp(bytes, MI_DELTA_MAGIC, 4) == 0;
    const char *letter = byte_size < 2 || bytes[0] == 0 ? NULL : strchr(delta_letters, bytes[0]);
    if (!is_delta && letter == NULL) {
        return 0;
    }
    size_t whole_size = byte_size;
    const void *whole = is_delta ? bytes : mica_delta_bytes(prepared.deltas[letter - delta_letters], &whole_size);
    const size_t edit_count = is_delta ? 0 : (byte_size - 2) / EDIT_SIZE;
    uint8_t *spoiled = malloc(whole_size + edit_count + 1);
    FUZZ_CHECK(spoiled != NULL, "");
    memcpy(spoiled, whole, whole_size);
    whole_size = spoil(spoiled, whole_size, bytes + 2, edit_count);
    delta_mend(spoiled, whole_size);
    uint8_t *exact = malloc(whole_size + 1); // so that whoever reads beyond is caught
    FUZZ_CHECK(exact != NULL, "");
    memcpy(exact + 1, spoiled, whole_size);
    free(spoiled);
    const char way = is_delta ? 0 : (char)bytes[1];
    for (uint32_t i = 0; i < 4; i++) {
        if (is_delta || way == "fFbB"[i]) {
            apply(&prepared, exact + 1, whole_size, i < 2, i % 2);
        }
    }
    look(&prepared, exact + 1, whole_size);
    free(exact);
    return 0;
}
