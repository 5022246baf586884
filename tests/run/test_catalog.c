// Catalogs: what is kept of a definition, what is refused, and worlds that are given systems from one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_said.h"

#include <mica/mica.h>

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT(Velocity, { float x, y; });

typedef struct fixture {
    test_allocator allocator;
    mica_catalog *catalog;
} fixture;

static int set_up(void **state) {
    fixture *of = malloc(sizeof(*of));
    assert_non_null(of);
    test_allocator_init(&of->allocator);
    const mica_allocator hooks = test_allocator_hooks(&of->allocator);
    of->catalog = mica_catalog_create(&hooks);
    assert_non_null(of->catalog);
    *state = of;
    return 0;
}

static int tear_down(void **state) {
    fixture *of = *state;
    mica_catalog_destroy(of->catalog);
    test_allocator_finish(&of->allocator);
    free(of);
    return 0;
}

static void move(mica_run *run) {
    mica_each (run, it) {
        Position *positions = mica_write_of(it, Position);
        const Velocity *velocities = mica_read_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            positions[i].x += velocities[i].x * mica_delta_time(run);
        }
    }
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static mica_system_def move_def(const char *name) {
    return (mica_system_def){.name = name, .run = move, .query = {mica_write(Position), mica_read(Velocity)}};
}

static void assert_refused(mica_result result, mica_result code, const char *words) {
    assert_int_equal(result, code);
    assert_int_equal(mica_last_result(), code);
    assert_said(words);
}

static void a_system_runs_in_every_world_that_is_given_it(void **state) {
    mica_catalog *catalog = ((fixture *)*state)->catalog;
    const mica_system_def def = move_def("move");
    assert_int_equal(mica_catalog_enter(catalog, &def), MICA_OK);
    mica_world *worlds[3];
    mica_entity entities[3];
    for (int32_t i = 0; i < 3; i++) {
        worlds[i] = mica_world_create(NULL); // each with a schema of its own
        if (i > 0) {
            mica_register(worlds[i], Velocity); // where the types have other ids
        }
        entities[i] = mica_spawn(worlds[i], mica_value_of(Position, {0, 0}), mica_value_of(Velocity, {(float)i, 0}));
        assert_int_not_equal(mica_system_add_named(worlds[i], catalog, "move").id, 0);
        assert_int_not_equal(mica_system_find(worlds[i], "move").id, 0);
    }
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(worlds[i], 2), MICA_OK);
        assert_true(mica_get(worlds[i], entities[i], Position)->x == (float)i * 2);
        mica_world_destroy(worlds[i]);
    }
}

static void worlds_may_outlive_the_catalog(void **state) {
    fixture *of = *state;
    const mica_system_def def = move_def("move");
    assert_int_equal(mica_catalog_enter(of->catalog, &def), MICA_OK);
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {0, 0}), mica_value_of(Velocity, {1, 0}));
    const mica_system system = mica_system_add_named(world, of->catalog, "move");
    mica_catalog_destroy(of->catalog);
    of->catalog = NULL;
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(mica_get(world, entity, Position)->x == 1);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, system, &stats), MICA_OK);
    assert_string_equal(stats.name, "move");
    mica_world_destroy(world);
}

static void texts_are_copied_and_order_holds(void **state) {
    mica_catalog *catalog = ((fixture *)*state)->catalog;
    char name[] = "first";
    char after[] = "last";
    char before[] = "middle";
    assert_int_equal(
        mica_catalog_enter(catalog,
                           &(mica_system_def){.name = name, .run = do_nothing, .before = {before}, .after = {after}}),
        MICA_OK);
    assert_int_equal(mica_catalog_enter(catalog, &(mica_system_def){.name = before, .run = do_nothing}), MICA_OK);
    assert_int_equal(mica_catalog_enter(catalog, &(mica_system_def){.name = after, .run = do_nothing}), MICA_OK);
    name[0] = after[0] = before[0] = 'X';
    mica_world *world = mica_world_create(NULL);
    for (int32_t i = 0; i < mica_catalog_count(catalog); i++) {
        assert_int_not_equal(mica_system_add_named(world, catalog, mica_catalog_at(catalog, i)->name).id, 0);
    }
    char plan[256];
    mica_world_plan(world, plan, sizeof(plan));
    assert_string_equal(plan, "stage update\n  last (exclusive)\n  barrier\n  first (exclusive)\n  barrier\n  middle "
                              "(exclusive)\n  barrier\n");
    mica_world_destroy(world);
}

