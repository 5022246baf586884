/// \file jobs.h
/// A pool of threads that worlds and other callers share, and work that spans frames.
///
/// A pool has a number of threads that take part in work, the one that asks for the work included: a pool for 4 creates
/// 3. They sleep while there is nothing to do. Worlds give their systems to it; any number of threads may do so at
/// once. A thread that waits for its work helps, with what it has started itself and with nothing else: no job of
/// somebody else ever comes upon it in the middle of its own.
///
/// **Work that spans frames.** `mica_job_start` kicks a function off and returns at once; frames later it is asked
/// whether it is done, or waited for.
///
/// **An engine's own threads.** With a hook nothing is created: the pool asks the engine for a thread when there is
/// work that one more could do.
#pragma once

#include <mica/memory.h>
#include <mica/result.h>

MICA_BEGIN

typedef struct mica_jobs mica_jobs;

/// As a number of threads: one for each core that the process may use.
#define MICA_THREADS_ALL (-1)
/// The most threads that take part in a pool.
#define MICA_THREADS_MAX 256
/// So many threads that are not the pool's can share their work with it at the same time. What others start meanwhile
/// they do themselves, at once.
#define MICA_JOBS_CALLER_MAX 16

/// The threads of an engine, in place of threads of the pool's own.
typedef struct mica_jobs_hook {
    /// Has one of the engine's threads call `function(argument)`, once, soon, and not on the calling thread before this
    /// returns. False: not now; then the work is done without. There are at most `thread_count - 1` such calls that
    /// have not returned; each goes on for as long as there is work. Any thread.
    bool (*start)(void *user, void (*function)(void *argument), void *argument);
    /// Does one thing that waits for the engine's threads, whatever it is, on the calling thread, which waits for
    /// something; false if there is none. NULL: threads that wait do nothing for the engine. Any thread.
    bool (*help)(void *user);
    void *user;
} mica_jobs_hook;

/// What a pool is to be. Zero is the default throughout.
typedef struct mica_jobs_def {
    const char *name;     ///< of its threads, with a number behind it; NULL: "mica"
    int32_t thread_count; ///< that take part, the caller's included; 0 or `MICA_THREADS_ALL`: one a core; 1: no other
    mica_allocator allocator; ///< zero: the default one; called by one thread at a time, on any
    mica_log_handler log;     ///< called on the thread of the call that failed
    mica_jobs_hook hook;      ///< `start` NULL: threads of the pool's own
} mica_jobs_def;

/// Makes a pool with one reference, held by the caller, and its threads. `def` may be NULL. NULL: `MICA_INVALID` (a
/// number of threads below -1 or over `MICA_THREADS_MAX`, half an allocator, a hook without `start`),
/// `MICA_OUT_OF_MEMORY`, `MICA_LIMIT` (the system gives no thread more; those that there were have ended).
/// O(threads), any thread.
MICA_API mica_jobs *mica_jobs_create(const mica_jobs_def *def);

/// Takes a further reference and returns `jobs`; NULL: `MICA_INVALID` (no pool). O(1), any thread.
MICA_API mica_jobs *mica_jobs_retain(mica_jobs *jobs);

/// Gives a reference back. The last one ends the pool: jobs that were started run to their end, those that nobody
/// waited for too; then the threads end, and with a hook all calls that the engine was asked for have returned. NULL is
/// allowed. Within a job of the pool the last reference stays (`MICA_LOCKED`, as the last error). O(1); the last one
/// waits for all that. Any thread.
MICA_API void mica_jobs_release(mica_jobs *jobs);

/// How many threads take part, the caller's included; 0: `MICA_INVALID` (no pool). O(1), any thread.
MICA_API int32_t mica_jobs_thread_count(const mica_jobs *jobs);

/// Names a job that was started. All zero is null. Copies are as good as the handle, and it is never used again for
/// another job: one whose job has ended says that it is done, for as long as the pool lives.
typedef struct mica_job {
    uint32_t index;
    uint32_t generation;
} mica_job;

/// Kicks off `function(data)` on a thread of the pool and returns at once. Threads look for it when worlds leave them
/// nothing to do. It may start jobs and wait for them; two that wait for each other wait for ever. In a pool of one
/// thread it runs when it is first asked for, waited for, or when the pool ends. Null: `MICA_OUT_OF_MEMORY`,
/// `MICA_INVALID` (no pool, no function). What it reads has to be there, and what it writes may not be touched, until
/// it is done. O(1), any thread.
MICA_API mica_job mica_job_start(mica_jobs *jobs, void (*function)(void *data), void *data);

/// Whether a job is done; all that it did is seen then. A handle that is null, or not of this pool as far as can be
/// told, has no job: false, `MICA_STALE`. False also: `MICA_INVALID` (no pool). O(1), any thread.
MICA_API bool mica_job_done(mica_jobs *jobs, mica_job job);

/// Waits until a job is done; all that it did is seen then. A job that no thread has begun runs here and now. Refuses:
/// `MICA_STALE` (as `mica_job_done`), `MICA_INVALID` (no pool). Any thread, and within other jobs.
MICA_API mica_result mica_job_wait(mica_jobs *jobs, mica_job job);

MICA_END
