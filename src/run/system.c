// Systems of a world: stages, adding and removing, and what can be asked about them.
//
// What a caller asks for shows at once in what can be asked about systems (a removed one is not known any more); what
// runs changes from the next tick on. A system that is removed during a tick therefore stays in `all`, marked, until
// the tick has ended. Every other fallible step of adding one comes before the first change of `mi_systems`. Systems
// that may run beside others ask (requests.h).
//
// Invariants: `all` ascends by id, so that a number is found by bisection; `named` holds exactly those that are not
// removed and ascends by name, no two of which are the same; the constraints between those have no cycle; `asked` holds
// those of them whose handle is not their id and ascends by handle; no step of `plan` names a system that is gone
// unless plan_age is MI_PLAN_VOID; `started` holds exactly the systems whose `stop_due` is set, which those that count
// as started all are.
#include "run/batch.h"
#include "run/extract.h"
#include "run/hardware.h"
#include "run/requests.h"
#include "run/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/os.h"
#include "store/value.h"
#include "world/commands.h"

// A longer budget has no end.
#define BUDGET_SECONDS_END 1e9

static const char *const built_in_stages[MICA_STAGE_OWN] = {
    [MICA_UPDATE] = "update",         [MICA_FIRST] = "first",     [MICA_INPUT] = "input",
    [MICA_PRE_UPDATE] = "pre-update", [MICA_PHYSICS] = "physics", [MICA_POST_UPDATE] = "post-update",
    [MICA_RESOLVE] = "resolve",       [MICA_LAST] = "last",       [MICA_EXTRACT] = "extract",
};

static const mica_stage built_in_order[MICA_STAGE_OWN] = {MICA_FIRST,   MICA_INPUT,   MICA_PRE_UPDATE,
                                                          MICA_UPDATE,  MICA_PHYSICS, MICA_POST_UPDATE,
                                                          MICA_RESOLVE, MICA_LAST,    MICA_EXTRACT};

static const char extension_key;

// The world's systems, made and ended with it

// Where a system of this name stands in `named`, or would; true: it does.
static bool find_place(const mi_systems *systems, const char *name, uint32_t *place) {
    uint32_t low = 0;
    uint32_t high = systems->named.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int compared = strcmp(systems->named.data[middle]->order.name, name);
        if (compared == 0) {
            *place = middle;
            return true;
        }
        *(compared < 0 ? &low : &high) = compared < 0 ? middle + 1 : middle;
    }
    *place = low;
    return false;
}

mi_system *mi_system_find(const mi_systems *systems, const char *name) {
    uint32_t place;
    return find_place(systems, name, &place) ? systems->named.data[place] : NULL;
}

// Where a system of this handle stands in `asked`, or would.
static uint32_t find_asked_place(const mi_systems *systems, uint64_t handle) {
    uint32_t low = 0;
    uint32_t high = systems->asked.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (systems->asked.data[middle]->handle < handle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void free_system(mica_world *world, mi_system *system) {
    mi_heap *heap = &world->heap;
    if (system->state != NULL) {
        const mica_component_info *info = &system->state_type->info;
        mi_value_destruct(system->state_type, &world->store.values, system->state, 1);
        mi_heap_release(heap, MICA_MEMORY_SYSTEMS, system->state, info->size, info->align);
    }
    if (system->commands != NULL) {
        mi_commands_destroy(system->commands);
    }
    mi_loop_free(&system->loop, heap);
    for (uint32_t i = 0; i < system->event_readers.count; i++) {
        mi_event_reader_end(system->event_readers.data[i]);
    }
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &system->event_readers);
    mica_query_release(system->query);
    for (uint32_t i = 0; i < system->query_count; i++) {
        mica_query_release(system->queries[i]);
    }
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &system->declared);
    mi_requests_free(system, heap);
    mi_access_free(&system->order.access, heap);
    mi_heap_release_text(heap, MICA_MEMORY_SYSTEMS, system->order.name);
    for (int32_t i = 0; i < MICA_SYSTEM_ORDER_MAX; i++) {
        mi_heap_release_text(heap, MICA_MEMORY_SYSTEMS, system->order.before[i]);
        mi_heap_release_text(heap, MICA_MEMORY_SYSTEMS, system->order.after[i]);
    }
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, system, sizeof(*system), _Alignof(mi_system));
}

static void stop_system(mi_systems *systems, mi_system *system);

// Ends all systems while the world is still whole: first all stop functions, in reverse order of start, then what they
// own.
static void stop_systems(mica_world *world, void *state) {
    mi_systems *systems = state;
    systems->stopping = true;
    while (systems->started.count > 0) {
        stop_system(systems, systems->started.data[systems->started.count - 1]);
    }
    systems->plan_age = MI_PLAN_VOID;
    systems->named.count = 0;
    systems->asked.count = 0;
    while (systems->all.count > 0) {
        free_system(world, systems->all.data[--systems->all.count]);
    }
}

