// Restoring pools: values are written where they are, and only pages that differ are touched.
//
// Preparing finds the pages whose handles or values differ and makes room for who comes: positions, pages of `sparse`,
// masks. Values that hooks have to make are made aside. Committing takes out who is not where the snapshot has him,
// then puts in who is: in two passes, since somebody may go from one page and come to another. Masks follow along, and
// groups are counted anew at the end, when all masks are right.
//
// A page of values that names the image which the snapshot has of it holds that image's value wherever an element is
// alive; where none is, memory may hold anything. So it is left alone only if its handles do not differ either.
//
// What a snapshot has left out, values of a transient type, stays with the entities that are in the pool now and then,
// which may stand elsewhere then; the others' are constructed.
#include "state/pool_pages.h"
#include "state/restore.h"
#include "world/rewind.h"

#include <string.h>

// How a page differs.
enum {
    DIFFERS_IN_HANDLES = 1,
    DIFFERS_IN_VALUES = 2, // or in the version alone
};

typedef struct mi_prepared_pool {
    struct mi_prepared_pool *next;
    size_t allocation_size; // of this struct with its array
    mi_pool *pool;
    const mi_rows_image *rows; // NULL: the pool becomes empty
    uint32_t page_count;       // of the pool as it is or as it will be, whichever are more
    bool has_column;           // the snapshot has the values
    bool keeps_values;         // it has left them out
    bool has_other_elements;   // handles of some page differ
    uint32_t made_count;       // of the values aside, the first ones, which are made
    uint32_t aside_count;
    uint8_t *aside;      // values in order of the positions that they are for; of `keeps_values`, those made first
    uint64_t *is_kept;   // of `keeps_values`: a bit for each position whose value stays in the pool
    uint32_t kept_words; // of it
    uint8_t differs[];   // by page
} mi_prepared_pool;

// What will be

static uint32_t count_then(const mi_rows_image *rows) {
    return rows == NULL ? 0 : rows->row_count;
}

// The chunk of a page, NULL: there will be no such page.
static const mi_chunk_image *chunk_then(const mi_rows_image *rows, uint32_t page) {
    return rows != NULL && page < rows->chunk_count ? rows->chunks[page] : NULL;
}

static mica_entity handle_then(const mi_chunk_image *chunk, uint32_t row) {
    return chunk != NULL && row < chunk->row_count ? mi_image_handles(chunk->handles.image)[row] : MICA_NULL;
}

// Whether a handle of the snapshot is an element's: no tombstone's, and not that of no position.
static bool is_element(mica_entity handle) {
    return !mica_entity_is_null(handle) && !mica_entity_is_placeholder(handle);
}

// The next rows of a chunk from `*row` on that follow each other and are elements'; 0: there are no more.
static uint32_t next_run(const mi_chunk_image *chunk, uint32_t *row) {
    while (chunk != NULL && *row < chunk->row_count && !is_element(handle_then(chunk, *row))) {
        ++*row;
    }
    uint32_t count = 0;
    while (is_element(handle_then(chunk, *row + count))) {
        count++;
    }
    return count;
}

// The handle at a position as it is: null if no element is there.
static mica_entity handle_now(const mi_pool *pool, uint32_t position) {
    return position < pool->count && mi_pool_is_live(pool, position) ? pool->entities[position] : MICA_NULL;
}

// Comparing

static uint8_t compare_page(const mi_pool *pool, const mi_pool_base *base, const mi_restore *restore,
                            const mi_rows_image *rows, uint32_t page) {
    const mi_chunk_image *chunk = chunk_then(rows, page);
    const uint32_t row_count = mi_pool_page_rows(pool, page);
    if (chunk == NULL || chunk->row_count != row_count || !mi_pool_has_handles(pool, base, page, chunk, row_count)) {
        return pool->size > 0 ? DIFFERS_IN_HANDLES | DIFFERS_IN_VALUES : DIFFERS_IN_HANDLES;
    }
    if (restore->tells_all && pool->size > 0) {
        return DIFFERS_IN_VALUES; // observers that are told may write to what is as it was until then
    }
    if (chunk->column_count > 0) {
        return mi_pool_page_names(pool, page, &chunk->columns[0]) ? 0 : DIFFERS_IN_VALUES;
    }
    return pool->size > 0 && mi_stamp_version(pool->stamps[page]) >= restore->snapshot->version ? DIFFERS_IN_VALUES : 0;
}

