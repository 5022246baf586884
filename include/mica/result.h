/// \file result.h
/// Result codes, the thread's last error, and the log handler.
///
/// A call that can fail returns a `mica_result`, or a pointer, handle or id that is null on failure. A failed call
/// leaves the world as it was. What failed, with the names of what was involved, is kept for the calling thread until
/// its next failure.
#pragma once

#include <mica/config.h>

MICA_BEGIN

/// All result codes with their texts. `MICA_OK` is 0.
#define MICA_RESULTS(X)                                               \
    X(MICA_OK, "done")                                                \
    X(MICA_OUT_OF_MEMORY, "out of memory")                            \
    X(MICA_INVALID, "invalid argument")                               \
    X(MICA_STALE, "the handle is stale, null, or a placeholder")      \
    X(MICA_EXISTS, "there already")                                   \
    X(MICA_ABSENT, "not there")                                       \
    X(MICA_LOCKED, "structure is locked")                             \
    X(MICA_LIMIT, "a limit is reached")                               \
    X(MICA_MISMATCH, "known by this name with other properties")      \
    X(MICA_BAD_TYPE, "the type cannot be registered")                 \
    X(MICA_UNKNOWN, "not known")                                      \
    X(MICA_NO_VALUE, "a tag has no value")                            \
    X(MICA_NO_COPY, "the type cannot be copied")                      \
    X(MICA_NO_ACCESS, "access was not declared")                      \
    X(MICA_CYCLE, "a cycle")                                          \
    X(MICA_UNREFLECTED, "the fields of the type are not known")       \
    X(MICA_IO, "reading or writing failed")                           \
    X(MICA_FORMAT, "malformed input")                                 \
    X(MICA_UNSUPPORTED, "not supported")                              \
    X(MICA_INCOMPATIBLE, "built for another version or handle width") \
    X(MICA_FAILED, "a system failed")

/// What a call came to: `MICA_OK` is 0, all others are failures, `MICA_RESULT_COUNT` codes in all.
typedef enum mica_result {
#define MICA_RESULT_ENUMERATOR(CODE, TEXT) CODE,
    MICA_RESULTS(MICA_RESULT_ENUMERATOR)
#undef MICA_RESULT_ENUMERATOR
        MICA_RESULT_COUNT
} mica_result;

/// The name of a code as it is written in C, such as "MICA_STALE"; "MICA_UNKNOWN_RESULT" for a number that is no code.
/// O(1), any thread.
MICA_API const char *mica_result_name(mica_result result);

/// The text of a code in a few words. O(1), any thread.
MICA_API const char *mica_result_text(mica_result result);

/// The code of this thread's latest failure; `MICA_OK` if there was none since the start or `mica_error_clear`. Success
/// does not reset it. O(1).
MICA_API mica_result mica_last_result(void);

/// The latest failure of this thread as one sentence that names the call and what it was about; "" if there was none.
/// The text is made when asked for, belongs to the thread, and stays until the thread's next failure or
/// `mica_error_clear`. O(length of the text).
MICA_API const char *mica_last_error(void);

/// Forgets this thread's latest failure. O(1).
MICA_API void mica_error_clear(void);

/// How grave a line of the log is.
typedef enum mica_log_level { MICA_LOG_ERROR, MICA_LOG_WARNING, MICA_LOG_INFO } mica_log_level;

/// Receives a line without its line end. Called on the thread that caused it; must not call the world back.
typedef void (*mica_log_function)(void *user, mica_log_level level, const char *text);

/// Where a schema or a world sends what it has to say. A zero handler drops everything.
typedef struct mica_log_handler {
    mica_log_function function;
    void *user;
} mica_log_handler;

MICA_END
