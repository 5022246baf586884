// Local poses, and the world matrices that follow from them.
//
// Resolving goes down from the roots in order of depth: first the rows of all roots, table by table; then, from a queue
// of entities whose matrix is known and whose children's are not, child by child. The queue is as long as there are
// parents, and what it needs is reserved before anything is written. Nothing recurses. Matrices are products of floats
// in a fixed order, parent times local from the root down, so that they have the same bits everywhere. What is computed
// once and kept (poses that stay where they are under another parent) goes through pose.h in double precision.
#include "scene/hierarchy.h"

#include <mica/system.h>

#include <string.h>

bool mica_transform_construct(void *values, int32_t count, const mica_hook_context *context) {
    static const mica_transform identity = MICA_TRANSFORM_IDENTITY;
    mica_transform *poses = (mica_transform *)values;
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        poses[i] = identity;
    }
    return true;
}

// The matrix of a pose that is there.
static void pose_matrix(const mica_transform *transform, float matrix[16]) {
    const float x = transform->rotation[0];
    const float y = transform->rotation[1];
    const float z = transform->rotation[2];
    const float w = transform->rotation[3];
    const float *scale = transform->scale;
    matrix[0] = (1 - 2 * (y * y + z * z)) * scale[0];
    matrix[1] = 2 * (x * y + w * z) * scale[0];
    matrix[2] = 2 * (x * z - w * y) * scale[0];
    matrix[3] = 0;
    matrix[4] = 2 * (x * y - w * z) * scale[1];
    matrix[5] = (1 - 2 * (x * x + z * z)) * scale[1];
    matrix[6] = 2 * (y * z + w * x) * scale[1];
    matrix[7] = 0;
    matrix[8] = 2 * (x * z + w * y) * scale[2];
    matrix[9] = 2 * (y * z - w * x) * scale[2];
    matrix[10] = (1 - 2 * (x * x + y * y)) * scale[2];
    matrix[11] = 0;
    matrix[12] = transform->position[0];
    matrix[13] = transform->position[1];
    matrix[14] = transform->position[2];
    matrix[15] = 1;
}

void mica_transform_matrix(const mica_transform *transform, float matrix[16]) {
    if (transform == NULL || matrix == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a transform and a place for its matrix");
        return;
    }
    pose_matrix(transform, matrix);
}

// The matrix of a pose under `parent` (NULL: identity).
static void resolve_pose(const mica_world_transform *parent, const mica_transform *pose, mica_world_transform *to) {
    if (parent == NULL) {
        pose_matrix(pose, to->m);
        return;
    }
    const float *a = parent->m;
    float b[16];
    pose_matrix(pose, b);
    for (int32_t i = 0; i < 4; i++) {
        for (int32_t row = 0; row < 3; row++) {
            const float sum = a[row] * b[i * 4] + a[4 + row] * b[i * 4 + 1] + a[8 + row] * b[i * 4 + 2];
            to->m[i * 4 + row] = i == 3 ? sum + a[12 + row] : sum;
        }
        to->m[i * 4 + 3] = i == 3 ? 1.0f : 0.0f;
    }
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
    if (!mi_rebase_apply(rebase, pose)) {
        const mica_entity entity = mi_slots_handle(&world->store.slots, index);
        mi_log(
            &world->log, MICA_LOG_WARNING,
            "entity %u:%u cannot keep its world pose under its new parent: it would be sheared; the nearest pose was "
            "taken",
            (unsigned)mica_entity_index(entity), (unsigned)mica_entity_generation(entity));
    }
    mi_column_mark(column, world->store.version);
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
    void *column = NULL;
    if (pose_of(world, pose_component(world), mica_entity_index(entity), &column) == NULL) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} has no Transform", MI_ENTITY(entity));
    }
    const mi_matrix product = mi_transform_chain(world, mi_hierarchy_find(world), mica_entity_index(entity));
    for (int32_t i = 0; i < 16; i++) {
        matrix[i] = (float)product.m[i];
    }
    return MICA_OK;
}

// Resolving

typedef struct resolve_pass {
    mica_world *world;
    mi_hierarchy *hierarchy; // NULL: there are no links
    mica_component transform;
    mica_component world_transform;
    uint32_t visited; // children
} resolve_pass;

// Whether a row is a root's, when its table has ChildOf: only an orphan's is.
static bool is_root_row(const resolve_pass *pass, const mi_table *table, uint32_t location) {
    const mica_child_of *value = (const mica_child_of *)mi_store_value(
        &pass->world->store, table, location, pass->hierarchy->child_of, sizeof(mica_child_of));
    return mica_entity_is_null(value->parent);
}

// Resolves the roots of a table that has both components.
static void resolve_table(const resolve_pass *pass, const mi_table *table) {
    const mi_store *store = &pass->world->store;
    const bool has_parents = pass->hierarchy != NULL && mi_table_has(table, pass->hierarchy->child_of);
    if (has_parents && pass->hierarchy->orphan_count == 0) {
        return;
    }
    for (uint32_t k = 0; k << table->shift < table->row_count; k++) {
        uint8_t *base = store->chunks[table->chunk_ids[k]].base;
        const uint32_t first = table->chunk_ids[k] << MI_ROW_BITS;
        const uint32_t count = mi_table_chunk_rows(table, k);
        const mica_transform *poses =
            (const mica_transform *)(const void *)mi_table_column(table, base, pass->transform);
        mica_world_transform *matrices =
            (mica_world_transform *)(void *)mi_table_column(table, base, pass->world_transform);
        for (uint32_t row = 0; row < count; row++) {
            if (!has_parents || is_root_row(pass, table, first | row)) {
                pose_matrix(&poses[row], matrices[row].m);
            }
        }
        mi_column_mark(matrices, store->version);
    }
}

