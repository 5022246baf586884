// Lifetimes and timers: when they end and fire, what odd times mean, who stands still, and both against a model in
// whole numbers over random ticks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/mica.h>

MICA_STRUCT(Weight, { int32_t grams; });

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
} fixture;

static int set_up(void **state) {
    fixture *of = malloc(sizeof(*of));
    assert_non_null(of);
    test_allocator_init(&of->allocator);
    of->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&of->allocator)});
    assert_int_not_equal(mica_lifetime_system_add(of->world).id, 0);
    assert_int_not_equal(mica_timer_system_add(of->world).id, 0);
    *state = of;
    return 0;
}

static int tear_down(void **state) {
    fixture *of = *state;
    const mica_result valid = mica_world_validate(of->world);
    mica_world_destroy(of->world);
    test_allocator_finish(&of->allocator);
    free(of);
    assert_int_equal(valid, MICA_OK);
    return 0;
}

static void step(mica_world *world, float delta_seconds) {
    if (mica_world_step(world, delta_seconds) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static uint32_t fired(mica_world *world, mica_entity entity) {
    const mica_timer *timer = mica_get(world, entity, mica_timer);
    assert_non_null(timer);
    return timer->fired_count;
}

static double left(mica_world *world, mica_entity entity) {
    const mica_timer *timer = mica_get(world, entity, mica_timer);
    assert_non_null(timer);
    return timer->left_seconds;
}

// Lifetimes

static void an_entity_ends_in_the_tick_that_uses_its_time_up(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_lifetime, {0.5, false}));
    step(world, 0.25f);
    assert_true(mica_alive(world, entity));
    assert_true(mica_get(world, entity, mica_lifetime)->left_seconds == 0.25);
    step(world, 0.25f);
    assert_false(mica_alive(world, entity));
}

static void see(mica_run *run) {
    int32_t *count = mica_run_user(run);
    mica_each (run, it) {
        *count += it.count;
    }
}

static void an_entity_that_ends_is_seen_before_the_last_stage_ends_and_not_extracted(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    int32_t updated_count = 0;
    int32_t extracted_count = 0;
    mica_system_add(
        world,
        &(mica_system_def){.name = "update", .run = see, .user = &updated_count, .query = {mica_read(mica_lifetime)}});
    mica_system_add(world, &(mica_system_def){.name = "extract",
                                              .stage = MICA_EXTRACT,
                                              .run = see,
                                              .user = &extracted_count,
                                              .query = {mica_read(mica_lifetime)}});
    mica_spawn(world, mica_tag(mica_lifetime)); // no time at all
    step(world, 1);
    assert_int_equal(updated_count, 1);
    assert_int_equal(extracted_count, 0);
}

static void times_that_are_no_times_are_up_and_infinite_ones_never_are(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const double up[] = {0, -1, -(double)INFINITY, (double)NAN};
    mica_entity entities[4];
    for (int32_t i = 0; i < 4; i++) {
        entities[i] = mica_spawn(world, mica_value_of(mica_lifetime, {up[i], false}));
    }
    const mica_entity endless = mica_spawn(world, mica_value_of(mica_lifetime, {(double)INFINITY, false}));
    step(world, 0); // a tick of no length
    for (int32_t i = 0; i < 4; i++) {
        assert_false(mica_alive(world, entities[i]));
    }
    step(world, 1e30f);
    assert_true(mica_alive(world, endless));
}

static void children_move_up_or_are_taken_along(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity root = mica_create(world);
    for (int32_t takes_subtree = 0; takes_subtree < 2; takes_subtree++) {
        const mica_entity ending = mica_spawn(world, mica_value_of(mica_lifetime, {0, takes_subtree == 1}));
        const mica_entity child = mica_spawn(world, mica_value_of(Weight, {1}));
        const mica_entity grandchild = mica_spawn(world, mica_value_of(Weight, {2}));
        mica_set_parent(world, ending, root);
        mica_set_parent(world, child, ending);
        mica_set_parent(world, grandchild, child);
        step(world, 1);
        assert_false(mica_alive(world, ending));
        assert_true(mica_alive(world, child) == (takes_subtree == 0));
        assert_true(mica_alive(world, grandchild) == (takes_subtree == 0));
        if (takes_subtree == 0) {
            assert_true(mica_entity_equal(mica_parent(world, child), root));
        }
    }
}

