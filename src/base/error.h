// The thread's last error. A failure keeps its code, a pattern, and the pattern's arguments; the text is made when it
// is asked for, or at once when a log handler is set.
#pragma once

#include <mica/entity.h>
#include <mica/result.h>

// For functions that say what went wrong: kept out of line, so that callers that succeed save nothing for them.
#if defined(__GNUC__)
#define MI_COLD __attribute__((cold, noinline))
#else
#define MI_COLD
#endif

// For functions that a fast path falls back to: not cold, but kept apart so that the fast path stays short.
#if defined(__GNUC__)
#define MI_APART __attribute__((noinline))
#else
#define MI_APART
#endif

// For functions that are made anew for each caller, which gives them constants.
#if defined(__GNUC__)
#define MI_INLINE static inline __attribute__((always_inline))
#else
#define MI_INLINE static inline
#endif

// Sets the thread's last error and returns `code`. `pattern` is a string literal that is kept by address; in it {}
// stands for the next argument, in order, each made by one of the MI_… macros below. Texts are copied (cut at 95
// bytes). At most 6 arguments.
//   return mi_fail(log, MICA_STALE, "mica_entity_set", "{} has no entity behind it", MI_ENTITY(entity));
// `call` is the public function's name, as a literal. `log` may be NULL.
typedef enum mi_argument_kind {
    MI_ARGUMENT_TEXT,
    MI_ARGUMENT_INT,
    MI_ARGUMENT_UINT,
    MI_ARGUMENT_ENTITY
} mi_argument_kind;

typedef struct mi_argument {
    mi_argument_kind kind;
    union {
        const char *text;
        int64_t integer;
        uint64_t natural;
        mica_entity entity;
    } of;
} mi_argument;

#define MI_TEXT(X) ((mi_argument){.kind = MI_ARGUMENT_TEXT, .of.text = (X)})
#define MI_INT(X) ((mi_argument){.kind = MI_ARGUMENT_INT, .of.integer = (int64_t)(X)})
#define MI_UINT(X) ((mi_argument){.kind = MI_ARGUMENT_UINT, .of.natural = (uint64_t)(X)})
#define MI_ENTITY(X) ((mi_argument){.kind = MI_ARGUMENT_ENTITY, .of.entity = (X)})

mica_result mi_fail_with(const mica_log_handler *log, mica_result code, const char *call, const char *pattern,
                         const mi_argument *arguments, int32_t argument_count);

// The first form is for patterns without arguments.
#define mi_fail_plain(LOG, CODE, CALL, PATTERN) mi_fail_with((LOG), (CODE), (CALL), (PATTERN), NULL, 0)
#define mi_fail(LOG, CODE, CALL, PATTERN, ...)                                         \
    mi_fail_with((LOG), (CODE), (CALL), (PATTERN), (const mi_argument[]){__VA_ARGS__}, \
                 (int32_t)(sizeof((const mi_argument[]){__VA_ARGS__}) / sizeof(mi_argument)))

// An argument holds 95 bytes. A longer text goes as three arguments that follow each other.
typedef struct mi_pieces {
    char first[96];
    char second[96];
    const char *rest;
} mi_pieces;

mi_pieces mi_text_pieces(const char *text);

// Sends a formatted line (printf's pattern) to a handler; nothing if it has no function.
void mi_log(const mica_log_handler *log, mica_log_level level, const char *pattern, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

// Out of memory, said without allocating; `byte_size` 0: not known how much. Says what was noted, if something was.
// Returns MICA_OUT_OF_MEMORY.
mica_result mi_fail_memory(const mica_log_handler *log, const char *call, size_t byte_size);

// Notes why memory was refused just now, for the thread's next mi_fail_memory: a heap knows of a limit, and those who
// say that a call failed do not. Arguments as for mi_fail, whose texts are literals. What was noted is forgotten when
// it is said, and when memory is refused for no such reason.
void mi_note_shortage(const char *pattern, const mi_argument *arguments, int32_t argument_count);
void mi_forget_shortage(void);
