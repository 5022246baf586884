/// \file pool.h
/// Pools: the second storage, and what can be done with one beyond the verbs that all components share.
///
/// A type asks for it: `MICA_STRUCT_WITH(Contact, (.storage = MICA_POOL), { float depth; });`. A pool is a sparse set:
/// entities and values stand densely, by *position*; adding one puts it behind the last, removing one moves the last
/// into the hole and nothing else. In a *stable* pool (trait `stable`) removing leaves a tombstone instead, so that a
/// value keeps its address until it is removed or the pool is compacted; the next element takes the newest tombstone's
/// place. Elements that are spawned together (`mica_entity_spawn_many`, `mica_entity_spawn_fill`) all come behind the
/// last position.
///
/// All functions refuse ids that are not known (`MICA_UNKNOWN`) and components that live in tables (`MICA_INVALID`).
/// Those that move elements refuse `MICA_LOCKED` as structural verbs do (world.h), and make pointers to the pool's
/// values and its views invalid. Unless it is said otherwise they belong to the world's thread.
#pragma once

#include <mica/world.h>

MICA_BEGIN

/// A pool's arrays, for loops of one's own: position `i` holds `entities[i]`, and its value stands at
/// `(T *)pages[i / page_size] + i % page_size` (or by `mica_pool_at`). Everything is good until the next structural
/// change, on any number of threads that write to different values; values may be written if `mica_pool_write` was
/// called for it.
typedef struct mica_pool_view {
    int32_t count;               ///< positions, tombstones included
    int32_t live_count;          ///< elements
    const mica_entity *entities; ///< `count`; a tombstone's is a placeholder (`mica_entity_is_placeholder`)
    void *const *pages;          ///< NULL for a tag
    int32_t page_count;          ///< pages that hold positions below `count`
    uint32_t page_size;          ///< values a page, a power of two
    uint32_t value_size;         ///< bytes; 0 for a tag
    bool contiguous;             ///< all values follow each other from `pages[0]` on: the pool is packed
} mica_pool_view;

/// The arrays of a pool for reading; all zero for a pool that nobody is in, or on failure. What open walks have
/// written to copies (query.h) so far is in them. O(1), and the entities of spans that write to copies; any number of
/// threads while nobody changes the world.
MICA_API mica_pool_view mica_pool_read(const mica_world *world, mica_component component);

/// As `mica_pool_read`, for writing: counts all values as changed. O(pages).
MICA_API mica_pool_view mica_pool_write(mica_world *world, mica_component component);

/// The value at a position below `view->count` of a pool that is no tag's; what stands at a tombstone's is raw memory.
/// O(1), any thread.
static inline void *mica_pool_at(const mica_pool_view *view, int32_t position) {
    const uint32_t at = (uint32_t)position;
    return (uint8_t *)view->pages[at / view->page_size] + (size_t)(at % view->page_size) * view->value_size;
}

/// How many entities are in the pool; 0 on failure. O(1).
MICA_API int32_t mica_pool_count(const mica_world *world, mica_component component);

/// Bytes of memory that the pool holds for its elements, values and lookup; 0 before a verb or a query has named its
/// component, or on failure. O(lookup pages: the highest index in the pool / 4,096).
MICA_API uint64_t mica_pool_byte_size(const mica_world *world, mica_component component);

/// The position of an entity in the pool; -1: it is not in it (no error), or `MICA_STALE`. O(1).
MICA_API int32_t mica_pool_position(const mica_world *world, mica_component component, mica_entity entity);

/// The entity whose value `address` points to, or into; null if it is no live element's (no error), as that of a copy
/// (query.h), or on failure. Who stands there now is meant, whoever did when the address was taken. O(1) if packed,
/// O(pages) if paged.
MICA_API mica_entity mica_pool_entity_of(const mica_world *world, mica_component component, const void *address);

/// Makes room for `count` elements in all, so that adding them one by one allocates nothing for the dense arrays. The
/// lookup by index still grows with the entities that come. Refuses: `MICA_OUT_OF_MEMORY`, `MICA_LIMIT`, `MICA_INVALID`
/// (a negative count), `MICA_LOCKED`. O(elements) if packed values move.
MICA_API mica_result mica_pool_reserve(mica_world *world, mica_component component, int32_t count);

