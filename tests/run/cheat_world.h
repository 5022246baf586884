// A system that does what it has not declared, beside one that does not, and what both find.
#pragma once

#include "support/test_allocator.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

MICA_STRUCT_WITH(Own, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Other, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Secret, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Loot, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT(Rule, { int32_t number; });
MICA_STRUCT(Alarm, { int32_t number; });

enum { VALUE = 42 }; // of all that is not to change

// What systems of a world share; made new for each case.
typedef struct scene {
    test_allocator allocator;
    mica_world *world;
    void (*act)(mica_run *run);  // what "cheat" does
    bool is_armed, in_condition; // whether it does it, and not when it runs but when it is asked to
    int32_t end_count;           // how often it went on to its end
    int32_t other_runs;
    mica_entity target; // what it touches
} scene;

static scene shared;

static int set_up(void **state) {
    shared = (scene){0};
    test_allocator_init(&shared.allocator);
    mica_error_clear();
    *state = &shared;
    return 0;
}

static int tear_down(void **state) {
    scene *test = *state;
    test_allocator_finish(&test->allocator);
    return 0;
}

static inline void act(mica_run *run) {
    scene *test = mica_run_user(run);
    if (test->is_armed && !test->in_condition) {
        test->act(run);
    }
    test->end_count++;
}

static inline bool act_in_condition(mica_run *run) {
    scene *test = mica_run_user(run);
    if (test->is_armed && test->in_condition) {
        test->act(run);
    }
    return true;
}

static inline void count_other(mica_run *run) {
    ((scene *)mica_run_user(run))->other_runs++;
}

static inline mica_system_def cheat_system(scene *test) {
    return (mica_system_def){
        .name = "cheat", .run = act, .condition = act_in_condition, .user = test, .query = {mica_write(Own)}};
}

static inline mica_system_def other_system(scene *test) {
    return (mica_system_def){.name = "other", .run = count_other, .user = test, .access = {mica_reads(Other)}};
}
