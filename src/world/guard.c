// What a guard protects, and the report of what was touched.
//
// Protected are the columns of chunks, the pieces of pools and the resources of components that the system does not
// write; heads of columns, stamps, handles and all else by which the library finds its way are not, and stand on other
// pages (heap.h). The values of relations may be read by whoever likes, as what follows from them: they are structure.
//
// Invariants: nothing is protected but between mi_guard_begin and mi_guard_end. Rows, elements and resources stay where
// they are meanwhile, since structure is locked, so that the address that was touched leads to its entity afterwards.
#include "world/guard.h"

#include "store/pools.h"

mi_guard *mi_guard_create(mi_heap *heap) {
    return mi_heap_allocate_zeroed(heap, MICA_MEMORY_WORLD, sizeof(mi_guard), _Alignof(mi_guard));
}

void mi_guard_destroy(mi_guard *guard, mi_heap *heap) {
    if (guard != NULL) {
        MI_FREE(heap, MICA_MEMORY_WORLD, &guard->ranges);
        MI_FREE(heap, MICA_MEMORY_WORLD, &guard->guarded);
        mi_heap_release(heap, MICA_MEMORY_WORLD, guard, sizeof(mi_guard), _Alignof(mi_guard));
    }
}

// What is to be protected

typedef struct listing {
    mica_world *world;
    const mi_access *access;
    bool is_out_of_memory;
} listing;

// Adds memory that values of a component have to themselves, unless the system may write them.
static void add_range(listing *l, const mi_type *type, void *start, size_t byte_size, uint64_t *stamps,
                      uint32_t stamp_count) {
    const mi_access_entry *declared = mi_access_find(l->access, type->info.id);
    if (declared != NULL && declared->writes) {
        return;
    }
    mi_guard *guard = l->world->guard;
    mi_heap *heap = &l->world->heap;
    const size_t need = (size_t)guard->ranges.count + 1;
    if (!MI_RESERVE(heap, MICA_MEMORY_WORLD, &guard->ranges, need) ||
        !MI_RESERVE(heap, MICA_MEMORY_WORLD, &guard->guarded, need)) {
        l->is_out_of_memory = true;
        return;
    }
    guard->ranges.data[guard->ranges.count++] = (mi_page_range){.start = start,
                                                                .byte_size = mi_heap_whole_pages(byte_size),
                                                                .is_readable = declared != NULL || type->is_relation};
    guard->guarded.data[guard->guarded.count++] =
        (mi_guarded){.component = type->info.id, .stamp_count = stamp_count, .stamps = stamps};
}

static void add_tables(listing *l) {
    const mi_store *store = &l->world->store;
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        for (uint32_t k = 0; table != NULL && k < table->chunk_count; k++) {
            uint8_t *base = store->chunks[table->chunk_ids[k]].base;
            for (uint32_t i = 0; i < table->column_count; i++) {
                const mi_column *column = &table->columns[i];
                add_range(l, column->type, base + column->offset, mi_column_byte_size(column, table->chunk_room),
                          &mi_column_head_of(base + column->offset)->stamp, 1);
            }
        }
    }
}

static void add_pools(listing *l) {
    const mi_store *store = &l->world->store;
    for (uint32_t number = 0; number < store->pool_list.count; number++) {
        const mi_pool *pool = store->pool_list.data[number];
        const uint32_t piece_count = pool->size == 0 ? 0 : mi_pool_piece_count(pool);
        // A packed pool has one piece, of all pages.
        const uint32_t pages_of_each = piece_count == 1 ? mi_pool_pages_for(pool, pool->value_capacity) : 1;
        for (uint32_t i = 0; i < piece_count; i++) {
            add_range(l, pool->type, pool->pages[i], mi_pool_piece_byte_size(pool), &pool->stamps[i], pages_of_each);
        }
    }
}

// Those that the program holds are in memory of its own.
static void add_resources(listing *l) {
    for (uint32_t i = 0; i < l->world->resources.count; i++) {
        const mi_resource *resource = &l->world->resources.data[i];
        if (resource->value != NULL && !resource->is_pointer) {
            const mi_type *type = mi_schema_type(l->world->schema, (mica_component)i);
            add_range(l, type, resource->value, type->info.size, NULL, 0);
        }
    }
}

