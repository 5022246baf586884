// How a parallel loop cuts what it goes through into pieces, of which threads take some each.
//
// Where a piece ends follows from what the world holds and from the query, never from threads, time, or what a loop
// took before: no span reaches over the end of one, so that a loop has the same spans whoever visits them, also on one
// thread. The walk of a piece depends on nothing outside of it.
#pragma once

#include "world/query.h"

typedef struct mi_cut {
    mica_query *query;   // up to date
    uint64_t row_count;  // of the tables that match, or positions of the pool that drives
    uint32_t piece_rows; // of a piece at most, a power of two; 0: the whole walk is one piece
    bool in_pool;        // pieces are of the pool
} mi_cut;

// A piece.
typedef struct mi_cut_place {
    const mi_table *table; // NULL: all entities without rows, or positions of the pool
    uint8_t *base;         // of the chunk
    uint32_t table_index;  // of the query's tables
    uint32_t chunk_index;
    uint32_t chunk_rows; // or positions, up to where the walk goes
    uint32_t first_row;
    uint32_t row_count; // 0: it stands behind the last piece
} mi_cut_place;

// Cuts a walk of who is asking. O(tables that match).
mi_cut mi_cut_make(mica_query *query);
mi_cut_place mi_cut_first(const mi_cut *cut);
// Goes on behind the last piece of a chunk.
void mi_cut_next_chunk(const mi_cut *cut, mi_cut_place *place);

// Of so many rows that follow each other, how many are one piece.
static inline uint32_t mi_cut_limit(const mi_cut *cut, uint32_t rows) {
    return rows < cut->piece_rows ? rows : cut->piece_rows;
}

static inline void mi_cut_next(const mi_cut *cut, mi_cut_place *place) {
    place->first_row += place->row_count;
    const uint32_t left = place->chunk_rows - place->first_row;
    if (left == 0) {
        mi_cut_next_chunk(cut, place);
    } else {
        place->row_count = mi_cut_limit(cut, left);
    }
}

// Whether what a walk meets in a piece does not depend on what was written in others, so that several threads may walk
// them: not where several pieces are one, nor where any of several components may have changed, of which one may be
// written in a piece and stand in the column or page of another.
static inline bool mi_cut_is_free(const mi_cut *cut) {
    return cut->piece_rows > 0 && cut->query->change_clauses == 0;
}
