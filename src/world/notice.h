// Notices: what an operation does to one entity, and telling those who want to know.
//
// An operation tells in two steps. `mi_tell_before` comes when nothing can fail any more and nothing has been changed
// yet, so that what is about to go can be read; `mi_tell_after` when all is done. Both cost nothing but mi_world_tells
// while nobody is connected.
#pragma once

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
    const mi_element *elements; // of an entity that is made and of which all is given: may be NULL, its mask says all
    const mica_value *given;
    uint32_t given_count;
    bool all_given;
} mi_notice;

// Whether anybody might have to be told of changes of an entity.
static inline bool mi_world_tells(const mica_world *world, mica_entity entity) {
    return MICA_UNLIKELY(world->signals.is_watched) && !mica_entity_equal(entity, world->signals.silent);
}

void mi_tell_before(mica_world *world, const mi_notice *notice);
void mi_tell_after(mica_world *world, const mi_notice *notice);

// What changing a living entity's table is. `to` NULL: it is destroyed.
mi_notice mi_world_notice(const mica_world *world, mica_entity entity, const mi_table *to, const mi_change *changes,
                          uint32_t count);

// As mi_world_change, telling alone what `notice` says is to be told before; NULL: nothing. The caller tells the rest.
mica_result mi_world_change_quietly(mica_world *world, mica_entity entity, mi_table *to, const mi_change *changes,
                                    uint32_t count, const mi_notice *notice, const char *call);
// As mi_world_make, telling nothing.
mica_entity mi_world_make_quietly(mica_world *world, mi_table *table, const mi_change *changes, uint32_t count,
                                  const char *call);

// Tells that a component that the entity has was given another value.
void mi_tell_set(mica_world *world, mica_entity entity, mica_component component);
static inline void mi_world_tell_set(mica_world *world, mica_entity entity, mica_component component) {
    if (mi_world_tells(world, entity)) {
        mi_tell_set(world, entity, component);
    }
}

// MICA_LIMIT, with the error set, if telling of a component or resource now would call observers deeper in each other
// than is allowed. To be asked before what observers may do as well.
mica_result mi_tell_check_depth(const mica_world *world, mica_signal_kind kind, mica_component component,
                                const char *call);

// Tells that a resource has got a value, or is about to go.
void mi_tell_resource(mica_world *world, mica_signal_kind kind, mica_component component, const void *value);

// What hides an entity, or a component of it, from queries, and what it is to become.
typedef struct mi_marking {
    mica_entity entity;
    mica_component component; // that can be disabled; 0: the entity as a whole
    bool hides;
    bool kills;
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
    return MICA_UNLIKELY(world->signals.is_watched);
}
// Ends it: tells of the entity as it is now, with what `given` says of values, or with all of them if that is NULL.
// Null: it was not made.
void mi_world_release_made(mica_world *world, mica_entity entity, const mica_value *given, uint32_t given_count);

// Broadcasts (signal.c)
void mi_tell(mica_world *world, mi_channel *channel, mica_signal *signal);
// Tells one observer alone, by its number, of an entity or of its resource; nothing happens if it is gone, or has none.
void mi_tell_one(mica_world *world, uint32_t id, mica_entity entity);
// The value of a component that an entity has; NULL: a tag.
const void *mi_value_told(const mica_world *world, mica_entity entity, mica_component component);
// A signal about an entity without component and value.
mica_signal mi_signal_make(mica_world *world, uint32_t kind, mica_entity entity);

// Reactions (reaction.c)

// Makes the buffers that observers and handlers of events record into, while there are none; false: out of memory.
bool mi_signal_open_buffers(mica_world *world);
// The buffer that observers record into now; NULL: nobody is connected.
mica_commands *mi_signal_commands(mica_world *world);
// Notes that an observer has recorded commands, from number `first` on, into a round's buffer.
void mi_note_cause(mica_world *world, const mi_observer *observer, const mica_signal *signal, uint32_t first);
// The links of a chain of observers that are being called within each other, and of what caused that, latest last, as
// far as `capacity` goes.
void mi_chain_write(const mica_world *world, uint32_t cause, char *text, size_t capacity);
// Applies what observers have recorded, unless structure is locked or that is under way.
void mi_world_react(mica_world *world, const char *call);
// To be called at the end of every verb that may tell.
static inline void mi_world_finish(mica_world *world, const char *call) {
    if (MICA_UNLIKELY(world->signals.has_recorded)) {
        mi_world_react(world, call);
    }
}
