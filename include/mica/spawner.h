/// \file spawner.h
/// Spawning one set of components again and again.
///
/// Every `mica_spawn` finds out where its components lead, which a world remembers for the sets spawned last. A spawner
/// keeps that by itself: made once, say for the bullets of a game, it leads straight to the table. It is a plain value
/// that owns nothing; copy it, keep it where it is handy, let it go when the world does.
#pragma once

#include <mica/world.h>

#include <stddef.h>
#include <string.h>

MICA_BEGIN

/// A set of components to be spawned. Made by `mica_spawner_make`; its members are the library's.
typedef struct mica_spawner {
    mica_world *world;
    mica_type *types[MICA_SPAWN_VALUE_MAX];
    struct mica_spawn_plan plan;
    int32_t count;
} mica_spawner;

/// A spawner of `count` types, up to `MICA_SPAWN_VALUE_MAX`, of which none is named twice; they are registered if they
/// are new, and their table and pools made. On failure its spawns are refused: `MICA_INVALID` (no types, too many, or
/// no world), `MICA_EXISTS` (one named twice), `MICA_LOCKED`, `MICA_LIMIT`, `MICA_OUT_OF_MEMORY`, or as
/// `mica_schema_register`. A type that owns something, is a relation, or brings others along is spawned as by
/// `mica_spawn`, no faster. O(count).
MICA_API mica_spawner mica_spawner_make(mica_world *world, mica_type *const *types, int32_t count);

/// Makes an entity as `mica_entity_spawn`, with values of the spawner's types in the spawner's order. Null on failure:
/// `MICA_INVALID` (a value of another type, or fewer or more values), and as `mica_entity_spawn`. O(count).
static inline mica_entity mica_spawner_spawn(mica_spawner *spawner, const mica_value *values, int32_t count);

/// \cond internal: spawning where nothing is out of the ordinary, which is done in line.

// Does something for each value by its number. The loop is written out, so that all is folded where the count and the
// sizes are constant.
#define MICA_EACH_VALUE_(COUNT, DO) \
    do {                            \
        if ((COUNT) > 0) {          \
            DO(0);                  \
        }                           \
        if ((COUNT) > 1) {          \
            DO(1);                  \
        }                           \
        if ((COUNT) > 2) {          \
            DO(2);                  \
        }                           \
        if ((COUNT) > 3) {          \
            DO(3);                  \
        }                           \
        if ((COUNT) > 4) {          \
            DO(4);                  \
        }                           \
        if ((COUNT) > 5) {          \
            DO(5);                  \
        }                           \
        if ((COUNT) > 6) {          \
            DO(6);                  \
        }                           \
        if ((COUNT) > 7) {          \
            DO(7);                  \
        }                           \
    } while (0)

// The count and the sizes of values in one word, a byte each; 0: one has no place in it.
static inline uint64_t mica_spawn_shape(const mica_value *values, int32_t count) {
    uint64_t shape = 0;
    bool has_place = true;
#define MICA_SHAPE_(I)                                          \
    shape |= (uint64_t)(values[I].byte_size + 1u) << (8 * (I)); \
    has_place = has_place && values[I].byte_size < 255
    MICA_EACH_VALUE_(count, MICA_SHAPE_);
#undef MICA_SHAPE_
    return has_place ? shape : 0;
}

// Whether a plan leads to where these values belong, and nothing stands in the way.
static inline bool mica_plan_fits(const struct mica_front *front, const struct mica_head *head,
                                  const struct mica_spawn_plan *plan, const mica_value *values, int32_t count) {
    const uint64_t shape = mica_spawn_shape(values, count);
    uint64_t hindrance = 0;
    memcpy(&hindrance, &front->walk_count, sizeof(hindrance)); // with all flags
    bool fits = shape != 0 && plan->shape == shape && plan->tables_dropped == head->tables_dropped && hindrance == 0 &&
                front->callback == NULL;
#define MICA_FIT_(I) fits = fits && (values[I].byte_size == 0) == (values[I].value == NULL)
    MICA_EACH_VALUE_(count, MICA_FIT_);
#undef MICA_FIT_
    return fits;
}