static void definitions_are_found_and_stay_where_they_are(void **state) {
    mica_catalog *catalog = ((fixture *)*state)->catalog;
    const mica_system_def first = move_def("system 0");
    assert_int_equal(mica_catalog_enter(catalog, &first), MICA_OK);
    const mica_system_def *found = mica_catalog_find(catalog, "system 0");
    assert_non_null(found);
    for (int32_t i = 1; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof(name), "system %d", (int)i);
        const mica_system_def def = move_def(name);
        assert_int_equal(mica_catalog_enter(catalog, &def), MICA_OK);
    }
    assert_int_equal(mica_catalog_count(catalog), 100);
    assert_ptr_equal(mica_catalog_find(catalog, "system 0"), found);
    assert_ptr_equal(mica_catalog_at(catalog, 0), found);
    assert_string_equal(mica_catalog_at(catalog, 57)->name, "system 57");
    assert_null(mica_catalog_find(catalog, "system 100"));
    assert_null(mica_catalog_find(catalog, NULL));
    assert_null(mica_catalog_at(catalog, 100));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_catalog_at(catalog, -1));
}

static void what_is_wrong_in_every_world_is_refused(void **state) {
    mica_catalog *catalog = ((fixture *)*state)->catalog;
    mica_system_def def = move_def("move");
    assert_refused(mica_catalog_enter(NULL, &def), MICA_INVALID, "needs a catalog");
    assert_refused(mica_catalog_enter(catalog, NULL), MICA_INVALID, "a definition with a name");
    assert_refused(mica_catalog_enter(catalog, &(mica_system_def){.run = move}), MICA_INVALID, "with a name");
    assert_refused(mica_catalog_enter(catalog, &(mica_system_def){.name = "idle"}), MICA_INVALID, "\"idle\" has no");
    assert_refused(mica_catalog_enter(catalog, &(mica_system_def){.name = "a", .run = move, .also_count = -1}),
                   MICA_INVALID, "-1 further stages");
    assert_refused(mica_catalog_enter(catalog, &(mica_system_def){.name = "a", .run = move, .query_count = 9}),
                   MICA_INVALID, "9 further queries");
    def.query[1] = (mica_term){.component = 3, .use = MICA_USE_READ};
    assert_refused(mica_catalog_enter(catalog, &def), MICA_INVALID, "by its id");
    def = move_def("move");
    def.access[0].component = 3;
    assert_refused(mica_catalog_enter(catalog, &def), MICA_INVALID, "by its id");
    def = move_def("move");
    def.gates[0] = (mica_gate){.component = 3, .use = MICA_GATE_WHILE};
    assert_refused(mica_catalog_enter(catalog, &def), MICA_INVALID, "by its id");
    def = move_def("move");
    def.query_count = 1;
    def.queries[0].terms[0] = (mica_term){.component = 3, .use = MICA_USE_READ};
    assert_refused(mica_catalog_enter(catalog, &def), MICA_INVALID, "by its id");
    assert_int_equal(mica_catalog_count(catalog), 0);
    def = move_def("move");
    assert_int_equal(mica_catalog_enter(catalog, &def), MICA_OK);
    assert_refused(mica_catalog_enter(catalog, &def), MICA_EXISTS, "\"move\" already");
    assert_int_equal(mica_catalog_count(catalog), 1);
    const mica_allocator half = {.allocate = test_allocator_hooks(&((fixture *)*state)->allocator).allocate};
    assert_null(mica_catalog_create(&half));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void a_world_refuses_names_that_it_cannot_have(void **state) {
    mica_catalog *catalog = ((fixture *)*state)->catalog;
    const mica_system_def def = move_def("move");
    assert_int_equal(mica_catalog_enter(catalog, &def), MICA_OK);
    mica_world *world = mica_world_create(NULL);
    assert_int_equal(mica_system_add_named(world, catalog, "jump").id, 0);
    assert_refused(mica_last_result(), MICA_UNKNOWN, "no system \"jump\"");
    assert_int_equal(mica_system_add_named(world, catalog, NULL).id, 0);
    assert_refused(mica_last_result(), MICA_UNKNOWN, "no name");
    assert_int_equal(mica_system_add_named(world, NULL, "move").id, 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_not_equal(mica_system_add_named(world, catalog, "move").id, 0);
    assert_int_equal(mica_system_add_named(world, catalog, "move").id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_int_equal(mica_system_add_named(NULL, catalog, "move").id, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_world_destroy(world);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_system_runs_in_every_world_that_is_given_it),
        CASE(worlds_may_outlive_the_catalog),
        CASE(texts_are_copied_and_order_holds),
        CASE(definitions_are_found_and_stay_where_they_are),
        CASE(what_is_wrong_in_every_world_is_refused),
        CASE(a_world_refuses_names_that_it_cannot_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
