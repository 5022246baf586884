// The pools of a store: finding and making them, and putting elements in and out with all that hangs on it (masks and
// groups).
#pragma once

#include "store/group.h"
#include "store/store.h"

// The pool of a component, or NULL: it lives in tables, or no world's verb or query has named it yet.
static inline mi_pool *mi_store_find_pool(const mi_store *store, mica_component component) {
    return component < store->pools.count ? store->pools.data[component] : NULL;
}
// The same, made if it is not there; NULL: out of memory, with store->failure set. The type lives in a pool.
mi_pool *mi_store_pool(mi_store *store, const mi_type *type);

static inline uint64_t *mi_store_mask(const mi_store *store, mica_entity entity) {
    return mi_masks_of(&store->masks, mica_entity_index(entity));
}

// The number of the first pool of a mask (NULL: empty) from `number` on; MI_POOL_NONE: there is none.
#define MI_POOL_NONE UINT32_MAX
static inline uint32_t mi_store_next_pool(const mi_store *store, const uint64_t *mask, uint32_t number) {
    for (uint32_t word = number / 64; mask != NULL && word < store->masks.word_count; word++) {
        const uint64_t bits = mask[word] & (word == number / 64 ? UINT64_MAX << number % 64 : UINT64_MAX);
        if (bits != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
        }
    }
    return MI_POOL_NONE;
}

// What the inline functions below fall back to.
bool mi_store_open_slowly(mi_store *store, mi_pool *pool, uint32_t entity_index, mi_pool_moved *moved);
void mi_store_settle_pool_groups(mi_store *store, const mi_pool *pool, mica_entity entity);
void mi_store_end_element(mi_store *store, mi_pool *pool, mica_entity entity, uint32_t position);

// Whether a pool is open for one more element, an entity of this index, its mask included.
static inline bool mi_store_is_open(const mi_store *store, const mi_pool *pool, uint32_t entity_index) {
    const uint32_t page = entity_index >> MI_SPARSE_SHIFT;
    return mi_pool_has_room(pool) && page < pool->sparse_count && pool->sparse[page] != NULL &&
           mi_masks_of(&store->masks, entity_index) != NULL;
}
// Opens it. False: out of memory (store->failure), and nothing has changed. What was opened may be left alone, or
// closed by mi_pool_close_index.
static inline bool mi_store_open_element(mi_store *store, mi_pool *pool, uint32_t entity_index, mi_pool_moved *moved) {
    *moved = (mi_pool_moved){.byte_size = 0};
    return MICA_LIKELY(mi_store_is_open(store, pool, entity_index)) ||
           mi_store_open_slowly(store, pool, entity_index, moved);
}

// An entity's bit of a pool whose page for it is open.
static inline void mi_store_set_bit(mi_store *store, const mi_pool *pool, mica_entity entity) {
    mi_masks_at(&store->masks, mica_entity_index(entity))[pool->mask_word] |= pool->mask_bit;
}
static inline void mi_store_clear_bit(mi_store *store, const mi_pool *pool, mica_entity entity) {
    mi_masks_at(&store->masks, mica_entity_index(entity))[pool->mask_word] &= ~pool->mask_bit;
}

// Elements of one entity come and go in these steps: those that come are put, the masks' bits of those that go are
// cleared, then the groups of all pools concerned settle, and last those that go are taken. So groups see what the
// entity becomes, in whatever order its pools are named.

// Publishes the element that was opened, whose value is made; its groups have to settle.
static inline void mi_store_put_element(mi_store *store, mi_pool *pool, mica_entity entity) {
    mi_pool_publish(pool, entity, store->version);
    mi_store_set_bit(store, pool, entity);
}
// Lets the groups of a pool take the entity in or out, as its mask says.
static inline void mi_store_settle_groups(mi_store *store, const mi_pool *pool, mica_entity entity) {
    if (MICA_UNLIKELY(pool->groups.count > 0)) {
        mi_store_settle_pool_groups(store, pool, entity);
    }
}
// Destructs the value of an element whose mask's bit is cleared and whose groups have settled, and takes it out.
static inline void mi_store_take_element(mi_store *store, mi_pool *pool, mica_entity entity) {
    const uint32_t position = mi_pool_find(pool, entity);
    if (MICA_UNLIKELY(pool->type->has_destruct || pool->type->info.toggle)) {
        mi_store_end_element(store, pool, entity, position);
    }
    mi_pool_take_out(pool, store->heap, &store->values, position);
}

