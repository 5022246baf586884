// Giving memory back: what a world grew by comes back to the byte, tables that were emptied leave nothing behind, and
// what is there stays as it is.
#include "world_fixture.h"

#include "world/world.h"

#include <stdlib.h>

MICA_NAMED_WITH(RowPosition, Position, (.storage = MICA_TABLE));
MICA_NAMED_WITH(RowOwned, Owned, (.storage = MICA_TABLE));
MICA_NAMED_WITH(PoolHealth, Health, (.storage = MICA_POOL));

enum { BIT_COUNT = 17 };

// How many entities match for whoever asks since a version.
static int32_t count_since(mica_query *query, uint64_t version) {
    int32_t count = 0;
    mica_each_since(query, version, it) {
        count += it.count;
    }
    return count;
}

// Small components by which tables differ.
typedef struct bits_world {
    watched_world w;
    mica_component ids[BIT_COUNT];
} bits_world;

static void bits_begin(bits_world *of) {
    watched_begin(&of->w);
    static char names[BIT_COUNT][16];
    for (int32_t i = 0; i < BIT_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "Bit%d", i);
        of->ids[i] = mica_schema_register(
            mica_world_schema(of->w.world),
            &(mica_type){.name = names[i], .size = 4, .align = 4, .traits = {.storage = MICA_TABLE}});
        assert_int_not_equal(of->ids[i], 0);
    }
}

static mica_entity spawn_subset(const bits_world *of, uint32_t subset) {
    mica_value values[BIT_COUNT];
    int32_t count = 0;
    for (uint32_t i = 0; i < BIT_COUNT; i++) {
        if ((subset >> i & 1u) != 0) {
            values[count++] = (mica_value){.component = of->ids[i]};
        }
    }
    return mica_entity_spawn(of->w.world, values, count);
}

static void growth_comes_back_to_the_byte(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_register(w.world, RowPosition);
    mica_register(w.world, RowOwned);
    mica_create(w.world); // has a slot
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    const mica_memory_usage before = mica_world_memory(w.world);
    mica_entity *entities = calloc(30000, sizeof(*entities));
    for (int32_t i = 0; i < 30000; i++) {
        entities[i] = i % 2 == 0 ? mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}))
                                 : mica_spawn(w.world, mica_value_of(RowPosition, {1, 2, 3}), mica_tag(RowOwned));
    }
    const mica_memory_usage grown = mica_world_memory(w.world);
    assert_true(grown.bytes[MICA_MEMORY_CHUNKS] > 30000 * sizeof(Position));
    assert_int_equal(mica_entity_destroy_many(w.world, entities, 30000), MICA_OK);
    free(entities);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    const mica_memory_usage after = mica_world_memory(w.world);
    for (int32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
        // Slots keep their generations, 8 bytes each, and a byte for each page of them.
        const size_t pages = mi_slots_pages(30002) - mi_slots_pages(2);
        const size_t slots = i == MICA_MEMORY_ENTITIES ? 30000 * sizeof(uint64_t) + pages : 0;
        assert_int_equal(after.bytes[i], before.bytes[i] + slots);
    }
    assert_true(after.peak >= grown.total);
    watched_end(&w);
}

// Values stay in their rows, at new addresses, with their stamps.
static void a_table_of_few_rows_gives_its_large_chunk_back(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[3000];
    for (int32_t i = 0; i < 3000; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(RowPosition, {(float)i, 0, 0}), mica_tag(RowOwned));
    }
    const size_t grown = mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS];
    assert_int_equal(mica_entity_destroy_many(w.world, entities + 5, 2995), MICA_OK);
    mica_set(w.world, entities[4], RowPosition, {77, 0, 0});
    mica_world_advance_version(w.world);
    const uint64_t now = mica_world_version(w.world);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_CHUNKS] <= grown / 2);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    for (int32_t i = 0; i < 5; i++) {
        assert_true(mica_get(w.world, entities[i], RowPosition)->x == (i == 4 ? 77.0f : (float)i));
    }
    mica_query *changed = mica_query_create(w.world, (const mica_term[]){mica_changed(RowPosition)}, 1);
    assert_int_equal(count_since(changed, now - 2), 5);
    assert_int_equal(count_since(changed, now), 0);
    mica_query_release(changed);
    for (int32_t i = 0; i < 3000; i++) { // and it grows again
        mica_spawn(w.world, mica_value_of(RowPosition, {(float)i, 0, 0}), mica_tag(RowOwned));
    }
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    watched_end(&w);
}

// What the world holds. Where every change moves all chunks, the one that stays may lie in any block by now.
static size_t held_bytes(const watched_world *w) {
#if defined(MI_MOVE_ALWAYS)
    return w->allocator.live_bytes - mica_world_memory(w->world).bytes[MICA_MEMORY_CHUNKS];
#else
    return w->allocator.live_bytes;
#endif
}

