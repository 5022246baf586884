// Several worlds: places in an order, whose worlds are advanced together.
//
// While the worlds are advanced, systems may do anything to the places. So the turns are a list of numbers that is made
// when a call begins, and each place is looked up when its turn comes. Worlds that have to end wait in a list while a
// function of theirs runs; room in it is made when a world comes in, so that removing cannot fail.
//
// Invariants: `places` ascends by order, those of one order by when they came to it; no world has two places; `ending`
// and `turns` have room for all worlds that the manager has, those that are to end among them.
#include <mica/worlds.h>

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "run/system.h"

typedef struct world_place {
    uint32_t id;
    int32_t order;
    char *name;
    mica_world *world;
    bool enabled;
    int32_t tick_count;
    mica_result result;
} world_place;

struct mica_worlds {
    mi_heap heap;
    MI_ARRAY(world_place) places;
    MI_ARRAY(uint32_t) turns;      // of the running call
    MI_ARRAY(mica_world *) ending; // in the order in which they are to end
    uint32_t last_id;
    bool is_advancing;
    bool is_sweeping;
};

static const mica_memory_purpose purpose = MICA_MEMORY_WORLD;

// What a world is

mica_world_kind mica_world_kind_of(const mica_world *world) {
    return world == NULL ? MICA_WORLD_GAME : world->def.kind;
}

mica_net_mode mica_world_net_mode(const mica_world *world) {
    return world == NULL ? MICA_NET_NONE : world->def.net_mode;
}

mica_result mica_world_set_net_mode(mica_world *world, mica_net_mode mode) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
    }
    if (mi_world_check_making(world, "its net mode", __func__) != MICA_OK) {
        return MICA_LOCKED;
    }
    if ((uint32_t)mode > MICA_NET_LISTEN_SERVER) {
        return mi_fail(&world->log, MICA_INVALID, __func__, "there is no net mode {}", MI_INT(mode));
    }
    world->def.net_mode = mode;
    return MICA_OK;
}

// Places

// The position of a place, looked for from `hint` on; UINT32_MAX: there is none.
static uint32_t find_position(const mica_worlds *worlds, uint32_t id, uint32_t hint) {
    const uint32_t count = worlds == NULL ? 0 : worlds->places.count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t position = (hint + i) % count;
        if (worlds->places.data[position].id == id) {
            return position;
        }
    }
    return UINT32_MAX;
}

// NULL: MICA_UNKNOWN, set for `call`.
static world_place *resolve(const mica_worlds *worlds, mica_place handle, const char *call) {
    const uint32_t position = find_position(worlds, handle.id, 0);
    if (position == UINT32_MAX) {
        mi_fail(NULL, MICA_UNKNOWN, call, "there is no place {}", MI_UINT(handle.id));
        return NULL;
    }
    return &worlds->places.data[position];
}

// Puts a place behind those of its order; the room is there.
static void enter(mica_worlds *worlds, world_place entered) {
    uint32_t position = worlds->places.count++;
    for (; position > 0 && worlds->places.data[position - 1].order > entered.order; position--) {
        worlds->places.data[position] = worlds->places.data[position - 1];
    }
    worlds->places.data[position] = entered;
}

static world_place leave(mica_worlds *worlds, const world_place *left) {
    const world_place copy = *left;
    const uint32_t position = (uint32_t)(left - worlds->places.data);
    worlds->places.count--;
    memmove(worlds->places.data + position, worlds->places.data + position + 1,
            (worlds->places.count - position) * sizeof(world_place));
    return copy;
}

// Whether one of the world's own functions runs.
static bool is_busy(const mica_world *world) {
    const mi_systems *systems = mi_systems_find(world);
    return world->running != NULL || world->front.callback != NULL ||
           (systems != NULL && (systems->ticking || systems->stopping));
}

// Ends the worlds that have to end and can. Their stop functions may let further ones end.
static void sweep(mica_worlds *worlds) {
    if (worlds->is_sweeping) {
        return;
    }
    worlds->is_sweeping = true;
    for (uint32_t i = 0; i < worlds->ending.count;) {
        mica_world *world = worlds->ending.data[i];
        if (is_busy(world)) {
            i++;
            continue;
        }
        worlds->ending.count--;
        memmove(worlds->ending.data + i, worlds->ending.data + i + 1,
                (worlds->ending.count - i) * sizeof(mica_world *));
        mica_world_destroy(world);
    }
    worlds->is_sweeping = false;
}

static void end_world(mica_worlds *worlds, mica_world *world) {
    mi_clock_stop(world);
    worlds->ending.data[worlds->ending.count++] = world;
    sweep(worlds);
}

// Making and ending

mica_worlds *mica_worlds_create(const mica_allocator *allocator) {
    mi_heap heap;
    if (!mi_heap_init(&heap, allocator)) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "the allocator lacks one of its functions");
        return NULL;
    }
    mica_worlds *worlds = mi_heap_allocate_zeroed(&heap, purpose, sizeof(*worlds), _Alignof(mica_worlds));
    if (worlds == NULL) {
        mi_fail_memory(NULL, __func__, sizeof(*worlds));
        return NULL;
    }
    worlds->heap = heap;
    return worlds;
}