// Small values of constant size are handed to the library as copies: then those of the caller need not stand in memory
// at all where everything is done in line.
#define MICA_SPAWN_COPY_MAX 16u
struct mica_spawn_copies {
    mica_value values[MICA_SPAWN_VALUE_MAX];
    union {
        max_align_t align;
        uint8_t bytes[MICA_SPAWN_COPY_MAX];
    } bytes[MICA_SPAWN_VALUE_MAX];
};
static inline const mica_value *mica_spawn_copy(struct mica_spawn_copies *copies, const mica_value *values,
                                                int32_t count) {
#if defined(__GNUC__)
    if (__builtin_constant_p(count) && count <= MICA_SPAWN_VALUE_MAX && values != NULL) {
#define MICA_COPY_(I)                                                            \
    copies->values[I] = values[I];                                               \
    if (__builtin_constant_p(values[I].byte_size) && values[I].byte_size != 0 && \
        values[I].byte_size <= MICA_SPAWN_COPY_MAX && values[I].value != NULL) { \
        memcpy(copies->bytes[I].bytes, values[I].value, values[I].byte_size);    \
        copies->values[I].value = copies->bytes[I].bytes;                        \
    }
        MICA_EACH_VALUE_(count, MICA_COPY_);
#undef MICA_COPY_
        return copies->values;
    }
#endif
    (void)copies;
    (void)count;
    return values;
}

// Makes an entity by a plan that fits; null if there is no room for its slot or its row yet.
static inline mica_entity mica_plan_spawn(struct mica_head *head, const struct mica_spawn_plan *plan,
                                          const mica_value *values, int32_t count) {
    struct mica_head_table *table = plan->table;
    const uint32_t number = table->row_count;
    const uint32_t row = number - table->tail_first;
    if (MICA_UNLIKELY(row > table->row_mask || number >= table->room)) {
        return MICA_NULL; // in a chunk in which no row has come or gone lately, or in none
    }
    uint32_t index = head->slot_free;
    uint64_t generation = 0; // in the high half
    if (MICA_LIKELY(index != 0)) {
        const uint64_t slot = head->slots[index];
        const uint32_t next_free = (uint32_t)slot & 0x7fffffffu;
        if (MICA_UNLIKELY(next_free == 0 && head->slot_count < head->slot_capacity)) {
            return MICA_NULL; // others have to be made ready first
        }
        generation = slot & ~(uint64_t)UINT32_MAX;
        head->slot_free = next_free;
    } else {
        index = head->slot_used;
        if (MICA_UNLIKELY(index >= head->slot_capacity || head->slot_count < head->slot_capacity)) {
            return MICA_NULL;
        }
        head->slot_used = index + 1;
    }
    uint8_t *base = table->tail_base;
    const uint64_t version = head->version;
    const uint16_t *offset_of = mica_head_offsets_of(table);
    size_t offsets[MICA_SPAWN_VALUE_MAX] = {0}; // found before anything is written: it might be anything
#define MICA_OFFSET_(I) offsets[I] = (size_t)offset_of[(mica_component)plan->words[I]] * MICA_HEAD_COLUMN_ALIGN
    MICA_EACH_VALUE_(count, MICA_OFFSET_);
#undef MICA_OFFSET_
#define MICA_PLACE_(I)                                                                            \
    if (values[I].byte_size != 0) {                                                               \
        uint8_t *column = base + offsets[I];                                                      \
        memcpy(column + (size_t)row * values[I].byte_size, values[I].value, values[I].byte_size); \
        mica_column_stamp(column, version);                                                       \
    }
    MICA_EACH_VALUE_(count, MICA_PLACE_);
#undef MICA_PLACE_
    head->slots[index] = generation | table->tail_location | row;
    head->slot_alive++;
    head->slot_issued++;
    const mica_entity entity = mica_entity_make(index, (uint32_t)(generation >> 32));
    ((mica_entity *)(void *)base)[row] = entity;
    mica_column_stamp(base, version);
    table->row_count = number + 1;
    return entity;
}

