// Slot maps: keys name one value ever, values stay packed, failures change nothing.
#include "base/slot_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_random.h"

typedef struct fixture {
    test_allocator allocator;
    mica_slot_map *map; // of uint64_t
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    const mica_allocator hooks = test_allocator_hooks(&f.allocator);
    f.map = mica_slot_map_create(sizeof(uint64_t), _Alignof(uint64_t), &hooks);
    assert_non_null(f.map);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_slot_map_destroy(f->map);
    test_allocator_finish(&f->allocator);
    return 0;
}

static bool is_null(mica_key key) {
    return key.index == 0 && key.generation == 0;
}

static bool is_same(mica_key a, mica_key b) {
    return a.index == b.index && a.generation == b.generation;
}

static mica_key insert(fixture *f, uint64_t value) {
    const mica_key key = mica_slot_map_insert(f->map, &value);
    assert_false(is_null(key));
    return key;
}

static void an_empty_map_has_no_values(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_slot_map_count(f->map), 0);
    assert_null(mica_slot_map_values(f->map));
    assert_null(mica_slot_map_find(f->map, (mica_key){0}));
    assert_true(is_null(mica_slot_map_key_at(f->map, 0)));
    mica_slot_map_clear(f->map);
    assert_int_equal(mica_slot_map_count(f->map), 0);
}

static void a_key_finds_its_value(void **state) {
    fixture *f = *state;
    const mica_key one = insert(f, 1);
    const mica_key two = insert(f, 2);
    assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, one), 1);
    assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, two), 2);
    assert_false(is_same(one, two));
    *(uint64_t *)mica_slot_map_find(f->map, one) = 7;
    assert_int_equal(((uint64_t *)mica_slot_map_values(f->map))[0], 7);
}

static void no_value_given_means_zeros(void **state) {
    fixture *f = *state;
    const mica_key key = mica_slot_map_insert(f->map, NULL);
    assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, key), 0);
}

static void a_value_of_the_map_can_be_inserted_again(void **state) {
    fixture *f = *state;
    const mica_key first = insert(f, 42);
    for (uint32_t i = 1; i < 100; i++) {
        const mica_key key = mica_slot_map_insert(f->map, mica_slot_map_find(f->map, first));
        assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, key), 42);
    }
}

static void removing_moves_the_last_value_into_the_hole(void **state) {
    fixture *f = *state;
    const mica_key one = insert(f, 1), two = insert(f, 2), three = insert(f, 3);
    assert_int_equal(mica_slot_map_remove(f->map, one), MICA_OK);
    const uint64_t expected[] = {3, 2};
    assert_memory_equal(mica_slot_map_values(f->map), expected, sizeof(expected));
    assert_true(is_same(mica_slot_map_key_at(f->map, 0), three));
    assert_true(is_same(mica_slot_map_key_at(f->map, 1), two));
    assert_true(is_null(mica_slot_map_key_at(f->map, 2)));
    assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, three), 3);
}

static void a_removed_key_is_stale_and_says_so(void **state) {
    fixture *f = *state;
    insert(f, 1);
    const mica_key key = insert(f, 2);
    assert_int_equal(mica_slot_map_remove(f->map, key), MICA_OK);
    assert_null(mica_slot_map_find(f->map, key));
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_int_equal(mica_slot_map_remove(f->map, key), MICA_STALE);
    assert_string_equal(mica_last_error(), "mica_slot_map_remove: key 1:1 is stale");
    assert_int_equal(mica_slot_map_count(f->map), 1);
}

static void keys_never_issued_are_stale(void **state) {
    fixture *f = *state;
    const mica_key key = insert(f, 1);
    const mica_key forged[] = {
        {0}, {key.index, key.generation + 1}, {key.index, 0}, {key.index + 1, 1}, {UINT32_MAX, 1}};
    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        assert_null(mica_slot_map_find(f->map, forged[i]));
        assert_int_equal(mica_slot_map_remove(f->map, forged[i]), MICA_STALE);
    }
    // The generation that a free slot will issue next is no key yet.
    assert_int_equal(mica_slot_map_remove(f->map, key), MICA_OK);
    assert_null(mica_slot_map_find(f->map, (mica_key){key.index, key.generation + 1}));
}

