// Spawning: one, many from columns, many filled in; what is refused; and that a refusal takes nothing, neither the
// caller's values nor a handle.
#include "follows.h"
#include "ledger_world.h"
#include "support/test_said.h"

#include <stdio.h>
#include <string.h>

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Number, { int32_t now; });
MICA_TAG(Marked);

static void assert_same(mica_entity a, mica_entity b) {
    assert_true(mica_entity_equal(a, b));
}

// Adds rows of one component until the next one makes a chunk grow or come; returns the last.
static mica_entity fill_up(mica_world *world, mica_component component) {
    for (int32_t number = 0;; number++) {
        const mica_entity entity = mica_create(world);
        assert_int_equal(mica_entity_add(world, entity, component, &number), MICA_OK);
        uint32_t location = 0;
        assert_true(mi_slots_resolve(&world->store.slots, entity, &location));
        const mi_table *table = mi_store_table_at(&world->store, location);
        if (table->row_count == table->room) {
            return entity;
        }
    }
}

// The second spawn of a set goes the short way; what it gets must not differ.
static void the_same_set_again_gets_its_tags_and_zeros(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t round = 0; round < 3; round++) {
        const mica_entity entity =
            mica_spawn(f.world, mica_tag(Position), mica_tag(Marked), mica_value_of(Number, {7}));
        assert_true(mica_has(f.world, entity, Marked));
        assert_int_equal(mica_get(f.world, entity, Number)->now, 7);
        const Position *position = mica_get(f.world, entity, Position);
        assert_true(position->x == 0 && position->y == 0 && position->z == 0);
        *mica_get_write(f.world, entity, Position) = (Position){1, 2, 3}; // left in the row when it is used again
        const Number number = {9};
        const mica_value bad[] = {{.type = mica_type_of(Position)},
                                  {.type = mica_type_of(Marked), .value = &number},
                                  {.type = mica_type_of(Number), .value = &number}};
        assert_true(mica_entity_is_null(mica_entity_spawn(f.world, bad, 3)));
        assert_int_equal(mica_last_result(), MICA_NO_VALUE);
        assert_int_equal(mica_world_entity_count(f.world), 1);
        assert_int_equal(mica_destroy(f.world, entity), MICA_OK);
    }
    end(&f);
}

// Where spawns of one set lead is remembered, in a place that another set shares. A value that lies in the other's full
// chunk must not be lost when spawning makes room for the one.
static void a_value_of_another_full_table_is_copied(void **state) {
    (void)state;
    enum { TYPE_COUNT = 2 * MICA_SPAWN_PLAN_COUNT };
    fixture f;
    begin(&f);
    mica_component types[TYPE_COUNT];
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Type%u", i);
        mica_type type = {.name = name, .size = 4, .align = 4, .traits = {.storage = MICA_TABLE}};
        types[i] = mica_world_register(f.world, &type);
    }
    for (uint32_t i = 0; i < MICA_SPAWN_PLAN_COUNT; i++) {
        const mica_component other = types[i + MICA_SPAWN_PLAN_COUNT];
        const int32_t number = -1;
        mica_entity_spawn(f.world, &(mica_value){.component = other, .value = &number}, 1); // remembered
        const mica_entity source = fill_up(f.world, other);
        fill_up(f.world, types[i]);
        const int32_t *value = mica_entity_get(f.world, source, other);
        const int32_t expected = *value;
        const mica_entity made = mica_entity_spawn(f.world, &(mica_value){.component = types[i], .value = value}, 1);
        assert_int_equal(*(const int32_t *)mica_entity_get(f.world, made, types[i]), expected);
        assert_int_equal(*(const int32_t *)mica_entity_get(f.world, source, other), expected);
    }
    end(&f);
}

