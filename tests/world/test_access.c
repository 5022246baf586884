// Access sets: what is said of a component, what queries add, and which sets conflict.
#include "world/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <mica/mica.h>

#include "support/test_heap.h"
#include "support/test_random.h"
#include "world/access_uses.h"

MICA_STRUCT(Position, { float x; });
MICA_STRUCT(Velocity, { float x; });
MICA_STRUCT(Health, { float points; });
MICA_TAG(Frozen);

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_access a;
    mi_access b;
} fixture;

static int set_up(void **state) {
    static fixture shared;
    shared = (fixture){0};
    test_heap_begin(&shared.allocator, &shared.heap);
    *state = &shared;
    return 0;
}

static int tear_down(void **state) {
    fixture *test = *state;
    mi_access_free(&test->a, &test->heap);
    mi_access_free(&test->b, &test->heap);
    test_allocator_finish(&test->allocator);
    return 0;
}

static void a_set_ascends_and_names_nobody_twice(void **state) {
    fixture *test = *state;
    assert_true(mi_access_add(&test->a, &test->heap, 7, false));
    assert_true(mi_access_add(&test->a, &test->heap, 2, true));
    assert_true(mi_access_add(&test->a, &test->heap, 65535, false));
    assert_true(mi_access_add(&test->a, &test->heap, 7, false));
    assert_int_equal(test->a.entries.count, 3);
    assert_int_equal(test->a.entries.data[0].component, 2);
    assert_int_equal(test->a.entries.data[1].component, 7);
    assert_int_equal(test->a.entries.data[2].component, 65535);
}

static void what_is_written_stays_written(void **state) {
    fixture *test = *state;
    assert_true(mi_access_add(&test->a, &test->heap, 7, false));
    assert_false(mi_access_find(&test->a, 7)->writes);
    assert_true(mi_access_add(&test->a, &test->heap, 7, true));
    assert_true(mi_access_find(&test->a, 7)->writes);
    assert_true(mi_access_add(&test->a, &test->heap, 7, false));
    assert_true(mi_access_find(&test->a, 7)->writes);
    assert_null(mi_access_find(&test->a, 6));
    assert_null(mi_access_find(&test->a, 8));
}

static void a_failed_allocation_leaves_the_set_as_it_was(void **state) {
    fixture *test = *state;
    for (mica_component component = 1; test->a.entries.count < test->a.entries.capacity || component == 1;
         component++) {
        assert_true(mi_access_add(&test->a, &test->heap, component, false));
    }
    const uint32_t count = test->a.entries.count;
    test_allocator_fail_at(&test->allocator, 1);
    assert_false(mi_access_add(&test->a, &test->heap, 1000, true));
    assert_true(test_allocator_fail_stop(&test->allocator));
    assert_int_equal(test->a.entries.count, count);
    assert_null(mi_access_find(&test->a, 1000));
}

static void readers_do_not_conflict_and_writers_do(void **state) {
    fixture *test = *state;
    assert_int_equal(mi_access_conflict(&test->a, &test->b, 0), 0);
    assert_true(mi_access_add(&test->a, &test->heap, 3, false));
    assert_true(mi_access_add(&test->b, &test->heap, 3, false));
    assert_true(mi_access_add(&test->b, &test->heap, 2, true));
    assert_int_equal(mi_access_conflict(&test->a, &test->b, 0), 0);
    assert_true(mi_access_add(&test->a, &test->heap, 3, true));
    assert_int_equal(mi_access_conflict(&test->a, &test->b, 0), 3);
    assert_int_equal(mi_access_conflict(&test->b, &test->a, 0), 3);
}

// Against a look at every pair.
static void random_sets_conflict_where_one_writes_what_the_other_touches(void **state) {
    fixture *test = *state;
    enum { COMPONENTS = 12 };
    test_random numbers = {7};
    for (uint32_t round = 0; round < 2000; round++) {
        uint8_t uses[2][COMPONENTS] = {0};
        mi_access *sets[2] = {&test->a, &test->b};
        for (uint32_t set = 0; set < 2; set++) {
            sets[set]->entries.count = 0;
            for (uint32_t i = test_random_below(&numbers, 8); i > 0; i--) {
                use_at_random(uses[set], COMPONENTS, sets[set], &test->heap, &numbers);
            }
        }
        uint32_t from = 0;
        for (uint32_t component = 0; component < COMPONENTS; component++) {
            if (uses_conflict(uses[0][component], uses[1][component])) {
                assert_int_equal(mi_access_conflict(&test->a, &test->b, from), component + 1);
                from = component + 2;
            }
        }
        assert_int_equal(mi_access_conflict(&test->a, &test->b, from), 0);
    }
}

static void a_query_adds_what_its_walks_touch(void **state) {
    fixture *test = *state;
    mica_world *world = mica_world_create(NULL);
    mica_query *query = mica_query_of(world, mica_write_optional(Position), mica_read(Velocity), mica_with(Health),
                                      mica_without(Frozen));
    assert_non_null(query);
    assert_true(mi_access_add_query(&test->a, &test->heap, query));
    assert_int_equal(test->a.entries.count, 2);
    assert_true(mi_access_find(&test->a, mica_register(world, Position))->writes);
    assert_false(mi_access_find(&test->a, mica_register(world, Velocity))->writes);
    query = mica_query_of(world, mica_added(Frozen), mica_any_write(1, Velocity), mica_any_read(1, Health));
    assert_non_null(query);
    assert_true(mi_access_add_query(&test->b, &test->heap, query));
    assert_int_equal(test->b.entries.count, 3);
    assert_false(mi_access_find(&test->b, mica_register(world, Frozen))->writes);
    assert_true(mi_access_find(&test->b, mica_register(world, Velocity))->writes);
    assert_false(mi_access_find(&test->b, mica_register(world, Health))->writes);
    mica_world_destroy(world);
}

static void changes_and_removals_are_reads_and_marked_writes_are_writes(void **state) {
    fixture *test = *state;
    mica_world *world = mica_world_create(NULL);
    mica_query *query = mica_query_of(world, mica_changed(Velocity), mica_removed(Health), mica_write_marked(Position));
    assert_non_null(query);
    assert_true(mi_access_add_query(&test->a, &test->heap, query));
    assert_int_equal(test->a.entries.count, 3);
    assert_false(mi_access_find(&test->a, mica_register(world, Velocity))->writes);
    assert_false(mi_access_find(&test->a, mica_register(world, Health))->writes);
    assert_true(mi_access_find(&test->a, mica_register(world, Position))->writes);
    mica_world_destroy(world);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_set_ascends_and_names_nobody_twice),
        CASE(what_is_written_stays_written),
        CASE(a_failed_allocation_leaves_the_set_as_it_was),
        CASE(readers_do_not_conflict_and_writers_do),
        CASE(random_sets_conflict_where_one_writes_what_the_other_touches),
        CASE(a_query_adds_what_its_walks_touch),
        CASE(changes_and_removals_are_reads_and_marked_writes_are_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
