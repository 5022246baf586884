// Recording: command buffers, the memory of what is recorded, and placeholders.
//
// A command is an entry of fixed size; its values lie in an arena of blocks, where they stay until they are moved into
// place or dropped. So values with hooks are moved exactly once, and values of any alignment are at home.
//
// Invariants: a command owns its values until they are moved out (its pointer is NULL then) or it is dropped. All
// commands stand in the order of recording, and between calls none of them is done. A placeholder that is recorded, as
// target or inside a value, was handed out earlier in the same round; a round ends when the buffer gets empty. A record
// that is refused leaves no command, no placeholder, and the caller's value where it was. When the buffer gets empty it
// keeps its largest block, so that rounds alike allocate nothing.
#include "world/command_buffer.h"

#include <mica/visibility.h>

#define BLOCK_SIZE_LEAST ((size_t)4096)
#define BLOCK_ALIGN ((size_t)64)

// Memory

// Memory in the block that is being filled, or NULL. Size and padding together must not overflow.
static inline void *take_from_block(mica_commands *commands, size_t byte_size, size_t alignment) {
    const size_t padding = (size_t)(-(uintptr_t)commands->free_memory & (alignment - 1));
    const size_t taken_size = padding + byte_size;
    if (taken_size > commands->free_size || commands->free_memory == NULL) {
        return NULL;
    }
    uint8_t *memory = commands->free_memory + padding;
    commands->free_memory += taken_size;
    commands->free_size -= taken_size;
    return memory;
}

// Makes the last block, if there is one, the one that is being filled.
static void begin_block(mica_commands *commands) {
    const uint32_t count = commands->blocks.count;
    const mi_arena_block last = count > 0 ? commands->blocks.data[count - 1] : (mi_arena_block){NULL, 0};
    commands->free_memory = last.memory;
    commands->free_size = last.byte_size;
}

static bool add_block(mica_commands *commands, size_t byte_size) {
    mi_heap *heap = &commands->world->heap;
    const uint32_t count = commands->blocks.count;
    size_t block_size = count == 0 ? BLOCK_SIZE_LEAST : commands->blocks.data[count - 1].byte_size;
    if (count > 0 && !mi_size_product(block_size, 2, &block_size)) {
        return false;
    }
    block_size = block_size < byte_size ? byte_size : block_size;
    if (!MI_RESERVE(heap, MICA_MEMORY_COMMANDS, &commands->blocks, (size_t)count + 1)) {
        return false;
    }
    uint8_t *memory = mi_heap_allocate(heap, MICA_MEMORY_COMMANDS, block_size, BLOCK_ALIGN);
    if (memory == NULL) {
        return false;
    }
    commands->blocks.data[commands->blocks.count++] = (mi_arena_block){memory, block_size};
    begin_block(commands);
    return true;
}

void *mi_commands_take_memory(mica_commands *commands, size_t byte_size, size_t alignment) {
    if (byte_size > SIZE_MAX - MICA_ALIGN_MAX) {
        return NULL;
    }
    void *memory = take_from_block(commands, byte_size, alignment);
    return memory == NULL && add_block(commands, byte_size + alignment)
               ? take_from_block(commands, byte_size, alignment)
               : memory;
}

// Where the arena stood, to go back to.
typedef struct arena_mark {
    uint32_t block_count;
    uint8_t *free_memory;
    size_t free_size;
} arena_mark;

static arena_mark mark_memory(const mica_commands *commands) {
    return (arena_mark){commands->blocks.count, commands->free_memory, commands->free_size};
}

static void give_back_memory(mica_commands *commands, arena_mark mark) {
    if (commands->blocks.count == mark.block_count) {
        commands->free_memory = mark.free_memory;
        commands->free_size = mark.free_size;
    } else {
        begin_block(commands);
    }
}

static void release_blocks(mica_commands *commands, uint32_t kept_count) {
    const uint32_t released_count = commands->blocks.count - kept_count;
    for (uint32_t i = 0; i < released_count; i++) {
        const mi_arena_block block = commands->blocks.data[i];
        mi_heap_release(&commands->world->heap, MICA_MEMORY_COMMANDS, block.memory, block.byte_size, BLOCK_ALIGN);
    }
    for (uint32_t i = 0; i < kept_count; i++) {
        commands->blocks.data[i] = commands->blocks.data[released_count + i];
    }
    commands->blocks.count = kept_count;
    begin_block(commands);
}

