// Images of the state that a delta leads to; see delta_target.h.
//
// Images are made of the chunks that have touched positions, with everybody's values as they were wherever he stood.
// Then the delta's values are put into them, each where its slot stands now: bytes are exclusive-ored, values that own
// something are read by their hooks and take the place of what was there. An image that is still the base's is copied
// before it is written to: what has one reference is this target's own. Images of values that own something know which
// of them are there, so that they can be ended at any time.
#include "state/delta_target.h"

#include "base/sort.h"
#include "store/pools.h"
#include "store/value.h"

#include <string.h>

// Images

// Rows of a chunk: 1 << this.
static uint32_t shift_of(const mi_target *target, const mi_site *site) {
    mi_store *store = &target->world->store;
    if (site->base != NULL) {
        return site->base->shift;
    }
    return site->pool_number != 0
               ? store->pool_list.data[site->pool_number - 1]->page_shift
               : mi_store_table(store, site->components, site->component_count)->shift; // it is there
}

static mi_chunk_image *copy_chunk(mi_target *target, const mi_chunk_image *chunk) {
    mi_chunk_image *copy = mi_chunk_image_create(target->vault, chunk->column_count);
    if (copy == NULL) {
        mi_target_lack(target);
        return NULL;
    }
    copy->row_count = chunk->row_count;
    copy->handles = chunk->handles;
    mi_image_retain(copy->handles.image);
    for (uint32_t i = 0; i < chunk->column_count; i++) {
        copy->columns[i] = chunk->columns[i];
        mi_image_retain(copy->columns[i].image);
    }
    return copy;
}

// Lets a site have rows of its own; false: failed.
static bool own_rows(mi_target *target, mi_site *site) {
    mi_rows_image *rows = site->rows;
    if (rows->reference_count == 1) {
        return true;
    }
    mi_rows_image *copy =
        mi_rows_image_create(target->vault, rows->component_count, rows->column_count, rows->chunk_count);
    if (copy == NULL) {
        return mi_target_lack(target);
    }
    copy->row_count = rows->row_count;
    copy->shift = rows->shift;
    copy->is_pool = rows->is_pool;
    copy->dead_count = rows->dead_count;
    copy->dead_head = rows->dead_head;
    memcpy(copy->components, rows->components, rows->component_count * sizeof(mica_component));
    memcpy(copy->columns, rows->columns, rows->column_count * sizeof(mi_type *));
    for (uint32_t k = 0; k < rows->chunk_count; k++) {
        copy->chunks[k] = rows->chunks[k];
        copy->chunks[k]->reference_count++;
    }
    mi_rows_image_release(rows);
    site->rows = copy;
    return true;
}

// A chunk that belongs to the target alone; NULL: failed.
static mi_chunk_image *own_chunk(mi_target *target, mi_site *site, uint32_t number) {
    if (!own_rows(target, site)) {
        return NULL;
    }
    mi_chunk_image *chunk = site->rows->chunks[number];
    if (chunk->reference_count == 1) {
        return chunk;
    }
    mi_chunk_image *copy = copy_chunk(target, chunk);
    if (copy != NULL) {
        chunk->reference_count--;
        site->rows->chunks[number] = copy;
    }
    return copy;
}

// Copies the first values of an image into an empty one.
static bool copy_owning(mi_target *target, mi_image *to, const mi_image *from, uint32_t count) {
    for (uint32_t row = 0; row < count; row++) {
        if (!mi_image_has(from, row)) {
            continue;
        }
        if (!mi_value_copy(to->type, &target->vault->values, mi_image_place(to, row), mi_image_place(from, row), 1)) {
            return mi_target_lack(target);
        }
        mi_image_note_made(to, row);
    }
    return true;
}

static bool own_owning(mi_target *target, mi_column_image *column, const mi_type *type, uint32_t kept, uint32_t count) {
    if (!mi_type_is_told(type) && !mi_delta_leaves(type)) {
        return mi_target_fail(target, MICA_UNSUPPORTED, "rows with values that have hooks would move", type->info.name);
    }
    mi_image *image = mi_image_create_empty(target->vault, type, count);
    if (image == NULL) {
        return mi_target_lack(target);
    }
    const bool is_fine = column->image == NULL || copy_owning(target, image, column->image, kept);
    mi_image_release(is_fine ? column->image : image);
    column->image = is_fine ? image : column->image;
    return is_fine;
}

