// Component types that keep books: every value knows its address and owns a piece of memory, so that a value that is
// moved by bytes, used after its end, ended twice or forgotten is noticed.
//
// `Owned` can be copied; `Sole` is move-only. The books are per test program; ledger_check fails the test if they are
// wrong, ledger_finish also if a value is left.
#pragma once

#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Owned {
    const struct Owned *self; // the value's address, NULL: raw memory
    int32_t *number;          // taken from the world's allocator
} Owned;

typedef struct Sole {
    Owned owned;
} Sole;

typedef struct test_ledger {
    int64_t made_count;  // constructed or copied
    int64_t ended_count; // destructed
    int64_t moved_count;
    const char *fault; // the first thing that went wrong
} test_ledger;

static test_ledger ledger;

// The build that moves all columns at every chance moves values more often than a change asks for.
#if defined(MI_MOVE_ALWAYS) && MI_MOVE_ALWAYS
#define LEDGER_COUNTS_MOVES false
#else
#define LEDGER_COUNTS_MOVES true
#endif

static void ledger_fault(const char *fault) {
    if (ledger.fault == NULL) {
        ledger.fault = fault;
    }
}

static bool owned_make(Owned *value, int32_t number, const mica_hook_context *context) {
    const mica_allocator *allocator = context->allocator;
    value->number = allocator->allocate(allocator->user, sizeof(int32_t), _Alignof(int32_t));
    if (value->number == NULL) {
        return false;
    }
    *value->number = number;
    value->self = value;
    ledger.made_count++;
    return true;
}

static void owned_end(Owned *value, const mica_hook_context *context) {
    if (value->self != value) {
        ledger_fault("a value is destructed that does not live at this address");
        return;
    }
    context->allocator->release(context->allocator->user, value->number, sizeof(int32_t), _Alignof(int32_t));
    value->self = NULL;
    ledger.ended_count++;
}

static bool owned_construct(void *values, int32_t count, const mica_hook_context *context) {
    Owned *owned = values;
    for (int32_t i = 0; i < count; i++) {
        if (!owned_make(&owned[i], -1, context)) {
            while (i-- > 0) {
                owned_end(&owned[i], context);
            }
            return false;
        }
    }
    return true;
}

static void owned_destruct(void *values, int32_t count, const mica_hook_context *context) {
    Owned *owned = values;
    for (int32_t i = 0; i < count; i++) {
        owned_end(&owned[i], context);
    }
}

static void owned_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    Owned *target = to;
    Owned *source = from;
    for (int32_t i = 0; i < count; i++) {
        if (source[i].self != &source[i]) {
            ledger_fault("a value is moved that does not live at this address");
        }
        target[i] = (Owned){.self = &target[i], .number = source[i].number};
        source[i].self = NULL;
        ledger.moved_count++;
    }
}

static bool owned_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    Owned *target = to;
    const Owned *source = from;
    for (int32_t i = 0; i < count; i++) {
        if (source[i].self != &source[i]) {
            ledger_fault("a value is copied that does not live at this address");
            return false;
        }
        if (!owned_make(&target[i], *source[i].number, context)) {
            while (i-- > 0) {
                owned_end(&target[i], context);
            }
            return false;
        }
    }
    return true;
}

MICA_COMPONENT_WITH(
    Owned,
    (.hooks = {.construct = owned_construct, .destruct = owned_destruct, .move = owned_move, .copy = owned_copy}));
MICA_COMPONENT_WITH(Sole, (.hooks = {.construct = owned_construct, .destruct = owned_destruct, .move = owned_move}));

// A value that a test holds itself: made with owned_hold, ended with owned_drop unless it was moved from.
// Its memory is of the world's values, since the world may come to own it.
static MICA_UNUSED void owned_hold(Owned *value, int32_t number, const mica_world *world) {
    const mica_hook_context context = {.allocator = &world->store.values};
    assert_true(owned_make(value, number, &context));
}

static MICA_UNUSED void owned_drop(Owned *value, const mica_world *world) {
    const mica_hook_context context = {.allocator = &world->store.values};
    if (value->self != NULL) {
        owned_end(value, &context);
    }
}

static MICA_UNUSED void ledger_start(void) {
    ledger = (test_ledger){.fault = NULL};
}

static MICA_UNUSED void ledger_check(void) {
    if (ledger.fault != NULL) {
        fail_msg("%s", ledger.fault);
    }
}

static MICA_UNUSED int64_t ledger_live_count(void) {
    return ledger.made_count - ledger.ended_count;
}

static MICA_UNUSED void ledger_finish(void) {
    ledger_check();
    assert_int_equal(ledger_live_count(), 0);
}
