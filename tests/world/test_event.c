// Events: who is told of what in which order, what readers see and miss, and what becomes of the values.
#include "support/test_random.h"
#include "support/test_said.h"
#include "world/ledger.h"

#include "support/test_allocator.h"

#include <mica/mica.h>

#include <stdio.h>
#include <string.h>

MICA_STRUCT(Hit, { int32_t damage; });
MICA_STRUCT(Other, { int32_t number; });
MICA_STRUCT(Named, { mica_entity who; });
MICA_TAG(Bell);
MICA_STRUCT(Huge, {
    _Alignas(4096) int32_t number;
    int32_t pad[1023];
});

// What handlers were told: a letter for the handler and the number of the event.
typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    char heard[512];
    char logged[512];
    int32_t logged_count;
    mica_event_handler first, second;
    mica_event_reader *reader;
} fixture;

static void keep_line(void *user, mica_log_level level, const char *text) {
    fixture *f = user;
    if (level == MICA_LOG_WARNING) {
        snprintf(f->logged, sizeof(f->logged), "%s", text);
        f->logged_count++;
    }
}

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.world = NULL};
    ledger_start();
    test_allocator_init(&f.allocator);
    f.world =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator), .log = {keep_line, &f}});
    assert_non_null(f.world);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    assert_string_equal(mica_world_validate(f->world) == MICA_OK ? "" : mica_last_error(), "");
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

static void assert_logged(const fixture *f, const char *words) {
    assert_says(f->logged, words);
}

static void hear(fixture *f, char who, int32_t number) {
    const size_t length = strlen(f->heard);
    snprintf(f->heard + length, sizeof(f->heard) - length, "%c%d ", who, (int)number);
}

static void hear_a(const mica_event *event) {
    hear(event->user, 'a', mica_event_value(event, Hit)->damage);
}

static void hear_b(const mica_event *event) {
    hear(event->user, 'b', mica_event_value(event, Hit)->damage);
}

// The numbers that a reader has waiting, as text.
static const char *read_all(mica_event_reader *reader) {
    static char text[512];
    size_t length = 0;
    text[0] = '\0';
    for (const Hit *hit; (hit = mica_next_event(reader, Hit)) != NULL;) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%d ", (int)hit->damage);
    }
    return text;
}

static mica_event_stats stats_of(mica_world *world, mica_type *type) {
    mica_event_stats stats;
    assert_int_equal(mica_event_statistics(world, mica_world_component(world, type), &stats), MICA_OK);
    return stats;
}

static void send_numbers(mica_world *world, int32_t first, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(mica_send(world, Hit, {first + i}), MICA_OK);
    }
}

static void step(mica_world *world) {
    assert_int_equal(mica_world_step(world, 0.01f), MICA_OK);
}

// Triggers, deliveries, handlers

static void a_trigger_calls_handlers_at_once_in_order_of_binding(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    mica_on_event(f->world, Hit, hear_b, f);
    mica_on_event(f->world, Hit, hear_a, f);
    assert_int_equal(mica_trigger(f->world, Hit, {3}), MICA_OK);
    assert_string_equal(f->heard, "b3 a3 ");
    assert_int_equal(mica_event_reader_count(reader), 0);
    assert_int_equal(mica_deliver(f->world, Hit), 0);
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).triggered_count, 1);
}

static void a_delivery_tells_all_handlers_of_an_event_before_the_next(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, hear_a, f);
    mica_on_event(f->world, Hit, hear_b, f);
    send_numbers(f->world, 1, 2);
    assert_string_equal(f->heard, "");
    assert_int_equal(mica_deliver(f->world, Hit), 2);
    assert_string_equal(f->heard, "a1 b1 a2 b2 ");
    assert_int_equal(mica_deliver(f->world, Hit), 0);
    send_numbers(f->world, 3, 1);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_string_equal(f->heard, "a1 b1 a2 b2 a3 b3 ");
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).delivered_count, 3);
}

static void ring(const mica_event *event) {
    fixture *f = event->user;
    assert_null(event->value);
    hear(f, 'r', (int32_t)event->component);
}

static void tags_are_events_without_a_value(void **state) {
    fixture *f = *state;
    const mica_component bell = mica_register(f->world, Bell);
    mica_event_reader *reader = mica_reader_of(f->world, Bell, NULL);
    mica_on_event(f->world, Bell, ring, f);
    assert_int_equal(mica_trigger_tag(f->world, Bell), MICA_OK);
    assert_int_equal(mica_send_tag(f->world, Bell), MICA_OK);
    assert_int_equal(mica_send_tag(f->world, Bell), MICA_OK);
    assert_int_equal(mica_deliver(f->world, Bell), 2);
    char expected[64];
    snprintf(expected, sizeof(expected), "r%d r%d r%d ", bell, bell, bell);
    assert_string_equal(f->heard, expected);
    assert_true(mica_next_tag_event(reader, Bell));
    assert_true(mica_next_tag_event(reader, Bell));
    assert_false(mica_next_tag_event(reader, Bell));
}

