/// \file commands.h
/// Command buffers: structural changes recorded now and applied later, in the order of recording.
///
/// Recording never touches the world and is allowed while structure is locked. Values are copied when they are recorded
/// (or moved from, if the type is move-only). An entity made in a buffer gets its handle when the buffer is applied;
/// until then a *placeholder* stands for it, good as target and inside recorded values (entity fields of types that are
/// reflected when they are recorded) of the same buffer alone. A placeholder that the buffer has not handed out since
/// it was last empty is refused when it is recorded: one of an earlier round, or of another buffer unless that one
/// happens to have handed out the same number.
///
/// Applying: each command is atomic by itself. A command whose target is dead, an add of what is there, and a clone or
/// a link that the world refuses is skipped and counted. Spawns, adds, sets and removes of one entity are folded into
/// one change, wherever its components live: entities change in the order of their first record, each in one move
/// between tables at most and once in each of the pools concerned, with the same end, the same skips and counts, and
/// the same handles as if each command had been applied alone. What a fold removes and adds again is a new value, but
/// an element of a pool keeps its position. Clone, destroy, link and visibility commands (visibility.h), and so a spawn
/// with a relation among its values, end all folds; a spawn ends none, since nothing of its entity was recorded before
/// it.
#pragma once

#include <mica/query.h>
#include <mica/world.h>

MICA_BEGIN

/// Makes an empty buffer for a world; NULL: `MICA_OUT_OF_MEMORY`, `MICA_INVALID` (no world). It must be destroyed
/// before its world. O(1).
MICA_API mica_commands *mica_commands_create(mica_world *world);

/// Ends a buffer; commands in it are dropped. NULL is allowed. Buffers that the library lends (of systems and walks)
/// are left alone. O(commands).
MICA_API void mica_commands_destroy(mica_commands *commands);

/// Drops the recorded commands. O(commands).
MICA_API void mica_commands_clear(mica_commands *commands);

/// How many commands wait; a destroy-many is one. O(1).
MICA_API int32_t mica_commands_count(const mica_commands *commands);

/// Counts of a buffer since it was made. Of a destroy-many, each entity counts.
typedef struct mica_commands_stats {
    uint64_t applied_count;
    uint64_t skipped_count; ///< dead targets, adds of what was there, clones, links and hidings that were refused
} mica_commands_stats;

/// Counts of a buffer since it was made. O(1).
MICA_API mica_commands_stats mica_commands_statistics(const mica_commands *commands);

/// Applies and empties the buffer. Refuses: `MICA_LOCKED` (structure, or this buffer is being applied). On
/// `MICA_OUT_OF_MEMORY` or `MICA_LIMIT` the commands that could not be applied stay in the buffer with their values,
/// and applying may be tried again; an entity that a value applied already names may exist by then, without its
/// components. O(commands), and the moves. Rounds alike soon allocate nothing for the buffer.
MICA_API mica_result mica_commands_apply(mica_commands *commands);

/// The world of a buffer; NULL for no buffer. O(1).
MICA_API mica_world *mica_commands_world(const mica_commands *commands);

/// The handle that a placeholder of this buffer got when it was last applied; null if it names none (or its creation
/// was skipped). Good until the next record. O(1).
MICA_API mica_entity mica_commands_resolve(const mica_commands *commands, mica_entity placeholder);

// Recording. Refusals at recording: null and foreign placeholders, as target or in a value (`MICA_STALE`), values for
// tags (`MICA_NO_VALUE`), no value to set (`MICA_INVALID`), unknown ids (`MICA_UNKNOWN`), a buffer that is being
// applied (`MICA_LOCKED`), `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`; nothing is recorded then, and no value was moved from.
// Whether a target is alive is seen when the buffer is applied. O(size of the value) each.

/// Records a spawn with `count` values, 0 for an entity without components; returns the placeholder, null on failure.
/// Refuses as `mica_entity_spawn`.
MICA_API mica_entity mica_commands_spawn(mica_commands *commands, const mica_value *values, int32_t count);

/// Records a clone; returns the placeholder, null on failure. As `mica_entity_clone`.
MICA_API mica_entity mica_commands_clone(mica_commands *commands, mica_entity source);

/// Records a destruction. As `mica_entity_destroy`.
MICA_API mica_result mica_commands_destroy_entity(mica_commands *commands, mica_entity entity);

/// Records a destruction of many; each that is dead by then is skipped and counted. A refusal names the index; a
/// `count` of 0 records nothing.
MICA_API mica_result mica_commands_destroy_many(mica_commands *commands, const mica_entity *entities, int32_t count);

/// Records an add. As `mica_entity_add`.
MICA_API mica_result mica_commands_add(mica_commands *commands, mica_entity entity, mica_component component,
                                       const void *value);

/// Records a set. As `mica_entity_set`.
MICA_API mica_result mica_commands_set(mica_commands *commands, mica_entity entity, mica_component component,
                                       const void *value);

/// Records a removal. As `mica_entity_remove`.
MICA_API mica_result mica_commands_remove(mica_commands *commands, mica_entity entity, mica_component component);

/// Records as many adds as there are entities, all or none; a refusal names the index. As `mica_entity_add_many`, but
/// for what is seen when the buffer is applied, where each is an add by itself: one whose entity is dead by then, or
/// has the component, is skipped and counted. O(count).
MICA_API mica_result mica_commands_add_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                            mica_component component, const void *values);

/// The same with sets. As `mica_entity_set_many`.
MICA_API mica_result mica_commands_set_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                            mica_component component, const void *values);

/// The same with removals. As `mica_entity_remove_many`.
MICA_API mica_result mica_commands_remove_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                               mica_component component);

// On all entities that match a query, as they are found when the buffer is applied, those that commands before have
// made among them. The buffer keeps a reference to the query until then. What changes is counted as applied, an entity
// each; nothing is skipped: who has the component already, or does not, is left alone. Refuses, beside the above:
// `MICA_INVALID` (no query, one of another world, or one that asks for changes), `MICA_UNSUPPORTED` (a relation),
// `MICA_NO_COPY` (a value of a type without a copy hook that owns something), `MICA_STALE` (a placeholder in the
// value).

/// Records the destruction of all that match. As `mica_entity_destroy`.
MICA_API mica_result mica_commands_destroy_matching(mica_commands *commands, mica_query *query);

/// Records that all that match get a component, each with a copy of the value (NULL: constructed). As
/// `mica_entity_add`.
MICA_API mica_result mica_commands_add_matching(mica_commands *commands, mica_query *query, mica_component component,
                                                const void *value);

/// Records that all that match lose a component. As `mica_entity_remove`.
MICA_API mica_result mica_commands_remove_matching(mica_commands *commands, mica_query *query,
                                                   mica_component component);

/// The id of `type` in the schema of the buffer's world, registered if it is new; as `mica_world_component`.
static inline mica_component mica_commands_component(mica_commands *commands, mica_type *type) {
    return mica_world_component(mica_commands_world(commands), type);
}

MICA_END
