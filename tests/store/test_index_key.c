// Indexes as a type asks for them: which fields can be indexed, what is refused with its reason, and words that compare
// like the values they stand for.
#include "store/schema_fixture.h"

#include "store/index_key.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

MICA_ENUM(Mood, {ANGRY = -1, CALM, GLAD});
MICA_ENUM(Shape, {ROUND, SQUARE = 200});
MICA_STRUCT(Place, { float x, y; });
MICA_STRUCT(Body, {
    int8_t mass;
    Place place;
});
MICA_STRUCT_WITH(
    Everything,
    (.indexes = {{"number", MICA_ORDERED}, {"body.place.y", MICA_ORDERED}, {"name", MICA_HASH}, {"mood", MICA_HASH}}), {
        int16_t number;
        Body body;
        char name[12];
        Mood mood;
        Shape shape;
        bool flag;
        mica_entity who;
        uint64_t wide;
        double real;
        float list[3];
    });

static const mi_type *type_of(const fixture *f, mica_component id) {
    return mi_schema_type(f->schema, id);
}

static mi_index_key key_of(const fixture *f, const char *path) {
    mi_index_key key;
    const mi_type *type = type_of(f, mica_schema_register(f->schema, mica_type_of(Everything)));
    assert_true(mi_index_key_find(f->schema, type, path, &key, "test"));
    return key;
}

static void register_all(const fixture *f) {
    mica_type *types[] = {mica_type_of(Mood), mica_type_of(Shape), mica_type_of(Place), mica_type_of(Body),
                          mica_type_of(Everything)};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_not_equal(mica_schema_register(f->schema, types[i]), 0);
    }
}

static void a_type_says_what_it_asks_for(void **state) {
    const fixture *f = *state;
    mica_type type = copy_of(mica_type_of(Everything));
    const mica_component_info *info = mica_schema_info(f->schema, mica_schema_register(f->schema, &type));
    assert_non_null(info);
    assert_int_equal(info->index_count, 4);
    assert_string_equal(info->indexes[0].field, "number");
    assert_int_equal(info->indexes[0].kind, MICA_ORDERED);
    assert_string_equal(info->indexes[2].field, "name");
    assert_int_equal(info->indexes[2].kind, MICA_HASH);
    assert_ptr_not_equal(info->indexes[0].field, type.traits.indexes[0].field);
    const mica_component plain = mica_schema_register(f->schema, mica_type_of(Place));
    assert_int_equal(mica_schema_info(f->schema, plain)->index_count, 0);
}

static mica_type odd(const char *fields, uint32_t size, mica_traits traits) {
    return (mica_type){
        .name = "Odd", .fields = fields, .size = size, .align = 4, .kind = MICA_KIND_STRUCT, .traits = traits};
}

static bool attach(struct mica_world *world) {
    return world != NULL;
}

