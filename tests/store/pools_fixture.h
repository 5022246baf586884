// A store with pools of every kind, whose values say whose they are.
#pragma once

#include "store/pools.h"
#include "store/visibility.h"

#include "support/test_heap.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// A value of every pool with data begins with this; `self` is its address in pools with hooks.
typedef struct pool_value {
    mica_entity entity;
    const void *self;
} pool_value;

enum {
    KIND_PACKED,
    KIND_OTHER_PACKED,
    KIND_PAGED,
    KIND_STABLE,
    KIND_TAG,
    KIND_OTHER_TAG,
    KIND_HOOKS,
    KIND_COUNT,
};

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_schema *schema;
    mi_store store;
    const mi_type *types[KIND_COUNT];
    mi_pool *pools[KIND_COUNT];
} fixture;

static int64_t hooked_live_count; // values that hooks made and did not end

static void hooked_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    pool_value *value = values;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(value[i].self, &value[i]);
        value[i].self = NULL;
        hooked_live_count--;
    }
}

static void hooked_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    pool_value *target = to;
    pool_value *source = from;
    for (int32_t i = 0; i < count; i++) {
        assert_ptr_equal(source[i].self, &source[i]);
        target[i] = (pool_value){.entity = source[i].entity, .self = &target[i]};
        source[i].self = NULL;
    }
}

static const mi_type *add_type(fixture *f, const char *name, uint32_t size, mica_traits traits) {
    traits.storage = MICA_POOL;
    mica_type type = {.name = name,
                      .size = size,
                      .align = size == 0 ? 0 : 8,
                      .kind = size == 0 ? MICA_KIND_TAG : MICA_KIND_STRUCT,
                      .traits = traits};
    const mica_component component = mica_schema_register(f->schema, &type);
    assert_int_not_equal(component, 0);
    return mi_schema_type(f->schema, component);
}

static void begin(fixture *f) {
    hooked_live_count = 0;
    test_heap_begin(&f->allocator, &f->heap);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    const mica_hooks counted = {.destruct = hooked_destruct, .move = hooked_move};
    f->types[KIND_PACKED] = add_type(f, "Packed", 16, (mica_traits){.toggle = true});
    f->types[KIND_OTHER_PACKED] = add_type(f, "OtherPacked", 24, (mica_traits){.layout = MICA_PACKED});
    f->types[KIND_PAGED] = add_type(f, "Paged", 64, (mica_traits){.layout = MICA_PAGED, .page_size = 4});
    f->types[KIND_STABLE] = add_type(f, "Stable", 16, (mica_traits){.stable = true, .page_size = 4});
    f->types[KIND_TAG] = add_type(f, "Tag", 0, (mica_traits){.transient = false});
    f->types[KIND_OTHER_TAG] = add_type(f, "OtherTag", 0, (mica_traits){.transient = false});
    f->types[KIND_HOOKS] = add_type(f, "Hooks", 16, (mica_traits){.layout = MICA_PACKED, .hooks = counted});
    assert_true(mi_store_init(&f->store, &f->heap, f->schema));
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        f->pools[i] = mi_store_pool(&f->store, f->types[i]);
        assert_non_null(f->pools[i]);
    }
}

#define assert_pools_valid(F) assert_ptr_equal(mi_store_validate_pools(&(F)->store), NULL)

static void end(fixture *f) {
    assert_pools_valid(f);
    mi_store_free(&f->store);
    assert_int_equal(hooked_live_count, 0);
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
}

static mica_entity create(fixture *f) {
    assert_int_equal(mi_slots_reserve(&f->store.slots, &f->heap, 1), MICA_OK);
    return mi_slots_take(&f->store.slots, 0);
}

static void make_value(fixture *f, mi_pool *pool, uint32_t position, mica_entity entity) {
    if (pool->size != 0) {
        pool_value *value = mi_pool_value(pool, position);
        *value = (pool_value){.entity = entity, .self = value};
        hooked_live_count += pool == f->pools[KIND_HOOKS];
    }
}

// False: out of memory.
static MICA_UNUSED bool try_add(fixture *f, mi_pool *pool, mica_entity entity) {
    mi_pool_moved moved;
    if (!mi_store_open_element(&f->store, pool, mica_entity_index(entity), &moved)) {
        return false;
    }
    make_value(f, pool, mi_pool_next(pool), entity);
    mi_store_publish_element(&f->store, pool, entity);
    return true;
}

static MICA_UNUSED void add(fixture *f, uint32_t kind, mica_entity entity) {
    assert_true(try_add(f, f->pools[kind], entity));
}

static MICA_UNUSED void remove_from(fixture *f, uint32_t kind, mica_entity entity) {
    mi_store_remove_element(&f->store, f->pools[kind], entity);
}

static MICA_UNUSED bool has(const fixture *f, uint32_t kind, mica_entity entity) {
    return mi_pool_has(f->pools[kind], entity);
}

static MICA_UNUSED void destroy(fixture *f, mica_entity entity) {
    mi_store_remove_elements(&f->store, entity);
    mi_slots_give(&f->store.slots, mica_entity_index(entity));
}

// Every value is that of its entity.
static MICA_UNUSED void check_values(const fixture *f) {
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const mi_pool *pool = f->pools[i];
        for (uint32_t position = 0; pool->size != 0 && position < pool->count; position++) {
            if (mi_pool_is_live(pool, position)) {
                const pool_value *value = mi_pool_value(pool, position);
                assert_true(mica_entity_equal(value->entity, pool->entities[position]));
            }
        }
    }
}
