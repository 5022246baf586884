// Commands on all entities that match a query: as single verbs on each, found when the buffer is applied.
#include "world/world_fixture.h"

MICA_STRUCT(Mass, { int32_t kilograms; });
MICA_STRUCT(Charge, { int32_t units; });
MICA_STRUCT_WITH(Spin, (.storage = MICA_POOL), { int32_t turns; });
MICA_TAG(Chosen);
MICA_STRUCT(Follow, { mica_entity who; });

enum { COUNT = 300 };

static watched_world watched;
static mica_world *world;
static mica_entity made[COUNT];
static mica_commands *commands;
static mica_query *heavy; // those with a mass

static int begin(void **state) {
    (void)state;
    watched_begin(&watched);
    world = watched.world;
    commands = mica_commands_create(world);
    for (int32_t i = 0; i < COUNT; i++) {
        made[i] = mica_spawn(world, mica_value_of(Charge, {i}));
        if (i % 2 == 0) {
            mica_set(world, made[i], Mass, {i});
        }
        if (i % 3 == 0) {
            mica_set(world, made[i], Spin, {i});
        }
    }
    heavy = mica_query_create(world, (const mica_term[]){mica_with(Mass)}, 1);
    return 0;
}

static int end(void **state) {
    mica_commands_destroy(commands);
    mica_query_release(heavy);
    (void)state;
    watched_end(&watched);
    return 0;
}

static void apply(void) {
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_commands_count(commands), 0);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void all_that_match_are_destroyed(void **state) {
    (void)state;
    assert_int_equal(mica_commands_destroy_matching(commands, heavy), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), COUNT); // not yet
    apply();
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_alive(world, made[i]), i % 2 != 0);
    }
    assert_int_equal(mica_commands_statistics(commands).applied_count, COUNT / 2);
}

static void all_that_match_get_a_copy_each(void **state) {
    (void)state;
    const Spin spin = {7};
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(Spin)), &spin), MICA_OK);
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(Chosen)), NULL), MICA_OK);
    apply();
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_has(world, made[i], Chosen), i % 2 == 0);
        const Spin *has = mica_get(world, made[i], Spin);
        assert_int_equal(has != NULL, i % 2 == 0 || i % 3 == 0);
        if (has != NULL) {
            assert_int_equal(has->turns, i % 3 == 0 ? i : 7); // who had one keeps it
        }
    }
    // 150 marks, and spins for those of the 150 that had none.
    assert_int_equal(mica_commands_statistics(commands).applied_count, 150 + 100);
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 0);
}

static void all_that_match_lose_a_component(void **state) {
    (void)state;
    assert_int_equal(mica_commands_remove_matching(commands, heavy, mica_world_component(world, mica_type_of(Spin))),
                     MICA_OK);
    assert_int_equal(mica_commands_remove_matching(commands, heavy, mica_world_component(world, mica_type_of(Mass))),
                     MICA_OK);
    apply();
    assert_int_equal(mica_query_count(heavy), 0);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_has(world, made[i], Spin), i % 2 != 0 && i % 3 == 0);
    }
}

static void what_commands_before_have_made_matches(void **state) {
    (void)state;
    const mica_entity spawned = mica_spawn(commands, mica_value_of(Mass, {1}));
    mica_remove(commands, made[0], Mass);
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(Chosen)), NULL), MICA_OK);
    mica_remove(commands, made[2], Chosen); // and what comes later goes on from there
    apply();
    assert_true(mica_has(world, mica_commands_resolve(commands, spawned), Chosen));
    assert_false(mica_has(world, made[0], Chosen));
    assert_false(mica_has(world, made[2], Chosen));
    assert_true(mica_has(world, made[4], Chosen));
}

static void a_buffer_that_is_cleared_lets_the_query_go(void **state) {
    (void)state;
    const Charge charge = {1};
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_with(Spin)}, 1);
    assert_int_equal(
        mica_commands_add_matching(commands, query, mica_world_component(world, mica_type_of(Mass)), &charge), MICA_OK);
    mica_query_release(query); // the buffer holds it
    apply();
    assert_int_equal(mica_query_count(heavy), COUNT / 2 + COUNT / 6);
    mica_commands_destroy_matching(commands, heavy);
    mica_commands_clear(commands);
    mica_query_release(query);
    assert_int_equal(mica_last_result(), MICA_INVALID); // nobody else has a reference to give back
}

static void misuse_is_refused(void **state) {
    (void)state;
    const mica_component mass = mica_world_component(world, mica_type_of(Mass));
    assert_int_equal(mica_commands_destroy_matching(NULL, heavy), MICA_INVALID);
    assert_int_equal(mica_commands_destroy_matching(commands, NULL), MICA_INVALID);
    assert_int_equal(mica_commands_add_matching(commands, heavy, 60000, NULL), MICA_UNKNOWN);
    const Mass value = {1};
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(Chosen)), &value),
        MICA_NO_VALUE);
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(mica_child_of)), NULL),
        MICA_UNSUPPORTED);
    const Follow follow = {mica_spawn(commands, mica_value_of(Mass, {3}))};
    assert_int_equal(
        mica_commands_add_matching(commands, heavy, mica_world_component(world, mica_type_of(Follow)), &follow),
        MICA_STALE);
    mica_query *changed = mica_query_create(world, (const mica_term[]){mica_changed(Mass)}, 1);
    assert_int_equal(mica_commands_remove_matching(commands, changed, mass), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "asks for changes"));
    mica_query_release(changed);
    assert_int_equal(mica_commands_count(commands), 1);
}

static void without_memory_all_waits_or_is_done(void **state) {
    (void)state;
    const Spin spin = {7};
    const mica_component component = mica_world_component(world, mica_type_of(Spin));
    for (uint64_t n = 1;; n++) {
        assert_int_equal(mica_commands_add_matching(commands, heavy, component, &spin), MICA_OK);
        test_allocator_fail_at(&watched.allocator, n);
        const mica_result result = mica_commands_apply(commands);
        const bool failed = test_allocator_fail_stop(&watched.allocator);
        assert_int_equal(mica_world_validate(world), MICA_OK);
        if (result != MICA_OK) {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_commands_count(commands), 1); // it waits, and is not lost
        }
        apply();
        for (int32_t i = 0; i < COUNT; i += 2) {
            assert_true(mica_has(world, made[i], Spin));
            if (i % 3 != 0) {
                mica_remove(world, made[i], Spin);
            }
        }
        mica_world_trim(world);
        if (!failed) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_that_match_are_destroyed, begin, end),
        cmocka_unit_test_setup_teardown(all_that_match_get_a_copy_each, begin, end),
        cmocka_unit_test_setup_teardown(all_that_match_lose_a_component, begin, end),
        cmocka_unit_test_setup_teardown(what_commands_before_have_made_matches, begin, end),
        cmocka_unit_test_setup_teardown(a_buffer_that_is_cleared_lets_the_query_go, begin, end),
        cmocka_unit_test_setup_teardown(misuse_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_all_waits_or_is_done, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
