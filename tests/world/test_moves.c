// Rows that go the short way (store/moves.h) beside the same ones that go the long way: two worlds are given the same
// operations, one of them with an observer that hears of none of them, which is enough to have every verb ask. Both
// have to look the same inside: rows and their order, values, stamps, slots.
#include "world_fixture.h"

#include "store/moves.h"
#include "world/world.h"

MICA_STRUCT_WITH(Four, (.storage = MICA_TABLE), { uint32_t a; });
MICA_STRUCT_WITH(Eight, (.storage = MICA_TABLE), { uint32_t a, b; });
MICA_STRUCT_WITH(Twelve, (.storage = MICA_TABLE), { uint32_t a, b, c; });
MICA_STRUCT_WITH(Sixteen, (.storage = MICA_TABLE), { uint32_t a, b, c, d; });
MICA_STRUCT_WITH(Twenty, (.storage = MICA_TABLE), { uint32_t a, b, c, d, e; });
MICA_STRUCT_WITH(Odd, (.storage = MICA_TABLE), { uint8_t a[3]; });
MICA_STRUCT_WITH(Toggled, (.storage = MICA_TABLE, .toggle = true), { uint32_t a; });
MICA_STRUCT_WITH(Bringing, (.storage = MICA_TABLE, .required = {mica_type_of(Four)}), { uint32_t a; });
MICA_STRUCT(Unheard, { uint32_t a; });
MICA_STRUCT_WITH(Pooled, (.storage = MICA_POOL), { uint32_t a; });
MICA_TAG_WITH(Still, (.storage = MICA_TABLE));
MICA_TAG_WITH(Seen, (.storage = MICA_TABLE));
MICA_NAMED_WITH(TableOwned, Owned, (.storage = MICA_TABLE));

enum { COMPONENT_COUNT = 10, ENTITY_MOST = 700, STEP_COUNT = 60000, VALUE_BYTES = 20 };

typedef struct pair {
    watched_world watched[2]; // the first goes the short way
    mica_world *worlds[2];
    mica_component ids[COMPONENT_COUNT];
    uint32_t sizes[COMPONENT_COUNT];
    mica_entity entities[ENTITY_MOST];
    uint32_t count;
    test_random random;
} pair;

static void hear(const mica_signal *signal) {
    (void)signal;
    fail_msg("nothing of this kind happens");
}

static void begin(pair *p, uint64_t seed) {
    mica_type *const types[COMPONENT_COUNT] = {mica_type_of(Four),    mica_type_of(Still),  mica_type_of(Eight),
                                               mica_type_of(Twelve),  mica_type_of(Odd),    mica_type_of(Sixteen),
                                               mica_type_of(Toggled), mica_type_of(Twenty), mica_type_of(Seen),
                                               mica_type_of(Bringing)};
    memset(p, 0, sizeof(*p));
    p->random.state = seed;
    for (int k = 0; k < 2; k++) {
        watched_begin(&p->watched[k]);
        p->worlds[k] = p->watched[k].world;
        for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
            p->ids[i] = mica_world_register(p->worlds[k], types[i]);
            p->sizes[i] = types[i]->size;
        }
    }
    const mica_observer observer = mica_on_added(p->worlds[1], Unheard, hear, NULL);
    assert_int_not_equal(observer.id, 0);
}

static void end(pair *p) {
    for (int k = 0; k < 2; k++) {
        assert_int_equal(mica_world_validate(p->worlds[k]), MICA_OK);
        watched_end(&p->watched[k]);
    }
}

static void compare_tables(const pair *p, const mi_table *a, const mi_table *b) {
    const mi_store *stores[2] = {&p->worlds[0]->store, &p->worlds[1]->store};
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->component_count, b->component_count);
    assert_int_equal(a->chunk_count, b->chunk_count);
    assert_true(a->row_moves == b->row_moves);
    for (uint32_t k = 0; k << a->shift < a->row_count; k++) {
        const uint32_t rows = mi_table_chunk_rows(a, k);
        uint8_t *bases[2] = {stores[0]->chunks[a->chunk_ids[k]].base, stores[1]->chunks[b->chunk_ids[k]].base};
        assert_memory_equal(bases[0], bases[1], rows * sizeof(mica_entity));
        assert_true(mi_column_head_of(bases[0])->stamp == mi_column_head_of(bases[1])->stamp);
        assert_true(mi_column_head_of(bases[0])->hidden_count == mi_column_head_of(bases[1])->hidden_count);
        for (uint32_t i = 0; i < a->column_count; i++) {
            uint8_t *columns[2] = {bases[0] + a->columns[i].offset, bases[1] + b->columns[i].offset};
            assert_memory_equal(columns[0], columns[1], (size_t)rows * a->columns[i].size);
            assert_true(mi_column_head_of(columns[0])->stamp == mi_column_head_of(columns[1])->stamp);
        }
    }
}

