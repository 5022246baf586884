// Tables in snapshots: taking images of their chunks, and bringing chunks back to what images say.
//
// Restoring goes in two steps around that of the entity index. First all rows that may not stay where they are let go
// of their slots; when the index is what it was, rows come back and their slots say where they are. Rows of a chunk
// whose handles and number are as the image has them are not looked at in either step.
#include "state/capture.h"
#include "state/restore.h"
#include "state/state.h"
#include "state/transients.h"
#include "store/chunks.h"
#include "store/visibility.h"
#include "world/rewind.h"

#include <string.h>

// The columns of a table that a snapshot has, in order.
static bool is_kept(const mi_column *column, bool leaves_transient) {
    return !(leaves_transient && column->type->info.transient);
}

static uint32_t kept_count(const mi_table *table, bool leaves_transient) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        count += is_kept(&table->columns[i], leaves_transient);
    }
    return count;
}

static uint8_t *chunk_base(const mi_store *store, const mi_table *table, uint32_t chunk_index) {
    return store->chunks[table->chunk_ids[chunk_index]].base;
}

static bool names(const mi_column_head *head, const mi_image *image) {
    return mi_stamp_is_named(head->stamp) && head->image == image->number;
}

// Lets a column name an image that it equals.
static void name_column(mi_column_head *head, const mi_column_image *image) {
    const mi_type *type = image->image->type;
    const bool is_watched = type == NULL || !type->info.always_dirty;
    head->stamp = image->version | (is_watched ? MI_STAMP_NAMED : 0);
    head->image = image->image->number & ((UINT64_C(1) << 48) - 1);
}

// Capture

// Whether a chunk is as its image says, and nobody may have written to it since.
static bool is_same(const mi_table *table, uint8_t *base, uint32_t rows, const mi_chunk_image *image,
                    bool leaves_transient) {
    if (image->row_count != rows || !names(mi_column_head_of(base), image->handles.image)) {
        return false;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (is_kept(column, leaves_transient) &&
            !names(mi_column_head_of(base + column->offset), image->columns[kept++].image)) {
            return false;
        }
    }
    return true;
}

typedef struct lanes_source {
    const mi_table *table;
    const mi_column *column;
    const uint8_t *start;
    uint32_t rows;
} lanes_source;

static void gather_lanes(const void *context, void *to) {
    const lanes_source *source = context;
    mi_lanes_read(source->column->type, source->table->chunk_room, source->start, 0, to, source->rows);
}

// Takes the image of one column, at `start`, which names it from then on; false: failed.
static bool capture_column(mi_capture *capture, const mi_table *table, const mi_column *column, uint8_t *start,
                           uint32_t rows, const mi_column_image *base, mi_column_image *image) {
    mi_column_head *head = mi_column_head_of(start);
    const bool in_lanes = column != NULL && mi_type_in_lanes(column->type);
    const lanes_source lanes = {.table = table, .column = column, .start = start, .rows = rows};
    const mi_captured_column captured = {.type = column == NULL ? NULL : column->type,
                                         .count = rows,
                                         .values = in_lanes ? NULL : start,
                                         .gather = gather_lanes,
                                         .gather_context = &lanes,
                                         .stamp = head->stamp,
                                         .name = head->image};
    image->image = mi_capture_column(capture, &captured, base);
    image->version = mi_stamp_version(head->stamp);
    if (image->image != NULL) {
        name_column(head, image);
    }
    return image->image != NULL;
}

