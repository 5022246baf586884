/// \file verbs.h
/// The everyday verbs, typed: macros (in C) and overloads (in C++) over the functions of world.h, visibility.h,
/// resource.h and commands.h.
///
/// `TO` is a `mica_world *`, to change now, or a `mica_commands *`, to record for later. `T` is a type declared by
/// `MICA_STRUCT`, `MICA_COMPONENT` or `MICA_TAG`; it is registered when it is first used. A value is written as an
/// initialiser in braces: `mica_set(world, ship, Position, {1, 2, 3})`. What each verb returns, refuses and costs
/// stands with its function: `mica_set` is `mica_entity_set` for a world and `mica_commands_set` for a buffer.
#pragma once

#include <mica/commands.h>
#include <mica/query.h>
#include <mica/resource.h>
#include <mica/spawner.h>
#include <mica/visibility.h>
#include <mica/world.h>

MICA_BEGIN

/// \cond internal: typed verbs resolve the descriptor, then call the function by id. A descriptor that is refused has
/// set the error. What is done the first time that a descriptor is used with a schema stands in functions of its own.
MICA_APART mica_result mica_world_add_anew(mica_world *world, mica_entity entity, mica_type *type, const void *value) {
    const mica_component component = mica_world_register(world, type);
    return component == 0 ? mica_last_result() : mica_entity_add(world, entity, component, value);
}
static inline mica_result mica_world_add_typed(mica_world *world, mica_entity entity, mica_type *type,
                                               const void *value) {
    uint32_t known = 0;
    return mica_world_knows(world, type, &known) ? mica_entity_add(world, entity, (mica_component)known, value)
                                                 : mica_world_add_anew(world, entity, type, value);
}
MICA_APART mica_result mica_world_set_anew(mica_world *world, mica_entity entity, mica_type *type, const void *value) {
    const mica_component component = mica_world_register(world, type);
    return component == 0 ? mica_last_result() : mica_entity_set(world, entity, component, value);
}
static inline mica_result mica_world_set_typed(mica_world *world, mica_entity entity, mica_type *type,
                                               const void *value) {
    uint32_t known = 0;
    return mica_world_knows(world, type, &known) ? mica_entity_set(world, entity, (mica_component)known, value)
                                                 : mica_world_set_anew(world, entity, type, value);
}
MICA_APART mica_result mica_world_remove_anew(mica_world *world, mica_entity entity, mica_type *type) {
    const mica_component component = mica_world_register(world, type);
    return component == 0 ? mica_last_result() : mica_entity_remove(world, entity, component);
}
static inline mica_result mica_world_remove_typed(mica_world *world, mica_entity entity, mica_type *type) {
    uint32_t known = 0;
    return mica_world_knows(world, type, &known) ? mica_entity_remove(world, entity, (mica_component)known)
                                                 : mica_world_remove_anew(world, entity, type);
}
MICA_APART bool mica_world_has_called(mica_world *world, mica_entity entity, mica_type *type) {
    return mica_entity_has(world, entity, mica_world_component(world, type));
}
static inline bool mica_world_has_typed(mica_world *world, mica_entity entity, mica_type *type) {
    if (MICA_LIKELY(world != NULL)) {
        const struct mica_head *head = mica_head_of(world);
        const uint64_t known = mica_type_known(type, head->key);
        if (known < MICA_HEAD_POOL_BIT) {
            return mica_entity_has_in_row(head, entity, known);
        }
        const struct mica_head_pool *pool = mica_head_pool_of(head, known);
        if (MICA_LIKELY(pool != NULL)) {
            return mica_entity_position(pool, entity) < MICA_HEAD_NOWHERE;
        }
    }
    return mica_world_has_called(world, entity, type);
}
MICA_APART const void *mica_world_get_called(mica_world *world, mica_entity entity, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? NULL : mica_entity_get(world, entity, component);
}
static inline const void *mica_world_get_typed(mica_world *world, mica_entity entity, mica_type *type,
                                               size_t byte_size) {
    if (MICA_LIKELY(world != NULL)) {
        const struct mica_head *head = mica_head_of(world);
        const void *value = mica_entity_peek(head, entity, mica_type_known(type, head->peek_key), byte_size);
        if (MICA_LIKELY(value != NULL)) {
            return value;
        }
    }
    return mica_world_get_called(world, entity, type);
}
MICA_APART void *mica_world_get_write_anew(mica_world *world, mica_entity entity, mica_type *type) {
    const mica_component component = mica_world_register(world, type);
    return component == 0 ? NULL : mica_entity_get_write(world, entity, component);
}
static inline void *mica_world_get_write_typed(mica_world *world, mica_entity entity, mica_type *type) {
    uint32_t known = 0;
    return mica_world_knows(world, type, &known) ? mica_entity_get_write(world, entity, (mica_component)known)
                                                 : mica_world_get_write_anew(world, entity, type);
}
static inline mica_result mica_world_patch_typed(mica_world *world, mica_entity entity, mica_type *type,
                                                 void (*change)(void *value, void *user), void *user) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_patch(world, entity, component, change, user);
}
static inline mica_result mica_world_enable_typed(mica_world *world, mica_entity entity, mica_type *type,
                                                  bool enabled) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_enable_component(world, entity, component, enabled);
}
static inline bool mica_world_enabled_typed(mica_world *world, mica_entity entity, mica_type *type) {
    return mica_entity_component_enabled(world, entity, mica_world_component(world, type));
}
static inline mica_result mica_commands_add_typed(mica_commands *commands, mica_entity entity, mica_type *type,
                                                  const void *value) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_add(commands, entity, component, value);
}
static inline mica_result mica_commands_set_typed(mica_commands *commands, mica_entity entity, mica_type *type,
                                                  const void *value) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_set(commands, entity, component, value);
}
static inline mica_result mica_commands_remove_typed(mica_commands *commands, mica_entity entity, mica_type *type) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_remove(commands, entity, component);
}
static inline mica_result mica_commands_enable_typed(mica_commands *commands, mica_entity entity, mica_type *type,
                                                     bool enabled) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_enable_component(commands, entity, component, enabled);
}
static inline mica_result mica_world_add_many_typed(mica_world *world, const mica_entity *entities, int32_t count,
                                                    mica_type *type, const void *values) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_add_many(world, entities, count, component, values);
}
static inline mica_result mica_world_set_many_typed(mica_world *world, const mica_entity *entities, int32_t count,
                                                    mica_type *type, const void *values) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_set_many(world, entities, count, component, values);
}
static inline mica_result mica_world_remove_many_typed(mica_world *world, const mica_entity *entities, int32_t count,
                                                       mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_entity_remove_many(world, entities, count, component);
}
static inline mica_result mica_commands_add_many_typed(mica_commands *commands, const mica_entity *entities,
                                                       int32_t count, mica_type *type, const void *values) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_add_many(commands, entities, count, component, values);
}
static inline mica_result mica_commands_set_many_typed(mica_commands *commands, const mica_entity *entities,
                                                       int32_t count, mica_type *type, const void *values) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_set_many(commands, entities, count, component, values);
}
static inline mica_result mica_commands_remove_many_typed(mica_commands *commands, const mica_entity *entities,
                                                          int32_t count, mica_type *type) {
    const mica_component component = mica_commands_component(commands, type);
    return component == 0 ? mica_last_result() : mica_commands_remove_many(commands, entities, count, component);
}
static inline int32_t mica_world_gather_typed(mica_world *world, const mica_entity *entities, int32_t count,
                                              mica_type *type, void *values, bool *found) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? -1 : mica_entity_gather(world, entities, count, component, values, found);
}
static inline int32_t mica_world_scatter_typed(mica_world *world, const mica_entity *entities, int32_t count,
                                               mica_type *type, const void *values, bool *found) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? -1 : mica_entity_scatter(world, entities, count, component, values, found);
}
static inline mica_entity mica_commands_create_entity(mica_commands *commands) {
    return mica_commands_spawn(commands, NULL, 0);
}
static inline mica_result mica_resource_set_typed(mica_world *world, mica_type *type, const void *value) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_resource_set(world, component, value);
}
static inline mica_result mica_resource_set_pointer_typed(mica_world *world, mica_type *type, void *value) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_resource_set_pointer(world, component, value);
}
static inline const void *mica_resource_get_typed(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? NULL : mica_resource_get(world, component);
}
static inline void *mica_resource_get_write_typed(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? NULL : mica_resource_get_write(world, component);
}
static inline void *mica_resource_ensure_typed(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? NULL : mica_resource_ensure(world, component);
}
static inline mica_result mica_resource_remove_typed(mica_world *world, mica_type *type) {
    const mica_component component = mica_world_component(world, type);
    return component == 0 ? mica_last_result() : mica_resource_remove(world, component);
}
/// Whether the entity has all (or, with `any`, one) of the types; a descriptor that is refused is a type that it does
/// not have.
MICA_API bool mica_world_has_types(mica_world *world, mica_entity entity, mica_type *const *types, int32_t count,
                                   bool any);
