// Rings of snapshots, and references that survive restores.
#include "state/epochs.h"
#include "state/state_world.h"

// Each number stands for one state.
static void step(mica_world *world, mica_entity entity, uint64_t number) {
    assert_int_equal(mica_set(world, entity, Position, {(float)number, 0, 0}), MICA_OK);
}

static float x_of(mica_world *world, mica_entity entity) {
    return mica_get(world, entity, Position)->x;
}

static void the_latest_snapshots_can_be_restored(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_ring *ring = mica_ring_create(world, &(mica_ring_def){.capacity = 4});
    assert_int_equal(mica_ring_statistics(ring).count, 0);
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {0}));
    for (uint64_t number = 1; number <= 10; number++) {
        step(world, entity, number);
        assert_int_equal(mica_ring_take(ring, number), MICA_OK);
    }
    mica_ring_stats stats = mica_ring_statistics(ring);
    assert_int_equal(stats.count, 4);
    assert_int_equal(stats.first_number, 7);
    assert_int_equal(stats.last_number, 10);
    assert_int_equal(mica_ring_restore(ring, 6, NULL), MICA_ABSENT);
    assert_non_null(strstr(mica_last_error(), "6"));
    for (uint64_t turn = 0; turn < 3; turn++) { // backwards and forwards
        assert_int_equal(mica_ring_restore(ring, 7, NULL), MICA_OK);
        assert_true(x_of(world, entity) == 7);
        assert_int_equal(mica_ring_restore(ring, 10, NULL), MICA_OK);
        assert_true(x_of(world, entity) == 10);
    }
    // What a restore has left behind goes when another one takes its number.
    assert_int_equal(mica_ring_restore(ring, 8, NULL), MICA_OK);
    step(world, entity, 99);
    assert_int_equal(mica_ring_take(ring, 9), MICA_OK);
    stats = mica_ring_statistics(ring);
    assert_int_equal(stats.count, 3);
    assert_int_equal(stats.last_number, 9);
    assert_null(mica_ring_find(ring, 10));
    assert_non_null(mica_ring_find(ring, 9));
    step(world, entity, 100);
    assert_int_equal(mica_ring_restore(ring, 9, NULL), MICA_OK);
    assert_true(x_of(world, entity) == 99);
    mica_ring_destroy(ring);
    mica_ring_destroy(NULL);
    mica_world_destroy(world);
}

static void a_limit_of_bytes_lets_the_oldest_go(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_column column = {.type = mica_type_of(Position)};
    mica_entity entities[4000];
    assert_int_equal(mica_entity_spawn_many(world, &column, 1, 4000, entities), MICA_OK);
    mica_ring *small = mica_ring_create(world, &(mica_ring_def){.byte_limit = 1000});
    assert_int_equal(mica_ring_take(small, 1), MICA_LIMIT);
    assert_int_equal(mica_ring_statistics(small).count, 0);
    mica_ring_destroy(small);

    enum { LIMIT = 1 << 20 };
    mica_ring *ring = mica_ring_create(world, &(mica_ring_def){.capacity = 1000, .byte_limit = LIMIT});
    for (uint64_t number = 1; number <= 100; number++) {
        for (int32_t i = 0; i < 4000; i += 100) { // all chunks
            step(world, entities[i], number);
        }
        assert_int_equal(mica_ring_take(ring, number), MICA_OK);
        const mica_ring_stats stats = mica_ring_statistics(ring);
        assert_true(stats.byte_size <= LIMIT && stats.last_number == number);
        assert_true(number < 5 || stats.count >= 5);
    }
    assert_true(mica_ring_statistics(ring).count < 100);
    const uint64_t first = mica_ring_statistics(ring).first_number;
    assert_int_equal(mica_ring_restore(ring, first, NULL), MICA_OK);
    assert_true(x_of(world, entities[100]) == (float)first);
    mica_ring_destroy(ring);
    mica_world_destroy(world);
}

