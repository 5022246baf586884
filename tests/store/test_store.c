// The store: chunks that grow, stay and go, the graph of tables and its order, and what validation finds.
#include "store/store.h"

#include "support/test_heap.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TYPE_COUNT = 12 };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_schema *schema;
    mi_store store;
    mica_component types[TYPE_COUNT];
} fixture;

static void begin(fixture *f) {
    // Names that do not stand in the order of ids.
    static const char *const names[TYPE_COUNT] = {"M", "C", "X", "A", "Q", "B", "Z", "K", "D", "Y", "E", "P"};
    test_heap_begin(&f->allocator, &f->heap);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    for (int32_t i = 0; i < TYPE_COUNT; i++) {
        mica_type type = {.name = names[i], .size = 4, .align = 4};
        f->types[i] = mica_schema_register(f->schema, &type);
    }
    assert_true(mi_store_init(&f->store, &f->heap, f->schema));
}

static void end(fixture *f) {
    assert_null(mi_store_validate(&f->store));
    mi_store_free(&f->store);
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
}

static mi_table *table_of(fixture *f, uint32_t first, uint32_t count) {
    mi_table *table = mi_store_table(&f->store, f->types + first, count);
    assert_non_null(table);
    return table;
}

// Opens and publishes a row whose first column holds `number`.
static mica_entity add_row(fixture *f, mi_table *table, int32_t number) {
    assert_int_equal(mi_slots_reserve(&f->store.slots, &f->heap, 1), MICA_OK);
    assert_true(mi_store_open_rows(&f->store, table, 1));
    const uint32_t place = mi_store_location(table, table->row_count);
    for (uint32_t i = 0; i < table->column_count; i++) {
        memcpy(mi_store_value(&f->store, table, place, table->columns[i].type->info.id, 4), &number, 4);
    }
    const mica_entity entity = mi_slots_take(&f->store.slots, place);
    mi_store_publish_at(&f->store, table, entity, place);
    return entity;
}

static void remove_last(fixture *f, mi_table *table) {
    const uint32_t last = mi_store_location(table, table->row_count - 1);
    const mica_entity entity = ((const mica_entity *)(const void *)mi_store_base(&f->store, last))[mi_row_of(last)];
    mi_store_close_hole(&f->store, table, last); // its types end without hooks
    mi_slots_move(&f->store.slots, mica_entity_index(entity), 0);
    mi_slots_give(&f->store.slots, mica_entity_index(entity));
}

static int32_t number_of(fixture *f, mica_entity entity) {
    uint32_t location = 0;
    assert_true(mi_slots_resolve(&f->store.slots, entity, &location));
    const mi_table *table = mi_store_table_at(&f->store, location);
    int32_t number = 0;
    memcpy(&number, mi_store_value(&f->store, table, location, table->columns[0].type->info.id, 4), 4);
    return number;
}

static void the_first_chunk_grows_in_steps_until_it_is_full(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *table = table_of(&f, 0, 1);
    static mica_entity entities[10000];
    uint32_t room = 0;
    for (int32_t i = 0; i < 10000; i++) {
        entities[i] = add_row(&f, table, i);
        if (room < table->row_count && room < mi_table_full_room(table)) {
            room = mi_table_room_step(table, room + 1);
        }
        assert_int_equal(table->chunk_room, room);
        assert_int_equal(table->chunk_count, (table->row_count + room - 1) / room);
        assert_int_equal(table->room, table->chunk_count * room);
    }
    for (int32_t i = 0; i < 10000; i++) {
        assert_int_equal(number_of(&f, entities[i]), i);
    }
    end(&f);
}

static void one_spare_chunk_stays_when_rows_go(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *table = table_of(&f, 0, 2);
    for (int32_t i = 0; i < 20000; i++) {
        add_row(&f, table, i);
    }
    const uint32_t capacity = mi_table_full_room(table);
    while (table->row_count > 0) {
        remove_last(&f, table);
        const uint32_t filled = (table->row_count + capacity - 1) / capacity;
        assert_in_range(table->chunk_count, filled, filled + 1);
    }
    assert_int_equal(table->chunk_count, 1);
    // Around a chunk's edge nothing is taken or given back.
    for (uint32_t i = 0; i < capacity; i++) {
        add_row(&f, table, 0);
    }
    add_row(&f, table, 0);
    const uint64_t calls = f.allocator.call_count;
    for (int32_t i = 0; i < 100; i++) {
        remove_last(&f, table);
        add_row(&f, table, 0);
    }
    assert_true(f.allocator.call_count == calls);
    mi_store_trim(&f.store);
    assert_int_equal(table->chunk_count, 2);
    end(&f);
}

