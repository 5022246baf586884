// The canonical order of tables, beside the definition: by sorted lists of names. Tables come a few or many at a time,
// of few components, of more than a word has bits, and of more than a key has room for.
#include "store/store.h"

#include "support/test_heap.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TYPE_MOST = 150 };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_schema *schema;
    mi_store store;
    mica_component types[TYPE_MOST];
    uint32_t type_count;
    test_random random;
} fixture;

static void begin(fixture *f, uint32_t type_count) {
    test_heap_begin(&f->allocator, &f->heap);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    f->type_count = type_count;
    f->random = (test_random){.state = type_count};
    for (uint32_t i = 0; i < type_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "T%03u", (unsigned)(i * 89 % 151)); // not in the order of ids, and no two alike
        mica_type type = {.name = name, .size = 4, .align = 4};
        f->types[i] = mica_schema_register(f->schema, &type);
        assert_int_not_equal(f->types[i], 0);
    }
    assert_true(mi_store_init(&f->store, &f->heap, f->schema));
}

static void end(fixture *f) {
    mi_store_free(&f->store);
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
}

// Makes tables of up to `most` components among `type_count` from `first` on.
static void make_tables(fixture *f, uint32_t count, uint32_t first, uint32_t type_count, uint32_t most) {
    for (uint32_t i = 0; i < count; i++) {
        mi_table *table = mi_store_root(&f->store);
        for (uint32_t k = test_random_below(&f->random, most) + 1; k > 0; k--) {
            table = mi_store_table_with(&f->store, table, f->types[first + test_random_below(&f->random, type_count)]);
            assert_non_null(table);
        }
    }
}

static const char *name_at(const fixture *f, const mi_table *table, uint32_t number) {
    return number < table->component_count ? mi_schema_type(f->schema, table->by_name[number])->info.name : NULL;
}

// Whether a's list of names comes before b's.
static bool comes_before(const fixture *f, const mi_table *a, const mi_table *b) {
    for (uint32_t i = 0;; i++) {
        const char *of_a = name_at(f, a, i);
        const char *of_b = name_at(f, b, i);
        if (of_a == NULL || of_b == NULL) {
            return of_a == NULL && of_b != NULL;
        }
        if (strcmp(of_a, of_b) != 0) {
            return strcmp(of_a, of_b) < 0;
        }
    }
}

static void assert_in_order(fixture *f) {
    assert_true(mi_store_order(&f->store));
    assert_int_equal(f->store.sorted_count, f->store.ordered.count);
    assert_int_equal(f->store.ordered.count, f->store.tables_live - 1);
    for (uint32_t i = 0; i + 1 < f->store.ordered.count; i++) {
        assert_true(comes_before(f, f->store.ordered.data[i], f->store.ordered.data[i + 1]));
    }
    assert_null(mi_store_validate(&f->store)); // the words as well
}

static void assert_orders_hold(uint32_t type_count) {
    fixture f;
    begin(&f, type_count);
    make_tables(&f, 200, 0, type_count, type_count < 12 ? type_count : 12);
    assert_in_order(&f);
    for (uint32_t round = 0; round < 20; round++) { // a few among many
        make_tables(&f, 1 + round % 3, 0, type_count, 10);
        assert_in_order(&f);
    }
    make_tables(&f, 300, 0, type_count, 6); // many at once
    assert_in_order(&f);
    end(&f);
}

static void tables_of_few_components_stand_in_order(void **state) {
    (void)state;
    assert_orders_hold(9);
}

static void tables_of_ids_in_one_word_stand_in_order(void **state) {
    (void)state;
    assert_orders_hold(60);
}

static void tables_of_more_ids_than_a_word_has_bits_stand_in_order(void **state) {
    (void)state;
    assert_orders_hold(TYPE_MOST);
}

// Few components, whose ids do not fit in a word all the same.
static void tables_of_high_ids_stand_in_order(void **state) {
    (void)state;
    fixture f;
    begin(&f, TYPE_MOST);
    make_tables(&f, 100, TYPE_MOST - 20, 20, 10);
    assert_in_order(&f);
    make_tables(&f, 3, TYPE_MOST - 20, 20, 10);
    assert_in_order(&f);
    end(&f);
}

static void the_order_of_one_table_needs_no_key(void **state) {
    (void)state;
    fixture f;
    begin(&f, 3);
    assert_true(mi_store_order(&f.store)); // of none
    make_tables(&f, 1, 0, 1, 1);
    assert_in_order(&f);
    end(&f);
}

static void tables_that_are_dropped_leave_the_others_in_order(void **state) {
    (void)state;
    fixture f;
    begin(&f, 40);
    make_tables(&f, 100, 0, 40, 8);
    for (uint32_t i = 0; i < f.store.ordered.count; i += 3) {
        mi_table *table = f.store.ordered.data[i];
        assert_int_equal(mi_slots_reserve(&f.store.slots, &f.heap, 1), MICA_OK);
        assert_true(mi_store_open_rows(&f.store, table, 1));
        const uint32_t place = mi_store_location(table, 0);
        mi_store_publish_at(&f.store, table, mi_slots_take(&f.store.slots, place), place);
    }
    assert_in_order(&f);
    mi_store_trim(&f.store);
    assert_in_order(&f);
    make_tables(&f, 2, 0, 40, 8);
    assert_in_order(&f);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_few_components_stand_in_order),
        cmocka_unit_test(tables_of_ids_in_one_word_stand_in_order),
        cmocka_unit_test(tables_of_more_ids_than_a_word_has_bits_stand_in_order),
        cmocka_unit_test(tables_of_high_ids_stand_in_order),
        cmocka_unit_test(the_order_of_one_table_needs_no_key),
        cmocka_unit_test(tables_that_are_dropped_leave_the_others_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
