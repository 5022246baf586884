// Systems that are held to the access that they have declared.
//
// Their functions are called by others that have the world check what is touched meanwhile; so it costs nothing where
// nothing is checked. Start and stop functions have the world to themselves and may touch everything.
#include "run/system.h"
#include "world/access_check.h"

static void begin(mica_world *world) {
    if (!world->is_shared) { // else it is checked anyway
        mi_access_begin_checks(world);
    }
}

static void end(mica_world *world) {
    if (!world->is_shared) {
        mi_access_end_checks(world);
    }
}

static void run_checked(mica_run *run) {
    begin(run->world);
    run->system->checked.run(run);
    end(run->world);
}

static bool holds_checked(mica_run *run) {
    begin(run->world);
    const bool holds = run->system->checked.condition(run);
    end(run->world);
    return holds;
}

void mi_system_validate(mi_system *system) {
    if (system->order.exclusive) {
        return;
    }
    system->checked.run = system->functions[MI_CALL_RUN];
    system->functions[MI_CALL_RUN] = run_checked;
    if (system->turn.condition != NULL) {
        system->checked.condition = system->turn.condition;
        system->turn.condition = holds_checked;
    }
}

static const mi_access *access_of(const mica_run *run) {
    return run->system->order.exclusive ? NULL : &run->system->order.access; // its loops share the world as well
}

const mi_run_face mi_systems_run_face = {.access_of = access_of, .fail = mica_run_fail};
