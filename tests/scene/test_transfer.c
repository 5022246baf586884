// Many rows that go to another table together: values, order, and what stays behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/test_random.h"

#include <mica/hierarchy.h>
#include <mica/mica.h>

static bool construct_anchored(void *values, int32_t count, const mica_hook_context *context);
static void move_anchored(void *to, void *from, int32_t count, const mica_hook_context *context);

// A value that knows where it is, which only its move hook keeps true.
MICA_STRUCT_WITH(Anchored, (.hooks = {.construct = construct_anchored, .move = move_anchored}), {
    void *self;
    int32_t number;
});

static bool construct_anchored(void *values, int32_t count, const mica_hook_context *context) {
    Anchored *made = values;
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        made[i] = (Anchored){.self = &made[i]};
    }
    return true;
}

static void move_anchored(void *to, void *from, int32_t count, const mica_hook_context *context) {
    Anchored *target = to;
    const Anchored *source = from;
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(source[i].self, &source[i]); // neither moved before nor a hole
        target[i] = (Anchored){.self = &target[i], .number = source[i].number};
    }
}

enum { COUNT = 6000 }; // several chunks

typedef struct crowd {
    mica_world *world;
    mica_entity parent;
    mica_entity entities[COUNT];
    mica_entity parents[COUNT];
} crowd;

static void make_crowd(crowd *of, int32_t count) {
    of->world = mica_world_create(NULL);
    assert_non_null(of->world);
    of->parent = mica_create(of->world);
    assert_int_equal(mica_spawn_many(of->world, count, of->entities, mica_column_of(Anchored, NULL)), MICA_OK);
    for (int32_t i = 0; i < count; i++) {
        of->parents[i] = of->parent;
        mica_get_write(of->world, of->entities[i], Anchored)->number = i;
    }
}

static void assert_values(const crowd *of, int32_t count) {
    if (mica_world_validate(of->world) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    for (int32_t i = 0; i < count; i++) {
        const Anchored *value = mica_get(of->world, of->entities[i], Anchored);
        assert_non_null(value);
        assert_ptr_equal(value->self, value);
    }
}

static void shuffle(mica_entity *entities, int32_t count, uint64_t seed) {
    test_random random = {seed};
    for (int32_t i = count - 1; i > 0; i--) {
        const int32_t other = (int32_t)test_random_below(&random, (uint32_t)i + 1);
        const mica_entity kept = entities[i];
        entities[i] = entities[other];
        entities[other] = kept;
    }
}

static int32_t number_of(const crowd *of, mica_entity entity) {
    return mica_get(of->world, entity, Anchored)->number;
}

static void assert_linked(const crowd *of, int32_t count) {
    assert_int_equal(mica_child_count(of->world, of->parent), count);
    mica_entity child = mica_first_child(of->world, of->parent);
    for (int32_t i = 0; i < count; i++) {
        assert_true(mica_entity_equal(child, of->entities[i]));
        child = mica_next_sibling(of->world, child);
    }
}

static void a_whole_table_goes_in_order(void **state) {
    (void)state;
    static crowd of;
    make_crowd(&of, COUNT);
    assert_int_equal(mica_set_parent_many(of.world, of.entities, of.parents, COUNT), MICA_OK);
    assert_values(&of, COUNT);
    assert_linked(&of, COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(number_of(&of, of.entities[i]), i);
    }
    mica_world_destroy(of.world);
}

// Rows of the linked stand in the order of the call.
static void a_part_goes_in_any_order_and_the_rest_stays(void **state) {
    (void)state;
    static crowd of;
    for (int32_t part = 1; part <= 4; part++) { // from under the share that goes in runs to most of the table
        const int32_t linked = COUNT * part / 5;
        make_crowd(&of, COUNT);
        shuffle(of.entities, COUNT, (uint64_t)part);
        static int32_t numbers[COUNT];
        for (int32_t i = 0; i < COUNT; i++) {
            numbers[i] = number_of(&of, of.entities[i]);
        }
        assert_int_equal(mica_set_parent_many(of.world, of.entities, of.parents, linked), MICA_OK);
        assert_values(&of, COUNT);
        assert_linked(&of, linked);
        for (int32_t i = 0; i < COUNT; i++) {
            assert_int_equal(number_of(&of, of.entities[i]), numbers[i]);
            assert_int_equal(mica_has(of.world, of.entities[i], mica_child_of), i < linked);
        }
        int32_t row = 0;
        mica_each (mica_query_of(of.world, mica_read(mica_child_of)), it) {
            for (int32_t i = 0; i < it.count; i++) {
                assert_true(mica_entity_equal(it.entities[i], of.entities[row]));
                row++;
            }
        }
        assert_int_equal(row, linked);
        mica_world_destroy(of.world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_table_goes_in_order),
        cmocka_unit_test(a_part_goes_in_any_order_and_the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
