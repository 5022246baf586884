// Three buffers between a writer and a reader.
#include "base/triple.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>

#include <cmocka.h>

static void nothing_is_fetched_before_it_is_published(void **state) {
    (void)state;
    mi_triple triple = mi_triple_make();
    assert_false(mi_triple_fetch(&triple));
    assert_int_not_equal(triple.read, triple.written);
    mi_triple_publish(&triple);
    assert_true(mi_triple_fetch(&triple));
    assert_false(mi_triple_fetch(&triple));
}

// Whatever the order of publishing and fetching: the reader has what was published last, and nobody writes to it.
static void any_order_of_both_sides_gives_the_latest(void **state) {
    (void)state;
    enum { STEP_COUNT = 12 };
    for (uint32_t order = 0; order < 1u << STEP_COUNT; order++) {
        mi_triple triple = mi_triple_make();
        uint32_t values[3] = {0};
        uint32_t published = 0;
        uint32_t fetched = 0;
        for (uint32_t step = 0; step < STEP_COUNT; step++) {
            if ((order >> step & 1) != 0) {
                values[triple.written] = ++published;
                mi_triple_publish(&triple);
            } else {
                assert_int_equal(mi_triple_fetch(&triple), fetched != published);
                fetched = published;
            }
            assert_int_equal(values[triple.read], fetched);
            assert_int_not_equal(triple.read, triple.written);
        }
    }
}

enum { VALUE_COUNT = 16, ROUND_COUNT = 20000 };

typedef struct shared {
    mi_triple triple;
    uint32_t values[3][VALUE_COUNT];
} shared;

static void *write_rounds(void *argument) {
    shared *both = argument;
    for (uint32_t round = 1; round <= ROUND_COUNT; round++) {
        for (uint32_t i = 0; i < VALUE_COUNT; i++) {
            both->values[both->triple.written][i] = round;
        }
        mi_triple_publish(&both->triple);
    }
    return NULL;
}

static void a_reader_on_another_thread_sees_whole_buffers_in_order(void **state) {
    (void)state;
    static shared both;
    both.triple = mi_triple_make();
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_rounds, &both), 0);
    uint32_t last = 0;
    uint32_t torn_count = 0;
    uint32_t back_count = 0;
    while (last < ROUND_COUNT) {
        if (!mi_triple_fetch(&both.triple)) {
            sched_yield();
            continue;
        }
        const uint32_t *values = both.values[both.triple.read];
        for (uint32_t i = 1; i < VALUE_COUNT; i++) {
            torn_count += values[i] != values[0];
        }
        back_count += values[0] <= last;
        last = values[0];
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(torn_count, 0);
    assert_int_equal(back_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_fetched_before_it_is_published),
        cmocka_unit_test(any_order_of_both_sides_gives_the_latest),
        cmocka_unit_test(a_reader_on_another_thread_sees_whole_buffers_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
