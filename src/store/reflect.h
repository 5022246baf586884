// What a schema knows of a type's fields once all its nested types are known.
#pragma once

#include "store/ranges.h"

// Immutable once published.
struct mi_reflection {
    char *names; // a copy of the text in which every name is closed by zero
    size_t names_byte_size;
    MI_ARRAY(mica_field) fields;
    MI_ARRAY(mica_enumerator) enumerators;
    MI_ARRAY(uint32_t) entities; // offsets of all entities in a value, those in nested structs and arrays included
    mi_ranges ranges;            // what counts of a value
};

// What is known of a type's fields; NULL: nothing yet.
static inline const mi_reflection *mi_type_reflection(const mi_type *type) {
    return (const mi_reflection *)mi_load_pointer(&type->reflection);
}

// NULL is allowed.
void mi_reflection_free(mi_reflection *reflection, mi_heap *heap);
