// Reads the JSON of a glTF 2.0 file into a checked forest of nodes.
//
// jansson parses the whole text; then asset, extensions, nodes, scenes and names are read in this order, so that the
// first fault reported is the one nearest to the cause. Values are looked at only where they are read: a broken
// material stops nothing. Links between nodes are checked by giving each node its one parent and then walking down from
// the roots, level by level; what is not reached lies on or below a cycle. Nothing recurses, and every pass is linear
// in the text. All memory comes from the allocation functions that jansson was given, so that a program that counts or
// limits memory sees all of an import.

#include "gltf_document.h"

#include "gltf_source.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXT_BLOCK_SIZE = 64 * 1024,
    DESCRIPTION_SIZE = MI_GLTF_QUOTE_SIZE + 32,
    CYCLE_SHOWN_LIMIT = 8 // nodes of a cycle that a message lists
};

// Hash tables with one seed in every run, so that a run can be compared with another by its count of instructions. The
// first seed that jansson is given stays: a program that reads what strangers made to collide gives it a secret one.
static const size_t HASH_SEED = 0x6D696361;

// A quaternion is made one of unit length silently if it is as far from it as rounding takes it.
static const double UNIT_TOLERANCE = 1e-3;

// A pose stands for a matrix silently if no element differs by more than this part of the largest one.
static const double MATRIX_TOLERANCE = 1e-5;

struct mi_gltf_text {
    struct mi_gltf_text *next;
    size_t used;
    size_t byte_size;
    char bytes[];
};

typedef struct object_kind {
    const char *list;   // where the objects are, as a JSON pointer without its first slash
    const char *member; // where a node refers to one
    const char *noun;
    const char *plural;
} object_kind;

static const object_kind object_kinds[MI_GLTF_KIND_COUNT] = {
    [MI_GLTF_MESH] = {"meshes", "mesh", "mesh", "meshes"},
    [MI_GLTF_CAMERA] = {"cameras", "camera", "camera", "cameras"},
    [MI_GLTF_SKIN] = {"skins", "skin", "skin", "skins"},
    [MI_GLTF_LIGHT] = {"extensions/KHR_lights_punctual/lights", "extensions/KHR_lights_punctual/light", "light",
                       "lights"},
};

const char *mi_gltf_list_of(mi_gltf_kind kind) {
    return object_kinds[kind].list;
}

typedef struct reader {
    mi_gltf_document *document;
    mi_gltf_report *report;
    json_t *root;
    json_t *nodes;                       // NULL: none
    json_t *objects[MI_GLTF_KIND_COUNT]; // the lists that nodes refer into; NULL: none
    bool referred[MI_GLTF_KIND_COUNT];   // whether a node does
} reader;

static mi_gltf_place root_member(const char *member) {
    return (mi_gltf_place){.list = member, .index = -1, .element = -1};
}

static mi_gltf_place member_of(const char *list, size_t index, const char *member) {
    return (mi_gltf_place){.list = list, .index = (int64_t)index, .member = member, .element = -1};
}

static mi_gltf_place element_of(mi_gltf_place place, size_t element) {
    place.element = (int64_t)element;
    return place;
}

// What a value is, in the words of a message.
static const char *describe(const json_t *value, char buffer[DESCRIPTION_SIZE]) {
    char quote[MI_GLTF_QUOTE_SIZE];
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        (void)snprintf(buffer, DESCRIPTION_SIZE, "an array of %zu", json_array_size(value));
        return buffer;
    case JSON_STRING:
        (void)snprintf(buffer, DESCRIPTION_SIZE, "the string %s", mi_gltf_quote(quote, json_string_value(value)));
        return buffer;
    case JSON_INTEGER:
    case JSON_REAL:
        (void)snprintf(buffer, DESCRIPTION_SIZE, "%.9g", json_number_value(value));
        return buffer;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
    default:
        return value ? "null" : "nothing";
    }
}

static mica_result refuse_value(reader *of, mi_gltf_place place, const char *expected, const json_t *found) {
    char buffer[DESCRIPTION_SIZE];
    return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "%s is expected, found %s", expected,
                             describe(found, buffer));
}

static mica_result out_of_memory(reader *of) {
    return mi_gltf_refuse(of->report, MICA_OUT_OF_MEMORY, "out of memory");
}

