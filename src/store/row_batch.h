// Rows of many entities that come by one component, or lose it, moved column by column.
//
// The result is that of moving one after the other: the same rows in the same order, with the same stamps. What makes
// it faster is that handles and slots are seen to first, up to MI_ROW_BATCH entities ahead of their values, so that the
// values' memory is on its way by the time they are copied, and that a column's values are copied in one loop.
//
// Only for tables without hooks, and rows that were opened: nothing here can fail. Between mi_row_batch_add and
// mi_row_batch_flush values are raw, and nobody may look at them.
#pragma once

#include "store/fetch.h"

#define MI_ROW_BATCH 32u

// Entities one after the other that leave the same table for the same other one. Their rows there follow each other in
// one chunk, and so do, backwards, the rows that fill their holes.
typedef struct mi_row_run {
    mi_table *from;
    mi_table *to;
    uint32_t first; // number in the batch
    uint32_t place; // location of the first new row; 0: the new table is the root
    uint32_t last;  // location of the row that fills the first hole; 0: the old table is the root
} mi_row_run;

typedef struct mi_row_batch {
    mi_store *store;
    mica_component component; // that comes or goes
    bool fetches;             // see fetch.h
    bool hides;               // some entities are hidden: chunks count their rows
    uint32_t count;
    uint32_t run_count;
    const uint8_t *values; // of the component, by number in the batch; NULL: zeros, a tag, or it goes
    // The last run: its tables, how many entities still fit in it, and where the next new row and the next row that
    // fills a hole are.
    mi_table *from;
    mi_table *to;
    uint32_t run_left;
    uint32_t place;
    uint32_t last;
    mica_entity *place_handle;        // NULL: the new table is the root
    mica_entity *last_handle;         // NULL: the old table is
    uint32_t locations[MI_ROW_BATCH]; // of the rows that are left, by number
    mi_row_run runs[MI_ROW_BATCH];
} mi_row_batch;

// Makes an empty batch.
void mi_row_batch_begin(mi_row_batch *batch, mi_store *store, mica_component component);
// Begins another run.
void mi_row_batch_begin_run(mi_row_batch *batch, mi_table *from, mi_table *to);
// Lets chunks count that a row goes from a location, one comes to `place` (0: none), and the last one fills the hole.
void mi_row_batch_count_hidden(const mi_row_batch *batch, mica_entity entity, uint32_t location);
// Moves the values; the batch is empty then.
void mi_row_batch_flush(mi_row_batch *batch);

// Asks for the values that are going to be copied, and for the slot of an entity that will fill a hole.
static inline void mi_row_batch_fetch(const mi_row_batch *batch, uint32_t location) {
    const uint8_t *base = mi_store_base(batch->store, location);
    const size_t row = mi_row_of(location);
    const mi_column *end = batch->from->columns + batch->from->column_count;
    for (const mi_column *column = batch->from->columns; column < end; column++) {
        const uint8_t *value = base + column->offset + row * column->size;
        __builtin_prefetch(value, 1);
        __builtin_prefetch(value + column->size - 1, 1); // the value may reach into another line of the cache
    }
    if (mi_row_of(batch->last) >= MI_ROWS_AHEAD) {
        mi_fetch_slot(&batch->store->slots, *(batch->last_handle - MI_ROWS_AHEAD));
    }
}

// Brings an entity at a location from one table into another; values in the batch are those of entities that were added
// one after the other. The batch is not full.
static inline void mi_row_batch_add(mi_row_batch *batch, mica_entity entity, uint32_t location, mi_table *from,
                                    mi_table *to) {
    mi_store *store = batch->store;
    if (MICA_UNLIKELY(from != batch->from || to != batch->to || batch->run_left == 0)) {
        mi_row_batch_begin_run(batch, from, to);
    }
    batch->run_left--;
    batch->locations[batch->count++] = location;
    if (MICA_UNLIKELY(batch->hides)) {
        mi_row_batch_count_hidden(batch, entity, location);
    }
    uint32_t place = 0;
    if (MICA_LIKELY(batch->place_handle != NULL)) {
        *batch->place_handle++ = entity;
        place = batch->place++;
    }
    mi_slots_move(&store->slots, mica_entity_index(entity), place);
    if (MICA_UNLIKELY(batch->last_handle == NULL)) {
        return;
    }
    if (batch->fetches) {
        mi_row_batch_fetch(batch, location);
    }
    const mica_entity moved = *batch->last_handle--;
    if (MICA_LIKELY(batch->last-- != location)) {
        mica_entity *handles = (mica_entity *)(void *)mi_store_base(store, location);
        handles[mi_row_of(location)] = moved;
        mi_column_mark(handles, store->version);
        mi_slots_move(&store->slots, mica_entity_index(moved), location);
    }
}
