// The lists that world matrices are computed by: they stand while the structure does, and not longer.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scene/hierarchy.h"
#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/mica.h>

MICA_STRUCT_WITH(Weight, (.storage = MICA_TABLE), { int32_t grams; }); // with a table of its own

static const mica_transform step = {{1, 2, 3}, {0, 0.6f, 0, 0.8f}, {1, 1, 1}};

static void add_pose(mica_world *world, mica_entity entity) {
    assert_int_equal(mica_set_from(world, entity, mica_transform, &step), MICA_OK);
}

static mica_entity spawn_pose(mica_world *world) {
    const mica_entity entity = mica_create(world);
    add_pose(world, entity);
    return entity;
}

// Resolves, and compares every matrix with one that is computed without the lists.
static void assert_resolved(mica_world *world) {
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    if (mica_world_validate(world) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    mica_each (mica_query_of(world, mica_read(mica_transform), mica_read(mica_world_transform)), it) {
        const mica_world_transform *found = mica_read_of(it, mica_world_transform);
        for (int32_t i = 0; i < it.count; i++) {
            float expected[16];
            assert_int_equal(mica_transform_world_of(world, it.entities[i], expected), MICA_OK);
            for (int32_t k = 0; k < 16; k++) {
                assert_true(fabsf(found[i].m[k] - expected[k]) <= 1e-4f * (1 + fabsf(expected[k])));
            }
        }
    }
}

// A root, two entities below it, and one below each of these.
typedef struct family {
    mica_world *world;
    mica_entity entities[5];
} family;

static void make_family(family *of, bool root_has_pose) {
    of->world = mica_world_create(NULL);
    assert_non_null(of->world);
    for (int32_t i = 0; i < 5; i++) {
        of->entities[i] = i == 0 && !root_has_pose ? mica_create(of->world) : spawn_pose(of->world);
        if (i > 0) {
            assert_int_equal(mica_set_parent(of->world, of->entities[i], of->entities[(i - 1) / 2]), MICA_OK);
        }
    }
    assert_resolved(of->world);
}

static void an_unchanged_structure_needs_no_memory(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    const mica_entity root = spawn_pose(world);
    const mica_entity child = spawn_pose(world);
    mica_set_parent(world, child, root);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    const uint64_t calls = allocator.call_count;
    mica_get_write(world, root, mica_transform)->position[0] = 5;
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    assert_int_equal(allocator.call_count, calls);
    assert_true(mica_get(world, child, mica_world_transform)->m[12] != 0);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
}

static void entities_without_links_come_and_go_beside_the_lists(void **state) {
    (void)state;
    family of;
    make_family(&of, true);
    // Of a table of their own, as bullets and the like are.
    mica_entity others[3];
    for (int32_t i = 0; i < 3; i++) {
        others[i] = spawn_pose(of.world);
        assert_int_equal(mica_set(of.world, others[i], Weight, {i}), MICA_OK);
    }
    assert_resolved(of.world);
    const mi_levels *levels = &mi_hierarchy_find(of.world)->levels;
    const uint64_t moves = levels->row_moves;
    const uint64_t links = levels->links_version;
    assert_int_equal(mica_destroy(of.world, others[0]), MICA_OK);
    levels = &mi_hierarchy_find(of.world)->levels;
    assert_resolved(of.world);
    assert_int_equal(levels->row_moves, moves);
    assert_int_equal(levels->links_version, links);
    mica_world_destroy(of.world);
}

static void rows_that_move_are_followed(void **state) {
    (void)state;
    family of;
    make_family(&of, true);
    for (int32_t i = 4; i >= 0; i--) { // to a table of their own, one after the other, and back
        assert_int_equal(mica_set(of.world, of.entities[i], Weight, {i}), MICA_OK);
        assert_resolved(of.world);
    }
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(mica_remove(of.world, of.entities[i], Weight), MICA_OK);
        assert_resolved(of.world);
    }
    assert_int_equal(mica_destroy(of.world, of.entities[1]), MICA_OK);
    assert_resolved(of.world);
    mica_world_destroy(of.world);
}

