// The bus: queues of events, their readers and handlers.
//
// What is kept follows from the cursors: an event leaves memory when it lies before all of them. Cursors are moved by
// reading and delivering, and pushed on by what grows too old or too many, which counts as missed. Memory is looked
// after when room is needed and when a tick begins, never while values are handed out: a cursor holds on to what it
// handed out last, however far it has been pushed on.
//
// A queue that runs empty starts at the front of a page again, so that what is read as it comes needs one page; pages
// that no event is in any more wait in a list to be used again.
//
// Invariants: first <= held <= next of each cursor <= next of its queue; pages of events in memory are there; a queue
// that nobody listens to keeps nothing but what a cursor that ended has just left, until it is next looked after.
#include "world/event.h"

#include "base/assert.h"
#include "store/value.h"
#include "world/actor.h"
#include "world/guard.h"
#include "world/notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_BYTE_SIZE = 4096, PAGE_SHIFT_MAX = 8, PAGE_CAPACITY_LEAST = 4 };

static const char extension_key;

// Pages

static uint64_t page_number(const mi_event_queue *queue, uint64_t number) {
    return number >> queue->page_shift;
}

static void **page_slot(const mi_event_queue *queue, uint64_t page) {
    return &queue->pages[page & (queue->page_capacity - 1)];
}

void *mi_event_at(const mi_event_queue *queue, uint64_t number) {
    const uint64_t mask = ((uint64_t)1 << queue->page_shift) - 1;
    uint8_t *page = *page_slot(queue, page_number(queue, number));
    return page + (number & mask) * queue->type->info.size;
}

// How many events from `number` on follow each other in memory.
static uint64_t run_length(const mi_event_queue *queue, uint64_t number) {
    const uint64_t left = queue->next - number;
    if (queue->type->info.size == 0) {
        return left;
    }
    const uint64_t size = (uint64_t)1 << queue->page_shift;
    const uint64_t in_page = size - (number & (size - 1));
    return left < in_page ? left : in_page;
}

static bool grow_ring(mi_heap *heap, mi_event_queue *queue, uint64_t first_page) {
    const uint32_t capacity = queue->page_capacity == 0 ? PAGE_CAPACITY_LEAST : queue->page_capacity * 2;
    size_t byte_size;
    if (capacity < queue->page_capacity || !mi_size_product(capacity, sizeof(void *), &byte_size)) {
        return false;
    }
    void **pages = mi_heap_allocate_zeroed(heap, MICA_MEMORY_EVENTS, byte_size, _Alignof(void *));
    if (pages == NULL) {
        return false;
    }
    for (uint64_t page = first_page; page < first_page + queue->page_capacity; page++) {
        pages[page & (capacity - 1)] = *page_slot(queue, page);
    }
    mi_heap_release(heap, MICA_MEMORY_EVENTS, queue->pages, queue->page_capacity * sizeof(void *), _Alignof(void *));
    queue->pages = pages;
    queue->page_capacity = capacity;
    return true;
}

static size_t page_byte_size(const mi_event_queue *queue) {
    return (size_t)queue->type->info.size << queue->page_shift;
}

// Takes a page that is there out of the ring: no event is in it any more.
static void retire_page(mi_event_queue *queue, uint64_t page) {
    void **slot = queue->page_capacity > 0 ? page_slot(queue, page) : NULL;
    if (slot != NULL && *slot != NULL) {
        memcpy(*slot, &queue->spare, sizeof(queue->spare));
        queue->spare = *slot;
        *slot = NULL;
    }
}

static void *take_spare(mi_event_queue *queue) {
    void *page = queue->spare;
    memcpy(&queue->spare, page, sizeof(queue->spare));
    return page;
}

// Gives back what no event is in.
static void free_spare(mi_heap *heap, mi_event_queue *queue) {
    while (queue->spare != NULL) {
        mi_heap_release(heap, MICA_MEMORY_EVENTS, take_spare(queue), page_byte_size(queue), queue->type->info.align);
    }
    if (queue->first == queue->next) {
        mi_heap_release(heap, MICA_MEMORY_EVENTS, queue->pages, queue->page_capacity * sizeof(void *),
                        _Alignof(void *));
        queue->pages = NULL;
        queue->page_capacity = 0;
    }
}

bool mi_event_have_place(mi_heap *heap, mi_event_queue *queue) {
    const uint64_t page = page_number(queue, queue->next);
    const uint64_t first_page = page_number(queue, queue->first);
    if (queue->type->info.size == 0) {
        return true;
    }
    if (page - first_page == queue->page_capacity && !grow_ring(heap, queue, first_page)) {
        return false;
    }
    void **slot = page_slot(queue, page);
    if (*slot == NULL) {
        *slot = queue->spare != NULL
                    ? take_spare(queue)
                    : mi_heap_allocate(heap, MICA_MEMORY_EVENTS, page_byte_size(queue), queue->type->info.align);
    }
    return *slot != NULL;
}