// Buffers

void mi_command_drop_data(const mica_commands *commands, const mi_command *command) {
    const mica_allocator *allocator = &commands->world->store.values;
    switch ((mi_command_kind)command->kind) {
    case MI_COMMAND_SPAWN:
    case MI_COMMAND_SPAWN_LINKED: {
        const mi_recorded_value *list = command->data;
        for (uint32_t i = 0; i < command->count; i++) {
            if (list[i].value != NULL) {
                mi_value_destruct(mi_commands_type(commands, list[i].component), allocator, list[i].value, 1);
            }
        }
        break;
    }
    case MI_COMMAND_ADD:
    case MI_COMMAND_SET:
    case MI_COMMAND_ADD_LINK:
    case MI_COMMAND_LINK:
        mi_value_destruct(mi_commands_type(commands, command->component), allocator, command->data, 1);
        break;
    case MI_COMMAND_DESTROY_MATCHING:
    case MI_COMMAND_ADD_MATCHING:
    case MI_COMMAND_REMOVE_MATCHING:
        mi_matching_drop(commands, command);
        break;
    default: // the others own nothing that has hooks
        break;
    }
}

mica_commands *mi_commands_create(mica_world *world, bool lent) {
    mica_commands *commands =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_COMMANDS, sizeof(mica_commands), _Alignof(mica_commands));
    if (commands == NULL) {
        return NULL;
    }
    commands->world = world;
    commands->is_lent = lent;
    return commands;
}

static void end_own_round(mica_commands *commands) {
    commands->commands.count = 0;
    commands->round_over = true;
    if (commands->blocks.count > 0) {
        release_blocks(commands, 1);
    }
}

void mi_commands_end_round(mica_commands *commands) {
    end_own_round(commands);
    while (commands->lenders.count > 0) { // which lend to one buffer each, and borrow nothing
        end_own_round(commands->lenders.data[--commands->lenders.count]);
    }
}

static void drop_commands(mica_commands *commands) {
    for (uint32_t i = 0; i < commands->commands.count; i++) {
        mi_command_drop(commands, &commands->commands.data[i]);
    }
    mi_commands_end_round(commands);
}

void mi_commands_destroy(mica_commands *commands) {
    if (commands == NULL) {
        return;
    }
    mi_heap *heap = &commands->world->heap;
    drop_commands(commands);
    release_blocks(commands, 0);
    mi_fold_free(commands);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &commands->plain_types);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &commands->blocks);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &commands->lenders);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &commands->commands);
    MI_FREE(heap, MICA_MEMORY_COMMANDS, &commands->placeholders);
    mi_heap_release(heap, MICA_MEMORY_COMMANDS, commands, sizeof(*commands), _Alignof(mica_commands));
}

mica_commands *mica_commands_create(mica_world *world) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_commands_create", "needs a world");
        return NULL;
    }
    mica_commands *commands = mi_commands_create(world, false);
    if (commands == NULL) {
        mi_fail_memory(&world->log, "mica_commands_create", sizeof(*commands));
    }
    return commands;
}

void mica_commands_destroy(mica_commands *commands) {
    if (commands != NULL && !commands->is_lent && !commands->is_applying) {
        mi_commands_destroy(commands);
    }
}

void mica_commands_clear(mica_commands *commands) {
    if (commands != NULL && !commands->is_applying) {
        drop_commands(commands);
        commands->made_count = 0;
    }
}

int32_t mica_commands_count(const mica_commands *commands) {
    return commands == NULL ? 0 : (int32_t)commands->commands.count;
}

mica_commands_stats mica_commands_statistics(const mica_commands *commands) {
    return commands == NULL ? (mica_commands_stats){0, 0} : commands->stats;
}

mica_world *mica_commands_world(const mica_commands *commands) {
    return commands == NULL ? NULL : commands->world;
}

// Placeholders

// Handles carry 1 + a running number below MICA_INDEX_MAX.
mica_entity mi_commands_placeholder_of(const mica_commands *commands, uint32_t number) {
    const uint64_t running = ((uint64_t)commands->placeholder_base + number) % MICA_INDEX_MAX;
    return mica_entity_make((uint32_t)running + 1, MICA_GENERATION_MAX);
}

