// Links as a part of the world's state: the children of each parent, and the parents that are roots, in their order.
//
// Who is whose child stands in the rows of the children as well, as the values of ChildOf, which are restored like all
// others. The record is the lists, so that what is restored goes on like what was saved:
//
//   u32 orphans, u32 lists; by list: u32 parent (a slot index, 0: the roots that have children), u32 children, u32 each
//
// Lists ascend by parent; none is empty. A record is taken only if it is a forest: nobody is in two lists, every root
// and nobody but roots and children has a list, and no list is below itself. So committing needs nothing but to put the
// lists in place of those that are there, whose records stay.
#include "scene/hierarchy.h"

#include "state/snapshot.h"

enum { HEAD_BYTE_SIZE = 8, LIST_BYTE_SIZE = 8, CHILD_BYTE_SIZE = 4 };

// A list of the record.
typedef struct link_list {
    uint32_t parent;
    uint32_t walk; // that has come through it
} link_list;

// Memory that ends with the lists.
typedef struct prepared_links {
    size_t byte_size;
    const uint8_t *bytes; // of the lists, in the record
    uint32_t orphan_count;
    uint32_t child_count; // in all lists, roots included
    uint32_t root_count;  // in the first one
    uint32_t first_mark;  // who is in list number i carries this and i
    uint32_t list_count;
    link_list lists[];
} prepared_links;

static uint64_t links_stamp(const mica_world *world) {
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    return hierarchy == NULL ? 0 : hierarchy->nodes.version;
}

// Saving

static uint8_t *put_list(const mi_nodes *nodes, uint8_t *at, uint32_t parent) {
    const mi_node *above = mi_nodes_at(nodes, parent);
    at = mi_put_u32(at, parent);
    at = mi_put_u32(at, above->child_count);
    for (uint32_t child = above->first_child; child != 0; child = mi_nodes_at(nodes, child)->next) {
        at = mi_put_u32(at, child);
    }
    return at;
}

static void save_links(const mica_world *world, mi_writer *writer) {
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    if (hierarchy == NULL || (hierarchy->nodes.linked_count == 0 && hierarchy->orphan_count == 0)) {
        return;
    }
    const mi_nodes *nodes = &hierarchy->nodes;
    const uint32_t root_count = nodes->linked_count == 0 ? 0 : mi_nodes_at(nodes, 0)->child_count;
    const uint32_t list_count = nodes->parent_count + (root_count > 0);
    uint8_t *at = mi_write_room(writer, HEAD_BYTE_SIZE + (size_t)list_count * LIST_BYTE_SIZE +
                                            ((size_t)nodes->linked_count + root_count) * CHILD_BYTE_SIZE);
    if (at == NULL) {
        return;
    }
    at = mi_put_u32(at, hierarchy->orphan_count);
    at = mi_put_u32(at, list_count);
    for (uint32_t page = 0; page < nodes->pages.count; page++) {
        for (uint32_t i = 0; nodes->pages.data[page] != NULL && i < MI_NODE_PAGE_SIZE; i++) {
            if (nodes->pages.data[page][i].child_count > 0) {
                at = put_list(nodes, at, page << MI_NODE_PAGE_BITS | i);
            }
        }
    }
    MI_ASSERT(at == writer->record->bytes.data + writer->record->bytes.count);
}

// Reading

// Whether a number of the record can be an entity's, whose record there is from here on.
static bool open_record(mica_world *world, mi_reader *reader, mi_nodes *nodes, uint32_t index) {
    if (index == 0 || index >= world->store.slots.capacity) {
        mi_read_fail(reader, MICA_FORMAT, "a link names a slot that there is not");
    } else if (!mi_nodes_reserve(nodes, &world->heap, index)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
    }
    return reader->result == MICA_OK;
}

// Reads the lists, and makes sure that there is a record for everybody in them.
static bool read_lists(mica_world *world, mi_reader *reader, mi_nodes *nodes, prepared_links *links) {
    uint32_t previous = 0;
    for (uint32_t i = 0; i < links->list_count; i++) {
        const uint32_t parent = mi_read_u32(reader);
        const uint32_t count = mi_read_count(reader, CHILD_BYTE_SIZE);
        const uint8_t *children = mi_read_bytes(reader, (size_t)count * CHILD_BYTE_SIZE);
        if (children == NULL) {
            return false;
        }
        if (count == 0 || (i == 0 ? parent != 0 : parent <= previous)) {
            mi_read_fail(reader, MICA_FORMAT, "lists of children are empty or not in order");
        }
        for (uint32_t k = 0; k < count && reader->result == MICA_OK; k++) {
            open_record(world, reader, nodes, mi_get_u32(children + (size_t)k * CHILD_BYTE_SIZE));
        }
        if (reader->result != MICA_OK) {
            return false;
        }
        links->lists[i] = (link_list){.parent = parent};
        links->child_count += count;
        links->root_count = i == 0 ? count : links->root_count;
        previous = parent;
    }
    return mi_reader_end(reader);
}