static bool has_busy(const mica_worlds *worlds) {
    bool is_found = worlds->is_advancing || worlds->is_sweeping;
    for (uint32_t i = 0; i < worlds->places.count; i++) {
        is_found = is_found || is_busy(worlds->places.data[i].world);
    }
    for (uint32_t i = 0; i < worlds->ending.count; i++) {
        is_found = is_found || is_busy(worlds->ending.data[i]);
    }
    return is_found;
}

void mica_worlds_destroy(mica_worlds *worlds) {
    if (worlds == NULL) {
        return;
    }
    if (has_busy(worlds)) {
        mi_fail_plain(NULL, MICA_LOCKED, __func__,
                      "the manager advances its worlds, or a function of one of them runs");
        return;
    }
    sweep(worlds);
    while (worlds->places.count > 0) {
        uint32_t latest = 0;
        for (uint32_t i = 1; i < worlds->places.count; i++) {
            latest = worlds->places.data[i].id > worlds->places.data[latest].id ? i : latest;
        }
        mica_worlds_remove(worlds, (mica_place){worlds->places.data[latest].id});
    }
    MI_FREE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->places);
    MI_FREE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->turns);
    MI_FREE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->ending);
    mi_heap heap = worlds->heap;
    mi_heap_release(&heap, purpose, worlds, sizeof(*worlds), _Alignof(mica_worlds));
}

static mica_result check_world(const mica_worlds *worlds, const mica_world *world, const char *call) {
    if (worlds == NULL || world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a manager and a world");
    }
    bool is_there = mica_worlds_place_of(worlds, world).id != 0;
    for (uint32_t i = 0; i < worlds->ending.count; i++) {
        is_there = is_there || worlds->ending.data[i] == world;
    }
    return !is_there
               ? MICA_OK
               : mi_fail(NULL, MICA_EXISTS, call, "{} is in the manager already", MI_TEXT(mica_world_name(world)));
}

// Room for one world more.
static bool make_room(mica_worlds *worlds) {
    const size_t need = (size_t)worlds->places.count + worlds->ending.count + 1;
    return MI_RESERVE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->places, need) &&
           MI_RESERVE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->ending, need) &&
           MI_RESERVE(&worlds->heap, MICA_MEMORY_WORLD, &worlds->turns, need);
}

mica_place mica_worlds_add(mica_worlds *worlds, const mica_place_def *def) {
    const mica_place none = {0};
    if (check_world(worlds, def == NULL ? NULL : def->world, __func__) != MICA_OK) {
        return none;
    }
    MI_ASSERT(def != NULL);
    const char *name = def->name != NULL ? def->name : mica_world_name(def->world);
    if (mica_worlds_find(worlds, name).id != 0) {
        mi_fail(NULL, MICA_EXISTS, __func__, "there is a place \"{}\" already", MI_TEXT(name));
        return none;
    }
    if (worlds->last_id == UINT32_MAX) {
        mi_fail_plain(NULL, MICA_LIMIT, __func__, "the numbers of places are used up");
        return none;
    }
    char *copy = make_room(worlds) ? mi_heap_copy_text(&worlds->heap, purpose, name) : NULL;
    if (copy == NULL) {
        mi_fail_memory(NULL, __func__, sizeof(world_place));
        return none;
    }
    enter(worlds, (world_place){.id = ++worlds->last_id,
                                .order = def->order,
                                .name = copy,
                                .world = def->world,
                                .enabled = !def->disabled});
    return (mica_place){worlds->last_id};
}

mica_result mica_worlds_remove(mica_worlds *worlds, mica_place handle) {
    const world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    const world_place left = leave(worlds, found);
    mi_heap_release_text(&worlds->heap, purpose, left.name);
    end_world(worlds, left.world);
    return MICA_OK;
}

mica_world *mica_worlds_take(mica_worlds *worlds, mica_place handle) {
    const world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return NULL;
    }
    if (worlds->is_advancing) {
        mi_fail(NULL, MICA_LOCKED, __func__, "the manager advances its worlds, \"{}\" among them",
                MI_TEXT(found->name));
        return NULL;
    }
    const world_place left = leave(worlds, found);
    mi_heap_release_text(&worlds->heap, purpose, left.name);
    return left.world;
}

mica_result mica_worlds_replace(mica_worlds *worlds, mica_place handle, mica_world *world) {
    world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    const mica_result result = check_world(worlds, world, __func__);
    if (result != MICA_OK) {
        return result;
    }
    if (!make_room(worlds)) {
        return mi_fail_memory(NULL, __func__, sizeof(world_place));
    }
    found = resolve(worlds, handle, __func__); // places may have moved
    mica_world *old = found->world;
    found->world = world;
    found->tick_count = 0;
    found->result = MICA_OK;
    end_world(worlds, old);
    return MICA_OK;
}

