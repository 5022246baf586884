// The verbs on one entity: what they do, what they refuse, and that a refusal leaves the world as it was.
#include "world_fixture.h"

// What a refusal must leave alone: counts and the one entity's values.
typedef struct seen_state {
    mica_world_stats stats;
    uint64_t left;
    int32_t components;
    Health health;
} seen_state;

static seen_state look(mica_world *world, mica_entity entity) {
    seen_state seen = {.stats = mica_world_statistics(world)};
    seen.left = seen.stats.handle_left_count;
    if (mica_alive(world, entity)) {
        seen.components = mica_entity_components(world, entity, NULL, 0);
        const Health *health = mica_get(world, entity, Health);
        seen.health = health == NULL ? (Health){-1} : *health;
    }
    return seen;
}

static void assert_unchanged(mica_world *world, mica_entity entity, seen_state before) {
    const seen_state after = look(world, entity);
    assert_int_equal(after.stats.entity_count, before.stats.entity_count);
    assert_int_equal(after.stats.entity_empty_count, before.stats.entity_empty_count);
    assert_true(after.left == before.left);
    assert_int_equal(after.components, before.components);
    assert_int_equal(after.health.now, before.health.now);
    assert_valid(world);
}

static void a_created_entity_is_alive_and_has_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    assert_true(mica_alive(w.world, entity));
    assert_int_equal(mica_world_entity_count(w.world), 1);
    assert_int_equal(mica_entity_components(w.world, entity, NULL, 0), 0);
    assert_null(mica_get(w.world, entity, Health));
    assert_false(mica_has(w.world, entity, Frozen));
    watched_end(&w);
}

static void add_set_get_and_remove_go_together(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    assert_int_equal(mica_add(w.world, entity, Health), MICA_OK);
    assert_int_equal(mica_get(w.world, entity, Health)->now, 0);
    assert_int_equal(mica_set(w.world, entity, Health, {7}), MICA_OK);
    assert_int_equal(mica_add_value(w.world, entity, Position, {1, 2, 3}), MICA_OK);
    assert_int_equal(mica_get(w.world, entity, Health)->now, 7);
    assert_true(mica_get(w.world, entity, Position)->z == 3);
    const Health nine = {9};
    assert_int_equal(mica_set_from(w.world, entity, Health, &nine), MICA_OK);
    mica_get_write(w.world, entity, Health)->now++;
    assert_int_equal(mica_get(w.world, entity, Health)->now, 10);
    assert_int_equal(mica_remove(w.world, entity, Health), MICA_OK);
    assert_null(mica_get(w.world, entity, Health));
    assert_int_equal(mica_remove(w.world, entity, Health), MICA_OK);
    assert_true(mica_get(w.world, entity, Position)->x == 1);
    assert_int_equal(mica_remove(w.world, entity, Position), MICA_OK);
    assert_int_equal(mica_entity_components(w.world, entity, NULL, 0), 0);
    assert_true(mica_alive(w.world, entity));
    assert_valid(w.world);
    watched_end(&w);
}

static void add_refuses_what_is_there_by_name(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {5}), mica_tag(Frozen));
    const seen_state before = look(w.world, entity);
    assert_int_equal(mica_add(w.world, entity, Health), MICA_EXISTS);
    assert_said("mica_entity_add");
    assert_said("Health");
    assert_int_equal(mica_add_value(w.world, entity, Health, {6}), MICA_EXISTS);
    assert_int_equal(mica_add(w.world, entity, Frozen), MICA_EXISTS);
    assert_unchanged(w.world, entity, before);
    watched_end(&w);
}

static void required_components_come_along_and_keep_what_is_there(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity plain = mica_create(w.world);
    assert_int_equal(mica_set(w.world, plain, Armour, {3}), MICA_OK);
    assert_true(mica_has_all(w.world, plain, mica_type_of(Armour), mica_type_of(Health), mica_type_of(Marked)));
    assert_int_equal(mica_get(w.world, plain, Health)->now, 0);
    const mica_entity healthy = mica_spawn(w.world, mica_value_of(Health, {8}));
    assert_int_equal(mica_add(w.world, healthy, Armour), MICA_OK);
    assert_int_equal(mica_get(w.world, healthy, Health)->now, 8);
    // What is required may go again, by itself.
    assert_int_equal(mica_remove(w.world, healthy, Health), MICA_OK);
    assert_true(mica_has(w.world, healthy, Armour));
    watched_end(&w);
}

