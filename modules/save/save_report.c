// Messages of loading and saving.
//
// A message fits its array and is fit for a terminal: texts in it come from files, so control characters are replaced,
// and what is cut off is cut between two characters of UTF-8. A long file name keeps its end, so that place and cause
// are not what is lost. What would be said of every entity of a file is said once.
#include "save_report.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_LIMIT = 160 };

void mi_save_report_init(mi_save_report *report, const char *label, const mica_save_options *options) {
    *report = (mi_save_report){.label = label == NULL ? "memory" : label};
    if (options != NULL) {
        report->options = *options;
    }
}

void mi_save_report_release(mi_save_report *report) {
    json_decref(report->said);
    report->said = NULL;
}

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

// Appends to a text of MICA_SAVE_MESSAGE_SIZE bytes, of which `used` are taken.
static size_t append(char *text, size_t used, const char *format, va_list arguments) MI_SAVE_PRINTF(3, 0);
static size_t append(char *text, size_t used, const char *format, va_list arguments) {
    const size_t room = MICA_SAVE_MESSAGE_SIZE - used;
    const int written = vsnprintf(text + used, room, format, arguments);
    if (written < 0 || (size_t)written < room) {
        return written < 0 ? used : used + (size_t)written;
    }
    // Cut: the last character may have lost bytes, so it goes as a whole.
    size_t end = MICA_SAVE_MESSAGE_SIZE - 1;
    while (end > used && is_continuation(text[end - 1])) {
        end--;
    }
    end -= end > used && (unsigned char)text[end - 1] >= 0xC0;
    text[end] = '\0';
    return end;
}

static size_t append_text(char *text, size_t used, const char *format, ...) MI_SAVE_PRINTF(3, 4);
static size_t append_text(char *text, size_t used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t end = append(text, used, format, arguments);
    va_end(arguments);
    return end;
}

static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) MI_SAVE_PRINTF(3, 0);
static void format_message(const mi_save_report *report, char text[MICA_SAVE_MESSAGE_SIZE], const char *format,
                           va_list arguments) {
    const char *label = report->label;
    const size_t label_size = strlen(label);
    const bool is_cut = label_size > LABEL_LIMIT;
    label += is_cut ? label_size - LABEL_LIMIT : 0;
    while (is_cut && is_continuation(*label)) {
        label++;
    }
    (void)append(text, append_text(text, 0, "%s%s: ", is_cut ? "..." : "", label), format, arguments);
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
