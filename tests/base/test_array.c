// Growing arrays: contents survive growth, failures change nothing, memory comes back whole.
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/test_heap.h"

typedef struct wide {
    uint64_t number;
    char text[24];
} wide;

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    MI_ARRAY(uint16_t) narrow;
    MI_ARRAY(wide) wide;
} fixture;

static const mica_memory_purpose purpose = MICA_MEMORY_QUERIES;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.narrow = {.data = NULL}};
    test_heap_begin(&f.allocator, &f.heap);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    MI_FREE(&f->heap, purpose, &f->narrow);
    MI_FREE(&f->heap, purpose, &f->wide);
    assert_int_equal(mi_heap_usage(&f->heap).total, 0);
    test_allocator_finish(&f->allocator);
    return 0;
}

static void contents_survive_growth(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, (size_t)f->narrow.count + 1));
        f->narrow.data[f->narrow.count++] = (uint16_t)i;
        assert_true(MI_RESERVE(&f->heap, purpose, &f->wide, (size_t)f->wide.count + 1));
        f->wide.data[f->wide.count++] = (wide){.number = i, .text = "abc"};
        assert_true(f->narrow.count <= f->narrow.capacity);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(f->narrow.data[i], i);
        assert_int_equal(f->wide.data[i].number, i);
        assert_string_equal(f->wide.data[i].text, "abc");
    }
    assert_int_equal(mi_heap_usage(&f->heap).bytes[purpose],
                     f->narrow.capacity * sizeof(uint16_t) + f->wide.capacity * sizeof(wide));
}

static void capacity_grows_by_half_from_eight(void **state) {
    fixture *f = *state;
    static const uint32_t capacities[] = {8, 12, 18, 27, 40};
    for (int i = 0; i < 5; i++) {
        assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, (size_t)f->narrow.capacity + 1));
        assert_int_equal(f->narrow.capacity, capacities[i]);
    }
}

static void a_larger_need_is_met_exactly(void **state) {
    fixture *f = *state;
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 100));
    assert_int_equal(f->narrow.capacity, 100);
    assert_int_equal(f->narrow.count, 0);
    const uint16_t *data = f->narrow.data;
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 100));
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 0));
    assert_ptr_equal(f->narrow.data, data);
    assert_int_equal(f->allocator.call_count, 1);
}

static void without_memory_an_array_is_as_it_was(void **state) {
    fixture *f = *state;
    test_allocator_fail_from(&f->allocator, 1);
    assert_false(MI_RESERVE(&f->heap, purpose, &f->narrow, 1));
    assert_null(f->narrow.data);
    assert_int_equal(f->narrow.capacity, 0);
    test_allocator_fail_stop(&f->allocator);
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 8));
    f->narrow.count = 8;
    f->narrow.data[7] = 77;
    const uint16_t *data = f->narrow.data;
    test_allocator_fail_from(&f->allocator, 1);
    assert_false(MI_RESERVE(&f->heap, purpose, &f->narrow, 9));
    assert_ptr_equal(f->narrow.data, data);
    assert_int_equal(f->narrow.count, 8);
    assert_int_equal(f->narrow.capacity, 8);
    assert_int_equal(f->narrow.data[7], 77);
}

static void impossible_needs_are_refused(void **state) {
    fixture *f = *state;
    assert_false(MI_RESERVE(&f->heap, purpose, &f->narrow, SIZE_MAX));
    assert_false(MI_RESERVE(&f->heap, purpose, &f->narrow, (size_t)UINT32_MAX + 1));
    assert_false(mi_array_reserve(&f->heap, purpose, &f->wide, UINT32_MAX, SIZE_MAX / 4, 8));
    assert_int_equal(f->allocator.call_count, 0);
    assert_null(f->narrow.data);
}

static void a_freed_array_is_empty_and_can_grow_again(void **state) {
    fixture *f = *state;
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 20));
    f->narrow.count = 3;
    MI_FREE(&f->heap, purpose, &f->narrow);
    assert_null(f->narrow.data);
    assert_int_equal(f->narrow.count, 0);
    assert_int_equal(f->narrow.capacity, 0);
    assert_int_equal(f->allocator.live_bytes, 0);
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 1));
    assert_int_equal(f->narrow.capacity, 8);
}

static void shrinking_leaves_no_room_and_all_elements(void **state) {
    fixture *f = *state;
    assert_true(MI_RESERVE(&f->heap, purpose, &f->narrow, 100));
    f->narrow.count = 3;
    f->narrow.data[2] = 77;
    test_allocator_fail_at(&f->allocator, 1);
    MI_SHRINK(&f->heap, purpose, &f->narrow);
    test_allocator_fail_stop(&f->allocator);
    assert_int_equal(f->narrow.capacity, 100); // there was no memory to move to
    MI_SHRINK(&f->heap, purpose, &f->narrow);
    assert_int_equal(f->narrow.capacity, 3);
    assert_int_equal(f->narrow.data[2], 77);
    const uint64_t calls = f->allocator.call_count;
    MI_SHRINK(&f->heap, purpose, &f->narrow); // nothing left to do
    assert_true(f->allocator.call_count == calls);
    f->narrow.count = 0;
    MI_SHRINK(&f->heap, purpose, &f->narrow);
    assert_null(f->narrow.data);
    assert_int_equal(f->allocator.live_bytes, 0);
}

#define ARRAY_TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ARRAY_TEST(contents_survive_growth),
        ARRAY_TEST(capacity_grows_by_half_from_eight),
        ARRAY_TEST(a_larger_need_is_met_exactly),
        ARRAY_TEST(without_memory_an_array_is_as_it_was),
        ARRAY_TEST(impossible_needs_are_refused),
        ARRAY_TEST(a_freed_array_is_empty_and_can_grow_again),
        ARRAY_TEST(shrinking_leaves_no_room_and_all_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
