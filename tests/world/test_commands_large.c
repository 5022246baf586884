// Command buffers of worlds with so many entities that applying fetches memory ahead.
#include "world/storages.h"
#include "world/world_fixture.h"

MICA_STRUCT(Number, { int32_t number; });

enum {
    ENTITY_COUNT = 40000,
    COMMAND_COUNT = 90,
    STRIDE = 433 // visits entities far apart, each once
};

static void begin_large(watched_world *w, mica_entity *entities) {
    static Number numbers[ENTITY_COUNT];
    watched_begin(w);
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        numbers[i].number = i;
    }
    assert_int_equal(mica_spawn_many(w->world, ENTITY_COUNT, entities, mica_column_of(Number, numbers)), MICA_OK);
}

static mica_entity subject(const mica_entity *entities, int32_t i) {
    return entities[i * STRIDE];
}

static void commands_reach_entities_far_apart_and_skip_the_dead(void **state) {
    (void)state;
    static mica_entity entities[ENTITY_COUNT];
    watched_world w;
    begin_large(&w, entities);
    mica_commands *commands = mica_commands_create(w.world);
    for (int32_t i = 2; i < COMMAND_COUNT; i += 3) {
        assert_int_equal(mica_destroy(w.world, subject(entities, i)), MICA_OK);
    }
    for (int32_t i = 0; i < COMMAND_COUNT; i++) {
        if (i % 3 == 1) {
            assert_int_equal(mica_remove(commands, subject(entities, i), Number), MICA_OK);
        } else {
            assert_int_equal(mica_add_value(commands, subject(entities, i), Health, {i}), MICA_OK);
        }
    }
    const mica_entity placeholder = mica_spawn(commands, mica_value_of(Health, {-1}));
    assert_int_equal(mica_add(commands, placeholder, Marked), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);

    assert_int_equal(mica_commands_statistics(commands).skipped_count, COMMAND_COUNT / 3);
    assert_valid(w.world);
    for (int32_t i = 0; i < COMMAND_COUNT; i++) {
        const mica_entity entity = subject(entities, i);
        const Health *health = mica_get(w.world, entity, Health);
        const Number *number = mica_get(w.world, entity, Number);
        assert_int_equal(mica_entity_alive(w.world, entity), i % 3 != 2);
        assert_int_equal(health != NULL ? health->now : -1, i % 3 == 0 ? i : -1);
        assert_int_equal(number != NULL ? number->number : -1, i % 3 == 0 ? i * STRIDE : -1);
    }
    assert_true(mica_has(w.world, mica_commands_resolve(commands, placeholder), Marked));
    mica_commands_destroy(commands);
    watched_end(&w);
}

static void the_entities_in_between_keep_their_values(void **state) {
    (void)state;
    static mica_entity entities[ENTITY_COUNT];
    watched_world w;
    begin_large(&w, entities);
    mica_commands *commands = mica_commands_create(w.world);
    for (int32_t i = 0; i < COMMAND_COUNT; i++) {
        assert_int_equal(mica_add(commands, subject(entities, i), Marked), MICA_OK);
    }
    assert_int_equal(mica_commands_apply(commands), MICA_OK);

    assert_valid(w.world);
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        const Number *number = mica_get(w.world, entities[i], Number);
        const bool is_subject = i % STRIDE == 0 && i / STRIDE < COMMAND_COUNT;
        assert_true(number != NULL && number->number == i);
        assert_int_equal(mica_has(w.world, entities[i], Marked), is_subject);
    }
    mica_commands_destroy(commands);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_reach_entities_far_apart_and_skip_the_dead),
        cmocka_unit_test(the_entities_in_between_keep_their_values),
    };
    int failed_count = 0;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_type(mica_type_of(Health), mix, 1);
        place_type(mica_type_of(Number), mix, 2);
        place_type(mica_type_of(Marked), mix, 3);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], tests, NULL, NULL);
    }
    return failed_count;
}
