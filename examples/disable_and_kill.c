// Entities and components that are there and left out of queries: disabled ones come back, killed ones are destroyed
// when the world is refreshed. Nothing moves meanwhile.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Position, { float x; });
MICA_STRUCT(Fuel, { int32_t litres; });
MICA_STRUCT_WITH(Engine, (.toggle = true), { float thrust; });

// Ships with a running engine fly and burn fuel; an engine without fuel stops, and what has flown too far is lost.
static void fly(mica_run *run) {
    mica_commands *commands = mica_run_commands(run);
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        Fuel *fuel = mica_write_of(it, Fuel);
        const Engine *engine = mica_read_of(it, Engine);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += engine[i].thrust;
            if (--fuel[i].litres == 0) {
                mica_disable_component(commands, it.entities[i], Engine);
            }
            if (position[i].x > 20) {
                mica_kill(commands, it.entities[i]);
            }
        }
    }
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_entity scout =
        mica_spawn(world, mica_value_of(Position, {0}), mica_value_of(Fuel, {2}), mica_value_of(Engine, {4}));
    const mica_entity racer =
        mica_spawn(world, mica_value_of(Position, {0}), mica_value_of(Fuel, {9}), mica_value_of(Engine, {8}));
    const mica_entity docked =
        mica_spawn(world, mica_value_of(Position, {0}), mica_value_of(Fuel, {9}), mica_value_of(Engine, {1}));
    mica_disable(world, docked);

    mica_system_add(world, &(mica_system_def){.name = "fly",
                                              .run = fly,
                                              .query = {mica_write(Position), mica_write(Fuel), mica_read(Engine)}});
    for (int tick = 0; tick < 3; tick++) {
        mica_world_step(world, 1);
    }

    mica_query *ships = mica_query_of(world, mica_read(Position));
    mica_query *running = mica_query_of(world, mica_read(Position), mica_with(Engine));
    mica_query *hidden = mica_query_of(world, mica_read(Position), mica_disabled_only());
    printf("after three ticks: %d in sight, %d with a running engine, %d disabled\n", (int)mica_query_count(ships),
           (int)mica_query_count(running), (int)mica_query_count(hidden));
    printf("the scout is at %g with an engine of thrust %g that is switched off\n",
           (double)mica_get(world, scout, Position)->x, (double)mica_get(world, scout, Engine)->thrust);
    bool as_expected = mica_query_count(ships) == 1 && mica_query_count(running) == 0 &&
                       mica_query_count(hidden) == 1 && mica_get(world, scout, Position)->x == 8 &&
                       mica_get(world, docked, Position)->x == 0;

    // The racer has flown too far: no query finds it, but it can be read until the world is refreshed.
    printf("the racer was lost at %g\n", (double)mica_get(world, racer, Position)->x);
    as_expected = as_expected && mica_is_killed(world, racer) && mica_refresh(world) == 1 && !mica_alive(world, racer);

    mica_enable(world, docked);
    mica_enable_component(world, scout, Engine);
    printf("enabled again: %d in sight, %d with a running engine\n", (int)mica_query_count(ships),
           (int)mica_query_count(running));
    as_expected = as_expected && mica_query_count(ships) == 2 && mica_query_count(running) == 2;
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}
