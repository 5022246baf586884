// Finding what a restore changes; see difference.h.
//
// Chunks and pages are compared place by place: columns that name the snapshot's images are equal, others are compared
// value by value where the same entity stands in the same place. Whoever stands elsewhere then is found by its handle:
// all places that are not the same before and after are listed for both sides and sorted, so that those of an entity
// come together. An entity whose place is on no list keeps it.
//
// Only signals that somebody hears are listed.
#include "state/difference.h"

#include "base/sort.h"
#include "store/visibility.h"
#include "world/notice.h"

#include <string.h>

#define PURPOSE MICA_MEMORY_STATE

static bool is_heard(const mi_difference *difference, uint32_t kind, uint32_t number) {
    const mi_signals *signals = &difference->world->signals;
    switch (kind) {
    case MICA_CREATED:
    case MICA_DESTROYED:
    case MI_SIGNAL_MARKED:
        return mi_signals_hear(signals, kind, 0);
    case MICA_ENTERED:
    case MICA_LEFT:
        return true;
    default:
        return mi_signals_hear(signals, kind, 0) || mi_signals_hear(signals, kind, (mica_component)number);
    }
}

void mi_difference_add(mi_difference *difference, mi_restore_signals *signals, uint32_t kind, mica_entity entity,
                       uint32_t number) {
    if (!is_heard(difference, kind, number)) {
        return;
    }
    const uint32_t count = signals->list.count;
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &signals->list, (size_t)count + 1)) {
        difference->is_complete = false;
        return;
    }
    signals->list.data[signals->list.count++] =
        (mi_restore_signal){.entity = entity, .number = number, .kind = (uint8_t)kind};
}

static void touch(mi_difference *difference, uint32_t entity_index) {
    const uint32_t count = difference->touched.count;
    if (difference->world->signals.queries.count == 0 ||
        (count > 0 && difference->touched.data[count - 1] == entity_index)) {
        return;
    }
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &difference->touched, (size_t)count + 1)) {
        difference->is_complete = false;
        return;
    }
    difference->touched.data[difference->touched.count++] = entity_index;
}

static void add_place(mi_difference *difference, const mi_restore_place *place) {
    const uint32_t count = difference->places.count;
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &difference->places, (size_t)count + 1)) {
        difference->is_complete = false;
        return;
    }
    difference->places.data[difference->places.count++] = *place;
}

// Values

// The image of a component's column in a chunk; NULL: it is a tag, or left out.
static const mi_image *find_image(const mi_chunk_image *chunk, mica_component component) {
    for (uint32_t i = 0; i < chunk->column_count; i++) {
        const mi_image *image = chunk->columns[i].image;
        if (image != NULL && image->type->info.id == component) {
            return image;
        }
    }
    return NULL;
}

static bool is_named(uint64_t stamp, uint64_t name, const mi_image *image) {
    return mi_stamp_is_named(stamp) && name == image->number;
}

static bool equals(const mi_image *image, uint32_t row, const void *value) {
    return memcmp(image->data + (size_t)row * image->size, value, image->size) == 0;
}

static void add_set(mi_difference *difference, mica_entity entity, mica_component component) {
    mi_difference_add(difference, &difference->after, MICA_SET, entity, component);
}

// Tables

// A chunk beside its image.
typedef struct chunk_pair {
    const mi_table *table;
    uint32_t chunk_index;
    uint8_t *base; // NULL: it has no rows
    const mica_entity *entities;
    uint32_t rows;
    const mi_chunk_image *image; // NULL: likewise
    const mica_entity *image_entities;
    uint32_t image_rows;
} chunk_pair;

static chunk_pair pair_chunk(const mi_store *store, const mi_table *table, const mi_rows_image *rows,
                             uint32_t chunk_index) {
    chunk_pair pair = {.table = table, .chunk_index = chunk_index};
    if ((uint64_t)chunk_index << table->shift < table->row_count) {
        pair.base = store->chunks[table->chunk_ids[chunk_index]].base;
        pair.entities = (const mica_entity *)(const void *)pair.base;
        pair.rows = mi_table_chunk_rows(table, chunk_index);
    }
    if (rows != NULL && chunk_index < rows->chunk_count) {
        pair.image = rows->chunks[chunk_index];
        pair.image_entities = mi_image_handles(pair.image->handles.image);
        pair.image_rows = pair.image->row_count;
    }
    return pair;
}

