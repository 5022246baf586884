// Telling of restores; see tell.h.
//
// Which queries an entity comes to match or ceases to is found out before anything changes, from what it is and what it
// will be. While the library's own listeners alone are told, observers of programs are mute.
#include "state/tell.h"

#include "state/difference.h"
#include "world/notice.h"
#include "world/query.h"
#include "world/rewind.h"

typedef struct mi_telling {
    mi_difference difference;
    MI_ARRAY(mi_element) elements; // of the entity that is looked at
    MI_ARRAY(mi_marking) markings;
} mi_telling;

// Queries

// What becomes of an entity: the table that it will be in, and the elements that come and go. NULL: out of memory.
static const mi_table *find_future(mi_telling *telling, mica_entity entity, const mi_table *table) {
    const mi_difference *difference = &telling->difference;
    mica_world *world = difference->world;
    uint32_t first = 0;
    const uint32_t count = mi_difference_places(difference, entity, &first);
    telling->elements.count = 0;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_STATE, &telling->elements, count)) {
        return NULL;
    }
    MI_ASSERT(count == 0 || telling->elements.data != NULL);
    for (uint32_t i = first; i < first + count; i++) {
        const mi_restore_place *place = &difference->places.data[difference->place_order.data[i]];
        const bool is_after = place->image != NULL;
        if (place->pool == NULL) {
            table = is_after ? place->table : mi_store_root(&world->store);
            continue;
        }
        mi_element *last = telling->elements.count == 0 ? NULL : &telling->elements.data[telling->elements.count - 1];
        if (is_after && last != NULL && last->pool == place->pool) {
            telling->elements.count--; // it stands elsewhere in the pool
        } else {
            telling->elements.data[telling->elements.count++] =
                (mi_element){.pool = place->pool, .change = is_after ? MI_ELEMENT_ADD : MI_ELEMENT_REMOVE};
        }
    }
    return table;
}

// The marks of a slot that change, from number `*at` of the difference's on; false: out of memory.
static bool find_markings(mi_telling *telling, uint32_t entity_index, uint32_t *at) {
    const mi_difference *difference = &telling->difference;
    mica_world *world = difference->world;
    mi_marking whole = {.hides = mi_marks_has(&world->store.disabled, entity_index)};
    bool is_whole = false;
    telling->markings.count = 0;
    for (; *at < difference->mark_order.count; ++*at) {
        const mi_restore_mark *mark = &difference->marks.data[difference->mark_order.data[*at]];
        if (mark->entity_index != entity_index) {
            break;
        }
        if (!MI_RESERVE(&world->heap, MICA_MEMORY_STATE, &telling->markings, (size_t)telling->markings.count + 2)) {
            return false;
        }
        if (mark->component != 0) {
            telling->markings.data[telling->markings.count++] =
                (mi_marking){.component = mark->component, .hides = mark->is_member};
            continue;
        }
        is_whole = true;
        if (mark->kills) {
            whole.kills = mark->is_member;
            whole.revives = !mark->is_member;
        } else {
            whole.hides = mark->is_member;
        }
    }
    if (is_whole) {
        telling->markings.data[telling->markings.count++] = whole;
    }
    return true;
}

static const mi_table *table_of(const mica_world *world, mica_entity entity) {
    return mi_store_table_at(&world->store, mi_slots_location(&world->store.slots, mica_entity_index(entity)));
}

static void match(mi_telling *telling, mica_entity entity, const mi_table *from, const mi_table *to) {
    mi_difference *difference = &telling->difference;
    mica_world *world = difference->world;
    const mi_notice notice = {.entity = entity,
                              .from = from,
                              .to = to,
                              .elements = telling->elements.data,
                              .element_count = telling->elements.count};
    mi_match_restored(world, &notice, telling->markings.data, telling->markings.count);
    for (uint32_t i = 0; i < world->signals.queries.count; i++) {
        const mi_query_watch *watch = world->signals.queries.data[i];
        if (watch->did_match && !watch->will_match) {
            mi_difference_add(difference, &difference->before, MICA_LEFT, entity, i);
        } else if (!watch->did_match && watch->will_match) {
            mi_difference_add(difference, &difference->after, MICA_ENTERED, entity, i);
        }
    }
}

