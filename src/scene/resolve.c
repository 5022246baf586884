// World matrices from the poses of all entities.
//
// What has no parents stands in tables that say so, and comes first; then each level after the one that its parents are
// in, by the lists of levels.h, which stand while the structure does. A pass of one level reads matrices of the levels
// before and writes its own, so the threads of the world's pool take pieces of it side by side, and wait for each other
// between levels. Where the chunks' columns lie is found anew each time, since chunks may grow. What is needed is
// reserved, and what is going to be written is stamped and told, before anything is computed; so pieces touch nothing
// but poses and matrices.
//
// Matrices are products of floats in a fixed order, parent times local from the root down, so that they have the same
// bits everywhere. Nothing recurses.
#include "scene/hierarchy.h"

#include "base/atomic.h"
#include "base/jobs.h"
#include "base/os.h"

#include <mica/system.h>

#include <stddef.h>
#include <string.h>

// Poses

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

// Resolving

// How many rows ahead the matrices of parents are asked for.
#define PREFETCH_DISTANCE 16u
// What a thread should have to do, some ten microseconds; and how many take part at most.
#define PART_ROWS_LEAST 2048u
#define PART_COUNT_MOST 64u

typedef struct resolve_pass {
    mica_world *world;
    mi_hierarchy *hierarchy; // NULL: there have never been links
    mica_component transform;
    mica_component world_transform;
    // Of tables without parents.
    uint32_t free_chunk_count;
    uint64_t free_row_count;
    uint32_t float_mode; // of the thread that resolves
} resolve_pass;

// What depends on matrices that are there alone: numbered pieces, chunks without parents first, then cuts of a level.
typedef struct resolve_step {
    const resolve_pass *pass;
    uint32_t chunk_count;
    uint32_t first_cut;
    uint32_t piece_count;
    bool has_anchors; // the level's rows stand below others
    uint32_t next;    // atomic: the first piece that nobody has taken
} resolve_step;

// What one thread does of a step. The numbers that it takes ascend.
typedef struct resolve_part {
    mi_job job; // first: leads back from the job to the part
    resolve_step *step;
    uint32_t table_index;   // of the last chunk without parents that it took, in stored order
    uint32_t chunks_before; // in tables before that one
} resolve_part;

// Without links, nobody asks for a matrix that is not kept.
static bool is_resolved(const resolve_pass *pass, const mi_table *table) {
    return mi_table_has(table, pass->transform) &&
           (pass->hierarchy != NULL || mi_table_has(table, pass->world_transform));
}

static bool has_parents(const resolve_pass *pass, const mi_table *table) {
    return pass->hierarchy != NULL && mi_table_has(table, pass->hierarchy->child_of);
}

static void resolve_free(const mica_transform *poses, mica_world_transform *matrices, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        pose_matrix(&poses[i], matrices[i].m);
    }
}

static mi_place place_of(const resolve_pass *pass, const mi_table *table, uint32_t chunk_id) {
    if (pass->hierarchy != NULL) {
        return pass->hierarchy->places.data[chunk_id];
    }
    uint8_t *base = pass->world->store.chunks[chunk_id].base;
    return (mi_place){(const mica_transform *)(const void *)mi_table_column(table, base, pass->transform),
                      (mica_world_transform *)(void *)mi_table_column(table, base, pass->world_transform)};
}

static void resolve_chunk(resolve_part *part, uint32_t number) {
    const resolve_pass *pass = part->step->pass;
    const mi_store *store = &pass->world->store;
    for (;; part->table_index++) {
        const mi_table *table = store->ordered.data[part->table_index];
        if (!is_resolved(pass, table) || has_parents(pass, table)) {
            continue;
        }
        const uint32_t k = number - part->chunks_before;
        const uint32_t chunk_count = mi_table_chunks_for(table, table->row_count);
        if (k < chunk_count) {
            const mi_place place = place_of(pass, table, table->chunk_ids[k]);
            resolve_free(place.poses, place.matrices, mi_table_chunk_rows(table, k));
            return;
        }
        part->chunks_before += chunk_count;
    }
}

static mica_world_transform *matrix_at(const mi_place *places, uint32_t location) {
    return &places[location >> MI_ROW_BITS].matrices[mi_row_of(location)];
}

