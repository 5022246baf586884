// Orders: the entities that match a query, sorted by a key and kept.
//
// An order remembers its entities in sorted order, which of them are equal to the one before (ties), and what that was
// made from: stamps of who matches and in which order a walk visits them, and the version up to which keys were seen.
// While the stamps stand and no key's column or page is stamped later, the list is good as it is. Otherwise all who
// match are visited again, which takes no comparison, and numbered by their order of visit. Those who were in the list
// and whose keys stand keep their order among each other; only the members of a tie are put in order anew, by number.
// The others are sorted and merged into them. So comparisons are spent on what may have changed, times the logarithm of
// the rest.
//
// Keys are told apart by version alone, and a change after sorting may carry the same one: outside systems and walks an
// order lets the world's version grow once it has sorted; inside, where the version belongs to the step, keys that
// carry the present version are sorted again next time. An order is no state of the world and looks at it from outside:
// it remembers an outside version, so that a restore leaves those keys sorted that it has not exchanged (rewind.h).
#include "world/order.h"

#include <mica/order.h>

#include "base/sort.h"
#include "world/rewind.h"
#include "world/walk.h"

#include <string.h>

// What a list was made from, but for the keys. Every number grows when something that it is about changes.
typedef struct stamps {
    uint64_t row_moves; // rows of tables that may match
    uint64_t row_count;
    uint64_t tables_dropped;
    uint64_t elements; // of the query's pools
    uint64_t entities; // for queries that take entities without components
    uint64_t marks;    // disabled and killed entities, disabled components
} stamps;

struct mica_order {
    mica_query *query;
    mica_component key; // 0: none
    const mi_query_column *column;
    mica_compare_function compare;
    void *user;
    mi_sorted *sorted;       // NULL: not sorted yet
    MI_ARRAY(uint64_t) ties; // bit n: entity n is equal to the one before; room for all
    stamps stamps;
    uint64_t seen_version; // outside: keys that were written or exchanged later may have changed since
    uint64_t seen_stamp;   // the same inside, found anew before it is used
};

typedef enum element_state {
    ELEMENT_KEPT,    // if it was in the list, it keeps its place there
    ELEMENT_CHANGED, // its key may have changed
    ELEMENT_TAKEN    // was found in the list
} element_state;

// Scratch that all orders of a world share. `elements` are those who match, by number; the lists are of numbers.
typedef struct mi_sorter {
    bool is_sorting;
    MI_ARRAY(mica_element) elements;
    MI_ARRAY(uint8_t) states;  // by number: an element_state
    MI_ARRAY(uint32_t) places; // by entity index: its number, if the element there is the entity
    MI_ARRAY(uint32_t) kept;   // numbers in the order of the list
    MI_ARRAY(uint64_t) kept_ties;
    MI_ARRAY(uint32_t) others;
    MI_ARRAY(uint32_t) merged; // and what sorting needs
} mi_sorter;

// Lists

static size_t sorted_size(uint32_t capacity) {
    return sizeof(mi_sorted) + capacity * sizeof(mica_entity);
}

void mi_sorted_release(mi_sorted *sorted, mi_heap *heap) {
    if (sorted != NULL && --sorted->holder_count == 0) {
        mi_heap_release(heap, MICA_MEMORY_QUERIES, sorted, sorted_size(sorted->capacity), _Alignof(max_align_t));
    }
}

// Makes sure that the order has a list of its own with room for `count` entities; an open walk keeps the old one. What
// is in it may be lost only if the list is shared or too short, and then `old` is that list, to be released.
static bool reserve_sorted(mica_order *order, uint32_t count, mi_sorted **old) {
    mi_heap *heap = &order->query->world->heap;
    *old = NULL;
    if (order->sorted != NULL && order->sorted->holder_count == 1 && order->sorted->capacity >= count) {
        return true;
    }
    const uint32_t capacity = count + count / 8;
    mi_sorted *sorted = mi_heap_allocate(heap, MICA_MEMORY_QUERIES, sorted_size(capacity), _Alignof(max_align_t));
    if (sorted == NULL) {
        return false;
    }
    *old = order->sorted;
    sorted->holder_count = 1;
    sorted->count = 0;
    sorted->capacity = capacity;
    order->sorted = sorted;
    return true;
}

