// Checks of access: what a system touches by a call is compared with what it has declared.
//
// They cost nothing where they are off. While systems run that are held to their access, the store counts a copy that
// there is not: inline functions of the public headers then leave the work to functions of the library, and those take
// the paths on which walks' copies are brought back, which is where the checks stand. Walks are checked once, when they
// open.
//
// Observers and handlers of events are not held to the access of the system whose call they follow: they are no part
// of it, and it runs alone because of them.
//
// Invariants: `check_count` is not 0 exactly while systems run that are held to their access, and the store counts as
// many copies for it, or while the world is shared, also by the loop of an exclusive system, which is not held to any.
#include "world/access_check.h"

// Whether what runs now belongs to somebody who is told of things.
static bool is_told(const mica_world *world) {
    const mi_callback *callback = world->is_shared ? NULL : world->front.callback;
    while (callback != NULL && callback->channel == NULL && callback->commands == NULL) {
        callback = callback->outer;
    }
    return callback != NULL;
}

// What the system that runs is held to; NULL: nothing.
static const mi_access *access_of(const mica_world *world) {
    return world->run_face->access_of(mi_world_run(world));
}

MI_COLD mica_result mi_access_refuse(const mica_world *world, mica_component component, mi_touch touch,
                                     mica_entity entity, const char *call) {
    static const char *const verbs[] = {
        [MI_TOUCH_READ] = "reads", [MI_TOUCH_WRITE] = "writes", [MI_TOUCH_EITHER] = "touches"};
    const mi_access_entry *declared = mi_access_find(access_of(world), component);
    const mi_type *type = mi_schema_type(world->schema, component);
    const char *system = mi_world_system(world);
    const char *verb = verbs[touch];
    const char *said = declared == NULL ? "it has not declared" : "it has declared to read alone";
    if (mica_entity_is_null(entity)) {
        mi_fail(&world->log, MICA_NO_ACCESS, call, "system \"{}\" {} {}, which {}", MI_TEXT(system), MI_TEXT(verb),
                MI_TEXT(type->info.name), MI_TEXT(said));
    } else {
        mi_fail(&world->log, MICA_NO_ACCESS, call, "system \"{}\" {} {} of {}, which {}", MI_TEXT(system),
                MI_TEXT(verb), MI_TEXT(type->info.name), MI_ENTITY(entity), MI_TEXT(said));
    }
    world->run_face->fail(mi_world_run(world), MICA_NO_ACCESS, mica_last_error());
    return MICA_NO_ACCESS;
}

mica_result mi_access_check(const mica_world *world, mica_component component, bool writes, mica_entity entity,
                            const char *call) {
    const mi_type *type = mi_schema_type(world->schema, component);
    if (world->check_count == 0 || type == NULL || is_told(world)) {
        return MICA_OK;
    }
    const mi_access *access = access_of(world);
    if (access == NULL) {
        return MICA_OK;
    }
    const mi_access_entry *declared = mi_access_find(access, component);
    return declared != NULL && (declared->writes || !writes)
               ? MICA_OK
               : mi_access_refuse(world, component, writes ? MI_TOUCH_WRITE : MI_TOUCH_READ, entity, call);
}

mica_result mi_access_check_query(const mica_query *query, const char *call) {
    mica_result result = MICA_OK;
    for (uint32_t i = 0; result == MICA_OK && i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        if (mi_access_touches(term)) {
            result = mi_access_check(query->world, term->component, mi_access_writes(term), MICA_NULL, call);
        }
    }
    return result;
}
