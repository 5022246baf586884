// Changing what an entity has: values that lie in the world, values with hooks, large and aligned values, failures in
// the middle, and the stamps that changes leave.
#include "ledger_world.h"

#include <stdio.h>
#include <string.h>

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Number, { int32_t now; });

static mica_entity spawn_owned(mica_world *world, int32_t number) {
    Owned value;
    owned_hold(&value, number, world);
    const mica_entity entity = mica_entity_spawn(world, &(mica_value){.type = mica_type_of(Owned), .value = &value}, 1);
    owned_drop(&value, world);
    return entity;
}

// The row that is opened makes the chunk grow in which the value lies: the copy must not be taken of what was moved.
static void a_value_of_the_world_is_copied_while_its_chunk_grows(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity first = spawn_owned(f.world, 1000);
    for (int32_t i = 1; i < 200; i++) {
        const Owned *value = mica_get(f.world, first, Owned);
        const mica_entity entity =
            mica_entity_spawn(f.world, &(mica_value){.type = mica_type_of(Owned), .value = value}, 1);
        assert_int_equal(*mica_get(f.world, entity, Owned)->number, 1000);
        ledger_check();
    }
    end(&f);
}

static void columns_of_the_world_are_copied_while_their_chunk_grows(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[8];
    for (int32_t i = 0; i < 8; i++) {
        entities[i] = spawn_owned(f.world, i);
    }
    mica_entity copies[8];
    const mica_column column = {.type = mica_type_of(Owned), .value = mica_get(f.world, entities[0], Owned)};
    assert_int_equal(mica_entity_spawn_many(f.world, &column, 1, 8, copies), MICA_OK);
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(*mica_get(f.world, copies[i], Owned)->number, i);
    }
    end(&f);
}

// Moving leaves the old row's value wiped; a part of it is the value of another component.
typedef struct Wiped {
    Number part;
    int32_t rest;
} Wiped;

static void wiped_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * sizeof(Wiped));
    memset(from, 0xee, (size_t)count * sizeof(Wiped));
}
MICA_COMPONENT_WITH(Wiped, (.hooks = {.move = wiped_move}));

static void a_part_of_the_entitys_own_value_may_be_added(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_register(f.world, Wiped); // before Number: its column is moved first
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Wiped, {{42}, 43}));
    assert_int_equal(mica_set_from(f.world, entity, Number, &mica_get(f.world, entity, Wiped)->part), MICA_OK);
    assert_int_equal(mica_get(f.world, entity, Number)->now, 42);
    assert_int_equal(mica_get(f.world, entity, Wiped)->rest, 43);
    end(&f);
}

static void replacing_a_value_with_a_move_hook_alone_leaves_the_callers(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Wiped, {{1}, 2}));
    const Wiped value = {{3}, 4};
    assert_int_equal(mica_set_from(f.world, entity, Wiped, &value), MICA_OK);
    assert_int_equal(value.part.now, 3);
    assert_int_equal(value.rest, 4);
    assert_int_equal(mica_get(f.world, entity, Wiped)->rest, 4);
    end(&f);
}

static void a_value_may_replace_itself(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = spawn_owned(f.world, 7);
    Sole sole;
    owned_hold(&sole.owned, 8, f.world);
    assert_int_equal(mica_set_from(f.world, entity, Sole, &sole), MICA_OK);
    assert_int_equal(mica_set_from(f.world, entity, Owned, mica_get(f.world, entity, Owned)), MICA_OK);
    assert_int_equal(mica_set_from(f.world, entity, Sole, mica_get(f.world, entity, Sole)), MICA_OK);
    assert_int_equal(*mica_get(f.world, entity, Owned)->number, 7);
    assert_int_equal(*mica_get(f.world, entity, Sole)->owned.number, 8);
    ledger_check();
    end(&f);
}

static void a_copy_that_fails_leaves_row_and_value(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Position, {1, 2, 3}));
    const mica_entity other = spawn_owned(f.world, 5);
    Owned value;
    owned_hold(&value, 9, f.world);
    Sole sole;
    owned_hold(&sole.owned, 10, f.world);
    // Every allocation of the add and of the replacement fails once; the last one is the hook's own.
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = mica_set_from(f.world, entity, Owned, &value);
        const bool failed = test_allocator_fail_stop(&f.allocator);
        if (result == MICA_OK) {
            if (!failed) {
                break;
            }
            mica_remove(f.world, entity, Owned);
            continue;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_false(mica_has(f.world, entity, Owned));
        assert_true(mica_get(f.world, entity, Position)->z == 3);
        assert_int_equal(mica_world_validate(f.world), MICA_OK);
    }
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = mica_set_from(f.world, other, Owned, &value);
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(*mica_get(f.world, other, Owned)->number, 5);
    }
    owned_drop(&value, f.world);
    owned_drop(&sole.owned, f.world);
    end(&f);
}

typedef struct Page {
    _Alignas(4096) uint8_t bytes[4096];
} Page;
MICA_COMPONENT(Page);
typedef struct Line {
    _Alignas(256) int32_t number;
    uint8_t rest[252];
} Line;
MICA_COMPONENT(Line);
typedef struct Bulk {
    uint8_t bytes[MICA_SIZE_MAX];
} Bulk;
MICA_COMPONENT(Bulk);

static void assert_aligned(const void *address, size_t alignment) {
    assert_int_equal((uintptr_t)address % alignment, 0);
}

