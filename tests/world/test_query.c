// Queries: what matches, in which order, what is refused; walks, the structure lock, and changes recorded while
// walking.
#include "world_fixture.h"

#include "world/actor.h"
#include "world/query.h"

// Where a case is about one storage; the others' types live where the build has them.
MICA_STRUCT_WITH(AlsoInTable, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(InTable, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(OtherInTable, (.storage = MICA_TABLE), { int32_t number; });
MICA_TAG_WITH(TableMark, (.storage = MICA_TABLE));
MICA_STRUCT_WITH(InPool, (.storage = MICA_POOL), { int32_t number; });
MICA_TAG_WITH(PoolMark, (.storage = MICA_POOL));

static void terms_decide_what_matches(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity plain = mica_spawn(w.world, mica_value_of(Health, {1}));
    const mica_entity frozen = mica_spawn(w.world, mica_value_of(Health, {2}), mica_tag(Frozen));
    const mica_entity placed = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_query *healthy = mica_query_of(w.world, mica_read(Health));
    mica_query *warm = mica_query_of(w.world, mica_read(Health), mica_without(Frozen));
    mica_query *cold = mica_query_of(w.world, mica_write(Health), mica_with(Frozen));
    mica_query *either = mica_query_of(w.world, mica_any_read(1, Position), mica_any_with(1, Frozen));
    mica_query *optional = mica_query_of(w.world, mica_read_optional(Position), mica_with(Health));
    assert_int_equal(mica_query_count(healthy), 2);
    assert_int_equal(mica_query_count(warm), 1);
    assert_entity_equal(mica_query_first(warm), plain);
    assert_entity_equal(mica_query_first(cold), frozen);
    assert_true(mica_query_contains(either, placed));
    assert_true(mica_query_contains(either, frozen));
    assert_false(mica_query_contains(either, plain));
    assert_int_equal(mica_query_count(optional), 2);
    assert_false(mica_query_contains(optional, MICA_NULL));
    assert_int_equal(mica_query_size_hint(healthy), 2);
    watched_end(&w);
}

static void any_of_clauses_each_need_one(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *query = mica_query_of(w.world, mica_any_read(1, Health), mica_any_read(1, Position),
                                      mica_any_with(2, Frozen), mica_any_write(2, Wide));
    const mica_entity both = mica_spawn(w.world, mica_tag(Health), mica_tag(Wide));
    const mica_entity one = mica_spawn(w.world, mica_tag(Health), mica_tag(Position));
    assert_true(mica_query_contains(query, both));
    assert_false(mica_query_contains(query, one));
    int32_t spans = 0;
    mica_each (query, it) {
        spans++;
        assert_non_null(mica_read_of(it, Health));
        assert_null(mica_read_of(it, Position));
        assert_non_null(mica_write_of(it, Wide));
    }
    assert_int_equal(spans, 1);
    watched_end(&w);
}

static void the_same_terms_in_any_order_are_the_same_query(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *a = mica_query_of(w.world, mica_read(Health), mica_without(Frozen));
    assert_ptr_equal(mica_query_of(w.world, mica_without(Frozen), mica_read(Health)), a);
    assert_ptr_not_equal(mica_query_of(w.world, mica_write(Health), mica_without(Frozen)), a);
    assert_ptr_not_equal(mica_query_of(w.world, mica_read(Health)), a);
    const mica_component ids[] = {mica_register(w.world, Frozen), mica_register(w.world, Health)};
    const mica_term by_id[] = {{.component = ids[0], .use = MICA_USE_WITHOUT},
                               {.component = ids[1], .use = MICA_USE_READ}};
    assert_ptr_equal(mica_query_find(w.world, by_id, 2), a);
    assert_string_equal(mica_query_text(a), "!Frozen, Health");
    watched_end(&w);
}

// Nothing visible depends on the order in which types were registered.
static void texts_name_terms_in_the_order_of_names(void **state) {
    (void)state;
    char texts[2][256];
    for (int32_t i = 0; i < 2; i++) {
        mica_world *world = mica_world_create(NULL);
        mica_type *const types[] = {mica_type_of(Position), mica_type_of(Frozen), mica_type_of(Health)};
        for (int32_t k = 0; k < 3; k++) {
            mica_world_register(world, types[i == 0 ? k : 2 - k]);
        }
        mica_query *query =
            mica_query_of(world, mica_write(Position), mica_read_optional(Health), mica_without(Frozen));
        assert_string_equal(mica_query_text(query), "!Frozen, ?Health, [write] Position");
        mica_query_explain(query, mica_create(world), texts[i], sizeof(texts[i]));
        mica_world_destroy(world);
    }
    assert_string_equal(texts[0], texts[1]);
}

static void trim_drops_the_queries_that_nobody_holds(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *held = mica_query_create(w.world, &mica_read(Health), 1);
    mica_query_of(w.world, mica_read(Position));
    mica_query_of(w.world, mica_read(Wide));
    assert_int_equal(mica_world_statistics(w.world).query_count, 3);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).query_count, 1);
    assert_ptr_equal(mica_query_of(w.world, mica_read(Health)), held);
    mica_query_release(held);
    mica_error_clear();
    mica_query_release(held); // once too often: an error, nothing else
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_query_release(NULL);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).query_count, 0);
    watched_end(&w);
}

