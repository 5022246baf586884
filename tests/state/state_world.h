// Worlds in which anything may happen to entities, for tests of exact copies.
//
// What happens follows from the world's state and a seed alone: two worlds in equal states go on alike.
#pragma once

#include "state/state_dump.h"
#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/mica.h>

// A type that owns an int32_t. `owned_alive` counts what is owned.
typedef struct Owned {
    int32_t *number;
} Owned;

static int32_t owned_alive;
static int32_t owned_fails_in; // the copy or construction that fails, from 1 on; 0: none

static inline bool owned_hold(Owned *value, int32_t number, const mica_hook_context *context) {
    if (owned_fails_in > 0 && --owned_fails_in == 0) {
        return false;
    }
    value->number = context->allocator->allocate(context->allocator->user, sizeof(int32_t), _Alignof(int32_t));
    if (value->number == NULL) {
        return false;
    }
    *value->number = number;
    owned_alive++;
    return true;
}

static inline void owned_destruct(void *values, int32_t count, const mica_hook_context *context) {
    Owned *owned = values;
    for (int32_t i = 0; i < count; i++) {
        context->allocator->release(context->allocator->user, owned[i].number, sizeof(int32_t), _Alignof(int32_t));
        owned[i].number = NULL;
        owned_alive--;
    }
}

static inline bool owned_make_all(Owned *to, const Owned *from, int32_t count, const mica_hook_context *context) {
    for (int32_t i = 0; i < count; i++) {
        if (!owned_hold(&to[i], from == NULL ? 0 : *from[i].number, context)) {
            owned_destruct(to, i, context);
            return false;
        }
    }
    return true;
}

static inline bool owned_construct(void *values, int32_t count, const mica_hook_context *context) {
    return owned_make_all(values, NULL, count, context);
}

static inline bool owned_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    return owned_make_all(to, from, count, context);
}

#define OWNED_HOOKS \
    { .construct = owned_construct, .destruct = owned_destruct, .copy = owned_copy }

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Padded, {
    uint8_t small;
    uint32_t large;
});
MICA_STRUCT_WITH(Split, (.storage = MICA_TABLE, .layout = MICA_LANES), {
    float x;
    uint16_t y;
});
MICA_STRUCT_WITH(Toggled, (.toggle = true), { int32_t level; });
MICA_STRUCT_WITH(Dirty, (.always_dirty = true), { int32_t value; });
MICA_TAG(Marked);
MICA_STRUCT_WITH(Pooled, (.storage = MICA_POOL), { int32_t value; });
MICA_STRUCT_WITH(Stable, (.storage = MICA_POOL, .stable = true, .page_size = 16), { double value; });
MICA_TAG_WITH(PoolTag, (.storage = MICA_POOL));
MICA_COMPONENT_WITH(Owned, (.storage = MICA_TABLE, .hooks = OWNED_HOOKS));
MICA_NAMED_WITH(PoolOwned, Owned, (.storage = MICA_POOL, .hooks = OWNED_HOOKS));

enum { KIND_COUNT = 11, KIND_MAX = 12 };

typedef struct state_world {
    mica_world *world;
    mica_component kinds[KIND_MAX];
    uint32_t kind_count; // that are used
} state_world;

static inline void state_world_open(state_world *w, const mica_world_def *def) {
    mica_type *const types[KIND_COUNT] = {mica_type_of(Position), mica_type_of(Padded),   mica_type_of(Split),
                                          mica_type_of(Toggled),  mica_type_of(Dirty),    mica_type_of(Marked),
                                          mica_type_of(Owned),    mica_type_of(Pooled),   mica_type_of(Stable),
                                          mica_type_of(PoolTag),  mica_type_of(PoolOwned)};
    w->world = mica_world_create(def);
    assert_non_null(w->world);
    w->kind_count = KIND_COUNT;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        w->kinds[i] = mica_world_register(w->world, types[i]);
        assert_int_not_equal(w->kinds[i], 0);
    }
}

