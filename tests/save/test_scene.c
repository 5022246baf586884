// Loading scenes: what a sound one gives, and every refusal with its place, after which the world is as it was.

#include "scene_fixture.h"

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

static mica_entity at(int32_t position) {
    assert_in_range(position, 0, fixture.scene.entity_count - 1);
    return fixture.scene.entities[position];
}

static void an_empty_scene_gives_nothing(void **state) {
    (void)state;
    scene_load_sound(&fixture, "{\"mica\": 1, \"entities\": []}");
    assert_int_equal(fixture.scene.entity_count, 0);
    assert_int_equal(mica_world_entity_count(fixture.world), 0);
}

static void entities_have_names_values_and_tags(void **state) {
    (void)state;
    scene_load_sound(&fixture, SCENE_SAMPLE);
    mica_world *world = fixture.world;
    assert_int_equal(fixture.scene.entity_count, 5);
    assert_int_equal(mica_world_entity_count(world), 5);
    assert_string_equal(mica_name_of(world, at(0)), "first");
    assert_false(mica_has(world, at(2), mica_name));
    const scene_health *health = mica_get(world, at(0), scene_health);
    assert_int_equal(health->points, -4);
    assert_true(health->shield == 0.5F);
    assert_true(mica_has(world, at(0), scene_frozen));
    assert_false(mica_has(world, at(0), scene_player));
    const scene_label *label = mica_get(world, at(2), scene_label);
    assert_int_equal(label->colour, SCENE_GREEN);
    assert_string_equal(label->text, "caf\xc3\xa9");
    const scene_orbit *orbit = mica_get(world, at(2), scene_orbit);
    assert_true(orbit->period == 1e-7);
    const scene_opaque *opaque = mica_get(world, at(3), scene_opaque);
    assert_memory_equal(opaque->bytes, "\x00\xff\x10\xa5\x0b", 5);
    assert_int_equal(mica_entity_components(world, at(4), NULL, 0), 0);
    assert_int_equal(fixture.warning_count, 0);
}

static void values_that_are_left_out_are_as_constructed(void **state) {
    (void)state;
    scene_load_sound(&fixture, SCENE_SAMPLE);
    const mica_transform *pose = mica_get(fixture.world, at(1), mica_transform);
    assert_true(pose->position[2] == 3 && pose->rotation[3] == 1 && pose->scale[0] == 1);
    assert_true(mica_has(fixture.world, at(1), mica_world_transform));
}

static void references_may_point_ahead(void **state) {
    (void)state;
    scene_load_sound(&fixture, SCENE_SAMPLE);
    const scene_target *target = mica_get(fixture.world, at(0), scene_target);
    assert_same_entity(target->who, at(2));
    assert_same_entity(target->others[0], at(0));
    assert_true(mica_entity_is_null(target->others[1]));
    assert_same_entity(mica_parent(fixture.world, at(0)), at(1));
}

static void siblings_stand_in_order_of_the_file(void **state) {
    (void)state;
    scene_load_sound(&fixture, "{\"mica\": 1, \"entities\": ["
                               "{\"id\": 5, \"components\": {\"ChildOf\": {\"parent\": 0}}},"
                               "{\"id\": 4, \"components\": {\"ChildOf\": {\"parent\": 5}}},"
                               "{\"id\": 3, \"components\": {\"scene_frozen\": {}, \"ChildOf\": {\"parent\": 0}}},"
                               "{\"id\": 0},"
                               "{\"id\": 2, \"components\": {\"ChildOf\": {\"parent\": 0}}},"
                               "{\"id\": 9, \"components\": {\"ChildOf\": {\"parent\": null}}}]}");
    const mica_entity parent = at(3);
    assert_int_equal(mica_child_count(fixture.world, parent), 3);
    assert_same_entity(mica_first_child(fixture.world, parent), at(0));
    assert_same_entity(mica_next_sibling(fixture.world, at(0)), at(2));
    assert_same_entity(mica_next_sibling(fixture.world, at(2)), at(4));
    assert_same_entity(mica_last_child(fixture.world, parent), at(4));
    assert_same_entity(mica_parent(fixture.world, at(1)), at(0));
    assert_true(mica_entity_is_null(mica_parent(fixture.world, at(5))));
}

