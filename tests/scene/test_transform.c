// Poses and world matrices: against a composition in double precision that shares nothing with the library's, and what
// becomes of poses when parents change.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene/hierarchy.h"
#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/mica.h>

MICA_TAG(Marked);

// The reference: an affine map as images of the origin and of the axes.

typedef struct vector {
    double x, y, z;
} vector;

typedef struct affine {
    vector axis[3];
    vector origin;
} affine;

static vector cross(vector a, vector b) {
    return (vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vector add(vector a, double factor, vector b) {
    return (vector){a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z};
}

// v + 2w (u x v) + 2 u x (u x v) for the quaternion (u, w).
static vector turn(const float q[4], vector v) {
    const vector u = {q[0], q[1], q[2]};
    const vector once = cross(u, v);
    return add(add(v, 2 * (double)q[3], once), 2, cross(u, once));
}

static affine reference_of(const mica_transform *pose) {
    affine map;
    const vector axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int32_t i = 0; i < 3; i++) {
        map.axis[i] = add((vector){0, 0, 0}, pose->scale[i], turn(pose->rotation, axes[i]));
    }
    map.origin = (vector){pose->position[0], pose->position[1], pose->position[2]};
    return map;
}

static vector map_direction(const affine *map, vector v) {
    return add(add(add((vector){0, 0, 0}, v.x, map->axis[0]), v.y, map->axis[1]), v.z, map->axis[2]);
}

static affine compose(const affine *outer, const affine *inner) {
    affine map;
    for (int32_t i = 0; i < 3; i++) {
        map.axis[i] = map_direction(outer, inner->axis[i]);
    }
    map.origin = add(map_direction(outer, inner->origin), 1, outer->origin);
    return map;
}

static const affine identity_map = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};

// The largest difference in units of the largest element.
static double distance(const float matrix[16], const affine *map) {
    const vector columns[4] = {map->axis[0], map->axis[1], map->axis[2], map->origin};
    double largest = 1e-30;
    double off = 0;
    for (int32_t i = 0; i < 4; i++) {
        const double column[4] = {columns[i].x, columns[i].y, columns[i].z, i == 3 ? 1 : 0};
        for (int32_t row = 0; row < 4; row++) {
            largest = fmax(largest, fabs(column[row]));
            off = fmax(off, fabs(column[row] - matrix[i * 4 + row]));
        }
    }
    return off / largest;
}

// Random poses

static float random_between(test_random *random, float low, float high) {
    return low + (high - low) * (float)test_random_below(random, 1u << 24) / (float)(1u << 24);
}

static void random_rotation(test_random *random, float rotation[4]) {
    float length = 0;
    do {
        length = 0;
        for (int32_t i = 0; i < 4; i++) {
            rotation[i] = random_between(random, -1, 1);
            length += rotation[i] * rotation[i];
        }
    } while (length < 0.01f);
    for (int32_t i = 0; i < 4; i++) {
        rotation[i] /= sqrtf(length);
    }
}

static mica_transform random_pose(test_random *random, bool uniform) {
    mica_transform pose;
    random_rotation(random, pose.rotation);
    for (int32_t i = 0; i < 3; i++) {
        pose.position[i] = random_between(random, -2, 2);
        pose.scale[i] = random_between(random, 0.5f, 1.5f) * (test_random_below(random, 4) == 0 ? -1.0f : 1.0f);
        pose.scale[i] = uniform ? pose.scale[0] : pose.scale[i];
    }
    return pose;
}

static mica_world *make_world(void) {
    mica_world *world = mica_world_create(NULL);
    assert_non_null(world);
    return world;
}

static mica_entity spawn_pose(mica_world *world, const mica_transform *pose) {
    const mica_value value = {.type = mica_type_of(mica_transform), .value = pose};
    const mica_entity entity = mica_entity_spawn(world, &value, 1);
    assert_false(mica_entity_is_null(entity));
    return entity;
}

static const mica_transform at_rest = MICA_TRANSFORM_IDENTITY;

// One pose

static void a_transform_starts_as_identity_and_brings_its_matrix(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity entity = mica_create(world);
    assert_int_equal(mica_add(world, entity, mica_transform), MICA_OK);
    assert_memory_equal(mica_get(world, entity, mica_transform), &at_rest, sizeof(at_rest));
    assert_true(mica_has(world, entity, mica_world_transform));
    mica_world_destroy(world);
}

