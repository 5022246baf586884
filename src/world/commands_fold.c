// Folding: a run of spawns, adds, sets and removes is applied with one edit an entity.
//
// The commands are grouped by target, groups in the order of their first command. A single command is the change
// itself. Any other group is played through on the entity's set of components alone: what is skipped, which table it
// ends in, which pools it comes into and leaves, and what is left of each component (the value it had, a recorded one,
// or a constructed one). Then one edit of the world brings that about, and what was overwritten, skipped or removed
// again is dropped.
//
// Nothing dies within a fold and groups do not see each other's components, so that the end, the skips and the counts
// are those of applying one by one. Entities get their handles in the order of recording: a group that spawns is
// reached in that order, and where an earlier group's value names an entity not reached yet, all up to that one are
// made without components first.
//
// Invariants: a group is applied as a whole or not at all; its commands are MI_COMMAND_DONE and own nothing once it is.
// `places` is all zero between groups. A component that lives in a pool and that the group has changed so far has an
// entry in `pending`, which says whether it is there; of one that lives in tables, the table says so.
#include "world/command_buffer.h"
#include "world/notice.h"

#include "store/fetch.h"
#include "store/moves.h"
#include "store/visibility.h"

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
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->elements);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->renewed);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->cells);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &fold->links);
}

// Groups: the commands of a fold that have one entity as target, known by the number of the first one. All numbers
// count from where the fold begins.

// Adds a command to the group that begins with number `first`, or begins it.
static inline void link_command(mi_command_link *links, uint32_t first, uint32_t at) {
    if (first != at) {
        links[links[first].last].next = at;
    }
    links[first].last = at;
}

// Links the commands that have the same target, as long as they come in the order of their targets, which they do where
// a loop over entities has recorded them. False: they do not.
static bool link_in_order(const mica_commands *commands, const mi_command *list, uint32_t count) {
    mi_command_link *links = commands->fold.links.data;
    mica_entity entity = MICA_NULL;
    uint32_t first = 0;
    for (uint32_t at = 0; at < count; at++) {
        const mica_entity target = mi_commands_target(commands, list[at].entity);
        if (at == 0 || !mica_entity_equal(target, entity)) {
            if (at > 0 && mica_entity_index(target) <= mica_entity_index(entity)) {
                return false;
            }
            entity = target;
            first = at;
        }
        link_command(links, first, at);
    }
    return true;
}

// Makes the cells of a hash table for `count` groups, all empty; returns how many they are, 0: out of memory.
static uint32_t reserve_cells(mica_commands *commands, uint32_t count) {
    mi_fold *fold = &commands->fold;
    uint32_t cell_count = CELLS_LEAST;
    while (cell_count / 2 < count) {
        if (cell_count > UINT32_MAX / 2) {
            return 0;
        }
        cell_count *= 2;
    }
    if (!MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->cells, cell_count)) {
        return 0;
    }
    memset(fold->cells.data, 0, cell_count * sizeof(uint32_t));
    return cell_count;
}

// The same in any order. A cell holds the number of a first command plus 1; 0: none.
static void link_by_hash(const mica_commands *commands, const mi_command *list, uint32_t count, uint32_t cell_count) {
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
        link_command(commands->fold.links.data, first, at);
    }
}

// Links the commands that have the same target; false: out of memory.
static bool link_groups(mica_commands *commands, const mi_command *list, uint32_t count) {
    if (!MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &commands->fold.links, count)) {
        return false;
    }
    if (!link_in_order(commands, list, count)) {
        const uint32_t cell_count = reserve_cells(commands, count);
        if (cell_count == 0) {
            return false;
        }
        link_by_hash(commands, list, count, cell_count);
    }
    return true;
}

// Playing a group through

// A group on its way: what its entity is by now.
typedef struct group_play {
    mica_commands *commands;
    mica_entity entity; // a placeholder if it is not made yet
    mi_table *table;    // with the table components that it has by now; what it has in pools, `pending` says
    uint32_t skipped_count;
    uint32_t element_most; // entries of `pending` that are about pools
    bool ends_toggles;     // something that can be disabled was removed
    const char *call;
} group_play;

// Whether the entity is by now in the pool where a component lives.
MI_APART static bool is_in_pool(const group_play *play, mica_component component) {
    const mi_fold *fold = &play->commands->fold;
    const uint32_t place = fold->places.data[component];
    if (place != 0) {
        return fold->pending.data[place - 1].is_there;
    }
    const mi_pool *pool = mi_store_find_pool(&play->commands->world->store, component);
    return pool != NULL && mi_pool_has(pool, play->entity);
}

