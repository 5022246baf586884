// The clock: turns real time into ticks of a fixed length.
//
// Real time is added to what is due; a tick takes its length away. All sums are in double precision. Invariants:
// due_seconds is finite, not negative, and unless a tick failed less than a tick's length.
#include "run/system.h"

#include <math.h>

#define DEFAULT_DELTA_SECONDS (1.0 / 60)
#define DEFAULT_TICK_LIMIT 8
#define BELOW_ONE 0x1.fffffffffffffp-1

static double fixed_delta(const mica_world *world) {
    return world->def.fixed_delta_seconds > 0 ? world->def.fixed_delta_seconds : DEFAULT_DELTA_SECONDS;
}

int32_t mica_world_advance(mica_world *world, double real_seconds) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_systems_check_idle(systems, __func__) != MICA_OK) {
        return -1;
    }
    if (!isfinite(real_seconds) || real_seconds < 0) {
        mi_fail_plain(&world->log, MICA_INVALID, __func__, "the time that passed is negative or not finite");
        return -1;
    }
    const double delta_seconds = fixed_delta(world);
    const int32_t limit = world->def.advance_tick_limit > 0 ? world->def.advance_tick_limit : DEFAULT_TICK_LIMIT;
    const double most_seconds = delta_seconds * limit;
    double due_seconds = systems->due_seconds + real_seconds;
    int32_t due_count = limit;
    if (due_seconds >= most_seconds) {
        due_seconds = most_seconds;
    } else {
        due_count = (int32_t)(due_seconds / delta_seconds); // at most the limit, to which it may be rounded
    }
    systems->due_seconds = due_seconds;
    for (int32_t count = 0; count < due_count; count++) {
        if (mica_world_step(world, (float)delta_seconds) != MICA_OK) {
            return -1 - count;
        }
        // One product instead of repeated subtraction, so that rounding does not add up; negative where the quotient
        // was rounded up to a whole number.
        const double left_seconds = due_seconds - delta_seconds * (count + 1);
        systems->due_seconds = left_seconds > 0 ? left_seconds : 0;
    }
    return due_count;
}

double mica_world_alpha(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    if (systems == NULL) {
        return 0;
    }
    const double alpha = systems->due_seconds / fixed_delta(world);
    return alpha < 1 ? alpha : BELOW_ONE;
}

uint64_t mica_world_tick(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL ? systems->tick : 0;
}
