// Components in tables and in pools on the same entities: every verb, what comes along across storages, values that lie
// in the world while it moves, hooks, failing memory.
#include "ledger_world.h"

#include <stdio.h>
#include <string.h>

MICA_STRUCT_WITH(Row, (.storage = MICA_TABLE), { int32_t now; });
MICA_STRUCT_WITH(Dot, (.storage = MICA_POOL), { int32_t now; });
MICA_STRUCT_WITH(Big, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4), { int32_t now[16]; });
MICA_STRUCT_WITH(Pinned, (.storage = MICA_POOL, .stable = true, .page_size = 4), { int32_t now; });
MICA_TAG_WITH(RowTag, (.storage = MICA_TABLE));
MICA_TAG_WITH(DotTag, (.storage = MICA_POOL));
MICA_NAMED_WITH(OwnedRow, Owned, (.storage = MICA_TABLE));
MICA_NAMED_WITH(PackedOwned, Owned, (.storage = MICA_POOL, .layout = MICA_PACKED));
MICA_NAMED_WITH(PagedOwned, Owned, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 2));
MICA_NAMED_WITH(StableOwned, Owned, (.storage = MICA_POOL, .stable = true, .page_size = 2));
MICA_NAMED_WITH(PooledSole, Sole, (.storage = MICA_POOL));
// What comes along lives in the other storage, directly and further on.
MICA_STRUCT_WITH(RowWithDot, (.storage = MICA_TABLE, .required = {mica_type_of(Dot), mica_type_of(DotTag)}),
                 { int32_t now; });
MICA_STRUCT_WITH(DotWithRow, (.storage = MICA_POOL, .required = {mica_type_of(RowTag)}), { int32_t now; });
MICA_STRUCT_WITH(Chain, (.storage = MICA_POOL, .required = {mica_type_of(RowWithDot), mica_type_of(OwnedRow)}),
                 { int32_t now; });
MICA_NAMED_WITH(OwnedChain, Owned,
                (.storage = MICA_POOL, .required = {mica_type_of(RowWithDot), mica_type_of(OwnedRow),
                                                    mica_type_of(PagedOwned), mica_type_of(StableOwned)}));

static mica_result add_owned(mica_world *world, mica_entity entity, mica_type *type, int32_t number) {
    Owned value;
    owned_hold(&value, number, world);
    const mica_result result = mica_entity_add(world, entity, mica_world_register(world, type), &value);
    owned_drop(&value, world);
    return result;
}

static int32_t owned_number(mica_world *world, mica_entity entity, mica_type *type) {
    const Owned *value = mica_entity_get(world, entity, mica_world_register(world, type));
    assert_non_null(value);
    return *value->number;
}

static void add_five(void *value, void *user) {
    (void)user;
    ((Dot *)value)->now += 5;
}

static void every_verb_takes_components_of_pools(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_create(f.world);
    assert_int_equal(mica_add(f.world, entity, Dot), MICA_OK);
    assert_int_equal(mica_get(f.world, entity, Dot)->now, 0);
    assert_int_equal(mica_add(f.world, entity, Dot), MICA_EXISTS);
    assert_int_equal(mica_set(f.world, entity, Dot, {3}), MICA_OK);
    assert_int_equal(mica_patch(f.world, entity, Dot, add_five, NULL), MICA_OK);
    mica_get_write(f.world, entity, Dot)->now++;
    assert_int_equal(mica_get(f.world, entity, Dot)->now, 9);
    assert_int_equal(mica_add_value(f.world, entity, Row, {4}), MICA_OK);
    assert_int_equal(mica_add(f.world, entity, DotTag), MICA_OK);
    assert_true(mica_has_all(f.world, entity, mica_type_of(Row), mica_type_of(Dot), mica_type_of(DotTag)));
    assert_false(mica_has_all(f.world, entity, mica_type_of(Row), mica_type_of(Pinned)));
    assert_true(mica_has_any(f.world, entity, mica_type_of(Pinned), mica_type_of(DotTag)));
    assert_false(mica_has_any(f.world, entity, mica_type_of(Pinned), mica_type_of(RowTag)));
    assert_int_equal(mica_entity_components(f.world, entity, NULL, 0), 3);
    assert_null(mica_entity_get(f.world, entity, mica_register(f.world, DotTag)));
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    assert_int_equal(mica_entity_add(f.world, entity, mica_register(f.world, DotTag), &entity), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set(f.world, entity, mica_register(f.world, Dot), NULL), MICA_INVALID);
    assert_int_equal(mica_remove(f.world, entity, Pinned), MICA_OK); // not there
    assert_int_equal(mica_patch(f.world, entity, Pinned, add_five, NULL), MICA_ABSENT);
    assert_int_equal(mica_remove(f.world, entity, Dot), MICA_OK);
    assert_null(mica_get(f.world, entity, Dot));
    assert_false(mica_has(f.world, entity, Dot));
    assert_int_equal(mica_get(f.world, entity, Row)->now, 4);
    end(&f);
}

