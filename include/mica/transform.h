/// \file transform.h
/// Local poses and the world matrices that follow from them along the hierarchy.
#pragma once

#include <mica/hierarchy.h>
#include <mica/system.h>
#include <mica/type.h>

/// A 4x4 matrix, column-major: `m[12]`, `m[13]`, `m[14]` is the translation. Named "WorldTransform" in files. Written
/// by `mica_transform_resolve`; not saved.
MICA_STRUCT_NAMED_WITH(mica_world_transform, "WorldTransform", (.transient = true, .storage = MICA_TABLE),
                       { float m[16]; });

MICA_BEGIN
/// \cond internal
MICA_API bool mica_transform_construct(void *values, int32_t count, const mica_hook_context *context);
/// \endcond
MICA_END

/// A pose relative to the parent, or to the world for roots: first scaled, then rotated (a quaternion x, y, z, w of
/// length 1), then moved. Constructed as identity. Brings `mica_world_transform` along. Named "Transform" in files.
MICA_STRUCT_NAMED_WITH(mica_transform, "Transform",
                       (.storage = MICA_TABLE, .required = {mica_type_of(mica_world_transform)},
                        .hooks = {.construct = mica_transform_construct}),
                       {
                           float position[3];
                           float rotation[4];
                           float scale[3];
                       });

/// The pose that changes nothing, as an initialiser in braces.
#define MICA_TRANSFORM_IDENTITY    \
    {                              \
        {0, 0, 0}, {0, 0, 0, 1}, { \
            1, 1, 1                \
        }                          \
    }

MICA_BEGIN

/// Computes the world matrix of every entity that has both `mica_transform` and `mica_world_transform`, parents before
/// children, as a product of floats in a fixed order (parent times local, from the root down). An ancestor without a
/// transform counts as identity; one without a world matrix counts all the same. Marks the matrices as changed. No
/// structural change; allowed while structure is locked. Big levels are shared out among the threads of the world's
/// pool, to the same bits. Refuses: `MICA_OUT_OF_MEMORY`, with no matrix touched; `MICA_MISMATCH` (the schema knows
/// another type by one of the names); `MICA_NO_ACCESS` (from a system that has not declared to read the one and write
/// the other, where that is checked). O(entities with a transform + linked entities).
MICA_API mica_result mica_transform_resolve(mica_world *world);

/// Adds the system "resolve_transforms", which calls `mica_transform_resolve` in the stage resolve. It reads
/// `mica_transform` and `mica_child_of` and writes `mica_world_transform`. 0 as `mica_system_add`, whose cost it has.
MICA_API mica_system mica_transform_system_add(mica_world *world);

/// The world matrix of one entity from the local poses of it and its ancestors, without looking at what was resolved.
/// Computed in double precision: it may differ from the resolved one in the last bits. Refuses: `MICA_STALE`,
/// `MICA_ABSENT` (no transform), `MICA_INVALID` (no `matrix`), `MICA_NO_ACCESS` (as `mica_transform_resolve`).
/// O(depth).
MICA_API mica_result mica_transform_world_of(const mica_world *world, mica_entity entity, float matrix[16]);

/// The matrix of a pose; where either is missing, `MICA_INVALID` and nothing. O(1), any thread.
MICA_API void mica_transform_matrix(const mica_transform *transform, float matrix[16]);

/// The pose nearest to a matrix (least sum of squared differences): exact but for rounding, unless the matrix shears or
/// projects. A mirroring gives a negative scale along x; a matrix that is not finite gives identity. Returns whether
/// the pose gives the matrix again, to 1e-4 of the largest element of its left upper 3x3 part; false: `MICA_INVALID` if
/// either is missing. O(1), any thread.
MICA_API bool mica_transform_from_matrix(const float matrix[16], mica_transform *transform);

MICA_END
