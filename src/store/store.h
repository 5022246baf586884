// The store: entity index, tables with their chunks, the graph of tables, and pools (pools.h). It keeps rows, elements
// and values; it knows nothing of locks, queries or relations.
//
// Invariants: every living entity's location is 0 or names a row whose handle is the entity's; every row's entity has
// that row as its location; there is one table for a set of components; tables[0] is the root (no components) and never
// has rows; edges lead to living tables. Functions that can fail return false or NULL when out of memory or over a
// limit, leave everything as it was, and set `store->failure`.
#pragma once

#include "base/map.h"
#include "store/lanes.h"
#include "store/marks.h"
#include "store/masks.h"
#include "store/pool.h"
#include "store/table.h"
#include "store/value.h"

#include <mica/world.h>

typedef struct mi_chunk {
    uint8_t *base; // NULL: the id is free
    union {
        mi_table *table;
        uintptr_t next_free; // chunk id, 0 at the end
    } of;
} mi_chunk;

// What entities may have besides their rows, each a bit.
enum {
    MI_EXTRA_MARKS = 1,    // somebody is disabled or killed, or has a component disabled
    MI_EXTRA_POOLS = 2,    // there are pools
    MI_EXTRA_RELATIONS = 4 // parts further up keep links
};

typedef struct mi_store {
    // The members of struct mica_head, in its order.
    uint64_t key;              // the schema's serial number << 32
    uint64_t peek_key;         // the same, MICA_HEAD_NO_KEY while copied_count is not 0
    uint64_t version;          // stamp of the next change
    mi_chunk *chunks;          // by chunk id; 0 has no memory and is of the root table
    MI_ARRAY(mi_pool *) pools; // by component id; NULL: none
    mi_slots slots;
    uint32_t tables_dropped; // grows when tables are dropped: what is cached about tables is void
    // The rest is seen by the library alone.
    uint32_t copied_count; // columns that open walks hold copies of for writing: see mi_store_count_copied
    mi_chunk no_chunk;     // number 0, while there are no others
    mi_heap *heap;
    mica_schema *schema;
    mica_allocator values; // for hooks: the heap, counted under "values"
    uint32_t chunk_count;  // ids ever used, id 0 included
    uint32_t chunk_capacity;
    uint32_t chunk_free; // first free id, 0: none
    mi_region *region;   // NULL until the first row
    // What the chunk that grew last left behind: a value that a caller passes may lie in it; see mi_store_follow.
    uint8_t *outgrown;
    size_t outgrown_size;
    const mi_table *outgrown_of;
    uint32_t outgrown_room;
    MI_ARRAY(mi_table *) tables; // by id; NULL where a table was dropped
    MI_ARRAY(mi_table *)
    ordered; // all but the root; the first sorted_count in canonical order, the rest not in place yet
    MI_ARRAY(uint64_t) ordered_words; // of those in `ordered`: the first word of each one's set of components
    uint32_t component_bound;         // ids of components from here on were never in a table
    MI_ARRAY(uint32_t) table_ids_free;
    MI_ARRAY(mica_component) scratch; // a set of components in the making
    mi_map table_map;
    uint32_t tables_live;
    uint32_t tables_made; // grows when tables are made
    uint32_t sorted_count;
    MI_ARRAY(mi_pool *) pool_list; // by number
    MI_ARRAY(struct mi_group *) groups;
    mi_masks masks;
    mi_region *page_region; // for pages of pools and masks; NULL until there is a pool
    void *spare;            // raw memory for one value of any pool that may have to swap elements
    size_t spare_size;
    // Entities that queries leave out, and components that count as absent. See visibility.h.
    mi_marks disabled;
    mi_marks killed;
    MI_ARRAY(mi_marks) toggled; // by component id: entities on which it is disabled
    uint32_t toggle_count;      // members of all of those
    uint32_t extras;            // MI_EXTRA_...: what entities may have besides rows; 0: nothing
    uint64_t mark_changes; // grows when any of these marks comes or goes: what is cached of who is left out is void
    mica_result failure;   // why the last function failed
    const char *limit;     // what there is no more of, if that is MICA_LIMIT
} mi_store;

