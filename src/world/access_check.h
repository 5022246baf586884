// Typed checks: whether systems touch by calls what they have declared (mica_world_def.validate).
#pragma once

#include "base/pages.h"
#include "world/access.h"

// Fails the run of a system, which has touched what it may not, and says so: MICA_NO_ACCESS. `entity` may be null;
// `call` is what has done it.
mica_result mi_access_refuse(const mica_world *world, mica_component component, mi_touch touch, mica_entity entity,
                             const char *call);

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