static void an_outdated_handle_finds_no_element(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity old = mica_spawn(f.world, mica_value_of(Dot, {1}));
    mica_destroy(f.world, old);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Dot, {2}));
    assert_int_equal(mica_entity_index(entity), mica_entity_index(old));
    assert_false(mica_has(f.world, old, Dot));
    assert_null(mica_get(f.world, old, Dot));
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_null(mica_get_write(f.world, old, Dot));
    assert_int_equal(mica_set(f.world, old, Dot, {3}), MICA_STALE);
    assert_int_equal(mica_add(f.world, old, DotTag), MICA_STALE);
    assert_int_equal(mica_remove(f.world, old, Dot), MICA_STALE);
    assert_int_equal(mica_get(f.world, entity, Dot)->now, 2);
    end(&f);
}

static void components_of_both_storages_are_listed_in_one_order(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component ids[] = {mica_register(f.world, Pinned), mica_register(f.world, Row),
                                  mica_register(f.world, Dot),    mica_register(f.world, RowTag),
                                  mica_register(f.world, Big),    mica_register(f.world, DotTag)};
    const int32_t order[] = {4, 1, 5, 3, 2, 0}; // pools come to be in another order than ids
    const mica_entity entity = mica_create(f.world);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(mica_entity_add(f.world, entity, ids[order[i]], NULL), MICA_OK);
    }
    for (int32_t capacity = 0; capacity <= 7; capacity++) {
        mica_component found[8];
        memset(found, 0xff, sizeof(found));
        assert_int_equal(mica_entity_components(f.world, entity, found, capacity), 6);
        for (int32_t i = 0; i < 8; i++) {
            assert_int_equal(found[i], i < capacity && i < 6 ? ids[i] : UINT16_MAX);
        }
    }
    end(&f);
}

static void a_component_of_a_pool_leaves_the_row_alone(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_register(f.world, Dot);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Row, {1}));
    const mica_entity later = mica_spawn(f.world, mica_value_of(Row, {2}));
    const Row *row = mica_get(f.world, entity, Row);
    const Row *later_row = mica_get(f.world, later, Row);
    uint32_t location = 0;
    assert_true(mi_slots_resolve(&f.world->store.slots, entity, &location));
    const mi_table *table = mi_store_table_at(&f.world->store, location);
    const uint64_t row_moves = table->row_moves;
    const int32_t table_count = mica_world_statistics(f.world).table_count;
    assert_int_equal(mica_add_value(f.world, entity, Dot, {1}), MICA_OK);
    assert_int_equal(mica_set(f.world, entity, Dot, {2}), MICA_OK);
    assert_int_equal(mica_remove(f.world, entity, Dot), MICA_OK);
    assert_ptr_equal(mica_get(f.world, entity, Row), row);
    assert_ptr_equal(mica_get(f.world, later, Row), later_row);
    assert_true(table->row_moves == row_moves);
    assert_int_equal(mica_world_statistics(f.world).table_count, table_count);
    end(&f);
}

