// Lanes: which fields of which types become lanes, where lanes stand in a chunk, and whole values in and out of them.
#include "schema_fixture.h"

#include "store/lanes.h"
#include "store/table.h"
#include "support/test_heap.h"

#include <mica/mica.h>

MICA_STRUCT(Corner, {
    int32_t at;
    uint8_t edge;
});
MICA_ENUM(Colour, {RED, GREEN});
// With padding behind `flag`, `corner` and `small`.
MICA_STRUCT_WITH(Odd, (.layout = MICA_LANES), {
    uint8_t flag;
    double weight;
    char text[5];
    float pair[2];
    Corner corner;
    Colour colour;
    mica_entity who;
    int16_t small;
});
MICA_STRUCT_WITH(Point, (.layout = MICA_LANES), { float x, y, z; });
MICA_STRUCT_WITH(Byte, (.layout = MICA_LANES), { uint8_t value; });

static const mi_type *register_odd(fixture *f) {
    assert_int_not_equal(mica_schema_register(f->schema, mica_type_of(Corner)), 0);
    assert_int_not_equal(mica_schema_register(f->schema, mica_type_of(Colour)), 0);
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Odd));
    assert_string_equal(id != 0 ? "" : mica_last_error(), "");
    return mi_schema_type(f->schema, id);
}

static const mi_type *register_type(fixture *f, mica_type *type) {
    const mica_component id = mica_schema_register(f->schema, type);
    assert_string_equal(id != 0 ? "" : mica_last_error(), "");
    return mi_schema_type(f->schema, id);
}

// Registration

static void every_field_is_a_lane(void **state) {
    const mi_type *type = register_odd(*state);
    const struct {
        size_t offset, size;
    } fields[] = {{offsetof(Odd, flag), sizeof(uint8_t)},
                  {offsetof(Odd, weight), sizeof(double)},
                  {offsetof(Odd, text), 5},
                  {offsetof(Odd, pair), 2 * sizeof(float)},
                  {offsetof(Odd, corner), sizeof(Corner)},
                  {offsetof(Odd, colour), sizeof(Colour)},
                  {offsetof(Odd, who), sizeof(mica_entity)},
                  {offsetof(Odd, small), sizeof(int16_t)}};
    assert_int_equal(type->lanes.count, sizeof fields / sizeof *fields);
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        assert_int_equal(type->lanes.data[i].offset, fields[i].offset);
        assert_int_equal(type->lanes.data[i].size, fields[i].size);
        assert_int_equal(mi_lanes_find(type, (uint32_t)fields[i].offset, (uint32_t)fields[i].size), i);
    }
    assert_true(mi_lanes_find(type, (uint32_t)offsetof(Odd, weight), sizeof(float)) == UINT32_MAX);
    assert_true(mi_lanes_find(type, (uint32_t)offsetof(Odd, pair) + 4, sizeof(float)) == UINT32_MAX);
    assert_int_equal(type->info.layout, MICA_LANES);
    assert_int_equal(type->info.storage, MICA_TABLE);
}

static void other_types_have_no_lanes(void **state) {
    assert_false(mi_type_in_lanes(register_type(*state, mica_type_of(Corner))));
}

static mica_type split_type(const char *name, const char *fields, uint32_t size, uint32_t align) {
    return (mica_type){.name = name, .fields = fields, .size = size, .align = align, .traits = {.layout = MICA_LANES}};
}

static void fields_must_be_known(void **state) {
    fixture *f = *state;
    mica_type none = split_type("None", NULL, 4, 4);
    assert_refused(f->schema, &none, MICA_BAD_TYPE,
                   "\"None\" asks for the layout MICA_LANES, an array a field, and its fields are not known: it was "
                   "declared without fields");
    mica_type pointer = split_type("Pointer", "{ int32_t *at; }", 8, 8);
    assert_refused(f->schema, &pointer, MICA_BAD_TYPE, "and its fields are not known: ");
    mica_type nested = split_type("Nested", "{ Corner corner; }", sizeof(Corner), _Alignof(Corner));
    assert_refused(f->schema, &nested, MICA_BAD_TYPE,
                   "\"Nested\" asks for the layout MICA_LANES, for which the types of its fields must be registered "
                   "before it: \"Corner corner;\"");
    mica_type itself = split_type("Itself", "{ Itself one; }", 8, 4);
    assert_refused(f->schema, &itself, MICA_BAD_TYPE, "must be registered before it: \"Itself one;\"");
    register_type(f, mica_type_of(Corner));
    assert_int_not_equal(mica_schema_register(f->schema, &nested), 0);
    mica_type wrong = split_type("Wrong", "{ enum Corner corner; }", sizeof(Corner), _Alignof(Corner));
    assert_refused(f->schema, &wrong, MICA_BAD_TYPE, "is known as something else: \"Corner corner;\"");
    mica_type larger = split_type("Larger", "{ Corner corner; }", 16, 4);
    assert_refused(f->schema, &larger, MICA_BAD_TYPE, "has 16 bytes aligned to 4, but its fields make 8");
}

