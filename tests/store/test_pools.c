// The pools of a store: numbers, masks that agree with them, failures that leave nothing behind, and what validation
// finds.
#include "store/pools_fixture.h"

enum { MANY = 70 };

// Further pools, so that masks have more than one word.
static void make_many(fixture *f, mi_pool **pools) {
    for (uint32_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "More%u", (unsigned)i);
        pools[i] = mi_store_pool(&f->store, add_type(f, name, i % 2 == 0 ? 0 : 16, (mica_traits){.toggle = false}));
        assert_non_null(pools[i]);
    }
}

static void a_pool_is_made_once_and_has_the_next_number(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mi_type *table_type = mi_schema_type(
        f.schema, mica_schema_register(
                      f.schema, &(mica_type){.name = "InTables", .size = 4, .align = 4, .traits.storage = MICA_TABLE}));
    assert_false(table_type->in_pool);
    const mi_type *type = add_type(&f, "Late", 16, (mica_traits){.toggle = false});
    assert_null(mi_store_find_pool(&f.store, type->info.id));
    mi_pool *pool = mi_store_pool(&f.store, type);
    assert_int_equal(pool->index, KIND_COUNT);
    assert_ptr_equal(mi_store_pool(&f.store, type), pool);
    assert_ptr_equal(mi_store_find_pool(&f.store, type->info.id), pool);
    assert_null(mi_store_find_pool(&f.store, table_type->info.id));
    assert_null(mi_store_find_pool(&f.store, UINT16_MAX));
    end(&f);
}

static void a_pool_that_cannot_be_made_leaves_no_trace(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = create(&f);
    add(&f, KIND_TAG, entity);
    mi_pool *pools[MANY];
    make_many(&f, pools); // the next one but a few needs a third word
    for (uint32_t made = 0; made < 60; made++) {
        char name[16];
        snprintf(name, sizeof(name), "Last%u", (unsigned)made);
        const mi_type *type = add_type(&f, name, 16, (mica_traits){.toggle = false});
        const uint32_t number = f.store.pool_list.count;
        for (uint64_t n = 1;; n++) {
            test_allocator_fail_at(&f.allocator, n);
            mi_pool *pool = mi_store_pool(&f.store, type);
            if (!test_allocator_fail_stop(&f.allocator)) {
                assert_int_equal(pool->index, number);
                break;
            }
            assert_null(pool);
            assert_int_equal(f.store.failure, MICA_OUT_OF_MEMORY);
            assert_null(mi_store_find_pool(&f.store, type->info.id));
            assert_int_equal(f.store.pool_list.count, number);
            assert_pools_valid(&f);
        }
    }
    assert_int_equal(f.store.masks.word_count, 3);
    assert_true(has(&f, KIND_TAG, entity));
    end(&f);
}

static void masks_follow_elements_that_come_and_go(void **state) {
    (void)state;
    enum { COUNT = 40 };
    fixture f;
    begin(&f);
    test_random random = {.state = 3};
    mica_entity entities[COUNT];
    bool expected[COUNT][KIND_COUNT] = {{false}};
    for (uint32_t i = 0; i < COUNT; i++) {
        entities[i] = create(&f);
    }
    for (uint32_t step = 0; step < 4000; step++) {
        const uint32_t who = test_random_below(&random, COUNT);
        const uint32_t kind = test_random_below(&random, KIND_COUNT);
        if (test_random_below(&random, 20) == 0) {
            destroy(&f, entities[who]);
            memset(expected[who], 0, sizeof(expected[who]));
            const mica_entity old = entities[who];
            entities[who] = create(&f);
            assert_int_equal(mica_entity_index(entities[who]), mica_entity_index(old));
            for (uint32_t k = 0; k < KIND_COUNT; k++) {
                assert_false(has(&f, k, old));
            }
        } else if (expected[who][kind]) {
            remove_from(&f, kind, entities[who]);
            expected[who][kind] = false;
        } else {
            add(&f, kind, entities[who]);
            expected[who][kind] = true;
        }
        for (uint32_t k = 0; k < KIND_COUNT; k++) {
            assert_int_equal(has(&f, k, entities[who]), expected[who][k]);
            const uint64_t *mask = mi_store_mask(&f.store, entities[who]);
            assert_int_equal(mask != NULL && mi_bit_get(mask, f.store.masks.word_count, f.pools[k]->index),
                             expected[who][k]);
        }
        assert_pools_valid(&f);
    }
    check_values(&f);
    end(&f);
}

