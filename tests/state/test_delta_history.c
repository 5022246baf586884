// What decides whether a delta can be applied is state: neither versions, nor what queries for changes have noted, nor
// what readers of the program have yet to see. Where these differ, they are the world's own afterwards.
#include "run/tick_world.h"

static mica_snapshot *take(mica_world *world) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

static void apply(mica_world *world, const mica_delta *delta, mica_delta_direction direction) {
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(delta, &byte_size);
    const mica_result result = mica_delta_apply(world, bytes, byte_size, direction, NULL);
    assert_string_equal(result == MICA_OK ? "" : mica_last_error(), "");
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void step(mica_world *world) {
    tick_post(world);
    assert_int_equal(mica_world_step(world, 1.0f / 16), MICA_OK);
}

// A world, its state a tick later, the delta between them, and a world that is in the first state.
typedef struct fixture {
    mica_schema *schema;
    mica_world *ahead;
    mica_world *behind;
    mica_snapshot *base;
    mica_snapshot *target;
    mica_delta *delta;
} fixture;

static fixture open_fixture(void) {
    fixture f = {.schema = mica_schema_create(NULL)};
    f.ahead = tick_world_open(&(mica_world_def){.schema = f.schema});
    f.behind = tick_world_open(&(mica_world_def){.schema = f.schema});
    for (uint32_t i = 0; i < 5; i++) {
        step(f.ahead);
    }
    f.base = take(f.ahead);
    step(f.ahead);
    f.target = take(f.ahead);
    f.delta = mica_delta_make(f.base, f.target, NULL);
    assert_non_null(f.delta);
    assert_int_equal(mica_snapshot_restore(f.base, f.behind, NULL), MICA_OK);
    return f;
}

static void close_fixture(fixture *f) {
    mica_delta_release(f->delta);
    mica_snapshot_release(f->base);
    mica_snapshot_release(f->target);
    mica_world_destroy(f->ahead);
    mica_world_destroy(f->behind);
    mica_schema_release(f->schema);
}

static void assert_leads_there_and_back(fixture *f) {
    mica_difference difference;
    apply(f->behind, f->delta, MICA_DELTA_FORWARDS);
    tick_assert_equal(f->behind, f->ahead);
    apply(f->behind, f->delta, MICA_DELTA_BACKWARDS);
    mica_snapshot *back = take(f->behind);
    assert_int_equal(mica_snapshot_compare(f->base, back, &(mica_checksum_options){.exact = true}, &difference),
                     MICA_OK);
    assert_string_equal(difference.text, "");
    mica_snapshot_release(back);
}

static void a_line_that_the_program_draws_is_no_difference(void **state) {
    (void)state;
    fixture f = open_fixture();
    for (uint32_t i = 0; i < 3; i++) {
        mica_world_advance_version(f.behind);
    }
    assert_leads_there_and_back(&f);
    close_fixture(&f);
}

static void the_same_value_written_again_is_no_difference(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_world_advance_version(f.behind);
    mica_query *query = mica_query_create(f.behind, (const mica_term[]){mica_read(Place)}, 1);
    mica_entity entity = MICA_NULL;
    mica_each (query, it) {
        entity = it.entities[0];
        break;
    }
    const Place place = *mica_get(f.behind, entity, Place);
    const Score score = *mica_resource(f.behind, Score);
    assert_int_equal(mica_entity_set(f.behind, entity, mica_register(f.behind, Place), &place), MICA_OK);
    assert_int_equal(mica_resource_set(f.behind, mica_register(f.behind, Score), &score), MICA_OK);
    assert_leads_there_and_back(&f);
    mica_query_release(query);
    close_fixture(&f);
}

static void what_queries_for_changes_have_noted_is_no_difference(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_query *queries[] = {mica_query_create(f.behind, (const mica_term[]){mica_added(Ore)}, 1),
                             mica_query_create(f.behind, (const mica_term[]){mica_removed(Hot)}, 1)};
    assert_leads_there_and_back(&f);
    for (uint32_t i = 0; i < 2; i++) {
        mica_query_release(queries[i]);
    }
    close_fixture(&f);
}

// Nor is it one that only the world that is ahead has such queries.
static void what_is_noted_elsewhere_alone_is_no_difference(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_query *query = mica_query_create(f.ahead, (const mica_term[]){mica_added(Ore)}, 1);
    assert_non_null(mica_spawn(f.ahead, mica_value_of(Ore, {1})).bits != 0 ? query : NULL);
    mica_snapshot *later = take(f.ahead);
    mica_delta *delta = mica_delta_make(f.base, later, NULL);
    mica_delta *whole = mica_delta_make(NULL, later, NULL);
    assert_true(delta != NULL && whole != NULL);
    apply(f.behind, delta, MICA_DELTA_FORWARDS);
    tick_assert_equal(f.behind, f.ahead);
    apply(f.behind, delta, MICA_DELTA_BACKWARDS);
    apply(f.behind, whole, MICA_DELTA_FORWARDS);
    tick_assert_equal(f.behind, f.ahead);
    mica_delta_release(whole);
    mica_delta_release(delta);
    mica_snapshot_release(later);
    mica_query_release(query);
    close_fixture(&f);
}

static int64_t hear_pushes(mica_event_reader *reader) {
    int64_t count = 0;
    while (mica_next_event(reader, Push) != NULL) {
        count++;
    }
    return count;
}

static void readers_of_the_program_may_stand_elsewhere(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_event_reader *reader = mica_event_reader_create(f.behind, mica_register(f.behind, Push), "program");
    assert_int_equal(mica_send(f.behind, Push, {3, 1}), MICA_OK);
    assert_int_equal(mica_send(f.ahead, Push, {3, 1}), MICA_OK);
    // The states differ by more than the reader now: the event is one that the system is going to hear.
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(f.delta, &byte_size);
    assert_int_equal(mica_delta_apply(f.behind, bytes, byte_size, MICA_DELTA_FORWARDS, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "events"));
    mica_snapshot *base = take(f.ahead);
    assert_int_equal(mica_snapshot_restore(base, f.behind, NULL), MICA_OK);
    assert_int_equal(mica_set_resource(f.ahead, Score, {7, 7, 7}), MICA_OK);
    mica_snapshot *target = take(f.ahead);
    mica_delta *delta = mica_delta_make(base, target, NULL);
    assert_int_equal(mica_world_step(f.behind, 1.0f / 16), MICA_OK); // the system has heard it, the reader has not
    assert_int_equal(mica_snapshot_restore(base, f.behind, NULL), MICA_OK);
    apply(f.behind, delta, MICA_DELTA_FORWARDS);
    tick_assert_equal(f.behind, f.ahead);
    assert_int_equal(hear_pushes(reader), 1);
    apply(f.behind, delta, MICA_DELTA_BACKWARDS);
    assert_int_equal(hear_pushes(reader), 0);
    mica_delta_release(delta);
    mica_snapshot_release(target);
    mica_snapshot_release(base);
    mica_event_reader_destroy(reader);
    close_fixture(&f);
}

// The system hears at once, so that the reader alone has yet to see what was sent.
static void a_reader_finds_what_it_has_yet_to_see_if_no_more_was_sent(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_event_reader *readers[] = {mica_event_reader_create(f.behind, mica_register(f.behind, Push), "program"),
                                    mica_event_reader_create(f.ahead, mica_register(f.ahead, Push), "program")};
    mica_world *worlds[] = {f.behind, f.ahead};
    assert_int_equal(mica_snapshot_restore(f.base, f.ahead, NULL), MICA_OK);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(mica_send(worlds[i], Push, {3, 1}), MICA_OK);
        assert_int_equal(mica_world_step(worlds[i], 1.0f / 16), MICA_OK);
    }
    hear_pushes(readers[1]);
    mica_snapshot *base = take(f.ahead);
    assert_int_equal(mica_set_resource(f.ahead, Score, {7, 7, 7}), MICA_OK);
    mica_snapshot *target = take(f.ahead);
    mica_delta *delta = mica_delta_make(base, target, NULL);
    apply(f.behind, delta, MICA_DELTA_FORWARDS);
    tick_assert_equal(f.behind, f.ahead);
    assert_true(hear_pushes(readers[0]) > 0);
    assert_int_equal(hear_pushes(readers[1]), 0);
    mica_delta_release(delta);
    mica_snapshot_release(target);
    mica_snapshot_release(base);
    for (uint32_t i = 0; i < 2; i++) {
        mica_event_reader_destroy(readers[i]);
    }
    close_fixture(&f);
}

