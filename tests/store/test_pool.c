// Pools: membership, order, stamps, memory and addresses, for every kind of pool.
#include "store/pool_fixture.h"

// Membership

static void only_the_handle_that_was_put_is_found(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    const mica_entity entity = mica_entity_make(77, 5);
    assert_false(mi_pool_has(f.pool, entity));
    put(&f, entity, 1);
    assert_true(mi_pool_has(f.pool, entity));
    assert_false(mi_pool_has(f.pool, mica_entity_make(77, 4)));
    assert_false(mi_pool_has(f.pool, mica_entity_make(77, 6)));
    assert_false(mi_pool_has(f.pool, mica_entity_make(76, 5)));
    assert_false(mi_pool_has(f.pool, mica_entity_make(78, 5)));
    assert_false(mi_pool_has(f.pool, MICA_NULL));
    take(&f, entity);
    assert_false(mi_pool_has(f.pool, entity));
    end(&f);
}

static void placeholders_are_never_found(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 5);
    take(&f, entity_of(1));
    take(&f, entity_of(3));
    for (uint32_t index = 0; index < 4 * MI_SPARSE_SIZE; index++) {
        assert_false(mi_pool_has(f.pool, mica_entity_make(index, MICA_GENERATION_MAX)));
    }
    // The tombstones' own handles too.
    assert_false(mi_pool_has(f.pool, f.pool->entities[1]));
    assert_false(mi_pool_has(f.pool, f.pool->entities[3]));
    assert_false(mi_pool_has(f.pool, (mica_entity){.bits = (mica_entity_bits) ~(mica_entity_bits)0}));
    end(&f);
}

static void the_highest_index_and_generation_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        const mica_entity highest = mica_entity_make(MICA_INDEX_MAX, MICA_GENERATION_MAX - 1);
        put(&f, mica_entity_make(1, 0), 0);
        put(&f, highest, 1);
        assert_int_equal(mi_pool_find(f.pool, highest), 1);
        assert_false(mi_pool_has(f.pool, mica_entity_make(MICA_INDEX_MAX, 0)));
        assert_valid(&f);
        take(&f, highest);
        assert_false(mi_pool_has(f.pool, highest));
        assert_true(mi_pool_shrink(f.pool, &f.heap, &f.values));
        assert_int_equal(f.pool->sparse_count, 1);
        end(&f);
    }
}

static void sparse_pages_come_when_touched_and_go_when_empty(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    const mica_entity a = mica_entity_make(5, 0);
    const mica_entity b = mica_entity_make(MI_SPARSE_SIZE * 2, 0);
    const mica_entity c = mica_entity_make(MI_SPARSE_SIZE * 3 - 1, 0);
    const mica_entity d = mica_entity_make(MI_SPARSE_SIZE * 3, 0);
    put(&f, a, 0);
    put(&f, b, 1);
    put(&f, c, 2);
    put(&f, d, 3);
    assert_non_null(f.pool->sparse[0]);
    assert_null(f.pool->sparse[1]);
    assert_non_null(f.pool->sparse[2]);
    assert_non_null(f.pool->sparse[3]);
    const size_t byte_size = f.heap.bytes[MICA_MEMORY_POOLS];
    take(&f, b);
    assert_non_null(f.pool->sparse[2]);
    take(&f, c);
    assert_null(f.pool->sparse[2]);
    assert_int_equal(f.heap.bytes[MICA_MEMORY_POOLS], byte_size); // one is kept
    take(&f, d);
    assert_null(f.pool->sparse[3]);
    assert_int_equal(f.heap.bytes[MICA_MEMORY_POOLS], byte_size - MI_SPARSE_SIZE * sizeof(uint64_t));
    assert_false(mi_pool_has(f.pool, c));
    assert_true(mi_pool_has(f.pool, a));
    end(&f);
}

static void a_pool_that_wavers_around_empty_takes_no_memory(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    put(&f, mica_entity_make(5, 0), 0);
    take(&f, mica_entity_make(5, 0));
    const uint64_t calls = f.allocator.call_count;
    for (uint32_t i = 0; i < 10; i++) {
        const mica_entity entity = mica_entity_make(i % 4 * MI_SPARSE_SIZE + 7, i);
        put(&f, entity, 0);
        take(&f, entity);
        assert_null(mi_pool_validate(f.pool));
    }
    assert_true(f.allocator.call_count == calls);
    end(&f);
}