static void send_the_next(const mica_event *event) {
    fixture *f = event->user;
    const int32_t number = mica_event_value(event, Hit)->damage;
    hear(f, 's', number);
    assert_int_equal(mica_send(event->world, Hit, {number + 10}), MICA_OK);
}

static void what_handlers_send_is_for_the_next_delivery(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, send_the_next, f);
    send_numbers(f->world, 1, 2);
    assert_int_equal(mica_deliver(f->world, Hit), 2);
    assert_string_equal(f->heard, "s1 s2 ");
    assert_int_equal(mica_deliver(f->world, Hit), 2);
    assert_string_equal(f->heard, "s1 s2 s11 s12 ");
}

static void unbind_the_second(const mica_event *event) {
    fixture *f = event->user;
    hear_a(event);
    mica_event_unbind(event->world, f->second);
    mica_event_unbind(event->world, event->handler);
    f->first = mica_on_event(event->world, Hit, hear_b, f);
}

static void handlers_come_and_go_during_a_delivery(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, unbind_the_second, f);
    f->second = mica_on_event(f->world, Hit, hear_b, f);
    send_numbers(f->world, 1, 3);
    assert_int_equal(mica_deliver(f->world, Hit), 3);
    assert_string_equal(f->heard, "a1 b2 b3 "); // the second is silent at once, the new one hears the next event
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).handler_count, 1);
    assert_int_equal(mica_event_unbind(f->world, f->second), MICA_UNKNOWN);
    assert_int_equal(mica_event_unbind(f->world, f->first), MICA_OK);
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).handler_count, 0);
}

static void unbind_itself(const mica_event *event) {
    hear_a(event);
    assert_int_equal(mica_event_unbind(event->world, event->handler), MICA_OK);
}

static void what_nobody_bound_is_left_for_is_not_delivered(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, unbind_itself, f);
    send_numbers(f->world, 1, 2);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_int_equal(mica_deliver(f->world, Hit), 0);
    mica_on_event(f->world, Hit, hear_b, f); // hears what is sent from now on
    send_numbers(f->world, 3, 1);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_string_equal(f->heard, "a1 b3 ");
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).missed_count, 0);
}

static void spawn_one(const mica_event *event) {
    fixture *f = event->user;
    mica_world *world = event->world;
    assert_true(mica_entity_is_null(mica_create(world)));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    mica_spawn(event->commands, mica_value_of(Hit, {mica_event_value(event, Hit)->damage}));
    hear(f, 'n', mica_world_entity_count(world));
}

static void what_handlers_record_is_applied_when_the_delivery_has_ended(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, spawn_one, f);
    send_numbers(f->world, 1, 2);
    assert_int_equal(mica_deliver(f->world, Hit), 2);
    assert_string_equal(f->heard, "n0 n0 ");
    assert_int_equal(mica_world_entity_count(f->world), 2);
    assert_int_equal(mica_trigger(f->world, Hit, {3}), MICA_OK);
    assert_int_equal(mica_world_entity_count(f->world), 3);
    mica_each (mica_query_of(f->world, mica_read(Hit)), it) {
        assert_int_equal(mica_trigger(f->world, Hit, {4}), MICA_OK);
        assert_int_equal(mica_world_entity_count(f->world), 3); // the walk locks structure
    }
    assert_int_equal(mica_world_entity_count(f->world), 4);
}

static void trigger_again(const mica_event *event) {
    fixture *f = event->user;
    f->logged_count++;
    const int32_t depth = mica_event_value(event, Hit)->damage;
    const mica_result result = mica_trigger(event->world, Hit, {depth + 1});
    assert_int_equal(result, depth < (int32_t)MICA_EVENT_DEPTH_MAX ? MICA_OK : MICA_LIMIT);
}

static void runaway_triggers_are_cut_off_with_the_name_of_the_type(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, trigger_again, f);
    assert_int_equal(mica_trigger(f->world, Hit, {1}), MICA_OK);
    assert_int_equal(f->logged_count, MICA_EVENT_DEPTH_MAX);
    assert_said("Hit");
    assert_false(mica_entity_is_null(mica_create(f->world))); // structure is free again
}

static void deliver_both(const mica_event *event) {
    assert_int_equal(mica_deliver(event->world, Hit), -1);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_said("Hit");
    hear_a(event);
    assert_int_equal(mica_deliver(event->world, Other), 1);
}

static void hear_other(const mica_event *event) {
    hear(event->user, 'o', mica_event_value(event, Other)->number);
}

