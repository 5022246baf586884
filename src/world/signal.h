// Signals: who is told of what in a world.
//
// A *channel* holds the observers of one kind of signal about one component, or about entities as a whole; the
// library's own stand in front, all others in the order of connection. A broadcast goes over those that were there when
// it began; an observer that is disconnected meanwhile stays in its place, silent, until no broadcast of the channel is
// under way. `bits` say which components have anybody in a channel, so that an operation that concerns nobody finds out
// by a few words.
//
// What observers record is a *reaction*. Reactions are applied in rounds, each of which is what the round before has
// caused; see reaction.c.
#pragma once

#include "base/array.h"

#include <mica/observer.h>

// Kinds of the library's own, behind those of mica_signal_kind.
enum {
    MI_SIGNAL_MARKED = MICA_RESOURCE_REMOVED + 1, // an entity was enabled, disabled or killed, or one of its components
    MI_SIGNAL_KIND_COUNT
};

struct mi_query_watch;

struct mi_channel;

// A callback of the program that the library is in; structure is locked meanwhile.
typedef struct mi_callback {
    const char *call;                   // the public function that calls back
    const struct mi_observer *observer; // that is called; NULL: it is another kind of callback
    const struct mi_channel *channel;   // whose broadcast that is
    mica_commands *commands;            // what it is given to record into; NULL: nothing
    const struct mi_callback *outer;
} mi_callback;

typedef struct mi_observer {
    uint32_t id;
    uint8_t kind; // a mica_signal_kind or MI_SIGNAL_…
    bool is_own;  // of the library's own
    bool is_connected;
    mica_component component;
    struct mi_query_watch *query; // of MICA_ENTERED and MICA_LEFT
    mica_observer_function call;
    void *user;
    char *name;            // NULL for the library's own
    uint64_t next_sample;  // the call of this number is measured
    uint64_t until_sample; // calls until it is done, itself included: see mi_observer_calls
    uint64_t sampled_count;
    uint64_t sampled_nanoseconds;
    uint64_t calls_before_tick;
    double tick_nanoseconds;  // spent in ticks, and
    double ticks_nanoseconds; // what those took: of the last ones, see run/diagnose.c
    // What it is told, while it is the only one of its channel and no callback runs; filled in but for entity and
    // value.
    mica_signal signal;
    mi_callback callback;
    // Of the present call by mi_tell_alone: whether MICA_SET follows, and the verb.
    bool is_given;
    const char *verb;
    mica_observer_function unguarded; // in a world with a guard: what `call` leads to
} mi_observer;

// How often it was called.
static inline uint64_t mi_observer_calls(const mi_observer *observer) {
    return observer->next_sample + 1 - observer->until_sample;
}

typedef struct mi_channel {
    MI_ARRAY(mi_observer *) observers;
    mi_observer *only;   // the one that is listed, and connected; NULL: there are none or several
    uint32_t gone_count; // of observers that are disconnected and still listed
    bool is_unsettled;   // some are to go, or to be put in front of others, when no broadcast is under way
} mi_channel;

// Told that values of one component of `count` entities may be written through addresses from now on: by spans, by
// mica_entity_get_write, by a pool's arrays, by mica_mark_row.
typedef void (*mi_written_function)(mica_world *world, mica_component component, const mica_entity *entities,
                                    uint32_t count, void *user);
typedef struct mi_writer_watch {
    mi_written_function call;
    void *user;
} mi_writer_watch;

// All that is told of one component.
typedef struct mi_watch {
    mi_channel channels[MI_SIGNAL_KIND_COUNT]; // by kind; those about entities as a whole stand with component 0
    mi_observer
        *alone; // the one who is told when it is added, if nobody is told when it is set; NULL: none, or several
    MI_ARRAY(mi_writer_watch) written;
} mi_watch;

// A query that observers wait for entities to match, or to cease to. *Idle*: nobody waits any more.
typedef struct mi_query_watch {
    mica_query *query; // a reference is held
    mi_channel entered;
    mi_channel left;
    bool did_match;  // the entity that is being changed, before
    bool will_match; // and after
} mi_query_watch;

// What an observer has caused: the commands from `first` on that it recorded in its round.
typedef struct mi_cause {
    uint32_t parent; // number of the cause that it is an effect of, + 1; 0: none
    uint32_t first;
    uint32_t observer_id;
    uint8_t kind; // of the signal, as `component`
    mica_component component;
} mi_cause;

typedef struct mi_signals {
    bool watches_all; // somebody of the library's own is told of all components (by watch 0)
    bool holds_made;  // nothing is told of the entity that is made next
    bool is_reacting;
    bool has_rest; // when the operation ends, `recorded` is to be applied, or idle queries are to be dropped; or
                   // somebody was connected or disconnected by an observer
    // The column of a chunk that was told of last as written, and when; NULL when no walk is open.
    const void *written_column;
    uint64_t written_version;
    MI_ARRAY(mi_watch *) watches; // by component, NULL: nobody; 0: of all components, and of entities as a whole
    uint64_t *bits[MI_SIGNAL_KIND_COUNT]; // by kind and component: whether somebody is told
    // Components that somebody is told of at all: by ADDED, SET or REMOVED, or because a watched query names them.
    uint64_t *heard_bits;
    uint32_t word_count; // of each of these sets
    uint32_t kinds; // a bit a kind: whether somebody is told of anything by it, or (ENTERED, LEFT) waits for a query
    MI_ARRAY(mi_query_watch *) queries;
    MI_ARRAY(mi_observer *) observers; // ascending by id, the library's own too
    MI_ARRAY(mica_component) listed;   // scratch: has room for every component that is watched
    mica_entity silent;                // nothing is told of this entity: it is being made. Null: none
    uint32_t last_id;
    // Reactions.
    mica_commands *recorded;      // what observers record outside walks and systems; NULL: nobody is connected
    mica_commands *applied;       // the round under way
    MI_ARRAY(mi_cause) causes;    // of this operation
    uint32_t round_cause;         // the first cause of the round under way
    uint32_t next_cause;          // the first cause of the round that is recorded
    uint64_t dropped_count;       // reactions that were dropped since the world was made
    struct mi_lanes_copy *copies; // of values in lanes, that somebody looks at now; the innermost
} mi_signals;

// Connects an observer of the library's own: told before all of programs. `component` 0 with a kind about components:
// all of them (not in order of names). `call` must not change the world; its memory is its own business. NULL: out of
// memory, with no error set.
mi_observer *mi_observer_connect(mica_world *world, uint32_t kind, mica_component component,
                                 mica_observer_function call, void *user);
void mi_observer_disconnect(mica_world *world, mi_observer *observer);

// The same for values that are written through addresses; component 0: all. False: out of memory.
bool mi_written_connect(mica_world *world, mica_component component, mi_written_function call, void *user);
void mi_written_disconnect(mica_world *world, mica_component component, mi_written_function call, void *user);
void mi_tell_written(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count);

// As mi_observer_connect, for any observer: `given` is copied, its name is taken over. The channel of ENTERED and LEFT
// is that of `given->query`.
mi_observer *mi_signal_connect(mica_world *world, const mi_observer *given);
// The observer of a number; NULL: there is none.
mi_observer *mi_signal_find(const mi_signals *signals, uint32_t id);
// While programs' observers are mute, the library's own are told alone. No broadcast is under way.
void mi_signals_mute(mica_world *world, bool is_mute);
// Drops the queries that are idle: at once, or, as a broadcast may go over them, when the operation ends.
void mi_signals_drop_idle(mica_world *world);

// Ends all observers; the world is about to end.
void mi_world_free_signals(mica_world *world);
