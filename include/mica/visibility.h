/// \file visibility.h
/// Entities and components that are there and left out of queries: disabled ones, and killed ones that wait for their
/// end.
///
/// Nothing here moves rows or elements, but what a walk visits would change under it, so these verbs are refused with
/// `MICA_LOCKED` and recorded exactly like structural ones (world.h, commands.h). Apart from queries nothing changes:
/// the entity is alive, `mica_has` and `mica_get` find its components.
///
/// A *disabled* entity matches only queries that ask for disabled ones (`mica_disabled_too`, `mica_disabled_only`). A
/// *disabled component* (types with the trait `toggle`) counts as absent in every term of every query; it is enabled
/// again when it is removed and added. A *killed* entity matches no query at all, until `mica_refresh` destroys all
/// killed ones. A clone of a disabled entity is disabled, and so are its components; a clone of a killed one is not
/// killed.
#pragma once

#include <mica/commands.h>
#include <mica/world.h>

MICA_BEGIN

/// Enables or disables an entity; nothing happens if it is so already. Refuses: `MICA_STALE`, `MICA_LOCKED`,
/// `MICA_OUT_OF_MEMORY` (disabling alone). O(1).
MICA_API mica_result mica_entity_enable(mica_world *world, mica_entity entity, bool enabled);

/// Whether an entity is alive and not disabled. Never fails. O(1).
MICA_API bool mica_entity_enabled(const mica_world *world, mica_entity entity);

/// Enables or disables a component on an entity that has it. Refuses: `MICA_ABSENT`, `MICA_INVALID` (the type has no
/// trait `toggle`), `MICA_UNKNOWN`, and as `mica_entity_enable`. O(1).
MICA_API mica_result mica_entity_enable_component(mica_world *world, mica_entity entity, mica_component component,
                                                  bool enabled);

/// Whether an entity is alive and has the component, and that is not disabled. Never fails. O(1).
MICA_API bool mica_entity_component_enabled(const mica_world *world, mica_entity entity, mica_component component);

/// Marks an entity as killed: no query finds it from now on. Killing twice is killing once. Refuses: `MICA_STALE`,
/// `MICA_LOCKED`, `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_result mica_entity_kill(mica_world *world, mica_entity entity);

/// Whether an entity is alive and marked as killed. Never fails. O(1).
MICA_API bool mica_entity_killed(const mica_world *world, mica_entity entity);

/// Destroys all killed entities, in order of their indices, each as `mica_entity_destroy` does. Returns how many there
/// were; -1: `MICA_LOCKED`. O(killed), and at most a word for 64 entities.
MICA_API int32_t mica_world_refresh(mica_world *world);

// Recording, with the refusals of all recording (commands.h). Each ends a fold; what is refused when the buffer is
// applied is skipped and counted.

/// Records `mica_entity_enable`.
MICA_API mica_result mica_commands_enable(mica_commands *commands, mica_entity entity, bool enabled);

/// Records `mica_entity_enable_component`. A type without the trait `toggle` is refused when it is
/// recorded (`MICA_INVALID`).
MICA_API mica_result mica_commands_enable_component(mica_commands *commands, mica_entity entity,
                                                    mica_component component, bool enabled);

/// Records `mica_entity_kill`.
MICA_API mica_result mica_commands_kill(mica_commands *commands, mica_entity entity);

/// Records `mica_world_refresh`.
MICA_API mica_result mica_commands_refresh(mica_commands *commands);

MICA_END
