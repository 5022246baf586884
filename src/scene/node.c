// Lists of children over slot indices.
//
// Invariants: a record is in the list of its parent; a record without parent is in the list of record 0 if it has
// children, and in none otherwise. Within a list `previous` and `next` mirror each other and end with 0; `child_count`
// of its owner is the length. Records of dead slots are zero but for the mark. `linked_count` and `parent_count` are
// the numbers of records with a parent and (record 0 left aside) with children. No record carries a mark above
// `mark_used`.
#include "scene/node.h"

#include <string.h>

#define PAGE_BYTE_SIZE (sizeof(mi_node) * MI_NODE_PAGE_SIZE)

static bool reserve_page(mi_nodes *nodes, mi_heap *heap, uint32_t page) {
    if (page >= nodes->pages.count) {
        if (!MI_RESERVE(heap, MICA_MEMORY_RELATIONS, &nodes->pages, (size_t)page + 1)) {
            return false;
        }
        memset(&nodes->pages.data[nodes->pages.count], 0, sizeof(*nodes->pages.data) * (page + 1 - nodes->pages.count));
        nodes->pages.count = page + 1;
    }
    if (nodes->pages.data[page] == NULL) {
        nodes->pages.data[page] = (mi_node *)mi_heap_allocate_zeroed(heap, MICA_MEMORY_RELATIONS, PAGE_BYTE_SIZE, 64);
    }
    return nodes->pages.data[page] != NULL;
}

bool mi_nodes_reserve(mi_nodes *nodes, mi_heap *heap, uint32_t index) {
    return (mi_nodes_find(nodes, 0) != NULL || reserve_page(nodes, heap, 0)) &&
           (mi_nodes_find(nodes, index) != NULL || reserve_page(nodes, heap, index >> MI_NODE_PAGE_BITS));
}

static bool is_listed(const mi_nodes *nodes, uint32_t index) {
    const mi_node *node = mi_nodes_at(nodes, index);
    return node->parent != 0 || node->previous != 0 || mi_nodes_at(nodes, 0)->first_child == index;
}

// Makes the records before and after the run `first` to `last`, or the ends of the list of `parent`, lead to the run.
static void join(mi_nodes *nodes, uint32_t parent, uint32_t first, uint32_t last) {
    mi_node *above = mi_nodes_at(nodes, parent);
    const uint32_t previous = mi_nodes_at(nodes, first)->previous;
    const uint32_t next = mi_nodes_at(nodes, last)->next;
    *(previous != 0 ? &mi_nodes_at(nodes, previous)->next : &above->first_child) = first;
    *(next != 0 ? &mi_nodes_at(nodes, next)->previous : &above->last_child) = last;
}

void mi_nodes_append(mi_nodes *nodes, uint32_t child, uint32_t parent) {
    mi_node *node = mi_nodes_at(nodes, child);
    mi_node *above = mi_nodes_at(nodes, parent);
    node->parent = parent;
    node->previous = above->last_child;
    node->next = 0;
    join(nodes, parent, child, child);
    above->child_count++;
    if (parent != 0) {
        nodes->linked_count++;
        nodes->parent_count += above->child_count == 1;
    }
}

static void take_out(mi_nodes *nodes, uint32_t child) {
    mi_node *node = mi_nodes_at(nodes, child);
    mi_node *above = mi_nodes_at(nodes, node->parent);
    *(node->previous != 0 ? &mi_nodes_at(nodes, node->previous)->next : &above->first_child) = node->next;
    *(node->next != 0 ? &mi_nodes_at(nodes, node->next)->previous : &above->last_child) = node->previous;
    above->child_count--;
    if (node->parent != 0) {
        nodes->linked_count--;
        nodes->parent_count -= above->child_count == 0;
    }
    node->parent = 0;
    node->previous = 0;
    node->next = 0;
}

// Brings a record without parent into the list of record 0, or out of it.
static void list_root(mi_nodes *nodes, uint32_t index) {
    const mi_node *node = mi_nodes_at(nodes, index);
    if (index == 0 || node->parent != 0) {
        return;
    }
    const bool listed = is_listed(nodes, index);
    if (node->child_count > 0 && !listed) {
        mi_nodes_append(nodes, index, 0);
    } else if (node->child_count == 0 && listed) {
        take_out(nodes, index);
    }
}

void mi_nodes_link(mi_nodes *nodes, uint32_t child, uint32_t parent) {
    nodes->version++;
    if (is_listed(nodes, child)) {
        const uint32_t old_parent = mi_nodes_at(nodes, child)->parent;
        take_out(nodes, child);
        if (mi_nodes_at(nodes, old_parent)->child_count == 0) {
            list_root(nodes, old_parent);
        }
    }
    if (parent == 0) {
        list_root(nodes, child);
        return;
    }
    mi_nodes_append(nodes, child, parent);
    if (mi_nodes_at(nodes, parent)->child_count == 1) {
        list_root(nodes, parent);
    }
}

