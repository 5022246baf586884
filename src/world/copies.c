// Copies of values that lie apart, for spans that are picked from windows; see walk.h.
//
// A column of copies that is written is compared, value by value, with what it was when it was asked for: only what
// changed goes back. So what verbs or other walks wrote meanwhile to values that the span left alone stays, and
// bringing back twice does no harm. `copied_count` of the store counts the columns that may have something to bring
// back: while it is not 0, verbs and walks call mi_world_settle and mi_walks_settle before they look at values.
#include "world/walk.h"

#include <string.h>

// How many values ahead memory is asked for.
#define VALUES_AHEAD 16u

// Whether all picked values follow each other.
static bool is_contiguous(const mi_walk *walk, const mi_query_column *column) {
    const uint32_t *places = walk->picked_places[column->source];
    const uint32_t first = places[0];
    const uint32_t last = places[walk->count - 1];
    if (last - first != walk->count - 1 || (column->pool != NULL ? mi_pool_room(column->pool, first) < walk->count
                                                                 : last >> MI_ROW_BITS != first >> MI_ROW_BITS)) {
        return false;
    }
    for (uint32_t k = 1; k + 1 < walk->count; k++) {
        if (places[k] != first + k) {
            return false;
        }
    }
    return true;
}

// Copies values of `size` bytes that stand at places of one array; where that is large, memory is asked for ahead.
static inline void copy_array(uint8_t *copy, const uint8_t *array, const uint32_t *places, uint32_t count,
                              uint32_t size, bool fetches) {
    for (uint32_t k = 0; k < count; k++) {
        if (fetches && k + VALUES_AHEAD < count) {
            __builtin_prefetch(array + (size_t)places[k + VALUES_AHEAD] * size);
        }
        mi_value_copy_bytes(copy + (size_t)k * size, array + (size_t)places[k] * size, size);
    }
}

// From the one array of a packed pool. Sizes that are known when this is compiled cost a load and a store.
static void copy_packed(uint8_t *copy, const mi_pool *pool, const uint32_t *places, uint32_t count) {
    const uint8_t *array = pool->pages[0];
    if (pool->count >= MI_FETCHED_COUNT) {
        copy_array(copy, array, places, count, pool->size, true);
        return;
    }
    switch (pool->size) {
    case 4:
        copy_array(copy, array, places, count, 4, false);
        break;
    case 8:
        copy_array(copy, array, places, count, 8, false);
        break;
    case 12:
        copy_array(copy, array, places, count, 12, false);
        break;
    case 16:
        copy_array(copy, array, places, count, 16, false);
        break;
    default:
        copy_array(copy, array, places, count, pool->size, false);
    }
}

// From anywhere else: where the values are is found out first, so that memory can be asked for ahead.
static void copy_apart(const mi_walk_column *to, const mi_walk *walk, const mi_query_column *column) {
    const uint32_t *places = walk->picked_places[column->source];
    const uint32_t size = column->type->info.size;
    for (uint32_t k = 0; k < walk->count; k++) {
        to->from[k] = mi_walk_value(walk, column, places[k]);
        __builtin_prefetch(to->from[k]);
    }
    for (uint32_t k = 0; k < walk->count; k++) {
        mi_value_copy_bytes(to->copy + (size_t)k * size, to->from[k], size);
    }
}

static bool is_packed(const mi_query_column *column) {
    return column->pool != NULL && column->pool->type->info.layout == MICA_PACKED;
}

static void copy_values(const mi_walk *walk, const mi_query_column *column, const mi_walk_column *to) {
    if (is_packed(column)) {
        copy_packed(to->copy, column->pool, walk->picked_places[column->source], walk->count);
    } else {
        copy_apart(to, walk, column);
    }
}

void mi_walk_gather(mi_walk *walk) {
    const mica_query *query = walk->query;
    const uint64_t pattern = query->optional_count > 0 ? walk->patterns[walk->picked[0]] : 0;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        mi_walk_column *to = &walk->columns[i];
        to->is_copy = false;
        to->marked_version = 0;
        to->data = NULL;
        if (column->is_optional && (pattern >> i & 1) == 0) {
            continue;
        }
        const uint32_t first = walk->picked_places[column->source][0];
        walk->first_places[column->source] = first;
        to->is_copy = !is_contiguous(walk, column);
        to->data = to->is_copy ? to->copy : mi_walk_value(walk, column, first);
        if (to->is_copy) {
            copy_values(walk, column, to);
        }
    }
}

// What the changes of a walk are stamped with.
static uint64_t version_of(const mi_walk *walk) {
    return walk->actor == NULL ? walk->filter.store->version : walk->actor->version;
}

// Stamps what the value at a place stands in with a version; `marks` false: as written, but not as changed.
static inline void mark_place(const mi_walk *walk, const mi_query_column *column, uint32_t place, bool marks,
                              uint64_t version) {
    const mi_store *store = walk->filter.store;
    uint64_t *stamp;
    if (column->pool != NULL) {
        stamp = &column->pool->stamps[place >> column->pool->page_shift];
    } else {
        const mi_table *table = mi_store_table_at(store, place);
        uint8_t *base = mi_store_base(store, place);
        stamp = &mi_column_head_of(mi_table_any_column(table, base, column->type->info.id))->stamp;
    }
    if (marks) {
        mi_stamp_mark(stamp, version);
    } else {
        mi_stamp_unname(stamp);
    }
}

