// Makes the nodes of a glTF document entities of a world.
//
// Entities come to be in the order of the file's nodes, in runs of nodes with the same components, so that their
// handles and their rows have that order too. Links are made at once when all entities are there. What fails half-way
// is undone: the entities made so far have no links yet, or all links were refused together, so that destroying them
// restores the world.

#include <mica/gltf.h>

#include "gltf_document.h"

#include <mica/hierarchy.h>
#include <mica/name.h>
#include <mica/transform.h>

#include <stdio.h>
#include <string.h>

enum {
    RUN_LIMIT = 256, // nodes that are spawned by one call
    COLUMN_LIMIT = 2 + MI_GLTF_KIND_COUNT
};

_Static_assert(MI_MESSAGE_SIZE == MICA_GLTF_MESSAGE_SIZE, "the message is the report's text");
_Static_assert(sizeof(mica_mesh_ref) == sizeof(mica_camera_ref) && sizeof(mica_mesh_ref) == sizeof(mica_skin_ref) &&
                   sizeof(mica_mesh_ref) == sizeof(mica_light_ref),
               "references are filled in alike");

static mica_type *const reference_types[MI_GLTF_KIND_COUNT] = {
    [MI_GLTF_MESH] = mica_type_of(mica_mesh_ref),
    [MI_GLTF_CAMERA] = mica_type_of(mica_camera_ref),
    [MI_GLTF_SKIN] = mica_type_of(mica_skin_ref),
    [MI_GLTF_LIGHT] = mica_type_of(mica_light_ref),
};

// Values of a run of nodes, column by column.
typedef struct run_values {
    mica_transform transforms[RUN_LIMIT];
    mica_name names[RUN_LIMIT];
    mica_mesh_ref references[MI_GLTF_KIND_COUNT][RUN_LIMIT];
} run_values;

typedef struct loader {
    mica_world *world;
    const mi_gltf_document *document;
    mi_gltf_report *report;
    mica_gltf_scene *scene;
} loader;

static mica_result out_of_memory(loader *of) {
    return mi_gltf_refuse(of->report, MICA_OUT_OF_MEMORY, "out of memory");
}

// What the world refused, in its own words.
static mica_result refused(loader *of, mica_result result) {
    return mi_gltf_refuse(of->report, result, "%s", mica_last_error());
}

// A bit for each component that a node gets beside its transform; nodes that are not shown have one that no other has.
static uint32_t components_of(const mi_gltf_node *node) {
    uint32_t components = node->name ? 1U : 0U;
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        components |= (node->references[kind] >= 0 ? 2U : 0U) << kind;
    }
    return node->shown ? components : UINT32_MAX;
}

static void fill_in(const mi_gltf_document *document, const mi_gltf_node *node, run_values *values, int32_t row) {
    values->transforms[row] = node->pose;
    values->names[row].text = node->name;
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        mica_mesh_ref *reference = &values->references[kind][row];
        *reference = (mica_mesh_ref){.index = node->references[kind]};
        if (reference->index >= 0) {
            const char *name = document->names[kind].names[reference->index];
            memcpy(reference->name, name ? name : "", name ? mi_prefix_size(name, MICA_GLTF_NAME_SIZE - 1) : 0);
        }
    }
}

// Spawns nodes that follow each other and have the same components.
static mica_result spawn_run(loader *of, int32_t first, int32_t count, run_values *values) {
    const mi_gltf_node *nodes = of->document->nodes + first;
    for (int32_t row = 0; row < count; row++) {
        fill_in(of->document, &nodes[row], values, row);
    }
    mica_column columns[COLUMN_LIMIT] = {{.type = mica_type_of(mica_transform), .value = values->transforms}};
    int32_t column_count = 1;
    if (nodes->name) {
        columns[column_count++] = (mica_column){.type = mica_type_of(mica_name), .value = values->names};
    }
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        if (nodes->references[kind] >= 0) {
            columns[column_count++] = (mica_column){.type = reference_types[kind], .value = values->references[kind]};
        }
    }
    mica_result result = mica_entity_spawn_many(of->world, columns, column_count, count, of->scene->entities + first);
    if (result != MICA_OK) {
        return refused(of, result);
    }
    of->scene->entity_count += count;
    return MICA_OK;
}

static mica_result spawn_nodes(loader *of) {
    run_values *values = of->document->allocate_memory(sizeof *values);
    if (!values) {
        return out_of_memory(of);
    }
    mica_result result = MICA_OK;
    const mi_gltf_node *nodes = of->document->nodes;
    for (int32_t first = 0; first < of->document->node_count && result == MICA_OK;) {
        const uint32_t components = components_of(&nodes[first]);
        int32_t end = first + 1;
        while (end < of->document->node_count && end - first < RUN_LIMIT && components_of(&nodes[end]) == components) {
            end++;
        }
        if (nodes[first].shown) {
            result = spawn_run(of, first, end - first, values);
        }
        first = end;
    }
    of->document->free_memory(values);
    return result;
}

// Writes down each child that is shown and its parent, the children of one parent in their order, and returns how many.
static int32_t list_links(loader *of, mica_entity *children, mica_entity *parents) {
    const mi_gltf_document *document = of->document;
    const mica_entity *entities = of->scene->entities;
    int32_t link_count = 0;
    for (int32_t i = 0; i < document->node_count; i++) {
        const mi_gltf_node *node = &document->nodes[i];
        for (int32_t k = 0; k < node->child_count && node->shown; k++) {
            children[link_count] = entities[document->children[node->first_child + k]];
            parents[link_count] = entities[i];
            link_count++;
        }
    }
    return link_count;
}

