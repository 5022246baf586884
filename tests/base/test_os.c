// The layer over the system: pages, locks, the clock.
#include "base/os.h"

#include <setjmp.h>
#include <stdarg.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_aligned_zeroed_and_writable),
        cmocka_unit_test(large_pages_begin_where_huge_ones_can),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(the_clock_never_goes_back),
        cmocka_unit_test(a_lock_lets_one_thread_in_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
