// Queries in words: what a query asks for, what drives a walk over it, which tables it matches, and why an entity
// matches or not.
//
// Terms, tables and pools stand in canonical order, so that the order of registration does not show.
#include "base/text.h"
#include "world/rewind.h"
#include "world/since.h"
#include "world/walk.h"

#include <inttypes.h>

static const char *const use_words[] = {"", "read", "write", "with", "without", "optional read", "optional write"};

static const char *component_name(const mica_query *query, mica_component component) {
    return mi_schema_type(query->world->schema, component)->info.name;
}

// What a term says of an entity, and whether it keeps the entity out.
static const char *verdict(const mi_filter *filter, mica_entity entity, const mi_term *term) {
    const mica_world *world = filter->query->world;
    const uint32_t location = mi_slots_location(&filter->store->slots, mica_entity_index(entity));
    const bool is_on = mi_filter_has(filter, entity, term);
    const bool is_off = !is_on && mi_world_has(world, entity, location, term->component);
    if (term->use == MICA_USE_OPTIONAL_READ || term->use == MICA_USE_OPTIONAL_WRITE) {
        return is_on ? "is there" : is_off ? "is disabled, which is allowed" : "is not there, which is allowed";
    }
    if (is_on != (term->use == MICA_USE_WITHOUT)) {
        return is_off ? "holds: it is disabled" : "holds";
    }
    if (term->any > 0) {
        return mi_filter_clause_holds(filter, entity, term->any) ? "is not there, another of its clause is"
                                                                 : "fails: none of its clause is there";
    }
    return is_on ? "fails: it is there" : is_off ? "fails: it is disabled" : "fails: it is not there";
}

// A version that is compared for who asks, as the public face says it.
static uint64_t said_version(const mi_filter *filter, uint64_t version) {
    return filter->is_outside ? version : mi_outside_version(filter->query->world, version);
}

// The version that decides about a change of an entity, as the public face says it, and what it is of.
static uint64_t deciding_version(const mi_filter *filter, mica_entity entity, const mi_query_change *change,
                                 const char **of) {
    const uint32_t index = mica_entity_index(entity);
    const mi_tracked *tracked = change->tracker == NULL ? NULL : mi_tracker_for(change->tracker, filter->is_outside);
    if (change->asks == MI_ASKS_ADDED) {
        MI_ASSERT(tracked != NULL);
        *of = "it was added";
        return said_version(filter, mi_stamps_of(&tracked->added, index));
    }
    if (tracked != NULL && filter->tracked_since >= tracked->rows_since) {
        *of = "its value was written";
        return said_version(filter, mi_stamps_of(&tracked->rows, index));
    }
    const uint64_t written = mi_outside_version(filter->query->world, mi_since_stamp(filter->store, entity, change));
    const uint64_t noted = filter->is_outside ? mi_since_noted(filter, entity, change) : 0;
    if (noted > written) {
        *of = "a state was restored";
        return noted;
    }
    *of = change->pool != NULL ? "its page was written" : "its column was written";
    return written;
}

static void explain_change(const mi_filter *filter, mica_entity entity, const mi_query_change *change,
                           mi_text_out *out) {
    mi_text_add(out, "  %s %s: ", change->asks == MI_ASKS_ADDED ? "added" : "changed", change->type->info.name);
    if (!mi_filter_has(filter, entity, &filter->query->terms[change->term])) {
        mi_text_add(out, "fails: it is not there\n");
        return;
    }
    const char *verdict_text = mi_since_holds(filter, entity, change) ? "holds" : "fails";
    if (change->type->info.always_dirty && change->asks == MI_ASKS_CHANGED) {
        mi_text_add(out, "%s: it counts as changed always\n", verdict_text);
        return;
    }
    const char *of = NULL;
    const uint64_t version = deciding_version(filter, entity, change, &of);
    if (version == 0) {
        mi_text_add(out, "%s: it has been there for longer than is known, asked is since version %" PRIu64 "\n",
                    verdict_text, said_version(filter, filter->tracked_since));
        return;
    }
    mi_text_add(out, "%s: %s at version %" PRIu64 ", asked is since version %" PRIu64 "\n", verdict_text, of, version,
                said_version(filter, filter->tracked_since));
}

static void explain_removal(const mi_filter *filter, mica_entity entity, mi_text_out *out) {
    const mica_query *query = filter->query;
    const bool was_removed = mi_removals_has(mi_filter_removals(filter), entity, filter->tracked_since);
    mi_text_add(out, "  removed %s: %s since version %" PRIu64 "\n", component_name(query, query->removed->component),
                was_removed ? "holds: it was removed" : "fails: it was not removed",
                said_version(filter, filter->tracked_since));
}