static void ignore(void *value, void *user) {
    (void)value;
    (void)user;
}

// Every verb that takes a handle, with one that is not alive.
static void refuse_everywhere(mica_world *world, mica_entity entity, const char *said) {
    const seen_state before = look(world, MICA_NULL);
    mica_component listed[1];
    assert_false(mica_alive(world, entity));
    assert_int_equal(mica_destroy(world, entity), MICA_STALE);
    assert_said(said);
    assert_int_equal(mica_destroy_many(world, &entity, 1), MICA_STALE);
    assert_int_equal(mica_add(world, entity, Health), MICA_STALE);
    assert_said("mica_entity_add");
    assert_int_equal(mica_set(world, entity, Health, {1}), MICA_STALE);
    assert_int_equal(mica_remove(world, entity, Health), MICA_STALE);
    assert_int_equal(mica_patch(world, entity, Health, ignore, NULL), MICA_STALE);
    mica_error_clear();
    assert_null(mica_get(world, entity, Health));
    assert_int_equal(mica_last_result(), MICA_STALE);
    mica_error_clear();
    assert_null(mica_get_write(world, entity, Health));
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_null_entity(mica_clone(world, entity));
    assert_int_equal(mica_entity_components(world, entity, listed, 1), -1);
    assert_false(mica_has(world, entity, Health));
    assert_false(mica_has_any(world, entity, mica_type_of(Health)));
    assert_unchanged(world, MICA_NULL, before);
}

static void handles_that_are_not_alive_are_refused_everywhere(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity first = mica_spawn(w.world, mica_value_of(Health, {1}));
    assert_int_equal(mica_destroy(w.world, first), MICA_OK);
    refuse_everywhere(w.world, first, "is not alive");
    const mica_entity second = mica_spawn(w.world, mica_value_of(Health, {2}));
    assert_int_equal(mica_entity_index(second), mica_entity_index(first));
    refuse_everywhere(w.world, first, "is not alive");
    assert_int_equal(mica_get(w.world, second, Health)->now, 2);
    refuse_everywhere(w.world, MICA_NULL, "null");
    refuse_everywhere(w.world, mica_entity_make(1, MICA_GENERATION_MAX), "placeholder");
    refuse_everywhere(w.world, mica_entity_make(MICA_INDEX_MAX, 0), "is not alive");
    watched_end(&w);
}

static void destroy_many_with_an_outdated_handle_names_it_and_destroys_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity old = mica_spawn(w.world, mica_value_of(Health, {1}));
    mica_destroy(w.world, old);
    const mica_entity heir = mica_spawn(w.world, mica_value_of(Health, {2}));
    const mica_entity both[] = {heir, old};
    assert_int_equal(mica_destroy_many(w.world, both, 2), MICA_STALE);
    assert_said("entities[1]");
    assert_int_equal(mica_get(w.world, heir, Health)->now, 2);
    const mica_entity twice[] = {heir, heir};
    assert_int_equal(mica_destroy_many(w.world, twice, 2), MICA_OK);
    assert_int_equal(mica_world_entity_count(w.world), 0);
    watched_end(&w);
}

