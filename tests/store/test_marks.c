// Sets of entities by index: members, the next one, counts, memory.
#include "store/marks.h"

#include "support/test_heap.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PAGE (1u << MI_MARKS_SHIFT)

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_marks marks;
} fixture;

static void begin(fixture *f) {
    memset(f, 0, sizeof(*f));
    test_heap_begin(&f->allocator, &f->heap);
}

static void end(fixture *f) {
    assert_true(mi_marks_validate(&f->marks));
    mi_marks_free(&f->marks, &f->heap);
    assert_int_equal(f->marks.count, 0);
    test_allocator_finish(&f->allocator);
}

static void add(fixture *f, uint32_t index) {
    assert_true(mi_marks_open(&f->marks, &f->heap, index));
    assert_true(mi_marks_put(&f->marks, index, true));
}

static void nobody_is_in_an_empty_set(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_false(mi_marks_has(&f.marks, 0));
    assert_false(mi_marks_has(&f.marks, UINT32_MAX - 1));
    assert_int_equal(mi_marks_next(&f.marks, 0), UINT32_MAX);
    assert_false(mi_marks_put(&f.marks, 7, false));
    assert_int_equal(f.allocator.call_count, 0);
    end(&f);
}

static void a_member_is_alone_in_its_place(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const uint32_t members[] = {1, 63, 64, PAGE - 1, PAGE, 5 * PAGE + 77};
    for (uint32_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        add(&f, members[i]);
        assert_int_equal(f.marks.count, i + 1);
    }
    for (uint32_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        assert_true(mi_marks_has(&f.marks, members[i]));
    }
    static const uint32_t others[] = {0, 2, 62, 65, PAGE - 2, PAGE + 1, 2 * PAGE, 5 * PAGE + 76, 6 * PAGE};
    for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(mi_marks_has(&f.marks, others[i]));
    }
    end(&f);
}

static void putting_says_whether_something_has_changed(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    add(&f, 40);
    assert_false(mi_marks_put(&f.marks, 40, true));
    assert_int_equal(f.marks.count, 1);
    assert_true(mi_marks_put(&f.marks, 40, false));
    assert_false(mi_marks_put(&f.marks, 40, false));
    assert_int_equal(f.marks.count, 0);
    assert_false(mi_marks_has(&f.marks, 40));
    end(&f);
}

static void members_are_found_in_ascending_order(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static const uint32_t members[] = {9 * PAGE - 1, 0, 3 * PAGE, 64, 63, 3 * PAGE + 1};
    static const uint32_t ordered[] = {0, 63, 64, 3 * PAGE, 3 * PAGE + 1, 9 * PAGE - 1};
    for (uint32_t i = 0; i < 6; i++) {
        add(&f, members[i]);
    }
    uint32_t from = 0;
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t next = mi_marks_next(&f.marks, from);
        assert_int_equal(next, ordered[i]);
        assert_int_equal(mi_marks_next(&f.marks, next), next);
        from = next + 1;
    }
    assert_int_equal(mi_marks_next(&f.marks, from), UINT32_MAX);
    end(&f);
}

static void who_comes_and_goes_takes_no_memory_again(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    add(&f, 3 * PAGE);
    mi_marks_put(&f.marks, 3 * PAGE, false);
    const uint64_t calls = f.allocator.call_count;
    add(&f, 3 * PAGE + 5);
    mi_marks_put(&f.marks, 3 * PAGE + 5, false);
    assert_int_equal(f.allocator.call_count, calls);
    end(&f);
}

static void opening_without_memory_changes_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    add(&f, 12);
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.allocator, n);
        const bool opened = mi_marks_open(&f.marks, &f.heap, 4 * PAGE + 1);
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_true(opened);
            break;
        }
        failures++;
        assert_false(opened);
        assert_true(mi_marks_has(&f.marks, 12));
        assert_int_equal(f.marks.count, 1);
    }
    assert_int_equal(failures, 2); // the list of pages, and the page
    end(&f);
}

// Against an array of flags.
static void random_members_are_those_of_an_array(void **state) {
    (void)state;
    enum { LIMIT = 3 * PAGE };
    static bool flags[LIMIT];
    fixture f;
    begin(&f);
    memset(flags, 0, sizeof(flags));
    test_random random = {11};
    uint32_t count = 0;
    for (int32_t step = 0; step < 20000; step++) {
        const uint32_t index =
            test_random_below(&random, 2) == 0 ? test_random_below(&random, LIMIT) : test_random_below(&random, 200);
        const bool is_member = test_random_below(&random, 2) == 0;
        assert_true(mi_marks_open(&f.marks, &f.heap, index));
        assert_int_equal(mi_marks_put(&f.marks, index, is_member), flags[index] != is_member);
        count = count + is_member - flags[index];
        flags[index] = is_member;
        assert_int_equal(f.marks.count, count);
    }
    uint32_t next = mi_marks_next(&f.marks, 0);
    for (uint32_t index = 0; index < LIMIT; index++) {
        assert_int_equal(mi_marks_has(&f.marks, index), flags[index]);
        if (flags[index]) {
            assert_int_equal(next, index);
            next = mi_marks_next(&f.marks, index + 1);
        }
    }
    assert_int_equal(next, UINT32_MAX);
    end(&f);
}

static void a_wrong_count_is_found(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    add(&f, 100);
    f.marks.count = 2;
    assert_false(mi_marks_validate(&f.marks));
    f.marks.count = 1;
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_in_an_empty_set),
        cmocka_unit_test(a_member_is_alone_in_its_place),
        cmocka_unit_test(putting_says_whether_something_has_changed),
        cmocka_unit_test(members_are_found_in_ascending_order),
        cmocka_unit_test(who_comes_and_goes_takes_no_memory_again),
        cmocka_unit_test(opening_without_memory_changes_nothing),
        cmocka_unit_test(random_members_are_those_of_an_array),
        cmocka_unit_test(a_wrong_count_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