static void what_cannot_be_indexed_is_refused_with_its_reason(void **state) {
    const fixture *f = *state;
    static const struct {
        const char *fields;
        uint32_t size;
        mica_traits traits;
        const char *reason;
    } cases[] = {
        {"{ int32_t a; }",
         4,
         {.indexes = {{"b", MICA_HASH}}},
         "\"Odd\" asks for an index of the field \"b\", which is not there"},
        {"{ int32_t ab; }", 4, {.indexes = {{"a", MICA_HASH}}}, "the field \"a\", which is not there"},
        {"{ int32_t a; }", 4, {.indexes = {{"a.b", MICA_HASH}}}, "the field \"a.b\", which is no struct"},
        {"{ int32_t a; }", 4, {.indexes = {{"", MICA_HASH}}}, "the field \"\", which is not there"},
        {"{ int32_t a[2]; }", 8, {.indexes = {{"a", MICA_HASH}}}, "which is an array"},
        {"{ Place a[1]; }", 8, {.indexes = {{"a.x", MICA_HASH}}}, "which is an array"},
        {"{ struct Place a; }", 8, {.indexes = {{"a", MICA_HASH}}}, "which is a struct"},
        {"{ enum Mood a; }", 4, {.indexes = {{"a.x", MICA_HASH}}}, "which is no struct"},
        {"{ char a[300]; }", 300, {.indexes = {{"a", MICA_HASH}}}, "which is a text of more than 256 bytes"},
        {"{ int32_t a; }", 4, {.indexes = {{"a", MICA_HASH}, {"a", MICA_ORDERED}}}, "which has one already"},
        {"{ int32_t a; }", 4, {.indexes = {{"a", (mica_index_kind)7}}}, "\"a\" of a kind that is not known (7)"},
        {"{ int32_t *a; }",
         8,
         {.indexes = {{"a", MICA_HASH}}},
         "\"Odd\" cannot have an index of the field \"a\": pointers"},
        {NULL, 4, {.indexes = {{"a", MICA_HASH}}}, "cannot have an index of the field \"a\": its fields are not known"},
        {"{ int32_t a; }", 4, {.always_dirty = true, .indexes = {{"a", MICA_HASH}}}, "\"a\": it is always dirty"},
        {"{ int32_t a; }", 4, {.indexes = {{"a", MICA_HASH}}, .hooks = {.attach = attach}}, "\"a\": it is a relation"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mica_type type = odd(cases[i].fields, cases[i].size, cases[i].traits);
        assert_refused(f->schema, &type, MICA_BAD_TYPE, cases[i].reason);
    }
    mica_type tag = {.name = "Odd", .kind = MICA_KIND_TAG, .traits = {.indexes = {{"a", MICA_HASH}}}};
    assert_refused(f->schema, &tag, MICA_BAD_TYPE, "it is a tag");
    mica_type enumeration = odd("{ A, B }", 4, (mica_traits){.indexes = {{"A", MICA_HASH}}});
    enumeration.kind = MICA_KIND_ENUM;
    assert_refused(f->schema, &enumeration, MICA_BAD_TYPE, "it is an enumeration");
}

static void descriptors_of_one_name_agree_in_their_indexes(void **state) {
    const fixture *f = *state;
    static const mica_traits others[] = {
        {.transient = false},
        {.indexes = {{"a", MICA_HASH}}},
        {.indexes = {{"a", MICA_HASH}, {"b", MICA_HASH}}},
        {.indexes = {{"a", MICA_ORDERED}, {"c", MICA_ORDERED}}},
        {.indexes = {{"a", MICA_HASH}, {"b", MICA_ORDERED}, {"c", MICA_HASH}}},
    };
    mica_type first =
        odd("{ int32_t a, b, c; }", 12, (mica_traits){.indexes = {{"a", MICA_HASH}, {"b", MICA_ORDERED}}});
    assert_int_not_equal(mica_schema_register(f->schema, &first), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        mica_type other = odd("{ int32_t a, b, c; }", 12, others[i]);
        assert_refused(f->schema, &other, MICA_MISMATCH,
                       "\"Odd\" is known and declared with different traits: indexes");
    }
    mica_type same = copy_of(&first);
    assert_int_not_equal(mica_schema_register(f->schema, &same), 0);
}

static void a_type_registered_without_memory_leaves_nothing(void **state) {
    fixture *f = *state;
    for (uint64_t n = 1;; n++) {
        mica_type type = copy_of(mica_type_of(Everything));
        test_allocator_fail_at(&f->allocator, n);
        const mica_component id = mica_schema_register(f->schema, &type);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_not_equal(id, 0);
            break;
        }
        assert_int_equal(id, 0);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
}

static void a_path_leads_to_the_field_it_names(void **state) {
    const fixture *f = *state;
    register_all(f);
    assert_int_equal(key_of(f, "number").offset, offsetof(Everything, number));
    assert_int_equal(key_of(f, "body.mass").offset, offsetof(Everything, body) + offsetof(Body, mass));
    assert_int_equal(key_of(f, "body.place.y").offset,
                     offsetof(Everything, body) + offsetof(Body, place) + offsetof(Place, y));
    assert_int_equal(key_of(f, "body.place.y").word_count, 1);
    assert_int_equal(key_of(f, "name").word_count, 2);
    assert_int_equal(key_of(f, "name").size, 12);
    assert_true(key_of(f, "mood").is_signed);
    assert_false(key_of(f, "shape").is_signed);
}

static void a_path_into_a_nested_type_is_refused_when_that_is_looked_up(void **state) {
    const fixture *f = *state;
    register_all(f);
    static const struct {
        const char *path, *reason;
    } cases[] = {
        {"body.weight", "the field \"body.weight\", which is not there"},
        {"body.place", "which is a struct"},
        {"mood.x", "which is no struct"},
        {"list", "which is an array"},
        {"body.", "which is not there"},
    };
    const mi_type *type = type_of(f, mica_schema_find(f->schema, "Everything"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mi_index_key key;
        assert_false(mi_index_key_find(f->schema, type, cases[i].path, &key, "test"));
        assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
        assert_non_null(strstr(mica_last_error(), cases[i].reason));
    }
}

static void a_nested_type_that_is_not_known_is_said_when_the_index_is_asked_for(void **state) {
    const fixture *f = *state;
    mica_type type = copy_of(mica_type_of(Everything));
    const mica_component id = mica_schema_register(f->schema, &type);
    mi_index_key key;
    assert_false(mi_index_key_find(f->schema, type_of(f, id), "body.mass", &key, "test"));
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
}

static uint64_t word_of(const mi_index_key *key, const void *value) {
    uint64_t word = 0;
    assert_int_equal(key->word_count, 1);
    assert_false(mi_index_key_encode(key, value, &word, true));
    return word;
}

#define ASSERT_ASCENDING(KEY, T, ...)                                                     \
    do {                                                                                  \
        const mi_index_key key_ = (KEY);                                                  \
        const T values_[] = {__VA_ARGS__};                                                \
        for (size_t i_ = 1; i_ < sizeof(values_) / sizeof(values_[0]); i_++) {            \
            assert_true(word_of(&key_, &values_[i_ - 1]) < word_of(&key_, &values_[i_])); \
        }                                                                                 \
    } while (0)

static void words_ascend_as_numbers_do(void **state) {
    const fixture *f = *state;
    register_all(f);
    ASSERT_ASCENDING(key_of(f, "number"), int16_t, INT16_MIN, -1, 0, 1, 255, 256, INT16_MAX);
    ASSERT_ASCENDING(key_of(f, "body.mass"), int8_t, -128, -1, 0, 127);
    ASSERT_ASCENDING(key_of(f, "wide"), uint64_t, 0, 1, INT64_MAX, UINT64_MAX - 1, UINT64_MAX);
    ASSERT_ASCENDING(key_of(f, "mood"), Mood, ANGRY, CALM, GLAD);
    ASSERT_ASCENDING(key_of(f, "shape"), Shape, ROUND, SQUARE);
    ASSERT_ASCENDING(key_of(f, "flag"), bool, false, true);
    ASSERT_ASCENDING(key_of(f, "body.place.y"), float, -INFINITY, -FLT_MAX, -1.0f, -FLT_TRUE_MIN, 0.0f, FLT_TRUE_MIN,
                     1.0f, FLT_MAX, INFINITY, NAN);
    ASSERT_ASCENDING(key_of(f, "real"), double, -(double)INFINITY, -DBL_MAX, -1.5, -DBL_TRUE_MIN, 0.0, DBL_TRUE_MIN,
                     1.5, DBL_MAX, (double)INFINITY, (double)NAN);
    ASSERT_ASCENDING(key_of(f, "who"), mica_entity, MICA_NULL, mica_entity_make(1, 0), mica_entity_make(1, 2),
                     mica_entity_make(2, 0));
}

static void zeros_are_equal_and_so_is_everything_that_is_no_number(void **state) {
    const fixture *f = *state;
    register_all(f);
    const mi_index_key real = key_of(f, "real");
    const double zeros[] = {0.0, -0.0};
    const double nans[] = {(double)NAN, -(double)NAN};
    assert_true(word_of(&real, &zeros[0]) == word_of(&real, &zeros[1]));
    assert_true(word_of(&real, &nans[0]) == word_of(&real, &nans[1]));
    const mi_index_key narrow = key_of(f, "body.place.y");
    const float narrow_zeros[] = {0.0f, -0.0f};
    assert_true(word_of(&narrow, &narrow_zeros[0]) == word_of(&narrow, &narrow_zeros[1]));
}

static int compare_texts(const mi_index_key *key, const char *a, const char *b) {
    uint64_t words[2][2];
    mi_index_key_encode(key, a, words[0], true);
    mi_index_key_encode(key, b, words[1], true);
    const int first = (words[0][0] > words[1][0]) - (words[0][0] < words[1][0]);
    return first != 0 ? first : (words[0][1] > words[1][1]) - (words[0][1] < words[1][1]);
}

static void texts_compare_by_their_bytes(void **state) {
    const fixture *f = *state;
    register_all(f);
    const mi_index_key name = key_of(f, "name");
    static const char *const ascending[] = {"", "a", "a b", "ab", "abcdefgh", "abcdefgha", "abcdefghijkl", "b", "\xff"};
    for (size_t i = 1; i < sizeof(ascending) / sizeof(ascending[0]); i++) {
        assert_int_equal(compare_texts(&name, ascending[i - 1], ascending[i]), -1);
        assert_int_equal(compare_texts(&name, ascending[i], ascending[i]), 0);
    }
}

static void what_stands_behind_the_end_of_a_text_is_not_part_of_it(void **state) {
    const fixture *f = *state;
    register_all(f);
    const mi_index_key name = key_of(f, "name");
    const char stored[12] = "ab\0rest";
    uint64_t words[2][2];
    assert_false(mi_index_key_encode(&name, stored, words[0], false));
    assert_false(mi_index_key_encode(&name, "ab", words[1], true));
    assert_memory_equal(words[0], words[1], sizeof(words[0]));
}

static void a_text_that_does_not_fit_says_so(void **state) {
    const fixture *f = *state;
    register_all(f);
    const mi_index_key name = key_of(f, "name");
    uint64_t words[2][2];
    const char full[12] = {'1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c'};
    assert_false(mi_index_key_encode(&name, full, words[0], false));
    assert_true(mi_index_key_encode(&name, "123456789abcd", words[1], true));
    assert_memory_equal(words[0], words[1], sizeof(words[0]));
    assert_false(mi_index_key_encode(&name, "123456789abc", words[1], true));
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_type_says_what_it_asks_for),
        CASE(what_cannot_be_indexed_is_refused_with_its_reason),
        CASE(descriptors_of_one_name_agree_in_their_indexes),
        CASE(a_type_registered_without_memory_leaves_nothing),
        CASE(a_path_leads_to_the_field_it_names),
        CASE(a_path_into_a_nested_type_is_refused_when_that_is_looked_up),
        CASE(a_nested_type_that_is_not_known_is_said_when_the_index_is_asked_for),
        CASE(words_ascend_as_numbers_do),
        CASE(zeros_are_equal_and_so_is_everything_that_is_no_number),
        CASE(texts_compare_by_their_bytes),
        CASE(what_stands_behind_the_end_of_a_text_is_not_part_of_it),
        CASE(a_text_that_does_not_fit_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