// What is kept, and what is missed

static bool has_listeners(const mi_event_queue *queue) {
    return queue->readers.count > 0 || mi_event_handler_count(queue) > 0;
}

// The first event that somebody has yet to see, without the readers of the program unless for `everybody`; with
// `held`, whose memory somebody may still be using.
static uint64_t first_needed(const mi_event_queue *queue, bool everybody, bool held) {
    uint64_t needed = queue->next;
    for (uint32_t i = 0; i < queue->readers.count; i++) {
        const mi_event_cursor *cursor = &queue->readers.data[i]->cursor;
        const uint64_t number = held ? cursor->held : cursor->next;
        needed = number < needed && (everybody || queue->readers.data[i]->is_lent) ? number : needed;
    }
    if (mi_event_handler_count(queue) > 0 || queue->is_delivering) {
        const uint64_t number = held ? queue->delivered.held : queue->delivered.next;
        needed = number < needed ? number : needed;
    }
    return needed;
}

uint64_t mi_event_first_unseen(const mi_event_queue *queue) {
    return first_needed(queue, true, false);
}

uint64_t mi_event_first_of_state(const mi_event_queue *queue) {
    return first_needed(queue, false, false);
}

static void end_events(mica_world *world, mi_event_queue *queue, uint64_t end) {
    while (queue->first < end) {
        const uint64_t left = end - queue->first;
        uint64_t count = run_length(queue, queue->first);
        count = count < left ? count : left;
        if (queue->type->has_destruct) {
            mi_value_destruct(queue->type, &world->store.values, mi_event_at(queue, queue->first), (uint32_t)count);
        }
        const uint64_t page = page_number(queue, queue->first);
        queue->first += count;
        if (page_number(queue, queue->first) != page) {
            retire_page(queue, page);
        }
    }
    if (queue->first == queue->next) {
        retire_page(queue, page_number(queue, queue->next));
    }
}

// Ends what nobody needs any more.
static void collect(mica_world *world, mi_event_queue *queue) {
    end_events(world, queue, first_needed(queue, true, true));
}

static void push_cursor(mi_event_queue *queue, mi_event_cursor *cursor, uint64_t number) {
    if (cursor->next < number) {
        cursor->missed_count += number - cursor->next;
        queue->missed_count += number - cursor->next;
        cursor->held = cursor->held == cursor->next ? number : cursor->held; // it has handed out nothing
        cursor->next = number;
    }
}

// Whoever has not seen an event before `number` has missed it.
static void drop_before(mi_event_queue *queue, uint64_t number) {
    for (uint32_t i = 0; i < queue->readers.count; i++) {
        push_cursor(queue, &queue->readers.data[i]->cursor, number);
    }
    if (mi_event_handler_count(queue) > 0) {
        push_cursor(queue, &queue->delivered, number);
    }
}

static void tell_missed(const mica_world *world, const mi_event_queue *queue, mi_event_cursor *cursor, const char *kind,
                        const char *name) {
    if (cursor->missed_count != cursor->told_count) {
        mi_log(&world->log, MICA_LOG_WARNING,
               "%s: %s%s missed %" PRIu64 " events of %s, which were too old or too many", world->name, kind, name,
               cursor->missed_count - cursor->told_count, queue->type->info.name);
        cursor->told_count = cursor->missed_count;
    }
}

static void tell_reader(mica_event_reader *reader) {
    tell_missed(reader->world, reader->queue, &reader->cursor, "reader ", reader->name);
}

static void tell_delivery(const mica_world *world, mi_event_queue *queue) {
    tell_missed(world, queue, &queue->delivered, "deliveries", "");
}

// A tick begins: what was handed out is not in use any more, and everything is a tick older.
static void age_queue(mica_world *world, mi_events *events, mi_event_queue *queue) {
    events->change_count += mi_event_first_unseen(queue) < queue->next;
    uint64_t *mark = &queue->marks[events->tick % queue->tick_limit];
    drop_before(queue, *mark);
    *mark = queue->next;
    for (uint32_t i = 0; i < queue->readers.count; i++) {
        mica_event_reader *reader = queue->readers.data[i];
        reader->cursor.held = reader->cursor.next;
        tell_reader(reader);
    }
    queue->delivered.held = queue->delivered.next;
    tell_delivery(world, queue);
    collect(world, queue);
}

