/// \file event.h
/// Events: typed messages on a world's bus.
///
/// Every component type is a type of events as well: a struct with what there is to say, or a tag. An event is either
/// *triggered*, which calls the handlers of its type at once, or *sent*, which queues it. What is queued is seen by
/// handlers when somebody *delivers* the type, and by *readers*, each of which sees every event exactly once, whenever
/// it likes.
///
/// **Order.** Events of one type are seen in the order in which they were sent, systems send in the order of the plan,
/// and handlers are called in the order in which they were bound: all of them for one event, then for the next. A
/// delivery is of what was sent before it began: what handlers send is for the next one, so that a chain of sends takes
/// a delivery a link. Triggers inside handlers call at once, up to `MICA_EVENT_DEPTH_MAX` deep.
///
/// **Kept.** An event is kept until all readers that were there when it was sent have seen it, and handlers, if some
/// were bound, have had it delivered; then its memory is used again. It is never kept longer than the ticks that
/// `mica_event_set_limits` says: where more of them (those that fail, too) follow the one that it was sent in, it is
/// dropped, and whoever had not seen it has missed it; steps of a paused world (system.h) are no ticks. It is said in
/// the world's log how many events of which type who has missed, and counted for each reader. An event that nobody is
/// there for is counted and not kept. In a world without ticks (no `mica_world_step`) nothing grows old: there the
/// limit on their number keeps a reader that is never read from filling memory (what a reader was handed last stays
/// until its next call, and all that was sent after it). `mica_world_trim` gives back memory that no event is in;
/// `mica_world_clear` leaves events alone; they end with the world.
///
/// **State.** What is queued is part of the world's state (snapshot.h): the events that somebody has yet to see, with
/// their order and age, how far deliveries are, and the limits; so are the readers of systems. Handlers and readers of
/// the program are not: they stay. After a restore such a reader goes on with what it has not seen: a part of what was
/// sent before the restored moment, then what is sent from then on. So it sees again what is sent again, and never what
/// was discarded before it was read. Counts are of all that ever happened, and stay.
///
/// **Inside a handler** structure is locked as in an observer (observer.h): the world's structural verbs are refused
/// with `MICA_LOCKED`. Everything can be read, values that are there can be set, and structural changes are recorded
/// into `event->commands`. Those are applied when the operation that caused them has ended: a trigger, a delivery as a
/// whole, the verb whose observer triggers, a walk. In a system that locks structure they go into the system's buffer,
/// to the next barrier. Handlers may bind, unbind, send, trigger, and deliver other types.
///
/// All functions here belong to the world's thread; other threads have the inbox (inbox.h). Sending, reading and
/// delivering allocate nothing once there is memory for as many events as are kept at a time.
#pragma once

#include <mica/system.h>
#include <mica/verbs.h>

MICA_BEGIN

/// Ticks that an event is kept for at most, unless its type says otherwise.
#define MICA_EVENT_TICKS_DEFAULT 16u
/// Most ticks that a type can say.
#define MICA_EVENT_TICKS_MAX 4096u
/// How deep triggers and deliveries go that handlers call.
#define MICA_EVENT_DEPTH_MAX 64u

/// Names a handler of a world; 0 is none. Numbers are never used again.
typedef struct mica_event_handler {
    uint32_t id;
} mica_event_handler;

/// What a handler is told. Good during the call alone.
typedef struct mica_event {
    mica_world *world;
    mica_commands *commands; ///< where structural changes are recorded; never NULL
    const void *value;       ///< what the event says; NULL: a tag
    void *user;              ///< given when the handler was bound
    mica_component component;
    mica_event_handler handler;
} mica_event;

/// A handler: is told of one event, during the call alone.
typedef void (*mica_event_function)(const mica_event *event);

/// Binds a function to the events of a type, behind all that are bound: it is called from the next event on, also if a
/// handler binds it. 0 on failure: `MICA_UNKNOWN`, `MICA_INVALID` (no function), `MICA_LIMIT` (the numbers are used
/// up), `MICA_LOCKED` (in a system that may run beside others), `MICA_OUT_OF_MEMORY`. O(1).
MICA_API mica_event_handler mica_event_bind(mica_world *world, mica_component component, mica_event_function call,
                                            void *user);

/// Unbinds a handler; it is not called again, also not for an event that others are being told of right now. Refuses:
/// `MICA_UNKNOWN`, `MICA_LOCKED` (in a system that may run beside others). O(handlers).
MICA_API mica_result mica_event_unbind(mica_world *world, mica_event_handler handler);

/// Calls the handlers of a type at once, with the value where it is; readers do not see it. `value` is NULL for tags.
/// Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no value), `MICA_NO_VALUE` (a value for a tag), `MICA_LIMIT` (too deep; the
/// message names the type), `MICA_OUT_OF_MEMORY` (nobody was called). O(handlers) and what they do.
MICA_API mica_result mica_event_trigger(mica_world *world, mica_component component, const void *value);

