// Folding: a run of spawns, adds, sets and removes is applied with one move an entity.
//
// The commands are grouped by target, groups in the order of their first command. A single command is the change
// itself. Any other group is played through on the entity's set of components alone: what is skipped, which table it
// ends in, and what is left of each component (the value it had, a recorded one, or a constructed one). Then one change
// of the world brings that about, and what was overwritten, skipped or removed again is dropped.
//
// Nothing dies within a fold and groups do not see each other's components, so that the end, the skips and the counts
// are those of applying one by one. Entities get their handles in the order of recording: a group that spawns is
// reached in that order, and where an earlier group's value names an entity not reached yet, all up to that one are
// made without components first.
//
// Invariants: a group is applied as a whole or not at all; its commands are MI_COMMAND_DONE and own nothing once it is.
// `places` is all zero between groups.
#include "world/command_buffer.h"

#include "store/fetch.h"

// With this many components or fewer they are put in order by insertion, with more by a walk over the table's columns.
enum { INSERTION_MOST = 16 };

enum { CELLS_LEAST = 16 }; // a power of two

bool mi_fold_reserve_places(mica_commands *commands) {
    mi_fold *fold = &commands->fold;
    const uint32_t need = (uint32_t)mica_schema_count(commands->world->schema) + 1;
    if (need <= fold->places.count) {
        return true;
    }
    if (!MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->places, need)) {
        return false;
    }
    memset(fold->places.data + fold->places.count, 0, (need - fold->places.count) * sizeof(uint32_t));
    fold->places.count = need;
    return true;
}

void mi_fold_free(mica_commands *commands) {
    mi_heap *heap = &commands->world->heap;
    mi_fold *fold = &commands->fold;
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->pending);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->places);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->changes);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->cells);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->links);
}

// Groups: the commands of a fold that have one entity as target, known by the number of the first one. All numbers
// count from where the fold begins.

// Makes room for the links and cells of a fold of `count` commands and empties the cells; their number, or 0 without
// memory.
static uint32_t reserve_groups(mica_commands *commands, uint32_t count) {
    mi_heap *heap = &commands->world->heap;
    mi_fold *fold = &commands->fold;
    uint32_t cell_count = CELLS_LEAST;
    while (cell_count / 2 < count) {
        if (cell_count > UINT32_MAX / 2) {
            return 0;
        }
        cell_count *= 2;
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &fold->links, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &fold->cells, cell_count)) {
        return 0;
    }
    memset(fold->cells.data, 0, cell_count * sizeof(uint32_t));
    return cell_count;
}

// Links the commands that have the same target. A cell holds the number of a first command plus 1; 0: none.
static void link_groups(const mica_commands *commands, const mi_command *list, uint32_t count, uint32_t cell_count) {
    mi_command_link *links = commands->fold.links.data;
    uint32_t *cells = commands->fold.cells.data;
    mica_entity entity = MICA_NULL;
    uint32_t first = 0;
    for (uint32_t at = 0; at < count; at++) {
        const mica_entity target = mi_commands_target(commands, list[at].entity);
        if (at == 0 || !mica_entity_equal(target, entity)) { // most commands follow another one on the same entity
            entity = target;
            uint32_t cell = (uint32_t)mi_hash_mix(entity.bits) & (cell_count - 1);
            while (cells[cell] != 0 &&
                   !mica_entity_equal(mi_commands_target(commands, list[cells[cell] - 1].entity), entity)) {
                cell = (cell + 1) & (cell_count - 1);
            }
            first = cells[cell] != 0 ? cells[cell] - 1 : at;
            cells[cell] = first + 1;
        }
        if (first != at) {
            links[links[first].last].next = at;
        }
        links[first].last = at;
    }
}

// Playing a group through

// Says that the component ends with this value (NULL: constructed), unless a later command says otherwise.
static bool set_pending(mica_commands *commands, mica_component component, void **value, bool has_placeholders) {
    mi_fold *fold = &commands->fold;
    uint32_t *place = &fold->places.data[component];
    if (*place == 0) {
        if (fold->pending.count == fold->pending.capacity &&
            !MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->pending,
                        (size_t)fold->pending.count + 1)) {
            return false;
        }
        *place = ++fold->pending.count;
    }
    fold->pending.data[*place - 1] =
        (mi_pending){.value = value, .component = component, .has_placeholders = has_placeholders};
    return true;
}

// The components that come along with one and are not in `table` yet end constructed.
static bool set_pending_required(mica_commands *commands, const mi_table *table, const mi_type *type) {
    for (int32_t i = 0; i < type->info.required_count; i++) {
        const mica_component required = type->info.required[i];
        if (!mi_table_has(table, required) && !set_pending(commands, required, NULL, false)) {
            return false;
        }
    }
    return true;
}

