// Growing arrays: `MI_ARRAY(T) name;` declares one, zero is empty. Growth is by half, at least to 8 elements.
#pragma once

#include "base/heap.h"

#define MI_ARRAY(T)               \
    struct {                      \
        T *data;                  \
        uint32_t count, capacity; \
    }

// True if `array` (an MI_ARRAY) has room for `need` elements in all; false when out of memory, with the array as it
// was.
#define MI_RESERVE(HEAP, PURPOSE, ARRAY, NEED) \
    mi_array_reserve((HEAP), (PURPOSE), (ARRAY), (NEED), sizeof(*(ARRAY)->data), _Alignof(max_align_t))
// Gives the memory back; the array is empty afterwards.
#define MI_FREE(HEAP, PURPOSE, ARRAY) \
    mi_array_free((HEAP), (PURPOSE), (ARRAY), sizeof(*(ARRAY)->data), _Alignof(max_align_t))

// Gives back the room that the array does not use, if there is memory to move it to.
#define MI_SHRINK(HEAP, PURPOSE, ARRAY) \
    mi_array_shrink((HEAP), (PURPOSE), (ARRAY), sizeof(*(ARRAY)->data), _Alignof(max_align_t))

// What MI_RESERVE, MI_FREE and MI_SHRINK expand to. `array` points to an MI_ARRAY whose elements have `element_size`
// bytes.
bool mi_array_reserve(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t need, size_t element_size,
                      size_t alignment);
void mi_array_free(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t element_size, size_t alignment);
void mi_array_shrink(mi_heap *heap, mica_memory_purpose purpose, void *array, size_t element_size, size_t alignment);
