// The operating system: POSIX threads, the monotonic clock, and anonymous pages.
//
// Nothing in src/ but this, file.c and counters.c calls the system beyond the C library. Pages are mapped privately and
// zeroed by the kernel; a mapping is given back by its size alone, so sizes are rounded to whole pages in the same way
// on both sides.

// Anonymous mappings and advice on them, names of threads and the cores of a process are no part of POSIX 2008, which
// the strict C dialect shows alone.
#define _GNU_SOURCE

#include "base/os.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

#define HUGE_PAGE_SIZE ((size_t)2 << 20)

bool mi_lock_init(mi_lock *lock) {
    return pthread_mutex_init(&lock->mutex, NULL) == 0;
}

void mi_lock_destroy(mi_lock *lock) {
    const int error = pthread_mutex_destroy(&lock->mutex);
    MI_ASSERT(error == 0);
    (void)error;
}

void mi_lock_take(mi_lock *lock) {
    const int error = pthread_mutex_lock(&lock->mutex);
    MI_ASSERT(error == 0);
    (void)error;
}

void mi_lock_give(mi_lock *lock) {
    const int error = pthread_mutex_unlock(&lock->mutex);
    MI_ASSERT(error == 0);
    (void)error;
}

bool mi_condition_init(mi_condition *condition) {
    return pthread_cond_init(&condition->condition, NULL) == 0;
}

void mi_condition_destroy(mi_condition *condition) {
    const int error = pthread_cond_destroy(&condition->condition);
    MI_ASSERT(error == 0);
    (void)error;
}

void mi_condition_wait(mi_condition *condition, mi_lock *lock) {
    const int error = pthread_cond_wait(&condition->condition, &lock->mutex);
    MI_ASSERT(error == 0);
    (void)error;
}

void mi_condition_wake_all(mi_condition *condition) {
    const int error = pthread_cond_broadcast(&condition->condition);
    MI_ASSERT(error == 0);
    (void)error;
}

bool mi_parker_init(mi_parker *parker) {
    parker->is_woken = false;
    if (!mi_lock_init(&parker->lock)) {
        return false;
    }
    if (!mi_condition_init(&parker->condition)) {
        mi_lock_destroy(&parker->lock);
        return false;
    }
    return true;
}

void mi_parker_destroy(mi_parker *parker) {
    mi_condition_destroy(&parker->condition);
    mi_lock_destroy(&parker->lock);
}

void mi_parker_sleep(mi_parker *parker) {
    mi_lock_take(&parker->lock);
    while (!parker->is_woken) {
        mi_condition_wait(&parker->condition, &parker->lock);
    }
    parker->is_woken = false;
    mi_lock_give(&parker->lock);
}

void mi_parker_wake(mi_parker *parker) {
    mi_lock_take(&parker->lock);
    parker->is_woken = true;
    // The sleeper needs the lock when it wakes up, so that is free before.
    mi_lock_give(&parker->lock);
    mi_condition_wake_all(&parker->condition);
}

static void *run_thread(void *user) {
    mi_thread *thread = user;
    // A name is for debuggers alone; the system may have none.
    (void)pthread_setname_np(pthread_self(), thread->name);
    thread->function(thread->argument);
    return NULL;
}

// Signals that the program handles are for its own threads. Those that an instruction raises come to the thread that
// ran it, and would end the process if it had them blocked; profilers count on theirs.
static void signals_for_others(sigset_t *set) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigfillset(set);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        sigdelset(set, own[i]);
    }
}

bool mi_thread_start(mi_thread *thread, const char *name, void (*function)(void *argument), void *argument) {
    *thread = (mi_thread){.function = function, .argument = argument};
    const size_t length = strlen(name);
    memcpy(thread->name, name, length < sizeof(thread->name) ? length : sizeof(thread->name) - 1);
    sigset_t blocked, before;
    signals_for_others(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const bool is_started = pthread_create(&thread->thread, NULL, run_thread, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

void mi_thread_join(mi_thread *thread) {
    const int error = pthread_join(thread->thread, NULL);
    MI_ASSERT(error == 0);
    (void)error;
}

int32_t mi_os_core_count(void) {
    cpu_set_t cores;
    // It fails where the system has more cores than the set has bits.
    const long count =
        sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (int32_t)count : 1;
}

void mi_os_yield(void) {
    (void)sched_yield();
}

uint64_t mi_os_nanoseconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

// 0 if it does not fit.
static size_t whole_pages(size_t byte_size) {
    const size_t last = page_size() - 1;
    return byte_size > SIZE_MAX - last ? 0 : (byte_size + last) & ~last;
}

void *mi_os_pages_take(size_t byte_size, size_t alignment) {
    MI_ASSERT(alignment >= 4096 && (alignment & (alignment - 1)) == 0);
    const size_t mapped = whole_pages(byte_size);
    const bool is_huge = byte_size >= HUGE_PAGE_SIZE;
    if (is_huge && alignment < HUGE_PAGE_SIZE) {
        alignment = HUGE_PAGE_SIZE;
    }
    // The kernel aligns to pages. For more, map as much more as may be needed and give the ends back.
    const size_t slack = alignment > page_size() ? alignment - page_size() : 0;
    if (mapped == 0 || mapped > SIZE_MAX - slack) {
        return NULL;
    }
    char *start = mmap(NULL, mapped + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    const size_t front = (0 - (uintptr_t)start) & (alignment - 1);
    if (front > 0) {
        munmap(start, front);
    }
    if (front < slack) {
        munmap(start + front + mapped, slack - front);
    }
#ifdef MADV_HUGEPAGE
    if (is_huge) {
        // Advice: where it is not taken, the pages are merely small.
        (void)madvise(start + front, mapped, MADV_HUGEPAGE);
    }
#endif
    return start + front;
}

void mi_os_pages_give(void *pages, size_t byte_size) {
    const int error = munmap(pages, whole_pages(byte_size));
    MI_ASSERT(error == 0);
    (void)error;
}
