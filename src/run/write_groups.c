// Write groups: a system that yields leaves an entity alone if that has a member of the group of something that the
// system writes, and the query does not name the member itself. That is a term `mica_without` a member, which is added
// to the terms of the definition when the query is made.
//
// Members may come to be known later than the systems: then the queries are made anew before the next tick. So what a
// system that yields was added with is kept, by ids, as a plugin's descriptors may be gone by then.
//
// Invariant: outside of mi_systems_yield the queries of all systems know the same members, all unless `groups_grew`.
#include "run/write_groups.h"

#include <string.h>

#include "run/system.h"

static bool writes(const mica_term *term) {
    return term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE || term->use == MICA_USE_WRITE_MARKED;
}

static bool names(const mica_term *terms, int32_t count, mica_component component) {
    for (int32_t i = 0; i < count; i++) {
        if (terms[i].component == component) {
            return true;
        }
    }
    return false;
}

// The query of the terms, without the entities that are left to others; NULL: as mica_query_create.
static mica_query *make_query(const mi_systems *systems, const mi_declared_query *declared) {
    mica_term terms[MICA_QUERY_TERM_MAX];
    int32_t count = declared->term_count;
    memcpy(terms, declared->terms, (size_t)count * sizeof(*terms));
    for (uint32_t i = 0; i < systems->write_groups.count; i++) {
        const mi_write_group_entry *entry = &systems->write_groups.data[i];
        for (int32_t k = 0; k < declared->term_count; k++) {
            if (declared->terms[k].component != entry->written || !writes(&declared->terms[k]) ||
                names(terms, count, entry->member)) {
                continue;
            }
            if (count == MICA_QUERY_TERM_MAX) {
                mi_fail_plain(&systems->world->log, MICA_LIMIT, "mica_write_group_join",
                              "a query that yields has too many members of write groups to leave out");
                return NULL;
            }
            terms[count++] = (mica_term){.component = entry->member, .use = MICA_USE_WITHOUT};
        }
    }
    return mica_query_create(systems->world, terms, count);
}

static int32_t count_terms(const mica_term *terms) {
    int32_t count = 0;
    while (count < MICA_TERM_MAX && terms[count].use != MICA_USE_NONE) {
        count++;
    }
    return count;
}

// The terms by ids. What is wrong with them is left to mica_query_create, but for types that cannot be registered.
static mica_result declare(mica_world *world, mi_declared_query *declared, const mica_term *terms) {
    declared->term_count = count_terms(terms);
    memcpy(declared->terms, terms, (size_t)declared->term_count * sizeof(*terms));
    for (int32_t i = 0; i < declared->term_count; i++) {
        mica_term *term = &declared->terms[i];
        if (term->type != NULL) {
            term->component = mica_world_register(world, term->type);
            term->type = NULL;
            if (term->component == 0) {
                return mica_last_result();
            }
        }
    }
    return MICA_OK;
}

static mica_result make_yielding(mi_systems *systems, mi_system *system, const mica_system_def *def, const char *call) {
    mica_world *world = systems->world;
    const uint32_t count = 1 + (uint32_t)def->query_count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &system->declared, count)) {
        return mi_fail_memory(&world->log, call, count * sizeof(mi_declared_query));
    }
    system->declared.count = count;
    for (uint32_t i = 0; i < count; i++) {
        mi_declared_query *declared = &system->declared.data[i];
        const mica_result result = declare(world, declared, i == 0 ? def->query : def->queries[i - 1].terms);
        if (result != MICA_OK) {
            return result;
        }
        mica_query *query = i == 0 && declared->term_count == 0 ? NULL : make_query(systems, declared);
        if (query == NULL && (i > 0 || declared->term_count > 0)) {
            return mica_last_result();
        }
        if (i == 0) {
            system->query = query;
        } else {
            system->queries[system->query_count++] = query;
        }
    }
    return MICA_OK;
}

// The queries' own errors stand as they are: they name the term.
mica_result mi_system_make_queries(mi_systems *systems, mi_system *system, const mica_system_def *def,
                                   const char *call) {
    mica_world *world = systems->world;
    if (def->yields) {
        return make_yielding(systems, system, def, call);
    }
    const int32_t term_count = count_terms(def->query);
    if (term_count > 0 && (system->query = mica_query_create(world, def->query, term_count)) == NULL) {
        return mica_last_result();
    }
    for (int32_t i = 0; i < def->query_count; i++) {
        const mica_term *terms = def->queries[i].terms;
        mica_query *query = mica_query_create(world, terms, count_terms(terms));
        if (query == NULL) {
            return mica_last_result();
        }
        system->queries[system->query_count++] = query;
    }
    return MICA_OK;
}

// Growing

static bool has_entry(const mi_systems *systems, mica_component written, mica_component member) {
    for (uint32_t i = 0; i < systems->write_groups.count; i++) {
        const mi_write_group_entry *entry = &systems->write_groups.data[i];
        if (entry->written == written && entry->member == member) {
            return true;
        }
    }
    return false;
}

mica_result mica_write_group_join(mica_world *world, mica_component written, mica_component member) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_world_check_making(world, "a write group", __func__) != MICA_OK) {
        return mica_last_result();
    }
    const mi_type *written_type = mi_world_type(world, written, __func__);
    if (written_type == NULL || mi_world_type(world, member, __func__) == NULL) {
        return MICA_UNKNOWN;
    }
    if (written == member) {
        return mi_fail(&world->log, MICA_INVALID, __func__, "{} cannot be in its own write group",
                       MI_TEXT(written_type->info.name));
    }
    if (has_entry(systems, written, member)) {
        return MICA_OK;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &systems->write_groups,
                    (size_t)systems->write_groups.count + 1)) {
        return mi_fail_memory(&world->log, __func__, sizeof(mi_write_group_entry));
    }
    systems->write_groups.data[systems->write_groups.count++] = (mi_write_group_entry){written, member};
    systems->groups_grew = true;
    return MICA_OK;
}

static mica_result yield(const mi_systems *systems, mi_system *system) {
    for (uint32_t i = 0; i < system->declared.count; i++) {
        mica_query **place = i == 0 ? &system->query : &system->queries[i - 1];
        if (*place == NULL) {
            continue;
        }
        mica_query *query = make_query(systems, &system->declared.data[i]);
        if (query == NULL) {
            return mica_last_result();
        }
        mica_query_release(*place);
        *place = query;
    }
    return MICA_OK;
}

mica_result mi_systems_yield(mi_systems *systems) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; i < systems->all.count && result == MICA_OK && systems->groups_grew; i++) {
        result = yield(systems, systems->all.data[i]);
    }
    systems->groups_grew = systems->groups_grew && result != MICA_OK;
    return result;
}