/// Queues an event of a type for readers and for the next delivery. The value is copied, or moved from if the type is
/// move-only; `value` is NULL for tags. Over the limit on its number (`mica_event_set_limits`) the oldest event makes
/// room. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no value), `MICA_NO_VALUE` (a value for a tag), `MICA_OUT_OF_MEMORY`
/// (nothing is queued and nothing moved from); `MICA_LOCKED` in a span of a parallel loop (parallel.h), which has no
/// place in the order of events. O(1), and O(readers) where memory is used again.
MICA_API mica_result mica_event_send(mica_world *world, mica_component component, const void *value);

/// Calls the handlers of a type for each queued event that was sent while a handler was bound and that no delivery has
/// had yet. Returns for how many; -1: `MICA_UNKNOWN`, `MICA_LOCKED` (from inside a delivery of this type), `MICA_LIMIT`
/// (too deep), `MICA_OUT_OF_MEMORY` (nobody was called). O(events * handlers) and what they do.
MICA_API int32_t mica_event_deliver(mica_world *world, mica_component component);

/// Says how long events of a type are kept: through the `tick_count` ticks that follow the one that they were sent in
/// (0: `MICA_EVENT_TICKS_DEFAULT`), and `event_count` of them that somebody has yet to see (0: as many as memory
/// holds). What waits now grows old from now on. Refuses: `MICA_UNKNOWN`, `MICA_LIMIT` (over `MICA_EVENT_TICKS_MAX`),
/// `MICA_LOCKED` (in a system that may run beside others), `MICA_OUT_OF_MEMORY`. O(tick_count + readers).
MICA_API mica_result mica_event_set_limits(mica_world *world, mica_component component, uint32_t tick_count,
                                           uint32_t event_count);

/// What became of the events of a type since the world was made.
typedef struct mica_event_stats {
    uint64_t sent_count;
    uint64_t triggered_count;
    uint64_t delivered_count; ///< events, not calls
    uint64_t unheard_count;   ///< sent while there was neither reader nor handler
    uint64_t missed_count;    ///< dropped unseen: by each reader that is or was there, and by deliveries
    uint64_t waiting_count;   ///< that somebody has yet to see
    uint32_t reader_count;
    uint32_t handler_count;
} mica_event_stats;

/// What became of the events of a type. Refuses: `MICA_UNKNOWN`, `MICA_INVALID` (no place for it). O(readers).
MICA_API mica_result mica_event_statistics(const mica_world *world, mica_component component, mica_event_stats *stats);

// Readers. What is asked of NULL is 0 or NULL: `MICA_INVALID`.

/// A place in the events of a type. Each reader sees every event that is sent after it was made exactly once.
typedef struct mica_event_reader mica_event_reader;

/// Makes a reader. `name` is for messages; copied; NULL: "reader". NULL on failure: `MICA_UNKNOWN`,
/// `MICA_LOCKED` (in a system that may run beside others, which has readers of its own: `mica_run_events`),
/// `MICA_OUT_OF_MEMORY`. It ends with the world. O(1).
MICA_API mica_event_reader *mica_event_reader_create(mica_world *world, mica_component component, const char *name);

/// Ends a reader, before the world; nothing is kept for it any more. NULL is allowed; those of systems
/// (`mica_run_event_reader`) are not the caller's to end: `MICA_INVALID`, as the last error. `MICA_LOCKED` likewise in
/// a system that may run beside others. O(readers).
MICA_API void mica_event_reader_destroy(mica_event_reader *reader);

/// How many events wait for the reader; asking changes nothing, so the answer is the same until one is read, sent or
/// dropped. O(1).
MICA_API uint64_t mica_event_reader_count(const mica_event_reader *reader);

/// The next event that the reader has not seen, which it has seen from now on; NULL: there is none. Stopping early
/// leaves the rest for later. For a tag the address only says that there was one. `type` (may be NULL) is what the
/// caller takes it for: NULL with `MICA_MISMATCH` if the reader reads another. The value is good until the reader's
/// next call or the beginning of the next tick. O(1).
MICA_API const void *mica_event_reader_next(mica_event_reader *reader, mica_type *type);

/// As `mica_event_reader_next`, as many as follow each other in memory, up to `most` (0: no matter how many): the first
/// of them, their number in `count`. More may wait after that. O(1).
MICA_API const void *mica_event_reader_span(mica_event_reader *reader, mica_type *type, int32_t most, int32_t *count);

/// What a reader did.
typedef struct mica_event_reader_stats {
    const char *name; ///< as good as the reader
    mica_component component;
    uint64_t seen_count;
    uint64_t missed_count; ///< dropped before it saw them
} mica_event_reader_stats;

