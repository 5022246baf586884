// A plugin with systems whose results hang on the threads that they run on.
#include "support/racing.h"

#include <mica/plugin.h>

MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) {
    if (mica_plugin_check(host) != MICA_OK) {
        return MICA_INCOMPATIBLE;
    }
    return racing_add(world) ? MICA_OK : mica_last_result();
}
