// Rows and the chunks that hold them.
//
// Chunks of a table beyond its last row are spare: at most one stays when rows go, so that a table that wavers around a
// chunk's edge does not take and give memory all the time, and those for the rows that are to be kept room for. A
// table's first chunk grows in steps until it is full; growing keeps the chunk's id, so no location changes. Opened
// rows lie behind `row_count` and count for nothing until they are published.
#include "base/error.h"
#include "store/chunks.h"
#include "store/visibility.h"

#include <string.h>

// Moves the list of chunks to memory for `capacity` of them, the one of id 0 included.
static bool resize_list(mi_store *store, uint32_t capacity) {
    mi_chunk *chunks =
        mi_heap_allocate(store->heap, MICA_MEMORY_TABLES, capacity * sizeof(mi_chunk), _Alignof(mi_chunk));
    if (chunks == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    if (store->chunk_count > 0) {
        memcpy(chunks, store->chunks, store->chunk_count * sizeof(mi_chunk));
        mi_heap_release(store->heap, MICA_MEMORY_TABLES, store->chunks, store->chunk_capacity * sizeof(mi_chunk),
                        _Alignof(mi_chunk));
    } else {
        chunks[0] = store->no_chunk;
        store->chunk_count = 1;
    }
    store->chunks = chunks;
    store->chunk_capacity = capacity;
    return true;
}

static void free_list(mi_store *store) {
    if (store->chunk_capacity > 0) {
        mi_heap_release(store->heap, MICA_MEMORY_TABLES, store->chunks, store->chunk_capacity * sizeof(mi_chunk),
                        _Alignof(mi_chunk));
    }
    store->chunks = &store->no_chunk;
    store->chunk_count = 0;
    store->chunk_capacity = 0;
    store->chunk_free = 0;
}

static uint32_t chunk_id_take(mi_store *store) {
    if (store->chunk_free != 0) {
        const uint32_t id = store->chunk_free;
        store->chunk_free = (uint32_t)store->chunks[id].of.next_free;
        return id;
    }
    if (store->chunk_count < store->chunk_capacity) {
        return store->chunk_count++;
    }
    if (store->chunk_capacity >= MI_CHUNK_MAX) {
        store->failure = MICA_LIMIT;
        store->limit = "all chunks are in use";
        return 0;
    }
    uint32_t capacity = store->chunk_capacity < 8 ? 16 : store->chunk_capacity * 2;
    capacity = capacity > MI_CHUNK_MAX ? MI_CHUNK_MAX : capacity;
    return resize_list(store, capacity) ? store->chunk_count++ : 0;
}

static void chunk_id_give(mi_store *store, uint32_t id) {
    store->chunks[id].base = NULL;
    store->chunks[id].of.next_free = store->chunk_free;
    store->chunk_free = id;
}

// The region that chunks are cut from; NULL: out of memory.
static mi_region *open_region(mi_store *store) {
    if (store->region == NULL) {
        store->region = mi_region_create(store->heap, MICA_MEMORY_CHUNKS);
    }
    return store->region;
}

bool mi_store_keep_chunks(mi_store *store, size_t byte_size) {
    return open_region(store) != NULL && mi_region_keep(store->region, byte_size);
}

static uint8_t *piece_take(mi_store *store, const mi_table *table, size_t byte_size) {
    uint8_t *base = open_region(store) == NULL ? NULL : mi_region_take(store->region, byte_size, table->chunk_align);
    if (base == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
    }
    return base;
}

void mi_store_reset_chunk(const mi_table *table, uint8_t *base) {
    *mi_column_head_of(base) = (mi_column_head){0};
    for (uint32_t i = 0; i < table->column_count; i++) {
        *mi_column_head_of(base + table->columns[i].offset) = (mi_column_head){0};
    }
}

// Moves a table's list of chunks to memory for `capacity` of them, one at least.
static bool resize_chunk_ids(mi_store *store, mi_table *table, uint32_t capacity) {
    uint32_t *ids = &table->first_chunk_id;
    if (capacity > 1) {
        ids = mi_heap_allocate(store->heap, MICA_MEMORY_TABLES, capacity * sizeof(uint32_t), sizeof(uint32_t));
    }
    if (ids == NULL) {
        store->failure = MICA_OUT_OF_MEMORY;
        return false;
    }
    if (table->chunk_count > 0 && ids != table->chunk_ids) {
        memcpy(ids, table->chunk_ids, table->chunk_count * sizeof(uint32_t));
    }
    mi_table_release_list(store->heap, table);
    table->chunk_ids = ids;
    table->chunk_capacity = capacity;
    return true;
}

// Says where a table's chunk is from now on.
static void place_chunk(mi_store *store, mi_table *table, uint32_t chunk_index, uint8_t *base) {
    store->chunks[table->chunk_ids[chunk_index]].base = base;
    table->tail_first = MI_TAIL_NONE;
    if (chunk_index == 0) {
        table->first_base = base;
    }
}

static bool add_chunk(mi_store *store, mi_table *table) {
    if (table->chunk_count == table->chunk_capacity && !resize_chunk_ids(store, table, table->chunk_capacity * 2)) {
        return false;
    }
    uint8_t *base = piece_take(store, table, table->chunk_size);
    if (base == NULL) {
        return false;
    }
    const uint32_t id = chunk_id_take(store);
    if (id == 0) {
        mi_region_give(store->region, base);
        return false;
    }
    mi_store_reset_chunk(table, base);
    store->chunks[id].of.table = table;
    table->chunk_ids[table->chunk_count] = id;
    place_chunk(store, table, table->chunk_count++, base);
    table->room = table->chunk_count * table->chunk_room;
    return true;
}

static void drop_last_chunk(mi_store *store, mi_table *table) {
    const uint32_t id = table->chunk_ids[--table->chunk_count];
    table->tail_first = MI_TAIL_NONE;
    table->room = table->chunk_count * table->chunk_room;
    mi_region_give(store->region, store->chunks[id].base);
    chunk_id_give(store, id);
}

// Moves the rows of a chunk for `from_room` rows into the raw memory `to`, which is laid out as `table` says now.
static void move_chunk(mi_store *store, const mi_table *table, uint32_t from_room, uint8_t *from, uint8_t *to,
                       uint32_t rows) {
    size_t end = sizeof(mica_entity) * from_room;
    *mi_column_head_of(to) = *mi_column_head_of(from);
    memcpy(to, from, rows * sizeof(mica_entity));
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        const size_t offset = mi_column_offset(table, end, column->type);
        *mi_column_head_of(to + column->offset) = *mi_column_head_of(from + offset);
        if (rows > 0 && mi_type_in_lanes(column->type)) {
            mi_lanes_copy_rows(column->type, (mi_lanes_rows){.column = to + column->offset, .room = table->chunk_room},
                               (mi_lanes_rows){.column = from + offset, .room = from_room}, rows);
        } else if (rows > 0) {
            mi_value_move(column->type, &store->values, to + column->offset, from + offset, rows);
        }
        end = offset + mi_column_byte_size(column, from_room);
    }
}