// Lets a column have an image of its own, for `count` values, of which those that the old one has are copied. The rest
// is zeros; of values that own something it is not there. False: failed.
static bool own_image(mi_target *target, mi_column_image *column, const mi_type *type, uint32_t kept, uint32_t count) {
    mi_image *old = column->image;
    if (old != NULL && old->reference_count == 1 && old->count >= count) {
        return true;
    }
    if (type != NULL && mi_type_is_owning(type)) {
        return own_owning(target, column, type, kept, count);
    }
    mi_image *image = mi_image_create(target->vault, type, count);
    if (image == NULL) {
        return mi_target_lack(target);
    }
    const size_t kept_size = (size_t)kept * image->size;
    if (kept > 0 && old != NULL) {
        memcpy(image->data, old->data, kept_size);
    }
    memset(image->data + kept_size, 0, (size_t)count * image->size - kept_size);
    mi_image_release(old);
    column->image = image;
    return true;
}

// The value of a component that a slot had in the base; NULL: none.
static const uint8_t *value_before(const mi_target *target, uint32_t slot, uint32_t space, mica_component component) {
    mi_standing stood;
    uint32_t column = UINT32_MAX;
    if (!mi_target_stood(target, slot, space, &stood)) {
        return NULL;
    }
    const mi_rows_image *rows = target->sites.data[stood.site].base;
    if (!mi_rows_image_has(rows, component, &column) || column == UINT32_MAX) {
        return NULL;
    }
    const mi_image *image = rows->chunks[stood.row >> rows->shift]->columns[column].image;
    return mi_image_place(image, stood.row & ((1u << rows->shift) - 1));
}

// The value of a component that an entity has in the world, whatever state that is in; NULL: none. So values that
// deltas leave out stay with their entities, and not with slots.
static const uint8_t *value_now(const mi_target *target, mica_entity entity, const mi_type *type) {
    const mi_store *store = &target->world->store;
    uint32_t location = 0;
    if (!mi_slots_resolve(&store->slots, entity, &location)) {
        return NULL;
    }
    if (!type->in_pool) {
        const mi_table *table = location == 0 ? NULL : mi_store_table_at(store, location);
        return table == NULL || !mi_table_has(table, type->info.id)
                   ? NULL
                   : mi_store_value(store, table, location, type->info.id, type->info.size);
    }
    const mi_pool *pool = mi_store_find_pool(store, type->info.id);
    const uint32_t position = pool == NULL ? MI_POSITION_NONE : mi_pool_find(pool, entity);
    return position == MI_POSITION_NONE ? NULL : mi_pool_value(pool, position);
}

// Makes a value that owns something and is not there: a copy of `from`, or, if that is NULL, a new one.
static bool make_owning(mi_target *target, mi_image *image, uint32_t row, const uint8_t *from) {
    const mica_allocator *allocator = &target->vault->values;
    uint8_t *to = mi_image_place(image, row);
    if (!(from != NULL ? mi_value_copy(image->type, allocator, to, from, 1)
                       : mi_value_construct(image->type, allocator, to, 1))) {
        return mi_target_lack(target);
    }
    mi_image_note_made(image, row);
    return true;
}

// Makes the value of a touched row: that which the entity had, or one that was just made; of a tombstone none.
static bool fill_value(mi_target *target, const mi_site *site, mi_image *image, const mi_touched *touched) {
    const mi_type *type = image->type;
    const uint32_t row = touched->row & ((1u << site->rows->shift) - 1);
    const uint32_t slot = (uint32_t)touched->entry;
    const bool is_dead = (touched->entry & MI_ORDER_DEAD) != 0;
    const uint8_t *from = NULL;
    if (!is_dead) {
        from = mi_delta_leaves(type) ? value_now(target, mi_target_handle(target, slot), type)
                                     : value_before(target, slot, site->pool_number, type->info.id);
    }
    uint8_t *to = mi_image_place(image, row);
    if (!mi_type_is_owning(type)) {
        if (from != NULL) {
            memcpy(to, from, type->info.size);
        } else {
            memset(to, 0, type->info.size);
        }
        return true;
    }
    mi_image_end_value(image, row);
    return is_dead || make_owning(target, image, row, from);
}

