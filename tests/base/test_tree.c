// Sorted sets of items: order by key, then by what is beyond it, then by number; cursors; failing memory; a model of
// one plain array compared after every step.
#include "base/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_heap.h"
#include "support/test_random.h"

enum { ITEM_COUNT = 20000 };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_tree tree;
    uint64_t keys[ITEM_COUNT];
    uint32_t rests[ITEM_COUNT]; // what is beyond the keys, if the tree compares that
    bool is_in[ITEM_COUNT];
} fixture;

static const mica_memory_purpose purpose = MICA_MEMORY_SCHEMA;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.tree = {.root = NULL}};
    test_heap_begin(&f.allocator, &f.heap);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_tree_clear(&f->tree, &f->heap, purpose);
    assert_null(mi_tree_validate(&f->tree));
    assert_int_equal(mi_heap_usage(&f->heap).total, 0);
    test_allocator_finish(&f->allocator);
    return 0;
}

static int compare_rests(const void *context, uint32_t item, const void *rest) {
    const fixture *f = context;
    const uint32_t other = *(const uint32_t *)rest;
    return (f->rests[item] > other) - (f->rests[item] < other);
}

static mi_tree_probe probe_of(const fixture *f, uint32_t item) {
    return (mi_tree_probe){.key = f->keys[item], .rest = &f->rests[item], .item = item};
}

static bool insert(fixture *f, uint32_t item, uint64_t key) {
    f->keys[item] = key;
    const mi_tree_probe probe = probe_of(f, item);
    f->is_in[item] = mi_tree_insert(&f->tree, &f->heap, purpose, &probe);
    return f->is_in[item];
}

static bool erase(fixture *f, uint32_t item) {
    const mi_tree_probe probe = probe_of(f, item);
    f->is_in[item] = false;
    return mi_tree_erase(&f->tree, &probe);
}

static bool is_sorted(const fixture *f, uint32_t a, uint32_t b) {
    if (f->keys[a] != f->keys[b]) {
        return f->keys[a] < f->keys[b];
    }
    return f->rests[a] != f->rests[b] ? f->rests[a] < f->rests[b] : a < b;
}

// Everything that is in comes once, in order.
static void assert_complete(const fixture *f) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        expected += f->is_in[i];
    }
    const char *fault = mi_tree_validate(&f->tree);
    assert_string_equal(fault == NULL ? "" : fault, "");
    assert_int_equal(f->tree.count, expected);
    uint32_t seen = 0;
    uint32_t last = 0;
    for (mi_tree_cursor cursor = mi_tree_first(&f->tree); !mi_tree_at_end(&cursor); mi_tree_next_run(&cursor)) {
        uint32_t count = 0;
        const uint32_t *items = mi_tree_run(&cursor, &count);
        assert_true(count > 0);
        for (uint32_t i = 0; i < count; i++, seen++) {
            assert_true(f->is_in[items[i]]);
            assert_true(seen == 0 || is_sorted(f, last, items[i]));
            last = items[i];
        }
    }
    assert_int_equal(seen, expected);
    if (seen > 0) {
        assert_int_equal(mi_tree_last(&f->tree), last);
    }
}

static void an_empty_tree_has_nothing_and_no_memory(void **state) {
    fixture *f = *state;
    const mi_tree_probe probe = {.key = 1};
    mi_tree_cursor cursor = mi_tree_first(&f->tree);
    assert_true(mi_tree_at_end(&cursor));
    cursor = mi_tree_seek(&f->tree, &probe);
    assert_true(mi_tree_at_end(&cursor));
    assert_false(mi_tree_erase(&f->tree, &probe));
    assert_null(mi_tree_validate(&f->tree));
    assert_int_equal(f->allocator.call_count, 0);
}

static void pairs_ascend_by_key_whatever_order_they_come_in(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 5000; i++) {
        insert(f, i, i); // ascending
    }
    assert_complete(f);
    for (uint32_t i = 5000; i < 10000; i++) {
        insert(f, i, UINT64_MAX - i); // descending
    }
    assert_complete(f);
    for (uint32_t i = 10000; i < 15000; i++) {
        insert(f, i, (uint64_t)i * 7919 % 5003); // all over
    }
    assert_complete(f);
}

static void equal_keys_are_in_order_of_what_is_beyond_and_then_of_their_numbers(void **state) {
    fixture *f = *state;
    f->tree.compare = compare_rests;
    f->tree.context = f;
    for (uint32_t i = 1000; i-- > 0;) {
        f->rests[i] = i % 10;
        insert(f, i, 7);
    }
    assert_complete(f);
    mi_tree_cursor cursor = mi_tree_first(&f->tree);
    uint32_t count = 0;
    const uint32_t *items = mi_tree_run(&cursor, &count);
    assert_int_equal(items[0], 0);
    assert_int_equal(items[1], 10);
    for (uint32_t i = 0; i < 1000; i += 2) {
        assert_true(erase(f, i));
    }
    assert_complete(f);
}