static bool is_same_row(const chunk_pair *pair, uint32_t row) {
    if (row >= pair->rows || row >= pair->image_rows) {
        return false;
    }
    MI_ASSERT(pair->entities != NULL && pair->image_entities != NULL);
    return mica_entity_equal(pair->entities[row], pair->image_entities[row]);
}

static void find_rows(mi_difference *difference, const chunk_pair *pair) {
    const bool is_same = pair->base != NULL && pair->image != NULL &&
                         is_named(mi_column_head_of(pair->base)->stamp, mi_column_head_of(pair->base)->image,
                                  pair->image->handles.image);
    const uint32_t least = pair->rows < pair->image_rows ? pair->rows : pair->image_rows;
    const uint32_t most = pair->rows > pair->image_rows ? pair->rows : pair->image_rows;
    for (uint32_t row = is_same ? least : 0; row < most; row++) {
        if (is_same_row(pair, row)) {
            continue;
        }
        if (row < pair->rows) {
            MI_ASSERT(pair->entities != NULL);
            add_place(difference,
                      &(mi_restore_place){
                          .entity = pair->entities[row],
                          .table = pair->table,
                          .row = mi_store_location(pair->table, (pair->chunk_index << pair->table->shift) + row)});
        }
        if (row < pair->image_rows) {
            MI_ASSERT(pair->image_entities != NULL);
            add_place(difference,
                      &(mi_restore_place){
                          .entity = pair->image_entities[row], .table = pair->table, .image = pair->image, .row = row});
        }
    }
}

// Finds the values that differ where the same entity stands.
static void find_values(mi_difference *difference, const chunk_pair *pair, const mi_column *column) {
    const mi_store *store = &difference->world->store;
    const mica_component component = column->type->info.id;
    const mi_image *image = find_image(pair->image, component);
    const mi_column_head *head = mi_column_head_of(pair->base + column->offset);
    if (image == NULL || is_named(head->stamp, head->image, image) || !is_heard(difference, MICA_SET, component)) {
        return;
    }
    const uint32_t least = pair->rows < pair->image_rows ? pair->rows : pair->image_rows;
    const uint32_t first = mi_store_location(pair->table, pair->chunk_index << pair->table->shift);
    for (uint32_t row = 0; row < least; row++) {
        mi_lanes_value aside;
        if (is_same_row(pair, row) &&
            !equals(image, row, mi_store_look(store, pair->table, first + row, component, &aside))) {
            add_set(difference, pair->entities[row], component);
        }
    }
}

static void find_in_table(mi_difference *difference, const mi_table *table, const mi_rows_image *rows) {
    const uint32_t chunk_count = (uint32_t)(((uint64_t)table->row_count + table->row_mask) >> table->shift);
    const uint32_t image_count = rows == NULL ? 0 : rows->chunk_count;
    for (uint32_t k = 0; k < chunk_count || k < image_count; k++) {
        const chunk_pair pair = pair_chunk(&difference->world->store, table, rows, k);
        find_rows(difference, &pair);
        for (uint32_t i = 0; pair.base != NULL && pair.image != NULL && i < table->column_count; i++) {
            find_values(difference, &pair, &table->columns[i]);
        }
    }
}

// Notes numbers that were seen, of `count` in all: whether each one was stands in `spare`.
static bool forget_seen(mi_difference *difference, uint32_t count) {
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &difference->spare, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        difference->spare.data[i] = false;
    }
    difference->spare.count = count;
    return true;
}

static bool find_in_tables(mi_difference *difference) {
    mi_store *store = &difference->world->store;
    const mica_snapshot *snapshot = difference->snapshot;
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        const mi_rows_image *rows = snapshot->tables[i];
        const mi_table *table = mi_store_table(store, rows->components, rows->component_count);
        if (table == NULL) {
            return false;
        }
    }
    if (!forget_seen(difference, store->tables.count)) {
        return false;
    }
    for (uint32_t i = 0; i < snapshot->table_count; i++) {
        const mi_rows_image *rows = snapshot->tables[i];
        const mi_table *table = mi_store_table(store, rows->components, rows->component_count); // is there by now
        difference->spare.data[table->id] = true;
        find_in_table(difference, table, rows);
    }
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        if (table->row_count > 0 && !difference->spare.data[table->id]) {
            find_in_table(difference, table, NULL);
        }
    }
    return difference->is_complete;
}

