// What a world knows of its hierarchy, for the parts of src/scene.
#pragma once

#include "scene/levels.h"
#include "scene/pose.h"
#include "world/world.h"

// The columns of a chunk whose table has poses.
typedef struct mi_place {
    const mica_transform *poses;
    mica_world_transform *matrices;
} mi_place;

typedef struct mi_hierarchy {
    mi_nodes nodes;
    mica_component child_of;
    uint32_t orphan_count; // roots that have kept ChildOf, with a null parent; counts as a link in `nodes.version`
    // Of mica_transform_resolve.
    mi_levels levels;
    MI_ARRAY(mi_place) places;             // by chunk id, of the running pass
    MI_ARRAY(mica_world_transform) unkept; // matrices of poses that have no place for them
} mi_hierarchy;

// NULL: nothing has ever been linked.
mi_hierarchy *mi_hierarchy_find(const mica_world *world);

// As mi_hierarchy_find, made on first use; NULL with the error set.
mi_hierarchy *mi_hierarchy_open(mica_world *world, const char *call);

// Links as state of the world; see hierarchy_state.c.
extern const mi_part mi_hierarchy_part;

// The value of a component in the row of slot `index`, and its column; NULL if it is not there.
static inline void *mi_hierarchy_value(const mica_world *world, uint32_t index, mica_component component, size_t size,
                                       void **column) {
    const uint32_t location = mi_slots_location(&world->store.slots, index);
    const mi_table *table = mi_store_table_at(&world->store, location);
    if (!mi_table_has(table, component)) {
        return NULL;
    }
    *column = mi_table_column(table, mi_store_base(&world->store, location), component);
    return (uint8_t *)*column + mi_row_of(location) * size;
}

// The world matrix of slot `index` (0: identity) from its own pose and those of its ancestors. O(depth).
mi_matrix mi_transform_chain(const mica_world *world, const mi_hierarchy *hierarchy, uint32_t index);

// The matrix of the slot's own pose; identity if it has none.
mi_matrix mi_transform_own(const mica_world *world, uint32_t index);

// Multiplies the pose of slot `index` from the left; if it has none, those of the nearest descendants that have one.
// Says on the log whose pose could not be kept exactly.
void mi_transform_rebase(mica_world *world, const mi_hierarchy *hierarchy, uint32_t index, const mi_rebase *rebase);
