/// \file entity.h
/// The handle of an entity.
///
/// The low `MICA_INDEX_BITS` bits are the index of the entity's slot, the rest is the slot's generation. All bits zero
/// is null. A slot's generation grows each time its entity is destroyed; the highest generation is never issued:
/// handles that carry it are placeholders of a command buffer. A slot that has issued all its generations is retired.
#pragma once

#include <mica/config.h>

MICA_BEGIN

/// The bits of a handle: the index in the low ones, the generation above.
#if MICA_ENTITY_BITS == 64
typedef uint64_t mica_entity_bits;
#else
typedef uint32_t mica_entity_bits;
#endif

/// A handle, trivially copyable, of a type of its own so that no loose number converts to it.
typedef struct mica_entity {
    mica_entity_bits bits;
} mica_entity;

/// The handle that names nobody: all bits zero.
#ifdef __cplusplus
#define MICA_NULL (mica_entity{0})
#else
#define MICA_NULL ((mica_entity){0})
#endif

/// The highest generation a handle can carry; reserved for placeholders, never issued.
#define MICA_GENERATION_MAX ((uint32_t)((mica_entity_bits)(~(mica_entity_bits)0) >> MICA_INDEX_BITS))
/// The highest index a world can hand out.
#define MICA_INDEX_MAX \
    ((uint32_t)(MICA_ENTITY_BITS == 64 ? 0x7ffffffeu : ((UINT32_C(1) << (MICA_INDEX_BITS & 31)) - 1u)))

/// The index of the slot a handle names. O(1), any thread.
static inline uint32_t mica_entity_index(mica_entity entity) {
    return (uint32_t)(entity.bits & (((mica_entity_bits)1 << MICA_INDEX_BITS) - 1u));
}

/// The generation a handle carries. O(1), any thread.
static inline uint32_t mica_entity_generation(mica_entity entity) {
    return (uint32_t)(entity.bits >> MICA_INDEX_BITS);
}

/// The handle of `index` and `generation`, each cut to its width; for loaders and tests. O(1), any thread.
static inline mica_entity mica_entity_make(uint32_t index, uint32_t generation) {
    mica_entity entity;
    entity.bits = (mica_entity_bits)(((mica_entity_bits)generation << MICA_INDEX_BITS) |
                                     ((mica_entity_bits)index & (((mica_entity_bits)1 << MICA_INDEX_BITS) - 1u)));
    return entity;
}

/// Whether two handles are the same. O(1), any thread.
static inline bool mica_entity_equal(mica_entity a, mica_entity b) {
    return a.bits == b.bits;
}

/// Whether a handle is null. O(1), any thread.
static inline bool mica_entity_is_null(mica_entity entity) {
    return entity.bits == 0;
}

/// Whether a handle is a command buffer's placeholder, to be replaced when the buffer is applied. O(1), any thread.
static inline bool mica_entity_is_placeholder(mica_entity entity) {
    return mica_entity_generation(entity) == MICA_GENERATION_MAX;
}

MICA_END