// Pools

// Who stands at a position of a pool, or of its image; null: nobody.
static mica_entity element_at(const mi_pool *pool, uint32_t position) {
    return position < pool->count && mi_pool_is_live(pool, position) ? pool->entities[position] : MICA_NULL;
}

static mica_entity image_element_at(const mi_rows_image *rows, uint32_t position) {
    if (rows == NULL || position >= rows->row_count) {
        return MICA_NULL;
    }
    const mi_chunk_image *chunk = rows->chunks[position >> rows->shift];
    const mica_entity entity = mi_image_handles(chunk->handles.image)[position & ((1u << rows->shift) - 1)];
    return mica_entity_generation(entity) == MICA_GENERATION_MAX ? MICA_NULL : entity;
}

static void find_element(mi_difference *difference, mi_pool *pool, const mi_rows_image *rows, uint32_t position) {
    const mica_entity entity = element_at(pool, position);
    const mica_entity image_entity = image_element_at(rows, position);
    if (!mica_entity_equal(entity, image_entity)) {
        if (!mica_entity_is_null(entity)) {
            add_place(difference, &(mi_restore_place){.entity = entity, .pool = pool, .row = position});
        }
        if (!mica_entity_is_null(image_entity)) {
            add_place(difference, &(mi_restore_place){.entity = image_entity,
                                                      .pool = pool,
                                                      .image = rows->chunks[position >> rows->shift],
                                                      .row = position & ((1u << rows->shift) - 1)});
        }
        return;
    }
    if (mica_entity_is_null(entity) || pool->size == 0) {
        return;
    }
    const mi_image *image = find_image(rows->chunks[position >> rows->shift], pool->type->info.id);
    const uint32_t page = position >> pool->page_shift;
    if (image != NULL && !is_named(pool->stamps[page], pool->images[page], image) &&
        !equals(image, position & ((1u << rows->shift) - 1), mi_pool_value(pool, position))) {
        add_set(difference, entity, pool->type->info.id);
    }
}

static void find_in_pool(mi_difference *difference, mi_pool *pool, const mi_rows_image *rows) {
    const uint32_t image_count = rows == NULL ? 0 : rows->row_count;
    for (uint32_t position = 0; position < pool->count || position < image_count; position++) {
        find_element(difference, pool, rows, position);
    }
}

static bool find_in_pools(mi_difference *difference) {
    mi_store *store = &difference->world->store;
    const mica_snapshot *snapshot = difference->snapshot;
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        const mi_rows_image *rows = snapshot->pools[i];
        if (mi_store_pool(store, mi_schema_type(store->schema, rows->components[0])) == NULL) {
            return false;
        }
    }
    if (!forget_seen(difference, store->pool_list.count)) {
        return false;
    }
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        const mi_rows_image *rows = snapshot->pools[i];
        mi_pool *pool = mi_store_find_pool(store, rows->components[0]);
        difference->spare.data[pool->index] = true;
        find_in_pool(difference, pool, rows);
    }
    for (uint32_t number = 0; number < store->pool_list.count; number++) {
        mi_pool *pool = store->pool_list.data[number];
        if (pool->count > 0 && !difference->spare.data[number]) {
            find_in_pool(difference, pool, NULL);
        }
    }
    return difference->is_complete;
}

// Entities that come, go, or stand elsewhere

static int compare_handles(mica_entity a, mica_entity b) {
    const uint32_t a_index = mica_entity_index(a);
    const uint32_t b_index = mica_entity_index(b);
    if (a_index != b_index) {
        return a_index < b_index ? -1 : 1;
    }
    const uint32_t a_generation = mica_entity_generation(a);
    const uint32_t b_generation = mica_entity_generation(b);
    return (a_generation > b_generation) - (a_generation < b_generation);
}

static uint32_t pool_order(const mi_restore_place *place) {
    return place->pool == NULL ? 0 : place->pool->index + 1;
}