static mi_chunk_image *capture_chunk(mi_capture *capture, const mi_table *table, uint8_t *base, uint32_t rows,
                                     const mi_chunk_image *earlier) {
    const bool leaves = capture->leaves_transient;
    mi_chunk_image *chunk = mi_chunk_image_create(capture->vault, kept_count(table, leaves));
    if (chunk == NULL) {
        mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    chunk->row_count = rows;
    bool is_fine =
        capture_column(capture, table, NULL, base, rows, earlier == NULL ? NULL : &earlier->handles, &chunk->handles);
    uint32_t kept = 0;
    for (uint32_t i = 0; is_fine && i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (is_kept(column, leaves)) {
            is_fine = capture_column(capture, table, column, base + column->offset, rows,
                                     earlier == NULL ? NULL : &earlier->columns[kept], &chunk->columns[kept]);
            kept++;
        }
    }
    if (!is_fine) {
        mi_chunk_image_release(capture->vault, chunk);
        return NULL;
    }
    return chunk;
}

// How many of the first chunks are as their images say.
static uint32_t count_same(const mi_capture *capture, const mi_table *table, const mi_rows_image *earlier,
                           uint32_t from) {
    const uint32_t count = mi_table_chunks_for(table, table->row_count);
    uint32_t k = from;
    while (k < count && k < earlier->chunk_count &&
           is_same(table, chunk_base(&capture->world->store, table, k), mi_table_chunk_rows(table, k),
                   earlier->chunks[k], capture->leaves_transient)) {
        k++;
    }
    return k;
}

static mi_rows_image *make_rows(const mi_capture *capture, const mi_table *table) {
    mi_rows_image *rows =
        mi_rows_image_create(capture->vault, table->component_count, kept_count(table, capture->leaves_transient),
                             mi_table_chunks_for(table, table->row_count));
    if (rows == NULL) {
        return NULL;
    }
    rows->row_count = table->row_count;
    rows->shift = table->shift;
    memcpy(rows->components, table->components, table->component_count * sizeof(mica_component));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (is_kept(&table->columns[i], capture->leaves_transient)) {
            rows->columns[kept++] = table->columns[i].type;
        }
    }
    return rows;
}

static mi_rows_image *capture_table(mi_capture *capture, const mi_table *table, mi_rows_image *earlier) {
    const uint32_t chunk_count = mi_table_chunks_for(table, table->row_count);
    uint32_t same = earlier == NULL ? 0 : count_same(capture, table, earlier, 0);
    if (earlier != NULL && same == chunk_count && earlier->chunk_count == chunk_count) {
        earlier->reference_count++;
        return earlier;
    }
    mi_rows_image *rows = make_rows(capture, table);
    for (uint32_t k = 0; rows != NULL && k < chunk_count; k++) {
        if (k == same) {
            mi_chunk_image *before = earlier != NULL && k < earlier->chunk_count ? earlier->chunks[k] : NULL;
            rows->chunks[k] = capture_chunk(capture, table, chunk_base(&capture->world->store, table, k),
                                            mi_table_chunk_rows(table, k), before);
            same = earlier == NULL ? k + 1 : count_same(capture, table, earlier, k + 1);
        } else {
            rows->chunks[k] = earlier->chunks[k];
            rows->chunks[k]->reference_count++;
        }
        if (rows->chunks[k] == NULL) {
            mi_rows_image_release(rows);
            return NULL;
        }
    }
    if (rows == NULL) {
        mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    return rows;
}

bool mi_tables_capture(mi_capture *capture, mica_snapshot *snapshot) {
    mi_store *store = &capture->world->store;
    mi_state *state = mi_state_find(capture->world);
    if (!mi_store_order(store) || !mi_state_reserve_places(state)) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        count += store->ordered.data[i]->row_count > 0;
    }
    snapshot->tables = count == 0 ? NULL : mi_vault_take(capture->vault, count * sizeof(mi_rows_image *));
    if (count > 0 && snapshot->tables == NULL) {
        return mi_capture_fail(capture, MICA_OUT_OF_MEMORY, NULL);
    }
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        if (table->row_count == 0) {
            continue;
        }
        mi_rows_image *earlier = capture->base == NULL ? NULL : mi_state_find_table(state, table);
        mi_rows_image *rows = capture_table(capture, table, earlier);
        if (rows == NULL) {
            return false;
        }
        snapshot->tables[snapshot->table_count++] = rows;
    }
    return true;
}

// Restoring

// Values of a column that hooks have copied ahead, in the order in which they are needed.
typedef struct hooked_copy {
    const mi_type *type;
    uint32_t count;
    void *values; // NULL: they are in place
} hooked_copy;