static void closing_gives_back_what_was_opened_in_vain(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    mi_pool_close_index(f.pool, &f.heap, 9); // no list yet
    put(&f, mica_entity_make(9, 0), 0);
    const size_t byte_size = f.heap.bytes[MICA_MEMORY_POOLS];
    assert_true(mi_pool_open_index(f.pool, &f.heap, MI_SPARSE_SIZE));
    assert_true(f.heap.bytes[MICA_MEMORY_POOLS] > byte_size);
    mi_pool_close_index(f.pool, &f.heap, MI_SPARSE_SIZE);
    assert_int_equal(f.heap.bytes[MICA_MEMORY_POOLS], byte_size);
    mi_pool_close_index(f.pool, &f.heap, 10); // the page of somebody else
    assert_true(mi_pool_has(f.pool, mica_entity_make(9, 0)));
    end(&f);
}

// Order

static void the_last_element_fills_the_hole(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (kinds[i].info.stable) {
            continue;
        }
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 10);
        take(&f, entity_of(2));
        ASSERT_ORDER(&f, 0, 1, 9, 3, 4, 5, 6, 7, 8);
        take(&f, entity_of(8));
        ASSERT_ORDER(&f, 0, 1, 9, 3, 4, 5, 6, 7);
        end(&f);
    }
}

static void tombstones_are_reused_last_first(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!kinds[i].info.stable) {
            continue;
        }
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 7);
        take(&f, entity_of(4));
        take(&f, entity_of(1));
        take(&f, entity_of(6));
        ASSERT_ORDER(&f, 0, -1, 2, 3, -1, 5, -1);
        put(&f, entity_of(10), 10);
        put(&f, entity_of(11), 11);
        ASSERT_ORDER(&f, 0, 11, 2, 3, -1, 5, 10);
        put(&f, entity_of(12), 12);
        put(&f, entity_of(13), 13);
        ASSERT_ORDER(&f, 0, 11, 2, 3, 12, 5, 10, 13);
        end(&f);
    }
}

static void many_are_put_past_all_tombstones(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 4);
    take(&f, entity_of(1));
    const mica_entity entities[] = {entity_of(20), entity_of(21), entity_of(22)};
    mi_pool_moved moved;
    assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 3, &moved));
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(make_value(&f, 4 + i, 20 + (int32_t)i));
        assert_true(mi_pool_open_index(f.pool, &f.heap, mica_entity_index(entities[i])));
    }
    mi_pool_publish_many(f.pool, entities, 3, 9);
    ASSERT_ORDER(&f, 0, -1, 2, 3, 20, 21, 22);
    assert_int_equal(f.pool->stamps[0], 1);
    assert_int_equal(f.pool->stamps[1], 9);
    put(&f, entity_of(30), 30);
    ASSERT_ORDER(&f, 0, 30, 2, 3, 20, 21, 22);
    end(&f);
}

static void a_stable_pool_starts_again_when_its_last_element_goes(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 3);
    for (uint32_t i = 0; i < 3; i++) {
        take(&f, entity_of(i));
    }
    assert_int_equal(f.pool->count, 0);
    assert_int_equal(f.pool->dead_count, 0);
    put(&f, entity_of(5), 5);
    ASSERT_ORDER(&f, 5);
    end(&f);
}

static void values_of_a_stable_pool_stay_until_it_is_compacted(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    const void *where[50];
    for (uint32_t i = 0; i < 50; i++) {
        put(&f, entity_of(i), (int32_t)i);
        where[i] = mi_pool_value(f.pool, mi_pool_find(f.pool, entity_of(i)));
    }
    for (uint32_t i = 0; i < 50; i += 3) {
        take(&f, entity_of(i));
    }
    for (uint32_t i = 60; i < 64; i++) {
        put(&f, entity_of(i), (int32_t)i);
    }
    assert_true(mi_pool_shrink(f.pool, &f.heap, &f.values));
    for (uint32_t i = 0; i < 50; i++) {
        if (i % 3 != 0) {
            assert_ptr_equal(mi_pool_value(f.pool, mi_pool_find(f.pool, entity_of(i))), where[i]);
        }
    }
    mi_pool_compact(f.pool, &f.values);
    assert_ptr_equal(mi_pool_value(f.pool, 0), where[0]);
    assert_int_equal(f.pool->dead_count, 0);
    end(&f);
}

