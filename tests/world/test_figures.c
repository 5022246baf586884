// Figures of memory: they add up to what the allocator gave, and say what is used of it.
#include "world_fixture.h"

#include "world/world.h"

MICA_NAMED_WITH(RowPosition, Position, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowHealth, Health, (.storage = MICA_TABLE));
MICA_TAG_WITH(RowTag, (.storage = MICA_TABLE));
MICA_NAMED_WITH(PoolHealth, Health, (.storage = MICA_POOL));
MICA_TAG_WITH(PoolTag, (.storage = MICA_POOL));

static void an_entity_takes_what_its_storages_take(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const size_t handle = sizeof(mica_entity);
    const mica_entity bare = mica_create(w.world);
    assert_int_equal(mica_entity_byte_size(w.world, bare), 8);
    const mica_entity row = mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}), mica_tag(RowTag));
    assert_int_equal(mica_entity_byte_size(w.world, row), 8 + handle + sizeof(Position));
    // An element has a handle, a value, a place in the lookup, and a bit in the mask of the entity.
    const mica_entity element = mica_spawn(w.world, mica_value_of(PoolHealth, {1}), mica_tag(PoolTag));
    assert_int_equal(mica_entity_byte_size(w.world, element), 8 + 8 + (handle + 4 + 8) + (handle + 8));
    assert_int_equal(mica_destroy(w.world, row), MICA_OK);
    assert_int_equal(mica_entity_byte_size(w.world, row), 0);
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_int_equal(mica_entity_byte_size(NULL, row), 0);
    watched_end(&w);
}

enum { TABLE_MAX = 8 };

typedef struct seen_tables {
    mica_table_stats tables[TABLE_MAX];
    mica_component first[TABLE_MAX];
    int32_t count;
} seen_tables;

static void see_table(const mica_table_stats *table, void *user) {
    seen_tables *seen = user;
    assert_in_range(seen->count, 0, TABLE_MAX - 1);
    assert_in_range(table->component_count, 1, 4);
    seen->first[seen->count] = table->components[0];
    seen->tables[seen->count++] = *table;
}

static void tables_are_told_in_order_of_visit_with_what_they_take(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}), mica_tag(RowTag), mica_value_of(RowHealth, {1}));
    assert_int_equal(mica_world_trim(w.world), MICA_OK); // drops tables that were passed on the way
    for (int32_t i = 0; i < 5000; i++) {
        mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}));
    }
    const mica_entity gone = mica_spawn(w.world, mica_value_of(RowHealth, {1}));
    assert_int_equal(mica_destroy(w.world, gone), MICA_OK);
    seen_tables seen = {.count = 0};
    assert_int_equal(mica_world_visit_tables(w.world, see_table, &seen), 3);
    assert_int_equal(seen.count, 3);
    // RowHealth; RowHealth, RowPosition, RowTag; RowPosition.
    const mica_component health = mica_world_register(w.world, mica_type_of(RowHealth));
    const mica_component position = mica_world_register(w.world, mica_type_of(RowPosition));
    assert_int_equal(seen.first[0], health);
    assert_int_equal(seen.first[1], health);
    assert_int_equal(seen.first[2], position);
    assert_int_equal(seen.tables[1].component_count, 3);
    assert_int_equal(seen.tables[0].row_count, 0);
    assert_int_equal(seen.tables[0].row_capacity, 8);
    assert_int_equal(seen.tables[1].row_byte_size, sizeof(mica_entity) + sizeof(Position) + sizeof(Health));
    assert_int_equal(seen.tables[2].row_count, 5000);
    assert_int_equal(seen.tables[2].chunk_count * seen.tables[2].chunk_capacity, seen.tables[2].row_capacity);
    assert_int_equal(seen.tables[2].chunk_count, 2);
    assert_true(seen.tables[2].chunk_bytes >= (size_t)seen.tables[2].row_capacity * seen.tables[2].row_byte_size);
    // All tables together with the root, their lists and their map are what is counted for tables.
    size_t table_bytes = mi_table_byte_size(mi_store_root(&w.world->store));
    size_t chunk_bytes = 0;
    for (int32_t i = 0; i < seen.count; i++) {
        table_bytes += seen.tables[i].table_bytes;
        chunk_bytes += seen.tables[i].chunk_bytes;
    }
    const mi_store *store = &w.world->store;
    table_bytes += store->tables.capacity * sizeof(mi_table *) + store->ordered.capacity * sizeof(mi_table *) +
                   store->ordered_words.capacity * sizeof(*store->ordered_words.data) +
                   store->scratch.capacity * sizeof(mica_component) +
                   store->table_ids_free.capacity * sizeof(uint32_t) + store->chunk_capacity * sizeof(mi_chunk) +
                   store->table_map.capacity * sizeof(mi_map_cell);
    assert_int_equal(table_bytes, mica_world_memory(w.world).bytes[MICA_MEMORY_TABLES]);
    // The region has the chunks, and what the first chunk of positions left behind when it grew.
    assert_in_range(mica_world_fragmentation(w.world).chunks.used_bytes, chunk_bytes, chunk_bytes + 128 * 1024);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    seen = (seen_tables){.count = 0};
    assert_int_equal(mica_world_visit_tables(w.world, see_table, &seen), 2);
    assert_int_equal(mica_world_fragmentation(w.world).chunks.used_bytes,
                     seen.tables[0].chunk_bytes + seen.tables[1].chunk_bytes);
    assert_int_equal(mica_world_visit_tables(w.world, NULL, NULL), -1);
    assert_int_equal(mica_world_visit_tables(NULL, see_table, &seen), -1);
    watched_end(&w);
}

