// Positions in the world of the nodes of a tree, and nothing else: what a program computes itself, by a walk, that
// needs no matrices. A local pose has 40 bytes, of which the position is read.
//
// Nodes are created breadth-first, so that a walk meets parents before their children, and the children of a parent one
// after the other: "main" looks a parent up once for all of them, the other variant once for each.
#include "limit_tree.h"
#include "machine.h"
#include "rows.h"
#include "workload.h"

#include <stdlib.h>

MICA_STRUCT(NodePose, {
    float position[3];
    float rotation[4];
    float scale[3];
});
MICA_STRUCT(NodePosition, { float x, y, z; });

typedef struct position_tree {
    mica_world *world;
    mica_query *query;
    mica_entity *entities; // by node
    uint32_t n;
} position_tree;

static void tear_down(void *context) {
    position_tree *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    bench_pages_free(state->entities, state->n, sizeof *state->entities);
    free(state);
}

// Creates the nodes and links them. Returns whether all went well.
static bool build(position_tree *state) {
    mica_entity *parents = calloc(state->n, sizeof *parents);
    NodePose *poses = calloc(state->n, sizeof *poses);
    NodePosition *positions = calloc(state->n, sizeof *positions);
    bool built = parents != NULL && poses != NULL && positions != NULL;
    if (built) {
        for (uint32_t node = 0; node < state->n; node++) {
            const mica_transform pose = bench_tree_pose(node);
            memcpy(&poses[node], &pose, sizeof pose);
        }
        built = mica_spawn_many(state->world, (int32_t)state->n, state->entities, mica_column_of(NodePose, poses),
                                mica_column_of(NodePosition, positions)) == MICA_OK;
        for (uint32_t node = 1; node < state->n; node++) {
            parents[node] = state->entities[bench_tree_parent(node)];
        }
        built = built && mica_set_parent_many(state->world, state->entities, parents, (int32_t)state->n) == MICA_OK;
    }
    free(parents);
    free(poses);
    free(positions);
    return built;
}

static void *set_up(int64_t n) {
    position_tree *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->entities = bench_pages_allocate(state->n, sizeof *state->entities, BENCH_PAGES_4_KIB);
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        const mica_term terms[] = {mica_read(NodePose), mica_read(mica_child_of), mica_write(NodePosition)};
        state->query = mica_query_create(state->world, terms, 3);
    }
    if (state->entities == NULL || state->query == NULL || !build(state)) {
        tear_down(state);
        return NULL;
    }
    return state;
}

static inline NodePosition moved(NodePosition parent, const NodePose *pose) {
    return (NodePosition){parent.x + pose->position[0], parent.y + pose->position[1], parent.z + pose->position[2]};
}

static void root_run(const position_tree *state) {
    const NodePosition origin = {0, 0, 0};
    NodePosition *position = mica_get_write(state->world, state->entities[0], NodePosition);
    *position = moved(origin, mica_get(state->world, state->entities[0], NodePose));
}

static void kept_parent_run(void *context) {
    const position_tree *state = context;
    mica_entity last = MICA_NULL;
    NodePosition parent = {0, 0, 0};
    root_run(state);
    mica_each (state->query, it) {
        const NodePose *poses = mica_read_of(it, NodePose);
        const mica_child_of *links = mica_read_of(it, mica_child_of);
        NodePosition *positions = mica_write_of(it, NodePosition);
        for (int32_t i = 0; i < it.count; i++) {
            if (!mica_entity_equal(links[i].parent, last)) {
                last = links[i].parent;
                parent = *mica_get(state->world, last, NodePosition);
            }
            positions[i] = moved(parent, &poses[i]);
        }
    }
}

static void each_parent_run(void *context) {
    const position_tree *state = context;
    root_run(state);
    mica_each (state->query, it) {
        const NodePose *poses = mica_read_of(it, NodePose);
        const mica_child_of *links = mica_read_of(it, mica_child_of);
        NodePosition *positions = mica_write_of(it, NodePosition);
        for (int32_t i = 0; i < it.count; i++) {
            positions[i] = moved(*mica_get(state->world, links[i].parent, NodePosition), &poses[i]);
        }
    }
}

static uint64_t check(void *context) {
    const position_tree *state = context;
    uint64_t checksum = 0;
    for (uint32_t node = 0; node < state->n; node++) {
        const NodePosition *position = mica_get(state->world, state->entities[node], NodePosition);
        if (position != NULL) {
            checksum = bench_mix_floats(checksum, position->x, position->y, position->z);
        }
    }
    return checksum;
}

static const bench_side kept_parent = {
    .set_up = set_up, .run = kept_parent_run, .check = check, .tear_down = tear_down};
static const bench_side each_parent = {
    .set_up = set_up, .run = each_parent_run, .check = check, .tear_down = tear_down};

static const bench_row rows[] = {
    {"tree/position", "main", 1000000, "ns/node", 1000000, &kept_parent, &limit_tree_position},
    {"tree/position", "parent looked up each time", 1000000, "ns/node", 1000000, &each_parent, &limit_tree_position},
};

const bench_family bench_tree_position = {rows, (int32_t)(sizeof rows / sizeof *rows)};
