// Many rows of one table to another that has one component more.
//
// Rows go in runs, column by column, and leave holes behind that are closed together afterwards: meanwhile the table
// that they leave is in no state for anybody else. Nothing here can fail, since the caller has opened the new rows.
#pragma once

#include "store/store.h"

// Moves the rows of `from` at `first` and after it, all in one chunk, to the first open rows of `to`, whose components
// are those of `from` and `given` (plain bytes, `size` each), with these values for it.
void mi_transfer_rows(mi_store *store, mi_table *from, mi_table *to, uint32_t first, uint32_t count,
                      mica_component given, const void *values, uint32_t size);

// Closes the holes: from the last one on, each is filled by the table's last row. O(rows).
void mi_transfer_end(mi_store *store, mi_table *from);
