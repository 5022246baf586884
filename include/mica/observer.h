/// \file observer.h
/// Observers: functions that are told when components and resources come, are set and go, when entities are made and
/// destroyed, and when they come to match a query or cease to.
///
/// **When.** What comes is told when it is there: the entity has all its components and links. What goes is told while
/// everything is still there: the component and all others can be read, whatever made it go, `mica_world_clear` and
/// `mica_world_destroy` included. A verb that is refused tells nothing, and so does a command that is skipped. Commands
/// tell what each fold of them (commands.h) did to an entity: what it adds and removes again is not heard of. An entity
/// that a buffer makes and destroys is told of as both.
///
/// **Order.** Of one entity that a call makes or changes: `MICA_LEFT`, `MICA_REMOVED`; then the change; then
/// `MICA_CREATED`, `MICA_ADDED`, `MICA_SET`, `MICA_ENTERED`. Of one that it destroys: `MICA_LEFT`, `MICA_REMOVED`,
/// `MICA_DESTROYED`, and then the destruct hooks. Several components of one kind in the order of their names, queries
/// in that of their first observers, the observers of each in the order in which they were connected. Children are told
/// of before their parents are destroyed, with `mica_entity_destroy_subtree`, `mica_world_clear` and
/// `mica_world_destroy`. Of many links at once (`mica_entity_set_parent_many`) all that goes is told of before the
/// first of them is changed. A component that is added with a value is told of as added, then as set.
///
/// **Inside.** Structure is locked: the world's structural verbs are refused with `MICA_LOCKED`. Everything can be
/// read, values that are there can be set (which tells their observers at once), and structural changes are recorded
/// into `signal->commands`. Those are applied when the operation that caused them has ended: a verb, a command buffer
/// as a whole, a walk; all that one operation caused in the order of recording, then all that this caused, and so on.
/// In a system that locks structure they go into the system's buffer, to the next barrier. Chains of more calls than
/// `mica_world_def.reaction_limit` are cut off: what the last link recorded is dropped, a value that it sets for others
/// to be told of is refused (`MICA_LIMIT`), and the world's log and the thread's last error name the chain; in a tick,
/// the tick fails with it. The operation itself stands and returns what it would have returned.
///
/// Values written through spans, `mica_get_write` and pools' arrays are not told of: queries for changes (query.h),
/// subscriptions and indexes know of them.
///
/// While nobody is connected, all of this costs a load and a branch an operation. All functions here belong to the
/// world's thread.
#pragma once

#include <mica/commands.h>
#include <mica/query.h>
#include <mica/world.h>

MICA_BEGIN

/// What observers are told of.
typedef enum mica_signal_kind {
    MICA_ADDED, ///< a component has come to an entity
    MICA_SET, ///< a verb has given a component a value: spawn (and what its callback fills in), add, set, patch, clone,
              ///< links
    MICA_REMOVED,         ///< a component is about to go
    MICA_CREATED,         ///< an entity has been made
    MICA_DESTROYED,       ///< an entity is about to end
    MICA_ENTERED,         ///< an entity has come to match a query
    MICA_LEFT,            ///< an entity is about to match a query no longer
    MICA_RESOURCE_SET,    ///< a resource has come or has been given a value
    MICA_RESOURCE_REMOVED ///< a resource is about to go
} mica_signal_kind;

/// Names an observer of a world; 0 is none. Numbers are never used again.
typedef struct mica_observer {
    uint32_t id;
} mica_observer;

/// What an observer is told. Good during the call alone.
typedef struct mica_signal {
    mica_world *world;
    mica_commands *commands;  ///< where structural changes are recorded; never NULL
    mica_entity entity;       ///< null for resources
    const void *value;        ///< of the component or resource; NULL: a tag, or an entity as a whole
    void *user;               ///< the definition's
    mica_component component; ///< 0: an entity as a whole
    mica_signal_kind kind;
    mica_observer observer;
} mica_signal;

