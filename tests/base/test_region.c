// Regions: pieces do not overlap, keep their contents and alignment, join again, and blocks come and go as promised.
#include "base/region.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sanitizer.h"
#include "support/test_heap.h"
#include "support/test_random.h"

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_region *region;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_heap_begin(&f.allocator, &f.heap);
    f.region = mi_region_create(&f.heap, MICA_MEMORY_CHUNKS);
    assert_non_null(f.region);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    assert_true(mi_region_validate(f->region));
    mi_region_destroy(f->region);
    assert_int_equal(mi_heap_usage(&f->heap).total, 0);
    test_allocator_finish(&f->allocator);
    return 0;
}

static size_t block_bytes(const fixture *f) {
    return mi_region_statistics(f->region).block_bytes;
}

static void a_region_without_pieces_has_no_block(void **state) {
    fixture *f = *state;
    assert_int_equal(block_bytes(f), 0);
    assert_int_equal(mi_region_statistics(f->region).free_largest, 0);
    mi_region_trim(f->region);
    assert_true(mi_region_validate(f->region));
}

static void a_region_holds_what_it_has_handed_out(void **state) {
    fixture *f = *state;
    const int outside = 0;
    assert_false(mi_region_holds(f->region, &outside));
    uint8_t *small = mi_region_take(f->region, 64, 64);
    uint8_t *large = mi_region_take(f->region, MI_REGION_BLOCK_SIZE, 64); // in a block of its own
    assert_true(mi_region_holds(f->region, small) && mi_region_holds(f->region, small + 63));
    assert_true(mi_region_holds(f->region, large + MI_REGION_BLOCK_SIZE - 1));
    assert_false(mi_region_holds(f->region, &outside));
    assert_false(mi_region_holds(f->region, NULL));
}

// Pieces that fill half a first block and more: each new block is about as large as all before it, up to the largest.
static void blocks_grow_with_what_is_in_use(void **state) {
    fixture *f = *state;
    const size_t byte_size = MI_REGION_FIRST_BLOCK_SIZE - 96;
    size_t last = 0;
    size_t largest = 0;
    for (int i = 0; i < 300; i++) {
        assert_non_null(mi_region_take(f->region, byte_size, 64));
        const size_t grown = block_bytes(f) - last;
        assert_true(grown <= MI_REGION_BLOCK_SIZE);
        assert_true(grown <= (last > MI_REGION_FIRST_BLOCK_SIZE ? last : MI_REGION_FIRST_BLOCK_SIZE));
        largest = grown > largest ? grown : largest;
        last = block_bytes(f);
    }
    assert_int_equal(largest, MI_REGION_BLOCK_SIZE);
}

static void a_first_piece_too_large_for_the_small_block_gets_one_that_holds_it(void **state) {
    fixture *f = *state;
    assert_non_null(mi_region_take(f->region, MI_REGION_FIRST_BLOCK_SIZE, 64));
    assert_int_equal(block_bytes(f), 2 * MI_REGION_FIRST_BLOCK_SIZE);
}

static void a_piece_may_fill_the_first_block(void **state) {
    fixture *f = *state;
    assert_non_null(mi_region_take(f->region, MI_REGION_FIRST_BLOCK_SIZE - 96, 64));
    assert_int_equal(block_bytes(f), MI_REGION_FIRST_BLOCK_SIZE);
    assert_int_equal(mi_region_statistics(f->region).free_largest, 0);
}

static void pieces_are_aligned_as_asked(void **state) {
    fixture *f = *state;
    for (size_t alignment = 64; alignment <= 4096; alignment *= 2) {
        assert_non_null(mi_region_take(f->region, 40, 64));
        assert_int_equal((uintptr_t)mi_region_take(f->region, 100, alignment) % alignment, 0);
        assert_int_equal((uintptr_t)mi_region_take(f->region, MI_REGION_BLOCK_SIZE, alignment) % alignment, 0);
        assert_true(mi_region_validate(f->region));
    }
}