static void free_systems(mica_world *world, void *state) {
    mi_systems *systems = state;
    mi_heap *heap = &world->heap;
    for (uint32_t i = MICA_STAGE_OWN; i < systems->stages.count; i++) {
        mi_heap_release_text(heap, MICA_MEMORY_SYSTEMS, systems->stages.data[i]);
    }
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->all);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->named);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->asked);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->started);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->stages);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->stages_while_paused);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->stage_order);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->described);
    MI_FREE(heap, MICA_MEMORY_SYSTEMS, &systems->write_groups);
    mi_extracts_free(systems);
    mica_snapshot_release(systems->step_begin);
    mi_plan_free(&systems->plan, heap);
    mi_batching_free(&systems->batching, heap);
    mi_trace_free(systems);
    mi_hardware_free(systems);
    mi_plan_free(&systems->next_plan, heap);
    mi_heap_release(heap, MICA_MEMORY_SYSTEMS, systems, sizeof(*systems), _Alignof(mi_systems));
}

static const char *validate_systems(const mica_world *world, const void *state) {
    const mi_systems *systems = state;
    uint32_t started_count = 0;
    uint32_t removed_count = 0;
    for (uint32_t i = 0; i < systems->all.count; i++) {
        const mi_system *system = systems->all.data[i];
        if (i > 0 && systems->all.data[i - 1]->id >= system->id) {
            return "systems: not in order of their numbers";
        }
        if (!system->removed &&
            (mi_system_find(systems, system->order.name) != system || systems->named.data[system->place] != system)) {
            return "systems: two of one name, or not in order of names";
        }
        if (!systems->ticking && world->running == NULL && mica_commands_count(system->commands) > 0) {
            return "systems: commands wait outside ticks";
        }
        if (!systems->ticking && system->requests.count > 0) {
            return "systems: requests wait outside ticks";
        }
        if (!system->removed && mi_system_look_up(systems, system->handle) != system) {
            return "systems: one is not found by its handle";
        }
        if (system->started && !system->stop_due) {
            return "systems: one that was started is not going to be stopped";
        }
        started_count += system->stop_due;
        removed_count += system->removed;
    }
    if (started_count != systems->started.count || systems->started.capacity < systems->all.count) {
        return "systems: those that were started are counted wrongly";
    }
    if (removed_count != systems->removed_count || systems->named.count + removed_count != systems->all.count) {
        return "systems: those that were removed are counted wrongly";
    }
    return NULL;
}

mi_systems *mi_systems_find(const mica_world *world) {
    return world == NULL ? NULL : mi_world_extension(world, &extension_key);
}

mi_systems *mi_systems_open(mica_world *world, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "there is no world");
        return NULL;
    }
    mi_systems *systems = mi_systems_find(world);
    if (systems != NULL) {
        return systems;
    }
    mi_heap *heap = &world->heap;
    systems = mi_heap_allocate_zeroed(heap, MICA_MEMORY_SYSTEMS, sizeof(*systems), _Alignof(mi_systems));
    if (systems == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*systems));
        return NULL;
    }
    systems->world = world;
    systems->first_nanoseconds = mi_os_nanoseconds();
    systems->first_count = mi_os_count();
    systems->time_scale = 1;
    world->run_face = &mi_systems_run_face;
    const mi_extension extension = {.key = &extension_key,
                                    .state = systems,
                                    .stop = stop_systems,
                                    .destroy = free_systems,
                                    .validate = validate_systems,
                                    .part = &mi_systems_part};
    if (!MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stages, MICA_STAGE_OWN) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stage_order, MICA_STAGE_OWN) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stages_while_paused, MICA_STAGE_OWN) ||
        !mi_world_add_extension(world, &extension)) {
        free_systems(world, systems);
        mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for the systems of a world");
        return NULL;
    }
    memcpy(systems->stages.data, built_in_stages, sizeof(built_in_stages));
    memcpy(systems->stage_order.data, built_in_order, sizeof(built_in_order));
    memset(systems->stages_while_paused.data, 0, MICA_STAGE_OWN * sizeof(*systems->stages_while_paused.data));
    systems->stages.count = MICA_STAGE_OWN;
    systems->stages_while_paused.count = MICA_STAGE_OWN;
    systems->stage_order.count = MICA_STAGE_OWN;
    return systems;
}

// Stages