static void an_entity_that_ends_leaves_its_pools_and_no_others_do(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_pool *pools[MANY];
    make_many(&f, pools);
    const mica_entity ends = create(&f);
    const mica_entity stays = create(&f);
    add(&f, KIND_HOOKS, ends);
    add(&f, KIND_HOOKS, stays);
    for (uint32_t i = 0; i < MANY; i += 23) {
        assert_true(try_add(&f, pools[i], ends));
        assert_true(try_add(&f, pools[i], stays));
    }
    destroy(&f, ends);
    assert_int_equal(hooked_live_count, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_false(mi_pool_has(pools[i], ends));
        assert_int_equal(mi_pool_has(pools[i], stays), i % 23 == 0);
    }
    assert_pools_valid(&f);
    mi_store_remove_elements(&f.store, create(&f)); // one that is in no pool
    assert_true(has(&f, KIND_HOOKS, stays));
    end(&f);
}

static void an_element_that_cannot_be_opened_leaves_nothing_behind(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (uint32_t i = 0; i < 40; i++) { // enough for every array to grow
        const mica_entity entity = create(&f);
        for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
            for (uint64_t n = 1;; n++) {
                test_allocator_fail_at(&f.allocator, n);
                const bool added = try_add(&f, f.pools[kind], entity);
                if (!test_allocator_fail_stop(&f.allocator)) {
                    assert_true(added);
                    break;
                }
                assert_false(added);
                assert_int_equal(f.store.failure, MICA_OUT_OF_MEMORY);
                assert_false(has(&f, kind, entity));
                assert_pools_valid(&f);
            }
        }
    }
    check_values(&f);
    end(&f);
}

static void what_is_opened_and_left_counts_for_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = create(&f);
    mi_pool_moved moved;
    assert_true(mi_store_open_element(&f.store, f.pools[KIND_PAGED], mica_entity_index(entity), &moved));
    assert_int_equal(moved.byte_size, 0);
    assert_pools_valid(&f);
    mi_pool_close_index(f.pools[KIND_PAGED], &f.heap, mica_entity_index(entity));
    assert_pools_valid(&f);
    assert_false(has(&f, KIND_PAGED, entity));
    end(&f);
}

static void values_of_a_packed_pool_are_found_where_they_moved_to(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_pool *pool = f.pools[KIND_HOOKS];
    const mica_entity first = create(&f);
    add(&f, KIND_HOOKS, first);
    uint32_t moved_count = 0;
    for (uint32_t i = 0; i < 100; i++) {
        const mica_entity entity = create(&f);
        const void *before = mi_pool_value(pool, 0);
        mi_pool_moved moved;
        assert_true(mi_store_open_element(&f.store, pool, mica_entity_index(entity), &moved));
        moved_count += moved.byte_size != 0;
        assert_ptr_equal(mi_pool_follow(&moved, before), mi_pool_value(pool, 0));
        assert_ptr_equal(mi_pool_follow(&moved, &f), &f);
        make_value(&f, pool, mi_pool_next(pool), entity);
        mi_store_publish_element(&f.store, pool, entity);
    }
    assert_true(moved_count > 0);
#if !defined(MI_MOVE_ALWAYS)
    assert_true(moved_count <= 10); // and not with every element
#endif
    end(&f);
}

static void many_are_published_at_once(void **state) {
    (void)state;
    enum { COUNT = 30 };
    fixture f;
    begin(&f);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        mi_pool *pool = f.pools[kind];
        add(&f, kind, create(&f));
        mica_entity entities[COUNT];
        mi_pool_moved moved;
        assert_true(mi_pool_reserve(pool, &f.heap, &f.store.values, COUNT, &moved));
        for (uint32_t i = 0; i < COUNT; i++) {
            entities[i] = create(&f);
            assert_true(mi_store_open_element(&f.store, pool, mica_entity_index(entities[i]), &moved));
            make_value(&f, pool, pool->count + i, entities[i]);
        }
        mi_store_put_elements(&f.store, pool, entities, COUNT);
        assert_int_equal(pool->count, COUNT + 1);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(mi_pool_find(pool, entities[i]), i + 1);
        }
        assert_pools_valid(&f);
    }
    check_values(&f);
    end(&f);
}

static void a_component_that_goes_takes_its_toggle_along(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_component component = f.types[KIND_PACKED]->info.id;
    const mica_entity removed = create(&f);
    const mica_entity ended = create(&f);
    add(&f, KIND_PACKED, removed);
    add(&f, KIND_PACKED, ended);
    assert_true(mi_store_set_toggled(&f.store, removed, component, true));
    assert_true(mi_store_set_toggled(&f.store, ended, component, true));
    remove_from(&f, KIND_PACKED, removed);
    assert_int_equal(mi_store_toggled(&f.store, component)->count, 1);
    destroy(&f, ended);
    assert_null(mi_store_toggled(&f.store, component));
    mi_store_free_visibility(&f.store);
    end(&f);
}