static mica_result age_all(mica_world *world, void *state) {
    mi_events *events = state;
    for (uint32_t i = 0; i < events->queues.count; i++) {
        if (events->queues.data[i] != NULL) {
            age_queue(world, events, events->queues.data[i]);
        }
    }
    events->tick++;
    return MICA_OK;
}

static void trim_events(mica_world *world, void *state) {
    mi_events *events = state;
    for (uint32_t i = 0; i < events->queues.count; i++) {
        if (events->queues.data[i] != NULL) {
            collect(world, events->queues.data[i]);
            free_spare(&world->heap, events->queues.data[i]);
        }
    }
}

// The world's events, made and ended with it

void mi_event_queue_end_content(mica_world *world, mi_event_queue *queue) {
    end_events(world, queue, queue->next);
    free_spare(&world->heap, queue);
    mi_heap_release(&world->heap, MICA_MEMORY_EVENTS, queue->marks, queue->tick_limit * sizeof(uint64_t),
                    _Alignof(uint64_t));
    queue->marks = NULL;
    queue->tick_limit = 0;
}

void mi_event_queue_restart(mica_world *world, mi_event_queue *queue) {
    end_events(world, queue, queue->next);
    queue->first = 0;
    queue->next = 0;
    queue->count_limit = 0;
    memset(queue->marks, 0, queue->tick_limit * sizeof(uint64_t));
}

static void free_queue(mica_world *world, mi_event_queue *queue) {
    mi_heap *heap = &world->heap;
    mi_event_queue_end_content(world, queue);
    while (queue->readers.count > 0) {
        mi_event_reader_end(queue->readers.data[queue->readers.count - 1]);
    }
    MI_FREE(heap, MICA_MEMORY_EVENTS, &queue->readers);
    MI_FREE(heap, MICA_MEMORY_EVENTS, &queue->bindings);
    mi_heap_release(heap, MICA_MEMORY_EVENTS, queue, sizeof(*queue), _Alignof(mi_event_queue));
}

static void free_events(mica_world *world, void *state) {
    mi_events *events = state;
    for (uint32_t i = 0; i < events->queues.count; i++) {
        if (events->queues.data[i] != NULL) {
            free_queue(world, events->queues.data[i]);
        }
    }
    MI_FREE(&world->heap, MICA_MEMORY_EVENTS, &events->queues);
    world->events = NULL;
    mi_heap_release(&world->heap, MICA_MEMORY_EVENTS, events, sizeof(*events), _Alignof(mi_events));
}

static const char *validate_cursor(const mi_event_queue *queue, const mi_event_cursor *cursor) {
    const bool is_sound = queue->first <= cursor->held && cursor->held <= cursor->next && cursor->next <= queue->next;
    return is_sound ? NULL : "events: a cursor stands outside what is kept";
}

static const char *validate_queue(const mi_event_queue *queue) {
    const char *fault = mi_event_handler_count(queue) > 0 ? validate_cursor(queue, &queue->delivered) : NULL;
    for (uint32_t i = 0; fault == NULL && i < queue->readers.count; i++) {
        fault = validate_cursor(queue, &queue->readers.data[i]->cursor);
    }
    uint32_t gone_count = 0;
    for (uint32_t i = 0; i < queue->bindings.count; i++) {
        gone_count += queue->bindings.data[i].call == NULL;
    }
    if (gone_count != queue->gone_count || (queue->busy == 0 && gone_count > 0)) {
        return "events: handlers that were unbound are counted wrongly";
    }
    if (queue->first > queue->next) {
        return "events: the numbers are not in order";
    }
    for (uint64_t number = queue->first; fault == NULL && queue->type->info.size > 0 && number < queue->next;
         number += run_length(queue, number)) {
        if (*page_slot(queue, page_number(queue, number)) == NULL) {
            return "events: a page is missing";
        }
    }
    return fault;
}

static const char *validate_events(const mica_world *world, const void *state) {
    (void)world;
    const mi_events *events = state;
    const char *fault = NULL;
    for (uint32_t i = 0; fault == NULL && i < events->queues.count; i++) {
        fault = events->queues.data[i] != NULL ? validate_queue(events->queues.data[i]) : NULL;
    }
    return fault;
}

bool mi_events_have(mica_world *world) {
    if (world->events != NULL) {
        return true;
    }
    mi_events *events = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_EVENTS, sizeof(*events), _Alignof(mi_events));
    const mi_extension extension = {.key = &extension_key,
                                    .state = events,
                                    .destroy = free_events,
                                    .validate = validate_events,
                                    .trim = trim_events,
                                    .begin_tick = age_all};
    if (events == NULL || !mi_world_add_extension(world, &extension)) {
        mi_heap_release(&world->heap, MICA_MEMORY_EVENTS, events, sizeof(*events), _Alignof(mi_events));
        return false;
    }
    world->events = events;
    return true;
}