const char *mica_stage_name(const mica_world *world, mica_stage stage) {
    const mi_systems *systems = mi_systems_find(world);
    const uint32_t count = systems != NULL ? systems->stages.count : MICA_STAGE_OWN;
    if (world == NULL || stage < 0 || (uint32_t)stage >= count) {
        mi_fail(world != NULL ? &world->log : NULL, MICA_UNKNOWN, __func__, "there is no stage {}", MI_INT(stage));
        return NULL;
    }
    return systems != NULL ? systems->stages.data[stage] : built_in_stages[stage];
}

static mica_stage add_stage(mica_world *world, const char *name, mica_stage neighbour, uint32_t offset,
                            const char *call) {
    mi_systems *systems = mi_systems_open(world, call);
    if (systems == NULL || mi_world_check_making(world, "a stage", call) != MICA_OK) {
        return -1;
    }
    if (name == NULL || name[0] == 0) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "a stage needs a name");
        return -1;
    }
    for (uint32_t i = 0; i < systems->stages.count; i++) {
        if (strcmp(systems->stages.data[i], name) == 0) {
            mi_fail(&world->log, MICA_EXISTS, call, "there is a stage \"{}\" already", MI_TEXT(name));
            return -1;
        }
    }
    if (neighbour < 0 || (uint32_t)neighbour >= systems->stages.count) {
        mi_fail(&world->log, MICA_UNKNOWN, call, "stage \"{}\" is to stand beside stage {}, which there is not",
                MI_TEXT(name), MI_INT(neighbour));
        return -1;
    }
    mi_heap *heap = &world->heap;
    const char *copy = mi_heap_copy_text(heap, MICA_MEMORY_SYSTEMS, name);
    if (copy == NULL || !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stages, (size_t)systems->stages.count + 1) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stage_order, (size_t)systems->stages.count + 1) ||
        !MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->stages_while_paused, (size_t)systems->stages.count + 1)) {
        mi_heap_release_text(heap, MICA_MEMORY_SYSTEMS, copy);
        mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for stage \"{}\"", MI_TEXT(name));
        return -1;
    }
    uint32_t rank = 0;
    while (systems->stage_order.data[rank] != neighbour) {
        rank++;
    }
    rank += offset;
    const mica_stage stage = (mica_stage)systems->stages.count;
    mica_stage *place = systems->stage_order.data + rank;
    memmove(place + 1, place, (systems->stage_order.count - rank) * sizeof(*place));
    *place = stage;
    systems->stage_order.count++;
    systems->stages.data[systems->stages.count++] = copy;
    systems->stages_while_paused.data[systems->stages_while_paused.count++] = false;
    return stage;
}

mica_stage mica_stage_add_before(mica_world *world, const char *name, mica_stage neighbour) {
    return add_stage(world, name, neighbour, 0, __func__);
}

mica_stage mica_stage_add_after(mica_world *world, const char *name, mica_stage neighbour) {
    return add_stage(world, name, neighbour, 1, __func__);
}

mica_result mica_stage_run_while_paused(mica_world *world, mica_stage stage, bool runs) {
    mi_systems *systems = mi_systems_open(world, __func__);
    if (systems == NULL || mi_world_check_making(world, "the clock", __func__) != MICA_OK) {
        return mica_last_result();
    }
    if (stage < 0 || (uint32_t)stage >= systems->stages.count) {
        return mi_fail(&world->log, MICA_UNKNOWN, __func__, "there is no stage {}", MI_INT(stage));
    }
    systems->stages_while_paused.data[stage] = runs;
    return MICA_OK;
}

// Finding systems

