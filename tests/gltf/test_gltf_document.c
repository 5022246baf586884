// What is read of glTF files, and what each fault in them gives: real files first, then one text a rule.

#include "gltf_fixture.h"
#include "json_allocator.h"

static gltf_fixture fixture;

static int release_document(void **state) {
    (void)state;
    gltf_release(&fixture);
    return 0;
}

#define ASSET "\"asset\":{\"version\":\"2.0\"}"

static void expect_failure(const char *text, mica_result code, const char *message) {
    gltf_read_text(&fixture, text);
    assert_string_equal(fixture.report.text, message);
    assert_int_equal(fixture.result, code);
}

static void expect_success(const char *text) {
    gltf_read_text(&fixture, text);
    assert_string_equal(fixture.report.text, "");
    assert_int_equal(fixture.result, MICA_OK);
}

static void expect_warning(int32_t index, const char *text) {
    assert_true(index < fixture.warning_count);
    assert_string_equal(fixture.warnings[index], text);
}

static void expect_floats(const float *found, const float *expected, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        assert_float_equal(found[i], expected[i], 1e-6);
    }
}

// Real files

static void binary_and_text_give_the_same_nodes(void **state) {
    (void)state;
    static gltf_fixture binary;
    gltf_read_model(&binary, "glTF2/BoxTextured-glTF-Binary/BoxTextured.glb");
    gltf_read_model(&fixture, "glTF2/BoxTextured-glTF/BoxTextured.gltf");
    assert_int_equal(binary.result, MICA_OK);
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.node_count, 2);
    assert_int_equal(binary.document.node_count, 2);
    assert_int_equal(binary.warning_count + fixture.warning_count, 0);
    for (int32_t i = 0; i < 2; i++) {
        const mi_gltf_node *a = &binary.document.nodes[i];
        const mi_gltf_node *b = &fixture.document.nodes[i];
        assert_null(a->name);
        assert_null(b->name);
        assert_int_equal(a->parent, b->parent);
        assert_memory_equal(a->pose.rotation, b->pose.rotation, sizeof a->pose.rotation);
        assert_memory_equal(a->references, b->references, sizeof a->references);
    }
    expect_floats(fixture.document.nodes[0].pose.rotation, (float[]){-0.70710678F, 0, 0, 0.70710678F}, 4);
    assert_int_equal(fixture.document.nodes[1].references[MI_GLTF_MESH], 0);
    assert_string_equal(fixture.document.names[MI_GLTF_MESH].names[0], "Mesh");
    gltf_release(&binary);
}

static void cameras_and_skins_are_found(void **state) {
    (void)state;
    gltf_read_model(&fixture, "glTF2/cameras/Cameras.gltf");
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.nodes[0].references[MI_GLTF_CAMERA], -1);
    assert_int_equal(fixture.document.nodes[2].references[MI_GLTF_CAMERA], 1);
    assert_null(fixture.document.names[MI_GLTF_CAMERA].names[1]);
    gltf_release(&fixture);
    gltf_read_model(&fixture, "glTF2/simple_skin/simple_skin.gltf");
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.nodes[0].references[MI_GLTF_SKIN], 0);
    assert_int_equal(fixture.document.nodes[2].parent, 1);
}

static void faults_in_what_is_not_read_stop_nothing(void **state) {
    (void)state;
    static const char *const models[] = {
        "glTF2/wrongTypes/badArray.gltf",
        "glTF2/wrongTypes/badExtension.gltf",
        "glTF2/wrongTypes/badNumber.gltf",
        "glTF2/wrongTypes/badObject.gltf",
        "glTF2/wrongTypes/badUint.gltf",
        "glTF2/IndexOutOfRange/IndexOutOfRange.gltf",
        "glTF2/IndexOutOfRange/AllIndicesOutOfRange.gltf",
        "glTF2/MissingBin/BoxTextured.gltf",
        "glTF2/BoxWithInfinites-glTF-Binary/BoxWithInfinites.glb",
        "glTF2/BoxBadNormals-glTF-Binary/BoxBadNormals.glb",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gltf_read_model(&fixture, models[i]);
        assert_string_equal(fixture.report.text, "");
        assert_int_equal(fixture.document.shown_count, 2);
        assert_int_equal(fixture.document.nodes[1].parent, 0);
        gltf_release(&fixture);
    }
}