bool mi_store_init(mi_store *store, mi_heap *heap, mica_schema *schema);
// Destructs all values and frees everything.
void mi_store_free(mi_store *store);

// Tables. `components` is ascending without repetition; all of them live in tables.
mi_table *mi_store_table(mi_store *store, const mica_component *components, uint32_t count);
// The table that adding `component` with what it requires leads to, and that removing it leads to; the same table if
// nothing changes. A component of a pool leads to where those it requires in tables lead.
static inline mi_table *mi_store_table_with(mi_store *store, mi_table *table, mica_component component);
static inline mi_table *mi_store_table_without(mi_store *store, mi_table *table, mica_component component);
// The same for a component that `table` does not have, or has, where no edge is remembered.
mi_table *mi_store_find_with(mi_store *store, mi_table *table, mica_component component);
mi_table *mi_store_find_without(mi_store *store, mi_table *table, mica_component component);
static inline mi_table *mi_store_root(const mi_store *store) {
    return store->tables.data[0];
}
// Brings `ordered` up to date: canonical order is by the tables' sorted lists of names. False: out of memory.
bool mi_store_order(mi_store *store);
// Negative, 0 or positive: how two tables stand to each other in that order.
int mi_table_compare(const mi_store *store, const mi_table *a, const mi_table *b);
// Drops tables without rows, spare chunks, free blocks, room in lists, and what pools and marks do not use.
void mi_store_trim(mi_store *store);

// Rows. A row is opened (memory made sure of, not counted yet), filled in, then published; or left alone, which undoes
// the opening. Opens `count` further rows; they are the `count` rows from `table->row_count` on, maybe over several
// chunks.
bool mi_store_open_rows(mi_store *store, mi_table *table, uint32_t count);
// The same for one row, without a call if there is room already behind another row of its chunk.
static inline bool mi_store_open_row(mi_store *store, mi_table *table) {
    return MICA_LIKELY(table->row_count < table->room && (table->row_count & table->row_mask) != 0) ||
           mi_store_open_rows(store, table, 1);
}
// Makes room for `count` rows in all and keeps it when rows go, until the next call says less. Only an empty table of
// which nothing is kept is dropped.
bool mi_store_keep_rows(mi_store *store, mi_table *table, uint32_t count);
// Takes blocks for chunks until they have so many bytes, and keeps so many.
bool mi_store_keep_chunks(mi_store *store, size_t byte_size);
// Gives back the chunks of rows that were opened and are not to be published, all but one and those that are kept.
void mi_store_close_rows(mi_store *store, mi_table *table);
// Makes a chunk as if nothing had ever been written to it: called when its first row comes, so that what stamps say
// follows from the rows that there are, and not from those that were. (Rows that go leave their stamps, since their
// values may have yet to be moved.)
void mi_store_reset_chunk(const mi_table *table, uint8_t *base);
// Moves one value between rows of two columns of its type; the target's column takes over the stamp of the source's if
// that is later.
void mi_store_move_value(const mi_store *store, const mi_type *type, void *to_column, uint32_t to_row,
                         void *from_column, uint32_t from_row);
// The row of a table in one of its chunks.
typedef struct mi_row_place {
    const mi_table *table;
    uint8_t *base;
    uint32_t row;
} mi_row_place;
// The same for `count` rows that follow each other, of a component that both tables have in lanes.
void mi_store_move_lanes(const mi_row_place *to, const mi_row_place *from, mica_component component, uint32_t count);
// The whole value of a component that the row at `location` has in lanes, out of them and into them (NULL: zeros).
// Writing stamps the column with `version`.
void mi_store_read_lanes(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                         void *value);
void mi_store_write_lanes(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                          const void *value, uint64_t version);
// Where the value of a component that the row at `location` has can be looked at: where it is, or `aside`, which it is
// copied to out of lanes; NULL: a tag.
void *mi_store_look(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                    mi_lanes_value *aside);
// Closes the hole at `location`, whose values are raw memory by now. The handle of the row that goes is still there, or
// null if the row has been moved elsewhere.
void mi_store_close_hole(mi_store *store, mi_table *table, uint32_t location);
// Destructs the values of the row at `location`, which are raw memory then.
void mi_store_destruct_row(mi_store *store, const mi_table *table, uint32_t location);
// Destructs all values and takes all rows away, without touching slots.
void mi_store_clear_rows(mi_store *store);
// Moves all chunks of a table to new memory, if there is any. Called after every structural change in builds that
// expose pointers kept too long.
void mi_store_shake(mi_store *store, mi_table *table);
#if defined(MI_MOVE_ALWAYS) && MI_MOVE_ALWAYS
#define MI_MOVES_ALWAYS true
#define MI_STORE_SHAKE(STORE, TABLE) mi_store_shake((STORE), (TABLE))
#else
#define MI_MOVES_ALWAYS false
#define MI_STORE_SHAKE(STORE, TABLE) ((void)0)
#endif