static void the_slot_freed_last_is_used_first(void **state) {
    fixture *f = *state;
    const mica_key one = insert(f, 1), two = insert(f, 2);
    insert(f, 3);
    assert_int_equal(mica_slot_map_remove(f->map, two), MICA_OK);
    assert_int_equal(mica_slot_map_remove(f->map, one), MICA_OK);
    const mica_key again = insert(f, 4);
    assert_int_equal(again.index, one.index);
    assert_int_equal(again.generation, one.generation + 1);
    assert_int_equal(insert(f, 5).index, two.index);
    assert_int_equal(insert(f, 6).index, 3);
}

static void clear_makes_all_keys_stale_and_issues_none_again(void **state) {
    fixture *f = *state;
    mica_key keys[20];
    for (uint32_t i = 0; i < 20; i++) {
        keys[i] = insert(f, i);
    }
    mica_slot_map_clear(f->map);
    assert_int_equal(mica_slot_map_count(f->map), 0);
    for (uint32_t i = 0; i < 20; i++) {
        assert_null(mica_slot_map_find(f->map, keys[i]));
    }
    for (uint32_t i = 0; i < 20; i++) {
        const mica_key key = insert(f, 100 + i);
        assert_int_equal(key.index, keys[i].index);
        assert_int_equal(key.generation, keys[i].generation + 1);
        assert_null(mica_slot_map_find(f->map, keys[i]));
    }
}

static void a_slot_without_generations_left_is_retired(void **state) {
    fixture *f = *state;
    f->map->generation_limit = 3;
    mica_key keys[3];
    for (uint32_t i = 0; i < 3; i++) {
        keys[i] = insert(f, i);
        assert_int_equal(keys[i].index, 0);
        assert_int_equal(keys[i].generation, i + 1);
        assert_int_equal(mica_slot_map_remove(f->map, keys[i]), MICA_OK);
    }
    const mica_key next = insert(f, 3);
    assert_int_equal(next.index, 1);
    assert_int_equal(next.generation, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_null(mica_slot_map_find(f->map, keys[i]));
        assert_int_equal(mica_slot_map_remove(f->map, keys[i]), MICA_STALE);
    }
}

static void the_last_generation_of_all_is_issued_and_then_the_slot_is_retired(void **state) {
    fixture *f = *state;
    const mica_key key = insert(f, 1);
    f->map->slots.data[key.index].generation = UINT32_MAX - 1; // as after 2^32 - 3 removals
    assert_int_equal(mica_slot_map_remove(f->map, mica_slot_map_key_at(f->map, 0)), MICA_OK);
    const mica_key last = insert(f, 2);
    assert_int_equal(last.index, key.index);
    assert_int_equal(last.generation, UINT32_MAX);
    mica_slot_map_clear(f->map);
    assert_null(mica_slot_map_find(f->map, last));
    assert_int_equal(insert(f, 3).index, key.index + 1);
}

static void large_alignments_are_kept(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_allocator hooks = test_allocator_hooks(&allocator);
    mica_slot_map *map = mica_slot_map_create(4096, 4096, &hooks);
    assert_non_null(map);
    for (uint32_t i = 0; i < 20; i++) {
        const mica_key key = mica_slot_map_insert(map, NULL);
        assert_int_equal((uintptr_t)mica_slot_map_find(map, key) % 4096, 0);
    }
    mica_slot_map_destroy(map);
    test_allocator_finish(&allocator);
}

static void reserved_room_is_used_without_allocating(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(mica_slot_map_remove(f->map, insert(f, i)), MICA_OK);
    }
    insert(f, 0);
    assert_int_equal(mica_slot_map_remove(f->map, insert(f, 0)), MICA_OK); // one slot in use and one free
    assert_int_equal(mica_slot_map_reserve(f->map, 1000), MICA_OK);
    const uint64_t call_count = f->allocator.call_count;
    for (uint32_t i = 1; i < 1000; i++) {
        insert(f, i);
    }
    assert_int_equal(f->allocator.call_count, call_count);
    assert_int_equal(mica_slot_map_reserve(f->map, 10), MICA_OK);
    assert_int_equal(f->allocator.call_count, call_count);
}

