// Cost by size: twice as many entities cost twice the instructions, from the making of the world to its end, where
// others have had work that grows with the world at each step.
#include "support/test_instructions.h"
#include "support/test_random.h"
#include "world/world_fixture.h"

#include <stdlib.h>

enum { SMALL_COUNT = 3000 };

static const double GROWTH_LIMIT = 2.2;

MICA_TAG(Seen);

// Applying what an observer records, one command for each entity that is made

static void mark_as_seen(const mica_signal *signal) {
    mica_add(signal->commands, signal->entity, Seen);
}

static bool make_and_apply(int32_t count) {
    mica_world *world = mica_world_create(NULL);
    mica_observer_connect(world, &(mica_observer_def){.on = MICA_CREATED, .call = mark_as_seen});
    for (int32_t i = 0; i < count; i++) {
        mica_spawn(world, mica_value_of(Health, {i}));
    }
    mica_query *seen = mica_query_of(world, mica_with(Seen));
    const bool all_seen = mica_query_count(seen) == count;
    mica_world_destroy(world);
    return all_seen;
}

// Destroying siblings

typedef struct family {
    mica_world *world;
    mica_entity parent;
    mica_entity *children;
    int32_t count;
} family;

static bool destroy_from_the_front(const family *f) {
    bool right = true;
    for (int32_t i = 0; i < f->count; i++) {
        right = right && mica_entity_equal(mica_first_child(f->world, f->parent), f->children[i]) &&
                mica_destroy(f->world, f->children[i]) == MICA_OK;
    }
    return right && mica_world_entity_count(f->world) == 1;
}

static bool destroy_from_the_back(const family *f) {
    bool right = true;
    for (int32_t i = f->count - 1; i >= 0; i--) {
        right = right && mica_entity_equal(mica_last_child(f->world, f->parent), f->children[i]) &&
                mica_destroy(f->world, f->children[i]) == MICA_OK;
    }
    return right && mica_world_entity_count(f->world) == 1;
}

static bool destroy_at_random(const family *f) {
    bool right = true;
    test_random random = {5};
    for (int32_t left = f->count; left > 0; left--) {
        const uint32_t chosen = test_random_below(&random, (uint32_t)left);
        right = right && mica_destroy(f->world, f->children[chosen]) == MICA_OK;
        f->children[chosen] = f->children[left - 1];
    }
    return right && mica_child_count(f->world, f->parent) == 0 && mica_world_entity_count(f->world) == 1;
}

static bool destroy_with_the_parent(const family *f) {
    return mica_destroy_subtree(f->world, f->parent) == MICA_OK && mica_world_entity_count(f->world) == 0;
}

// The children become roots.
static bool destroy_the_parent_alone(const family *f) {
    const bool right = mica_destroy(f->world, f->parent) == MICA_OK && mica_world_entity_count(f->world) == f->count;
    return right && mica_entity_is_null(mica_parent(f->world, f->children[f->count / 2]));
}

static bool destroy_in_one_call(const family *f) {
    return mica_destroy_many(f->world, f->children, f->count) == MICA_OK &&
           mica_child_count(f->world, f->parent) == 0 && mica_world_entity_count(f->world) == 1;
}

static bool raise_and_destroy(int32_t count, bool (*destroy)(const family *f)) {
    family f = {
        .world = mica_world_create(NULL), .children = calloc((size_t)count, sizeof(mica_entity)), .count = count};
    assert_true(f.world != NULL && f.children != NULL);
    f.parent = mica_create(f.world);
    for (int32_t i = 0; i < count; i++) {
        f.children[i] = mica_spawn(f.world, mica_value_of(Health, {i}), mica_value_of(mica_child_of, {f.parent}));
    }
    const bool right = mica_child_count(f.world, f.parent) == count && destroy(&f);
    mica_world_destroy(f.world);
    free(f.children);
    return right;
}

static const struct {
    const char *name;
    bool (*destroy)(const family *f);
} destructions[] = {
    {"front", destroy_from_the_front},
    {"back", destroy_from_the_back},
    {"random", destroy_at_random},
    {"parent", destroy_with_the_parent},
    {"parent alone", destroy_the_parent_alone},
    {"one call", destroy_in_one_call},
};
enum { DESTRUCTION_COUNT = sizeof destructions / sizeof *destructions };

static void expect_linear_growth(const char *work) {
    double instructions[2];
    for (int32_t i = 0; i < 2; i++) {
        char count[16];
        (void)snprintf(count, sizeof count, "%d", SMALL_COUNT << i);
        instructions[i] = test_count_instructions(work, count);
    }
    if (instructions[1] > GROWTH_LIMIT * instructions[0]) {
        fail_msg("%s: %d entities cost %.0f instructions, twice as many cost %.0f", work, SMALL_COUNT, instructions[0],
                 instructions[1]);
    }
}

static void a_command_of_an_observer_for_each_new_entity_grows_linearly(void **state) {
    (void)state;
    expect_linear_growth("observer");
}

static void destroying_siblings_in_any_order_grows_linearly(void **state) {
    (void)state;
    for (int32_t i = 0; i < DESTRUCTION_COUNT; i++) {
        expect_linear_growth(destructions[i].name);
    }
}

// Does the work of this name; whether it came out right.
static bool run_counted(const char *work, int32_t count) {
    for (int32_t i = 0; i < DESTRUCTION_COUNT; i++) {
        if (strcmp(work, destructions[i].name) == 0) {
            return raise_and_destroy(count, destructions[i].destroy);
        }
    }
    return strcmp(work, "observer") == 0 && make_and_apply(count);
}

int main(int argument_count, char **arguments) {
    if (argument_count == 3) {
        return run_counted(arguments[1], (int32_t)strtol(arguments[2], NULL, 10)) ? 0 : 1;
    }
    if (TEST_IS_SANITIZED) {
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_of_an_observer_for_each_new_entity_grows_linearly),
        cmocka_unit_test(destroying_siblings_in_any_order_grows_linearly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
