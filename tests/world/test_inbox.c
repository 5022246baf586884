// The inbox: bounds, what it refuses, and many threads that post at once.
#include "support/test_allocator.h"
#include "support/test_said.h"
#include "world/inbox.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

MICA_STRUCT(Message, {
    int32_t producer;
    int32_t number;
});
MICA_STRUCT(Packet, { uint8_t bytes[5]; });
MICA_TAG(Ping);
MICA_STRUCT(Stranger, { int32_t number; });

static bool construct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 1, (size_t)count * sizeof(int32_t));
    return true;
}
typedef struct Hooked {
    int32_t number;
} Hooked;
MICA_COMPONENT_WITH(Hooked, (.hooks = {.construct = construct}));

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_inbox *inbox;
    int32_t logged_count;
} fixture;

static void count_line(void *user, mica_log_level level, const char *text) {
    (void)level;
    (void)text;
    ((fixture *)user)->logged_count++;
}

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.world = NULL};
    test_allocator_init(&f.allocator);
    f.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator),
                                                  .log = {count_line, &f},
                                                  .inbox_message_limit = 4,
                                                  .inbox_byte_limit = 20});
    assert_non_null(f.world);
    mica_register(f.world, Message);
    mica_register(f.world, Packet);
    mica_register(f.world, Ping);
    mica_register(f.world, Hooked);
    f.inbox = mica_world_inbox(f.world);
    assert_non_null(f.inbox);
    assert_ptr_equal(mica_world_inbox(f.world), f.inbox);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    assert_string_equal(mica_world_validate(f->world) == MICA_OK ? "" : mica_last_error(), "");
    mica_world_destroy(f->world);
    test_allocator_finish(&f->allocator);
    return 0;
}

typedef struct seen {
    mica_event_reader *messages;
    int32_t numbers[8];
    int32_t count;
} seen;

static void see(mica_run *run) {
    seen *s = mica_run_user(run);
    for (const Message *message; (message = mica_next_event(s->messages, Message)) != NULL;) {
        s->numbers[s->count++] = message->number;
    }
}

static void messages_are_events_of_the_tick_that_begins(void **state) {
    const fixture *f = *state;
    seen s = {.messages = mica_reader_of(f->world, Message, NULL)};
    mica_system_add(f->world, &(mica_system_def){.name = "see", .run = see, .user = &s, .stage = MICA_FIRST});
    assert_int_equal(mica_post(f->inbox, Message, {0, 1}), MICA_OK);
    assert_int_equal(mica_post(f->inbox, Message, {0, 2}), MICA_OK);
    assert_int_equal(mica_event_reader_count(s.messages), 0);
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.numbers[0], 1);
    assert_int_equal(s.numbers[1], 2);
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    assert_int_equal(s.count, 2);
}

static void messages_of_all_types_are_drained_by_hand_in_order(void **state) {
    const fixture *f = *state;
    mica_event_reader *messages = mica_reader_of(f->world, Message, NULL);
    mica_event_reader *packets = mica_reader_of(f->world, Packet, NULL);
    mica_event_reader *pings = mica_reader_of(f->world, Ping, NULL);
    assert_int_equal(mica_post(f->inbox, Packet, {{1, 2, 3, 4, 5}}), MICA_OK);
    assert_int_equal(mica_post(f->inbox, Message, {8, 9}), MICA_OK); // lies behind five bytes
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    assert_int_equal(mica_inbox_drain(f->world), 3);
    assert_int_equal(mica_inbox_drain(f->world), 0);
    assert_int_equal(mica_next_event(packets, Packet)->bytes[4], 5);
    assert_int_equal(mica_next_event(messages, Message)->number, 9);
    assert_true(mica_next_tag_event(pings, Ping));
    const mica_inbox_stats stats = mica_inbox_statistics(f->inbox);
    assert_int_equal(stats.posted_count, 3);
    assert_int_equal(stats.drained_count, 3);
    assert_int_equal(stats.most_waiting_count, 3);
    assert_int_equal(stats.waiting_count, 0);
}

static void a_full_inbox_refuses_and_counts(void **state) {
    const fixture *f = *state;
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    }
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_LIMIT); // four messages
    assert_said("Ping");
    assert_int_equal(mica_inbox_drain(f->world), 4);
    assert_int_equal(mica_post(f->inbox, Message, {1, 1}), MICA_OK);
    assert_int_equal(mica_post(f->inbox, Message, {1, 2}), MICA_OK);
    assert_int_equal(mica_post(f->inbox, Message, {1, 3}), MICA_LIMIT); // 24 bytes
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    const mica_inbox_stats stats = mica_inbox_statistics(f->inbox);
    assert_int_equal(stats.refused_count, 2);
    assert_int_equal(stats.waiting_count, 3);
    assert_int_equal(stats.waiting_byte_size, 16);
    assert_int_equal(stats.message_limit, 4);
    assert_int_equal(stats.byte_limit, 20);
    assert_int_equal(f->logged_count, 0);
}

