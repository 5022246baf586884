// The verbs on one entity, by component id: create, destroy, add, set, remove, get, has.
//
// Each resolves the handle once (mi_world_resolve), checks what can be refused, then leaves the work to mi_world_change
// or, where pools come along, to mi_world_edit. A pool component that brings nothing along is put in and taken out
// here: nothing of the entity's table is touched. Components that are relations go to the relation's link and unlink
// instead.
//
// A pool's slots carry generations, so that reading a pool component takes no slot of the entity index. While walks
// hold copies for writing, what they have written is brought back before a value is looked at.
#include "world/notice.h"

#include "store/fetch.h"
#include "store/moves.h"

#include <string.h>

mica_entity mica_entity_create(mica_world *world) {
    static const char call[] = "mica_entity_create";
    if (mi_world_check_structure(world, call) != MICA_OK) {
        return MICA_NULL;
    }
    const mica_entity entity = mi_world_make(world, mi_store_root(&world->store), NULL, 0, call);
    mi_world_finish(world, call);
    return entity;
}

// Tells of entities without components that were made.
static void tell_made(mica_world *world, const mica_entity *entities, int32_t count, const char *call) {
    for (int32_t i = 0; world->front.is_watched && i < count; i++) {
        mi_tell_after(world, &(mi_notice){.entity = entities[i], .to = mi_store_root(&world->store)});
    }
    mi_world_finish(world, call);
}

mica_result mica_entity_create_at(mica_world *world, const mica_entity *entities, int32_t count) {
    static const char call[] = "mica_entity_create_at";
    const mica_result checked = mi_world_check_structure(world, call);
    if (checked != MICA_OK) {
        return checked;
    }
    if (count < 0 || (count > 0 && entities == NULL)) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs an array of handles and how many they are");
    }
    uint32_t failed = 0;
    const mica_result result = mi_slots_take_at(&world->store.slots, &world->heap, entities, (uint32_t)count, &failed);
    switch (result) {
    case MICA_OK:
        tell_made(world, entities, count, call);
        return MICA_OK;
    case MICA_EXISTS:
        return mi_fail(&world->log, result, call, "entities[{}]: the slot of {} is taken, or named twice",
                       MI_UINT(failed), MI_ENTITY(entities[failed]));
    case MICA_STALE:
        return mi_fail(&world->log, result, call,
                       "entities[{}]: {} is null, a placeholder, or of a generation that its slot has issued before",
                       MI_UINT(failed), MI_ENTITY(entities[failed]));
    case MICA_LIMIT:
        return mi_fail(&world->log, result, call, "entities[{}]: the index of {} is over {}", MI_UINT(failed),
                       MI_ENTITY(entities[failed]), MI_UINT(MICA_INDEX_MAX));
    default:
        return mi_fail_memory(&world->log, call, (size_t)count * sizeof(uint64_t));
    }
}

bool mica_entity_alive(const mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    return world != NULL && mi_slots_resolve(&world->store.slots, entity, &location);
}

// As mica_entity_destroy where there may be more to it than a row.
MI_APART static mica_result destroy_slowly(mica_world *world, mica_entity entity) {
    static const char call[] = "mica_entity_destroy";
    mica_result result = mi_world_check_structure(world, call);
    uint32_t location = 0;
    if (result == MICA_OK) {
        result = mi_world_resolve(world, entity, &location, call);
    }
    if (result == MICA_OK) {
        mi_world_unmake(world, entity);
        mi_world_finish(world, call);
    }
    return result;
}

// Whether ending an entity of a bare world takes no more than its slot and its row at `location`.
static inline bool ends_plainly(const mica_world *world, mica_entity entity, uint32_t location) {
    return MICA_LIKELY(!mi_slots_is_last(entity) && location >= MI_ROW_MAX &&
                       mi_store_table_at(&world->store, location)->is_plain);
}

mica_result mica_entity_destroy(mica_world *world, mica_entity entity) {
    uint32_t location = 0;
    if (MICA_LIKELY(world != NULL && mi_world_is_bare(world) &&
                    mi_slots_resolve(&world->store.slots, entity, &location) &&
                    ends_plainly(world, entity, location))) {
        mi_slots_end_entity(&world->store.slots, entity);
        return mi_store_take_row(&world->store, location);
    }
    return destroy_slowly(world, entity);
}