static void values_must_be_small(void **state) {
    fixture *f = *state;
    mica_type large = split_type("Large", "{ uint8_t bytes[1025]; }", 1025, 1);
    assert_refused(f->schema, &large, MICA_BAD_TYPE,
                   "\"Large\" has 1025 bytes aligned to 1: in the layout MICA_LANES a value has at most 1024");
    mica_type largest = split_type("Largest", "{ uint8_t bytes[1024]; }", 1024, 1);
    assert_int_not_equal(mica_schema_register(f->schema, &largest), 0);
    mica_type aligned = split_type("Aligned", "{ _Alignas(128) uint8_t byte; }", 128, 128);
    assert_refused(f->schema, &aligned, MICA_BAD_TYPE, "has 128 bytes aligned to 128");
}

static void an_index_is_refused(void **state) {
    fixture *f = *state;
    mica_type type = split_type("Found", "{ int32_t number; }", 4, 4);
    type.traits.indexes[0] = (mica_index_trait){"number", MICA_HASH};
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "\"Found\" asks for an index, which looks at whole values");
}

static void a_descriptor_says_that_its_type_lies_in_lanes(void **state) {
    fixture *f = *state;
    mica_type type = split_type("Told", "{ int32_t number; }", 4, 4);
    const mica_component id = mica_schema_register(f->schema, &type);
    assert_int_equal((uint32_t)type.cache, MICA_HEAD_LANES_BIT | id);
    assert_int_equal(mica_schema_register(f->schema, &type), id);
    mica_type whole = copy_of(&type);
    whole.traits.layout = MICA_LAYOUT_DEFAULT;
    assert_int_equal(mica_schema_register(f->schema, &whole), 0);
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
}

// Places

static void lanes_stand_apart_and_aligned_at_every_capacity(void **state) {
    const mi_type *types[] = {register_odd(*state), register_type(*state, mica_type_of(Point)),
                              register_type(*state, mica_type_of(Byte))};
    for (uint32_t t = 0; t < 3; t++) {
        const mi_type *type = types[t];
        for (uint32_t room = 1; room <= MI_ROW_MAX; room += room < 100 ? 1 : 12) {
            size_t end = 0;
            for (uint32_t i = 0; i < type->lanes.count; i++) {
                const size_t start = mi_lane_start(type, i, room);
                assert_int_equal(start % MI_COLUMN_ALIGN, 0);
                assert_true(start >= end);
                end = start + (size_t)type->lanes.data[i].size * room;
            }
            assert_int_equal(mi_lanes_byte_size(type, room), end);
        }
    }
    // Full lanes of floats are whole pages long, and stand a line further apart.
    assert_int_equal(mi_lane_start(types[1], 1, MI_ROW_MAX) % 4096, MI_COLUMN_ALIGN);
    assert_int_equal(mi_lane_start(types[1], 2, MI_ROW_MAX) % 4096, 2 * MI_COLUMN_ALIGN);
}

static void a_table_finds_lanes_by_their_column_alone(void **state) {
    fixture *f = *state;
    test_allocator allocator;
    mi_heap heap;
    test_heap_begin(&allocator, &heap);
    const mica_component components[] = {register_type(f, mica_type_of(Corner))->info.id,
                                         register_type(f, mica_type_of(Point))->info.id,
                                         register_type(f, mica_type_of(Byte))->info.id};
    mica_result failure = MICA_OK;
    mi_table *table = mi_table_create(&heap, f->schema, components, 3, &failure);
    assert_non_null(table);
    assert_true(table->has_lanes);
    assert_false(table->is_plain);
    assert_false(table->moves_bytes);
    assert_int_equal(table->column_count, 3);
    for (uint32_t rows = 0; rows < mi_table_full_room(table); rows = table->chunk_room) {
        mi_table_set_chunk_room(table, mi_table_room_step(table, rows + 1));
        size_t end = sizeof(mica_entity) * table->chunk_room;
        for (uint32_t i = 0; i < 3; i++) {
            const mi_column *column = &table->columns[i];
            assert_ptr_equal(mi_table_find_column(table, components[i]), column);
            assert_true(column->offset >= end + sizeof(mi_column_head));
            end = column->offset + mi_column_byte_size(column, table->chunk_room);
            assert_int_equal(table->offset_of[components[i]] == MI_OFFSET_TAG, i > 0);
            assert_true(mi_table_has_data(table, components[i]));
        }
        assert_true(table->chunk_size >= end);
        assert_int_equal(table->chunk_size, mi_table_chunk_size(table, table->chunk_room));
    }
    assert_ptr_equal(mi_table_lanes(table, components[1]), &table->columns[1]);
    assert_ptr_equal(mi_table_lanes(table, components[2]), &table->columns[2]);
    assert_null(mi_table_find_column(table, 0));
    assert_null(mi_table_find_column(table, (mica_component)(components[2] + 1)));
    mi_table_destroy(&heap, table);
    test_allocator_finish(&allocator);
}

