// Random verbs on many entities in one world beside the same verbs one by one in another, wherever components live,
// with and without observers, and without memory. A failure prints its seed and step.
#include "many_world.h"

#include <stdio.h>

enum { ENTITY_MAX = 160, STEP_COUNT = 150, SEED_COUNT = 20 };

typedef enum verb { ADD, SET, REMOVE, VERB_COUNT } verb;

typedef struct model {
    test_allocator allocator;
    side many, single;
    test_random random;
    mica_entity entities[ENTITY_MAX]; // some of them dead
    uint32_t entity_count;
    int32_t next_number;
    uint32_t done_count, refused_count, failed_count;
} model;

static uint32_t pick(model *m, uint32_t limit) {
    return test_random_below(&m->random, limit);
}

static void begin_model(model *m, uint64_t seed, bool is_watched) {
    *m = (model){.random = {seed}};
    ledger_start();
    test_allocator_init(&m->allocator);
    side_begin(&m->many, &m->allocator);
    side_begin(&m->single, &m->allocator);
    for (uint32_t i = 0; is_watched && i < TYPE_COUNT; i++) {
        if (pick(m, 2) == 0) {
            const bool has_values = size_of(types[i]) > 0;
            const mica_signal_kind kind = pick(m, 2) == 0 ? MICA_ADDED : has_values ? MICA_SET : MICA_REMOVED;
            connect(&m->many, kind, types[i]);
            connect(&m->single, kind, types[i]);
        }
    }
}

static void end_model(model *m) {
    mica_world_destroy(m->many.world);
    mica_world_destroy(m->single.world);
    ledger_finish();
    test_allocator_finish(&m->allocator);
}

static void spawn(model *m) {
    if (m->entity_count == ENTITY_MAX) {
        return;
    }
    const mica_entity entity = mica_create(m->many.world);
    assert_true(mica_entity_equal(entity, mica_create(m->single.world)));
    m->entities[m->entity_count++] = entity;
}

static void destroy(model *m) {
    const mica_entity entity = m->entities[pick(m, m->entity_count)];
    assert_int_equal(mica_destroy(m->many.world, entity), mica_destroy(m->single.world, entity));
}

static void hide(model *m) {
    const mica_entity entity = m->entities[pick(m, m->entity_count)];
    const bool is_enabled = pick(m, 3) > 0;
    mica_type *type = pick(m, 2) == 0 ? mica_type_of(Speed) : mica_type_of(Frozen);
    const mica_component component = mica_world_component(m->many.world, type);
    if (pick(m, 2) == 0) {
        assert_int_equal(mica_entity_enable(m->many.world, entity, is_enabled),
                         mica_entity_enable(m->single.world, entity, is_enabled));
    } else {
        assert_int_equal(mica_entity_enable_component(m->many.world, entity, component, is_enabled),
                         mica_entity_enable_component(m->single.world, entity, component, is_enabled));
    }
}

// Mostly entities that are all there and different, often in runs.
static void draw(model *m, batch *b, verb v) {
    b->type = types[pick(m, TYPE_COUNT)];
    b->component = mica_world_component(m->many.world, b->type);
    b->has_values = size_of(b->type) > 0 && (v == SET || (v == ADD && pick(m, 3) > 0));
    b->count = 0;
    const uint32_t first = pick(m, m->entity_count);
    const uint32_t step = 1 + 2 * pick(m, 3);
    const int32_t wanted = (int32_t)pick(m, BATCH_MAX);
    const bool is_careless = pick(m, 4) == 0;
    for (uint32_t i = 0; i < m->entity_count && b->count < wanted; i++) {
        const mica_entity entity = m->entities[(first + i * step) % m->entity_count];
        bool is_fit = mica_alive(m->single.world, entity);
        is_fit = is_fit && (v != ADD || !mica_entity_has(m->single.world, entity, b->component));
        for (int32_t k = 0; v == ADD && k < b->count; k++) {
            is_fit = is_fit && !mica_entity_equal(entity, b->entities[k]);
        }
        if (is_fit || (is_careless && pick(m, 8) == 0)) {
            b->numbers[b->count] = m->next_number++;
            b->entities[b->count++] = entity;
        }
    }
}

static mica_result apply_many(mica_world *world, batch *b, verb v) {
    const void *values = b->has_values ? b->values : NULL;
    switch (v) {
    case ADD:
        return mica_entity_add_many(world, b->entities, b->count, b->component, values);
    case SET:
        return b->has_values ? mica_entity_set_many(world, b->entities, b->count, b->component, values) : MICA_OK;
    default:
        return mica_entity_remove_many(world, b->entities, b->count, b->component);
    }
}

