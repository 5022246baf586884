// What commands that work on a scene share: a world with plugins and a scene in it.
#pragma once

#include "arguments.h"
#include "plugin_loader.h"
#include "scene_file.h"

typedef struct session {
    mica_world *world;
    plugin_list plugins;
    scene_file scene;
} session;

// Reads a command's arguments, given defaults in `values`. When there is nothing more to do (help was asked for and
// given, or the usage is wrong, which was said), returns false with the exit code. `values` is to be released.
bool session_read_arguments(const command_syntax *syntax, int argc, char **argv, arguments *values, int *exit_code);

// Makes the world, loads the plugins, adds the system that resolves transforms, then loads the scene. False: one of
// them failed, which was said. To be closed in any case.
bool session_open(session *opened, const arguments *values);
// The same without a scene.
bool session_open_world(session *opened, const arguments *values);
void session_close(session *opened);
