// Reading a JSON scene into a world.
//
// An entity is spawned with all its components at once, its parent among them: entities are made level by level, roots
// first, those of one level in order of the file. So parents are there before their children, siblings are linked in
// order of the file, and rows lie in that order too; a cycle, of which no entity has a level, is found before anything
// is made. What other entity fields name may come later, so they are null at first and filled in when all entities are
// there. A failure at any point destroys what was made, last first, which has no children then.
#include "json_value.h"
#include "save_memory.h"

#include <mica/mica.h>

#include <stdio.h>
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
    mica_component name_component;
    mica_component child_of;
    int32_t entity_count;
    mica_entity *entities; // by position
    id_place *places;      // ascending by id
    int32_t *parents;      // by position; -1: none
    int32_t *levels;       // by position; roots are 0
    int32_t *order;        // positions, level by level
    int32_t made_count;    // of `order`
    pending_field *pending;
    size_t pending_count;
    size_t pending_capacity;
    int32_t position;         // of the entity being read
    mica_component component; // being read
    uint8_t *memory;          // values of the entity being read, and what it was allocated as
    void *memory_block;
    size_t memory_size;
    mica_value *spawn; // its components
    size_t spawn_capacity;
} scene_reader;

static bool add_pending(void *user, const mi_entity_field *field) {
    scene_reader *reader = user;
    if (reader->component == reader->child_of) {
        return true; // links are read before
    }
    if (reader->pending_count == reader->pending_capacity) {
        const size_t capacity = reader->pending_capacity == 0 ? 64 : reader->pending_capacity * 2;
        pending_field *grown = mi_save_allocate_array(capacity, sizeof(pending_field));
        if (grown == NULL) {
            return false;
        }
        if (reader->pending_count > 0) {
            memcpy(grown, reader->pending, reader->pending_count * sizeof(pending_field));
        }
        mi_save_free(reader->pending);
        reader->pending = grown;
        reader->pending_capacity = capacity;
    }
    reader->pending[reader->pending_count++] =
        (pending_field){.position = reader->position, .component = reader->component, .field = *field};
    return true;
}

// Ids

static int compare_ids(const void *a, const void *b) {
    const int64_t left = ((const id_place *)a)->id;
    const int64_t right = ((const id_place *)b)->id;
    return (left > right) - (left < right);
}

