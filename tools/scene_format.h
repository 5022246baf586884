// Which of the formats a scene is written in.
#pragma once

#include <stdio.h>

typedef enum scene_format { SCENE_FORMAT_NONE, SCENE_FORMAT_GLTF, SCENE_FORMAT_MICA } scene_format;

// Looks at the content, whatever the file's name: a binary container of glTF begins with "glTF"; of JSON objects a glTF
// document has a member "asset", a scene of Mica a member "mica". Reads from the start as far as needed. None if there
// is neither, or the file cannot be read (ferror tells).
scene_format scene_format_of(FILE *file);