static mica_result link_nodes(loader *of) {
    const mi_gltf_document *document = of->document;
    const size_t byte_size = (size_t)of->scene->entity_count * sizeof(mica_entity) + 1;
    mica_entity *children = document->allocate_memory(byte_size);
    mica_entity *parents = document->allocate_memory(byte_size);
    mica_result result = MICA_OK;
    if (!children || !parents) {
        result = out_of_memory(of);
    } else {
        const int32_t link_count = list_links(of, children, parents);
        if (link_count > 0) {
            result = mica_entity_set_parent_many(of->world, children, parents, link_count);
        }
        if (result != MICA_OK) {
            (void)refused(of, result);
        }
    }
    document->free_memory(children);
    document->free_memory(parents);
    return result;
}

static void destroy_entities(loader *of) {
    mica_entity *entities = of->scene->entities;
    int32_t count = 0;
    for (int32_t i = 0; i < of->document->node_count; i++) {
        if (!mica_entity_is_null(entities[i])) {
            entities[count++] = entities[i];
        }
    }
    if (count > 0) {
        (void)mica_entity_destroy_many(of->world, entities, count);
    }
}

static void warn_of_cut_names(loader *of) {
    for (mi_gltf_kind kind = 0; kind < MI_GLTF_KIND_COUNT; kind++) {
        const mi_gltf_names *names = &of->document->names[kind];
        for (int32_t i = 0; i < names->count; i++) {
            if (names->names[i] && strlen(names->names[i]) >= MICA_GLTF_NAME_SIZE) {
                const mi_gltf_place place = {mi_gltf_list_of(kind), i, "name", -1};
                mi_gltf_warn_at(of->report, place, "the name is cut to %d bytes", MICA_GLTF_NAME_SIZE - 1);
            }
        }
    }
}

static mica_result load_document(loader *of) {
    // No product overflows: the document holds its nodes, and these are larger.
    const mi_gltf_document *document = of->document;
    const size_t byte_size = (size_t)document->node_count * sizeof *of->scene->entities + 1;
    of->scene->entities = document->allocate_memory(byte_size);
    of->scene->release = document->free_memory;
    if (!of->scene->entities) {
        return out_of_memory(of);
    }
    memset(of->scene->entities, 0, byte_size);
    of->scene->node_count = document->node_count;
    warn_of_cut_names(of);
    mica_result result = spawn_nodes(of);
    if (result == MICA_OK) {
        result = link_nodes(of);
    }
    if (result != MICA_OK) {
        destroy_entities(of);
    }
    return result;
}

static void say(const mica_log_handler *log, mica_log_level level, const char *text) {
    if (log->function) {
        log->function(log->user, level, text);
    }
}

static void pass_warning_on(void *user, const char *text) {
    say(user, MICA_LOG_WARNING, text);
}

// Where the bytes are: a path, or else memory.
typedef struct input {
    const char *path;
    const void *bytes;
    size_t byte_size;
} input;

static mica_result load(mica_world *world, const input *from, const char *label, const mica_gltf_options *options,
                        mica_gltf_scene *scene) {
    if (!scene) {
        return MICA_INVALID;
    }
    *scene = (mica_gltf_scene){0};
    mica_log_handler log = options ? options->log : (mica_log_handler){0};
    mi_gltf_report report = {.label = label, .warning = pass_warning_on, .user = &log};
    mi_gltf_document document = {0};
    loader of = {.world = world, .document = &document, .report = &report, .scene = scene};
    mica_result result = MICA_OK;
    if (!world || (!from->path && !from->bytes)) {
        (void)mi_gltf_refuse(&report, MICA_INVALID, "a world and a file are expected, found no %s",
                             world ? "file" : "world");
        result = MICA_INVALID;
    } else if (from->path) {
        result = mi_gltf_document_read_file(&document, from->path, &report);
    } else {
        result = mi_gltf_document_read_memory(&document, from->bytes, from->byte_size, &report);
    }
    if (result == MICA_OK) {
        result = load_document(&of);
    }
    mi_gltf_document_release(&document);
    if (result != MICA_OK) {
        mica_gltf_scene_release(scene);
        memcpy(scene->message, report.text, sizeof scene->message);
        say(&log, MICA_LOG_ERROR, scene->message);
    }
    return result;
}

mica_result mica_gltf_load(mica_world *world, const char *path, const mica_gltf_options *options,
                           mica_gltf_scene *scene) {
    return load(world, &(input){.path = path}, path, options, scene);
}

mica_result mica_gltf_load_memory(mica_world *world, const void *bytes, size_t byte_size, const char *label,
                                  const mica_gltf_options *options, mica_gltf_scene *scene) {
    return load(world, &(input){.bytes = bytes, .byte_size = byte_size}, label, options, scene);
}

void mica_gltf_scene_release(mica_gltf_scene *scene) {
    if (scene && scene->release) {
        scene->release(scene->entities);
    }
    if (scene) {
        *scene = (mica_gltf_scene){0};
    }
}
