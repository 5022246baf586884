// Several worlds under a manager.
#include <mica/mica.h>
#include <mica/snapshot.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_STRUCT(Coin, { int32_t value; });

static test_allocator memory;
static mica_worlds *worlds;
static mica_place places[3];          // of "a", "b" and "c"
static char trace[256];               // names of worlds whose ticks ran, and of those that ended
static void (*inside)(mica_run *run); // what world "a" does in a tick

static void tick(mica_run *run) {
    strcat(trace, mica_world_name(mica_run_world(run)));
    if (inside != NULL && strcmp(mica_world_name(mica_run_world(run)), "a") == 0) {
        inside(run);
    }
}

static void ended(mica_run *run) {
    strcat(trace, "-");
    strcat(trace, mica_world_name(mica_run_world(run)));
}

static mica_world *make_world(const char *name) {
    mica_world *world = mica_world_create(
        &(mica_world_def){.name = name, .fixed_delta_seconds = 0.25, .allocator = test_allocator_hooks(&memory)});
    assert_non_null(world);
    const mica_system_def def = {.name = "tick", .run = tick, .stop = ended};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    return world;
}

static int set_up(void **state) {
    (void)state;
    test_allocator_init(&memory);
    const mica_allocator hooks = test_allocator_hooks(&memory);
    worlds = mica_worlds_create(&hooks);
    assert_non_null(worlds);
    static const char *const names[] = {"a", "b", "c"};
    for (int32_t i = 0; i < 3; i++) {
        places[i] = mica_worlds_add(worlds, &(mica_place_def){.world = make_world(names[i])});
        assert_int_not_equal(places[i].id, 0);
    }
    trace[0] = '\0';
    inside = NULL;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_worlds_destroy(worlds);
    worlds = NULL;
    test_allocator_finish(&memory);
    return 0;
}

static void expect_trace(const char *expected) {
    assert_string_equal(trace, expected);
    trace[0] = '\0';
}

static void advance(double seconds) {
    assert_int_equal(mica_worlds_advance(worlds, seconds), MICA_OK);
}

static void all_worlds_advance_by_the_same_time(void **state) {
    (void)state;
    advance(0.5);
    expect_trace("aabbcc");
    const mica_place_info info = mica_worlds_describe(worlds, places[1]);
    assert_int_equal(info.tick_count, 2);
    assert_int_equal(info.result, MICA_OK);
    assert_string_equal(info.name, "b");
    assert_ptr_equal(info.world, mica_worlds_world(worlds, places[1]));
    assert_int_equal(mica_world_tick(info.world), 2);
    advance(0.125);
    expect_trace("");
    assert_int_equal(mica_worlds_describe(worlds, places[1]).tick_count, 0);
}

static void the_order_decides_then_who_came_first(void **state) {
    (void)state;
    assert_int_equal(mica_worlds_set_order(worlds, places[2], -1), MICA_OK);
    advance(0.25);
    expect_trace("cab");
    assert_int_equal(mica_worlds_set_order(worlds, places[0], 5), MICA_OK);
    advance(0.25);
    expect_trace("cba");
    assert_int_equal(mica_worlds_set_order(worlds, places[1], 5), MICA_OK);
    advance(0.25);
    expect_trace("cab");
    mica_place listed[2];
    assert_int_equal(mica_worlds_list(worlds, listed, 2), 3);
    assert_int_equal(listed[0].id, places[2].id);
    assert_int_equal(listed[1].id, places[0].id);
    assert_int_equal(mica_worlds_describe(worlds, places[0]).order, 5);
    const mica_place_def def = {.world = make_world("d"), .order = 2};
    assert_int_not_equal(mica_worlds_add(worlds, &def).id, 0);
    advance(0.25);
    expect_trace("cdab");
}

static void a_place_that_is_disabled_stands_still(void **state) {
    (void)state;
    assert_int_equal(mica_worlds_enable(worlds, places[0], false), MICA_OK);
    advance(10);
    expect_trace("bbbbbbbbcccccccc");
    assert_false(mica_worlds_describe(worlds, places[0]).enabled);
    assert_int_equal(mica_worlds_enable(worlds, places[0], true), MICA_OK);
    advance(0.25);
    expect_trace("abc"); // nothing is made up for
    const mica_place_def def = {.world = make_world("d"), .disabled = true};
    assert_int_not_equal(mica_worlds_add(worlds, &def).id, 0);
    advance(0.25);
    expect_trace("abc");
}

static void a_paused_world_is_paused_alone(void **state) {
    (void)state;
    assert_int_equal(mica_world_pause(mica_worlds_world(worlds, places[1]), true), MICA_OK);
    advance(0.25);
    expect_trace("ac");
}