// Components that no C type of the caller stands for, half of them in pools.
static void terms_made_at_run_time_name_components_of_both_storages(void **state) {
    (void)state;
    enum { COUNT = 8 };
    watched_world w;
    watched_begin(&w);
    mica_component ids[COUNT];
    mica_term terms[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Number %c", (char)('0' + i));
        const mica_type *type = i % 2 == 0 ? mica_type_of(InTable) : mica_type_of(InPool);
        ids[i] = mica_schema_register_named(mica_world_schema(w.world), type, name, NULL);
        assert_int_not_equal(ids[i], 0);
        terms[i] = (mica_term){.component = ids[i], .use = i < COUNT / 2 ? MICA_USE_WRITE : MICA_USE_READ};
    }
    // Entity n has all but component n, the last one all of them.
    for (int32_t n = 0; n <= COUNT; n++) {
        const mica_entity entity = mica_create(w.world);
        for (int32_t i = 0; i < COUNT; i++) {
            const int32_t value = 100 * n + i;
            assert_true(i == n || mica_entity_add(w.world, entity, ids[i], &value) == MICA_OK);
        }
    }
    for (int32_t n = 0; n < COUNT; n++) {
        mica_term missing = terms[n];
        terms[n].use = MICA_USE_WITHOUT;
        int32_t row_count = 0;
        mica_each_row (mica_query_find(w.world, terms, COUNT), it) {
            row_count++;
            for (int32_t i = 0; i < COUNT; i++) {
                const int32_t *values = i == n ? NULL : mica_iter_read_id(&it, ids[i]);
                assert_true(i == n || values[it.row] == 100 * n + i);
            }
        }
        assert_int_equal(row_count, 1);
        terms[n] = missing;
    }
    mica_each_row (mica_query_find(w.world, terms, COUNT), it) {
        for (int32_t i = 0; i < COUNT / 2; i++) {
            int32_t *values = mica_iter_write_id(&it, ids[i]);
            assert_int_equal(values[it.row], 100 * COUNT + i);
            values[it.row] = -i;
        }
        assert_null(mica_iter_write_id(&it, ids[COUNT / 2]));
        assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    }
    const mica_entity whole = mica_query_first(mica_query_find(w.world, terms, COUNT));
    for (int32_t i = 0; i < COUNT / 2; i++) {
        assert_int_equal(*(const int32_t *)mica_entity_get(w.world, whole, ids[i]), -i);
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void ids_and_types_of_a_component_are_the_same_term(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_term terms[] = {{.component = mica_register(w.world, PoolMark), .use = MICA_USE_WITHOUT},
                               {.component = mica_register(w.world, InPool), .use = MICA_USE_WRITE, .any = 1},
                               {.component = mica_register(w.world, InTable), .use = MICA_USE_READ, .any = 1},
                               {.use = MICA_USE_DISABLED_TOO}};
    assert_ptr_equal(mica_query_find(w.world, terms, 4),
                     mica_query_of(w.world, mica_any_read(1, InTable), mica_any_write(1, InPool),
                                   mica_without(PoolMark), mica_disabled_too()));
    watched_end(&w);
}

static void bad_terms_are_refused_by_number_and_name(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_null(mica_query_of(w.world, mica_read(Health), mica_write(Health)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("term 1: Health is named twice");
    const mica_component frozen = mica_register(w.world, Frozen);
    const mica_term reads_tag = {.component = frozen, .use = MICA_USE_READ};
    assert_null(mica_query_find(w.world, &reads_tag, 1));
    assert_said("Frozen is a tag");
    const mica_term unused = {.component = frozen};
    assert_null(mica_query_find(w.world, &unused, 1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const mica_term odd = {.component = frozen, .use = 77};
    assert_null(mica_query_find(w.world, &odd, 1));
    const mica_term any_without = {.component = frozen, .use = MICA_USE_WITHOUT, .any = 1};
    assert_null(mica_query_find(w.world, &any_without, 1));
    const mica_term any_over = {.component = frozen, .use = MICA_USE_WITH, .any = 9};
    assert_null(mica_query_find(w.world, &any_over, 1));
    const mica_term unknown = {.component = 888, .use = MICA_USE_READ};
    assert_null(mica_query_find(w.world, &unknown, 1));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_query_of(w.world, mica_write(mica_child_of)));
    assert_said("relation");
    static mica_term many[MICA_QUERY_TERM_MAX + 1];
    assert_null(mica_query_find(w.world, many, MICA_QUERY_TERM_MAX + 1));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_null(mica_query_find(w.world, NULL, 2));
    assert_null(mica_query_find(NULL, NULL, 0));
    assert_int_equal(mica_world_statistics(w.world).query_count, 0);
    watched_end(&w);
}

static void a_query_without_terms_visits_every_entity(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_query *all = mica_query_find(w.world, NULL, 0);
    int32_t visited = 0;
    mica_each (all, it) {
        visited += it.count;
    }
    assert_int_equal(visited, 0);
    mica_spawn(w.world, mica_tag(Health));
    for (int i = 0; i < 700; i++) {
        mica_create(w.world);
    }
    mica_each (all, it) {
        visited += it.count;
        assert_null(mica_iter_read_id(&it, mica_register(w.world, Health))); // not declared
    }
    assert_int_equal(visited, 701);
    mica_entity entities[701];
    assert_int_equal(mica_query_entities(all, entities, 701), 701);
    for (int i = 0; i < 701; i++) {
        assert_true(mica_alive(w.world, entities[i]));
    }
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_without(Health))), 700);
    watched_end(&w);
}

// Canonical order: by the tables' sorted lists of names, whatever was registered or made first.
static void tables_are_visited_in_the_order_of_their_components_names(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        watched_world w;
        test_allocator_init(&w.allocator);
        w.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&w.allocator)});
        mica_entity made[4]; // {AlsoInTable, InTable}, {InTable}, {InTable, OtherInTable}, {InTable, TableMark}
        for (int i = 0; i < 4; i++) {
            switch (round == 0 ? i : 3 - i) {
            case 0:
                made[0] = mica_spawn(w.world, mica_tag(InTable), mica_tag(AlsoInTable));
                break;
            case 1:
                made[1] = mica_spawn(w.world, mica_tag(InTable));
                break;
            case 2:
                made[2] = mica_spawn(w.world, mica_tag(OtherInTable), mica_tag(InTable));
                break;
            default:
                made[3] = mica_spawn(w.world, mica_tag(TableMark), mica_tag(InTable));
            }
            mica_query_count(mica_query_of(w.world, mica_read(InTable))); // kept up to date step by step
        }
        mica_entity visited[4];
        assert_int_equal(mica_query_entities(mica_query_of(w.world, mica_read(InTable)), visited, 4), 4);
        for (int i = 0; i < 4; i++) {
            assert_entity_equal(visited[i], made[i]);
        }
        watched_end(&w);
    }
}

