// What the lanes of a type are, where they stand, and whole values out of them and into them.
//
// Each field of the struct is a lane, in order of declaration: an array and a nested struct are one lane each, whose
// elements are whole arrays and structs. So a lane has a C type that a program can name, and the number of lanes is one
// that the struct shows.
//
// Where a lane starts follows from the bytes of the fields before it alone (`before`): nothing is kept a table.
#include "store/lanes.h"

#include "store/fields.h"
#include "store/strided.h"

#include <string.h>

// Registration

static bool refuse_field(const mica_type *declared, const mi_declared_field *field, const char *pattern,
                         mi_refusal *refusal) {
    mi_text_excerpt(declared->fields, field->type_offset, refusal->excerpts[0]);
    return mi_refuse(refusal, MICA_BAD_TYPE, pattern, MI_TEXT(declared->name), MI_TEXT(refusal->excerpts[0]));
}

// Fills in what the nested types of fields are.
static bool look_up_nested(const mica_type *declared, mi_declaration *declaration, mi_type_search search,
                           const void *context, mi_refusal *refusal) {
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        mi_declared_field *field = &declaration->fields.data[i];
        if (field->nested == MI_NESTED_NONE) {
            continue;
        }
        const mi_type *nested = search(context, declared->fields + field->type_offset, field->type_length);
        if (nested == NULL) {
            return refuse_field(declared, field,
                                "\"{}\" asks for the layout MICA_LANES, for which the types of its fields must be "
                                "registered before it: \"{}\"",
                                refusal);
        }
        const mica_type_kind kind = nested->info.kind;
        if (kind == MICA_KIND_TAG || (field->nested == MI_NESTED_STRUCT && kind != MICA_KIND_STRUCT) ||
            (field->nested == MI_NESTED_ENUM && kind != MICA_KIND_ENUM)) {
            return refuse_field(declared, field,
                                "\"{}\" asks for the layout MICA_LANES, and the type of one of its fields is known as "
                                "something else: \"{}\"",
                                refusal);
        }
        field->type = nested->info.id;
        field->kind = kind == MICA_KIND_ENUM ? MICA_FIELD_ENUM : MICA_FIELD_STRUCT;
        field->size = nested->info.size;
        field->align = nested->info.align;
    }
    return true;
}

static bool check_layout(const mica_type *declared, mi_declaration *declaration, mi_refusal *refusal) {
    const mi_layout layout = mi_declaration_lay_out(declaration, declared->align);
    return (layout.size == declared->size && layout.align <= declared->align) ||
           mi_refuse(refusal, MICA_BAD_TYPE,
                     "\"{}\" asks for the layout MICA_LANES and has {} bytes aligned to {}, but its fields make {} "
                     "bytes aligned to {}",
                     MI_TEXT(declared->name), MI_UINT(declared->size), MI_UINT(declared->align), MI_UINT(layout.size),
                     MI_UINT(layout.align));
}

static bool list_lanes(mi_heap *heap, const mi_declaration *declaration, mi_type *type, mi_refusal *refusal) {
    const uint32_t count = declaration->fields.count;
    if (!MI_RESERVE(heap, MICA_MEMORY_SCHEMA, &type->lanes, count)) {
        return mi_refuse_memory(refusal, count * sizeof(mi_lane));
    }
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        const mi_declared_field *field = &declaration->fields.data[i];
        const mi_lane lane = {.offset = field->offset, .size = field->size * field->count, .before = before};
        type->lanes.data[type->lanes.count++] = lane;
        before += lane.size;
    }
    return true;
}

static bool refuse_unknown(const mica_type *declared, const mi_text_fault *fault, mi_refusal *refusal) {
    return mi_refuse(refusal, MICA_BAD_TYPE,
                     "\"{}\" asks for the layout MICA_LANES, an array a field, and its fields are not known: {}",
                     MI_TEXT(declared->name),
                     MI_TEXT(fault->reason == NULL ? "it was declared without fields" : fault->reason));
}

bool mi_lanes_declare(mi_heap *heap, const mica_type *declared, mi_type_search search, const void *context,
                      mi_type *type, mi_refusal *refusal) {
    mi_declaration declaration = {0};
    mi_text_fault fault = {.reason = NULL};
    if (declared->fields == NULL) {
        return refuse_unknown(declared, &fault, refusal);
    }
    bool is_declared = false;
    switch (mi_declaration_parse(heap, declared->kind, declared->fields, &declaration, &fault)) {
    case MI_PARSED:
        is_declared = look_up_nested(declared, &declaration, search, context, refusal) &&
                      check_layout(declared, &declaration, refusal) && list_lanes(heap, &declaration, type, refusal);
        break;
    case MI_PARSED_FAULT:
        refuse_unknown(declared, &fault, refusal);
        break;
    case MI_PARSED_NO_MEMORY:
        mi_refuse_memory(refusal, sizeof(mi_declared_field));
        break;
    }
    mi_declaration_free(&declaration, heap);
    return is_declared;
}

// Places

size_t mi_lanes_byte_size(const mi_type *type, uint32_t room) {
    const uint32_t last = type->lanes.count - 1;
    return mi_lane_start(type, last, room) + (size_t)type->lanes.data[last].size * room;
}

size_t mi_lanes_moved_offset(const mi_type *type, uint32_t to_room, uint32_t from_room, size_t offset) {
    uint32_t lane = type->lanes.count - 1;
    while (lane > 0 && mi_lane_start(type, lane, from_room) > offset) {
        lane--;
    }
    return mi_lane_start(type, lane, to_room) + (offset - mi_lane_start(type, lane, from_room));
}

// Values

static bool has_padding(const mi_type *type) {
    const mi_lane *last = &type->lanes.data[type->lanes.count - 1];
    return last->before + last->size != type->info.size;
}

void mi_lanes_read(const mi_type *type, uint32_t room, const uint8_t *column, uint32_t row, void *values,
                   uint32_t count) {
    const uint32_t value_size = type->info.size;
    if (has_padding(type)) {
        memset(values, 0, (size_t)value_size * count);
    }
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        const mi_lane lane = type->lanes.data[i];
        mi_copy_strided((uint8_t *)values + lane.offset, value_size,
                        column + mi_lane_start(type, i, room) + (size_t)row * lane.size, lane.size, lane.size, count);
    }
}

void mi_lanes_write(const mi_type *type, uint32_t room, uint8_t *column, uint32_t row, const void *values,
                    uint32_t count) {
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        const mi_lane lane = type->lanes.data[i];
        uint8_t *to = column + mi_lane_start(type, i, room) + (size_t)row * lane.size;
        if (values == NULL) {
            memset(to, 0, (size_t)lane.size * count);
        } else {
            mi_copy_strided(to, lane.size, (const uint8_t *)values + lane.offset, type->info.size, lane.size, count);
        }
    }
}

void mi_lanes_copy_rows(const mi_type *type, mi_lanes_rows to, mi_lanes_rows from, uint32_t count) {
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        const size_t size = type->lanes.data[i].size;
        memcpy(to.column + mi_lane_start(type, i, to.room) + to.row * size,
               from.column + mi_lane_start(type, i, from.room) + from.row * size, size * count);
    }
}
