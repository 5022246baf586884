// Values of reflected types to JSON and back.
//
// Both directions walk the fields of the schema; a struct inside a struct is the only recursion, and its depth has a
// limit that no declaration comes near. Numbers are checked against the width of their field: nothing is cut in
// silence.
#include "json_value.h"

#include "save_memory.h"

#include <mica/schema.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// To JSON

static json_t *float_to_json(double number) {
    if (isnan(number)) {
        return json_string("NaN");
    }
    if (isinf(number)) {
        return json_string(number > 0 ? "Infinity" : "-Infinity");
    }
    return json_real(number);
}

static json_t *natural_to_json(uint64_t number) {
    if (number <= INT64_MAX) {
        return json_integer((json_int_t)number);
    }
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    return json_string(digits);
}

static int64_t read_integer(const uint8_t *bytes, uint32_t size) {
    int8_t of1 = 0;
    int16_t of2 = 0;
    int32_t of4 = 0;
    int64_t of8 = 0;
    switch (size) {
    case 1:
        memcpy(&of1, bytes, 1);
        return of1;
    case 2:
        memcpy(&of2, bytes, 2);
        return of2;
    case 4:
        memcpy(&of4, bytes, 4);
        return of4;
    default:
        memcpy(&of8, bytes, 8);
        return of8;
    }
}

static uint64_t read_natural(const uint8_t *bytes, uint32_t size) {
    const uint64_t mask = size >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
    return (uint64_t)read_integer(bytes, size) & mask;
}

static double read_float(const uint8_t *bytes, uint32_t size) {
    float of4 = 0;
    double of8 = 0;
    if (size == sizeof(float)) {
        memcpy(&of4, bytes, sizeof(of4));
        return (double)of4;
    }
    memcpy(&of8, bytes, sizeof(of8));
    return of8;
}

static size_t text_length(const char *text, uint32_t capacity) {
    const char *end = memchr(text, 0, capacity);
    return end == NULL ? capacity : (size_t)(end - text);
}

bool mi_text_is_utf8(const char *text, size_t length) {
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        const unsigned char first = bytes[i++];
        if (first < 0x80) {
            continue;
        }
        const int following = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        uint32_t character = first & (0x3FU >> following);
        if (first < 0xC2 || first > 0xF4 || length - i < (size_t)following) {
            return false;
        }
        for (int k = 0; k < following; k++, i++) {
            if ((bytes[i] & 0xC0) != 0x80) {
                return false;
            }
            character = character << 6 | (bytes[i] & 0x3FU);
        }
        const bool is_overlong = (following == 2 && character < 0x800) || (following == 3 && character < 0x10000);
        if (is_overlong || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) {
            return false;
        }
    }
    return true;
}

