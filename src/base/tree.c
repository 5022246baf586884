// A B+tree: pairs stand in the leaves, all of them equally deep; an inner node has a pair for each child, the first of
// the leaves below it.
//
// Invariants: the pairs of a node ascend, and so do those of neighbours. Every node but the root has PAIRS_LEAST pairs
// at least, a root that is no leaf has two. The first pair of an inner node is exact but on the tree's left edge, where
// nobody looks at it: what is below all others goes to the first child whatever stands there.
//
// Full nodes are split on the way down, before anything is put in, so that a failure leaves a tree with the same pairs.
// Nodes that are not needed wait to be used again, so that a tree whose pairs change and do not become more allocates
// nothing in the long run.
#include "base/tree.h"

#include <string.h>

#include "base/assert.h"

enum { NODE_PAIRS = 64, PAIRS_LEAST = 24 };
_Static_assert(2 * PAIRS_LEAST <= NODE_PAIRS, "two nodes that are too small together fit into one");

struct mi_tree_node {
    uint32_t count;
    bool is_leaf;
    uint32_t items[NODE_PAIRS];
    union {
        uint64_t keys[NODE_PAIRS];
        mi_tree_node *next_spare; // of a node that waits to be used again
    };
    mi_tree_node *children[]; // NODE_PAIRS of them, unless it is a leaf
};

static size_t node_size(bool is_leaf) {
    return sizeof(mi_tree_node) + (is_leaf ? 0 : NODE_PAIRS * sizeof(mi_tree_node *));
}

static mi_tree_node *make_node(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose, bool is_leaf) {
    mi_tree_node *node = tree->spare[is_leaf];
    if (node != NULL) {
        tree->spare[is_leaf] = node->next_spare;
    } else {
        node = mi_heap_allocate(heap, purpose, node_size(is_leaf), _Alignof(mi_tree_node));
    }
    if (node != NULL) {
        node->count = 0;
        node->is_leaf = is_leaf;
    }
    return node;
}

static void retire_node(mi_tree *tree, mi_tree_node *node) {
    node->next_spare = tree->spare[node->is_leaf];
    tree->spare[node->is_leaf] = node;
}

// Whether the pair at `place` is below the probe.
static bool is_below(const mi_tree *tree, const mi_tree_node *node, uint32_t place, const mi_tree_probe *probe) {
    if (node->keys[place] != probe->key) {
        return node->keys[place] < probe->key;
    }
    const int order = tree->compare == NULL ? 0 : tree->compare(tree->context, node->items[place], probe->rest);
    return order != 0 ? order < 0 : node->items[place] < probe->item;
}