static void a_subtree_all_of_whose_times_are_up_ends_once(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    mica_entity chain[8];
    for (int32_t i = 0; i < 8; i++) {
        chain[i] = mica_spawn(world, mica_value_of(mica_lifetime, {0, true}));
        if (i > 0) {
            mica_set_parent(world, chain[i], chain[i - 1]);
        }
    }
    step(world, 1);
    for (int32_t i = 0; i < 8; i++) {
        assert_false(mica_alive(world, chain[i]));
    }
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, mica_system_find(world, "end_lifetimes"), &stats), MICA_OK);
    assert_int_equal(stats.command_count + stats.command_skipped_count, 8);
    assert_true(stats.command_count >= 1);
}

// Timers

static void a_timer_without_a_period_fires_once_and_stops(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const double no_periods[] = {0, -1, -(double)INFINITY, (double)NAN};
    mica_entity entities[4];
    for (int32_t i = 0; i < 4; i++) {
        entities[i] = mica_spawn(world, mica_value_of(mica_timer, {0.5, no_periods[i], 0}));
    }
    step(world, 0.25f);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(fired(world, entities[i]), 0);
    }
    step(world, 0.25f);
    step(world, 1000);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(fired(world, entities[i]), 1);
        assert_true(left(world, entities[i]) == (double)INFINITY);
        mica_get_write(world, entities[i], mica_timer)->left_seconds = 1; // starts it again
    }
    step(world, 1);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(fired(world, entities[i]), 2);
    }
}

static void a_timer_of_zeros_fires_once_in_the_next_tick(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_spawn(world, mica_tag(mica_timer));
    step(world, 0);
    step(world, 1);
    assert_int_equal(fired(world, entity), 1);
}

static void a_timer_with_a_period_fires_as_often_as_the_tick_holds_it(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_timer, {1, 0.25, 0}));
    step(world, 0.75f);
    assert_int_equal(fired(world, entity), 0);
    step(world, 0.25f); // at 1
    assert_int_equal(fired(world, entity), 1);
    assert_true(left(world, entity) == 0.25);
    step(world, 0.625f); // at 1.25 and 1.5
    assert_int_equal(fired(world, entity), 3);
    assert_true(left(world, entity) == 0.125);
    step(world, 0.125f); // at 1.75
    assert_int_equal(fired(world, entity), 4);
    assert_true(left(world, entity) == 0.25);
}

static void odd_times_of_timers_count_as_the_header_says(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const double nothing[] = {-5, -(double)INFINITY, (double)NAN};
    for (int32_t i = 0; i < 3; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(mica_timer, {nothing[i], 0.5, 0}));
        step(world, 1); // at 0, 0.5 and 1: what was below 0 counts for nothing
        assert_int_equal(fired(world, entity), 3);
        assert_true(left(world, entity) == 0.5);
    }
    const mica_entity endless = mica_spawn(world, mica_value_of(mica_timer, {1, (double)INFINITY, 0}));
    const mica_entity stopped = mica_spawn(world, mica_value_of(mica_timer, {(double)INFINITY, 1, 0}));
    step(world, 2);
    step(world, 1e30f);
    assert_int_equal(fired(world, endless), 1);
    assert_true(left(world, endless) == (double)INFINITY);
    assert_int_equal(fired(world, stopped), 0);
}

static void a_count_stays_at_its_highest_value(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity tiny = mica_spawn(world, mica_value_of(mica_timer, {0, 0x1p-1074, 0}));
    const mica_entity full = mica_spawn(world, mica_value_of(mica_timer, {0, 1, UINT32_MAX - 1}));
    const mica_entity exact = mica_spawn(world, mica_value_of(mica_timer, {0, 0x1p-32, 0}));
    step(world, 1);
    assert_int_equal(fired(world, tiny), UINT32_MAX);
    assert_true(left(world, tiny) == 0x1p-1074);
    assert_int_equal(fired(world, full), UINT32_MAX);
    assert_int_equal(fired(world, exact), UINT32_MAX); // 1 + 2^32
    step(world, 1);
    assert_int_equal(fired(world, tiny), UINT32_MAX);
    assert_int_equal(fired(world, full), UINT32_MAX);
    mica_get_write(world, full, mica_timer)->fired_count = 0;
    step(world, 1);
    assert_int_equal(fired(world, full), 1);
}

