// Jobs that span frames: kicking n off that do next to nothing, and waiting for all; an operation is one job.
//
// The limit calls the function n times, by a pointer.
#include "rows.h"

#include <mica/jobs.h>

#include <stdlib.h>

typedef struct counters {
    uint32_t *values;
    uint32_t n;
    mica_jobs *jobs; // NULL: the limit
    mica_job *handles;
} counters;

static void counters_tear_down(void *context) {
    counters *state = context;
    mica_jobs_release(state->jobs);
    free(state->handles);
    free(state->values);
    free(state);
}

static counters *counters_set_up(int64_t n) {
    counters *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    state->values = calloc((size_t)n, sizeof *state->values);
    state->handles = calloc((size_t)n, sizeof *state->handles);
    if (state->values == NULL || state->handles == NULL) {
        counters_tear_down(state);
        return NULL;
    }
    return state;
}

static uint64_t counters_check(void *context) {
    const counters *state = context;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        sum = sum * 31 + state->values[i];
    }
    return sum;
}

static void count_one(void *value) {
    ++*(uint32_t *)value;
}

static void *pool_set_up(int64_t n, int32_t thread_count) {
    counters *state = counters_set_up(n);
    if (state == NULL) {
        return NULL;
    }
    state->jobs = mica_jobs_create(&(mica_jobs_def){.thread_count = thread_count});
    if (state->jobs == NULL) {
        counters_tear_down(state);
        return NULL;
    }
    return state;
}

static void *alone_set_up(int64_t n) {
    return pool_set_up(n, 1);
}

static void *pair_set_up(int64_t n) {
    return pool_set_up(n, 2);
}

static void all_run(void *context) {
    const counters *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        state->handles[i] = mica_job_start(state->jobs, count_one, &state->values[i]);
    }
    for (uint32_t i = 0; i < state->n; i++) {
        (void)mica_job_wait(state->jobs, state->handles[i]);
    }
}

static void each_run(void *context) {
    const counters *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        (void)mica_job_wait(state->jobs, mica_job_start(state->jobs, count_one, &state->values[i]));
    }
}

static void calls_run(void *context) {
    const counters *state = context;
    void (*function)(void *value) = count_one;
    MICA_OPAQUE(function);
    for (uint32_t i = 0; i < state->n; i++) {
        function(&state->values[i]);
    }
}

static void *calls_set_up(int64_t n) {
    return counters_set_up(n);
}

static const bench_side all_by_two = {
    .set_up = pair_set_up,
    .run = all_run,
    .check = counters_check,
    .tear_down = counters_tear_down,
    .has_threads = true,
};

static const bench_side all_by_one = {
    .set_up = alone_set_up,
    .run = all_run,
    .check = counters_check,
    .tear_down = counters_tear_down,
};

static const bench_side each_by_one = {
    .set_up = alone_set_up,
    .run = each_run,
    .check = counters_check,
    .tear_down = counters_tear_down,
};

static const bench_side calls = {
    .set_up = calls_set_up,
    .run = calls_run,
    .check = counters_check,
    .tear_down = counters_tear_down,
};

static const bench_row rows[] = {
    {"jobs/start", "main", 1000, "ns/job", 1000, &all_by_two, &calls},
    {"jobs/start", "one thread", 1000, "ns/job", 1000, &all_by_one, &calls},
    {"jobs/start", "one after the other", 1000, "ns/job", 1000, &each_by_one, &calls},
};

const bench_family bench_jobs = {rows, (int32_t)(sizeof rows / sizeof *rows)};
