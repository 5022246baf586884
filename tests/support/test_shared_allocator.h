// The allocator that the worlds of a test program take their memory from, begun and ended with each case.
#pragma once

#include <mica/result.h>

#include "support/test_allocator.h"

static test_allocator allocator;

static int set_up(void **state) {
    (void)state;
    test_allocator_init(&allocator);
    mica_error_clear();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_allocator_finish(&allocator);
    return 0;
}
