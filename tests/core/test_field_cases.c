// Situations that broke other entity component systems, as far as no test of a part holds them. docs/field-cases.md
// lists all of them with what Mica does and where that is tested.
#include "world/world_fixture.h"

MICA_STRUCT_WITH(Rock, (.storage = MICA_TABLE), { int32_t grams; });
MICA_TAG_WITH(Wet, (.storage = MICA_TABLE));

static void a_slot_at_its_last_generation_is_never_used_again(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity last = mica_entity_make(1, MICA_GENERATION_MAX - 1);
    const mica_entity above = mica_entity_make(1, MICA_GENERATION_MAX);
    assert_int_equal(mica_entity_create_at(w.world, &last, 1), MICA_OK);
    assert_int_equal(mica_set(w.world, last, Health, {1}), MICA_OK);
    assert_int_equal(mica_destroy(w.world, last), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).slot_retired_count, 1);
    for (int32_t i = 0; i < 100; i++) {
        const mica_entity entity = mica_create(w.world);
        assert_int_not_equal(mica_entity_index(entity), 1);
        assert_int_not_equal(mica_entity_generation(entity), MICA_GENERATION_MAX);
        if (i % 2 == 0) {
            mica_destroy(w.world, entity);
        }
    }
    assert_false(mica_alive(w.world, last));
    assert_false(mica_alive(w.world, above));
    assert_false(mica_alive(w.world, mica_entity_make(1, 0)));
    assert_int_equal(mica_entity_create_at(w.world, &above, 1), MICA_STALE);
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_not_equal(mica_entity_index(mica_create(w.world)), 1);
    assert_valid(w.world);
    watched_end(&w);
}

static void a_handle_says_so_before_and_after_its_slot_is_used_again(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity first = mica_spawn(w.world, mica_value_of(Health, {1}));
    mica_destroy(w.world, first);
    for (int32_t i = 0; i < 2; i++) {
        assert_false(mica_alive(w.world, first));
        mica_error_clear();
        assert_null(mica_get(w.world, first, Health));
        assert_int_equal(mica_last_result(), MICA_STALE);
        assert_int_equal(mica_set(w.world, first, Health, {9}), MICA_STALE);
        assert_int_equal(mica_destroy(w.world, first), MICA_STALE);
        assert_false(mica_query_contains(mica_query_of(w.world, mica_read(Health)), first));
        if (i == 0) {
            const mica_entity second = mica_spawn(w.world, mica_value_of(Health, {2}));
            assert_int_equal(mica_entity_index(second), mica_entity_index(first));
        }
    }
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_read(Health))), 1);
    watched_end(&w);
}

static void counts_agree_with_the_callers_list_after_destroying_out_of_order(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static mica_entity list[COUNT];
    watched_world w;
    watched_begin(&w);
    test_random random = {.state = 11};
    for (int32_t i = 0; i < COUNT; i++) {
        list[i] = mica_spawn(w.world, mica_value_of(Health, {i}));
    }
    mica_query *query = mica_query_of(w.world, mica_read(Health));
    int32_t left = COUNT;
    while (left > 0) {
        for (int32_t i = 0; i < 500 && left > 0; i++) {
            const uint32_t chosen = test_random_below(&random, (uint32_t)left);
            assert_int_equal(mica_destroy(w.world, list[chosen]), MICA_OK);
            list[chosen] = list[--left];
        }
        assert_int_equal(mica_query_count(query), left);
        assert_int_equal(mica_world_entity_count(w.world), left);
        int64_t seen = 0, listed = 0;
        mica_each (query, it) {
            const Health *health = mica_read_of(it, Health);
            for (int32_t i = 0; i < it.count; i++) {
                seen += health[i].now;
            }
        }
        for (int32_t i = 0; i < left; i++) {
            listed += mica_get(w.world, list[i], Health)->now;
        }
        assert_int_equal(seen, listed);
    }
    watched_end(&w);
}

static void children_stand_in_the_order_of_calls_whichever_verb_linked_them(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_commands *commands = mica_commands_create(w.world);
    const mica_entity parent = mica_create(w.world);
    mica_entity expected[12];
    for (int32_t i = 0; i < 12; i += 4) {
        expected[i] = mica_create(w.world);
        assert_int_equal(mica_set_parent(w.world, expected[i], parent), MICA_OK);
        expected[i + 1] = mica_create(w.world);
        assert_int_equal(mica_set(w.world, expected[i + 1], mica_child_of, {parent}), MICA_OK);
        expected[i + 2] = mica_spawn(w.world, mica_value_of(mica_child_of, {parent}), mica_value_of(Health, {i}));
        const mica_entity late = mica_spawn(commands, mica_value_of(mica_child_of, {parent}));
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        expected[i + 3] = mica_commands_resolve(commands, late);
    }
    mica_entity child = mica_first_child(w.world, parent);
    for (int32_t i = 0; i < 12; i++) {
        assert_entity_equal(child, expected[i]);
        child = mica_next_sibling(w.world, child);
    }
    assert_null_entity(child);
    mica_commands_destroy(commands);
    assert_valid(w.world);
    watched_end(&w);
}