static void a_pose_scales_then_turns_then_moves(void **state) {
    (void)state;
    const float half = sqrtf(0.5f);
    // A quarter turn about z: x goes to y, y to -x.
    const mica_transform pose = {{10, 20, 30}, {0, 0, half, half}, {2, 3, 4}};
    const float expected[16] = {0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 10, 20, 30, 1};
    float matrix[16];
    mica_transform_matrix(&pose, matrix);
    for (int32_t i = 0; i < 16; i++) {
        assert_true(fabsf(matrix[i] - expected[i]) <= 1e-6f);
    }
}

static void matrices_of_random_poses_agree_with_the_reference(void **state) {
    (void)state;
    test_random random = {11};
    for (int32_t i = 0; i < 1000; i++) {
        const mica_transform pose = random_pose(&random, false);
        const affine expected = reference_of(&pose);
        float matrix[16];
        mica_transform_matrix(&pose, matrix);
        assert_true(distance(matrix, &expected) < 1e-6);
    }
}

// Taking matrices apart

static void poses_come_back_out_of_their_matrices(void **state) {
    (void)state;
    test_random random = {12};
    for (int32_t i = 0; i < 5000; i++) {
        mica_transform pose = random_pose(&random, i % 2 == 0);
        if (i % 5 == 0) {
            pose.scale[i % 3] = 0;
        }
        if (i % 35 == 0) {
            pose.scale[(i + 1) % 3] = 0;
        }
        for (int32_t k = 0; k < 3; k++) { // sizes far from 1
            pose.scale[k] *= i % 7 == 1 ? 1e-12f : i % 7 == 2 ? 1e12f : 1.0f;
        }
        float matrix[16];
        mica_transform_matrix(&pose, matrix);
        mica_transform out;
        assert_true(mica_transform_from_matrix(matrix, &out));
        assert_memory_equal(out.position, pose.position, sizeof(pose.position));
        float again[16];
        mica_transform_matrix(&out, again);
        // In units of the linear part alone.
        double largest = 1e-30;
        double off = 0;
        for (int32_t k = 0; k < 12; k++) {
            largest = fmax(largest, fabs(matrix[k]));
            off = fmax(off, fabs(matrix[k] - again[k]));
        }
        assert_true(off <= largest * 1e-6);
        const float *q = out.rotation;
        assert_true(fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) < 1e-6f);
    }
}

static void a_mirrored_matrix_gives_one_negative_scale(void **state) {
    (void)state;
    const float mirrored[16] = {2, 0, 0, 0, 0, -3, 0, 0, 0, 0, 4, 0, 1, 2, 3, 1};
    mica_transform pose;
    assert_true(mica_transform_from_matrix(mirrored, &pose));
    int32_t negative = 0;
    for (int32_t i = 0; i < 3; i++) {
        negative += pose.scale[i] < 0;
    }
    assert_true(negative == 1 || negative == 3);
    float again[16];
    mica_transform_matrix(&pose, again);
    for (int32_t i = 0; i < 16; i++) {
        assert_true(fabsf(again[i] - mirrored[i]) < 1e-6f);
    }
}

