// A world in which everything goes on and nothing grows: systems, commands, events, queries for changes, observers,
// groups, a hierarchy, and verbs from outside. As many entities come in a frame as go.
#pragma once

#include "world/world_fixture.h"

MICA_STRUCT_WITH(Place, (.storage = MICA_TABLE), { float x, y; });
MICA_STRUCT_WITH(Speed, (.storage = MICA_TABLE), { float x, y; });
MICA_STRUCT_WITH(Life, (.storage = MICA_TABLE), { int32_t left; });
MICA_STRUCT_WITH(Extra, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(Shot, (.storage = MICA_POOL), { int32_t power; });
MICA_STRUCT_WITH(Heat, (.storage = MICA_POOL), { float degrees; });
MICA_STRUCT_WITH(Anchor, (.storage = MICA_POOL, .stable = true), { int32_t depth; });
MICA_TAG_WITH(Burning, (.storage = MICA_POOL));
MICA_TAG_WITH(Seen, (.storage = MICA_TABLE));
MICA_STRUCT(Hit, {
    mica_entity who;
    int32_t power;
});
MICA_STRUCT(Score, {
    int64_t hits;
    int64_t heard;
    int64_t noticed;
    int64_t placed;
});

enum { BUSY_GENERATIONS = 8, BUSY_COUNT = 60, BUSY_LIFE = 7 };

typedef struct busy_world {
    mica_world *world;
    mica_entity rings[BUSY_GENERATIONS][BUSY_COUNT]; // made by verbs from outside, the oldest destroyed in turn
    mica_entity roots[BUSY_GENERATIONS];
    mica_query *placed;
    mica_query *of_changes;
    mica_group *group;
    mica_commands *commands;
    mica_event_reader *reader;
    int64_t signal_count;
    uint64_t frame;
} busy_world;

static inline void busy_move(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += speed[i].x;
            place[i].y += speed[i].y;
        }
    }
}

// Entities that were made by this system end after BUSY_LIFE ticks, and others come for them; their components come and
// go meanwhile.
static inline void busy_age(mica_run *run) {
    mica_commands *commands = mica_run_commands(run);
    mica_each (run, it) {
        Life *life = mica_write_of(it, Life);
        for (int32_t i = 0; i < it.count; i++) {
            const mica_entity entity = it.entities[i];
            switch (life[i].left--) {
            case 0:
                mica_destroy(commands, entity);
                mica_spawn(commands, mica_value_of(Life, {BUSY_LIFE}), mica_value_of(Place, {0, 1}));
                break;
            case 1:
                mica_remove(commands, entity, Shot);
                mica_remove(commands, entity, Extra);
                break;
            case 3:
                mica_set(commands, entity, Extra, {i});
                mica_set(commands, entity, Heat, {1});
                mica_send(mica_run_world(run), Hit, {entity, i});
                break;
            case 5:
                mica_set(commands, entity, Shot, {i});
                mica_remove(commands, entity, Heat);
                break;
            default:
                mica_set(commands, entity, Life, {life[i].left});
                break;
            }
        }
    }
}

static inline void busy_hear(mica_run *run) {
    Score *score = mica_resource_write(mica_run_world(run), Score);
    mica_event_reader *reader = mica_run_events(run, Hit);
    for (const Hit *hit; (hit = mica_next_event(reader, Hit)) != NULL;) {
        score->heard++;
    }
    mica_each (run, it) { // whose shots came or went since the last run
        score->noticed += it.count;
    }
    mica_each (mica_run_query(run, 0), it) {
        score->noticed += it.count;
    }
}

static inline void busy_signal(const mica_signal *signal) {
    busy_world *busy = signal->user;
    busy->signal_count++;
    if (signal->kind == MICA_ADDED && mica_alive(signal->world, signal->entity)) {
        mica_add(signal->commands, signal->entity, Burning);
    } else if (signal->kind == MICA_REMOVED && mica_alive(signal->world, signal->entity)) {
        mica_remove(signal->commands, signal->entity, Burning);
    }
}

static inline void busy_hit(const mica_event *event) {
    busy_world *busy = event->user;
    busy->signal_count++;
}

static inline void busy_add_systems(busy_world *busy) {
    mica_world *world = busy->world;
    const mica_system_def defs[] = {
        {.name = "move", .run = busy_move, .query = {mica_write(Place), mica_read(Speed)}},
        {.name = "age", .run = busy_age, .query = {mica_write(Life)}, .access = {mica_writes(Hit)}},
        {.name = "hear",
         .run = busy_hear,
         .stage = MICA_POST_UPDATE,
         .query = {mica_added(Shot)},
         .query_count = 1,
         .queries = {{.terms = {mica_removed(Shot)}}},
         .access = {mica_writes(Score), mica_reads(Hit)},
         .user = busy},
    };
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        assert_int_not_equal(mica_system_add(world, &defs[i]).id, 0);
    }
    assert_int_not_equal(mica_transform_system_add(world).id, 0);
}

