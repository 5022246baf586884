// Reads the body of a struct or an enumeration into a declaration, and lays structs out as the C ABI does.
//
// The grammar is what plain data is written in: scalars in all spellings, mica_entity, nested types by name, several
// declarators, arrays of arrays with constant sizes, qualifiers and alignment specifiers. The rest of C (pointers,
// bit-fields, unions, types declared inside, attributes, initialisers) is a fault with a reason and a place: whoever
// registers such a type gets it unreflected, never wrong. Nothing recurses: a body has no nesting that is read.
//
// Invariants of a declaration without fault: counts are 1 to MICA_SIZE_MAX, `own_align` is 0 or a power of two of at
// most MICA_ALIGN_MAX, and all offsets and lengths lie in the text, every name being followed by at least one byte that
// is no part of it.
#include "store/fields.h"

#include <limits.h>
#include <string.h>

#include <mica/entity.h>

#include "store/constant.h"

// Scalars

// The words that spell C's own types, two bits each to count them in.
enum {
    WORD_CHAR = 1 << 0,
    WORD_SHORT = 1 << 2,
    WORD_INT = 1 << 4,
    WORD_LONG = 1 << 6,
    WORD_SIGNED = 1 << 8,
    WORD_UNSIGNED = 1 << 10,
    WORD_FLOAT = 1 << 12,
    WORD_DOUBLE = 1 << 14,
    WORD_BOOL = 1 << 16,
    WORD_MOST = 3 // that two bits can count
};

#define PLAIN_CHAR (CHAR_MIN < 0 ? MICA_FIELD_INT : MICA_FIELD_UINT)

// X(NAME, TYPE, WORDS, KIND): C's own types, by the words that are left when those that say nothing are taken out.
#define SPELLED_SCALARS(X)                                                                    \
    X(plain_char, char, WORD_CHAR, PLAIN_CHAR)                                                \
    X(signed_char, signed char, WORD_SIGNED + WORD_CHAR, MICA_FIELD_INT)                      \
    X(unsigned_char, unsigned char, WORD_UNSIGNED + WORD_CHAR, MICA_FIELD_UINT)               \
    X(short, short, WORD_SHORT, MICA_FIELD_INT)                                               \
    X(unsigned_short, unsigned short, WORD_UNSIGNED + WORD_SHORT, MICA_FIELD_UINT)            \
    X(int, int, WORD_INT, MICA_FIELD_INT)                                                     \
    X(unsigned, unsigned, WORD_UNSIGNED, MICA_FIELD_UINT)                                     \
    X(long, long, WORD_LONG, MICA_FIELD_INT)                                                  \
    X(unsigned_long, unsigned long, WORD_UNSIGNED + WORD_LONG, MICA_FIELD_UINT)               \
    X(long_long, long long, 2 * WORD_LONG, MICA_FIELD_INT)                                    \
    X(unsigned_long_long, unsigned long long, WORD_UNSIGNED + 2 * WORD_LONG, MICA_FIELD_UINT) \
    X(float, float, WORD_FLOAT, MICA_FIELD_FLOAT)                                             \
    X(double, double, WORD_DOUBLE, MICA_FIELD_FLOAT)                                          \
    X(bool, _Bool, WORD_BOOL, MICA_FIELD_BOOL)

// X(NAME, KIND): types known by one name.
#define NAMED_SCALARS(X)          \
    X(int8_t, MICA_FIELD_INT)     \
    X(int16_t, MICA_FIELD_INT)    \
    X(int32_t, MICA_FIELD_INT)    \
    X(int64_t, MICA_FIELD_INT)    \
    X(intmax_t, MICA_FIELD_INT)   \
    X(intptr_t, MICA_FIELD_INT)   \
    X(ptrdiff_t, MICA_FIELD_INT)  \
    X(uint8_t, MICA_FIELD_UINT)   \
    X(uint16_t, MICA_FIELD_UINT)  \
    X(uint32_t, MICA_FIELD_UINT)  \
    X(uint64_t, MICA_FIELD_UINT)  \
    X(uintmax_t, MICA_FIELD_UINT) \
    X(uintptr_t, MICA_FIELD_UINT) \
    X(size_t, MICA_FIELD_UINT)    \
    X(mica_entity, MICA_FIELD_ENTITY)

