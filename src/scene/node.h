// The reverse of ChildOf: who the children of an entity are, and in which order.
//
// One record an entity, found by its index; records stand in pages that are made when a link first touches them. Links
// are slot indices; 0 is none, as in the store. Record 0, of the slot that is never used, holds the roots that have
// children: so each parent is in one list, and all trees are found without a search. A root without children is in
// no list.
#pragma once

#include "base/array.h"
#include "base/assert.h"

#define MI_NODE_PAGE_BITS 10u
#define MI_NODE_PAGE_SIZE (1u << MI_NODE_PAGE_BITS)

typedef struct mi_node {
    uint32_t parent; // 0: a root
    uint32_t first_child;
    uint32_t last_child;
    uint32_t previous; // sibling
    uint32_t next;     // sibling
    uint32_t child_count;
    uint32_t mark; // of mi_nodes_marks
} mi_node;

typedef struct mi_nodes {
    MI_ARRAY(mi_node *) pages; // NULL where no link has been
    uint32_t linked_count;     // records with a parent
    uint32_t parent_count;     // records with children, record 0 left aside
    uint32_t mark_used;        // marks up to here have been handed out
    uint64_t version;          // grows with every change of a link
} mi_nodes;

// Makes sure of the record of slot `index`, and of record 0; false: out of memory.
bool mi_nodes_reserve(mi_nodes *nodes, mi_heap *heap, uint32_t index);

// Makes `child` the last child of `parent`, or a root (0). Both have records; what would be a cycle must not come here.
void mi_nodes_link(mi_nodes *nodes, uint32_t child, uint32_t parent);

// Makes `child`, which is in no list, the last child of `parent`. With parent 0 it comes to the roots that have
// children, whether or not it has some yet.
void mi_nodes_append(mi_nodes *nodes, uint32_t child, uint32_t parent);

// Puts the children of `index` in its place among its siblings, in their order (or makes them roots if it is one), and
// takes `index` out, as one without parent and children.
void mi_nodes_lift_children(mi_nodes *nodes, uint32_t index);

// Hands out `count` marks that no record carries: the one returned and those after it.
uint32_t mi_nodes_marks(mi_nodes *nodes, uint32_t count);

// Forgets all links, but keeps the records.
void mi_nodes_unlink_all(mi_nodes *nodes);

// Forgets all links and gives the pages back.
void mi_nodes_clear(mi_nodes *nodes, mi_heap *heap);
void mi_nodes_free(mi_nodes *nodes, mi_heap *heap);

// The first thing that is wrong, or NULL. O(records).
const char *mi_nodes_validate(const mi_nodes *nodes);

// NULL: no link has touched it or its neighbours.
static inline mi_node *mi_nodes_find(const mi_nodes *nodes, uint32_t index) {
    const uint32_t page = index >> MI_NODE_PAGE_BITS;
    if (page >= nodes->pages.count || nodes->pages.data[page] == NULL) {
        return NULL;
    }
    return &nodes->pages.data[page][index & (MI_NODE_PAGE_SIZE - 1)];
}

// A record that is there.
static inline mi_node *mi_nodes_at(const mi_nodes *nodes, uint32_t index) {
    MI_ASSERT(mi_nodes_find(nodes, index) != NULL);
    return &nodes->pages.data[index >> MI_NODE_PAGE_BITS][index & (MI_NODE_PAGE_SIZE - 1)];
}
