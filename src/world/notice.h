// Notices: what an operation does to one entity, and telling those who want to know.
//
// An operation tells in two steps. `mi_tell_before` comes when nothing can fail any more and nothing has been changed
// yet, so that what is about to go can be read; `mi_tell_after` when all is done. While nobody is connected both cost
// what mi_world_tells does. Where one component comes or goes by itself, and nobody waits for a query,
// mi_world_tell_put and mi_tell_take do without a notice.
#pragma once

#include "base/bitset.h"
#include "world/world.h"

typedef struct mi_notice {
    mica_entity entity;
    const mi_table *from; // NULL: the entity is made
    const mi_table *to;   // NULL: it is destroyed, with all that it has in pools
    // What values are given: those of changes and elements, those in `given` that are not NULL, or all that there are.
    const mi_change *changes;
    uint32_t change_count;
    uint32_t element_count;
    const mica_component *renewed; // components that are enabled by the operation; see mi_edit
    uint32_t renewed_count;
    const mi_element *elements; // NULL, of an entity that is made: all pools that its mask names
    const mica_value *given;
    uint32_t given_count;
    bool all_given;
    bool is_late; // others were told of since before the change: what queries it enters is found out anew
} mi_notice;

// What changing a living entity's table is. `to` NULL: it is destroyed.
mi_notice mi_world_notice(const mica_world *world, mica_entity entity, const mi_table *to, const mi_change *changes,
                          uint32_t count);

// As mi_world_change, telling alone what `notice` says is to be told before; NULL: nothing. The caller tells the rest.
mica_result mi_world_change_quietly(mica_world *world, mica_entity entity, mi_table *to, const mi_change *changes,
                                    uint32_t count, const mi_notice *notice, const char *call);
// As mi_world_make, telling nothing.
mica_entity mi_world_make_quietly(mica_world *world, mi_table *table, const mi_change *changes, uint32_t count,
                                  const char *call);

// Who hears what

// Whether anybody might have to be told of changes of an entity.
static inline bool mi_world_tells(const mica_world *world, mica_entity entity) {
    return MICA_UNLIKELY(world->front.is_watched) && !mica_entity_equal(entity, world->signals.silent);
}
static inline bool mi_signals_hear(const mi_signals *signals, uint32_t kind, mica_component component) {
    return mi_bit_get(signals->bits[kind], signals->word_count, component);
}
// Whether anybody is told when a component is given a value.
static inline bool mi_world_hears_set(const mica_world *world, mica_component component) {
    const mi_signals *signals = &world->signals;
    return MICA_UNLIKELY(world->front.is_watched) &&
           (signals->watches_all || mi_signals_hear(signals, MICA_SET, component));
}
// Whether anybody may be told of what is made in a table, and of what ends.
static inline bool mi_signals_hear_made(const mi_signals *signals, const mi_table *table) {
    return (signals->kinds & (1u << MICA_CREATED | 1u << MICA_ENTERED)) != 0 || signals->watches_all ||
           mi_bits_meet(table->bits, table->bit_words, signals->bits[MICA_ADDED], signals->word_count) ||
           mi_bits_meet(table->bits, table->bit_words, signals->bits[MICA_SET], signals->word_count);
}
static inline bool mi_signals_hear_end(const mi_signals *signals) {
    return (signals->kinds & (1u << MICA_DESTROYED | 1u << MICA_REMOVED | 1u << MICA_LEFT)) != 0;
}
// Whether nobody waits for a query, or for all components: then one component that comes or goes by itself is told of
// to its own observers alone.
static inline bool mi_world_tells_simply(const mica_world *world) {
    return !world->front.is_wide;
}

