// Local poses: what they are in the hierarchy, and how they stay where they are in the world under another parent.
//
// What is computed once and kept goes through pose.h in double precision. Chains of parents are followed with a limit,
// so that a corrupt one ends. Nothing recurses.
#include "scene/hierarchy.h"

bool mica_transform_construct(void *values, int32_t count, const mica_hook_context *context) {
    static const mica_transform identity = MICA_TRANSFORM_IDENTITY;
    mica_transform *poses = (mica_transform *)values;
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        poses[i] = identity;
    }
    return true;
}

// Poses in the hierarchy

// The id of mica_transform, 0 if the world's schema does not know it: then no entity has a pose.
static mica_component pose_component(const mica_world *world) {
    const mica_component transform = mica_schema_find(world->schema, mica_type_of(mica_transform)->name);
    const mi_type *type = transform == 0 ? NULL : mi_schema_type(world->schema, transform);
    const bool is_own = type != NULL && type->info.hooks.construct == mica_transform_construct;
    return is_own ? transform : 0; // the program may have a type of this name
}

static mica_transform *pose_of(const mica_world *world, mica_component transform, uint32_t index, void **column) {
    return (mica_transform *)mi_hierarchy_value(world, index, transform, sizeof(mica_transform), column);
}

mi_matrix mi_transform_own(const mica_world *world, uint32_t index) {
    void *column = NULL;
    const mica_transform *pose = pose_of(world, pose_component(world), index, &column);
    return pose == NULL ? mi_matrix_identity() : mi_matrix_of_pose(pose);
}

mi_matrix mi_transform_chain(const mica_world *world, const mi_hierarchy *hierarchy, uint32_t index) {
    const mica_component transform = pose_component(world);
    mi_matrix product = mi_matrix_identity();
    uint32_t steps = 0;
    while (index != 0 && steps++ <= world->store.slots.alive) {
        void *column = NULL;
        const mica_transform *pose = pose_of(world, transform, index, &column);
        if (pose != NULL) {
            const mi_matrix own = mi_matrix_of_pose(pose);
            product = mi_matrix_product(&own, &product);
        }
        const mi_node *node = hierarchy == NULL ? NULL : mi_nodes_find(&hierarchy->nodes, index);
        index = node == NULL ? 0 : node->parent;
    }
    return product;
}

// False: the entity has no pose.
static bool rebase_one(mica_world *world, mica_component transform, uint32_t index, const mi_rebase *rebase) {
    void *column = NULL;
    mica_transform *pose = pose_of(world, transform, index, &column);
    if (pose == NULL) {
        return false;
    }
    const mica_entity entity = mi_slots_handle(&world->store.slots, index);
    if (!mi_rebase_apply(rebase, pose)) {
        mi_log(
            &world->log, MICA_LOG_WARNING,
            "entity %u:%u cannot keep its world pose under its new parent: it would be sheared; the nearest pose was "
            "taken",
            (unsigned)mica_entity_index(entity), (unsigned)mica_entity_generation(entity));
    }
    mi_column_mark(column, world->store.version);
    mi_world_written(world, transform, &entity, 1);
    return true;
}

void mi_transform_rebase(mica_world *world, const mi_hierarchy *hierarchy, uint32_t index, const mi_rebase *rebase) {
    const mica_component transform = rebase->is_identity ? 0 : pose_component(world);
    if (transform == 0) {
        return;
    }
    const mi_nodes *nodes = &hierarchy->nodes;
    uint32_t at = index;
    for (uint32_t steps = 0; steps <= nodes->linked_count; steps++) {
        const mi_node *node = mi_nodes_find(nodes, at);
        if (!rebase_one(world, transform, at, rebase) && node != NULL && node->child_count > 0) {
            at = node->first_child;
            continue;
        }
        while (at != index && mi_nodes_at(nodes, at)->next == 0) {
            at = mi_nodes_at(nodes, at)->parent;
        }
        if (at == index) {
            return;
        }
        at = mi_nodes_at(nodes, at)->next;
    }
}

mica_result mica_transform_world_of(const mica_world *world, mica_entity entity, float matrix[16]) {
    static const char call[] = "mica_transform_world_of";
    uint32_t location = 0;
    const mica_result result = mi_world_resolve(world, entity, &location, call);
    if (result != MICA_OK) {
        return result;
    }
    if (matrix == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs a place for the matrix");
    }
    const mica_component transform = pose_component(world);
    void *column = NULL;
    if (pose_of(world, transform, mica_entity_index(entity), &column) == NULL) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} has no Transform", MI_ENTITY(entity));
    }
    if (mi_world_check_access(world, transform, false, entity, call) != MICA_OK) {
        return MICA_NO_ACCESS;
    }
    mi_world_settle_all(world);
    const mi_matrix product = mi_transform_chain(world, mi_hierarchy_find(world), mica_entity_index(entity));
    for (int32_t i = 0; i < 16; i++) {
        matrix[i] = (float)product.m[i];
    }
    return MICA_OK;
}
