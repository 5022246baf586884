// Pools: components that come and go all the time live in a sparse set of their own. Adding and removing one moves
// nothing else, and the values can be reached as bare arrays.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Name, { char text[16]; });
MICA_STRUCT_WITH(Burning, (.storage = MICA_POOL), { int32_t damage; });
// A stable pool: a value keeps its address until it is removed, so somebody else may hold on to it.
MICA_STRUCT_WITH(Contact, (.storage = MICA_POOL, .stable = true), { int32_t depth; });

static int compare_damage(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return ((const Burning *)a->value)->damage - ((const Burning *)b->value)->damage;
}

// A loop of one's own over the arrays of a pool; parts of it could run on as many threads.
static int32_t burn(mica_world *world, mica_component burning) {
    int32_t total = 0;
    const mica_pool_view view = mica_pool_write(world, burning);
    for (int32_t i = 0; i < view.count; i++) {
        Burning *value = mica_pool_at(&view, i);
        value->damage *= 2;
        total += value->damage;
    }
    return total;
}

int main(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_component burning = mica_register(world, Burning);
    const mica_component contact = mica_register(world, Contact);
    mica_entity barrels[4];
    for (int i = 0; i < 4; i++) {
        barrels[i] = mica_spawn(world, mica_value_of(Name, {"barrel"}));
        mica_set(world, barrels[i], Burning, {10 - i}); // the same verbs as for components in tables
        mica_set(world, barrels[i], Contact, {i});
    }

    mica_remove(world, barrels[0], Burning); // the last element fills the hole
    const int32_t total = burn(world, burning);
    printf("%d barrels burn for %d\n", (int)mica_pool_count(world, burning), (int)total);

    mica_pool_sort(world, burning, compare_damage, NULL);
    const mica_pool_view sorted = mica_pool_read(world, burning);
    printf("the least damage is %d\n", (int)((const Burning *)mica_pool_at(&sorted, 0))->damage);

    // An address that a physics engine kept leads back to its entity, whoever went in the meantime.
    const Contact *kept = mica_get(world, barrels[3], Contact);
    mica_destroy(world, barrels[1]);
    mica_destroy(world, barrels[2]);
    const bool is_found = mica_entity_equal(mica_pool_entity_of(world, contact, kept), barrels[3]);
    printf("the kept contact has depth %d\n", (int)kept->depth);
    const mica_pool_view gaps = mica_pool_read(world, contact);
    mica_pool_compact(world, contact); // closes the gaps that the two left: addresses change now
    const mica_pool_view closed = mica_pool_read(world, contact);
    printf("%d positions became %d\n", (int)gaps.count, (int)closed.count);

    const bool as_expected = total == (9 + 8 + 7) * 2 && is_found && gaps.count == 4 && closed.count == 2 &&
                             mica_entity_equal(sorted.entities[0], barrels[3]);
    mica_world_destroy(world);
    return as_expected ? 0 : 1;
}