static void a_value_left_out_is_constructed_where_one_was_given_before(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t i = 0; i < 3; i++) {
        const mica_entity given = mica_spawn(f.world, mica_value_of(Number, {7}), mica_value_of(Position, {1, 2, 3}));
        const mica_entity left = mica_spawn(f.world, mica_value_of(Number, {8}), mica_tag(Position));
        assert_int_equal(mica_get(f.world, given, Number)->now, 7);
        assert_true(mica_get(f.world, given, Position)->z == 3);
        assert_int_equal(mica_get(f.world, left, Number)->now, 8);
        assert_true(mica_get(f.world, left, Position)->z == 0);
    }
    assert_int_equal(mica_world_entity_count(f.world), 6);
    end(&f);
}

static void columns_give_each_entity_its_values(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { COUNT = 10000 };
    static Number numbers[COUNT];
    static mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        numbers[i].now = i;
    }
    assert_int_equal(mica_spawn_many(f.world, COUNT, entities, mica_column_of(Number, numbers), mica_tag(Marked),
                                     mica_tag(Position)),
                     MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_get(f.world, entities[i], Number)->now, i);
        assert_true(mica_get(f.world, entities[i], Position)->y == 0);
        assert_true(mica_has(f.world, entities[i], Marked));
    }
    assert_int_equal(mica_spawn_many(f.world, 0, NULL, mica_column_of(Number, numbers)), MICA_OK);
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 0, 5, entities), MICA_OK);
    assert_int_equal(mica_entity_components(f.world, entities[4], NULL, 0), 0);
    assert_int_equal(mica_world_entity_count(f.world), COUNT + 5);
    end(&f);
}

typedef struct fill_state {
    mica_world *world;
    mica_component number;
    int32_t made;
    mica_result refused;
} fill_state;

static void fill_in(void *user, const mica_spawn_span *span) {
    fill_state *f = user;
    assert_int_equal(span->first, f->made);
    Number *numbers = span->columns[0];
    assert_null(span->columns[1]);
    const Position *positions = span->columns[2];
    for (int32_t i = 0; i < span->count; i++) {
        assert_true(positions[i].x == 0);
        numbers[i].now = f->made + i;
        assert_true(mica_alive(f->world, span->entities[i]));
    }
    f->made += span->count;
    f->refused = mica_destroy(f->world, span->entities[0]);
}

static void a_callback_fills_all_rows_in_and_must_not_move_them(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_create(f.world);
    mica_spawn(f.world, mica_value_of(Number, {-1}), mica_tag(Marked), mica_tag(Position));
    const mica_component asked[] = {mica_register(f.world, Number), mica_register(f.world, Marked),
                                    mica_register(f.world, Position)};
    fill_state filling = {.world = f.world};
    assert_int_equal(mica_entity_spawn_fill(f.world, asked, 3, 9000, fill_in, &filling), MICA_OK);
    assert_int_equal(filling.made, 9000);
    assert_int_equal(filling.refused, MICA_LOCKED);
    int32_t expected = -1;
    mica_each_row (mica_query_of(f.world, mica_read(Number)), it) {
        assert_int_equal(mica_row_read(it, Number)->now, expected++);
    }
    assert_int_equal(expected, 9000);
    assert_int_equal(mica_entity_spawn_fill(f.world, asked, 3, 1, NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_entity_spawn_fill(f.world, NULL, 3, 1, fill_in, &filling), MICA_INVALID);
    assert_int_equal(mica_entity_spawn_fill(f.world, asked, 0, 1, fill_in, &filling), MICA_INVALID);
    assert_int_equal(mica_entity_spawn_fill(NULL, asked, 3, 1, fill_in, &filling), MICA_INVALID);
    end(&f);
}

static void misuse_is_refused_and_makes_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const Number number = {1};
    const mica_value twice[] = {{.type = mica_type_of(Number), .value = &number}, {.type = mica_type_of(Number)}};
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, twice, 2)));
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_said("Number");
    const mica_value tag = {.type = mica_type_of(Marked), .value = &number};
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, &tag, 1)));
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    const mica_value unknown = {.component = 999};
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, &unknown, 1)));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, &(mica_value){0}, 1)));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, NULL, 1)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_true(mica_entity_is_null(mica_entity_spawn(f.world, twice, -1)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_entity_spawn_many(f.world, twice, 1, -1, NULL), MICA_INVALID);
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 2, 1, NULL), MICA_INVALID);
    const mica_column relation = {.type = mica_type_of(Follows)};
    assert_int_equal(mica_entity_spawn_many(f.world, &relation, 1, 3, NULL), MICA_UNSUPPORTED);
    assert_int_equal(mica_world_entity_count(f.world), 0);
    // No handle was used up.
    assert_true(mica_world_statistics(f.world).handle_left_count == (uint64_t)MICA_INDEX_MAX * MICA_GENERATION_MAX);
    end(&f);
}