static void the_prefix_belongs_to_the_holder(void **state) {
    fixture *f = *state;
    unsigned char *pieces[8];
    for (int i = 0; i < 8; i++) {
        pieces[i] = mi_region_take(f->region, 64, 64);
        assert_non_null(pieces[i]);
        memset(pieces[i] - MI_REGION_PREFIX, 0x10 + i, MI_REGION_PREFIX + 64);
    }
    mi_region_give(f->region, pieces[3]);
    mi_region_give(f->region, pieces[5]);
    assert_true(mi_region_validate(f->region));
    for (int i = 0; i < 8; i++) {
        for (int k = -MI_REGION_PREFIX; k < 64 && i != 3 && i != 5; k++) {
            assert_int_equal(pieces[i][k], 0x10 + i);
        }
    }
}

static void what_is_given_back_joins_with_its_neighbours(void **state) {
    fixture *f = *state;
    void *pieces[5];
    for (int i = 0; i < 5; i++) {
        pieces[i] = mi_region_take(f->region, 10000, 64);
    }
    static const int order[] = {1, 3, 0, 4, 2};
    for (int i = 0; i < 5; i++) {
        mi_region_give(f->region, pieces[order[i]]);
        assert_true(mi_region_validate(f->region));
    }
    assert_int_equal(mi_region_statistics(f->region).free_largest, MI_REGION_FIRST_BLOCK_SIZE - 96);
    assert_int_equal(mi_region_statistics(f->region).piece_count, 0);
    assert_int_equal(mi_region_statistics(f->region).piece_bytes, 0);
}

static void a_freed_place_is_used_again(void **state) {
    fixture *f = *state;
    void *piece = mi_region_take(f->region, 5000, 64);
    assert_non_null(mi_region_take(f->region, 5000, 64));
    mi_region_give(f->region, piece);
    assert_ptr_equal(mi_region_take(f->region, 4900, 64), piece);
}

static void a_piece_taken_and_given_in_turns_asks_the_heap_once(void **state) {
    fixture *f = *state;
    assert_non_null(mi_region_take(f->region, 100, 64));
    mi_region_give(f->region, mi_region_take(f->region, 100000, 64));
    const uint64_t call_count = f->allocator.call_count;
    for (int i = 0; i < 10; i++) {
        mi_region_give(f->region, mi_region_take(f->region, 100000, 64));
    }
    assert_int_equal(f->allocator.call_count, call_count);
    assert_int_equal(block_bytes(f), MI_REGION_FIRST_BLOCK_SIZE + 2 * MI_REGION_FIRST_BLOCK_SIZE);
}

static void free_blocks_are_kept_until_trim(void **state) {
    fixture *f = *state;
    void *pieces[6]; // one in the first block, then blocks of 1 and 2 MiB
    pieces[0] = mi_region_take(f->region, 100, 64);
    for (int i = 1; i < 6; i++) {
        pieces[i] = mi_region_take(f->region, 900000, 64);
    }
    assert_true(block_bytes(f) > 2 * MI_REGION_BLOCK_SIZE);
    for (int i = 0; i < 6; i++) {
        mi_region_give(f->region, pieces[i]);
        assert_true(mi_region_validate(f->region));
    }
    assert_true(block_bytes(f) > 2 * MI_REGION_BLOCK_SIZE); // kept for the next ones
    mi_region_trim(f->region);
    assert_int_equal(block_bytes(f), 0);
    assert_int_equal(mi_heap_usage(&f->heap).total, f->allocator.live_bytes);
    assert_int_equal(f->allocator.live_count, 1); // the region itself
}

static void trim_spares_blocks_in_use(void **state) {
    fixture *f = *state;
    memset(mi_region_take(f->region, 100, 64), 1, 100);
    mi_region_trim(f->region);
    assert_int_equal(block_bytes(f), MI_REGION_FIRST_BLOCK_SIZE);
    assert_true(mi_region_validate(f->region));
}