static void faults_of_real_files_are_named(void **state) {
    (void)state;
    static const struct {
        const char *model;
        mica_result code;
        const char *message;
    } cases[] = {
        {"glTF2/RecursiveNodes/RecursiveNodes.gltf", MICA_CYCLE,
         "/nodes/0: a node that is not below itself is expected, found a cycle of 2: 0, child of 1, child of 0"},
        {"glTF2/SchemaFailures/sceneWrongType.gltf", MICA_FORMAT,
         "/scene: the index of a scene, 0 to 0, is expected, found the string \"hello\""},
        {"glTF2/wrongTypes/badString.gltf", MICA_FORMAT, "/scenes/0/name: a string is expected, found 42"},
        {"glTF/BoxTextured-glTF/BoxTextured.gltf", MICA_UNSUPPORTED,
         "/asset/version: glTF 1.0 is not supported; glTF 2.0 is expected"},
        {"glTF/CesiumMilkTruck/CesiumMilkTruck.gltf", MICA_UNSUPPORTED,
         "/asset/version: glTF 1.0 is not supported; glTF 2.0 is expected"},
        {"glTF/BoxTextured-glTF-Binary/BoxTextured.glb", MICA_UNSUPPORTED,
         "byte 4: glTF 1.0 is not supported; a binary container of glTF 2.0 is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[MI_MESSAGE_SIZE];
        gltf_read_model(&fixture, cases[i].model);
        (void)snprintf(message, sizeof message, "%s: %s", cases[i].model, cases[i].message);
        assert_string_equal(fixture.report.text, message);
        assert_int_equal(fixture.result, cases[i].code);
    }
}

static void files_without_scenes_or_nodes_are_empty(void **state) {
    (void)state;
    gltf_read_model(&fixture, "glTF2/TestNoRootNode/NoScene.gltf");
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.node_count, 0);
    expect_warning(0, "glTF2/TestNoRootNode/NoScene.gltf: /scene: the file has no scenes; all nodes are taken");
    gltf_release(&fixture);
    gltf_read_model(&fixture, "glTF2/TestNoRootNode/SceneWithoutNodes.gltf");
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.node_count, 0);
    assert_int_equal(fixture.warning_count, 0);
}

static void compressed_meshes_are_warned_about(void **state) {
    (void)state;
    gltf_read_model(&fixture, "glTF2/draco/2CylinderEngine.gltf");
    assert_int_equal(fixture.result, MICA_OK);
    assert_int_equal(fixture.document.shown_count, 82);
    assert_int_equal(fixture.warning_count, 1);
    expect_warning(0, "glTF2/draco/2CylinderEngine.gltf: /extensionsRequired/0: the file requires the extension "
                      "\"KHR_draco_mesh_compression\", which concerns only what is not read");
}

static void files_that_cannot_be_read_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *path;
        mica_result code;
        const char *message;
    } cases[] = {
        {"/nowhere/a.gltf", MICA_IO, "p: cannot be opened: No such file or directory"},
        {"/tmp", MICA_IO, "p: cannot be read: Is a directory"},
        {"/dev/null", MICA_FORMAT, "p: byte 0: the file is empty; glTF 2.0 is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gltf_prepare(&fixture, "p");
        fixture.result = mi_gltf_document_read_file(&fixture.document, cases[i].path, &fixture.report);
        gltf_check_result(&fixture);
        assert_int_equal(fixture.result, cases[i].code);
        assert_string_equal(fixture.report.text, cases[i].message);
    }
}

// Nodes

static void a_bare_node_is_the_identity(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"nodes\":[{}]}");
    const mi_gltf_node *node = &fixture.document.nodes[0];
    assert_null(node->name);
    assert_int_equal(node->parent, -1);
    assert_true(node->shown);
    expect_floats(node->pose.position, (float[]){0, 0, 0}, 3);
    expect_floats(node->pose.rotation, (float[]){0, 0, 0, 1}, 4);
    expect_floats(node->pose.scale, (float[]){1, 1, 1}, 3);
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        assert_int_equal(node->references[kind], -1);
    }
}

static void poses_are_read_as_written(void **state) {
    (void)state;
    expect_success("{" ASSET
                   ",\"nodes\":[{\"translation\":[1,2.5,-3e2],\"rotation\":[0,0.6,0,-0.8],\"scale\":[2,0,-1]}]}");
    const mi_gltf_node *node = &fixture.document.nodes[0];
    expect_floats(node->pose.position, (float[]){1, 2.5F, -300}, 3);
    expect_floats(node->pose.rotation, (float[]){0, 0.6F, 0, -0.8F}, 4);
    expect_floats(node->pose.scale, (float[]){2, 0, -1}, 3);
    assert_int_equal(fixture.warning_count, 0);
}