static void more_values_than_slots_are_refused(void **state) {
    fixture *f = *state;
    insert(f, 1);
    assert_int_equal(mica_slot_map_reserve(f->map, UINT32_MAX), MICA_LIMIT);
    assert_string_equal(mica_last_error(),
                        "mica_slot_map_reserve: 4294967295 values need more than the 2147483647 slots of a slot map");
    assert_int_equal(mica_slot_map_count(f->map), 1);
}

static void bad_definitions_are_refused(void **state) {
    (void)state;
    static const uint32_t sizes_and_alignments[][2] = {{0, 1}, {8, 0}, {8, 3}, {8192, 8192}, {12, 8}};
    for (size_t i = 0; i < sizeof(sizes_and_alignments) / sizeof(sizes_and_alignments[0]); i++) {
        mica_error_clear();
        assert_null(mica_slot_map_create(sizes_and_alignments[i][0], sizes_and_alignments[i][1], NULL));
        assert_int_equal(mica_last_result(), MICA_INVALID);
    }
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_allocator half = test_allocator_hooks(&allocator);
    half.release = NULL;
    mica_error_clear();
    assert_null(mica_slot_map_create(8, 8, &half));
    assert_string_equal(mica_last_error(), "mica_slot_map_create: the allocator lacks one of its functions");
    assert_int_equal(allocator.call_count, 0);
}

static void no_map_is_no_crash(void **state) {
    (void)state;
    assert_true(is_null(mica_slot_map_insert(NULL, NULL)));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_slot_map_remove(NULL, (mica_key){0, 1}), MICA_INVALID);
    assert_int_equal(mica_slot_map_reserve(NULL, 1), MICA_INVALID);
    assert_null(mica_slot_map_find(NULL, (mica_key){0, 1}));
    assert_null(mica_slot_map_values(NULL));
    assert_int_equal(mica_slot_map_count(NULL), 0);
    assert_true(is_null(mica_slot_map_key_at(NULL, 0)));
    mica_slot_map_clear(NULL);
    mica_slot_map_destroy(NULL);
}

static void every_failed_allocation_leaves_the_map_as_it_was(void **state) {
    fixture *f = *state;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_allocator hooks = test_allocator_hooks(&f->allocator);
        mica_slot_map *map = mica_slot_map_create(8, 8, &hooks);
        if (!test_allocator_fail_stop(&f->allocator)) {
            mica_slot_map_destroy(map);
            assert_int_equal(n, 2);
            break;
        }
        assert_null(map);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
    uint32_t failure_count = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        // Room made before a failure is kept, so each further try gets one allocation further.
        for (uint64_t n = 1;; n = 2) {
            test_allocator_fail_at(&f->allocator, n);
            const mica_key key = mica_slot_map_insert(f->map, &i);
            if (!test_allocator_fail_stop(&f->allocator)) {
                assert_int_equal(key.index, i);
                break;
            }
            failure_count++;
            assert_true(is_null(key));
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_slot_map_count(f->map), i);
            for (uint32_t k = 0; k < i; k++) {
                assert_int_equal(*(uint64_t *)mica_slot_map_find(f->map, (mica_key){k, 1}), k);
            }
        }
    }
    assert_int_equal(failure_count, 13 * 3); // 13 times three arrays grow
    test_allocator_fail_from(&f->allocator, 1);
    assert_int_equal(mica_slot_map_reserve(f->map, 100000), MICA_OUT_OF_MEMORY);
    assert_string_equal(mica_last_error(), "mica_slot_map_reserve: out of memory for 100000 values of 8 bytes");
    assert_true(test_allocator_fail_stop(&f->allocator));
}

// The model: every key ever issued, with its value while it lives.
enum { MODEL_STEPS = 6000 };

typedef struct issued_key {
    mica_key key;
    uint64_t value;
    bool is_alive;
} issued_key;

