// Queries: compiling terms, interning, and matching tables. Walks, and what else is asked of a query, are in iter.c and
// walk.c, words in explain.c, texts in query_text.c.
//
// A query is its sorted terms: the same terms in any order are the same query. `tables` is void when the store has made
// or dropped tables since; mi_query_update then matches all tables anew, in canonical order, at a few nanoseconds each:
// tables come to be rarely once a program runs.
#include "world/query.h"

#include "base/atomic.h"
#include "store/visibility.h"
#include "world/rewind.h"
#include "world/tracker.h"

#include <string.h>

// Compiling

// Where a caller's term is, for messages.
typedef struct term_place {
    const char *call;
    const char *unit; // "term" or "byte"
    size_t number;
} term_place;

static mica_result fail_term(const mica_world *world, mica_component component, const term_place *place,
                             const char *fault) {
    return mi_fail(&world->log, MICA_INVALID, place->call, "{} {}: {} {}", MI_TEXT(place->unit), MI_UINT(place->number),
                   MI_TEXT(mi_schema_type(world->schema, component)->info.name), MI_TEXT(fault));
}

static mica_result check_term(const mica_world *world, const mica_term *term, const term_place *place) {
    const mi_type *type = mi_world_type(world, term->component, place->call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    const uint8_t use = term->use;
    const bool writes = use == MICA_USE_WRITE || use == MICA_USE_OPTIONAL_WRITE || use == MICA_USE_WRITE_MARKED;
    const bool has_access = writes || use == MICA_USE_READ || use == MICA_USE_OPTIONAL_READ;
    const char *fault = NULL;
    if (use == MICA_USE_NONE || use > MICA_USE_WRITE_MARKED) {
        fault = "is used in no known way";
    } else if (has_access && type->info.size == 0) {
        fault = "is a tag: it has no value to read or write, use mica_with";
    } else if (use == MICA_USE_CHANGED && type->info.size == 0) {
        fault = "is a tag: it has no value that changes, use mica_added";
    } else if (term->any > MI_ANY_MAX) {
        fault = "is in an any-of clause over 8";
    } else if (term->any > 0 && use != MICA_USE_READ && use != MICA_USE_WRITE && use != MICA_USE_WITH &&
               use != MICA_USE_WRITE_MARKED && use != MICA_USE_CHANGED) {
        fault = "is in an any-of clause without being read, written, with or changed";
    } else if (writes && type->info.hooks.attach != NULL) {
        fault = "is a relation: it changes through its link verbs alone";
    }
    return fault == NULL ? MICA_OK : fail_term(world, term->component, place, fault);
}

// What identifies a query.
typedef struct query_key {
    const mica_world *world;
    mi_term terms[MICA_QUERY_TERM_MAX]; // ascending by component
    uint32_t count;
    mi_disabled disabled;
    bool asks_removed;
} query_key;

// Notes a term that names no component.
static mica_result note_disabled(const mica_world *world, const mica_term *term, const term_place *place,
                                 query_key *key) {
    if (term->type != NULL || term->component != 0 || term->any != 0 || key->disabled != MI_DISABLED_LEFT_OUT) {
        return mi_fail(&world->log, MICA_INVALID, place->call,
                       "{} {}: disabled entities are asked for once, without a component", MI_TEXT(place->unit),
                       MI_UINT(place->number));
    }
    key->disabled = term->use == MICA_USE_DISABLED_TOO ? MI_DISABLED_TOO : MI_DISABLED_ONLY;
    return MICA_OK;
}

// Adds what a caller's term says to what is said of its component already. NULL, or why the two cannot both be said.
static const char *merge_term(mi_term *term, const mica_term *given) {
    static const uint8_t asked[] = {[MICA_USE_CHANGED] = MI_ASKS_CHANGED,
                                    [MICA_USE_ADDED] = MI_ASKS_ADDED,
                                    [MICA_USE_REMOVED] = MI_ASKS_REMOVED,
                                    [MICA_USE_WRITE_MARKED] = 0};
    const uint8_t asks = given->use < MICA_USE_CHANGED ? 0 : asked[given->use];
    const bool is_clause = asks == MI_ASKS_CHANGED && given->any > 0;
    if (is_clause ? term->changed_any > 0 : asks != 0 ? (term->asks & asks) != 0 : term->use != MICA_USE_NONE) {
        return "is named twice";
    }
    if (is_clause) {
        term->changed_any = given->any;
    } else if (asks != 0) {
        term->asks |= asks;
    } else {
        term->is_marked = given->use == MICA_USE_WRITE_MARKED;
        term->use = term->is_marked ? MICA_USE_WRITE : given->use;
        term->any = given->any;
    }
    const bool must_be_there = (term->asks & (MI_ASKS_CHANGED | MI_ASKS_ADDED)) != 0;
    const bool need_not_be_there = term->use != MICA_USE_NONE && !mi_term_is_required(term);
    if (must_be_there && need_not_be_there) {
        return "has to be there to be changed or added, and need not be";
    }
    return term->changed_any > 0 && term->use == MICA_USE_WITHOUT ? "has to be there to be changed, and must not be"
                                                                  : NULL;
}

// The term of a component, a new one if need be: there is room.
static mi_term *open_term(query_key *key, mica_component component) {
    uint32_t position = key->count;
    while (position > 0 && key->terms[position - 1].component > component) {
        position--;
    }
    if (position > 0 && key->terms[position - 1].component == component) {
        return &key->terms[position - 1];
    }
    memmove(&key->terms[position + 1], &key->terms[position], (key->count - position) * sizeof(mi_term));
    key->terms[position] = (mi_term){.component = component};
    key->count++;
    return &key->terms[position];
}

// Resolves and checks a caller's term and puts it in its place.
static mica_result add_term(mica_world *world, const mica_term *given, const term_place *place, query_key *key) {
    if (given->use == MICA_USE_DISABLED_TOO || given->use == MICA_USE_DISABLED_ONLY) {
        return note_disabled(world, given, place, key);
    }
    mica_term term = *given;
    if (given->type != NULL) {
        term.component = mica_world_component(world, given->type);
        if (term.component == 0) {
            return mica_last_result();
        }
    }
    mica_result result = check_term(world, &term, place);
    if (result == MICA_OK) {
        result = mi_world_attach(world, mi_schema_type(world->schema, term.component), place->call);
    }
    if (result != MICA_OK) {
        return result;
    }
    const char *fault = merge_term(open_term(key, term.component), &term);
    if (fault == NULL && term.use == MICA_USE_REMOVED && key->asks_removed) {
        fault = "is a second component whose removals are asked for: a query has one";
    }
    key->asks_removed |= term.use == MICA_USE_REMOVED;
    return fault == NULL ? MICA_OK : fail_term(world, term.component, place, fault);
}

// What is said of a query must not depend on the order in which types were registered.
static void sort_by_name(mica_query *query) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_type *type = mi_term_type(query, &query->terms[i]);
        uint32_t place = i;
        while (place > 0 &&
               mi_type_compare_names(type, mi_term_type(query, &query->terms[query->by_name[place - 1]])) < 0) {
            query->by_name[place] = query->by_name[place - 1];
            place--;
        }
        query->by_name[place] = (uint8_t)i;
    }
}

