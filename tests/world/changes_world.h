// What tests of queries for changes share: types in every mix of storages, and who is reported.
#pragma once

#include "storages.h"
#include "world_fixture.h"

MICA_STRUCT(Plain, { int32_t number; });
MICA_STRUCT_WITH(Exact, (.track_rows = true), { int32_t number; });
MICA_STRUCT(Other, { int32_t number; });
MICA_STRUCT_WITH(Loose, (.always_dirty = true), { int32_t number; });
MICA_TAG(Sign);
MICA_STRUCT_WITH(Lamp, (.track_rows = true, .toggle = true), { int32_t watts; });

enum { ENTITY_MAX = 20000 };

typedef struct found {
    int32_t count;
    mica_entity entities[ENTITY_MAX];
} found;

// Runs a case with its types in every mix of storages.
static inline void in_every_storage(void (*run)(mica_world *world)) {
    for (storage_mix mix = 0; mix < MIX_COUNT; mix++) {
        watched_world w;
        watched_begin(&w);
        place_type(mica_type_of(Plain), mix, 1);
        place_type(mica_type_of(Exact), mix, 2);
        place_type(mica_type_of(Other), mix, 3);
        place_type(mica_type_of(Loose), mix, 4);
        place_type(mica_type_of(Sign), mix, 5);
        place_type(mica_type_of(Lamp), mix, 6);
        run(w.world);
        assert_valid(w.world);
        watched_end(&w);
    }
}

static inline const found *ask(mica_query *query, uint64_t since) {
    static found all;
    all.count = 0;
    assert_non_null(query);
    mica_error_clear();
    mica_each_since(query, since, it) {
        for (int32_t i = 0; i < it.count; i++) {
            assert_true(all.count < ENTITY_MAX);
            all.entities[all.count++] = it.entities[i];
        }
    }
    assert_string_equal(mica_last_error(), "");
    return &all;
}

static inline bool has(const found *all, mica_entity entity) {
    for (int32_t i = 0; i < all->count; i++) {
        if (mica_entity_equal(all->entities[i], entity)) {
            return true;
        }
    }
    return false;
}

#define CHANGED(WORLD, T) mica_query_of((WORLD), mica_changed(T))
#define ADDED(WORLD, T) mica_query_of((WORLD), mica_added(T))
#define REMOVED(WORLD, T) mica_query_of((WORLD), mica_removed(T))
#define assert_only(QUERY, SINCE, ENTITY)                 \
    do {                                                  \
        const found *only = ask((QUERY), (SINCE));        \
        assert_int_equal(only->count, 1);                 \
        assert_entity_equal(only->entities[0], (ENTITY)); \
    } while (0)
#define assert_nobody(QUERY, SINCE) assert_int_equal(ask((QUERY), (SINCE))->count, 0)

// Ten entities with both components, of which the fifth is returned.
static inline mica_entity spawn_ten(mica_world *world) {
    mica_entity fifth = MICA_NULL;
    for (int32_t i = 0; i < 10; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Plain, {i}), mica_value_of(Exact, {i}));
        fifth = i == 4 ? entity : fifth;
    }
    return fifth;
}

// Runs a case in every mix of storages, as a test of its own.
#define EVERY_STORAGE(CASE)                   \
    static void CASE##_everywhere(void **s) { \
        (void)s;                              \
        in_every_storage(CASE);               \
    }
#define TEST_OF(CASE) cmocka_unit_test(CASE##_everywhere),