// Whether anybody is told when a value of a component, or the resource of that type, is written or set.
static inline bool mi_signals_hear_write(const mi_signals *signals, mica_component component) {
    const mi_watch *watch = component < signals->watches.count ? signals->watches.data[component] : NULL;
    const mi_watch *all = signals->watches.count > 0 ? signals->watches.data[0] : NULL;
    return (watch != NULL && watch->written.count > 0) || (all != NULL && all->written.count > 0) ||
           mi_bit_get(signals->bits[MICA_SET], signals->word_count, component) ||
           mi_bit_get(signals->bits[MICA_SET], signals->word_count, 0) ||
           mi_bit_get(signals->bits[MICA_RESOURCE_SET], signals->word_count, component) ||
           mi_bit_get(signals->bits[MICA_RESOURCE_REMOVED], signals->word_count, component);
}

// Whether anybody may be told of what happens to a component by itself.
static inline bool mi_world_hears_of(const mica_world *world, mica_component component) {
    const mi_signals *signals = &world->signals;
    return MICA_UNLIKELY(world->front.is_watched) &&
           (!mi_world_tells_simply(world) ||
            (component < signals->watches.count && signals->watches.data[component] != NULL));
}

// Broadcasts (signal.c)

// Tells all observers of a channel; `user` and `observer` of the signal are filled in for each.
void mi_tell(mica_world *world, mi_channel *channel, mica_signal *signal);
// The same with a signal of these members.
void mi_tell_of(mica_world *world, mi_channel *channel, uint32_t kind, mica_entity entity, mica_component component,
                const void *value);
// Tells the observers of `watched` (the component, or 0: of all) of a component that the entity has.
void mi_tell_component(mica_world *world, uint32_t kind, mica_entity entity, mica_component component,
                       mica_component watched);
// Tells one observer alone, by its number, of an entity or of its resource; nothing happens if it is gone, or has none.
void mi_tell_one(mica_world *world, uint32_t id, mica_entity entity);

// Operations (notice.c)

void mi_tell_before(mica_world *world, const mi_notice *notice);
void mi_tell_after(mica_world *world, const mi_notice *notice);

// What is to be told of a change of a table alone.
typedef struct mi_told {
    bool before;
    bool after;
    mica_component component; // not 0: all that is to be told after is that this one was added
} mi_told;
mi_told mi_world_told(const mica_world *world, const mi_notice *notice);

// Tells that a component came by itself, its value (NULL: a tag) given or not, where mi_world_tells_simply, and does
// what follows from that.
static inline mica_result mi_world_tell_put(mica_world *world, mica_entity entity, mica_component component,
                                            const void *value, bool is_given, const char *call);
// What it falls back to where somebody is told of the component; and what it does where that is just one observer, and
// nothing waits to be applied.
mica_result mi_tell_put(mica_world *world, mi_watch *watch, mica_entity entity, mica_component component,
                        const void *value, bool is_given, const char *call);
mica_result mi_tell_alone(mi_observer *alone, mica_entity entity, const void *value, bool is_given, const char *call);
static inline mica_result mi_world_tell_put(mica_world *world, mica_entity entity, mica_component component,
                                            const void *value, bool is_given, const char *call) {
    const mi_signals *signals = &world->signals;
    mi_watch *watch = component < signals->watches.count ? signals->watches.data[component] : NULL;
    if (watch == NULL) {
        return MICA_OK;
    }
    return MICA_LIKELY(watch->alone != NULL && !signals->has_rest)
               ? mi_tell_alone(watch->alone, entity, value, is_given, call)
               : mi_tell_put(world, watch, entity, component, value, is_given, call);
}
// Tell that a component is about to go, the second of one in a pool whose value (NULL: a tag) is at hand;
// mi_world_hears_of, and mi_world_tells_simply.
void mi_tell_take(mica_world *world, mica_entity entity, mica_component component);
void mi_tell_take_element(mica_world *world, mica_entity entity, mica_component component, const void *value);

// Tells that a component that the entity has was given another value.
void mi_tell_set(mica_world *world, mica_entity entity, mica_component component);
static inline void mi_world_tell_set(mica_world *world, mica_entity entity, mica_component component) {
    if (mi_world_tells(world, entity)) {
        mi_tell_set(world, entity, component);
    }
}

