// A failure that is found under a lock and said after it: log handlers are never called with a lock held.
#pragma once

#include "base/error.h"
#include "store/lexer.h"

#define MI_REFUSAL_ARGUMENTS 6

typedef struct mi_refusal {
    mica_result code;
    const char *pattern;
    mi_argument arguments[MI_REFUSAL_ARGUMENTS]; // texts must outlive the refusal
    int32_t argument_count;
    size_t byte_size;                  // of MICA_OUT_OF_MEMORY
    char excerpts[2][MI_EXCERPT_SIZE]; // room for texts that arguments point to
} mi_refusal;

// Keeps what mi_fail_with takes. Returns false, the usual answer of what refuses.
bool mi_refuse_with(mi_refusal *refusal, mica_result code, const char *pattern, const mi_argument *arguments,
                    int32_t argument_count);
bool mi_refuse_memory(mi_refusal *refusal, size_t byte_size);
#define mi_refuse(REFUSAL, CODE, PATTERN, ...)                                       \
    mi_refuse_with((REFUSAL), (CODE), (PATTERN), (const mi_argument[]){__VA_ARGS__}, \
                   (int32_t)(sizeof((const mi_argument[]){__VA_ARGS__}) / sizeof(mi_argument)))

// Makes the refusal the thread's last error; returns its code.
mica_result mi_refusal_raise(const mi_refusal *refusal, const mica_log_handler *log, const char *call);
