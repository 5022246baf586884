// Groups: keeping the members of a set of pool components in front of the owned pools, all in the same order.
//
// An entity enters by being swapped, in every owned pool, with the first that is no member, and leaves by being swapped
// with the last member. Both are decided by its mask alone, after every change of it: see the steps in pools.h. Whoever
// leaves is still in all owned pools then, so the prefixes stay alike.
#include "store/pools.h"

#include <string.h>

static bool is_member(const mi_group *group, mica_entity entity) {
    return mi_pool_find(group->owned[0], entity) < group->count; // as those that are not in the pool are not
}

static bool matches(const mi_store *store, const mi_group *group, const uint64_t *mask) {
    const uint32_t word_count = store->masks.word_count;
    return mask != NULL && mi_bits_contain(mask, word_count, group->all, group->word_count) &&
           !mi_bits_meet(mask, word_count, group->none, group->word_count);
}

// Swaps the entity to `position` in every owned pool.
static void bring(mi_store *store, const mi_group *group, mica_entity entity, uint32_t position) {
    for (uint32_t i = 0; i < group->owned_count; i++) {
        mi_pool *pool = group->owned[i];
        mi_pool_swap(pool, &store->values, mi_pool_find(pool, entity), position, store->spare);
    }
}

static void settle(mi_store *store, mi_group *group, mica_entity entity, const uint64_t *mask) {
    const bool belongs = matches(store, group, mask);
    if (belongs == is_member(group, entity)) {
        return;
    }
    if (belongs) {
        bring(store, group, entity, group->count);
        group->count++;
    } else {
        group->count--;
        bring(store, group, entity, group->count);
    }
}

void mi_store_settle_pool_groups(mi_store *store, const mi_pool *pool, mica_entity entity) {
    const uint64_t *mask = mi_store_mask(store, entity);
    for (uint32_t i = 0; i < pool->groups.count; i++) {
        settle(store, pool->groups.data[i], entity, mask);
    }
}

void mi_store_leave_group(mi_store *store, const mi_pool *pool, mica_entity entity) {
    mi_group *group = pool->owner;
    if (is_member(group, entity)) {
        group->count--;
        bring(store, group, entity, group->count);
    }
}

// Making and ending groups

// One piece of memory for the struct, its arrays and its name.
static mi_group *create_group(const mi_store *store, mi_pool *const *pools, uint32_t owned_count, uint32_t all_count,
                              uint32_t none_count, const char *name) {
    const uint32_t word_count = store->masks.word_count;
    const size_t name_size = strlen(name) + 1;
    const size_t byte_size =
        sizeof(mi_group) + owned_count * sizeof(mi_pool *) + (size_t)2 * word_count * sizeof(uint64_t) + name_size;
    mi_group *group = mi_heap_allocate_zeroed(store->heap, MICA_MEMORY_POOLS, byte_size, _Alignof(max_align_t));
    if (group == NULL) {
        return NULL;
    }
    group->allocation_size = byte_size;
    group->owned_count = owned_count;
    group->word_count = word_count;
    group->all = (uint64_t *)(void *)(group + 1);
    group->none = group->all + word_count;
    group->owned = (mi_pool **)(void *)(group->none + word_count);
    group->name = (char *)(group->owned + owned_count);
    memcpy(group->owned, pools, owned_count * sizeof(mi_pool *));
    memcpy(group->name, name, name_size);
    for (uint32_t i = 0; i < all_count + none_count; i++) {
        mi_bit_set(i < all_count ? group->all : group->none, pools[i]->index);
    }
    return group;
}

// The smallest of the pools that members must be in; of equal ones the first owned one, else the first by name: numbers
// of pools hang on who was named first.
static const mi_pool *smallest_of(const mi_store *store, const mi_group *group) {
    const mi_pool *smallest = group->owned[0];
    for (uint32_t i = 1; i < group->owned_count; i++) {
        if (mi_pool_live_count(group->owned[i]) < mi_pool_live_count(smallest)) {
            smallest = group->owned[i];
        }
    }
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        const mi_pool *pool = store->pool_list.data[i];
        if (!mi_bit_get(group->all, group->word_count, i) || pool->owner == group) {
            continue;
        }
        const uint32_t count = mi_pool_live_count(pool);
        if (count < mi_pool_live_count(smallest) ||
            (count == mi_pool_live_count(smallest) && smallest->owner != group &&
             mi_type_compare_names(pool->type, smallest->type) < 0)) {
            smallest = pool;
        }
    }
    return smallest;
}

