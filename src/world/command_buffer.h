// The inside of a command buffer, shared by recording (commands.c), applying (commands_apply.c) and folding
// (commands_fold.c).
#pragma once

#include "base/array.h"
#include "store/value.h"
#include "world/commands.h"

typedef enum mi_command_kind {
    MI_COMMAND_DONE, // applied, skipped or dropped: owns nothing any more
    // These may be folded, as long as no relation is among their components.
    MI_COMMAND_SPAWN,
    MI_COMMAND_ADD,
    MI_COMMAND_SET,
    MI_COMMAND_REMOVE,
    // These end a fold.
    MI_COMMAND_SPAWN_LINKED, // a spawn with a relation among its values
    MI_COMMAND_CLONE,
    MI_COMMAND_DESTROY,
    MI_COMMAND_DESTROY_MANY,
    MI_COMMAND_ADD_LINK, // an add of a relation: not if there is a link already
    MI_COMMAND_LINK,
    MI_COMMAND_UNLINK,
    MI_COMMAND_SUBTREE,
    MI_COMMAND_ENABLE,
    MI_COMMAND_ENABLE_COMPONENT,
    MI_COMMAND_KILL,
    MI_COMMAND_REFRESH, // has no target, nor have those that follow
    MI_COMMAND_DESTROY_MATCHING,
    MI_COMMAND_ADD_MATCHING,
    MI_COMMAND_REMOVE_MATCHING
} mi_command_kind;

// One value of a spawn.
typedef struct mi_recorded_value {
    void *value; // in the arena, owned; NULL: constructed, or moved out already
    mica_component component;
    bool has_placeholders; // somewhere among its entity fields
} mi_recorded_value;

// Whom a command on all that match is about.
typedef struct mi_matching {
    mica_query *query; // a reference
    void *value;       // in the arena, owned: each entity gets a copy; NULL: constructed, or none is given
} mi_matching;

typedef struct mi_command {
    mica_entity entity; // the target or source; of a spawn, its placeholder
    // In the arena. Spawns: mi_recorded_value[count]; destroy-many: mica_entity[count]; adds, sets and links: the value
    // itself, owned, NULL if it is to be constructed or was moved out; of all that match, a mi_matching.
    void *data;
    union {
        uint32_t count;
        uint32_t flags; // of a link or unlink, the relation's own
        bool enabled;
    };
    mica_component component;
    uint8_t kind; // a mi_command_kind
    bool has_placeholders;
} mi_command;

typedef struct mi_arena_block {
    uint8_t *memory;
    size_t byte_size;
} mi_arena_block;

// What recording has to know of a type whose values are bytes without placeholders, and which is no relation.
typedef struct mi_plain_type {
    uint16_t size;  // 0: a tag
    uint16_t align; // 0: this is no such type, or not known to be one
} mi_plain_type;

// How a command of a fold is linked with the others on the same entity.
typedef struct mi_command_link {
    uint32_t next; // number of the next one, unless this is the last
    uint32_t last; // of the first one: number of the last
} mi_command_link;

// What a group leaves of a component, if it is there in the end: the value that `value` points to (kept in its
// command), or a constructed one where either pointer is NULL.
typedef struct mi_pending {
    void **value;
    void *aside;   // the constructed value if it was made before the edit, owned; NULL: none
    mi_pool *pool; // where the component lives; NULL: in tables
    mica_component component;
    bool has_placeholders;
    bool is_given;    // the edit names the value
    bool was_there;   // in the pool, before the group
    bool is_there;    // in the pool, by now
    bool ends_toggle; // it was removed, and its type can be disabled
} mi_pending;

// Scratch memory of folding, kept from fold to fold.
typedef struct mi_fold {
    MI_ARRAY(mi_command_link) links; // by number of the command in the fold
    MI_ARRAY(uint32_t) cells;        // a hash table of the entities' first commands, by handle
    MI_ARRAY(mi_pending) pending;
    MI_ARRAY(uint32_t) places; // by component: number in `pending` + 1; all 0 between groups
    MI_ARRAY(mi_change) changes;
    MI_ARRAY(mi_element) elements;
    MI_ARRAY(mica_component) renewed; // disabled ones that the group has removed and added again
} mi_fold;

