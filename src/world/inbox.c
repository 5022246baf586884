// The inbox: messages of other threads become events of the world.
//
// Threads that post touch the inbox and the schema, whose types are published for all threads, and nothing of the world
// beside. Values are plain bytes, so they lie one behind the other whatever their alignment and are brought into place
// when they become events.
//
// Invariants: `posted`, `left_…` and `stats` are touched under the lock alone; what waits, `posted` and `left_…`
// together, never exceeds the limits; between calls `drained` holds messages only if
// memory ran out while they were being sent, and these are older than all in `posted`.
#include "world/inbox.h"

#include "base/assert.h"
#include "store/schema.h"
#include "world/event.h"

#include <string.h>

// How far a descriptor that is the same as another one is followed; a schema follows no further.
enum { SAME_AS_MAX = 64 };

static const char extension_key;

// Posting, on any thread. Errors go to no log: its handler belongs to the world's thread.

static bool has_room(const mica_inbox *inbox, uint32_t byte_size) {
    const mica_inbox_stats *limits = &inbox->stats;
    const uint64_t count = (uint64_t)inbox->posted.count + inbox->left_count;
    const uint64_t bytes = (uint64_t)inbox->posted.byte_size + inbox->left_byte_size;
    return count < limits->message_limit && bytes + byte_size <= limits->byte_limit;
}

// False: full.
static bool append(mica_inbox *inbox, const mi_type *type, const void *value) {
    mi_lock_take(&inbox->lock);
    mi_inbox_buffer *posted = &inbox->posted;
    const uint32_t byte_size = type->info.size;
    const bool fits = has_room(inbox, byte_size);
    if (fits) {
        posted->components[posted->count++] = type->info.id;
        if (byte_size > 0) {
            memcpy(posted->bytes + posted->byte_size, value, byte_size);
            posted->byte_size += byte_size;
        }
        const uint32_t waiting = posted->count + inbox->left_count;
        inbox->stats.posted_count++;
        inbox->stats.most_waiting_count =
            waiting > inbox->stats.most_waiting_count ? waiting : inbox->stats.most_waiting_count;
    } else {
        inbox->stats.refused_count++;
    }
    mi_lock_give(&inbox->lock);
    return fits;
}

static mica_result post(mica_inbox *inbox, const mi_type *type, const void *value, const char *call) {
    const mica_component_info *info = &type->info;
    if (mi_type_has_hooks(type)) {
        return mi_fail(NULL, MICA_UNSUPPORTED, call, "{} has hooks: its values cannot be handed to another thread",
                       MI_TEXT(info->name));
    }
    if ((value != NULL) != (info->size > 0)) {
        return value == NULL ? mi_fail(NULL, MICA_INVALID, call, "needs a value of {}", MI_TEXT(info->name))
                             : mi_fail(NULL, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(info->name));
    }
    if (append(inbox, type, value)) {
        return MICA_OK;
    }
    // The limits never change.
    return mi_fail(NULL, MICA_LIMIT, call, "no room for {}: the inbox holds {} messages with {} bytes",
                   MI_TEXT(info->name), MI_UINT(inbox->stats.message_limit), MI_UINT(inbox->stats.byte_limit));
}

static mica_result check_inbox(const mica_inbox *inbox, const char *call) {
    return MICA_LIKELY(inbox != NULL) ? MICA_OK : mi_fail_plain(NULL, MICA_INVALID, call, "needs an inbox");
}

mica_result mica_inbox_post(mica_inbox *inbox, mica_component component, const void *value) {
    if (check_inbox(inbox, __func__) != MICA_OK) {
        return MICA_INVALID;
    }
    const mi_type *type = mi_schema_type(inbox->schema, component);
    return type != NULL ? post(inbox, type, value, __func__)
                        : mi_fail(NULL, MICA_UNKNOWN, __func__, "there is no component with id {}", MI_UINT(component));
}

