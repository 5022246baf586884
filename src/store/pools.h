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

// Opens a pool for one more element, an entity of this index, its mask included. False: out of memory
// (store->failure), and nothing has changed. What was opened may be left alone, or closed by mi_pool_close_index.
bool mi_store_open_element(mi_store *store, mi_pool *pool, uint32_t entity_index, mi_pool_moved *moved);
// Publishes it: its value is made. The pool's groups see it.
void mi_store_publish_element(mi_store *store, mi_pool *pool, mica_entity entity);
// Removes the entity's element, which is there; destructs its value.
void mi_store_remove_element(mi_store *store, mi_pool *pool, mica_entity entity);
// Removes the entity from all its pools. O(its pools + words of a mask).
void mi_store_remove_elements(mi_store *store, mica_entity entity);
// Publishes `count` entities whose values stand behind the last position; their masks' and sparse pages are open.
void mi_store_publish_elements(mi_store *store, mi_pool *pool, const mica_entity *entities, uint32_t count);

// Empties all pools, masks and groups.
void mi_store_clear_pools(mi_store *store);
void mi_store_free_pools(mi_store *store);
// Gives back what pools do not use.
void mi_store_trim_pools(mi_store *store);
// The first thing that is wrong, or NULL.
const char *mi_store_validate_pools(const mi_store *store);

static inline uint64_t *mi_store_mask(const mi_store *store, mica_entity entity) {
    return mi_masks_of(&store->masks, mica_entity_index(entity));
}

// Groups. NULL: out of memory, or `failure` is MICA_EXISTS and *rival the group that owns one of the pools already.
// `pools` are `owned_count` owned ones, then those that must be there besides, then `none_count` that must not.
mi_group *mi_store_add_group(mi_store *store, mi_pool *const *pools, uint32_t owned_count, uint32_t all_count,
                             uint32_t none_count, const char *name, const mi_group **rival);
void mi_store_drop_group(mi_store *store, mi_group *group);