static void compare(const pair *p) {
    const mi_store *a = &p->worlds[0]->store;
    const mi_store *b = &p->worlds[1]->store;
    assert_int_equal(a->slots.alive, b->slots.alive);
    assert_int_equal(a->slots.free_head, b->slots.free_head);
    assert_int_equal(a->slots.used, b->slots.used);
    assert_memory_equal(a->slots.data, b->slots.data, a->slots.used * sizeof(uint64_t));
    assert_int_equal(a->tables.count, b->tables.count);
    for (uint32_t id = 0; id < a->tables.count; id++) {
        assert_int_equal(a->tables.data[id] == NULL, b->tables.data[id] == NULL);
        if (a->tables.data[id] != NULL) {
            compare_tables(p, a->tables.data[id], b->tables.data[id]);
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(mica_world_validate(p->worlds[k]), MICA_OK);
    }
}

static uint32_t pick(pair *p, uint32_t limit) {
    return test_random_below(&p->random, limit);
}

static void create(pair *p) {
    if (p->count == ENTITY_MOST) {
        return;
    }
    for (int k = 0; k < 2; k++) {
        p->entities[p->count] = mica_create(p->worlds[k]);
    }
    p->count++;
}

static void destroy(pair *p, uint32_t number) {
    mica_entity many[4];
    const uint32_t most = p->count - number < 4 ? p->count - number : 4;
    const uint32_t count = pick(p, 3) == 0 ? 1 + pick(p, most) : 1;
    memcpy(many, &p->entities[number], count * sizeof(mica_entity));
    for (int k = 0; k < 2; k++) {
        const mica_result result =
            count == 1 ? mica_destroy(p->worlds[k], many[0]) : mica_destroy_many(p->worlds[k], many, (int32_t)count);
        assert_int_equal(result, MICA_OK);
    }
    memmove(&p->entities[number], &p->entities[number + count], (p->count - number - count) * sizeof(mica_entity));
    p->count -= count;
}

// Adds, sets or removes a component, by a value of its own or by that of another entity where it lies.
static void change(pair *p, uint32_t number) {
    const uint32_t component = pick(p, COMPONENT_COUNT);
    const uint32_t verb = pick(p, 5);
    const mica_entity entity = p->entities[number];
    const mica_entity other = p->entities[pick(p, p->count)];
    const bool borrows = pick(p, 4) == 0;
    uint8_t bytes[VALUE_BYTES];
    for (uint32_t i = 0; i < VALUE_BYTES; i++) {
        bytes[i] = (uint8_t)pick(p, 256);
    }
    mica_result results[2];
    for (int k = 0; k < 2; k++) {
        mica_world *world = p->worlds[k];
        const bool is_tag = p->sizes[component] == 0;
        const void *value = is_tag ? NULL : bytes;
        if (!is_tag && borrows && mica_entity_has(world, other, p->ids[component])) {
            value = mica_entity_get(world, other, p->ids[component]);
        }
        results[k] = verb == 0 && !is_tag ? mica_entity_set(world, entity, p->ids[component], value)
                     : verb < 3           ? mica_entity_add(world, entity, p->ids[component], value)
                                          : mica_entity_remove(world, entity, p->ids[component]);
    }
    assert_int_equal(results[0], results[1]);
    mica_error_clear();
}

// What is all about the world, or hides somebody so that no row goes the short way for a while.
static void disturb(pair *p, uint32_t number) {
    const uint32_t chosen = pick(p, 40);
    for (int k = 0; k < 2; k++) {
        mica_world *world = p->worlds[k];
        if (chosen == 0) {
            assert_int_equal(mica_world_trim(world), MICA_OK);
        } else if (chosen < 8) {
            mica_world_advance_version(world);
        } else if (chosen < 12) {
            assert_int_equal(mica_disable(world, p->entities[number]), MICA_OK);
        } else {
            for (uint32_t i = 0; i < p->count; i++) {
                assert_int_equal(mica_enable(world, p->entities[i]), MICA_OK);
            }
        }
    }
}

static void step(pair *p) {
    const uint32_t chosen = pick(p, 1000);
    if (p->count == 0 || chosen < 60) {
        create(p);
    } else if (chosen < 80) {
        destroy(p, pick(p, p->count));
    } else if (chosen < 90) {
        disturb(p, pick(p, p->count));
    } else {
        change(p, pick(p, p->count));
    }
}

static void rows_that_go_the_short_way_look_as_if_they_had_gone_the_long_one(void **state) {
    (void)state;
    static pair p;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        begin(&p, seed);
        for (uint32_t i = 0; i < STEP_COUNT; i++) {
            step(&p);
            if (i % 200 == 0 || i < 200) {
                compare(&p);
            }
        }
        compare(&p);
        end(&p);
    }
}