mica_result mica_worlds_enable(mica_worlds *worlds, mica_place handle, bool enabled) {
    world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    found->enabled = enabled;
    if (!enabled) {
        mi_clock_stop(found->world);
    }
    return MICA_OK;
}

mica_result mica_worlds_set_order(mica_worlds *worlds, mica_place handle, int32_t order) {
    const world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return MICA_UNKNOWN;
    }
    world_place moved = leave(worlds, found);
    moved.order = order;
    enter(worlds, moved);
    return MICA_OK;
}

// Advancing

typedef struct first_failure {
    mica_result result;
    char name[96];
    char text[256];
} first_failure;

// Advances the world of a place. It may be gone afterwards.
static void advance_place(mica_worlds *worlds, uint32_t id, uint32_t hint, double real_seconds,
                          first_failure *failure) {
    uint32_t position = find_position(worlds, id, hint);
    if (position == UINT32_MAX || !worlds->places.data[position].enabled) {
        return;
    }
    mica_world *world = worlds->places.data[position].world;
    const int32_t ticks = mica_world_advance(world, real_seconds);
    const mica_result result = ticks < 0 ? mica_last_result() : MICA_OK;
    position = find_position(worlds, id, hint);
    world_place *advanced = position == UINT32_MAX ? NULL : &worlds->places.data[position];
    if (result != MICA_OK && failure->result == MICA_OK) {
        failure->result = result;
        mi_text_copy(failure->name, sizeof(failure->name), advanced != NULL ? advanced->name : mica_world_name(world));
        mi_text_copy(failure->text, sizeof(failure->text), mica_last_error());
    }
    if (advanced != NULL && advanced->world == world) {
        advanced->tick_count = ticks < 0 ? -1 - ticks : ticks;
        advanced->result = result;
    }
}

mica_result mica_worlds_advance(mica_worlds *worlds, double real_seconds) {
    if (worlds == NULL || !isfinite(real_seconds) || real_seconds < 0) {
        return mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a manager, and a time that is not negative");
    }
    if (worlds->is_advancing) {
        return mi_fail_plain(NULL, MICA_LOCKED, __func__, "the manager advances its worlds already");
    }
    worlds->turns.count = 0;
    for (uint32_t i = 0; i < worlds->places.count; i++) {
        worlds->turns.data[worlds->turns.count++] = worlds->places.data[i].id;
        worlds->places.data[i].tick_count = 0;
        worlds->places.data[i].result = MICA_OK;
    }
    first_failure failure = {.result = MICA_OK};
    worlds->is_advancing = true;
    for (uint32_t i = 0; i < worlds->turns.count; i++) {
        advance_place(worlds, worlds->turns.data[i], i, real_seconds, &failure);
    }
    worlds->is_advancing = false;
    sweep(worlds);
    if (failure.result == MICA_OK) {
        return MICA_OK;
    }
    const mi_pieces pieces = mi_text_pieces(failure.text);
    return mi_fail(NULL, failure.result, __func__, "place \"{}\": {}{}{}", MI_TEXT(failure.name), MI_TEXT(pieces.first),
                   MI_TEXT(pieces.second), MI_TEXT(pieces.rest));
}

// Asking

mica_place mica_worlds_find(const mica_worlds *worlds, const char *name) {
    for (uint32_t i = 0; worlds != NULL && name != NULL && i < worlds->places.count; i++) {
        if (strcmp(worlds->places.data[i].name, name) == 0) {
            return (mica_place){worlds->places.data[i].id};
        }
    }
    return (mica_place){0};
}

mica_place mica_worlds_place_of(const mica_worlds *worlds, const mica_world *world) {
    for (uint32_t i = 0; worlds != NULL && i < worlds->places.count; i++) {
        if (worlds->places.data[i].world == world) {
            return (mica_place){worlds->places.data[i].id};
        }
    }
    return (mica_place){0};
}

mica_world *mica_worlds_world(const mica_worlds *worlds, mica_place handle) {
    const world_place *found = resolve(worlds, handle, __func__);
    return found == NULL ? NULL : found->world;
}

int32_t mica_worlds_list(const mica_worlds *worlds, mica_place *places, int32_t capacity) {
    const int32_t count = worlds == NULL ? 0 : (int32_t)worlds->places.count;
    for (int32_t i = 0; i < count && i < capacity; i++) {
        places[i] = (mica_place){worlds->places.data[i].id};
    }
    return count;
}

mica_place_info mica_worlds_describe(const mica_worlds *worlds, mica_place handle) {
    const world_place *found = resolve(worlds, handle, __func__);
    if (found == NULL) {
        return (mica_place_info){0};
    }
    return (mica_place_info){.name = found->name,
                             .world = found->world,
                             .order = found->order,
                             .enabled = found->enabled,
                             .tick_count = found->tick_count,
                             .result = found->result};
}
