// A plugin whose systems do nothing: one has a query that nobody matches, one is disabled.
#include <mica/mica.h>
#include <mica/plugin.h>

MICA_STRUCT(Cargo, { int32_t tons; });

static void do_nothing(mica_run *run) {
    (void)run;
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    const mica_system_def load = {.name = "load", .run = do_nothing, .query = {mica_read(Cargo)}};
    const mica_system_def sail = {.name = "sail", .run = do_nothing, .disabled = true};
    const bool is_complete = mica_system_add(world, &load).id != 0 && mica_system_add(world, &sail).id != 0;
    return is_complete ? MICA_OK : mica_last_result();
}