// Enough of them, and far enough apart, that memory is fetched ahead.
static void destroying_half_of_many_in_any_order_leaves_the_other_half(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    watched_world w;
    watched_begin(&w);
    static mica_entity entities[COUNT];
    static Health healths[COUNT];
    for (int i = 0; i < COUNT; i++) {
        healths[i].now = i;
    }
    assert_int_equal(mica_spawn_many(w.world, COUNT, entities, mica_column_of(Health, healths)), MICA_OK);
    test_random random = {.state = 3};
    for (uint32_t i = COUNT - 1; i > 0; i--) {
        const uint32_t k = test_random_below(&random, i + 1);
        const mica_entity entity = entities[i];
        entities[i] = entities[k];
        entities[k] = entity;
        const Health health = healths[i];
        healths[i] = healths[k];
        healths[k] = health;
    }
    assert_int_equal(mica_destroy_many(w.world, entities, COUNT / 2), MICA_OK);
    assert_int_equal(mica_world_entity_count(w.world), COUNT - COUNT / 2);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(mica_alive(w.world, entities[i]), i >= COUNT / 2);
        if (i >= COUNT / 2) {
            assert_int_equal(mica_get(w.world, entities[i], Health)->now, healths[i].now);
        }
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void unknown_components_and_tags_with_values_are_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {5}));
    const mica_component unknown = 999;
    const mica_component frozen = mica_register(w.world, Frozen);
    const seen_state before = look(w.world, entity);
    assert_int_equal(mica_entity_add(w.world, entity, unknown, NULL), MICA_UNKNOWN);
    assert_said("999");
    assert_int_equal(mica_entity_set(w.world, entity, unknown, &before), MICA_UNKNOWN);
    assert_int_equal(mica_entity_remove(w.world, entity, 0), MICA_UNKNOWN);
    assert_int_equal(mica_entity_patch(w.world, entity, unknown, NULL, NULL), MICA_UNKNOWN);
    mica_error_clear();
    assert_null(mica_entity_get(w.world, entity, unknown));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_false(mica_entity_has(w.world, entity, unknown));
    assert_int_equal(mica_entity_add(w.world, entity, frozen, &before), MICA_NO_VALUE);
    assert_said("Frozen");
    assert_int_equal(mica_entity_set(w.world, entity, frozen, &before), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set(w.world, entity, mica_register(w.world, Health), NULL), MICA_INVALID);
    assert_unchanged(w.world, entity, before);
    mica_add(w.world, entity, Frozen);
    mica_error_clear();
    assert_null(mica_entity_get(w.world, entity, frozen));
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    watched_end(&w);
}

typedef struct meddling {
    mica_world *world;
    mica_entity entity;
    int32_t refused_count;
} meddling;

static void assert_meddling_refused(meddling *by, mica_result result) {
    assert_int_equal(result, MICA_LOCKED);
    assert_non_null(strstr(mica_last_error(), "the callback of mica_entity_patch"));
    mica_error_clear();
    by->refused_count++;
}

static void meddle(void *value, void *user) {
    meddling *by = user;
    assert_meddling_refused(by, mica_destroy(by->world, by->entity));
    assert_meddling_refused(by, mica_set(by->world, by->entity, Position, {1, 2, 3}));
    assert_meddling_refused(by, mica_world_trim(by->world));
    assert_meddling_refused(by, mica_world_step(by->world, 0));
    mica_world_destroy(by->world);
    assert_meddling_refused(by, mica_last_result());
    assert_int_equal(mica_set(by->world, by->entity, Health, {4}), MICA_OK); // moves nothing
    ((Health *)value)->now++;
}

static void a_patch_keeps_the_row_where_it_is(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    meddling by = {.world = w.world, .entity = entity};
    assert_int_equal(mica_patch(w.world, entity, Health, meddle, &by), MICA_OK);
    assert_int_equal(by.refused_count, 5);
    assert_int_equal(mica_get(w.world, entity, Health)->now, 5);
    assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_OK);
    watched_end(&w);
}

static void destroy_by_a_walk(void *value, void *user) {
    meddling *by = user;
    mica_each (mica_query_of(by->world, mica_read(Health)), it) {
        assert_int_equal(mica_commands_destroy_entity(mica_iter_commands(it), by->entity), MICA_OK);
    }
    assert_true(mica_alive(by->world, by->entity)); // `value` is its
    ((Health *)value)->now++;
}

static void what_a_walk_in_a_patch_records_waits_for_its_end(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    meddling by = {.world = w.world, .entity = entity};
    assert_int_equal(mica_patch(w.world, entity, Health, destroy_by_a_walk, &by), MICA_OK);
    assert_false(mica_alive(w.world, entity));
    watched_end(&w);
}

MICA_STRUCT_WITH(PooledValue, (.storage = MICA_POOL), { int32_t number; });
MICA_TAG_WITH(PooledMark, (.storage = MICA_POOL));

