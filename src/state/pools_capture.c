// Capturing pools.
//
// A pool whose pages still name what the base has of them, and in which nobody has come, gone or moved, is captured by
// a look at each page's stamp: its rows image is shared whole. Otherwise each page's chunk image is shared or made
// anew, and of a new one the handles or the values may be shared. Values of stable pools are in an image only where an
// element is alive.
#include "base/sort.h"
#include "state/capture.h"
#include "state/pool_pages.h"

// A pool in the making of its rows image.
typedef struct pool_capture {
    mi_capture *capture;
    mi_pool *pool;
    mi_pool_base base;
    bool has_column; // its values are captured
} pool_capture;

// What the base has of a page; NULL: nothing.
static mi_chunk_image *base_chunk(const pool_capture *of, uint32_t page) {
    const mi_rows_image *rows = of->base.rows;
    return rows != NULL && page < rows->chunk_count ? rows->chunks[page] : NULL;
}

// The column of a chunk of the base; NULL: there is no chunk, or it was captured without one.
static const mi_column_image *base_column(const mi_chunk_image *chunk) {
    return chunk != NULL && chunk->column_count > 0 ? &chunk->columns[0] : NULL;
}

// Whether the handles of a page can be those of a chunk of the base.
static bool shares_handles(const pool_capture *of, uint32_t page, const mi_chunk_image *chunk) {
    const uint32_t row_count = mi_pool_page_rows(of->pool, page);
    return chunk != NULL && row_count <= chunk->row_count &&
           mi_pool_has_handles(of->pool, &of->base, page, chunk, row_count);
}

// Whether a page is as a chunk of the base has it in all.
static bool shares_chunk(const pool_capture *of, uint32_t page, const mi_chunk_image *chunk) {
    return chunk != NULL && chunk->row_count == mi_pool_page_rows(of->pool, page) &&
           chunk->column_count == (of->has_column ? 1u : 0u) &&
           (!of->has_column || mi_pool_page_names(of->pool, page, &chunk->columns[0])) &&
           shares_handles(of, page, chunk);
}

static bool shares_rows(const pool_capture *of) {
    const mi_rows_image *rows = of->base.rows;
    bool is_shared = rows != NULL && rows->row_count == of->pool->count;
    for (uint32_t page = 0; is_shared && page < rows->chunk_count; page++) {
        is_shared = shares_chunk(of, page, rows->chunks[page]);
    }
    return is_shared;
}

static bool capture_handles(const pool_capture *of, uint32_t page, const mi_chunk_image *known, mi_chunk_image *chunk) {
    if (shares_handles(of, page, known)) {
        chunk->handles = known->handles;
        mi_image_retain(chunk->handles.image);
        return true;
    }
    const mi_captured_column column = {
        .count = chunk->row_count,
        .values = of->pool->entities + ((size_t)page << of->pool->page_shift),
    };
    chunk->handles.image = mi_capture_column(of->capture, &column, NULL);
    return chunk->handles.image != NULL;
}

// Captures the values of a page, which names their image then.
static bool capture_values(const pool_capture *of, uint32_t page, const mi_chunk_image *known, mi_chunk_image *chunk) {
    mi_pool *pool = of->pool;
    const uint32_t first = page << pool->page_shift;
    uint64_t few_live = 0; // pages of less than a word
    const uint64_t *live = pool->dead_count == 0 ? NULL : &pool->live[first / 64];
    if (live != NULL && pool->page_shift < 6) {
        few_live = *live >> first % 64 & ((UINT64_C(1) << (1u << pool->page_shift)) - 1);
        live = &few_live;
    }
    const mi_captured_column column = {
        .type = pool->type,
        .count = chunk->row_count,
        .values = mi_pool_value(pool, first),
        .live = live,
        .stamp = pool->stamps[page],
        .name = pool->images[page],
    };
    mi_image *image = mi_capture_column(of->capture, &column, base_column(known));
    if (image == NULL) {
        return false;
    }
    chunk->columns[0] = (mi_column_image){.image = image, .version = mi_stamp_version(pool->stamps[page])};
    if (!pool->type->info.always_dirty) {
        pool->images[page] = image->number;
        pool->stamps[page] |= MI_STAMP_NAMED;
    }
    return true;
}

