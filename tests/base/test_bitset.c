// Bitsets: single bits, and sets of different lengths compared as if missing words were zero.
#include "base/bitset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_random.h"

static void a_bit_is_set_and_cleared_alone(void **state) {
    (void)state;
    static const uint32_t bits[] = {0, 1, 31, 32, 63, 64, 127, 191};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        uint64_t words[3] = {0};
        mi_bit_set(words, bits[i]);
        for (uint32_t bit = 0; bit < 192; bit++) {
            assert_int_equal(mi_bit_get(words, 3, bit), bit == bits[i]);
        }
        memset(words, 0xFF, sizeof(words));
        mi_bit_clear(words, bits[i]);
        for (uint32_t bit = 0; bit < 192; bit++) {
            assert_int_equal(mi_bit_get(words, 3, bit), bit != bits[i]);
        }
    }
}

static void bits_beyond_the_words_are_not_members(void **state) {
    (void)state;
    const uint64_t words[1] = {UINT64_MAX};
    assert_true(mi_bit_get(words, 1, 63));
    assert_false(mi_bit_get(words, 1, 64));
    assert_false(mi_bit_get(words, 1, UINT32_MAX));
    assert_false(mi_bit_get(NULL, 0, 0));
}

static void words_are_enough_for_the_bits(void **state) {
    (void)state;
    assert_int_equal(mi_bit_words(0), 0);
    assert_int_equal(mi_bit_words(1), 1);
    assert_int_equal(mi_bit_words(64), 1);
    assert_int_equal(mi_bit_words(65), 2);
    assert_int_equal(mi_bit_words(65536), 1024);
}

static void the_empty_set_is_part_of_all_and_meets_none(void **state) {
    (void)state;
    const uint64_t words[2] = {1, 1};
    const uint64_t zeros[3] = {0};
    assert_true(mi_bits_contain(NULL, 0, NULL, 0));
    assert_true(mi_bits_contain(words, 2, NULL, 0));
    assert_true(mi_bits_contain(words, 2, zeros, 3));
    assert_true(mi_bits_contain(NULL, 0, zeros, 3));
    assert_false(mi_bits_contain(NULL, 0, words, 2));
    assert_false(mi_bits_meet(words, 2, NULL, 0));
    assert_false(mi_bits_meet(words, 2, zeros, 3));
}

static void sets_of_any_length_compare_by_their_members(void **state) {
    (void)state;
    enum { BITS = 192 };
    test_random random = {1};
    uint32_t contained_count = 0, meeting_count = 0;
    for (int round = 0; round < 3000; round++) {
        uint64_t a[3] = {0}, b[3] = {0};
        const uint32_t a_words = test_random_below(&random, 4), b_words = test_random_below(&random, 4);
        for (uint32_t i = 0; i < a_words * 16; i++) {
            mi_bit_set(a, test_random_below(&random, a_words * 64));
        }
        const uint32_t b_bits = b_words > 0 ? test_random_below(&random, 4) : 0;
        for (uint32_t i = 0; i < b_bits; i++) {
            mi_bit_set(b, test_random_below(&random, b_words * 64));
        }
        bool is_contained = true, is_meeting = false;
        for (uint32_t bit = 0; bit < BITS; bit++) {
            const bool in_a = (a[bit / 64] >> bit % 64 & 1u) != 0, in_b = (b[bit / 64] >> bit % 64 & 1u) != 0;
            is_contained = is_contained && (in_a || !in_b);
            is_meeting = is_meeting || (in_a && in_b);
        }
        assert_int_equal(mi_bits_contain(a, a_words, b, b_words), is_contained);
        assert_int_equal(mi_bits_meet(a, a_words, b, b_words), is_meeting);
        assert_int_equal(mi_bits_meet(b, b_words, a, a_words), is_meeting);
        contained_count += is_contained;
        meeting_count += is_meeting;
    }
    // Both answers came up often.
    assert_in_range(contained_count, 300, 2700);
    assert_in_range(meeting_count, 300, 2700);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bit_is_set_and_cleared_alone),
        cmocka_unit_test(bits_beyond_the_words_are_not_members),
        cmocka_unit_test(words_are_enough_for_the_bits),
        cmocka_unit_test(the_empty_set_is_part_of_all_and_meets_none),
        cmocka_unit_test(sets_of_any_length_compare_by_their_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
