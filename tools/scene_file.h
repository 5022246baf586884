// A scene of either format, loaded.
#pragma once

#include <mica/gltf.h>
#include <mica/save.h>

#include <stdbool.h>

// `entities` by node: the index of the node in a glTF file (null for those that are not shown), the position in a scene
// of Mica.
typedef struct scene_file {
    const mica_entity *entities;
    int32_t count;
    mica_gltf_scene gltf;
    mica_saved_scene saved;
} scene_file;

// Loads a scene into the world; false: not, and why was said. To be released on success.
bool scene_file_load(scene_file *scene, mica_world *world, const char *path);
void scene_file_release(scene_file *scene);
