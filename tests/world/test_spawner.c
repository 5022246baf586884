// Spawners, and spawning in line by plans: what they make is what mica_entity_spawn makes, whatever stands in the way.
#include "follows.h"
#include "ledger_world.h"
#include "support/test_said.h"

#include <string.h>

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Number, { int32_t now; });
MICA_STRUCT(Wide, { uint8_t bytes[300]; });
MICA_STRUCT(Odd, { uint8_t bytes[7]; });
MICA_STRUCT_WITH(Pooled, (.storage = MICA_POOL), { int32_t now; });
MICA_TAG(Marked);
MICA_STRUCT(Armed, { int32_t shots; });
MICA_STRUCT_WITH(Soldier, (.required = {mica_type_of(Armed)}), { int32_t rank; });

static mica_entity spawn_both(mica_spawner *spawner, int32_t number) {
    return mica_spawn(spawner, mica_value_of(Number, {number}), mica_value_of(Position, {1, 2, (float)number}));
}

static void assert_both(mica_world *world, mica_entity entity, int32_t number) {
    assert_true(mica_alive(world, entity));
    assert_int_equal(mica_get(world, entity, Number)->now, number);
    assert_true(mica_get(world, entity, Position)->y == 2);
    assert_true(mica_get(world, entity, Position)->z == (float)number);
}

static mica_spawner both(mica_world *world) {
    return mica_spawner_of(world, mica_type_of(Number), mica_type_of(Position));
}

static void what_it_makes_has_its_values_over_many_chunks(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    fixture f;
    begin(&f);
    static mica_entity entities[COUNT];
    mica_spawner spawner = both(f.world);
    for (int32_t round = 0; round < 2; round++) { // with slots never used, then with those given back
        for (int32_t i = 0; i < COUNT; i++) {
            entities[i] = spawn_both(&spawner, i);
        }
        for (int32_t i = 0; i < COUNT; i++) {
            assert_both(f.world, entities[i], i);
        }
        check(f.world);
        assert_int_equal(mica_destroy_many(f.world, entities, COUNT / 2), MICA_OK);
        assert_int_equal(round == 0 ? mica_world_clear(f.world) : MICA_OK, MICA_OK);
    }
    end(&f);
}

static void spawning_by_type_goes_on_after_each_clear(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t round = 0; round < 4; round++) {
        for (int32_t i = 0; i < 1500; i++) { // more than are brought back at a time
            const mica_entity entity =
                mica_spawn(f.world, mica_value_of(Number, {i}), mica_value_of(Position, {1, 2, (float)i}));
            assert_both(f.world, entity, i);
        }
        assert_int_equal(mica_world_entity_count(f.world), 1500);
        check(f.world);
        assert_int_equal(mica_world_clear(f.world), MICA_OK);
    }
    end(&f);
}

static void values_of_all_sizes_are_copied_whole(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner =
        mica_spawner_of(f.world, mica_type_of(Wide), mica_type_of(Odd), mica_type_of(Marked), mica_type_of(Number));
    for (int32_t round = 0; round < 3; round++) {
        Wide wide = {{0}};
        memset(wide.bytes, round + 1, sizeof(wide));
        const mica_value values[] = {{mica_type_of(Wide), &wide, 0, sizeof(Wide)},
                                     mica_value_of(Odd, {{1, 2, 3, 4, 5, 6, (uint8_t)round}}),
                                     mica_tag(Marked),
                                     mica_value_of(Number, {round})};
        const mica_entity by_spawner = mica_spawner_spawn(&spawner, values, 4);
        const mica_entity by_world = mica_entity_spawn(f.world, values, 4);
        const mica_entity in_line = mica_spawn(f.world, values[0], values[1], values[2], values[3]);
        const mica_entity all[] = {by_spawner, by_world, in_line};
        for (int32_t i = 0; i < 3; i++) {
            assert_memory_equal(mica_get(f.world, all[i], Wide), &wide, sizeof(wide));
            assert_memory_equal(mica_get(f.world, all[i], Odd), values[1].value, sizeof(Odd));
            assert_true(mica_has(f.world, all[i], Marked));
            assert_int_equal(mica_get(f.world, all[i], Number)->now, round);
        }
    }
    check(f.world);
    end(&f);
}

