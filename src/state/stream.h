// What deltas are packed from: sets of numbers, numbers by place, and values by place, each as streams of bytes.
//
// Everything is little-endian. A varint has 7 bits a byte, the low ones first, and the highest bit set in all bytes but
// the last. docs/delta-format.md describes each kind byte by byte.
//
// Writers fail once and for all when memory is out, which is seen at the end. Readers trust nothing: what is not as a
// writer would have written it makes them fail, and they never read beyond their bytes. They allocate nothing.
#pragma once

#include <mica/result.h>

#include "base/array.h"

// Bytes that grow.
typedef struct mi_bytes {
    mi_heap *heap;
    MI_ARRAY(uint8_t) array;
    mica_result result; // MICA_OK, MICA_OUT_OF_MEMORY, or MICA_LIMIT: over MI_BYTES_MAX
} mi_bytes;

#define MI_BYTES_MAX ((size_t)INT32_MAX)

static inline mi_bytes mi_bytes_in(mi_heap *heap) {
    return (mi_bytes){.heap = heap};
}
void mi_bytes_free(mi_bytes *bytes);
// Forgets what was written, and keeps the memory; a failure stays.
static inline void mi_bytes_clear(mi_bytes *bytes) {
    bytes->array.count = 0;
}
// Makes room for further bytes and returns where they go; NULL: failed. They are not counted as written.
uint8_t *mi_bytes_open(mi_bytes *bytes, size_t byte_size);
void mi_bytes_put(mi_bytes *bytes, const void *data, size_t byte_size);
void mi_bytes_put_u8(mi_bytes *bytes, uint8_t number);
void mi_bytes_put_u32(mi_bytes *bytes, uint32_t number);
void mi_bytes_put_u64(mi_bytes *bytes, uint64_t number);
void mi_bytes_put_varint(mi_bytes *bytes, uint64_t number);
// The length as a varint, then the bytes of `other`, whose failure is taken over.
void mi_bytes_put_stream(mi_bytes *bytes, const mi_bytes *other);

// Bytes that are read from the front.
typedef struct mi_source {
    const uint8_t *at;
    const uint8_t *end;
    bool is_broken; // what was to be read is not there; from then on everything is 0
} mi_source;

static inline mi_source mi_source_of(const void *bytes, size_t byte_size) {
    const uint8_t *at = bytes;
    return (mi_source){.at = at, .end = at == NULL ? NULL : at + byte_size};
}
static inline bool mi_source_at_end(const mi_source *source) {
    return !source->is_broken && source->at == source->end;
}
static inline uint64_t mi_source_break(mi_source *source) {
    source->is_broken = true;
    source->at = source->end;
    return 0;
}
// The next bytes; NULL: there are not so many.
const uint8_t *mi_source_take(mi_source *source, uint64_t byte_size);
uint8_t mi_source_u8(mi_source *source);
uint32_t mi_source_u32(mi_source *source);
uint64_t mi_source_u64(mi_source *source);
uint64_t mi_source_varint_slowly(mi_source *source);
static inline uint64_t mi_source_varint(mi_source *source) {
    return MICA_LIKELY(source->at < source->end && *source->at < 0x80) ? *source->at++
                                                                       : mi_source_varint_slowly(source);
}
// A varint that is at most `most`.
uint64_t mi_source_number(mi_source *source, uint64_t most);
// A stream, as mi_bytes_put_stream has written it.
mi_source mi_source_stream(mi_source *source);

// Negative and positive differences, the small ones as small numbers.
static inline uint64_t mi_zigzag(uint64_t difference) {
    return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}
static inline uint64_t mi_unzigzag(uint64_t number) {
    return number >> 1 ^ (uint64_t) - (int64_t)(number & 1);
}

// Sets of 32-bit numbers below UINT32_MAX, in runs.

typedef struct mi_set_writer {
    mi_bytes runs;
    uint32_t count;
    uint32_t run_first; // of the run that is open
    uint32_t run_end;   // 0: none is
    uint32_t last_end;  // of the run before
} mi_set_writer;

static inline mi_set_writer mi_set_writer_in(mi_heap *heap) {
    return (mi_set_writer){.runs = mi_bytes_in(heap)};
}
// Members come in ascending order.
void mi_set_add_run(mi_set_writer *set, uint32_t member, uint32_t count);
static inline void mi_set_add(mi_set_writer *set, uint32_t member) {
    if (set->run_end == member && member != 0) {
        set->run_end++;
        set->count++;
    } else {
        mi_set_add_run(set, member, 1);
    }
}
// Writes the set behind `to` and frees or clears the writer, which can be used again after clearing.
void mi_set_finish(mi_set_writer *set, mi_bytes *to);
void mi_set_writer_free(mi_set_writer *set);

typedef struct mi_set {
    mi_source runs;
    uint32_t count;
} mi_set;

// Reads a set all through; the source breaks if it is not one.
mi_set mi_source_set(mi_source *source);

