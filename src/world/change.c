// The one way in which an entity comes by other components or values in tables, and in which entities are made and end.
// What lives in pools is joined to it by edit.c.
//
// A change to another table is made in this order, so that a failure leaves nothing behind:
//   1. a row is opened in the new table;
//   2. what can fail is done in the open row: constructors and copies; a failure destructs what was made and leaves;
//   3. those who want to know are told of what is about to go;
//   4. what cannot fail follows: values that are moved in, plain copies, the old row's values;
//   5. the new row is published, what stays behind in the old row is destructed, and its hole is closed;
//   6. those who want to know are told of what has come.
#include "world/notice.h"

#include "store/visibility.h"

#include <string.h>

// How a value of the new row comes to be.
typedef enum value_source {
    SOURCE_OLD,       // moved from the old row
    SOURCE_CONSTRUCT, // made by the constructor
    SOURCE_COPY,      // copied from a caller's value
    SOURCE_MOVE       // moved out of a recorded or move-only value
} value_source;

// A walk over the columns of the new table beside the changes, both ascending by component.
typedef struct row_fill {
    mica_world *world;
    const mi_table *from;
    mi_table *to;
    const mi_change *changes;
    uint32_t count;
    uint32_t next; // first change not passed yet
} row_fill;

// The change that concerns column `component`, or NULL. Components must be asked for in ascending order.
static const mi_change *fill_change(row_fill *fill, mica_component component) {
    while (fill->next < fill->count && fill->changes[fill->next].component < component) {
        fill->next++;
    }
    return fill->next < fill->count && fill->changes[fill->next].component == component ? &fill->changes[fill->next]
                                                                                        : NULL;
}

static value_source source_of(const row_fill *fill, const mi_type *type, const mi_change *change) {
    if (change != NULL && change->value != NULL) {
        return change->move || type->movable_only ? SOURCE_MOVE : SOURCE_COPY;
    }
    if (change == NULL && mi_table_has(fill->from, type->info.id)) {
        return SOURCE_OLD;
    }
    return SOURCE_CONSTRUCT;
}

// Whether the value is made before anything is moved: a hook may say no, or the caller's value may be part of a value
// of the old row that a move hook is about to leave as raw memory.
static bool is_made_first(const row_fill *fill, value_source source, const mi_type *type) {
    return (source == SOURCE_CONSTRUCT && type->info.hooks.construct != NULL) ||
           (source == SOURCE_COPY && (type->info.hooks.copy != NULL || !fill->from->moves_bytes));
}

static uint8_t *column_value(uint8_t *base, const mi_column *column, uint32_t row) {
    return base + column->offset + (size_t)row * column->size;
}

static bool make_value(const row_fill *fill, value_source source, const mi_column *column, uint8_t *base, uint32_t row,
                       const mi_change *change) {
    const mi_store *store = &fill->world->store;
    const mi_type *type = column->type;
    const void *value = source == SOURCE_CONSTRUCT ? NULL : mi_store_follow(store, change->value);
    if (MICA_UNLIKELY(mi_type_in_lanes(type))) {
        mi_lanes_write(type, fill->to->chunk_room, base + column->offset, row, value, 1);
        return true;
    }
    void *to = column_value(base, column, row);
    return value == NULL ? mi_value_construct(type, &store->values, to, 1)
                         : mi_value_copy(type, &store->values, to, value, 1);
}

// Destructs the values that were made first in columns below `end`.
static void undo_first(row_fill fill, uint8_t *base, uint32_t row, uint32_t end) {
    fill.next = 0;
    for (uint32_t i = 0; i < end; i++) {
        const mi_column *column = &fill.to->columns[i];
        const mi_change *change = fill_change(&fill, column->type->info.id);
        if (is_made_first(&fill, source_of(&fill, column->type, change), column->type)) {
            mi_value_destruct(column->type, &fill.world->store.values, column_value(base, column, row), 1);
        }
    }
}

