// Parents, children and transforms: a ship with a turret and its gun. Poses are relative to the parent; world matrices
// are resolved from them.
#include <mica/mica.h>

#include <math.h>
#include <stdio.h>

static mica_entity part(mica_world *world, const char *name, mica_entity parent, float x, float y) {
    const mica_entity entity = mica_spawn(world, mica_value_of(mica_transform, {{x, y, 0}, {0, 0, 0, 1}, {1, 1, 1}}));
    mica_set_name(world, entity, name);
    mica_set_parent(world, entity, parent); // a null parent makes a root
    return entity;
}

// Prints where an entity is in the world, as it was resolved last, and whether that is x, y.
static bool is_at(mica_world *world, mica_entity entity, float x, float y) {
    const float *m = mica_get(world, entity, mica_world_transform)->m;
    printf("  %s at %.0f, %.0f\n", mica_name_of(world, entity), (double)m[12], (double)m[13]);
    return fabsf(m[12] - x) < 1e-4f && fabsf(m[13] - y) < 1e-4f;
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_entity ship = part(world, "ship", MICA_NULL, 100, 0);
    const mica_entity turret = part(world, "turret", ship, 0, 10);
    const mica_entity gun = part(world, "gun", turret, 5, 0);

    printf("at first\n");
    mica_transform_resolve(world); // in a game: once, mica_transform_system_add(world)
    bool as_expected = is_at(world, turret, 100, 10);
    as_expected = is_at(world, gun, 105, 10) && as_expected;

    printf("the ship has turned by a quarter\n");
    mica_get_write(world, ship, mica_transform)->rotation[2] = 0.70710678f;
    mica_get_write(world, ship, mica_transform)->rotation[3] = 0.70710678f;
    mica_transform_resolve(world);
    as_expected = is_at(world, gun, 90, 5) && as_expected;

    printf("without the turret the gun belongs to the ship and stays where it is\n");
    mica_destroy(world, turret);
    mica_transform_resolve(world);
    as_expected = is_at(world, gun, 90, 5) && as_expected;
    as_expected = as_expected && mica_entity_equal(mica_parent(world, gun), ship);

    as_expected = as_expected && mica_set_parent(world, ship, gun) == MICA_CYCLE;
    printf("%s\n", mica_last_error());

    mica_destroy_subtree(world, ship);
    printf("with the ship all is gone: %d entities\n", (int)mica_world_entity_count(world));
    as_expected = as_expected && mica_world_entity_count(world) == 0;
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}
