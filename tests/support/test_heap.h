// A heap that takes its memory from a counting allocator, for tests of what lies below a world.
#pragma once

#include "base/heap.h"
#include "support/test_allocator.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

// Begins both; test_allocator_finish ends them.
static inline void test_heap_begin(test_allocator *allocator, mi_heap *heap) {
    test_allocator_init(allocator);
    const mica_allocator hooks = test_allocator_hooks(allocator);
    assert_true(mi_heap_init(heap, &hooks));
}