static void a_pair_that_is_not_there_is_not_erased(void **state) {
    fixture *f = *state;
    insert(f, 1, 10);
    insert(f, 2, 20);
    const mi_tree_probe other_key = {.key = 20, .item = 1};
    const mi_tree_probe other_item = {.key = 20, .item = 3};
    assert_false(mi_tree_erase(&f->tree, &other_key));
    assert_false(mi_tree_erase(&f->tree, &other_item));
    assert_complete(f);
}

static void a_tree_that_is_emptied_gives_its_memory_back(void **state) {
    fixture *f = *state;
    for (uint32_t order = 0; order < 3; order++) {
        for (uint32_t i = 0; i < 6000; i++) {
            insert(f, i, i);
        }
        for (uint32_t i = 0; i < 6000; i++) {
            const uint32_t item = order == 0 ? i : order == 1 ? 5999 - i : i * 7919 % 6000;
            assert_true(erase(f, item));
            if (i % 500 == 0) {
                assert_complete(f);
            }
        }
        assert_complete(f);
        mi_tree_trim(&f->tree, &f->heap, purpose);
        assert_int_equal(mi_heap_usage(&f->heap).total, 0);
    }
}

static void pairs_that_change_and_do_not_become_more_need_no_memory(void **state) {
    fixture *f = *state;
    test_random random = {7};
    for (uint32_t i = 0; i < 4000; i++) {
        insert(f, i, test_random_below(&random, 100000));
    }
    uint64_t calls = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        const uint32_t item = test_random_below(&random, 4000);
        assert_true(erase(f, item));
        assert_true(insert(f, item, test_random_below(&random, 100000)));
        calls = i == 100000 ? f->allocator.call_count : calls;
    }
    assert_in_range(f->allocator.call_count - calls, 0, 4); // a node more than ever before
    const size_t bytes = mi_heap_usage(&f->heap).total;
    mi_tree_trim(&f->tree, &f->heap, purpose);
    assert_true(mi_heap_usage(&f->heap).total < bytes);
    assert_complete(f);
}

static void a_cursor_finds_the_first_pair_that_is_not_below(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 3000; i++) {
        insert(f, i, (uint64_t)i / 3 * 10);
    }
    for (uint32_t i = 0; i <= 1000; i++) {
        const mi_tree_probe below = {.key = i == 0 ? 0 : (uint64_t)i * 10 - 5};
        const mi_tree_probe inside = {.key = (uint64_t)i * 10, .item = i * 3 + 1};
        const mi_tree_probe behind = {.key = (uint64_t)i * 10, .item = MI_TREE_ITEM_MAX};
        uint32_t count = 0;
        mi_tree_cursor cursor = mi_tree_seek(&f->tree, &below);
        assert_int_equal(mi_tree_at_end(&cursor), i == 1000);
        if (i < 1000) {
            assert_int_equal(*mi_tree_run(&cursor, &count), i * 3);
            cursor = mi_tree_seek(&f->tree, &inside);
            assert_int_equal(*mi_tree_run(&cursor, &count), i * 3 + 1);
            assert_int_equal(mi_tree_run_below(&f->tree, &cursor, &behind), count < 2 ? count : 2);
        }
        cursor = mi_tree_seek(&f->tree, &behind);
        assert_int_equal(mi_tree_at_end(&cursor), i >= 999);
        if (i < 999) {
            assert_int_equal(*mi_tree_run(&cursor, &count), i * 3 + 3);
        }
    }
}

static void an_insertion_without_memory_leaves_the_pairs_that_are_there(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 5000; i++) {
        for (uint64_t n = 1;; n++) {
            test_allocator_fail_at(&f->allocator, n);
            const bool is_in = insert(f, i, (uint64_t)i * 7919 % 1009);
            if (!test_allocator_fail_stop(&f->allocator)) {
                assert_true(is_in);
                break;
            }
            assert_false(is_in);
            assert_complete(f);
        }
    }
    assert_complete(f);
}

static void a_model_sees_the_same(void **state) {
    fixture *f = *state;
    test_random random = {.state = 20};
    uint32_t in_count = 0;
    f->tree.compare = compare_rests;
    f->tree.context = f;
    for (uint32_t step = 0; step < 60000; step++) {
        // Fills and empties by turns, at few and at many keys.
        const bool fills = step / 10000 % 2 == 0;
        const uint32_t item = test_random_below(&random, 6000);
        if (!f->is_in[item] && (fills || test_random_below(&random, 4) == 0)) {
            f->rests[item] = test_random_below(&random, 3);
            assert_true(insert(f, item, test_random_below(&random, step < 30000 ? 50 : 1u << 20)));
            in_count++;
        } else if (f->is_in[item] && (!fills || test_random_below(&random, 4) == 0)) {
            assert_true(erase(f, item));
            in_count--;
        }
        assert_int_equal(f->tree.count, in_count);
        if (step % 500 == 0) {
            assert_complete(f);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_tree_has_nothing_and_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pairs_ascend_by_key_whatever_order_they_come_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_keys_are_in_order_of_what_is_beyond_and_then_of_their_numbers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_pair_that_is_not_there_is_not_erased, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tree_that_is_emptied_gives_its_memory_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pairs_that_change_and_do_not_become_more_need_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cursor_finds_the_first_pair_that_is_not_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_insertion_without_memory_leaves_the_pairs_that_are_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_sees_the_same, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
