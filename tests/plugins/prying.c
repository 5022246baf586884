// A plugin with a system that looks at what it has not declared, by an address that it has kept.
#include <mica/mica.h>
#include <mica/plugin.h>

MICA_STRUCT(Door, { int32_t opened; });
MICA_STRUCT(Safe, { int32_t coins; });

static const volatile int32_t *coins;

// Has the world to itself, and may look at everything.
static void look_around(mica_run *run) {
    mica_query *query = mica_query_of(mica_run_world(run), mica_read(Safe));
    mica_each (query, it) {
        coins = &mica_read_of(it, Safe)->coins;
    }
}

static void pry(mica_run *run) {
    mica_each (run, it) {
        mica_write_of(it, Door)->opened += coins == NULL ? 0 : *coins;
    }
}

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    if (mica_register(world, Safe) == 0) {
        return mica_last_result();
    }
    const mica_system_def def = {.name = "pry", .start = look_around, .run = pry, .query = {mica_write(Door)}};
    return mica_system_add(world, &def).id == 0 ? mica_last_result() : MICA_OK;
}
