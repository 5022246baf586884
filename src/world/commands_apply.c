// Applying: commands in the order of recording, runs of foldable ones as folds, the others one by one.
//
// A command is applied, or skipped (its target is dead, or the verb that it stands for refuses), or has to wait: memory
// or handles have run out. Then applying stops; what is done leaves the buffer, what waits stays with all that it owns,
// and so do the handles of the placeholders made so far.
//
// Invariants: entities are made in the order of their placeholders, so that `made_count` says which exist; a target or
// a value names no entity that is made in a later fold. Nobody records into a buffer that is being applied.
#include "world/command_buffer.h"

#include "base/assert.h"
#include "world/notice.h"
#include "world/visibility.h"

// Whether applying has to stop at a command that ended like this.
static bool must_wait(mica_result result) {
    return result == MICA_OUT_OF_MEMORY || result == MICA_LIMIT;
}

static bool is_alive(const mica_commands *commands, mica_entity entity, mi_table **table) {
    const mi_store *store = &commands->world->store;
    uint32_t location = 0;
    if (!mi_slots_resolve(&store->slots, entity, &location)) {
        return false;
    }
    *table = mi_store_table_at(store, location);
    return true;
}

// Placeholders

// Gives the next placeholder its handle; null: there is none.
static void settle_placeholder(mica_commands *commands, mica_entity entity) {
    MI_ASSERT(commands->made_count < commands->placeholders.count);
    commands->placeholders.data[commands->made_count++] = entity;
}

// Makes the next placeholder's entity, without components.
static mica_result make_next(mica_commands *commands, const char *call) {
    mica_world *world = commands->world;
    const mica_entity entity = mi_world_make(world, mi_store_root(&world->store), NULL, 0, call);
    if (mica_entity_is_null(entity)) {
        return mica_last_result();
    }
    settle_placeholder(commands, entity);
    return MICA_OK;
}

typedef struct value_patch {
    mica_commands *commands;
    const char *call;
    mica_result result;
} value_patch;

static bool patch_entity(void *user, mica_entity *entity) {
    value_patch *patch = user;
    mica_commands *commands = patch->commands;
    uint32_t number;
    if (!mica_entity_is_placeholder(*entity) || !mi_commands_placeholder(commands, *entity, &number)) {
        return true;
    }
    while (number >= commands->made_count) {
        patch->result = make_next(commands, patch->call);
        if (patch->result != MICA_OK) {
            return false;
        }
    }
    *entity = commands->placeholders.data[number];
    return true;
}

mica_result mi_commands_patch(mica_commands *commands, mica_component component, void *value, const char *call) {
    value_patch patch = {.commands = commands, .call = call, .result = MICA_OK};
    mi_type_patch_entities(commands->world->schema, component, value, patch_entity, &patch);
    return patch.result;
}

// Commands that are not folded. Each returns MICA_OK if the command was applied, a code that must_wait knows, or any
// other one if it is to be skipped.

static mica_result apply_clone(mica_commands *commands, const mi_command *command, const char *call) {
    mi_table *table;
    const mica_entity source = mi_commands_target(commands, command->entity);
    mica_entity clone = MICA_NULL;
    mica_result result = MICA_STALE;
    if (is_alive(commands, source, &table)) {
        clone = mi_world_clone(commands->world, source, call);
        result = mica_entity_is_null(clone) ? mica_last_result() : MICA_OK;
    }
    if (!must_wait(result)) {
        settle_placeholder(commands, clone);
    }
    return result;
}

static mica_result apply_destroy(mica_commands *commands, mica_entity entity) {
    mi_table *table;
    entity = mi_commands_target(commands, entity);
    if (!is_alive(commands, entity, &table)) {
        return MICA_STALE;
    }
    mi_world_unmake(commands->world, entity);
    return MICA_OK;
}

static void apply_destroy_many(mica_commands *commands, const mi_command *command) {
    const mica_entity *entities = command->data;
    uint32_t skipped_count = 0;
    for (uint32_t i = 0; i < command->count; i++) {
        skipped_count += apply_destroy(commands, entities[i]) != MICA_OK;
    }
    mi_commands_count_done(commands, command->count - skipped_count, skipped_count);
}

