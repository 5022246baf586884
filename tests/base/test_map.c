// Hash maps: found is what was inserted, also where hashes collide; removal leaves no gaps; failures change nothing.
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_heap.h"
#include "support/test_random.h"

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_map map;
} fixture;

static const mica_memory_purpose purpose = MICA_MEMORY_SCHEMA;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.map = {.cells = NULL}};
    test_heap_begin(&f.allocator, &f.heap);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_map_free(&f->map, &f->heap, purpose);
    assert_int_equal(mi_heap_usage(&f->heap).total, 0);
    test_allocator_finish(&f->allocator);
    return 0;
}

// The thing looked up is the value itself.
static bool is_value(const void *context, uint32_t value) {
    return *(const uint32_t *)context == value;
}

static uint32_t find(const fixture *f, uint64_t hash, uint32_t value) {
    return mi_map_find(&f->map, hash, is_value, &value);
}

static void insert(fixture *f, uint64_t hash, uint32_t value) {
    assert_true(mi_map_reserve(&f->map, &f->heap, purpose, 1));
    mi_map_insert(&f->map, hash, value);
}

static void an_empty_map_finds_nothing(void **state) {
    fixture *f = *state;
    assert_int_equal(find(f, 0, 0), MI_MAP_NONE);
    mi_map_remove(&f->map, 0, 0);
    assert_int_equal(f->map.count, 0);
    assert_int_equal(f->allocator.call_count, 0);
}

static void what_is_inserted_is_found_after_growth(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 1000; i++) {
        insert(f, mi_hash_mix(i), i);
    }
    assert_int_equal(f->map.count, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(find(f, mi_hash_mix(i), i), i);
        assert_int_equal(find(f, mi_hash_mix(i), i + 1), MI_MAP_NONE);
    }
    assert_int_equal(find(f, mi_hash_mix(1000), 1000), MI_MAP_NONE);
}

static bool is_never(const void *context, uint32_t value) {
    (void)context;
    (void)value;
    fail_msg("asked about a value of another hash");
    return false;
}

static void equality_is_asked_only_for_equal_hashes(void **state) {
    fixture *f = *state;
    insert(f, 5, 1);
    assert_int_equal(mi_map_find(&f->map, 5 + 16, is_never, NULL), MI_MAP_NONE); // the same home in 16 cells
}

static void equal_hashes_are_told_apart_by_equality(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 50; i++) {
        insert(f, 7, i);
    }
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(find(f, 7, i), i);
    }
    mi_map_remove(&f->map, 7, 20);
    assert_int_equal(find(f, 7, 20), MI_MAP_NONE);
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(find(f, 7, i), i == 20 ? MI_MAP_NONE : i);
    }
}

static void removing_takes_the_exact_pair(void **state) {
    fixture *f = *state;
    insert(f, 1, 10);
    insert(f, 1, 11);
    mi_map_remove(&f->map, 2, 10);
    mi_map_remove(&f->map, 1, 12);
    mi_map_remove(&f->map, 1, MI_MAP_NONE);
    assert_int_equal(f->map.count, 2);
    mi_map_remove(&f->map, 1, 10);
    assert_int_equal(f->map.count, 1);
    assert_int_equal(find(f, 1, 10), MI_MAP_NONE);
    assert_int_equal(find(f, 1, 11), 11);
}

static void reserved_room_takes_that_many_without_allocating(void **state) {
    fixture *f = *state;
    assert_true(mi_map_reserve(&f->map, &f->heap, purpose, 1000));
    const uint32_t capacity = f->map.capacity;
    assert_int_equal(capacity & (capacity - 1), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        mi_map_insert(&f->map, mi_hash_mix(i), i);
    }
    assert_int_equal(f->map.capacity, capacity);
    assert_int_equal(f->allocator.call_count, 1);
    assert_true(mi_map_reserve(&f->map, &f->heap, purpose, 0));
    assert_int_equal(f->allocator.call_count, 1);
}

static void without_memory_a_map_is_as_it_was(void **state) {
    fixture *f = *state;
    test_allocator_fail_from(&f->allocator, 1);
    assert_false(mi_map_reserve(&f->map, &f->heap, purpose, 1));
    assert_int_equal(find(f, 1, 1), MI_MAP_NONE);
    test_allocator_fail_stop(&f->allocator);
    for (uint32_t i = 0; i < 12; i++) {
        insert(f, mi_hash_mix(i), i);
    }
    test_allocator_fail_from(&f->allocator, 1);
    assert_false(mi_map_reserve(&f->map, &f->heap, purpose, 1));
    assert_false(mi_map_reserve(&f->map, &f->heap, purpose, UINT32_MAX)); // more than any capacity
    assert_int_equal(f->map.count, 12);
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(find(f, mi_hash_mix(i), i), i);
    }
}

