// A compiled query.
//
// `tables` holds the matching tables in canonical order. It is brought up to date when a walk opens or a count is asked
// for (new tables come to be only by structural changes, and a walk that is open forbids those), so that making a table
// costs nothing for queries that nobody walks.
#pragma once

#include "base/bitset.h"
#include "world/world.h"

#define MI_ACCESS_READ 1u
#define MI_ACCESS_WRITE 2u
#define MI_ANY_MAX 8

typedef struct mi_term {
    mica_component component;
    uint8_t use; // a mica_use
    uint8_t any;
} mi_term;

struct mica_query {
    mica_world *world;
    uint32_t reference_count;
    uint32_t open_count; // walks over this query
    uint64_t hash;
    uint32_t term_count;
    mi_term terms[MICA_QUERY_TERM_MAX];   // ascending by component
    uint8_t by_name[MICA_QUERY_TERM_MAX]; // positions in `terms`, in the order of the components' names: for texts
    uint32_t word_count;                  // of the sets below
    uint32_t any_count;                   // any-of clauses in use
    uint64_t *all_of;                     // word_count words: must be there
    uint64_t *none_of;                    // must not be there
    uint64_t *any_of;                     // any_count times word_count words
    size_t set_size;                      // bytes behind `all_of`, which holds all sets and the access map
    uint8_t *access;                      // by component id: MI_ACCESS_…
    uint32_t access_count;                // ids from here on have none
    bool requires_nothing;                // matches entities without components
    uint32_t tables_made;                 // store's counts when `tables` was last brought up to date
    uint32_t tables_dropped;
    MI_ARRAY(mi_table *) tables;
    char *text;
    size_t text_size;
};

// Brings `tables` up to date; MICA_OUT_OF_MEMORY with the error set for `call`.
mica_result mi_query_update(mica_query *query, const char *call);
// The same for a query from outside: NULL is MICA_INVALID.
mica_result mi_query_check(mica_query *query, const char *call);
// Writes the query in words, cut to `capacity`; returns the length without the cut.
size_t mi_query_write_text(const mica_query *query, char *text, size_t capacity);
bool mi_query_matches(const mica_query *query, const mi_table *table);
void mi_query_free(mica_query *query);
// The first thing that is wrong, or NULL.
const char *mi_query_validate(const mica_query *query);
