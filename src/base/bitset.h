// Sets of small numbers as 64-bit words that the caller owns; the word count may differ between two sets, missing words
// are zero.
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool mi_bit_get(const uint64_t *words, uint32_t word_count, uint32_t bit) {
    return bit / 64 < word_count && (words[bit / 64] >> (bit % 64) & 1u) != 0;
}
static inline void mi_bit_set(uint64_t *words, uint32_t bit) {
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}
static inline void mi_bit_clear(uint64_t *words, uint32_t bit) {
    words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}
static inline uint32_t mi_bit_words(uint32_t bit_count) {
    return (bit_count + 63) / 64;
}
// Whether every member of `part` is one of `whole`.
static inline bool mi_bits_contain(const uint64_t *whole, uint32_t whole_count, const uint64_t *part,
                                   uint32_t part_count) {
    for (uint32_t i = 0; i < part_count; i++) {
        if ((part[i] & ~(i < whole_count ? whole[i] : 0)) != 0) {
            return false;
        }
    }
    return true;
}
// Whether one of `among` is a member of one of the two alone.
static inline bool mi_bits_differ(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count,
                                  const uint64_t *among, uint32_t among_count) {
    for (uint32_t i = 0; i < among_count; i++) {
        if ((((i < a_count ? a[i] : 0) ^ (i < b_count ? b[i] : 0)) & among[i]) != 0) {
            return true;
        }
    }
    return false;
}
// Whether the two have a member in common.
static inline bool mi_bits_meet(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count) {
    const uint32_t count = a_count < b_count ? a_count : b_count;
    for (uint32_t i = 0; i < count; i++) {
        if ((a[i] & b[i]) != 0) {
            return true;
        }
    }
    return false;
}
