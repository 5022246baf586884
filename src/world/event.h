// Events: what is queued of each type, and who has seen how much of it.
//
// Events of a type are numbered in the order in which they are sent, heard or not. Values lie in pages of a power of
// two of them; the pages of the events that are kept stand in a ring. A *cursor* is a place in the numbers: each reader
// has one, and the handlers of a type have one together, for deliveries.
#pragma once

#include "world/world.h"

#include <mica/event.h>

typedef struct mi_event_cursor {
    uint64_t next; // the first event that was not seen
    uint64_t held; // memory stays from here on: what was handed out last may still be in use. Not above `next`
    uint64_t seen_count;
    uint64_t missed_count;
    uint64_t told_count; // of those missed: said in the log
} mi_event_cursor;

struct mi_event_queue;

struct mica_event_reader {
    mica_world *world;
    struct mi_event_queue *queue;
    char *name;
    bool is_lent; // a part of the library ends it
    mi_event_cursor cursor;
};

typedef struct mi_event_binding {
    uint32_t id;
    mica_event_function call; // NULL: unbound, and listed until nobody goes over the list
    void *user;
    mica_event_function unguarded; // in a world with a guard: what `call` leads to
} mi_event_binding;

// All about the events of one type.
typedef struct mi_event_queue {
    const mi_type *type;

    MI_ARRAY(mi_event_binding) bindings; // in order of binding: ascending by id
    uint32_t gone_count;                 // of `bindings`: unbound
    uint32_t busy;                       // how often somebody goes over `bindings`
    bool is_delivering;
    bool is_listed;            // scratch of restoring: the record has it
    mi_event_cursor delivered; // of the handlers; means nothing while none is bound
    MI_ARRAY(mica_event_reader *) readers;

    uint64_t first;         // the first event in memory
    uint64_t next;          // the number of the next one to be sent; a restore brings it back
    void **pages;           // page p = number >> page_shift in slot p modulo the capacity; NULL where no
                            // event is, but for the next one's
    uint32_t page_capacity; // 0 or a power of two
    void *spare;            // pages that wait to be used again, each begins with the address of the next; NULL: none
    uint32_t page_shift;

    uint64_t *marks; // by tick modulo tick_limit: `next` when that tick began
    uint32_t tick_limit;
    uint32_t count_limit; // 0: none

    uint64_t sent_count; // like all counts: never goes back
    uint64_t triggered_count;
    uint64_t delivered_count;
    uint64_t unheard_count;
    uint64_t missed_count;
} mi_event_queue;

typedef struct mi_events {
    MI_ARRAY(mi_event_queue *) queues; // by component; NULL: nothing was ever asked of its events
    uint32_t last_id;                  // of handlers
    uint32_t depth;                    // of triggers and deliveries in each other
    uint64_t tick;                     // ticks begun
    uint64_t change_count;             // of what is state and no other count tells; never goes back
} mi_events;

// Makes the events of a world unless they are there; false: out of memory, with no error set.
bool mi_events_have(mica_world *world);

// The queue of a type, made on first use. NULL: MICA_OUT_OF_MEMORY, MICA_INVALID (no world), MICA_UNKNOWN.
mi_event_queue *mi_event_queue_open(mica_world *world, mica_component component, const char *call);

// The same without an error set; NULL: out of memory.
mi_event_queue *mi_event_queue_have(mica_world *world, const mi_type *type);

// What the parts of the bus share: event.c keeps it going, event_state.c saves and restores it.

// The first event that somebody has yet to see.
uint64_t mi_event_first_unseen(const mi_event_queue *queue);
// The same without the readers of the program.
uint64_t mi_event_first_of_state(const mi_event_queue *queue);
static inline uint32_t mi_event_handler_count(const mi_event_queue *queue) {
    return queue->bindings.count - queue->gone_count;
}
// Makes sure that there is memory for the next event; false: there is none.
bool mi_event_have_place(mi_heap *heap, mi_event_queue *queue);
// Marks for so many ticks, all of them at the first event in memory; false: out of memory.
bool mi_event_set_tick_limit(mi_heap *heap, mi_event_queue *queue, uint32_t tick_limit);
// Ends all events of a queue, and frees their memory and the marks.
void mi_event_queue_end_content(mica_world *world, mi_event_queue *queue);
// Lets a queue be as if nothing had been sent yet.
void mi_event_queue_restart(mica_world *world, mi_event_queue *queue);

// The value of an event in memory: first <= number < next, of a type with data.
void *mi_event_at(const mi_event_queue *queue, uint64_t number);

// Queues an event: the one way onto the bus for all that is sent. `value` is as the type wants it. False: out of
// memory, or the copy hook could not, and nothing has happened.
bool mi_event_enqueue(mica_world *world, mi_event_queue *queue, const void *value);

// A reader that a part of the library ends by mi_event_reader_end.
mica_event_reader *mi_event_reader_lend(mica_world *world, mica_component component, const char *name,
                                        const char *call);
void mi_event_reader_end(mica_event_reader *reader);

// Where a reader stands, as what snapshots keep of those that belong to systems: how many events it has yet to see.
uint64_t mi_event_reader_position(const mica_event_reader *reader);
// Lets a reader stand before the last `position` events, or before all that are there if these are fewer.
void mi_event_reader_place(mica_event_reader *reader, uint64_t position);

// State of the world: what is queued, the numbers and limits, how far deliveries are. Readers of systems are the
// systems' to restore; all others go on with what they have not seen. Counts stay.
extern const mi_part mi_events_part;
