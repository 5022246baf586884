// ChildOf: the value on the child's row, and the records of node.h that mirror it.
//
// Invariants: a living entity whose ChildOf names a parent has a record with that parent, and no other entity has one;
// the parent is alive; there is no cycle. Linking makes sure of all memory before it changes anything. Destroying needs
// none but for one thing: the children of a destroyed root lose ChildOf, which moves their rows. Where that memory is
// not there the child stays as an orphan: its ChildOf names null, which everywhere means a root. Records decide, values
// follow.
#include "scene/hierarchy.h"

#include "scene/transfer.h"
#include "world/commands.h"
#include "world/notice.h"

static const char extension_key;

mi_hierarchy *mi_hierarchy_find(const mica_world *world) {
    return (mi_hierarchy *)mi_world_extension(world, &extension_key);
}

static void destroy_hierarchy(mica_world *world, void *state) {
    mi_hierarchy *hierarchy = (mi_hierarchy *)state;
    mi_nodes_free(&hierarchy->nodes, &world->heap);
    mi_levels_free(&hierarchy->levels, &world->heap);
    MI_FREE(&world->heap, MICA_MEMORY_RELATIONS, &hierarchy->places);
    MI_FREE(&world->heap, MICA_MEMORY_RELATIONS, &hierarchy->unkept);
    mi_heap_release(&world->heap, MICA_MEMORY_RELATIONS, hierarchy, sizeof(*hierarchy), _Alignof(mi_hierarchy));
}

// Values

static mi_table *table_of(const mi_store *store, mica_entity entity) {
    return mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
}

// What is to be told of a child whose ChildOf has come, gone or changed, when its record says the same.
typedef struct link_notice {
    bool is_told; // somebody may have to be told
    bool is_set;  // ChildOf was there and has another value
    mica_child_of value;
    mi_change change;
    mi_notice notice;
} link_notice;

static void tell_linked(mica_world *world, const mi_hierarchy *hierarchy, mica_entity child,
                        const link_notice *linked) {
    if (linked->is_told && linked->is_set) {
        mi_tell_set(world, child, hierarchy->child_of);
    } else if (linked->is_told) {
        mi_tell_after(world, &linked->notice);
    }
}

static mica_child_of *value_of(const mica_world *world, const mi_hierarchy *hierarchy, uint32_t index, void **column) {
    return (mica_child_of *)mi_hierarchy_value(world, index, hierarchy->child_of, sizeof(mica_child_of), column);
}

static void write_parent(mica_world *world, const mi_hierarchy *hierarchy, uint32_t index, mica_entity parent) {
    void *column = NULL;
    mica_child_of *value = value_of(world, hierarchy, index, &column);
    MI_ASSERT(value != NULL);
    value->parent = parent;
    mi_column_mark(column, world->store.version);
}

static bool is_orphan(const mica_world *world, const mi_hierarchy *hierarchy, uint32_t index) {
    void *column = NULL;
    const mi_node *node = mi_nodes_find(&hierarchy->nodes, index);
    return (node == NULL || node->parent == 0) && value_of(world, hierarchy, index, &column) != NULL;
}

static void count_orphans(mi_hierarchy *hierarchy, int32_t more) {
    hierarchy->orphan_count += (uint32_t)more;
    hierarchy->nodes.version += more != 0;
}

// Gives the entity ChildOf with this value, or replaces the value. The caller says whether somebody is told, and tells
// of it.
static mica_result put_value(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, mica_entity parent,
                             link_notice *linked, const char *call) {
    const uint32_t index = mica_entity_index(child);
    mi_table *from = table_of(&world->store, child);
    linked->is_set = mi_table_has(from, hierarchy->child_of);
    if (linked->is_set) {
        count_orphans(hierarchy, -is_orphan(world, hierarchy, index));
        write_parent(world, hierarchy, index, parent);
        return MICA_OK;
    }
    mi_table *to = mi_store_table_with(&world->store, from, hierarchy->child_of);
    if (to == NULL) {
        return mi_world_fail_store(world, call);
    }
    linked->value = (mica_child_of){.parent = parent};
    linked->change = (mi_change){.component = hierarchy->child_of, .value = &linked->value};
    if (linked->is_told) {
        linked->notice = mi_world_notice(world, child, to, &linked->change, 1);
    }
    return mi_world_change_quietly(world, child, to, &linked->change, 1, linked->is_told ? &linked->notice : NULL,
                                   call);
}

// Brings the entity to a table that is its own without ChildOf. As put_value.
static mica_result move_without(mica_world *world, mica_entity child, mi_table *to, link_notice *linked,
                                const char *call) {
    linked->is_set = false;
    if (linked->is_told) {
        linked->notice = mi_world_notice(world, child, to, NULL, 0);
    }
    return mi_world_change_quietly(world, child, to, NULL, 0, linked->is_told ? &linked->notice : NULL, call);
}