static void a_link_that_is_refused_takes_neither_values_nor_a_handle(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity gone = mica_create(f.world);
    mica_destroy(f.world, gone);
    const uint64_t left = mica_world_statistics(f.world).handle_left_count;
    const mica_entity next = mica_entity_make(mica_entity_index(gone), mica_entity_generation(gone) + 1);
    Sole sole;
    owned_hold(&sole.owned, 5, f.world);
    const Follows dead = {gone};
    const mica_value values[] = {{.type = mica_type_of(Sole), .value = &sole},
                                 {.type = mica_type_of(Follows), .value = &dead},
                                 {.type = mica_type_of(Number)}};
    for (int32_t i = 0; i < 3; i++) {
        assert_true(mica_entity_is_null(mica_entity_spawn(f.world, values, 3)));
        assert_int_equal(mica_last_result(), MICA_STALE);
        assert_ptr_equal(sole.owned.self, &sole.owned);
        assert_int_equal(mica_world_entity_count(f.world), 0);
        assert_true(mica_world_statistics(f.world).handle_left_count == left);
    }
    // As many commands would have been skipped, and the next handle is the same.
    mica_commands *commands = mica_commands_create(f.world);
    const mica_entity skipped = mica_commands_spawn(commands, &values[1], 1);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(mica_entity_is_null(mica_commands_resolve(commands, skipped)));
    mica_commands_destroy(commands);
    const mica_entity leader = mica_create(f.world);
    assert_same(leader, next);
    const Follows follows = {leader};
    const mica_entity linked = mica_entity_spawn(
        f.world, (const mica_value[]){values[0], {.type = mica_type_of(Follows), .value = &follows}, values[2]}, 3);
    assert_same(mica_get(f.world, linked, Follows)->whom, leader);
    assert_int_equal(*mica_get(f.world, linked, Sole)->owned.number, 5);
    assert_int_equal(mica_entity_components(f.world, linked, NULL, 0), 3);
    assert_null(sole.owned.self); // moved from
    end(&f);
}

static void a_clone_that_cannot_be_linked_takes_no_handle(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity leader = mica_create(f.world);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Follows, {leader}), mica_value_of(Number, {3}));
    mica_destroy(f.world, leader); // this relation keeps no reverse, so its value goes stale
    const uint64_t left = mica_world_statistics(f.world).handle_left_count;
    assert_true(mica_entity_is_null(mica_clone(f.world, entity)));
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_true(mica_world_statistics(f.world).handle_left_count == left);
    assert_int_equal(mica_world_entity_count(f.world), 1);
    mica_set(f.world, entity, Follows, {MICA_NULL});
    const mica_entity clone = mica_clone(f.world, entity);
    assert_int_equal(mica_get(f.world, clone, Number)->now, 3);
    end(&f);
}