// What a query says of one component, in sets of components or of pools.
typedef struct term_sets {
    uint64_t *all, *none, *any; // `any`: that of the first clause
    uint32_t word_count;
} term_sets;

static void add_to_sets(const term_sets *sets, const mi_term *term, uint32_t bit) {
    for (uint32_t clauses = mi_term_clauses(term); clauses != 0; clauses &= clauses - 1) {
        mi_bit_set(sets->any + (uint32_t)__builtin_ctz(clauses) * sets->word_count, bit);
    }
    if (term->use == MICA_USE_WITHOUT) {
        mi_bit_set(sets->none, bit);
    } else if (mi_term_is_required(term)) {
        mi_bit_set(sets->all, bit);
    }
}

// The source of a column: that of its pool, or the entities' rows.
static uint8_t column_source(mica_query *query, const mi_query_column *column) {
    for (uint32_t i = 0; i < query->source_count; i++) {
        if (query->sources[i].pool == column->pool) {
            query->sources[i].is_optional &= column->is_optional;
            return (uint8_t)i;
        }
    }
    query->sources[query->source_count] = (mi_query_source){.pool = column->pool, .is_optional = column->is_optional};
    return (uint8_t)query->source_count++;
}

static void add_column(mica_query *query, uint32_t number, const mi_type *type, mi_pool *pool) {
    const mi_term *term = &query->terms[number];
    const bool reads = term->use == MICA_USE_READ || term->use == MICA_USE_OPTIONAL_READ;
    const bool writes = term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE;
    if (!reads && !writes) {
        return;
    }
    const bool in_lanes = mi_type_in_lanes(type);
    const bool is_ready = pool == NULL && mi_term_is_required(term) && !in_lanes;
    const uint32_t read_access = in_lanes ? MI_ACCESS_READ_LANES : MI_ACCESS_READ;
    const uint32_t write_access = in_lanes ? MI_ACCESS_WRITE_LANES : MI_ACCESS_WRITE;
    query->access[term->component] =
        (uint8_t)(read_access | (writes ? write_access : 0) | (term->is_marked ? MI_ACCESS_MARKED : 0) |
                  (is_ready ? MI_ACCESS_READ_READY : 0) |
                  (in_lanes && mi_term_is_required(term) ? MI_ACCESS_READY_LANES : 0) |
                  (is_ready && writes && !term->is_marked ? MI_ACCESS_WRITE_READY : 0));
    query->writes |= writes;
    query->fetched_component = is_ready ? term->component : query->fetched_component;
    query->column_of[term->component] = (uint8_t)query->column_count;
    mi_query_column *column = &query->columns[query->column_count++];
    *column = (mi_query_column){.type = type,
                                .pool = pool,
                                .term = (uint8_t)number,
                                .is_optional = !mi_term_is_required(term),
                                .may_be_toggled = !mi_term_is_required(term) && type->info.toggle};
    column->source = column_source(query, column);
    query->optional_count += column->is_optional;
}