// The first pair from `first` on that is not below the probe; `count` if there is none.
static uint32_t lower_bound(const mi_tree *tree, const mi_tree_node *node, uint32_t first, const mi_tree_probe *probe) {
    uint32_t low = first;
    uint32_t high = node->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (is_below(tree, node, middle, probe)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const mi_tree_node *node, uint32_t place, const mi_tree_probe *probe) {
    // An item is there once, so there is no need to compare the rest.
    return place < node->count && node->keys[place] == probe->key && node->items[place] == probe->item;
}

// The child that the probe is in, or would be.
static uint32_t child_place(const mi_tree *tree, const mi_tree_node *node, const mi_tree_probe *probe) {
    const uint32_t place = lower_bound(tree, node, 1, probe);
    return is_at(node, place, probe) ? place : place - 1;
}

static void copy_pairs(mi_tree_node *to, uint32_t to_place, const mi_tree_node *from, uint32_t from_place,
                       uint32_t count) {
    memmove(to->keys + to_place, from->keys + from_place, count * sizeof(to->keys[0]));
    memmove(to->items + to_place, from->items + from_place, count * sizeof(to->items[0]));
    if (!to->is_leaf) {
        memmove(to->children + to_place, from->children + from_place, count * sizeof(to->children[0]));
    }
}

// Makes room for a pair at `place` of a node that is not full.
static void open_pair(mi_tree_node *node, uint32_t place) {
    copy_pairs(node, place + 1, node, place, node->count - place);
    node->count++;
}

static void close_pair(mi_tree_node *node, uint32_t place) {
    node->count--;
    copy_pairs(node, place, node, place + 1, node->count - place);
}

static void set_pair(mi_tree_node *node, uint32_t place, uint64_t key, uint32_t item) {
    node->keys[place] = key;
    node->items[place] = item;
}

// Moves the upper half of a full child into a new node behind it; the parent is not full.
static bool split_child(mi_tree *tree, mi_tree_node *parent, uint32_t place, mi_heap *heap,
                        mica_memory_purpose purpose) {
    mi_tree_node *child = parent->children[place];
    mi_tree_node *upper = make_node(tree, heap, purpose, child->is_leaf);
    if (upper == NULL) {
        return false;
    }
    child->count = NODE_PAIRS / 2;
    upper->count = NODE_PAIRS - child->count;
    copy_pairs(upper, 0, child, child->count, upper->count);
    open_pair(parent, place + 1);
    set_pair(parent, place + 1, upper->keys[0], upper->items[0]);
    parent->children[place + 1] = upper;
    return true;
}

// Puts a new root above one that is full, or makes the first.
static bool raise_root(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose) {
    mi_tree_node *root = make_node(tree, heap, purpose, tree->root == NULL);
    if (root == NULL) {
        return false;
    }
    if (tree->root != NULL) {
        root->count = 1;
        set_pair(root, 0, tree->root->keys[0], tree->root->items[0]);
        root->children[0] = tree->root;
    }
    tree->root = root;
    tree->height++;
    MI_ASSERT(tree->height <= MI_TREE_HEIGHT_MAX);
    return true;
}

static void lower_root(mi_tree *tree) {
    while (tree->root != NULL && tree->root->count <= 1) {
        mi_tree_node *root = tree->root;
        if (root->count == 1 && root->is_leaf) {
            return;
        }
        tree->root = root->count == 0 ? NULL : root->children[0];
        tree->height--;
        retire_node(tree, root);
    }
}

bool mi_tree_insert(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose, const mi_tree_probe *pair) {
    if ((tree->root == NULL || tree->root->count == NODE_PAIRS) && !raise_root(tree, heap, purpose)) {
        return false;
    }
    mi_tree_node *node = tree->root;
    while (!node->is_leaf) {
        uint32_t place = child_place(tree, node, pair);
        if (node->children[place]->count == NODE_PAIRS) {
            if (!split_child(tree, node, place, heap, purpose)) {
                lower_root(tree);
                return false;
            }
            place += is_below(tree, node, place + 1, pair);
        }
        node = node->children[place];
    }
    const uint32_t place = lower_bound(tree, node, 0, pair);
    MI_ASSERT(!is_at(node, place, pair));
    open_pair(node, place);
    set_pair(node, place, pair->key, pair->item);
    tree->count++;
    return true;
}

// Brings a child with too few pairs and its neighbour, at `place` and behind it, to enough pairs each, or into one
// node: true.
static bool join_children(mi_tree *tree, mi_tree_node *parent, uint32_t place) {
    mi_tree_node *left = parent->children[place];
    mi_tree_node *right = parent->children[place + 1];
    const uint32_t sum = left->count + right->count;
    const uint32_t left_count = sum > 2 * PAIRS_LEAST ? sum / 2 : sum;
    if (left_count > left->count) {
        const uint32_t count = left_count - left->count;
        copy_pairs(left, left->count, right, 0, count);
        copy_pairs(right, 0, right, count, right->count - count);
    } else {
        const uint32_t count = left->count - left_count;
        copy_pairs(right, count, right, 0, right->count);
        copy_pairs(right, 0, left, left_count, count);
    }
    left->count = left_count;
    right->count = sum - left_count;
    if (right->count == 0) {
        close_pair(parent, place + 1);
        retire_node(tree, right);
        return true;
    }
    set_pair(parent, place + 1, right->keys[0], right->items[0]);
    return false;
}

// Says on the way up that the first pair of the node at `level` is another one.
static void tell_first(mi_tree_node *const *nodes, const uint32_t *places, uint32_t level) {
    while (level > 0) {
        const mi_tree_node *node = nodes[level];
        level--;
        set_pair(nodes[level], places[level], node->keys[0], node->items[0]);
        if (places[level] > 0) {
            return;
        }
    }
}

bool mi_tree_erase(mi_tree *tree, const mi_tree_probe *pair) {
    mi_tree_node *nodes[MI_TREE_HEIGHT_MAX];
    uint32_t places[MI_TREE_HEIGHT_MAX];
    if (tree->root == NULL) {
        return false;
    }
    uint32_t level = 0;
    nodes[0] = tree->root;
    for (; !nodes[level]->is_leaf; level++) {
        places[level] = child_place(tree, nodes[level], pair);
        nodes[level + 1] = nodes[level]->children[places[level]];
    }
    const uint32_t place = lower_bound(tree, nodes[level], 0, pair);
    if (!is_at(nodes[level], place, pair)) {
        return false;
    }
    close_pair(nodes[level], place);
    tree->count--;
    if (place == 0) {
        tell_first(nodes, places, level);
    }
    for (; level > 0 && nodes[level]->count < PAIRS_LEAST; level--) {
        const uint32_t at = places[level - 1];
        if (!join_children(tree, nodes[level - 1], at == 0 ? 0 : at - 1)) {
            break;
        }
    }
    lower_root(tree);
    return true;
}

void mi_tree_trim(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose) {
    for (uint32_t is_leaf = 0; is_leaf < 2; is_leaf++) {
        while (tree->spare[is_leaf] != NULL) {
            mi_tree_node *node = tree->spare[is_leaf];
            tree->spare[is_leaf] = node->next_spare;
            mi_heap_release(heap, purpose, node, node_size(is_leaf != 0), _Alignof(mi_tree_node));
        }
    }
}

void mi_tree_clear(mi_tree *tree, mi_heap *heap, mica_memory_purpose purpose) {
    // Takes leaves and nodes without children left, always at the right edge.
    mi_tree_node *path[MI_TREE_HEIGHT_MAX];
    uint32_t depth = 0;
    if (tree->root != NULL) {
        path[depth++] = tree->root;
    }
    while (depth > 0) {
        mi_tree_node *node = path[depth - 1];
        if (!node->is_leaf && node->count > 0) {
            path[depth++] = node->children[--node->count];
        } else {
            retire_node(tree, node);
            depth--;
        }
    }
    mi_tree_trim(tree, heap, purpose);
    tree->root = NULL;
    tree->height = 0;
    tree->count = 0;
}

// Cursors

// Goes on from a place at `level`, which may be behind the last pair of its node, to the first leaf from there on.
static void go_to_leaf(mi_tree_cursor *cursor, uint32_t level) {
    while (cursor->places[level] >= cursor->nodes[level]->count) {
        if (level == 0) {
            cursor->height = 0;
            return;
        }
        level--;
        cursor->places[level]++;
    }
    for (; !cursor->nodes[level]->is_leaf; level++) {
        cursor->nodes[level + 1] = cursor->nodes[level]->children[cursor->places[level]];
        cursor->places[level + 1] = 0;
    }
}

mi_tree_cursor mi_tree_seek(const mi_tree *tree, const mi_tree_probe *probe) {
    mi_tree_cursor cursor;
    cursor.height = tree->height;
    if (tree->root == NULL) {
        return cursor;
    }
    uint32_t level = 0;
    cursor.nodes[0] = tree->root;
    for (; !cursor.nodes[level]->is_leaf; level++) {
        cursor.places[level] = child_place(tree, cursor.nodes[level], probe);
        cursor.nodes[level + 1] = cursor.nodes[level]->children[cursor.places[level]];
    }
    cursor.places[level] = lower_bound(tree, cursor.nodes[level], 0, probe);
    go_to_leaf(&cursor, level);
    return cursor;
}

mi_tree_cursor mi_tree_first(const mi_tree *tree) {
    mi_tree_cursor cursor;
    cursor.height = tree->height;
    if (tree->root != NULL) {
        cursor.nodes[0] = tree->root;
        cursor.places[0] = 0;
        go_to_leaf(&cursor, 0);
    }
    return cursor;
}

uint32_t mi_tree_last(const mi_tree *tree) {
    const mi_tree_node *node = tree->root;
    while (!node->is_leaf) {
        node = node->children[node->count - 1];
    }
    return node->items[node->count - 1];
}

const uint32_t *mi_tree_run(const mi_tree_cursor *cursor, uint32_t *count) {
    const uint32_t level = cursor->height - 1;
    *count = cursor->nodes[level]->count - cursor->places[level];
    return cursor->nodes[level]->items + cursor->places[level];
}

uint32_t mi_tree_run_below(const mi_tree *tree, const mi_tree_cursor *cursor, const mi_tree_probe *probe) {
    const uint32_t level = cursor->height - 1;
    const uint32_t place = cursor->places[level];
    return lower_bound(tree, cursor->nodes[level], place, probe) - place;
}

void mi_tree_next_run(mi_tree_cursor *cursor) {
    const uint32_t level = cursor->height - 1;
    cursor->places[level] = cursor->nodes[level]->count;
    go_to_leaf(cursor, level);
}

// Validation

// What is wrong inside a node that is not on the tree's left edge unless `is_left`.
static const char *check_node(const mi_tree_node *node, uint32_t least, bool is_left, bool is_leaf) {
    if (node->is_leaf != is_leaf || node->count < least || node->count > NODE_PAIRS) {
        return "a tree has a node of the wrong kind, or with too few or too many pairs";
    }
    for (uint32_t i = is_left && !is_leaf ? 2 : 1; i < node->count; i++) {
        if (node->keys[i - 1] > node->keys[i]) {
            return "keys of a tree do not ascend";
        }
    }
    for (uint32_t i = 0; !is_leaf && i < node->count; i++) {
        const mi_tree_node *child = node->children[i];
        if ((i > 0 || !is_left) && (child->keys[0] != node->keys[i] || child->items[0] != node->items[i])) {
            return "a node of a tree does not begin as its parent says";
        }
    }
    return NULL;
}

const char *mi_tree_validate(const mi_tree *tree) {
    if (tree->root == NULL) {
        return tree->height == 0 && tree->count == 0 ? NULL : "an empty tree counts something";
    }
    mi_tree_cursor cursor = {.nodes = {tree->root}, .height = 1};
    uint32_t count = 0;
    while (cursor.height > 0) {
        const uint32_t level = cursor.height - 1;
        const mi_tree_node *node = cursor.nodes[level];
        if (cursor.places[level] == 0) {
            bool is_left = true;
            for (uint32_t i = 0; i < level; i++) {
                is_left &= cursor.places[i] == 1;
            }
            const char *fault = check_node(node, level == 0 ? (node->is_leaf ? 1 : 2) : PAIRS_LEAST, is_left,
                                           cursor.height == tree->height);
            if (fault != NULL) {
                return fault;
            }
            count += node->is_leaf ? node->count : 0;
        }
        if (node->is_leaf || cursor.places[level] == node->count) {
            cursor.height--;
        } else {
            cursor.nodes[level + 1] = node->children[cursor.places[level]++];
            cursor.places[level + 1] = 0;
            cursor.height++;
        }
    }
    return count == tree->count ? NULL : "a tree counts other than it has";
}