// The type that a descriptor stands for, without adding anything to the schema. NULL, with the error set.
static const mi_type *find_type(const mica_inbox *inbox, const mica_type *descriptor, const char *call) {
    if (descriptor == NULL || descriptor->name == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a type with a name");
        return NULL;
    }
    const uint64_t cache = mi_load_cache(&descriptor->cache);
    if (cache >> 32 == mi_schema_serial(inbox->schema)) {
        return mi_schema_type(inbox->schema, (mica_component)cache);
    }
    const mica_component component = mica_schema_find(inbox->schema, descriptor->name);
    if (component == 0) {
        mi_fail(NULL, MICA_UNKNOWN, call, "{} must be registered before it is posted", MI_TEXT(descriptor->name));
        return NULL;
    }
    const mi_type *type = mi_schema_type(inbox->schema, component);
    const mica_type *origin = descriptor;
    for (uint32_t i = 0; origin->same_as != NULL && i < SAME_AS_MAX; i++) {
        origin = origin->same_as;
    }
    if (origin->kind != type->info.kind || origin->size != type->info.size ||
        (origin->size > 0 && origin->align != type->info.align)) {
        mi_fail(NULL, MICA_MISMATCH, call,
                "{} is known with {} bytes and posted with {}, or with another alignment or kind",
                MI_TEXT(descriptor->name), MI_UINT(type->info.size), MI_UINT(origin->size));
        return NULL;
    }
    return type;
}

mica_result mica_inbox_post_type(mica_inbox *inbox, mica_type *descriptor, const void *value) {
    if (check_inbox(inbox, __func__) != MICA_OK) {
        return MICA_INVALID;
    }
    const mi_type *type = find_type(inbox, descriptor, __func__);
    return type != NULL ? post(inbox, type, value, __func__) : mica_last_result();
}

// Draining, on the world's thread

static uint32_t unsent_count(const mica_inbox *inbox) {
    return inbox->drained.count - inbox->sent_count;
}

// Exchanges the buffers if all of `drained` was sent. False: nothing waits.
static bool fetch(mica_inbox *inbox) {
    if (unsent_count(inbox) > 0) {
        return true;
    }
    mi_lock_take(&inbox->lock);
    const mi_inbox_buffer empty = {.components = inbox->drained.components, .bytes = inbox->drained.bytes};
    inbox->drained = inbox->posted;
    inbox->posted = empty;
    inbox->sent_count = 0;
    inbox->sent_byte_size = 0;
    inbox->left_count = 0;
    inbox->left_byte_size = 0;
    mi_lock_give(&inbox->lock);
    return inbox->drained.count > 0;
}

// Sends the first message of `drained`; false: out of memory.
static bool send_one(mica_inbox *inbox, bool begins_tick, const char *call) {
    const mi_inbox_buffer *drained = &inbox->drained;
    mi_event_queue *queue = mi_event_queue_open(inbox->world, drained->components[inbox->sent_count], call);
    if (queue == NULL) {
        return false;
    }
    const uint32_t byte_size = queue->type->info.size;
    const void *value = byte_size > 0 ? drained->bytes + inbox->sent_byte_size : NULL;
    if (!mi_event_enqueue(inbox->world, queue, value)) {
        mi_fail(&inbox->world->log, MICA_OUT_OF_MEMORY, call, "no memory for an event of {} from the inbox",
                MI_TEXT(queue->type->info.name));
        return false;
    }
    inbox->sent_count++;
    inbox->sent_byte_size += byte_size;
    for (uint32_t i = 0; i < inbox->listeners.count; i++) {
        const mi_inbox_listener listener = inbox->listeners.data[i];
        listener.tap(inbox->world, queue->type, value, begins_tick, listener.user);
    }
    return true;
}

// What was posted when draining began is sent; so is what an earlier attempt has left.
static mica_result drain(mica_inbox *inbox, bool begins_tick, const char *call, int32_t *count) {
    const int32_t turn_count = unsent_count(inbox) > 0 ? 2 : 1;
    bool complete = true;
    *count = 0;
    for (int32_t turn = 0; complete && turn < turn_count && fetch(inbox); turn++) {
        while (complete && unsent_count(inbox) > 0) {
            complete = send_one(inbox, begins_tick, call);
            *count += complete ? 1 : 0;
        }
    }
    mi_lock_take(&inbox->lock);
    inbox->stats.drained_count += (uint64_t)*count;
    inbox->left_count = unsent_count(inbox);
    inbox->left_byte_size = inbox->drained.byte_size - inbox->sent_byte_size;
    mi_lock_give(&inbox->lock);
    return complete ? MICA_OK : mica_last_result();
}