// Gives the only chunk of a table room for so many rows.
static bool grow_chunk(mi_store *store, mi_table *table, uint32_t chunk_room) {
    uint8_t *to = piece_take(store, table, mi_table_chunk_size(table, chunk_room));
    if (to == NULL) {
        return false;
    }
    const mi_chunk *chunk = &store->chunks[table->chunk_ids[0]];
    mi_chunks_release_outgrown(store);
    store->outgrown = chunk->base;
    store->outgrown_size = table->chunk_size;
    store->outgrown_of = table;
    store->outgrown_room = table->chunk_room;
    mi_table_set_chunk_room(table, chunk_room);
    move_chunk(store, table, store->outgrown_room, chunk->base, to, table->row_count);
    place_chunk(store, table, 0, to);
    return true;
}

void mi_store_close_rows(mi_store *store, mi_table *table) {
    const uint32_t filled = mi_table_chunks_for(table, table->row_count);
    const uint32_t kept = mi_table_chunks_for(table, table->kept_rows);
    while (table->chunk_count > filled + 1 && table->chunk_count > kept) {
        drop_last_chunk(store, table);
    }
}

// Makes the chunks ready in which the next rows come first.
static void begin_chunks(const mi_store *store, const mi_table *table, uint64_t need) {
    for (uint32_t k = mi_table_chunks_for(table, table->row_count); (uint64_t)k << table->shift < need; k++) {
        mi_store_reset_chunk(table, store->chunks[table->chunk_ids[k]].base);
    }
}