static void compare_with_model(const fixture *f, const issued_key *issued, uint32_t issued_count, uint64_t seed) {
    uint32_t alive_count = 0;
    for (uint32_t i = 0; i < issued_count; i++) {
        const uint64_t *value = mica_slot_map_find(f->map, issued[i].key);
        if ((value != NULL) != issued[i].is_alive || (value != NULL && *value != issued[i].value)) {
            fail_msg("seed %d: key %u:%u after %u keys", (int)seed, issued[i].key.index, issued[i].key.generation,
                     issued_count);
        }
        alive_count += issued[i].is_alive;
    }
    assert_int_equal(mica_slot_map_count(f->map), alive_count);
    const uint64_t *values = mica_slot_map_values(f->map);
    for (uint32_t i = 0; i < alive_count; i++) {
        assert_ptr_equal(mica_slot_map_find(f->map, mica_slot_map_key_at(f->map, i)), &values[i]);
    }
}

static void run_model(fixture *f, issued_key *issued, uint64_t seed) {
    test_random random = {seed};
    uint32_t issued_count = 0;
    for (uint32_t step = 0; step < MODEL_STEPS; step++) {
        const uint32_t action = test_random_below(&random, 100);
        issued_key *chosen = issued_count > 0 ? &issued[test_random_below(&random, issued_count)] : NULL;
        if (action < 55 || chosen == NULL) {
            const uint64_t value = test_random_next(&random);
            if (action % 8 == 0) {
                test_allocator_fail_from(&f->allocator, 1);
            }
            const mica_key key = mica_slot_map_insert(f->map, &value);
            const bool did_fail = test_allocator_fail_stop(&f->allocator);
            assert_true(is_null(key) == did_fail);
            for (uint32_t i = 0; i < issued_count; i++) {
                assert_false(is_same(issued[i].key, key));
            }
            if (!did_fail) {
                issued[issued_count++] = (issued_key){key, value, true};
            }
        } else if (action < 99) {
            assert_int_equal(mica_slot_map_remove(f->map, chosen->key), chosen->is_alive ? MICA_OK : MICA_STALE);
            chosen->is_alive = false;
        } else {
            mica_slot_map_clear(f->map);
            for (uint32_t i = 0; i < issued_count; i++) {
                issued[i].is_alive = false;
            }
        }
        if (step % 16 == 0) {
            compare_with_model(f, issued, issued_count, seed);
        }
    }
}

static void random_operations_agree_with_a_model(void **state) {
    fixture *f = *state;
    issued_key *issued = calloc(MODEL_STEPS, sizeof(*issued));
    assert_non_null(issued);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const mica_allocator hooks = test_allocator_hooks(&f->allocator);
        mica_slot_map_destroy(f->map);
        f->map = mica_slot_map_create(sizeof(uint64_t), _Alignof(uint64_t), &hooks);
        assert_non_null(f->map);
        f->map->generation_limit = seed == 1 ? UINT32_MAX : 4;
        run_model(f, issued, seed);
    }
    free(issued);
}

#define MAP_TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        MAP_TEST(an_empty_map_has_no_values),
        MAP_TEST(a_key_finds_its_value),
        MAP_TEST(no_value_given_means_zeros),
        MAP_TEST(a_value_of_the_map_can_be_inserted_again),
        MAP_TEST(removing_moves_the_last_value_into_the_hole),
        MAP_TEST(a_removed_key_is_stale_and_says_so),
        MAP_TEST(keys_never_issued_are_stale),
        MAP_TEST(the_slot_freed_last_is_used_first),
        MAP_TEST(clear_makes_all_keys_stale_and_issues_none_again),
        MAP_TEST(a_slot_without_generations_left_is_retired),
        MAP_TEST(the_last_generation_of_all_is_issued_and_then_the_slot_is_retired),
        MAP_TEST(reserved_room_is_used_without_allocating),
        MAP_TEST(more_values_than_slots_are_refused),
        MAP_TEST(every_failed_allocation_leaves_the_map_as_it_was),
        MAP_TEST(random_operations_agree_with_a_model),
        cmocka_unit_test(large_alignments_are_kept),
        cmocka_unit_test(bad_definitions_are_refused),
        cmocka_unit_test(no_map_is_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
