// Connecting and disconnecting: what programs say of their observers. Broadcasts are in signal.c.
//
// Observers of one query share a mi_query_watch, which holds a reference to it until nobody waits for it any more and
// no broadcast may go over the list of those.
#include "world/notice.h"

#include "world/query.h"

#include <string.h>

// What an observer of this kind names.
typedef enum subject_kind { SUBJECT_COMPONENT, SUBJECT_ENTITY, SUBJECT_QUERY, SUBJECT_RESOURCE } subject_kind;

static subject_kind subject_of(mica_signal_kind kind) {
    switch (kind) {
    case MICA_CREATED:
    case MICA_DESTROYED:
        return SUBJECT_ENTITY;
    case MICA_ENTERED:
    case MICA_LEFT:
        return SUBJECT_QUERY;
    case MICA_RESOURCE_SET:
    case MICA_RESOURCE_REMOVED:
        return SUBJECT_RESOURCE;
    default:
        return SUBJECT_COMPONENT;
    }
}

static mica_result check_def(const mica_world *world, const mica_observer_def *def, const char *call) {
    if (world == NULL || def == NULL || def->call == NULL) {
        return mi_fail_plain(world == NULL ? NULL : &world->log, MICA_INVALID, call,
                             "needs a world, and a definition with a function to call");
    }
    if ((uint32_t)def->on > MICA_RESOURCE_REMOVED) {
        return mi_fail(&world->log, MICA_INVALID, call, "there is no kind of signal with number {}", MI_INT(def->on));
    }
    const subject_kind subject = subject_of(def->on);
    const bool has_query = def->of != NULL || def->query[0].use != MICA_USE_NONE;
    const bool has_component = def->type != NULL || def->component != 0;
    const bool needs_component = subject == SUBJECT_COMPONENT || subject == SUBJECT_RESOURCE;
    const char *fault = NULL;
    if (needs_component != has_component) {
        fault = needs_component            ? "needs a component"
                : subject == SUBJECT_QUERY ? "is about a query, and names a component"
                                           : "is about entities as a whole, and names a component";
    } else if (has_query != (subject == SUBJECT_QUERY)) {
        fault = has_query ? "is not about a query, and names one" : "needs a query";
    } else if ((def->type != NULL && def->component != 0) || (def->of != NULL && def->query[0].use != MICA_USE_NONE)) {
        fault = "says twice what it is about";
    } else if (def->of != NULL && def->of->world != world) {
        fault = "names a query of another world";
    }
    return fault == NULL ? MICA_OK
                         : mi_fail(&world->log, MICA_INVALID, call, "observer \"{}\" {}",
                                   MI_TEXT(def->name == NULL ? "observer" : def->name), MI_TEXT(fault));
}

static mica_result find_component(mica_world *world, const mica_observer_def *def, mi_observer *observer,
                                  const char *call) {
    observer->component = def->type != NULL ? mica_world_component(world, def->type) : def->component;
    if (observer->component == 0) {
        return mica_last_result();
    }
    const mi_type *type = mi_world_type(world, observer->component, call);
    if (type == NULL) {
        return MICA_UNKNOWN;
    }
    const bool needs_value = def->on == MICA_SET || subject_of(def->on) == SUBJECT_RESOURCE;
    return needs_value && type->info.size == 0
               ? mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag: it has no value to be told of",
                         MI_TEXT(type->info.name))
               : MICA_OK;
}

// Queries

// The watch of a query, a new one if there is none; NULL: out of memory.
static mi_query_watch *open_query_watch(mica_world *world, mica_query *query) {
    mi_signals *signals = &world->signals;
    for (uint32_t i = 0; i < signals->queries.count; i++) {
        if (signals->queries.data[i]->query == query) {
            return signals->queries.data[i];
        }
    }
    mi_query_watch *watch = NULL;
    if (MI_RESERVE(&world->heap, MICA_MEMORY_OBSERVERS, &signals->queries, signals->queries.count + 1u)) {
        watch = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_OBSERVERS, sizeof(*watch), _Alignof(mi_query_watch));
    }
    if (watch != NULL) {
        watch->query = mica_query_retain(query);
        signals->queries.data[signals->queries.count++] = watch;
    }
    return watch;
}

static mica_result find_query(mica_world *world, const mica_observer_def *def, mi_observer *observer,
                              const char *call) {
    int32_t count = 0;
    while (count < MICA_TERM_MAX && def->query[count].use != MICA_USE_NONE) {
        count++;
    }
    mica_query *query = def->of != NULL ? def->of : mi_query_find(world, def->query, NULL, count, call);
    if (query == NULL) {
        return mica_last_result();
    }
    if (mi_query_asks_changes(query)) {
        return mi_fail(&world->log, MICA_INVALID, call,
                       "the query ({}) asks for changes: who matches it depends on who walks", MI_TEXT(query->text));
    }
    observer->query = open_query_watch(world, query);
    return observer->query != NULL ? MICA_OK : mi_fail_memory(&world->log, call, sizeof(mi_query_watch));
}

// What is there already

