// The paused clock, its scale, and steps that are no ticks.
#include <mica/mica.h>
#include <mica/snapshot.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_STRUCT(Spark, { int32_t heat; });
MICA_STRUCT(Click, { int32_t button; });
MICA_STRUCT(Runs, { int32_t count; });

static mica_world *world;
static char trace[256];  // what ran, in order
static bool pause_next;  // asked of "game"
static bool resume_next; // asked of "menu"

static void note(mica_run *run) {
    const char *name = mica_run_user(run);
    strcat(trace, name);
    strcat(trace, mica_run_is_paused(run) ? "* " : " ");
    Runs *runs = mica_run_state(run, Runs);
    if (runs != NULL) {
        runs->count++;
    }
    if (pause_next && strcmp(name, "game") == 0) {
        assert_int_equal(mica_world_pause(mica_run_world(run), true), MICA_OK);
        pause_next = false;
    }
    if (resume_next && strcmp(name, "menu") == 0) {
        assert_int_equal(mica_world_pause(mica_run_world(run), false), MICA_OK);
        resume_next = false;
    }
}

static int set_up(void **state) {
    (void)state;
    trace[0] = '\0';
    pause_next = false;
    resume_next = false;
    world = mica_world_create(&(mica_world_def){.fixed_delta_seconds = 0.25, .advance_tick_limit = 4});
    assert_non_null(world);
    const mica_system_def systems[] = {
        {.name = "menu", .run = note, .user = (void *)"menu", .stage = MICA_INPUT, .runs_while_paused = true},
        {.name = "game", .run = note, .user = (void *)"game", .state = mica_type_of(Runs)},
        {.name = "draw", .run = note, .user = (void *)"draw", .stage = MICA_EXTRACT},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        assert_int_not_equal(mica_system_add(world, &systems[i]).id, 0);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(world);
    world = NULL;
    return 0;
}

static void expect_trace(const char *expected) {
    assert_string_equal(trace, expected);
    trace[0] = '\0';
}

static void a_paused_world_runs_what_goes_on_and_counts_no_ticks(void **state) {
    (void)state;
    assert_int_equal(mica_world_advance(world, 0.375), 1);
    expect_trace("menu game draw ");
    assert_false(mica_world_is_paused(world));
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_true(mica_world_is_paused(world));
    assert_int_equal(mica_world_advance(world, 0.5), 0);
    expect_trace("menu* menu* ");
    assert_int_equal(mica_world_tick(world), 1);
    assert_true(mica_world_alpha(world) == 0.5); // what is drawn stands still
    assert_int_equal(mica_world_pause(world, false), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.125), 1);
    expect_trace("menu game draw ");
    assert_int_equal(mica_world_tick(world), 2);
}

static void a_stage_that_goes_on_takes_all_its_systems_along(void **state) {
    (void)state;
    assert_int_equal(mica_stage_run_while_paused(world, MICA_EXTRACT, true), MICA_OK);
    assert_int_equal(mica_world_step_paused(world, 0.25f), MICA_OK);
    expect_trace("menu* draw* ");
    assert_int_equal(mica_stage_run_while_paused(world, MICA_EXTRACT, false), MICA_OK);
    assert_int_equal(mica_world_step_paused(world, 0.25f), MICA_OK);
    expect_trace("menu* ");
    assert_int_equal(mica_stage_run_while_paused(world, 77, true), MICA_UNKNOWN);
    const mica_stage own = mica_stage_add_after(world, "dialogs", MICA_INPUT);
    assert_int_equal(mica_stage_run_while_paused(world, own, true), MICA_OK);
    assert_int_not_equal(
        mica_system_add(world, &(mica_system_def){.name = "ask", .run = note, .user = (void *)"ask", .stage = own}).id,
        0);
    assert_int_equal(mica_world_step_paused(world, 0.25f), MICA_OK);
    expect_trace("menu* ask* ");
}

static void a_tick_of_a_paused_world_is_a_whole_one(void **state) {
    (void)state;
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
    expect_trace("menu game draw ");
    assert_int_equal(mica_world_tick(world), 1);
    assert_true(mica_world_is_paused(world));
}

