// Turns: which of the enabled systems run in a tick, by rate, by states of the program, and by condition.
#include <mica/checksum.h>
#include <mica/mica.h>
#include <mica/snapshot.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_notes.h"
#include "support/test_said.h"
#include "support/test_shared_world.h"

MICA_ENUM(Phase, {MENU, PLAYING, OVER});
MICA_ENUM(Sign, {BELOW = -1, NEITHER, ABOVE});
MICA_STRUCT(Position, { float x; });
MICA_TAG(Marked);

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.name = "test"});
    notes[0] = 0;
    return 0;
}

// The number of the tick, with the definition's `user` in front if there is one.
static void note_tick(mica_run *run) {
    char text[32];
    const char *name = mica_run_user(run);
    snprintf(text, sizeof(text), "%s%d", name == NULL ? "" : name, (int)mica_run_tick(run));
    note(text);
}

static void note_time(mica_run *run) {
    char text[32];
    snprintf(text, sizeof(text), "%d:%g", (int)mica_run_tick(run), (double)mica_delta_time(run));
    note(text);
}

static mica_system add(mica_system_def def) {
    def.run = def.run == NULL ? note_tick : def.run;
    return add_to(world, &def);
}

static void step(int32_t count, float delta_seconds) {
    for (int32_t i = 0; i < count; i++) {
        if (mica_world_step(world, delta_seconds) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
    }
}

static void assert_refused(const mica_system_def *def, mica_result code, const char *words) {
    mica_error_clear();
    assert_int_equal(mica_system_add(world, def).id, 0);
    assert_int_equal(mica_last_result(), code);
    assert_said(words);
}

// Rates

static void every_so_many_ticks_goes_by_their_number(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .every = 3, .user = "a"});
    add((mica_system_def){.name = "b", .every = 3, .offset = 2, .user = "b"});
    add((mica_system_def){.name = "c", .every = 1, .user = "c"});
    step(5, 1);
    assert_string_equal(take_notes(), "a0 c0 c1 b2 c2 a3 c3 c4");
    add((mica_system_def){.name = "d", .every = 3, .user = "d"}); // with the others, whenever it is added
    step(3, 1);
    assert_string_equal(take_notes(), "b5 c5 a6 c6 d6 c7");
}

static void the_time_of_a_turn_is_that_since_the_last_run(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .run = note_time, .every = 2, .offset = 1});
    step(1, 1);
    step(1, 2);
    step(1, 4);
    step(1, 8);
    assert_string_equal(take_notes(), "1:3 3:12");
    add((mica_system_def){.name = "b", .run = note_time, .interval_seconds = 3});
    step(4, 1);
    assert_string_equal(take_notes(), "5:2 6:3 7:2");
}

static int32_t run_count;
static uint64_t last_tick;

static void count_evenly(mica_run *run) {
    assert_int_equal(mica_run_tick(run), last_tick + 5);
    last_tick = mica_run_tick(run);
    run_count++;
}

// A fiftieth of a second is no float; still ten turns a second are one every five ticks.
static void intervals_do_not_drift(void **state) {
    (void)state;
    run_count = 0;
    last_tick = (uint64_t)-1;
    add((mica_system_def){.name = "tenth", .run = count_evenly, .interval_seconds = 0.1});
    step(10000, 1.0f / 50);
    assert_int_equal(run_count, 2000);
}

static void count_runs(mica_run *run) {
    (void)run;
    run_count++;
}

static void an_interval_between_two_ticks_comes_in_the_nearer_one(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .interval_seconds = 2.75});
    step(12, 1); // due at 2.75, 5.5, 8.25 and 11; the first tick ends at 1
    assert_string_equal(take_notes(), "2 4 7 10");
    run_count = 0;
    add((mica_system_def){.name = "b", .run = count_runs, .interval_seconds = 2.75});
    step(1100, 1);
    assert_int_equal(run_count, 400);
}

static void an_interval_shorter_than_a_tick_has_one_turn_a_tick_and_none_later(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .interval_seconds = 0.25});
    step(4, 1);
    assert_string_equal(take_notes(), "0 1 2 3");
    step(8, 0.125f);
    assert_string_equal(take_notes(), "5 7 9 11");
}

