// Reading a JSON scene into a world.
//
// An entity is spawned with all its components at once. What its entity fields name may come later in the file, so they
// are null at first and filled in when all entities are there; children are linked at the end, all at once. A failure
// at any point destroys what was made.
#include "json_value.h"

#include <mica/mica.h>

#include <stdlib.h>
#include <string.h>

// An entity field to be filled in.
typedef struct pending_field {
    int32_t position;
    mica_component component;
    mi_entity_field field;
} pending_field;

typedef struct id_place {
    int64_t id;
    int32_t position;
} id_place;

typedef struct scene_reader {
    mica_world *world;
    const mica_schema *schema;
    mi_save_report *report;
    mi_value_reader values;
    json_t *unknown; // names of components that were warned about
    mica_component name_component;
    mica_component child_of;
    int32_t entity_count;
    mica_entity *entities; // by position
    id_place *places;      // ascending by id
    pending_field *fixups;
    size_t fixup_count;
    size_t fixup_capacity;
    int32_t position;         // of the entity being read
    mica_component component; // being read
    uint8_t *memory;          // values of the entity being read
    size_t memory_size;
    mica_value *spawn; // its components
} scene_reader;

// Every value is laid at a multiple of the largest alignment there is: simple, and its memory is used again for each
// entity.
#define VALUE_ALIGN ((size_t)MICA_ALIGN_MAX)

static mica_result refuse_memory(scene_reader *reader) {
    return mi_save_refuse(reader->report, MICA_OUT_OF_MEMORY, "out of memory");
}

static bool add_fixup(void *user, const mi_entity_field *field) {
    scene_reader *reader = user;
    if (reader->fixup_count == reader->fixup_capacity) {
        const size_t capacity = reader->fixup_capacity == 0 ? 64 : reader->fixup_capacity * 2;
        pending_field *grown = realloc(reader->fixups, capacity * sizeof(pending_field));
        if (grown == NULL) {
            return false;
        }
        reader->fixups = grown;
        reader->fixup_capacity = capacity;
    }
    reader->fixups[reader->fixup_count++] =
        (pending_field){.position = reader->position, .component = reader->component, .field = *field};
    return true;
}

// Ids

static int compare_places(const void *a, const void *b) {
    const int64_t left = ((const id_place *)a)->id;
    const int64_t right = ((const id_place *)b)->id;
    return (left > right) - (left < right);
}

static mica_result read_ids(scene_reader *reader, json_t *entities) {
    bool ascending = true;
    for (int32_t i = 0; i < reader->entity_count; i++) {
        const json_t *entity = json_array_get(entities, (size_t)i);
        if (!json_is_object(entity)) {
            return mi_save_refuse(reader->report, MICA_FORMAT, "/entities/%d: expected an object", i);
        }
        const json_t *id = json_object_get(entity, "id");
        if (!json_is_integer(id) || json_integer_value(id) < 0) {
            return mi_save_refuse(reader->report, MICA_FORMAT,
                                  "/entities/%d/id: expected an integer that is not negative", i);
        }
        reader->places[i] = (id_place){.id = json_integer_value(id), .position = i};
        ascending = ascending && (i == 0 || reader->places[i - 1].id < reader->places[i].id);
    }
    if (!ascending) {
        qsort(reader->places, (size_t)reader->entity_count, sizeof(id_place), compare_places);
    }
    for (int32_t i = 1; i < reader->entity_count; i++) {
        if (reader->places[i - 1].id == reader->places[i].id) {
            return mi_save_refuse(reader->report, MICA_FORMAT, "/entities/%d/id: %lld stands twice",
                                  reader->places[i].position, (long long)reader->places[i].id);
        }
    }
    return MICA_OK;
}

// The entity of an id; null if the file has none.
static mica_entity entity_of(const scene_reader *reader, int64_t id) {
    const id_place key = {.id = id};
    const id_place *found =
        bsearch(&key, reader->places, (size_t)reader->entity_count, sizeof(id_place), compare_places);
    return found == NULL ? MICA_NULL : reader->entities[found->position];
}

// Entities