/// \endcond

MICA_END

#ifdef __cplusplus

#include <initializer_list>
#include <type_traits>

inline mica_entity mica_create(mica_world *to) {
    return mica_entity_create(to);
}
inline mica_entity mica_create(mica_commands *to) {
    return mica_commands_create_entity(to);
}
inline mica_result mica_destroy(mica_world *to, mica_entity entity) {
    return mica_entity_destroy(to, entity);
}
inline mica_result mica_destroy(mica_commands *to, mica_entity entity) {
    return mica_commands_destroy_entity(to, entity);
}
inline mica_result mica_destroy_many(mica_world *to, const mica_entity *entities, int32_t count) {
    return mica_entity_destroy_many(to, entities, count);
}
inline mica_result mica_destroy_many(mica_commands *to, const mica_entity *entities, int32_t count) {
    return mica_commands_destroy_many(to, entities, count);
}
inline mica_entity mica_clone(mica_world *to, mica_entity source) {
    return mica_entity_clone(to, source);
}
inline mica_entity mica_clone(mica_commands *to, mica_entity source) {
    return mica_commands_clone(to, source);
}
inline mica_result mica_add_typed(mica_world *to, mica_entity e, mica_type *t, const void *v) {
    return mica_world_add_typed(to, e, t, v);
}
inline mica_result mica_add_typed(mica_commands *to, mica_entity e, mica_type *t, const void *v) {
    return mica_commands_add_typed(to, e, t, v);
}
inline mica_result mica_set_typed(mica_world *to, mica_entity e, mica_type *t, const void *v) {
    return mica_world_set_typed(to, e, t, v);
}
inline mica_result mica_set_typed(mica_commands *to, mica_entity e, mica_type *t, const void *v) {
    return mica_commands_set_typed(to, e, t, v);
}
inline mica_result mica_remove_typed(mica_world *to, mica_entity e, mica_type *t) {
    return mica_world_remove_typed(to, e, t);
}
inline mica_result mica_remove_typed(mica_commands *to, mica_entity e, mica_type *t) {
    return mica_commands_remove_typed(to, e, t);
}
inline mica_result mica_add_many_typed(mica_world *to, const mica_entity *e, int32_t n, mica_type *t, const void *v) {
    return mica_world_add_many_typed(to, e, n, t, v);
}
inline mica_result mica_add_many_typed(mica_commands *to, const mica_entity *e, int32_t n, mica_type *t,
                                       const void *v) {
    return mica_commands_add_many_typed(to, e, n, t, v);
}
inline mica_result mica_set_many_typed(mica_world *to, const mica_entity *e, int32_t n, mica_type *t, const void *v) {
    return mica_world_set_many_typed(to, e, n, t, v);
}
inline mica_result mica_set_many_typed(mica_commands *to, const mica_entity *e, int32_t n, mica_type *t,
                                       const void *v) {
    return mica_commands_set_many_typed(to, e, n, t, v);
}
inline mica_result mica_remove_many_typed(mica_world *to, const mica_entity *e, int32_t n, mica_type *t) {
    return mica_world_remove_many_typed(to, e, n, t);
}
inline mica_result mica_remove_many_typed(mica_commands *to, const mica_entity *e, int32_t n, mica_type *t) {
    return mica_commands_remove_many_typed(to, e, n, t);
}
inline mica_result mica_enable(mica_world *to, mica_entity entity) {
    return mica_entity_enable(to, entity, true);
}
inline mica_result mica_enable(mica_commands *to, mica_entity entity) {
    return mica_commands_enable(to, entity, true);
}
inline mica_result mica_disable(mica_world *to, mica_entity entity) {
    return mica_entity_enable(to, entity, false);
}
inline mica_result mica_disable(mica_commands *to, mica_entity entity) {
    return mica_commands_enable(to, entity, false);
}
inline mica_result mica_enable_typed(mica_world *to, mica_entity e, mica_type *t, bool enabled) {
    return mica_world_enable_typed(to, e, t, enabled);
}
inline mica_result mica_enable_typed(mica_commands *to, mica_entity e, mica_type *t, bool enabled) {
    return mica_commands_enable_typed(to, e, t, enabled);
}
inline mica_result mica_kill(mica_world *to, mica_entity entity) {
    return mica_entity_kill(to, entity);
}
inline mica_result mica_kill(mica_commands *to, mica_entity entity) {
    return mica_commands_kill(to, entity);
}
inline int32_t mica_refresh(mica_world *to) {
    return mica_world_refresh(to);
}
inline mica_result mica_refresh(mica_commands *to) {
    return mica_commands_refresh(to);
}
inline mica_entity mica_spawn_list(mica_world *to, std::initializer_list<mica_value> values) {
    return mica_world_spawn(to, values.begin(), static_cast<int32_t>(values.size()));
}
inline mica_entity mica_spawn_list(mica_spawner *to, std::initializer_list<mica_value> values) {
    return mica_spawner_spawn(to, values.begin(), static_cast<int32_t>(values.size()));
}
inline mica_spawner mica_spawner_list(mica_world *world, std::initializer_list<mica_type *> types) {
    return mica_spawner_make(world, types.begin(), static_cast<int32_t>(types.size()));
}
inline mica_entity mica_spawn_list(mica_commands *to, std::initializer_list<mica_value> values) {
    return mica_commands_spawn(to, values.begin(), static_cast<int32_t>(values.size()));
}
inline mica_result mica_spawn_many_list(mica_world *world, int32_t count, mica_entity *entities,
                                        std::initializer_list<mica_column> columns) {
    return mica_entity_spawn_many(world, columns.begin(), static_cast<int32_t>(columns.size()), count, entities);
}
inline bool mica_has_list(mica_world *world, mica_entity entity, std::initializer_list<mica_type *> types, bool any) {
    return mica_world_has_types(world, entity, types.begin(), static_cast<int32_t>(types.size()), any);
}
// A value with a copy constructor of its own may know its address.
template <typename T> constexpr uint32_t mica_byte_size_of() {
    return std::is_trivially_copyable<T>::value ? static_cast<uint32_t>(sizeof(T)) : 0;
}
template <typename T> const void *mica_address_of(const T &value) {
    return static_cast<const void *>(&value);
}

