// Messages about a glTF file.
//
// Every message fits MI_GLTF_TEXT_SIZE and is fit for a terminal: texts come from the file, so control characters are
// replaced, and whatever is cut off is cut between two characters of UTF-8. A long file name keeps its end, so that
// place and cause are never what is lost. The number of warnings is limited because a hostile file could cause one a
// byte.

#include "gltf_report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_LIMIT = 160 };

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t mi_gltf_prefix_size(const char *text, size_t byte_limit) {
    size_t byte_size = strnlen(text, byte_limit + 1);
    if (byte_size <= byte_limit) {
        return byte_size;
    }
    byte_size = byte_limit;
    while (byte_size > 0 && is_continuation(text[byte_size])) {
        byte_size--;
    }
    return byte_size;
}

static void replace_control_characters(char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            *text = '?';
        }
    }
}

// Room for one byte more than is kept tells whether the text was cut by the formatting, in the middle of a character.
typedef struct message {
    char text[MI_GLTF_TEXT_SIZE + 1];
    size_t byte_size;
} message;

static void append(message *to, const char *format, va_list arguments) MI_GLTF_PRINTF(2, 0);
static void append(message *to, const char *format, va_list arguments) {
    size_t room = sizeof to->text - to->byte_size;
    int written = vsnprintf(to->text + to->byte_size, room, format, arguments);
    if (written > 0) {
        to->byte_size += (size_t)written < room ? (size_t)written : room - 1;
    }
}

static void append_text(message *to, const char *format, ...) MI_GLTF_PRINTF(2, 3);
static void append_text(message *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(to, format, arguments);
    va_end(arguments);
}

static void append_label(message *to, const mi_gltf_report *report) {
    const char *label = report->label ? report->label : "memory";
    size_t byte_size = strlen(label);
    if (byte_size <= LABEL_LIMIT) {
        append_text(to, "%s: ", label);
        return;
    }
    label += byte_size - LABEL_LIMIT;
    while (is_continuation(*label)) {
        label++;
    }
    append_text(to, "...%s: ", label);
}

static void append_place(message *to, mi_gltf_place place) {
    append_text(to, "/%s", place.list);
    if (place.index >= 0) {
        append_text(to, "/%lld", (long long)place.index);
    }
    if (place.member) {
        append_text(to, "/%s", place.member);
    }
    if (place.element >= 0) {
        append_text(to, "/%lld", (long long)place.element);
    }
    append_text(to, ": ");
}

static void finish(message *done) {
    done->text[mi_gltf_prefix_size(done->text, MI_GLTF_TEXT_SIZE - 1)] = '\0';
    replace_control_characters(done->text);
}

static mica_result record(mi_gltf_report *report, mica_result code, message *done) {
    finish(done);
    report->code = code;
    memcpy(report->text, done->text, MI_GLTF_TEXT_SIZE);
    return code;
}

mica_result mi_gltf_refuse(mi_gltf_report *report, mica_result code, const char *format, ...) {
    message made = {.byte_size = 0};
    append_label(&made, report);
    va_list arguments;
    va_start(arguments, format);
    append(&made, format, arguments);
    va_end(arguments);
    return record(report, code, &made);
}

mica_result mi_gltf_refuse_at(mi_gltf_report *report, mica_result code, mi_gltf_place place, const char *format, ...) {
    message made = {.byte_size = 0};
    append_label(&made, report);
    append_place(&made, place);
    va_list arguments;
    va_start(arguments, format);
    append(&made, format, arguments);
    va_end(arguments);
    return record(report, code, &made);
}

void mi_gltf_warn_at(mi_gltf_report *report, mi_gltf_place place, const char *format, ...) {
    if (!report->warning || report->warning_count >= MI_GLTF_WARNING_LIMIT) {
        return;
    }
    report->warning_count++;
    message made = {.byte_size = 0};
    append_label(&made, report);
    if (report->warning_count == MI_GLTF_WARNING_LIMIT) {
        append_text(&made, "further warnings are left out");
    } else {
        append_place(&made, place);
        va_list arguments;
        va_start(arguments, format);
        append(&made, format, arguments);
        va_end(arguments);
    }
    finish(&made);
    report->warning(report->user, made.text);
}

const char *mi_gltf_quote(char buffer[MI_GLTF_QUOTE_SIZE], const char *text) {
    size_t byte_size = mi_gltf_prefix_size(text, MI_GLTF_QUOTE_SIZE - sizeof "\"...\"");
    const char *end = text[byte_size] ? "...\"" : "\"";
    buffer[0] = '"';
    memcpy(buffer + 1, text, byte_size);
    memcpy(buffer + 1 + byte_size, end, strlen(end) + 1);
    return buffer;
}
