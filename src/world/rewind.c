// Versions across restores; see rewind.h.
//
// A restore ends what the world went through after the snapshot: the segments that began later go, and a new one begins
// at the snapshot's version, with an outside version above all before. What is in the world has been stamped along the
// segments that are left, but for what a restore has exchanged: that may carry stamps of a time that these segments do
// not know, and is never taken for older than its note.
//
// Rows that move take their stamps along (store/table.h), and no notes. So what was moved into a chunk since a restore
// counts as exchanged by it: the stamp of the handles says when rows came. Elements leave no such stamp: once something
// was moved in a pool, all of it counts as exchanged by the last restore that exchanged any of it.
//
// Invariants: the segments ascend in both versions; the last one holds the present.
#include "world/rewind.h"

#include "world/order.h"
#include "world/tracker.h"

#include <string.h>

static const char extension_key;

// Versions

// The last segment that begins at or before a version, less than 0: it is older than all.
static int32_t find_inside(const mi_rewind *rewind, uint64_t version) {
    int32_t at = (int32_t)rewind->segment_count - 1;
    while (at >= 0 && rewind->segments[at].inside > version) {
        at--;
    }
    return at;
}

uint64_t mi_rewind_to_outside(const mi_rewind *rewind, uint64_t version) {
    const int32_t at = find_inside(rewind, version);
    if (version == 0 || at < 0) {
        return version == 0 ? 0 : rewind->segments[0].outside;
    }
    const uint64_t outside = rewind->segments[at].outside + (version - rewind->segments[at].inside);
    const bool is_last = (uint32_t)at + 1 == rewind->segment_count;
    return is_last || outside < rewind->segments[at + 1].outside ? outside : rewind->segments[at + 1].outside - 1;
}

uint64_t mi_rewind_to_inside(const mi_rewind *rewind, uint64_t version) {
    uint32_t at = rewind->segment_count;
    while (at > 0 && rewind->segments[at - 1].outside > version) {
        at--;
    }
    if (version == 0 || at == 0) {
        return 0;
    }
    const mi_rewind_segment *segment = &rewind->segments[at - 1];
    const bool is_last = at == rewind->segment_count;
    const uint64_t last = is_last ? UINT64_MAX : segment[1].inside - 1;
    const uint64_t count = version - segment->outside;
    const bool is_over = !is_last && version == segment[1].outside - 1; // all of the segment was seen
    return !is_over && count < last - segment->inside ? segment->inside + count : last;
}

// Notes

static void free_notes(mi_heap *heap, mi_rewind_notes *notes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        MI_FREE(heap, MICA_MEMORY_WORLD, &notes[i].versions);
    }
}

static void free_rewind(mica_world *world, void *state) {
    mi_rewind *rewind = state;
    mi_heap *heap = &world->heap;
    free_notes(heap, rewind->tables.data, rewind->tables.count);
    free_notes(heap, rewind->pools.data, rewind->pools.count);
    MI_FREE(heap, MICA_MEMORY_WORLD, &rewind->tables);
    MI_FREE(heap, MICA_MEMORY_WORLD, &rewind->pools);
    MI_FREE(heap, MICA_MEMORY_WORLD, &rewind->chunk_places);
    mi_heap_release(heap, MICA_MEMORY_WORLD, rewind, sizeof(*rewind), _Alignof(mi_rewind));
    world->rewind = NULL;
}

static const char *validate_rewind(const mica_world *world, const void *state) {
    const mi_rewind *rewind = state;
    for (uint32_t i = 1; i < rewind->segment_count; i++) {
        if (rewind->segments[i].inside <= rewind->segments[i - 1].inside ||
            rewind->segments[i].outside <= rewind->segments[i - 1].outside) {
            return "restores: their versions do not ascend";
        }
    }
    return rewind->segments[rewind->segment_count - 1].inside > world->store.version
               ? "restores: the last one led to a later version than the present"
               : NULL;
}

