// What has changed since a version, as far as a query asks: for pieces of a walk as a whole, then for single entities.
//
// Stamps of columns and pages say "may have changed since", and never too little: an unchanged piece costs a look at
// its stamps. Where a piece may have changed and more is known (row stamps, who was added), entities are looked at.
#pragma once

#include "world/filter.h"

// What a filter's query asks of changes is true of ...
typedef enum mi_verdict {
    MI_VERDICT_NONE, // nobody of a piece
    MI_VERDICT_SOME, // those for whom mi_filter_changes says so
    MI_VERDICT_ALL   // everybody
} mi_verdict;

// Rows of a chunk, the column of whose handles is `base`.
mi_verdict mi_since_chunk(const mi_filter *filter, const mi_table *table, uint8_t *base);
// Elements of a pool's page, that of a position.
mi_verdict mi_since_page(const mi_filter *filter, const mi_pool *pool, uint32_t position);

// Whether a stamp is later than what the filter's walk counts from. From 0 on everything counts.
static inline bool mi_since_counts(const mi_filter *filter, uint64_t stamp) {
    return stamp > filter->since || filter->since == 0;
}
// The same of a tracker's stamp.
static inline bool mi_since_tracked(const mi_filter *filter, uint64_t stamp) {
    return stamp > filter->tracked_since || filter->since == 0;
}

// The place of the first of `entities`, from place `at` on, of whom what the query asks of changes is true; `count`:
// nobody. Quick where stamps of entities alone decide.
uint32_t mi_since_skip(const mi_filter *filter, const mica_entity *entities, uint32_t at, uint32_t count);

// The stamp of what holds an entity's value: its column or page; 0: it does not have the component, or a tag.
uint64_t mi_since_stamp(const mi_store *store, mica_entity entity, const mi_query_change *change);
// Whether an entity that has the component has changed in it, or got it, as far as is known.
bool mi_since_holds(const mi_filter *filter, mica_entity entity, const mi_query_change *change);
// Of who looks from outside at a world that was restored: the outside version of the latest restore that may have
// exchanged the value of an entity that has the component; 0: none.
uint64_t mi_since_noted(const mi_filter *filter, mica_entity entity, const mi_query_change *change);