// A hundred thousand tables, a thousand at a time, seen by queries that are kept: nothing is left of them.
static void tables_created_and_emptied_leave_no_growth(void **state) {
    (void)state;
    bits_world of;
    bits_begin(&of);
    mica_world *world = of.w.world;
    mica_query *first = mica_query_create(world, &(mica_term){.component = of.ids[0], .use = MICA_USE_READ}, 1);
    mica_query *added = mica_query_create(world, &(mica_term){.component = of.ids[1], .use = MICA_USE_ADDED}, 1);
    const mica_entity keeper = spawn_subset(&of, 1); // has edges to tables that go
    size_t settled = 0;
    uint32_t subset = 0;
    for (int32_t round = 0; round < 100; round++) {
        mica_entity entities[1000];
        for (int32_t i = 0; i < 1000; i++) {
            entities[i] = spawn_subset(&of, ++subset);
        }
        for (int32_t i = 1; i < BIT_COUNT; i++) {
            assert_int_equal(mica_entity_add(world, keeper, of.ids[i], NULL), MICA_OK);
            assert_int_equal(mica_entity_remove(world, keeper, of.ids[i]), MICA_OK);
        }
        assert_true(mica_query_count(first) >= 500);
        assert_true(count_since(added, 0) >= 500);
        assert_int_equal(mica_entity_destroy_many(world, entities, 1000), MICA_OK);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_int_equal(mica_world_statistics(world).table_count, 1);
        assert_int_equal(mica_query_count(first), 1);
        if (round == 1) {
            settled = held_bytes(&of.w);
        }
    }
    assert_int_equal(held_bytes(&of.w), settled);
    assert_true(world->store.tables.count <= 2 && world->store.chunk_count <= 2);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_query_release(first);
    mica_query_release(added);
    watched_end(&of.w);
}

// The same all at once: lists, maps and blocks come back to the size that they had before.
static void many_tables_at_once_come_back(void **state) {
    (void)state;
    bits_world of;
    bits_begin(&of);
    mica_world *world = of.w.world;
    mica_query *query = mica_query_create(world, &(mica_term){.component = of.ids[0], .use = MICA_USE_READ}, 1);
    enum { COUNT = 20000 };
    mica_entity *entities = calloc(COUNT, sizeof(*entities));
    size_t before = 0;
    for (int32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            entities[i] = spawn_subset(&of, i + 1);
        }
        assert_int_equal(mica_query_count(query), COUNT / 2);
        assert_int_equal(mica_world_statistics(world).table_count, COUNT);
        // One in the middle stays, with an id far behind.
        assert_int_equal(mica_entity_destroy_many(world, entities, COUNT / 2), MICA_OK);
        assert_int_equal(mica_entity_destroy_many(world, entities + COUNT / 2 + 1, COUNT / 2 - 1), MICA_OK);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_int_equal(mica_world_statistics(world).table_count, 1);
        assert_int_equal(mica_world_validate(world), MICA_OK);
        assert_int_equal(mica_destroy(world, entities[COUNT / 2]), MICA_OK);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_int_equal(mica_query_count(query), 0);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_true(round == 0 || of.w.allocator.live_bytes == before);
        before = of.w.allocator.live_bytes;
        assert_int_equal(mica_world_memory(world).bytes[MICA_MEMORY_CHUNKS], 0);
        assert_true(mica_world_memory(world).bytes[MICA_MEMORY_TABLES] < 1024);
    }
    free(entities);
    mica_query_release(query);
    watched_end(&of.w);
}

// Whatever allocation of a trim fails, the world is sound, and the next one gives back what this one could not.
static void trimming_without_memory_leaves_a_sound_world(void **state) {
    (void)state;
    bits_world of;
    bits_begin(&of);
    mica_world *world = of.w.world;
    size_t expected = 0;
    bool failed = true;
    for (uint64_t n = 0; failed; n++) {
        mica_entity entities[200];
        for (uint32_t i = 0; i < 200; i++) {
            entities[i] = spawn_subset(&of, i + 1);
        }
        for (int32_t i = 0; i < 100; i++) {
            mica_destroy(world,
                         mica_spawn(world, mica_value_of(PoolHealth, {1}), mica_value_of(RowPosition, {1, 2, 3})));
        }
        assert_int_equal(mica_entity_destroy_many(world, entities, 150), MICA_OK);
        if (n > 0) {
            test_allocator_fail_from(&of.w.allocator, n);
        }
        assert_int_equal(mica_world_trim(world), MICA_OK);
        failed = n == 0 || test_allocator_fail_stop(&of.w.allocator);
        assert_int_equal(mica_world_validate(world), MICA_OK);
        assert_int_equal(mica_world_statistics(world).table_count, 50);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_int_equal(mica_entity_destroy_many(world, entities + 150, 50), MICA_OK);
        assert_int_equal(mica_world_trim(world), MICA_OK);
        assert_true(n == 0 || of.w.allocator.live_bytes == expected);
        expected = of.w.allocator.live_bytes;
    }
    watched_end(&of.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_comes_back_to_the_byte),
        cmocka_unit_test(a_table_of_few_rows_gives_its_large_chunk_back),
        cmocka_unit_test(tables_created_and_emptied_leave_no_growth),
        cmocka_unit_test(many_tables_at_once_come_back),
        cmocka_unit_test(trimming_without_memory_leaves_a_sound_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