static mica_result take_value(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, link_notice *linked,
                              const char *call) {
    mi_table *to = mi_store_table_without(&world->store, table_of(&world->store, child), hierarchy->child_of);
    if (to == NULL) {
        linked->is_told = false;
        return mi_world_fail_store(world, call);
    }
    const bool orphan = is_orphan(world, hierarchy, mica_entity_index(child));
    const mica_result result = move_without(world, child, to, linked, call);
    count_orphans(hierarchy, -(result == MICA_OK && orphan));
    return result;
}

static uint32_t parent_index(const mi_hierarchy *hierarchy, uint32_t index) {
    const mi_node *node = mi_nodes_find(&hierarchy->nodes, index);
    return node == NULL ? 0 : node->parent;
}

// The table that is `from` without ChildOf, with room for one more row; NULL: there is no memory.
static mi_table *room_without(mi_store *store, const mi_hierarchy *hierarchy, mi_table *from) {
    mi_table *to = mi_store_table_without(store, from, hierarchy->child_of);
    return to != NULL && (to == mi_store_root(store) || mi_store_open_rows(store, to, 1)) ? to : NULL;
}

// Takes the parent of an entity from its record, and ChildOf from it by bringing it to table `to`, which
// room_without found; NULL: it becomes an orphan. Sets no error. As put_value.
static void give_up_parent(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, mi_table *to,
                           link_notice *linked, const char *call) {
    const uint32_t index = mica_entity_index(child);
    if (to == NULL || move_without(world, child, to, linked, call) != MICA_OK) {
        write_parent(world, hierarchy, index, MICA_NULL);
        count_orphans(hierarchy, 1);
        linked->is_set = true;
    }
    if (parent_index(hierarchy, index) != 0) {
        mi_nodes_link(&hierarchy->nodes, index, 0);
    }
}

// Linking

static mica_result fail_corrupt(const mica_world *world, mica_entity entity, const char *call) {
    return mi_fail(&world->log, MICA_CYCLE, call, "the ancestors of {} never end: the hierarchy is corrupt",
                   MI_ENTITY(entity));
}

// Refuses a parent that is the child or below it.
static mica_result check_cycle(const mica_world *world, const mi_hierarchy *hierarchy, mica_entity child,
                               mica_entity parent, const char *call) {
    const uint32_t child_index = mica_entity_index(child);
    const mi_node *node = mi_nodes_find(&hierarchy->nodes, child_index);
    if (child_index == mica_entity_index(parent)) {
        return mi_fail(&world->log, MICA_CYCLE, call, "{} cannot be its own parent", MI_ENTITY(child));
    }
    if (node == NULL || node->child_count == 0) {
        return MICA_OK;
    }
    uint32_t steps = 0;
    for (const mi_node *at = mi_nodes_find(&hierarchy->nodes, mica_entity_index(parent)); at != NULL && at->parent != 0;
         at = mi_nodes_at(&hierarchy->nodes, at->parent)) {
        if (at->parent == child_index) {
            return mi_fail(&world->log, MICA_CYCLE, call, "{} cannot be the parent of {}: it is below it",
                           MI_ENTITY(parent), MI_ENTITY(child));
        }
        if (steps++ > world->store.slots.alive) {
            return fail_corrupt(world, parent, call);
        }
    }
    return MICA_OK;
}

// What keeps the pose of a child in the world when it goes from one parent to another (slot indices, 0: none).
static mi_rebase rebase_between(const mica_world *world, const mi_hierarchy *hierarchy, mica_entity child,
                                uint32_t old_parent, uint32_t new_parent) {
    mi_matrix by = mi_matrix_identity();
    if (old_parent != new_parent) {
        by = mi_transform_chain(world, hierarchy, old_parent);
        const mi_matrix to = mi_transform_chain(world, hierarchy, new_parent);
        mi_matrix inverse;
        if (mi_matrix_inverse(&to, &inverse)) {
            by = mi_matrix_product(&inverse, &by);
        } else {
            by = mi_matrix_identity();
            mi_log(
                &world->log, MICA_LOG_WARNING,
                "entity %u:%u keeps its local pose: its new parent is scaled to nothing, so no pose below it can stay "
                "where it is in the world",
                (unsigned)mica_entity_index(child), (unsigned)mica_entity_generation(child));
        }
    }
    return mi_rebase_make(&by);
}

