// Saving scenes: what is written comes back, and is written again the same; a failure leaves the old file.

#include "scene_fixture.h"

#include "support/test_random.h"

#include <sys/stat.h>

static scene_fixture fixture;

static int begin(void **state) {
    (void)state;
    scene_begin(&fixture);
    return 0;
}

static int end(void **state) {
    (void)state;
    scene_end(&fixture);
    return 0;
}

// Loads a text into another world and expects to get it back.
static void expect_same_when_loaded(const char *text, const char *file_name) {
    scene_fixture other;
    scene_begin(&other);
    scene_load_sound(&other, text);
    char *again = scene_save_text(&other, file_name);
    assert_string_equal(again, text);
    free(again);
    assert_int_equal(other.warning_count, 0);
    scene_end(&other);
}

static void an_empty_world_is_a_scene(void **state) {
    (void)state;
    char *text = scene_save_text(&fixture, "empty.json");
    assert_string_equal(text, "{\"mica\": 1, \"entities\": [\n]}\n");
    expect_same_when_loaded(text, "empty_again.json");
    free(text);
}

static void values_are_written_as_documented(void **state) {
    (void)state;
    const mica_entity ship = mica_spawn(fixture.world, mica_value_of(scene_health, {-3, 0.1F}), mica_tag(scene_frozen),
                                        mica_value_of(scene_label, {SCENE_BLUE, "x"}));
    mica_set_name(fixture.world, ship, "a \"ship\"");
    mica_set(fixture.world, ship, scene_cache, {4});
    char *text = scene_save_text(&fixture, "values.json");
    assert_string_equal(text, "{\"mica\": 1, \"entities\": [\n"
                              "    {\"id\": 0, \"name\": \"a \\\"ship\\\"\", \"components\": {\"scene_frozen\": {}, "
                              "\"scene_health\": {\"points\": -3, \"shield\": 0.100000001}, "
                              "\"scene_label\": {\"colour\": \"SCENE_BLUE\", \"text\": \"x\"}}}\n]}\n");
    free(text);
}

static void everything_comes_back(void **state) {
    (void)state;
    scene_load_sound(&fixture, SCENE_SAMPLE);
    char *text = scene_save_text(&fixture, "sample.json");
    expect_same_when_loaded(text, "sample_again.json");
    free(text);
}

static void values_in_lanes_come_back(void **state) {
    (void)state;
    const mica_entity first = mica_create(fixture.world);
    const mica_entity second = mica_spawn(fixture.world, mica_value_of(scene_aim, {first, {MICA_NULL, first}}));
    mica_set(fixture.world, first, scene_aim, {second, {second, MICA_NULL}});
    mica_set(fixture.world, first, scene_sign, {SCENE_BLUE, "left"});
    char *text = scene_save_text(&fixture, "lanes.json");
    assert_string_equal(text, "{\"mica\": 1, \"entities\": [\n"
                              "    {\"id\": 0, \"components\": {\"scene_aim\": {\"who\": 1, \"others\": [null, 1]}}},\n"
                              "    {\"id\": 1, \"components\": {\"scene_aim\": {\"who\": 0, \"others\": [0, null]}, "
                              "\"scene_sign\": {\"colour\": \"SCENE_BLUE\", \"text\": \"left\"}}}\n]}\n");
    expect_same_when_loaded(text, "lanes_again.json");
    scene_load_sound(&fixture, text);
    scene_aim aim;
    assert_true(mica_load_of(fixture.world, fixture.scene.entities[0], scene_aim, &aim));
    assert_true(mica_entity_equal(aim.who, fixture.scene.entities[1]));
    free(text);
}