static void a_delivery_may_deliver_other_types_inside(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, deliver_both, f);
    mica_on_event(f->world, Other, hear_other, f);
    assert_int_equal(mica_send(f->world, Other, {7}), MICA_OK);
    send_numbers(f->world, 1, 1);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_string_equal(f->heard, "a1 o7 ");
}

static void end_the_world(const mica_event *event) {
    mica_world_destroy(event->world);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_world_step(event->world, 1), MICA_LOCKED);
    hear_a(event);
}

static void make_at_once(const mica_event *event) {
    assert_true(mica_entity_is_null(mica_create(event->world)));
    assert_non_null(strstr(mica_last_error(), "a handler that mica_event_trigger calls"));
    assert_non_null(strstr(mica_last_error(), "the event's commands"));
    hear_a(event);
}

static void a_handler_that_changes_structure_is_told_where_to_record_it(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, make_at_once, f);
    assert_int_equal(mica_trigger(f->world, Hit, {1}), MICA_OK);
    assert_string_equal(f->heard, "a1 ");
}

static void a_handler_cannot_end_the_world_or_step_it(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, end_the_world, f);
    assert_int_equal(mica_trigger(f->world, Hit, {1}), MICA_OK);
    assert_string_equal(f->heard, "a1 ");
}

// Observers and events

static void send_removed(const mica_signal *signal) {
    assert_int_equal(mica_send(signal->world, Hit, {mica_signal_value(signal, Other)->number}), MICA_OK);
}

static void trigger_hit(const mica_signal *signal) {
    assert_int_equal(mica_trigger(signal->world, Hit, {mica_signal_value(signal, Other)->number}), MICA_OK);
}

static void what_handlers_record_below_an_observer_is_applied_after_its_verb(void **state) {
    fixture *f = *state;
    mica_on_set(f->world, Other, trigger_hit, NULL);
    mica_on_event(f->world, Hit, spawn_one, f);
    mica_spawn(f->world, mica_value_of(Other, {5}));
    assert_string_equal(f->heard, "n1 ");
    assert_int_equal(mica_query_count(mica_query_of(f->world, mica_read(Hit))), 1);
}

static void spawn_other(const mica_event *event) {
    mica_spawn(event->commands, mica_value_of(Other, {mica_event_value(event, Hit)->damage + 1}));
}

static void chains_of_observers_and_handlers_are_cut_off(void **state) {
    const fixture *f = *state;
    mica_on_set(f->world, Other, trigger_hit, NULL);
    mica_on_event(f->world, Hit, spawn_other, NULL);
    assert_false(mica_entity_is_null(mica_spawn(f->world, mica_value_of(Other, {0}))));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("Other");
    assert_in_range(mica_world_entity_count(f->world), 10, 100);
    assert_int_equal(mica_world_statistics(f->world).reaction_dropped_count, 1);
}

// Readers

static void each_reader_sees_every_event_once_at_its_own_pace(void **state) {
    fixture *f = *state;
    mica_event_reader *quick = mica_reader_of(f->world, Hit, "quick");
    mica_event_reader *slow = mica_reader_of(f->world, Hit, "slow");
    send_numbers(f->world, 1, 2);
    assert_string_equal(read_all(quick), "1 2 ");
    send_numbers(f->world, 3, 1);
    mica_event_reader *late = mica_reader_of(f->world, Hit, "late");
    assert_string_equal(read_all(quick), "3 ");
    assert_string_equal(read_all(quick), "");
    assert_string_equal(read_all(slow), "1 2 3 ");
    assert_string_equal(read_all(slow), "");
    assert_string_equal(read_all(late), ""); // hears what is sent from its making on
    assert_int_equal(mica_event_reader_statistics(slow).seen_count, 3);
    assert_string_equal(mica_event_reader_statistics(slow).name, "slow");
}

static void stopping_early_keeps_the_rest(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_numbers(f->world, 1, 10);
    int32_t seen = 0;
    while (seen < 3 && mica_next_event(reader, Hit) != NULL) {
        seen++;
    }
    step(f->world);
    assert_int_equal(mica_event_reader_count(reader), 7);
    assert_string_equal(read_all(reader), "4 5 6 7 8 9 10 ");
}

static void asking_whether_events_wait_consumes_none(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_numbers(f->world, 1, 1);
    assert_int_equal(mica_event_reader_count(reader), 1);
    step(f->world);
    assert_int_equal(mica_event_reader_count(reader), 1); // until it is read
    assert_string_equal(read_all(reader), "1 ");
    assert_int_equal(mica_event_reader_count(reader), 0);
    step(f->world);
    assert_int_equal(mica_event_reader_count(reader), 0);
}

