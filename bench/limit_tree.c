// The limit of trees: local poses, world matrices or positions, and the parents' indices in three arrays, in order of
// creation.
//
// Nodes that were created breadth-first are computed in one loop over the arrays. Where the order of creation is
// another, the loop follows a list of indices, breadth-first, which is what a program would keep beside arrays that it
// does not sort. Sums are formed from left to right, as Mica forms them, so that both sides have the same bits; the
// columns of a matrix are vectors of the compiler's. All memory is in pages of 4 KiB.
#include "limit_tree.h"

#include "machine.h"
#include "workload.h"

#include <stdlib.h>

typedef float limit_vector __attribute__((vector_size(16)));

typedef struct limit_matrix {
    limit_vector x, y, z, origin;
} limit_matrix;

typedef struct limit_tree {
    mica_transform *locals;
    limit_matrix *worlds;
    Position *positions; // in the world, where no matrices are computed
    uint32_t *order;     // where the nodes lie, breadth-first
    uint32_t *rows;      // in the order in which they are computed
    uint32_t *parents;   // of each of `rows`
    uint32_t n;
} limit_tree;

static void tree_free(void *context) {
    limit_tree *tree = context;
    bench_pages_free(tree->locals, tree->n, sizeof *tree->locals);
    bench_pages_free(tree->worlds, tree->n, sizeof *tree->worlds);
    bench_pages_free(tree->positions, tree->n, sizeof *tree->positions);
    bench_pages_free(tree->parents, tree->n, sizeof *tree->parents);
    bench_pages_free(tree->order, tree->n, sizeof *tree->order);
    bench_pages_free(tree->rows, tree->n, sizeof *tree->rows);
    free(tree);
}

// Lists the nodes from `first` to before `end` in the order in which they lie. `node_of` says which node lies where.
static void list_level(limit_tree *tree, const uint32_t *node_of, uint32_t first, uint32_t end) {
    uint32_t next = first;
    for (uint32_t row = 0; row < tree->n && next < end; row++) {
        const uint32_t node = node_of[row];
        if (node >= first && node < end) {
            tree->rows[next] = row;
            tree->parents[next] = tree->order[bench_tree_parent(node)];
            next++;
        }
    }
}

static bool list_rows(limit_tree *tree) {
    uint32_t *node_of = calloc(tree->n, sizeof *node_of);
    if (node_of == NULL) {
        return false;
    }
    for (uint32_t node = 0; node < tree->n; node++) {
        node_of[tree->order[node]] = node;
    }
    uint64_t first = 0;
    for (uint64_t size = 1; first < tree->n; size *= BENCH_TREE_BRANCHING) {
        const uint64_t end = first + size < tree->n ? first + size : tree->n;
        list_level(tree, node_of, (uint32_t)first, (uint32_t)end);
        first = end;
    }
    free(node_of);
    return true;
}

static void *tree_make(int64_t n, bool is_shuffled) {
    limit_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL) {
        return NULL;
    }
    tree->n = (uint32_t)n;
    tree->locals = bench_pages_allocate(tree->n, sizeof *tree->locals, BENCH_PAGES_4_KIB);
    tree->worlds = bench_pages_allocate(tree->n, sizeof *tree->worlds, BENCH_PAGES_4_KIB);
    tree->positions = bench_pages_allocate(tree->n, sizeof *tree->positions, BENCH_PAGES_4_KIB);
    tree->parents = bench_pages_allocate(tree->n, sizeof *tree->parents, BENCH_PAGES_4_KIB);
    tree->order = bench_pages_allocate(tree->n, sizeof *tree->order, BENCH_PAGES_4_KIB);
    tree->rows = bench_pages_allocate(tree->n, sizeof *tree->rows, BENCH_PAGES_4_KIB);
    if (tree->locals == NULL || tree->worlds == NULL || tree->positions == NULL || tree->parents == NULL ||
        tree->order == NULL || tree->rows == NULL) {
        tree_free(tree);
        return NULL;
    }
    if (is_shuffled) {
        bench_shuffle(tree->order, tree->n, BENCH_SEED_FIRST);
    }
    for (uint32_t node = 0; node < tree->n; node++) {
        tree->order[node] = is_shuffled ? tree->order[node] : node;
        tree->locals[tree->order[node]] = bench_tree_pose(node);
    }
    if (!list_rows(tree)) {
        tree_free(tree);
        return NULL;
    }
    return tree;
}