// Takes in everybody who belongs. A walk over an owned pool meets nobody twice: whoever is swapped to the position that
// the walk stands at was behind it already.
static void fill_group(mi_store *store, mi_group *group) {
    const mi_pool *smallest = smallest_of(store, group);
    for (uint32_t position = 0; position < smallest->count; position++) {
        if (mi_pool_is_live(smallest, position)) {
            const mica_entity entity = smallest->entities[position];
            settle(store, group, entity, mi_store_mask(store, entity));
        }
    }
}

mi_group *mi_store_add_group(mi_store *store, mi_pool *const *pools, uint32_t owned_count, uint32_t all_count,
                             uint32_t none_count, const char *name, const mi_group **rival) {
    mi_heap *heap = store->heap;
    for (uint32_t i = 0; i < owned_count; i++) {
        if (pools[i]->owner != NULL) {
            store->failure = MICA_EXISTS;
            *rival = pools[i]->owner;
            return NULL;
        }
    }
    store->failure = MICA_OUT_OF_MEMORY;
    if (!MI_RESERVE(heap, MICA_MEMORY_POOLS, &store->groups, store->groups.count + 1u)) {
        return NULL;
    }
    for (uint32_t i = 0; i < all_count + none_count; i++) {
        if (!MI_RESERVE(heap, MICA_MEMORY_POOLS, &pools[i]->groups, pools[i]->groups.count + 1u) ||
            (i < owned_count && !mi_store_reserve_spare(store, pools[i]->type))) {
            return NULL;
        }
    }
    mi_group *group = create_group(store, pools, owned_count, all_count, none_count, name);
    if (group == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < all_count + none_count; i++) {
        pools[i]->groups.data[pools[i]->groups.count++] = group;
        mi_pool_note_room(pools[i]);
        if (i < owned_count) {
            pools[i]->owner = group;
            pools[i]->structure++; // walks may go through another pool from now on
        }
    }
    store->groups.data[store->groups.count++] = group;
    fill_group(store, group);
    return group;
}

// What is wrong with where members stand in the owned pools, or NULL.
static const char *find_misplaced(const mi_store *store, const mi_group *group) {
    const mi_pool *first = group->owned[0];
    for (uint32_t i = 0; i < group->owned_count; i++) {
        if (group->count > 0 &&
            memcmp(group->owned[i]->entities, first->entities, group->count * sizeof(mica_entity)) != 0) {
            return "groups: two pools of a group have its members in different orders";
        }
    }
    for (uint32_t position = 0; position < first->count; position++) {
        if (matches(store, group, mi_store_mask(store, first->entities[position])) != (position < group->count)) {
            return "groups: a member does not match, or somebody who matches is no member";
        }
    }
    return NULL;
}

void mi_store_renew_group(mi_store *store, mi_group *group) {
    const mi_pool *first = group->owned[0];
    group->count = 0;
    while (group->count < first->count && matches(store, group, mi_store_mask(store, first->entities[group->count]))) {
        group->count++;
    }
    if (find_misplaced(store, group) != NULL) {
        group->count = 0;
        fill_group(store, group);
    }
}

// Takes a group out of a list that may have it, MI_ARRAY(mi_group *), and keeps the order of the rest.
static void forget(mi_group **groups, uint32_t *count, const mi_group *group) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (groups[i] != group) {
            groups[kept++] = groups[i];
        }
    }
    *count = kept;
}

void mi_store_drop_group(mi_store *store, mi_group *group) {
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        mi_pool *pool = store->pool_list.data[i];
        forget(pool->groups.data, &pool->groups.count, group);
        mi_pool_note_room(pool);
        if (pool->owner == group) {
            pool->owner = NULL;
            pool->structure++;
        }
    }
    forget(store->groups.data, &store->groups.count, group);
    mi_heap_release(store->heap, MICA_MEMORY_POOLS, group, group->allocation_size, _Alignof(max_align_t));
}

// Validation

// Whether a pool knows of the group exactly if the group's masks name it.
static bool is_known(const mi_group *group, const mi_pool *pool) {
    const bool is_named = mi_bit_get(group->all, group->word_count, pool->index) ||
                          mi_bit_get(group->none, group->word_count, pool->index);
    uint32_t known_count = 0;
    for (uint32_t i = 0; i < pool->groups.count; i++) {
        known_count += pool->groups.data[i] == group;
    }
    return known_count == (is_named ? 1u : 0u);
}

const char *mi_store_validate_group(const mi_store *store, const mi_group *group) {
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        if (!is_known(group, store->pool_list.data[i])) {
            return "groups: a pool and a group disagree about each other";
        }
    }
    for (uint32_t i = 0; i < group->owned_count; i++) {
        const mi_pool *pool = group->owned[i];
        if (pool->owner != group || pool->type->info.stable || group->count > pool->count) {
            return "groups: a pool is not owned as it should be";
        }
    }
    return find_misplaced(store, group);
}
