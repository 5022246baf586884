// A compiled query.
//
// `tables` holds the matching tables in canonical order. It is brought up to date when a walk opens or a count is asked
// for (new tables come to be only by structural changes, and a walk that is open forbids those), so that making a table
// costs nothing for queries that nobody walks. What a query says of pools is a pair of masks over the pools' numbers,
// tested entity by entity. Any-of clauses with members in pools are tested by entity, the others by table. What it asks
// of changes is a list of its own, judged by piece and by entity (since.h); that something must be there to have
// changed is part of the rest.
#pragma once

#include "base/bitset.h"
#include "world/world.h"

#define MI_ACCESS_READ 1u
#define MI_ACCESS_WRITE 2u
#define MI_ACCESS_MARKED 4u // writing does not mark what is written
#define MI_ACCESS_READ_READY MICA_HEAD_READ_READY
#define MI_ACCESS_WRITE_READY MICA_HEAD_WRITE_READY
// The same of a component in lanes, which has no column of values to be read or written.
#define MI_ACCESS_READ_LANES 32u
#define MI_ACCESS_WRITE_LANES 64u
#define MI_ACCESS_READY_LANES 128u // required: every span has them
#define MI_ANY_MAX 8
#define MI_COLUMN_NONE UINT8_MAX

// What a term asks of its component beside its use.
#define MI_ASKS_CHANGED 1u
#define MI_ASKS_ADDED 2u
#define MI_ASKS_REMOVED 4u

// All that a query says of one component.
typedef struct mi_term {
    mica_component component;
    uint8_t use;  // a mica_use up to MICA_USE_OPTIONAL_WRITE; MICA_USE_NONE: it need not be there, and is not looked at
    uint8_t any;  // of the use
    uint8_t asks; // MI_ASKS_…; changed and added: it is required
    uint8_t changed_any; // the any-of clause for which it has to have changed; 0: none
    bool is_marked;      // what is written is marked row by row
} mi_term;

// A condition on what has changed, or a member of an any-of clause that has such a condition.
typedef struct mi_query_change {
    const mi_type *type;
    mi_pool *pool;              // NULL: in tables
    struct mi_tracker *tracker; // whose stamps decide; NULL: those of columns and pages do
    uint8_t term;
    uint8_t asks; // MI_ASKS_CHANGED or MI_ASKS_ADDED; 0: to be there is enough
    uint8_t any;  // 0: required
} mi_query_change;

// What a query says of disabled entities.
typedef enum mi_disabled { MI_DISABLED_LEFT_OUT, MI_DISABLED_TOO, MI_DISABLED_ONLY } mi_disabled;

// A component that a query reads or writes.
typedef struct mi_query_column {
    const mi_type *type;
    mi_pool *pool;       // NULL: in tables
    uint8_t term;        // position in `terms`
    uint8_t source;      // position in `sources`
    bool is_optional;    // need not be there: optional, or in an any-of clause
    bool may_be_toggled; // is_optional, and of a type that can be disabled
} mi_query_column;

// What columns are found through.
typedef struct mi_query_source {
    mi_pool *pool;    // NULL: the entities' rows
    bool is_optional; // entities that match need not be in it
} mi_query_source;

struct mica_query {
    mica_world *world;
    uint32_t reference_count;
    uint32_t open_count; // walks over this query
    uint64_t hash;
    uint32_t term_count;
    mi_term terms[MICA_QUERY_TERM_MAX];   // ascending by component
    uint8_t by_name[MICA_QUERY_TERM_MAX]; // positions in `terms`, in the order of the components' names: for texts
    mi_disabled disabled;
    uint32_t any_count; // any-of clauses in use
    bool writes;
    mica_component fetched_component; // in tables and required, if there is one: walks ask for its column ahead
    uint32_t change_count;
    uint32_t change_clauses; // bit n: clause n + 1 has members in `changes`
    mi_query_change changes[MICA_QUERY_TERM_MAX];
    struct mi_tracker *removed; // of the component whose removals are walked; NULL: none
    bool removed_alone;         // nothing else is asked of who lost it
    // Sets of components in tables, word_count words each; any_of has any_count of them.
    uint32_t word_count;
    uint64_t *all_of;  // must be there
    uint64_t *none_of; // must not be there
    uint64_t *any_of;
    // The same of pools, by the pools' numbers.
    uint32_t mask_word_count;
    uint64_t *mask_all;
    uint64_t *mask_none;
    uint64_t *mask_any;
    size_t set_size;       // bytes behind `all_of`, which holds all sets and the two maps
    uint8_t *access;       // by component id: MI_ACCESS_…
    uint8_t *column_of;    // by component id: position in `columns`, MI_COLUMN_NONE
    uint32_t access_count; // ids from here on have none
    uint32_t pool_clauses; // bit n: clause n + 1 has members in pools
    uint32_t pool_term_count;
    uint32_t required_count; // of `required`
    uint32_t toggle_count;   // terms whose types can be disabled
    uint32_t column_count;
    uint32_t source_count;
    uint32_t optional_count;                // of columns
    mi_pool *required[MICA_QUERY_TERM_MAX]; // the pools that an entity must be in, by name
    uint8_t toggles[MICA_QUERY_TERM_MAX];   // positions in `terms`
    mi_query_column columns[MICA_QUERY_TERM_MAX];
    mi_query_source sources[MICA_QUERY_TERM_MAX];
    bool requires_table;   // no entity without a row matches
    bool requires_nothing; // neither a table's component nor a pool's: walks all living entities
    bool is_simple;        // of tables alone: nothing but chunks need be looked at while nobody is hidden or watched
    bool matches_by_word;  // the first word of a table's set of components says whether it matches
    uint32_t tables_made;  // store's counts when `tables` was last brought up to date
    uint32_t tables_dropped;
    uint64_t toggles_active; // bit n: somebody has toggle n disabled, by then
    MI_ARRAY(mi_table *) tables;
    MI_ARRAY(uint64_t) table_bits; // by table id: whether it is in `tables`; empty: not asked for since that changed
    // What a whole walk over pools alone has found; good while the sum of the pools' structure stamps stands. A record
    // is the first position in the driver, how many follow, and a position a source, where a run starts. Or, with
    // MI_RUN_WINDOW: how many of those pass, their numbers, two in one, if not all do, and for each source but the
    // driver the positions of all.
    MI_ARRAY(uint32_t) runs;
    uint32_t run_count;         // records
    const mi_pool *runs_driver; // NULL: none are known
    uint64_t runs_structure;
    char *text;
    size_t text_size;
};