// Zeroed memory for `count` elements, or NULL; none are allowed and cost one byte.
static void *allocate(reader *of, size_t count, size_t element_size) {
    if (count > (SIZE_MAX - 1) / element_size) {
        return NULL;
    }
    size_t byte_size = count * element_size + (count == 0);
    void *memory = of->document->allocate_memory(byte_size);
    if (memory) {
        memset(memory, 0, byte_size);
    }
    return memory;
}

// Copies a text into the document's blocks; NULL without memory.
static const char *keep_text(reader *of, const char *text, size_t length) {
    struct mi_gltf_text *block = of->document->texts;
    if (!block || block->byte_size - block->used <= length) {
        size_t byte_size = length < TEXT_BLOCK_SIZE ? TEXT_BLOCK_SIZE : length + 1;
        block = allocate(of, byte_size + sizeof *block, 1);
        if (!block) {
            return NULL;
        }
        *block = (struct mi_gltf_text){.next = of->document->texts, .byte_size = byte_size};
        of->document->texts = block;
    }
    char *kept = block->bytes + block->used;
    memcpy(kept, text, length);
    kept[length] = '\0';
    block->used += length + 1;
    return kept;
}

// Reads the optional member "name" of `owner`; *name becomes NULL if there is none.
static mica_result read_name(reader *of, const json_t *owner, mi_gltf_place place, const char **name) {
    const json_t *value = json_object_get(owner, "name");
    *name = NULL;
    if (!value) {
        return MICA_OK;
    }
    place.member = "name";
    if (!json_is_string(value)) {
        return refuse_value(of, place, "a string", value);
    }
    size_t length = json_string_length(value);
    if (memchr(json_string_value(value), '\0', length)) {
        return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "a name without NUL characters is expected");
    }
    *name = keep_text(of, json_string_value(value), length);
    return *name ? MICA_OK : out_of_memory(of);
}

// Reads an index into a list of `count` things. Numbers are reals here; 2.0 is as good an index as 2.
static mica_result read_index(reader *of, const json_t *value, mi_gltf_place place, const char *noun,
                              const char *plural, size_t count, int32_t *index) {
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (number >= 0 && number < (double)count && number == floor(number)) {
        *index = (int32_t)number;
        return MICA_OK;
    }
    char buffer[DESCRIPTION_SIZE];
    const char *found = describe(value, buffer);
    if (count == 0) {
        return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "the file has no %s, found %s", plural, found);
    }
    return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "the index of a %s, 0 to %zu, is expected, found %s", noun,
                             count - 1, found);
}

// Reads the array `name` of `owner`, which may be missing.
static mica_result read_array(reader *of, const json_t *owner, const char *name, mi_gltf_place place, json_t **array) {
    *array = json_object_get(owner, name);
    if (*array && !json_is_array(*array)) {
        return refuse_value(of, place, "an array", *array);
    }
    // Indices are 32 bits wide throughout.
    if (json_array_size(*array) >= INT32_MAX) {
        return mi_gltf_refuse_at(of->report, MICA_LIMIT, place, "fewer than %ld elements are expected, found %zu",
                                 (long)INT32_MAX, json_array_size(*array));
    }
    return MICA_OK;
}

static mica_result refuse_syntax(reader *of, const mi_gltf_source *source, bool contained, const json_error_t *error) {
    if (source->read_error) {
        return mi_gltf_refuse(of->report, MICA_IO, "cannot be read: %s",
                              source->read_error > 0 ? strerror(source->read_error) : "the file became shorter");
    }
    // jansson gives no text where its own bookkeeping found no memory.
    if (json_error_code(error) == json_error_out_of_memory || error->text[0] == '\0') {
        return out_of_memory(of);
    }
    return mi_gltf_refuse(of->report, json_error_code(error) == json_error_stack_overflow ? MICA_LIMIT : MICA_FORMAT,
                          "%sline %d, column %d: JSON is expected: %s", contained ? "chunk at byte 12, " : "",
                          error->line, error->column, error->text);
}