static int compare_places(const void *a, const void *b) {
    const int by_id = compare_ids(a, b);
    return by_id != 0 ? by_id : ((const id_place *)a)->position - ((const id_place *)b)->position;
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

// The position of the entity with this id; -1 if the file has none.
static int32_t position_of(const scene_reader *reader, int64_t id) {
    const id_place key = {.id = id};
    const id_place *found = bsearch(&key, reader->places, (size_t)reader->entity_count, sizeof(id_place), compare_ids);
    return found == NULL ? -1 : found->position;
}

static mica_result refuse_id(scene_reader *reader, int32_t position, mica_component component, int64_t id) {
    return mi_save_refuse(reader->report, MICA_FORMAT,
                          "/entities/%d/components/%s: expected the id of an entity of the file, found %lld", position,
                          mica_schema_info(reader->schema, component)->name, (long long)id);
}

// Parents

// Finds parents. What is no id is left to the reading of values, which refuses it or takes it for null.
static mica_result read_parents(scene_reader *reader, json_t *entities) {
    const char *child_of = mica_schema_info(reader->schema, reader->child_of)->name;
    for (int32_t i = 0; i < reader->entity_count; i++) {
        const json_t *components = json_object_get(json_array_get(entities, (size_t)i), "components");
        const json_t *id = json_object_get(json_object_get(components, child_of), "parent");
        reader->parents[i] = -1;
        if (json_is_integer(id) && json_integer_value(id) >= 0) {
            reader->parents[i] = position_of(reader, json_integer_value(id));
            if (reader->parents[i] < 0) {
                return refuse_id(reader, i, reader->child_of, json_integer_value(id));
            }
        }
    }
    return MICA_OK;
}

enum { LEVEL_UNKNOWN = -1, LEVEL_ASKED = -2 };

// Gives an entity and those above it their levels.
static mica_result find_level(scene_reader *reader, int32_t position) {
    int32_t unknown_count = 0;
    int32_t at = position;
    for (; at >= 0 && reader->levels[at] == LEVEL_UNKNOWN; at = reader->parents[at]) {
        reader->levels[at] = LEVEL_ASKED;
        unknown_count++;
    }
    if (at >= 0 && reader->levels[at] == LEVEL_ASKED) {
        return mi_save_refuse(reader->report, MICA_CYCLE,
                              "/entities/%d/components/%s: expected a parent that is not below the entity itself", at,
                              mica_schema_info(reader->schema, reader->child_of)->name);
    }
    int32_t level = (at < 0 ? -1 : reader->levels[at]) + unknown_count;
    for (at = position; unknown_count > 0; at = reader->parents[at]) {
        reader->levels[at] = level--;
        unknown_count--;
    }
    return MICA_OK;
}

// Sorts positions by level, counting how many there are of each.
static mica_result order_levels(scene_reader *reader) {
    const int32_t count = reader->entity_count;
    int32_t *starts = mi_save_allocate_array((size_t)count + 1, sizeof(int32_t));
    if (starts == NULL) {
        return mi_save_refuse_memory(reader->report);
    }
    memset(starts, 0, ((size_t)count + 1) * sizeof(int32_t));
    for (int32_t i = 0; i < count; i++) {
        starts[reader->levels[i] + 1]++;
    }
    for (int32_t level = 0; level < count; level++) {
        starts[level + 1] += starts[level];
    }
    for (int32_t i = 0; i < count; i++) {
        reader->order[starts[reader->levels[i]]++] = i;
    }
    mi_save_free(starts);
    return MICA_OK;
}

static mica_result read_hierarchy(scene_reader *reader, json_t *entities) {
    mica_result result = read_parents(reader, entities);
    for (int32_t i = 0; i < reader->entity_count; i++) {
        reader->levels[i] = LEVEL_UNKNOWN;
    }
    for (int32_t i = 0; result == MICA_OK && i < reader->entity_count; i++) {
        result = find_level(reader, i);
    }
    return result == MICA_OK ? order_levels(reader) : result;
}

// Entities

// A value's place in memory that starts at a multiple of MICA_ALIGN_MAX.
static size_t place_value(size_t used, const mica_component_info *info) {
    const size_t align = info->align == 0 ? 1 : info->align;
    return (used + align - 1) / align * align;
}

// Makes room for the values of these components and for the name.
static mica_result reserve_values(scene_reader *reader, json_t *components) {
    size_t size = 0;
    const char *name = NULL;
    json_t *json = NULL;
    json_object_foreach(components, name, json) {
        const mica_component id = mica_schema_find(reader->schema, name);
        const mica_component_info *info = id == 0 ? NULL : mica_schema_info(reader->schema, id);
        size = info == NULL ? size : place_value(size, info) + info->size;
    }
    if (reader->memory == NULL || size > reader->memory_size) {
        mi_save_free(reader->memory_block);
        reader->memory = NULL;
        reader->memory_block = mi_save_allocate(size + MICA_ALIGN_MAX);
        if (reader->memory_block == NULL) {
            return mi_save_refuse_memory(reader->report);
        }
        const size_t beyond = (uintptr_t)reader->memory_block % MICA_ALIGN_MAX;
        reader->memory = (uint8_t *)reader->memory_block + (MICA_ALIGN_MAX - beyond);
        reader->memory_size = size;
    }
    const size_t spawn_count = json_object_size(components) + 1;
    if (spawn_count > reader->spawn_capacity) {
        mi_save_free(reader->spawn);
        reader->spawn_capacity = 0;
        reader->spawn = mi_save_allocate_array(spawn_count, sizeof(mica_value));
        if (reader->spawn == NULL) {
            return mi_save_refuse_memory(reader->report);
        }
        reader->spawn_capacity = spawn_count;
    }
    return MICA_OK;
}

// Construct hooks of types that own nothing may still ask for memory; what they are given is theirs to give back.
static void *hook_allocate(void *user, size_t byte_size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (byte_size + alignment - 1) / alignment * alignment);
}

