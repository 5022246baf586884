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

struct mica_inbox {
    mica_world *world; // of the world's thread alone
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