typedef struct prepared_table {
    mi_table *table;
    uint32_t chunk_end; // its chunks that differ end here among those of all tables
} prepared_table;

typedef struct mi_prepared_tables {
    prepared_table *tables;    // by number in the snapshot
    MI_ARRAY(uint32_t) chunks; // those that differ, by number in their table
    MI_ARRAY(hooked_copy) copies;
    uint32_t copy_at; // the next one to be put in place
    mi_transients transients;
} mi_prepared_tables;

// A column of a chunk beside its image.
typedef struct column_pair {
    const mi_column *column; // NULL: handles
    uint8_t *start;
    const mi_column_image *image;
    uint32_t first; // rows up to here are as the image says
    uint32_t rows;  // that there are now
    uint32_t count; // that there shall be
} column_pair;

static uint32_t present_rows(const mi_table *table, uint32_t chunk_index) {
    return chunk_index << table->shift < table->row_count ? mi_table_chunk_rows(table, chunk_index) : 0;
}

static column_pair pair_column(const mi_column *column, uint8_t *start, const mi_column_image *image, uint32_t rows,
                               uint32_t count) {
    const bool is_named = names(mi_column_head_of(start), image->image);
    return (column_pair){.column = column,
                         .start = start,
                         .image = image,
                         .first = !is_named      ? 0
                                  : rows < count ? rows
                                                 : count,
                         .rows = rows,
                         .count = count};
}

static column_pair pair_handles(const mi_restore *restore, const mi_table *table, uint32_t chunk_index,
                                const mi_chunk_image *image) {
    return pair_column(NULL, chunk_base(&restore->world->store, table, chunk_index), &image->handles,
                       present_rows(table, chunk_index), image->row_count);
}

static bool copy_ahead(mi_restore *restore, const column_pair *pair) {
    const mi_type *type = pair->column->type;
    mica_world *world = restore->world;
    mi_prepared_tables *prepared = restore->tables;
    const uint32_t count = pair->count - pair->first;
    if (!mi_type_is_owning(type) || count == 0) {
        return true;
    }
    const size_t byte_size = (size_t)type->info.size * count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_STATE, &prepared->copies, prepared->copies.count + 1)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    void *values = mi_heap_allocate(&world->heap, MICA_MEMORY_STATE, byte_size, type->info.align);
    const uint8_t *from = pair->image->image->data + (size_t)pair->first * type->info.size;
    if (values != NULL && !mi_value_copy(type, &world->store.values, values, from, count)) {
        mi_heap_release(&world->heap, MICA_MEMORY_STATE, values, byte_size, type->info.align);
        values = NULL;
    }
    if (values == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    prepared->copies.data[prepared->copies.count++] = (hooked_copy){.type = type, .count = count, .values = values};
    return true;
}

// Goes over the columns of a chunk that the snapshot has, each beside its image, the handles not among them.
typedef bool (*pair_function)(mi_restore *restore, const column_pair *pair, uint32_t number);

static bool each_column(mi_restore *restore, const mi_table *table, uint32_t chunk_index, const mi_chunk_image *image,
                        pair_function visit) {
    uint8_t *base = chunk_base(&restore->world->store, table, chunk_index);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (!is_kept(column, restore->snapshot->leaves_transient)) {
            continue;
        }
        const column_pair pair = pair_column(column, base + column->offset, &image->columns[kept++],
                                             present_rows(table, chunk_index), image->row_count);
        if (!visit(restore, &pair, i)) {
            return false;
        }
    }
    return true;
}

static bool prepare_column(mi_restore *restore, const column_pair *pair, uint32_t number) {
    (void)number;
    return copy_ahead(restore, pair);
}

