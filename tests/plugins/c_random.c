// A plugin whose random numbers are those of the C library, which are no part of the world.
#include <mica/mica.h>
#include <mica/plugin.h>

#include <stdlib.h>

MICA_STRUCT_WITH(Gauge, (.storage = MICA_TABLE), {
    uint8_t flag; // padding follows
    double level;
});

static void roll(mica_run *run) {
    mica_each (run, it) {
        mica_write_of(it, Gauge)[0].level += rand();
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    const mica_system_def def = {.name = "roll", .run = roll, .query = {mica_write(Gauge)}};
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
