// Rows of tables without hooks that move as bytes: along a plain edge (see mi_edge), and into the hole that a row
// leaves.
//
// The two tables of a plain edge differ in one component, so that their columns correspond by number but for one gap,
// and nothing has to be looked up. These functions move the row and fill the hole that it leaves in one pass; an entity
// without a row comes to its first one. They tell nobody, are for a time when nobody has a mark (MI_EXTRA_MARKS), and
// cannot fail: there is room.
#pragma once

#include "store/store.h"

// Whether an edge is plain and adds a component of this value (NULL: a tag), or removes one.
static inline bool mi_edge_takes(const mi_edge *edge, bool removes, const void *value) {
    return removes ? edge->gap != MI_GAP_NONE : value != NULL ? edge->gap < MI_GAP_TAG : edge->gap == MI_GAP_TAG;
}

// The plain edge of a component that leads away from `location` and whose table has room for the row; NULL: there is
// none, or it is not found at once.
static inline const mi_edge *mi_store_plain_edge(const mi_store *store, uint32_t location, mica_component component,
                                                 bool removes, const void *value) {
    const uint32_t key = mi_edge_key(component, removes);
    const mi_edge *edge = mi_table_near_edge(mi_store_table_at(store, location), key);
    return MICA_LIKELY(edge->key == key && mi_edge_takes(edge, removes, value) && edge->to->row_count < edge->to->room)
               ? edge
               : NULL;
}

// Move an entity, which is at `location`, along such an edge. Adding takes the value, which may lie in the world; NULL:
// the component is a tag. It returns where the value is now, removing returns MICA_OK.
void *mi_store_cross_adding(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge,
                            const void *value);
mica_result mi_store_cross_removing(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge);

// Makes the chunk of a row near the end of a table the one where rows come and go: what tail_first and its like say.
void mi_store_find_tail(const mi_store *store, mi_table *table, uint32_t row);

// Takes away the row at `location` of a table without hooks, whose entity has ended; MICA_OK, so that a verb can end
// with the call.
mica_result mi_store_take_row(mi_store *store, uint32_t location);