static mica_result parse(reader *of, mi_gltf_source *source) {
    mica_result result = mi_gltf_source_find_json(source, of->report);
    if (result != MICA_OK) {
        return result;
    }
    bool contained = source->json_begin >= 12;
    json_object_seed(HASH_SEED);
    json_error_t error = {0};
    of->root = json_load_callback(mi_gltf_source_read_json, source, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    if (!of->root || source->read_error) {
        return refuse_syntax(of, source, contained, &error);
    }
    if (!json_is_object(of->root)) {
        char buffer[DESCRIPTION_SIZE];
        return mi_gltf_refuse(of->report, MICA_FORMAT, "/: an object is expected, found %s",
                              describe(of->root, buffer));
    }
    return MICA_OK;
}

// The numbers of a version "major.minor".
static bool parse_version(const char *text, int32_t version[2]) {
    for (int32_t part = 0; part < 2; part++) {
        version[part] = 0;
        if (*text < '0' || *text > '9') {
            return false;
        }
        for (; *text >= '0' && *text <= '9'; text++) {
            if (version[part] < 100000) {
                version[part] = version[part] * 10 + (*text - '0');
            }
        }
        if (*text++ != (part == 0 ? '.' : '\0')) {
            return false;
        }
    }
    return true;
}

// Reads the member `name` of the asset, and refuses every version of glTF that 2.0 does not cover.
static mica_result check_version(reader *of, const json_t *asset, const char *name, bool minor_counts) {
    const json_t *value = json_object_get(asset, name);
    mi_gltf_place place = {.list = "asset", .index = -1, .member = name, .element = -1};
    int32_t version[2];
    // Files of glTF 1.0 give a string or a number.
    if (json_is_number(value) && json_number_value(value) < 2) {
        return mi_gltf_refuse_at(of->report, MICA_UNSUPPORTED, place,
                                 "glTF %.1f is not supported; glTF 2.0 is expected", json_number_value(value));
    }
    if (!json_is_string(value) || !parse_version(json_string_value(value), version)) {
        return refuse_value(of, place, "a version such as \"2.0\"", value);
    }
    if (version[0] != 2 || (minor_counts && version[1] > 0)) {
        return mi_gltf_refuse_at(of->report, MICA_UNSUPPORTED, place,
                                 "glTF %.20s is not supported; glTF 2.0 is expected", json_string_value(value));
    }
    return MICA_OK;
}

static mica_result read_asset(reader *of) {
    const json_t *asset = json_object_get(of->root, "asset");
    // In glTF 1.0 the asset and its version may be missing, and lists are objects.
    if (!json_object_get(asset, "version") &&
        (json_is_object(json_object_get(of->root, "nodes")) || json_is_object(json_object_get(of->root, "scenes")))) {
        return mi_gltf_refuse_at(
            of->report, MICA_UNSUPPORTED, root_member("asset"),
            "no version is given, as only glTF 1.0 allows, which is not supported; glTF 2.0 is expected");
    }
    if (!json_is_object(asset)) {
        return refuse_value(of, root_member("asset"), "an object", asset);
    }
    mica_result result = check_version(of, asset, "version", false);
    if (result == MICA_OK && json_object_get(asset, "minVersion")) {
        result = check_version(of, asset, "minVersion", true);
    }
    return result;
}

// Whether an extension, by its name, concerns only what is not read: geometry, materials, textures, metadata.
static bool leaves_nodes_alone(const char *name) {
    static const char *const prefixes[] = {
        "KHR_draco_mesh_compression",
        "KHR_mesh_",
        "KHR_meshopt_",
        "EXT_meshopt_",
        "EXT_mesh_features",
        "EXT_mesh_primitive_",
        "KHR_materials_",
        "EXT_materials_",
        "ADOBE_materials_",
        "MSFT_packing_",
        "KHR_texture_",
        "EXT_texture_",
        "MSFT_texture_",
        "KHR_technique_webgl",
        "KHR_techniques_webgl",
        "KHR_xmp",
        "EXT_structural_metadata",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

// Warns once about each extension of a list that is not in `seen` yet.
static mica_result warn_of_extensions(reader *of, const char *list, const char *verb, json_t *seen) {
    const json_t *extensions = json_object_get(of->root, list);
    if (extensions && !json_is_array(extensions)) {
        mi_gltf_warn_at(of->report, root_member(list), "an array is expected; what the file %s is not known", verb);
    }
    for (size_t i = 0; i < json_array_size(extensions); i++) {
        mi_gltf_place place = {.list = list, .index = (int64_t)i, .element = -1};
        const char *name = json_string_value(json_array_get(extensions, i));
        if (!name) {
            mi_gltf_warn_at(of->report, place, "a string is expected");
            continue;
        }
        if (strcmp(name, "KHR_lights_punctual") == 0 || json_object_get(seen, name)) {
            continue;
        }
        if (json_object_set_new(seen, name, json_true()) != 0) {
            return out_of_memory(of);
        }
        char quote[MI_GLTF_QUOTE_SIZE];
        mi_gltf_warn_at(of->report, place, "the file %s the extension %s, %s", verb, mi_gltf_quote(quote, name),
                        leaves_nodes_alone(name) ? "which concerns only what is not read"
                                                 : "which is not known; nodes may be meant to be others");
    }
    return MICA_OK;
}

static mica_result read_extensions(reader *of) {
    json_t *seen = json_object();
    if (!seen) {
        return out_of_memory(of);
    }
    mica_result result = warn_of_extensions(of, "extensionsRequired", "requires", seen);
    if (result == MICA_OK) {
        result = warn_of_extensions(of, "extensionsUsed", "uses", seen);
    }
    json_decref(seen);
    return result;
}

// Reads an array of `count` numbers that have a place in a float.
static mica_result read_numbers(reader *of, const json_t *value, mi_gltf_place place, size_t count, double *numbers) {
    if (!json_is_array(value) || json_array_size(value) != count) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "an array of %zu numbers", count);
        return refuse_value(of, place, expected, value);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(value, i);
        if (!json_is_number(number)) {
            return refuse_value(of, element_of(place, i), "a number", number);
        }
        numbers[i] = json_number_value(number);
        if (!(fabs(numbers[i]) <= FLT_MAX)) {
            return refuse_value(of, element_of(place, i), "a number that a 32-bit float holds", number);
        }
    }
    return MICA_OK;
}

// Reads three numbers; those that are there stay if `value` is NULL.
static mica_result read_vector(reader *of, const json_t *value, mi_gltf_place place, float vector[3]) {
    double numbers[3];
    if (!value) {
        return MICA_OK;
    }
    mica_result result = read_numbers(of, value, place, 3, numbers);
    for (int32_t i = 0; i < 3 && result == MICA_OK; i++) {
        vector[i] = (float)numbers[i];
    }
    return result;
}

// How a warning names a node.
static const char *name_of_node(const mi_gltf_node *node, char buffer[MI_GLTF_QUOTE_SIZE]) {
    return node->name ? mi_gltf_quote(buffer, node->name) : "the node";
}

static mica_result read_rotation(reader *of, const json_t *value, mi_gltf_place place, mi_gltf_node *node) {
    double numbers[4];
    if (!value) {
        return MICA_OK;
    }
    mica_result result = read_numbers(of, value, place, 4, numbers);
    if (result != MICA_OK) {
        return result;
    }
    double largest = 0;
    for (int32_t i = 0; i < 4; i++) {
        largest = fmax(largest, fabs(numbers[i]));
    }
    if (largest == 0) {
        return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "a unit quaternion is expected, found zero");
    }
    double length = 0;
    for (int32_t i = 0; i < 4; i++) {
        length += numbers[i] / largest * (numbers[i] / largest);
    }
    length = largest * sqrt(length);
    for (int32_t i = 0; i < 4; i++) {
        node->pose.rotation[i] = (float)(numbers[i] / length);
    }
    if (fabs(length - 1) > UNIT_TOLERANCE) {
        char quote[MI_GLTF_QUOTE_SIZE];
        mi_gltf_warn_at(of->report, place,
                        "a unit quaternion is expected; the rotation of %s has length %.6g and is scaled",
                        name_of_node(node, quote), length);
    }
    return MICA_OK;
}

