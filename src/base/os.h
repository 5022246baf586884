// The one layer over the operating system: pages, locks, the clock, thread-local storage. (POSIX; another system needs
// another os.c.)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#define MI_THREAD_LOCAL _Thread_local

typedef struct mi_lock {
    pthread_mutex_t mutex;
} mi_lock;

bool mi_lock_init(mi_lock *lock);
void mi_lock_destroy(mi_lock *lock);
void mi_lock_take(mi_lock *lock);
void mi_lock_give(mi_lock *lock);

// Nanoseconds of a clock that never goes back.
uint64_t mi_os_nanoseconds(void);

// Zeroed pages at a multiple of `alignment` (a power of two of at least 4 KiB), NULL when there are none. Huge pages
// are advised for sizes of 2 MiB and more.
void *mi_os_pages_take(size_t byte_size, size_t alignment);
void mi_os_pages_give(void *pages, size_t byte_size);