// A hierarchy whose siblings, rows and slots are in no order.
static void make_disorder(mica_world *world) {
    enum { COUNT = 300 };
    mica_entity entities[COUNT];
    test_random random = {.state = 11};
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_create(world);
        if (test_random_below(&random, 2) == 0) {
            mica_set(world, entities[i], scene_health, {i, 0});
        }
        if (test_random_below(&random, 3) == 0) {
            mica_add(world, entities[i], mica_transform);
        }
    }
    for (int32_t i = 0; i < 4 * COUNT; i++) {
        const mica_entity child = entities[test_random_below(&random, COUNT)];
        const mica_entity parent = entities[test_random_below(&random, COUNT)];
        (void)mica_set_parent(world, child, test_random_below(&random, 4) == 0 ? MICA_NULL : parent);
    }
    for (int32_t i = 0; i < COUNT; i += 7) {
        mica_destroy(world, entities[i]);
    }
    for (int32_t i = 1; i < COUNT; i++) {
        if (mica_entity_alive(world, entities[i])) {
            mica_set(world, entities[i], scene_target,
                     {entities[test_random_below(&random, COUNT - 1) / 7 * 7 + 1], {entities[i]}});
        }
    }
}

static void what_was_saved_and_loaded_is_saved_the_same(void **state) {
    (void)state;
    make_disorder(fixture.world);
    char *text = scene_save_text(&fixture, "disorder.json");
    assert_contains(text, "ChildOf");
    expect_same_when_loaded(text, "disorder_again.json");
    free(text);
}

static void children_follow_their_parents_in_order(void **state) {
    (void)state;
    mica_entity entities[5];
    for (int32_t i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        entities[i] = mica_create(fixture.world);
        mica_set_name(fixture.world, entities[i], name);
    }
    mica_set_parent(fixture.world, entities[0], entities[4]);
    mica_set_parent(fixture.world, entities[3], entities[4]);
    mica_set_parent(fixture.world, entities[1], entities[0]);
    mica_set_parent(fixture.world, entities[2], entities[4]);
    char *text = scene_save_text(&fixture, "children.json");
    scene_fixture other;
    scene_begin(&other);
    scene_load_sound(&other, text);
    free(text);
    static const char *const order[] = {"e", "a", "b", "d", "c"};
    for (int32_t i = 0; i < 5; i++) {
        assert_string_equal(mica_name_of(other.world, other.scene.entities[i]), order[i]);
    }
    const mica_entity first = mica_first_child(other.world, other.scene.entities[0]);
    assert_string_equal(mica_name_of(other.world, first), "a");
    assert_string_equal(mica_name_of(other.world, mica_next_sibling(other.world, first)), "d");
    assert_string_equal(mica_name_of(other.world, mica_last_child(other.world, other.scene.entities[0])), "c");
    scene_end(&other);
}

static void the_order_of_registration_does_not_show(void **state) {
    (void)state;
    scene_load_sound(&fixture, SCENE_SAMPLE);
    char *text = scene_save_text(&fixture, "order.json");
    scene_fixture other = {.world = mica_world_create(NULL)};
    assert_int_not_equal(mica_world_register(other.world, mica_type_of(scene_player)), 0);
    assert_int_not_equal(mica_world_register(other.world, mica_type_of(scene_target)), 0);
    assert_int_not_equal(mica_world_register(other.world, mica_type_of(mica_transform)), 0);
    scene_register(other.world);
    scene_load_sound(&other, text);
    assert_int_not_equal(mica_world_component(other.world, mica_type_of(scene_health)),
                         mica_world_component(fixture.world, mica_type_of(scene_health)));
    char *again = scene_save_text(&other, "order_again.json");
    assert_string_equal(again, text);
    free(again);
    free(text);
    scene_end(&other);
}

// The same component in a program in which it has other members.
static void a_type_with_other_members_takes_what_it_knows(void **state) {
    (void)state;
    mica_spawn(fixture.world, mica_value_of(scene_health, {42, 0.5F}));
    char *text = scene_save_text(&fixture, "members.json");
    mica_type changed = {.name = "scene_health",
                         .fields = "{ double armour; int64_t points; }",
                         .size = 16,
                         .align = 8,
                         .kind = MICA_KIND_STRUCT};
    scene_fixture other = {.world = mica_world_create(NULL)};
    const mica_component id = mica_world_register(other.world, &changed);
    assert_int_not_equal(id, 0);
    scene_load_sound(&other, text);
    free(text);
    assert_int_equal(other.warning_count, 1);
    assert_contains(other.warnings[0], "scene_health/shield: scene_health has no such field; it is left out");
    struct {
        double armour;
        int64_t points;
    } value;
    memcpy(&value, mica_entity_get(other.world, other.scene.entities[0], id), sizeof(value));
    assert_int_equal(value.points, 42);
    assert_true(value.armour == 0);
    scene_end(&other);
}