#define MICA_VALUE_(T, ...) mica_address_of<T>(T __VA_ARGS__)
#define mica_value_of(T, ...) (mica_value{mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__), 0, mica_byte_size_of<T>()})
#define mica_tag(T) (mica_value{mica_type_of(T), nullptr, 0})
#define mica_column_of(T, VALUES) (mica_column{mica_type_of(T), static_cast<const T *>(VALUES), 0})
#define mica_spawn(TO, ...) mica_spawn_list((TO), {__VA_ARGS__})
#define mica_spawner_of(WORLD, ...) mica_spawner_list((WORLD), {__VA_ARGS__})
#define mica_spawn_many(WORLD, COUNT, ENTITIES, ...) mica_spawn_many_list((WORLD), (COUNT), (ENTITIES), {__VA_ARGS__})
#define mica_has_all(WORLD, ENTITY, ...) mica_has_list((WORLD), (ENTITY), {__VA_ARGS__}, false)
#define mica_has_any(WORLD, ENTITY, ...) mica_has_list((WORLD), (ENTITY), {__VA_ARGS__}, true)
#define MICA_FROM_(T, VALUE_PTR) static_cast<const T *>(VALUE_PTR)
#define MICA_INTO_(T, VALUES) static_cast<T *>(VALUES)

#else