bool mi_rewind_open(mica_world *world) {
    if (world->rewind == NULL) {
        mi_rewind *rewind =
            mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_WORLD, sizeof(*rewind), _Alignof(mi_rewind));
        if (rewind == NULL || !mi_world_add_extension(world, &(mi_extension){.key = &extension_key,
                                                                             .state = rewind,
                                                                             .destroy = free_rewind,
                                                                             .validate = validate_rewind})) {
            mi_heap_release(&world->heap, MICA_MEMORY_WORLD, rewind, sizeof(*rewind), _Alignof(mi_rewind));
            return false;
        }
        rewind->segment_count = 1; // the same inside and outside
        world->rewind = rewind;
    }
    return mi_trackers_keep_history(world);
}

// Makes room for notes of `count` chunks or pages of `column_count` columns each.
static bool reserve_notes(mi_heap *heap, mi_rewind_notes *notes, uint32_t count, uint32_t column_count) {
    const size_t need = (size_t)count * column_count;
    if (notes->column_count != column_count) { // of a table that is gone
        MI_FREE(heap, MICA_MEMORY_WORLD, &notes->versions);
        *notes = (mi_rewind_notes){.column_count = column_count};
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_WORLD, &notes->versions, need)) {
        return false;
    }
    while (notes->versions.count < need) {
        notes->versions.data[notes->versions.count++] = 0;
    }
    return true;
}

static uint32_t columns_of(const mi_table *table) {
    return table->column_count + 1u;
}

bool mi_rewind_reserve(mica_world *world, const mi_table *table, uint32_t chunk_count) {
    mi_heap *heap = &world->heap;
    mi_rewind *rewind = mi_rewind_open(world) ? world->rewind : NULL;
    if (rewind == NULL || !MI_RESERVE(heap, MICA_MEMORY_WORLD, &rewind->tables, (size_t)table->id + 1) ||
        !MI_RESERVE(heap, MICA_MEMORY_WORLD, &rewind->chunk_places, world->store.chunk_count)) {
        return false;
    }
    while (rewind->tables.count <= table->id) {
        rewind->tables.data[rewind->tables.count++] = (mi_rewind_notes){.latest = 0};
    }
    while (rewind->chunk_places.count < world->store.chunk_count) {
        rewind->chunk_places.data[rewind->chunk_places.count++] = 0;
    }
    return reserve_notes(heap, &rewind->tables.data[table->id], chunk_count, columns_of(table));
}

bool mi_rewind_reserve_pool(mica_world *world, const mi_pool *pool, uint32_t page_count) {
    mi_heap *heap = &world->heap;
    mi_rewind *rewind = mi_rewind_open(world) ? world->rewind : NULL;
    if (rewind == NULL || !MI_RESERVE(heap, MICA_MEMORY_WORLD, &rewind->pools, (size_t)pool->index + 1)) {
        return false;
    }
    while (rewind->pools.count <= pool->index) {
        rewind->pools.data[rewind->pools.count++] = (mi_rewind_notes){.latest = 0};
    }
    return reserve_notes(heap, &rewind->pools.data[pool->index], page_count, 1);
}

// What the restore that exchanged something of a pool last is to say of all of it, if something was moved since.
static uint64_t moved_version(const mi_rewind_notes *notes, const mi_pool *pool) {
    return notes->structure != pool->structure ? notes->latest : 0;
}

static void spread_notes(mica_world *world) {
    mi_rewind *rewind = world->rewind;
    for (uint32_t number = 0; number < rewind->pools.count; number++) {
        mi_rewind_notes *notes = &rewind->pools.data[number];
        const uint64_t version = moved_version(notes, world->store.pool_list.data[number]);
        for (uint32_t page = 0; version != 0 && page < notes->versions.count; page++) {
            notes->versions.data[page] = version;
        }
    }
}

static void note(mi_rewind *rewind, mi_rewind_notes *notes, uint32_t place) {
    MI_ASSERT(place < notes->versions.count);
    notes->versions.data[place] = rewind->version;
    notes->latest = rewind->version;
}

void mi_rewind_column(mica_world *world, const mi_table *table, uint32_t chunk_index, uint32_t column) {
    note(world->rewind, &world->rewind->tables.data[table->id], chunk_index * columns_of(table) + column);
}

void mi_rewind_page(mica_world *world, const mi_pool *pool, uint32_t page) {
    note(world->rewind, &world->rewind->pools.data[pool->index], page);
}

// Looking at notes

