// Worlds for workloads over entities with two components.
//
// Failures while a crowd is filled or renewed leave it with fewer entities than the other side has. The checks of the
// harness report that, so nothing here needs to.
#include "crowd.h"

#include "machine.h"

#include <stdlib.h>

static const mica_term in_tables[] = {{mica_type_of(Position), 0, MICA_USE_WRITE, 0},
                                      {mica_type_of(Velocity), 0, MICA_USE_READ, 0}};
static const mica_term in_pools[] = {{mica_type_of(PoolPosition), 0, MICA_USE_WRITE, 0},
                                     {mica_type_of(PoolVelocity), 0, MICA_USE_READ, 0}};

static bool world_make(bench_crowd *crowd, const mica_term *terms) {
    crowd->world = mica_world_create(NULL);
    if (crowd->world == NULL) {
        return false;
    }
    crowd->query = mica_query_create(crowd->world, terms, 2);
    return crowd->query != NULL;
}

static void world_end(bench_crowd *crowd) {
    mica_query_release(crowd->query);
    mica_world_destroy(crowd->world);
    crowd->query = NULL;
    crowd->world = NULL;
}

static mica_entity spawn(mica_world *world, uint32_t i) {
    const Position position = bench_position(i);
    const Velocity velocity = bench_velocity(i);
    const mica_value values[] = {{mica_type_of(Position), &position, 0, 0}, {mica_type_of(Velocity), &velocity, 0, 0}};
    return mica_entity_spawn(world, values, 2);
}

static void fill(bench_crowd *crowd) {
    for (uint32_t i = 0; i < crowd->n; i++) {
        crowd->created[i] = spawn(crowd->world, i);
    }
}

static void arrange(bench_crowd *crowd, mica_entity *entities) {
    for (uint32_t i = 0; i < crowd->n; i++) {
        entities[i] = crowd->created[crowd->order[i]];
    }
}

// A crowd without entities, its lists zero and its order the identity.
static bench_crowd *crowd_make(int64_t n, const mica_term *terms) {
    bench_crowd *crowd = calloc(1, sizeof *crowd);
    if (crowd == NULL) {
        return NULL;
    }
    crowd->n = (uint32_t)n;
    crowd->created = bench_pages_allocate(crowd->n, sizeof *crowd->created, BENCH_PAGES_4_KIB);
    crowd->entities = bench_pages_allocate(crowd->n, sizeof *crowd->entities, BENCH_PAGES_4_KIB);
    crowd->entities_too = bench_pages_allocate(crowd->n, sizeof *crowd->entities_too, BENCH_PAGES_4_KIB);
    crowd->order = bench_pages_allocate(crowd->n, sizeof *crowd->order, BENCH_PAGES_4_KIB);
    if (crowd->created == NULL || crowd->entities == NULL || crowd->entities_too == NULL || crowd->order == NULL ||
        !world_make(crowd, terms)) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    for (uint32_t i = 0; i < crowd->n; i++) {
        crowd->order[i] = i;
    }
    return crowd;
}

bench_crowd *bench_crowd_make(int64_t n) {
    bench_crowd *crowd = crowd_make(n, in_tables);
    if (crowd != NULL) {
        fill(crowd);
        arrange(crowd, crowd->entities);
        arrange(crowd, crowd->entities_too);
    }
    return crowd;
}

// Makes `order` the permutation of a seed, or the identity.
static void set_order(bench_crowd *crowd, uint64_t seed) {
    if (seed != 0) {
        bench_shuffle(crowd->order, crowd->n, seed);
        return;
    }
    for (uint32_t i = 0; i < crowd->n; i++) {
        crowd->order[i] = i;
    }
}

bench_crowd *bench_crowd_make_in_pools(int64_t n, uint64_t position_seed, uint64_t velocity_seed) {
    bench_crowd *crowd = crowd_make(n, in_pools);
    if (crowd == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < crowd->n; i++) {
        crowd->created[i] = mica_create(crowd->world);
    }
    set_order(crowd, position_seed);
    for (uint32_t i = 0; i < crowd->n; i++) {
        const PoolPosition position = bench_position(crowd->order[i]);
        mica_set_from(crowd->world, crowd->created[crowd->order[i]], PoolPosition, &position);
    }
    set_order(crowd, velocity_seed);
    for (uint32_t i = 0; i < crowd->n; i++) {
        const PoolVelocity velocity = bench_velocity(crowd->order[i]);
        mica_set_from(crowd->world, crowd->created[crowd->order[i]], PoolVelocity, &velocity);
    }
    set_order(crowd, 0);
    arrange(crowd, crowd->entities);
    arrange(crowd, crowd->entities_too);
    return crowd;
}

uint64_t bench_crowd_check_in_pools(const bench_crowd *crowd) {
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < crowd->n; i++) {
        const PoolPosition *position = mica_get(crowd->world, crowd->created[i], PoolPosition);
        if (position != NULL) {
            checksum = bench_mix_position(checksum, position);
        }
    }
    return checksum;
}

void *bench_crowd_set_up(int64_t n) {
    return bench_crowd_make(n);
}

void bench_crowd_tear_down(void *context) {
    bench_crowd *crowd = context;
    world_end(crowd);
    bench_pages_free(crowd->created, crowd->n, sizeof *crowd->created);
    bench_pages_free(crowd->entities, crowd->n, sizeof *crowd->entities);
    bench_pages_free(crowd->entities_too, crowd->n, sizeof *crowd->entities_too);
    bench_pages_free(crowd->order, crowd->n, sizeof *crowd->order);
    free(crowd);
}

void bench_crowd_renew(bench_crowd *crowd) {
    world_end(crowd);
    if (world_make(crowd, in_tables)) {
        fill(crowd);
    } else {
        memset(crowd->created, 0, crowd->n * sizeof *crowd->created);
    }
    arrange(crowd, crowd->entities);
}

void bench_crowd_empty(bench_crowd *crowd) {
    world_end(crowd);
    world_make(crowd, in_tables);
}

void bench_crowd_arrange(bench_crowd *crowd, mica_entity *entities, uint64_t seed) {
    bench_shuffle(crowd->order, crowd->n, seed);
    arrange(crowd, entities);
}