mi_system *mi_system_look_up(const mi_systems *systems, uint64_t handle) {
    if (handle > UINT32_MAX) {
        const uint32_t place = find_asked_place(systems, handle);
        mi_system *system = place < systems->asked.count ? systems->asked.data[place] : NULL;
        return system != NULL && system->handle == handle ? system : NULL;
    }
    uint32_t low = 0;
    uint32_t high = systems->all.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        mi_system *system = systems->all.data[middle];
        if (system->id == handle) {
            return system->handle == handle && !system->removed ? system : NULL;
        }
        if (system->id < handle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

mi_system *mi_system_resolve(const mica_world *world, mica_system handle, const char *call) {
    const mi_systems *systems = mi_systems_find(world);
    mi_system *system = systems != NULL ? mi_system_look_up(systems, handle.id) : NULL;
    if (system == NULL) {
        mi_fail(world != NULL ? &world->log : NULL, MICA_UNKNOWN, call, "there is no system {}", MI_UINT(handle.id));
    }
    return system;
}

mica_system mica_system_find(const mica_world *world, const char *name) {
    const mi_systems *systems = mi_systems_find(world);
    const mi_system *system = systems != NULL && name != NULL ? mi_system_find(systems, name) : NULL;
    return (mica_system){system != NULL ? system->handle : 0};
}

// The plan

bool mi_systems_describe(mi_systems *systems) {
    if (!MI_RESERVE(&systems->world->heap, MICA_MEMORY_SYSTEMS, &systems->described, systems->all.count)) {
        return false;
    }
    systems->described.count = 0;
    for (uint32_t i = 0; i < systems->all.count; i++) {
        if (!systems->all.data[i]->removed) {
            systems->described.data[systems->described.count++] = &systems->all.data[i]->order;
        }
    }
    return true;
}

// Makes `next_plan` of all systems that are not removed. On failure `plan` is as it was.
static mica_result make_next_plan(mi_systems *systems) {
    mi_heap *heap = &systems->world->heap;
    // `next_plan` may be what the next tick was to run; it is not any more if this fails.
    systems->plan_age = systems->plan_age == MI_PLAN_CURRENT ? MI_PLAN_CURRENT : MI_PLAN_VOID;
    if (!mi_systems_describe(systems)) {
        return MICA_OUT_OF_MEMORY;
    }
    const mica_result result =
        mi_plan_make(&systems->next_plan, heap, systems->stage_order.data, systems->stage_order.count,
                     systems->described.data, systems->described.count);
    if (result == MICA_OK) {
        systems->plan_age = MI_PLAN_NEXT;
    }
    return result;
}

mica_result mi_systems_prepare(mi_systems *systems, const char *call) {
    MI_ASSERT(!systems->ticking);
    if (systems->plan_age == MI_PLAN_VOID) {
        const mica_result result = make_next_plan(systems);
        MI_ASSERT(result != MICA_CYCLE);
        if (result != MICA_OK) {
            return mi_fail_plain(&systems->world->log, result, call, "out of memory for the plan of a tick");
        }
    }
    if (systems->plan_age == MI_PLAN_NEXT) {
        const mi_plan swapped = systems->plan;
        systems->plan = systems->next_plan;
        systems->next_plan = swapped;
        systems->plan_age = MI_PLAN_CURRENT;
        mi_batching_forget(&systems->batching, &systems->world->heap);
    }
    return mi_systems_yield(systems);
}

int32_t mica_world_systems(mica_world *world, mica_system *handles, int32_t capacity) {
    mi_systems *systems = mi_systems_find(world);
    if (systems == NULL) {
        return 0;
    }
    if (!systems->ticking && mi_systems_prepare(systems, __func__) != MICA_OK) {
        return -1;
    }
    systems->listing++;
    int32_t count = 0;
    for (uint32_t i = 0; i < systems->plan.steps.count; i++) {
        mi_system *system = mi_system_of(systems->plan.steps.data[i].system);
        if (system == NULL || system->removed || system->listing == systems->listing) {
            continue;
        }
        system->listing = systems->listing;
        if (count < capacity) {
            handles[count] = (mica_system){system->handle};
        }
        count++;
    }
    return count;
}

// Adding

static mica_result check_stages(const mi_systems *systems, const mica_system_def *def, const char *call) {
    const mica_log_handler *log = &systems->world->log;
    for (int32_t i = -1; i < def->also_count; i++) {
        const mica_stage stage = i < 0 ? def->stage : def->also[i].stage;
        if (stage < 0 || (uint32_t)stage >= systems->stages.count) {
            return mi_fail(log, MICA_INVALID, call, "system \"{}\" names stage {}, which there is not",
                           MI_TEXT(def->name), MI_INT(stage));
        }
        bool is_named_twice = i >= 0 && stage == def->stage;
        for (int32_t k = 0; k < i; k++) {
            is_named_twice |= stage == def->also[k].stage;
        }
        if (is_named_twice) {
            return mi_fail(log, MICA_INVALID, call, "system \"{}\" names stage \"{}\" twice", MI_TEXT(def->name),
                           MI_TEXT(systems->stages.data[stage]));
        }
    }
    return MICA_OK;
}

mica_result mi_system_check_def(const mi_systems *systems, const mica_system_def *def, const char *call) {
    const mica_log_handler *log = &systems->world->log;
    if (def == NULL || def->name == NULL || def->name[0] == 0) {
        return mi_fail_plain(log, MICA_INVALID, call, "a system needs a name");
    }
    if (def->run == NULL) {
        return mi_fail(log, MICA_INVALID, call, "system \"{}\" has no function to run", MI_TEXT(def->name));
    }
    if (def->also_count < 0 || def->also_count > MICA_SYSTEM_STAGE_MAX) {
        return mi_fail(log, MICA_INVALID, call, "system \"{}\" has {} further stages, which is not 0 to {}",
                       MI_TEXT(def->name), MI_INT(def->also_count), MI_INT(MICA_SYSTEM_STAGE_MAX));
    }
    if (def->query_count < 0 || def->query_count > MICA_SYSTEM_QUERY_MAX) {
        return mi_fail(log, MICA_INVALID, call, "system \"{}\" has {} further queries, which is not 0 to {}",
                       MI_TEXT(def->name), MI_INT(def->query_count), MI_INT(MICA_SYSTEM_QUERY_MAX));
    }
    if (!(def->budget_seconds >= 0 && def->budget_seconds < BUDGET_SECONDS_END)) {
        return mi_fail(log, MICA_INVALID, call, "the budget of system \"{}\" is negative, or too long",
                       MI_TEXT(def->name));
    }
    const mica_result result = mi_turn_check_rate(systems->world, def, call);
    return result == MICA_OK ? check_stages(systems, def, call) : result;
}

static void add_places(mi_system *system, const mica_system_def *def) {
    mi_plan_system *order = &system->order;
    order->places[order->place_count++] = (mica_system_place){def->stage, def->priority};
    for (int32_t i = 0; i < def->also_count; i++) {
        order->places[order->place_count++] = def->also[i];
    }
}

static mica_result add_texts(mica_world *world, mi_system *system, const mica_system_def *def, const char *call) {
    mi_heap *heap = &world->heap;
    bool complete = (system->order.name = mi_heap_copy_text(heap, MICA_MEMORY_SYSTEMS, def->name)) != NULL;
    for (int32_t i = 0; complete && i < MICA_SYSTEM_ORDER_MAX && def->before[i] != NULL; i++) {
        system->order.before[i] = mi_heap_copy_text(heap, MICA_MEMORY_SYSTEMS, def->before[i]);
        complete = system->order.before[i] != NULL;
    }
    for (int32_t i = 0; complete && i < MICA_SYSTEM_ORDER_MAX && def->after[i] != NULL; i++) {
        system->order.after[i] = mi_heap_copy_text(heap, MICA_MEMORY_SYSTEMS, def->after[i]);
        complete = system->order.after[i] != NULL;
    }
    return complete ? MICA_OK
                    : mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for the names of system \"{}\"",
                              MI_TEXT(def->name));
}

static bool names_nothing(const mica_access *access) {
    return access->type == NULL && access->component == 0;
}

// What the definition lists, and what the queries say.
static mica_result add_access(mica_world *world, mi_system *system, const mica_system_def *def, const char *call) {
    mi_access *access = &system->order.access;
    bool complete = true;
    for (int32_t i = 0; complete && i < MICA_SYSTEM_ACCESS_MAX && !names_nothing(&def->access[i]); i++) {
        const mica_access *given = &def->access[i];
        const mica_component component =
            given->type != NULL ? mica_world_register(world, given->type) : given->component;
        if (component == 0 || mi_world_type(world, component, call) == NULL) {
            return mica_last_result();
        }
        complete = mi_access_add(access, &world->heap, component, given->writes);
    }
    const bool lists_nothing = access->entries.count == 0;
    if (complete && system->query != NULL) {
        complete = mi_access_add_query(access, &world->heap, system->query);
    }
    for (uint32_t i = 0; complete && i < system->query_count; i++) {
        complete = mi_access_add_query(access, &world->heap, system->queries[i]);
    }
    system->order.exclusive = def->exclusive || (lists_nothing && system->query == NULL && system->query_count == 0);
    system->order.main_thread = def->main_thread;
    if (world->validates) {
        mi_system_validate(system);
    }
    return complete ? MICA_OK
                    : mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "out of memory for the access of system \"{}\"",
                              MI_TEXT(def->name));
}

