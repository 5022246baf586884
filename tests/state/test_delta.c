// Exact deltas: they lead to just the state that they were made from, forwards and backwards, in whichever world; and
// from no other state.
#include "state/delta_world.h"

// A state, what it looks like, and what it looks like 1,000 steps later.
typedef struct moment {
    mica_snapshot *snapshot;
    state_dump dump;
    state_dump later;
} moment;

enum { STEPS_LATER = 1000, LATER_SEED = 99 };

static void take_moment(state_world *w, moment *m) {
    m->snapshot = mica_snapshot_take(w->world, NULL);
    assert_non_null(m->snapshot);
    m->dump = dump_world(w->world);
    state_go_on(w, LATER_SEED, STEPS_LATER);
    m->later = dump_world(w->world);
    assert_int_equal(mica_snapshot_restore(m->snapshot, w->world, NULL), MICA_OK);
}

static void check_moment(state_world *w, const moment *m) {
    assert_world_is(w->world, &m->dump);
    mica_snapshot *snapshot = mica_snapshot_take(w->world, NULL);
    state_go_on(w, LATER_SEED, STEPS_LATER);
    assert_world_is(w->world, &m->later);
    assert_int_equal(mica_snapshot_restore(snapshot, w->world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
}

static void free_moment(moment *m) {
    mica_snapshot_release(m->snapshot);
    dump_free(&m->dump);
    dump_free(&m->later);
}

static void a_delta_leads_there_and_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        state_world w;
        delta_world_open(&w, NULL);
        test_random random = {.state = seed};
        moment a;
        moment b;
        state_go_on(&w, test_random_next(&random), test_random_below(&random, 1200));
        take_moment(&w, &a);
        state_go_on(&w, test_random_next(&random), test_random_below(&random, seed % 2 == 0 ? 40 : 1200));
        take_moment(&w, &b);
        delta_bytes delta = delta_between(a.snapshot, b.snapshot);
        assert_applies(w.world, &delta, MICA_DELTA_BACKWARDS);
        check_moment(&w, &a);
        assert_applies(w.world, &delta, MICA_DELTA_FORWARDS);
        check_moment(&w, &b);
        assert_applies(w.world, &delta, MICA_DELTA_BACKWARDS);
        check_moment(&w, &a);
        mica_delta_release(delta.delta);
        free_moment(&a);
        free_moment(&b);
        mica_world_destroy(w.world);
    }
}

static void two_deltas_make_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        state_world w;
        delta_world_open(&w, NULL);
        test_random random = {.state = seed};
        moment moments[3];
        for (uint32_t i = 0; i < 3; i++) {
            state_go_on(&w, test_random_next(&random), test_random_below(&random, seed % 2 == 0 ? 60 : 1000));
            take_moment(&w, &moments[i]);
        }
        delta_bytes ab = delta_between(moments[0].snapshot, moments[1].snapshot);
        delta_bytes bc = delta_between(moments[1].snapshot, moments[2].snapshot);
        delta_bytes ac = delta_between(moments[0].snapshot, moments[2].snapshot);
        delta_bytes joined = delta_bytes_of(mica_delta_compose(ab.data, ab.byte_size, bc.data, bc.byte_size, NULL));
        assert_applies(w.world, &joined, MICA_DELTA_BACKWARDS);
        check_moment(&w, &moments[0]);
        assert_applies(w.world, &ab, MICA_DELTA_FORWARDS);
        assert_applies(w.world, &bc, MICA_DELTA_FORWARDS);
        check_moment(&w, &moments[2]);
        assert_applies(w.world, &ac, MICA_DELTA_BACKWARDS);
        assert_applies(w.world, &joined, MICA_DELTA_FORWARDS);
        check_moment(&w, &moments[2]);
        assert_null(mica_delta_compose(bc.data, bc.byte_size, bc.data, bc.byte_size, NULL));
        assert_int_equal(mica_last_result(), MICA_MISMATCH);
        mica_delta_info infos[3];
        assert_int_equal(mica_delta_describe(ab.data, ab.byte_size, &infos[0], NULL, 0), MICA_OK);
        assert_int_equal(mica_delta_describe(bc.data, bc.byte_size, &infos[1], NULL, 0), MICA_OK);
        assert_int_equal(mica_delta_describe(joined.data, joined.byte_size, &infos[2], NULL, 0), MICA_OK);
        assert_true(infos[0].target_checksum == infos[1].base_checksum);
        assert_true(infos[2].base_checksum == infos[0].base_checksum);
        assert_true(infos[2].target_checksum == infos[1].target_checksum);
        mica_delta_release(ab.delta);
        mica_delta_release(bc.delta);
        mica_delta_release(ac.delta);
        mica_delta_release(joined.delta);
        for (uint32_t i = 0; i < 3; i++) {
            free_moment(&moments[i]);
        }
        mica_world_destroy(w.world);
    }
}

