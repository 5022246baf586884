// The world's inside: what the parts above the store share.
#pragma once

#include "base/atomic.h"
#include "base/error.h"
#include "base/os.h"
#include "store/pools.h"
#include "world/part.h"
#include "world/signal.h"

#include <mica/commands.h>
#include <mica/query.h>
#include <mica/resource.h>
#include <mica/verbs.h>
#include <mica/world.h>

// A relation: a component whose value names another entity, kept by a part further up. The verbs of the world hand
// everything that concerns such a component to these functions; none of them checks the structure lock (the caller
// has). `call` is for messages.
typedef struct mi_relation {
    mica_component component;
    // Links `entity` (alive) as `value` says (NULL: constructed), or changes the link. `flags` is the relation's own.
    mica_result (*link)(mica_world *world, mica_entity entity, const void *value, uint32_t flags, const char *call);
    mica_result (*unlink)(mica_world *world, mica_entity entity, uint32_t flags, const char *call);
    // `entity` is about to be destroyed, its components are still there. Cannot fail; may move other entities' rows.
    void (*release)(mica_world *world, mica_entity entity);
    // Destroys `entity` and all below it.
    mica_result (*destroy_subtree)(mica_world *world, mica_entity entity, const char *call);
    // Calls `visit` for all below `entity` and then for itself, each behind all that is below it, if nothing is above
    // `entity`; for nobody otherwise. `visit` changes no links.
    void (*visit_tree)(mica_world *world, mica_entity entity, void (*visit)(mica_world *world, mica_entity entity));
    // All entities are gone.
    void (*clear)(mica_world *world);
} mi_relation;

// A part further up that keeps state of its own in a world.
typedef struct mi_extension {
    const void *key; // address of something static that names the part
    void *state;
    void (*stop)(mica_world *world, void *state); // may be NULL: the world is about to end, everything is still there
    void (*destroy)(mica_world *world, void *state);                     // frees the state
    const char *(*validate)(const mica_world *world, const void *state); // may be NULL: the first thing wrong, or NULL
    void (*clear)(mica_world *world, void *state); // may be NULL: all entities are about to end, none is told of yet
    void (*trim)(mica_world *world, void *state);  // may be NULL: gives back memory that is not needed now
    // May be NULL: a tick is about to begin, structure is not locked. Anything but MICA_OK, with the error set, and the
    // tick does not begin; the next attempt at it calls all parts again.
    mica_result (*begin_tick)(mica_world *world, void *state);
    const mi_part *part; // what of it is state of the world; NULL: nothing is
    // May be NULL: entities, rows, elements and values are others than before, since a state was restored. What the
    // part has found out about them is void. Called when all is in place; cannot fail.
    void (*rewound)(mica_world *world, void *state);
} mi_extension;

typedef struct mi_resource {
    void *value; // NULL: none
    uint64_t version;
    uint64_t exchanged; // outside version of the restore that has brought it (rewind.h); 0: none has
    bool is_pointer;
    bool is_heavy;          // see resource.c
    bool is_restored;       // scratch of a restore
    uint32_t telling_count; // broadcasts about it that are under way: meanwhile it stays
} mi_resource;

// A value to be given to an entity. NULL: constructed.
typedef struct mi_change {
    mica_component component;
    bool move; // the value is moved from, which cannot fail, instead of being taken as a caller's (a copy where there
               // is a copy hook)
    const void *value;
} mi_change;

typedef enum mi_element_change {
    MI_ELEMENT_ADD,    // the entity is not in the pool
    MI_ELEMENT_SET,    // it is, and its value is replaced: no tag
    MI_ELEMENT_REMOVE, // it is
} mi_element_change;

// What becomes of an entity's element in a pool. As mi_change: `value` NULL is constructed (or a tag), `move` says that
// it is moved from.
typedef struct mi_element {
    mi_pool *pool;
    mi_element_change change;
    bool move;
    const void *value;
} mi_element;

// What an entity becomes, as a whole or not at all: one change of table at most, and any number of elements, each of
// another pool. Values given must be of components with data. Those in `changes` and `elements` are followed where
// pools that grow move them.
typedef struct mi_edit {
    mi_table *to;
    mi_change *changes; // ascending by component, all in `to`, all with data
    uint32_t change_count;
    mi_element *elements;
    uint32_t element_count;
    // Components that are there before and after, gone in between, so that they are enabled again. NULL: none.
    const mica_component *renewed;
    uint32_t renewed_count;
} mi_edit;

