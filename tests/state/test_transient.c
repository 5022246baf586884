// Transient values that a snapshot leaves out: they stay with their entities, whatever becomes of rows.
#include "state/state_world.h"

// What a device has given out: cannot be copied.
typedef struct Device {
    int32_t *number;
} Device;
MICA_COMPONENT_WITH(Device, (.transient = true, .storage = MICA_TABLE,
                             .hooks = {.construct = owned_construct, .destruct = owned_destruct}));
MICA_STRUCT_WITH(Cache, (.transient = true, .layout = MICA_LANES, .storage = MICA_TABLE), {
    float x;
    int16_t y;
});

enum { ENTITY_COUNT = 300 };

typedef struct fixture {
    state_world w;
    mica_component device, cache;
    mica_entity entities[ENTITY_COUNT];
} fixture;

static int32_t number_of(mica_world *world, mica_entity entity) {
    return *mica_get(world, entity, Device)->number;
}

// Every entity has a number of its own in its device and its cache.
static void begin(fixture *f, const mica_world_def *def) {
    owned_alive = 0;
    state_world_open(&f->w, def);
    mica_world *world = f->w.world;
    f->device = mica_register(world, Device);
    f->cache = mica_register(world, Cache);
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        f->entities[i] = mica_spawn(world, mica_value_of(Position, {(float)i, 0, 0}));
        assert_int_equal(mica_entity_add(world, f->entities[i], f->device, NULL), MICA_OK);
        *((Device *)mica_entity_get_write(world, f->entities[i], f->device))->number = i;
        assert_int_equal(mica_set(world, f->entities[i], Cache, {(float)i, (int16_t)i}), MICA_OK);
    }
}

static void end(fixture *f) {
    mica_world_destroy(f->w.world);
    assert_int_equal(owned_alive, 0);
}

static Cache cache_of(const fixture *f, mica_entity entity) {
    Cache cache = {0};
    assert_int_equal(mica_entity_gather(f->w.world, &entity, 1, f->cache, &cache, NULL), 1);
    return cache;
}

static void values_stay_with_their_entities(void **state) {
    (void)state;
    fixture f;
    begin(&f, NULL);
    mica_world *world = f.w.world;
    mica_snapshot *snapshot = mica_snapshot_take(world, &(mica_snapshot_options){.leave_transient = true});
    assert_non_null(snapshot);
    // Some go, which moves others; some move to another table; some are written.
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        if (i % 7 == 0) {
            assert_int_equal(mica_entity_destroy(world, f.entities[i]), MICA_OK);
        } else if (i % 5 == 0) {
            assert_int_equal(mica_entity_add(world, f.entities[i], f.w.kinds[5], NULL), MICA_OK);
        } else if (i % 3 == 0) {
            assert_int_equal(mica_entity_remove(world, f.entities[i], f.device), MICA_OK);
        } else {
            *((Device *)mica_entity_get_write(world, f.entities[i], f.device))->number = 1000 + i;
            assert_int_equal(mica_set(world, f.entities[i], Cache, {(float)(1000 + i), (int16_t)(1000 + i)}), MICA_OK);
        }
    }
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        const mica_entity entity = f.entities[i];
        assert_true(mica_get(world, entity, Position)->x == (float)i);
        const Cache cache = cache_of(&f, entity);
        const bool has_gone = i % 7 == 0;
        const bool was_moved = !has_gone && i % 5 == 0;
        const bool was_removed = !has_gone && !was_moved && i % 3 == 0;
        const int32_t number = was_moved ? i : 1000 + i;
        assert_int_equal(number_of(world, entity), has_gone || was_removed ? 0 : number);
        assert_true(cache.x == (float)(has_gone ? 0 : was_removed ? i : number) && cache.y == (int16_t)cache.x);
    }
    mica_snapshot_release(snapshot);
    end(&f);
}

static void a_whole_snapshot_cannot_have_what_cannot_be_copied(void **state) {
    (void)state;
    fixture f;
    begin(&f, NULL);
    assert_null(mica_snapshot_take(f.w.world, NULL));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_non_null(strstr(mica_last_error(), "Device"));
    end(&f);
}

static void a_restore_that_fails_has_touched_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    fixture f;
    begin(&f, &(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    mica_world *world = f.w.world;
    mica_snapshot *snapshot = mica_snapshot_take(world, &(mica_snapshot_options){.leave_transient = true});
    for (int32_t i = 0; i < ENTITY_COUNT; i += 3) {
        assert_int_equal(mica_entity_destroy(world, f.entities[i]), MICA_OK);
    }
    for (int32_t i = 1; i < ENTITY_COUNT; i += 3) {
        assert_int_equal(mica_entity_add(world, f.entities[i], f.w.kinds[5], NULL), MICA_OK);
    }
    state_dump before = dump_world(world);
    const int32_t alive = owned_alive;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_snapshot_restore(snapshot, world, NULL);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        state_dump after = dump_world(world);
        assert_dumps_equal(&before, &after);
        dump_free(&after);
        assert_int_equal(owned_alive, alive);
    }
    assert_int_equal(mica_world_validate(world), MICA_OK);
    assert_int_equal(owned_alive, ENTITY_COUNT);
    assert_int_equal(number_of(world, f.entities[1]), 1);
    assert_int_equal(number_of(world, f.entities[2]), 2);
    dump_free(&before);
    mica_snapshot_release(snapshot);
    end(&f);
    test_allocator_finish(&allocator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stay_with_their_entities),
        cmocka_unit_test(a_whole_snapshot_cannot_have_what_cannot_be_copied),
        cmocka_unit_test(a_restore_that_fails_has_touched_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
