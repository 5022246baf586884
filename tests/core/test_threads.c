// Two worlds that share a schema, each on a thread of its own, and frames that allocate nothing once they are warm.
#include "world/world_fixture.h"

#include <pthread.h>

MICA_STRUCT(Speed, { float x, y, z; });
MICA_TAG(Seen);
MICA_STRUCT(Shared, { int32_t a[4]; });

enum { ENTITY_COUNT = 300, TICK_COUNT = 40 };

static void move_all(mica_run *run) {
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += speed[i].x * mica_delta_time(run);
        }
    }
}

static void mark_fast(mica_run *run) {
    mica_each (run, it) {
        const Position *position = mica_read_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            if (position[i].x > 100) {
                mica_add(mica_iter_commands(it), it.entities[i], Seen);
            }
        }
    }
}

// Types are registered from both threads at once, in another order on each; then the worlds live their lives.
typedef struct life {
    mica_schema *schema;
    bool backwards;
    mica_component position, shared;
    double sum;
    int32_t seen;
    mica_result result;
} life;

static void *live(void *user) {
    life *l = user;
    mica_world *world = mica_world_create(&(mica_world_def){.schema = l->schema});
    if (l->backwards) {
        l->shared = mica_register(world, Shared);
        mica_register(world, Speed);
        l->position = mica_register(world, Position);
    } else {
        l->position = mica_register(world, Position);
        mica_register(world, Speed);
        l->shared = mica_register(world, Shared);
    }
    mica_schema_fields(l->schema, l->shared, NULL);
    mica_system_add(
        world, &(mica_system_def){.name = "move", .run = move_all, .query = {mica_write(Position), mica_read(Speed)}});
    mica_system_add(world, &(mica_system_def){.name = "mark",
                                              .run = mark_fast,
                                              .query = {mica_read(Position), mica_without(Seen)},
                                              .after = {"move"}});
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        mica_spawn(world, mica_value_of(Position, {0, 0, 0}), mica_value_of(Speed, {(float)i, 0, 0}));
    }
    for (int32_t i = 0; i < TICK_COUNT && l->result == MICA_OK; i++) {
        l->result = mica_world_step(world, 0.25f);
    }
    mica_each (mica_query_of(world, mica_read(Position)), it) {
        const Position *position = mica_read_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            l->sum += position[i].x;
        }
    }
    l->seen = mica_query_count(mica_query_of(world, mica_with(Seen)));
    mica_world_destroy(world);
    return NULL;
}

static void two_worlds_share_a_schema_on_two_threads(void **state) {
    (void)state;
    for (int32_t round = 0; round < 10; round++) {
        mica_schema *schema = mica_schema_create(NULL);
        life lives[2] = {{.schema = schema}, {.schema = schema, .backwards = true}};
        pthread_t threads[2];
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, live, &lives[i]), 0);
        }
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        const double expected = 0.25 * TICK_COUNT * (ENTITY_COUNT - 1) * ENTITY_COUNT / 2;
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(lives[i].result, MICA_OK);
            assert_true(lives[i].sum == expected);
            assert_int_equal(lives[i].seen, ENTITY_COUNT - 11); // above 100 / (0.25 * TICK_COUNT)
        }
        assert_int_equal(lives[0].position, lives[1].position);
        assert_int_equal(lives[0].shared, lives[1].shared);
        assert_int_equal(mica_schema_count(schema), 4);
        mica_schema_release(schema);
    }
}

// A frame of everything that goes on all the time: walks, reads and writes, commands that make, change and end.

static void churn(mica_run *run) {
    mica_each (run, it) {
        mica_commands *commands = mica_iter_commands(it);
        for (int32_t i = 0; i < it.count; i++) {
            mica_destroy(commands, it.entities[i]);
            const mica_entity made = mica_spawn(commands, mica_value_of(Health, {1}), mica_tag(Marked));
            mica_set(commands, made, Target, {made});
        }
    }
}

static void frame(mica_world *world, mica_entity entity) {
    assert_int_equal(mica_world_step(world, 0.01f), MICA_OK);
    assert_int_equal(mica_set(world, entity, Position, {1, 2, 3}), MICA_OK);
    assert_true(mica_get(world, entity, Position)->y == 2);
    mica_get_write(world, entity, Position)->x = 4;
    assert_int_equal(mica_add(world, entity, Frozen), MICA_OK);
    assert_int_equal(mica_remove(world, entity, Frozen), MICA_OK);
    const mica_entity passing = mica_spawn(world, mica_value_of(Health, {5}), mica_value_of(Position, {0, 0, 0}));
    assert_int_equal(mica_destroy(world, passing), MICA_OK);
    int32_t seen = 0;
    mica_each (mica_query_of(world, mica_read(Position)), it) {
        seen += it.count;
        mica_each (mica_query_find(world, NULL, 0), all) {
            mica_set(mica_iter_commands(all), entity, Health, {6});
        }
    }
    assert_int_equal(seen, ENTITY_COUNT + 1);
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
}

static void frames_that_are_alike_allocate_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_register(w.world, Speed);
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        mica_spawn(w.world, mica_value_of(Position, {0, 0, 0}), mica_value_of(Speed, {1, 0, 0}));
        mica_spawn(w.world, mica_value_of(Health, {1}), mica_tag(Marked), mica_value_of(Target, {MICA_NULL}));
    }
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {0, 0, 0}));
    const mica_entity parent = mica_spawn(w.world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY));
    const mica_entity child = mica_spawn(w.world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY));
    assert_int_equal(mica_set_parent(w.world, child, parent), MICA_OK);
    mica_system_add(w.world, &(mica_system_def){
                                 .name = "move", .run = move_all, .query = {mica_write(Position), mica_read(Speed)}});
    mica_system_add(w.world,
                    &(mica_system_def){.name = "churn", .run = churn, .query = {mica_read(Health), mica_with(Marked)}});
    for (int32_t i = 0; i < 3; i++) {
        frame(w.world, entity);
    }
    const uint64_t calls = w.allocator.call_count;
    for (int32_t i = 0; i < 50; i++) {
        frame(w.world, entity);
    }
    assert_int_equal(w.allocator.call_count, calls);
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_with(Marked))), ENTITY_COUNT);
    assert_valid(w.world);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_worlds_share_a_schema_on_two_threads),
        cmocka_unit_test(frames_that_are_alike_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