mica_result mica_entity_destroy_many(mica_world *world, const mica_entity *entities, int32_t count) {
    static const char call[] = "mica_entity_destroy_many";
    const mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    if (count < 0 || (count > 0 && entities == NULL)) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs an array of handles and how many they are");
    }
    mi_store *store = &world->store;
    const bool fetches = mi_fetches(store);
    const bool is_bare = mi_world_is_bare(world); // and stays so, since nobody is told of anything
    const uint32_t many = (uint32_t)count;
    uint32_t location = 0;
    for (uint32_t i = 0; i < many; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many) {
            mi_fetch_slot(&store->slots, entities[i + MI_SLOTS_AHEAD]);
        }
        if (!mi_slots_resolve(&store->slots, entities[i], &location)) {
            return mi_fail(&world->log, MICA_STALE, call, "entities[{}]: {} is not alive in {}", MI_UINT(i),
                           MI_ENTITY(entities[i]), MI_TEXT(world->name));
        }
    }
    for (uint32_t i = 0; i < many; i++) {
        if (fetches && i + MI_SLOTS_AHEAD < many) {
            mi_fetch_slot(&store->slots, entities[i + MI_SLOTS_AHEAD]);
            mi_fetch_row(store, entities[i + MI_ROWS_AHEAD]);
        }
        if (!mi_slots_resolve(&store->slots, entities[i], &location)) { // it was named before
            continue;
        }
        if (is_bare && ends_plainly(world, entities[i], location)) {
            mi_slots_end_entity(&store->slots, entities[i]);
            mi_store_take_row(store, location);
        } else {
            mi_world_unmake(world, entities[i]);
        }
    }
    mi_world_finish(world, call);
    return MICA_OK;
}

// Where values stand

// An element's value and the version of its page; NULL: it is not there, or a tag.
static inline void *find_in_pool(const mi_pool *pool, mica_entity entity, uint64_t **version) {
    const uint32_t position = mi_pool_find(pool, entity);
    if (MICA_UNLIKELY(position == MI_POSITION_NONE || pool->size == 0)) {
        return NULL;
    }
    *version = &pool->stamps[position >> pool->page_shift];
    return mi_pool_value(pool, position);
}

// The value of the row at `location` and the version of its column; NULL: it is not there, or a tag.
static inline void *find_in_row(const mi_store *store, uint32_t location, mica_component component,
                                uint64_t **version) {
    const mi_chunk *chunk = &store->chunks[location >> MI_ROW_BITS];
    const mi_table *table = chunk->of.table;
    if (MICA_UNLIKELY(component >= table->offset_count || table->offset_of[component] == 0 ||
                      table->offset_of[component] == MI_OFFSET_TAG)) {
        return NULL;
    }
    uint8_t *start = mi_table_column(table, chunk->base, component);
    *version = &mi_column_head_of(start)->stamp;
    return start + (size_t)mi_row_of(location) * (table->last_byte_of[component] + 1u);
}

static inline bool is_settled(const mica_world *world) {
    return MICA_LIKELY(world->store.copied_count == 0);
}

// The entity's value of a component and the version of the column or page that it stands in; NULL without an error
// being set.
static inline void *find_value(const mica_world *world, mica_entity entity, mica_component component,
                               uint64_t **version) {
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool != NULL) {
        return find_in_pool(pool, entity, version);
    }
    uint32_t location = 0;
    if (MICA_UNLIKELY(!mi_slots_resolve(&world->store.slots, entity, &location))) {
        return NULL;
    }
    return find_in_row(&world->store, location, component, version);
}

// Whether a component's values are written by link verbs alone. There are few relations.
static inline bool is_relation(const mica_world *world, mica_component component) {
    for (uint32_t i = 0; i < world->relations.count; i++) {
        if (world->relations.data[i].component == component) {
            return true;
        }
    }
    return false;
}

// Adding, setting, removing

// What a verb on one component of one entity is about.
typedef struct verb_target {
    mica_entity entity;
    uint32_t location;
    const mi_type *type;
} verb_target;

static mica_result find_target(const mica_world *world, mica_entity entity, mica_component component,
                               verb_target *found, const char *call) {
    const mica_result result = mi_world_resolve(world, entity, &found->location, call);
    if (MICA_UNLIKELY(result != MICA_OK)) {
        return result;
    }
    found->entity = entity;
    found->type = mi_world_type(world, component, call);
    return MICA_LIKELY(found->type != NULL) ? MICA_OK : MICA_UNKNOWN;
}

static mica_result check_value(const mica_world *world, const mi_type *type, const void *value, const char *call) {
    if (MICA_UNLIKELY(type->info.size == 0 && value != NULL)) {
        return mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
    }
    return MICA_OK;
}