// Whether the entity has a component by now.
static inline bool has_by_now(const group_play *play, const mi_type *type) {
    return MICA_LIKELY(!type->in_pool) ? mi_table_has(play->table, type->info.id) : is_in_pool(play, type->info.id);
}

// Adds an empty entry for a component that has none; NULL: out of memory.
static mi_pending *add_pending(const group_play *play, mica_component component) {
    mi_fold *fold = &play->commands->fold;
    if (fold->pending.count == fold->pending.capacity && !MI_RESERVE(&play->commands->world->heap, MICA_MEMORY_COMMANDS,
                                                                     &fold->pending, (size_t)fold->pending.count + 1)) {
        mi_fail_memory(&play->commands->world->log, play->call, sizeof(mi_pending));
        return NULL;
    }
    mi_pending *pending = &fold->pending.data[fold->pending.count++];
    *pending = (mi_pending){.component = component};
    fold->places.data[component] = fold->pending.count;
    return pending;
}

// The entry of a component, a new one if there is none; NULL: out of memory.
static inline mi_pending *open_pending(const group_play *play, mica_component component) {
    const mi_fold *fold = &play->commands->fold;
    const uint32_t place = fold->places.data[component];
    return place != 0 ? &fold->pending.data[place - 1] : add_pending(play, component);
}

// The same for a component that lives in a pool.
MI_APART static mi_pending *open_pooled(group_play *play, const mi_type *type) {
    mi_pool *pool = mi_world_pool(play->commands->world, type, play->call);
    mi_pending *pending = pool != NULL ? open_pending(play, type->info.id) : NULL;
    if (pending != NULL && pending->pool == NULL) {
        pending->pool = pool;
        pending->was_there = mi_pool_has(pool, play->entity);
        play->element_most++;
    }
    return pending;
}

// Says that the component ends with this value (NULL: constructed), unless a later command says otherwise.
static inline bool set_pending(group_play *play, const mi_type *type, void **value, bool has_placeholders) {
    mi_pending *pending = MICA_LIKELY(!type->in_pool) ? open_pending(play, type->info.id) : open_pooled(play, type);
    if (MICA_UNLIKELY(pending == NULL)) {
        return false;
    }
    pending->value = value;
    pending->has_placeholders = has_placeholders;
    pending->is_there = true;
    return true;
}

// The components that come along with one and are not there yet end constructed.
static bool set_pending_required(group_play *play, const mi_type *type) {
    for (int32_t i = 0; i < type->info.required_count; i++) {
        const mi_type *required = mi_commands_type(play->commands, type->info.required[i]);
        if (!has_by_now(play, required) && !set_pending(play, required, NULL, false)) {
            return false;
        }
    }
    return true;
}

static bool step_to(group_play *play, mi_table *table) {
    if (table == NULL) {
        mi_world_fail_store(play->commands->world, play->call);
        return false;
    }
    play->table = table;
    return true;
}

// Gives the entity a component with this value; the first time with all that the component requires.
static bool play_value(group_play *play, const mi_type *type, void **value, bool has_placeholders) {
    if (!has_by_now(play, type)) {
        const bool moves = !type->in_pool || type->brings_table;
        if (!set_pending_required(play, type) ||
            (moves && !step_to(play, mi_store_table_with(&play->commands->world->store, play->table, type->info.id)))) {
            return false;
        }
    }
    return set_pending(play, type, value, has_placeholders);
}

// A spawn, by the same edges as mica_entity_spawn. Relations are linked already.
static bool play_spawn(group_play *play, const mi_command *spawn) {
    mi_recorded_value *list = spawn->data;
    for (uint32_t i = 0; i < spawn->count; i++) {
        const mi_type *type = mi_commands_type(play->commands, list[i].component);
        if (type->info.hooks.attach == NULL && !play_value(play, type, &list[i].value, list[i].has_placeholders)) {
            return false;
        }
    }
    return true;
}

