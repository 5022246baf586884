// Which bytes of a value count: fields and texts up to their ends, never padding; copying and comparing by them.
#include "store/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_ENUM(Mood, {CALM, ANGRY});
MICA_STRUCT(Dense, { float x, y, z; });
MICA_STRUCT(Slot, {
    uint8_t item;
    uint32_t amount;
});
MICA_STRUCT(Bag, {
    uint16_t owner;
    Slot slots[3];
    Dense places[2];
    uint8_t flags;
});
MICA_STRUCT(Label, {
    char text[8];
    uint8_t color;
});
MICA_STRUCT(Lines, {
    char lines[2][4];
    Label labels[2];
});
MICA_STRUCT_WITH(Lanes, (.layout = MICA_LANES), {
    uint8_t kind;
    Slot slot;
    float weight;
});
MICA_TAG(Marked);

typedef struct fixture {
    test_allocator allocator;
    mica_schema *schema;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.schema);
    mica_type *const types[] = {mica_type_of(Mood),  mica_type_of(Dense), mica_type_of(Slot),  mica_type_of(Bag),
                                mica_type_of(Label), mica_type_of(Lines), mica_type_of(Lanes), mica_type_of(Marked)};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_not_equal(mica_schema_register(f.schema, types[i]), 0);
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
    return 0;
}

static const mi_ranges *ranges_of(const fixture *f, const char *name) {
    return mi_type_ranges(f->schema, mi_schema_type(f->schema, mica_schema_find(f->schema, name)));
}

static void check_range(const mi_ranges *ranges, uint32_t index, uint32_t offset, uint32_t byte_size, bool is_text) {
    assert_true(index < ranges->count);
    assert_int_equal(ranges->data[index].offset, offset);
    assert_int_equal(ranges->data[index].byte_size, byte_size);
    assert_int_equal(ranges->data[index].is_text, is_text);
}

static void types_without_padding_are_whole(void **state) {
    const fixture *f = *state;
    const char *const names[] = {"Mood", "Dense", "Marked"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(ranges_of(f, names[i])->is_whole);
        assert_int_equal(ranges_of(f, names[i])->count, 0);
    }
}

static void padding_between_fields_behind_them_and_inside_of_arrays_is_left_out(void **state) {
    const fixture *f = *state;
    const mi_ranges *slot = ranges_of(f, "Slot");
    assert_false(slot->is_whole);
    assert_int_equal(slot->count, 2);
    check_range(slot, 0, 0, 1, false);
    check_range(slot, 1, 4, 4, false);
    const mi_ranges *bag = ranges_of(f, "Bag");
    assert_int_equal(bag->count, 5);
    check_range(bag, 0, 0, 2, false);
    check_range(bag, 1, offsetof(Bag, slots), 1, false);
    // An amount and the item of the next slot touch each other; so do the last amount, both places and the flags.
    check_range(bag, 2, offsetof(Bag, slots[0].amount), 5, false);
    check_range(bag, 3, offsetof(Bag, slots[1].amount), 5, false);
    check_range(bag, 4, offsetof(Bag, slots[2].amount), 4 + 2 * sizeof(Dense) + 1, false);
}

static void each_text_is_a_range_of_its_own(void **state) {
    const fixture *f = *state;
    const mi_ranges *lines = ranges_of(f, "Lines");
    assert_int_equal(lines->count, 6);
    check_range(lines, 0, 0, 4, true);
    check_range(lines, 1, 4, 4, true);
    check_range(lines, 2, 8, 8, true);
    check_range(lines, 3, 16, 1, false);
    check_range(lines, 4, 17, 8, true);
    check_range(lines, 5, 25, 1, false);
}

static void of_types_whose_fields_are_not_known_all_bytes_count_until_they_are(void **state) {
    const fixture *f = *state;
    mica_type bare = {.name = "Late", .size = 8, .align = 4, .kind = MICA_KIND_STRUCT};
    mica_schema_register(f->schema, &bare);
    assert_ptr_equal(ranges_of(f, "Late"), &mi_ranges_unknown);
    assert_true(mi_ranges_unknown.is_whole);
    mica_type told = {.name = "Late", .fields = "{ char c; int32_t n; }", .size = 8, .align = 4};
    mica_schema_register(f->schema, &told);
    assert_ptr_not_equal(ranges_of(f, "Late"), &mi_ranges_unknown);
    assert_int_equal(ranges_of(f, "Late")->count, 2);
    assert_ptr_equal(ranges_of(f, "Late"), ranges_of(f, "Late"));
}

static void lanes_count_like_whole_values(void **state) {
    const fixture *f = *state;
    const mi_ranges *lanes = ranges_of(f, "Lanes");
    assert_int_equal(lanes->count, 3);
    check_range(lanes, 0, 0, 1, false);
    check_range(lanes, 1, 4, 1, false);
    check_range(lanes, 2, 8, 8, false);
}

