// Typed checks: whether systems touch by calls what they have declared (mica_world_def.validate).
#pragma once

#include "world/access.h"

// What runs of systems are to the checks; given by the part that runs systems.
typedef struct mi_access_face {
    const mi_access *(*access_of)(const mica_run *run);              // NULL: it may touch everything
    void (*fail)(mica_run *run, mica_result code, const char *text); // fails the tick by this run
} mi_access_face;

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
