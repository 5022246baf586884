// Changing an entity's table and its elements in pools as one: all of it happens, or nothing.
//
// The order is what makes that so, and what lets a caller's value lie anywhere in the world:
//   1. the pools of all new elements are opened; the values of a packed pool may move then, and whatever lies in them
//      is followed, for elements and for changes of the table alike;
//   2. new elements are made in the open places from what is constructed or copied: hooks may say no, and plain bytes
//      may lie in rows that the next step moves;
//   3. the table is changed, which may fail: what was made is destructed then, and what was opened is closed;
//   4. what cannot fail follows: values that are moved in (those lie outside the world), publishing, replacing and
//      removing.
#include "world/notice.h"

#include "store/visibility.h"

mi_pool *mi_world_pool(mica_world *world, const mi_type *type, const char *call) {
    mi_pool *pool = mi_store_find_pool(&world->store, type->info.id);
    if (MICA_UNLIKELY(pool == NULL)) {
        pool = mi_store_pool(&world->store, type);
        if (pool == NULL) {
            mi_world_fail_store(world, call);
        }
    }
    return pool;
}

static bool is_listed(const mica_world *world, const mi_pool *pool) {
    for (uint32_t i = 0; i < world->elements.count; i++) {
        if (world->elements.data[i].pool == pool) {
            return true;
        }
    }
    return false;
}

mica_result mi_world_bring_elements(mica_world *world, const mi_type *type, mica_entity entity, const char *call) {
    const size_t need = (size_t)world->elements.count + (size_t)type->info.required_count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->elements, need)) {
        return mi_fail_memory(&world->log, call, need * sizeof(mi_element));
    }
    for (int32_t i = 0; i < type->info.required_count; i++) {
        const mi_type *required = mi_schema_type(world->schema, type->info.required[i]);
        if (!required->in_pool) {
            continue;
        }
        mi_pool *pool = mi_world_pool(world, required, call);
        if (pool == NULL) {
            return mica_last_result();
        }
        if (!mi_pool_has(pool, entity) && !is_listed(world, pool)) {
            world->elements.data[world->elements.count++] = (mi_element){.pool = pool, .change = MI_ELEMENT_ADD};
        }
    }
    return MICA_OK;
}

static bool is_moved_in(const mi_element *element) {
    return element->value != NULL && (element->move || element->pool->type->movable_only);
}

// Whether the value of an element is made while the edit can still be undone.
static bool is_made_first(const mi_element *element) {
    return element->change == MI_ELEMENT_ADD && element->pool->size > 0 && !is_moved_in(element);
}

static void *open_place(const mi_pool *pool) {
    return mi_pool_value(pool, mi_pool_next(pool));
}

void mi_world_follow(const mi_edit *edit, const mi_pool_moved *moved) {
    for (uint32_t i = 0; i < edit->change_count; i++) {
        edit->changes[i].value = mi_pool_follow(moved, edit->changes[i].value);
    }
    for (uint32_t i = 0; i < edit->element_count; i++) {
        edit->elements[i].value = mi_pool_follow(moved, edit->elements[i].value);
    }
}

static void close_elements(mica_world *world, const mi_edit *edit, uint32_t count, uint32_t entity_index) {
    for (uint32_t i = 0; i < count; i++) {
        if (edit->elements[i].change == MI_ELEMENT_ADD) {
            mi_pool_close_index(edit->elements[i].pool, &world->heap, entity_index);
        }
    }
}

static bool open_elements(mica_world *world, const mi_edit *edit, uint32_t entity_index) {
    for (uint32_t i = 0; i < edit->element_count; i++) {
        if (edit->elements[i].change != MI_ELEMENT_ADD) {
            continue;
        }
        mi_pool_moved moved = {0};
        if (!mi_store_open_element(&world->store, edit->elements[i].pool, entity_index, &moved)) {
            close_elements(world, edit, i, entity_index);
            return false;
        }
        if (MICA_UNLIKELY(moved.byte_size > 0)) {
            mi_world_follow(edit, &moved);
        }
    }
    return true;
}

// Destructs what was made of the first `count` elements.
static void unmake_elements(mica_world *world, const mi_edit *edit, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const mi_element *element = &edit->elements[i];
        if (is_made_first(element)) {
            mi_value_destruct(element->pool->type, &world->store.values, open_place(element->pool), 1);
        }
    }
}

static bool make_elements(mica_world *world, const mi_edit *edit) {
    for (uint32_t i = 0; i < edit->element_count; i++) {
        const mi_element *element = &edit->elements[i];
        if (is_made_first(element) &&
            !mi_value_make(element->pool->type, &world->store.values, open_place(element->pool), element->value)) {
            unmake_elements(world, edit, i);
            return false;
        }
    }
    return true;
}

// Opens and makes all that can fail of the elements of an entity of this index, or leaves everything as it was.
static mica_result prepare_elements(mica_world *world, const mi_edit *edit, uint32_t entity_index, const char *call) {
    if (!open_elements(world, edit, entity_index)) {
        return mi_world_fail_store(world, call);
    }
    if (!make_elements(world, edit)) {
        close_elements(world, edit, edit->element_count, entity_index);
        return mi_world_fail_hook(world, call);
    }
    return MICA_OK;
}

