// The merge sort: stable against a model, and idle where there is nothing to do.
#include "base/sort.h"

#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 300 };

// Numbers are compared by the keys that they stand for.
typedef struct keys {
    uint32_t of[COUNT_MAX];
    uint32_t *compared_count;
} keys;

static int compare_keys(const void *context, uint32_t a, uint32_t b) {
    const keys *known = context;
    ++*known->compared_count;
    return (known->of[a] > known->of[b]) - (known->of[a] < known->of[b]);
}

static void lists_of_every_length_are_sorted_and_equals_keep_their_order(void **state) {
    (void)state;
    test_random random = {.state = 11};
    for (uint32_t count = 0; count <= COUNT_MAX; count++) {
        uint32_t compared_count = 0;
        keys known = {.compared_count = &compared_count};
        uint32_t numbers[COUNT_MAX];
        uint32_t spare[COUNT_MAX];
        const uint32_t key_count = 1 + test_random_below(&random, 40);
        for (uint32_t i = 0; i < count; i++) {
            numbers[i] = i;
            known.of[i] = test_random_below(&random, key_count);
        }
        mi_sort(numbers, spare, count, compare_keys, &known);
        bool is_seen[COUNT_MAX] = {false};
        for (uint32_t i = 0; i < count; i++) {
            assert_false(is_seen[numbers[i]]);
            is_seen[numbers[i]] = true;
            if (i > 0) {
                const uint32_t before = numbers[i - 1];
                assert_true(known.of[before] < known.of[numbers[i]] ||
                            (known.of[before] == known.of[numbers[i]] && before < numbers[i]));
            }
        }
    }
}

static void a_sorted_list_is_compared_once_and_not_touched(void **state) {
    (void)state;
    for (uint32_t count = 1; count <= COUNT_MAX; count++) {
        uint32_t compared_count = 0;
        keys known = {.compared_count = &compared_count};
        uint32_t numbers[COUNT_MAX];
        for (uint32_t i = 0; i < count; i++) {
            numbers[i] = i;
            known.of[i] = i / 3;
        }
        assert_false(mi_sort(numbers, NULL, count, compare_keys, &known)); // without room to move anything
        assert_int_equal(compared_count, count - 1);
    }
}

static void whether_anything_moved_is_said(void **state) {
    (void)state;
    uint32_t compared_count = 0;
    const keys known = {.of = {5, 4, 4, 3}, .compared_count = &compared_count};
    uint32_t numbers[] = {0, 1, 2, 3};
    uint32_t spare[4];
    assert_true(mi_sort(numbers, spare, 4, compare_keys, &known));
    assert_memory_equal(numbers, ((const uint32_t[]){3, 1, 2, 0}), sizeof(numbers));
    assert_false(mi_sort(numbers, spare, 4, compare_keys, &known));
}

static void items_are_sorted_by_their_high_halves_and_equals_keep_their_order(void **state) {
    (void)state;
    test_random random = {.state = 12};
    for (uint32_t count = 0; count <= COUNT_MAX; count++) {
        uint64_t items[COUNT_MAX + 1];
        uint64_t spare[COUNT_MAX + 1];
        const uint32_t limit = count % 3 == 0 ? 20 : count % 3 == 1 ? 5000 : UINT32_MAX;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            items[i] = (uint64_t)test_random_below(&random, limit) << 32 | i;
            sum += items[i];
        }
        mi_sort_by_high_half(items, spare, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(i == 0 || items[i - 1] < items[i]); // low halves ascend where high ones are equal
            sum -= items[i];
        }
        assert_true(sum == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_every_length_are_sorted_and_equals_keep_their_order),
        cmocka_unit_test(a_sorted_list_is_compared_once_and_not_touched),
        cmocka_unit_test(whether_anything_moved_is_said),
        cmocka_unit_test(items_are_sorted_by_their_high_halves_and_equals_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