// A world that follows another one by deltas alone, looking on meanwhile.
static void a_world_follows_another_one_and_is_looked_at_as_it_likes(void **state) {
    (void)state;
    fixture f = open_fixture();
    mica_query *query = mica_query_create(f.behind, (const mica_term[]){mica_changed(Place)}, 1);
    mica_event_reader *reader = mica_event_reader_create(f.behind, mica_register(f.behind, Push), "program");
    test_random random = {.state = 5};
    mica_delta *deltas[64];
    uint64_t checksums[65];
    assert_int_equal(mica_snapshot_restore(f.base, f.ahead, NULL), MICA_OK);
    mica_snapshot *last = take(f.ahead);
    checksums[0] = tick_checksum(f.ahead);
    for (uint32_t i = 0; i < 64; i++) {
        step(f.ahead);
        mica_snapshot *now = take(f.ahead);
        deltas[i] = mica_delta_make(last, now, NULL);
        mica_snapshot_release(last);
        last = now;
        const uint64_t since = mica_world_advance_version(f.behind);
        apply(f.behind, deltas[i], MICA_DELTA_FORWARDS);
        tick_assert_equal(f.behind, f.ahead);
        checksums[i + 1] = tick_checksum(f.behind);
        int64_t seen = 0;
        mica_each_since(query, since, it) { // whoever has a place moves in every tick
            seen += it.count;
        }
        assert_true(seen > 0);
        if (test_random_below(&random, 3) == 0) {
            hear_pushes(reader);
        }
    }
    for (uint32_t i = 64; i-- > 0;) {
        apply(f.behind, deltas[i], MICA_DELTA_BACKWARDS);
        assert_true(tick_checksum(f.behind) == checksums[i]);
        mica_delta_release(deltas[i]);
    }
    mica_snapshot_release(last);
    mica_event_reader_destroy(reader);
    mica_query_release(query);
    close_fixture(&f);
}

