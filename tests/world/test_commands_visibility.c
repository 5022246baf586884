// Command buffers that disable, enable, kill and refresh.
#include <mica/verbs.h>
#include <mica/visibility.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "world/commands_world.h"
#include "world/storages.h"

MICA_STRUCT_WITH(Position, (.toggle = true), { float x, y; });
MICA_TAG_WITH(Frozen, (.toggle = true));

static int set_up(void **state) {
    static fixture f;
    begin(&f);
    f.position = mica_register(f.world, Position);
    f.frozen = mica_register(f.world, Frozen);
    f.owned = mica_register(f.world, Owned);
    mica_error_clear();
    *state = &f;
    return 0;
}

// Nothing was recorded, and the error is `result`.
static void assert_refused(const fixture *f, mica_result result) {
    assert_int_equal(mica_last_result(), result);
    assert_int_equal(mica_commands_count(f->commands), 0);
    mica_error_clear();
}

static void entities_and_components_are_disabled_and_enabled(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Position, {1, 1}));
    const mica_entity made = mica_spawn(f->commands, mica_value_of(Position, {2, 2}));
    assert_int_equal(mica_commands_enable(f->commands, entity, false), MICA_OK);
    assert_int_equal(mica_commands_enable_component(f->commands, made, f->position, false), MICA_OK);
    assert_true(mica_entity_enabled(f->world, entity)); // recorded only
    apply(f);
    assert_false(mica_entity_enabled(f->world, entity));
    assert_true(mica_entity_component_enabled(f->world, entity, f->position));
    assert_true(mica_entity_enabled(f->world, resolve(f, made)));
    assert_false(mica_entity_component_enabled(f->world, resolve(f, made), f->position));
    assert_int_equal(mica_commands_enable(f->commands, entity, true), MICA_OK);
    assert_int_equal(mica_commands_enable_component(f->commands, entity, f->position, false), MICA_OK);
    assert_int_equal(mica_commands_enable_component(f->commands, entity, f->position, true), MICA_OK);
    apply(f);
    assert_true(mica_entity_enabled(f->world, entity));
    assert_true(mica_entity_component_enabled(f->world, entity, f->position));
    assert_counts(f, 6, 0);
}

// However many components change with it, and wherever they live.
static void a_component_removed_and_added_again_is_enabled(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Position, {1, 1}), mica_tag(Frozen));
    assert_int_equal(mica_entity_enable_component(f->world, entity, f->position, false), MICA_OK);
    mica_set(f->commands, entity, Position, {2, 2});
    mica_remove(f->commands, entity, Frozen);
    apply(f);
    assert_false(mica_entity_component_enabled(f->world, entity, f->position)); // a new value, the same component
    mica_remove(f->commands, entity, Position);
    mica_set(f->commands, entity, Position, {3, 3});
    apply(f);
    assert_true(mica_entity_component_enabled(f->world, entity, f->position));
    assert_true(mica_get(f->world, entity, Position)->x == 3);
    const mica_entity tagged = mica_spawn(f->world, mica_tag(Frozen));
    assert_int_equal(mica_entity_enable_component(f->world, tagged, f->frozen, false), MICA_OK);
    mica_remove(f->commands, tagged, Frozen);
    mica_add(f->commands, tagged, Frozen);
    apply(f);
    assert_true(mica_entity_component_enabled(f->world, tagged, f->frozen));
    assert_int_equal(mica_entity_enable_component(f->world, tagged, f->frozen, false), MICA_OK);
    mica_remove(f->commands, tagged, Frozen);
    apply(f);
    mica_add(f->commands, tagged, Frozen);
    mica_add(f->commands, tagged, Owned);
    apply(f);
    assert_true(mica_entity_component_enabled(f->world, tagged, f->frozen));
}

static void the_killed_go_when_the_world_is_refreshed(void **state) {
    const fixture *f = *state;
    const mica_entity first = mica_spawn(f->world, mica_value_of(Position, {1, 1}));
    const mica_entity second = mica_spawn(f->commands, mica_value_of(Position, {2, 2}));
    assert_int_equal(mica_commands_kill(f->commands, first), MICA_OK);
    assert_int_equal(mica_commands_kill(f->commands, first), MICA_OK); // once more is no other thing
    apply(f);
    assert_true(mica_entity_killed(f->world, first));
    assert_int_equal(mica_commands_kill(f->commands, resolve(f, second)), MICA_OK);
    mica_set(f->commands, first, Position, {5, 5}); // still alive
    assert_int_equal(mica_commands_refresh(f->commands), MICA_OK);
    mica_set(f->commands, first, Position, {6, 6}); // skipped
    const mica_entity last = mica_create(f->commands);
    apply(f);
    assert_false(mica_alive(f->world, first));
    assert_int_equal(mica_world_entity_count(f->world), 1);
    assert_true(mica_alive(f->world, resolve(f, last)));
    assert_counts(f, 7, 1);
}