static void a_system_that_pauses_ends_the_ticks_of_the_call(void **state) {
    (void)state;
    pause_next = true;
    assert_int_equal(mica_world_advance(world, 0.875), 1);
    expect_trace("menu game draw ");
    assert_true(mica_world_alpha(world) == 0.5); // whole ticks that were due are dropped
    resume_next = true;
    assert_int_equal(mica_world_advance(world, 1), 0);
    expect_trace("menu* ");
    assert_int_equal(mica_world_advance(world, 0.125), 1);
    expect_trace("menu game draw ");
}

static void no_more_steps_of_a_paused_world_run_than_ticks_may(void **state) {
    (void)state;
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 100), 0);
    expect_trace("menu* menu* menu* menu* ");
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    expect_trace("menu* ");
}

static void pausing_again_changes_nothing(void **state) {
    (void)state;
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.125), 0);
    expect_trace("menu* ");
}

static void the_scale_changes_how_many_ticks_there_are(void **state) {
    (void)state;
    assert_true(mica_world_time_scale(world) == 1);
    assert_int_equal(mica_world_set_time_scale(world, 0.5), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.5), 1);
    assert_int_equal(mica_world_set_time_scale(world, 4), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.125), 2);
    assert_int_equal(mica_world_set_time_scale(world, 0), MICA_OK);
    assert_int_equal(mica_world_advance(world, 1000), 0);
    assert_true(mica_world_time_scale(world) == 0);
    assert_int_equal(mica_world_set_time_scale(world, 1e308), MICA_OK);
    assert_int_equal(mica_world_advance(world, 1e308), 4); // the limit, though the product is no number
    assert_true(mica_world_alpha(world) == 0);
}

static void the_scale_does_not_slow_what_goes_on_while_paused(void **state) {
    (void)state;
    assert_int_equal(mica_world_set_time_scale(world, 0.125), MICA_OK);
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.5), 0);
    expect_trace("menu* menu* ");
}

static void bad_scales_are_refused(void **state) {
    (void)state;
    const double scales[] = {-1, -1e-300, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        assert_int_equal(mica_world_set_time_scale(world, scales[i]), MICA_INVALID);
    }
    assert_true(mica_world_time_scale(world) == 1);
    assert_int_equal(mica_world_set_time_scale(NULL, 1), MICA_INVALID);
    assert_int_equal(mica_world_pause(NULL, true), MICA_INVALID);
    assert_int_equal(mica_stage_run_while_paused(NULL, MICA_UPDATE, true), MICA_INVALID);
    assert_false(mica_world_is_paused(NULL));
    assert_false(mica_run_is_paused(NULL));
    assert_int_equal(mica_world_set_time_scale(world, -0.0), MICA_OK);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
}

static void touch_clock(mica_run *run) {
    mica_world *own = mica_run_world(run);
    assert_int_equal(mica_world_pause(own, true), MICA_LOCKED);
    assert_int_equal(mica_world_set_time_scale(own, 2), MICA_LOCKED);
    assert_int_equal(mica_stage_run_while_paused(own, MICA_LAST, true), MICA_LOCKED);
    assert_non_null(strstr(mica_last_error(), "touch"));
    strcat(trace, "touch ");
}

static void a_system_that_declares_its_access_leaves_the_clock_alone(void **state) {
    (void)state;
    assert_int_not_equal(
        mica_system_add(
            world,
            &(mica_system_def){.name = "touch", .run = touch_clock, .stage = MICA_LAST, .query = {mica_read(Spark)}})
            .id,
        0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    expect_trace("menu game touch draw ");
    assert_false(mica_world_is_paused(world));
    assert_true(mica_world_time_scale(world) == 1);
}

static void pause_and_scale_are_state(void **state) {
    (void)state;
    mica_snapshot *first = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_set_time_scale(world, 3), MICA_OK);
    mica_snapshot *paused = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_snapshot_restore(first, world, NULL), MICA_OK);
    assert_false(mica_world_is_paused(world));
    assert_true(mica_world_time_scale(world) == 1);
    mica_world *other = mica_world_create(&(mica_world_def){.schema = mica_world_schema(world)});
    assert_int_equal(mica_snapshot_restore(paused, other, NULL), MICA_OK);
    assert_true(mica_world_is_paused(other));
    assert_true(mica_world_time_scale(other) == 3);
    mica_world_destroy(other);
    mica_snapshot_release(first);
    mica_snapshot_release(paused);
}

