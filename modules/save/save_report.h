// How the parts of the module say what is wrong, and where.
#pragma once

#include "base/message.h"

#include <mica/save.h>

#include <jansson.h>

#include <stdarg.h>

// One load's or save's messages.
typedef struct mi_save_report {
    const char *label; // the file's name in messages; NULL: memory
    mica_save_options options;
    json_t *said; // an object whose keys are the warnings that were given; NULL: none
    mica_result code;
    char text[MICA_SAVE_MESSAGE_SIZE];
} mi_save_report;

void mi_save_report_init(mi_save_report *report, const char *label, const mica_save_options *options);
void mi_save_report_release(mi_save_report *report);

// Records a failure as "label: message", sends it to the log, and returns `code`.
mica_result mi_save_refuse(mi_save_report *report, mica_result code, const char *format, ...) MI_PRINTF(3, 4);

mica_result mi_save_refuse_memory(mi_save_report *report);

// A warning "label: message", given once for each `key`; under `strict` a failure with `code`.
mica_result mi_save_warn(mi_save_report *report, mica_result code, const char *key, const char *format, ...)
    MI_PRINTF(4, 5);