// What a walk keeps that is more than a chunk's span; see walk.h.
struct mi_walk;
// Who uses a world that several threads share; see actor.h.
typedef struct mi_actor mi_actor;
struct mi_seat;
// What is kept of events; see event.h.
struct mi_events;
// What orders share while they sort; see order.c.
struct mi_sorter;
// What runs of systems are to the world; given by the part that runs them.
typedef struct mi_run_face {
    const struct mi_access *(*access_of)(const mica_run *run);       // NULL: it may touch everything
    void (*fail)(mica_run *run, mica_result code, const char *text); // fails the tick by this run
} mi_run_face;
// What protects values against systems that run; see guard.h.
struct mi_guard;

// What queries are prepared for: as long as it stays the same, they need not be looked at.
typedef struct mi_sharing_stamp {
    uint32_t tables_made, tables_dropped;
    bool hides_any, watches_writes;
    bool is_void; // it is not: they have to be looked at each time, or some of them have changed since
} mi_sharing_stamp;

// What sharing a world takes.
typedef struct mi_sharing {
    mi_lock lock;          // of what threads change in turn, but for memory
    mi_lock heap_lock;     // of memory
    struct mi_seat *seats; // by number of the thread
    uint32_t seat_count;
    mi_sharing_stamp prepared; // for what queries were prepared last
    bool has_locks;            // they were made
    bool holds_copies;         // walks may
    bool locked_before;        // flags of the front as they were
    bool watched_before;       // likewise
    bool writes_before;        // likewise
} mi_sharing;

struct mica_world {
    struct mica_front front; // first, and the store behind it: inline functions of the public headers see both
    mi_store store;          // begins with struct mica_head
    mi_heap heap;
    mica_schema *schema;
    bool owns_schema;
    mica_jobs *jobs; // NULL: one thread
    mica_log_handler log;
    char *name;
    mica_world_def def;

    mica_random random; // the world's own generator

    bool in_span;   // of a parallel loop; not while the world is shared
    bool is_shared; // systems run side by side: see actor.h
    mi_sharing sharing;

    bool validates;              // systems are held to the access that they have declared: see access_check.h
    uint32_t check_count;        // not 0: those that run are
    const mi_run_face *run_face; // NULL until there are systems
    struct mi_guard *guard;      // what they have not declared is protected; NULL: it is not

    uint32_t walk_epoch;          // grows when walks are closed that their owners left open
    mica_run *running;            // the running system's, NULL outside
    const char *running_system;   // its name
    mica_run *applied_run;        // whose commands a barrier applies, NULL: none does
    uint64_t running_since;       // the version of its last run; outside: outside_since. Since when changes count
    uint64_t outside_since;       // MI_SINCE_OUTSIDE once the world was restored (rewind.h), 0 before
    struct mi_rewind *rewind;     // what is known of restores; NULL: there was none
    mica_commands *walk_commands; // recorded by walks outside systems; made on first use
    struct mi_walk *walks;        // as many as were ever open at a time: those that are not wait for the next one

    mi_signals signals;
    struct mi_events *events; // NULL until somebody asks for something about them; an extension ends them

    MI_ARRAY(mica_order *) orders;
    struct mi_sorter *sorter; // NULL until something is sorted

    MI_ARRAY(mica_query *) queries;
    mi_map query_map;
    MI_ARRAY(mi_resource) resources; // by component id
    uint64_t resource_changes[2];    // how often one, or a heavy one, may have become another; never goes back
    MI_ARRAY(mi_relation) relations;
    MI_ARRAY(mi_extension) extensions;
    struct mica_group *groups; // the one made last; each knows the next
    uint64_t command_skipped_count;
    MI_ARRAY(mi_change) changes;        // scratch of spawning
    MI_ARRAY(mi_element) elements;      // scratch of edits
    MI_ARRAY(mica_entity) handles;      // scratch of spawning many, of what is in pools
    MI_ARRAY(mica_column) fill_asked;   // scratch of spawning many that a function fills in
    MI_ARRAY(void *) fill_columns;      // likewise
    MI_ARRAY(mi_lanes_value) fill_room; // likewise, at the alignment of its items
    MI_ARRAY(uint32_t) opening;         // by table id: rows that a verb on many is going to open
    MI_ARRAY(uint32_t) opening_ids;     // of the tables where that is not 0
    mi_marks named;                     // entities that a verb on many has looked at; none between calls
};