static void what_comes_along_crosses_storages_and_keeps_what_is_there(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Dot, {7}));
    assert_int_equal(mica_add_value(f.world, entity, RowWithDot, {1}), MICA_OK);
    assert_int_equal(mica_get(f.world, entity, RowWithDot)->now, 1);
    assert_int_equal(mica_get(f.world, entity, Dot)->now, 7);
    assert_true(mica_has(f.world, entity, DotTag));
    assert_int_equal(mica_add_value(f.world, entity, DotWithRow, {2}), MICA_OK);
    assert_true(mica_has(f.world, entity, RowTag));
    assert_int_equal(mica_get(f.world, entity, DotWithRow)->now, 2);
    // Nothing goes along.
    assert_int_equal(mica_remove(f.world, entity, RowWithDot), MICA_OK);
    assert_int_equal(mica_remove(f.world, entity, DotWithRow), MICA_OK);
    assert_true(mica_has_all(f.world, entity, mica_type_of(Dot), mica_type_of(DotTag), mica_type_of(RowTag)));

    const mica_entity chained = mica_create(f.world);
    assert_int_equal(mica_set(f.world, chained, Chain, {3}), MICA_OK);
    assert_int_equal(mica_entity_components(f.world, chained, NULL, 0), 5);
    assert_int_equal(mica_get(f.world, chained, Dot)->now, 0);
    assert_int_equal(owned_number(f.world, chained, mica_type_of(OwnedRow)), -1);
    const mica_entity spawned =
        mica_spawn(f.world, mica_value_of(Dot, {8}), mica_value_of(Chain, {4}), mica_tag(RowWithDot));
    assert_int_equal(mica_entity_components(f.world, spawned, NULL, 0), 5);
    assert_int_equal(mica_get(f.world, spawned, Dot)->now, 8);
    assert_int_equal(mica_get(f.world, spawned, Chain)->now, 4);
    end(&f);
}

// Spawning only what a pool component brings along must not be taken for spawning the pool component.
static void spawning_the_same_again_is_no_other_set(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t i = 0; i < 3; i++) {
        const mica_entity with = mica_spawn(f.world, mica_value_of(DotWithRow, {i}));
        const mica_entity without = mica_spawn(f.world, mica_tag(RowTag));
        assert_int_equal(mica_get(f.world, with, DotWithRow)->now, i);
        assert_true(mica_has(f.world, with, RowTag));
        assert_false(mica_has(f.world, without, DotWithRow));
    }
    end(&f);
}

// The second spawn of a set goes the short way; what it gets must not differ.
static void the_same_set_again_gets_its_tags_and_zeros(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t round = 0; round < 4; round++) {
        const mica_entity entity = mica_spawn(f.world, mica_tag(Row), mica_value_of(Dot, {7}), mica_tag(DotTag),
                                              mica_tag(RowTag), mica_tag(Pinned));
        assert_int_equal(mica_entity_components(f.world, entity, NULL, 0), 5);
        assert_int_equal(mica_get(f.world, entity, Row)->now, 0);
        assert_int_equal(mica_get(f.world, entity, Dot)->now, 7);
        assert_int_equal(mica_get(f.world, entity, Pinned)->now, 0);
        mica_get_write(f.world, entity, Pinned)->now = 9; // left in the place when it is used again
        const mica_entity bare = mica_spawn(f.world, mica_value_of(Dot, {round}), mica_tag(DotTag));
        assert_int_equal(mica_get(f.world, bare, Dot)->now, round);
        const mica_value bad[] = {{.type = mica_type_of(Dot)}, {.type = mica_type_of(DotTag), .value = &round}};
        assert_true(mica_entity_is_null(mica_entity_spawn(f.world, bad, 2)));
        assert_int_equal(mica_last_result(), MICA_NO_VALUE);
        assert_int_equal(mica_world_entity_count(f.world), 2);
        check(f.world);
        assert_int_equal(mica_destroy(f.world, entity), MICA_OK);
        assert_int_equal(mica_destroy(f.world, bare), MICA_OK);
    }
    end(&f);
}

// Values in the world

static void a_value_of_a_pool_is_copied_while_the_pool_grows(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_type *const types[] = {mica_type_of(PackedOwned), mica_type_of(PagedOwned), mica_type_of(StableOwned)};
    for (int32_t t = 0; t < 3; t++) {
        const mica_component component = mica_world_register(f.world, types[t]);
        const mica_entity first = mica_create(f.world);
        assert_int_equal(add_owned(f.world, first, types[t], 1000 + t), MICA_OK);
        for (int32_t i = 0; i < 200; i++) {
            const void *value = mica_entity_get(f.world, first, component);
            const mica_entity entity = mica_create(f.world);
            assert_int_equal(mica_entity_add(f.world, entity, component, value), MICA_OK);
            assert_int_equal(owned_number(f.world, entity, types[t]), 1000 + t);
            const mica_value again = {.component = component, .value = mica_entity_get(f.world, first, component)};
            assert_int_equal(owned_number(f.world, mica_entity_spawn(f.world, &again, 1), types[t]), 1000 + t);
        }
    }
    end(&f);
}

