// Running the systems of a batch side by side, on the threads of the world's pool.
#pragma once

#include "run/system.h"

// Runs the batch if that is faster side by side; false: it was not run, and is to be run step by step. What it does is
// the same either way, up to a failure: of those behind the first step that fails, in order of the plan, some may have
// run.
bool mi_batch_run(mi_tick *tick, const mi_plan_batch *steps);
void mi_batch_free(mi_batch *batch, mi_heap *heap);
