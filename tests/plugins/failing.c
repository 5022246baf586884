// A plugin whose system fails in the fourth tick.
#include <mica/mica.h>
#include <mica/plugin.h>

static void fail_late(mica_run *run) {
    if (mica_run_tick(run) == 3) {
        mica_run_fail(run, MICA_FAILED, "the engine is on fire");
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    const mica_system_def def = {.name = "engine", .run = fail_late};
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return mica_system_add(world, &def).id != 0 ? MICA_OK : mica_last_result();
}
