/// \file hierarchy.h
/// Parents and children: the relation `ChildOf`.
///
/// The component `mica_child_of` names an entity's parent; the reverse (children in a stable order: that of linking) is
/// kept by the library. The value is read-only in walks; it changes through the verbs below, or through `mica_set`,
/// `mica_add_value`, `mica_spawn` and `mica_remove`, which do the same as `mica_set_parent`; giving a null parent makes
/// a root and leaves no component. A clone becomes the last child of its source's parent.
///
/// Destroying an entity moves its children up to its own parent, in its place and order, keeping their world pose, in
/// O(children); `mica_destroy_subtree` takes them along, deepest first. Destroying never fails: where the memory is
/// missing that children of a root need to lose the component, they keep it with a null parent, which everywhere means
/// a root. `mica_parent` is null for both.
///
/// Nothing recurses: depth is bounded by memory alone. Linking is structural (world.h), and all memory that unlinking
/// needs is reserved when a link is made.
#pragma once

#include <mica/commands.h>
#include <mica/type.h>
#include <mica/world.h>

MICA_BEGIN

/// \cond internal
MICA_API bool mica_child_of_attach(mica_world *world);
/// \endcond
MICA_END

/// The relation's value: who the parent is. Named "ChildOf" in files.
MICA_STRUCT_NAMED_WITH(mica_child_of, "ChildOf", (.storage = MICA_TABLE, .hooks = {.attach = mica_child_of_attach}),
                       { mica_entity parent; });

MICA_BEGIN

/// What a link does to the child's `mica_transform`.
typedef enum mica_pose {
    MICA_POSE_LOCAL, ///< the local pose stays; the child moves in the world
    MICA_POSE_WORLD  ///< the world pose stays, as nearly as a transform can say it (shear is lost)
} mica_pose;

/// Makes `child` the last child of `parent`; a null parent makes it a root. Its old link ends; a link to the parent
/// that it has already keeps its place. Refuses: `MICA_CYCLE` (the child itself or one of its descendants; names both),
/// `MICA_STALE`, `MICA_LOCKED`, `MICA_OUT_OF_MEMORY`, `MICA_INVALID` (no `mica_pose`). O(1) if the child has no
/// children, otherwise O(depth of the parent).
///
/// `MICA_POSE_WORLD` changes the child's transform or, if it has none, those of the nearest descendants that have one.
/// Where the new parent would shear one of them it gets the nearest pose, with a warning to the log that names it;
/// below a parent that is scaled to nothing local poses stay, with a warning. O(depth of both parents) more.
MICA_API mica_result mica_entity_set_parent(mica_world *world, mica_entity child, mica_entity parent, mica_pose pose);

/// Records `mica_entity_set_parent`; ends a fold.
MICA_API mica_result mica_commands_set_parent(mica_commands *commands, mica_entity child, mica_entity parent,
                                              mica_pose pose);

/// Links `count` children to their parents in this order, keeping local poses, and checks for cycles once. All or none.
/// A null parent makes a root. Refuses as `mica_entity_set_parent` (the message names the index); `MICA_INVALID` (a
/// child twice). Only the links at the end count: a chain may be turned over in one call. O(count + entities above the
/// children before and after).
MICA_API mica_result mica_entity_set_parent_many(mica_world *world, const mica_entity *children,
                                                 const mica_entity *parents, int32_t count);

/// Destroys an entity and all its descendants: children before their parent, siblings in order. Refuses: `MICA_STALE`,
/// `MICA_LOCKED`. O(subtree), and no memory.
MICA_API mica_result mica_entity_destroy_subtree(mica_world *world, mica_entity root);

/// Records `mica_entity_destroy_subtree`; ends a fold.
MICA_API mica_result mica_commands_destroy_subtree(mica_commands *commands, mica_entity root);

/// The parent; null if there is none (no error), or `MICA_STALE`. O(1), as all that follow.
MICA_API mica_entity mica_parent(const mica_world *world, mica_entity entity);
/// The first child; null as `mica_parent`.
MICA_API mica_entity mica_first_child(const mica_world *world, mica_entity entity);
/// The last child; null as `mica_parent`.
MICA_API mica_entity mica_last_child(const mica_world *world, mica_entity entity);
/// The sibling after; null as `mica_parent`. Roots have no siblings.
MICA_API mica_entity mica_next_sibling(const mica_world *world, mica_entity entity);
/// The sibling before; null as `mica_parent`.
MICA_API mica_entity mica_previous_sibling(const mica_world *world, mica_entity entity);
/// How many children; -1: `MICA_STALE`. O(1).
MICA_API int32_t mica_child_count(const mica_world *world, mica_entity entity);

MICA_END

#ifdef __cplusplus
inline mica_result mica_set_parent_to(mica_world *to, mica_entity child, mica_entity parent, mica_pose pose) {
    return mica_entity_set_parent(to, child, parent, pose);
}
inline mica_result mica_set_parent_to(mica_commands *to, mica_entity child, mica_entity parent, mica_pose pose) {
    return mica_commands_set_parent(to, child, parent, pose);
}
inline mica_result mica_destroy_subtree(mica_world *to, mica_entity root) {
    return mica_entity_destroy_subtree(to, root);
}
inline mica_result mica_destroy_subtree(mica_commands *to, mica_entity root) {
    return mica_commands_destroy_subtree(to, root);
}
#else
#define mica_set_parent_to(TO, ...) \
    _Generic((TO), mica_world * : mica_entity_set_parent, mica_commands * : mica_commands_set_parent)((TO), __VA_ARGS__)
/// Destroys an entity with all its descendants. `TO` is a world or a command buffer.
#define mica_destroy_subtree(TO, ROOT)                      \
    _Generic((TO), mica_world *                             \
             : mica_entity_destroy_subtree, mica_commands * \
             : mica_commands_destroy_subtree)((TO), (ROOT))
#endif
/// Sets the parent and keeps the local pose. `TO` is a world or a command buffer.
#define mica_set_parent(TO, CHILD, PARENT) mica_set_parent_to((TO), (CHILD), (PARENT), MICA_POSE_LOCAL)
/// Sets the parent and keeps the world pose.
#define mica_set_parent_keep_pose(TO, CHILD, PARENT) mica_set_parent_to((TO), (CHILD), (PARENT), MICA_POSE_WORLD)
/// Makes a child a root and keeps its world pose.
#define mica_unparent(TO, CHILD) mica_set_parent_to((TO), (CHILD), MICA_NULL, MICA_POSE_WORLD)
/// Links many at once: `mica_entity_set_parent_many`.
#define mica_set_parent_many(WORLD, ...) mica_entity_set_parent_many((WORLD), __VA_ARGS__)
