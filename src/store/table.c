// Making tables: which columns stand where in a chunk, and the cache of edges.
//
// A table and its fixed arrays are one allocation. The offsets depend on how many rows a chunk has;
// mi_table_set_chunk_room computes them, which is right only while the table has no chunk or its chunks have that
// layout already.
#include "store/table.h"
#include "base/bitset.h"
#include "base/map.h"
#include "store/lanes.h"

#include <string.h>

_Static_assert(MI_LANE_ALIGN == MI_COLUMN_ALIGN, "lanes are aligned as columns are");

static size_t align_up(size_t value, size_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

size_t mi_column_offset(const mi_table *table, size_t end, const mi_type *type) {
    if (table->parts_columns) {
        return mi_heap_whole_pages(mi_heap_whole_pages(end) + sizeof(mi_column_head));
    }
    return align_up(end + sizeof(mi_column_head),
                    type->info.align > MI_COLUMN_ALIGN ? type->info.align : MI_COLUMN_ALIGN);
}

// The size of a chunk whose last column ends at `end`.
static size_t close_chunk(const mi_table *table, size_t end) {
    return table->parts_columns ? mi_heap_whole_pages(end) : align_up(end, MI_COLUMN_ALIGN);
}

size_t mi_column_byte_size(const mi_column *column, uint32_t chunk_room) {
    return mi_type_in_lanes(column->type) ? mi_lanes_byte_size(column->type, chunk_room)
                                          : (size_t)column->size * chunk_room;
}

mi_column *mi_table_find_column(const mi_table *table, mica_component component) {
    uint32_t low = 0;
    uint32_t high = table->column_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (table->columns[middle].type->info.id < component) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->column_count && table->columns[low].type->info.id == component ? &table->columns[low] : NULL;
}

size_t mi_table_chunk_size(const mi_table *table, uint32_t chunk_room) {
    size_t end = sizeof(mica_entity) * chunk_room;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const size_t offset = mi_column_offset(table, end, table->columns[i].type);
        if (offset / MI_COLUMN_ALIGN >= MI_OFFSET_TAG) {
            return 0;
        }
        end = offset + mi_column_byte_size(&table->columns[i], chunk_room);
    }
    return close_chunk(table, end);
}

uint32_t mi_table_room_step(const mi_table *table, uint64_t rows) {
    const uint32_t full = mi_table_full_room(table);
    uint32_t step = MI_FIRST_ROOM;
    while (step < rows && step < full) {
        const bool is_power = (step & (step - 1)) == 0;
        step = !is_power ? step / 3 * 4 : step < MI_FINE_ROOM ? step / 2 * 3 : step * 2;
    }
    return step < full ? step : full;
}

void mi_table_set_chunk_room(mi_table *table, uint32_t chunk_room) {
    size_t end = sizeof(mica_entity) * chunk_room;
    for (uint32_t i = 0; i < table->column_count; i++) {
        mi_column *column = &table->columns[i];
        const size_t offset = mi_column_offset(table, end, column->type);
        column->offset = (uint32_t)offset;
        if (!mi_type_in_lanes(column->type)) {
            table->offset_of[column->type->info.id] = (uint16_t)(offset / MI_COLUMN_ALIGN);
        }
        end = offset + mi_column_byte_size(column, chunk_room);
    }
    table->chunk_room = chunk_room;
    table->room = table->chunk_count * chunk_room;
    table->chunk_size = (uint32_t)close_chunk(table, end);
}

size_t mi_table_moved_offset(const mi_table *table, uint32_t chunk_room, size_t offset) {
    size_t end = sizeof(mica_entity) * chunk_room;
    for (uint32_t i = 0; i < table->column_count && offset >= end; i++) {
        const mi_column *column = &table->columns[i];
        const size_t start = mi_column_offset(table, end, column->type);
        end = start + mi_column_byte_size(column, chunk_room);
        if (offset >= start && offset < end) {
            return column->offset +
                   (mi_type_in_lanes(column->type)
                        ? mi_lanes_moved_offset(column->type, table->chunk_room, chunk_room, offset - start)
                        : offset - start);
        }
    }
    return offset;
}

