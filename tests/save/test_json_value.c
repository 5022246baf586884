// Values of every kind of field to JSON and back, and what is refused on the way, with its place.

#include "scene_fixture.h"

#include "../../modules/save/json_value.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

MICA_ENUM(value_side, {VALUE_BELOW = -1, VALUE_ABOVE = 1});
MICA_STRUCT(value_integers, {
    int8_t i1;
    int16_t i2;
    int32_t i4;
    int64_t i8;
    uint8_t u1;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;
    bool flag;
});
MICA_STRUCT(value_floats, { float of[10]; });
MICA_STRUCT(value_doubles, { double of[10]; });
MICA_STRUCT(value_texts, {
    char one[8];
    char lines[2][4];
});
MICA_STRUCT(value_enums, {
    scene_colour colour;
    value_side side;
});
MICA_STRUCT(value_outer, {
    scene_target first;
    scene_target many[2];
    int16_t samples[1024];
});

// Values that C17 has no enumerator for, as another language may declare them.
static mica_type flags_type = {
    .name = "value_flags", .fields = "{ LOW = 1, HIGH = 0x80000000 }", .size = 4, .align = 4, .kind = MICA_KIND_ENUM};

static mica_schema *schema;
static mi_save_report report;
static scene_fixture messages;

enum { ENTITY_FIELD_LIMIT = 8 };
static mi_entity_field entity_fields[ENTITY_FIELD_LIMIT];
static int32_t entity_field_count;

static int begin(void **state) {
    (void)state;
    messages = (scene_fixture){0};
    entity_field_count = 0;
    schema = mica_schema_create(NULL);
    const mica_save_options options = scene_options(&messages, false);
    mi_save_report_init(&report, "t", &options);
    return schema == NULL;
}

static int end(void **state) {
    (void)state;
    mi_save_report_release(&report);
    mica_schema_release(schema);
    return 0;
}

static mica_component known(mica_type *type) {
    const mica_component id = mica_schema_register(schema, type);
    assert_int_not_equal(id, 0);
    return id;
}

static int64_t index_as_id(void *user, mica_entity entity) {
    (void)user;
    return mica_entity_is_null(entity) ? -1 : (int64_t)mica_entity_index(entity);
}

static bool take_entity_field(void *user, const mi_entity_field *field) {
    (void)user;
    assert_in_range(entity_field_count, 0, ENTITY_FIELD_LIMIT - 1);
    entity_fields[entity_field_count++] = *field;
    return true;
}

static bool has_doubles(mica_component type) {
    bool has = false;
    assert_int_equal(mi_type_look_at(schema, type, &has), MICA_OK);
    return has;
}

// To be freed.
static char *text_of(mica_component type, const void *value) {
    const mi_value_writer writer = {.schema = schema, .entity_id = index_as_id};
    json_t *json = mi_value_to_json(&writer, type, value);
    assert_non_null(json);
    const size_t precision = has_doubles(type) ? 17 : 9;
    char *text = json_dumps(json, JSON_REAL_PRECISION(precision) | JSON_ENCODE_ANY);
    json_decref(json);
    assert_non_null(text);
    return text;
}

static mica_result read_text(mica_component type, const char *text, void *value) {
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY, &error);
    assert_non_null(json);
    mi_value_reader reader = {.schema = schema, .report = &report, .entity_field = take_entity_field};
    (void)mi_place_add(&reader.place, "here");
    report.text[0] = '\0';
    const mica_result result = mi_value_from_json(&reader, type, json, value);
    json_decref(json);
    assert_int_equal(report.text[0] == '\0', result == MICA_OK);
    return result;
}

// Writes a value and reads it over zeros.
static void round_trip(mica_component type, const void *value, void *read) {
    const mica_component_info *info = mica_schema_info(schema, type);
    memset(read, 0, info->size);
    char *text = text_of(type, value);
    assert_int_equal(read_text(type, text, read), MICA_OK);
    free(text);
}

static void expect_refusal(mica_component type, const char *text, const char *message) {
    static _Alignas(8) uint8_t value[8192];
    assert_int_equal(read_text(type, text, value), MICA_FORMAT);
    assert_contains(report.text, message);
}