// Both storages grow, and each is given the other's value.
static void values_of_each_storage_are_copied_into_the_other_while_both_grow(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity first = mica_spawn(f.world, mica_value_of(Row, {1}), mica_value_of(Dot, {2}));
    for (int32_t i = 0; i < 300; i++) {
        const Row *row = mica_get(f.world, first, Row);
        const Dot *dot = mica_get(f.world, first, Dot);
        const mica_value values[] = {{.type = mica_type_of(Row), .value = dot},
                                     {.type = mica_type_of(Dot), .value = row}};
        const mica_entity entity = mica_entity_spawn(f.world, values, 2);
        assert_int_equal(mica_get(f.world, entity, Row)->now, 2);
        assert_int_equal(mica_get(f.world, entity, Dot)->now, 1);
    }
    mica_entity made[8];
    for (int32_t round = 0; round < 40; round++) { // the first 8 rows are those of the test's first entities
        const mica_column columns[] = {{.type = mica_type_of(Row), .value = mica_get(f.world, first, Dot)},
                                       {.type = mica_type_of(Dot), .value = mica_get(f.world, first, Row)}};
        assert_int_equal(mica_entity_spawn_many(f.world, columns, 2, 8, made), MICA_OK);
        for (int32_t i = 0; i < 8; i++) {
            assert_int_equal(mica_get(f.world, made[i], Row)->now, i == 0 ? 2 : 1);
            assert_int_equal(mica_get(f.world, made[i], Dot)->now, i == 0 ? 1 : 2);
        }
    }
    end(&f);
}

// The element is made of a value in the very row that the change moves, and whose place another row takes.
static void a_value_of_the_row_that_moves_is_taken_before_it_does(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[40];
    for (int32_t i = 0; i < 40; i++) {
        entities[i] = mica_spawn(f.world, mica_value_of(Row, {i}));
    }
    for (int32_t i = 0; i < 40; i++) {
        const Row *value = mica_get(f.world, entities[i], Row);
        assert_int_equal(mica_entity_add(f.world, entities[i], mica_register(f.world, DotWithRow), value), MICA_OK);
        assert_int_equal(mica_get(f.world, entities[i], DotWithRow)->now, i);
        assert_int_equal(mica_get(f.world, entities[i], Row)->now, i);
    }
    end(&f);
}

// Hooks

static void values_of_pools_are_made_moved_and_ended_once(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_type *const types[] = {mica_type_of(PackedOwned), mica_type_of(PagedOwned), mica_type_of(StableOwned)};
    enum { COUNT = 50 };
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_create(f.world);
        for (int32_t t = 0; t < 3; t++) {
            assert_int_equal(add_owned(f.world, entities[i], types[t], 10 * i + t), MICA_OK);
        }
    }
    assert_int_equal(ledger_live_count(), 3 * COUNT);
    for (int32_t i = 0; i < COUNT; i += 3) {
        assert_int_equal(mica_entity_remove(f.world, entities[i], mica_world_register(f.world, types[i % 3])), MICA_OK);
    }
    for (int32_t i = 1; i < COUNT; i += 3) {
        assert_int_equal(mica_destroy(f.world, entities[i]), MICA_OK);
    }
    check(f.world);
    for (int32_t i = 2; i < COUNT; i += 3) {
        const mica_entity clone = mica_clone(f.world, entities[i]);
        for (int32_t t = 0; t < 3; t++) {
            assert_int_equal(owned_number(f.world, entities[i], types[t]), 10 * i + t);
            assert_int_equal(owned_number(f.world, clone, types[t]), 10 * i + t);
        }
        for (int32_t t = 0; t < 3; t++) {
            const Owned *value = mica_entity_get(f.world, clone, mica_world_register(f.world, types[t]));
            const mica_component next = mica_world_register(f.world, types[(t + 1) % 3]);
            assert_int_equal(mica_entity_set(f.world, entities[i], next, value), MICA_OK);
            assert_int_equal(owned_number(f.world, entities[i], types[(t + 1) % 3]), 10 * i + t);
        }
    }
    check(f.world);
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    assert_int_equal(ledger_live_count(), 0);
    end(&f);
}

