// Systems and loops on all cores: fish that crowd, starve and multiply. Each system says what it touches; those that do
// not conflict run side by side, and loops over all fish are shared out. The same world on one, two and eight threads
// comes to the same bits, births, deaths and random turns included.
#include <mica/mica.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FISH = 20000, TICKS = 120, CELLS = 64 };

MICA_STRUCT(Place, { float x, y; }); // in cells
MICA_STRUCT(Heading, { float x, y; });
MICA_STRUCT(Food, { float left; });
MICA_STRUCT(Crowd, { int32_t fish[CELLS * CELLS]; }); // a resource: how many are in each cell

static int32_t cell_of(const Place *place) {
    return ((int32_t)place->y & (CELLS - 1)) * CELLS + ((int32_t)place->x & (CELLS - 1));
}

// One after another: many fish add to one cell.
static void count(mica_run *run) {
    Crowd *crowd = mica_resource_write(mica_run_world(run), Crowd);
    *crowd = (Crowd){{0}};
    mica_each (run, it) {
        const Place *place = mica_read_of(it, Place);
        for (int32_t i = 0; i < it.count; i++) {
            crowd->fish[cell_of(&place[i])]++;
        }
    }
}

// Whoever is in a crowd turns away, anywhere. Random numbers belong to spans, not to threads.
static void turn_span(mica_run *run, mica_iter *span, void *user) {
    const Crowd *crowd = user;
    const Place *place = mica_read_of(*span, Place);
    Heading *heading = mica_write_of(*span, Heading);
    for (int32_t i = 0; i < span->count; i++) {
        if (crowd->fish[cell_of(&place[i])] > 8) {
            heading[i].x = mica_random_unitf(mica_run_random(run)) - 0.5f;
            heading[i].y = mica_random_unitf(mica_run_random(run)) - 0.5f;
        }
    }
}

static void turn(mica_run *run) {
    mica_parallel_for(run, NULL, turn_span, (void *)mica_resource(mica_run_world(run), Crowd));
}

// Food grows where nobody is. Those who have much multiply, those who have none die: recorded, and applied at the end
// of the stage in the order of visit.
static void eat_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    const Crowd *crowd = user;
    const Place *place = mica_read_of(*span, Place);
    Food *food = mica_write_of(*span, Food);
    for (int32_t i = 0; i < span->count; i++) {
        food[i].left += 0.06f - 0.01f * (float)crowd->fish[cell_of(&place[i])];
        if (food[i].left < 0) {
            mica_destroy(mica_iter_commands(*span), span->entities[i]);
        } else if (food[i].left > 2) {
            food[i].left = 1;
            mica_spawn(mica_iter_commands(*span), mica_value_of(Place, {place[i].x, place[i].y}),
                       mica_value_of(Heading, {0.5f, 0.5f}), mica_value_of(Food, {1}));
        }
    }
}

static void eat(mica_run *run) {
    mica_parallel_for(run, NULL, eat_span, (void *)mica_resource(mica_run_world(run), Crowd));
}

// The sea has no edge.
static float wrap(float at) {
    return at < 0 ? at + CELLS : at < CELLS ? at : at - CELLS;
}

static void swim_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    Place *place = mica_write_of(*span, Place);
    const Heading *heading = mica_read_of(*span, Heading);
    for (int32_t i = 0; i < span->count; i++) {
        place[i].x = wrap(place[i].x + heading[i].x);
        place[i].y = wrap(place[i].y + heading[i].y);
    }
}

static void swim(mica_run *run) {
    mica_parallel_for(run, NULL, swim_span, NULL);
}

static mica_world *open_sea(int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){.name = "sea", .thread_count = thread_count});
    const mica_system_def systems[] = {
        {.name = "count", .run = count, .query = {mica_read(Place)}, .access = {mica_writes(Crowd)}},
        {.name = "turn", .run = turn, .query = {mica_read(Place), mica_write(Heading)}, .access = {mica_reads(Crowd)}},
        {.name = "eat", .run = eat, .query = {mica_read(Place), mica_write(Food)}, .access = {mica_reads(Crowd)}},
        {.name = "swim", .run = swim, .query = {mica_write(Place), mica_read(Heading)}},
    };
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        mica_system_add(world, &systems[i]);
    }
    mica_set_resource(world, Crowd, {{0}});
    mica_random *random = mica_world_random(world);
    for (int32_t i = 0; i < FISH; i++) {
        const Place place = {mica_random_unitf(random) * CELLS, mica_random_unitf(random) * CELLS};
        mica_spawn(world, mica_value_of(Place, {place.x, place.y}), mica_value_of(Heading, {0, 0}),
                   mica_value_of(Food, {1}));
    }
    return world;
}

// What the world comes to; prints its plan once.
static uint64_t run_sea(int32_t thread_count) {
    mica_world *world = open_sea(thread_count);
    char plan[512];
    if (thread_count == 1 && mica_world_plan(world, plan, sizeof(plan)) < sizeof(plan)) {
        printf("%s", plan);
    }
    for (int32_t i = 0; i < TICKS; i++) {
        if (mica_world_step(world, 1.0f / 60) != MICA_OK) {
            fprintf(stderr, "%s\n", mica_last_error());
            exit(1);
        }
    }
    uint64_t checksum = 0;
    mica_world_checksum(world, NULL, &checksum);
    printf("%d threads: %d fish, checksum %016" PRIx64 "\n", thread_count, mica_world_entity_count(world), checksum);
    mica_world_destroy(world);
    return checksum;
}

int main(void) {
    const uint64_t alone = run_sea(1);
    return run_sea(2) == alone && run_sea(8) == alone ? 0 : 1;
}