static mica_result reserve_values(scene_reader *reader, json_t *components) {
    size_t size = VALUE_ALIGN;
    const char *name = NULL;
    json_t *json = NULL;
    json_object_foreach(components, name, json) {
        const mica_component_info *info = mica_schema_info(reader->schema, mica_schema_find(reader->schema, name));
        size += info == NULL ? 0 : (info->size + VALUE_ALIGN - 1) / VALUE_ALIGN * VALUE_ALIGN;
    }
    if (size > reader->memory_size) {
        free(reader->memory);
        reader->memory_size = 0;
        reader->memory = aligned_alloc(VALUE_ALIGN, size);
        if (reader->memory == NULL) {
            return refuse_memory(reader);
        }
        reader->memory_size = size;
    }
    mica_value *spawn = realloc(reader->spawn, (json_object_size(components) + 1) * sizeof(mica_value));
    if (spawn == NULL) {
        return refuse_memory(reader);
    }
    reader->spawn = spawn;
    return MICA_OK;
}

static void *default_allocate(void *user, size_t byte_size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (byte_size + alignment - 1) / alignment * alignment);
}

static void default_release(void *user, void *memory, size_t byte_size, size_t alignment) {
    (void)user;
    (void)byte_size;
    (void)alignment;
    free(memory);
}

// A value as it is constructed, to be read over. Types that own something are not read, so what is made here needs no
// end.
static bool construct(const mica_component_info *info, void *value) {
    memset(value, 0, info->size);
    if (info->hooks.construct == NULL) {
        return true;
    }
    const mica_allocator allocator = {.allocate = default_allocate, .release = default_release};
    const mica_hook_context context = {.allocator = &allocator, .user = info->hooks.user};
    return info->hooks.construct(value, 1, &context);
}

// Why a component of the file is not read, or NULL.
static const char *left_out(const scene_reader *reader, mica_component id) {
    const mica_component_info *info = mica_schema_info(reader->schema, id);
    if (id == 0 || info == NULL) {
        return "is not known";
    }
    if (info->transient) {
        return "is transient";
    }
    return info->hooks.destruct != NULL ? "owns something and cannot be read" : NULL;
}

static mica_result warn_left_out(scene_reader *reader, const char *name, const char *why) {
    if (json_object_get(reader->unknown, name) != NULL) {
        return MICA_OK;
    }
    if (json_object_set_new(reader->unknown, name, json_true()) != 0) {
        return refuse_memory(reader);
    }
    return mi_save_warn(reader->report, MICA_UNKNOWN, "%s: the component %s; it is left out", reader->values.place.text,
                        why);
}

// Reads the components of one entity into reader->spawn; returns their number, -1 on failure.
static int32_t read_components(scene_reader *reader, json_t *components) {
    int32_t count = 0;
    size_t used = 0;
    const char *name = NULL;
    json_t *json = NULL;
    if (reserve_values(reader, components) != MICA_OK) {
        return -1;
    }
    const size_t before_all = mi_place_add(&reader->values.place, "components");
    json_object_foreach(components, name, json) {
        const size_t before = mi_place_add(&reader->values.place, name);
        const mica_component id = mica_schema_find(reader->schema, name);
        const char *why = left_out(reader, id);
        if (why != NULL) {
            if (warn_left_out(reader, name, why) != MICA_OK) {
                return -1;
            }
        } else {
            const mica_component_info *info = mica_schema_info(reader->schema, id);
            uint8_t *value = reader->memory + used;
            used += (info->size + VALUE_ALIGN - 1) / VALUE_ALIGN * VALUE_ALIGN;
            reader->component = id;
            if (!construct(info, value)) {
                refuse_memory(reader);
                return -1;
            }
            if (mi_value_from_json(&reader->values, id, json, value) != MICA_OK) {
                return -1;
            }
            if (id != reader->child_of) { // linked at the end
                reader->spawn[count++] = (mica_value){.component = id, .value = info->size == 0 ? NULL : value};
            }
        }
        mi_place_cut(&reader->values.place, before);
    }
    mi_place_cut(&reader->values.place, before_all);
    return count;
}