mica_inbox *mi_inbox_find(const mica_world *world) {
    return mi_world_extension(world, &extension_key);
}

int32_t mica_inbox_drain(mica_world *world) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
        return -1;
    }
    mica_inbox *inbox = mi_inbox_find(world);
    int32_t count = 0;
    return inbox == NULL || drain(inbox, false, __func__, &count) == MICA_OK ? count : -1;
}

mica_inbox_stats mica_inbox_statistics(mica_inbox *inbox) {
    if (check_inbox(inbox, __func__) != MICA_OK) {
        return (mica_inbox_stats){0};
    }
    mi_lock_take(&inbox->lock);
    mica_inbox_stats stats = inbox->stats;
    stats.waiting_count = inbox->posted.count + inbox->left_count;
    stats.waiting_byte_size = inbox->posted.byte_size + inbox->left_byte_size;
    mi_lock_give(&inbox->lock);
    return stats;
}

// The inbox, made and ended with its world

static void free_buffer(mi_heap *heap, mi_inbox_buffer *buffer, const mica_inbox_stats *limits) {
    mi_heap_release(heap, MICA_MEMORY_EVENTS, buffer->components, limits->message_limit * sizeof(mica_component),
                    _Alignof(mica_component));
    mi_heap_release(heap, MICA_MEMORY_EVENTS, buffer->bytes, limits->byte_limit, 1);
}

static bool make_buffer(mi_heap *heap, mi_inbox_buffer *buffer, const mica_inbox_stats *limits) {
    size_t byte_size;
    if (!mi_size_product(limits->message_limit, sizeof(mica_component), &byte_size)) {
        return false;
    }
    buffer->components = mi_heap_allocate(heap, MICA_MEMORY_EVENTS, byte_size, _Alignof(mica_component));
    buffer->bytes = mi_heap_allocate(heap, MICA_MEMORY_EVENTS, limits->byte_limit, 1);
    return buffer->components != NULL && buffer->bytes != NULL;
}

static void free_inbox(mica_world *world, void *state) {
    mica_inbox *inbox = state;
    mi_heap *heap = &world->heap;
    free_buffer(heap, &inbox->drained, &inbox->stats);
    free_buffer(heap, &inbox->posted, &inbox->stats);
    MI_FREE(heap, MICA_MEMORY_EVENTS, &inbox->listeners);
    mi_lock_destroy(&inbox->lock);
    mi_heap_release(heap, MICA_MEMORY_EVENTS, inbox, sizeof(*inbox), _Alignof(mica_inbox));
}

static const char *validate_inbox(const mica_world *world, const void *state) {
    (void)world;
    const mica_inbox *inbox = state;
    const bool is_sound =
        inbox->sent_count <= inbox->drained.count && inbox->sent_byte_size <= inbox->drained.byte_size;
    return is_sound ? NULL : "inbox: more was sent than there was";
}

static mica_result begin_tick(mica_world *world, void *state) {
    (void)world;
    int32_t count;
    return drain(state, true, "mica_world_step", &count);
}

static mica_inbox *make_inbox(mica_world *world) {
    mi_heap *heap = &world->heap;
    mica_inbox *inbox = mi_heap_allocate_zeroed(heap, MICA_MEMORY_EVENTS, sizeof(*inbox), _Alignof(mica_inbox));
    if (inbox == NULL) {
        return NULL;
    }
    const mica_world_def *def = &world->def;
    inbox->world = world;
    inbox->schema = world->schema;
    inbox->stats.message_limit = def->inbox_message_limit != 0 ? def->inbox_message_limit : MICA_INBOX_MESSAGES_DEFAULT;
    inbox->stats.byte_limit = def->inbox_byte_limit != 0 ? def->inbox_byte_limit : MICA_INBOX_BYTES_DEFAULT;
    if (!mi_lock_init(&inbox->lock)) {
        mi_heap_release(heap, MICA_MEMORY_EVENTS, inbox, sizeof(*inbox), _Alignof(mica_inbox));
        return NULL;
    }
    const mi_extension extension = {.key = &extension_key,
                                    .state = inbox,
                                    .destroy = free_inbox,
                                    .validate = validate_inbox,
                                    .begin_tick = begin_tick};
    if (!make_buffer(heap, &inbox->drained, &inbox->stats) || !make_buffer(heap, &inbox->posted, &inbox->stats) ||
        !mi_world_add_extension(world, &extension)) {
        free_inbox(world, inbox);
        return NULL;
    }
    return inbox;
}