// The steps for an entity that changes in one pool alone.
static inline void mi_store_publish_element(mi_store *store, mi_pool *pool, mica_entity entity) {
    mi_store_put_element(store, pool, entity);
    mi_store_settle_groups(store, pool, entity);
}
// The entity's element is there.
static inline void mi_store_remove_element(mi_store *store, mi_pool *pool, mica_entity entity) {
    mi_store_clear_bit(store, pool, entity);
    mi_store_settle_groups(store, pool, entity);
    mi_store_take_element(store, pool, entity);
}
// The common case of both in one, where nothing but bytes is concerned and no memory is needed: a few instructions more
// than a bare sparse set. mi_store_open_slot finds the slot of an entity that has yet to enter a pool of so much room;
// NULL: the entity is not alive or is in the pool, or memory is needed.
static inline uint64_t *mi_store_open_slot(const mi_store *store, const mi_pool *pool, mica_entity entity,
                                           uint32_t room) {
    uint64_t *slot = pool->count < room ? mi_pool_seek(pool, entity) : NULL;
    uint32_t location = 0;
    return MICA_LIKELY(slot != NULL && *slot == MI_SPARSE_NONE && mi_slots_resolve(&store->slots, entity, &location))
               ? slot
               : NULL;
}
// Lets it stand behind the last one.
static inline void mi_store_enter(mi_store *store, mi_pool *pool, mica_entity entity, uint64_t *slot) {
    mi_pool_enter(pool, entity, slot, pool->count++);
    mi_store_set_bit(store, pool, entity);
}
// Whether nothing but bytes is concerned; then false of the first two functions: something else is, and nothing has
// happened.
static inline bool mi_store_is_simple(const mi_pool *pool) {
    return pool->is_simple && pool->groups.count == 0;
}
static inline bool mi_store_put_simply(mi_store *store, mi_pool *pool, mica_entity entity, const void *value) {
    uint64_t *slot = mi_store_is_simple(pool) && (value == NULL) == (pool->size == 0)
                         ? mi_store_open_slot(store, pool, entity, pool->room)
                         : NULL;
    if (slot == NULL) {
        return false;
    }
    if (value != NULL) {
        mi_value_copy_bytes(mi_pool_value(pool, pool->count), value, pool->size);
        mi_pool_mark(pool, pool->count, store->version);
    }
    mi_store_enter(store, pool, entity, slot);
    return true;
}
static inline bool mi_store_take_simply(mi_store *store, mi_pool *pool, mica_entity entity) {
    uint64_t *slot = mi_pool_seek(pool, entity);
    const uint32_t position = slot != NULL ? mi_pool_position_in(slot, entity) : MI_POSITION_NONE;
    if (position == MI_POSITION_NONE || !mi_store_is_simple(pool)) {
        return false;
    }
    mi_store_clear_bit(store, pool, entity);
    if (mi_pool_take_simple(pool, entity, slot, position)) {
        mi_pool_drop_page(pool, store->heap, mica_entity_index(entity) >> MI_SPARSE_SHIFT);
    }
    return true;
}
// Removes the entity from all its pools. O(its pools + words of a mask).
void mi_store_remove_elements(mi_store *store, mica_entity entity);
// The first two steps for `count` entities whose values stand behind the last position; their masks' and sparse pages
// are open.
void mi_store_put_elements(mi_store *store, mi_pool *pool, const mica_entity *entities, uint32_t count);
void mi_store_settle_elements(mi_store *store, const mi_pool *pool, const mica_entity *entities, uint32_t count);

// Empties all pools, masks and groups.
void mi_store_clear_pools(mi_store *store);
void mi_store_free_pools(mi_store *store);
// Gives back what pools do not use.
void mi_store_trim_pools(mi_store *store);
// The first thing that is wrong, or NULL.
const char *mi_store_validate_pools(const mi_store *store);

// Makes sure that `spare` has room for one value of `type`; false: out of memory.
bool mi_store_reserve_spare(mi_store *store, const mi_type *type);

// Groups. `pools` are `all_count` ones that members must be in, the first `owned_count` of them owned, then
// `none_count` that they must not be in; `name` is copied. NULL: out of memory, or `failure` is MICA_EXISTS and *rival
// the group that owns one of the pools already. O(smallest pool of those that members must be in).
mi_group *mi_store_add_group(mi_store *store, mi_pool *const *pools, uint32_t owned_count, uint32_t all_count,
                             uint32_t none_count, const char *name, const mi_group **rival);
void mi_store_drop_group(mi_store *store, mi_group *group);
// Counts the members anew, after elements and masks have become others all at once. Nobody moves if the members stand
// in front in the same order everywhere; else they are taken in as when the group was made. O(elements of its pools).
void mi_store_renew_group(mi_store *store, mi_group *group);
// The entity is about to lose all its elements: the group that owns the pool lets it go.
void mi_store_leave_group(mi_store *store, const mi_pool *pool, mica_entity entity);
// What is wrong with a group, or NULL. O(elements of its pools).
const char *mi_store_validate_group(const mi_store *store, const mi_group *group);
