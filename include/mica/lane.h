/// \file lane.h
/// Lanes: components whose fields lie apart, an array a field, for loops that the compiler makes full use of vectors
/// in.
///
/// ```c
/// MICA_STRUCT_WITH(Position, (.layout = MICA_LANES), { float x, y, z; });
/// ...
/// float *x = mica_lane(it, Position, x);
/// const float *speed = mica_lane_read(it, Velocity, x);
/// for (int32_t i = 0; i < it.count; i++) {
///     x[i] += speed[i] * dt;
/// }
/// ```
///
/// A type asks for them by its layout, `MICA_LANES`: a struct of at most `MICA_LANES_SIZE_MAX` bytes whose fields are
/// known when it is registered, in tables, without hooks or indexes. Each field of the struct is a lane. An array and a
/// nested struct are one lane each, whose elements are whole arrays and structs.
///
/// All verbs that take or give whole values work as always. What has no address cannot be had by address: `mica_get`,
/// `mica_get_write`, `mica_read_of` and `mica_write_of` are refused with `MICA_UNSUPPORTED`. Instead of them there are
/// `mica_load` and `mica_store` in walks, and `mica_load_of` and `mica_store_of` by entity, which copy whole values;
/// these work whatever the layout is. Observers, the function of `mica_patch` and that of `mica_entity_spawn_fill` are
/// given copies.
#pragma once

#include <mica/verbs.h>

#include <stddef.h>

MICA_BEGIN

/// The span's part of the lane of one field, for reading: `offset` and `byte_size` are the field's in the C struct.
/// Aligned to 64 bytes if the span begins a chunk (all do in walks over tables alone in which nobody is disabled or
/// killed) or a part that a parallel loop has cut off of one, otherwise to the field's own alignment. NULL if the span
/// does not have the component (optional and any-of terms) or, with an error, `MICA_NO_ACCESS` (the query does not read
/// it), `MICA_UNSUPPORTED` (it does not lie in lanes), `MICA_INVALID` (no field begins there with that size; no open
/// walk). Good until the walk goes on. O(fields).
MICA_API const void *mica_iter_read_lane(const mica_iter *iter, mica_type *type, uint32_t offset, uint32_t byte_size);

/// As `mica_iter_read_lane`, for writing: the query must declare it. Marks as `mica_iter_write` does: the component as
/// a whole.
MICA_API void *mica_iter_write_lane(const mica_iter *iter, mica_type *type, uint32_t offset, uint32_t byte_size);

/// As `mica_iter_read_lane`, by id.
MICA_API const void *mica_iter_read_lane_id(const mica_iter *iter, mica_component component, uint32_t offset,
                                            uint32_t byte_size);

/// As `mica_iter_write_lane`, by id.
MICA_API void *mica_iter_write_lane_id(const mica_iter *iter, mica_component component, uint32_t offset,
                                       uint32_t byte_size);

/// Copies the value of row `row` of the span to `value`, whatever the layout. Refuses: `MICA_NO_ACCESS` (the query does
/// not read it), `MICA_NO_COPY` (a type with copy or destruct hooks), `MICA_INVALID` (no such row, no place, no open
/// walk), `MICA_ABSENT` (the span does not have it). O(fields).
MICA_API mica_result mica_iter_load(const mica_iter *iter, mica_type *type, int32_t row, void *value);

/// Copies `value` to the value of row `row` of the span, whatever the layout, and marks as `mica_iter_write` does;
/// where the query marks rows by hand, this row. Refuses as `mica_iter_load`, for writing. O(fields).
MICA_API mica_result mica_iter_store(const mica_iter *iter, mica_type *type, int32_t row, const void *value);

/// As `mica_iter_load`, by id.
MICA_API mica_result mica_iter_load_id(const mica_iter *iter, mica_component component, int32_t row, void *value);

/// As `mica_iter_store`, by id.
MICA_API mica_result mica_iter_store_id(const mica_iter *iter, mica_component component, int32_t row,
                                        const void *value);

/// Copies the entity's value of a component to `value`, whatever the layout. False if the entity does not have it (no
/// error), or on failure: `MICA_STALE`, `MICA_UNKNOWN`, `MICA_NO_VALUE` (a tag), `MICA_NO_COPY` (a type with copy or
/// destruct hooks: `mica_entity_get` looks at its values), `MICA_INVALID` (no place). O(fields).
MICA_API bool mica_entity_load(const mica_world *world, mica_entity entity, mica_component component, void *value);

