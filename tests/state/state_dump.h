// All that a world's store holds, as bytes that are equal for equal states: for tests of exact copies.
//
// Values of types that destruct are taken for a pointer to an int32_t that the value owns (test_owned.h).
#pragma once

#include "store/visibility.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct state_dump {
    uint8_t *bytes;
    size_t byte_size, capacity;
} state_dump;

static inline void dump_bytes(state_dump *dump, const void *bytes, size_t byte_size) {
    if (dump->byte_size + byte_size > dump->capacity) {
        dump->capacity = (dump->byte_size + byte_size) * 2;
        dump->bytes = realloc(dump->bytes, dump->capacity);
        assert_non_null(dump->bytes);
    }
    if (byte_size > 0) {
        memcpy(dump->bytes + dump->byte_size, bytes, byte_size);
        dump->byte_size += byte_size;
    }
}

static inline void dump_number(state_dump *dump, uint64_t number) {
    dump_bytes(dump, &number, sizeof(number));
}

static inline void dump_value(state_dump *dump, const mi_type *type, const void *value) {
    if (type->has_destruct) {
        const int32_t *owned;
        memcpy(&owned, value, sizeof(owned));
        dump_number(dump, owned == NULL ? UINT64_MAX : (uint64_t)*owned);
    } else {
        dump_bytes(dump, value, type->info.size);
    }
}

static inline void dump_table(state_dump *dump, const mi_store *store, const mi_table *table) {
    dump_number(dump, table->row_count);
    dump_bytes(dump, table->components, table->component_count * sizeof(mica_component));
    for (uint32_t row = 0; row < table->row_count; row++) {
        const uint32_t location = mi_store_location(table, row);
        uint8_t *base = mi_store_base(store, location);
        dump_bytes(dump, base + mi_row_of(location) * sizeof(mica_entity), sizeof(mica_entity));
        for (uint32_t i = 0; i < table->column_count; i++) {
            const mi_type *type = table->columns[i].type;
            mi_lanes_value aside = {.bytes = {0}}; // lanes have no padding
            dump_value(dump, type, mi_store_look(store, table, location, type->info.id, &aside));
            if ((row & table->row_mask) == 0) {
                dump_number(dump, mi_column_version(base + table->columns[i].offset));
            }
        }
    }
}

static inline void dump_pool(state_dump *dump, const mi_pool *pool) {
    dump_bytes(dump, pool->type->info.name, strlen(pool->type->info.name));
    dump_number(dump, pool->count);
    dump_number(dump, pool->dead_count);
    dump_number(dump, pool->dead_head);
    for (uint32_t position = 0; position < pool->count; position++) {
        dump_bytes(dump, &pool->entities[position], sizeof(mica_entity));
        if (pool->size > 0 && mi_pool_is_live(pool, position)) {
            dump_value(dump, pool->type, mi_pool_value(pool, position));
            dump_number(dump, mi_pool_version(pool, position));
        }
    }
}

static inline void dump_marks(state_dump *dump, const mi_marks *marks) {
    dump_number(dump, marks->count);
    for (uint32_t index = mi_marks_next(marks, 0); index != UINT32_MAX; index = mi_marks_next(marks, index + 1)) {
        dump_number(dump, index);
    }
}

static inline void dump_slots(state_dump *dump, mi_slots *slots) {
    mi_slots_settle(slots);
    const uint32_t used = slots->used == 0 ? 1 : slots->used;
    dump_number(dump, used);
    dump_number(dump, slots->alive);
    dump_number(dump, slots->retired);
    dump_number(dump, slots->issued);
    dump_number(dump, slots->last_count);
    dump_number(dump, slots->free_head);
    for (uint32_t index = 1; index < used; index++) {
        const uint64_t slot = slots->data[index];
        dump_number(dump, (slot & MI_SLOT_FREE) != 0 ? slot : slot >> 32);
    }
}

// The world must be valid.
static inline state_dump dump_world(mica_world *world) {
    state_dump dump = {0};
    mi_store *store = &world->store;
    assert_null(mica_world_validate(world));
    dump_number(&dump, store->version);
    dump_slots(&dump, &store->slots);
    assert_true(mi_store_order(store));
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        if (store->ordered.data[i]->row_count > 0) {
            dump_table(&dump, store, store->ordered.data[i]);
        }
    }
    for (uint32_t id = 1; id <= (uint32_t)mica_schema_count(world->schema); id++) {
        const mi_pool *pool = mi_store_find_pool(store, (mica_component)id);
        if (pool != NULL && pool->count > 0) {
            dump_pool(&dump, pool);
        }
        if (id < store->toggled.count && store->toggled.data[id].count > 0) {
            dump_marks(&dump, &store->toggled.data[id]);
        }
    }
    dump_marks(&dump, &store->disabled);
    dump_marks(&dump, &store->killed);
    return dump;
}

static inline void dump_free(state_dump *dump) {
    free(dump->bytes);
    *dump = (state_dump){0};
}

static inline void assert_dumps_equal(const state_dump *a, const state_dump *b) {
    assert_int_equal(a->byte_size, b->byte_size);
    assert_memory_equal(a->bytes, b->bytes, a->byte_size);
}
