// Changing an entity's table and its elements in pools as one: all of it happens, or nothing.
//
// The order is what makes that so, and what lets a caller's value lie anywhere in the world:
//   1. the pools of all new elements are opened; the values of a packed pool may move then, and whatever lies in them
//      is followed, for elements and for changes of the table alike;
//   2. new elements are made in the open places from what is constructed or copied: hooks may say no, and plain bytes
//      may lie in rows that the next step moves;
//   3. the table is changed, which may fail: what was made is destructed then, and what was opened is closed;
//   4. what cannot fail follows: values that are moved in (those lie outside the world), publishing, replacing and
//      removing.
#include "world/world.h"

mi_pool *mi_world_pool(mica_world *world, const mi_type *type, const char *call) {
    mi_pool *pool = mi_store_find_pool(&world->store, type->info.id);
    if (MICA_UNLIKELY(pool == NULL)) {
        pool = mi_store_pool(&world->store, type);
        if (pool == NULL) {
            mi_world_fail_store(world, call);
        }
    }
    return pool;
}