// The bytes of a value that count, as a reader without ranges would find them.
static void is_counted(const Lines *value, bool *counted) {
    memset(counted, 0, sizeof(*value));
    const size_t texts[][2] = {{0, 4}, {4, 4}, {8, 8}, {17, 8}};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < texts[i][1]; k++) {
            counted[texts[i][0] + k] = true; // the closing zero, since another byte there makes the text longer
            if (((const char *)value)[texts[i][0] + k] == '\0') {
                break;
            }
        }
    }
    counted[16] = counted[25] = true;
}

static void a_value_differs_by_every_byte_that_counts_and_by_no_other(void **state) {
    const fixture *f = *state;
    const mi_ranges *ranges = ranges_of(f, "Lines");
    Lines value = {.lines = {"ab", "full"}, .labels = {{"text", 3}, {"", 4}}};
    bool counted[sizeof(Lines)];
    is_counted(&value, counted);
    for (size_t i = 0; i < sizeof(Lines); i++) {
        Lines other = value;
        ((uint8_t *)&other)[i] ^= 0x55;
        assert_int_equal(mi_ranges_difference(ranges, sizeof(Lines), &value, &other),
                         counted[i] ? (uint32_t)i : UINT32_MAX);
        assert_int_equal(mi_ranges_equal(ranges, sizeof(Lines), &value, &other), !counted[i]);
        Lines canonical[2];
        memset(canonical, 0xA5, sizeof(canonical));
        mi_ranges_copy(ranges, sizeof(Lines), &canonical[0], &value, 1);
        mi_ranges_copy(ranges, sizeof(Lines), &canonical[1], &other, 1);
        assert_int_equal(memcmp(&canonical[0], &canonical[1], sizeof(Lines)) == 0, !counted[i]);
    }
}

MICA_STRUCT(Texts, {
    char longer[29];
    char shorter[5];
});

static void texts_of_every_length_are_cut_at_their_ends(void **state) {
    const fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Texts));
    for (uint32_t length = 0; length <= sizeof(Texts); length++) {
        Texts value;
        Texts canonical;
        memset(&value, 0x80, sizeof(value)); // no end, and high bits all along
        memset(&canonical, 0xA5, sizeof(canonical));
        if (length < sizeof(Texts)) {
            ((uint8_t *)&value)[length] = 0;
        }
        mi_ranges_copy(ranges_of(f, "Texts"), sizeof(Texts), &canonical, &value, 1);
        for (uint32_t i = 0; i < sizeof(Texts); i++) {
            const bool is_longer = length < sizeof(value.longer);
            const bool is_behind = i >= length && (is_longer ? i < sizeof(value.longer) : true);
            assert_int_equal(((const uint8_t *)&canonical)[i], is_behind ? 0 : 0x80);
        }
    }
}

static void many_values_are_copied_as_one_by_one(void **state) {
    const fixture *f = *state;
    enum { COUNT = 37 };
    const mi_ranges *ranges = ranges_of(f, "Bag");
    Bag values[COUNT];
    Bag together[COUNT];
    for (size_t i = 0; i < sizeof(values); i++) {
        ((uint8_t *)values)[i] = (uint8_t)(i * 7 + 1);
    }
    mi_ranges_copy(ranges, sizeof(Bag), together, values, COUNT);
    for (int i = 0; i < COUNT; i++) {
        Bag alone;
        mi_ranges_copy(ranges, sizeof(Bag), &alone, &values[i], 1);
        assert_memory_equal(&alone, &together[i], sizeof(Bag));
        assert_int_equal(((const uint8_t *)&alone)[2], 0);
        assert_int_equal(alone.flags, values[i].flags);
        assert_int_equal(alone.slots[2].amount, values[i].slots[2].amount);
    }
}

static void the_first_difference_is_the_one_nearest_to_the_beginning(void **state) {
    const fixture *f = *state;
    Bag a;
    memset(&a, 0, sizeof(a));
    Bag b = a;
    b.flags = 1;
    b.slots[1].amount = 1;
    ((uint8_t *)&b)[2] = 9; // padding
    assert_int_equal(mi_ranges_difference(ranges_of(f, "Bag"), sizeof(Bag), &a, &b), offsetof(Bag, slots[1].amount));
}

static void no_memory_for_ranges_leaves_the_type_unknown_for_now(void **state) {
    fixture *f = *state;
    const mi_type *type = mi_schema_type(f->schema, mica_schema_find(f->schema, "Lines"));
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mi_ranges *ranges = mi_type_ranges(f->schema, type);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(ranges->count, 6);
            break;
        }
        assert_null(ranges);
        failures++;
    }
    assert_true(failures > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_without_padding_are_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padding_between_fields_behind_them_and_inside_of_arrays_is_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_text_is_a_range_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_types_whose_fields_are_not_known_all_bytes_count_until_they_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lanes_count_like_whole_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_differs_by_every_byte_that_counts_and_by_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_of_every_length_are_cut_at_their_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_values_are_copied_as_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_difference_is_the_one_nearest_to_the_beginning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_for_ranges_leaves_the_type_unknown_for_now, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