static int compare_places(const void *context, uint32_t a, uint32_t b) {
    const mi_restore_place *places = context;
    const int by_handle = compare_handles(places[a].entity, places[b].entity);
    if (by_handle != 0) {
        return by_handle;
    }
    const uint32_t a_pool = pool_order(&places[a]);
    const uint32_t b_pool = pool_order(&places[b]);
    if (a_pool != b_pool) {
        return a_pool < b_pool ? -1 : 1;
    }
    return (places[a].image != NULL) - (places[b].image != NULL);
}

static bool sort_numbers(mi_difference *difference, void *numbers, uint32_t count, mi_compare compare,
                         const void *context) {
    typedef MI_ARRAY(uint32_t) number_array;
    number_array *array = numbers;
    mi_heap *heap = &difference->world->heap;
    if (!MI_RESERVE(heap, PURPOSE, array, count) || !MI_RESERVE(heap, PURPOSE, &difference->spare, count)) {
        difference->is_complete = false;
        return false;
    }
    for (array->count = 0; array->count < count; array->count++) {
        array->data[array->count] = array->count;
    }
    mi_sort(array->data, difference->spare.data, count, compare, context);
    return true;
}

static const mi_restore_place *place_at(const mi_difference *difference, uint32_t number) {
    return &difference->places.data[difference->place_order.data[number]];
}

uint32_t mi_difference_places(const mi_difference *difference, mica_entity entity, uint32_t *first) {
    uint32_t low = 0;
    uint32_t high = difference->place_order.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_handles(place_at(difference, middle)->entity, entity) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *first = low;
    while (high < difference->place_order.count && mica_entity_equal(place_at(difference, high)->entity, entity)) {
        high++;
    }
    return high - low;
}

// The entity's value before is another one than after, in places of which both have the component with data.
static void compare_value(mi_difference *difference, const mi_restore_place *before, const mi_restore_place *after,
                          mica_component component) {
    const mi_image *image = find_image(after->image, component);
    if (image == NULL || !is_heard(difference, MICA_SET, component)) {
        return;
    }
    mi_lanes_value aside;
    const void *value = before->pool != NULL
                            ? mi_pool_value(before->pool, before->row)
                            : mi_store_look(&difference->world->store, before->table, before->row, component, &aside);
    if (!equals(image, after->row, value)) {
        add_set(difference, before->entity, component);
    }
}

static void add_component(mi_difference *difference, const mi_restore_place *after, mica_component component) {
    mi_difference_add(difference, &difference->after, MICA_ADDED, after->entity, component);
    if (find_image(after->image, component) != NULL) {
        add_set(difference, after->entity, component);
    }
}

static void compare_tables(mi_difference *difference, const mi_restore_place *before, const mi_restore_place *after) {
    for (uint32_t i = 0; before != NULL && i < before->table->component_count; i++) {
        const mica_component component = before->table->components[i];
        if (after == NULL || !mi_table_has(after->table, component)) {
            mi_difference_add(difference, &difference->before, MICA_REMOVED, before->entity, component);
        } else if (mi_table_has_data(before->table, component)) {
            compare_value(difference, before, after, component);
        }
    }
    for (uint32_t i = 0; after != NULL && i < after->table->component_count; i++) {
        const mica_component component = after->table->components[i];
        if (before == NULL || !mi_table_has(before->table, component)) {
            add_component(difference, after, component);
        }
    }
}

static void compare_elements(mi_difference *difference, const mi_restore_place *before, const mi_restore_place *after) {
    if (before == NULL) {
        add_component(difference, after, after->pool->type->info.id);
    } else if (after == NULL) {
        mi_difference_add(difference, &difference->before, MICA_REMOVED, before->entity, before->pool->type->info.id);
    } else if (before->pool->size > 0) {
        compare_value(difference, before, after, before->pool->type->info.id);
    }
}