// How all pages differ, and each one. `differs` NULL: stops at the first one that does.
static uint8_t compare_pages(const mi_pool *pool, const mi_restore *restore, const mi_rows_image *rows,
                             uint32_t page_count, uint8_t *differs) {
    const mi_pool_base base = mi_pool_base_of(pool, restore->base);
    uint8_t difference = 0;
    for (uint32_t page = 0; page < page_count && (difference == 0 || differs != NULL); page++) {
        const uint8_t of_page = compare_page(pool, &base, restore, rows, page);
        difference |= of_page;
        if (differs != NULL) {
            differs[page] = of_page;
        }
    }
    return difference;
}

// Preparing

static size_t value_align(const mi_pool *pool) {
    return pool->type->info.align > sizeof(uint64_t) ? pool->type->info.align : sizeof(uint64_t);
}

static uint8_t *aside_at(const mi_prepared_pool *prepared, uint32_t number) {
    return prepared->aside + (size_t)number * prepared->pool->size;
}

// Whether values come and go by hooks, and not as bytes alone.
static bool is_hooked(const mi_type *type) {
    return type->has_copy || type->has_move || type->has_destruct;
}

// How many handles of a page are exchanged: all that it will have, or none.
static uint32_t rows_exchanged(const mi_prepared_pool *prepared, uint32_t page) {
    const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
    return chunk == NULL || (prepared->differs[page] & DIFFERS_IN_HANDLES) == 0 ? 0 : chunk->row_count;
}

// Takes memory for the values aside, of which there is one at least.
static bool take_aside(mi_prepared_pool *prepared, mi_heap *heap) {
    size_t byte_size = 0;
    if (mi_size_product(prepared->aside_count, prepared->pool->size, &byte_size)) {
        prepared->aside = mi_heap_allocate(heap, MICA_MEMORY_STATE, byte_size, value_align(prepared->pool));
    }
    return prepared->aside != NULL;
}

// Copies the values of pages that differ.
static bool copy_aside(mi_prepared_pool *prepared, mi_store *store) {
    const mi_pool *pool = prepared->pool;
    uint32_t run = 0;
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        for (uint32_t row = 0; prepared->differs[page] != 0 && (run = next_run(chunk, &row)) > 0; row += run) {
            prepared->aside_count += run;
        }
    }
    if (prepared->aside_count == 0) {
        return true;
    }
    if (!take_aside(prepared, store->heap)) {
        return false;
    }
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        for (uint32_t row = 0; prepared->differs[page] != 0 && (run = next_run(chunk, &row)) > 0; row += run) {
            const uint8_t *from = chunk->columns[0].image->data + (size_t)row * pool->size;
            if (!mi_value_copy(pool->type, &store->values, aside_at(prepared, prepared->made_count), from, run)) {
                return false;
            }
            prepared->made_count += run;
        }
    }
    return true;
}

// Makes what entities that are not in the pool now will have, and finds the values that stay.
static bool construct_aside(mi_prepared_pool *prepared, mi_store *store) {
    const mi_pool *pool = prepared->pool;
    uint32_t new_count = 0;
    prepared->kept_words = mi_bit_words(pool->count);
    if (pool->count > 0) {
        prepared->is_kept = mi_heap_allocate_zeroed(store->heap, MICA_MEMORY_STATE,
                                                    prepared->kept_words * sizeof(uint64_t), _Alignof(uint64_t));
        if (prepared->is_kept == NULL) {
            return false;
        }
    }
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        for (uint32_t row = 0; row < rows_exchanged(prepared, page); row++) {
            const mica_entity entity = handle_then(chunk, row);
            if (!is_element(entity)) {
                continue;
            }
            const uint32_t from = mi_pool_find(pool, entity);
            if (from == MI_POSITION_NONE) {
                new_count++;
            } else {
                mi_bit_set(prepared->is_kept, from);
            }
            prepared->aside_count += from != (page << pool->page_shift) + row;
        }
    }
    if (prepared->aside_count == 0) {
        return true;
    }
    if (!take_aside(prepared, store->heap) ||
        (new_count > 0 && !mi_value_construct(pool->type, &store->values, prepared->aside, new_count))) {
        return false;
    }
    prepared->made_count = new_count;
    return true;
}

