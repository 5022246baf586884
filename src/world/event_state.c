// Events as state of a world: what snapshots keep of the bus.
//
// A queue's record says how many events were ever sent, holds those that somebody has yet to see, and tells how old
// they are, and how many of them the handlers have yet to be told of. Spans are cut where pages end, which follows from
// the events' numbers, so that a system that adds up span by span gets the same sums again. Handlers and readers are no
// state.
// Readers of systems are placed by the systems' own part, behind this one; those of the program stay, and are brought
// back to what the restored queue has where they stand beyond.
//
// The record: its length without what is kept for readers of the program u32, values with hooks in that u32, the number
// of queues u32, and in order of their types' names those that differ from a new one, each as
//   name, events ever sent u64, limit of ticks u32, limit of events u32, kept u64,
//   whether handlers are bound u8, to be delivered u64, and if any are kept: ages, values.
// Behind them for each, since readers of the program are no state but are to find their events:
//   further events that are kept for these, older than the others, u64, and if there are any: ages of all, values.
// Ages are those of marks, the oldest first: how many events came after it (kept ones; there are no others whose age
// matters) u64, for how many marks in a row u32, until that are all of them.
//
// A restored queue is built aside, then takes the place of what the world's queue holds.
#include "world/event.h"

// No world sends so many.
#define NUMBER_MAX (UINT64_C(1) << 62)

// Saving

static bool is_new(const mi_event_queue *queue) {
    return queue->next == 0 && queue->tick_limit == MICA_EVENT_TICKS_DEFAULT && queue->count_limit == 0;
}

// What readers of the program see changes nothing: a record may hold events that none of them has to see any more.
static uint64_t stamp_events(const mica_world *world) {
    const mi_events *events = world->events;
    if (events == NULL) {
        return 0;
    }
    uint64_t stamp = events->change_count;
    for (uint32_t i = 0; i < events->queues.count; i++) {
        const mi_event_queue *queue = events->queues.data[i];
        if (queue == NULL) {
            continue;
        }
        stamp += queue->sent_count + queue->delivered.seen_count + queue->delivered.missed_count;
        for (uint32_t k = 0; k < queue->readers.count; k++) {
            const mica_event_reader *reader = queue->readers.data[k];
            stamp += reader->is_lent ? reader->cursor.seen_count + reader->cursor.missed_count : 0;
        }
    }
    return stamp;
}

// The mark of a tick, 0 being the oldest.
static uint64_t *mark_of(const mi_events *events, const mi_event_queue *queue, uint32_t tick) {
    return &queue->marks[(events->tick + tick) % queue->tick_limit];
}

// How many of the `kept` last events have come since a tick began.
static uint64_t count_since(const mi_events *events, const mi_event_queue *queue, uint32_t tick, uint64_t kept) {
    const uint64_t count = queue->next - *mark_of(events, queue, tick);
    return count < kept ? count : kept;
}

static void write_ages(const mi_events *events, const mi_event_queue *queue, uint64_t kept, mi_writer *writer) {
    for (uint32_t begin = 0; begin < queue->tick_limit;) {
        const uint64_t count = count_since(events, queue, begin, kept);
        uint32_t end = begin + 1;
        while (end < queue->tick_limit && count_since(events, queue, end, kept) == count) {
            end++;
        }
        mi_write_u64(writer, count);
        mi_write_u32(writer, end - begin);
        begin = end;
    }
}

static void write_values(const mi_event_queue *queue, uint64_t first, uint64_t end, mi_writer *writer) {
    for (uint64_t number = first; queue->type->info.size > 0 && number < end && writer->result == MICA_OK; number++) {
        mi_write_value(writer, queue->type, mi_event_at(queue, number));
    }
}

static void write_queue(const mi_events *events, const mi_event_queue *queue, mi_writer *writer) {
    const uint64_t first = mi_event_first_of_state(queue);
    const uint64_t kept = queue->next - first;
    const bool has_handlers = mi_event_handler_count(queue) > 0;
    mi_write_component(writer, queue->type->info.id);
    mi_write_u64(writer, queue->next);
    mi_write_u32(writer, queue->tick_limit);
    mi_write_u32(writer, queue->count_limit);
    mi_write_u64(writer, kept);
    mi_write_u8(writer, has_handlers);
    mi_write_u64(writer, has_handlers ? queue->next - queue->delivered.next : 0);
    if (kept > 0) {
        write_ages(events, queue, kept, writer);
        write_values(queue, first, queue->next, writer);
    }
}

