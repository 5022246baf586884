// Sums of digests: the same for ever, however they are computed, and different for all that differs.
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_random.h"

static void both_ways_to_multiply_agree(void **state) {
    (void)state;
    test_random random = {1};
    const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63};
    for (uint32_t i = 0; i < 10000; i++) {
        const uint64_t a = i < 49 ? edges[i / 7] : test_random_next(&random);
        const uint64_t b = i < 49 ? edges[i % 7] : test_random_next(&random);
        const mi_wide fast = mi_multiply(a, b);
        const mi_wide slow = mi_multiply_by_halves(a, b);
        assert_int_equal(fast.low, slow.low);
        assert_int_equal(fast.high, slow.high);
    }
}

// What values come to, one by one and block by block, as digest.h says.
static uint64_t naive_digest(mi_digest_seed seed, uint64_t key, const uint8_t *value, uint32_t size) {
    uint64_t a_key = (key << 32 | key >> 32) ^ seed.a;
    uint64_t b_key = key ^ seed.b;
    uint64_t sum = 0;
    for (uint32_t at = 0; size > 16; at += 16) {
        uint64_t block[2];
        const bool is_last = at + 16 >= size;
        memcpy(block, value + (is_last ? size - 16 : at), 16);
        sum += mi_digest_fold(block[0] ^ a_key, block[1] ^ b_key);
        if (is_last) {
            return sum;
        }
        a_key += MI_DIGEST_STEP_A;
        b_key += MI_DIGEST_STEP_B;
    }
    uint64_t words[2] = {0, 0};
    const uint32_t part = size >= 8 ? 8 : size >= 4 ? 4 : 0;
    if (part == 0) {
        words[0] = (uint64_t)value[0] << 16 | (uint64_t)value[size / 2] << 8 | value[size - 1];
    } else {
        memcpy(&words[0], value, part);
        memcpy(&words[1], value + size - part, size > part ? part : 0);
    }
    return mi_digest_fold(words[0] ^ a_key, words[1] ^ b_key);
}

static void every_size_is_digested_as_it_is_written_down(void **state) {
    (void)state;
    enum { COUNT = 5, SIZE_MOST = 130 };
    uint8_t values[COUNT * SIZE_MOST];
    uint64_t keys[COUNT];
    test_random random = {2};
    for (size_t i = 0; i < sizeof(values); i++) {
        values[i] = (uint8_t)test_random_next(&random);
    }
    const mi_digest_seed seed = mi_digest_seed_of(1, "Position");
    for (uint32_t size = 1; size <= SIZE_MOST; size++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            keys[i] = mi_digest_key(i + 1);
            sum += naive_digest(seed, keys[i], values + (size_t)i * size, size);
        }
        assert_int_equal(mi_digest_values(seed, keys, values, size, COUNT), sum);
        assert_int_equal(mi_digest_values(seed, keys, values, size, 0), 0);
    }
}

static void numbers_are_digested_as_values_of_eight_bytes(void **state) {
    (void)state;
    const mi_digest_seed seed = mi_digest_seed_of(2, "rows");
    const uint64_t keys[] = {mi_digest_key(7), mi_digest_key(8), mi_digest_key(9)};
    const uint64_t numbers[] = {100, 101, 102};
    assert_int_equal(mi_digest_numbers(seed, keys, 100, 3), mi_digest_values(seed, keys, numbers, 8, 3));
}

// Golden values: files and peers of other builds must agree.
static void digests_never_change(void **state) {
    (void)state;
    const mi_digest_seed seed = mi_digest_seed_of(1, "Position");
    const uint64_t keys[] = {mi_digest_key(1), mi_digest_key(2)};
    uint8_t bytes[64];
    for (uint8_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = i;
    }
    assert_int_equal(mi_digest_key(1), UINT64_C(0x6a572c1e85dfc962));
    assert_int_equal(mi_digest_bytes(3, "some bytes", 10), UINT64_C(0x11ea3fea4f0d300c));
    assert_int_equal(seed.a, UINT64_C(0xbe03924424468b05));
    assert_int_equal(mi_digest_values(seed, keys, bytes, 4, 2), UINT64_C(0x5adf8501484ee047));
    assert_int_equal(mi_digest_values(seed, keys, bytes, 12, 2), UINT64_C(0xfe95b81a25e34406));
    assert_int_equal(mi_digest_values(seed, keys, bytes, 32, 2), UINT64_C(0x9ba6fb6278855aa9));
}

static void every_bit_of_a_value_counts_and_its_place_too(void **state) {
    (void)state;
    enum { COUNT = 3, SIZE_MOST = 40 };
    const mi_digest_seed seed = mi_digest_seed_of(1, "Any");
    const uint64_t keys[COUNT] = {mi_digest_key(1), mi_digest_key(2), mi_digest_key(3)};
    uint8_t values[COUNT * SIZE_MOST];
    for (uint32_t size = 1; size <= SIZE_MOST; size++) {
        memset(values, 0, sizeof(values));
        const uint64_t before = mi_digest_values(seed, keys, values, size, COUNT);
        for (uint32_t bit = 0; bit < COUNT * size * 8; bit++) {
            values[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const uint64_t after = mi_digest_values(seed, keys, values, size, COUNT);
            assert_int_not_equal(after, before);
            // The same bit of the next value instead comes to something else.
            if (bit < (COUNT - 1) * size * 8) {
                values[bit / 8] ^= (uint8_t)(1u << bit % 8);
                values[bit / 8 + size] ^= (uint8_t)(1u << bit % 8);
                assert_int_not_equal(mi_digest_values(seed, keys, values, size, COUNT), after);
                values[bit / 8 + size] ^= (uint8_t)(1u << bit % 8);
            } else {
                values[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
    }
}

// Small numbers of neighbours that change places: of 16 low bits of the difference all are zero once in 65,536 times.
static void values_that_change_places_do_not_cancel_out(void **state) {
    (void)state;
    const mi_digest_seed seed = mi_digest_seed_of(1, "Count");
    uint32_t low_count = 0;
    uint32_t equal_count = 0;
    uint32_t trial_count = 0;
    for (uint32_t entity = 1; entity <= 500; entity++) {
        for (uint32_t value = 0; value < 500; value++, trial_count++) {
            const uint64_t keys[] = {mi_digest_key(entity), mi_digest_key(entity + 1 + value % 7)};
            const uint32_t there[] = {value, value + 1 + entity % 5};
            const uint32_t swapped[] = {there[1], there[0]};
            const uint64_t difference =
                mi_digest_values(seed, keys, there, 4, 2) - mi_digest_values(seed, keys, swapped, 4, 2);
            equal_count += difference == 0;
            low_count += (difference & 0xFFFF) == 0;
        }
    }
    assert_int_equal(trial_count, 250000);
    assert_int_equal(equal_count, 0);
    assert_true(low_count <= 15); // 4 are expected
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_to_multiply_agree),
        cmocka_unit_test(every_size_is_digested_as_it_is_written_down),
        cmocka_unit_test(numbers_are_digested_as_values_of_eight_bytes),
        cmocka_unit_test(digests_never_change),
        cmocka_unit_test(every_bit_of_a_value_counts_and_its_place_too),
        cmocka_unit_test(values_that_change_places_do_not_cancel_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