bool mi_commands_placeholder(const mica_commands *commands, mica_entity placeholder, uint32_t *number) {
    const uint32_t index = mica_entity_index(placeholder);
    if (index == 0 || index > MICA_INDEX_MAX) {
        return false;
    }
    const uint32_t running = index - 1;
    const uint32_t base = commands->placeholder_base;
    *number = running >= base ? running - base : MICA_INDEX_MAX - base + running;
    return *number < commands->placeholders.count;
}

uint32_t mi_commands_next_placeholder(const mica_commands *commands) {
    const uint64_t next = commands == NULL ? 0 : (uint64_t)commands->placeholder_base + commands->placeholders.count;
    return (uint32_t)(next % MICA_INDEX_MAX);
}

void mi_commands_rewind(mica_commands *commands, uint32_t next_placeholder) {
    drop_commands(commands);
    commands->placeholder_base = next_placeholder;
    commands->placeholders.count = 0;
    commands->made_count = 0;
}

mica_entity mica_commands_resolve(const mica_commands *commands, mica_entity placeholder) {
    uint32_t number;
    if (commands == NULL || !mica_entity_is_placeholder(placeholder) ||
        !mi_commands_placeholder(commands, placeholder, &number) || number >= commands->made_count) {
        return MICA_NULL;
    }
    return commands->placeholders.data[number];
}

// Recording

// Whether a handle can be recorded; what it names is looked at when the buffer is applied.
static bool can_record(const mica_commands *commands, mica_entity entity) {
    uint32_t number;
    return mica_entity_is_placeholder(entity)
               ? !commands->round_over && mi_commands_placeholder(commands, entity, &number)
               : !mica_entity_is_null(entity);
}

static mica_result check_target(const mica_commands *commands, mica_entity entity, const char *call) {
    if (can_record(commands, entity)) {
        return MICA_OK;
    }
    return mi_fail(&commands->world->log, MICA_STALE, call, "{} stands for nothing in this buffer", MI_ENTITY(entity));
}

// Whether anything can be recorded into the buffer.
static bool is_open(const mica_commands *commands, const char *call) {
    if (commands == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a command buffer");
        return false;
    }
    if (commands->is_applying) {
        mi_fail_plain(&commands->world->log, MICA_LOCKED, call, "the command buffer is being applied");
        return false;
    }
    return true;
}

void mi_commands_begin_round(mica_commands *commands) {
    if (commands->round_over) {
        commands->placeholder_base = mi_commands_next_placeholder(commands);
        commands->placeholders.count = 0;
        commands->made_count = 0;
        commands->round_over = false;
    }
}

mi_commands_part mi_commands_begin_part(mica_commands *commands) {
    mi_commands_begin_round(commands);
    return (mi_commands_part){
        .from = commands, .begin = commands->commands.count, .placeholder_begin = commands->placeholders.count};
}

void mi_commands_end_part(mi_commands_part *part) {
    part->end = part->from->commands.count;
    part->placeholder_end = part->from->placeholders.count;
}

// Makes room for one command and, with `makes_entity`, one placeholder, and begins a new round if the last one is over.
static mica_result open_record(mica_commands *commands, bool makes_entity, const char *call) {
    mica_world *world = commands->world;
    mi_commands_begin_round(commands);
    if (commands->commands.count == INT32_MAX || (makes_entity && commands->placeholders.count == MICA_INDEX_MAX)) {
        return mi_fail(&world->log, MICA_LIMIT, call, "the buffer holds {} commands and {} placeholders already",
                       MI_UINT(commands->commands.count), MI_UINT(commands->placeholders.count));
    }
    if ((commands->commands.count == commands->commands.capacity &&
         !MI_RESERVE(&world->heap, MICA_MEMORY_COMMANDS, &commands->commands, (size_t)commands->commands.count + 1)) ||
        (makes_entity && !MI_RESERVE(&world->heap, MICA_MEMORY_COMMANDS, &commands->placeholders,
                                     (size_t)commands->placeholders.count + 1))) {
        return mi_fail_memory(&world->log, call, sizeof(mi_command));
    }
    return MICA_OK;
}

// Puts the command into the room that open_record made.
static void push(mica_commands *commands, const mi_command *command) {
    commands->commands.data[commands->commands.count++] = *command;
}

mica_result mi_commands_check_open(const mica_commands *commands, const char *call) {
    return is_open(commands, call) ? MICA_OK : mica_last_result();
}

mica_result mi_commands_push(mica_commands *commands, const mi_command *command, const char *call) {
    const mica_result result = open_record(commands, false, call);
    if (result == MICA_OK) {
        push(commands, command);
    }
    return result;
}

