// Fuzzes the texts of descriptors. An input is a list of types, a line each:
//
//     KIND SIZE ALIGN NAME TEXT
//
// KIND is S (struct), E (enumeration) or T (tag); SIZE and ALIGN are numbers, or `*` for a struct that is to have what
// its text says, so that changes of the text are not all refused; NAME ends at a space; TEXT is the rest of the line.
// What is missing is empty.
//
// Whatever the bytes are: a type is registered or refused with a message; the fields of a type lie in order inside its
// size, aligned and without overlap, with kinds and sizes that belong together; values of an enumeration fit into it. A
// schema that gets the same types in the opposite order knows the same of them. Entities in a value are found where its
// fields are: placeholders put there become the handles of what was made.
#include "fuzz.h"

#include "store/fields.h"
#include "store/schema.h"

#include <ctype.h>
#include <string.h>

enum { TYPE_LIMIT = 24 };

typedef struct type_list {
    mica_type types[TYPE_LIMIT];
    int32_t count;
} type_list;

// A copy closed by zero in memory of exactly its size, to be freed.
static char *copy_text(const uint8_t *bytes, size_t byte_size) {
    char *text = malloc(byte_size + 1);
    FUZZ_CHECK(text != NULL, "");
    memcpy(text, bytes, byte_size);
    text[byte_size] = '\0';
    return text;
}

// The next word of a line and the space behind it.
static size_t word_length(const uint8_t *line, size_t byte_size) {
    const uint8_t *space = byte_size == 0 ? NULL : memchr(line, ' ', byte_size);
    return space == NULL ? byte_size : (size_t)(space - line);
}

// False: `*`.
static bool read_number(const uint8_t *word, size_t length, uint32_t *number) {
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '*') {
            return false;
        }
        *number = *number * 10 + (uint32_t)(word[i] - '0');
    }
    return true;
}

// Gives a struct the size and alignment that its text says, with what the schema knows of nested types.
static void lay_out(const mica_schema *schema, mica_type *type, bool has_size, bool has_align) {
    mi_heap heap;
    FUZZ_CHECK(mi_heap_init(&heap, NULL), "");
    mi_declaration declaration = {0};
    mi_text_fault fault;
    if (mi_declaration_parse(&heap, type->kind, type->fields, &declaration, &fault) == MI_PARSED) {
        for (uint32_t i = 0; i < declaration.fields.count; i++) {
            mi_declared_field *field = &declaration.fields.data[i];
            if (field->nested != MI_NESTED_NONE) {
                char *name = copy_text((const uint8_t *)type->fields + field->type_offset, field->type_length);
                const mica_component_info *info = mica_schema_info(schema, mica_schema_find(schema, name));
                field->size = info == NULL ? 1 : info->size;
                field->align = info == NULL || info->align == 0 ? 1 : info->align;
                free(name);
            }
        }
        const mi_layout layout = mi_declaration_lay_out(&declaration, has_align ? type->align : 1);
        type->size = has_size ? type->size : layout.size;
        type->align = has_align ? type->align : layout.align;
    }
    mi_declaration_free(&declaration, &heap);
}

// Reads one line into a descriptor whose texts are to be freed.
static mica_type read_type(const mica_schema *schema, const uint8_t *line, size_t byte_size) {
    mica_type type = {.kind = MICA_KIND_STRUCT};
    size_t at = word_length(line, byte_size);
    if (at > 0 && line[0] != 'S') {
        type.kind = line[0] == 'E' ? MICA_KIND_ENUM : MICA_KIND_TAG;
    }
    bool is_given[2];
    for (int32_t i = 0; i < 2; i++) {
        at += at < byte_size;
        const size_t length = word_length(line + at, byte_size - at);
        is_given[i] = read_number(line + at, length, i == 0 ? &type.size : &type.align);
        at += length;
    }
    at += at < byte_size;
    const size_t length = word_length(line + at, byte_size - at);
    type.name = copy_text(line + at, length);
    at += length;
    if (at < byte_size) {
        type.fields = copy_text(line + at + 1, byte_size - at - 1);
        if (type.kind == MICA_KIND_STRUCT && (!is_given[0] || !is_given[1])) {
            lay_out(schema, &type, is_given[0], is_given[1]);
        }
    }
    return type;
}