// Typed verbs look things up in the caller's code, others in the library's: both must find the same.
static void assert_found_alike(mica_world *world, mica_entity entity) {
    mica_type *const types[] = {mica_type_of(Health), mica_type_of(Frozen), mica_type_of(PooledValue),
                                mica_type_of(PooledMark)};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const bool has = mica_world_has_typed(world, entity, types[i]);
        assert_int_equal(has, mica_entity_has(world, entity, mica_world_component(world, types[i])));
    }
    assert_ptr_equal(mica_get(world, entity, Health), mica_entity_get(world, entity, mica_register(world, Health)));
    assert_ptr_equal(mica_get(world, entity, PooledValue),
                     mica_entity_get(world, entity, mica_register(world, PooledValue)));
}

static void typed_verbs_and_those_by_id_find_the_same(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity bare = mica_create(w.world);
    assert_false(mica_has(w.world, bare, PooledValue)); // no pool yet
    assert_null(mica_get(w.world, bare, PooledValue));
    mica_entity entities[5000]; // more than a page of a pool's lookup
    for (int32_t i = 0; i < 5000; i++) {
        entities[i] = mica_create(w.world);
        if (i % 2 == 0) {
            mica_set(w.world, entities[i], Health, {i});
        }
        if (i % 3 == 0 && i > 2500) {
            mica_set(w.world, entities[i], PooledValue, {i});
            mica_add(w.world, entities[i], PooledMark);
        }
    }
    mica_destroy(w.world, entities[4998]);
    const mica_entity again = mica_create(w.world); // in the slot of the one destroyed
    assert_int_equal(mica_entity_index(again), mica_entity_index(entities[4998]));
    for (int32_t i = 0; i < 4998; i++) {
        assert_found_alike(w.world, entities[i]);
        assert_int_equal(mica_has(w.world, entities[i], Health), i % 2 == 0);
        assert_int_equal(mica_has(w.world, entities[i], PooledMark), i % 3 == 0 && i > 2500);
        const PooledValue *value = mica_get(w.world, entities[i], PooledValue);
        assert_int_equal(value != NULL ? value->number : -1, i % 3 == 0 && i > 2500 ? i : -1);
    }
    assert_found_alike(w.world, entities[4998]);
    assert_false(mica_has(w.world, entities[4998], PooledValue));
    assert_found_alike(w.world, again);
    assert_found_alike(w.world, MICA_NULL);
    assert_found_alike(w.world, mica_entity_make(1000000, 0));
    // Another world's ids are others, and the descriptors remember this one's.
    mica_world *other = mica_world_create(NULL);
    const mica_entity alone = mica_create(other);
    assert_int_equal(mica_add(other, alone, PooledMark), MICA_OK);
    assert_found_alike(other, alone);
    assert_found_alike(w.world, entities[3000]);
    mica_world_destroy(other);
    watched_end(&w);
}

static void absence_is_no_error(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    const mica_entity other = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_error_clear();
    assert_null(mica_get(w.world, entity, Health));
    assert_null(mica_get(w.world, other, Health));
    assert_null(mica_get_write(w.world, other, Health));
    assert_int_equal(mica_remove(w.world, other, Health), MICA_OK);
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_int_equal(mica_patch(w.world, other, Health, ignore, NULL), MICA_ABSENT);
    watched_end(&w);
}

static void create_at_gives_exactly_the_handles_asked_for(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity wanted[] = {mica_entity_make(5, 2), mica_entity_make(1, 0)};
    assert_int_equal(mica_entity_create_at(w.world, wanted, 2), MICA_OK);
    assert_true(mica_alive(w.world, wanted[0]));
    assert_int_equal(mica_set(w.world, wanted[0], Health, {3}), MICA_OK);
    assert_int_equal(mica_entity_create_at(w.world, wanted, 1), MICA_EXISTS);
    assert_said("entities[0]");
    assert_int_equal(mica_entity_create_at(w.world, NULL, 1), MICA_INVALID);
    assert_int_equal(mica_entity_create_at(w.world, wanted, -1), MICA_INVALID);
    mica_destroy(w.world, wanted[0]);
    assert_int_equal(mica_entity_create_at(w.world, wanted, 1), MICA_STALE);
    const mica_entity next = mica_entity_make(5, 3);
    assert_int_equal(mica_entity_create_at(w.world, &next, 1), MICA_OK);
    mica_set(w.world, next, Health, {4});
    for (int i = 0; i < 8; i++) {
        assert_int_not_equal(mica_entity_index(mica_create(w.world)), 5);
    }
    assert_int_equal(mica_get(w.world, next, Health)->now, 4);
    assert_valid(w.world);
    watched_end(&w);
}