// The alignment that a type has inside a struct, which on some systems is not what _Alignof says.
#define PROBE_SPELLED(NAME, TYPE, WORDS, KIND) \
    struct probe_##NAME {                      \
        char before;                           \
        TYPE value;                            \
    };
#define PROBE_NAMED(NAME, KIND) \
    struct probe_##NAME {       \
        char before;            \
        NAME value;             \
    };
SPELLED_SCALARS(PROBE_SPELLED)
NAMED_SCALARS(PROBE_NAMED)

typedef struct scalar {
    const char *name; // of those that have one
    uint32_t words;   // of C's own
    mica_field_kind kind;
    uint32_t size, align;
} scalar;

#define ROW_SPELLED(NAME, TYPE, WORDS, KIND) \
    {NULL, (WORDS), (KIND), sizeof(TYPE), offsetof(struct probe_##NAME, value)},
#define ROW_NAMED(NAME, KIND) {#NAME, 0, (KIND), sizeof(NAME), offsetof(struct probe_##NAME, value)},

static const scalar scalars[] = {SPELLED_SCALARS(ROW_SPELLED) NAMED_SCALARS(ROW_NAMED)};

enum { SCALAR_COUNT = sizeof(scalars) / sizeof(scalars[0]) };

static const scalar *find_named_scalar(const mi_lexer *lexer) {
    for (size_t i = 0; i < SCALAR_COUNT; i++) {
        if (scalars[i].name != NULL && mi_lexer_at_word(lexer, scalars[i].name)) {
            return &scalars[i];
        }
    }
    return NULL;
}

// NULL: no type of C is spelled like this.
static const scalar *find_spelled_scalar(uint32_t words) {
    // `signed` and `int` say nothing beside others, except that `signed char` differs from `char`.
    const uint32_t all = WORD_MOST;
    if ((words & all * (WORD_CHAR | WORD_UNSIGNED | WORD_FLOAT | WORD_DOUBLE | WORD_BOOL)) == 0 &&
        (words & all * WORD_SIGNED) == WORD_SIGNED) {
        words -= WORD_SIGNED;
        words = words == 0 ? WORD_INT : words;
    }
    if ((words & all * (WORD_SHORT | WORD_LONG | WORD_UNSIGNED)) != 0 && (words & all * WORD_CHAR) == 0 &&
        (words & all * WORD_INT) == WORD_INT) {
        words -= WORD_INT;
    }
    for (size_t i = 0; i < SCALAR_COUNT; i++) {
        if (scalars[i].words == words) {
            return &scalars[i];
        }
    }
    return NULL;
}

// The bits of a word that spells a type of C; 0: it does not.
static uint32_t spelling_of(const mi_lexer *lexer) {
    static const struct {
        const char *word;
        uint32_t bits;
    } spellings[] = {{"char", WORD_CHAR},         {"short", WORD_SHORT},   {"int", WORD_INT},
                     {"long", WORD_LONG},         {"signed", WORD_SIGNED}, {"__signed__", WORD_SIGNED},
                     {"unsigned", WORD_UNSIGNED}, {"float", WORD_FLOAT},   {"double", WORD_DOUBLE},
                     {"bool", WORD_BOOL},         {"_Bool", WORD_BOOL}};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (mi_lexer_at_word(lexer, spellings[i].word)) {
            return spellings[i].bits;
        }
    }
    return 0;
}

// Structs

typedef struct body_reader {
    mi_lexer lexer;
    mi_heap *heap;
    mi_declaration *declaration;
    mi_text_fault *fault;
    bool out_of_memory;
} body_reader;

// What stands before the declarators: the type of all of them.
typedef struct field_type {
    uint32_t words; // of C's own types
    const scalar *named;
    mi_nested nested;
    uint32_t type_offset, type_length;
    uint32_t own_align;
    mi_token first; // where the type's name or spelling starts
    bool has_type;
} field_type;

static bool fault_here(body_reader *reader, const char *reason) {
    return mi_lexer_fault(&reader->lexer, reader->fault, reason);
}

static bool expect(body_reader *reader, uint32_t sign, const char *reason) {
    if (!mi_lexer_at_sign(&reader->lexer, sign)) {
        return fault_here(reader, reason);
    }
    mi_lexer_next(&reader->lexer);
    return true;
}

static bool at_any(const body_reader *reader, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (mi_lexer_at_word(&reader->lexer, words[i])) {
            return true;
        }
    }
    return false;
}