static void a_quaternion_of_another_length_is_scaled_with_a_warning(void **state) {
    (void)state;
    expect_success("{" ASSET
                   ",\"nodes\":[{\"name\":\"arm\",\"rotation\":[0,3e-300,0,4e-300]},{\"rotation\":[0,0,0,1.0001]}]}");
    expect_floats(fixture.document.nodes[0].pose.rotation, (float[]){0, 0.6F, 0, 0.8F}, 4);
    expect_floats(fixture.document.nodes[1].pose.rotation, (float[]){0, 0, 0, 1}, 4);
    assert_int_equal(fixture.warning_count, 1);
    expect_warning(0, "t: /nodes/0/rotation: a unit quaternion is expected; the rotation of \"arm\" has length 5e-300 "
                      "and is scaled");
}

static void a_mirroring_matrix_gives_a_negative_scale(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"nodes\":[{\"matrix\":[-2,0,0,0, 0,3,0,0, 0,0,4,0, 5,6,7,1]}]}");
    const mi_gltf_node *node = &fixture.document.nodes[0];
    expect_floats(node->pose.position, (float[]){5, 6, 7}, 3);
    expect_floats(node->pose.rotation, (float[]){0, 0, 0, 1}, 4);
    expect_floats(node->pose.scale, (float[]){-2, 3, 4}, 3);
    assert_int_equal(fixture.warning_count, 0);
}

static void shear_is_warned_about_by_name(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"nodes\":[{\"name\":\"lean\",\"matrix\":[1,0,0,0, 0.5,1,0,0, 0,0,1,0, 0,0,0,1]},"
                   "{\"matrix\":[1,0,0,0, 0.5,1,0,0, 0,0,1,0, 0,0,0,1]}]}");
    assert_int_equal(fixture.warning_count, 2);
    expect_warning(0,
                   "t: /nodes/0/matrix: the matrix of \"lean\" has shear; the nearest translation, rotation and scale "
                   "are taken");
    expect_warning(1, "t: /nodes/1/matrix: the matrix of the node has shear; the nearest translation, rotation and "
                      "scale are taken");
}

static void children_keep_the_order_of_the_file(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"nodes\":[{},{\"children\":[3,0,2]},{\"children\":[]},{}]}");
    const mi_gltf_node *nodes = fixture.document.nodes;
    assert_int_equal(nodes[1].child_count, 3);
    assert_memory_equal(fixture.document.children + nodes[1].first_child, ((int32_t[]){3, 0, 2}), 3 * sizeof(int32_t));
    assert_int_equal(nodes[3].parent, 1);
    assert_int_equal(nodes[1].parent, -1);
}

static void names_of_any_length_are_kept(void **state) {
    (void)state;
    enum { LENGTH = 200000 };
    char *text = malloc(LENGTH + 200);
    assert_non_null(text);
    int used = sprintf(text, "{" ASSET ",\"nodes\":[{\"name\":\"a\"},{\"name\":\"");
    memset(text + used, 'n', LENGTH);
    (void)sprintf(text + used + LENGTH, "\"},{\"name\":\"\"},{\"name\":\"\\u00e4\\ud83d\\ude00\"}]}");
    expect_success(text);
    free(text);
    const mi_gltf_node *nodes = fixture.document.nodes;
    assert_string_equal(nodes[0].name, "a");
    assert_int_equal(strspn(nodes[1].name, "n"), LENGTH);
    assert_int_equal(strlen(nodes[1].name), LENGTH);
    assert_string_equal(nodes[2].name, "");
    assert_string_equal(nodes[3].name, "\xC3\xA4\xF0\x9F\x98\x80");
}

static void references_come_with_names(void **state) {
    (void)state;
    expect_success(
        "{" ASSET ",\"extensionsUsed\":[\"KHR_lights_punctual\"],"
        "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"name\":\"sun\"},{}]}},"
        "\"meshes\":[{},{\"name\":\"hull\"}],\"cameras\":[{\"name\":\"eye\"}],\"skins\":[{\"name\":\"fur\"}],"
        "\"nodes\":[{\"mesh\":1,\"camera\":0.0,\"skin\":0,"
        "\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}},{\"mesh\":0}]}");
    assert_int_equal(fixture.warning_count, 0);
    const mi_gltf_node *node = &fixture.document.nodes[0];
    assert_memory_equal(node->references, ((int32_t[]){1, 0, 0, 0}), sizeof node->references);
    assert_string_equal(fixture.document.names[MI_GLTF_MESH].names[1], "hull");
    assert_null(fixture.document.names[MI_GLTF_MESH].names[0]);
    assert_string_equal(fixture.document.names[MI_GLTF_CAMERA].names[0], "eye");
    assert_string_equal(fixture.document.names[MI_GLTF_SKIN].names[0], "fur");
    assert_string_equal(fixture.document.names[MI_GLTF_LIGHT].names[0], "sun");
    assert_int_equal(fixture.document.names[MI_GLTF_LIGHT].count, 2);
}