#define MICA_TO_(TO, OF_WORLD, OF_COMMANDS) _Generic((TO), mica_world * : OF_WORLD, mica_commands * : OF_COMMANDS)

/// Makes an entity without components; null on failure. `mica_entity_create`.
#define mica_create(TO) MICA_TO_(TO, mica_entity_create, mica_commands_create_entity)(TO)
/// Destroys an entity; its handle is stale from then on. `mica_entity_destroy`.
#define mica_destroy(TO, ENTITY) MICA_TO_(TO, mica_entity_destroy, mica_commands_destroy_entity)((TO), (ENTITY))
/// Destroys `COUNT` entities of an array: all, or none. `mica_entity_destroy_many`.
#define mica_destroy_many(TO, ENTITIES, COUNT) \
    MICA_TO_(TO, mica_entity_destroy_many, mica_commands_destroy_many)((TO), (ENTITIES), (COUNT))
/// Makes a copy of an entity with all its values; null on failure. `mica_entity_clone`.
#define mica_clone(TO, SOURCE) MICA_TO_(TO, mica_entity_clone, mica_commands_clone)((TO), (SOURCE))

/// Lets queries find an entity again that was disabled. `mica_entity_enable`.
#define mica_enable(TO, ENTITY) MICA_TO_(TO, mica_entity_enable, mica_commands_enable)((TO), (ENTITY), true)
/// Leaves an entity out of queries that do not ask for disabled ones. `mica_entity_enable`.
#define mica_disable(TO, ENTITY) MICA_TO_(TO, mica_entity_enable, mica_commands_enable)((TO), (ENTITY), false)
/// Leaves an entity out of all queries until `mica_refresh` destroys it. `mica_entity_kill`.
#define mica_kill(TO, ENTITY) MICA_TO_(TO, mica_entity_kill, mica_commands_kill)((TO), (ENTITY))
/// Destroys all killed entities: how many (of a world), or a `mica_result` (of a buffer). `mica_world_refresh`.
#define mica_refresh(TO) MICA_TO_(TO, mica_world_refresh, mica_commands_refresh)(TO)

