// Tables and their graph: finding, making and dropping them. Rows are in rows.c, the order of tables in table_order.c.
//
// A set of components is looked up by hash and compared in full. `ordered` is kept lazily: new tables stand behind the
// sorted part until somebody asks for the order, so that making many tables costs one sort. The relative order of two
// tables never changes, since names do not.
#include "store/store.h"

#include "store/chunks.h"
#include "store/pools.h"
#include "store/visibility.h"

#include <string.h>

// Inline functions of the public headers look up values by themselves: what they see of a world, a chunk and a table
// has to be what is there.
#define MI_SAME_PLACE(TYPE, MEMBER, HEAD, HEAD_MEMBER) \
    _Static_assert(offsetof(TYPE, MEMBER) == offsetof(struct HEAD, HEAD_MEMBER), #HEAD ": " #HEAD_MEMBER)
MI_SAME_PLACE(mi_store, key, mica_head, key);
MI_SAME_PLACE(mi_store, peek_key, mica_head, peek_key);
MI_SAME_PLACE(mi_store, version, mica_head, version);
MI_SAME_PLACE(mi_store, chunks, mica_head, chunks);
MI_SAME_PLACE(mi_store, pools.data, mica_head, pools);
MI_SAME_PLACE(mi_store, pools.count, mica_head, pool_count);
MI_SAME_PLACE(mi_store, slots.data, mica_head, slots);
MI_SAME_PLACE(mi_store, slots.bound, mica_head, slot_count);
MI_SAME_PLACE(mi_store, slots.capacity, mica_head, slot_capacity);
MI_SAME_PLACE(mi_store, slots.used, mica_head, slot_used);
MI_SAME_PLACE(mi_store, slots.free_head, mica_head, slot_free);
MI_SAME_PLACE(mi_store, slots.alive, mica_head, slot_alive);
MI_SAME_PLACE(mi_store, slots.issued, mica_head, slot_issued);
MI_SAME_PLACE(mi_store, tables_dropped, mica_head, tables_dropped);
MI_SAME_PLACE(mi_chunk, base, mica_head_chunk, base);
MI_SAME_PLACE(mi_chunk, of, mica_head_chunk, table);
MI_SAME_PLACE(mi_column_head, stamp, mica_head_column, stamp);
MI_SAME_PLACE(mi_table, offset_count, mica_head_table, offset_count);
MI_SAME_PLACE(mi_table, row_count, mica_head_table, row_count);
MI_SAME_PLACE(mi_table, tail_base, mica_head_table, tail_base);
MI_SAME_PLACE(mi_table, tail_first, mica_head_table, tail_first);
MI_SAME_PLACE(mi_table, tail_location, mica_head_table, tail_location);
MI_SAME_PLACE(mi_table, room, mica_head_table, room);
MI_SAME_PLACE(mi_table, row_mask, mica_head_table, row_mask);
MI_SAME_PLACE(mi_pool, sparse, mica_head_pool, sparse);
MI_SAME_PLACE(mi_pool, sparse_count, mica_head_pool, sparse_count);
MI_SAME_PLACE(mi_pool, page_shift, mica_head_pool, page_shift);
MI_SAME_PLACE(mi_pool, pages, mica_head_pool, pages);
MI_SAME_PLACE(mi_pool, values, mica_head_pool, values);
_Static_assert(sizeof(mi_chunk) == sizeof(struct mica_head_chunk), "head: chunks");
_Static_assert(sizeof(mi_column_head) == sizeof(struct mica_head_column), "head: columns");
_Static_assert(offsetof(mi_table, offset_of) == MICA_HEAD_OFFSETS_AT, "head: offsets");
_Static_assert(MI_SPARSE_SHIFT == MICA_HEAD_SPARSE_SHIFT, "head: positions");
_Static_assert(MI_ROW_BITS == MICA_HEAD_ROW_BITS && MI_COLUMN_ALIGN == MICA_HEAD_COLUMN_ALIGN, "head: locations");
_Static_assert(MI_SLOT_FREE == MICA_HEAD_NOWHERE, "head: nowhere");

typedef struct table_key {
    const mi_store *store;
    const mica_component *components;
    uint32_t count;
} table_key;

static bool table_equal(const void *context, uint32_t value) {
    const table_key *key = context;
    const mi_table *table = key->store->tables.data[value];
    return table->component_count == key->count &&
           (key->count == 0 || memcmp(table->components, key->components, key->count * sizeof(mica_component)) == 0);
}

static uint64_t hash_components(const mica_component *components, uint32_t count) {
    return mi_hash_bytes(components, count * sizeof(mica_component));
}

// The hooks' allocator: the store's heap, counted under "values".
static void *values_allocate(void *user, size_t byte_size, size_t alignment) {
    return mi_heap_allocate(user, MICA_MEMORY_VALUES, byte_size, alignment);
}

static void values_release(void *user, void *memory, size_t byte_size, size_t alignment) {
    mi_heap_release(user, MICA_MEMORY_VALUES, memory, byte_size, alignment);
}

bool mi_store_init(mi_store *store, mi_heap *heap, mica_schema *schema) {
    *store = (mi_store){.heap = heap, .schema = schema, .version = 1};
    store->key = (uint64_t)mi_schema_serial(schema) << 32;
    store->peek_key = store->key;
    store->values = (mica_allocator){.allocate = values_allocate, .release = values_release, .user = heap};
    store->no_chunk.of.table = mi_store_table(store, NULL, 0);
    store->chunks = &store->no_chunk;
    return store->no_chunk.of.table != NULL;
}

void mi_store_free(mi_store *store) {
    mi_store_clear_rows(store);
    for (uint32_t id = 0; id < store->tables.count; id++) {
        if (store->tables.data[id] != NULL) {
            mi_chunks_release_all(store, store->tables.data[id]);
            mi_table_destroy(store->heap, store->tables.data[id]);
        }
    }
    mi_store_free_pools(store);
    mi_store_free_visibility(store);
    mi_heap *heap = store->heap;
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->tables);
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->ordered);
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->ordered_words);
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->table_ids_free);
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->scratch);
    mi_map_free(&store->table_map, heap, MICA_MEMORY_TABLES);
    mi_chunks_free(store);
    mi_slots_free(&store->slots, heap);
}

