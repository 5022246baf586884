// Who uses a world. Usually that is one at a time, and what is known of them stands in the world itself. While systems
// run side by side (run/batch.h) a world is *shared*: structure is locked for all, and each run of a system, or part of
// one, is an actor that has of its own what it opens and what its changes are stamped with.
//
// The actor of a thread is found through a thread-local pointer, which is looked at in shared worlds alone. What a run
// touches there is read by all, or is of components that no other run uses at the time, or stands under a lock of the
// world's: memory, queues of events that come to be, orders and indexes.
//
// Fast paths that write need not know: while a world is shared its front says that somebody observes and watches what
// is written, so that they leave the work to functions that ask. Nobody does: who writes what is observed runs alone.
#pragma once

#include "world/world.h"

// What a thread keeps of a shared world, a cache line of its own.
typedef struct mi_seat {
    _Alignas(MI_CACHE_LINE) struct mi_walk *walks; // as mica_world.walks
} mi_seat;

struct mi_actor {
    mica_world *world;
    mi_actor *outer; // what the thread was at before: it may help while it waits
    mi_seat *seat;
    mica_run *run;
    const char *system; // its name
    uint64_t version;   // stamp of what it changes
    uint64_t since;     // since when changes count for it
    uint32_t walk_count;
    uint32_t event_depth; // handlers of events that it is in
    bool in_span;         // of a parallel loop
};

// The thread's actor in a shared world.
mi_actor *mi_actor_of(const mica_world *world);

// Makes `actor` the thread's until mi_actor_leave.
void mi_actor_enter(mi_actor *actor);
// Closes the walks that it has left open; false: there were some.
bool mi_actor_leave(mi_actor *actor);

// Walks in a shared world: mi_iter_open and mica_iter_end.
void mi_actor_open_walk(mica_iter *iter);
void mi_actor_end_walk(mica_iter *iter);
struct mi_walk **mi_actor_walks(const mica_world *world);
// The list of walks that those of a thread are in.
static inline struct mi_walk **mi_world_walks(mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? &world->walks : mi_actor_walks(world);
}

// Room for so many threads; false: out of memory. Not while the world is shared.
bool mi_world_have_seats(mica_world *world, uint32_t count);
// Ends seats and locks; the world is about to end.
void mi_world_free_seats(mica_world *world);

// Shares a world in which no walk is open, until mi_world_unshare; the calling thread becomes no actor. Brings queries
// and indexes up to date. MICA_OUT_OF_MEMORY, with the error set for `call`, and nothing is shared.
mica_result mi_world_share(mica_world *world, const char *call);
void mi_world_unshare(mica_world *world);
