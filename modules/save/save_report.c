// Messages of loading and saving. A message is cut at its capacity, never overflows, and holds no control characters,
// since texts in it come from files.
#include "save_report.h"

#include <stdio.h>
#include <string.h>

void mi_save_report_init(mi_save_report *report, const char *label, const mica_save_options *options) {
    *report = (mi_save_report){.label = label == NULL ? "memory" : label};
    if (options != NULL) {
        report->options = *options;
    }
}

static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) MI_SAVE_PRINTF(3, 0);
static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) {
    const int label = snprintf(text, MICA_SAVE_MESSAGE_SIZE, "%.200s: ", report->label);
    const size_t used = label < 0 ? 0 : (size_t)label;
    vsnprintf(text + used, MICA_SAVE_MESSAGE_SIZE - used, format, arguments);
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
}

static void send(const mi_save_report *report, mica_log_level level, const char *text) {
    if (report->options.log.function != NULL) {
        report->options.log.function(report->options.log.user, level, text);
    }
}

mica_result mi_save_refuse(mi_save_report *report, mica_result code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    format_message(report, report->text, format, arguments);
    va_end(arguments);
    report->code = code;
    send(report, MICA_LOG_ERROR, report->text);
    return code;
}

mica_result mi_save_warn(mi_save_report *report, mica_result code, const char *format, ...) {
    char text[MICA_SAVE_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    format_message(report, text, format, arguments);
    va_end(arguments);
    send(report, report->options.strict ? MICA_LOG_ERROR : MICA_LOG_WARNING, text);
    if (!report->options.strict) {
        return MICA_OK;
    }
    memcpy(report->text, text, sizeof(text));
    report->code = code;
    return code;
}