// Something of the events that no other count tells is another now.
static void count_changes(mica_world *world, uint64_t count) {
    mi_world_count(world, &world->events->change_count, count);
}

static mi_event_queue *find_queue(const mica_world *world, mica_component component) {
    const mi_events *events = world->events;
    return events != NULL && component < events->queues.count ? events->queues.data[component] : NULL;
}

bool mi_event_set_tick_limit(mi_heap *heap, mi_event_queue *queue, uint32_t tick_limit) {
    uint64_t *marks = mi_heap_allocate(heap, MICA_MEMORY_EVENTS, tick_limit * sizeof(uint64_t), _Alignof(uint64_t));
    if (marks == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < tick_limit; i++) {
        marks[i] = queue->first;
    }
    mi_heap_release(heap, MICA_MEMORY_EVENTS, queue->marks, queue->tick_limit * sizeof(uint64_t), _Alignof(uint64_t));
    queue->marks = marks;
    queue->tick_limit = tick_limit;
    return true;
}

static mi_event_queue *add_queue(mica_world *world, mi_events *events, const mi_type *type) {
    mi_heap *heap = &world->heap;
    const uint32_t need = (uint32_t)type->info.id + 1;
    if (!MI_RESERVE(heap, MICA_MEMORY_EVENTS, &events->queues, need)) {
        return NULL;
    }
    while (events->queues.count < need) {
        events->queues.data[events->queues.count++] = NULL;
    }
    mi_event_queue *queue = mi_heap_allocate_zeroed(heap, MICA_MEMORY_EVENTS, sizeof(*queue), _Alignof(mi_event_queue));
    if (queue == NULL || !mi_event_set_tick_limit(heap, queue, MICA_EVENT_TICKS_DEFAULT)) {
        mi_heap_release(heap, MICA_MEMORY_EVENTS, queue, sizeof(*queue), _Alignof(mi_event_queue));
        return NULL;
    }
    queue->type = type;
    while (queue->page_shift < PAGE_SHIFT_MAX && (type->info.size << (queue->page_shift + 1)) <= PAGE_BYTE_SIZE) {
        queue->page_shift++;
    }
    events->queues.data[type->info.id] = queue;
    return queue;
}

mi_event_queue *mi_event_queue_have(mica_world *world, const mi_type *type) {
    mi_event_queue *queue = find_queue(world, type->info.id);
    return queue != NULL || !mi_events_have(world) ? queue : add_queue(world, world->events, type);
}

static mi_event_queue *open_queue(mica_world *world, mica_component component, const char *call) {
    mi_event_queue *queue = find_queue(world, component);
    if (MICA_LIKELY(queue != NULL)) {
        return queue;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL) {
        return NULL;
    }
    queue = mi_event_queue_have(world, type);
    if (queue == NULL) {
        mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for the events of {}", MI_TEXT(type->info.name));
    }
    return queue;
}

mi_event_queue *mi_event_queue_open(mica_world *world, mica_component component, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return NULL;
    }
    mi_world_lock(world);
    mi_event_queue *queue = open_queue(world, component, call);
    mi_world_unlock(world);
    return queue;
}

// Handlers

// Calls a handler in a world with a guard, from where others are called at once.
static void call_unguarded(const mica_event *event) {
    const mi_event_queue *queue = find_queue(event->world, event->component);
    const mi_event_binding *binding = queue->bindings.data; // it is listed as long as it is called
    while (binding->id != event->handler.id) {
        binding++;
    }
    mi_guard_lift(event->world);
    binding->unguarded(event);
    mi_guard_settle(event->world);
}

mica_event_handler mica_event_bind(mica_world *world, mica_component component, mica_event_function call, void *user) {
    const mica_event_handler none = {0};
    if (world != NULL && mi_world_check_making(world, "a handler of events", __func__) != MICA_OK) {
        return none;
    }
    mi_event_queue *queue = mi_event_queue_open(world, component, __func__);
    if (queue == NULL) {
        return none;
    }
    mi_events *events = world->events;
    if (call == NULL) {
        mi_fail(&world->log, MICA_INVALID, __func__, "needs a function to bind to events of {}",
                MI_TEXT(queue->type->info.name));
        return none;
    }
    if (events->last_id == UINT32_MAX) {
        mi_fail_plain(&world->log, MICA_LIMIT, __func__, "the numbers of handlers are used up");
        return none;
    }
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_EVENTS, &queue->bindings, (size_t)queue->bindings.count + 1)) {
        mi_fail_memory(&world->log, __func__, sizeof(mi_event_binding));
        return none;
    }
    if (mi_event_handler_count(queue) == 0 && !queue->is_delivering) {
        queue->delivered.next = queue->next;
        queue->delivered.held = queue->next;
    }
    events->change_count++;
    queue->bindings.data[queue->bindings.count++] = (mi_event_binding){
        .id = ++events->last_id, .call = world->guard == NULL ? call : call_unguarded, .user = user, .unguarded = call};
    return (mica_event_handler){events->last_id};
}

