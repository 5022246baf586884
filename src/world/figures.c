// Figures of memory: what an entity takes, what each table takes, and how well chunks and blocks are filled.
//
// Nothing is counted while the world works: everything is added up from what tables, pools and regions know, when
// somebody asks.
#include "world/world.h"

#include <mica/capacity.h>

// What one element takes in a pool: handle, value and slot of the lookup.
static size_t element_byte_size(const mi_pool *pool) {
    return sizeof(mica_entity) + pool->size + sizeof(uint64_t);
}

static uint32_t row_byte_size(const mi_table *table) {
    uint32_t byte_size = (uint32_t)sizeof(mica_entity);
    for (uint32_t i = 0; i < table->column_count; i++) {
        byte_size += table->columns[i].size;
    }
    return byte_size;
}

size_t mica_entity_byte_size(const mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, __func__) != MICA_OK) {
        return 0;
    }
    const mi_store *store = &world->store;
    size_t byte_size = sizeof(uint64_t);
    byte_size += location == 0 ? 0 : row_byte_size(mi_store_table_at(store, location));
    const uint64_t *mask = mi_store_mask(store, entity);
    byte_size += mask == NULL ? 0 : store->masks.word_count * sizeof(uint64_t);
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        byte_size += element_byte_size(store->pool_list.data[number]);
    }
    return byte_size;
}

static size_t chunk_bytes(const mi_table *table) {
    return table->chunk_count * mi_region_piece_size(table->chunk_size);
}

int32_t mica_world_visit_tables(mica_world *world, mica_table_function function, void *user) {
    if (world == NULL || function == NULL) {
        mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, __func__, "needs a world and a function");
        return -1;
    }
    const mi_store *store = &world->store;
    if (!mi_store_order(&world->store)) {
        mi_world_fail_store(world, __func__);
        return -1;
    }
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        const mica_table_stats stats = {.components = table->by_name,
                                        .component_count = table->component_count,
                                        .row_count = table->row_count,
                                        .row_capacity = table->room,
                                        .row_kept = table->kept_rows,
                                        .row_byte_size = row_byte_size(table),
                                        .chunk_count = table->chunk_count,
                                        .chunk_capacity = table->chunk_room,
                                        .chunk_bytes = chunk_bytes(table),
                                        .table_bytes = mi_table_byte_size(table)};
        function(&stats, user);
    }
    return (int32_t)store->ordered.count;
}

static mica_block_stats block_stats(const mi_region *region) {
    if (region == NULL) {
        return (mica_block_stats){.bytes = 0};
    }
    const mi_region_stats stats = mi_region_statistics(region);
    return (mica_block_stats){.block_count = (uint32_t)stats.block_count,
                              .bytes = stats.block_bytes,
                              .used_bytes = stats.piece_bytes,
                              .free_largest = stats.free_largest};
}

mica_fragmentation mica_world_fragmentation(const mica_world *world) {
    mica_fragmentation found = {.row_count = 0};
    if (world == NULL) {
        return found;
    }
    const mi_store *store = &world->store;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        found.row_count += table->row_count;
        found.row_capacity += table->room;
        found.row_bytes += (size_t)table->row_count * row_byte_size(table);
        found.chunk_bytes += chunk_bytes(table);
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        const mi_pool *pool = store->pool_list.data[i];
        found.element_count += mi_pool_live_count(pool);
        found.element_capacity += pool->room;
    }
    found.slot_count = store->slots.used == 0 ? 0 : store->slots.used - 1;
    found.slot_capacity = store->slots.capacity == 0 ? 0 : store->slots.capacity - 1;
    found.chunks = block_stats(store->region);
    found.pages = block_stats(store->page_region);
    found.fixed = block_stats(world->heap.fixed);
    return found;
}
