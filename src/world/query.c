// Queries: compiling terms, interning, matching tables, and what can be asked of a query without a walk. Walks are in
// iter.c, words in explain.c.
//
// A query is its sorted terms: the same terms in any order are the same query. `tables` is void when the store has made
// or dropped tables since; mi_query_update then matches all tables anew, in canonical order, at a few nanoseconds each:
// tables come to be rarely once a program runs.
#include "world/query.h"

#include <string.h>

static bool is_required(const mi_term *term) {
    return term->any == 0 && (term->use == MICA_USE_READ || term->use == MICA_USE_WRITE || term->use == MICA_USE_WITH);
}

// Compiling

static mica_result check_term(const mica_world *world, const mi_term *term, int32_t number, const char *call) {
    const mi_type *type = mi_world_type(world, term->component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    const bool has_access = term->use == MICA_USE_READ || term->use == MICA_USE_WRITE ||
                            term->use == MICA_USE_OPTIONAL_READ || term->use == MICA_USE_OPTIONAL_WRITE;
    const char *fault = NULL;
    if (term->use == MICA_USE_NONE || term->use > MICA_USE_OPTIONAL_WRITE) {
        fault = "is used in no known way";
    } else if (has_access && type->info.size == 0) {
        fault = "is a tag: it has no value to read or write, use mica_with";
    } else if (term->any > MI_ANY_MAX) {
        fault = "is in an any-of clause over 8";
    } else if (term->any > 0 && !is_required(&(mi_term){.use = term->use})) {
        fault = "is in an any-of clause without being read, written or with";
    } else if ((term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE) &&
               type->info.hooks.attach != NULL) {
        fault = "is a relation: it changes through its link verbs alone";
    }
    return fault == NULL ? MICA_OK
                         : mi_fail(&world->log, MICA_INVALID, call, "term {}: {} {}", MI_INT(number),
                                   MI_TEXT(type->info.name), MI_TEXT(fault));
}

// Resolves, checks and sorts the caller's terms.
static mica_result sort_terms(mica_world *world, const mica_term *terms, int32_t count, mi_term *sorted,
                              const char *call) {
    for (int32_t i = 0; i < count; i++) {
        mi_term term = {.component = terms[i].component, .use = terms[i].use, .any = terms[i].any};
        if (terms[i].type != NULL) {
            term.component = mica_world_component(world, terms[i].type);
            if (term.component == 0) {
                return mica_last_result();
            }
        }
        mica_result result = check_term(world, &term, i, call);
        if (result == MICA_OK) {
            result = mi_world_attach(world, mi_schema_type(world->schema, term.component), call);
        }
        if (result != MICA_OK) {
            return result;
        }
        int32_t place = i;
        while (place > 0 && sorted[place - 1].component > term.component) {
            sorted[place] = sorted[place - 1];
            place--;
        }
        if (place > 0 && sorted[place - 1].component == term.component) {
            return mi_fail(&world->log, MICA_INVALID, call, "term {}: {} is named twice", MI_INT(i),
                           MI_TEXT(mi_schema_type(world->schema, term.component)->info.name));
        }
        sorted[place] = term;
    }
    return MICA_OK;
}

static const mi_type *term_type(const mica_query *query, const mi_term *term) {
    return mi_schema_type(query->world->schema, term->component);
}

// What is said of a query must not depend on the order in which types were registered.
static void sort_by_name(mica_query *query) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_type *type = term_type(query, &query->terms[i]);
        uint32_t place = i;
        while (place > 0 &&
               mi_type_compare_names(type, term_type(query, &query->terms[query->by_name[place - 1]])) < 0) {
            query->by_name[place] = query->by_name[place - 1];
            place--;
        }
        query->by_name[place] = (uint8_t)i;
    }
}

// The sets and the access map, in one piece of memory behind `all_of`.
static bool compile_sets(mica_query *query) {
    const uint32_t highest = query->term_count == 0 ? 0 : query->terms[query->term_count - 1].component;
    query->word_count = mi_bit_words(highest + 1);
    query->access_count = highest + 1;
    for (uint32_t i = 0; i < query->term_count; i++) {
        query->any_count = query->terms[i].any > query->any_count ? query->terms[i].any : query->any_count;
    }
    query->set_size = (2 + query->any_count) * query->word_count * sizeof(uint64_t) + query->access_count;
    query->all_of =
        mi_heap_allocate_zeroed(&query->world->heap, MICA_MEMORY_QUERIES, query->set_size, sizeof(uint64_t));
    if (query->all_of == NULL) {
        return false;
    }
    query->none_of = query->all_of + query->word_count;
    query->any_of = query->none_of + query->word_count;
    query->access = (uint8_t *)(query->any_of + query->any_count * query->word_count);
    query->requires_nothing = true;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        if (term->any > 0) {
            mi_bit_set(query->any_of + (term->any - 1) * query->word_count, term->component);
            query->requires_nothing = false;
        } else if (term->use == MICA_USE_WITHOUT) {
            mi_bit_set(query->none_of, term->component);
        } else if (is_required(term)) {
            mi_bit_set(query->all_of, term->component);
            query->requires_nothing = false;
        }
        if (term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE) {
            query->access[term->component] = MI_ACCESS_READ | MI_ACCESS_WRITE;
        } else if (term->use == MICA_USE_READ || term->use == MICA_USE_OPTIONAL_READ) {
            query->access[term->component] = MI_ACCESS_READ;
        }
    }
    return true;
}