// The number of the list that somebody is in; list_count or above: none.
static uint32_t list_of(const mi_nodes *nodes, const prepared_links *links, uint32_t index) {
    const mi_node *node = mi_nodes_find(nodes, index);
    return node == NULL ? UINT32_MAX : node->mark - links->first_mark; // wraps for older marks
}

// Calls `visit` for each child of the record until it says false.
typedef bool (*child_visit)(mi_nodes *nodes, const prepared_links *links, uint32_t list, uint32_t child);
static bool visit_children(mi_nodes *nodes, const prepared_links *links, child_visit visit) {
    const uint8_t *at = links->bytes;
    for (uint32_t list = 0; list < links->list_count; list++) {
        const uint32_t count = mi_get_u32(at + sizeof(uint32_t));
        at += LIST_BYTE_SIZE;
        for (uint32_t i = 0; i < count; i++, at += CHILD_BYTE_SIZE) {
            if (!visit(nodes, links, list, mi_get_u32(at))) {
                return false;
            }
        }
    }
    return true;
}

static bool mark_child(mi_nodes *nodes, const prepared_links *links, uint32_t list, uint32_t child) {
    if (list_of(nodes, links, child) < links->list_count) {
        return false;
    }
    mi_nodes_at(nodes, child)->mark = links->first_mark + list;
    return true;
}

static bool append_child(mi_nodes *nodes, const prepared_links *links, uint32_t list, uint32_t child) {
    mi_nodes_append(nodes, child, links->lists[list].parent);
    return true;
}

// Climbs from a list to the roots, or to where an earlier walk has been; false: it comes back to itself, or to somebody
// who is in no list.
static bool climbs_out(const mi_nodes *nodes, prepared_links *links, uint32_t list) {
    const uint32_t walk = list; // the list of the roots is number 0
    while (list != 0) {
        if (links->lists[list].walk != 0) {
            return links->lists[list].walk != walk;
        }
        links->lists[list].walk = walk;
        list = list_of(nodes, links, links->lists[list].parent);
        if (list >= links->list_count) {
            return false;
        }
    }
    return true;
}

// Whether the lists are a forest; says on the reader what they are otherwise.
static bool check_forest(mi_reader *reader, mi_nodes *nodes, prepared_links *links) {
    links->first_mark = mi_nodes_marks(nodes, links->list_count);
    if (!visit_children(nodes, links, mark_child)) {
        mi_read_fail(reader, MICA_FORMAT, "an entity is the child of two, or twice");
        return false;
    }
    uint32_t root_count = 0;
    for (uint32_t i = 1; i < links->list_count; i++) {
        if (!climbs_out(nodes, links, i)) {
            mi_read_fail(reader, MICA_FORMAT, "children are not reached from any root");
            return false;
        }
        root_count += list_of(nodes, links, links->lists[i].parent) == 0;
    }
    if (root_count != links->root_count) {
        mi_read_fail(reader, MICA_FORMAT, "a root without children is among those that have some");
    }
    return reader->result == MICA_OK;
}

static void free_links(mica_world *world, prepared_links *links) {
    if (links != NULL) {
        mi_heap_release(&world->heap, MICA_MEMORY_RELATIONS, links, links->byte_size, _Alignof(prepared_links));
    }
}

static prepared_links *open_links(mica_world *world, mi_reader *reader) {
    const uint32_t orphan_count = mi_read_u32(reader);
    const uint32_t list_count = mi_read_count(reader, LIST_BYTE_SIZE + CHILD_BYTE_SIZE);
    size_t byte_size = 0;
    prepared_links *links = NULL;
    if (reader->result == MICA_OK && mi_size_product(list_count, sizeof(link_list), &byte_size)) {
        byte_size += sizeof(*links);
        links = mi_heap_allocate(&world->heap, MICA_MEMORY_RELATIONS, byte_size, _Alignof(prepared_links));
    }
    if (links == NULL) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    *links = (prepared_links){.byte_size = byte_size,
                              .bytes = reader->bytes + reader->at,
                              .orphan_count = orphan_count,
                              .list_count = list_count};
    return links;
}