static void clear_empties_all_pools_and_they_go_on(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[20];
    for (uint32_t i = 0; i < 20; i++) {
        entities[i] = create(&f);
        for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
            add(&f, kind, entities[i]);
        }
    }
    mi_store_clear_pools(&f.store);
    assert_int_equal(hooked_live_count, 0);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        assert_int_equal(mi_pool_live_count(f.pools[kind]), 0);
        assert_false(has(&f, kind, entities[7]));
        assert_ptr_equal(mi_store_pool(&f.store, f.types[kind]), f.pools[kind]);
    }
    assert_pools_valid(&f);
    add(&f, KIND_HOOKS, entities[3]);
    assert_true(has(&f, KIND_HOOKS, entities[3]));
    end(&f);
}

static void trimming_gives_back_what_is_not_used(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const size_t bytes_before = f.heap.bytes[MICA_MEMORY_POOLS];
    const mica_entity stays = create(&f);
    for (uint32_t i = 0; i < 5000; i++) {
        const mica_entity entity = i == 0 ? stays : create(&f);
        add(&f, KIND_PACKED, entity);
        add(&f, KIND_PAGED, entity);
        if (i > 0) {
            destroy(&f, entity);
        }
    }
    for (uint32_t i = 0; i < 100; i++) {
        add(&f, KIND_PACKED, create(&f));
    }
    const mica_entity last = f.pools[KIND_PACKED]->entities[f.pools[KIND_PACKED]->count - 1];
    mi_store_trim_pools(&f.store);
    assert_int_equal(f.pools[KIND_PACKED]->capacity, f.pools[KIND_PACKED]->count);
    assert_true(has(&f, KIND_PACKED, last));
    check_values(&f);
    assert_pools_valid(&f);
    mi_store_clear_pools(&f.store);
    mi_store_trim_pools(&f.store);
    assert_in_range(f.heap.bytes[MICA_MEMORY_POOLS], 1, bytes_before + 64); // the masks' list of pages
    assert_pools_valid(&f);
    end(&f);
}

static void assert_fault(const fixture *f, const char *part) {
    const char *fault = mi_store_validate_pools(&f->store);
    assert_non_null(fault);
    assert_non_null(strstr(fault, part));
}

static void validation_finds_masks_and_pools_that_disagree(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = create(&f);
    const mica_entity other = create(&f);
    add(&f, KIND_TAG, entity);
    uint64_t *mask = mi_store_mask(&f.store, entity);
    const uint32_t tag = f.pools[KIND_TAG]->index;
    mi_bit_clear(mask, tag);
    assert_fault(&f, "lacks a pool");
    mi_bit_set(mask, tag);
    mi_bit_set(mask, tag + 1);
    assert_fault(&f, "names a pool");
    mi_bit_clear(mask, tag + 1);
    mi_bit_set(mi_store_mask(&f.store, other), tag);
    assert_fault(&f, "names a pool");
    mi_bit_clear(mi_store_mask(&f.store, other), tag);
    f.pools[KIND_TAG]->index = 0;
    assert_fault(&f, "not found by its number");
    f.pools[KIND_TAG]->index = tag;
    mi_slots_give(&f.store.slots, mica_entity_index(entity));
    assert_fault(&f, "not alive");
    mi_store_remove_elements(&f.store, entity);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_made_once_and_has_the_next_number),
        cmocka_unit_test(a_pool_that_cannot_be_made_leaves_no_trace),
        cmocka_unit_test(masks_follow_elements_that_come_and_go),
        cmocka_unit_test(an_entity_that_ends_leaves_its_pools_and_no_others_do),
        cmocka_unit_test(an_element_that_cannot_be_opened_leaves_nothing_behind),
        cmocka_unit_test(what_is_opened_and_left_counts_for_nothing),
        cmocka_unit_test(values_of_a_packed_pool_are_found_where_they_moved_to),
        cmocka_unit_test(many_are_published_at_once),
        cmocka_unit_test(a_component_that_goes_takes_its_toggle_along),
        cmocka_unit_test(clear_empties_all_pools_and_they_go_on),
        cmocka_unit_test(trimming_gives_back_what_is_not_used),
        cmocka_unit_test(validation_finds_masks_and_pools_that_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
