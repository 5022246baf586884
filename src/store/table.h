// Tables: all entities with the same set of components, their rows in chunks of columns.
//
// A chunk is one piece of a region: the column of handles first, then a column for each component that has data, in
// ascending order of ids, each aligned to 64 bytes or the type's alignment, each with a mi_column_head right in front
// of it (the first one's lies in the piece's prefix):
//
//   [head][handles ... ] [head][column ... ] [head][column ... ]
//         ^ base               ^ base + 64 * offset_of[component]
//
// A full chunk has 1 << shift rows, which never changes. The first chunk starts small and grows in steps, of any number
// of rows, until it is full; only then does a second one come. So:
//
//   chunk_room <= 1 << shift, and less only while there is one chunk at most: all chunks have the same layout
//   room == chunk_count * chunk_room, and row_count <= room
//   row `n` is row `n & row_mask` of chunk number `n >> shift`, however many rows the first chunk has by now
//
// Rows are dense: every chunk but the last is full. Removing a row moves the table's last row into the hole. A
// component's column is found by one load from `offset_of`, indexed by component id, if it is one of whole values. A
// component in lanes (lanes.h) has one column as well, with one head, but nothing in it is a value: it is found in
// `columns` alone, so that whoever knows nothing of lanes takes the component for a tag instead of an address for a
// value.
//
// Where the heap parts values (heap.h), columns start at pages and end with them, and the page in front of a column is
// its head's alone. Full chunks have as many rows as elsewhere, whatever more they take.
#pragma once

#include "base/array.h"
#include "base/region.h"
#include "store/schema.h"
#include "store/slots.h"
#include "store/stamp.h"

#define MI_COLUMN_ALIGN 64u
// In `offset_of`: the component is there and has no column of whole values: it is a tag, or lies in lanes.
#define MI_OFFSET_TAG UINT16_MAX

typedef struct mi_column_head {
    uint64_t stamp;             // see stamp.h
    uint64_t image : 48;        // what the column names: the number of an image that it equals
    uint64_t hidden_count : 16; // of the handles: rows whose entity is disabled or killed; elsewhere unused
} mi_column_head;
_Static_assert(MI_ROW_MAX <= UINT16_MAX, "rows of a chunk are counted in 16 bits");

typedef struct mi_column {
    const mi_type *type;
    uint32_t size;   // bytes of a value, also of one that lies in lanes
    uint32_t offset; // from the chunk's base in bytes
} mi_column;

// Where adding or removing a component leads. Empty cells are all zero.
//
// A *plain* edge changes that component alone, between tables that are plain, and concerns nothing but rows: the type
// is no relation, brings nothing along, and leaves no mark behind. The table with the component has the columns of the
// other one, which may be the root, and, at number `gap`, that of the component, unless it is a tag.
typedef struct mi_edge {
    uint32_t key; // see mi_edge_key
    uint32_t gap; // or one of the numbers below
    struct mi_table *to;
} mi_edge;

#define MI_GAP_TAG (UINT32_MAX - 1) // the edge is plain; the component is a tag
#define MI_GAP_NONE UINT32_MAX      // the edge is not plain

// Not 0 even where a caller's component is.
static inline uint32_t mi_edge_key(mica_component component, bool removes) {
    return (component + 1u) << 1 | (uint32_t)removes;
}

static inline mica_component mi_edge_component(const mi_edge *edge) {
    return (mica_component)((edge->key >> 1) - 1);
}