// Whether a list is good

static void add_rows(stamps *now, const mi_store *store, mi_table *const *tables, uint32_t count) {
    now->tables_dropped = store->tables_dropped;
    for (uint32_t i = 0; i < count; i++) {
        now->row_moves += tables[i]->row_moves;
        now->row_count += tables[i]->row_count;
    }
}

static stamps stamps_of(const mica_query *query) {
    const mi_store *store = &query->world->store;
    stamps now = {.elements = mi_query_structure(query), .marks = store->mark_changes};
    if (query->requires_table) {
        add_rows(&now, store, query->tables.data, query->tables.count);
    } else if (query->requires_nothing || query->term_count > query->pool_term_count) {
        add_rows(&now, store, store->ordered.data, store->ordered.count);
    }
    if (query->requires_nothing) {
        now.entities = 2 * store->slots.issued - store->slots.alive;
    }
    return now;
}

static bool stamps_equal(const stamps *a, const stamps *b) {
    return a->row_moves == b->row_moves && a->row_count == b->row_count && a->tables_dropped == b->tables_dropped &&
           a->elements == b->elements && a->entities == b->entities && a->marks == b->marks;
}

// Whether no key can have changed.
static bool keys_stand(const mica_order *order) {
    const mica_query *query = order->query;
    if (order->key == 0) {
        return true;
    }
    if (order->column->type->info.always_dirty) {
        return false;
    }
    const mi_pool *pool = order->column->pool;
    const bool is_restored = query->world->rewind != NULL;
    if (pool != NULL) {
        for (uint32_t page = 0; (uint64_t)page << pool->page_shift < pool->count; page++) {
            const uint32_t position = page << pool->page_shift;
            if (mi_pool_version(pool, position) > order->seen_stamp ||
                (is_restored && mi_rewind_of_position(query->world, pool, position) > order->seen_version)) {
                return false;
            }
        }
        return true;
    }
    for (uint32_t i = 0; i < query->tables.count; i++) {
        const mi_table *table = query->tables.data[i];
        for (uint32_t k = 0; (uint64_t)k << table->shift < table->row_count; k++) {
            uint8_t *base = query->world->store.chunks[table->chunk_ids[k]].base;
            if (mi_column_version(mi_table_column(table, base, order->key)) > order->seen_stamp ||
                (is_restored && mi_rewind_of_column(query->world, table, k, order->key) > order->seen_version)) {
                return false;
            }
        }
    }
    return true;
}

// Who matches

// The value of an entity's key where it stands, and whether it may have changed.
static const void *find_key(const mica_order *order, mica_entity entity, bool *has_changed) {
    const mica_world *world = order->query->world;
    const mi_store *store = &world->store;
    const mi_pool *pool = order->column->pool;
    if (pool != NULL) {
        const uint32_t position = mi_pool_find(pool, entity);
        *has_changed = mi_pool_version(pool, position) > order->seen_stamp ||
                       (world->rewind != NULL && mi_rewind_of_position(world, pool, position) > order->seen_version);
        return mi_pool_value(pool, position);
    }
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    uint8_t *column = mi_table_column(mi_store_table_at(store, location), mi_store_base(store, location), order->key);
    *has_changed = mi_column_version(column) > order->seen_stamp ||
                   (world->rewind != NULL && mi_rewind_of_row(world, location, order->key) > order->seen_version);
    return column + (size_t)mi_row_of(location) * order->column->type->info.size;
}