// Notes that a chunk differs, and copies ahead what it needs.
static bool prepare_chunk(mi_restore *restore, const mi_table *table, uint32_t k, const mi_chunk_image *image) {
    mi_prepared_tables *prepared = restore->tables;
    mi_heap *heap = &restore->world->heap;
    if (!MI_RESERVE(heap, MICA_MEMORY_STATE, &prepared->chunks, prepared->chunks.count + 1)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    prepared->chunks.data[prepared->chunks.count++] = k;
    if (restore->snapshot->leaves_transient) {
        const column_pair handles = pair_handles(restore, table, k, image);
        const mi_transient_rows rows = {.table = table,
                                        .entities = mi_image_handles(image->handles.image) + handles.first,
                                        .count = handles.count - handles.first};
        if (!mi_transients_prepare(restore->world, &prepared->transients, &rows)) {
            return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
        }
    }
    return each_column(restore, table, k, image, prepare_column);
}

// Makes relations among components known to the world, whose parts are to hear of the restore.
static bool attach_relations(mi_restore *restore, const mi_rows_image *rows) {
    mica_world *world = restore->world;
    for (uint32_t i = 0; i < rows->component_count; i++) {
        const mi_type *type = mi_schema_type(world->schema, rows->components[i]);
        if (mi_world_attach(world, type, "mica_snapshot_restore") != MICA_OK) {
            return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
        }
    }
    return true;
}

static bool prepare_table(mi_restore *restore, const mi_rows_image *rows, prepared_table *found) {
    mica_world *world = restore->world;
    mi_store *store = &world->store;
    if (!attach_relations(restore, rows)) {
        return false;
    }
    mi_table *table = mi_store_table(store, rows->components, rows->component_count);
    if (table == NULL) {
        restore->limit = store->limit;
        return mi_restore_fail(restore, store->failure);
    }
    found->table = table;
    const uint32_t more = rows->row_count > table->row_count ? rows->row_count - table->row_count : 0;
    if (!mi_store_open_rows(store, table, more)) {
        restore->limit = store->limit;
        return mi_restore_fail(restore, store->failure);
    }
    if (!mi_rewind_reserve(world, table, rows->chunk_count)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    bool is_fine = true;
    for (uint32_t k = 0; is_fine && k < rows->chunk_count; k++) {
        // Observers that are told may write to what is as it was until then.
        if (restore->tells_all || !is_same(table, chunk_base(store, table, k), present_rows(table, k), rows->chunks[k],
                                           restore->snapshot->leaves_transient)) {
            is_fine = prepare_chunk(restore, table, k, rows->chunks[k]);
        }
    }
    found->chunk_end = restore->tables->chunks.count;
    return is_fine;
}

bool mi_tables_prepare(mi_restore *restore) {
    mica_world *world = restore->world;
    const mica_snapshot *snapshot = restore->snapshot;
    mi_heap *heap = &world->heap;
    mi_prepared_tables *prepared =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_STATE, sizeof(*prepared), _Alignof(mi_prepared_tables));
    restore->tables = prepared;
    if (prepared == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    if (snapshot->table_count > 0) {
        prepared->tables = mi_heap_allocate_zeroed(
            heap, MICA_MEMORY_STATE, snapshot->table_count * sizeof(prepared_table), _Alignof(prepared_table));
        if (prepared->tables == NULL) {
            return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
        }
    }
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        if (!prepare_table(restore, snapshot->tables[i], &prepared->tables[i])) {
            return false;
        }
    }
    // All tables that there will be are there.
    return mi_store_order(&world->store) && mi_state_reserve_places(mi_state_find(world))
               ? true
               : mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
}

static void free_prepared(mi_restore *restore) {
    mi_heap *heap = &restore->world->heap;
    mi_prepared_tables *prepared = restore->tables;
    MI_FREE(heap, MICA_MEMORY_STATE, &prepared->copies);
    MI_FREE(heap, MICA_MEMORY_STATE, &prepared->chunks);
    mi_heap_release(heap, MICA_MEMORY_STATE, prepared->tables, restore->snapshot->table_count * sizeof(prepared_table),
                    _Alignof(prepared_table));
    mi_heap_release(heap, MICA_MEMORY_STATE, prepared, sizeof(*prepared), _Alignof(mi_prepared_tables));
    restore->tables = NULL;
}

static void free_copy(mica_world *world, const hooked_copy *copy) {
    mi_heap_release(&world->heap, MICA_MEMORY_STATE, copy->values, (size_t)copy->type->info.size * copy->count,
                    copy->type->info.align);
}

void mi_tables_cancel(mi_restore *restore) {
    mica_world *world = restore->world;
    mi_prepared_tables *prepared = restore->tables;
    if (prepared == NULL) {
        return;
    }
    mi_transients_cancel(world, &prepared->transients);
    for (uint32_t i = 0; i < prepared->copies.count; i++) {
        const hooked_copy *copy = &prepared->copies.data[i];
        mi_value_destruct(copy->type, &world->store.values, copy->values, copy->count);
        free_copy(world, copy);
    }
    for (uint32_t i = 0; prepared->tables != NULL && i < restore->snapshot->table_count; i++) {
        if (prepared->tables[i].table != NULL) {
            mi_store_close_rows(&world->store, prepared->tables[i].table);
        }
    }
    free_prepared(restore);
}

// Letting go

static bool destruct_column(mi_restore *restore, const column_pair *pair, uint32_t number) {
    (void)number;
    if (pair->column->type->has_destruct && pair->first < pair->rows) {
        mi_value_destruct(pair->column->type, &restore->world->store.values,
                          pair->start + (size_t)pair->first * pair->column->size, pair->rows - pair->first);
    }
    return true;
}

// Lets rows go of their slots.
static void let_go(mi_store *store, const uint8_t *base, uint32_t first, uint32_t end) {
    const mica_entity *entities = (const mica_entity *)(const void *)base;
    for (uint32_t row = first; row < end; row++) {
        mi_slots_move(&store->slots, mica_entity_index(entities[row]), 0);
    }
}

// Ends what is in the chunks of a table from `first` on.
static void let_go_of_rest(mi_restore *restore, const mi_table *table, uint32_t first) {
    mi_store *store = &restore->world->store;
    for (uint32_t k = first; k < mi_table_chunks_for(table, table->row_count); k++) {
        uint8_t *base = chunk_base(store, table, k);
        const uint32_t present = present_rows(table, k);
        let_go(store, base, 0, present);
        for (uint32_t i = 0; table->has_destruct && i < table->column_count; i++) {
            const mi_column *column = &table->columns[i];
            if (is_kept(column, restore->snapshot->leaves_transient)) {
                mi_value_destruct(column->type, &store->values, base + column->offset, present);
            } else {
                mi_transients_end_rows(restore->world, &restore->tables->transients, column, base, 0, present);
            }
        }
    }
}

// Ends what of a chunk is not as its image says.
static void let_go_of_chunk(mi_restore *restore, const mi_table *table, uint32_t k, const mi_chunk_image *image) {
    mi_store *store = &restore->world->store;
    uint8_t *base = chunk_base(store, table, k);
    const column_pair handles = pair_handles(restore, table, k, image);
    let_go(store, base, handles.first, handles.rows);
    if (table->has_destruct) {
        each_column(restore, table, k, image, destruct_column);
    }
    for (uint32_t i = 0; restore->snapshot->leaves_transient && i < table->column_count; i++) {
        if (!is_kept(&table->columns[i], true)) {
            mi_transients_end_rows(restore->world, &restore->tables->transients, &table->columns[i], base,
                                   handles.first, handles.rows);
        }
    }
}

void mi_tables_let_go(mi_restore *restore) {
    const mica_snapshot *snapshot = restore->snapshot;
    mi_prepared_tables *prepared = restore->tables;
    mi_store *store = &restore->world->store;
    mi_transients_lift(restore->world, &prepared->transients);
    uint32_t next = 0; // both are in canonical order
    uint32_t chunk = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        const bool is_there = next < snapshot->table_count && prepared->tables[next].table == table;
        const mi_rows_image *rows = is_there ? snapshot->tables[next] : NULL;
        for (; is_there && chunk < prepared->tables[next].chunk_end; chunk++) {
            const uint32_t k = prepared->chunks.data[chunk];
            let_go_of_chunk(restore, table, k, rows->chunks[k]);
        }
        let_go_of_rest(restore, table, is_there ? rows->chunk_count : 0);
        next += is_there;
    }
    MI_ASSERT(next == snapshot->table_count);
}