static void hook_release(void *user, void *memory, size_t byte_size, size_t alignment) {
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
    const mica_allocator allocator = {.allocate = hook_allocate, .release = hook_release};
    const mica_hook_context context = {.allocator = &allocator, .user = info->hooks.user};
    return info->hooks.construct(value, 1, &context);
}

// Why a component of the file is not read, or NULL.
static const char *left_out(const scene_reader *reader, mica_component id) {
    if (id == 0) {
        return "is not known";
    }
    const mica_component_info *info = mica_schema_info(reader->schema, id);
    if (info->transient) {
        return "is transient";
    }
    return info->hooks.destruct != NULL ? "owns something and cannot be read" : NULL;
}

// Reads one component into `value` and adds it to reader->spawn.
static mica_result read_component(scene_reader *reader, const mica_component_info *info, json_t *json, uint8_t *value,
                                  int32_t *count) {
    reader->component = info->id;
    if (!construct(info, value)) {
        return mi_save_refuse_memory(reader->report);
    }
    const mica_result result = mi_value_from_json(&reader->values, info->id, json, value);
    if (result != MICA_OK) {
        return result;
    }
    if (info->id == reader->child_of) {
        const int32_t parent = reader->parents[reader->position];
        if (parent < 0) {
            return MICA_OK;
        }
        const mica_child_of link = {reader->entities[parent]};
        memcpy(value, &link, sizeof(link));
    }
    reader->spawn[(*count)++] = (mica_value){.component = info->id, .value = info->size == 0 ? NULL : value};
    return MICA_OK;
}

// Reads the components of one entity into reader->spawn, and their number into `count`.
static mica_result read_components(scene_reader *reader, json_t *components, int32_t *count) {
    size_t used = 0;
    const char *name = NULL;
    json_t *json = NULL;
    mica_result result = reserve_values(reader, components);
    if (result != MICA_OK) {
        return result;
    }
    const size_t before_all = mi_place_add(&reader->values.place, "components");
    json_object_foreach(components, name, json) {
        const size_t before = mi_place_add(&reader->values.place, name);
        const mica_component id = mica_schema_find(reader->schema, name);
        const char *why = left_out(reader, id);
        if (why != NULL) {
            result = mi_save_warn(reader->report, MICA_UNKNOWN, name, "%s: the component %s; it is left out",
                                  reader->values.place.text, why);
        } else {
            const mica_component_info *info = mica_schema_info(reader->schema, id);
            used = place_value(used, info);
            result = read_component(reader, info, json, reader->memory + used, count);
            used += info->size;
        }
        if (result != MICA_OK) {
            return result;
        }
        mi_place_cut(&reader->values.place, before);
    }
    mi_place_cut(&reader->values.place, before_all);
    return MICA_OK;
}

static mica_result warn_of_member(scene_reader *reader, const char *name) {
    char key[300];
    (void)snprintf(key, sizeof(key), "/%.255s", name);
    return mi_save_warn(reader->report, MICA_UNKNOWN, key, "%s/%s: no such member; it is left out",
                        reader->values.place.text, name);
}