static void move_only_values_are_moved_into_pools(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component component = mica_register(f.world, PooledSole);
    Sole value;
    owned_hold(&value.owned, 5, f.world);
    const mica_entity entity = mica_create(f.world);
    assert_int_equal(mica_entity_add(f.world, entity, component, &value), MICA_OK);
    assert_null(value.owned.self);
    assert_int_equal(*mica_get(f.world, entity, PooledSole)->owned.number, 5);
    owned_hold(&value.owned, 6, f.world);
    assert_int_equal(mica_entity_set(f.world, entity, component, &value), MICA_OK);
    assert_null(value.owned.self);
    assert_int_equal(*mica_get(f.world, entity, PooledSole)->owned.number, 6);
    assert_true(mica_entity_is_null(mica_clone(f.world, entity)));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_non_null(strstr(mica_last_error(), "PooledSole"));
    owned_hold(&value.owned, 7, f.world);
    const mica_value values[] = {{.component = component, .value = &value}, {.type = mica_type_of(RowWithDot)}};
    const mica_entity spawned = mica_entity_spawn(f.world, values, 2);
    assert_null(value.owned.self);
    assert_int_equal(*mica_get(f.world, spawned, PooledSole)->owned.number, 7);
    end(&f);
}

// Failing memory

// What must be as before after a failure.
typedef struct seen_state {
    int32_t entity_count;
    uint64_t element_count;
    uint64_t handle_left_count;
    int32_t component_count;
    int64_t live_count;
} seen_state;

static seen_state look(mica_world *world, mica_entity entity) {
    const mica_world_stats stats = mica_world_statistics(world);
    return (seen_state){.entity_count = stats.entity_count,
                        .element_count = stats.element_count,
                        .handle_left_count = stats.handle_left_count,
                        .component_count = mica_entity_components(world, entity, NULL, 0),
                        .live_count = ledger_live_count()};
}

static void assert_unchanged(mica_world *world, mica_entity entity, seen_state before) {
    const seen_state after = look(world, entity);
    assert_int_equal(after.entity_count, before.entity_count);
    assert_true(after.element_count == before.element_count);
    assert_true(after.handle_left_count == before.handle_left_count);
    assert_int_equal(after.component_count, before.component_count);
    assert_int_equal(after.live_count, before.live_count);
    check(world);
}

typedef enum failing_verb { FAIL_ADD, FAIL_SPAWN, FAIL_SPAWN_MANY, FAIL_CLONE, FAIL_SET } failing_verb;

// Does one of the verbs with everything that it can need to allocate; the values that it is given are the entity's.
static mica_result try_verb(mica_world *world, failing_verb verb, mica_entity entity, mica_entity bare) {
    const mica_component packed = mica_register(world, PackedOwned);
    const mica_component chain = mica_register(world, OwnedChain);
    const void *value = mica_entity_get(world, entity, packed);
    const mica_value values[] = {{.component = chain, .value = value}, {.component = packed, .value = value}};
    mica_entity made = MICA_NULL;
    switch (verb) {
    case FAIL_ADD:
        return mica_entity_add(world, bare, chain, value);
    case FAIL_SPAWN:
        made = mica_entity_spawn(world, values, 2);
        break;
    case FAIL_SPAWN_MANY:
        return mica_entity_spawn_many(world, (const mica_column[]){{.component = chain}, {.component = packed}}, 2, 9,
                                      NULL);
    case FAIL_CLONE:
        made = mica_clone(world, entity);
        break;
    case FAIL_SET:
        return mica_entity_set(world, entity, packed, mica_get(world, entity, OwnedRow));
    }
    return mica_entity_is_null(made) ? mica_last_result() : MICA_OK;
}

static void sweep(failing_verb verb) {
    uint64_t fail_count = 0;
    bool is_through = false;
    for (uint64_t n = 1; !is_through; n++) {
        fixture f;
        begin(&f);
        mica_register(f.world, OwnedChain);
        const mica_entity bare = mica_create(f.world);
        const mica_entity entity = mica_create(f.world);
        assert_int_equal(mica_add_value(f.world, entity, Row, {1}), MICA_OK);
        assert_int_equal(mica_add_value(f.world, entity, Dot, {2}), MICA_OK);
        assert_int_equal(add_owned(f.world, entity, mica_type_of(PackedOwned), 3), MICA_OK);
        assert_int_equal(add_owned(f.world, entity, mica_type_of(OwnedRow), 4), MICA_OK);
        for (int32_t i = 1; i < 8; i++) { // pools and chunk are full: all of them have to grow
            mica_clone(f.world, entity);
        }
        const seen_state before = look(f.world, bare);
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = try_verb(f.world, verb, entity, bare);
        is_through = !test_allocator_fail_stop(&f.allocator);
        if (result == MICA_OK) { // through, or without room to remember where the change leads
            check(f.world);
        } else {
            fail_count++;
            assert_false(is_through);
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_unchanged(f.world, bare, before);
            assert_int_equal(owned_number(f.world, entity, mica_type_of(PackedOwned)), 3);
            assert_int_equal(try_verb(f.world, verb, entity, bare), MICA_OK); // memory is back
        }
        end(&f);
    }
    assert_true(fail_count >= (verb == FAIL_SET ? 2 : 4));
}