static void clear_after_a_delete_leaves_nobody_behind(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity a = mica_create(w.world);
    mica_create(w.world);
    const mica_entity c = mica_spawn(w.world, mica_value_of(Health, {1}));
    mica_destroy(w.world, a);
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_world_entity_count(w.world), 0);
    assert_int_equal(mica_query_count(mica_query_find(w.world, NULL, 0)), 0);
    assert_false(mica_alive(w.world, c));
    assert_valid(w.world);
    watched_end(&w);
}

static void a_clone_has_copies_of_everything(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    int32_t number = 41;
    const mica_entity source =
        mica_spawn(w.world, mica_value_of(Health, {7}), mica_tag(Frozen), mica_value_of(Owned, {.number = &number}));
    const mica_entity clone = mica_clone(w.world, source);
    assert_int_equal(mica_get(w.world, clone, Health)->now, 7);
    assert_true(mica_has(w.world, clone, Frozen));
    assert_int_equal(*mica_get(w.world, clone, Owned)->number, 41);
    assert_ptr_not_equal(mica_get(w.world, clone, Owned)->number, mica_get(w.world, source, Owned)->number);
    const mica_entity empty = mica_clone(w.world, mica_create(w.world));
    assert_int_equal(mica_entity_components(w.world, empty, NULL, 0), 0);
    watched_end(&w);
}

static void end_nothing(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
}

MICA_STRUCT_WITH(MoveOnly, (.hooks = {.destruct = end_nothing}), { int32_t number; });

static void an_entity_with_a_move_only_value_is_not_cloned(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity source = mica_spawn(w.world, mica_value_of(MoveOnly, {7}));
    const seen_state before = look(w.world, source);
    assert_null_entity(mica_clone(w.world, source));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_said("MoveOnly");
    assert_unchanged(w.world, source, before);
    watched_end(&w);
}

// A value may be given by a pointer into the world itself, even when the call moves the rows that it lies in.
static void a_value_may_come_out_of_the_world(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity source = mica_spawn(w.world, mica_value_of(Health, {77}));
    for (int i = 0; i < 300; i++) {
        const mica_entity copy = mica_create(w.world);
        assert_int_equal(mica_set_from(w.world, copy, Health, mica_get(w.world, source, Health)), MICA_OK);
        assert_int_equal(mica_get(w.world, copy, Health)->now, 77);
        assert_int_equal(mica_get(w.world, source, Health)->now, 77);
    }
    watched_end(&w);
}

static void moving_over_a_value_loses_none_in_any_table(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    // Twice the same way, so that the row of the moved entity is looked up anew.
    for (int round = 0; round < 2; round++) {
        const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {round}));
        assert_int_equal(mica_set(w.world, entity, Position, {1, 2, (float)round}), MICA_OK);
        assert_int_equal(mica_get(w.world, entity, Health)->now, round);
        assert_true(mica_get(w.world, entity, Position)->z == (float)round);
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void tables_dropped_by_trim_are_not_reached_by_old_edges(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = mica_query_create(w.world, (const mica_term[]){mica_read(Health), mica_read(Position)}, 2);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    for (int round = 0; round < 3; round++) {
        assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_OK);
        assert_int_equal(mica_query_count(query), 1);
        assert_int_equal(mica_remove(w.world, entity, Position), MICA_OK);
        assert_int_equal(mica_query_count(query), 0);
        assert_int_equal(mica_world_trim(w.world), MICA_OK);
        assert_int_equal(mica_world_statistics(w.world).table_empty_count, 0);
        assert_valid(w.world);
    }
    mica_query_release(query);
    watched_end(&w);
}