static void objects_that_no_node_refers_to_are_not_looked_at(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"meshes\":7,\"cameras\":[{\"name\":1}],\"extensions\":3,\"nodes\":[{}]}");
    assert_int_equal(fixture.document.names[MI_GLTF_MESH].count, 0);
}

static void a_byte_order_mark_is_skipped(void **state) {
    (void)state;
    expect_success("\xEF\xBB\xBF{" ASSET ",\"nodes\":[{}]}");
    assert_int_equal(fixture.document.node_count, 1);
}

// Scenes

static void expect_shown(const char *json, const char *shown) {
    expect_success(json);
    for (int32_t i = 0; i < fixture.document.node_count; i++) {
        assert_int_equal(fixture.document.nodes[i].shown, shown[i] == '1');
    }
    gltf_release(&fixture);
}

#define FOREST "\"nodes\":[{\"children\":[3]},{},{\"children\":[4]},{},{}]"

static void the_scene_named_is_shown(void **state) {
    (void)state;
    expect_shown("{" ASSET ",\"scene\":1,\"scenes\":[{\"nodes\":[0]},{\"nodes\":[2,1]}]," FOREST "}", "01101");
    expect_warning(0, "t: /scenes/1/nodes: 2 of 5 nodes are not in the scene shown and are left out");
}

static void the_first_scene_is_shown_if_none_is_named(void **state) {
    (void)state;
    expect_shown("{" ASSET ",\"scenes\":[{\"nodes\":[0]},{\"nodes\":[2,1]}]," FOREST "}", "10010");
    expect_shown("{" ASSET ",\"scenes\":[{}]," FOREST "}", "00000");
    expect_warning(0, "t: /scenes/0/nodes: 5 of 5 nodes are not in the scene shown and are left out");
}

static void all_nodes_are_shown_without_scenes(void **state) {
    (void)state;
    expect_shown("{" ASSET "," FOREST "}", "11111");
    assert_int_equal(fixture.warning_count, 0);
    expect_shown("{" ASSET ",\"scenes\":[],\"scene\":3," FOREST "}", "11111");
    assert_int_equal(fixture.warning_count, 1);
}

static void scenes_may_share_nodes(void **state) {
    (void)state;
    expect_shown("{" ASSET ",\"scenes\":[{\"nodes\":[0,1]},{\"nodes\":[1,0]}]," FOREST "}", "11010");
}

// Versions and extensions

static void later_minor_versions_are_read(void **state) {
    (void)state;
    expect_success("{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.0\"}}");
}

static void extensions_are_warned_about_once(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"extensionsUsed\":[\"KHR_materials_unlit\",\"EXT_mesh_gpu_instancing\",\"X\",\"X\",4],"
                   "\"extensionsRequired\":[\"EXT_mesh_gpu_instancing\"]}");
    assert_int_equal(fixture.warning_count, 4);
    expect_warning(0, "t: /extensionsRequired/0: the file requires the extension \"EXT_mesh_gpu_instancing\", which is "
                      "not known; nodes may be meant to be others");
    expect_warning(1, "t: /extensionsUsed/0: the file uses the extension \"KHR_materials_unlit\", which concerns only "
                      "what is not read");
    expect_warning(2, "t: /extensionsUsed/2: the file uses the extension \"X\", which is not known; nodes may be meant "
                      "to be others");
    expect_warning(3, "t: /extensionsUsed/4: a string is expected");
}

static void malformed_lists_of_extensions_are_warned_about(void **state) {
    (void)state;
    expect_success("{" ASSET ",\"extensionsUsed\":{}}");
    expect_warning(0, "t: /extensionsUsed: an array is expected; what the file uses is not known");
}

static void warnings_end_at_a_limit(void **state) {
    (void)state;
    char text[2048] = "{" ASSET ",\"nodes\":[";
    for (int32_t i = 0; i < MI_GLTF_WARNING_LIMIT + 5; i++) {
        (void)sprintf(text + strlen(text), "%s{\"rotation\":[0,0,0,2]}", i ? "," : "");
    }
    strcat(text, "]}");
    expect_success(text);
    assert_int_equal(fixture.warning_count, MI_GLTF_WARNING_LIMIT);
    expect_warning(MI_GLTF_WARNING_LIMIT - 1, "t: further warnings are left out");
}

// Faults, each with its place and what was expected

typedef struct fault {
    const char *text;
    const char *message;
} fault;

static void expect_faults(const fault *faults, size_t count, mica_result code) {
    for (size_t i = 0; i < count; i++) {
        expect_failure(faults[i].text, code, faults[i].message);
    }
}
#define EXPECT_FAULTS(FAULTS, CODE) expect_faults((FAULTS), sizeof(FAULTS) / sizeof *(FAULTS), (CODE))

