// Folding of components that live in pools: what is done to the pools, and to nothing else.
#include <mica/verbs.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "world/ledger.h"
#include "world/storages.h"

MICA_STRUCT_WITH(Position, (.storage = MICA_POOL), { int32_t x, y; });
MICA_TAG_WITH(Frozen, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Needy, (.required = {mica_type_of(Owned), mica_type_of(Frozen)}), { int32_t number; });

static int set_up(void **state) {
    static test_allocator allocator;
    test_allocator_init(&allocator);
    ledger_start();
    *state = &allocator;
    return 0;
}

static int tear_down(void **state) {
    ledger_finish();
    test_allocator_finish(*state);
    return 0;
}

static mica_world *start_world(void **state) {
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(*state)});
    assert_non_null(world);
    return world;
}

// How often elements came, went or moved.
static uint64_t structure_of(const mica_world *world, mica_component component) {
    return mi_store_find_pool(&world->store, component)->structure;
}

static uint32_t position_of(const mica_world *world, mica_component component, mica_entity entity) {
    return mi_pool_find(mi_store_find_pool(&world->store, component), entity);
}

static void elements_change_without_a_move_of_the_row(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_entity entity = mica_spawn(world, mica_tag(Owned), mica_tag(Frozen)); // Owned lives in a table
    const Owned *before = mica_get(world, entity, Owned);
    Sole sole;
    owned_hold(&sole.owned, 7, world);
    const int64_t moved_count = ledger.moved_count;
    mica_commands_add(commands, entity, mica_register(world, Sole), &sole);
    mica_set(commands, entity, Position, {1, 1});
    mica_remove(commands, entity, Frozen);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(!LEDGER_COUNTS_MOVES || ledger.moved_count == moved_count + 2); // into the buffer and out of it
    mica_set(commands, entity, Position, {2, 2});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_add(commands, entity, Frozen);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_ptr_equal(mica_get(world, entity, Owned), before);
    assert_int_equal(mica_get(world, entity, Position)->x, 2);
    assert_int_equal(*mica_get(world, entity, Sole)->owned.number, 7);
    assert_true(mica_has(world, entity, Frozen));
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

static void what_came_and_went_in_a_fold_was_never_in_the_pool(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_component position = mica_register(world, Position);
    const mica_entity entity = mica_create(world);
    const mica_entity other = mica_spawn(world, mica_value_of(Position, {1, 1}));
    const uint64_t structure = structure_of(world, position);
    mica_set(commands, entity, Position, {2, 2});
    mica_remove(commands, entity, Position);
    mica_remove(commands, other, Position);
    mica_set(commands, other, Position, {3, 3});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(structure_of(world, position), structure);
    assert_false(mica_has(world, entity, Position));
    assert_int_equal(mica_get(world, other, Position)->x, 3);
    assert_int_equal(mica_commands_statistics(commands).applied_count, 4);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

static void entities_come_into_pools_in_the_order_of_their_first_record(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_component position = mica_register(world, Position);
    const mica_entity first = mica_create(world);
    const mica_entity second = mica_create(world);
    mica_add(commands, second, Frozen);
    const mica_entity made = mica_spawn(commands, mica_value_of(Position, {3, 3}));
    mica_set(commands, first, Position, {1, 1});
    mica_set(commands, second, Position, {2, 2});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(position_of(world, position, second), 0);
    assert_int_equal(position_of(world, position, mica_commands_resolve(commands, made)), 1);
    assert_int_equal(position_of(world, position, first), 2);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

// Alone and in a group.
static void what_is_required_comes_along_wherever_it_lives(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_entity alone = mica_create(world);
    const mica_entity group = mica_spawn(world, mica_value_of(Position, {1, 1}));
    mica_set(commands, alone, Needy, {1});
    mica_set(commands, group, Needy, {2});
    mica_remove(commands, group, Frozen);
    mica_add(commands, group, Owned); // skipped: it came along
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_get(world, alone, Needy)->number, 1);
    assert_int_equal(*mica_get(world, alone, Owned)->number, -1);
    assert_true(mica_has(world, alone, Frozen));
    assert_int_equal(mica_get(world, group, Needy)->number, 2);
    assert_int_equal(*mica_get(world, group, Owned)->number, -1);
    assert_false(mica_has(world, group, Frozen));
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 1);
    const int64_t made_count = ledger.made_count;
    mica_remove(commands, alone, Owned);
    mica_set(commands, alone, Needy, {3}); // it is there: nothing comes along again
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_false(mica_has(world, alone, Owned));
    assert_int_equal(mica_get(world, alone, Needy)->number, 3);
    assert_int_equal(ledger.made_count, made_count);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest cases[] = {
        CASE(elements_change_without_a_move_of_the_row),
        CASE(what_came_and_went_in_a_fold_was_never_in_the_pool),
        CASE(entities_come_into_pools_in_the_order_of_their_first_record),
    };
    const struct CMUnitTest anywhere[] = {
        CASE(what_is_required_comes_along_wherever_it_lives),
    };
    mica_type_of(Owned)->traits.storage = MICA_TABLE;
    mica_type_of(Sole)->traits.storage = MICA_POOL;
    int failed_count = cmocka_run_group_tests(cases, NULL, NULL);
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_type(mica_type_of(Owned), mix, 0);
        place_type(mica_type_of(Frozen), mix, 1);
        place_type(mica_type_of(Needy), mix, 2);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], anywhere, NULL, NULL);
    }
    return failed_count;
}