// Tells an observer, and nobody else, of those entities that a query finds. MICA_OUT_OF_MEMORY.
static mica_result tell_existing(mica_world *world, uint32_t id, mica_query *query, const char *call) {
    const int32_t count = mica_query_count(query);
    const size_t size = (size_t)count * sizeof(mica_entity);
    mica_entity *entities =
        count == 0 ? NULL : mi_heap_allocate(&world->heap, MICA_MEMORY_OBSERVERS, size, _Alignof(mica_entity));
    if (entities == NULL) {
        return count == 0 ? MICA_OK : mi_fail_memory(&world->log, call, size);
    }
    mica_query_entities(query, entities, count);
    for (int32_t i = 0; i < count; i++) {
        mi_tell_one(world, id, entities[i]);
    }
    mi_heap_release(&world->heap, MICA_MEMORY_OBSERVERS, entities, size, _Alignof(mica_entity));
    return MICA_OK;
}

static mica_result tell_of_existing(mica_world *world, const mi_observer *observer, const char *call) {
    const uint32_t id = observer->id;
    if (observer->kind == MICA_RESOURCE_SET) {
        mi_tell_one(world, id, MICA_NULL);
        return MICA_OK;
    }
    const mica_term terms[] = {{.use = MICA_USE_DISABLED_TOO},
                               {.use = MICA_USE_WITH, .component = observer->component}};
    mica_query *query = observer->query != NULL
                            ? observer->query->query
                            : mi_query_find(world, terms, NULL, observer->component == 0 ? 1 : 2, call);
    return query == NULL ? mica_last_result() : tell_existing(world, id, query, call);
}

// The public face

static mi_observer *observer_of(const mica_world *world, mica_observer handle, const char *call) {
    mi_observer *found = world == NULL ? NULL : mi_signal_find(&world->signals, handle.id);
    if (found == NULL || found->is_own) {
        mi_fail(world == NULL ? NULL : &world->log, MICA_UNKNOWN, call, "there is no observer with number {}",
                MI_UINT(handle.id));
        return NULL;
    }
    return found;
}

mica_observer mica_observer_connect(mica_world *world, const mica_observer_def *def) {
    static const char call[] = "mica_observer_connect";
    if (check_def(world, def, call) != MICA_OK || mi_world_check_making(world, "an observer", call) != MICA_OK) {
        return (mica_observer){0};
    }
    mi_observer given = {.kind = (uint8_t)def->on, .call = def->call, .user = def->user};
    mica_result result = MICA_OK;
    switch (subject_of(def->on)) {
    case SUBJECT_COMPONENT:
    case SUBJECT_RESOURCE:
        result = find_component(world, def, &given, call);
        break;
    case SUBJECT_QUERY:
        result = find_query(world, def, &given, call);
        break;
    case SUBJECT_ENTITY:
        break;
    }
    if (result != MICA_OK) {
        return (mica_observer){0};
    }
    given.name = mi_heap_copy_text(&world->heap, MICA_MEMORY_OBSERVERS, def->name == NULL ? "observer" : def->name);
    mi_observer *observer = given.name == NULL ? NULL : mi_signal_connect(world, &given);
    if (observer == NULL) {
        mi_heap_release_text(&world->heap, MICA_MEMORY_OBSERVERS, given.name);
        mi_signals_drop_idle(world);
        mi_fail_memory(&world->log, call, sizeof(mi_observer));
        return (mica_observer){0};
    }
    const mica_observer handle = {observer->id};
    const bool can_exist =
        def->on == MICA_ADDED || def->on == MICA_CREATED || def->on == MICA_ENTERED || def->on == MICA_RESOURCE_SET;
    if (def->existing && can_exist) {
        result = tell_of_existing(world, observer, call);
        if (result != MICA_OK) {
            mi_observer_disconnect(world, observer);
            mi_signals_drop_idle(world);
            return (mica_observer){0};
        }
        mi_world_finish(world, call);
    }
    return handle;
}

mica_observer mica_observer_connect_to(mica_world *world, mica_signal_kind on, mica_type *type,
                                       mica_observer_function call, void *user) {
    const mica_observer_def def = {.on = on, .type = type, .call = call, .user = user};
    return mica_observer_connect(world, &def);
}

mica_result mica_observer_disconnect(mica_world *world, mica_observer observer) {
    mi_observer *found = observer_of(world, observer, "mica_observer_disconnect");
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    if (mi_world_check_making(world, "an observer", "mica_observer_disconnect") != MICA_OK) {
        return MICA_LOCKED;
    }
    mi_observer_disconnect(world, found);
    mi_signals_drop_idle(world);
    return MICA_OK;
}

mica_result mica_observer_statistics(const mica_world *world, mica_observer observer, mica_observer_stats *stats) {
    static const char call[] = "mica_observer_statistics";
    const mi_observer *found = observer_of(world, observer, call);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    if (stats == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs a place for the answer");
    }
    *stats = (mica_observer_stats){.name = found->name, .call_count = mi_observer_calls(found)};
    if (found->sampled_count > 0) {
        stats->estimated_nanoseconds = (uint64_t)((double)found->sampled_nanoseconds / (double)found->sampled_count *
                                                  (double)mi_observer_calls(found));
    }
    return MICA_OK;
}