// Stamps what a column's values stand in, likewise.
static void mark_column(const mi_walk *walk, const mi_query_column *column, bool is_copy, bool marks) {
    const uint64_t version = version_of(walk);
    const uint32_t first = walk->first_places[column->source];
    if (column->pool != NULL && !is_copy) {
        const uint32_t last_page = (first + walk->count - 1) >> column->pool->page_shift;
        for (uint32_t page = first >> column->pool->page_shift; page <= last_page; page++) {
            mark_place(walk, column, page << column->pool->page_shift, marks, version);
        }
        return;
    }
    for (uint32_t k = 0; k < (is_copy ? walk->count : 1); k++) {
        mark_place(walk, column, is_copy ? walk->picked_places[column->source][k] : first, marks, version);
    }
}

// Notes that a column may have something to bring back, or no longer. In a shared world that is asked for whenever
// walks may hold copies.
static void count_copied(const mi_walk *walk, bool is_held) {
    if (walk->actor == NULL) {
        mi_store_count_copied(&walk->query->world->store, is_held);
    }
}

void mi_walk_write_column(mi_walk *walk, uint32_t number) {
    mi_walk_column *column = &walk->columns[number];
    const mi_query_column *about = &walk->query->columns[number];
    const uint64_t version = version_of(walk);
    // Once a span: walks by rows come here for every row.
    if (column->marked_version != version) {
        const bool marks = !walk->query->terms[about->term].is_marked;
        column->marked_version = version;
        mark_column(walk, about, column->is_copy, marks);
        if (marks) {
            mi_world_written(walk->query->world, about->type->info.id, walk->entities, walk->count);
        }
    }
    if (column->is_copy && !column->is_taken) {
        memcpy(column->taken, column->copy, (size_t)walk->count * about->type->info.size);
        column->is_taken = true;
        count_copied(walk, true);
    }
}

void mi_walk_mark_row(const mi_walk *walk, uint32_t number, uint32_t row) {
    const mi_query_column *about = &walk->query->columns[number];
    const bool is_run = walk->picked_count == 0;
    mark_place(walk, about, is_run ? walk->first_places[about->source] + row : walk->picked_places[about->source][row],
               true, version_of(walk));
    mi_world_written(walk->query->world, about->type->info.id, walk->entities + row, 1);
}

// Brings values of `size` bytes back that were changed.
static inline void settle_sized(const mi_walk *walk, uint32_t number, uint32_t first, uint32_t end, uint32_t size) {
    const mi_walk_column *column = &walk->columns[number];
    const mi_query_column *about = &walk->query->columns[number];
    const bool packed = is_packed(about);
    for (uint32_t row = first; row < end; row++) {
        uint8_t *copy = column->copy + (size_t)row * size;
        uint8_t *taken = column->taken + (size_t)row * size;
        if (memcmp(copy, taken, size) != 0) {
            memcpy(packed ? mi_pool_value(about->pool, walk->picked_places[about->source][row]) : column->from[row],
                   copy, size);
            memcpy(taken, copy, size);
        }
    }
}

static void settle_rows(const mi_walk *walk, uint32_t number, uint32_t first, uint32_t end) {
    const uint32_t size = walk->query->columns[number].type->info.size;
    switch (size) {
    case 4:
        settle_sized(walk, number, first, end, 4);
        break;
    case 8:
        settle_sized(walk, number, first, end, 8);
        break;
    case 12:
        settle_sized(walk, number, first, end, 12);
        break;
    case 16:
        settle_sized(walk, number, first, end, 16);
        break;
    default:
        settle_sized(walk, number, first, end, size);
    }
}

void mi_walk_settle(mi_walk *walk, bool ends) {
    for (uint32_t i = 0; walk->picked_count > 0 && i < walk->query->column_count; i++) {
        mi_walk_column *column = &walk->columns[i];
        if (!column->is_taken) {
            continue;
        }
        settle_rows(walk, i, 0, walk->count);
        if (ends) {
            column->is_taken = false;
            count_copied(walk, false);
        }
    }
}

void mi_walks_settle(const mica_world *world) {
    for (mi_walk *walk = *mi_world_walks((mica_world *)(uintptr_t)world); walk != NULL; walk = walk->next) {
        if (walk->query != NULL) {
            mi_walk_settle(walk, false);
        }
    }
}

void mi_world_settle(const mica_world *world, mica_entity entity, mica_component component) {
    for (const mi_walk *walk = *mi_world_walks((mica_world *)(uintptr_t)world); walk != NULL; walk = walk->next) {
        const mica_query *query = walk->query;
        const uint32_t column =
            query != NULL && component < query->access_count ? query->column_of[component] : MI_COLUMN_NONE;
        if (column == MI_COLUMN_NONE || !walk->columns[column].is_taken) {
            continue;
        }
        for (uint32_t row = 0; row < walk->count; row++) {
            if (mica_entity_equal(walk->entities[row], entity)) {
                settle_rows(walk, column, row, row + 1);
                break;
            }
        }
    }
}
