// Fields of values in words. See field_text.h.
//
// A field is found from outside in: in each struct the one that the byte lies in, its element, and, if that is a struct
// itself, on in there. All types on the way are reflected, since the outermost is; names of any depth are written one
// after the other, and what does not fit the text is cut.
#include "store/field_text.h"

#include <inttypes.h>
#include <math.h>

#include "store/reflect.h"

// The innermost field that a byte of a value belongs to.
typedef struct found_field {
    const mica_field *field; // NULL: not known, or padding
    uint32_t offset;         // of its element in the outermost value; of none, the byte's own
} found_field;

static const mica_field *field_at(const mi_reflection *reflection, uint32_t offset) {
    for (uint32_t i = 0; reflection != NULL && i < reflection->fields.count; i++) {
        const mica_field *field = &reflection->fields.data[i];
        if (offset >= field->offset && offset - field->offset < field->size * field->count) {
            return field;
        }
    }
    return NULL;
}

// Walks down to the innermost field, and writes the path to it unless `path` is NULL.
static found_field find_field_at(const mica_schema *schema, const mi_type *type, uint32_t offset, mi_text_out *path) {
    uint32_t start = 0; // of the struct that is looked at
    const char *separator = "";
    for (;;) {
        const mica_field *field = field_at(mi_type_reflection(type), offset - start);
        if (field == NULL) {
            return (found_field){.field = NULL, .offset = offset};
        }
        const uint32_t element = (offset - start - field->offset) / field->size;
        start += field->offset + element * field->size;
        if (path != NULL) {
            mi_text_add(path, "%s%s", separator, field->name);
            if (field->is_array) {
                mi_text_add(path, "[%" PRIu32 "]", element);
            }
        }
        if (field->kind != MICA_FIELD_STRUCT) {
            return (found_field){.field = field, .offset = start};
        }
        type = mi_schema_type(schema, field->type);
        separator = ".";
    }
}

void mi_field_path(const mica_schema *schema, const mi_type *type, uint32_t offset, mi_text_out *out) {
    const size_t before = out->length;
    if (find_field_at(schema, type, offset, out).field == NULL) {
        mi_text_add(out, "%sbyte %" PRIu32, out->length > before ? ", " : "", offset);
    }
}

static uint64_t read_unsigned(const uint8_t *bytes, uint32_t size) {
    union {
        uint8_t one;
        uint16_t two;
        uint32_t four;
        uint64_t eight;
    } number = {.eight = 0};
    memcpy(&number, bytes, size);
    switch (size) {
    case 1:
        return number.one;
    case 2:
        return number.two;
    case 4:
        return number.four;
    default:
        return number.eight;
    }
}

static int64_t read_signed(const uint8_t *bytes, uint32_t size) {
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    return (int64_t)((read_unsigned(bytes, size) ^ sign) - sign);
}

static void write_fraction(const uint8_t *bytes, uint32_t size, mi_text_out *out) {
    double number;
    float small;
    if (size == sizeof(small)) {
        memcpy(&small, bytes, sizeof(small));
        number = (double)small;
    } else {
        memcpy(&number, bytes, sizeof(number));
    }
    if (isnan(number)) {
        mi_text_add(out, "nan (0x%" PRIx64 ")", read_unsigned(bytes, size));
    } else {
        mi_text_add(out, "%.*g", size == sizeof(small) ? 9 : 17, number);
    }
}

static void write_enumerator(const mi_type *type, const uint8_t *bytes, mi_text_out *out) {
    const uint32_t size = type->info.size;
    const mi_reflection *reflection = mi_type_reflection(type);
    for (uint32_t i = 0; reflection != NULL && i < reflection->enumerators.count; i++) {
        const mica_enumerator *enumerator = &reflection->enumerators.data[i];
        if (((uint64_t)enumerator->value ^ read_unsigned(bytes, size)) << (64 - 8 * size) == 0) {
            mi_text_add(out, "%s", enumerator->name);
            return;
        }
    }
    mi_text_add(out, "%" PRId64, read_signed(bytes, size));
}

void mi_field_value(const mica_schema *schema, const mi_type *type, uint32_t offset, const void *value,
                    mi_text_out *out) {
    const found_field found = find_field_at(schema, type, offset, NULL);
    const uint8_t *bytes = (const uint8_t *)value + found.offset;
    if (found.field == NULL) {
        if (type->info.kind == MICA_KIND_ENUM) {
            write_enumerator(type, value, out);
        } else {
            mi_text_add(out, "0x%02x", bytes[0]);
        }
        return;
    }
    const uint32_t size = found.field->size;
    switch (found.field->kind) {
    case MICA_FIELD_BOOL:
        if (bytes[0] > 1) {
            mi_text_add(out, "0x%02x", bytes[0]);
        } else {
            mi_text_add(out, "%s", bytes[0] != 0 ? "true" : "false");
        }
        break;
    case MICA_FIELD_INT:
        mi_text_add(out, "%" PRId64, read_signed(bytes, size));
        break;
    case MICA_FIELD_UINT:
        mi_text_add(out, "%" PRIu64, read_unsigned(bytes, size));
        break;
    case MICA_FIELD_FLOAT:
        write_fraction(bytes, size, out);
        break;
    case MICA_FIELD_TEXT:
        mi_text_add(out, "\"%.*s\"", (int)size, (const char *)bytes);
        break;
    case MICA_FIELD_ENTITY: {
        mica_entity entity;
        memcpy(&entity, bytes, sizeof(entity));
        mi_text_add(out, "%" PRIu32 ":%" PRIu32, mica_entity_index(entity), mica_entity_generation(entity));
        break;
    }
    case MICA_FIELD_ENUM:
        write_enumerator(mi_schema_type(schema, found.field->type), bytes, out);
        break;
    case MICA_FIELD_STRUCT:
        break;
    }
}