static void discard_elements(mica_world *world, const mi_edit *edit, uint32_t entity_index) {
    unmake_elements(world, edit, edit->element_count);
    close_elements(world, edit, edit->element_count, entity_index);
}

static bool set_element(mica_world *world, mica_entity entity, const mi_element *element) {
    mi_pool *pool = element->pool;
    const uint32_t position = mi_pool_find(pool, entity);
    if (!mi_world_replace_value(world, pool->type, mi_pool_value(pool, position), element->value, element->move)) {
        return false;
    }
    mi_pool_mark(pool, position, world->store.version);
    return true;
}

static void put_element(mi_store *store, mica_entity entity, const mi_element *element) {
    mi_pool *pool = element->pool;
    if (pool->size > 0 && is_moved_in(element)) {
        mi_value_move(pool->type, &store->values, open_place(pool), (void *)(uintptr_t)element->value, 1);
    }
    mi_store_put_element(store, pool, entity);
}

// Does the rest, in the steps that pools.h asks for. False: the one value that is replaced by a copy could not be made.
static bool finish_elements(mica_world *world, mica_entity entity, const mi_edit *edit) {
    mi_store *store = &world->store;
    const mi_element *end = edit->elements + edit->element_count;
    for (const mi_element *element = edit->elements; element < end; element++) {
        if (element->change == MI_ELEMENT_ADD) {
            put_element(store, entity, element);
        } else if (element->change == MI_ELEMENT_REMOVE) {
            mi_bit_clear(mi_store_mask(store, entity), element->pool->index);
        } else if (!set_element(world, entity, element)) {
            return false;
        }
    }
    for (const mi_element *element = edit->elements; element < end; element++) {
        if (element->change != MI_ELEMENT_SET) {
            mi_store_settle_groups(store, element->pool, entity);
        }
    }
    for (const mi_element *element = edit->elements; element < end; element++) {
        if (element->change == MI_ELEMENT_REMOVE) {
            mi_store_take_element(store, element->pool, entity);
        }
    }
    return true;
}

// Whether nothing but one value is replaced, so that a copy that fails leaves the entity as it was. For assertions.
static MICA_UNUSED bool replaces_only(const mi_edit *edit) {
    return edit->element_count == 1 && edit->change_count == 0;
}

mica_result mi_world_edit(mica_world *world, mica_entity entity, const mi_edit *edit, const char *call) {
    if (edit->element_count == 0 && edit->renewed_count == 0) { // nothing to be joined
        return mi_world_change(world, entity, edit->to, edit->changes, edit->change_count, call);
    }
    const uint32_t index = mica_entity_index(entity);
    for (uint32_t i = 0; i < edit->element_count; i++) {
        MI_ASSERT(edit->elements[i].change != MI_ELEMENT_SET || is_moved_in(&edit->elements[i]) || replaces_only(edit));
    }
    mica_result result = prepare_elements(world, edit, index, call);
    if (result != MICA_OK) {
        return result;
    }
    const bool tells = mi_world_tells(world, entity);
    mi_notice notice = {.to = edit->to};
    if (tells) {
        notice = mi_world_notice(world, entity, edit->to, edit->changes, edit->change_count);
        notice.elements = edit->elements;
        notice.element_count = edit->element_count;
        notice.renewed = edit->renewed;
        notice.renewed_count = edit->renewed_count;
    }
    result = mi_world_change_quietly(world, entity, edit->to, edit->changes, edit->change_count, tells ? &notice : NULL,
                                     call);
    if (result != MICA_OK) {
        discard_elements(world, edit, index);
        return result;
    }
    if (!finish_elements(world, entity, edit)) {
        return mi_world_fail_hook(world, call);
    }
    for (uint32_t i = 0; i < edit->renewed_count; i++) {
        mi_store_forget_toggle(&world->store, entity, edit->renewed[i]);
    }
    if (tells) {
        mi_tell_after(world, &notice);
    }
    return MICA_OK;
}

mica_entity mi_world_make_edited(mica_world *world, const mi_edit *edit, const char *call) {
    if (edit->element_count == 0) {
        return mi_world_make(world, edit->to, edit->changes, edit->change_count, call);
    }
    if (!mi_world_have_slot(world, call)) {
        return MICA_NULL;
    }
    const uint32_t index = mi_slots_next(&world->store.slots);
    if (prepare_elements(world, edit, index, call) != MICA_OK) {
        return MICA_NULL;
    }
    const mica_entity entity = mi_world_make_quietly(world, edit->to, edit->changes, edit->change_count, call);
    if (mica_entity_is_null(entity)) {
        discard_elements(world, edit, index);
        return MICA_NULL;
    }
    finish_elements(world, entity, edit);
    if (mi_world_tells_made(world, entity)) {
        mi_tell_after(world, &(mi_notice){.entity = entity,
                                          .to = edit->to,
                                          .changes = edit->changes,
                                          .change_count = edit->change_count,
                                          .elements = edit->elements,
                                          .element_count = edit->element_count});
    }
    return entity;
}
