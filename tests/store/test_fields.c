// Field texts: what the compiler makes of a struct is what is read from its text; what cannot be read is left out with
// a reason and a place; what disagrees is refused.
#include "store/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mica/entity.h>

#include "support/test_allocator.h"
#include "support/test_random.h"

#define EIGHT 8
#define DOUBLED(X) ((X)*2)

MICA_STRUCT(Scalars, {
    bool on;
    char letter;
    signed char small;
    unsigned char byte;
    short a;
    unsigned short int b;
    int c;
    unsigned d;
    long e;
    long unsigned int f;
    long long g;
    int long unsigned long h;
    float x;
    double y;
});

MICA_STRUCT(Named, {
    int8_t a;
    uint64_t b;
    uint8_t c;
    int64_t d;
    int16_t e;
    uint16_t f;
    int32_t g;
    uint32_t h;
    size_t i;
    ptrdiff_t j;
    intptr_t k;
    uintptr_t l;
    intmax_t m;
    uintmax_t n;
    mica_entity who;
});

MICA_STRUCT(Arrays, {
    float one[1], plain, grid[3][4];
    char name[EIGHT], names[2][DOUBLED(EIGHT)], letter;
    uint8_t bytes[1 << 4];
    mica_entity all[(4 * 8) / 16];
    const volatile int32_t qualified;
});

MICA_STRUCT(Aligned, {
    char before;
    _Alignas(16) float v[4];
    _Alignas(2) char after;
    _Alignas(0) int last;
});

typedef struct fixture {
    test_allocator allocator;
    mica_schema *schema;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.schema);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
    return 0;
}

static const mica_field *fields_of(const fixture *f, mica_type *type, int32_t *count) {
    const mica_component id = mica_schema_register(f->schema, type);
    const mica_field *fields = mica_schema_fields(f->schema, id, count);
    if (fields == NULL) {
        fail_msg("%s: %s", type->name, mica_last_error());
    }
    return fields;
}

static void assert_field(const mica_field *field, const char *name, mica_field_kind kind, size_t offset, size_t size,
                         uint32_t count) {
    assert_string_equal(field->name, name);
    assert_int_equal(field->kind, kind);
    assert_int_equal(field->offset, offset);
    assert_int_equal(field->size, size);
    assert_int_equal(field->count, count);
    assert_int_equal(field->type, 0);
}

