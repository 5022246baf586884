// A shared library that is no plugin.
#include <mica/config.h>

MICA_API int32_t no_entry(void);

int32_t no_entry(void) {
    return mica_version();
}