static bool copy_owned(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * sizeof(int32_t));
    return true;
}

static void end_owned(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
}

static void types_that_own_something_are_left_out(void **state) {
    (void)state;
    mica_type owner = {.name = "Owner",
                       .size = 4,
                       .align = 4,
                       .kind = MICA_KIND_STRUCT,
                       .traits = {.hooks = {.copy = copy_owned, .destruct = end_owned}}};
    const mica_component id = mica_world_register(fixture.world, &owner);
    const int32_t value = 1;
    for (int32_t i = 0; i < 3; i++) {
        const mica_entity entity = mica_spawn(fixture.world, mica_tag(scene_frozen));
        assert_int_equal(mica_entity_add(fixture.world, entity, id, &value), MICA_OK);
    }
    char *text = scene_save_text(&fixture, "owner.json");
    assert_null(strstr(text, "Owner"));
    free(text);
    assert_int_equal(fixture.warning_count, 1);
    assert_contains(fixture.warnings[0], "Owner owns something and is not written");
    const mica_save_options strict = scene_options(&fixture, true);
    const char *path = scene_path("owner.json");
    assert_int_equal(mica_scene_save(fixture.world, path, &strict, fixture.message), MICA_UNKNOWN);
    assert_contains(fixture.message, "Owner owns something");
    struct stat found;
    assert_int_equal(stat(path, &found), -1);
}

static void fields_that_name_nobody_become_null(void **state) {
    (void)state;
    const mica_entity gone = mica_create(fixture.world);
    const mica_entity from = mica_spawn(fixture.world, mica_value_of(scene_target, {gone, {gone, MICA_NULL}}));
    assert_int_equal(mica_destroy(fixture.world, gone), MICA_OK);
    const mica_entity reused = mica_create(fixture.world); // in the same slot
    assert_int_equal(mica_entity_index(reused), mica_entity_index(gone));
    char *text = scene_save_text(&fixture, "nobody.json");
    assert_contains(text, "\"who\": null, \"others\": [null, null]");
    free(text);
    assert_int_equal(fixture.warning_count, 1);
    const mica_save_options strict = scene_options(&fixture, true);
    assert_int_equal(mica_scene_save(fixture.world, scene_path("nobody.json"), &strict, NULL), MICA_STALE);
    assert_true(mica_entity_alive(fixture.world, from));
}

static void names_that_are_no_utf8_are_left_out(void **state) {
    (void)state;
    mica_set_name(fixture.world, mica_create(fixture.world), "\xff");
    mica_set_name(fixture.world, mica_create(fixture.world), "caf\xc3\xa9");
    char *text = scene_save_text(&fixture, "utf8.json");
    assert_contains(text, "\"name\": \"caf\xc3\xa9\"");
    assert_null(strstr(text, "\xff"));
    free(text);
    assert_int_equal(fixture.warning_count, 1);
}

static void an_entity_may_have_many_components(void **state) {
    (void)state;
    enum { COUNT = 300 };
    char names[COUNT][8];
    const mica_entity entity = mica_create(fixture.world);
    for (int32_t i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "T%03d", (i * 7) % COUNT);
        mica_type type = {.name = names[i], .kind = MICA_KIND_TAG};
        const mica_component id = mica_world_register(fixture.world, &type);
        assert_int_equal(mica_entity_add(fixture.world, entity, id, NULL), MICA_OK);
    }
    char *text = scene_save_text(&fixture, "many.json");
    const char *place = text;
    for (int32_t i = 0; i < COUNT; i++) {
        char part[24];
        (void)snprintf(part, sizeof(part), "\"T%03d\": {}", i);
        place = strstr(place, part);
        assert_non_null(place);
    }
    free(text);
}

// Files