static void compacting_keeps_the_order(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!kinds[i].info.stable) {
            continue;
        }
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 12);
        for (uint32_t number = 0; number < 12; number += 2) {
            take(&f, entity_of(number));
        }
        mi_pool_compact(f.pool, &f.values);
        ASSERT_ORDER(&f, 1, 3, 5, 7, 9, 11);
        put(&f, entity_of(40), 40);
        ASSERT_ORDER(&f, 1, 3, 5, 7, 9, 11, 40);
        end(&f);
    }
}

static void a_permutation_brings_elements_into_its_order(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 7);
        uint32_t backwards[] = {6, 5, 4, 3, 2, 1, 0};
        mi_pool_permute(f.pool, &f.values, 0, 7, backwards, f.spare);
        ASSERT_ORDER(&f, 6, 5, 4, 3, 2, 1, 0);
        uint32_t cycle[] = {2, 0, 1, 3};
        mi_pool_permute(f.pool, &f.values, 2, 4, cycle, f.spare);
        ASSERT_ORDER(&f, 6, 5, 2, 4, 3, 1, 0);
        mi_pool_permute(f.pool, &f.values, 7, 0, NULL, f.spare);
        mi_pool_swap(f.pool, &f.values, 0, 6, f.spare);
        ASSERT_ORDER(&f, 0, 5, 2, 4, 3, 1, 6);
        end(&f);
    }
}

static void what_is_cached_about_positions_is_void_after_each_change(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    uint64_t structure = f.pool->structure;
#define GROWS_BY(CHANGE)                            \
    do {                                            \
        CHANGE;                                     \
        assert_true(f.pool->structure > structure); \
        structure = f.pool->structure;              \
    } while (false)
#define STAYS_AFTER(CALL)                               \
    do {                                                \
        CALL;                                           \
        assert_int_equal(f.pool->structure, structure); \
    } while (false)
    GROWS_BY(put(&f, entity_of(0), 0));
    GROWS_BY(put(&f, entity_of(1), 1));
    GROWS_BY(mi_pool_swap(f.pool, &f.values, 0, 1, f.spare));
    STAYS_AFTER(mi_pool_swap(f.pool, &f.values, 1, 1, f.spare));
    GROWS_BY(mi_pool_permute(f.pool, &f.values, 0, 2, ((uint32_t[]){1, 0}), f.spare));
    STAYS_AFTER(mi_pool_permute(f.pool, &f.values, 0, 2, ((uint32_t[]){0, 1}), f.spare));
    STAYS_AFTER(mi_pool_compact(f.pool, &f.values));
    GROWS_BY(take(&f, entity_of(0)));
    GROWS_BY(mi_pool_compact(f.pool, &f.values));
    GROWS_BY(mi_pool_clear(f.pool, &f.heap, &f.values));
    STAYS_AFTER(mi_pool_publish_many(f.pool, NULL, 0, 7));
    assert_true(mi_pool_open_index(f.pool, &f.heap, mica_entity_index(entity_of(0))));
    assert_true(make_value(&f, 0, 0));
    GROWS_BY(mi_pool_publish_many(f.pool, ((mica_entity[]){entity_of(0)}), 1, 7));
#undef GROWS_BY
#undef STAYS_AFTER
    end(&f);
}

// Stamps

static void a_put_stamps_its_page_alone(void **state) {
    (void)state;
    fixture f;
    begin(&f, PAGED);
    fill(&f, PAGE_SIZE);
    f.version = 5;
    put(&f, entity_of(30), 30);
    assert_int_equal(f.pool->stamps[0], 1);
    assert_int_equal(f.pool->stamps[1], 5);
    end(&f);
}