// Who runs, what its changes are stamped with, and since when changes count for it; outside systems no run, the store's
// version, and outside_since.
mica_run *mi_actor_run(const mica_world *world);
uint64_t mi_actor_version(const mica_world *world);
uint64_t mi_actor_since(const mica_world *world);
const char *mi_actor_system(const mica_world *world);
bool *mi_actor_in_span(const mica_world *world);
static inline mica_run *mi_world_run(const mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? world->running : mi_actor_run(world);
}
// Fails a call whose outcome would tell in which order spans are visited: MICA_LOCKED, with what the system does
// instead.
mica_result mi_world_fail_in_span(const mica_world *world, const char *instead, const char *call);
// Where it stands whether the caller is in a span of a parallel loop, beside which others may be visited.
static inline bool *mi_world_in_span(mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? &world->in_span : mi_actor_in_span(world);
}
static inline uint64_t mi_world_version(const mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? world->store.version : mi_actor_version(world);
}
static inline const char *mi_world_system(const mica_world *world) { // the name of the system that runs
    return MICA_LIKELY(!world->is_shared) ? world->running_system : mi_actor_system(world);
}
static inline uint64_t mi_world_since(const mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? world->running_since : mi_actor_since(world);
}

// Around what threads change in turn: locks while the world is shared. Nobody locks twice.
static inline void mi_world_lock(mica_world *world) {
    if (MICA_UNLIKELY(world->is_shared)) {
        mi_lock_take(&world->sharing.lock);
    }
}
static inline void mi_world_unlock(mica_world *world) {
    if (MICA_UNLIKELY(world->is_shared)) {
        mi_lock_give(&world->sharing.lock);
    }
}

// Adds to a count of the world's that threads which share it add to as well.
static inline void mi_world_count(const mica_world *world, uint64_t *count, uint64_t difference) {
    if (MICA_LIKELY(!world->is_shared)) {
        *count += difference;
    } else {
        mi_add_number(count, difference);
    }
}

// Says that values of one component of entities may be written through addresses from now on. (Those that share a world
// write nothing that anybody watches.)
static inline void mi_world_written(mica_world *world, mica_component component, const mica_entity *entities,
                                    uint32_t count) {
    if (MICA_UNLIKELY(world->front.watches_writes) && !world->is_shared) {
        mi_tell_written(world, component, entities, count);
    }
}

// A copy of a value in lanes that a callback is given in its place. What verbs write to the value meanwhile goes to the
// copy as well.
typedef struct mi_lanes_copy {
    struct mi_lanes_copy *outer;
    mica_entity entity;
    mica_component component;
    mi_lanes_value value;
} mi_lanes_copy;

// Makes `copy` one of the value that an entity has; false: it has none, or not in lanes. If true, mi_world_close_copy
// follows.
bool mi_world_open_copy(mica_world *world, mica_entity entity, mica_component component, mi_lanes_copy *copy);
static inline void mi_world_close_copy(mica_world *world, const mi_lanes_copy *copy) {
    if (MICA_LIKELY(!world->is_shared)) {
        world->signals.copies = copy->outer;
    }
}
// Writes a value that the row of an entity at `location` has in lanes.
void mi_world_write_lanes(mica_world *world, mica_entity entity, uint32_t location, mica_component component,
                          const void *value);

// The generator that a world begins with, and that those of its systems are split from.
static inline mica_random mi_world_seeded(const mica_world *world) {
    return mica_random_seeded(world->def.seed != 0 ? world->def.seed : MICA_RANDOM_SEED);
}