// The largest power of two of rows that fits a full chunk.
static uint32_t full_shift_of(const mi_table *table) {
    size_t row_size = sizeof(mica_entity);
    for (uint32_t i = 0; i < table->column_count; i++) {
        row_size += table->columns[i].size;
    }
    uint32_t shift = 0;
    while (shift < MI_ROW_BITS && row_size << (shift + 1) <= MI_CHUNK_BYTES) {
        shift++;
    }
    // Heads and what lies between columns come on top.
    while (shift > 0 &&
           (mi_table_chunk_size(table, 1u << shift) > MI_CHUNK_BYTES || mi_table_chunk_size(table, 1u << shift) == 0)) {
        shift--;
    }
    return shift;
}

static void fill_columns(mi_table *table, const mica_schema *schema) {
    table->moves_bytes = true;
    table->chunk_align = MI_COLUMN_ALIGN;
    for (uint32_t i = 0; i < table->component_count; i++) {
        const mi_type *type = mi_schema_type(schema, table->components[i]);
        mi_bit_set(table->bits, table->components[i]);
        table->has_toggle |= type->info.toggle;
        if (type->info.size == 0 || mi_type_in_lanes(type)) {
            table->offset_of[type->info.id] = MI_OFFSET_TAG;
        }
        if (type->info.size == 0) {
            continue;
        }
        table->columns[table->column_count++] = (mi_column){.type = type, .size = type->info.size};
        table->last_byte_of[type->info.id] =
            (uint16_t)(mi_type_in_lanes(type) ? table->column_count - 1u : type->info.size - 1);
        table->has_destruct |= type->info.hooks.destruct != NULL;
        table->can_fail |= type->info.hooks.construct != NULL || type->info.hooks.copy != NULL;
        table->moves_bytes &= type->info.hooks.move == NULL && !mi_type_in_lanes(type);
        table->has_lanes |= mi_type_in_lanes(type);
        if (type->info.align > table->chunk_align) {
            table->chunk_align = (uint16_t)type->info.align; // up to 4096
        }
    }
    table->is_plain = table->moves_bytes && !table->has_destruct && !table->can_fail;
    table->shift = (uint8_t)full_shift_of(table);
    table->row_mask = mi_table_full_room(table) - 1;
}

// Gives columns pages of their own from now on. How many rows a chunk has is settled by then.
static void part_columns(mi_table *table) {
    table->parts_columns = true;
    table->chunk_align = (uint16_t)MI_HEAP_PAGE;
}

static void sort_by_name(mi_table *table, const mica_schema *schema) {
    for (uint32_t i = 0; i < table->component_count; i++) {
        const mi_type *type = mi_schema_type(schema, table->components[i]);
        uint32_t place = i;
        while (place > 0 && mi_type_compare_names(type, mi_schema_type(schema, table->by_name[place - 1])) < 0) {
            table->by_name[place] = table->by_name[place - 1];
            place--;
        }
        table->by_name[place] = type->info.id;
    }
}

// Edges

static const mi_edge no_edges[1];

static void release_edges(mi_heap *heap, mi_table *table) {
    if (table->edge_mask != 0) {
        mi_heap_release(heap, MICA_MEMORY_TABLES, (void *)(uintptr_t)table->edges,
                        (table->edge_mask + 1) * sizeof(mi_edge), _Alignof(mi_edge));
    }
}

void mi_table_forget_edges(mi_heap *heap, mi_table *table) {
    release_edges(heap, table);
    table->edges = no_edges;
    table->edge_mask = 0;
    table->edge_count = 0;
}

static void put_edge(mi_edge *edges, uint32_t mask, mi_edge edge) {
    edges[mi_edge_place(edges, mask, edge.key)] = edge;
}

// Whether another edge is looked for first where that of `key` is, among mask + 1 cells.
static bool is_place_taken(const mi_table *table, uint32_t mask, uint32_t key) {
    for (uint32_t i = 0; i <= table->edge_mask; i++) {
        const uint32_t known = table->edges[i].key;
        if (known != 0 && mi_edge_near_place(mask, known) == mi_edge_near_place(mask, key)) {
            return true;
        }
    }
    return false;
}

// How many cells one more edge takes: a fourth of them stays free, or three fourths where it would have to stand behind
// another one, since only edges that stand where they are looked for first are found fast.
static uint32_t edge_capacity_with(const mi_table *table, uint32_t key) {
    const uint32_t count = table->edge_count + 1;
    uint32_t capacity = table->edge_mask + 1;
    while (count * 4 > capacity * 3 || (count * 4 > capacity && is_place_taken(table, capacity - 1, key))) {
        capacity *= 2;
    }
    return capacity;
}

