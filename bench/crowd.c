// Worlds for workloads over entities with two components.
//
// Failures while a crowd is filled or renewed leave it with fewer entities than the other side has. The checks of the
// harness report that, so nothing here needs to.
#include "crowd.h"

#include "machine.h"

#include <stdlib.h>

static bool world_make(bench_crowd *crowd) {
    crowd->world = mica_world_create(NULL);
    if (crowd->world == NULL) {
        return false;
    }
    crowd->query = mica_query_create(crowd->world, (const mica_term[]){mica_write(Position), mica_read(Velocity)}, 2);
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
    const mica_value values[] = {{mica_type_of(Position), &position, 0}, {mica_type_of(Velocity), &velocity, 0}};
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

bench_crowd *bench_crowd_make(int64_t n) {
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
        !world_make(crowd)) {
        bench_crowd_tear_down(crowd);
        return NULL;
    }
    for (uint32_t i = 0; i < crowd->n; i++) {
        crowd->order[i] = i;
    }
    fill(crowd);
    arrange(crowd, crowd->entities);
    arrange(crowd, crowd->entities_too);
    return crowd;
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
    if (world_make(crowd)) {
        fill(crowd);
    } else {
        memset(crowd->created, 0, crowd->n * sizeof *crowd->created);
    }
    arrange(crowd, crowd->entities);
}

void bench_crowd_arrange(bench_crowd *crowd, mica_entity *entities, uint64_t seed) {
    bench_shuffle(crowd->order, crowd->n, seed);
    arrange(crowd, entities);
}
