// Flags by which systems on different threads wait for each other. Zero: not raised.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

static inline void test_flag_raise(uint32_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static inline bool test_flag_is_raised(const uint32_t *flag) {
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

static inline void test_flag_wait(const uint32_t *flag) {
    while (!test_flag_is_raised(flag)) {
        sched_yield();
    }
}