static mica_result unlink_child(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, mica_pose pose,
                                const char *call) {
    const uint32_t index = mica_entity_index(child);
    void *column = NULL;
    if (value_of(world, hierarchy, index, &column) == NULL) {
        return MICA_OK;
    }
    const uint32_t parent = parent_index(hierarchy, index);
    link_notice linked = {.is_told = mi_world_tells(world, child)};
    const mica_result result = take_value(world, hierarchy, child, &linked, call);
    if (result != MICA_OK) {
        return result;
    }
    if (parent != 0) {
        if (pose == MICA_POSE_WORLD) {
            const mi_rebase rebase = rebase_between(world, hierarchy, child, parent, 0);
            mi_transform_rebase(world, hierarchy, index, &rebase);
        }
        mi_nodes_link(&hierarchy->nodes, index, 0);
    }
    tell_linked(world, hierarchy, child, &linked);
    return MICA_OK;
}

static mica_result fail_nodes(const mica_world *world, const char *call) {
    return mi_fail_memory(&world->log, call, sizeof(mi_node) * MI_NODE_PAGE_SIZE);
}

static mica_result link_child(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, mica_entity parent,
                              mica_pose pose, const char *call) {
    const uint32_t index = mica_entity_index(child);
    const uint32_t above = mica_entity_index(parent);
    const uint32_t old_parent = parent_index(hierarchy, index);
    if (old_parent == above) {
        return MICA_OK;
    }
    mica_result result = check_cycle(world, hierarchy, child, parent, call);
    if (result != MICA_OK) {
        return result;
    }
    if (!mi_nodes_reserve(&hierarchy->nodes, &world->heap, index) ||
        !mi_nodes_reserve(&hierarchy->nodes, &world->heap, above)) {
        return fail_nodes(world, call);
    }
    link_notice linked = {.is_told = mi_world_tells(world, child)};
    result = put_value(world, hierarchy, child, parent, &linked, call);
    if (result != MICA_OK) {
        return result;
    }
    if (pose == MICA_POSE_WORLD) {
        const mi_rebase rebase = rebase_between(world, hierarchy, child, old_parent, above);
        mi_transform_rebase(world, hierarchy, index, &rebase);
    }
    mi_nodes_link(&hierarchy->nodes, index, above);
    tell_linked(world, hierarchy, child, &linked);
    return MICA_OK;
}

static mica_result set_parent(mica_world *world, mi_hierarchy *hierarchy, mica_entity child, mica_entity parent,
                              uint32_t flags, const char *call) {
    if (flags > MICA_POSE_WORLD) {
        return mi_fail(&world->log, MICA_INVALID, call, "{} is no mica_pose", MI_UINT(flags));
    }
    if (mica_entity_is_null(parent)) {
        return unlink_child(world, hierarchy, child, (mica_pose)flags, call);
    }
    uint32_t location = 0;
    if (!mi_slots_resolve(&world->store.slots, parent, &location)) {
        return mi_fail(&world->log, MICA_STALE, call, "{} cannot be the parent of {}: it is not alive",
                       MI_ENTITY(parent), MI_ENTITY(child));
    }
    return link_child(world, hierarchy, child, parent, (mica_pose)flags, call);
}

// The relation's functions

static mica_result relation_link(mica_world *world, mica_entity entity, const void *value, uint32_t flags,
                                 const char *call) {
    const mica_entity parent = value == NULL ? MICA_NULL : ((const mica_child_of *)value)->parent;
    return set_parent(world, mi_hierarchy_find(world), entity, parent, flags, call);
}

static mica_result relation_unlink(mica_world *world, mica_entity entity, uint32_t flags, const char *call) {
    return set_parent(world, mi_hierarchy_find(world), entity, MICA_NULL, flags, call);
}

// Tells of the children from `first` to `last` that they have another parent.
static void tell_lifted(mica_world *world, const mi_hierarchy *hierarchy, uint32_t first, uint32_t last) {
    uint32_t child = first;
    while (child != 0 && world->front.is_watched) {
        mi_world_tell_set(world, mi_slots_handle(&world->store.slots, child), hierarchy->child_of);
        child = child == last ? 0 : mi_nodes_at(&hierarchy->nodes, child)->next;
    }
}

static void relation_release(mica_world *world, mica_entity entity) {
    mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    mi_store *store = &world->store;
    const uint32_t index = mica_entity_index(entity);
    count_orphans(hierarchy, -(hierarchy->orphan_count > 0 && is_orphan(world, hierarchy, index)));
    const mi_node *node = mi_nodes_find(&hierarchy->nodes, index);
    if (node == NULL || (node->parent == 0 && node->child_count == 0)) {
        return;
    }
    const uint32_t parent = node->parent;
    const uint32_t first = node->first_child;
    const uint32_t last = node->last_child;
    if (first != 0) {
        const mi_matrix own = mi_transform_own(world, index);
        const mi_rebase rebase = mi_rebase_make(&own);
        const mica_entity handle = parent == 0 ? MICA_NULL : mi_slots_handle(&world->store.slots, parent);
        for (uint32_t child = first; child != 0;) {
            const uint32_t next = mi_nodes_at(&hierarchy->nodes, child)->next;
            mi_transform_rebase(world, hierarchy, child, &rebase);
            if (parent == 0) {
                const mica_entity freed = mi_slots_handle(&store->slots, child);
                link_notice linked = {.is_told = mi_world_tells(world, freed)};
                mi_table *to = room_without(store, hierarchy, table_of(store, freed));
                give_up_parent(world, hierarchy, freed, to, &linked, "mica_entity_destroy");
                tell_linked(world, hierarchy, freed, &linked);
            } else {
                write_parent(world, hierarchy, child, handle);
            }
            child = next;
        }
    }
    if (parent != 0) {
        mi_nodes_lift_children(&hierarchy->nodes, index);
        tell_lifted(world, hierarchy, first, last);
    }
}