static void sets_that_take_turns_and_values_by_id_are_told_apart(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component number = mica_world_component(f.world, mica_type_of(Number));
    for (int32_t i = 0; i < 200; i++) {
        const Number value = {i};
        const mica_value by_id = {.value = &value, .component = number};
        const mica_entity entities[] = {
            mica_spawn(f.world, mica_value_of(Number, {i})),
            mica_spawn(f.world, mica_value_of(Number, {i}), mica_tag(Marked)),
            mica_spawn(f.world, by_id),
            mica_spawn(f.world, mica_tag(Marked), mica_value_of(Number, {i})),
            mica_spawn(f.world, by_id, mica_value_of(Odd, {{(uint8_t)i}})),
        };
        for (int32_t k = 0; k < 5; k++) {
            assert_int_equal(mica_get(f.world, entities[k], Number)->now, i);
            assert_true(mica_has(f.world, entities[k], Marked) == (k == 1 || k == 3));
            assert_true(mica_has(f.world, entities[k], Odd) == (k == 4));
            assert_int_equal(mica_entity_components(f.world, entities[k], NULL, 0), k == 0 || k == 2 ? 1 : 2);
        }
    }
    check(f.world);
    end(&f);
}

static void a_value_that_is_left_out_is_constructed(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    mica_destroy(f.world, spawn_both(&spawner, 7)); // leaves its values in the row that comes next
    const mica_entity entity = mica_spawn(&spawner, mica_tag(Number), mica_value_of(Position, {1, 2, 3}));
    assert_int_equal(mica_get(f.world, entity, Number)->now, 0);
    const mica_value sized = {mica_type_of(Number), NULL, 0, sizeof(Number)};
    const mica_entity other = mica_spawn(&spawner, sized, mica_value_of(Position, {1, 2, 3}));
    assert_int_equal(mica_get(f.world, other, Number)->now, 0);
    end(&f);
}

static void values_in_another_order_or_number_are_refused(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    spawn_both(&spawner, 1);
    assert_true(
        mica_entity_is_null(mica_spawn(&spawner, mica_value_of(Position, {1, 2, 3}), mica_value_of(Number, {1}))));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("value 0 is of Position, where the spawner has Number");
    assert_true(mica_entity_is_null(mica_spawn(&spawner, mica_value_of(Number, {1}))));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("2 values, not 1");
    const mica_value lying = {mica_type_of(Number), &(Number){1}, 0, 400};
    assert_true(mica_entity_is_null(mica_spawn(&spawner, lying, mica_value_of(Position, {1, 2, 3}))));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("400");
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, &lying, 1)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_world_entity_count(f.world), 1);
    check(f.world);
    end(&f);
}

static void values_may_be_given_by_component(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const Number number = {5};
    const mica_value by_component = {.value = &number,
                                     .component = mica_world_component(f.world, mica_type_of(Number))};
    const mica_value nothing = {.type = NULL};
    for (int32_t round = 0; round < 3; round++) { // the second time there is a plan
        const mica_entity entity = mica_spawn(f.world, by_component, mica_value_of(Position, {1, 2, 5}));
        assert_both(f.world, entity, 5);
        assert_true(mica_entity_is_null(mica_spawn(f.world, nothing, mica_value_of(Position, {1, 2, 3}))));
        assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    }
    check(f.world);
    end(&f);
}

