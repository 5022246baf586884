// The operating system: POSIX threads, the monotonic clock, and anonymous pages.
//
// Nothing in src/ but this and file.c calls the system beyond the C library. Pages are mapped privately and zeroed by
// the kernel; a mapping is given back by its size alone, so sizes are rounded to whole pages in the same way on both
// sides.

// Anonymous mappings and advice on them are no part of POSIX 2008, which the strict C dialect shows alone.
#define _DEFAULT_SOURCE

#include "base/os.h"

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
