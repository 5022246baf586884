// Judging changes; see since.h.
//
// A condition's component may live in what drives the walk, where a stamp speaks for the whole piece, or elsewhere,
// where each entity has a stamp of its own to be looked up. Any-of clauses hold if one member does; members without a
// condition hold by being there.
#include "world/since.h"

#include "world/rewind.h"
#include "world/tracker.h"

// What a walk goes through: rows of a chunk, or elements of a page.
typedef struct judged_piece {
    const mi_table *table; // NULL: a page
    uint8_t *base;
    const mi_pool *pool; // NULL: a chunk
    uint32_t position;
} judged_piece;

// The stamp that speaks for all values of the piece; false: there is none.
static bool find_stamp(const judged_piece *piece, const mi_query_change *change, uint64_t *stamp) {
    if (piece->table != NULL && change->pool == NULL) {
        // Who gets a tag comes into a row: the handle's column says when.
        const bool has_data = change->type->info.size > 0;
        *stamp = mi_column_version(has_data ? mi_table_any_column(piece->table, piece->base, change->type->info.id)
                                            : piece->base);
        return true;
    }
    if (piece->pool != NULL && piece->pool == change->pool && piece->pool->size > 0) {
        *stamp = mi_pool_version(piece->pool, piece->position);
        return true;
    }
    return false;
}

// Whether a restore has exchanged what the stamp of the piece speaks for later than who asks from outside has looked.
MI_APART static bool is_exchanged(const mi_filter *filter, const judged_piece *piece, const mi_query_change *change) {
    const mica_world *world = filter->query->world;
    if (piece->pool != NULL) {
        return mi_rewind_of_position(world, piece->pool, piece->position) > filter->noted_since;
    }
    // Chunks are found by their first row, so that walks need not say which one it is.
    const mica_entity *first = (const mica_entity *)(const void *)piece->base;
    const uint32_t location = mi_slots_location(&world->store.slots, mica_entity_index(*first));
    const mica_component component = change->type->info.size > 0 ? change->type->info.id : 0;
    return mi_rewind_of_row(world, location, component) > filter->noted_since;
}

static mi_verdict judge_condition(const mi_filter *filter, const judged_piece *piece, const mi_query_change *change) {
    const bool in_rows = piece->table != NULL && change->pool == NULL;
    if (in_rows && !mi_table_has(piece->table, change->type->info.id)) {
        return MI_VERDICT_NONE;
    }
    const bool is_there = change->any == 0 || ((in_rows || (piece->pool != NULL && piece->pool == change->pool)) &&
                                               !(filter->toggles != 0 && change->type->info.toggle));
    const mi_verdict all = is_there ? MI_VERDICT_ALL : MI_VERDICT_SOME;
    if (change->asks == 0 || filter->since == 0 ||
        (change->asks == MI_ASKS_CHANGED && change->type->info.always_dirty)) {
        return all;
    }
    uint64_t stamp = 0;
    if (!find_stamp(piece, change, &stamp)) {
        return MI_VERDICT_SOME;
    }
    if (stamp <= filter->since && (MICA_LIKELY(!filter->is_outside) || !is_exchanged(filter, piece, change))) {
        return MI_VERDICT_NONE;
    }
    return change->tracker != NULL ? MI_VERDICT_SOME : all;
}

static mi_verdict judge(const mi_filter *filter, const judged_piece *piece) {
    const mica_query *query = filter->query;
    if (query->change_count == 1 && query->change_clauses == 0) {
        return judge_condition(filter, piece, &query->changes[0]);
    }
    mi_verdict clauses[MI_ANY_MAX] = {MI_VERDICT_NONE};
    mi_verdict least = MI_VERDICT_ALL;
    for (uint32_t i = 0; i < query->change_count; i++) {
        const mi_query_change *change = &query->changes[i];
        const mi_verdict verdict = judge_condition(filter, piece, change);
        if (change->any > 0) {
            mi_verdict *clause = &clauses[change->any - 1];
            *clause = verdict > *clause ? verdict : *clause;
            continue;
        }
        if (verdict == MI_VERDICT_NONE) {
            return MI_VERDICT_NONE;
        }
        least = verdict < least ? verdict : least;
    }
    for (uint32_t i = 0; i < MI_ANY_MAX && query->change_clauses >> i != 0; i++) {
        if ((query->change_clauses >> i & 1) != 0) {
            least = clauses[i] < least ? clauses[i] : least;
        }
    }
    return least;
}