#define mica_add_typed(TO, ...) MICA_TO_(TO, mica_world_add_typed, mica_commands_add_typed)((TO), __VA_ARGS__)
#define mica_set_typed(TO, ...) MICA_TO_(TO, mica_world_set_typed, mica_commands_set_typed)((TO), __VA_ARGS__)
#define mica_remove_typed(TO, ...) MICA_TO_(TO, mica_world_remove_typed, mica_commands_remove_typed)((TO), __VA_ARGS__)
#define mica_add_many_typed(TO, ...) \
    MICA_TO_(TO, mica_world_add_many_typed, mica_commands_add_many_typed)((TO), __VA_ARGS__)
#define mica_set_many_typed(TO, ...) \
    MICA_TO_(TO, mica_world_set_many_typed, mica_commands_set_many_typed)((TO), __VA_ARGS__)
#define mica_remove_many_typed(TO, ...) \
    MICA_TO_(TO, mica_world_remove_many_typed, mica_commands_remove_many_typed)((TO), __VA_ARGS__)
#define mica_enable_typed(TO, ...) MICA_TO_(TO, mica_world_enable_typed, mica_commands_enable_typed)((TO), __VA_ARGS__)

#define MICA_VALUE_(T, ...) (&(const T)__VA_ARGS__)
#define MICA_FROM_(T, VALUE_PTR) (1 ? (VALUE_PTR) : (const T *)NULL)
#define MICA_INTO_(T, VALUES) (1 ? (VALUES) : (T *)NULL)
/// A component with its value, as an argument of `mica_spawn`: `mica_value_of(Position, {1, 2, 3})`.
#define mica_value_of(T, ...) ((mica_value){mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__), 0, (uint32_t)sizeof(T)})
/// A tag, or a component that is to be constructed, as an argument of `mica_spawn`.
#define mica_tag(T) ((mica_value){mica_type_of(T), NULL, 0, 0})
/// A component with an array of values, one an entity, as an argument of `mica_spawn_many`.
#define mica_column_of(T, VALUES) ((mica_column){mica_type_of(T), MICA_FROM_(T, VALUES), 0, (uint32_t)sizeof(T)})
/// Makes an entity with components: `mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_tag(Frozen))`. `TO` may
/// be a `mica_spawner *` as well.
#define mica_spawn(TO, ...)                                                 \
    _Generic((TO), mica_world *                                             \
             : mica_world_spawn, mica_commands *                            \
             : mica_commands_spawn, mica_spawner *                          \
             : mica_spawner_spawn)((TO), (const mica_value[]){__VA_ARGS__}, \
                                   (int32_t)(sizeof((mica_value[]){__VA_ARGS__}) / sizeof(mica_value)))