// Gives the touched rows of a chunk their handles and values.
static bool fill_chunk(mi_target *target, const mi_site *site, mi_chunk_image *chunk, const mi_touched *touched,
                       uint32_t count) {
    const uint32_t mask = (1u << site->rows->shift) - 1;
    for (uint32_t i = 0; i < count && touched[i].row < site->row_count; i++) {
        const uint32_t row = touched[i].row & mask;
        const uint32_t slot = (uint32_t)touched[i].entry;
        const bool is_dead = (touched[i].entry & MI_ORDER_DEAD) != 0;
        mica_entity *handles = (mica_entity *)(void *)chunk->handles.image->data;
        handles[row] = is_dead ? mica_entity_make(slot, MICA_GENERATION_MAX) : mi_target_handle(target, slot);
        for (uint32_t k = 0; k < chunk->column_count; k++) {
            if (!fill_value(target, site, chunk->columns[k].image, &touched[i])) {
                return false;
            }
        }
    }
    return true;
}

// Makes the image of a chunk that has `count` touched rows.
static bool make_chunk(mi_target *target, mi_site *site, uint32_t number, const mi_touched *touched, uint32_t count) {
    const uint32_t first = number << site->rows->shift;
    const uint32_t full = 1u << site->rows->shift;
    const uint32_t rest = site->row_count - first;
    const uint32_t row_count = rest < full ? rest : full;
    mi_chunk_image *chunk = site->rows->chunks[number] != NULL
                                ? own_chunk(target, site, number)
                                : mi_chunk_image_create(target->vault, site->rows->column_count);
    if (chunk == NULL) {
        return mi_target_lack(target);
    }
    site->rows->chunks[number] = chunk;
    const uint32_t kept = chunk->row_count < row_count ? chunk->row_count : row_count;
    chunk->row_count = row_count;
    if (count == 0 || touched[0].row >= site->row_count) {
        return true; // rows went from the end, and that is all
    }
    if (target->keeps_versions) {
        chunk->handles.version = target->base->version;
    }
    bool is_fine = own_image(target, &chunk->handles, NULL, kept, row_count);
    for (uint32_t k = 0; is_fine && k < chunk->column_count; k++) {
        is_fine = own_image(target, &chunk->columns[k], site->rows->columns[k], kept, row_count);
        if (target->keeps_versions) {
            chunk->columns[k].version = target->base->version;
        }
    }
    return is_fine && fill_chunk(target, site, chunk, touched, count);
}

// Rows of as many chunks as the target has, the first ones of the base.
static bool open_rows(mi_target *target, mi_site *site) {
    mi_store *store = &target->world->store;
    const uint32_t shift = shift_of(target, site);
    const uint32_t chunk_count = (uint32_t)(((uint64_t)site->row_count + (1u << shift) - 1) >> shift);
    const mi_type *columns_of_pool[1] = {NULL};
    uint32_t column_count = 0;
    const mi_table *table = NULL;
    if (site->pool_number != 0) {
        columns_of_pool[0] = store->pool_list.data[site->pool_number - 1]->type;
        column_count = columns_of_pool[0]->info.size > 0;
    } else {
        table = mi_store_table(store, site->components, site->component_count);
        column_count = table->column_count;
    }
    const bool leaves = target->base->leaves_transient;
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < column_count; i++) {
        const mi_type *type = table != NULL ? table->columns[i].type : columns_of_pool[0];
        kept_count += !(leaves && type->info.transient);
    }
    mi_rows_image *rows = mi_rows_image_create(target->vault, site->component_count, kept_count, chunk_count);
    if (rows == NULL) {
        return mi_target_lack(target);
    }
    rows->row_count = site->row_count;
    rows->shift = (uint8_t)shift;
    rows->is_pool = site->pool_number != 0;
    rows->dead_count = site->dead_count;
    rows->dead_head = site->dead_head;
    memcpy(rows->components, site->components, site->component_count * sizeof(mica_component));
    kept_count = 0;
    for (uint32_t i = 0; i < column_count; i++) {
        const mi_type *type = table != NULL ? table->columns[i].type : columns_of_pool[0];
        if (!(leaves && type->info.transient)) {
            rows->columns[kept_count++] = type;
        }
    }
    for (uint32_t k = 0; site->base != NULL && k < chunk_count && k < site->base->chunk_count; k++) {
        rows->chunks[k] = site->base->chunks[k];
        rows->chunks[k]->reference_count++;
    }
    mi_rows_image_release(site->rows);
    site->rows = rows;
    return true;
}