static bool play_remove(group_play *play, const mi_type *type) {
    if (!has_by_now(play, type)) {
        return true;
    }
    mi_store *store = &play->commands->world->store;
    const mica_component component = type->info.id;
    if (type->in_pool || type->info.toggle) { // else `table` alone says that it is gone
        mi_pending *pending = type->in_pool ? open_pooled(play, type) : open_pending(play, component);
        if (pending == NULL) {
            return false;
        }
        pending->is_there = false;
        pending->ends_toggle = type->info.toggle;
        play->ends_toggles |= type->info.toggle;
    }
    return type->in_pool || step_to(play, mi_store_table_without(store, play->table, component));
}

// An add, set or remove.
static bool play_change(group_play *play, mi_command *command) {
    const mi_type *type = mi_commands_type(play->commands, command->component);
    if (command->kind == MI_COMMAND_REMOVE) {
        return play_remove(play, type);
    }
    if (command->kind == MI_COMMAND_ADD && has_by_now(play, type)) {
        play->skipped_count++;
        return true;
    }
    return play_value(play, type, &command->data, command->has_placeholders);
}

// Plays all commands of a group through.
static bool play_group(group_play *play, mi_command *list, uint32_t first) {
    const mi_command_link *links = play->commands->fold.links.data;
    const uint32_t last = links[first].last;
    for (uint32_t at = first;; at = links[at].next) {
        mi_command *command = &list[at];
        const bool spawns = command->kind == MI_COMMAND_SPAWN || command->kind == MI_COMMAND_SPAWN_LINKED;
        if (spawns ? !play_spawn(play, command) : !play_change(play, command)) {
            return false;
        }
        if (at == last) {
            return true;
        }
    }
}

// With `is_moved` the values that the edit named are raw memory now.
static void forget_pending(mica_commands *commands, bool is_moved) {
    mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        const mi_pending *pending = &fold->pending.data[i];
        fold->places.data[pending->component] = 0;
        if (!is_moved && pending->aside != NULL) {
            mi_value_destruct(mi_commands_type(commands, pending->component), &commands->world->store.values,
                              pending->aside, 1);
        } else if (is_moved && pending->is_given && pending->value != NULL) {
            *pending->value = NULL;
        }
    }
    fold->pending.count = 0;
}

// Bringing it about

static const void *value_of(const mi_pending *pending) {
    return pending->value == NULL ? NULL : *pending->value;
}

static void append_change(mi_fold *fold, mi_pending *pending) {
    const void *value = value_of(pending);
    fold->changes.data[fold->changes.count++] =
        (mi_change){.component = pending->component, .move = value != NULL, .value = value};
    pending->is_given = true;
}

// The same in its place among those that are there.
static void insert_change(mi_fold *fold, mi_pending *pending) {
    append_change(fold, pending);
    mi_change *changes = fold->changes.data;
    for (uint32_t i = fold->changes.count - 1; i > 0 && changes[i - 1].component > changes[i].component; i--) {
        const mi_change change = changes[i];
        changes[i] = changes[i - 1];
        changes[i - 1] = change;
    }
}

static void append_element(mi_fold *fold, mi_pending *pending) {
    mi_element element = {.pool = pending->pool, .change = MI_ELEMENT_REMOVE};
    if (pending->is_there) {
        const void *value = value_of(pending);
        element.change = pending->was_there ? MI_ELEMENT_SET : MI_ELEMENT_ADD;
        element.move = value != NULL;
        element.value = value;
        pending->is_given = true;
    }
    // Neither what came and went nor a tag that went and came makes a difference.
    if (pending->is_there ? element.change == MI_ELEMENT_ADD || pending->pool->size > 0 : pending->was_there) {
        fold->elements.data[fold->elements.count++] = element;
    }
}

// Writes what is pending of components with data in the table `to` as changes, ascending by component.
static bool list_changes(mica_commands *commands, const mi_table *to) {
    mi_fold *fold = &commands->fold;
    const uint32_t count = fold->pending.count;
    fold->changes.count = 0;
    if (count > fold->changes.capacity &&
        !MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->changes, count)) {
        return false;
    }
    if (count > INSERTION_MOST) {
        for (uint32_t i = 0; i < to->column_count; i++) {
            const uint32_t place = fold->places.data[to->columns[i].type->info.id];
            if (place != 0) {
                append_change(fold, &fold->pending.data[place - 1]);
            }
        }
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (mi_table_has_data(to, fold->pending.data[i].component)) {
            insert_change(fold, &fold->pending.data[i]);
        }
    }
    return true;
}

