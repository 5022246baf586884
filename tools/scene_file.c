// Loading scenes by content: each format has its module, which says what is wrong with a file and where. A file that is
// of no format is looked at once more, to say whether it is JSON at all.
#include "scene_file.h"

#include "say.h"
#include "scene_format.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool load_gltf(scene_file *scene, mica_world *world, const char *path) {
    const mica_gltf_options options = {.log = say_warnings()};
    if (mica_gltf_load(world, path, &options, &scene->gltf) != MICA_OK) {
        say("%s", scene->gltf.message);
        return false;
    }
    scene->entities = scene->gltf.entities;
    scene->count = scene->gltf.node_count;
    return true;
}

static bool load_saved(scene_file *scene, mica_world *world, const char *path) {
    const mica_save_options options = {.log = say_warnings()};
    if (mica_scene_load(world, path, &options, &scene->saved) != MICA_OK) {
        say("%s", scene->saved.message);
        return false;
    }
    scene->entities = scene->saved.entities;
    scene->count = scene->saved.entity_count;
    return true;
}

static void say_no_format(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        say("%s: line %d, column %d: %s; expected a scene: glTF 2.0, or JSON of Mica", path, error.line, error.column,
            error.text);
    } else {
        say("%s: /: expected a member \"asset\" (a scene of glTF 2.0) or \"mica\" (one of Mica)", path);
    }
    json_decref(root);
}

bool scene_file_load(scene_file *scene, mica_world *world, const char *path) {
    *scene = (scene_file){0};
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        say("%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    // The loaders open the file again, which a pipe does not survive.
    const bool is_sought = fseek(file, 0, SEEK_SET) == 0;
    const scene_format format = is_sought ? scene_format_of(file) : SCENE_FORMAT_NONE;
    const int error = !is_sought || ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (error != 0) {
        say("%s: cannot be %s: %s", path, is_sought ? "read" : "sought, as a regular file can", strerror(error));
        return false;
    }
    switch (format) {
    case SCENE_FORMAT_GLTF:
        return load_gltf(scene, world, path);
    case SCENE_FORMAT_MICA:
        return load_saved(scene, world, path);
    case SCENE_FORMAT_NONE:
        break;
    }
    say_no_format(path);
    return false;
}

void scene_file_release(scene_file *scene) {
    mica_gltf_scene_release(&scene->gltf);
    mica_saved_scene_release(&scene->saved);
    *scene = (scene_file){0};
}