/// Spawns as `mica_spawner_spawn` where that is not done in line.
MICA_API mica_entity mica_spawner_spawn_apart(mica_spawner *spawner, const mica_value *values, int32_t count);
/// \endcond

static inline mica_entity mica_spawner_spawn(mica_spawner *spawner, const mica_value *values, int32_t count) {
    mica_world *world = spawner != NULL ? spawner->world : NULL;
    if (MICA_LIKELY(world != NULL && values != NULL && count <= MICA_SPAWN_VALUE_MAX)) {
        bool fits = true;
#define MICA_FIT_(I) fits = fits && spawner->types[I] == values[I].type
        MICA_EACH_VALUE_(count, MICA_FIT_);
#undef MICA_FIT_
        struct mica_head *head = mica_head_of_mutable(world);
        if (MICA_LIKELY(fits && mica_plan_fits(mica_front_of(world), head, &spawner->plan, values, count))) {
            const mica_entity entity = mica_plan_spawn(head, &spawner->plan, values, count);
            if (MICA_LIKELY(!mica_entity_is_null(entity))) {
                return entity;
            }
        }
    }
    struct mica_spawn_copies copies;
    return mica_spawner_spawn_apart(spawner, mica_spawn_copy(&copies, values, count), count);
}

/// \cond internal
static inline uint32_t mica_spawn_hash(uint32_t hash, uint64_t word) {
    return (hash ^ (uint32_t)word) * 0x9e3779b1u;
}
// What a descriptor's cache says; 0, which no plan has: there is none, the value is given by component.
static inline uint64_t mica_spawn_word(const mica_type *type) {
#if defined(__GNUC__)
    return type != NULL ? __atomic_load_n(&type->cache, __ATOMIC_RELAXED) : 0;
#else
    (void)type;
    return 0;
#endif
}
static inline bool mica_plan_has(const struct mica_spawn_plan *plan, const uint64_t *words, int32_t count) {
    bool has = true;
#define MICA_HAS_(I) has = has && plan->words[I] == words[I]
    MICA_EACH_VALUE_(count, MICA_HAS_);
#undef MICA_HAS_
    return has;
}
// `mica_entity_spawn` of values given by type, in line where a plan is at hand: the one that was used last, whose
// address waits for nothing, or the one that these words hash to.
static inline mica_entity mica_world_spawn(mica_world *world, const mica_value *values, int32_t count) {
    if (MICA_LIKELY(world != NULL && count <= MICA_SPAWN_VALUE_MAX)) {
        uint64_t words[MICA_SPAWN_VALUE_MAX] = {0};
#define MICA_WORD_(I) words[I] = mica_spawn_word(values[I].type)
        MICA_EACH_VALUE_(count, MICA_WORD_);
#undef MICA_WORD_
        struct mica_front *front = mica_front_of(world);
        const struct mica_spawn_plan *plan = &front->spawn_plans[front->spawn_last];
        bool has = mica_plan_has(plan, words, count);
        if (MICA_UNLIKELY(!has)) {
            uint32_t hash = 0;
#define MICA_HASH_(I) hash = mica_spawn_hash(hash, words[I])
            MICA_EACH_VALUE_(count, MICA_HASH_);
#undef MICA_HASH_
            front->spawn_last = hash >> (32 - MICA_SPAWN_PLAN_SHIFT);
            plan = &front->spawn_plans[front->spawn_last];
            has = mica_plan_has(plan, words, count);
        }
        struct mica_head *head = mica_head_of_mutable(world);
        if (MICA_LIKELY(has && mica_plan_fits(front, head, plan, values, count))) {
            const mica_entity entity = mica_plan_spawn(head, plan, values, count);
            if (MICA_LIKELY(!mica_entity_is_null(entity))) {
                return entity;
            }
        }
    }
    struct mica_spawn_copies copies;
    return mica_entity_spawn(world, mica_spawn_copy(&copies, values, count), count);
}
/// \endcond

MICA_END
