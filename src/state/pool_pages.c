// Comparing pages of a pool with chunks of snapshots, without looking at what cannot differ.
//
// Handles have no stamps of their own: whoever adds or removes an element shall pay for the values alone. So that
// handles are still not looked at where nothing has happened, the pool's number of structure says it for all of them;
// and for those of a page its stamp does: whoever comes to a page or moves in it brings a value along, and whoever
// leaves a tombstone takes the page's name away as well. Only the last ones of all go without a trace but in the count.
// Pages of tags have no stamps: if anything has happened, their handles are compared.
#include "state/pool_pages.h"

#include <string.h>

mi_rows_image *mi_snapshot_find_pool(const mica_snapshot *snapshot, const mi_type *type) {
    uint32_t first = 0;
    uint32_t end = snapshot == NULL ? 0 : snapshot->pool_count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        mi_rows_image *rows = snapshot->pools[middle];
        const mica_component component = rows->components[0];
        if (component == type->info.id) {
            return rows;
        }
        if (mi_type_compare_names(mi_schema_type(snapshot->vault->schema, component), type) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return NULL;
}

mi_pool_base mi_pool_base_of(const mi_pool *pool, const mica_snapshot *base) {
    mi_rows_image *rows = mi_snapshot_find_pool(base, pool->type);
    return (mi_pool_base){
        .rows = rows,
        .has_same_handles = rows != NULL && pool->rows_named == rows->number && pool->rows_structure == pool->structure,
    };
}

// Whether nobody has come to a page, or moved in it, since it was as the base's chunk.
static bool is_settled(const mi_pool *pool, const mi_pool_base *base, uint32_t page, const mi_chunk_image *chunk) {
    return base->has_same_handles ||
           (pool->size > 0 && chunk->column_count > 0 && mi_pool_page_names(pool, page, &chunk->columns[0]));
}

bool mi_pool_has_handles(const mi_pool *pool, const mi_pool_base *base, uint32_t page, const mi_chunk_image *chunk,
                         uint32_t count) {
    if (base->rows != NULL && page < base->rows->chunk_count) {
        const mi_chunk_image *known = base->rows->chunks[page];
        if (known->handles.image == chunk->handles.image && count <= known->row_count &&
            is_settled(pool, base, page, known)) {
            return true;
        }
    }
    const mica_entity *handles = pool->entities + ((size_t)page << pool->page_shift);
    return memcmp(handles, mi_image_handles(chunk->handles.image), count * sizeof(mica_entity)) == 0;
}
