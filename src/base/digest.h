// Sums of digests: 64 bits that stand for a set of values, in whatever order they were added.
//
// The step is that of wyhash (Wang Yi, public domain) and UMASH: two words, each blinded by a key, are multiplied to
// 128 bits, whose halves are folded onto each other. A set's digest is the sum, modulo 2^64, of one such product for
// every 16 bytes of every value. The keys of a product depend on whom the value belongs to (a *key* that has been
// mixed, so that neighbours have nothing in common), on what it is (a *seed*), and on the place in the value: no two
// products of a set have the same ones. So this is NH, the universal hash of UMAC, in words of 64 bits, with keys that
// are drawn by a mixer instead of by chance: for values that do not know the keys, two sets that differ in any number
// of places have the same sum about once in 2^64 times, also if values change places. The keys are public, so that it
// is no defence against those who look for sets with the same sum.
//
// Words are read as they lie in memory: digests are the same wherever bytes have the same order.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/map.h"

#define MI_DIGEST_STEP_A UINT64_C(0xa0761d6478bd642f)
#define MI_DIGEST_STEP_B UINT64_C(0xe7037ed1a0b428db)

typedef struct mi_wide {
    uint64_t low;
    uint64_t high;
} mi_wide;

static inline mi_wide mi_multiply_by_halves(uint64_t a, uint64_t b) {
    const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    const uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    const uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
    return (mi_wide){.low = other << 32 | (low & UINT32_MAX),
                     .high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)};
}

static inline mi_wide mi_multiply(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (mi_wide){.low = (uint64_t)product, .high = (uint64_t)(product >> 64)};
#else
    return mi_multiply_by_halves(a, b);
#endif
}

static inline uint64_t mi_digest_fold(uint64_t a, uint64_t b) {
    const mi_wide product = mi_multiply(a, b);
    return product.low ^ product.high;
}

// What values of one kind are multiplied by.
typedef struct mi_digest_seed {
    uint64_t a;
    uint64_t b;
} mi_digest_seed;

// The seed of a kind that is known by a name, in one of the worlds of names that `domain` numbers.
mi_digest_seed mi_digest_seed_of(uint64_t domain, const char *name);

// 64 bits of a run of bytes, by a chain of steps.
uint64_t mi_digest_bytes(uint64_t seed, const void *bytes, size_t byte_size);

// A key for whoever is known by a number. Two rounds of multiplication, after which sums and differences of neighbours'
// keys have nothing in common either.
static inline uint64_t mi_digest_key(uint64_t number) {
    return mi_hash_mix(number ^ MI_DIGEST_STEP_A);
}

// The sum of what `count` values of `size` bytes (1 or more), which follow each other, come to, each with its key.
uint64_t mi_digest_values(mi_digest_seed seed, const uint64_t *keys, const void *values, uint32_t size, uint32_t count);

// The same of one number for each key: from `first` on, counted up.
uint64_t mi_digest_numbers(mi_digest_seed seed, const uint64_t *keys, uint64_t first, uint32_t count);
