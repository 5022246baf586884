// Guards: while a system runs that is held to what it has declared, the values of all else are protected by the
// operating system, so that whoever touches them through a pointer is found as well (mica_world_def.validate).
#pragma once

#include "base/pages.h"
#include "world/access_check.h"

// Whose values a range of pages has, and the stamps that say when they were written: of a resource there are none.
typedef struct mi_guarded {
    mica_component component;
    uint32_t stamp_count;
    uint64_t *stamps;
} mi_guarded;

typedef struct mi_guard {
    MI_ARRAY(mi_page_range) ranges;
    MI_ARRAY(mi_guarded) guarded; // one of each range
    mi_page_watch watch;
    bool is_on;
    bool is_broken; // something could not be protected again
} mi_guard;

// NULL: out of memory.
mi_guard *mi_guard_create(mi_heap *heap);
// NULL is allowed.
void mi_guard_destroy(mi_guard *guard, mi_heap *heap);

// The values of whatever the running system has not declared are protected against it until mi_guard_end on the same
// thread, those that it reads against writing. Nothing moves meanwhile. MICA_OUT_OF_MEMORY, or MICA_LIMIT (the
// operating system does not protect so much), with the error set and nothing protected. O(columns of all chunks +
// pieces of pools + resources).
mica_result mi_guard_begin(mica_world *world, const mi_access *access);
// MICA_OK, or MICA_NO_ACCESS: something was touched; the run has failed then. Or MICA_LIMIT: it was not protected all
// the time.
mica_result mi_guard_end(mica_world *world);

// A callback begins and ends that is no part of the system that runs, and may touch everything. The world has a guard.
static inline void mi_guard_lift(mica_world *world) {
    if (world->guard->is_on) {
        mi_page_watch_lift(&world->guard->watch);
    }
}
static inline void mi_guard_settle(mica_world *world) {
    if (world->guard->is_on && !mi_page_watch_settle(&world->guard->watch)) {
        world->guard->is_broken = true;
    }
}
