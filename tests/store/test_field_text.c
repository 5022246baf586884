// Fields in words: the path to the one that a byte belongs to, and what it holds.
#include "store/field_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

MICA_ENUM(Mood, {CALM, ANGRY = -3});
MICA_STRUCT(Spot, { double x; });
MICA_STRUCT(Slot, {
    uint8_t item;
    int32_t amount;
});
MICA_STRUCT(Thing, {
    mica_entity owner;
    Spot place;
    Slot slots[4];
    Mood mood;
    char names[2][8];
    float grid[2][2];
    bool is_open;
    uint64_t large;
});

typedef struct fixture {
    mica_schema *schema;
    const mi_type *thing;
    Thing value;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f.schema = mica_schema_create(NULL);
    mica_schema_register(f.schema, mica_type_of(Mood));
    mica_schema_register(f.schema, mica_type_of(Spot));
    mica_schema_register(f.schema, mica_type_of(Slot));
    f.thing = mi_schema_type(f.schema, mica_schema_register(f.schema, mica_type_of(Thing)));
    assert_int_equal(mi_type_reflect(f.schema, f.thing->info.id), MICA_OK);
    memset(&f.value, 0, sizeof(f.value));
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_schema_release(f->schema);
    return 0;
}

static void check_path(const fixture *f, size_t offset, const char *expected) {
    char text[64];
    mi_text_out out = mi_text_begin(text, sizeof(text));
    mi_field_path(f->schema, f->thing, (uint32_t)offset, &out);
    assert_string_equal(text, expected);
}

static void check_value(const fixture *f, size_t offset, const char *expected) {
    char text[64];
    mi_text_out out = mi_text_begin(text, sizeof(text));
    mi_field_value(f->schema, f->thing, (uint32_t)offset, &f->value, &out);
    assert_string_equal(text, expected);
}

static void paths_lead_through_structs_and_arrays(void **state) {
    const fixture *f = *state;
    check_path(f, offsetof(Thing, owner), "owner");
    check_path(f, offsetof(Thing, place.x) + 7, "place.x");
    check_path(f, offsetof(Thing, slots[3].item), "slots[3].item");
    check_path(f, offsetof(Thing, slots[0].amount) + 1, "slots[0].amount");
    check_path(f, offsetof(Thing, names[1]) + 2, "names[1]");
    check_path(f, offsetof(Thing, grid[1][0]), "grid[2]");
    check_path(f, offsetof(Thing, mood), "mood");
}

static void bytes_of_no_field_are_named_by_their_number(void **state) {
    const fixture *f = *state;
    char text[64];
    const size_t padding = offsetof(Thing, is_open) + 1;
    snprintf(text, sizeof(text), "byte %zu", padding);
    check_path(f, padding, text);
    mica_type bare = {.name = "Bare", .size = 16, .align = 4, .kind = MICA_KIND_STRUCT};
    const mi_type *type = mi_schema_type(f->schema, mica_schema_register(f->schema, &bare));
    mi_text_out out = mi_text_begin(text, sizeof(text));
    mi_field_path(f->schema, type, 12, &out);
    assert_string_equal(text, "byte 12");
    const uint8_t bytes[16] = {[12] = 0x1f};
    out = mi_text_begin(text, sizeof(text));
    mi_field_value(f->schema, type, 12, bytes, &out);
    assert_string_equal(text, "0x1f");
}

static void values_are_written_by_the_kind_of_their_field(void **state) {
    fixture *f = *state;
    Thing *value = &f->value;
    value->owner = mica_entity_make(7, 2);
    value->place.x = -1.5;
    value->slots[3] = (Slot){200, -70000};
    value->mood = ANGRY;
    memcpy(value->names[1], "eight by", 8);
    value->grid[1][0] = 0.1f;
    value->is_open = true;
    value->large = UINT64_MAX;
    check_value(f, offsetof(Thing, owner), "7:2");
    check_value(f, offsetof(Thing, place.x), "-1.5");
    check_value(f, offsetof(Thing, slots[3].item), "200");
    check_value(f, offsetof(Thing, slots[3].amount), "-70000");
    check_value(f, offsetof(Thing, mood), "ANGRY");
    check_value(f, offsetof(Thing, names[0]), "\"\"");
    check_value(f, offsetof(Thing, names[1]) + 3, "\"eight by\"");
    check_value(f, offsetof(Thing, grid[1][0]), "0.100000001");
    check_value(f, offsetof(Thing, is_open), "true");
    check_value(f, offsetof(Thing, large), "18446744073709551615");
    value->mood = (Mood)5;
    check_value(f, offsetof(Thing, mood), "5");
}

static void what_is_no_number_shows_its_bits(void **state) {
    fixture *f = *state;
    const uint64_t bits = UINT64_C(0x7ff8000000000123);
    memcpy(&f->value.place.x, &bits, sizeof(bits));
    check_value(f, offsetof(Thing, place.x), "nan (0x7ff8000000000123)");
    f->value.place.x = -0.0;
    check_value(f, offsetof(Thing, place.x), "-0");
    const uint8_t two = 2;
    memcpy(&f->value.is_open, &two, 1);
    check_value(f, offsetof(Thing, is_open), "0x02");
}

static void a_component_that_is_an_enumeration_is_written_by_name(void **state) {
    const fixture *f = *state;
    const mi_type *type = mi_schema_type(f->schema, mica_schema_find(f->schema, "Mood"));
    const Mood mood = ANGRY;
    char text[16];
    mi_text_out out = mi_text_begin(text, sizeof(text));
    mi_field_value(f->schema, type, 0, &mood, &out);
    assert_string_equal(text, "ANGRY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_lead_through_structs_and_arrays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_of_no_field_are_named_by_their_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_written_by_the_kind_of_their_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_number_shows_its_bits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_component_that_is_an_enumeration_is_written_by_name, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