static bool make_site(mi_target *target, mi_site *site) {
    if (site->touched_count == 0) {
        if (site->rows != NULL) {
            return true;
        }
        return open_rows(target, site); // nothing stands there
    }
    if (!open_rows(target, site)) {
        return false;
    }
    const mi_touched *touched = target->touched.data + site->first_touched;
    const uint32_t shift = site->rows->shift;
    for (uint32_t i = 0; i < site->touched_count;) {
        const uint32_t chunk = touched[i].row >> shift;
        uint32_t end = i + 1;
        while (end < site->touched_count && touched[end].row >> shift == chunk) {
            end++;
        }
        if (chunk < site->rows->chunk_count && !make_chunk(target, site, chunk, touched + i, end - i)) {
            return false;
        }
        i = end;
    }
    return true;
}

// Slots that another entity has now and that have not moved: their handles differ.
static bool renew_handle(mi_target *target, uint32_t slot, uint32_t space) {
    mi_standing at;
    if (!mi_target_stands(target, slot, space, &at) || mi_target_find_moved(target, slot, space) != NULL) {
        return true;
    }
    mi_site *site = &target->sites.data[at.site];
    mi_chunk_image *chunk = own_chunk(target, site, at.row >> site->rows->shift);
    if (chunk == NULL || !own_image(target, &chunk->handles, NULL, chunk->row_count, chunk->row_count)) {
        return false;
    }
    mica_entity *handles = (mica_entity *)(void *)chunk->handles.image->data;
    const uint32_t row = at.row & ((1u << site->rows->shift) - 1);
    handles[row] = mi_target_handle(target, slot);
    if (target->keeps_versions) {
        chunk->handles.version = target->base->version;
    }
    for (uint32_t k = 0; k < chunk->column_count; k++) {
        mi_column_image *column = &chunk->columns[k];
        if (!mi_delta_leaves(site->rows->columns[k])) {
            continue;
        }
        if (!own_image(target, column, site->rows->columns[k], chunk->row_count, chunk->row_count)) {
            return false;
        }
        mi_image_end_value(column->image, row);
        if (!make_owning(target, column->image, row, NULL)) {
            return false;
        }
    }
    return true;
}

static bool renew_handles(mi_target *target) {
    const mi_store *store = &target->world->store;
    mi_fates_walk walk = mi_fates_walk_of(&target->delta->fates[MI_FATE_REPLACED]);
    uint32_t slot = 0;
    mi_ends generations;
    while (!target->is_blank && mi_fates_next(&walk, &slot, &generations)) {
        if (!renew_handle(target, slot, 0)) {
            return false;
        }
        const uint64_t *mask = store->pool_list.count == 0 ? NULL : mi_masks_of(&store->masks, slot);
        for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
             number = mi_store_next_pool(store, mask, number + 1)) {
            if (!renew_handle(target, slot, number + 1)) {
                return false;
            }
        }
    }
    return true;
}

bool mi_target_make_rows(mi_target *target) {
    if (!mi_target_check_standings(target)) {
        return false;
    }
    for (uint32_t i = 0; i < target->sites.count; i++) {
        if (!make_site(target, &target->sites.data[i])) {
            return false;
        }
    }
    return renew_handles(target);
}

// Values