// Writes what is pending of components in pools as elements; of `most` at most.
static bool list_elements(mica_commands *commands, uint32_t most) {
    mi_fold *fold = &commands->fold;
    fold->elements.count = 0;
    if (most > fold->elements.capacity &&
        !MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &fold->elements, most)) {
        return false;
    }
    for (uint32_t i = 0; most > 0 && i < fold->pending.count; i++) {
        if (fold->pending.data[i].pool != NULL) {
            append_element(fold, &fold->pending.data[i]);
        }
    }
    return true;
}

static mica_result patch_values(mica_commands *commands, const char *call) {
    const mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        const mi_pending *pending = &fold->pending.data[i];
        if (pending->has_placeholders && pending->is_given) {
            const mica_result result = mi_commands_patch(commands, pending->component, *pending->value, call);
            if (result != MICA_OK) {
                return result;
            }
        }
    }
    return MICA_OK;
}

// A constructed value of a component that is pending, in the buffer's memory; NULL: it could not be made.
static void *construct_aside(mica_commands *commands, mica_component component) {
    const mi_type *type = mi_commands_type(commands, component);
    void *value = mi_commands_take_memory(commands, type->info.size, type->info.align);
    if (value == NULL || !mi_value_construct(type, &commands->world->store.values, value, 1)) {
        return NULL;
    }
    mi_fold *fold = &commands->fold;
    fold->pending.data[fold->places.data[component] - 1].aside = value;
    return value;
}

// Values that are there are replaced one by one, which may not fail half-way: constructors, which can say no, are
// called aside first. Those of elements always, those of the table if the entity stays in it.
static bool construct_replacements(mica_commands *commands, bool stays) {
    mi_fold *fold = &commands->fold;
    for (uint32_t i = 0; stays && i < fold->changes.count; i++) {
        mi_change *change = &fold->changes.data[i];
        if (change->value == NULL) {
            change->value = construct_aside(commands, change->component);
            change->move = true;
            if (change->value == NULL) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < fold->elements.count; i++) {
        mi_element *element = &fold->elements.data[i];
        if (element->change == MI_ELEMENT_SET && element->value == NULL) {
            element->value = construct_aside(commands, element->pool->type->info.id);
            element->move = true;
            if (element->value == NULL) {
                return false;
            }
        }
    }
    return true;
}

// What was removed and is there again is a new component: nobody has disabled it. MICA_OUT_OF_MEMORY.
static mica_result list_renewed(const group_play *play, mica_entity entity) {
    mi_fold *fold = &play->commands->fold;
    mica_world *world = play->commands->world;
    fold->renewed.count = 0;
    if (!play->ends_toggles) {
        return MICA_OK;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_COMMANDS, &fold->renewed, fold->pending.count)) {
        return mi_fail_memory(&world->log, play->call, fold->pending.count * sizeof(mica_component));
    }
    for (uint32_t i = 0; i < fold->pending.count; i++) {
        const mi_pending *pending = &fold->pending.data[i];
        const mi_marks *toggled = mi_store_toggled(&world->store, pending->component);
        const bool is_there = pending->pool != NULL ? pending->is_there : mi_table_has(play->table, pending->component);
        if (pending->ends_toggle && is_there && toggled != NULL && mi_marks_has(toggled, mica_entity_index(entity))) {
            fold->renewed.data[fold->renewed.count++] = pending->component;
        }
    }
    return MICA_OK;
}

static mica_result edit_entity(const group_play *play, mica_entity entity, bool stays, mi_edit *edit) {
    mica_commands *commands = play->commands;
    const mica_result listed = list_renewed(play, entity);
    if (listed != MICA_OK) {
        return listed;
    }
    edit->renewed = commands->fold.renewed.data;
    edit->renewed_count = commands->fold.renewed.count;
    if (!construct_replacements(commands, stays)) {
        return mi_world_fail_hook(commands->world, play->call);
    }
    const bool changes = !stays || edit->change_count + edit->element_count + edit->renewed_count > 0;
    return changes ? mi_world_edit(commands->world, entity, edit, play->call) : MICA_OK;
}

