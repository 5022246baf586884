// The plan of a tick: order and barriers, against plans worked out by hand and against a checker that knows nothing of
// how plans are made.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/plan_fixture.h"
#include "support/test_random.h"

static int set_up(void **state) {
    begin(state);
    return 0;
}

static int tear_down(void **state) {
    end(*state);
    return 0;
}

// The plan as one line: names, "|" for a barrier, stages apart by "/".
static const char *line_of(const mi_plan *plan) {
    static char line[4096];
    size_t length = 0;
    line[0] = 0;
    for (uint32_t i = 0; i < plan->steps.count; i++) {
        const mi_plan_step *step = &plan->steps.data[i];
        if (i > 0 && step->stage != plan->steps.data[i - 1].stage) {
            length += (size_t)snprintf(line + length, sizeof(line) - length, "/ ");
        }
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s ",
                                   step->system == NULL ? "|" : step->system->name);
    }
    if (length > 0) {
        line[length - 1] = 0;
    }
    return line;
}

static void no_systems_give_an_empty_plan(void **state) {
    fixture *test = *state;
    assert_int_equal(make(test, NULL, 0), MICA_OK);
    assert_int_equal(test->plan.steps.count, 0);
}

static void systems_without_constraints_run_in_order_of_addition(void **state) {
    fixture *test = *state;
    const mi_plan_system systems[] = {in_stage("c", MICA_UPDATE, 0), in_stage("a", MICA_UPDATE, 0),
                                      in_stage("b", MICA_UPDATE, 0)};
    assert_int_equal(make(test, systems, 3), MICA_OK);
    assert_string_equal(line_of(&test->plan), "c a b |");
}

static void stages_run_in_their_order_with_a_barrier_each(void **state) {
    fixture *test = *state;
    const mi_plan_system systems[] = {in_stage("late", MICA_PHYSICS, 100), in_stage("early", MICA_UPDATE, -100)};
    assert_int_equal(make(test, systems, 2), MICA_OK);
    assert_string_equal(line_of(&test->plan), "early | / late |");
    const mi_plan_system alone[] = {in_stage("late", MICA_PHYSICS, 0)};
    assert_int_equal(make(test, alone, 1), MICA_OK);
    assert_string_equal(line_of(&test->plan), "late |");
}

static void higher_priority_runs_first(void **state) {
    fixture *test = *state;
    const mi_plan_system systems[] = {in_stage("low", MICA_UPDATE, INT32_MIN), in_stage("zero", MICA_UPDATE, 0),
                                      in_stage("high", MICA_UPDATE, INT32_MAX), in_stage("also zero", MICA_UPDATE, 0)};
    assert_int_equal(make(test, systems, 4), MICA_OK);
    assert_string_equal(line_of(&test->plan), "high zero also zero low |");
}

static void constraints_outrank_priority(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 10),
                                in_stage("c", MICA_UPDATE, 5)};
    systems[1].after[0] = "a";
    assert_int_equal(make(test, systems, 3), MICA_OK);
    assert_string_equal(line_of(&test->plan), "c a | b |");
    systems[1].after[0] = NULL;
    systems[0].before[0] = "b";
    assert_int_equal(make(test, systems, 3), MICA_OK);
    assert_string_equal(line_of(&test->plan), "c a | b |");
}

static void a_name_may_come_to_be_known_later(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 0)};
    systems[0].after[0] = "b";
    systems[0].after[1] = "nobody";
    assert_int_equal(make(test, systems, 1), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a |");
    assert_int_equal(make(test, systems, 2), MICA_OK);
    assert_string_equal(line_of(&test->plan), "b | a |");
}

static void constraints_across_stages_are_ignored(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_PHYSICS, 0)};
    systems[0].after[0] = "b";
    systems[1].before[0] = "a";
    assert_int_equal(make(test, systems, 2), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a | / b |");
}

static void a_barrier_stands_as_late_as_possible(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 3), in_stage("b", MICA_UPDATE, 2),
                                in_stage("c", MICA_UPDATE, 1), in_stage("d", MICA_UPDATE, 0)};
    systems[3].after[0] = "a";
    assert_int_equal(make(test, systems, 4), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a b c | d |");
}

