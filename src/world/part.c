// Writing and reading records; see part.h.
#include "world/part.h"

#include <string.h>

#include "base/sort.h"
#include "store/ranges.h"
#include "store/value.h"

void mi_record_free(mi_record *record) {
    for (uint32_t i = 0; i < record->values.count; i++) {
        const mi_record_value *kept = &record->values.data[i];
        mi_value_destruct(kept->type, record->allocator, kept->value, 1);
        mi_heap_release(record->heap, MICA_MEMORY_STATE, kept->value, kept->type->info.size, kept->type->info.align);
    }
    MI_FREE(record->heap, MICA_MEMORY_STATE, &record->values);
    MI_FREE(record->heap, MICA_MEMORY_STATE, &record->bytes);
}

void *mi_record_open_value(mi_record *record, const mi_type *type) {
    return MI_RESERVE(record->heap, MICA_MEMORY_STATE, &record->values, record->values.count + 1)
               ? mi_heap_allocate(record->heap, MICA_MEMORY_STATE, type->info.size, type->info.align)
               : NULL;
}

void mi_record_end_value(mi_record *record, const mi_type *type, void *value, bool is_made) {
    if (is_made) {
        record->values.data[record->values.count++] = (mi_record_value){.type = type, .value = value};
    } else {
        mi_heap_release(record->heap, MICA_MEMORY_STATE, value, type->info.size, type->info.align);
    }
}

// Writing

void mi_write_fail(mi_writer *writer, mica_result result, const mi_type *type) {
    if (writer->result == MICA_OK) {
        writer->result = result;
        writer->type = type;
    }
}

