// Input that is captured as components and resources, recorded, and played again.
#include "run/journal_folder.h"
#include "run/tick_world.h"

#include <pthread.h>

MICA_STRUCT(Key, { // a message of another thread: a key goes down or up
    int32_t code;
    bool is_down;
});
MICA_STRUCT(Controls, { float steer; }); // a component: what the player's keys say now
MICA_STRUCT(Pad, { float stick; });      // a resource that the program polls between frames

enum { LEFT = 1, RIGHT = 2 };

static void capture(mica_run *run) {
    mica_event_reader *keys = mica_run_events(run, Key);
    float change = 0;
    for (const Key *key; (key = mica_next_event(keys, Key)) != NULL;) {
        change += (key->code == RIGHT ? 1.0f : -1.0f) * (key->is_down ? 1.0f : -1.0f);
    }
    mica_each (run, it) {
        Controls *controls = mica_write_of(it, Controls);
        for (int32_t i = 0; i < it.count; i++) {
            controls[i].steer += change;
        }
    }
}

static void steer(mica_run *run) {
    const Pad *pad = mica_resource(mica_run_world(run), Pad);
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Controls *controls = mica_read_of(it, Controls);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += (controls[i].steer + pad->stick) * mica_delta_time(run);
        }
    }
}

static mica_world *open_world(void) {
    mica_world *world = tick_world_open(NULL);
    assert_true(mica_register(world, Key) != 0);
    const mica_system_def systems[] = {
        {.name = "capture",
         .run = capture,
         .stage = MICA_INPUT,
         .query = {mica_write(Controls)},
         .access = {mica_reads(Key)}},
        {.name = "steer", .run = steer, .query = {mica_write(Place), mica_read(Controls)}, .access = {mica_reads(Pad)}},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        assert_int_not_equal(mica_system_add(world, &systems[i]).id, 0);
    }
    assert_int_equal(mica_set_resource(world, Pad, {0}), MICA_OK);
    mica_spawn(world, mica_value_of(Place, {.x = 0}), mica_value_of(Controls, {0}));
    return world;
}

static uint64_t checksum_of(mica_world *world, mica_type *type) {
    uint64_t checksum = 0;
    const mica_component component = mica_world_register(world, type);
    assert_int_equal(mica_world_component_checksum(world, component, &checksum), MICA_OK);
    return checksum;
}

// Every tick is the same, in a world that nobody gives any input. What was changed behind the last tick is no part of
// it, the time that is due among that.
static void assert_replays(mica_world *recorded, uint64_t tick_count) {
    mica_world *other = open_world();
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_non_null(reader);
    assert_int_equal(mica_journal_reader_info(reader).tick_count, tick_count);
    mica_replay_difference difference;
    if (mica_journal_replay(reader, other, 0, tick_count, &difference) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    assert_int_equal(checksum_of(other, mica_type_of(Place)), checksum_of(recorded, mica_type_of(Place)));
    assert_int_equal(checksum_of(other, mica_type_of(Controls)), checksum_of(recorded, mica_type_of(Controls)));
    mica_journal_reader_close(reader);
    mica_world_destroy(other);
}

static void *press_keys(void *inbox) {
    for (int32_t i = 0; i < 300; i++) {
        (void)mica_post((mica_inbox *)inbox, Key, {i % 3 == 0 ? LEFT : RIGHT, i % 2 == 0});
    }
    return NULL;
}

static void keys_of_another_thread_are_played_again_in_the_same_ticks(void **state) {
    (void)state;
    mica_world *world = open_world();
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_non_null(journal);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, press_keys, mica_world_inbox(world)), 0);
    for (int32_t i = 0; i < 20; i++) {
        assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
    assert_int_equal(mica_inbox_statistics(mica_world_inbox(world)).drained_count, 300);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    assert_replays(world, 21);
    mica_world_destroy(world);
}

// Posts while a tick runs, as another thread may, and does not when the tick is run again.
static bool is_live;

static void post_meanwhile(mica_run *run) {
    if (is_live) {
        assert_int_equal(mica_post(mica_world_inbox(mica_run_world(run)), Key, {RIGHT, true}), MICA_OK);
    }
}

