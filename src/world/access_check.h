// Typed checks: whether systems touch by calls what they have declared (mica_world_def.validate).
#pragma once

#include "world/access.h"

// A system begins to run that is held to what it has declared, or systems do that share the world, until
// mi_access_end_checks.
static inline void mi_access_begin_checks(mica_world *world) {
    world->check_count++;
    mi_store_count_copied(&world->store, true);
}
static inline void mi_access_end_checks(mica_world *world) {
    world->check_count--;
    mi_store_count_copied(&world->store, false);
}