void mi_table_remember_edge(mi_heap *heap, mi_table *table, mi_edge edge) {
    const uint32_t capacity = edge_capacity_with(table, edge.key);
    if (capacity != table->edge_mask + 1) {
        mi_edge *edges =
            mi_heap_allocate_zeroed(heap, MICA_MEMORY_TABLES, capacity * sizeof(mi_edge), _Alignof(mi_edge));
        if (edges == NULL) {
            return;
        }
        for (uint32_t i = 0; i <= table->edge_mask; i++) {
            if (table->edges[i].key != 0) {
                put_edge(edges, capacity - 1, table->edges[i]);
            }
        }
        release_edges(heap, table);
        table->edges = edges;
        table->edge_mask = capacity - 1;
    }
    put_edge((mi_edge *)(uintptr_t)table->edges, table->edge_mask, edge);
    table->edge_count++;
}

// Tables

mi_table *mi_table_create(mi_heap *heap, const mica_schema *schema, const mica_component *components, uint32_t count,
                          mica_result *failure) {
    uint32_t column_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        column_count += mi_schema_type(schema, components[i])->info.size > 0;
    }
    const uint32_t offset_count = count == 0 ? 0 : (uint32_t)components[count - 1] + 1;
    const uint32_t bit_words = mi_bit_words(offset_count);
    const size_t last_bytes_at = offsetof(mi_table, offset_of) + (offset_count + 1) * sizeof(uint16_t);
    const size_t components_at = last_bytes_at + offset_count * sizeof(uint16_t);
    const size_t names_at = components_at + count * sizeof(mica_component);
    const size_t columns_at = align_up(names_at + count * sizeof(mica_component), _Alignof(mi_column));
    const size_t bits_at = columns_at + column_count * sizeof(mi_column);
    const size_t size = align_up(bits_at + bit_words * sizeof(uint64_t), _Alignof(mi_table));

    uint8_t *memory = mi_heap_allocate_zeroed(heap, MICA_MEMORY_TABLES, size, _Alignof(max_align_t));
    if (memory == NULL) {
        *failure = MICA_OUT_OF_MEMORY;
        return NULL;
    }
    mi_table *table = (mi_table *)(void *)memory;
    table->edges = no_edges;
    table->tail_first = MI_TAIL_NONE;
    table->columns = (mi_column *)(void *)(memory + columns_at);
    table->bits = (uint64_t *)(void *)(memory + bits_at);
    table->last_byte_of = (uint16_t *)(void *)(memory + last_bytes_at);
    table->components = (mica_component *)(void *)(memory + components_at);
    table->by_name = (mica_component *)(void *)(memory + names_at);
    table->bit_words = (uint16_t)bit_words;
    table->offset_count = offset_count;
    table->component_count = (uint16_t)count;
    table->chunk_ids = &table->first_chunk_id;
    table->chunk_capacity = 1;
    table->allocation_size = (uint32_t)size; // ids of 16 bits bound it
    if (count > 0) {
        memcpy(table->components, components, count * sizeof(mica_component));
    }
    fill_columns(table, schema);
    if (heap->parts_values) {
        part_columns(table);
    }
    sort_by_name(table, schema);
    if (mi_table_chunk_size(table, mi_table_full_room(table)) == 0) {
        *failure = MICA_LIMIT;
        mi_table_destroy(heap, table);
        return NULL;
    }
    mi_table_set_chunk_room(table, mi_table_room_step(table, 1));
    return table;
}

size_t mi_table_byte_size(const mi_table *table) {
    return table->allocation_size + (mi_table_lists_apart(table) ? table->chunk_capacity * sizeof(uint32_t) : 0) +
           (table->edge_mask == 0 ? 0 : (table->edge_mask + 1) * sizeof(mi_edge));
}

void mi_table_release_list(mi_heap *heap, mi_table *table) {
    if (mi_table_lists_apart(table)) {
        mi_heap_release(heap, MICA_MEMORY_TABLES, table->chunk_ids, table->chunk_capacity * sizeof(uint32_t),
                        sizeof(uint32_t));
    }
}

void mi_table_destroy(mi_heap *heap, mi_table *table) {
    mi_table_release_list(heap, table);
    release_edges(heap, table);
    mi_heap_release(heap, MICA_MEMORY_TABLES, table, table->allocation_size, _Alignof(max_align_t));
}
