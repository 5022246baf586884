// Worlds: definitions, names, memory, trimming, the structure lock, walks that outlive their world's use of them, and
// calls with nothing in their hands.
#include "world_fixture.h"

static void definitions_that_cannot_be_kept_are_refused(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world_def half = {.allocator = test_allocator_hooks(&allocator)};
    half.allocator.release = NULL;
    assert_null(mica_world_create(&half));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("allocator");
    assert_null(mica_world_create(&(mica_world_def){.fixed_delta_seconds = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const double zero = 0;
    assert_null(mica_world_create(&(mica_world_def){.fixed_delta_seconds = 1 / zero}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const double beyond_floats[] = {1e39, 1e-50, zero / zero};
    for (size_t i = 0; i < 3; i++) {
        mica_error_clear();
        assert_null(mica_world_create(&(mica_world_def){.fixed_delta_seconds = beyond_floats[i]}));
        assert_int_equal(mica_last_result(), MICA_INVALID);
        assert_said("fixed_delta_seconds");
    }
    assert_null(mica_world_create(&(mica_world_def){.advance_tick_limit = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    test_allocator_finish(&allocator);
}

static void a_world_keeps_its_name_and_its_schema(void **state) {
    (void)state;
    char name[] = "arena";
    mica_schema *schema = mica_schema_create(NULL);
    mica_world *world = mica_world_create(&(mica_world_def){.name = name, .schema = schema});
    name[0] = 'x';
    assert_string_equal(mica_world_name(world), "arena");
    assert_ptr_equal(mica_world_schema(world), schema);
    mica_schema_release(schema); // the world has a reference of its own
    assert_int_not_equal(mica_register(world, Position), 0);
    assert_int_equal(mica_schema_count(mica_world_schema(world)), 1);
    mica_world_destroy(world);
    mica_world_destroy(NULL);
}

MICA_NAMED_WITH(RowPosition, Position, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowOwned, Owned, (.storage = MICA_TABLE));

static void memory_is_counted_and_comes_back(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_world_memory(w.world).total, w.allocator.live_bytes);
    for (int32_t i = 0; i < 5000; i++) {
        mica_spawn(w.world, mica_value_of(RowPosition, {0, 0, 0}), mica_tag(RowOwned));
    }
    const mica_memory_usage usage = mica_world_memory(w.world);
    assert_int_equal(usage.total, w.allocator.live_bytes);
    assert_int_equal(usage.bytes[MICA_MEMORY_VALUES], 5000 * sizeof(int32_t));
    assert_true(usage.bytes[MICA_MEMORY_CHUNKS] >= 5000 * (sizeof(Position) + sizeof(Owned)));
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_VALUES], 0);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS] < usage.bytes[MICA_MEMORY_CHUNKS] / 4);
    assert_int_equal(mica_world_statistics(w.world).table_count, 0);
    watched_end(&w);
}

static void reserving_makes_room_so_that_creating_allocates_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_create(w.world);
    assert_int_equal(mica_world_reserve(w.world, 1000), MICA_OK);
    const uint64_t calls = w.allocator.call_count;
    for (int32_t i = 1; i < 1000; i++) {
        assert_true(mica_alive(w.world, mica_create(w.world)));
    }
    assert_true(w.allocator.call_count == calls);
    assert_int_equal(mica_world_reserve(w.world, MICA_INDEX_MAX + 1u), MICA_LIMIT);
    char limit[32];
    snprintf(limit, sizeof(limit), "%u at most", MICA_INDEX_MAX);
    assert_said(limit);
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(mica_world_reserve(w.world, 100000), MICA_OUT_OF_MEMORY);
    assert_said("memory");
    test_allocator_fail_stop(&w.allocator);
    watched_end(&w);
    watched_world reserved;
    test_allocator_init(&reserved.allocator);
    assert_null(mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&reserved.allocator),
                                                    .entity_capacity = MICA_INDEX_MAX + 1u}));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    test_allocator_finish(&reserved.allocator);
    mica_world *plain = mica_world_create(NULL); // all defaults
    assert_string_equal(mica_world_name(plain), "world");
    mica_world_destroy(plain);
}

