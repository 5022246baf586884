// The clock: turns real time into ticks of a fixed length.
//
// Real time, scaled, is added to what is due; a tick takes its length away. All sums are in double precision. While the
// clock is paused, real time is added to a sum of its own, which steps of the paused world take their length from: it
// is no state, since nothing of the simulation follows from it. Invariants: due_seconds is finite, not negative, and
// unless a tick failed less than a tick's length; paused_due_seconds is so always.
#include "run/system.h"

#include <math.h>

#define DEFAULT_DELTA_SECONDS (1.0 / 60)
#define DEFAULT_TICK_LIMIT 8
#define BELOW_ONE 0x1.fffffffffffffp-1

static double fixed_delta(const mica_world *world) {
    return world->def.fixed_delta_seconds > 0 ? world->def.fixed_delta_seconds : DEFAULT_DELTA_SECONDS;
}

static int32_t tick_limit(const mica_world *world) {
    return world->def.advance_tick_limit > 0 ? world->def.advance_tick_limit : DEFAULT_TICK_LIMIT;
}

// How many lengths of a tick are due, and no more than the limit: what is beyond it is dropped.
static int32_t count_due(const mica_world *world, double *due_seconds) {
    const double delta_seconds = fixed_delta(world);
    const int32_t limit = tick_limit(world);
    const double most_seconds = delta_seconds * limit;
    if (*due_seconds >= most_seconds) {
        *due_seconds = most_seconds;
        return limit;
    }
    return (int32_t)(*due_seconds / delta_seconds); // at most the limit, to which it may be rounded
}

// What of the time that was due so many ticks have left. One product instead of repeated subtraction, so that rounding
// does not add up; it may be negative where the quotient was rounded up to a whole number.
static double time_left(double due_seconds, double delta_seconds, int32_t tick_count) {
    const double left_seconds = due_seconds - delta_seconds * tick_count;
    return left_seconds > 0 ? left_seconds : 0;
}

static double alpha_of(const mica_world *world, double due_seconds) {
    const double alpha = due_seconds / fixed_delta(world);
    return alpha < 1 ? alpha : BELOW_ONE;
}

static int32_t advance_paused(mi_systems *systems, double real_seconds) {
    mica_world *world = systems->world;
    const double delta_seconds = fixed_delta(world);
    double due_seconds = systems->paused_due_seconds + real_seconds;
    const int32_t due_count = count_due(world, &due_seconds);
    systems->paused_due_seconds = time_left(due_seconds, delta_seconds, due_count);
    for (int32_t count = 0; count < due_count && systems->paused && !systems->stops_advancing; count++) {
        if (mica_world_step_paused(world, (float)delta_seconds) != MICA_OK) {
            return -1;
        }
    }
    return 0;
}

int32_t mi_clock_advance(mica_world *world, double real_seconds, mi_clock_tick tick, void *user, const char *call) {
    mi_systems *systems = mi_systems_open(world, call);
    if (systems == NULL || mi_systems_check_idle(systems, call) != MICA_OK) {
        return -1;
    }
    if (!isfinite(real_seconds) || real_seconds < 0) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "the time that passed is negative or not finite");
        return -1;
    }
    systems->stops_advancing = false;
    if (systems->paused) {
        return advance_paused(systems, real_seconds);
    }
    const double delta_seconds = fixed_delta(world);
    double due_seconds = systems->due_seconds + real_seconds * systems->time_scale;
    const int32_t due_count = count_due(world, &due_seconds);
    systems->due_seconds = due_seconds;
    systems->alpha_after = alpha_of(world, time_left(due_seconds, delta_seconds, due_count));
    for (int32_t count = 0; count < due_count;) {
        const uint64_t before = systems->tick;
        systems->ticks_after = due_count - 1 - count;
        systems->is_advancing = true;
        const mica_result result = tick(user, (float)delta_seconds);
        systems->is_advancing = false;
        if (systems->tick != before) { // also a tick that could not be recorded
            systems->due_seconds = time_left(due_seconds, delta_seconds, ++count);
        }
        if (result != MICA_OK) {
            return -1 - count;
        }
        if (systems->paused || systems->stops_advancing) {
            systems->due_seconds = time_left(due_seconds, delta_seconds, due_count);
            return count;
        }
    }
    return due_count;
}

static mica_result step_world(void *world, float delta_seconds) {
    return mica_world_step(world, delta_seconds);
}

int32_t mica_world_advance(mica_world *world, double real_seconds) {
    return mi_clock_advance(world, real_seconds, step_world, world, __func__);
}

double mica_world_alpha(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL ? alpha_of(world, systems->due_seconds) : 0;
}

double mi_clock_alpha_after(const mi_systems *systems) {
    if (!systems->is_advancing) {
        return mica_world_alpha(systems->world);
    }
    const bool is_last = systems->paused || systems->stops_advancing;
    return systems->alpha_after + (is_last ? 0 : systems->ticks_after);
}

void mi_clock_stop(mica_world *world) {
    mi_systems *systems = mi_systems_find(world);
    if (systems != NULL) {
        systems->stops_advancing = true;
    }
}

mica_result mica_world_pause(mica_world *world, bool paused) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_world_check_making(world, "the clock", __func__) != MICA_OK) {
        return mica_last_result();
    }
    systems->paused_due_seconds = systems->paused == paused ? systems->paused_due_seconds : 0;
    systems->paused = paused;
    return MICA_OK;
}

bool mica_world_is_paused(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL && systems->paused;
}

mica_result mica_world_set_time_scale(mica_world *world, double scale) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_world_check_making(world, "the clock", __func__) != MICA_OK) {
        return mica_last_result();
    }
    if (!isfinite(scale) || scale < 0) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__, "the time scale is negative or not finite");
    }
    systems->time_scale = scale > 0 ? scale : 0; // of the two zeros the plain one
    return MICA_OK;
}

double mica_world_time_scale(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL ? systems->time_scale : 1;
}

uint64_t mica_world_tick(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return systems != NULL ? systems->tick : 0;
}