static void what_is_no_pose_is_said(void **state) {
    (void)state;
    mica_transform pose;
    const float sheared[16] = {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1};
    assert_false(mica_transform_from_matrix(sheared, &pose));
    assert_true(pose.position[0] == 5 && pose.position[1] == 6 && pose.position[2] == 7);
    const float slightly[16] = {1, 0, 0, 0, 0.01f, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    assert_false(mica_transform_from_matrix(slightly, &pose));
    const float projecting[16] = {1, 0, 0, 0.5f, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    assert_false(mica_transform_from_matrix(projecting, &pose));
    float broken[16] = {1, 0, 0, 0, 0, NAN, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    assert_false(mica_transform_from_matrix(broken, &pose));
    broken[5] = INFINITY;
    assert_false(mica_transform_from_matrix(broken, &pose));
    for (int32_t i = 0; i < 3; i++) {
        assert_true(isfinite(pose.position[i]) && isfinite(pose.scale[i]) && isfinite(pose.rotation[i]));
    }
    const float nothing[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 1};
    assert_true(mica_transform_from_matrix(nothing, &pose));
    assert_true(pose.scale[0] == 0 && pose.scale[1] == 0 && pose.scale[2] == 0 && pose.rotation[3] == 1);
}

static double squared_difference(const float matrix[16], const mica_transform *pose) {
    float other[16];
    mica_transform_matrix(pose, other);
    double sum = 0;
    for (int32_t i = 0; i < 12; i++) {
        const double difference = (double)matrix[i] - (double)other[i];
        sum += difference * difference;
    }
    return sum;
}

static void the_pose_of_a_sheared_matrix_is_the_nearest(void **state) {
    (void)state;
    test_random random = {13};
    for (int32_t i = 0; i < 50; i++) {
        float matrix[16] = {[15] = 1};
        for (int32_t k = 0; k < 11; k++) {
            matrix[k] = k % 4 == 3 ? 0 : random_between(&random, -1, 1);
        }
        mica_transform pose;
        assert_false(mica_transform_from_matrix(matrix, &pose));
        const double found = squared_difference(matrix, &pose);
        for (int32_t k = 0; k < 200; k++) {
            mica_transform beside = pose;
            float length = 0;
            for (int32_t n = 0; n < 4; n++) {
                beside.rotation[n] += random_between(&random, -0.02f, 0.02f);
                length += beside.rotation[n] * beside.rotation[n];
            }
            for (int32_t n = 0; n < 4; n++) {
                beside.rotation[n] /= sqrtf(length);
            }
            for (int32_t n = 0; n < 3; n++) {
                beside.scale[n] += random_between(&random, -0.02f, 0.02f);
            }
            assert_true(squared_difference(matrix, &beside) >= found - 1e-6);
        }
    }
}

// Trees

enum { TREE_SIZE = 400 };

typedef struct tree {
    mica_world *world;
    mica_entity entities[TREE_SIZE];
    int32_t parents[TREE_SIZE]; // -1: a root; lower than the node's own number
    bool has_pose[TREE_SIZE];
    bool has_matrix[TREE_SIZE];
    mica_transform poses[TREE_SIZE];
} tree;

// Some nodes have no pose, some have one and no matrix, some no components at all.
static void make_tree(tree *of, uint64_t seed) {
    test_random random = {seed};
    of->world = make_world();
    for (int32_t i = 0; i < TREE_SIZE; i++) {
        const uint32_t kind = test_random_below(&random, 10);
        of->has_pose[i] = kind >= 2;
        of->has_matrix[i] = kind >= 3;
        of->poses[i] = random_pose(&random, false);
        of->entities[i] = of->has_pose[i] ? spawn_pose(of->world, &of->poses[i]) : mica_create(of->world);
        if (kind == 2) {
            assert_int_equal(mica_remove(of->world, of->entities[i], mica_world_transform), MICA_OK);
        }
        if (kind % 3 == 0) {
            assert_int_equal(mica_add(of->world, of->entities[i], Marked), MICA_OK);
        }
        of->parents[i] = i % 50 == 0 ? -1 : (int32_t)test_random_below(&random, (uint32_t)i);
    }
    for (int32_t i = TREE_SIZE - 1; i >= 0; i--) {
        if (of->parents[i] >= 0) {
            assert_int_equal(mica_set_parent(of->world, of->entities[i], of->entities[of->parents[i]]), MICA_OK);
        }
    }
}

static affine reference_world(const tree *of, int32_t node) {
    affine map = identity_map;
    for (; node >= 0; node = of->parents[node]) {
        if (of->has_pose[node]) {
            const affine own = reference_of(&of->poses[node]);
            map = compose(&own, &map);
        }
    }
    return map;
}

static void random_trees_agree_with_the_reference(void **state) {
    (void)state;
    static tree of;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_tree(&of, seed);
        assert_int_equal(mica_transform_resolve(of.world), MICA_OK);
        for (int32_t i = 0; i < TREE_SIZE; i++) {
            const affine expected = reference_world(&of, i);
            const mica_world_transform *found = mica_get(of.world, of.entities[i], mica_world_transform);
            assert_int_equal(found != NULL, of.has_matrix[i]);
            if (found != NULL) {
                assert_true(distance(found->m, &expected) < 1e-5);
            }
            float matrix[16];
            const mica_result result = mica_transform_world_of(of.world, of.entities[i], matrix);
            assert_int_equal(result, of.has_pose[i] ? MICA_OK : MICA_ABSENT);
            if (result == MICA_OK) {
                assert_true(distance(matrix, &expected) < 1e-6);
            }
        }
        mica_world_destroy(of.world);
    }
}

// The bits of all matrices, hashed (FNV-1a). What changes them breaks recordings and lockstep between machines.
static void resolved_matrices_have_the_same_bits_everywhere(void **state) {
    (void)state;
    static tree of;
    make_tree(&of, 99);
    assert_int_equal(mica_transform_resolve(of.world), MICA_OK);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < TREE_SIZE; i++) {
        if (of.has_matrix[i]) {
            uint32_t bits[16];
            memcpy(bits, mica_get(of.world, of.entities[i], mica_world_transform), sizeof(bits));
            for (int32_t k = 0; k < 16; k++) {
                hash = (hash ^ bits[k]) * UINT64_C(0x100000001b3);
            }
        }
    }
    assert_int_equal(hash, UINT64_C(0x0d069a05ef23a1e9));
    mica_world_destroy(of.world);
}

static void resolving_again_follows_what_changed(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = spawn_pose(world, &at_rest);
    const mica_entity child = spawn_pose(world, &at_rest);
    mica_set_parent(world, child, parent);
    mica_get_write(world, child, mica_transform)->position[1] = 2;
    for (int32_t x = 0; x < 3; x++) {
        mica_get_write(world, parent, mica_transform)->position[0] = (float)x;
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        const float *m = mica_get(world, child, mica_world_transform)->m;
        assert_true(m[12] == (float)x && m[13] == 2 && m[14] == 0 && m[15] == 1);
    }
    assert_int_equal(mica_set_parent(world, child, MICA_NULL), MICA_OK);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    assert_true(mica_get(world, child, mica_world_transform)->m[12] == 0);
    mica_world_destroy(world);
}

static void a_chain_of_100000_is_resolved_and_kept_in_place(void **state) {
    (void)state;
#if defined(MI_MOVE_ALWAYS)
    enum { DEPTH = 1000 }; // each change moves all rows of a table there
#else
    enum { DEPTH = 100000 };
#endif
    mica_world *world = make_world();
    mica_entity *chain = malloc(sizeof(mica_entity) * DEPTH);
    mica_entity *parents = malloc(sizeof(mica_entity) * DEPTH);
    assert_true(chain != NULL && parents != NULL);
    const mica_transform step = {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    for (int32_t i = 0; i < DEPTH; i++) {
        chain[i] = spawn_pose(world, &step);
        parents[i] = i == 0 ? MICA_NULL : chain[i - 1];
    }
    assert_int_equal(mica_set_parent_many(world, chain, parents, DEPTH), MICA_OK);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    for (int32_t i = 0; i < DEPTH; i++) {
        assert_true(mica_get(world, chain[i], mica_world_transform)->m[12] == (float)(i + 1));
    }
    assert_int_equal(mica_unparent(world, chain[DEPTH - 1]), MICA_OK);
    assert_true(mica_get(world, chain[DEPTH - 1], mica_transform)->position[0] == DEPTH);
    // From the top down, each passes its pose on.
    for (int32_t i = 0; i < DEPTH - 2; i++) {
        assert_int_equal(mica_destroy(world, chain[i]), MICA_OK);
    }
    assert_true(mica_get(world, chain[DEPTH - 2], mica_transform)->position[0] == DEPTH - 1);
    free(chain);
    free(parents);
    mica_world_destroy(world);
}

static void resolving_is_allowed_while_structure_is_locked_and_marks_what_it_writes(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = spawn_pose(world, &at_rest);
    const mica_entity child = spawn_pose(world, &at_rest);
    mica_set_parent(world, child, parent);
    assert_int_equal(mica_world_step(world, 0), MICA_OK);
    const mica_component component = mica_register(world, mica_world_transform);
    mica_each (mica_query_of(world, mica_with(mica_transform)), it) {
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
    }
    const mica_entity both[2] = {parent, child};
    for (int32_t i = 0; i < 2; i++) {
        void *column = NULL;
        assert_non_null(
            mi_hierarchy_value(world, mica_entity_index(both[i]), component, sizeof(mica_world_transform), &column));
        assert_int_equal(mi_column_version(column), mica_world_version(world));
    }
    mica_world_destroy(world);
}

MICA_TAG_WITH(InPool, (.storage = MICA_POOL));

static void poses_that_a_span_holds_copies_of_are_resolved_as_written(void **state) {
    (void)state;
    enum { COUNT = 50 };
    mica_world *world = make_world();
    mica_entity entities[COUNT];
    float matrix[16];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = spawn_pose(world, &at_rest);
    }
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_add(world, entities[i * 7 % COUNT], InPool), MICA_OK);
    }
    spawn_pose(world, &at_rest); // the pool is the smaller one and drives, out of the rows' order
    mica_each (mica_query_of(world, mica_write(mica_transform), mica_with(InPool)), it) {
        mica_transform *poses = mica_write_of(it, mica_transform);
        for (int32_t i = 0; i < it.count; i++) {
            poses[i].position[0] = 3;
        }
        assert_int_equal(mica_transform_world_of(world, it.entities[0], matrix), MICA_OK);
        assert_true(matrix[12] == 3);
        poses[0].position[0] = 4;
        assert_int_equal(mica_transform_resolve(world), MICA_OK);
        assert_true(mica_get(world, it.entities[0], mica_world_transform)->m[12] == 4);
    }
    mica_world_destroy(world);
}

