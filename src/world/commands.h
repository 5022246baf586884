// Command buffers, as the parts further up use them.
#pragma once

#include "world/world.h"

// A buffer that the library lends (of a system, of walks): mica_commands_destroy leaves it alone.
mica_commands *mi_commands_create(mica_world *world, bool lent);
void mi_commands_destroy(mica_commands *commands);

// Applies without looking at the structure lock. As mica_commands_apply.
mica_result mi_commands_apply(mica_commands *commands, const char *call);

// Records a link or unlink of a relation (flags are the relation's own), or the destruction of a subtree; each ends a
// fold.
mica_result mi_commands_link(mica_commands *commands, mica_entity entity, mica_component relation, const void *value,
                             uint32_t flags, const char *call);
mica_result mi_commands_unlink(mica_commands *commands, mica_entity entity, mica_component relation, uint32_t flags,
                               const char *call);
mica_result mi_commands_subtree(mica_commands *commands, mica_entity root, mica_component relation, const char *call);