static void what_cannot_be_posted_is_refused_without_touching_the_schema(void **state) {
    const fixture *f = *state;
    const int32_t number = 1;
    const int32_t type_count = mica_schema_count(mica_world_schema(f->world));
    assert_int_equal(mica_post(f->inbox, Stranger, {1}), MICA_UNKNOWN);
    assert_said("Stranger");
    assert_int_equal(mica_inbox_post(f->inbox, 999, &number), MICA_UNKNOWN);
    assert_int_equal(mica_post(f->inbox, Hooked, {1}), MICA_UNSUPPORTED);
    assert_said("Hooked");
    assert_int_equal(mica_inbox_post_type(f->inbox, mica_type_of(Message), NULL), MICA_INVALID);
    assert_int_equal(mica_inbox_post_type(f->inbox, mica_type_of(Ping), &number), MICA_NO_VALUE);
    mica_type larger = {.name = "Message", .size = 64, .align = 4};
    assert_int_equal(mica_inbox_post_type(f->inbox, &larger, &number), MICA_MISMATCH);
    assert_said("Message");
    assert_int_equal(mica_inbox_post(NULL, 1, &number), MICA_INVALID);
    assert_int_equal(mica_schema_count(mica_world_schema(f->world)), type_count);
    assert_int_equal(mica_inbox_statistics(f->inbox).posted_count, 0);
    assert_int_equal(f->logged_count, 0);
}

static void another_descriptor_of_a_known_name_is_found(void **state) {
    const fixture *f = *state;
    mica_event_reader *messages = mica_reader_of(f->world, Message, NULL);
    mica_type same = {.name = "Message", .size = sizeof(Message), .align = _Alignof(Message)};
    assert_int_equal(mica_inbox_post_type(f->inbox, &same, &(Message){3, 4}), MICA_OK);
    assert_int_equal(mica_inbox_drain(f->world), 1);
    assert_int_equal(mica_next_event(messages, Message)->number, 4);
}

static void posting_allocates_nothing(void **state) {
    fixture *f = *state;
    const uint64_t calls = f->allocator.call_count;
    for (int32_t i = 0; i < 6; i++) {
        mica_post(f->inbox, Message, {1, i});
    }
    assert_int_equal(f->allocator.call_count, calls);
}

static void messages_stay_when_memory_runs_out(void **state) {
    fixture *f = *state;
    mica_event_reader *messages = mica_reader_of(f->world, Message, NULL);
    mica_event_reader *packets = mica_reader_of(f->world, Packet, NULL);
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    mica_post(f->inbox, Message, {0, 1});
    mica_post(f->inbox, Packet, {{2}});
    test_allocator_fail_at(&f->allocator, 3); // the message takes two, the packet gets none
    assert_int_equal(mica_world_step(f->world, 1), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&f->allocator));
    assert_int_equal(mica_world_tick(f->world), 1);
    assert_int_equal(mica_inbox_statistics(f->inbox).waiting_count, 1);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_LIMIT); // with the one that was left
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    assert_int_equal(mica_event_reader_count(messages), 1);
    assert_int_equal(mica_event_reader_count(packets), 1);
    assert_int_equal(mica_inbox_statistics(f->inbox).drained_count, 5);
}

static void a_world_without_an_inbox_drains_nothing(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    assert_int_equal(mica_inbox_drain(world), 0);
    mica_inbox *inbox = mica_world_inbox(world);
    assert_int_equal(mica_inbox_statistics(inbox).message_limit, MICA_INBOX_MESSAGES_DEFAULT);
    assert_int_equal(mica_inbox_statistics(inbox).byte_limit, MICA_INBOX_BYTES_DEFAULT);
    mica_world_destroy(world);
}

// Those who listen

typedef struct heard {
    char text[64];
    int32_t by_hand_count;
} heard;

static void hear(mica_world *world, const mi_type *type, const void *value, bool begins_tick, void *user) {
    heard *h = user;
    int32_t first = 0;
    if (value != NULL) {
        memcpy(&first, value, 1);
    }
    const size_t length = strlen(h->text);
    snprintf(h->text + length, sizeof(h->text) - length, "%s%d ", type->info.name, (int)first);
    h->by_hand_count += !begins_tick;
    assert_non_null(world);
}

static void who_listens_is_told_of_all_messages_in_order(void **state) {
    const fixture *f = *state;
    heard first = {.by_hand_count = 0};
    heard second = {.by_hand_count = 0};
    assert_true(mi_inbox_listen(f->world, hear, &first));
    assert_true(mi_inbox_listen(f->world, hear, &second));
    mica_post(f->inbox, Packet, {{7}});
    mica_post(f->inbox, Message, {8, 0});
    mica_post_tag(f->inbox, Ping);
    assert_string_equal(first.text, "");
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    assert_string_equal(first.text, "Packet7 Message8 Ping0 ");
    assert_int_equal(first.by_hand_count, 0);
    mi_inbox_unlisten(f->world, hear, &first);
    mi_inbox_unlisten(f->world, hear, &first);
    mica_post(f->inbox, Message, {9, 0});
    assert_int_equal(mica_inbox_drain(f->world), 1);
    assert_string_equal(first.text, "Packet7 Message8 Ping0 ");
    assert_string_equal(second.text, "Packet7 Message8 Ping0 Message9 ");
    assert_int_equal(second.by_hand_count, 1);
}

