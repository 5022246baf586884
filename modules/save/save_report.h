// How the parts of the module say what is wrong, and where.
#pragma once

#include <mica/save.h>

#include <stdarg.h>

#if defined(__GNUC__)
#define MI_SAVE_PRINTF(FORMAT, FIRST) __attribute__((format(printf, FORMAT, FIRST)))
#else
#define MI_SAVE_PRINTF(FORMAT, FIRST)
#endif

// One load's or save's messages.
typedef struct mi_save_report {
    const char *label; // the file's name in messages
    mica_save_options options;
    mica_result code;
    char text[MICA_SAVE_MESSAGE_SIZE];
} mi_save_report;

void mi_save_report_init(mi_save_report *report, const char *label, const mica_save_options *options);

// Records a failure as "label: message", sends it to the log, and returns `code`.
mica_result mi_save_refuse(mi_save_report *report, mica_result code, const char *format, ...) MI_SAVE_PRINTF(3, 4);

// A warning "label: message"; under `strict` a failure with `code`.
mica_result mi_save_warn(mi_save_report *report, mica_result code, const char *format, ...) MI_SAVE_PRINTF(3, 4);
