// A delta in the making, out of two snapshots.
//
// delta_make.c goes over everything that a state has; what differs of a component is found in delta_components.c.
#pragma once

#include "state/delta.h"
#include "state/delta_sums.h"

// Images of the same table or pool in both snapshots.
typedef struct mi_pair {
    const mi_rows_image *base; // NULL: it is not there
    const mi_rows_image *target;
    uint32_t first_key; // the numbers of its components, ascending
    uint32_t key_count;
    // Of the component at hand:
    bool has;
    uint32_t column; // UINT32_MAX: none
} mi_pair;

// A row that stands at its position on one side alone.
typedef struct mi_stray {
    uint32_t pair;
    uint32_t row;
} mi_stray;

// Items to be ordered by slot: the slot in the high half, a number in the low one.
typedef MI_ARRAY(uint64_t) mi_item_list;

typedef struct mi_stray_list {
    MI_ARRAY(mi_stray) strays;
    mi_item_list items; // numbers are those in `strays`
} mi_stray_list;

// A value at both ends; NULL: it is not there.
typedef struct mi_value_ends {
    const uint8_t *base;
    const uint8_t *target;
} mi_value_ends;

// A delta in the making.
typedef struct mi_maker {
    mi_heap *heap;
    const mica_schema *schema;
    const mica_snapshot *base;
    const mica_snapshot *target;
    uint32_t flags;
    bool is_complete; // nothing that differs stays out
    mi_slot_bits limit_bits;
    const mi_slot_bits *limit; // NULL: all entities
    mi_bytes *bytes;
    MI_ARRAY(uint32_t) components; // by name
    MI_ARRAY(uint32_t) numbers;    // by id: the number in `components`, or UINT32_MAX
    MI_ARRAY(mi_pair) pairs;
    uint32_t table_pairs; // in front of those of pools
    MI_ARRAY(uint32_t) keys;
    mi_stray_list table_strays[2]; // by side
    mi_stray_list pool_strays[2];
    MI_ARRAY(mi_value_ends) changes;
    mi_item_list items; // numbers are those in `changes`
    mi_item_list spare;
    mi_set_writer added;
    mi_set_writer removed;
    mi_set_writer set;
    mi_numbers_writer numbers_writer;
    mi_values_writer values;
    mi_told_writer told;
    mi_bytes told_bytes[2]; // of the value at hand, by side
    mi_hunks_writer hunks;
    uint8_t *room[2]; // for canonical values
    size_t room_size;
    mica_result result;
    const char *culprit; // of MICA_UNSUPPORTED: the type that has hooks
    const char *place;   // the part of the state that its value is in; NULL: entities have it
} mi_maker;

// Notes a failure, unless there was one before; returns false.
static inline bool mi_maker_fail(mi_maker *m, mica_result result, const char *culprit) {
    if (m->result == MICA_OK) {
        m->result = result;
        m->culprit = culprit;
    }
    return false;
}

static inline bool mi_maker_lack(mi_maker *m) {
    return mi_maker_fail(m, MICA_OUT_OF_MEMORY, NULL);
}

#define MI_MAKER_RESERVE(MAKER, ARRAY, NEED) \
    (MI_RESERVE((MAKER)->heap, MICA_MEMORY_STATE, (ARRAY), (NEED)) || mi_maker_lack(MAKER))

static inline uint32_t mi_rows_in(const mi_rows_image *rows, uint32_t chunk) {
    return rows == NULL || chunk >= rows->chunk_count ? 0 : rows->chunks[chunk]->row_count;
}

static inline uint32_t mi_chunks_of(const mi_pair *p) {
    const uint32_t a = p->base == NULL ? 0 : p->base->chunk_count;
    const uint32_t b = p->target == NULL ? 0 : p->target->chunk_count;
    return a > b ? a : b;
}

static inline bool mi_chunk_is_shared(const mi_pair *p, uint32_t chunk) {
    return p->base != NULL && p->target != NULL && chunk < p->base->chunk_count && chunk < p->target->chunk_count &&
           p->base->chunks[chunk] == p->target->chunks[chunk];
}

// What a value holds, as its hook tells it, at one end: 0 the base, 1 the target. `value` NULL: it is not there. `name`
// stands in front, closed by zero, if it is not NULL. Good until the next one of that end.
mi_told_end mi_maker_tell(mi_maker *m, uint32_t side, const mi_type *type, const void *value, const char *name);
// Puts a value that was told to both ends among those that are told of; false: failed.
bool mi_maker_add_told(mi_maker *m, uint32_t place, const mi_told_value *value);
// Gathers the strays of `count` pairs from number `first` on, ordered by slot; false: failed.
bool mi_maker_gather_strays(mi_maker *m, uint32_t first, uint32_t count, mi_stray_list *lists);
// Writes what differs of a component: of one in tables the strays of these are gathered before; false: failed.
bool mi_maker_put_component(mi_maker *m, mica_component component);
// Frees what both need.
void mi_maker_free_components(mi_maker *m);