// A callback of the program is about to be called, or has returned: meanwhile structure is locked. It is anyway where
// the world is shared, and the chain of callbacks is one thread's.
static inline void mi_world_enter_callback(mica_world *world, mi_callback *callback) {
    if (MICA_LIKELY(!world->is_shared)) {
        callback->outer = world->front.callback;
        world->front.callback = callback;
    }
}
static inline void mi_world_leave_callback(mica_world *world, const mi_callback *callback) {
    if (MICA_LIKELY(!world->is_shared)) {
        world->front.callback = callback->outer;
    }
}

// What the innermost callback that may record is given to record into; NULL: there is none.
static inline mica_commands *mi_callback_commands(const mica_world *world) {
    const mi_callback *callback = world->front.callback;
    while (callback != NULL && callback->commands == NULL) {
        callback = callback->outer;
    }
    return callback == NULL ? NULL : callback->commands;
}

// Whether rows may not move now.
static inline bool mi_world_is_locked(const mica_world *world) {
    return world->front.walk_count > 0 || world->front.running_locks || world->front.callback != NULL;
}

// Whether rows may move, and whoever observes one component, observes that one alone.
static inline bool mi_world_is_plain(const mica_world *world) {
    // All that stands in one word is looked at at once.
    const struct mica_front asked = {.walk_count = UINT32_MAX, .running_locks = true, .is_wide = true};
    uint64_t asked_bits;
    uint64_t front_bits;
    memcpy(&asked_bits, &asked, sizeof(asked_bits));
    memcpy(&front_bits, &world->front, sizeof(front_bits));
    return (front_bits & asked_bits) == 0 && world->front.callback == NULL;
}
_Static_assert(offsetof(struct mica_front, callback) == sizeof(uint64_t), "what else is asked for stands in one word");

// Whether entities have nothing but rows, of which nobody is told, and those may move.
static inline bool mi_world_is_bare(const mica_world *world) {
    return mi_world_is_plain(world) && !world->front.is_watched && world->store.extras == 0;
}

// Whether an entity is alive, and may go along a plain edge (store/moves.h) where rows may move.
static inline bool mi_world_crosses(const mica_world *world, mica_entity entity, uint32_t *location) {
    return (world->store.extras & MI_EXTRA_MARKS) == 0 && mi_slots_resolve(&world->store.slots, entity, location);
}

// MICA_OK, or MICA_NO_ACCESS: a system runs that is held to what it has declared, and that is not among it. The run has
// failed then. `entity` may be null. While such systems run the store counts a copy, so that verbs come here by the
// paths on which they settle copies.
mica_result mi_access_check(const mica_world *world, mica_component component, bool writes, mica_entity entity,
                            const char *call);
mica_result mi_access_check_query(const mica_query *query, const char *call);
static inline mica_result mi_world_check_access(const mica_world *world, mica_component component, bool writes,
                                                mica_entity entity, const char *call) {
    return MICA_LIKELY(world->store.copied_count == 0) ? MICA_OK
                                                       : mi_access_check(world, component, writes, entity, call);
}

// For calls whose failure looks like an answer, that there is nobody: one has just failed. If memory was short the
// system that runs, or whose commands are being applied, has failed with it.
void mi_world_fail_unheard(const mica_world *world);

// MICA_OK, or MICA_LOCKED with the name of the query or system that locks structure.
mica_result mi_world_fail_structure(mica_world *world, const char *call);
static inline mica_result mi_world_check_structure(mica_world *world, const char *call) {
    return MICA_LIKELY(world != NULL && !mi_world_is_locked(world)) ? MICA_OK : mi_world_fail_structure(world, call);
}

// MICA_OK, or MICA_LOCKED: a system runs that may run beside others, and `made`, which `call` makes or changes,
// concerns them all.
mica_result mi_world_check_making(const mica_world *world, const char *made, const char *call);

// The location of a living entity, or MICA_STALE with a message that says what the handle is.
mica_result mi_world_fail_stale(const mica_world *world, mica_entity entity, const char *call);
static inline mica_result mi_world_resolve(const mica_world *world, mica_entity entity, uint32_t *location,
                                           const char *call) {
    return MICA_LIKELY(world != NULL && mi_slots_resolve(&world->store.slots, entity, location))
               ? MICA_OK
               : mi_world_fail_stale(world, entity, call);
}