static bool compare_all_places(mi_difference *difference) {
    const uint32_t count = difference->places.count;
    if (!sort_numbers(difference, &difference->place_order, count, compare_places, difference->places.data)) {
        return false;
    }
    MI_ASSERT(count == 0 || difference->places.data != NULL);
    for (uint32_t i = 0; i < count;) {
        const mi_restore_place *place = place_at(difference, i++);
        const mi_restore_place *next = i < count ? place_at(difference, i) : NULL;
        const bool is_pair = next != NULL && mica_entity_equal(next->entity, place->entity) &&
                             next->pool == place->pool && place->image == NULL && next->image != NULL;
        const mi_restore_place *before = place->image == NULL ? place : NULL;
        const mi_restore_place *after = is_pair ? next : place->image != NULL ? place : NULL;
        i += is_pair;
        touch(difference, mica_entity_index(place->entity));
        if (place->pool != NULL) {
            compare_elements(difference, before, after);
        } else {
            compare_tables(difference, before, after);
        }
    }
    return difference->is_complete;
}

mica_entity mi_difference_handle(const mi_difference *difference, uint32_t entity_index, bool is_after) {
    const mi_slots *slots = &difference->world->store.slots;
    const mi_slots_image *image = difference->snapshot->slots;
    uint64_t slot = MI_SLOT_FREE;
    if (is_after && entity_index < image->used) {
        slot = mi_slots_image_at(image, entity_index);
    } else if (!is_after && entity_index < mi_slots_end(slots)) {
        slot = slots->data[entity_index];
    }
    return (slot & MI_SLOT_FREE) != 0 ? MICA_NULL : mica_entity_make(entity_index, (uint32_t)(slot >> 32));
}

static bool find_entities(mi_difference *difference) {
    const uint32_t end = mi_slots_end(&difference->world->store.slots);
    const uint32_t image_end = difference->snapshot->slots->used;
    for (uint32_t index = 1; index < end || index < image_end; index++) {
        const mica_entity before = mi_difference_handle(difference, index, false);
        const mica_entity after = mi_difference_handle(difference, index, true);
        if (mica_entity_equal(before, after)) {
            continue;
        }
        touch(difference, index);
        if (!mica_entity_is_null(before)) {
            mi_difference_add(difference, &difference->before, MICA_DESTROYED, before, 0);
        }
        if (!mica_entity_is_null(after)) {
            mi_difference_add(difference, &difference->after, MICA_CREATED, after, 0);
        }
    }
    return difference->is_complete;
}

// Marks

static void add_mark(mi_difference *difference, const mi_restore_mark *mark) {
    const uint32_t count = difference->marks.count;
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &difference->marks, (size_t)count + 1)) {
        difference->is_complete = false;
        return;
    }
    difference->marks.data[difference->marks.count++] = *mark;
    touch(difference, mark->entity_index);
    const mica_entity entity = mi_difference_handle(difference, mark->entity_index, false);
    if (!mica_entity_is_null(entity) &&
        mica_entity_equal(entity, mi_difference_handle(difference, mark->entity_index, true))) {
        mi_difference_add(difference, &difference->after, MI_SIGNAL_MARKED, entity, mark->component);
    }
}

static const mi_marks_image *find_marks(const mica_snapshot *snapshot, mi_marks_kind kind, mica_component component) {
    for (uint32_t i = 0; i < snapshot->mark_count; i++) {
        if (snapshot->marks[i]->kind == kind &&
            (kind != MI_MARKS_TOGGLED || snapshot->marks[i]->component == component)) {
            return snapshot->marks[i];
        }
    }
    return NULL;
}

static void find_in_marks(mi_difference *difference, const mi_marks *marks, mi_marks_kind kind,
                          mica_component component) {
    const mi_marks_image *image = find_marks(difference->snapshot, kind, component);
    mi_restore_mark mark = {.component = component, .kills = kind == MI_MARKS_KILLED};
    uint32_t at = 0;
    uint32_t member = marks == NULL || marks->count == 0 ? UINT32_MAX : mi_marks_next(marks, 0);
    while (member != UINT32_MAX || (image != NULL && at < image->count)) {
        const uint32_t other = image != NULL && at < image->count ? image->indices[at] : UINT32_MAX;
        mark.entity_index = member < other ? member : other;
        mark.is_member = other < member;
        if (member != other) {
            add_mark(difference, &mark);
        }
        at += other <= member;
        member = member <= other ? mi_marks_next(marks, member + 1) : member;
    }
}

static int compare_marks(const void *context, uint32_t a, uint32_t b) {
    const mi_restore_mark *marks = context;
    return (marks[a].entity_index > marks[b].entity_index) - (marks[a].entity_index < marks[b].entity_index);
}