static mica_result add_commands(mica_world *world, mi_system *system, const mica_system_def *def, const char *call) {
    system->commands = mi_commands_create(world, true);
    return system->commands != NULL ? MICA_OK
                                    : mi_fail(&world->log, MICA_OUT_OF_MEMORY, call,
                                              "out of memory for the commands of system \"{}\"", MI_TEXT(def->name));
}

static mica_result add_state(mica_world *world, mi_system *system, const mica_system_def *def, const char *call) {
    if (def->state == NULL) {
        return MICA_OK;
    }
    const mica_component component = mica_world_register(world, def->state);
    const mi_type *type = component != 0 ? mi_world_type(world, component, call) : NULL;
    if (type == NULL) {
        return mica_last_result();
    }
    if (type->info.size == 0) {
        return mi_fail(&world->log, MICA_NO_VALUE, call, "the state of system \"{}\" is to be a {}, which is a tag",
                       MI_TEXT(def->name), MI_TEXT(type->info.name));
    }
    void *state = mi_heap_allocate(&world->heap, MICA_MEMORY_SYSTEMS, type->info.size, type->info.align);
    if (state == NULL || !mi_value_construct(type, &world->store.values, state, 1)) {
        mi_heap_release(&world->heap, MICA_MEMORY_SYSTEMS, state, type->info.size, type->info.align);
        return mi_fail(&world->log, MICA_OUT_OF_MEMORY, call, "the state of system \"{}\" could not be constructed",
                       MI_TEXT(def->name));
    }
    system->state_type = type;
    system->state = state;
    return MICA_OK;
}