// Adds the entities of a span to the elements.
static bool add_elements(mi_sorter *sorter, const mica_order *order, const mica_entity *entities, uint32_t count) {
    mi_heap *heap = &order->query->world->heap;
    const size_t need = (size_t)sorter->elements.count + count;
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->elements, need) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->states, need)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = sorter->elements.count + i;
        bool has_changed = false;
        const void *value = order->key == 0 ? NULL : find_key(order, entities[i], &has_changed);
        has_changed |= order->key != 0 && order->column->type->info.always_dirty;
        sorter->elements.data[number] = (mica_element){.entity = entities[i], .value = value};
        sorter->states.data[number] = has_changed ? ELEMENT_CHANGED : ELEMENT_KEPT;
        sorter->places.data[mica_entity_index(entities[i])] = number;
    }
    sorter->elements.count += count;
    sorter->states.count = sorter->elements.count;
    return true;
}

static bool collect(mi_sorter *sorter, const mica_order *order) {
    mica_world *world = order->query->world;
    const uint32_t index_count = world->store.slots.used;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_QUERIES, &sorter->places, index_count)) {
        return false;
    }
    if (index_count > sorter->places.count) {
        memset(sorter->places.data + sorter->places.count, 0, (index_count - sorter->places.count) * sizeof(uint32_t));
        sorter->places.count = index_count;
    }
    mi_walk *walk = mi_walk_open(order->query, false);
    bool is_done = walk != NULL;
    sorter->elements.count = 0;
    sorter->states.count = 0;
    while (is_done && mi_walk_next(walk)) {
        is_done = add_elements(sorter, order, walk->entities, walk->count);
    }
    if (walk != NULL) {
        mi_walk_close(walk);
    }
    return is_done;
}

// Sorting

// What the comparisons of numbers go by.
typedef struct sort_context {
    const mica_order *order;
    const mica_element *elements;
} sort_context;

static int compare_keys(const sort_context *context, uint32_t a, uint32_t b) {
    return context->order->compare(&context->elements[a], &context->elements[b], context->order->user);
}

// By key, then by number: no two are equal.
static int compare_elements(const void *context, uint32_t a, uint32_t b) {
    const int by_key = compare_keys(context, a, b);
    return by_key != 0 ? by_key : (a > b) - (a < b);
}

