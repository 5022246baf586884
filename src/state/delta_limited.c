// What a limited delta touches.
#include "state/delta_target.h"

bool mi_target_plan_limited(mi_target *target) {
    return mi_target_fail(target, MICA_UNSUPPORTED, "not yet", NULL);
}
