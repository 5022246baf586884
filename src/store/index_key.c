// Keys of indexes. Every kind of field comes to words that ascend as its values do, so that nothing further up knows
// kinds: signed numbers with their sign bit turned, floating-point numbers with all bits turned if they are negative
// and the sign bit if not, texts eight bytes a word with the first on top and zeros behind the end.
//
// What stands in a text is checked when the type is registered; what a nested type's text says is known later.
#include "store/index_key.h"

#include <math.h>
#include <string.h>

static const uint64_t sign_bit = UINT64_C(1) << 63;

uint32_t mi_index_traits_count(const mica_traits *traits) {
    uint32_t count = 0;
    while (count < MICA_TYPE_INDEX_MAX && traits->indexes[count].field != NULL) {
        count++;
    }
    return count;
}

// Bytes of the first name of a path.
static size_t name_length(const char *path) {
    return strcspn(path, ".");
}

static const mi_declared_field *find_declared(const mi_declaration *declaration, const char *text, const char *path) {
    const size_t length = name_length(path);
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        const mi_declared_field *field = &declaration->fields.data[i];
        if (field->name_length == length && memcmp(text + field->name_offset, path, length) == 0) {
            return field;
        }
    }
    return NULL;
}

// What is wrong with a field as the last of a path, or one on the way; NULL: nothing.
static const char *find_fault(mica_field_kind kind, bool is_array, uint32_t size, bool is_last) {
    if (is_array) {
        return "is an array";
    }
    if (!is_last) {
        return kind == MICA_FIELD_STRUCT ? NULL : "is no struct";
    }
    if (kind == MICA_FIELD_STRUCT) {
        return "is a struct";
    }
    return kind == MICA_FIELD_TEXT && size > MICA_INDEXED_TEXT_MAX ? "is a text of more than 256 bytes" : NULL;
}

static const char *find_declared_fault(const mi_declared_field *field, const char *path) {
    if (field == NULL) {
        return "is not there";
    }
    const bool is_last = path[name_length(path)] == '\0';
    // A nested type that is given without `struct` or `enum` may be either.
    const bool may_be_either = field->nested == MI_NESTED_ANY && !field->is_array;
    const mica_field_kind kind = field->nested == MI_NESTED_STRUCT ? MICA_FIELD_STRUCT
                                 : field->nested == MI_NESTED_ENUM ? MICA_FIELD_ENUM
                                                                   : field->kind;
    return may_be_either ? NULL : find_fault(kind, field->is_array, field->size, is_last);
}

static bool check_index(const mica_type *type, uint32_t number, const mi_declaration *declaration,
                        mi_refusal *refusal) {
    const mica_index_trait *index = &type->traits.indexes[number];
    if (index->kind != MICA_HASH && index->kind != MICA_ORDERED) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" asks for an index of \"{}\" of a kind that is not known ({})",
                         MI_TEXT(type->name), MI_TEXT(index->field), MI_INT(index->kind));
    }
    const char *fault = find_declared_fault(find_declared(declaration, type->fields, index->field), index->field);
    for (uint32_t i = 0; i < number && fault == NULL; i++) {
        fault = strcmp(type->traits.indexes[i].field, index->field) == 0 ? "has one already" : NULL;
    }
    return fault == NULL || mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" asks for an index of the field \"{}\", which {}",
                                      MI_TEXT(type->name), MI_TEXT(index->field), MI_TEXT(fault));
}

bool mi_index_traits_check(const mica_type *type, const mi_declaration *declaration, const mi_text_fault *fault,
                           mi_refusal *refusal) {
    const mica_traits *traits = &type->traits;
    const uint32_t count = mi_index_traits_count(traits);
    if (count == 0) {
        return true;
    }
    const char *reason = type->kind == MICA_KIND_TAG    ? "it is a tag"
                         : type->kind == MICA_KIND_ENUM ? "it is an enumeration"
                         : traits->hooks.attach != NULL ? "it is a relation"
                         : traits->always_dirty         ? "it is always dirty"
                         : declaration != NULL          ? NULL
                         : fault->reason != NULL        ? fault->reason
                                                        : "its fields are not known";
    if (reason != NULL) {
        return mi_refuse(refusal, MICA_BAD_TYPE, "\"{}\" cannot have an index of the field \"{}\": {}",
                         MI_TEXT(type->name), MI_TEXT(traits->indexes[0].field), MI_TEXT(reason));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!check_index(type, i, declaration, refusal)) {
            return false;
        }
    }
    return true;
}

// Fields of registered types

static const mica_field *find_field(const mica_field *fields, int32_t count, const char *path) {
    const size_t length = name_length(path);
    for (int32_t i = 0; i < count; i++) {
        if (strncmp(fields[i].name, path, length) == 0 && fields[i].name[length] == '\0') {
            return &fields[i];
        }
    }
    return NULL;
}