// The table that giving `table` a component with this value leads to; NULL on failure.
static mi_table *play_value(mica_commands *commands, mi_table *table, mica_component component, void **value,
                            bool has_placeholders, const char *call) {
    mica_world *world = commands->world;
    mi_table *to = mi_store_table_with(&world->store, table, component);
    if (to == NULL) {
        mi_world_fail_store(world, call);
        return NULL;
    }
    const bool brings_more = to->component_count > table->component_count + 1u;
    if ((brings_more && !set_pending_required(commands, table, mi_commands_type(commands, component))) ||
        !set_pending(commands, component, value, has_placeholders)) {
        mi_fail_memory(&world->log, call, sizeof(mi_pending));
        return NULL;
    }
    return to;
}

// The table that a spawn leads to from `table`, by the same edges as mica_entity_spawn. Relations are linked already.
static mi_table *play_spawn(mica_commands *commands, mi_table *table, const mi_command *spawn, const char *call) {
    mi_recorded_value *list = spawn->data;
    for (uint32_t i = 0; i < spawn->count && table != NULL; i++) {
        if (mi_commands_type(commands, list[i].component)->info.hooks.attach == NULL) {
            table = play_value(commands, table, list[i].component, &list[i].value, list[i].has_placeholders, call);
        }
    }
    return table;
}

// The table that an add, set or remove leads to from `table`; NULL on failure.
static mi_table *play_change(mica_commands *commands, mi_table *table, mi_command *command, uint32_t *skipped_count,
                             const char *call) {
    if (command->kind == MI_COMMAND_REMOVE) {
        mi_table *to = mi_store_table_without(&commands->world->store, table, command->component);
        if (to == NULL) {
            mi_world_fail_store(commands->world, call);
        }
        return to;
    }
    if (command->kind == MI_COMMAND_ADD && mi_table_has(table, command->component)) {
        ++*skipped_count;
        return table;
    }
    return play_value(commands, table, command->component, &command->data, command->has_placeholders, call);
}

// Plays all commands of a group through; the table that the entity ends in, or NULL on failure.
static mi_table *play_group(mica_commands *commands, mi_command *list, uint32_t first, mi_table *table,
                            uint32_t *skipped_count, const char *call) {
    const mi_command_link *links = commands->fold.links.data;
    const uint32_t last = links[first].last;
    for (uint32_t at = first;; at = links[at].next) {
        mi_command *command = &list[at];
        const bool spawns = command->kind == MI_COMMAND_SPAWN || command->kind == MI_COMMAND_SPAWN_LINKED;
        table = spawns ? play_spawn(commands, table, command, call)
                       : play_change(commands, table, command, skipped_count, call);
        if (table == NULL || at == last) {
            return table;
        }
    }
}

// With `is_moved` the values that the changes named are raw memory now.
static void forget_pending(mica_commands *commands, bool is_moved) {
    mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        const mi_pending *pending = &fold->pending.data[i];
        fold->places.data[pending->component] = 0;
        if (is_moved && pending->is_change && pending->value != NULL) {
            *pending->value = NULL;
        }
    }
    fold->pending.count = 0;
}

// Bringing it about

static bool has_data(const mi_table *table, mica_component component) {
    return mi_table_has(table, component) && table->offset_of[component] != MI_OFFSET_TAG;
}

static void append_change(mi_fold *fold, mi_pending *pending) {
    const void *value = pending->value == NULL ? NULL : *pending->value;
    fold->changes.data[fold->changes.count++] =
        (mi_change){.component = pending->component, .move = value != NULL, .value = value};
    pending->is_change = true;
}

// Writes what is pending of components with data in `to` as changes, ascending by component.
static bool list_changes(mica_commands *commands, const mi_table *to) {
    mi_fold *fold = &commands->fold;
    fold->changes.count = 0;
    if (fold->pending.count > fold->changes.capacity &&
        !MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->changes, fold->pending.count)) {
        return false;
    }
    if (fold->pending.count > INSERTION_MOST) {
        for (uint32_t i = 0; i < to->column_count; i++) {
            const uint32_t place = fold->places.data[to->columns[i].type->info.id];
            if (place != 0) {
                append_change(fold, &fold->pending.data[place - 1]);
            }
        }
        return true;
    }
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        if (!has_data(to, fold->pending.data[i].component)) {
            continue;
        }
        append_change(fold, &fold->pending.data[i]);
        for (uint32_t k = fold->changes.count - 1;
             k > 0 && fold->changes.data[k - 1].component > fold->changes.data[k].component; k--) {
            const mi_change change = fold->changes.data[k];
            fold->changes.data[k] = fold->changes.data[k - 1];
            fold->changes.data[k - 1] = change;
        }
    }
    return true;
}

