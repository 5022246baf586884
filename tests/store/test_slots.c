// The entity index: reuse, retirement, taking given slots.
#include "support/test_heap.h"
#include "support/test_random.h"

#include "store/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_slots slots;
} fixture;

static void begin(fixture *f) {
    memset(f, 0, sizeof(*f));
    test_heap_begin(&f->allocator, &f->heap);
}

static void end(fixture *f) {
    assert_null(mi_slots_validate(&f->slots));
    mi_slots_free(&f->slots, &f->heap);
    test_allocator_finish(&f->allocator);
}

static mica_entity take(fixture *f) {
    assert_int_equal(mi_slots_reserve(&f->slots, &f->heap, 1), MICA_OK);
    return mi_slots_take(&f->slots, 0);
}

static bool alive(const fixture *f, mica_entity entity) {
    uint32_t location = 0;
    return mi_slots_resolve(&f->slots, entity, &location);
}

static void indices_start_at_one_and_null_is_never_alive(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_false(alive(&f, MICA_NULL));
    assert_int_equal(mica_entity_index(take(&f)), 1);
    assert_int_equal(mica_entity_index(take(&f)), 2);
    assert_false(alive(&f, MICA_NULL));
    assert_false(alive(&f, mica_entity_make(3, 0)));
    end(&f);
}

static void the_slot_freed_last_comes_first_with_the_next_generation(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity a = take(&f);
    const mica_entity b = take(&f);
    mi_slots_give(&f.slots, mica_entity_index(a));
    mi_slots_give(&f.slots, mica_entity_index(b));
    const mica_entity c = take(&f);
    assert_int_equal(mica_entity_index(c), mica_entity_index(b));
    assert_int_equal(mica_entity_generation(c), 1);
    assert_false(alive(&f, b));
    assert_true(alive(&f, c));
    end(&f);
}

static void the_next_handle_of_a_free_slot_is_not_alive_yet(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity a = take(&f);
    mi_slots_give(&f.slots, mica_entity_index(a));
    assert_false(alive(&f, mica_entity_make(mica_entity_index(a), 1)));
    end(&f);
}

// The counter of a slot is driven to its end: by hand where it is short, from two before the end where it is not.
static void a_slot_whose_generations_are_used_up_is_retired(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    uint32_t failed = 0;
    const uint32_t start = MICA_GENERATION_MAX > 5000 ? MICA_GENERATION_MAX - 2 : 0;
    const mica_entity first = mica_entity_make(1, start);
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &first, 1, &failed), MICA_OK);
    mica_entity entity = first;
    for (uint32_t generation = start; generation < MICA_GENERATION_MAX; generation++) {
        assert_int_equal(mica_entity_index(entity), 1);
        assert_int_equal(mica_entity_generation(entity), generation);
        mi_slots_give(&f.slots, 1);
        assert_false(alive(&f, first));
        entity = take(&f);
    }
    assert_int_equal(mica_entity_index(entity), 2);
    assert_int_equal(f.slots.retired, 1);
    assert_false(alive(&f, first));
    assert_false(alive(&f, mica_entity_make(1, MICA_GENERATION_MAX)));
    const mica_entity again = mica_entity_make(1, MICA_GENERATION_MAX - 1);
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &again, 1, &failed), MICA_STALE);
    end(&f);
}

static void the_highest_index_with_the_highest_generation_is_never_issued(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    uint32_t failed = 7;
    const mica_entity last = mica_entity_make(20, MICA_GENERATION_MAX);
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &last, 1, &failed), MICA_STALE);
    assert_int_equal(failed, 0);
    const mica_entity null = MICA_NULL;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &null, 1, &failed), MICA_STALE);
    end(&f);
}

static void a_claimed_slot_is_not_issued_again(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity a = take(&f);
    mi_slots_give(&f.slots, mica_entity_index(a));
    const mica_entity claimed = mica_entity_make(mica_entity_index(a), 1);
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &claimed, 1, &failed), MICA_OK);
    assert_true(alive(&f, claimed));
    assert_int_not_equal(mica_entity_index(take(&f)), mica_entity_index(claimed));
    end(&f);
}

static void claiming_slots_out_of_order_leaves_the_gaps_free_lowest_first(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity wanted[] = {mica_entity_make(6, 3), mica_entity_make(2, 0), mica_entity_make(4, 1)};
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, wanted, 3, &failed), MICA_OK);
    assert_int_equal(f.slots.alive, 3);
    assert_int_equal(mica_entity_index(take(&f)), 1);
    assert_int_equal(mica_entity_index(take(&f)), 3);
    assert_int_equal(mica_entity_index(take(&f)), 5);
    assert_int_equal(mica_entity_index(take(&f)), 7);
    end(&f);
}