// The sets and maps, in one piece of memory behind `all_of`. Pools that are named are made.
static bool compile_sets(mica_query *query, const char *call) {
    mica_world *world = query->world;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_type *type = mi_term_type(query, &query->terms[i]);
        const uint32_t clauses = mi_term_clauses(&query->terms[i]);
        while (clauses >> query->any_count != 0) {
            query->any_count++;
        }
        if (type->in_pool && mi_world_pool(world, type, call) == NULL) {
            return false;
        }
    }
    const uint32_t highest = query->term_count == 0 ? 0 : query->terms[query->term_count - 1].component;
    query->word_count = mi_bit_words(highest + 1); // one at least
    query->mask_word_count = mi_bit_words(world->store.pool_list.count);
    query->access_count = highest + 1;
    query->set_size = (2 + query->any_count) * (query->word_count + query->mask_word_count) * sizeof(uint64_t) +
                      2 * query->access_count;
    query->all_of = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_QUERIES, query->set_size, sizeof(uint64_t));
    if (query->all_of == NULL) {
        mi_fail_memory(&world->log, call, query->set_size);
        return false;
    }
    query->none_of = query->all_of + query->word_count;
    query->any_of = query->none_of + query->word_count;
    query->mask_all = query->any_of + query->any_count * query->word_count;
    query->mask_none = query->mask_all + query->mask_word_count;
    query->mask_any = query->mask_none + query->mask_word_count;
    query->access = (uint8_t *)(query->mask_any + query->any_count * query->mask_word_count);
    query->column_of = query->access + query->access_count;
    memset(query->column_of, MI_COLUMN_NONE, query->access_count);
    return true;
}