static void ignore(void *value, void *user) {
    (void)value;
    (void)user;
}

static void every_verb_knows_what_to_do_with_a_tag(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_world *world = w.world;
    const int32_t number = 1;
    const mica_component frozen = mica_register(world, Frozen);
    const mica_entity entity = mica_create(world);
    assert_int_equal(mica_add(world, entity, Frozen), MICA_OK);
    assert_int_equal(mica_add(world, entity, Frozen), MICA_EXISTS);
    assert_int_equal(mica_entity_add(world, entity, mica_register(world, Marked), &number), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set(world, entity, frozen, &number), MICA_NO_VALUE);
    assert_null(mica_entity_get(world, entity, frozen));
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    assert_null(mica_entity_get_write(world, entity, frozen));
    assert_int_equal(mica_entity_patch(world, entity, frozen, ignore, NULL), MICA_NO_VALUE);
    assert_int_equal(mica_resource_set(world, frozen, &number), MICA_NO_VALUE);
    assert_true(mica_has(world, mica_clone(world, entity), Frozen));
    mica_entity many[3];
    assert_int_equal(mica_spawn_many(world, 3, many, mica_tag(Frozen)), MICA_OK);
    assert_true(mica_has(world, many[2], Frozen));
    mica_commands *commands = mica_commands_create(world);
    assert_int_equal(mica_commands_set(commands, entity, frozen, &number), MICA_NO_VALUE);
    assert_int_equal(mica_remove(commands, entity, Frozen), MICA_OK);
    assert_int_equal(mica_add(commands, entity, Frozen), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    assert_int_equal(mica_query_count(mica_query_of(world, mica_with(Frozen))), 5);
    assert_null(mica_query_create(world, &(mica_term){.component = frozen, .use = MICA_USE_READ}, 1));
    assert_int_equal(mica_remove(world, entity, Frozen), MICA_OK);
    assert_int_equal(mica_entity_components(world, entity, NULL, 0), 0);
    assert_valid(world);
    watched_end(&w);
}

static void tables_that_never_had_a_row_are_freed(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_spawn_many(w.world, 0, NULL, mica_tag(Rock), mica_tag(Wet)), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).chunk_count, 0);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).table_count, 0);
    assert_int_equal(mica_spawn_many(w.world, 0, NULL, mica_tag(Rock), mica_tag(Wet)), MICA_OK);
    assert_true(mica_world_statistics(w.world).table_empty_count > 0);
    watched_end(&w);
}

static void hundreds_of_components_at_once_are_as_one_by_one(void **state) {
    (void)state;
    enum { COUNT = 300 };
    static const int32_t sizes[] = {129, COUNT};
    watched_world w;
    watched_begin(&w);
    mica_value values[COUNT];
    int32_t numbers[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Part%d", i);
        mica_type type = {.name = name, .size = 4, .align = 4};
        numbers[i] = i;
        values[i] = (mica_value){.component = mica_world_register(w.world, &type), .value = &numbers[i]};
    }
    for (int32_t k = 0; k < 2; k++) {
        const mica_entity at_once = mica_entity_spawn(w.world, values, sizes[k]);
        const mica_entity by_ones = mica_create(w.world);
        for (int32_t i = sizes[k] - 1; i >= 0; i--) {
            assert_int_equal(mica_entity_add(w.world, by_ones, values[i].component, values[i].value), MICA_OK);
        }
        assert_int_equal(mica_entity_components(w.world, at_once, NULL, 0), sizes[k]);
        assert_int_equal(mica_entity_components(w.world, by_ones, NULL, 0), sizes[k]);
        for (int32_t i = 0; i < sizes[k]; i++) {
            assert_int_equal(*(const int32_t *)mica_entity_get(w.world, at_once, values[i].component), i);
            assert_int_equal(*(const int32_t *)mica_entity_get(w.world, by_ones, values[i].component), i);
        }
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void relations_do_not_multiply_tables(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    int32_t tables = 0;
    for (int32_t i = 0; i < 3000; i++) {
        const mica_entity target = mica_spawn(w.world, mica_value_of(Health, {i}));
        const mica_entity child = mica_spawn(w.world, mica_value_of(mica_child_of, {target}), mica_tag(Frozen));
        assert_int_equal(mica_destroy(w.world, target), MICA_OK);
        assert_int_equal(mica_destroy(w.world, child), MICA_OK);
        if (i == 0) {
            tables = mica_world_statistics(w.world).table_count;
        }
    }
    assert_int_equal(mica_world_statistics(w.world).table_count, tables);
    assert_in_range(tables, 1, 6);
    watched_end(&w);
}

static void many_at_once_obey_the_rules_of_one(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const Armour armour[] = {{1}, {2}};
    mica_entity many[2];
    assert_int_equal(mica_spawn_many(w.world, 2, many, mica_column_of(Armour, armour)), MICA_OK);
    const mica_entity one = mica_spawn(w.world, mica_value_of(Armour, {2}));
    for (int32_t i = 0; i < 2; i++) { // what Armour requires came along
        assert_int_equal(mica_entity_components(w.world, many[i], NULL, 0), 3);
        assert_int_equal(mica_get(w.world, many[i], Health)->now, mica_get(w.world, one, Health)->now);
        assert_true(mica_has(w.world, many[i], Marked));
    }
    const mica_column twice[] = {mica_column_of(Armour, armour), mica_tag(Armour)};
    assert_int_equal(mica_entity_spawn_many(w.world, twice, 2, 2, NULL), MICA_EXISTS);
    const mica_column tag = {.type = mica_type_of(Marked), .value = armour};
    assert_int_equal(mica_entity_spawn_many(w.world, &tag, 1, 2, NULL), MICA_NO_VALUE);
    assert_int_equal(mica_world_entity_count(w.world), 3);
    watched_end(&w);
}

typedef struct Lanes {
    _Alignas(16) float of[4];
} Lanes;
MICA_STRUCT(Described, {
    _Alignas(32) float x;
    float y[7];
});
MICA_COMPONENT(Lanes);

static void an_explicit_alignment_wins_over_that_of_the_fields(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_schema *schema = mica_world_schema(w.world);
    const mica_component described = mica_register(w.world, Described);
    int32_t count = 0;
    assert_int_equal(mica_schema_info(schema, described)->align, 32);
    assert_non_null(mica_schema_fields(schema, described, &count));
    assert_int_equal(count, 2);
    assert_int_equal(mica_schema_info(schema, mica_register(w.world, Lanes))->align, 16);
    for (int32_t i = 0; i < 1000; i++) {
        const mica_entity entity = mica_spawn(w.world, mica_tag(Lanes), mica_tag(Health), mica_tag(Described));
        assert_int_equal((uintptr_t)mica_get(w.world, entity, Lanes) % 16, 0);
        assert_int_equal((uintptr_t)mica_get(w.world, entity, Described) % 32, 0);
    }
    watched_end(&w);
}

static void what_is_made_and_destroyed_in_one_buffer_was_never_there(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_commands *commands = mica_commands_create(w.world);
    const mica_entity passing = mica_spawn(commands, mica_value_of(Health, {1}), mica_tag(Owned));
    mica_set(commands, passing, Position, {1, 2, 3});
    mica_destroy(commands, passing);
    mica_set(commands, passing, Position, {4, 5, 6});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_world_entity_count(w.world), 0);
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_read(Health))), 0);
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 1);
    mica_commands_destroy(commands);
    assert_valid(w.world);
    watched_end(&w);
}