// Tables

static bool reserve_table(mi_store *store) {
    mi_heap *heap = store->heap;
    return MI_RESERVE(heap, MICA_MEMORY_TABLES, &store->tables, store->tables.count + 1) &&
           MI_RESERVE(heap, MICA_MEMORY_TABLES, &store->ordered, store->ordered.count + 1) &&
           MI_RESERVE(heap, MICA_MEMORY_TABLES, &store->ordered_words, store->ordered.count + 1) &&
           mi_map_reserve(&store->table_map, heap, MICA_MEMORY_TABLES, 1);
}

mi_table *mi_store_table(mi_store *store, const mica_component *components, uint32_t count) {
    const uint64_t hash = hash_components(components, count);
    const table_key key = {.store = store, .components = components, .count = count};
    const uint32_t found = mi_map_find(&store->table_map, hash, table_equal, &key);
    if (found != MI_MAP_NONE) {
        return store->tables.data[found];
    }
    store->failure = MICA_OUT_OF_MEMORY;
    if (!reserve_table(store)) {
        return NULL;
    }
    mi_table *table = mi_table_create(store->heap, store->schema, components, count, &store->failure);
    if (table == NULL) {
        store->limit = store->heap->parts_values
                           ? "an entity has too many components for columns with pages of their own"
                           : "an entity's components have more than 4 MiB";
        return NULL;
    }
    if (store->table_ids_free.count > 0) {
        table->id = store->table_ids_free.data[--store->table_ids_free.count];
    } else {
        table->id = store->tables.count++;
    }
    store->tables.data[table->id] = table;
    if (table->id != 0) { // the root has no place in the order of visit
        store->ordered.data[store->ordered.count++] = table;
        store->ordered_words.data[store->ordered_words.count++] = table->bits[0];
        if (table->offset_count > store->component_bound) {
            store->component_bound = table->offset_count;
        }
    }
    mi_map_insert(&store->table_map, hash, table->id);
    store->tables_live++;
    store->tables_made++;
    return table;
}

// Adds a component, if it lives in tables, to the ascending set in `scratch`; room is reserved.
static void scratch_insert(mi_store *store, const mi_type *type) {
    const mica_component component = type->info.id;
    uint32_t place = store->scratch.count;
    while (place > 0 && store->scratch.data[place - 1] > component) {
        place--;
    }
    if (type->in_pool || (place > 0 && store->scratch.data[place - 1] == component)) {
        return;
    }
    memmove(&store->scratch.data[place + 1], &store->scratch.data[place],
            (store->scratch.count - place) * sizeof(mica_component));
    store->scratch.data[place] = component;
    store->scratch.count++;
}

// What leads from one table to another that differs in one component, or in what that brings along.
static mi_edge edge_between(const mi_table *from, mi_table *to, const mi_type *type, bool removes) {
    const mi_table *with = removes ? from : to;
    const mi_table *without = removes ? to : from;
    mi_edge edge = {.key = mi_edge_key(type->info.id, removes), .gap = MI_GAP_NONE, .to = to};
    if (with->is_plain && without->is_plain && with->component_count == without->component_count + 1 &&
        mi_table_has(with, type->info.id) && type->info.hooks.attach == NULL && !type->brings_pool &&
        !type->info.toggle) {
        edge.gap = type->info.size == 0 ? MI_GAP_TAG : 0;
        while (edge.gap < with->column_count && with->columns[edge.gap].type->info.id != type->info.id) {
            edge.gap++;
        }
    }
    return edge;
}

