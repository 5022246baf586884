// Copying pieces of one size between arrays whose elements are further apart than the pieces are long.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Copies `count` pieces of `size` bytes between arrays of these strides.
static inline void mi_copy_pieces(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t size,
                                  uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + i * to_stride, from + i * from_stride, size);
    }
}

// The same, with sizes that are common known when this is compiled, so that they cost a load and a store.
static inline void mi_copy_strided(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t size,
                                   uint32_t count) {
    switch (size) {
    case 1:
        mi_copy_pieces(to, to_stride, from, from_stride, 1, count);
        break;
    case 2:
        mi_copy_pieces(to, to_stride, from, from_stride, 2, count);
        break;
    case 4:
        mi_copy_pieces(to, to_stride, from, from_stride, 4, count);
        break;
    case 8:
        mi_copy_pieces(to, to_stride, from, from_stride, 8, count);
        break;
    case 12:
        mi_copy_pieces(to, to_stride, from, from_stride, 12, count);
        break;
    case 16:
        mi_copy_pieces(to, to_stride, from, from_stride, 16, count);
        break;
    default:
        mi_copy_pieces(to, to_stride, from, from_stride, size, count);
    }
}
