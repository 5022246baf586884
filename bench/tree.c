// Trees of entities with a transform: computing all world matrices, also when little or nothing has changed, building
// the tree, what it weighs, and destroying it from its root.
//
// Nodes are numbered breadth-first and `entities` stands in that order; in shuffled trees they were created in another.
// Building and destroying start from a world that has held as many.
#include "limit_tree.h"
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

typedef struct tree {
    mica_world *world;
    mica_entity *entities; // by node
    mica_entity *created;  // in order of creation
    mica_entity *parents;  // of the entities in order of creation; null for the root
    mica_transform *poses; // in order of creation
    uint32_t *order;       // when each node is created
    uint32_t n;
    uint64_t result; // what runs have computed
} tree;

static void tree_tear_down(void *context) {
    tree *state = context;
    mica_world_destroy(state->world);
    bench_pages_free(state->entities, state->n, sizeof *state->entities);
    bench_pages_free(state->created, state->n, sizeof *state->created);
    bench_pages_free(state->parents, state->n, sizeof *state->parents);
    bench_pages_free(state->poses, state->n, sizeof *state->poses);
    bench_pages_free(state->order, state->n, sizeof *state->order);
    free(state);
}

// A world, and a tree that is not in it yet.
static tree *tree_make(int64_t n, bool is_shuffled, int32_t thread_count) {
    tree *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->world = mica_world_create(&(mica_world_def){.thread_count = thread_count});
    state->entities = bench_pages_allocate(state->n, sizeof *state->entities, BENCH_PAGES_4_KIB);
    state->created = bench_pages_allocate(state->n, sizeof *state->created, BENCH_PAGES_4_KIB);
    state->parents = bench_pages_allocate(state->n, sizeof *state->parents, BENCH_PAGES_4_KIB);
    state->poses = bench_pages_allocate(state->n, sizeof *state->poses, BENCH_PAGES_4_KIB);
    state->order = bench_pages_allocate(state->n, sizeof *state->order, BENCH_PAGES_4_KIB);
    if (state->world == NULL || state->entities == NULL || state->created == NULL || state->parents == NULL ||
        state->poses == NULL || state->order == NULL) {
        tree_tear_down(state);
        return NULL;
    }
    if (is_shuffled) {
        bench_shuffle(state->order, state->n, BENCH_SEED_FIRST);
    }
    for (uint32_t node = 0; node < state->n; node++) {
        state->order[node] = is_shuffled ? state->order[node] : node;
        state->poses[state->order[node]] = bench_tree_pose(node);
    }
    return state;
}

// Creates all nodes by one call and links them by another, in order of creation, so that they lie in that order.
// Returns how many of the two succeeded.
static uint64_t build_many(tree *state) {
    const int32_t count = (int32_t)state->n;
    const bool created =
        mica_spawn_many(state->world, count, state->created, mica_column_of(mica_transform, state->poses)) == MICA_OK;
    for (uint32_t node = 0; node < state->n; node++) {
        state->entities[node] = state->created[state->order[node]];
        state->parents[state->order[node]] = node == 0 ? MICA_NULL : state->entities[bench_tree_parent(node)];
    }
    const bool linked = mica_set_parent_many(state->world, state->created, state->parents, count) == MICA_OK;
    return (uint64_t)created + (uint64_t)linked;
}

static void *built_set_up(int64_t n, bool is_shuffled, int32_t thread_count) {
    tree *state = tree_make(n, is_shuffled, thread_count);
    if (state != NULL && build_many(state) != 2) {
        tree_tear_down(state);
        return NULL;
    }
    return state;
}

static void *order_set_up(int64_t n) {
    return built_set_up(n, false, 1);
}

static void *shuffled_set_up(int64_t n) {
    return built_set_up(n, true, 1);
}

static void *order_set_up_2(int64_t n) {
    return built_set_up(n, false, 2);
}

static void *shuffled_set_up_2(int64_t n) {
    return built_set_up(n, true, 2);
}

static void resolve_run(void *context) {
    tree *state = context;
    state->result = mica_transform_resolve(state->world) == MICA_OK;
}

static uint64_t matrices_check(void *context) {
    const tree *state = context;
    uint64_t checksum = 0;
    for (uint32_t node = 0; node < state->n; node++) {
        const mica_world_transform *world = mica_get(state->world, state->entities[node], mica_world_transform);
        if (world != NULL) {
            checksum = bench_mix_floats(checksum, world->m[0], world->m[5], world->m[10]);
            checksum = bench_mix_floats(checksum, world->m[12], world->m[13], world->m[14]);
        }
    }
    return checksum;
}

static const bench_side resolve_order = {
    .set_up = order_set_up,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
};

static const bench_side resolve_shuffled = {
    .set_up = shuffled_set_up,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
};

static const bench_side resolve_order_2 = {
    .set_up = order_set_up_2,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
    .has_threads = true,
};

static const bench_side resolve_shuffled_2 = {
    .set_up = shuffled_set_up_2,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
    .has_threads = true,
};