// Makes room in the masks and in `sparse` for those who come.
static bool open_entities(const mi_prepared_pool *prepared, mi_store *store) {
    mi_pool *pool = prepared->pool;
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        for (uint32_t row = 0; row < rows_exchanged(prepared, page); row++) {
            const mica_entity entity = handle_then(chunk, row);
            if (is_element(entity) && (!mi_masks_open(&store->masks, store->heap, mica_entity_index(entity)) ||
                                       !mi_pool_open_index(pool, store->heap, mica_entity_index(entity)))) {
                return false;
            }
        }
    }
    return true;
}

static bool make_room(mi_prepared_pool *prepared, mica_world *world) {
    mi_store *store = &world->store;
    mi_pool *pool = prepared->pool;
    const uint32_t count = count_then(prepared->rows);
    mi_pool_moved moved;
    if (!open_entities(prepared, store) ||
        (pool->size > 0 && !mi_rewind_reserve_pool(world, pool, mi_pool_pages_for(pool, count)))) {
        return false;
    }
    if (prepared->keeps_values ? !construct_aside(prepared, store)
                               : prepared->has_column && is_hooked(pool->type) && !copy_aside(prepared, store)) {
        return false;
    }
    return count <= pool->count || mi_pool_reserve(pool, store->heap, &store->values, count - pool->count, &moved);
}