// As the schema's fields say: one of its values is negative. False, with the error set: they are not known.
static bool find_sign(const mica_schema *schema, mica_component id, bool *is_signed) {
    int32_t count = 0;
    const mica_enumerator *enumerators = mica_schema_enumerators(schema, id, &count);
    *is_signed = false;
    for (int32_t i = 0; enumerators != NULL && i < count; i++) {
        *is_signed |= enumerators[i].value < 0;
    }
    return enumerators != NULL;
}

bool mi_index_key_find(const mica_schema *schema, const mi_type *type, const char *path, mi_index_key *key,
                       const char *call) {
    mica_component id = type->info.id;
    uint32_t offset = 0;
    for (const char *rest = path;;) {
        int32_t count = 0;
        const mica_field *fields = mica_schema_fields(schema, id, &count);
        if (fields == NULL) {
            return false;
        }
        const size_t length = name_length(rest);
        const bool is_last = rest[length] == '\0';
        const mica_field *field = find_field(fields, count, rest);
        const char *fault =
            field == NULL ? "is not there" : find_fault(field->kind, field->is_array, field->size, is_last);
        if (fault != NULL) {
            mi_fail(&schema->log, MICA_BAD_TYPE, call, "\"{}\" asks for an index of the field \"{}\", which {}",
                    MI_TEXT(type->info.name), MI_TEXT(path), MI_TEXT(fault));
            return false;
        }
        offset += field->offset;
        if (is_last) {
            *key = (mi_index_key){.kind = field->kind,
                                  .offset = offset,
                                  .size = field->size,
                                  .word_count = field->kind == MICA_FIELD_TEXT ? (field->size + 7) / 8 : 1};
            return field->kind != MICA_FIELD_ENUM || find_sign(schema, field->type, &key->is_signed);
        }
        id = field->type;
        rest += length + 1;
    }
}

// Values

static uint64_t unsigned_at(const void *value, uint32_t size) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, value, sizeof(one));
        return one;
    case 2:
        memcpy(&two, value, sizeof(two));
        return two;
    case 4:
        memcpy(&four, value, sizeof(four));
        return four;
    default:
        memcpy(&eight, value, sizeof(eight));
        return eight;
    }
}

static uint64_t signed_word(const void *value, uint32_t size) {
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    const uint64_t bits = unsigned_at(value, size);
    return ((bits ^ sign) - sign) ^ sign_bit; // extends the sign, then turns it
}

static uint64_t float_word(const void *value, uint32_t size) {
    float narrow;
    double number;
    if (size == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        number = (double)narrow;
    } else {
        memcpy(&number, value, sizeof(number));
    }
    if (isnan(number)) {
        return UINT64_MAX;
    }
    uint64_t bits;
    number += 0.0; // -0 becomes 0
    memcpy(&bits, &number, sizeof(bits));
    return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}

static bool text_words(const mi_index_key *key, const char *text, uint64_t *words, bool is_closed) {
    const size_t limit = is_closed ? (size_t)key->size + 1 : key->size;
    const size_t length = strnlen(text, limit);
    for (uint32_t word = 0; word < key->word_count; word++) {
        words[word] = 0;
        for (uint32_t i = 0; i < 8; i++) {
            const size_t at = (size_t)word * 8 + i;
            const unsigned char byte = at < length && at < key->size ? (unsigned char)text[at] : 0;
            words[word] = words[word] << 8 | byte;
        }
    }
    return length > key->size;
}

bool mi_index_key_encode(const mi_index_key *key, const void *value, uint64_t *words, bool is_closed) {
    mica_entity entity;
    switch (key->kind) {
    case MICA_FIELD_BOOL:
        words[0] = unsigned_at(value, key->size) != 0;
        return false;
    case MICA_FIELD_INT:
        words[0] = signed_word(value, key->size);
        return false;
    case MICA_FIELD_ENUM:
        words[0] = key->is_signed ? signed_word(value, key->size) : unsigned_at(value, key->size);
        return false;
    case MICA_FIELD_FLOAT:
        words[0] = float_word(value, key->size);
        return false;
    case MICA_FIELD_ENTITY:
        memcpy(&entity, value, sizeof(entity));
        words[0] = (uint64_t)mica_entity_index(entity) << 32 | mica_entity_generation(entity);
        return false;
    case MICA_FIELD_TEXT:
        return text_words(key, value, words, is_closed);
    case MICA_FIELD_UINT:
    case MICA_FIELD_STRUCT:
        break;
    }
    words[0] = unsigned_at(value, key->size);
    return false;
}