// What a walk looks at stands together at the end, in front of the offsets: thousands of tables are walked at what
// memory costs.
typedef struct mi_table {
    mi_column *columns;         // ascending by component id
    mica_component *components; // ascending, tags included
    mica_component *by_name;    // canonical order: by name
    uint64_t *bits;             // the set of components
    uint16_t bit_words;
    uint16_t chunk_align; // bytes
    uint32_t chunk_room;  // rows that a chunk holds now
    uint64_t row_moves;   // grows when a row goes, or comes by another location: what is cached about rows is void
    // The chunk in which rows came or went last: its first row, its memory, and the location of its row 0. Rows near
    // the end are found by it with a subtraction (store/moves.c); MI_TAIL_NONE: the chunk may have moved or gone.
    uint8_t *tail_base;
    uint32_t tail_first;
    uint32_t tail_location;
    uint32_t room;        // rows that its chunks hold
    uint32_t row_mask;    // (1 << shift) - 1
    const mi_edge *edges; // a hash table with an empty cell; its size, a power of two, is edge_mask + 1
    uint32_t edge_mask;   // 0: the one empty cell of all tables without edges
    uint32_t edge_count;
    uint32_t allocation_size; // of this struct with its arrays
    uint32_t kept_rows;       // room for so many rows stays when rows go; see mi_store_keep_rows
    // By component id: the size of a value less one, where offset_of names a column; of a component in lanes the place
    // of its column in `columns`.
    uint16_t *last_byte_of;
    uint32_t id;
    uint32_t chunk_size;     // bytes of a chunk of chunk_room rows
    uint32_t *chunk_ids;     // of one: &first_chunk_id
    uint32_t chunk_capacity; // of chunk_ids, 1 at least
    uint32_t first_chunk_id;
    uint32_t chunk_count;
    uint16_t column_count;
    uint16_t component_count;
    uint8_t *first_base; // of the first chunk, while there is one
    uint32_t row_count;
    uint8_t shift;         // rows of a full chunk: 1 << shift
    bool has_destruct;     // a column's type has a destruct hook
    bool can_fail;         // a column's type has a construct or copy hook
    bool moves_bytes;      // no column's type has a move hook or lies in lanes
    bool is_plain;         // nor has any other hook: values are bytes, each whole in one column
    bool has_lanes;        // a column's type lies in lanes
    bool has_toggle;       // a component's type can be disabled
    bool parts_columns;    // they have pages of their own
    uint32_t offset_count; // ids from here on are not here
    // By component id, in units of MI_COLUMN_ALIGN; 0: not here. There is number 0 at least. It stands here so that a
    // look-up needs no load to find it.
    uint16_t offset_of[];
} mi_table;

// As tail_first: no row number, and farther from any than a chunk has rows.
#define MI_TAIL_NONE 0x80000000u

// A full chunk has at most this many bytes: what fits 16 times into a region's block, near 128 KiB.
#define MI_CHUNK_BYTES (MI_REGION_BLOCK_SIZE / 16 - 2 * MI_COLUMN_ALIGN)
// A table's first chunk starts with this many rows, or as many as a full one has.
#define MI_FIRST_ROOM 8u
// Up to this many rows it grows by a half and a third in turn, from there on by doubling.
#define MI_FINE_ROOM 64u

// Makes a table without chunks for `components` (ascending). NULL: `failure` says whether memory is out or a chunk of
// one row (a full one, where columns have pages of their own) is over 4 MiB.
mi_table *mi_table_create(mi_heap *heap, const mica_schema *schema, const mica_component *components, uint32_t count,
                          mica_result *failure);
// Bytes of the table with its lists, without chunks.
size_t mi_table_byte_size(const mi_table *table);
// Frees a table whose chunks are gone.
void mi_table_destroy(mi_heap *heap, mi_table *table);
// Frees a table's list of chunks, if that is memory of its own; the table is to be given another one.
void mi_table_release_list(mi_heap *heap, mi_table *table);
// The column of a component, found by its id; NULL: it is not here, or a tag. O(log columns).
mi_column *mi_table_find_column(const mi_table *table, mica_component component);
// The bytes of a column in a chunk of `chunk_room` rows.
size_t mi_column_byte_size(const mi_column *column, uint32_t chunk_room);
// Where a column of the type starts if `end` is where the one before it ends, in bytes from a chunk's base.
size_t mi_column_offset(const mi_table *table, size_t end, const mi_type *type);
// The size of a chunk of `chunk_room` rows; 0: a column would stand out of reach of the 16-bit offsets.
size_t mi_table_chunk_size(const mi_table *table, uint32_t chunk_room);
// The smallest step of growth that holds so many rows; a full chunk's, if none does.
uint32_t mi_table_room_step(const mi_table *table, uint64_t rows);
// Lays the columns out for chunks of `chunk_room` rows. The chunks that there are must have, or be given, that layout.
void mi_table_set_chunk_room(mi_table *table, uint32_t chunk_room);
// Where byte `offset` of a chunk of `chunk_room` rows stands in the present layout.
size_t mi_table_moved_offset(const mi_table *table, uint32_t chunk_room, size_t offset);
// Remembers an edge that is not remembered yet, if there is memory.
void mi_table_remember_edge(mi_heap *heap, mi_table *table, mi_edge edge);
void mi_table_forget_edges(mi_heap *heap, mi_table *table);

