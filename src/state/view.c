// Looking at worlds and snapshots alike. See view.h.
//
// Nothing is copied but values that lie in lanes. The order of sets is the store's and means nothing: tables by their
// ids in a world, canonical in a snapshot.
#include "state/view.h"

#include "state/pool_pages.h"

mi_view mi_view_of_world(const mica_world *world) {
    const mi_store *store = &world->store;
    return (mi_view){
        .schema = world->schema, .world = world, .set_count = store->tables.count + store->pool_list.count};
}

mi_view mi_view_of_snapshot(const mica_snapshot *snapshot) {
    return (mi_view){.schema = snapshot->vault->schema,
                     .snapshot = snapshot,
                     .set_count = snapshot->table_count + snapshot->pool_count,
                     .leaves_transient = snapshot->leaves_transient};
}

static mi_view_set set_of_image(const mi_rows_image *image) {
    return (mi_view_set){.image = image,
                         .components = image->components,
                         .component_count = image->component_count,
                         .column_count = image->column_count,
                         .row_count = image->row_count,
                         .dead_count = image->dead_count,
                         .dead_head = image->dead_head,
                         .shift = image->shift,
                         .is_pool = image->is_pool};
}

static mi_view_set set_of_table(const mi_table *table) {
    return (mi_view_set){.table = table,
                         .components = table->components,
                         .component_count = table->component_count,
                         .column_count = table->column_count,
                         .row_count = table->row_count,
                         .shift = table->shift};
}

static mi_view_set set_of_pool(const mi_pool *pool) {
    return (mi_view_set){.pool = pool,
                         .components = &pool->type->info.id,
                         .component_count = 1,
                         .column_count = pool->size != 0 ? 1 : 0,
                         .row_count = pool->count,
                         .dead_count = pool->dead_count,
                         .dead_head = pool->dead_head,
                         .shift = pool->page_shift,
                         .is_pool = true};
}

bool mi_view_find_set(const mi_view *view, uint32_t index, mi_view_set *set) {
    const mica_snapshot *snapshot = view->snapshot;
    *set = (mi_view_set){.row_count = 0};
    if (snapshot != NULL) {
        *set = set_of_image(index < snapshot->table_count ? snapshot->tables[index]
                                                          : snapshot->pools[index - snapshot->table_count]);
        return set->row_count > 0;
    }
    const mi_store *store = &view->world->store;
    const mi_state *state = mi_state_find(view->world);
    const bool has_base = state != NULL && state->base != NULL;
    if (index >= store->tables.count) {
        *set = set_of_pool(store->pool_list.data[index - store->tables.count]);
        const mi_pool_base base = mi_pool_base_of(set->pool, has_base ? state->base : NULL);
        set->base = base.has_same_handles ? base.rows : NULL;
    } else if (store->tables.data[index] != NULL) {
        *set = set_of_table(store->tables.data[index]);
        set->base = has_base ? mi_state_find_table(state, set->table) : NULL;
    }
    return set->row_count > 0;
}

const mi_type *mi_view_column_type(const mi_view_set *set, uint32_t column) {
    return set->image != NULL   ? set->image->columns[column]
           : set->table != NULL ? set->table->columns[column].type
                                : set->pool->type;
}

uint32_t mi_view_find_column(const mi_view_set *set, mica_component component) {
    for (uint32_t i = 0; i < set->column_count; i++) {
        if (mi_view_column_type(set, i)->info.id == component) {
            return i;
        }
    }
    return UINT32_MAX;
}

static uint8_t *base_of(const mi_view *view, const mi_view_set *set, uint32_t chunk_index) {
    return view->world->store.chunks[set->table->chunk_ids[chunk_index]].base;
}

const mica_entity *mi_view_handles(const mi_view *view, const mi_view_set *set, mi_view_rows rows) {
    if (set->image != NULL) {
        return mi_image_handles(set->image->chunks[rows.chunk_index]->handles.image) + rows.first;
    }
    if (set->table != NULL) {
        return (const mica_entity *)(const void *)base_of(view, set, rows.chunk_index) + rows.first;
    }
    return set->pool->entities + ((size_t)rows.chunk_index << set->shift) + rows.first;
}

const void *mi_view_values(const mi_view *view, const mi_view_set *set, uint32_t column, mi_view_rows rows,
                           void *aside) {
    if (set->image != NULL) {
        const mi_image *image = set->image->chunks[rows.chunk_index]->columns[column].image;
        return image->data + (size_t)rows.first * image->size;
    }
    if (set->table != NULL) {
        const mi_column *found = &set->table->columns[column];
        const uint8_t *start = base_of(view, set, rows.chunk_index) + found->offset;
        if (!mi_type_in_lanes(found->type)) {
            return start + (size_t)rows.first * found->size;
        }
        mi_lanes_read(found->type, set->table->chunk_room, start, rows.first, aside, rows.count);
        return aside;
    }
    return mi_pool_value(set->pool, (rows.chunk_index << set->shift) + rows.first);
}

// The head of a column of a table, or of the handles (`column` UINT32_MAX).
static const mi_column_head *head_of(const mi_view *view, const mi_view_set *set, uint32_t column,
                                     uint32_t chunk_index) {
    uint8_t *base = base_of(view, set, chunk_index);
    return mi_column_head_of(column == UINT32_MAX ? base : base + set->table->columns[column].offset);
}

// What the base has of a chunk, if it has as many rows of it at least.
static const mi_chunk_image *base_chunk(const mi_view_set *set, uint32_t chunk_index) {
    const mi_chunk_image *chunk =
        set->base != NULL && chunk_index < set->base->chunk_count ? set->base->chunks[chunk_index] : NULL;
    return chunk != NULL && chunk->row_count >= mi_view_chunk(set, chunk_index).count ? chunk : NULL;
}