static void spans_are_runs_of_rows_with_their_columns(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    static mica_entity entities[20000];
    static Health healths[20000];
    for (int i = 0; i < 20000; i++) {
        healths[i].now = i;
    }
    assert_int_equal(mica_spawn_many(w.world, 20000, entities, mica_column_of(Health, healths), mica_tag(Wide)),
                     MICA_OK);
    int32_t next = 0;
    mica_each (mica_query_of(w.world, mica_write(Health), mica_read(Wide)), it) {
        Health *health = mica_write_of(it, Health);
        const Wide *wide = mica_read_of(it, Wide);
        assert_int_equal((uintptr_t)health % 64, 0);
        assert_int_equal((uintptr_t)wide % 64, 0);
        for (int32_t i = 0; i < it.count; i++, next++) {
            assert_entity_equal(it.entities[i], entities[next]);
            assert_int_equal(health[i].now, next);
            health[i].now = -next;
        }
    }
    assert_int_equal(next, 20000);
    assert_int_equal(mica_get(w.world, entities[19999], Health)->now, -19999);
    next = 0;
    mica_each_row (mica_query_of(w.world, mica_write(Health)), it) {
        assert_entity_equal(mica_row_entity(it), entities[next]);
        assert_int_equal(mica_row_write(it, Health)->now, -next);
        next++;
    }
    assert_int_equal(next, 20000);
    watched_end(&w);
}

