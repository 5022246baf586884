// Writing components of entities as JSON.
//
// Each component is turned into JSON and printed by itself, so that memory does not grow with the world. Floats are
// printed with nine digits, which give every float back, components with doubles with seventeen. Components stand in
// order of name: the order of registration does not show.
#include "scene_writer.h"

#include "save_memory.h"

#include <mica/mica.h>

#include <stdlib.h>
#include <string.h>

enum { TYPE_NOT_SEEN, TYPE_WRITTEN, TYPE_WRITTEN_DOUBLE, TYPE_LEFT_OUT };

typedef struct named_type {
    const char *name;
    mica_component id;
} named_type;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const named_type *)a)->name, ((const named_type *)b)->name);
}

static bool rank_types(mica_scene_writer *writer) {
    const size_t count = (size_t)mica_schema_count(writer->schema);
    named_type *types = mi_save_allocate_array(count + 1, sizeof(named_type));
    writer->rank = mi_save_allocate_array(count + 1, sizeof(uint32_t));
    writer->state = mi_save_allocate(count + 1);
    if (types == NULL || writer->rank == NULL || writer->state == NULL) {
        mi_save_free(types);
        return false;
    }
    memset(writer->state, TYPE_NOT_SEEN, count + 1);
    for (size_t i = 0; i < count; i++) {
        const mica_component id = (mica_component)(i + 1);
        types[i] = (named_type){.name = mica_schema_info(writer->schema, id)->name, .id = id};
    }
    qsort(types, count, sizeof(named_type), compare_names);
    for (size_t i = 0; i < count; i++) {
        writer->rank[types[i].id] = (uint32_t)i;
    }
    mi_save_free(types);
    return true;
}

static bool number_entities(mica_scene_writer *writer, const mica_entity *entities, int32_t count) {
    writer->slot_count = mica_world_statistics(writer->world).slot_count + 1;
    writer->position_of = mi_save_allocate_array(writer->slot_count, sizeof(uint32_t));
    if (writer->position_of == NULL) {
        return false;
    }
    memset(writer->position_of, 0, writer->slot_count * sizeof(uint32_t));
    for (int32_t i = 0; i < count; i++) {
        if (mica_entity_alive(writer->world, entities[i])) {
            writer->position_of[mica_entity_index(entities[i])] = (uint32_t)i + 1;
        }
    }
    return true;
}

