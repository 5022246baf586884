// The world of a test program, begun by each case and ended with it, and the allocator that it takes its memory from.
#pragma once

#include <mica/system.h>
#include <mica/world.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/test_allocator.h"

static test_allocator allocator;
static mica_world *world;

// For a function that sets up: a world with the allocator, and no error.
static inline void begin_world(mica_world_def def) {
    test_allocator_init(&allocator);
    def.allocator = test_allocator_hooks(&allocator);
    world = mica_world_create(&def);
    assert_non_null(world);
    mica_error_clear();
}

static int end_world(void **state) {
    (void)state;
    const mica_result valid = world == NULL ? MICA_OK : mica_world_validate(world);
    mica_world_destroy(world);
    world = NULL;
    test_allocator_finish(&allocator);
    assert_int_equal(valid, MICA_OK);
    return 0;
}

static inline mica_system add_to(mica_world *to, const mica_system_def *def) {
    const mica_system system = mica_system_add(to, def);
    if (system.id == 0) {
        fail_msg("%s", mica_last_error());
    }
    return system;
}
