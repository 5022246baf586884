// A sorted set of items, numbers that each stand for something with a key: a B+tree over (key, item) pairs.
//
// Keys are 64 bits. Longer ones keep their first 64 bits here and leave the rest to a compare function; items with
// equal keys are in ascending order of their numbers. The order in which pairs came shows in nothing.
#pragma once

#include "base/heap.h"

#define MI_TREE_ITEM_MAX UINT32_MAX // stands behind all items of its key
#define MI_TREE_HEIGHT_MAX 8u       // a node has 24 pairs at least

// Compares what is beyond the first 64 bits of an item's key with `rest`: negative, 0 or positive, as for qsort.
typedef int (*mi_tree_compare)(const void *context, uint32_t item, const void *rest);

typedef struct mi_tree_node mi_tree_node;

typedef struct mi_tree {
    mi_tree_node *root; // NULL: empty
    uint32_t height;    // levels of nodes
    uint32_t count;
    mi_tree_node *spare[2];  // nodes to be used again; [1]: leaves
    mi_tree_compare compare; // NULL: keys end after 64 bits
    const void *context;
} mi_tree;

// A pair that is looked for; `rest` is what the compare function is given.
typedef struct mi_tree_probe {
    uint64_t key;
    const void *rest;
    uint32_t item;
} mi_tree_probe;

// A place in a tree, good until the tree changes.
typedef struct mi_tree_cursor {
    const mi_tree_node *nodes[MI_TREE_HEIGHT_MAX];
    uint32_t places[MI_TREE_HEIGHT_MAX];
    uint32_t height; // 0: behind the last pair
} mi_tree_cursor;

// Puts in a pair that is not there. False: out of memory, and nothing has changed. O(log n).
bool mi_tree_insert(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose, const mi_tree_probe *pair);
// Takes out a pair; false: it is not there. O(log n).
bool mi_tree_erase(mi_tree *tree, const mi_tree_probe *pair);
// Gives back the memory of nodes that are not needed.
void mi_tree_trim(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose);
// Takes everything out, and gives all memory back.
void mi_tree_clear(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose);

// The first pair that is not below `probe`. O(log n).
mi_tree_cursor mi_tree_seek(const mi_tree *tree, const mi_tree_probe *probe);
mi_tree_cursor mi_tree_first(const mi_tree *tree);
// The last pair's item; the tree is not empty. O(log n).
uint32_t mi_tree_last(const mi_tree *tree);

static inline bool mi_tree_at_end(const mi_tree_cursor *cursor) {
    return cursor->height == 0;
}
// The items from the cursor's on that stand in its node: at least one. The cursor is not at the end.
const uint32_t *mi_tree_run(const mi_tree_cursor *cursor, uint32_t *count);
// How many of these are below `probe`: ascending, so the first so many. O(log of them).
uint32_t mi_tree_run_below(const mi_tree *tree, const mi_tree_cursor *cursor, const mi_tree_probe *probe);
// Goes to the first item behind the cursor's node. O(1) on average.
void mi_tree_next_run(mi_tree_cursor *cursor);

// The first thing that is wrong, or NULL. O(n).
const char *mi_tree_validate(const mi_tree *tree);