void mi_nodes_lift_children(mi_nodes *nodes, uint32_t index) {
    mi_node *node = mi_nodes_at(nodes, index);
    const uint32_t parent = node->parent;
    nodes->version++;
    if (parent == 0) {
        while (node->first_child != 0) {
            mi_nodes_link(nodes, node->first_child, 0);
        }
        return; // it was the last child that took it out of the list of roots
    }
    mi_node *above = mi_nodes_at(nodes, parent);
    if (node->child_count == 0) {
        take_out(nodes, index);
        if (above->child_count == 0) {
            list_root(nodes, parent);
        }
        return;
    }
    for (uint32_t child = node->first_child; child != 0; child = mi_nodes_at(nodes, child)->next) {
        mi_nodes_at(nodes, child)->parent = parent;
    }
    mi_nodes_at(nodes, node->first_child)->previous = node->previous;
    mi_nodes_at(nodes, node->last_child)->next = node->next;
    join(nodes, parent, node->first_child, node->last_child);
    above->child_count += node->child_count - 1;
    nodes->linked_count--;
    nodes->parent_count--;
    *node = (mi_node){.mark = node->mark};
}

uint32_t mi_nodes_marks(mi_nodes *nodes, uint32_t count) {
    if (count > UINT32_MAX - nodes->mark_used) {
        for (uint32_t page = 0; page < nodes->pages.count; page++) {
            for (uint32_t i = 0; nodes->pages.data[page] != NULL && i < MI_NODE_PAGE_SIZE; i++) {
                nodes->pages.data[page][i].mark = 0;
            }
        }
        nodes->mark_used = 0;
    }
    const uint32_t first = nodes->mark_used + 1;
    nodes->mark_used += count;
    return first;
}

void mi_nodes_unlink_all(mi_nodes *nodes) {
    for (uint32_t page = 0; page < nodes->pages.count; page++) {
        for (uint32_t i = 0; nodes->pages.data[page] != NULL && i < MI_NODE_PAGE_SIZE; i++) {
            mi_node *node = &nodes->pages.data[page][i];
            *node = (mi_node){.mark = node->mark};
        }
    }
    nodes->version++;
    nodes->linked_count = 0;
    nodes->parent_count = 0;
}

void mi_nodes_clear(mi_nodes *nodes, mi_heap *heap) {
    for (uint32_t page = 0; page < nodes->pages.count; page++) {
        mi_heap_release(heap, MICA_MEMORY_RELATIONS, nodes->pages.data[page], PAGE_BYTE_SIZE, 64);
        nodes->pages.data[page] = NULL;
    }
    nodes->version++;
    nodes->linked_count = 0;
    nodes->parent_count = 0;
    nodes->mark_used = 0;
}

void mi_nodes_free(mi_nodes *nodes, mi_heap *heap) {
    mi_nodes_clear(nodes, heap);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &nodes->pages);
}

// Checks the list of one record; adds its length to `listed`.
static const char *validate_list(const mi_nodes *nodes, uint32_t parent, uint32_t *listed) {
    const mi_node *above = mi_nodes_at(nodes, parent);
    uint32_t previous = 0;
    uint32_t count = 0;
    for (uint32_t child = above->first_child; child != 0; child = mi_nodes_at(nodes, child)->next) {
        const mi_node *node = mi_nodes_find(nodes, child);
        if (node == NULL || node->parent != parent || node->previous != previous) {
            return "a list of children is broken";
        }
        if (parent == 0 && node->child_count == 0) {
            return "a root without children is among the roots that have some";
        }
        if (count++ == above->child_count) {
            break;
        }
        previous = child;
    }
    if (count != above->child_count || previous != above->last_child) {
        return "a parent does not know its children's number or its last child";
    }
    *listed += count;
    return NULL;
}

// Counts the records below the roots, level by level without memory: each list is entered once, by its owner.
static uint32_t count_reached(const mi_nodes *nodes) {
    uint32_t reached = 0;
    uint32_t at = mi_nodes_at(nodes, 0)->first_child;
    while (at != 0 && reached <= nodes->linked_count) {
        const mi_node *node = mi_nodes_at(nodes, at);
        if (node->first_child != 0) {
            at = node->first_child;
            reached++;
            continue;
        }
        while (at != 0 && mi_nodes_at(nodes, at)->next == 0) {
            at = mi_nodes_at(nodes, at)->parent;
        }
        if (at != 0) {
            reached += mi_nodes_at(nodes, at)->parent != 0;
            at = mi_nodes_at(nodes, at)->next;
        }
    }
    return reached;
}

const char *mi_nodes_validate(const mi_nodes *nodes) {
    if (mi_nodes_find(nodes, 0) == NULL) {
        return NULL;
    }
    uint32_t linked = 0;
    uint32_t parents = 0;
    uint32_t listed = 0;
    for (uint32_t page = 0; page < nodes->pages.count; page++) {
        for (uint32_t i = 0; nodes->pages.data[page] != NULL && i < MI_NODE_PAGE_SIZE; i++) {
            const uint32_t index = page << MI_NODE_PAGE_BITS | i;
            const mi_node *node = mi_nodes_at(nodes, index);
            const char *fault = validate_list(nodes, index, &listed);
            if (fault != NULL) {
                return fault;
            }
            if (index != 0 && node->child_count > 0 && !is_listed(nodes, index)) {
                return "a parent is in no list";
            }
            linked += node->parent != 0;
            parents += index != 0 && node->child_count > 0;
        }
    }
    if (linked != nodes->linked_count || parents != nodes->parent_count ||
        listed != linked + mi_nodes_at(nodes, 0)->child_count) {
        return "the counts of children and parents are wrong";
    }
    return count_reached(nodes) == linked ? NULL : "children are not reached from any root: there is a cycle";
}