static void poses_that_come_and_go_above_are_followed(void **state) {
    (void)state;
    family of;
    make_family(&of, false);
    for (int32_t i = 0; i < 3; i++) { // the root, which has no row at first, included
        add_pose(of.world, of.entities[i]);
        assert_resolved(of.world);
        assert_int_equal(mica_remove(of.world, of.entities[i], mica_world_transform), MICA_OK);
        assert_resolved(of.world);
        assert_int_equal(mica_remove(of.world, of.entities[i], mica_transform), MICA_OK);
        assert_resolved(of.world);
    }
    mica_world_destroy(of.world);
}

static void links_that_change_are_followed(void **state) {
    (void)state;
    family of;
    make_family(&of, true);
    assert_int_equal(mica_set_parent(of.world, of.entities[4], of.entities[2]), MICA_OK);
    assert_resolved(of.world);
    assert_int_equal(mica_set_parent(of.world, of.entities[1], MICA_NULL), MICA_OK);
    assert_resolved(of.world);
    assert_int_equal(mica_destroy(of.world, of.entities[0]), MICA_OK);
    assert_resolved(of.world);
    assert_int_equal(mica_world_clear(of.world), MICA_OK);
    assert_resolved(of.world);
    const mica_entity root = spawn_pose(of.world);
    assert_int_equal(mica_set_parent(of.world, spawn_pose(of.world), root), MICA_OK);
    assert_resolved(of.world);
    assert_int_equal(mica_destroy_subtree(of.world, root), MICA_OK);
    mica_world_trim(of.world);
    assert_resolved(of.world);
    mica_world_destroy(of.world);
}

static void do_anything(mica_world *world, mica_entity *entities, uint32_t count, test_random *random) {
    mica_entity *one = &entities[test_random_below(random, count)];
    const mica_entity other = entities[test_random_below(random, count)];
    switch (test_random_below(random, 8)) {
    case 0:
        mica_destroy(world, *one);
        *one = spawn_pose(world);
        break;
    case 1:
        mica_remove(world, *one, mica_transform);
        break;
    case 2:
        mica_set_from(world, *one, mica_transform, &step);
        break;
    case 3:
        mica_remove(world, *one, mica_world_transform);
        break;
    case 4:
        mica_set(world, *one, Weight, {1});
        break;
    case 5:
        mica_remove(world, *one, Weight);
        break;
    default:
        mica_set_parent(world, *one, other); // a cycle is refused
        break;
    }
}

static void anything_between_two_passes_is_followed(void **state) {
    (void)state;
    enum { COUNT = 60 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        test_random random = {seed};
        mica_world *world = mica_world_create(NULL);
        mica_entity entities[COUNT];
        for (int32_t i = 0; i < COUNT; i++) {
            entities[i] = spawn_pose(world);
        }
        for (int32_t i = 0; i < 300; i++) {
            for (uint32_t k = test_random_below(&random, 3); k > 0; k--) {
                do_anything(world, entities, COUNT, &random);
            }
            assert_resolved(world);
        }
        mica_world_destroy(world);
    }
}

// The number that documents quote: handles and slots, ChildOf, records of links, and the lists.
static void a_node_takes_few_bytes_beyond_its_pose_and_matrix(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    mica_world *world = mica_world_create(NULL);
    mica_entity *entities = malloc(COUNT * sizeof(mica_entity));
    mica_entity *parents = malloc(COUNT * sizeof(mica_entity));
    assert_non_null(entities);
    assert_non_null(parents);
    assert_int_equal(mica_spawn_many(world, COUNT, entities, mica_column_of(mica_transform, NULL)), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        parents[i] = i == 0 ? MICA_NULL : entities[(i - 1) / 10];
    }
    assert_int_equal(mica_set_parent_many(world, entities, parents, COUNT), MICA_OK);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    const mica_memory_usage usage = mica_world_memory(world);
    // 28 bytes of a record and 4 of the lists; both are made in larger steps.
    assert_true(usage.bytes[MICA_MEMORY_RELATIONS] <= (size_t)COUNT * 34);
    free(entities);
    free(parents);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_structure_needs_no_memory),
        cmocka_unit_test(entities_without_links_come_and_go_beside_the_lists),
        cmocka_unit_test(rows_that_move_are_followed),
        cmocka_unit_test(poses_that_come_and_go_above_are_followed),
        cmocka_unit_test(links_that_change_are_followed),
        cmocka_unit_test(anything_between_two_passes_is_followed),
        cmocka_unit_test(a_node_takes_few_bytes_beyond_its_pose_and_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