static void a_world_that_ends_ends_its_open_walks(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_create(w.world);
    mica_iter rowless = mica_query_begin(mica_query_find(w.world, NULL, 0));
    mica_iter inner = mica_query_begin(mica_query_find(w.world, NULL, 0));
    assert_true(mica_iter_next(&rowless));
    assert_true(mica_iter_next(&inner));
    assert_non_null(mica_iter_commands(inner));
    watched_end(&w); // nothing leaks
}

static void walks_over_entities_without_components_allocate_once(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 600; i++) {
        mica_create(w.world);
    }
    mica_query *all = mica_query_create(w.world, NULL, 0);
    uint64_t calls = 0;
    for (int32_t round = 0; round < 4; round++) {
        int32_t seen = 0;
        mica_each (all, it) {
            seen += it.count;
            mica_each (all, inner) {
                seen -= inner.entities == it.entities; // each walk has its own
            }
        }
        assert_int_equal(seen, 600);
        if (round == 0) {
            calls = w.allocator.call_count;
        }
    }
    assert_true(w.allocator.call_count == calls);
    // Trimming gives it back, and the next walk takes it anew.
    const size_t before = mica_world_memory(w.world).bytes[MICA_MEMORY_QUERIES];
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_QUERIES] < before);
    assert_int_equal(mica_query_count(all), 600);
    mica_each (all, it) {
        assert_true(it.count > 0);
    }
    mica_query_release(all);
    watched_end(&w);
}

MICA_STRUCT_WITH(Loose, (.storage = MICA_POOL), { int32_t now; });

static void leave_open(mica_run *run) {
    mica_iter *it = mica_run_user(run);
    *it = mica_run_begin(run);
    mica_iter_next(it);
}

// A system that leaves a walk open has failed; the walk ends with it, and its owner may end it once more.
static void a_walk_that_a_system_left_open_locks_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    mica_iter left = {0};
    mica_system_add(
        w.world,
        &(mica_system_def){.name = "careless", .run = leave_open, .user = &left, .query = {mica_without(Frozen)}});
    assert_int_equal(mica_world_step(w.world, 1), MICA_LOCKED);
    assert_said("careless");
    assert_int_equal(mica_add(w.world, entity, Health), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    int32_t seen = 0;
    mica_each (mica_query_find(w.world, NULL, 0), it) {
        seen += it.count;
    }
    assert_int_equal(seen, 1);
    mica_iter_end(&left);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_valid(w.world);
    watched_end(&w);
}

static void a_walk_that_a_system_left_open_does_nothing_to_others(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Loose, {1}));
    mica_iter left = {0};
    mica_system_add(w.world, &(mica_system_def){.name = "careless",
                                                .run = leave_open,
                                                .user = &left,
                                                .query = {mica_read(Loose), mica_without(Frozen)}});
    assert_int_equal(mica_world_step(w.world, 1), MICA_LOCKED);
    assert_int_equal(mica_world_trim(w.world), MICA_OK); // what the walk kept is gone
    assert_false(mica_iter_next(&left));
    assert_null(mica_read_of(left, Loose));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_each (left.query, it) {
        mica_iter_end(&left);
        assert_int_equal(it.count, 1);
        assert_int_equal(mica_destroy(w.world, entity), MICA_LOCKED);
    }
    assert_int_equal(mica_destroy(w.world, entity), MICA_OK);
    assert_valid(w.world);
    watched_end(&w);
}