// Adds a component with what it brings along, some of it in pools.
MI_APART static mica_result add_with_elements(mica_world *world, const mi_type *type, mica_entity entity,
                                              const void *value, const char *call) {
    mi_store *store = &world->store;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->elements, 1)) {
        return mi_fail_memory(&world->log, call, sizeof(mi_element));
    }
    world->elements.count = 0;
    if (type->in_pool) {
        world->elements.data[world->elements.count++] =
            (mi_element){.pool = mi_store_find_pool(store, type->info.id), .change = MI_ELEMENT_ADD, .value = value};
    }
    const mica_result result = mi_world_bring_elements(world, type, entity, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_table *from = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    mi_table *to = mi_store_table_with(store, from, type->info.id);
    if (to == NULL) {
        return mi_world_fail_store(world, call);
    }
    mi_change change = {.component = type->info.id, .value = value};
    const mi_edit edit = {.to = to,
                          .changes = &change,
                          .change_count = !type->in_pool && value != NULL,
                          .elements = world->elements.data,
                          .element_count = world->elements.count};
    return mi_world_edit(world, entity, &edit, call);
}

MI_COLD static mica_result fail_exists(const mica_world *world, mica_entity entity, const mi_type *type,
                                       const char *call) {
    return mi_fail(&world->log, MICA_EXISTS, call, "{} has {} already", MI_ENTITY(entity), MI_TEXT(type->info.name));
}

// Adds a component that lives in `pool`.
MI_APART static mica_result add_element(mica_world *world, mi_pool *pool, mica_entity entity, const void *value,
                                        const char *call) {
    uint32_t location = 0;
    mica_result result = mi_world_resolve(world, entity, &location, call);
    if (result == MICA_OK) {
        result = check_value(world, pool->type, value, call);
    }
    if (MICA_UNLIKELY(result != MICA_OK)) {
        return result;
    }
    if (MICA_UNLIKELY(mi_pool_has(pool, entity))) {
        return fail_exists(world, entity, pool->type, call);
    }
    return MICA_LIKELY(pool->type->info.required_count == 0)
               ? mi_world_put_element(world, pool, entity, value, false, call)
               : add_with_elements(world, pool->type, entity, value, call);
}

// Tells of a component that was added, and nothing along with it, by which the entity has come to its row.
static mica_result tell_new_row(mica_world *world, mica_entity entity, const mi_type *type, bool is_given,
                                const char *call) {
    const mi_store *store = &world->store;
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    const void *value = type->info.size == 0 ? NULL
                                             : mi_store_value(store, mi_store_table_at(store, location), location,
                                                              type->info.id, type->info.size);
    return mi_world_tell_put(world, entity, type->info.id, value, is_given, call);
}

// Adds a component that lives in tables and that the entity does not have.
static mica_result add_component(mica_world *world, const verb_target *target, const void *value, const char *call) {
    const mi_type *type = target->type;
    if (MICA_UNLIKELY(type->info.hooks.attach != NULL)) {
        const mica_result result = mi_world_attach(world, type, call);
        return result != MICA_OK ? result
                                 : mi_world_relation(world, type->info.id)->link(world, target->entity, value, 0, call);
    }
    if (MICA_UNLIKELY(type->brings_pool)) {
        return add_with_elements(world, type, target->entity, value, call);
    }
    mi_table *from = mi_store_table_at(&world->store, target->location);
    mi_table *to = mi_store_table_with(&world->store, from, type->info.id);
    if (to == NULL) {
        return mi_world_fail_store(world, call);
    }
    const mi_change change = {.component = type->info.id, .value = value};
    const uint32_t count = value == NULL ? 0 : 1;
    if (MICA_LIKELY(!world->front.is_watched)) {
        return mi_world_change_quietly(world, target->entity, to, &change, count, NULL, call);
    }
    if (!mi_world_tells_simply(world) || to->component_count != from->component_count + 1 || mi_type_in_lanes(type)) {
        return mi_world_change(world, target->entity, to, &change, count, call);
    }
    const mica_result result = mi_world_change_quietly(world, target->entity, to, &change, count, NULL, call);
    return result == MICA_OK && mi_world_hears_of(world, type->info.id)
               ? tell_new_row(world, target->entity, type, value != NULL, call)
               : result;
}

