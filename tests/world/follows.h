// A relation for tests: who follows whom. It keeps no reverse, so that a link is the component's value alone; a dead
// target and oneself are refused.
#pragma once

#include "world/world.h"

static MICA_UNUSED bool follows_attach(struct mica_world *world);

MICA_STRUCT_WITH(Follows, (.hooks = {.attach = follows_attach}), { mica_entity whom; });

static mica_component follows_id(mica_world *world) {
    return mica_world_component(world, mica_type_of(Follows));
}

static mica_result follows_link(mica_world *world, mica_entity entity, const void *value, uint32_t flags,
                                const char *call) {
    (void)flags;
    const Follows none = {MICA_NULL};
    const Follows *follows = value == NULL ? &none : value;
    uint32_t location = 0;
    if (mica_entity_equal(follows->whom, entity)) {
        return mi_fail(&world->log, MICA_CYCLE, call, "{} follows itself", MI_ENTITY(entity));
    }
    if (!mica_entity_is_null(follows->whom)) {
        const mica_result result = mi_world_resolve(world, follows->whom, &location, call);
        if (result != MICA_OK) {
            return result;
        }
    }
    mi_slots_resolve(&world->store.slots, entity, &location);
    mi_table *to = mi_store_table_with(&world->store, mi_store_table_at(&world->store, location), follows_id(world));
    const mi_change change = {.component = follows_id(world), .value = follows};
    return to == NULL ? mi_world_fail_store(world, call) : mi_world_change(world, entity, to, &change, 1, call);
}

static mica_result follows_unlink(mica_world *world, mica_entity entity, uint32_t flags, const char *call) {
    (void)flags;
    uint32_t location = 0;
    mi_slots_resolve(&world->store.slots, entity, &location);
    mi_table *to = mi_store_table_without(&world->store, mi_store_table_at(&world->store, location), follows_id(world));
    return to == NULL ? mi_world_fail_store(world, call) : mi_world_change(world, entity, to, NULL, 0, call);
}

static void follows_release(mica_world *world, mica_entity entity) {
    (void)world;
    (void)entity;
}

// The entity and the one that it follows.
static mica_result follows_destroy_subtree(mica_world *world, mica_entity entity, const char *call) {
    (void)call;
    const Follows *follows = mica_get(world, entity, Follows);
    const mica_entity whom = follows == NULL ? MICA_NULL : follows->whom;
    mi_world_unmake(world, entity);
    if (mica_entity_alive(world, whom)) {
        mi_world_unmake(world, whom);
    }
    return MICA_OK;
}

static void follows_clear(mica_world *world) {
    (void)world;
}

static bool follows_attach(struct mica_world *world) {
    const mi_relation relation = {.component = follows_id(world),
                                  .link = follows_link,
                                  .unlink = follows_unlink,
                                  .release = follows_release,
                                  .destroy_subtree = follows_destroy_subtree,
                                  .clear = follows_clear};
    return mi_world_add_relation(world, &relation);
}
