// Commands on all entities that match a query, found when the buffer is applied.
//
// A command holds a reference to its query until it is done with. Adds and removals become single commands behind all
// others, which are folded and leave again; so observers, counts and moves are those of the single verbs.
#include "base/assert.h"
#include "world/command_buffer.h"
#include "world/walk.h"

static bool is_placeholder(void *user, mica_entity *entity) {
    bool *found = user;
    *found |= mica_entity_is_placeholder(*entity);
    return !*found;
}

// Whether a value holds placeholders, which stand for one entity and not for many.
static bool has_placeholders(const mica_commands *commands, mica_component component, const void *value) {
    bool found = false;
    mi_type_patch_entities(commands->world->schema, component, (void *)(uintptr_t)value, is_placeholder, &found);
    return found;
}

static mica_result check_query(const mica_commands *commands, const mica_query *query, const char *call) {
    const mica_world *world = commands->world;
    if (query == NULL || query->world != world) {
        return mi_fail(&world->log, MICA_INVALID, call, "needs a query of {}", MI_TEXT(world->name));
    }
    return !mi_query_asks_changes(query)
               ? MICA_OK
               : mi_fail(&world->log, MICA_INVALID, call,
                         "the query ({}) asks for changes: who matches depends on who asks", MI_TEXT(query->text));
}

