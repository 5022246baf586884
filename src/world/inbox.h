// The inbox of a world: what other threads have posted and no tick has fetched yet.
//
// Two buffers: messages are posted into one under the lock; draining exchanges the two under the lock and then sends
// what the other holds, at leisure and without it.
#pragma once

#include "base/os.h"
#include "world/world.h"

#include <mica/inbox.h>

// Messages in order of arrival: their types, and their values one behind the other.
typedef struct mi_inbox_buffer {
    mica_component *components; // room for the inbox's limit
    uint8_t *bytes;             // as well
    uint32_t count;
    uint32_t byte_size; // of `bytes`
} mi_inbox_buffer;

// Told of a message that has just become an event, on the world's thread: its type, its value (not aligned; NULL: a
// tag), and whether it was drained by the beginning of a tick, not by mica_inbox_drain. It must change nothing of the
// world.
typedef void (*mi_inbox_tap)(mica_world *world, const mi_type *type, const void *value, bool begins_tick, void *user);

typedef struct mi_inbox_listener {
    mi_inbox_tap tap;
    void *user;
} mi_inbox_listener;

struct mica_inbox {
    mica_world *world;                     // of the world's thread alone
    MI_ARRAY(mi_inbox_listener) listeners; // of the world's thread alone
    const mica_schema *schema;
    mi_inbox_buffer drained; // of the world's thread alone: messages that are being sent
    uint32_t sent_count;     // of `drained`: sent already
    uint32_t sent_byte_size;

    mi_lock lock; // for all that follows
    mi_inbox_buffer posted;
    uint32_t left_count; // messages in `drained` that could not be sent, for the limits
    uint32_t left_byte_size;
    mica_inbox_stats stats; // but for what waits
};

// The inbox of a world; NULL: nobody has asked for it yet.
mica_inbox *mi_inbox_find(const mica_world *world);

// Lets a function hear of all messages from now on, as whoever records what comes from outside does; made known to the
// world's inbox, which is made for it. False: out of memory, no error is set. Who gives a world the same messages again
// posts them (mica_inbox_post) in the order in which he was told of them; taps are told of those as well.
bool mi_inbox_listen(mica_world *world, mi_inbox_tap tap, void *user);
// Ends that, unless it was ended already.
void mi_inbox_unlisten(mica_world *world, mi_inbox_tap tap, void *user);

// What waits is state of the world: a restore puts the messages of that moment in its place. Counts stay.
extern const mi_part mi_inbox_part;