static void *order_make(int64_t n) {
    return tree_make(n, false);
}

static void *shuffled_make(int64_t n) {
    return tree_make(n, true);
}

static inline limit_matrix local_matrix(const mica_transform *local) {
    const float x = local->rotation[0];
    const float y = local->rotation[1];
    const float z = local->rotation[2];
    const float w = local->rotation[3];
    const float *scale = local->scale;
    const float *position = local->position;
    return (limit_matrix){
        .x = {(1 - 2 * (y * y + z * z)) * scale[0], 2 * (x * y + w * z) * scale[0], 2 * (x * z - w * y) * scale[0], 0},
        .y = {2 * (x * y - w * z) * scale[1], (1 - 2 * (x * x + z * z)) * scale[1], 2 * (y * z + w * x) * scale[1], 0},
        .z = {2 * (x * z + w * y) * scale[2], 2 * (y * z - w * x) * scale[2], (1 - 2 * (x * x + y * y)) * scale[2], 0},
        .origin = {position[0], position[1], position[2], 1}};
}

// Of affine matrices: the last row is 0, 0, 0, 1 and comes out so.
static inline void compute(const limit_matrix *parent, const mica_transform *local, limit_matrix *world) {
    const limit_matrix b = local_matrix(local);
    const limit_matrix a = *parent;
    world->x = a.x * b.x[0] + a.y * b.x[1] + a.z * b.x[2];
    world->y = a.x * b.y[0] + a.y * b.y[1] + a.z * b.y[2];
    world->z = a.x * b.z[0] + a.y * b.z[1] + a.z * b.z[2];
    world->origin = a.x * b.origin[0] + a.y * b.origin[1] + a.z * b.origin[2] + a.origin;
}

static void order_run(void *context) {
    const limit_tree *tree = context;
    tree->worlds[0] = local_matrix(&tree->locals[0]);
    for (uint32_t node = 1; node < tree->n; node++) {
        compute(&tree->worlds[tree->parents[node]], &tree->locals[node], &tree->worlds[node]);
    }
}

static void shuffled_run(void *context) {
    const limit_tree *tree = context;
    tree->worlds[tree->rows[0]] = local_matrix(&tree->locals[tree->rows[0]]);
    for (uint32_t i = 1; i < tree->n; i++) {
        const uint32_t at = tree->rows[i];
        compute(&tree->worlds[tree->parents[i]], &tree->locals[at], &tree->worlds[at]);
    }
}

static uint64_t tree_check(void *context) {
    const limit_tree *tree = context;
    uint64_t checksum = 0;
    for (uint32_t node = 0; node < tree->n; node++) {
        const limit_matrix *world = &tree->worlds[tree->order[node]];
        checksum = bench_mix_floats(checksum, world->x[0], world->y[1], world->z[2]);
        checksum = bench_mix_floats(checksum, world->origin[0], world->origin[1], world->origin[2]);
    }
    return checksum;
}

const bench_side limit_tree_order = {
    .set_up = order_make,
    .run = order_run,
    .check = tree_check,
    .tear_down = tree_free,
};

const bench_side limit_tree_shuffled = {
    .set_up = shuffled_make,
    .run = shuffled_run,
    .check = tree_check,
    .tear_down = tree_free,
};

static void position_run(void *context) {
    const limit_tree *tree = context;
    const float *root = tree->locals[0].position;
    tree->positions[0] = (Position){root[0], root[1], root[2]};
    for (uint32_t node = 1; node < tree->n; node++) {
        const Position parent = tree->positions[tree->parents[node]];
        const float *local = tree->locals[node].position;
        tree->positions[node] = (Position){parent.x + local[0], parent.y + local[1], parent.z + local[2]};
    }
}

static uint64_t position_check(void *context) {
    const limit_tree *tree = context;
    uint64_t checksum = 0;
    for (uint32_t node = 0; node < tree->n; node++) {
        checksum = bench_mix_position(checksum, &tree->positions[node]);
    }
    return checksum;
}

const bench_side limit_tree_position = {
    .set_up = order_make,
    .run = position_run,
    .check = position_check,
    .tear_down = tree_free,
};