static void hiding_what_is_not_there_is_skipped(void **state) {
    const fixture *f = *state;
    const mica_entity dead = mica_create(f->world);
    const mica_entity bare = mica_create(f->world);
    assert_int_equal(mica_destroy(f->world, dead), MICA_OK);
    assert_int_equal(mica_commands_enable(f->commands, dead, false), MICA_OK);
    assert_int_equal(mica_commands_enable_component(f->commands, dead, f->position, false), MICA_OK);
    assert_int_equal(mica_commands_enable_component(f->commands, bare, f->position, false), MICA_OK);
    assert_int_equal(mica_commands_kill(f->commands, dead), MICA_OK);
    apply(f);
    assert_counts(f, 0, 4);
}

static void hiding_is_refused_when_it_is_recorded_if_it_can_never_be(void **state) {
    const fixture *f = *state;
    const mica_entity entity = mica_create(f->world);
    assert_int_equal(mica_commands_enable(f->commands, MICA_NULL, false), MICA_STALE);
    assert_int_equal(mica_commands_kill(f->commands, MICA_NULL), MICA_STALE);
    assert_int_equal(mica_commands_enable_component(f->commands, MICA_NULL, f->position, false), MICA_STALE);
    assert_refused(f, MICA_STALE);
    assert_int_equal(mica_commands_enable_component(f->commands, entity, 999, false), MICA_UNKNOWN);
    assert_refused(f, MICA_UNKNOWN);
    assert_int_equal(mica_commands_enable_component(f->commands, entity, f->owned, false), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "Owned"));
    assert_refused(f, MICA_INVALID);
    assert_int_equal(mica_commands_enable(NULL, entity, false), MICA_INVALID);
    assert_int_equal(mica_commands_enable_component(NULL, entity, f->position, false), MICA_INVALID);
    assert_int_equal(mica_commands_kill(NULL, entity), MICA_INVALID);
    assert_int_equal(mica_commands_refresh(NULL), MICA_INVALID);
}

// Disabling and killing may need memory: what cannot be done waits, with all that was recorded after it.
static void hiding_waits_for_memory(void **state) {
    fixture *f = *state;
    for (uint64_t n = 1;; n++) {
        mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
        mica_commands *commands = mica_commands_create(world);
        const mica_component position = mica_register(world, Position);
        const mica_entity entity = mica_spawn(world, mica_value_of(Position, {1, 1}));
        assert_int_equal(mica_commands_enable(commands, entity, false), MICA_OK);
        assert_int_equal(mica_commands_enable_component(commands, entity, position, false), MICA_OK);
        assert_int_equal(mica_commands_kill(commands, entity), MICA_OK);
        test_allocator_fail_at(&f->allocator, n);
        mica_result result = mica_commands_apply(commands);
        const bool was_reached = test_allocator_fail_stop(&f->allocator);
        if (was_reached) {
            const int32_t left_count = mica_commands_count(commands);
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_true(left_count > 0);
            assert_false(mica_entity_killed(world, entity));
            assert_int_equal(mica_entity_component_enabled(world, entity, position), left_count > 1);
            assert_int_equal(mica_entity_enabled(world, entity), left_count > 2);
            result = mica_commands_apply(commands);
        }
        assert_int_equal(result, MICA_OK);
        assert_false(mica_entity_enabled(world, entity));
        assert_false(mica_entity_component_enabled(world, entity, position));
        assert_true(mica_entity_killed(world, entity));
        assert_int_equal(mica_commands_statistics(commands).applied_count, 3);
        mica_commands_destroy(commands);
        mica_world_destroy(world);
        if (!was_reached) {
            assert_true(n > 3); // each of them asked for something
            break;
        }
    }
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest cases[] = {
        CASE(entities_and_components_are_disabled_and_enabled),
        CASE(a_component_removed_and_added_again_is_enabled),
        CASE(the_killed_go_when_the_world_is_refreshed),
        CASE(hiding_what_is_not_there_is_skipped),
        CASE(hiding_is_refused_when_it_is_recorded_if_it_can_never_be),
        CASE(hiding_waits_for_memory),
    };
    int failed_count = 0;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_type(mica_type_of(Position), mix, 0);
        place_type(mica_type_of(Frozen), mix, 1);
        place_type(mica_type_of(Owned), mix, 2);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], cases, NULL, NULL);
    }
    return failed_count;
}
