// Heaps: what comes is aligned and as large as asked, bytes are counted by purpose, hooks are used as promised.
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "support/test_heap.h"

static void the_default_allocator_serves_all_sizes_and_alignments(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 24, 4096, 100000, ((size_t)1 << 20) - 1, (size_t)1 << 20, ((size_t)2 << 20) + 3};
    for (int with_zero = 0; with_zero < 2; with_zero++) {
        mi_heap heap;
        assert_true(mi_heap_init(&heap, with_zero ? &(mica_allocator){0} : NULL));
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (size_t alignment = 1; alignment <= (size_t)2 << 20; alignment *= 8) {
                unsigned char *memory = mi_heap_allocate(&heap, MICA_MEMORY_WORLD, sizes[i], alignment);
                assert_non_null(memory);
                assert_int_equal((uintptr_t)memory % alignment, 0);
                memset(memory, 0x5A, sizes[i]);
                assert_int_equal(mi_heap_usage(&heap).total, sizes[i]);
                mi_heap_release(&heap, MICA_MEMORY_WORLD, memory, sizes[i], alignment);
            }
        }
        assert_int_equal(mi_heap_usage(&heap).total, 0);
    }
}

static void zeroed_memory_is_zero(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    for (int with_hooks = 0; with_hooks < 2; with_hooks++) {
        mi_heap heap;
        assert_true(mi_heap_init(&heap, with_hooks ? &hooks : NULL));
        static const size_t sizes[] = {1, 1000, (size_t)3 << 20};
        for (size_t i = 0; i < 3; i++) {
            unsigned char *memory = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_WORLD, sizes[i], 64);
            assert_non_null(memory);
            assert_int_equal(memory[0], 0);
            assert_memory_equal(memory, memory + 1, sizes[i] - 1);
            mi_heap_release(&heap, MICA_MEMORY_WORLD, memory, sizes[i], 64);
        }
    }
    test_allocator_finish(&allocator);
}

static void bytes_are_counted_by_purpose(void **state) {
    (void)state;
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    void *tables = mi_heap_allocate(&heap, MICA_MEMORY_TABLES, 100, 8);
    void *chunks = mi_heap_allocate(&heap, MICA_MEMORY_CHUNKS, 7, 1);
    void *more = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_CHUNKS, 13, 1);
    mica_memory_usage usage = mi_heap_usage(&heap);
    assert_int_equal(usage.bytes[MICA_MEMORY_TABLES], 100);
    assert_int_equal(usage.bytes[MICA_MEMORY_CHUNKS], 20);
    assert_int_equal(usage.bytes[MICA_MEMORY_WORLD], 0);
    assert_int_equal(usage.total, 120);
    mi_heap_release(&heap, MICA_MEMORY_CHUNKS, chunks, 7, 1);
    assert_int_equal(mi_heap_usage(&heap).bytes[MICA_MEMORY_CHUNKS], 13);
    mi_heap_release(&heap, MICA_MEMORY_CHUNKS, more, 13, 1);
    mi_heap_release(&heap, MICA_MEMORY_TABLES, tables, 100, 8);
    mi_heap_release(&heap, MICA_MEMORY_TABLES, NULL, 0, 8);
    assert_int_equal(mi_heap_usage(&heap).total, 0);
}

static void what_is_not_to_be_had_is_null_and_not_counted(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mi_heap heap;
    assert_true(mi_heap_init(&heap, &hooks));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 0, 8));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, SIZE_MAX, 8));
    assert_null(mi_heap_allocate_zeroed(&heap, MICA_MEMORY_WORLD, (size_t)PTRDIFF_MAX + 1, 8));
    assert_int_equal(allocator.call_count, 0); // the hooks are not asked for what cannot be
    test_allocator_fail_from(&allocator, 1);
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 8, 8));
    assert_null(mi_heap_allocate_zeroed(&heap, MICA_MEMORY_WORLD, 8, 8));
    assert_null(mi_heap_copy_text(&heap, MICA_MEMORY_WORLD, "text"));
    assert_int_equal(mi_heap_usage(&heap).total, 0);
    assert_int_equal(allocator.fail_count, 3);
    test_allocator_finish(&allocator);
}

static void the_default_allocator_refuses_impossible_sizes(void **state) {
    (void)state;
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 0, 8));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, SIZE_MAX, 8));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, PTRDIFF_MAX, (size_t)2 << 20));
    assert_int_equal(mi_heap_usage(&heap).total, 0);
}

static void hooks_get_back_what_they_gave(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mi_heap heap;
    assert_true(mi_heap_init(&heap, &hooks));
    void *memory = mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 1000, 256);
    assert_int_equal(allocator.live_bytes, 1000);
    assert_int_equal((uintptr_t)memory % 256, 0);
    mi_heap_release(&heap, MICA_MEMORY_WORLD, memory, 1000, 256);
    test_allocator_finish(&allocator);
}