static void places_are_found(void **state) {
    (void)state;
    assert_int_equal(mica_worlds_find(worlds, "b").id, places[1].id);
    assert_int_equal(mica_worlds_find(worlds, "nobody").id, 0);
    assert_int_equal(mica_worlds_place_of(worlds, mica_worlds_world(worlds, places[2])).id, places[2].id);
    assert_int_equal(mica_worlds_place_of(worlds, NULL).id, 0);
    mica_world *world = make_world("d");
    const mica_place main_place = mica_worlds_add(worlds, &(mica_place_def){.name = "main", .world = world});
    assert_int_equal(mica_worlds_find(worlds, "main").id, main_place.id);
    assert_int_equal(mica_worlds_find(worlds, "d").id, 0);
}

static void a_world_that_is_replaced_ends_and_the_place_stays(void **state) {
    (void)state;
    advance(0.25);
    trace[0] = '\0';
    mica_world *next = make_world("level 2");
    assert_int_equal(mica_worlds_replace(worlds, places[0], next), MICA_OK);
    expect_trace("-a");
    assert_string_equal(mica_worlds_describe(worlds, places[0]).name, "a");
    assert_ptr_equal(mica_worlds_world(worlds, places[0]), next);
    advance(0.25);
    expect_trace("level 2bc");
}

static void a_world_that_is_taken_is_the_callers(void **state) {
    (void)state;
    mica_world *taken = mica_worlds_take(worlds, places[1]);
    assert_non_null(taken);
    assert_int_equal(mica_worlds_find(worlds, "b").id, 0);
    advance(0.25);
    expect_trace("ac");
    mica_world_destroy(taken);
}

static void contents_are_exchanged_where_systems_stay(void **state) {
    (void)state;
    mica_world *game = mica_world_create(&(mica_world_def){.name = "game"});
    mica_world *aside = mica_world_create(&(mica_world_def){.name = "aside", .schema = mica_world_schema(game)});
    assert_int_not_equal(mica_worlds_add(worlds, &(mica_place_def){.world = game}).id, 0);
    assert_int_not_equal(mica_worlds_add(worlds, &(mica_place_def){.world = aside, .disabled = true}).id, 0);
    const mica_entity coin = mica_spawn(aside, mica_value_of(Coin, {5}));
    assert_int_equal(mica_world_swap(game, aside), MICA_OK);
    assert_int_equal(mica_get(game, coin, Coin)->value, 5);
    advance(0.25);
}

// Failures

static void fail_tick(mica_run *run) {
    mica_run_fail(run, MICA_IO, "as asked");
}

static void one_that_fails_does_not_keep_the_others_from_their_turn(void **state) {
    (void)state;
    inside = fail_tick;
    assert_int_equal(mica_worlds_advance(worlds, 0.25), MICA_IO);
    expect_trace("abc");
    assert_non_null(strstr(mica_last_error(), "\"a\""));
    assert_non_null(strstr(mica_last_error(), "as asked"));
    assert_int_equal(mica_worlds_describe(worlds, places[0]).result, MICA_IO);
    assert_int_equal(mica_worlds_describe(worlds, places[2]).result, MICA_OK);
}

// Inside a tick

static void remove_self(mica_run *run) {
    (void)run;
    assert_int_equal(mica_worlds_remove(worlds, places[0]), MICA_OK);
    assert_int_equal(mica_worlds_find(worlds, "a").id, 0);
}

static void a_world_that_removes_itself_ends_when_all_have_advanced(void **state) {
    (void)state;
    inside = remove_self;
    advance(0.75); // the second and third tick do not run
    expect_trace("abbbccc-a");
    advance(0.25);
    expect_trace("bc");
}

static void remove_next(mica_run *run) {
    (void)run;
    assert_int_equal(mica_worlds_remove(worlds, places[1]), MICA_OK);
    inside = NULL;
}

static void a_world_that_is_removed_before_its_turn_is_not_advanced(void **state) {
    (void)state;
    advance(0.25);
    trace[0] = '\0';
    inside = remove_next;
    advance(0.25);
    expect_trace("a-bc");
}

