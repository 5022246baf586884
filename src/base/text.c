// Text into the caller's array. What does not fit is counted and dropped; the closing zero is there at every moment.
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

mi_text_out mi_text_begin(char *data, size_t capacity) {
    const mi_text_out out = {.data = data, .capacity = data == NULL ? 0 : capacity};
    if (out.capacity > 0) {
        data[0] = '\0';
    }
    return out;
}

void mi_text_add(mi_text_out *out, const char *pattern, ...) {
    char none[1];
    const int fits = out->capacity > out->length;
    va_list arguments;
    va_start(arguments, pattern);
    const int added = vsnprintf(fits ? out->data + out->length : none,
                                fits ? out->capacity - out->length : sizeof(none), pattern, arguments);
    va_end(arguments);
    out->length += added < 0 ? 0 : (size_t)added;
}

void mi_text_copy(char *data, size_t capacity, const char *text) {
    const size_t length = strnlen(text, capacity - 1);
    memcpy(data, text, length);
    data[length] = 0;
}
