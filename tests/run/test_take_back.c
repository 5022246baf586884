// Ticks that fail are taken back on request.
#include "run/tick_world.h"

#include <mica/event.h>

MICA_STRUCT(Noise, { int32_t loud; });

static mica_world *world;
static mica_world *twin; // as the world was before the tick that fails
static bool fail_now;
static bool remove_now;
static bool add_now;
static bool post_now;
static int32_t start_count;
static int32_t stop_count;
static int32_t stop_entity_count; // seen by the stop function
static int32_t noise_sum;

static void nothing(mica_run *run) {
    (void)run;
}

// Changes what it can, then fails, when the barriers of this tick have applied what others have recorded.
static void spoil(mica_run *run) {
    mica_world *own = mica_run_world(run);
    if (post_now) {
        assert_int_equal(mica_post(mica_world_inbox(own), Noise, {100}), MICA_OK);
    }
    if (add_now) {
        assert_int_not_equal(mica_system_add(own, &(mica_system_def){.name = "added", .run = nothing}).id, 0);
    }
    if (remove_now) {
        assert_int_equal(mica_system_remove(own, mica_run_system(run)), MICA_OK);
    }
    if (fail_now) {
        mica_spawn(own, mica_value_of(Place, {0}));
        (void)mica_random_next(mica_world_random(own));
        (void)mica_send(own, Push, {1, 2}); // memory may be short
        mica_system_enable(own, mica_system_find(own, "cool"), false);
        mica_run_fail(run, MICA_IO, "spoilt");
    }
}

static void start_spoil(mica_run *run) {
    start_count++;
    (void)mica_spawn(mica_run_world(run), mica_value_of(Place, {.x = 9}));
}

static void stop_spoil(mica_run *run) {
    stop_count++;
    stop_entity_count = mica_world_entity_count(mica_run_world(run));
}

static void listen(mica_run *run) {
    mica_event_reader *noises = mica_run_events(run, Noise);
    for (const Noise *noise; (noise = mica_next_event(noises, Noise)) != NULL;) {
        noise_sum += noise->loud;
    }
}

static mica_world *open_world(const mica_world_def *def) {
    mica_world *opened = tick_world_open(def);
    assert_int_not_equal(mica_register(opened, Noise), 0);
    const mica_system_def systems[] = {
        {.name = "spoil", .run = spoil, .stage = MICA_LAST, .start = start_spoil, .stop = stop_spoil},
        {.name = "listen", .run = listen, .stage = MICA_FIRST},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        assert_int_not_equal(mica_system_add(opened, &systems[i]).id, 0);
    }
    return opened;
}

static int set_up(void **state) {
    (void)state;
    fail_now = false;
    remove_now = false;
    add_now = false;
    post_now = false;
    start_count = 0;
    stop_count = 0;
    noise_sum = 0;
    world = open_world(NULL);
    twin = open_world(&(mica_world_def){.schema = mica_world_schema(world)});
    assert_int_equal(mica_world_restore_failed_ticks(world, true, NULL), MICA_OK);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mica_world_destroy(world);
    mica_world_destroy(twin);
    world = NULL;
    twin = NULL;
    return 0;
}