/// A spawner of the types, given as `mica_type_of(A), mica_type_of(B)`. `mica_spawner_make`.
#define mica_spawner_of(WORLD, ...)                               \
    mica_spawner_make((WORLD), (mica_type *const[]){__VA_ARGS__}, \
                      (int32_t)(sizeof((mica_type *const[]){__VA_ARGS__}) / sizeof(mica_type *)))
/// Makes `COUNT` entities that all have the components of the columns; `ENTITIES` receives their handles or is NULL:
/// `mica_spawn_many(world, 100, ships, mica_column_of(Position, positions), mica_tag(Frozen))`.
#define mica_spawn_many(WORLD, COUNT, ENTITIES, ...)                    \
    mica_entity_spawn_many((WORLD), (const mica_column[]){__VA_ARGS__}, \
                           (int32_t)(sizeof((mica_column[]){__VA_ARGS__}) / sizeof(mica_column)), (COUNT), (ENTITIES))
/// Whether an entity has all of the types, given as `mica_type_of(A), mica_type_of(B)`.
#define mica_has_all(WORLD, ENTITY, ...)                                       \
    mica_world_has_types((WORLD), (ENTITY), (mica_type *const[]){__VA_ARGS__}, \
                         (int32_t)(sizeof((mica_type *const[]){__VA_ARGS__}) / sizeof(mica_type *)), false)
/// Whether an entity has one of the types or more, given as for `mica_has_all`.
#define mica_has_any(WORLD, ENTITY, ...)                                       \
    mica_world_has_types((WORLD), (ENTITY), (mica_type *const[]){__VA_ARGS__}, \
                         (int32_t)(sizeof((mica_type *const[]){__VA_ARGS__}) / sizeof(mica_type *)), true)

#endif

/// Registers a type before it is used, so that files and other threads can name it; returns its id, 0 on failure.
/// `mica_world_register`.
#define mica_register(WORLD, T) mica_world_register((WORLD), mica_type_of(T))
/// Whether a handle names a living entity. Never fails.
#define mica_alive(WORLD, ENTITY) mica_entity_alive((WORLD), (ENTITY))
/// Adds a component, constructed, or a tag; refuses a second one. `mica_entity_add`.
#define mica_add(TO, ENTITY, T) mica_add_typed((TO), (ENTITY), mica_type_of(T), NULL)
/// Adds a component with a value in braces; refuses a second one. `mica_entity_add`.
#define mica_add_value(TO, ENTITY, T, ...) mica_add_typed((TO), (ENTITY), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// Adds a component with a value in braces, or replaces the value that is there. `mica_entity_set`.
#define mica_set(TO, ENTITY, T, ...) mica_set_typed((TO), (ENTITY), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// As `mica_set`, with the value that a `T *` points to; a value of a move-only type is moved out of it.
#define mica_set_from(TO, ENTITY, T, VALUE_PTR) \
    mica_set_typed((TO), (ENTITY), mica_type_of(T), MICA_FROM_(T, VALUE_PTR))
/// Removes a component; nothing happens if it is not there. `mica_entity_remove`.
#define mica_remove(TO, ENTITY, T) mica_remove_typed((TO), (ENTITY), mica_type_of(T))
/// Adds a component to `COUNT` entities of an array: all, or none. `VALUES` is an array of as many `T`, or NULL:
/// constructed. `mica_entity_add_many`.
#define mica_add_many(TO, ENTITIES, COUNT, T, VALUES) \
    mica_add_many_typed((TO), (ENTITIES), (COUNT), mica_type_of(T), MICA_FROM_(T, VALUES))
/// Adds a tag, or a component that is constructed, to `COUNT` entities: all, or none. `mica_entity_add_many`.
#define mica_tag_many(TO, ENTITIES, COUNT, T) mica_add_many_typed((TO), (ENTITIES), (COUNT), mica_type_of(T), NULL)
/// Adds a component to each of `COUNT` entities, or replaces its value: all, or none. `mica_entity_set_many`.
#define mica_set_many(TO, ENTITIES, COUNT, T, VALUES) \
    mica_set_many_typed((TO), (ENTITIES), (COUNT), mica_type_of(T), MICA_FROM_(T, VALUES))