// The restore that began the segment of an inside version; 0: it is older than all restores.
static uint64_t restored_before(const mi_rewind *rewind, uint64_t version) {
    const int32_t at = find_inside(rewind, version);
    return at < 0 ? 0 : rewind->segments[at].outside; // of the first segment 0, unless older ones are forgotten
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t mi_rewind_of_column(const mica_world *world, const mi_table *table, uint32_t chunk_index,
                             mica_component component) {
    const mi_rewind *rewind = world->rewind;
    uint8_t *base = world->store.chunks[table->chunk_ids[chunk_index]].base;
    const uint64_t moved = component == 0 ? 0 : restored_before(rewind, mi_column_version(base));
    const mi_rewind_notes *notes = table->id < rewind->tables.count ? &rewind->tables.data[table->id] : NULL;
    if (notes == NULL || notes->column_count != columns_of(table)) {
        return moved;
    }
    const mi_column *column = component == 0 ? NULL : mi_table_find_column(table, component);
    const uint32_t number = column == NULL ? 0 : (uint32_t)(column - table->columns) + 1;
    const size_t place = (size_t)chunk_index * notes->column_count + number;
    return place < notes->versions.count ? later(notes->versions.data[place], moved) : moved;
}

// Which of its table's chunks a chunk is.
static uint32_t chunk_place(const mica_world *world, const mi_table *table, uint32_t id) {
    mi_rewind *rewind = world->rewind;
    const bool is_noted = id < rewind->chunk_places.count;
    const uint32_t noted = is_noted ? rewind->chunk_places.data[id] : 0;
    if (noted < table->chunk_count && table->chunk_ids[noted] == id) {
        return noted;
    }
    uint32_t place = 0;
    while (table->chunk_ids[place] != id) {
        place++;
    }
    if (is_noted) {
        rewind->chunk_places.data[id] = place;
    }
    return place;
}

uint64_t mi_rewind_of_row(const mica_world *world, uint32_t location, mica_component component) {
    const mi_table *table = mi_store_table_at(&world->store, location);
    return mi_rewind_of_column(world, table, chunk_place(world, table, location >> MI_ROW_BITS), component);
}

uint64_t mi_rewind_of_position(const mica_world *world, const mi_pool *pool, uint32_t position) {
    const mi_rewind *rewind = world->rewind;
    const mi_rewind_notes *notes = pool->index < rewind->pools.count ? &rewind->pools.data[pool->index] : NULL;
    const uint32_t page = position >> pool->page_shift;
    if (notes == NULL) {
        return 0;
    }
    const uint64_t noted = page < notes->versions.count ? notes->versions.data[page] : 0;
    return later(noted, moved_version(notes, pool));
}

// Restoring

static void begin_segment(mi_rewind *rewind, uint64_t inside, uint64_t outside) {
    while (rewind->segment_count > 0 && rewind->segments[rewind->segment_count - 1].inside >= inside) {
        rewind->segment_count--;
    }
    if (rewind->segment_count == MI_REWIND_SEGMENT_MAX) {
        rewind->segment_count--;
        memmove(rewind->segments, rewind->segments + 1, rewind->segment_count * sizeof(mi_rewind_segment));
    }
    rewind->segments[rewind->segment_count++] = (mi_rewind_segment){.inside = inside, .outside = outside};
}

void mi_rewind_begin(mica_world *world, uint64_t version) {
    mi_rewind *rewind = world->rewind;
    spread_notes(world);
    rewind->version = mi_rewind_to_outside(rewind, world->store.version) + 1;
    begin_segment(rewind, version, rewind->version);
    world->outside_since = MI_SINCE_OUTSIDE;
    world->running_since = world->running == NULL ? MI_SINCE_OUTSIDE : world->running_since;
    world->store.version = version;
}

void mi_rewind_end(mica_world *world) {
    mi_rewind *rewind = world->rewind;
    for (uint32_t number = 0; number < rewind->pools.count; number++) {
        rewind->pools.data[number].structure = world->store.pool_list.data[number]->structure;
    }
    world->signals.written_column = NULL;
    mi_world_forget_orders(world);
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        const mi_extension *extension = &world->extensions.data[i];
        if (extension->rewound != NULL) {
            extension->rewound(world, extension->state);
        }
    }
}