static mica_result fail_cycle(const mi_systems *systems, const char *name, const char *call) {
    char text[512] = "";
    size_t length = 0;
    const uint32_t count = systems->next_plan.cycle.count;
    for (uint32_t i = 0; i <= count && length < sizeof(text); i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, i == 0 ? "\"%s\"" : " before \"%s\"",
                                   systems->next_plan.cycle.data[i % count]->name);
    }
    const mi_pieces pieces = mi_text_pieces(text);
    return mi_fail(&systems->world->log, MICA_CYCLE, call, "system \"{}\" would have to run before itself: {}{}{}",
                   MI_TEXT(name), MI_TEXT(pieces.first), MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
}

// Says to those from a place on in `named` where they stand.
static void number_names(mi_systems *systems, uint32_t place) {
    for (; place < systems->named.count; place++) {
        systems->named.data[place]->place = place;
    }
}

// Lets the system be found.
static void enter_name(mi_systems *systems, mi_system *system) {
    uint32_t place;
    find_place(systems, system->order.name, &place);
    mi_system **at = systems->named.data + place;
    memmove(at + 1, at, (systems->named.count - place) * sizeof(*at));
    *at = system;
    systems->named.count++;
    number_names(systems, place);
    if (system->handle != system->id) {
        const uint32_t asked_place = find_asked_place(systems, system->handle);
        at = systems->asked.data + asked_place;
        memmove(at + 1, at, (systems->asked.count - asked_place) * sizeof(*at));
        *at = system;
        systems->asked.count++;
    }
}

static void leave_name(mi_systems *systems, const mi_system *system) {
    mi_system **at = systems->named.data + system->place;
    systems->named.count--;
    memmove(at, at + 1, (systems->named.count - system->place) * sizeof(*at));
    number_names(systems, system->place);
    if (system->handle != system->id) {
        const uint32_t asked_place = find_asked_place(systems, system->handle);
        at = systems->asked.data + asked_place;
        systems->asked.count--;
        memmove(at, at + 1, (systems->asked.count - asked_place) * sizeof(*at));
    }
}

static bool lists_order(const mi_plan_system *order) {
    return order->before[0] != NULL || order->after[0] != NULL;
}

static bool names_system(const mi_plan_system *order, const char *name) {
    for (uint32_t i = 0; i < MICA_SYSTEM_ORDER_MAX; i++) {
        if ((order->before[i] != NULL && strcmp(order->before[i], name) == 0) ||
            (order->after[i] != NULL && strcmp(order->after[i], name) == 0)) {
            return true;
        }
    }
    return false;
}

// Whether constraints may close a cycle through a system that is new.
static bool is_ordered(const mi_systems *systems, const mi_system *added) {
    bool is_named = lists_order(&added->order);
    for (uint32_t i = 0; i < systems->all.count && !is_named; i++) {
        const mi_system *system = systems->all.data[i];
        is_named = lists_order(&system->order) && names_system(&system->order, added->order.name);
    }
    return is_named;
}

// Takes a complete system in, as the last step of adding it. Where there can be no cycle the plan waits until it is
// needed, so that adding many makes one.
static mica_result enter(mi_systems *systems, mi_system *system, const char *call) {
    mica_world *world = systems->world;
    mi_heap *heap = &world->heap;
    mica_result result = MICA_OUT_OF_MEMORY;
    if (systems->last_id == UINT32_MAX) {
        return mi_fail_plain(&world->log, MICA_LIMIT, call, "the numbers of systems are used up");
    }
    if (MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->all, (size_t)systems->all.count + 1) &&
        MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->named, (size_t)systems->all.count + 1) &&
        (system->handle == 0 ||
         MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->asked, (size_t)systems->asked.count + 1)) &&
        MI_RESERVE(heap, MICA_MEMORY_SYSTEMS, &systems->started, (size_t)systems->all.count + 1)) {
        const bool has_order = is_ordered(systems, system);
        systems->all.data[systems->all.count++] = system;
        result = has_order ? make_next_plan(systems) : MICA_OK;
        if (result == MICA_OK) {
            systems->plan_age = has_order ? systems->plan_age : MI_PLAN_VOID;
            system->id = ++systems->last_id;
            system->handle = system->handle == 0 ? system->id : system->handle;
            enter_name(systems, system);
            return MICA_OK;
        }
        systems->all.count--;
    }
    return result == MICA_CYCLE
               ? fail_cycle(systems, system->order.name, call)
               : mi_fail(&world->log, result, call, "out of memory for system \"{}\"", MI_TEXT(system->order.name));
}