static void explain_entity(const mica_query *query, mica_entity entity, mi_text_out *out) {
    const mi_store *store = &query->world->store;
    const uint32_t index = mica_entity_index(entity);
    const mi_filter filter = mi_filter_make(query, mi_world_since(query->world));
    uint32_t location = 0;
    if (query->removed_alone) { // whether it is alive is not asked
        const bool matches = mi_removals_has(mi_filter_removals(&filter), entity, filter.tracked_since);
        mi_text_add(out, "%s (%s)\n", matches ? "matches" : "does not match", query->text);
        explain_removal(&filter, entity, out);
        return;
    }
    if (!mi_slots_resolve(&store->slots, entity, &location)) {
        mi_text_add(out, "does not match: the entity is not alive\n");
        return;
    }
    mi_text_add(out, "%s (%s)\n", mi_query_passes(query, entity) ? "matches" : "does not match", query->text);
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        if (term->use != MICA_USE_NONE) {
            mi_text_add(out, "  %s %s: %s\n", use_words[term->use], component_name(query, term->component),
                        verdict(&filter, entity, term));
        }
        for (uint32_t k = 0; k < query->change_count; k++) {
            if (query->changes[k].term == query->by_name[i] && query->changes[k].asks != 0) {
                explain_change(&filter, entity, &query->changes[k], out);
            }
        }
        if ((term->asks & MI_ASKS_REMOVED) != 0) {
            explain_removal(&filter, entity, out);
        }
    }
    if (mi_marks_has(&store->killed, index)) {
        mi_text_add(out, "  fails: the entity is killed\n");
    }
    const bool is_disabled = mi_marks_has(&store->disabled, index);
    if (is_disabled != (query->disabled == MI_DISABLED_ONLY) && query->disabled != MI_DISABLED_TOO) {
        mi_text_add(out, "  fails: the entity is %sdisabled\n", is_disabled ? "" : "not ");
    }
}

static const char *plural(uint32_t count) {
    return count == 1 ? "" : "s";
}

static void explain_driver(const mi_walk *walk, mi_text_out *out) {
    const mica_query *query = walk->query;
    if (walk->driver == MI_DRIVER_REMOVED) {
        mi_text_add(out, "driven by the removals of %s\n", component_name(query, query->removed->component));
        return;
    }
    if (walk->driver != MI_DRIVER_POOL) {
        mi_text_add(out, "driven by %s%s\n", query->tables.count > 0 || query->requires_table ? "tables" : "",
                    query->requires_table     ? ""
                    : query->tables.count > 0 ? ", then the entities without components in tables"
                                              : "the entities without components in tables");
        return;
    }
    const char *name = walk->pool->type->info.name;
    if (walk->clause != 0) {
        mi_text_add(out, "driven by the pools of its any-of clause, %s first\n", name);
    } else if (walk->group != NULL) {
        mi_text_add(out, "driven by the group (%s): %u entit%s\n", walk->group->name, walk->group->count,
                    walk->group->count == 1 ? "y" : "ies");
    } else {
        mi_text_add(out, "driven by the pool of %s: %u entit%s\n", name, mi_pool_live_count(walk->pool),
                    mi_pool_live_count(walk->pool) == 1 ? "y" : "ies");
    }
    if (walk->reads_runs) {
        mi_text_add(out, "  %u run%s known from an earlier walk\n", query->run_count, plural(query->run_count));
    }
}

static void explain_pools(const mica_query *query, mi_text_out *out) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mica_component component = query->terms[query->by_name[i]].component;
        const mi_pool *pool = mi_store_find_pool(&query->world->store, component);
        if (pool != NULL) {
            const uint32_t live = mi_pool_live_count(pool);
            mi_text_add(out, "  pool of %s: %u element%s\n", component_name(query, component), live, plural(live));
        }
    }
}

static void explain_tables(const mica_query *query, mi_text_out *out) {
    mi_text_add(out, "matches %u table%s\n", query->tables.count, plural(query->tables.count));
    for (uint32_t i = 0; i < query->tables.count; i++) {
        const mi_table *table = query->tables.data[i];
        mi_text_add(out, "  %u row%s:", table->row_count, plural(table->row_count));
        for (uint32_t k = 0; k < table->component_count; k++) {
            mi_text_add(out, "%s%s", k == 0 ? " " : ", ", component_name(query, table->by_name[k]));
        }
        mi_text_add(out, "\n");
    }
}

static bool explain_query(mica_query *query, mi_text_out *out) {
    mi_walk *walk = mi_walk_open(query, false);
    if (walk == NULL) {
        mi_fail_memory(&query->world->log, "mica_query_explain", sizeof(mi_walk));
        return false;
    }
    mi_text_add(out, "query (%s)\n", query->text);
    explain_driver(walk, out);
    // All tables would match a query about pools alone, which looks at none of them.
    const bool concerns_tables =
        !query->removed_alone && (walk->driver != MI_DRIVER_POOL || query->term_count > query->pool_term_count);
    mi_walk_close(walk);
    explain_pools(query, out);
    if (concerns_tables) {
        explain_tables(query, out);
    }
    return true;
}

size_t mica_query_explain(mica_query *query, mica_entity entity, char *text, size_t capacity) {
    mi_text_out out = mi_text_begin(text, capacity);
    if (query == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_query_explain", "needs a query");
        return 0;
    }
    if (mi_query_update(query, "mica_query_explain") != MICA_OK) {
        return 0;
    }
    if (!mica_entity_is_null(entity)) {
        explain_entity(query, entity, &out);
    } else if (!explain_query(query, &out)) {
        return 0;
    }
    return out.length;
}