static void calls_with_nothing_in_their_hands_are_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    const mica_component position = mica_register(w.world, Position);
    assert_false(mica_entity_has_all(w.world, entity, NULL, 1));
    assert_true(mica_entity_has_all(w.world, entity, NULL, 0));
    assert_false(mica_entity_has_any(w.world, entity, NULL, 1));
    assert_false(mica_world_has_types(w.world, entity, NULL, 1, true));
    assert_false(mica_world_has_types(w.world, entity, NULL, 1, false));
    assert_false(mica_world_has_types(w.world, entity, (mica_type *const[]){NULL}, 1, true));
    assert_int_equal(mica_entity_components(w.world, entity, NULL, 4), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_world_register(w.world, NULL), 0);
    assert_int_equal(mica_world_component(w.world, NULL), 0);
    assert_int_equal(mica_world_component(NULL, mica_type_of(Position)), 0);
    assert_int_equal(mica_entity_destroy_many(w.world, NULL, 2), MICA_INVALID);
    assert_int_equal(mica_entity_destroy_many(w.world, NULL, 0), MICA_OK);
    assert_int_equal(mica_entity_create_at(w.world, NULL, 1), MICA_INVALID);
    assert_int_equal(mica_entity_patch(w.world, entity, position, NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_entity_set(w.world, entity, position, NULL), MICA_INVALID);
    mica_query *query = mica_query_of(w.world, mica_read(Position));
    assert_int_equal(mica_query_entities(query, NULL, 4), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_query_entities(query, NULL, 0), 1);
    assert_int_equal(mica_query_entities(NULL, NULL, 0), 0);
    assert_false(mica_query_contains(NULL, entity));
    assert_int_equal(mica_query_count(NULL), 0);
    assert_string_equal(mica_query_text(NULL), "");
    assert_null(mica_query_retain(NULL));
    mica_query_release(NULL);
    assert_int_equal(mica_world_validate(NULL), MICA_INVALID);
    assert_int_equal(mica_world_memory(NULL).total, 0);
    assert_int_equal(mica_world_statistics(NULL).entity_count, 0);
    assert_int_equal(mica_world_reserve(NULL, 1), MICA_INVALID);
    assert_int_equal(mica_world_clear(NULL), MICA_INVALID);
    assert_int_equal(mica_world_trim(NULL), MICA_INVALID);
    assert_null(mica_world_schema(NULL));
    assert_string_equal(mica_world_name(NULL), "");
    assert_null(mica_query_create(w.world, NULL, 1));
    assert_null(mica_query_create(NULL, NULL, 0));
    assert_false(mica_iter_next(NULL));
    mica_iter_end(NULL);
    assert_null(mica_iter_read(NULL, mica_type_of(Position)));
    assert_null(mica_iter_write(NULL, mica_type_of(Position)));
    assert_null(mica_iter_read_id(NULL, position));
    assert_null(mica_iter_write_id(NULL, position));
    assert_null(mica_iter_commands_of(NULL));
    mica_iter none = mica_query_begin(NULL);
    assert_false(none.open);
    assert_null(mica_iter_read(&none, mica_type_of(Position)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_each (query, it) {
        assert_null(mica_iter_read(&it, NULL));
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void structure_that_is_locked_names_the_query(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_each (mica_query_of(w.world, mica_read(Position)), it) {
        assert_int_equal(mica_world_clear(w.world), MICA_LOCKED);
        assert_said("Position");
        assert_int_equal(mica_world_trim(w.world), MICA_LOCKED);
        assert_int_equal(mica_world_step(w.world, 1), MICA_LOCKED);
        assert_null_entity(mica_clone(w.world, entity));
        assert_int_equal(mica_last_result(), MICA_LOCKED);
        assert_int_equal(mica_entity_create_at(w.world, &entity, 1), MICA_LOCKED);
        assert_int_equal(mica_entity_spawn_many(w.world, NULL, 0, 1, NULL), MICA_LOCKED);
        assert_int_equal(mica_destroy_many(w.world, &entity, 1), MICA_LOCKED);
        assert_int_equal(mica_world_reserve(w.world, 100), MICA_OK); // moves no rows
        assert_int_equal(mica_set(w.world, entity, Position, {4, 5, 6}), MICA_OK);
    }
    assert_true(mica_get(w.world, entity, Position)->x == 4);
    assert_valid(w.world);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_that_cannot_be_kept_are_refused),
        cmocka_unit_test(a_world_keeps_its_name_and_its_schema),
        cmocka_unit_test(memory_is_counted_and_comes_back),
        cmocka_unit_test(reserving_makes_room_so_that_creating_allocates_nothing),
        cmocka_unit_test(a_world_that_ends_ends_its_open_walks),
        cmocka_unit_test(walks_over_entities_without_components_allocate_once),
        cmocka_unit_test(a_walk_that_a_system_left_open_locks_nothing),
        cmocka_unit_test(a_walk_that_a_system_left_open_does_nothing_to_others),
        cmocka_unit_test(calls_with_nothing_in_their_hands_are_refused),
        cmocka_unit_test(structure_that_is_locked_names_the_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