// Tells that a resource has got a value, or is about to go.
void mi_tell_resource(mica_world *world, mica_signal_kind kind, mica_component component, const void *value);

// What hides an entity, or a component of it, from queries, and what it is to become.
typedef struct mi_marking {
    mica_entity entity;
    mica_component component; // that can be disabled; 0: the entity as a whole
    bool hides;
    bool kills;
    bool revives; // by a restore: it is not killed any more
} mi_marking;
void mi_tell_before_marking(mica_world *world, const mi_marking *marking);
void mi_tell_after_marking(mica_world *world, const mi_marking *marking);
static inline void mi_world_tell_before_marking(mica_world *world, const mi_marking *marking) {
    if (mi_world_tells(world, marking->entity)) {
        mi_tell_before_marking(world, marking);
    }
}
static inline void mi_world_tell_after_marking(mica_world *world, const mi_marking *marking) {
    if (mi_world_tells(world, marking->entity)) {
        mi_tell_after_marking(world, marking);
    }
}

// Restores, which find out what they do by themselves (state/tell.c). Finds out, into did_match and will_match, which
// of the watched queries an entity matches now, and which it will: its table (NULL: it is made or ends), its elements
// (those that come and go), and its marks as they will be where they change.
void mi_match_restored(mica_world *world, const mi_notice *notice, const mi_marking *markings, uint32_t marking_count);
// Tells one thing of an entity. `number` is that of the component, or of the watched query.
void mi_tell_restored(mica_world *world, uint32_t kind, mica_entity entity, uint32_t number);

// Tells that every entity is about to end, children before their parents.
void mi_tell_end_of_all(mica_world *world);

// Making an entity in several steps, some of which may yet fail: nothing is told of the one that is made next until it
// is released, or taken back.
static inline void mi_world_hold_made(mica_world *world) {
    world->signals.holds_made = true;
}
// To be called by what makes entities: whether the new one is told of now.
static inline bool mi_world_tells_made(mica_world *world, mica_entity entity) {
    if (MICA_UNLIKELY(world->signals.holds_made)) {
        world->signals.holds_made = false;
        world->signals.silent = entity;
        return false;
    }
    return MICA_UNLIKELY(world->front.is_watched);
}
// Ends it: tells of the entity as it is now, with what `given` says of values, or with all of them if that is NULL.
// Null: it was not made.
void mi_world_release_made(mica_world *world, mica_entity entity, const mica_value *given, uint32_t given_count);

// Reactions (reaction.c)

// Makes the buffers that observers and handlers of events record into, while there are none; false: out of memory.
bool mi_signal_open_buffers(mica_world *world);
// The buffer that observers record into now; NULL: there is none yet.
mica_commands *mi_signal_commands_apart(mica_world *world); // of a system or a walk
static inline mica_commands *mi_signal_commands(mica_world *world) {
    return MICA_LIKELY(world->running == NULL && world->front.walk_count == 0 && !world->is_shared)
               ? world->signals.recorded
               : mi_signal_commands_apart(world);
}
// Notes that an observer has recorded commands, from number `first` on, into a round's buffer.
void mi_note_cause(mica_world *world, const mi_observer *observer, const mica_signal *signal, uint32_t first);
// MICA_LIMIT, with the error set, if telling of a component or resource now would call observers deeper in each other
// than is allowed. To be asked before what observers may do as well.
mica_result mi_tell_check_depth(const mica_world *world, mica_signal_kind kind, mica_component component,
                                const char *call);
// Applies what observers have recorded, unless structure is locked or that is under way.
void mi_world_react(mica_world *world, const char *call);
// To be called at the end of every verb that may tell.
static inline void mi_world_finish(mica_world *world, const char *call) {
    if (MICA_UNLIKELY(world->signals.has_rest)) {
        mi_world_react(world, call);
    }
}
