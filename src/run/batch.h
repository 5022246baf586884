// Batches: what is kept of each, and running them.
#pragma once

#include "run/cost.h"
#include "run/runners.h"

struct mi_systems;
typedef struct mi_tick mi_tick;

// Steps of a batch that may run side by side, in the strands that were made for them last.
typedef struct mi_batch_range {
    uint32_t first, end;
    mi_strands strands;
} mi_batch_range;

// What is known of running a batch.
typedef struct mi_batch_known {
    mi_cost cost;
    uint32_t run_count; // since when strands are made
    bool strands_save;  // more than they cost, as far as they tell
} mi_batch_known;

// What the batches of a plan are run with.
typedef struct mi_batching {
    mi_batch batch;
    mi_strands_room room;
    MI_ARRAY(mi_batch_range) ranges; // ascending
    uint32_t next_range;             // in `ranges`: none before it is needed in this tick any more
    MI_ARRAY(mi_batch_known) known;  // by batch
} mi_batching;

// Forgets what is known of a plan, as another one takes its place.
void mi_batching_forget(mi_batching *batching, mi_heap *heap);
void mi_batching_free(mi_batching *batching, mi_heap *heap);
// No batch of the running tick has been run yet.
void mi_batching_begin_tick(mi_batching *batching);

// Runs a batch of the plan, up to a failure: side by side where that is faster. What it does is the same either way,
// but that of the steps behind the first one that fails, in order of the plan, some may have run.
void mi_batch_run(mi_tick *tick, uint32_t batch_number);
