// Files as worlds: entities with poses, names, parents and references; and nothing at all of a file with a fault.

#include "gltf_fixture.h"
#include "json_allocator.h"

#include <mica/gltf.h>
#include <mica/mica.h>

static mica_world *world;
static mica_gltf_scene scene;

static int32_t warning_count;
static char last_warning[MICA_GLTF_MESSAGE_SIZE];
static char last_failure[MICA_GLTF_MESSAGE_SIZE];

static void take_message(void *user, mica_log_level level, const char *text) {
    (void)user;
    if (level == MICA_LOG_WARNING) {
        warning_count++;
    }
    (void)snprintf(level == MICA_LOG_WARNING ? last_warning : last_failure, MICA_GLTF_MESSAGE_SIZE, "%s", text);
}

static const mica_gltf_options options = {.log = {.function = take_message}};

static int make_world(void **state) {
    (void)state;
    warning_count = 0;
    last_warning[0] = last_failure[0] = '\0';
    world = mica_world_create(NULL);
    return world ? 0 : -1;
}

static int end_world(void **state) {
    (void)state;
    mica_gltf_scene_release(&scene);
    const mica_result result = mica_world_validate(world);
    mica_world_destroy(world);
    return result == MICA_OK ? 0 : -1;
}

#define ASSET "\"asset\":{\"version\":\"2.0\"}"

static mica_result load_text(const char *text) {
    return mica_gltf_load_memory(world, text, strlen(text), "t", &options, &scene);
}

static void load_scene(const char *text) {
    const mica_result result = load_text(text);
    assert_string_equal(scene.message, "");
    assert_int_equal(result, MICA_OK);
}

static mica_result load_model(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", MI_TEST_MODELS_DIR, name);
    return mica_gltf_load(world, path, &options, &scene);
}

static mica_entity entity_of(int32_t node) {
    assert_in_range(node, 0, scene.node_count - 1);
    return scene.entities[node];
}

static void expect_entity(mica_entity found, mica_entity expected) {
    assert_true(mica_entity_equal(found, expected));
}

// The matrices were computed by another library.
static void expect_node(json_t *expected, int32_t node) {
    const mica_entity entity = entity_of(node);
    const int32_t parent = (int32_t)json_integer_value(json_object_get(expected, "parent"));
    assert_int_equal(json_integer_value(json_object_get(expected, "node")), node);
    expect_entity(mica_parent(world, entity), parent < 0 ? MICA_NULL : entity_of(parent));
    const char *name = json_string_value(json_object_get(expected, "name"));
    assert_int_equal(mica_has(world, entity, mica_name), name != NULL);
    assert_string_equal(mica_name_of(world, entity), name ? name : "");
    const mica_world_transform *transform = mica_get(world, entity, mica_world_transform);
    assert_non_null(transform);
    json_t *matrix = json_object_get(expected, "world");
    assert_int_equal(json_array_size(matrix), 16);
    double largest = 0;
    for (size_t i = 0; i < 16; i++) {
        largest = fmax(largest, fabs(json_number_value(json_array_get(matrix, i))));
    }
    for (size_t i = 0; i < 16; i++) {
        const double difference = (double)transform->m[i] - json_number_value(json_array_get(matrix, i));
        if (!(fabs(difference) <= 1e-5 * largest)) {
            fail_msg("node %d, element %zu differs by %g of %g", node, i, difference, largest);
        }
    }
}

static void world_matrices_are_those_of_another_library(void **state) {
    (void)state;
    json_error_t error;
    json_t *models = json_load_file(MI_TEST_SOURCE_DIR "/tests/gltf/data/world.json", 0, &error);
    assert_non_null(models);
    assert_int_equal(json_object_size(models), 10);
    const char *model;
    json_t *nodes;
    json_object_foreach(models, model, nodes) {
        mica_result result = load_model(model);
        assert_string_equal(scene.message, "");
        assert_int_equal(result, MICA_OK);
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        assert_int_equal(scene.node_count, json_array_size(nodes));
        assert_int_equal(scene.entity_count, json_array_size(nodes));
        size_t i;
        json_t *node;
        json_array_foreach(nodes, i, node) {
            expect_node(node, (int32_t)i);
        }
        mica_gltf_scene_release(&scene);
    }
    json_decref(models);
}

static void entities_come_in_the_order_of_nodes(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"meshes\":[{}],\"nodes\":[{},{\"name\":\"b\"},{\"mesh\":0},{},{\"children\":[0]}]}");
    assert_int_equal(mica_world_entity_count(world), 5);
    for (int32_t i = 1; i < 5; i++) {
        assert_int_equal(mica_entity_index(entity_of(i)), mica_entity_index(entity_of(0)) + (uint32_t)i);
    }
}