// The relation that a component is, made known to the world if it is not yet; NULL: out of memory.
static const mi_relation *relation_of(mica_commands *commands, mica_component component, const char *call) {
    const mica_result result = mi_world_attach(commands->world, mi_commands_type(commands, component), call);
    return result == MICA_OK ? mi_world_relation(commands->world, component) : NULL;
}

static mica_result link_value(mica_commands *commands, mica_entity entity, mica_component component, void *value,
                              bool has_placeholders, uint32_t flags, const char *call) {
    const mi_relation *relation = relation_of(commands, component, call);
    if (relation == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    const mica_result patched = has_placeholders ? mi_commands_patch(commands, component, value, call) : MICA_OK;
    return patched != MICA_OK ? patched : relation->link(commands->world, entity, value, flags, call);
}

static mica_result apply_link(mica_commands *commands, const mi_command *command, const char *call) {
    mi_table *table;
    const mica_entity entity = mi_commands_target(commands, command->entity);
    if (!is_alive(commands, entity, &table)) {
        return MICA_STALE;
    }
    if (command->kind == MI_COMMAND_ADD_LINK && mi_table_has(table, command->component)) {
        return MICA_EXISTS;
    }
    return link_value(commands, entity, command->component, command->data, command->has_placeholders, command->flags,
                      call);
}

static mica_result apply_unlink(mica_commands *commands, const mi_command *command, const char *call) {
    mi_table *table;
    const mica_entity entity = mi_commands_target(commands, command->entity);
    if (!is_alive(commands, entity, &table)) {
        return MICA_STALE;
    }
    if (!mi_table_has(table, command->component)) {
        return MICA_OK;
    }
    const mi_relation *relation = relation_of(commands, command->component, call);
    return relation == NULL ? MICA_OUT_OF_MEMORY : relation->unlink(commands->world, entity, command->flags, call);
}

static mica_result apply_subtree(mica_commands *commands, const mi_command *command, const char *call) {
    mi_table *table;
    const mica_entity root = mi_commands_target(commands, command->entity);
    if (!is_alive(commands, root, &table)) {
        return MICA_STALE;
    }
    const mi_relation *relation = relation_of(commands, command->component, call);
    return relation == NULL ? MICA_OUT_OF_MEMORY : relation->destroy_subtree(commands->world, root, call);
}

static mica_result apply_enable(mica_commands *commands, const mi_command *command, const char *call) {
    mica_world *world = commands->world;
    const mica_entity entity = mi_commands_target(commands, command->entity);
    return command->kind == MI_COMMAND_ENABLE
               ? mi_world_enable(world, entity, command->enabled, call)
               : mi_world_enable_component(world, entity, command->component, command->enabled, call);
}

// What a spawn gives values to, in the buffer's memory: values that are moved in are no longer known afterwards. NULL:
// out of memory.
static mica_value *list_given(mica_commands *commands, const mi_command *spawn, const char *call) {
    const size_t size = spawn->count * sizeof(mica_value);
    mica_value *given = mi_commands_take_memory(commands, size, _Alignof(mica_value));
    if (given == NULL) {
        mi_fail_memory(&commands->world->log, call, size);
        return NULL;
    }
    const mi_recorded_value *list = spawn->data;
    for (uint32_t i = 0; i < spawn->count; i++) {
        given[i] = (mica_value){.component = list[i].component, .value = list[i].value};
    }
    return given;
}

// A spawn with relations: the entity is linked while it is empty, since linking can be refused and leaves the recorded
// value where it is; only then do its other values move in.
static mica_result apply_spawn_linked(mica_commands *commands, uint32_t at, const char *call) {
    mica_value *given = list_given(commands, &commands->commands.data[at], call);
    if (given == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    mi_world_hold_made(commands->world);
    mica_result result = make_next(commands, call);
    if (result != MICA_OK) {
        mi_world_release_made(commands->world, MICA_NULL, NULL, 0);
        return result;
    }
    const mi_command *command = &commands->commands.data[at];
    const mica_entity entity = mi_commands_target(commands, command->entity);
    const mi_recorded_value *list = command->data;
    for (uint32_t i = 0; result == MICA_OK && i < command->count; i++) {
        if (mi_commands_type(commands, list[i].component)->info.hooks.attach != NULL) {
            result = link_value(commands, entity, list[i].component, list[i].value, list[i].has_placeholders, 0, call);
        }
    }
    if (result == MICA_OK) {
        result = mi_fold_apply(commands, at, at + 1, call);
    }
    if (result != MICA_OK) {
        mi_world_take_back(commands->world, entity);
        commands->made_count--;
        if (!must_wait(result)) {
            settle_placeholder(commands, MICA_NULL);
        }
    }
    mi_world_release_made(commands->world, result == MICA_OK ? entity : MICA_NULL, given, command->count);
    return result;
}

// Applies or skips one command that ends a fold. MICA_OK unless it has to wait.
static mica_result apply_alone(mica_commands *commands, uint32_t at, const char *call) {
    mi_command *command = &commands->commands.data[at];
    mica_result result = MICA_OK;
    switch ((mi_command_kind)command->kind) {
    case MI_COMMAND_SPAWN_LINKED:
        result = apply_spawn_linked(commands, at, call);
        break;
    case MI_COMMAND_CLONE:
        result = apply_clone(commands, command, call);
        break;
    case MI_COMMAND_DESTROY:
        result = apply_destroy(commands, command->entity);
        break;
    case MI_COMMAND_DESTROY_MANY:
        apply_destroy_many(commands, command);
        break;
    case MI_COMMAND_ADD_LINK:
    case MI_COMMAND_LINK:
        result = apply_link(commands, command, call);
        break;
    case MI_COMMAND_UNLINK:
        result = apply_unlink(commands, command, call);
        break;
    case MI_COMMAND_SUBTREE:
        result = apply_subtree(commands, command, call);
        break;
    case MI_COMMAND_ENABLE:
    case MI_COMMAND_ENABLE_COMPONENT:
        result = apply_enable(commands, command, call);
        break;
    case MI_COMMAND_KILL:
        result = mi_world_kill(commands->world, mi_commands_target(commands, command->entity), call);
        break;
    case MI_COMMAND_REFRESH:
        mi_world_refresh(commands->world);
        break;
    case MI_COMMAND_DESTROY_MATCHING:
    case MI_COMMAND_ADD_MATCHING:
    case MI_COMMAND_REMOVE_MATCHING:
        result = mi_matching_apply(commands, at, call);
        command = &commands->commands.data[at]; // single commands may have made room
        break;
    default:
        MI_ASSERT(false);
        break;
    }
    if (must_wait(result)) {
        return result;
    }
    const bool is_counted = command->kind == MI_COMMAND_DESTROY_MANY || command->kind == MI_COMMAND_DONE ||
                            command->kind >= MI_COMMAND_DESTROY_MATCHING;
    if (!is_counted) {
        mi_commands_count_done(commands, result == MICA_OK, result != MICA_OK);
    }
    mi_command_drop(commands, command);
    return MICA_OK;
}

// Buffers

static uint32_t fold_end(const mica_commands *commands, uint32_t begin) {
    uint32_t end = begin;
    while (end < commands->commands.count && commands->commands.data[end].kind <= MI_COMMAND_REMOVE) {
        end++;
    }
    return end;
}

// Takes out what is done.
static void keep_waiting(mica_commands *commands) {
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < commands->commands.count; i++) {
        if (commands->commands.data[i].kind != MI_COMMAND_DONE) {
            commands->commands.data[kept_count++] = commands->commands.data[i];
        }
    }
    commands->commands.count = kept_count;
}

mica_result mi_commands_apply(mica_commands *commands, const char *call) {
    if (commands->is_applying) {
        return mi_fail_plain(&commands->world->log, MICA_LOCKED, call, "the command buffer is being applied");
    }
    commands->is_applying = true;
    mica_result result = MICA_OK;
    uint32_t at = 0;
    while (result == MICA_OK && at < commands->commands.count) {
        const uint32_t end = fold_end(commands, at);
        commands->at = at;
        result = end > at ? mi_fold_apply(commands, at, end, call) : apply_alone(commands, at, call);
        at = end > at ? end : at + 1;
    }
    commands->is_applying = false;
    if (result == MICA_OK) {
        mi_commands_end_round(commands);
    } else {
        keep_waiting(commands);
    }
    mi_world_finish(commands->world, call);
    return result;
}

mica_result mica_commands_apply(mica_commands *commands) {
    const char *const call = "mica_commands_apply";
    if (commands == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a command buffer");
    }
    const mica_result result = mi_world_check_structure(commands->world, call);
    return result != MICA_OK ? result : mi_commands_apply(commands, call);
}