static void a_large_piece_has_a_block_that_ends_with_it(void **state) {
    fixture *f = *state;
    const size_t byte_size = 3 * MI_REGION_BLOCK_SIZE + 1;
    unsigned char *piece = mi_region_take(f->region, byte_size, 4096);
    assert_non_null(piece);
    memset(piece - MI_REGION_PREFIX, 7, byte_size + MI_REGION_PREFIX);
    assert_in_range(block_bytes(f), byte_size, byte_size + 2 * 4096);
    assert_int_equal(mi_region_statistics(f->region).free_largest, 0);
    assert_true(mi_region_validate(f->region));
    mi_region_give(f->region, piece);
    assert_int_equal(block_bytes(f), 0);
}

static void impossible_sizes_are_refused(void **state) {
    fixture *f = *state;
    static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX - 63, PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_null(mi_region_take(f->region, sizes[i], 64));
        assert_null(mi_region_take(f->region, sizes[i], 4096));
    }
    assert_int_equal(block_bytes(f), 0);
}

static void without_memory_a_region_stays_as_it_was(void **state) {
    fixture *f = *state;
    test_allocator_fail_from(&f->allocator, 1);
    assert_null(mi_region_take(f->region, 100, 64));
    assert_null(mi_region_take(f->region, 2 * MI_REGION_BLOCK_SIZE, 64));
    assert_true(test_allocator_fail_stop(&f->allocator));
    assert_int_equal(block_bytes(f), 0);
    assert_true(mi_region_validate(f->region));
    assert_non_null(mi_region_take(f->region, 100, 64));
    test_allocator_fail_from(&f->allocator, 1);
    assert_null(mi_region_create(&f->heap, MICA_MEMORY_CHUNKS));
    assert_null(mi_region_take(f->region, MI_REGION_FIRST_BLOCK_SIZE, 64));
    assert_non_null(mi_region_take(f->region, 100, 64)); // there is room for this one
    assert_true(test_allocator_fail_stop(&f->allocator));
    assert_int_equal(mi_region_statistics(f->region).piece_count, 2);
}

static void validation_finds_a_tag_that_was_written_over(void **state) {
    fixture *f = *state;
    unsigned char *piece = mi_region_take(f->region, 64, 64);
    // Wherever a wrong size within the block leads, somebody's memory is there.
    assert_non_null(mi_region_take(f->region, 40000, 64));
    unsigned char *tag = piece - MI_REGION_PREFIX - 16;
    for (int i = 0; i < 16; i++) {
        tag[i] ^= 1;
        assert_false(mi_region_validate(f->region));
        tag[i] ^= 1;
        assert_true(mi_region_validate(f->region));
    }
}

#if MI_ADDRESS_SANITIZER
static void the_sanitizer_knows_what_no_piece_owns(void **state) {
    fixture *f = *state;
    unsigned char *piece = mi_region_take(f->region, 1000, 64);
    unsigned char *other = mi_region_take(f->region, 1000, 4096);
    assert_null(__asan_region_is_poisoned(piece - MI_REGION_PREFIX, MI_REGION_PREFIX + 1000));
    assert_null(__asan_region_is_poisoned(other - MI_REGION_PREFIX, MI_REGION_PREFIX + 1000));
    mi_region_give(f->region, piece);
    assert_ptr_equal(__asan_region_is_poisoned(piece, 1000), piece);
    assert_null(__asan_region_is_poisoned(other - MI_REGION_PREFIX, MI_REGION_PREFIX + 1000));
    for (size_t i = 0; i < 1000; i++) {
        assert_true(__asan_address_is_poisoned(piece + i));
    }
    assert_ptr_equal(mi_region_take(f->region, 500, 64), piece);
    assert_null(__asan_region_is_poisoned(piece, 500));
    assert_true(__asan_address_is_poisoned(piece + 600));
}
#endif

// Pieces of the model, each filled with a byte of its own, prefix included.
enum { MODEL_PIECES = 200 };