static void step(mica_result expected) {
    assert_int_equal(mica_world_step(world, 0.25f), expected);
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void a_tick_that_fails_leaves_the_world_as_it_was(void **state) {
    (void)state;
    for (int32_t i = 0; i < 5; i++) {
        step(MICA_OK);
    }
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    fail_now = true;
    step(MICA_IO);
    assert_non_null(strstr(mica_last_error(), "spoil"));
    assert_non_null(strstr(mica_last_error(), "spoilt"));
    assert_null(strstr(mica_last_error(), "restored"));
    tick_assert_equal(world, twin);
    assert_int_equal(mica_world_tick(world), 5);
}

static void a_world_goes_on_as_one_that_never_failed(void **state) {
    (void)state;
    step(MICA_OK);
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    for (int32_t i = 0; i < 20; i++) {
        fail_now = true;
        step(MICA_IO);
        fail_now = false;
        step(MICA_OK);
        assert_int_equal(mica_world_step(twin, 0.25f), MICA_OK);
        tick_assert_equal(world, twin);
    }
}

static void what_fails_stays_where_nobody_asked(void **state) {
    (void)state;
    step(MICA_OK);
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    assert_int_equal(mica_world_restore_failed_ticks(world, false, NULL), MICA_OK);
    fail_now = true;
    step(MICA_IO);
    assert_int_not_equal(tick_checksum(world), tick_checksum(twin));
}

static void a_start_function_runs_again(void **state) {
    (void)state;
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    fail_now = true;
    step(MICA_IO);
    tick_assert_equal(world, twin);
    assert_int_equal(start_count, 1);
    fail_now = false;
    step(MICA_OK);
    assert_int_equal(start_count, 2);
}

static void a_system_that_was_removed_stays_so_and_is_stopped_in_the_old_world(void **state) {
    (void)state;
    step(MICA_OK);
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    fail_now = true;
    remove_now = true;
    add_now = true;
    step(MICA_IO);
    assert_int_equal(stop_count, 1);
    assert_int_equal(stop_entity_count, mica_world_entity_count(twin));
    assert_int_equal(mica_system_find(world, "spoil").id, 0);
    assert_int_not_equal(mica_system_find(world, "added").id, 0);
    assert_int_equal(mica_world_entity_count(world), mica_world_entity_count(twin));
    fail_now = false;
    remove_now = false;
    add_now = false;
    step(MICA_OK);
    assert_int_equal(stop_count, 1);
}

static void no_message_is_lost_or_heard_twice(void **state) {
    (void)state;
    step(MICA_OK);
    assert_int_equal(mica_post(mica_world_inbox(world), Noise, {1}), MICA_OK);
    fail_now = true;
    post_now = true;
    step(MICA_IO); // hears 1, which is taken back; meanwhile 100 comes in
    assert_int_equal(noise_sum, 1);
    fail_now = false;
    post_now = false;
    noise_sum = 0;
    step(MICA_OK);
    assert_int_equal(noise_sum, 101);
    step(MICA_OK);
    assert_int_equal(noise_sum, 101);
}

static int32_t coming_count;
static int32_t going_count;

static void count_coming(const mica_signal *signal) {
    (void)signal;
    coming_count++;
}

static void count_going(const mica_signal *signal) {
    (void)signal;
    going_count++;
}

static void observers_are_told_if_asked_for(void **state) {
    (void)state;
    assert_int_equal(mica_world_restore_failed_ticks(world, true, &(mica_restore_options){.tell = true}), MICA_OK);
    step(MICA_OK);
    coming_count = 0;
    going_count = 0;
    assert_int_not_equal(mica_observer_connect_to(world, MICA_ADDED, mica_type_of(Place), count_coming, NULL).id, 0);
    assert_int_not_equal(mica_observer_connect_to(world, MICA_REMOVED, mica_type_of(Place), count_going, NULL).id, 0);
    fail_now = true;
    step(MICA_IO);
    assert_true(coming_count > 0);
    assert_int_equal(going_count, coming_count);
}

static void steps_that_are_no_ticks_are_taken_back_too(void **state) {
    (void)state;
    step(MICA_OK);
    assert_int_equal(mica_stage_run_while_paused(world, MICA_LAST, true), MICA_OK);
    assert_int_equal(mica_world_copy(twin, world), MICA_OK);
    fail_now = true;
    assert_int_equal(mica_world_step_paused(world, 1), MICA_IO);
    tick_assert_equal(world, twin);
    assert_int_equal(mica_world_step_system(world, mica_system_find(world, "spoil"), 1), MICA_IO);
    tick_assert_equal(world, twin);
}

static void time_stays_due(void **state) {
    (void)state;
    fail_now = true;
    assert_int_equal(mica_world_advance(world, 2.5 / 60), -1);
    fail_now = false;
    assert_int_equal(mica_world_advance(world, 0), 2);
    assert_true(mica_world_alpha(world) > 0.4 && mica_world_alpha(world) < 0.6);
}

static void end_nothing(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
}
MICA_STRUCT_WITH(Unique, (.hooks = {.destruct = end_nothing}), { int32_t number; });

static void a_world_that_cannot_be_copied_does_not_begin_the_tick(void **state) {
    (void)state;
    step(MICA_OK);
    mica_spawn(world, mica_tag(Unique));
    step(MICA_NO_COPY);
    assert_non_null(strstr(mica_last_error(), "Unique"));
    assert_int_equal(mica_world_tick(world), 1);
    assert_int_equal(mica_world_restore_failed_ticks(world, false, NULL), MICA_OK);
    step(MICA_OK);
}

static void ask_inside(mica_run *run) {
    assert_int_equal(mica_world_restore_failed_ticks(mica_run_world(run), false, NULL), MICA_LOCKED);
}

static void it_is_asked_for_outside_ticks(void **state) {
    (void)state;
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "ask", .run = ask_inside}).id, 0);
    step(MICA_OK);
    assert_int_equal(mica_world_restore_failed_ticks(NULL, true, NULL), MICA_INVALID);
}