uint8_t *mi_write_room(mi_writer *writer, size_t byte_size) {
    mi_record *record = writer->record;
    if (writer->result != MICA_OK) {
        return NULL;
    }
    if (byte_size > UINT32_MAX ||
        !MI_RESERVE(record->heap, MICA_MEMORY_STATE, &record->bytes, record->bytes.count + byte_size)) {
        mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    uint8_t *place = record->bytes.data + record->bytes.count;
    record->bytes.count += (uint32_t)byte_size;
    return place;
}

void mi_write_bytes(mi_writer *writer, const void *bytes, size_t byte_size) {
    uint8_t *place = byte_size > 0 ? mi_write_room(writer, byte_size) : NULL;
    if (place != NULL) {
        memcpy(place, bytes, byte_size);
    }
}

void mi_write_u8(mi_writer *writer, uint8_t number) {
    mi_write_bytes(writer, &number, sizeof(number));
}

void mi_write_u32(mi_writer *writer, uint32_t number) {
    uint8_t *place = mi_write_room(writer, sizeof(number));
    if (place != NULL) {
        mi_put_u32(place, number);
    }
}

void mi_write_u64(mi_writer *writer, uint64_t number) {
    uint8_t *place = mi_write_room(writer, sizeof(number));
    if (place != NULL) {
        mi_put_u64(place, number);
    }
}

void mi_write_double(mi_writer *writer, double number) {
    uint8_t *place = mi_write_room(writer, sizeof(number));
    if (place != NULL) {
        mi_put_double(place, number);
    }
}

void mi_write_entity(mi_writer *writer, mica_entity entity) {
    mi_write_u64(writer, entity.bits);
}

void mi_write_text(mi_writer *writer, const char *text) {
    const size_t length = text == NULL ? 0 : strlen(text);
    if (length > UINT32_MAX) {
        mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    mi_write_u32(writer, (uint32_t)length);
    mi_write_bytes(writer, text, length);
}

void mi_write_component(mi_writer *writer, mica_component component) {
    const mi_type *type = mi_schema_type(writer->schema, component);
    mi_write_text(writer, type == NULL ? "" : type->info.name);
}

static int compare_names(const void *context, uint32_t a, uint32_t b) {
    const mica_schema *schema = context;
    return mi_type_compare_names(mi_schema_type(schema, (mica_component)a), mi_schema_type(schema, (mica_component)b));
}

bool mi_list_components(mi_writer *writer, uint32_t end, bool (*is_meant)(const void *user, uint32_t component),
                        const void *user, mi_component_list *list) {
    *list = (mi_component_list){.data = NULL}; // and behind them, scratch of sorting
    if (!MI_RESERVE(writer->record->heap, MICA_MEMORY_STATE, list, (size_t)end * 2)) {
        mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
        return false;
    }
    for (uint32_t component = 0; component < end; component++) {
        if (is_meant(user, component)) {
            list->data[list->count++] = component;
        }
    }
    if (list->count > 0) {
        mi_sort(list->data, list->data + end, list->count, compare_names, writer->schema);
    }
    return true;
}

void mi_free_components(const mi_writer *writer, mi_component_list *list) {
    MI_FREE(writer->record->heap, MICA_MEMORY_STATE, list);
}

// Copies a value by its hook to stand beside the bytes.
static void keep_value(mi_writer *writer, const mi_type *type, const void *value) {
    mi_record *record = writer->record;
    if (type->movable_only) {
        mi_write_fail(writer, MICA_NO_COPY, type);
        return;
    }
    void *copy = mi_record_open_value(record, type);
    const bool is_made = copy != NULL && mi_value_copy(type, record->allocator, copy, value, 1);
    mi_record_end_value(record, type, copy, is_made);
    if (!is_made) {
        mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
    }
}

void mi_write_value(mi_writer *writer, const mi_type *type, const void *value) {
    if (writer->result != MICA_OK || type->info.size == 0) {
        return;
    }
    if (mi_type_is_owning(type)) {
        keep_value(writer, type, value);
        return;
    }
    const mi_ranges *ranges = mi_type_ranges(writer->schema, type);
    if (ranges == NULL) {
        mi_write_fail(writer, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    uint8_t *place = mi_write_room(writer, type->info.size);
    if (place != NULL) {
        mi_ranges_copy(ranges, type->info.size, place, value, 1);
    }
}

// Reading

mi_reader mi_reader_of(const mica_schema *schema, const mi_record *record) {
    return (mi_reader){.schema = schema,
                       .bytes = record->bytes.data,
                       .byte_size = record->bytes.count,
                       .values = record->values.data,
                       .value_count = record->values.count,
                       .is_bare = record->is_bare};
}

void mi_read_fail(mi_reader *reader, mica_result result, const char *fault) {
    if (reader->result == MICA_OK) {
        reader->result = result;
        reader->fault = fault;
    }
}

const uint8_t *mi_read_bytes(mi_reader *reader, size_t byte_size) {
    if (reader->result == MICA_OK && byte_size > reader->byte_size - reader->at) {
        mi_read_fail(reader, MICA_FORMAT, "it ends too early");
    }
    if (reader->result != MICA_OK) {
        return NULL;
    }
    const uint8_t *bytes = reader->bytes + reader->at;
    reader->at += byte_size;
    return bytes;
}

uint8_t mi_read_u8(mi_reader *reader) {
    const uint8_t *bytes = mi_read_bytes(reader, sizeof(uint8_t));
    return bytes == NULL ? 0 : *bytes;
}

uint32_t mi_read_u32(mi_reader *reader) {
    const uint8_t *bytes = mi_read_bytes(reader, sizeof(uint32_t));
    return bytes == NULL ? 0 : mi_get_u32(bytes);
}

uint64_t mi_read_u64(mi_reader *reader) {
    const uint8_t *bytes = mi_read_bytes(reader, sizeof(uint64_t));
    return bytes == NULL ? 0 : mi_get_u64(bytes);
}

double mi_read_double(mi_reader *reader) {
    const uint64_t bits = mi_read_u64(reader);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

mica_entity mi_read_entity(mi_reader *reader) {
    const uint64_t bits = mi_read_u64(reader);
    mica_entity entity = {(mica_entity_bits)bits};
    if (entity.bits != bits) {
        mi_read_fail(reader, MICA_FORMAT, "a handle is wider than those of this library");
        entity = MICA_NULL;
    }
    return entity;
}

uint32_t mi_read_count(mi_reader *reader, size_t least_byte_size) {
    const uint32_t count = mi_read_u32(reader);
    if (count > (reader->byte_size - reader->at) / least_byte_size) {
        mi_read_fail(reader, MICA_FORMAT, "there is more to come than there are bytes");
        return 0;
    }
    return count;
}

const char *mi_read_text(mi_reader *reader, uint32_t *length) {
    *length = mi_read_count(reader, 1);
    const uint8_t *bytes = mi_read_bytes(reader, *length);
    if (bytes == NULL) {
        *length = 0;
        return "";
    }
    if (*length > 0 && memchr(bytes, 0, *length) != NULL) {
        mi_read_fail(reader, MICA_FORMAT, "a text has a zero inside");
        *length = 0;
        return "";
    }
    return (const char *)bytes;
}

mica_component mi_read_component(mi_reader *reader) {
    uint32_t length = 0;
    const char *text = mi_read_text(reader, &length);
    char name[MICA_NAME_MAX + 1];
    if (reader->result != MICA_OK) {
        return 0;
    }
    if (length == 0 || length > MICA_NAME_MAX) {
        mi_read_fail(reader, MICA_FORMAT, "a component's name is empty or too long");
        return 0;
    }
    memcpy(name, text, length);
    name[length] = 0;
    const mica_component component = mica_schema_find(reader->schema, name);
    if (component == 0) {
        mi_read_fail(reader, MICA_UNKNOWN, "a component is not known here");
        const size_t kept = length < sizeof(reader->name) ? length : sizeof(reader->name) - 1;
        memcpy(reader->name, name, kept);
        reader->name[kept] = 0;
    }
    return component;
}

const void *mi_read_value_place(mi_reader *reader, const mi_type *type) {
    if (reader->result != MICA_OK || type->info.size == 0) {
        return NULL;
    }
    if (!mi_type_is_owning(type)) {
        return mi_read_bytes(reader, type->info.size);
    }
    if (reader->value_at >= reader->value_count || reader->values[reader->value_at].type != type) {
        mi_read_fail(reader, MICA_FORMAT, "a value with hooks is not there");
        return NULL;
    }
    return reader->values[reader->value_at++].value;
}

bool mi_read_value(mi_reader *reader, const mi_type *type, const mica_allocator *allocator, void *to) {
    if (type->info.size == 0) {
        return reader->result == MICA_OK;
    }
    const void *place = mi_read_value_place(reader, type);
    if (place == NULL) {
        return false;
    }
    if (!mi_type_is_owning(type)) {
        memcpy(to, place, type->info.size);
    } else if (!mi_value_copy(type, allocator, to, place, 1)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return false;
    }
    return true;
}

bool mi_read_resource(mi_reader *reader, mi_recorded_resource *resource) {
    *resource = (mi_recorded_resource){.type = mi_schema_type(reader->schema, mi_read_component(reader))};
    resource->value = reader->result == MICA_OK ? mi_read_value_place(reader, resource->type) : NULL;
    return resource->value != NULL;
}

bool mi_reader_end(mi_reader *reader) {
    if (reader->result == MICA_OK && (reader->at != reader->byte_size || reader->value_at != reader->value_count)) {
        mi_read_fail(reader, MICA_FORMAT, "there is more than was expected");
    }
    return reader->result == MICA_OK;
}