static void a_page_takes_over_the_later_stamp_of_what_fills_its_hole(void **state) {
    (void)state;
    fixture f;
    begin(&f, PAGED);
    fill(&f, 2 * PAGE_SIZE + 1);
    f.pool->stamps[0] = 3;
    f.pool->stamps[1] = 9;
    f.pool->stamps[2] = 6;
    take(&f, entity_of(0)); // filled from page 2
    assert_int_equal(f.pool->stamps[0], 6);
    take(&f, entity_of(PAGE_SIZE)); // from page 1 into page 1
    assert_int_equal(f.pool->stamps[1], 9);
    take(&f, entity_of(1)); // page 1 into page 0
    assert_int_equal(f.pool->stamps[0], 9);
    f.pool->stamps[1] = 2;
    take(&f, entity_of(2));
    assert_int_equal(f.pool->stamps[0], 9);
    end(&f);
}

static void a_page_that_names_an_image_has_the_elements_that_it_had_then(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 3 * PAGE_SIZE);
    for (uint32_t page = 0; page < 3; page++) {
        f.pool->stamps[page] |= MI_STAMP_NAMED;
    }
    take(&f, entity_of(1)); // leaves a tombstone
    assert_int_equal(f.pool->stamps[0], 1);
    assert_true(mi_stamp_is_named(f.pool->stamps[1]));
    f.pool->stamps[0] |= MI_STAMP_NAMED;
    put(&f, entity_of(100), 100); // fills it
    assert_int_equal(f.pool->stamps[0], 1);
    mi_pool_swap(f.pool, &f.values, 4, 8, f.spare);
    assert_int_equal(f.pool->stamps[1], 1);
    assert_int_equal(f.pool->stamps[2], 1);
    end(&f);
}

static void swapped_and_permuted_pages_share_the_latest_stamp(void **state) {
    (void)state;
    fixture f;
    begin(&f, PAGED);
    fill(&f, 4 * PAGE_SIZE);
    for (uint32_t page = 0; page < 4; page++) {
        f.pool->stamps[page] = 10 + page;
    }
    mi_pool_swap(f.pool, &f.values, 0, PAGE_SIZE, f.spare);
    assert_int_equal(f.pool->stamps[0], 11);
    assert_int_equal(f.pool->stamps[1], 11);
    uint32_t order[PAGE_SIZE] = {PAGE_SIZE - 1, 1, 2, 0};
    mi_pool_permute(f.pool, &f.values, 2 * PAGE_SIZE - 1, PAGE_SIZE, order, f.spare);
    const uint64_t permuted[] = {11, 12, 12, 13};
    assert_memory_equal(f.pool->stamps, permuted, sizeof(permuted));
    mi_pool_swap(f.pool, &f.values, 3 * PAGE_SIZE, 1, f.spare);
    const uint64_t swapped[] = {13, 12, 12, 13};
    assert_memory_equal(f.pool->stamps, swapped, sizeof(swapped));
    end(&f);
}

static void compacted_pages_take_over_later_stamps(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 3 * PAGE_SIZE);
    f.pool->stamps[0] = 4;
    f.pool->stamps[1] = 8;
    f.pool->stamps[2] = 2;
    take(&f, entity_of(3));
    mi_pool_compact(f.pool, &f.values);
    assert_int_equal(f.pool->stamps[0], 8);
    assert_int_equal(f.pool->stamps[1], 8);
    assert_int_equal(f.pool->stamps[2], 2);
    end(&f);
}

// Memory

static void values_stand_aligned(void **state) {
    (void)state;
    for (uint32_t align = 1; align <= MICA_ALIGN_MAX; align *= 2) {
        for (uint32_t is_paged = 0; is_paged < 2; is_paged++) {
            const uint32_t size = align < 16 ? align * 3 : align;
            const pool_kind aligned = {
                .info = {.size = size,
                         .align = align,
                         .layout = is_paged ? MICA_PAGED : MICA_PACKED,
                         .page_size = is_paged ? PAGE_SIZE : 0},
            };
            fixture f;
            begin(&f, &aligned);
            mi_pool_moved moved;
            for (uint32_t i = 0; i < 20; i++) {
                assert_true(mi_pool_open_index(f.pool, &f.heap, mica_entity_index(entity_of(i))));
                assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 1, &moved));
                memset(mi_pool_value(f.pool, i), (int)i, size);
                mi_pool_publish(f.pool, entity_of(i), 1);
            }
            for (uint32_t i = 0; i < 20; i++) {
                const uint8_t *value = mi_pool_value(f.pool, i);
                assert_int_equal((uintptr_t)value % align, 0);
                assert_true(value[0] == i && value[size - 1] == i);
            }
            assert_int_equal((uintptr_t)f.pool->pages[0] % 64, 0);
            assert_int_equal((uintptr_t)f.pool->pages[is_paged] % 64, 0);
            end(&f);
        }
    }
}