static void an_add_without_memory_changes_nothing(void **state) {
    (void)state;
    sweep(FAIL_ADD);
}

static void a_spawn_without_memory_changes_nothing(void **state) {
    (void)state;
    sweep(FAIL_SPAWN);
    sweep(FAIL_SPAWN_MANY);
}

static void a_clone_without_memory_changes_nothing(void **state) {
    (void)state;
    sweep(FAIL_CLONE);
}

static void a_set_without_memory_keeps_the_old_value(void **state) {
    (void)state;
    sweep(FAIL_SET);
}

// Many at once

enum { MANY = 5000 }; // more than a page of handles

static void many_come_into_pools_by_columns(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static mica_entity entities[MANY];
    static Dot dots[MANY];
    static Big bigs[MANY];
    for (int32_t i = 0; i < MANY; i++) {
        dots[i].now = i;
        bigs[i].now[15] = -i;
    }
    // Freed slots are taken first, so that the handles are in no order.
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 0, 300, entities), MICA_OK);
    for (int32_t i = 0; i < 300; i += 2) {
        assert_int_equal(mica_destroy(f.world, entities[i]), MICA_OK);
    }
    assert_int_equal(mica_spawn_many(f.world, MANY, entities, mica_column_of(Dot, dots), mica_column_of(Big, bigs),
                                     mica_tag(DotTag), mica_tag(Row)),
                     MICA_OK);
    for (int32_t i = 0; i < MANY; i++) {
        assert_int_equal(mica_get(f.world, entities[i], Dot)->now, i);
        assert_int_equal(mica_get(f.world, entities[i], Big)->now[15], -i);
        assert_true(mica_has(f.world, entities[i], DotTag));
        assert_int_equal(mica_get(f.world, entities[i], Row)->now, 0);
    }
    check(f.world);
    // Without a table, and without an array for the handles.
    assert_int_equal(mica_spawn_many(f.world, 10, NULL, mica_column_of(Dot, dots)), MICA_OK);
    assert_int_equal(mica_spawn_many(f.world, 0, NULL, mica_column_of(Dot, dots)), MICA_OK);
    assert_true(mica_world_statistics(f.world).element_count == 3 * MANY + 10);
    assert_int_equal(mica_destroy_many(f.world, entities, MANY), MICA_OK);
    assert_true(mica_world_statistics(f.world).element_count == 10);
    end(&f);
}

typedef struct fill_log {
    int32_t next;
    int32_t span_count;
    bool has_rows;
} fill_log;

static void fill_dots(void *user, const mica_spawn_span *span) {
    fill_log *seen = user;
    assert_int_equal(span->first, seen->next);
    assert_null(span->columns[2]);
    Dot *dots = span->columns[0];
    Big *bigs = span->columns[1];
    for (int32_t i = 0; i < span->count; i++) {
        assert_int_equal(dots[i].now, 0);
        dots[i].now = span->first + i;
        bigs[i].now[0] = (int32_t)mica_entity_index(span->entities[i]);
        if (seen->has_rows) {
            ((Row *)span->columns[3])[i].now = -(span->first + i);
        }
    }
    seen->next += span->count;
    seen->span_count++;
}

static void a_callback_fills_columns_of_both_storages(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component components[] = {mica_register(f.world, Dot), mica_register(f.world, Big),
                                         mica_register(f.world, DotTag), mica_register(f.world, Row)};
    mica_spawn(f.world, mica_tag(Big)); // spans begin within a page
    for (int32_t count = 3; count <= 4; count++) {
        fill_log seen = {.has_rows = count == 4};
        assert_int_equal(mica_entity_spawn_fill(f.world, components, count, 50, fill_dots, &seen), MICA_OK);
        assert_int_equal(seen.next, 50);
        assert_in_range(seen.span_count, 13, 14); // pages of four
    }
    int32_t sum = 0;
    const mi_pool *pool = mi_store_find_pool(&f.world->store, components[0]);
    assert_int_equal(pool->count, 100);
    for (uint32_t i = 0; i < pool->count; i++) {
        const mica_entity entity = pool->entities[i];
        const int32_t number = mica_get(f.world, entity, Dot)->now;
        assert_int_equal(mica_get(f.world, entity, Big)->now[0], mica_entity_index(entity));
        assert_true(mica_get(f.world, entity, Row) == NULL || mica_get(f.world, entity, Row)->now == -number);
        sum += number;
    }
    assert_int_equal(sum, 2 * 49 * 50 / 2);
    end(&f);
}

