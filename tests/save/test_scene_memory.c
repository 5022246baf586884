// Memory that runs out, at every allocation in turn: of jansson and the module, and of the world. Each time the call
// says so, and the world is as it was.
//
// Of jansson all allocations fail from one on, because jansson 2.14 loses a character of a string for which its buffer
// could not grow and runs past the end if the next allocation works. A token without memory it reports as a malformed
// one.

#include "scene_fixture.h"

#include "gltf/json_allocator.h"

static test_allocator world_allocator;
static scene_fixture fixture;
static mica_entity before;

static int begin(void **state) {
    test_allocator_init(&world_allocator);
    fixture = (scene_fixture){
        .world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&world_allocator)})};
    if (fixture.world == NULL) {
        return 1;
    }
    scene_register(fixture.world);
    before = mica_spawn(fixture.world, mica_value_of(scene_health, {1, 2}));
    return begin_json_allocator(state);
}

static int end(void **state) {
    (void)state;
    scene_end(&fixture);
    end_json_allocator();
    test_allocator_finish(&world_allocator);
    return 0;
}

static mica_result load(void) {
    return mica_scene_load_memory(fixture.world, SCENE_SAMPLE, strlen(SCENE_SAMPLE), "t", NULL, &fixture.scene);
}

static void expect_nothing_changed(mica_result result) {
    if (result != MICA_OUT_OF_MEMORY) {
        assert_int_equal(result, MICA_FORMAT);
        assert_contains(fixture.scene.message, "t: line ");
    }
    assert_contains(fixture.scene.message, "t: ");
    assert_null(fixture.scene.entities);
    assert_int_equal(mica_world_entity_count(fixture.world), 1);
    const scene_health *health = mica_get(fixture.world, before, scene_health);
    assert_int_equal(health->points, 1);
    assert_int_equal(mica_world_validate(fixture.world), MICA_OK);
}

static void expect_loaded(mica_result result) {
    assert_int_equal(result, MICA_OK);
    assert_int_equal(mica_world_entity_count(fixture.world), 6);
    mica_saved_scene_release(&fixture.scene);
}

static void loading_survives_every_failure_of_the_module(void **state) {
    (void)state;
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_from(&json_allocator, n);
        const mica_result result = load();
        if (!test_allocator_fail_stop(&json_allocator)) {
            expect_loaded(result);
            break;
        }
        expect_nothing_changed(result);
        assert_int_equal(json_allocator.live_count, 0);
        failures++;
    }
    assert_true(failures > 50);
}

// The world can do without some of its memory: then all is there.
static void loading_survives_every_failure_of_the_world(void **state) {
    (void)state;
    uint64_t failures = 0;
    bool is_through = false;
    for (uint64_t n = 1; !is_through; n++) {
        test_allocator_fail_at(&world_allocator, n);
        const mica_result result = load();
        is_through = !test_allocator_fail_stop(&world_allocator);
        if (result == MICA_OK) {
            assert_int_equal(mica_world_entity_count(fixture.world), 6);
            assert_int_equal(mica_entity_destroy_many(fixture.world, fixture.scene.entities, 5), MICA_OK);
            mica_saved_scene_release(&fixture.scene);
        } else {
            assert_false(is_through);
            expect_nothing_changed(result);
            failures++;
        }
    }
    assert_true(failures > 5);
}

static void warnings_survive_every_failure(void **state) {
    (void)state;
    static const char text[] = "{\"mica\": 1, \"entities\": [{\"id\": 0, \"x\": 1, \"components\": {\"Unheard\": {}, "
                               "\"scene_health\": {\"y\": 1}}}]}";
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_from(&json_allocator, n);
        const mica_result result = mica_scene_load_memory(fixture.world, text, strlen(text), "t", NULL, &fixture.scene);
        if (!test_allocator_fail_stop(&json_allocator)) {
            assert_int_equal(result, MICA_OK);
            mica_saved_scene_release(&fixture.scene);
            break;
        }
        expect_nothing_changed(result);
    }
}

static void saving_survives_every_failure(void **state) {
    (void)state;
    assert_int_equal(load(), MICA_OK);
    mica_saved_scene_release(&fixture.scene);
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s", scene_path("memory.json"));
    (void)remove(path); // of a run that failed
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_from(&json_allocator, n);
        const mica_result result = mica_scene_save(fixture.world, path, NULL, fixture.message);
        if (!test_allocator_fail_stop(&json_allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_contains(fixture.message, "out of memory");
        assert_int_equal(json_allocator.live_count, 0);
        assert_null(fopen(path, "rb"));
        failures++;
    }
    assert_true(failures > 50);
    assert_int_equal(remove(path), 0);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&world_allocator, n);
        const mica_result result = mica_scene_save(fixture.world, path, NULL, fixture.message);
        if (!test_allocator_fail_stop(&world_allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_world_validate(fixture.world), MICA_OK);
    }
    assert_int_equal(remove(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loading_survives_every_failure_of_the_module, begin, end),
        cmocka_unit_test_setup_teardown(loading_survives_every_failure_of_the_world, begin, end),
        cmocka_unit_test_setup_teardown(warnings_survive_every_failure, begin, end),
        cmocka_unit_test_setup_teardown(saving_survives_every_failure, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