mica_random mi_system_first_random(const mica_world *world, const char *name) {
    const mica_random seeded = mi_world_seeded(world);
    return mica_random_split_named(&seeded, name);
}

mi_system *mi_system_enter(mi_systems *systems, const mica_system_def *def, uint64_t handle, const char *call) {
    mica_world *world = systems->world;
    if (mi_system_find(systems, def->name) != NULL) {
        mi_fail(&world->log, MICA_EXISTS, call, "there is a system \"{}\" already", MI_TEXT(def->name));
        return NULL;
    }
    mi_system *system =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_SYSTEMS, sizeof(*system), _Alignof(mi_system));
    if (system == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*system));
        return NULL;
    }
    system->handle = handle;
    system->functions[MI_CALL_START] = def->start;
    system->functions[MI_CALL_RUN] = def->run;
    system->functions[MI_CALL_STOP] = def->stop;
    system->condition = def->condition;
    system->user = def->user;
    system->is_here = true;
    system->random = mi_system_first_random(world, def->name);
    system->enabled_first = !def->disabled;
    system->enabled_next = system->enabled_first;
    system->runs_while_paused = def->runs_while_paused;
    system->budget_nanoseconds = def->budget_seconds > 0 ? (uint64_t)(def->budget_seconds * 1e9) : UINT64_MAX;
    system->begun_before = systems->begun_count;
    add_places(system, def);
    if (mi_turn_make(&system->turn, world, def, call) != MICA_OK || add_texts(world, system, def, call) != MICA_OK ||
        mi_system_make_queries(systems, system, def, call) != MICA_OK ||
        add_access(world, system, def, call) != MICA_OK || add_commands(world, system, def, call) != MICA_OK ||
        add_state(world, system, def, call) != MICA_OK || enter(systems, system, call) != MICA_OK) {
        free_system(world, system);
        return NULL;
    }
    system->has_turns = mi_turn_has_state(&system->turn);
    systems->has_turns |= system->has_turns;
    systems->has_switched = true;
    return system;
}

mica_system mica_system_add(mica_world *world, const mica_system_def *def) {
    static const char call[] = "mica_system_add";
    mi_systems *systems = mi_systems_open(world, call);
    if (systems == NULL || mi_system_check_def(systems, def, call) != MICA_OK) {
        return (mica_system){0};
    }
    if (*mi_world_in_span(world)) {
        mi_world_fail_in_span(world, "adds systems behind it", call);
        return (mica_system){0};
    }
    if (mi_requests_are_due(world)) {
        return mi_request_add(systems, def, call);
    }
    const mi_system *system = mi_system_enter(systems, def, 0, call);
    return (mica_system){system == NULL ? 0 : system->handle};
}

void mi_system_withdraw(mi_systems *systems, mi_system *system) {
    MI_ASSERT(systems->all.data[systems->all.count - 1] == system);
    leave_name(systems, system);
    systems->all.count--;
    systems->plan_age = MI_PLAN_VOID;
    free_system(systems->world, system);
}

// Removing

static void leave_started(mi_systems *systems, mi_system *system) {
    if (!system->stop_due) {
        return;
    }
    uint32_t place = systems->started.count;
    while (systems->started.data[--place] != system) {
    }
    systems->started.count--;
    memmove(systems->started.data + place, systems->started.data + place + 1,
            (systems->started.count - place) * sizeof(*systems->started.data));
    system->stop_due = false;
    system->started = false;
}

void mi_system_note_start(mi_systems *systems, mi_system *system) {
    leave_started(systems, system);
    system->started = true;
    system->stop_due = true;
    systems->started.data[systems->started.count++] = system;
}