// Ends

static void destroying_takes_an_entity_out_of_its_pools_among_many(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { POOL_COUNT = 200 };
    mica_component ids[POOL_COUNT];
    for (int32_t i = 0; i < POOL_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Pool%d", i);
        ids[i] = mica_schema_register_named(mica_world_schema(f.world), mica_type_of(Dot), name, NULL);
    }
    const mica_entity all = mica_create(f.world);
    const mica_entity few = mica_create(f.world);
    for (int32_t i = 0; i < POOL_COUNT; i++) {
        assert_int_equal(mica_entity_add(f.world, all, ids[i], &(Dot){i}), MICA_OK);
    }
    for (int32_t i = 0; i < POOL_COUNT; i += 99) {
        assert_int_equal(mica_entity_add(f.world, few, ids[i], &(Dot){-i}), MICA_OK);
    }
    assert_int_equal(mica_entity_components(f.world, all, NULL, 0), POOL_COUNT);
    const mica_entity clone = mica_clone(f.world, all);
    assert_int_equal(mica_destroy(f.world, all), MICA_OK);
    check(f.world);
    for (int32_t i = 0; i < POOL_COUNT; i++) {
        assert_false(mica_entity_has(f.world, all, ids[i]));
        assert_int_equal(mica_entity_has(f.world, few, ids[i]), i % 99 == 0);
        assert_int_equal(((const Dot *)mica_entity_get(f.world, clone, ids[i]))->now, i);
    }
    assert_int_equal(mica_destroy(f.world, few), MICA_OK);
    assert_true(mica_world_statistics(f.world).element_count == POOL_COUNT);
    end(&f);
}

static void statistics_and_clearing_know_pools(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity pinned = mica_spawn(f.world, mica_tag(Pinned));
    const mica_entity other = mica_spawn(f.world, mica_tag(Pinned), mica_tag(Dot), mica_tag(Row));
    mica_spawn(f.world, mica_tag(Row));
    mica_create(f.world);
    const Pinned *place = mica_get(f.world, other, Pinned);
    assert_int_equal(mica_remove(f.world, pinned, Pinned), MICA_OK);
    mica_world_stats stats = mica_world_statistics(f.world);
    assert_int_equal(stats.entity_count, 4);
    assert_int_equal(stats.entity_empty_count,
                     2); // the one that lost its only component, and the one that never had any
    assert_int_equal(stats.pool_count, 2);
    assert_true(stats.element_count == 2 && stats.tombstone_count == 1);
    assert_ptr_equal(mica_get(f.world, other, Pinned), place);
    assert_int_equal(mica_world_trim(f.world), MICA_OK);
    assert_ptr_equal(mica_get(f.world, other, Pinned), place);
    assert_int_equal(mica_remove(f.world, other, Row), MICA_OK);
    assert_int_equal(mica_world_statistics(f.world).entity_empty_count, 2);
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    stats = mica_world_statistics(f.world);
    assert_int_equal(stats.entity_empty_count, 0);
    assert_true(stats.element_count == 0 && stats.tombstone_count == 0);
    const mica_entity again = mica_create(f.world);
    assert_false(mica_has(f.world, again, Pinned));
    assert_int_equal(mica_entity_components(f.world, again, NULL, 0), 0);
    end(&f);
}

MICA_STRUCT_WITH(RowToggle, (.storage = MICA_TABLE, .toggle = true), { int32_t now; });
MICA_STRUCT_WITH(DotToggle, (.storage = MICA_POOL, .toggle = true), { int32_t now; });