static void a_delta_from_nothing_brings_any_world_into_a_state(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    state_go_on(&w, 3, 800);
    moment m;
    take_moment(&w, &m);
    delta_bytes whole = delta_between(NULL, m.snapshot);
    state_go_on(&w, 4, 500); // whatever it is then
    assert_applies(w.world, &whole, MICA_DELTA_FORWARDS);
    check_moment(&w, &m);

    state_world other; // another schema, whose ids are others
    mica_schema *schema = mica_schema_create(NULL);
    assert_int_not_equal(mica_schema_register(schema, mica_type_of(Stable)), 0);
    assert_int_not_equal(mica_schema_register(schema, mica_type_of(Marked)), 0);
    delta_world_open(&other, &(mica_world_def){.schema = schema});
    assert_applies(other.world, &whole, MICA_DELTA_FORWARDS);
    assert_int_equal(mica_world_entity_count(other.world), mica_world_entity_count(w.world));
    mica_snapshot *there = mica_snapshot_take(other.world, NULL);
    delta_bytes again = delta_between(NULL, there);
    assert_int_equal(again.byte_size, whole.byte_size);
    assert_memory_equal(again.data, whole.data, whole.byte_size);
    mica_delta_release(again.delta);
    mica_snapshot_release(there);
    mica_world_destroy(other.world);
    mica_schema_release(schema);

    assert_applies(w.world, &whole, MICA_DELTA_BACKWARDS);
    assert_int_equal(mica_world_entity_count(w.world), 0);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    mica_delta_release(whole.delta);
    free_moment(&m);
    mica_world_destroy(w.world);
}

// What there is beside entities and components

static uint64_t checksum_of(mica_world *world) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.exact = true}, &checksum), MICA_OK);
    return checksum;
}

static void change_everything(state_world *w, test_random *random) {
    mica_world *world = w->world;
    state_go_on(w, test_random_next(random), 60);
    for (uint32_t i = 0; i < 40; i++) {
        const mica_entity child = state_pick(w, random);
        const mica_entity parent = state_pick(w, random);
        switch (test_random_below(random, 8)) {
        case 0:
            (void)mica_entity_destroy_subtree(world, child);
            break;
        case 1:
            (void)mica_set_parent(world, child, MICA_NULL);
            break;
        case 2:
            assert_int_equal(mica_set_resource(world, Position, {(float)i, 1, 2}), MICA_OK);
            break;
        case 3:
            assert_int_equal(mica_send(world, Pooled, {(int32_t)i}), MICA_OK);
            break;
        case 4:
            assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
            break;
        default:
            (void)mica_set_parent(world, child, parent); // refused where it would be a cycle
        }
    }
}

static void links_resources_events_and_the_clock_come_along(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        state_world w;
        delta_world_open(&w, NULL);
        test_random random = {.state = seed};
        mica_snapshot *snapshots[3];
        uint64_t checksums[3];
        delta_bytes deltas[2];
        for (uint32_t i = 0; i < 3; i++) {
            change_everything(&w, &random);
            snapshots[i] = mica_snapshot_take(w.world, NULL);
            checksums[i] = checksum_of(w.world);
        }
        for (uint32_t i = 0; i < 2; i++) {
            deltas[i] = delta_between(snapshots[i], snapshots[i + 1]);
        }
        delta_bytes joined = delta_bytes_of(
            mica_delta_compose(deltas[0].data, deltas[0].byte_size, deltas[1].data, deltas[1].byte_size, NULL));
        assert_applies(w.world, &deltas[1], MICA_DELTA_BACKWARDS);
        assert_true(checksum_of(w.world) == checksums[1]);
        assert_applies(w.world, &deltas[0], MICA_DELTA_BACKWARDS);
        assert_true(checksum_of(w.world) == checksums[0]);
        assert_applies(w.world, &joined, MICA_DELTA_FORWARDS);
        assert_true(checksum_of(w.world) == checksums[2]);
        assert_int_equal(mica_world_validate(w.world), MICA_OK);
        mica_delta_release(joined.delta);
        mica_delta_release(deltas[0].delta);
        mica_delta_release(deltas[1].delta);
        for (uint32_t i = 0; i < 3; i++) {
            mica_snapshot_release(snapshots[i]);
        }
        mica_world_destroy(w.world);
    }
}

// Refusals

static void assert_refused(mica_world *world, const delta_bytes *delta, mica_delta_direction direction,
                           mica_result result, const char *word) {
    state_dump before = dump_world(world);
    assert_int_equal(mica_delta_apply(world, delta->data, delta->byte_size, direction, NULL), result);
    assert_non_null(strstr(mica_last_error(), word));
    assert_world_is(world, &before);
    dump_free(&before);
}

