// A plugin with components and a system: entities that have a `Counter` count ticks and move along x; tags come and go,
// by commands; a `Grip`, in a stable pool, is let go of in the tenth tick.
#include <mica/mica.h>
#include <mica/plugin.h>

MICA_STRUCT(Counter, {
    int64_t ticks;
    double seconds;
    mica_entity friend_of;
    char note[12];
});
MICA_TAG(Odd);
MICA_STRUCT_WITH(Grip, (.storage = MICA_POOL, .stable = true), { mica_entity what; });

static void count(mica_run *run) {
    mica_each (run, it) {
        Counter *counter = mica_write_of(it, Counter);
        mica_transform *pose = mica_write_of(it, mica_transform);
        const Grip *grip = mica_read_of(it, Grip);
        for (int32_t i = 0; i < it.count; i++) {
            counter[i].ticks++;
            counter[i].seconds += (double)mica_delta_time(run);
            pose[i].position[0] += 1;
            if (grip != NULL && counter[i].ticks == 10) {
                mica_remove(mica_iter_commands(it), it.entities[i], Grip);
            }
            if (counter[i].ticks % 2 == 1) {
                mica_add(mica_iter_commands(it), it.entities[i], Odd);
            } else {
                mica_remove(mica_iter_commands(it), it.entities[i], Odd);
            }
        }
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    if (mica_world_register(world, mica_type_of(Counter)) == 0 || mica_world_register(world, mica_type_of(Odd)) == 0 ||
        mica_world_register(world, mica_type_of(Grip)) == 0) {
        return mica_last_result();
    }
    const mica_system_def def = {.name = "count",
                                 .run = count,
                                 .query = {mica_write(Counter), mica_write(mica_transform), mica_read_optional(Grip)}};
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