static void nothing_to_spawn_from_is_refused(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    assert_true(mica_entity_is_null(mica_spawner_spawn(&spawner, NULL, 2)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const mica_value value = mica_value_of(Number, {1});
    assert_true(mica_entity_is_null(mica_spawner_spawn(NULL, &value, 1)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("spawner");
    end(&f);
}

static void a_spawner_that_could_not_be_made_refuses(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_type *twice[] = {mica_type_of(Number), mica_type_of(Number)};
    mica_spawner spawner = mica_spawner_make(f.world, twice, 2);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_true(mica_entity_is_null(mica_spawn(&spawner, mica_value_of(Number, {1}), mica_value_of(Number, {1}))));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_type *many[MICA_SPAWN_VALUE_MAX + 1] = {mica_type_of(Number)};
    spawner = mica_spawner_make(f.world, many, MICA_SPAWN_VALUE_MAX + 1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    spawner = mica_spawner_make(f.world, many, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    spawner = mica_spawner_make(f.world, NULL, 1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    spawner = mica_spawner_make(NULL, many, 1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_true(mica_entity_is_null(mica_spawn(&spawner, mica_value_of(Number, {1}))));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_type *nothing[] = {NULL};
    spawner = mica_spawner_make(f.world, nothing, 1);
    assert_int_not_equal(mica_last_result(), MICA_OK);
    assert_int_equal(mica_world_entity_count(f.world), 0);
    end(&f);
}

static void tables_that_were_dropped_are_found_anew(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    for (int32_t round = 0; round < 3; round++) {
        const mica_entity first = spawn_both(&spawner, 1);
        const mica_entity second = spawn_both(&spawner, 2);
        const mica_entity third = mica_spawn(f.world, mica_value_of(Number, {3}), mica_value_of(Position, {1, 2, 3}));
        assert_both(f.world, first, 1);
        assert_both(f.world, second, 2);
        assert_both(f.world, third, 3);
        mica_destroy(f.world, first);
        mica_destroy(f.world, second);
        mica_destroy(f.world, third);
        assert_int_equal(mica_world_trim(f.world), MICA_OK);
        assert_int_equal(mica_world_statistics(f.world).table_count, 0);
    }
    check(f.world);
    end(&f);
}

static void structure_that_is_locked_is_left_alone(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    spawn_both(&spawner, 1);
    mica_query *query = mica_query_create(f.world, (const mica_term[]){mica_read(Number)}, 1);
    int32_t refused = 0;
    mica_each (query, it) {
        refused += mica_entity_is_null(spawn_both(&spawner, 2)) && mica_last_result() == MICA_LOCKED;
        refused +=
            mica_entity_is_null(mica_spawn(f.world, mica_value_of(Number, {2}), mica_value_of(Position, {1, 2, 3}))) &&
            mica_last_result() == MICA_LOCKED;
    }
    assert_int_equal(refused, 2);
    assert_int_equal(mica_world_entity_count(f.world), 1);
    mica_query_release(query);
    end(&f);
}

static void make_spawner(const mica_signal *signal) {
    mica_type *types[] = {mica_type_of(Wide), mica_type_of(Odd)};
    const mica_spawner spawner = mica_spawner_make(signal->world, types, 2);
    assert_null(spawner.world);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    *(int32_t *)signal->user += 1;
}

static void hear_number(const mica_signal *signal) {
    assert_non_null(signal->value);
    *(int32_t *)signal->user += 1;
}

static void none_is_made_while_observers_are_told(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    int32_t made = 0;
    int32_t set = 0;
    int32_t wrong = 0;
    mica_on_added(f.world, Number, make_spawner, &made);
    mica_on_set(f.world, Position, hear_number, &set);
    mica_on_set(f.world, Odd, hear_number, &wrong);
    const Number numbers[] = {{1}, {2}, {3}};
    const Position positions[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    assert_int_equal(
        mica_spawn_many(f.world, 3, NULL, mica_column_of(Number, numbers), mica_column_of(Position, positions)),
        MICA_OK);
    assert_int_equal(made, 3);
    assert_int_equal(set, 3);
    assert_int_equal(wrong, 0);
    end(&f);
}

static void count_call(const mica_signal *signal) {
    *(int32_t *)signal->user += 1;
}

static void observers_hear_of_what_a_spawner_makes(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    spawn_both(&spawner, 1);
    int32_t added = 0;
    const mica_observer observer = mica_on_added(f.world, Number, count_call, &added);
    spawn_both(&spawner, 2);
    mica_spawn(f.world, mica_value_of(Number, {3}), mica_value_of(Position, {1, 2, 3}));
    assert_int_equal(added, 2);
    assert_int_equal(mica_observer_disconnect(f.world, observer), MICA_OK);
    spawn_both(&spawner, 4);
    assert_int_equal(added, 2);
    end(&f);
}

static void what_owns_links_brings_others_or_lives_in_pools_is_spawned_all_the_same(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity leader = mica_create(f.world);
    mica_spawner spawner = mica_spawner_of(f.world, mica_type_of(Owned), mica_type_of(Follows), mica_type_of(Pooled),
                                           mica_type_of(Soldier));
    for (int32_t round = 0; round < 3; round++) {
        Owned owned;
        owned_hold(&owned, round, f.world);
        const mica_value values[] = {{mica_type_of(Owned), &owned, 0, 0},
                                     mica_value_of(Follows, {leader}),
                                     mica_value_of(Pooled, {round}),
                                     mica_value_of(Soldier, {round})};
        const mica_entity entity = mica_spawner_spawn(&spawner, values, 4);
        assert_int_equal(mica_get(f.world, entity, Pooled)->now, round);
        assert_int_equal(mica_get(f.world, entity, Soldier)->rank, round);
        assert_true(mica_has(f.world, entity, Armed));
        assert_true(mica_entity_equal(mica_get(f.world, entity, Follows)->whom, leader));
        owned_drop(&owned, f.world);
    }
    mica_spawner pooled = mica_spawner_of(f.world, mica_type_of(Pooled), mica_type_of(Number));
    for (int32_t i = 0; i < 100; i++) {
        const mica_entity entity = mica_spawn(&pooled, mica_value_of(Pooled, {i}), mica_value_of(Number, {-i}));
        assert_int_equal(mica_get(f.world, entity, Pooled)->now, i);
        assert_int_equal(mica_get(f.world, entity, Number)->now, -i);
    }
    check(f.world);
    end(&f);
}

static void without_memory_it_makes_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_spawner spawner = both(f.world);
    int32_t made = 0;
    for (int32_t i = 0; i < 5000; i++) {
        test_allocator_fail_from(&f.allocator, 1);
        mica_entity entity = spawn_both(&spawner, i);
        const bool failed = test_allocator_fail_stop(&f.allocator);
        // Where every change moves chunks, it may be moving one that lacks memory, and the entity is there.
        if (failed && !(MI_MOVES_ALWAYS && !mica_entity_is_null(entity))) {
            assert_true(mica_entity_is_null(entity));
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            entity = spawn_both(&spawner, i);
        }
        assert_both(f.world, entity, i);
        made++;
        assert_int_equal(mica_world_entity_count(f.world), made);
    }
    check(f.world);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_makes_has_its_values_over_many_chunks),
        cmocka_unit_test(spawning_by_type_goes_on_after_each_clear),
        cmocka_unit_test(values_of_all_sizes_are_copied_whole),
        cmocka_unit_test(sets_that_take_turns_and_values_by_id_are_told_apart),
        cmocka_unit_test(a_value_that_is_left_out_is_constructed),
        cmocka_unit_test(values_in_another_order_or_number_are_refused),
        cmocka_unit_test(values_may_be_given_by_component),
        cmocka_unit_test(nothing_to_spawn_from_is_refused),
        cmocka_unit_test(a_spawner_that_could_not_be_made_refuses),
        cmocka_unit_test(tables_that_were_dropped_are_found_anew),
        cmocka_unit_test(structure_that_is_locked_is_left_alone),
        cmocka_unit_test(none_is_made_while_observers_are_told),
        cmocka_unit_test(observers_hear_of_what_a_spawner_makes),
        cmocka_unit_test(what_owns_links_brings_others_or_lives_in_pools_is_spawned_all_the_same),
        cmocka_unit_test(without_memory_it_makes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
