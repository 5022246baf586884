// Budgets, room made ready, and blocks kept: what goes beyond is refused with a message and without a trace, and what
// was made ready takes no allocation.
#include "world_fixture.h"

#include "world/world.h"

MICA_NAMED_WITH(RowPosition, Position, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowHealth, Health, (.storage = MICA_TABLE));
MICA_NAMED_WITH(PoolHealth, Health, (.storage = MICA_POOL));
MICA_TAG_WITH(PoolTag, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Mail, (.storage = MICA_TABLE, .required = {mica_type_of(RowHealth), mica_type_of(PoolTag)}),
                 { int32_t now; });

static mica_memory_budget budget_of(mica_memory_purpose purpose, size_t byte_size) {
    mica_memory_budget budget = {.total = 0};
    budget.bytes[purpose] = byte_size;
    return budget;
}

// Budgets

// Spawns entities until one is refused; how many there are.
static int32_t spawn_until_refused(mica_world *world) {
    while (!mica_entity_is_null(mica_spawn(world, mica_value_of(RowPosition, {1, 2, 3})))) {
    }
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    return mica_world_entity_count(world);
}

static void a_budget_of_a_purpose_refuses_what_goes_beyond(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_memory_budget budget = budget_of(MICA_MEMORY_CHUNKS, 300000);
    assert_int_equal(mica_world_set_budget(w.world, &budget), MICA_OK);
    assert_int_equal(mica_world_budget(w.world).bytes[MICA_MEMORY_CHUNKS], 300000);
    const int32_t count = spawn_until_refused(w.world);
    assert_said("mica_entity_spawn");
    assert_said("the budget for chunks has 300000 bytes");
    assert_in_range(count, 4096, 300000 / 20);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS] <= 300000);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    // Other purposes go on.
    assert_true(mica_alive(w.world, mica_create(w.world)));
    // A larger one lets chunks grow again, and none at all as well.
    const mica_memory_budget larger = budget_of(MICA_MEMORY_CHUNKS, 900000);
    assert_int_equal(mica_world_set_budget(w.world, &larger), MICA_OK);
    const int32_t more = spawn_until_refused(w.world);
    assert_true(more > 2 * count);
    assert_int_equal(mica_world_set_budget(w.world, NULL), MICA_OK);
    assert_true(mica_alive(w.world, mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}))));
    watched_end(&w);
}

static void a_budget_in_all_counts_everything(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_memory_usage before = mica_world_memory(w.world);
    const size_t own = before.total - before.bytes[MICA_MEMORY_SCHEMA];
    const mica_memory_budget budget = {.total = own + 200000};
    assert_int_equal(mica_world_set_budget(w.world, &budget), MICA_OK);
    spawn_until_refused(w.world);
    assert_said("the budget in all has");
    const mica_memory_usage after = mica_world_memory(w.world);
    assert_true(after.total - after.bytes[MICA_MEMORY_SCHEMA] <= budget.total);
    assert_true(after.total - before.total > 100000);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    watched_end(&w);
}

static void a_budget_below_what_is_held_refuses_growth_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entity = mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
    const mica_memory_budget budget = {.total = 1};
    assert_int_equal(mica_world_set_budget(w.world, &budget), MICA_OK);
    for (int32_t i = 0; i < 10; i++) { // what fits goes on
        assert_int_equal(mica_destroy(w.world, entity), MICA_OK);
        entity = mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
        assert_true(mica_alive(w.world, entity));
    }
    assert_int_equal(mica_world_reserve(w.world, 100000), MICA_OUT_OF_MEMORY);
    assert_said("needed for entities");
    assert_int_equal(mica_world_trim(w.world), MICA_OK); // gives back, though it has nowhere to move to
    watched_end(&w);
}