static bool fill_first(row_fill fill, uint8_t *base, uint32_t row) {
    for (uint32_t i = 0; i < fill.to->column_count; i++) {
        const mi_column *column = &fill.to->columns[i];
        const mi_change *change = fill_change(&fill, column->type->info.id);
        const value_source source = source_of(&fill, column->type, change);
        if (is_made_first(&fill, source, column->type) && !make_value(&fill, source, column, base, row, change)) {
            undo_first(fill, base, row, i);
            return false;
        }
    }
    return true;
}

// Fills in what cannot fail. `old_base` is NULL if there is no old row.
static void fill_rest(row_fill fill, uint8_t *base, uint32_t row, uint8_t *old_base, uint32_t old_row) {
    mi_store *store = &fill.world->store;
    for (uint32_t i = 0; i < fill.to->column_count; i++) {
        const mi_column *column = &fill.to->columns[i];
        const mica_component component = column->type->info.id;
        const mi_change *change = fill_change(&fill, component);
        const value_source source = source_of(&fill, column->type, change);
        uint8_t *start = base + column->offset;
        if (source == SOURCE_OLD && mi_type_in_lanes(column->type)) {
            mi_store_move_lanes(&(mi_row_place){fill.to, base, row}, &(mi_row_place){fill.from, old_base, old_row},
                                component, 1);
            continue;
        }
        if (source == SOURCE_OLD) {
            mi_store_move_value(store, column->type, start, row, mi_table_column(fill.from, old_base, component),
                                old_row);
            continue;
        }
        if (source == SOURCE_MOVE && !mi_type_in_lanes(column->type)) {
            mi_value_move(column->type, &store->values, start + (size_t)row * column->size,
                          (void *)(uintptr_t)mi_store_follow(store, change->value), 1);
        } else if (!is_made_first(&fill, source, column->type)) {
            make_value(&fill, source, column, base, row, change);
        }
        mi_column_mark(start, store->version);
    }
}

mica_result mi_world_fail_hook(const mica_world *world, const char *call) {
    return mi_fail_plain(&world->log, MICA_OUT_OF_MEMORY, call, "a construct or copy hook could not make its value");
}

// Gives plain values to the columns that are new, and to those that a change names.
static void fill_given(const row_fill *fill, uint8_t *base, uint32_t row, uint32_t new_count) {
    const mi_store *store = &fill->world->store;
    for (uint32_t i = 0; i < fill->count; i++) {
        const mica_component component = fill->changes[i].component;
        mi_store_place_plain(store, fill->to, base, row, component, fill->changes[i].value);
        new_count -= !mi_table_has(fill->from, component);
    }
    row_fill rest = *fill;
    for (uint32_t i = 0; new_count > 0; i++) { // what came along and has no value
        const mica_component component = fill->to->columns[i].type->info.id;
        if (!mi_table_has(fill->from, component) && fill_change(&rest, component) == NULL) {
            mi_store_place_plain(store, fill->to, base, row, component, NULL);
            new_count--;
        }
    }
}

// Makes the row of a table without any hook from one of another: nothing can fail and every value is bytes.
static void fill_plain(const row_fill *fill, uint8_t *base, uint32_t row, uint8_t *old_base, uint32_t old_row) {
    const uint16_t *old_offset_of = fill->from->offset_of;
    const uint32_t old_offset_count = fill->from->offset_count;
    const mi_column *end = fill->to->columns + fill->to->column_count;
    uint32_t new_count = 0;
    for (const mi_column *column = fill->to->columns; column < end; column++) {
        const mica_component component = column->type->info.id;
        const uint32_t old_offset = component < old_offset_count ? old_offset_of[component] : 0;
        if (old_offset == 0) {
            new_count++;
            continue;
        }
        uint8_t *to = base + column->offset;
        uint8_t *from = old_base + (size_t)old_offset * MI_COLUMN_ALIGN;
        const uint32_t size = column->size;
        mi_column_take_over(to, from);
        mi_value_copy_bytes(to + (size_t)row * size, from + (size_t)old_row * size, size);
    }
    if (new_count + fill->count > 0) {
        fill_given(fill, base, row, new_count);
    }
}

