// Walks over what has changed: a system that computes velocities from the positions that have changed since its last
// run, beside the same system over all of them; both give the same velocities. An operation is one entity of the world,
// visited or not, and a run is a tick.
//
// Before a run positions are changed: nobody's, those of one chunk in a hundred, all; in "changed/rows" those of one
// entity in a hundred, of a type that is tracked by rows and marked by them. And what it adds to a removal that
// somebody asks for removals.
#include "crowd.h"
#include "rows.h"

#include <stdlib.h>

MICA_NAMED_WITH(TrackedPosition, Position, (.track_rows = true));

enum { PART = 100 };

typedef struct tracked {
    mica_world *world;
    mica_query *positions;  ///< For changing them.
    mica_query *velocities; ///< For checking them.
    mica_type *position;
    uint32_t round; ///< Which part is changed next.
} tracked;

static void tear_down(void *context) {
    tracked *state = context;
    mica_query_release(state->positions);
    mica_query_release(state->velocities);
    mica_world_destroy(state->world);
    free(state);
}

static void derive(mica_run *run) {
    mica_type *position = mica_run_user(run);
    mica_each (run, it) {
        const Position *positions = mica_iter_read(&it, position);
        Velocity *velocities = mica_write_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            velocities[i].x = positions[i].x * bench_delta_seconds;
            velocities[i].y = positions[i].y * bench_delta_seconds;
            velocities[i].z = positions[i].z * bench_delta_seconds;
        }
    }
}

static bool fill(tracked *state, int64_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const Position position = bench_position(i);
        const Velocity velocity = bench_velocity(i);
        const mica_value values[] = {{state->position, &position, 0, 0}, {mica_type_of(Velocity), &velocity, 0, 0}};
        if (mica_entity_is_null(mica_entity_spawn(state->world, values, 2))) {
            return false;
        }
    }
    return true;
}

// A world of n entities and a system that computes from all positions, or from those that have changed; it has run
// once, when everything was new.
static void *make(int64_t n, mica_type *position, mica_use position_use, bool asks_changes) {
    tracked *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    const mica_term to_change = {position, 0, (uint8_t)position_use, 0};
    const mica_term to_check = mica_read(Velocity);
    mica_system_def def = {.name = "derive", .run = derive, .user = position, .query = {mica_write(Velocity)}};
    def.query[1] = (mica_term){position, 0, MICA_USE_READ, 0};
    if (asks_changes) {
        def.query[2] = (mica_term){position, 0, MICA_USE_CHANGED, 0};
    }
    state->position = position;
    state->world = mica_world_create(NULL);
    if (state->world != NULL) {
        state->positions = mica_query_create(state->world, &to_change, 1);
        state->velocities = mica_query_create(state->world, &to_check, 1);
    }
    if (state->positions == NULL || state->velocities == NULL || mica_system_add(state->world, &def).id == 0 ||
        !fill(state, n) || mica_world_step(state->world, bench_delta_seconds) != MICA_OK) {
        tear_down(state);
        return NULL;
    }
    return state;
}

static void *changed_set_up(int64_t n) {
    return make(n, mica_type_of(Position), MICA_USE_WRITE, true);
}

static void *full_set_up(int64_t n) {
    return make(n, mica_type_of(Position), MICA_USE_WRITE, false);
}

static void *rows_changed_set_up(int64_t n) {
    return make(n, mica_type_of(TrackedPosition), MICA_USE_WRITE_MARKED, true);
}

static void *rows_full_set_up(int64_t n) {
    return make(n, mica_type_of(TrackedPosition), MICA_USE_WRITE_MARKED, false);
}

// Changes the positions of every `step`th chunk, each time of others.
static void change_chunks(tracked *state, uint32_t step) {
    uint32_t chunk = state->round++;
    mica_each (state->positions, it) {
        if (chunk++ % step != 0) {
            continue;
        }
        Position *positions = mica_write_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            positions[i].x += 1;
        }
    }
}

static void change_part(void *context) {
    change_chunks(context, PART);
}

static void change_all(void *context) {
    change_chunks(context, 1);
}

