// Two systems that run side by side, the second of which does something else when they are on different threads. And
// they are, every time: in each second run of a tick, which is the one that a check of threads does on several, they
// wait for each other. In the first tick systems run alone and nobody waits.
#pragma once

#include <mica/mica.h>

#include <pthread.h>
#include <sched.h>

MICA_STRUCT_WITH(Left, (.storage = MICA_TABLE), {
    int32_t runs;
    int32_t thread;
});
MICA_STRUCT_WITH(Right, (.storage = MICA_TABLE), {
    int32_t runs;
    int32_t thread;
});

typedef struct race {
    pthread_t threads[2]; // by system
    int32_t runs[2];
    int32_t meetings[2];
    int32_t arrived; // atomic: at all meetings together
} race;

static race racing;

// Returns 1 if the two systems, of which this is number 0 or 1, are on different threads; as far as number 1 knows.
static inline int32_t racing_meet(const mica_run *run, int32_t number) {
    racing.threads[number] = pthread_self();
    if (racing.runs[number]++ % 2 == 1 && mica_run_tick(run) > 0) {
        const int32_t meeting = ++racing.meetings[number];
        __atomic_fetch_add(&racing.arrived, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&racing.arrived, __ATOMIC_ACQUIRE) < 2 * meeting) {
            sched_yield();
        }
    }
    return number == 0 || pthread_equal(racing.threads[0], racing.threads[1]) ? 0 : 1;
}

static inline void racing_left(mica_run *run) {
    const int32_t thread = racing_meet(run, 0);
    mica_each (run, it) {
        Left *left = mica_write_of(it, Left);
        left[0].runs++;
        left[0].thread = thread;
    }
}

static inline void racing_right(mica_run *run) {
    const int32_t thread = racing_meet(run, 1);
    mica_each (run, it) {
        Right *right = mica_write_of(it, Right);
        right[0].runs++;
        right[0].thread = thread;
    }
}

// False: they could not be added, which is the last error.
static inline bool racing_add(mica_world *world) {
    const mica_system_def left = {.name = "left", .run = racing_left, .query = {mica_write(Left)}};
    const mica_system_def right = {.name = "right", .run = racing_right, .query = {mica_write(Right)}};
    return mica_system_add(world, &left).id != 0 && mica_system_add(world, &right).id != 0;
}
