// What systems do with components, one byte a component: what sets of accesses are held against.
#pragma once

#include "world/access.h"

#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { UNTOUCHED = 0, READ, WRITTEN };

// One more use at random of one of the components from 1 on, in the set too.
static inline void use_at_random(uint8_t *uses, uint32_t component_count, mi_access *access, mi_heap *heap,
                                 test_random *numbers) {
    const uint32_t index = test_random_below(numbers, component_count);
    const bool writes = test_random_below(numbers, 3) == 0;
    uses[index] = writes || uses[index] == WRITTEN ? WRITTEN : READ;
    assert_true(mi_access_add(access, heap, (mica_component)(index + 1), writes));
}

static inline bool uses_conflict(uint8_t a, uint8_t b) {
    return (a == WRITTEN && b != UNTOUCHED) || (b == WRITTEN && a != UNTOUCHED);
}