// Resolves one entity below `parent`. Returns the matrix that its children are relative to.
static const mica_world_transform *resolve_below(const resolve_pass *pass, uint32_t index,
                                                 const mica_world_transform *parent, bool is_resolved) {
    void *column = NULL;
    const mica_transform *pose = (const mica_transform *)mi_hierarchy_value(pass->world, index, pass->transform,
                                                                            sizeof(mica_transform), &column);
    if (pose == NULL) {
        return parent;
    }
    mica_world_transform *to = (mica_world_transform *)mi_hierarchy_value(pass->world, index, pass->world_transform,
                                                                          sizeof(mica_world_transform), &column);
    if (to == NULL) {
        MI_ASSERT(pass->hierarchy->matrices.count < pass->hierarchy->matrices.capacity);
        to = &pass->hierarchy->matrices.data[pass->hierarchy->matrices.count++];
        resolve_pose(parent, pose, to);
    } else if (!is_resolved) {
        resolve_pose(parent, pose, to);
        mi_column_mark(column, pass->world->store.version);
    }
    return to;
}

static mica_result fail_resolve(const resolve_pass *pass) {
    return mi_fail(&pass->world->log, MICA_CYCLE, "mica_transform_resolve",
                   "the hierarchy is corrupt: {} entities have parents, and {} of them are below roots",
                   MI_UINT(pass->hierarchy->nodes.linked_count), MI_UINT(pass->visited));
}

// Queues an entity if it has children; false: there are more parents than there can be.
static bool queue_branch(const resolve_pass *pass, uint32_t index, const mica_world_transform *world) {
    mi_hierarchy *hierarchy = pass->hierarchy;
    if (mi_nodes_at(&hierarchy->nodes, index)->child_count == 0) {
        return true;
    }
    if (hierarchy->branches.count == hierarchy->branches.capacity) {
        return false;
    }
    hierarchy->branches.data[hierarchy->branches.count++] = (mi_branch){.index = index, .world = world};
    return true;
}

static mica_result resolve_branches(resolve_pass *pass) {
    mi_hierarchy *hierarchy = pass->hierarchy;
    const mi_nodes *nodes = &hierarchy->nodes;
    hierarchy->branches.count = 0;
    hierarchy->matrices.count = 0;
    for (uint32_t root = mi_nodes_at(nodes, 0)->first_child; root != 0; root = mi_nodes_at(nodes, root)->next) {
        if (!queue_branch(pass, root, resolve_below(pass, root, NULL, true))) {
            return fail_resolve(pass);
        }
    }
    for (uint32_t i = 0; i < hierarchy->branches.count; i++) {
        const mi_branch branch = hierarchy->branches.data[i];
        uint32_t child = mi_nodes_at(nodes, branch.index)->first_child;
        for (; child != 0; child = mi_nodes_at(nodes, child)->next) {
            if (pass->visited++ == nodes->linked_count ||
                !queue_branch(pass, child, resolve_below(pass, child, branch.world, false))) {
                return fail_resolve(pass);
            }
        }
    }
    return pass->visited == nodes->linked_count ? MICA_OK : fail_resolve(pass);
}

// The queue, and a matrix for each pose without a place of its own.
static mica_result reserve_pass(const resolve_pass *pass) {
    mi_hierarchy *hierarchy = pass->hierarchy;
    const mi_store *store = &pass->world->store;
    size_t homeless = 0;
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        if (table != NULL && mi_table_has(table, pass->transform) && !mi_table_has(table, pass->world_transform)) {
            homeless += table->row_count;
        }
    }
    if (!MI_RESERVE(&pass->world->heap, MICA_MEMORY_RELATIONS, &hierarchy->branches, hierarchy->nodes.parent_count) ||
        !MI_RESERVE(&pass->world->heap, MICA_MEMORY_RELATIONS, &hierarchy->matrices, homeless)) {
        return mi_fail_memory(&pass->world->log, "mica_transform_resolve",
                              hierarchy->nodes.parent_count * sizeof(mi_branch));
    }
    return MICA_OK;
}

mica_result mica_transform_resolve(mica_world *world) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, "mica_transform_resolve", "needs a world");
    }
    resolve_pass pass = {.world = world,
                         .hierarchy = mi_hierarchy_find(world),
                         .transform = mica_world_component(world, mica_type_of(mica_transform)),
                         .world_transform = mica_world_component(world, mica_type_of(mica_world_transform))};
    if (pass.transform == 0 || pass.world_transform == 0) {
        return mica_last_result();
    }
    const bool has_links = pass.hierarchy != NULL && pass.hierarchy->nodes.linked_count > 0;
    const mica_result result = has_links ? reserve_pass(&pass) : MICA_OK;
    if (result != MICA_OK) {
        return result;
    }
    for (uint32_t id = 0; id < world->store.tables.count; id++) {
        const mi_table *table = world->store.tables.data[id];
        if (table != NULL && mi_table_has(table, pass.transform) && mi_table_has(table, pass.world_transform)) {
            resolve_table(&pass, table);
        }
    }
    return has_links ? resolve_branches(&pass) : MICA_OK;
}

static void run_resolve(mica_run *run) {
    const mica_result result = mica_transform_resolve(mica_run_world(run));
    if (result != MICA_OK) {
        mica_run_fail(run, result, mica_last_error());
    }
}

mica_system mica_transform_system_add(mica_world *world) {
    return mica_system_add(world,
                           &(mica_system_def){.name = "resolve_transforms",
                                              .stage = MICA_RESOLVE,
                                              .run = run_resolve,
                                              .query = {mica_read(mica_transform), mica_read_optional(mica_child_of),
                                                        mica_write(mica_world_transform)}});
}