static bool gives_matrix(const mica_transform *pose, const float matrix[16]) {
    float given[16];
    double largest = 0;
    double difference = 0;
    mica_transform_matrix(pose, given);
    for (int32_t i = 0; i < 12; i++) {
        largest = fmax(largest, fabs((double)matrix[i]));
        difference = fmax(difference, fabs((double)given[i] - (double)matrix[i]));
    }
    return difference <= MATRIX_TOLERANCE * largest;
}

static mica_result read_matrix(reader *of, const json_t *value, mi_gltf_place place, mi_gltf_node *node) {
    double numbers[16];
    float matrix[16];
    mica_result result = read_numbers(of, value, place, 16, numbers);
    if (result != MICA_OK) {
        return result;
    }
    for (size_t i = 0; i < 16; i++) {
        matrix[i] = (float)numbers[i];
        if (i % 4 == 3 && numbers[i] != (i == 15)) {
            return refuse_value(of, element_of(place, i), i == 15 ? "1 in the last row" : "0 in the last row",
                                json_array_get(value, i));
        }
    }
    const bool exact = mica_transform_from_matrix(matrix, &node->pose);
    for (int32_t i = 0; i < 3; i++) {
        if (!(fabsf(node->pose.scale[i]) <= FLT_MAX)) {
            return mi_gltf_refuse_at(of->report, MICA_FORMAT, place, "a scale that a 32-bit float holds is expected");
        }
    }
    if (!exact || !gives_matrix(&node->pose, matrix)) {
        char quote[MI_GLTF_QUOTE_SIZE];
        mi_gltf_warn_at(of->report, place,
                        "the matrix of %s has shear; the nearest translation, rotation and scale are taken",
                        name_of_node(node, quote));
    }
    return MICA_OK;
}

