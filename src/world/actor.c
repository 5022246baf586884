// Actors of shared worlds.
//
// Invariants: while a world is shared, its own counts of walks are 0 and nobody changes its front, its store's counts
// or what its queries know; the locks exist from the first sharing on; seats hold walks of actors, and waiting ones.
// Sharing and unsharing are the stepping thread's, before the first actor enters and after the last one has left.
#include "world/actor.h"

#include "base/assert.h"
#include "store/visibility.h"
#include "world/access_check.h"
#include "world/index.h"
#include "world/query.h"
#include "world/walk.h"

static MI_THREAD_LOCAL mi_actor *current;

// What walks of actors take for the world's front.
static const struct mica_front unwatched;

mi_actor *mi_actor_of(const mica_world *world) {
    mi_actor *actor = current;
    while (actor->world != world) { // the thread helps in a world while it waits in another one
        actor = actor->outer;
    }
    return actor;
}

void mi_actor_enter(mi_actor *actor) {
    actor->outer = current;
    current = actor;
}

bool mi_actor_leave(mi_actor *actor) {
    const bool has_left_walks = actor->walk_count > 0;
    for (mi_walk *walk = actor->seat->walks; has_left_walks && walk != NULL; walk = walk->next) {
        if (walk->query != NULL && walk->actor == actor) {
            mi_walk_close(walk);
        }
    }
    actor->walk_count = 0;
    current = actor->outer;
    return !has_left_walks;
}

mica_run *mi_actor_run(const mica_world *world) {
    return mi_actor_of(world)->run;
}

uint64_t mi_actor_version(const mica_world *world) {
    return mi_actor_of(world)->version;
}

uint64_t mi_actor_since(const mica_world *world) {
    return mi_actor_of(world)->since;
}

const char *mi_actor_system(const mica_world *world) {
    return mi_actor_of(world)->system;
}

mica_result mi_world_fail_in_span(const mica_world *world, const char *instead, const char *call) {
    return mi_fail(&world->log, MICA_LOCKED, call, "system \"{}\" is in a parallel loop: it {}",
                   MI_TEXT(mi_world_system(world)), MI_TEXT(instead));
}

bool *mi_actor_in_span(const mica_world *world) {
    return &mi_actor_of(world)->in_span;
}

mi_walk **mi_actor_walks(const mica_world *world) {
    return &mi_actor_of(world)->seat->walks;
}

void mi_actor_open_walk(mica_iter *iter) {
    mica_world *world = iter->query->world;
    mi_actor *actor = mi_actor_of(world);
    iter->run = actor->run;
    iter->open = true;
    iter->access = iter->query->access;
    iter->key = world->store.key;
    iter->world = &unwatched; // nothing that an actor writes is watched
    iter->version = &actor->version;
    iter->epoch = world->walk_epoch;
    actor->walk_count++;
}

void mi_actor_end_walk(mica_iter *iter) {
    if (iter->epoch != iter->query->world->walk_epoch) {
        return; // a system of an earlier batch left it open
    }
    mi_actor *actor = mi_actor_of(iter->query->world);
    if (iter->walk != NULL) {
        mi_walk_close(iter->walk);
        iter->walk = NULL;
    }
    actor->walk_count--;
}

bool mi_world_have_seats(mica_world *world, uint32_t count) {
    mi_sharing *sharing = &world->sharing;
    if (count <= sharing->seat_count) {
        return true;
    }
    mi_heap *heap = &world->heap;
    mi_seat *seats = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, count * sizeof(mi_seat), _Alignof(mi_seat));
    if (seats == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < sharing->seat_count; i++) {
        seats[i] = sharing->seats[i];
    }
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, sharing->seats, sharing->seat_count * sizeof(mi_seat),
                    _Alignof(mi_seat));
    sharing->seats = seats;
    sharing->seat_count = count;
    return true;
}

void mi_world_free_seats(mica_world *world) {
    mi_sharing *sharing = &world->sharing;
    mi_heap_release(&world->heap, MICA_MEMORY_SYSTEMS, sharing->seats, sharing->seat_count * sizeof(mi_seat),
                    _Alignof(mi_seat));
    if (sharing->has_locks) {
        mi_lock_destroy(&sharing->lock);
        mi_lock_destroy(&sharing->heap_lock);
    }
    *sharing = (mi_sharing){0};
}