static void time_counts_only_while_a_system_is_enabled(void **state) {
    (void)state;
    const mica_system system = add((mica_system_def){.name = "a", .run = note_time, .interval_seconds = 4});
    step(2, 1);
    assert_int_equal(mica_system_enable(world, system, false), MICA_OK);
    step(10, 1);
    assert_int_equal(mica_system_enable(world, system, true), MICA_OK);
    step(3, 1);
    assert_string_equal(take_notes(), "13:4");
}

static bool fails;

static void fail_if_told(mica_run *run) {
    if (fails) {
        mica_run_fail(run, MICA_FAILED, "told to");
    }
}

static void a_tick_that_fails_counts_for_nothing(void **state) {
    (void)state;
    add((mica_system_def){.name = "second", .interval_seconds = 2, .user = "second"});
    add((mica_system_def){.name = "other", .every = 2, .offset = 1, .user = "other"});
    add((mica_system_def){.name = "enter", .gates = {mica_on_enter(Phase, PLAYING)}, .user = "enter"});
    add((mica_system_def){.name = "fails", .run = fail_if_told});
    step(1, 1);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    fails = true;
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_FAILED);
        assert_string_equal(take_notes(), "second1 other1 enter1");
    }
    fails = false;
    step(2, 1);
    assert_string_equal(take_notes(), "second1 other1 enter1");
}

static void bad_rates_are_refused(void **state) {
    (void)state;
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .every = -1}, MICA_INVALID, "every -1 ticks");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .every = 4, .offset = 4}, MICA_INVALID,
                   "from tick 4 on");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .offset = 1}, MICA_INVALID, "every 0 ticks");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .every = 4, .offset = -1}, MICA_INVALID,
                   "from tick -1 on");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .interval_seconds = -0.5}, MICA_INVALID,
                   "interval of system \"a\"");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .interval_seconds = 1e308 * 10}, MICA_INVALID,
                   "not finite");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .every = 2, .interval_seconds = 1}, MICA_INVALID,
                   "in ticks and one in seconds");
}

// States of the program

static void play(mica_run *run) {
    if (mica_run_tick(run) == 1) {
        assert_int_equal(mica_set_resource(mica_run_world(run), Phase, {PLAYING}), MICA_OK);
    }
}

static void a_state_changes_who_runs_from_the_next_tick_on(void **state) {
    (void)state;
    add((mica_system_def){.name = "menu", .gates = {mica_while(Phase, MENU)}, .user = "menu"});
    add((mica_system_def){.name = "play", .run = play, .access = {mica_writes(Phase)}});
    add((mica_system_def){.name = "move", .gates = {mica_while(Phase, PLAYING)}, .user = "move"});
    step(1, 1);
    assert_string_equal(take_notes(), ""); // a state that nobody has set has no value
    assert_int_equal(mica_set_resource(world, Phase, {MENU}), MICA_OK);
    step(3, 1);
    assert_string_equal(take_notes(), "menu1 move2 move3");
    mica_resource_remove(world, mica_register(world, Phase));
    step(1, 1);
    assert_string_equal(take_notes(), "");
}

static void entering_and_leaving_a_state_is_one_turn(void **state) {
    (void)state;
    add((mica_system_def){.name = "enter", .gates = {mica_on_enter(Phase, PLAYING)}, .user = "enter"});
    add((mica_system_def){.name = "exit", .gates = {mica_on_exit(Phase, PLAYING)}, .user = "exit"});
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(2, 1);
    assert_string_equal(take_notes(), "enter0");
    assert_int_equal(mica_set_resource(world, Phase, {OVER}), MICA_OK);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK); // between two ticks nobody looks
    step(1, 1);
    assert_string_equal(take_notes(), "");
    assert_int_equal(mica_set_resource(world, Phase, {OVER}), MICA_OK);
    step(2, 1);
    assert_string_equal(take_notes(), "exit3");
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(1, 1);
    mica_resource_remove(world, mica_register(world, Phase));
    step(1, 1);
    assert_string_equal(take_notes(), "enter5 exit6");
}

static void a_disabled_system_makes_up_for_no_entering(void **state) {
    (void)state;
    const mica_system enter = add((mica_system_def){.name = "enter", .gates = {mica_on_enter(Phase, PLAYING)}});
    assert_int_equal(mica_system_enable(world, enter, false), MICA_OK);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(1, 1);
    assert_int_equal(mica_system_enable(world, enter, true), MICA_OK);
    step(2, 1);
    assert_string_equal(take_notes(), "");
}