typedef struct query_key {
    const mica_world *world;
    const mi_term *terms;
    uint32_t count;
} query_key;

static bool query_equal(const void *context, uint32_t value) {
    const query_key *key = context;
    const mica_query *query = key->world->queries.data[value];
    if (query->term_count != key->count) {
        return false;
    }
    for (uint32_t i = 0; i < key->count; i++) {
        const mi_term *a = &query->terms[i];
        const mi_term *b = &key->terms[i];
        if (a->component != b->component || a->use != b->use || a->any != b->any) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_terms(const mi_term *terms, uint32_t count) {
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = mi_hash_mix(hash ^ ((uint64_t)terms[i].component << 16 | (uint64_t)terms[i].use << 8 | terms[i].any));
    }
    return hash;
}

static mica_query *compile(mica_world *world, const mi_term *terms, uint32_t count, uint64_t hash, const char *call) {
    mi_heap *heap = &world->heap;
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &world->queries, world->queries.count + 1) ||
        !mi_map_reserve(&world->query_map, heap, MICA_MEMORY_QUERIES, 1)) {
        mi_fail_memory(&world->log, call, sizeof(mica_query));
        return NULL;
    }
    mica_query *query = mi_heap_allocate_zeroed(heap, MICA_MEMORY_QUERIES, sizeof(*query), _Alignof(mica_query));
    if (query == NULL) {
        mi_fail_memory(&world->log, call, sizeof(mica_query));
        return NULL;
    }
    query->world = world;
    query->hash = hash;
    query->term_count = count;
    query->tables_dropped = world->store.tables_dropped;
    if (count > 0) {
        memcpy(query->terms, terms, count * sizeof(mi_term));
    }
    sort_by_name(query);
    query->text_size = mi_query_write_text(query, NULL, 0) + 1;
    query->text = mi_heap_allocate(heap, MICA_MEMORY_QUERIES, query->text_size, 1);
    if (query->text == NULL || !compile_sets(query)) {
        mi_query_free(query);
        mi_fail_memory(&world->log, call, sizeof(mica_query));
        return NULL;
    }
    mi_query_write_text(query, query->text, query->text_size);
    mi_map_insert(&world->query_map, hash, world->queries.count);
    world->queries.data[world->queries.count++] = query;
    return query;
}

static mica_query *find_or_compile(mica_world *world, const mica_term *terms, int32_t count, const char *call) {
    if (world == NULL || count < 0 || (count > 0 && terms == NULL)) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a world and an array of terms");
        return NULL;
    }
    if (count > MICA_QUERY_TERM_MAX) {
        mi_fail(&world->log, MICA_LIMIT, call, "{} terms; a query has {} at most", MI_INT(count),
                MI_INT(MICA_QUERY_TERM_MAX));
        return NULL;
    }
    mi_term sorted[MICA_QUERY_TERM_MAX] = {0};
    if (sort_terms(world, terms, count, sorted, call) != MICA_OK) {
        return NULL;
    }
    const query_key key = {.world = world, .terms = sorted, .count = (uint32_t)count};
    const uint64_t hash = hash_terms(sorted, (uint32_t)count);
    const uint32_t found = mi_map_find(&world->query_map, hash, query_equal, &key);
    return found != MI_MAP_NONE ? world->queries.data[found] : compile(world, sorted, (uint32_t)count, hash, call);
}

mica_query *mica_query_create(mica_world *world, const mica_term *terms, int32_t term_count) {
    return mica_query_retain(find_or_compile(world, terms, term_count, "mica_query_create"));
}

mica_query *mica_query_find(mica_world *world, const mica_term *terms, int32_t term_count) {
    return find_or_compile(world, terms, term_count, "mica_query_find");
}

mica_query *mica_query_retain(mica_query *query) {
    if (query != NULL) {
        query->reference_count++;
    }
    return query;
}

void mica_query_release(mica_query *query) {
    if (query == NULL) {
        return;
    }
    if (query->reference_count == 0) {
        mi_fail(&query->world->log, MICA_INVALID, "mica_query_release", "the query ({}) has no references to give back",
                MI_TEXT(query->text));
        return;
    }
    query->reference_count--;
}

void mi_query_free(mica_query *query) {
    mi_heap *heap = &query->world->heap;
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query->all_of, query->set_size, sizeof(uint64_t));
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query->text, query->text_size, 1);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &query->tables);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query, sizeof(*query), _Alignof(mica_query));
}

const char *mica_query_text(const mica_query *query) {
    return query == NULL ? "" : query->text;
}

