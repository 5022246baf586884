// Rows that move as bytes.
//
// Everything that a move touches is loaded once and every slot and handle is stored once: a slot is known whole from
// its handle and location, and stores are what bounds how many moves wait for memory at the same time. A column's stamp
// is stored only if it is too early. What is kept of rows is brought up to date first and values are moved last: so few
// things are in use at a time that all of them stay in registers.
#include "store/moves.h"

#include "base/error.h"
#include "store/visibility.h"

// A row: its chunk, its number there.
typedef struct row_spot {
    uint8_t *base;
    uint32_t row;
} row_spot;

MI_INLINE mica_entity *row_handle(row_spot spot) {
    return (mica_entity *)(void *)spot.base + spot.row;
}

MI_APART void mi_store_find_tail(const mi_store *store, mi_table *table, uint32_t row) {
    const uint32_t chunk_id = table->chunk_ids[row >> table->shift];
    table->tail_first = row & ~table->row_mask;
    table->tail_location = chunk_id << MI_ROW_BITS;
    table->tail_base = store->chunks[chunk_id].base;
}

// A row near the end of a table, which is in the tail from then on.
MI_INLINE row_spot spot_of(const mi_store *store, mi_table *table, uint32_t row) {
    uint32_t row_in_tail = row - table->tail_first;
    if (MICA_UNLIKELY(row_in_tail > table->row_mask)) {
        mi_store_find_tail(store, table, row);
        row_in_tail = row - table->tail_first;
    }
    return (row_spot){.base = table->tail_base, .row = row_in_tail};
}

MI_INLINE bool is_same(row_spot a, row_spot b) {
    return a.row == b.row && a.base == b.base;
}

// Moves a value from one row to another, in one column of each table, and lets the new place's column know how late it
// may have changed.
MI_INLINE void move_value(const mi_column *to_column, row_spot to, const mi_column *column, row_spot from) {
    uint8_t *to_start = to.base + to_column->offset;
    uint8_t *start = from.base + column->offset;
    const size_t size = column->size;
    mi_value_copy_bytes(to_start + to.row * size, start + from.row * size, column->size);
    mi_column_take_over(to_start, start);
}

// The same, and fills the hole that the value leaves with the one of the last row.
MI_INLINE void move_and_fill(const mi_column *to_column, row_spot to, const mi_column *column, row_spot hole,
                             row_spot last) {
    uint8_t *to_start = to.base + to_column->offset;
    uint8_t *start = hole.base + column->offset;
    uint8_t *last_start = last.base + column->offset;
    const size_t size = column->size;
    uint8_t *to_value = to_start + to.row * size;
    uint8_t *value = start + hole.row * size;
    const uint8_t *last_value = last_start + last.row * size;
    switch (size) { // as in mi_value_copy_bytes, once for both
    case 4:
        memcpy(to_value, value, 4);
        memcpy(value, last_value, 4);
        break;
    case 8:
        memcpy(to_value, value, 8);
        memcpy(value, last_value, 8);
        break;
    case 12:
        memcpy(to_value, value, 12);
        memcpy(value, last_value, 12);
        break;
    case 16:
        memcpy(to_value, value, 16);
        memcpy(value, last_value, 16);
        break;
    default:
        memcpy(to_value, value, size);
        memcpy(value, last_value, size);
    }
    mi_column_take_over(to_start, start);
    mi_column_take_over(start, last_start);
}

// Lets the last row's entity stand in the hole.
MI_INLINE void fill_handle(mi_store *store, row_spot hole, uint32_t location, row_spot last) {
    const mica_entity moved = *row_handle(last);
    *row_handle(hole) = moved;
    mi_slots_put(&store->slots, moved, location);
    mi_column_mark(hole.base, store->version);
}

// Whether taking the last row off the table is no more than counting it off: it is in the tail, and not the first row
// of its chunk.
MI_INLINE bool is_within_tail(const mi_table *table) {
    return table->row_count - 1 - table->tail_first - 1 < table->row_mask;
}