// Takes those that were unbound off the list, unless somebody goes over it.
static void sweep_bindings(mi_event_queue *queue) {
    if (queue->busy > 0 || queue->gone_count == 0) {
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < queue->bindings.count; i++) {
        if (queue->bindings.data[i].call != NULL) {
            queue->bindings.data[kept++] = queue->bindings.data[i];
        }
    }
    queue->bindings.count = kept;
    queue->gone_count = 0;
}

static bool unbind(mi_event_queue *queue, uint32_t id) {
    for (uint32_t i = 0; i < queue->bindings.count; i++) {
        mi_event_binding *binding = &queue->bindings.data[i];
        if (binding->id == id && binding->call != NULL) {
            binding->call = NULL;
            queue->gone_count++;
            sweep_bindings(queue);
            return true;
        }
    }
    return false;
}

mica_result mica_event_unbind(mica_world *world, mica_event_handler handler) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
    }
    if (mi_world_check_making(world, "a handler of events", __func__) != MICA_OK) {
        return MICA_LOCKED;
    }
    mi_events *events = world->events;
    for (uint32_t i = 0; events != NULL && i < events->queues.count; i++) {
        if (events->queues.data[i] != NULL && unbind(events->queues.data[i], handler.id)) {
            count_changes(world, 1);
            return MICA_OK;
        }
    }
    return mi_fail(&world->log, MICA_UNKNOWN, __func__, "there is no handler {}", MI_UINT(handler.id));
}

// Calling handlers

// How deep the thread is in handlers that call each other.
static uint32_t *depth_of(mica_world *world) {
    return MICA_LIKELY(!world->is_shared) ? &world->events->depth : &mi_actor_of(world)->event_depth;
}

// Begins a trigger or a delivery. False, with the error set: nobody is to be called.
static bool begin_dispatch(mica_world *world, mi_event_queue *queue, mi_callback *current, const char *call) {
    uint32_t *depth = depth_of(world);
    if (*depth == MICA_EVENT_DEPTH_MAX) {
        mi_fail(&world->log, MICA_LIMIT, call, "handlers have called each other {} deep, lastly by an event of {}",
                MI_UINT(MICA_EVENT_DEPTH_MAX), MI_TEXT(queue->type->info.name));
        return false;
    }
    mi_world_lock(world);
    const bool is_open = mi_signal_open_buffers(world);
    mi_world_unlock(world);
    if (!is_open) {
        mi_fail_memory(&world->log, call, 0);
        return false;
    }
    // Handlers record as observers do.
    *current = (mi_callback){.call = call, .commands = mi_signal_commands(world)};
    mi_world_enter_callback(world, current);
    ++*depth;
    queue->busy++;
    return true;
}

static void end_dispatch(mica_world *world, mi_event_queue *queue, const mi_callback *current) {
    --*depth_of(world);
    mi_world_leave_callback(world, current);
    queue->busy--;
    sweep_bindings(queue);
    if (current->commands == world->signals.recorded && mica_commands_count(current->commands) > 0) {
        world->signals.has_rest = true;
    }
    mi_world_finish(world, current->call);
}

static void call_handlers(mica_world *world, mi_event_queue *queue, const mi_callback *current, const void *value) {
    const uint32_t count = queue->bindings.count; // those bound meanwhile are told of the next event
    for (uint32_t i = 0; i < count; i++) {
        const mi_event_binding binding = queue->bindings.data[i];
        if (binding.call != NULL) {
            binding.call(&(mica_event){.world = world,
                                       .commands = current->commands,
                                       .value = value,
                                       .user = binding.user,
                                       .component = queue->type->info.id,
                                       .handler = {binding.id}});
        }
    }
}

static mica_result check_value(const mica_world *world, const mi_event_queue *queue, const void *value,
                               const char *call) {
    if (MICA_UNLIKELY((value != NULL) != (queue->type->info.size > 0))) {
        return value == NULL
                   ? mi_fail(&world->log, MICA_INVALID, call, "needs a value of {}", MI_TEXT(queue->type->info.name))
                   : mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(queue->type->info.name));
    }
    return MICA_OK;
}