static void a_world_in_another_state_is_refused_and_what_differs_is_named(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    state_go_on(&w, 5, 500);
    const mica_entity entity = mica_entity_create(w.world);
    assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_OK);
    assert_int_equal(mica_set(w.world, entity, Pooled, {4}), MICA_OK);
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    assert_int_equal(mica_set(w.world, entity, Toggled, {4}), MICA_OK);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    delta_bytes delta = delta_between(a, b);
    assert_refused(w.world, &delta, MICA_DELTA_FORWARDS, MICA_MISMATCH, "Toggled");
    assert_int_equal(mica_snapshot_restore(a, w.world, NULL), MICA_OK);
    assert_refused(w.world, &delta, MICA_DELTA_BACKWARDS, MICA_MISMATCH, "Toggled");
    assert_int_equal(mica_set(w.world, entity, Pooled, {5}), MICA_OK);
    mica_snapshot_release(mica_snapshot_take(w.world, NULL));
    assert_refused(w.world, &delta, MICA_DELTA_FORWARDS, MICA_MISMATCH, "Pooled");
    assert_int_equal(mica_snapshot_restore(a, w.world, NULL), MICA_OK);
    assert_int_equal(mica_entity_enable(w.world, entity, false), MICA_OK);
    assert_refused(w.world, &delta, MICA_DELTA_FORWARDS, MICA_MISMATCH, "disabled");
    assert_int_equal(mica_snapshot_restore(a, w.world, NULL), MICA_OK);
    assert_int_equal(mica_entity_destroy(w.world, mica_entity_create(w.world)), MICA_OK);
    mica_snapshot_release(mica_snapshot_take(w.world, NULL));
    assert_refused(w.world, &delta, MICA_DELTA_FORWARDS, MICA_MISMATCH, "handles");
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