static void move_right(mica_run *run) {
    mica_each (run, it) {
        mica_transform *poses = mica_write_of(it, mica_transform);
        for (int32_t i = 0; i < it.count; i++) {
            poses[i].position[0] += 1;
        }
    }
}

static void the_system_resolves_after_updates(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = spawn_pose(world, &at_rest);
    const mica_entity child = spawn_pose(world, &at_rest);
    mica_set_parent(world, child, parent);
    const mica_system system = mica_transform_system_add(world);
    assert_int_not_equal(system.id, 0);
    mica_system_add(world,
                    &(mica_system_def){.name = "move", .run = move_right, .query = {mica_write(mica_transform)}});
    assert_int_equal(mica_system_find(world, "resolve_transforms").id, system.id);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_true(mica_get(world, parent, mica_world_transform)->m[12] == 1);
    assert_true(mica_get(world, child, mica_world_transform)->m[12] == 2);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, system, &stats), MICA_OK);
    assert_int_equal(stats.stage, MICA_RESOLVE);
    assert_int_equal(mica_transform_system_add(world).id, 0);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    mica_world_destroy(world);
}

static void resolving_without_memory_is_refused_and_writes_nothing(void **state) {
    (void)state;
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator allocator;
        test_allocator_init(&allocator);
        mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
        const mica_transform pose = {{1, 2, 3}, {0, 0, 0, 1}, {1, 1, 1}};
        const mica_entity parent = spawn_pose(world, &pose);
        const mica_entity child = spawn_pose(world, &pose);
        mica_remove(world, parent, mica_world_transform);
        mica_set_parent(world, child, parent);
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_transform_resolve(world);
        const bool failed = test_allocator_fail_stop(&allocator);
        assert_int_equal(result, failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_true(mica_get(world, child, mica_world_transform)->m[12] == (failed ? 0.0f : 2.0f));
        failures += failed;
        mica_world_destroy(world);
        test_allocator_finish(&allocator);
        if (!failed) {
            break;
        }
    }
    // Eight for the lists of levels and what makes them, one for the parent's matrix, one for the order of tables.
    assert_int_equal(failures, 10);
}