// Prepares a pool for what the snapshot has of it, NULL: nothing.
static bool prepare_pool(mi_restore *restore, mi_pool *pool, const mi_rows_image *rows) {
    const uint32_t count = pool->count > count_then(rows) ? pool->count : count_then(rows);
    const uint32_t page_count = mi_pool_pages_for(pool, count);
    MI_ASSERT(rows == NULL || rows->shift == pool->page_shift);
    if (compare_pages(pool, restore, rows, page_count, NULL) == 0) {
        return true;
    }
    mica_world *world = restore->world;
    const size_t byte_size = sizeof(mi_prepared_pool) + page_count;
    mi_prepared_pool *prepared =
        mi_heap_allocate(&world->heap, MICA_MEMORY_STATE, byte_size, _Alignof(mi_prepared_pool));
    if (prepared == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    const bool has_column = rows != NULL && rows->column_count > 0;
    *prepared = (mi_prepared_pool){
        .next = restore->pools,
        .allocation_size = byte_size,
        .pool = pool,
        .rows = rows,
        .page_count = page_count,
        .has_column = has_column,
        .keeps_values = rows != NULL && pool->size > 0 && !has_column,
    };
    restore->pools = prepared;
    const uint8_t difference = compare_pages(pool, restore, rows, page_count, prepared->differs);
    prepared->has_other_elements = (difference & DIFFERS_IN_HANDLES) != 0;
    return make_room(prepared, world) || mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
}

// Whether a group depends on a pool that is going to have other elements.
static bool is_concerned(const mi_group *group, const mi_prepared_pool *pools) {
    for (const mi_prepared_pool *prepared = pools; prepared != NULL; prepared = prepared->next) {
        const uint32_t number = prepared->pool->index;
        if (prepared->has_other_elements &&
            (mi_bit_get(group->all, group->word_count, number) || mi_bit_get(group->none, group->word_count, number))) {
            return true;
        }
    }
    return false;
}

// A group that does not hold in the snapshot moves elements of its pools.
static bool prepare_groups(mi_restore *restore) {
    mica_world *world = restore->world;
    for (uint32_t i = 0; i < world->store.groups.count; i++) {
        const mi_group *group = world->store.groups.data[i];
        const bool is_asked = is_concerned(group, restore->pools);
        for (uint32_t k = 0; k < group->owned_count && is_asked; k++) {
            const mi_pool *pool = group->owned[k];
            const uint32_t count = count_then(mi_snapshot_find_pool(restore->snapshot, pool->type));
            if (pool->size > 0 && !mi_rewind_reserve_pool(world, pool, mi_pool_pages_for(pool, count))) {
                return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
            }
        }
    }
    return true;
}

bool mi_pools_prepare(mi_restore *restore) {
    const mica_snapshot *snapshot = restore->snapshot;
    mi_store *store = &restore->world->store;
    bool is_ready = true;
    for (uint32_t i = 0; is_ready && i < snapshot->pool_count; i++) {
        const mi_type *type = mi_schema_type(store->schema, snapshot->pools[i]->components[0]);
        // A relation is made known to the world: its part is to hear of the restore.
        is_ready = (mi_world_attach(restore->world, type, "mica_snapshot_restore") == MICA_OK &&
                    mi_store_pool(store, type) != NULL) ||
                   mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    for (uint32_t i = 0; is_ready && i < store->pool_list.count; i++) {
        mi_pool *pool = store->pool_list.data[i];
        is_ready = prepare_pool(restore, pool, mi_snapshot_find_pool(snapshot, pool->type));
    }
    if (!is_ready || !prepare_groups(restore)) {
        mi_pools_cancel(restore);
        return false;
    }
    return true;
}

// Pages of `sparse` on which nobody is.
static void drop_empty_pages(mi_pool *pool, mi_heap *heap) {
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        if (pool->sparse[page] != NULL && pool->sparse_live[page] == 0) {
            mi_pool_drop_page(pool, heap, page);
        }
    }
}

// Ends what was prepared of the first pool; its values aside are raw memory.
static void end_prepared(mi_restore *restore) {
    mi_heap *heap = &restore->world->heap;
    mi_prepared_pool *prepared = restore->pools;
    mi_pool *pool = prepared->pool;
    if (prepared->has_other_elements) {
        drop_empty_pages(pool, heap);
    }
    mi_heap_release(heap, MICA_MEMORY_STATE, prepared->aside, (size_t)prepared->aside_count * pool->size,
                    value_align(pool));
    mi_heap_release(heap, MICA_MEMORY_STATE, prepared->is_kept, prepared->kept_words * sizeof(uint64_t),
                    _Alignof(uint64_t));
    restore->pools = prepared->next;
    mi_heap_release(heap, MICA_MEMORY_STATE, prepared, prepared->allocation_size, _Alignof(mi_prepared_pool));
}

void mi_pools_cancel(mi_restore *restore) {
    while (restore->pools != NULL) {
        const mi_prepared_pool *prepared = restore->pools;
        if (prepared->made_count > 0) {
            mi_value_destruct(prepared->pool->type, &restore->world->store.values, prepared->aside,
                              prepared->made_count);
        }
        end_prepared(restore);
    }
}

// Committing

// Ends the values of pages that differ and puts the snapshot's in their place.
static void exchange_values(const mi_prepared_pool *prepared, const mica_allocator *values) {
    const mi_pool *pool = prepared->pool;
    const bool by_hooks = is_hooked(pool->type);
    uint32_t placed_count = 0;
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        const uint32_t first = page << pool->page_shift;
        if (prepared->differs[page] == 0) {
            continue;
        }
        mi_pool_destruct(pool, values, first, first + mi_pool_page_rows(pool, page));
        if (!by_hooks && chunk != NULL) {
            memcpy(mi_pool_value(pool, first), chunk->columns[0].image->data, (size_t)chunk->row_count * pool->size);
        }
        uint32_t run = 0;
        for (uint32_t row = 0; by_hooks && (run = next_run(chunk, &row)) > 0; row += run) {
            mi_value_move(pool->type, values, mi_pool_value(pool, first + row), aside_at(prepared, placed_count), run);
            placed_count += run;
        }
    }
}

