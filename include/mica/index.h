/// \file index.h
/// Indexes: entities by the value of a field, without looking at those that have another one.
///
///     MICA_STRUCT_WITH(Unit, (.indexes = {{"team", MICA_HASH}, {"hp", MICA_ORDERED}}), { int32_t team, hp; });
///
///     mica_index *by_team = mica_index_of(world, Unit, "team");
///     int32_t count = mica_index_find_value(by_team, int32_t, 3, entities, capacity);
///     mica_index *by_hp = mica_index_of(world, Unit, "hp");
///     count = mica_index_range_values(by_hp, int32_t, 1, 10, entities, capacity);
///
/// A type names the fields (trait `indexes`): numbers, `bool`, enumerations, `mica_entity`, and texts of up to
/// `MICA_INDEXED_TEXT_MAX` bytes; `"place.x"` is a field of a nested struct. A world keeps an index from the first time
/// that somebody asks it for it; before that the trait costs nothing. From then on each verb that adds, sets or removes
/// the component costs as much as is said of each kind below, and each value that may be written through an address
/// is looked at once more.
///
/// **Order.** What is found depends on the world alone, not on its history: `mica_index_find` gives entities in
/// ascending order of their indices; `mica_index_range` in ascending order of their values, those with equal values in
/// ascending order of their indices. Of floating-point numbers -0 equals 0, and all NaN are equal and above all others;
/// false is below true; texts are compared as bytes, and entities by index, then generation. Disabled and killed
/// entities are found as well.
///
/// **When.** What a verb did is found when it returns, and by observers of it: by those of `MICA_REMOVED` no longer;
/// those of what `mica_world_clear` ends find nobody. That a world ends shows in none of its indexes. Values written
/// through spans are found once the world's last open walk has ended; those written through `mica_get_write` and pools'
/// arrays by the next look-up. A look-up during a walk finds them as they were when the walk began. As everywhere, an
/// address that was got for writing before is to be asked for again before it is written through after a look-up.
///
/// **Memory.** No verb fails because there is no memory for an index: that index is made anew by the next look-up, and
/// while this has no memory either, look-ups are refused (`MICA_OUT_OF_MEMORY`). Observers make no index, because what
/// they are told of may be about to go: there, look-ups are refused until the index is made (`MICA_LOCKED`). A system
/// whose look-up, or request for an index, has no memory has failed as by `mica_run_fail`: it would take that for an
/// answer.
///
/// All functions here belong to the world's thread.
#pragma once

#include <mica/verbs.h>
#include <mica/world.h>

MICA_BEGIN

typedef struct mica_index mica_index;

/// The index of a field that the type names, borrowed and as good as the world; made of what is there the first time
/// that it is asked for. NULL: `MICA_UNKNOWN` (no such component, or its type does not ask for an index of this field),
/// `MICA_UNREFLECTED` and `MICA_BAD_TYPE` (a nested type on the way is not known, or has no such field),
/// `MICA_OUT_OF_MEMORY`, `MICA_LOCKED` (the first time, inside an observer), `MICA_INVALID` (no world or field).
/// O(indexes of the world); the first time as long as adding all entities that have the component.
MICA_API mica_index *mica_index_of_id(mica_world *world, mica_component component, const char *field);

/// How many entities are in the index: those that have the component. 0 on failure: `MICA_OUT_OF_MEMORY`,
/// `MICA_LOCKED` (it has to be made, inside an observer), `MICA_INVALID` (no index). O(values that may have been
/// written since the last look-up), as for all look-ups.
MICA_API int32_t mica_index_count(mica_index *index);

/// The entities whose field equals `key`, which points to a value of the field's type (of a text: to its first byte, it
/// is closed by a zero): how many there are, of which the first `capacity` are written to `entities`. 0 on failure: as
/// `mica_index_count`, and `MICA_INVALID` (no key, a capacity without an array). `MICA_HASH`: O(1), and O(n log n) for
/// n that are found; `MICA_ORDERED`: O(log entities + found). Keeping up: O(1), and O(log entities).
MICA_API int32_t mica_index_find(mica_index *index, const void *key, mica_entity *entities, int32_t capacity);

/// The entities whose field is `low` to `high`, both included; NULL leaves a side open. How many there are, of which
/// the first `capacity` are written to `entities`. `MICA_ORDERED` alone; 0 on failure: as `mica_index_find`, and
/// `MICA_INVALID` for another kind. O(log entities + found).
MICA_API int32_t mica_index_range(mica_index *index, const void *low, const void *high, mica_entity *entities,
                                  int32_t capacity);

/// The entity with the least value, of several the one with the lowest index. Null: there is none (no error), or on
/// failure: as `mica_index_range`. O(log entities).
MICA_API mica_entity mica_index_first(mica_index *index);

/// The entity with the greatest value, of several the one with the highest index. As `mica_index_first`.
MICA_API mica_entity mica_index_last(mica_index *index);

/// Whether keys of this index have `byte_size` bytes; if not, `MICA_INVALID` is the last error. Texts have any size.
/// O(1).
MICA_API bool mica_index_accepts(const mica_index *index, size_t byte_size);

/// \cond internal: what the macros call.
static inline mica_index *mica_index_of_type(mica_world *world, mica_type *type, const char *field) {
    const mica_component component = world == NULL ? 0 : mica_world_component(world, type);
    return component == 0 && world != NULL ? NULL : mica_index_of_id(world, component, field);
}
static inline int32_t mica_index_find_sized(mica_index *index, size_t byte_size, const void *key, mica_entity *entities,
                                            int32_t capacity) {
    return mica_index_accepts(index, byte_size) ? mica_index_find(index, key, entities, capacity) : 0;
}
static inline int32_t mica_index_range_sized(mica_index *index, size_t byte_size, const void *low, const void *high,
                                             mica_entity *entities, int32_t capacity) {
    return mica_index_accepts(index, byte_size) ? mica_index_range(index, low, high, entities, capacity) : 0;
}
/// \endcond

MICA_END

/// The index of a field by its name: `mica_index *by_hp = mica_index_of(world, Unit, "hp");`. `mica_index_of_id`.
#define mica_index_of(WORLD, T, FIELD) mica_index_of_type((WORLD), mica_type_of(T), (FIELD))

/// As `mica_index_find`, with a value of the field's type `T`: `mica_index_find_value(by_team, int32_t, 3, entities,
/// capacity)`. For texts there is `mica_index_find`.
#define mica_index_find_value(INDEX, T, VALUE, ENTITIES, CAPACITY) \
    mica_index_find_sized((INDEX), sizeof(T), MICA_VALUE_(T, {VALUE}), (ENTITIES), (CAPACITY))

/// As `mica_index_range`, with values of the field's type `T`: `mica_index_range_values(by_hp, int32_t, 1, 10,
/// entities, capacity)`.
#define mica_index_range_values(INDEX, T, LOW, HIGH, ENTITIES, CAPACITY) \
    mica_index_range_sized((INDEX), sizeof(T), MICA_VALUE_(T, {LOW}), MICA_VALUE_(T, {HIGH}), (ENTITIES), (CAPACITY))
