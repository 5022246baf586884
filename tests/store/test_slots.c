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

// An index that does everything at once, and so what clearing must look like from outside.
enum { MODEL_SLOTS = 2000, MODEL_STEPS = 40000 };

typedef struct slots_model {
    uint32_t generation[MODEL_SLOTS + 1]; // that the slot's entity has, or its next one will
    bool alive[MODEL_SLOTS + 1];
    uint32_t free[MODEL_SLOTS]; // the last one is handed out next
    uint32_t free_count;
    uint32_t used;
    uint32_t retired;
} slots_model;

static mica_entity model_take(slots_model *model) {
    const uint32_t index = model->free_count > 0 ? model->free[--model->free_count] : model->used++;
    model->alive[index] = true;
    return mica_entity_make(index, model->generation[index]);
}

static void model_give(slots_model *model, uint32_t index) {
    model->alive[index] = false;
    if (++model->generation[index] == MICA_GENERATION_MAX) {
        model->retired++;
    } else {
        model->free[model->free_count++] = index;
    }
}

static void model_clear(slots_model *model) {
    for (uint32_t index = 1; index < model->used; index++) {
        if (model->alive[index]) {
            model->alive[index] = false;
            model->generation[index]++;
            model->retired += model->generation[index] == MICA_GENERATION_MAX;
        }
    }
    model->free_count = 0;
    for (uint32_t index = model->used; index-- > 1;) {
        if (model->generation[index] != MICA_GENERATION_MAX) {
            model->free[model->free_count++] = index;
        }
    }
}

// Begins with all slots in use, some of them up to `back` generations before their end.
static void model_begin(fixture *f, slots_model *model, test_random *random, uint32_t back) {
    memset(model, 0, sizeof(*model));
    static mica_entity entities[MODEL_SLOTS];
    for (uint32_t index = 1; index <= MODEL_SLOTS; index++) {
        const uint32_t chosen = test_random_below(random, 4);
        model->generation[index] =
            chosen == 0 ? MICA_GENERATION_MAX - 1 - test_random_below(random, back) : test_random_below(random, 3);
        model->alive[index] = true;
        entities[index - 1] = mica_entity_make(index, model->generation[index]);
    }
    model->used = MODEL_SLOTS + 1;
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f->slots, &f->heap, entities, MODEL_SLOTS, &failed), MICA_OK);
}

static void compare(const fixture *f, const slots_model *model, mica_entity stale) {
    assert_null(mi_slots_validate(&f->slots));
    assert_int_equal(f->slots.retired, model->retired);
    assert_int_equal(f->slots.alive, model->used - 1 - model->retired - model->free_count);
    for (uint32_t index = 1; index < model->used; index++) {
        const mica_entity entity = mica_entity_make(index, model->generation[index]);
        assert_int_equal(alive(f, entity), model->alive[index]);
    }
    assert_false(alive(f, stale));
    mica_entity preview[64];
    const uint32_t count = model->free_count < 64 ? model->free_count : 64;
    mi_slots_preview(&f->slots, preview, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = model->free[model->free_count - 1 - i];
        assert_true(mica_entity_equal(preview[i], mica_entity_make(index, model->generation[index])));
    }
}

static void run_model(uint64_t seed, uint32_t back, uint32_t clear_every) {
    fixture f;
    begin(&f);
    static slots_model model;
    test_random random = {.state = seed};
    model_begin(&f, &model, &random, back);
    mica_entity stale = MICA_NULL;
    for (uint32_t step = 0; step < MODEL_STEPS; step++) {
        const uint32_t index = 1 + test_random_below(&random, MODEL_SLOTS);
        if (test_random_below(&random, clear_every) == 0) {
            stale = model.alive[index] ? mica_entity_make(index, model.generation[index]) : stale;
            mi_slots_clear(&f.slots);
            model_clear(&model);
        } else if (model.free_count > 0 && test_random_below(&random, 3) > 0) {
            const mica_entity taken = take(&f);
            assert_true(mica_entity_equal(taken, model_take(&model)));
        } else if (model.alive[index]) {
            mi_slots_give(&f.slots, index);
            model_give(&model, index);
        }
        if (step % 500 == 0) {
            compare(&f, &model, stale);
        }
    }
    compare(&f, &model, stale);
    // Filling all that is left hands out every slot once, before any that was never used.
    while (model.free_count > 0) {
        assert_true(mica_entity_equal(take(&f), model_take(&model)));
    }
    compare(&f, &model, stale);
    end(&f);
}

static void clearing_comes_to_the_same_as_ending_every_slot_at_once(void **state) {
    (void)state;
    run_model(1, 3, 2000);
    run_model(2, MICA_GENERATION_MAX < 5000 ? MICA_GENERATION_MAX : 5000, 400);
    run_model(3, 60, 40);
}

static void clearing_again_does_not_raise_a_generation_twice(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity last = MICA_NULL;
    for (int i = 0; i < 3000; i++) {
        last = take(&f);
    }
    for (int i = 0; i < 5000; i++) {
        mi_slots_clear(&f.slots);
    }
    assert_false(alive(&f, last));
    assert_int_equal(f.slots.retired, 0);
    for (uint32_t i = 1; i <= 3000; i++) {
        assert_true(mica_entity_equal(take(&f), mica_entity_make(i, 1)));
    }
    assert_int_equal(mica_entity_index(take(&f)), 3001);
    end(&f);
}

static void claiming_a_slot_that_waits_since_a_clearing_takes_it_out(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int i = 0; i < 2000; i++) {
        take(&f);
    }
    mi_slots_clear(&f.slots);
    const mica_entity issued = mica_entity_make(1900, 0);
    const mica_entity due = mica_entity_make(1900, 1);
    uint32_t failed = 0;
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &issued, 1, &failed), MICA_STALE);
    assert_int_equal(mi_slots_take_at(&f.slots, &f.heap, &due, 1, &failed), MICA_OK);
    for (uint32_t i = 1; i < 2000; i++) {
        assert_int_equal(mica_entity_index(take(&f)), i < 1900 ? i : i + 1);
    }
    assert_true(alive(&f, due));
    end(&f);
}

static void room_that_waits_is_counted(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int i = 0; i < 2000; i++) {
        take(&f);
    }
    const uint32_t capacity = f.slots.capacity;
    mi_slots_clear(&f.slots);
    assert_int_equal(mi_slots_reserve(&f.slots, &f.heap, capacity - 1), MICA_OK);
    assert_int_equal(f.slots.capacity, capacity);
    assert_int_equal(mi_slots_reserve(&f.slots, &f.heap, capacity), MICA_OK); // grows while slots wait
    for (uint32_t i = 1; i <= capacity; i++) {
        assert_int_equal(mica_entity_index(mi_slots_take(&f.slots, 0)), i);
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
        cmocka_unit_test(clearing_comes_to_the_same_as_ending_every_slot_at_once),
        cmocka_unit_test(clearing_again_does_not_raise_a_generation_twice),
        cmocka_unit_test(claiming_a_slot_that_waits_since_a_clearing_takes_it_out),
        cmocka_unit_test(room_that_waits_is_counted),
        cmocka_unit_test(no_memory_leaves_the_index_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