static void replace_self(mica_run *run) {
    assert_int_equal(mica_worlds_replace(worlds, places[0], make_world("x")), MICA_OK);
    // It is the manager's until its tick has ended.
    assert_int_equal(mica_worlds_add(worlds, &(mica_place_def){.name = "y", .world = mica_run_world(run)}).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    mica_worlds_destroy(worlds);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    inside = NULL;
}

static void a_world_that_replaces_itself_ends_and_the_next_call_advances_the_other(void **state) {
    (void)state;
    inside = replace_self;
    advance(0.5);
    expect_trace("abbcc-a");
    advance(0.25);
    expect_trace("xbc");
}

static void add_more(mica_run *run) {
    (void)run;
    static char names[20][4];
    for (int32_t i = 0; i < 20; i++) {
        names[i][0] = (char)('A' + i);
        const mica_place_def def = {.world = make_world(names[i])};
        assert_int_not_equal(mica_worlds_add(worlds, &def).id, 0);
    }
    inside = NULL;
}

static void places_that_are_added_wait_for_the_next_call(void **state) {
    (void)state;
    inside = add_more;
    advance(0.25);
    expect_trace("abc");
    advance(0.25);
    expect_trace("abcABCDEFGHIJKLMNOPQRST");
}

static void disable_self_and_next(mica_run *run) {
    (void)run;
    assert_int_equal(mica_worlds_enable(worlds, places[0], false), MICA_OK);
    assert_int_equal(mica_worlds_enable(worlds, places[1], false), MICA_OK);
    assert_int_equal(mica_worlds_set_order(worlds, places[2], -5), MICA_OK);
}

static void a_world_that_is_disabled_runs_no_further_tick(void **state) {
    (void)state;
    inside = disable_self_and_next;
    advance(0.625);
    expect_trace("acc");
    assert_int_equal(mica_worlds_enable(worlds, places[0], true), MICA_OK);
    inside = NULL;
    assert_true(mica_world_alpha(mica_worlds_world(worlds, places[0])) == 0.5);
    advance(0.125);
    expect_trace("ca");
}

static void use_the_manager(mica_run *run) {
    (void)run;
    assert_int_equal(mica_worlds_advance(worlds, 0.25), MICA_LOCKED);
    assert_null(mica_worlds_take(worlds, places[1]));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    mica_worlds_destroy(worlds);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
}

static void the_manager_is_not_ended_or_advanced_inside(void **state) {
    (void)state;
    inside = use_the_manager;
    advance(0.25);
    expect_trace("abc");
}

static void step_other(mica_run *run) {
    (void)run;
    assert_int_equal(mica_world_step(mica_worlds_world(worlds, places[1]), 0.25f), MICA_OK);
    assert_int_equal(mica_world_advance(mica_worlds_world(worlds, places[2]), 0.25), 1);
}

static void a_system_may_step_another_world_of_the_manager(void **state) {
    (void)state;
    inside = step_other;
    advance(0.25);
    expect_trace("abcbc");
    assert_int_equal(mica_world_tick(mica_worlds_world(worlds, places[1])), 2);
}

static void a_world_that_removes_itself_in_a_tick_of_its_own_ends_later(void **state) {
    (void)state;
    inside = remove_self;
    assert_int_equal(mica_world_step(mica_worlds_world(worlds, places[0]), 0.25f), MICA_OK);
    expect_trace("a");
    assert_int_equal(mica_worlds_remove(worlds, places[1]), MICA_OK);
    expect_trace("-a"); // "b" was never started
}

static void remove_last(mica_run *run) {
    ended(run);
    (void)mica_worlds_remove(worlds, places[2]);
}

static void a_world_that_ends_may_end_others(void **state) {
    (void)state;
    const mica_system_def def = {.name = "chain", .run = tick, .stop = remove_last};
    assert_int_not_equal(mica_system_add(mica_worlds_world(worlds, places[0]), &def).id, 0);
    advance(0.25);
    trace[0] = '\0';
    assert_int_equal(mica_worlds_remove(worlds, places[0]), MICA_OK);
    expect_trace("-a-a-c");
    advance(0.25);
    expect_trace("b");
}

static void those_added_last_end_first(void **state) {
    (void)state;
    advance(0.25);
    trace[0] = '\0';
    assert_int_equal(mica_worlds_set_order(worlds, places[2], -1), MICA_OK);
    mica_worlds_destroy(worlds);
    worlds = NULL;
    expect_trace("-c-b-a");
}

// What a world is

static void ask(mica_run *run) {
    const mica_world *world = mica_run_world(run);
    assert_int_equal(mica_world_kind_of(world), MICA_WORLD_SIMULATION);
    assert_int_equal(mica_world_net_mode(world), MICA_NET_SERVER);
    assert_int_equal(mica_world_set_net_mode(mica_run_world(run), MICA_NET_NONE), MICA_LOCKED);
    strcat(trace, "asked");
}

static void systems_ask_what_their_world_is(void **state) {
    (void)state;
    mica_world *world =
        mica_world_create(&(mica_world_def){.kind = MICA_WORLD_SIMULATION, .net_mode = MICA_NET_SERVER});
    const mica_system_def def = {.name = "ask", .run = ask, .query = {mica_read(Coin)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    expect_trace("asked");
    mica_world *client = mica_world_create(
        &(mica_world_def){.kind = MICA_WORLD_OWN + 3, .net_mode = MICA_NET_CLIENT, .schema = mica_world_schema(world)});
    assert_int_equal(mica_world_copy(client, world), MICA_OK);
    assert_int_equal(mica_world_net_mode(client), MICA_NET_CLIENT); // no state
    assert_int_equal(mica_world_kind_of(client), MICA_WORLD_OWN + 3);
    assert_int_equal(mica_world_set_net_mode(client, MICA_NET_LISTEN_SERVER), MICA_OK);
    assert_int_equal(mica_world_net_mode(client), MICA_NET_LISTEN_SERVER);
    assert_int_equal(mica_world_set_net_mode(client, (mica_net_mode)4), MICA_INVALID);
    assert_int_equal(mica_world_set_net_mode(NULL, MICA_NET_NONE), MICA_INVALID);
    assert_null(mica_world_create(&(mica_world_def){.net_mode = (mica_net_mode)7}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_world_kind_of(NULL), MICA_WORLD_GAME);
    assert_int_equal(mica_world_net_mode(NULL), MICA_NET_NONE);
    mica_world_destroy(client);
    mica_world_destroy(world);
}

// Misuse and memory

static void misuse_is_refused(void **state) {
    (void)state;
    const mica_place nowhere = {99};
    mica_world *a = mica_worlds_world(worlds, places[0]);
    assert_int_equal(mica_worlds_add(worlds, &(mica_place_def){.name = "again", .world = a}).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    mica_world *other = make_world("a");
    assert_int_equal(mica_worlds_add(worlds, &(mica_place_def){.world = other}).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    mica_world_destroy(other);
    assert_int_equal(mica_worlds_add(worlds, NULL).id, 0);
    assert_int_equal(mica_worlds_add(NULL, &(mica_place_def){.world = a}).id, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_worlds_replace(worlds, places[1], a), MICA_EXISTS);
    assert_int_equal(mica_worlds_replace(worlds, places[1], NULL), MICA_INVALID);
    assert_int_equal(mica_worlds_replace(worlds, nowhere, a), MICA_UNKNOWN);
    assert_int_equal(mica_worlds_remove(worlds, nowhere), MICA_UNKNOWN);
    assert_int_equal(mica_worlds_enable(worlds, nowhere, true), MICA_UNKNOWN);
    assert_int_equal(mica_worlds_set_order(NULL, places[0], 1), MICA_UNKNOWN);
    assert_null(mica_worlds_take(worlds, nowhere));
    assert_null(mica_worlds_world(worlds, nowhere));
    assert_null(mica_worlds_describe(worlds, nowhere).name);
    assert_int_equal(mica_worlds_list(NULL, NULL, 0), 0);
    assert_null(mica_worlds_create(&(mica_allocator){.allocate = test_allocator_hooks(&memory).allocate}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_worlds_advance(NULL, 1), MICA_INVALID);
    assert_int_equal(mica_worlds_advance(worlds, -1), MICA_INVALID);
    assert_int_equal(mica_worlds_advance(worlds, NAN), MICA_INVALID);
    mica_worlds_destroy(NULL);
    expect_trace("");
}

static void advancing_allocates_nothing(void **state) {
    (void)state;
    advance(0.25);
    test_allocator_fail_at(&memory, 1);
    advance(0.25);
    assert_false(test_allocator_fail_stop(&memory));
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(all_worlds_advance_by_the_same_time),
        CASE(the_order_decides_then_who_came_first),
        CASE(a_place_that_is_disabled_stands_still),
        CASE(a_paused_world_is_paused_alone),
        CASE(places_are_found),
        CASE(a_world_that_is_replaced_ends_and_the_place_stays),
        CASE(a_world_that_is_taken_is_the_callers),
        CASE(contents_are_exchanged_where_systems_stay),
        CASE(one_that_fails_does_not_keep_the_others_from_their_turn),
        CASE(a_world_that_removes_itself_ends_when_all_have_advanced),
        CASE(a_world_that_is_removed_before_its_turn_is_not_advanced),
        CASE(a_world_that_replaces_itself_ends_and_the_next_call_advances_the_other),
        CASE(places_that_are_added_wait_for_the_next_call),
        CASE(a_world_that_is_disabled_runs_no_further_tick),
        CASE(the_manager_is_not_ended_or_advanced_inside),
        CASE(a_system_may_step_another_world_of_the_manager),
        CASE(a_world_that_removes_itself_in_a_tick_of_its_own_ends_later),
        CASE(a_world_that_ends_may_end_others),
        CASE(those_added_last_end_first),
        CASE(systems_ask_what_their_world_is),
        CASE(misuse_is_refused),
        CASE(advancing_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
