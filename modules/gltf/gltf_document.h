// The nodes of a glTF 2.0 file as plain data, checked: a forest in which every index and number can be used as it is.
#pragma once

#include "gltf_report.h"

#include <mica/transform.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a node can refer to.
typedef enum mi_gltf_kind {
    MI_GLTF_MESH,
    MI_GLTF_CAMERA,
    MI_GLTF_SKIN,
    MI_GLTF_LIGHT, // Of the extension KHR_lights_punctual.
    MI_GLTF_KIND_COUNT
} mi_gltf_kind;

typedef struct mi_gltf_node {
    const char *name;    // UTF-8 of any length; NULL: none.
    int32_t parent;      // -1: none.
    int32_t first_child; // Where its children begin in the document's `children`.
    int32_t child_count;
    int32_t references[MI_GLTF_KIND_COUNT]; // Index of the object of each kind; -1: none.
    mica_transform pose;                    // Local, finite, with a rotation of length 1.
    bool shown;                             // Belongs to the scene that the file shows.
} mi_gltf_node;

// The names of the meshes, cameras, skins or lights, by index; NULL where one has none.
typedef struct mi_gltf_names {
    const char **names;
    int32_t count; // 0 also if no node refers to an object of the kind.
} mi_gltf_names;

typedef struct mi_gltf_document {
    mi_gltf_node *nodes; // In the order of the file.
    int32_t node_count;
    int32_t shown_count;
    int32_t *children; // The children of all nodes, each node's together and in the order of the file.
    int32_t *order;    // All nodes, every one after its parent.
    mi_gltf_names names[MI_GLTF_KIND_COUNT];
    struct mi_gltf_text *texts;                 // Where the names are.
    void *(*allocate_memory)(size_t byte_size); // jansson's functions when the document was read
    void (*free_memory)(void *memory);
} mi_gltf_document;

// Reads a glTF 2.0 file, text or binary container (decided by its content).
//
// Read are the asset, the scenes, the nodes, and the names of what nodes refer to; everything else may be missing or
// broken. Shown are the nodes that hang below the scene named by "scene", or below scene 0 if it names none; in a file
// without scenes, all. A matrix is taken apart; a quaternion that is not of unit length is made so. Warned about are
// shear, such quaternions, extensions that are not read, and nodes left out of the scene shown.
//
// On failure the report says why, and the document is empty: MICA_IO for a file that cannot be read, MICA_FORMAT for
// what is no glTF, MICA_CYCLE for nodes below themselves, MICA_UNSUPPORTED for other versions of glTF, MICA_LIMIT,
// MICA_OUT_OF_MEMORY. Costs O(size of the JSON text); memory comes from jansson's allocation functions.
mica_result mi_gltf_document_read_file(mi_gltf_document *document, const char *path, mi_gltf_report *report);

// The same from memory.
mica_result mi_gltf_document_read_memory(mi_gltf_document *document, const void *bytes, size_t byte_size,
                                         mi_gltf_report *report);

// Frees what a document holds, and leaves it empty. An empty document (zeroes) is allowed.
void mi_gltf_document_release(mi_gltf_document *document);

// Where a file has its objects of a kind: a JSON pointer without its first slash.
const char *mi_gltf_list_of(mi_gltf_kind kind);
