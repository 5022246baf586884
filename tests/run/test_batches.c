// Which systems of a plan may run side by side: against plans worked out by hand and against every pair of systems.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/touching_systems.h"
#include "support/test_random.h"
#include "world/access_uses.h"

// The batches as one line: each in brackets, of each system its number and, behind ">", who waits for it.
static const char *line_of(const mi_plan *plan) {
    static char line[4096];
    size_t length = 0;
    line[0] = 0;
    for (uint32_t i = 0; i < plan->batches.count; i++) {
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s[", i == 0 ? "" : " ");
        for (uint32_t k = plan->batches.data[i].first; k < plan->batches.data[i].end; k++) {
            const mi_plan_step *step = &plan->steps.data[k];
            length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s",
                                       k == plan->batches.data[i].first ? "" : " ", step->system->name + 1);
            for (uint32_t w = 0; w < step->waiter_count; w++) {
                const uint32_t waiter = plan->waiters.data[step->first_waiter + w];
                length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s", w == 0 ? ">" : ",",
                                           plan->steps.data[waiter].system->name + 1);
            }
        }
        length += (size_t)snprintf(line + length, sizeof(line) - length, "]");
    }
    return line;
}

static void systems_that_touch_nothing_in_common_wait_for_nobody(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "B");
    add_touching(test, "");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0 1 2]");
}

static void readers_run_side_by_side_between_writers(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "a");
    add_touching(test, "a");
    add_touching(test, "A");
    add_touching(test, "a");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0>1,2 1>3 2>3 3>4 4]");
    assert_int_equal(test->plan.steps.data[3].wait_count, 2);
    assert_int_equal(test->plan.steps.data[4].wait_count, 1);
}

static void writers_run_one_after_the_other(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "A");
    add_touching(test, "A");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0>1 1>2 2]");
}

static void nobody_waits_twice_for_the_same_system(void **state) {
    fixture *test = *state;
    add_touching(test, "ABCd");
    add_touching(test, "abcD");
    add_touching(test, "ABC");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0>1 1>2 2]");
    assert_int_equal(test->plan.steps.data[1].wait_count, 1);
    assert_int_equal(test->plan.steps.data[2].wait_count, 1);
}

static void exclusive_systems_part_batches(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "a");
    add_touching(test, "")->exclusive = true;
    add_touching(test, "a");
    add_touching(test, "A");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0>1 1] [3>4 4]");
    assert_int_equal(test->plan.steps.data[3].wait_count, 0);
}

static void barriers_and_stages_part_batches(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "a")->after[0] = "s0";
    add_touching(test, "A");
    added.systems[2].places[0].stage = MICA_PHYSICS;
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0] [1] [2]");
}

static void systems_of_the_main_thread_wait_for_each_other_and_for_whom_they_conflict_with(void **state) {
    fixture *test = *state;
    add_touching(test, "A")->main_thread = true;
    add_touching(test, "aB");
    add_touching(test, "c")->main_thread = true;
    add_touching(test, "C");
    add_touching(test, "bc")->main_thread = true;
    add_touching(test, "");
    make_all(test);
    assert_string_equal(line_of(&test->plan), "[0>1,2 1>4 2>3,4 3>4 4 5]");
    static const bool leads[] = {true, true, true, true, false, false};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(test->plan.steps.data[i].leads_to_main_thread, leads[i]);
    }
}

static void exclusive_systems_alone_make_no_batch(void **state) {
    fixture *test = *state;
    add_touching(test, "")->exclusive = true;
    add_touching(test, "A")->exclusive = true;
    make_all(test);
    assert_int_equal(test->plan.steps.count, 3);
    assert_int_equal(test->plan.batches.count, 0);
}

