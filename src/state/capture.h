// Taking a snapshot: what its parts share while it is in the making.
#pragma once

#include "state/snapshot.h"

typedef struct mi_capture {
    mica_world *world;
    mi_vault *vault;
    const mica_snapshot *base; // whose images columns name; NULL: none
    bool leaves_transient;
    uint64_t latest;     // stamp of what had to be copied
    mica_result result;  // MICA_OK, or the first failure: MICA_OUT_OF_MEMORY, MICA_NO_COPY, MICA_LIMIT
    const mi_type *type; // which cannot be copied
} mi_capture;

// Notes a failure, unless there was one before; returns false.
bool mi_capture_fail(mi_capture *capture, mica_result result, const mi_type *type);

// What a column or page holds, and what it says of that.
typedef struct mi_captured_column {
    const mi_type *type; // NULL: handles
    uint32_t count;      // values, 1 or more
    const void *values;  // that follow each other; NULL: `gather` has them
    // Writes the values to raw memory one behind the other; for lanes.
    void (*gather)(const void *context, void *to);
    const void *gather_context;
    const uint64_t *live; // NULL: all are there
    uint64_t stamp;
    uint64_t name; // the number of the image that it equals if the stamp says so
} mi_captured_column;

// An image of a column, with a reference of its own: that of `base` (NULL: none) if the column names it and it is as
// long, else a new one. NULL: failed.
mi_image *mi_capture_column(mi_capture *capture, const mi_captured_column *column, const mi_column_image *base);

// Captures all pools, tables and so on into a snapshot that is being made; false: failed, and what was captured so far
// is released along with the snapshot.
bool mi_entities_capture(mi_capture *capture, mica_snapshot *snapshot); // index and marks
bool mi_pools_capture(mi_capture *capture, mica_snapshot *snapshot);
bool mi_tables_capture(mi_capture *capture, mica_snapshot *snapshot);
bool mi_parts_capture(mi_capture *capture, mica_snapshot *snapshot);

// With one reference and all pages NULL, or all indices to be filled in; NULL: out of memory.
mi_slots_image *mi_slots_image_create(mi_vault *vault, uint32_t used);
void mi_slots_image_release(mi_vault *vault, mi_slots_image *image);
mi_marks_image *mi_marks_image_create(mi_vault *vault, mi_marks_kind kind, mica_component component, uint32_t count);
void mi_marks_image_release(mi_vault *vault, mi_marks_image *image);
void mi_part_image_release(mi_vault *vault, mi_part_image *image);

// Memory of a rows image for so many components, columns and chunks, with a number of its own, one reference and all
// chunks NULL; NULL: out of memory. Releasing it releases its chunks.
mi_rows_image *mi_rows_image_create(mi_vault *vault, uint32_t component_count, uint32_t column_count,
                                    uint32_t chunk_count);
void mi_rows_image_release(mi_rows_image *rows);
// Likewise, all images NULL.
mi_chunk_image *mi_chunk_image_create(mi_vault *vault, uint32_t column_count);
void mi_chunk_image_release(mi_vault *vault, mi_chunk_image *chunk);
