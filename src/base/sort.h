// Sorting numbers that stand for something: positions, ids, rows.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Negative, 0 or positive, as for qsort.
typedef int (*mi_compare)(const void *context, uint32_t a, uint32_t b);

// Sorts `numbers`; equal ones keep their order. `spare` has room for as many. False: they were ascending already, which
// took count - 1 comparisons and moved nothing. Otherwise O(count log count).
bool mi_sort(uint32_t *numbers, uint32_t *spare, uint32_t count, mi_compare compare, const void *context);

// Sorts items by their high halves, by radix; equal ones keep their order. `spare` has room for as many. O(count).
void mi_sort_by_high_half(uint64_t *items, uint64_t *spare, uint32_t count);