// The type of an id, or NULL with MICA_UNKNOWN.
const mi_type *mi_world_fail_type(const mica_world *world, mica_component component, const char *call);
static inline const mi_type *mi_world_type(const mica_world *world, mica_component component, const char *call) {
    const mi_type *type = mi_schema_type(world->schema, component);
    return MICA_LIKELY(type != NULL) ? type : mi_world_fail_type(world, component, call);
}

// Says why a function of the store failed and returns its code.
mica_result mi_world_fail_store(const mica_world *world, const char *call);
// Says that a construct or copy hook failed: MICA_OUT_OF_MEMORY.
mica_result mi_world_fail_hook(const mica_world *world, const char *call);

// Brings a living entity into table `to`: components that both tables have keep their values, those that `to` lacks are
// destructed, new ones are constructed unless `changes` (ascending by component, all in `to`, all with data) gives them
// a value; values given for components that the entity has replace the old ones. All or nothing; on failure nothing was
// moved from. The structure lock and relations are the caller's business. `to` may be the entity's own table, or the
// root.
mica_result mi_world_change(mica_world *world, mica_entity entity, mi_table *to, const mi_change *changes,
                            uint32_t count, const char *call);

// The same for table and elements. A value in a pool may be replaced together with anything else only if it is moved
// in. Values that are not moved in may lie in the world.
mica_result mi_world_edit(mica_world *world, mica_entity entity, const mi_edit *edit, const char *call);

// Follows the values of an edit that lie in a pool whose values have moved.
void mi_world_follow(const mi_edit *edit, const mi_pool_moved *moved);

// Adds to world->elements the pools that come along with `type` and that an entity (null: one that is to be made) is
// not in, if they are not there yet. MICA_OUT_OF_MEMORY.
mica_result mi_world_bring_elements(mica_world *world, const mi_type *type, mica_entity entity, const char *call);

// The pool of a type that lives in one, made if need be; NULL with the error set.
mi_pool *mi_world_pool(mica_world *world, const mi_type *type, const char *call);

// Tell of an element that is about to come into a pool or leave it, and of one that has come, where nothing else of the
// entity changes.
void mi_tell_before_element(mica_world *world, mica_entity entity, const mi_element *element);
void mi_tell_after_element(mica_world *world, mica_entity entity, const mi_element *element);

// Puts a living entity into a pool that it is not in, with a value as mi_element says; nothing comes along. All or
// nothing, as an edit of this one element.
static inline mica_result mi_world_put_element(mica_world *world, mi_pool *pool, mica_entity entity, const void *value,
                                               bool move, const char *call) {
    mi_store *store = &world->store;
    mi_pool_moved moved;
    if (MICA_UNLIKELY(!mi_store_open_element(store, pool, mica_entity_index(entity), &moved))) {
        return mi_world_fail_store(world, call);
    }
    if (pool->size > 0) {
        void *place = mi_pool_value(pool, mi_pool_next(pool));
        if (move && value != NULL) {
            mi_value_move(pool->type, &store->values, place, (void *)(uintptr_t)value, 1);
        } else if (!mi_value_make(pool->type, &store->values, place, mi_pool_follow(&moved, value))) {
            mi_pool_close_index(pool, &world->heap, mica_entity_index(entity));
            return mi_world_fail_hook(world, call);
        }
    }
    if (MICA_UNLIKELY(world->front.is_watched)) {
        const mi_element element = {.pool = pool, .change = MI_ELEMENT_ADD, .value = value};
        mi_tell_before_element(world, entity, &element);
        mi_store_publish_element(store, pool, entity);
        mi_tell_after_element(world, entity, &element);
        return MICA_OK;
    }
    mi_store_publish_element(store, pool, entity);
    return MICA_OK;
}
// Takes a living entity out of a pool that it is in.
static inline void mi_world_take_element(mica_world *world, mi_pool *pool, mica_entity entity) {
    if (MICA_UNLIKELY(world->front.is_watched)) {
        mi_tell_before_element(world, entity, &(mi_element){.pool = pool, .change = MI_ELEMENT_REMOVE});
    }
    mi_store_remove_element(&world->store, pool, entity);
    if (MICA_UNLIKELY(world->signals.queries.count > 0)) {
        mi_tell_after_element(world, entity, &(mi_element){.pool = pool, .change = MI_ELEMENT_REMOVE});
    }
}

