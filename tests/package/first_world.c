// What somebody else's program does with an installed Mica: one world, one entity, one component.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Position, { float x, y, z; });

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_entity ship = mica_spawn(world, mica_value_of(Position, {1, 2, 3}));
    const Position *where = mica_get(world, ship, Position);
    const bool right = where != NULL && where->x == 1 && where->y == 2 && where->z == 3;
    if (!right) {
        fprintf(stderr, "wrong: %s\n", mica_last_error());
    }
    mica_world_destroy(world);
    printf("%d bits, version %d\n", MICA_ENTITY_BITS, (int)mica_version());
    return right && mica_version() == MICA_VERSION ? 0 : 1;
}