static void integers_of_all_widths_keep_their_extremes(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_integers));
    value_integers least;
    value_integers most;
    value_integers read;
    memset(&least, 0, sizeof(least));
    memset(&most, 0, sizeof(most));
    least.i1 = INT8_MIN;
    least.i2 = INT16_MIN;
    least.i4 = INT32_MIN;
    least.i8 = INT64_MIN;
    most.i1 = INT8_MAX;
    most.i2 = INT16_MAX;
    most.i4 = INT32_MAX;
    most.i8 = INT64_MAX;
    most.u1 = UINT8_MAX;
    most.u2 = UINT16_MAX;
    most.u4 = UINT32_MAX;
    most.u8 = UINT64_MAX;
    most.flag = true;
    round_trip(type, &least, &read);
    assert_memory_equal(&read, &least, sizeof(read));
    round_trip(type, &most, &read);
    assert_memory_equal(&read, &most, sizeof(read));
}

static void integers_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_integers));
    expect_refusal(type, "{\"i1\": 128}", "t: /here/i1: 128 does not fit 8 signed bits");
    expect_refusal(type, "{\"i1\": -129}", "t: /here/i1: -129 does not fit 8 signed bits");
    expect_refusal(type, "{\"i4\": 2147483648}", "t: /here/i4: 2147483648 does not fit 32 signed bits");
    expect_refusal(type, "{\"u1\": 256}", "t: /here/u1: 256 does not fit 8 bits");
    expect_refusal(type, "{\"u4\": 4294967296}", "t: /here/u4: 4294967296 does not fit 32 bits");
    expect_refusal(type, "{\"u1\": -1}", "t: /here/u1: expected an integer that is not negative");
    expect_refusal(type, "{\"u8\": \"18446744073709551616\"}",
                   "t: /here/u8: expected a whole number of at most 64 bits");
    expect_refusal(type, "{\"u8\": \"-1\"}", "t: /here/u8: expected a whole number of at most 64 bits");
    expect_refusal(type, "{\"u8\": \"1 \"}", "t: /here/u8: expected a whole number of at most 64 bits");
    expect_refusal(type, "{\"i4\": 1.0}", "t: /here/i4: expected an integer");
    expect_refusal(type, "{\"i4\": \"1\"}", "t: /here/i4: expected an integer");
    expect_refusal(type, "{\"flag\": 1}", "t: /here/flag: expected true or false");
    expect_refusal(type, "[]", "t: /here: expected an object");
}

static void every_float_comes_back(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_floats));
    const value_floats value = {
        {0.0F, -0.0F, FLT_TRUE_MIN, FLT_MIN, FLT_MAX, -FLT_MAX, 0.1F, INFINITY, -INFINITY, 16777217.0F}};
    value_floats read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
}

static void every_double_comes_back(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_doubles));
    const value_doubles value = {
        {0.0, -0.0, DBL_TRUE_MIN, DBL_MIN, DBL_MAX, -DBL_MAX, 0.1, (double)INFINITY, -(double)INFINITY, 1.0 / 3}};
    value_doubles read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
}

static void what_is_no_number_stays_none(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_floats));
    value_floats value = {{0}};
    value_floats read;
    value.of[3] = NAN;
    round_trip(type, &value, &read);
    assert_true(isnan(read.of[3]));
    assert_true(read.of[4] == 0.0F);
}

static void every_number_of_json_is_read_as_float(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_floats));
    value_floats read;
    assert_int_equal(read_text(type, "{\"of\": [0.1E0, 1e-7, 1E+30, -0, 5, -7, 1e-400, 0, 0, 2.5e0]}", &read), MICA_OK);
    const value_floats expected = {{0.1F, 1e-7F, 1e30F, 0.0F, 5.0F, -7.0F, 0.0F, 0.0F, 0.0F, 2.5F}};
    for (int32_t i = 0; i < 10; i++) {
        assert_true(read.of[i] == expected.of[i]);
    }
    expect_refusal(type, "{\"of\": [0, 1e39, 0, 0, 0, 0, 0, 0, 0, 0]}",
                   "t: /here/of/1: expected a number within the range of float");
    expect_refusal(type, "{\"of\": [\"nan\", 0, 0, 0, 0, 0, 0, 0, 0, 0]}", "t: /here/of/0: expected a number, \"NaN\"");
}

