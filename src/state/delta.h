// Deltas inside: what the bytes hold once they are read, and what those who write them share.
//
// The content is logical and has no direction: each thing that differs is keyed by the index of an entity's slot or by
// a position, and stands there as the exclusive-or of what it is at both ends, where what is not there counts as zeros.
// So one string serves both ways, and two of them make one by joining their keys. docs/delta-format.md has the bytes.
//
// A limited delta has the entities and components alone; an exact one all else.
#pragma once

#include "state/delta_sums.h"
#include "state/told.h"
#include "store/schema.h"

#include <mica/delta.h>

#define MI_DELTA_MAGIC "MDLT"
enum {
    MI_DELTA_FORMAT = 1,
    MI_DELTA_HEAD_SIZE = 24,
    MI_DELTA_SIZE_AT = 8,      // in the head: bytes of the whole
    MI_DELTA_CHECKSUM_AT = 16, // in the head: of all behind it, beginning with what is in front of it
};

enum {
    MI_DELTA_LIMITED = 1,
    MI_DELTA_WHOLE = 2,            // the base is the state of a world that was just made
    MI_DELTA_LEAVES_TRANSIENT = 4, // there are no values of transient types
    MI_DELTA_OF_ENTITIES = 8,      // it is limited to some entities
    MI_DELTA_FLAGS = 15
};

// Something at both ends.
typedef struct mi_ends {
    uint64_t base;
    uint64_t target;
} mi_ends;

static inline uint64_t mi_end_of(mi_ends ends, bool is_target) {
    return is_target ? ends.target : ends.base;
}

// What became of entities, each kind with the generations of their slots at both ends.
typedef enum mi_fate {
    MI_FATE_CREATED,
    MI_FATE_DESTROYED,
    MI_FATE_REPLACED, // another entity is in the slot
    MI_FATE_NOBODY,   // at neither end; exact deltas alone
    MI_FATE_COUNT
} mi_fate;

typedef struct mi_fates {
    mi_set slots;
    mi_source generations; // of each: the base's, then the difference of the target's
} mi_fates;

typedef struct mi_fates_walk {
    mi_set_walk slots;
    mi_source generations;
} mi_fates_walk;

static inline mi_fates_walk mi_fates_walk_of(const mi_fates *fates) {
    return (mi_fates_walk){.slots = mi_set_walk_of(&fates->slots), .generations = fates->generations};
}
bool mi_fates_next(mi_fates_walk *walk, uint32_t *slot, mi_ends *generations);

typedef struct mi_delta_component {
    const char *name;     // closed by zero
    bool is_told;         // hooks write and read its values, which have no size of their own
    uint32_t size;        // 0 if it is told
    uint32_t fields_hash; // 0: the fields are not known, or it is told
    mi_ends sums;
    mi_set added;
    mi_set removed;
    mi_values values;    // by slot, unless it is told
    mi_told_values told; // by slot
} mi_delta_component;

// The slots of the values that differ.
static inline const mi_set *mi_delta_places(const mi_delta_component *component) {
    return component->is_told ? &component->told.places : &component->values.places;
}

// Whether deltas leave out the values of a type, which stay as they are: they own something, no hooks write and read
// them, and nobody expects them to be sent.
static inline bool mi_delta_leaves(const mi_type *type) {
    return type->info.transient && mi_type_is_owning(type) && !mi_type_is_told(type);
}

// The rows of a table, or positions of a pool, of which something differs.
typedef struct mi_delta_rows {
    uint32_t first_key; // in `keys` of the delta: the numbers of its components, ascending
    uint32_t key_count;
    bool is_pool;
    mi_ends row_count;
    mi_ends dead_count;
    mi_ends dead_head;
    mi_numbers order;    // by position: what stands there
    mi_numbers versions; // by chunk, then the handles and each column
} mi_delta_rows;

// In `order`: a position is a tombstone.
#define MI_ORDER_DEAD (UINT64_C(1) << 32)

enum { MI_DELTA_MARK_DISABLED, MI_DELTA_MARK_KILLED, MI_DELTA_MARK_TOGGLED };

typedef struct mi_delta_marks {
    uint32_t kind; // from MI_DELTA_MARK_TOGGLED on: of that component, by number
    mi_set changed;
} mi_delta_marks;

typedef struct mi_delta_section {
    mi_ends sums;
    uint32_t hunk_count;
    mi_source hunks;
    mi_told_values values; // by number: their types' names, closed by zero, and what hooks tell of them
} mi_delta_section;

typedef struct mi_delta_part {
    const char *name; // closed by zero
    bool in_base;
    bool in_target;
    mi_delta_section sections[MI_SECTION_COUNT];
} mi_delta_part;