static void marks_follow_changes_and_clones(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[20];
    for (int32_t i = 0; i < 20; i++) {
        entities[i] = mica_spawn(f.world, mica_value_of(RowToggle, {i}), mica_value_of(DotToggle, {i}));
        if (i % 3 == 0) {
            assert_int_equal(mica_disable(f.world, entities[i]), MICA_OK);
        }
    }
    assert_int_equal(mica_disable_component(f.world, entities[3], RowToggle), MICA_OK);
    assert_int_equal(mica_disable_component(f.world, entities[3], DotToggle), MICA_OK);
    for (int32_t i = 0; i < 20; i += 2) { // rows come, go, and fill holes, hidden ones and others
        assert_int_equal(mica_add(f.world, entities[i], Row), MICA_OK);
        check(f.world);
    }
    const mica_entity clone = mica_clone(f.world, entities[3]);
    assert_false(mica_is_enabled(f.world, clone));
    assert_false(mica_is_component_enabled(f.world, clone, RowToggle));
    assert_false(mica_is_component_enabled(f.world, clone, DotToggle));
    check(f.world);
    assert_int_equal(mica_remove(f.world, clone, RowToggle), MICA_OK);
    assert_int_equal(mica_remove(f.world, clone, DotToggle), MICA_OK);
    assert_int_equal(mica_add(f.world, clone, RowToggle), MICA_OK);
    assert_int_equal(mica_add(f.world, clone, DotToggle), MICA_OK);
    assert_true(mica_is_component_enabled(f.world, clone, RowToggle));
    assert_true(mica_is_component_enabled(f.world, clone, DotToggle));
    assert_int_equal(mica_destroy(f.world, entities[3]), MICA_OK);
    const mica_entity reused = mica_spawn(f.world, mica_tag(RowToggle), mica_tag(DotToggle));
    assert_int_equal(mica_entity_index(reused), mica_entity_index(entities[3]));
    assert_true(mica_is_enabled(f.world, reused));
    assert_true(mica_is_component_enabled(f.world, reused, RowToggle));
    assert_true(mica_is_component_enabled(f.world, reused, DotToggle));
    check(f.world);
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    end(&f);
}

static void a_locked_world_replaces_values_of_pools_and_nothing_else(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Dot, {1}), mica_value_of(Row, {1}));
    mica_each (mica_query_of(f.world, mica_read(Row)), it) {
        assert_int_equal(mica_set(f.world, entity, Dot, {2}), MICA_OK);
        mica_get_write(f.world, entity, Dot)->now++;
        assert_int_equal(mica_patch(f.world, entity, Dot, add_five, NULL), MICA_OK);
        assert_int_equal(mica_add(f.world, entity, DotTag), MICA_LOCKED);
        assert_int_equal(mica_set(f.world, entity, Pinned, {1}), MICA_LOCKED);
        assert_int_equal(mica_remove(f.world, entity, Dot), MICA_LOCKED);
        assert_int_equal(mica_get(f.world, entity, Dot)->now, 8);
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_takes_components_of_pools),
        cmocka_unit_test(an_outdated_handle_finds_no_element),
        cmocka_unit_test(components_of_both_storages_are_listed_in_one_order),
        cmocka_unit_test(a_component_of_a_pool_leaves_the_row_alone),
        cmocka_unit_test(what_comes_along_crosses_storages_and_keeps_what_is_there),
        cmocka_unit_test(spawning_the_same_again_is_no_other_set),
        cmocka_unit_test(the_same_set_again_gets_its_tags_and_zeros),
        cmocka_unit_test(a_value_of_a_pool_is_copied_while_the_pool_grows),
        cmocka_unit_test(values_of_each_storage_are_copied_into_the_other_while_both_grow),
        cmocka_unit_test(a_value_of_the_row_that_moves_is_taken_before_it_does),
        cmocka_unit_test(values_of_pools_are_made_moved_and_ended_once),
        cmocka_unit_test(move_only_values_are_moved_into_pools),
        cmocka_unit_test(an_add_without_memory_changes_nothing),
        cmocka_unit_test(a_spawn_without_memory_changes_nothing),
        cmocka_unit_test(a_clone_without_memory_changes_nothing),
        cmocka_unit_test(a_set_without_memory_keeps_the_old_value),
        cmocka_unit_test(many_come_into_pools_by_columns),
        cmocka_unit_test(a_callback_fills_columns_of_both_storages),
        cmocka_unit_test(destroying_takes_an_entity_out_of_its_pools_among_many),
        cmocka_unit_test(statistics_and_clearing_know_pools),
        cmocka_unit_test(marks_follow_changes_and_clones),
        cmocka_unit_test(a_locked_world_replaces_values_of_pools_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