static void a_failed_allocation_leaves_no_batches(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "aB");
    add_touching(test, "b");
    for (uint64_t n = 1;; n++) {
        mi_plan_free(&test->plan, &test->heap);
        test_allocator_fail_at(&test->allocator, n);
        const mica_result result = make(test, added.systems, added.count);
        if (!test_allocator_fail_stop(&test->allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(test->plan.steps.count, 0);
        assert_int_equal(test->plan.batches.count, 0);
    }
    assert_string_equal(line_of(&test->plan), "[0>1 1>2 2]");
}

// Random systems against every pair of them

enum { COMPONENTS = 6, STEPS_MOST = 4 * SYSTEMS_MOST };

typedef struct random_case {
    uint8_t uses[SYSTEMS_MOST][COMPONENTS];
} random_case;

static void make_case(fixture *test, random_case *random, test_random *numbers) {
    memset(random, 0, sizeof(*random));
    forget_systems(test);
    const uint32_t count = 1 + test_random_below(numbers, SYSTEMS_MOST);
    for (uint32_t i = 0; i < count; i++) {
        mi_plan_system *system = add(two_stages[test_random_below(numbers, 2)]);
        system->places[0].priority = (int32_t)test_random_below(numbers, 3);
        system->exclusive = test_random_below(numbers, 16) == 0;
        system->main_thread = test_random_below(numbers, 8) == 0;
        if (i > 0 && test_random_below(numbers, 12) == 0) {
            system->after[0] = added.names[test_random_below(numbers, i)];
        }
        for (uint32_t k = test_random_below(numbers, 5); k > 0; k--) {
            use_at_random(random->uses[i], COMPONENTS, &system->access, &test->heap, numbers);
        }
    }
}

static bool conflict(const random_case *random, size_t a, size_t b) {
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        if (uses_conflict(random->uses[a][i], random->uses[b][i])) {
            return true;
        }
    }
    return false;
}

typedef bool relation[STEPS_MOST][STEPS_MOST];

// What the rule says: in a run of steps without barriers and exclusive systems, each waits for all earlier ones that it
// conflicts with, and those of the main thread for each other.
static void expect_waits(const fixture *test, const random_case *random, relation waits) {
    const mi_plan *plan = &test->plan;
    for (uint32_t a = 0; a < plan->steps.count; a++) {
        for (uint32_t b = a; b < plan->steps.count; b++) {
            const mi_plan_system *system_a = plan->steps.data[a].system;
            const mi_plan_system *system_b = plan->steps.data[b].system;
            if (system_a == NULL || system_b == NULL || system_a->exclusive || system_b->exclusive) {
                break;
            }
            waits[a][b] =
                a != b && ((system_a->main_thread && system_b->main_thread) ||
                           conflict(random, (size_t)(system_a - added.systems), (size_t)(system_b - added.systems)));
        }
    }
}

static uint32_t note_waits(const mi_plan *plan, relation waits) {
    uint32_t count = 0;
    uint32_t wait_counts[STEPS_MOST] = {0}; // as far as the earlier steps go
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_step *step = &plan->steps.data[i];
        for (uint32_t k = 0; k < step->waiter_count; k++) {
            const uint32_t waiter = plan->waiters.data[step->first_waiter + k];
            assert_true(waiter > i && waiter < plan->steps.count);
            assert_false(waits[i][waiter]);
            waits[i][waiter] = true;
            assert_true(wait_counts[waiter] < plan->steps.data[waiter].wait_count);
            assert_int_equal(plan->waits.data[plan->steps.data[waiter].first_wait + wait_counts[waiter]++], i);
            count++;
        }
    }
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        assert_int_equal(plan->steps.data[i].wait_count, wait_counts[i]);
    }
    return count;
}

static void check_batches(const mi_plan *plan) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_system *system = plan->steps.data[i].system;
        if (system == NULL || system->exclusive) {
            assert_int_equal(plan->steps.data[i].wait_count, 0);
            assert_int_equal(plan->steps.data[i].waiter_count, 0);
            continue;
        }
        assert_true(at < plan->batches.count);
        assert_int_equal(plan->batches.data[at].first, i);
        while (i + 1 < plan->steps.count && plan->steps.data[i + 1].system != NULL &&
               !plan->steps.data[i + 1].system->exclusive) {
            i++;
        }
        assert_int_equal(plan->batches.data[at].end, i + 1);
        at++;
    }
    assert_int_equal(at, plan->batches.count);
}

