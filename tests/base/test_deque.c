// The work-stealing deque: one owner, any number of thieves, every item taken once.
#include "base/deque.h"
#include "base/os.h"

#include "support/test_random.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CAPACITY = 8 };

typedef struct small_deque {
    mi_deque deque;
    mi_deque_slot slots[CAPACITY];
    int items[64];
} small_deque;

static small_deque *make(small_deque *d) {
    mi_deque_init(&d->deque, d->slots, CAPACITY);
    return d;
}

static void *pop(small_deque *d, int64_t level) {
    uintptr_t label = 0;
    return mi_deque_pop(&d->deque, level, &label);
}

static void *steal(small_deque *d) {
    void *item = NULL;
    uintptr_t label = 0;
    return mi_deque_steal(&d->deque, MI_LABEL_ANY, &item, &label) == MI_STEAL_TAKEN ? item : NULL;
}

static void the_owner_gets_what_was_pushed_last(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    for (int i = 0; i < 3; i++) {
        assert_true(mi_deque_push(&d.deque, &d.items[i], 0));
    }
    for (int i = 2; i >= 0; i--) {
        assert_ptr_equal(pop(&d, 0), &d.items[i]);
    }
    assert_null(pop(&d, 0));
    assert_null(pop(&d, 0));
}

static void thieves_get_what_was_pushed_first(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    for (int i = 0; i < 3; i++) {
        assert_true(mi_deque_push(&d.deque, &d.items[i], 0));
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(steal(&d), &d.items[i]);
    }
    assert_null(steal(&d));
}

static void a_full_deque_refuses_and_takes_again_when_one_is_gone(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    for (int i = 0; i < CAPACITY; i++) {
        assert_true(mi_deque_push(&d.deque, &d.items[i], 0));
    }
    assert_false(mi_deque_push(&d.deque, &d.items[CAPACITY], 0));
    assert_ptr_equal(steal(&d), &d.items[0]);
    assert_true(mi_deque_push(&d.deque, &d.items[CAPACITY], 0));
    assert_false(mi_deque_push(&d.deque, &d.items[0], 0));
    for (int i = CAPACITY; i > 0; i--) {
        assert_ptr_equal(pop(&d, 0), &d.items[i]);
    }
    assert_null(pop(&d, 0));
}

static void items_go_round_many_times(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    int next_push = 0, next_steal = 0;
    for (int round = 0; round < 100; round++) {
        while (mi_deque_push(&d.deque, &d.items[next_push % 64], 0)) {
            next_push++;
        }
        for (int i = 0; i < 5; i++) {
            assert_ptr_equal(steal(&d), &d.items[next_steal++ % 64]);
        }
    }
    assert_int_equal(next_push - next_steal, CAPACITY - 5);
}

static void a_pop_stops_at_the_level(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    assert_true(mi_deque_push(&d.deque, &d.items[0], 0));
    const int64_t level = mi_deque_level(&d.deque);
    assert_true(mi_deque_push(&d.deque, &d.items[1], 0));
    assert_true(mi_deque_push(&d.deque, &d.items[2], 0));
    assert_ptr_equal(pop(&d, level), &d.items[2]);
    assert_ptr_equal(pop(&d, level), &d.items[1]);
    assert_null(pop(&d, level));
    assert_ptr_equal(pop(&d, 0), &d.items[0]);
}

static void a_level_holds_when_everything_below_it_is_stolen(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    assert_true(mi_deque_push(&d.deque, &d.items[0], 0));
    const int64_t level = mi_deque_level(&d.deque);
    assert_ptr_equal(steal(&d), &d.items[0]);
    assert_null(pop(&d, level));
    assert_true(mi_deque_push(&d.deque, &d.items[1], 0));
    assert_ptr_equal(pop(&d, level), &d.items[1]);
    assert_null(pop(&d, level));
    assert_true(mi_deque_level(&d.deque) >= level);
}

static void thieves_choose_by_label_and_are_told_it(void **state) {
    (void)state;
    small_deque d;
    make(&d);
    void *item = NULL;
    uintptr_t label = 0;
    assert_int_equal(mi_deque_steal(&d.deque, 7, &item, &label), MI_STEAL_EMPTY);
    assert_int_equal(mi_deque_peek(&d.deque, 7), MI_STEAL_EMPTY);
    mi_deque_push(&d.deque, &d.items[0], 5);
    mi_deque_push(&d.deque, &d.items[1], 7);
    assert_int_equal(mi_deque_steal(&d.deque, 7, &item, &label), MI_STEAL_OTHER);
    assert_int_equal(mi_deque_peek(&d.deque, 7), MI_STEAL_OTHER);
    assert_int_equal(mi_deque_peek(&d.deque, MI_LABEL_ANY), MI_STEAL_TAKEN);
    assert_int_equal(mi_deque_steal(&d.deque, MI_LABEL_ANY, &item, &label), MI_STEAL_TAKEN);
    assert_ptr_equal(item, &d.items[0]);
    assert_int_equal(label, 5);
    assert_int_equal(mi_deque_peek(&d.deque, 7), MI_STEAL_TAKEN);
    mi_deque_push(&d.deque, &d.items[2], 9);
    assert_ptr_equal(mi_deque_pop(&d.deque, 0, &label), &d.items[2]);
    assert_int_equal(label, 9);
    assert_int_equal(mi_deque_steal(&d.deque, 7, &item, &label), MI_STEAL_TAKEN);
    assert_ptr_equal(item, &d.items[1]);
    assert_int_equal(label, 7);
}