static void rows_that_are_opened_and_left_count_for_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *table = table_of(&f, 0, 3);
    const mica_entity entity = add_row(&f, table, 7);
    assert_true(mi_store_open_rows(&f.store, table, 50000));
    assert_true(table->chunk_count > 2);
    assert_int_equal(table->row_count, 1);
    assert_null(mi_store_validate(&f.store));
    mi_store_close_rows(&f.store, table);
    assert_int_equal(table->chunk_count, 2);
    assert_int_equal(number_of(&f, entity), 7);
    // What memory does not reach for is given back, too.
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_from(&f.allocator, n);
        const bool opened = mi_store_open_rows(&f.store, table, 400000);
        test_allocator_fail_stop(&f.allocator);
        if (opened) {
            break;
        }
        assert_int_equal(f.store.failure, MICA_OUT_OF_MEMORY);
        assert_in_range(table->chunk_count, 1, 2);
        assert_int_equal(number_of(&f, entity), 7);
    }
    assert_false(mi_store_open_rows(&f.store, table, MICA_INDEX_MAX));
    assert_int_equal(f.store.failure, MICA_LIMIT);
    end(&f);
}

static void tables_stand_in_the_order_of_names(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    test_random random = {.state = 5};
    for (int32_t round = 0; round < 40; round++) {
        mi_table *table = mi_store_root(&f.store);
        for (int32_t i = 0; i < 4; i++) {
            table = mi_store_table_with(&f.store, table, f.types[test_random_below(&random, TYPE_COUNT)]);
        }
        if (round % 3 == 0) {
            add_row(&f, table, round);
        }
        if (round % 7 == 0) {
            assert_true(mi_store_order(&f.store));
            assert_int_equal(f.store.sorted_count, f.store.ordered.count);
            assert_null(mi_store_validate(&f.store)); // compares neighbours
        }
        if (round == 20) {
            mi_store_trim(&f.store);
            assert_null(mi_store_validate(&f.store));
        }
    }
    table_of(&f, 3, 5);
    test_allocator_fail_at(&f.allocator, 1);
    assert_false(mi_store_order(&f.store));
    assert_true(test_allocator_fail_stop(&f.allocator));
    assert_true(mi_store_order(&f.store));
    end(&f);
}

static void a_set_of_components_has_one_table(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *root = mi_store_root(&f.store);
    mi_table *forwards = root;
    mi_table *backwards = root;
    for (int32_t i = 0; i < TYPE_COUNT; i++) {
        forwards = mi_store_table_with(&f.store, forwards, f.types[i]);
        backwards = mi_store_table_with(&f.store, backwards, f.types[TYPE_COUNT - 1 - i]);
    }
    assert_ptr_equal(forwards, backwards);
    assert_ptr_equal(mi_store_table_with(&f.store, forwards, f.types[3]), forwards);
    assert_ptr_equal(mi_store_table_without(&f.store, root, f.types[3]), root);
    for (int32_t i = 0; i < TYPE_COUNT; i++) {
        forwards = mi_store_table_without(&f.store, forwards, f.types[i]);
    }
    assert_ptr_equal(forwards, root);
    end(&f);
}

static void ids_of_tables_and_chunks_are_used_again(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t round = 0; round < 50; round++) {
        mi_table *table = table_of(&f, (uint32_t)round % 6, 1 + (uint32_t)round % 5);
        for (int32_t i = 0; i < 100; i++) {
            add_row(&f, table, i);
        }
        while (table->row_count > 0) {
            remove_last(&f, table);
        }
        mi_store_trim(&f.store);
        assert_int_equal(f.store.tables_live, 1);
        assert_in_range(f.store.tables.count, 1, 2);
        assert_in_range(f.store.chunk_count, 0, 3);
    }
    end(&f);
}

