// Replay: recorded ticks run again give what was recorded, or it is said where they do not.
#include "run/journal_folder.h"
#include "run/tick_world.h"

#include <stdlib.h>
#include <unistd.h>

enum { TICKS = 30 };

// Lets a world go on otherwise from a tick on, if it says so.
static uint64_t cheat_from;
static bool cheat_fails;

static void cheat(mica_run *run) {
    if (mica_run_tick(run) >= cheat_from && cheat_fails) {
        mica_run_fail(run, MICA_IO, "as asked");
        return;
    }
    mica_each (run, it) {
        Speed *speed = mica_write_of(it, Speed);
        speed[it.count - 1].y += mica_run_tick(run) >= cheat_from ? 0.5f : 0;
    }
}

static mica_world *open_world(void) {
    mica_world *world = tick_world_open(NULL);
    const mica_system_def def = {.name = "cheat", .run = cheat, .after = {"move"}, .query = {mica_write(Speed)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    return world;
}

// Records ticks that nobody cheats in. Between some of them the program spawns something.
static mica_world *record(bool steps) {
    cheat_from = UINT64_MAX;
    mica_world *world = open_world();
    const mica_journal_options options = {.checkpoint_tick_count = 8, .steps = steps};
    mica_journal *journal = mica_journal_create(world, path, &options);
    assert_non_null(journal);
    for (int32_t tick = 0; tick < TICKS; tick++) {
        if (tick % 7 == 3) {
            mica_spawn(world, mica_value_of(Place, {.x = 5}), mica_value_of(Speed, {1, 1}));
        }
        tick_post(world);
        assert_int_equal(mica_journal_step(journal, tick % 2 == 0 ? 0.25f : 0.5f), MICA_OK);
    }
    assert_int_equal(mica_journal_close(journal), MICA_OK);
    return world;
}

static void a_replay_from_anywhere_gives_the_recorded_world(void **state) {
    (void)state;
    for (int32_t steps = 0; steps < 2; steps++) {
        mica_world *world = record(steps == 1);
        mica_world *other = open_world();
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        assert_non_null(reader);
        static const uint64_t from[] = {0, 1, 8, 13, 29, 30};
        for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
            mica_post(mica_world_inbox(other), Push, {1, 99}); // what waits there is no part of it
            mica_replay_difference difference;
            if (mica_journal_replay(reader, other, from[i], TICKS, &difference) != MICA_OK) {
                fail_msg("%s", mica_last_error());
            }
            tick_assert_equal(world, other);
        }
        assert_int_equal(mica_journal_replay(reader, other, 5, 11, NULL), MICA_OK);
        assert_int_equal(mica_world_tick(other), 11);
        mica_journal_reader_close(reader);
        mica_world_destroy(other);
        mica_world_destroy(world);
    }
}

static void the_first_tick_that_is_not_as_recorded_is_named(void **state) {
    (void)state;
    for (int32_t steps = 0; steps < 2; steps++) {
        mica_world *world = record(steps == 1);
        mica_world *other = open_world();
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        cheat_from = 17;
        mica_replay_difference difference;
        assert_int_equal(mica_journal_replay(reader, other, 2, TICKS, &difference), MICA_MISMATCH);
        assert_int_equal(difference.tick, 17);
        assert_string_equal(difference.system, steps == 1 ? "cheat" : "");
        assert_int_equal(difference.state.kind, MICA_DIFFERENCE_VALUE);
        assert_int_equal(difference.state.component, mica_world_component(other, mica_type_of(Speed)));
        assert_string_equal(difference.state.path, "y");
        assert_non_null(strstr(mica_last_error(), "17"));
        assert_int_equal(mica_world_tick(other), 18);
        cheat_from = UINT64_MAX;
        assert_int_equal(mica_journal_replay(reader, other, 2, TICKS, &difference), MICA_OK);
        mica_journal_reader_close(reader);
        mica_world_destroy(other);
        mica_world_destroy(world);
    }
}

static void a_tick_that_fails_now_is_not_as_recorded(void **state) {
    (void)state;
    for (int32_t steps = 0; steps < 2; steps++) {
        mica_world *world = record(steps == 1);
        mica_journal_reader *reader = mica_journal_open(path, NULL);
        cheat_from = 17;
        cheat_fails = true;
        mica_replay_difference difference;
        assert_int_equal(mica_journal_replay(reader, world, 2, TICKS, &difference), MICA_MISMATCH);
        cheat_fails = false;
        assert_int_equal(difference.tick, 17);
        assert_string_equal(difference.system, steps == 1 ? "cheat" : "");
        assert_non_null(strstr(mica_last_error(), "tick 17 is not as it was recorded"));
        assert_non_null(strstr(mica_last_error(), "as asked"));
        assert_int_equal(mica_world_tick(world), 17);
        mica_journal_reader_close(reader);
        mica_world_destroy(world);
    }
}

static void ticks_that_are_not_there_are_refused(void **state) {
    (void)state;
    mica_world *world = record(false);
    mica_journal_reader *reader = mica_journal_open(path, NULL);
    assert_int_equal(mica_journal_replay(reader, world, 0, TICKS + 1, NULL), MICA_ABSENT);
    assert_int_equal(mica_journal_replay(reader, world, 5, 4, NULL), MICA_INVALID);
    assert_int_equal(mica_journal_replay(NULL, world, 0, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_journal_replay(reader, NULL, 0, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_world_tick(world), TICKS);
    mica_journal_reader_close(reader);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_replay_from_anywhere_gives_the_recorded_world),
        CASE(the_first_tick_that_is_not_as_recorded_is_named),
        CASE(a_tick_that_fails_now_is_not_as_recorded),
        CASE(ticks_that_are_not_there_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