static void scenes_add_to_what_is_there(void **state) {
    (void)state;
    const mica_entity before = mica_spawn(fixture.world, mica_value_of(scene_health, {1, 2}));
    scene_load_sound(&fixture, SCENE_SAMPLE);
    scene_load_sound(&fixture, SCENE_SAMPLE);
    assert_int_equal(mica_world_entity_count(fixture.world), 11);
    const scene_health *health = mica_get(fixture.world, before, scene_health);
    assert_int_equal(health->points, 1);
    const scene_target *target = mica_get(fixture.world, at(0), scene_target);
    assert_same_entity(target->who, at(2));
}

// Refusals

typedef struct refused_scene {
    mica_result result;
    const char *text;
    const char *message;
} refused_scene;

#define ENTITIES(...) "{\"mica\": 1, \"entities\": [" __VA_ARGS__ "]}"

static const refused_scene refused_scenes[] = {
    {MICA_FORMAT, "", "t: line 1, column 0: "},
    {MICA_FORMAT, "{\"mica\": 1,\n  \"entities\": [}", "t: line 2, column 16: "},
    {MICA_FORMAT, ENTITIES("{\"id\": 1, \"id\": 1}"), "duplicate object key"},
    {MICA_FORMAT, ENTITIES() "x", "t: line 1, column "},
    {MICA_FORMAT, "[]", "t: /mica: expected the number of the format"},
    {MICA_FORMAT, "{\"entities\": []}", "t: /mica: expected the number of the format"},
    {MICA_FORMAT, "{\"mica\": \"1\", \"entities\": []}", "t: /mica: expected the number of the format"},
    {MICA_UNSUPPORTED, "{\"mica\": 2, \"entities\": []}", "t: /mica: format 2, expected 1"},
    {MICA_FORMAT, "{\"mica\": 1}", "t: /entities: expected an array"},
    {MICA_FORMAT, "{\"mica\": 1, \"entities\": {}}", "t: /entities: expected an array"},
    {MICA_FORMAT, ENTITIES("3"), "t: /entities/0: expected an object"},
    {MICA_FORMAT, ENTITIES("{}"), "t: /entities/0/id: expected an integer that is not negative"},
    {MICA_FORMAT, ENTITIES("{\"id\": -1}"), "t: /entities/0/id: expected an integer that is not negative"},
    {MICA_FORMAT, ENTITIES("{\"id\": \"a\"}"), "t: /entities/0/id: expected an integer that is not negative"},
    {MICA_FORMAT, ENTITIES("{\"id\": 2}, {\"id\": 1}, {\"id\": 2}"), "t: /entities/2/id: 2 stands twice"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0}, {\"id\": 1, \"name\": 1}"), "t: /entities/1/name: expected a string"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0, \"components\": []}"), "t: /entities/0/components: expected an object"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0}, {\"id\": 1, \"components\": {\"scene_health\": {\"points\": 1.5}}}"),
     "t: /entities/1/components/scene_health/points: expected an integer"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0, \"components\": {\"Transform\": {\"position\": [0, true, 0]}}}"),
     "t: /entities/0/components/Transform/position/1: expected a number"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0, \"components\": {\"ChildOf\": {\"parent\": 4}}}"),
     "t: /entities/0/components/ChildOf: expected the id of an entity of the file, found 4"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0, \"components\": {\"ChildOf\": {\"parent\": true}}}"),
     "t: /entities/0/components/ChildOf/parent: expected the id of an entity, or null"},
    {MICA_FORMAT, ENTITIES("{\"id\": 0}, {\"id\": 1, \"components\": {\"scene_target\": {\"who\": 2}}}"),
     "t: /entities/1/components/scene_target: expected the id of an entity of the file, found 2"},
    {MICA_CYCLE, ENTITIES("{\"id\": 0, \"components\": {\"ChildOf\": {\"parent\": 0}}}"),
     "t: /entities/0/components/ChildOf: expected a parent that is not below the entity itself"},
    {MICA_CYCLE,
     ENTITIES("{\"id\": 0, \"components\": {\"ChildOf\": {\"parent\": 1}}},"
              "{\"id\": 1, \"components\": {\"ChildOf\": {\"parent\": 2}}},"
              "{\"id\": 2, \"components\": {\"ChildOf\": {\"parent\": 1}}}"),
     "t: /entities/1/components/ChildOf: expected a parent that is not below the entity itself"},
};