static void create_many_destroy_most_trim_create_again(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    static mica_entity entities[5000];
    assert_int_equal(mica_spawn_many(w.world, 5000, entities, mica_tag(Health)), MICA_OK);
    assert_int_equal(mica_destroy_many(w.world, entities + 10, 4990), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_valid(w.world);
    assert_int_equal(mica_spawn_many(w.world, 6000, NULL, mica_tag(Health)), MICA_OK);
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_with(Health))), 6010);
    assert_valid(w.world);
    watched_end(&w);
}

static void entity_values_keep_all_bits_of_a_handle(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    static mica_entity entities[40000];
    assert_int_equal(mica_spawn_many(w.world, 40000, entities, mica_tag(Target)), MICA_OK);
    for (int i = 0; i < 40000; i++) {
        mica_get_write(w.world, entities[i], Target)->who = entities[39999 - i];
    }
    for (int i = 0; i < 40000; i++) {
        assert_entity_equal(mica_get(w.world, entities[i], Target)->who, entities[39999 - i]);
    }
    watched_end(&w);
}

static void a_second_world_starts_afresh_and_knows_types_by_its_own_order(void **state) {
    (void)state;
    watched_world first;
    watched_world second;
    watched_begin(&first);
    test_allocator_init(&second.allocator);
    second.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&second.allocator)});
    mica_register(second.world, Position); // the other way round
    mica_register(second.world, Health);
    const mica_entity a = mica_spawn(first.world, mica_value_of(Health, {1}), mica_value_of(Position, {1, 0, 0}));
    const mica_entity b = mica_spawn(second.world, mica_value_of(Health, {2}), mica_value_of(Position, {2, 0, 0}));
    assert_entity_equal(a, b);
    assert_int_equal(mica_get(first.world, a, Health)->now, 1);
    assert_int_equal(mica_get(second.world, b, Health)->now, 2);
    assert_true(mica_get(first.world, a, Position)->x == 1);
    assert_true(mica_get(second.world, b, Position)->x == 2);
    watched_end(&second);
    watched_end(&first);
}

static void calls_without_a_world_are_refused(void **state) {
    (void)state;
    mica_world *none = NULL;
    const mica_entity entity = mica_entity_make(1, 0);
    assert_null_entity(mica_entity_create(none));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_entity_destroy(none, entity), MICA_INVALID);
    assert_int_equal(mica_entity_add(none, entity, 1, NULL), MICA_INVALID);
    assert_int_equal(mica_entity_set(none, entity, 1, &entity), MICA_INVALID);
    assert_int_equal(mica_entity_remove(none, entity, 1), MICA_INVALID);
    assert_int_equal(mica_entity_patch(none, entity, 1, NULL, NULL), MICA_INVALID);
    assert_null(mica_entity_get(none, entity, 1));
    assert_null(mica_entity_get_write(none, entity, 1));
    assert_false(mica_entity_has(none, entity, 1));
    assert_false(mica_entity_alive(none, entity));
    assert_int_equal(mica_entity_create_at(none, &entity, 1), MICA_INVALID);
    assert_int_equal(mica_entity_destroy_many(none, &entity, 1), MICA_INVALID);
    assert_null_entity(mica_entity_clone(none, entity));
    assert_null_entity(mica_entity_spawn(none, NULL, 0));
    assert_int_equal(mica_world_clear(none), MICA_INVALID);
    assert_int_equal(mica_world_trim(none), MICA_INVALID);
    assert_int_equal(mica_world_reserve(none, 1), MICA_INVALID);
    assert_int_equal(mica_world_entity_count(none), 0);
    assert_int_equal(mica_world_component(none, mica_type_of(Health)), 0);
    mica_world_destroy(none);
}

