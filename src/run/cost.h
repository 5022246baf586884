// What loops take, alone and shared out, and which of the two they do. A batch of systems counts as a loop over one
// row, which its systems run in order or side by side.
//
// What a row takes alone is measured by loops that run on one thread and by no others: threads that share a loop may
// wait for memory in each other's way, so that the time that they are busy tells nothing of it. What a row takes shared
// is measured by the clock on the wall, with all that sharing costs. Both are medians of the last few loops, which one
// that was interrupted does not move.
//
// Invariants:
// - Loops are shared in MI_COST_TRIAL and MI_COST_SHARED alone, and there if it can save something by what rows take
//   alone. `alone` holds no sample from before the last check, `shared` none from before the last trial.
// - What loops do is decided at the end of a trial, which a check has preceded or loops that ran alone. Sharing begins
//   where it is clearly faster by the medians. It ends where it is slower, twice: if it gains nothing for a while since
//   other programs have the cores, it goes on, as it costs nothing then.
// - Out of MI_COST_SHARED a check comes once after a few loops, since a program's first ones take longer than all
//   others; then after `patience` loops, but only where sharing gains so little that it might lose, or more than there
//   are threads, which cannot be right. So a loop that gains clearly is not run alone every so often just to be
//   measured.
// - Out of MI_COST_ALONE a trial comes after `patience` loops, or when loops have become longer.
// - `patience` grows with each trial that confirms what loops do, but for one in which sharing neither gained nor lost:
//   so checks and trials are no cost that shows, and what may gain again soon is tried soon.
// - A loop too short to be worth another thread tells nothing of longer ones, and is not noted.
// All of it hangs on time: it is no state of the world, and no result depends on it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MI_COST_SAMPLE_COUNT 5u

// What a row took in the last loops.
typedef struct mi_cost_samples {
    uint64_t picoseconds[MI_COST_SAMPLE_COUNT];
    uint32_t count;
    uint32_t next; // the place that is written next
} mi_cost_samples;

typedef enum mi_cost_mode {
    MI_COST_CHECK,  // some loops alone, to see what that takes; then a trial
    MI_COST_TRIAL,  // some loops shared, to see what that takes
    MI_COST_ALONE,  // sharing does not pay
    MI_COST_SHARED, // it does, or did and costs nothing
} mi_cost_mode;

// Zero knows nothing.
typedef struct mi_cost {
    mi_cost_mode mode;
    bool pays;                   // what was decided last
    bool is_contradicted;        // by a trial, which is repeated before loops cease to be shared
    uint32_t patience;           // loops until that is looked at again; 0: nothing was decided yet
    uint32_t loop_count;         // noted since then
    uint64_t judged_nanoseconds; // what a loop took alone then
    mi_cost_samples alone;
    mi_cost_samples shared;
} mi_cost;

// How a loop is shared out.
typedef struct mi_cost_shares {
    uint32_t count;      // of threads that take part; fewer than 2: it runs on one
    uint64_t range_rows; // that a thread takes at once
} mi_cost_shares;

// How to run a loop over so many rows on at most `thread_count` threads.
mi_cost_shares mi_cost_share(const mi_cost *cost, uint64_t row_count, uint64_t thread_count);
// A loop over so many rows ran on one thread, and took so long.
void mi_cost_note_alone(mi_cost *cost, uint64_t row_count, uint64_t nanoseconds);
// A loop over so many rows was shared out among at most so many threads, as mi_cost_share has said, and took so
// long by the wall.
void mi_cost_note_shared(mi_cost *cost, uint64_t row_count, uint64_t thread_count, uint64_t nanoseconds);
