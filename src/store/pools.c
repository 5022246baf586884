// The pools of a store: making them, and keeping pools, masks and groups of one mind.
//
// Invariants: a pool's number is its place in `pool_list` and its bit in masks; `pools` finds it by its component. An
// entity's mask has the bit of a pool if and only if the pool has an element of the entity, and only living entities
// have elements. Masks are wide enough for all pools, and there wherever a pool has a page of slots: masks come first.
// `spare` has room for a value of every pool that a group owns.
#include "store/pools.h"

#include "store/visibility.h"

_Static_assert(MI_MASKS_SHIFT == MI_SPARSE_SHIFT, "a page of a pool's slots and one of masks are of the same entities");

mi_pool *mi_store_pool(mi_store *store, const mi_type *type) {
    const mica_component component = type->info.id;
    mi_pool *found = mi_store_find_pool(store, component);
    if (found != NULL) {
        return found;
    }
    mi_heap *heap = store->heap;
    const uint32_t number = store->pool_list.count;
    store->failure = MICA_OUT_OF_MEMORY;
    if (store->page_region == NULL) {
        store->page_region = mi_region_create(heap, MICA_MEMORY_POOLS);
        store->masks.region = store->page_region;
    }
    if (store->page_region == NULL || !MI_RESERVE(heap, MICA_MEMORY_POOLS, &store->pools, component + 1u) ||
        !MI_RESERVE(heap, MICA_MEMORY_POOLS, &store->pool_list, number + 1u) ||
        !mi_masks_widen(&store->masks, heap, number + 1u)) {
        return NULL;
    }
    mi_pool *pool = mi_pool_create(heap, store->page_region, type, number);
    if (pool == NULL) {
        return NULL;
    }
    while (store->pools.count <= component) {
        store->pools.data[store->pools.count++] = NULL;
    }
    store->pools.data[component] = pool;
    store->pool_list.data[store->pool_list.count++] = pool;
    store->extras |= MI_EXTRA_POOLS;
    return pool;
}

bool mi_store_reserve_spare(mi_store *store, const mi_type *type) {
    const size_t byte_size = type->info.size;
    if (byte_size <= store->spare_size) {
        return true;
    }
    void *spare = mi_heap_allocate(store->heap, MICA_MEMORY_POOLS, byte_size, MICA_ALIGN_MAX);
    if (spare == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    mi_heap_release(store->heap, MICA_MEMORY_POOLS, store->spare, store->spare_size, MICA_ALIGN_MAX);
    store->spare = spare;
    store->spare_size = byte_size;
    return true;
}

// Elements

bool mi_store_open_slowly(mi_store *store, mi_pool *pool, uint32_t entity_index, mi_pool_moved *moved) {
    mi_heap *heap = store->heap;
    // What moves values comes last: nothing can fail once they lie elsewhere.
    if (mi_masks_open(&store->masks, heap, entity_index) && mi_pool_open_index(pool, heap, entity_index)) {
        if (mi_pool_has_room(pool) || mi_pool_reserve(pool, heap, &store->values, 1, moved)) {
            return true;
        }
        mi_pool_close_index(pool, heap, entity_index);
    }
    store->failure = MICA_OUT_OF_MEMORY;
    return false;
}

void mi_store_end_element(mi_store *store, mi_pool *pool, mica_entity entity, uint32_t position) {
    if (pool->type->info.toggle) {
        mi_store_forget_toggle(store, entity, pool->type->info.id);
    }
    if (pool->type->has_destruct) {
        mi_value_destruct(pool->type, &store->values, mi_pool_value(pool, position), 1);
    }
}

void mi_store_remove_elements(mi_store *store, mica_entity entity) {
    uint64_t *mask = mi_store_mask(store, entity);
    if (mask == NULL) {
        return;
    }
    for (uint32_t word = 0; word < store->masks.word_count; word++) {
        while (mask[word] != 0) {
            mi_pool *pool = store->pool_list.data[word * 64 + (uint32_t)__builtin_ctzll(mask[word])];
            mask[word] &= mask[word] - 1;
            // Groups do not settle by the rest of the mask: one whose excluded component goes first would take the
            // entity in for a moment, and what order its pools are left in would hang on the numbers of pools.
            if (MICA_UNLIKELY(pool->owner != NULL)) {
                mi_store_leave_group(store, pool, entity);
            }
            if (MICA_LIKELY(pool->is_simple)) {
                uint64_t *slot = mi_pool_slot_of(pool, entity);
                if (mi_pool_take_simple(pool, entity, slot, (uint32_t)*slot)) {
                    mi_pool_drop_page(pool, store->heap, mica_entity_index(entity) >> MI_SPARSE_SHIFT);
                }
            } else {
                mi_store_take_element(store, pool, entity);
            }
        }
    }
}

void mi_store_put_elements(mi_store *store, mi_pool *pool, const mica_entity *entities, uint32_t count) {
    mi_pool_publish_many(pool, entities, count, store->version);
    for (uint32_t i = 0; i < count; i++) {
        mi_store_set_bit(store, pool, entities[i]);
    }
}

void mi_store_settle_elements(mi_store *store, const mi_pool *pool, const mica_entity *entities, uint32_t count) {
    for (uint32_t i = 0; pool->groups.count > 0 && i < count; i++) {
        mi_store_settle_pool_groups(store, pool, entities[i]);
    }
}

// All pools

void mi_store_clear_pools(mi_store *store) {
    for (uint32_t i = 0; i < store->groups.count; i++) {
        store->groups.data[i]->count = 0;
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        mi_pool_clear(store->pool_list.data[i], store->heap, &store->values);
    }
    mi_masks_clear(&store->masks, store->heap);
}

void mi_store_free_pools(mi_store *store) {
    mi_heap *heap = store->heap;
    while (store->groups.count > 0) {
        mi_store_drop_group(store, store->groups.data[store->groups.count - 1]);
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        mi_pool_destroy(store->pool_list.data[i], heap, &store->values);
    }
    MI_FREE(heap, MICA_MEMORY_POOLS, &store->groups);
    MI_FREE(heap, MICA_MEMORY_POOLS, &store->pool_list);
    MI_FREE(heap, MICA_MEMORY_POOLS, &store->pools);
    mi_masks_free(&store->masks, heap);
    if (store->page_region != NULL) {
        mi_region_destroy(store->page_region);
        store->page_region = NULL;
    }
    mi_heap_release(heap, MICA_MEMORY_POOLS, store->spare, store->spare_size, MICA_ALIGN_MAX);
    store->spare = NULL;
    store->spare_size = 0;
}

void mi_store_trim_pools(mi_store *store) {
    bool is_empty = true;
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        mi_pool *pool = store->pool_list.data[i];
        mi_pool_shrink(pool, store->heap, &store->values);
        is_empty = is_empty && pool->count == 0;
    }
    if (is_empty) {
        mi_masks_clear(&store->masks, store->heap);
    }
    if (store->page_region != NULL) {
        (void)mi_region_keep(store->page_region, 0); // room that was made for pages is given back: this cannot fail
        mi_region_trim(store->page_region);
    }
}