static void nodes_outside_the_scene_have_no_entity(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"scenes\":[{\"nodes\":[3]}],\"nodes\":[{},{},{\"children\":[0]},{\"children\":[1]}]}");
    assert_int_equal(scene.node_count, 4);
    assert_int_equal(scene.entity_count, 2);
    assert_int_equal(mica_world_entity_count(world), 2);
    assert_true(mica_entity_is_null(entity_of(0)));
    assert_true(mica_entity_is_null(entity_of(2)));
    expect_entity(mica_parent(world, entity_of(1)), entity_of(3));
    assert_string_equal(last_warning, "t: /scenes/0/nodes: 2 of 4 nodes are not in the scene shown and are left out");
}

static void an_empty_file_gives_an_empty_scene(void **state) {
    (void)state;
    load_scene("{" ASSET "}");
    assert_int_equal(scene.node_count, 0);
    assert_int_equal(mica_world_entity_count(world), 0);
}

static void poses_are_local(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"nodes\":[{\"translation\":[1,2,3],\"rotation\":[0,0.6,0,0.8],\"scale\":[4,5,6]},{}]}");
    const mica_transform *pose = mica_get(world, entity_of(0), mica_transform);
    assert_non_null(pose);
    assert_memory_equal(pose->position, ((float[]){1, 2, 3}), sizeof pose->position);
    assert_float_equal(pose->rotation[1], 0.6, 1e-7);
    assert_float_equal(pose->rotation[3], 0.8, 1e-7);
    assert_memory_equal(pose->scale, ((float[]){4, 5, 6}), sizeof pose->scale);
    const mica_transform identity = MICA_TRANSFORM_IDENTITY;
    assert_memory_equal(mica_get(world, entity_of(1), mica_transform), &identity, sizeof identity);
}

static void children_are_linked_in_the_order_of_the_file(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"nodes\":[{\"children\":[3,1,2]},{},{\"children\":[4]},{},{}]}");
    const mica_entity first = mica_first_child(world, entity_of(0));
    expect_entity(first, entity_of(3));
    expect_entity(mica_next_sibling(world, first), entity_of(1));
    expect_entity(mica_last_child(world, entity_of(0)), entity_of(2));
    assert_int_equal(mica_child_count(world, entity_of(0)), 3);
    expect_entity(mica_parent(world, entity_of(4)), entity_of(2));
}

static void references_are_components(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"name\":\"sun\"}]}},"
               "\"meshes\":[{},{\"name\":\"hull\"}],\"cameras\":[{}],\"skins\":[{\"name\":\"fur\"}],"
               "\"nodes\":[{\"mesh\":1,\"skin\":0},{\"camera\":0,"
               "\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}}]}");
    const mica_mesh_ref *mesh = mica_get(world, entity_of(0), mica_mesh_ref);
    const mica_skin_ref *skin = mica_get(world, entity_of(0), mica_skin_ref);
    const mica_camera_ref *camera = mica_get(world, entity_of(1), mica_camera_ref);
    const mica_light_ref *light = mica_get(world, entity_of(1), mica_light_ref);
    assert_true(mesh && skin && camera && light);
    assert_int_equal(mesh->index, 1);
    assert_string_equal(mesh->name, "hull");
    assert_string_equal(skin->name, "fur");
    assert_int_equal(camera->index, 0);
    assert_string_equal(camera->name, "");
    assert_string_equal(light->name, "sun");
    assert_false(mica_has(world, entity_of(0), mica_camera_ref));
    assert_false(mica_has(world, entity_of(0), mica_light_ref));
    assert_false(mica_has(world, entity_of(1), mica_mesh_ref));
}

static void references_have_fields_and_names_in_files(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"meshes\":[{}],\"nodes\":[{\"mesh\":0}]}");
    const mica_schema *schema = mica_world_schema(world);
    const mica_component mesh = mica_schema_find(schema, "Mesh");
    assert_int_equal(mesh, mica_register(world, mica_mesh_ref));
    int32_t count = 0;
    const mica_field *fields = mica_schema_fields(schema, mesh, &count);
    assert_non_null(fields);
    assert_int_equal(count, 2);
    assert_string_equal(fields[0].name, "index");
    assert_int_equal(fields[0].kind, MICA_FIELD_INT);
    assert_string_equal(fields[1].name, "name");
    assert_int_equal(fields[1].kind, MICA_FIELD_TEXT);
    assert_int_equal(fields[1].size, MICA_GLTF_NAME_SIZE);
}

