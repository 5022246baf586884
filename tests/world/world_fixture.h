// Component types and checks that the tests of worlds share.
#pragma once

#include "support/test_allocator.h"
#include "support/test_random.h"
#include "support/test_said.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

MICA_STRUCT(Health, { int32_t now; });
MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Wide, {
    _Alignas(64) int32_t number;
    int32_t pad[19];
});
MICA_STRUCT(Target, { mica_entity who; });
MICA_TAG(Frozen);
MICA_TAG(Marked);
MICA_STRUCT_WITH(Armour, (.required = {mica_type_of(Health), mica_type_of(Marked)}), { int32_t now; });

// A value that owns memory of the world's allocator: an int on the heap.
static inline bool owned_make(int32_t **place, int32_t number, const mica_hook_context *context) {
    *place = context->allocator->allocate(context->allocator->user, sizeof(int32_t), _Alignof(int32_t));
    if (*place != NULL) {
        **place = number;
    }
    return *place != NULL;
}

typedef struct Owned {
    int32_t *number;
    struct Owned *self; // its own address: shows moves that nobody made
} Owned;

static inline void owned_destruct(void *values, int32_t count, const mica_hook_context *context) {
    Owned *owned = values;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(owned[i].self, &owned[i]);
        context->allocator->release(context->allocator->user, owned[i].number, sizeof(int32_t), _Alignof(int32_t));
        owned[i].self = NULL;
    }
}

static inline bool owned_construct(void *values, int32_t count, const mica_hook_context *context) {
    Owned *owned = values;
    for (int32_t i = 0; i < count; i++) {
        if (!owned_make(&owned[i].number, 0, context)) {
            owned_destruct(values, i, context);
            return false;
        }
        owned[i].self = &owned[i];
    }
    return true;
}

static inline void owned_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    Owned *target = to;
    Owned *source = from;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(source[i].self, &source[i]);
        target[i] = (Owned){.number = source[i].number, .self = &target[i]};
        source[i].self = NULL;
    }
}

// Callers pass values on the stack whose `self` need not be right.
static inline bool owned_copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    Owned *target = to;
    const Owned *source = from;
    for (int32_t i = 0; i < count; i++) {
        if (!owned_make(&target[i].number, *source[i].number, context)) {
            owned_destruct(to, i, context);
            return false;
        }
        target[i].self = &target[i];
    }
    return true;
}

MICA_COMPONENT_WITH(
    Owned,
    (.hooks = {.construct = owned_construct, .destruct = owned_destruct, .move = owned_move, .copy = owned_copy}));

// A world whose memory is watched.
typedef struct watched_world {
    test_allocator allocator;
    mica_world *world;
} watched_world;

static inline void watched_begin(watched_world *watched) {
    test_allocator_init(&watched->allocator);
    watched->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&watched->allocator)});
    assert_non_null(watched->world);
    mica_register(watched->world, Health);
    mica_register(watched->world, Position);
    mica_register(watched->world, Wide);
    mica_register(watched->world, Target);
    mica_register(watched->world, Frozen);
    mica_register(watched->world, Armour);
    mica_register(watched->world, Owned);
}

static inline void watched_end(watched_world *watched) {
    mica_world_destroy(watched->world);
    test_allocator_finish(&watched->allocator);
}

#define assert_entity_equal(A, B) assert_true(mica_entity_equal((A), (B)))
#define assert_null_entity(A) assert_true(mica_entity_is_null(A))
#define assert_valid(WORLD) assert_string_equal(mica_world_validate(WORLD) == MICA_OK ? "" : mica_last_error(), "")
