// What a system reads and writes, by component: what its queries say and what its definition lists beside them.
#pragma once

#include "base/array.h"
#include "world/query.h"

typedef struct mi_access_entry {
    mica_component component;
    bool writes; // and may read
} mi_access_entry;

// Ascends by component, none of which stands twice. Zero touches nothing.
typedef struct mi_access {
    MI_ARRAY(mi_access_entry) entries;
} mi_access;

// Adds a component; what is written stays written. False: out of memory, nothing has changed. Sets no error.
// O(entries).
bool mi_access_add(mi_access *access, mi_heap *heap, mica_component component, bool writes);

// What a walk over a query with the term does with the term's component.
bool mi_access_touches(const mi_term *term);
bool mi_access_writes(const mi_term *term);

// Adds what a walk over the query touches. That a component is there or not is no access, since structure stands still
// while systems run side by side; that it has changed, was added or was removed is. As mi_access_add.
bool mi_access_add_query(mi_access *access, mi_heap *heap, const mica_query *query);

// What is said of a component; NULL: it is not touched. O(log(entries)).
const mi_access_entry *mi_access_find(const mi_access *access, mica_component component);

// The first component, from the id `from` on, that one of the two writes and the other touches; 0: there is none.
// O(entries).
mica_component mi_access_conflict(const mi_access *a, const mi_access *b, uint32_t from);

// Whether somebody observes what is written.
bool mi_access_is_observed(const mi_access *access, const mica_world *world);

void mi_access_free(mi_access *access, mi_heap *heap);
