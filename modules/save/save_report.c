// Messages of loading and saving: base/message.h says what they are fit for. What would be said of every entity of a
// file is said once.
#include "save_report.h"

#include <string.h>

_Static_assert(MI_MESSAGE_SIZE == MICA_SAVE_MESSAGE_SIZE, "the message is the report's text");

void mi_save_report_init(mi_save_report *report, const char *label, const mica_save_options *options) {
    *report = (mi_save_report){.label = label};
    if (options != NULL) {
        report->options = *options;
    }
}

void mi_save_report_release(mi_save_report *report) {
    json_decref(report->said);
    report->said = NULL;
}

static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) MI_PRINTF(3, 0);
static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) {
    mi_message made;
    mi_message_begin(&made, report->label);
    mi_message_append_list(&made, format, arguments);
    mi_message_finish(&made);
    memcpy(text, made.text, MICA_SAVE_MESSAGE_SIZE);
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

mica_result mi_save_refuse_memory(mi_save_report *report) {
    return mi_save_refuse(report, MICA_OUT_OF_MEMORY, "out of memory");
}

// Whether a warning is the first of its key; MICA_OUT_OF_MEMORY is reported.
static mica_result note_warning(mi_save_report *report, const char *key, bool *is_first) {
    *is_first = json_object_get(report->said, key) == NULL;
    if (!*is_first) {
        return MICA_OK;
    }
    if (report->said == NULL) {
        report->said = json_object();
    }
    // Keys were valid when they were read from a file; those of programs need not be.
    return json_object_set_new_nocheck(report->said, key, json_true()) == 0 ? MICA_OK : mi_save_refuse_memory(report);
}

mica_result mi_save_warn(mi_save_report *report, mica_result code, const char *key, const char *format, ...) {
    bool is_first = true;
    if (note_warning(report, key, &is_first) != MICA_OK) {
        return MICA_OUT_OF_MEMORY;
    }
    if (!is_first) {
        return MICA_OK;
    }
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