static void budgets_are_part_of_the_definition(void **state) {
    (void)state;
    assert_null(mica_world_create(&(mica_world_def){.budget = {.total = 100}}));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_said("budget in all has 100 bytes");
    assert_null(mica_world_create(&(mica_world_def){.budget = budget_of(MICA_MEMORY_SCHEMA, 100)}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("schema");
    mica_world *world = mica_world_create(&(mica_world_def){.budget = budget_of(MICA_MEMORY_ENTITIES, 1024)});
    assert_int_equal(mica_world_reserve(world, 1000), MICA_OUT_OF_MEMORY);
    assert_said("the budget for entities has 1024 bytes");
    const mica_memory_budget schema = budget_of(MICA_MEMORY_SCHEMA, 1);
    assert_int_equal(mica_world_set_budget(world, &schema), MICA_INVALID);
    assert_int_equal(mica_world_set_budget(NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_world_budget(NULL).total, 0);
    mica_world_destroy(world);
}

// Every budget from none to enough: the same calls either work or leave no trace.
static void no_budget_leaves_anything_half_done(void **state) {
    (void)state;
    bool was_through = false;
    for (size_t extra = 0; !was_through; extra += 331) {
        watched_world w;
        watched_begin(&w);
        const mica_memory_usage before = mica_world_memory(w.world);
        const mica_memory_budget budget = {.total = before.total - before.bytes[MICA_MEMORY_SCHEMA] + extra};
        assert_int_equal(mica_world_set_budget(w.world, &budget), MICA_OK);
        mica_entity entity = mica_spawn(w.world, mica_value_of(Mail, {1}), mica_value_of(RowPosition, {1, 2, 3}));
        const bool has_spawned = mica_alive(w.world, entity);
        assert_int_equal(mica_world_entity_count(w.world), has_spawned);
        const mica_result added = has_spawned ? mica_set(w.world, entity, PoolHealth, {5}) : MICA_OUT_OF_MEMORY;
        assert_true(added == MICA_OK || added == MICA_OUT_OF_MEMORY);
        if (has_spawned) {
            assert_int_equal(mica_has(w.world, entity, PoolHealth), added == MICA_OK);
            assert_int_equal(mica_get(w.world, entity, Mail)->now, 1);
        }
        assert_int_equal(mica_world_set_budget(w.world, NULL), MICA_OK);
        assert_int_equal(mica_world_validate(w.world), MICA_OK);
        was_through = added == MICA_OK;
        watched_end(&w);
    }
}

// Room

// In builds where each change moves chunks, these take further memory.
static void assert_same_unless_moved(uint64_t now, uint64_t before) {
#if defined(MI_MOVE_ALWAYS)
    assert_true(now >= before);
#else
    assert_true(now == before);
#endif
}

static void room_lets_entities_come_without_an_allocation(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_register(w.world, Mail);
    mica_register(w.world, PoolHealth);
    assert_int_equal(mica_world_reserve(w.world, 20000), MICA_OK);
    assert_int_equal(mica_world_make_room(w.world, &(mica_room){.types = {mica_type_of(Mail), mica_type_of(PoolHealth)},
                                                                .count = 20000}),
                     MICA_OK);
    const uint64_t calls = w.allocator.call_count;
    for (int32_t i = 0; i < 20000; i++) {
        assert_true(mica_alive(w.world, mica_spawn(w.world, mica_value_of(Mail, {i}), mica_value_of(PoolHealth, {i}))));
    }
    assert_same_unless_moved(w.allocator.call_count, calls);
    // Clearing the world leaves the room.
    const size_t chunks = mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS];
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    for (int32_t i = 0; i < 20000; i++) {
        assert_true(mica_alive(w.world, mica_spawn(w.world, mica_value_of(Mail, {i}), mica_value_of(PoolHealth, {i}))));
    }
    assert_same_unless_moved(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS], chunks);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    watched_end(&w);
}

static uint32_t kept_rows(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    mi_table *table = mi_store_table_with(&world->store, mi_store_root(&world->store), component);
    return table->room;
}

static void room_in_tables_outlives_trimming_until_it_is_given_up(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_register(w.world, RowPosition);
    mica_room room = {.types = {mica_type_of(RowPosition)}, .count = 10000};
    assert_int_equal(mica_world_make_room(w.world, &room), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_true(kept_rows(w.world, mica_type_of(RowPosition)) >= 10000);
    mica_entity entities[6000];
    for (int32_t i = 0; i < 6000; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
    }
    assert_int_equal(mica_entity_destroy_many(w.world, entities, 6000), MICA_OK);
    assert_true(kept_rows(w.world, mica_type_of(RowPosition)) >= 10000);
    room.count = 5;
    assert_int_equal(mica_world_make_room(w.world, &room), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(kept_rows(w.world, mica_type_of(RowPosition)), 8);
    room.count = 0;
    assert_int_equal(mica_world_make_room(w.world, &room), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_statistics(w.world).table_count, 0);
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS], 0);
    watched_end(&w);
}

static void room_for_slots_outlives_trimming_until_it_is_given_up(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_world_reserve(w.world, 5000), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_ENTITIES] >= 5000 * sizeof(uint64_t));
    mica_create(w.world);
    assert_int_equal(mica_world_reserve(w.world, 0), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_ENTITIES], 2 * sizeof(uint64_t) + mi_slots_pages(2));
    watched_end(&w);
}