static void free_texts(mica_type *type) {
    free((void *)(uintptr_t)type->name);
    free((void *)(uintptr_t)type->fields);
    type->name = NULL;
    type->fields = NULL;
}

// Registers the types of all lines; keeps those that were not refused.
static void register_lines(mica_schema *schema, const uint8_t *bytes, size_t byte_size, type_list *list) {
    for (size_t at = 0; at < byte_size && list->count < TYPE_LIMIT;) {
        const uint8_t *line_end = memchr(bytes + at, '\n', byte_size - at);
        const size_t length = line_end == NULL ? byte_size - at : (size_t)(line_end - bytes) - at;
        mica_type *type = &list->types[list->count];
        *type = read_type(schema, bytes + at, length);
        at += length + 1;
        mica_error_clear();
        const int32_t known_count = mica_schema_count(schema);
        if (mica_schema_register(schema, type) != 0) {
            list->count++;
            continue;
        }
        FUZZ_CHECK(mica_last_result() == MICA_BAD_TYPE || mica_last_result() == MICA_MISMATCH, mica_last_error());
        FUZZ_CHECK(mica_schema_count(schema) == known_count, "a type that was refused is there");
        free_texts(type);
    }
}

// A word of C; bytes of UTF-8 beyond ASCII belong to words.
static void check_name(const char *name) {
    FUZZ_CHECK(name != NULL && name[0] != '\0' && (name[0] < '0' || name[0] > '9'), name == NULL ? "" : name);
    for (; *name != '\0'; name++) {
        const unsigned char byte = (unsigned char)*name;
        FUZZ_CHECK(byte >= 0x80 || byte == '_' || isalnum(byte), name);
    }
}

// Kind and size of a field belong together. Returns its alignment.
static uint32_t check_kind(const mica_schema *schema, const mica_field *field) {
    const mica_component_info *nested = field->type == 0 ? NULL : mica_schema_info(schema, field->type);
    const uint32_t size = field->size;
    const bool is_word = size == 1 || size == 2 || size == 4 || size == 8;
    FUZZ_CHECK((nested != NULL) == (field->kind == MICA_FIELD_ENUM || field->kind == MICA_FIELD_STRUCT), field->name);
    switch (field->kind) {
    case MICA_FIELD_BOOL:
        FUZZ_CHECK(size == 1, field->name);
        return 1;
    case MICA_FIELD_INT:
    case MICA_FIELD_UINT:
        FUZZ_CHECK(is_word, field->name);
        return size;
    case MICA_FIELD_FLOAT:
        FUZZ_CHECK(size == 4 || size == 8, field->name);
        return size;
    case MICA_FIELD_TEXT:
        FUZZ_CHECK(size > 0, field->name);
        return 1;
    case MICA_FIELD_ENTITY:
        FUZZ_CHECK(size == sizeof(mica_entity), field->name);
        return (uint32_t) _Alignof(mica_entity);
    case MICA_FIELD_ENUM:
    case MICA_FIELD_STRUCT:
        FUZZ_CHECK(nested->size == size, field->name);
        FUZZ_CHECK(nested->kind == (field->kind == MICA_FIELD_ENUM ? MICA_KIND_ENUM : MICA_KIND_STRUCT), field->name);
        return nested->align;
    }
    FUZZ_CHECK(false, "a field of no kind");
    return 1;
}