static void every_cut_and_every_flipped_bit_is_refused(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    state_go_on(&w, 6, 60);
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    state_go_on(&w, 7, 30);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    delta_bytes delta = delta_between(a, b);
    state_dump before = dump_world(w.world);
    uint8_t *bytes = malloc(delta.byte_size);
    assert_non_null(bytes);
    for (size_t cut = 0; cut < delta.byte_size; cut++) {
        memcpy(bytes, delta.data, cut);
        assert_int_equal(mica_delta_apply(w.world, bytes, cut, MICA_DELTA_BACKWARDS, NULL), MICA_FORMAT);
    }
    memcpy(bytes, delta.data, delta.byte_size);
    for (size_t bit = 0; bit < delta.byte_size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(mica_delta_apply(w.world, bytes, delta.byte_size, MICA_DELTA_BACKWARDS, NULL), MICA_FORMAT);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_world_is(w.world, &before);
    dump_free(&before);
    free(bytes);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

static void values_with_hooks_are_refused_if_they_differ(void **state) {
    (void)state;
    state_world w;
    state_world_open(&w, NULL);
    const mica_entity holder = mica_entity_create(w.world);
    assert_int_equal(mica_entity_add(w.world, holder, w.kinds[6], NULL), MICA_OK);
    assert_int_equal(mica_entity_add(w.world, holder, w.kinds[10], NULL), MICA_OK);
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    const mica_entity other = mica_entity_create(w.world);
    assert_int_equal(mica_set(w.world, other, Position, {1, 2, 3}), MICA_OK);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    assert_null(mica_delta_make(NULL, a, NULL));
    assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
    assert_non_null(strstr(mica_last_error(), "Owned"));
    delta_bytes delta = delta_between(a, b); // the values are there and stay
    assert_applies(w.world, &delta, MICA_DELTA_BACKWARDS);
    assert_false(mica_entity_alive(w.world, other));
    assert_applies(w.world, &delta, MICA_DELTA_FORWARDS);
    assert_true(mica_entity_alive(w.world, other));
    assert_true(mica_entity_has(w.world, holder, w.kinds[6]));
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

static void memory_that_is_missing_leaves_everything_as_it_was(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    state_world w;
    delta_world_open(&w, &(mica_world_def){.allocator = hooks});
    state_go_on(&w, 8, 300);
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    state_go_on(&w, 9, 200);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    state_dump before = dump_world(w.world);
    mica_delta *made = NULL;
    for (uint64_t n = 1; made == NULL; n++) {
        test_allocator_fail_at(&allocator, n);
        made = mica_delta_make(a, b, NULL);
        assert_int_equal(test_allocator_fail_stop(&allocator), made == NULL);
        assert_true(made != NULL || mica_last_result() == MICA_OUT_OF_MEMORY);
    }
    delta_bytes delta = delta_bytes_of(made);
    delta_bytes back = delta_between(b, a);
    mica_delta *joined = NULL;
    for (uint64_t n = 1; joined == NULL; n++) {
        test_allocator_fail_at(&allocator, n);
        joined = mica_delta_compose(delta.data, delta.byte_size, back.data, back.byte_size, &hooks);
        assert_int_equal(test_allocator_fail_stop(&allocator), joined == NULL);
        assert_true(joined != NULL || mica_last_result() == MICA_OUT_OF_MEMORY);
    }
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK; n++) {
        test_allocator_fail_at(&allocator, n);
        result = mica_delta_apply(w.world, delta.data, delta.byte_size, MICA_DELTA_BACKWARDS, NULL);
        assert_int_equal(result, test_allocator_fail_stop(&allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        if (result != MICA_OK) {
            assert_world_is(w.world, &before);
        }
    }
    assert_applies(w.world, &delta, MICA_DELTA_FORWARDS);
    assert_world_is(w.world, &before);
    dump_free(&before);
    mica_delta_release(joined);
    mica_delta_release(back.delta);
    mica_delta_release(made);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
    test_allocator_finish(&allocator);
}

static void a_description_counts_what_differs(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    mica_entity entities[4];
    for (uint32_t i = 0; i < 4; i++) {
        entities[i] = mica_entity_create(w.world);
        assert_int_equal(mica_set(w.world, entities[i], Position, {1, 2, 3}), MICA_OK);
    }
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    assert_int_equal(mica_entity_destroy(w.world, entities[0]), MICA_OK);
    assert_int_equal(mica_set(w.world, entities[1], Position, {1, 2, 4}), MICA_OK);
    assert_int_equal(mica_set(w.world, entities[2], Pooled, {7}), MICA_OK);
    const mica_entity fresh = mica_entity_create(w.world); // in the slot of the first
    assert_int_equal(mica_entity_add(w.world, fresh, mica_register(w.world, Marked), NULL), MICA_OK);
    (void)mica_entity_create(w.world);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    delta_bytes delta = delta_between(a, b);
    mica_delta_info info;
    mica_delta_component_info components[2];
    assert_int_equal(mica_delta_describe(delta.data, delta.byte_size, &info, components, 2), MICA_OK);
    assert_false(info.is_limited);
    assert_false(info.is_whole);
    assert_int_equal(info.created_count, 2);
    assert_int_equal(info.destroyed_count, 1);
    assert_int_equal(info.component_count, 3);
    assert_string_equal(components[0].name, "Marked");
    assert_int_equal(components[0].added_count, 1);
    assert_string_equal(components[1].name, "Pooled");
    assert_int_equal(components[1].added_count, 1);
    assert_int_equal(components[1].changed_count, 0);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

// What is tracked of changes is the same in a world that was copied as in the one that it was copied from.
static void a_delta_goes_with_a_copy_whose_queries_ask_for_changes(void **state) {
    (void)state;
    mica_world *worlds[2];
    mica_schema *schema = mica_schema_create(NULL);
    const mica_term terms[] = {mica_added(Position)};
    mica_query *queries[2];
    for (uint32_t i = 0; i < 2; i++) {
        worlds[i] = mica_world_create(&(mica_world_def){.schema = schema});
        assert_non_null(worlds[i]);
        queries[i] = mica_query_create(worlds[i], terms, 1);
    }
    const mica_entity entity = mica_spawn(worlds[0], mica_value_of(Position, {1, 2, 3}));
    mica_snapshot *a = mica_snapshot_take(worlds[0], NULL);
    mica_set(worlds[0], entity, Position, {3, 2, 1});
    mica_snapshot *b = mica_snapshot_take(worlds[0], NULL);
    delta_bytes delta = delta_between(a, b);
    assert_int_equal(mica_snapshot_restore(a, worlds[1], NULL), MICA_OK);
    assert_applies(worlds[1], &delta, MICA_DELTA_FORWARDS);
    assert_int_equal(mica_get(worlds[1], entity, Position)->x, 3);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    for (uint32_t i = 0; i < 2; i++) {
        mica_query_release(queries[i]);
        mica_world_destroy(worlds[i]);
    }
    mica_schema_release(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_leads_there_and_back),
        cmocka_unit_test(two_deltas_make_one),
        cmocka_unit_test(a_delta_from_nothing_brings_any_world_into_a_state),
        cmocka_unit_test(links_resources_events_and_the_clock_come_along),
        cmocka_unit_test(a_world_in_another_state_is_refused_and_what_differs_is_named),
        cmocka_unit_test(every_cut_and_every_flipped_bit_is_refused),
        cmocka_unit_test(values_with_hooks_are_refused_if_they_differ),
        cmocka_unit_test(memory_that_is_missing_leaves_everything_as_it_was),
        cmocka_unit_test(a_description_counts_what_differs),
        cmocka_unit_test(a_delta_goes_with_a_copy_whose_queries_ask_for_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