static void indices_over_the_limit_are_refused_by_name(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
#if MICA_ENTITY_BITS == 64
    const mica_entity over[] = {mica_entity_make(3, 0), mica_entity_make(MICA_INDEX_MAX + 1u, 0)};
    assert_int_equal(mica_entity_create_at(w.world, over, 2), MICA_LIMIT);
    assert_said("entities[1]");
    const mica_entity highest = mica_entity_make(UINT32_MAX, 0);
    assert_int_equal(mica_entity_create_at(w.world, &highest, 1), MICA_LIMIT);
#else
    const mica_entity highest = mica_entity_make(MICA_INDEX_MAX, 0);
    assert_int_equal(mica_entity_create_at(w.world, &highest, 1), MICA_OK);
    assert_int_equal(mica_set(w.world, highest, Health, {1}), MICA_OK);
    assert_int_equal(mica_entity_create_at(w.world, &highest, 1), MICA_EXISTS);
#endif
    assert_valid(w.world);
    watched_end(&w);
}

static void forty_thousand_handles_are_kept_whole(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    static mica_entity entities[COUNT];
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_spawn_many(w.world, COUNT, entities, mica_tag(Target)), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_set(w.world, entities[i], Target, {entities[COUNT - 1 - i]}), MICA_OK);
    }
    for (int32_t i = 0; i < COUNT; i++) {
        assert_entity_equal(mica_get(w.world, entities[i], Target)->who, entities[COUNT - 1 - i]);
    }
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_at_its_last_generation_is_never_used_again),
        cmocka_unit_test(a_handle_says_so_before_and_after_its_slot_is_used_again),
        cmocka_unit_test(counts_agree_with_the_callers_list_after_destroying_out_of_order),
        cmocka_unit_test(children_stand_in_the_order_of_calls_whichever_verb_linked_them),
        cmocka_unit_test(every_verb_knows_what_to_do_with_a_tag),
        cmocka_unit_test(tables_that_never_had_a_row_are_freed),
        cmocka_unit_test(hundreds_of_components_at_once_are_as_one_by_one),
        cmocka_unit_test(relations_do_not_multiply_tables),
        cmocka_unit_test(many_at_once_obey_the_rules_of_one),
        cmocka_unit_test(an_explicit_alignment_wins_over_that_of_the_fields),
        cmocka_unit_test(what_is_made_and_destroyed_in_one_buffer_was_never_there),
        cmocka_unit_test(indices_over_the_limit_are_refused_by_name),
        cmocka_unit_test(forty_thousand_handles_are_kept_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
