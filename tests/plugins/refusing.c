// A plugin that was built for another version of Mica, as it finds out by itself.
#include <mica/plugin.h>

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    (void)world;
    return mica_plugin_compare(host, 20000, MICA_ENTITY_BITS, MICA_INDEX_BITS);
}