static void check_ways_to_main_thread(const mi_plan *plan, relation waits) {
    for (uint32_t a = 0; a < plan->steps.count; a++) {
        bool leads = false;
        for (uint32_t b = 0; b < plan->steps.count; b++) {
            leads |= waits[a][b] && plan->steps.data[b].system->main_thread;
        }
        assert_int_equal(plan->steps.data[a].leads_to_main_thread, leads);
    }
}

static void random_systems_wait_for_all_that_they_conflict_with(void **state) {
    fixture *test = *state;
    test_random numbers = {3};
    uint32_t wait_count = 0;
    uint32_t pair_count = 0;
    for (uint32_t round = 0; round < 1500; round++) {
        random_case random;
        make_case(test, &random, &numbers);
        make_all(test);
        assert_true(test->plan.steps.count <= STEPS_MOST);
        check_batches(&test->plan);
        static relation expected;
        static relation found;
        memset(expected, 0, sizeof(expected));
        memset(found, 0, sizeof(found));
        expect_waits(test, &random, expected);
        for (uint32_t a = 0; a < test->plan.steps.count; a++) {
            for (uint32_t b = 0; b < test->plan.steps.count; b++) {
                pair_count += expected[a][b];
            }
        }
        wait_count += note_waits(&test->plan, found);
        close_over(STEPS_MOST, expected, test->plan.steps.count);
        close_over(STEPS_MOST, found, test->plan.steps.count);
        assert_memory_equal(found, expected, sizeof(expected));
        check_ways_to_main_thread(&test->plan, expected);
    }
    // Those that others imply are left out.
    assert_true(wait_count > 5000 && wait_count < pair_count);
}

static void the_same_systems_give_the_same_batches(void **state) {
    fixture *test = *state;
    test_random numbers = {11};
    for (uint32_t round = 0; round < 100; round++) {
        random_case random;
        make_case(test, &random, &numbers);
        make_all(test);
        char line[4096];
        snprintf(line, sizeof(line), "%s", line_of(&test->plan));
        make_all(test); // in the room of the plan before
        assert_string_equal(line_of(&test->plan), line);
        mi_plan_free(&test->plan, &test->heap);
        make_all(test);
        assert_string_equal(line_of(&test->plan), line);
    }
}

// All of them read the same, one writes it in between: as many waits as systems, not as many as pairs.
static void many_readers_of_one_value_have_one_wait_each(void **state) {
    fixture *test = *state;
    enum { COUNT = 1000 };
    static char names[COUNT][NAME_SIZE];
    static mi_plan_system systems[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "s%u", i);
        systems[i] = in_stage(names[i], MICA_UPDATE, 0);
        assert_true(mi_access_add(&systems[i].access, &test->heap, 9, i == COUNT / 2));
    }
    assert_int_equal(make(test, systems, COUNT), MICA_OK);
    assert_int_equal(test->plan.batches.count, 1);
    assert_int_equal(test->plan.waiters.count, COUNT - 1);
    assert_int_equal(test->plan.steps.data[COUNT / 2].wait_count, COUNT / 2);
    assert_int_equal(test->plan.steps.data[COUNT / 2].waiter_count, COUNT / 2 - 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        mi_access_free(&systems[i].access, &test->heap);
    }
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(systems_that_touch_nothing_in_common_wait_for_nobody),
        CASE(readers_run_side_by_side_between_writers),
        CASE(writers_run_one_after_the_other),
        CASE(nobody_waits_twice_for_the_same_system),
        CASE(exclusive_systems_part_batches),
        CASE(barriers_and_stages_part_batches),
        CASE(systems_of_the_main_thread_wait_for_each_other_and_for_whom_they_conflict_with),
        CASE(exclusive_systems_alone_make_no_batch),
        CASE(a_failed_allocation_leaves_no_batches),
        CASE(random_systems_wait_for_all_that_they_conflict_with),
        CASE(the_same_systems_give_the_same_batches),
        CASE(many_readers_of_one_value_have_one_wait_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