// The place of a slot's value, in an image that is the target's own; NULL: failed.
static uint8_t *open_value(mi_target *target, mi_standing at, uint32_t column, const mi_type *type) {
    mi_site *site = &target->sites.data[at.site];
    mi_chunk_image *chunk = own_chunk(target, site, at.row >> site->rows->shift);
    if (chunk == NULL || !own_image(target, &chunk->columns[column], type, chunk->row_count, chunk->row_count)) {
        return NULL;
    }
    if (target->keeps_versions) {
        chunk->columns[column].version = target->base->version;
    }
    return chunk->columns[column].image->data + (size_t)(at.row & ((1u << site->rows->shift) - 1)) * type->info.size;
}

// Where a slot has a component with a value in the target; false: nowhere.
static bool find_value(const mi_target *target, uint32_t slot, const mi_type *type, mi_standing *at, uint32_t *column) {
    const mi_pool *pool = type->in_pool ? mi_store_find_pool(&target->world->store, type->info.id) : NULL;
    return (!type->in_pool || pool != NULL) && mi_target_stands(target, slot, pool == NULL ? 0 : pool->index + 1, at) &&
           mi_rows_image_has(target->sites.data[at->site].rows, type->info.id, column) && *column != UINT32_MAX;
}

// Puts the value that bytes tell of in the place of that of a slot, by way of `aside`.
static bool read_value(mi_target *target, const mi_type *type, mi_standing at, uint32_t column, const mi_told_end *told,
                       void *aside) {
    const mica_allocator *allocator = &target->vault->values;
    const mica_hook_context context = {.allocator = allocator, .user = type->info.hooks.user};
    uint8_t *value = open_value(target, at, column, type);
    if (value == NULL) {
        return false;
    }
    const mica_result result = type->info.hooks.read(aside, told->bytes, told->byte_size, &context);
    if (result != MICA_OK) {
        return result == MICA_OUT_OF_MEMORY
                   ? mi_target_lack(target)
                   : mi_target_fail(target, MICA_FORMAT, "bytes of a value tell of none", type->info.name);
    }
    mi_value_destruct(type, allocator, value, 1);
    mi_value_move_one(type, allocator, value, aside);
    return true;
}

static bool make_told(mi_target *target, const mi_delta_component *component, const mi_type *type) {
    void *aside = mi_heap_allocate(target->heap, MICA_MEMORY_STATE, type->info.size, type->info.align);
    if (aside == NULL) {
        return mi_target_lack(target);
    }
    mi_told_walk walk = mi_told_walk_of(&component->told);
    mi_told_value value;
    uint32_t slot = 0;
    bool is_fine = true;
    while (is_fine && mi_told_next(&walk, &slot, &value)) {
        mi_standing at;
        uint32_t column = UINT32_MAX;
        const mi_told_end *told = &value.ends[target->forwards];
        if (find_value(target, slot, type, &at, &column) != told->is_there) {
            is_fine =
                mi_target_fail(target, MICA_FORMAT, "a value comes to nobody, or none to somebody", type->info.name);
        } else if (told->is_there) {
            is_fine = read_value(target, type, at, column, told, aside);
        }
    }
    mi_heap_release(target->heap, MICA_MEMORY_STATE, aside, type->info.size, type->info.align);
    return is_fine;
}

static bool make_values(mi_target *target, const mi_delta_component *component, const mi_type *type) {
    const mi_ranges *ranges = mi_type_ranges(target->world->schema, type);
    if (ranges == NULL || !MI_TARGET_RESERVE(target, &target->room, type->info.size)) {
        return mi_target_lack(target);
    }
    mi_values_walk walk;
    mi_values_walk_begin(&walk, &component->values);
    uint32_t slot = 0;
    while (mi_values_next(&walk, &slot)) {
        mi_standing at;
        uint32_t column = UINT32_MAX;
        uint8_t *value = NULL;
        if (find_value(target, slot, type, &at, &column)) {
            value = open_value(target, at, column, type);
            if (value == NULL) {
                return false;
            }
            if (!ranges->is_whole) {
                memcpy(target->room.data, value, type->info.size);
                mi_ranges_copy(ranges, type->info.size, value, target->room.data, 1);
            }
        }
        mi_values_take(&walk, value);
    }
    return true;
}