static mica_result prepare_links(mica_world *world, mi_reader *reader, void **prepared) {
    *prepared = NULL;
    if (reader == NULL || reader->byte_size == 0) {
        return MICA_OK;
    }
    mi_hierarchy *hierarchy = mi_hierarchy_open(world, "mica_snapshot_restore");
    if (hierarchy == NULL) {
        return mica_last_result();
    }
    prepared_links *links = open_links(world, reader);
    if (links == NULL || !read_lists(world, reader, &hierarchy->nodes, links) ||
        !check_forest(reader, &hierarchy->nodes, links)) {
        free_links(world, links);
        return reader->result;
    }
    *prepared = links;
    return MICA_OK;
}

static void commit_links(mica_world *world, void *prepared) {
    mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    prepared_links *links = prepared;
    if (hierarchy == NULL) {
        return;
    }
    mi_nodes_unlink_all(&hierarchy->nodes);
    hierarchy->orphan_count = 0;
    if (links != NULL) {
        visit_children(&hierarchy->nodes, links, append_child);
        hierarchy->orphan_count = links->orphan_count;
    }
    free_links(world, links);
}

static void cancel_links(mica_world *world, void *prepared) {
    free_links(world, prepared);
}

// Checking against the rows

typedef struct row_check {
    const mi_nodes *nodes; // NULL: nobody was ever linked
    const prepared_links *links;
    const mi_slots_image *slots;
    uint32_t linked_count;
    uint32_t orphan_count;
} row_check;

static bool is_alive(const mi_slots_image *slots, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    const uint64_t slot = slots != NULL && index < slots->used ? mi_slots_image_at(slots, index) : MI_SLOT_FREE;
    return (slot & MI_SLOT_FREE) == 0 && slot >> 32 == mica_entity_generation(entity);
}

static const char *check_row(row_check *check, mica_entity entity, mica_entity parent) {
    const bool is_orphan = mica_entity_is_null(parent);
    const prepared_links *links = check->links;
    const uint32_t list = links == NULL ? UINT32_MAX : list_of(check->nodes, links, mica_entity_index(entity));
    const bool is_child = links != NULL && list > 0 && list < links->list_count;
    check->orphan_count += is_orphan;
    check->linked_count += !is_orphan;
    if (!is_orphan && !is_alive(check->slots, parent)) {
        return "a parent is not alive";
    }
    if (is_child == is_orphan || (is_child && links->lists[list].parent != mica_entity_index(parent))) {
        return "ChildOf and the lists of children disagree";
    }
    return NULL;
}

// The place of a component among a table's columns of data; column_count: it is not there.
static uint32_t column_of(const mi_rows_image *rows, mica_component component) {
    uint32_t column = 0;
    while (column < rows->column_count && rows->columns[column]->info.id != component) {
        column++;
    }
    return column;
}

static const char *check_table(row_check *check, const mi_rows_image *rows, mica_component child_of) {
    const uint32_t column = column_of(rows, child_of);
    const char *fault = NULL;
    for (uint32_t k = 0; column < rows->column_count && fault == NULL && k < rows->chunk_count; k++) {
        const mi_chunk_image *chunk = rows->chunks[k];
        const mica_entity *entities = mi_image_handles(chunk->handles.image);
        const mica_child_of *values = (const mica_child_of *)(const void *)chunk->columns[column].image->data;
        for (uint32_t row = 0; fault == NULL && row < chunk->row_count; row++) {
            fault = check_row(check, entities[row], values[row].parent);
        }
    }
    return fault;
}

static const char *check_links(const mica_world *world, const void *prepared, const mica_snapshot *snapshot) {
    const mica_component child_of = mica_schema_find(world->schema, mica_type_of(mica_child_of)->name);
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    const prepared_links *links = prepared;
    row_check check = {.nodes = hierarchy == NULL ? NULL : &hierarchy->nodes, .links = links, .slots = snapshot->slots};
    const char *fault = NULL;
    for (uint32_t i = 0; child_of != 0 && fault == NULL && i < snapshot->table_count; i++) {
        fault = check_table(&check, snapshot->tables[i], child_of);
    }
    const uint32_t linked_count = links == NULL ? 0 : links->child_count - links->root_count;
    const uint32_t orphan_count = links == NULL ? 0 : links->orphan_count;
    if (fault == NULL && (check.linked_count != linked_count || check.orphan_count != orphan_count)) {
        fault = "ChildOf and the lists of children disagree in number";
    }
    return fault;
}

const mi_part mi_hierarchy_part = {.name = "hierarchy",
                                   .stamp = links_stamp,
                                   .save = save_links,
                                   .prepare = prepare_links,
                                   .commit = commit_links,
                                   .cancel = cancel_links,
                                   .check = check_links};