mica_result mi_guard_begin(mica_world *world, const mi_access *access) {
    static const char call[] = "mica_world_step";
    mi_guard *guard = world->guard;
    listing l = {.world = world, .access = access};
    guard->ranges.count = 0;
    guard->guarded.count = 0;
    guard->is_broken = false;
    add_tables(&l);
    add_pools(&l);
    add_resources(&l);
    if (l.is_out_of_memory) {
        return mi_fail_memory(&world->log, call, sizeof(mi_page_range));
    }
    guard->watch = (mi_page_watch){.ranges = guard->ranges.data, .range_count = guard->ranges.count};
    guard->is_on = mi_page_watch_begin(&guard->watch);
    return guard->is_on ? MICA_OK
                        : mi_fail(&world->log, MICA_LIMIT, call,
                                  "the operating system does not protect {} columns of {}: there are too many",
                                  MI_UINT(guard->ranges.count), MI_TEXT(world->name));
}

// What was touched

// The row that has the byte at `offset` of a column; UINT32_MAX: none.
static uint32_t row_at(const mi_column *column, uint32_t chunk_room, size_t offset) {
    if (!mi_type_in_lanes(column->type)) {
        return (uint32_t)(offset / column->size);
    }
    for (uint32_t i = 0; i < column->type->lanes.count; i++) {
        const size_t in_lane = offset - mi_lane_start(column->type, i, chunk_room);
        const size_t size = column->type->lanes.data[i].size;
        if (in_lane < size * chunk_room) {
            return (uint32_t)(in_lane / size);
        }
    }
    return UINT32_MAX;
}

// The entity in whose value of a component the address points, if that is in tables.
static mica_entity find_in_tables(const mi_store *store, mica_component component, const void *address) {
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        const mi_column *column = table == NULL ? NULL : mi_table_find_column(table, component);
        for (uint32_t k = 0; column != NULL && k << table->shift < table->row_count; k++) {
            const uint8_t *base = store->chunks[table->chunk_ids[k]].base;
            const size_t offset = (size_t)((uintptr_t)address - (uintptr_t)(base + column->offset));
            if (offset < mi_column_byte_size(column, table->chunk_room)) {
                const uint32_t row = row_at(column, table->chunk_room, offset);
                return row < mi_table_chunk_rows(table, k) ? ((const mica_entity *)(const void *)base)[row] : MICA_NULL;
            }
        }
    }
    return MICA_NULL;
}

static mica_entity find_entity(const mica_world *world, mica_component component, const void *address) {
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool == NULL) {
        return find_in_tables(&world->store, component, address);
    }
    const uint32_t position = mi_pool_position_of(pool, address);
    return position == MI_POSITION_NONE ? MICA_NULL : pool->entities[position];
}

static void mark_written(mica_world *world, const mi_guarded *guarded) {
    if (guarded->stamps == NULL) {
        mi_world_mark_resource(world, guarded->component);
        return;
    }
    for (uint32_t i = 0; i < guarded->stamp_count; i++) {
        mi_stamp_mark(&guarded->stamps[i], mi_world_version(world));
    }
}

// What was touched may have been written, which nothing has said of it yet: snapshots would share it as it was, and a
// tick that is taken back would leave it as it is.
static void mark_touched(mica_world *world) {
    const mi_guard *guard = world->guard;
    for (uint32_t i = 0; i < guard->watch.range_count; i++) {
        if (guard->ranges.data[i].is_open) {
            mark_written(world, &guard->guarded.data[i]);
        }
    }
}

mica_result mi_guard_end(mica_world *world) {
    mi_guard *guard = world->guard;
    const mi_page_watch *watch = &guard->watch;
    mi_page_watch_end(&guard->watch);
    guard->is_on = false;
    if (watch->touch != MI_TOUCH_NONE) {
        const mica_component component = guard->guarded.data[watch->touched].component;
        mark_touched(world);
        return mi_access_refuse(world, component, watch->touch, find_entity(world, component, watch->address),
                                "a raw pointer");
    }
    return !guard->is_broken
               ? MICA_OK
               : mi_fail(&world->log, MICA_LIMIT, "mica_world_step",
                         "the operating system does not protect all columns of {} again: there are too many",
                         MI_TEXT(world->name));
}