static void faults_are_named_with_their_place_and_change_nothing(void **state) {
    (void)state;
    const mica_entity before = mica_spawn(fixture.world, mica_value_of(scene_health, {1, 2}));
    for (size_t i = 0; i < sizeof(refused_scenes) / sizeof(refused_scenes[0]); i++) {
        const refused_scene *refused = &refused_scenes[i];
        const int32_t errors = fixture.error_count;
        assert_int_equal(scene_load_text(&fixture, refused->text), refused->result);
        assert_contains(fixture.scene.message, refused->message);
        assert_int_equal(fixture.error_count, errors + 1);
        assert_string_equal(fixture.error, fixture.scene.message);
        assert_int_equal(mica_world_entity_count(fixture.world), 1);
        assert_int_equal(mica_world_validate(fixture.world), MICA_OK);
    }
    const scene_health *health = mica_get(fixture.world, before, scene_health);
    assert_int_equal(health->points, 1);
}

static void a_late_fault_takes_back_the_hierarchy(void **state) {
    (void)state;
    assert_int_equal(
        scene_load_text(&fixture,
                        ENTITIES("{\"id\": 0, \"name\": \"a\"},"
                                 "{\"id\": 1, \"name\": \"b\", \"components\": {\"ChildOf\": {\"parent\": 0}}},"
                                 "{\"id\": 2, \"components\": {\"ChildOf\": {\"parent\": 1}, \"scene_target\": "
                                 "{\"who\": 8}}}")),
        MICA_FORMAT);
    assert_int_equal(mica_world_entity_count(fixture.world), 0);
    assert_int_equal(mica_world_memory(fixture.world).bytes[MICA_MEMORY_VALUES], 0);
}

static void files_that_cannot_be_read_are_named(void **state) {
    (void)state;
    assert_int_equal(mica_scene_load(fixture.world, "/nowhere/scene.json", NULL, &fixture.scene), MICA_IO);
    assert_contains(fixture.scene.message, "/nowhere/scene.json: ");
    assert_contains(fixture.scene.message, "No such file");
}

static void what_is_missing_is_refused(void **state) {
    (void)state;
    assert_int_equal(mica_scene_load(fixture.world, "x", NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_scene_load(NULL, "x", NULL, &fixture.scene), MICA_INVALID);
    assert_string_equal(fixture.scene.message, "x: needs a world and a scene");
    assert_int_equal(mica_scene_load(fixture.world, NULL, NULL, &fixture.scene), MICA_INVALID);
    assert_int_equal(mica_scene_load_memory(fixture.world, NULL, 0, NULL, NULL, &fixture.scene), MICA_INVALID);
    assert_string_equal(fixture.scene.message, "memory: needs a world and a scene");
}

static void a_locked_world_stays(void **state) {
    (void)state;
    mica_spawn(fixture.world, mica_value_of(scene_health, {1, 2}));
    mica_query *query = mica_query_of(fixture.world, mica_read(scene_health));
    mica_each (query, it) {
        assert_int_equal(scene_load_text(&fixture, SCENE_SAMPLE), MICA_LOCKED);
        assert_contains(fixture.scene.message, "t: /entities/1: ");
    }
    assert_int_equal(mica_world_entity_count(fixture.world), 1);
}

// What is not known

static void components_that_are_not_known_are_named_once(void **state) {
    (void)state;
    scene_load_sound(&fixture, ENTITIES("{\"id\": 0, \"components\": {\"Unheard\": {\"x\": 1}, \"scene_frozen\": {}}},"
                                        "{\"id\": 1, \"components\": {\"Unheard\": {\"x\": 1}}},"
                                        "{\"id\": 2, \"components\": {\"Other\": 5}}"));
    assert_int_equal(fixture.warning_count, 2);
    assert_string_equal(fixture.warnings[0],
                        "t: /entities/0/components/Unheard: the component is not known; it is left out");
    assert_contains(fixture.warnings[1], "t: /entities/2/components/Other: ");
    assert_true(mica_has(fixture.world, at(0), scene_frozen));
    assert_int_equal(mica_entity_components(fixture.world, at(0), NULL, 0), 1);
}

static void strict_loading_refuses_what_is_not_known(void **state) {
    (void)state;
    static const char *const texts[] = {
        ENTITIES("{\"id\": 0}, {\"id\": 1, \"components\": {\"Unheard\": {}}}"),
        ENTITIES("{\"id\": 0}, {\"id\": 1, \"components\": {\"scene_health\": {\"mass\": 1}}}"),
        ENTITIES("{\"id\": 0}, {\"id\": 1, \"parent\": 0}"),
        "{\"mica\": 1, \"author\": \"x\", \"entities\": []}",
    };
    static const char *const places[] = {
        "t: /entities/1/components/Unheard: ", "t: /entities/1/components/scene_health/mass: ",
        "t: /entities/1/parent: ", "t: /author: "};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(scene_load_bytes(&fixture, texts[i], strlen(texts[i]), true), MICA_UNKNOWN);
        assert_contains(fixture.scene.message, places[i]);
        assert_int_equal(mica_world_entity_count(fixture.world), 0);
    }
    assert_int_equal(fixture.warning_count, 0);
    assert_int_equal(scene_load_bytes(&fixture, SCENE_SAMPLE, strlen(SCENE_SAMPLE), true), MICA_OK);
}

