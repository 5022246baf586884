// Rows and values of the state that a delta leads to; see delta_target.h.
//
// First it is found out which positions are touched: where another slot, or none, stands from now on. Then images are
// made of the chunks that have touched positions, with everybody's values as they were wherever he stood. Last the
// delta's values are exclusive-ored into them, each where its slot stands now. An image that is still the base's is
// copied before it is written to: what has one reference is this target's own.
#include "state/delta_target.h"

#include "base/sort.h"
#include "store/pools.h"

#include <string.h>

bool mi_target_fail(mi_target *target, mica_result result, const char *fault, const char *name) {
    if (target->result == MICA_OK) {
        target->result = result;
        target->fault = fault;
        target->name = name;
    }
    return false;
}

static bool break_form(mi_target *target, const char *fault) {
    return mi_target_fail(target, MICA_FORMAT, fault, NULL);
}

// Sites

static bool add_site(mi_target *target, mi_site site) {
    if (!MI_TARGET_RESERVE(target, &target->sites, (size_t)target->sites.count + 1)) {
        return false;
    }
    target->sites.data[target->sites.count++] = site;
    return true;
}

static bool add_site_of_base(mi_target *target, mi_rows_image *rows, uint32_t pool_number) {
    const bool is_added = add_site(target, (mi_site){.base = rows,
                                                     .rows = rows,
                                                     .components = rows->components,
                                                     .component_count = rows->component_count,
                                                     .pool_number = pool_number,
                                                     .row_count = rows->row_count,
                                                     .dead_count = rows->dead_count,
                                                     .dead_head = rows->dead_head});
    rows->reference_count += is_added;
    return is_added;
}

// Notes that the site added last is a table's.
static bool note_table(mi_target *target, const mi_table *table) {
    const mi_store *store = &target->world->store;
    const uint32_t site = target->sites.count - 1;
    if (!MI_TARGET_RESERVE(target, &target->table_sites, store->tables.count)) {
        return false;
    }
    while (target->table_sites.count < store->tables.count) {
        target->table_sites.data[target->table_sites.count++] = MI_SITE_NONE;
    }
    target->table_sites.data[table->id] = site;
    if (!MI_TARGET_RESERVE(target, &target->chunk_places, store->chunk_count)) {
        return false;
    }
    while (target->chunk_places.count < store->chunk_count) {
        target->chunk_places.data[target->chunk_places.count++] = (mi_standing){MI_SITE_NONE, 0};
    }
    for (uint32_t k = 0; k < table->chunk_count; k++) {
        target->chunk_places.data[table->chunk_ids[k]] = (mi_standing){site, k << table->shift};
    }
    return true;
}

static bool note_pool(mi_target *target, const mi_pool *pool) {
    const uint32_t count = target->world->store.pool_list.count;
    if (!MI_TARGET_RESERVE(target, &target->pool_sites, count)) {
        return false;
    }
    while (target->pool_sites.count < count) {
        target->pool_sites.data[target->pool_sites.count++] = MI_SITE_NONE;
    }
    target->pool_sites.data[pool->index] = target->sites.count - 1;
    return true;
}