static bool have_locks(mi_sharing *sharing) {
    if (!sharing->has_locks && mi_lock_init(&sharing->lock)) {
        sharing->has_locks = mi_lock_init(&sharing->heap_lock);
        if (!sharing->has_locks) {
            mi_lock_destroy(&sharing->lock);
        }
    }
    return sharing->has_locks;
}

static mi_sharing_stamp stamp_of(const mica_world *world) {
    const mi_store *store = &world->store;
    return (mi_sharing_stamp){.tables_made = store->tables_made,
                              .tables_dropped = store->tables_dropped,
                              .hides_any = mi_store_hides_any(store),
                              .watches_writes = world->front.watches_writes,
                              .is_void = store->toggle_count > 0};
}

static bool is_prepared(const mi_sharing_stamp *for_what, const mi_sharing_stamp *now) {
    return !for_what->is_void && !now->is_void && for_what->tables_made == now->tables_made &&
           for_what->tables_dropped == now->tables_dropped && for_what->hides_any == now->hides_any &&
           for_what->watches_writes == now->watches_writes;
}

// Also of queries that nobody holds, which systems may find. Notes whether walks may hold copies.
static mica_result prepare_queries(mica_world *world, const char *call) {
    const mi_sharing_stamp now = stamp_of(world);
    if (MICA_LIKELY(is_prepared(&world->sharing.prepared, &now))) {
        return MICA_OK;
    }
    mica_result result = MICA_OK;
    world->sharing.prepared.is_void = true;
    world->sharing.holds_copies = false;
    for (uint32_t i = 0; i < world->queries.count && result == MICA_OK; i++) {
        mica_query *query = world->queries.data[i];
        result = mi_query_update(query, call);
        if (result == MICA_OK && !query->is_simple && !mi_query_note_tables(query)) {
            result = mi_fail_memory(&world->log, call, 0);
        }
        world->sharing.holds_copies |= query->writes && !mi_walk_is_plain(query);
    }
    if (result == MICA_OK) {
        world->sharing.prepared = now;
    }
    return result;
}

// A schema of the world's own has the same allocator, which need not be called by two threads at once.
static void lend_lock(mica_world *world, mi_lock *lock) {
    world->heap.lock = lock;
    if (world->owns_schema) {
        world->schema->heap.lock = lock;
    }
}

mica_result mi_world_share(mica_world *world, const char *call) {
    MI_ASSERT(!world->is_shared && world->front.walk_count == 0);
    mi_sharing *sharing = &world->sharing;
    struct mica_front *front = &world->front;
    if (!have_locks(sharing)) {
        return mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, call, "there are no locks for sharing a world");
    }
    const mica_result result = prepare_queries(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (!mi_world_have_resource_entries(world)) {
        return mi_fail_memory(&world->log, call, 0);
    }
    if (front->watches_writes) {
        mi_world_walk_ended(world);
    }
    if (sharing->holds_copies) {
        mi_store_count_copied(&world->store, true);
    }
    if (world->validates) {
        mi_access_begin_checks(world);
    }
    sharing->locked_before = front->running_locks;
    sharing->watched_before = front->is_watched;
    sharing->writes_before = front->watches_writes;
    front->running_locks = true;
    front->is_watched = true;
    front->watches_writes = true;
    lend_lock(world, &sharing->heap_lock);
    world->is_shared = true;
    return MICA_OK;
}

void mi_world_unshare(mica_world *world) {
    const mi_sharing *sharing = &world->sharing;
    struct mica_front *front = &world->front;
    world->is_shared = false;
    lend_lock(world, NULL);
    world->walk_epoch++; // no walk is open
    front->running_locks = sharing->locked_before;
    front->is_watched = sharing->watched_before;
    front->watches_writes = sharing->writes_before;
    if (sharing->holds_copies) {
        mi_store_count_copied(&world->store, false);
    }
    if (world->validates) {
        mi_access_end_checks(world);
    }
}
