// Tables: where columns stand in a chunk of any capacity, what is told of their types, and remembered edges.
#include "store/table.h"
#include "support/test_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_schema *schema;
} fixture;

static void begin(fixture *f) {
    test_heap_begin(&f->allocator, &f->heap);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    assert_non_null(f->schema);
}

static void end(fixture *f) {
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
}

static mica_component add_type(fixture *f, const char *name, uint32_t size, uint32_t align) {
    mica_type type = {.name = name, .size = size, .align = align, .kind = size == 0 ? MICA_KIND_TAG : MICA_KIND_STRUCT};
    const mica_component id = mica_schema_register(f->schema, &type);
    assert_int_not_equal(id, 0);
    return id;
}

static mi_table *make(fixture *f, const mica_component *components, uint32_t count) {
    mica_result failure = MICA_OK;
    mi_table *table = mi_table_create(&f->heap, f->schema, components, count, &failure);
    assert_non_null(table);
    return table;
}

// No two columns, and no column and another's head, lie over each other; each stands at its alignment.
static void assert_layout(mi_table *table, uint32_t chunk_room) {
    mi_table_set_chunk_room(table, chunk_room);
    size_t end = sizeof(mica_entity) * chunk_room;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        assert_true(column->offset >= end + sizeof(mi_column_head));
        assert_int_equal(column->offset % MI_COLUMN_ALIGN, 0);
        assert_int_equal(column->offset % column->type->info.align, 0);
        assert_int_equal(table->offset_of[column->type->info.id], column->offset / MI_COLUMN_ALIGN);
        end = column->offset + (size_t)column->size * chunk_room;
    }
    assert_true(table->chunk_size >= end);
    assert_int_equal(table->chunk_size, mi_table_chunk_size(table, chunk_room));
}

static void columns_stand_apart_and_aligned_at_every_capacity(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component components[] = {add_type(&f, "Byte", 1, 1), add_type(&f, "Page", 4096, 4096),
                                         add_type(&f, "Tag", 0, 0), add_type(&f, "Odd", 12, 4),
                                         add_type(&f, "Line", 256, 256)};
    mi_table *table = make(&f, components, 5);
    assert_int_equal(table->column_count, 4);
    assert_int_equal(table->chunk_align, 4096);
    assert_int_equal(table->offset_of[components[2]], MI_OFFSET_TAG);
    assert_true(mi_table_has(table, components[2]));
    assert_false(mi_table_has(table, 0));
    assert_false(mi_table_has(table, (mica_component)(components[4] + 1)));
    for (uint32_t rows = 1; rows <= mi_table_full_room(table); rows++) {
        assert_layout(table, rows);
    }
    mi_table_destroy(&f.heap, table);
    end(&f);
}

static void a_full_chunk_holds_as_many_rows_as_fit(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component small = add_type(&f, "Small", 1, 1);
    const mica_component large = add_type(&f, "Large", MICA_SIZE_MAX, 1);
    const mica_component middle = add_type(&f, "Middle", 1000, 8);
    mi_table *table = make(&f, &small, 1);
    assert_int_equal(mi_table_full_room(table), MI_ROW_MAX);
    assert_int_equal(table->row_mask, MI_ROW_MAX - 1);
    assert_int_equal(table->chunk_room, MI_FIRST_ROOM);
    mi_table_destroy(&f.heap, table);
    table = make(&f, &large, 1);
    assert_int_equal(mi_table_full_room(table), 1);
    assert_int_equal(table->chunk_room, 1);
    assert_int_equal(mi_table_room_step(table, 9), 1);
    mi_table_destroy(&f.heap, table);
    table = make(&f, &middle, 1);
    assert_int_equal(mi_table_full_room(table), 128); // rows of 1008 bytes, 64 to 128 KiB
    mi_table_destroy(&f.heap, table);
    end(&f);
}