bool mi_store_open_rows(mi_store *store, mi_table *table, uint32_t count) {
    const uint64_t need = (uint64_t)table->row_count + count;
    if (need <= table->room) {
        begin_chunks(store, table, need);
        return true;
    }
    if (need > MICA_INDEX_MAX) {
        store->failure = MICA_LIMIT;
        store->limit = "all indices of entities are in use or retired";
        return false;
    }
    if (table->chunk_count == 0) {
        mi_table_set_chunk_room(table, mi_table_room_step(table, need));
    } else if (table->chunk_room < mi_table_full_room(table) &&
               !grow_chunk(store, table, mi_table_room_step(table, need))) {
        return false;
    }
    while (table->room < need) {
        if (!add_chunk(store, table)) {
            mi_store_close_rows(store, table);
            return false;
        }
    }
    begin_chunks(store, table, need);
    return true;
}

bool mi_store_keep_rows(mi_store *store, mi_table *table, uint32_t count) {
    if (count > table->row_count && !mi_store_open_rows(store, table, count - table->row_count)) {
        return false;
    }
    table->kept_rows = count;
    mi_store_close_rows(store, table);
    return true;
}

void mi_store_move_value(const mi_store *store, const mi_type *type, void *to_column, uint32_t to_row,
                         void *from_column, uint32_t from_row) {
    const uint32_t size = type->info.size;
    uint8_t *to = (uint8_t *)to_column + (size_t)to_row * size;
    uint8_t *from = (uint8_t *)from_column + (size_t)from_row * size;
    mi_value_move_one(type, &store->values, to, from);
    // The value may have changed as lately as anything in the column that it comes from.
    mi_column_take_over(to_column, from_column);
}

void mi_store_move_lanes(const mi_row_place *to, const mi_row_place *from, mica_component component, uint32_t count) {
    const mi_column *to_column = mi_table_find_column(to->table, component);
    const mi_column *from_column = mi_table_find_column(from->table, component);
    uint8_t *target = to->base + to_column->offset;
    uint8_t *source = from->base + from_column->offset;
    mi_lanes_copy_rows(to_column->type, (mi_lanes_rows){target, to->table->chunk_room, to->row},
                       (mi_lanes_rows){source, from->table->chunk_room, from->row}, count);
    mi_column_take_over(target, source);
}

void mi_store_read_lanes(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                         void *value) {
    const mi_column *column = mi_table_find_column(table, component);
    mi_lanes_read(column->type, table->chunk_room, mi_store_base(store, location) + column->offset, mi_row_of(location),
                  value, 1);
}

void mi_store_write_lanes(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                          const void *value, uint64_t version) {
    const mi_column *column = mi_table_find_column(table, component);
    uint8_t *start = mi_store_base(store, location) + column->offset;
    mi_lanes_write(column->type, table->chunk_room, start, mi_row_of(location), value, 1);
    mi_column_mark(start, version);
}

void *mi_store_look(const mi_store *store, const mi_table *table, uint32_t location, mica_component component,
                    mi_lanes_value *aside) {
    if (MICA_LIKELY(table->offset_of[component] != MI_OFFSET_TAG)) {
        return mi_store_value(store, table, location, component, table->last_byte_of[component] + 1u);
    }
    if (!table->has_lanes || mi_table_find_column(table, component) == NULL) {
        return NULL;
    }
    mi_store_read_lanes(store, table, location, component, aside->bytes);
    return aside->bytes;
}

