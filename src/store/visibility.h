// Which entities and components queries leave out: disabled and killed entities, and components disabled on an entity.
//
// All of it is keyed by entity index and so moves with nobody. Chunks count the rows that are hidden (disabled or
// killed) in the head of their handles, so that a walk looks at single rows only where there are some.
#pragma once

#include "store/store.h"

static inline bool mi_store_hides_any(const mi_store *store) {
    return (store->disabled.count | store->killed.count) != 0;
}
static inline bool mi_store_hides(const mi_store *store, uint32_t entity_index) {
    return mi_marks_has(&store->disabled, entity_index) || mi_marks_has(&store->killed, entity_index);
}
// The entities on which a component is disabled; NULL: none.
static inline const mi_marks *mi_store_toggled(const mi_store *store, mica_component component) {
    return component < store->toggled.count && store->toggled.data[component].count > 0
               ? &store->toggled.data[component]
               : NULL;
}

// Marks a living entity, or takes the mark away; false: out of memory, and nothing has changed.
bool mi_store_set_disabled(mi_store *store, mica_entity entity, bool disabled);
bool mi_store_set_killed(mi_store *store, mica_entity entity, bool killed);
bool mi_store_set_toggled(mi_store *store, mica_entity entity, mica_component component, bool disabled);

// The entity loses this component: it is disabled no more.
void mi_store_forget_toggle(mi_store *store, mica_entity entity, mica_component component);
// The entity ends: takes all its marks away.
void mi_store_forget_marks(mi_store *store, mica_entity entity);
// All entities end.
void mi_store_clear_visibility(mi_store *store);
void mi_store_free_visibility(mi_store *store);

// A row came to be, or is about to go, at a location with this entity; called only while mi_store_hides_any.
void mi_store_count_hidden_row(mi_store *store, mica_entity entity, uint32_t location, bool comes);

// The first thing that is wrong, or NULL. O(rows).
const char *mi_store_validate_visibility(const mi_store *store);