mi_table *mi_store_find_with(mi_store *store, mi_table *table, mica_component component) {
    const mi_type *type = mi_schema_type(store->schema, component);
    if (type->in_pool && !type->brings_table) {
        return table;
    }
    const uint32_t need = table->component_count + 1u + (uint32_t)type->info.required_count;
    if (!MI_RESERVE(store->heap, MICA_MEMORY_TABLES, &store->scratch, need)) {
        store->failure = MICA_OUT_OF_MEMORY;
        return NULL;
    }
    store->scratch.count = table->component_count;
    if (table->component_count > 0) {
        memcpy(store->scratch.data, table->components, table->component_count * sizeof(mica_component));
    }
    scratch_insert(store, type);
    for (int32_t i = 0; i < type->info.required_count; i++) {
        scratch_insert(store, mi_schema_type(store->schema, type->info.required[i]));
    }
    mi_table *target = mi_store_table(store, store->scratch.data, store->scratch.count);
    if (target != NULL) {
        mi_table_remember_edge(store->heap, table, edge_between(table, target, type, false));
    }
    return target;
}

mi_table *mi_store_find_without(mi_store *store, mi_table *table, mica_component component) {
    if (table->component_count == 1) {
        return mi_store_root(store);
    }
    if (!MI_RESERVE(store->heap, MICA_MEMORY_TABLES, &store->scratch, table->component_count)) {
        store->failure = MICA_OUT_OF_MEMORY;
        return NULL;
    }
    store->scratch.count = 0;
    for (uint32_t i = 0; i < table->component_count; i++) {
        if (table->components[i] != component) {
            store->scratch.data[store->scratch.count++] = table->components[i];
        }
    }
    mi_table *target = mi_store_table(store, store->scratch.data, store->scratch.count);
    if (target != NULL) {
        const mi_type *type = mi_schema_type(store->schema, component);
        mi_table_remember_edge(store->heap, table, edge_between(table, target, type, true));
    }
    return target;
}

// Dropping

static void drop_table(mi_store *store, mi_table *table) {
    mi_chunks_release_all(store, table);
    mi_map_remove(&store->table_map, hash_components(table->components, table->component_count), table->id);
    store->tables.data[table->id] = NULL;
    store->tables_live--;
    mi_table_destroy(store->heap, table);
}

// Tables without rows; the others give back the chunks that they do not need. Whether one was dropped.
static bool drop_tables(mi_store *store) {
    uint32_t kept = 0;
    uint32_t kept_sorted = 0;
    const uint32_t live_before = store->tables_live;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        mi_table *table = store->ordered.data[i];
        if (table->row_count == 0 && table->kept_rows == 0) {
            drop_table(store, table);
            continue;
        }
        mi_chunks_release_spare(store, table);
        store->ordered_words.data[kept] = store->ordered_words.data[i];
        store->ordered.data[kept++] = table;
        kept_sorted += i < store->sorted_count;
    }
    store->ordered.count = kept;
    store->ordered_words.count = kept;
    store->sorted_count = kept_sorted;
    return store->tables_live != live_before;
}

// Lists the ids that no table has, so that the lowest is given out first. Without memory for the list they wait for the
// next time.
static void note_free_ids(mi_store *store) {
    mi_heap *heap = store->heap;
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->table_ids_free);
    const uint32_t free_count = store->tables.count - store->tables_live;
    if (free_count == 0 || !MI_RESERVE(heap, MICA_MEMORY_TABLES, &store->table_ids_free, free_count)) {
        return;
    }
    for (uint32_t id = store->tables.count; id-- > 0;) {
        if (store->tables.data[id] == NULL) {
            store->table_ids_free.data[store->table_ids_free.count++] = id;
        }
    }
}

// Gives back what the lists of tables and the map have room for beyond the tables that there are.
static void shrink_lists(mi_store *store) {
    mi_heap *heap = store->heap;
    uint32_t count = store->tables.count;
    while (store->tables.data[count - 1] == NULL) { // the root stays
        count--;
    }
    store->tables.count = count;
    note_free_ids(store);
    MI_SHRINK(heap, MICA_MEMORY_TABLES, &store->tables);
    MI_SHRINK(heap, MICA_MEMORY_TABLES, &store->ordered);
    MI_SHRINK(heap, MICA_MEMORY_TABLES, &store->ordered_words);
    MI_FREE(heap, MICA_MEMORY_TABLES, &store->scratch);
    mi_map_shrink(&store->table_map, heap, MICA_MEMORY_TABLES);
}

