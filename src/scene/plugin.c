// What a plugin and its host must have in common: the version's first two numbers, and the width of handles, without
// which their structs differ.
#include <mica/plugin.h>

#include "base/error.h"

static const char call[] = "mica_plugin_check";

mica_result mica_plugin_compare(const mica_plugin_host *host, int32_t version, int32_t entity_bits,
                                int32_t index_bits) {
    if (host == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a host");
    }
    if (host->entity_bits != entity_bits || host->index_bits != index_bits) {
        return mi_fail(NULL, MICA_INCOMPATIBLE, call,
                       "the plugin was built for handles of {} bits with an index of {}, the host has {} with {}",
                       MI_INT(entity_bits), MI_INT(index_bits), MI_INT(host->entity_bits), MI_INT(host->index_bits));
    }
    if (host->version / 100 != version / 100) {
        return mi_fail(NULL, MICA_INCOMPATIBLE, call,
                       "the plugin was built for version {}.{}.{} of Mica, the host is version {}.{}.{}",
                       MI_INT(version / 10000), MI_INT(version / 100 % 100), MI_INT(version % 100),
                       MI_INT(host->version / 10000), MI_INT(host->version / 100 % 100), MI_INT(host->version % 100));
    }
    return MICA_OK;
}
