/// \file subscription.h
/// Following a world from a tool: what has changed since the last look, without a look at what has not.
///
/// A *subscription* lists the entities that something happened to: each once, in the order in which the first thing
/// happened to it, with flags for all that did. It hears of changes when they are made, so that asking costs what is
/// listed, and a change O(1). An inspector subscribes, shows everything once, and from then on *collects* and shows
/// anew what it is given.
///
/// What may have been written through addresses (by spans, `mica_get_write`, arrays of pools) is listed when the
/// address is asked for, as changed in value: so collect when nobody holds such an address any more, between systems or
/// after the tick.
///
/// A restore (snapshot.h) lists those who differ by it, with what happened to them, and nobody else.
///
/// Versions tell the same of a single thing: the version of the last change that may have touched it. A tool that
/// remembers what `mica_world_advance_version` returned when it looked has to look again at what carries a later one.
///
/// All functions here belong to the world's thread.
#pragma once

#include <mica/world.h>

MICA_BEGIN

/// What happened to an entity.
typedef enum mica_change_flag {
    MICA_CHANGE_CREATED = 1,   ///< it was made
    MICA_CHANGE_DESTROYED = 2, ///< it has ended: the handle is stale
    MICA_CHANGE_ADDED = 4,     ///< a component has come
    MICA_CHANGE_REMOVED = 8,   ///< a component has gone
    MICA_CHANGE_VALUE = 16,    ///< a verb has set a value, or one may have been written through an address
    MICA_CHANGE_VISIBILITY =
        32 ///< it was enabled, disabled or killed, or one of its components was enabled or disabled
} mica_change_flag;

/// An entity that something happened to.
typedef struct mica_change {
    mica_entity entity;
    uint32_t flags; ///< of `mica_change_flag`
} mica_change;

/// Lists the entities that something happens to.
typedef struct mica_subscription mica_subscription;

/// Most components of a subscription that names any.
#define MICA_SUBSCRIPTION_MAX 16

/// What a subscription is about. Zero: everything.
///
/// One that names components hears of these alone: of entities as a whole (made, destroyed, enabled, disabled, killed)
/// while they have one of them. Each entry is a type, or an id at the same place of the list of ids; the list ends at
/// the first entry that is neither.
typedef struct mica_subscription_def {
    mica_type *components[MICA_SUBSCRIPTION_MAX];
    mica_component component_ids[MICA_SUBSCRIPTION_MAX];
} mica_subscription_def;

/// Begins to list what happens from now on; what is there already is not listed. `def` may be NULL: everything. NULL on
/// failure: `MICA_INVALID` (no world, a component twice), `MICA_UNKNOWN`, `MICA_LOCKED` (in a system that may run
/// beside others), `MICA_OUT_OF_MEMORY`, or as `mica_schema_register`. It ends with its world at the latest.
/// O(components).
MICA_API mica_subscription *mica_subscribe(mica_world *world, const mica_subscription_def *def);

/// Ends a subscription. NULL is allowed. Refuses: `MICA_LOCKED` (in a system that may run beside others). O(what is
/// listed, observers).
MICA_API void mica_subscription_destroy(mica_subscription *subscription);

/// How many entities are listed; -1 if changes were lost (no error: `mica_subscription_collect` tells it), 0 for NULL.
/// O(1).
MICA_API int32_t mica_subscription_count(const mica_subscription *subscription);

/// Writes up to `capacity` listed entities, those listed first in front, and takes them off the list; what happens to
/// them later lists them again, at the end. Returns how many were written.
///
/// An entity that was listed as made and has been destroyed since the last call is not written: nobody has heard of it.
/// One whose making was heard of, or that is older, is written with `MICA_CHANGE_DESTROYED`, and with the components
/// that went with it as `MICA_CHANGE_REMOVED`. If its slot is used again meanwhile, the old entity and the new one are
/// two; so are the one that was destroyed and the same one made again, if a restore has brought it back.
///
/// -1: `MICA_INVALID` (no subscription, no array, a negative capacity), or `MICA_OUT_OF_MEMORY`: at some time since the
/// last call there was no memory to list a change. The list is empty then, and has to be taken for a list of
/// everything: the caller looks at the whole world once. From this call on changes are listed again.
///
/// O(written). Allowed while structure is locked, and in observers.
MICA_API int32_t mica_subscription_collect(mica_subscription *subscription, mica_change *changes, int32_t capacity);

/// The version of the last change that may have touched a component of an entity: its value was set, may have been
/// written through an address, or the component came. 0: the entity does not have it (no error), nothing has been
/// stamped because it is a tag, or on failure (`MICA_STALE`, `MICA_UNKNOWN`).
///
/// It says too much: values that share a chunk of a table, or a page of a pool, share a version, and a row that moves
/// brings the version of where it comes from along. A type with the trait `always_dirty` has always just changed. O(1).
MICA_API uint64_t mica_entity_component_version(const mica_world *world, mica_entity entity, mica_component component);

/// The latest version of an entity's components, and of when rows last came to its chunk or were moved in it: so it
/// says too much as `mica_entity_component_version` does, and rows that come beside the entity's count as well. 0: it
/// has no components that are stamped (no error), or `MICA_STALE`.
///
/// Components that leave pools, tags that come to pools or leave them, and what visibility.h does leave no stamp on an
/// entity: a subscription lists them. O(components).
MICA_API uint64_t mica_entity_version(const mica_world *world, mica_entity entity);

MICA_END