// So many tables ahead of a walk they are asked for; as often the last one stands behind the end of `tables`.
#define MI_FETCHED_TABLES 6u
#define MI_FETCHED_CHUNKS 3u

#define MI_RUN_WINDOW 0x80000000u

static inline bool mi_term_is_required(const mi_term *term) {
    return term->any == 0 && (term->use == MICA_USE_READ || term->use == MICA_USE_WRITE || term->use == MICA_USE_WITH);
}

// The any-of clauses that a term is in, a bit each.
static inline uint32_t mi_term_clauses(const mi_term *term) {
    return (term->any > 0 ? 1u << (term->any - 1) : 0) | (term->changed_any > 0 ? 1u << (term->changed_any - 1) : 0);
}

// Whether what matches depends on since when changes count.
static inline bool mi_query_asks_changes(const mica_query *query) {
    return query->change_count > 0 || query->removed != NULL;
}

static inline const mi_type *mi_term_type(const mica_query *query, const mi_term *term) {
    return mi_schema_type(query->world->schema, term->component);
}

// The query of a caller's terms, without a reference; as mica_query_find. `offsets` are their places in the text that
// they come from, for messages; NULL: they are counted.
mica_query *mi_query_find(mica_world *world, const mica_term *terms, const size_t *offsets, int32_t count,
                          const char *call);
// Brings `tables` up to date; MICA_OUT_OF_MEMORY with the error set for `call`.
mica_result mi_query_update_tables(mica_query *query, const char *call);
static inline mica_result mi_query_update(mica_query *query, const char *call);
// Says that there is no memory for a walk over the query: the system that runs has failed.
void mi_query_fail_walk(const mica_query *query, const char *call);
// Brings `table_bits` up to date, of a query that is; false: out of memory. Sets no error.
bool mi_query_note_tables(mica_query *query);
// As mi_query_update for a query from outside: NULL is MICA_INVALID; without memory the system that runs has failed.
// And as mi_query_check_since for who is asking.
mica_result mi_query_check(mica_query *query, const char *call);
// Whether all removals since a version are known that the query asks for: MICA_LIMIT, MICA_OUT_OF_MEMORY.
mica_result mi_query_check_removed(const mica_query *query, uint64_t since, const char *call);
static inline mica_result mi_query_check_since(const mica_query *query, uint64_t since, const char *call) {
    return MICA_LIKELY(query->removed == NULL) ? MICA_OK : mi_query_check_removed(query, since, call);
}
// Writes the query as a text that mica_query_create_text reads, cut to `capacity`; returns the length without the cut.
size_t mi_query_write_text(const mica_query *query, char *text, size_t capacity);
// Whether the entities of a table match, as far as its components say it.
bool mi_query_matches(const mica_query *query, const mi_table *table);
// How many rows the tables that match have. The query is up to date.
uint64_t mi_query_rows(const mica_query *query);
// Grows when an element of a pool that the query names comes, goes or moves.
uint64_t mi_query_structure(const mica_query *query);
// Which of the query's toggles are disabled on somebody, a bit each.
uint64_t mi_query_active_toggles(const mica_query *query);
static inline mica_result mi_query_update(mica_query *query, const char *call) {
    const mi_store *store = &query->world->store;
    if (MICA_LIKELY(query->tables_made == store->tables_made && query->tables_dropped == store->tables_dropped &&
                    (query->toggle_count == 0 || query->toggles_active == mi_query_active_toggles(query)))) {
        return MICA_OK;
    }
    return mi_query_update_tables(query, call);
}
// Asks for the parts of a table that a walk looks at, some places ahead.
static inline void mi_query_fetch_table(const mica_query *query, mi_table *const *place) {
    const mi_table *table = place[MI_FETCHED_TABLES];
    __builtin_prefetch(&table->first_base);
    __builtin_prefetch(&table->offset_of[query->fetched_component]);
    const mi_table *next = place[MI_FETCHED_CHUNKS];
    const size_t offset = (size_t)next->offset_of[query->fetched_component] * MI_COLUMN_ALIGN;
    const uintptr_t column = (uintptr_t)next->first_base + offset; // of a table without rows it may be anything
    __builtin_prefetch((const void *)(column - sizeof(mi_column_head)));
    __builtin_prefetch((const void *)column);
}
// Whether a living entity matches for who is asking; the query need not be up to date. Sets no error.
bool mi_query_passes(const mica_query *query, mica_entity entity);
// Frees the runs that walks found.
void mi_query_forget_runs(mica_query *query);
// Frees the lists of tables if they are void.
void mi_query_forget_tables(mica_query *query);
void mi_query_free(mica_query *query);
// The first thing that is wrong, or NULL.
const char *mi_query_validate(const mica_query *query);
