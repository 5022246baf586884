// Versions of single entities: the latest stamp among those that what an entity has stands under.
//
// Stamps are those of columns and pages, so they say "may have changed since" of all that stands there. The column of
// handles is stamped when a row comes or moves. What is handed out are outside versions (rewind.h).
#include <mica/subscription.h>

#include "world/rewind.h"

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// Of a component that the entity has with data, in the table at its location; 0: of the handles there.
static uint64_t column_version(const mica_world *world, uint32_t location, mica_component component) {
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, location);
    uint8_t *base = mi_store_base(store, location);
    uint8_t *column = component == 0 ? base : mi_table_any_column(table, base, component);
    const uint64_t version = mi_outside_version(world, mi_column_version(column));
    return world->rewind == NULL ? version : later(version, mi_rewind_of_row(world, location, component));
}

static uint64_t page_version(const mica_world *world, const mi_pool *pool, uint32_t position) {
    const uint64_t version = mi_outside_version(world, mi_pool_version(pool, position));
    return world->rewind == NULL ? version : later(version, mi_rewind_of_position(world, pool, position));
}

// Of a component that the entity has, in the table at its location.
static uint64_t version_in_table(const mica_world *world, const mi_type *type, uint32_t location) {
    if (type->info.size == 0) {
        return 0;
    }
    return type->info.always_dirty ? mi_outside_now(world) : column_version(world, location, type->info.id);
}

static uint64_t version_in_pool(const mica_world *world, const mi_pool *pool, mica_entity entity) {
    const uint32_t position = mi_pool_find(pool, entity);
    if (position == MI_POSITION_NONE || pool->size == 0) {
        return 0;
    }
    return pool->type->info.always_dirty ? mi_outside_now(world) : page_version(world, pool, position);
}

uint64_t mica_entity_component_version(const mica_world *world, mica_entity entity, mica_component component) {
    static const char call[] = "mica_entity_component_version";
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK) {
        return 0;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL || mi_world_check_access(world, component, false, entity, call) != MICA_OK ||
        !mi_world_has(world, entity, location, component)) {
        return 0;
    }
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    return pool != NULL ? version_in_pool(world, pool, entity) : version_in_table(world, type, location);
}

// Whether all that an entity has with data, at its location, may be looked at.
static bool may_see_all(const mica_world *world, mica_entity entity, uint32_t location, const char *call) {
    const mi_store *store = &world->store;
    const mi_table *table = location == 0 ? NULL : mi_store_table_at(store, location);
    mica_result result = MICA_OK;
    for (uint32_t i = 0; table != NULL && i < table->column_count && result == MICA_OK; i++) {
        result = mi_access_check(world, table->columns[i].type->info.id, false, entity, call);
    }
    const uint64_t *mask = mi_store_mask(store, entity);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE && result == MICA_OK;
         number = mi_store_next_pool(store, mask, number + 1)) {
        result = mi_access_check(world, store->pool_list.data[number]->type->info.id, false, entity, call);
    }
    return result == MICA_OK;
}

uint64_t mica_entity_version(const mica_world *world, mica_entity entity) {
    static const char call[] = "mica_entity_version";
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK ||
        (MICA_UNLIKELY(world->store.copied_count > 0) && !may_see_all(world, entity, location, call))) {
        return 0;
    }
    const mi_store *store = &world->store;
    uint64_t version = 0;
    if (location != 0) {
        const mi_table *table = mi_store_table_at(store, location);
        version = column_version(world, location, 0);
        for (uint32_t i = 0; i < table->column_count; i++) {
            version = later(version, version_in_table(world, table->columns[i].type, location));
        }
    }
    const uint64_t *mask = mi_store_mask(store, entity);
    for (uint32_t number = mi_store_next_pool(store, mask, 0); number != MI_POOL_NONE;
         number = mi_store_next_pool(store, mask, number + 1)) {
        version = later(version, version_in_pool(world, store->pool_list.data[number], entity));
    }
    return version;
}
