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
