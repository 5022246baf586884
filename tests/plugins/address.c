// A plugin that takes an address for a number.
#include <mica/mica.h>
#include <mica/plugin.h>

MICA_STRUCT_WITH(Gauge, (.storage = MICA_TABLE), {
    uint8_t flag; // padding follows
    double level;
});

static void look(mica_run *run) {
    mica_each (run, it) {
        Gauge *gauge = mica_write_of(it, Gauge);
        gauge[0].level = (double)((uintptr_t)gauge / 16);
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    const mica_system_def def = {.name = "look", .run = look, .query = {mica_write(Gauge)}};
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
