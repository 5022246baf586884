// One C type under many names: teams read from data become tags of their own at run time, and one struct serves as two
// components that an entity may have both of, each in the storage that suits it.
#include <mica/mica.h>

#include <stdio.h>

MICA_STRUCT(Gauge, { int32_t now, most; });
MICA_NAMED(Shield, Gauge);                                // in tables, as Gauge is
MICA_NAMED_WITH(Overheat, Gauge, (.storage = MICA_POOL)); // comes and goes
MICA_TAG_WITH(Team, (.storage = MICA_POOL));

enum { TEAM_COUNT = 3 };

static const char *const team_names[TEAM_COUNT] = {"Team.Red", "Team.Green", "Team.Blue"};

int main(void) {
    mica_world *world = mica_world_create(NULL);
    mica_component teams[TEAM_COUNT];
    for (int32_t i = 0; i < TEAM_COUNT; i++) {
        teams[i] = mica_schema_register_named(mica_world_schema(world), mica_type_of(Team), team_names[i], NULL);
    }
    for (int32_t i = 0; i < 30; i++) {
        const mica_entity ship = mica_spawn(world, mica_value_of(Shield, {100, 100}));
        mica_entity_add(world, ship, teams[i % TEAM_COUNT], NULL);
        if (i % 5 == 0) {
            mica_set(world, ship, Overheat, {i, 50});
        }
    }

    // Known by type where the program knows it, by id where the name came from data.
    int32_t red_count = 0;
    int32_t heat = 0;
    const mica_term terms[] = {
        mica_read(Shield), mica_read_optional(Overheat), {.component = teams[0], .use = MICA_USE_WITH}};
    mica_query *query = mica_query_create(world, terms, 3);
    mica_each (query, it) {
        const Overheat *overheats = mica_read_of(it, Overheat);
        for (int32_t i = 0; i < it.count; i++) {
            red_count++;
            heat += overheats == NULL ? 0 : overheats[i].now;
        }
    }
    printf("%s: %d ships, heat %d\n", team_names[0], (int)red_count, (int)heat);
    mica_query_release(query);
    mica_world_destroy(world);
    return red_count == 10 && heat == 15 ? 0 : 1;
}