// Calls `visit` for a leaf that comes before all others, then for what follows it in the order of being left.
static void visit_tree(mica_world *world, mica_entity entity, void (*visit)(mica_world *world, mica_entity entity)) {
    const mi_nodes *nodes = &mi_hierarchy_find(world)->nodes;
    const uint32_t root = mica_entity_index(entity);
    const mi_node *node = mi_nodes_find(nodes, root);
    if (node == NULL || node->child_count == 0) {
        if (node == NULL || node->parent == 0) {
            visit(world, entity);
        }
        return;
    }
    if (node->parent != 0) {
        return;
    }
    uint32_t at = node->first_child;
    while (at != root) {
        node = mi_nodes_at(nodes, at);
        while (node->child_count > 0) {
            at = node->first_child;
            node = mi_nodes_at(nodes, at);
        }
        while (at != root && node->next == 0) { // the last of its list: its parent is left next
            visit(world, mi_slots_handle(&world->store.slots, at));
            at = node->parent;
            node = mi_nodes_at(nodes, at);
        }
        if (at != root) {
            visit(world, mi_slots_handle(&world->store.slots, at));
            at = node->next;
        }
    }
    visit(world, entity);
}

// Always takes the first leaf below `entity`, so that every list is used up from its front.
static mica_result relation_destroy_subtree(mica_world *world, mica_entity entity, const char *call) {
    (void)call;
    const mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    const uint32_t root = mica_entity_index(entity);
    for (uint32_t at = root;;) {
        const mi_node *node = mi_nodes_find(&hierarchy->nodes, at);
        if (node != NULL && node->child_count > 0) {
            at = node->first_child;
            continue;
        }
        const uint32_t parent = node == NULL ? 0 : node->parent;
        mi_world_unmake(world, mi_slots_handle(&world->store.slots, at));
        if (at == root) {
            return MICA_OK;
        }
        at = parent;
    }
}

static void relation_clear(mica_world *world) {
    mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    mi_nodes_clear(&hierarchy->nodes, &world->heap);
    hierarchy->orphan_count = 0;
}

// Validation: each row's value against the records.

static const char *validate_row(const mica_world *world, const mi_hierarchy *hierarchy, mica_entity entity,
                                mica_entity parent, uint32_t *orphans) {
    uint32_t location = 0;
    if (mica_entity_is_null(parent)) {
        (*orphans)++;
    } else if (!mi_slots_resolve(&world->store.slots, parent, &location)) {
        return "hierarchy: a parent is not alive";
    }
    return parent_index(hierarchy, mica_entity_index(entity)) == mica_entity_index(parent)
               ? NULL
               : "hierarchy: ChildOf and the list of children disagree";
}

static const char *validate_hierarchy(const mica_world *world, const void *state) {
    const mi_hierarchy *hierarchy = (const mi_hierarchy *)state;
    const char *fault = mi_nodes_validate(&hierarchy->nodes);
    fault = fault == NULL ? mi_levels_validate(&hierarchy->levels, &world->store, &hierarchy->nodes) : fault;
    uint32_t orphans = 0;
    uint32_t rows = 0;
    for (uint32_t id = 0; fault == NULL && id < world->store.tables.count; id++) {
        const mi_table *table = world->store.tables.data[id];
        if (table == NULL || !mi_table_has(table, hierarchy->child_of)) {
            continue;
        }
        rows += table->row_count;
        for (uint32_t row = 0; fault == NULL && row < table->row_count; row++) {
            const uint32_t location = mi_store_location(table, row);
            const mica_entity *entities = (const mica_entity *)(const void *)mi_store_base(&world->store, location);
            const mica_child_of *value = (const mica_child_of *)mi_store_value(
                &world->store, table, location, hierarchy->child_of, sizeof(mica_child_of));
            fault = validate_row(world, hierarchy, entities[mi_row_of(location)], value->parent, &orphans);
        }
    }
    if (fault == NULL && (orphans != hierarchy->orphan_count || rows != hierarchy->nodes.linked_count + orphans)) {
        fault = "hierarchy: the counts of children disagree";
    }
    return fault;
}

