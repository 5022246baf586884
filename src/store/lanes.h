// Lanes: the layout of a component whose fields lie apart, an array a field.
//
// In a chunk the component still is one column, with one head in front of it and one stamp; its lanes follow each other
// there, in the order of the fields:
//
//   [head][lane ... ][gap][lane ... ][gap][lane ... ]
//         ^ the column
//
// Every lane starts at a multiple of MI_LANE_ALIGN bytes, and MI_LANE_ALIGN bytes further on than its share of the
// chunk alone would put it: lanes of a power of two of rows would otherwise lie whole pages apart, where a processor
// takes a load of one for what was just stored to another, and where all of them want the same lines of its cache.
//
// A value is whole only while somebody has it in hands. The bytes between its fields are in no lane: they are zeros in
// every value that is read.
#pragma once

#include "store/refusal.h"
#include "store/schema.h"

// Room for one value of any type in lanes.
typedef struct mi_lanes_value {
    _Alignas(MICA_LANES_ALIGN_MAX) uint8_t bytes[MICA_LANES_SIZE_MAX];
} mi_lanes_value;

// Looks up a type by its name for a field; NULL: there is none. `context` is the caller's.
typedef const mi_type *(*mi_type_search)(const void *context, const char *name, size_t length);

// Finds the lanes of a new type that asks for them and whose traits are checked. The types of its fields must be known
// by now. False with the refusal: its fields are not known, disagree with its size, or memory is out.
bool mi_lanes_declare(mi_heap *heap, const mica_type *declared, mi_type_search search, const void *context,
                      mi_type *type, mi_refusal *refusal);

// Every lane starts at a multiple of so many bytes.
#define MI_LANE_ALIGN 64u

// Where a lane starts in a column for `room` rows, and the bytes of all.
static inline size_t mi_lane_start(const mi_type *type, uint32_t lane, uint32_t room) {
    const size_t share = (size_t)type->lanes.data[lane].before * room;
    return ((share + MI_LANE_ALIGN - 1) & ~(size_t)(MI_LANE_ALIGN - 1)) + (size_t)lane * MI_LANE_ALIGN;
}
size_t mi_lanes_byte_size(const mi_type *type, uint32_t room);

// The lane of the field at this byte of a value; UINT32_MAX: no field of `size` bytes begins there.
static inline uint32_t mi_lanes_find(const mi_type *type, uint32_t offset, uint32_t size) {
    for (uint32_t i = 0; i < type->lanes.count; i++) {
        if (type->lanes.data[i].offset == offset && type->lanes.data[i].size == size) {
            return i;
        }
    }
    return UINT32_MAX;
}

// Make `count` whole values of what rows from `row` on have, and the other way round (`values` NULL: zeros). `column`
// is for `room` rows.
void mi_lanes_read(const mi_type *type, uint32_t room, const uint8_t *column, uint32_t row, void *values,
                   uint32_t count);
void mi_lanes_write(const mi_type *type, uint32_t room, uint8_t *column, uint32_t row, const void *values,
                    uint32_t count);

// Rows of a column, and their number of rows as above.
typedef struct mi_lanes_rows {
    uint8_t *column;
    uint32_t room;
    uint32_t row; // the first
} mi_lanes_rows;

// Copies the values of `count` rows, which overlap nowhere.
void mi_lanes_copy_rows(const mi_type *type, mi_lanes_rows to, mi_lanes_rows from, uint32_t count);

// Where byte `offset` of a column for `from_room` rows stands in one for `to_room`.
size_t mi_lanes_moved_offset(const mi_type *type, uint32_t to_room, uint32_t from_room, size_t offset);