// Lets each value that stays follow its entity, ends those that do not, and puts those in place that were made: all of
// them by way of the memory aside, since their places are taken by others meanwhile.
static void carry_values(const mi_prepared_pool *prepared, const mica_allocator *values, bool is_back) {
    const mi_pool *pool = prepared->pool;
    uint32_t made_number = 0;
    uint32_t carried_number = prepared->made_count;
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
        for (uint32_t row = 0; row < rows_exchanged(prepared, page); row++) {
            const mica_entity entity = handle_then(chunk, row);
            const uint32_t position = (page << pool->page_shift) + row;
            const uint32_t from = is_element(entity) ? mi_pool_find(pool, entity) : position;
            if (from == position) {
                continue;
            }
            uint8_t *aside = aside_at(prepared, from == MI_POSITION_NONE ? made_number++ : carried_number++);
            if (is_back) {
                mi_value_move(pool->type, values, mi_pool_value(pool, position), aside, 1);
            } else if (from != MI_POSITION_NONE) {
                mi_value_move(pool->type, values, aside, mi_pool_value(pool, from), 1);
            }
        }
    }
}

static void keep_values(const mi_prepared_pool *prepared, const mica_allocator *values) {
    const mi_pool *pool = prepared->pool;
    carry_values(prepared, values, false);
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        const uint32_t first = page << pool->page_shift;
        const uint32_t row_count =
            (prepared->differs[page] & DIFFERS_IN_HANDLES) != 0 ? mi_pool_page_rows(pool, page) : 0;
        for (uint32_t position = first; position < first + row_count; position++) {
            if (!mi_bit_get(prepared->is_kept, prepared->kept_words, position)) {
                mi_pool_destruct(pool, values, position, position + 1);
            }
        }
    }
    carry_values(prepared, values, true);
}

// Takes out who is not where the snapshot has him.
static void take_out(const mi_prepared_pool *prepared, mi_store *store, uint32_t page) {
    const mi_pool *pool = prepared->pool;
    const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
    const uint32_t row_count = mi_pool_page_rows(pool, page);
    for (uint32_t row = 0; row < row_count; row++) {
        const mica_entity entity = handle_now(pool, (page << pool->page_shift) + row);
        if (is_element(entity) && !mica_entity_equal(entity, handle_then(chunk, row))) {
            *mi_pool_slot_of(pool, entity) = MI_SPARSE_NONE;
            pool->sparse_live[mica_entity_index(entity) >> MI_SPARSE_SHIFT]--;
            mi_store_clear_bit(store, pool, entity);
        }
    }
}

// Puts in who is.
static void put_in(const mi_prepared_pool *prepared, mi_store *store, uint32_t page) {
    mi_pool *pool = prepared->pool;
    const mi_chunk_image *chunk = chunk_then(prepared->rows, page);
    const uint32_t first = page << pool->page_shift;
    const uint32_t row_count = chunk == NULL ? 0 : chunk->row_count;
    for (uint32_t row = 0; row < row_count; row++) {
        const mica_entity entity = handle_then(chunk, row);
        if (is_element(entity) && !mica_entity_equal(entity, handle_now(pool, first + row))) {
            *mi_pool_slot_of(pool, entity) = mi_pool_slot(entity, first + row);
            pool->sparse_live[mica_entity_index(entity) >> MI_SPARSE_SHIFT]++;
            mi_store_set_bit(store, pool, entity);
        }
    }
    for (uint32_t row = row_count; pool->live != NULL && row < mi_pool_page_rows(pool, page); row++) {
        mi_bit_clear(pool->live, first + row);
    }
    for (uint32_t row = 0; row < row_count; row++) {
        const mica_entity entity = handle_then(chunk, row);
        pool->entities[first + row] = entity;
        if (pool->live != NULL && is_element(entity)) {
            mi_bit_set(pool->live, first + row);
        } else if (pool->live != NULL) {
            mi_bit_clear(pool->live, first + row);
        }
    }
}