static void trim_hierarchy(mica_world *world, void *state) {
    mi_hierarchy *hierarchy = state;
    mi_levels_trim(&hierarchy->levels, &world->heap);
}

bool mica_child_of_attach(mica_world *world) {
    mi_hierarchy *hierarchy = mi_hierarchy_find(world);
    if (hierarchy == NULL) {
        hierarchy = (mi_hierarchy *)mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_RELATIONS, sizeof(*hierarchy),
                                                            _Alignof(mi_hierarchy));
        if (hierarchy == NULL) {
            return false;
        }
        const mi_extension extension = {.key = &extension_key,
                                        .state = hierarchy,
                                        .validate = validate_hierarchy,
                                        .destroy = destroy_hierarchy,
                                        .trim = trim_hierarchy,
                                        .part = &mi_hierarchy_part};
        if (!mi_world_add_extension(world, &extension)) {
            destroy_hierarchy(world, hierarchy);
            return false;
        }
    }
    hierarchy->child_of = mica_world_register(world, mica_type_of(mica_child_of));
    const mi_relation relation = {.component = hierarchy->child_of,
                                  .link = relation_link,
                                  .unlink = relation_unlink,
                                  .release = relation_release,
                                  .destroy_subtree = relation_destroy_subtree,
                                  .visit_tree = visit_tree,
                                  .clear = relation_clear};
    return hierarchy->child_of != 0 && mi_world_add_relation(world, &relation);
}

mi_hierarchy *mi_hierarchy_open(mica_world *world, const char *call) {
    const mica_component child_of = mica_world_component(world, mica_type_of(mica_child_of));
    const mi_type *type = child_of == 0 ? NULL : mi_world_type(world, child_of, call);
    return type == NULL || mi_world_attach(world, type, call) != MICA_OK ? NULL : mi_hierarchy_find(world);
}

// Verbs

mica_result mica_entity_set_parent(mica_world *world, mica_entity child, mica_entity parent, mica_pose pose) {
    static const char call[] = "mica_entity_set_parent";
    uint32_t location = 0;
    mica_result result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = mi_world_resolve(world, child, &location, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    mi_hierarchy *hierarchy = mi_hierarchy_open(world, call);
    if (hierarchy == NULL) {
        return mica_last_result();
    }
    result = set_parent(world, hierarchy, child, parent, (uint32_t)pose, call);
    mi_world_finish(world, call);
    return result;
}

mica_result mica_commands_set_parent(mica_commands *commands, mica_entity child, mica_entity parent, mica_pose pose) {
    static const char call[] = "mica_commands_set_parent";
    const mi_hierarchy *hierarchy = commands == NULL ? NULL : mi_hierarchy_open(mica_commands_world(commands), call);
    if (hierarchy == NULL) {
        return commands == NULL ? mi_fail_plain(NULL, MICA_INVALID, call, "needs a command buffer")
                                : mica_last_result();
    }
    if (pose != MICA_POSE_LOCAL && pose != MICA_POSE_WORLD) {
        return mi_fail(&mica_commands_world(commands)->log, MICA_INVALID, call, "{} is no mica_pose", MI_INT(pose));
    }
    if (mica_entity_is_null(parent)) {
        return mi_commands_unlink(commands, child, hierarchy->child_of, (uint32_t)pose, call);
    }
    const mica_child_of value = {.parent = parent};
    return mi_commands_link(commands, child, hierarchy->child_of, &value, (uint32_t)pose, call);
}

mica_result mica_entity_destroy_subtree(mica_world *world, mica_entity root) {
    static const char call[] = "mica_entity_destroy_subtree";
    uint32_t location = 0;
    mica_result result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = mi_world_resolve(world, root, &location, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    if (mi_hierarchy_find(world) != NULL) {
        result = relation_destroy_subtree(world, root, call);
    } else {
        mi_world_unmake(world, root);
    }
    mi_world_finish(world, call);
    return result;
}

mica_result mica_commands_destroy_subtree(mica_commands *commands, mica_entity root) {
    static const char call[] = "mica_commands_destroy_subtree";
    const mi_hierarchy *hierarchy = commands == NULL ? NULL : mi_hierarchy_open(mica_commands_world(commands), call);
    if (hierarchy == NULL) {
        return commands == NULL ? mi_fail_plain(NULL, MICA_INVALID, call, "needs a command buffer")
                                : mica_last_result();
    }
    return mi_commands_subtree(commands, root, hierarchy->child_of, call);
}

// Many links at once

// What was told of a child of a batch before anything was changed: nothing, or the id of its table, with TOLD_GONE if
// its ChildOf is about to go.
#define TOLD_GONE (1u << 31)
#define TOLD_NOTHING UINT32_MAX

// What a batch does to a table.
typedef struct table_moves {
    uint32_t arriving;
    uint32_t leaving;
    bool leave_in_runs; // their holes are closed in the end: worth it if they are a good part of the table
} table_moves;

typedef struct link_batch {
    mica_world *world;
    mi_hierarchy *hierarchy;
    const mica_entity *children;
    const mica_entity *parents;
    uint32_t count;
    uint32_t first_mark; // child number i carries this and i; a record that walk number i passed, this and count and i
    uint32_t *walks;     // by child: 1 and the number of the walk that passed it, 0: none; other notes afterwards
    uint32_t *told;      // by child: TOLD_…; NULL: nobody listens
    MI_ARRAY(table_moves) moves; // by table id
    const char *call;
} link_batch;

static mica_result check_batch(const link_batch *batch) {
    const mi_slots *slots = &batch->world->store.slots;
    uint32_t location = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const mica_entity child = batch->children[i];
        const mica_entity parent = batch->parents[i];
        const bool child_alive = mi_slots_resolve(slots, child, &location);
        if (!child_alive || (!mica_entity_is_null(parent) && !mi_slots_resolve(slots, parent, &location))) {
            return mi_fail(&batch->world->log, MICA_STALE, batch->call,
                           child_alive ? "parents[{}]: {} is not alive" : "children[{}]: {} is not alive", MI_UINT(i),
                           MI_ENTITY(child_alive ? parent : child));
        }
    }
    return MICA_OK;
}

static bool has_record(const link_batch *batch, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    return mi_nodes_find(&batch->hierarchy->nodes, index) != NULL ||
           mi_nodes_reserve(&batch->hierarchy->nodes, &batch->world->heap, index);
}

// Makes sure of all records, and marks those of the children.
static mica_result mark_children(link_batch *batch) {
    mi_nodes *nodes = &batch->hierarchy->nodes;
    batch->first_mark = mi_nodes_marks(nodes, 2 * batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!has_record(batch, batch->children[i]) || !has_record(batch, batch->parents[i])) {
            return fail_nodes(batch->world, batch->call);
        }
        mi_node *node = mi_nodes_at(nodes, mica_entity_index(batch->children[i]));
        if (node->mark >= batch->first_mark) {
            return mi_fail(&batch->world->log, MICA_INVALID, batch->call, "children[{}]: {} is named twice", MI_UINT(i),
                           MI_ENTITY(batch->children[i]));
        }
        node->mark = batch->first_mark + i;
    }
    return MICA_OK;
}

