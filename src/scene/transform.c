// Local poses, and the world matrices that follow from them.
//
// Resolving walks the columns of tables that have no parents, then goes down level by level through the lists of
// levels.h, which stand while the structure does. Where the chunks' columns lie is found anew each time, since chunks
// may grow. What is needed is reserved before anything is written. Nothing recurses. Matrices are products of floats in
// a fixed order, parent times local from the root down, so that they have the same bits everywhere. What is computed
// once and kept (poses that stay where they are under another parent) goes through pose.h in double precision.
#include "scene/hierarchy.h"

#include <mica/system.h>

#include <stddef.h>
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

// Four floats side by side.
typedef float vector __attribute__((vector_size(16)));
typedef int32_t vector_bits __attribute__((vector_size(16)));

typedef struct columns {
    vector x, y, z, origin; // the last elements are anything
} columns;

static inline vector load_vector(const void *from) {
    vector loaded;
    memcpy(&loaded, from, sizeof(loaded));
    return loaded;
}

// Stores a column with the last element `last` (0 or 1 as a float), whatever was there.
static inline void store_column(float *to, vector value, vector last) {
    const vector_bits kept = {-1, -1, -1, 0};
    const vector_bits bits = ((vector_bits)value & kept) | (vector_bits)last;
    memcpy(to, &bits, sizeof(bits));
}

static const vector last_zero = {0, 0, 0, 0};
static const vector last_one = {0, 0, 0, 1};

static inline void store_columns(float *to, const columns *from) {
    store_column(to, from->x, last_zero);
    store_column(to + 4, from->y, last_zero);
    store_column(to + 8, from->z, last_zero);
    store_column(to + 12, from->origin, last_one);
}

// Elements in another order. Of integers, since then the instruction does not overwrite what it reads.
#define SHUFFLE(VALUE, A, B, C) \
    ((vector)__builtin_shufflevector((vector_bits)(VALUE), (vector_bits)(VALUE), (A), (B), (C), 3))
#define SPREAD(VALUE, I) \
    ((vector)__builtin_shufflevector((vector_bits)(VALUE), (vector_bits)(VALUE), (I), (I), (I), (I)))

// Changes the sign of the elements where `signs` is -0.0.
static inline vector flip(vector value, vector signs) {
    return (vector)((vector_bits)value ^ (vector_bits)signs);
}

// The matrix of a pose. An element is twice a sum of two products of x, y, z, w, or 1 less that on the diagonal, times
// the scale: all three rows are computed side by side. Subtracting is adding with the other sign, and adding
// -0.0 changes nothing, not even the sign of a zero, so that each element has the bits of the formula.
static inline columns pose_columns(const mica_transform *pose) {
    const uint8_t *bytes = (const uint8_t *)pose;
    const vector q = load_vector(bytes + offsetof(mica_transform, rotation));
    const vector w_and_scale = load_vector(bytes + offsetof(mica_transform, scale) - sizeof(float));
    const vector x_first = SHUFFLE(q, 1, 0, 0) * SHUFFLE(q, 1, 1, 2); // yy xy xz
    const vector y_first = SHUFFLE(q, 0, 0, 1) * SHUFFLE(q, 1, 0, 2); // xy xx yz
    const vector z_first = SHUFFLE(q, 0, 1, 0) * SHUFFLE(q, 2, 2, 0); // xz yz xx
    const vector x_signs = {0, 0, -0.0f, 0};
    const vector y_signs = {-0.0f, 0, 0, 0};
    const vector z_signs = {0, -0.0f, 0, 0};
    const vector x_second = flip(SHUFFLE(q, 2, 3, 3) * SHUFFLE(q, 2, 2, 1), x_signs); // zz wz -wy
    const vector y_second = flip(SHUFFLE(q, 3, 2, 3) * SHUFFLE(q, 2, 2, 0), y_signs); // -wz zz wx
    const vector z_second = flip(SHUFFLE(q, 3, 3, 1) * SHUFFLE(q, 1, 0, 1), z_signs); // wy -wx yy
    const vector x_factors = {-2, 2, 2, 0};
    const vector y_factors = {2, -2, 2, 0};
    const vector z_factors = {2, 2, -2, 0};
    const vector x_ones = {1, -0.0f, -0.0f, 0};
    const vector y_ones = {-0.0f, 1, -0.0f, 0};
    const vector z_ones = {-0.0f, -0.0f, 1, 0};
    return (columns){.x = (x_ones + (x_first + x_second) * x_factors) * SPREAD(w_and_scale, 1),
                     .y = (y_ones + (y_first + y_second) * y_factors) * SPREAD(w_and_scale, 2),
                     .z = (z_ones + (z_first + z_second) * z_factors) * SPREAD(w_and_scale, 3),
                     .origin = load_vector(bytes + offsetof(mica_transform, position))};
}