/// Gives back memory that is reserved and not used. Values of a packed pool move. Refuses: `MICA_OUT_OF_MEMORY` (what
/// cannot be moved to less memory stays reserved), `MICA_LOCKED`. O(elements + pages).
MICA_API mica_result mica_pool_shrink(mica_world *world, mica_component component);

/// Closes the gaps that tombstones are: the elements of a stable pool move up and keep their order. Other pools have
/// none. Refuses: `MICA_LOCKED`. O(positions), O(1) without tombstones.
MICA_API mica_result mica_pool_compact(mica_world *world, mica_component component);

/// An element as it is compared: `value` is NULL for a tag.
typedef struct mica_element {
    mica_entity entity;
    const void *value;
} mica_element;

/// Negative, 0 or positive, as for `qsort`; must not call the world.
typedef int (*mica_compare_function)(const mica_element *a, const mica_element *b, void *user);

/// Sorts a pool: equal elements keep their order. Refuses: a stable pool, a pool that a group owns, no function
/// (`MICA_INVALID`), `MICA_OUT_OF_MEMORY`, `MICA_LOCKED`. O(n log n) comparisons, O(n) if it is sorted already.
MICA_API mica_result mica_pool_sort(mica_world *world, mica_component component, mica_compare_function compare,
                                    void *user);

/// Gives the elements of a pool whose entities are also in `leader` the leader's order, in front; the others keep
/// theirs, behind. `leader` may be stable or owned by a group. Refuses as `mica_pool_sort`. O(both).
MICA_API mica_result mica_pool_follow(mica_world *world, mica_component component, mica_component leader);

// Groups

/// Pools that keep the entities with the same set of components in front, all in the same order: a walk over just that
/// set is a walk over bare arrays.
typedef struct mica_group mica_group;

/// Most entries of each list of a group's definition.
#define MICA_GROUP_MAX 16

/// Each entry is a type, or an id in the list of ids beside it; a list ends at the first entry that is neither. All
/// name components that live in pools, none twice.
typedef struct mica_group_def {
    mica_type *owned[MICA_GROUP_MAX];         ///< their pools are kept in order; one at least
    mica_type *with[MICA_GROUP_MAX];          ///< must be there as well
    mica_type *without[MICA_GROUP_MAX];       ///< must not be there
    mica_component owned_ids[MICA_GROUP_MAX]; ///< in place of types, for components known by id
    mica_component with_ids[MICA_GROUP_MAX];
    mica_component without_ids[MICA_GROUP_MAX];
} mica_group_def;

/// Makes a group and sorts those who match to the front; NULL: `MICA_EXISTS` (another group owns one of the pools; the
/// message names both), `MICA_INVALID` (nothing owned, a component twice, a component in tables, a stable pool owned),
/// `MICA_LOCKED`, `MICA_OUT_OF_MEMORY`, or as `mica_schema_register`. From then on each add and remove of one of its
/// components costs up to a swap in every owned pool. O(smallest pool that it requires).
MICA_API mica_group *mica_group_create(mica_world *world, const mica_group_def *def);

/// Ends a group; the order stays until something changes it. NULL is allowed. Groups end with their world at the
/// latest. Refuses (leaves it): `MICA_LOCKED`. O(groups + pools).
MICA_API mica_result mica_group_destroy(mica_group *group);

/// How many entities are in the group: the first ones of every owned pool. 0 for NULL, with `MICA_INVALID`. O(1).
MICA_API int32_t mica_group_count(const mica_group *group);

/// Sorts the members by values of an owned component, in all owned pools alike; equal ones keep their order. Who enters
/// later comes behind them. Refuses: `MICA_INVALID` (not owned, no function), `MICA_LOCKED`, `MICA_OUT_OF_MEMORY`.
/// O(n log n) comparisons, O(n) if they are sorted already.
MICA_API mica_result mica_group_sort(mica_group *group, mica_component component, mica_compare_function compare,
                                     void *user);

MICA_END
