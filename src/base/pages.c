// Protected pages, on POSIX systems: mprotect, and a handler of the signals that a touch raises.
//
// The handler belongs to the process, so it is there only while something is watched: the first watch puts it in place
// of the one that it finds, the last one puts that back, unless the program has set another one meanwhile, under which
// it stays. It finds what its thread watches by a thread-local pointer, and does nothing but store into plain memory
// and call the system. Faults that it does not know it hands on: it calls the handler that was there before as the
// system would have, or leaves the fault to the system.
//
// Invariants: a range that is neither open nor lent is protected while its watch lasts, and no other one is. Thus the
// handler cannot be called twice for the same reason: a fault in a range that it has opened is not its own.

// What is known of a fault beyond its address is no part of POSIX.
#define _GNU_SOURCE

#include "base/pages.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/os.h"

enum { SIGNAL_COUNT = 2 };

static const int signals[SIGNAL_COUNT] = {SIGSEGV, SIGBUS};

// What the process has of this. `previous` is of use to the handler as long as that may be called, which is forever, if
// the program has put one of its own on top.
static struct {
    mi_lock lock;
    uint32_t watch_count;
    bool is_placed[SIGNAL_COUNT];
    struct sigaction previous[SIGNAL_COUNT];
} handling = {.lock = {PTHREAD_MUTEX_INITIALIZER}};

static MI_THREAD_LOCAL mi_page_watch *innermost;

bool mi_pages_can_protect(void) {
    const long page_size = sysconf(_SC_PAGESIZE);
    return page_size > 0 && MI_HEAP_PAGE % (size_t)page_size == 0;
}

static bool protect(const mi_page_range *range) {
    return mprotect(range->start, range->byte_size, range->is_readable ? PROT_READ : PROT_NONE) == 0;
}

static bool open_range(const mi_page_range *range) {
    return mprotect(range->start, range->byte_size, PROT_READ | PROT_WRITE) == 0;
}

// Faults

static mi_touch touch_of(const mi_page_range *range, const void *context) {
    if (range->is_readable) {
        return MI_TOUCH_WRITE;
    }
#if defined(__linux__) && defined(__x86_64__)
    enum { WRITES = 2 }; // a bit of what the processor says of a page fault
    const ucontext_t *at = context;
    return (at->uc_mcontext.gregs[REG_ERR] & WRITES) != 0 ? MI_TOUCH_WRITE : MI_TOUCH_READ;
#else
    (void)context;
    return MI_TOUCH_EITHER;
#endif
}

static mi_page_range *find_range(const mi_page_watch *watch, const void *address) {
    for (uint32_t i = 0; i < watch->range_count; i++) {
        mi_page_range *range = &watch->ranges[i];
        if ((uintptr_t)address - (uintptr_t)range->start < range->byte_size) {
            return range->is_open || range->is_lent ? NULL : range;
        }
    }
    return NULL;
}

// Opens the range that was touched; false: the thread watches none.
static bool take_fault(const siginfo_t *info, const void *context) {
    mi_page_watch *watch = innermost;
    mi_page_range *range = NULL;
    while (watch != NULL && (range = find_range(watch, info->si_addr)) == NULL) {
        watch = watch->outer;
    }
    if (range == NULL || !open_range(range)) {
        return false;
    }
    if (watch->lift_count > 0) {
        range->is_lent = true;
        watch->has_lent = true;
        return true;
    }
    range->is_open = true;
    if (watch->touch == MI_TOUCH_NONE) {
        watch->touch = touch_of(range, context);
        watch->touched = (uint32_t)(range - watch->ranges);
        watch->address = info->si_addr;
    }
    return true;
}

// Leaves the signal to the handler that was there before.
static void hand_on(struct sigaction *previous, int signal, siginfo_t *info, void *context) {
    const struct sigaction action = *previous;
    if ((action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        // A fault comes again when this returns. One that somebody has sent does not.
        if (info->si_code > 0) {
            sigaction(signal, &action, NULL);
        } else if (action.sa_handler == SIG_DFL) {
            sigaction(signal, &action, NULL);
            raise(signal);
        }
        return;
    }
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL); // until the present handler returns
    if ((action.sa_flags & SA_NODEFER) != 0) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, signal);
        pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    }
    if (((unsigned)action.sa_flags & (unsigned)SA_RESETHAND) != 0) {
        *previous = (struct sigaction){.sa_handler = SIG_DFL};
    }
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
    } else {
        action.sa_handler(signal);
    }
}

static void handle(int signal, siginfo_t *info, void *context) {
    const int error = errno;
    if (info->si_code <= 0 || !take_fault(info, context)) {
        hand_on(&handling.previous[signal == signals[0] ? 0 : 1], signal, info, context);
    }
    errno = error;
}

// The handler

static void place_handler(void) {
    // It runs on a stack of its own if there is one, for the sake of those that it hands on to.
    struct sigaction own = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    own.sa_sigaction = handle;
    sigemptyset(&own.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        if (!handling.is_placed[i]) {
            handling.is_placed[i] =
                sigaction(signals[i], NULL, &handling.previous[i]) == 0 && sigaction(signals[i], &own, NULL) == 0;
        }
    }
}

static void remove_handler(void) {
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction present;
        const bool is_own = sigaction(signals[i], NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) != 0 &&
                            present.sa_sigaction == handle;
        if (handling.is_placed[i] && is_own) {
            sigaction(signals[i], &handling.previous[i], NULL);
            handling.is_placed[i] = false;
        }
    }
}

static void enter(mi_page_watch *watch) {
    watch->outer = innermost;
    innermost = watch;
    mi_lock_take(&handling.lock);
    if (handling.watch_count++ == 0) {
        place_handler();
    }
    mi_lock_give(&handling.lock);
}

static void leave(const mi_page_watch *watch) {
    MI_ASSERT(innermost == watch);
    mi_lock_take(&handling.lock);
    if (--handling.watch_count == 0) {
        remove_handler();
    }
    mi_lock_give(&handling.lock);
    innermost = watch->outer;
}

// Watches

bool mi_page_watch_begin(mi_page_watch *watch) {
    enter(watch);
    for (uint32_t i = 0; i < watch->range_count; i++) {
        if (!protect(&watch->ranges[i])) {
            watch->range_count = i;
            mi_page_watch_end(watch);
            return false;
        }
    }
    return true;
}

void mi_page_watch_end(mi_page_watch *watch) {
    for (uint32_t i = watch->range_count; i-- > 0;) { // back the way it came: so the system needs nothing for it
        const bool is_opened = open_range(&watch->ranges[i]);
        MI_ASSERT(is_opened);
        (void)is_opened;
    }
    leave(watch);
}

bool mi_page_watch_settle(mi_page_watch *watch) {
    MI_ASSERT(watch->lift_count > 0);
    watch->lift_count--;
    if (watch->lift_count > 0 || !watch->has_lent) {
        return true;
    }
    watch->has_lent = false;
    bool is_done = true;
    for (uint32_t i = 0; i < watch->range_count; i++) {
        mi_page_range *range = &watch->ranges[i];
        if (range->is_lent) {
            range->is_lent = false;
            is_done = protect(range) && is_done;
        }
    }
    return is_done;
}