static void members_that_are_not_known_are_named_once(void **state) {
    (void)state;
    scene_load_sound(&fixture, ENTITIES("{\"id\": 0, \"parent\": 3}, {\"id\": 1, \"parent\": 3}"));
    assert_int_equal(fixture.warning_count, 1);
    assert_string_equal(fixture.warnings[0], "t: /entities/0/parent: no such member; it is left out");
}

static void types_that_are_never_saved_are_not_read(void **state) {
    (void)state;
    scene_load_sound(&fixture,
                     ENTITIES("{\"id\": 0, \"components\": {\"scene_cache\": {\"value\": 1}, \"Name\": {}}}"));
    assert_int_equal(fixture.warning_count, 2);
    assert_contains(fixture.warnings[0], "scene_cache: the component is transient; it is left out");
    assert_contains(fixture.warnings[1], "Name: the component owns something and cannot be read; it is left out");
    assert_int_equal(mica_entity_components(fixture.world, at(0), NULL, 0), 0);
}

static void a_world_that_never_saw_the_types_names_them(void **state) {
    (void)state;
    scene_fixture other = {.world = mica_world_create(NULL)};
    scene_load_sound(&other, SCENE_SAMPLE);
    assert_int_equal(other.scene.entity_count, 5);
    assert_int_equal(other.warning_count, 7);
    assert_contains(other.warnings[0], "t: /entities/3/components/scene_opaque: the component is not known");
    scene_end(&other);
}

// Names

static void names_of_any_length_are_kept_whole(void **state) {
    (void)state;
    for (size_t length = 255; length <= 257; length++) {
        char name[300] = {0};
        char text[2000];
        memset(name, 'n', length);
        (void)snprintf(text, sizeof(text),
                       ENTITIES("{\"id\": 0, \"name\": \"%s\", \"components\": {\"%s\": {}, \"scene_frozen\": {}}}"),
                       name, name);
        fixture.warning_count = 0;
        scene_load_sound(&fixture, text);
        assert_string_equal(mica_name_of(fixture.world, at(0)), name);
        assert_int_equal(fixture.warning_count, 1);

        mica_type type = {.name = name, .size = 0, .kind = MICA_KIND_TAG};
        const mica_component id = mica_world_register(fixture.world, &type);
        assert_int_not_equal(id, 0);
        fixture.warning_count = 0;
        scene_load_sound(&fixture, text);
        assert_true(mica_entity_has(fixture.world, at(0), id));
        assert_int_equal(fixture.warning_count, 0);
    }
}