static inline bool mi_table_has(const mi_table *table, mica_component component) {
    return component < table->offset_count && table->offset_of[component] != 0;
}

// Rows of a full chunk.
static inline uint32_t mi_table_full_room(const mi_table *table) {
    return 1u << table->shift;
}

// Whether a table's list of chunks is memory of its own.
static inline bool mi_table_lists_apart(const mi_table *table) {
    return table->chunk_ids != &table->first_chunk_id;
}

static inline mi_column_head *mi_column_head_of(void *column) {
    return (mi_column_head *)column - 1;
}

static inline uint64_t mi_column_version(void *column) {
    return mi_stamp_version(mi_load_stamp(&mi_column_head_of(column)->stamp));
}

// Stamps a column that is written.
static inline void mi_column_mark(void *column, uint64_t version) {
    mi_stamp_mark(&mi_column_head_of(column)->stamp, version);
}

// Stamps a column that takes over a value out of another one.
static inline void mi_column_take_over(void *column, void *from) {
    mi_stamp_take_over(&mi_column_head_of(column)->stamp, mi_column_head_of(from)->stamp);
}

// Whether the table has the component with data, whole or in lanes.
static inline bool mi_table_has_data(const mi_table *table, mica_component component) {
    return mi_table_has(table, component) && (table->offset_of[component] != MI_OFFSET_TAG ||
                                              (table->has_lanes && mi_table_find_column(table, component) != NULL));
}

// The column of a component that the table has with data, in whole values, in the chunk at `base`.
static inline uint8_t *mi_table_column(const mi_table *table, uint8_t *base, mica_component component) {
    return base + (size_t)table->offset_of[component] * MI_COLUMN_ALIGN;
}

// The same of one that may lie in lanes as well: for its head.
static inline uint8_t *mi_table_any_column(const mi_table *table, uint8_t *base, mica_component component) {
    return MICA_LIKELY(table->offset_of[component] != MI_OFFSET_TAG)
               ? mi_table_column(table, base, component)
               : base + mi_table_find_column(table, component)->offset;
}

// The column of a component that the table has in lanes.
static inline const mi_column *mi_table_lanes(const mi_table *table, mica_component component) {
    return &table->columns[table->last_byte_of[component]];
}

// How many chunks so many rows fill.
static inline uint32_t mi_table_chunks_for(const mi_table *table, uint32_t row_count) {
    return (uint32_t)(((uint64_t)row_count + table->row_mask) >> table->shift);
}

// Rows in chunk number `chunk_index`.
static inline uint32_t mi_table_chunk_rows(const mi_table *table, uint32_t chunk_index) {
    const uint32_t first = chunk_index << table->shift;
    const uint32_t rest = table->row_count - first;
    const uint32_t full = mi_table_full_room(table);
    return rest < full ? rest : full;
}

// Where an edge is looked for first: by component, since a table has one of the two edges of a component alone.
static inline uint32_t mi_edge_near_place(uint32_t mask, uint32_t key) {
    return key >> 1 & mask;
}

// Where the edge of a key stands, or would stand, among cells that are not all taken; their number less one is `mask`.
static inline uint32_t mi_edge_place(const mi_edge *edges, uint32_t mask, uint32_t key) {
    uint32_t place = mi_edge_near_place(mask, key);
    while (edges[place].key != 0 && edges[place].key != key) {
        place = (place + 1) & mask;
    }
    return place;
}

// The table that adding or removing a component leads to; NULL: not remembered (or the root, which is found as fast).
static inline mi_table *mi_table_neighbour(const mi_table *table, mica_component component, bool removes) {
    return table->edges[mi_edge_place(table->edges, table->edge_mask, mi_edge_key(component, removes))].to;
}
// The edge if it stands in the first place that is looked at, as most do; else any other one, with another key.
static inline const mi_edge *mi_table_near_edge(const mi_table *table, uint32_t key) {
    return &table->edges[mi_edge_near_place(table->edge_mask, key)];
}
