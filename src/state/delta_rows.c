// Rows of the state that a delta leads to; see delta_target.h.
//
// It is found out which positions are touched: where another slot, or none, stands from now on; and checked that
// everybody stands where he can stand.
#include "state/delta_target.h"

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

const mi_moved *mi_target_find_moved(const mi_target *target, uint32_t slot, uint32_t space) {
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
    const mi_moved *moved = mi_target_find_moved(target, slot, space);
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
        return mi_target_break(target, "rows are named twice");
    }
    s->first_touched = target->touched.count;
    s->row_count = (uint32_t)row_count;
    return true;
}

bool mi_target_touch(mi_target *target, uint32_t site, uint32_t row, uint64_t entry) {
    mi_site *s = &target->sites.data[site];
    const uint32_t slot = (uint32_t)entry;
    if ((entry != 0) != (row < s->row_count) || entry >> 33 != 0) {
        return mi_target_break(target, "a position is beyond the last one, or nobody stands in front of it");
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
        return mi_target_break(target, "somebody stands in a row who is not alive");
    }
    if (mi_target_find_moved(target, slot, s->pool_number) != NULL) {
        return mi_target_break(target, "somebody stands in two rows");
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
        return mi_target_break(target, "nobody stands in a row");
    }
    return check_dead(target, site, has_dead) || mi_target_break(target, "tombstones of a pool do not hang together");
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
        return mi_target_break(target, "somebody stands in a row who is not alive");
    }
    if (target->is_blank || slot >= store->slots.used || store->pool_list.count == 0) {
        return true;
    }
    const uint64_t *mask = mi_masks_of(&store->masks, slot);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
         number = mi_store_next_pool(store, mask, number + 1)) {
        if (!check_left(target, slot, number + 1)) {
            return mi_target_break(target, "somebody is in a pool who is not alive");
        }
    }
    return true;
}

bool mi_target_check_standings(mi_target *target) {
    for (uint32_t i = 0; i < target->moved.count; i++) {
        if (!check_left(target, target->moved.data[i].slot, target->moved.data[i].space)) {
            return mi_target_break(target, "somebody stands in two rows");
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