// As mica_entity_add, where no pool of the component is known.
static mica_result add_to_table(mica_world *world, mica_entity entity, mica_component component, const void *value,
                                const char *call) {
    verb_target target = {0};
    mica_result result = find_target(world, entity, component, &target, call);
    if (result == MICA_OK) {
        result = check_value(world, target.type, value, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    if (MICA_UNLIKELY(target.type->in_pool)) { // whose first element this will be
        mi_pool *pool = mi_world_pool(world, target.type, call);
        return pool == NULL ? mica_last_result() : add_element(world, pool, entity, value, call);
    }
    return MICA_UNLIKELY(mi_table_has(mi_store_table_at(&world->store, target.location), component))
               ? fail_exists(world, entity, target.type, call)
               : add_component(world, &target, value, call);
}

// As add_to_pool, where something else is concerned but bytes of a few words.
MI_APART static mica_result add_slowly(mica_world *world, mi_pool *pool, mica_entity entity, const void *value,
                                       const char *call) {
    if (mi_world_tells_simply(world) && mi_store_put_simply(&world->store, pool, entity, value)) {
        return MICA_LIKELY(!world->front.is_watched)
                   ? MICA_OK
                   : mi_world_tell_put(world, entity, pool->type->info.id,
                                       value == NULL ? NULL : mi_pool_value(pool, pool->count - 1), value != NULL,
                                       call);
    }
    const mica_result result = add_element(world, pool, entity, value, call);
    mi_world_finish(world, call);
    return result;
}

// Adds a component whose pool is known, while structure is not locked and mi_world_tells_simply. Nothing is called but
// at the end, so that no registers are saved.
static inline mica_result add_to_pool(mica_world *world, mi_pool *pool, mica_entity entity, const void *value,
                                      const char *call) {
    mi_store *store = &world->store;
    uint64_t *slot = mi_store_open_slot(store, pool, entity, pool->plain_room);
    if (MICA_UNLIKELY(slot == NULL || pool->size == 0)) {
        return add_slowly(world, pool, entity, value, call);
    }
    uint8_t *place = pool->values + (size_t)pool->count * pool->size;
    mi_value_copy_small(place, value, pool->size);
    mi_pool_mark_packed(pool, pool->count, store->version);
    mi_store_enter(store, pool, entity, slot);
    return MICA_LIKELY(!world->front.is_watched)
               ? MICA_OK
               : mi_world_tell_put(world, entity, pool->type->info.id, place, true, call);
}

// The same for a tag; anything else is constructed.
MI_APART static mica_result add_tag_to_pool(mica_world *world, mi_pool *pool, mica_entity entity, const char *call) {
    uint64_t *slot = mi_store_open_slot(&world->store, pool, entity, pool->plain_room);
    if (MICA_UNLIKELY(slot == NULL || pool->size != 0)) {
        return add_slowly(world, pool, entity, NULL, call);
    }
    mi_store_enter(&world->store, pool, entity, slot);
    return MICA_LIKELY(!world->front.is_watched)
               ? MICA_OK
               : mi_world_tell_put(world, entity, pool->type->info.id, NULL, false, call);
}

MI_APART static mica_result add_to_no_pool(mica_world *world, mica_entity entity, mica_component component,
                                           const void *value, const char *call) {
    const mica_result result = add_to_table(world, entity, component, value, call);
    mi_world_finish(world, call);
    return result;
}

// Structure is locked, or somebody waits for a query or observes all components.
MI_APART static mica_result add_widely(mica_world *world, mica_entity entity, mica_component component,
                                       const void *value, const char *call) {
    if (world == NULL || mi_world_is_locked(world)) {
        return mi_world_fail_structure(world, call);
    }
    mi_pool *pool = mi_store_find_pool(&world->store, component);
    return pool != NULL ? add_slowly(world, pool, entity, value, call)
                        : add_to_no_pool(world, entity, component, value, call);
}

// Adds the component of a plain edge, and tells of it. A value that is not given is a tag's, so that little is kept
// meanwhile.
MI_APART static mica_result cross_and_tell(mica_world *world, mica_entity entity, uint32_t location,
                                           const mi_edge *edge, const void *value, const char *call) {
    const void *place = mi_store_cross_adding(&world->store, entity, location, edge, value);
    return mi_world_tell_put(world, entity, mi_edge_component(edge), place, place != NULL, call);
}

// The ways to tables and pools are kept apart, so that neither saves registers for the other; and so is the short way
// between tables.
mica_result mica_entity_add(mica_world *world, mica_entity entity, mica_component component, const void *value) {
    static const char call[] = "mica_entity_add";
    if (MICA_UNLIKELY(world == NULL || !mi_world_is_plain(world))) {
        return add_widely(world, entity, component, value, call);
    }
    mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool != NULL) {
        return value != NULL ? add_to_pool(world, pool, entity, value, call)
                             : add_tag_to_pool(world, pool, entity, call);
    }
    uint32_t location = 0;
    if (MICA_LIKELY(mi_world_crosses(world, entity, &location))) {
        const mi_edge *edge = mi_store_plain_edge(&world->store, location, component, false, value);
        if (MICA_UNLIKELY(edge != NULL && world->front.is_watched)) {
            return cross_and_tell(world, entity, location, edge, value, call);
        }
        if (MICA_LIKELY(edge != NULL)) {
            mi_store_cross_adding(&world->store, entity, location, edge, value);
            return MICA_OK;
        }
    }
    return add_to_no_pool(world, entity, component, value, call);
}

// Replaces a value that is there, which is no structural change.
static inline mica_result replace_value(mica_world *world, const verb_target *target, const void *value, void *place,
                                        uint64_t *version, const char *call) {
    if (!mi_world_replace_value(world, target->type, place, value, false)) {
        return mi_world_fail_hook(world, call);
    }
    mi_stamp_mark(version, mi_world_version(world));
    return MICA_OK;
}

// The same while walks hold copies, or where somebody may have to be told.
MI_APART static mica_result replace_and_tell(mica_world *world, const verb_target *target, const void *value,
                                             void *place, uint64_t *version, const char *call) {
    const mica_component component = target->type->info.id;
    if (!is_settled(world)) {
        mi_world_settle(world, target->entity, component);
    }
    mica_result result = mi_tell_check_depth(world, MICA_SET, component, call);
    if (result == MICA_OK) {
        result = replace_value(world, target, value, place, version, call);
    }
    if (result == MICA_OK && mi_world_hears_set(world, component)) {
        mi_tell_set(world, target->entity, component);
        mi_world_finish(world, call);
    }
    return result;
}

static inline mica_result set_in_place(mica_world *world, const verb_target *target, const void *value, void *place,
                                       uint64_t *version, const char *call) {
    return MICA_UNLIKELY(!is_settled(world) || world->front.is_watched)
               ? replace_and_tell(world, target, value, place, version, call)
               : replace_value(world, target, value, place, version, call);
}

static mica_result set_element(mica_world *world, const verb_target *target, const void *value, const char *call) {
    mi_pool *pool = mi_store_find_pool(&world->store, target->type->info.id);
    uint64_t *version = NULL;
    void *place = pool == NULL ? NULL : find_in_pool(pool, target->entity, &version);
    if (place != NULL) {
        return set_in_place(world, target, value, place, version, call);
    }
    const mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    pool = mi_world_pool(world, target->type, call);
    return pool == NULL ? mica_last_result() : add_slowly(world, pool, target->entity, value, call);
}

// Replaces a value in lanes that is there.
MI_APART static mica_result set_lanes(mica_world *world, const verb_target *target, const void *value,
                                      const char *call) {
    const mica_component component = target->type->info.id;
    const mica_result result = mi_tell_check_depth(world, MICA_SET, component, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_world_write_lanes(world, target->entity, target->location, component, value);
    if (mi_world_hears_set(world, component)) {
        mi_tell_set(world, target->entity, component);
        mi_world_finish(world, call);
    }
    return MICA_OK;
}

// As mica_entity_set, where anything else is concerned but bytes that are there.
MI_APART static mica_result set_slowly(mica_world *world, mica_entity entity, mica_component component,
                                       const void *value, const char *call) {
    verb_target target = {0};
    mica_result result = find_target(world, entity, component, &target, call);
    if (result == MICA_OK) {
        result = mi_world_check_access(world, component, true, entity, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = target.type;
    if (MICA_UNLIKELY(type->info.size == 0 || value == NULL)) {
        return mi_fail(&world->log, type->info.size == 0 ? MICA_NO_VALUE : MICA_INVALID, call,
                       type->info.size == 0 ? "{} is a tag" : "needs a value of {}", MI_TEXT(type->info.name));
    }
    if (type->in_pool) {
        return set_element(world, &target, value, call);
    }
    uint64_t *version = NULL;
    void *place = find_in_row(&world->store, target.location, component, &version);
    if (place != NULL && type->info.hooks.attach == NULL) {
        return set_in_place(world, &target, value, place, version, call);
    }
    if (MICA_UNLIKELY(mi_type_in_lanes(type)) &&
        mi_table_has(mi_store_table_at(&world->store, target.location), component)) {
        return set_lanes(world, &target, value, call);
    }
    result = mi_world_check_structure(world, call);
    if (result == MICA_OK) {
        result = add_component(world, &target, value, call);
        mi_world_finish(world, call);
    }
    return result;
}

// Gives an entity a component that it does not have, or none with a value, while nobody observes.
MI_APART static mica_result set_absent(mica_world *world, mica_entity entity, mica_component component,
                                       const void *value, const char *call) {
    uint32_t location = 0;
    if (MICA_LIKELY(mi_world_is_plain(world) && mi_world_crosses(world, entity, &location))) {
        const mi_edge *edge = mi_store_plain_edge(&world->store, location, component, false, value);
        if (MICA_LIKELY(edge != NULL)) {
            mi_store_cross_adding(&world->store, entity, location, edge, value);
            return MICA_OK;
        }
    }
    return set_slowly(world, entity, component, value, call);
}

MI_APART static mica_result copy_large(void *to, const void *from, uint32_t size) {
    memmove(to, from, size);
    return MICA_OK;
}

mica_result mica_entity_set(mica_world *world, mica_entity entity, mica_component component, const void *value) {
    static const char call[] = "mica_entity_set";
    if (MICA_UNLIKELY(world == NULL || value == NULL || !is_settled(world) || world->front.is_watched)) {
        return set_slowly(world, entity, component, value, call);
    }
    const mi_store *store = &world->store;
    const mi_pool *pool = mi_store_find_pool(store, component);
    uint64_t *version = NULL;
    void *place = NULL;
    uint32_t size = 0;
    uint32_t location = 0;
    if (pool != NULL) {
        place = pool->is_simple ? find_in_pool(pool, entity, &version) : NULL;
        size = pool->size;
    } else if (mi_slots_resolve(&store->slots, entity, &location) && mi_store_table_at(store, location)->is_plain) {
        place = find_in_row(store, location, component, &version);
        if (place == NULL) {
            return set_absent(world, entity, component, value, call);
        }
        place = is_relation(world, component) ? NULL : place;
        size = mi_store_table_at(store, location)->last_byte_of[component] + 1u;
    }
    if (MICA_UNLIKELY(place == NULL)) {
        return set_slowly(world, entity, component, value, call);
    }
    mi_stamp_mark(version, store->version);
    return MICA_LIKELY(mi_value_copy_small(place, value, size)) ? MICA_OK : copy_large(place, value, size);
}

// As mica_entity_remove, where no pool of the component is known.
static mica_result remove_from_table(mica_world *world, mica_entity entity, mica_component component,
                                     const char *call) {
    verb_target target = {0};
    const mica_result result = find_target(world, entity, component, &target, call);
    if (result != MICA_OK) {
        return result;
    }
    mi_table *from = mi_store_table_at(&world->store, target.location);
    if (!mi_table_has(from, component)) { // nor has the entity an element if no pool is known
        return MICA_OK;
    }
    if (MICA_UNLIKELY(target.type->info.hooks.attach != NULL)) {
        return mi_world_relation(world, component)->unlink(world, entity, 0, call);
    }
    mi_store *store = &world->store;
    mi_table *to = mi_store_table_without(store, from, component);
    if (to == NULL) {
        return mi_world_fail_store(world, call);
    }
    if (MICA_LIKELY(!mi_world_hears_of(world, component))) {
        return mi_world_change_quietly(world, entity, to, NULL, 0, NULL, call);
    }
    if (mi_world_tells_simply(world)) {
        // With the row open nothing can fail any more: nothing is made.
        if (to != mi_store_root(store) && !mi_store_open_row(store, to)) {
            return mi_world_fail_store(world, call);
        }
        mi_tell_take(world, entity, component);
        return mi_world_change_quietly(world, entity, to, NULL, 0, NULL, call);
    }
    return mi_world_change(world, entity, to, NULL, 0, call);
}

// Removes a component that lives in `pool` and is no plain value.
MI_APART static mica_result remove_element(mica_world *world, mi_pool *pool, mica_entity entity, const char *call) {
    if (mi_pool_has(pool, entity)) {
        mi_world_take_element(world, pool, entity);
        mi_world_finish(world, call);
        return MICA_OK;
    }
    uint32_t location = 0;
    return mi_world_resolve(world, entity, &location, call);
}

MI_APART static mica_result drop_page_of(mica_world *world, mi_pool *pool, mica_entity entity) {
    mi_pool_drop_page(pool, &world->heap, mica_entity_index(entity) >> MI_SPARSE_SHIFT);
    return MICA_OK;
}

// As remove_from_pool, where something else is concerned but bytes of a few words.
MI_APART static mica_result remove_slowly(mica_world *world, mi_pool *pool, mica_entity entity, const char *call) {
    const mica_component component = pool->type->info.id;
    uint64_t *slot = mi_pool_seek(pool, entity);
    const uint32_t position = slot != NULL ? mi_pool_position_in(slot, entity) : MI_POSITION_NONE;
    if (position == MI_POSITION_NONE || !mi_world_tells_simply(world)) {
        return remove_element(world, pool, entity, call);
    }
    const bool is_heard = mi_world_hears_of(world, component);
    if (is_heard) {
        mi_tell_take_element(world, entity, component, pool->size == 0 ? NULL : mi_pool_value(pool, position));
    }
    if (!mi_store_is_simple(pool)) {
        mi_store_remove_element(&world->store, pool, entity);
    } else {
        mi_store_clear_bit(&world->store, pool, entity);
        if (mi_pool_take_simple(pool, entity, slot, position)) {
            drop_page_of(world, pool, entity);
        }
    }
    if (is_heard) {
        mi_world_finish(world, call);
    }
    return MICA_OK;
}

// Removes a component whose pool is known, while structure is not locked. As in add_to_pool no registers are saved.
static inline mica_result remove_from_pool(mica_world *world, mi_pool *pool, mica_entity entity, const char *call) {
    uint64_t *slot = mi_pool_seek(pool, entity);
    const uint32_t position = slot != NULL ? mi_pool_position_in(slot, entity) : MI_POSITION_NONE;
    if (MICA_UNLIKELY(position == MI_POSITION_NONE || pool->plain_room == 0 || world->front.is_watched)) {
        return remove_slowly(world, pool, entity, call);
    }
    mi_store_clear_bit(&world->store, pool, entity);
    return mi_pool_take_plain(pool, entity, slot, position) ? drop_page_of(world, pool, entity) : MICA_OK;
}

MI_APART static mica_result remove_from_no_pool(mica_world *world, mica_entity entity, mica_component component,
                                                const char *call) {
    const mica_result result = remove_from_table(world, entity, component, call);
    mi_world_finish(world, call);
    return result;
}

mica_result mica_entity_remove(mica_world *world, mica_entity entity, mica_component component) {
    static const char call[] = "mica_entity_remove";
    if (MICA_UNLIKELY(world == NULL || (!mi_world_is_plain(world) && mi_world_is_locked(world)))) {
        return mi_world_fail_structure(world, call);
    }
    mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool != NULL) {
        return remove_from_pool(world, pool, entity, call);
    }
    uint32_t location = 0;
    if (MICA_LIKELY(!world->front.is_watched && mi_world_crosses(world, entity, &location))) {
        const mi_edge *edge = mi_store_plain_edge(&world->store, location, component, true, NULL);
        if (MICA_LIKELY(edge != NULL)) {
            return mi_store_cross_removing(&world->store, entity, location, edge);
        }
    }
    return remove_from_no_pool(world, entity, component, call);
}

// Asking

bool mica_entity_has(const mica_world *world, mica_entity entity, mica_component component) {
    if (MICA_UNLIKELY(world == NULL)) {
        return false;
    }
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool != NULL) {
        return mi_pool_has(pool, entity);
    }
    uint32_t location = 0;
    return mi_slots_resolve(&world->store.slots, entity, &location) &&
           mi_table_has(mi_store_table_at(&world->store, location), component);
}

bool mica_entity_has_all(const mica_world *world, mica_entity entity, const mica_component *components, int32_t count) {
    uint32_t location = 0;
    if (world == NULL || (components == NULL && count > 0) ||
        !mi_slots_resolve(&world->store.slots, entity, &location)) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!mi_world_has(world, entity, location, components[i])) {
            return false;
        }
    }
    return true;
}