static mica_world *open_world_with_posts(void) {
    mica_world *world = open_world();
    const mica_system_def def = {.name = "post", .run = post_meanwhile, .query = {mica_read(Controls)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    return world;
}

static void messages_that_come_in_while_a_tick_runs_are_taken_in_by_the_next(void **state) {
    (void)state;
    for (int32_t steps = 0; steps < 2; steps++) {
        is_live = true;
        mica_world *world = open_world_with_posts();
        mica_journal *journal = mica_journal_create(world, path, &(mica_journal_options){.steps = steps == 1});
        for (int32_t i = 0; i < 5; i++) {
            assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
        }
        assert_int_equal(mica_journal_close(journal), MICA_OK);
        is_live = false;
        mica_world *other = open_world_with_posts();
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        mica_replay_difference difference;
        if (mica_journal_replay(reader, other, 0, 5, &difference) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
        tick_assert_equal(world, other); // the last one waits in both
        mica_journal_reader_close(reader);
        mica_world_destroy(other);
        mica_world_destroy(world);
    }
}

static void count_ticks_seen(mica_run *run) {
    static uint64_t latest;
    is_live = mica_run_tick(run) == 0 || mica_run_tick(run) > latest;
    latest = mica_run_tick(run) > latest ? mica_run_tick(run) : latest;
}

static void a_synctest_takes_no_offence_at_messages_that_came_in_meanwhile(void **state) {
    (void)state;
    mica_world *world = open_world_with_posts();
    const mica_system_def def = {.name = "seen", .run = count_ticks_seen, .stage = MICA_FIRST};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    mica_synctest *test = mica_synctest_create(world, 4);
    assert_non_null(test);
    for (int32_t i = 0; i < 8; i++) {
        mica_synctest_difference difference;
        if (mica_synctest_step(test, 0.25f, &difference) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
    }
    mica_synctest_destroy(test);
    mica_world_destroy(world);
}

static void what_a_program_polls_between_frames_is_played_again(void **state) {
    (void)state;
    mica_world *world = open_world();
    mica_journal *journal = mica_journal_create(world, path, NULL);
    for (int32_t i = 0; i < 20; i++) {
        assert_int_equal(mica_set_resource(world, Pad, {(float)(i % 5) - 2}), MICA_OK);
        assert_int_equal(mica_journal_step(journal, 0.25f), MICA_OK);
    }
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    assert_replays(world, 20);
    mica_world_destroy(world);
}

static void frames_of_any_length_are_recorded_by_ticks(void **state) {
    (void)state;
    mica_world *world = open_world();
    mica_journal *journal = mica_journal_create(world, path, NULL);
    test_random random = {.state = 5};
    int32_t tick_count = 0;
    for (int32_t frame = 0; frame < 60; frame++) {
        assert_int_equal(mica_post(mica_world_inbox(world), Key, {RIGHT, frame % 2 == 0}), MICA_OK);
        const int32_t ticks = mica_journal_advance(journal, test_random_below(&random, 40) / 1000.0);
        assert_true(ticks >= 0);
        tick_count += ticks;
    }
    assert_true(tick_count > 20);
    assert_int_equal(mica_world_tick(world), tick_count);
    const double alpha = mica_world_alpha(world);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    assert_true(mica_world_alpha(world) == alpha);
    assert_replays(world, (uint64_t)tick_count);
    mica_world_destroy(world);
}

static void a_pause_is_recorded_with_what_goes_on_in_it(void **state) {
    (void)state;
    mica_world *world = open_world();
    assert_int_equal(mica_stage_run_while_paused(world, MICA_INPUT, true), MICA_OK);
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(mica_journal_advance(journal, 2.5 / 60), 2);
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_post(mica_world_inbox(world), Key, {RIGHT, true}), MICA_OK);
    assert_int_equal(mica_journal_advance(journal, 2.0 / 60), 0);
    assert_int_equal(mica_world_pause(world, false), MICA_OK);
    assert_int_equal(mica_journal_advance(journal, 1.0 / 60), 1);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_each (mica_query_of(world, mica_read(Controls)), it) {
        assert_true(mica_read_of(it, Controls)->steer == 1);
    }
    assert_replays(world, 3);
    mica_world_destroy(world);
}

static void advancing_a_journal_refuses_as_the_world_does(void **state) {
    (void)state;
    assert_int_equal(mica_journal_advance(NULL, 1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_world *world = open_world();
    mica_journal *journal = mica_journal_create(world, path, NULL);
    assert_int_equal(mica_journal_advance(journal, -1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(keys_of_another_thread_are_played_again_in_the_same_ticks),
        CASE(messages_that_come_in_while_a_tick_runs_are_taken_in_by_the_next),
        CASE(a_synctest_takes_no_offence_at_messages_that_came_in_meanwhile),
        CASE(what_a_program_polls_between_frames_is_played_again),
        CASE(frames_of_any_length_are_recorded_by_ticks),
        CASE(a_pause_is_recorded_with_what_goes_on_in_it),
        CASE(advancing_a_journal_refuses_as_the_world_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