mica_scene_writer *mica_scene_writer_create(mica_world *world, const mica_entity *entities, int32_t count,
                                            const char *label, const mica_save_options *options) {
    const bool is_fine = world != NULL && count >= 0 && (count == 0 || entities != NULL);
    mica_scene_writer *writer = is_fine ? mi_save_allocate(sizeof(mica_scene_writer)) : NULL;
    if (writer == NULL) {
        return NULL;
    }
    *writer = (mica_scene_writer){.world = world, .schema = mica_world_schema(world)};
    mi_save_report_init(&writer->report, label, options);
    writer->name_component = mica_world_register(world, mica_type_of(mica_name));
    if (writer->name_component == 0 || !number_entities(writer, entities, count) || !rank_types(writer)) {
        mica_scene_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

const char *mica_scene_writer_message(const mica_scene_writer *writer) {
    return writer == NULL ? "" : writer->report.text;
}

void mica_scene_writer_destroy(mica_scene_writer *writer) {
    if (writer == NULL) {
        return;
    }
    mi_save_report_release(&writer->report);
    mi_save_free(writer->position_of);
    mi_save_free(writer->rank);
    mi_save_free(writer->state);
    mi_save_free(writer->components);
    mi_save_free(writer);
}

// Printing

typedef struct sink {
    mica_text_function function;
    void *user;
    bool is_stopped;
} sink;

static int print_piece(const char *text, size_t byte_size, void *user) {
    sink *to = user;
    to->is_stopped = to->is_stopped || !to->function(to->user, text, byte_size);
    return to->is_stopped ? -1 : 0;
}

static bool refuse_stopped(mica_scene_writer *writer) {
    mi_save_refuse(&writer->report, MICA_IO, "could not be written");
    return false;
}

// Prints a piece of JSON; NULL stands for memory that was not there. Takes the reference.
static bool print_json(mica_scene_writer *writer, json_t *json, size_t flags, mica_text_function function, void *user) {
    sink to = {.function = function, .user = user};
    const bool is_printed = json != NULL && json_dump_callback(json, print_piece, &to, flags | JSON_ENCODE_ANY) == 0;
    json_decref(json);
    if (to.is_stopped) {
        return refuse_stopped(writer);
    }
    if (!is_printed) {
        mi_save_refuse_memory(&writer->report);
    }
    return is_printed;
}

static bool print_text(mica_scene_writer *writer, const char *text, mica_text_function function, void *user) {
    return function(user, text, strlen(text)) || refuse_stopped(writer);
}

// Components

int64_t mica_scene_writer_id(const mica_scene_writer *writer, mica_entity entity) {
    const bool is_known =
        writer != NULL && mica_entity_alive(writer->world, entity) && mica_entity_index(entity) < writer->slot_count;
    return is_known ? (int64_t)writer->position_of[mica_entity_index(entity)] - 1 : -1;
}

// What stands for an entity. One that names nobody of the file becomes null, with a warning.
static int64_t entity_id(void *user, mica_entity entity) {
    mica_scene_writer *writer = user;
    const int64_t id = mica_scene_writer_id(writer, entity);
    if (id < 0 && !mica_entity_is_null(entity)) {
        mi_save_warn(&writer->report, MICA_STALE, "/entity",
                     "entity fields that name no living entity of the scene become null");
    }
    return id;
}

// Decides once whether and how values of a type are written.
static mica_result look_at_type(mica_scene_writer *writer, mica_component id) {
    const mica_component_info *info = mica_schema_info(writer->schema, id);
    if (info->transient || id == writer->name_component) {
        writer->state[id] = TYPE_LEFT_OUT;
        return MICA_OK;
    }
    if (info->hooks.destruct != NULL) {
        writer->state[id] = TYPE_LEFT_OUT;
        return mi_save_warn(&writer->report, MICA_UNKNOWN, info->name, "%s owns something and is not written",
                            info->name);
    }
    bool has_doubles = false;
    const mica_result result = mi_type_look_at(writer->schema, id, &has_doubles);
    if (result != MICA_OK) {
        return result == MICA_LIMIT ? mi_save_refuse(&writer->report, result, "%s: structs in structs deeper than %d",
                                                     info->name, MI_NESTING_LIMIT)
                                    : mi_save_refuse_memory(&writer->report);
    }
    writer->state[id] = has_doubles ? TYPE_WRITTEN_DOUBLE : TYPE_WRITTEN;
    return MICA_OK;
}

// Puts those of writer->components that are written first, in order of name, and their number into `kept_count`.
static mica_result sort_components(mica_scene_writer *writer, int32_t count, int32_t *kept_count) {
    mica_component *ids = writer->components;
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        const mica_component id = ids[i];
        if (writer->state[id] == TYPE_NOT_SEEN && look_at_type(writer, id) != MICA_OK) {
            return writer->report.code;
        }
        if (writer->state[id] == TYPE_LEFT_OUT) {
            continue;
        }
        int32_t place = kept++;
        while (place > 0 && writer->rank[ids[place - 1]] > writer->rank[id]) {
            ids[place] = ids[place - 1];
            place--;
        }
        ids[place] = id;
    }
    *kept_count = kept;
    return MICA_OK;
}

static mica_result list_components(mica_scene_writer *writer, mica_entity entity, int32_t *count) {
    int32_t all = mica_entity_components(writer->world, entity, writer->components, writer->component_capacity);
    if (all < 0) {
        return mi_save_refuse(&writer->report, MICA_STALE, "%s", mica_last_error());
    }
    if (all > writer->component_capacity) {
        mi_save_free(writer->components);
        writer->component_capacity = 0;
        writer->components = mi_save_allocate_array((size_t)all * 2, sizeof(mica_component));
        if (writer->components == NULL) {
            return mi_save_refuse_memory(&writer->report);
        }
        writer->component_capacity = all * 2;
        all = mica_entity_components(writer->world, entity, writer->components, writer->component_capacity);
    }
    return sort_components(writer, all, count);
}

// Room for a value that lies in lanes and has no address of its own.
typedef struct lanes_value {
    _Alignas(MICA_LANES_ALIGN_MAX) uint8_t bytes[MICA_LANES_SIZE_MAX];
} lanes_value;

static const void *find_value(const mica_world *world, mica_entity entity, const mica_component_info *info,
                              lanes_value *aside) {
    if (info->layout != MICA_LANES) {
        return mica_entity_get(world, entity, info->id);
    }
    return mica_entity_load(world, entity, info->id, aside->bytes) ? aside->bytes : NULL;
}

static bool write_component(mica_scene_writer *writer, mica_entity entity, mica_component id,
                            mica_text_function function, void *user) {
    const mica_component_info *info = mica_schema_info(writer->schema, id);
    const mi_value_writer values = {.schema = writer->schema, .entity_id = entity_id, .user = writer};
    lanes_value aside;
    const void *value = info->size == 0 ? NULL : find_value(writer->world, entity, info, &aside);
    const size_t precision = writer->state[id] == TYPE_WRITTEN_DOUBLE ? 17 : 9;
    return print_json(writer, json_string(info->name), 0, function, user) && print_text(writer, ": ", function, user) &&
           print_json(writer, mi_value_to_json(&values, id, value), JSON_REAL_PRECISION(precision), function, user);
}

// Begins the writing of a part of an entity.
static mica_result begin_part(mica_scene_writer *writer, mica_text_function function) {
    if (writer == NULL) {
        return MICA_INVALID;
    }
    writer->report.code = MICA_OK;
    return function != NULL ? MICA_OK
                            : mi_save_refuse(&writer->report, MICA_INVALID, "needs a function that receives the text");
}

mica_result mica_scene_writer_name(mica_scene_writer *writer, mica_entity entity, mica_text_function function,
                                   void *user) {
    if (begin_part(writer, function) != MICA_OK) {
        return MICA_INVALID;
    }
    if (!mica_entity_alive(writer->world, entity)) {
        return mi_save_refuse(&writer->report, MICA_STALE, "the entity whose name is to be written is not alive");
    }
    if (!mica_entity_has(writer->world, entity, writer->name_component)) {
        (void)print_text(writer, "null", function, user);
        return writer->report.code;
    }
    const char *name = mica_name_of(writer->world, entity);
    const bool is_utf8 = mi_text_is_utf8(name, strlen(name));
    if (!is_utf8 &&
        mi_save_warn(&writer->report, MICA_INVALID, "/name", "names that are no UTF-8 are left out") != MICA_OK) {
        return writer->report.code;
    }
    (void)print_json(writer, is_utf8 ? json_string_nocheck(name) : json_null(), 0, function, user);
    return writer->report.code;
}

mica_result mica_scene_writer_components(mica_scene_writer *writer, mica_entity entity, mica_text_function function,
                                         void *user) {
    if (begin_part(writer, function) != MICA_OK) {
        return MICA_INVALID;
    }
    int32_t count = 0;
    if (list_components(writer, entity, &count) != MICA_OK) {
        return writer->report.code;
    }
    bool is_fine = print_text(writer, "{", function, user);
    for (int32_t i = 0; is_fine && i < count; i++) {
        is_fine = (i == 0 || print_text(writer, ", ", function, user)) &&
                  write_component(writer, entity, writer->components[i], function, user);
    }
    if (is_fine) {
        (void)print_text(writer, "}", function, user);
    }
    return writer->report.code;
}
