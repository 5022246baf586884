// Sums of digests over arrays of values. See digest.h for what they are and how good.
//
// A value of up to 16 bytes is one product: its words are a and b of the step, those of a size between 8 and 16 (or 4
// and 8) may overlap, which is harmless since the size is always the same. A longer one is taken in blocks of 16 bytes,
// the last of which ends where the value ends. The common sizes are compiled for themselves, so that a row costs its
// loads and its multiplications.
#include "base/digest.h"

#include "base/error.h"

static inline uint64_t read_eight(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static inline uint64_t read_four(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

// As mi_digest_fold, for words without a secret: what is multiplied by zero is not lost.
static inline uint64_t fold_plainly(uint64_t a, uint64_t b) {
    return mi_digest_fold(a, b) ^ a ^ b;
}

uint64_t mi_digest_bytes(uint64_t seed, const void *bytes, size_t byte_size) {
    const uint8_t *rest = bytes;
    uint64_t digest = fold_plainly(seed ^ MI_DIGEST_STEP_A, byte_size ^ MI_DIGEST_STEP_B);
    for (size_t left = byte_size; left > 0;) {
        uint64_t block[2] = {0, 0};
        const size_t taken = left < sizeof(block) ? left : sizeof(block);
        memcpy(block, rest, taken);
        digest = fold_plainly(block[0] ^ MI_DIGEST_STEP_B, block[1] ^ digest);
        rest += taken;
        left -= taken;
    }
    return fold_plainly(digest ^ MI_DIGEST_STEP_A, MI_DIGEST_STEP_B);
}

mi_digest_seed mi_digest_seed_of(uint64_t domain, const char *name) {
    const uint64_t a = mi_digest_bytes(domain, name, strlen(name));
    return (mi_digest_seed){.a = a, .b = mi_digest_key(a)};
}

// The two words that a key makes of a seed, for the first block.
static inline mi_digest_seed keyed(mi_digest_seed seed, uint64_t key) {
    return (mi_digest_seed){.a = (key << 32 | key >> 32) ^ seed.a, .b = key ^ seed.b};
}

MI_INLINE uint64_t digest_block(mi_digest_seed keys, const uint8_t *value) {
    return mi_digest_fold(read_eight(value) ^ keys.a, read_eight(value + 8) ^ keys.b);
}

MI_INLINE uint64_t digest_short(mi_digest_seed keys, const uint8_t *value, uint32_t size) {
    uint64_t a;
    uint64_t b = 0;
    if (size >= 8) {
        a = read_eight(value);
        b = size > 8 ? read_eight(value + size - 8) : 0;
    } else if (size >= 4) {
        a = read_four(value);
        b = size > 4 ? read_four(value + size - 4) : 0;
    } else {
        a = (uint64_t)value[0] << 16 | (uint64_t)value[size / 2] << 8 | value[size - 1];
    }
    return mi_digest_fold(a ^ keys.a, b ^ keys.b);
}

MI_INLINE uint64_t digest_value(mi_digest_seed keys, const uint8_t *value, uint32_t size) {
    if (size <= 16) {
        return digest_short(keys, value, size);
    }
    uint64_t sum = 0;
    const uint8_t *last = value + size - 16;
    for (; value < last; value += 16) {
        sum += digest_block(keys, value);
        keys.a += MI_DIGEST_STEP_A;
        keys.b += MI_DIGEST_STEP_B;
    }
    return sum + digest_block(keys, last);
}

MI_INLINE uint64_t digest_all(mi_digest_seed seed, const uint64_t *keys, const uint8_t *values, uint32_t size,
                              uint32_t count) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += digest_value(keyed(seed, keys[i]), values + (size_t)i * size, size);
    }
    return sum;
}

uint64_t mi_digest_values(mi_digest_seed seed, const uint64_t *keys, const void *values, uint32_t size,
                          uint32_t count) {
    switch (size) {
    case 1:
        return digest_all(seed, keys, values, 1, count);
    case 4:
        return digest_all(seed, keys, values, 4, count);
    case 8:
        return digest_all(seed, keys, values, 8, count);
    case 12:
        return digest_all(seed, keys, values, 12, count);
    case 16:
        return digest_all(seed, keys, values, 16, count);
    case 24:
        return digest_all(seed, keys, values, 24, count);
    case 32:
        return digest_all(seed, keys, values, 32, count);
    case 48:
        return digest_all(seed, keys, values, 48, count);
    case 64:
        return digest_all(seed, keys, values, 64, count);
    default:
        return digest_all(seed, keys, values, size, count);
    }
}

uint64_t mi_digest_numbers(mi_digest_seed seed, const uint64_t *keys, uint64_t first, uint32_t count) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const mi_digest_seed both = keyed(seed, keys[i]);
        sum += mi_digest_fold((first + i) ^ both.a, both.b);
    }
    return sum;
}
