// Three buffers between one writer and one reader: which of them is whose.
//
// One is the writer's, one the reader's, and one lies between, with a mark if the reader has not seen it yet. Either
// side exchanges its own for the one between, in one step, so that at any moment each of the three numbers stands in
// one place alone: nobody waits, and neither side ever touches what the other has.
#pragma once

#include "base/atomic.h"

enum { MI_TRIPLE_NEW = 4, MI_TRIPLE_NUMBER = 3 };

typedef struct mi_triple {
    uint32_t written;              // the writer's
    _Alignas(64) uint32_t between; // exchanged by both; MI_TRIPLE_NEW: it was published and not fetched yet
    _Alignas(64) uint32_t read;    // the reader's
} mi_triple;

static inline mi_triple mi_triple_make(void) {
    return (mi_triple){.written = 0, .between = 1, .read = 2};
}

// The writer's buffer is complete; another one is the writer's from now on: one that was never published, that the
// reader has given back, or that it has missed.
static inline void mi_triple_publish(mi_triple *triple) {
    triple->written = mi_exchange_buffer(&triple->between, triple->written | MI_TRIPLE_NEW) & MI_TRIPLE_NUMBER;
}

// Makes the buffer that was published last the reader's; false: it is already, or none was published.
static inline bool mi_triple_fetch(mi_triple *triple) {
    if ((mi_load_buffer(&triple->between) & MI_TRIPLE_NEW) == 0) {
        return false;
    }
    triple->read = mi_exchange_buffer(&triple->between, triple->read) & MI_TRIPLE_NUMBER;
    return true;
}