// Whether there is nothing in a section at either end.
static inline bool mi_section_is_void(const mi_delta_section *section) {
    return section->sums.base == 0 && section->sums.target == 0;
}

// Bytes of a section that others take the place of.
typedef struct mi_hunk {
    uint64_t kept; // bytes between the hunk before and this one
    uint32_t base_size;
    uint32_t target_size;
    const uint8_t *base;
    const uint8_t *target;
} mi_hunk;

// The next hunk of a section; false: there is none, or it is broken.
bool mi_hunk_next(mi_source *hunks, mi_hunk *hunk);

// What the sums of a state are of, beside its components and parts.
typedef struct mi_delta_sums {
    mi_ends entities; // generations and the free list
    mi_ends order;    // of rows and positions
    mi_ends versions;
    mi_ends marks;
} mi_delta_sums;

// A delta that has been read. Everything points into its bytes.
typedef struct mi_delta {
    mi_heap *heap;
    uint32_t flags;
    mi_set limit; // slots, if it is limited to entities
    mi_fates fates[MI_FATE_COUNT];
    MI_ARRAY(mi_delta_component) components; // by name
    // The rest is empty in limited deltas.
    mi_ends version;
    mi_ends used;
    mi_ends free_head;
    mi_numbers chain; // by slot: the next free slot
    MI_ARRAY(uint32_t) keys;
    MI_ARRAY(mi_delta_rows) rows;
    MI_ARRAY(mi_delta_marks) marks;
    MI_ARRAY(mi_delta_part) parts; // by name
    mi_delta_sums sums;
} mi_delta;

// Reads and checks a delta as far as that is possible without a world. Anything but MICA_OK: the error is set for
// `call`, and there is nothing to free.
mica_result mi_delta_read(mi_delta *delta, mi_heap *heap, const void *bytes, size_t byte_size,
                          const mica_log_handler *log, const char *call);
void mi_delta_free(mi_delta *delta);

static inline bool mi_delta_is_limited(const mi_delta *delta) {
    return (delta->flags & MI_DELTA_LIMITED) != 0;
}
// A number that stands for all sums of one end.
uint64_t mi_delta_end_sum(const mi_delta *delta, bool is_target);

// The state that a delta leads to, with a reference for the caller, built aside: `base` is the state that it leads
// from, which the world is in, or, of a whole delta, any state of the world. NULL: the error is set as by
// mica_delta_apply.
mica_snapshot *mi_delta_build(struct mica_world *world, const mica_snapshot *base, const void *bytes, size_t byte_size,
                              mica_delta_direction direction);

// As mica_delta_make, but that nothing stays out: values that mi_delta_leaves are refused if they differ.
mica_delta *mi_delta_make_complete(const mica_snapshot *from, const mica_snapshot *to);

// What was made.
struct mica_delta {
    mi_heap heap;
    mi_bytes bytes;
};

// Memory for a delta; NULL: out of memory.
mica_delta *mi_delta_open(const mica_allocator *allocator);

// Writing what stands in front of sets, numbers and values, which their own writers put.
void mi_delta_put_head(mi_bytes *bytes, uint32_t flags);
void mi_delta_put_ends(mi_bytes *bytes, mi_ends ends);
void mi_delta_put_sums(mi_bytes *bytes, mi_ends sums);
void mi_delta_put_component(mi_bytes *bytes, const mi_delta_component *component);
void mi_delta_put_rows(mi_bytes *bytes, const mi_delta_rows *rows, const uint32_t *keys);
// What stands in front of a part's sections, and of the hunks of one. The rest is left out where it is void.
void mi_delta_put_part(mi_bytes *bytes, const mi_delta_part *part);
// Puts size and checksum in place; MICA_OK or why bytes are missing.
mica_result mi_delta_finish(mi_bytes *bytes);

// Fates in the making.
typedef struct mi_fates_writer {
    mi_set_writer slots;
    mi_bytes generations;
} mi_fates_writer;

static inline mi_fates_writer mi_fates_writer_in(mi_heap *heap) {
    return (mi_fates_writer){.slots = mi_set_writer_in(heap), .generations = mi_bytes_in(heap)};
}
void mi_fates_add(mi_fates_writer *fates, uint32_t slot, mi_ends generations);
void mi_fates_finish(mi_fates_writer *fates, mi_bytes *to);
void mi_fates_writer_free(mi_fates_writer *fates);

// Hunks in the making.
typedef struct mi_hunks_writer {
    mi_bytes bytes;
    uint32_t count;
} mi_hunks_writer;

void mi_hunks_add(mi_hunks_writer *hunks, const mi_hunk *hunk);
// Writes their number and the hunks.
void mi_hunks_finish(mi_hunks_writer *hunks, mi_bytes *to);
