/// \file gltf.h
/// Scenes of glTF 2.0: one entity for each node of a file.
///
/// Read are nodes, scenes, and the names of meshes, cameras, skins and punctual lights; geometry, materials and
/// animations are not, and may be missing or broken. What a node refers to becomes a component with the object's index
/// in the file and its name, by which a renderer finds the rest.
#pragma once

#include <mica/entity.h>
#include <mica/result.h>
#include <mica/type.h>
#include <mica/world.h>

/// Bytes of an object's name in a component, the closing zero included. A longer name is cut between two characters.
#define MICA_GLTF_NAME_SIZE 56
/// Bytes of a message about a file, the closing zero included.
#define MICA_GLTF_MESSAGE_SIZE 512

/// The mesh of a node: its index in the file's "meshes", and its name ("" if it has none). Named "Mesh" in files.
MICA_STRUCT_NAMED(mica_mesh_ref, "Mesh", {
    int32_t index;
    char name[MICA_GLTF_NAME_SIZE];
});

/// The camera of a node, as `mica_mesh_ref`. Named "Camera" in files.
MICA_STRUCT_NAMED(mica_camera_ref, "Camera", {
    int32_t index;
    char name[MICA_GLTF_NAME_SIZE];
});

/// The skin of a node, as `mica_mesh_ref`. Named "Skin" in files.
MICA_STRUCT_NAMED(mica_skin_ref, "Skin", {
    int32_t index;
    char name[MICA_GLTF_NAME_SIZE];
});

/// The light of a node (extension KHR_lights_punctual), as `mica_mesh_ref`. Named "Light" in files.
MICA_STRUCT_NAMED(mica_light_ref, "Light", {
    int32_t index;
    char name[MICA_GLTF_NAME_SIZE];
});

MICA_BEGIN

/// How a file is loaded. Zero is the default everywhere.
typedef struct mica_gltf_options {
    /// Receives the file's warnings (level warning): a matrix with shear, of which the nearest pose is taken; a
    /// quaternion that is not of unit length and is scaled; extensions that are not read; nodes left out; cut names. At
    /// most 32 a file. And why a load failed (level error). A zero handler drops both.
    mica_log_handler log;
} mica_gltf_options;

/// What was loaded.
typedef struct mica_gltf_scene {
    mica_entity *entities; ///< by index of the node in the file; null for nodes that do not belong to the scene shown
    int32_t node_count;
    int32_t entity_count;                 ///< how many of `entities` are not null
    char message[MICA_GLTF_MESSAGE_SIZE]; ///< why the load failed, with file, place and what was expected; "" otherwise
    void (*release)(void *memory);        ///< the module's own
} mica_gltf_scene;

/// Loads a file, text (.gltf) or binary container (.glb), whichever its content is, into `world`: for each node of the
/// scene shown one entity with `mica_transform` (and so `mica_world_transform`, not yet resolved), `mica_name` if the
/// node has a name, and one of the components above for each thing it refers to. Children are linked in the order of
/// the file. Shown is the scene that the file names, or else the first; in a file without scenes, all nodes.
///
/// On success `scene` is to be released. On failure it holds nothing but the message, and the world is as it was but
/// for types that have become known. Refuses: `MICA_IO` (cannot be read), `MICA_FORMAT` (malformed: no glTF, an index
/// out of range, a node with two parents), `MICA_CYCLE` (a node below itself), `MICA_UNSUPPORTED` (another version than
/// 2.x), `MICA_LIMIT`, `MICA_INVALID` (no world, path or scene), `MICA_OUT_OF_MEMORY`, and as `mica_entity_spawn_many`.
/// Structural (world.h). O(size of the JSON text); memory for it is taken from jansson's allocation functions.
MICA_API mica_result mica_gltf_load(mica_world *world, const char *path, const mica_gltf_options *options,
                                    mica_gltf_scene *scene);

/// The same from memory. `label` stands for the file's name in messages; NULL: "memory".
MICA_API mica_result mica_gltf_load_memory(mica_world *world, const void *bytes, size_t byte_size, const char *label,
                                           const mica_gltf_options *options, mica_gltf_scene *scene);

/// Frees what a scene holds and leaves it empty; the entities stay. An empty scene (zeroes) is allowed. O(1).
MICA_API void mica_gltf_scene_release(mica_gltf_scene *scene);

MICA_END
