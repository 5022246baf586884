// Walks: from table to table in canonical order, a span a chunk; then, for queries that require nothing, the entities
// without rows.
//
// A walk that is open counts in its query and its world; the structure lock is that count. All state of a walk lies in
// the caller's mica_iter. Entities without rows have no array of handles anywhere, so they are gathered into scratch
// memory of the world, which a walk takes when it opens: there is as much as there were walks open at a time.
#include "world/commands.h"
#include "world/query.h"

#include <mica/system.h>

#define SCRATCH_COUNT (sizeof(((mi_scratch *)NULL)->entities) / sizeof(mica_entity))

static mica_entity *take_scratch(mica_world *world) {
    mi_scratch *scratch = world->scratches;
    while (scratch != NULL && scratch->is_taken) {
        scratch = scratch->next;
    }
    if (scratch == NULL) {
        scratch = mi_heap_allocate(&world->heap, MICA_MEMORY_QUERIES, sizeof(*scratch), _Alignof(mi_scratch));
        if (scratch == NULL) {
            return NULL;
        }
        scratch->next = world->scratches;
        world->scratches = scratch;
    }
    scratch->is_taken = true;
    return scratch->entities;
}

static void give_scratch(mica_entity *entities) {
    mi_scratch *scratch = (mi_scratch *)(void *)((uint8_t *)entities - offsetof(mi_scratch, entities));
    scratch->is_taken = false;
}

void mi_world_free_scratches(mica_world *world, bool all) {
    mi_scratch **link = &world->scratches;
    while (*link != NULL) {
        mi_scratch *scratch = *link;
        if (scratch->is_taken && !all) {
            link = &scratch->next;
            continue;
        }
        *link = scratch->next;
        mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, scratch, sizeof(*scratch), _Alignof(mi_scratch));
    }
}

mica_iter mica_query_begin(mica_query *query) {
    static const char call[] = "mica_query_begin";
    mica_iter iter;
    // Not all members at once: a walk over few rows should cost little.
    iter.count = 0;
    iter.row = 0;
    iter.entities = NULL;
    iter.open = false;
    iter.own_rows = false;
    iter.offset_count = 0;
    iter.offsets = NULL;
    iter.base = NULL;
    iter.query = query;
    iter.run = NULL;
    iter.scratch = NULL;
    iter.table_index = 0;
    iter.chunk_index = 0;
    iter.slot_index = 1;
    if (query == NULL) {
        // The query was refused, most likely, and that is what the caller wants to read.
        mi_fail(NULL, MICA_INVALID, call, "needs a query; the last error was \"{}\"", MI_TEXT(mica_last_error()));
        return iter;
    }
    if (mi_query_update(query, call) != MICA_OK) {
        return iter;
    }
    mica_world *world = query->world;
    if (query->requires_nothing) {
        iter.scratch = take_scratch(world);
        if (iter.scratch == NULL) {
            mi_fail_memory(&world->log, call, sizeof(mi_scratch));
            return iter;
        }
    }
    iter.run = world->running;
    iter.open = true;
    query->open_count++;
    world->walk_count++;
    return iter;
}

// Gathers the next entities without rows.
static bool next_rowless(mica_iter *iter) {
    if (iter->scratch == NULL) {
        return false;
    }
    const mi_slots *slots = &iter->query->world->store.slots;
    uint32_t count = 0;
    while (iter->slot_index < slots->used && count < SCRATCH_COUNT) {
        if (mi_slots_location(slots, iter->slot_index) == 0) {
            iter->scratch[count++] = mi_slots_handle(slots, iter->slot_index);
        }
        iter->slot_index++;
    }
    iter->own_rows = true;
    iter->offset_count = 0;
    iter->base = NULL;
    iter->entities = iter->scratch;
    iter->count = (int32_t)count;
    return count > 0;
}

bool mica_iter_next(mica_iter *iter) {
    if (MICA_UNLIKELY(iter == NULL || !iter->open)) {
        return false;
    }
    const mica_query *query = iter->query;
    const mi_store *store = &query->world->store;
    while (iter->table_index < query->tables.count) {
        const mi_table *table = query->tables.data[iter->table_index];
        const uint32_t chunk_index = iter->chunk_index;
        if ((uint64_t)chunk_index << table->shift >= table->row_count) {
            iter->table_index++;
            iter->chunk_index = 0;
            continue;
        }
        const uint32_t rows = mi_table_chunk_rows(table, chunk_index);
        const bool is_last = (chunk_index << table->shift) + rows == table->row_count;
        iter->table_index += is_last;
        iter->chunk_index = is_last ? 0 : chunk_index + 1;
        iter->base = store->chunks[table->chunk_ids[chunk_index]].base;
        iter->entities = (const mica_entity *)(const void *)iter->base;
        iter->offsets = table->offset_of;
        iter->offset_count = table->offset_count;
        iter->count = (int32_t)rows;
        return true;
    }
    if (next_rowless(iter)) {
        return true;
    }
    iter->count = 0;
    iter->entities = NULL;
    return false;
}

