// Looking at a state, be it a world's own or a snapshot's: sets of rows with handles and columns of values.
//
// A *set* is a table or a pool. Its rows are numbered; they lie in chunks of 1 << shift, of which the last one may have
// fewer. Those who read states (checksums, comparisons) see both kinds of state through the functions here alone.
#pragma once

#include "state/state.h"

typedef struct mi_view {
    const mica_schema *schema;
    const mica_world *world;       // one of these two
    const mica_snapshot *snapshot; // is there
    uint32_t set_count;
    bool leaves_transient; // the snapshot holds no values of transient types
} mi_view;

// What walks have written to copies must be settled (mi_world_settle_all).
mi_view mi_view_of_world(const mica_world *world);
mi_view mi_view_of_snapshot(const mica_snapshot *snapshot);

typedef struct mi_view_set {
    const mi_table *table;            // one of
    const mi_pool *pool;              // these three
    const mi_rows_image *image;       // is there
    const mi_rows_image *base;        // what a world's rows may equal: the image in its base; NULL
    const mica_component *components; // ascending
    uint32_t component_count;
    uint32_t column_count; // of components with data whose values are there
    uint32_t row_count;    // tombstones included
    uint32_t dead_count;   // tombstones: their handles are placeholders
    uint32_t dead_head;    // if there are any
    uint32_t shift;
    bool is_pool;
} mi_view_set;

// Set number `index`. False: there are no rows.
bool mi_view_find_set(const mi_view *view, uint32_t index, mi_view_set *set);
const mi_type *mi_view_column_type(const mi_view_set *set, uint32_t column);
// The number of a component's column; UINT32_MAX: none.
uint32_t mi_view_find_column(const mi_view_set *set, mica_component component);

// Rows of one chunk that follow each other.
typedef struct mi_view_rows {
    uint32_t chunk_index;
    uint32_t first; // in the chunk
    uint32_t count;
} mi_view_rows;

static inline uint32_t mi_view_chunk_count(const mi_view_set *set) {
    return ((set->row_count - 1) >> set->shift) + 1;
}
// All rows of a chunk.
static inline mi_view_rows mi_view_chunk(const mi_view_set *set, uint32_t chunk_index) {
    const uint32_t left = set->row_count - (chunk_index << set->shift);
    const uint32_t full = 1u << set->shift;
    return (mi_view_rows){.chunk_index = chunk_index, .count = left < full ? left : full};
}
// One row by its number.
static inline mi_view_rows mi_view_row(const mi_view_set *set, uint32_t row) {
    return (mi_view_rows){.chunk_index = row >> set->shift, .first = row & ((1u << set->shift) - 1), .count = 1};
}

const mica_entity *mi_view_handles(const mi_view *view, const mi_view_set *set, mi_view_rows rows);
// The values of rows, one behind the other: where they lie, or in `aside`, which has room for them, if they lie apart.
const void *mi_view_values(const mi_view *view, const mi_view_set *set, uint32_t column, mi_view_rows rows,
                           void *aside);
// Whether mi_view_values needs `aside`.
static inline bool mi_view_lies_apart(const mi_view_set *set, uint32_t column) {
    return set->table != NULL && mi_type_in_lanes(set->table->columns[column].type);
}

// The image that the handles of a chunk, or its values in a column, are in, or are known to equal; NULL: none.
mi_image *mi_view_handles_image(const mi_view *view, const mi_view_set *set, uint32_t chunk_index);
mi_image *mi_view_values_image(const mi_view *view, const mi_view_set *set, uint32_t column, uint32_t chunk_index);

// Slots: `generation << 32` of those that are alive, and what slots.h says of those that are free. Those from
// mi_view_slot_end on were never used; number 0 never is.
uint32_t mi_view_slot_end(const mi_view *view);
uint64_t mi_view_slot(const mi_view *view, uint32_t index);
// Numbers of the entity index: how many are alive, where free ones begin, how many handles were issued.
typedef struct mi_view_slots {
    uint32_t alive;
    uint32_t free_head;
    uint64_t issued;
} mi_view_slots;
mi_view_slots mi_view_slot_numbers(const mi_view *view);

// A set of marks.
typedef struct mi_view_marks {
    mi_marks_kind kind;
    mica_component component; // of MI_MARKS_TOGGLED
    uint32_t count;
    const mi_marks *marks;       // one of
    const mi_marks_image *image; // these is there
} mi_view_marks;

// Sets of marks are numbered; false: this one has no members.
uint32_t mi_view_marks_count(const mi_view *view);
bool mi_view_find_marks(const mi_view *view, uint32_t number, mi_view_marks *marks);
// The index of the next entity that is marked; UINT32_MAX: there is none. The cursor starts as 0.
uint32_t mi_view_next_marked(const mi_view_marks *marks, uint32_t *cursor);

// A part of the state: its record, which is the snapshot's own, or written now.
typedef struct mi_view_part {
    const mi_part *part; // NULL: the world's extension of this number has none
    const mi_record *record;
    mi_record written;
} mi_view_part;

uint32_t mi_view_part_count(const mi_view *view);
// To be closed in any case. Anything but MICA_OK: MICA_OUT_OF_MEMORY, or MICA_NO_COPY with the type.
mica_result mi_view_open_part(const mi_view *view, uint32_t number, mi_view_part *part, const mi_type **refused);
void mi_view_close_part(mi_view_part *part);
