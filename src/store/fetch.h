// Memory on its way: entities of a large world lie far apart, so while one of many is worked on, what those further on
// need is asked for: first their slots, then the rows that the slots name, and the slots of the entities that will fill
// the holes; or their places in a pool.
#pragma once

#include "store/store.h"

// How many entities ahead.
#define MI_SLOTS_AHEAD 24u
#define MI_ROWS_AHEAD 12u

// Whether fetching pays: with fewer slots all of it is near anyway.
static inline bool mi_fetches(const mi_store *store) {
    return store->slots.used >= 1u << 15;
}

static inline void mi_fetch_slot(const mi_slots *slots, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    if (index < slots->bound) {
        __builtin_prefetch(&slots->data[index], 1);
    }
}

static inline void mi_fetch_row(const mi_store *store, mica_entity entity) {
    uint32_t location = 0;
    if (!mi_slots_resolve(&store->slots, entity, &location) || location == 0) {
        return;
    }
    const mi_table *table = mi_store_table_at(store, location);
    const uint8_t *base = mi_store_base(store, location);
    const uint32_t row = mi_row_of(location);
    __builtin_prefetch(base + row * sizeof(mica_entity), 1);
    for (uint32_t i = 0; i < table->column_count; i++) {
        __builtin_prefetch(base + table->columns[i].offset + (size_t)row * table->columns[i].size, 1);
    }
    if (table->row_count > MI_ROWS_AHEAD) {
        const uint32_t filler = mi_store_location(table, table->row_count - 1 - MI_ROWS_AHEAD);
        const mica_entity *handles = (const mica_entity *)(const void *)mi_store_base(store, filler);
        mi_fetch_slot(&store->slots, handles[mi_row_of(filler)]);
    }
}

// What finding an entity in a pool reads, and putting it in or out writes.
static inline void mi_fetch_element(const mi_pool *pool, mica_entity entity) {
    const uint64_t *slot = mi_pool_seek(pool, entity);
    if (slot != NULL) {
        __builtin_prefetch(slot, 1);
    }
}