// What readers of the program alone have yet to see.
static void write_rest(const mi_events *events, const mi_event_queue *queue, mi_writer *writer) {
    const uint64_t first = mi_event_first_unseen(queue);
    const uint64_t end = mi_event_first_of_state(queue);
    mi_write_u64(writer, end - first);
    if (end > first) {
        write_ages(events, queue, queue->next - first, writer);
        write_values(queue, first, end, writer);
    }
}

// Notes what was written so far as that which counts.
static void end_lasting(mi_writer *writer) {
    if (writer->result == MICA_OK) {
        mi_record *record = writer->record;
        mi_put_u32(mi_put_u32(record->bytes.data, record->bytes.count), record->values.count);
    }
}

static mi_record_extent find_lasting(const mi_record *record) {
    const mi_record_extent all = {.byte_count = record->bytes.count, .value_count = record->values.count};
    if (record->bytes.count < 2 * sizeof(uint32_t)) {
        return all;
    }
    const mi_record_extent lasting = {.byte_count = mi_get_u32(record->bytes.data),
                                      .value_count = mi_get_u32(record->bytes.data + sizeof(uint32_t))};
    return lasting.byte_count <= all.byte_count && lasting.value_count <= all.value_count ? lasting : all;
}

static bool is_queue_meant(const void *user, uint32_t component) {
    const mi_events *events = user;
    return events->queues.data[component] != NULL && !is_new(events->queues.data[component]);
}

static void save_events(const mica_world *world, mi_writer *writer) {
    const mi_events *events = world->events;
    mi_write_u64(writer, 0); // for end_lasting
    if (events == NULL) {
        mi_write_u32(writer, 0);
        end_lasting(writer);
        return;
    }
    mi_component_list list;
    if (!mi_list_components(writer, events->queues.count, is_queue_meant, events, &list)) {
        return;
    }
    mi_write_u32(writer, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        write_queue(events, events->queues.data[list.data[i]], writer);
    }
    end_lasting(writer);
    for (uint32_t i = 0; i < list.count; i++) {
        write_rest(events, events->queues.data[list.data[i]], writer);
    }
    mi_free_components(writer, &list);
}

// Restoring

typedef struct restored_queue {
    mi_event_queue *queue;  // the world's
    mi_event_queue content; // what it is going to hold; without readers and handlers
    bool has_handlers;      // there were some when it was saved
    uint64_t undelivered;
} restored_queue;

typedef struct restored_events {
    MI_ARRAY(restored_queue) queues;
} restored_events;

static void end_restored(mica_world *world, restored_events *restored) {
    MI_FREE(&world->heap, MICA_MEMORY_EVENTS, &restored->queues);
    mi_heap_release(&world->heap, MICA_MEMORY_EVENTS, restored, sizeof(*restored), _Alignof(restored_events));
}

static void cancel_events(mica_world *world, void *prepared) {
    restored_events *restored = prepared;
    if (restored == NULL) {
        return;
    }
    for (uint32_t i = 0; i < restored->queues.count; i++) {
        mi_event_queue_end_content(world, &restored->queues.data[i].content);
    }
    end_restored(world, restored);
}

// Begins to restore a queue as one with nothing in it; NULL: out of memory.
static restored_queue *add_restored(mica_world *world, restored_events *restored, mi_event_queue *queue,
                                    uint32_t tick_limit) {
    mi_heap *heap = &world->heap;
    if (!MI_RESERVE(heap, MICA_MEMORY_EVENTS, &restored->queues, (size_t)restored->queues.count + 1)) {
        return NULL;
    }
    restored_queue *one = &restored->queues.data[restored->queues.count];
    *one = (restored_queue){.queue = queue, .content = {.type = queue->type, .page_shift = queue->page_shift}};
    if (!mi_event_set_tick_limit(heap, &one->content, tick_limit)) {
        return NULL;
    }
    restored->queues.count++;
    return one;
}