typedef struct model_piece {
    unsigned char *memory;
    size_t byte_size;
    unsigned char fill;
} model_piece;

static void check_contents(const model_piece *piece) {
    const size_t byte_size = piece->byte_size + MI_REGION_PREFIX;
    const unsigned char *bytes = piece->memory - MI_REGION_PREFIX;
    assert_int_equal(bytes[0], piece->fill);
    assert_memory_equal(bytes, bytes + 1, byte_size - 1);
}

static size_t random_size(test_random *random) {
    switch (test_random_below(random, 16)) {
    case 0:
        return 1 + test_random_below(random, 2600000);
    case 1:
    case 2:
    case 3:
        return 1 + test_random_below(random, 140000);
    default:
        return 1 + test_random_below(random, 5000);
    }
}

static void model_step(fixture *f, test_random *random, model_piece *pieces, uint32_t step) {
    model_piece *piece = &pieces[test_random_below(random, MODEL_PIECES)];
    if (piece->memory != NULL) {
        check_contents(piece);
        mi_region_give(f->region, piece->memory);
        piece->memory = NULL;
        return;
    }
    const size_t alignment = (size_t)64 << (test_random_below(random, 4) == 0 ? test_random_below(random, 7) : 0);
    const bool is_failing = test_random_below(random, 8) == 0;
    if (is_failing) {
        test_allocator_fail_from(&f->allocator, 1);
    }
    const size_t byte_size = random_size(random);
    piece->memory = mi_region_take(f->region, byte_size, alignment);
    const bool did_fail = test_allocator_fail_stop(&f->allocator);
    assert_true((piece->memory == NULL) == did_fail);
    if (piece->memory == NULL) {
        return;
    }
    assert_int_equal((uintptr_t)piece->memory % alignment, 0);
    piece->byte_size = byte_size;
    piece->fill = (unsigned char)step;
    memset(piece->memory - MI_REGION_PREFIX, piece->fill, byte_size + MI_REGION_PREFIX);
}

static void random_pieces_keep_their_contents(void **state) {
    fixture *f = *state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        test_random random = {seed};
        model_piece pieces[MODEL_PIECES] = {0};
        for (uint32_t step = 0; step < 4000; step++) {
            model_step(f, &random, pieces, step);
            size_t count = 0, byte_size = 0;
            for (int i = 0; i < MODEL_PIECES; i++) {
                count += pieces[i].memory != NULL;
                byte_size += pieces[i].memory != NULL ? pieces[i].byte_size : 0;
            }
            const mi_region_stats stats = mi_region_statistics(f->region);
            if (!mi_region_validate(f->region) || stats.piece_count != count || stats.piece_bytes < byte_size ||
                stats.piece_bytes > byte_size + count * (32 + 63) || stats.block_bytes < stats.piece_bytes) {
                fail_msg("seed %d, step %d", (int)seed, (int)step);
            }
            if (step % 500 == 0) {
                mi_region_trim(f->region);
            }
        }
        for (int i = 0; i < MODEL_PIECES; i++) {
            if (pieces[i].memory != NULL) {
                check_contents(&pieces[i]);
                mi_region_give(f->region, pieces[i].memory);
            }
        }
        mi_region_trim(f->region);
        assert_int_equal(block_bytes(f), 0);
        assert_int_equal(f->allocator.live_count, 1);
    }
}

static void the_same_calls_give_the_same_layout(void **state) {
    fixture *f = *state;
    mi_region *other = mi_region_create(&f->heap, MICA_MEMORY_CHUNKS);
    assert_non_null(other);
    mi_region *const regions[] = {f->region, other};
    ptrdiff_t distances[2][64];
    for (int r = 0; r < 2; r++) {
        test_random random = {5};
        // Large enough that all pieces lie in one block.
        unsigned char *first = mi_region_take(regions[r], MI_REGION_BLOCK_SIZE / 2 - 128, 4096);
        assert_non_null(first);
        for (int i = 0; i < 64; i++) {
            const size_t alignment = (size_t)64 << test_random_below(&random, 7);
            unsigned char *piece = mi_region_take(regions[r], 1 + test_random_below(&random, 5000), alignment);
            assert_non_null(piece);
            distances[r][i] = piece - first;
            if (test_random_below(&random, 3) == 0) {
                mi_region_give(regions[r], piece);
            }
        }
    }
    assert_memory_equal(distances[0], distances[1], sizeof(distances[0]));
    mi_region_destroy(other);
}