void mi_store_trim(mi_store *store) {
    mi_chunks_release_outgrown(store);
    if (drop_tables(store)) {
        for (uint32_t id = 0; id < store->tables.count; id++) {
            if (store->tables.data[id] != NULL) {
                mi_table_forget_edges(store->heap, store->tables.data[id]);
            }
        }
        store->tables_dropped++;
    }
    shrink_lists(store);
    mi_slots_trim(&store->slots, store->heap);
    mi_chunks_shrink_list(store);
    mi_store_trim_pools(store);
    mi_store_trim_visibility(store);
    mi_chunks_trim_region(store);
}

// Validation

static bool is_tail_right(const mi_store *store, const mi_table *table) {
    if (table->tail_first == MI_TAIL_NONE) {
        return true;
    }
    const uint32_t chunk_index = table->tail_first >> table->shift;
    return chunk_index < table->chunk_count && (table->tail_first & table->row_mask) == 0 &&
           table->tail_location == table->chunk_ids[chunk_index] << MI_ROW_BITS &&
           table->tail_base == store->chunks[table->chunk_ids[chunk_index]].base;
}

static const char *validate_table(const mi_store *store, const mi_table *table) {
    const uint32_t full = mi_table_full_room(table);
    if (table->chunk_room > full || (table->chunk_room < full && table->chunk_count > 1)) {
        return "table: chunks of other room than its rows are numbered by";
    }
    if (table->room != (uint64_t)table->chunk_count * table->chunk_room || table->room < table->row_count) {
        return "table: more rows than its chunks hold, or other room than they have";
    }
    if (!is_tail_right(store, table)) {
        return "table: another chunk than the one where rows come and go";
    }
    if (table->chunk_count > 0 && table->first_base != store->chunks[table->chunk_ids[0]].base) {
        return "table: its first chunk is elsewhere";
    }
    for (uint32_t i = 0; i + 1 < table->component_count; i++) {
        if (table->components[i] >= table->components[i + 1]) {
            return "table: components out of order";
        }
    }
    for (uint32_t row = 0; row < table->row_count; row++) {
        const uint32_t location = mi_store_location(table, row);
        const mi_chunk *chunk = &store->chunks[location >> MI_ROW_BITS];
        if (chunk->base == NULL || chunk->of.table != table) {
            return "table: a chunk belongs to another table";
        }
        const mica_entity entity = ((const mica_entity *)(const void *)chunk->base)[mi_row_of(location)];
        uint32_t found = 0;
        if (!mi_slots_resolve(&store->slots, entity, &found) || found != location) {
            return "table: a row's entity does not name that row";
        }
    }
    for (uint32_t i = 0; i <= table->edge_mask; i++) {
        const mi_edge edge = table->edges[i];
        if (edge.key != 0 && (edge.to->id >= store->tables.count || store->tables.data[edge.to->id] != edge.to)) {
            return "table: an edge leads nowhere";
        }
    }
    return NULL;
}

const char *mi_store_validate(const mi_store *store) {
    const char *fault = mi_slots_validate(&store->slots);
    uint64_t rows = 0;
    for (uint32_t id = 0; fault == NULL && id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        if (table != NULL) {
            fault = validate_table(store, table);
            rows += table->row_count;
        }
    }
    uint64_t placed = 0;
    for (uint32_t index = 1; fault == NULL && index < mi_slots_end(&store->slots); index++) {
        const uint32_t location = mi_slots_location(&store->slots, index);
        if ((location & MI_SLOT_FREE) == 0 && location != 0) {
            placed++;
            if (location >> MI_ROW_BITS >= store->chunk_count) {
                return "entity index: a location names no chunk";
            }
        }
    }
    if (fault == NULL && placed != rows) {
        return "entity index: locations and rows differ in number";
    }
    for (uint32_t i = 0; fault == NULL && i + 1 < store->sorted_count; i++) {
        if (mi_table_compare(store, store->ordered.data[i], store->ordered.data[i + 1]) >= 0) {
            return "store: tables out of canonical order";
        }
    }
    for (uint32_t i = 0; fault == NULL && i < store->ordered.count; i++) {
        if (store->ordered_words.data[i] != store->ordered.data[i]->bits[0]) {
            return "store: a table's components are not what is known of them";
        }
    }
    if (fault == NULL && store->region != NULL && !mi_region_validate(store->region)) {
        return "chunk memory: broken";
    }
    fault = fault == NULL ? mi_store_validate_pools(store) : fault;
    return fault == NULL ? mi_store_validate_visibility(store) : fault;
}