static void read_ages(const mi_events *events, mi_reader *reader, const mi_event_queue *content, uint64_t kept) {
    uint64_t least = kept;
    for (uint32_t tick = 0; tick < content->tick_limit && reader->result == MICA_OK;) {
        const uint64_t count = mi_read_u64(reader);
        const uint32_t run = mi_read_u32(reader);
        if (count > least || run == 0 || run > content->tick_limit - tick) {
            mi_read_fail(reader, MICA_FORMAT, "the ages of events are not in order");
            return;
        }
        for (const uint32_t end = tick + run; tick < end; tick++) {
            *mark_of(events, content, tick) = content->next - count;
        }
        least = count;
    }
}

// Makes the events from `content->next` on up to number `end`.
static void read_values(mica_world *world, mi_reader *reader, mi_event_queue *content, uint64_t end) {
    if (content->type->info.size == 0) {
        content->next = end;
        return;
    }
    while (content->next < end && reader->result == MICA_OK) {
        if (!mi_event_have_place(&world->heap, content)) {
            mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        } else if (mi_read_value(reader, content->type, &world->store.values, mi_event_at(content, content->next))) {
            content->next++;
        }
    }
}

typedef struct queue_numbers {
    uint64_t next;
    uint32_t tick_limit;
    uint32_t count_limit;
    uint64_t kept;
    uint8_t has_handlers;
    uint64_t undelivered;
} queue_numbers;

static bool read_numbers(mi_reader *reader, queue_numbers *numbers) {
    *numbers = (queue_numbers){.next = mi_read_u64(reader)};
    numbers->tick_limit = mi_read_u32(reader);
    numbers->count_limit = mi_read_u32(reader);
    numbers->kept = mi_read_u64(reader);
    numbers->has_handlers = mi_read_u8(reader);
    numbers->undelivered = mi_read_u64(reader);
    if (reader->result != MICA_OK) {
        return false;
    }
    if (numbers->next > NUMBER_MAX || numbers->kept > numbers->next ||
        (numbers->count_limit > 0 && numbers->kept > numbers->count_limit)) {
        mi_read_fail(reader, MICA_FORMAT, "more events of a type are kept than there are");
    } else if (numbers->tick_limit == 0 || numbers->tick_limit > MICA_EVENT_TICKS_MAX) {
        mi_read_fail(reader, MICA_FORMAT, "a limit of ticks for events is out of range");
    } else if (numbers->has_handlers > 1 || numbers->undelivered > (numbers->has_handlers ? numbers->kept : 0)) {
        mi_read_fail(reader, MICA_FORMAT, "more events are to be delivered than there are");
    }
    return reader->result == MICA_OK;
}

// Reads the events of a queue: the oldest ones from `rest`.
static void read_kept(mica_world *world, mi_reader *reader, mi_reader *rest, const queue_numbers *numbers,
                      mi_event_queue *content) {
    const uint64_t end = numbers->next;
    const uint64_t older = mi_read_u64(rest);
    if (rest->result == MICA_OK &&
        (older > end - numbers->kept || (numbers->count_limit > 0 && older > numbers->count_limit - numbers->kept))) {
        mi_read_fail(rest, MICA_FORMAT, "more events of a type are kept than there are");
    }
    if (numbers->kept > 0) {
        read_ages(world->events, reader, content, numbers->kept);
    }
    if (rest->result != MICA_OK || reader->result != MICA_OK) {
        return;
    }
    content->first = end - numbers->kept - older;
    content->next = content->first;
    if (older > 0) {
        const uint64_t kept = numbers->kept + older;
        content->next = end;
        read_ages(world->events, rest, content, kept);
        content->next = content->first;
        read_values(world, rest, content, content->first + older);
    }
    if (rest->result == MICA_OK) {
        read_values(world, reader, content, end);
    }
}