static void long_names_of_objects_are_cut_between_characters(void **state) {
    (void)state;
    // 54 bytes and a character of two.
    load_scene("{" ASSET ",\"meshes\":[{\"name\":\"123456789012345678901234567890123456789012345678901234\\u00e4\"}],"
               "\"nodes\":[{\"mesh\":0}]}");
    assert_string_equal(mica_get(world, entity_of(0), mica_mesh_ref)->name,
                        "123456789012345678901234567890123456789012345678901234");
    assert_int_equal(warning_count, 1);
    assert_string_equal(last_warning, "t: /meshes/0/name: the name is cut to 55 bytes");
}

static void long_names_of_nodes_are_kept(void **state) {
    (void)state;
    char text[3000] = "{" ASSET ",\"nodes\":[{\"name\":\"";
    const size_t used = strlen(text);
    memset(text + used, 'n', 2000);
    (void)snprintf(text + used + 2000, 20, "\"}]}");
    load_scene(text);
    assert_int_equal(strlen(mica_name_of(world, entity_of(0))), 2000);
}

static void two_files_share_a_world(void **state) {
    (void)state;
    load_scene("{" ASSET ",\"nodes\":[{\"name\":\"a\"}]}");
    const mica_entity first = entity_of(0);
    mica_gltf_scene_release(&scene);
    load_scene("{" ASSET ",\"nodes\":[{\"name\":\"b\"}]}");
    assert_int_equal(mica_world_entity_count(world), 2);
    assert_string_equal(mica_name_of(world, first), "a");
    assert_string_equal(mica_name_of(world, entity_of(0)), "b");
}

// Failures

static void expect_nothing_loaded(int32_t entity_count) {
    assert_null(scene.entities);
    assert_int_equal(scene.node_count, 0);
    assert_int_equal(scene.entity_count, 0);
    assert_int_equal(mica_world_entity_count(world), entity_count);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void a_fault_leaves_the_world_as_it_was(void **state) {
    (void)state;
    assert_false(mica_entity_is_null(mica_create(world)));
    assert_int_equal(load_text("{" ASSET ",\"nodes\":[{},{\"children\":[1]}]}"), MICA_CYCLE);
    expect_nothing_loaded(1);
    assert_string_equal(scene.message,
                        "t: /nodes/1: a node that is not below itself is expected, found a cycle of 1: 1, "
                        "child of 1");
    assert_string_equal(last_failure, scene.message);
    assert_int_equal(load_model("glTF2/nothing.gltf"), MICA_IO);
    expect_nothing_loaded(1);
    assert_non_null(strstr(scene.message, "/glTF2/nothing.gltf: cannot be opened: No such file or directory"));
}

static void a_locked_world_is_refused(void **state) {
    (void)state;
    assert_false(mica_entity_is_null(mica_spawn(world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY))));
    mica_query *query = mica_query_of(world, mica_read(mica_transform));
    assert_non_null(query);
    mica_each (query, it) {
        assert_int_equal(load_text("{" ASSET ",\"nodes\":[{}]}"), MICA_LOCKED);
        assert_int_equal(strncmp(scene.message, "t: ", 3), 0);
        assert_true(strlen(scene.message) > 10);
    }
    expect_nothing_loaded(1);
}

static void missing_arguments_are_refused(void **state) {
    (void)state;
    assert_int_equal(mica_gltf_load(NULL, "a.gltf", NULL, &scene), MICA_INVALID);
    assert_string_equal(scene.message, "a.gltf: a world and a file are expected, found no world");
    assert_int_equal(mica_gltf_load(world, NULL, NULL, &scene), MICA_INVALID);
    assert_string_equal(scene.message, "memory: a world and a file are expected, found no file");
    assert_int_equal(mica_gltf_load(world, "a.gltf", NULL, NULL), MICA_INVALID);
    mica_gltf_scene_release(NULL);
    expect_nothing_loaded(0);
}

// Memory and size

static const char small_scene[] =
    "{" ASSET ",\"meshes\":[{\"name\":\"m\"}],\"nodes\":[{\"name\":\"n\",\"children\":[1,2]},"
    "{\"mesh\":0},{\"name\":\"o\"},{}]}";