static void half_an_allocator_is_refused(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_allocator hooks = test_allocator_hooks(&allocator);
    mi_heap heap;
    hooks.release = NULL;
    assert_false(mi_heap_init(&heap, &hooks));
    hooks = test_allocator_hooks(&allocator);
    hooks.allocate = NULL;
    assert_false(mi_heap_init(&heap, &hooks));
}

// Hands out memory one byte past any alignment.
static unsigned char misaligned_place[256];
static int32_t misaligned_out;

static void *allocate_misaligned(void *user, size_t byte_size, size_t alignment) {
    (void)user;
    (void)byte_size;
    misaligned_out++;
    return misaligned_place + ((0 - (uintptr_t)misaligned_place) & (alignment - 1)) + 1;
}

static void release_misaligned(void *user, void *memory, size_t byte_size, size_t alignment) {
    (void)user;
    (void)byte_size;
    assert_int_equal((uintptr_t)memory % alignment, 1);
    misaligned_out--;
}

static void an_allocator_that_ignores_alignment_has_no_memory(void **state) {
    (void)state;
    const mica_allocator hooks = {.allocate = allocate_misaligned, .release = release_misaligned};
    mi_heap heap;
    assert_true(mi_heap_init(&heap, &hooks));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 8, 64));
    assert_int_equal(misaligned_out, 0);
    assert_int_equal(mi_heap_usage(&heap).total, 0);
}

static void texts_are_copied_with_their_end(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mi_heap heap;
    assert_true(mi_heap_init(&heap, &hooks));
    char original[] = "Position";
    char *copy = mi_heap_copy_text(&heap, MICA_MEMORY_SCHEMA, original);
    char *empty = mi_heap_copy_text(&heap, MICA_MEMORY_SCHEMA, "");
    original[0] = 'x';
    assert_string_equal(copy, "Position");
    assert_string_equal(empty, "");
    assert_int_equal(mi_heap_usage(&heap).bytes[MICA_MEMORY_SCHEMA], 9 + 1);
    mi_heap_release_text(&heap, MICA_MEMORY_SCHEMA, copy);
    mi_heap_release_text(&heap, MICA_MEMORY_SCHEMA, empty);
    mi_heap_release_text(&heap, MICA_MEMORY_SCHEMA, NULL);
    assert_int_equal(mi_heap_usage(&heap).total, 0);
    test_allocator_finish(&allocator);
}

static void products_that_do_not_fit_are_told(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_true(mi_size_product(SIZE_MAX, 1, &bytes));
    assert_int_equal(bytes, SIZE_MAX);
    assert_true(mi_size_product(0, SIZE_MAX, &bytes));
    assert_int_equal(bytes, 0);
    assert_false(mi_size_product(SIZE_MAX / 2 + 1, 2, &bytes));
    assert_false(mi_size_product(SIZE_MAX, SIZE_MAX, &bytes));
}

static void purposes_have_names(void **state) {
    (void)state;
    assert_string_equal(mica_memory_purpose_name(MICA_MEMORY_SCHEMA), "schema");
    assert_string_equal(mica_memory_purpose_name(MICA_MEMORY_CONTAINERS), "containers");
    assert_string_equal(mica_memory_purpose_name(MICA_MEMORY_PURPOSE_COUNT), "");
    assert_string_equal(mica_memory_purpose_name((mica_memory_purpose)-1), "");
}

static void a_budget_refuses_what_goes_beyond_and_says_so(void **state) {
    (void)state;
    test_allocator allocator;
    mi_heap heap;
    test_heap_begin(&allocator, &heap);
    heap.budget = (mica_memory_budget){.bytes = {[MICA_MEMORY_CHUNKS] = 100}, .total = 150};
    void *chunks = mi_heap_allocate(&heap, MICA_MEMORY_CHUNKS, 100, 8);
    assert_non_null(chunks);
    assert_int_equal(mi_heap_room(&heap, MICA_MEMORY_CHUNKS), 0);
    assert_int_equal(mi_heap_room(&heap, MICA_MEMORY_WORLD), 50);
    const uint64_t calls = allocator.call_count;
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_CHUNKS, 8, 8));
    assert_int_equal(mi_fail_memory(NULL, "call", 8), MICA_OUT_OF_MEMORY);
    assert_string_equal(mica_last_error(), "call: out of memory: the budget for chunks has 100 bytes, of which 100 are "
                                           "held, and 8 more are needed");
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 51, 8));
    mi_fail_memory(NULL, "call", 51);
    assert_string_equal(mica_last_error(), "call: out of memory: the budget in all has 150 bytes, of which 100 are "
                                           "held, and 51 more are needed for world");
    assert_true(allocator.call_count == calls); // nobody was asked
    mi_heap_release(&heap, MICA_MEMORY_CHUNKS, chunks, 100, 8);
    chunks = mi_heap_allocate(&heap, MICA_MEMORY_CHUNKS, 60, 8);
    assert_non_null(chunks);
    assert_int_equal(mi_heap_usage(&heap).peak, 100);
    mi_heap_release(&heap, MICA_MEMORY_CHUNKS, chunks, 60, 8);
    test_allocator_finish(&allocator);
}