// Changes the positions of every hundredth entity, and marks them.
static void change_rows(void *context) {
    tracked *state = context;
    const int32_t first = (int32_t)(state->round++ % PART);
    mica_each (state->positions, it) {
        TrackedPosition *positions = mica_write_of(it, TrackedPosition);
        for (int32_t i = first; i < it.count; i += PART) {
            positions[i].x += 1;
            mica_mark(it, TrackedPosition, i);
        }
    }
}

static void run(void *context) {
    const tracked *state = context;
    mica_world_step(state->world, bench_delta_seconds);
}

static uint64_t check(void *context) {
    const tracked *state = context;
    uint64_t checksum = 0;
    mica_each (state->velocities, it) {
        const Velocity *velocities = mica_read_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            checksum = bench_mix_velocity(checksum, &velocities[i]);
        }
    }
    return checksum;
}

#define SIDE(NAME, SET_UP, PREPARE)  \
    static const bench_side NAME = { \
        .set_up = SET_UP, .prepare = PREPARE, .run = run, .check = check, .tear_down = tear_down}

SIDE(none, changed_set_up, NULL);
SIDE(none_full, full_set_up, NULL);
SIDE(part, changed_set_up, change_part);
SIDE(part_full, full_set_up, change_part);
SIDE(all, changed_set_up, change_all);
SIDE(all_full, full_set_up, change_all);
SIDE(by_rows, rows_changed_set_up, change_rows);
SIDE(by_rows_full, rows_full_set_up, change_rows);

// Removals. The system reads all that it is told of, once a run, so that nothing is kept for it.

static void count_removed(mica_run *run) {
    bench_crowd *crowd = mica_run_user(run);
    mica_each (run, it) {
        crowd->result += (uint32_t)it.count;
    }
}

static void *asked_set_up(int64_t n) {
    bench_crowd *crowd = bench_crowd_make(n);
    if (crowd != NULL && mica_system_add(crowd->world, &(mica_system_def){.name = "count_removed",
                                                                          .run = count_removed,
                                                                          .user = crowd,
                                                                          .query = {mica_removed(Data)}})
                                 .id == 0) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    return crowd;
}

static void removal_prepare(void *context) {
    const bench_crowd *crowd = context;
    mica_world_step(crowd->world, bench_delta_seconds);
    for (uint32_t i = 0; i < crowd->n; i++) {
        mica_set(crowd->world, crowd->entities[i], Data, {i});
    }
}

static void removal_run(void *context) {
    const bench_crowd *crowd = context;
    for (uint32_t i = 0; i < crowd->n; i++) {
        mica_remove(crowd->world, crowd->entities[i], Data);
    }
}

// How many were removed in the last run.
static uint64_t unasked_check(void *context) {
    const bench_crowd *crowd = context;
    uint64_t count = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        count += !mica_has(crowd->world, crowd->entities[i], Data);
    }
    return count;
}

// How many the system is told of after the last run.
static uint64_t asked_check(void *context) {
    bench_crowd *crowd = context;
    crowd->result = 0;
    mica_world_step(crowd->world, bench_delta_seconds);
    return crowd->result;
}

static const bench_side asked = {
    .set_up = asked_set_up,
    .prepare = removal_prepare,
    .run = removal_run,
    .check = asked_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_side unasked = {
    .set_up = bench_crowd_set_up,
    .prepare = removal_prepare,
    .run = removal_run,
    .check = unasked_check,
    .tear_down = bench_crowd_tear_down,
};

static const bench_row rows[] = {
    {"changed/none", "main", 1000000, "ns/entity", 1000000, &none, &none_full},
    {"changed/one_percent", "main", 1000000, "ns/entity", 1000000, &part, &part_full},
    {"changed/all", "main", 1000000, "ns/entity", 1000000, &all, &all_full},
    {"changed/rows", "main", 1000000, "ns/entity", 1000000, &by_rows, &by_rows_full},
    {"removed/log", "main", 100000, "ns/removal", 100000, &asked, &unasked},
};

const bench_family bench_changed = {rows, (int32_t)(sizeof rows / sizeof *rows)};