static bool match_queries(mi_telling *telling) {
    const mi_difference *difference = &telling->difference;
    const mica_world *world = difference->world;
    uint32_t mark_at = 0;
    for (uint32_t i = 0; i < difference->touched.count; i++) {
        const uint32_t index = difference->touched.data[i];
        const mica_entity before = mi_difference_handle(difference, index, false);
        const mica_entity after = mi_difference_handle(difference, index, true);
        const bool is_same = mica_entity_equal(before, after);
        if (!find_markings(telling, index, &mark_at)) {
            return false;
        }
        if (!mica_entity_is_null(before) && !is_same) {
            telling->elements.count = 0;
            match(telling, before, table_of(world, before), NULL);
        }
        if (!mica_entity_is_null(after)) {
            const mi_table *from = is_same ? table_of(world, after) : NULL;
            const mi_table *to = find_future(telling, after, is_same ? from : mi_store_root(&world->store));
            if (to == NULL) {
                return false;
            }
            match(telling, after, from, to);
        }
    }
    return difference->is_complete;
}

// Preparing

static bool has_listeners(const mica_world *world, bool tells_all) {
    bool has_own = false;
    for (uint32_t i = 0; world->front.is_watched && i < world->signals.observers.count; i++) {
        has_own |= world->signals.observers.data[i]->is_own;
    }
    return has_own || (tells_all && world->front.is_watched);
}

// Values with hooks are all brought anew.
static void unname_hooked(mica_world *world) {
    mi_store *store = &world->store;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        for (uint32_t k = 0; (table->can_fail || table->has_destruct) && (uint64_t)k << table->shift < table->row_count;
             k++) {
            uint8_t *base = store->chunks[table->chunk_ids[k]].base;
            for (uint32_t c = 0; c < table->column_count; c++) {
                if (mi_type_is_owning(table->columns[c].type)) {
                    mi_stamp_unname(&mi_column_head_of(base + table->columns[c].offset)->stamp);
                }
            }
        }
    }
    for (uint32_t number = 0; number < store->pool_list.count; number++) {
        mi_pool *pool = store->pool_list.data[number];
        const bool is_hooked = pool->size > 0 && mi_type_is_owning(pool->type);
        for (uint32_t page = 0; is_hooked && (uint64_t)page << pool->page_shift < pool->count; page++) {
            mi_stamp_unname(&pool->stamps[page]);
        }
    }
}

static void free_telling(mi_restore *restore) {
    mi_telling *telling = restore->telling;
    mi_heap *heap = &restore->world->heap;
    mi_difference_free(&telling->difference);
    MI_FREE(heap, MICA_MEMORY_STATE, &telling->elements);
    MI_FREE(heap, MICA_MEMORY_STATE, &telling->markings);
    mi_heap_release(heap, MICA_MEMORY_STATE, telling, sizeof(*telling), _Alignof(mi_telling));
    restore->telling = NULL;
}

bool mi_telling_prepare(mi_restore *restore) {
    mica_world *world = restore->world;
    if (!has_listeners(world, restore->tells_all)) {
        return true;
    }
    mi_telling *telling =
        mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_STATE, sizeof(*telling), _Alignof(mi_telling));
    restore->telling = telling;
    if (telling == NULL) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    mi_difference *difference = &telling->difference;
    if (!mi_difference_find(difference, world, restore->snapshot) || !match_queries(telling)) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    mi_difference_sort(difference, &difference->before);
    mi_difference_sort(difference, &difference->after);
    if (!difference->is_complete) {
        return mi_restore_fail(restore, MICA_OUT_OF_MEMORY);
    }
    if (restore->tells_all) {
        unname_hooked(world);
    }
    return true;
}

void mi_telling_cancel(mi_restore *restore) {
    if (restore->telling != NULL) {
        free_telling(restore);
    }
}

// Telling

static void tell(mica_world *world, const mi_restore_signals *signals) {
    for (uint32_t i = 0; i < signals->order.count; i++) {
        const mi_restore_signal *signal = &signals->list.data[signals->order.data[i]];
        mi_tell_restored(world, signal->kind, signal->entity, signal->number);
    }
}

void mi_telling_before(mi_restore *restore) {
    mica_world *world = restore->world;
    if (restore->telling == NULL) {
        return;
    }
    world->rewind->telling = mi_outside_version(world, world->store.version) + 1;
    world->rewind->tells_news = restore->snapshot->keeps_versions;
    if (!restore->tells_all) {
        mi_signals_mute(world, true);
    }
    tell(world, &restore->telling->difference.before);
}

void mi_telling_after(mi_restore *restore) {
    mica_world *world = restore->world;
    if (restore->telling == NULL) {
        return;
    }
    world->rewind->telling = world->rewind->version; // an observer may have drawn a line (mica_world_advance_version)
    tell(world, &restore->telling->difference.after);
    if (!restore->tells_all) {
        mi_signals_mute(world, false);
    }
    world->rewind->telling = 0;
    world->rewind->tells_news = false;
    free_telling(restore);
}