static void columns_that_were_not_asked_for_are_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_tag(Health), mica_tag(Position), mica_tag(Wide));
    mica_each (mica_query_of(w.world, mica_read(Health), mica_with(Wide)), it) {
        assert_non_null(mica_read_of(it, Health));
        mica_error_clear();
        assert_null(mica_write_of(it, Health));
        assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
        assert_said("does not write Health");
        assert_null(mica_read_of(it, Wide));
        assert_said("does not read Wide");
        assert_null(mica_read_of(it, Position));
        mica_error_clear();
        assert_null(mica_iter_read_id(&it, 999));
        assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    }
    mica_iter closed = mica_query_begin(NULL);
    assert_false(closed.open);
    assert_null(mica_iter_read_id(&closed, 1));
    assert_false(mica_iter_next(&closed));
    mica_iter_end(&closed);
    watched_end(&w);
}

// What a walk over a refused query says still names the refusal.
static void a_walk_over_a_refused_query_tells_why(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_each (mica_query_of(w.world, mica_read(Health), mica_write(Health)), it) {
        fail();
    }
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("mica_query_begin");
    assert_said("Health is named twice");
    watched_end(&w);
}

static void structure_is_locked_while_a_walk_is_open(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    mica_query *query = mica_query_create(w.world, &mica_write(Health), 1);
    mica_each (query, it) {
        assert_null_entity(mica_create(w.world));
        assert_int_equal(mica_last_result(), MICA_LOCKED);
        assert_said("[write] Health");
        assert_null_entity(mica_spawn(w.world, mica_tag(Health)));
        assert_null_entity(mica_clone(w.world, entity));
        assert_int_equal(mica_destroy(w.world, entity), MICA_LOCKED);
        assert_int_equal(mica_destroy_many(w.world, &entity, 1), MICA_LOCKED);
        assert_int_equal(mica_add(w.world, entity, Frozen), MICA_LOCKED);
        assert_int_equal(mica_remove(w.world, entity, Health), MICA_LOCKED);
        assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_LOCKED);
        assert_int_equal(mica_set_parent(w.world, entity, MICA_NULL), MICA_LOCKED);
        assert_int_equal(mica_world_clear(w.world), MICA_LOCKED);
        assert_int_equal(mica_world_trim(w.world), MICA_LOCKED);
        assert_int_equal(mica_world_step(w.world, 0.1f), MICA_LOCKED);
        assert_int_equal(mica_entity_create_at(w.world, &entity, 1), MICA_LOCKED);
        assert_int_equal(mica_entity_spawn_many(w.world, NULL, 0, 1, NULL), MICA_LOCKED);
        // The value of what is there may be written.
        assert_int_equal(mica_set(w.world, entity, Health, {2}), MICA_OK);
        mica_get_write(w.world, entity, Health)->now++;
    }
    assert_int_equal(mica_get(w.world, entity, Health)->now, 3);
    assert_int_equal(mica_add(w.world, entity, Frozen), MICA_OK);
    assert_valid(w.world);
    mica_query_release(query);
    watched_end(&w);
}