static void fragmentation_says_how_much_of_what_is_held_is_used(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_fragmentation empty = mica_world_fragmentation(w.world);
    assert_int_equal(empty.chunks.bytes, 0);
    assert_int_equal(empty.row_capacity, 0);
    mica_entity entities[10000];
    for (int32_t i = 0; i < 10000; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}), mica_value_of(PoolHealth, {1}));
    }
    mica_fragmentation found = mica_world_fragmentation(w.world);
    assert_int_equal(found.row_count, 10000);
    assert_int_equal(found.row_capacity, 12288);
    assert_int_equal(found.row_bytes, 10000 * (sizeof(mica_entity) + sizeof(Position)));
    assert_int_equal(found.element_count, 10000);
    assert_in_range(found.element_capacity, 10000, 20000);
    assert_int_equal(found.slot_count, 10000);
    assert_in_range(found.slot_capacity, 10000, 20000);
    assert_true(found.chunks.used_bytes <= found.chunks.bytes && found.chunks.used_bytes >= found.chunk_bytes);
    assert_true(found.chunks.free_largest <= found.chunks.bytes - found.chunks.used_bytes);
    assert_int_equal(found.pages.used_bytes / 32768, 3 + 3); // slots and masks for three times 4,096 indices
    assert_int_equal(found.fixed.bytes, 0);
    const size_t region_bytes = mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS] - found.chunks.bytes;
    assert_in_range(region_bytes, 1, 4096); // the region itself
    // Holes close, so rows that go leave spare room at the end alone.
    assert_int_equal(mica_entity_destroy_many(w.world, entities, 9000), MICA_OK);
    found = mica_world_fragmentation(w.world);
    assert_int_equal(found.row_count, 1000);
    assert_int_equal(found.row_capacity, 8192);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    found = mica_world_fragmentation(w.world);
    assert_int_equal(found.row_capacity, 1024);
    assert_int_equal(found.element_capacity, 1000);
    assert_int_equal(mica_world_fragmentation(NULL).row_count, 0);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entity_takes_what_its_storages_take),
        cmocka_unit_test(tables_are_told_in_order_of_visit_with_what_they_take),
        cmocka_unit_test(fragmentation_says_how_much_of_what_is_held_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
