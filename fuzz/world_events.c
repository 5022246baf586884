// Events, the inbox, timers and diagnoses of the fuzzer of worlds. Events carry ascending numbers: readers and handlers
// see them in this order, each once, and what a reader has seen, has missed and has yet to see is what was sent since
// it was made.
#include "fuzz_world.h"

enum { TYPE_COUNT = 6, POSTED = 4, FIRED = 5, TRIGGERED_NUMBER = -1 };

// The types of events: plain, aligned, with hooks, a tag, one that comes through the inbox, and what timers send.
static const uint32_t event_components[TYPE_COUNT - 1] = {HEALTH, WIDE, OWNED, FROZEN, BULK};

static mica_component event_type(fuzz *f, uint32_t type) {
    const mica_component id =
        type == FIRED ? mica_world_register(f->world, mica_type_of(mica_timer_fired)) : f->ids[event_components[type]];
    check(f, id == 0 ? mica_last_result() : MICA_OK);
    return id;
}

static bool has_number(const fuzz *f, mica_component id) {
    return id == f->ids[HEALTH] || id == f->ids[WIDE] || id == f->ids[BULK];
}

// A value with a number, for a type of events.
static const void *make_event(uint32_t type, int32_t number, any_value *memory) {
    static int32_t owned_number;
    memset(memory, 0, sizeof(*memory));
    if (event_components[type] == FROZEN) {
        return NULL;
    }
    if (event_components[type] == OWNED) {
        owned_number = number;
        memory->owned = (Owned){.number = &owned_number, .self = &memory->owned};
    } else {
        memcpy(memory, &number, sizeof(number));
    }
    return memory;
}

static void send(fuzz *f, uint32_t type) {
    any_value memory;
    if (type == FIRED) {
        return;
    }
    const void *value = make_event(type, ++f->event_number, &memory);
    if (type == POSTED) {
        mica_inbox *inbox = mica_world_inbox(f->world);
        check(f, inbox == NULL ? mica_last_result() : mica_inbox_post(inbox, event_type(f, type), value));
    } else {
        check(f, mica_event_send(f->world, event_type(f, type), value));
    }
}

static void trigger(fuzz *f, uint32_t type) {
    any_value memory;
    if (type < POSTED && f->depth < DEPTH_LIMIT) {
        const void *value = make_event(type, TRIGGERED_NUMBER, &memory);
        check(f, mica_event_trigger(f->world, event_type(f, type), value));
    }
}

// Handlers

static void handle(const mica_event *event) {
    fuzz_handler *handler = event->user;
    fuzz *f = handler->f;
    FUZZ_CHECK(event->handler.id == handler->handler.id, "called after it was unbound");
    FUZZ_CHECK(event->world == f->world && event->commands != NULL, "");
    FUZZ_CHECK((event->value == NULL) == (event->component == f->ids[FROZEN]), "");
    if (has_number(f, event->component) && number_of(event->value) != TRIGGERED_NUMBER) {
        FUZZ_CHECK(number_of(event->value) > handler->last, "an event that was delivered before");
        handler->last = number_of(event->value);
    }
    if (handler->acts) {
        react(f, event->commands);
    }
}

static void bind(fuzz *f, uint32_t type) {
    fuzz_handler *handler = &f->handlers[pick(f, HANDLER_COUNT)];
    if (handler->handler.id != 0) {
        FUZZ_CHECK(mica_event_unbind(f->world, handler->handler) == MICA_OK, mica_last_error());
        FUZZ_CHECK(mica_event_unbind(f->world, handler->handler) == MICA_UNKNOWN, "");
        *handler = (fuzz_handler){0};
        return;
    }
    *handler = (fuzz_handler){.f = f, .acts = pick(f, 2) == 1};
    handler->handler = mica_event_bind(f->world, event_type(f, type), handle, handler);
    check(f, handler->handler.id == 0 ? mica_last_result() : MICA_OK);
}

static void deliver(fuzz *f, uint32_t type) {
    const mica_component id = event_type(f, type);
    mica_event_stats before;
    mica_event_stats after;
    check(f, mica_event_statistics(f->world, id, &before));
    const int32_t count = mica_event_deliver(f->world, id);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    check(f, mica_event_statistics(f->world, id, &after));
    FUZZ_CHECK(f->is_reacted || count < 0 || after.delivered_count == before.delivered_count + (uint64_t)count, "");
}

// Readers