void mica_iter_end(mica_iter *iter) {
    if (iter == NULL || !iter->open) {
        return;
    }
    iter->open = false;
    iter->count = 0;
    mica_query *query = iter->query;
    mica_world *world = query->world;
    if (iter->scratch != NULL) {
        give_scratch(iter->scratch);
        iter->scratch = NULL;
    }
    if (query->open_count > 0) { // a walk that a system left open was closed when the system returned
        query->open_count--;
        world->walk_count--;
    }
    if (world->walk_count == 0 && world->running == NULL && world->walk_commands != NULL &&
        mica_commands_count(world->walk_commands) > 0) {
        mi_commands_apply(world->walk_commands, "mica_iter_end");
    }
}

// Columns

MI_COLD static void *fail_access(const mica_iter *iter, mica_component component, uint32_t access, const char *call) {
    const mica_query *query = iter == NULL ? NULL : iter->query;
    if (query == NULL || !iter->open) {
        mi_fail_plain(query == NULL ? NULL : &query->world->log, MICA_INVALID, call, "the walk is not open");
        return NULL;
    }
    const mi_type *type = mi_world_type(query->world, component, call);
    if (type != NULL) {
        mi_fail(&query->world->log, MICA_NO_ACCESS, call, "the query ({}) does not {} {}", MI_TEXT(query->text),
                MI_TEXT(access == MI_ACCESS_WRITE ? "write" : "read"), MI_TEXT(type->info.name));
    }
    return NULL;
}

// The span's column if the query may use it so.
static inline uint8_t *find_column(const mica_iter *iter, mica_component component, uint32_t access, const char *call) {
    const mica_query *query = iter == NULL || !iter->open ? NULL : iter->query;
    if (MICA_UNLIKELY(query == NULL || component >= query->access_count || (query->access[component] & access) == 0)) {
        return fail_access(iter, component, access, call);
    }
    const uint32_t offset = component < iter->offset_count ? iter->offsets[component] : 0;
    return offset == 0 || iter->base == NULL ? NULL : iter->base + (size_t)offset * MI_COLUMN_ALIGN;
}

const void *mica_iter_read_id(const mica_iter *iter, mica_component component) {
    return find_column(iter, component, MI_ACCESS_READ, "mica_iter_read");
}

void *mica_iter_write_id(const mica_iter *iter, mica_component component) {
    uint8_t *column = find_column(iter, component, MI_ACCESS_WRITE, "mica_iter_write");
    if (column != NULL) {
        mi_column_mark(column, iter->query->world->store.version);
    }
    return column;
}

// The id of a descriptor; 0 with the error set if the walk is not open or the descriptor is refused.
static inline mica_component component_of(const mica_iter *iter, mica_type *type, uint32_t access, const char *call) {
    if (MICA_UNLIKELY(iter == NULL || !iter->open)) {
        fail_access(iter, 0, access, call);
        return 0;
    }
    return mica_world_component(iter->query->world, type);
}

const void *mica_iter_read(const mica_iter *iter, mica_type *type) {
    const mica_component component = component_of(iter, type, MI_ACCESS_READ, "mica_iter_read");
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_read_id(iter, component);
}

void *mica_iter_write(const mica_iter *iter, mica_type *type) {
    const mica_component component = component_of(iter, type, MI_ACCESS_WRITE, "mica_iter_write");
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_write_id(iter, component);
}

mica_commands *mica_iter_commands_of(mica_iter *iter) {
    if (iter == NULL || !iter->open) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_iter_commands", "the walk is not open");
        return NULL;
    }
    if (iter->run != NULL) {
        return mica_run_commands(iter->run);
    }
    mica_world *world = iter->query->world;
    if (world->walk_commands == NULL) {
        world->walk_commands = mi_commands_create(world, true);
        if (world->walk_commands == NULL) {
            mi_fail_memory(&world->log, "mica_iter_commands", 0);
        }
    }
    return world->walk_commands;
}
