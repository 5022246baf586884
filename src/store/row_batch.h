// Rows of many entities that come by one component, or lose it, moved column by column.
//
// The result is that of moving one after the other: the same rows in the same order, with the same stamps. What makes
// it faster is that handles and slots are seen to first, up to MI_ROW_BATCH entities ahead of their values, so that the
// values' memory is on its way by the time they are copied, and that a column's values are copied in one loop.
//
// Only for tables without hooks, and rows that were opened: nothing here can fail. Between mi_row_batch_add and
// mi_row_batch_flush values are raw, and nobody may look at them.
#pragma once

#include "store/store.h"

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
    uint32_t count;
    uint32_t run_count;
    uint32_t run_left;           // entities that still fit in the last run
    const uint8_t *values;       // of the component, by number in the batch; NULL: zeros, a tag, or it goes
    uint32_t from[MI_ROW_BATCH]; // locations of the rows that are left, by number
    mi_row_run runs[MI_ROW_BATCH];
} mi_row_batch;

// Brings an entity at a location from one table into another; values in the batch are those of entities that were added
// one after the other. The batch is not full.
void mi_row_batch_add(mi_row_batch *batch, mica_entity entity, uint32_t location, mi_table *from, mi_table *to);
// Moves the values. The batch is empty then.
void mi_row_batch_flush(mi_row_batch *batch);
