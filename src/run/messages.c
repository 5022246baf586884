// Messages of a tick; see messages.h.
//
// Types of messages have no hooks (the inbox refuses them), so values are bytes and may be kept and copied as such.
// Invariant: `bytes` is as long as the values of all `components` together.
#include "run/messages.h"

#include <string.h>

#include "store/value.h"
#include "world/inbox.h"

bool mi_messages_add(mi_messages *messages, const mi_type *type, const void *value) {
    const size_t byte_size = type->info.size;
    if (!MI_RESERVE(messages->heap, MICA_MEMORY_STATE, &messages->components, (size_t)messages->components.count + 1) ||
        !MI_RESERVE(messages->heap, MICA_MEMORY_STATE, &messages->bytes, messages->bytes.count + byte_size)) {
        return false;
    }
    messages->components.data[messages->components.count++] = type->info.id;
    if (byte_size > 0) {
        memcpy(messages->bytes.data + messages->bytes.count, value, byte_size);
        messages->bytes.count += (uint32_t)byte_size;
    }
    return true;
}

static void note_message(mica_world *world, const mi_type *type, const void *value, bool begins_tick, void *user) {
    (void)world;
    (void)begins_tick;
    mi_messages *messages = user;
    messages->is_short = !mi_messages_add(messages, type, value) || messages->is_short;
}

mica_result mi_messages_listen(mi_messages *messages, mica_world *world, const char *call) {
    messages->components.count = 0;
    messages->bytes.count = 0;
    messages->is_short = false;
    return mi_inbox_listen(world, note_message, messages) ? MICA_OK : mi_fail_memory(&world->log, call, 0);
}

void mi_messages_unlisten(mi_messages *messages, mica_world *world) {
    mi_inbox_unlisten(world, note_message, messages);
}

void mi_messages_free(mi_messages *messages) {
    MI_FREE(messages->heap, MICA_MEMORY_STATE, &messages->components);
    MI_FREE(messages->heap, MICA_MEMORY_STATE, &messages->bytes);
}

mica_result mi_messages_give(const mi_messages *messages, mica_world *world) {
    if (messages->components.count == 0) {
        return MICA_OK;
    }
    mica_inbox *inbox = mica_world_inbox(world);
    if (inbox == NULL) {
        return mica_last_result();
    }
    const uint32_t waiting_count = mica_inbox_statistics(inbox).waiting_count;
    size_t at = 0;
    for (uint32_t i = 0; i < messages->components.count; i++) {
        const mi_type *type = mi_schema_type(world->schema, messages->components.data[i]);
        const void *value = type->info.size > 0 ? messages->bytes.data + at : NULL;
        if (i >= waiting_count && mica_inbox_post(inbox, type->info.id, value) != MICA_OK) {
            return mica_last_result();
        }
        at += type->info.size;
    }
    return MICA_OK;
}

void mi_messages_write(const mi_messages *messages, mi_writer *writer) {
    mi_write_u32(writer, messages->components.count);
    size_t at = 0;
    for (uint32_t i = 0; i < messages->components.count; i++) {
        const mi_type *type = mi_schema_type(writer->schema, messages->components.data[i]);
        mi_write_component(writer, type->info.id);
        mi_write_u32(writer, type->info.size);
        mi_write_value(writer, type, messages->bytes.data + at);
        at += type->info.size;
    }
}

// Reads a value of a type whose values are plain bytes; false: failed.
static bool read_message(mi_messages *messages, mi_reader *reader, const mi_type *type) {
    const uint8_t *bytes = mi_read_bytes(reader, type->info.size);
    if (bytes == NULL) {
        return false;
    }
    if (!mi_messages_add(messages, type, bytes)) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return false;
    }
    return true;
}

void mi_messages_read(mi_messages *messages, mi_reader *reader) {
    enum { LEAST_SIZE = 8 }; // of a message: the length of a name, and the size
    const uint32_t count = mi_read_count(reader, LEAST_SIZE);
    for (uint32_t i = 0; i < count && reader->result == MICA_OK; i++) {
        const mica_component component = mi_read_component(reader);
        const uint32_t byte_size = mi_read_u32(reader);
        if (reader->result != MICA_OK) {
            return;
        }
        const mi_type *type = mi_schema_type(reader->schema, component);
        if (type->info.size != byte_size) {
            mi_read_fail(reader, MICA_FORMAT, "a message of another size than its type here");
        } else if (type->has_construct || type->has_destruct || type->has_move || type->has_copy) {
            mi_read_fail(reader, MICA_FORMAT, "a message of a type with hooks");
        } else {
            (void)read_message(messages, reader, type);
        }
    }
}