static mica_result read_pose(reader *of, const json_t *value, size_t index, mi_gltf_node *node) {
    const json_t *matrix = json_object_get(value, "matrix");
    const json_t *translation = json_object_get(value, "translation");
    const json_t *rotation = json_object_get(value, "rotation");
    const json_t *scale = json_object_get(value, "scale");
    node->pose = (mica_transform)MICA_TRANSFORM_IDENTITY;
    if (matrix && (translation || rotation || scale)) {
        return mi_gltf_refuse_at(of->report, MICA_FORMAT, member_of("nodes", index, "matrix"),
                                 "either a matrix or translation, rotation and scale are expected, found both");
    }
    if (matrix) {
        return read_matrix(of, matrix, member_of("nodes", index, "matrix"), node);
    }
    mica_result result = read_vector(of, translation, member_of("nodes", index, "translation"), node->pose.position);
    if (result == MICA_OK) {
        result = read_rotation(of, rotation, member_of("nodes", index, "rotation"), node);
    }
    if (result == MICA_OK) {
        result = read_vector(of, scale, member_of("nodes", index, "scale"), node->pose.scale);
    }
    return result;
}

// The value by which a node refers to an object of a kind, if it does.
static mica_result find_reference(reader *of, const json_t *value, size_t index, mi_gltf_kind kind,
                                  json_t **reference) {
    *reference = NULL;
    if (kind != MI_GLTF_LIGHT) {
        *reference = json_object_get(value, object_kinds[kind].member);
        return MICA_OK;
    }
    const json_t *extensions = json_object_get(value, "extensions");
    if (!extensions) {
        return MICA_OK;
    }
    if (!json_is_object(extensions)) {
        return refuse_value(of, member_of("nodes", index, "extensions"), "an object", extensions);
    }
    const json_t *lights = json_object_get(extensions, "KHR_lights_punctual");
    if (!lights) {
        return MICA_OK;
    }
    *reference = json_object_get(lights, "light");
    if (!*reference) {
        return refuse_value(of, member_of("nodes", index, "extensions/KHR_lights_punctual"), "an object with \"light\"",
                            lights);
    }
    return MICA_OK;
}

static mica_result read_references(reader *of, const json_t *value, size_t index, mi_gltf_node *node) {
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        const object_kind *about = &object_kinds[kind];
        json_t *reference = NULL;
        node->references[kind] = -1;
        mica_result result = find_reference(of, value, index, kind, &reference);
        if (result != MICA_OK) {
            return result;
        }
        if (!reference) {
            continue;
        }
        // The list is a part that is read from the first reference into it on.
        json_t *objects = of->objects[kind];
        if (objects && !json_is_array(objects)) {
            return refuse_value(of, root_member(about->list), "an array", objects);
        }
        result = read_index(of, reference, member_of("nodes", index, about->member), about->noun, about->plural,
                            json_array_size(objects), &node->references[kind]);
        if (result != MICA_OK) {
            return result;
        }
        of->referred[kind] = true;
    }
    return MICA_OK;
}