// Fills the sets, lists and maps in; memory and pools are there.
static void compile_terms(mica_query *query) {
    const term_sets tables = {query->all_of, query->none_of, query->any_of, query->word_count};
    const term_sets masks = {query->mask_all, query->mask_none, query->mask_any, query->mask_word_count};
    uint32_t table_clauses = 0;
    query->requires_nothing = true;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        const mi_type *type = mi_term_type(query, term);
        mi_pool *pool = type->in_pool ? mi_store_find_pool(&query->world->store, term->component) : NULL;
        const bool is_required = mi_term_is_required(term);
        add_to_sets(pool == NULL ? &tables : &masks, term, pool == NULL ? term->component : pool->index);
        add_column(query, i, type, pool);
        query->pool_term_count += pool != NULL;
        query->requires_nothing &= !is_required && mi_term_clauses(term) == 0;
        query->requires_table |= is_required && pool == NULL;
        if (type->info.toggle) {
            query->toggles[query->toggle_count++] = (uint8_t)i;
        }
        *(pool == NULL ? &table_clauses : &query->pool_clauses) |= mi_term_clauses(term);
    }
    query->requires_table |= (table_clauses & ~query->pool_clauses) != 0;
    query->is_simple = query->pool_term_count == 0 && !query->requires_nothing && query->disabled != MI_DISABLED_ONLY &&
                       !mi_query_asks_changes(query);
    query->matches_by_word = query->word_count <= 1 && query->any_count == 0 && query->toggle_count == 0;
}

static bool add_change(mica_query *query, uint32_t number, uint8_t asks, uint8_t any, const char *call) {
    mica_world *world = query->world;
    const mi_type *type = mi_term_type(query, &query->terms[number]);
    const bool is_tracked = asks == MI_ASKS_ADDED || (asks == MI_ASKS_CHANGED && type->info.track_rows);
    mi_query_change *change = &query->changes[query->change_count++];
    *change = (mi_query_change){.type = type, .term = (uint8_t)number, .asks = asks, .any = any};
    change->pool = type->in_pool ? mi_store_find_pool(&world->store, type->info.id) : NULL;
    if (is_tracked) {
        change->tracker =
            mi_tracker_open(world, type->info.id, asks == MI_ASKS_ADDED ? MI_TRACKS_ADDED : MI_TRACKS_ROWS, call);
    }
    return !is_tracked || change->tracker != NULL;
}

// Lists what is asked of changes, the required conditions first. False: out of memory, with the error set.
static bool list_changes(mica_query *query, const char *call) {
    uint32_t clauses = 0;
    bool is_complete = true;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        for (uint8_t asks = MI_ASKS_CHANGED; asks <= MI_ASKS_ADDED && is_complete; asks++) {
            is_complete = (term->asks & asks) == 0 || add_change(query, i, asks, 0, call);
        }
        if ((term->asks & MI_ASKS_REMOVED) != 0 && is_complete) {
            query->removed = mi_tracker_open(query->world, term->component, MI_TRACKS_REMOVED, call);
            query->removed_alone = term->use == MICA_USE_NONE && term->changed_any == 0 && query->term_count == 1 &&
                                   query->disabled == MI_DISABLED_LEFT_OUT;
            is_complete = query->removed != NULL;
        }
        clauses |= term->changed_any > 0 ? 1u << (term->changed_any - 1) : 0;
    }
    query->change_clauses = clauses;
    for (uint32_t i = 0; i < query->term_count && is_complete; i++) {
        const mi_term *term = &query->terms[i];
        if (term->changed_any > 0) {
            is_complete = add_change(query, i, MI_ASKS_CHANGED, term->changed_any, call);
        }
        if (is_complete && term->any > 0 && term->any != term->changed_any && (clauses >> (term->any - 1) & 1) != 0) {
            is_complete = add_change(query, i, 0, term->any, call);
        }
    }
    return is_complete;
}

// Lists the pools that an entity must be in.
static void list_required(mica_query *query) {
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[query->by_name[i]];
        mi_pool *pool = mi_term_is_required(term) ? mi_store_find_pool(&query->world->store, term->component) : NULL;
        if (pool != NULL) {
            query->required[query->required_count++] = pool;
        }
    }
}