mi_verdict mi_since_chunk(const mi_filter *filter, const mi_table *table, uint8_t *base) {
    return judge(filter, &(judged_piece){.table = table, .base = base});
}

mi_verdict mi_since_page(const mi_filter *filter, const mi_pool *pool, uint32_t position) {
    return judge(filter, &(judged_piece){.pool = pool, .position = position});
}

uint64_t mi_since_stamp(const mi_store *store, mica_entity entity, const mi_query_change *change) {
    if (change->type->info.size == 0) {
        return 0;
    }
    if (change->pool != NULL) {
        const uint32_t position = mi_pool_find(change->pool, entity);
        return position == MI_POSITION_NONE ? 0 : mi_pool_version(change->pool, position);
    }
    const mica_component component = change->type->info.id;
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    const mi_table *table = mi_store_table_at(store, location);
    if (!mi_table_has(table, component)) {
        return 0;
    }
    return mi_column_version(mi_table_any_column(table, mi_store_base(store, location), component));
}

uint64_t mi_since_noted(const mi_filter *filter, mica_entity entity, const mi_query_change *change) {
    const mica_world *world = filter->query->world;
    if (change->type->info.size == 0) {
        return 0;
    }
    if (change->pool != NULL) {
        const uint32_t position = mi_pool_find(change->pool, entity);
        return position == MI_POSITION_NONE ? 0 : mi_rewind_of_position(world, change->pool, position);
    }
    const uint32_t location = mi_slots_location(&world->store.slots, mica_entity_index(entity));
    return mi_rewind_of_row(world, location, change->type->info.id);
}

bool mi_since_holds(const mi_filter *filter, mica_entity entity, const mi_query_change *change) {
    const uint32_t index = mica_entity_index(entity);
    if (change->asks == 0 || filter->since == 0) {
        return true;
    }
    const mi_tracked *tracked = change->tracker == NULL ? NULL : mi_tracker_for(change->tracker, filter->is_outside);
    if (change->asks == MI_ASKS_ADDED) {
        MI_ASSERT(tracked != NULL);
        return mi_since_tracked(filter, mi_stamps_of(&tracked->added, index));
    }
    if (change->type->info.always_dirty) {
        return true;
    }
    if (tracked != NULL && mi_since_tracked(filter, mi_stamps_of(&tracked->rows, index))) {
        return true;
    }
    // What was written before rows were tracked is known by the column alone.
    return (tracked == NULL || filter->tracked_since < tracked->rows_since) &&
           (mi_since_counts(filter, mi_since_stamp(filter->store, entity, change)) ||
            (MICA_UNLIKELY(filter->is_outside) && mi_since_noted(filter, entity, change) > filter->noted_since));
}

bool mi_filter_changes(const mi_filter *filter, mica_entity entity) {
    const mica_query *query = filter->query;
    uint32_t open = query->change_clauses;
    for (uint32_t i = 0; i < query->change_count; i++) {
        const mi_query_change *change = &query->changes[i];
        if (change->any == 0) {
            if (!mi_since_holds(filter, entity, change)) {
                return false;
            }
        } else if ((open >> (change->any - 1) & 1) != 0 && mi_filter_has(filter, entity, &query->terms[change->term]) &&
                   mi_since_holds(filter, entity, change)) {
            open &= ~(1u << (change->any - 1));
        }
    }
    return open == 0;
}

// The stamps that alone say of entities that have all components whether they pass; NULL: more has to be looked at.
static const mi_stamps *find_deciding(const mi_filter *filter) {
    const mica_query *query = filter->query;
    const mi_query_change *change = &query->changes[0];
    if (query->change_count != 1 || change->any != 0 || filter->since == 0 || change->tracker == NULL) {
        return NULL;
    }
    const mi_tracked *tracked = mi_tracker_for(change->tracker, filter->is_outside);
    if (change->asks == MI_ASKS_ADDED) {
        return &tracked->added;
    }
    const bool is_exact = change->asks == MI_ASKS_CHANGED && !change->type->info.always_dirty &&
                          filter->tracked_since >= tracked->rows_since;
    return is_exact ? &tracked->rows : NULL;
}

uint32_t mi_since_skip(const mi_filter *filter, const mica_entity *entities, uint32_t at, uint32_t count) {
    const mi_stamps *stamps = find_deciding(filter);
    if (stamps != NULL) {
        while (at < count && mi_stamps_of(stamps, mica_entity_index(entities[at])) <= filter->tracked_since) {
            at++;
        }
        return at;
    }
    while (at < count && !mi_filter_changes(filter, entities[at])) {
        at++;
    }
    return at;
}
