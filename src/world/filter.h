// Which single entities a query takes, beyond what their tables say: pools, disabled and killed entities, disabled
// components, changes.
#pragma once

#include "store/visibility.h"
#include "world/query.h"
#include "world/tracker.h"

// What has to be looked at for each entity.
#define MI_TEST_TABLE 1u   // its table is any: not known to match
#define MI_TEST_MASK 2u    // its pools
#define MI_TEST_CLAUSES 4u // any-of clauses with members in pools
#define MI_TEST_HIDDEN 8u  // whether it is disabled or killed
#define MI_TEST_TOGGLES 16u
#define MI_TEST_CHANGES 32u // what the query asks of changes (since.h)

typedef struct mi_filter {
    const mica_query *query;
    const mi_store *store;
    uint32_t tests;
    uint64_t since;          // later changes than this version count; 0: all
    bool is_outside;         // who asks looks from outside, and the world was restored
    uint64_t noted_since;    // of who does: exchanges by later restores (outside version) count as well
    uint64_t tracked_since;  // what trackers' stamps are compared with: `since`, or of who does `noted_since`
    uint64_t toggles;        // as mi_query_active_toggles
    const uint64_t *earlier; // pools, mask_word_count words of them, that a former part of the walk went through; NULL
} mi_filter;

// The filter of a query for entities of any table, for who asks since a version (an inside one, or, with
// MI_SINCE_OUTSIDE, an outside one). MI_TEST_TABLE needs the query to be up to date.
mi_filter mi_filter_make(const mica_query *query, uint64_t since);

// Masks where disabled components or earlier pools have a say, clauses, toggles.
bool mi_filter_pools_slowly(const mi_filter *filter, mica_entity entity);
bool mi_filter_clauses(const mi_filter *filter, mica_entity entity);
bool mi_filter_toggles(const mi_filter *filter, mica_entity entity);
bool mi_filter_hidden(const mi_filter *filter, mica_entity entity);
bool mi_filter_changes(const mi_filter *filter, mica_entity entity);

static inline bool mi_filter_pools(const mi_filter *filter, mica_entity entity) {
    const mica_query *query = filter->query;
    if (MICA_UNLIKELY(filter->toggles != 0 || filter->earlier != NULL)) {
        return mi_filter_pools_slowly(filter, entity);
    }
    const uint64_t *mask = mi_store_mask(filter->store, entity);
    for (uint32_t i = 0; i < query->mask_word_count; i++) {
        const uint64_t word = mask == NULL ? 0 : mask[i];
        if ((word & (query->mask_all[i] | query->mask_none[i])) != query->mask_all[i]) {
            return false;
        }
    }
    return true;
}

static inline bool mi_filter_table(const mi_filter *filter, mica_entity entity) {
    const uint32_t location = mi_slots_location(&filter->store->slots, mica_entity_index(entity));
    return location == 0 ? !filter->query->requires_table
                         : mi_bit_get(filter->query->table_bits.data, filter->query->table_bits.count,
                                      mi_store_table_at(filter->store, location)->id);
}

// Whether a living entity passes.
static inline bool mi_filter_passes(const mi_filter *filter, mica_entity entity) {
    const uint32_t tests = filter->tests;
    return ((tests & MI_TEST_MASK) == 0 || mi_filter_pools(filter, entity)) &&
           ((tests & MI_TEST_TABLE) == 0 || mi_filter_table(filter, entity)) &&
           ((tests & MI_TEST_HIDDEN) == 0 || mi_filter_hidden(filter, entity)) &&
           ((tests & MI_TEST_CLAUSES) == 0 || mi_filter_clauses(filter, entity)) &&
           ((tests & MI_TEST_TOGGLES) == 0 || mi_filter_toggles(filter, entity)) &&
           ((tests & MI_TEST_CHANGES) == 0 || mi_filter_changes(filter, entity));
}

// The log of removals that the query asks for, for who asks.
static inline const mi_removals *mi_filter_removals(const mi_filter *filter) {
    return &mi_tracker_for(filter->query->removed, filter->is_outside)->removals;
}

// Whether an entity has the component of a term, and not disabled.
bool mi_filter_has(const mi_filter *filter, mica_entity entity, const mi_term *term);
// Whether an entity has one of the components of an any-of clause, and not disabled.
bool mi_filter_clause_holds(const mi_filter *filter, mica_entity entity, uint8_t any);
