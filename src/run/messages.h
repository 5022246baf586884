// The messages that a tick took in through the inbox, so that they can be given to it again.
#pragma once

#include "base/array.h"
#include "world/world.h"

typedef struct mi_messages {
    mi_heap *heap;                       // of what follows
    MI_ARRAY(mica_component) components; // in the order in which they became events
    MI_ARRAY(uint8_t) bytes;             // their values, one behind the other
    bool is_short;                       // memory was out: they are not all there
} mi_messages;

// Forgets what was noted, and notes the messages that become events from now on. MICA_OUT_OF_MEMORY, set for `call`.
mica_result mi_messages_listen(mi_messages *messages, mica_world *world, const char *call);
void mi_messages_unlisten(mi_messages *messages, mica_world *world);
void mi_messages_free(mi_messages *messages);

// Notes a message; false: out of memory.
bool mi_messages_add(mi_messages *messages, const mi_type *type, const void *value);

// Lets these messages wait in a world's inbox, for its next tick to take them in; the first of them are those that wait
// already. MICA_OUT_OF_MEMORY, or MICA_LIMIT: the inbox has no room for them; the error is set.
mica_result mi_messages_give(const mi_messages *messages, mica_world *world);

// As bytes: without padding, components by their names.
void mi_messages_write(const mi_messages *messages, mi_writer *writer);
// Reads them into messages that are empty. What is wrong is noted with the reader.
void mi_messages_read(mi_messages *messages, mi_reader *reader);