static mica_result check_members(scene_reader *reader, json_t *entity) {
    const char *name = NULL;
    json_t *json = NULL;
    json_object_foreach(entity, name, json) {
        if (strcmp(name, "id") == 0) {
            continue;
        }
        const bool is_name = strcmp(name, "name") == 0;
        if ((is_name && !json_is_string(json)) || (strcmp(name, "components") == 0 && !json_is_object(json))) {
            return mi_save_refuse(reader->report, MICA_FORMAT, "%s/%s: expected %s", reader->values.place.text, name,
                                  is_name ? "a string" : "an object");
        }
        if (!is_name && strcmp(name, "components") != 0) {
            const mica_result result = mi_save_warn(
                reader->report, MICA_UNKNOWN, "%s/%s: no such member; it is left out", reader->values.place.text, name);
            if (result != MICA_OK) {
                return result;
            }
        }
    }
    return MICA_OK;
}

static mica_result read_entity(scene_reader *reader, json_t *entity) {
    mi_place_cut(&reader->values.place, 0);
    mi_place_add(&reader->values.place, "entities");
    mi_place_add_index(&reader->values.place, (size_t)reader->position);
    const mica_result checked = check_members(reader, entity);
    if (checked != MICA_OK) {
        return checked;
    }
    int32_t count = read_components(reader, json_object_get(entity, "components"));
    if (count < 0) {
        return reader->report->code;
    }
    const json_t *json = json_object_get(entity, "name");
    const mica_name name = {json_string_value(json)};
    if (json != NULL) {
        reader->spawn[count++] = (mica_value){.component = reader->name_component, .value = &name};
    }
    const mica_entity made = mica_entity_spawn(reader->world, reader->spawn, count);
    if (mica_entity_is_null(made)) {
        return mi_save_refuse(reader->report, mica_last_result(), "%s: %s", reader->values.place.text,
                              mica_last_error());
    }
    reader->entities[reader->position] = made;
    return MICA_OK;
}

// Entity fields and links

static mica_result refuse_id(scene_reader *reader, const pending_field *fixup) {
    return mi_save_refuse(reader->report, MICA_FORMAT, "/entities/%d/components/%s: no entity of the file has id %lld",
                          fixup->position, mica_schema_info(reader->schema, fixup->component)->name,
                          (long long)fixup->field.id);
}

// Fills in entity fields; those of ChildOf become links in order of the file, and are linked at once.
static mica_result connect(scene_reader *reader) {
    mica_entity *children = malloc((reader->fixup_count + 1) * 2 * sizeof(mica_entity));
    if (children == NULL) {
        return refuse_memory(reader);
    }
    mica_entity *parents = children + reader->fixup_count + 1;
    int32_t link_count = 0;
    mica_result result = MICA_OK;
    for (size_t i = 0; result == MICA_OK && i < reader->fixup_count; i++) {
        const pending_field *fixup = &reader->fixups[i];
        const mica_entity target = entity_of(reader, fixup->field.id);
        const mica_entity entity = reader->entities[fixup->position];
        if (mica_entity_is_null(target)) {
            result = refuse_id(reader, fixup);
        } else if (fixup->component == reader->child_of) {
            children[link_count] = entity;
            parents[link_count++] = target;
        } else {
            uint8_t *value = mica_entity_get_write(reader->world, entity, fixup->component);
            memcpy(value + fixup->field.offset, &target, sizeof(target));
        }
    }
    if (result == MICA_OK && link_count > 0 &&
        mica_set_parent_many(reader->world, children, parents, link_count) != MICA_OK) {
        result = mi_save_refuse(reader->report, mica_last_result(), "%s", mica_last_error());
    }
    free(children);
    return result;
}

// The whole

static mica_result prepare(scene_reader *reader, json_t *root, json_t **entities) {
    const json_t *version = json_object_get(root, "mica");
    if (!json_is_object(root) || !json_is_integer(version)) {
        return mi_save_refuse(reader->report, MICA_FORMAT,
                              "/mica: expected the number of the format, as in {\"mica\": 1}");
    }
    if (json_integer_value(version) != 1) {
        return mi_save_refuse(reader->report, MICA_UNSUPPORTED, "/mica: format %lld, expected 1",
                              (long long)json_integer_value(version));
    }
    *entities = json_object_get(root, "entities");
    if (!json_is_array(*entities) || json_array_size(*entities) > INT32_MAX) {
        return mi_save_refuse(reader->report, MICA_FORMAT, "/entities: expected an array");
    }
    reader->entity_count = (int32_t)json_array_size(*entities);
    const size_t room = (size_t)reader->entity_count + 1;
    reader->entities = calloc(room, sizeof(mica_entity));
    reader->places = malloc(room * sizeof(id_place));
    reader->unknown = json_object();
    reader->name_component = mica_world_register(reader->world, mica_type_of(mica_name));
    reader->child_of = mica_world_register(reader->world, mica_type_of(mica_child_of));
    const bool known = reader->name_component != 0 && reader->child_of != 0 &&
                       mica_world_register(reader->world, mica_type_of(mica_transform)) != 0;
    if (reader->entities == NULL || reader->places == NULL || reader->unknown == NULL || !known) {
        return refuse_memory(reader);
    }
    return read_ids(reader, *entities);
}