static int compare_numbers(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

// Divides the elements into those that keep their order and the others. Of the others, those that were in the list come
// first and in its order, which is most likely close to the new one.
static void divide(mi_sorter *sorter, const mica_order *order) {
    const mi_sorted *sorted = order->sorted;
    bool is_tie = true; // all from the last kept one on are equal
    sorter->kept.count = 0;
    sorter->others.count = 0;
    for (uint32_t i = 0; sorted != NULL && i < sorted->count; i++) {
        const mica_entity entity = sorted->entities[i];
        const uint32_t index = mica_entity_index(entity);
        const uint32_t number = index < sorter->places.count ? sorter->places.data[index] : 0;
        is_tie &= mi_bit_get(order->ties.data, order->ties.count, i);
        if (number >= sorter->elements.count || !mica_entity_equal(sorter->elements.data[number].entity, entity)) {
            continue;
        }
        if (sorter->states.data[number] == ELEMENT_CHANGED) {
            sorter->others.data[sorter->others.count++] = number;
        } else {
            if (is_tie) {
                mi_bit_set(sorter->kept_ties.data, sorter->kept.count);
            }
            sorter->kept.data[sorter->kept.count++] = number;
            is_tie = true;
        }
        sorter->states.data[number] = ELEMENT_TAKEN;
    }
    for (uint32_t number = 0; number < sorter->elements.count; number++) {
        if (sorter->states.data[number] != ELEMENT_TAKEN) {
            sorter->others.data[sorter->others.count++] = number;
        }
    }
}

// Puts the members of each tie among the kept in their order of visit.
static void order_ties(mi_sorter *sorter) {
    uint32_t first = 0;
    for (uint32_t end = 1; end <= sorter->kept.count; end++) {
        if (end == sorter->kept.count || !mi_bit_get(sorter->kept_ties.data, sorter->kept_ties.count, end)) {
            mi_sort(sorter->kept.data + first, sorter->merged.data, end - first, compare_numbers, NULL);
            first = end;
        }
    }
}

// The first of the kept from `at` on that comes behind `number`. It is looked for in steps that double, as few kept
// ones stand between two others if there are many of those, and many if there are few.
static uint32_t find_behind(const mi_sorter *sorter, const sort_context *context, uint32_t at, uint32_t number) {
    const uint32_t *kept = sorter->kept.data;
    const uint32_t count = sorter->kept.count;
    uint32_t low = at; // all before are in front of `number`
    uint32_t high = at;
    for (uint32_t step = 1; high < count && compare_elements(context, kept[high], number) < 0; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_elements(context, kept[middle], number) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Appends a number to those merged, and whether it is equal to the last one: asked for if that is not known.
static void append(mi_sorter *sorter, mica_order *order, const sort_context *context, uint32_t number,
                   const bool *is_tie) {
    const uint32_t count = sorter->merged.count++;
    const bool is_equal =
        is_tie != NULL ? *is_tie : count > 0 && compare_keys(context, sorter->merged.data[count - 1], number) == 0;
    if (is_equal) {
        mi_bit_set(order->ties.data, count);
    }
    sorter->merged.data[count] = number;
}

static void append_kept(mi_sorter *sorter, mica_order *order, const sort_context *context, uint32_t first,
                        uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const bool is_tie = mi_bit_get(sorter->kept_ties.data, sorter->kept_ties.count, i);
        append(sorter, order, context, sorter->kept.data[i], i > first ? &is_tie : NULL);
    }
}

static void merge(mi_sorter *sorter, mica_order *order, const sort_context *context) {
    uint32_t at = 0;
    sorter->merged.count = 0;
    for (uint32_t i = 0; i < sorter->others.count; i++) {
        const uint32_t number = sorter->others.data[i];
        const uint32_t end = find_behind(sorter, context, at, number);
        append_kept(sorter, order, context, at, end);
        append(sorter, order, context, number, NULL);
        at = end;
    }
    append_kept(sorter, order, context, at, sorter->kept.count);
}

static void clear_words(uint64_t *words, uint32_t count) {
    if (count > 0) {
        memset(words, 0, count * sizeof(uint64_t));
    }
}

// Makes room for the lists of numbers.
static bool reserve_lists(mi_sorter *sorter, mica_order *order) {
    mi_heap *heap = &order->query->world->heap;
    const uint32_t count = sorter->elements.count;
    const uint32_t word_count = mi_bit_words(count);
    if (!MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->kept, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->kept_ties, word_count) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->others, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &sorter->merged, count) ||
        !MI_RESERVE(heap, MICA_MEMORY_QUERIES, &order->ties, word_count)) {
        return false;
    }
    sorter->kept_ties.count = word_count;
    clear_words(sorter->kept_ties.data, word_count);
    return true;
}

// Sorts the elements into the order's list. False: out of memory, and nothing has changed.
static bool sort(mi_sorter *sorter, mica_order *order, const char *call) {
    mica_world *world = order->query->world;
    mi_sorted *old = NULL;
    if (!reserve_lists(sorter, order)) {
        return false;
    }
    divide(sorter, order);
    if (!reserve_sorted(order, sorter->elements.count, &old)) {
        return false;
    }
    order->ties.count = sorter->kept_ties.count;
    clear_words(order->ties.data, order->ties.count);
    const sort_context context = {.order = order, .elements = sorter->elements.data};
    mi_callback callback = {.call = call};
    mi_world_enter_callback(world, &callback);
    sorter->is_sorting = true;
    order_ties(sorter);
    mi_sort(sorter->others.data, sorter->merged.data, sorter->others.count, compare_elements, &context);
    merge(sorter, order, &context);
    sorter->is_sorting = false;
    mi_world_leave_callback(world, &callback);
    order->sorted->count = sorter->merged.count;
    for (uint32_t i = 0; i < sorter->merged.count; i++) {
        order->sorted->entities[i] = sorter->elements.data[sorter->merged.data[i]].entity;
    }
    mi_sorted_release(old, &world->heap);
    return true;
}