// Hands out the placeholder that open_record made room for.
static mica_entity push_placeholder(mica_commands *commands) {
    const mica_entity placeholder = mi_commands_placeholder_of(commands, commands->placeholders.count);
    commands->placeholders.data[commands->placeholders.count++] = MICA_NULL;
    return placeholder;
}

typedef struct value_scan {
    const mica_commands *commands;
    bool has_placeholders;
    mica_entity refused; // null: none
} value_scan;

static bool scan_entity(void *user, mica_entity *entity) {
    value_scan *scan = user;
    if (mica_entity_is_placeholder(*entity)) {
        scan->has_placeholders = true;
        if (!can_record(scan->commands, *entity)) {
            scan->refused = *entity;
        }
    }
    return mica_entity_is_null(scan->refused);
}

// Looks for placeholders in a value, and refuses those that stand for nothing.
static mica_result scan_value(const mica_commands *commands, const mi_type *type, const void *value,
                              bool *has_placeholders, const char *call) {
    const mica_schema *schema = commands->world->schema;
    *has_placeholders = false;
    const mica_result reflected = mi_type_reflect(schema, type->info.id);
    if (reflected == MICA_OUT_OF_MEMORY) {
        return mi_fail_memory(&commands->world->log, call, type->info.size);
    }
    if (reflected != MICA_OK || !mi_type_has_entities(schema, type->info.id)) {
        return MICA_OK;
    }
    value_scan scan = {.commands = commands, .refused = MICA_NULL};
    mi_type_patch_entities(schema, type->info.id, (void *)(uintptr_t)value, scan_entity, &scan);
    if (!mica_entity_is_null(scan.refused)) {
        return mi_fail(&commands->world->log, MICA_STALE, call,
                       "{} in the value of {} stands for nothing in this buffer", MI_ENTITY(scan.refused),
                       MI_TEXT(type->info.name));
    }
    *has_placeholders = scan.has_placeholders;
    return MICA_OK;
}

static mica_result fail_tag_value(const mica_commands *commands, const mi_type *type, const char *call) {
    return mi_fail(&commands->world->log, MICA_NO_VALUE, call, "{} is a tag and has no value",
                   MI_TEXT(type->info.name));
}

// Plain types
//
// Most commands concern types without hooks and without entities inside, and concern the same few types again and
// again. What the general way finds out about such a type never changes, so the buffer remembers it.

static void remember_plain(mica_commands *commands, const mi_type *type) {
    const mica_schema *schema = commands->world->schema;
    const mica_component component = type->info.id;
    if (mi_type_has_hooks(type) || type->info.hooks.attach != NULL || type->info.size > UINT16_MAX ||
        (type->info.size > 0 &&
         (mi_type_reflect(schema, component) != MICA_OK || mi_type_has_entities(schema, component)))) {
        return;
    }
    const uint32_t count = commands->plain_types.count;
    if (component >= count) {
        if (!MI_RESERVE(&commands->world->heap, MICA_MEMORY_COMMANDS, &commands->plain_types, component + 1u)) {
            return; // nothing is lost but time
        }
        memset(commands->plain_types.data + count, 0, (component + 1u - count) * sizeof(mi_plain_type));
        commands->plain_types.count = component + 1u;
    }
    commands->plain_types.data[component] =
        (mi_plain_type){(uint16_t)type->info.size, (uint16_t)(type->info.size > 0 ? type->info.align : 1)};
}

// Records an add, set or remove of a plain type on an entity that is no placeholder, if there is room; false: nothing
// was done, and the general way does or refuses it.
static inline bool record_plain(mica_commands *commands, mica_entity entity, mica_component component,
                                const void *value, mi_command_kind kind) {
    if (commands == NULL || component >= commands->plain_types.count || commands->is_applying || commands->round_over ||
        mica_entity_is_null(entity) || mica_entity_is_placeholder(entity) ||
        commands->commands.count == commands->commands.capacity || commands->commands.count == INT32_MAX) {
        return false;
    }
    const mi_plain_type type = commands->plain_types.data[component];
    void *data = NULL;
    if (value != NULL) {
        data = type.size > 0 ? take_from_block(commands, type.size, type.align) : NULL;
        if (data == NULL) {
            return false;
        }
    } else if (type.align == 0) {
        return false;
    }
    commands->commands.data[commands->commands.count++] =
        (mi_command){.entity = entity, .data = data, .component = component, .kind = (uint8_t)kind};
    if (data != NULL) {
        mi_value_copy_bytes(data, value, type.size);
    }
    return true;
}