// Makes the group's entity what it was played to be; makes it if it is not made yet.
static mica_result change_entity(const group_play *play) {
    mica_commands *commands = play->commands;
    mica_world *world = commands->world;
    const mi_fold *fold = &commands->fold;
    if (!list_changes(commands, play->table) || !list_elements(commands, play->element_most)) {
        return mi_fail_memory(&world->log, play->call, fold->pending.count * sizeof(mi_element));
    }
    const mica_result patched = patch_values(commands, play->call);
    if (patched != MICA_OK) {
        return patched;
    }
    mi_edit edit = {.to = play->table,
                    .changes = fold->changes.data,
                    .change_count = fold->changes.count,
                    .elements = fold->elements.data,
                    .element_count = fold->elements.count};
    const mica_entity entity = mi_commands_target(commands, play->entity); // patching may have made it
    uint32_t location = 0;
    if (mi_slots_resolve(&world->store.slots, entity, &location)) {
        return edit_entity(play, entity, mi_store_table_at(&world->store, location) == play->table, &edit);
    }
    const mica_entity made = mi_world_make_edited(world, &edit, play->call);
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
    group_play play = {.commands = commands, .entity = entity, .table = table, .call = call};
    const mica_result result = play_group(&play, list, first) ? change_entity(&play) : mica_last_result();
    forget_pending(commands, result == MICA_OK);
    if (result == MICA_OK) {
        finish_group(commands, list, first, play.skipped_count);
    }
    return result;
}

// Single commands
//
// With one add, set or remove for an entity there is nothing to play through: the command itself is the change, unless
// it brings more than one change about.

// What the last single command was about and where it led. Commands alike mostly follow each other.
typedef struct last_step {
    const mi_type *type;  // NULL: there was none in this fold
    mi_pool *pool;        // of a type that lives in one; NULL: it is not made yet
    const mi_table *from; // of a type that lives in tables: where the last step led from and to; NULL: nowhere yet
    mi_table *to;
    bool removes;
} last_step;

// Whether a command on a living entity can be applied as a single one; `step` is of its type then.
static bool is_single(const mica_commands *commands, const mi_command *command, last_step *step) {
    if (command->kind == MI_COMMAND_SPAWN || command->kind == MI_COMMAND_SPAWN_LINKED || command->has_placeholders) {
        return false;
    }
    if (step->type == NULL || step->type->info.id != command->component) {
        const mi_type *type = mi_commands_type(commands, command->component);
        *step = (last_step){.type = type, .pool = mi_store_find_pool(&commands->world->store, command->component)};
    }
    const mi_type *type = step->type;
    return type->info.required_count == 0 || command->kind == MI_COMMAND_REMOVE ||
           !(type->in_pool || type->brings_pool);
}

static mi_table *step_from(mica_commands *commands, mi_table *table, const mi_command *command, last_step *step,
                           const char *call) {
    const mica_component component = command->component;
    const bool removes = command->kind == MI_COMMAND_REMOVE;
    if (MICA_LIKELY(step->from == table && step->removes == removes)) {
        return step->to;
    }
    mi_store *store = &commands->world->store;
    mi_table *to =
        removes ? mi_store_table_without(store, table, component) : mi_store_table_with(store, table, component);
    if (to == NULL) {
        mi_world_fail_store(commands->world, call);
        return NULL;
    }
    step->from = table;
    step->to = to;
    step->removes = removes;
    return to;
}

// How a single command ended: MICA_OK, MICA_EXISTS if it is to be skipped, or why it has to wait.

static mica_result change_row(mica_commands *commands, const mi_command *command, mica_entity entity, mi_table *table,
                              last_step *step, const char *call) {
    mi_table *to = step_from(commands, table, command, step, call);
    if (to == NULL) {
        return mica_last_result();
    }
    if (to == table && command->kind != MI_COMMAND_SET) {
        return command->kind == MI_COMMAND_ADD ? MICA_EXISTS : MICA_OK;
    }
    const mi_change change = {.component = command->component, .move = true, .value = command->data};
    return mi_world_change(commands->world, entity, to, &change, command->data != NULL, call);
}

static mica_result change_element(mica_commands *commands, const mi_command *command, mica_entity entity,
                                  last_step *step, const char *call) {
    mica_world *world = commands->world;
    mi_pool *pool = step->pool;
    const uint32_t position = pool != NULL ? mi_pool_find(pool, entity) : MI_POSITION_NONE;
    if (position == MI_POSITION_NONE) {
        if (command->kind == MI_COMMAND_REMOVE) {
            return MICA_OK;
        }
        step->pool = pool != NULL ? pool : mi_world_pool(world, step->type, call);
        return step->pool != NULL ? mi_world_put_element(world, step->pool, entity, command->data, true, call)
                                  : mica_last_result();
    }
    if (command->kind == MI_COMMAND_ADD) {
        return MICA_EXISTS;
    }
    if (command->kind == MI_COMMAND_REMOVE) {
        mi_world_take_element(world, pool, entity);
        return MICA_OK;
    }
    mi_world_replace_value(world, step->type, mi_pool_value(pool, position), command->data, true);
    mi_pool_mark(pool, position, world->store.version);
    mi_world_tell_set(world, entity, step->type->info.id);
    return MICA_OK;
}