static void texts_fit_exactly_or_are_refused(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_texts));
    const value_texts value = {.one = "1234567", .lines = {"abc", ""}};
    value_texts read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
    expect_refusal(type, "{\"one\": \"12345678\"}", "t: /here/one: a text of 8 bytes, expected at most 7");
    expect_refusal(type, "{\"lines\": [\"abcd\", \"\"]}", "t: /here/lines/0: a text of 4 bytes, expected at most 3");
    expect_refusal(type, "{\"lines\": [\"a\"]}", "t: /here/lines: expected an array of 2");
    expect_refusal(type, "{\"one\": 5}", "t: /here/one: expected a string");
}

static void a_text_that_is_read_leaves_nothing_of_the_old_one(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_texts));
    value_texts read;
    memset(&read, 'x', sizeof(read));
    assert_int_equal(read_text(type, "{\"one\": \"ab\"}", &read), MICA_OK);
    assert_memory_equal(read.one, "ab\0\0\0\0\0", sizeof(read.one));
    assert_memory_equal(read.lines, "xxxxxxxx", sizeof(read.lines));
}

static void texts_that_are_no_utf8_or_not_closed_keep_their_bytes(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_texts));
    value_texts value = {.one = "a\xff\xc3", .lines = {"\xc3\xa9", "\xed\xa0\x80"}};
    value_texts read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
    memcpy(value.one, "12345678", sizeof(value.one));
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
    expect_refusal(type, "{\"one\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "t: /here/one: expected a string, or an array");
    expect_refusal(type, "{\"one\": [256]}", "t: /here/one: expected bytes from 0 to 255");
}

static void enumerations_go_by_name(void **state) {
    (void)state;
    (void)known(mica_type_of(scene_colour));
    (void)known(mica_type_of(value_side));
    const mica_component type = known(mica_type_of(value_enums));
    const value_enums value = {.colour = SCENE_GREEN, .side = VALUE_BELOW};
    char *text = text_of(type, &value);
    assert_string_equal(text, "{\"colour\": \"SCENE_GREEN\", \"side\": \"VALUE_BELOW\"}");
    free(text);
    value_enums read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
    expect_refusal(type, "{\"side\": \"SCENE_GREEN\"}",
                   "t: /here/side: expected a name of the enumeration value_side, or a number");
    expect_refusal(type, "{\"side\": null}", "t: /here/side: expected a name");
}

static void numbers_without_a_name_keep_their_sign(void **state) {
    (void)state;
    (void)known(mica_type_of(scene_colour));
    const mica_component side = known(mica_type_of(value_side));
    const mica_component flags = known(&flags_type);
    int32_t negative = -77;
    int32_t read_negative = 0;
    round_trip(side, &negative, &read_negative);
    assert_int_equal(read_negative, -77);

    uint32_t high = 0x80000000U;
    uint32_t read = 0;
    char *text = text_of(flags, &high);
    assert_string_equal(text, "\"HIGH\"");
    free(text);
    round_trip(flags, &high, &read);
    assert_true(read == high);
    high = 0xffffffffU;
    text = text_of(flags, &high);
    assert_string_equal(text, "4294967295");
    free(text);
    round_trip(flags, &high, &read);
    assert_true(read == high);
    expect_refusal(flags, "-1", "t: /here: expected an integer that is not negative");
    expect_refusal(side, "2147483648", "t: /here: 2147483648 does not fit 32 signed bits");
}

static void entities_are_ids_to_be_filled_in_later(void **state) {
    (void)state;
    (void)known(mica_type_of(scene_target));
    const mica_component type = known(mica_type_of(value_outer));
    static value_outer value;
    static value_outer read;
    value.many[1].others[0] = mica_entity_make(12, 1);
    value.first.who = mica_entity_make(1000, 1);
    memset(&read, 0xff, sizeof(read));
    char *text = text_of(type, &value);
    assert_int_equal(read_text(type, text, &read), MICA_OK);
    free(text);
    assert_int_equal(entity_field_count, 2);
    assert_int_equal(entity_fields[0].offset, offsetof(value_outer, first.who));
    assert_int_equal(entity_fields[0].id, 1000);
    assert_int_equal(entity_fields[1].offset, offsetof(value_outer, many[1].others[0]));
    assert_int_equal(entity_fields[1].id, 12);
    assert_true(mica_entity_is_null(read.first.who));
    assert_true(mica_entity_is_null(read.many[0].others[1]));
    expect_refusal(type, "{\"first\": {\"who\": -1}}", "t: /here/first/who: expected the id of an entity, or null");
    expect_refusal(type, "{\"first\": {\"who\": \"1\"}}", "t: /here/first/who: expected the id of an entity, or null");
}

