// Values that hooks write and read, by place: what they hold as bytes of any number, at both ends of a delta.
//
// A value that came, went or changed stands there with all that it holds at either end, since bytes of different
// numbers have no difference; so it leads both ways, and joins with what follows. docs/delta-format.md has the bytes.
// As in stream.h, writers fail once and for all, and readers trust nothing and allocate nothing.
#pragma once

#include "state/stream.h"

// What a value holds at one end.
typedef struct mi_told_end {
    const uint8_t *bytes;
    uint32_t byte_size;
    bool is_there;
} mi_told_end;

// A value at both ends: 0 of the base, 1 of the target.
typedef struct mi_told_value {
    mi_told_end ends[2];
} mi_told_value;

bool mi_told_ends_equal(const mi_told_end *a, const mi_told_end *b);

typedef struct mi_told_writer {
    mi_set_writer places;
    mi_bytes lengths;
    mi_bytes bytes[2]; // by end
} mi_told_writer;

static inline mi_told_writer mi_told_writer_in(mi_heap *heap) {
    return (mi_told_writer){.places = mi_set_writer_in(heap),
                            .lengths = mi_bytes_in(heap),
                            .bytes = {mi_bytes_in(heap), mi_bytes_in(heap)}};
}
// Places come in ascending order; a value that is the same at both ends is left out.
void mi_told_add(mi_told_writer *told, uint32_t place, const mi_told_value *value);
void mi_told_finish(mi_told_writer *told, mi_bytes *to);
void mi_told_writer_free(mi_told_writer *told);

typedef struct mi_told_values {
    mi_set places;
    mi_source lengths;
    mi_source bytes[2];
} mi_told_values;

// Reads them all through; the source breaks if they are none.
mi_told_values mi_source_told(mi_source *source);

typedef struct mi_told_walk {
    mi_set_walk places;
    mi_source lengths;
    mi_source bytes[2];
} mi_told_walk;

static inline mi_told_walk mi_told_walk_of(const mi_told_values *told) {
    return (mi_told_walk){
        .places = mi_set_walk_of(&told->places), .lengths = told->lengths, .bytes = {told->bytes[0], told->bytes[1]}};
}
// The next place and its value; false: there are no more, or what comes is broken.
bool mi_told_next(mi_told_walk *walk, uint32_t *place, mi_told_value *value);
