// Versions across restores: what those who look at a world from outside are told.
//
// A restore brings the store's version and all stamps back to what they were, so that systems see in the ticks that
// follow just what they saw the first time. Whoever looks from outside has seen the ticks that are gone as well. The
// versions that he is given and hands in never go back: they are the store's plus an offset that grows with every
// restore. What a restore has exchanged is noted beside the columns and pages, with the outside version of that moment.
#pragma once

#include "world/world.h"

// Makes room for the notes of a table's first `chunk_count` chunks, or a pool's first `page_count` pages; false: out of
// memory.
bool mi_rewind_reserve(mica_world *world, const mi_table *table, uint32_t chunk_count);
bool mi_rewind_reserve_pool(mica_world *world, const mi_pool *pool, uint32_t page_count);

// A restore, when nothing can fail any more: begins before anything is exchanged, notes what is, and ends when all is
// in place. `version` is what the store's is going to be.
void mi_rewind_begin(mica_world *world, uint64_t version);
// `column` 0: the handles; from 1 on the table's columns in their order.
void mi_rewind_column(mica_world *world, const mi_table *table, uint32_t chunk_index, uint32_t column);
void mi_rewind_page(mica_world *world, const mi_pool *pool, uint32_t page);
// What the world and its parts have kept of how entities and values were is void from here on.
void mi_rewind_end(mica_world *world);
