// Worlds of fixed capacity: one allocation at creation and none afterwards, whatever goes on; what finds no place is
// refused and said, and the world is as it was.
#include "busy_world.h"

#include "world/world.h"

#include <stdlib.h>

enum { FIXED_SIZE = 4 << 20 };

static void nothing_is_allocated_after_creation(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&allocator), .fixed_byte_size = FIXED_SIZE});
    assert_non_null(world);
    assert_int_equal(allocator.call_count, 2); // the world's memory and its schema's
    assert_int_equal(allocator.live_bytes, FIXED_SIZE + MICA_FIXED_SCHEMA_BYTES);
    mica_world_destroy(world);
    busy_world busy;
    busy_begin(&busy, &(mica_world_def){.allocator = test_allocator_hooks(&allocator), .fixed_byte_size = FIXED_SIZE});
    for (int32_t i = 0; i < 400; i++) {
        busy_frame(&busy);
        if (i % 100 == 50) {
            assert_int_equal(mica_world_trim(busy.world), MICA_OK);
        }
    }
    assert_int_equal(allocator.call_count, 4);
    assert_true(mica_world_memory(busy.world).total > 0);
    const mica_fragmentation found = mica_world_fragmentation(busy.world);
    assert_in_range(found.fixed.bytes, FIXED_SIZE - 8192, FIXED_SIZE);
    assert_in_range(found.fixed.used_bytes, 100000, FIXED_SIZE);
    assert_true(found.fixed.free_largest <= found.fixed.bytes - found.fixed.used_bytes);
    assert_int_equal(mica_world_validate(busy.world), MICA_OK);
    assert_int_equal(mica_world_clear(busy.world), MICA_OK);
    busy_end(&busy);
    assert_int_equal(allocator.call_count, 4);
    test_allocator_finish(&allocator);
}

static void the_same_goes_on_as_in_an_ordinary_world(void **state) {
    (void)state;
    busy_world fixed;
    busy_world ordinary;
    busy_begin(&fixed, &(mica_world_def){.fixed_byte_size = FIXED_SIZE});
    busy_begin(&ordinary, NULL);
    for (int32_t i = 0; i < 50; i++) {
        busy_frame(&fixed);
        busy_frame(&ordinary);
    }
    assert_memory_equal(mica_resource(fixed.world, Score), mica_resource(ordinary.world, Score), sizeof(Score));
    assert_int_equal(fixed.signal_count, ordinary.signal_count);
    assert_int_equal(mica_world_entity_count(fixed.world), mica_world_entity_count(ordinary.world));
    busy_end(&ordinary);
    busy_end(&fixed);
}

// In less and less memory until not even an empty world fits: each refusal is one for memory, at whatever allocation of
// whatever part it comes, and the world that refused is sound.
static void too_little_memory_is_refused_and_said(void **state) {
    (void)state;
    int32_t refused_count = 0;
    for (size_t byte_size = 900000; byte_size > 1000; byte_size -= byte_size / 7) {
        mica_world *world = mica_world_create(&(mica_world_def){.fixed_byte_size = byte_size});
        if (world == NULL) {
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            continue;
        }
        mica_entity last = MICA_NULL;
        for (int32_t i = 0; i < 100000; i++) {
            const mica_entity entity = mica_spawn(world, mica_value_of(Place, {(float)i, 1}), mica_value_of(Shot, {i}));
            if (mica_entity_is_null(entity)) {
                break;
            }
            last = entity;
        }
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_said("are fixed, of which");
        assert_said("more are needed for");
        assert_int_equal(mica_world_validate(world), MICA_OK);
        const int32_t count = mica_world_entity_count(world);
        if (count > 0) {
            assert_true(mica_get(world, last, Place)->x == (float)(count - 1));
            assert_int_equal(mica_destroy(world, last), MICA_OK); // its place is free again
            assert_true(mica_alive(world, mica_spawn(world, mica_value_of(Place, {0, 1}), mica_value_of(Shot, {0}))));
        }
        refused_count++;
        mica_world_destroy(world);
    }
    assert_true(refused_count > 10);
}