// Reads one queue, whose type comes behind `last` (NULL: any); its type.
static const mi_type *read_queue(mica_world *world, mi_reader *reader, mi_reader *rest, const mi_type *last,
                                 restored_events *restored) {
    const mi_type *type = mi_schema_type(reader->schema, mi_read_component(reader));
    queue_numbers numbers;
    if (reader->result != MICA_OK) {
        return NULL;
    }
    if (last != NULL && mi_type_compare_names(last, type) >= 0) {
        mi_read_fail(reader, MICA_FORMAT, "the types of events are not in order");
        return NULL;
    }
    mi_event_queue *queue = mi_event_queue_have(world, type);
    if (queue == NULL) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    if (!read_numbers(reader, &numbers)) {
        return NULL;
    }
    restored_queue *one = add_restored(world, restored, queue, numbers.tick_limit);
    if (one == NULL) {
        mi_read_fail(reader, MICA_OUT_OF_MEMORY, NULL);
        return NULL;
    }
    queue->is_listed = true;
    one->has_handlers = numbers.has_handlers != 0;
    one->undelivered = numbers.undelivered;
    mi_event_queue *content = &one->content;
    content->next = numbers.next;
    content->first = numbers.next;
    content->count_limit = numbers.count_limit;
    for (uint32_t i = 0; i < content->tick_limit; i++) {
        content->marks[i] = numbers.next;
    }
    read_kept(world, reader, rest, &numbers, content);
    return type;
}

static void read_events(mica_world *world, mi_reader *reader, restored_events *restored) {
    const mi_type *type = NULL;
    const uint32_t byte_count = mi_read_u32(reader);
    const uint32_t value_count = mi_read_u32(reader);
    if (reader->result == MICA_OK &&
        (byte_count < reader->at || byte_count > reader->byte_size || value_count > reader->value_count)) {
        mi_read_fail(reader, MICA_FORMAT, "the length of what lasts of events is out of range");
    }
    if (reader->result != MICA_OK) {
        return;
    }
    mi_reader rest = *reader;
    rest.at = byte_count;
    rest.value_at = value_count;
    reader->byte_size = byte_count;
    reader->value_count = value_count;
    const uint32_t count = mi_read_count(reader, sizeof(uint32_t));
    for (uint32_t i = 0; i < count && reader->result == MICA_OK && rest.result == MICA_OK; i++) {
        type = read_queue(world, reader, &rest, type, restored);
    }
    if (rest.result == MICA_OK && mi_reader_end(reader)) {
        mi_reader_end(&rest);
    }
    if (rest.result != MICA_OK) {
        mi_read_fail(reader, rest.result, rest.fault);
    }
}

// Queues that were new when the others were saved are to be new again; false: out of memory.
static bool add_new_queues(mica_world *world, restored_events *restored) {
    const mi_events *events = world->events;
    bool is_done = true;
    for (uint32_t i = 0; events != NULL && i < events->queues.count; i++) {
        mi_event_queue *queue = events->queues.data[i];
        if (queue != NULL && !queue->is_listed && !is_new(queue)) {
            is_done = is_done && add_restored(world, restored, queue, MICA_EVENT_TICKS_DEFAULT) != NULL;
        }
        if (queue != NULL) {
            queue->is_listed = false;
        }
    }
    return is_done;
}

static mica_result prepare_events(mica_world *world, mi_reader *reader, void **prepared) {
    restored_events *restored =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_EVENTS, sizeof(restored_events), _Alignof(restored_events));
    *prepared = NULL;
    if (restored == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    if (reader != NULL) {
        read_events(world, reader, restored);
    }
    const bool is_complete = add_new_queues(world, restored);
    const mica_result result = reader != NULL ? reader->result : MICA_OK;
    if (result != MICA_OK || !is_complete) {
        cancel_events(world, restored);
        return result != MICA_OK ? result : MICA_OUT_OF_MEMORY;
    }
    *prepared = restored;
    return MICA_OK;
}

// Lets a cursor stand where it stands if the queue has something there.
static void keep_cursor(const mi_event_queue *queue, mi_event_cursor *cursor) {
    cursor->next = cursor->next < queue->first ? queue->first : cursor->next;
    cursor->next = cursor->next > queue->next ? queue->next : cursor->next;
    cursor->held = cursor->next;
}

