// Systems side by side and parallel loops: the same on any number of threads, whatever systems do.
#include <mica/checksum.h>
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), { float x, y; });
MICA_STRUCT_WITH(Speed, (.storage = MICA_TABLE), { float x, y; });
MICA_STRUCT_WITH(Life, (.storage = MICA_TABLE), { int32_t left; });
MICA_STRUCT_WITH(Group, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Heat, (.storage = MICA_POOL), { float degrees; });
MICA_STRUCT_WITH(Shot, (.storage = MICA_POOL), { int32_t power; });
MICA_STRUCT_WITH(Chosen, (.storage = MICA_TABLE), { uint64_t number; });
MICA_STRUCT_WITH(Follow, (.storage = MICA_TABLE), { mica_entity who; });
MICA_TAG_WITH(Burning, (.storage = MICA_POOL));
MICA_STRUCT(Hit, { int32_t power; });
MICA_STRUCT(Score, { int64_t hits; });
MICA_STRUCT(Count, { int64_t runs; });

enum { TICKS = 40, ENTITIES = 3000 };

static test_allocator allocator;

static int set_up(void **state) {
    (void)state;
    test_allocator_init(&allocator);
    mica_error_clear();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_allocator_finish(&allocator);
    return 0;
}

static mica_world *begin(int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){.name = "test",
                                                            .allocator = test_allocator_hooks(&allocator),
                                                            .thread_count = thread_count,
                                                            .always_parallel = true});
    assert_non_null(world);
    return world;
}

static void end(mica_world *world) {
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
}

// The churning world

static void move(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += speed[i].x;
            place[i].y += speed[i].y;
        }
    }
}

static void cool(mica_run *run) {
    mica_each (run, it) {
        Heat *heat = mica_write_of(it, Heat);
        for (int32_t i = 0; i < it.count; i++) {
            heat[i].degrees *= 0.5f;
        }
    }
    mica_run_state(run, Count)->runs++;
}

// Components come and go, entities too, and one follows another that is made with it.
static void age_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    mica_commands *commands = mica_run_commands(run);
    assert_ptr_equal(commands, mica_iter_commands(*span));
    Life *life = mica_write_of(*span, Life);
    for (int32_t i = 0; i < span->count; i++) {
        const mica_entity entity = span->entities[i];
        switch (life[i].left--) {
        case 0: {
            mica_destroy(commands, entity);
            const mica_entity made = mica_spawn(commands, mica_value_of(Life, {9}), mica_value_of(Place, {0, 1}));
            mica_spawn(commands, mica_value_of(Follow, {made}));
            break;
        }
        case 2:
            mica_set(commands, entity, Group, {i});
            mica_set(commands, entity, Heat, {100});
            break;
        case 4:
            mica_remove(commands, entity, Group);
            mica_set(commands, entity, Shot, {(int32_t)mica_random_below(mica_run_random(run), 100)});
            break;
        case 6:
            mica_add(commands, entity, Burning);
            break;
        case 7:
            mica_remove(commands, entity, Burning);
            mica_remove(commands, entity, Shot);
            break;
        default:
            break;
        }
    }
}

static void age(mica_run *run) {
    assert_int_equal(mica_parallel_for(run, NULL, age_span, NULL), MICA_OK);
}

static void choose_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    Chosen *chosen = mica_write_of(*span, Chosen);
    for (int32_t i = 0; i < span->count; i++) {
        chosen[i].number = mica_random_next(mica_run_random(run));
    }
}

static void choose(mica_run *run) {
    assert_int_equal(mica_parallel_for(run, NULL, choose_span, NULL), MICA_OK);
}

static void shoot(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        const Shot *shot = mica_read_of(it, Shot);
        for (int32_t i = 0; i < it.count; i++) {
            assert_int_equal(mica_send(world, Hit, {shot[i].power}), MICA_OK);
        }
    }
}

static void keep_score(mica_run *run) {
    Score *score = mica_resource_write(mica_run_world(run), Score);
    mica_event_reader *reader = mica_run_events(run, Hit);
    for (const Hit *hit; (hit = mica_next_event(reader, Hit)) != NULL;) {
        score->hits += hit->power;
    }
}

// Writes values of entities by handle, of a component that it has declared.
static void regroup(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            Group *group = mica_get_write(world, it.entities[i], Group);
            assert_non_null(group);
            group->number++;
            assert_int_equal(mica_set(world, it.entities[i], Group, {group->number + 1}), MICA_OK);
        }
    }
}

static void note_changes(mica_run *run) {
    mica_each (run, it) {
        mica_run_state(run, Count)->runs += it.count;
    }
}

static void add(mica_world *world, const mica_system_def *def) {
    assert_int_not_equal(mica_system_add(world, def).id, 0);
}

static mica_world *begin_churn(int32_t thread_count) {
    mica_world *world = begin(thread_count);
    assert_int_equal(mica_set_resource(world, Score, {0}), MICA_OK);
    add(world, &(mica_system_def){.name = "move", .run = move, .query = {mica_write(Place), mica_read(Speed)}});
    add(world,
        &(mica_system_def){.name = "cool", .run = cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
    add(world, &(mica_system_def){.name = "age", .run = age, .query = {mica_write(Life)}});
    add(world, &(mica_system_def){.name = "choose", .run = choose, .query = {mica_write(Chosen)}});
    add(world,
        &(mica_system_def){.name = "shoot", .run = shoot, .query = {mica_read(Shot)}, .access = {mica_writes(Hit)}});
    add(world, &(mica_system_def){.name = "score", .run = keep_score, .access = {mica_reads(Hit), mica_writes(Score)}});
    add(world, &(mica_system_def){
                   .name = "regroup", .run = regroup, .query = {mica_with(Group)}, .access = {mica_writes(Group)}});
    add(world, &(mica_system_def){
                   .name = "note", .run = note_changes, .query = {mica_changed(Group)}, .state = mica_type_of(Count)});
    add(world, &(mica_system_def){.name = "note again",
                                  .run = note_changes,
                                  .stage = MICA_LAST,
                                  .query = {mica_changed(Place), mica_with(Heat)},
                                  .state = mica_type_of(Count)});
    for (int32_t i = 0; i < ENTITIES; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Place, {(float)i, 0}), mica_value_of(Life, {i % 9}));
        if (i % 2 == 0) {
            mica_set(world, entity, Speed, {1, (float)(i % 7)});
        }
        if (i % 3 == 0) {
            mica_set(world, entity, Chosen, {0});
        }
        if (i % 5 == 0) {
            mica_set(world, entity, Group, {i});
        }
        if (i % 7 == 0) {
            mica_set(world, entity, Heat, {(float)i});
        }
    }
    return world;
}

static void churn(int32_t thread_count, uint64_t sums[TICKS]) {
    mica_world *world = begin_churn(thread_count);
    for (int32_t i = 0; i < TICKS; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        assert_int_equal(mica_world_checksum(world, NULL, &sums[i]), MICA_OK);
    }
    assert_true(mica_resource(world, Score)->hits > 0);
    end(world);
}

static void a_world_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    static const int32_t thread_counts[] = {2, 3, 4, 8};
    uint64_t expected[TICKS];
    uint64_t sums[TICKS];
    churn(1, expected);
    for (size_t i = 0; i < sizeof(thread_counts) / sizeof(thread_counts[0]); i++) {
        churn(thread_counts[i], sums);
        assert_memory_equal(sums, expected, sizeof(sums));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_world_is_the_same_on_any_number_of_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