// The first thing that is wrong, or NULL. O(everything).
const char *mi_store_validate(const mi_store *store);

// Where a value that lay at `value` when the call began is by now: opening rows makes a chunk grow, and its values
// move.
const void *mi_store_follow_outgrown(const mi_store *store, const void *value);
static inline const void *mi_store_follow(const mi_store *store, const void *value) {
    const bool is_outgrown = (uintptr_t)value - (uintptr_t)store->outgrown < store->outgrown_size;
    return MICA_UNLIKELY(is_outgrown) ? mi_store_follow_outgrown(store, value) : value;
}

// Counts columns that open walks begin or cease to hold copies of.
static inline void mi_store_count_copied(mi_store *store, bool is_held) {
    store->copied_count += is_held ? 1u : UINT32_MAX;
    store->peek_key = store->copied_count == 0 ? store->key : MICA_HEAD_NO_KEY;
}

static inline uint8_t *mi_store_base(const mi_store *store, uint32_t location) {
    return store->chunks[location >> MI_ROW_BITS].base;
}
static inline mi_table *mi_store_table_at(const mi_store *store, uint32_t location) {
    return store->chunks[location >> MI_ROW_BITS].of.table;
}
static inline uint32_t mi_row_of(uint32_t location) {
    return location & (MI_ROW_MAX - 1);
}
// The location of a table's row by number.
static inline uint32_t mi_store_location(const mi_table *table, uint32_t row) {
    return table->chunk_ids[row >> table->shift] << MI_ROW_BITS | (row & ((1u << table->shift) - 1));
}
// The value of a component that the table has with data.
static inline void *mi_store_value(const mi_store *store, const mi_table *table, uint32_t location,
                                   mica_component component, uint32_t size) {
    return mi_table_column(table, mi_store_base(store, location), component) + (size_t)mi_row_of(location) * size;
}

static inline mi_table *mi_store_table_with(mi_store *store, mi_table *table, mica_component component) {
    if (mi_table_has(table, component)) {
        return table;
    }
    mi_table *known = mi_table_neighbour(table, component, false);
    return MICA_LIKELY(known != NULL) ? known : mi_store_find_with(store, table, component);
}

static inline mi_table *mi_store_table_without(mi_store *store, mi_table *table, mica_component component) {
    if (!mi_table_has(table, component)) {
        return table;
    }
    mi_table *known = mi_table_neighbour(table, component, true);
    return MICA_LIKELY(known != NULL) ? known : mi_store_find_without(store, table, component);
}

// Publishes the first open row, which is at `location`, for an entity whose slot says so already.
static inline void mi_store_publish_at(mi_store *store, mi_table *table, mica_entity entity, uint32_t location) {
    uint8_t *base = mi_store_base(store, location);
    ((mica_entity *)(void *)base)[mi_row_of(location)] = entity;
    mi_column_mark(base, store->version);
    table->row_count++;
}

// Gives a row its value of a component that the table has with data and whose type has no hooks: a copy, or zeros if
// `value` is NULL.
static inline void mi_store_place_plain(const mi_store *store, const mi_table *table, uint8_t *base, uint32_t row,
                                        mica_component component, const void *value) {
    uint8_t *column = mi_table_column(table, base, component);
    const uint32_t size = table->last_byte_of[component] + 1u;
    if (MICA_LIKELY(value != NULL)) {
        mi_value_copy_bytes(column + (size_t)row * size, value, size);
    } else {
        memset(column + (size_t)row * size, 0, size);
    }
    mi_column_mark(column, store->version);
}