static void keep_cursors(mi_event_queue *queue) {
    for (uint32_t i = 0; i < queue->readers.count; i++) {
        keep_cursor(queue, &queue->readers.data[i]->cursor);
    }
    keep_cursor(queue, &queue->delivered);
}

static void commit_queue(mica_world *world, const restored_queue *restored) {
    mi_event_queue *queue = restored->queue;
    const mi_event_queue *content = &restored->content;
    mi_event_queue_end_content(world, queue);
    queue->first = content->first;
    queue->next = content->next;
    queue->pages = content->pages;
    queue->page_capacity = content->page_capacity;
    queue->marks = content->marks;
    queue->tick_limit = content->tick_limit;
    queue->count_limit = content->count_limit;
    keep_cursors(queue);
    if (restored->has_handlers) {
        queue->delivered.next = queue->next - restored->undelivered;
        queue->delivered.held = queue->delivered.next;
    }
}

// Observers that are told of the restore may have sent events of types that were new until then.
static void restart_others(mica_world *world, mi_events *events) {
    for (uint32_t i = 0; i < events->queues.count; i++) {
        mi_event_queue *queue = events->queues.data[i];
        if (queue != NULL && !queue->is_listed && queue->next > 0) {
            mi_event_queue_restart(world, queue);
            keep_cursors(queue);
        }
        if (queue != NULL) {
            queue->is_listed = false;
        }
    }
}

static void commit_events(mica_world *world, void *prepared) {
    restored_events *restored = prepared;
    for (uint32_t i = 0; i < restored->queues.count; i++) {
        commit_queue(world, &restored->queues.data[i]);
        restored->queues.data[i].queue->is_listed = true;
    }
    if (world->events != NULL) {
        restart_others(world, world->events);
        world->events->change_count++;
    }
    end_restored(world, restored);
}

// Completing

// Reads over what lasts of a queue's events.
static void pass_events(mi_reader *reader, const mi_type *type, const queue_numbers *numbers) {
    uint32_t tick = 0;
    while (numbers->kept > 0 && tick < numbers->tick_limit && reader->result == MICA_OK) {
        mi_read_u64(reader);
        const uint32_t run = mi_read_u32(reader);
        if (run == 0 || run > numbers->tick_limit - tick) {
            mi_read_fail(reader, MICA_FORMAT, "the ages of events are not in order");
        }
        tick += run;
    }
    for (uint64_t i = 0; i < numbers->kept && type->info.size > 0 && reader->result == MICA_OK; i++) {
        mi_read_value_place(reader, type);
    }
}

// Where a queue stands as it does here, readers of the program find what they have yet to see. Elsewhere nobody knows
// what was sent in front of what lasts, or how old it would be.
static void complete_events(const mica_world *world, mi_writer *writer) {
    const mi_events *events = world->events;
    mi_reader reader = mi_reader_of(writer->schema, writer->record);
    mi_read_u64(&reader);
    const uint32_t count = mi_read_count(&reader, sizeof(uint32_t));
    for (uint32_t i = 0; i < count && writer->result == MICA_OK; i++) {
        const mica_component component = mi_read_component(&reader);
        queue_numbers numbers;
        const bool is_read = read_numbers(&reader, &numbers);
        const mi_event_queue *queue =
            is_read && events != NULL && component < events->queues.count ? events->queues.data[component] : NULL;
        if (is_read) {
            pass_events(&reader, mi_schema_type(writer->schema, component), &numbers);
        }
        if (queue != NULL && queue->next == numbers.next && queue->tick_limit == numbers.tick_limit &&
            queue->count_limit == numbers.count_limit && queue->next - mi_event_first_of_state(queue) == numbers.kept) {
            write_rest(events, queue, writer);
        } else {
            mi_write_u64(writer, 0);
        }
        reader.bytes = writer->record->bytes.data; // which may have moved
        reader.values = writer->record->values.data;
    }
}

const mi_part mi_events_part = {.name = "events",
                                .stamp = stamp_events,
                                .save = save_events,
                                .lasting = find_lasting,
                                .complete = complete_events,
                                .prepare = prepare_events,
                                .commit = commit_events,
                                .cancel = cancel_events};