mica_result mica_event_trigger(mica_world *world, mica_component component, const void *value) {
    static const char call[] = "mica_event_trigger";
    mi_event_queue *queue = mi_event_queue_open(world, component, call);
    if (queue == NULL) {
        return mica_last_result();
    }
    mica_result result = check_value(world, queue, value, call);
    if (result == MICA_OK) {
        result = mi_world_check_access(world, component, true, MICA_NULL, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    if (mi_event_handler_count(queue) > 0) {
        mi_callback current;
        if (!begin_dispatch(world, queue, &current, call)) {
            return mica_last_result();
        }
        call_handlers(world, queue, &current, value);
        end_dispatch(world, queue, &current);
    }
    queue->triggered_count++;
    return MICA_OK;
}

// Calls the handlers for what is queued before `end`; for how many events.
static int32_t deliver_until(mica_world *world, mi_event_queue *queue, const mi_callback *current, uint64_t end) {
    mi_event_cursor *cursor = &queue->delivered;
    int32_t count = 0;
    while (cursor->next < end && mi_event_handler_count(queue) > 0 && count < INT32_MAX) {
        cursor->held = cursor->next++;
        cursor->seen_count++;
        count++;
        call_handlers(world, queue, current, queue->type->info.size > 0 ? mi_event_at(queue, cursor->held) : NULL);
    }
    cursor->held = cursor->next;
    return count;
}

int32_t mica_event_deliver(mica_world *world, mica_component component) {
    static const char call[] = "mica_event_deliver";
    mi_event_queue *queue = mi_event_queue_open(world, component, call);
    if (queue == NULL || mi_world_check_access(world, component, true, MICA_NULL, call) != MICA_OK) {
        return -1;
    }
    if (queue->is_delivering) {
        mi_fail(&world->log, MICA_LOCKED, call, "events of {} are being delivered", MI_TEXT(queue->type->info.name));
        return -1;
    }
    tell_delivery(world, queue);
    if (mi_event_handler_count(queue) == 0 || queue->delivered.next == queue->next) {
        return 0;
    }
    mi_callback current;
    if (!begin_dispatch(world, queue, &current, call)) {
        return -1;
    }
    queue->is_delivering = true;
    const int32_t count = deliver_until(world, queue, &current, queue->next);
    queue->is_delivering = false;
    queue->delivered_count += (uint64_t)count;
    end_dispatch(world, queue, &current);
    return count;
}

// Sending

// The oldest events make room for one more.
static void keep_count(mi_event_queue *queue) {
    if (queue->next - mi_event_first_unseen(queue) >= queue->count_limit) {
        drop_before(queue, queue->next + 1 - queue->count_limit);
    }
}

// Counts an event that nobody is there for. Only where the last handler has left during a delivery, what it was told of
// is still in use, and the event has no number.
static void pass_unheard(mica_world *world, mi_event_queue *queue) {
    if (!queue->is_delivering) {
        end_events(world, queue, queue->next);
        queue->next++;
        queue->first = queue->next;
    }
    queue->sent_count++;
    queue->unheard_count++;
}

bool mi_event_enqueue(mica_world *world, mi_event_queue *queue, const void *value) {
    const mi_type *type = queue->type;
    mica_allocator *values = &world->store.values;
    if (!has_listeners(queue)) {
        if (type->movable_only) { // it is the bus's now
            mi_value_destruct(type, values, (void *)(uintptr_t)value, 1);
        }
        pass_unheard(world, queue);
        return true;
    }
    if (type->info.size > 0) {
        const uint64_t slot_mask = ((uint64_t)1 << queue->page_shift) - 1;
        if ((queue->next & slot_mask) == 0) { // another page
            collect(world, queue);
        }
        if (!mi_event_have_place(&world->heap, queue) ||
            !mi_value_make(type, values, mi_event_at(queue, queue->next), value)) {
            return false;
        }
    }
    if (queue->count_limit > 0) {
        keep_count(queue);
    }
    queue->next++;
    queue->sent_count++;
    return true;
}

mica_result mica_event_send(mica_world *world, mica_component component, const void *value) {
    static const char call[] = "mica_event_send";
    mi_event_queue *queue = mi_event_queue_open(world, component, call);
    if (queue == NULL) {
        return mica_last_result();
    }
    if (MICA_UNLIKELY(*mi_world_in_span(world))) {
        return mi_world_fail_in_span(world, "sends events behind it", call);
    }
    mica_result result = check_value(world, queue, value, call);
    if (result == MICA_OK) {
        result = mi_world_check_access(world, component, true, MICA_NULL, call);
    }
    if (result != MICA_OK || mi_event_enqueue(world, queue, value)) {
        return result;
    }
    return mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "no memory for an event of {}, or its hook could not copy it",
                   MI_TEXT(queue->type->info.name));
}

mica_result mica_event_set_limits(mica_world *world, mica_component component, uint32_t tick_count,
                                  uint32_t event_count) {
    mi_event_queue *queue = mi_event_queue_open(world, component, __func__);
    if (queue == NULL) {
        return mica_last_result();
    }
    if (mi_world_check_making(world, "how long events are kept", __func__) != MICA_OK) {
        return MICA_LOCKED;
    }
    if (tick_count > MICA_EVENT_TICKS_MAX) {
        return mi_fail(&world->log, MICA_LIMIT, __func__, "events of {} are to be kept for {} ticks; {} is the most",
                       MI_TEXT(queue->type->info.name), MI_UINT(tick_count), MI_UINT(MICA_EVENT_TICKS_MAX));
    }
    if (!mi_event_set_tick_limit(&world->heap, queue, tick_count == 0 ? MICA_EVENT_TICKS_DEFAULT : tick_count)) {
        return mi_fail_memory(&world->log, __func__, tick_count * sizeof(uint64_t));
    }
    count_changes(world, 1);
    queue->count_limit = event_count;
    if (event_count > 0 && queue->next - mi_event_first_unseen(queue) > event_count) {
        drop_before(queue, queue->next - event_count);
    }
    return MICA_OK;
}

mica_result mica_event_statistics(const mica_world *world, mica_component component, mica_event_stats *stats) {
    if (world == NULL || stats == NULL) {
        return mi_fail(world == NULL ? NULL : &world->log, MICA_INVALID, __func__, "needs {}",
                       MI_TEXT(world == NULL ? "a world" : "a place for the statistics"));
    }
    if (mi_world_type(world, component, __func__) == NULL) {
        return MICA_UNKNOWN;
    }
    *stats = (mica_event_stats){0};
    const mi_event_queue *queue = find_queue(world, component);
    if (queue != NULL) {
        *stats = (mica_event_stats){.sent_count = queue->sent_count,
                                    .triggered_count = queue->triggered_count,
                                    .delivered_count = queue->delivered_count,
                                    .unheard_count = queue->unheard_count,
                                    .missed_count = queue->missed_count,
                                    .waiting_count = queue->next - mi_event_first_unseen(queue),
                                    .reader_count = queue->readers.count,
                                    .handler_count = mi_event_handler_count(queue)};
    }
    return MICA_OK;
}

// Readers

static mica_event_reader *add_reader(mica_world *world, mi_event_queue *queue, const char *name, const char *call) {
    mi_heap *heap = &world->heap;
    mica_event_reader *reader =
        mi_heap_allocate_zeroed(heap, MICA_MEMORY_EVENTS, sizeof(*reader), _Alignof(mica_event_reader));
    char *copy = mi_heap_copy_text(heap, MICA_MEMORY_EVENTS, name == NULL ? "reader" : name);
    if (reader == NULL || copy == NULL ||
        !MI_RESERVE(heap, MICA_MEMORY_EVENTS, &queue->readers, (size_t)queue->readers.count + 1)) {
        mi_heap_release_text(heap, MICA_MEMORY_EVENTS, copy);
        mi_heap_release(heap, MICA_MEMORY_EVENTS, reader, sizeof(*reader), _Alignof(mica_event_reader));
        mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for a reader of events of {}",
                MI_TEXT(queue->type->info.name));
        return NULL;
    }
    *reader = (mica_event_reader){.world = world,
                                  .queue = queue,
                                  .name = copy,
                                  .is_lent = true,
                                  .cursor = {.next = queue->next, .held = queue->next}};
    queue->readers.data[queue->readers.count++] = reader;
    return reader;
}