static void read_as_system(mica_run *run) {
    fixture *f = mica_run_user(run);
    mica_event_reader *hits = mica_run_events(run, Hit);
    for (const Hit *hit; (hit = mica_next_event(hits, Hit)) != NULL;) {
        hear(f, 'h', hit->damage);
    }
}

static void start_reading(mica_run *run) {
    assert_non_null(mica_run_events(run, Hit));
}

// A writer each frame, a reader at a fixed step: many frames a step, then many steps a frame.
static void a_fixed_step_reader_sees_each_event_once(void **state) {
    fixture *f = *state;
    mica_system_add(f->world,
                    &(mica_system_def){.name = "read", .run = read_as_system, .start = start_reading, .user = f});
    step(f->world);
    for (int32_t i = 0; i < 40; i++) {
        send_numbers(f->world, i, 1);
        assert_true(mica_world_advance(f->world, 0.001) >= 0);
    }
    for (int32_t i = 40; i < 45; i++) {
        send_numbers(f->world, i, 1);
        assert_int_equal(mica_world_advance(f->world, 0.1), 6);
    }
    char expected[512] = "";
    for (int32_t i = 0; i < 45; i++) {
        const size_t length = strlen(expected);
        snprintf(expected + length, sizeof(expected) - length, "h%d ", (int)i);
    }
    assert_string_equal(f->heard, expected);
}

static void removals_told_by_an_observer_reach_a_fixed_step_reader_once(void **state) {
    fixture *f = *state;
    mica_on_removed(f->world, Other, send_removed, NULL);
    mica_system_add(f->world,
                    &(mica_system_def){.name = "read", .run = read_as_system, .start = start_reading, .user = f});
    step(f->world);
    for (int32_t i = 0; i < 6; i++) { // several frames a step, then several steps a frame
        assert_int_equal(mica_destroy(f->world, mica_spawn(f->world, mica_value_of(Other, {i}))), MICA_OK);
        assert_true(mica_world_advance(f->world, i < 4 ? 0.005 : 0.05) >= 0);
    }
    assert_string_equal(f->heard, "h0 h1 h2 h3 h4 h5 ");
}

static void send_as_system(mica_run *run) {
    const int32_t first = *(const int32_t *)mica_run_user(run);
    mica_send(mica_run_world(run), Hit, {first});
}

static void systems_send_in_the_order_of_the_plan(void **state) {
    fixture *f = *state;
    int32_t one = 1;
    int32_t two = 2;
    const mica_system_def defs[] = {
        {.name = "read", .run = read_as_system, .start = start_reading, .user = f, .stage = MICA_FIRST},
        {.name = "two", .run = send_as_system, .user = &two, .after = {"one"}},
        {.name = "one", .run = send_as_system, .user = &one},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        assert_int_not_equal(mica_system_add(f->world, &defs[i]).id, 0);
    }
    step(f->world);
    step(f->world);
    assert_string_equal(f->heard, "h1 h2 ");
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).waiting_count, 2);
    const mica_event_stats stats = stats_of(f->world, mica_type_of(Hit));
    assert_int_equal(stats.reader_count, 1);
    assert_int_equal(mica_system_remove(f->world, mica_system_find(f->world, "read")), MICA_OK);
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).reader_count, 0); // ended with its system
}

static void end_own_reader(mica_run *run) {
    fixture *f = mica_run_user(run);
    f->reader = mica_run_events(run, Hit);
    assert_ptr_equal(mica_run_events(run, Hit), f->reader);
    assert_string_equal(mica_event_reader_statistics(f->reader).name, "ends");
    mica_event_reader_destroy(f->reader);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void the_reader_of_a_system_is_not_the_programs_to_end(void **state) {
    fixture *f = *state;
    mica_system_add(f->world, &(mica_system_def){.name = "ends", .run = end_own_reader, .user = f});
    step(f->world);
    assert_int_equal(mica_event_reader_count(f->reader), 0);
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).reader_count, 1);
}

static void record_in_a_system(mica_run *run) {
    fixture *f = mica_run_user(run);
    assert_int_equal(mica_trigger(mica_run_world(run), Hit, {1}), MICA_OK);
    hear(f, 'c', mica_commands_count(mica_run_commands(run)));
}

static void handlers_in_a_system_record_into_its_buffer(void **state) {
    fixture *f = *state;
    mica_on_event(f->world, Hit, spawn_one, f);
    mica_system_add(
        f->world,
        &(mica_system_def){.name = "record", .run = record_in_a_system, .access = {mica_writes(Hit)}, .user = f});
    step(f->world);
    assert_string_equal(f->heard, "n0 c1 ");
    assert_int_equal(mica_world_entity_count(f->world), 1);
}

