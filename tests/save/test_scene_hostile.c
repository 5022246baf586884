// Broken scenes: every truncation, thousands of changed bytes, nesting without end. Each is refused with a message, and
// leaves the world empty, or is a scene that can be saved; the sanitizers and the limit of time see to the rest.

#include "scene_fixture.h"

#include "support/test_random.h"

enum { FLIP_COUNT = 5000, NESTING = 200000 };

static void expect_scene_or_refusal(const char *text, size_t byte_size) {
    static mica_world *world;
    scene_fixture fixture = {.world = world};
    if (world == NULL) {
        fixture.world = world = mica_world_create(NULL);
        scene_register(world);
    }
    const mica_save_options options = {.strict = false};
    char *copy = malloc(byte_size == 0 ? 1 : byte_size);
    assert_non_null(copy);
    memcpy(copy, text, byte_size);
    const mica_result result = mica_scene_load_memory(world, copy, byte_size, "t", &options, &fixture.scene);
    free(copy);
    if (result != MICA_OK) {
        assert_true(strncmp(fixture.scene.message, "t: ", 3) == 0 && strlen(fixture.scene.message) > 3);
        assert_int_equal(mica_world_entity_count(world), 0);
    } else {
        assert_int_equal(mica_world_entity_count(world), fixture.scene.entity_count);
    }
    assert_int_equal(mica_world_clear(world), MICA_OK);
    mica_saved_scene_release(&fixture.scene);
    if (byte_size == 0) { // the end of a series
        mica_world_destroy(world);
        world = NULL;
    }
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    for (size_t byte_size = strlen(SCENE_SAMPLE); byte_size-- > 0;) {
        expect_scene_or_refusal(SCENE_SAMPLE, byte_size);
    }
}

static void every_changed_byte_is_survived(void **state) {
    (void)state;
    char text[] = SCENE_SAMPLE;
    test_random random = {.state = 3};
    for (int32_t i = 0; i < FLIP_COUNT; i++) {
        const uint32_t place = test_random_below(&random, (uint32_t)sizeof(text) - 1);
        const char kept = text[place];
        text[place] = (char)(text[place] ^ (char)(1 + test_random_below(&random, 255)));
        expect_scene_or_refusal(text, sizeof(text) - 1);
        text[place] = kept;
    }
    expect_scene_or_refusal("", 0);
}

// `count` times `open` after `start`.
static void expect_nesting_refused(const char *start, const char *open, size_t count) {
    const size_t start_size = strlen(start);
    const size_t open_size = strlen(open);
    char *text = malloc(start_size + open_size * count);
    assert_non_null(text);
    memcpy(text, start, start_size);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + start_size + i * open_size, open, open_size);
    }
    scene_fixture fixture;
    scene_begin(&fixture);
    assert_int_equal(scene_load_bytes(&fixture, text, start_size + open_size * count, false), MICA_FORMAT);
    assert_contains(fixture.scene.message, "t: line ");
    scene_end(&fixture);
    free(text);
}

static void nesting_without_end_is_refused(void **state) {
    (void)state;
    expect_nesting_refused("", "[", NESTING);
    expect_nesting_refused("{\"mica\": 1, \"entities\": ", "[", NESTING);
    expect_nesting_refused("{\"mica\": 1, \"entities\": [{\"id\": 0, \"components\": ", "{\"a\":", NESTING);
}

// A chain, each entity the parent of the next, is as deep as the file is long.
static void a_chain_is_no_nesting(void **state) {
    (void)state;
    enum { COUNT = 20000, LINE_SIZE = 80 };
    char *text = malloc((size_t)COUNT * LINE_SIZE + 100);
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "{\"mica\": 1, \"entities\": [{\"id\": %d}", COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        size +=
            (size_t)sprintf(text + size, ",{\"id\": %d, \"components\": {\"ChildOf\": {\"parent\": %d}}}", i, i + 1);
    }
    size += (size_t)sprintf(text + size, "]}");
    scene_fixture fixture;
    scene_begin(&fixture);
    assert_int_equal(scene_load_bytes(&fixture, text, size, true), MICA_OK);
    free(text);
    int32_t depth = 0;
    mica_entity entity = fixture.scene.entities[1];
    for (; !mica_entity_is_null(entity); entity = mica_parent(fixture.world, entity)) {
        depth++;
    }
    assert_int_equal(depth, COUNT + 1);
    scene_end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(nesting_without_end_is_refused),
        cmocka_unit_test(a_chain_is_no_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