static void kept_blocks_stay_when_they_are_free(void **state) {
    fixture *f = *state;
    const size_t kept = 3 * MI_REGION_BLOCK_SIZE + MI_REGION_FIRST_BLOCK_SIZE;
    assert_true(mi_region_keep(f->region, kept));
    assert_int_equal(block_bytes(f), kept);
    const uint64_t calls = f->allocator.call_count;
    void *pieces[48];
    for (int i = 0; i < 48; i++) { // all but the small block are full then
        pieces[i] = mi_region_take(f->region, MI_REGION_BLOCK_SIZE / 16 - 128, 64);
        assert_non_null(pieces[i]);
    }
    assert_true(f->allocator.call_count == calls);
    for (int i = 0; i < 48; i++) {
        mi_region_give(f->region, pieces[i]);
        assert_true(mi_region_validate(f->region));
    }
    mi_region_trim(f->region);
    assert_int_equal(block_bytes(f), kept);
    assert_true(mi_region_keep(f->region, MI_REGION_BLOCK_SIZE));
    assert_int_equal(block_bytes(f), kept); // given back by trimming alone
    mi_region_trim(f->region);
    assert_int_equal(block_bytes(f), MI_REGION_BLOCK_SIZE);
    assert_true(mi_region_keep(f->region, 0));
    mi_region_trim(f->region);
    assert_int_equal(block_bytes(f), 0);
}

static void blocks_that_cannot_be_kept_are_given_back(void **state) {
    fixture *f = *state;
    assert_non_null(mi_region_take(f->region, 100, 64));
    test_allocator_fail_at(&f->allocator, 3);
    assert_false(mi_region_keep(f->region, 4 * MI_REGION_BLOCK_SIZE));
    test_allocator_fail_stop(&f->allocator);
    assert_int_equal(block_bytes(f), MI_REGION_FIRST_BLOCK_SIZE);
    assert_true(mi_region_validate(f->region));
}

static void a_budget_makes_the_next_block_smaller(void **state) {
    fixture *f = *state;
    while (block_bytes(f) < 4 * MI_REGION_BLOCK_SIZE) {
        assert_non_null(mi_region_take(f->region, 4000, 64));
    }
    while (mi_region_statistics(f->region).free_largest >= 4000) {
        assert_non_null(mi_region_take(f->region, 4000, 64));
    }
    const size_t before = block_bytes(f);
    f->heap.budget.bytes[MICA_MEMORY_CHUNKS] = f->heap.bytes[MICA_MEMORY_CHUNKS] + MI_REGION_BLOCK_SIZE / 4;
    assert_non_null(mi_region_take(f->region, 4000, 64));
    assert_int_equal(block_bytes(f) - before, MI_REGION_BLOCK_SIZE / 4);
    f->heap.budget.bytes[MICA_MEMORY_CHUNKS] = 1;
    assert_null(mi_region_take(f->region, 1000000, 64));
    f->heap.budget.bytes[MICA_MEMORY_CHUNKS] = 0;
}

