// A plugin that does nothing, to be compiled for handles that the program does not have.
#include <mica/plugin.h>

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    (void)world;
    return mica_plugin_check(host);
}