// Walks up from child number i, along new links where there are some, to a root or to where an earlier walk has been.
// Returns 0, or a slot that it came to twice.
static uint32_t walk_up(const link_batch *batch, uint32_t i) {
    for (uint32_t at = mica_entity_index(batch->children[i]); at != 0;) {
        mi_node *node = mi_nodes_at(&batch->hierarchy->nodes, at);
        const uint32_t position = node->mark - batch->first_mark; // wraps to over 2 * count for older marks
        uint32_t walk = UINT32_MAX;                               // that was here before; none
        uint32_t above = 0;
        if (position < batch->count) {
            walk = batch->walks[position] - 1; // wraps to none
            batch->walks[position] = i + 1;
            above = mica_entity_index(batch->parents[position]);
        } else {
            walk = position < 2 * batch->count ? position - batch->count : walk;
            node->mark = batch->first_mark + batch->count + i;
            above = node->parent;
        }
        if (walk != UINT32_MAX) {
            return walk == i ? at : 0;
        }
        at = above;
    }
    return 0;
}

static mica_result check_batch_cycles(const link_batch *batch) {
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t twice = batch->walks[i] == 0 ? walk_up(batch, i) : 0;
        if (twice != 0) {
            return mi_fail(&batch->world->log, MICA_CYCLE, batch->call,
                           "children[{}]: the links from {} upwards end in a cycle through {}", MI_UINT(i),
                           MI_ENTITY(batch->children[i]),
                           MI_ENTITY(mi_slots_handle(&batch->world->store.slots, twice)));
        }
    }
    return MICA_OK;
}

static bool has_moves(link_batch *batch, uint32_t table_id) {
    if (table_id < batch->moves.count) {
        return true;
    }
    if (!MI_RESERVE(&batch->world->heap, MICA_MEMORY_RELATIONS, &batch->moves, (size_t)table_id + 1)) {
        return false;
    }
    while (batch->moves.count <= table_id) {
        batch->moves.data[batch->moves.count++] = (table_moves){0};
    }
    return true;
}