// The same through command buffers, and through many chunks.
static void commands_that_go_the_short_way_look_as_if_they_had_gone_the_long_one(void **state) {
    (void)state;
    static pair p;
    begin(&p, 7);
    while (p.count < ENTITY_MOST) {
        create(&p);
        for (uint32_t i = 0; i < 4; i++) {
            change(&p, p.count - 1);
        }
    }
    mica_commands *buffers[2] = {mica_commands_create(p.worlds[0]), mica_commands_create(p.worlds[1])};
    for (uint32_t round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < 200; i++) {
            const mica_entity entity = p.entities[pick(&p, p.count)];
            const uint32_t component = pick(&p, COMPONENT_COUNT);
            const uint32_t verb = pick(&p, 3);
            const uint32_t value[5] = {pick(&p, 1000), i, round, 4, 5};
            for (int k = 0; k < 2; k++) {
                if (verb == 0) {
                    mica_commands_remove(buffers[k], entity, p.ids[component]);
                } else {
                    mica_commands_add(buffers[k], entity, p.ids[component], p.sizes[component] == 0 ? NULL : value);
                }
            }
        }
        for (int k = 0; k < 2; k++) {
            assert_int_equal(mica_commands_apply(buffers[k]), MICA_OK);
        }
        compare(&p);
        assert_true(mica_commands_statistics(buffers[0]).skipped_count ==
                    mica_commands_statistics(buffers[1]).skipped_count);
        assert_true(mica_commands_statistics(buffers[0]).applied_count ==
                    mica_commands_statistics(buffers[1]).applied_count);
    }
    for (int k = 0; k < 2; k++) {
        mica_commands_destroy(buffers[k]);
    }
    end(&p);
}

static void rows_go_the_short_way_across_the_edges_of_chunks(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    enum { COUNT = 9000 };
    static mica_entity entities[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Twelve, {i, i + 1, i + 2}), mica_tag(Still));
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(mica_add_value(world, entities[(i * 7) % COUNT], Four, {i}), MICA_OK);
        }
        assert_int_equal(mica_world_validate(world), MICA_OK);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(mica_get(world, entities[(i * 7) % COUNT], Four)->a, i);
            assert_int_equal(mica_get(world, entities[i], Twelve)->c, i + 2);
        }
        for (uint32_t i = COUNT; i-- > 0;) {
            assert_int_equal(mica_remove(world, entities[i], Four), MICA_OK);
        }
        assert_int_equal(mica_world_validate(world), MICA_OK);
    }
    for (uint32_t i = 0; i < COUNT; i += 2) {
        assert_int_equal(mica_destroy(world, entities[i]), MICA_OK);
    }
    for (uint32_t i = 1; i < COUNT; i += 2) {
        assert_int_equal(mica_get(world, entities[i], Twelve)->a, i);
    }
    watched_end(&watched);
}

static const mi_edge *edge_of(const mica_world *world, mica_entity entity, mica_component component, bool removes) {
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    const mi_edge *edge = mi_table_near_edge(table, mi_edge_key(component, removes));
    return edge->key == mi_edge_key(component, removes) ? edge
                                                        : NULL; // few edges stand where they are looked for first
}

