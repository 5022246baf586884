// Many entities and a pool that is simple (pool.h): what comes and goes is bytes.
//
// Handles are looked at while they are put in, and taken out again if one of them is refused: elements stand behind the
// last position, so that nothing else notices. What is to be removed is looked at first.
#include "world/many.h"

#include "store/fetch.h"

#include <string.h>

// Takes the last `count` elements that mi_many_put has entered back out.
static void take_back(const mi_many *many, uint32_t count) {
    mi_pool *pool = many->pool;
    mi_store *store = &many->world->store;
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t index = mica_entity_index(many->entities[i]);
        mi_bit_clear(mi_masks_at(&store->masks, index), pool->index);
        if (mi_pool_leave(pool, index, mi_pool_slot_of(pool, many->entities[i]))) {
            mi_pool_drop_page(pool, &many->world->heap, index >> MI_SPARSE_SHIFT);
        }
    }
}

// What finding an entity, its slot and its mask reads, and putting it into the pool writes.
static inline void fetch_entity(const mi_many *many, mica_entity entity) {
    const uint64_t *mask = mi_store_mask(&many->world->store, entity);
    if (mask != NULL) {
        __builtin_prefetch(mask, 1);
    }
    mi_fetch_slot(&many->world->store.slots, entity);
    mi_fetch_element(many->pool, entity);
}

// Enters an entity at a position, whose value comes later. Sets no error.
static mica_result enter(const mi_many *many, uint32_t number, uint32_t position) {
    mica_world *world = many->world;
    mi_store *store = &world->store;
    mi_pool *pool = many->pool;
    const mica_entity entity = many->entities[number];
    const uint32_t index = mica_entity_index(entity);
    uint32_t location = 0;
    if (MICA_UNLIKELY(!mi_slots_resolve(&store->slots, entity, &location))) {
        return MICA_STALE;
    }
    uint64_t *slot = mi_pool_seek(pool, entity);
    uint64_t *mask = mi_store_mask(store, entity);
    if (MICA_UNLIKELY(slot == NULL || mask == NULL)) {
        if (!mi_masks_open(&store->masks, &world->heap, index) || !mi_pool_open_index(pool, &world->heap, index)) {
            return MICA_OUT_OF_MEMORY;
        }
        slot = mi_pool_slot_of(pool, entity);
        mask = mi_masks_at(&store->masks, index);
    } else if (MICA_UNLIKELY(*slot != MI_SPARSE_NONE)) {
        return MICA_EXISTS;
    }
    *slot = mi_pool_slot(entity, position);
    pool->sparse_live[index >> MI_SPARSE_SHIFT]++;
    pool->entities[position] = entity;
    mi_bit_set(mask, pool->index);
    return MICA_OK;
}

// Says why an entity could not be entered; the ones before it are taken back.
MI_COLD static mica_result fail_enter(const mi_many *many, uint32_t number, mica_result result) {
    switch (result) {
    case MICA_STALE:
        return mi_many_fail_stale(many, number);
    case MICA_EXISTS:
        return mi_many_fail_exists(many, number, !mi_pool_has(many->pool, many->entities[number]));
    default:
        return mi_fail_memory(&many->world->log, many->call, MI_SPARSE_SIZE * sizeof(uint64_t));
    }
}

// Gives the positions from `first` on, which have room, their values.
static void fill_values(const mi_many *many, uint32_t first) {
    mi_pool *pool = many->pool;
    const uint32_t size = pool->size;
    uint32_t done = 0;
    while (size > 0 && done < many->count) {
        const uint32_t room = mi_pool_room(pool, first + done);
        uint8_t *place = mi_pool_value(pool, first + done);
        if (many->values != NULL) {
            memcpy(place, mi_many_value(many, done), (size_t)room * size);
        } else {
            memset(place, 0, (size_t)room * size);
        }
        done += room;
    }
    for (uint32_t page = first >> pool->page_shift; size > 0 && page << pool->page_shift < pool->count; page++) {
        mi_pool_mark(pool, page << pool->page_shift, many->world->store.version);
    }
}

mica_result mi_many_put(mi_many *many) {
    mica_world *world = many->world;
    mi_pool *pool = many->pool;
    mi_pool_moved moved;
    if (!mi_pool_reserve(pool, &world->heap, &world->store.values, many->count, &moved)) {
        return mi_fail_memory(&world->log, many->call, (size_t)many->count * (sizeof(mica_entity) + pool->size));
    }
    many->values = mi_pool_follow(&moved, many->values);
    const bool fetches = mi_fetches(&world->store);
    const uint32_t first = pool->count;
    for (uint32_t i = 0; i < many->count; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many->count) {
            fetch_entity(many, many->entities[i + MI_SLOTS_AHEAD]);
        }
        const mica_result result = enter(many, i, first + i);
        if (MICA_UNLIKELY(result != MICA_OK)) {
            take_back(many, i);
            return fail_enter(many, i, result);
        }
    }
    pool->count = first + many->count;
    pool->structure++;
    fill_values(many, first);
    return MICA_OK;
}

static mica_result check_alive(const mi_many *many, bool fetches) {
    uint32_t location = 0;
    for (uint32_t i = 0; i < many->count; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many->count) {
            mi_fetch_element(many->pool, many->entities[i + MI_SLOTS_AHEAD]);
        }
        if (!mi_pool_has(many->pool, many->entities[i]) && // who is in a pool is alive
            !mi_slots_resolve(&many->world->store.slots, many->entities[i], &location)) {
            return mi_many_fail_stale(many, i);
        }
    }
    return MICA_OK;
}

// What taking an entity out of the pool reads and writes beside its slot there: the hole, and the slot of the element
// that will fill it.
static inline void fetch_hole(const mi_pool *pool, mica_entity entity) {
    const uint32_t position = mi_pool_find(pool, entity);
    if (position != MI_POSITION_NONE) {
        __builtin_prefetch(&pool->entities[position], 1);
        if (pool->size > 0) {
            __builtin_prefetch(mi_pool_value(pool, position), 1);
        }
    }
    if (pool->count > MI_ROWS_AHEAD) {
        mi_fetch_element(pool, pool->entities[pool->count - 1 - MI_ROWS_AHEAD]);
    }
}

mica_result mi_many_take(const mi_many *many) {
    mi_store *store = &many->world->store;
    mi_pool *pool = many->pool;
    const bool fetches = mi_fetches(store);
    const mica_result result = check_alive(many, fetches);
    if (result != MICA_OK) {
        return result;
    }
    for (uint32_t i = 0; i < many->count; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many->count) {
            const mica_entity entity = many->entities[i + MI_SLOTS_AHEAD];
            const uint64_t *mask = mi_store_mask(store, entity);
            if (mask != NULL) {
                __builtin_prefetch(mask, 1);
            }
            mi_fetch_element(pool, entity);
            fetch_hole(pool, many->entities[i + MI_ROWS_AHEAD]);
        }
        mi_store_take_simply(store, pool, many->entities[i]); // or it is not there
    }
    return MICA_OK;
}