static int32_t leave_by_return(mica_query *query) {
    mica_each (query, it) {
        return it.count;
    }
    return 0;
}

static void walks_may_be_left_early_in_any_way(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_tag(InTable));
    mica_spawn(w.world, mica_tag(InTable), mica_tag(TableMark));
    mica_query *query = mica_query_of(w.world, mica_read(InTable));
    int32_t spans = 0;
    mica_each (query, it) {
        spans++;
        break;
    }
    assert_int_equal(spans, 1);
    assert_false(mica_entity_is_null(mica_create(w.world)));
    assert_int_equal(leave_by_return(query), 1);
    assert_false(mica_entity_is_null(mica_create(w.world)));
    mica_each (query, outer) {
        mica_each (query, inner) {
            continue;
        }
        assert_null_entity(mica_create(w.world));
    }
    assert_false(mica_entity_is_null(mica_create(w.world)));
    assert_valid(w.world);
    watched_end(&w);
}

// Removing what is walked over, from the visited entity: each is visited once, none is left.
static void removing_the_queried_component_while_walking_visits_each_once(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 9000 };
    assert_int_equal(mica_spawn_many(w.world, COUNT, NULL, mica_tag(Health)), MICA_OK);
    mica_query *query = mica_query_create(w.world, &mica_write(Health), 1);
    int32_t visits = 0;
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            visits++;
            const mica_entity entity = it.entities[i];
            assert_int_equal(mica_remove(mica_iter_commands(it), entity, Health), MICA_OK);
            assert_entity_equal(entity, it.entities[i]);
        }
    }
    assert_int_equal(visits, COUNT);
    assert_int_equal(mica_query_count(query), 0);
    assert_int_equal(mica_world_entity_count(w.world), COUNT);
    assert_valid(w.world);
    mica_query_release(query);
    watched_end(&w);
}

static void adding_in_a_walk_over_many_chunks_empties_them_all(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 9000 };
    assert_int_equal(mica_spawn_many(w.world, COUNT, NULL, mica_tag(Health)), MICA_OK);
    int32_t visits = 0;
    mica_each_row (mica_query_of(w.world, mica_read(Health)), it) {
        visits++;
        assert_int_equal(mica_add(mica_iter_commands(it), mica_row_entity(it), Frozen), MICA_OK);
    }
    assert_int_equal(visits, COUNT);
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_with(Frozen))), COUNT);
    assert_valid(w.world);
    watched_end(&w);
}

static void changing_others_while_walking_changes_the_right_ones(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[100];
    for (int i = 0; i < 100; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Health, {i}));
    }
    int32_t position = 0;
    mica_each_row (mica_query_of(w.world, mica_read(Health)), it) {
        assert_int_equal(mica_set(mica_iter_commands(it), entities[99 - position], Position, {(float)position, 0, 0}),
                         MICA_OK);
        position++;
    }
    for (int i = 0; i < 100; i++) {
        assert_int_equal(mica_get(w.world, entities[i], Health)->now, i);
        assert_true(mica_get(w.world, entities[i], Position)->x == (float)(99 - i));
    }
    watched_end(&w);
}