static void a_first_chunk_grows_in_fine_steps_while_it_is_small(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component middle = add_type(&f, "Middle", 500, 4);
    mi_table *table = make(&f, &middle, 1);
    static const uint32_t steps[] = {8, 12, 16, 24, 32, 48, 64, 128, 256};
    uint32_t rows = 0;
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (; rows <= steps[i]; rows++) {
            assert_int_equal(mi_table_room_step(table, rows), steps[i]);
        }
    }
    assert_int_equal(mi_table_full_room(table), 256);
    assert_int_equal(mi_table_room_step(table, UINT64_MAX), 256);
    mi_table_destroy(&f.heap, table);
    end(&f);
}

// The second step of values of four bytes: with the next column's head they fill the line that eight of them took.
static void twelve_rows_of_four_bytes_take_the_lines_of_eight(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_component components[10];
    for (uint32_t i = 0; i < 10; i++) {
        const char name[] = {(char)('A' + i), '\0'};
        components[i] = add_type(&f, name, 4, 4);
    }
    mi_table *table = make(&f, components, 10);
    assert_int_equal(mi_table_room_step(table, MI_FIRST_ROOM + 1), 12);
    assert_int_equal(mi_table_chunk_size(table, 12), mi_table_chunk_size(table, MI_FIRST_ROOM));
    mi_table_set_chunk_room(table, 12);
    for (uint32_t i = 1; i < 10; i++) {
        assert_int_equal(table->columns[i].offset - table->columns[i - 1].offset, MI_COLUMN_ALIGN);
    }
    mi_table_destroy(&f.heap, table);
    end(&f);
}

static void bytes_are_found_again_in_another_layout(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component components[] = {add_type(&f, "A", 12, 4), add_type(&f, "B", 256, 256),
                                         add_type(&f, "C", 8, 8)};
    mi_table *table = make(&f, components, 3);
    mi_table_set_chunk_room(table, 12);
    size_t places[3];
    for (uint32_t i = 0; i < 3; i++) {
        places[i] = table->columns[i].offset + (size_t)table->columns[i].size * 5 + 3; // within row 5
    }
    mi_table_set_chunk_room(table, 64);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(mi_table_moved_offset(table, 12, places[i]),
                         table->columns[i].offset + table->columns[i].size * 5 + 3);
    }
    assert_int_equal(mi_table_moved_offset(table, 12, sizeof(mica_entity) * 7), sizeof(mica_entity) * 7);
    mi_table_destroy(&f.heap, table);
    end(&f);
}

static bool make_none(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
    return false;
}

static void end_none(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
}

static void move_none(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)to;
    (void)from;
    (void)count;
    (void)context;
}

static mica_component add_hooked(fixture *f, const char *name, mica_hooks hooks) {
    mica_type type = {.name = name, .size = 4, .align = 4, .traits = {.hooks = hooks}};
    return mica_schema_register(f->schema, &type);
}

static void hooks_are_summed_up(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component plain = add_type(&f, "Plain", 4, 4);
    mi_table *table = make(&f, &plain, 1);
    assert_true(table->is_plain && table->moves_bytes && !table->can_fail && !table->has_destruct);
    mi_table_destroy(&f.heap, table);
    const mica_component both[] = {plain, add_hooked(&f, "Ended", (mica_hooks){.destruct = end_none})};
    table = make(&f, both, 2);
    assert_true(!table->is_plain && table->moves_bytes && !table->can_fail && table->has_destruct);
    mi_table_destroy(&f.heap, table);
    const mica_component made = add_hooked(&f, "Made", (mica_hooks){.construct = make_none, .move = move_none});
    table = make(&f, &made, 1);
    assert_true(!table->is_plain && !table->moves_bytes && table->can_fail && !table->has_destruct);
    mi_table_destroy(&f.heap, table);
    end(&f);
}