// Coming back

static void write_values(mi_restore *restore, const mi_table *table, const column_pair *pair) {
    mi_prepared_tables *prepared = restore->tables;
    mica_world *world = restore->world;
    const mi_type *type = pair->column->type;
    const size_t offset = (size_t)pair->first * type->info.size;
    const uint32_t count = pair->count - pair->first;
    const uint8_t *from = pair->image->image->data + offset;
    if (mi_type_in_lanes(type)) {
        mi_lanes_write(type, table->chunk_room, pair->start, pair->first, from, count);
    } else if (mi_type_is_owning(type)) {
        hooked_copy *copy = &prepared->copies.data[prepared->copy_at++];
        mi_value_move(type, &world->store.values, pair->start + offset, copy->values, count);
        free_copy(world, copy);
    } else {
        memcpy(pair->start + offset, from, (size_t)type->info.size * count);
    }
}

// Brings a chunk to what its image says.
static void commit_chunk(mi_restore *restore, mi_table *table, uint32_t k, const mi_chunk_image *image) {
    mica_world *world = restore->world;
    mi_store *store = &world->store;
    uint8_t *base = chunk_base(store, table, k);
    const uint32_t present = present_rows(table, k);
    const column_pair handles = pair_handles(restore, table, k, image);
    const bool has_moved = handles.first < handles.count || present != image->row_count;
    if (handles.first < handles.count) {
        const mica_entity *entities = mi_image_handles(image->handles.image);
        memcpy(base + handles.first * sizeof(mica_entity), entities + handles.first,
               (handles.count - handles.first) * sizeof(mica_entity));
        const uint32_t location = table->chunk_ids[k] << MI_ROW_BITS;
        for (uint32_t row = handles.first; row < handles.count; row++) {
            mi_slots_put(&store->slots, entities[row], location | row);
        }
    }
    if (has_moved) {
        mi_rewind_column(world, table, k, 0);
    }
    if (restore->snapshot->leaves_transient) {
        mi_transients_place(world, &restore->tables->transients, table, base, handles.first, handles.count);
    }
    name_column(mi_column_head_of(base), &image->handles);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mi_column *column = &table->columns[i];
        if (!is_kept(column, restore->snapshot->leaves_transient)) {
            continue;
        }
        const mi_column_image *column_image = &image->columns[kept++];
        const column_pair pair = pair_column(column, base + column->offset, column_image, present, image->row_count);
        if (pair.first < pair.count) {
            write_values(restore, table, &pair);
            mi_rewind_column(world, table, k, i + 1);
        }
        name_column(mi_column_head_of(pair.start), column_image);
    }
}