static void an_empty_name_is_a_name(void **state) {
    (void)state;
    scene_load_sound(&fixture, ENTITIES("{\"id\": 0, \"name\": \"\"}"));
    assert_true(mica_has(fixture.world, at(0), mica_name));
    assert_string_equal(mica_name_of(fixture.world, at(0)), "");
}

static void long_labels_leave_room_for_the_cause(void **state) {
    (void)state;
    char label[700] = {0};
    memset(label, 'd', sizeof(label) - 12);
    memcpy(label + sizeof(label) - 12, "/scene.json", 11);
    const char *text = ENTITIES("{\"id\": 0, \"name\": 1}");
    assert_int_equal(mica_scene_load_memory(fixture.world, text, strlen(text), label, NULL, &fixture.scene),
                     MICA_FORMAT);
    assert_contains(fixture.scene.message, "/scene.json: /entities/0/name: expected a string");
}

static void control_characters_do_not_reach_a_message(void **state) {
    (void)state;
    scene_load_sound(&fixture, ENTITIES("{\"id\": 0, \"components\": {\"a\\u001b[2Jb\": {}}}"));
    assert_contains(fixture.warnings[0], "/components/a?[2Jb: ");
}

// The example of the documentation, between its first two fences.
static void the_documented_example_is_a_scene(void **state) {
    (void)state;
    char *page = scene_read_file(MI_TEST_SOURCE_DIR "/docs/scene-format.md", NULL);
    char *start = strstr(page, "```json\n");
    assert_non_null(start);
    start += strlen("```json\n");
    char *stop = strstr(start, "```");
    assert_non_null(stop);
    assert_int_equal(scene_load_bytes(&fixture, start, (size_t)(stop - start), true), MICA_UNKNOWN);
    assert_contains(fixture.scene.message, "/entities/1/components/Orbit: ");
    fixture.error_count = 0;
    assert_int_equal(scene_load_bytes(&fixture, start, (size_t)(stop - start), false), MICA_OK);
    free(page);
    assert_int_equal(fixture.scene.entity_count, 3);
    assert_string_equal(mica_name_of(fixture.world, at(2)), "Moon");
    assert_same_entity(mica_parent(fixture.world, at(2)), at(1));
    const mica_transform *pose = mica_get(fixture.world, at(1), mica_transform);
    assert_true(pose->position[0] == 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_scene_gives_nothing, begin, end),
        cmocka_unit_test_setup_teardown(entities_have_names_values_and_tags, begin, end),
        cmocka_unit_test_setup_teardown(values_that_are_left_out_are_as_constructed, begin, end),
        cmocka_unit_test_setup_teardown(references_may_point_ahead, begin, end),
        cmocka_unit_test_setup_teardown(siblings_stand_in_order_of_the_file, begin, end),
        cmocka_unit_test_setup_teardown(scenes_add_to_what_is_there, begin, end),
        cmocka_unit_test_setup_teardown(faults_are_named_with_their_place_and_change_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_late_fault_takes_back_the_hierarchy, begin, end),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_read_are_named, begin, end),
        cmocka_unit_test_setup_teardown(what_is_missing_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_locked_world_stays, begin, end),
        cmocka_unit_test_setup_teardown(components_that_are_not_known_are_named_once, begin, end),
        cmocka_unit_test_setup_teardown(strict_loading_refuses_what_is_not_known, begin, end),
        cmocka_unit_test_setup_teardown(members_that_are_not_known_are_named_once, begin, end),
        cmocka_unit_test_setup_teardown(types_that_are_never_saved_are_not_read, begin, end),
        cmocka_unit_test_setup_teardown(a_world_that_never_saw_the_types_names_them, begin, end),
        cmocka_unit_test_setup_teardown(names_of_any_length_are_kept_whole, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_name_is_a_name, begin, end),
        cmocka_unit_test_setup_teardown(long_labels_leave_room_for_the_cause, begin, end),
        cmocka_unit_test_setup_teardown(control_characters_do_not_reach_a_message, begin, end),
        cmocka_unit_test_setup_teardown(the_documented_example_is_a_scene, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
