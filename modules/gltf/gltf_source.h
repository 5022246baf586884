// The bytes of a glTF file, from the disk or from memory, and where in them the JSON text is.
#pragma once

#include "gltf_report.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct mi_gltf_source {
    FILE *file; // NULL: `bytes`
    const unsigned char *bytes;
    uint64_t byte_size;
    uint64_t json_begin; // what of the JSON text is still to be read
    uint64_t json_end;
    int read_error; // errno of a read that failed, -1 for a file that became shorter, 0 for none
} mi_gltf_source;

// Opens a file that can be sought. On failure there is nothing to close.
mica_result mi_gltf_source_open(mi_gltf_source *source, const char *path, mi_gltf_report *report);

// Reads from memory, which must stay as it is until the source is closed.
void mi_gltf_source_open_memory(mi_gltf_source *source, const void *bytes, size_t byte_size);

void mi_gltf_source_close(mi_gltf_source *source);

// Finds the JSON text: the first chunk of a binary container, or else the whole file. O(1).
mica_result mi_gltf_source_find_json(mi_gltf_source *source, mi_gltf_report *report);

// Reads on in the JSON text; the shape of jansson's `json_load_callback_t`. Returns 0 at the end and after an error.
size_t mi_gltf_source_read_json(void *buffer, size_t byte_size, void *source);
