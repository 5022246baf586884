// Joining: what several threads have recorded becomes one buffer's, in an order that says nothing of threads.
//
// Commands move, their values stay in the arenas where they were recorded: the buffer borrows those until its round
// ends. Placeholders get new numbers, as if everything had been recorded into the one buffer; so what is applied does
// not depend on where the parts were cut.
//
// Invariants: a part's own placeholders follow each other, since each part was recorded in one go; a placeholder of
// another part stands for nothing, whichever thread recorded that one.
#include "base/assert.h"
#include "world/command_buffer.h"

typedef struct renaming {
    const mica_commands *from;
    const mica_commands *to;
    uint32_t begin, end; // numbers of the part's placeholders
    uint32_t first;      // what the first of them becomes in `to`
} renaming;

static mica_entity rename_entity(const renaming *names, mica_entity entity) {
    uint32_t number;
    if (!mica_entity_is_placeholder(entity) || !mi_commands_placeholder(names->from, entity, &number)) {
        return entity;
    }
    // One of another part becomes one that nobody has handed out.
    return number >= names->begin && number < names->end
               ? mi_commands_placeholder_of(names->to, names->first + (number - names->begin))
               : mica_entity_make(MICA_INDEX_MAX + 1u, MICA_GENERATION_MAX);
}

static bool rename_field(void *user, mica_entity *entity) {
    *entity = rename_entity(user, *entity);
    return true;
}

static void rename_value(renaming *names, mica_component component, void *value) {
    if (value != NULL) {
        mi_type_patch_entities(names->to->world->schema, component, value, rename_field, names);
    }
}

static void rename_command(renaming *names, mi_command *command) {
    command->entity = rename_entity(names, command->entity);
    if (command->kind == MI_COMMAND_SPAWN || command->kind == MI_COMMAND_SPAWN_LINKED) {
        const mi_recorded_value *list = command->data;
        for (uint32_t i = 0; i < command->count; i++) {
            if (list[i].has_placeholders) {
                rename_value(names, list[i].component, list[i].value);
            }
        }
    } else if (command->kind == MI_COMMAND_DESTROY_MANY) {
        mica_entity *entities = command->data;
        for (uint32_t i = 0; i < command->count; i++) {
            entities[i] = rename_entity(names, entities[i]);
        }
    } else if (command->has_placeholders) {
        rename_value(names, command->component, command->data);
    }
}

// Whether the buffer borrows from `from` already.
static bool borrows(const mica_commands *commands, const mica_commands *from) {
    bool found = false;
    for (uint32_t i = 0; i < commands->lenders.count; i++) {
        found |= commands->lenders.data[i] == from;
    }
    return found;
}

static void move_part(mica_commands *commands, const mi_commands_part *part) {
    renaming names = {.from = part->from,
                      .to = commands,
                      .begin = part->placeholder_begin,
                      .end = part->placeholder_end,
                      .first = commands->placeholders.count};
    for (uint32_t i = part->placeholder_begin; i < part->placeholder_end; i++) {
        commands->placeholders.data[commands->placeholders.count++] = MICA_NULL;
    }
    for (uint32_t i = part->begin; i < part->end; i++) {
        mi_command *command = &commands->commands.data[commands->commands.count++];
        *command = part->from->commands.data[i];
        rename_command(&names, command);
    }
    if (!borrows(commands, part->from)) {
        commands->lenders.data[commands->lenders.count++] = part->from;
    }
}

mica_result mi_commands_join(mica_commands *commands, const mi_commands_part *parts, uint32_t count, const char *call) {
    mi_heap *heap = &commands->world->heap;
    size_t command_count = 0;
    size_t placeholder_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        command_count += parts[i].end - parts[i].begin;
        placeholder_count += parts[i].placeholder_end - parts[i].placeholder_begin;
    }
    if (command_count == 0) {
        return MICA_OK;
    }
    mi_commands_begin_round(commands);
    command_count += commands->commands.count;
    placeholder_count += commands->placeholders.count;
    if (command_count > INT32_MAX || placeholder_count > MICA_INDEX_MAX) {
        return mi_fail(&commands->world->log, MICA_LIMIT, call,
                       "the buffers hold {} commands and {} placeholders together", MI_UINT(command_count),
                       MI_UINT(placeholder_count));
    }
    if (!MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &commands->commands, command_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &commands->placeholders, placeholder_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &commands->lenders, (size_t)commands->lenders.count + count)) {
        return mi_fail_memory(&commands->world->log, call, command_count * sizeof(mi_command));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].end > parts[i].begin) {
            move_part(commands, &parts[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        parts[i].from->commands.count = 0; // they are the buffer's
    }
    return MICA_OK;
}
