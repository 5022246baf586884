// A churning world: systems that run side by side and share loops out, and that make, destroy and change entities and
// send events all the while.
#pragma once

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/test_run.h"

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

enum { CHURN_ENTITIES = 3000 };

static inline void churn_move(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += speed[i].x;
            place[i].y += speed[i].y;
        }
    }
}

static inline void churn_cool(mica_run *run) {
    mica_each (run, it) {
        Heat *heat = mica_write_of(it, Heat);
        for (int32_t i = 0; i < it.count; i++) {
            heat[i].degrees *= 0.5f;
        }
    }
    mica_run_state(run, Count)->runs++;
}

// Components come and go, entities too, and one follows another that is made with it.
static inline void churn_age_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    mica_commands *commands = mica_run_commands(run);
    must(run, commands == mica_iter_commands(*span));
    Life *life = mica_write_of(*span, Life);
    for (int32_t i = 0; i < span->count; i++) {
        const mica_entity entity = span->entities[i];
        bool worked = true;
        switch (life[i].left--) {
        case 0: {
            worked = mica_destroy(commands, entity) == MICA_OK;
            const mica_entity made = mica_spawn(commands, mica_value_of(Life, {9}), mica_value_of(Place, {0, 1}));
            worked &=
                !mica_entity_is_null(made) && !mica_entity_is_null(mica_spawn(commands, mica_value_of(Follow, {made})));
            break;
        }
        case 2:
            worked =
                mica_set(commands, entity, Group, {i}) == MICA_OK && mica_set(commands, entity, Heat, {100}) == MICA_OK;
            break;
        case 4:
            worked =
                mica_remove(commands, entity, Group) == MICA_OK &&
                mica_set(commands, entity, Shot, {(int32_t)mica_random_below(mica_run_random(run), 100)}) == MICA_OK;
            break;
        case 6:
            worked = mica_add(commands, entity, Burning) == MICA_OK;
            break;
        case 7:
            worked =
                mica_remove(commands, entity, Burning) == MICA_OK && mica_remove(commands, entity, Shot) == MICA_OK;
            break;
        default:
            break;
        }
        must(run, worked);
    }
}

static inline void churn_age(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, churn_age_span, NULL) == MICA_OK);
}

static inline void churn_choose_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    Chosen *chosen = mica_write_of(*span, Chosen);
    for (int32_t i = 0; i < span->count; i++) {
        chosen[i].number = mica_random_next(mica_run_random(run));
    }
}

static inline void churn_choose(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, churn_choose_span, NULL) == MICA_OK);
}

static inline void churn_shoot(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        const Shot *shot = mica_read_of(it, Shot);
        for (int32_t i = 0; i < it.count; i++) {
            must(run, mica_send(world, Hit, {shot[i].power}) == MICA_OK);
        }
    }
}

static inline void churn_keep_score(mica_run *run) {
    Score *score = mica_resource_write(mica_run_world(run), Score);
    mica_event_reader *reader = mica_run_events(run, Hit);
    must(run, reader != NULL);
    for (const Hit *hit; reader != NULL && (hit = mica_next_event(reader, Hit)) != NULL;) {
        score->hits += hit->power;
    }
}

// Writes values of entities by handle, of a component that it has declared.
static inline void churn_regroup(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            Group *group = mica_get_write(world, it.entities[i], Group);
            group->number++;
            must(run, mica_set(world, it.entities[i], Group, {group->number + 1}) == MICA_OK);
        }
    }
}

static inline void churn_note_changes(mica_run *run) {
    mica_each (run, it) {
        mica_run_state(run, Count)->runs += it.count;
    }
}

// Over both storages, with copies of what lies apart, which values by handle are to agree with at once.
static inline void churn_warm(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_each (run, it) {
        Shot *shot = mica_write_of(it, Shot);
        const Life *life = mica_read_of(it, Life);
        for (int32_t i = 0; i < it.count; i++) {
            shot[i].power += life[i].left;
        }
        const Shot *first = mica_get(world, it.entities[0], Shot);
        if (first == NULL || first->power != shot[0].power) {
            mica_run_fail(run, MICA_FAILED, "what was written to a copy is not seen");
        }
    }
}

// Leaves some out of walks, and lets them in again.
static inline void churn_hide_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    const bool hides = mica_run_tick(run) % 4 == 1;
    for (int32_t i = 0; i < span->count; i += 3) {
        must(run, (hides ? mica_disable(mica_run_commands(run), span->entities[i])
                         : mica_enable(mica_run_commands(run), span->entities[i])) == MICA_OK);
    }
}

static inline void churn_hide(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, churn_hide_span, NULL) == MICA_OK);
}

static inline void churn_add(mica_world *world, const mica_system_def *def) {
    assert_int_not_equal(mica_system_add(world, def).id, 0);
}

// Adds the systems and entities to an empty world.
static inline void churn_fill(mica_world *world) {
    assert_int_equal(mica_set_resource(world, Score, {0}), MICA_OK);
    churn_add(world,
              &(mica_system_def){.name = "move", .run = churn_move, .query = {mica_write(Place), mica_read(Speed)}});
    churn_add(world, &(mica_system_def){
                         .name = "cool", .run = churn_cool, .query = {mica_write(Heat)}, .state = mica_type_of(Count)});
    churn_add(world, &(mica_system_def){.name = "age", .run = churn_age, .query = {mica_write(Life)}});
    churn_add(world, &(mica_system_def){.name = "choose", .run = churn_choose, .query = {mica_write(Chosen)}});
    churn_add(world,
              &(mica_system_def){
                  .name = "shoot", .run = churn_shoot, .query = {mica_read(Shot)}, .access = {mica_writes(Hit)}});
    churn_add(world, &(mica_system_def){
                         .name = "score", .run = churn_keep_score, .access = {mica_reads(Hit), mica_writes(Score)}});
    churn_add(world, &(mica_system_def){.name = "regroup",
                                        .run = churn_regroup,
                                        .query = {mica_with(Group)},
                                        .access = {mica_writes(Group)}});
    churn_add(world, &(mica_system_def){.name = "note",
                                        .run = churn_note_changes,
                                        .query = {mica_changed(Group)},
                                        .state = mica_type_of(Count)});
    churn_add(world, &(mica_system_def){.name = "note again",
                                        .run = churn_note_changes,
                                        .stage = MICA_LAST,
                                        .query = {mica_changed(Place), mica_with(Heat)},
                                        .state = mica_type_of(Count)});
    churn_add(world,
              &(mica_system_def){.name = "warm", .run = churn_warm, .query = {mica_write(Shot), mica_read(Life)}});
    churn_add(world, &(mica_system_def){.name = "hide",
                                        .run = churn_hide,
                                        .query = {mica_with(Chosen), mica_disabled_too()},
                                        .every = 2,
                                        .offset = 1});
    for (int32_t i = 0; i < CHURN_ENTITIES; i++) {
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
}