static void a_row_that_no_offset_reaches_is_a_limit(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_component components[80];
    for (int32_t i = 0; i < 80; i++) {
        char name[16];
        snprintf(name, sizeof(name), "L%d", i);
        components[i] = add_type(&f, name, MICA_SIZE_MAX, 1);
    }
    mica_result failure = MICA_OK;
    assert_null(mi_table_create(&f.heap, f.schema, components, 80, &failure));
    assert_int_equal(failure, MICA_LIMIT);
    mi_table *table = make(&f, components, 60);
    assert_layout(table, 0);
    mi_table_destroy(&f.heap, table);
    test_allocator_fail_at(&f.allocator, 1);
    assert_null(mi_table_create(&f.heap, f.schema, components, 3, &failure));
    assert_int_equal(failure, MICA_OUT_OF_MEMORY);
    test_allocator_fail_stop(&f.allocator);
    end(&f);
}

static void names_decide_the_canonical_order(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component components[] = {add_type(&f, "Zebra", 4, 4), add_type(&f, "Ape", 0, 0),
                                         add_type(&f, "Mole", 4, 4)};
    mi_table *table = make(&f, components, 3);
    assert_int_equal(table->by_name[0], components[1]);
    assert_int_equal(table->by_name[1], components[2]);
    assert_int_equal(table->by_name[2], components[0]);
    mi_table_destroy(&f.heap, table);
    end(&f);
}

// Something that an edge may lead to; nothing looks into it.
static mi_table *place(uint32_t i) {
    static uint64_t places[1001];
    return (mi_table *)(void *)&places[i];
}

static void edges_are_remembered_by_component_and_direction(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component plain = add_type(&f, "Plain", 4, 4);
    mi_table *table = make(&f, &plain, 1);
    assert_null(mi_table_neighbour(table, 7, false));
    for (uint32_t i = 1; i <= 500; i++) { // a table has one of the two edges of each component
        mi_table_remember_edge(&f.heap, table,
                               (mi_edge){.key = mi_edge_key((mica_component)i, i % 2 == 0), .to = place(i)});
    }
    for (uint32_t i = 1; i <= 500; i++) {
        const uint32_t key = mi_edge_key((mica_component)i, i % 2 == 0);
        assert_ptr_equal(mi_table_neighbour(table, (mica_component)i, i % 2 == 0), place(i));
        assert_null(mi_table_neighbour(table, (mica_component)i, i % 2 != 0));
        assert_int_equal(mi_table_near_edge(table, key)->key, key);
    }
    assert_null(mi_table_neighbour(table, 501, false));
    mi_table_forget_edges(&f.heap, table);
    assert_null(mi_table_neighbour(table, 7, false));
    assert_int_equal(mi_table_near_edge(table, mi_edge_key(7, false))->key, 0);
    // Without memory nothing is remembered, and nothing is lost.
    mi_table_remember_edge(&f.heap, table, (mi_edge){.key = mi_edge_key(1, false), .to = place(5)});
    test_allocator_fail_from(&f.allocator, 1);
    for (uint32_t i = 2; i <= 20; i++) {
        mi_table_remember_edge(&f.heap, table, (mi_edge){.key = mi_edge_key((mica_component)i, false), .to = place(i)});
    }
    test_allocator_fail_stop(&f.allocator);
    assert_ptr_equal(mi_table_neighbour(table, 1, false), place(5));
    assert_null(mi_table_neighbour(table, 20, false));
    mi_table_destroy(&f.heap, table);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_apart_and_aligned_at_every_capacity),
        cmocka_unit_test(a_full_chunk_holds_as_many_rows_as_fit),
        cmocka_unit_test(a_first_chunk_grows_in_fine_steps_while_it_is_small),
        cmocka_unit_test(twelve_rows_of_four_bytes_take_the_lines_of_eight),
        cmocka_unit_test(bytes_are_found_again_in_another_layout),
        cmocka_unit_test(hooks_are_summed_up),
        cmocka_unit_test(a_row_that_no_offset_reaches_is_a_limit),
        cmocka_unit_test(names_decide_the_canonical_order),
        cmocka_unit_test(edges_are_remembered_by_component_and_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