static void one_barrier_serves_all_that_come_after_it(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 4), in_stage("b", MICA_UPDATE, 3),
                                in_stage("c", MICA_UPDATE, 2), in_stage("d", MICA_UPDATE, 1),
                                in_stage("e", MICA_UPDATE, 0)};
    systems[2].after[0] = "a";
    systems[3].after[0] = "a";
    systems[3].after[1] = "b";
    assert_int_equal(make(test, systems, 4), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a b | c d |");
    systems[4].after[0] = "c";
    assert_int_equal(make(test, systems, 5), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a b | c d | e |");
}

static void a_chain_has_a_barrier_at_each_link(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("c", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 0),
                                in_stage("a", MICA_UPDATE, 0)};
    systems[0].after[0] = "b";
    systems[0].after[1] = "a";
    systems[1].after[0] = "a";
    assert_int_equal(make(test, systems, 3), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a | b | c |");
}

static void a_system_in_two_stages_has_a_place_and_a_priority_in_each(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("both", MICA_UPDATE, 1),
                                in_stage("b", MICA_PHYSICS, 0), in_stage("c", MICA_PHYSICS, 0)};
    systems[1].places[systems[1].place_count++] = (mica_system_place){MICA_PHYSICS, -1};
    systems[1].before[0] = "c";
    assert_int_equal(make(test, systems, 4), MICA_OK);
    assert_string_equal(line_of(&test->plan), "both a | / b both | c |");
}

static void a_constraint_given_twice_counts_once(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("b", MICA_UPDATE, 0), in_stage("a", MICA_UPDATE, 0)};
    systems[0].after[0] = "a";
    systems[0].after[1] = "a";
    systems[1].before[0] = "b";
    assert_int_equal(make(test, systems, 2), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a | b |");
}

static void a_full_list_of_constraints_is_read_to_its_end(void **state) {
    fixture *test = *state;
    static const char *const names[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};
    mi_plan_system systems[9] = {in_stage("last", MICA_UPDATE, 0)};
    for (uint32_t i = 0; i < 8; i++) {
        systems[0].after[i] = names[i];
        systems[i + 1] = in_stage(names[i], MICA_UPDATE, 0);
    }
    assert_int_equal(make(test, systems, 9), MICA_OK);
    assert_string_equal(line_of(&test->plan), "s0 s1 s2 s3 s4 s5 s6 s7 | last |");
}

static void a_cycle_is_named_without_those_that_only_hang_on_it(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("tail", MICA_UPDATE, 0), in_stage("x", MICA_UPDATE, 0),
                                in_stage("head", MICA_UPDATE, 0), in_stage("y", MICA_UPDATE, 0),
                                in_stage("z", MICA_UPDATE, 0)};
    systems[0].after[0] = "y";
    systems[2].before[0] = "x";
    systems[1].before[0] = "y";
    systems[3].before[0] = "z";
    systems[4].before[0] = "x";
    assert_int_equal(make(test, systems, 5), MICA_CYCLE);
    assert_int_equal(test->plan.steps.count, 0);
    assert_int_equal(test->plan.cycle.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(test->plan.cycle.data[i]->before[0], test->plan.cycle.data[(i + 1) % 3]->name);
    }
    systems[4].before[0] = NULL;
    assert_int_equal(make(test, systems, 5), MICA_OK);
    assert_string_equal(line_of(&test->plan), "head | x | y | tail z |");
}

static void a_system_before_itself_is_a_cycle(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 0)};
    systems[1].before[0] = "b";
    assert_int_equal(make(test, systems, 2), MICA_CYCLE);
    assert_int_equal(test->plan.cycle.count, 1);
    assert_string_equal(test->plan.cycle.data[0]->name, "b");
}

static void a_cycle_needs_all_its_systems_in_one_stage(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 0),
                                in_stage("c", MICA_PHYSICS, 0)};
    systems[0].before[0] = "b";
    systems[1].before[0] = "c";
    systems[2].before[0] = "a";
    assert_int_equal(make(test, systems, 3), MICA_OK);
    assert_string_equal(line_of(&test->plan), "a | b | / c |");
    systems[2].places[systems[2].place_count++] = (mica_system_place){MICA_UPDATE, 0};
    assert_int_equal(make(test, systems, 3), MICA_CYCLE);
    assert_int_equal(test->plan.cycle.count, 3);
}