// Validation

// Finds elements that no mask knows of, and counts the others.
static const char *validate_elements(const mi_store *store, const mi_pool *pool, uint64_t *element_count) {
    for (uint32_t page = 0; page < pool->sparse_count; page++) {
        if (pool->sparse[page] != NULL && mi_masks_of(&store->masks, page << MI_SPARSE_SHIFT) == NULL) {
            return "pools: entities of a page of a pool have no masks";
        }
    }
    uint32_t location = 0;
    for (uint32_t position = 0; position < pool->count; position++) {
        if (!mi_pool_is_live(pool, position)) {
            continue;
        }
        const mica_entity entity = pool->entities[position];
        if (!mi_slots_resolve(&store->slots, entity, &location)) {
            return "pools: an element's entity is not alive";
        }
        const uint64_t *mask = mi_store_mask(store, entity);
        if (mask == NULL || !mi_bit_get(mask, store->masks.word_count, pool->index)) {
            return "pools: an entity's mask lacks a pool that it is in";
        }
        ++*element_count;
    }
    return NULL;
}

static uint64_t count_mask_bits(const mi_masks *masks) {
    const size_t word_count = ((size_t)1 << MI_MASKS_SHIFT) * masks->word_count;
    uint64_t bit_count = 0;
    for (uint32_t page = 0; page < masks->page_count; page++) {
        for (size_t word = 0; masks->pages[page] != NULL && word < word_count; word++) {
            bit_count += (uint64_t)__builtin_popcountll(masks->pages[page][word]);
        }
    }
    return bit_count;
}

const char *mi_store_validate_pools(const mi_store *store) {
    uint64_t element_count = 0;
    if (mi_bit_words(store->pool_list.count) > store->masks.word_count) {
        return "pools: masks are too narrow";
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        const mi_pool *pool = store->pool_list.data[i];
        if (pool->index != i || mi_store_find_pool(store, pool->type->info.id) != pool) {
            return "pools: a pool is not found by its number and its component";
        }
        const char *fault = mi_pool_validate(pool);
        fault = fault == NULL ? validate_elements(store, pool, &element_count) : fault;
        if (fault != NULL) {
            return fault;
        }
        if (pool->owner != NULL && pool->type->info.size > store->spare_size) {
            return "pools: no room to swap values of a pool that a group owns";
        }
    }
    if (store->page_region != NULL && !mi_region_validate(store->page_region)) {
        return "pools: memory of pages is broken";
    }
    // All elements have their bits; so that there are as many says that there are no others.
    if (count_mask_bits(&store->masks) != element_count) {
        return "pools: a mask names a pool that its entity is not in";
    }
    const char *fault = NULL;
    for (uint32_t i = 0; fault == NULL && i < store->groups.count; i++) {
        fault = mi_store_validate_group(store, store->groups.data[i]);
    }
    return fault;
}