static mica_result check_members(scene_reader *reader, json_t *entity) {
    const char *name = NULL;
    json_t *json = NULL;
    json_object_foreach(entity, name, json) {
        if (strcmp(name, "id") == 0) {
            continue;
        }
        const bool is_name = strcmp(name, "name") == 0;
        if ((is_name && !json_is_string(json) && !json_is_null(json)) ||
            (strcmp(name, "components") == 0 && !json_is_object(json))) {
            return mi_save_refuse(reader->report, MICA_FORMAT, "%s/%s: expected %s", reader->values.place.text, name,
                                  is_name ? "a string, or null" : "an object");
        }
        if (!is_name && strcmp(name, "components") != 0) {
            const mica_result result = warn_of_member(reader, name);
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
    int32_t count = 0;
    mica_result result = check_members(reader, entity);
    if (result == MICA_OK) {
        result = read_components(reader, json_object_get(entity, "components"), &count);
    }
    if (result != MICA_OK) {
        return result;
    }
    const mica_name name = {json_string_value(json_object_get(entity, "name"))};
    if (name.text != NULL) {
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

// Writes an entity into a field of a value that is there; false, with the error set: it could not be reached.
static bool put_entity(const scene_reader *reader, const pending_field *pending, mica_entity target) {
    const mica_entity owner = reader->entities[pending->position];
    const mica_component_info *info = mica_schema_info(reader->schema, pending->component);
    if (info->layout == MICA_LANES) {
        _Alignas(MICA_LANES_ALIGN_MAX) uint8_t value[MICA_LANES_SIZE_MAX];
        if (!mica_entity_load(reader->world, owner, pending->component, value)) {
            return false;
        }
        memcpy(value + pending->field.offset, &target, sizeof(target));
        return mica_entity_store(reader->world, owner, pending->component, value) == MICA_OK;
    }
    uint8_t *value = mica_entity_get_write(reader->world, owner, pending->component);
    if (value != NULL) {
        memcpy(value + pending->field.offset, &target, sizeof(target));
    }
    return value != NULL;
}

// Entity fields that are no links.
static mica_result fill_in(scene_reader *reader) {
    for (size_t i = 0; i < reader->pending_count; i++) {
        const pending_field *pending = &reader->pending[i];
        const int32_t target = position_of(reader, pending->field.id);
        if (target < 0) {
            return refuse_id(reader, pending->position, pending->component, pending->field.id);
        }
        if (!put_entity(reader, pending, reader->entities[target])) {
            return mi_save_refuse(reader->report, mica_last_result(), "/entities/%d: %s", pending->position,
                                  mica_last_error());
        }
    }
    return MICA_OK;
}

// The whole

static mica_result check_root(scene_reader *reader, json_t *root) {
    const json_t *version = json_object_get(root, "mica");
    if (!json_is_integer(version)) {
        return mi_save_refuse(reader->report, MICA_FORMAT,
                              "/mica: expected the number of the format, as in {\"mica\": 1}");
    }
    if (json_integer_value(version) != 1) {
        return mi_save_refuse(reader->report, MICA_UNSUPPORTED, "/mica: format %lld, expected 1",
                              (long long)json_integer_value(version));
    }
    const json_t *entities = json_object_get(root, "entities");
    if (!json_is_array(entities) || json_array_size(entities) > INT32_MAX - 1) {
        return mi_save_refuse(reader->report, MICA_FORMAT, "/entities: expected an array");
    }
    const char *name = NULL;
    json_t *json = NULL;
    json_object_foreach(root, name, json) {
        if (strcmp(name, "mica") != 0 && strcmp(name, "entities") != 0) {
            const mica_result result = warn_of_member(reader, name);
            if (result != MICA_OK) {
                return result;
            }
        }
    }
    return MICA_OK;
}

static mica_result register_types(scene_reader *reader) {
    reader->name_component = mica_world_register(reader->world, mica_type_of(mica_name));
    reader->child_of =
        reader->name_component == 0 ? 0 : mica_world_register(reader->world, mica_type_of(mica_child_of));
    if (reader->child_of == 0 || mica_world_register(reader->world, mica_type_of(mica_transform)) == 0) {
        return mi_save_refuse(reader->report, mica_last_result(), "%s", mica_last_error());
    }
    return MICA_OK;
}

static mica_result allocate_lists(scene_reader *reader, size_t count) {
    reader->entities = mi_save_allocate_array(count, sizeof(mica_entity));
    reader->places = mi_save_allocate_array(count, sizeof(id_place));
    reader->parents = mi_save_allocate_array(count, sizeof(int32_t));
    reader->levels = mi_save_allocate_array(count, sizeof(int32_t));
    reader->order = mi_save_allocate_array(count, sizeof(int32_t));
    if (reader->entities == NULL || reader->places == NULL || reader->parents == NULL || reader->levels == NULL ||
        reader->order == NULL) {
        return mi_save_refuse_memory(reader->report);
    }
    reader->entity_count = (int32_t)count;
    return MICA_OK;
}

static mica_result read_scene(scene_reader *reader, json_t *root) {
    mica_result result = check_root(reader, root);
    json_t *entities = json_object_get(root, "entities");
    if (result == MICA_OK) {
        result = register_types(reader);
    }
    if (result == MICA_OK) {
        result = allocate_lists(reader, json_array_size(entities));
    }
    if (result == MICA_OK) {
        result = read_ids(reader, entities);
    }
    if (result == MICA_OK) {
        result = read_hierarchy(reader, entities);
    }
    while (result == MICA_OK && reader->made_count < reader->entity_count) {
        reader->position = reader->order[reader->made_count];
        result = read_entity(reader, json_array_get(entities, (size_t)reader->position));
        reader->made_count += result == MICA_OK;
    }
    if (result == MICA_OK) {
        result = fill_in(reader);
    }
    while (result != MICA_OK && reader->made_count > 0) {
        (void)mica_entity_destroy(reader->world, reader->entities[reader->order[--reader->made_count]]);
    }
    return result;
}

static mica_result refuse_text(mi_save_report *report, const json_error_t *error) {
    const enum json_error_code code = json_error_code(error);
    // jansson gives no text where its own bookkeeping found no memory.
    if (code == json_error_out_of_memory || error->text[0] == '\0') {
        return mi_save_refuse_memory(report);
    }
    if (code == json_error_cannot_open_file) {
        return mi_save_refuse(report, MICA_IO, "%s", error->text);
    }
    return mi_save_refuse(report, MICA_FORMAT, "line %d, column %d: %s", error->line, error->column, error->text);
}

static mica_result read_root(mica_world *world, json_t *root, mi_save_report *report, mica_saved_scene *scene) {
    scene_reader reader = {.world = world, .schema = mica_world_schema(world), .report = report};
    reader.values =
        (mi_value_reader){.schema = reader.schema, .report = report, .entity_field = add_pending, .user = &reader};
    const mica_result result = read_scene(&reader, root);
    if (result == MICA_OK) {
        scene->entities = reader.entities;
        scene->entity_count = reader.entity_count;
        scene->release = mi_save_free_function();
    } else {
        mi_save_free(reader.entities);
    }
    mi_save_free(reader.places);
    mi_save_free(reader.parents);
    mi_save_free(reader.levels);
    mi_save_free(reader.order);
    mi_save_free(reader.pending);
    mi_save_free(reader.memory_block);
    mi_save_free(reader.spawn);
    return result;
}

// Where the text is: a path, or else memory.
typedef struct input {
    const char *path;
    const char *text;
    size_t byte_size;
} input;

static mica_result load(mica_world *world, const input *from, const char *label, const mica_save_options *options,
                        mica_saved_scene *scene) {
    if (scene == NULL) {
        return MICA_INVALID;
    }
    *scene = (mica_saved_scene){0};
    mi_save_report report;
    mi_save_report_init(&report, label, options);
    mica_result result = MICA_OK;
    if (world == NULL || (from->path == NULL && from->text == NULL)) {
        result = mi_save_refuse(&report, MICA_INVALID, "needs a world and a scene");
    } else {
        json_error_t error;
        json_t *root = from->path != NULL ? json_load_file(from->path, JSON_REJECT_DUPLICATES, &error)
                                          : json_loadb(from->text, from->byte_size, JSON_REJECT_DUPLICATES, &error);
        result = root == NULL ? refuse_text(&report, &error) : read_root(world, root, &report, scene);
        json_decref(root);
    }
    mi_save_report_release(&report);
    memcpy(scene->message, result == MICA_OK ? "" : report.text, result == MICA_OK ? 1 : MICA_SAVE_MESSAGE_SIZE);
    return result;
}

mica_result mica_scene_load(mica_world *world, const char *path, const mica_save_options *options,
                            mica_saved_scene *scene) {
    return load(world, &(input){.path = path}, path, options, scene);
}

mica_result mica_scene_load_memory(mica_world *world, const char *text, size_t byte_size, const char *label,
                                   const mica_save_options *options, mica_saved_scene *scene) {
    return load(world, &(input){.text = text, .byte_size = byte_size}, label, options, scene);
}

void mica_saved_scene_release(mica_saved_scene *scene) {
    if (scene != NULL && scene->release != NULL) {
        scene->release(scene->entities);
    }
    if (scene != NULL) {
        *scene = (mica_saved_scene){0};
    }
}
