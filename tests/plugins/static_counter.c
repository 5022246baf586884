// A plugin that keeps something outside of the world: a counter in a static variable.
#include <mica/mica.h>
#include <mica/plugin.h>

MICA_STRUCT_WITH(Gauge, (.storage = MICA_TABLE), {
    uint8_t flag; // padding follows
    double level;
});

static void count(mica_run *run) {
    static int32_t runs;
    runs++;
    mica_each (run, it) {
        mica_write_of(it, Gauge)[0].level = runs;
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    const mica_system_def def = {.name = "count", .run = count, .query = {mica_write(Gauge)}};
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