// Takes the last row off the table and says where it was. Its chunk stays, so that its values can still be moved.
MI_INLINE row_spot drop_within_tail(mi_table *table) {
    table->row_moves++;
    return (row_spot){.base = table->tail_base, .row = --table->row_count - table->tail_first};
}

// The same for any row.
static row_spot drop_last(mi_store *store, mi_table *table) {
    table->row_moves++;
    const row_spot last = spot_of(store, table, --table->row_count);
    if (last.row == 0) {
        mi_store_close_rows(store, table);
    }
    return last;
}

// Opens and publishes the next row of a table that has room.
MI_INLINE row_spot publish_row(mi_store *store, mi_table *table, mica_entity entity) {
    const row_spot spot = spot_of(store, table, table->row_count);
    if (MICA_UNLIKELY(spot.row == 0)) {
        mi_store_reset_chunk(table, spot.base);
    }
    *row_handle(spot) = entity;
    mi_slots_put(&store->slots, entity, table->tail_location | spot.row);
    mi_column_mark(spot.base, store->version);
    table->row_count++;
    return spot;
}

// A row on its way along an edge.
typedef struct row_crossing {
    mi_table *from;
    mi_table *to;
    row_spot hole; // where it was
    row_spot last; // what fills the hole; the same, if the row was the last one itself
    row_spot spot; // where it comes to
} row_crossing;

// Takes the row off the old table and publishes the new one.
MI_INLINE row_crossing begin_crossing(mi_store *store, mica_entity entity, uint32_t location, mi_table *to) {
    const mi_chunk *chunk = &store->chunks[location >> MI_ROW_BITS];
    row_crossing crossing = {.from = chunk->of.table, .to = to};
    crossing.last =
        MICA_LIKELY(is_within_tail(crossing.from)) ? drop_within_tail(crossing.from) : drop_last(store, crossing.from);
    crossing.hole = (row_spot){.base = chunk->base, .row = mi_row_of(location)};
    crossing.spot = publish_row(store, to, entity);
    return crossing;
}

// Moves the value of one column, and fills the hole that it leaves if there is one.
MI_INLINE void cross_value(const row_crossing *crossing, const mi_column *to_column, const mi_column *column,
                           bool fills) {
    if (fills) {
        move_and_fill(to_column, crossing->spot, column, crossing->hole, crossing->last);
    } else {
        move_value(to_column, crossing->spot, column, crossing->hole);
    }
}

// Moves the values. The table with more columns has one more at number `gap`.
MI_INLINE void cross_values(const row_crossing *crossing, uint32_t gap, bool removes, bool fills) {
    const mi_column *column = crossing->from->columns;
    const mi_column *to_column = crossing->to->columns;
    const mi_column *const end = column + crossing->from->column_count;
    const mi_column *const gap_column = gap == MI_GAP_TAG ? end : column + gap; // `end` if it is the last one to come
    for (; column < gap_column; column++) {
        cross_value(crossing, to_column++, column, fills);
    }
    if (!removes) {
        to_column++;
    } else if (column < end) {
        if (fills) {
            move_value(column, crossing->hole, column, crossing->last);
        }
        column++;
    }
    for (; column < end; column++) {
        cross_value(crossing, to_column++, column, fills);
    }
}

// Moves the values and fills the hole at `location`.
MI_INLINE void end_crossing(mi_store *store, const row_crossing *crossing, uint32_t location, uint32_t gap,
                            bool removes) {
    if (MICA_LIKELY(!is_same(crossing->hole, crossing->last))) {
        fill_handle(store, crossing->hole, location, crossing->last);
        cross_values(crossing, gap, removes, true);
    } else {
        cross_values(crossing, gap, removes, false);
    }
    MI_STORE_SHAKE(store, crossing->from);
    MI_STORE_SHAKE(store, crossing->to);
}

