// Component types that can be disabled: one of each kind in either storage.
#pragma once

#include "world_fixture.h"

MICA_STRUCT_WITH(Shield, (.storage = MICA_TABLE, .toggle = true), { int32_t now; });
MICA_TAG_WITH(Hostile, (.storage = MICA_TABLE, .toggle = true));
MICA_STRUCT_WITH(Glow, (.storage = MICA_POOL, .toggle = true), { int32_t now; });
MICA_TAG_WITH(Noisy, (.storage = MICA_POOL, .toggle = true));

enum { TOGGLE_COUNT = 4 };
static mica_type *const toggle_types[TOGGLE_COUNT] = {mica_type_of(Shield), mica_type_of(Hostile), mica_type_of(Glow),
                                                      mica_type_of(Noisy)};

// An entity with Health and all types that can be disabled.
static inline mica_entity spawn_toggles(mica_world *world, int32_t number) {
    const mica_entity entity = mica_spawn(world, mica_value_of(Health, {number}), mica_value_of(Shield, {number}),
                                          mica_tag(Hostile), mica_value_of(Glow, {number}), mica_tag(Noisy));
    assert_false(mica_entity_is_null(entity));
    return entity;
}