// Opens a row of the new table and makes its values; MICA_OK and its location, or nothing is left of it. The row is not
// published yet. `notice` says what is told before the old row is touched; NULL: nothing.
static mica_result fill_row(const row_fill *fill, uint8_t *old_base, uint32_t old_row, const mi_notice *notice,
                            uint32_t *location, const char *call) {
    mi_store *store = &fill->world->store;
    mi_table *to = fill->to;
    if (!mi_store_open_row(store, to)) {
        return mi_world_fail_store(fill->world, call);
    }
    const uint32_t place = mi_store_location(to, to->row_count);
    uint8_t *base = mi_store_base(store, place);
    *location = place;
    const bool is_plain = MICA_LIKELY(to->is_plain && fill->from->is_plain);
    if (!is_plain && (to->can_fail || !fill->from->moves_bytes) && !fill_first(*fill, base, mi_row_of(place))) {
        return mi_world_fail_hook(fill->world, call);
    }
    if (MICA_UNLIKELY(notice != NULL)) {
        mi_tell_before(fill->world, notice);
    }
    if (is_plain) {
        fill_plain(fill, base, mi_row_of(place), old_base, old_row);
        return MICA_OK;
    }
    fill_rest(*fill, base, mi_row_of(place), old_base, old_row);
    return MICA_OK;
}

// Destructs the old row's values that were not moved: those of components that the new table lacks, and those that were
// replaced.
static void destruct_left(row_fill fill, uint8_t *old_base, uint32_t old_row) {
    for (uint32_t i = 0; i < fill.from->column_count; i++) {
        const mi_column *column = &fill.from->columns[i];
        const mi_change *change = fill_change(&fill, column->type->info.id);
        if (!mi_table_has(fill.to, column->type->info.id) || change != NULL) {
            mi_value_destruct(column->type, &fill.world->store.values, column_value(old_base, column, old_row), 1);
        }
    }
}

// Forgets that components which the new table lacks are disabled.
static void forget_toggles(mi_store *store, mica_entity entity, const mi_table *from, const mi_table *to) {
    for (uint32_t i = 0; i < from->component_count; i++) {
        if (!mi_table_has(to, from->components[i])) {
            mi_store_forget_toggle(store, entity, from->components[i]);
        }
    }
}

bool mi_world_replace_value(mica_world *world, const mi_type *type, void *place, const void *value, bool move) {
    const mica_allocator *values = &world->store.values;
    if (value == place) {
        return true;
    }
    if (value != NULL && (move || type->movable_only)) {
        mi_value_destruct(type, values, place, 1);
        mi_value_move(type, values, place, (void *)(uintptr_t)value, 1);
        return true;
    }
    if (value != NULL && type->info.hooks.copy == NULL) { // and no destruct, since it is not move-only
        return mi_value_copy(type, values, place, value, 1);
    }
    // What can fail is made aside first, so that a failure leaves the old value.
    const size_t size = type->info.size;
    void *aside = mi_heap_allocate(&world->heap, MICA_MEMORY_VALUES, size, type->info.align);
    if (aside == NULL) {
        return false;
    }
    const bool made =
        value == NULL ? mi_value_construct(type, values, aside, 1) : mi_value_copy(type, values, aside, value, 1);
    if (made) {
        mi_value_destruct(type, values, place, 1);
        mi_value_move(type, values, place, aside, 1);
    }
    mi_heap_release(&world->heap, MICA_MEMORY_VALUES, aside, size, type->info.align);
    return made;
}