// Whichever allocation fails: the world is as it was, or the error says that it could not be brought back.
static void without_memory_the_world_is_as_it_was_or_says_so(void **state) {
    (void)state;
    bool was_refused = false;
    bool was_not_restored = false;
    for (uint64_t n = 1;; n++) {
        test_allocator allocator;
        test_allocator_init(&allocator);
        fail_now = false;
        mica_world *own = open_world(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
        mica_world *before = open_world(&(mica_world_def){.schema = mica_world_schema(own)});
        assert_int_equal(mica_world_restore_failed_ticks(own, true, NULL), MICA_OK);
        assert_int_equal(mica_world_step(own, 0.25f), MICA_OK);
        assert_int_equal(mica_world_copy(before, own), MICA_OK);
        fail_now = true;
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_world_step(own, 0.25f);
        const bool has_failed = test_allocator_fail_stop(&allocator);
        char error[512];
        (void)snprintf(error, sizeof(error), "%s", mica_last_error());
        assert_int_equal(mica_world_validate(own), MICA_OK);
        const bool is_restored = strstr(error, "could not be restored") == NULL;
        if (is_restored) {
            tick_assert_equal(own, before);
        }
        was_refused = was_refused || (result == MICA_OUT_OF_MEMORY && is_restored);
        was_not_restored = was_not_restored || !is_restored;
        fail_now = false;
        assert_int_equal(mica_world_step(own, 0.25f), MICA_OK);
        mica_world_destroy(before);
        mica_world_destroy(own);
        test_allocator_finish(&allocator);
        if (!has_failed) {
            assert_int_equal(result, MICA_IO);
            break;
        }
    }
    assert_true(was_refused);
    assert_true(was_not_restored);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_tick_that_fails_leaves_the_world_as_it_was),
        CASE(a_world_goes_on_as_one_that_never_failed),
        CASE(what_fails_stays_where_nobody_asked),
        CASE(a_start_function_runs_again),
        CASE(a_system_that_was_removed_stays_so_and_is_stopped_in_the_old_world),
        CASE(no_message_is_lost_or_heard_twice),
        CASE(observers_are_told_if_asked_for),
        CASE(steps_that_are_no_ticks_are_taken_back_too),
        CASE(time_stays_due),
        CASE(a_world_that_cannot_be_copied_does_not_begin_the_tick),
        CASE(it_is_asked_for_outside_ticks),
        CASE(without_memory_the_world_is_as_it_was_or_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