// Where a walk over a set is.
typedef struct mi_set_walk {
    mi_source runs;
    uint64_t end;  // of the run
    uint64_t next; // member, if it is below `end`
    bool is_first;
} mi_set_walk;

static inline mi_set_walk mi_set_walk_of(const mi_set *set) {
    return (mi_set_walk){.runs = set->runs, .is_first = true};
}
bool mi_set_next_run(mi_set_walk *walk);
// The next member; false: there are no more.
static inline bool mi_set_next(mi_set_walk *walk, uint32_t *member) {
    if (walk->next == walk->end && !mi_set_next_run(walk)) {
        return false;
    }
    *member = (uint32_t)walk->next++;
    return true;
}

// Several sets beside each other: stretches of numbers that are in the same ones of them.
enum { MI_SWEEP_MAX = 4 };

typedef struct mi_sweep {
    mi_set_walk walks[MI_SWEEP_MAX];
    uint64_t bounds[MI_SWEEP_MAX]; // where each set begins or ends next
    uint32_t count;
    uint64_t at;
    uint32_t members; // a bit for each set that has the numbers up to the next bound
} mi_sweep;

mi_sweep mi_sweep_of(const mi_set *const *sets, uint32_t count);
// The next stretch that is in one of the sets at least: `members` has a bit for each. False: there is none.
bool mi_sweep_next(mi_sweep *sweep, uint32_t *first, uint32_t *length, uint32_t *members);

// Numbers by place: a set of places, and for each of them a number other than 0.

typedef struct mi_numbers_writer {
    mi_set_writer places;
    mi_bytes numbers;
    uint64_t expected;
} mi_numbers_writer;

static inline mi_numbers_writer mi_numbers_writer_in(mi_heap *heap) {
    return (mi_numbers_writer){.places = mi_set_writer_in(heap), .numbers = mi_bytes_in(heap)};
}
// Places come in ascending order; a number of 0 is left out.
void mi_numbers_add(mi_numbers_writer *numbers, uint32_t place, uint64_t number);
void mi_numbers_finish(mi_numbers_writer *numbers, mi_bytes *to);
void mi_numbers_writer_free(mi_numbers_writer *numbers);

typedef struct mi_numbers {
    mi_set places;
    mi_source numbers;
} mi_numbers;

mi_numbers mi_source_numbers(mi_source *source);

typedef struct mi_numbers_walk {
    mi_set_walk places;
    mi_source numbers;
    uint64_t expected;
} mi_numbers_walk;

static inline mi_numbers_walk mi_numbers_walk_of(const mi_numbers *numbers) {
    return (mi_numbers_walk){.places = mi_set_walk_of(&numbers->places), .numbers = numbers->numbers};
}
bool mi_numbers_next(mi_numbers_walk *walk, uint32_t *place, uint64_t *number);

// Values of one size by place: of each the bytes that are not 0, and which they are, its *shape*.

enum { MI_SHAPE_NEW = 0, MI_SHAPE_WHOLE = 1, MI_SHAPE_FIRST = 2, MI_SHAPE_MAX = 254 };

typedef struct mi_values_writer {
    uint32_t size;
    mi_set_writer places;
    mi_bytes codes;
    mi_bytes shapes;
    mi_bytes data;
    mi_bytes shape; // of the value at hand
    uint32_t shape_count;
    uint32_t shape_ends[MI_SHAPE_MAX]; // in `shapes`, of those that have a code
    uint8_t found[512];                // by hash: the code of a shape; 0: none
} mi_values_writer;

mi_values_writer mi_values_writer_in(mi_heap *heap);
// Begins a set of values of another size; what was written is finished.
void mi_values_start(mi_values_writer *values, uint32_t size);
// `value` has room for 8 bytes beyond its size, rounded up to 8, which are 0. One that is all 0 is left out.
void mi_values_add(mi_values_writer *values, uint32_t place, const uint8_t *value);
void mi_values_finish(mi_values_writer *values, mi_bytes *to);
void mi_values_writer_free(mi_values_writer *values);

typedef struct mi_values {
    uint32_t size;
    mi_set places;
    mi_source codes;
    mi_source shapes;
    mi_source data;
} mi_values;

mi_values mi_source_values(mi_source *source, uint32_t size);

typedef struct mi_values_walk {
    uint32_t size;
    mi_set_walk places;
    mi_source codes;
    mi_source shapes;
    mi_source data;
    const uint8_t *shape; // of the value at hand; NULL: whole
    uint32_t shape_count;
    const uint8_t *known[MI_SHAPE_MAX];
} mi_values_walk;

void mi_values_walk_begin(mi_values_walk *walk, const mi_values *values);
// The next place; false: there are no more, or what comes is broken. Its value has to be taken before the next one.
bool mi_values_next(mi_values_walk *walk, uint32_t *place);
// Takes the value and exclusive-ors it into `to`, of `size` bytes; false: it is broken. NULL: it is skipped.
bool mi_values_take(mi_values_walk *walk, uint8_t *to);