static void a_packed_pool_is_one_piece_and_tells_where_it_went(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    mi_pool_moved moved;
    assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 1, &moved));
    assert_int_equal(moved.byte_size, 0); // there was nothing
    fill(&f, 5);
    const void *first = mi_pool_value(f.pool, 0);
    const void *last = mi_pool_value(f.pool, 4);
    const int32_t elsewhere = 1;
    assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 5000, &moved));
    assert_ptr_equal(mi_pool_follow(&moved, first), mi_pool_value(f.pool, 0));
    assert_ptr_equal(mi_pool_follow(&moved, (const uint8_t *)last + 3), (uint8_t *)mi_pool_value(f.pool, 4) + 3);
    assert_ptr_equal(mi_pool_follow(&moved, (const uint8_t *)last + sizeof(int32_t)),
                     (const uint8_t *)last + sizeof(int32_t));
    assert_ptr_equal(mi_pool_follow(&moved, &elsewhere), &elsewhere);
    ASSERT_ORDER(&f, 0, 1, 2, 3, 4);
    assert_ptr_equal(mi_pool_value(f.pool, 5000), (uint8_t *)mi_pool_value(f.pool, 0) + 5000 * sizeof(int32_t));
    const uint64_t calls = f.allocator.call_count;
    assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 5000, &moved));
    assert_int_equal(moved.byte_size, 0);
    assert_int_equal(f.allocator.call_count, calls);
    end(&f);
}

static void pages_come_when_reached_and_never_move(void **state) {
    (void)state;
    fixture f;
    begin(&f, PAGED);
    const void *where[40];
    for (uint32_t i = 0; i < 40; i++) {
        mi_pool_moved moved = {.byte_size = 1};
        assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 1, &moved));
        assert_int_equal(moved.byte_size, 0);
        assert_int_equal(f.pool->value_capacity, (i / PAGE_SIZE + 1) * PAGE_SIZE);
        put(&f, entity_of(i), (int32_t)i);
        where[i] = mi_pool_value(f.pool, i);
    }
    for (uint32_t i = 0; i < 40; i++) {
        assert_ptr_equal(mi_pool_value(f.pool, i), where[i]);
    }
    end(&f);
}

static void adding_one_by_one_allocates_seldom(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    assert_true(mi_pool_open_index(f.pool, &f.heap, 0));
    const uint64_t calls = f.allocator.call_count;
    for (uint32_t i = 0; i < MI_SPARSE_SIZE; i++) {
        put(&f, mica_entity_make(i, 1), (int32_t)i);
    }
    // Where pieces are made to move, the small ones do so with every element.
    assert_true(f.allocator.call_count - calls < (LEDGER_COUNTS_MOVES ? 40 : 300));
    end(&f);
}

static void shrinking_gives_back_what_is_not_used(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        const size_t empty = f.heap.bytes[MICA_MEMORY_POOLS];
        mi_pool_moved moved;
        assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 3000, &moved));
        assert_true(mi_pool_open_index(f.pool, &f.heap, 100 * MI_SPARSE_SIZE));
        fill(&f, 3);
        assert_true(mi_pool_shrink(f.pool, &f.heap, &f.values));
        ASSERT_ORDER(&f, 0, 1, 2);
        assert_int_equal(f.pool->capacity, 3);
        assert_int_equal(f.pool->sparse_count, 1);
        assert_true(f.heap.bytes[MICA_MEMORY_POOLS] < empty + MI_SPARSE_SIZE * sizeof(uint64_t) + 200);
        put(&f, entity_of(3), 3);
        ASSERT_ORDER(&f, 0, 1, 2, 3);
        mi_pool_clear(f.pool, &f.heap, &f.values);
        assert_true(mi_pool_shrink(f.pool, &f.heap, &f.values));
        assert_int_equal(f.heap.bytes[MICA_MEMORY_POOLS], empty);
        end(&f);
    }
}

