// Runners: threads that run the steps of a range side by side.
#pragma once

#include "base/jobs.h"
#include "base/os.h"
#include "run/strands.h"

struct mi_tick;
struct mi_batch;

// A step of the plan, a cache line of its own, as the thread that runs it writes it and those look at it that wait.
typedef struct mi_batch_step {
    _Alignas(MI_CACHE_LINE) uint64_t mark; // atomic: below the round of the batch, free; as it, taken; above, ended
} mi_batch_step;

// A strand while its range runs; one thread owns it, others look and may help.
typedef struct mi_batch_strand {
    _Alignas(MI_CACHE_LINE) uint32_t next; // atomic: in the strands' `order`; all before it are taken
    uint32_t end;
    bool is_used; // its owner's: by a runner
} mi_batch_strand;

// What brings a thread to run steps.
typedef struct mi_runner {
    mi_job job; // first: leads back from the job to the runner
    struct mi_batch *batch;
    uint32_t is_taken; // atomic: it was started and has not left
} mi_runner;

// Where the runner of the main thread is.
typedef enum mi_main_runner {
    MI_MAIN_HERE,
    MI_MAIN_AWAY,  // whoever ends what its next step waits for has to call it
    MI_MAIN_CALLED // and somebody has
} mi_main_runner;

// The range that runs, and what is kept for the next one.
typedef struct mi_batch {
    const struct mi_tick *tick;
    mi_job_group group;
    int32_t main_thread;             // the number of the thread that steps the world
    uint32_t float_mode;             // of that thread, and so of all systems
    uint32_t first, end;             // steps
    const mi_strands *strands;       // of the range
    uint64_t round;                  // of this range: grows from one to the next
    uint32_t next_main;              // in the strands' `main`; the main thread's own
    uint32_t failed;                 // atomic: the first step that has failed; UINT32_MAX: none has
    uint32_t runner_count;           // atomic: runners that were started and have not left
    uint32_t main_runner;            // atomic: mi_main_runner
    mi_runner main;                  // for calling it
    uint32_t thread_count;           // for which there is room
    mi_runner *runners;              // as many
    mi_batch_strand *strand_cursors; // by strand
    MI_ARRAY(mi_batch_step) steps;   // by step of the plan
} mi_batch;

// Makes sure of room for a plan of so many steps on so many threads. False: out of memory. Sets no error.
bool mi_batch_reserve(mi_batch *batch, mi_heap *heap, uint32_t step_count, uint32_t thread_count);
// Runs the steps from `first` up to `end` in strands that were made for them. None of them has to be run alone.
void mi_batch_run_range(const struct mi_tick *tick, uint32_t first, uint32_t end, const mi_strands *strands);
void mi_batch_free(mi_batch *batch, mi_heap *heap);
