// Deltas of what stands beside entities and owns something: resources, events that a system has yet to see, systems'
// own state. What hooks write and read comes along, both ways.
#include "state/delta_world.h"

#include <mica/checksum.h>

typedef struct fixture {
    mica_schema *schema;
    mica_world *world;
} fixture;

static void hear(mica_run *run) {
    Told *heard = mica_run_state(run, Told);
    mica_event_reader *events = mica_run_events(run, PoolTold);
    for (const PoolTold *event; (event = mica_next_event(events, PoolTold)) != NULL;) {
        *heard->number += *event->number;
    }
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static mica_world *open_world(mica_schema *schema, const mica_allocator *allocator, bool has_system) {
    mica_world_def def = {.schema = schema};
    if (allocator != NULL) {
        def.allocator = *allocator;
    }
    mica_world *world = mica_world_create(&def);
    assert_non_null(world);
    assert_true(mica_register(world, Told) != 0 && mica_register(world, PoolTold) != 0 &&
                mica_register(world, StableTold) != 0 && mica_register(world, Owned) != 0);
    const mica_system_def hearing = {.name = "hear", .run = hear, .state = mica_type_of(Told)};
    const mica_system_def other = {.name = "other", .run = do_nothing};
    assert_int_not_equal(mica_system_add(world, has_system ? &hearing : &other).id, 0);
    return world;
}

static fixture open_fixture(void) {
    fixture f = {.schema = mica_schema_create(NULL)};
    f.world = open_world(f.schema, NULL, true);
    return f;
}

static void close_fixture(fixture *f) {
    mica_world_destroy(f->world);
    mica_schema_release(f->schema);
}

static void hold(mica_world *world, mica_component component, int32_t number) {
    const Owned *value = mica_resource_ensure(world, component);
    assert_non_null(value);
    Owned *written = mica_resource_get_write(world, component);
    *written->number = number;
}

// What the world holds of it; -1: nothing.
static int32_t held(const mica_world *world, mica_component component) {
    const Owned *value = mica_resource_get(world, component);
    return value == NULL ? -1 : *value->number;
}

static void send(mica_world *world, int32_t number) {
    const PoolTold event = {.number = &number};
    assert_int_equal(mica_event_send(world, mica_register(world, PoolTold), &event), MICA_OK);
}

static mica_snapshot *take(mica_world *world) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

static void assert_is(mica_world *world, const mica_snapshot *snapshot) {
    mica_snapshot *now = take(world);
    mica_difference difference;
    const mica_checksum_options options = {.exact = true};
    assert_int_equal(mica_snapshot_compare(now, snapshot, &options, &difference), MICA_OK);
    assert_string_equal(difference.text, "");
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_snapshot_release(now);
}

// Three states: of resources one changes, one goes, one comes in front of the others; events wait; a system has heard.
enum { STATE_COUNT = 3 };

static void make_states(mica_world *world, mica_snapshot *states[STATE_COUNT]) {
    const mica_component pool_told = mica_register(world, PoolTold);
    const mica_component stable_told = mica_register(world, StableTold);
    const mica_component told = mica_register(world, Told);
    assert_int_equal(mica_world_step(world, 0), MICA_OK);
    hold(world, stable_told, 1000);
    hold(world, told, 2);
    send(world, 5);
    states[0] = take(world);
    hold(world, pool_told, 70000);
    hold(world, stable_told, 0);
    assert_int_equal(mica_resource_remove(world, told), MICA_OK);
    assert_int_equal(mica_world_step(world, 0), MICA_OK);
    send(world, 6);
    send(world, 700);
    states[1] = take(world);
    assert_int_equal(mica_resource_remove(world, pool_told), MICA_OK);
    hold(world, told, 3);
    send(world, 8);
    states[2] = take(world);
}

static void release_states(mica_snapshot *states[STATE_COUNT]) {
    for (uint32_t i = 0; i < STATE_COUNT; i++) {
        mica_snapshot_release(states[i]);
    }
}

static void values_come_change_and_go_both_ways(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *states[STATE_COUNT];
    make_states(f.world, states);
    delta_bytes deltas[STATE_COUNT - 1];
    for (uint32_t i = 0; i + 1 < STATE_COUNT; i++) {
        deltas[i] = delta_between(states[i], states[i + 1]);
    }
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = STATE_COUNT - 1; i-- > 0;) {
            assert_applies(f.world, &deltas[i], MICA_DELTA_BACKWARDS);
            assert_is(f.world, states[i]);
        }
        for (uint32_t i = 0; i + 1 < STATE_COUNT; i++) {
            assert_applies(f.world, &deltas[i], MICA_DELTA_FORWARDS);
            assert_is(f.world, states[i + 1]);
        }
    }
    assert_int_equal(held(f.world, mica_register(f.world, Told)), 3);
    assert_int_equal(mica_world_step(f.world, 0), MICA_OK);
    const mica_system system = mica_system_find(f.world, "hear");
    assert_int_equal(*((const Told *)mica_system_state(f.world, system))->number, 5 + 6 + 700 + 8);
    for (uint32_t i = 0; i + 1 < STATE_COUNT; i++) {
        mica_delta_release(deltas[i].delta);
    }
    release_states(states);
    close_fixture(&f);
}

