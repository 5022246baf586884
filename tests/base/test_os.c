// The layer over the system: pages, locks, threads, the clock.
#define _GNU_SOURCE // names of threads, the cores of a process

#include "base/os.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void pages_are_aligned_zeroed_and_writable(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4096, 5000, 100000, (size_t)2 << 20, ((size_t)5 << 20) + 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t alignment = 4096; alignment <= (size_t)4 << 20; alignment *= 4) {
            unsigned char *pages = mi_os_pages_take(sizes[i], alignment);
            assert_non_null(pages);
            assert_int_equal((uintptr_t)pages % alignment, 0);
            for (size_t at = 0; at < sizes[i]; at += 1000) {
                assert_int_equal(pages[at], 0);
                pages[at] = 1;
            }
            pages[sizes[i] - 1] = 1;
            mi_os_pages_give(pages, sizes[i]);
        }
    }
}

static void large_pages_begin_where_huge_ones_can(void **state) {
    (void)state;
    unsigned char *pages = mi_os_pages_take((size_t)2 << 20, 4096);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % ((size_t)2 << 20), 0);
    mi_os_pages_give(pages, (size_t)2 << 20);
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    assert_null(mi_os_pages_take(0, 4096));
    assert_null(mi_os_pages_take(SIZE_MAX, 4096));
    assert_null(mi_os_pages_take(SIZE_MAX - 4095, (size_t)2 << 20));
    assert_null(mi_os_pages_take(SIZE_MAX / 2, 4096));
}

static void the_clock_never_goes_back(void **state) {
    (void)state;
    uint64_t before = mi_os_nanoseconds();
    assert_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t now = mi_os_nanoseconds();
        assert_true(now >= before);
        before = now;
    }
}

typedef struct counter {
    mi_lock lock;
    uint32_t value;
} counter;

enum { ROUNDS = 20000 };

static void *count_up(void *user) {
    counter *shared = user;
    for (int i = 0; i < ROUNDS; i++) {
        mi_lock_take(&shared->lock);
        shared->value++;
        mi_lock_give(&shared->lock);
    }
    return NULL;
}

static void a_lock_lets_one_thread_in_at_a_time(void **state) {
    (void)state;
    counter shared = {.value = 0};
    assert_true(mi_lock_init(&shared.lock));
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &shared), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(shared.value, 3 * ROUNDS);
    mi_lock_destroy(&shared.lock);
}

typedef struct told {
    char name[32];
    bool blocks_interrupts, blocks_faults;
    pthread_t thread;
} told;

static void tell(void *user) {
    told *t = user;
    pthread_getname_np(pthread_self(), t->name, sizeof(t->name));
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    t->blocks_interrupts = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGALRM) == 1;
    t->blocks_faults = sigismember(&blocked, SIGSEGV) == 1 || sigismember(&blocked, SIGFPE) == 1;
    t->thread = pthread_self();
}

static void a_thread_has_its_name_and_leaves_signals_to_others(void **state) {
    (void)state;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    told t = {.name = ""};
    mi_thread thread;
    assert_true(mi_thread_start(&thread, "short", tell, &t));
    mi_thread_join(&thread);
    assert_string_equal(t.name, "short");
    assert_false(pthread_equal(t.thread, pthread_self()));
    assert_true(t.blocks_interrupts);
    assert_false(t.blocks_faults);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
    assert_true(mi_thread_start(&thread, "longer than a name may be", tell, &t));
    mi_thread_join(&thread);
    assert_string_equal(t.name, "longer than a n");
}

// Two threads that wake each other in turn: a wake-up that were lost would end in no end.
typedef struct ball {
    mi_parker parkers[2];
    uint32_t turns[2];
} ball;

enum { TURNS = 5000 };

static void hit_back(void *user) {
    ball *b = user;
    for (int i = 0; i < TURNS; i++) {
        mi_parker_sleep(&b->parkers[1]);
        b->turns[1]++;
        mi_parker_wake(&b->parkers[0]);
    }
}

static void a_parker_loses_no_wake_up(void **state) {
    (void)state;
    ball b = {.turns = {0}};
    assert_true(mi_parker_init(&b.parkers[0]) && mi_parker_init(&b.parkers[1]));
    mi_thread thread;
    assert_true(mi_thread_start(&thread, "ball", hit_back, &b));
    for (uint32_t i = 0; i < TURNS; i++) {
        mi_parker_wake(&b.parkers[1]);
        mi_parker_sleep(&b.parkers[0]);
        assert_int_equal(b.turns[1], i + 1); // and one end is not two
    }
    mi_thread_join(&thread);
    // Several at once end one sleep, and the next one needs another.
    mi_parker_wake(&b.parkers[0]);
    mi_parker_wake(&b.parkers[0]);
    mi_parker_sleep(&b.parkers[0]);
    assert_false(b.parkers[0].is_woken);
    mi_parker_destroy(&b.parkers[0]);
    mi_parker_destroy(&b.parkers[1]);
}

static void cores_are_those_that_the_process_may_use(void **state) {
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(mi_os_core_count(), CPU_COUNT(&before));
    size_t first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(mi_os_core_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_aligned_zeroed_and_writable),
        cmocka_unit_test(large_pages_begin_where_huge_ones_can),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(the_clock_never_goes_back),
        cmocka_unit_test(a_lock_lets_one_thread_in_at_a_time),
        cmocka_unit_test(a_thread_has_its_name_and_leaves_signals_to_others),
        cmocka_unit_test(a_parker_loses_no_wake_up),
        cmocka_unit_test(cores_are_those_that_the_process_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