static void stop_system(mi_systems *systems, mi_system *system) {
    if (!system->stop_due) {
        return;
    }
    leave_started(systems, system);

    mica_world *world = systems->world;
    mi_failure failure = {0};
    mica_run run = {.world = world,
                    .system = system,
                    .failure = &failure,
                    .stage = system->order.places[0].stage,
                    .tick = systems->tick,
                    .since = system->since,
                    .commands = system->commands,
                    .random = &system->random};
    mi_system_call(system, MI_CALL_STOP, &run);
    if (failure.code == MICA_OK && mica_commands_count(system->commands) > 0) {
        failure.code = mi_commands_apply(system->commands, "mica_system_remove");
        snprintf(failure.text, sizeof(failure.text), "its commands could not be applied");
    }
    if (failure.code != MICA_OK) {
        mi_log(&world->log, MICA_LOG_WARNING, "system \"%s\" failed when it was stopped: %s", system->order.name,
               failure.text);
    }
}

void mi_systems_sweep(mi_systems *systems) {
    MI_ASSERT(!systems->ticking);
    systems->stopping = true;
    // A stop function may remove further ones.
    while (systems->removed_count > 0) {
        uint32_t place = 0;
        while (!systems->all.data[place]->removed) {
            place++;
        }
        mi_system *system = systems->all.data[place];
        stop_system(systems, system);
        // The array may have grown meanwhile, but only at its end, and nobody else takes systems out.
        systems->all.count--;
        memmove(systems->all.data + place, systems->all.data + place + 1,
                (systems->all.count - place) * sizeof(*systems->all.data));
        systems->removed_count--;
        free_system(systems->world, system);
    }
    systems->stopping = false;
}

void mi_system_leave(mi_systems *systems, mi_system *system) {
    leave_name(systems, system);
    system->removed = true;
    systems->removed_count++;
    systems->plan_age = MI_PLAN_VOID;
}

void mi_system_come_back(mi_systems *systems, mi_system *system) {
    enter_name(systems, system);
    system->removed = false;
    systems->removed_count--;
    systems->plan_age = MI_PLAN_VOID;
}

mica_result mica_system_remove(mica_world *world, mica_system handle) {
    mi_system *system = mi_system_resolve(world, handle, __func__);
    if (system == NULL) {
        return MICA_UNKNOWN;
    }
    mi_systems *systems = mi_systems_find(world);
    if (*mi_world_in_span(world)) {
        return mi_world_fail_in_span(world, "removes systems behind it", __func__);
    }
    if (mi_requests_are_due(world)) {
        return mi_request_remove(systems, system, __func__);
    }
    const bool now = !systems->ticking && !systems->stopping;
    if (now && mi_world_check_structure(world, __func__) != MICA_OK) {
        return MICA_LOCKED;
    }
    mi_system_leave(systems, system);
    if (now) {
        mi_systems_sweep(systems);
    }
    return MICA_OK;
}

// The rest

mica_result mica_system_enable(mica_world *world, mica_system handle, bool enabled) {
    mi_system *system = mi_system_resolve(world, handle, __func__);
    if (system == NULL) {
        return MICA_UNKNOWN;
    }
    if (*mi_world_in_span(world)) {
        return mi_world_fail_in_span(world, "enables and disables systems behind it", __func__);
    }
    // Systems that run side by side say so in any order: the last one in the plan's counts.
    const mica_run *run = mi_world_run(world);
    const uint32_t step = run == NULL ? UINT32_MAX : run->step;
    mi_world_lock(world);
    if (step >= system->enabled_by) {
        system->enabled_next = enabled;
        system->enabled_by = step;
        mi_systems_find(world)->has_switched = true;
    }
    mi_world_unlock(world);
    return MICA_OK;
}

void *mica_system_state(mica_world *world, mica_system handle) {
    const mi_system *system = mi_system_resolve(world, handle, __func__);
    return system != NULL ? system->state : NULL;
}

mica_result mica_system_statistics(const mica_world *world, mica_system handle, mica_system_stats *stats) {
    const mi_system *system = mi_system_resolve(world, handle, __func__);
    if (system == NULL) {
        return MICA_UNKNOWN;
    }
    if (stats == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, __func__, "there is no place for the statistics");
    }
    const mica_commands_stats commands = mica_commands_statistics(system->commands);
    const double count_nanoseconds = mi_systems_find(world)->count_nanoseconds;
    *stats = (mica_system_stats){.name = system->order.name,
                                 .stage = system->order.places[0].stage,
                                 .enabled = system->enabled_next,
                                 .run_count = system->run_count,
                                 .command_count = commands.applied_count,
                                 .command_skipped_count = commands.skipped_count,
                                 .total_seconds = (double)system->total_nanoseconds * 1e-9,
                                 .last_seconds = (double)system->last_nanoseconds * 1e-9,
                                 .over_budget_count = system->over_budget_count,
                                 .span_count = system->loop.span_count,
                                 .entity_count = system->loop.entity_count,
                                 .wait_seconds = (double)system->loop.wait_count * count_nanoseconds * 1e-9};
    return MICA_OK;
}