static bool query_equal(const void *context, uint32_t value) {
    const query_key *key = context;
    const mica_query *query = key->world->queries.data[value];
    if (query->term_count != key->count || query->disabled != key->disabled) {
        return false;
    }
    for (uint32_t i = 0; i < key->count; i++) {
        const mi_term *a = &query->terms[i];
        const mi_term *b = &key->terms[i];
        if (a->component != b->component || a->use != b->use || a->any != b->any || a->asks != b->asks ||
            a->changed_any != b->changed_any || a->is_marked != b->is_marked) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_key(const query_key *key) {
    uint64_t hash = (uint64_t)key->disabled << 32 | key->count;
    for (uint32_t i = 0; i < key->count; i++) {
        const mi_term *term = &key->terms[i];
        hash = mi_hash_mix(hash ^ ((uint64_t)term->is_marked << 48 | (uint64_t)term->changed_any << 40 |
                                   (uint64_t)term->asks << 32 | (uint64_t)term->component << 16 |
                                   (uint64_t)term->use << 8 | term->any));
    }
    return hash;
}

static mica_query *compile(mica_world *world, const query_key *key, uint64_t hash, const char *call) {
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
    query->term_count = key->count;
    query->disabled = key->disabled;
    query->tables_dropped = world->store.tables_dropped;
    memcpy(query->terms, key->terms, key->count * sizeof(mi_term));
    sort_by_name(query);
    query->text_size = mi_query_write_text(query, NULL, 0) + 1;
    query->text = mi_heap_allocate(heap, MICA_MEMORY_QUERIES, query->text_size, 1);
    if (query->text == NULL) {
        mi_fail_memory(&world->log, call, query->text_size);
    }
    if (query->text == NULL || !compile_sets(query, call) || !list_changes(query, call)) {
        mi_query_free(query);
        return NULL;
    }
    compile_terms(query);
    list_required(query);
    mi_query_write_text(query, query->text, query->text_size);
    mi_map_insert(&world->query_map, hash, world->queries.count);
    world->queries.data[world->queries.count++] = query;
    world->sharing.prepared.is_void = true;
    return query;
}

mica_query *mi_query_find(mica_world *world, const mica_term *terms, const size_t *offsets, int32_t count,
                          const char *call) {
    if (world == NULL || count < 0 || (count > 0 && terms == NULL)) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call, "needs a world and an array of terms");
        return NULL;
    }
    if (count > MICA_QUERY_TERM_MAX) {
        mi_fail(&world->log, MICA_LIMIT, call, "{} terms; a query has {} at most", MI_INT(count),
                MI_INT(MICA_QUERY_TERM_MAX));
        return NULL;
    }
    query_key key;
    key.world = world;
    key.count = 0;
    key.disabled = MI_DISABLED_LEFT_OUT;
    key.asks_removed = false;
    for (int32_t i = 0; i < count; i++) {
        const term_place place = {call, offsets == NULL ? "term" : "byte", offsets == NULL ? (size_t)i : offsets[i]};
        if (add_term(world, &terms[i], &place, &key) != MICA_OK) {
            return NULL;
        }
    }
    for (uint32_t i = 0; i < key.count; i++) { // what has changed or was added is there
        mi_term *term = &key.terms[i];
        if (term->use == MICA_USE_NONE && (term->asks & (MI_ASKS_CHANGED | MI_ASKS_ADDED)) != 0) {
            term->use = MICA_USE_WITH;
        }
    }
    const uint64_t hash = hash_key(&key);
    const uint32_t found = mi_map_find(&world->query_map, hash, query_equal, &key);
    if (found != MI_MAP_NONE) {
        return world->queries.data[found];
    }
    return mi_world_check_making(world, "a query that nobody has made before", call) == MICA_OK
               ? compile(world, &key, hash, call)
               : NULL;
}

mica_query *mica_query_create(mica_world *world, const mica_term *terms, int32_t term_count) {
    return mica_query_retain(mi_query_find(world, terms, NULL, term_count, "mica_query_create"));
}

mica_query *mica_query_find(mica_world *world, const mica_term *terms, int32_t term_count) {
    mica_query *query = mi_query_find(world, terms, NULL, term_count, "mica_query_find");
    if (query == NULL && world != NULL) {
        mi_world_fail_unheard(world); // the caller goes on to walk over it
    }
    return query;
}

