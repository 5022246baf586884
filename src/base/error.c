// The thread's last error, result codes by name, and lines for log handlers.
//
// A failure is often expected (a stale handle, a probe), so it costs a few stores and copies; the sentence is made when
// somebody asks for it or listens. Invariants: arguments[0 .. argument_count) are complete, and a text among them
// points into `texts` of the same thread; `call` and `pattern` are literals of this library; `sentence` is valid where
// `has_sentence` says so, and always closed by a zero. What does not fit is cut between characters and ends with "...".
// Nothing here allocates, so that being out of memory can be said.
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/os.h"

enum { ARGUMENT_LIMIT = 6, TEXT_SIZE = 96, SENTENCE_SIZE = 512 };

typedef struct last_error {
    mica_result code;
    int32_t argument_count;
    const char *call;
    const char *pattern;
    mi_argument arguments[ARGUMENT_LIMIT];
    char texts[ARGUMENT_LIMIT][TEXT_SIZE];
    char sentence[SENTENCE_SIZE];
    bool has_sentence;
} last_error;

static MI_THREAD_LOCAL last_error last;

// Why memory was refused, part of the last error in the making. No pattern: nothing is noted.
typedef struct shortage {
    const char *pattern;
    mi_argument arguments[ARGUMENT_LIMIT];
    int32_t argument_count;
} shortage;

static MI_THREAD_LOCAL shortage noted;

typedef struct result_words {
    const char *name;
    const char *text;
} result_words;

static const result_words words_of_results[MICA_RESULT_COUNT] = {
#define RESULT_WORDS(CODE, TEXT) [CODE] = {#CODE, TEXT},
    MICA_RESULTS(RESULT_WORDS)
#undef RESULT_WORDS
};

// A text that grows within a fixed place.
typedef struct writer {
    char *text;
    size_t size;   // of the place
    size_t length; // written, without the closing zero
    bool cut;
} writer;

// Replaces the end of a text that did not fit by an ellipsis; a character of several bytes (UTF-8) goes as a whole.
static void write_ellipsis(writer *out) {
    static const char ellipsis[] = "...";
    size_t length = out->size - sizeof(ellipsis);
    while (length > 0 && ((unsigned char)out->text[length] & 0xC0u) == 0x80u) {
        length--;
    }
    memcpy(out->text + length, ellipsis, sizeof(ellipsis));
    out->length = length + sizeof(ellipsis) - 1;
    out->cut = true;
}

static void write_bytes(writer *out, const char *bytes, size_t byte_size) {
    if (out->cut) {
        return;
    }
    const size_t room = out->size - out->length - 1;
    const size_t fitting = byte_size < room ? byte_size : room;
    memcpy(out->text + out->length, bytes, fitting);
    out->length += fitting;
    out->text[out->length] = 0;
    if (fitting < byte_size) {
        write_ellipsis(out);
    }
}

static void write_text(writer *out, const char *text) {
    write_bytes(out, text, strlen(text));
}

static void write_natural(writer *out, uint64_t number) {
    char digits[20];
    size_t start = sizeof(digits);
    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    write_bytes(out, digits + start, sizeof(digits) - start);
}

static void write_entity(writer *out, mica_entity entity) {
    if (mica_entity_is_null(entity)) {
        write_text(out, "entity null");
    } else if (mica_entity_is_placeholder(entity)) {
        write_text(out, "placeholder ");
        write_natural(out, mica_entity_index(entity));
    } else {
        write_text(out, "entity ");
        write_natural(out, mica_entity_index(entity));
        write_text(out, ":");
        write_natural(out, mica_entity_generation(entity));
    }
}

static void write_argument(writer *out, const mi_argument *argument) {
    switch (argument->kind) {
    case MI_ARGUMENT_TEXT:
        write_text(out, argument->of.text);
        break;
    case MI_ARGUMENT_INT:
        if (argument->of.integer < 0) {
            write_text(out, "-");
        }
        write_natural(out,
                      argument->of.integer < 0 ? 0 - (uint64_t)argument->of.integer : (uint64_t)argument->of.integer);
        break;
    case MI_ARGUMENT_UINT:
        write_natural(out, argument->of.natural);
        break;
    case MI_ARGUMENT_ENTITY:
        write_entity(out, argument->of.entity);
        break;
    }
}