// Finds the tables that the children have to move to, and puts their ids in the place of walks; 0, the root's, where a
// child stays.
static mica_result find_tables(link_batch *batch) {
    mi_store *store = &batch->world->store;
    const mi_table *last = NULL;
    uint32_t target = 0; // of the children of `last`
    for (uint32_t i = 0; i < batch->count; i++) {
        mi_table *from = table_of(store, batch->children[i]);
        batch->walks[i] = 0;
        if (mica_entity_is_null(batch->parents[i]) || mi_table_has(from, batch->hierarchy->child_of)) {
            continue;
        }
        if (from != last) {
            const mi_table *to = mi_store_table_with(store, from, batch->hierarchy->child_of);
            if (to == NULL) {
                return mi_world_fail_store(batch->world, batch->call);
            }
            if (!has_moves(batch, from->id) || !has_moves(batch, to->id)) {
                return mi_fail_memory(&batch->world->log, batch->call, store->tables.count * sizeof(table_moves));
            }
            last = from;
            target = to->id;
        }
        batch->walks[i] = target;
        batch->moves.data[from->id].leaving++;
        batch->moves.data[target].arriving++;
    }
    return MICA_OK;
}

// Opens all rows that the links need, so that moving to them cannot fail.
static mica_result open_rows(const link_batch *batch) {
    mi_store *store = &batch->world->store;
    bool opened = true;
    for (uint32_t id = 1; opened && id < batch->moves.count; id++) {
        table_moves *moves = &batch->moves.data[id];
        opened = moves->arriving == 0 || mi_store_open_rows(store, store->tables.data[id], moves->arriving);
        moves->leave_in_runs = moves->leaving > 0 && moves->leaving >= store->tables.data[id]->row_count / 4;
    }
    return opened ? MICA_OK : mi_world_fail_store(batch->world, batch->call);
}

// Moves child number i, and those after it that lie behind it and go the same way. Returns how many.
static uint32_t move_run(const link_batch *batch, uint32_t i) {
    mi_store *store = &batch->world->store;
    const uint32_t first = mi_slots_location(&store->slots, mica_entity_index(batch->children[i]));
    uint32_t count = 1;
    while (i + count < batch->count && batch->walks[i + count] == batch->walks[i] && mi_row_of(first + count) != 0 &&
           mi_slots_location(&store->slots, mica_entity_index(batch->children[i + count])) == first + count) {
        count++;
    }
    mi_transfer_rows(store, mi_store_table_at(store, first), store->tables.data[batch->walks[i]], first, count,
                     batch->hierarchy->child_of, &batch->parents[i], sizeof(mica_child_of));
    return count;
}

_Static_assert(sizeof(mica_child_of) == sizeof(mica_entity), "an array of parents is an array of values");

// Gives child number i its new value, if it has another parent from now on, and those after it that can be moved along
// with it. Returns how many.
static uint32_t put_values(const link_batch *batch, uint32_t i) {
    mica_world *world = batch->world;
    const mica_entity child = batch->children[i];
    const mica_entity parent = batch->parents[i];
    if (batch->walks[i] != 0 && batch->moves.data[table_of(&world->store, child)->id].leave_in_runs) {
        return move_run(batch, i);
    }
    if (!mica_entity_is_null(parent) &&
        mica_entity_index(parent) != parent_index(batch->hierarchy, mica_entity_index(child))) {
        link_notice untold = {.is_told = false};
        const mica_result result = put_value(world, batch->hierarchy, child, parent, &untold, batch->call);
        MI_ASSERT(result == MICA_OK);
        (void)result;
    }
    return 1;
}

static void close_moves(const link_batch *batch) {
    mi_store *store = &batch->world->store;
    for (uint32_t id = 1; id < batch->moves.count; id++) {
        mi_table *table = store->tables.data[id];
        const table_moves moves = batch->moves.data[id];
        if (moves.leave_in_runs) {
            mi_transfer_end(store, table);
        }
        if (moves.leave_in_runs || moves.arriving > 0) {
            MI_STORE_SHAKE(store, table);
        }
    }
}

// Children that lose their parents come last, since they can do without memory and might take what was opened.
static void apply_batch(const link_batch *batch) {
    mi_store *store = &batch->world->store;
    mi_nodes *nodes = &batch->hierarchy->nodes;
    bool any_freed = false;
    for (uint32_t i = 0; i < batch->count;) {
        for (const uint32_t end = i + put_values(batch, i); i < end; i++) {
            const uint32_t index = mica_entity_index(batch->children[i]);
            const uint32_t parent = mica_entity_index(batch->parents[i]);
            const uint32_t old_parent = mi_nodes_at(nodes, index)->parent;
            const bool is_freed = parent == 0 && old_parent != 0;
            batch->walks[i] = is_freed;
            any_freed = any_freed || is_freed;
            if (parent != old_parent) {
                mi_nodes_link(nodes, index, parent);
            }
        }
    }
    close_moves(batch);
    for (uint32_t i = 0; any_freed && i < batch->count; i++) {
        if (batch->walks[i] != 0) {
            const mica_entity child = batch->children[i];
            const bool stays = batch->told != NULL && (batch->told[i] & TOLD_GONE) == 0; // as it was told
            link_notice untold = {.is_told = false};
            give_up_parent(batch->world, batch->hierarchy, child,
                           stays ? NULL : room_without(store, batch->hierarchy, table_of(store, child)), &untold,
                           batch->call);
        }
    }
}

