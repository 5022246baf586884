// Names: whose text it is, and when it goes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

#include <mica/mica.h>

MICA_STRUCT(Weight, { int32_t grams; });

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
} fixture;

static int set_up(void **state) {
    fixture *of = malloc(sizeof(*of));
    assert_non_null(of);
    test_allocator_init(&of->allocator);
    of->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&of->allocator)});
    *state = of;
    return 0;
}

// Every case ends with nothing leaked and nothing given back wrongly.
static int tear_down(void **state) {
    fixture *of = *state;
    mica_world_destroy(of->world);
    test_allocator_finish(&of->allocator);
    free(of);
    return 0;
}

static void a_name_is_a_copy_of_the_text(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_create(world);
    char text[] = "left wheel";
    assert_int_equal(mica_set_name(world, entity, text), MICA_OK);
    text[0] = 'X';
    assert_string_equal(mica_name_of(world, entity), "left wheel");
    assert_string_equal(mica_get(world, entity, mica_name)->text, "left wheel");
    assert_int_equal(mica_set_name(world, entity, "wheel"), MICA_OK);
    assert_string_equal(mica_name_of(world, entity), "wheel");
    assert_int_equal(mica_set_name(world, entity, mica_name_of(world, entity)), MICA_OK); // its own text
    assert_string_equal(mica_name_of(world, entity), "wheel");
}

static void verbs_of_all_components_copy_names_too(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    char text[] = "a";
    const mica_entity a = mica_spawn(world, mica_value_of(mica_name, {text}), mica_value_of(Weight, {1}));
    const mica_entity b = mica_clone(world, a);
    text[0] = 'b';
    assert_int_equal(mica_set(world, b, mica_name, {text}), MICA_OK);
    assert_string_equal(mica_name_of(world, a), "a");
    assert_string_equal(mica_name_of(world, b), "b");
    mica_name names[3] = {{"x"}, {NULL}, {"z"}};
    mica_entity many[3];
    assert_int_equal(mica_spawn_many(world, 3, many, mica_column_of(mica_name, names)), MICA_OK);
    assert_string_equal(mica_name_of(world, many[0]), "x");
    assert_string_equal(mica_name_of(world, many[1]), "");
    assert_string_equal(mica_name_of(world, many[2]), "z");
    assert_int_equal(mica_destroy(world, a), MICA_OK);
    assert_int_equal(mica_remove(world, b, mica_name), MICA_OK);
    assert_string_equal(mica_name_of(world, b), "");
}

static void names_move_with_their_rows(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    mica_entity entities[50];
    char text[16] = "n";
    for (int32_t i = 0; i < 50; i++) {
        entities[i] = mica_create(world);
        text[1] = (char)('0' + i % 10);
        text[2] = (char)('0' + i / 10);
        assert_int_equal(mica_set_name(world, entities[i], text), MICA_OK);
    }
    for (int32_t i = 0; i < 50; i += 3) {
        mica_set(world, entities[i], Weight, {i});
    }
    for (int32_t i = 0; i < 50; i += 4) {
        mica_destroy(world, entities[i]);
    }
    for (int32_t i = 0; i < 50; i++) {
        text[1] = (char)('0' + i % 10);
        text[2] = (char)('0' + i / 10);
        if (i % 4 != 0) {
            assert_string_equal(mica_name_of(world, entities[i]), text);
        }
    }
}

static void null_takes_a_name_away_and_empty_is_a_name(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_create(world);
    assert_int_equal(mica_set_name(world, entity, NULL), MICA_OK);
    assert_false(mica_has(world, entity, mica_name));
    assert_int_equal(mica_set_name(world, entity, ""), MICA_OK);
    assert_true(mica_has(world, entity, mica_name));
    assert_string_equal(mica_name_of(world, entity), "");
    assert_int_equal(mica_set_name(world, entity, "x"), MICA_OK);
    assert_int_equal(mica_set_name(world, entity, NULL), MICA_OK);
    assert_false(mica_has(world, entity, mica_name));
    assert_string_equal(mica_name_of(world, entity), "");
}

// A type of the program's own that has the library's name.
static mica_type own_name = {.name = "Name", .fields = "{ double length; }", .size = 8, .align = 8};

static void another_type_called_name_refuses_names(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_create(world);
    const mica_component own = mica_world_register(world, &own_name);
    const double length = 4;
    assert_int_equal(mica_entity_set(world, entity, own, &length), MICA_OK);
    assert_int_equal(mica_set_name(world, entity, "x"), MICA_MISMATCH);
    assert_int_equal(mica_set_name(world, entity, NULL), MICA_MISMATCH);
    assert_string_equal(mica_name_of(world, entity), "");
    assert_true(*(const double *)mica_entity_get(world, entity, own) == 4);
}

static void stale_handles_are_refused(void **state) {
    mica_world *world = ((fixture *)*state)->world;
    const mica_entity entity = mica_create(world);
    mica_destroy(world, entity);
    assert_int_equal(mica_set_name(world, entity, "x"), MICA_STALE);
    assert_int_equal(mica_set_name(world, entity, NULL), MICA_STALE);
    mica_error_clear();
    assert_string_equal(mica_name_of(world, entity), "");
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_int_equal(mica_set_name(NULL, entity, "x"), MICA_INVALID);
    assert_string_equal(mica_name_of(NULL, entity), "");
}

static void a_name_without_memory_leaves_the_old_one(void **state) {
    fixture *of = *state;
    const mica_entity entity = mica_create(of->world);
    assert_int_equal(mica_set_name(of->world, entity, "old"), MICA_OK);
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&of->allocator, n);
        const mica_result result = mica_set_name(of->world, entity, "new");
        if (!test_allocator_fail_stop(&of->allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_string_equal(mica_name_of(of->world, entity), "old");
        failures++;
    }
    assert_true(failures > 0);
    assert_string_equal(mica_name_of(of->world, entity), "new");
}

static void names_without_memory_leave_no_half(void **state) {
    fixture *of = *state;
    const mica_name names[3] = {{"one"}, {"two"}, {"three"}};
    mica_entity many[3];
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&of->allocator, n);
        const mica_result result = mica_spawn_many(of->world, 3, many, mica_column_of(mica_name, names));
        const bool failed = test_allocator_fail_stop(&of->allocator);
        if (result == MICA_OK) { // a cache that could not grow is no failure
            assert_int_equal(mica_world_entity_count(of->world), 3);
            assert_string_equal(mica_name_of(of->world, many[2]), "three");
            mica_world_clear(of->world);
        } else {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_world_entity_count(of->world), 0);
        }
        assert_int_equal(mica_world_validate(of->world), MICA_OK);
        if (!failed) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_is_a_copy_of_the_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verbs_of_all_components_copy_names_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_move_with_their_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_takes_a_name_away_and_empty_is_a_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_type_called_name_refuses_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stale_handles_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_without_memory_leaves_the_old_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_without_memory_leave_no_half, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