static inline void busy_begin(busy_world *busy, const mica_world_def *def) {
    *busy = (busy_world){.world = mica_world_create(def)};
    mica_world *world = busy->world;
    assert_non_null(world);
    assert_int_equal(mica_set_resource(world, Score, {0, 0, 0, 0}), MICA_OK);
    busy_add_systems(busy);
    assert_int_not_equal(mica_on_added(world, Shot, busy_signal, busy).id, 0);
    assert_int_not_equal(mica_on_removed(world, Shot, busy_signal, busy).id, 0);
    assert_int_not_equal(mica_observer_connect(world, &(mica_observer_def){.on = MICA_ENTERED,
                                                                           .query = {mica_with(Heat), mica_with(Place)},
                                                                           .call = busy_signal,
                                                                           .user = busy})
                             .id,
                         0);
    assert_int_not_equal(mica_on_event(world, Hit, busy_hit, busy).id, 0);
    busy->placed = mica_query_create(world, (const mica_term[]){mica_write(Place), mica_read_optional(Heat)}, 2);
    busy->of_changes = mica_query_create(world, (const mica_term[]){mica_changed(Place)}, 1);
    busy->group =
        mica_group_create(world, &(mica_group_def){.owned = {mica_type_of(Shot)}, .with = {mica_type_of(Burning)}});
    busy->commands = mica_commands_create(world);
    busy->reader = mica_reader_of(world, Hit, "outside");
    assert_true(busy->placed != NULL && busy->of_changes != NULL && busy->group != NULL && busy->commands != NULL &&
                busy->reader != NULL);
    for (int32_t i = 0; i < BUSY_COUNT; i++) {
        assert_true(mica_alive(
            world, mica_spawn(world, mica_value_of(Life, {i % BUSY_LIFE}), mica_value_of(Place, {1, (float)i}))));
    }
}

// Makes the entities of a generation by every verb that makes some.
static inline void busy_make(busy_world *busy, mica_entity *ring) {
    mica_world *world = busy->world;
    Place places[20] = {{1, 2}};
    Heat heats[20] = {{3}};
    for (int32_t i = 0; i < 20; i++) {
        ring[i] = mica_spawn(world, mica_value_of(Place, {(float)i, 0}), mica_value_of(Speed, {1, 1}),
                             mica_value_of(Anchor, {i}));
    }
    assert_int_equal(mica_spawn_many(world, 20, ring + 20, mica_column_of(Place, places), mica_column_of(Heat, heats)),
                     MICA_OK);
    for (int32_t i = 40; i < 50; i++) {
        ring[i] = mica_clone(world, ring[i - 30]);
    }
    for (int32_t i = 50; i < BUSY_COUNT; i++) {
        ring[i] = mica_create(world);
        assert_int_equal(mica_set(world, ring[i], mica_transform, MICA_TRANSFORM_IDENTITY), MICA_OK);
        assert_int_equal(mica_set_parent(world, ring[i], i == 50 ? MICA_NULL : ring[i - 1]), MICA_OK);
    }
}

static inline void busy_change(busy_world *busy, const mica_entity *ring) {
    mica_world *world = busy->world;
    for (int32_t i = 0; i < 40; i++) {
        assert_int_equal(mica_set(world, ring[i], Shot, {i}), MICA_OK);
        assert_int_equal(mica_add(world, ring[i], Seen), MICA_OK);
        assert_int_equal(mica_set(world, ring[i], Place, {3, 4}), MICA_OK);
        assert_int_equal(mica_disable(world, ring[i]), MICA_OK);
    }
    for (int32_t i = 0; i < 40; i++) {
        assert_int_equal(mica_enable(world, ring[i]), MICA_OK);
        assert_int_equal(mica_remove(world, ring[i], Seen), MICA_OK);
        if (i % 2 == 0) {
            assert_int_equal(mica_remove(world, ring[i], Shot), MICA_OK);
        }
        mica_destroy(busy->commands, mica_spawn(busy->commands, mica_value_of(Place, {1, 1})));
        mica_set(busy->commands, ring[i], Extra, {i});
    }
    assert_int_equal(mica_commands_apply(busy->commands), MICA_OK);
}

static inline void busy_walk(busy_world *busy) {
    Score *score = mica_resource_write(busy->world, Score);
    mica_each (busy->placed, it) {
        Place *place = mica_write_of(it, Place);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += 1;
            if (i % 16 == 0) {
                mica_set(mica_iter_commands(it), it.entities[i], Heat, {2});
            }
        }
    }
    const uint64_t since = mica_world_version(busy->world) - 2;
    mica_each_since(busy->of_changes, since, it) {
        score->placed += it.count;
    }
    for (const Hit *hit; (hit = mica_next_event(busy->reader, Hit)) != NULL;) {
        score->hits++;
    }
}

static inline void busy_frame(busy_world *busy) {
    mica_world *world = busy->world;
    const uint64_t turn = busy->frame++ % BUSY_GENERATIONS;
    mica_entity *ring = busy->rings[turn];
    if (busy->frame > BUSY_GENERATIONS) {
        assert_int_equal(mica_destroy_subtree(world, ring[50]), MICA_OK);
        assert_int_equal(mica_kill(world, ring[0]), MICA_OK);
        assert_int_equal(mica_world_refresh(world), 1);
        assert_int_equal(mica_entity_destroy_many(world, ring + 1, 49), MICA_OK);
    }
    busy_make(busy, ring);
    busy_change(busy, ring);
    assert_int_equal(mica_world_step(world, 1.0f / 60), MICA_OK);
    busy_walk(busy);
}

static inline void busy_end(busy_world *busy) {
    mica_event_reader_destroy(busy->reader);
    mica_commands_destroy(busy->commands);
    mica_group_destroy(busy->group);
    mica_query_release(busy->of_changes);
    mica_query_release(busy->placed);
    mica_world_destroy(busy->world);
}