mica_event_reader *mi_event_reader_lend(mica_world *world, mica_component component, const char *name,
                                        const char *call) {
    mi_event_queue *queue = mi_event_queue_open(world, component, call);
    if (queue == NULL || mi_world_check_access(world, component, false, MICA_NULL, call) != MICA_OK) {
        return NULL;
    }
    mi_world_lock(world);
    mica_event_reader *reader = add_reader(world, queue, name, call);
    mi_world_unlock(world);
    return reader;
}

mica_event_reader *mica_event_reader_create(mica_world *world, mica_component component, const char *name) {
    if (world != NULL && mi_world_check_making(world, "a reader that is not its own", __func__) != MICA_OK) {
        return NULL;
    }
    mica_event_reader *reader = mi_event_reader_lend(world, component, name, __func__);
    if (reader != NULL) {
        reader->is_lent = false;
    }
    return reader;
}

void mi_event_reader_end(mica_event_reader *reader) {
    mi_event_queue *queue = reader->queue;
    mi_heap *heap = &reader->world->heap;
    if (reader->is_lent) {
        count_changes(reader->world, 1 + reader->cursor.seen_count + reader->cursor.missed_count);
    }
    uint32_t place = queue->readers.count;
    while (queue->readers.data[--place] != reader) {
    }
    queue->readers.count--;
    memmove(queue->readers.data + place, queue->readers.data + place + 1,
            (queue->readers.count - place) * sizeof(*queue->readers.data));
    mi_heap_release_text(heap, MICA_MEMORY_EVENTS, reader->name);
    mi_heap_release(heap, MICA_MEMORY_EVENTS, reader, sizeof(*reader), _Alignof(mica_event_reader));
}

