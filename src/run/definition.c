// Copies of definitions of systems: what a definition points to by way of texts is copied; types, functions and `user`
// belong to the program, which keeps them.
//
// Invariants: a copy's lists of texts end where those of the original do; all texts that it points to are its own.
#include "run/definition.h"

#include <string.h>

static const mica_memory_purpose purpose = MICA_MEMORY_SYSTEMS;

void mi_definition_free(mi_heap *heap, mica_system_def *def) {
    mi_heap_release_text(heap, purpose, def->name);
    for (int32_t i = 0; i < MICA_SYSTEM_ORDER_MAX; i++) {
        mi_heap_release_text(heap, purpose, def->before[i]);
        mi_heap_release_text(heap, purpose, def->after[i]);
    }
    mi_heap_release(heap, purpose, def, sizeof(*def), _Alignof(mica_system_def));
}

// Copies a list of texts that ends at the first NULL; false: out of memory, and `to` holds what was copied.
static bool copy_texts(mi_heap *heap, const char **to, const char *const *from) {
    for (int32_t i = 0; i < MICA_SYSTEM_ORDER_MAX && from[i] != NULL; i++) {
        to[i] = mi_heap_copy_text(heap, purpose, from[i]);
        if (to[i] == NULL) {
            return false;
        }
    }
    return true;
}

mica_system_def *mi_definition_copy(mi_heap *heap, const mica_system_def *def) {
    mica_system_def *copy = mi_heap_allocate(heap, purpose, sizeof(*copy), _Alignof(mica_system_def));
    if (copy == NULL) {
        return NULL;
    }
    *copy = *def;
    memset(copy->before, 0, sizeof(copy->before));
    memset(copy->after, 0, sizeof(copy->after));
    copy->name = mi_heap_copy_text(heap, purpose, def->name);
    if (copy->name == NULL || !copy_texts(heap, copy->before, def->before) ||
        !copy_texts(heap, copy->after, def->after)) {
        mi_definition_free(heap, copy);
        return NULL;
    }
    return copy;
}
