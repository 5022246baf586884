// A world that goes on by itself, in tables and pools, with commands, events, random numbers, a resource, systems' own
// state, and messages that come in. The same messages give the same world.
#pragma once

#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/checksum.h>
#include <mica/delta.h>
#include <mica/journal.h>
#include <mica/mica.h>
#include <mica/snapshot.h>
#include <mica/synctest.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), {
    float x;
    uint8_t turns; // padding follows
    double y;
});
MICA_STRUCT_WITH(Speed, (.storage = MICA_TABLE), { float x, y; });
MICA_STRUCT_WITH(Ore, (.storage = MICA_POOL), { int32_t grams; });
MICA_TAG_WITH(Hot, (.storage = MICA_POOL));
MICA_STRUCT(Push, {
    uint8_t strength; // padding follows
    float x;
});
MICA_TAG(Bell);
MICA_STRUCT(Score, { int64_t pushes, bells, turns; });
MICA_STRUCT(Mill, { int64_t runs; });

static inline void tick_move(mica_run *run) {
    const float seconds = mica_delta_time(run);
    mica_run_state(run, Mill)->runs++;
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += speed[i].x * seconds;
            place[i].y += (double)(speed[i].y * seconds);
            place[i].turns++;
        }
    }
}

// Whoever comes and goes is chosen at random.
static inline void tick_mill(mica_run *run) {
    mica_random *random = mica_run_random(run);
    mica_commands *commands = mica_run_commands(run);
    for (uint32_t i = mica_random_below(random, 3); i > 0; i--) {
        const mica_entity made = mica_spawn(commands, mica_value_of(Place, {0}), mica_value_of(Speed, {1, 2}));
        if (mica_random_chance(random, 0.5)) {
            mica_set(commands, made, Ore, {(int32_t)mica_random_below(random, 1000)});
        }
    }
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            if (mica_random_below(random, 20) == 0) {
                mica_destroy(commands, it.entities[i]);
            } else if (mica_random_below(random, 10) == 0) {
                mica_add(commands, it.entities[i], Hot);
            }
        }
    }
}

static inline void tick_hear(mica_run *run) {
    Score *score = mica_resource_write(mica_run_world(run), Score);
    float x = 0;
    mica_event_reader *pushes = mica_run_events(run, Push);
    for (const Push *push; (push = mica_next_event(pushes, Push)) != NULL;) {
        score->pushes += push->strength;
        x += push->x;
    }
    mica_event_reader *bells = mica_run_events(run, Bell);
    while (mica_next_tag_event(bells, Bell)) {
        score->bells++;
    }
    mica_each (run, it) {
        Speed *speed = mica_write_of(it, Speed);
        for (int32_t i = 0; x != 0 && i < it.count; i++) {
            speed[i].x += x;
        }
    }
}

static inline void tick_cool(mica_run *run) {
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            mica_remove(mica_iter_commands(it), it.entities[i], Hot);
        }
    }
}

static inline mica_world *tick_world_open(const mica_world_def *def) {
    mica_world *world = mica_world_create(def);
    assert_non_null(world);
    assert_true(mica_register(world, Push) != 0 && mica_register(world, Bell) != 0);
    const mica_system_def systems[] = {
        {.name = "hear",
         .run = tick_hear,
         .query = {mica_write(Speed)},
         .access = {mica_writes(Score), mica_reads(Push), mica_reads(Bell)}},
        {.name = "move", .run = tick_move, .state = mica_type_of(Mill), .query = {mica_write(Place), mica_read(Speed)}},
        {.name = "cool", .run = tick_cool, .stage = MICA_PRE_UPDATE, .query = {mica_with(Hot)}},
        {.name = "mill", .run = tick_mill, .stage = MICA_POST_UPDATE, .query = {mica_read(Place)}},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        assert_int_not_equal(mica_system_add(world, &systems[i]).id, 0);
    }
    assert_int_equal(mica_set_resource(world, Score, {0}), MICA_OK);
    for (int32_t i = 0; i < 40; i++) {
        const mica_entity entity =
            mica_spawn(world, mica_value_of(Place, {.x = (float)i}), mica_value_of(Speed, {1, 2}));
        if (i % 3 == 0) {
            assert_int_equal(mica_set(world, entity, Ore, {i}), MICA_OK);
        }
    }
    return world;
}

// What comes in before a tick.
static inline void tick_post(mica_world *world) {
    test_random random = {.state = mica_world_tick(world)};
    mica_inbox *inbox = mica_world_inbox(world);
    for (uint32_t i = test_random_below(&random, 4); i > 0; i--) {
        assert_int_equal(mica_post(inbox, Push, {(uint8_t)i, (float)test_random_below(&random, 5)}), MICA_OK);
        if (i == 2) {
            assert_int_equal(mica_post_tag(inbox, Bell), MICA_OK);
        }
    }
}

static inline uint64_t tick_checksum(mica_world *world) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, NULL, &checksum), MICA_OK);
    return checksum;
}

static inline void tick_assert_equal(mica_world *a, mica_world *b) {
    mica_difference difference;
    const mica_checksum_options exactly = {.exact = true};
    assert_int_equal(mica_world_compare(a, b, &exactly, &difference), MICA_OK);
    if (difference.kind != MICA_DIFFERENCE_NONE) {
        fail_msg("%s", difference.text);
    }
}