// The matrix of a pose that is there.
static void pose_matrix(const mica_transform *transform, float matrix[16]) {
    const columns of = pose_columns(transform);
    store_columns(matrix, &of);
}

_Static_assert(sizeof(mica_transform) == 10 * sizeof(float), "a pose is ten floats without gaps");

void mica_transform_matrix(const mica_transform *transform, float matrix[16]) {
    if (transform == NULL || matrix == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a transform and a place for its matrix");
        return;
    }
    pose_matrix(transform, matrix);
}

// The matrix of a pose below another one: each element is a sum from left to right. All rows are computed side by side.
static inline void resolve_pose(const mica_world_transform *parent, const mica_transform *pose,
                                mica_world_transform *to) {
    const vector x = load_vector(&parent->m[0]);
    const vector y = load_vector(&parent->m[4]);
    const vector z = load_vector(&parent->m[8]);
    const vector origin = load_vector(&parent->m[12]);
    const columns b = pose_columns(pose);
    const columns product = {
        .x = x * SPREAD(b.x, 0) + y * SPREAD(b.x, 1) + z * SPREAD(b.x, 2),
        .y = x * SPREAD(b.y, 0) + y * SPREAD(b.y, 1) + z * SPREAD(b.y, 2),
        .z = x * SPREAD(b.z, 0) + y * SPREAD(b.z, 1) + z * SPREAD(b.z, 2),
        .origin = x * SPREAD(b.origin, 0) + y * SPREAD(b.origin, 1) + z * SPREAD(b.origin, 2) + origin,
    };
    store_columns(to->m, &product);
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
    void *column = NULL;
    if (pose_of(world, pose_component(world), mica_entity_index(entity), &column) == NULL) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} has no Transform", MI_ENTITY(entity));
    }
    mi_world_settle_all(world);
    const mi_matrix product = mi_transform_chain(world, mi_hierarchy_find(world), mica_entity_index(entity));
    for (int32_t i = 0; i < 16; i++) {
        matrix[i] = (float)product.m[i];
    }
    return MICA_OK;
}

// Resolving

// How many rows ahead the matrices of parents are asked for.
#define PREFETCH_DISTANCE 16u

typedef struct resolve_pass {
    mica_world *world;
    mi_hierarchy *hierarchy; // NULL: there have never been links
    mica_component transform;
    mica_component world_transform;
} resolve_pass;

static bool has_parents(const resolve_pass *pass, const mi_table *table) {
    return pass->hierarchy != NULL && mi_table_has(table, pass->hierarchy->child_of);
}

static void resolve_free(const mica_transform *poses, mica_world_transform *matrices, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        pose_matrix(&poses[i], matrices[i].m);
    }
}

// Resolves the rows of a table with poses that stand in no list, or tells where those that do have their columns.
// `unkept` is where matrices go that the table has no column for; returns where the next ones go.
static mica_world_transform *resolve_table(const resolve_pass *pass, const mi_table *table,
                                           mica_world_transform *unkept) {
    const mi_store *store = &pass->world->store;
    const bool keeps = mi_table_has(table, pass->world_transform);
    for (uint32_t k = 0; k << table->shift < table->row_count; k++) {
        const uint32_t id = table->chunk_ids[k];
        const uint32_t rows = mi_table_chunk_rows(table, k);
        uint8_t *base = store->chunks[id].base;
        const mica_transform *poses =
            (const mica_transform *)(const void *)mi_table_column(table, base, pass->transform);
        mica_world_transform *matrices = unkept;
        if (keeps) {
            matrices = (mica_world_transform *)(void *)mi_table_column(table, base, pass->world_transform);
            mi_column_mark(matrices, store->version);
            mi_world_written(pass->world, pass->world_transform, (const mica_entity *)(const void *)base, rows);
        } else {
            unkept += rows;
        }
        if (pass->hierarchy != NULL) {
            pass->hierarchy->places.data[id] = (mi_place){.poses = poses, .matrices = matrices};
        }
        if (!has_parents(pass, table)) {
            resolve_free(poses, matrices, rows);
        }
    }
    return unkept;
}

