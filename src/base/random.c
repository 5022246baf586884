// Random numbers: xoshiro256** and what is made of its bits.
//
// Nothing here depends on the machine: numbers are made of 64-bit integers, and floats of as many bits as they hold
// exactly. A state of zeros would give zeros for ever, so it stands for the state of MICA_RANDOM_SEED; no other state
// leads to it. Whoever changes what a function draws changes what programs compute and what their recorded runs are
// compared with.
#include <mica/random.h>

#include <string.h>

#include "base/error.h"

static bool is_given(const mica_random *random, const char *call) {
    if (MICA_UNLIKELY(random == NULL)) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a generator");
    }
    return random != NULL;
}

// Apart, so that its constants do not stand in the way of all others.
static MI_COLD mica_random state_of_zeros(void) {
    return mica_random_seeded(MICA_RANDOM_SEED);
}

// A generator's state, as good as drawn from.
static mica_random state_of(const mica_random *random) {
    const uint64_t *words = random->words;
    return MICA_LIKELY((words[0] | words[1] | words[2] | words[3]) != 0) ? *random : state_of_zeros();
}

// Making generators

// The step of splitmix64: each bit of `x` changes half of the result's, and different numbers give different results.
static uint64_t scramble(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// By how much splitmix64 counts on.
static const uint64_t STRIDE = UINT64_C(0x9e3779b97f4a7c15);

mica_random mica_random_seeded(uint64_t seed) {
    mica_random random;
    for (uint32_t i = 0; i < 4; i++) {
        random.words[i] = scramble(seed + (i + 1) * STRIDE);
    }
    return random;
}

mica_random mica_random_split(const mica_random *random, uint64_t number) {
    if (!is_given(random, __func__)) {
        return (mica_random){{0}};
    }
    // Each word of the part is a one-to-one function of the number, so that no two numbers share a state.
    const mica_random whole = state_of(random);
    const mica_random part = mica_random_seeded(number);
    mica_random split;
    for (uint32_t i = 0; i < 4; i++) {
        split.words[i] = scramble(whole.words[i] + part.words[i]);
    }
    return split;
}

mica_random mica_random_split_named(const mica_random *random, const char *name) {
    // G. Fowler, L. C. Noll, K.-P. Vo. The hash of maps (base/map.h) will not do: it depends on the order of bytes in a
    // word, and may be exchanged.
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name; at != NULL && *at != 0; at++) {
        number = (number ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    return mica_random_split(random, number);
}

// Drawing

static uint64_t rotate(uint64_t x, uint32_t bit_count) {
    return x << bit_count | x >> (64 - bit_count);
}

// Draws from a state that is not zero.
static uint64_t draw(uint64_t words[4]) {
    const uint64_t result = rotate(words[1] * 5, 7) * 9;
    const uint64_t shifted = words[1] << 17;
    words[2] ^= words[0];
    words[3] ^= words[1];
    words[1] ^= words[2];
    words[0] ^= words[3];
    words[2] ^= shifted;
    words[3] = rotate(words[3], 45);
    return result;
}

// What all draw from, with a generator that is there.
static uint64_t next(mica_random *random) {
    mica_random state = state_of(random);
    const uint64_t result = draw(state.words);
    *random = state;
    return result;
}

void mica_random_jump(mica_random *random) {
    if (!is_given(random, __func__)) {
        return;
    }
    // x^(2^128) modulo the characteristic polynomial of the step: the jumped state is the sum of those that its bits
    // name (Blackman and Vigna's constants).
    static const uint64_t polynomial[4] = {UINT64_C(0x180ec6d33cfd0aba), UINT64_C(0xd5a61266f0c9392c),
                                           UINT64_C(0xa9582618e03fc9aa), UINT64_C(0x39abdc4529b1661c)};
    mica_random state = state_of(random);
    mica_random sum = {{0}};
    for (uint32_t bit = 0; bit < 256; bit++) {
        for (uint32_t i = 0; (polynomial[bit / 64] >> bit % 64 & 1) != 0 && i < 4; i++) {
            sum.words[i] ^= state.words[i];
        }
        draw(state.words);
    }
    *random = sum;
}

uint64_t mica_random_next(mica_random *random) {
    return is_given(random, __func__) ? next(random) : 0;
}

// `count` is not 0.
static uint32_t draw_below(mica_random *random, uint32_t count) {
    // The upper word of count * bits is the number. Of the 2^32 values of `bits`, as many as divide evenly among the
    // numbers are taken: those whose lower word is not below 2^32 % count.
    uint64_t product = (next(random) >> 32) * count;
    if ((uint32_t)product < count) {
        const uint32_t uneven = (0 - count) % count;
        while ((uint32_t)product < uneven) {
            product = (next(random) >> 32) * count;
        }
    }
    return (uint32_t)(product >> 32);
}

uint32_t mica_random_below(mica_random *random, uint32_t count) {
    if (!is_given(random, __func__)) {
        return 0;
    }
    if (MICA_UNLIKELY(count == 0)) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "there is no number below 0");
        return 0;
    }
    return draw_below(random, count);
}

int64_t mica_random_range(mica_random *random, int64_t first, int64_t last) {
    if (!is_given(random, __func__)) {
        return 0;
    }
    if (MICA_UNLIKELY(last < first)) {
        mi_fail(NULL, MICA_INVALID, __func__, "there is no number from {} to {}", MI_INT(first), MI_INT(last));
        return first;
    }
    const uint64_t span = (uint64_t)last - (uint64_t)first;
    uint64_t offset;
    if (span < UINT32_MAX) {
        offset = draw_below(random, (uint32_t)span + 1);
    } else {
        const uint32_t unused_bits = (uint32_t)__builtin_clzll(span);
        do {
            offset = next(random) >> unused_bits;
        } while (offset > span);
    }
    return (int64_t)((uint64_t)first + offset);
}

double mica_random_unit(mica_random *random) {
    return is_given(random, __func__) ? (double)(int64_t)(next(random) >> 11) * 0x1p-53 : 0;
}

float mica_random_unitf(mica_random *random) {
    return is_given(random, __func__) ? (float)(int32_t)(next(random) >> 40) * 0x1p-24f : 0;
}

bool mica_random_chance(mica_random *random, double probability) {
    if (!is_given(random, __func__)) {
        return false;
    }
    if (MICA_UNLIKELY(probability != probability)) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "the probability is not a number");
        return false;
    }
    return mica_random_unit(random) < probability;
}

static void exchange(uint8_t *one, uint8_t *other, size_t byte_size) {
    uint8_t held[64];
    for (size_t done = 0; done < byte_size;) {
        const size_t part = byte_size - done < sizeof(held) ? byte_size - done : sizeof(held);
        memcpy(held, one + done, part);
        memcpy(one + done, other + done, part);
        memcpy(other + done, held, part);
        done += part;
    }
}

mica_result mica_random_shuffle(mica_random *random, void *items, uint32_t count, size_t item_size) {
    if (!is_given(random, __func__)) {
        return MICA_INVALID;
    }
    if ((items == NULL && count != 0) || item_size == 0) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__,
                             items == NULL && count != 0 ? "there are no items" : "the items have no size");
    }
    uint8_t *bytes = items;
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t chosen = draw_below(random, left);
        if (chosen != left - 1) {
            exchange(bytes + chosen * item_size, bytes + (left - 1) * item_size, item_size);
        }
    }
    return MICA_OK;
}