// The inbox of a world, made if there is none yet; NULL: out of memory, with no error set.
static mica_inbox *open_inbox(mica_world *world) {
    mica_inbox *inbox = mi_inbox_find(world);
    // The events come first: what a tick drains is to be of that tick.
    return inbox != NULL || !mi_events_have(world) ? inbox : make_inbox(world);
}

mica_inbox *mica_world_inbox(mica_world *world) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
        return NULL;
    }
    mica_inbox *inbox = open_inbox(world);
    if (inbox == NULL) {
        mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, __func__, "out of memory for the inbox of a world");
    }
    return inbox;
}

bool mi_inbox_listen(mica_world *world, mi_inbox_tap tap, void *user) {
    mica_inbox *inbox = open_inbox(world);
    if (inbox == NULL ||
        !MI_RESERVE(&world->heap, MICA_MEMORY_EVENTS, &inbox->listeners, (size_t)inbox->listeners.count + 1)) {
        return false;
    }
    inbox->listeners.data[inbox->listeners.count++] = (mi_inbox_listener){tap, user};
    return true;
}

void mi_inbox_unlisten(mica_world *world, mi_inbox_tap tap, void *user) {
    mica_inbox *inbox = mi_inbox_find(world);
    for (uint32_t i = 0; inbox != NULL && i < inbox->listeners.count; i++) {
        const mi_inbox_listener *listener = &inbox->listeners.data[i];
        if (listener->tap == tap && listener->user == user) {
            inbox->listeners.count--;
            memmove(&inbox->listeners.data[i], &inbox->listeners.data[i + 1],
                    (inbox->listeners.count - i) * sizeof(mi_inbox_listener));
            return;
        }
    }
}

// State
//
// A record: how many messages wait, and each of them in order: a byte that says whether its type is another one than
// that of the message before, the type's name if it is, the value.

// A place among the messages that wait.
typedef struct waiting_message {
    const mi_inbox_buffer *buffer;
    uint32_t at;      // in `buffer`
    uint32_t byte_at; // likewise
} waiting_message;

static void save_messages(const mica_inbox *inbox, mi_writer *writer) {
    const waiting_message begins[] = {{&inbox->drained, inbox->sent_count, inbox->sent_byte_size},
                                      {&inbox->posted, 0, 0}};
    const mi_type *last = NULL;
    mi_write_u32(writer, unsent_count(inbox) + inbox->posted.count);
    for (uint32_t i = 0; i < 2; i++) {
        for (waiting_message message = begins[i]; message.at < message.buffer->count; message.at++) {
            const mi_type *type = mi_schema_type(inbox->schema, message.buffer->components[message.at]);
            MI_ASSERT(type != NULL);
            mi_write_u8(writer, type != last);
            if (type != last) {
                mi_write_component(writer, type->info.id);
            }
            mi_write_value(writer, type, message.buffer->bytes + message.byte_at);
            message.byte_at += type->info.size;
            last = type;
        }
    }
}

static void save_inbox(const mica_world *world, mi_writer *writer) {
    mica_inbox *inbox = mi_inbox_find(world);
    if (inbox == NULL) {
        mi_write_u32(writer, 0);
        return;
    }
    mi_lock_take(&inbox->lock);
    save_messages(inbox, writer);
    mi_lock_give(&inbox->lock);
}

// Messages that are about to wait.
typedef struct prepared_messages {
    MI_ARRAY(mica_component) components;
    MI_ARRAY(uint8_t) bytes;
} prepared_messages;

static void cancel_inbox(mica_world *world, void *prepared) {
    prepared_messages *messages = prepared;
    if (messages != NULL) {
        MI_FREE(&world->heap, MICA_MEMORY_EVENTS, &messages->components);
        MI_FREE(&world->heap, MICA_MEMORY_EVENTS, &messages->bytes);
        mi_heap_release(&world->heap, MICA_MEMORY_EVENTS, messages, sizeof(*messages), _Alignof(prepared_messages));
    }
}

