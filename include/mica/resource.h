/// \file resource.h
/// Resources: one value of a type for a whole world.
///
/// A resource's address stays the same until it is removed, whatever else happens. Setting and removing resources is no
/// structural change.
///
/// **State.** Values that the world holds are part of its state (snapshot.h): a restore gives them their content and
/// version of that moment, at their addresses, makes those that were there then and removes those that were not;
/// observers hear nothing of that, whoever is told of the restore. An address for writing is good for that until the
/// next snapshot: what is written through an older one may be missing in later snapshots (a type whose writers keep
/// addresses has the trait `always_dirty`). Values that own something or have 4,096 bytes or more are copied into a
/// snapshot when one of them may have changed, all others when one of those may have. A value held by pointer is the
/// caller's: it is no state, and stays as it is and where it is, also if the state has a value of that type.
#pragma once

#include <mica/world.h>

MICA_BEGIN

/// Gives the world its value of a type, or replaces it. The value is copied, or moved from if the type is move-only.
/// Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no value), `MICA_NO_VALUE` (a tag), `MICA_EXISTS` (held by pointer),
/// `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_result mica_resource_set(mica_world *world, mica_component component, const void *value);

/// Lets the world refer to the caller's value, which stays the caller's and must outlive the world or be removed
/// before; snapshots leave it alone. Replaces an earlier pointer. Refuses: `MICA_EXISTS` (held by value), `MICA_LOCKED`
/// (observers are being told of it), and as `mica_resource_set`. O(1).
MICA_API mica_result mica_resource_set_pointer(mica_world *world, mica_component component, void *value);

/// The resource for reading; NULL if there is none (no error) or `MICA_UNKNOWN`. O(1).
MICA_API const void *mica_resource_get(const mica_world *world, mica_component component);

/// The resource for writing; marks it as changed. NULL as `mica_resource_get`. O(1).
MICA_API void *mica_resource_get_write(mica_world *world, mica_component component);

/// The resource for writing, constructed if there was none. NULL: as `mica_resource_set`. O(1).
MICA_API void *mica_resource_ensure(mica_world *world, mica_component component);

/// Removes a resource; its value is destructed if it is held by value. Nothing happens if there is none. Refuses:
/// `MICA_UNKNOWN`, `MICA_LOCKED` (observers are being told of it). O(1).
MICA_API mica_result mica_resource_remove(mica_world *world, mica_component component);

/// The version of the last change of a resource, which a restore that brings another value is; 0 if there is none.
/// Everything that hands it out for writing counts, and so does setting what it is already. Of one held by pointer,
/// what the caller writes himself does not. O(1).
MICA_API uint64_t mica_resource_version(const mica_world *world, mica_component component);

MICA_END
