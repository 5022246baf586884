// Images: what a column of a chunk, or a page of a pool, held at a moment. Snapshots share them by reference count.
//
// An image holds whole values, one behind the other, those of lanes too; of types with hooks they are copies made by
// the hooks. It never changes. Its number is good for good: no two images of a schema have the same. A column that
// equals an image names it by that number (store/stamp.h); the name is only compared with numbers of images that
// somebody holds, so a name of an image that is gone is no more than a name of nothing.
//
// Images, and all else of snapshots, lie in a *vault*, which belongs to all of them together and outlives the world
// that it was made for. A vault, its images and the snapshots in it are used by one thread at a time; only reading is
// free to all.
#pragma once

#include "base/bitset.h"
#include "base/region.h"
#include "store/table.h"

typedef struct mi_vault {
    mi_heap heap;
    mi_region *region; // of images; NULL until there is one
    mica_schema *schema;
    mica_allocator values; // for hooks: the heap
    uint32_t reference_count;
} mi_vault;

// With one reference; NULL: out of memory. Holds a reference to the schema.
mi_vault *mi_vault_create(const mica_allocator *allocator, mica_schema *schema);
mi_vault *mi_vault_retain(mi_vault *vault);
void mi_vault_release(mi_vault *vault);
// What lies in it. O(1).
size_t mi_vault_byte_size(const mi_vault *vault);

// Memory for what lies in the vault but is no image: aligned to 64 bytes, from the region. NULL: out of memory.
void *mi_vault_take(mi_vault *vault, size_t byte_size);
void mi_vault_give(mi_vault *vault, void *memory);

// What the first values of an image came to in a checksum, and what that was found by; see checksum.c.
typedef struct mi_image_note {
    uint32_t gate;     // mi_note_open
    uint32_t count;    // values; 0: nothing is noted
    uint64_t handles;  // the number of the image of the handles beside them
    const void *rules; // what counts of a value
    uint64_t sum;
} mi_image_note;

typedef struct mi_image {
    mi_vault *vault; // holds a reference
    uint64_t number; // never 0, below 1 << 48
    uint32_t reference_count;
    uint32_t count;      // values
    uint32_t size;       // bytes of a value
    const mi_type *type; // NULL: handles
    mi_image_note note;
    const uint64_t *live; // NULL: all values are there; else a bit each (tombstones of pools are not)
    uint8_t *data;        // aligned to 64 bytes or the type's alignment
} mi_image;

// An image with raw memory for `count` values, at least 1, to be filled in before anybody sees it; NULL: out of memory.
// It has one reference. `type` NULL: handles.
mi_image *mi_image_create(mi_vault *vault, const mi_type *type, uint32_t count);
// The same for values that own something: none is there, until it is noted that one was made in its place.
mi_image *mi_image_create_empty(mi_vault *vault, const mi_type *type, uint32_t count);
void mi_image_note_made(mi_image *image, uint32_t index);
// Ends a value of such an image, if it is there.
void mi_image_end_value(mi_image *image, uint32_t index);
// An image of `count` values that follow each other; those of handles too. `live` may be NULL. NULL: out of memory, or
// a copy hook failed.
mi_image *mi_image_take(mi_vault *vault, const mi_type *type, const void *values, uint32_t count, const uint64_t *live);
static inline mi_image *mi_image_retain(mi_image *image) {
    image->reference_count++;
    return image;
}
void mi_image_release(mi_image *image); // NULL is allowed

static inline uint8_t *mi_image_place(const mi_image *image, uint32_t index) {
    return image->data + (size_t)index * image->size;
}
static inline bool mi_image_has(const mi_image *image, uint32_t index) {
    return image->live == NULL || mi_bit_get(image->live, UINT32_MAX, index);
}
static inline const mica_entity *mi_image_handles(const mi_image *image) {
    return (const mica_entity *)(const void *)image->data;
}