static void faults_of_the_text_are_placed_by_line_and_column(void **state) {
    (void)state;
    static const fault faults[] = {
        {"", "t: byte 0: the file is empty; glTF 2.0 is expected"},
        {" ", "t: line 1, column 1: JSON is expected: '[' or '{' expected near end of file"},
        {"{\n  \"asset\": }", "t: line 2, column 12: JSON is expected: unexpected token near '}'"},
        {"{\"a\":1} x", "t: line 1, column 9: JSON is expected: end of file expected near 'x'"},
        {"{\"a\":NaN}", "t: line 1, column 8: JSON is expected: invalid token near 'NaN'"},
        {"{\"a\":1e999}", "t: line 1, column 10: JSON is expected: real number overflow near '1e999'"},
        {"{\"a\":\"\xFF\"}", "t: line 1, column 6: JSON is expected: unable to decode byte 0xff near '\"'"},
        {"{\"a\":\"\xC3\"}", "t: line 1, column 6: JSON is expected: unable to decode byte 0xc3 near '\"'"},
        {"[]", "t: /: an object is expected, found an array of 0"},
    };
    EXPECT_FAULTS(faults, MICA_FORMAT);
}

static void nul_bytes_are_refused(void **state) {
    (void)state;
    static const char text[] = "{\"asset\":\0}";
    gltf_read_bytes(&fixture, text, sizeof text - 1, "t");
    assert_int_equal(fixture.result, MICA_FORMAT);
    assert_non_null(strstr(fixture.report.text, "t: line 1, column 10: JSON is expected: "));
    expect_failure("{" ASSET ",\"nodes\":[{\"name\":\"a\\u0000b\"}]}", MICA_FORMAT,
                   "t: /nodes/0/name: a name without NUL characters is expected");
    expect_success("{" ASSET ",\"other\":\"a\\u0000b\"}");
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH + 1);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    expect_failure(text, MICA_LIMIT,
                   "t: line 1, column 2049: JSON is expected: maximum parsing depth reached near '['");
    for (int32_t i = 0; i + 5 <= DEPTH; i += 5) {
        memcpy(text + i, "{\"a\":", 5);
    }
    gltf_read_text(&fixture, text);
    free(text);
    assert_int_equal(fixture.result, MICA_LIMIT);
}

static void faults_of_the_asset_are_named(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{}", "t: /asset: an object is expected, found nothing"},
        {"{\"asset\":null}", "t: /asset: an object is expected, found null"},
        {"{\"asset\":{}}", "t: /asset/version: a version such as \"2.0\" is expected, found nothing"},
        {"{\"asset\":{\"version\":2.0}}", "t: /asset/version: a version such as \"2.0\" is expected, found 2"},
        {"{\"asset\":{\"version\":\"2\"}}",
         "t: /asset/version: a version such as \"2.0\" is expected, found the string "
         "\"2\""},
        {"{\"asset\":{\"version\":\"2.0.1\"}}", "t: /asset/version: a version such as \"2.0\" is expected, found the "
                                                "string \"2.0.1\""},
        {"{\"asset\":{\"version\":\"2.0\",\"minVersion\":false}}",
         "t: /asset/minVersion: a version such as \"2.0\" is expected, found false"},
    };
    EXPECT_FAULTS(faults, MICA_FORMAT);
}

static void other_versions_are_refused_by_name(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{\"asset\":{\"version\":\"1.0\"}}", "t: /asset/version: glTF 1.0 is not supported; glTF 2.0 is expected"},
        {"{\"asset\":{\"version\":1}}", "t: /asset/version: glTF 1.0 is not supported; glTF 2.0 is expected"},
        {"{\"asset\":{\"version\":\"3.1\"}}", "t: /asset/version: glTF 3.1 is not supported; glTF 2.0 is expected"},
        {"{\"asset\":{\"version\":\"4294967298.0\"}}",
         "t: /asset/version: glTF 4294967298.0 is not supported; glTF 2.0 is expected"},
        {"{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.1\"}}",
         "t: /asset/minVersion: glTF 2.1 is not supported; glTF 2.0 is expected"},
        {"{\"nodes\":{\"a\":{}}}",
         "t: /asset: no version is given, as only glTF 1.0 allows, which is not supported; glTF "
         "2.0 is expected"},
        {"{\"asset\":{},\"scenes\":{}}",
         "t: /asset: no version is given, as only glTF 1.0 allows, which is not supported; "
         "glTF 2.0 is expected"},
    };
    EXPECT_FAULTS(faults, MICA_UNSUPPORTED);
}