bool mi_target_make_values(mi_target *target) {
    for (uint32_t i = 0; i < target->delta->components.count; i++) {
        const mi_delta_component *component = &target->delta->components.data[i];
        const mi_type *type = target->types[i];
        if (mi_delta_places(component)->count > 0 &&
            !(component->is_told ? make_told(target, component, type) : make_values(target, component, type))) {
            return false;
        }
    }
    return true;
}

// Versions

static bool make_versions(mi_target *target, mi_site *site, const mi_numbers *versions) {
    const uint32_t columns = site->rows->column_count + 1;
    mi_numbers_walk walk = mi_numbers_walk_of(versions);
    uint32_t place = 0;
    uint64_t number = 0;
    while (mi_numbers_next(&walk, &place, &number)) {
        if (place / columns >= site->rows->chunk_count) {
            return true; // of chunks that are gone
        }
        mi_chunk_image *chunk = own_chunk(target, site, place / columns);
        if (chunk == NULL) {
            return false;
        }
        mi_column_image *column = place % columns == 0 ? &chunk->handles : &chunk->columns[place % columns - 1];
        const mi_type *type = place % columns == 0 ? NULL : site->rows->columns[place % columns - 1];
        // An image of its own: a column that names the same one counts as the same, version and all.
        if (!own_image(target, column, type, chunk->row_count, chunk->row_count)) {
            return false;
        }
        column->version ^= number;
        if (column->version > target->snapshot->version) {
            return mi_target_break(target, "something was written after the state was");
        }
    }
    return true;
}

bool mi_target_make_versions(mi_target *target) {
    for (uint32_t i = 0; i < target->delta->rows.count; i++) {
        mi_site *site = &target->sites.data[target->rows_sites.data[i]];
        if (!make_versions(target, site, &target->delta->rows.data[i].versions)) {
            return false;
        }
    }
    return true;
}

// Into the snapshot

static int compare_sites(const void *context, uint32_t a, uint32_t b) {
    const mi_target *target = context;
    mi_store *store = &target->world->store;
    const mi_site *x = &target->sites.data[a];
    const mi_site *y = &target->sites.data[b];
    if (x->pool_number != 0 || y->pool_number != 0) {
        return x->pool_number == 0   ? -1
               : y->pool_number == 0 ? 1
                                     : mi_type_compare_names(mi_schema_type(store->schema, x->components[0]),
                                                             mi_schema_type(store->schema, y->components[0]));
    }
    // Both are there.
    return mi_table_compare(store, mi_store_table(store, x->components, x->component_count),
                            mi_store_table(store, y->components, y->component_count));
}

// Puts sites that have rows into the snapshot, in the order given.
static void put_rows(mi_target *target, const uint32_t *order) {
    mica_snapshot *snapshot = target->snapshot;
    for (uint32_t i = 0; i < target->sites.count; i++) {
        const mi_site *site = &target->sites.data[order[i]];
        if (site->rows->row_count == 0) {
            continue;
        }
        site->rows->reference_count++;
        if (site->pool_number == 0) {
            snapshot->tables[snapshot->table_count++] = site->rows;
        } else {
            snapshot->pools[snapshot->pool_count++] = site->rows;
        }
    }
}

bool mi_target_finish_rows(mi_target *target) {
    mica_snapshot *snapshot = target->snapshot;
    const uint32_t count = target->sites.count;
    const size_t order_size = 2 * (size_t)count * sizeof(uint32_t);
    if (count == 0) {
        return true;
    }
    snapshot->tables = mi_vault_take(target->vault, count * sizeof(mi_rows_image *));
    snapshot->pools = mi_vault_take(target->vault, count * sizeof(mi_rows_image *));
    uint32_t *order = mi_heap_allocate(target->heap, MICA_MEMORY_STATE, order_size, _Alignof(uint32_t));
    if (snapshot->tables == NULL || snapshot->pools == NULL || order == NULL) {
        mi_heap_release(target->heap, MICA_MEMORY_STATE, order, order_size, _Alignof(uint32_t));
        return mi_target_lack(target);
    }
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    mi_sort(order, order + count, count, compare_sites, target);
    put_rows(target, order);
    mi_heap_release(target->heap, MICA_MEMORY_STATE, order, order_size, _Alignof(uint32_t));
    return true;
}