static void destroying_the_visited_and_another_ends_the_walk_well(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity a = mica_spawn(w.world, mica_tag(Target));
    const mica_entity b = mica_spawn(w.world, mica_tag(Target));
    int32_t visits = 0;
    mica_each_row (mica_query_of(w.world, mica_read(Target)), it) {
        visits++;
        assert_true(mica_alive(w.world, mica_row_entity(it)));
        mica_destroy(mica_iter_commands(it), a);
        mica_destroy(mica_iter_commands(it), b);
    }
    assert_int_equal(visits, 2);
    assert_int_equal(mica_world_entity_count(w.world), 0);
    assert_true(mica_world_statistics(w.world).command_skipped_count == 2);
    watched_end(&w);
}

static void commands_of_nested_walks_are_applied_when_the_last_ends(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_tag(Health));
    mica_query *query = mica_query_of(w.world, mica_read(Health));
    mica_each (query, outer) {
        mica_each (query, inner) {
            mica_destroy(mica_iter_commands(inner), entity);
        }
        assert_true(mica_alive(w.world, entity));
    }
    assert_false(mica_alive(w.world, entity));
    watched_end(&w);
}

static void every_result_of_a_query_has_what_it_asks_for_after_long_churn(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    test_random random = {.state = 5};
    mica_query *query = mica_query_create(w.world, (const mica_term[]){mica_read(Health), mica_read(Wide)}, 2);
    for (int round = 0; round < 3000; round++) {
        const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {round}));
        if (test_random_below(&random, 2) == 0) {
            mica_add(w.world, entity, Wide);
        }
        if (test_random_below(&random, 2) == 0) {
            mica_add(w.world, entity, Frozen);
        }
        mica_entity first = mica_query_first(query);
        if (!mica_entity_is_null(first)) {
            assert_true(mica_has_all(w.world, first, mica_type_of(Health), mica_type_of(Wide)));
            if (test_random_below(&random, 3) != 0) {
                mica_destroy(w.world, first);
            }
        }
        if (test_random_below(&random, 100) == 0) {
            mica_world_trim(w.world);
        }
    }
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            assert_true(mica_has_all(w.world, it.entities[i], mica_type_of(Health), mica_type_of(Wide)));
        }
    }
    assert_valid(w.world);
    mica_query_release(query);
    watched_end(&w);
}

// Ids far beyond a machine word's bits, and as many components on one entity as no mask of 128 bits holds.
static void hundreds_of_components_are_told_apart(void **state) {
    (void)state;
    enum { COUNT = 300 };
    watched_world w;
    watched_begin(&w);
    static mica_type types[COUNT];
    static char names[COUNT][16];
    static int32_t numbers[COUNT];
    static mica_value values[COUNT];
    mica_component ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "C%03d", i);
        types[i] = (mica_type){.name = names[i], .size = 4, .align = 4};
        ids[i] = mica_world_register(w.world, &types[i]);
        assert_int_not_equal(ids[i], 0);
        numbers[i] = i;
        values[i] = (mica_value){.type = &types[i], .value = &numbers[i]};
    }
    const mica_entity at_once = mica_entity_spawn(w.world, values, COUNT);
    const mica_entity one_by_one = mica_create(w.world);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(mica_entity_add(w.world, one_by_one, ids[i], &numbers[i]), MICA_OK);
    }
    const mica_term last = {.component = ids[COUNT - 1], .use = MICA_USE_READ};
    assert_int_equal(mica_query_count(mica_query_find(w.world, &last, 1)), 2);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(*(const int32_t *)mica_entity_get(w.world, at_once, ids[i]), i);
        assert_int_equal(*(const int32_t *)mica_entity_get(w.world, one_by_one, ids[i]), i);
    }
    assert_int_equal(mica_entity_components(w.world, at_once, NULL, 0), COUNT);
    assert_valid(w.world);
    watched_end(&w);
}