static void clearing_ends_all_values_and_keeps_room(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 20);
        take(&f, entity_of(7));
        take(&f, entity_of(12));
        mi_pool_clear(f.pool, &f.heap, &f.values);
        assert_int_equal(ledger_live_count(), 0);
        assert_int_equal(f.pool->count, 0);
        assert_int_equal(mi_pool_next(f.pool), 0);
        for (uint32_t page = 0; page < f.pool->sparse_count; page++) {
            assert_null(f.pool->sparse[page]);
        }
        for (uint32_t number = 0; number < 20; number++) {
            assert_false(mi_pool_has(f.pool, entity_of(number)));
        }
        assert_true(f.pool->capacity >= 20);
        assert_valid(&f);
        fill(&f, 3);
        ASSERT_ORDER(&f, 0, 1, 2);
        end(&f);
    }
}

static void more_positions_than_there_are_indices_are_refused(void **state) {
    (void)state;
    fixture f;
    begin(&f, &kinds[0]);
    put(&f, entity_of(0), 0);
    mi_pool_moved moved;
    const uint64_t calls = f.allocator.call_count;
    assert_false(mi_pool_reserve(f.pool, &f.heap, &f.values, UINT32_MAX, &moved));
    assert_false(mi_pool_reserve(f.pool, &f.heap, &f.values, MICA_INDEX_MAX, &moved));
    assert_int_equal(f.allocator.call_count, calls);
    ASSERT_ORDER(&f, 0);
    end(&f);
}

// Memory runs out at every place: nothing is half done, and nothing has moved.
static void a_put_without_memory_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 8); // as many as the first handles, and the first pages, have room for
        const mica_entity far = mica_entity_make(MI_SPARSE_SIZE * 90, 2);
        uint64_t failure_count = 0;
        for (uint64_t n = 1;; n++) {
            const uint64_t structure = f.pool->structure;
            const void *where = f.pool->size != 0 ? mi_pool_value(f.pool, 7) : NULL;
            test_allocator_fail_at(&f.allocator, n);
            const bool is_put = try_put(&f, far, 99);
            if (!test_allocator_fail_stop(&f.allocator)) {
                assert_true(is_put);
                break;
            }
            failure_count++;
            assert_false(is_put);
            assert_false(mi_pool_has(f.pool, far));
            assert_int_equal(f.pool->structure, structure);
            ASSERT_ORDER(&f, 0, 1, 2, 3, 4, 5, 6, 7);
            assert_true(f.pool->size == 0 || f.is_hooked || mi_pool_value(f.pool, 7) == where);
        }
        assert_true(failure_count >= 2);
        assert_int_equal(mi_pool_find(f.pool, far), 8);
        end(&f);
    }
}

static void reserving_without_memory_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 5);
        for (uint64_t n = 1;; n++) {
            const uint32_t value_capacity = f.pool->value_capacity;
            const void *where = f.pool->size != 0 ? mi_pool_value(f.pool, 4) : NULL;
            mi_pool_moved moved;
            test_allocator_fail_at(&f.allocator, n);
            const bool has_room = mi_pool_reserve(f.pool, &f.heap, &f.values, 4 * PAGE_SIZE, &moved);
            if (!test_allocator_fail_stop(&f.allocator)) {
                assert_true(has_room);
                break;
            }
            assert_false(has_room);
            assert_int_equal(moved.byte_size, 0);
            assert_int_equal(f.pool->value_capacity, value_capacity);
            assert_true(f.pool->size == 0 || mi_pool_value(f.pool, 4) == where);
            ASSERT_ORDER(&f, 0, 1, 2, 3, 4);
        }
        for (uint32_t number = 5; number < 5 + 4 * PAGE_SIZE; number++) {
            assert_true(mi_pool_has_room(f.pool));
            put(&f, entity_of(number), (int32_t)number);
        }
        end(&f);
    }
}