// Telling of many: records on the way from the old links to the new ones may hold cycles, so what goes is told of
// before anything is changed, and what has come when all is.

static void tell_batch_before(const link_batch *batch) {
    mi_store *store = &batch->world->store;
    for (uint32_t i = 0; i < batch->count; i++) {
        const mica_entity child = batch->children[i];
        mi_table *from = table_of(store, child);
        const uint32_t parent = mica_entity_index(batch->parents[i]);
        const uint32_t old_parent = parent_index(batch->hierarchy, mica_entity_index(child));
        batch->told[i] = parent == old_parent ? TOLD_NOTHING : from->id;
        if (parent == old_parent || (parent != 0 && batch->walks[i] == 0)) {
            continue;
        }
        const mi_table *to =
            parent != 0 ? store->tables.data[batch->walks[i]] : room_without(store, batch->hierarchy, from);
        if (to != NULL) {
            const mi_notice notice = mi_world_notice(batch->world, child, to, NULL, 0);
            mi_tell_before(batch->world, &notice);
            batch->told[i] |= parent == 0 ? TOLD_GONE : 0;
        }
    }
}

static void tell_batch_after(const link_batch *batch) {
    mi_store *store = &batch->world->store;
    const mica_component child_of = batch->hierarchy->child_of;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->told[i] == TOLD_NOTHING) {
            continue;
        }
        const mica_child_of value = {.parent = batch->parents[i]};
        const mi_change change = {.component = child_of, .value = &value};
        const mi_table *to = table_of(store, batch->children[i]);
        mi_table *from = store->tables.data[batch->told[i] & ~TOLD_GONE];
        if (from == to && (batch->told[i] & TOLD_GONE) != 0) { // there was no memory any more, and it has come again
            from = mi_store_table_without(store, from, child_of);
        }
        if (from == to) {
            mi_tell_set(batch->world, batch->children[i], child_of);
        } else {
            mi_tell_after(batch->world, &(mi_notice){.entity = batch->children[i],
                                                     .from = from,
                                                     .to = to,
                                                     .changes = &change,
                                                     .change_count = mi_table_has(to, child_of),
                                                     .is_late = true});
        }
    }
}

static mica_result link_many(link_batch *batch) {
    const bool is_told = batch->world->front.is_watched;
    size_t size = SIZE_MAX;
    batch->walks =
        mi_size_product(batch->count, (is_told ? 2 : 1) * sizeof(uint32_t), &size)
            ? (uint32_t *)mi_heap_allocate_zeroed(&batch->world->heap, MICA_MEMORY_RELATIONS, size, _Alignof(uint32_t))
            : NULL;
    if (batch->walks == NULL) {
        return mi_fail_memory(&batch->world->log, batch->call, size);
    }
    mica_result result = mark_children(batch);
    if (result == MICA_OK) {
        result = check_batch_cycles(batch);
    }
    if (result == MICA_OK) {
        result = find_tables(batch);
    }
    if (result == MICA_OK) {
        result = open_rows(batch);
    }
    if (result == MICA_OK && is_told) {
        batch->told = batch->walks + batch->count;
        tell_batch_before(batch);
    }
    if (result == MICA_OK) {
        apply_batch(batch);
    }
    if (result == MICA_OK && is_told) {
        tell_batch_after(batch);
    }
    MI_FREE(&batch->world->heap, MICA_MEMORY_RELATIONS, &batch->moves);
    mi_heap_release(&batch->world->heap, MICA_MEMORY_RELATIONS, batch->walks, size, _Alignof(uint32_t));
    return result;
}

mica_result mica_entity_set_parent_many(mica_world *world, const mica_entity *children, const mica_entity *parents,
                                        int32_t count) {
    static const char call[] = "mica_entity_set_parent_many";
    mica_result result = mi_world_check_structure(world, call);
    if (world == NULL || result != MICA_OK) {
        return result;
    }
    if (count < 0 || (count > 0 && (children == NULL || parents == NULL))) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs children, their parents, and how many they are");
    }
    link_batch batch = {
        .world = world, .children = children, .parents = parents, .count = (uint32_t)count, .call = call};
    result = check_batch(&batch);
    if (result != MICA_OK || count == 0) {
        return result;
    }
    batch.hierarchy = mi_hierarchy_open(world, call);
    if (batch.hierarchy == NULL) {
        return mica_last_result();
    }
    result = link_many(&batch);
    mi_world_finish(world, call);
    return result;
}