static void the_callers_memory_serves_as_well(void **state) {
    (void)state;
    static unsigned char memory[300000];
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_schema *schema = mica_schema_create(NULL);
    for (int32_t round = 0; round < 2; round++) {
        mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator),
                                                                .schema = schema,
                                                                .fixed_memory = memory + 1 + round * 8,
                                                                .fixed_byte_size = sizeof(memory) - 16});
        assert_non_null(world);
        const mica_entity entity = mica_spawn(world, mica_value_of(Place, {1, 2}));
        const unsigned char *value = (const unsigned char *)mica_get(world, entity, Place);
        assert_true(value > memory && value < memory + sizeof(memory));
        mica_world_destroy(world);
    }
    memset(memory, 0, sizeof(memory));
    assert_int_equal(allocator.call_count, 0);
    mica_schema_release(schema);
    assert_null(mica_world_create(&(mica_world_def){.fixed_memory = memory}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    test_allocator_finish(&allocator);
}

// A schema of fixed size says that it is full, and what it has stays good.
static void a_schema_of_fixed_size_takes_as_many_types_as_fit(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    assert_null(mica_schema_create(&(mica_schema_def){.allocator = hooks, .fixed_byte_size = 500}));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    mica_schema *schema = mica_schema_create(&(mica_schema_def){.allocator = hooks, .fixed_byte_size = 65536});
    assert_non_null(schema);
    const uint64_t calls = allocator.call_count;
    char name[32];
    int32_t count = 0;
    for (;; count++) {
        snprintf(name, sizeof(name), "Kind%d", count);
        if (mica_schema_register(schema, &(mica_type){.name = name, .size = 4, .align = 4}) == 0) {
            break;
        }
    }
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_said("65536 bytes are fixed");
    assert_in_range(count, 10, 1000);
    assert_true(allocator.call_count == calls);
    assert_int_equal(mica_schema_count(schema), count);
    assert_int_equal(mica_schema_find(schema, "Kind0"), 1);
    mica_schema_release(schema);
    test_allocator_finish(&allocator);
}

// What mica_world_fixed_size says is enough to make the world and to fill its rooms, and not much more.
static void a_plan_fits_what_it_was_made_for(void **state) {
    (void)state;
    const mica_room rooms[] = {
        {.types = {mica_type_of(Place), mica_type_of(Speed)}, .count = 5000},
        {.types = {mica_type_of(Place), mica_type_of(Shot), mica_type_of(Burning)}, .count = 700},
        {.types = {mica_type_of(Anchor)}, .count = 300},
    };
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world_def def = {.allocator = test_allocator_hooks(&allocator),
                          .entity_capacity = 6000,
                          .rooms = rooms,
                          .room_count = (int32_t)(sizeof(rooms) / sizeof(rooms[0]))};
    def.fixed_byte_size = mica_world_fixed_size(&def);
    assert_in_range(def.fixed_byte_size, 5000 * 24 + 700 * 40 + 6000 * 8, 1000000);
    assert_int_equal(allocator.live_bytes, 0);
    const uint64_t calls = allocator.call_count;
    mica_world *world = mica_world_create(&def);
    assert_non_null(world);
    for (int32_t i = 0; i < 5000; i++) {
        assert_true(mica_alive(world, mica_spawn(world, mica_value_of(Place, {1, 2}), mica_value_of(Speed, {1, 2}))));
    }
    for (int32_t i = 0; i < 700; i++) {
        assert_true(mica_alive(
            world, mica_spawn(world, mica_value_of(Place, {1, 2}), mica_value_of(Shot, {1}), mica_tag(Burning))));
    }
    for (int32_t i = 0; i < 300; i++) {
        assert_true(mica_alive(world, mica_spawn(world, mica_value_of(Anchor, {1}))));
    }
    assert_int_equal(mica_world_validate(world), MICA_OK);
    assert_int_equal(allocator.call_count, calls + 2);
    mica_world_destroy(world);
    def.fixed_byte_size -= def.fixed_byte_size / 8;
    assert_null(mica_world_create(&def));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    // What cannot be made in any memory has no size.
    const mica_room wrong = {.components = {12345}, .count = 1};
    assert_int_equal(mica_world_fixed_size(&(mica_world_def){.rooms = &wrong, .room_count = 1}), 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_not_equal(mica_world_fixed_size(NULL), 0);
    test_allocator_finish(&allocator);
}

static void blocks_of_chunks_need_not_be_kept_where_all_is_fixed(void **state) {
    (void)state;
    mica_world *world = mica_world_create(&(mica_world_def){.fixed_byte_size = 100000});
    assert_int_equal(mica_world_keep_chunks(world, (size_t)1 << 30), MICA_OK);
    assert_true(mica_world_memory(world).bytes[MICA_MEMORY_CHUNKS] == 0);
    // A budget holds besides.
    const mica_memory_budget budget = {.bytes = {[MICA_MEMORY_CHUNKS] = 2000}};
    assert_int_equal(mica_world_set_budget(world, &budget), MICA_OK);
    while (!mica_entity_is_null(mica_spawn(world, mica_value_of(Place, {1, 2})))) {
    }
    assert_said("the budget for chunks has 2000 bytes");
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_after_creation),
        cmocka_unit_test(the_same_goes_on_as_in_an_ordinary_world),
        cmocka_unit_test(too_little_memory_is_refused_and_said),
        cmocka_unit_test(the_callers_memory_serves_as_well),
        cmocka_unit_test(a_schema_of_fixed_size_takes_as_many_types_as_fit),
        cmocka_unit_test(a_plan_fits_what_it_was_made_for),
        cmocka_unit_test(blocks_of_chunks_need_not_be_kept_where_all_is_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
