// What a pool's pages have in common with those that snapshots have of it.
#pragma once

#include "state/snapshot.h"

// What a snapshot has of the pool of a type; NULL: nothing, or there is no snapshot. O(log pools).
mi_rows_image *mi_snapshot_find_pool(const mica_snapshot *snapshot, const mi_type *type);

// How a pool can be compared without looking at its handles: by what the snapshot that its pages name has of it.
typedef struct mi_pool_base {
    mi_rows_image *rows;   // NULL: there is no such snapshot, or it has nothing of the pool
    bool has_same_handles; // nobody has come, gone or moved since
} mi_pool_base;

mi_pool_base mi_pool_base_of(const mi_pool *pool, const mica_snapshot *base);

// Says that the handles are those of rows of a snapshot.
static inline void mi_pool_name_rows(mi_pool *pool, const mi_rows_image *rows) {
    pool->rows_named = rows->number;
    pool->rows_structure = pool->structure;
}

// How many positions of a page are in use.
static inline uint32_t mi_pool_page_rows(const mi_pool *pool, uint32_t page) {
    const uint64_t first = (uint64_t)page << pool->page_shift;
    const uint64_t rest = first < pool->count ? pool->count - first : 0;
    return (uint32_t)(rest < 1u << pool->page_shift ? rest : 1u << pool->page_shift);
}

// Whether a page of values names an image, under the same version.
static inline bool mi_pool_page_names(const mi_pool *pool, uint32_t page, const mi_column_image *column) {
    return pool->images[page] == column->image->number && pool->stamps[page] == (column->version | MI_STAMP_NAMED);
}

// Whether the first `count` handles of a page, which has so many, are those of a chunk, which has so many.
bool mi_pool_has_handles(const mi_pool *pool, const mi_pool_base *base, uint32_t page, const mi_chunk_image *chunk,
                         uint32_t count);