/// Removes a component from those of `COUNT` entities that have it: all, or none. `mica_entity_remove_many`.
#define mica_remove_many(TO, ENTITIES, COUNT, T) mica_remove_many_typed((TO), (ENTITIES), (COUNT), mica_type_of(T))
/// Copies the values that `COUNT` entities have of a component to `VALUES`, an array of as many `T`, zeros for those
/// that have none; how many have one. `FOUND` is NULL, or an array of bool. `mica_entity_gather`.
#define mica_gather(WORLD, ENTITIES, COUNT, T, VALUES, FOUND) \
    mica_world_gather_typed((WORLD), (ENTITIES), (COUNT), mica_type_of(T), MICA_INTO_(T, VALUES), (FOUND))
/// Writes `VALUES`, an array of `COUNT`, to those of the entities that have the component; how many have it.
/// `mica_entity_scatter`.
#define mica_scatter(WORLD, ENTITIES, COUNT, T, VALUES, FOUND) \
    mica_world_scatter_typed((WORLD), (ENTITIES), (COUNT), mica_type_of(T), MICA_FROM_(T, VALUES), (FOUND))
/// Lets a component that was disabled count as present again. `mica_entity_enable_component`.
#define mica_enable_component(TO, ENTITY, T) mica_enable_typed((TO), (ENTITY), mica_type_of(T), true)
/// Lets a component, of a type with the trait `toggle`, count as absent in queries. `mica_entity_enable_component`.
#define mica_disable_component(TO, ENTITY, T) mica_enable_typed((TO), (ENTITY), mica_type_of(T), false)
/// Whether an entity is alive and not disabled. Never fails.
#define mica_is_enabled(WORLD, ENTITY) mica_entity_enabled((WORLD), (ENTITY))
/// Whether an entity is alive and has a component that is not disabled. Never fails.
#define mica_is_component_enabled(WORLD, ENTITY, T) mica_world_enabled_typed((WORLD), (ENTITY), mica_type_of(T))
/// Whether an entity is alive and marked as killed. Never fails.
#define mica_is_killed(WORLD, ENTITY) mica_entity_killed((WORLD), (ENTITY))
/// Whether an entity is alive and has a component. Never fails.
#define mica_has(WORLD, ENTITY, T) mica_world_has_typed((WORLD), (ENTITY), mica_type_of(T))
/// A component's value for reading: a `const T *`, good until the next structural change; NULL if it is not there.
/// `mica_entity_get`.
#define mica_get(WORLD, ENTITY, T) ((const T *)mica_world_get_typed((WORLD), (ENTITY), mica_type_of(T), sizeof(T)))
/// A component's value for writing: a `T *`, good until the next structural change; NULL if it is not there.
/// `mica_entity_get_write`.
#define mica_get_write(WORLD, ENTITY, T) ((T *)mica_world_get_write_typed((WORLD), (ENTITY), mica_type_of(T)))
/// Calls `CHANGE(value, USER)` on a component's value, then counts as a set. `mica_entity_patch`.
#define mica_patch(WORLD, ENTITY, T, CHANGE, USER) \
    mica_world_patch_typed((WORLD), (ENTITY), mica_type_of(T) + 0 * sizeof(T), (CHANGE), (USER))

/// Gives the world its value of a type, in braces, or replaces it. `mica_resource_set`.
#define mica_set_resource(WORLD, T, ...) mica_resource_set_typed((WORLD), mica_type_of(T), MICA_VALUE_(T, __VA_ARGS__))
/// Lets the world refer to the caller's value, which must outlive it. `mica_resource_set_pointer`.
#define mica_set_resource_pointer(WORLD, T, VALUE_PTR) \
    mica_resource_set_pointer_typed((WORLD), mica_type_of(T), (void *)(uintptr_t)MICA_FROM_(T, VALUE_PTR))
/// The resource for reading: a `const T *`, NULL if there is none.
#define mica_resource(WORLD, T) ((const T *)mica_resource_get_typed((WORLD), mica_type_of(T)))
/// The resource for writing: a `T *`, NULL if there is none.
#define mica_resource_write(WORLD, T) ((T *)mica_resource_get_write_typed((WORLD), mica_type_of(T)))
/// The resource for writing, constructed if there was none: a `T *`.
#define mica_ensure_resource(WORLD, T) ((T *)mica_resource_ensure_typed((WORLD), mica_type_of(T)))
/// Removes a resource.
#define mica_remove_resource(WORLD, T) mica_resource_remove_typed((WORLD), mica_type_of(T))