// The chunk image of a page, with a reference of its own; NULL: failed.
static mi_chunk_image *capture_page(const pool_capture *of, uint32_t page) {
    mi_chunk_image *known = base_chunk(of, page);
    if (shares_chunk(of, page, known)) {
        known->reference_count++;
        return known;
    }
    mi_vault *vault = of->capture->vault;
    mi_chunk_image *chunk = mi_chunk_image_create(vault, of->has_column ? 1 : 0);
    if (chunk == NULL) {
        mi_capture_fail(of->capture, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    chunk->row_count = mi_pool_page_rows(of->pool, page);
    if (!capture_handles(of, page, known, chunk) || (of->has_column && !capture_values(of, page, known, chunk))) {
        mi_chunk_image_release(vault, chunk);
        return NULL;
    }
    return chunk;
}

// The rows image of a pool, with a reference of its own; NULL: failed.
static mi_rows_image *capture_rows(const pool_capture *of) {
    const mi_pool *pool = of->pool;
    const uint32_t page_count = mi_pool_pages_for(pool, pool->count);
    mi_rows_image *rows = mi_rows_image_create(of->capture->vault, 1, of->has_column ? 1 : 0, page_count);
    if (rows == NULL) {
        mi_capture_fail(of->capture, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    rows->is_pool = true;
    rows->row_count = pool->count;
    rows->shift = (uint8_t)pool->page_shift;
    rows->dead_count = pool->dead_count;
    rows->dead_head = pool->dead_head;
    rows->components[0] = pool->type->info.id;
    if (of->has_column) {
        rows->columns[0] = pool->type;
    }
    for (uint32_t page = 0; page < page_count; page++) {
        rows->chunks[page] = capture_page(of, page);
        if (rows->chunks[page] == NULL) {
            mi_rows_image_release(rows);
            return NULL;
        }
    }
    return rows;
}

static mi_rows_image *capture_pool(mi_capture *capture, mi_pool *pool) {
    const pool_capture of = {
        .capture = capture,
        .pool = pool,
        .base = mi_pool_base_of(pool, capture->base),
        .has_column = pool->size > 0 && !(capture->leaves_transient && pool->type->info.transient),
    };
    if (of.has_column && pool->type->movable_only) {
        mi_capture_fail(capture, MICA_NO_COPY, pool->type);
        return NULL;
    }
    mi_rows_image *rows = of.base.rows;
    if (shares_rows(&of)) {
        rows->reference_count++;
    } else {
        rows = capture_rows(&of);
    }
    if (rows != NULL) {
        mi_pool_name_rows(pool, rows);
    }
    return rows;
}

static int compare_pools(const void *context, uint32_t a, uint32_t b) {
    const mi_store *store = context;
    return mi_type_compare_names(store->pool_list.data[a]->type, store->pool_list.data[b]->type);
}

bool mi_pools_capture(mi_capture *capture, mica_snapshot *snapshot) {
    const mi_store *store = &capture->world->store;
    mi_heap *heap = &capture->vault->heap;
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        count += store->pool_list.data[i]->count > 0;
    }
    if (count == 0) {
        return true;
    }
    const size_t numbers_size = (size_t)2 * count * sizeof(uint32_t);
    uint32_t *numbers = mi_heap_allocate(heap, MICA_MEMORY_STATE, numbers_size, _Alignof(uint32_t));
    snapshot->pools = mi_vault_take(capture->vault, count * sizeof(mi_rows_image *));
    if (numbers == NULL || snapshot->pools == NULL) {
        mi_heap_release(heap, MICA_MEMORY_STATE, numbers, numbers_size, _Alignof(uint32_t));
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    uint32_t listed = 0;
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        if (store->pool_list.data[i]->count > 0) {
            numbers[listed++] = i;
        }
    }
    mi_sort(numbers, numbers + count, count, compare_pools, store);
    for (uint32_t i = 0; i < count && capture->result == MICA_OK; i++) {
        mi_rows_image *rows = capture_pool(capture, store->pool_list.data[numbers[i]]);
        if (rows != NULL) {
            snapshot->pools[snapshot->pool_count++] = rows;
        }
    }
    mi_heap_release(heap, MICA_MEMORY_STATE, numbers, numbers_size, _Alignof(uint32_t));
    return capture->result == MICA_OK;
}
