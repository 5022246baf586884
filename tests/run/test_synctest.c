// SyncTest: what does not repeat itself is named, and what does is left alone.
#include "run/tick_world.h"

#include <stdlib.h>

static mica_world *world;
static mica_entity first_entity;

static int set_up(void **state) {
    (void)state;
    world = tick_world_open(NULL);
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Place)}, 1);
    first_entity = mica_query_first(query);
    mica_query_release(query);
    return mica_entity_is_null(first_entity);
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(world);
    return 0;
}

// Adds a system that is not as it should be, behind "move".
static void add_cheat(void (*run)(mica_run *run)) {
    const mica_system_def def = {
        .name = "cheat", .run = run, .after = {"move"}, .query = {mica_write(Place), mica_write(Speed)}};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
}

// Steps until something is found, a few ticks at most.
static mica_result find(int32_t tick_count, mica_synctest_difference *difference) {
    mica_synctest *test = mica_synctest_create(world, tick_count);
    assert_non_null(test);
    mica_result result = MICA_OK;
    for (int32_t i = 0; i < 6 && result == MICA_OK; i++) {
        tick_post(world);
        result = mica_synctest_step(test, 0.25f, difference);
    }
    mica_synctest_destroy(test);
    return result;
}

static void assert_found(const mica_synctest_difference *difference, const char *system, mica_type *type,
                         const char *field) {
    assert_string_equal(difference->system, system);
    assert_int_equal(difference->state.kind, MICA_DIFFERENCE_VALUE);
    assert_int_equal(difference->state.component, mica_world_component(world, type));
    assert_string_equal(difference->state.path, field);
    assert_non_null(strstr(mica_last_error(), system));
    assert_non_null(strstr(mica_last_error(), field));
}

static void ticks_that_repeat_themselves_pass_and_leave_the_world_as_it_would_be(void **state) {
    (void)state;
    for (int32_t tick_count = 1; tick_count <= 5; tick_count += 2) {
        mica_world *plain = tick_world_open(NULL);
        mica_world *tested = tick_world_open(NULL);
        mica_synctest *test = mica_synctest_create(tested, tick_count);
        for (int32_t i = 0; i < 12; i++) {
            tick_post(plain);
            tick_post(tested);
            if (i == 5) { // what the program does between ticks is repeated
                mica_spawn(plain, mica_value_of(Place, {.x = 1}));
                mica_spawn(tested, mica_value_of(Place, {.x = 1}));
            }
            assert_int_equal(mica_world_step(plain, 0.5f), MICA_OK);
            mica_synctest_difference difference;
            if (mica_synctest_step(test, 0.5f, &difference) != MICA_OK) {
                fail_msg("%s", mica_last_error());
            }
            tick_assert_equal(plain, tested);
            assert_int_equal(mica_world_validate(tested), MICA_OK);
        }
        mica_synctest_destroy(test);
        mica_world_destroy(tested);
        mica_world_destroy(plain);
    }
}

static void count_statically(mica_run *run) {
    static float count;
    count += 1;
    mica_each (run, it) {
        mica_write_of(it, Speed)[0].y = count;
    }
}

static void a_static_counter_is_found(void **state) {
    (void)state;
    add_cheat(count_statically);
    mica_synctest_difference difference;
    assert_int_equal(find(1, &difference), MICA_MISMATCH);
    assert_found(&difference, "cheat", mica_type_of(Speed), "y");
    assert_int_equal(difference.tick, 0);
    assert_int_equal(difference.run_number, 1);
    assert_int_equal(difference.state.entity.bits, first_entity.bits);
    assert_string_equal(difference.stage, "update");
    assert_false(difference.in_commands);
}

static void roll(mica_run *run) {
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            mica_write_of(it, Place)[i].x += (float)(rand() % 1000);
        }
    }
}

static void random_numbers_of_the_c_library_are_found(void **state) {
    (void)state;
    add_cheat(roll);
    mica_synctest_difference difference;
    assert_int_equal(find(3, &difference), MICA_MISMATCH);
    assert_found(&difference, "cheat", mica_type_of(Place), "x");
}

static void write_address(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        place[0].y = (double)((uintptr_t)place >> 4);
    }
}

static void the_value_of_a_pointer_is_found(void **state) {
    (void)state;
    add_cheat(write_address);
    mica_synctest_difference difference;
    assert_int_equal(find(2, &difference), MICA_MISMATCH);
    assert_found(&difference, "cheat", mica_type_of(Place), "y");
}