// Beside those of the fixture, so that one of each storage is there in every build.
MICA_STRUCT_WITH(InTable, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(InPool, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(InPages, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 2), { int32_t numbers[6]; });
MICA_STRUCT_WITH(Large, (.storage = MICA_POOL, .layout = MICA_PACKED), { int32_t numbers[11]; });
MICA_TAG_WITH(PoolTag, (.storage = MICA_POOL));

#define ASSERT_SAME_LOOK(WORLD, ENTITY, T)                                                                            \
    do {                                                                                                              \
        const mica_component component_of_t = mica_register((WORLD), T);                                              \
        assert_ptr_equal(mica_get((WORLD), (ENTITY), T), mica_entity_get((WORLD), (ENTITY), component_of_t));         \
        assert_int_equal(mica_has((WORLD), (ENTITY), T), mica_entity_has((WORLD), (ENTITY), component_of_t));         \
        assert_int_equal(mica_has((WORLD), (ENTITY), T), mica_entity_get((WORLD), (ENTITY), component_of_t) != NULL); \
    } while (0)

static void assert_same_looks(mica_world *world, mica_entity entity) {
    ASSERT_SAME_LOOK(world, entity, InTable);
    ASSERT_SAME_LOOK(world, entity, InPool);
    ASSERT_SAME_LOOK(world, entity, InPages);
    ASSERT_SAME_LOOK(world, entity, Large);
    ASSERT_SAME_LOOK(world, entity, Wide);
    const mica_component tag = mica_register(world, PoolTag);
    assert_int_equal(mica_has(world, entity, PoolTag), mica_entity_has(world, entity, tag));
}

static void what_is_looked_up_in_line_is_what_a_call_finds(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_world *other = mica_world_create(NULL); // descriptors are used with two schemas in turns
    assert_int_not_equal(mica_register(other, Wide), 0);
    const mica_entity first = mica_create(w.world); // before there are chunks and pools
    const mica_entity same = mica_create(other);
    assert_same_looks(w.world, first);
    assert_same_looks(other, same);
    assert_false(mica_has(w.world, first, InTable));
    const mica_entity all = mica_spawn(w.world, mica_value_of(InTable, {1}), mica_value_of(InPool, {2}),
                                       mica_value_of(InPages, {{3}}), mica_value_of(Large, {{4}}), mica_tag(PoolTag));
    assert_int_equal(mica_set(other, same, InPages, {{5}}), MICA_OK);
    for (int32_t round = 0; round < 2; round++) {
        assert_int_equal(mica_get(w.world, all, InTable)->number, 1);
        assert_int_equal(mica_get(w.world, all, InPool)->number, 2);
        assert_int_equal(mica_get(w.world, all, InPages)->numbers[0], 3);
        assert_int_equal(mica_get(w.world, all, Large)->numbers[0], 4);
        assert_true(mica_has(w.world, all, PoolTag));
        assert_int_equal(mica_get(other, same, InPages)->numbers[0], 5);
        assert_null(mica_get(other, same, InPool));
    }
    // Of one that is higher than all of a table's, and of one in between that the table lacks.
    const mica_entity highest = mica_spawn(w.world, mica_value_of(Wide, {.number = 6}));
    const mica_entity lowest = mica_spawn(w.world, mica_value_of(InTable, {7}));
    const mica_entity ended = mica_spawn(w.world, mica_value_of(InTable, {8}), mica_value_of(InPool, {9}));
    assert_int_equal(mica_destroy(w.world, ended), MICA_OK);
    const uint32_t index = mica_entity_index(ended);
    const mica_entity asked[] = {MICA_NULL,
                                 first,
                                 all,
                                 highest,
                                 lowest,
                                 ended,
                                 mica_entity_make(index, mica_entity_generation(ended) + 1), // the next one of its slot
                                 mica_entity_make(index, MICA_GENERATION_MAX),
                                 mica_entity_make(1, MICA_GENERATION_MAX),
                                 mica_entity_make(MICA_INDEX_MAX, 0)};
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        assert_same_looks(w.world, asked[i]);
        assert_same_looks(other, asked[i]);
    }
    mica_world_destroy(other);
    watched_end(&w);
}