static mica_result apply_single(mica_commands *commands, mi_command *command, mica_entity entity, mi_table *table,
                                last_step *step, const char *call) {
    const mica_result result = step->type->in_pool ? change_element(commands, command, entity, step, call)
                                                   : change_row(commands, command, entity, table, step, call);
    if (result == MICA_EXISTS) {
        mi_command_drop(commands, command);
        mi_commands_count_done(commands, 0, 1);
        return MICA_OK;
    }
    if (result == MICA_OK) {
        command->data = NULL; // the value was moved out
        command->kind = MI_COMMAND_DONE;
        mi_commands_count_done(commands, 1, 0);
    }
    return result;
}

// Applies a single command that is all about a row going along a plain edge, of which nobody is told; false: it is not,
// and nothing has happened.
static inline bool apply_plainly(mica_commands *commands, mi_command *command) {
    mica_world *world = commands->world;
    mi_store *store = &world->store;
    const bool removes = command->kind == MI_COMMAND_REMOVE;
    uint32_t location = 0;
    if (MICA_UNLIKELY(world->front.is_watched || (store->extras & MI_EXTRA_MARKS) != 0 || command->has_placeholders ||
                      command->kind == MI_COMMAND_SPAWN ||
                      !mi_slots_resolve(&store->slots, command->entity, &location))) {
        return false;
    }
    const mi_edge *edge = mi_store_plain_edge(store, location, command->component, removes, command->data);
    if (MICA_UNLIKELY(edge == NULL)) {
        return false;
    }
    if (removes) {
        mi_store_cross_removing(store, command->entity, location, edge);
    } else {
        mi_store_cross_adding(store, command->entity, location, edge, command->data);
        command->data = NULL;
    }
    command->kind = MI_COMMAND_DONE;
    mi_commands_count_done(commands, 1, 0);
    return true;
}

// Fetches what the commands further on need.
static void fetch_ahead(const mi_store *store, const mi_command *list, uint32_t at, uint32_t count) {
    if (at + MI_SLOTS_AHEAD < count) {
        const mi_command *command = &list[at + MI_SLOTS_AHEAD];
        const mi_pool *pool = mi_store_find_pool(store, command->component);
        mi_fetch_slot(&store->slots, command->entity);
        if (pool != NULL) {
            mi_fetch_element(pool, command->entity);
        }
    }
    if (at + MI_ROWS_AHEAD < count) {
        const mi_command *command = &list[at + MI_ROWS_AHEAD];
        if (mi_store_find_pool(store, command->component) == NULL) {
            mi_fetch_row(store, command->entity);
        }
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
        if (commands->fold.links.data[at].last == at && is_single(commands, command, step)) {
            return apply_single(commands, command, entity, table, step, call);
        }
    }
    return apply_group(commands, list, at, entity, table, call);
}

mica_result mi_fold_apply(mica_commands *commands, uint32_t begin, uint32_t end, const char *call) {
    mi_command *list = commands->commands.data + begin;
    const uint32_t count = end - begin;
    if (!link_groups(commands, list, count) || !mi_fold_reserve_places(commands)) {
        return mi_fail_memory(&commands->world->log, call, count * sizeof(uint32_t));
    }
    const mi_store *store = &commands->world->store;
    const bool fetches = mi_fetches(store);
    last_step step = {.type = NULL};
    mica_result result = MICA_OK;
    for (uint32_t at = 0; at < count && result == MICA_OK; at++) {
        if (fetches) {
            fetch_ahead(store, list, at, count);
        }
        if (list[at].kind == MI_COMMAND_DONE) { // with its group
            continue;
        }
        if (commands->fold.links.data[at].last != at || !apply_plainly(commands, &list[at])) {
            commands->at = begin + at;
            result = apply_from(commands, list, at, &step, call);
        }
    }
    return result;
}