// Entities with a number and a set of marks, and what a query that leaves the first mark out has done to them.
enum { MARK_COUNT = 6, MARKED_COUNT = 200 };
typedef struct marked {
    mica_entity entity; // null: there is none
    int32_t number;
    uint32_t marks;
} marked;

static void make_or_destroy(mica_world *world, marked *one, const mica_component *marks, uint32_t set) {
    if (!mica_entity_is_null(one->entity)) {
        assert_int_equal(mica_destroy(world, one->entity), MICA_OK);
        one->entity = MICA_NULL;
        return;
    }
    *one = (marked){.number = (int32_t)set, .marks = set};
    one->entity = mica_spawn(world, mica_value_of(InTable, {(int32_t)set}));
    for (uint32_t i = 0; i < MARK_COUNT; i++) {
        if ((set >> i & 1) != 0) {
            assert_int_equal(mica_entity_add(world, one->entity, marks[i], NULL), MICA_OK);
        }
    }
}

// Threads that share the world may all walk over the query, which none of them may then change.
static void assert_ready_when_shared(mica_world *world, const mica_query *query) {
    assert_int_equal(mi_world_share(world, "test"), MICA_OK);
    assert_int_equal(query->tables_made, world->store.tables_made);
    assert_int_equal(query->tables_dropped, world->store.tables_dropped);
    mi_world_unshare(world);
}

static void queries_are_ready_when_threads_share_the_world_whoever_holds_them(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_false(mica_entity_is_null(mica_spawn(w.world, mica_value_of(Health, {1}))));
    assert_ready_when_shared(w.world, mica_query_of(w.world, mica_read(Health)));
    mica_query *late = mica_query_of(w.world, mica_write(Health));
    assert_ready_when_shared(w.world, late);
    assert_ready_when_shared(w.world, mica_query_retain(late));
    assert_false(mica_entity_is_null(mica_spawn(w.world, mica_value_of(Health, {2}), mica_tag(Frozen))));
    assert_ready_when_shared(w.world, mica_query_of(w.world, mica_read(Health)));
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_ready_when_shared(w.world, late);
    mica_query_release(late);
    watched_end(&w);
}

static void tables_come_and_go_beside_a_query_that_is_held(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    test_random random = {.state = 11};
    mica_component marks[MARK_COUNT];
    for (int32_t i = 0; i < MARK_COUNT; i++) {
        const char name[] = {'M', (char)('f' - i), 0};
        marks[i] = mica_schema_register_named(mica_world_schema(w.world), mica_type_of(TableMark), name, NULL);
    }
    const mica_term terms[] = {mica_write(InTable), {.component = marks[0], .use = MICA_USE_WITHOUT}};
    mica_query *query = mica_query_create(w.world, terms, 2);
    marked all[MARKED_COUNT] = {{.number = 0}};
    for (int32_t round = 0; round < 100; round++) {
        for (int32_t i = 0; i < 30; i++) {
            marked *one = &all[test_random_below(&random, MARKED_COUNT)];
            make_or_destroy(w.world, one, marks, test_random_below(&random, 1 << MARK_COUNT));
        }
        if (round % 7 == 6) {
            assert_int_equal(mica_world_trim(w.world), MICA_OK);
        }
        int32_t visited = 0;
        mica_each (query, it) {
            InTable *values = mica_write_of(it, InTable);
            for (int32_t i = 0; i < it.count; i++, visited++) {
                values[i].number += 100;
            }
        }
        for (int32_t i = 0; i < MARKED_COUNT; i++) {
            const bool matches = !mica_entity_is_null(all[i].entity) && (all[i].marks & 1) == 0;
            all[i].number += matches ? 100 : 0;
            visited -= matches;
            if (!mica_entity_is_null(all[i].entity)) {
                assert_int_equal(mica_get(w.world, all[i].entity, InTable)->number, all[i].number);
            }
        }
        assert_int_equal(visited, 0);
        assert_valid(w.world);
    }
    mica_query_release(query);
    watched_end(&w);
}