static void all_gates_have_to_agree(void **state) {
    (void)state;
    add((mica_system_def){
        .name = "a", .gates = {mica_while(Phase, PLAYING), mica_while(Sign, BELOW)}, .interval_seconds = 2});
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    assert_int_equal(mica_set_resource(world, Sign, {ABOVE}), MICA_OK);
    step(3, 1);
    assert_int_equal(mica_set_resource(world, Sign, {BELOW}), MICA_OK); // time begins to count
    step(1, 1);
    assert_int_equal(mica_set_resource(world, Phase, {OVER}), MICA_OK);
    step(5, 1);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(2, 1);
    assert_string_equal(take_notes(), "9");
}

static void bad_gates_are_refused(void **state) {
    (void)state;
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .gates = {mica_while(Position, 1)}}, MICA_INVALID,
                   "Position, which is no enumeration");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .gates = {{.component = 999, .use = 1}}},
                   MICA_UNKNOWN, "999");
    assert_refused(&(mica_system_def){.name = "a", .run = note_tick, .gates = {{mica_type_of(Phase), 0, 4, MENU}}},
                   MICA_INVALID, "Phase in a way that there is not");
}

// Conditions

static bool answer;
static mica_result seen_result;

static bool ask(mica_run *run) {
    note(mica_run_stage(run) == MICA_UPDATE ? "?" : "?last");
    mica_create(mica_run_world(run));
    seen_result = mica_last_result();
    return answer;
}

static void note_start(mica_run *run) {
    (void)run;
    note("start");
}

static void a_condition_is_asked_before_start_and_run(void **state) {
    (void)state;
    answer = false;
    add((mica_system_def){
        .name = "a", .condition = ask, .start = note_start, .also_count = 1, .also = {{MICA_LAST, 0}}});
    step(1, 1);
    assert_string_equal(take_notes(), "? ?last");
    answer = true;
    step(1, 1);
    assert_string_equal(take_notes(), "? start 1 ?last 1");
}

static void a_condition_cannot_change_structure(void **state) {
    (void)state;
    answer = true;
    add((mica_system_def){.name = "exclusive", .condition = ask});
    step(1, 1);
    assert_int_equal(seen_result, MICA_LOCKED);
    assert_int_equal(mica_world_entity_count(world), 0);
}

static void a_condition_is_asked_at_turns_alone(void **state) {
    (void)state;
    answer = true;
    add((mica_system_def){.name = "a", .condition = ask, .every = 2, .gates = {mica_while(Phase, PLAYING)}});
    step(2, 1);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(2, 1);
    assert_string_equal(take_notes(), "? 2");
}

static void a_turn_that_a_condition_refuses_is_gone(void **state) {
    (void)state;
    answer = false;
    add((mica_system_def){.name = "a", .run = note_time, .condition = ask, .interval_seconds = 2});
    step(2, 1);
    answer = true;
    step(2, 1);
    assert_string_equal(take_notes(), "? ? 3:4"); // the time since the last run is whole
}

static void note_changed(mica_run *run) {
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            note("changed");
        }
    }
}

static void who_is_held_back_misses_no_change(void **state) {
    (void)state;
    answer = true;
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {1}));
    add((mica_system_def){.name = "a", .run = note_changed, .query = {mica_changed(Position)}, .condition = ask});
    step(2, 1);
    assert_string_equal(take_notes(), "? changed ?");
    answer = false;
    assert_int_equal(mica_set(world, entity, Position, {2}), MICA_OK);
    step(3, 1);
    answer = true;
    step(2, 1);
    assert_string_equal(take_notes(), "? ? ? ? changed ?");
}

static void count_removed(mica_run *run) {
    mica_each (run, it) {
        run_count += it.count;
    }
}

// Removed in ticks in which it has no turn, seen once in the next one in which it has.
static void a_system_with_a_rate_sees_each_removal_once(void **state) {
    (void)state;
    run_count = 0;
    add((mica_system_def){.name = "a", .run = count_removed, .query = {mica_removed(Position)}, .every = 4});
    step(1, 1);
    for (int32_t i = 0; i < 3; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Position, {1}));
        step(1, 1);
        assert_int_equal(mica_destroy(world, entity), MICA_OK);
        assert_int_equal(run_count, 0);
    }
    step(1, 1);
    assert_int_equal(run_count, 3);
    step(8, 1);
    assert_int_equal(run_count, 3);
}