static void take_events(const fuzz *f, fuzz_reader *reader, const void *values, int32_t count) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(f->world), reader->component);
    for (int32_t i = 0; i < count && has_number(f, reader->component); i++) {
        const int32_t number = number_of((const uint8_t *)values + (size_t)i * info->size);
        FUZZ_CHECK(number > reader->last, "an event that was read before");
        reader->last = number;
    }
    reader->seen_count += (uint64_t)count;
}

static void read_events(fuzz *f, fuzz_reader *reader, bool by_span) {
    for (uint32_t left = pick(f, 16); left > 0 && reader->reader != NULL; left--) {
        const uint64_t waiting_count = mica_event_reader_count(reader->reader);
        int32_t count = 1;
        const void *values = by_span ? mica_event_reader_span(reader->reader, NULL, (int32_t)pick(f, 4), &count)
                                     : mica_event_reader_next(reader->reader, NULL);
        if (values == NULL) {
            FUZZ_CHECK(waiting_count == 0, "events wait and are not handed out");
            return;
        }
        take_events(f, reader, values, count);
        FUZZ_CHECK(mica_event_reader_count(reader->reader) == waiting_count - (uint64_t)count, "");
    }
}

static void make_reader(fuzz *f, fuzz_reader *reader, uint32_t type) {
    if (reader->reader != NULL) {
        mica_event_reader_destroy(reader->reader);
        *reader = (fuzz_reader){0};
        return;
    }
    mica_event_stats stats;
    const mica_component id = event_type(f, type);
    reader->reader = mica_event_reader_create(f->world, id, NULL);
    check(f, reader->reader == NULL ? mica_last_result() : MICA_OK);
    if (reader->reader != NULL) {
        reader->component = id;
        FUZZ_CHECK(mica_event_statistics(f->world, id, &stats) == MICA_OK, mica_last_error());
        reader->sent_count = stats.sent_count;
    }
}

void check_readers(fuzz *f) {
    for (uint32_t i = 0; i < READER_COUNT; i++) {
        const fuzz_reader *reader = &f->readers[i];
        if (reader->reader == NULL) {
            continue;
        }
        mica_event_stats stats;
        FUZZ_CHECK(mica_event_statistics(f->world, reader->component, &stats) == MICA_OK, mica_last_error());
        const mica_event_reader_stats own = mica_event_reader_statistics(reader->reader);
        FUZZ_CHECK(own.seen_count == reader->seen_count, "");
        FUZZ_CHECK(own.seen_count + own.missed_count + mica_event_reader_count(reader->reader) ==
                       stats.sent_count - reader->sent_count,
                   "events that a reader has neither seen nor missed");
    }
}

void do_event(fuzz *f) {
    const uint32_t verb = pick(f, 8);
    const uint32_t type = pick(f, TYPE_COUNT);
    fuzz_reader *reader = &f->readers[type % READER_COUNT];
    switch (verb) {
    case 0:
    case 1:
        send(f, type);
        break;
    case 2:
        trigger(f, type);
        break;
    case 3:
        deliver(f, type);
        break;
    case 4:
        bind(f, type);
        break;
    case 5:
        make_reader(f, reader, type);
        break;
    case 6:
        read_events(f, reader, pick(f, 2) == 1);
        break;
    default: {
        const uint32_t tick_count = pick(f, 4);
        check(f, mica_event_set_limits(f->world, event_type(f, type), tick_count, pick(f, 8)));
    }
    }
}

// The inbox, timers and diagnoses

void do_inbox(fuzz *f) {
    const int32_t count = mica_inbox_drain(f->world);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
}

static void look_at(const mica_diagnosis *diagnosis, void *user) {
    int32_t *count = user;
    ++*count;
    FUZZ_CHECK(mica_diagnosis_name(diagnosis->kind)[0] != '\0' && diagnosis->text[0] != '\0', "");
    FUZZ_CHECK(diagnosis->subject != NULL, "");
}

void do_diagnose(fuzz *f) {
    int32_t told_count = 0;
    switch (pick(f, 3)) {
    case 0:
        check(f, mica_timer_system_add(f->world).id == 0 ? mica_last_result() : MICA_OK);
        break;
    case 1:
        check(f, mica_lifetime_system_add(f->world).id == 0 ? mica_last_result() : MICA_OK);
        break;
    default:
        FUZZ_CHECK(mica_world_diagnose(f->world, look_at, &told_count) == told_count, "");
    }
}
