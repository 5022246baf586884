// Messages about a file, "label: what is wrong", for the modules that read and write files.
//
// A message fits its array and is fit for a terminal: texts in it come from files, so control characters are replaced,
// and what is cut off is cut between two characters of UTF-8. A long label keeps its end, so that place and cause are
// never what is lost. All of it is inline, since modules cannot link to what the core does not export.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MI_MESSAGE_SIZE 512 // bytes with the closing zero
#define MI_LABEL_SIZE_MAX 160

#if defined(__GNUC__)
#define MI_PRINTF(FORMAT, FIRST) __attribute__((format(printf, FORMAT, FIRST)))
#else
#define MI_PRINTF(FORMAT, FIRST)
#endif

// Room for one byte more than is kept tells whether the formatting cut the text, in the middle of a character.
typedef struct mi_message {
    char text[MI_MESSAGE_SIZE + 1];
    size_t byte_size;
} mi_message;

static inline bool mi_is_continuation(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

// Bytes of the longest beginning of a UTF-8 text that has `byte_limit` bytes at most and ends between two characters.
static inline size_t mi_prefix_size(const char *text, size_t byte_limit) {
    size_t byte_size = strnlen(text, byte_limit + 1);
    if (byte_size <= byte_limit) {
        return byte_size;
    }
    byte_size = byte_limit;
    while (byte_size > 0 && mi_is_continuation(text[byte_size])) {
        byte_size--;
    }
    return byte_size;
}

static inline void mi_message_append_list(mi_message *message, const char *format, va_list arguments) MI_PRINTF(2, 0);
static inline void mi_message_append_list(mi_message *message, const char *format, va_list arguments) {
    const size_t room = sizeof(message->text) - message->byte_size;
    const int written = vsnprintf(message->text + message->byte_size, room, format, arguments);
    if (written > 0) {
        message->byte_size += (size_t)written < room ? (size_t)written : room - 1;
    }
}

static inline void mi_message_append(mi_message *message, const char *format, ...) MI_PRINTF(2, 3);
static inline void mi_message_append(mi_message *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    mi_message_append_list(message, format, arguments);
    va_end(arguments);
}

// Begins a message with the label and a colon; NULL stands for memory.
static inline void mi_message_begin(mi_message *message, const char *label) {
    *message = (mi_message){.byte_size = 0};
    label = label == NULL ? "memory" : label;
    const size_t label_size = strlen(label);
    const bool is_cut = label_size > MI_LABEL_SIZE_MAX;
    label += is_cut ? label_size - MI_LABEL_SIZE_MAX : 0;
    while (is_cut && mi_is_continuation(*label)) {
        label++;
    }
    mi_message_append(message, "%s%s: ", is_cut ? "..." : "", label);
}

// Cuts the message to MI_MESSAGE_SIZE and makes it fit for a terminal.
static inline void mi_message_finish(mi_message *message) {
    message->text[mi_prefix_size(message->text, MI_MESSAGE_SIZE - 1)] = '\0';
    for (char *c = message->text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            *c = '?';
        }
    }
}