static void a_clock_alone_is_state_enough(void **state) {
    (void)state;
    mica_world *a = mica_world_create(NULL);
    mica_world *b = mica_world_create(&(mica_world_def){.schema = mica_world_schema(a)});
    assert_int_equal(mica_world_set_time_scale(a, 0.5), MICA_OK);
    assert_int_equal(mica_world_copy(b, a), MICA_OK);
    assert_true(mica_world_time_scale(b) == 0.5);
    assert_int_equal(mica_world_set_time_scale(a, 1), MICA_OK);
    assert_int_equal(mica_world_copy(b, a), MICA_OK);
    assert_true(mica_world_time_scale(b) == 1);
    mica_world_destroy(b);
    mica_world_destroy(a);
}

// Events and messages

static int32_t heard;

static void hear(mica_run *run) {
    mica_event_reader *clicks = mica_run_events(run, Click);
    for (const Click *click; (click = mica_next_event(clicks, Click)) != NULL;) {
        heard += click->button;
    }
}

static void systems_that_stand_still_miss_no_events(void **state) {
    (void)state;
    heard = 0;
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "hear", .run = hear}).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_send(world, Click, {1}), MICA_OK);
    assert_int_equal(mica_post(mica_world_inbox(world), Click, {10}), MICA_OK);
    for (uint32_t i = 0; i < 4 * MICA_EVENT_TICKS_DEFAULT; i++) {
        assert_int_equal(mica_world_step_paused(world, 1), MICA_OK);
        trace[0] = '\0';
    }
    assert_int_equal(mica_inbox_statistics(mica_world_inbox(world)).waiting_count, 0);
    assert_int_equal(heard, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(heard, 11);
}

static void what_goes_on_hears_messages_while_paused(void **state) {
    (void)state;
    heard = 0;
    assert_int_not_equal(
        mica_system_add(world, &(mica_system_def){.name = "hear", .run = hear, .runs_while_paused = true}).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_post(mica_world_inbox(world), Click, {10}), MICA_OK);
    assert_int_equal(mica_world_step_paused(world, 1), MICA_OK);
    assert_int_equal(heard, 10);
}

// Commands and failures

static void spawn_spark(mica_run *run) {
    mica_spawn(mica_run_commands(run), mica_value_of(Spark, {1}));
    if (mica_run_user(run) != NULL) {
        mica_run_fail(run, MICA_FAILED, "as asked");
    }
}

