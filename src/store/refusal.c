// Failures that wait for a lock to be given back. A refusal holds what base/error.h needs to say it; the texts that its
// arguments point to belong to the caller's descriptor, to the schema (which never frees them), or to the refusal's own
// excerpts, so they are there when it is raised.
#include "store/refusal.h"

#include "base/assert.h"

bool mi_refuse_with(mi_refusal *refusal, mica_result code, const char *pattern, const mi_argument *arguments,
                    int32_t argument_count) {
    MI_ASSERT(argument_count <= MI_REFUSAL_ARGUMENTS);
    refusal->code = code;
    refusal->pattern = pattern;
    refusal->argument_count = argument_count;
    for (int32_t i = 0; i < argument_count; i++) {
        refusal->arguments[i] = arguments[i];
    }
    return false;
}

bool mi_refuse_memory(mi_refusal *refusal, size_t byte_size) {
    refusal->code = MICA_OUT_OF_MEMORY;
    refusal->byte_size = byte_size;
    return false;
}

mica_result mi_refusal_raise(const mi_refusal *refusal, const mica_log_handler *log, const char *call) {
    if (refusal->code == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(log, call, refusal->byte_size);
    }
    return mi_fail_with(log, refusal->code, call, refusal->pattern, refusal->arguments, refusal->argument_count);
}