static mica_result read_scene(scene_reader *reader, json_t *root) {
    json_t *entities = NULL;
    mica_result result = prepare(reader, root, &entities);
    while (result == MICA_OK && reader->position < reader->entity_count) {
        result = read_entity(reader, json_array_get(entities, (size_t)reader->position));
        reader->position += result == MICA_OK;
    }
    if (result == MICA_OK) {
        result = connect(reader);
    }
    if (result != MICA_OK && reader->entities != NULL) {
        mica_entity_destroy_many(reader->world, reader->entities, reader->position);
    }
    return result;
}

static mica_result load(mica_world *world, json_t *root, const json_error_t *error, mi_save_report *report,
                        mica_saved_scene *scene) {
    if (root == NULL) {
        const enum json_error_code code = json_error_code(error);
        if (code == json_error_out_of_memory) {
            return mi_save_refuse(report, MICA_OUT_OF_MEMORY, "out of memory");
        }
        return mi_save_refuse(report, code == json_error_cannot_open_file ? MICA_IO : MICA_FORMAT,
                              "line %d, column %d: %s", error->line, error->column, error->text);
    }
    scene_reader reader = {.world = world, .schema = mica_world_schema(world), .report = report};
    reader.values =
        (mi_value_reader){.schema = reader.schema, .report = report, .entity_field = add_fixup, .user = &reader};
    const mica_result result = read_scene(&reader, root);
    if (result == MICA_OK) {
        scene->entities = reader.entities;
        scene->entity_count = reader.entity_count;
        scene->release = free;
    } else {
        free(reader.entities);
    }
    free(reader.places);
    free(reader.fixups);
    free(reader.memory);
    free(reader.spawn);
    json_decref(reader.unknown);
    json_decref(root);
    return result;
}

static mica_result finish(const mi_save_report *report, mica_saved_scene *scene) {
    memcpy(scene->message, report->text, MICA_SAVE_MESSAGE_SIZE);
    return report->code;
}

mica_result mica_scene_load(mica_world *world, const char *path, const mica_save_options *options,
                            mica_saved_scene *scene) {
    if (scene == NULL) {
        return MICA_INVALID;
    }
    *scene = (mica_saved_scene){0};
    mi_save_report report;
    mi_save_report_init(&report, path, options);
    if (world == NULL || path == NULL) {
        mi_save_refuse(&report, MICA_INVALID, "needs a world and a path");
        return finish(&report, scene);
    }
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    load(world, root, &error, &report, scene);
    return finish(&report, scene);
}

mica_result mica_scene_load_memory(mica_world *world, const char *text, size_t byte_size, const char *label,
                                   const mica_save_options *options, mica_saved_scene *scene) {
    if (scene == NULL) {
        return MICA_INVALID;
    }
    *scene = (mica_saved_scene){0};
    mi_save_report report;
    mi_save_report_init(&report, label, options);
    if (world == NULL || text == NULL) {
        mi_save_refuse(&report, MICA_INVALID, "needs a world and a text");
        return finish(&report, scene);
    }
    json_error_t error;
    json_t *root = json_loadb(text, byte_size, JSON_REJECT_DUPLICATES, &error);
    load(world, root, &error, &report, scene);
    return finish(&report, scene);
}

void mica_saved_scene_release(mica_saved_scene *scene) {
    if (scene != NULL && scene->release != NULL) {
        scene->release(scene->entities);
    }
    if (scene != NULL) {
        *scene = (mica_saved_scene){0};
    }
}