// Appends a node's children to the document's. Each node is a child once at most, so that there is always room.
static mica_result read_children(reader *of, const json_t *value, size_t index, int32_t *child_total) {
    mi_gltf_document *document = of->document;
    mi_gltf_place place = member_of("nodes", index, "children");
    json_t *children;
    mica_result result = read_array(of, value, "children", place, &children);
    if (result != MICA_OK) {
        return result;
    }
    mi_gltf_node *node = &document->nodes[index];
    node->first_child = *child_total;
    for (size_t i = 0; i < json_array_size(children); i++) {
        int32_t child = 0;
        result = read_index(of, json_array_get(children, i), element_of(place, i), "node", "nodes",
                            (size_t)document->node_count, &child);
        if (result != MICA_OK) {
            return result;
        }
        int32_t parent = document->nodes[child].parent;
        if (parent >= 0) {
            return mi_gltf_refuse_at(of->report, MICA_FORMAT, element_of(place, i),
                                     "a node without another parent is expected, but node %ld is a child of node %ld",
                                     (long)child, (long)parent);
        }
        document->nodes[child].parent = (int32_t)index;
        document->children[(*child_total)++] = child;
        node->child_count++;
    }
    return MICA_OK;
}

static mica_result read_nodes(reader *of) {
    mi_gltf_document *document = of->document;
    mica_result result = read_array(of, of->root, "nodes", root_member("nodes"), &of->nodes);
    if (result != MICA_OK) {
        return result;
    }
    size_t count = json_array_size(of->nodes);
    document->nodes = allocate(of, count, sizeof *document->nodes);
    document->children = allocate(of, count, sizeof *document->children);
    document->order = allocate(of, count, sizeof *document->order);
    if (!document->nodes || !document->children || !document->order) {
        return out_of_memory(of);
    }
    document->node_count = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        document->nodes[i].parent = -1;
    }
    int32_t child_total = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(of->nodes, i);
        mi_gltf_node *node = &document->nodes[i];
        if (!json_is_object(value)) {
            return refuse_value(of, member_of("nodes", i, NULL), "an object", value);
        }
        result = read_name(of, value, member_of("nodes", i, NULL), &node->name);
        if (result == MICA_OK) {
            result = read_pose(of, value, i, node);
        }
        if (result == MICA_OK) {
            result = read_references(of, value, i, node);
        }
        if (result == MICA_OK) {
            result = read_children(of, value, i, &child_total);
        }
        if (result != MICA_OK) {
            return result;
        }
    }
    return MICA_OK;
}

// Refuses the cycle above a node that cannot be reached from a root, beginning with the cycle's first node in the file.
static mica_result refuse_cycle(reader *of, int32_t unreached) {
    const mi_gltf_node *nodes = of->document->nodes;
    int32_t inside = unreached;
    for (int32_t i = 0; i < of->document->node_count; i++) {
        inside = nodes[inside].parent;
    }
    int32_t first = inside;
    int32_t length = 1;
    for (int32_t node = nodes[inside].parent; node != inside; node = nodes[node].parent) {
        first = node < first ? node : first;
        length++;
    }
    char list[CYCLE_SHOWN_LIMIT * 16] = "";
    size_t used = 0;
    int32_t node = first;
    for (int32_t i = 0; i < length && i < CYCLE_SHOWN_LIMIT; i++) {
        node = nodes[node].parent;
        used += (size_t)snprintf(list + used, sizeof list - used, ", child of %ld", (long)node);
    }
    return mi_gltf_refuse_at(of->report, MICA_CYCLE, member_of("nodes", (size_t)first, NULL),
                             "a node that is not below itself is expected, found a cycle of %ld: %ld%s%s", (long)length,
                             (long)first, list, length > CYCLE_SHOWN_LIMIT ? ", ..." : "");
}

