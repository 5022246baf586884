// Limits of memory, room made ready, and the size of worlds of fixed capacity.
//
// A budget and a fixed piece of memory are the heap's business (base/heap.h); here they are set and planned. Room in
// tables is a number of rows whose chunks stay (mi_store_keep_rows), so that the functions that give chunks back need
// no list of rooms; room in pools is what they hold anyway, with the pages of lookups and masks for all slots that
// there are, and blocks kept for these pages until the next trim. A room that cannot be made may leave room behind,
// nothing else.
#include "world/world.h"

#include <mica/capacity.h>
#include <mica/pool.h>

// Limits

mica_result mica_world_set_budget(mica_world *world, const mica_memory_budget *budget) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
    }
    if (budget != NULL && budget->bytes[MICA_MEMORY_SCHEMA] != 0) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__, "a world's budget does not count its schema");
    }
    static const mica_memory_budget none;
    world->heap.budget = budget == NULL ? none : *budget;
    return MICA_OK;
}

mica_memory_budget mica_world_budget(const mica_world *world) {
    static const mica_memory_budget none;
    return world == NULL ? none : world->heap.budget;
}

// Room

// Makes sure of the pages that entities of all slots need in a pool, and of their masks.
static bool open_pages(mica_world *world, mi_pool *pool) {
    mi_store *store = &world->store;
    for (uint32_t index = 0; index < store->slots.capacity; index += MI_SPARSE_SIZE) {
        if (!mi_masks_open(&store->masks, &world->heap, index) || !mi_pool_open_index(pool, &world->heap, index)) {
            return false;
        }
        if (store->slots.capacity - index <= MI_SPARSE_SIZE) {
            break;
        }
    }
    const mi_region_stats pages = mi_region_statistics(store->page_region);
    return mi_region_keep(store->page_region, pages.shared_bytes);
}

static mica_result make_pool_room(mica_world *world, const mi_type *type, uint32_t count, const char *call) {
    if (mica_pool_reserve(world, type->info.id, (int32_t)count) != MICA_OK) {
        return mica_last_result();
    }
    mi_pool *pool = mi_store_find_pool(&world->store, type->info.id);
    if (count > 0 && !open_pages(world, pool)) {
        return mi_fail_memory(&world->log, call, 0);
    }
    return MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->elements, world->store.pool_list.count)
               ? MICA_OK
               : mi_fail_memory(&world->log, call, world->store.pool_list.count * sizeof(mi_element));
}

// Room in the pools of a type and of those that come along with it.
static mica_result make_pools_room(mica_world *world, const mi_type *type, uint32_t count, const char *call) {
    mica_result result = type->in_pool ? make_pool_room(world, type, count, call) : MICA_OK;
    for (int32_t i = 0; result == MICA_OK && type->brings_pool && i < type->info.required_count; i++) {
        const mi_type *required = mi_schema_type(world->schema, type->info.required[i]);
        if (required->in_pool) {
            result = make_pool_room(world, required, count, call);
        }
    }
    return result;
}

static mica_result make_table_room(mica_world *world, mi_table *table, uint32_t count, const char *call) {
    mi_store *store = &world->store;
    if (table == mi_store_root(store)) {
        return MICA_OK;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->changes, table->column_count)) {
        return mi_fail_memory(&world->log, call, table->column_count * sizeof(mi_change));
    }
    return mi_store_keep_rows(store, table, count) ? MICA_OK : mi_world_fail_store(world, call);
}

// The type of an entry; NULL, with the error set if `entry` is not beyond the end of the list.
static const mi_type *room_type(mica_world *world, const mica_room *room, int32_t entry, const char *call,
                                mica_result *result) {
    *result = MICA_OK;
    if (entry == MICA_ROOM_MAX || (room->types[entry] == NULL && room->components[entry] == 0)) {
        return NULL;
    }
    const mica_component component =
        room->types[entry] == NULL ? room->components[entry] : mica_world_component(world, room->types[entry]);
    const mi_type *type = component == 0 ? NULL : mi_world_type(world, component, call);
    *result = type == NULL ? mica_last_result() : MICA_OK;
    return type;
}

mica_result mica_world_make_room(mica_world *world, const mica_room *room) {
    mica_result result = mi_world_check_structure(world, __func__);
    if (result != MICA_OK) {
        return result;
    }
    if (room == NULL || (room->types[0] == NULL && room->components[0] == 0)) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__, "needs components");
    }
    if (room->count > MICA_INDEX_MAX || room->count > INT32_MAX) {
        return mi_fail(&world->log, MICA_LIMIT, __func__, "no room for {} entities: a world holds {} at most",
                       MI_UINT(room->count), MI_UINT(MICA_INDEX_MAX));
    }
    mi_table *table = mi_store_root(&world->store);
    int32_t entry = 0;
    for (const mi_type *type; (type = room_type(world, room, entry, __func__, &result)) != NULL; entry++) {
        table = mi_store_table_with(&world->store, table, type->info.id);
        if (table == NULL) {
            return mi_world_fail_store(world, __func__);
        }
        result = make_pools_room(world, type, room->count, __func__);
        if (result != MICA_OK) {
            return result;
        }
    }
    return result == MICA_OK ? make_table_room(world, table, room->count, __func__) : result;
}

mica_result mica_world_keep_chunks(mica_world *world, size_t byte_size) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
    }
    if (byte_size / MI_CHUNK_BYTES >= MI_CHUNK_MAX) {
        return mi_fail(&world->log, MICA_LIMIT, __func__, "no world has chunks of {} bytes", MI_UINT(byte_size));
    }
    if (mi_heap_is_fixed(&world->heap)) {
        return MICA_OK;
    }
    return mi_store_keep_chunks(&world->store, byte_size) ? MICA_OK : mi_fail_memory(&world->log, __func__, byte_size);
}

// Fixed capacity

enum { PLAN_STEP = 4096, PLAN_SHARE = 16 };

// Whether a world like this can be made; false, with the error set.
static bool can_make(const mica_world_def *def) {
    mica_world *world = mica_world_create(def);
    mica_world_destroy(world);
    return world != NULL;
}

size_t mica_world_fixed_size(const mica_world_def *def) {
    static const mica_world_def defaults;
    mica_world_def trial = def == NULL ? defaults : *def;
    trial.log = (mica_log_handler){0}; // attempts that fail are no news
    trial.budget = (mica_memory_budget){.total = 0};
    trial.fixed_memory = NULL;
    trial.fixed_byte_size = (size_t)PLAN_STEP * 4;
    while (!can_make(&trial)) {
        if (mica_last_result() != MICA_OUT_OF_MEMORY || trial.fixed_byte_size > PTRDIFF_MAX / 2) {
            return 0;
        }
        trial.fixed_byte_size *= 2;
    }
    size_t enough = trial.fixed_byte_size;
    size_t short_of = enough / 2;
    while (enough - short_of > PLAN_STEP && enough - short_of > enough / PLAN_SHARE) {
        trial.fixed_byte_size = short_of + (enough - short_of) / 2;
        if (can_make(&trial)) {
            enough = trial.fixed_byte_size;
        } else {
            short_of = trial.fixed_byte_size;
        }
    }
    return enough;
}