static void wrong_rings_are_refused(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    assert_null(mica_ring_create(NULL, NULL));
    assert_null(mica_ring_create(world, &(mica_ring_def){.capacity = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_ring_take(NULL, 1), MICA_INVALID);
    assert_int_equal(mica_ring_restore(NULL, 1, NULL), MICA_INVALID);
    assert_null(mica_ring_find(NULL, 1));
    assert_int_equal(mica_ring_statistics(NULL).count, 0);
    mica_world_destroy(world);
}

// References

static void a_reference_of_a_discarded_future_is_refused(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity old = mica_entity_create(world);
    const mica_ref early = mica_ref_of(world, old);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    const mica_ref late = mica_ref_of(world, old);
    const mica_entity born = mica_entity_create(world);
    const mica_ref gone = mica_ref_of(world, born);
    assert_true(mica_entity_equal(mica_ref_entity(world, gone), born));

    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    assert_true(mica_entity_equal(mica_ref_entity(world, early), old));
    assert_true(mica_entity_is_null(mica_ref_entity(world, late)));
    assert_int_equal(mica_last_result(), MICA_STALE);
    // The handle is issued again to somebody else: the plain handle lies, the reference does not.
    const mica_entity other = mica_entity_create(world);
    assert_true(mica_entity_equal(other, born));
    assert_true(mica_entity_alive(world, born));
    assert_true(mica_entity_is_null(mica_ref_entity(world, gone)));
    assert_non_null(strstr(mica_last_error(), "epoch"));
    const mica_ref now = mica_ref_of(world, other);
    assert_true(mica_entity_equal(mica_ref_entity(world, now), other));

    // A second restore discards what came after the first, and keeps what was before the snapshot.
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    assert_true(mica_entity_is_null(mica_ref_entity(world, now)));
    assert_true(mica_entity_equal(mica_ref_entity(world, early), old));
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

static void going_forwards_again_brings_references_back(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_snapshot *first = mica_snapshot_take(world, NULL);
    const mica_entity born = mica_entity_create(world);
    const mica_ref ref = mica_ref_of(world, born);
    mica_snapshot *second = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_snapshot_restore(first, world, NULL), MICA_OK);
    assert_true(mica_entity_is_null(mica_ref_entity(world, ref)));
    assert_int_equal(mica_snapshot_restore(second, world, NULL), MICA_OK);
    assert_true(mica_entity_equal(mica_ref_entity(world, ref), born));
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_world_destroy(world);
}

static void references_of_another_world_do_not_count_after_a_copy(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    mica_world *a = mica_world_create(&(mica_world_def){.schema = schema});
    mica_world *b = mica_world_create(&(mica_world_def){.schema = schema});
    const mica_entity of_a = mica_entity_create(a);
    const mica_ref ref = mica_ref_of(b, mica_entity_create(b));
    assert_int_equal(mica_world_copy(b, a), MICA_OK);
    assert_true(mica_entity_alive(b, of_a));
    assert_true(mica_entity_is_null(mica_ref_entity(b, ref)));
    assert_true(mica_entity_is_null(mica_ref_of(b, MICA_NULL).entity));
    mica_world_destroy(a);
    mica_world_destroy(b);
    mica_schema_release(schema);
}

// The oldest range and the latest ones are remembered; what was seen between is refused.
static void many_restores_are_remembered_within_bounds(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_entity_create(world);
    const mica_ref oldest = mica_ref_of(world, entity);
    enum { COUNT = MICA_EPOCH_RANGE_MAX + 100 };
    mica_ref refs[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        refs[i] = mica_ref_of(world, entity);
        mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
        assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
        mica_snapshot_release(snapshot);
    }
    assert_false(mica_entity_is_null(mica_ref_entity(world, oldest)));
    assert_false(mica_entity_is_null(mica_ref_entity(world, refs[COUNT - 1])));
    assert_false(mica_entity_is_null(mica_ref_entity(world, refs[COUNT - MICA_EPOCH_RANGE_MAX + 1])));
    assert_true(mica_entity_is_null(mica_ref_entity(world, refs[50])));
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_snapshots_can_be_restored),
        cmocka_unit_test(a_limit_of_bytes_lets_the_oldest_go),
        cmocka_unit_test(wrong_rings_are_refused),
        cmocka_unit_test(a_reference_of_a_discarded_future_is_refused),
        cmocka_unit_test(going_forwards_again_brings_references_back),
        cmocka_unit_test(references_of_another_world_do_not_count_after_a_copy),
        cmocka_unit_test(many_restores_are_remembered_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
