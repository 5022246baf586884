// Writing a world as a JSON scene.
//
// Entities are numbered first: roots in order of visit, each followed by its descendants in pre-order, so that siblings
// stand in their order and a file that is loaded and saved again stays the same. Each component is turned into JSON and
// printed by itself, so that memory does not grow with the world; floats are printed with nine digits, which give every
// float back, components with doubles with seventeen. Components stand in order of name: order of registration does not
// show.
#include "json_value.h"

#include <mica/mica.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scene_writer {
    mica_world *world;
    const mica_schema *schema;
    mi_save_report report;
    FILE *file;
    mica_entity *entities; // by position
    int32_t entity_count;
    uint32_t *position_of; // position + 1 by slot index; 0: none
    uint32_t slot_count;
    uint32_t *rank; // by component id: place in the order of names
    uint8_t *state; // by component id: what is known of the type
    mica_component name_component;
    uint64_t dangling_count; // entity fields that named no living entity
} scene_writer;

enum { STATE_UNKNOWN, STATE_WRITTEN, STATE_WRITTEN_DOUBLE, STATE_LEFT_OUT };

static mica_result refuse_memory(scene_writer *writer) {
    return mi_save_refuse(&writer->report, MICA_OUT_OF_MEMORY, "out of memory");
}

static void add_entity(scene_writer *writer, mica_entity entity) {
    writer->entities[writer->entity_count++] = entity;
    writer->position_of[mica_entity_index(entity)] = (uint32_t)writer->entity_count;
}

// Adds an entity and its descendants in pre-order.
static void add_tree(scene_writer *writer, mica_entity root) {
    mica_entity entity = root;
    add_entity(writer, entity);
    for (;;) {
        mica_entity next = mica_first_child(writer->world, entity);
        while (mica_entity_is_null(next) && !mica_entity_equal(entity, root)) {
            next = mica_next_sibling(writer->world, entity);
            if (mica_entity_is_null(next)) {
                entity = mica_parent(writer->world, entity);
            }
        }
        if (mica_entity_is_null(next)) {
            return;
        }
        entity = next;
        add_entity(writer, entity);
    }
}

static mica_result number_entities(scene_writer *writer) {
    const size_t count = (size_t)mica_world_entity_count(writer->world);
    writer->slot_count = mica_world_statistics(writer->world).slot_count + 1;
    writer->entities = malloc((count + 1) * sizeof(mica_entity));
    writer->position_of = calloc(writer->slot_count, sizeof(uint32_t));
    mica_query *all = mica_query_find(writer->world, NULL, 0);
    if (writer->entities == NULL || writer->position_of == NULL || all == NULL) {
        return refuse_memory(writer);
    }
    bool walked = false;
    mica_each (all, it) {
        walked = true;
        for (int32_t i = 0; i < it.count; i++) {
            if (mica_entity_is_null(mica_parent(writer->world, it.entities[i]))) {
                add_tree(writer, it.entities[i]);
            }
        }
    }
    return walked || count == 0 ? MICA_OK : refuse_memory(writer);
}

// The order of names, by counting for each type how many come before it; schemas are small beside worlds, and it is
// done once a file.
typedef struct named_type {
    const char *name;
    mica_component id;
} named_type;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const named_type *)a)->name, ((const named_type *)b)->name);
}

static mica_result rank_types(scene_writer *writer) {
    const int32_t count = mica_schema_count(writer->schema);
    named_type *types = malloc(((size_t)count + 1) * sizeof(named_type));
    writer->rank = calloc((size_t)count + 1, sizeof(uint32_t));
    writer->state = calloc((size_t)count + 1, 1);
    if (types == NULL || writer->rank == NULL || writer->state == NULL) {
        free(types);
        return refuse_memory(writer);
    }
    for (int32_t i = 0; i < count; i++) {
        types[i] =
            (named_type){mica_schema_info(writer->schema, (mica_component)(i + 1))->name, (mica_component)(i + 1)};
    }
    qsort(types, (size_t)count, sizeof(named_type), compare_names);
    for (int32_t i = 0; i < count; i++) {
        writer->rank[types[i].id] = (uint32_t)i;
    }
    free(types);
    return MICA_OK;
}