static mica_result check_type(const mica_commands *commands, const mi_type *type, const void *value, const char *call) {
    const mica_log_handler *log = &commands->world->log;
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    if (type->info.hooks.attach != NULL) {
        return mi_fail(log, MICA_UNSUPPORTED, call, "{} is a relation: link and unlink entities one by one",
                       MI_TEXT(type->info.name));
    }
    if (value != NULL && type->info.size == 0) {
        return mi_fail(log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
    }
    if (value != NULL && type->movable_only) {
        return mi_fail(log, MICA_NO_COPY, call, "{} has no copy hook, and each entity gets a value of its own",
                       MI_TEXT(type->info.name));
    }
    return value == NULL || !has_placeholders(commands, type->info.id, value)
               ? MICA_OK
               : mi_fail(log, MICA_STALE, call, "a value of {} for many entities holds a placeholder",
                         MI_TEXT(type->info.name));
}

// A copy of a value in the buffer's memory; NULL: out of memory.
static void *copy_value(mica_commands *commands, const mi_type *type, const void *value) {
    void *copy = mi_commands_take_memory(commands, type->info.size, type->info.align);
    return copy != NULL && mi_value_take(type, &commands->world->store.values, copy, value, 1) ? copy : NULL;
}

static mica_result record(mica_commands *commands, mica_query *query, const mi_type *type, const void *value,
                          mi_command_kind kind, const char *call) {
    mi_commands_begin_round(commands);
    mi_matching *matching = mi_commands_take_memory(commands, sizeof(*matching), _Alignof(mi_matching));
    void *copy = matching != NULL && value != NULL ? copy_value(commands, type, value) : NULL;
    if (matching == NULL || (value != NULL && copy == NULL)) {
        return mi_fail_memory(&commands->world->log, call, sizeof(*matching));
    }
    *matching = (mi_matching){.query = query, .value = copy};
    const mi_command command = {.data = matching, .component = type == NULL ? 0 : type->info.id, .kind = (uint8_t)kind};
    const mica_result result = mi_commands_push(commands, &command, call);
    if (result == MICA_OK) {
        mica_query_retain(query);
    } else if (copy != NULL) {
        mi_value_destruct(type, &commands->world->store.values, copy, 1);
    }
    return result;
}

mica_result mica_commands_destroy_matching(mica_commands *commands, mica_query *query) {
    const char *const call = "mica_commands_destroy_matching";
    mica_result result = mi_commands_check_open(commands, call);
    if (result == MICA_OK) {
        result = check_query(commands, query, call);
    }
    return result == MICA_OK ? record(commands, query, NULL, NULL, MI_COMMAND_DESTROY_MATCHING, call) : result;
}

static mica_result record_of_type(mica_commands *commands, mica_query *query, mica_component component,
                                  const void *value, mi_command_kind kind, const char *call) {
    mica_result result = mi_commands_check_open(commands, call);
    if (result == MICA_OK) {
        result = check_query(commands, query, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = mi_world_type(commands->world, component, call);
    result = check_type(commands, type, value, call);
    return result == MICA_OK ? record(commands, query, type, value, kind, call) : result;
}

mica_result mica_commands_add_matching(mica_commands *commands, mica_query *query, mica_component component,
                                       const void *value) {
    return record_of_type(commands, query, component, value, MI_COMMAND_ADD_MATCHING, "mica_commands_add_matching");
}

mica_result mica_commands_remove_matching(mica_commands *commands, mica_query *query, mica_component component) {
    return record_of_type(commands, query, component, NULL, MI_COMMAND_REMOVE_MATCHING,
                          "mica_commands_remove_matching");
}

void mi_matching_drop(const mica_commands *commands, const mi_command *command) {
    const mi_matching *matching = command->data;
    if (matching->value != NULL) {
        mi_value_destruct(mi_commands_type(commands, command->component), &commands->world->store.values,
                          matching->value, 1);
    }
    mica_query_release(matching->query);
}

// Applying

static void destroy_all(mica_commands *commands, const mica_entity *entities, uint32_t count) {
    uint32_t destroyed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t location;
        if (mi_slots_resolve(&commands->world->store.slots, entities[i], &location)) { // not with one before it
            mi_world_unmake(commands->world, entities[i]);
            destroyed_count++;
        }
    }
    mi_commands_count_done(commands, destroyed_count, 0);
}

// Puts a single command for each entity that lacks the component, or has it, behind all others. False: out of memory,
// and those that are there already own what they hold.
static bool append(mica_commands *commands, const mi_command *command, const mica_entity *entities, uint32_t count) {
    const mica_world *world = commands->world;
    const mi_matching *matching = command->data;
    const bool adds = command->kind == MI_COMMAND_ADD_MATCHING;
    const mi_type *type = mi_commands_type(commands, command->component);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t location = mi_slots_location(&world->store.slots, mica_entity_index(entities[i]));
        if (mi_world_has(world, entities[i], location, command->component) == adds) {
            continue;
        }
        void *value = matching->value != NULL ? copy_value(commands, type, matching->value) : NULL;
        if (matching->value != NULL && value == NULL) {
            return false;
        }
        commands->commands.data[commands->commands.count++] =
            (mi_command){.entity = entities[i],
                         .data = value,
                         .component = command->component,
                         .kind = (uint8_t)(adds ? MI_COMMAND_ADD : MI_COMMAND_REMOVE)};
    }
    return true;
}

static mica_result change_all(mica_commands *commands, const mi_command *command, const mica_entity *entities,
                              uint32_t count, const char *call) {
    const uint32_t first = commands->commands.count;
    if (!MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &commands->commands, (size_t)first + count)) {
        return mi_fail_memory(&commands->world->log, call, count * sizeof(mi_command));
    }
    mica_result result =
        append(commands, command, entities, count) ? MICA_OK : mi_fail_memory(&commands->world->log, call, 0);
    if (result == MICA_OK && commands->commands.count > first) {
        result = mi_fold_apply(commands, first, commands->commands.count, call);
    }
    while (commands->commands.count > first) { // what is not done matches again when it is tried again
        mi_command_drop(commands, &commands->commands.data[--commands->commands.count]);
    }
    return result;
}

mica_result mi_matching_apply(mica_commands *commands, uint32_t at, const char *call) {
    const mi_command command = commands->commands.data[at]; // which may move
    const mi_matching *matching = command.data;
    const mica_result result = mi_query_check(matching->query, call);
    const int32_t count = result == MICA_OK ? mi_query_list(matching->query, NULL, 0, call) : 0;
    if (count <= 0) {
        return count < 0 ? MICA_OUT_OF_MEMORY : result;
    }
    const size_t byte_size = (size_t)count * sizeof(mica_entity);
    mica_entity *entities = mi_commands_take_memory(commands, byte_size, _Alignof(mica_entity));
    if (entities == NULL) {
        return mi_fail_memory(&commands->world->log, call, byte_size);
    }
    if (mi_query_list(matching->query, entities, count, call) < 0) {
        return MICA_OUT_OF_MEMORY;
    }
    if (command.kind == MI_COMMAND_DESTROY_MATCHING) {
        destroy_all(commands, entities, (uint32_t)count);
        return MICA_OK;
    }
    return change_all(commands, &command, entities, (uint32_t)count, call);
}