static void a_failed_allocation_leaves_no_steps(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("b", MICA_UPDATE, 0), in_stage("a", MICA_UPDATE, 0)};
    systems[0].after[0] = "a";
    uint64_t n = 1;
    for (;; n++) {
        mi_plan_free(&test->plan, &test->heap);
        test_allocator_fail_at(&test->allocator, n);
        const mica_result result = make(test, systems, 2);
        if (!test_allocator_fail_stop(&test->allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(test->plan.steps.count, 0);
    }
    assert_true(n > 5);
    assert_string_equal(line_of(&test->plan), "a | b |");
}

static void making_a_plan_of_fewer_systems_allocates_nothing(void **state) {
    fixture *test = *state;
    mi_plan_system systems[] = {in_stage("a", MICA_UPDATE, 0), in_stage("b", MICA_UPDATE, 0),
                                in_stage("c", MICA_PHYSICS, 0)};
    systems[1].after[0] = "a";
    assert_int_equal(make(test, systems, 3), MICA_OK);
    const uint64_t calls = test->allocator.call_count;
    assert_int_equal(make(test, systems, 2), MICA_OK);
    assert_int_equal(test->allocator.call_count, calls);
}

// Random constraints against a checker by brute force

enum { RANDOM_COUNT = 12 };

typedef struct random_case {
    char names[RANDOM_COUNT][8];
    mi_plan_system systems[RANDOM_COUNT];
    uint32_t count;
    bool before[RANDOM_COUNT][RANDOM_COUNT]; // what is asked for, by index
} random_case;

static const mica_system_place *place_in(const mi_plan_system *system, mica_stage stage) {
    for (uint32_t i = 0; i < system->place_count; i++) {
        if (system->places[i].stage == stage) {
            return &system->places[i];
        }
    }
    return NULL;
}

static void make_case(random_case *random, test_random *numbers) {
    memset(random, 0, sizeof(*random));
    random->count = 1 + test_random_below(numbers, RANDOM_COUNT);
    uint32_t before_counts[RANDOM_COUNT] = {0};
    uint32_t after_counts[RANDOM_COUNT] = {0};
    for (uint32_t i = 0; i < random->count; i++) {
        // Names that do not ascend with the order of addition.
        snprintf(random->names[i], sizeof(random->names[i]), "s%u", (i * 7) % 13);
        random->systems[i] = in_stage(random->names[i], two_stages[test_random_below(numbers, 2)],
                                      (int32_t)test_random_below(numbers, 3));
        if (test_random_below(numbers, 3) == 0) {
            const mica_stage other = random->systems[i].places[0].stage == MICA_UPDATE ? MICA_PHYSICS : MICA_UPDATE;
            random->systems[i].places[1] = (mica_system_place){other, (int32_t)test_random_below(numbers, 3)};
            random->systems[i].place_count = 2;
        }
    }
    const uint32_t constraint_count = test_random_below(numbers, random->count + 1);
    for (uint32_t i = 0; i < constraint_count; i++) {
        const uint32_t a = test_random_below(numbers, random->count);
        const uint32_t b = test_random_below(numbers, random->count);
        if (test_random_below(numbers, 2) == 0 && before_counts[a] < MICA_SYSTEM_ORDER_MAX) {
            random->systems[a].before[before_counts[a]++] = random->names[b];
            random->before[a][b] = true;
        } else if (after_counts[b] < MICA_SYSTEM_ORDER_MAX) {
            random->systems[b].after[after_counts[b]++] = random->names[a];
            random->before[a][b] = true;
        }
    }
}

typedef bool relation[RANDOM_COUNT][RANDOM_COUNT];

// Who has to come before whom in a stage, directly or not.
static void close_stage(const random_case *random, mica_stage stage, relation closure) {
    for (uint32_t a = 0; a < random->count; a++) {
        for (uint32_t b = 0; b < random->count; b++) {
            closure[a][b] = random->before[a][b] && place_in(&random->systems[a], stage) != NULL &&
                            place_in(&random->systems[b], stage) != NULL;
        }
    }
    close_over(RANDOM_COUNT, closure, random->count);
}

// The best of the systems of a stage for which everybody that must come earlier is done; RANDOM_COUNT: there is none.
static uint32_t best_of(const random_case *random, mica_stage stage, relation closure, const bool *done) {
    uint32_t best = RANDOM_COUNT;
    for (uint32_t i = 0; i < random->count; i++) {
        const mica_system_place *place = place_in(&random->systems[i], stage);
        bool ready = place != NULL && !done[i];
        for (uint32_t k = 0; k < random->count; k++) {
            ready = ready && (!closure[k][i] || done[k]);
        }
        if (ready && (best == RANDOM_COUNT || place->priority > place_in(&random->systems[best], stage)->priority)) {
            best = i;
        }
    }
    return best;
}

// Appends what the rules say about one stage, in the most direct way. False: a cycle.
static bool expect_stage(const random_case *random, mica_stage stage, const mi_plan_system **steps, uint32_t *count) {
    relation closure;
    close_stage(random, stage, closure);
    bool done[RANDOM_COUNT] = {false};
    bool applied[RANDOM_COUNT] = {false};
    uint32_t left = 0;
    for (uint32_t i = 0; i < random->count; i++) {
        left += place_in(&random->systems[i], stage) != NULL;
    }
    if (left == 0) {
        return true;
    }
    for (; left > 0; left--) {
        const uint32_t best = best_of(random, stage, closure, done);
        if (best == RANDOM_COUNT) {
            return false;
        }
        bool waits = false;
        for (uint32_t k = 0; k < random->count; k++) {
            waits = waits || (closure[k][best] && !applied[k]);
        }
        if (waits) {
            steps[(*count)++] = NULL;
            memcpy(applied, done, sizeof(applied));
        }
        done[best] = true;
        steps[(*count)++] = &random->systems[best];
    }
    steps[(*count)++] = NULL;
    return true;
}

static void check_cycle(const random_case *random, const mi_plan *plan) {
    assert_true(plan->cycle.count > 0);
    for (uint32_t i = 0; i < plan->cycle.count; i++) {
        const mi_plan_system *earlier = plan->cycle.data[i];
        const mi_plan_system *later = plan->cycle.data[(i + 1) % plan->cycle.count];
        assert_true(random->before[earlier - random->systems][later - random->systems]);
        for (uint32_t k = 0; k < i; k++) {
            assert_ptr_not_equal(plan->cycle.data[k], earlier);
        }
    }
}

static void random_constraints_are_planned_as_the_rules_say(void **state) {
    fixture *test = *state;
    test_random numbers = {1};
    uint32_t cycle_count = 0;
    uint32_t barrier_count = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        random_case random;
        make_case(&random, &numbers);
        const mi_plan_system *steps[4 * RANDOM_COUNT + 2];
        uint32_t count = 0;
        const bool acyclic =
            expect_stage(&random, MICA_UPDATE, steps, &count) && expect_stage(&random, MICA_PHYSICS, steps, &count);
        const mica_result result = make(test, random.systems, random.count);
        if (!acyclic) {
            assert_int_equal(result, MICA_CYCLE);
            check_cycle(&random, &test->plan);
            cycle_count++;
            continue;
        }
        assert_int_equal(result, MICA_OK);
        assert_int_equal(test->plan.steps.count, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_ptr_equal(test->plan.steps.data[i].system, steps[i]);
            barrier_count += steps[i] == NULL;
        }
    }
    // The cases are worth something only if they reach both ends.
    assert_true(cycle_count > 1000 && cycle_count < 19000);
    assert_true(barrier_count > 20000);
}