static void resolve_cut(const mi_hierarchy *hierarchy, const mi_level_cut *cut, bool has_anchors) {
    const mi_levels *levels = &hierarchy->levels;
    const mi_place *places = hierarchy->places.data;
    const uint32_t *anchor = levels->anchors.data + cut->first_row;
    const uint32_t *last = levels->anchors.data + levels->anchors.count;
    const mi_level_run *run = &levels->runs.data[cut->run];
    uint32_t skipped = cut->skipped;
    for (uint32_t left = cut->row_count; left > 0; run++, skipped = 0) {
        const uint32_t first = run->first + skipped;
        const uint32_t count = run->count - skipped < left ? run->count - skipped : left;
        const mica_transform *pose = &places[first >> MI_ROW_BITS].poses[mi_row_of(first)];
        mica_world_transform *to = matrix_at(places, first);
        left -= count;
        if (!has_anchors) {
            resolve_free(pose, to, count);
            continue;
        }
        for (const mica_transform *end = pose + count; pose < end; pose++, to++, anchor++) {
            if ((size_t)(last - anchor) > PREFETCH_DISTANCE) {
                __builtin_prefetch(matrix_at(places, anchor[PREFETCH_DISTANCE]));
            }
            resolve_pose(matrix_at(places, *anchor), pose, to);
        }
    }
}

static void resolve_piece(resolve_part *part, uint32_t number) {
    const resolve_step *step = part->step;
    if (number < step->chunk_count) {
        resolve_chunk(part, number);
        return;
    }
    const mi_hierarchy *hierarchy = step->pass->hierarchy;
    const uint32_t cut = step->first_cut + number - step->chunk_count;
    resolve_cut(hierarchy, &hierarchy->levels.cuts.data[cut], step->has_anchors);
}

static void run_resolve_part(mi_job *job) {
    resolve_part *part = (resolve_part *)(void *)job;
    resolve_step *step = part->step;
    const mica_jobs *jobs = step->pass->world->jobs;
    mi_os_set_float_mode(step->pass->float_mode);
    uint32_t number = mi_take_next(&step->next);
    // A helper that has to go leaves the rest to the others: the thread that resolves is never wanted elsewhere.
    while (number < step->piece_count) {
        resolve_piece(part, number);
        number = mi_jobs_is_wanted(jobs) ? step->piece_count : mi_take_next(&step->next);
    }
}

// How many threads are to take part.
static uint32_t resolve_part_count(const mica_world *world, const resolve_step *step, uint64_t row_count) {
    if (world->jobs == NULL) {
        return 1;
    }
    const uint64_t thread_count = (uint64_t)mica_jobs_thread_count(world->jobs);
    uint64_t count = world->def.always_parallel ? step->piece_count : row_count / PART_ROWS_LEAST;
    count = count < thread_count ? count : thread_count;
    count = count < step->piece_count ? count : step->piece_count;
    count = count < PART_COUNT_MOST ? count : PART_COUNT_MOST;
    return count < 1 ? 1 : (uint32_t)count;
}

static void share_step(resolve_step *step, uint32_t part_count) {
    mica_jobs *jobs = step->pass->world->jobs;
    resolve_part parts[PART_COUNT_MOST];
    mi_job_group group = {0};
    for (uint32_t i = 0; i < part_count; i++) {
        parts[i] = (resolve_part){.job.function = run_resolve_part, .step = step};
    }
    for (uint32_t i = 1; i < part_count; i++) {
        mi_jobs_start(jobs, &group, &parts[i].job);
    }
    mi_jobs_run(jobs, &group, &parts[0].job);
    mi_jobs_wait(jobs, &group);
}

static void run_resolve_step(resolve_step *step, uint64_t row_count) {
    const uint32_t part_count = resolve_part_count(step->pass->world, step, row_count);
    if (part_count > 1) {
        share_step(step, part_count);
        return;
    }
    resolve_part part = {.step = step};
    for (uint32_t number = 0; number < step->piece_count; number++) {
        resolve_piece(&part, number);
    }
}

// The rows of a level's cuts.
static uint64_t count_cut_rows(const mi_levels *levels, uint32_t first_cut, uint32_t end_cut) {
    return end_cut == first_cut
               ? 0
               : (uint64_t)(end_cut - first_cut - 1) * MI_LEVEL_CUT_ROWS + levels->cuts.data[end_cut - 1].row_count;
}

