// A work-stealing deque (Chase and Lev 2005): its owner pushes and pops at one end, any thread steals at the other.
//
// Items are pointers with a label, a number by which thieves choose before they take. The capacity is fixed: a push
// into a full deque is refused. Ends only ever count upwards but for the pop that lowers its own; index i lies in slot
// i modulo the capacity.
//
// Invariants: items are those from `top` to `bottom`, in order of their pushes; the owner alone writes `bottom` and the
// slots; `top` moves by one, by whoever takes the item there. All memory orders stand in atomic.h.
#pragma once

#include "base/assert.h"
#include "base/atomic.h"

#include <stddef.h>

#define MI_CACHE_LINE_SIZE 64

typedef struct mi_deque_slot {
    uintptr_t item; // void *
    uintptr_t label;
} mi_deque_slot;

typedef struct mi_deque {
    _Alignas(MI_CACHE_LINE_SIZE) int64_t top;
    _Alignas(MI_CACHE_LINE_SIZE) int64_t bottom;
    mi_deque_slot *slots;
    int64_t capacity;
} mi_deque;

typedef enum mi_steal {
    MI_STEAL_TAKEN,
    MI_STEAL_EMPTY,
    MI_STEAL_OTHER, // the item at the thieves' end has another label
    MI_STEAL_LOST   // somebody else was faster: there may be more
} mi_steal;

#define MI_LABEL_ANY UINTPTR_MAX

// `capacity` is a power of two, and `slots` has so many, which need not be zeroed.
static inline void mi_deque_init(mi_deque *deque, mi_deque_slot *slots, int64_t capacity) {
    MI_ASSERT(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *deque = (mi_deque){.slots = slots, .capacity = capacity};
}

static inline mi_deque_slot *mi_deque_slot_at(const mi_deque *deque, int64_t index) {
    return &deque->slots[index & (deque->capacity - 1)];
}

// The index of the next push. The owner's.
static inline int64_t mi_deque_level(const mi_deque *deque) {
    return mi_deque_own_end(&deque->bottom);
}

// False: it is full. The owner's.
static inline bool mi_deque_push(mi_deque *deque, void *item, uintptr_t label) {
    const int64_t bottom = mi_deque_own_end(&deque->bottom);
    if (bottom - mi_deque_far_end(&deque->top) >= deque->capacity) {
        return false;
    }
    mi_deque_slot *slot = mi_deque_slot_at(deque, bottom);
    mi_deque_write(&slot->item, (uintptr_t)item);
    mi_deque_write(&slot->label, label);
    mi_deque_move_end(&deque->bottom, bottom + 1);
    return true;
}

// The item that was pushed last, if its index is at least `level`; NULL: there is none. The owner's.
static inline void *mi_deque_pop(mi_deque *deque, int64_t level, uintptr_t *label) {
    const int64_t last = mi_deque_own_end(&deque->bottom) - 1;
    // Without a store where nothing is there to be had: the thieves' end only grows.
    if (last < level || last < mi_deque_far_end(&deque->top)) {
        return NULL;
    }
    mi_deque_move_end(&deque->bottom, last);
    const int64_t top = mi_deque_end(&deque->top);
    if (top > last) {
        mi_deque_restore_end(&deque->bottom, last + 1);
        return NULL;
    }
    const mi_deque_slot *slot = mi_deque_slot_at(deque, last);
    void *item = (void *)mi_deque_read(&slot->item);
    *label = mi_deque_read(&slot->label);
    if (top == last) {
        // The only one is taken at the thieves' end, as they do.
        if (!mi_deque_take_end(&deque->top, top)) {
            item = NULL;
        }
        mi_deque_restore_end(&deque->bottom, last + 1);
    }
    return item;
}

// What mi_deque_steal would find, but that it may be gone by then. Any thread.
static inline mi_steal mi_deque_peek(const mi_deque *deque, uintptr_t wanted) {
    const int64_t top = mi_deque_end(&deque->top);
    if (top >= mi_deque_end(&deque->bottom)) {
        return MI_STEAL_EMPTY;
    }
    if (wanted != MI_LABEL_ANY && mi_deque_read(&mi_deque_slot_at(deque, top)->label) != wanted) {
        return MI_STEAL_OTHER;
    }
    return MI_STEAL_TAKEN;
}

// Takes the item that was pushed first if it has the label. Any thread.
static inline mi_steal mi_deque_steal(mi_deque *deque, uintptr_t wanted, void **item, uintptr_t *label) {
    const int64_t top = mi_deque_end(&deque->top);
    if (top >= mi_deque_end(&deque->bottom)) {
        return MI_STEAL_EMPTY;
    }
    // The slot may be written again while it is read; then `top` has moved.
    const mi_deque_slot *slot = mi_deque_slot_at(deque, top);
    const uintptr_t seen_item = mi_deque_read(&slot->item);
    const uintptr_t seen_label = mi_deque_read(&slot->label);
    if (wanted != MI_LABEL_ANY && seen_label != wanted) {
        return MI_STEAL_OTHER;
    }
    if (!mi_deque_take_end(&deque->top, top)) {
        return MI_STEAL_LOST;
    }
    *item = (void *)seen_item;
    *label = seen_label;
    return MI_STEAL_TAKEN;
}