static void a_failure_leaves_the_old_file(void **state) {
    (void)state;
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s", scene_path("old.json"));
    mica_spawn(fixture.world, mica_tag(scene_player));
    assert_int_equal(mica_scene_save(fixture.world, path, NULL, NULL), MICA_OK);
    char *before = scene_read_file(path, NULL);
    const mica_entity gone = mica_create(fixture.world);
    mica_spawn(fixture.world, mica_value_of(scene_target, {gone, {gone}}));
    mica_destroy(fixture.world, gone);
    const mica_save_options strict = scene_options(&fixture, true);
    assert_int_equal(mica_scene_save(fixture.world, path, &strict, NULL), MICA_STALE);
    char *after = scene_read_file(path, NULL);
    assert_string_equal(after, before);
    free(before);
    free(after);
    struct stat found;
    char aside[1100];
    (void)snprintf(aside, sizeof(aside), "%s.tmp", path);
    assert_int_equal(stat(aside, &found), -1);
    assert_int_equal(remove(path), 0);
}

static void folders_that_there_are_not_are_named(void **state) {
    (void)state;
    assert_int_equal(mica_scene_save(fixture.world, "/nowhere/out.json", NULL, fixture.message), MICA_IO);
    assert_contains(fixture.message, "/nowhere/out.json: could not be created: No such file");
    assert_int_equal(mica_scene_save(fixture.world, NULL, NULL, fixture.message), MICA_INVALID);
    assert_int_equal(mica_scene_save(NULL, "x", NULL, fixture.message), MICA_INVALID);
    assert_string_equal(fixture.message, "x: needs a world and a path");
}