/// Copies `value` to the entity's value of a component, whatever the layout, as writing through the address that
/// `mica_entity_get_write` gives does: observers are not told (`mica_entity_set` tells them). Refuses: `MICA_ABSENT`
/// (the entity does not have it), `MICA_NO_ACCESS` (a relation), and as `mica_entity_load`. O(fields).
MICA_API mica_result mica_entity_store(mica_world *world, mica_entity entity, mica_component component,
                                       const void *value);

/// \cond internal
static inline bool mica_load_typed(mica_world *world, mica_entity entity, mica_type *type, void *value) {
    const mica_component component = mica_world_component(world, type);
    return component != 0 && mica_entity_load(world, entity, component, value);
}
static inline mica_result mica_store_typed(mica_world *world, mica_entity entity, mica_type *type, const void *value) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_store(world, entity, component, value);
}
static inline const void *mica_load_row(const mica_iter *iter, mica_type *type, int32_t row, void *value) {
    mica_iter_load(iter, type, row, value);
    return value;
}
/// \endcond

MICA_END

#ifdef __cplusplus
/// \cond internal
template <typename T> T mica_load_value(const mica_iter *iter, mica_type *type, int32_t row) {
    T value = T();
    mica_iter_load(iter, type, row, &value);
    return value;
}
/// \endcond
#define MICA_LANE_(FUNCTION, IT, T, FIELD)                                      \
    FUNCTION(&(IT), mica_type_of(T), static_cast<uint32_t>(offsetof(T, FIELD)), \
             static_cast<uint32_t>(sizeof(static_cast<T *>(nullptr)->FIELD)))
#define mica_lane(IT, T, FIELD) (static_cast<decltype(T::FIELD) *>(MICA_LANE_(mica_iter_write_lane, IT, T, FIELD)))
#define mica_lane_read(IT, T, FIELD) \
    (static_cast<const decltype(T::FIELD) *>(MICA_LANE_(mica_iter_read_lane, IT, T, FIELD)))
#define mica_load(IT, T, ROW) mica_load_value<T>(&(IT), mica_type_of(T), (ROW))
#define mica_load_of(WORLD, ENTITY, T, VALUE_PTR) \
    mica_load_typed((WORLD), (ENTITY), mica_type_of(T), static_cast<T *>(VALUE_PTR))
#else
#define MICA_LANE_(FUNCTION, IT, T, FIELD) \
    FUNCTION(&(IT), mica_type_of(T), (uint32_t)offsetof(T, FIELD), (uint32_t)sizeof(((T *)NULL)->FIELD))
/// The span's lane of a field for writing: a pointer to `it.count` of them, such as a `float *`; NULL as
/// `mica_iter_write_lane`. Marks the component as changed.
#define mica_lane(IT, T, FIELD) ((__typeof__(((T *)NULL)->FIELD) *)MICA_LANE_(mica_iter_write_lane, IT, T, FIELD))
/// The span's lane of a field for reading, such as a `const float *`; NULL as `mica_iter_read_lane`.
#define mica_lane_read(IT, T, FIELD) \
    ((const __typeof__(((T *)NULL)->FIELD) *)MICA_LANE_(mica_iter_read_lane, IT, T, FIELD))
/// A copy of the value of row `ROW` of the span: a `T`; zeros if it is refused. `mica_iter_load`.
#define mica_load(IT, T, ROW) (*(const T *)mica_load_row(&(IT), mica_type_of(T), (ROW), &(T){0}))
/// Copies an entity's value to where a `T *` points to; false if it is not there. `mica_entity_load`.
#define mica_load_of(WORLD, ENTITY, T, VALUE_PTR) \
    mica_load_typed((WORLD), (ENTITY), mica_type_of(T), 1 ? (VALUE_PTR) : (T *)NULL)
#endif

/// Gives row `ROW` of the span a value in braces: `mica_store(it, Position, i, {1, 2, 3})`. `mica_iter_store`.
#define mica_store(IT, T, ROW, ...) mica_iter_store(&(IT), mica_type_of(T), (ROW), MICA_VALUE_(T, __VA_ARGS__))
/// As `mica_store`, with the value that a `T *` points to.
#define mica_store_from(IT, T, ROW, VALUE_PTR) mica_iter_store(&(IT), mica_type_of(T), (ROW), MICA_FROM_(T, VALUE_PTR))
/// Copies the value that a `T *` points to to an entity's value, which is there, without telling observers.
/// `mica_entity_store`.
#define mica_store_of(WORLD, ENTITY, T, VALUE_PTR) \
    mica_store_typed((WORLD), (ENTITY), mica_type_of(T), MICA_FROM_(T, VALUE_PTR))
