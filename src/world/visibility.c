// The verbs that hide: enabling and disabling entities and components, killing, and the end of those who were killed.
//
// None of them moves a row or an element (refresh destroys, as mica_entity_destroy does), but what an open walk goes
// over would change, so they are refused like structural verbs while structure is locked.
#include "world/visibility.h"
#include "world/notice.h"

#include <mica/visibility.h>

// Whether a marking leaves everything as it is.
static bool is_marked(const mi_store *store, const mi_marking *marking) {
    const uint32_t index = mica_entity_index(marking->entity);
    const mi_marks *marks = marking->component != 0 ? mi_store_toggled(store, marking->component)
                            : marking->kills        ? &store->killed
                                                    : &store->disabled;
    const bool has_mark = marks != NULL && mi_marks_has(marks, index);
    return has_mark == (marking->kills || marking->hides);
}

static bool set_mark(mi_store *store, const mi_marking *marking) {
    return marking->component != 0 ? mi_store_set_toggled(store, marking->entity, marking->component, marking->hides)
           : marking->kills        ? mi_store_set_killed(store, marking->entity, true)
                                   : mi_store_set_disabled(store, marking->entity, marking->hides);
}

// Brings a marking about. Memory is made sure of before anybody is told.
static mica_result mark(mica_world *world, const mi_marking *marking, const char *call) {
    mi_store *store = &world->store;
    if (is_marked(store, marking)) {
        return MICA_OK;
    }
    const bool takes_memory = marking->kills || marking->hides;
    if (takes_memory && !mi_store_open_mark(store, marking->entity, marking->component, marking->kills)) {
        return mi_world_fail_store(world, call);
    }
    mi_world_tell_before_marking(world, marking);
    const bool is_set = set_mark(store, marking);
    MI_ASSERT(is_set);
    (void)is_set;
    mi_world_tell_after_marking(world, marking);
    return MICA_OK;
}

mica_result mi_world_enable(mica_world *world, mica_entity entity, bool enabled, const char *call) {
    uint32_t location = 0;
    const mica_result result = mi_world_resolve(world, entity, &location, call);
    if (result != MICA_OK) {
        return result;
    }
    return mark(world, &(mi_marking){.entity = entity, .hides = !enabled}, call);
}

mica_result mi_world_enable_component(mica_world *world, mica_entity entity, mica_component component, bool enabled,
                                      const char *call) {
    uint32_t location = 0;
    const mica_result result = mi_world_resolve(world, entity, &location, call);
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    if (!type->info.toggle) {
        return mi_fail(&world->log, MICA_INVALID, call, "{} has no trait toggle: it can only be removed",
                       MI_TEXT(type->info.name));
    }
    if (!mi_world_has(world, entity, location, component)) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} does not have {}", MI_ENTITY(entity),
                       MI_TEXT(type->info.name));
    }
    return mark(world, &(mi_marking){.entity = entity, .component = component, .hides = !enabled}, call);
}

mica_result mi_world_kill(mica_world *world, mica_entity entity, const char *call) {
    uint32_t location = 0;
    const mica_result result = mi_world_resolve(world, entity, &location, call);
    if (result != MICA_OK) {
        return result;
    }
    const mi_marking marking = {
        .entity = entity, .hides = mi_marks_has(&world->store.disabled, mica_entity_index(entity)), .kills = true};
    return mark(world, &marking, call);
}

int32_t mi_world_refresh(mica_world *world) {
    mi_store *store = &world->store;
    int32_t count = 0;
    uint32_t index = store->killed.count > 0 ? mi_marks_next(&store->killed, 0) : UINT32_MAX;
    while (index != UINT32_MAX) {
        mi_world_unmake(world, mi_slots_handle(&store->slots, index));
        count++;
        index = store->killed.count > 0 ? mi_marks_next(&store->killed, index + 1) : UINT32_MAX;
    }
    return count;
}

// The public face

mica_result mica_entity_enable(mica_world *world, mica_entity entity, bool enabled) {
    static const char call[] = "mica_entity_enable";
    mica_result result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = mi_world_enable(world, entity, enabled, call);
        mi_world_finish(world, call);
    }
    return result;
}

bool mica_entity_enabled(const mica_world *world, mica_entity entity) {
    return mica_entity_alive(world, entity) && !mi_marks_has(&world->store.disabled, mica_entity_index(entity));
}

mica_result mica_entity_enable_component(mica_world *world, mica_entity entity, mica_component component,
                                         bool enabled) {
    static const char call[] = "mica_entity_enable_component";
    mica_result result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = mi_world_enable_component(world, entity, component, enabled, call);
        mi_world_finish(world, call);
    }
    return result;
}

bool mica_entity_component_enabled(const mica_world *world, mica_entity entity, mica_component component) {
    if (!mica_entity_has(world, entity, component)) {
        return false;
    }
    const mi_marks *toggled = mi_store_toggled(&world->store, component);
    return toggled == NULL || !mi_marks_has(toggled, mica_entity_index(entity));
}

mica_result mica_entity_kill(mica_world *world, mica_entity entity) {
    static const char call[] = "mica_entity_kill";
    mica_result result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = mi_world_kill(world, entity, call);
        mi_world_finish(world, call);
    }
    return result;
}

bool mica_entity_killed(const mica_world *world, mica_entity entity) {
    return mica_entity_alive(world, entity) && mi_marks_has(&world->store.killed, mica_entity_index(entity));
}

int32_t mica_world_refresh(mica_world *world) {
    static const char call[] = "mica_world_refresh";
    if (mi_world_check_structure(world, call) != MICA_OK) {
        return -1;
    }
    const int32_t count = mi_world_refresh(world);
    mi_world_finish(world, call);
    return count;
}
