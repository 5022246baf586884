// Random numbers for model tests: the same seed gives the same run everywhere.
#pragma once

#include <stdint.h>

typedef struct test_random {
    uint64_t state;
} test_random;

// Any 64 bits (splitmix64).
static inline uint64_t test_random_next(test_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// A number below `limit` (1 or more).
static inline uint32_t test_random_below(test_random *random, uint32_t limit) {
    return (uint32_t)((test_random_next(random) >> 32) * limit >> 32);
}