static bool find_all_marks(mi_difference *difference) {
    const mi_store *store = &difference->world->store;
    find_in_marks(difference, &store->disabled, MI_MARKS_DISABLED, 0);
    find_in_marks(difference, &store->killed, MI_MARKS_KILLED, 0);
    const uint32_t end = (uint32_t)mica_schema_count(store->schema);
    for (uint32_t component = 1; component <= end; component++) {
        if (mi_schema_type(store->schema, (mica_component)component)->info.toggle) {
            find_in_marks(difference, mi_store_toggled(store, (mica_component)component), MI_MARKS_TOGGLED,
                          (mica_component)component);
        }
    }
    return sort_numbers(difference, &difference->mark_order, difference->marks.count, compare_marks,
                        difference->marks.data);
}

// All of it

static int compare_indices(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

// Each index once, ascending.
static bool sort_touched(mi_difference *difference) {
    const uint32_t count = difference->touched.count;
    uint32_t *touched = difference->touched.data;
    if (count == 0) {
        return true;
    }
    if (!MI_RESERVE(&difference->world->heap, PURPOSE, &difference->spare, count)) {
        return false;
    }
    mi_sort(touched, difference->spare.data, count, compare_indices, NULL);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (touched[i] != touched[kept - 1]) {
            touched[kept++] = touched[i];
        }
    }
    difference->touched.count = kept;
    return true;
}

bool mi_difference_find(mi_difference *difference, mica_world *world, const mica_snapshot *snapshot) {
    *difference = (mi_difference){.world = world, .snapshot = snapshot, .is_complete = true};
    return find_in_tables(difference) && find_in_pools(difference) && compare_all_places(difference) &&
           find_entities(difference) && find_all_marks(difference) && sort_touched(difference);
}

static void free_signals(mi_heap *heap, mi_restore_signals *signals) {
    MI_FREE(heap, PURPOSE, &signals->list);
    MI_FREE(heap, PURPOSE, &signals->order);
}

void mi_difference_free(mi_difference *difference) {
    mi_heap *heap = &difference->world->heap;
    MI_FREE(heap, PURPOSE, &difference->places);
    MI_FREE(heap, PURPOSE, &difference->place_order);
    MI_FREE(heap, PURPOSE, &difference->marks);
    MI_FREE(heap, PURPOSE, &difference->mark_order);
    MI_FREE(heap, PURPOSE, &difference->touched);
    MI_FREE(heap, PURPOSE, &difference->spare);
    free_signals(heap, &difference->before);
    free_signals(heap, &difference->after);
}

// Order

// As observer.h says: what is told of one entity, in order.
static const uint8_t rank_of[MI_SIGNAL_KIND_COUNT] = {
    [MICA_LEFT] = 0,  [MICA_REMOVED] = 1, [MICA_DESTROYED] = 2,   [MICA_CREATED] = 3,
    [MICA_ADDED] = 4, [MICA_SET] = 5,     [MI_SIGNAL_MARKED] = 6, [MICA_ENTERED] = 7,
};

typedef struct signal_order {
    const mica_schema *schema;
    const mi_restore_signal *signals;
} signal_order;

static int compare_signals(const void *context, uint32_t a, uint32_t b) {
    const signal_order *order = context;
    const mi_restore_signal *one = &order->signals[a];
    const mi_restore_signal *other = &order->signals[b];
    const int by_handle = compare_handles(one->entity, other->entity);
    if (by_handle != 0) {
        return by_handle;
    }
    if (one->kind != other->kind) {
        return rank_of[one->kind] < rank_of[other->kind] ? -1 : 1;
    }
    const bool has_names =
        one->number != 0 && other->number != 0 && one->kind != MICA_ENTERED && one->kind != MICA_LEFT;
    return has_names ? mi_type_compare_names(mi_schema_type(order->schema, (mica_component)one->number),
                                             mi_schema_type(order->schema, (mica_component)other->number))
                     : (one->number > other->number) - (one->number < other->number);
}

void mi_difference_sort(mi_difference *difference, mi_restore_signals *signals) {
    const signal_order order = {.schema = difference->world->schema, .signals = signals->list.data};
    sort_numbers(difference, &signals->order, signals->list.count, compare_signals, &order);
}
