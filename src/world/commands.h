// Command buffers, as the parts further up use them.
#pragma once

#include "world/world.h"

// A buffer that the library lends (of a system, of walks): mica_commands_destroy leaves it alone.
mica_commands *mi_commands_create(mica_world *world, bool lent);
void mi_commands_destroy(mica_commands *commands);

// Applies without looking at the structure lock. As mica_commands_apply.
mica_result mi_commands_apply(mica_commands *commands, const char *call);

// What a buffer, which holds nothing else by then, was given in one go: commands and placeholders by number.
typedef struct mi_commands_part {
    mica_commands *from;
    uint32_t begin, end;
    uint32_t placeholder_begin, placeholder_end;
} mi_commands_part;

// Where the next part of a buffer begins.
mi_commands_part mi_commands_begin_part(mica_commands *commands);
// Ends it: what was recorded since is part of it.
void mi_commands_end_part(mi_commands_part *part);

// Moves what parts hold, all that was recorded into their buffers, behind what `commands` holds, in order. Nothing may
// be recorded into those between two joins of one round of `commands` other than further parts, and they stay until
// that ends. MICA_OUT_OF_MEMORY, MICA_LIMIT: nothing has moved, with the error set.
mica_result mi_commands_join(mica_commands *commands, const mi_commands_part *parts, uint32_t count, const char *call);

// As state: the number that the next placeholder of an empty buffer carries. NULL: 0, as of a new one.
uint32_t mi_commands_next_placeholder(const mica_commands *commands);
// Drops what is recorded and lets the next placeholder carry that number, below MICA_INDEX_MAX.
void mi_commands_rewind(mica_commands *commands, uint32_t next_placeholder);

// Records a link or unlink of a relation (flags are the relation's own), or the destruction of a subtree; each ends a
// fold.
mica_result mi_commands_link(mica_commands *commands, mica_entity entity, mica_component relation, const void *value,
                             uint32_t flags, const char *call);
mica_result mi_commands_unlink(mica_commands *commands, mica_entity entity, mica_component relation, uint32_t flags,
                               const char *call);
mica_result mi_commands_subtree(mica_commands *commands, mica_entity root, mica_component relation, const char *call);