#define SCALAR(T, INDEX, NAME, KIND) \
    assert_field(&fields[INDEX], #NAME, KIND, offsetof(T, NAME), sizeof(((T *)NULL)->NAME), 1)

static void scalars_of_every_spelling_lie_where_the_compiler_put_them(void **state) {
    int32_t count;
    const mica_field *fields = fields_of(*state, mica_type_of(Scalars), &count);
    assert_int_equal(count, 14);
    SCALAR(Scalars, 0, on, MICA_FIELD_BOOL);
    SCALAR(Scalars, 1, letter, (char)-1 < 0 ? MICA_FIELD_INT : MICA_FIELD_UINT);
    SCALAR(Scalars, 2, small, MICA_FIELD_INT);
    SCALAR(Scalars, 3, byte, MICA_FIELD_UINT);
    SCALAR(Scalars, 4, a, MICA_FIELD_INT);
    SCALAR(Scalars, 5, b, MICA_FIELD_UINT);
    SCALAR(Scalars, 6, c, MICA_FIELD_INT);
    SCALAR(Scalars, 7, d, MICA_FIELD_UINT);
    SCALAR(Scalars, 8, e, MICA_FIELD_INT);
    SCALAR(Scalars, 9, f, MICA_FIELD_UINT);
    SCALAR(Scalars, 10, g, MICA_FIELD_INT);
    SCALAR(Scalars, 11, h, MICA_FIELD_UINT);
    SCALAR(Scalars, 12, x, MICA_FIELD_FLOAT);
    SCALAR(Scalars, 13, y, MICA_FIELD_FLOAT);
}

static void named_scalars_lie_where_the_compiler_put_them(void **state) {
    int32_t count;
    const mica_field *fields = fields_of(*state, mica_type_of(Named), &count);
    assert_int_equal(count, 15);
    SCALAR(Named, 0, a, MICA_FIELD_INT);
    SCALAR(Named, 1, b, MICA_FIELD_UINT);
    SCALAR(Named, 2, c, MICA_FIELD_UINT);
    SCALAR(Named, 3, d, MICA_FIELD_INT);
    SCALAR(Named, 4, e, MICA_FIELD_INT);
    SCALAR(Named, 5, f, MICA_FIELD_UINT);
    SCALAR(Named, 6, g, MICA_FIELD_INT);
    SCALAR(Named, 7, h, MICA_FIELD_UINT);
    SCALAR(Named, 8, i, MICA_FIELD_UINT);
    SCALAR(Named, 9, j, MICA_FIELD_INT);
    SCALAR(Named, 10, k, MICA_FIELD_INT);
    SCALAR(Named, 11, l, MICA_FIELD_UINT);
    SCALAR(Named, 12, m, MICA_FIELD_INT);
    SCALAR(Named, 13, n, MICA_FIELD_UINT);
    SCALAR(Named, 14, who, MICA_FIELD_ENTITY);
}

static void words_that_spell_a_type_stand_in_any_order(void **state) {
    const fixture *f = *state;
    const struct {
        const char *words;
        mica_field_kind kind;
        uint32_t size;
    } cases[] = {
        {"signed", MICA_FIELD_INT, sizeof(int)},
        {"int signed", MICA_FIELD_INT, sizeof(int)},
        {"int short", MICA_FIELD_INT, sizeof(short)},
        {"short signed int", MICA_FIELD_INT, sizeof(short)},
        {"short unsigned", MICA_FIELD_UINT, sizeof(short)},
        {"char signed", MICA_FIELD_INT, 1},
        {"char unsigned", MICA_FIELD_UINT, 1},
        {"int unsigned", MICA_FIELD_UINT, sizeof(int)},
        {"long signed", MICA_FIELD_INT, sizeof(long)},
        {"int unsigned long", MICA_FIELD_UINT, sizeof(long)},
        {"long int long", MICA_FIELD_INT, 8},
        {"long unsigned long", MICA_FIELD_UINT, 8},
        {"signed long const int long", MICA_FIELD_INT, 8},
        {"_Bool", MICA_FIELD_BOOL, 1},
        {"double volatile", MICA_FIELD_FLOAT, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        char text[64];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        snprintf(text, sizeof(text), "{ %s x; }", cases[i].words);
        mica_type type = {.name = name, .fields = text, .size = cases[i].size, .align = cases[i].size};
        int32_t count;
        const mica_field *fields = fields_of(f, &type, &count);
        assert_int_equal(count, 1);
        assert_field(&fields[0], "x", cases[i].kind, 0, cases[i].size, 1);
    }
}

static void arrays_are_flattened_and_sizes_computed(void **state) {
    int32_t count;
    const mica_field *fields = fields_of(*state, mica_type_of(Arrays), &count);
    assert_int_equal(count, 9);
    assert_field(&fields[0], "one", MICA_FIELD_FLOAT, offsetof(Arrays, one), 4, 1);
    assert_true(fields[0].is_array);
    assert_field(&fields[1], "plain", MICA_FIELD_FLOAT, offsetof(Arrays, plain), 4, 1);
    assert_false(fields[1].is_array);
    assert_field(&fields[2], "grid", MICA_FIELD_FLOAT, offsetof(Arrays, grid), 4, 12);
    assert_true(fields[2].is_array);
    assert_field(&fields[3], "name", MICA_FIELD_TEXT, offsetof(Arrays, name), 8, 1);
    assert_false(fields[3].is_array);
    assert_field(&fields[4], "names", MICA_FIELD_TEXT, offsetof(Arrays, names), 16, 2);
    assert_true(fields[4].is_array);
    assert_int_equal(fields[5].size, 1);
    assert_int_equal(fields[5].offset, offsetof(Arrays, letter));
    assert_field(&fields[6], "bytes", MICA_FIELD_UINT, offsetof(Arrays, bytes), 1, 16);
    assert_field(&fields[7], "all", MICA_FIELD_ENTITY, offsetof(Arrays, all), sizeof(mica_entity), 2);
    assert_field(&fields[8], "qualified", MICA_FIELD_INT, offsetof(Arrays, qualified), 4, 1);
}

static void alignment_specifiers_are_honoured(void **state) {
    int32_t count;
    const mica_field *fields = fields_of(*state, mica_type_of(Aligned), &count);
    assert_int_equal(count, 4);
    assert_int_equal(fields[1].offset, offsetof(Aligned, v));
    assert_int_equal(fields[2].offset, offsetof(Aligned, after));
    assert_int_equal(fields[3].offset, offsetof(Aligned, last));
}

static void a_struct_may_be_aligned_to_more_than_its_fields(void **state) {
    mica_type type = {.name = "Vector", .fields = "{ float x, y, z, w; }", .size = 16, .align = 16};
    mica_type wide = {.name = "Wide", .fields = "{ float x; }", .size = 64, .align = 64};
    int32_t count;
    assert_non_null(fields_of(*state, &type, &count));
    assert_int_equal(count, 4);
    assert_non_null(fields_of(*state, &wide, &count));
    assert_int_equal(count, 1);
}

static void a_text_that_disagrees_with_the_size_is_refused_with_both(void **state) {
    const fixture *f = *state;
    const struct {
        const char *text;
        uint32_t size, align;
        const char *said;
    } cases[] = {{"{ float x, y; }", 12, 4, "8"},
                 {"{ double x; char c; }", 9, 1, "16"},
                 {"{ char c; double x; }", 12, 4, "16"},
                 {"{ int a, b; }", 8, 1, "aligned to 1"},
                 {"{ char c[65536], d; }", 4, 4, "65540"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mica_type type = {.name = "Odd", .fields = cases[i].text, .size = cases[i].size, .align = cases[i].align};
        assert_int_equal(mica_schema_register(f->schema, &type), 0);
        assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
        char size[16];
        snprintf(size, sizeof(size), "%u", (unsigned)cases[i].size);
        assert_non_null(strstr(mica_last_error(), cases[i].said));
        assert_non_null(strstr(mica_last_error(), "Odd"));
        assert_true(i == 3 || strstr(mica_last_error(), size) != NULL);
    }
    assert_int_equal(mica_schema_count(f->schema), 0);
}

static void the_largest_value_is_reflected(void **state) {
    mica_type type = {.name = "Large", .fields = "{ uint8_t b[256][256]; }", .size = 65536, .align = 1};
    int32_t count;
    const mica_field *fields = fields_of(*state, &type, &count);
    assert_int_equal(fields[0].count, 65536);
}

static void what_is_not_supported_leaves_the_type_unreflected_with_reason_and_place(void **state) {
    const fixture *f = *state;
    const struct {
        const char *text, *reason, *place;
    } cases[] = {
        {"{ int a; int *p; }", "pointers", "*p;"},
        {"{ int a; char b, **c; }", "pointers", "**c;"},
        {"{ void *p; }", "plain data", "void *p;"},
        {"{ unsigned a : 3; }", "bit-fields", ": 3;"},
        {"{ unsigned : 0; }", "bit-fields", ": 0;"},
        {"{ union { int a; float b; } u; }", "unions", "union { int a;"},
        {"{ struct { int a; } s; }", "declared inside", "{ int a;"},
        {"{ struct In { int a; } s; }", "declared inside", "{ int a;"},
        {"{ enum { A, B } e; }", "declared inside", "{ A, B } e;"},
        {"{ int (*call)(void); }", "functions", "(*call)(void);"},
        {"{ int call(void); }", "functions", "(void);"},
        {"{ int n; float rest[]; }", "without a size", "];"},
        {"{ int n[0]; }", "size of an array", "0];"},
        {"{ int n[-1]; }", "size of an array", "-1];"},
        {"{ int n[65536][65536]; }", "size of an array", "65536];"},
        {"{ int n[sizeof(int)]; }", "not known", "sizeof(int)];"},
        {"{ int n[4.0]; }", "no integer", "4.0];"},
        {"{ int n[4; }", "array's size", "; }"},
        {"{ long double x; }", "not supported", "long double x;"},
        {"{ long long long x; }", "no type of C", "long x;"},
        {"{ float _Complex x; }", "plain data", "_Complex x;"},
        {"{ _Atomic int x; }", "plain data", "_Atomic int x;"},
        {"{ unsigned float x; }", "not supported", "unsigned float x;"},
        {"{ int x = 3; }", "initialisers", "= 3;"},
        {"{ int &x; }", "references", "&x;"},
        {"{ std::string x; }", "C++", "::string x;"},
        {"{ static int x; }", "declarations of fields", "static int x;"},
        {"{ int x __attribute__((aligned(8))); }", "semicolon", "__attribute__((aligned(8)));"},
        {"{ __attribute__((aligned(8))) int x; }", "plain data", "__attribute__((aligned(8))) int x;"},
        {"{ int x; } __attribute__((packed))", "nothing behind", "__attribute__((packed))"},
        {"{ _Alignas(3) int x; }", "alignment", "3) int x;"},
        {"{ _Alignas(8192) int x; }", "alignment", "8192) int x;"},
        {"{ _Alignas(double) int x; }", "not known", "double) int x;"},
        {"{ _Alignas 8 int x; }", "parentheses", "8 int x;"},
        {"{ }", "no fields", ""},
        {"{ int x }", "semicolon", "}"},
        {"{ int ; }", "name of a field", "; }"},
        {"{ int x, ; }", "name of a field", "; }"},
        {"{ x; }", "name of a field", "; }"},
        {"{ ; const; }", "a type is missing", "; }"},
        {"{ 3 x; }", "a type is missing", "3 x;"},
        {"{ struct ; }", "name of a type", "; }"},
        {"{ int x;", "a type is missing", ""},
        {"int x;", "braces", ""},
        {"", "braces", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        mica_type type = {.name = name, .fields = cases[i].text, .size = 8, .align = 8};
        const mica_component id = mica_schema_register(f->schema, &type);
        assert_int_equal(id, i + 1);
        mica_error_clear();
        int32_t count = -1;
        assert_null(mica_schema_fields(f->schema, id, &count));
        assert_int_equal(count, 0);
        assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
        if (strstr(mica_last_error(), cases[i].reason) == NULL || strstr(mica_last_error(), cases[i].place) == NULL) {
            fail_msg("%s: \"%s\" names neither \"%s\" nor \"%s\"", cases[i].text, mica_last_error(), cases[i].reason,
                     cases[i].place);
        }
    }
}

// Enumerations

MICA_ENUM(Numbers, {ZERO, FIVE = 5, SIX, FLAG = 1 << 4, BOTH = FLAG | SIX, BELOW = -3, ABOVE, LETTER = 'a'});

static void enumerators_have_the_values_of_the_compiler(void **state) {
    const fixture *f = *state;
    static const mica_enumerator expected[] = {{"ZERO", ZERO}, {"FIVE", FIVE},   {"SIX", SIX},     {"FLAG", FLAG},
                                               {"BOTH", BOTH}, {"BELOW", BELOW}, {"ABOVE", ABOVE}, {"LETTER", LETTER}};
    int32_t count;
    const mica_enumerator *found =
        mica_schema_enumerators(f->schema, mica_schema_register(f->schema, mica_type_of(Numbers)), &count);
    assert_non_null(found);
    assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
    for (int32_t i = 0; i < count; i++) {
        assert_string_equal(found[i].name, expected[i].name);
        assert_int_equal(found[i].value, expected[i].value);
    }
}

static void values_that_an_enumeration_cannot_hold_are_refused(void **state) {
    const fixture *f = *state;
    const struct {
        const char *text;
        uint32_t size;
        bool fits;
    } cases[] = {
        {"{ A = 255 }", 1, true},
        {"{ A = 256 }", 1, false},
        {"{ A = -128, B = 127 }", 1, true},
        {"{ A = -1, B = 128 }", 1, false},
        {"{ A = -129 }", 1, false},
        {"{ A = 0xFFFFFFFF }", 4, true},
        {"{ A = -1, B = 0xFFFFFFFF }", 4, false},
        {"{ A = 0x7fffffffffffffff, B = -1 }", 8, true},
        {"{ A = 65535, B }", 2, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        mica_type type = {.name = name, .fields = cases[i].text, .size = cases[i].size, .align = cases[i].size};
        type.kind = MICA_KIND_ENUM;
        mica_error_clear();
        assert_int_equal(mica_schema_register(f->schema, &type) != 0, cases[i].fits);
        assert_int_equal(mica_last_result(), cases[i].fits ? MICA_OK : MICA_BAD_TYPE);
    }
}

static void enumerations_that_cannot_be_read_are_unreflected(void **state) {
    const fixture *f = *state;
    const struct {
        const char *text, *reason;
    } cases[] = {{"{ }", "name of an enumerator"},
                 {"{ A = }", "value is missing"},
                 {"{ A B }", "comma"},
                 {"{ A = 1 = 2 }", "comma"},
                 {"{ A,, B }", "name of an enumerator"},
                 {"{ A = Q }", "not known"},
                 {"{ A = A }", "not known"},
                 {"{ A = 0x7fffffffffffffff, B }", "no successor"},
                 {"{ A", "comma"},
                 {": uint8_t { A }", "braces"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", (unsigned)i);
        mica_type type = {.name = name, .fields = cases[i].text, .size = 8, .align = 8, .kind = MICA_KIND_ENUM};
        const mica_component id = mica_schema_register(f->schema, &type);
        int32_t count = -1;
        assert_null(mica_schema_enumerators(f->schema, id, &count));
        assert_int_equal(count, 0);
        assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
        assert_non_null(strstr(mica_last_error(), cases[i].reason));
    }
}

static void fields_and_enumerators_are_told_apart(void **state) {
    const fixture *f = *state;
    mica_type tag = {.name = "Tag", .kind = MICA_KIND_TAG};
    const mica_component numbers = mica_schema_register(f->schema, mica_type_of(Numbers));
    const mica_component scalars = mica_schema_register(f->schema, mica_type_of(Scalars));
    const mica_component nothing = mica_schema_register(f->schema, &tag);
    assert_null(mica_schema_fields(f->schema, numbers, NULL));
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    assert_non_null(strstr(mica_last_error(), "enumeration"));
    assert_null(mica_schema_enumerators(f->schema, scalars, NULL));
    assert_non_null(strstr(mica_last_error(), "struct"));
    assert_null(mica_schema_fields(f->schema, nothing, NULL));
    assert_non_null(strstr(mica_last_error(), "tag"));
    assert_null(mica_schema_fields(f->schema, 99, NULL));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_schema_enumerators(NULL, 1, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

// Any text

#define COUNT_OF(ARRAY) ((uint32_t)(sizeof(ARRAY) / sizeof((ARRAY)[0])))

typedef struct random_writer {
    test_random *random;
    char *text;
    size_t length, capacity;
} random_writer;

// Appends one of some pieces, or now and then one that does not belong there.
static void write_one_of(random_writer *writer, const char *const *pieces, uint32_t count) {
    static const char *const strays[] = {"{",
                                         "}",
                                         ";",
                                         ",",
                                         "*",
                                         "[",
                                         "]",
                                         "(",
                                         ")",
                                         "-",
                                         "~",
                                         "%",
                                         "=",
                                         "?",
                                         ":",
                                         "::",
                                         "<<",
                                         "/ 0",
                                         "'a'",
                                         "'",
                                         "\\",
                                         "\xc3\xa4",
                                         "99999999999",
                                         "4.5",
                                         "int",
                                         "union ",
                                         "struct ",
                                         "enum ",
                                         "_Alignas(8) ",
                                         "const ",
                                         "x",
                                         ""};
    const char *piece = test_random_below(writer->random, 40) == 0
                            ? strays[test_random_below(writer->random, COUNT_OF(strays))]
                            : pieces[test_random_below(writer->random, count)];
    const size_t length = strlen(piece);
    if (writer->length + length < writer->capacity) {
        memcpy(writer->text + writer->length, piece, length + 1);
        writer->length += length;
    }
}

#define WRITE_ONE_OF(WRITER, ...) \
    write_one_of((WRITER), (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

static void write_constant(random_writer *writer) {
    for (uint32_t more = test_random_below(writer->random, 4) + 1; more > 0; more--) {
        WRITE_ONE_OF(writer, "1", "2", "0x10u", "(3)", "-(-5)", "7ull", "(1 ? 2 : 3)", "!0");
        if (more > 1) {
            WRITE_ONE_OF(writer, "+", "*", " << ", "|", "-", " || ", " / ", "<");
        }
    }
}

// A text that is nearly right: what is read wrongly hides behind what is read rightly.
static size_t random_text(test_random *random, mica_type_kind kind, char *text, size_t capacity) {
    random_writer writer = {random, text, 0, capacity};
    text[0] = '\0';
    WRITE_ONE_OF(&writer, "{ ");
    for (uint32_t more = test_random_below(random, 5) + 1; more > 0; more--) {
        if (kind == MICA_KIND_ENUM) {
            WRITE_ONE_OF(&writer, "A", "B", "name");
            WRITE_ONE_OF(&writer, " = ");
            write_constant(&writer);
            WRITE_ONE_OF(&writer, ", ");
            continue;
        }
        WRITE_ONE_OF(&writer, "", "", "const ", "_Alignas(16) ");
        WRITE_ONE_OF(&writer, "int", "char", "unsigned long", "mica_entity", "struct Other", "Other", "double", "bool");
        WRITE_ONE_OF(&writer, " x", " y1, z", " name");
        for (uint32_t sizes = test_random_below(random, 3); sizes > 0; sizes--) {
            WRITE_ONE_OF(&writer, "[");
            write_constant(&writer);
            WRITE_ONE_OF(&writer, "]");
        }
        WRITE_ONE_OF(&writer, "; ");
    }
    WRITE_ONE_OF(&writer, "}");
    for (uint32_t flips = test_random_below(random, 3); flips > 1 && writer.length > 0; flips--) {
        text[test_random_below(random, (uint32_t)writer.length)] = (char)(1 + test_random_below(random, 255));
    }
    return writer.length;
}

static void check_declaration(const mi_declaration *declaration, size_t length, mica_type_kind kind) {
    assert_true(kind == MICA_KIND_ENUM ? declaration->enumerators.count > 0 : declaration->fields.count > 0);
    for (uint32_t i = 0; i < declaration->fields.count; i++) {
        const mi_declared_field *field = &declaration->fields.data[i];
        assert_true(field->name_length > 0 && field->name_offset + field->name_length < length);
        assert_true(field->type_offset + field->type_length < length);
        assert_true(field->count > 0 && field->count <= MICA_SIZE_MAX);
        assert_true(field->nested != MI_NESTED_NONE || (field->size > 0 && field->align > 0));
    }
    for (uint32_t i = 0; i < declaration->enumerators.count; i++) {
        const mi_declared_enumerator *enumerator = &declaration->enumerators.data[i];
        assert_true(enumerator->name_length > 0 && enumerator->name_offset + enumerator->name_length < length);
    }
}

static void random_texts_are_read_or_refused_within_their_bounds(void **state) {
    (void)state;
    enum { RUNS = 60000, CAPACITY = 300 };
    test_random random = {20240607};
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    int parsed_count = 0;
    for (int run = 0; run < RUNS; run++) {
        char text[CAPACITY];
        const mica_type_kind kind = run % 2 == 0 ? MICA_KIND_STRUCT : MICA_KIND_ENUM;
        const size_t length = random_text(&random, kind, text, sizeof(text));
        // In memory of its own length, so that the sanitizer sees a read behind the end.
        char *exact = malloc(length + 1);
        memcpy(exact, text, length + 1);
        mi_declaration declaration;
        mi_text_fault fault;
        const mi_parsed parsed = mi_declaration_parse(&heap, kind, exact, &declaration, &fault);
        assert_int_not_equal(parsed, MI_PARSED_NO_MEMORY);
        if (parsed == MI_PARSED) {
            parsed_count++;
            check_declaration(&declaration, length, kind);
            assert_int_equal(mi_declarations_agree(&heap, kind, exact, exact), MI_AGREE);
        } else {
            assert_non_null(fault.reason);
            assert_true(fault.offset <= length);
            char excerpt[MI_EXCERPT_SIZE];
            mi_text_excerpt(exact, fault.offset, excerpt);
        }
        mi_declaration_free(&declaration, &heap);
        free(exact);
    }
    // Both ways are walked often.
    assert_in_range(parsed_count, RUNS / 20, RUNS / 20 * 19);
    assert_int_equal(mi_heap_usage(&heap).total, 0);
}

static void every_beginning_of_a_text_is_read_or_refused(void **state) {
    (void)state;
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    const char *const texts[] = {mica_type_of(Arrays)->fields, mica_type_of(Aligned)->fields,
                                 mica_type_of(Numbers)->fields};
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        for (size_t length = 0; length <= strlen(texts[t]); length++) {
            char *cut = malloc(length + 1);
            memcpy(cut, texts[t], length);
            cut[length] = '\0';
            mi_declaration declaration;
            mi_text_fault fault;
            const mi_parsed parsed =
                mi_declaration_parse(&heap, t == 2 ? MICA_KIND_ENUM : MICA_KIND_STRUCT, cut, &declaration, &fault);
            assert_int_equal(parsed == MI_PARSED, length == strlen(texts[t]));
            mi_declaration_free(&declaration, &heap);
            free(cut);
        }
    }
}

static void a_declaration_that_memory_fails_leaves_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mi_heap heap;
    assert_true(mi_heap_init(&heap, &hooks));
    const mica_type *const types[] = {mica_type_of(Scalars), mica_type_of(Numbers)};
    for (size_t t = 0; t < 2; t++) {
        mi_declaration declaration;
        mi_text_fault fault;
        for (uint64_t n = 1;; n++) {
            test_allocator_fail_at(&allocator, n);
            const mi_parsed parsed =
                mi_declaration_parse(&heap, types[t]->kind, types[t]->fields, &declaration, &fault);
            mi_declaration_free(&declaration, &heap);
            assert_int_equal(allocator.live_bytes, 0);
            if (!test_allocator_fail_stop(&allocator)) {
                assert_int_equal(parsed, MI_PARSED);
                assert_true(n > 1);
                break;
            }
            assert_int_equal(parsed, MI_PARSED_NO_MEMORY);
        }
    }
    test_allocator_finish(&allocator);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(scalars_of_every_spelling_lie_where_the_compiler_put_them),
        CASE(named_scalars_lie_where_the_compiler_put_them),
        CASE(words_that_spell_a_type_stand_in_any_order),
        CASE(arrays_are_flattened_and_sizes_computed),
        CASE(alignment_specifiers_are_honoured),
        CASE(a_struct_may_be_aligned_to_more_than_its_fields),
        CASE(a_text_that_disagrees_with_the_size_is_refused_with_both),
        CASE(the_largest_value_is_reflected),
        CASE(what_is_not_supported_leaves_the_type_unreflected_with_reason_and_place),
        CASE(enumerators_have_the_values_of_the_compiler),
        CASE(values_that_an_enumeration_cannot_hold_are_refused),
        CASE(enumerations_that_cannot_be_read_are_unreflected),
        CASE(fields_and_enumerators_are_told_apart),
        cmocka_unit_test(random_texts_are_read_or_refused_within_their_bounds),
        cmocka_unit_test(every_beginning_of_a_text_is_read_or_refused),
        cmocka_unit_test(a_declaration_that_memory_fails_leaves_nothing),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