/// What a reader did. O(1).
MICA_API mica_event_reader_stats mica_event_reader_statistics(const mica_event_reader *reader);

/// The running system's own reader of a type, named after the system; made when it first asks, so it sees what is sent
/// from then on, and not what was sent earlier in the tick of the system's first run: a system that is to miss nothing
/// of that is given a reader that was made before, as `user`. Ends with the system. NULL on failure: as
/// `mica_event_reader_create`, `MICA_INVALID` (no run), `MICA_LOCKED` (in a span of a parallel loop); without memory
/// the system has failed, as by `mica_run_fail`. O(types that the system reads).
MICA_API mica_event_reader *mica_run_event_reader(mica_run *run, mica_component component);

/// \cond internal: typed forms resolve the descriptor, then call the function by id. A descriptor that is refused has
/// set the error.
static inline mica_event_handler mica_event_bind_typed(mica_world *world, mica_type *type, mica_event_function call,
                                                       void *user) {
    const mica_component component = mica_world_component(world, type);
    const mica_event_handler none = {0};
    return component == 0 ? none : mica_event_bind(world, component, call, user);
}
static inline mica_result mica_event_trigger_typed(mica_world *world, mica_type *type, const void *value) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_event_trigger(world, component, value);
}
static inline mica_result mica_event_send_typed(mica_world *world, mica_type *type, const void *value) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_event_send(world, component, value);
}
static inline int32_t mica_event_deliver_typed(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? -1 : mica_event_deliver(world, component);
}
static inline mica_event_reader *mica_event_reader_typed(mica_world *world, mica_type *type, const char *name) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? NULL : mica_event_reader_create(world, component, name);
}
static inline mica_event_reader *mica_run_events_typed(mica_run *run, mica_type *type) {
    mica_world *world = mica_run_world(run);
    const mica_component component = world == NULL ? (mica_component)0 : mica_world_component(world, type);
    return component == 0 ? NULL : mica_run_event_reader(run, component);
}
/// \endcond

MICA_END

/// Binds a function to the events of a type: `mica_on_event(world, Hit, shake_camera, NULL)`. `mica_event_bind`.
#define mica_on_event(WORLD, T, FUNCTION, USER) mica_event_bind_typed((WORLD), mica_type_of(T), (FUNCTION), (USER))
/// Calls the handlers of an event with a value in braces, now: `mica_trigger(world, Hit, {target, 10})`.
/// `mica_event_trigger`.
#define mica_trigger(WORLD, T, ...) mica_event_trigger_typed((WORLD), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// As `mica_trigger`, for a tag.
#define mica_trigger_tag(WORLD, T) mica_event_trigger_typed((WORLD), mica_type_of(T), NULL)
/// Queues an event with a value in braces: `mica_send(world, Hit, {target, 10})`. `mica_event_send`.
#define mica_send(WORLD, T, ...) mica_event_send_typed((WORLD), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// As `mica_send`, with the value that a `T *` points to; a value of a move-only type is moved out of it.
#define mica_send_from(WORLD, T, VALUE_PTR) mica_event_send_typed((WORLD), mica_type_of(T), MICA_FROM_(T, VALUE_PTR))
/// As `mica_send`, for a tag.
#define mica_send_tag(WORLD, T) mica_event_send_typed((WORLD), mica_type_of(T), NULL)
/// Calls the handlers of a type for all that is queued; how many events. `mica_event_deliver`.
#define mica_deliver(WORLD, T) mica_event_deliver_typed((WORLD), mica_type_of(T))
/// Makes a reader of a type: a `mica_event_reader *`. `mica_event_reader_create`.
#define mica_reader_of(WORLD, T, NAME) mica_event_reader_typed((WORLD), mica_type_of(T), (NAME))
/// The running system's own reader of a type. `mica_run_event_reader`.
#define mica_run_events(RUN, T) mica_run_events_typed((RUN), mica_type_of(T))
/// The next event as a `const T *`, NULL at the end: `for (const Hit *hit; (hit = mica_next_event(hits, Hit)) !=
/// NULL;)`. `mica_event_reader_next`.
#define mica_next_event(READER, T) ((const T *)mica_event_reader_next((READER), mica_type_of(T)))
/// Whether there was a next event, for a tag.
#define mica_next_tag_event(READER, T) (mica_event_reader_next((READER), mica_type_of(T)) != NULL)
/// The next events that follow each other, as a `const T *`; their number in `*COUNT`. `mica_event_reader_span`.
#define mica_next_events(READER, T, COUNT) ((const T *)mica_event_reader_span((READER), mica_type_of(T), 0, (COUNT)))
/// What an event says, in its handler, as a `const T *`.
#define mica_event_value(EVENT, T) ((const T *)(EVENT)->value)
