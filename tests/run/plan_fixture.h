// A plan of two stages, and the heap that it is made in.
#pragma once

#include "run/plan.h"

#include "support/test_heap.h"

static const mica_stage two_stages[] = {MICA_UPDATE, MICA_PHYSICS};

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_plan plan;
} fixture;

static inline void begin(void **state) {
    static fixture shared;
    shared = (fixture){0};
    test_heap_begin(&shared.allocator, &shared.heap);
    *state = &shared;
}

static inline void end(fixture *test) {
    mi_plan_free(&test->plan, &test->heap);
    test_allocator_finish(&test->allocator);
}

static inline mi_plan_system in_stage(const char *name, mica_stage stage, int32_t priority) {
    return (mi_plan_system){.name = name, .place_count = 1, .places = {{stage, priority}}};
}

// Of the systems in the order in which they lie.
static inline mica_result make(fixture *test, const mi_plan_system *systems, uint32_t count) {
    static const mi_plan_system *pointers[1000];
    assert_true(count <= sizeof(pointers) / sizeof(pointers[0]));
    for (uint32_t i = 0; i < count; i++) {
        pointers[i] = &systems[i];
    }
    return mi_plan_make(&test->plan, &test->heap, two_stages, 2, pointers, count);
}

// Adds to a relation what follows from it: that of a and c where there are those of a and b and of b and c.
static inline void close_over(uint32_t size, bool relation[size][size], uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = 0; b < count; b++) {
                relation[a][b] = relation[a][b] || (relation[a][k] && relation[k][b]);
            }
        }
    }
}
