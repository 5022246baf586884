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

static uint32_t picked_place(const mi_walk *walk, const mi_query_column *column, uint32_t number) {
    return walk->places[column->source][walk->picked[number]];
}

static uint8_t *picked_value(const mi_walk *walk, const mi_query_column *column, uint32_t number) {
    const uint32_t place = picked_place(walk, column, number);
    if (column->pool != NULL) {
        return mi_pool_value(column->pool, place);
    }
    const mi_store *store = walk->filter.store;
    return mi_store_value(store, mi_store_table_at(store, place), place, column->type->info.id,
                          column->type->info.size);
}

// Whether all picked values follow each other.
static bool is_contiguous(const mi_walk *walk, const mi_query_column *column) {
    const uint32_t first = picked_place(walk, column, 0);
    const uint32_t last = picked_place(walk, column, walk->count - 1);
    if (last - first != walk->count - 1 || (column->pool != NULL ? mi_pool_room(column->pool, first) < walk->count
                                                                 : last >> MI_ROW_BITS != first >> MI_ROW_BITS)) {
        return false;
    }
    for (uint32_t k = 1; k + 1 < walk->count; k++) {
        if (picked_place(walk, column, k) != first + k) {
            return false;
        }
    }
    return true;
}

// Copies values of `size` bytes; sizes that are known when this is compiled cost a load and a store.
static inline void copy_each(uint8_t *copy, uint8_t *const *from, uint32_t count, uint32_t size) {
    for (uint32_t k = 0; k < count; k++) {
        if (k + VALUES_AHEAD < count) {
            __builtin_prefetch(from[k + VALUES_AHEAD]);
        }
        memcpy(copy + (size_t)k * size, from[k], size);
    }
}

static void copy_values(const mi_walk *walk, const mi_query_column *column, const mi_walk_column *to) {
    const uint32_t size = column->type->info.size;
    for (uint32_t k = 0; k < walk->count; k++) {
        to->from[k] = picked_value(walk, column, k);
    }
    switch (size) {
    case 4:
        copy_each(to->copy, to->from, walk->count, 4);
        break;
    case 8:
        copy_each(to->copy, to->from, walk->count, 8);
        break;
    case 12:
        copy_each(to->copy, to->from, walk->count, 12);
        break;
    case 16:
        copy_each(to->copy, to->from, walk->count, 16);
        break;
    default:
        copy_each(to->copy, to->from, walk->count, size);
    }
}

void mi_walk_gather(mi_walk *walk) {
    const mica_query *query = walk->query;
    const uint64_t pattern = query->optional_count > 0 ? walk->patterns[walk->picked[0]] : 0;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        mi_walk_column *to = &walk->columns[i];
        to->is_copy = false;
        to->data = NULL;
        if (column->is_optional && (pattern >> i & 1) == 0) {
            continue;
        }
        walk->first_places[column->source] = picked_place(walk, column, 0);
        to->is_copy = !is_contiguous(walk, column);
        to->data = to->is_copy ? to->copy : picked_value(walk, column, 0);
        if (to->is_copy) {
            copy_values(walk, column, to);
        }
    }
}

// Stamps what a column's values stand in.
static void mark_column(const mi_walk *walk, const mi_query_column *column, bool is_copy) {
    const uint64_t version = walk->filter.store->version;
    const uint32_t first = walk->first_places[column->source];
    if (column->pool != NULL && !is_copy) {
        const uint32_t last_page = (first + walk->count - 1) >> column->pool->page_shift;
        for (uint32_t page = first >> column->pool->page_shift; page <= last_page; page++) {
            mi_pool_mark(column->pool, page << column->pool->page_shift, version);
        }
        return;
    }
    for (uint32_t k = 0; k < (is_copy ? walk->count : 1); k++) {
        const uint32_t place = is_copy ? picked_place(walk, column, k) : first;
        if (column->pool != NULL) {
            mi_pool_mark(column->pool, place, version);
        } else {
            mi_column_mark(mi_table_column(mi_store_table_at(walk->filter.store, place),
                                           mi_store_base(walk->filter.store, place), column->type->info.id),
                           version);
        }
    }
}

void mi_walk_write_column(mi_walk *walk, uint32_t number) {
    mi_walk_column *column = &walk->columns[number];
    const mi_query_column *about = &walk->query->columns[number];
    mark_column(walk, about, column->is_copy);
    if (column->is_copy && !column->is_taken) {
        memcpy(column->taken, column->copy, (size_t)walk->count * about->type->info.size);
        column->is_taken = true;
        walk->query->world->store.copied_count++;
    }
}

// Brings values of `size` bytes back that were changed.
static inline void settle_each(const mi_walk_column *column, uint32_t first, uint32_t end, uint32_t size) {
    for (uint32_t row = first; row < end; row++) {
        uint8_t *copy = column->copy + (size_t)row * size;
        uint8_t *taken = column->taken + (size_t)row * size;
        if (memcmp(copy, taken, size) != 0) {
            memcpy(column->from[row], copy, size);
            memcpy(taken, copy, size);
        }
    }
}

static void settle_rows(const mi_walk *walk, uint32_t number, uint32_t first, uint32_t end) {
    const mi_walk_column *column = &walk->columns[number];
    const uint32_t size = walk->query->columns[number].type->info.size;
    switch (size) {
    case 4:
        settle_each(column, first, end, 4);
        break;
    case 8:
        settle_each(column, first, end, 8);
        break;
    case 12:
        settle_each(column, first, end, 12);
        break;
    case 16:
        settle_each(column, first, end, 16);
        break;
    default:
        settle_each(column, first, end, size);
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
            walk->query->world->store.copied_count--;
        }
    }
}

void mi_walks_settle(const mica_world *world) {
    for (mi_walk *walk = world->walks; walk != NULL; walk = walk->next) {
        if (walk->query != NULL) {
            mi_walk_settle(walk, false);
        }
    }
}

void mi_world_settle(const mica_world *world, mica_entity entity, mica_component component) {
    for (const mi_walk *walk = world->walks; walk != NULL; walk = walk->next) {
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
