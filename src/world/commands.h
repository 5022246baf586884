// Command buffers, as the parts further up use them.
#pragma once

#include "world/world.h"

// A buffer that the library lends (of a system, of walks): mica_commands_destroy leaves it alone.
mica_commands *mi_commands_create(mica_world *world, bool lent);
void mi_commands_destroy(mica_commands *commands);

// Applies without looking at the structure lock. As mica_commands_apply.
mica_result mi_commands_apply(mica_commands *commands, const char *call);

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
