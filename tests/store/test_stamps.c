// Stamps of entities: kept by index, and what there is no memory for is never lost.
#include "support/test_heap.h"

#include "store/stamps.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PAGE = 1 << MI_STAMPS_SHIFT };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_stamps stamps;
} fixture;

static void begin(fixture *f) {
    *f = (fixture){.stamps = {.lost = 0}};
    test_heap_begin(&f->allocator, &f->heap);
}

static void end(fixture *f) {
    mi_stamps_free(&f->stamps, &f->heap);
    test_allocator_finish(&f->allocator);
}

static void everybody_keeps_the_last_stamp(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_int_equal(mi_stamps_of(&f.stamps, 7), 0);
    assert_true(mi_stamps_put(&f.stamps, &f.heap, 7, 1));
    assert_true(mi_stamps_put(&f.stamps, &f.heap, 5 * PAGE + 7, 2));
    assert_true(mi_stamps_put(&f.stamps, &f.heap, 7, 3));
    assert_int_equal(mi_stamps_of(&f.stamps, 7), 3);
    assert_int_equal(mi_stamps_of(&f.stamps, 5 * PAGE + 7), 2);
    assert_int_equal(mi_stamps_of(&f.stamps, 8), 0);
    assert_int_equal(mi_stamps_of(&f.stamps, 3 * PAGE), 0);
    assert_int_equal(mi_stamps_of(&f.stamps, 100 * PAGE), 0);
    end(&f);
}

static void a_stamp_without_memory_counts_for_all_who_have_no_page(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_stamps_put(&f.stamps, &f.heap, 1, 4));
    test_allocator_fail_from(&f.allocator, 1);
    assert_false(mi_stamps_put(&f.stamps, &f.heap, 2 * PAGE, 9));
    assert_true(test_allocator_fail_stop(&f.allocator));
    assert_int_equal(mi_stamps_of(&f.stamps, 2 * PAGE), 9);
    assert_int_equal(mi_stamps_of(&f.stamps, 3 * PAGE), 9);
    assert_int_equal(mi_stamps_of(&f.stamps, 1), 4);
    end(&f);
}

static void a_page_that_comes_late_begins_with_what_was_lost(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    test_allocator_fail_from(&f.allocator, 1);
    assert_false(mi_stamps_put(&f.stamps, &f.heap, 3, 9));
    assert_true(test_allocator_fail_stop(&f.allocator));
    assert_true(mi_stamps_put(&f.stamps, &f.heap, 4, 11));
    assert_int_equal(mi_stamps_of(&f.stamps, 3), 9);
    assert_int_equal(mi_stamps_of(&f.stamps, 4), 11);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_keeps_the_last_stamp),
        cmocka_unit_test(a_stamp_without_memory_counts_for_all_who_have_no_page),
        cmocka_unit_test(a_page_that_comes_late_begins_with_what_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