// A living entity; null: there is none near.
static inline mica_entity state_pick(const state_world *w, test_random *random) {
    const mi_slots *slots = &w->world->store.slots;
    const uint32_t end = mi_slots_end(slots);
    uint32_t index = end <= 1 ? 0 : 1 + test_random_below(random, end - 1);
    for (uint32_t tries = 0; index != 0 && tries < 8; tries++, index = index + 1 < end ? index + 1 : 1) {
        if ((slots->data[index] & MI_SLOT_FREE) == 0) {
            return mi_slots_handle(slots, index);
        }
    }
    return MICA_NULL;
}

// Adds or sets a component with a random value.
static inline void state_give(state_world *w, mica_entity entity, mica_component component, test_random *random,
                              bool sets) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(w->world), component);
    union {
        uint64_t words[4];
        uint8_t bytes[32];
    } value = {.words = {0}};
    assert_true(info->size <= sizeof(value));
    if (info->hooks.destruct != NULL) {
        if (sets && mica_entity_has(w->world, entity, component)) {
            int32_t **number = mica_entity_get_write(w->world, entity, component);
            **number = (int32_t)test_random_next(random);
        } else if (!sets) {
            (void)mica_entity_add(w->world, entity, component, NULL);
        }
        return;
    }
    const uint32_t seed = (uint32_t)test_random_next(random);
    if (component == w->kinds[1]) {
        value.bytes[offsetof(Padded, small)] = (uint8_t)seed;
        memcpy(value.bytes + offsetof(Padded, large), &seed, sizeof(seed)); // padding stays zero
    } else if (component == w->kinds[2]) {
        const Split split = {.x = (float)(seed & 1023), .y = (uint16_t)seed};
        memcpy(value.bytes, &split.x, sizeof(split.x));
        memcpy(value.bytes + offsetof(Split, y), &split.y, sizeof(split.y));
    } else {
        memset(value.bytes, (int)(seed & 0xff), info->size);
    }
    if (sets) {
        (void)mica_entity_set(w->world, entity, component, info->size == 0 ? NULL : value.bytes);
    } else {
        (void)mica_entity_add(w->world, entity, component, info->size == 0 ? NULL : value.bytes);
    }
}

static inline mica_component state_kind(const state_world *w, test_random *random) {
    return w->kinds[test_random_below(random, w->kind_count)];
}

static inline void state_spawn(state_world *w, test_random *random) {
    const mica_entity entity = mica_entity_create(w->world);
    for (uint32_t i = test_random_below(random, 5); i > 0; i--) {
        state_give(w, entity, state_kind(w, random), random, false);
    }
}

// Something that happens to a world between two ticks.
static inline void state_step(state_world *w, test_random *random) {
    mica_world *world = w->world;
    const mica_entity entity = state_pick(w, random);
    const uint32_t what = test_random_below(random, 100);
    if (what < 25 || mica_entity_is_null(entity)) {
        state_spawn(w, random);
    } else if (what < 40) {
        (void)mica_entity_destroy(world, entity);
    } else if (what < 55) {
        state_give(w, entity, state_kind(w, random), random, false);
    } else if (what < 70) {
        state_give(w, entity, state_kind(w, random), random, true);
    } else if (what < 80) {
        (void)mica_entity_remove(world, entity, state_kind(w, random));
    } else if (what < 84) {
        (void)mica_entity_enable(world, entity, test_random_below(random, 2) == 0);
    } else if (what < 87) {
        (void)mica_entity_enable_component(world, entity, w->kinds[3], test_random_below(random, 2) == 0);
    } else if (what < 89) {
        (void)mica_entity_kill(world, entity);
    } else if (what < 90) {
        (void)mica_world_refresh(world);
    } else if (what < 95) {
        (void)mica_world_advance_version(world);
    } else if (what < 98) {
        (void)mica_entity_clone(world, entity);
    } else if (what < 99) {
        (void)mica_world_trim(world);
    } else if (test_random_below(random, 8) == 0) {
        (void)mica_world_clear(world);
    }
}

static inline void state_go_on(state_world *w, uint64_t seed, uint32_t count) {
    test_random random = {.state = seed};
    for (uint32_t i = 0; i < count; i++) {
        state_step(w, &random);
    }
}