mica_query *mica_query_retain(mica_query *query) {
    if (query != NULL) {
        mi_reference_take(&query->reference_count);
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
    (void)mi_reference_give(&query->reference_count);
}

void mi_query_forget_runs(mica_query *query) {
    MI_FREE(&query->world->heap, MICA_MEMORY_QUERIES, &query->runs);
    query->run_count = 0;
    query->runs_driver = NULL;
}

void mi_query_forget_tables(mica_query *query) {
    if (query->tables_dropped != query->world->store.tables_dropped) {
        MI_FREE(&query->world->heap, MICA_MEMORY_QUERIES, &query->tables);
        MI_FREE(&query->world->heap, MICA_MEMORY_QUERIES, &query->table_bits);
    }
}

void mi_query_free(mica_query *query) {
    mi_heap *heap = &query->world->heap;
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query->all_of, query->set_size, sizeof(uint64_t));
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query->text, query->text_size, 1);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &query->tables);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &query->table_bits);
    mi_query_forget_runs(query);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, query, sizeof(*query), _Alignof(mica_query));
}

const char *mica_query_text(const mica_query *query) {
    return query == NULL ? "" : query->text;
}

// Matching

// A component that can be disabled, and is on somebody, cannot keep a whole table out.
static bool excludes(const mica_query *query, const mi_table *table) {
    if (!mi_bits_meet(table->bits, table->bit_words, query->none_of, query->word_count)) {
        return false;
    }
    if (query->toggle_count == 0) {
        return true;
    }
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        if (term->use == MICA_USE_WITHOUT && mi_table_has(table, term->component) &&
            mi_store_toggled(&query->world->store, term->component) == NULL) {
            return true;
        }
    }
    return false;
}

bool mi_query_matches(const mica_query *query, const mi_table *table) {
    if (!mi_bits_contain(table->bits, table->bit_words, query->all_of, query->word_count) || excludes(query, table)) {
        return false;
    }
    for (uint32_t i = 0; i < query->any_count; i++) {
        const uint64_t *any = query->any_of + i * query->word_count;
        bool is_used = false;
        for (uint32_t k = 0; k < query->word_count && !is_used; k++) {
            is_used = any[k] != 0;
        }
        if (is_used && (query->pool_clauses >> i & 1) == 0 &&
            !mi_bits_meet(table->bits, table->bit_words, any, query->word_count)) {
            return false;
        }
    }
    return true;
}

uint64_t mi_query_active_toggles(const mica_query *query) {
    uint64_t active = 0;
    for (uint32_t i = 0; i < query->toggle_count; i++) {
        const mica_component component = query->terms[query->toggles[i]].component;
        active |= (uint64_t)(mi_store_toggled(&query->world->store, component) != NULL) << i;
    }
    return active;
}

// As mi_query_matches, of table number `number` in the store's order.
static inline bool matches_at(const mica_query *query, const mi_store *store, uint32_t number) {
    const uint64_t word = store->ordered_words.data[number];
    if ((word & query->all_of[0]) != query->all_of[0]) {
        return false;
    }
    return query->matches_by_word ? (word & query->none_of[0]) == 0
                                  : mi_query_matches(query, store->ordered.data[number]);
}

mica_result mi_query_update_tables(mica_query *query, const char *call) {
    mi_store *store = &query->world->store;
    if (!mi_store_order(store) || !MI_RESERVE(&query->world->heap, MICA_MEMORY_QUERIES, &query->tables,
                                              (size_t)store->ordered.count + MI_FETCHED_TABLES)) {
        return mi_fail_memory(&query->world->log, call, store->ordered.count * sizeof(mi_table *));
    }
    query->world->sharing.prepared.is_void = true; // also for what is disabled now and enabled again before sharing
    query->toggles_active = mi_query_active_toggles(query);
    query->table_bits.count = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        if (matches_at(query, store, i)) {
            query->tables.data[count++] = store->ordered.data[i];
        }
    }
    for (uint32_t i = 0; count > 0 && i < MI_FETCHED_TABLES; i++) {
        query->tables.data[count + i] = query->tables.data[count - 1];
    }
    query->tables.count = count;
    query->tables_made = store->tables_made;
    query->tables_dropped = store->tables_dropped;
    return MICA_OK;
}