static void shrinking_without_memory_keeps_the_elements(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        fill(&f, 5);
        for (uint64_t n = 1;; n++) {
            mi_pool_moved moved;
            assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 3000, &moved));
            assert_true(mi_pool_open_index(f.pool, &f.heap, 50 * MI_SPARSE_SIZE));
            test_allocator_fail_at(&f.allocator, n);
            const bool is_shrunk = mi_pool_shrink(f.pool, &f.heap, &f.values);
            const bool has_failed = test_allocator_fail_stop(&f.allocator);
            assert_int_equal(is_shrunk, !has_failed);
            ASSERT_ORDER(&f, 0, 1, 2, 3, 4);
            if (!has_failed) {
                break;
            }
        }
        end(&f);
    }
}

static void a_pool_that_cannot_be_made_is_null(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    test_allocator_fail_at(&f.allocator, 1);
    assert_null(mi_pool_create(&f.heap, NULL, &f.type, 0));
    assert_true(test_allocator_fail_stop(&f.allocator));
    mi_pool_destroy(NULL, &f.heap, &f.values);
    end(&f);
}

// Addresses

static void an_address_inside_a_live_value_has_a_position(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        fixture f;
        begin(&f, &kinds[i]);
        const int32_t elsewhere = 0;
        assert_int_equal(mi_pool_position_of(f.pool, &elsewhere), MI_POSITION_NONE);
        fill(&f, 10);
        assert_int_equal(mi_pool_position_of(f.pool, &elsewhere), MI_POSITION_NONE);
        assert_int_equal(mi_pool_position_of(f.pool, NULL), MI_POSITION_NONE);
        for (uint32_t position = 0; f.pool->size != 0 && position < 10; position++) {
            const uint8_t *value = mi_pool_value(f.pool, position);
            assert_int_equal(mi_pool_position_of(f.pool, value), position);
            assert_int_equal(mi_pool_position_of(f.pool, value + f.pool->size - 1), position);
        }
        if (f.pool->size != 0) {
            const uint8_t *first = mi_pool_value(f.pool, 0);
            const uint8_t *last = mi_pool_value(f.pool, 9);
            assert_int_equal(mi_pool_position_of(f.pool, (const void *)((uintptr_t)first - 1)), MI_POSITION_NONE);
            assert_int_equal(mi_pool_position_of(f.pool, (const void *)((uintptr_t)last + f.pool->size)),
                             MI_POSITION_NONE);
        }
        end(&f);
    }
}

static void tombstones_and_spare_room_have_no_position(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 6);
    const void *dead = mi_pool_value(f.pool, 2);
    take(&f, entity_of(2));
    assert_int_equal(mi_pool_position_of(f.pool, dead), MI_POSITION_NONE);
    assert_int_equal(mi_pool_position_of(f.pool, mi_pool_value(f.pool, 6)), MI_POSITION_NONE);
    assert_int_equal(mi_pool_position_of(f.pool, mi_pool_value(f.pool, 3)), 3);
    put(&f, entity_of(30), 30);
    assert_int_equal(mi_pool_position_of(f.pool, dead), 2);
    end(&f);
}

// Validation: each fault is seen, and the pool is sound without it.

#define ASSERT_FAULT(F, PLACE, WRONG)                 \
    do {                                              \
        const __typeof__(PLACE) right_ = (PLACE);     \
        (PLACE) = (WRONG);                            \
        assert_non_null(mi_pool_validate((F)->pool)); \
        (PLACE) = right_;                             \
        assert_valid(F);                              \
    } while (false)

