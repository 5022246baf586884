// What the verbs of mica/visibility.h do, without the structure lock: the public functions check it first, command
// buffers are applied when nothing is locked. `call` is for messages.
#pragma once

#include "store/visibility.h"
#include "world/world.h"

// MICA_STALE, MICA_OUT_OF_MEMORY; nothing happens if the entity is so already.
mica_result mi_world_enable(mica_world *world, mica_entity entity, bool enabled, const char *call);
// As above, and MICA_UNKNOWN, MICA_INVALID (no trait `toggle`), MICA_ABSENT (the entity does not have the component).
mica_result mi_world_enable_component(mica_world *world, mica_entity entity, mica_component component, bool enabled,
                                      const char *call);
// MICA_STALE, MICA_OUT_OF_MEMORY; killing twice is killing once.
mica_result mi_world_kill(mica_world *world, mica_entity entity, const char *call);
// Destroys all killed entities by ascending index and returns how many there were. Cannot fail. O(killed, and pages of
// marks).
int32_t mi_world_refresh(mica_world *world);