bool mi_target_open_sites(mi_target *target) {
    mi_store *store = &target->world->store;
    const mica_snapshot *base = target->base;
    for (uint32_t i = 0; i < base->table_count; i++) {
        mi_rows_image *rows = base->tables[i];
        const mi_table *table = mi_store_table(store, rows->components, rows->component_count);
        if (table == NULL) {
            return mi_target_lack(target);
        }
        if (!add_site_of_base(target, rows, 0) || !note_table(target, table)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < base->pool_count; i++) {
        const mi_pool *pool = mi_store_find_pool(store, base->pools[i]->components[0]);
        if (!add_site_of_base(target, base->pools[i], pool->index + 1) || !note_pool(target, pool)) {
            return false;
        }
    }
    return true;
}

static uint32_t new_table_site(mi_target *target, const mica_component *components, uint32_t count) {
    mi_store *store = &target->world->store;
    const mi_table *table = mi_store_table(store, components, count);
    if (table == NULL) {
        mi_target_fail(target, store->failure, store->limit, NULL);
        return MI_SITE_NONE;
    }
    const uint32_t known = table->id < target->table_sites.count ? target->table_sites.data[table->id] : MI_SITE_NONE;
    if (known != MI_SITE_NONE) {
        return known;
    }
    const mi_site site = {
        .components = table->components, .component_count = table->component_count, .dead_head = MI_POSITION_NONE};
    return add_site(target, site) && note_table(target, table) ? target->sites.count - 1 : MI_SITE_NONE;
}

static uint32_t new_pool_site(mi_target *target, mica_component component) {
    mi_store *store = &target->world->store;
    const mi_type *type = mi_schema_type(store->schema, component);
    const mi_pool *pool = mi_store_pool(store, type);
    if (pool == NULL) {
        mi_target_lack(target);
        return MI_SITE_NONE;
    }
    const uint32_t known = pool->index < target->pool_sites.count ? target->pool_sites.data[pool->index] : MI_SITE_NONE;
    if (known != MI_SITE_NONE) {
        return known;
    }
    const mi_site site = {.components = &pool->type->info.id,
                          .component_count = 1,
                          .pool_number = pool->index + 1,
                          .dead_head = MI_POSITION_NONE};
    return add_site(target, site) && note_pool(target, pool) ? target->sites.count - 1 : MI_SITE_NONE;
}

uint32_t mi_target_site(mi_target *target, const mica_component *components, uint32_t count, bool is_pool) {
    return is_pool ? new_pool_site(target, components[0]) : new_table_site(target, components, count);
}

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

// Where slots stand

bool mi_target_stood(const mi_target *target, uint32_t slot, uint32_t space, mi_standing *standing) {
    const mi_store *store = &target->world->store;
    const mi_slots *slots = &store->slots;
    if (target->is_blank || slot == 0 || slot >= slots->used || (slots->data[slot] & MI_SLOT_FREE) != 0) {
        return false;
    }
    if (space == 0) {
        const uint32_t location = mi_slots_location(slots, slot);
        if (location == 0) {
            return false;
        }
        *standing = target->chunk_places.data[location >> MI_ROW_BITS];
        standing->row += mi_row_of(location);
        return true;
    }
    const uint32_t position = mi_pool_find(store->pool_list.data[space - 1], mi_slots_handle(slots, slot));
    *standing =
        (mi_standing){position == MI_POSITION_NONE ? MI_SITE_NONE : target->pool_sites.data[space - 1], position};
    return position != MI_POSITION_NONE;
}

typedef struct moved_key {
    const mi_moved *moved;
    uint32_t slot;
    uint32_t space;
} moved_key;

static uint64_t hash_moved(uint32_t slot, uint32_t space) {
    return mi_hash_mix((uint64_t)space << 32 | slot);
}

static bool is_moved(const void *context, uint32_t value) {
    const moved_key *key = context;
    return key->moved[value].slot == key->slot && key->moved[value].space == key->space;
}

static const mi_moved *find_moved(const mi_target *target, uint32_t slot, uint32_t space) {
    const moved_key key = {.moved = target->moved.data, .slot = slot, .space = space};
    const uint32_t found = mi_map_find(&target->moved_map, hash_moved(slot, space), is_moved, &key);
    return found == MI_MAP_NONE ? NULL : &target->moved.data[found];
}

// The touched position of a site; NULL: it is not.
static const mi_touched *find_touched(const mi_target *target, mi_standing standing) {
    const mi_site *site = &target->sites.data[standing.site];
    if (site->touched_count == 0) {
        return NULL;
    }
    const mi_touched *touched = target->touched.data + site->first_touched;
    uint32_t low = 0;
    uint32_t high = site->touched_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (touched[middle].row < standing.row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < site->touched_count && touched[low].row == standing.row ? &touched[low] : NULL;
}

bool mi_target_stands(const mi_target *target, uint32_t slot, uint32_t space, mi_standing *standing) {
    const mi_moved *moved = find_moved(target, slot, space);
    if (moved != NULL) {
        *standing = moved->to;
        return true;
    }
    return mi_target_stood(target, slot, space, standing) && find_touched(target, *standing) == NULL;
}

uint64_t mi_target_entry(const mi_site *site, uint32_t row) {
    if (site->base == NULL || row >= site->base->row_count) {
        return 0;
    }
    const mi_chunk_image *chunk = site->base->chunks[row >> site->base->shift];
    const mica_entity handle = mi_image_handles(chunk->handles.image)[row & ((1u << site->base->shift) - 1)];
    return mica_entity_index(handle) | (mi_handle_is_dead(handle) ? MI_ORDER_DEAD : 0);
}

// Touching

bool mi_target_begin_rows(mi_target *target, uint32_t site, uint64_t row_count) {
    mi_site *s = &target->sites.data[site];
    if (s->touched_count > 0 || row_count > UINT32_MAX - 1) {
        return break_form(target, "rows are named twice");
    }
    s->first_touched = target->touched.count;
    s->row_count = (uint32_t)row_count;
    return true;
}

bool mi_target_touch(mi_target *target, uint32_t site, uint32_t row, uint64_t entry) {
    mi_site *s = &target->sites.data[site];
    const uint32_t slot = (uint32_t)entry;
    if ((entry != 0) != (row < s->row_count) || entry >> 33 != 0) {
        return break_form(target, "a position is beyond the last one, or nobody stands in front of it");
    }
    if (!MI_TARGET_RESERVE(target, &target->touched, (size_t)target->touched.count + 1)) {
        return false;
    }
    target->touched.data[target->touched.count++] = (mi_touched){.row = row, .entry = entry};
    s->touched_count++;
    if (entry == 0 || (entry & MI_ORDER_DEAD) != 0) {
        return true;
    }
    if (!mi_target_lives(target, slot)) {
        return break_form(target, "somebody stands in a row who is not alive");
    }
    if (find_moved(target, slot, s->pool_number) != NULL) {
        return break_form(target, "somebody stands in two rows");
    }
    if (!MI_TARGET_RESERVE(target, &target->moved, (size_t)target->moved.count + 1) ||
        !(mi_map_reserve(&target->moved_map, target->heap, MICA_MEMORY_STATE, 1) || mi_target_lack(target))) {
        return false;
    }
    mi_map_insert(&target->moved_map, hash_moved(slot, s->pool_number), target->moved.count);
    target->moved.data[target->moved.count++] =
        (mi_moved){.slot = slot, .space = s->pool_number, .to = {.site = site, .row = row}};
    return true;
}

// Whether positions that are tombstones hang together as a pool's do.
static bool check_dead(mi_target *target, uint32_t site, bool has_dead) {
    const mi_site *s = &target->sites.data[site];
    const mi_pool *pool = s->pool_number == 0 ? NULL : target->world->store.pool_list.data[s->pool_number - 1];
    const uint32_t none = mica_entity_index(mica_entity_make(MI_POSITION_NONE, MICA_GENERATION_MAX));
    if (pool == NULL || !pool->type->info.stable) {
        return !has_dead && s->dead_count == 0 && (pool == NULL || s->dead_head == MI_POSITION_NONE);
    }
    int64_t dead_count = s->base == NULL ? 0 : s->base->dead_count;
    for (uint32_t i = 0; i < s->touched_count; i++) {
        const mi_touched *touched = &target->touched.data[s->first_touched + i];
        dead_count += (touched->entry & MI_ORDER_DEAD) != 0;
        dead_count -= (mi_target_entry(s, touched->row) & MI_ORDER_DEAD) != 0;
    }
    uint32_t position = s->dead_head;
    for (uint32_t i = 0; i < s->dead_count; i++) {
        const mi_touched *touched =
            position < s->row_count ? find_touched(target, (mi_standing){site, position}) : NULL;
        const uint64_t entry = touched != NULL           ? touched->entry
                               : position < s->row_count ? mi_target_entry(s, position)
                                                         : 0;
        if ((entry & MI_ORDER_DEAD) == 0) {
            return false;
        }
        position = (uint32_t)entry == none ? MI_POSITION_NONE : (uint32_t)entry;
    }
    return position == MI_POSITION_NONE && dead_count == s->dead_count &&
           (s->row_count == 0 || s->dead_count < s->row_count);
}

bool mi_target_end_rows(mi_target *target, uint32_t site) {
    const mi_site *s = &target->sites.data[site];
    const uint32_t base_count = s->base == NULL ? 0 : s->base->row_count;
    const uint32_t low = base_count < s->row_count ? base_count : s->row_count;
    const uint32_t high = base_count < s->row_count ? s->row_count : base_count;
    uint32_t beyond = 0;
    bool has_dead = false;
    for (uint32_t i = 0; i < s->touched_count; i++) {
        const mi_touched *touched = &target->touched.data[s->first_touched + i];
        beyond += touched->row >= low;
        has_dead = has_dead || (touched->entry & MI_ORDER_DEAD) != 0;
    }
    if (beyond != high - low) {
        return break_form(target, "nobody stands in a row");
    }
    return check_dead(target, site, has_dead) || break_form(target, "tombstones of a pool do not hang together");
}

// Whether everybody who is touched, or no more the same, stands where he can.

static bool check_left(mi_target *target, uint32_t slot, uint32_t space) {
    mi_standing stood;
    return !mi_target_stood(target, slot, space, &stood) || find_touched(target, stood) != NULL;
}

// Slots that somebody else has, or nobody, may be left in no row that is not touched.
static bool check_ended(mi_target *target, uint32_t slot) {
    const mi_store *store = &target->world->store;
    if (!check_left(target, slot, 0)) {
        return break_form(target, "somebody stands in a row who is not alive");
    }
    if (target->is_blank || slot >= store->slots.used || store->pool_list.count == 0) {
        return true;
    }
    const uint64_t *mask = mi_masks_of(&store->masks, slot);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
         number = mi_store_next_pool(store, mask, number + 1)) {
        if (!check_left(target, slot, number + 1)) {
            return break_form(target, "somebody is in a pool who is not alive");
        }
    }
    return true;
}

static bool check_standings(mi_target *target) {
    for (uint32_t i = 0; i < target->moved.count; i++) {
        if (!check_left(target, target->moved.data[i].slot, target->moved.data[i].space)) {
            return break_form(target, "somebody stands in two rows");
        }
    }
    const mi_fate gone = target->forwards ? MI_FATE_DESTROYED : MI_FATE_CREATED;
    mi_fates_walk walk = mi_fates_walk_of(&target->delta->fates[gone]);
    uint32_t slot = 0;
    mi_ends generations;
    while (mi_fates_next(&walk, &slot, &generations)) {
        if (!check_ended(target, slot)) {
            return false;
        }
    }
    return true;
}

// Images

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

// Lets a column have an image of its own, for `count` values, of which those that the old one has are copied. The rest
// is zeros. False: failed.
static bool own_image(mi_target *target, mi_column_image *column, const mi_type *type, uint32_t kept, uint32_t count) {
    mi_image *old = column->image;
    if (old != NULL && old->reference_count == 1 && old->count >= count) {
        return true;
    }
    if (type != NULL && (type->has_copy || type->has_destruct)) {
        return mi_target_fail(target, MICA_UNSUPPORTED, "rows with values that have hooks would move", type->info.name);
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
    return image->data + (size_t)(stood.row & ((1u << rows->shift) - 1)) * image->size;
}

// Gives the touched rows of a chunk their handles and values.
static void fill_chunk(const mi_target *target, const mi_site *site, mi_chunk_image *chunk, const mi_touched *touched,
                       uint32_t count) {
    const uint32_t mask = (1u << site->rows->shift) - 1;
    for (uint32_t i = 0; i < count && touched[i].row < site->row_count; i++) {
        const uint32_t row = touched[i].row & mask;
        const uint32_t slot = (uint32_t)touched[i].entry;
        const bool is_dead = (touched[i].entry & MI_ORDER_DEAD) != 0;
        mica_entity *handles = (mica_entity *)(void *)chunk->handles.image->data;
        handles[row] = is_dead ? mica_entity_make(slot, MICA_GENERATION_MAX) : mi_target_handle(target, slot);
        for (uint32_t k = 0; k < chunk->column_count; k++) {
            const mi_type *type = site->rows->columns[k];
            uint8_t *to = chunk->columns[k].image->data + (size_t)row * type->info.size;
            const uint8_t *from = is_dead ? NULL : value_before(target, slot, site->pool_number, type->info.id);
            if (from != NULL) {
                memcpy(to, from, type->info.size);
            } else {
                memset(to, 0, type->info.size);
            }
        }
    }
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
    if (target->is_limited) {
        chunk->handles.version = target->base->version;
    }
    bool is_fine = own_image(target, &chunk->handles, NULL, kept, row_count);
    for (uint32_t k = 0; is_fine && k < chunk->column_count; k++) {
        is_fine = own_image(target, &chunk->columns[k], site->rows->columns[k], kept, row_count);
        if (target->is_limited) {
            chunk->columns[k].version = target->base->version;
        }
    }
    if (is_fine) {
        fill_chunk(target, site, chunk, touched, count);
    }
    return is_fine;
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
    if (!mi_target_stands(target, slot, space, &at) || find_moved(target, slot, space) != NULL) {
        return true;
    }
    mi_site *site = &target->sites.data[at.site];
    mi_chunk_image *chunk = own_chunk(target, site, at.row >> site->rows->shift);
    if (chunk == NULL || !own_image(target, &chunk->handles, NULL, chunk->row_count, chunk->row_count)) {
        return false;
    }
    mica_entity *handles = (mica_entity *)(void *)chunk->handles.image->data;
    handles[at.row & ((1u << site->rows->shift) - 1)] = mi_target_handle(target, slot);
    if (target->is_limited) {
        chunk->handles.version = target->base->version;
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
    if (!check_standings(target)) {
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
    if (target->is_limited) {
        chunk->columns[column].version = target->base->version;
    }
    return chunk->columns[column].image->data + (size_t)(at.row & ((1u << site->rows->shift) - 1)) * type->info.size;
}

static bool make_values(mi_target *target, const mi_delta_component *component, const mi_type *type) {
    const mi_ranges *ranges = mi_type_ranges(target->world->schema, type);
    mi_pool *pool = type->in_pool ? mi_store_find_pool(&target->world->store, type->info.id) : NULL;
    const uint32_t space = pool == NULL ? 0 : pool->index + 1;
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
        if ((!type->in_pool || pool != NULL) && mi_target_stands(target, slot, space, &at) &&
            mi_rows_image_has(target->sites.data[at.site].rows, type->info.id, &column) && column != UINT32_MAX) {
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
        if (component->values.places.count > 0 && !make_values(target, component, target->types[i])) {
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
            return break_form(target, "something was written after the state was");
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

void mi_target_free_sites(mi_target *target) {
    mi_heap *heap = target->heap;
    for (uint32_t i = 0; i < target->sites.count; i++) {
        mi_rows_image_release(target->sites.data[i].rows);
    }
    MI_FREE(heap, MICA_MEMORY_STATE, &target->sites);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->rows_sites);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->touched);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->moved);
    mi_map_free(&target->moved_map, heap, MICA_MEMORY_STATE);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->table_sites);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->pool_sites);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->chunk_places);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->room);
    MI_FREE(heap, MICA_MEMORY_STATE, &target->set);
}