static mica_world_transform *matrix_at(const mi_place *places, uint32_t location) {
    return &places[location >> MI_ROW_BITS].matrices[mi_row_of(location)];
}

// Resolves the rows that have parents, and those that could have, level by level.
static void resolve_levels(const mi_hierarchy *hierarchy) {
    const mi_levels *levels = &hierarchy->levels;
    if (levels->anchors.count == 0) {
        return; // there may be no arrays
    }
    const mi_place *places = hierarchy->places.data;
    const uint32_t *anchor = levels->anchors.data;
    const uint32_t *last = anchor + levels->anchors.count;
    for (uint32_t i = 0; i < levels->runs.count; i++) {
        const mi_level_run run = levels->runs.data[i];
        const mica_transform *pose = &places[run.first >> MI_ROW_BITS].poses[mi_row_of(run.first)];
        mica_world_transform *to = matrix_at(places, run.first);
        if (i < levels->free_run_count) {
            resolve_free(pose, to, run.count);
            anchor += run.count;
            continue;
        }
        for (const mica_transform *end = pose + run.count; pose < end; pose++, to++, anchor++) {
            if ((size_t)(last - anchor) > PREFETCH_DISTANCE) {
                __builtin_prefetch(matrix_at(places, anchor[PREFETCH_DISTANCE]));
            }
            resolve_pose(matrix_at(places, *anchor), pose, to);
        }
    }
}

// A matrix for each pose without a place of its own, and the lists. Nothing has been touched if it fails.
static mica_result prepare_pass(const resolve_pass *pass) {
    mi_hierarchy *hierarchy = pass->hierarchy;
    mi_store *store = &pass->world->store;
    size_t unkept = 0;
    for (uint32_t id = 0; id < store->tables.count; id++) {
        const mi_table *table = store->tables.data[id];
        if (table != NULL && mi_table_has(table, pass->transform) && !mi_table_has(table, pass->world_transform)) {
            unkept += table->row_count;
        }
    }
    mica_result result = MICA_OUT_OF_MEMORY;
    if (MI_RESERVE(&pass->world->heap, MICA_MEMORY_RELATIONS, &hierarchy->places, store->chunk_count) &&
        MI_RESERVE(&pass->world->heap, MICA_MEMORY_RELATIONS, &hierarchy->unkept, unkept)) {
        result = mi_levels_update(&hierarchy->levels, store, &hierarchy->nodes, hierarchy->child_of, pass->transform);
    }
    if (result == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(&pass->world->log, "mica_transform_resolve",
                              hierarchy->nodes.linked_count * sizeof(uint32_t));
    }
    return result == MICA_OK ? MICA_OK
                             : mi_fail_plain(&pass->world->log, result, "mica_transform_resolve",
                                             "the hierarchy is corrupt: parents and lists of children disagree");
}

mica_result mica_transform_resolve(mica_world *world) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, "mica_transform_resolve", "needs a world");
    }
    const resolve_pass pass = {.world = world,
                               .hierarchy = mi_hierarchy_find(world),
                               .transform = mica_world_component(world, mica_type_of(mica_transform)),
                               .world_transform = mica_world_component(world, mica_type_of(mica_world_transform))};
    if (pass.transform == 0 || pass.world_transform == 0) {
        return mica_last_result();
    }
    mi_world_settle_all(world);
    // Whoever hears of what is written is to hear of it in an order that does not hang on when a table came to be.
    if (!mi_store_order(&world->store)) {
        return mi_fail_memory(&world->log, "mica_transform_resolve", world->store.tables.count * sizeof(mi_table *));
    }
    const mica_result result = pass.hierarchy == NULL ? MICA_OK : prepare_pass(&pass);
    if (result != MICA_OK) {
        return result;
    }
    mica_world_transform *unkept = pass.hierarchy == NULL ? NULL : pass.hierarchy->unkept.data;
    for (uint32_t i = 0; i < world->store.ordered.count; i++) {
        const mi_table *table = world->store.ordered.data[i];
        // Without links, nobody asks for a matrix that is not kept.
        if (mi_table_has(table, pass.transform) &&
            (pass.hierarchy != NULL || mi_table_has(table, pass.world_transform))) {
            unkept = resolve_table(&pass, table, unkept);
        }
    }
    if (pass.hierarchy != NULL) {
        resolve_levels(pass.hierarchy);
    }
    return MICA_OK;
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
