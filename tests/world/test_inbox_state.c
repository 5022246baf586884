// The inbox as state: what waits is what waited, in its order, whoever posts meanwhile.
#include "world/inbox.h"
#include "world/part_world.h"

#include <stdio.h>

#include <pthread.h>

MICA_STRUCT(Message, {
    uint8_t kind;
    int32_t number;
});
MICA_STRUCT(Packet, { uint8_t bytes[5]; });
MICA_TAG(Ping);
MICA_STRUCT(Alpha, { int32_t number; });

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_world *world;
    mica_inbox *inbox;
    mi_record record;
    char heard[256];
} fixture;

static void hear(mica_world *world, const mi_type *type, const void *value, bool begins_tick, void *user) {
    (void)world;
    (void)begins_tick;
    fixture *f = user;
    int32_t number = 0;
    if (type->info.size == sizeof(Message)) {
        memcpy(&number, (const uint8_t *)value + offsetof(Message, number), sizeof(number));
    } else if (type->info.size == sizeof(Packet)) {
        number = ((const Packet *)value)->bytes[0];
    }
    const size_t length = strlen(f->heard);
    snprintf(f->heard + length, sizeof(f->heard) - length, "%s%d ", type->info.name, (int)number);
}

static void register_types(mica_world *world) {
    mica_register(world, Message);
    mica_register(world, Packet);
    mica_register(world, Ping);
}

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.world = NULL};
    test_heap_begin(&f.allocator, &f.heap);
    f.world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&f.allocator), .inbox_message_limit = 8, .inbox_byte_limit = 64});
    assert_non_null(f.world);
    f.record = part_record(&f.heap);
    register_types(f.world);
    f.inbox = mica_world_inbox(f.world);
    assert_true(mi_inbox_listen(f.world, hear, &f));
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_record_free(&f->record);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_world_destroy(f->world);
    test_allocator_finish(&f->allocator);
    return 0;
}

static void save(fixture *f) {
    mi_record_free(&f->record);
    assert_int_equal(part_save(f->world, &mi_inbox_part, &f->record), MICA_OK);
}

static void load(const fixture *f) {
    assert_int_equal(part_load(f->world, &mi_inbox_part, &f->record), MICA_OK);
}

static void post_some(const fixture *f) {
    assert_int_equal(mica_post(f->inbox, Packet, {{7}}), MICA_OK);
    assert_int_equal(mica_post(f->inbox, Message, {1, 8}), MICA_OK); // lies behind five bytes
    assert_int_equal(mica_post(f->inbox, Message, {1, 9}), MICA_OK);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
}

static void what_waits_is_what_waited(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
    assert_int_equal(mica_inbox_drain(f->world), 5);
    assert_int_equal(mica_post(f->inbox, Message, {1, 100}), MICA_OK);
    for (int32_t i = 0; i < 3; i++) { // as often as wanted
        load(f);
        assert_int_equal(mica_inbox_statistics(f->inbox).waiting_count, 4);
        assert_int_equal(mica_inbox_statistics(f->inbox).waiting_byte_size, sizeof(Packet) + 2 * sizeof(Message));
        f->heard[0] = 0;
        assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
        assert_string_equal(f->heard, "Packet7 Message8 Message9 Ping0 ");
    }
}

static void the_initial_state_is_empty(void **state) {
    const fixture *f = *state;
    post_some(f);
    assert_int_equal(part_load(f->world, &mi_inbox_part, NULL), MICA_OK);
    assert_int_equal(mica_inbox_drain(f->world), 0);
}

static void what_memory_has_left_waits_in_front(void **state) {
    fixture *f = *state;
    mica_event_reader *messages = mica_reader_of(f->world, Message, NULL);
    mica_event_reader *packets = mica_reader_of(f->world, Packet, NULL);
    assert_int_equal(mica_inbox_drain(f->world), 0);
    mica_post(f->inbox, Message, {1, 1});
    mica_post(f->inbox, Packet, {{2}});
    test_allocator_fail_at(&f->allocator, 3); // the message takes two, the packet gets none
    assert_int_equal(mica_inbox_drain(f->world), -1);
    assert_true(test_allocator_fail_stop(&f->allocator));
    mica_post(f->inbox, Message, {1, 3});
    save(f);
    assert_int_equal(mica_inbox_drain(f->world), 2);
    load(f);
    assert_true(part_is(f->world, &mi_inbox_part, &f->record));
    f->heard[0] = 0;
    assert_int_equal(mica_inbox_drain(f->world), 2);
    assert_string_equal(f->heard, "Packet2 Message3 ");
    mica_event_reader_destroy(messages);
    mica_event_reader_destroy(packets);
}