static void two_deltas_of_them_make_one(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *states[STATE_COUNT];
    make_states(f.world, states);
    delta_bytes first = delta_between(states[0], states[1]);
    delta_bytes second = delta_between(states[1], states[2]);
    delta_bytes both = delta_between(states[0], states[2]);
    delta_bytes back = delta_between(states[1], states[0]);
    delta_bytes joined =
        delta_bytes_of(mica_delta_compose(first.data, first.byte_size, second.data, second.byte_size, NULL));
    assert_int_equal(joined.byte_size, both.byte_size);
    assert_memory_equal(joined.data, both.data, both.byte_size);
    assert_applies(f.world, &joined, MICA_DELTA_BACKWARDS);
    assert_is(f.world, states[0]);
    delta_bytes nothing =
        delta_bytes_of(mica_delta_compose(first.data, first.byte_size, back.data, back.byte_size, NULL));
    assert_applies(f.world, &nothing, MICA_DELTA_FORWARDS);
    assert_is(f.world, states[0]);
    mica_delta *const all[] = {first.delta, second.delta, both.delta, back.delta, joined.delta, nothing.delta};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        mica_delta_release(all[i]);
    }
    release_states(states);
    close_fixture(&f);
}

static void a_whole_state_brings_them_into_any_world(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *states[STATE_COUNT];
    make_states(f.world, states);
    delta_bytes whole = delta_between(NULL, states[1]);
    mica_schema *schema = mica_schema_create(NULL);
    for (uint32_t has_system = 0; has_system < 2; has_system++) {
        mica_world *other = open_world(schema, NULL, has_system != 0);
        assert_applies(other, &whole, MICA_DELTA_FORWARDS);
        assert_int_equal(held(other, mica_register(other, PoolTold)), 70000);
        assert_int_equal(held(other, mica_register(other, StableTold)), 0);
        assert_int_equal(held(other, mica_register(other, Told)), -1);
        assert_int_equal(mica_world_validate(other), MICA_OK);
        if (has_system) {
            assert_int_equal(mica_world_step(other, 0), MICA_OK);
            const mica_system system = mica_system_find(other, "hear");
            assert_int_equal(*((const Told *)mica_system_state(other, system))->number, 5 + 6 + 700);
        }
        mica_world_destroy(other);
    }
    mica_schema_release(schema);
    mica_delta_release(whole.delta);
    release_states(states);
    close_fixture(&f);
}

static void a_world_that_holds_another_value_is_refused(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *states[STATE_COUNT];
    make_states(f.world, states);
    delta_bytes delta = delta_between(states[0], states[1]);
    assert_int_equal(mica_snapshot_restore(states[0], f.world, NULL), MICA_OK);
    hold(f.world, mica_register(f.world, StableTold), 1001);
    assert_int_equal(mica_delta_apply(f.world, delta.data, delta.byte_size, MICA_DELTA_FORWARDS, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "resources"));
    assert_int_equal(held(f.world, mica_register(f.world, StableTold)), 1001);
    hold(f.world, mica_register(f.world, StableTold), 1000); // written again, and equal
    assert_applies(f.world, &delta, MICA_DELTA_FORWARDS);
    assert_is(f.world, states[1]);
    mica_delta_release(delta.delta);
    release_states(states);
    close_fixture(&f);
}