static void write_padding(mica_run *run) {
    static uint8_t count;
    count++;
    mica_each (run, it) {
        uint8_t *bytes = (uint8_t *)(mica_write_of(it, Place));
        memset(bytes + offsetof(Place, turns) + 1, count, offsetof(Place, y) - offsetof(Place, turns) - 1);
    }
}

static void padding_is_nobodys_business(void **state) {
    (void)state;
    add_cheat(write_padding);
    mica_synctest_difference difference;
    assert_int_equal(find(3, &difference), MICA_OK);
}

static void spawn_some(mica_run *run) {
    static int32_t count;
    for (int32_t i = 0; i < count; i++) {
        mica_spawn(mica_run_commands(run), mica_value_of(Ore, {i}));
    }
    count++;
}

static void commands_that_differ_are_found_where_they_are_applied(void **state) {
    (void)state;
    add_cheat(spawn_some);
    mica_synctest_difference difference;
    assert_int_equal(find(1, &difference), MICA_MISMATCH);
    assert_true(difference.in_commands);
    assert_string_equal(difference.system, "cheat");
    assert_int_equal(difference.state.kind, MICA_DIFFERENCE_ENTITY);
}

// Does something else in the third run of a tick.
static void count_late(mica_run *run) {
    static int32_t runs[8];
    const int32_t number = ++runs[mica_run_tick(run) % 8];
    mica_each (run, it) {
        mica_write_of(it, Speed)[0].x = number > 2 ? 1 : 0;
    }
}

static void what_differs_in_a_later_run_alone_is_found(void **state) {
    (void)state;
    add_cheat(count_late);
    mica_synctest_difference difference;
    assert_int_equal(find(1, &difference), MICA_OK); // no tick runs more than twice
    assert_int_equal(find(2, &difference), MICA_MISMATCH);
    assert_int_equal(difference.run_number, 2);
    assert_found(&difference, "cheat", mica_type_of(Speed), "x");
}

static void fail_again(mica_run *run) {
    static int32_t count;
    if (++count == 4) {
        mica_run_fail(run, MICA_FAILED, "once too often");
    }
}

static void a_tick_that_fails_when_it_is_run_again_is_found(void **state) {
    (void)state;
    add_cheat(fail_again);
    mica_synctest_difference difference;
    assert_int_equal(find(1, &difference), MICA_MISMATCH);
    assert_int_equal(difference.tick, 1);
}

static void count_steps(mica_world *watched, const mica_plan_step *step, void *user) {
    (void)watched;
    (void)step;
    (*(int32_t *)user)++;
}

static void whoever_watches_steps_goes_on_watching(void **state) {
    (void)state;
    int32_t count = 0;
    assert_int_equal(mica_world_watch_steps(world, count_steps, &count), MICA_OK);
    mica_synctest *test = mica_synctest_create(world, 1);
    assert_int_equal(mica_synctest_step(test, 1, NULL), MICA_OK);
    mica_synctest_destroy(test);
    const int32_t twice = count;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(count, twice + twice / 2);
}

static void misuse_is_refused(void **state) {
    (void)state;
    assert_null(mica_synctest_create(NULL, 1));
    assert_null(mica_synctest_create(world, 0));
    assert_null(mica_synctest_create(world, MICA_SYNCTEST_TICKS_MAX + 1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_synctest_step(NULL, 1, NULL), MICA_INVALID);
    mica_synctest_destroy(NULL);
    mica_synctest *test = mica_synctest_create(world, 1);
    assert_int_equal(mica_synctest_step(test, -1, NULL), MICA_INVALID);
    assert_int_equal(mica_synctest_step(test, 1, NULL), MICA_OK);
    mica_synctest_destroy(test);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(ticks_that_repeat_themselves_pass_and_leave_the_world_as_it_would_be),
        CASE(a_static_counter_is_found),
        CASE(random_numbers_of_the_c_library_are_found),
        CASE(the_value_of_a_pointer_is_found),
        CASE(padding_is_nobodys_business),
        CASE(commands_that_differ_are_found_where_they_are_applied),
        CASE(what_differs_in_a_later_run_alone_is_found),
        CASE(a_tick_that_fails_when_it_is_run_again_is_found),
        CASE(whoever_watches_steps_goes_on_watching),
        CASE(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