static mi_image *if_named(mi_image *image, uint64_t stamp, uint64_t name) {
    return image != NULL && mi_stamp_is_named(stamp) && image->number == name ? image : NULL;
}

mi_image *mi_view_handles_image(const mi_view *view, const mi_view_set *set, uint32_t chunk_index) {
    if (set->image != NULL) {
        return set->image->chunks[chunk_index]->handles.image;
    }
    const mi_chunk_image *chunk = base_chunk(set, chunk_index);
    if (chunk == NULL || set->pool != NULL) {
        return chunk != NULL ? chunk->handles.image : NULL; // of a pool whose handles are the same
    }
    const mi_column_head *head = head_of(view, set, UINT32_MAX, chunk_index);
    return if_named(chunk->handles.image, head->stamp, head->image);
}

mi_image *mi_view_values_image(const mi_view *view, const mi_view_set *set, uint32_t column, uint32_t chunk_index) {
    if (set->image != NULL) {
        return set->image->chunks[chunk_index]->columns[column].image;
    }
    const mi_chunk_image *chunk = base_chunk(set, chunk_index);
    uint32_t place = 0;
    while (chunk != NULL && place < set->base->column_count &&
           set->base->columns[place] != mi_view_column_type(set, column)) {
        place++;
    }
    if (chunk == NULL || place == set->base->column_count) {
        return NULL;
    }
    if (set->pool != NULL) {
        return if_named(chunk->columns[place].image, set->pool->stamps[chunk_index], set->pool->images[chunk_index]);
    }
    const mi_column_head *head = head_of(view, set, column, chunk_index);
    return if_named(chunk->columns[place].image, head->stamp, head->image);
}

// Slots

uint32_t mi_view_slot_end(const mi_view *view) {
    const uint32_t end = view->snapshot != NULL ? view->snapshot->slots->used : mi_slots_end(&view->world->store.slots);
    return end == 0 ? 1 : end; // there is no slot 0 before there is room for any, which makes no difference
}

uint64_t mi_view_slot(const mi_view *view, uint32_t index) {
    if (view->snapshot != NULL) {
        return mi_slots_image_at(view->snapshot->slots, index);
    }
    const uint64_t slot = view->world->store.slots.data[index];
    return (slot & MI_SLOT_FREE) != 0 ? slot : slot & ~(uint64_t)UINT32_MAX;
}

mi_view_slots mi_view_slot_numbers(const mi_view *view) {
    if (view->snapshot != NULL) {
        const mi_slots_image *slots = view->snapshot->slots;
        return (mi_view_slots){.alive = slots->alive, .free_head = slots->free_head, .issued = slots->issued};
    }
    const mi_slots *slots = &view->world->store.slots;
    return (mi_view_slots){.alive = slots->alive, .free_head = slots->free_head, .issued = slots->issued};
}

// Marks: of a world the disabled, the killed, then a set for each component

uint32_t mi_view_marks_count(const mi_view *view) {
    return view->snapshot != NULL ? view->snapshot->mark_count : MI_MARKS_TOGGLED + view->world->store.toggled.count;
}

bool mi_view_find_marks(const mi_view *view, uint32_t number, mi_view_marks *marks) {
    if (view->snapshot != NULL) {
        const mi_marks_image *image = view->snapshot->marks[number];
        *marks =
            (mi_view_marks){.kind = image->kind, .component = image->component, .count = image->count, .image = image};
        return image->count > 0;
    }
    const mi_store *store = &view->world->store;
    const mi_marks *found = number == MI_MARKS_DISABLED ? &store->disabled
                            : number == MI_MARKS_KILLED ? &store->killed
                                                        : &store->toggled.data[number - MI_MARKS_TOGGLED];
    *marks = (mi_view_marks){.kind = number < MI_MARKS_TOGGLED ? (mi_marks_kind)number : MI_MARKS_TOGGLED,
                             .component = number < MI_MARKS_TOGGLED ? 0 : (mica_component)(number - MI_MARKS_TOGGLED),
                             .count = found->count,
                             .marks = found};
    return found->count > 0;
}

uint32_t mi_view_next_marked(const mi_view_marks *marks, uint32_t *cursor) {
    if (marks->image != NULL) {
        return *cursor < marks->count ? marks->image->indices[(*cursor)++] : UINT32_MAX;
    }
    const uint32_t index = mi_marks_next(marks->marks, *cursor);
    *cursor = index == UINT32_MAX ? index : index + 1;
    return index;
}

// Parts

uint32_t mi_view_part_count(const mi_view *view) {
    return view->snapshot != NULL ? view->snapshot->part_count : mi_world_part_count + view->world->extensions.count;
}

mica_result mi_view_open_part(const mi_view *view, uint32_t number, mi_view_part *part, const mi_type **refused) {
    *part = (mi_view_part){.record = &part->written};
    if (view->snapshot != NULL) {
        const mi_part_image *image = view->snapshot->parts[number];
        part->part = image->part;
        part->record = &image->record;
        return MICA_OK;
    }
    const mica_world *world = view->world;
    part->part = number < mi_world_part_count ? mi_world_parts[number]
                                              : world->extensions.data[number - mi_world_part_count].part;
    if (part->part == NULL) {
        return MICA_OK;
    }
    // Memory is the world's, which this is no change of.
    part->written = (mi_record){.heap = world->store.heap, .allocator = &world->store.values};
    mi_writer writer = {.schema = world->schema, .record = &part->written};
    part->part->save(world, &writer);
    *refused = writer.type;
    return writer.result;
}

void mi_view_close_part(mi_view_part *part) {
    if (part->record == &part->written && part->part != NULL) {
        mi_record_free(&part->written);
    }
}
