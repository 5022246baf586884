/// \file inbox.h
/// The inbox: how other threads hand messages to a world.
///
/// A world belongs to one thread. Others (network, loading) post messages into its inbox, on any thread at any time;
/// each becomes an event of its type (event.h) when the world's next tick begins, before its first system, in the order
/// of arrival. Those of one thread arrive in the order in which they were posted. What other threads post depends on
/// timing: a world that is to give the same answer again is to be given the same messages again, before the same ticks.
///
/// **State.** Messages that wait are part of the world's state (snapshot.h): a restore puts those of that moment in the
/// place of all that wait now, so what has been posted since has to be posted again if it is to come. A world whose
/// inbox has no room for them is not restored (`MICA_LIMIT`). Threads may post meanwhile. Counts stay.
///
/// Bounded: an inbox has room for `mica_world_def.inbox_message_limit` messages with `inbox_byte_limit` bytes together,
/// and is refused more with `MICA_LIMIT`, which is counted. Its memory is taken once, when the inbox is made; posting
/// allocates nothing, writes no log, and holds a lock for as long as it takes to copy the value.
#pragma once

#include <mica/verbs.h>

MICA_BEGIN

/// Messages that an inbox has room for unless the world says otherwise.
#define MICA_INBOX_MESSAGES_DEFAULT 1024u
/// Bytes of messages' values that an inbox has room for unless the world says otherwise.
#define MICA_INBOX_BYTES_DEFAULT 65536u

typedef struct mica_inbox mica_inbox;

/// The inbox of a world, made when it is first asked for: on the world's thread, before other threads are given it. It
/// ends with the world; whoever posts must have stopped by then. NULL: `MICA_OUT_OF_MEMORY`, `MICA_INVALID` (no world).
/// O(its limits) the first time, then O(1).
MICA_API mica_inbox *mica_world_inbox(mica_world *world);

/// Puts a message in; the value is copied. `value` is NULL for tags. Any thread. Refuses: `MICA_LIMIT` (full, or larger
/// than the inbox), `MICA_UNKNOWN` (the schema does not know the type), `MICA_UNSUPPORTED` (it has hooks: values that
/// own something cannot change threads), `MICA_INVALID` (no value), `MICA_NO_VALUE` (a value for a tag). The error is
/// the calling thread's; the world's log is not called. O(bytes).
MICA_API mica_result mica_inbox_post(mica_inbox *inbox, mica_component component, const void *value);

/// As `mica_inbox_post`, by descriptor. The type must have been registered before (`mica_register`), if by another
/// descriptor, then under the same name: posting adds none to the schema. Refuses besides: `MICA_MISMATCH` (another
/// kind, size or alignment). O(1) more for a descriptor that was registered itself, otherwise O(length of the name).
MICA_API mica_result mica_inbox_post_type(mica_inbox *inbox, mica_type *type, const void *value);

/// Sends all messages as events now, for worlds without ticks; a tick does so by itself. Returns how many; -1:
/// `MICA_OUT_OF_MEMORY` (what was not sent stays, in its place, for the next time; `mica_world_step` is refused with
/// it), `MICA_INVALID` (no world). A world whose inbox nobody has asked for has none: 0. The world's thread.
/// O(messages).
MICA_API int32_t mica_inbox_drain(mica_world *world);

/// What went through an inbox since it was made.
typedef struct mica_inbox_stats {
    uint64_t posted_count;  ///< taken in
    uint64_t refused_count; ///< because it was full
    uint64_t drained_count; ///< sent as events
    uint32_t waiting_count;
    uint32_t waiting_byte_size;
    uint32_t most_waiting_count; ///< the most that waited at a time
    uint32_t message_limit;
    uint32_t byte_limit;
} mica_inbox_stats;

/// What went through an inbox. Any thread. NULL: zeros, `MICA_INVALID`. O(1).
MICA_API mica_inbox_stats mica_inbox_statistics(mica_inbox *inbox);

MICA_END

/// Posts a message with a value in braces: `mica_post(inbox, Packet, {sender, 7})`. `mica_inbox_post_type`.
#define mica_post(INBOX, T, ...) mica_inbox_post_type((INBOX), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// As `mica_post`, for a tag.
#define mica_post_tag(INBOX, T) mica_inbox_post_type((INBOX), mica_type_of(T), NULL)
