// The one layer over the operating system: pages, locks, threads, the clock, thread-local storage. (POSIX; another
// system needs another os.c.)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#define MI_THREAD_LOCAL _Thread_local

// What threads should not write to side by side is kept so many bytes apart.
#define MI_CACHE_LINE 64

typedef struct mi_lock {
    pthread_mutex_t mutex;
} mi_lock;

bool mi_lock_init(mi_lock *lock);
void mi_lock_destroy(mi_lock *lock);
void mi_lock_take(mi_lock *lock);
void mi_lock_give(mi_lock *lock);

// What threads wait for under a lock. A wait may end for no reason, so it stands in a loop on what is waited for.
typedef struct mi_condition {
    pthread_cond_t condition;
} mi_condition;

bool mi_condition_init(mi_condition *condition);
void mi_condition_destroy(mi_condition *condition);
// Gives the lock back, waits, and takes it again.
void mi_condition_wait(mi_condition *condition, mi_lock *lock);
void mi_condition_wake_all(mi_condition *condition);

// Where one thread sleeps until others wake it. A wake-up that comes before the sleep is kept, and ends it at once;
// several that were kept end one. Whoever wakes may touch it for a moment after the sleeper has gone on.
typedef struct mi_parker {
    mi_lock lock;
    mi_condition condition;
    bool is_woken;
} mi_parker;

bool mi_parker_init(mi_parker *parker);
void mi_parker_destroy(mi_parker *parker);
void mi_parker_sleep(mi_parker *parker);
void mi_parker_wake(mi_parker *parker);

// A thread, which stays where it is until it has been waited for.
typedef struct mi_thread {
    pthread_t thread;
    void (*function)(void *argument);
    void *argument;
    char name[16]; // as much as the system shows
} mi_thread;

// Starts a thread that leaves signals to others, but for those that its own instructions cause. A longer name is cut.
// False: the system gives no thread.
bool mi_thread_start(mi_thread *thread, const char *name, void (*function)(void *argument), void *argument);
// Waits for its end. Every thread that was started is waited for once.
void mi_thread_join(mi_thread *thread);

// How many cores this process may use, at least 1.
int32_t mi_os_core_count(void);

// Lets the core's other half, or its clock, have a moment: for loops that look for what another thread is about to do.
static inline void mi_os_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

// Lets other threads have the core if there are any that could run on it.
void mi_os_yield(void);

// Nanoseconds of a clock that never goes back.
uint64_t mi_os_nanoseconds(void);

// How the calling thread rounds, and what it does with numbers near zero: arithmetic in floating point gives other
// results where that differs.
static inline uint32_t mi_os_float_mode(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f); // without what has happened so far
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (uint32_t)mode;
#else
    return 0;
#endif
}
static inline void mi_os_set_float_mode(uint32_t mode) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(mode);
#elif defined(__aarch64__)
    const uint64_t wide = mode;
    __asm__ volatile("msr fpcr, %0" ::"r"(wide));
#else
    (void)mode;
#endif
}

// A count that grows evenly, read in a few nanoseconds; how long one of it takes is found by comparing with the clock.
static inline uint64_t mi_os_count(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return mi_os_nanoseconds();
#endif
}

// Zeroed pages at a multiple of `alignment` (a power of two of at least 4 KiB), NULL when there are none. Huge pages
// are advised for sizes of 2 MiB and more.
void *mi_os_pages_take(size_t byte_size, size_t alignment);
void mi_os_pages_give(void *pages, size_t byte_size);