static void rooms_that_are_none_are_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_world_make_room(NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_world_make_room(w.world, NULL), MICA_INVALID);
    assert_int_equal(mica_world_make_room(w.world, &(mica_room){.count = 1}), MICA_INVALID);
    assert_said("needs components");
    assert_int_equal(mica_world_make_room(w.world, &(mica_room){.components = {60000}, .count = 1}), MICA_UNKNOWN);
    assert_int_equal(
        mica_world_make_room(w.world, &(mica_room){.types = {mica_type_of(RowPosition)}, .count = UINT32_MAX}),
        MICA_LIMIT);
    mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
    mica_iter it = mica_query_begin(mica_query_of(w.world, mica_read(RowPosition)));
    assert_true(mica_iter_next(&it));
    assert_int_equal(mica_world_make_room(w.world, &(mica_room){.types = {mica_type_of(RowPosition)}, .count = 10}),
                     MICA_LOCKED);
    mica_iter_end(&it);
    assert_null(mica_world_create(&(mica_world_def){.room_count = -1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_world_create(&(mica_world_def){.room_count = 1}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    watched_end(&w);
}

static void a_world_is_made_with_its_rooms(void **state) {
    (void)state;
    const mica_room rooms[] = {{.types = {mica_type_of(RowPosition)}, .count = 3000},
                               {.types = {mica_type_of(RowPosition), mica_type_of(PoolHealth)}, .count = 50}};
    mica_world *world = mica_world_create(&(mica_world_def){.rooms = rooms, .room_count = 2, .entity_capacity = 3050});
    assert_non_null(world);
    assert_true(kept_rows(world, mica_type_of(RowPosition)) >= 3000);
    assert_true(mica_pool_byte_size(world, mica_world_register(world, mica_type_of(PoolHealth))) > 0);
    mica_world_destroy(world);
}

// Blocks

static void kept_blocks_serve_chunks_of_any_table(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_world_keep_chunks(w.world, (size_t)4 << 20), MICA_OK);
    const size_t kept = mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS];
    assert_true(kept >= (size_t)4 << 20);
    for (int32_t i = 0; i < 20000; i++) {
        mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
        mica_spawn(w.world, mica_value_of(RowHealth, {1}));
    }
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS], kept);
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS], kept);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    assert_int_equal(mica_world_keep_chunks(w.world, 0), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_int_equal(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS], 0);
    assert_int_equal(mica_world_keep_chunks(NULL, 0), MICA_INVALID);
    assert_int_equal(mica_world_keep_chunks(w.world, SIZE_MAX), MICA_LIMIT);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_of_a_purpose_refuses_what_goes_beyond),
        cmocka_unit_test(a_budget_in_all_counts_everything),
        cmocka_unit_test(a_budget_below_what_is_held_refuses_growth_alone),
        cmocka_unit_test(budgets_are_part_of_the_definition),
        cmocka_unit_test(no_budget_leaves_anything_half_done),
        cmocka_unit_test(room_lets_entities_come_without_an_allocation),
        cmocka_unit_test(room_in_tables_outlives_trimming_until_it_is_given_up),
        cmocka_unit_test(room_for_slots_outlives_trimming_until_it_is_given_up),
        cmocka_unit_test(rooms_that_are_none_are_refused),
        cmocka_unit_test(a_world_is_made_with_its_rooms),
        cmocka_unit_test(kept_blocks_serve_chunks_of_any_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