// Puts the nodes into an order in which parents come first, or finds a cycle.
static mica_result order_nodes(reader *of) {
    mi_gltf_document *document = of->document;
    int32_t ordered = 0;
    for (int32_t i = 0; i < document->node_count; i++) {
        if (document->nodes[i].parent < 0) {
            document->order[ordered++] = i;
        }
    }
    for (int32_t next = 0; next < ordered; next++) {
        const mi_gltf_node *node = &document->nodes[document->order[next]];
        for (int32_t i = 0; i < node->child_count; i++) {
            document->order[ordered++] = document->children[node->first_child + i];
        }
    }
    if (ordered == document->node_count) {
        return MICA_OK;
    }
    bool *reached = allocate(of, (size_t)document->node_count, sizeof *reached);
    if (!reached) {
        return out_of_memory(of);
    }
    for (int32_t i = 0; i < ordered; i++) {
        reached[document->order[i]] = true;
    }
    int32_t unreached = 0;
    while (reached[unreached]) {
        unreached++;
    }
    document->free_memory(reached);
    return refuse_cycle(of, unreached);
}

// Checks the nodes of a scene, and shows them if it is the one. `listed_by` holds for each node the scene that last
// listed it.
static mica_result read_scene_nodes(reader *of, const json_t *scene, size_t index, bool shown, int32_t *listed_by) {
    mi_gltf_place place = member_of("scenes", index, "nodes");
    mi_gltf_document *document = of->document;
    json_t *nodes;
    mica_result result = read_array(of, scene, "nodes", place, &nodes);
    for (size_t i = 0; result == MICA_OK && i < json_array_size(nodes); i++) {
        int32_t node = 0;
        result = read_index(of, json_array_get(nodes, i), element_of(place, i), "node", "nodes",
                            (size_t)document->node_count, &node);
        if (result != MICA_OK) {
            break;
        }
        if (document->nodes[node].parent >= 0) {
            return mi_gltf_refuse_at(of->report, MICA_FORMAT, element_of(place, i),
                                     "a root node is expected, but node %ld is a child of node %ld", (long)node,
                                     (long)document->nodes[node].parent);
        }
        if (listed_by[node] == (int32_t)index) {
            return mi_gltf_refuse_at(of->report, MICA_FORMAT, element_of(place, i),
                                     "every node once is expected, but node %ld is listed twice", (long)node);
        }
        listed_by[node] = (int32_t)index;
        document->nodes[node].shown = document->nodes[node].shown || shown;
    }
    return result;
}

static mica_result read_scene_list(reader *of, const json_t *scenes, int32_t shown_scene) {
    int32_t *listed_by = allocate(of, (size_t)of->document->node_count, sizeof *listed_by);
    if (!listed_by) {
        return out_of_memory(of);
    }
    for (int32_t i = 0; i < of->document->node_count; i++) {
        listed_by[i] = -1;
    }
    mica_result result = MICA_OK;
    for (size_t i = 0; result == MICA_OK && i < json_array_size(scenes); i++) {
        const json_t *scene = json_array_get(scenes, i);
        const char *name;
        if (!json_is_object(scene)) {
            result = refuse_value(of, member_of("scenes", i, NULL), "an object", scene);
            break;
        }
        result = read_name(of, scene, member_of("scenes", i, NULL), &name);
        if (result == MICA_OK) {
            result = read_scene_nodes(of, scene, i, (int32_t)i == shown_scene, listed_by);
        }
    }
    of->document->free_memory(listed_by);
    return result;
}

// Shows what hangs below the roots that are shown.
static void show_descendants(reader *of, int32_t shown_scene) {
    mi_gltf_document *document = of->document;
    for (int32_t i = 0; i < document->node_count; i++) {
        mi_gltf_node *node = &document->nodes[document->order[i]];
        if (node->parent >= 0) {
            node->shown = document->nodes[node->parent].shown;
        }
        document->shown_count += node->shown;
    }
    if (document->shown_count < document->node_count) {
        mi_gltf_warn_at(of->report, member_of("scenes", (size_t)shown_scene, "nodes"),
                        "%ld of %ld nodes are not in the scene shown and are left out",
                        (long)(document->node_count - document->shown_count), (long)document->node_count);
    }
}

