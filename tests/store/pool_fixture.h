// A pool of any kind by itself, whose entities and values are made out of small numbers.
#pragma once

#include "store/pool.h"
#include "support/test_allocator.h"
#include "world/ledger.h"

#define PAGE_SIZE 4u // values a page of the paged pools here

// Kinds of pools

typedef struct pool_kind {
    const char *name;
    mica_component_info info;
    bool is_hooked; // values are Owned; else numbers
} pool_kind;

#define OWNED_HOOKS \
    { .construct = owned_construct, .destruct = owned_destruct, .move = owned_move, .copy = owned_copy }
#define NUMBER .size = sizeof(int32_t), .align = _Alignof(int32_t)
#define OWNED .size = sizeof(Owned), .align = _Alignof(Owned), .hooks = OWNED_HOOKS

static const pool_kind kinds[] = {
    {.name = "tag", .info = {.kind = MICA_KIND_TAG}},
    {.name = "stable tag", .info = {.kind = MICA_KIND_TAG, .stable = true}},
    {.name = "packed", .info = {NUMBER, .layout = MICA_PACKED}},
    {.name = "paged", .info = {NUMBER, .layout = MICA_PAGED, .page_size = PAGE_SIZE}},
    {.name = "stable", .info = {NUMBER, .layout = MICA_PAGED, .page_size = PAGE_SIZE, .stable = true}},
    {.name = "page of one", .info = {NUMBER, .layout = MICA_PAGED, .page_size = 1}},
    {.name = "packed, hooks", .info = {OWNED, .layout = MICA_PACKED}, .is_hooked = true},
    {.name = "paged, hooks", .info = {OWNED, .layout = MICA_PAGED, .page_size = PAGE_SIZE}, .is_hooked = true},
    {.name = "stable, hooks",
     .info = {OWNED, .layout = MICA_PAGED, .page_size = PAGE_SIZE, .stable = true},
     .is_hooked = true},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
#define PACKED (&kinds[2])
#define PAGED (&kinds[3])
#define STABLE (&kinds[4])

// Fixture

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_allocator values;
    mi_type type;
    mi_pool *pool;
    uint64_t version;
    bool is_hooked;
    _Alignas(max_align_t) uint8_t spare[sizeof(Owned)];
} fixture;

static MICA_UNUSED void begin(fixture *f, const pool_kind *kind) {
    *f = (fixture){.type = {.info = kind->info}, .version = 1, .is_hooked = kind->is_hooked};
    ledger_start();
    test_allocator_init(&f->allocator);
    f->values = test_allocator_hooks(&f->allocator);
    assert_true(mi_heap_init(&f->heap, &f->values));
    f->pool = mi_pool_create(&f->heap, NULL, &f->type, 3);
    assert_non_null(f->pool);
    assert_int_equal(f->pool->index, 3);
}

static MICA_UNUSED void assert_valid(const fixture *f) {
    const char *fault = mi_pool_validate(f->pool);
    if (fault != NULL) {
        fail_msg("%s", fault);
    }
    assert_int_equal(mi_pool_byte_size(f->pool), f->heap.bytes[MICA_MEMORY_POOLS]);
    ledger_check();
}

static MICA_UNUSED void end(fixture *f) {
    assert_valid(f);
    mi_pool_destroy(f->pool, &f->heap, &f->values);
    assert_int_equal(f->heap.bytes[MICA_MEMORY_POOLS], 0);
    ledger_finish();
    test_allocator_finish(&f->allocator);
}

// An entity of the model: indices far apart, so that pages of `sparse` come and go.
static MICA_UNUSED mica_entity entity_of(uint32_t number) {
    return mica_entity_make(number * 601 + 1, number % 7);
}

static MICA_UNUSED int32_t number_at(const fixture *f, uint32_t position) {
    const void *value = mi_pool_value(f->pool, position);
    if (!f->is_hooked) {
        int32_t number = 0;
        memcpy(&number, value, sizeof(number));
        return number;
    }
    const Owned *owned = value;
    assert_ptr_equal(owned->self, owned);
    return *owned->number;
}

static MICA_UNUSED bool make_value(fixture *f, uint32_t position, int32_t number) {
    if (f->pool->size == 0) {
        return true;
    }
    if (!f->is_hooked) {
        memcpy(mi_pool_value(f->pool, position), &number, sizeof(number));
        return true;
    }
    const mica_hook_context context = {.allocator = &f->values};
    return owned_make(mi_pool_value(f->pool, position), number, &context);
}

static MICA_UNUSED bool try_put(fixture *f, mica_entity entity, int32_t number) {
    const uint32_t index = mica_entity_index(entity);
    mi_pool_moved moved;
    if (!mi_pool_open_index(f->pool, &f->heap, index)) {
        return false;
    }
    if ((!mi_pool_has_room(f->pool) && !mi_pool_reserve(f->pool, &f->heap, &f->values, 1, &moved)) ||
        !make_value(f, mi_pool_next(f->pool), number)) {
        mi_pool_close_index(f->pool, &f->heap, index);
        return false;
    }
    mi_pool_publish(f->pool, entity, f->version);
    return true;
}

static MICA_UNUSED void put(fixture *f, mica_entity entity, int32_t number) {
    assert_true(try_put(f, entity, number));
}

// Entities 0 to `count` with their numbers as values.
static MICA_UNUSED void fill(fixture *f, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        put(f, entity_of(i), (int32_t)i);
    }
}

static MICA_UNUSED void take(fixture *f, mica_entity entity) {
    const uint32_t position = mi_pool_find(f->pool, entity);
    assert_int_not_equal(position, MI_POSITION_NONE);
    if (f->pool->size != 0) {
        mi_value_destruct(&f->type, &f->values, mi_pool_value(f->pool, position), 1);
    }
    mi_pool_take_out(f->pool, &f->heap, &f->values, position);
}

// The elements are entities with these numbers, in this order, with their values; -1: a tombstone.
static MICA_UNUSED void assert_order(const fixture *f, const int32_t *numbers, uint32_t count) {
    assert_valid(f);
    assert_int_equal(f->pool->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(mi_pool_is_live(f->pool, i), numbers[i] >= 0);
        if (numbers[i] >= 0) {
            assert_true(mica_entity_equal(f->pool->entities[i], entity_of((uint32_t)numbers[i])));
            assert_int_equal(mi_pool_find(f->pool, entity_of((uint32_t)numbers[i])), i);
            if (f->pool->size != 0) {
                assert_int_equal(number_at(f, i), numbers[i]);
            }
        }
    }
}
#define ASSERT_ORDER(F, ...)                          \
    assert_order((F), (const int32_t[]){__VA_ARGS__}, \
                 (uint32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))