static bool fail_condition(mica_run *run) {
    mica_run_fail(run, MICA_IO, "cannot be said");
    return true;
}

static bool leave_open(mica_run *run) {
    const mica_iter iter = mica_run_begin(run);
    return iter.open;
}

static int32_t told_count;

static void count_told(mica_world *in, const mica_plan_step *taken, void *user) {
    (void)in;
    (void)user;
    told_count += taken->system != NULL;
}

static void a_condition_that_fails_ends_the_tick(void **state) {
    (void)state;
    const mica_system a = add((mica_system_def){.name = "a", .condition = fail_condition});
    assert_int_equal(mica_world_step(world, 1), MICA_IO);
    assert_non_null(strstr(mica_last_error(), "system \"a\" failed in stage \"update\" of tick 0: cannot be said"));
    assert_int_equal(mica_system_remove(world, a), MICA_OK);
    add((mica_system_def){.name = "b", .query = {mica_read(Position)}, .condition = leave_open});
    assert_int_equal(mica_world_step(world, 1), MICA_LOCKED);
    assert_string_equal(take_notes(), "");
    assert_true(mica_alive(world, mica_create(world)));
}

static void only_who_has_run_is_told_of_to_those_who_watch(void **state) {
    (void)state;
    told_count = 0;
    answer = false;
    assert_int_equal(mica_world_watch_steps(world, count_told, NULL), MICA_OK);
    add((mica_system_def){.name = "a", .condition = ask});
    add((mica_system_def){.name = "b", .every = 4, .offset = 3});
    add((mica_system_def){.name = "c", .gates = {mica_while(Phase, PLAYING)}});
    step(3, 1);
    assert_int_equal(told_count, 0);
    step(1, 1);
    assert_int_equal(told_count, 1);
}

// State

static void add_all_kinds(mica_world *to) {
    const mica_system_def defs[] = {
        {.name = "third", .run = note_time, .every = 3},
        {.name = "interval", .run = note_time, .interval_seconds = 2.75},
        {.name = "enter", .run = note_tick, .gates = {mica_on_enter(Phase, PLAYING)}, .user = "enter"},
        {.name = "exit", .run = note_tick, .gates = {mica_on_exit(Phase, PLAYING)}, .user = "exit"},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        assert_int_not_equal(mica_system_add(to, &defs[i]).id, 0);
    }
}

static void run_on(mica_world *in) {
    for (int32_t i = 0; i < 7; i++) {
        if (i == 3) {
            assert_int_equal(mica_set_resource(in, Phase, {OVER}), MICA_OK);
        }
        assert_int_equal(mica_world_step(in, 1), MICA_OK);
    }
}

static void how_far_a_turn_is_comes_back_with_a_state(void **state) {
    (void)state;
    add_all_kinds(world);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    step(4, 1);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    take_notes();
    run_on(world);
    char first[sizeof(notes)];
    snprintf(first, sizeof(first), "%s", take_notes());
    assert_non_null(strstr(first, "exit7")); // and "enter" does not stand in it
    assert_null(strstr(first, "enter"));
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    run_on(world);
    assert_string_equal(take_notes(), first);
    mica_world *other = mica_world_create(&(mica_world_def){
        .name = "other", .allocator = test_allocator_hooks(&allocator), .schema = mica_world_schema(world)});
    add_all_kinds(other);
    assert_int_equal(mica_snapshot_restore(snapshot, other, NULL), MICA_OK);
    run_on(other);
    assert_string_equal(take_notes(), first);
    mica_world_destroy(other);
    mica_snapshot_release(snapshot);
}