static int64_t entity_id(void *user, mica_entity entity) {
    scene_writer *writer = user;
    if (mica_entity_is_null(entity)) {
        return -1;
    }
    if (!mica_entity_alive(writer->world, entity)) {
        writer->dangling_count++;
        return -1;
    }
    return (int64_t)writer->position_of[mica_entity_index(entity)] - 1;
}

// Decides once whether and how values of a type are written.
static mica_result look_at_type(scene_writer *writer, mica_component id) {
    const mica_component_info *info = mica_schema_info(writer->schema, id);
    if (info->transient || id == writer->name_component) {
        writer->state[id] = STATE_LEFT_OUT;
        return MICA_OK;
    }
    if (info->hooks.destruct != NULL) {
        writer->state[id] = STATE_LEFT_OUT;
        return mi_save_warn(&writer->report, MICA_UNKNOWN, "%s owns something and is not written", info->name);
    }
    writer->state[id] = mi_type_has_doubles(writer->schema, id) ? STATE_WRITTEN_DOUBLE : STATE_WRITTEN;
    return MICA_OK;
}

// The ids of an entity's components that are written, in order of name. Returns their number, -1 on failure.
static int32_t written_components(scene_writer *writer, mica_entity entity, mica_component *ids, int32_t capacity) {
    const int32_t count = mica_entity_components(writer->world, entity, ids, capacity);
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        const mica_component id = ids[i];
        if (writer->state[id] == STATE_UNKNOWN && look_at_type(writer, id) != MICA_OK) {
            return -1;
        }
        if (writer->state[id] == STATE_LEFT_OUT) {
            continue;
        }
        int32_t place = kept++;
        while (place > 0 && writer->rank[ids[place - 1]] > writer->rank[id]) {
            ids[place] = ids[place - 1];
            place--;
        }
        ids[place] = id;
    }
    return kept;
}

// Prints a piece of JSON and lets go of it; NULL stands for memory that was not there.
static bool print_json(scene_writer *writer, json_t *json, size_t flags) {
    const bool printed = json != NULL && json_dumpf(json, writer->file, flags | JSON_ENCODE_ANY) == 0;
    json_decref(json);
    return printed;
}

static bool write_component(scene_writer *writer, mica_entity entity, mica_component id) {
    const mica_component_info *info = mica_schema_info(writer->schema, id);
    const mi_value_writer values = {.schema = writer->schema, .entity_id = entity_id, .user = writer};
    const void *value = info->size == 0 ? NULL : mica_entity_get(writer->world, entity, id);
    const size_t precision = writer->state[id] == STATE_WRITTEN_DOUBLE ? 17 : 9;
    return print_json(writer, json_string(info->name), 0) && fputs(": ", writer->file) >= 0 &&
           print_json(writer, mi_value_to_json(&values, id, value), JSON_REAL_PRECISION(precision));
}

