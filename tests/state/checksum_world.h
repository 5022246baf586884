// A world of many kinds of components, made in any order and with any storage, for tests of checksums and comparisons.
#pragma once

#include "support/test_random.h"
#include "world/storages.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

MICA_STRUCT(Dense, { float x, y, z; });
MICA_STRUCT(Padded, {
    uint8_t kind;
    Dense place;
    uint16_t number;
});
MICA_STRUCT(Label, {
    char text[13];
    uint8_t color;
    uint32_t size;
});
MICA_STRUCT(Small, { uint8_t level; });
MICA_STRUCT(Long, { uint64_t words[9]; });
MICA_STRUCT_WITH(Switch, (.toggle = true), { int32_t on; });
MICA_STRUCT_WITH(Split, (.storage = MICA_TABLE, .layout = MICA_LANES), {
    uint8_t small;
    Padded whole;
    double large;
});
MICA_TAG(Lit);
MICA_TAG(Cold);
MICA_STRUCT(Score, { int64_t points; });

enum { KIND_COUNT = 9, ENTITY_COUNT = 60 };

static mica_type *const kinds[KIND_COUNT] = {mica_type_of(Dense), mica_type_of(Padded), mica_type_of(Label),
                                             mica_type_of(Small), mica_type_of(Long),   mica_type_of(Switch),
                                             mica_type_of(Split), mica_type_of(Lit),    mica_type_of(Cold)};

// How a world is made. What it holds in the end is the same.
typedef struct recipe {
    storage_mix mix;
    uint32_t type_stride;   // types are registered in steps of so many, which is prime to KIND_COUNT
    uint32_t entity_stride; // entities get their components in steps of so many, which is prime to ENTITY_COUNT
    uint8_t padding;        // what stands in bytes that do not count
} recipe;

static inline void fill_value(uint32_t kind, uint32_t entity, uint8_t padding, void *value) {
    const float number = (float)entity;
    switch (kind) {
    case 0:
        *(Dense *)value = (Dense){number, number / 2, -number};
        break;
    case 1:
    case 6: {
        Padded padded;
        memset(&padded, padding, sizeof(padded));
        padded.kind = (uint8_t)entity;
        padded.place = (Dense){1, 2, number};
        padded.number = (uint16_t)(entity * 3);
        if (kind == 1) {
            memcpy(value, &padded, sizeof(padded));
            break;
        }
        Split *split = value;
        memset(split, padding, sizeof(*split));
        split->small = (uint8_t)(entity + 1);
        memcpy(&split->whole, &padded, sizeof(padded));
        split->large = 0.5 * number;
        break;
    }
    case 2: {
        Label *label = value;
        memset(label, padding, sizeof(*label));
        snprintf(label->text, sizeof(label->text), "%u", entity);
        label->color = 7;
        label->size = entity * 100;
        break;
    }
    case 3:
        ((Small *)value)->level = (uint8_t)(entity * 5);
        break;
    case 4:
        for (uint32_t i = 0; i < 9; i++) {
            ((Long *)value)->words[i] = (uint64_t)entity * entity + i;
        }
        break;
    default:
        ((Switch *)value)->on = (int32_t)entity - 30;
        break;
    }
}

static inline bool has_kind(uint32_t entity, uint32_t kind) {
    return ((entity + 1) * (kind + 3) * UINT32_C(2654435761) >> 13) % 5 < 2;
}

static inline mica_entity entity_at(uint32_t number) {
    return mica_entity_make(number + 1, 0);
}

// The first entity from number `first` on that has a kind.
static inline mica_entity owner_of(uint32_t kind, uint32_t first) {
    while (!has_kind(first, kind)) {
        first++;
    }
    assert_true(first < ENTITY_COUNT);
    return entity_at(first);
}

static inline mica_component component_of(const mica_world *world, uint32_t kind) {
    return mica_schema_find(mica_world_schema(world), kinds[kind]->name);
}

static inline mica_world *make_world(const recipe *how) {
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if (kinds[i] != mica_type_of(Split)) {
            place_type(kinds[i], how->mix, i);
        }
    }
    mica_world *world = mica_world_create(NULL);
    assert_non_null(world);
    mica_schema *schema = mica_world_schema(world);
    mica_schema_register(schema, mica_type_of(Dense)); // which others hold
    mica_schema_register(schema, mica_type_of(Padded));
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        assert_int_not_equal(mica_schema_register(schema, kinds[i * how->type_stride % KIND_COUNT]), 0);
    }
    mica_entity entities[ENTITY_COUNT];
    for (uint32_t i = 0; i < ENTITY_COUNT; i++) {
        entities[i] = mica_entity_create(world);
    }
    for (uint32_t n = 0; n < ENTITY_COUNT; n++) {
        const uint32_t i = n * how->entity_stride % ENTITY_COUNT;
        for (uint32_t k = 0; k < KIND_COUNT; k++) {
            const uint32_t kind = k * how->type_stride % KIND_COUNT;
            _Alignas(64) uint8_t value[128];
            if (has_kind(i, kind)) {
                fill_value(kind, i, how->padding, value);
                const bool is_tag = kinds[kind]->kind == MICA_KIND_TAG;
                assert_int_equal(mica_entity_add(world, entities[i], component_of(world, kind), is_tag ? NULL : value),
                                 MICA_OK);
            }
        }
        if (i % 11 == 0) {
            assert_int_equal(mica_entity_enable(world, entities[i], false), MICA_OK);
        }
        if (has_kind(i, 5) && i % 4 == 0) {
            assert_int_equal(mica_entity_enable_component(world, entities[i], component_of(world, 5), false), MICA_OK);
        }
    }
    assert_int_equal(mica_set_resource(world, Score, {ENTITY_COUNT}), MICA_OK);
    return world;
}