struct mica_commands {
    mica_world *world;
    bool is_lent;
    bool is_applying;
    uint32_t at;     // while it is applied: the command, or the first of the group, that is being applied
    bool round_over; // everything was applied or dropped: placeholders can be resolved, no longer recorded
    MI_ARRAY(mi_command) commands;
    // What stands behind the placeholders of this round; null where the making was skipped. The placeholders carry
    // running numbers, which begin at `placeholder_base` and go on from round to round, so that one of an earlier round
    // is told apart.
    MI_ARRAY(mica_entity) placeholders;
    uint32_t placeholder_base;
    uint32_t made_count;                 // placeholders before this one are made, or their making was skipped
    MI_ARRAY(mi_plain_type) plain_types; // by component
    // Values never move between recording and applying, so memory grows by blocks, of which the last is filled.
    MI_ARRAY(mi_arena_block) blocks;
    MI_ARRAY(mica_commands *) lenders; // buffers whose arenas hold values of commands that were joined
    uint8_t *free_memory;              // in the last block
    size_t free_size;
    mica_commands_stats stats;
    mi_fold fold;
};

static inline const mi_type *mi_commands_type(const mica_commands *commands, mica_component component) {
    return mi_schema_type(commands->world->schema, component);
}

// The placeholder of a number, handed out or to be handed out.
mica_entity mi_commands_placeholder_of(const mica_commands *commands, uint32_t number);

// Begins a new round if the last one is over.
void mi_commands_begin_round(mica_commands *commands);

// The number of a placeholder among those of the buffer's round; false: it is none of them.
bool mi_commands_placeholder(const mica_commands *commands, mica_entity placeholder, uint32_t *number);

// What stands for `entity` in the world: the handle itself, or that of a placeholder made already.
static inline mica_entity mi_commands_target(const mica_commands *commands, mica_entity entity) {
    uint32_t number;
    if (mica_entity_is_placeholder(entity) && mi_commands_placeholder(commands, entity, &number) &&
        number < commands->made_count) {
        return commands->placeholders.data[number];
    }
    return entity;
}

// Makes room in `places` for every component of the schema.
bool mi_fold_reserve_places(mica_commands *commands);

// MICA_OK if anything can be recorded into the buffer; MICA_INVALID, MICA_LOCKED set for `call`.
mica_result mi_commands_check_open(const mica_commands *commands, const char *call);
// Puts a command behind all others: MICA_LIMIT, MICA_OUT_OF_MEMORY.
mica_result mi_commands_push(mica_commands *commands, const mi_command *command, const char *call);

// Applies a command on all that match; what it owns stays. And ends what it owns.
mica_result mi_matching_apply(mica_commands *commands, uint32_t at, const char *call);
void mi_matching_drop(const mica_commands *commands, const mi_command *command);

// Ends what a command owns. Its kind becomes MI_COMMAND_DONE.
void mi_command_drop_data(const mica_commands *commands, const mi_command *command);
static inline void mi_command_drop(const mica_commands *commands, mi_command *command) {
    if (command->data != NULL) {
        mi_command_drop_data(commands, command);
    }
    command->kind = MI_COMMAND_DONE;
}

// All commands are done with: the buffer is empty.
void mi_commands_end_round(mica_commands *commands);

// Applies the commands from `begin` up to `end`, which may be folded all; or one MI_COMMAND_SPAWN_LINKED whose entity
// is made and linked. On failure those that were applied are MI_COMMAND_DONE.
mica_result mi_fold_apply(mica_commands *commands, uint32_t begin, uint32_t end, const char *call);

// Replaces the placeholders in a value that is about to be given to an entity. Entities that they stand for and that
// are not made yet are made, without components.
mica_result mi_commands_patch(mica_commands *commands, mica_component component, void *value, const char *call);

// Counts commands that are done with, in the buffer and in its world.
static inline void mi_commands_count_done(mica_commands *commands, uint32_t applied_count, uint32_t skipped_count) {
    commands->stats.applied_count += applied_count;
    if (skipped_count > 0) {
        commands->stats.skipped_count += skipped_count;
        commands->world->command_skipped_count += skipped_count;
    }
}

// Raw memory of the buffer's arena, good until the buffer is empty; NULL when there is none.
void *mi_commands_take_memory(mica_commands *commands, size_t byte_size, size_t alignment);

void mi_fold_free(mica_commands *commands);
