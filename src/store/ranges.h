// Which bytes of a value count: those of its fields, never padding, and of a text those in front of its closing zero.
//
// A value's *canonical* bytes are as many as it has, with everything that does not count set to zero: equal values have
// equal canonical bytes, whatever stood in between. Of a type whose fields are not known all bytes count.
#pragma once

#include "store/schema.h"

#include <string.h>

// Bytes that count and follow each other.
typedef struct mi_range {
    uint32_t offset;
    uint32_t byte_size;
    bool is_text; // they hold one text: those from its closing zero on do not count
} mi_range;

// Immutable. Ascending; ranges of bytes never touch each other.
typedef struct mi_ranges {
    bool is_whole; // all bytes count; then the list is empty
    uint32_t count;
    mi_range *data;
} mi_ranges;

// Whether all bytes of a type of which this is said count because its fields are not known.
extern const mi_ranges mi_ranges_unknown;

// What counts of a type's values; &mi_ranges_unknown: its fields are not known (yet: a further type may tell). NULL:
// out of memory, which can happen the first time alone. After that O(1), without a lock, and the same for good. Of tags
// and enumerations all bytes count.
const mi_ranges *mi_type_ranges(const mica_schema *schema, const mi_type *type);

// Fills in what counts of a struct out of its fields, whose nested types are known. False: out of memory.
bool mi_ranges_find(mi_heap *heap, const mica_schema *schema, const mi_type *type, const mica_field *fields,
                    uint32_t field_count, mi_ranges *ranges);
void mi_ranges_free(mi_heap *heap, mi_ranges *ranges);

// Writes the canonical bytes of `count` values of `size` bytes that follow each other. The two do not overlap.
void mi_ranges_copy(const mi_ranges *ranges, uint32_t size, void *to, const void *from, uint32_t count);

// Whether two values are equal, as far as it counts. O(bytes).
static inline bool mi_ranges_equal(const mi_ranges *ranges, uint32_t size, const void *a, const void *b);

// The offset of the first byte that counts in which two values differ; UINT32_MAX: they are equal.
uint32_t mi_ranges_difference(const mi_ranges *ranges, uint32_t size, const void *a, const void *b);

static inline bool mi_ranges_equal(const mi_ranges *ranges, uint32_t size, const void *a, const void *b) {
    return memcmp(a, b, size) == 0 || (!ranges->is_whole && mi_ranges_difference(ranges, size, a, b) == UINT32_MAX);
}
