// Masks: who is in which pool, at any width, and what is left when memory runs out.
#include "base/bitset.h"
#include "store/masks.h"
#include "support/test_heap.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ENTITIES_A_PAGE (1u << MI_MASKS_SHIFT)

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_masks masks;
} fixture;

static void begin(fixture *f) {
    test_heap_begin(&f->allocator, &f->heap);
    f->masks = (mi_masks){.pages = NULL};
}

static void end(fixture *f) {
    mi_masks_free(&f->masks, &f->heap);
    assert_int_equal(f->heap.bytes[MICA_MEMORY_POOLS], 0);
    test_allocator_finish(&f->allocator);
}

static void put(fixture *f, uint32_t entity_index, uint32_t bit) {
    assert_true(mi_masks_open(&f->masks, &f->heap, entity_index));
    mi_bit_set(mi_masks_of(&f->masks, entity_index), bit);
}

// The bits of an entity are just these.
static void assert_bits(const fixture *f, uint32_t entity_index, const uint32_t *bits, uint32_t count) {
    const uint64_t *mask = mi_masks_of(&f->masks, entity_index);
    assert_non_null(mask);
    uint32_t found = 0;
    for (uint32_t bit = 0; bit < f->masks.word_count * 64; bit++) {
        found += mi_bit_get(mask, f->masks.word_count, bit);
    }
    assert_int_equal(found, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(mi_bit_get(mask, f->masks.word_count, bits[i]));
    }
}

static void masks_are_empty_until_their_page_is_opened(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_null(mi_masks_of(&f.masks, 1));
    assert_true(mi_masks_widen(&f.masks, &f.heap, 1));
    assert_null(mi_masks_of(&f.masks, 1));
    assert_true(mi_masks_open(&f.masks, &f.heap, ENTITIES_A_PAGE));
    assert_bits(&f, ENTITIES_A_PAGE, NULL, 0);
    assert_bits(&f, 2 * ENTITIES_A_PAGE - 1, NULL, 0);
    assert_null(mi_masks_of(&f.masks, ENTITIES_A_PAGE - 1));
    assert_null(mi_masks_of(&f.masks, 2 * ENTITIES_A_PAGE));
    end(&f);
}

static void neighbours_have_masks_of_their_own(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 65));
    assert_int_equal(f.masks.word_count, 2);
    put(&f, 7, 64);
    put(&f, 8, 0);
    put(&f, 8, 63);
    assert_bits(&f, 6, NULL, 0);
    assert_bits(&f, 7, (const uint32_t[]){64}, 1);
    assert_bits(&f, 8, (const uint32_t[]){0, 63}, 2);
    assert_bits(&f, 9, NULL, 0);
    end(&f);
}

static void opening_a_page_again_keeps_what_is_there(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 5));
    put(&f, 3, 4);
    const uint64_t *mask = mi_masks_of(&f.masks, 3);
    assert_true(mi_masks_open(&f.masks, &f.heap, 100));
    assert_true(mi_masks_open(&f.masks, &f.heap, 40 * ENTITIES_A_PAGE)); // the list of pages grows
    assert_ptr_equal(mi_masks_of(&f.masks, 3), mask);
    assert_bits(&f, 3, (const uint32_t[]){4}, 1);
    end(&f);
}

static void widening_keeps_all_bits(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 64));
    put(&f, 0, 1);
    put(&f, ENTITIES_A_PAGE - 1, 63);
    put(&f, 5 * ENTITIES_A_PAGE + 9, 17);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 200));
    assert_int_equal(f.masks.word_count, 4);
    put(&f, 5 * ENTITIES_A_PAGE + 9, 199);
    assert_bits(&f, 0, (const uint32_t[]){1}, 1);
    assert_bits(&f, 1, NULL, 0);
    assert_bits(&f, ENTITIES_A_PAGE - 1, (const uint32_t[]){63}, 1);
    assert_bits(&f, 5 * ENTITIES_A_PAGE + 9, (const uint32_t[]){17, 199}, 2);
    assert_null(mi_masks_of(&f.masks, ENTITIES_A_PAGE)); // no page came that was not there
    end(&f);
}

