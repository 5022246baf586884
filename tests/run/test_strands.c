// Strands against ones worked out by hand, and random ones against what waits for what.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/strands.h"
#include "run/touching_systems.h"
#include "support/test_random.h"

enum { STRANDS_MOST = 4, LONG = 1000000 };

static mi_strands strands;
static mi_strands_room room;

static int tear_down_strands(void **state) {
    fixture *test = *state;
    mi_strands_free(&strands, &test->heap);
    mi_strands_room_free(&room, &test->heap);
    strands = (mi_strands){0};
    room = (mi_strands_room){0};
    return tear_down(state);
}

// Strands for the steps of the plan from one on up to another.
static bool deal_range(fixture *test, uint32_t first, uint32_t end, const uint64_t *nanoseconds,
                       uint32_t strand_count) {
    if (!mi_strands_begin(&room, &test->heap, end - first)) {
        return false;
    }
    for (uint32_t i = 0; i < end - first; i++) {
        room.nodes.data[i].nanoseconds = nanoseconds[i];
    }
    return mi_strands_make(&strands, &room, &test->heap, &test->plan, first, end, strand_count);
}

// Strands for all systems, which are one batch.
static void deal_out(fixture *test, const uint64_t *nanoseconds, uint32_t strand_count) {
    make_all(test);
    assert_int_equal(test->plan.batches.count, 1);
    assert_true(deal_range(test, 0, added.count, nanoseconds, strand_count));
}

// Each strand in brackets, with the numbers of its steps.
static const char *strands_line(void) {
    static char line[1024];
    size_t length = 0;
    uint32_t at = 0;
    for (uint32_t strand = 0; strand < strands.ends.count; strand++) {
        length += (size_t)snprintf(line + length, sizeof(line) - length, "[");
        for (const uint32_t begin = at; at < strands.ends.data[strand]; at++) {
            length += (size_t)snprintf(line + length, sizeof(line) - length, at == begin ? "%u" : " %u",
                                       strands.order.data[at]);
        }
        length += (size_t)snprintf(line + length, sizeof(line) - length, "]");
    }
    return line;
}

static void steps_that_wait_for_nobody_are_dealt_out_evenly(void **state) {
    fixture *test = *state;
    uint64_t nanoseconds[8];
    for (uint32_t i = 0; i < 8; i++) {
        add_touching(test, "");
        nanoseconds[i] = LONG;
    }
    deal_out(test, nanoseconds, 2);
    assert_string_equal(strands_line(), "[0 2 4 6][1 3 5 7]");
    assert_in_range(strands.total, 8 * LONG, 8 * LONG + 1000);
    assert_in_range(strands.length, 4 * LONG, 4 * LONG + 10000);
}

static void a_chain_stays_in_its_strand(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "B");
    add_touching(test, "A");
    add_touching(test, "B");
    add_touching(test, "A");
    deal_out(test, (const uint64_t[]){LONG, LONG, LONG, LONG, LONG}, 3);
    assert_string_equal(strands_line(), "[0 2 4][1 3][]");
}

static void what_much_follows_from_comes_first(void **state) {
    fixture *test = *state;
    add_touching(test, "");
    add_touching(test, "");
    add_touching(test, "A");
    add_touching(test, "A");
    deal_out(test, (const uint64_t[]){LONG, LONG, LONG, 2 * LONG}, 2);
    assert_string_equal(strands_line(), "[2 3][0 1]");
}

static void a_long_step_has_a_strand_to_itself(void **state) {
    fixture *test = *state;
    for (uint32_t i = 0; i < 4; i++) {
        add_touching(test, "");
    }
    deal_out(test, (const uint64_t[]){LONG, LONG, LONG, 3 * LONG}, 2);
    assert_string_equal(strands_line(), "[3][0 1 2]");
}

static void little_work_wakes_nobody(void **state) {
    fixture *test = *state;
    for (uint32_t i = 0; i < 4; i++) {
        add_touching(test, "");
    }
    deal_out(test, (const uint64_t[]){300, 300, 300, 300}, 2);
    assert_string_equal(strands_line(), "[0 1 2 3][]");
    assert_int_equal(strands.length, strands.total);
}

static void the_main_thread_has_the_first_strand_and_what_it_waits_for_comes_first(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "B");
    add_touching(test, "b")->main_thread = true;
    add_touching(test, "")->main_thread = true;
    deal_out(test, (const uint64_t[]){9 * LONG, LONG, LONG, LONG}, 2);
    assert_string_equal(strands_line(), "[1 2 3][0]");
    assert_int_equal(strands.main.count, 2);
    assert_int_equal(strands.main.data[0], 2);
    assert_int_equal(strands.main.data[1], 3);
}

static void a_range_knows_nothing_of_steps_outside_of_it(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "A");
    add_touching(test, "B");
    add_touching(test, "AB");
    make_all(test);
    assert_true(deal_range(test, 1, 3, (const uint64_t[]){LONG, LONG}, 2));
    assert_string_equal(strands_line(), "[1][2]");
}