// Nothing, or one pose in a hundred, is changed between the passes.

static void *resolved_set_up(int64_t n) {
    tree *state = order_set_up(n);
    if (state != NULL) {
        resolve_run(state);
    }
    return state;
}

static void mark_prepare(void *context) {
    const tree *state = context;
    for (uint32_t node = 0; node < state->n; node += 100) {
        mica_get_write(state->world, state->entities[node], mica_transform);
    }
}

static const bench_side resolve_again = {
    .set_up = resolved_set_up,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
};

static const bench_side resolve_marked = {
    .set_up = resolved_set_up,
    .prepare = mark_prepare,
    .run = resolve_run,
    .check = matrices_check,
    .tear_down = tree_tear_down,
};

// All that the world takes beyond poses and matrices, with what resolving keeps, and without the blocks that building
// the tree has left free.
static uint64_t weigh(void *context) {
    const tree *state = context;
    mica_world_trim(state->world);
    const uint64_t total = mica_world_memory(state->world).total;
    const uint64_t values = state->n * (sizeof(mica_transform) + sizeof(mica_world_transform));
    return total > values ? total - values : 0;
}

static const bench_side weigh_links = {.set_up = resolved_set_up, .tear_down = tree_tear_down, .weigh = weigh};

static void clear(void *context) {
    mica_world_clear(((tree *)context)->world);
}

static void *empty_set_up(int64_t n) {
    return tree_make(n, false, 1);
}

static void one_run(void *context) {
    tree *state = context;
    uint64_t result = 0;
    for (uint32_t node = 0; node < state->n; node++) {
        const mica_entity parent = node == 0 ? MICA_NULL : state->entities[bench_tree_parent(node)];
        const mica_child_of link = {parent};
        const mica_value values[] = {{mica_type_of(mica_transform), &state->poses[node], 0, 0},
                                     {mica_type_of(mica_child_of), &link, 0, 0}};
        state->entities[node] = mica_entity_spawn(state->world, values, 2);
        result += mica_entity_is_null(state->entities[node]) ? 0 : 1;
    }
    state->result = result;
}

static void many_run(void *context) {
    tree *state = context;
    state->result = build_many(state);
}

static uint64_t links_check(void *context) {
    const tree *state = context;
    uint64_t checksum = (uint64_t)mica_world_entity_count(state->world);
    for (uint32_t node = 0; node < state->n; node++) {
        const mica_entity parent = mica_parent(state->world, state->entities[node]);
        checksum = bench_mix(checksum, mica_entity_index(parent));
        checksum = bench_mix(checksum, (uint64_t)mica_child_count(state->world, state->entities[node]));
    }
    return checksum;
}

static const bench_side create_one = {
    .set_up = empty_set_up,
    .prepare = clear,
    .run = one_run,
    .check = links_check,
    .tear_down = tree_tear_down,
};

static const bench_side create_many = {
    .set_up = empty_set_up,
    .prepare = clear,
    .run = many_run,
    .check = links_check,
    .tear_down = tree_tear_down,
};

static void destroy_prepare(void *context) {
    tree *state = context;
    clear(state);
    build_many(state);
}

static void destroy_run(void *context) {
    tree *state = context;
    state->result = mica_destroy_subtree(state->world, state->entities[0]) == MICA_OK;
}

static uint64_t destroy_check(void *context) {
    const tree *state = context;
    return bench_mix(state->result, (uint64_t)mica_world_entity_count(state->world));
}

static const bench_side destroy_root = {
    .set_up = empty_set_up,
    .prepare = destroy_prepare,
    .run = destroy_run,
    .check = destroy_check,
    .tear_down = tree_tear_down,
};

static const bench_row rows[] = {
    {"tree/matrix", "main", 1000000, "ns/node", 1000000, &resolve_order, &limit_tree_order},
    {"tree/matrix", "shuffled", 1000000, "ns/node", 1000000, &resolve_shuffled, &limit_tree_shuffled},
    {"tree/matrix", "two threads", 1000000, "ns/node", 1000000, &resolve_order_2, &limit_tree_order},
    {"tree/matrix", "shuffled, two threads", 1000000, "ns/node", 1000000, &resolve_shuffled_2, &limit_tree_shuffled},
    {"tree/unchanged", "main", 1000000, "ns/node", 1000000, &resolve_again, NULL},
    {"tree/unchanged", "one in a hundred", 1000000, "ns/node", 1000000, &resolve_marked, NULL},
    {"tree/create", "main", 1000000, "ns/node", 1000000, &create_one, NULL},
    {"tree/create", "bulk", 1000000, "ns/node", 1000000, &create_many, NULL},
    {"tree/destroy", "main", 1000000, "ns/node", 1000000, &destroy_root, NULL},
    {"tree/memory", "main", 1000000, "bytes/node", 1000000, &weigh_links, NULL},
};

const bench_family bench_tree = {rows, (int32_t)(sizeof rows / sizeof *rows)};