static void exchange_handles(const mi_prepared_pool *prepared, mi_store *store) {
    mi_pool *pool = prepared->pool;
    const mi_rows_image *rows = prepared->rows;
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        if ((prepared->differs[page] & DIFFERS_IN_HANDLES) != 0) {
            take_out(prepared, store, page);
        }
    }
    for (uint32_t page = 0; page < prepared->page_count; page++) {
        if ((prepared->differs[page] & DIFFERS_IN_HANDLES) != 0) {
            put_in(prepared, store, page);
        }
    }
    pool->count = count_then(rows);
    pool->dead_count = rows == NULL ? 0 : rows->dead_count;
    pool->dead_head = rows == NULL ? MI_POSITION_NONE : rows->dead_head;
    pool->structure += prepared->has_other_elements;
}

// Stamps the pages that differ as they were, and lets them name what they equal.
static void stamp_pages(mica_world *world, const mi_prepared_pool *prepared, uint64_t version) {
    mi_pool *pool = prepared->pool;
    const uint32_t page_count = pool->size == 0 ? 0 : mi_pool_pages_for(pool, pool->count);
    for (uint32_t page = 0; page < page_count; page++) {
        if (prepared->differs[page] == 0) {
            continue;
        }
        if (prepared->keeps_values) {
            pool->stamps[page] = version;
        } else {
            const mi_column_image *column = &prepared->rows->chunks[page]->columns[0];
            pool->stamps[page] = column->version | (pool->type->info.always_dirty ? 0 : MI_STAMP_NAMED);
            pool->images[page] = column->image->number;
        }
        mi_rewind_page(world, pool, page);
    }
}

static void commit_pool(mica_world *world, const mi_prepared_pool *prepared, uint64_t version) {
    mi_store *store = &world->store;
    if (prepared->keeps_values) {
        keep_values(prepared, &store->values);
    } else if (prepared->pool->size > 0) {
        exchange_values(prepared, &store->values);
    }
    exchange_handles(prepared, store);
    stamp_pages(world, prepared, version);
}

// A number that grows when elements of the group's pools move.
static uint64_t structure_of(const mi_group *group) {
    uint64_t structure = 0;
    for (uint32_t i = 0; i < group->owned_count; i++) {
        structure += group->owned[i]->structure;
    }
    return structure;
}

// Lets groups hold again. One that did not hold in the snapshot moves elements of its pools.
static void commit_groups(const mi_restore *restore) {
    mica_world *world = restore->world;
    for (uint32_t i = 0; i < world->store.groups.count; i++) {
        mi_group *group = world->store.groups.data[i];
        if (!is_concerned(group, restore->pools)) {
            continue;
        }
        const uint64_t structure = structure_of(group);
        mi_store_renew_group(&world->store, group);
        const bool has_moved = structure_of(group) != structure;
        for (uint32_t k = 0; k < group->owned_count && has_moved; k++) {
            const mi_pool *pool = group->owned[k];
            const uint32_t page_count = pool->size == 0 ? 0 : mi_pool_pages_for(pool, pool->count);
            for (uint32_t page = 0; page < page_count; page++) {
                mi_rewind_page(world, pool, page);
            }
        }
    }
}

void mi_pools_commit(mi_restore *restore) {
    const mica_snapshot *snapshot = restore->snapshot;
    mi_store *store = &restore->world->store;
    for (const mi_prepared_pool *prepared = restore->pools; prepared != NULL; prepared = prepared->next) {
        commit_pool(restore->world, prepared, snapshot->version);
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        const mi_rows_image *rows = snapshot->pools[i];
        mi_pool_name_rows(mi_store_find_pool(store, rows->components[0]), rows);
    }
    commit_groups(restore);
    while (restore->pools != NULL) {
        end_prepared(restore);
    }
}
