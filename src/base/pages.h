// Pages that must not be touched for a while, and whoever touches them.
//
// A watch protects ranges of pages. What one thread touches of the ranges that it watches is noted, once, and goes
// through: the range is opened, and the instruction that was stopped runs again. All other faults of the process go on
// to whoever was there to handle them, as do those of threads that watch nothing.
#pragma once

#include "base/heap.h"

typedef struct mi_page_range {
    uint8_t *start;
    size_t byte_size; // both multiples of MI_HEAP_PAGE
    bool is_readable; // only writing is stopped
    bool is_open;     // nothing is, until the watch ends
    bool is_lent;     // nothing is, until the watch is no longer lifted
} mi_page_range;

typedef enum mi_touch { MI_TOUCH_NONE, MI_TOUCH_READ, MI_TOUCH_WRITE, MI_TOUCH_EITHER } mi_touch;

typedef struct mi_page_watch {
    mi_page_range *ranges; // apart from each other
    uint32_t range_count;
    uint32_t lift_count; // not 0: whatever is touched may be
    bool has_lent;
    // The first touch that was stopped: of which kind, where, and number of the range.
    mi_touch touch; // MI_TOUCH_EITHER: the system does not say
    uint32_t touched;
    const void *address;
    struct mi_page_watch *outer; // of the same thread
} mi_page_watch;

// Whether the system protects pages as small as MI_HEAP_PAGE.
bool mi_pages_can_protect(void);

// Protects the ranges until mi_page_watch_end on the same thread; watches of a thread are nested. All but `ranges` and
// `range_count` is zero. False: the system refuses, for there are too many, and nothing is protected. O(ranges).
bool mi_page_watch_begin(mi_page_watch *watch);
void mi_page_watch_end(mi_page_watch *watch);

// Lets pages be touched without that being noted until as many calls of mi_page_watch_settle: what was touched is
// protected again then. False: the system refuses that. O(ranges).
static inline void mi_page_watch_lift(mi_page_watch *watch) {
    watch->lift_count++;
}
bool mi_page_watch_settle(mi_page_watch *watch);