static void take_firings(mica_run *run) {
    uint32_t *count = mica_run_user(run);
    mica_each (run, it) {
        mica_timer *timers = mica_write_of(it, mica_timer);
        for (int32_t i = 0; i < it.count; i++) {
            *count += timers[i].fired_count;
            timers[i].fired_count = 0;
        }
    }
}

static void updates_of_the_same_tick_find_what_fired(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    uint32_t count = 0;
    mica_system_add(world, &(mica_system_def){
                               .name = "take", .run = take_firings, .user = &count, .query = {mica_write(mica_timer)}});
    mica_spawn(world, mica_value_of(mica_timer, {1, 0.5, 0}));
    step(world, 0.5f);
    assert_int_equal(count, 0);
    step(world, 0.5f);
    assert_int_equal(count, 1);
    step(world, 1);
    assert_int_equal(count, 3);
}

static void every_timer_that_fires_sends_how_often(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    mica_event_reader *reader = mica_reader_of(world, mica_timer_fired, "test");
    assert_non_null(reader);
    const mica_entity first = mica_spawn(world, mica_value_of(mica_timer, {1, 0.25, 0}));
    mica_spawn(world, mica_value_of(mica_timer, {100, 0, 0}));
    const mica_entity second = mica_spawn(world, mica_value_of(mica_timer, {1, 0, 0}));
    step(world, 0.5f);
    assert_null(mica_next_event(reader, mica_timer_fired));
    step(world, 1); // at 1, 1.25 and 1.5; at 1
    const mica_timer_fired *fired_now = mica_next_event(reader, mica_timer_fired);
    assert_non_null(fired_now);
    assert_true(mica_entity_equal(fired_now->timer, first));
    assert_int_equal(fired_now->count, 3);
    fired_now = mica_next_event(reader, mica_timer_fired);
    assert_non_null(fired_now);
    assert_true(mica_entity_equal(fired_now->timer, second));
    assert_int_equal(fired_now->count, 1);
    assert_null(mica_next_event(reader, mica_timer_fired));
}

static void a_timer_whose_event_cannot_be_sent_fails_the_tick(void **state) {
    fixture *of = *state;
    mica_world *world = of->world;
    assert_non_null(mica_reader_of(world, mica_timer_fired, "test"));
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_timer, {1, 1, 0}));
    step(world, 0.5f);
    test_allocator_fail_from(&of->allocator, 1);
    const mica_result result = mica_world_step(world, 0.5f);
    assert_true(test_allocator_fail_stop(&of->allocator));
    assert_int_equal(result, MICA_OUT_OF_MEMORY);
    assert_int_equal(fired(world, entity), 1);
    step(world, 1);
    assert_int_equal(fired(world, entity), 2);
}

static void each_system_is_added_once(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    assert_int_equal(mica_timer_system_add(world).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_int_equal(mica_lifetime_system_add(world).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
}

// In floats, a month less a sixtieth of a second is a month.
static void a_timer_of_a_month_counts_short_ticks(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const double month_seconds = 30.0 * 24 * 3600;
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_timer, {month_seconds, 0, 0}));
    for (int32_t i = 0; i < 600; i++) {
        step(world, 1.0f / 60);
    }
    assert_true(fabs(left(world, entity) - (month_seconds - 10)) < 1e-4);
}

// The sum of all periods that have passed, whatever was rounded on the way.
static void a_period_that_is_no_multiple_of_the_tick_does_not_drift(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const double period_seconds = 0.1;
    const float delta_seconds = 0.033f;
    const int32_t tick_count = 20000;
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_timer, {period_seconds, period_seconds, 0}));
    for (int32_t i = 0; i < tick_count; i++) {
        step(world, delta_seconds);
    }
    const double passed_seconds = (double)delta_seconds * tick_count;
    const double counted_seconds = (fired(world, entity) + 1) * period_seconds - left(world, entity);
    assert_true(fabs(counted_seconds - passed_seconds) < 1e-6);
}