static void a_refused_claim_names_its_position_and_changes_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity a = take(&f);
    const mica_entity b = take(&f);
    mi_slots_give(&f.slots, mica_entity_index(b));
    const uint64_t left = mi_slots_left(&f.slots);
    uint32_t failed = 0;
    const mica_entity twice[] = {mica_entity_make(9, 0), mica_entity_make(2, 4), mica_entity_make(9, 1)};
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, twice, 3, &failed), MICA_EXISTS);
    assert_int_equal(failed, 2);
    const mica_entity taken[] = {mica_entity_make(9, 0), a};
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, taken, 2, &failed), MICA_EXISTS);
    assert_int_equal(failed, 1);
    const mica_entity old[] = {b};
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, old, 1, &failed), MICA_STALE);
    assert_null(mi_slots_validate(&f.slots));
    assert_int_equal(f.slots.alive, 1);
    assert_true(mi_slots_left(&f.slots) == left);
    assert_int_equal(mica_entity_index(take(&f)), 2);
    end(&f);
}

static void handles_that_are_left_are_counted(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const uint64_t all = mi_slots_left(&f.slots);
    assert_true(all == (uint64_t)MICA_INDEX_MAX * MICA_GENERATION_MAX);
    const mica_entity a = take(&f);
    mi_slots_give(&f.slots, mica_entity_index(a));
    take(&f);
    assert_true(mi_slots_left(&f.slots) == all - 2);
    const mica_entity skipping = mica_entity_make(3, 9); // generations 0 to 8 are lost with it
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &skipping, 1, &failed), MICA_OK);
    assert_true(mi_slots_left(&f.slots) == all - 12);
    end(&f);
}

static void more_indices_than_there_are_are_refused(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_int_equal(mi_slots_reserve(&f.slots, &f.heap, UINT32_MAX), MICA_LIMIT);
    if (MICA_INDEX_BITS == 32) {
        const mica_entity over = mica_entity_make(UINT32_MAX, 0);
        uint32_t failed = 0;
        assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &over, 1, &failed), MICA_LIMIT);
    }
    assert_int_equal(f.slots.capacity, 0);
    end(&f);
}

static void clearing_ends_all_and_hands_low_indices_out_first(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[3];
    for (int i = 0; i < 3; i++) {
        entities[i] = take(&f);
    }
    mi_slots_give(&f.slots, 2);
    mi_slots_clear(&f.slots);
    assert_int_equal(f.slots.alive, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(alive(&f, entities[i]));
    }
    for (uint32_t i = 1; i <= 3; i++) {
        const mica_entity entity = take(&f);
        assert_int_equal(mica_entity_index(entity), i);
        assert_int_equal(mica_entity_generation(entity), 1);
    }
    end(&f);
}

static void no_memory_leaves_the_index_as_it_was(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity a = take(&f);
    test_allocator_fail_from(&f.allocator, 1);
    assert_int_equal(mi_slots_reserve(&f.slots, &f.heap, 1000), MICA_OUT_OF_MEMORY);
    const mica_entity far = mica_entity_make(5000, 0);
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &far, 1, &failed), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&f.allocator));
    assert_true(alive(&f, a));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_start_at_one_and_null_is_never_alive),
        cmocka_unit_test(the_slot_freed_last_comes_first_with_the_next_generation),
        cmocka_unit_test(the_next_handle_of_a_free_slot_is_not_alive_yet),
        cmocka_unit_test(a_slot_whose_generations_are_used_up_is_retired),
        cmocka_unit_test(the_highest_index_with_the_highest_generation_is_never_issued),
        cmocka_unit_test(a_claimed_slot_is_not_issued_again),
        cmocka_unit_test(claiming_slots_out_of_order_leaves_the_gaps_free_lowest_first),
        cmocka_unit_test(a_refused_claim_names_its_position_and_changes_nothing),
        cmocka_unit_test(handles_that_are_left_are_counted),
        cmocka_unit_test(more_indices_than_there_are_are_refused),
        cmocka_unit_test(clearing_ends_all_and_hands_low_indices_out_first),
        cmocka_unit_test(no_memory_leaves_the_index_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
