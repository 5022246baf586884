// Versions of single entities: the latest stamp among those that what an entity has stands under.
//
// Stamps are those of columns and pages, so they say "may have changed since" of all that stands there. The column of
// handles is stamped when a row comes or moves.
#include <mica/subscription.h>

#include "world/world.h"

static uint64_t column_version(const mi_table *table, uint8_t *base, mica_component component) {
    return mi_column_version(mi_table_any_column(table, base, component));
}

static uint64_t page_version(const mi_pool *pool, uint32_t position) {
    return pool->size == 0 ? 0 : mi_pool_version(pool, position);
}

// Of a component that the entity has, in the table at its location.
static uint64_t version_in_table(const mi_store *store, const mi_type *type, uint32_t location) {
    if (type->info.size == 0) {
        return 0;
    }
    return type->info.always_dirty
               ? store->version
               : column_version(mi_store_table_at(store, location), mi_store_base(store, location), type->info.id);
}

static uint64_t version_in_pool(const mi_store *store, const mi_pool *pool, mica_entity entity) {
    const uint32_t position = mi_pool_find(pool, entity);
    if (position == MI_POSITION_NONE) {
        return 0;
    }
    return pool->type->info.always_dirty ? store->version : page_version(pool, position);
}

uint64_t mica_entity_component_version(const mica_world *world, mica_entity entity, mica_component component) {
    static const char call[] = "mica_entity_component_version";
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK) {
        return 0;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL || !mi_world_has(world, entity, location, component)) {
        return 0;
    }
    const mi_store *store = &world->store;
    const mi_pool *pool = mi_store_find_pool(store, component);
    return pool != NULL ? version_in_pool(store, pool, entity) : version_in_table(store, type, location);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t mica_entity_version(const mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, "mica_entity_version") != MICA_OK) {
        return 0;
    }
    const mi_store *store = &world->store;
    uint64_t version = 0;
    if (location != 0) {
        const mi_table *table = mi_store_table_at(store, location);
        version = mi_column_version(mi_store_base(store, location));
        for (uint32_t i = 0; i < table->column_count; i++) {
            version = later(version, version_in_table(store, table->columns[i].type, location));
        }
    }
    const uint64_t *mask = mi_store_mask(store, entity);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
         number = mi_store_next_pool(store, mask, number + 1)) {
        version = later(version, version_in_pool(store, store->pool_list.data[number], entity));
    }
    return version;
}