// Given memory is cut into pieces to the last unit, whatever came and went before, and is whole again afterwards.
static void a_region_in_given_memory_has_just_that(void **state) {
    (void)state;
    static unsigned char memory[(size_t)3 << 20];
    for (size_t shift = 0; shift < 3; shift++) {
        mi_region *region = mi_region_create_in(memory + shift * 7, sizeof(memory) - 64);
        assert_non_null(region);
        const size_t whole = mi_region_statistics(region).free_largest;
        assert_true(whole > sizeof(memory) - 8192);
        assert_null(mi_region_take(region, whole + 1, 64));
        void *all = mi_region_take(region, whole, 64);
        assert_non_null(all);
        memset(all, 1, whole);
        assert_null(mi_region_take(region, 1, 64));
        mi_region_give(region, all);
        void *aligned = mi_region_take(region, 1000, 4096);
        assert_int_equal((uintptr_t)aligned % 4096, 0);
        size_t taken = 0;
        void *pieces[64];
        test_random random = {.state = 7};
        while (taken < 64 &&
               (pieces[taken] = mi_region_take(region, 1 + test_random_below(&random, 100000), 64)) != NULL) {
            taken++;
        }
        assert_true(taken > 20);
        assert_true(mi_region_validate(region));
        while (taken > 0) {
            mi_region_give(region, pieces[--taken]);
        }
        mi_region_give(region, aligned);
        mi_region_trim(region);
        assert_true(mi_region_validate(region));
        assert_int_equal(mi_region_statistics(region).free_largest, whole);
        mi_region_destroy(region);
    }
    memset(memory, 2, sizeof(memory)); // nothing is left poisoned
    assert_null(mi_region_create_in(memory, 64));
    assert_null(mi_region_create_in(memory, 3000));
}

// A piece that would just do is found although its class has smaller ones in front.
static void given_memory_is_searched_for_the_last_piece_that_fits(void **state) {
    (void)state;
    static unsigned char memory[(size_t)1 << 20];
    mi_region *region = mi_region_create_in(memory, sizeof(memory));
    void *fits = mi_region_take(region, 64 * 67 - 32, 64);
    void *fence = mi_region_take(region, 64, 64);
    void *smaller = mi_region_take(region, 64 * 65 - 32, 64);
    void *rest = mi_region_take(region, mi_region_statistics(region).free_largest, 64);
    assert_non_null(rest);
    mi_region_give(region, fits);
    mi_region_give(region, smaller);
    assert_ptr_equal(mi_region_take(region, 64 * 67 - 32, 64), fits);
    (void)fence;
    mi_region_destroy(region);
}

#define REGION_TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        REGION_TEST(a_region_without_pieces_has_no_block),
        REGION_TEST(a_region_holds_what_it_has_handed_out),
        REGION_TEST(blocks_grow_with_what_is_in_use),
        REGION_TEST(a_first_piece_too_large_for_the_small_block_gets_one_that_holds_it),
        REGION_TEST(a_piece_may_fill_the_first_block),
        REGION_TEST(pieces_are_aligned_as_asked),
        REGION_TEST(the_prefix_belongs_to_the_holder),
        REGION_TEST(what_is_given_back_joins_with_its_neighbours),
        REGION_TEST(a_freed_place_is_used_again),
        REGION_TEST(a_piece_taken_and_given_in_turns_asks_the_heap_once),
        REGION_TEST(free_blocks_are_kept_until_trim),
        REGION_TEST(trim_spares_blocks_in_use),
        REGION_TEST(a_large_piece_has_a_block_that_ends_with_it),
        REGION_TEST(impossible_sizes_are_refused),
        REGION_TEST(without_memory_a_region_stays_as_it_was),
        REGION_TEST(validation_finds_a_tag_that_was_written_over),
#if MI_ADDRESS_SANITIZER
        REGION_TEST(the_sanitizer_knows_what_no_piece_owns),
#endif
        REGION_TEST(random_pieces_keep_their_contents),
        REGION_TEST(the_same_calls_give_the_same_layout),
        REGION_TEST(kept_blocks_stay_when_they_are_free),
        REGION_TEST(blocks_that_cannot_be_kept_are_given_back),
        REGION_TEST(a_budget_makes_the_next_block_smaller),
        REGION_TEST(a_region_in_given_memory_has_just_that),
        REGION_TEST(given_memory_is_searched_for_the_last_piece_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
