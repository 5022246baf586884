// Cutting loops; see pieces.h.
//
// A loop has some hundred pieces at least, if it has the rows: enough for many threads to have about as much to do,
// and few enough that what a span costs does not show where rows are light. They begin where a cache line does in every
// column of a table, so that what vectors want of a chunk's start holds for all, and no two threads write to one line.
#include "world/pieces.h"

#include "world/walk.h"

// As many pieces at least as a loop over few tables is cut into, or half as many, since pieces are powers of two.
#define PIECES_WANTED 128u
#define PIECE_ROWS_LEAST 16u
// Walks along pools look at entities, which makes spans dearer.
#define PIECE_POSITIONS_LEAST 64u

// The fewest rows that a piece may have and the next one begin at a multiple of MI_COLUMN_ALIGN bytes in all columns.
static uint32_t least_rows(const mica_query *query) {
    uint32_t rows = PIECE_ROWS_LEAST;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        const uint32_t size = column->type->info.size;
        // The largest power of two that divides what a row takes; fields in lanes may be of any size.
        const uint32_t unit = mi_type_in_lanes(column->type) ? 1 : size & (~size + 1);
        if (column->pool == NULL && MI_COLUMN_ALIGN / unit > rows) {
            rows = MI_COLUMN_ALIGN / unit;
        }
    }
    return rows;
}

static uint32_t choose_rows(uint64_t row_count, uint32_t least) {
    uint32_t rows = least;
    while (rows < MI_ROW_MAX && rows < row_count / PIECES_WANTED) {
        rows *= 2;
    }
    return rows;
}

mi_cut mi_cut_make(mica_query *query) {
    uint32_t position_count = 0;
    mi_cut cut = {.query = query, .row_count = mi_query_rows(query)};
    if (mi_walk_drives_tables(query)) {
        cut.piece_rows = choose_rows(cut.row_count, least_rows(query));
    } else if (mi_walk_drives_pool(query, &position_count)) {
        cut.in_pool = true;
        cut.row_count = position_count;
        cut.piece_rows = choose_rows(position_count, PIECE_POSITIONS_LEAST);
    }
    return cut;
}

// Makes the first piece of the place's chunk its piece; false: its table has no such chunk.
static bool find_piece(const mi_cut *cut, mi_cut_place *place, const mi_table *table) {
    if ((uint64_t)place->chunk_index << table->shift >= table->row_count) {
        return false;
    }
    place->table = table;
    place->base = cut->query->world->store.chunks[table->chunk_ids[place->chunk_index]].base;
    place->chunk_rows = mi_table_chunk_rows(table, place->chunk_index);
    place->first_row = 0;
    place->row_count = mi_cut_limit(cut, place->chunk_rows);
    return true;
}

// Makes the first piece of the place's table, or of the first one behind it that has rows, its piece; behind all tables
// that of the entities without rows.
static void find_table(const mi_cut *cut, mi_cut_place *place) {
    const mica_query *query = cut->query;
    place->chunk_index = 0;
    for (; place->table_index < query->tables.count; place->table_index++) {
        mi_table *const *entry = &query->tables.data[place->table_index];
        mi_query_fetch_table(query, entry);
        if (find_piece(cut, place, *entry)) {
            return;
        }
    }
    place->table = NULL;
    place->first_row = 0;
    place->chunk_rows = !query->requires_table;
    place->row_count = place->chunk_rows;
}

mi_cut_place mi_cut_first(const mi_cut *cut) {
    mi_cut_place place = {.chunk_rows = 1, .row_count = 1}; // all that there is
    if (cut->in_pool) {
        place.chunk_rows = (uint32_t)cut->row_count;
        place.row_count = mi_cut_limit(cut, place.chunk_rows);
    } else if (cut->piece_rows > 0) {
        find_table(cut, &place);
    }
    return place;
}

void mi_cut_next_chunk(const mi_cut *cut, mi_cut_place *place) {
    if (place->table == NULL) {
        place->row_count = 0;
        return;
    }
    place->chunk_index++;
    if (!find_piece(cut, place, place->table)) {
        place->table_index++;
        find_table(cut, place);
    }
}