static void a_value_that_no_hook_tells_of_is_refused_with_its_type_and_place(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *a = take(f.world);
    assert_non_null(mica_resource_ensure(f.world, mica_register(f.world, Owned)));
    mica_snapshot *b = take(f.world);
    assert_null(mica_delta_make(a, b, NULL));
    assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
    assert_non_null(strstr(mica_last_error(), "Owned"));
    assert_non_null(strstr(mica_last_error(), "heavy resources"));
    assert_non_null(strstr(mica_last_error(), "hooks write, read and copy"));
    assert_int_equal(mica_set_resource(f.world, Position, {1, 2, 3}), MICA_OK); // it may be there
    mica_snapshot *c = take(f.world);
    delta_bytes delta = delta_between(b, c);
    assert_applies(f.world, &delta, MICA_DELTA_BACKWARDS);
    assert_int_equal(held(f.world, mica_register(f.world, Owned)), 0);
    assert_null(mica_resource(f.world, Position));
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_snapshot_release(c);
    close_fixture(&f);
}

static void a_type_whose_values_nobody_reads_here_is_named(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_snapshot *states[STATE_COUNT];
    make_states(f.world, states);
    delta_bytes whole = delta_between(NULL, states[0]);
    mica_world *other = mica_world_create(NULL);
    const mica_system_def idle = {.name = "other", .run = do_nothing};
    assert_int_not_equal(mica_system_add(other, &idle).id, 0);
    assert_int_equal(mica_delta_apply(other, whole.data, whole.byte_size, MICA_DELTA_FORWARDS, NULL), MICA_UNKNOWN);
    assert_non_null(strstr(mica_last_error(), "events"));
    assert_int_equal(mica_world_validate(other), MICA_OK);
    mica_world_destroy(other);
    mica_delta_release(whole.delta);
    release_states(states);
    close_fixture(&f);
}

static void memory_and_hooks_that_fail_leave_everything_as_it_was(void **state) {
    (void)state;
    fixture f = open_fixture();
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mica_world *world = open_world(f.schema, &hooks, true);
    mica_snapshot *states[STATE_COUNT];
    make_states(world, states);
    delta_bytes delta = delta_between(states[0], states[1]);
    assert_int_equal(mica_snapshot_restore(states[0], world, NULL), MICA_OK);
    mica_delta *made = NULL;
    for (uint64_t n = 1; made == NULL; n++) {
        test_allocator_fail_at(&allocator, n);
        made = mica_delta_make(states[0], states[1], NULL);
        assert_int_equal(test_allocator_fail_stop(&allocator), made == NULL);
    }
    for (uint32_t fails_hooks = 0; fails_hooks < 2; fails_hooks++) {
        mica_result result = MICA_OUT_OF_MEMORY;
        for (uint64_t n = 1; result != MICA_OK; n++) {
            if (fails_hooks) {
                owned_fails_in = (int32_t)n;
            } else {
                test_allocator_fail_at(&allocator, n);
            }
            result = mica_delta_apply(world, delta.data, delta.byte_size, MICA_DELTA_FORWARDS, NULL);
            (void)test_allocator_fail_stop(&allocator);
            owned_fails_in = 0;
            assert_true(result == MICA_OK || result == MICA_OUT_OF_MEMORY);
            assert_is(world, states[result == MICA_OK ? 1 : 0]);
        }
        assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    }
    mica_delta_release(made);
    mica_delta_release(delta.delta);
    release_states(states);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
    close_fixture(&f);
    assert_int_equal(owned_alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_change_and_go_both_ways),
        cmocka_unit_test(two_deltas_of_them_make_one),
        cmocka_unit_test(a_whole_state_brings_them_into_any_world),
        cmocka_unit_test(a_world_that_holds_another_value_is_refused),
        cmocka_unit_test(a_value_that_no_hook_tells_of_is_refused_with_its_type_and_place),
        cmocka_unit_test(a_type_whose_values_nobody_reads_here_is_named),
        cmocka_unit_test(memory_and_hooks_that_fail_leave_everything_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
