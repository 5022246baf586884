// Requests: systems that are to be added or removed, as those ask that declared their access and so may run side by
// side. They are carried out when the plan has run.
#pragma once

#include "run/system.h"

// Whether what is asked for now has to wait: who asks has declared its access.
static inline bool mi_requests_are_due(const mica_world *world) {
    return world->front.running_locks;
}

// Notes that the running system asks for a system, of a definition that was checked (mi_system_check_def). 0:
// MICA_EXISTS, MICA_OUT_OF_MEMORY, MICA_LIMIT, set for `call`.
mica_system mi_request_add(mi_systems *systems, const mica_system_def *def, const char *call);
// Notes that the running system asks for one to be removed. MICA_OUT_OF_MEMORY, set for `call`.
mica_result mi_request_remove(mi_systems *systems, const mi_system *system, const char *call);

// Carries out what was asked for, in the order of the plan, unless something has failed. The first that cannot be
// carried out is the failure, by the system that asked; then none is.
void mi_requests_carry_out(mi_systems *systems, mi_failure *failure);
// Forgets what was asked for in the tick. `rewinds`: as if it had never been.
void mi_requests_clear(mi_systems *systems, bool rewinds);
void mi_requests_free(mi_system *system, mi_heap *heap);