// Gives the value to a row that has been published; NULL: a tag has none.
MI_INLINE void *place_value(const mi_store *store, const mi_table *to, row_spot spot, uint32_t gap, const void *value) {
    if (value == NULL) {
        return NULL;
    }
    const mi_column *column = &to->columns[gap];
    uint8_t *start = spot.base + column->offset;
    uint8_t *place = start + (size_t)spot.row * column->size;
    mi_value_copy_bytes(place, value, column->size);
    mi_column_mark(start, store->version);
    return place;
}

// Where a value in the last row is found again, if rows always move.
MI_INLINE void *shaken(const mi_store *store, mi_table *to, uint32_t gap, void *place) {
    return MI_MOVES_ALWAYS && place != NULL ? mi_store_value(store, to, mi_store_location(to, to->row_count - 1),
                                                             to->columns[gap].type->info.id, to->columns[gap].size)
                                            : place;
}

// Brings an entity to its first row.
MI_APART static void *enter(mi_store *store, mica_entity entity, const mi_edge *edge, const void *value) {
    mi_store_root(store)->row_moves++; // as if a row went
    const row_spot spot = publish_row(store, edge->to, entity);
    void *place = place_value(store, edge->to, spot, edge->gap, value);
    MI_STORE_SHAKE(store, edge->to);
    return shaken(store, edge->to, edge->gap, place);
}

void *mi_store_cross_adding(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge,
                            const void *value) {
    MI_ASSERT((store->extras & MI_EXTRA_MARKS) == 0 && mi_edge_takes(edge, false, value));
    if (location == 0) {
        return enter(store, entity, edge, value);
    }
    const uint32_t gap = edge->gap;
    const row_crossing crossing = begin_crossing(store, entity, location, edge->to);
    void *place = place_value(store, crossing.to, crossing.spot, gap, value); // which may lie among the others
    end_crossing(store, &crossing, location, gap, false);
    return shaken(store, crossing.to, gap, place);
}

mica_result mi_store_cross_removing(mi_store *store, mica_entity entity, uint32_t location, const mi_edge *edge) {
    MI_ASSERT((store->extras & MI_EXTRA_MARKS) == 0 && mi_edge_takes(edge, true, NULL));
    const uint32_t gap = edge->gap;
    const row_crossing crossing = begin_crossing(store, entity, location, edge->to);
    end_crossing(store, &crossing, location, gap, true);
    return MICA_OK;
}

// Fills the hole that a row has left with the last one, which is taken off the table already.
MI_APART static mica_result fill_hole(mi_store *store, const mi_table *table, uint32_t location, uint8_t *base,
                                      row_spot last) {
    const row_spot hole = {.base = base, .row = mi_row_of(location)};
    fill_handle(store, hole, location, last);
    const mi_column *end = table->columns + table->column_count;
    for (const mi_column *column = table->columns; column < end; column++) {
        move_value(column, hole, column, last);
    }
    MI_STORE_SHAKE(store, store->chunks[location >> MI_ROW_BITS].of.table);
    return MICA_OK;
}

MI_INLINE mica_result take_row(mi_store *store, mi_table *table, uint32_t location, uint8_t *base, row_spot last) {
    if (MICA_LIKELY(last.row != mi_row_of(location) || last.base != base)) {
        return fill_hole(store, table, location, base, last);
    }
    MI_STORE_SHAKE(store, table);
    return MICA_OK;
}

MI_APART static mica_result take_row_anywhere(mi_store *store, mi_table *table, uint32_t location, uint8_t *base) {
    return take_row(store, table, location, base, drop_last(store, table));
}

mica_result mi_store_take_row(mi_store *store, uint32_t location) {
    MI_ASSERT((store->extras & MI_EXTRA_MARKS) == 0);
    const mi_chunk *chunk = &store->chunks[location >> MI_ROW_BITS];
    mi_table *table = chunk->of.table;
    return MICA_LIKELY(is_within_tail(table)) ? take_row(store, table, location, chunk->base, drop_within_tail(table))
                                              : take_row_anywhere(store, table, location, chunk->base);
}