// What a system sees of it

static mica_entity seen[8];
static uint32_t seen_count;

static void see(mica_run *run) {
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count && seen_count < 8; i++) {
            seen[seen_count++] = it.entities[i];
        }
    }
}

static void look(mica_world *world) {
    seen_count = 0;
    assert_int_equal(mica_world_step(world, 1.0f / 16), MICA_OK);
}

MICA_STRUCT_WITH(Tracked, (.storage = MICA_TABLE, .track_rows = true), { int32_t value; });

// By an exact delta in a world with other versions, or by a limited one.
static void what_a_delta_writes_is_news_for_systems(void **state) {
    (void)state;
    const mica_term terms[] = {mica_changed(Tracked), mica_added(Tracked), mica_removed(Tracked)};
    for (uint32_t term = 0; term < 3; term++) {
        for (uint32_t is_limited = 0; is_limited < 2; is_limited++) {
            mica_schema *schema = mica_schema_create(NULL);
            mica_world *worlds[2];
            mica_entity entities[10];
            for (uint32_t i = 0; i < 2; i++) {
                worlds[i] = mica_world_create(&(mica_world_def){.schema = schema});
                for (int32_t k = 0; k < 10; k++) {
                    entities[k] =
                        k == 3 ? mica_entity_create(worlds[i]) : mica_spawn(worlds[i], mica_value_of(Tracked, {k}));
                }
                const mica_system_def def = {.name = "see", .run = see, .query = {terms[term]}};
                assert_int_not_equal(mica_system_add(worlds[i], &def).id, 0);
            }
            look(worlds[0]);
            look(worlds[1]);
            look(worlds[1]);
            assert_int_equal(seen_count, 0);
            mica_snapshot *base = take(worlds[0]);
            assert_int_equal(mica_snapshot_restore(base, worlds[1], NULL), MICA_OK);
            look(worlds[1]);
            assert_int_equal(seen_count, 0);
            assert_int_equal(mica_set(worlds[0], entities[5], Tracked, {50}), MICA_OK);
            assert_int_equal(mica_set(worlds[0], entities[3], Tracked, {30}), MICA_OK);
            assert_int_equal(mica_remove(worlds[0], entities[7], Tracked), MICA_OK);
            mica_snapshot *target = take(worlds[0]);
            const mica_component tracked = mica_register(worlds[0], Tracked);
            const mica_delta_options limits = {.components = &tracked, .component_count = 1};
            mica_delta *delta = mica_delta_make(base, target, is_limited ? &limits : NULL);
            if (!is_limited) {
                assert_int_equal(mica_snapshot_restore(base, worlds[1], NULL), MICA_OK);
                mica_world_advance_version(worlds[1]);
            }
            apply(worlds[1], delta, MICA_DELTA_FORWARDS);
            look(worlds[1]);
            const uint32_t expected[] = {2, 1, 1};
            assert_int_equal(seen_count, expected[term]);
            look(worlds[1]);
            assert_int_equal(seen_count, 0);
            mica_delta_release(delta);
            mica_snapshot_release(target);
            mica_snapshot_release(base);
            mica_world_destroy(worlds[0]);
            mica_world_destroy(worlds[1]);
            mica_schema_release(schema);
        }
    }
}

static void memory_that_is_missing_leaves_a_world_with_other_versions_as_it_was(void **state) {
    (void)state;
    fixture f = open_fixture();
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mica_world *world = tick_world_open(&(mica_world_def){.schema = f.schema, .allocator = hooks});
    assert_int_equal(mica_snapshot_restore(f.base, world, NULL), MICA_OK);
    mica_world_advance_version(world);
    const uint64_t checksum = tick_checksum(world);
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(f.delta, &byte_size);
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK; n++) {
        test_allocator_fail_at(&allocator, n);
        result = mica_delta_apply(world, bytes, byte_size, MICA_DELTA_FORWARDS, NULL);
        assert_int_equal(result, test_allocator_fail_stop(&allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_true(result == MICA_OK || tick_checksum(world) == checksum);
    }
    tick_assert_equal(world, f.ahead);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_the_program_draws_is_no_difference),
        cmocka_unit_test(the_same_value_written_again_is_no_difference),
        cmocka_unit_test(what_queries_for_changes_have_noted_is_no_difference),
        cmocka_unit_test(what_is_noted_elsewhere_alone_is_no_difference),
        cmocka_unit_test(readers_of_the_program_may_stand_elsewhere),
        cmocka_unit_test(a_reader_finds_what_it_has_yet_to_see_if_no_more_was_sent),
        cmocka_unit_test(a_world_follows_another_one_and_is_looked_at_as_it_likes),
        cmocka_unit_test(what_a_delta_writes_is_news_for_systems),
        cmocka_unit_test(memory_that_is_missing_leaves_a_world_with_other_versions_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
