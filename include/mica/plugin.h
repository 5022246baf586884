/// \file plugin.h
/// Plugins: shared libraries that bring components and systems to a world.
///
/// A plugin exports `mica_result mica_plugin(mica_world *world, const mica_plugin_host *host)`, declared by
/// `MICA_PLUGIN`. It registers its components and adds its systems.
#pragma once

#include <mica/system.h>
#include <mica/world.h>

MICA_BEGIN

/// What a plugin is told about the program that loads it.
typedef struct mica_plugin_host {
    int32_t version;     ///< `MICA_VERSION` of the host
    int32_t entity_bits; ///< `MICA_ENTITY_BITS` of the host
    int32_t index_bits;  ///< `MICA_INDEX_BITS` of the host
} mica_plugin_host;

/// The host of this program, for loaders of plugins.
static inline mica_plugin_host mica_plugin_host_here(void) {
    mica_plugin_host host;
    host.version = MICA_VERSION;
    host.entity_bits = MICA_ENTITY_BITS;
    host.index_bits = MICA_INDEX_BITS;
    return host;
}

/// Compares a host with what a plugin was built for. Refuses: `MICA_INCOMPATIBLE`, with both values in the message:
/// another handle width, or a version whose first two numbers differ; `MICA_INVALID` (no host). Call it through
/// `mica_plugin_check`. O(1), any thread.
MICA_API mica_result mica_plugin_compare(const mica_plugin_host *host, int32_t version, int32_t entity_bits,
                                         int32_t index_bits);

/// The first line of a plugin: `if (mica_plugin_check(host) != MICA_OK) return MICA_INCOMPATIBLE;`
static inline mica_result mica_plugin_check(const mica_plugin_host *host) {
    return mica_plugin_compare(host, MICA_VERSION, MICA_ENTITY_BITS, MICA_INDEX_BITS);
}

/// The entry point, as a loader calls it on the world's thread. Any result but `MICA_OK` refuses the world; what was
/// added to it until then stays.
typedef mica_result (*mica_plugin_function)(mica_world *world, const mica_plugin_host *host);
/// The name that a loader looks up.
#define MICA_PLUGIN_SYMBOL "mica_plugin"
/// Begins the entry point's definition: `MICA_PLUGIN(mica_world *world, const mica_plugin_host *host) { ... }`.
#define MICA_PLUGIN MICA_API mica_result mica_plugin

/// Defined by each plugin, never by the library. Declared here so that its definition is checked and, from C++, keeps
/// its plain name. Called once, when the plugin is loaded, on the world's thread; anything but `MICA_OK` refuses it.
MICA_API mica_result mica_plugin(mica_world *world, const mica_plugin_host *host);

MICA_END