static void spans_hand_out_runs_of_aligned_values(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    mica_event_reader *huge = mica_reader_of(f->world, Huge, NULL);
    send_numbers(f->world, 0, 5000);
    int32_t count = 0;
    int32_t seen = 0;
    int32_t span_count = 0;
    for (const Hit *hits; (hits = mica_next_events(reader, Hit, &count)) != NULL; seen += count) {
        for (int32_t i = 0; i < count; i++) {
            assert_int_equal(hits[i].damage, seen + i);
        }
        span_count++;
    }
    assert_int_equal(seen, 5000);
    assert_int_equal(count, 0);
    assert_in_range(span_count, 2, 50);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_send(f->world, Huge, {i, {0}}), MICA_OK);
    }
    for (int32_t i = 0; i < 3; i++) {
        const Huge *value = mica_next_event(huge, Huge);
        assert_int_equal((uintptr_t)value % 4096, 0);
        assert_int_equal(value->number, i);
    }
    send_numbers(f->world, 0, 10);
    assert_non_null(mica_event_reader_span(reader, NULL, 4, &count));
    assert_int_equal(count, 4);
    assert_int_equal(mica_event_reader_count(reader), 6);
}

static void what_a_reader_was_handed_stays_until_its_next_call(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    assert_int_equal(mica_event_set_limits(f->world, mica_register(f->world, Hit), 0, 3), MICA_OK);
    send_numbers(f->world, 1, 1);
    const Hit *held = mica_next_event(reader, Hit);
    send_numbers(f->world, 2, 3000); // memory is used again many times over, and most of these are dropped
    assert_int_equal(held->damage, 1);
    assert_string_equal(read_all(reader), "2999 3000 3001 ");
}

static void reading_another_type_is_refused(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, "hits");
    send_numbers(f->world, 1, 1);
    assert_null(mica_next_event(reader, Other));
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
    assert_said("hits");
    assert_said("Other");
    assert_string_equal(read_all(reader), "1 ");
}

// What is kept

static void events_without_anybody_to_hear_are_counted_and_not_kept(void **state) {
    const fixture *f = *state;
    send_numbers(f->world, 1, 100);
    const size_t bytes = mica_world_memory(f->world).bytes[MICA_MEMORY_EVENTS];
    send_numbers(f->world, 1, 10000);
    const mica_event_stats stats = stats_of(f->world, mica_type_of(Hit));
    assert_int_equal(stats.sent_count, 10100);
    assert_int_equal(stats.unheard_count, 10100);
    assert_int_equal(stats.waiting_count, 0);
    assert_int_equal(mica_world_memory(f->world).bytes[MICA_MEMORY_EVENTS], bytes);
}

static void events_are_kept_through_a_set_number_of_ticks(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, "sleeper");
    mica_event_reader *awake = mica_reader_of(f->world, Hit, "awake");
    mica_on_event(f->world, Hit, hear_a, f);
    assert_int_equal(mica_event_set_limits(f->world, mica_register(f->world, Hit), 3, 0), MICA_OK);
    send_numbers(f->world, 1, 2);
    step(f->world);
    send_numbers(f->world, 3, 1);
    assert_string_equal(read_all(awake), "1 2 3 ");
    step(f->world);
    step(f->world);
    assert_int_equal(mica_event_reader_count(reader), 3);
    assert_int_equal(f->logged_count, 0);
    step(f->world);                       // the fourth tick after 1 and 2 were sent
    assert_int_equal(f->logged_count, 2); // the reader and the deliveries, once each
    assert_string_equal(read_all(reader), "3 ");
    assert_int_equal(mica_event_reader_statistics(reader).missed_count, 2);
    assert_int_equal(mica_event_reader_statistics(awake).missed_count, 0);
    assert_int_equal(mica_deliver(f->world, Hit), 1);
    assert_string_equal(f->heard, "a3 ");
    assert_int_equal(stats_of(f->world, mica_type_of(Hit)).missed_count, 4);
    step(f->world);
    assert_int_equal(f->logged_count, 2);
}

static void what_a_reader_misses_is_said_with_type_and_number(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, "sleeper");
    send_numbers(f->world, 1, 5);
    for (uint32_t i = 0; i < MICA_EVENT_TICKS_DEFAULT; i++) {
        step(f->world);
    }
    assert_int_equal(f->logged_count, 0);
    step(f->world);
    assert_int_equal(f->logged_count, 1);
    assert_logged(f, "sleeper");
    assert_logged(f, "Hit");
    assert_logged(f, " 5 ");
    assert_string_equal(read_all(reader), "");
}