static void there_are_columns_while_there_is_a_span(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(InTable, {7}), mica_value_of(OtherInTable, {8}));
    mica_iter it = mica_query_begin(mica_query_of(w.world, mica_read(InTable)));
    assert_null(mica_read_of(it, InTable));
    assert_true(mica_iter_next(&it));
    assert_int_equal(mica_read_of(it, InTable)->number, 7);
    assert_null(mica_write_of(it, InTable)); // it is there, and only read
    assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    assert_null(mica_read_of(it, OtherInTable));
    assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    assert_false(mica_iter_next(&it));
    mica_iter_end(&it);
    assert_null(mica_read_of(it, InTable));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    watched_end(&w);
}

static void writing_marks_the_spans_column_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_tag(InTable), mica_tag(OtherInTable));
    w.world->store.version = 50;
    mica_each (mica_query_of(w.world, mica_write(InTable), mica_read(OtherInTable)), it) {
        InTable *written = mica_write_of(it, InTable);
        const OtherInTable *looked_at = mica_read_of(it, OtherInTable);
        assert_true(mi_column_head_of(written)->stamp == 50);
        assert_true(mi_column_head_of((void *)(uintptr_t)looked_at)->stamp < 50);
    }
    w.world->store.version = 60;
    // Moving a row to another table is no change of its values.
    mica_add(w.world, entity, TableMark);
    mica_each (mica_query_of(w.world, mica_read(InTable)), it) {
        assert_true(mi_column_head_of((void *)(uintptr_t)mica_read_of(it, InTable))->stamp == 50);
    }
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_decide_what_matches),
        cmocka_unit_test(any_of_clauses_each_need_one),
        cmocka_unit_test(the_same_terms_in_any_order_are_the_same_query),
        cmocka_unit_test(texts_name_terms_in_the_order_of_names),
        cmocka_unit_test(trim_drops_the_queries_that_nobody_holds),
        cmocka_unit_test(terms_made_at_run_time_name_components_of_both_storages),
        cmocka_unit_test(ids_and_types_of_a_component_are_the_same_term),
        cmocka_unit_test(bad_terms_are_refused_by_number_and_name),
        cmocka_unit_test(a_query_without_terms_visits_every_entity),
        cmocka_unit_test(tables_are_visited_in_the_order_of_their_components_names),
        cmocka_unit_test(spans_are_runs_of_rows_with_their_columns),
        cmocka_unit_test(columns_that_were_not_asked_for_are_refused),
        cmocka_unit_test(a_walk_over_a_refused_query_tells_why),
        cmocka_unit_test(structure_is_locked_while_a_walk_is_open),
        cmocka_unit_test(walks_may_be_left_early_in_any_way),
        cmocka_unit_test(removing_the_queried_component_while_walking_visits_each_once),
        cmocka_unit_test(adding_in_a_walk_over_many_chunks_empties_them_all),
        cmocka_unit_test(changing_others_while_walking_changes_the_right_ones),
        cmocka_unit_test(destroying_the_visited_and_another_ends_the_walk_well),
        cmocka_unit_test(commands_of_nested_walks_are_applied_when_the_last_ends),
        cmocka_unit_test(every_result_of_a_query_has_what_it_asks_for_after_long_churn),
        cmocka_unit_test(hundreds_of_components_are_told_apart),
        cmocka_unit_test(queries_are_ready_when_threads_share_the_world_whoever_holds_them),
        cmocka_unit_test(tables_come_and_go_beside_a_query_that_is_held),
        cmocka_unit_test(there_are_columns_while_there_is_a_span),
        cmocka_unit_test(writing_marks_the_spans_column_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