// The type of the next message, that of the last one being `last`; NULL: failed.
static const mi_type *read_type(mi_reader *reader, const mi_type *last) {
    const uint8_t is_other = mi_read_u8(reader);
    if (is_other > 1 || (is_other == 0 && last == NULL)) {
        mi_read_fail(reader, MICA_FORMAT, "a message has no type");
    }
    if (is_other == 0 || reader->result != MICA_OK) {
        return reader->result == MICA_OK ? last : NULL;
    }
    const mi_type *type = mi_schema_type(reader->schema, mi_read_component(reader));
    if (type == NULL || reader->result != MICA_OK) {
        return NULL;
    }
    if (type == last || mi_type_has_hooks(type)) {
        mi_read_fail(reader, MICA_FORMAT,
                     type == last ? "a message's type is said again" : "a message's type has hooks");
        return NULL;
    }
    return type;
}

static void read_message(mica_inbox *inbox, mi_reader *reader, const mi_type *type, prepared_messages *messages) {
    const uint32_t byte_size = messages->bytes.count;
    if (type->info.size > inbox->stats.byte_limit - byte_size) {
        mi_read_fail(reader, MICA_LIMIT, "the messages that wait have more bytes than the inbox has room for");
        return;
    }
    if (!MI_RESERVE(&inbox->world->heap, MICA_MEMORY_EVENTS, &messages->bytes, (size_t)byte_size + type->info.size)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    if (type->info.size == 0 ||
        mi_read_value(reader, type, &inbox->world->store.values, messages->bytes.data + byte_size)) {
        messages->bytes.count += type->info.size;
        messages->components.data[messages->components.count++] = type->info.id;
    }
}

static void read_messages(mica_inbox *inbox, mi_reader *reader, uint32_t count, prepared_messages *messages) {
    if (count > inbox->stats.message_limit) {
        mi_read_fail(reader, MICA_LIMIT, "more messages wait than the inbox has room for");
        return;
    }
    if (!MI_RESERVE(&inbox->world->heap, MICA_MEMORY_EVENTS, &messages->components, count)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return;
    }
    const mi_type *type = NULL;
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        type = read_type(reader, type);
        if (type != NULL) {
            read_message(inbox, reader, type, messages);
        }
    }
}

static mica_result prepare_inbox(mica_world *world, mi_reader *reader, void **prepared) {
    *prepared = NULL;
    const uint32_t count = reader != NULL ? mi_read_count(reader, 1) : 0;
    if (count > 0) {
        mica_inbox *inbox = open_inbox(world);
        prepared_messages *messages =
            inbox == NULL ? NULL
                          : mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_EVENTS, sizeof(prepared_messages),
                                                    _Alignof(prepared_messages));
        if (messages == NULL) {
            return MICA_OUT_OF_MEMORY;
        }
        *prepared = messages;
        read_messages(inbox, reader, count, messages);
    }
    if (reader != NULL && !mi_reader_end(reader)) {
        cancel_inbox(world, *prepared);
        *prepared = NULL;
        return reader->result;
    }
    return MICA_OK;
}

static void commit_inbox(mica_world *world, void *prepared) {
    mica_inbox *inbox = mi_inbox_find(world);
    const prepared_messages *messages = prepared;
    if (inbox == NULL) {
        return;
    }
    mi_lock_take(&inbox->lock);
    mi_inbox_buffer *posted = &inbox->posted;
    posted->count = messages != NULL ? messages->components.count : 0;
    posted->byte_size = messages != NULL ? messages->bytes.count : 0;
    if (posted->count > 0) {
        memcpy(posted->components, messages->components.data, posted->count * sizeof(mica_component));
    }
    if (posted->byte_size > 0) {
        memcpy(posted->bytes, messages->bytes.data, posted->byte_size);
    }
    inbox->drained.count = 0;
    inbox->drained.byte_size = 0;
    inbox->sent_count = 0;
    inbox->sent_byte_size = 0;
    inbox->left_count = 0;
    inbox->left_byte_size = 0;
    inbox->stats.most_waiting_count =
        posted->count > inbox->stats.most_waiting_count ? posted->count : inbox->stats.most_waiting_count;
    mi_lock_give(&inbox->lock);
    cancel_inbox(world, prepared);
}

// No stamp: between looking at one and saving, others may post.
const mi_part mi_inbox_part = {
    .name = "inbox", .save = save_inbox, .prepare = prepare_inbox, .commit = commit_inbox, .cancel = cancel_inbox};