static mica_result read_scenes(reader *of) {
    json_t *scenes;
    mica_result result = read_array(of, of->root, "scenes", root_member("scenes"), &scenes);
    if (result != MICA_OK) {
        return result;
    }
    const json_t *shown = json_object_get(of->root, "scene");
    size_t scene_count = json_array_size(scenes);
    int32_t shown_scene = 0;
    if (shown) {
        // A file without scenes may still name one: it means all there is.
        result = read_index(of, shown, root_member("scene"), "scene", "scenes",
                            scene_count > 0 ? scene_count : (size_t)INT32_MAX, &shown_scene);
        if (result != MICA_OK) {
            return result;
        }
    }
    if (scene_count > 0) {
        result = read_scene_list(of, scenes, shown_scene);
        if (result != MICA_OK) {
            return result;
        }
    } else {
        if (shown) {
            mi_gltf_warn_at(of->report, root_member("scene"), "the file has no scenes; all nodes are taken");
        }
        for (int32_t i = 0; i < of->document->node_count; i++) {
            of->document->nodes[i].shown = true;
        }
    }
    show_descendants(of, shown_scene);
    return MICA_OK;
}

static mica_result read_object_names(reader *of) {
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        if (!of->referred[kind]) {
            continue;
        }
        mi_gltf_names *names = &of->document->names[kind];
        const char *list = object_kinds[kind].list;
        size_t count = json_array_size(of->objects[kind]);
        names->names = allocate(of, count, sizeof *names->names);
        if (!names->names) {
            return out_of_memory(of);
        }
        names->count = (int32_t)count;
        for (size_t i = 0; i < count; i++) {
            const json_t *object = json_array_get(of->objects[kind], i);
            if (!json_is_object(object)) {
                return refuse_value(of, member_of(list, i, NULL), "an object", object);
            }
            mica_result result = read_name(of, object, member_of(list, i, NULL), &names->names[i]);
            if (result != MICA_OK) {
                return result;
            }
        }
    }
    return MICA_OK;
}

static mica_result read_document(reader *of) {
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_LIGHT; kind++) {
        of->objects[kind] = json_object_get(of->root, object_kinds[kind].list);
    }
    const json_t *extensions = json_object_get(of->root, "extensions");
    of->objects[MI_GLTF_LIGHT] = json_object_get(json_object_get(extensions, "KHR_lights_punctual"), "lights");
    static mica_result (*const passes[])(reader *) = {
        read_asset, read_extensions, read_nodes, order_nodes, read_scenes, read_object_names,
    };
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        mica_result result = passes[i](of);
        if (result != MICA_OK) {
            return result;
        }
    }
    return MICA_OK;
}

static mica_result read_source(mi_gltf_document *document, mi_gltf_source *source, mi_gltf_report *report) {
    reader of = {.document = document, .report = report};
    json_get_alloc_funcs(&document->allocate_memory, &document->free_memory);
    mica_result result = parse(&of, source);
    if (result == MICA_OK) {
        result = read_document(&of);
    }
    json_decref(of.root);
    mi_gltf_source_close(source);
    if (result != MICA_OK) {
        mi_gltf_document_release(document);
    }
    return result;
}

mica_result mi_gltf_document_read_file(mi_gltf_document *document, const char *path, mi_gltf_report *report) {
    *document = (mi_gltf_document){0};
    mi_gltf_source source;
    mica_result result = mi_gltf_source_open(&source, path, report);
    return result == MICA_OK ? read_source(document, &source, report) : result;
}

mica_result mi_gltf_document_read_memory(mi_gltf_document *document, const void *bytes, size_t byte_size,
                                         mi_gltf_report *report) {
    *document = (mi_gltf_document){0};
    mi_gltf_source source;
    mi_gltf_source_open_memory(&source, bytes, byte_size);
    return read_source(document, &source, report);
}

void mi_gltf_document_release(mi_gltf_document *document) {
    if (document->free_memory) {
        for (struct mi_gltf_text *text = document->texts; text;) {
            struct mi_gltf_text *next = text->next;
            document->free_memory(text);
            text = next;
        }
        for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
            document->free_memory((void *)document->names[kind].names);
        }
        document->free_memory(document->nodes);
        document->free_memory(document->children);
        document->free_memory(document->order);
    }
    *document = (mi_gltf_document){0};
}