// What was noted of a budget is said once, and not of what fails for another reason afterwards.
static void a_shortage_is_said_of_what_it_refused(void **state) {
    (void)state;
    test_allocator allocator;
    mi_heap heap;
    test_heap_begin(&allocator, &heap);
    heap.budget.total = 10;
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 11, 1));
    heap.budget.total = 0;
    test_allocator_fail_at(&allocator, 1);
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 12, 1));
    test_allocator_fail_stop(&allocator);
    mi_fail_memory(NULL, "call", 12);
    assert_string_equal(mica_last_error(), "call: out of memory, 12 bytes were asked for");
    heap.budget.total = 10;
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 11, 1));
    mi_fail_memory(NULL, "call", 11);
    assert_non_null(strstr(mica_last_error(), "budget"));
    mi_fail_memory(NULL, "call", 11);
    assert_null(strstr(mica_last_error(), "budget"));
    test_allocator_finish(&allocator);
}

static void a_fixed_heap_asks_once(void **state) {
    (void)state;
    test_allocator allocator;
    mi_heap heap;
    test_heap_begin(&allocator, &heap);
    assert_true(mi_heap_fix(&heap, NULL, 65536));
    assert_int_equal(allocator.call_count, 1);
    void *small = mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 10, 1);
    void *large = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_TABLES, 30000, 4096);
    assert_non_null(small);
    assert_non_null(large);
    assert_int_equal((uintptr_t)large % 4096, 0);
    assert_int_equal(((char *)large)[29999], 0);
    assert_int_equal(mi_heap_usage(&heap).total, 30010);
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_TABLES, 40000, 16));
    mi_fail_memory(NULL, "call", 1);
    assert_non_null(strstr(mica_last_error(), "65536 bytes are fixed"));
    assert_non_null(strstr(mica_last_error(), "40000 more are needed for tables"));
    assert_null(mi_heap_allocate(&heap, MICA_MEMORY_TABLES, 8, 8192)); // no such alignment
    mi_heap_release(&heap, MICA_MEMORY_TABLES, large, 30000, 4096);
    large = mi_heap_allocate(&heap, MICA_MEMORY_TABLES, 50000, 16);
    assert_non_null(large);
    mi_heap_release(&heap, MICA_MEMORY_TABLES, large, 50000, 16);
    mi_heap_release(&heap, MICA_MEMORY_WORLD, small, 10, 1);
    assert_int_equal(allocator.call_count, 1);
    mi_heap_unfix(&heap);
    test_allocator_finish(&allocator);
}

static void a_fixed_heap_needs_memory_that_holds_something(void **state) {
    (void)state;
    test_allocator allocator;
    mi_heap heap;
    test_heap_begin(&allocator, &heap);
    assert_false(mi_heap_fix(&heap, NULL, 100));
    assert_int_equal(allocator.live_bytes, 0);
    test_allocator_fail_at(&allocator, 1);
    assert_false(mi_heap_fix(&heap, NULL, 65536));
    test_allocator_fail_stop(&allocator);
    static char memory[65536];
    assert_true(mi_heap_fix(&heap, memory, sizeof(memory)));
    char *piece = mi_heap_allocate(&heap, MICA_MEMORY_WORLD, 100, 64);
    assert_true(piece > memory && piece + 100 < memory + sizeof(memory));
    mi_heap_release(&heap, MICA_MEMORY_WORLD, piece, 100, 64);
    mi_heap_unfix(&heap);
    test_allocator_finish(&allocator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_allocator_serves_all_sizes_and_alignments),
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(bytes_are_counted_by_purpose),
        cmocka_unit_test(what_is_not_to_be_had_is_null_and_not_counted),
        cmocka_unit_test(the_default_allocator_refuses_impossible_sizes),
        cmocka_unit_test(hooks_get_back_what_they_gave),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(an_allocator_that_ignores_alignment_has_no_memory),
        cmocka_unit_test(texts_are_copied_with_their_end),
        cmocka_unit_test(products_that_do_not_fit_are_told),
        cmocka_unit_test(purposes_have_names),
        cmocka_unit_test(a_budget_refuses_what_goes_beyond_and_says_so),
        cmocka_unit_test(a_shortage_is_said_of_what_it_refused),
        cmocka_unit_test(a_fixed_heap_asks_once),
        cmocka_unit_test(a_fixed_heap_needs_memory_that_holds_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