#define AT_ANY(READER, ...)                              \
    at_any((READER), (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

// Words of C that say something about a field that fields cannot say; NULL: another word.
static const char *unsupported_word(const body_reader *reader) {
    if (mi_lexer_at_word(&reader->lexer, "union")) {
        return "unions are not supported";
    }
    if (AT_ANY(reader, "_Atomic", "_Complex", "_Imaginary", "_Thread_local", "void", "__attribute__", "_BitInt")) {
        return "only plain data is supported";
    }
    if (AT_ANY(reader, "static", "typedef", "register", "extern", "inline", "mutable", "public", "private", "protected",
               "template", "using", "friend", "virtual", "operator", "_Static_assert", "static_assert")) {
        return "only declarations of fields are supported";
    }
    return NULL;
}

static bool read_alignment(body_reader *reader, field_type *type) {
    mi_lexer_next(&reader->lexer);
    if (!expect(reader, MI_SIGN('('), "an alignment in parentheses is missing here")) {
        return false;
    }
    const mi_lexer start = reader->lexer;
    int64_t align;
    if (!mi_constant_read(&reader->lexer, NULL, NULL, &align, reader->fault)) {
        return false;
    }
    if (align < 0 || align > MICA_ALIGN_MAX || (align & (align - 1)) != 0) {
        return mi_lexer_fault(&start, reader->fault, "this alignment is no power of two of at most 4096");
    }
    type->own_align = (uint32_t)align > type->own_align ? (uint32_t)align : type->own_align;
    return expect(reader, MI_SIGN(')'), "an alignment is a constant in parentheses");
}

// A struct or enumeration by its tag, which must be declared elsewhere.
static bool read_tagged(body_reader *reader, field_type *type, mi_nested nested) {
    mi_lexer_next(&reader->lexer);
    if (mi_lexer_at_sign(&reader->lexer, MI_SIGN('{'))) {
        return fault_here(reader, "types declared inside are not supported; declare them by themselves");
    }
    if (reader->lexer.token.kind != MI_TOKEN_WORD) {
        return fault_here(reader, "the name of a type is missing here");
    }
    type->nested = nested;
    type->type_offset = reader->lexer.token.offset;
    type->type_length = reader->lexer.token.length;
    type->has_type = true;
    mi_lexer_next(&reader->lexer);
    if (mi_lexer_at_sign(&reader->lexer, MI_SIGN('{'))) {
        return fault_here(reader, "types declared inside are not supported; declare them by themselves");
    }
    return true;
}

// Reads one word of the specifiers. `over`: it was none of them.
static bool read_specifier(body_reader *reader, field_type *type, bool *over) {
    mi_lexer *lexer = &reader->lexer;
    const char *unsupported = unsupported_word(reader);
    const uint32_t bits = spelling_of(lexer);
    if (unsupported != NULL) {
        return fault_here(reader, unsupported);
    }
    if (AT_ANY(reader, "const", "volatile", "__const", "__volatile__", "__extension__")) {
        mi_lexer_next(lexer);
        return true;
    }
    if (AT_ANY(reader, "_Alignas", "alignas")) {
        return read_alignment(reader, type);
    }
    if (bits != 0) {
        if ((type->has_type && type->words == 0) || (type->words & WORD_MOST * bits) == 2 * bits) {
            return fault_here(reader, "this is no type of C");
        }
        type->words += bits;
        type->has_type = true;
        mi_lexer_next(lexer);
        return true;
    }
    if (lexer->token.kind != MI_TOKEN_WORD || type->has_type) {
        *over = true;
        return true;
    }
    if (mi_lexer_at_word(lexer, "struct")) {
        return read_tagged(reader, type, MI_NESTED_STRUCT);
    }
    if (mi_lexer_at_word(lexer, "enum")) {
        return read_tagged(reader, type, MI_NESTED_ENUM);
    }
    type->named = find_named_scalar(lexer);
    type->nested = type->named == NULL ? MI_NESTED_ANY : MI_NESTED_NONE;
    type->type_offset = lexer->token.offset;
    type->type_length = lexer->token.length;
    type->has_type = true;
    mi_lexer_next(lexer);
    return true;
}

static bool read_specifiers(body_reader *reader, field_type *type) {
    type->first = reader->lexer.token;
    for (bool over = false; !over;) {
        if (!read_specifier(reader, type, &over)) {
            return false;
        }
    }
    if (!type->has_type) {
        return fault_here(reader, "a type is missing here");
    }
    if (type->words != 0) {
        type->named = find_spelled_scalar(type->words);
        if (type->named == NULL) {
            *reader->fault = (mi_text_fault){"this type is not supported", type->first.offset, 0};
            return false;
        }
    }
    return true;
}

// Reads the sizes of arrays of arrays: how many elements there are in all, and in the innermost.
static bool read_sizes(body_reader *reader, uint32_t *dimension_count, uint32_t *count, uint32_t *last) {
    *dimension_count = 0;
    *count = 1;
    *last = 1;
    while (mi_lexer_at_sign(&reader->lexer, MI_SIGN('['))) {
        mi_lexer_next(&reader->lexer);
        if (mi_lexer_at_sign(&reader->lexer, MI_SIGN(']'))) {
            return fault_here(reader, "arrays without a size are not supported");
        }
        const mi_lexer start = reader->lexer;
        int64_t size;
        if (!mi_constant_read(&reader->lexer, NULL, NULL, &size, reader->fault)) {
            return false;
        }
        if (size <= 0 || size > MICA_SIZE_MAX || (uint64_t)size * *count > MICA_SIZE_MAX) {
            return mi_lexer_fault(&start, reader->fault, "this size of an array is not 1 to 65536 elements in all");
        }
        *dimension_count += 1;
        *count *= (uint32_t)size;
        *last = (uint32_t)size;
        if (!expect(reader, MI_SIGN(']'), "the end of an array's size is missing here")) {
            return false;
        }
    }
    return true;
}

static const char *unsupported_declarator(const mi_lexer *lexer) {
    switch (lexer->token.sign) {
    case MI_SIGN('*'):
        return "pointers are not supported";
    case MI_SIGN('('):
        return "functions, pointers to them and declarators in parentheses are not supported";
    case MI_SIGN(':'):
        return "bit-fields are not supported";
    case MI_SIGN('&'):
    case MI_SIGN_OF_TWO('&', '&'):
        return "references are not supported";
    case MI_SIGN('='):
    case MI_SIGN('{'):
        return "initialisers are not supported";
    case MI_SIGN('<'):
    case MI_SIGN_OF_TWO(':', ':'):
        return "types of C++ are not supported";
    default:
        return NULL;
    }
}

static bool add_field(body_reader *reader, mi_declared_field field) {
    mi_declaration *declaration = reader->declaration;
    if (!MI_RESERVE(reader->heap, MICA_MEMORY_SCHEMA, &declaration->fields, declaration->fields.count + 1)) {
        reader->out_of_memory = true;
        return false;
    }
    declaration->fields.data[declaration->fields.count++] = field;
    declaration->has_nested |= field.nested != MI_NESTED_NONE;
    return true;
}

static bool read_declarator(body_reader *reader, const field_type *type) {
    mi_lexer *lexer = &reader->lexer;
    const char *unsupported = unsupported_declarator(lexer);
    if (unsupported != NULL) {
        return fault_here(reader, unsupported);
    }
    if (lexer->token.kind != MI_TOKEN_WORD) {
        return fault_here(reader, "the name of a field is missing here");
    }
    mi_declared_field field = {.name_offset = lexer->token.offset,
                               .name_length = lexer->token.length,
                               .nested = type->nested,
                               .own_align = type->own_align};
    mi_lexer_next(lexer);
    uint32_t dimension_count;
    uint32_t last;
    if (!read_sizes(reader, &dimension_count, &field.count, &last)) {
        return false;
    }
    unsupported = unsupported_declarator(lexer);
    if (unsupported != NULL) {
        return fault_here(reader, unsupported);
    }
    field.is_array = dimension_count > 0;
    if (type->nested != MI_NESTED_NONE) {
        field.type_offset = type->type_offset;
        field.type_length = type->type_length;
        return add_field(reader, field);
    }
    field.kind = type->named->kind;
    field.size = type->named->size;
    field.align = type->named->align;
    if (type->words == WORD_CHAR && dimension_count > 0) {
        field.kind = MICA_FIELD_TEXT;
        field.size = last;
        field.count /= last;
        field.is_array = dimension_count > 1;
    }
    return add_field(reader, field);
}

static bool read_fields(body_reader *reader) {
    field_type type = {0};
    if (!read_specifiers(reader, &type)) {
        return false;
    }
    for (;;) {
        if (!read_declarator(reader, &type)) {
            return false;
        }
        if (!mi_lexer_at_sign(&reader->lexer, MI_SIGN(','))) {
            break;
        }
        mi_lexer_next(&reader->lexer);
    }
    return expect(reader, MI_SIGN(';'), "a comma or semicolon is missing here");
}

static bool read_end(body_reader *reader) {
    mi_lexer_next(&reader->lexer);
    return reader->lexer.token.kind == MI_TOKEN_END ||
           fault_here(reader, "only a body in braces is supported, with nothing behind it");
}

static bool read_struct(body_reader *reader) {
    if (!expect(reader, MI_SIGN('{'), "only a body in braces is supported, with nothing before it")) {
        return false;
    }
    while (!mi_lexer_at_sign(&reader->lexer, MI_SIGN('}'))) {
        if (mi_lexer_at_sign(&reader->lexer, MI_SIGN(';'))) {
            mi_lexer_next(&reader->lexer);
        } else if (!read_fields(reader)) {
            return false;
        }
    }
    return read_end(reader) && (reader->declaration->fields.count > 0 || fault_here(reader, "there are no fields"));
}

// Enumerations

static bool find_enumerator(const void *context, const char *name, uint32_t length, int64_t *value) {
    const body_reader *reader = context;
    const mi_declaration *declaration = reader->declaration;
    for (uint32_t i = 0; i < declaration->enumerators.count; i++) {
        const mi_declared_enumerator *enumerator = &declaration->enumerators.data[i];
        if (enumerator->name_length == length &&
            memcmp(reader->lexer.text + enumerator->name_offset, name, length) == 0) {
            *value = enumerator->value;
            return true;
        }
    }
    return false;
}

static bool read_enumerator(body_reader *reader) {
    mi_declaration *declaration = reader->declaration;
    mi_lexer *lexer = &reader->lexer;
    if (lexer->token.kind != MI_TOKEN_WORD) {
        return fault_here(reader, "the name of an enumerator is missing here");
    }
    mi_declared_enumerator enumerator = {.name_offset = lexer->token.offset, .name_length = lexer->token.length};
    const uint32_t count = declaration->enumerators.count;
    const bool overflow =
        count > 0 && __builtin_add_overflow(declaration->enumerators.data[count - 1].value, 1, &enumerator.value);
    mi_lexer_next(lexer);
    if (mi_lexer_at_sign(lexer, MI_SIGN('='))) {
        mi_lexer_next(lexer);
        if (!mi_constant_read(lexer, find_enumerator, reader, &enumerator.value, reader->fault)) {
            return false;
        }
    } else if (overflow) {
        return fault_here(reader, "the value before this place has no successor");
    }
    if (!MI_RESERVE(reader->heap, MICA_MEMORY_SCHEMA, &declaration->enumerators, count + 1)) {
        reader->out_of_memory = true;
        return false;
    }
    declaration->enumerators.data[declaration->enumerators.count++] = enumerator;
    return true;
}

static bool read_enum(body_reader *reader) {
    if (!expect(reader, MI_SIGN('{'), "only a body in braces is supported, with nothing before it")) {
        return false;
    }
    for (;;) {
        if (!read_enumerator(reader)) {
            return false;
        }
        if (mi_lexer_at_sign(&reader->lexer, MI_SIGN(','))) {
            mi_lexer_next(&reader->lexer);
        } else if (!mi_lexer_at_sign(&reader->lexer, MI_SIGN('}'))) {
            return fault_here(reader, "a comma or the closing brace is missing here");
        }
        if (mi_lexer_at_sign(&reader->lexer, MI_SIGN('}'))) {
            return read_end(reader);
        }
    }
}

// Declarations

mi_parsed mi_declaration_parse(mi_heap *heap, mica_type_kind kind, const char *text, mi_declaration *declaration,
                               mi_text_fault *fault) {
    *declaration = (mi_declaration){0};
    *fault = (mi_text_fault){0};
    if (strnlen(text, MI_TEXT_MAX + 1) > MI_TEXT_MAX) {
        fault->reason = "the text is too long";
        return MI_PARSED_FAULT;
    }
    body_reader reader = {.heap = heap, .declaration = declaration, .fault = fault};
    mi_lexer_start(&reader.lexer, text);
    if (kind == MICA_KIND_ENUM ? read_enum(&reader) : read_struct(&reader)) {
        return MI_PARSED;
    }
    return reader.out_of_memory ? MI_PARSED_NO_MEMORY : MI_PARSED_FAULT;
}

void mi_declaration_free(mi_declaration *declaration, mi_heap *heap) {
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &declaration->fields);
    MI_FREE(heap, MICA_MEMORY_SCHEMA, &declaration->enumerators);
}

static uint64_t round_up(uint64_t offset, uint32_t align) {
    return (offset + align - 1) & ~(uint64_t)(align - 1);
}

static uint32_t saturate(uint64_t offset) {
    return offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX;
}

mi_layout mi_declaration_lay_out(mi_declaration *declaration, uint32_t align) {
    // Fields are fewer than 2^31 and of at most 2^32 bytes each, so the sum stays below 2^64.
    uint64_t end = 0;
    uint32_t needed = 1;
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        mi_declared_field *field = &declaration->fields.data[i];
        const uint32_t field_align = field->own_align > field->align ? field->own_align : field->align;
        needed = field_align > needed ? field_align : needed;
        end = round_up(end, field_align);
        field->offset = saturate(end);
        end += (uint64_t)field->size * field->count;
    }
    return (mi_layout){saturate(round_up(end, align > needed ? align : needed)), needed};
}