// Who stands still

static void what_is_disabled_or_killed_stands_still(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity =
        mica_spawn(world, mica_value_of(mica_lifetime, {1, false}), mica_value_of(mica_timer, {1, 1, 0}));
    mica_disable(world, entity);
    step(world, 5);
    assert_true(mica_alive(world, entity));
    assert_int_equal(fired(world, entity), 0);
    assert_true(left(world, entity) == 1);
    mica_enable(world, entity);
    mica_disable_component(world, entity, mica_lifetime);
    step(world, 5);
    assert_true(mica_alive(world, entity));
    assert_int_equal(fired(world, entity), 5);
    mica_disable_component(world, entity, mica_timer);
    step(world, 5);
    assert_int_equal(fired(world, entity), 5);
    mica_enable_component(world, entity, mica_lifetime);
    mica_kill(world, entity);
    step(world, 5);
    assert_true(mica_alive(world, entity));
    assert_int_equal(mica_refresh(world), 1);
}

static void a_system_that_is_disabled_stops_all_of_its_kind(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity =
        mica_spawn(world, mica_value_of(mica_lifetime, {3, false}), mica_value_of(mica_timer, {1, 1, 0}));
    mica_system_enable(world, mica_system_find(world, "end_lifetimes"), false);
    step(world, 4);
    assert_true(mica_alive(world, entity));
    assert_int_equal(fired(world, entity), 4);
    mica_system_enable(world, mica_system_find(world, "end_lifetimes"), true);
    step(world, 3);
    assert_false(mica_alive(world, entity));
}

static void a_lifetime_that_cannot_be_ended_for_want_of_memory_is_still_up_in_the_next_tick(void **state) {
    fixture *of = *state;
    mica_world *world = of->world;
    mica_entity entities[200];
    for (int32_t i = 0; i < 200; i++) {
        entities[i] = mica_spawn(world, mica_value_of(mica_lifetime, {1, false}));
    }
    step(world, 0.5f);
    test_allocator_fail_from(&of->allocator, 1);
    const mica_result result = mica_world_step(world, 0.5f);
    assert_true(test_allocator_fail_stop(&of->allocator));
    assert_int_equal(result, MICA_OUT_OF_MEMORY);
    for (int32_t i = 0; i < 200; i++) {
        assert_true(mica_alive(world, entities[i]));
    }
    step(world, 0.5f);
    for (int32_t i = 0; i < 200; i++) {
        assert_false(mica_alive(world, entities[i]));
    }
}

static void scenes_can_carry_all_of_their_fields(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_schema *schema = mica_world_schema(world);
    int32_t count = 0;
    const mica_field *fields = mica_schema_fields(schema, mica_schema_find(schema, "Lifetime"), &count);
    assert_non_null(fields);
    assert_int_equal(count, 2);
    assert_string_equal(fields[0].name, "left_seconds");
    assert_string_equal(fields[1].name, "takes_subtree");
    fields = mica_schema_fields(schema, mica_schema_find(schema, "Timer"), &count);
    assert_non_null(fields);
    assert_int_equal(count, 3);
    assert_string_equal(fields[0].name, "left_seconds");
    assert_string_equal(fields[1].name, "period_seconds");
    assert_string_equal(fields[2].name, "fired_count");
}

// The model: the same in whole units of 1/64 of a second, which floats and doubles hold exactly. A timer that has
// stopped has a time left of -1.

#define UNIT_SECONDS (1.0 / 64)
#define MODEL_COUNT 200

typedef struct model_entity {
    mica_entity entity;
    bool is_disabled;
    bool has_timer;
    bool has_lifetime;
    int64_t lifetime_units;
    int64_t left_units;
    int64_t period_units;
    uint32_t fired_count;
} model_entity;

static void model_step(model_entity *of, int64_t delta_units) {
    if (of->is_disabled) {
        return;
    }
    if (of->has_timer && of->left_units >= 0) {
        of->left_units -= delta_units;
        while (of->left_units <= 0) {
            of->fired_count++;
            if (of->period_units == 0) {
                of->left_units = -1;
                break;
            }
            of->left_units += of->period_units;
        }
    }
    if (of->has_lifetime) {
        of->lifetime_units -= delta_units;
    }
}