static mica_result write_entity(scene_writer *writer, int32_t position) {
    mica_component on_stack[256];
    mica_component *ids = on_stack;
    const mica_entity entity = writer->entities[position];
    const int32_t all = mica_entity_components(writer->world, entity, NULL, 0);
    if (all > (int32_t)(sizeof(on_stack) / sizeof(on_stack[0]))) {
        ids = malloc((size_t)all * sizeof(mica_component));
    }
    const int32_t count = ids == NULL ? -1 : written_components(writer, entity, ids, all);
    bool fine = count >= 0 && fprintf(writer->file, "%s\n    {\"id\": %d", position == 0 ? "" : ",", position) > 0;
    if (fine && mica_entity_has(writer->world, entity, writer->name_component)) {
        const char *name = mica_name_of(writer->world, entity);
        json_t *json = json_string(name);
        if (json == NULL) { // no UTF-8
            mi_save_warn(&writer->report, MICA_INVALID, "the name of entity %d is no UTF-8 and is left out", position);
        } else {
            fine = fputs(", \"name\": ", writer->file) >= 0 && print_json(writer, json, 0);
        }
    }
    for (int32_t i = 0; fine && i < count; i++) {
        fine =
            fputs(i == 0 ? ", \"components\": {" : ", ", writer->file) >= 0 && write_component(writer, entity, ids[i]);
    }
    fine = fine && fputs(count > 0 ? "}}" : "}", writer->file) >= 0;
    if (ids != on_stack) {
        free(ids);
    }
    if (fine || writer->report.code != MICA_OK) {
        return writer->report.code;
    }
    return mi_save_refuse(&writer->report, MICA_IO, "could not write entity %d: %s", position, strerror(errno));
}

static mica_result write_file(scene_writer *writer) {
    if (fputs("{\"mica\": 1, \"entities\": [", writer->file) < 0) {
        return mi_save_refuse(&writer->report, MICA_IO, "could not write: %s", strerror(errno));
    }
    for (int32_t i = 0; i < writer->entity_count; i++) {
        const mica_result result = write_entity(writer, i);
        if (result != MICA_OK) {
            return result;
        }
    }
    if (fputs("\n]}\n", writer->file) < 0 || fflush(writer->file) != 0) {
        return mi_save_refuse(&writer->report, MICA_IO, "could not write: %s", strerror(errno));
    }
    if (writer->dangling_count > 0) {
        return mi_save_warn(&writer->report, MICA_STALE, "%llu entity fields named no living entity and became null",
                            (unsigned long long)writer->dangling_count);
    }
    return MICA_OK;
}

// Writes beside the file, then renames, so that a failure leaves an old file as it was.
static mica_result write_and_rename(scene_writer *writer, const char *path) {
    const size_t size = strlen(path) + 5;
    char *aside = malloc(size);
    if (aside == NULL) {
        return refuse_memory(writer);
    }
    snprintf(aside, size, "%s.tmp", path);
    mica_result result = MICA_OK;
    writer->file = fopen(aside, "wb");
    if (writer->file == NULL) {
        result = mi_save_refuse(&writer->report, MICA_IO, "could not create %s: %s", aside, strerror(errno));
    } else {
        result = write_file(writer);
        if (fclose(writer->file) != 0 && result == MICA_OK) {
            result = mi_save_refuse(&writer->report, MICA_IO, "could not write: %s", strerror(errno));
        }
        if (result == MICA_OK && rename(aside, path) != 0) {
            result = mi_save_refuse(&writer->report, MICA_IO, "could not rename %s: %s", aside, strerror(errno));
        }
        if (result != MICA_OK) {
            remove(aside);
        }
    }
    free(aside);
    return result;
}

mica_result mica_scene_save(mica_world *world, const char *path, const mica_save_options *options, char *message) {
    scene_writer writer = {.world = world};
    mi_save_report_init(&writer.report, path, options);
    mica_result result = MICA_OK;
    if (world == NULL || path == NULL) {
        result = mi_save_refuse(&writer.report, MICA_INVALID, "needs a world and a path");
    } else {
        writer.schema = mica_world_schema(world);
        writer.name_component = mica_world_register(world, mica_type_of(mica_name));
        result = writer.name_component == 0 ? refuse_memory(&writer) : number_entities(&writer);
    }
    if (result == MICA_OK) {
        result = rank_types(&writer);
    }
    if (result == MICA_OK) {
        result = write_and_rename(&writer, path);
    }
    free(writer.entities);
    free(writer.position_of);
    free(writer.rank);
    free(writer.state);
    if (message != NULL) {
        memcpy(message, writer.report.text, MICA_SAVE_MESSAGE_SIZE);
    }
    return result;
}
