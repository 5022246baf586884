// How the parts of the module say what is wrong with a file, and where.
#pragma once

#include "base/message.h"

#include <mica/result.h>

#include <stddef.h>
#include <stdint.h>

enum {
    MI_GLTF_QUOTE_SIZE = 64,   // Bytes of a quoted text with its end.
    MI_GLTF_WARNING_LIMIT = 32 // Warnings of one import; the last one says that others are left out.
};

typedef void (*mi_gltf_warning_function)(void *user, const char *text);

// One import's messages. The caller gives the label (the file's name in messages; NULL: "memory") and, if it wants
// warnings, a function; after a failure `code` and `text` say what it was.
typedef struct mi_gltf_report {
    const char *label;
    mi_gltf_warning_function warning;
    void *user;
    int32_t warning_count;
    mica_result code;
    char text[MI_MESSAGE_SIZE];
} mi_gltf_report;

// A value inside the JSON text, such as /nodes/3/rotation/2. Made on the way to the value without any formatting. An
// index or element below 0 and a member of NULL are left out.
typedef struct mi_gltf_place {
    const char *list;
    int64_t index;
    const char *member;
    int64_t element;
} mi_gltf_place;

// Records a failure as "label: message" and returns `code`.
mica_result mi_gltf_refuse(mi_gltf_report *report, mica_result code, const char *format, ...) MI_PRINTF(3, 4);

// Records a failure as "label: JSON pointer: message" and returns `code`.
mica_result mi_gltf_refuse_at(mi_gltf_report *report, mica_result code, mi_gltf_place place, const char *format, ...)
    MI_PRINTF(4, 5);

// Hands a warning "label: JSON pointer: message" to the caller's function.
void mi_gltf_warn_at(mi_gltf_report *report, mi_gltf_place place, const char *format, ...) MI_PRINTF(3, 4);

// Writes as much of a text as a message has room for, in quotation marks, and returns `buffer`.
const char *mi_gltf_quote(char buffer[MI_GLTF_QUOTE_SIZE], const char *text);
