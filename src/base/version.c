// The version of the library, and the symbol by which programs built for other handles are kept from linking or
// loading it. The symbol's name carries the widths; its value is the width in bits, so that a debugger shows it.
#include <mica/config.h>

const char MICA_ABI_SYMBOL = MICA_ENTITY_BITS;

int32_t mica_version(void) {
    return MICA_VERSION;
}
