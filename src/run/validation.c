// Systems that are held to the access that they have declared.
//
// Their functions are called by others that have the world check what is touched meanwhile; so it costs nothing where
// nothing is checked. Start and stop functions have the world to themselves and may touch everything.
#include "run/system.h"
#include "world/guard.h"

// False: the run has failed.
static bool begin(mica_run *run) {
    mica_world *world = run->world;
    if (world->guard != NULL) {
        const mica_result result = mi_guard_begin(world, &run->system->order.access);
        if (result != MICA_OK) {
            mica_run_fail(run, result, mica_last_error());
            return false;
        }
    }
    if (!world->is_shared) { // else it is checked anyway
        mi_access_begin_checks(world);
    }
    return true;
}

static void end(mica_run *run) {
    mica_world *world = run->world;
    if (!world->is_shared) {
        mi_access_end_checks(world);
    }
    if (world->guard != NULL) {
        const mica_result result = mi_guard_end(world);
        if (result != MICA_OK) {
            mica_run_fail(run, result, mica_last_error());
        }
    }
}

static void run_checked(mica_run *run) {
    if (begin(run)) {
        run->system->checked.run(run);
        end(run);
    }
}

static bool holds_checked(mica_run *run) {
    bool holds = false;
    if (begin(run)) {
        holds = run->system->checked.condition(run);
        end(run);
    }
    return holds;
}

void mi_system_validate(mi_system *system) {
    if (system->order.exclusive) {
        return;
    }
    system->checked.run = system->functions[MI_CALL_RUN];
    system->functions[MI_CALL_RUN] = run_checked;
    if (system->condition != NULL) {
        system->checked.condition = system->condition;
        system->condition = holds_checked;
    }
}

static const mi_access *access_of(const mica_run *run) {
    return run->system->order.exclusive ? NULL : &run->system->order.access; // its loops share the world as well
}

const mi_run_face mi_systems_run_face = {.access_of = access_of, .fail = mica_run_fail};
