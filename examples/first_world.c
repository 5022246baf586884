// A first world: components, entities, a system, ticks. A ship flies until it has gone too far; a frozen rock stays.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT(Velocity, { float x, y; });
MICA_TAG(Frozen);

static void move(mica_run *run) {
    const float seconds = mica_delta_time(run);
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        const Velocity *velocity = mica_read_of(it, Velocity);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += velocity[i].x * seconds;
            position[i].y += velocity[i].y * seconds;
            if (position[i].x > 100) {
                mica_destroy(mica_iter_commands(it), it.entities[i]); // applied when the systems of the stage are done
            }
        }
    }
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_entity ship = mica_spawn(world, mica_value_of(Position, {0, 2}), mica_value_of(Velocity, {30, 0}));
    const mica_entity rock =
        mica_spawn(world, mica_value_of(Position, {5, 5}), mica_value_of(Velocity, {30, 0}), mica_tag(Frozen));
    mica_system_add(world,
                    &(mica_system_def){.name = "move",
                                       .run = move,
                                       .query = {mica_write(Position), mica_read(Velocity), mica_without(Frozen)}});

    for (int second = 1; second <= 4; second++) {
        for (int tick = 0; tick < 64; tick++) {
            if (mica_world_step(world, 1.0f / 64) != MICA_OK) {
                fprintf(stderr, "%s\n", mica_last_error());
            }
        }
        const Position *where = mica_alive(world, ship) ? mica_get(world, ship, Position) : NULL;
        if (where != NULL) {
            printf("%d s: the ship is at %g, %g\n", second, (double)where->x, (double)where->y);
        } else {
            printf("%d s: the ship is gone\n", second);
        }
    }
    const Position *rock_at = mica_get(world, rock, Position);
    const bool as_expected = rock_at != NULL && rock_at->x == 5 && !mica_alive(world, ship);
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}