static void restored_messages_count_for_the_limits(void **state) {
    fixture *f = *state;
    post_some(f);
    post_some(f);
    save(f);
    assert_int_equal(mica_inbox_drain(f->world), 8);
    load(f);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_LIMIT);
    assert_int_equal(mica_inbox_drain(f->world), 8);
    assert_int_equal(mica_post_tag(f->inbox, Ping), MICA_OK);
}

static void a_record_is_good_for_another_world(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    mica_world *other = mica_world_create(NULL);
    mica_register(other, Alpha);
    register_types(other);
    assert_null(mi_inbox_find(other));
    assert_int_equal(part_load(other, &mi_inbox_part, &f->record), MICA_OK);
    assert_true(part_is(other, &mi_inbox_part, &f->record));
    mica_event_reader *messages = mica_reader_of(other, Message, NULL);
    assert_int_equal(mica_world_step(other, 1), MICA_OK);
    assert_int_equal(mica_next_event(messages, Message)->number, 8);
    mica_world_destroy(other);
}

static void an_inbox_without_room_refuses(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    const mica_world_def defs[] = {{.inbox_message_limit = 3}, {.inbox_byte_limit = 20}};
    for (size_t i = 0; i < 2; i++) {
        mica_world *other = mica_world_create(&defs[i]);
        register_types(other);
        assert_int_equal(part_load(other, &mi_inbox_part, &f->record), MICA_LIMIT);
        assert_int_equal(mica_inbox_drain(other), 0);
        mica_world_destroy(other);
    }
}

static void a_world_without_messages_needs_no_inbox(void **state) {
    fixture *f = *state;
    save(f);
    mica_world *other = mica_world_create(NULL);
    assert_int_equal(part_load(other, &mi_inbox_part, &f->record), MICA_OK);
    assert_null(mi_inbox_find(other));
    assert_true(part_is(other, &mi_inbox_part, &f->record));
    mica_world_destroy(other);
}

static void post_and_drain(void *user) {
    fixture *f = user;
    f->heard[0] = 0;
    mica_post_tag(f->inbox, Ping);
    assert_true(mica_inbox_drain(f->world) >= 0);
    assert_int_equal(mica_inbox_statistics(f->inbox).waiting_count, 0);
}

static void records_from_outside_stand_every_cut_and_change(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    part_assert_stands_all(&(part_outside){
        .world = f->world, .part = &mi_inbox_part, .record = &f->record, .use = post_and_drain, .user = f});
}

static void every_lack_of_memory_leaves_everything_as_it_was(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    mica_inbox_drain(f->world);
    mica_post_tag(f->inbox, Ping);
    part_assert_stands_lack(f->world, &mi_inbox_part, &f->record, &f->allocator);
}

static void making_the_inbox_stands_every_lack_of_memory(void **state) {
    fixture *f = *state;
    post_some(f);
    save(f);
    mica_world *other = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
    register_types(other);
    part_assert_stands_lack(other, &mi_inbox_part, &f->record, &f->allocator);
    mica_world_destroy(other);
}

// Saving and restoring while somebody posts

enum { MESSAGE_COUNT = 2000 };

static void *produce(void *user) {
    fixture *f = user;
    for (int32_t i = 0; i < MESSAGE_COUNT; i++) {
        mica_post(f->inbox, Message, {1, i});
    }
    return NULL;
}

static void saving_and_restoring_stand_threads_that_post(void **state) {
    fixture *f = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, f), 0);
    for (int32_t i = 0; i < 200; i++) {
        save(f);
        load(f);
        assert_true(mica_inbox_statistics(f->inbox).waiting_count <= 8);
        f->heard[0] = 0;
        assert_true(mica_inbox_drain(f->world) >= 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    mica_inbox_drain(f->world);
    post_some(f);
    save(f);
    load(f);
    f->heard[0] = 0;
    assert_int_equal(mica_inbox_drain(f->world), 4);
    assert_string_equal(f->heard, "Packet7 Message8 Message9 Ping0 ");
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_waits_is_what_waited),
        CASE(the_initial_state_is_empty),
        CASE(what_memory_has_left_waits_in_front),
        CASE(restored_messages_count_for_the_limits),
        CASE(a_record_is_good_for_another_world),
        CASE(an_inbox_without_room_refuses),
        CASE(a_world_without_messages_needs_no_inbox),
        CASE(records_from_outside_stand_every_cut_and_change),
        CASE(every_lack_of_memory_leaves_everything_as_it_was),
        CASE(making_the_inbox_stands_every_lack_of_memory),
        CASE(saving_and_restoring_stand_threads_that_post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