void mi_tables_commit(mi_restore *restore) {
    const mica_snapshot *snapshot = restore->snapshot;
    const mi_prepared_tables *prepared = restore->tables;
    mica_world *world = restore->world;
    mi_store *store = &world->store;
    mi_state *state = mi_state_find(world);
    uint32_t next = 0;
    uint32_t chunk = 0;
    mi_chunks_release_outgrown(store);
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        mi_table *table = store->ordered.data[i];
        const bool is_there = next < snapshot->table_count && prepared->tables[next].table == table;
        const mi_rows_image *rows = is_there ? snapshot->tables[next] : NULL;
        bool has_changed = table->row_count != (is_there ? rows->row_count : 0);
        for (; is_there && chunk < prepared->tables[next].chunk_end; chunk++) {
            const uint32_t k = prepared->chunks.data[chunk];
            commit_chunk(restore, table, k, rows->chunks[k]);
            has_changed = true;
        }
        if (is_there) {
            mi_state_note_table(state, table, next++);
        }
        if (has_changed) {
            table->row_count = is_there ? rows->row_count : 0;
            table->row_moves++;
            table->tail_first = MI_TAIL_NONE;
            mi_store_close_rows(store, table);
        }
    }
    mi_transients_finish(world, &restore->tables->transients);
    free_prepared(restore);
}
