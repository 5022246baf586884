// Outside versions and inside versions, and how restores join the two; what is noted beside columns and pages. Restores
// are played here by what a restore calls, without a snapshot: state/test_changes_state.c has those.
#include "changes_world.h"

#include "world/rewind.h"
#include "world/world.h"

static void restore_to(mica_world *world, uint64_t version) {
    assert_true(mi_rewind_open(world));
    mi_rewind_begin(world, version);
    mi_rewind_end(world);
}

static void versions_are_the_same_until_something_is_restored(mica_world *world) {
    assert_int_equal(mi_outside_version(world, 7), 7);
    assert_int_equal(mi_inside_version(world, 7), 7);
    assert_true(mi_rewind_open(world));
    for (uint64_t version = 0; version < 5; version++) {
        assert_int_equal(mi_outside_version(world, version), version);
        assert_int_equal(mi_inside_version(world, version), version);
    }
    assert_int_equal(mi_since_outside(world, 7), 7);
}

static void a_restore_raises_the_version_that_programs_see(mica_world *world) {
    world->store.version = 100;
    restore_to(world, 40);
    assert_int_equal(world->store.version, 40);
    assert_int_equal(mica_world_version(world), 101);
    assert_int_equal(mica_world_advance_version(world), 101);
    assert_int_equal(world->store.version, 41);
    // What was written before the snapshot is as old as it was; what was written after it is gone.
    assert_int_equal(mi_outside_version(world, 39), 39);
    assert_int_equal(mi_inside_version(world, 39), 39);
    assert_int_equal(mi_inside_version(world, 40), 39);
    assert_int_equal(mi_inside_version(world, 100), 39);
    assert_int_equal(mi_inside_version(world, 101), 40);
}

static void a_restore_forwards_does_not_let_old_stamps_count_as_later(mica_world *world) {
    world->store.version = 100;
    restore_to(world, 40);
    restore_to(world, 90); // at outside version 101
    assert_int_equal(mica_world_version(world), 102);
    assert_int_equal(mi_outside_version(world, 41), 101);
    assert_int_equal(mi_outside_version(world, 89), 101);
    assert_int_equal(mi_inside_version(world, 101), 89);
    assert_int_equal(mi_inside_version(world, 102), 90);
}

static void a_version_of_the_future_is_later_than_all(mica_world *world) {
    world->store.version = 10;
    restore_to(world, 1000);
    assert_true(mi_inside_version(world, UINT64_MAX) > 1u << 30);
    mica_query *changed = CHANGED(world, Plain);
    mica_spawn(world, mica_value_of(Plain, {1}));
    assert_int_equal(ask(changed, 1)->count, 1);
    assert_nobody(changed, UINT64_MAX);
}

// Whatever is restored in which order: versions only grow, and a later one inside is never an earlier one outside.
static void outside_versions_ascend_whatever_is_restored(mica_world *world) {
    test_random random = {.state = 5};
    uint64_t last = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        if (test_random_below(&random, 3) == 0) {
            restore_to(world, 1 + test_random_below(&random, 400));
        } else {
            world->store.version += test_random_below(&random, 20);
        }
        const uint64_t now = mica_world_version(world);
        assert_true(now >= last);
        last = now;
        uint64_t before = 0;
        for (uint64_t version = 1; version <= world->store.version; version++) {
            const uint64_t outside = mi_outside_version(world, version);
            assert_true(outside >= before && outside <= now);
            before = outside;
            // Who has looked at or after that moment does not count it, who has looked before does.
            assert_true(mi_inside_version(world, outside) >= version);
            assert_true(mi_inside_version(world, outside - 1) < version);
        }
    }
}

static void what_was_seen_between_forgotten_restores_may_have_changed(mica_world *world) {
    mica_query *changed = CHANGED(world, Plain);
    mica_spawn(world, mica_value_of(Plain, {1}));
    const uint64_t early = mica_world_advance_version(world);
    uint64_t late = 0;
    for (uint32_t i = 0; i < 2 * MI_REWIND_SEGMENT_MAX; i++) {
        restore_to(world, world->store.version);
        world->store.version++;
        late = i == MI_REWIND_SEGMENT_MAX + 10 ? mica_world_advance_version(world) : late;
    }
    assert_int_equal(ask(changed, early)->count, 1);
    assert_nobody(changed, late);
    assert_nobody(changed, mica_world_version(world) - 1);
}

static void a_world_without_restores_costs_no_memory_for_them(mica_world *world) {
    mica_query *removed = REMOVED(world, Plain);
    mica_destroy(world, mica_spawn(world, mica_value_of(Plain, {1})));
    assert_int_equal(ask(removed, 0)->count, 1);
    assert_null(world->rewind);
    assert_int_equal(world->outside_since, 0);
}

EVERY_STORAGE(versions_are_the_same_until_something_is_restored)
EVERY_STORAGE(a_restore_raises_the_version_that_programs_see)
EVERY_STORAGE(a_restore_forwards_does_not_let_old_stamps_count_as_later)
EVERY_STORAGE(a_version_of_the_future_is_later_than_all)
EVERY_STORAGE(outside_versions_ascend_whatever_is_restored)
EVERY_STORAGE(what_was_seen_between_forgotten_restores_may_have_changed)
EVERY_STORAGE(a_world_without_restores_costs_no_memory_for_them)

int main(void) {
    const struct CMUnitTest tests[] = {TEST_OF(versions_are_the_same_until_something_is_restored)
                                           TEST_OF(a_restore_raises_the_version_that_programs_see)
                                               TEST_OF(a_restore_forwards_does_not_let_old_stamps_count_as_later)
                                                   TEST_OF(a_version_of_the_future_is_later_than_all)
                                                       TEST_OF(outside_versions_ascend_whatever_is_restored) TEST_OF(
                                                           what_was_seen_between_forgotten_restores_may_have_changed)
                                                           TEST_OF(a_world_without_restores_costs_no_memory_for_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
