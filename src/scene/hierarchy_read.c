// Parents, children and siblings of entities, as their records say.
//
// A record that was never needed is not there, which says the same as an empty one: no parent, no children. Records
// link roots among each other too, for whoever goes over all of them; here roots have no siblings.
#include "scene/hierarchy.h"

// The record of a living entity, or NULL: it has none, or MICA_STALE.
static const mi_node *node_of(const mica_world *world, mica_entity entity, const char *call) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK) {
        return NULL;
    }
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    return hierarchy == NULL ? NULL : mi_nodes_find(&hierarchy->nodes, mica_entity_index(entity));
}

static mica_entity handle_of(const mica_world *world, uint32_t index) {
    return index == 0 ? MICA_NULL : mi_slots_handle(&world->store.slots, index);
}

mica_entity mica_parent(const mica_world *world, mica_entity entity) {
    const mi_node *node = node_of(world, entity, "mica_parent");
    return handle_of(world, node == NULL ? 0 : node->parent);
}

mica_entity mica_first_child(const mica_world *world, mica_entity entity) {
    const mi_node *node = node_of(world, entity, "mica_first_child");
    return handle_of(world, node == NULL ? 0 : node->first_child);
}

mica_entity mica_last_child(const mica_world *world, mica_entity entity) {
    const mi_node *node = node_of(world, entity, "mica_last_child");
    return handle_of(world, node == NULL ? 0 : node->last_child);
}

mica_entity mica_next_sibling(const mica_world *world, mica_entity entity) {
    const mi_node *node = node_of(world, entity, "mica_next_sibling");
    return handle_of(world, node == NULL || node->parent == 0 ? 0 : node->next);
}

mica_entity mica_previous_sibling(const mica_world *world, mica_entity entity) {
    const mi_node *node = node_of(world, entity, "mica_previous_sibling");
    return handle_of(world, node == NULL || node->parent == 0 ? 0 : node->previous);
}

int32_t mica_child_count(const mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, "mica_child_count") != MICA_OK) {
        return -1;
    }
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    const mi_node *node = hierarchy == NULL ? NULL : mi_nodes_find(&hierarchy->nodes, mica_entity_index(entity));
    return node == NULL ? 0 : (int32_t)node->child_count;
}