// A text that fills its array has no closing zero, which a string would give back.
static json_t *text_field_to_json(const char *text, uint32_t capacity) {
    const size_t length = text_length(text, capacity);
    if (length < capacity && mi_text_is_utf8(text, length)) {
        return json_stringn_nocheck(text, length);
    }
    json_t *json = json_array();
    for (size_t i = 0; json != NULL && i < length; i++) {
        if (json_array_append_new(json, json_integer((unsigned char)text[i])) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

// The fields of a type into `fields`; none if they are not known. False: out of memory.
static bool find_fields(const mica_schema *schema, mica_component type, const mica_field **fields, int32_t *count) {
    *fields = mica_schema_fields(schema, type, count);
    return *fields != NULL || mica_last_result() != MICA_OUT_OF_MEMORY;
}

// As find_fields, for the names of an enumeration.
static bool find_names(const mica_schema *schema, mica_component type, const mica_enumerator **names, int32_t *count) {
    *names = mica_schema_enumerators(schema, type, count);
    return *names != NULL || mica_last_result() != MICA_OUT_OF_MEMORY;
}

// Whether numbers of an enumeration may be negative: if one of its values is.
static bool enum_is_signed(const mica_enumerator *names, int32_t count) {
    for (int32_t i = 0; names != NULL && i < count; i++) {
        if (names[i].value < 0) {
            return true;
        }
    }
    return false;
}

static json_t *enum_to_json(const mica_schema *schema, mica_component type, const uint8_t *bytes, uint32_t size) {
    int32_t count = 0;
    const mica_enumerator *names = NULL;
    if (!find_names(schema, type, &names, &count)) {
        return NULL;
    }
    const bool is_signed = enum_is_signed(names, count);
    const int64_t number = is_signed ? read_integer(bytes, size) : (int64_t)read_natural(bytes, size);
    for (int32_t i = 0; names != NULL && i < count; i++) {
        if (names[i].value == number) {
            return json_string(names[i].name);
        }
    }
    return is_signed ? json_integer(number) : natural_to_json((uint64_t)number);
}

// NOLINTBEGIN(misc-no-recursion): a struct in a struct, at most MI_NESTING_LIMIT deep
static json_t *element_to_json(const mi_value_writer *writer, const mica_field *field, const uint8_t *bytes) {
    mica_entity entity;
    switch (field->kind) {
    case MICA_FIELD_BOOL:
        return json_boolean(read_natural(bytes, field->size) != 0);
    case MICA_FIELD_INT:
        return json_integer(read_integer(bytes, field->size));
    case MICA_FIELD_UINT:
        return natural_to_json(read_natural(bytes, field->size));
    case MICA_FIELD_FLOAT:
        return float_to_json(read_float(bytes, field->size));
    case MICA_FIELD_TEXT:
        return text_field_to_json((const char *)bytes, field->size);
    case MICA_FIELD_ENTITY: {
        memcpy(&entity, bytes, sizeof(entity));
        const int64_t id = writer->entity_id(writer->user, entity);
        return id < 0 ? json_null() : json_integer(id);
    }
    case MICA_FIELD_ENUM:
        return enum_to_json(writer->schema, field->type, bytes, field->size);
    default:
        return mi_value_to_json(writer, field->type, bytes);
    }
}

static json_t *field_to_json(const mi_value_writer *writer, const mica_field *field, const uint8_t *value) {
    if (!field->is_array) {
        return element_to_json(writer, field, value + field->offset);
    }
    json_t *array = json_array();
    for (uint32_t i = 0; array != NULL && i < field->count; i++) {
        json_t *element = element_to_json(writer, field, value + field->offset + (size_t)i * field->size);
        if (element == NULL || json_array_append_new(array, element) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static const char hex_digits[] = "0123456789abcdef";

static json_t *bytes_to_json(const uint8_t *bytes, uint32_t size) {
    char *digits = mi_save_allocate((size_t)size * 2 + 1);
    if (digits == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < size; i++) {
        digits[2 * i] = hex_digits[bytes[i] >> 4];
        digits[2 * i + 1] = hex_digits[bytes[i] & 15];
    }
    json_t *json = json_pack("{s: s%}", "bytes", digits, (size_t)size * 2);
    mi_save_free(digits);
    return json;
}

json_t *mi_value_to_json(const mi_value_writer *writer, mica_component type, const void *value) {
    const mica_component_info *info = mica_schema_info(writer->schema, type);
    if (info->kind == MICA_KIND_ENUM) {
        return enum_to_json(writer->schema, type, value, info->size);
    }
    int32_t count = 0;
    const mica_field *fields = NULL;
    if (info->kind != MICA_KIND_TAG) {
        if (!find_fields(writer->schema, type, &fields, &count)) {
            return NULL;
        }
        if (fields == NULL) {
            return bytes_to_json(value, info->size);
        }
    }
    json_t *object = json_object();
    for (int32_t i = 0; object != NULL && i < count; i++) {
        json_t *json = field_to_json(writer, &fields[i], value);
        if (json == NULL || json_object_set_new(object, fields[i].name, json) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static mica_result look_at_type(const mica_schema *schema, mica_component type, int32_t depth, bool *has_doubles) {
    int32_t count = 0;
    const mica_field *fields = NULL;
    if (depth > MI_NESTING_LIMIT) {
        return MICA_LIMIT;
    }
    if (mica_schema_info(schema, type)->kind == MICA_KIND_STRUCT && !find_fields(schema, type, &fields, &count)) {
        return MICA_OUT_OF_MEMORY;
    }
    mica_result result = MICA_OK;
    for (int32_t i = 0; result == MICA_OK && i < count; i++) {
        *has_doubles = *has_doubles || (fields[i].kind == MICA_FIELD_FLOAT && fields[i].size == sizeof(double));
        if (fields[i].kind == MICA_FIELD_STRUCT) {
            result = look_at_type(schema, fields[i].type, depth + 1, has_doubles);
        }
    }
    return result;
}
// NOLINTEND(misc-no-recursion)

mica_result mi_type_look_at(const mica_schema *schema, mica_component type, bool *has_doubles) {
    *has_doubles = false;
    return look_at_type(schema, type, 1, has_doubles);
}

// Places

size_t mi_place_add(mi_json_place *place, const char *part) {
    const size_t before = place->length;
    const size_t room = sizeof(place->text) - 1 - place->length;
    const size_t part_size = strlen(part);
    size_t kept = part_size + 1 > room ? room : part_size + 1;
    // Between two characters, if it has to be cut.
    while (kept > 1 && kept < part_size + 1 && ((unsigned char)part[kept - 1] & 0xC0) == 0x80) {
        kept--;
    }
    if (kept > 0) {
        place->text[place->length] = '/';
        memcpy(place->text + place->length + 1, part, kept - 1);
    }
    mi_place_cut(place, place->length + kept);
    return before;
}

size_t mi_place_add_index(mi_json_place *place, size_t index) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%zu", index);
    return mi_place_add(place, digits);
}

void mi_place_cut(mi_json_place *place, size_t length) {
    place->length = length;
    place->text[length] = '\0';
}

// From JSON

static mica_result refuse(mi_value_reader *reader, const char *expected) {
    return mi_save_refuse(reader->report, MICA_FORMAT, "%s: expected %s", reader->place.text, expected);
}

// Writes the lowest bytes of a number; a negative one comes as its two's complement.
static void write_natural(uint8_t *bytes, uint32_t size, uint64_t number) {
    const uint8_t of1 = (uint8_t)number;
    const uint16_t of2 = (uint16_t)number;
    const uint32_t of4 = (uint32_t)number;
    memcpy(bytes,
           size == 1   ? (const void *)&of1
           : size == 2 ? (const void *)&of2
           : size == 4 ? (const void *)&of4
                       : (const void *)&number,
           size);
}

static mica_result integer_from_json(mi_value_reader *reader, json_t *json, uint8_t *bytes, uint32_t size) {
    if (!json_is_integer(json)) {
        return refuse(reader, "an integer");
    }
    const int64_t number = json_integer_value(json);
    const int64_t limit = size >= 8 ? INT64_MAX : (INT64_C(1) << (8 * size - 1)) - 1;
    if (number > limit || number < -limit - 1) {
        return mi_save_refuse(reader->report, MICA_FORMAT, "%s: %" PRId64 " does not fit %u signed bits",
                              reader->place.text, number, 8 * size);
    }
    write_natural(bytes, size, (uint64_t)number);
    return MICA_OK;
}

static mica_result natural_from_json(mi_value_reader *reader, json_t *json, uint8_t *bytes, uint32_t size) {
    uint64_t number = 0;
    if (json_is_integer(json) && json_integer_value(json) >= 0) {
        number = (uint64_t)json_integer_value(json);
    } else if (json_is_string(json)) {
        const char *text = json_string_value(json);
        char *end = NULL;
        errno = 0;
        number = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
            return refuse(reader, "a whole number of at most 64 bits");
        }
    } else {
        return refuse(reader, "an integer that is not negative");
    }
    if (size < 8 && number >> (8 * size) != 0) {
        return mi_save_refuse(reader->report, MICA_FORMAT, "%s: %" PRIu64 " does not fit %u bits", reader->place.text,
                              number, 8 * size);
    }
    write_natural(bytes, size, number);
    return MICA_OK;
}

static mica_result float_from_json(mi_value_reader *reader, json_t *json, uint8_t *bytes, uint32_t size) {
    double number = 0;
    if (json_is_number(json)) {
        number = json_number_value(json);
    } else {
        const char *text = json_is_string(json) ? json_string_value(json) : "";
        if (strcmp(text, "NaN") == 0) {
            number = (double)NAN;
        } else if (strcmp(text, "Infinity") == 0) {
            number = (double)INFINITY;
        } else if (strcmp(text, "-Infinity") == 0) {
            number = -(double)INFINITY;
        } else {
            return refuse(reader, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
        }
    }
    if (size == sizeof(double)) {
        memcpy(bytes, &number, sizeof(number));
        return MICA_OK;
    }
    const float of4 = (float)number;
    if (isinf(of4) && !isinf(number)) {
        return refuse(reader, "a number within the range of float");
    }
    memcpy(bytes, &of4, sizeof(of4));
    return MICA_OK;
}

static mica_result text_from_json(mi_value_reader *reader, json_t *json, char *text, uint32_t capacity) {
    if (json_is_string(json)) {
        const size_t length = json_string_length(json);
        if (length >= capacity) {
            return mi_save_refuse(reader->report, MICA_FORMAT, "%s: a text of %zu bytes, expected at most %u",
                                  reader->place.text, length, capacity - 1);
        }
        memset(text, 0, capacity);
        memcpy(text, json_string_value(json), length);
        return MICA_OK;
    }
    const size_t length = json_array_size(json);
    if (!json_is_array(json) || length > capacity) {
        return refuse(reader, "a string, or an array of as many bytes as the text can have");
    }
    memset(text, 0, capacity);
    for (size_t i = 0; i < length; i++) {
        const json_t *byte = json_array_get(json, i);
        if (!json_is_integer(byte) || json_integer_value(byte) < 0 || json_integer_value(byte) > 255) {
            return refuse(reader, "bytes from 0 to 255");
        }
        text[i] = (char)json_integer_value(byte);
    }
    return MICA_OK;
}

static mica_result enum_from_json(mi_value_reader *reader, mica_component type, uint32_t size, json_t *json,
                                  uint8_t *bytes) {
    int32_t count = 0;
    const mica_enumerator *names = NULL;
    if (!find_names(reader->schema, type, &names, &count)) {
        return mi_save_refuse_memory(reader->report);
    }
    for (int32_t i = 0; names != NULL && json_is_string(json) && i < count; i++) {
        if (strcmp(names[i].name, json_string_value(json)) == 0) {
            write_natural(bytes, size, (uint64_t)names[i].value);
            return MICA_OK;
        }
    }
    const bool is_digits =
        json_is_string(json) && json_string_value(json)[0] >= '0' && json_string_value(json)[0] <= '9';
    if (json_is_integer(json) || is_digits) {
        return enum_is_signed(names, count) ? integer_from_json(reader, json, bytes, size)
                                            : natural_from_json(reader, json, bytes, size);
    }
    return mi_save_refuse(reader->report, MICA_FORMAT, "%s: expected a name of the enumeration %s, or a number",
                          reader->place.text, mica_schema_info(reader->schema, type)->name);
}

// NOLINTBEGIN(misc-no-recursion): a struct in a struct, at most MI_NESTING_LIMIT deep
static mica_result struct_from_json(mi_value_reader *reader, mica_component type, json_t *json, uint8_t *value,
                                    size_t offset);

static mica_result element_from_json(mi_value_reader *reader, const mica_field *field, json_t *json, uint8_t *value,
                                     size_t offset) {
    uint8_t *bytes = value + offset;
    switch (field->kind) {
    case MICA_FIELD_BOOL:
        if (!json_is_boolean(json)) {
            return refuse(reader, "true or false");
        }
        write_natural(bytes, field->size, json_is_true(json));
        return MICA_OK;
    case MICA_FIELD_INT:
        return integer_from_json(reader, json, bytes, field->size);
    case MICA_FIELD_UINT:
        return natural_from_json(reader, json, bytes, field->size);
    case MICA_FIELD_FLOAT:
        return float_from_json(reader, json, bytes, field->size);
    case MICA_FIELD_TEXT:
        return text_from_json(reader, json, (char *)bytes, field->size);
    case MICA_FIELD_ENTITY: {
        memset(bytes, 0, sizeof(mica_entity));
        if (json_is_null(json)) {
            return MICA_OK;
        }
        if (!json_is_integer(json) || json_integer_value(json) < 0) {
            return refuse(reader, "the id of an entity, or null");
        }
        const mi_entity_field found = {.offset = offset, .id = json_integer_value(json)};
        return reader->entity_field(reader->user, &found) ? MICA_OK : mi_save_refuse_memory(reader->report);
    }
    case MICA_FIELD_ENUM:
        return enum_from_json(reader, field->type, field->size, json, bytes);
    default:
        return struct_from_json(reader, field->type, json, value, offset);
    }
}

static mica_result field_from_json(mi_value_reader *reader, const mica_field *field, json_t *json, uint8_t *value,
                                   size_t offset) {
    if (!field->is_array) {
        return element_from_json(reader, field, json, value, offset);
    }
    if (!json_is_array(json) || json_array_size(json) != field->count) {
        return mi_save_refuse(reader->report, MICA_FORMAT, "%s: expected an array of %u", reader->place.text,
                              field->count);
    }
    for (uint32_t i = 0; i < field->count; i++) {
        const size_t before = mi_place_add_index(&reader->place, i);
        const mica_result result =
            element_from_json(reader, field, json_array_get(json, i), value, offset + (size_t)i * field->size);
        if (result != MICA_OK) {
            return result;
        }
        mi_place_cut(&reader->place, before);
    }
    return MICA_OK;
}

static int32_t hex_value(char digit) {
    const char *found = digit == '\0' ? NULL : strchr(hex_digits, digit);
    return found == NULL ? -1 : (int32_t)(found - hex_digits);
}

static mica_result bytes_from_json(mi_value_reader *reader, const mica_component_info *info, json_t *json,
                                   uint8_t *value) {
    const json_t *digits = json_object_get(json, "bytes");
    if (!json_is_string(digits) || json_string_length(digits) != (size_t)info->size * 2) {
        return mi_save_refuse(reader->report, MICA_FORMAT,
                              "%s: the fields of %s are not known: expected {\"bytes\": %u hexadecimal digits}",
                              reader->place.text, info->name, info->size * 2);
    }
    const char *text = json_string_value(digits);
    for (uint32_t i = 0; i < info->size; i++) {
        const int32_t high = hex_value(text[2 * i]);
        const int32_t low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return refuse(reader, "hexadecimal digits in lower case");
        }
        value[i] = (uint8_t)(high * 16 + low);
    }
    return MICA_OK;
}

static const mica_field *find_field(const mica_field *fields, int32_t count, const char *name) {
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static mica_result warn_of_field(mi_value_reader *reader, const char *type_name, const char *field_name) {
    char key[MICA_NAME_MAX + 300];
    (void)snprintf(key, sizeof(key), "%s.%.255s", type_name, field_name);
    return mi_save_warn(reader->report, MICA_UNKNOWN, key, "%s: %s has no such field; it is left out",
                        reader->place.text, type_name);
}

static mica_result struct_from_json(mi_value_reader *reader, mica_component type, json_t *json, uint8_t *value,
                                    size_t offset) {
    if (!json_is_object(json)) {
        return refuse(reader, "an object");
    }
    int32_t count = 0;
    const mica_field *fields = NULL;
    if (!find_fields(reader->schema, type, &fields, &count)) {
        return mi_save_refuse_memory(reader->report);
    }
    if (fields == NULL) {
        return bytes_from_json(reader, mica_schema_info(reader->schema, type), json, value + offset);
    }
    if (reader->depth >= MI_NESTING_LIMIT) {
        return mi_save_refuse(reader->report, MICA_LIMIT, "%s: structs in structs deeper than %d", reader->place.text,
                              MI_NESTING_LIMIT);
    }
    reader->depth++;
    const char *name = NULL;
    json_t *member = NULL;
    json_object_foreach(json, name, member) {
        const size_t before = mi_place_add(&reader->place, name);
        const mica_field *field = find_field(fields, count, name);
        const mica_result result = field == NULL
                                       ? warn_of_field(reader, mica_schema_info(reader->schema, type)->name, name)
                                       : field_from_json(reader, field, member, value, offset + field->offset);
        if (result != MICA_OK) {
            return result;
        }
        mi_place_cut(&reader->place, before);
    }
    reader->depth--;
    return MICA_OK;
}
// NOLINTEND(misc-no-recursion)

mica_result mi_value_from_json(mi_value_reader *reader, mica_component type, json_t *json, void *value) {
    reader->depth = 0;
    const mica_component_info *info = mica_schema_info(reader->schema, type);
    if (info->kind == MICA_KIND_TAG) {
        return json_is_object(json) && json_object_size(json) == 0 ? MICA_OK : refuse(reader, "{} for a tag");
    }
    if (info->kind == MICA_KIND_ENUM) {
        return enum_from_json(reader, type, info->size, json, value);
    }
    return struct_from_json(reader, type, json, value, 0);
}