// Whether a living entity at `location` has a component, wherever that lives.
static inline bool mi_world_has(const mica_world *world, mica_entity entity, uint32_t location,
                                mica_component component) {
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    return pool != NULL ? mi_pool_has(pool, entity)
                        : mi_table_has(mi_store_table_at(&world->store, location), component);
}

// Brings back what an open walk has written to a copy of this value, if one has: called before a value is looked at or
// replaced, only while store.copied_count is not 0.
void mi_world_settle(const mica_world *world, mica_entity entity, mica_component component);
// The same for all that open walks have written: called before many values are looked at.
void mi_walks_settle(const mica_world *world);
static inline void mi_world_settle_all(const mica_world *world) {
    if (MICA_UNLIKELY(world->store.copied_count > 0)) {
        mi_walks_settle(world);
    }
}

// Applies what walks outside systems have recorded, unless structure is still locked.
void mi_world_apply_walk_commands(mica_world *world, const char *call);

// Replaces a value where it is by `value` (NULL: constructed), taken as mi_change says. False: memory or a hook failed,
// and the old value stands.
bool mi_world_replace_value(mica_world *world, const mi_type *type, void *place, const void *value, bool move);

// Makes room for the slot of one more entity; false, with the error set.
bool mi_world_have_slot(mica_world *world, const char *call);

// Makes an entity in table `table` with `changes` as above. Null on failure.
mica_entity mi_world_make(mica_world *world, mi_table *table, const mi_change *changes, uint32_t count,
                          const char *call);
// The same with elements, all of them MI_ELEMENT_ADD.
mica_entity mi_world_make_edited(mica_world *world, const mi_edit *edit, const char *call);

// Destroys a living entity, relations first. Cannot fail.
void mi_world_unmake(mica_world *world, mica_entity entity);

// Destroys the entity that was made last and that nobody has heard of: its handle is the next to be issued again.
void mi_world_take_back(mica_world *world, mica_entity entity);

// As mica_entity_clone without the lock check.
mica_entity mi_world_clone(mica_world *world, mica_entity source, const char *call);

// Makes the relation that `type` is (its hooks have `attach`; nothing happens for other types) known to the world, if
// it is not yet: the type's attach hook calls mi_world_add_relation. Every verb that is about to give an entity a value
// of the type, and every query that names it, comes here first. MICA_OUT_OF_MEMORY.
mica_result mi_world_attach(mica_world *world, const mi_type *type, const char *call);
// The relation that `component` is, or NULL: it is none, or nothing of this world was ever linked by it.
const mi_relation *mi_world_relation(const mica_world *world, mica_component component);
// Adds a relation; false: out of memory. Marks the type in the schema.
bool mi_world_add_relation(mica_world *world, const mi_relation *relation);

// The state of an extension, or NULL.
void *mi_world_extension(const mica_world *world, const void *key);
// Adds an extension; false: out of memory.
bool mi_world_add_extension(mica_world *world, const mi_extension *extension);

// Frees what walks that are not open keep, or what all of them do.
void mi_world_free_walks(mica_world *world, bool all);
// Closes all open walks.
void mi_world_close_walks(mica_world *world);

// Ends the handles of groups; the world is about to end.
void mi_world_free_groups(mica_world *world);

// Ends the orders, and frees what they share; the world is about to end.
void mi_world_free_orders(mica_world *world);
// Frees what orders share, if none is being sorted.
void mi_world_free_sorter(mica_world *world);

// Makes room for a resource of every type that is known, so that those that share the world need none; false: out of
// memory.
bool mi_world_have_resource_entries(mica_world *world);
// The value of a resource that there is may have been written.
void mi_world_mark_resource(mica_world *world, mica_component component);
// Tells that all resources are about to go.
void mi_world_tell_end_of_resources(mica_world *world);
// Ends the resources; the world is about to end.
void mi_world_free_resources(mica_world *world);

// What of a world itself is state beside its entities; parts of the world that have headers of their own name theirs
// there.
extern const mi_part mi_resources_part;
extern const mi_part mi_heavy_resources_part;
extern const mi_part mi_counters_part;
extern const mi_part mi_random_part;