static void a_width_that_suffices_stays(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 65));
    put(&f, 1, 64);
    const uint64_t calls = f.allocator.call_count;
    assert_true(mi_masks_widen(&f.masks, &f.heap, 128));
    assert_true(mi_masks_widen(&f.masks, &f.heap, 1));
    assert_int_equal(f.masks.word_count, 2);
    assert_int_equal(f.allocator.call_count, calls);
    assert_bits(&f, 1, (const uint32_t[]){64}, 1);
    end(&f);
}

static void widening_that_fails_changes_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 64));
    for (uint32_t page = 0; page < 5; page += 2) {
        put(&f, page * ENTITIES_A_PAGE + page, page + 1);
    }
    uint64_t n = 1;
    for (;; n++) {
        const size_t byte_size = f.heap.bytes[MICA_MEMORY_POOLS];
        test_allocator_fail_at(&f.allocator, n);
        const bool is_wide = mi_masks_widen(&f.masks, &f.heap, 65);
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_true(is_wide);
            break;
        }
        assert_false(is_wide);
        assert_int_equal(f.heap.bytes[MICA_MEMORY_POOLS], byte_size);
        assert_int_equal(f.masks.word_count, 1);
        for (uint32_t page = 0; page < 5; page += 2) {
            assert_bits(&f, page * ENTITIES_A_PAGE + page, (const uint32_t[]){page + 1}, 1);
        }
    }
    assert_true(n > 4); // the list and three pages could fail
    assert_int_equal(f.masks.word_count, 2);
    assert_bits(&f, 4 * ENTITIES_A_PAGE + 4, (const uint32_t[]){5}, 1);
    end(&f);
}

static void opening_that_fails_leaves_the_mask_empty(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 1));
    put(&f, 0, 0);
    const uint32_t far = 100 * ENTITIES_A_PAGE;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.allocator, n);
        const bool is_open = mi_masks_open(&f.masks, &f.heap, far);
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_true(is_open);
            break;
        }
        assert_false(is_open);
        assert_null(mi_masks_of(&f.masks, far));
        assert_bits(&f, 0, (const uint32_t[]){0}, 1);
    }
    assert_bits(&f, far, NULL, 0);
    end(&f);
}

static void the_highest_index_has_a_mask(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 3));
    put(&f, MICA_INDEX_MAX, 2);
    assert_bits(&f, MICA_INDEX_MAX, (const uint32_t[]){2}, 1);
    assert_null(mi_masks_of(&f.masks, UINT32_MAX));
    end(&f);
}

static void clearing_gives_pages_back_and_keeps_the_width(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_true(mi_masks_widen(&f.masks, &f.heap, 70));
    put(&f, 1, 69);
    put(&f, 3 * ENTITIES_A_PAGE, 0);
    mi_masks_clear(&f.masks, &f.heap);
    assert_true(f.heap.bytes[MICA_MEMORY_POOLS] < 4096); // the list alone
    assert_null(mi_masks_of(&f.masks, 1));
    assert_null(mi_masks_of(&f.masks, 3 * ENTITIES_A_PAGE));
    put(&f, 1, 68);
    assert_bits(&f, 1, (const uint32_t[]){68}, 1);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_empty_until_their_page_is_opened),
        cmocka_unit_test(neighbours_have_masks_of_their_own),
        cmocka_unit_test(opening_a_page_again_keeps_what_is_there),
        cmocka_unit_test(widening_keeps_all_bits),
        cmocka_unit_test(a_width_that_suffices_stays),
        cmocka_unit_test(widening_that_fails_changes_nothing),
        cmocka_unit_test(opening_that_fails_leaves_the_mask_empty),
        cmocka_unit_test(the_highest_index_has_a_mask),
        cmocka_unit_test(clearing_gives_pages_back_and_keeps_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