static void check_fields(const mica_schema *schema, const mica_component_info *info) {
    int32_t count = -1;
    const mica_field *fields = mica_schema_fields(schema, info->id, &count);
    if (fields == NULL) {
        FUZZ_CHECK(mica_last_result() == MICA_UNREFLECTED, mica_last_error());
        return;
    }
    FUZZ_CHECK(info->kind == MICA_KIND_STRUCT && count > 0, info->name);
    uint64_t end = 0;
    for (int32_t i = 0; i < count; i++) {
        const mica_field *field = &fields[i];
        check_name(field->name);
        FUZZ_CHECK(field->count > 0 && (field->is_array || field->count == 1), field->name);
        FUZZ_CHECK(field->offset >= end, "fields overlap");
        FUZZ_CHECK(field->offset % check_kind(schema, field) == 0, "a field is not aligned");
        end = field->offset + (uint64_t)field->size * field->count;
    }
    FUZZ_CHECK(end <= info->size && info->size - end < info->align, "the last field does not end with the struct");
    FUZZ_CHECK(mica_schema_fields(schema, info->id, NULL) == fields, "fields have moved");
}

static void check_enumerators(const mica_schema *schema, const mica_component_info *info) {
    int32_t count = -1;
    const mica_enumerator *enumerators = mica_schema_enumerators(schema, info->id, &count);
    if (enumerators == NULL) {
        FUZZ_CHECK(mica_last_result() == MICA_UNREFLECTED, mica_last_error());
        return;
    }
    FUZZ_CHECK(info->kind == MICA_KIND_ENUM && count > 0 && info->size <= 8, info->name);
    bool is_signed = false;
    for (int32_t i = 0; i < count; i++) {
        is_signed |= enumerators[i].value < 0;
    }
    const uint32_t value_bits = info->size * 8 - is_signed;
    for (int32_t i = 0; i < count; i++) {
        check_name(enumerators[i].name);
        const uint64_t magnitude = (uint64_t)(enumerators[i].value < 0 ? ~enumerators[i].value : enumerators[i].value);
        FUZZ_CHECK(value_bits >= 64 || magnitude >> value_bits == 0, enumerators[i].name);
    }
}

static const char *type_name(const mica_schema *schema, mica_component id) {
    return id == 0 ? "" : mica_schema_info(schema, id)->name;
}

// Both schemas know the same of a type.
static void check_same(const mica_schema *a, mica_component a_id, const mica_schema *b, mica_component b_id) {
    int32_t a_count = 0;
    int32_t b_count = 0;
    const mica_field *a_fields = mica_schema_fields(a, a_id, &a_count);
    const mica_field *b_fields = mica_schema_fields(b, b_id, &b_count);
    FUZZ_CHECK((a_fields == NULL) == (b_fields == NULL) && (a_fields == NULL || a_count == b_count), "");
    for (int32_t i = 0; a_fields != NULL && i < a_count; i++) {
        FUZZ_CHECK(strcmp(a_fields[i].name, b_fields[i].name) == 0 && a_fields[i].kind == b_fields[i].kind &&
                       a_fields[i].offset == b_fields[i].offset && a_fields[i].size == b_fields[i].size &&
                       a_fields[i].count == b_fields[i].count && a_fields[i].is_array == b_fields[i].is_array &&
                       strcmp(type_name(a, a_fields[i].type), type_name(b, b_fields[i].type)) == 0,
                   a_fields[i].name);
    }
    const mica_enumerator *a_names = mica_schema_enumerators(a, a_id, &a_count);
    const mica_enumerator *b_names = mica_schema_enumerators(b, b_id, &b_count);
    FUZZ_CHECK((a_names == NULL) == (b_names == NULL) && (a_names == NULL || a_count == b_count), "");
    for (int32_t i = 0; a_names != NULL && i < a_count; i++) {
        FUZZ_CHECK(strcmp(a_names[i].name, b_names[i].name) == 0 && a_names[i].value == b_names[i].value, "");
    }
}