static void values_of_all_sizes_come_and_go_in_pools(void **state) {
    (void)state;
    enum { COUNT = 70 };
    watched_world w;
    watched_begin(&w);
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_create(w.world);
        assert_int_equal(mica_add_value(w.world, entities[i], InPool, {i}), MICA_OK);
        assert_int_equal(mica_add_value(w.world, entities[i], InPages, {{i, 1, 2, 3, 4, -i}}), MICA_OK);
        assert_int_equal(mica_add_value(w.world, entities[i], Large, {{i, [10] = -i}}), MICA_OK);
        assert_int_equal(mica_add(w.world, entities[i], PoolTag), MICA_OK);
        assert_int_equal(mica_add(w.world, entities[i], PoolTag), MICA_EXISTS);
        assert_int_equal(mica_add_value(w.world, entities[i], InPool, {i}), MICA_EXISTS);
    }
    const Large large = {{1}};
    assert_int_equal(mica_entity_add(w.world, mica_create(w.world), mica_register(w.world, PoolTag), &large),
                     MICA_NO_VALUE);
    for (int32_t i = 0; i < COUNT; i += 3) {
        assert_int_equal(mica_remove(w.world, entities[i], InPool), MICA_OK);
        assert_int_equal(mica_remove(w.world, entities[i], InPages), MICA_OK);
        assert_int_equal(mica_remove(w.world, entities[i], Large), MICA_OK);
        assert_int_equal(mica_remove(w.world, entities[i], PoolTag), MICA_OK);
        assert_int_equal(mica_remove(w.world, entities[i], InPool), MICA_OK);
    }
    for (int32_t i = 0; i < COUNT; i++) {
        const bool is_gone = i % 3 == 0;
        assert_int_equal(mica_has(w.world, entities[i], PoolTag), !is_gone);
        if (is_gone) {
            assert_null(mica_get(w.world, entities[i], InPool));
            assert_null(mica_get(w.world, entities[i], Large));
            continue;
        }
        assert_int_equal(mica_get(w.world, entities[i], InPool)->number, i);
        assert_int_equal(mica_get(w.world, entities[i], InPages)->numbers[5], -i);
        assert_int_equal(mica_get(w.world, entities[i], Large)->numbers[10], -i);
        assert_int_equal(mica_set(w.world, entities[i], Large, {{i, [10] = i}}), MICA_OK);
        assert_int_equal(mica_get(w.world, entities[i], Large)->numbers[10], i);
    }
    assert_valid(w.world);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_looked_up_in_line_is_what_a_call_finds),
        cmocka_unit_test(values_of_all_sizes_come_and_go_in_pools),
        cmocka_unit_test(a_created_entity_is_alive_and_has_nothing),
        cmocka_unit_test(add_set_get_and_remove_go_together),
        cmocka_unit_test(add_refuses_what_is_there_by_name),
        cmocka_unit_test(required_components_come_along_and_keep_what_is_there),
        cmocka_unit_test(handles_that_are_not_alive_are_refused_everywhere),
        cmocka_unit_test(destroy_many_with_an_outdated_handle_names_it_and_destroys_nothing),
        cmocka_unit_test(destroying_half_of_many_in_any_order_leaves_the_other_half),
        cmocka_unit_test(unknown_components_and_tags_with_values_are_refused),
        cmocka_unit_test(a_patch_keeps_the_row_where_it_is),
        cmocka_unit_test(what_a_walk_in_a_patch_records_waits_for_its_end),
        cmocka_unit_test(typed_verbs_and_those_by_id_find_the_same),
        cmocka_unit_test(absence_is_no_error),
        cmocka_unit_test(create_at_gives_exactly_the_handles_asked_for),
        cmocka_unit_test(clear_after_a_delete_leaves_nobody_behind),
        cmocka_unit_test(a_clone_has_copies_of_everything),
        cmocka_unit_test(an_entity_with_a_move_only_value_is_not_cloned),
        cmocka_unit_test(a_value_may_come_out_of_the_world),
        cmocka_unit_test(moving_over_a_value_loses_none_in_any_table),
        cmocka_unit_test(tables_dropped_by_trim_are_not_reached_by_old_edges),
        cmocka_unit_test(create_many_destroy_most_trim_create_again),
        cmocka_unit_test(entity_values_keep_all_bits_of_a_handle),
        cmocka_unit_test(a_second_world_starts_afresh_and_knows_types_by_its_own_order),
        cmocka_unit_test(calls_without_a_world_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