static void edges_are_plain_where_nothing_but_a_row_is_concerned(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    const mica_component four = mica_register(world, Four);
    const mica_component toggled = mica_register(world, Toggled);
    const mica_component bringing = mica_register(world, Bringing);
    const mica_component owned = mica_register(world, TableOwned);
    const mica_component frozen = mica_register(world, Still);
    const mica_entity entity = mica_spawn(world, mica_value_of(Eight, {1, 2}));
    const mica_entity other = mica_spawn(world, mica_value_of(Eight, {3, 4}));
    mica_add_value(world, entity, Four, {5});
    assert_int_equal(edge_of(world, other, four, false)->gap, 0);
    mica_add(world, entity, Still);
    mica_remove(world, entity, Still);
    assert_int_equal(edge_of(world, entity, frozen, false)->gap, MI_GAP_TAG);
    mica_remove(world, entity, Four);
    mica_add(world, entity, Toggled);
    assert_int_equal(edge_of(world, other, toggled, false)->gap, MI_GAP_NONE);
    mica_remove(world, entity, Toggled);
    mica_add(world, entity, Bringing);
    assert_int_equal(edge_of(world, other, bringing, false)->gap, MI_GAP_NONE);
    mica_remove(world, entity, Bringing);
    mica_remove(world, entity, Four);
    mica_add(world, entity, TableOwned);
    assert_int_equal(edge_of(world, other, owned, false)->gap, MI_GAP_NONE);
    // From the root as well, which has one edge to each table.
    const mica_entity bare = mica_create(world);
    mica_add_value(world, mica_create(world), Four, {7});
    mica_add(world, mica_create(world), Toggled);
    mica_add(world, mica_create(world), Still);
    assert_int_equal(edge_of(world, bare, four, false)->gap, 0);
    assert_int_equal(edge_of(world, bare, frozen, false)->gap, MI_GAP_TAG);
    assert_int_equal(edge_of(world, bare, toggled, false)->gap, MI_GAP_NONE);
    // Trimming drops tables without rows, and all edges with them.
    mica_remove(world, entity, TableOwned);
    assert_int_equal(mica_world_trim(world), MICA_OK);
    assert_null(edge_of(world, other, four, false));
    mica_add_value(world, entity, Four, {6});
    assert_int_equal(mica_get(world, entity, Four)->a, 6);
    assert_non_null(edge_of(world, other, four, false));
    assert_int_equal(mica_world_validate(world), MICA_OK);
    watched_end(&watched);
}

static void the_short_way_refuses_what_the_long_one_refuses(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    const mica_entity entity = mica_spawn(world, mica_value_of(Eight, {1, 2}));
    const mica_component frozen = mica_register(world, Still);
    const mica_component four = mica_register(world, Four);
    const uint32_t value = 9;
    for (int round = 0; round < 3; round++) { // the edges are there from the second one on
        assert_int_equal(mica_entity_add(world, entity, frozen, &value), MICA_NO_VALUE);
        assert_int_equal(mica_entity_add(world, entity, frozen, NULL), MICA_OK);
        assert_int_equal(mica_entity_add(world, entity, frozen, NULL), MICA_EXISTS);
        assert_int_equal(mica_entity_remove(world, entity, frozen), MICA_OK);
        assert_int_equal(mica_entity_remove(world, entity, frozen), MICA_OK);
        assert_int_equal(mica_entity_add(world, entity, four, NULL), MICA_OK); // zeros
        assert_int_equal(mica_get(world, entity, Four)->a, 0);
        assert_int_equal(mica_entity_add(world, entity, four, &value), MICA_EXISTS);
        assert_int_equal(mica_entity_remove(world, entity, four), MICA_OK);
    }
    assert_int_equal(mica_entity_add(world, entity, 0, &value), MICA_UNKNOWN);
    assert_int_equal(mica_entity_set(world, entity, 0, &value), MICA_UNKNOWN);
    assert_int_equal(mica_entity_add(world, entity, UINT16_MAX, &value), MICA_UNKNOWN);
    assert_int_equal(mica_entity_set(world, entity, frozen, &value), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set(world, mica_create(world), frozen, &value), MICA_NO_VALUE);
    assert_int_equal(mica_destroy(world, entity), MICA_OK);
    assert_int_equal(mica_entity_set(world, entity, four, &value), MICA_STALE);
    assert_int_equal(mica_entity_add(world, entity, four, &value), MICA_STALE);
    assert_int_equal(mica_entity_remove(world, entity, four), MICA_STALE);
    assert_int_equal(mica_destroy(world, entity), MICA_STALE);
    assert_int_equal(mica_entity_add(NULL, entity, four, &value), MICA_INVALID);
    assert_int_equal(mica_entity_remove(NULL, entity, four), MICA_INVALID);
    assert_int_equal(mica_entity_destroy(NULL, entity), MICA_INVALID);
    mica_error_clear();
    watched_end(&watched);
}