/// An observer's function. It may do what stands above under *Inside*.
typedef void (*mica_observer_function)(const mica_signal *signal);

/// An observer. Zero is the default everywhere but for `call`, and for what `on` needs.
typedef struct mica_observer_def {
    const char *name; ///< for messages and statistics; copied; NULL: "observer"
    mica_signal_kind on;
    mica_type *type;                ///< of `MICA_ADDED`, `MICA_SET`, `MICA_REMOVED` and resources
    mica_component component;       ///< the same by id
    mica_term query[MICA_TERM_MAX]; ///< of `MICA_ENTERED` and `MICA_LEFT`; ends at the first zero
    mica_query *of;                 ///< the same as a query; a reference is kept
    mica_observer_function call;
    void *user;
    /// `MICA_ADDED`, `MICA_CREATED`, `MICA_ENTERED`: is called for all that is there already, in the order of
    /// `mica_query_entities`, before `mica_observer_connect` returns. `MICA_RESOURCE_SET`: if the resource is there. Of
    /// no meaning for all other kinds. Connected inside an observer, it hears a second time of what others are still to
    /// be told of just now as coming, and of what they are being told of as going, but not that this goes.
    bool existing;
} mica_observer_def;

/// Connects an observer: it is told from the next signal on, also if it is connected by an observer. 0 on failure:
/// `MICA_INVALID` (no function, a kind that is none, no component or query where one is needed, both or one too many;
/// a query that asks for changes), `MICA_NO_VALUE` (set, and resources: a tag), `MICA_LOCKED` (in a system that may run
/// beside others), `MICA_OUT_OF_MEMORY`, or as `mica_query_create`. Kinds about entities as a whole take no component.
/// O(components and queries that are watched); with `existing` O(what is there) besides.
MICA_API mica_observer mica_observer_connect(mica_world *world, const mica_observer_def *def);

/// Connects a function to one component or resource: what the macros below call. As `mica_observer_connect`.
MICA_API mica_observer mica_observer_connect_to(mica_world *world, mica_signal_kind on, mica_type *type,
                                                mica_observer_function call, void *user);

/// Disconnects an observer; it is not called again, also not for a signal that others are being told of right now.
/// Refuses: `MICA_UNKNOWN`, `MICA_LOCKED` (in a system that may run beside others). O(observers, components and queries
/// that are watched).
MICA_API mica_result mica_observer_disconnect(mica_world *world, mica_observer observer);

/// What an observer did.
typedef struct mica_observer_stats {
    const char *name; ///< as good as the observer
    uint64_t call_count;
    /// Of all calls, estimated: the first 16 are measured, then one in 1,024.
    uint64_t estimated_nanoseconds;
} mica_observer_stats;

/// What an observer did. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no place for it). O(observers).
MICA_API mica_result mica_observer_statistics(const mica_world *world, mica_observer observer,
                                              mica_observer_stats *stats);

MICA_END

/// Connects a function to one component: `mica_observer hurt = mica_on_set(world, Health, health_set, NULL);`. As
/// `mica_observer_connect`.
#define mica_on_added(WORLD, T, FUNCTION, USER) \
    mica_observer_connect_to((WORLD), MICA_ADDED, mica_type_of(T), (FUNCTION), (USER))
/// The same for `MICA_SET`.
#define mica_on_set(WORLD, T, FUNCTION, USER) \
    mica_observer_connect_to((WORLD), MICA_SET, mica_type_of(T), (FUNCTION), (USER))
/// The same for `MICA_REMOVED`.
#define mica_on_removed(WORLD, T, FUNCTION, USER) \
    mica_observer_connect_to((WORLD), MICA_REMOVED, mica_type_of(T), (FUNCTION), (USER))

/// The signal's value as a `const T *`; NULL if it has none.
#define mica_signal_value(SIGNAL, T) ((const T *)(SIGNAL)->value)