// Records a command with at most one value: checks everything, then takes the value. `command` says the rest.
static mica_result record(mica_commands *commands, const mi_type *type, mi_command command, const void *value,
                          const char *call) {
    const mica_world *world = commands->world;
    mica_result result = check_target(commands, command.entity, call);
    if (result == MICA_OK && value != NULL) {
        result = type->info.size == 0 ? fail_tag_value(commands, type, call)
                                      : scan_value(commands, type, value, &command.has_placeholders, call);
    }
    if (result == MICA_OK) {
        result = open_record(commands, false, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    command.data = NULL;
    if (value != NULL) {
        const arena_mark mark = mark_memory(commands);
        command.data = mi_commands_take_memory(commands, type->info.size, type->info.align);
        if (command.data == NULL || !mi_value_take(type, &world->store.values, command.data, value, 1)) {
            give_back_memory(commands, mark);
            return mi_fail_memory(&world->log, call, type->info.size);
        }
    }
    push(commands, &command);
    return MICA_OK;
}

// An add, set or remove.
typedef struct recorded_verb {
    const char *call;
    mi_command_kind plain;
    mi_command_kind related; // of a relation
} recorded_verb;

static const recorded_verb verb_add = {"mica_commands_add", MI_COMMAND_ADD, MI_COMMAND_ADD_LINK};
static const recorded_verb verb_set = {"mica_commands_set", MI_COMMAND_SET, MI_COMMAND_LINK};
static const recorded_verb verb_remove = {"mica_commands_remove", MI_COMMAND_REMOVE, MI_COMMAND_UNLINK};

static mica_result record_verb(mica_commands *commands, mica_entity entity, mica_component component, const void *value,
                               const recorded_verb *verb) {
    if (!is_open(commands, verb->call)) {
        return mica_last_result();
    }
    const mi_type *type = mi_world_type(commands->world, component, verb->call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    const mi_command_kind kind = type->info.hooks.attach != NULL ? verb->related : verb->plain;
    const mi_command command = {.entity = entity, .component = component, .kind = (uint8_t)kind};
    const mica_result result = record(commands, type, command, value, verb->call);
    if (result == MICA_OK) {
        remember_plain(commands, type);
    }
    return result;
}

mica_result mica_commands_add(mica_commands *commands, mica_entity entity, mica_component component,
                              const void *value) {
    return MICA_LIKELY(record_plain(commands, entity, component, value, MI_COMMAND_ADD))
               ? MICA_OK
               : record_verb(commands, entity, component, value, &verb_add);
}

// A set without a value.
static mica_result refuse_set(const mica_commands *commands, mica_component component) {
    const char *const call = verb_set.call;
    const mi_type *type = mi_world_type(commands->world, component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    return type->info.size == 0
               ? fail_tag_value(commands, type, call)
               : mi_fail(&commands->world->log, MICA_INVALID, call, "needs a value of {}", MI_TEXT(type->info.name));
}

mica_result mica_commands_set(mica_commands *commands, mica_entity entity, mica_component component,
                              const void *value) {
    if (MICA_UNLIKELY(value == NULL && commands != NULL)) {
        return refuse_set(commands, component);
    }
    return MICA_LIKELY(record_plain(commands, entity, component, value, MI_COMMAND_SET))
               ? MICA_OK
               : record_verb(commands, entity, component, value, &verb_set);
}

mica_result mica_commands_remove(mica_commands *commands, mica_entity entity, mica_component component) {
    return MICA_LIKELY(record_plain(commands, entity, component, NULL, MI_COMMAND_REMOVE))
               ? MICA_OK
               : record_verb(commands, entity, component, NULL, &verb_remove);
}

// Many of them
//
// They are recorded as so many single ones, so that they fold as those do.

// Takes the commands from number `first` on back out. Values of move-only types go back to where they came from.
static void take_back_many(mica_commands *commands, uint32_t first, const mi_type *type, const void *values) {
    for (uint32_t i = first; i < commands->commands.count; i++) {
        mi_command *command = &commands->commands.data[i];
        if (values != NULL && type->movable_only) {
            uint8_t *value = (uint8_t *)(uintptr_t)values + (size_t)(i - first) * type->info.size;
            mi_value_move(type, &commands->world->store.values, value, command->data, 1);
            command->data = NULL;
        }
        mi_command_drop(commands, command);
    }
    commands->commands.count = first;
}

static mica_result check_many(const mica_commands *commands, const mica_entity *entities, int32_t count,
                              const mi_type *type, const char *call) {
    const mica_log_handler *log = &commands->world->log;
    if (count < 0 || (count > 0 && entities == NULL)) {
        return mi_fail(log, MICA_INVALID, call, "there are no {} entities", MI_INT(count));
    }
    if (type->info.hooks.attach != NULL) {
        return mi_fail(log, MICA_NO_ACCESS, call, "{} is a relation: its own verbs link", MI_TEXT(type->info.name));
    }
    for (int32_t i = 0; i < count; i++) {
        if (!can_record(commands, entities[i])) {
            return mi_fail(log, MICA_STALE, call, "{} at index {} stands for nothing in this buffer",
                           MI_ENTITY(entities[i]), MI_INT(i));
        }
    }
    return MICA_OK;
}

static mica_result record_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                               mica_component component, const void *values, const recorded_verb *verb,
                               const char *call) {
    if (!is_open(commands, call)) {
        return mica_last_result();
    }
    const mi_type *type = mi_world_type(commands->world, component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    mica_result result = check_many(commands, entities, count, type, call);
    const bool sets = verb->plain == MI_COMMAND_SET;
    if (result == MICA_OK && type->info.size == 0 && (values != NULL || sets)) {
        result = fail_tag_value(commands, type, call);
    } else if (result == MICA_OK && sets && count > 0 && values == NULL) {
        result = mi_fail(&commands->world->log, MICA_INVALID, call, "needs values of {}", MI_TEXT(type->info.name));
    }
    const uint32_t first = commands->commands.count;
    const uint8_t *value = values;
    for (int32_t i = 0; result == MICA_OK && i < count; i++) {
        if (!record_plain(commands, entities[i], component, value, verb->plain)) {
            result = record_verb(commands, entities[i], component, value, verb);
        }
        if (result == MICA_STALE) { // an entity in a value: targets have been looked at
            mi_fail(&commands->world->log, result, call, "an entity in values[{}] stands for nothing in this buffer",
                    MI_INT(i));
        }
        value = value == NULL ? NULL : value + type->info.size;
    }
    if (result != MICA_OK) {
        take_back_many(commands, first, type, values);
    }
    return result;
}

mica_result mica_commands_add_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                   mica_component component, const void *values) {
    return record_many(commands, entities, count, component, values, &verb_add, "mica_commands_add_many");
}

mica_result mica_commands_set_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                   mica_component component, const void *values) {
    return record_many(commands, entities, count, component, values, &verb_set, "mica_commands_set_many");
}

mica_result mica_commands_remove_many(mica_commands *commands, const mica_entity *entities, int32_t count,
                                      mica_component component) {
    return record_many(commands, entities, count, component, NULL, &verb_remove, "mica_commands_remove_many");
}

static mica_result record_relation(mica_commands *commands, const mi_command *command, const void *value,
                                   const char *call) {
    if (!is_open(commands, call)) {
        return mica_last_result();
    }
    const mi_type *type = mi_world_type(commands->world, command->component, call);
    return type == NULL ? MICA_UNKNOWN : record(commands, type, *command, value, call);
}

mica_result mi_commands_link(mica_commands *commands, mica_entity entity, mica_component relation, const void *value,
                             uint32_t flags, const char *call) {
    const mi_command command = {.entity = entity, .component = relation, .flags = flags, .kind = MI_COMMAND_LINK};
    return record_relation(commands, &command, value, call);
}

mica_result mi_commands_unlink(mica_commands *commands, mica_entity entity, mica_component relation, uint32_t flags,
                               const char *call) {
    const mi_command command = {.entity = entity, .component = relation, .flags = flags, .kind = MI_COMMAND_UNLINK};
    return record_relation(commands, &command, NULL, call);
}

mica_result mi_commands_subtree(mica_commands *commands, mica_entity root, mica_component relation, const char *call) {
    const mi_command command = {.entity = root, .component = relation, .kind = MI_COMMAND_SUBTREE};
    return record_relation(commands, &command, NULL, call);
}

mica_result mica_commands_destroy_entity(mica_commands *commands, mica_entity entity) {
    const char *const call = "mica_commands_destroy_entity";
    const mi_command command = {.entity = entity, .kind = MI_COMMAND_DESTROY};
    return is_open(commands, call) ? record(commands, NULL, command, NULL, call) : mica_last_result();
}

mica_result mica_commands_destroy_many(mica_commands *commands, const mica_entity *entities, int32_t count) {
    const char *const call = "mica_commands_destroy_many";
    if (!is_open(commands, call)) {
        return mica_last_result();
    }
    const mica_log_handler *log = &commands->world->log;
    if (count < 0 || (count > 0 && entities == NULL)) {
        return mi_fail(log, MICA_INVALID, call, "there are no {} entities", MI_INT(count));
    }
    if (count == 0) {
        return MICA_OK;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!can_record(commands, entities[i])) {
            return mi_fail(log, MICA_STALE, call, "{} at index {} stands for nothing in this buffer",
                           MI_ENTITY(entities[i]), MI_INT(i));
        }
    }
    const mica_result result = open_record(commands, false, call);
    if (result != MICA_OK) {
        return result;
    }
    size_t byte_size;
    mica_entity *list = mi_size_product((size_t)count, sizeof(mica_entity), &byte_size)
                            ? mi_commands_take_memory(commands, byte_size, _Alignof(mica_entity))
                            : NULL;
    if (list == NULL) {
        return mi_fail_memory(log, call, (size_t)count * sizeof(mica_entity));
    }
    memcpy(list, entities, byte_size);
    push(commands, &(mi_command){.data = list, .count = (uint32_t)count, .kind = MI_COMMAND_DESTROY_MANY});
    return MICA_OK;
}

mica_entity mica_commands_clone(mica_commands *commands, mica_entity source) {
    const char *const call = "mica_commands_clone";
    if (!is_open(commands, call) || check_target(commands, source, call) != MICA_OK ||
        open_record(commands, true, call) != MICA_OK) {
        return MICA_NULL;
    }
    push(commands, &(mi_command){.entity = source, .kind = MI_COMMAND_CLONE});
    return push_placeholder(commands);
}

// Spawning

// Resolves and checks one component of a spawn; its type, or NULL with the error set.
static const mi_type *check_spawn_value(mica_commands *commands, const mica_value *value, mi_recorded_value *recorded,
                                        const char *call) {
    mica_world *world = commands->world;
    const mica_component component = value->type != NULL ? mica_world_component(world, value->type) : value->component;
    if (value->type != NULL && component == 0) {
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL) {
        return NULL;
    }
    *recorded = (mi_recorded_value){.value = NULL, .component = component};
    if (value->value == NULL) {
        return type;
    }
    if (type->info.size == 0) {
        fail_tag_value(commands, type, call);
        return NULL;
    }
    return scan_value(commands, type, value->value, &recorded->has_placeholders, call) == MICA_OK ? type : NULL;
}

// Checks the components of a spawn and writes them to `list`, without values. A component's place in the fold's scratch
// says whether it was named before.
static bool check_spawn(mica_commands *commands, const mica_value *values, uint32_t count, mi_recorded_value *list,
                        bool *is_linked, const char *call) {
    uint32_t checked_count = 0;
    while (checked_count < count) {
        mi_recorded_value *recorded = &list[checked_count];
        const mi_type *type = check_spawn_value(commands, &values[checked_count], recorded, call);
        if (type == NULL) {
            break;
        }
        if (!mi_fold_reserve_places(commands)) {
            mi_fail_memory(&commands->world->log, call, sizeof(uint32_t));
            break;
        }
        uint32_t *place = &commands->fold.places.data[recorded->component];
        if (*place != 0) {
            mi_fail(&commands->world->log, MICA_EXISTS, call, "{} is named twice", MI_TEXT(type->info.name));
            break;
        }
        *place = 1;
        *is_linked = *is_linked || type->info.hooks.attach != NULL;
        checked_count++;
    }
    for (uint32_t i = 0; i < checked_count; i++) {
        commands->fold.places.data[list[i].component] = 0;
    }
    return checked_count == count;
}

// Takes the values of a spawn. Copies come first, since they can fail; move-only values leave the caller's hands when
// nothing can fail any more.
static bool take_spawn_values(mica_commands *commands, const mica_value *values, uint32_t count,
                              mi_recorded_value *list) {
    const mica_allocator *allocator = &commands->world->store.values;
    for (uint32_t i = 0; i < count; i++) {
        if (values[i].value == NULL) {
            continue;
        }
        const mi_type *type = mi_commands_type(commands, list[i].component);
        void *memory = mi_commands_take_memory(commands, type->info.size, type->info.align);
        if (memory == NULL || (!type->movable_only && !mi_value_copy(type, allocator, memory, values[i].value, 1))) {
            for (uint32_t k = 0; k < i; k++) {
                type = mi_commands_type(commands, list[k].component);
                if (list[k].value != NULL && !type->movable_only) {
                    mi_value_destruct(type, allocator, list[k].value, 1);
                }
            }
            return false;
        }
        list[i].value = memory;
    }
    for (uint32_t i = 0; i < count; i++) {
        const mi_type *type = mi_commands_type(commands, list[i].component);
        if (values[i].value != NULL && type->movable_only) {
            mi_value_take(type, allocator, list[i].value, values[i].value, 1);
        }
    }
    return true;
}

mica_entity mica_commands_spawn(mica_commands *commands, const mica_value *values, int32_t count) {
    const char *const call = "mica_commands_spawn";
    if (!is_open(commands, call)) {
        return MICA_NULL;
    }
    const mica_log_handler *log = &commands->world->log;
    if (count < 0 || (count > 0 && values == NULL)) {
        mi_fail(log, MICA_INVALID, call, "there are no {} values", MI_INT(count));
        return MICA_NULL;
    }
    const arena_mark mark = mark_memory(commands);
    mi_command spawn = {.count = (uint32_t)count, .kind = MI_COMMAND_SPAWN};
    size_t byte_size;
    spawn.data = mi_size_product(spawn.count, sizeof(mi_recorded_value), &byte_size)
                     ? mi_commands_take_memory(commands, byte_size, _Alignof(mi_recorded_value))
                     : NULL;
    if (spawn.data == NULL) {
        mi_fail_memory(log, call, (size_t)count * sizeof(mi_recorded_value));
        return MICA_NULL;
    }
    bool is_linked = false;
    if (!check_spawn(commands, values, spawn.count, spawn.data, &is_linked, call) ||
        open_record(commands, true, call) != MICA_OK) {
        give_back_memory(commands, mark);
        return MICA_NULL;
    }
    if (!take_spawn_values(commands, values, spawn.count, spawn.data)) {
        give_back_memory(commands, mark);
        mi_fail_memory(log, call, (size_t)count * sizeof(mi_recorded_value));
        return MICA_NULL;
    }
    if (is_linked) {
        spawn.kind = MI_COMMAND_SPAWN_LINKED;
    }
    spawn.entity = push_placeholder(commands);
    push(commands, &spawn);
    return spawn.entity;
}

// Visibility

mica_result mica_commands_enable(mica_commands *commands, mica_entity entity, bool enabled) {
    const char *const call = "mica_commands_enable";
    const mi_command command = {.entity = entity, .enabled = enabled, .kind = MI_COMMAND_ENABLE};
    return is_open(commands, call) ? record(commands, NULL, command, NULL, call) : mica_last_result();
}

mica_result mica_commands_enable_component(mica_commands *commands, mica_entity entity, mica_component component,
                                           bool enabled) {
    const char *const call = "mica_commands_enable_component";
    if (!is_open(commands, call)) {
        return mica_last_result();
    }
    const mi_type *type = mi_world_type(commands->world, component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    if (!type->info.toggle) {
        return mi_fail(&commands->world->log, MICA_INVALID, call, "{} does not have the trait toggle",
                       MI_TEXT(type->info.name));
    }
    const mi_command command = {
        .entity = entity, .enabled = enabled, .component = component, .kind = MI_COMMAND_ENABLE_COMPONENT};
    return record(commands, type, command, NULL, call);
}

mica_result mica_commands_kill(mica_commands *commands, mica_entity entity) {
    const char *const call = "mica_commands_kill";
    const mi_command command = {.entity = entity, .kind = MI_COMMAND_KILL};
    return is_open(commands, call) ? record(commands, NULL, command, NULL, call) : mica_last_result();
}

mica_result mica_commands_refresh(mica_commands *commands) {
    const char *const call = "mica_commands_refresh";
    const mica_result result = is_open(commands, call) ? open_record(commands, false, call) : mica_last_result();
    if (result == MICA_OK) {
        push(commands, &(mi_command){.kind = MI_COMMAND_REFRESH});
    }
    return result;
}
