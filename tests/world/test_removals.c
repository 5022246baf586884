// The log of removals by itself: numbers that stay right when entries are dropped, slots that are used again, failing
// memory.
#include "support/test_heap.h"

#include "world/removals.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_removals removals;
} fixture;

static void begin(fixture *f) {
    *f = (fixture){.removals = {.first = 0}};
    test_heap_begin(&f->allocator, &f->heap);
}

static void end(fixture *f) {
    mi_removals_free(&f->removals, &f->heap);
    test_allocator_finish(&f->allocator);
}

static mica_entity entity(uint32_t index, uint32_t generation) {
    return mica_entity_make(index, generation);
}

// How many are named by a walk since a version.
static uint32_t count_named(const mi_removals *removals, uint64_t since) {
    const uint32_t from = mi_removals_find(removals, since);
    uint32_t count = 0;
    for (uint32_t place = from; place < removals->entries.count; place++) {
        count += mi_removals_is_first(removals, place, from);
    }
    return count;
}

static void the_same_entity_is_named_once_from_wherever_a_walk_begins(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (uint64_t version = 1; version <= 10; version++) {
        mi_removals_add(&f.removals, &f.heap, entity(1, 1), version);
        mi_removals_add(&f.removals, &f.heap, entity(2, 1), version);
    }
    for (uint64_t since = 0; since < 10; since++) {
        assert_int_equal(count_named(&f.removals, since), 2);
    }
    assert_int_equal(count_named(&f.removals, 10), 0);
    end(&f);
}

static void dropping_keeps_the_rest_and_its_numbers(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (uint64_t version = 1; version <= 1000; version++) {
        mi_removals_add(&f.removals, &f.heap, entity(1 + (uint32_t)version % 3, 1), version);
        if (version > 20) {
            mi_removals_drop(&f.removals, version - 20);
            assert_int_equal(f.removals.dropped_version, version - 20);
            assert_int_equal(count_named(&f.removals, version - 20), 3);
            assert_int_equal(count_named(&f.removals, version - 2), 2);
            assert_true(mi_removals_has(&f.removals, entity(1 + (uint32_t)version % 3, 1), version - 1));
            assert_false(mi_removals_has(&f.removals, entity(1 + (uint32_t)(version - 1) % 3, 1), version - 1));
        }
    }
    assert_true(f.removals.entries.capacity <= 64);
    end(&f);
}

static void who_uses_a_slot_again_is_somebody_else(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mi_removals_add(&f.removals, &f.heap, entity(1, 1), 1);
    mi_removals_add(&f.removals, &f.heap, entity(1, 2), 2);
    assert_int_equal(count_named(&f.removals, 0), 2);
    assert_true(mi_removals_has(&f.removals, entity(1, 1), 0));
    assert_true(mi_removals_has(&f.removals, entity(1, 2), 1));
    assert_false(mi_removals_has(&f.removals, entity(1, 1), 1));
    assert_false(mi_removals_has(&f.removals, entity(1, 3), 0));
    end(&f);
}

static void what_cannot_be_noted_is_said_until_it_is_dropped(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 4; n++) {
        fixture f;
        begin(&f);
        test_allocator_fail_from(&f.allocator, n);
        mi_removals_add(&f.removals, &f.heap, entity(1, 1), 5);
        const bool has_failed = test_allocator_fail_stop(&f.allocator);
        assert_int_equal(f.removals.lost_version, has_failed ? 5 : 0);
        assert_int_equal(f.removals.entries.count, has_failed ? 0 : 1);
        assert_int_equal(mi_removals_has(&f.removals, entity(1, 1), 0), !has_failed);
        mi_removals_add(&f.removals, &f.heap, entity(1, 1), 6);
        assert_int_equal(count_named(&f.removals, 5), 1);
        mi_removals_drop(&f.removals, 5);
        assert_int_equal(f.removals.lost_version, 0);
        assert_int_equal(f.removals.dropped_version, 5);
        assert_int_equal(count_named(&f.removals, 0), 1);
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_entity_is_named_once_from_wherever_a_walk_begins),
        cmocka_unit_test(dropping_keeps_the_rest_and_its_numbers),
        cmocka_unit_test(who_uses_a_slot_again_is_somebody_else),
        cmocka_unit_test(what_cannot_be_noted_is_said_until_it_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
