// Text that is written into the caller's array, cut at its capacity and always closed by zero, while its whole length
// goes on being counted.
#pragma once

#include <stddef.h>

typedef struct mi_text_out {
    char *data; // may be NULL if capacity is 0
    size_t capacity;
    size_t length; // without the cut
} mi_text_out;

// Begins a text in `data`; NULL only counts.
mi_text_out mi_text_begin(char *data, size_t capacity);

// Copies a text into an array of `capacity` bytes, at least one, cut and closed by zero.
void mi_text_copy(char *data, size_t capacity, const char *text);

void mi_text_add(mi_text_out *out, const char *pattern, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
