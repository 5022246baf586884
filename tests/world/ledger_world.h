// A world whose values' books and memory are watched.
#pragma once

#include "ledger.h"
#include "support/test_allocator.h"

#include <mica/mica.h>

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
} fixture;

static inline void begin(fixture *f) {
    ledger_start();
    test_allocator_init(&f->allocator);
    f->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
    assert_non_null(f->world);
}

static inline void check(mica_world *world) {
    ledger_check();
    assert_string_equal(mica_world_validate(world) == MICA_OK ? "" : mica_last_error(), "");
}

static inline void end(fixture *f) {
    check(f->world);
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
}