void mica_event_reader_destroy(mica_event_reader *reader) {
    if (reader == NULL) {
        return;
    }
    if (reader->is_lent) {
        mi_fail(&reader->world->log, MICA_INVALID, __func__, "reader {} ends with its system", MI_TEXT(reader->name));
        return;
    }
    if (mi_world_check_making(reader->world, "a reader that is not its own", __func__) == MICA_OK) {
        mi_event_reader_end(reader);
    }
}

static mica_result check_reader(const mica_event_reader *reader, const char *call) {
    if (MICA_UNLIKELY(reader == NULL)) {
        return mi_fail(NULL, MICA_INVALID, call, "needs a reader; the last error was \"{}\"",
                       MI_TEXT(mica_last_error()));
    }
    return mi_world_check_access(reader->world, reader->queue->type->info.id, false, MICA_NULL, call);
}

uint64_t mica_event_reader_count(const mica_event_reader *reader) {
    return check_reader(reader, __func__) == MICA_OK ? reader->queue->next - reader->cursor.next : 0;
}

uint64_t mi_event_reader_position(const mica_event_reader *reader) {
    return reader->queue->next - reader->cursor.next;
}

void mi_event_reader_place(mica_event_reader *reader, uint64_t position) {
    const mi_event_queue *queue = reader->queue;
    const uint64_t kept_count = queue->next - queue->first;
    count_changes(reader->world, 1);
    reader->cursor.next = queue->next - (position < kept_count ? position : kept_count);
    reader->cursor.held = reader->cursor.next;
}

static const void *take(mica_event_reader *reader, mica_type *type, int32_t most, int32_t *count, const char *call) {
    static const char tag_event;
    *count = 0;
    if (check_reader(reader, call) != MICA_OK) {
        return NULL;
    }
    const mi_event_queue *queue = reader->queue;
    if (type != NULL && mica_world_component(reader->world, type) != queue->type->info.id) {
        mi_fail(&reader->world->log, MICA_MISMATCH, call, "reader {} reads events of {}, not of {}",
                MI_TEXT(reader->name), MI_TEXT(queue->type->info.name), MI_TEXT(type->name));
        return NULL;
    }
    tell_reader(reader);
    mi_event_cursor *cursor = &reader->cursor;
    cursor->held = cursor->next;
    if (cursor->next == queue->next) {
        return NULL;
    }
    const uint64_t limit = most > 0 ? (uint64_t)most : INT32_MAX;
    const uint64_t length = run_length(queue, cursor->next);
    *count = (int32_t)(length < limit ? length : limit);
    cursor->next += (uint64_t)*count;
    cursor->seen_count += (uint64_t)*count;
    return queue->type->info.size > 0 ? mi_event_at(queue, cursor->held) : &tag_event;
}

const void *mica_event_reader_next(mica_event_reader *reader, mica_type *type) {
    int32_t count;
    return take(reader, type, 1, &count, __func__);
}

const void *mica_event_reader_span(mica_event_reader *reader, mica_type *type, int32_t most, int32_t *count) {
    int32_t ignored;
    return take(reader, type, most, count != NULL ? count : &ignored, __func__);
}

mica_event_reader_stats mica_event_reader_statistics(const mica_event_reader *reader) {
    if (check_reader(reader, __func__) != MICA_OK) {
        return (mica_event_reader_stats){.name = ""};
    }
    return (mica_event_reader_stats){.name = reader->name,
                                     .component = reader->queue->type->info.id,
                                     .seen_count = reader->cursor.seen_count,
                                     .missed_count = reader->cursor.missed_count};
}
