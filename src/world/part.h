// Parts of a world's state: what there is beside entities and their components, which snapshots copy themselves.
//
// A part writes its state as bytes and reads it again. Bytes are the same for equal states, in every process: numbers
// are little-endian, components go by their names, values are without padding; nothing depends on addresses or on the
// order in which anything was registered. Values that own something are copied by their hooks and stand beside the
// bytes; deltas have what the hook `write` tells of them, and none are made where they differ and have no such hook,
// unless the part can do without them.
//
// Restoring is in two steps. `prepare` reads a record into memory of its own: it may fail, and nothing of the world has
// changed then but room that was made. `commit` puts it in place and cannot fail. Bytes may come from outside:
// `prepare` trusts none of them.
#pragma once

#include "base/array.h"
#include "store/schema.h"

#include <string.h>

struct mica_world;
struct mica_snapshot;

// A value of a type with hooks, in memory of its own.
typedef struct mi_record_value {
    const mi_type *type;
    void *value;
} mi_record_value;

// What a part has written.
typedef struct mi_record {
    mi_heap *heap;                   // of all that follows, counted under "state"
    const mica_allocator *allocator; // for hooks; good for as long as the record
    MI_ARRAY(uint8_t) bytes;
    MI_ARRAY(mi_record_value) values; // in the order in which they were written
    bool is_bare;                     // it was put together from bytes: the values that its part spares are missing
} mi_record;

void mi_record_free(mi_record *record);

// Raw memory for a value, and room for it beside the bytes; NULL: out of memory.
void *mi_record_open_value(mi_record *record, const mi_type *type);
// The value was made, and is the next one; or it was not, and the memory goes.
void mi_record_end_value(mi_record *record, const mi_type *type, void *value, bool is_made);

// A part of a record, from its beginning on.
typedef struct mi_record_extent {
    uint32_t byte_count;
    uint32_t value_count;
} mi_record_extent;

// Writes a record. The first failure counts; what is written after it is lost.
typedef struct mi_writer {
    const mica_schema *schema;
    mi_record *record;
    mica_result result;  // MICA_OK, MICA_OUT_OF_MEMORY, or MICA_NO_COPY
    const mi_type *type; // which cannot be copied
} mi_writer;

// Room for further bytes, which count as written and are the caller's to fill; NULL: none. Good until the next write.
uint8_t *mi_write_room(mi_writer *writer, size_t byte_size);
// Notes a failure, unless there was one before.
void mi_write_fail(mi_writer *writer, mica_result result, const mi_type *type);
void mi_write_bytes(mi_writer *writer, const void *bytes, size_t byte_size);
void mi_write_u8(mi_writer *writer, uint8_t number);
void mi_write_u32(mi_writer *writer, uint32_t number);
void mi_write_u64(mi_writer *writer, uint64_t number);
void mi_write_double(mi_writer *writer, double number); // its bits
void mi_write_entity(mi_writer *writer, mica_entity entity);
void mi_write_text(mi_writer *writer, const char *text); // NULL: as ""
void mi_write_component(mi_writer *writer, mica_component component);
// A value; of a type without data nothing is written.
void mi_write_value(mi_writer *writer, const mi_type *type, const void *value);

// Components that a record has something of, in the order of their names.
typedef MI_ARRAY(uint32_t) mi_component_list;

// Lists those below `end` that are meant; false: out of memory, which is noted. Goes with mi_free_components.
bool mi_list_components(mi_writer *writer, uint32_t end, bool (*is_meant)(const void *user, uint32_t component),
                        const void *user, mi_component_list *list);
void mi_free_components(const mi_writer *writer, mi_component_list *list);

// Numbers and texts in room that was asked for, and numbers in bytes that were read. Those that put return what is
// behind.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MI_LITTLE_U32(NUMBER) (NUMBER)
#define MI_LITTLE_U64(NUMBER) (NUMBER)
#else
#define MI_LITTLE_U32(NUMBER) __builtin_bswap32(NUMBER)
#define MI_LITTLE_U64(NUMBER) __builtin_bswap64(NUMBER)
#endif
static inline uint8_t *mi_put_u32(uint8_t *to, uint32_t number) {
    const uint32_t little = MI_LITTLE_U32(number);
    memcpy(to, &little, sizeof(little));
    return to + sizeof(little);
}
static inline uint8_t *mi_put_u64(uint8_t *to, uint64_t number) {
    const uint64_t little = MI_LITTLE_U64(number);
    memcpy(to, &little, sizeof(little));
    return to + sizeof(little);
}
static inline uint8_t *mi_put_double(uint8_t *to, double number) { // its bits
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return mi_put_u64(to, bits);
}
static inline uint8_t *mi_put_text(uint8_t *to, const char *text, uint32_t length) {
    to = mi_put_u32(to, length);
    memcpy(to, text, length);
    return to + length;
}
static inline uint32_t mi_get_u32(const uint8_t *from) {
    uint32_t little;
    memcpy(&little, from, sizeof(little));
    return MI_LITTLE_U32(little);
}
static inline uint64_t mi_get_u64(const uint8_t *from) {
    uint64_t little;
    memcpy(&little, from, sizeof(little));
    return MI_LITTLE_U64(little);
}

