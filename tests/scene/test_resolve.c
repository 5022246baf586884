// World matrices are the same on any number of threads, whatever lies in which table.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/test_random.h"

#include <mica/mica.h>

MICA_TAG(Left);
MICA_TAG(Right);

enum {
    ENTITIES = 9000, // levels and tables without parents have more rows than a piece
    ROUNDS = 3,
    THREADS_MOST = 8
};

static void fail_if(mica_result result) {
    if (result != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static mica_transform random_pose(test_random *random) {
    static const float turns[4][4] = {{0, 0, 0, 1}, {0.6f, 0, 0, 0.8f}, {0, 0.8f, 0, 0.6f}, {0.5f, 0.5f, 0.5f, 0.5f}};
    mica_transform pose = MICA_TRANSFORM_IDENTITY;
    for (int32_t i = 0; i < 3; i++) {
        pose.position[i] = (float)test_random_below(random, 1000) / 8;
    }
    const uint32_t turn = test_random_below(random, 4);
    for (int32_t i = 0; i < 4; i++) {
        pose.rotation[i] = turns[turn][i];
    }
    return pose;
}

// Entities of several tables: below others or not, with and without a pose, with and without a place for their matrix.
static void spawn_random(mica_world *world, mica_entity *entities, test_random *random) {
    for (int32_t i = 0; i < ENTITIES; i++) {
        entities[i] = mica_create(world);
        if (test_random_below(random, 50) != 0) {
            const mica_transform pose = random_pose(random);
            fail_if(mica_set_from(world, entities[i], mica_transform, &pose));
        }
        if (test_random_below(random, 50) == 0) {
            mica_remove(world, entities[i], mica_world_transform);
        }
        if (test_random_below(random, 2) == 0) {
            fail_if(test_random_below(random, 2) == 0 ? mica_add(world, entities[i], Left)
                                                      : mica_add(world, entities[i], Right));
        }
    }
}

// Half of the entities get a parent among the first ones, or among all that came before.
static void link_random(mica_world *world, const mica_entity *entities, test_random *random) {
    for (uint32_t i = 1; i < ENTITIES; i++) {
        if (test_random_below(random, 2) == 0) {
            const uint32_t among = test_random_below(random, 2) == 0 && i > 20 ? 20 : i;
            fail_if(mica_set_parent(world, entities[i], entities[test_random_below(random, among)]));
        }
    }
}

// What worlds that only differ in threads come to: a checksum a round.
static void resolve_rounds(int32_t thread_count, bool has_links, uint64_t checksums[ROUNDS]) {
    mica_world *world =
        mica_world_create(&(mica_world_def){.thread_count = thread_count, .always_parallel = thread_count > 1});
    assert_non_null(world);
    mica_entity *entities = calloc(ENTITIES, sizeof *entities);
    assert_non_null(entities);
    test_random random = {5};
    spawn_random(world, entities, &random);
    for (int32_t round = 0; round < ROUNDS; round++) {
        if (has_links) {
            link_random(world, entities, &random);
        }
        for (uint32_t i = 0; i < ENTITIES; i += 7) {
            mica_transform *pose = mica_get_write(world, entities[i], mica_transform);
            if (pose != NULL) {
                *pose = random_pose(&random);
            }
        }
        fail_if(mica_transform_resolve(world));
        fail_if(mica_world_validate(world));
        fail_if(mica_world_checksum(world, NULL, &checksums[round]));
    }
    free(entities);
    mica_world_destroy(world);
}

static void assert_same_on_any_number_of_threads(bool has_links) {
    uint64_t alone[ROUNDS];
    resolve_rounds(1, has_links, alone);
    assert_true(alone[0] != alone[1]);
    for (int32_t thread_count = 2; thread_count <= THREADS_MOST; thread_count *= 2) {
        uint64_t beside[ROUNDS];
        resolve_rounds(thread_count, has_links, beside);
        assert_memory_equal(alone, beside, sizeof alone);
    }
}

static void levels_are_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    assert_same_on_any_number_of_threads(true);
}

static void what_was_never_linked_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    assert_same_on_any_number_of_threads(false);
}

// Beside another system of its batch.
typedef struct beside {
    mica_world *world;
    int32_t runs;
} beside;

static void count_run(mica_run *run) {
    ((beside *)mica_run_user(run))->runs++;
}

static void systems_resolve_beside_others(void **state) {
    (void)state;
    mica_world *world = mica_world_create(&(mica_world_def){.thread_count = 3, .always_parallel = true});
    beside test = {.world = world};
    assert_int_not_equal(mica_transform_system_add(world).id, 0);
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "count",
                                                                   .stage = MICA_RESOLVE,
                                                                   .run = count_run,
                                                                   .user = &test,
                                                                   .query = {mica_read(mica_transform)}})
                             .id,
                         0);
    const mica_transform pose = {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    mica_entity above = MICA_NULL;
    for (int32_t i = 0; i < 100; i++) {
        const mica_entity entity = mica_create(world);
        fail_if(mica_set_from(world, entity, mica_transform, &pose));
        if (i > 0) {
            fail_if(mica_set_parent(world, entity, above));
        }
        above = entity;
    }
    for (int32_t i = 1; i <= 3; i++) {
        fail_if(mica_world_step(world, 1));
        assert_int_equal(test.runs, i);
        assert_true(mica_get(world, above, mica_world_transform)->m[12] == 100);
    }
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_the_same_on_any_number_of_threads),
        cmocka_unit_test(what_was_never_linked_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(systems_resolve_beside_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