static void roots_that_could_not_lose_their_link_are_resolved(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    const mica_transform pose = {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    const mica_entity parent = mica_create(world);
    const mica_entity child = spawn_pose(world, &pose);
    const mica_entity below = spawn_pose(world, &pose);
    mica_set_parent(world, child, parent);
    mica_set_parent(world, below, child);
    mica_world_trim(world);
    test_allocator_fail_from(&allocator, 1);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    assert_true(test_allocator_fail_stop(&allocator));
    assert_true(mica_has(world, child, mica_child_of));
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    assert_true(mica_get(world, child, mica_world_transform)->m[12] == 1);
    assert_true(mica_get(world, below, mica_world_transform)->m[12] == 2);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
}

// Poses that stay where they are

static void assert_stays(const float before[16], const float after[16], double tolerance) {
    double largest = 0;
    double off = 0;
    for (int32_t i = 0; i < 16; i++) {
        largest = fmax(largest, fabs(before[i]));
        off = fmax(off, fabs((double)before[i] - (double)after[i]));
    }
    assert_true(off <= largest * tolerance);
}

static void world_of(const mica_world *world, mica_entity entity, float matrix[16]) {
    assert_int_equal(mica_transform_world_of(world, entity, matrix), MICA_OK);
}

static void a_new_parent_keeps_the_pose_that_is_asked_for(void **state) {
    (void)state;
    test_random random = {21};
    for (int32_t i = 0; i < 300; i++) {
        mica_world *world = make_world();
        const mica_transform pose = random_pose(&random, false);
        mica_entity parents[4];
        for (int32_t k = 0; k < 4; k++) {
            const mica_transform above = random_pose(&random, true);
            parents[k] = spawn_pose(world, &above);
            if (k % 2 == 1) {
                mica_set_parent(world, parents[k], parents[k - 1]);
            }
        }
        const mica_entity child = spawn_pose(world, &pose);
        float before[16];
        float after[16];
        assert_int_equal(mica_set_parent(world, child, parents[1]), MICA_OK);
        assert_memory_equal(mica_get(world, child, mica_transform), &pose, sizeof(pose));
        world_of(world, child, before);
        assert_int_equal(mica_set_parent_keep_pose(world, child, parents[3]), MICA_OK);
        world_of(world, child, after);
        assert_stays(before, after, 2e-6);
        assert_int_equal(mica_unparent(world, child), MICA_OK);
        world_of(world, child, after);
        assert_stays(before, after, 2e-6);
        assert_true(mica_entity_is_null(mica_parent(world, child)));
        assert_int_equal(mica_set_parent_keep_pose(world, child, parents[2]), MICA_OK);
        assert_int_equal(mica_destroy(world, parents[2]), MICA_OK); // and 3 becomes a root
        world_of(world, child, after);
        assert_stays(before, after, 2e-6);
        mica_world_destroy(world);
    }
}

static void commands_keep_the_world_pose_too(void **state) {
    (void)state;
    mica_world *world = make_world();
    test_random random = {22};
    const mica_transform poses[2] = {random_pose(&random, true), random_pose(&random, false)};
    const mica_entity parent = spawn_pose(world, &poses[0]);
    const mica_entity child = spawn_pose(world, &poses[1]);
    mica_commands *commands = mica_commands_create(world);
    float before[16];
    float after[16];
    world_of(world, child, before);
    assert_int_equal(mica_set_parent_keep_pose(commands, child, parent), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(mica_entity_equal(mica_parent(world, child), parent));
    world_of(world, child, after);
    assert_stays(before, after, 2e-6);
    assert_int_equal(mica_unparent(commands, child), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(mica_entity_is_null(mica_parent(world, child)));
    world_of(world, child, after);
    assert_stays(before, after, 2e-6);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

// Scales that differ by axis have an exact form where axes stay axes.
static void non_uniform_parents_keep_poses_along_their_axes(void **state) {
    (void)state;
    mica_world *world = make_world();
    const float half = sqrtf(0.5f);
    const mica_transform above = {{1, 2, 3}, {half, 0, 0, half}, {2, -3, 0.5f}};
    const mica_transform pose = {{4, 5, 6}, {0, half, 0, half}, {1, 2, 3}};
    const mica_entity grandparent = spawn_pose(world, &above);
    const mica_entity parent = spawn_pose(world, &above);
    const mica_entity child = spawn_pose(world, &pose);
    mica_set_parent(world, parent, grandparent);
    mica_set_parent(world, child, parent);
    float before[16];
    float after[16];
    world_of(world, child, before);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    assert_true(mica_entity_equal(mica_parent(world, child), grandparent));
    world_of(world, child, after);
    assert_stays(before, after, 2e-6);
    assert_int_equal(mica_destroy(world, grandparent), MICA_OK);
    world_of(world, child, after);
    assert_stays(before, after, 2e-6);
    mica_world_destroy(world);
}

static void parents_at_rest_leave_no_trace(void **state) {
    (void)state;
    mica_world *world = make_world();
    test_random random = {23};
    const mica_transform pose = random_pose(&random, false);
    const mica_entity grandparent = mica_create(world);
    const mica_entity parent = spawn_pose(world, &at_rest);
    const mica_entity child = spawn_pose(world, &pose);
    mica_set_parent(world, parent, grandparent);
    mica_set_parent(world, child, parent);
    mica_destroy(world, parent);
    mica_destroy(world, grandparent);
    assert_memory_equal(mica_get(world, child, mica_transform), &pose, sizeof(pose));
    mica_world_destroy(world);
}

// A group without a pose hands its parent's on, so what is below the group has to be moved.
static void descendants_of_a_child_without_pose_stay_too(void **state) {
    (void)state;
    mica_world *world = make_world();
    test_random random = {24};
    const mica_transform above = random_pose(&random, true);
    const mica_entity parent = spawn_pose(world, &above);
    const mica_entity group = mica_create(world);
    const mica_entity empty = mica_create(world);
    const mica_entity inner = mica_create(world);
    mica_set_parent(world, group, parent);
    mica_set_parent(world, empty, group);
    mica_set_parent(world, inner, group);
    mica_entity leaves[3];
    float before[3][16];
    for (int32_t i = 0; i < 3; i++) {
        const mica_transform pose = random_pose(&random, false);
        leaves[i] = spawn_pose(world, &pose);
        mica_set_parent(world, leaves[i], i == 0 ? inner : i == 1 ? group : leaves[1]);
    }
    for (int32_t i = 0; i < 3; i++) {
        world_of(world, leaves[i], before[i]);
    }
    float after[16];
    assert_int_equal(mica_unparent(world, group), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        world_of(world, leaves[i], after);
        assert_stays(before[i], after, 5e-6);
    }
    assert_int_equal(mica_set_parent_keep_pose(world, group, parent), MICA_OK);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        world_of(world, leaves[i], after);
        assert_stays(before[i], after, 5e-6);
    }
    mica_world_destroy(world);
}

typedef struct lines {
    int32_t count;
    mica_log_level level;
    char last[256];
} lines;

static void keep_line(void *user, mica_log_level level, const char *text) {
    lines *log = user;
    log->count++;
    log->level = level;
    snprintf(log->last, sizeof(log->last), "%s", text);
}

static void assert_names(const lines *log, mica_entity entity, const char *word) {
    char name[48];
    snprintf(name, sizeof(name), "entity %u:%u ", mica_entity_index(entity), mica_entity_generation(entity));
    assert_int_equal(log->count, 1);
    assert_int_equal(log->level, MICA_LOG_WARNING);
    assert_non_null(strstr(log->last, name));
    assert_non_null(strstr(log->last, word));
}

static void shear_gives_the_nearest_pose_and_one_warning(void **state) {
    (void)state;
    lines log = {0};
    mica_world *world = mica_world_create(&(mica_world_def){.log = {keep_line, &log}});
    const mica_transform stretched = {{0, 0, 0}, {0, 0, 0, 1}, {3, 1, 1}};
    const float eighth[4] = {0, 0, 0.38268343f, 0.92387953f};
    mica_transform turned = at_rest;
    memcpy(turned.rotation, eighth, sizeof(eighth));
    turned.position[0] = 2;
    const mica_entity parent = spawn_pose(world, &stretched);
    const mica_entity child = spawn_pose(world, &turned);
    mica_set_parent(world, child, parent);
    float wanted[16];
    world_of(world, child, wanted);
    mica_transform nearest;
    assert_false(mica_transform_from_matrix(wanted, &nearest));
    assert_int_equal(mica_unparent(world, child), MICA_OK);
    assert_names(&log, child, "shear");
    const mica_transform *found = mica_get(world, child, mica_transform);
    assert_true(found->position[0] == 6);
    assert_true(fabs(squared_difference(wanted, found) - squared_difference(wanted, &nearest)) < 1e-5);

    log.count = 0;
    mica_get_write(world, child, mica_transform)->scale[0] = 1;
    assert_int_equal(mica_set_from(world, child, mica_transform, &turned), MICA_OK);
    mica_set_parent(world, child, parent);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    assert_names(&log, child, "shear");
    mica_world_destroy(world);
}

static void a_parent_scaled_to_nothing_leaves_the_local_pose(void **state) {
    (void)state;
    lines log = {0};
    mica_world *world = mica_world_create(&(mica_world_def){.log = {keep_line, &log}});
    const mica_transform flat = {{1, 2, 3}, {0, 0, 0, 1}, {1, 0, 1}};
    test_random random = {25};
    const mica_transform pose = random_pose(&random, false);
    const mica_entity parent = spawn_pose(world, &flat);
    const mica_entity child = spawn_pose(world, &pose);
    assert_int_equal(mica_set_parent_keep_pose(world, child, parent), MICA_OK);
    assert_memory_equal(mica_get(world, child, mica_transform), &pose, sizeof(pose));
    assert_names(&log, child, "scaled to nothing");
    assert_true(mica_entity_equal(mica_parent(world, child), parent));
    // The way out has an exact form: whatever it is, it is flat.
    const mica_transform beside = {{5, 6, 7}, {0, 0, 0, 1}, {2, 3, 4}};
    mica_set_from(world, child, mica_transform, &beside);
    float before[16];
    float after[16];
    world_of(world, child, before);
    assert_int_equal(mica_unparent(world, child), MICA_OK);
    world_of(world, child, after);
    assert_stays(before, after, 1e-6);
    assert_int_equal(log.count, 1);
    mica_world_destroy(world);
}

// Misuse

static void misuse_is_refused(void **state) {
    (void)state;
    mica_world *world = make_world();
    float matrix[16];
    const mica_entity bare = mica_create(world);
    assert_int_equal(mica_transform_world_of(world, bare, matrix), MICA_ABSENT);
    assert_int_equal(mica_transform_world_of(world, MICA_NULL, matrix), MICA_STALE);
    mica_destroy(world, bare);
    assert_int_equal(mica_transform_world_of(world, bare, matrix), MICA_STALE);
    assert_int_equal(mica_transform_resolve(NULL), MICA_INVALID);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    mica_transform pose = MICA_TRANSFORM_IDENTITY;
    const mica_entity posed = mica_spawn(world, mica_tag(mica_transform));
    assert_int_equal(mica_transform_world_of(world, posed, NULL), MICA_INVALID);
    mica_error_clear();
    mica_transform_matrix(NULL, matrix);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    mica_transform_matrix(&pose, NULL);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_false(mica_transform_from_matrix(NULL, &pose));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_false(mica_transform_from_matrix(matrix, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_world_destroy(world);
}

// A type of the program's own that has the library's name.
static mica_type own_transform = {.name = "Transform", .fields = "{ double angle; }", .size = 8, .align = 8};

static void a_transform_of_the_programs_own_is_left_alone(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_component own = mica_world_register(world, &own_transform);
    assert_int_not_equal(own, 0);
    const mica_entity parent = mica_create(world);
    const mica_entity child = mica_create(world);
    const double angle = 1.5;
    assert_int_equal(mica_entity_set(world, parent, own, &angle), MICA_OK);
    assert_int_equal(mica_entity_set(world, child, own, &angle), MICA_OK);
    assert_int_equal(mica_set_parent_keep_pose(world, child, parent), MICA_OK);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    assert_true(*(const double *)mica_entity_get(world, child, own) == angle);
    assert_int_equal(mica_transform_resolve(world), MICA_MISMATCH);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transform_starts_as_identity_and_brings_its_matrix),
        cmocka_unit_test(a_pose_scales_then_turns_then_moves),
        cmocka_unit_test(matrices_of_random_poses_agree_with_the_reference),
        cmocka_unit_test(poses_come_back_out_of_their_matrices),
        cmocka_unit_test(a_mirrored_matrix_gives_one_negative_scale),
        cmocka_unit_test(what_is_no_pose_is_said),
        cmocka_unit_test(the_pose_of_a_sheared_matrix_is_the_nearest),
        cmocka_unit_test(random_trees_agree_with_the_reference),
        cmocka_unit_test(resolved_matrices_have_the_same_bits_everywhere),
        cmocka_unit_test(resolving_again_follows_what_changed),
        cmocka_unit_test(a_chain_of_100000_is_resolved_and_kept_in_place),
        cmocka_unit_test(resolving_is_allowed_while_structure_is_locked_and_marks_what_it_writes),
        cmocka_unit_test(poses_that_a_span_holds_copies_of_are_resolved_as_written),
        cmocka_unit_test(the_system_resolves_after_updates),
        cmocka_unit_test(resolving_without_memory_is_refused_and_writes_nothing),
        cmocka_unit_test(roots_that_could_not_lose_their_link_are_resolved),
        cmocka_unit_test(a_new_parent_keeps_the_pose_that_is_asked_for),
        cmocka_unit_test(commands_keep_the_world_pose_too),
        cmocka_unit_test(non_uniform_parents_keep_poses_along_their_axes),
        cmocka_unit_test(parents_at_rest_leave_no_trace),
        cmocka_unit_test(descendants_of_a_child_without_pose_stay_too),
        cmocka_unit_test(shear_gives_the_nearest_pose_and_one_warning),
        cmocka_unit_test(a_parent_scaled_to_nothing_leaves_the_local_pose),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(a_transform_of_the_programs_own_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