// Moves the values of a row of a table with a move hook or lanes.
MI_APART static void move_row_slowly(const mi_store *store, const mi_table *table, uint8_t *to, uint32_t to_row,
                                     uint8_t *from, uint32_t from_row) {
    const mi_row_place target = {table, to, to_row};
    const mi_row_place source = {table, from, from_row};
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (mi_type_in_lanes(column->type)) {
            mi_store_move_lanes(&target, &source, column->type->info.id, 1);
        } else {
            mi_store_move_value(store, column->type, to + column->offset, to_row, from + column->offset, from_row);
        }
    }
}

// Moves the values of a table's row `from_row` of the chunk at `from` into the raw row `to_row` of the chunk at `to`.
static void move_row(const mi_store *store, const mi_table *table, uint8_t *to, uint32_t to_row, uint8_t *from,
                     uint32_t from_row) {
    const mi_column *end = table->columns + table->column_count;
    if (MICA_UNLIKELY(!table->moves_bytes)) {
        move_row_slowly(store, table, to, to_row, from, from_row);
        return;
    }
    for (const mi_column *column = table->columns; column < end; column++) {
        uint8_t *to_column = to + column->offset;
        uint8_t *from_column = from + column->offset;
        mi_value_copy_bytes(to_column + (size_t)to_row * column->size, from_column + (size_t)from_row * column->size,
                            column->size);
        mi_column_take_over(to_column, from_column);
    }
}

// The row at `location` goes and the one at `last` comes there.
MI_APART static void count_hidden_rows(mi_store *store, uint32_t location, uint32_t last) {
    const mica_entity *left = (const mica_entity *)(const void *)mi_store_base(store, location);
    mi_store_count_hidden_row(store, left[mi_row_of(location)], location, false);
    if (last != location) {
        const mica_entity *moved = (const mica_entity *)(const void *)mi_store_base(store, last);
        mi_store_count_hidden_row(store, moved[mi_row_of(last)], last, false);
        mi_store_count_hidden_row(store, moved[mi_row_of(last)], location, true);
    }
}

void mi_store_close_hole(mi_store *store, mi_table *table, uint32_t location) {
    const uint32_t last_row = table->row_count - 1;
    const uint32_t last = mi_store_location(table, last_row);
    if (MICA_UNLIKELY(mi_store_hides_any(store))) {
        count_hidden_rows(store, location, last);
    }
    if (last != location) {
        uint8_t *to = mi_store_base(store, location);
        uint8_t *from = mi_store_base(store, last);
        const mica_entity moved = ((mica_entity *)(void *)from)[mi_row_of(last)];
        ((mica_entity *)(void *)to)[mi_row_of(location)] = moved;
        mi_column_mark(to, store->version);
        mi_slots_move(&store->slots, mica_entity_index(moved), location);
        move_row(store, table, to, mi_row_of(location), from, mi_row_of(last));
    }
    table->row_count = last_row;
    table->row_moves++;
    if (MICA_UNLIKELY(mi_row_of(last) == 0)) {
        mi_store_close_rows(store, table);
    }
}

void mi_store_destruct_row(mi_store *store, const mi_table *table, uint32_t location) {
    uint8_t *base = mi_store_base(store, location);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        mi_value_destruct(column->type, &store->values,
                          base + column->offset + (size_t)mi_row_of(location) * column->size, 1);
    }
}

static void destruct_rows(mi_store *store, mi_table *table) {
    for (uint32_t k = 0; table->has_destruct && k << table->shift < table->row_count; k++) {
        uint8_t *base = store->chunks[table->chunk_ids[k]].base;
        for (uint32_t i = 0; i < table->column_count; i++) {
            const mi_column *column = &table->columns[i];
            mi_value_destruct(column->type, &store->values, base + column->offset, mi_table_chunk_rows(table, k));
        }
    }
}

void mi_store_clear_rows(mi_store *store) {
    for (uint32_t id = 0; id < store->tables.count; id++) {
        mi_table *table = store->tables.data[id];
        if (table != NULL && table->row_count > 0) {
            destruct_rows(store, table);
            table->row_count = 0;
            table->row_moves++;
            mi_store_close_rows(store, table);
        }
    }
}