// One owner that pushes and pops by chance, thieves that take what they can, with random rests.

enum { THIEF_MAX = 4, ITEM_COUNT = 50000 };

typedef struct counted {
    uint32_t value;       // written before it is pushed, read by whoever takes it
    uint32_t taken_count; // atomic
} counted;

typedef struct arena {
    mi_deque deque;
    mi_deque_slot slots[16];
    counted items[ITEM_COUNT];
    uint32_t rest_one_in;
    uint32_t is_over;     // atomic
    uint32_t wrong_count; // atomic: items with another label than their own
} arena;

static void take(arena *a, counted *item, uintptr_t label) {
    __atomic_fetch_add(&item->taken_count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->wrong_count, label != item->value % 3, __ATOMIC_RELAXED);
}

typedef struct thief {
    mi_thread thread;
    arena *arena;
    test_random random;
    uintptr_t wanted;
} thief;

static void rest_now_and_then(const arena *a, test_random *random) {
    if (test_random_below(random, a->rest_one_in) == 0) {
        sched_yield();
    }
}

static void be_a_thief(void *user) {
    thief *t = user;
    while (mi_load_count(&t->arena->is_over) == 0) {
        void *item = NULL;
        uintptr_t label = 0;
        if (mi_deque_steal(&t->arena->deque, t->wanted, &item, &label) == MI_STEAL_TAKEN) {
            take(t->arena, item, label);
        }
        rest_now_and_then(t->arena, &t->random);
    }
}

static bool pop_one(arena *a) {
    uintptr_t label = 0;
    counted *item = mi_deque_pop(&a->deque, 0, &label);
    if (item != NULL) {
        take(a, item, label);
    }
    return item != NULL;
}

static void let_them_take(int32_t thief_count, uint32_t pop_one_in, uint32_t rest_one_in) {
    arena *a = calloc(1, sizeof(*a));
    assert_non_null(a);
    mi_deque_init(&a->deque, a->slots, 16);
    a->rest_one_in = rest_one_in;
    thief thieves[THIEF_MAX];
    for (int32_t i = 0; i < thief_count; i++) {
        thieves[i] = (thief){.arena = a, .random = {100 + (uint64_t)i}, .wanted = i == 3 ? 1 : MI_LABEL_ANY};
        assert_true(mi_thread_start(&thieves[i].thread, "thief", be_a_thief, &thieves[i]));
    }
    test_random random = {7};
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        a->items[i].value = i;
        while (!mi_deque_push(&a->deque, &a->items[i], i % 3)) {
            pop_one(a);
        }
        if (test_random_below(&random, pop_one_in) == 0) {
            pop_one(a);
        }
        rest_now_and_then(a, &random);
    }
    while (pop_one(a)) {
    }
    mi_store_count(&a->is_over, 1);
    for (int32_t i = 0; i < thief_count; i++) {
        mi_thread_join(&thieves[i].thread);
    }
    assert_int_equal(a->wrong_count, 0);
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        assert_int_equal(a->items[i].taken_count, 1);
    }
    free(a);
}

static void every_item_is_taken_once(void **state) {
    (void)state;
    let_them_take(THIEF_MAX, 3, 32);
}

static void the_last_item_goes_to_the_owner_or_a_thief(void **state) {
    (void)state;
    let_them_take(1, 1, 1024);
    let_them_take(2, 1, 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_gets_what_was_pushed_last),
        cmocka_unit_test(thieves_get_what_was_pushed_first),
        cmocka_unit_test(a_full_deque_refuses_and_takes_again_when_one_is_gone),
        cmocka_unit_test(items_go_round_many_times),
        cmocka_unit_test(a_pop_stops_at_the_level),
        cmocka_unit_test(a_level_holds_when_everything_below_it_is_stolen),
        cmocka_unit_test(thieves_choose_by_label_and_are_told_it),
        cmocka_unit_test(every_item_is_taken_once),
        cmocka_unit_test(the_last_item_goes_to_the_owner_or_a_thief),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