static void a_system_that_has_no_rate_any_more_passes_over_its_time(void **state) {
    (void)state;
    const mica_system rated = add((mica_system_def){.name = "a", .run = note_time, .interval_seconds = 4});
    step(3, 1);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    assert_int_equal(mica_system_remove(world, rated), MICA_OK);
    const mica_system plain = add((mica_system_def){.name = "a", .run = note_time});
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_OK);
    step(1, 1);
    assert_string_equal(take_notes(), "3:1");
    mica_snapshot *without = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_system_remove(world, plain), MICA_OK);
    add((mica_system_def){.name = "a", .run = note_time, .interval_seconds = 2});
    assert_int_equal(mica_snapshot_restore(without, world, NULL), MICA_OK); // it begins anew
    step(2, 1);
    assert_string_equal(take_notes(), "5:2");
    mica_snapshot_release(without);
    mica_snapshot_release(snapshot);
}

MICA_STRUCT(Tally, {
    int64_t runs;
    double seconds;
});

static void tally(mica_run *run) {
    Tally *own = mica_run_state(run, Tally);
    own->runs++;
    own->seconds += (double)mica_delta_time(run);
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        for (int32_t i = 0; position != NULL && i < it.count; i++) {
            position[i].x += mica_delta_time(run) * (float)own->runs;
        }
    }
}

static bool by_lot(mica_run *run) {
    return mica_random_chance(mica_run_random(run), 0.5);
}

// What systems with all kinds of turns have made of a world after a while.
static uint64_t tally_on(int32_t thread_count) {
    mica_world *tallied = mica_world_create(
        &(mica_world_def){.name = "tallied", .thread_count = thread_count, .always_parallel = true, .seed = 7});
    for (int32_t i = 0; i < 50; i++) {
        mica_spawn(tallied, mica_value_of(Position, {(float)i}));
    }
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int32_t i = 0; i < 8; i++) {
        mica_system_def def = {.name = names[i], .run = tally, .state = mica_type_of(Tally)};
        def.query[0] = i == 3 ? mica_write(Position) : mica_without(Marked);
        def.every = i % 3 == 0 ? 2 + i : 0;
        def.interval_seconds = i % 3 == 1 ? 0.03 * (i + 1) : 0;
        def.condition = i % 2 == 0 ? by_lot : NULL;
        def.gates[0] = i > 5 ? mica_while(Phase, PLAYING) : (mica_gate){0};
        assert_int_not_equal(mica_system_add(tallied, &def).id, 0);
    }
    for (int32_t i = 0; i < 60; i++) {
        if (i % 20 == 10) {
            assert_int_equal(mica_set_resource(tallied, Phase, {PLAYING}), MICA_OK);
        } else if (i % 20 == 15) {
            assert_int_equal(mica_set_resource(tallied, Phase, {OVER}), MICA_OK);
        }
        assert_int_equal(mica_world_step(tallied, 0.1f), MICA_OK);
    }
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(tallied, NULL, &checksum), MICA_OK);
    const Tally *last = mica_system_state(tallied, mica_system_find(tallied, "h"));
    assert_true(last->runs > 0 && last->runs < 16);
    mica_world_destroy(tallied);
    return checksum;
}

static void turns_are_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    const uint64_t alone = tally_on(1);
    assert_int_equal(tally_on(2), alone);
    assert_int_equal(tally_on(4), alone);
}

// Beside ticks

static void steps_of_a_paused_world_count_for_those_who_go_on(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .interval_seconds = 2, .runs_while_paused = true, .user = "a"});
    add((mica_system_def){.name = "b", .interval_seconds = 2, .user = "b"});
    add((mica_system_def){.name = "c", .every = 2, .runs_while_paused = true, .user = "c"});
    step(1, 1);
    assert_string_equal(take_notes(), "c0");
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(mica_world_step_paused(world, 1), MICA_OK);
    }
    assert_string_equal(take_notes(), "a1 c1 a1 c1"); // every other step, though the number of ticks stands still
    step(2, 1);
    assert_string_equal(take_notes(), "a1 b1 c2");
}

static void a_single_system_is_stepped_whatever_its_turn(void **state) {
    (void)state;
    answer = false;
    const mica_system system = add((mica_system_def){
        .name = "a", .run = note_time, .interval_seconds = 8, .condition = ask, .gates = {mica_while(Phase, PLAYING)}});
    assert_int_equal(mica_world_step_system(world, system, 1), MICA_OK);
    assert_string_equal(take_notes(), "0:1");
}

