// Messages about a glTF file: base/message.h says what they are fit for. The number of warnings is limited because a
// hostile file could cause one a byte.
#include "gltf_report.h"

static void append_place(mi_message *to, mi_gltf_place place) {
    mi_message_append(to, "/%s", place.list);
    if (place.index >= 0) {
        mi_message_append(to, "/%lld", (long long)place.index);
    }
    if (place.member) {
        mi_message_append(to, "/%s", place.member);
    }
    if (place.element >= 0) {
        mi_message_append(to, "/%lld", (long long)place.element);
    }
    mi_message_append(to, ": ");
}

static mica_result record(mi_gltf_report *report, mica_result code, mi_message *done) {
    mi_message_finish(done);
    report->code = code;
    memcpy(report->text, done->text, MI_MESSAGE_SIZE);
    return code;
}

mica_result mi_gltf_refuse(mi_gltf_report *report, mica_result code, const char *format, ...) {
    mi_message made;
    mi_message_begin(&made, report->label);
    va_list arguments;
    va_start(arguments, format);
    mi_message_append_list(&made, format, arguments);
    va_end(arguments);
    return record(report, code, &made);
}

mica_result mi_gltf_refuse_at(mi_gltf_report *report, mica_result code, mi_gltf_place place, const char *format, ...) {
    mi_message made;
    mi_message_begin(&made, report->label);
    append_place(&made, place);
    va_list arguments;
    va_start(arguments, format);
    mi_message_append_list(&made, format, arguments);
    va_end(arguments);
    return record(report, code, &made);
}

void mi_gltf_warn_at(mi_gltf_report *report, mi_gltf_place place, const char *format, ...) {
    if (!report->warning || report->warning_count >= MI_GLTF_WARNING_LIMIT) {
        return;
    }
    report->warning_count++;
    mi_message made;
    mi_message_begin(&made, report->label);
    if (report->warning_count == MI_GLTF_WARNING_LIMIT) {
        mi_message_append(&made, "further warnings are left out");
    } else {
        append_place(&made, place);
        va_list arguments;
        va_start(arguments, format);
        mi_message_append_list(&made, format, arguments);
        va_end(arguments);
    }
    mi_message_finish(&made);
    report->warning(report->user, made.text);
}

const char *mi_gltf_quote(char buffer[MI_GLTF_QUOTE_SIZE], const char *text) {
    size_t byte_size = mi_prefix_size(text, MI_GLTF_QUOTE_SIZE - sizeof "\"...\"");
    const char *end = text[byte_size] ? "...\"" : "\"";
    buffer[0] = '"';
    memcpy(buffer + 1, text, byte_size);
    memcpy(buffer + 1 + byte_size, end, strlen(end) + 1);
    return buffer;
}
