// The order in which world matrices are computed: a level after that of the parents, and within a level as the rows lie
// in memory.
//
// It stands as long as neither links nor the rows of linked entities and their parents change, so that resolving an
// unchanged structure is one pass over prepared lists. A level is the number of ancestors that have a pose; those
// without one are left out, and what is below them is relative to the nearest ancestor that has one.
#pragma once

#include "scene/node.h"
#include "store/store.h"

// Rows of one level that follow each other in a chunk.
typedef struct mi_level_run {
    uint32_t first; // location
    uint32_t count;
} mi_level_run;

// A piece of a level: MI_LEVEL_CUT_ROWS of its rows, what is left of them in the last one.
#define MI_LEVEL_CUT_ROWS 1024u
typedef struct mi_level_cut {
    uint32_t run;     // in which it begins
    uint32_t skipped; // rows of that run before it
    uint32_t first_row;
    uint32_t row_count;
} mi_level_cut;

// What the children of an entity are relative to.
typedef struct mi_level_note {
    uint32_t level;  // of the children
    uint32_t anchor; // location, 0: none; while climbing, the slot that the way came from
} mi_level_note;

typedef struct mi_level_count {
    uint32_t rows; // in the second walk: where the next one goes
    uint32_t runs; // likewise
    uint32_t last; // location of the row before; 0: none
} mi_level_count;

typedef struct mi_levels {
    MI_ARRAY(mi_level_run) runs;
    // For each row of the runs, in their order, the location of the row whose matrix it is relative to; 0: of none,
    // which rows of level 0 have, and they come first.
    MI_ARRAY(uint32_t) anchors;
    MI_ARRAY(mi_level_cut) cuts; // of all levels, in their order
    MI_ARRAY(uint32_t) cut_ends; // by level: the end of its cuts
    MI_ARRAY(bool) is_involved;  // by table id: it holds linked entities or parents
    bool is_made;
    // What the lists were made from.
    uint64_t links_version;
    uint64_t row_moves; // of all tables involved
    uint32_t tables_dropped;
    mica_component pose;
    // What the lists are made with: kept while structure changes again and again, so that this allocates nothing.
    MI_ARRAY(mi_level_note) notes; // by slot
    MI_ARRAY(mi_level_count) counts;
    uint32_t calm_count; // updates since the lists were made last
} mi_levels;

// Brings the lists up to date. MICA_OUT_OF_MEMORY; MICA_CYCLE: the records are corrupt. Sets no error. O(tables)
// if they are, else O(tables + linked entities).
mica_result mi_levels_update(mi_levels *levels, mi_store *store, mi_nodes *nodes, mica_component child_of,
                             mica_component pose);
// Frees what is needed only to make lists.
void mi_levels_trim(mi_levels *levels, mi_heap *heap);
void mi_levels_free(mi_levels *levels, mi_heap *heap);

// The first thing that is wrong with lists that are up to date, or NULL. O(linked entities).
const char *mi_levels_validate(const mi_levels *levels, const mi_store *store, const mi_nodes *nodes);