static mi_sorter *take_sorter(mica_world *world) {
    if (world->sorter == NULL) {
        world->sorter =
            mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_QUERIES, sizeof(mi_sorter), _Alignof(mi_sorter));
    }
    return world->sorter;
}

// Brings the order up to date with its query, which is.
static bool update(mica_order *order, const char *call) {
    mica_world *world = order->query->world;
    const stamps now = stamps_of(order->query);
    order->seen_stamp = mi_inside_version(world, order->seen_version);
    if (order->sorted != NULL && stamps_equal(&now, &order->stamps) && keys_stand(order)) {
        return true;
    }
    mi_sorter *sorter = take_sorter(world);
    // Addresses for writing that are in somebody's hands by now are stamped with the present version.
    const bool is_alone = !mi_world_is_locked(world) && mi_world_run(world) == NULL;
    if (sorter == NULL || !collect(sorter, order) || !sort(sorter, order, call)) {
        mi_fail_memory(&world->log, call, 0);
        return false;
    }
    order->stamps = now;
    order->seen_version = mi_outside_version(world, world->store.version) - !is_alone;
    world->store.version += is_alone;
    return true;
}

// False, with the error set: a compare function calls.
static bool check_sorting(const mica_world *world, const char *call) {
    if (world->sorter == NULL || !world->sorter->is_sorting) {
        return true;
    }
    mi_fail_plain(&world->log, MICA_LOCKED, call,
                  "an order is being sorted: its compare function must not call the world");
    return false;
}

// Brings the order up to date, and holds what is sorted; NULL, with the error set. Which tables match is noted here,
// where one thread is at a time: of a query of tables alone nobody else needs it, and sharing the world has not done
// it.
static mi_sorted *take_sorted(mica_order *order, const char *call) {
    mica_world *world = order->query->world;
    mi_sorted *sorted = NULL;
    mi_world_lock(world);
    const bool is_ready = check_sorting(world, call) && update(order, call);
    if (is_ready && !mi_query_note_tables(order->query)) {
        mi_fail_memory(&world->log, call, 0);
    } else if (is_ready) {
        sorted = order->sorted;
        sorted->holder_count++;
    }
    mi_world_unlock(world);
    return sorted;
}

void mi_world_forget_orders(mica_world *world) {
    for (uint32_t i = 0; i < world->orders.count; i++) {
        // Others may have as many entities, of which as many were ever issued.
        world->orders.data[i]->stamps.entities = UINT64_MAX;
    }
}

// The public face

static bool check_def(const mica_query *query, mica_component key, mica_compare_function compare, const char *call) {
    if (query == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a query");
        return false;
    }
    const mica_world *world = query->world;
    if (!check_sorting(world, call)) {
        return false;
    }
    if (mi_query_asks_changes(query)) {
        mi_fail(&world->log, MICA_INVALID, call,
                "the query ({}) asks for changes: who matches it depends on who walks, and cannot be kept in order",
                MI_TEXT(query->text));
        return false;
    }
    if (compare == NULL) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs a compare function");
        return false;
    }
    if (key == 0) {
        return true;
    }
    const mi_type *type = mi_world_type(world, key, call);
    if (type == NULL) {
        return false;
    }
    if (mi_type_in_lanes(type)) {
        mi_fail(&world->log, MICA_UNSUPPORTED, call, "{} lies in lanes and has no values at addresses to be compared",
                MI_TEXT(type->info.name));
        return false;
    }
    const uint8_t column = key < query->access_count ? query->column_of[key] : MI_COLUMN_NONE;
    if (column == MI_COLUMN_NONE || query->columns[column].is_optional) {
        mi_fail(&world->log, MICA_NO_ACCESS, call, "the query ({}) does not both require and read {}",
                MI_TEXT(query->text), MI_TEXT(type->info.name));
        return false;
    }
    return true;
}

