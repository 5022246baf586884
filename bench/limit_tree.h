// World matrices of a tree as hand-written C would compute them, and the tree that both sides have.
#pragma once

#include "harness.h"

#include <mica/transform.h>

enum { BENCH_TREE_BRANCHING = 10 };

/// The parent of a node, numbered breadth-first; node 0 is the root and its own parent.
static inline uint32_t bench_tree_parent(uint32_t node) {
    return node == 0 ? 0 : (node - 1) / BENCH_TREE_BRANCHING;
}

/// The local pose of a node.
static inline mica_transform bench_tree_pose(uint32_t node) {
    const float step = (float)(node % 32) * 0.0625f;
    const float turn = node % 2 == 0 ? 0.6f : -0.6f;
    return (mica_transform){{step, 1 - step, 0.5f}, {turn, 0, 0, 0.8f}, {1, 1, 1}};
}

extern const bench_side limit_tree_order;    ///< n world matrices of nodes that lie breadth-first in memory
extern const bench_side limit_tree_shuffled; ///< the same of nodes that lie in shuffled order
extern const bench_side limit_tree_position; ///< n positions in the world of nodes that lie breadth-first in memory
