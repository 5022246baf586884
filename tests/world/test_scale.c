// Worlds as large as they get: tens of thousands of tables, ten million entities, and limits that are said.
#include "world_fixture.h"

#include "world/world.h"

#include <stdlib.h>

MICA_STRUCT_WITH(Number, (.storage = MICA_TABLE), { uint32_t value; });
MICA_STRUCT_WITH(Even, (.storage = MICA_TABLE), { uint32_t value; });

enum { BIT_COUNT = 16, TABLE_COUNT = (1 << BIT_COUNT) - 1 };

// One entity in each table that sixteen components make, seen by a query of one of them, and all of it given back.
static void sixty_five_thousand_tables_work(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_component ids[BIT_COUNT];
    char name[16];
    for (int32_t i = 0; i < BIT_COUNT; i++) {
        snprintf(name, sizeof(name), "Bit%d", i);
        ids[i] =
            mica_schema_register(mica_world_schema(world),
                                 &(mica_type){.name = name, .size = 4, .align = 4, .traits = {.storage = MICA_TABLE}});
    }
    assert_int_equal(mica_world_trim(world), MICA_OK);
    const mica_memory_usage before = mica_world_memory(world);
    mica_query *query = mica_query_create(world, &(mica_term){.component = ids[3], .use = MICA_USE_WRITE}, 1);
    mica_entity *entities = calloc(TABLE_COUNT, sizeof(*entities));
    for (uint32_t subset = 1; subset <= TABLE_COUNT; subset++) {
        mica_value values[BIT_COUNT];
        int32_t count = 0;
        for (uint32_t i = 0; i < BIT_COUNT; i++) {
            if ((subset >> i & 1u) != 0) {
                values[count++] = (mica_value){.component = ids[i], .value = &subset};
            }
        }
        entities[subset - 1] = mica_entity_spawn(world, values, count);
    }
    assert_int_equal(mica_world_statistics(world).table_count, TABLE_COUNT);
    int32_t seen = 0;
    mica_each (query, it) {
        const uint32_t *values = mica_iter_write_id(&it, ids[3]);
        for (int32_t i = 0; i < it.count; i++, seen++) {
            assert_true((values[i] >> 3 & 1u) != 0 && mica_alive(world, it.entities[i]));
        }
    }
    assert_int_equal(seen, (TABLE_COUNT + 1) / 2);
    for (uint32_t subset = 1; subset <= TABLE_COUNT; subset++) {
        const bool has = (subset >> 5 & 1u) != 0;
        assert_int_equal(mica_entity_has(world, entities[subset - 1], ids[5]), has);
    }
    // What the table itself takes, its chunk of a few rows left out.
    const size_t table_bytes = mica_world_memory(world).bytes[MICA_MEMORY_TABLES] / TABLE_COUNT;
    assert_in_range(table_bytes, 100, 900);
    assert_int_equal(mica_entity_destroy_many(world, entities, TABLE_COUNT), MICA_OK);
    mica_query_release(query);
    assert_int_equal(mica_world_trim(world), MICA_OK);
    const mica_memory_usage after = mica_world_memory(world);
    assert_int_equal(after.bytes[MICA_MEMORY_TABLES], before.bytes[MICA_MEMORY_TABLES]);
    assert_int_equal(after.bytes[MICA_MEMORY_CHUNKS], before.bytes[MICA_MEMORY_CHUNKS]);
    assert_int_equal(after.bytes[MICA_MEMORY_QUERIES], before.bytes[MICA_MEMORY_QUERIES]);
    free(entities);
    mica_world_destroy(world);
}

static void number_them(void *user, const mica_spawn_span *span) {
    uint32_t *values = span->columns[0];
    (void)user;
    for (int32_t i = 0; i < span->count; i++) {
        values[i] = (uint32_t)(span->first + i);
    }
}

// Ten million entities: all are found and walked, every second one goes, a million move to another table, and the
// memory that they had comes back.
static void ten_million_entities_work(void **state) {
    (void)state;
    enum { COUNT = 10000000, MOVED = 1000000 };
    mica_world *world = mica_world_create(NULL);
    const mica_component number = mica_register(world, Number);
    if (MICA_INDEX_MAX < COUNT) {
        mica_world_destroy(world);
        skip();
    }
    assert_int_equal(mica_entity_spawn_fill(world, &number, 1, COUNT, number_them, NULL), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), COUNT);
    const mica_fragmentation full = mica_world_fragmentation(world);
    assert_int_equal(full.row_count, COUNT);
    assert_true(full.row_capacity - full.row_count <= MI_ROW_MAX);
    assert_true(full.chunk_bytes - full.row_bytes < full.row_bytes / 50);
    mica_entity *every_second = calloc(COUNT / 2, sizeof(mica_entity));
    uint64_t sum = 0;
    uint32_t listed = 0;
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Number)}, 1);
    mica_each (query, it) {
        const Number *numbers = mica_read_of(it, Number);
        for (int32_t i = 0; i < it.count; i++) {
            sum += numbers[i].value;
            if (numbers[i].value % 2 == 1) {
                every_second[listed++] = it.entities[i];
            }
        }
    }
    assert_true(sum == (uint64_t)COUNT * (COUNT - 1) / 2);
    assert_int_equal(listed, COUNT / 2);
    assert_int_equal(mica_get(world, every_second[listed - 1], Number)->value, COUNT - 1);
    assert_int_equal(mica_entity_destroy_many(world, every_second, COUNT / 2), MICA_OK);
    free(every_second);
    mica_entity *moved = calloc(MOVED, sizeof(mica_entity));
    listed = 0;
    sum = 0;
    mica_each (query, it) {
        const Number *numbers = mica_read_of(it, Number);
        for (int32_t i = 0; i < it.count; i++) {
            sum += numbers[i].value;
            if (listed < MOVED) {
                moved[listed++] = it.entities[i];
            }
        }
    }
    assert_true(sum == (uint64_t)(COUNT / 2) * (COUNT / 2 - 1));
    for (uint32_t i = 0; i < MOVED; i++) {
        if (mica_set(world, moved[i], Even, {i}) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
    }
    for (uint32_t i = 0; i < MOVED; i += 1000) {
        assert_int_equal(mica_get(world, moved[i], Even)->value, i);
        assert_int_equal(mica_get(world, moved[i], Number)->value % 2, 0);
    }
    free(moved);
    assert_int_equal(mica_query_count(query), COUNT / 2);
    mica_query_release(query);
    assert_int_equal(mica_world_clear(world), MICA_OK);
    assert_int_equal(mica_world_trim(world), MICA_OK);
    assert_int_equal(mica_world_memory(world).bytes[MICA_MEMORY_CHUNKS], 0);
    assert_int_equal(mica_world_memory(world).bytes[MICA_MEMORY_ENTITIES],
                     ((size_t)COUNT + 1) * sizeof(uint64_t) + mi_slots_pages(COUNT + 1));
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_five_thousand_tables_work),
        cmocka_unit_test(ten_million_entities_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
