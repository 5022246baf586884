// Watches of pages: what is touched is noted once and goes through; everything else is left alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/pages.h"

enum { RANGES = 3 };

typedef struct fixture {
    uint8_t *memory; // pages between the ranges stay free
    mi_page_range ranges[RANGES];
    mi_page_watch watch;
} fixture;

static fixture shared;
static volatile uint8_t sink;

static uint8_t *start_of(const fixture *f, uint32_t range) {
    return f->memory + 2 * range * MI_HEAP_PAGE;
}

static void prepare(fixture *f) {
    for (uint32_t i = 0; i < RANGES; i++) {
        f->ranges[i] =
            (mi_page_range){.start = start_of(f, i), .byte_size = MI_HEAP_PAGE, .is_readable = i == RANGES - 1};
    }
    f->watch = (mi_page_watch){.ranges = f->ranges, .range_count = RANGES};
}

static int set_up(void **state) {
    shared.memory = mi_os_pages_take(2 * RANGES * MI_HEAP_PAGE, MI_HEAP_PAGE);
    assert_non_null(shared.memory);
    prepare(&shared);
    *state = &shared;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    for (uint32_t i = 0; i < 2 * RANGES; i++) { // nothing is left protected
        f->memory[i * MI_HEAP_PAGE] = 1;
    }
    mi_os_pages_give(f->memory, 2 * RANGES * MI_HEAP_PAGE);
    return 0;
}

static void write_to(uint8_t *at) {
    *(volatile uint8_t *)at = 7;
}

static void read_from(const uint8_t *at) {
    sink = *(const volatile uint8_t *)at;
}

static void assert_touched(const mi_page_watch *watch, mi_touch touch, const uint8_t *address) {
    // Not all systems tell writing from reading.
    assert_true(watch->touch == touch || watch->touch == MI_TOUCH_EITHER);
    assert_ptr_equal(watch->address, address);
    const mi_page_range *range = &watch->ranges[watch->touched];
    assert_true(address >= range->start && address < range->start + range->byte_size);
}

static void nothing_touched_is_nothing_noted(void **state) {
    fixture *f = *state;
    assert_true(mi_pages_can_protect());
    assert_true(mi_page_watch_begin(&f->watch));
    write_to(start_of(f, 0) + MI_HEAP_PAGE);
    read_from(start_of(f, RANGES - 1)); // may be read
    mi_page_watch_end(&f->watch);
    assert_int_equal(f->watch.touch, MI_TOUCH_NONE);
}

static void the_first_touch_is_noted_and_all_go_through(void **state) {
    fixture *f = *state;
    assert_true(mi_page_watch_begin(&f->watch));
    write_to(start_of(f, 1) + 5);
    read_from(start_of(f, 0));
    mi_page_watch_end(&f->watch);
    assert_touched(&f->watch, MI_TOUCH_WRITE, start_of(f, 1) + 5);
    assert_int_equal(start_of(f, 1)[5], 7);
    assert_true(f->ranges[0].is_open && f->ranges[1].is_open && !f->ranges[2].is_open);
}

static void reading_is_told_from_writing(void **state) {
    fixture *f = *state;
    assert_true(mi_page_watch_begin(&f->watch));
    read_from(start_of(f, 1));
    mi_page_watch_end(&f->watch);
    assert_touched(&f->watch, MI_TOUCH_READ, start_of(f, 1));
    prepare(f);
    assert_true(mi_page_watch_begin(&f->watch));
    read_from(start_of(f, 2));
    write_to(start_of(f, 2) + 1);
    mi_page_watch_end(&f->watch);
    assert_int_equal(f->watch.touch, MI_TOUCH_WRITE);
    assert_touched(&f->watch, MI_TOUCH_WRITE, start_of(f, 2) + 1);
}

static void what_is_touched_while_lifted_is_protected_again(void **state) {
    fixture *f = *state;
    assert_true(mi_page_watch_begin(&f->watch));
    mi_page_watch_lift(&f->watch);
    mi_page_watch_lift(&f->watch);
    write_to(start_of(f, 1));
    assert_true(mi_page_watch_settle(&f->watch));
    write_to(start_of(f, 1)); // the outer one lasts
    write_to(start_of(f, 2));
    assert_true(mi_page_watch_settle(&f->watch));
    assert_int_equal(f->watch.touch, MI_TOUCH_NONE);
    write_to(start_of(f, 1) + 9);
    mi_page_watch_end(&f->watch);
    assert_touched(&f->watch, MI_TOUCH_WRITE, start_of(f, 1) + 9);
    assert_int_equal(start_of(f, 2)[0], 7);
}

static void watches_of_a_thread_are_nested(void **state) {
    fixture *f = *state;
    mi_page_watch outer = {.ranges = f->ranges, .range_count = 2};
    mi_page_watch inner = {.ranges = f->ranges + 2, .range_count = 1};
    assert_true(mi_page_watch_begin(&outer));
    assert_true(mi_page_watch_begin(&inner));
    write_to(start_of(f, 0));
    mi_page_watch_end(&inner);
    write_to(start_of(f, 1));
    mi_page_watch_end(&outer);
    assert_int_equal(inner.touch, MI_TOUCH_NONE);
    assert_touched(&outer, MI_TOUCH_WRITE, start_of(f, 0));
}

static void a_range_that_cannot_be_protected_leaves_none(void **state) {
    fixture *f = *state;
    f->ranges[1].start++; // no page
    assert_false(mi_page_watch_begin(&f->watch));
    write_to(start_of(f, 0));
    assert_int_equal(f->watch.touch, MI_TOUCH_NONE);
}

static void watch_own(void *argument) {
    fixture *f = argument;
    for (int32_t i = 0; i < 20; i++) {
        prepare(f);
        if (!mi_page_watch_begin(&f->watch)) {
            return;
        }
        write_to(start_of(f, (uint32_t)i % RANGES) + i);
        mi_page_watch_end(&f->watch);
        if (f->watch.address != start_of(f, (uint32_t)i % RANGES) + i) {
            return;
        }
    }
    f->watch.touched = UINT32_MAX; // it has come through
}

static void threads_watch_for_themselves(void **state) {
    fixture *f = *state;
    fixture other = {.memory = mi_os_pages_take(2 * RANGES * MI_HEAP_PAGE, MI_HEAP_PAGE)};
    assert_non_null(other.memory);
    mi_thread thread;
    assert_true(mi_thread_start(&thread, "watcher", watch_own, &other));
    watch_own(f);
    mi_thread_join(&thread);
    assert_int_equal(f->watch.touched, UINT32_MAX);
    assert_int_equal(other.watch.touched, UINT32_MAX);
    mi_os_pages_give(other.memory, 2 * RANGES * MI_HEAP_PAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_touched_is_nothing_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_touch_is_noted_and_all_go_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reading_is_told_from_writing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_touched_while_lifted_is_protected_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(watches_of_a_thread_are_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_that_cannot_be_protected_leaves_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_watch_for_themselves, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