// Reads a record. After the first failure all numbers are 0 and all texts empty.
typedef struct mi_reader {
    const mica_schema *schema;
    const uint8_t *bytes;
    size_t byte_size;
    size_t at;
    const mi_record_value *values;
    uint32_t value_count;
    uint32_t value_at;
    bool is_bare;
    mica_result result; // MICA_OK, MICA_FORMAT, MICA_UNKNOWN (a component), MICA_LIMIT, or MICA_OUT_OF_MEMORY
    const char *fault;  // what was wrong, as a literal; NULL: nothing, or memory is out
    char name[96];      // of the component that is not known
} mi_reader;

mi_reader mi_reader_of(const mica_schema *schema, const mi_record *record);
// Notes a failure, unless there was one before. `fault` is a literal.
void mi_read_fail(mi_reader *reader, mica_result result, const char *fault);
// The next bytes of the record; NULL: there are no more so many.
const uint8_t *mi_read_bytes(mi_reader *reader, size_t byte_size);
uint8_t mi_read_u8(mi_reader *reader);
uint32_t mi_read_u32(mi_reader *reader);
uint64_t mi_read_u64(mi_reader *reader);
double mi_read_double(mi_reader *reader);
mica_entity mi_read_entity(mi_reader *reader);
// A number of things that take `least_byte_size` bytes each at least, 1 or more: not more than there are bytes for.
uint32_t mi_read_count(mi_reader *reader, size_t least_byte_size);
// A text without its closing zero, in the record; none of its bytes is 0.
const char *mi_read_text(mi_reader *reader, uint32_t *length);
// A component that the schema knows; 0: failed.
mica_component mi_read_component(mi_reader *reader);
// Makes a value in the raw memory `to`. False: failed, and there is nothing to destruct.
bool mi_read_value(mi_reader *reader, const mi_type *type, const mica_allocator *allocator, void *to);
// A value where it lies, its canonical bytes or that which its copy hook made; NULL: failed, or a type without data.
const void *mi_read_value_place(mi_reader *reader, const mi_type *type);
// Whether all was read without failure; if something is left, that is one.
bool mi_reader_end(mi_reader *reader);

// A resource in the record of a part that holds resources, whose count stands before all of them (mi_read_count).
typedef struct mi_recorded_resource {
    const mi_type *type;
    const void *value;
} mi_recorded_resource;

// Reads the next one; false: failed.
bool mi_read_resource(mi_reader *reader, mi_recorded_resource *resource);

// A part. Its functions find its state by themselves; a world that has none yet is as one with its initial state, of
// which nothing is written: a record without bytes says the same as none.
typedef struct mi_part {
    const char *name; // no other part has it
    // What is written tells of storage or other things that do not show in what a program sees: it counts in exact
    // checksums and comparisons alone.
    bool is_inner;
    bool holds_resources;  // the record is a list of resources: mi_read_resource
    bool spares_transient; // reads bare records as well: values of transient types stay as they are
    bool is_history;       // nothing of it lasts: all of it is in versions
    bool has_versions;     // what does not last of it is in versions
    // A number that differs from all that it was before as soon as `save` might write something else. It never goes
    // back, with a restore neither. NULL: the part is written for every snapshot.
    uint64_t (*stamp)(const struct mica_world *world);
    void (*save)(const struct mica_world *world, mi_writer *writer);
    // Of a record that `save` has written: how much from its beginning on lasts, which is what counts in checksums and
    // comparisons and decides whether a delta can be applied. The rest is in versions, or for readers of the program:
    // it changes when somebody looks. NULL: all lasts, unless the part is history. Records may come from outside: of
    // one that is not put together as it should be all lasts.
    mi_record_extent (*lasting)(const mi_record *record);
    // Not NULL where `lasting` is not: writes the rest of a record of which only what lasts is there, as far as the
    // world, which is yet to be brought into the state of the record, can tell. The record may come from outside.
    void (*complete)(const struct mica_world *world, mi_writer *writer);
    // Reads; `reader` NULL: the snapshot knows nothing of the part, which is to be in its initial state. Anything but
    // MICA_OK: the reader's failure, or MICA_OUT_OF_MEMORY; no error is set. Slots have the capacity that they are
    // going to need. The record stays where it is until commit or cancel, so what is prepared may lead into it.
    mica_result (*prepare)(struct mica_world *world, mi_reader *reader, void **prepared);
    void (*commit)(struct mica_world *world, void *prepared);
    void (*cancel)(struct mica_world *world, void *prepared);
    // May be NULL: the record stands for itself. What of that which was prepared does not go with the entities and
    // components of the snapshot that the record is in (as a literal), or NULL. To be asked between prepare and commit
    // wherever a snapshot was not taken of a world but put together from bytes.
    const char *(*check)(const struct mica_world *world, const void *prepared, const struct mica_snapshot *snapshot);
} mi_part;

static inline mi_record_extent mi_part_lasting(const mi_part *part, const mi_record *record) {
    const mi_record_extent none = {.byte_count = 0};
    const mi_record_extent all = {.byte_count = record->bytes.count, .value_count = record->values.count};
    return part->is_history ? none : part->lasting == NULL ? all : part->lasting(record);
}

// Whether values of a type stay out of records that are put together from bytes.
static inline bool mi_part_spares(const mi_part *part, const mi_type *type) {
    return part->spares_transient && type->info.transient;
}

// The parts that every world has, in the order in which they are written and read; those of extensions follow.
extern const mi_part *const mi_world_parts[];
extern const uint32_t mi_world_part_count;
