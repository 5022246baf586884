// What a snapshot is made of.
//
//   snapshot -> rows images (a table's or a pool's each) -> chunk images -> images of columns
//
// Each of these is immutable, has a reference count, and is shared with the snapshot before it wherever nothing below
// it has changed. A table's chunk image is of a chunk; a pool's is of the positions of a page (of 1 << shift, also
// where values are packed), with its handles and, unless the component is a tag, one column. So whoever reads snapshots
// (checksums, deltas, comparisons) sees tables and pools alike: sets of entities with columns of values beside them.
//
// A chunk image may use less than its images hold: rows that went from the end leave the column as it was. Only the
// first `row_count` values of each count.
#pragma once

#include "state/epochs.h"
#include "state/image.h"
#include "world/world.h"

#include <mica/snapshot.h>

typedef struct mi_column_image {
    mi_image *image;
    uint64_t version; // the column's stamp, without the mark of its name
} mi_column_image;

typedef struct mi_chunk_image {
    uint32_t reference_count;
    uint32_t row_count;
    uint32_t column_count;
    mi_column_image handles;
    mi_column_image columns[]; // of the components with data, in ascending order of their ids
} mi_chunk_image;

typedef struct mi_rows_image {
    mi_vault *vault; // holds no reference: the snapshot does
    uint64_t number; // never 0, and no image's or other rows': pools name their rows by it (store/pool.h)
    uint32_t reference_count;
    uint32_t row_count; // of a pool: positions, tombstones included
    uint8_t shift;      // chunk k holds the rows from k << shift on
    bool is_pool;
    // Of a stable pool, as in store/pool.h: tombstones stand among the handles, with the reserved generation.
    uint32_t dead_count;
    uint32_t dead_head;
    uint32_t column_count;
    uint32_t component_count;   // of a pool: 1
    mica_component *components; // ascending
    const mi_type **columns;    // the types of those with data, ascending
    uint32_t chunk_count;
    mi_chunk_image *chunks[];
} mi_rows_image;

// The entity index, as far as it does not follow from rows: by slot, `generation << 32` of those that are alive and
// what slots.h says of those that are free and of those never used. No slots wait. Pages of slots are shared.
typedef struct mi_slot_page {
    uint32_t reference_count;
    uint64_t slots[1u << MI_SLOT_PAGE_SHIFT];
} mi_slot_page;

typedef struct mi_slots_image {
    uint32_t reference_count;
    uint32_t used;
    uint32_t free_head;
    uint32_t alive;
    uint32_t retired;
    uint32_t last_count;
    uint64_t issued;
    uint32_t page_count;
    mi_slot_page *pages[];
} mi_slots_image;

static inline uint64_t mi_slots_image_at(const mi_slots_image *image, uint32_t index) {
    return image->pages[index >> MI_SLOT_PAGE_SHIFT]->slots[index & ((1u << MI_SLOT_PAGE_SHIFT) - 1)];
}

// Who is in a set of marks.
typedef enum mi_marks_kind { MI_MARKS_DISABLED, MI_MARKS_KILLED, MI_MARKS_TOGGLED } mi_marks_kind;

typedef struct mi_marks_image {
    uint32_t reference_count;
    mi_marks_kind kind;
    mica_component component; // of MI_MARKS_TOGGLED
    uint32_t count;
    uint32_t indices[]; // ascending
} mi_marks_image;

// What a part has written.
typedef struct mi_part_image {
    uint32_t reference_count;
    const mi_part *part;
    mi_record record;
} mi_part_image;

struct mica_snapshot {
    uint32_t reference_count;
    mi_vault *vault;            // holds a reference; its schema is the snapshot's
    uint64_t version;           // the world's
    uint64_t origin;            // which world it was taken of (state.h); 0: none
    mi_epochs *epochs;          // whose handles were good when it was taken: these,
    mi_epoch_range epoch_range; // and those
    mi_slots_image *slots;
    mi_rows_image **tables; // those with rows, in canonical order
    uint32_t table_count;
    mi_rows_image **pools; // those with positions, in canonical order
    uint32_t pool_count;
    mi_marks_image **marks; // those with members: disabled, killed, then toggled in canonical order
    uint32_t mark_count;
    mi_part_image **parts; // in order of saving
    uint32_t part_count;
    bool leaves_transient;   // columns of transient types are not in it
    bool is_made;            // of bytes, which may say anything: parts check it before it is restored
    bool keeps_versions;     // versions are those of the world that it is made for, where history goes on
    struct mi_state *states; // of the worlds whose columns name its images: see state.h
};

// An empty one with one reference, to be filled in; NULL: out of memory.
mica_snapshot *mi_snapshot_create(mi_vault *vault);
// As mica_snapshot_take; `call` is for messages.
mica_snapshot *mi_snapshot_take(mica_world *world, bool leaves_transient, const char *call);
// Bytes of all that a snapshot has, or of what no other one shares alone. O(columns of all chunks).
size_t mi_snapshot_byte_size(const mica_snapshot *snapshot, bool own);
// MICA_OK, or MICA_LOCKED set for `call`: structure is locked, or a system is running.
mica_result mi_world_check_still(mica_world *world, const char *call);