static void what_a_paused_step_records_is_applied(void **state) {
    (void)state;
    const mica_system_def def = {
        .name = "spawn", .run = spawn_spark, .runs_while_paused = true, .query = {mica_with(Spark)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step_paused(world, 1), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void a_paused_step_that_fails_leaves_no_command(void **state) {
    (void)state;
    const mica_system_def def = {.name = "spawn",
                                 .run = spawn_spark,
                                 .runs_while_paused = true,
                                 .user = (void *)"fail",
                                 .query = {mica_with(Spark)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step_paused(world, 1), MICA_FAILED);
    assert_non_null(strstr(mica_last_error(), "spawn"));
    assert_int_equal(mica_world_pause(world, true), MICA_OK);
    assert_int_equal(mica_world_advance(world, 0.25), -1);
    assert_int_equal(mica_world_entity_count(world), 0);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    assert_int_equal(mica_world_step_paused(world, -1), MICA_INVALID);
    assert_int_equal(mica_world_step_paused(NULL, 1), MICA_INVALID);
}

static void step_again(mica_run *run) {
    assert_int_equal(mica_world_step_paused(mica_run_world(run), 1), MICA_LOCKED);
    assert_int_equal(mica_world_step_system(mica_run_world(run), mica_run_system(run), 1), MICA_LOCKED);
    strcat(trace, "again ");
}

static void steps_inside_steps_are_refused(void **state) {
    (void)state;
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "again", .run = step_again}).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    expect_trace("menu game again draw ");
}

// One system

static void one_system_runs_alone_with_its_barriers(void **state) {
    (void)state;
    const mica_system_def def = {.name = "spawn",
                                 .run = spawn_spark,
                                 .stage = MICA_LAST,
                                 .also_count = 1,
                                 .also = {{.stage = MICA_FIRST}},
                                 .disabled = true,
                                 .query = {mica_with(Spark)}};
    const mica_system spawn = mica_system_add(world, &def);
    const uint64_t before = mica_world_version(world);
    assert_int_equal(mica_world_step_system(world, spawn, 1), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 2);
    assert_int_equal(mica_world_tick(world), 0);
    assert_true(mica_world_version(world) > before);
    expect_trace("");
    assert_int_equal(mica_world_step_system(world, mica_system_find(world, "game"), 1), MICA_OK);
    expect_trace("game ");
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, spawn, &stats), MICA_OK);
    assert_int_equal(stats.run_count, 2);
    assert_int_equal(stats.command_count, 2);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static int32_t changed_count;

static void count_changed(mica_run *run) {
    changed_count = 0;
    mica_each (run, it) {
        changed_count += it.count;
    }
}

static void one_system_sees_changes_once(void **state) {
    (void)state;
    const mica_system_def def = {.name = "changed", .run = count_changed, .query = {mica_changed(Spark)}};
    const mica_system changed = mica_system_add(world, &def);
    mica_spawn(world, mica_value_of(Spark, {1}));
    assert_int_equal(mica_world_step_system(world, changed, 1), MICA_OK);
    assert_int_equal(changed_count, 1);
    assert_int_equal(mica_world_step_system(world, changed, 1), MICA_OK);
    assert_int_equal(changed_count, 0);
    mica_spawn(world, mica_value_of(Spark, {2}));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(changed_count > 0);
}

static void start_late(mica_run *run) {
    (void)run;
    strcat(trace, "start ");
}

static void one_system_is_started_first(void **state) {
    (void)state;
    const mica_system_def def = {.name = "late", .run = note, .start = start_late, .user = (void *)"late"};
    const mica_system late = mica_system_add(world, &def);
    assert_int_equal(mica_world_step_system(world, late, 1), MICA_OK);
    assert_int_equal(mica_world_step_system(world, late, 1), MICA_OK);
    expect_trace("start late late ");
}

static void remove_self(mica_run *run) {
    assert_int_equal(mica_system_remove(mica_run_world(run), mica_run_system(run)), MICA_OK);
}

static void one_system_may_fail_or_remove_itself(void **state) {
    (void)state;
    const mica_system fails = mica_system_add(
        world,
        &(mica_system_def){.name = "spawn", .run = spawn_spark, .user = (void *)"fail", .query = {mica_with(Spark)}});
    assert_int_equal(mica_world_step_system(world, fails, 1), MICA_FAILED);
    assert_int_equal(mica_world_entity_count(world), 0);
    const mica_system gone = mica_system_add(world, &(mica_system_def){.name = "gone", .run = remove_self});
    assert_int_equal(mica_world_step_system(world, gone, 1), MICA_OK);
    assert_int_equal(mica_world_step_system(world, gone, 1), MICA_UNKNOWN);
    assert_int_equal(mica_world_step_system(NULL, gone, 1), MICA_UNKNOWN);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_paused_world_runs_what_goes_on_and_counts_no_ticks),
        CASE(a_stage_that_goes_on_takes_all_its_systems_along),
        CASE(a_tick_of_a_paused_world_is_a_whole_one),
        CASE(a_system_that_pauses_ends_the_ticks_of_the_call),
        CASE(no_more_steps_of_a_paused_world_run_than_ticks_may),
        CASE(pausing_again_changes_nothing),
        CASE(the_scale_changes_how_many_ticks_there_are),
        CASE(the_scale_does_not_slow_what_goes_on_while_paused),
        CASE(bad_scales_are_refused),
        CASE(a_system_that_declares_its_access_leaves_the_clock_alone),
        CASE(pause_and_scale_are_state),
        CASE(a_clock_alone_is_state_enough),
        CASE(systems_that_stand_still_miss_no_events),
        CASE(what_goes_on_hears_messages_while_paused),
        CASE(what_a_paused_step_records_is_applied),
        CASE(a_paused_step_that_fails_leaves_no_command),
        CASE(steps_inside_steps_are_refused),
        CASE(one_system_runs_alone_with_its_barriers),
        CASE(one_system_sees_changes_once),
        CASE(one_system_is_started_first),
        CASE(one_system_may_fail_or_remove_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