// Values of more than one component are replaced in place only when they are moved in, which cannot fail half-way.
static mica_result change_in_place(mica_world *world, uint32_t location, const mi_table *table,
                                   const mi_change *changes, uint32_t count, const char *call) {
    uint8_t *base = location == 0 ? NULL : mi_store_base(&world->store, location);
    for (uint32_t i = 0; i < count; i++) {
        const mi_type *type = mi_schema_type(world->schema, changes[i].component);
        if (MICA_UNLIKELY(mi_type_in_lanes(type))) {
            mi_store_write_lanes(&world->store, table, location, changes[i].component, changes[i].value,
                                 world->store.version);
            continue;
        }
        uint8_t *column = mi_table_column(table, base, changes[i].component);
        void *place = column + (size_t)mi_row_of(location) * type->info.size;
        if (!mi_world_replace_value(world, type, place, changes[i].value, changes[i].move)) {
            return mi_world_fail_hook(world, call);
        }
        mi_column_mark(column, world->store.version);
    }
    return MICA_OK;
}

mica_result mi_world_change_quietly(mica_world *world, mica_entity entity, mi_table *to, const mi_change *changes,
                                    uint32_t count, const mi_notice *notice, const char *call) {
    mi_store *store = &world->store;
    const uint32_t index = mica_entity_index(entity);
    const uint32_t location = mi_slots_location(&store->slots, index);
    mi_table *from = mi_store_table_at(store, location);
    if (from == to) {
        if (MICA_UNLIKELY(notice != NULL && notice->element_count + notice->renewed_count > 0)) {
            mi_tell_before(world, notice); // what values of the table are replaced by is moved in, if there are any
        }
        return change_in_place(world, location, to, changes, count, call);
    }
    const row_fill fill = {.world = world, .from = from, .to = to, .changes = changes, .count = count};
    uint8_t *old_base = location == 0 ? NULL : mi_store_base(store, location);
    if (to == mi_store_root(store)) {
        if (MICA_UNLIKELY(notice != NULL)) {
            mi_tell_before(world, notice);
        }
        mi_slots_move(&store->slots, index, 0);
    } else {
        uint32_t place = 0;
        const mica_result result = fill_row(&fill, old_base, mi_row_of(location), notice, &place, call);
        if (result != MICA_OK) {
            return result;
        }
        mi_slots_move(&store->slots, index, place);
        mi_store_publish_at(store, to, entity, place);
        if (MICA_UNLIKELY(mi_store_hides_any(store))) {
            mi_store_count_hidden_row(store, entity, place, true);
        }
    }
    if (MICA_UNLIKELY(from->has_toggle)) {
        forget_toggles(store, entity, from, to);
    }
    if (old_base != NULL) {
        if (from->has_destruct) {
            destruct_left(fill, old_base, mi_row_of(location));
        }
        mi_store_close_hole(store, from, location);
    } else {
        from->row_moves++; // the root table has no rows, but this is as if one went
    }
    MI_STORE_SHAKE(store, from);
    MI_STORE_SHAKE(store, to);
    return MICA_OK;
}

mi_notice mi_world_notice(const mica_world *world, mica_entity entity, const mi_table *to, const mi_change *changes,
                          uint32_t count) {
    const mi_store *store = &world->store;
    return (mi_notice){.entity = entity,
                       .from = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity))),
                       .to = to,
                       .changes = changes,
                       .change_count = count};
}

// As mi_world_change where somebody may have to be told: who hears nothing of this change is left aside here.
MI_APART static mica_result change_and_tell(mica_world *world, mica_entity entity, mi_table *to,
                                            const mi_change *changes, uint32_t count, const char *call) {
    const mi_signals *signals = &world->signals;
    const mi_notice notice = mi_world_notice(world, entity, to, changes, count);
    if (mi_world_tells_simply(world) && (signals->kinds >> MICA_SET & 1) == 0 &&
        !mi_bits_differ(notice.from->bits, notice.from->bit_words, to->bits, to->bit_words, signals->heard_bits,
                        signals->word_count)) {
        return mi_world_change_quietly(world, entity, to, changes, count, NULL, call);
    }
    const mi_told told = mi_world_told(world, &notice);
    const mica_result result =
        mi_world_change_quietly(world, entity, to, changes, count, told.before ? &notice : NULL, call);
    if (MICA_LIKELY(told.component != 0 && result == MICA_OK)) {
        mi_tell_component(world, MICA_ADDED, entity, told.component, told.component);
        for (uint32_t i = 0; i < count; i++) { // an observer may have connected others to what comes next
            if (changes[i].value != NULL) {
                mi_tell_set(world, entity, changes[i].component);
            }
        }
    } else if (told.after && result == MICA_OK) {
        mi_tell_after(world, &notice);
    }
    return result;
}