static void a_thousand_systems_in_one_chain_are_planned(void **state) {
    fixture *test = *state;
    enum { COUNT = 1000 };
    static char names[COUNT][8];
    static mi_plan_system systems[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "s%u", i);
        systems[i] = in_stage(names[i], MICA_UPDATE, 0);
        systems[i].before[0] = i > 0 ? names[i - 1] : NULL;
    }
    assert_int_equal(make(test, systems, COUNT), MICA_OK);
    assert_int_equal(test->plan.steps.count, 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(test->plan.steps.data[2 * i].system, &systems[COUNT - 1 - i]);
        assert_null(test->plan.steps.data[2 * i + 1].system);
    }
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(no_systems_give_an_empty_plan),
        CASE(systems_without_constraints_run_in_order_of_addition),
        CASE(stages_run_in_their_order_with_a_barrier_each),
        CASE(higher_priority_runs_first),
        CASE(constraints_outrank_priority),
        CASE(a_name_may_come_to_be_known_later),
        CASE(constraints_across_stages_are_ignored),
        CASE(a_barrier_stands_as_late_as_possible),
        CASE(one_barrier_serves_all_that_come_after_it),
        CASE(a_chain_has_a_barrier_at_each_link),
        CASE(a_system_in_two_stages_has_a_place_and_a_priority_in_each),
        CASE(a_constraint_given_twice_counts_once),
        CASE(a_full_list_of_constraints_is_read_to_its_end),
        CASE(a_cycle_is_named_without_those_that_only_hang_on_it),
        CASE(a_system_before_itself_is_a_cycle),
        CASE(a_cycle_needs_all_its_systems_in_one_stage),
        CASE(a_failed_allocation_leaves_no_steps),
        CASE(making_a_plan_of_fewer_systems_allocates_nothing),
        CASE(random_constraints_are_planned_as_the_rules_say),
        CASE(a_thousand_systems_in_one_chain_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