bool mica_entity_has_any(const mica_world *world, mica_entity entity, const mica_component *components, int32_t count) {
    for (int32_t i = 0; components != NULL && i < count; i++) {
        if (mica_entity_has(world, entity, components[i])) {
            return true;
        }
    }
    return false;
}

bool mica_world_has_types(mica_world *world, mica_entity entity, mica_type *const *types, int32_t count, bool any) {
    uint32_t location = 0;
    if (world == NULL || (types == NULL && count > 0) || !mi_slots_resolve(&world->store.slots, entity, &location)) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (mi_world_has(world, entity, location, mica_world_component(world, types[i])) == any) {
            return any;
        }
    }
    return !any;
}

// What the look-up found to be neither a value nor plain absence: says why.
MI_COLD static void *fail_get(const mica_world *world, mica_entity entity, mica_component component, const char *call) {
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK || world == NULL) {
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type != NULL && type->info.size == 0) {
        mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
    } else if (type != NULL && mi_type_in_lanes(type) &&
               mi_table_has(mi_store_table_at(&world->store, location), component)) {
        mi_fail(&world->log, MICA_UNSUPPORTED, call,
                "{} lies in lanes, an array a field, and has no address: mica_entity_load copies its value",
                MI_TEXT(type->info.name));
    }
    return NULL;
}