static void shaking_moves_every_chunk_or_leaves_it(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *table = table_of(&f, 0, 2);
    static mica_entity entities[9000];
    for (int32_t i = 0; i < 9000; i++) {
        entities[i] = add_row(&f, table, i);
    }
    const uint8_t *before = mi_store_base(&f.store, mi_store_location(table, 0));
    mi_store_shake(&f.store, table);
    assert_ptr_not_equal(mi_store_base(&f.store, mi_store_location(table, 0)), before);
    for (uint64_t n = 1; n < 4; n++) {
        test_allocator_fail_from(&f.allocator, n);
        mi_store_shake(&f.store, table);
        test_allocator_fail_stop(&f.allocator);
        for (int32_t i = 0; i < 9000; i++) {
            assert_int_equal(number_of(&f, entities[i]), i);
        }
        assert_null(mi_store_validate(&f.store));
    }
    end(&f);
}

static void assert_fault(fixture *f, const char *part) {
    const char *fault = mi_store_validate(&f->store);
    assert_non_null(fault);
    assert_non_null(strstr(fault, part));
}

static void validation_finds_what_is_broken(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_table *table = table_of(&f, 0, 2);
    const mica_entity first = add_row(&f, table, 1);
    const mica_entity second = add_row(&f, table, 2);
    uint32_t location = 0;
    assert_true(mi_slots_resolve(&f.store.slots, first, &location));

    mica_entity *handles = (mica_entity *)(void *)mi_store_base(&f.store, location);
    handles[0] = second;
    assert_fault(&f, "does not name that row");
    handles[0] = first;

    mi_slots_move(&f.store.slots, mica_entity_index(first), 0);
    assert_fault(&f, "does not name that row");
    mi_slots_move(&f.store.slots, mica_entity_index(first), location);

    table->row_count = 9; // the chunk has room for 8
    assert_fault(&f, "more rows than its chunks hold");
    table->row_count = 2;
    table->room++;
    assert_fault(&f, "other room than they have");
    table->room--;
    table->chunk_room = mi_table_full_room(table) + 1;
    assert_fault(&f, "other room than its rows are numbered by");
    table->chunk_room = MI_FIRST_ROOM;
    table->tail_first = 0;
    table->tail_location = 0;
    assert_fault(&f, "where rows come and go");
    table->tail_first = MI_TAIL_NONE;
    table->row_count = 1;
    assert_fault(&f, "differ in number");
    table->row_count = 2;

    mi_chunk *chunk = &f.store.chunks[location >> MI_ROW_BITS];
    chunk->of.table = mi_store_root(&f.store);
    assert_fault(&f, "belongs to another table");
    chunk->of.table = table;

    mi_table gone = {.id = 77};
    mi_table_remember_edge(&f.heap, table, (mi_edge){.key = mi_edge_key(f.types[5], false), .to = &gone});
    assert_fault(&f, "leads nowhere");
    mi_table_forget_edges(&f.heap, table);

    const mica_component swapped[] = {table->components[1], table->components[0]};
    const mica_component right[] = {table->components[0], table->components[1]};
    memcpy(table->components, swapped, sizeof(swapped));
    assert_fault(&f, "components out of order");
    memcpy(table->components, right, sizeof(right));

    table_of(&f, 3, 1);
    assert_true(mi_store_order(&f.store));
    mi_table *front = f.store.ordered.data[0];
    f.store.ordered.data[0] = f.store.ordered.data[1];
    f.store.ordered.data[1] = front;
    assert_fault(&f, "canonical order");
    f.store.ordered.data[1] = f.store.ordered.data[0];
    f.store.ordered.data[0] = front;

    f.store.slots.alive++;
    assert_fault(&f, "counts disagree");
    f.store.slots.alive--;
    const mica_entity bare = mi_slots_take(&f.store.slots, UINT32_C(0x7ffff000));
    assert_fault(&f, "names no chunk");
    mi_slots_move(&f.store.slots, mica_entity_index(bare), 0);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_chunk_grows_in_steps_until_it_is_full),
        cmocka_unit_test(one_spare_chunk_stays_when_rows_go),
        cmocka_unit_test(rows_that_are_opened_and_left_count_for_nothing),
        cmocka_unit_test(tables_stand_in_the_order_of_names),
        cmocka_unit_test(a_set_of_components_has_one_table),
        cmocka_unit_test(ids_of_tables_and_chunks_are_used_again),
        cmocka_unit_test(shaking_moves_every_chunk_or_leaves_it),
        cmocka_unit_test(validation_finds_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