static void a_full_device_is_an_error_and_stays_a_device(void **state) {
    (void)state;
    struct stat found;
    if (stat("/dev/full", &found) != 0) {
        skip();
    }
    mica_spawn(fixture.world, mica_tag(scene_player));
    assert_int_equal(mica_scene_save(fixture.world, "/dev/full", NULL, fixture.message), MICA_IO);
    assert_string_equal(fixture.message, "/dev/full: could not be written: No space left on device");
    assert_int_equal(stat("/dev/full", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
    assert_int_equal(mica_scene_save(fixture.world, "/dev/null", NULL, NULL), MICA_OK);
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

// Single entities

typedef struct collected {
    char text[400];
    size_t byte_size;
    size_t limit;
} collected;

static bool collect(void *user, const char *text, size_t byte_size) {
    collected *to = user;
    if (to->byte_size + byte_size > to->limit) {
        return false;
    }
    memcpy(to->text + to->byte_size, text, byte_size);
    to->byte_size += byte_size;
    to->text[to->byte_size] = '\0';
    return true;
}

static void a_writer_names_entities_by_position(void **state) {
    (void)state;
    const mica_entity outside = mica_create(fixture.world);
    const mica_entity target = mica_create(fixture.world);
    const mica_entity source = mica_spawn(fixture.world, mica_value_of(scene_target, {target, {outside, MICA_NULL}}));
    const mica_entity entities[] = {MICA_NULL, source, MICA_NULL, target};
    const mica_save_options options = scene_options(&fixture, false);
    mica_scene_writer *writer = mica_scene_writer_create(fixture.world, entities, 4, "d", &options);
    assert_non_null(writer);
    assert_int_equal(mica_scene_writer_id(writer, source), 1);
    assert_int_equal(mica_scene_writer_id(writer, outside), -1);
    assert_int_equal(mica_scene_writer_id(writer, MICA_NULL), -1);
    collected found = {.limit = sizeof(found.text) - 1};
    assert_int_equal(mica_scene_writer_components(writer, source, collect, &found), MICA_OK);
    assert_string_equal(found.text, "{\"scene_target\": {\"who\": 3, \"others\": [null, null]}}");
    assert_int_equal(fixture.warning_count, 1);
    assert_string_equal(mica_scene_writer_message(writer), "");
    assert_int_equal(mica_scene_writer_components(writer, MICA_NULL, collect, &found), MICA_STALE);
    mica_scene_writer_destroy(writer);
    mica_scene_writer_destroy(NULL);
}

static void a_function_that_refuses_stops_the_writer(void **state) {
    (void)state;
    const mica_entity entity = mica_spawn(fixture.world, mica_value_of(scene_health, {1, 2}));
    mica_scene_writer *writer = mica_scene_writer_create(fixture.world, &entity, 1, "d", NULL);
    for (size_t limit = 0; limit < 40; limit++) {
        collected found = {.limit = limit};
        assert_int_equal(mica_scene_writer_components(writer, entity, collect, &found), MICA_IO);
        assert_string_equal(mica_scene_writer_message(writer), "d: could not be written");
    }
    mica_scene_writer_destroy(writer);
}

static void misuse_of_a_writer_is_refused(void **state) {
    (void)state;
    collected found = {.limit = sizeof(found.text) - 1};
    const mica_entity dead = mica_create(fixture.world);
    assert_int_equal(mica_destroy(fixture.world, dead), MICA_OK);
    const mica_entity entity = mica_create(fixture.world);
    assert_null(mica_scene_writer_create(NULL, &entity, 1, "d", NULL));
    assert_null(mica_scene_writer_create(fixture.world, NULL, 1, "d", NULL));
    assert_null(mica_scene_writer_create(fixture.world, &entity, -1, "d", NULL));
    assert_int_equal(mica_scene_writer_id(NULL, entity), -1);
    assert_int_equal(mica_scene_writer_name(NULL, entity, collect, &found), MICA_INVALID);
    assert_int_equal(mica_scene_writer_components(NULL, entity, collect, &found), MICA_INVALID);
    mica_scene_writer *writer = mica_scene_writer_create(fixture.world, &entity, 1, "d", NULL);
    assert_non_null(writer);
    assert_int_equal(mica_scene_writer_name(writer, dead, collect, &found), MICA_STALE);
    assert_non_null(strstr(mica_scene_writer_message(writer), "not alive"));
    assert_int_equal(mica_scene_writer_name(writer, entity, NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_scene_writer_components(writer, entity, NULL, NULL), MICA_INVALID);
    assert_non_null(strstr(mica_scene_writer_message(writer), "function"));
    assert_int_equal(found.byte_size, 0);
    mica_scene_writer_destroy(writer);
}

// A type of the program's own that has the library's name.
static mica_type own_name = {.name = "Name", .fields = "{ double length; }", .size = 8, .align = 8};

static void another_type_called_name_is_said(void **state) {
    (void)state;
    assert_int_not_equal(mica_world_register(fixture.world, &own_name), 0);
    assert_int_equal(mica_scene_save(fixture.world, "never-made.json", NULL, fixture.message), MICA_MISMATCH);
    assert_non_null(strstr(fixture.message, "Name"));
    assert_null(mica_scene_writer_create(fixture.world, NULL, 0, "d", NULL));
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
    static const char empty[] = "{\"mica\": 1, \"entities\": []}";
    assert_int_equal(mica_scene_load_memory(fixture.world, empty, sizeof(empty) - 1, "t", NULL, &fixture.scene),
                     MICA_MISMATCH);
    assert_non_null(strstr(fixture.scene.message, "\"Name\" is known with"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_world_is_a_scene, begin, end),
        cmocka_unit_test_setup_teardown(values_are_written_as_documented, begin, end),
        cmocka_unit_test_setup_teardown(everything_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(values_in_lanes_come_back, begin, end),
        cmocka_unit_test_setup_teardown(what_was_saved_and_loaded_is_saved_the_same, begin, end),
        cmocka_unit_test_setup_teardown(children_follow_their_parents_in_order, begin, end),
        cmocka_unit_test_setup_teardown(the_order_of_registration_does_not_show, begin, end),
        cmocka_unit_test_setup_teardown(a_type_with_other_members_takes_what_it_knows, begin, end),
        cmocka_unit_test_setup_teardown(types_that_own_something_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(fields_that_name_nobody_become_null, begin, end),
        cmocka_unit_test_setup_teardown(names_that_are_no_utf8_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(an_entity_may_have_many_components, begin, end),
        cmocka_unit_test_setup_teardown(a_failure_leaves_the_old_file, begin, end),
        cmocka_unit_test_setup_teardown(folders_that_there_are_not_are_named, begin, end),
        cmocka_unit_test_setup_teardown(a_full_device_is_an_error_and_stays_a_device, begin, end),
        cmocka_unit_test_setup_teardown(a_writer_names_entities_by_position, begin, end),
        cmocka_unit_test_setup_teardown(a_function_that_refuses_stops_the_writer, begin, end),
        cmocka_unit_test_setup_teardown(misuse_of_a_writer_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(another_type_called_name_is_said, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