static void bytes_of_lanes_are_found_again_in_another_layout(void **state) {
    const mi_type *type = register_odd(*state);
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        const size_t in_row = (size_t)type->lanes.data[i].size * 5; // row 5 of 12
        assert_int_equal(mi_lanes_moved_offset(type, 64, 12, mi_lane_start(type, i, 12) + in_row),
                         mi_lane_start(type, i, 64) + in_row);
    }
}

// Values

static Odd odd_value(int32_t number) {
    Odd value;
    memset(&value, 0, sizeof value);
    value.flag = (uint8_t)number;
    value.weight = number + 0.5;
    value.text[4] = (char)number;
    value.pair[0] = (float)number;
    value.pair[1] = (float)-number;
    value.corner.at = number * 1000;
    value.corner.edge = (uint8_t)(number + 1);
    value.colour = number % 2 == 0 ? RED : GREEN;
    value.who = mica_entity_make((uint32_t)number + 1, 7);
    value.small = (int16_t)-number;
    return value;
}

static void values_come_out_as_they_went_in(void **state) {
    enum { COUNT = 12 };
    const mi_type *type = register_odd(*state);
    _Alignas(64) uint8_t column[8192];
    assert_true(mi_lanes_byte_size(type, COUNT) <= sizeof column);
    memset(column, 0xaa, sizeof column);
    Odd values[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        values[i] = odd_value(i);
    }
    mi_lanes_write(type, COUNT, column, 0, values, COUNT - 1);
    mi_lanes_write(type, COUNT, column, COUNT - 1, &values[COUNT - 1], 1);
    Odd read[COUNT];
    memset(read, 0x55, sizeof read); // no byte between the fields stays
    mi_lanes_read(type, COUNT, column, 0, read, COUNT);
    assert_memory_equal(read, values, sizeof read);
    mi_lanes_write(type, COUNT, column, 3, NULL, 2);
    Odd zeros[2];
    memset(zeros, 0, sizeof zeros);
    mi_lanes_read(type, COUNT, column, 3, read, 2);
    assert_memory_equal(read, zeros, sizeof zeros);
    mi_lanes_read(type, COUNT, column, 5, read, 1);
    assert_memory_equal(read, &values[5], sizeof *read);
    mi_lanes_read(type, COUNT, column, 2, read, 1);
    assert_memory_equal(read, &values[2], sizeof *read);
}

static void rows_are_copied_between_capacities(void **state) {
    const mi_type *type = register_odd(*state);
    _Alignas(64) uint8_t small[8192];
    _Alignas(64) uint8_t large[16384];
    assert_true(mi_lanes_byte_size(type, 64) <= sizeof large);
    Odd values[8];
    for (int32_t i = 0; i < 8; i++) {
        values[i] = odd_value(100 + i);
    }
    mi_lanes_write(type, 12, small, 0, values, 8);
    memset(large, 0xaa, sizeof large);
    mi_lanes_copy_rows(type, (mi_lanes_rows){large, 64, 20}, (mi_lanes_rows){small, 12, 2}, 5);
    Odd read[5];
    mi_lanes_read(type, 64, large, 20, read, 5);
    assert_memory_equal(read, &values[2], sizeof read);
    assert_int_equal(large[mi_lane_start(type, 0, 64) + 19], 0xaa); // the rows beside are left alone
    assert_int_equal(large[mi_lane_start(type, 0, 64) + 25], 0xaa);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_field_is_a_lane, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_types_have_no_lanes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_must_be_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_must_be_small, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_index_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_descriptor_says_that_its_type_lies_in_lanes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_stand_apart_and_aligned_at_every_capacity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_finds_lanes_by_their_column_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_of_lanes_are_found_again_in_another_layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_come_out_as_they_went_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_copied_between_capacities, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