static mica_result patch_changes(mica_commands *commands, const char *call) {
    const mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        const mi_pending *pending = &fold->pending.data[i];
        if (pending->has_placeholders && pending->is_change) {
            const mica_result result = mi_commands_patch(commands, pending->component, *pending->value, call);
            if (result != MICA_OK) {
                return result;
            }
        }
    }
    return MICA_OK;
}

// A change within one table replaces value by value and may not fail half-way: constructors, which can say no, are
// called aside first. Returns how many of the changes are done with; all of them if nothing failed.
static uint32_t construct_aside(mica_commands *commands) {
    mi_fold *fold = &commands->fold;
    uint32_t i = 0;
    for (; i < fold->changes.count; i++) {
        mi_change *change = &fold->changes.data[i];
        if (change->value != NULL) {
            continue;
        }
        const mi_type *type = mi_commands_type(commands, change->component);
        void *value = mi_commands_take_memory(commands, type->info.size, type->info.align);
        if (value == NULL || !mi_value_construct(type, &commands->world->store.values, value, 1)) {
            break;
        }
        *change = (mi_change){.component = change->component, .move = true, .value = value};
    }
    return i;
}

// Destructs what construct_aside made for the first `count` changes.
static void destruct_aside(mica_commands *commands, uint32_t count) {
    const mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; i < count; i++) {
        const mi_change *change = &fold->changes.data[i];
        const mi_pending *pending = &fold->pending.data[fold->places.data[change->component] - 1];
        if (pending->value == NULL || *pending->value == NULL) {
            mi_value_destruct(mi_commands_type(commands, change->component), &commands->world->store.values,
                              (void *)(uintptr_t)change->value, 1);
        }
    }
}

static mica_result change_in_place(mica_commands *commands, mica_entity entity, mi_table *table, const char *call) {
    const mi_fold *fold = &commands->fold;
    if (fold->changes.count == 0) {
        return MICA_OK;
    }
    const uint32_t count = construct_aside(commands);
    if (count < fold->changes.count) {
        destruct_aside(commands, count);
        return mi_fail_plain(&commands->world->log, MICA_OUT_OF_MEMORY, call,
                             "a construct hook could not make its value");
    }
    return mi_world_change(commands->world, entity, table, fold->changes.data, count, call);
}

// Brings the group's entity into `to` with what is pending; makes it if it is not made yet.
static mica_result change_entity(mica_commands *commands, mica_entity entity, mi_table *to, const char *call) {
    mica_world *world = commands->world;
    const mi_fold *fold = &commands->fold;
    if (!list_changes(commands, to)) {
        return mi_fail_memory(&world->log, call, fold->pending.count * sizeof(mi_change));
    }
    const mica_result patched = patch_changes(commands, call);
    if (patched != MICA_OK) {
        return patched;
    }
    entity = mi_commands_target(commands, entity); // patching may have made it
    uint32_t location = 0;
    if (mi_slots_resolve(&world->store.slots, entity, &location)) {
        return mi_store_table_at(&world->store, location) == to
                   ? change_in_place(commands, entity, to, call)
                   : mi_world_change(world, entity, to, fold->changes.data, fold->changes.count, call);
    }
    const mica_entity made = mi_world_make(world, to, fold->changes.data, fold->changes.count, call);
    if (mica_entity_is_null(made)) {
        return mica_last_result();
    }
    commands->placeholders.data[commands->made_count++] = made;
    return MICA_OK;
}

// Ends all commands of a group.
static void finish_group(mica_commands *commands, mi_command *list, uint32_t first, uint32_t skipped_count) {
    const mi_command_link *links = commands->fold.links.data;
    const uint32_t last = links[first].last;
    uint32_t count = 1;
    for (uint32_t at = first; at != last; at = links[at].next, count++) {
        mi_command_drop(commands, &list[at]);
    }
    mi_command_drop(commands, &list[last]);
    mi_commands_count_done(commands, count - skipped_count, skipped_count);
}

static void skip_group(mica_commands *commands, mi_command *list, uint32_t first) {
    const mi_command_link *links = commands->fold.links.data;
    uint32_t count = 1;
    for (uint32_t at = first; at != links[first].last; at = links[at].next) {
        count++;
    }
    finish_group(commands, list, first, count);
}

static mica_result apply_group(mica_commands *commands, mi_command *list, uint32_t first, mica_entity entity,
                               mi_table *table, const char *call) {
    uint32_t skipped_count = 0;
    mi_table *to = play_group(commands, list, first, table, &skipped_count, call);
    const mica_result result = to == NULL ? mica_last_result() : change_entity(commands, entity, to, call);
    forget_pending(commands, result == MICA_OK);
    if (result == MICA_OK) {
        finish_group(commands, list, first, skipped_count);
    }
    return result;
}