static mica_result apply_one(mica_world *world, batch *b, verb v, int32_t i) {
    const void *value = b->has_values ? value_at(b, i) : NULL;
    switch (v) {
    case ADD:
        return mica_entity_add(world, b->entities[i], b->component, value);
    case SET:
        return b->has_values ? mica_entity_set(world, b->entities[i], b->component, value) : MICA_OK;
    default:
        return mica_entity_remove(world, b->entities[i], b->component);
    }
}

// What the single verbs would refuse first, and where; `count`: nothing.
static int32_t find_refused(const model *m, const batch *b, verb v, mica_result *code) {
    for (int32_t i = 0; i < b->count; i++) {
        if (v == SET && !b->has_values) {
            return b->count;
        }
        if (!mica_alive(m->single.world, b->entities[i])) {
            *code = MICA_STALE;
            return i;
        }
        bool is_there = mica_entity_has(m->single.world, b->entities[i], b->component);
        for (int32_t k = 0; k < i; k++) {
            is_there = is_there || mica_entity_equal(b->entities[i], b->entities[k]);
        }
        if (v == ADD && is_there) {
            *code = MICA_EXISTS;
            return i;
        }
    }
    return b->count;
}

static void compare(const model *m) {
    assert_same(&m->many, &m->single, m->entities, m->entity_count);
}

// Does the verb to the first world as a whole, and to the second one by one unless it was refused.
static void change(model *m, bool lacks_memory) {
    static batch b;
    const verb v = (verb)pick(m, VERB_COUNT);
    draw(m, &b, v);
    mica_result expected = MICA_OK;
    const int32_t refused = find_refused(m, &b, v, &expected);
    make_values(&b, m->many.world);
    for (uint64_t n = 1; lacks_memory; n++) {
        test_allocator_fail_at(&m->allocator, n);
        const mica_result result = apply_many(m->many.world, &b, v);
        if (!test_allocator_fail_stop(&m->allocator)) {
            assert_int_equal(result, expected);
            break;
        }
        if (result == MICA_OK) { // it could do without that memory
            break;
        }
        assert_true(result == MICA_OUT_OF_MEMORY || result == expected);
        m->failed_count += result == MICA_OUT_OF_MEMORY;
        compare(m);
    }
    if (!lacks_memory) {
        assert_int_equal(apply_many(m->many.world, &b, v), expected);
    }
    end_values(&b, m->many.world);
    m->refused_count += refused < b.count;
    if (refused == b.count) {
        m->done_count++;
        make_values(&b, m->single.world);
        for (int32_t i = 0; i < b.count; i++) {
            assert_int_equal(apply_one(m->single.world, &b, v, i), MICA_OK);
        }
        end_values(&b, m->single.world);
    } else {
        char index[32];
        snprintf(index, sizeof(index), "entities[%d]", (int)refused);
        assert_non_null(strstr(mica_last_error(), index));
    }
    compare(m);
}

static void step(model *m, bool lacks_memory) {
    const uint32_t what = pick(m, 10);
    if (m->entity_count < 8 || what < 3) {
        spawn(m);
    } else if (what == 3) {
        destroy(m);
    } else if (what == 4) {
        hide(m);
    } else {
        change(m, lacks_memory);
    }
}

static void run_model(bool is_watched, bool lacks_memory, uint64_t first_seed, uint32_t seed_count,
                      uint32_t step_count) {
    uint32_t done_count = 0;
    uint32_t refused_count = 0;
    uint32_t failed_count = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        model m;
        print_message("seed %llu\n", (unsigned long long)seed);
        begin_model(&m, seed, is_watched);
        for (uint32_t i = 0; i < step_count; i++) {
            step(&m, lacks_memory);
            m.many.world->store.version++; // as if time went on
            m.single.world->store.version++;
        }
        done_count += m.done_count;
        refused_count += m.refused_count;
        failed_count += m.failed_count;
        end_model(&m);
    }
    assert_true(done_count > 0 && refused_count > 0);
    assert_int_equal(failed_count > 0, lacks_memory);
}

static void many_are_as_single_ones(void **state) {
    (void)state;
    run_model(false, false, 1, SEED_COUNT, STEP_COUNT);
}

static void many_tell_as_single_ones_do(void **state) {
    (void)state;
    run_model(true, false, 100, SEED_COUNT, STEP_COUNT);
}

static void many_without_memory_change_nothing(void **state) {
    (void)state;
    run_model(true, true, 200, 3, 100);
    run_model(false, true, 300, 3, 100);
}

int main(void) {
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(many_are_as_single_ones),
        cmocka_unit_test(many_tell_as_single_ones_do),
        cmocka_unit_test(many_without_memory_change_nothing),
    };
    int failed_count = 0;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_types(mix);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], cases, NULL, NULL);
    }
    return failed_count;
}