mica_order *mica_order_create(mica_query *query, mica_component key, mica_compare_function compare, void *user) {
    static const char call[] = "mica_order_create";
    if (!check_def(query, key, compare, call)) {
        return NULL;
    }
    mica_world *world = query->world;
    if (mi_world_check_making(world, "an order", call) != MICA_OK) {
        return NULL;
    }
    mica_order *order = NULL;
    if (MI_RESERVE(&world->heap, MICA_MEMORY_QUERIES, &world->orders, world->orders.count + 1u)) {
        order = mi_heap_allocate_zeroed(&world->heap, MICA_MEMORY_QUERIES, sizeof(*order), _Alignof(mica_order));
    }
    if (order == NULL) {
        mi_fail_memory(&world->log, call, sizeof(*order));
        return NULL;
    }
    order->query = mica_query_retain(query);
    order->key = key;
    order->column = key == 0 ? NULL : &query->columns[query->column_of[key]];
    order->compare = compare;
    order->user = user;
    world->orders.data[world->orders.count++] = order;
    return order;
}

static void free_order(mica_order *order) {
    mi_heap *heap = &order->query->world->heap;
    mi_sorted_release(order->sorted, heap);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &order->ties);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, order, sizeof(*order), _Alignof(mica_order));
}

void mica_order_destroy(mica_order *order) {
    if (order == NULL || !check_sorting(order->query->world, "mica_order_destroy") ||
        mi_world_check_making(order->query->world, "an order", "mica_order_destroy") != MICA_OK) {
        return;
    }
    mica_world *world = order->query->world;
    uint32_t place = 0;
    while (world->orders.data[place] != order) {
        place++;
    }
    world->orders.data[place] = world->orders.data[--world->orders.count];
    mica_query_release(order->query);
    free_order(order);
}

mica_iter mica_order_begin(mica_order *order) {
    static const char call[] = "mica_order_begin";
    mica_iter iter = mi_iter_closed(order == NULL ? NULL : order->query);
    if (order == NULL) {
        mi_fail(NULL, MICA_INVALID, call, "needs an order; the last error was \"{}\"", MI_TEXT(mica_last_error()));
        return iter;
    }
    mica_query *query = order->query;
    mica_world *world = query->world;
    if (mi_query_update(query, call) != MICA_OK) {
        mi_world_fail_unheard(world);
        return iter;
    }
    if (MICA_UNLIKELY(world->store.copied_count > 0)) {
        if (mi_access_check_query(query, call) != MICA_OK) {
            return iter;
        }
        mi_walks_settle(world);
    }
    mi_sorted *sorted = take_sorted(order, call);
    if (sorted == NULL) {
        mi_world_fail_unheard(world);
        return iter;
    }
    iter.walk = mi_walk_open_list(query, sorted->entities, sorted->count);
    if (iter.walk == NULL) {
        mi_world_lock(world);
        mi_sorted_release(sorted, &world->heap);
        mi_world_unlock(world);
        mi_query_fail_walk(query, call);
        return iter;
    }
    iter.walk->filter.tests = 0; // all of them match
    iter.walk->sorted = sorted;
    mi_iter_open(&iter);
    return iter;
}

void mi_world_free_sorter(mica_world *world) {
    mi_heap *heap = &world->heap;
    mi_sorter *sorter = world->sorter;
    if (sorter == NULL || sorter->is_sorting) {
        return;
    }
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->elements);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->states);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->places);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->kept);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->kept_ties);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->others);
    MI_FREE(heap, MICA_MEMORY_QUERIES, &sorter->merged);
    mi_heap_release(heap, MICA_MEMORY_QUERIES, sorter, sizeof(*sorter), _Alignof(mi_sorter));
    world->sorter = NULL;
}

void mi_world_free_orders(mica_world *world) {
    for (uint32_t i = 0; i < world->orders.count; i++) {
        free_order(world->orders.data[i]);
    }
    MI_FREE(&world->heap, MICA_MEMORY_QUERIES, &world->orders);
    mi_world_free_sorter(world);
}
