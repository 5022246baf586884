// Systems that touch components named by letters, and a plan of them.
#pragma once

#include "run/plan_fixture.h"

#include <stdio.h>

enum { SYSTEMS_MOST = 24, NAME_SIZE = 8 };

// The systems of a case.
static struct {
    char names[SYSTEMS_MOST][NAME_SIZE];
    mi_plan_system systems[SYSTEMS_MOST];
    uint32_t count;
} added;

static inline int set_up(void **state) {
    begin(state);
    added.count = 0;
    return 0;
}

static inline void forget_systems(fixture *test) {
    for (uint32_t i = 0; i < added.count; i++) {
        mi_access_free(&added.systems[i].access, &test->heap);
    }
    added.count = 0;
}

static inline int tear_down(void **state) {
    fixture *test = *state;
    forget_systems(test);
    end(test);
    return 0;
}

static inline mi_plan_system *add(mica_stage stage) {
    assert_true(added.count < SYSTEMS_MOST);
    char *name = added.names[added.count];
    snprintf(name, NAME_SIZE, "s%u", added.count);
    mi_plan_system *system = &added.systems[added.count++];
    *system = in_stage(name, stage, 0);
    return system;
}

// A system that reads the components named by small letters, and writes those named by capitals.
static inline mi_plan_system *add_touching(fixture *test, const char *access) {
    mi_plan_system *system = add(MICA_UPDATE);
    for (; *access != 0; access++) {
        const bool writes = *access < 'a';
        const mica_component component = (mica_component)(1 + *access - (writes ? 'A' : 'a'));
        assert_true(mi_access_add(&system->access, &test->heap, component, writes));
    }
    return system;
}

static inline void make_all(fixture *test) {
    assert_int_equal(make(test, added.systems, added.count), MICA_OK);
}