// Writes `entity` to all entity fields of a value, or, `is_check`, asserts that it is there. Types do not hold
// themselves, so that this is at most as deep as there are types. Returns how many fields there are.
static int32_t visit_entities(const mica_schema *schema, mica_component id, uint8_t *value, mica_entity entity,
                              bool is_check) {
    int32_t count = 0;
    int32_t entity_count = 0;
    const mica_field *fields = mica_schema_fields(schema, id, &count);
    for (int32_t i = 0; fields != NULL && i < count; i++) {
        for (uint32_t k = 0; k < fields[i].count; k++) {
            uint8_t *place = value + fields[i].offset + (size_t)k * fields[i].size;
            if (fields[i].kind == MICA_FIELD_STRUCT) {
                const int32_t nested_count = visit_entities(schema, fields[i].type, place, entity, is_check);
                entity_count += nested_count;
                if (nested_count == 0) {
                    break;
                }
            } else if (fields[i].kind == MICA_FIELD_ENTITY && is_check) {
                FUZZ_CHECK(memcmp(place, &entity, sizeof(entity)) == 0, fields[i].name);
                entity_count++;
            } else if (fields[i].kind == MICA_FIELD_ENTITY) {
                memcpy(place, &entity, sizeof(entity));
                entity_count++;
            }
        }
    }
    return entity_count;
}

// Records a value of the type whose entity fields name an entity that is made in the same buffer.
static void check_values(mica_world *world, mica_component id) {
    const mica_schema *schema = mica_world_schema(world);
    const mica_component_info *info = mica_schema_info(schema, id);
    if (info->size == 0) {
        return;
    }
    uint8_t *value = aligned_alloc(info->align, info->size);
    mica_commands *commands = mica_commands_create(world);
    FUZZ_CHECK(value != NULL && commands != NULL, mica_last_error());
    memset(value, 0, info->size);
    const mica_entity placeholder = mica_commands_spawn(commands, NULL, 0);
    const int32_t entity_count = visit_entities(schema, id, value, placeholder, false);
    FUZZ_CHECK(mica_commands_set(commands, placeholder, id, value) == MICA_OK, mica_last_error());
    FUZZ_CHECK(mica_commands_apply(commands) == MICA_OK, mica_last_error());
    const mica_entity entity = mica_commands_resolve(commands, placeholder);
    const void *stored = mica_entity_get(world, entity, id);
    FUZZ_CHECK(stored != NULL && (uintptr_t)stored % info->align == 0, mica_last_error());
    memcpy(value, stored, info->size);
    FUZZ_CHECK(visit_entities(schema, id, value, entity, true) == entity_count, info->name);
    mica_commands_destroy(commands);
    free(value);
}

static mica_schema *make_schema(test_allocator *allocator) {
    test_allocator_init(allocator);
    mica_schema *schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(allocator)});
    FUZZ_CHECK(schema != NULL, mica_last_error());
    return schema;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_size) {
    test_allocator allocators[2];
    mica_schema *schema = make_schema(&allocators[0]);
    mica_schema *opposite = make_schema(&allocators[1]);
    type_list list = {.count = 0};
    register_lines(schema, bytes, byte_size, &list);
    for (int32_t i = list.count; i-- > 0;) {
        FUZZ_CHECK(mica_schema_register(opposite, &list.types[i]) != 0, mica_last_error());
    }
    for (int32_t i = 0; i < list.count; i++) {
        free_texts(&list.types[i]); // a schema keeps copies
    }
    FUZZ_CHECK(mica_schema_count(schema) == mica_schema_count(opposite), "");
    mica_world *world = mica_world_create(&(mica_world_def){.schema = schema});
    FUZZ_CHECK(world != NULL, mica_last_error());
    for (int32_t i = 1; i <= mica_schema_count(schema); i++) {
        const mica_component_info *info = mica_schema_info(schema, (mica_component)i);
        check_fields(schema, info);
        check_enumerators(schema, info);
        check_same(schema, info->id, opposite, mica_schema_find(opposite, info->name));
        check_values(world, info->id);
    }
    FUZZ_CHECK_WORLD(world);
    mica_world_destroy(world);
    mica_schema_release(schema);
    mica_schema_release(opposite);
    FUZZ_CHECK_MEMORY(&allocators[0]);
    FUZZ_CHECK_MEMORY(&allocators[1]);
    return 0;
}