static void too_many_events_drop_the_oldest_and_say_so(void **state) {
    const fixture *f = *state;
    const mica_component hit = mica_register(f->world, Hit);
    mica_event_reader *reader = mica_reader_of(f->world, Hit, "sleeper");
    assert_int_equal(mica_event_set_limits(f->world, hit, 0, 4), MICA_OK);
    send_numbers(f->world, 1, 10);
    assert_int_equal(mica_event_reader_count(reader), 4);
    assert_string_equal(read_all(reader), "7 8 9 10 ");
    assert_int_equal(f->logged_count, 1);
    assert_logged(f, " 6 ");
    send_numbers(f->world, 11, 4); // it has seen the others: there is room
    assert_int_equal(mica_event_set_limits(f->world, hit, 0, 1), MICA_OK);
    assert_string_equal(read_all(reader), "14 ");
    assert_int_equal(mica_event_reader_statistics(reader).missed_count, 9);
}

static size_t event_bytes(const mica_world *world) {
    return mica_world_memory(world).bytes[MICA_MEMORY_EVENTS];
}

static void a_reader_that_is_never_read_keeps_no_more_than_the_limit_says(void **state) {
    const fixture *f = *state;
    const mica_component hit = mica_register(f->world, Hit);
    mica_event_reader *reader = mica_reader_of(f->world, Hit, "sleeper");
    assert_int_equal(mica_event_set_limits(f->world, hit, 0, 100), MICA_OK);
    send_numbers(f->world, 0, 1000);
    const size_t bytes = event_bytes(f->world);
    send_numbers(f->world, 1000, 50000);
    assert_int_equal(event_bytes(f->world), bytes);
    assert_int_equal(mica_event_reader_count(reader), 100);
    assert_int_equal(mica_next_event(reader, Hit)->damage, 50900);
}

static void trimming_gives_back_pages_that_no_event_is_in(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    const size_t bytes = event_bytes(f->world);
    send_numbers(f->world, 0, 5000);
    for (int32_t i = 0; i < 4999; i++) {
        assert_int_equal(mica_next_event(reader, Hit)->damage, i);
    }
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    assert_in_range(event_bytes(f->world), bytes + 1, bytes + 4096); // two events: one was handed out last
    assert_string_equal(read_all(reader), "4999 ");
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    assert_int_equal(event_bytes(f->world), bytes);
    send_numbers(f->world, 1, 2);
    assert_string_equal(read_all(reader), "1 2 ");
}

static void clearing_the_world_keeps_events(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    send_numbers(f->world, 1, 2);
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    assert_string_equal(read_all(reader), "1 2 ");
}

// A reader that is up to date, and one that lags three ticks behind.
static void traffic_that_is_alike_allocates_nothing(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Hit, NULL);
    mica_event_reader *lags = mica_reader_of(f->world, Other, NULL);
    uint64_t calls = 0;
    for (int32_t i = 0; i < 2000; i++) {
        step(f->world);
        send_numbers(f->world, 0, 7);
        for (int32_t k = 0; k < 40; k++) {
            assert_int_equal(mica_send(f->world, Other, {i * 40 + k}), MICA_OK);
        }
        for (int32_t k = 0; k < 7; k++) {
            assert_non_null(mica_next_event(reader, Hit));
        }
        for (int32_t k = 0; k < 40 && i >= 3; k++) {
            assert_int_equal(mica_next_event(lags, Other)->number, (i - 3) * 40 + k);
        }
        calls = i == 60 ? f->allocator.call_count : calls;
    }
    assert_int_equal(f->allocator.call_count, calls);
}

// Values

static int32_t number_of(const Owned *owned) {
    assert_ptr_equal(owned->self, owned);
    return *owned->number;
}

static void values_with_hooks_are_copied_in_and_destructed_once(void **state) {
    const fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Owned, NULL);
    Owned mine;
    for (int32_t i = 0; i < 1000; i++) {
        owned_hold(&mine, i, f->world);
        assert_int_equal(mica_send_from(f->world, Owned, &mine), MICA_OK);
        owned_drop(&mine, f->world);
    }
    for (int32_t i = 0; i < 600; i++) {
        assert_int_equal(number_of(mica_next_event(reader, Owned)), i);
    }
    step(f->world);
    assert_int_equal(ledger_live_count(), 400); // those that wait
    for (uint32_t i = 0; i < MICA_EVENT_TICKS_DEFAULT; i++) {
        step(f->world);
    }
    assert_int_equal(ledger_live_count(), 0);
    owned_hold(&mine, 5, f->world);
    assert_int_equal(mica_send_from(f->world, Owned, &mine), MICA_OK);
    owned_drop(&mine, f->world);
    assert_int_equal(ledger_live_count(), 1); // ends with the world
}