static void values_are_set_the_short_way_only_where_rows_may_move(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    const mica_entity entity = mica_spawn(world, mica_value_of(Eight, {1, 2}));
    const mica_entity bare = mica_create(world);
    mica_spawn(world, mica_value_of(Eight, {3, 4}), mica_value_of(Four, {5})); // whose tables the entities could go to
    mica_set(world, mica_create(world), Four, {6});
    mica_set(world, mica_spawn(world, mica_value_of(Eight, {3, 4})), Four, {7});
    mica_query *query = mica_query_create(world, &mica_read(Eight), 1);
    mica_iter it = mica_query_begin(query);
    assert_true(mica_iter_next(&it));
    assert_int_equal(mica_set(world, entity, Four, {8}), MICA_LOCKED);
    assert_int_equal(mica_set(world, bare, Four, {8}), MICA_LOCKED);
    assert_int_equal(mica_set(world, entity, Eight, {8, 9}), MICA_OK);
    mica_iter_end(&it);
    assert_int_equal(mica_set(world, entity, Four, {8}), MICA_OK);
    assert_int_equal(mica_set(world, bare, Four, {9}), MICA_OK);
    assert_int_equal(mica_get(world, entity, Four)->a, 8);
    assert_int_equal(mica_get(world, entity, Eight)->b, 9);
    assert_int_equal(mica_get(world, bare, Four)->a, 9);
    mica_query_release(query);
    mica_error_clear();
    watched_end(&watched);
}

// What an observer was told of, and whether the value was where the entity's is.
typedef struct witness {
    uint32_t count;
    uint32_t sum;
    bool is_astray;
} witness;

static void watch_four(const mica_signal *signal) {
    witness *seen = signal->user;
    const Four *four = signal->value;
    seen->count++;
    seen->sum += four->a;
    seen->is_astray |= four != mica_get(signal->world, signal->entity, Four);
}

static void watch_still(const mica_signal *signal) {
    witness *seen = signal->user;
    seen->count++;
    seen->is_astray |= signal->value != NULL || !mica_has(signal->world, signal->entity, Still);
}

static void observers_are_shown_values_where_the_short_way_has_put_them(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    enum { COUNT = 3000 };
    static mica_entity entities[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) { // every other one without a row
        entities[i] = i % 2 == 0 ? mica_create(world) : mica_spawn(world, mica_value_of(Twelve, {i, i, i}));
    }
    witness added = {0};
    witness set = {0};
    witness tagged = {0};
    mica_on_added(world, Four, watch_four, &added);
    mica_on_set(world, Four, watch_four, &set);
    mica_on_added(world, Still, watch_still, &tagged);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_add_value(world, entities[i], Four, {i}), MICA_OK);
        assert_int_equal(mica_add(world, entities[i], Still), MICA_OK);
    }
    const uint32_t sum = (uint32_t)COUNT * (COUNT - 1) / 2;
    assert_int_equal(added.count, COUNT);
    assert_int_equal(added.sum, sum);
    assert_int_equal(set.count, COUNT);
    assert_int_equal(set.sum, sum);
    assert_int_equal(tagged.count, COUNT);
    assert_false(added.is_astray || set.is_astray || tagged.is_astray);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    watched_end(&watched);
}

static void handles_of_before_a_clearing_name_nobody_in_tables_and_pools(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    enum { COUNT = 1500 };
    static mica_entity old[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        old[i] = mica_spawn(world, mica_value_of(Four, {i}), mica_value_of(Pooled, {i}));
    }
    for (uint32_t round = 0; round < 2000; round++) {
        assert_int_equal(mica_world_clear(world), MICA_OK);
        const uint32_t count = round % 300;
        for (uint32_t i = 0; i < count; i++) { // in the slots of those that were there before
            const mica_entity entity = mica_spawn(world, mica_value_of(Four, {7}), mica_value_of(Pooled, {7}));
            assert_int_equal(mica_entity_index(entity), i + 1);
        }
        for (uint32_t i = 0; i < COUNT; i += 1 + round % 7) {
            assert_false(mica_alive(world, old[i]));
            assert_false(mica_has(world, old[i], Four));
            assert_false(mica_has(world, old[i], Pooled));
        }
        if (round % 100 == 0) {
            assert_int_equal(mica_world_validate(world), MICA_OK);
        }
        if (MICA_GENERATION_MAX < 2500 && round > 200) {
            break; // slots come to their end
        }
    }
    assert_null(mica_get(world, old[0], Pooled));
    assert_int_equal(mica_last_result(), MICA_STALE);
    mica_error_clear();
    watched_end(&watched);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_go_the_short_way_look_as_if_they_had_gone_the_long_one),
        cmocka_unit_test(commands_that_go_the_short_way_look_as_if_they_had_gone_the_long_one),
        cmocka_unit_test(rows_go_the_short_way_across_the_edges_of_chunks),
        cmocka_unit_test(edges_are_plain_where_nothing_but_a_row_is_concerned),
        cmocka_unit_test(the_short_way_refuses_what_the_long_one_refuses),
        cmocka_unit_test(values_are_set_the_short_way_only_where_rows_may_move),
        cmocka_unit_test(observers_are_shown_values_where_the_short_way_has_put_them),
        cmocka_unit_test(handles_of_before_a_clearing_name_nobody_in_tables_and_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
