// The tests that a query puts to single entities.
//
// The cheap ones are made first and most queries need none of the others: a mask tells about any number of pools by one
// load, a table is known by its number, and who is disabled or killed is asked only while somebody is. Components that
// can be disabled cost look-ups of their own while one of the query's is.
#include "world/filter.h"

#include "world/rewind.h"

mi_filter mi_filter_make(const mica_query *query, uint64_t since) {
    const mi_store *store = &query->world->store;
    mi_filter filter = {.query = query, .store = store, .tests = MI_TEST_TABLE, .since = since, .tracked_since = since};
    if (MICA_UNLIKELY((since & MI_SINCE_OUTSIDE) != 0)) {
        filter.is_outside = true;
        filter.noted_since = since & ~MI_SINCE_OUTSIDE;
        filter.tracked_since = filter.noted_since;
        filter.since = mi_rewind_to_inside(query->world->rewind, filter.noted_since);
    }
    if (query->pool_term_count > 0) {
        filter.tests |= MI_TEST_MASK;
    }
    if (query->pool_clauses != 0) {
        filter.tests |= MI_TEST_CLAUSES;
    }
    if (mi_store_hides_any(store) || query->disabled == MI_DISABLED_ONLY) {
        filter.tests |= MI_TEST_HIDDEN;
    }
    filter.toggles = mi_query_active_toggles(query);
    if (filter.toggles != 0) {
        filter.tests |= MI_TEST_TOGGLES;
    }
    if (query->change_count > 0 && (filter.since != 0 || query->change_clauses != 0)) {
        filter.tests |= MI_TEST_CHANGES;
    }
    return filter;
}

// The bit of a pool whose component can be disabled counts for nothing in `mask_none` while it is disabled on somebody.
static bool excludes(const mi_filter *filter, const uint64_t *mask, uint32_t word) {
    const mica_query *query = filter->query;
    uint64_t met = mask[word] & query->mask_none[word];
    for (uint32_t i = 0; met != 0 && filter->toggles != 0 && i < query->toggle_count; i++) {
        const mi_pool *pool = mi_store_find_pool(filter->store, query->terms[query->toggles[i]].component);
        if ((filter->toggles >> i & 1) != 0 && pool != NULL && pool->index / 64 == word) {
            met &= ~(UINT64_C(1) << (pool->index % 64));
        }
    }
    return met != 0;
}

bool mi_filter_pools_slowly(const mi_filter *filter, mica_entity entity) {
    static const uint64_t nowhere = 0;
    const mica_query *query = filter->query;
    const uint64_t *mask = mi_store_mask(filter->store, entity);
    const uint32_t word_count = query->mask_word_count;
    for (uint32_t i = 0; i < word_count; i++) {
        const uint64_t *word = mask == NULL ? &nowhere : &mask[i];
        const uint64_t earlier = filter->earlier == NULL ? 0 : filter->earlier[i];
        if ((query->mask_all[i] & ~*word) != 0 || (*word & earlier) != 0) {
            return false;
        }
        if ((*word & query->mask_none[i]) != 0 && excludes(filter, mask, i)) {
            return false;
        }
    }
    return true;
}

bool mi_filter_hidden(const mi_filter *filter, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const bool is_disabled = mi_marks_has(&filter->store->disabled, index);
    if (mi_marks_has(&filter->store->killed, index)) {
        return false;
    }
    return filter->query->disabled == MI_DISABLED_TOO || is_disabled == (filter->query->disabled == MI_DISABLED_ONLY);
}

bool mi_filter_has(const mi_filter *filter, mica_entity entity, const mi_term *term) {
    const uint32_t location = mi_slots_location(&filter->store->slots, mica_entity_index(entity));
    const mi_marks *toggled = mi_store_toggled(filter->store, term->component);
    return mi_world_has(filter->query->world, entity, location, term->component) &&
           (toggled == NULL || !mi_marks_has(toggled, mica_entity_index(entity)));
}

bool mi_filter_clauses(const mi_filter *filter, mica_entity entity) {
    const mica_query *query = filter->query;
    uint32_t open = query->pool_clauses;
    for (uint32_t i = 0; open != 0 && i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        const uint32_t clauses = mi_term_clauses(term) & open;
        if (clauses != 0 && mi_filter_has(filter, entity, term)) {
            open &= ~clauses;
        }
    }
    return open == 0;
}

bool mi_filter_clause_holds(const mi_filter *filter, mica_entity entity, uint8_t any) {
    for (uint32_t i = 0; i < filter->query->term_count; i++) {
        const mi_term *term = &filter->query->terms[i];
        if ((mi_term_clauses(term) >> (any - 1) & 1) != 0 && mi_filter_has(filter, entity, term)) {
            return true;
        }
    }
    return false;
}

bool mi_filter_toggles(const mi_filter *filter, mica_entity entity) {
    const mica_query *query = filter->query;
    for (uint32_t i = 0; i < query->toggle_count; i++) {
        if ((filter->toggles >> i & 1) == 0) {
            continue;
        }
        const mi_term *term = &query->terms[query->toggles[i]];
        const bool is_off = mi_marks_has(mi_store_toggled(filter->store, term->component), mica_entity_index(entity));
        if ((mi_term_is_required(term) && is_off) ||
            (term->use == MICA_USE_WITHOUT && !is_off && mi_filter_has(filter, entity, term)) ||
            (term->any > 0 && is_off && !mi_filter_clause_holds(filter, entity, term->any))) {
            return false;
        }
    }
    return true;
}

bool mi_query_passes(const mica_query *query, mica_entity entity) {
    const uint64_t since = mi_world_since(query->world);
    mi_filter filter = mi_filter_make(query, since);
    if (query->removed != NULL && !mi_removals_has(mi_filter_removals(&filter), entity, filter.tracked_since)) {
        return false;
    }
    const uint32_t location = mi_slots_location(&filter.store->slots, mica_entity_index(entity));
    filter.tests &= ~MI_TEST_TABLE;
    return (location == 0 ? !query->requires_table
                          : mi_query_matches(query, mi_store_table_at(filter.store, location))) &&
           mi_filter_passes(&filter, entity);
}