static void alignment_holds_in_columns_gets_and_clones(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static Page page;
    for (int32_t i = 0; i < 100; i++) {
        memset(page.bytes, i, sizeof(page.bytes));
        const mica_entity entity = mica_spawn(f.world, mica_value_of(Number, {i}), mica_value_of(Line, {.number = -i}),
                                              ((mica_value){.type = mica_type_of(Page), .value = &page}));
        const mica_entity clone = mica_clone(f.world, entity);
        assert_aligned(mica_get(f.world, entity, Page), 4096);
        assert_aligned(mica_get(f.world, clone, Page), 4096);
        assert_aligned(mica_get(f.world, clone, Line), 256);
        assert_int_equal(mica_get(f.world, clone, Page)->bytes[4095], i);
        assert_int_equal(mica_get(f.world, clone, Line)->number, -i);
    }
    int32_t count = 0;
    mica_each (mica_query_of(f.world, mica_read(Page), mica_read(Line)), it) {
        assert_aligned(mica_read_of(it, Page), 4096);
        assert_aligned(mica_read_of(it, Line), 256);
        count += it.count;
    }
    assert_int_equal(count, 200);
    mica_commands *commands = mica_commands_create(f.world);
    const mica_entity late = mica_spawn(commands, ((mica_value){.type = mica_type_of(Page), .value = &page}));
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_aligned(mica_get(f.world, mica_commands_resolve(commands, late), Page), 4096);
    mica_commands_destroy(commands);
    end(&f);
}

static void values_of_the_largest_size_move_whole(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static Bulk bulk;
    mica_entity entities[5];
    for (int32_t i = 0; i < 5; i++) {
        memset(bulk.bytes, i + 1, sizeof(bulk.bytes));
        entities[i] = mica_spawn(f.world, ((mica_value){.type = mica_type_of(Bulk), .value = &bulk}));
        assert_int_equal(mica_set(f.world, entities[i], Number, {i}), MICA_OK);
    }
    assert_int_equal(mica_destroy(f.world, entities[1]), MICA_OK);
    for (int32_t i = 0; i < 5; i++) {
        if (i != 1) {
            const Bulk *value = mica_get(f.world, entities[i], Bulk);
            assert_int_equal(value->bytes[0], i + 1);
            assert_memory_equal(value->bytes, value->bytes + 1, sizeof(value->bytes) - 1);
        }
    }
    end(&f);
}

static void a_row_over_four_mebibytes_is_refused_and_says_so(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    static char names[80][16];
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Number, {1}));
    mica_result result = MICA_OK;
    int32_t added = 0;
    for (int32_t i = 0; i < 80 && result == MICA_OK; i++) {
        snprintf(names[i], sizeof(names[i]), "Bulk%d", i);
        mica_type type = {.name = names[i], .size = MICA_SIZE_MAX, .align = 1, .traits = {.storage = MICA_TABLE}};
        result = mica_entity_add(f.world, entity, mica_world_register(f.world, &type), NULL);
        added += result == MICA_OK;
    }
    assert_int_equal(result, MICA_LIMIT);
    assert_in_range(added, 62, 64);
    assert_non_null(strstr(mica_last_error(), "4 MiB"));
    assert_int_equal(mica_entity_components(f.world, entity, NULL, 0), added + 1);
    assert_int_equal(mica_get(f.world, entity, Number)->now, 1);
    end(&f);
}

MICA_NAMED_WITH(RowNumber, Number, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowPosition, Position, (.storage = MICA_TABLE));

// A value may have changed as lately as its column says, wherever it goes.
static void stamps_go_with_values_and_never_fall(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_store *store = &f.world->store;
    const mica_component number = mica_register(f.world, RowNumber);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(RowNumber, {1}));
    const mica_entity other = mica_spawn(f.world, mica_value_of(RowNumber, {2}), mica_value_of(RowPosition, {0, 0, 0}));
    uint64_t made = store->version;
    assert_int_equal(mica_world_step(f.world, 1), MICA_OK);
    assert_true(store->version > made);
    mica_get_write(f.world, entity, RowNumber)->now = 3;
    const uint64_t written = store->version;
    assert_int_equal(mica_world_step(f.world, 1), MICA_OK);
    assert_int_equal(mica_set(f.world, entity, RowPosition, {1, 1, 1}), MICA_OK); // moves the number beside the other's
    uint32_t location = 0;
    assert_true(mi_slots_resolve(&store->slots, other, &location));
    mi_table *table = mi_store_table_at(store, location);
    uint8_t *column = mi_table_column(table, mi_store_base(store, location), number);
    assert_true(mi_column_head_of(column)->stamp == written);
    const mica_component position = mica_register(f.world, RowPosition);
    column = mi_table_column(table, mi_store_base(store, location), position);
    assert_true(mi_column_head_of(column)->stamp == store->version);
    // Reading leaves no stamp.
    assert_int_equal(mica_world_step(f.world, 1), MICA_OK);
    assert_non_null(mica_get(f.world, other, RowPosition));
    assert_true(mi_column_head_of(column)->stamp < store->version);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_the_world_is_copied_while_its_chunk_grows),
        cmocka_unit_test(columns_of_the_world_are_copied_while_their_chunk_grows),
        cmocka_unit_test(a_part_of_the_entitys_own_value_may_be_added),
        cmocka_unit_test(replacing_a_value_with_a_move_hook_alone_leaves_the_callers),
        cmocka_unit_test(a_value_may_replace_itself),
        cmocka_unit_test(a_copy_that_fails_leaves_row_and_value),
        cmocka_unit_test(alignment_holds_in_columns_gets_and_clones),
        cmocka_unit_test(values_of_the_largest_size_move_whole),
        cmocka_unit_test(a_row_over_four_mebibytes_is_refused_and_says_so),
        cmocka_unit_test(stamps_go_with_values_and_never_fall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