const mi_declared_enumerator *mi_declaration_misfit(const mi_declaration *declaration, uint32_t byte_size) {
    if (byte_size >= sizeof(int64_t)) {
        return NULL;
    }
    bool has_negative = false;
    for (uint32_t i = 0; i < declaration->enumerators.count; i++) {
        has_negative |= declaration->enumerators.data[i].value < 0;
    }
    const int64_t limit = INT64_C(1) << (8 * byte_size - (has_negative ? 1 : 0));
    for (uint32_t i = 0; i < declaration->enumerators.count; i++) {
        const int64_t value = declaration->enumerators.data[i].value;
        if (value >= limit || value < -limit) {
            return &declaration->enumerators.data[i];
        }
    }
    return NULL;
}

static bool is_same_name(const char *a, uint32_t a_length, const char *b, uint32_t b_length) {
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static bool is_same_field(const char *a_text, const mi_declared_field *a, const char *b_text,
                          const mi_declared_field *b) {
    return is_same_name(a_text + a->name_offset, a->name_length, b_text + b->name_offset, b->name_length) &&
           is_same_name(a_text + a->type_offset, a->type_length, b_text + b->type_offset, b->type_length) &&
           (a->nested != MI_NESTED_NONE) == (b->nested != MI_NESTED_NONE) && a->kind == b->kind && a->size == b->size &&
           a->own_align == b->own_align && a->count == b->count && a->is_array == b->is_array;
}

static bool is_same_declaration(const char *a_text, const mi_declaration *a, const char *b_text,
                                const mi_declaration *b) {
    if (a->fields.count != b->fields.count || a->enumerators.count != b->enumerators.count) {
        return false;
    }
    for (uint32_t i = 0; i < a->fields.count; i++) {
        if (!is_same_field(a_text, &a->fields.data[i], b_text, &b->fields.data[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < a->enumerators.count; i++) {
        const mi_declared_enumerator *x = &a->enumerators.data[i];
        const mi_declared_enumerator *y = &b->enumerators.data[i];
        if (x->value != y->value ||
            !is_same_name(a_text + x->name_offset, x->name_length, b_text + y->name_offset, y->name_length)) {
            return false;
        }
    }
    return true;
}

mi_agreement mi_declarations_agree(mi_heap *heap, mica_type_kind kind, const char *a_text, const char *b_text) {
    mi_text_fault fault;
    mi_declaration a;
    mi_declaration b;
    const mi_parsed a_parsed = mi_declaration_parse(heap, kind, a_text, &a, &fault);
    const mi_parsed b_parsed = mi_declaration_parse(heap, kind, b_text, &b, &fault);
    mi_agreement agreement = MI_DISAGREE;
    if (a_parsed == MI_PARSED_NO_MEMORY || b_parsed == MI_PARSED_NO_MEMORY) {
        agreement = MI_AGREE_NO_MEMORY;
    } else if (a_parsed == MI_PARSED && b_parsed == MI_PARSED && is_same_declaration(a_text, &a, b_text, &b)) {
        agreement = MI_AGREE;
    }
    mi_declaration_free(&a, heap);
    mi_declaration_free(&b, heap);
    return agreement;
}
