// Two worlds that are done the same to, one by verbs on many entities and one by verbs on one, and that must not
// differ: entities, values, stamps, rows and positions, and what observers are told.
#pragma once

#include "ledger_world.h"
#include "storages.h"
#include "support/test_random.h"

#include "store/visibility.h"

#include <string.h>

MICA_STRUCT(Health, { int32_t now; });
MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Long, { int32_t number, rest[6]; });
MICA_TAG_WITH(Frozen, (.toggle = true));
MICA_STRUCT_WITH(Speed, (.toggle = true), { int32_t now; });
MICA_STRUCT_WITH(Armour, (.required = {mica_type_of(Health), mica_type_of(Frozen)}), { int32_t now; });
MICA_STRUCT_WITH(Guard, (.required = {mica_type_of(Owned), mica_type_of(Speed)}), { int32_t now; });

enum { TYPE_COUNT = 9, VALUE_SIZE_MAX = 32, BATCH_MAX = 48 };
static mica_type *const types[TYPE_COUNT] = {
    mica_type_of(Health), mica_type_of(Position), mica_type_of(Long), mica_type_of(Frozen), mica_type_of(Speed),
    mica_type_of(Armour), mica_type_of(Owned),    mica_type_of(Sole), mica_type_of(Guard),
};

static inline void place_types(storage_mix mix) {
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        place_type(types[i], mix, i);
    }
}

static inline bool is_owned(const mica_type *type) {
    return type == mica_type_of(Owned) || type == mica_type_of(Sole);
}

// Values for a verb on many, of any of the types. Those that own memory are ended unless they were moved from.
typedef struct batch {
    mica_type *type;
    mica_component component;
    mica_entity entities[BATCH_MAX];
    int32_t numbers[BATCH_MAX];
    int32_t count;
    bool has_values;
    _Alignas(64) uint8_t values[BATCH_MAX * VALUE_SIZE_MAX];
} batch;

static inline size_t size_of(const mica_type *type) {
    return type->size;
}

static inline void write_value(void *value, const mica_type *type, int32_t number, const mica_world *world) {
    if (is_owned(type)) {
        owned_hold(value, number, world);
        return;
    }
    memset(value, 0, size_of(type));
    if (type == mica_type_of(Position)) {
        *(Position *)value = (Position){(float)number, 0, (float)-number};
    } else if (type == mica_type_of(Long)) {
        *(Long *)value = (Long){.number = number, .rest = {[5] = -number}};
    } else {
        memcpy(value, &number, sizeof(number));
    }
}

static inline int32_t read_value(const void *value, const mica_type *type) {
    if (is_owned(type)) {
        const Owned *owned = value;
        assert_ptr_equal(owned->self, owned);
        return *owned->number;
    }
    if (type == mica_type_of(Position)) {
        const Position *position = value;
        assert_true(position->z == -position->x);
        return (int32_t)position->x;
    }
    if (type == mica_type_of(Long)) {
        const Long *long_value = value;
        assert_int_equal(long_value->rest[5], -long_value->number);
        return long_value->number;
    }
    int32_t number = 0;
    memcpy(&number, value, sizeof(number));
    return number;
}

static inline void *value_at(batch *b, int32_t i) {
    return b->values + (size_t)i * size_of(b->type);
}

static inline void make_values(batch *b, const mica_world *world) {
    for (int32_t i = 0; b->has_values && i < b->count; i++) {
        write_value(value_at(b, i), b->type, b->numbers[i], world);
    }
}

static inline void end_values(batch *b, const mica_world *world) {
    for (int32_t i = 0; b->has_values && is_owned(b->type) && i < b->count; i++) {
        owned_drop(value_at(b, i), world);
    }
}

// What observers are told, in their order, as one number.
typedef struct side {
    mica_world *world;
    uint64_t told;
    uint64_t told_count;
} side;

static inline uint64_t mix_number(uint64_t hash, uint64_t number) {
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline mica_type *type_of(const mica_world *world, mica_component component) {
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        if (mica_world_component((mica_world *)(uintptr_t)world, types[i]) == component) {
            return types[i];
        }
    }
    return NULL;
}

static inline void note_signal(const mica_signal *signal) {
    side *told = signal->user;
    told->told = mix_number(told->told, (uint64_t)signal->kind);
    told->told = mix_number(told->told, signal->entity.bits);
    told->told = mix_number(told->told, signal->component);
    if (signal->value != NULL) {
        told->told =
            mix_number(told->told, (uint64_t)read_value(signal->value, type_of(signal->world, signal->component)));
    }
    told->told_count++;
}

static inline void side_begin(side *s, test_allocator *allocator) {
    *s = (side){.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(allocator)})};
    assert_non_null(s->world);
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        assert_int_not_equal(mica_world_register(s->world, types[i]), 0);
    }
}

static inline void connect(side *s, mica_signal_kind kind, mica_type *type) {
    const mica_observer_def def = {.on = kind, .type = type, .call = note_signal, .user = s};
    assert_int_not_equal(mica_observer_connect(s->world, &def).id, 0);
}

// Where an entity stands, and when its value of a component was written: numbers that are the same in both worlds.
static inline uint64_t place_of(const mica_world *world, mica_entity entity, mica_component component) {
    const mi_store *store = &world->store;
    const mi_pool *pool = mi_store_find_pool(store, component);
    if (pool != NULL) {
        const uint32_t position = mi_pool_find(pool, entity);
        return mix_number(position, pool->size == 0 ? 0 : pool->stamps[position >> pool->page_shift]);
    }
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    const mi_table *table = mi_store_table_at(store, location);
    uint32_t chunk = 0;
    while (table->chunk_ids[chunk] != location >> MI_ROW_BITS) {
        chunk++;
    }
    uint8_t *base = mi_store_base(store, location);
    uint64_t stamps = mi_column_head_of(base)->stamp;
    if (mi_table_has_data(table, component)) {
        stamps = mix_number(stamps, mi_column_head_of(mi_table_any_column(table, base, component))->stamp);
    }
    return mix_number(mix_number((uint64_t)chunk << table->shift | mi_row_of(location), table->row_count), stamps);
}

static inline void assert_same_component(const side *a, const side *b, mica_entity entity, mica_type *type) {
    const mica_component component = mica_world_component(a->world, type);
    const bool is_there = mica_entity_has(a->world, entity, component);
    assert_int_equal(is_there, mica_entity_has(b->world, entity, component));
    if (!is_there) {
        return;
    }
    assert_int_equal(mica_entity_component_enabled(a->world, entity, component),
                     mica_entity_component_enabled(b->world, entity, component));
    assert_int_equal(place_of(a->world, entity, component), place_of(b->world, entity, component));
    if (size_of(type) > 0) {
        assert_int_equal(read_value(mica_entity_get(a->world, entity, component), type),
                         read_value(mica_entity_get(b->world, entity, component), type));
    }
}

// That two worlds do not differ in any of these entities, and that both are sound.
static inline void assert_same(const side *a, const side *b, const mica_entity *entities, uint32_t count) {
    ledger_check();
    check(a->world);
    check(b->world);
    assert_int_equal(mica_world_entity_count(a->world), mica_world_entity_count(b->world));
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(mica_entity_alive(a->world, entities[i]), mica_entity_alive(b->world, entities[i]));
        for (uint32_t k = 0; mica_entity_alive(a->world, entities[i]) && k < TYPE_COUNT; k++) {
            assert_same_component(a, b, entities[i], types[k]);
        }
    }
    assert_int_equal(a->told_count, b->told_count);
    assert_int_equal(a->told, b->told);
}