static void expect_small_scene(void) {
    assert_int_equal(mica_world_entity_count(world), 5);
    assert_string_equal(mica_name_of(world, entity_of(0)), "n");
    assert_string_equal(mica_name_of(world, entity_of(2)), "o");
    assert_string_equal(mica_get(world, entity_of(1), mica_mesh_ref)->name, "m");
    expect_entity(mica_first_child(world, entity_of(0)), entity_of(1));
    expect_entity(mica_last_child(world, entity_of(0)), entity_of(2));
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

// Loads with each allocation failing in its turn. Either all is there, because the world could do without the memory,
// or nothing but the one entity that was there before.
static void expect_survival_of_failures(test_allocator *allocator,
                                        void (*let_fail)(test_allocator *allocator, uint64_t n)) {
    mica_world_destroy(world);
    const mica_world_def definition = {.allocator = test_allocator_hooks(allocator)};
    int32_t failure_count = 0;
    bool is_through = false;
    for (uint64_t n = 1; !is_through; n++) {
        world = mica_world_create(&definition);
        assert_non_null(world);
        assert_false(mica_entity_is_null(mica_create(world)));
        let_fail(allocator, n);
        const mica_result result = load_text(small_scene);
        is_through = !test_allocator_fail_stop(allocator);
        if (result == MICA_OK) {
            expect_small_scene();
        } else {
            assert_false(is_through);
            assert_true(result == MICA_OUT_OF_MEMORY || strstr(scene.message, "JSON is expected"));
            expect_nothing_loaded(1);
            failure_count++;
        }
        mica_gltf_scene_release(&scene);
        mica_world_destroy(world);
    }
    assert_true(failure_count > 10);
    world = mica_world_create(NULL);
    assert_non_null(world);
}

static void every_failing_allocation_of_the_world_leaves_it_as_it_was(void **state) {
    (void)state;
    static test_allocator allocator;
    test_allocator_init(&allocator);
    expect_survival_of_failures(&allocator, test_allocator_fail_at);
    test_allocator_finish(&allocator);
}

// Why all fail from one on says test_gltf_document.c.
static void exhausted_memory_leaves_the_world_as_it_was(void **state) {
    (void)begin_json_allocator(state);
    expect_survival_of_failures(&json_allocator, test_allocator_fail_from);
    end_json_allocator();
}

static void long_chains_are_loaded_resolved_and_torn_down(void **state) {
    (void)state;
#if defined(MI_MOVE_ALWAYS)
    enum { COUNT = 1000 }; // each change moves all rows of a table there
#else
    enum { COUNT = 200000 };
#endif
    char *text = malloc(COUNT * 64 + 200);
    assert_non_null(text);
    char *end = text + sprintf(text, "{" ASSET ",\"nodes\":[");
    for (int32_t i = 0; i < COUNT - 1; i++) {
        end += sprintf(end, "{\"translation\":[0,1,0],\"children\":[%d]},", i + 1);
    }
    (void)sprintf(end, "{\"translation\":[0,1,0]}]}");
    load_scene(text);
    free(text);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    assert_float_equal(mica_get(world, entity_of(COUNT - 1), mica_world_transform)->m[13], COUNT, 0);
    assert_int_equal(mica_destroy_subtree(world, entity_of(0)), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(world_matrices_are_those_of_another_library, make_world, end_world),
        cmocka_unit_test_setup_teardown(entities_come_in_the_order_of_nodes, make_world, end_world),
        cmocka_unit_test_setup_teardown(nodes_outside_the_scene_have_no_entity, make_world, end_world),
        cmocka_unit_test_setup_teardown(an_empty_file_gives_an_empty_scene, make_world, end_world),
        cmocka_unit_test_setup_teardown(poses_are_local, make_world, end_world),
        cmocka_unit_test_setup_teardown(children_are_linked_in_the_order_of_the_file, make_world, end_world),
        cmocka_unit_test_setup_teardown(references_are_components, make_world, end_world),
        cmocka_unit_test_setup_teardown(references_have_fields_and_names_in_files, make_world, end_world),
        cmocka_unit_test_setup_teardown(long_names_of_objects_are_cut_between_characters, make_world, end_world),
        cmocka_unit_test_setup_teardown(long_names_of_nodes_are_kept, make_world, end_world),
        cmocka_unit_test_setup_teardown(two_files_share_a_world, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_fault_leaves_the_world_as_it_was, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_locked_world_is_refused, make_world, end_world),
        cmocka_unit_test_setup_teardown(missing_arguments_are_refused, make_world, end_world),
        cmocka_unit_test_setup_teardown(every_failing_allocation_of_the_world_leaves_it_as_it_was, make_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(exhausted_memory_leaves_the_world_as_it_was, make_world, end_world),
        cmocka_unit_test_setup_teardown(long_chains_are_loaded_resolved_and_torn_down, make_world, end_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
