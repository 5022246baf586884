// Rows of tables without hooks that move as bytes: along a plain edge (see mi_edge), and into the hole that a row
// leaves.
//
// The two tables of a plain edge differ in one component, so that their columns correspond by number but for one gap,
// and nothing has to be looked up. These functions move the row and fill the hole that it leaves in one pass. They are
// for entities of which nobody is told, while nobody has a mark (MI_EXTRA_MARKS), and cannot fail: there is room.
#pragma once

#include "store/store.h"

// Whether a row can go along an edge, which has to be the one that is asked for, from a table that is `without` hooks.
static inline bool mi_edge_has_room(const mi_edge *edge) {
    return edge->to->row_count < edge->to->room;
}

// Whether an edge is plain and adds a component of this value (NULL: a tag), or removes one.
static inline bool mi_edge_takes(const mi_edge *edge, bool removes, const void *value) {
    return removes ? edge->gap != MI_GAP_NONE : value != NULL ? edge->gap < MI_GAP_TAG : edge->gap == MI_GAP_TAG;
}

// These return MICA_OK, so that a verb can end with the call.

// Move an entity's row, which is at `location`, along an edge that adds a component, of the value given, which may lie
// in the world; NULL: the component is a tag. Or along one that removes one.
mica_result mi_store_cross_adding(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge,
                                  const void *value);
mica_result mi_store_cross_removing(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge);

// Makes the chunk of a row near the end of a table the one where rows come and go: what tail_first and its like say.
void mi_store_find_tail(const mi_store *store, mi_table *table, uint32_t row);

// Takes away the row at `location` of a table without hooks, whose entity has ended.
mica_result mi_store_take_row(mi_store *store, uint32_t location);