mica_result mi_world_change(mica_world *world, mica_entity entity, mi_table *to, const mi_change *changes,
                            uint32_t count, const char *call) {
    return mi_world_tells(world, entity) ? change_and_tell(world, entity, to, changes, count, call)
                                         : mi_world_change_quietly(world, entity, to, changes, count, NULL, call);
}

bool mi_world_have_slot(mica_world *world, const char *call) {
    mi_store *store = &world->store;
    if (MICA_LIKELY(mi_slots_have_room(&store->slots))) {
        return true;
    }
    store->failure = mi_slots_reserve(&store->slots, &world->heap, 1);
    if (store->failure != MICA_OK) {
        store->limit = "all indices of entities are in use or retired";
        mi_world_fail_store(world, call);
        return false;
    }
    return true;
}

mica_entity mi_world_make_quietly(mica_world *world, mi_table *table, const mi_change *changes, uint32_t count,
                                  const char *call) {
    mi_store *store = &world->store;
    if (!mi_world_have_slot(world, call)) {
        return MICA_NULL;
    }
    if (table == mi_store_root(store)) {
        return mi_slots_take(&store->slots, 0);
    }
    const row_fill fill = {
        .world = world, .from = mi_store_root(store), .to = table, .changes = changes, .count = count};
    uint32_t place = 0;
    if (fill_row(&fill, NULL, 0, NULL, &place, call) != MICA_OK) {
        return MICA_NULL;
    }
    const mica_entity entity = mi_slots_take(&store->slots, place);
    mi_store_publish_at(store, table, entity, place);
    MI_STORE_SHAKE(store, table);
    return entity;
}

mica_entity mi_world_make(mica_world *world, mi_table *table, const mi_change *changes, uint32_t count,
                          const char *call) {
    const mica_entity entity = mi_world_make_quietly(world, table, changes, count, call);
    if (!mica_entity_is_null(entity) && mi_world_tells_made(world, entity)) {
        mi_tell_after(world, &(mi_notice){.entity = entity, .to = table, .changes = changes, .change_count = count});
    }
    return entity;
}

// Takes an entity's links, marks, elements and row away.
static void strip(mica_world *world, mica_entity entity) {
    mi_store *store = &world->store;
    if (mi_world_tells(world, entity) && mi_signals_hear_end(&world->signals)) {
        const mi_notice notice = mi_world_notice(world, entity, NULL, NULL, 0);
        mi_tell_before(world, &notice);
    }
    for (uint32_t i = 0; i < world->relations.count; i++) {
        world->relations.data[i].release(world, entity);
    }
    mi_store_forget_marks(store, entity);
    if (store->pool_list.count > 0) {
        mi_store_remove_elements(store, entity);
    }
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    if (location != 0) {
        mi_table *table = mi_store_table_at(store, location);
        if (table->has_destruct) {
            mi_store_destruct_row(store, table, location);
        }
        mi_store_close_hole(store, table, location);
        MI_STORE_SHAKE(store, table);
        mi_slots_move(&store->slots, mica_entity_index(entity), 0);
    }
}

void mi_world_unmake(mica_world *world, mica_entity entity) {
    strip(world, entity);
    mi_slots_give(&world->store.slots, mica_entity_index(entity));
}

void mi_world_take_back(mica_world *world, mica_entity entity) {
    world->signals.silent = entity;
    strip(world, entity);
    world->signals.silent = MICA_NULL;
    mi_slots_put_back(&world->store.slots, mica_entity_index(entity));
}