// As mica_entity_get while walks hold copies.
MI_APART static const void *get_settled(const mica_world *world, mica_entity entity, mica_component component,
                                        const char *call) {
    uint64_t *version = NULL;
    if (mi_access_check(world, component, false, entity, call) != MICA_OK) {
        return NULL;
    }
    mi_world_settle(world, entity, component);
    const void *value = find_value(world, entity, component, &version);
    return value != NULL ? value : fail_get(world, entity, component, call);
}

const void *mica_entity_get(const mica_world *world, mica_entity entity, mica_component component) {
    static const char call[] = "mica_entity_get";
    if (MICA_UNLIKELY(world == NULL)) {
        return fail_get(world, entity, component, call);
    }
    if (!is_settled(world)) {
        return get_settled(world, entity, component, call);
    }
    uint64_t *version = NULL;
    const void *value = find_value(world, entity, component, &version);
    return MICA_LIKELY(value != NULL) ? value : fail_get(world, entity, component, call);
}

// As mica_entity_get_write, where anything else is concerned but a value that is there.
MI_APART static void *get_write(mica_world *world, mica_entity entity, mica_component component, const char *call) {
    if (MICA_UNLIKELY(world == NULL)) {
        return fail_get(world, entity, component, call);
    }
    if (!is_settled(world)) {
        if (mi_access_check(world, component, true, entity, call) != MICA_OK) {
            return NULL;
        }
        mi_world_settle(world, entity, component);
    }
    uint64_t *version = NULL;
    void *value = find_value(world, entity, component, &version);
    if (MICA_UNLIKELY(value == NULL)) {
        return fail_get(world, entity, component, call);
    }
    if (MICA_UNLIKELY(is_relation(world, component))) {
        mi_fail(&world->log, MICA_NO_ACCESS, call, "{} is a relation: it changes through its link verbs alone",
                MI_TEXT(mi_schema_type(world->schema, component)->info.name));
        return NULL;
    }
    mi_stamp_mark(version, mi_world_version(world));
    mi_world_written(world, component, &entity, 1);
    return value;
}