static void faults_of_nodes_are_named(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{" ASSET ",\"nodes\":{}}", "t: /nodes: an array is expected, found an object"},
        {"{" ASSET ",\"nodes\":[{},3]}", "t: /nodes/1: an object is expected, found 3"},
        {"{" ASSET ",\"nodes\":[{\"name\":[]}]}", "t: /nodes/0/name: a string is expected, found an array of 0"},
        {"{" ASSET ",\"nodes\":[{\"children\":3}]}", "t: /nodes/0/children: an array is expected, found 3"},
        {"{" ASSET ",\"nodes\":[{\"children\":[0.5]}]}",
         "t: /nodes/0/children/0: the index of a node, 0 to 0, is expected, found 0.5"},
        {"{" ASSET ",\"nodes\":[{\"children\":[1,-1]},{}]}",
         "t: /nodes/0/children/1: the index of a node, 0 to 1, is expected, found -1"},
        {"{" ASSET ",\"nodes\":[{\"children\":[2]},{}]}",
         "t: /nodes/0/children/0: the index of a node, 0 to 1, is expected, found 2"},
        {"{" ASSET ",\"nodes\":[{\"children\":[99999999999999999999]}]}",
         "t: /nodes/0/children/0: the index of a node, 0 to 0, is expected, found 1e+20"},
        {"{" ASSET ",\"nodes\":[{\"children\":[true]}]}",
         "t: /nodes/0/children/0: the index of a node, 0 to 0, is expected, found true"},
        {"{" ASSET ",\"nodes\":[{\"children\":[2]},{\"children\":[2]},{}]}",
         "t: /nodes/1/children/0: a node without another parent is expected, but node 2 is a child of node 0"},
        {"{" ASSET ",\"nodes\":[{\"children\":[1,1]},{}]}",
         "t: /nodes/0/children/1: a node without another parent is expected, but node 1 is a child of node 0"},
        {"{" ASSET ",\"nodes\":[{\"mesh\":0}]}", "t: /nodes/0/mesh: the file has no meshes, found 0"},
        {"{" ASSET ",\"meshes\":[{}],\"nodes\":[{\"mesh\":\"a\"}]}",
         "t: /nodes/0/mesh: the index of a mesh, 0 to 0, is expected, found the string \"a\""},
        {"{" ASSET ",\"meshes\":{},\"nodes\":[{\"mesh\":0}]}", "t: /meshes: an array is expected, found an object"},
        {"{" ASSET ",\"skins\":[1],\"nodes\":[{\"skin\":0}]}", "t: /skins/0: an object is expected, found 1"},
        {"{" ASSET ",\"cameras\":[{\"name\":1}],\"nodes\":[{\"camera\":0}]}",
         "t: /cameras/0/name: a string is expected, found 1"},
        {"{" ASSET ",\"nodes\":[{\"extensions\":1}]}", "t: /nodes/0/extensions: an object is expected, found 1"},
        {"{" ASSET ",\"nodes\":[{\"extensions\":{\"KHR_lights_punctual\":{}}}]}",
         "t: /nodes/0/extensions/KHR_lights_punctual: an object with \"light\" is expected, found an object"},
        {"{" ASSET ",\"nodes\":[{\"extensions\":{\"KHR_lights_punctual\":{\"light\":2}}}]}",
         "t: /nodes/0/extensions/KHR_lights_punctual/light: the file has no lights, found 2"},
        {"{" ASSET ",\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"name\":{}}]}},"
         "\"nodes\":[{\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}}]}",
         "t: /extensions/KHR_lights_punctual/lights/0/name: a string is expected, found an object"},
    };
    EXPECT_FAULTS(faults, MICA_FORMAT);
}

static void faults_of_poses_are_named(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{" ASSET ",\"nodes\":[{\"translation\":[1,2]}]}",
         "t: /nodes/0/translation: an array of 3 numbers is expected, found an array of 2"},
        {"{" ASSET ",\"nodes\":[{\"scale\":{\"x\":1}}]}",
         "t: /nodes/0/scale: an array of 3 numbers is expected, found an object"},
        {"{" ASSET ",\"nodes\":[{\"rotation\":[0,0,\"w\",1]}]}",
         "t: /nodes/0/rotation/2: a number is expected, found the string \"w\""},
        {"{" ASSET ",\"nodes\":[{\"rotation\":[0,0,0,0]}]}",
         "t: /nodes/0/rotation: a unit quaternion is expected, found zero"},
        {"{" ASSET ",\"nodes\":[{\"translation\":[0,1e39,0]}]}",
         "t: /nodes/0/translation/1: a number that a 32-bit float holds is expected, found 1e+39"},
        {"{" ASSET ",\"nodes\":[{\"matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0]}]}",
         "t: /nodes/0/matrix: an array of 16 numbers is expected, found an array of 15"},
        {"{" ASSET ",\"nodes\":[{\"matrix\":[1,0,0,0, 0,1,0,0.5, 0,0,1,0, 0,0,0,1]}]}",
         "t: /nodes/0/matrix/7: 0 in the last row is expected, found 0.5"},
        {"{" ASSET ",\"nodes\":[{\"matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,2]}]}",
         "t: /nodes/0/matrix/15: 1 in the last row is expected, found 2"},
        {"{" ASSET ",\"nodes\":[{\"matrix\":[3e38,3e38,3e38,0, 0,0,0,0, 0,0,0,0, 0,0,0,1]}]}",
         "t: /nodes/0/matrix: a scale that a 32-bit float holds is expected"},
        {"{" ASSET ",\"nodes\":[{\"matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1],\"scale\":[1,1,1]}]}",
         "t: /nodes/0/matrix: either a matrix or translation, rotation and scale are expected, found both"},
    };
    EXPECT_FAULTS(faults, MICA_FORMAT);
}