static void resolve_all(const resolve_pass *pass) {
    const mi_levels *levels = pass->hierarchy == NULL ? NULL : &pass->hierarchy->levels;
    const uint32_t level_count = levels == NULL ? 0 : levels->cut_ends.count;
    resolve_step step = {.pass = pass, .chunk_count = pass->free_chunk_count};
    uint64_t row_count = pass->free_row_count;
    uint32_t level = 0;
    do { // tables without parents together with level 0
        const uint32_t end_cut = level < level_count ? levels->cut_ends.data[level] : step.first_cut;
        step.piece_count = step.chunk_count + end_cut - step.first_cut;
        row_count += levels == NULL ? 0 : count_cut_rows(levels, step.first_cut, end_cut);
        run_resolve_step(&step, row_count);
        step = (resolve_step){.pass = pass, .first_cut = end_cut, .has_anchors = true};
        row_count = 0;
        level++;
    } while (level < level_count);
}

// Stamps and tells what is going to be written in a table, and notes where its columns lie. `unkept` is where matrices
// go that the table has no column for; returns where the next ones go.
static mica_world_transform *prepare_table(resolve_pass *pass, const mi_table *table, mica_world_transform *unkept) {
    const mi_store *store = &pass->world->store;
    const bool keeps = mi_table_has(table, pass->world_transform);
    const uint32_t chunk_count = mi_table_chunks_for(table, table->row_count);
    for (uint32_t k = 0; k < chunk_count; k++) {
        const uint32_t id = table->chunk_ids[k];
        const uint32_t rows = mi_table_chunk_rows(table, k);
        uint8_t *base = store->chunks[id].base;
        mica_world_transform *matrices = unkept;
        if (keeps) {
            matrices = (mica_world_transform *)(void *)mi_table_column(table, base, pass->world_transform);
            mi_column_mark(matrices, store->version);
            mi_world_written(pass->world, pass->world_transform, (const mica_entity *)(const void *)base, rows);
        } else {
            unkept += rows;
        }
        if (pass->hierarchy != NULL) {
            const mica_transform *poses =
                (const mica_transform *)(const void *)mi_table_column(table, base, pass->transform);
            pass->hierarchy->places.data[id] = (mi_place){.poses = poses, .matrices = matrices};
        }
    }
    if (!has_parents(pass, table)) {
        pass->free_chunk_count += chunk_count;
        pass->free_row_count += table->row_count;
    }
    return unkept;
}

// A matrix for each pose without a place of its own, and the lists. Nothing has been touched if it fails.
static mica_result prepare_hierarchy(const resolve_pass *pass) {
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
    static const char call[] = "mica_transform_resolve";
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
    }
    resolve_pass pass = {.world = world,
                         .hierarchy = mi_hierarchy_find(world),
                         .transform = mica_world_component(world, mica_type_of(mica_transform)),
                         .world_transform = mica_world_component(world, mica_type_of(mica_world_transform)),
                         .float_mode = mi_os_float_mode()};
    if (pass.transform == 0 || pass.world_transform == 0) {
        return mica_last_result();
    }
    if (mi_world_check_access(world, pass.transform, false, MICA_NULL, call) != MICA_OK ||
        mi_world_check_access(world, pass.world_transform, true, MICA_NULL, call) != MICA_OK) {
        return MICA_NO_ACCESS;
    }
    mi_world_settle_all(world);
    // Whoever hears of what is written is to hear of it in an order that does not hang on when a table came to be.
    if (!mi_store_order(&world->store)) {
        return mi_fail_memory(&world->log, call, world->store.tables.count * sizeof(mi_table *));
    }
    const mica_result result = pass.hierarchy == NULL ? MICA_OK : prepare_hierarchy(&pass);
    if (result != MICA_OK) {
        return result;
    }
    mica_world_transform *unkept = pass.hierarchy == NULL ? NULL : pass.hierarchy->unkept.data;
    for (uint32_t i = 0; i < world->store.ordered.count; i++) {
        const mi_table *table = world->store.ordered.data[i];
        if (is_resolved(&pass, table)) {
            unkept = prepare_table(&pass, table, unkept);
        }
    }
    resolve_all(&pass);
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
