// Telling formats of scenes apart.
//
// The members of the outermost object are looked for without reading the JSON as a whole: only strings and brackets
// matter, so nothing is kept and nothing recurses. Whether the JSON is sound is the loaders' to say.
#include "scene_format.h"

#include <stdint.h>
#include <string.h>

enum { KEY_SIZE = 8 };

typedef struct scanner {
    FILE *file;
    int64_t depth;      // of brackets
    char key[KEY_SIZE]; // the latest string of the outermost object; one that is longer is cut
} scanner;

// Reads the rest of a string, and keeps it if it may be a key.
static void scan_string(scanner *scan) {
    char text[KEY_SIZE] = {0};
    size_t size = 0;
    for (int c = getc(scan->file); c != EOF && c != '"'; c = getc(scan->file)) {
        if (c == '\\') {
            c = getc(scan->file);
        }
        if (size < KEY_SIZE - 1) {
            text[size++] = (char)c;
        }
    }
    if (scan->depth == 1) {
        memcpy(scan->key, text, KEY_SIZE);
    }
}

static scene_format format_of_key(const char *key) {
    if (strcmp(key, "asset") == 0) {
        return SCENE_FORMAT_GLTF;
    }
    return strcmp(key, "mica") == 0 ? SCENE_FORMAT_MICA : SCENE_FORMAT_NONE;
}

static scene_format scan_members(FILE *file) {
    scanner scan = {.file = file};
    for (int c = getc(file); c != EOF; c = getc(file)) {
        if (c == '"') {
            scan_string(&scan);
        } else if (c == '{' || c == '[') {
            scan.depth++;
        } else if (c == '}' || c == ']') {
            scan.depth--;
        } else if (c == ':' && scan.depth == 1) {
            const scene_format format = format_of_key(scan.key);
            if (format != SCENE_FORMAT_NONE) {
                return format;
            }
        }
    }
    return SCENE_FORMAT_NONE;
}

scene_format scene_format_of(FILE *file) {
    char start[4] = {0};
    const size_t size = fread(start, 1, sizeof(start), file);
    if (size == sizeof(start) && memcmp(start, "glTF", sizeof(start)) == 0) {
        return SCENE_FORMAT_GLTF;
    }
    rewind(file);
    return scan_members(file);
}