static void faults_of_scenes_are_named(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{" ASSET ",\"scenes\":3}", "t: /scenes: an array is expected, found 3"},
        {"{" ASSET ",\"scenes\":[[]]}", "t: /scenes/0: an object is expected, found an array of 0"},
        {"{" ASSET ",\"scene\":1,\"scenes\":[{}]}", "t: /scene: the index of a scene, 0 to 0, is expected, found 1"},
        {"{" ASSET ",\"scene\":[]}",
         "t: /scene: the index of a scene, 0 to 2147483646, is expected, found an array of 0"},
        {"{" ASSET ",\"scenes\":[{\"nodes\":{}}]}", "t: /scenes/0/nodes: an array is expected, found an object"},
        {"{" ASSET ",\"scenes\":[{\"nodes\":[0]}]}", "t: /scenes/0/nodes/0: the file has no nodes, found 0"},
        {"{" ASSET ",\"scenes\":[{},{\"nodes\":[0,2]}],\"nodes\":[{},{}]}",
         "t: /scenes/1/nodes/1: the index of a node, 0 to 1, is expected, found 2"},
        {"{" ASSET ",\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"children\":[1]},{}]}",
         "t: /scenes/0/nodes/1: a root node is expected, but node 1 is a child of node 0"},
        {"{" ASSET ",\"scenes\":[{\"nodes\":[0,1,0]}],\"nodes\":[{},{}]}",
         "t: /scenes/0/nodes/2: every node once is expected, but node 0 is listed twice"},
    };
    EXPECT_FAULTS(faults, MICA_FORMAT);
}

static void cycles_are_listed(void **state) {
    (void)state;
    static const fault faults[] = {
        {"{" ASSET ",\"nodes\":[{\"children\":[0]}]}",
         "t: /nodes/0: a node that is not below itself is expected, found a cycle of 1: 0, child of 0"},
        {"{" ASSET ",\"nodes\":[{},{\"children\":[2]},{\"children\":[3]},{\"children\":[1]}]}",
         "t: /nodes/1: a node that is not below itself is expected, found a cycle of 3: 1, child of 3, child of 2, "
         "child "
         "of 1"},
        {"{" ASSET ",\"nodes\":[{},{\"children\":[3]},{\"children\":[1]},{\"children\":[2,0]}]}",
         "t: /nodes/1: a node that is not below itself is expected, found a cycle of 3: 1, child of 2, child of 3, "
         "child "
         "of 1"},
        {"{" ASSET ",\"nodes\":[{\"children\":[1]},{\"children\":[2]},{\"children\":[3]},{\"children\":[4]},"
         "{\"children\":[5]},{\"children\":[6]},{\"children\":[7]},{\"children\":[8]},{\"children\":[0]}]}",
         "t: /nodes/0: a node that is not below itself is expected, found a cycle of 9: 0, child of 8, child of 7, "
         "child "
         "of 6, child of 5, child of 4, child of 3, child of 2, child of 1, ..."},
    };
    EXPECT_FAULTS(faults, MICA_CYCLE);
}

// Size and memory

// A chain in shuffled order of indices: node i is the child of (i - step) modulo count.
static void long_chains_are_read(void **state) {
    (void)state;
    enum { COUNT = 200000, STEP = 77773 };
    char *text = malloc(COUNT * 32 + 200);
    assert_non_null(text);
    char *end = text + sprintf(text, "{" ASSET ",\"nodes\":[");
    for (int32_t i = 0; i < COUNT; i++) {
        int32_t child = (int32_t)(((int64_t)i + STEP) % COUNT);
        end += child == 0 ? sprintf(end, "{},") : sprintf(end, "{\"children\":[%d]},", child);
    }
    strcpy(end - 1, "]}");
    expect_success(text);
    free(text);
    assert_int_equal(fixture.document.shown_count, COUNT);
    assert_int_equal(fixture.document.order[0], 0);
    assert_int_equal(fixture.document.order[2], 2 * STEP);
}

