// A pool of threads, as the core uses it: jobs that lie in their callers' structs, in groups that are waited for.
//
//   mi_job_group group = {0};
//   for (...) { part[i].job.function = do_part; mi_jobs_start(jobs, &group, &part[i].job); }
//   mi_jobs_wait(jobs, &group);
//
// Rules for those who start jobs. What a group was opened for by its first start is waited for on the same thread, by
// mi_jobs_wait, before the job or call that opened it returns. Jobs of a group may start further ones in it. A job
// waits for groups that it has opened itself and for nothing else of this kind; it may wait for public jobs
// (mica/jobs.h).
//
// What is promised. A thread that waits runs jobs of its own alone: within a job, what that job has started, directly
// or by way of others; outside of any, what this thread has. So whoever waits never finds somebody else's job on top of
// its stack, and stacks grow no deeper than jobs are nested. What is started runs, whoever else waits for what. Jobs of
// one group start in no order.
#pragma once

#include <mica/jobs.h>

struct mi_jobs_seat;

// Embedded in what it works on; the caller sets `function`. The job is the pool's until its function is called; from
// then on it is the function's own, which may end its life.
typedef struct mi_job {
    void (*function)(struct mi_job *job);
    struct mi_job_group *group; // set by mi_jobs_start
} mi_job;

// Zero is an empty group, and one that was waited for is so again.
typedef struct mi_job_group {
    uint32_t pending;          // atomic: jobs that have not ended, and MI_PENDING_MARK
    struct mi_jobs_seat *seat; // of the thread that waits; written before the first job can be seen
    void *handed_back;         // atomic: the job that this thread has to run itself; NULL: none waits for it
} mi_job_group;

// Hands a job over, waking at most one thread. Runs it at once where there is no room for it. O(1).
void mi_jobs_start(mica_jobs *jobs, mi_job_group *group, mi_job *job);

// Runs a job here and now, as one of the group: the share of the thread that starts the others, which is thereby within
// a job, and finds none of the others upon it when it waits.
void mi_jobs_run(mica_jobs *jobs, mi_job_group *group, mi_job *job);

// Hands a job over to the one thread that may run it, the one that waits for the group, where it goes before all else:
// the thread wakes up for it, and is held up by what it is running at most. From a job of the group on another thread,
// and not again before the job has begun. O(1).
void mi_jobs_hand_back(mica_jobs *jobs, mi_job_group *group, mi_job *job);

// Whether a job was handed back to the calling thread, which gets to it as soon as the one that it runs has ended: time
// to leave what others can go on with. Never of a job that the thread runs while it waits within another one. O(1).
bool mi_jobs_is_wanted(const mica_jobs *jobs);

// Returns when all jobs of the group have ended; all that they did is seen then.
void mi_jobs_wait(mica_jobs *jobs, mi_job_group *group);

// Whether a thread that could run what the calling one starts has nothing to do. A hint. O(1).
bool mi_jobs_has_idle(const mica_jobs *jobs);

// The number of the calling thread, 0 to thread_count - 1: for room of its own in the work of one caller. A thread of
// the pool has the same one, not 0, for as long as it lives (with a hook: for as long as it stays); all threads from
// outside have 0, which is enough, since none of them runs jobs that another one has brought in. O(1).
int32_t mi_jobs_thread(const mica_jobs *jobs);