// Single commands
//
// With one add, set or remove for an entity there is nothing to play through: the command itself is the change.

// Where the last single command led. Commands alike mostly follow each other.
typedef struct last_step {
    const mi_table *from; // NULL: there was none in this fold
    mi_table *to;
    mica_component component;
    bool removes;
} last_step;

static mi_table *step_from(mica_commands *commands, mi_table *table, const mi_command *command, last_step *step,
                           const char *call) {
    const mica_component component = command->component;
    const bool removes = command->kind == MI_COMMAND_REMOVE;
    if (MICA_LIKELY(step->from == table && step->component == component && step->removes == removes)) {
        return step->to;
    }
    mi_store *store = &commands->world->store;
    mi_table *to =
        removes ? mi_store_table_without(store, table, component) : mi_store_table_with(store, table, component);
    if (to == NULL) {
        mi_world_fail_store(commands->world, call);
        return NULL;
    }
    *step = (last_step){.from = table, .to = to, .component = component, .removes = removes};
    return to;
}

// Applies an add, set or remove whose value, if it has one, is without placeholders.
static mica_result apply_single(mica_commands *commands, mi_command *command, mica_entity entity, mi_table *table,
                                last_step *step, const char *call) {
    mi_table *to = step_from(commands, table, command, step, call);
    if (to == NULL) {
        return mica_last_result();
    }
    if (to == table && command->kind == MI_COMMAND_ADD) {
        mi_command_drop(commands, command);
        mi_commands_count_done(commands, 0, 1);
        return MICA_OK;
    }
    if (to != table || command->kind == MI_COMMAND_SET) {
        const mi_change change = {.component = command->component, .move = true, .value = command->data};
        const mica_result result = mi_world_change(commands->world, entity, to, &change, command->data != NULL, call);
        if (result != MICA_OK) {
            return result;
        }
    }
    command->data = NULL; // the value was moved out
    command->kind = MI_COMMAND_DONE;
    mi_commands_count_done(commands, 1, 0);
    return MICA_OK;
}

// Fetches what the commands further on need.
static void fetch_ahead(const mi_store *store, const mi_command *list, uint32_t at, uint32_t count) {
    if (at + MI_SLOTS_AHEAD < count) {
        mi_fetch_slot(&store->slots, list[at + MI_SLOTS_AHEAD].entity);
    }
    if (at + MI_ROWS_AHEAD < count) {
        mi_fetch_row(store, list[at + MI_ROWS_AHEAD].entity);
    }
}

// Applies the group that begins with command number `at`.
static mica_result apply_from(mica_commands *commands, mi_command *list, uint32_t at, last_step *step,
                              const char *call) {
    const mi_store *store = &commands->world->store;
    mi_command *command = &list[at];
    const mica_entity entity = mi_commands_target(commands, command->entity);
    mi_table *table = mi_store_root(store);
    if (!mica_entity_is_placeholder(entity)) {
        uint32_t location = 0;
        if (!mi_slots_resolve(&store->slots, entity, &location)) {
            skip_group(commands, list, at);
            return MICA_OK;
        }
        table = mi_store_table_at(store, location);
        const bool spawns = command->kind == MI_COMMAND_SPAWN || command->kind == MI_COMMAND_SPAWN_LINKED;
        if (commands->fold.links.data[at].last == at && !spawns && !command->has_placeholders) {
            return apply_single(commands, command, entity, table, step, call);
        }
    }
    return apply_group(commands, list, at, entity, table, call);
}

mica_result mi_fold_apply(mica_commands *commands, uint32_t begin, uint32_t end, const char *call) {
    mi_command *list = commands->commands.data + begin;
    const uint32_t count = end - begin;
    const uint32_t cell_count = reserve_groups(commands, count);
    if (cell_count == 0 || !mi_fold_reserve_places(commands)) {
        return mi_fail_memory(&commands->world->log, call, count * sizeof(uint32_t));
    }
    link_groups(commands, list, count, cell_count);
    const mi_store *store = &commands->world->store;
    const bool fetches = mi_fetches(store);
    last_step step = {.from = NULL};
    mica_result result = MICA_OK;
    for (uint32_t at = 0; at < count && result == MICA_OK; at++) {
        if (fetches) {
            fetch_ahead(store, list, at, count);
        }
        if (list[at].kind != MI_COMMAND_DONE) { // else it was done with its group
            result = apply_from(commands, list, at, &step, call);
        }
    }
    return result;
}
