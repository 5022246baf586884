// A world with a command buffer, whose values' books and memory are watched.
#pragma once

#include "support/test_allocator.h"
#include "world/ledger.h"

#include <mica/mica.h>

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_commands *commands;
    mica_component position, target, squad, frozen, owned, sole; // those that the tests have registered
} fixture;

static inline void begin(fixture *f) {
    test_allocator_init(&f->allocator);
    ledger_start();
    f->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
    assert_non_null(f->world);
    f->commands = mica_commands_create(f->world);
    assert_non_null(f->commands);
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    mica_commands_destroy(f->commands);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

static inline void apply(const fixture *f) {
    assert_int_equal(mica_commands_apply(f->commands), MICA_OK);
    assert_int_equal(mica_commands_count(f->commands), 0);
}

static inline mica_entity resolve(const fixture *f, mica_entity placeholder) {
    return mica_commands_resolve(f->commands, placeholder);
}

static inline void assert_counts(const fixture *f, uint64_t applied, uint64_t skipped) {
    const mica_commands_stats stats = mica_commands_statistics(f->commands);
    assert_int_equal(stats.applied_count, applied);
    assert_int_equal(stats.skipped_count, skipped);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, skipped);
}
