// A plugin that writes something else into the padding of its values every time, and is right to do so.
#include <mica/mica.h>
#include <mica/plugin.h>

#include <string.h>

MICA_STRUCT_WITH(Gauge, (.storage = MICA_TABLE), {
    uint8_t flag; // padding follows
    double level;
});

static void fill(mica_run *run) {
    static uint8_t runs;
    runs++;
    mica_each (run, it) {
        Gauge *gauge = mica_write_of(it, Gauge);
        const size_t end = sizeof(gauge->flag);
        memset((uint8_t *)gauge + end, runs, offsetof(Gauge, level) - end);
        gauge[0].level += 1;
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    const mica_system_def def = {.name = "fill", .run = fill, .query = {mica_write(Gauge)}};
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
