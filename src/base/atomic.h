// All atomics of the library, with their memory orders and the reasons for them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A descriptor's cache (schema serial, id): a value by itself that publishes nothing else, so relaxed is enough; a lost
// race costs a look-up.
static inline uint64_t mi_load_cache(const uint64_t *cache) {
    return __atomic_load_n(cache, __ATOMIC_RELAXED);
}
static inline void mi_store_cache(uint64_t *cache, uint64_t value) {
    __atomic_store_n(cache, value, __ATOMIC_RELAXED);
}

// A pointer or count that publishes what was written before it: release by the writer, acquire by readers without the
// lock.
static inline void *mi_load_pointer(void *const *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}
static inline void mi_store_pointer(void **place, void *value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}
static inline uint32_t mi_load_count(const uint32_t *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}
static inline void mi_store_count(uint32_t *place, uint32_t value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

// References: taking one needs no order (the taker has one already); giving one back releases what the giver did, and
// the last giver acquires all of it.
static inline void mi_reference_take(uint32_t *count) {
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}
static inline bool mi_reference_give(uint32_t *count) {
    return __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL) == 0;
}

// A note beside something immutable that any thread may read and replace, a few words at a time: who comes while
// another one is at it goes on without. Acquire and release order the words of the note.
static inline bool mi_note_open(uint32_t *gate) {
    return __atomic_exchange_n(gate, 1, __ATOMIC_ACQUIRE) == 0;
}
static inline void mi_note_close(uint32_t *gate) {
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
}

// Which of three buffers lies between a writer and a reader (triple.h): the exchange releases what was written to, or
// read from, the buffer that is given, and acquires the same of the one that is taken. Looking first needs no order:
// only the exchange takes anything.
static inline uint32_t mi_exchange_buffer(uint32_t *between, uint32_t buffer) {
    return __atomic_exchange_n(between, buffer, __ATOMIC_ACQ_REL);
}
static inline uint32_t mi_load_buffer(const uint32_t *between) {
    return __atomic_load_n(between, __ATOMIC_RELAXED);
}

// A flag that several threads may raise, looked at when all of them have been waited for, so relaxed is enough.
static inline void mi_flag_raise(uint32_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

// Numbers of images only have to differ, so relaxed is enough.
static inline uint64_t mi_next_number(uint64_t *number) {
    return __atomic_add_fetch(number, 1, __ATOMIC_RELAXED);
}

// Serial numbers of schemas only have to differ, so relaxed is enough. 0: all are used up.
static inline uint32_t mi_next_serial(uint32_t *serial) {
    uint32_t last = __atomic_load_n(serial, __ATOMIC_RELAXED);
    while (last != UINT32_MAX &&
           !__atomic_compare_exchange_n(serial, &last, last + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return last != UINT32_MAX ? last + 1 : 0;
}
