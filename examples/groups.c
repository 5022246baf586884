// Groups: pools that keep the entities with the same set of components in front, all in the same order, so that a walk
// over just those is a walk over bare arrays.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT_WITH(Place, (.storage = MICA_POOL, .layout = MICA_PACKED), { float x; });
MICA_STRUCT_WITH(Speed, (.storage = MICA_POOL, .layout = MICA_PACKED), { float x; });
MICA_TAG_WITH(Parked, (.storage = MICA_POOL));

static int compare_places(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    const float x_a = ((const Place *)a->value)->x;
    const float x_b = ((const Place *)b->value)->x;
    return (x_a > x_b) - (x_a < x_b);
}

static void drive(mica_world *world, const mica_group *group) {
    if (mica_group_count(group) == 0) {
        return;
    }
    // Packed pools have all values behind each other; position i is the same entity in both.
    Place *places = mica_pool_write(world, mica_register(world, Place)).pages[0];
    const Speed *speeds = mica_pool_read(world, mica_register(world, Speed)).pages[0];
    for (int32_t i = 0; i < mica_group_count(group); i++) {
        places[i].x += speeds[i].x;
    }
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    mica_entity cars[4];
    for (int i = 0; i < 4; i++) {
        cars[i] = mica_spawn(world, mica_value_of(Place, {(float)(10 - i)}), mica_value_of(Speed, {1}));
    }
    const mica_entity tree = mica_spawn(world, mica_value_of(Place, {5}));
    mica_group *group = mica_group_create(world, &(mica_group_def){.owned = {mica_type_of(Place), mica_type_of(Speed)},
                                                                   .without = {mica_type_of(Parked)}});
    mica_add(world, cars[2], Parked); // leaves the group
    drive(world, group);
    printf("%d cars drive\n", (int)mica_group_count(group));

    mica_group_sort(group, mica_register(world, Place), compare_places, NULL); // moves both pools alike
    const mica_pool_view places = mica_pool_read(world, mica_register(world, Place));
    for (int32_t i = 0; i < mica_group_count(group); i++) {
        printf("a car at %g\n", (double)((const Place *)mica_pool_at(&places, i))->x);
    }

    // Another group cannot keep the same pool in another order.
    const bool is_refused = mica_group_create(world, &(mica_group_def){.owned = {mica_type_of(Speed)}}) == NULL;
    printf("%s\n", mica_last_error());

    const bool as_expected = mica_group_count(group) == 3 && is_refused && mica_get(world, tree, Place)->x == 5 &&
                             mica_get(world, cars[2], Place)->x == 8 && mica_get(world, cars[3], Place)->x == 8 &&
                             mica_entity_equal(places.entities[0], cars[3]);
    mica_world_destroy(world); // and the group with it
    return as_expected ? 0 : 1;
}