bool mi_query_note_tables(mica_query *query) {
    const uint32_t word_count = mi_bit_words(query->world->store.tables.count);
    if (query->table_bits.count > 0) {
        return true;
    }
    if (!MI_RESERVE(&query->world->heap, MICA_MEMORY_QUERIES, &query->table_bits, word_count)) {
        return false;
    }
    query->table_bits.count = word_count;
    memset(query->table_bits.data, 0, word_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < query->tables.count; i++) {
        mi_bit_set(query->table_bits.data, query->tables.data[i]->id);
    }
    return true;
}

const char *mi_query_validate(const mica_query *query) {
    const mi_store *store = &query->world->store;
    if (query->tables_dropped != store->tables_dropped || query->tables_made != store->tables_made ||
        query->toggles_active != mi_query_active_toggles(query)) {
        return NULL; // void: brought up to date before it is used
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const bool is_listed = next < query->tables.count && query->tables.data[next] == store->ordered.data[i];
        const mi_table *table = store->ordered.data[i];
        const bool is_noted = mi_bit_get(query->table_bits.data, query->table_bits.count, table->id);
        if (is_listed != mi_query_matches(query, table) || (query->table_bits.count > 0 && is_noted != is_listed)) {
            return "query: its list of tables is wrong";
        }
        next += is_listed;
    }
    return next == query->tables.count ? NULL : "query: it lists a table that is not there";
}

uint64_t mi_query_rows(const mica_query *query) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < query->tables.count; i++) {
        rows += query->tables.data[i]->row_count;
    }
    return rows;
}

uint64_t mi_query_structure(const mica_query *query) {
    uint64_t structure = 0;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_pool *pool = mi_store_find_pool(&query->world->store, query->terms[i].component);
        structure += pool == NULL ? 0 : pool->structure;
    }
    return structure;
}

// A version that is compared for who asks, as the public face says it.
static uint64_t said_version(const mica_world *world, bool is_outside, uint64_t version) {
    return is_outside ? version : mi_outside_version(world, version);
}

mica_result mi_query_check_removed(const mica_query *query, uint64_t since, const char *call) {
    const bool is_outside = (since & MI_SINCE_OUTSIDE) != 0;
    const mi_removals *removals = &mi_tracker_for(query->removed, is_outside)->removals;
    since &= ~MI_SINCE_OUTSIDE;
    if (since >= removals->lost_version && (since == 0 || since >= removals->dropped_version)) {
        return MICA_OK;
    }
    const mica_world *world = query->world;
    const char *name = mi_schema_type(world->schema, query->removed->component)->info.name;
    if (since < removals->lost_version) {
        return mi_fail(&world->log, MICA_OUT_OF_MEMORY, call,
                       "there was no memory to note a removal of {} (version {}): who lost it since version {} is not "
                       "known as a whole",
                       MI_TEXT(name), MI_UINT(said_version(world, is_outside, removals->lost_version)),
                       MI_UINT(said_version(world, is_outside, since)));
    }
    return mi_fail(&world->log, MICA_LIMIT, call,
                   "who lost {} since version {} is not known any more: removals are kept from version {} on",
                   MI_TEXT(name), MI_UINT(said_version(world, is_outside, since)),
                   MI_UINT(said_version(world, is_outside, removals->dropped_version)));
}

mica_result mi_query_check(mica_query *query, const char *call) {
    if (query == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a query");
    }
    const mica_result result = mi_query_update(query, call);
    if (MICA_UNLIKELY(result != MICA_OK)) {
        mi_world_fail_unheard(query->world);
        return result;
    }
    return mi_query_check_since(query, mi_world_since(query->world), call);
}

void mi_query_fail_walk(const mica_query *query, const char *call) {
    mi_fail(&query->world->log, MICA_OUT_OF_MEMORY, call, "out of memory for a walk over the query ({})",
            MI_TEXT(query->text));
    mi_world_fail_unheard(query->world);
}