static void a_hook_that_fails_in_the_middle_of_many_leaves_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { COUNT = 700 };
    static Owned values[COUNT];
    static Number numbers[COUNT];
    static Sole soles[COUNT];
    mica_register(f.world, Sole);
    for (int32_t i = 0; i < COUNT; i++) {
        owned_hold(&values[i], i, f.world);
        owned_hold(&soles[i].owned, -i, f.world);
    }
    const int64_t held = ledger_live_count();
    for (uint64_t n = 1;; n += 131) {
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = mica_spawn_many(f.world, COUNT, NULL, mica_column_of(Owned, values),
                                                   mica_column_of(Sole, soles), mica_column_of(Number, numbers));
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(ledger_live_count(), held);
        assert_int_equal(mica_world_entity_count(f.world), 0);
        for (int32_t i = 0; i < COUNT; i++) {
            assert_ptr_equal(soles[i].owned.self, &soles[i]);
        }
        // The chunks are given back but for one.
        assert_in_range(mica_world_statistics(f.world).chunk_count, 0, 1);
    }
    assert_int_equal(mica_world_entity_count(f.world), COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        owned_drop(&values[i], f.world);
        assert_null(soles[i].owned.self);
    }
    end(&f);
}

MICA_NAMED_WITH(RowOwned, Owned, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowSole, Sole, (.storage = MICA_TABLE));

// Two columns that can fail, over several chunks: what was made in either is ended.
static void values_in_all_chunks_are_ended_when_a_later_one_fails(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { COUNT = 9000 };
    static Owned values[COUNT];
    mica_register(f.world, RowOwned);
    mica_register(f.world, RowSole);
    for (int32_t i = 0; i < COUNT; i++) {
        owned_hold(&values[i], i, f.world);
    }
    for (uint64_t n = 1;; n += 2003) {
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result =
            mica_spawn_many(f.world, COUNT, NULL, mica_column_of(RowOwned, values), mica_tag(RowSole));
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(ledger_live_count(), COUNT);
        assert_int_equal(mica_world_entity_count(f.world), 0);
        ledger_check();
    }
    assert_true(mica_world_statistics(f.world).chunk_count > 2);
    for (int32_t i = 0; i < COUNT; i++) {
        owned_drop(&values[i], f.world);
    }
    end(&f);
}

static void more_entities_than_there_are_indices_are_refused(void **state) {
    (void)state;
    fixture f;
    begin(&f);
#if MICA_ENTITY_BITS == 32
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 0, (int32_t)MICA_INDEX_MAX + 1, NULL), MICA_LIMIT);
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 0, (int32_t)MICA_INDEX_MAX, NULL), MICA_OK);
    assert_true(mica_entity_is_null(mica_create(f.world)));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_said("indices");
    assert_true(mica_entity_is_null(mica_spawn(f.world, mica_value_of(Number, {1}))));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_int_equal(mica_world_entity_count(f.world), (int32_t)MICA_INDEX_MAX);
#else
    mica_create(f.world);
    assert_int_equal(mica_entity_spawn_many(f.world, NULL, 0, INT32_MAX, NULL), MICA_LIMIT);
    assert_int_equal(mica_world_entity_count(f.world), 1);
#endif
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_set_again_gets_its_tags_and_zeros),
        cmocka_unit_test(a_value_of_another_full_table_is_copied),
        cmocka_unit_test(a_value_left_out_is_constructed_where_one_was_given_before),
        cmocka_unit_test(columns_give_each_entity_its_values),
        cmocka_unit_test(a_callback_fills_all_rows_in_and_must_not_move_them),
        cmocka_unit_test(misuse_is_refused_and_makes_nothing),
        cmocka_unit_test(a_link_that_is_refused_takes_neither_values_nor_a_handle),
        cmocka_unit_test(a_clone_that_cannot_be_linked_takes_no_handle),
        cmocka_unit_test(a_hook_that_fails_in_the_middle_of_many_leaves_nothing),
        cmocka_unit_test(values_in_all_chunks_are_ended_when_a_later_one_fails),
        cmocka_unit_test(more_entities_than_there_are_indices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