static void long_arrays_come_back_whole(void **state) {
    (void)state;
    (void)known(mica_type_of(scene_target));
    const mica_component type = known(mica_type_of(value_outer));
    static value_outer value;
    static value_outer read;
    for (int32_t i = 0; i < 1024; i++) {
        value.samples[i] = (int16_t)(i * 64 - 32768);
    }
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));

    for (size_t wrong = 1023; wrong <= 1025; wrong += 2) {
        json_t *samples = json_array();
        for (size_t i = 0; i < wrong; i++) {
            assert_int_equal(json_array_append_new(samples, json_integer(1)), 0);
        }
        json_t *object = json_pack("{s: o}", "samples", samples);
        char *text = json_dumps(object, 0);
        expect_refusal(type, text, "t: /here/samples: expected an array of 1024");
        free(text);
        json_decref(object);
    }
}

static void fields_that_are_left_out_stay(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_integers));
    value_integers read;
    memset(&read, 0, sizeof(read));
    read.i4 = 17;
    read.u1 = 3;
    assert_int_equal(read_text(type, "{\"u1\": 4}", &read), MICA_OK);
    assert_int_equal(read.i4, 17);
    assert_int_equal(read.u1, 4);
}

static void fields_that_are_not_known_are_named_once(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(value_integers));
    value_integers read;
    memset(&read, 0, sizeof(read));
    assert_int_equal(read_text(type, "{\"mass\": 4, \"i4\": 5}", &read), MICA_OK);
    assert_int_equal(read_text(type, "{\"mass\": 4}", &read), MICA_OK);
    assert_int_equal(read.i4, 5);
    assert_int_equal(messages.warning_count, 1);
    assert_string_equal(messages.warnings[0], "t: /here/mass: value_integers has no such field; it is left out");
    assert_int_equal(read_text(type, "{\"size\": 4}", &read), MICA_OK);
    assert_int_equal(messages.warning_count, 2);
    report.options.strict = true;
    assert_int_equal(read_text(type, "{\"weight\": 4}", &read), MICA_UNKNOWN);
    assert_contains(report.text, "t: /here/weight: ");
}

static void types_without_fields_are_bytes(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(scene_opaque));
    const scene_opaque value = {{0x00, 0xff, 0x10, 0xa5, 0x0b}};
    char *text = text_of(type, &value);
    assert_string_equal(text, "{\"bytes\": \"00ff10a50b\"}");
    free(text);
    scene_opaque read;
    round_trip(type, &value, &read);
    assert_memory_equal(&read, &value, sizeof(read));
    expect_refusal(type, "{\"bytes\": \"00ff10a5\"}", "expected {\"bytes\": 10 hexadecimal digits}");
    expect_refusal(type, "{\"bytes\": \"00ff10a50b00\"}", "expected {\"bytes\": 10 hexadecimal digits}");
    expect_refusal(type, "{\"bytes\": \"00FF10A50B\"}", "t: /here: expected hexadecimal digits in lower case");
    expect_refusal(type, "{}", "t: /here: the fields of scene_opaque are not known");
}

static void tags_are_empty_objects(void **state) {
    (void)state;
    const mica_component type = known(mica_type_of(scene_frozen));
    char *text = text_of(type, NULL);
    assert_string_equal(text, "{}");
    free(text);
    assert_int_equal(read_text(type, "{}", NULL), MICA_OK);
    expect_refusal(type, "{\"x\": 1}", "t: /here: expected {} for a tag");
    expect_refusal(type, "true", "t: /here: expected {} for a tag");
}