// Matching

bool mi_query_matches(const mica_query *query, const mi_table *table) {
    if (!mi_bits_contain(table->bits, table->bit_words, query->all_of, query->word_count) ||
        mi_bits_meet(table->bits, table->bit_words, query->none_of, query->word_count)) {
        return false;
    }
    for (uint32_t i = 0; i < query->any_count; i++) {
        const uint64_t *any = query->any_of + i * query->word_count;
        bool is_used = false;
        for (uint32_t k = 0; k < query->word_count && !is_used; k++) {
            is_used = any[k] != 0;
        }
        if (is_used && !mi_bits_meet(table->bits, table->bit_words, any, query->word_count)) {
            return false;
        }
    }
    return true;
}

mica_result mi_query_update(mica_query *query, const char *call) {
    mi_store *store = &query->world->store;
    if (query->tables_dropped == store->tables_dropped && query->tables_made == store->tables_made) {
        return MICA_OK;
    }
    if (!mi_store_order(store) ||
        !MI_RESERVE(&query->world->heap, MICA_MEMORY_QUERIES, &query->tables, store->ordered.count)) {
        return mi_fail_memory(&query->world->log, call, store->ordered.count * sizeof(mi_table *));
    }
    query->tables.count = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        if (mi_query_matches(query, store->ordered.data[i])) {
            query->tables.data[query->tables.count++] = store->ordered.data[i];
        }
    }
    query->tables_made = store->tables_made;
    query->tables_dropped = store->tables_dropped;
    return MICA_OK;
}

const char *mi_query_validate(const mica_query *query) {
    const mi_store *store = &query->world->store;
    if (query->tables_dropped != store->tables_dropped || query->tables_made != store->tables_made) {
        return NULL; // void: brought up to date before it is used
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const bool is_listed = next < query->tables.count && query->tables.data[next] == store->ordered.data[i];
        if (is_listed != mi_query_matches(query, store->ordered.data[i])) {
            return "query: its list of tables is wrong";
        }
        next += is_listed;
    }
    return next == query->tables.count ? NULL : "query: it lists a table that is not there";
}

// Asking without a walk

mica_result mi_query_check(mica_query *query, const char *call) {
    return query == NULL ? mi_fail_plain(NULL, MICA_INVALID, call, "needs a query") : mi_query_update(query, call);
}

// Living entities without components.
static uint32_t count_rowless(const mica_world *world) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < world->store.ordered.count; i++) {
        rows += world->store.ordered.data[i]->row_count;
    }
    return world->store.slots.alive - rows;
}

static uint32_t count_matching(const mica_query *query) {
    uint32_t count = query->requires_nothing ? count_rowless(query->world) : 0;
    for (uint32_t i = 0; i < query->tables.count; i++) {
        count += query->tables.data[i]->row_count;
    }
    return count;
}

int32_t mica_query_count(mica_query *query) {
    return mi_query_check(query, "mica_query_count") == MICA_OK ? (int32_t)count_matching(query) : 0;
}

int32_t mica_query_size_hint(mica_query *query) {
    return mica_query_count(query);
}

mica_entity mica_query_first(mica_query *query) {
    mica_entity first = MICA_NULL;
    mica_query_entities(query, &first, 1);
    return first;
}

static bool is_rowless(const mi_slots *slots, uint32_t index) {
    return mi_slots_location(slots, index) == 0;
}

int32_t mica_query_entities(mica_query *query, mica_entity *entities, int32_t capacity) {
    static const char call[] = "mica_query_entities";
    if (mi_query_check(query, call) != MICA_OK) {
        return 0;
    }
    if (capacity > 0 && entities == NULL) {
        mi_fail_plain(&query->world->log, MICA_INVALID, call, "needs an array of handles of its capacity");
        return 0;
    }
    const int32_t count = (int32_t)count_matching(query);
    const mi_store *store = &query->world->store;
    int32_t written = 0;
    for (uint32_t i = 0; i < query->tables.count && written < capacity; i++) {
        const mi_table *table = query->tables.data[i];
        for (uint32_t k = 0; k << table->shift < table->row_count && written < capacity; k++) {
            const uint32_t rows = mi_table_chunk_rows(table, k);
            const uint32_t take = rows < (uint32_t)(capacity - written) ? rows : (uint32_t)(capacity - written);
            memcpy(entities + written, store->chunks[table->chunk_ids[k]].base, take * sizeof(mica_entity));
            written += (int32_t)take;
        }
    }
    for (uint32_t index = 1; written < capacity && written < count && index < store->slots.used; index++) {
        if (is_rowless(&store->slots, index)) {
            entities[written++] = mi_slots_handle(&store->slots, index);
        }
    }
    return count;
}

bool mica_query_contains(mica_query *query, mica_entity entity) {
    uint32_t location = 0;
    return query != NULL && mi_slots_resolve(&query->world->store.slots, entity, &location) &&
           mi_query_matches(query, mi_store_table_at(&query->world->store, location));
}