void mi_store_shake(mi_store *store, mi_table *table) {
    for (uint32_t k = 0; k < table->chunk_count; k++) {
        const mi_chunk *chunk = &store->chunks[table->chunk_ids[k]];
        uint8_t *to = piece_take(store, table, table->chunk_size);
        if (to == NULL) {
            return;
        }
        const uint32_t rows = k << table->shift < table->row_count ? mi_table_chunk_rows(table, k) : 0;
        move_chunk(store, table, table->chunk_room, chunk->base, to, rows);
        mi_region_give(store->region, chunk->base);
        place_chunk(store, table, k, to);
    }
}

void mi_chunks_release_outgrown(mi_store *store) {
    if (store->outgrown != NULL) {
        mi_region_give(store->region, store->outgrown);
        store->outgrown = NULL;
        store->outgrown_size = 0;
        store->outgrown_of = NULL;
    }
}

const void *mi_store_follow_outgrown(const mi_store *store, const void *value) {
    const mi_table *table = store->outgrown_of; // it keeps its first chunk as long as there is something outgrown
    const size_t offset = (size_t)((const uint8_t *)value - store->outgrown);
    return mi_store_base(store, mi_store_location(table, 0)) +
           mi_table_moved_offset(table, store->outgrown_room, offset);
}

void mi_chunks_release_all(mi_store *store, mi_table *table) {
    while (table->chunk_count > 0) {
        drop_last_chunk(store, table);
    }
}

// Brings the rows of a table's only chunk into the smallest one that has room for them and for those to be kept.
static void fit_chunk(mi_store *store, mi_table *table) {
    const uint32_t rows = table->kept_rows > table->row_count ? table->kept_rows : table->row_count;
    const uint32_t from_room = table->chunk_room;
    const uint32_t room = mi_table_room_step(table, rows);
    uint8_t *to = room < from_room ? piece_take(store, table, mi_table_chunk_size(table, room)) : NULL;
    if (to == NULL) {
        return;
    }
    const mi_chunk *chunk = &store->chunks[table->chunk_ids[0]];
    mi_table_set_chunk_room(table, room);
    move_chunk(store, table, from_room, chunk->base, to, table->row_count);
    mi_region_give(store->region, chunk->base);
    place_chunk(store, table, 0, to);
}

void mi_chunks_release_spare(mi_store *store, mi_table *table) {
    const uint32_t filled = mi_table_chunks_for(table, table->row_count);
    const uint32_t kept = mi_table_chunks_for(table, table->kept_rows);
    while (table->chunk_count > filled && table->chunk_count > kept) {
        drop_last_chunk(store, table);
    }
    if (table->chunk_count == 1) {
        fit_chunk(store, table);
    }
    const uint32_t capacity = table->chunk_count == 0 ? 1 : table->chunk_count;
    if (capacity < table->chunk_capacity) {
        (void)resize_chunk_ids(store, table, capacity);
    }
}

void mi_chunks_shrink_list(mi_store *store) {
    uint32_t count = store->chunk_count;
    while (count > 1 && store->chunks[count - 1].base == NULL) {
        count--;
    }
    if (count == store->chunk_capacity) {
        return;
    }
    if (count <= 1) { // no chunk but the one that is never used
        free_list(store);
        return;
    }
    // Free ids in ascending order, so that those that come again are the low ones.
    store->chunk_free = 0;
    for (uint32_t id = count; id-- > 1;) {
        if (store->chunks[id].base == NULL) {
            store->chunks[id].of.next_free = store->chunk_free;
            store->chunk_free = id;
        }
    }
    store->chunk_count = count;
    (void)resize_list(store, count);
}

void mi_chunks_trim_region(mi_store *store) {
    if (store->region == NULL) {
        return;
    }
    mi_region_trim(store->region);
    if (mi_region_statistics(store->region).block_count == 0) {
        mi_region_destroy(store->region);
        store->region = NULL;
    }
}

void mi_chunks_free(mi_store *store) {
    free_list(store);
    mi_chunks_release_outgrown(store);
    if (store->region != NULL) {
        mi_region_destroy(store->region);
        store->region = NULL;
    }
}