// All allocations fail from one on, because jansson 2.14 loses a character of a string for which its buffer could not
// grow and runs past the end if the next allocation works. A token without memory it reports as a malformed one.
static void expect_survival_of_failures(const char *text, mica_result code) {
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_from(&json_allocator, n);
        gltf_read_text(&fixture, text);
        if (!test_allocator_fail_stop(&json_allocator)) {
            assert_true(n > 10);
            break;
        }
        assert_true(fixture.result == MICA_OUT_OF_MEMORY || strstr(fixture.report.text, "JSON is expected"));
        assert_int_equal(json_allocator.live_count, 0);
    }
    assert_int_equal(fixture.result, code);
    gltf_release(&fixture);
    assert_int_equal(json_allocator.live_count, 0);
}

static void every_failing_allocation_is_survived(void **state) {
    (void)begin_json_allocator(state);
    expect_survival_of_failures(
        "{" ASSET ",\"scenes\":[{\"name\":\"s\",\"nodes\":[0]}],\"extensionsUsed\":[\"A\",\"B\"],"
        "\"meshes\":[{\"name\":\"m\"}],\"nodes\":[{\"name\":\"n\",\"children\":[1]},{\"mesh\":0}]}",
        MICA_OK);
    expect_survival_of_failures("{" ASSET ",\"nodes\":[{\"children\":[0]}]}", MICA_CYCLE);
    end_json_allocator();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(binary_and_text_give_the_same_nodes, release_document),
        cmocka_unit_test_teardown(cameras_and_skins_are_found, release_document),
        cmocka_unit_test_teardown(faults_in_what_is_not_read_stop_nothing, release_document),
        cmocka_unit_test_teardown(faults_of_real_files_are_named, release_document),
        cmocka_unit_test_teardown(files_without_scenes_or_nodes_are_empty, release_document),
        cmocka_unit_test_teardown(compressed_meshes_are_warned_about, release_document),
        cmocka_unit_test_teardown(files_that_cannot_be_read_are_refused, release_document),
        cmocka_unit_test_teardown(a_bare_node_is_the_identity, release_document),
        cmocka_unit_test_teardown(poses_are_read_as_written, release_document),
        cmocka_unit_test_teardown(a_quaternion_of_another_length_is_scaled_with_a_warning, release_document),
        cmocka_unit_test_teardown(a_mirroring_matrix_gives_a_negative_scale, release_document),
        cmocka_unit_test_teardown(shear_is_warned_about_by_name, release_document),
        cmocka_unit_test_teardown(children_keep_the_order_of_the_file, release_document),
        cmocka_unit_test_teardown(names_of_any_length_are_kept, release_document),
        cmocka_unit_test_teardown(references_come_with_names, release_document),
        cmocka_unit_test_teardown(objects_that_no_node_refers_to_are_not_looked_at, release_document),
        cmocka_unit_test_teardown(a_byte_order_mark_is_skipped, release_document),
        cmocka_unit_test_teardown(the_scene_named_is_shown, release_document),
        cmocka_unit_test_teardown(the_first_scene_is_shown_if_none_is_named, release_document),
        cmocka_unit_test_teardown(all_nodes_are_shown_without_scenes, release_document),
        cmocka_unit_test_teardown(scenes_may_share_nodes, release_document),
        cmocka_unit_test_teardown(later_minor_versions_are_read, release_document),
        cmocka_unit_test_teardown(extensions_are_warned_about_once, release_document),
        cmocka_unit_test_teardown(malformed_lists_of_extensions_are_warned_about, release_document),
        cmocka_unit_test_teardown(warnings_end_at_a_limit, release_document),
        cmocka_unit_test_teardown(faults_of_the_text_are_placed_by_line_and_column, release_document),
        cmocka_unit_test_teardown(nul_bytes_are_refused, release_document),
        cmocka_unit_test_teardown(deep_nesting_is_refused, release_document),
        cmocka_unit_test_teardown(faults_of_the_asset_are_named, release_document),
        cmocka_unit_test_teardown(other_versions_are_refused_by_name, release_document),
        cmocka_unit_test_teardown(faults_of_nodes_are_named, release_document),
        cmocka_unit_test_teardown(faults_of_poses_are_named, release_document),
        cmocka_unit_test_teardown(faults_of_scenes_are_named, release_document),
        cmocka_unit_test_teardown(cycles_are_listed, release_document),
        cmocka_unit_test_teardown(long_chains_are_read, release_document),
        cmocka_unit_test_teardown(every_failing_allocation_is_survived, release_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
