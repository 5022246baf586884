// Values of reflected types to JSON and back.
//
//   bool                 true, false
//   integers             numbers; beyond 64 signed bits as text
//   float, double        numbers; "NaN", "Infinity", "-Infinity"
//   a text               a string; if it is no UTF-8 or lacks its closing zero: an array of its bytes
//   an entity            its id in the file, or null
//   an enumeration       its name, or a number that has none
//   a struct             an object
//   an array             an array
//   a type whose fields are not known: {"bytes": "hexadecimal digits"}
//   a tag                {}
#pragma once

#include "save_report.h"

#include <jansson.h>

// How deep structs may stand in structs.
enum { MI_NESTING_LIMIT = 64 };

// The id of an entity in the file; -1: it has none.
typedef int64_t (*mi_entity_id_function)(void *user, mica_entity entity);

typedef struct mi_value_writer {
    const mica_schema *schema;
    mi_entity_id_function entity_id;
    void *user;
} mi_value_writer;

// A new reference to the JSON of a value, whose type was looked at by mi_type_look_at; NULL: out of memory.
json_t *mi_value_to_json(const mi_value_writer *writer, mica_component type, const void *value);

// Whether a text is UTF-8, which strings of JSON must be.
bool mi_text_is_utf8(const char *text, size_t length);

// Looks at a type before its values are written: whether it has a `double` somewhere inside. MICA_LIMIT: its structs
// are nested too deep; MICA_OUT_OF_MEMORY.
mica_result mi_type_look_at(const mica_schema *schema, mica_component type, bool *has_doubles);

// An entity field that was read: what it names is not known before all entities are made.
typedef struct mi_entity_field {
    size_t offset; // from the start of the component's value
    int64_t id;
} mi_entity_field;

// Where a value stands in the file, for messages: "/entities/3/components/Transform/position/1".
typedef struct mi_json_place {
    char text[256];
    size_t length;
} mi_json_place;

// Appends a part, cut where the room ends, and returns the length before, to be given to mi_place_cut.
size_t mi_place_add(mi_json_place *place, const char *part);
size_t mi_place_add_index(mi_json_place *place, size_t index);
void mi_place_cut(mi_json_place *place, size_t length);

typedef struct mi_value_reader {
    const mica_schema *schema;
    mi_save_report *report;
    mi_json_place place;
    int32_t depth; // of structs in structs
    // Called for every entity field that is not null; false: out of memory.
    bool (*entity_field)(void *user, const mi_entity_field *field);
    void *user;
} mi_value_reader;

// Reads JSON over a value that was constructed; fields that the JSON leaves out stay. MICA_FORMAT and others, reported.
mica_result mi_value_from_json(mi_value_reader *reader, mica_component type, json_t *json, void *value);
