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

// The stamp of a column or page (store/stamp.h). Threads of a loop that share one, or write values of it by handle,
// write the same version to it, that of their system, and look whether it is later than an earlier one: nothing else is
// known by it, so relaxed is enough. Clearing bits keeps a version that comes meanwhile.
static inline uint64_t mi_load_stamp(const uint64_t *stamp) {
    return __atomic_load_n(stamp, __ATOMIC_RELAXED);
}
static inline void mi_store_stamp(uint64_t *stamp, uint64_t value) {
    __atomic_store_n(stamp, value, __ATOMIC_RELAXED);
}
static inline void mi_clear_stamp(uint64_t *stamp, uint64_t bits) {
    __atomic_fetch_and(stamp, ~bits, __ATOMIC_RELAXED);
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

// A step of a batch (run/runners.h) in a round: below `round`, free; `round`, taken; the next number, ended. That a
// step has ended releases what it did, and who sees it acquires that.
//
// Runners of a round. Who has ended a step says so and then looks how many there are; a runner that leaves counts
// itself off and then looks at the steps. Both steps of both sides are sequentially consistent, so at least one sees
// the other, and nothing that can begin is left lying. The same goes for two that end steps that a third one waits for,
// of whom one at least sees that both have ended, and for where the runner of the main thread is.
static inline uint64_t mi_step_mark(const uint64_t *mark) {
    return __atomic_load_n(mark, __ATOMIC_SEQ_CST);
}
// False: somebody else has taken it.
static inline bool mi_step_take_mark(uint64_t *mark, uint64_t round) {
    uint64_t seen = __atomic_load_n(mark, __ATOMIC_RELAXED);
    return seen < round && __atomic_compare_exchange_n(mark, &seen, round, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
static inline void mi_step_end_mark(uint64_t *mark, uint64_t round) {
    __atomic_store_n(mark, round + 1, __ATOMIC_SEQ_CST);
}
static inline uint32_t mi_runners(const uint32_t *count) {
    return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}
static inline void mi_runners_add(uint32_t *count) {
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}
static inline void mi_runners_remove(uint32_t *count) {
    __atomic_fetch_sub(count, 1, __ATOMIC_SEQ_CST);
}
// False: there are `most` already.
static inline bool mi_runners_add_below(uint32_t *count, uint32_t most) {
    uint32_t seen = __atomic_load_n(count, __ATOMIC_RELAXED);
    while (seen < most &&
           !__atomic_compare_exchange_n(count, &seen, seen + 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return seen < most;
}
static inline bool mi_main_runner_is(const uint32_t *place, uint32_t where) {
    return __atomic_load_n(place, __ATOMIC_SEQ_CST) == where;
}
static inline bool mi_main_runner_change(uint32_t *place, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
// What starts a runner: who gives it back has left it before, who takes it acquires that.
static inline bool mi_runner_take(uint32_t *is_taken) {
    return __atomic_exchange_n(is_taken, 1, __ATOMIC_ACQUIRE) == 0;
}
static inline void mi_runner_give(uint32_t *is_taken) {
    __atomic_store_n(is_taken, 0, __ATOMIC_RELEASE);
}
// How far a strand is taken: every value was true when it was written and stays so, whoever wrote last.
static inline uint32_t mi_strand_next(const uint32_t *next) {
    return __atomic_load_n(next, __ATOMIC_RELAXED);
}
static inline void mi_strand_set_next(uint32_t *next, uint32_t value) {
    __atomic_store_n(next, value, __ATOMIC_RELAXED);
}

// The next range of a loop: whoever takes a number has it to himself; what ranges hold was published by starting the
// job.
static inline uint32_t mi_take_next(uint32_t *next) {
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
}

// The lowest number of a step or range that has failed: decides what need not be begun any more, and orders nothing.
static inline uint32_t mi_load_first(const uint32_t *first) {
    return __atomic_load_n(first, __ATOMIC_RELAXED);
}
static inline void mi_lower_first(uint32_t *first, uint32_t number) {
    uint32_t seen = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (number < seen &&
           !__atomic_compare_exchange_n(first, &seen, number, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

// A count of changes, looked at when all threads have been waited for, so relaxed is enough.
static inline void mi_add_number(uint64_t *number, uint64_t difference) {
    __atomic_fetch_add(number, difference, __ATOMIC_RELAXED);
}

// Serial numbers of schemas only have to differ, so relaxed is enough. 0: all are used up.
static inline uint32_t mi_next_serial(uint32_t *serial) {
    uint32_t last = __atomic_load_n(serial, __ATOMIC_RELAXED);
    while (last != UINT32_MAX &&
           !__atomic_compare_exchange_n(serial, &last, last + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return last != UINT32_MAX ? last + 1 : 0;
}

// Work stealing (deque.h). The orders are those of Le, Pop, Cohen and Nardelli, "Correct and efficient work-stealing
// for weak memory models" (2013), but that their two fences are made part of the operations around them, as
// sequentially consistent ones: ThreadSanitizer does not follow fences.

// The end at which the owner works, which nobody else writes: what it reads is its own latest value.
static inline int64_t mi_deque_own_end(const int64_t *end) {
    return __atomic_load_n(end, __ATOMIC_RELAXED);
}
// Moves the owner's end. A push publishes the slot that it has written; a pop must be seen by thieves before the owner
// looks at their end, and a push before the owner looks for sleepers (mi_sleepers), so both take their place in the one
// order of all sequentially consistent operations.
static inline void mi_deque_move_end(int64_t *end, int64_t to) {
    __atomic_store_n(end, to, __ATOMIC_SEQ_CST);
}
// Puts the owner's end back after a pop that took nothing from below it: all that thieves may find by it was published
// before, and whoever sees the lower value as yet only believes the deque to be empty.
static inline void mi_deque_restore_end(int64_t *end, int64_t to) {
    __atomic_store_n(end, to, __ATOMIC_RELEASE);
}
// An end as it is compared with the other one: in the one order, so that of the owner and a thief who both go for the
// last item at least one sees the other.
static inline int64_t mi_deque_end(const int64_t *end) {
    return __atomic_load_n(end, __ATOMIC_SEQ_CST);
}
// The thieves' end as a push looks at it, for room: acquires that a thief has read the slot that is used again.
static inline int64_t mi_deque_far_end(const int64_t *end) {
    return __atomic_load_n(end, __ATOMIC_ACQUIRE);
}
// Takes the item at the thieves' end. Releases that the slot has been read.
static inline bool mi_deque_take_end(int64_t *end, int64_t at) {
    return __atomic_compare_exchange_n(end, &at, at + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
// A word of a slot. A thief may read one that is being written again: it then fails to take the end. The ends order the
// rest.
static inline uintptr_t mi_deque_read(const uintptr_t *word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline void mi_deque_write(uintptr_t *word, uintptr_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

// Sleepers (jobs.c). Who goes to sleep says so and then looks for work once more; who brings work puts it down and then
// looks for sleepers. Both steps of both sides are sequentially consistent, so at least one sees the other: either the
// work is found or the sleeper is. Releases and acquires alone would allow that both miss.
static inline void mi_sleepers_add(uint32_t *count) {
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}
static inline void mi_sleepers_remove(uint32_t *count) {
    __atomic_fetch_sub(count, 1, __ATOMIC_SEQ_CST);
}
static inline uint32_t mi_sleepers(const uint32_t *count) {
    return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}
// One thread's mark that it sleeps. Whoever takes the mark away is the one who wakes it, or itself, which stays awake.
static inline void mi_sleep_mark(uint32_t *mark) {
    __atomic_store_n(mark, 1, __ATOMIC_SEQ_CST);
}
static inline bool mi_sleep_is_marked(const uint32_t *mark) {
    return __atomic_load_n(mark, __ATOMIC_SEQ_CST) != 0;
}
static inline bool mi_sleep_unmark(uint32_t *mark) {
    return __atomic_exchange_n(mark, 0, __ATOMIC_SEQ_CST) != 0;
}
// What lies on a pool's shared list, or that the pool ends: stands on the side of the work in the same game.
static inline void mi_work_note(uint32_t *number, uint32_t value) {
    __atomic_store_n(number, value, __ATOMIC_SEQ_CST);
}
static inline uint32_t mi_work_noted(const uint32_t *number) {
    return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}
// How many look for work: a hint that orders nothing.
static inline void mi_hint_add(uint32_t *count, uint32_t difference) {
    __atomic_fetch_add(count, difference, __ATOMIC_RELAXED);
}
static inline uint32_t mi_hint(const uint32_t *count) {
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

// Jobs of a group that have not ended. Adding needs no order: what is added is published by the deque. Ending releases
// what the job did, and who sees that none is left acquires all of it. All changes are read-modify-writes, so that they
// have one order: the mark of the one who waits is seen by the last job, or the mark sees that there is none left.
#define MI_PENDING_MARK (UINT32_C(1) << 31)
static inline void mi_pending_add(uint32_t *pending) {
    __atomic_fetch_add(pending, 1, __ATOMIC_RELAXED);
}
// True: it was the last one, and somebody has marked that he waits.
static inline bool mi_pending_end(uint32_t *pending) {
    return __atomic_fetch_sub(pending, 1, __ATOMIC_ACQ_REL) == (MI_PENDING_MARK | 1);
}
static inline uint32_t mi_pending_count(const uint32_t *pending) {
    return __atomic_load_n(pending, __ATOMIC_ACQUIRE) & ~MI_PENDING_MARK;
}
// Marks that somebody waits. Returns how many are left.
static inline uint32_t mi_pending_mark(uint32_t *pending) {
    return __atomic_fetch_or(pending, MI_PENDING_MARK, __ATOMIC_ACQ_REL) & ~MI_PENDING_MARK;
}
// Whether somebody has marked. Changes nothing, but has its place in that order: of one who puts something down and
// then asks, and one who marks and then looks for it, at least one sees the other.
static inline bool mi_pending_is_marked(uint32_t *pending) {
    return (__atomic_fetch_or(pending, 0, __ATOMIC_ACQ_REL) & MI_PENDING_MARK) != 0;
}

// What one thread takes and any other may put down, where nothing lies: putting down publishes it.
static inline void mi_hand_over(void **place, void *item) {
    __atomic_store_n(place, item, __ATOMIC_RELEASE);
}
static inline void *mi_handed_over(void *const *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

// Seats of a pool as bits: who takes one acquires what the one before left there.
static inline uint64_t mi_seats(const uint64_t *taken) {
    return __atomic_load_n(taken, __ATOMIC_RELAXED);
}
static inline bool mi_seats_take(uint64_t *taken, uint64_t *seen, uint64_t with) {
    return __atomic_compare_exchange_n(taken, seen, with, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline void mi_seats_give(uint64_t *taken, uint64_t bit) {
    __atomic_fetch_and(taken, ~bit, __ATOMIC_RELEASE);
}
