// A merge sort from the bottom up: runs of one are merged to runs of two, those to runs of four, and so on.
//
// Two runs that follow each other in order already are left where they are, so that the whole costs what is out of
// order: nothing but comparisons for a sorted list, one pass for a sorted list with a few numbers behind it.
#include "base/sort.h"

#include <string.h>

// Merges the ascending runs [0, middle) and [middle, count). False: they were in order.
static bool merge(uint32_t *numbers, uint32_t *spare, uint32_t middle, uint32_t count, mi_compare compare,
                  const void *context) {
    if (compare(context, numbers[middle - 1], numbers[middle]) <= 0) {
        return false;
    }
    memcpy(spare, numbers, middle * sizeof(uint32_t));
    uint32_t left = 0;
    uint32_t right = middle;
    uint32_t next = 0;
    while (left < middle && right < count) {
        const bool takes_left = compare(context, spare[left], numbers[right]) <= 0;
        numbers[next++] = takes_left ? spare[left++] : numbers[right++];
    }
    memcpy(numbers + next, spare + left, (middle - left) * sizeof(uint32_t)); // the rest of the right is in place
    return true;
}

bool mi_sort(uint32_t *numbers, uint32_t *spare, uint32_t count, mi_compare compare, const void *context) {
    bool is_changed = false;
    for (uint32_t width = 1; width < count; width = width <= UINT32_MAX / 2 ? width * 2 : count) {
        for (uint32_t first = 0; count - first > width;) {
            const uint32_t rest = count - first;
            const uint32_t length = rest - width < width ? rest : 2 * width;
            is_changed |= merge(numbers + first, spare, width, length, compare, context);
            first += length;
        }
    }
    return is_changed;
}

void mi_sort_by_high_half(uint64_t *items, uint64_t *spare, uint32_t count) {
    enum { HIGH_SHIFT = 32, DIGIT_BITS = 11, DIGIT_COUNT = 1 << DIGIT_BITS };
    uint64_t all = 0;
    bool is_sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        is_sorted = is_sorted && (i == 0 || items[i - 1] >> HIGH_SHIFT <= items[i] >> HIGH_SHIFT);
        all |= items[i];
    }
    for (uint32_t shift = HIGH_SHIFT; !is_sorted && shift < 64 && all >> shift != 0; shift += DIGIT_BITS) {
        uint32_t starts[DIGIT_COUNT] = {0};
        uint32_t start = 0;
        for (uint32_t i = 0; i < count; i++) {
            starts[items[i] >> shift & (DIGIT_COUNT - 1)]++;
        }
        for (uint32_t digit = 0; digit < DIGIT_COUNT; digit++) {
            const uint32_t digit_count = starts[digit];
            starts[digit] = start;
            start += digit_count;
        }
        for (uint32_t i = 0; i < count; i++) {
            spare[starts[items[i] >> shift & (DIGIT_COUNT - 1)]++] = items[i];
        }
        memcpy(items, spare, count * sizeof(uint64_t));
    }
}