static void every_broken_invariant_is_seen(void **state) {
    (void)state;
    fixture f;
    begin(&f, STABLE);
    fill(&f, 6);
    take(&f, entity_of(2));
    take(&f, entity_of(4));
    mi_pool *pool = f.pool;
    assert_valid(&f);
    ASSERT_FAULT(&f, pool->count, 5u);
    ASSERT_FAULT(&f, pool->count, 7u);
    ASSERT_FAULT(&f, pool->count, 1000u);
    ASSERT_FAULT(&f, pool->capacity, 5u);
    ASSERT_FAULT(&f, pool->value_capacity, 4u);
    ASSERT_FAULT(&f, pool->page_capacity, 1u);
    ASSERT_FAULT(&f, pool->dead_count, 1u);
    ASSERT_FAULT(&f, pool->dead_count, 7u);
    ASSERT_FAULT(&f, pool->dead_head, 2u);
    ASSERT_FAULT(&f, pool->dead_head, 3u);
    ASSERT_FAULT(&f, pool->dead_head, 99u);
    ASSERT_FAULT(&f, pool->dead_head, MI_POSITION_NONE);
    ASSERT_FAULT(&f, pool->entities[0], entity_of(1));
    ASSERT_FAULT(&f, pool->entities[0], entity_of(50));
    ASSERT_FAULT(&f, pool->entities[2], mica_entity_make(4, MICA_GENERATION_MAX)); // a ring
    ASSERT_FAULT(&f, pool->live[0], pool->live[0] ^ 1u);
    ASSERT_FAULT(&f, pool->live[0], pool->live[0] | 1u << 2);
    ASSERT_FAULT(&f, pool->live[0], pool->live[0] | 1u << 6);
    ASSERT_FAULT(&f, pool->pages[1], NULL);
    ASSERT_FAULT(&f, pool->pages[1], pool->pages[1] + 1);
    ASSERT_FAULT(&f, pool->sparse_live[0], 1u);
    ASSERT_FAULT(&f, pool->sparse[0][9], 3u);
    ASSERT_FAULT(&f, pool->sparse[0][mica_entity_index(entity_of(1))], mi_pool_slot(entity_of(1), 0));
    ASSERT_FAULT(&f, f.type.info.stable, false);
    end(&f);
}

static void a_piece_in_parts_is_seen(void **state) {
    (void)state;
    fixture f;
    begin(&f, PACKED);
    mi_pool_moved moved;
    assert_true(mi_pool_reserve(f.pool, &f.heap, &f.values, 2000, &moved));
    ASSERT_FAULT(&f, f.pool->pages[1], f.pool->pages[1] + 4);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_handle_that_was_put_is_found),
        cmocka_unit_test(placeholders_are_never_found),
        cmocka_unit_test(the_highest_index_and_generation_are_found),
        cmocka_unit_test(sparse_pages_come_when_touched_and_go_when_empty),
        cmocka_unit_test(a_pool_that_wavers_around_empty_takes_no_memory),
        cmocka_unit_test(closing_gives_back_what_was_opened_in_vain),
        cmocka_unit_test(the_last_element_fills_the_hole),
        cmocka_unit_test(tombstones_are_reused_last_first),
        cmocka_unit_test(many_are_put_past_all_tombstones),
        cmocka_unit_test(a_stable_pool_starts_again_when_its_last_element_goes),
        cmocka_unit_test(values_of_a_stable_pool_stay_until_it_is_compacted),
        cmocka_unit_test(compacting_keeps_the_order),
        cmocka_unit_test(a_permutation_brings_elements_into_its_order),
        cmocka_unit_test(what_is_cached_about_positions_is_void_after_each_change),
        cmocka_unit_test(a_put_stamps_its_page_alone),
        cmocka_unit_test(a_page_takes_over_the_later_stamp_of_what_fills_its_hole),
        cmocka_unit_test(a_page_that_names_an_image_has_the_elements_that_it_had_then),
        cmocka_unit_test(swapped_and_permuted_pages_share_the_latest_stamp),
        cmocka_unit_test(compacted_pages_take_over_later_stamps),
        cmocka_unit_test(values_stand_aligned),
        cmocka_unit_test(a_packed_pool_is_one_piece_and_tells_where_it_went),
        cmocka_unit_test(pages_come_when_reached_and_never_move),
        cmocka_unit_test(adding_one_by_one_allocates_seldom),
        cmocka_unit_test(shrinking_gives_back_what_is_not_used),
        cmocka_unit_test(clearing_ends_all_values_and_keeps_room),
        cmocka_unit_test(more_positions_than_there_are_indices_are_refused),
        cmocka_unit_test(a_put_without_memory_changes_nothing),
        cmocka_unit_test(reserving_without_memory_changes_nothing),
        cmocka_unit_test(shrinking_without_memory_keeps_the_elements),
        cmocka_unit_test(a_pool_that_cannot_be_made_is_null),
        cmocka_unit_test(an_address_inside_a_live_value_has_a_position),
        cmocka_unit_test(tombstones_and_spare_room_have_no_position),
        cmocka_unit_test(every_broken_invariant_is_seen),
        cmocka_unit_test(a_piece_in_parts_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