static void make_sentence(last_error *error) {
    writer out = {.text = error->sentence, .size = sizeof(error->sentence)};
    write_text(&out, error->call);
    write_text(&out, ": ");
    const char *rest = error->pattern;
    for (int32_t i = 0; i < error->argument_count; i++) {
        const char *place = strstr(rest, "{}");
        MI_ASSERT(place != NULL);
        if (place == NULL) {
            break;
        }
        write_bytes(&out, rest, (size_t)(place - rest));
        write_argument(&out, &error->arguments[i]);
        rest = place + 2;
    }
    write_text(&out, rest);
    error->has_sentence = true;
}

mica_result mi_fail_with(const mica_log_handler *log, mica_result code, const char *call, const char *pattern,
                         const mi_argument *arguments, int32_t argument_count) {
    MI_ASSERT(code > MICA_OK && code < MICA_RESULT_COUNT);
    MI_ASSERT(argument_count >= 0 && argument_count <= ARGUMENT_LIMIT);
    last.code = code;
    last.call = call;
    last.pattern = pattern;
    last.argument_count = argument_count < ARGUMENT_LIMIT ? argument_count : ARGUMENT_LIMIT;
    // An argument may be the sentence of the failure before this one: it is copied before the new one is written.
    for (int32_t i = 0; i < last.argument_count; i++) {
        last.arguments[i] = arguments[i];
        if (arguments[i].kind == MI_ARGUMENT_TEXT) {
            writer copy = {.text = last.texts[i], .size = sizeof(last.texts[i])};
            write_text(&copy, arguments[i].of.text != NULL ? arguments[i].of.text : "null");
            last.arguments[i].of.text = last.texts[i];
        }
    }
    last.has_sentence = false;
    if (log != NULL && log->function != NULL) {
        log->function(log->user, MICA_LOG_ERROR, mica_last_error());
    }
    return code;
}

void mi_note_shortage(const char *pattern, const mi_argument *arguments, int32_t argument_count) {
    MI_ASSERT(argument_count >= 0 && argument_count <= ARGUMENT_LIMIT);
    noted.pattern = pattern;
    noted.argument_count = argument_count;
    memcpy(noted.arguments, arguments, (size_t)argument_count * sizeof(mi_argument));
}

void mi_forget_shortage(void) {
    noted.pattern = NULL;
}

mica_result mi_fail_memory(const mica_log_handler *log, const char *call, size_t byte_size) {
    if (noted.pattern != NULL) {
        const char *pattern = noted.pattern;
        noted.pattern = NULL;
        return mi_fail_with(log, MICA_OUT_OF_MEMORY, call, pattern, noted.arguments, noted.argument_count);
    }
    return byte_size == 0
               ? mi_fail_plain(log, MICA_OUT_OF_MEMORY, call, "out of memory")
               : mi_fail(log, MICA_OUT_OF_MEMORY, call, "out of memory, {} bytes were asked for", MI_UINT(byte_size));
}

void mi_log(const mica_log_handler *log, mica_log_level level, const char *pattern, ...) {
    if (log == NULL || log->function == NULL) {
        return;
    }
    char line[SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, pattern);
    const int length = vsnprintf(line, sizeof(line), pattern, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    if ((size_t)length >= sizeof(line)) {
        write_ellipsis(&(writer){.text = line, .size = sizeof(line)});
    }
    log->function(log->user, level, line);
}

const char *mica_result_name(mica_result result) {
    return (unsigned)result < MICA_RESULT_COUNT ? words_of_results[result].name : "MICA_UNKNOWN_RESULT";
}

const char *mica_result_text(mica_result result) {
    return (unsigned)result < MICA_RESULT_COUNT ? words_of_results[result].text : "not a result code";
}

mica_result mica_last_result(void) {
    return last.code;
}

const char *mica_last_error(void) {
    if (last.code == MICA_OK) {
        return "";
    }
    if (!last.has_sentence) {
        make_sentence(&last);
    }
    return last.sentence;
}

void mica_error_clear(void) {
    last.code = MICA_OK;
    last.has_sentence = false;
}

mi_pieces mi_text_pieces(const char *text) {
    mi_pieces pieces = {.rest = text};
    const size_t size = sizeof(pieces.first) - 1;
    char *const places[] = {pieces.first, pieces.second};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(pieces.rest);
        memcpy(places[i], pieces.rest, length < size ? length : size);
        pieces.rest += length < size ? length : size;
    }
    return pieces;
}
