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

// Makes sure of the memory that disabling an entity, a component of it (0: none), or killing it takes; false: out of
// memory (store->failure).
bool mi_store_open_mark(mi_store *store, mica_entity entity, mica_component component, bool kills);
// Marks a living entity, or takes the mark away; false: out of memory (store->failure), and nothing has changed.
bool mi_store_set_disabled(mi_store *store, mica_entity entity, bool disabled);
bool mi_store_set_killed(mi_store *store, mica_entity entity, bool killed);
// The entity has the component.
bool mi_store_set_toggled(mi_store *store, mica_entity entity, mica_component component, bool disabled);

// Hides a clone and its components as those of the entity that it was made from, except that it is not killed; it has
// its row and elements. False: out of memory (store->failure); the clone is to be stripped of what it got.
bool mi_store_copy_marks(mi_store *store, mica_entity from, mica_entity to);

// What mi_store_forget_toggle and mi_store_forget_marks are for where there is something to forget.
void mi_store_drop_toggle(mi_store *store, mica_entity entity, mica_component component);
void mi_store_drop_marks(mi_store *store, mica_entity entity);

// The entity loses this component, or has lost it: it is disabled no more.
static inline void mi_store_forget_toggle(mi_store *store, mica_entity entity, mica_component component) {
    if (MICA_UNLIKELY(store->toggle_count != 0)) {
        mi_store_drop_toggle(store, entity, component);
    }
}
// The entity is about to end, and still has its row and elements: takes all its marks away. O(its components) if
// anybody has a mark, otherwise O(1).
static inline void mi_store_forget_marks(mi_store *store, mica_entity entity) {
    if (MICA_UNLIKELY((store->extras & MI_EXTRA_MARKS) != 0)) {
        mi_store_drop_marks(store, entity);
    }
}

// All marks there are, apart from those of a store.
typedef struct mi_hidden {
    mi_marks disabled;
    mi_marks killed;
    MI_ARRAY(mi_marks) toggled; // by component id
    uint32_t toggle_count;      // members of all of those
} mi_hidden;

void mi_hidden_free(mi_hidden *hidden, mi_heap *heap);
// Exchanges the marks of a store with others, which are right for the rows and elements that there are.
void mi_store_exchange_marks(mi_store *store, mi_hidden *hidden);
// Counts the hidden rows of all chunks anew. O(chunks + hidden entities).
void mi_store_recount_hidden(mi_store *store);

// All entities end.
void mi_store_clear_visibility(mi_store *store);
void mi_store_free_visibility(mi_store *store);
// Gives back the memory of marks that nobody has.
void mi_store_trim_visibility(mi_store *store);

// A row came to be, or is about to go, at a location with this entity; called only while mi_store_hides_any.
void mi_store_count_hidden_row(mi_store *store, mica_entity entity, uint32_t location, bool comes);

// The first thing that is wrong, or NULL. O(rows).
const char *mi_store_validate_visibility(const mi_store *store);