static void model_begin(mica_world *world, model_entity *of, test_random *random) {
    *of = (model_entity){.has_timer = test_random_below(random, 4) > 0,
                         .has_lifetime = test_random_below(random, 2) > 0,
                         .lifetime_units = test_random_below(random, 500),
                         .left_units = test_random_below(random, 100),
                         .period_units = test_random_below(random, 3) > 0 ? 1 + test_random_below(random, 60) : 0};
    of->entity = mica_spawn(world, mica_value_of(Weight, {1}));
    if (of->has_timer) {
        mica_set(world, of->entity, mica_timer,
                 {(double)of->left_units * UNIT_SECONDS, (double)of->period_units * UNIT_SECONDS, 0});
    }
    if (of->has_lifetime) {
        mica_set(world, of->entity, mica_lifetime, {(double)of->lifetime_units * UNIT_SECONDS, false});
    }
}

static void model_check(mica_world *world, const model_entity *of) {
    const bool is_alive = !of->has_lifetime || of->is_disabled || of->lifetime_units > 0;
    assert_true(mica_alive(world, of->entity) == is_alive);
    if (!is_alive) {
        return;
    }
    if (of->has_lifetime) {
        assert_true(mica_get(world, of->entity, mica_lifetime)->left_seconds ==
                    (double)of->lifetime_units * UNIT_SECONDS);
    }
    if (of->has_timer) {
        assert_int_equal(fired(world, of->entity), of->fired_count);
        assert_true(left(world, of->entity) ==
                    (of->left_units < 0 ? (double)INFINITY : (double)of->left_units * UNIT_SECONDS));
    }
}

static void random_ticks_give_what_the_model_says(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    test_random random = {.state = 4};
    model_entity entities[MODEL_COUNT];
    for (int32_t i = 0; i < MODEL_COUNT; i++) {
        model_begin(world, &entities[i], &random);
    }
    for (int32_t tick = 0; tick < 300; tick++) {
        for (int32_t change = 0; change < 10; change++) {
            model_entity *of = &entities[test_random_below(&random, MODEL_COUNT)];
            of->is_disabled = !of->is_disabled;
            mica_entity_enable(world, of->entity, !of->is_disabled);
        }
        const int64_t delta_units =
            test_random_below(&random, 8) > 0 ? test_random_below(&random, 10) : test_random_below(&random, 300);
        step(world, (float)((double)delta_units * UNIT_SECONDS));
        for (int32_t i = 0; i < MODEL_COUNT; i++) {
            model_step(&entities[i], delta_units);
            model_check(world, &entities[i]);
            if (!mica_alive(world, entities[i].entity)) {
                model_begin(world, &entities[i], &random);
            }
        }
    }
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(an_entity_ends_in_the_tick_that_uses_its_time_up),
        CASE(an_entity_that_ends_is_seen_before_the_last_stage_ends_and_not_extracted),
        CASE(times_that_are_no_times_are_up_and_infinite_ones_never_are),
        CASE(children_move_up_or_are_taken_along),
        CASE(a_subtree_all_of_whose_times_are_up_ends_once),
        CASE(a_timer_without_a_period_fires_once_and_stops),
        CASE(a_timer_of_zeros_fires_once_in_the_next_tick),
        CASE(a_timer_with_a_period_fires_as_often_as_the_tick_holds_it),
        CASE(odd_times_of_timers_count_as_the_header_says),
        CASE(a_count_stays_at_its_highest_value),
        CASE(updates_of_the_same_tick_find_what_fired),
        CASE(every_timer_that_fires_sends_how_often),
        CASE(a_timer_whose_event_cannot_be_sent_fails_the_tick),
        CASE(each_system_is_added_once),
        CASE(a_timer_of_a_month_counts_short_ticks),
        CASE(a_period_that_is_no_multiple_of_the_tick_does_not_drift),
        CASE(what_is_disabled_or_killed_stands_still),
        CASE(a_system_that_is_disabled_stops_all_of_its_kind),
        CASE(a_lifetime_that_cannot_be_ended_for_want_of_memory_is_still_up_in_the_next_tick),
        CASE(scenes_can_carry_all_of_their_fields),
        CASE(random_ticks_give_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