void *mica_entity_get_write(mica_world *world, mica_entity entity, mica_component component) {
    static const char call[] = "mica_entity_get_write";
    if (MICA_UNLIKELY(world == NULL || !is_settled(world) || world->front.watches_writes)) {
        return get_write(world, entity, component, call);
    }
    uint64_t *version = NULL;
    void *value = find_value(world, entity, component, &version);
    if (MICA_UNLIKELY(value == NULL || is_relation(world, component))) {
        return get_write(world, entity, component, call);
    }
    mi_stamp_mark(version, world->store.version);
    return value;
}

mica_result mica_entity_patch(mica_world *world, mica_entity entity, mica_component component,
                              void (*change)(void *value, void *user), void *user) {
    static const char call[] = "mica_entity_patch";
    verb_target target = {0};
    mica_result result = find_target(world, entity, component, &target, call);
    if (result == MICA_OK) {
        result = mi_world_check_access(world, component, true, entity, call);
    }
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = target.type;
    if (change == NULL) {
        return mi_fail(&world->log, MICA_INVALID, call, "needs a function that changes {}", MI_TEXT(type->info.name));
    }
    if (!mi_world_has(world, entity, target.location, component)) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} does not have {}", MI_ENTITY(entity),
                       MI_TEXT(type->info.name));
    }
    if (world->front.callback != NULL) {
        const mica_result checked = mi_tell_check_depth(world, MICA_SET, component, call);
        if (checked != MICA_OK) {
            return checked;
        }
    }
    mi_lanes_copy copy;
    const bool in_lanes = mi_type_in_lanes(type) && mi_world_open_copy(world, entity, component, &copy);
    void *value = in_lanes ? copy.value.bytes : get_write(world, entity, component, call);
    if (value == NULL) {
        return mica_last_result();
    }
    mi_callback callback = {.call = call};
    mi_world_enter_callback(world, &callback); // it must not move the row that it is given
    change(value, user);
    mi_world_leave_callback(world, &callback);
    if (in_lanes) {
        mi_world_close_copy(world, &copy);
        mi_world_write_lanes(world, entity, target.location, component, value);
        mi_world_written(world, component, &entity, 1);
    }
    mi_world_tell_set(world, entity, component);
    mi_world_apply_walk_commands(world, call);
    mi_world_finish(world, call);
    return MICA_OK;
}

// Puts a component into the ascending list of the `capacity` lowest ones, of `count` so far.
static void list_component(mica_component *components, int32_t capacity, int32_t count, mica_component component) {
    int32_t place = count < capacity ? count : capacity;
    if (place == capacity && (capacity <= 0 || components[capacity - 1] < component)) {
        return;
    }
    place -= place == capacity;
    while (place > 0 && components[place - 1] > component) {
        components[place] = components[place - 1];
        place--;
    }
    components[place] = component;
}

int32_t mica_entity_components(const mica_world *world, mica_entity entity, mica_component *components,
                               int32_t capacity) {
    static const char call[] = "mica_entity_components";
    uint32_t location = 0;
    if (mi_world_resolve(world, entity, &location, call) != MICA_OK) {
        return -1;
    }
    if (capacity > 0 && components == NULL) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs an array of ids of its capacity");
        return -1;
    }
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, location);
    int32_t count = table->component_count;
    for (int32_t i = 0; i < count && i < capacity; i++) {
        components[i] = table->components[i];
    }
    const uint64_t *mask = mi_store_mask(store, entity);
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        list_component(components, capacity, count++, store->pool_list.data[number]->type->info.id);
    }
    return count;
}