static void the_plan_says_when_systems_have_their_turns(void **state) {
    (void)state;
    add((mica_system_def){.name = "a", .every = 4, .offset = 1, .query = {mica_read(Position)}});
    add((mica_system_def){.name = "b", .every = 4, .query = {mica_write(Position)}, .condition = ask});
    add((mica_system_def){.name = "c", .interval_seconds = 0.5});
    add((mica_system_def){.name = "d", .gates = {mica_while(Phase, PLAYING), mica_on_enter(Sign, BELOW)}});
    add((mica_system_def){.name = "e", .gates = {mica_on_exit(Sign, 7)}, .query = {mica_with(Marked)}});
    char text[512];
    mica_world_plan(world, text, sizeof(text));
    assert_string_equal(text, "stage update\n"
                              "  a (every 4 ticks from 1)\n"
                              "  b (every 4 ticks, on condition, waits for a)\n"
                              "  c (exclusive, every 0.5 s)\n"
                              "  d (exclusive, while Phase is PLAYING, when Sign becomes BELOW)\n"
                              "  e (when Sign is no longer 7)\n"
                              "  barrier\n");
}

static char finding[768];

static void keep_finding(const mica_diagnosis *diagnosis, void *user) {
    (void)user;
    assert_int_equal(diagnosis->kind, MICA_DIAGNOSIS_SYSTEM);
    snprintf(finding, sizeof(finding), "%s", diagnosis->text);
}

static void why_a_system_has_no_turn_is_a_diagnosis(void **state) {
    (void)state;
    answer = false;
    const mica_system a = add((mica_system_def){.name = "a", .condition = ask});
    step(1, 1);
    assert_int_equal(mica_world_diagnose(world, keep_finding, NULL), 1);
    assert_string_equal(finding, "system \"a\" has not run in any of 1 ticks since it was added: its condition did not "
                                 "hold at its last turn");
    assert_int_equal(mica_system_remove(world, a), MICA_OK);
    const mica_system b = add((mica_system_def){.name = "b", .gates = {mica_while(Phase, PLAYING)}});
    step(2, 1);
    assert_int_equal(mica_world_diagnose(world, keep_finding, NULL), 1);
    assert_string_equal(finding,
                        "system \"b\" has not run in any of 2 ticks since it was added: it runs while Phase is "
                        "PLAYING, which was not so in the last tick");
    assert_int_equal(mica_system_remove(world, b), MICA_OK);
    add((mica_system_def){.name = "c", .interval_seconds = 100});
    step(2, 1);
    assert_int_equal(mica_world_diagnose(world, keep_finding, NULL), 0); // its turn will come
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(every_so_many_ticks_goes_by_their_number),
        CASE(the_time_of_a_turn_is_that_since_the_last_run),
        CASE(intervals_do_not_drift),
        CASE(an_interval_between_two_ticks_comes_in_the_nearer_one),
        CASE(an_interval_shorter_than_a_tick_has_one_turn_a_tick_and_none_later),
        CASE(time_counts_only_while_a_system_is_enabled),
        CASE(a_tick_that_fails_counts_for_nothing),
        CASE(bad_rates_are_refused),
        CASE(a_state_changes_who_runs_from_the_next_tick_on),
        CASE(entering_and_leaving_a_state_is_one_turn),
        CASE(a_disabled_system_makes_up_for_no_entering),
        CASE(all_gates_have_to_agree),
        CASE(bad_gates_are_refused),
        CASE(a_condition_is_asked_before_start_and_run),
        CASE(a_condition_cannot_change_structure),
        CASE(a_condition_is_asked_at_turns_alone),
        CASE(a_turn_that_a_condition_refuses_is_gone),
        CASE(who_is_held_back_misses_no_change),
        CASE(a_system_with_a_rate_sees_each_removal_once),
        CASE(a_condition_that_fails_ends_the_tick),
        CASE(only_who_has_run_is_told_of_to_those_who_watch),
        CASE(how_far_a_turn_is_comes_back_with_a_state),
        CASE(a_system_that_has_no_rate_any_more_passes_over_its_time),
        CASE(turns_are_the_same_on_any_number_of_threads),
        CASE(steps_of_a_paused_world_count_for_those_who_go_on),
        CASE(a_single_system_is_stepped_whatever_its_turn),
        CASE(the_plan_says_when_systems_have_their_turns),
        CASE(why_a_system_has_no_turn_is_a_diagnosis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
