// Chunk memory of tables, as store.c needs it; rows are in store.h.
#pragma once

#include "store/store.h"

// Gives back all chunks of a table, whose rows are gone.
void mi_chunks_release_all(mi_store *store, mi_table *table);
// Gives back the chunks behind the last row, and what the only one has room for beyond need, but for room that is kept.
void mi_chunks_release_spare(mi_store *store, mi_table *table);
// Gives back what a chunk left behind when it grew.
void mi_chunks_release_outgrown(mi_store *store);
// Gives back blocks without chunks, and the region if it has none left.
void mi_chunks_trim_region(mi_store *store);
// Gives back what the list of chunks does not need.
void mi_chunks_shrink_list(mi_store *store);
// Frees the list of chunks and the region; all tables have given theirs back.
void mi_chunks_free(mi_store *store);