static void doubles_are_found_inside_structs(void **state) {
    (void)state;
    assert_true(has_doubles(known(mica_type_of(value_doubles))));
    assert_false(has_doubles(known(mica_type_of(value_floats))));
    assert_false(has_doubles(known(mica_type_of(scene_frozen))));
    assert_false(has_doubles(known(mica_type_of(scene_opaque))));
}

// A chain of structs, each with the one before it as its only member.
static mica_component nest(int32_t depth) {
    char name[16] = "Nest0";
    char fields[40];
    mica_component id = 0;
    for (int32_t i = 0; i < depth; i++) {
        mica_type type = {.name = name, .fields = "{ double x; }", .size = 8, .align = 8, .kind = MICA_KIND_STRUCT};
        if (i > 0) {
            (void)snprintf(fields, sizeof(fields), "{ %s x; }", name);
            (void)snprintf(name, sizeof(name), "Nest%d", i);
            type.fields = fields;
        }
        id = known(&type);
    }
    return id;
}

static void structs_are_nested_to_a_limit(void **state) {
    (void)state;
    const mica_component deepest = nest(MI_NESTING_LIMIT);
    const double value = 0.1;
    double read = 0;
    assert_true(has_doubles(deepest));
    round_trip(deepest, &value, &read);
    assert_true(read == value);

    const mica_component deeper = nest(MI_NESTING_LIMIT + 1);
    bool has = false;
    assert_int_equal(mi_type_look_at(schema, deeper, &has), MICA_LIMIT);
    const mi_value_writer writer = {.schema = schema, .entity_id = index_as_id};
    json_t *inner = mi_value_to_json(&writer, deepest, &value);
    json_t *outer = json_pack("{s: o}", "x", inner);
    char *text = json_dumps(outer, 0);
    json_decref(outer);
    assert_int_equal(read_text(deeper, text, &read), MICA_LIMIT);
    assert_contains(report.text, "structs in structs deeper than 64");
    free(text);
}

static void a_long_place_is_cut_between_characters(void **state) {
    (void)state;
    mi_json_place place = {.length = 0};
    (void)mi_place_add(&place, "ab");
    char part[600];
    for (size_t i = 0; i < 598; i += 2) {
        memcpy(part + i, "\xc3\xa9", 2);
    }
    part[598] = '\0';
    const size_t before = mi_place_add(&place, part);
    assert_int_equal(before, 3);
    assert_true(place.length < sizeof(place.text));
    assert_int_equal(strlen(place.text), place.length);
    assert_int_equal((place.length - 4) % 2, 0);
    (void)mi_place_add_index(&place, 12345);
    assert_true(place.length < sizeof(place.text));
    mi_place_cut(&place, before);
    assert_string_equal(place.text, "/ab");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_of_all_widths_keep_their_extremes, begin, end),
        cmocka_unit_test_setup_teardown(integers_that_do_not_fit_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(every_float_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(every_double_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_number_stays_none, begin, end),
        cmocka_unit_test_setup_teardown(every_number_of_json_is_read_as_float, begin, end),
        cmocka_unit_test_setup_teardown(texts_fit_exactly_or_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_text_that_is_read_leaves_nothing_of_the_old_one, begin, end),
        cmocka_unit_test_setup_teardown(texts_that_are_no_utf8_or_not_closed_keep_their_bytes, begin, end),
        cmocka_unit_test_setup_teardown(enumerations_go_by_name, begin, end),
        cmocka_unit_test_setup_teardown(numbers_without_a_name_keep_their_sign, begin, end),
        cmocka_unit_test_setup_teardown(entities_are_ids_to_be_filled_in_later, begin, end),
        cmocka_unit_test_setup_teardown(long_arrays_come_back_whole, begin, end),
        cmocka_unit_test_setup_teardown(fields_that_are_left_out_stay, begin, end),
        cmocka_unit_test_setup_teardown(fields_that_are_not_known_are_named_once, begin, end),
        cmocka_unit_test_setup_teardown(types_without_fields_are_bytes, begin, end),
        cmocka_unit_test_setup_teardown(tags_are_empty_objects, begin, end),
        cmocka_unit_test_setup_teardown(doubles_are_found_inside_structs, begin, end),
        cmocka_unit_test_setup_teardown(structs_are_nested_to_a_limit, begin, end),
        cmocka_unit_test_setup_teardown(a_long_place_is_cut_between_characters, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