static void move_only_values_are_moved_in_also_if_nobody_hears(void **state) {
    const fixture *f = *state;
    Sole mine;
    owned_hold(&mine.owned, 1, f->world);
    assert_int_equal(mica_send_from(f->world, Sole, &mine), MICA_OK);
    assert_null(mine.owned.self);
    assert_int_equal(ledger_live_count(), 0);
    mica_event_reader *reader = mica_reader_of(f->world, Sole, NULL);
    owned_hold(&mine.owned, 2, f->world);
    assert_int_equal(mica_send_from(f->world, Sole, &mine), MICA_OK);
    assert_null(mine.owned.self);
    assert_int_equal(number_of(&mica_next_event(reader, Sole)->owned), 2);
    mica_event_reader_destroy(reader);
    assert_int_equal(ledger_live_count(), 1);
    step(f->world);
    assert_int_equal(ledger_live_count(), 0);
}

static void an_event_is_sent_whole_or_refused(void **state) {
    fixture *f = *state;
    mica_event_reader *reader = mica_reader_of(f->world, Owned, NULL);
    Owned mine;
    owned_hold(&mine, 7, f->world);
    uint64_t sent = 0;
    for (uint64_t n = 1; n < 4000; n++) {
        test_allocator_fail_at(&f->allocator, 1 + n % 3);
        const mica_result result = mica_send_from(f->world, Owned, &mine);
        const bool failed = test_allocator_fail_stop(&f->allocator);
        assert_int_equal(result, failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        sent += result == MICA_OK;
        assert_int_equal(mica_event_reader_count(reader), sent);
    }
    assert_in_range(sent, 100, 3998);
    assert_int_equal(ledger_live_count(), sent + 1);
    owned_drop(&mine, f->world);
}

static void placeholders_in_events_are_found(void **state) {
    const fixture *f = *state;
    mica_commands *commands = mica_commands_create(f->world);
    mica_event_reader *reader = mica_reader_of(f->world, Named, NULL);
    assert_int_equal(mica_send(f->world, Named, {mica_create(commands)}), MICA_OK);
    assert_int_equal(mica_world_validate(f->world), MICA_INVALID);
    assert_said("an event of Named");
    assert_non_null(mica_next_event(reader, Named));
    step(f->world);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_commands_destroy(commands);
}

static void misuse_is_refused_with_names(void **state) {
    const fixture *f = *state;
    const mica_component hit = mica_register(f->world, Hit);
    const mica_component bell = mica_register(f->world, Bell);
    const int32_t number = 1;
    int32_t count = 5;
    assert_int_equal(mica_event_send(f->world, hit, NULL), MICA_INVALID);
    assert_said("Hit");
    assert_int_equal(mica_event_trigger(f->world, bell, &number), MICA_NO_VALUE);
    assert_said("Bell");
    assert_int_equal(mica_event_send(f->world, 999, &number), MICA_UNKNOWN);
    assert_int_equal(mica_event_send(NULL, hit, &number), MICA_INVALID);
    assert_int_equal(mica_event_deliver(f->world, 999), -1);
    assert_int_equal(mica_event_bind(f->world, hit, NULL, NULL).id, 0);
    assert_said("Hit");
    assert_int_equal(mica_event_set_limits(f->world, hit, MICA_EVENT_TICKS_MAX + 1, 0), MICA_LIMIT);
    assert_null(mica_event_reader_create(f->world, 999, NULL));
    assert_null(mica_event_reader_span(NULL, NULL, 0, &count));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(count, 0);
    assert_int_equal(mica_event_statistics(f->world, hit, NULL), MICA_INVALID);
    assert_null(mica_run_event_reader(NULL, hit));
    mica_event_reader_destroy(NULL);
}

// Against a naive bus: an array of all that was ever sent, and an index a reader.

enum { READER_COUNT = 3, TICK_LIMIT = 4, SENT_MAX = 60000 };

typedef struct model {
    int32_t sent_count;
    int32_t begun[SENT_MAX]; // by event: the number of ticks begun when it was sent
    int32_t tick;
    int32_t seen[READER_COUNT]; // each reader has seen, or missed, all before this
    int32_t missed[READER_COUNT];
    int32_t count_limit; // 0: none
} model;

static void forget_before(model *m, int32_t number) {
    for (int32_t i = 0; i < READER_COUNT; i++) {
        if (m->seen[i] < number) {
            m->missed[i] += number - m->seen[i];
            m->seen[i] = number;
        }
    }
}

static void model_send(model *m) {
    m->begun[m->sent_count++] = m->tick;
    if (m->count_limit > 0 && m->sent_count > m->count_limit) {
        forget_before(m, m->sent_count - m->count_limit);
    }
}

static void model_step(model *m) {
    m->tick++;
    int32_t first = 0;
    while (first < m->sent_count && m->tick - m->begun[first] > TICK_LIMIT) {
        first++;
    }
    forget_before(m, first);
}

static void readers_see_what_a_naive_bus_says(void **state) {
    const fixture *f = *state;
    static model m;
    test_random random = {11};
    mica_event_reader *readers[READER_COUNT];
    const mica_component hit = mica_register(f->world, Hit);
    m = (model){.tick = 0};
    for (int32_t i = 0; i < READER_COUNT; i++) {
        readers[i] = mica_reader_of(f->world, Hit, NULL);
    }
    assert_int_equal(mica_event_set_limits(f->world, hit, TICK_LIMIT, 0), MICA_OK);
    for (int32_t round = 0; round < 3000; round++) {
        switch (test_random_below(&random, 8)) {
        case 0:
            step(f->world);
            model_step(&m);
            break;
        case 1:
            if (test_random_below(&random, 20) == 0) {
                m.count_limit = m.count_limit == 0 ? 700 : 0;
                // The ticks begin anew with the limits: bring both up to date first.
                for (int32_t i = 0; i <= TICK_LIMIT; i++) {
                    step(f->world);
                    model_step(&m);
                }
                assert_int_equal(mica_event_set_limits(f->world, hit, TICK_LIMIT, (uint32_t)m.count_limit), MICA_OK);
            }
            break;
        case 2:
        case 3:
            for (uint32_t left = test_random_below(&random, round % 7 == 0 ? 500 : 5);
                 left > 0 && m.sent_count < SENT_MAX; left--) {
                assert_int_equal(mica_send(f->world, Hit, {m.sent_count}), MICA_OK);
                model_send(&m);
            }
            break;
        default: {
            const uint32_t who = test_random_below(&random, READER_COUNT);
            int32_t count;
            const Hit *hits = mica_event_reader_span(readers[who], mica_type_of(Hit),
                                                     (int32_t)test_random_below(&random, 400), &count);
            assert_true((hits == NULL) == (m.seen[who] == m.sent_count));
            for (int32_t i = 0; i < count; i++) {
                assert_int_equal(hits[i].damage, m.seen[who]++);
            }
        }
        }
        for (int32_t i = 0; i < READER_COUNT; i++) {
            assert_int_equal(mica_event_reader_count(readers[i]), m.sent_count - m.seen[i]);
            assert_int_equal(mica_event_reader_statistics(readers[i]).missed_count, m.missed[i]);
        }
    }
    assert_true(m.sent_count > 20000 && m.sent_count < SENT_MAX);
    assert_true(m.missed[0] > 0);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_trigger_calls_handlers_at_once_in_order_of_binding),
        CASE(a_delivery_tells_all_handlers_of_an_event_before_the_next),
        CASE(tags_are_events_without_a_value),
        CASE(what_handlers_send_is_for_the_next_delivery),
        CASE(handlers_come_and_go_during_a_delivery),
        CASE(what_nobody_bound_is_left_for_is_not_delivered),
        CASE(what_handlers_record_is_applied_when_the_delivery_has_ended),
        CASE(runaway_triggers_are_cut_off_with_the_name_of_the_type),
        CASE(a_delivery_may_deliver_other_types_inside),
        CASE(a_handler_cannot_end_the_world_or_step_it),
        CASE(a_handler_that_changes_structure_is_told_where_to_record_it),
        CASE(what_handlers_record_below_an_observer_is_applied_after_its_verb),
        CASE(chains_of_observers_and_handlers_are_cut_off),
        CASE(each_reader_sees_every_event_once_at_its_own_pace),
        CASE(stopping_early_keeps_the_rest),
        CASE(asking_whether_events_wait_consumes_none),
        CASE(a_fixed_step_reader_sees_each_event_once),
        CASE(removals_told_by_an_observer_reach_a_fixed_step_reader_once),
        CASE(systems_send_in_the_order_of_the_plan),
        CASE(the_reader_of_a_system_is_not_the_programs_to_end),
        CASE(handlers_in_a_system_record_into_its_buffer),
        CASE(spans_hand_out_runs_of_aligned_values),
        CASE(what_a_reader_was_handed_stays_until_its_next_call),
        CASE(reading_another_type_is_refused),
        CASE(events_without_anybody_to_hear_are_counted_and_not_kept),
        CASE(events_are_kept_through_a_set_number_of_ticks),
        CASE(what_a_reader_misses_is_said_with_type_and_number),
        CASE(too_many_events_drop_the_oldest_and_say_so),
        CASE(a_reader_that_is_never_read_keeps_no_more_than_the_limit_says),
        CASE(trimming_gives_back_pages_that_no_event_is_in),
        CASE(clearing_the_world_keeps_events),
        CASE(traffic_that_is_alike_allocates_nothing),
        CASE(values_with_hooks_are_copied_in_and_destructed_once),
        CASE(move_only_values_are_moved_in_also_if_nobody_hears),
        CASE(an_event_is_sent_whole_or_refused),
        CASE(placeholders_in_events_are_found),
        CASE(misuse_is_refused_with_names),
        CASE(readers_see_what_a_naive_bus_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