// Hashes of the model: few homes, some at the end of the cells, so that runs are long and wrap around.
static uint64_t crowded_hash(uint32_t value) {
    static const uint64_t homes[] = {0, 1, 2, 62, 63, UINT32_MAX};
    return homes[value % 6] + (value % 24 < 12 ? 0 : 64);
}

static void random_operations_agree_with_a_model(void **state) {
    fixture *f = *state;
    enum { VALUES = 90 };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        test_random random = {seed};
        bool is_in[VALUES] = {false};
        uint32_t count = 0;
        mi_map_free(&f->map, &f->heap, purpose);
        for (uint32_t step = 0; step < 4000; step++) {
            const uint32_t value = test_random_below(&random, VALUES);
            const uint64_t hash = seed % 2 == 0 ? mi_hash_mix(value) : crowded_hash(value);
            // Phases in which the map fills and empties.
            if (!is_in[value] && test_random_below(&random, 4) < (step / 500 % 2 == 0 ? 3u : 1u)) {
                insert(f, hash, value);
                is_in[value] = true;
                count++;
            } else {
                mi_map_remove(&f->map, hash, value);
                count -= is_in[value];
                is_in[value] = false;
            }
            assert_int_equal(f->map.count, count);
            for (uint32_t i = 0; i < VALUES; i++) {
                const uint32_t found = find(f, seed % 2 == 0 ? mi_hash_mix(i) : crowded_hash(i), i);
                if (found != (is_in[i] ? i : MI_MAP_NONE)) {
                    fail_msg("seed %d, step %u: value %u", (int)seed, step, i);
                }
            }
        }
    }
}

static void hashes_depend_on_every_byte_and_the_size(void **state) {
    (void)state;
    unsigned char bytes[40] = {0};
    for (size_t byte_size = 0; byte_size < sizeof(bytes); byte_size++) {
        const uint64_t hash = mi_hash_bytes(bytes, byte_size);
        assert_true(hash != mi_hash_bytes(bytes, byte_size + 1));
        for (size_t i = 0; i < byte_size; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[i] ^= (unsigned char)(1u << bit);
                assert_true(hash != mi_hash_bytes(bytes, byte_size));
                bytes[i] ^= (unsigned char)(1u << bit);
            }
        }
        bytes[byte_size] = (unsigned char)(byte_size * 37);
    }
}

static void equal_bytes_hash_alike_wherever_they_stand(void **state) {
    (void)state;
    char places[2][32] = {{0}};
    strcpy(places[0], "Transform and more");
    strcpy(places[1] + 3, "Transform and more");
    assert_true(mi_hash_bytes(places[0], 18) == mi_hash_bytes(places[1] + 3, 18));
}

static void hashes_of_small_numbers_spread_over_the_low_bits(void **state) {
    (void)state;
    uint32_t counts[64] = {0};
    for (uint64_t i = 0; i < 64 * 64; i++) {
        counts[mi_hash_mix(i + 1) % 64]++;
        counts[mi_hash_mix(i << 32 | 1) % 64]++;
    }
    for (int i = 0; i < 64; i++) {
        assert_in_range(counts[i], 64, 256); // 128 on average
    }
}

static void shrinking_leaves_what_is_there_in_few_cells(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 1000; i++) {
        insert(f, i * 7, i);
    }
    for (uint32_t i = 20; i < 1000; i++) {
        mi_map_remove(&f->map, i * 7, i);
    }
    test_allocator_fail_at(&f->allocator, 1);
    mi_map_shrink(&f->map, &f->heap, purpose);
    test_allocator_fail_stop(&f->allocator);
    assert_true(f->map.capacity >= 1000); // there was no memory to move to
    mi_map_shrink(&f->map, &f->heap, purpose);
    assert_int_equal(f->map.capacity, 32);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(find(f, i * 7, i), i);
        mi_map_remove(&f->map, i * 7, i);
    }
    mi_map_shrink(&f->map, &f->heap, purpose);
    assert_int_equal(f->allocator.live_bytes, 0);
}

#define MAP_TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        MAP_TEST(an_empty_map_finds_nothing),
        MAP_TEST(what_is_inserted_is_found_after_growth),
        MAP_TEST(equality_is_asked_only_for_equal_hashes),
        MAP_TEST(equal_hashes_are_told_apart_by_equality),
        MAP_TEST(removing_takes_the_exact_pair),
        MAP_TEST(reserved_room_takes_that_many_without_allocating),
        MAP_TEST(without_memory_a_map_is_as_it_was),
        MAP_TEST(random_operations_agree_with_a_model),
        MAP_TEST(shrinking_leaves_what_is_there_in_few_cells),
        cmocka_unit_test(hashes_depend_on_every_byte_and_the_size),
        cmocka_unit_test(equal_bytes_hash_alike_wherever_they_stand),
        cmocka_unit_test(hashes_of_small_numbers_spread_over_the_low_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