static void listening_makes_the_inbox(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    heard h = {.by_hand_count = 0};
    for (uint64_t n = 1;; n++) {
        mica_error_clear();
        test_allocator_fail_at(&allocator, n);
        const bool listens = mi_inbox_listen(world, hear, &h);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_true(listens);
            break;
        }
        assert_false(listens);
        assert_int_equal(mica_last_result(), MICA_OK);
    }
    mica_register(world, Message);
    assert_int_equal(mica_post(mica_world_inbox(world), Message, {3, 0}), MICA_OK);
    assert_int_equal(mica_inbox_drain(world), 1);
    assert_string_equal(h.text, "Message3 ");
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
}

// Many threads post while the world's thread ticks.

enum { PRODUCER_COUNT = 6, MESSAGE_COUNT = 1000 };

typedef struct producer {
    pthread_t thread;
    mica_inbox *inbox;
    int32_t number;
    int32_t refused_count;
    bool failed;
} producer;

// Every other one by a descriptor of its own, which the schema is asked for each time.
static void *produce(void *user) {
    producer *p = user;
    mica_type own = {.name = "Message", .size = sizeof(Message), .align = _Alignof(Message)};
    mica_type *type = p->number % 2 == 0 ? mica_type_of(Message) : &own;
    for (int32_t i = 0; i < MESSAGE_COUNT && !p->failed;) {
        const mica_result result = mica_inbox_post_type(p->inbox, type, &(Message){p->number, i});
        i += result == MICA_OK;
        if (result == MICA_LIMIT) {
            p->refused_count++;
            sched_yield();
        }
        p->failed = result != MICA_OK && (result != MICA_LIMIT || mica_last_result() != MICA_LIMIT);
    }
    return NULL;
}

typedef struct consumer {
    int32_t next[PRODUCER_COUNT];
    int32_t count;
    bool wrong;
} consumer;

static void consume(mica_run *run) {
    consumer *c = mica_run_user(run);
    mica_event_reader *messages = mica_run_events(run, Message);
    for (const Message *message; (message = mica_next_event(messages, Message)) != NULL;) {
        const bool is_known = message->producer >= 0 && message->producer < PRODUCER_COUNT;
        c->wrong |= !is_known || message->number != c->next[message->producer];
        if (is_known) {
            c->next[message->producer]++;
        }
        c->count++;
    }
}

static void start_consuming(mica_run *run) {
    mica_run_events(run, Message);
}

static void many_threads_post_while_the_world_ticks(void **state) {
    (void)state;
    mica_world *world = mica_world_create(&(mica_world_def){.inbox_message_limit = 50});
    mica_register(world, Message);
    consumer c = {.count = 0};
    mica_system_add(world, &(mica_system_def){.name = "consume", .run = consume, .start = start_consuming, .user = &c});
    mica_inbox *inbox = mica_world_inbox(world);
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // the reader is there
    producer producers[PRODUCER_COUNT];
    for (int32_t i = 0; i < PRODUCER_COUNT; i++) {
        producers[i] = (producer){.inbox = inbox, .number = i};
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
    for (int32_t i = 0; c.count < PRODUCER_COUNT * MESSAGE_COUNT; i++) {
        char name[24];
        snprintf(name, sizeof(name), "Late%d", (int)(i % 100)); // the schema grows meanwhile
        assert_int_not_equal(mica_world_register(world, &(mica_type){.name = name, .size = 4, .align = 4}), 0);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        const mica_inbox_stats stats = mica_inbox_statistics(inbox);
        assert_true(stats.waiting_count <= 50 && stats.most_waiting_count <= 50);
    }
    uint64_t refused_count = 0;
    for (int32_t i = 0; i < PRODUCER_COUNT; i++) {
        assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
        assert_false(producers[i].failed);
        assert_int_equal(c.next[i], MESSAGE_COUNT);
        refused_count += (uint64_t)producers[i].refused_count;
    }
    assert_false(c.wrong);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(c.count, PRODUCER_COUNT * MESSAGE_COUNT);
    const mica_inbox_stats stats = mica_inbox_statistics(inbox);
    assert_int_equal(stats.posted_count, PRODUCER_COUNT * MESSAGE_COUNT);
    assert_int_equal(stats.drained_count, PRODUCER_COUNT * MESSAGE_COUNT);
    assert_int_equal(stats.refused_count, refused_count);
    mica_world_destroy(world);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(messages_are_events_of_the_tick_that_begins),
        CASE(messages_of_all_types_are_drained_by_hand_in_order),
        CASE(a_full_inbox_refuses_and_counts),
        CASE(what_cannot_be_posted_is_refused_without_touching_the_schema),
        CASE(another_descriptor_of_a_known_name_is_found),
        CASE(posting_allocates_nothing),
        CASE(messages_stay_when_memory_runs_out),
        CASE(who_listens_is_told_of_all_messages_in_order),
        cmocka_unit_test(listening_makes_the_inbox),
        cmocka_unit_test(a_world_without_an_inbox_drains_nothing),
        cmocka_unit_test(many_threads_post_while_the_world_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
