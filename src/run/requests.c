// Requests of systems that may run side by side.
//
// Each system notes what it asks for with itself, so that nobody waits for anybody, and the order in which it is
// carried out is that of the plan. What shows at once is checked at once; what shows only in the end fails the tick in
// the name of the system that asked, and takes back what was carried out of the same tick.
//
// A handle is given at once although nobody knows yet how many others are being asked for: it is made of the number of
// the system that asks and of how many it has asked for before. Both are the same on any number of threads, and neither
// comes again.
//
// Invariants: outside ticks no request waits; the requests of a system ascend by step; while they are carried out the
// arrays of requests and the plan stand still. A system that is stepped by itself asks as if in step 0, wherever its
// steps are.
#include "run/requests.h"

#include <string.h>

#include "run/definition.h"

typedef struct mi_request {
    mica_system_def *def;      // of the system to be added; NULL: one is to be removed
    uint64_t handle;           // of either
    mi_system *changed;        // whom it has added or removed; NULL: nobody
    struct mi_request *before; // the one carried out before it
    uint32_t step;             // in which it was asked
    mica_stage stage;
} mi_request;

// Asking

// A further request of the running system; NULL: there is no memory for it.
static mi_request *note(mi_systems *systems, const mica_run *run) {
    mica_world *world = systems->world;
    mi_system *asker = run->system;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_SYSTEMS, &asker->requests, (size_t)asker->requests.count + 1)) {
        return NULL;
    }
    mi_world_lock(world);
    systems->has_requests = true;
    mi_world_unlock(world);
    mi_request *request = &asker->requests.data[asker->requests.count];
    *request = (mi_request){.step = run->step, .stage = run->stage};
    return request;
}

// Whether the name will be taken, as far as the system that asks can know.
static bool is_taken(const mi_systems *systems, const mi_system *asker, const char *name) {
    const mi_system *holder = mi_system_find(systems, name);
    bool is_taken = holder != NULL;
    for (uint32_t i = 0; i < asker->requests.count; i++) {
        const mi_request *request = &asker->requests.data[i];
        if (request->def != NULL) {
            is_taken |= strcmp(request->def->name, name) == 0;
        } else if (holder != NULL && request->handle == holder->handle) {
            is_taken = false;
        }
    }
    return is_taken;
}

mica_system mi_request_add(mi_systems *systems, const mica_system_def *def, const char *call) {
    mica_world *world = systems->world;
    const mica_run *run = mi_world_run(world);
    mi_system *asker = run->system;
    if (is_taken(systems, asker, def->name)) {
        mi_fail(&world->log, MICA_EXISTS, call, "there is a system \"{}\" already", MI_TEXT(def->name));
        return (mica_system){0};
    }
    if (asker->asked_count == UINT32_MAX) {
        mi_fail_plain(&world->log, MICA_LIMIT, call, "the numbers of systems are used up");
        return (mica_system){0};
    }
    mica_system_def *copy = mi_definition_copy(&world->heap, def);
    mi_request *request = copy == NULL ? NULL : note(systems, run);
    if (request == NULL) {
        if (copy != NULL) {
            mi_definition_free(&world->heap, copy);
        }
        mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for system \"{}\"", MI_TEXT(def->name));
        return (mica_system){0};
    }
    request->def = copy;
    request->handle = (uint64_t)asker->id << 32 | ++asker->asked_count;
    asker->requests.count++;
    return (mica_system){request->handle};
}

mica_result mi_request_remove(mi_systems *systems, const mi_system *system, const char *call) {
    const mica_run *run = mi_world_run(systems->world);
    mi_request *request = note(systems, run);
    if (request == NULL) {
        return mi_fail(&systems->world->log, MICA_OUT_OF_MEMORY, call, "out of memory for removing system \"{}\"",
                       MI_TEXT(system->order.name));
    }
    request->handle = system->handle;
    run->system->requests.count++;
    return MICA_OK;
}

// Carrying out

static mica_result carry_out(mi_systems *systems, mi_request *request) {
    if (request->def != NULL) {
        request->changed = mi_system_enter(systems, request->def, request->handle, "mica_system_add");
        return request->changed != NULL ? MICA_OK : mica_last_result();
    }
    mi_system *system = mi_system_look_up(systems, request->handle);
    if (system != NULL) { // else somebody was first
        mi_system_leave(systems, system);
        request->changed = system;
    }
    return MICA_OK;
}

// Takes back what was carried out, up to this one.
static void take_back(mi_systems *systems, mi_request *last) {
    for (mi_request *request = last; request != NULL; request = request->before) {
        if (request->changed == NULL) {
            continue;
        }
        if (request->def != NULL) {
            mi_system_withdraw(systems, request->changed);
        } else {
            mi_system_come_back(systems, request->changed);
        }
    }
}

// Carries out what a system has asked for up to a step, until that fails. `last` is what was carried out before;
// returns the same afterwards.
static mi_request *carry_out_up_to(mi_systems *systems, uint32_t step, mi_request *last, mi_failure *failure) {
    mi_system *asker = mi_system_of(systems->plan.steps.data[step].system);
    while (asker != NULL && asker->request_count_done < asker->requests.count && failure->code == MICA_OK) {
        mi_request *request = &asker->requests.data[asker->request_count_done];
        if (request->step > step) {
            break;
        }
        asker->request_count_done++;
        const mica_result result = carry_out(systems, request);
        if (result == MICA_OK) {
            request->before = last;
            last = request;
        } else {
            mica_run run = {.world = systems->world,
                            .system = asker,
                            .failure = failure,
                            .stage = request->stage,
                            .step = request->step};
            mica_run_fail(&run, result, mica_last_error());
        }
    }
    return last;
}

void mi_requests_carry_out(mi_systems *systems, mi_failure *failure) {
    if (MICA_LIKELY(!systems->has_requests) || failure->code != MICA_OK) {
        return;
    }
    mi_request *last = NULL;
    for (uint32_t step = 0; step < systems->plan.steps.count && failure->code == MICA_OK; step++) {
        last = carry_out_up_to(systems, step, last, failure);
    }
    if (failure->code != MICA_OK) {
        take_back(systems, last);
    }
}

static void clear(mi_system *system, mi_heap *heap) {
    for (uint32_t i = 0; i < system->requests.count; i++) {
        if (system->requests.data[i].def != NULL) {
            mi_definition_free(heap, system->requests.data[i].def);
        }
    }
    system->requests.count = 0;
    system->request_count_done = 0;
}

static uint32_t count_asked(const mi_system *system) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < system->requests.count; i++) {
        count += system->requests.data[i].def != NULL;
    }
    return count;
}

void mi_requests_clear(mi_systems *systems, bool rewinds) {
    if (MICA_LIKELY(!systems->has_requests)) {
        return;
    }
    for (uint32_t i = 0; i < systems->all.count; i++) {
        mi_system *system = systems->all.data[i];
        system->asked_count -= rewinds ? count_asked(system) : 0;
        clear(system, &systems->world->heap);
    }
    systems->has_requests = false;
}

void mi_requests_free(mi_system *system, mi_heap *heap) {
    clear(system, heap);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &system->requests);
}