static void a_failed_allocation_is_told(void **state) {
    fixture *test = *state;
    add_touching(test, "A");
    add_touching(test, "a");
    make_all(test);
    const uint64_t nanoseconds[] = {LONG, LONG};
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&test->allocator, n);
        const bool is_made = deal_range(test, 0, 2, nanoseconds, 2);
        if (!test_allocator_fail_stop(&test->allocator)) {
            assert_true(is_made);
            break;
        }
        assert_false(is_made);
        mi_strands_free(&strands, &test->heap);
        mi_strands_room_free(&room, &test->heap);
    }
    assert_string_equal(strands_line(), "[0 1][]");
}

static bool has_ended_before(const fixture *test, const bool *ended, uint32_t step) {
    const mi_plan_step *planned = &test->plan.steps.data[step];
    for (uint32_t i = 0; i < planned->wait_count; i++) {
        if (!ended[test->plan.waits.data[planned->first_wait + i]]) {
            return false;
        }
    }
    return true;
}

// Goes along all strands, each up to the first step that is not ready, until nothing moves. Returns how many steps ran.
static uint32_t run_strands(const fixture *test) {
    bool ended[SYSTEMS_MOST] = {false};
    uint32_t next[STRANDS_MOST];
    uint32_t count = 0;
    for (uint32_t strand = 0; strand < strands.ends.count; strand++) {
        next[strand] = strand == 0 ? 0 : strands.ends.data[strand - 1];
    }
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (uint32_t strand = 0; strand < strands.ends.count; strand++) {
            for (; next[strand] < strands.ends.data[strand] &&
                   has_ended_before(test, ended, strands.order.data[next[strand]]);
                 next[strand]++) {
                assert_false(ended[strands.order.data[next[strand]]]);
                ended[strands.order.data[next[strand]]] = true;
                has_moved = true;
                count++;
            }
        }
    }
    return count;
}

// What may make strands longer than the longest chain of steps and what all of them take together: Graham's bound, with
// what strands add for handing over and waking up.
static uint64_t bound_of(uint32_t strand_count) {
    uint64_t longest = 0;
    for (uint32_t i = 0; i < room.nodes.count; i++) {
        longest = longest < room.nodes.data[i].tail ? room.nodes.data[i].tail : longest;
    }
    return strands.total / strand_count + longest + (uint64_t)room.nodes.count * 250 + 5000;
}

static void random_strands_hold_every_step_once_and_never_stick(void **state) {
    fixture *test = *state;
    test_random numbers = {5};
    for (uint32_t round = 0; round < 500; round++) {
        forget_systems(test);
        uint64_t nanoseconds[SYSTEMS_MOST];
        const uint32_t count = 1 + test_random_below(&numbers, SYSTEMS_MOST);
        for (uint32_t i = 0; i < count; i++) {
            char access[4] = "";
            const uint32_t letters = test_random_below(&numbers, 4);
            for (uint32_t k = 0; k < letters; k++) {
                access[k] =
                    (char)((test_random_below(&numbers, 2) == 0 ? 'A' : 'a') + (int)test_random_below(&numbers, 5));
            }
            add_touching(test, access)->main_thread = test_random_below(&numbers, 8) == 0;
            nanoseconds[i] = test_random_below(&numbers, 4) == 0 ? 0 : test_random_below(&numbers, 20000);
        }
        const uint32_t strand_count = 1 + test_random_below(&numbers, STRANDS_MOST);
        deal_out(test, nanoseconds, strand_count);
        assert_int_equal(strands.ends.count, strand_count);
        assert_int_equal(strands.ends.data[strand_count - 1], count);
        assert_int_equal(run_strands(test), count);
        assert_true(strands.length >= (strands.total + strand_count - 1) / strand_count);
        uint32_t main_count = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (added.systems[i].main_thread) {
                assert_int_equal(strands.main.data[main_count++], i);
                assert_int_equal(room.nodes.data[i].strand, 0);
            }
        }
        assert_int_equal(strands.main.count, main_count);
        if (main_count == 0) {
            assert_true(strands.length <= bound_of(strand_count));
        }
    }
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down_strands)
    const struct CMUnitTest tests[] = {
        CASE(steps_that_wait_for_nobody_are_dealt_out_evenly),
        CASE(a_chain_stays_in_its_strand),
        CASE(what_much_follows_from_comes_first),
        CASE(a_long_step_has_a_strand_to_itself),
        CASE(little_work_wakes_nobody),
        CASE(the_main_thread_has_the_first_strand_and_what_it_waits_for_comes_first),
        CASE(a_range_knows_nothing_of_steps_outside_of_it),
        CASE(a_failed_allocation_is_told),
        CASE(random_strands_hold_every_step_once_and_never_stick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
