// Fields of spans, and whole values copied out of spans and entities and into them, whatever their layout is.
//
// A span's place in the lanes is found by its first entity: its rows follow each other in one chunk, since what lies in
// lanes is never handed out in copies.
#include <mica/lane.h>

#include "world/walk.h"

#include <string.h>

bool mi_iter_find_lanes(const mica_iter *iter, mica_component component, mi_lanes_rows *rows) {
    const mica_query *query = iter->query;
    const mi_store *store = &query->world->store;
    if (iter->count == 0 || (iter->walk != NULL && iter->walk->columns[query->column_of[component]].data == NULL)) {
        return false;
    }
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(iter->entities[0]));
    const mi_table *table = mi_store_table_at(store, location);
    const mi_column *column = mi_table_find_column(table, component);
    if (column == NULL) {
        return false;
    }
    *rows = (mi_lanes_rows){.column = mi_store_base(store, location) + column->offset,
                            .room = table->chunk_room,
                            .row = mi_row_of(location)};
    return true;
}

// Lanes

// Finds the part of the lane that belongs to the span, and the column; NULL as mica_iter_read_lane.
static uint8_t *find_lane(const mica_iter *iter, mica_component component, uint32_t offset, uint32_t byte_size,
                          uint32_t access, mi_lanes_rows *rows, const char *call) {
    if (MICA_UNLIKELY(!mi_iter_has_access(iter, component, access))) {
        return mi_iter_fail_access(iter, component, access, call);
    }
    const mica_world *world = iter->query->world;
    const mi_type *type = mi_schema_type(world->schema, component);
    const uint32_t lane = mi_lanes_find(type, offset, byte_size);
    if (MICA_UNLIKELY(lane == UINT32_MAX)) {
        mi_fail(&world->log, MICA_INVALID, call, "{} has no field of {} bytes that begins at byte {}",
                MI_TEXT(type->info.name), MI_UINT(byte_size), MI_UINT(offset));
        return NULL;
    }
    if (!mi_iter_find_lanes(iter, component, rows)) {
        return NULL;
    }
    return rows->column + mi_lane_start(type, lane, rows->room) + (size_t)rows->row * byte_size;
}

const void *mica_iter_read_lane_id(const mica_iter *iter, mica_component component, uint32_t offset,
                                   uint32_t byte_size) {
    mi_lanes_rows rows = {.column = NULL};
    return find_lane(iter, component, offset, byte_size, MI_ACCESS_READ_LANES, &rows, "mica_iter_read_lane");
}

void *mica_iter_write_lane_id(const mica_iter *iter, mica_component component, uint32_t offset, uint32_t byte_size) {
    mi_lanes_rows rows = {.column = NULL};
    uint8_t *lane = find_lane(iter, component, offset, byte_size, MI_ACCESS_WRITE_LANES, &rows, "mica_iter_write_lane");
    if (lane != NULL) {
        mi_iter_wrote(iter, component, rows.column);
    }
    return lane;
}

// Where a lane of a span was found at once.
typedef struct ready_lane {
    uint8_t *lane; // NULL: it was not
    uint8_t *column;
} ready_lane;

// The same where the span is a chunk whose table has to have the component, and `access` among the bits of `mask` is
// what the query says of it: with as few steps as there are, since a loop over a chunk asks for each of its lanes.
static inline ready_lane find_ready_lane(const mica_iter *iter, const mica_type *type, uint32_t offset,
                                         uint32_t byte_size, uint32_t mask, uint32_t access) {
    const ready_lane none = {.lane = NULL};
    const uint64_t component = mica_type_known(type, iter->key) ^ MICA_HEAD_LANES_BIT;
    if (MICA_UNLIKELY(component >= iter->ready_count || (iter->access[component] & mask) != access)) {
        return none;
    }
    const mi_table *table =
        (const mi_table *)(const void *)((const uint8_t *)iter->offsets - offsetof(mi_table, offset_of));
    const mi_column *column = mi_table_lanes(table, (mica_component)component);
    const uint32_t lane = mi_lanes_find(column->type, offset, byte_size);
    if (MICA_UNLIKELY(lane == UINT32_MAX)) {
        return none;
    }
    uint8_t *start = iter->base + column->offset;
    return (ready_lane){.lane = start + mi_lane_start(column->type, lane, table->chunk_room), .column = start};
}

const void *mica_iter_read_lane(const mica_iter *iter, mica_type *type, uint32_t offset, uint32_t byte_size) {
    static const char call[] = "mica_iter_read_lane";
    const uint32_t access = MI_ACCESS_READ_LANES | MI_ACCESS_READY_LANES;
    if (MICA_UNLIKELY(iter == NULL)) {
        return mi_iter_fail_access(iter, 0, MI_ACCESS_READ_LANES, call);
    }
    const ready_lane ready = find_ready_lane(iter, type, offset, byte_size, access, access);
    if (MICA_LIKELY(ready.lane != NULL)) {
        return ready.lane;
    }
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_READ_LANES, call);
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_read_lane_id(iter, component, offset, byte_size);
}

void *mica_iter_write_lane(const mica_iter *iter, mica_type *type, uint32_t offset, uint32_t byte_size) {
    static const char call[] = "mica_iter_write_lane";
    const uint32_t access = MI_ACCESS_WRITE_LANES | MI_ACCESS_READY_LANES;
    if (MICA_UNLIKELY(iter == NULL)) {
        return mi_iter_fail_access(iter, 0, MI_ACCESS_WRITE_LANES, call);
    }
    const ready_lane ready = find_ready_lane(iter, type, offset, byte_size, access | MI_ACCESS_MARKED, access);
    if (MICA_LIKELY(ready.lane != NULL && !iter->world->watches_writes)) {
        mi_column_mark(ready.column, *iter->version);
        return ready.lane;
    }
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_WRITE_LANES, call);
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_write_lane_id(iter, component, offset, byte_size);
}

// Whole values of a span

// MICA_OK, or why a value of a type cannot be copied to or from `value`.
static mica_result check_copy(const mica_world *world, const mi_type *type, const void *value, const char *call) {
    if (mi_type_is_owning(type)) {
        return mi_fail(&world->log, MICA_NO_COPY, call, "{} has hooks: its values are no plain bytes",
                       MI_TEXT(type->info.name));
    }
    return value != NULL
               ? MICA_OK
               : mi_fail(&world->log, MICA_INVALID, call, "needs a place for a value of {}", MI_TEXT(type->info.name));
}

// Checks what a call on a row asks for. `access` is for whole values or for lanes, whichever the component has.
static mica_result check_row(const mica_iter *iter, mica_component component, uint32_t access, int32_t row,
                             const void *value, const char *call) {
    if (!mi_iter_has_access(iter, component, access)) {
        mi_iter_fail_access(iter, component, access, call);
        return mica_last_result();
    }
    const mica_world *world = iter->query->world;
    if (row < 0 || row >= iter->count) {
        return mi_fail(&world->log, MICA_INVALID, call, "the span has {} rows, and no row {}", MI_INT(iter->count),
                       MI_INT(row));
    }
    return check_copy(world, mi_schema_type(world->schema, component), value, call);
}

static mica_result fail_absent(const mica_iter *iter, mica_component component, const char *call) {
    const mica_world *world = iter->query->world;
    return mi_fail(&world->log, MICA_ABSENT, call, "the span does not have {}",
                   MI_TEXT(mi_schema_type(world->schema, component)->info.name));
}

mica_result mica_iter_load_id(const mica_iter *iter, mica_component component, int32_t row, void *value) {
    static const char call[] = "mica_iter_load";
    const mica_result result = check_row(iter, component, MI_ACCESS_READ | MI_ACCESS_READ_LANES, row, value, call);
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = mi_schema_type(iter->query->world->schema, component);
    if (mi_type_in_lanes(type)) {
        mi_lanes_rows rows = {.column = NULL};
        if (!mi_iter_find_lanes(iter, component, &rows)) {
            return fail_absent(iter, component, call);
        }
        mi_lanes_read(type, rows.room, rows.column, rows.row + (uint32_t)row, value, 1);
        return MICA_OK;
    }
    const uint8_t *column = mica_iter_read_id(iter, component);
    if (column == NULL) {
        return fail_absent(iter, component, call);
    }
    memcpy(value, column + (size_t)row * type->info.size, type->info.size);
    return MICA_OK;
}

mica_result mica_iter_store_id(const mica_iter *iter, mica_component component, int32_t row, const void *value) {
    static const char call[] = "mica_iter_store";
    const mica_result result = check_row(iter, component, MI_ACCESS_WRITE | MI_ACCESS_WRITE_LANES, row, value, call);
    if (result != MICA_OK) {
        return result;
    }
    const mi_type *type = mi_schema_type(iter->query->world->schema, component);
    if (mi_type_in_lanes(type)) {
        mi_lanes_rows rows = {.column = NULL};
        if (!mi_iter_find_lanes(iter, component, &rows)) {
            return fail_absent(iter, component, call);
        }
        mi_lanes_write(type, rows.room, rows.column, rows.row + (uint32_t)row, value, 1);
        mi_iter_wrote(iter, component, rows.column);
    } else {
        uint8_t *column = mica_iter_write_id(iter, component);
        if (column == NULL) {
            return fail_absent(iter, component, call);
        }
        memmove(column + (size_t)row * type->info.size, value, type->info.size);
    }
    return mi_iter_has_access(iter, component, MI_ACCESS_MARKED) ? mica_iter_mark_id(iter, component, row) : MICA_OK;
}

mica_result mica_iter_load(const mica_iter *iter, mica_type *type, int32_t row, void *value) {
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_READ, "mica_iter_load");
    return MICA_UNLIKELY(component == 0) ? mica_last_result() : mica_iter_load_id(iter, component, row, value);
}

mica_result mica_iter_store(const mica_iter *iter, mica_type *type, int32_t row, const void *value) {
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_WRITE, "mica_iter_store");
    return MICA_UNLIKELY(component == 0) ? mica_last_result() : mica_iter_store_id(iter, component, row, value);
}

// Whole values by entity

bool mi_world_open_copy(mica_world *world, mica_entity entity, mica_component component, mi_lanes_copy *copy) {
    const mi_store *store = &world->store;
    const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
    const mi_table *table = mi_store_table_at(store, location);
    if (!table->has_lanes || mi_table_find_column(table, component) == NULL ||
        table->offset_of[component] != MI_OFFSET_TAG) {
        return false;
    }
    if (MICA_LIKELY(!world->is_shared)) { // nobody else writes it there
        copy->outer = world->signals.copies;
        world->signals.copies = copy;
    }
    copy->entity = entity;
    copy->component = component;
    mi_store_read_lanes(store, table, location, component, copy->value.bytes);
    return true;
}

void mi_world_write_lanes(mica_world *world, mica_entity entity, uint32_t location, mica_component component,
                          const void *value) {
    const mi_table *table = mi_store_table_at(&world->store, location);
    mi_store_write_lanes(&world->store, table, location, component, value, mi_world_version(world));
    for (mi_lanes_copy *copy = world->signals.copies; copy != NULL; copy = copy->outer) {
        if (copy->component == component && mica_entity_equal(copy->entity, entity)) {
            mi_store_read_lanes(&world->store, table, location, component, copy->value.bytes);
        }
    }
}

// The type of a component whose values are copied, and where the entity's row stands; NULL with the error set.
static const mi_type *find_type(const mica_world *world, mica_entity entity, mica_component component, bool writes,
                                const void *value, uint32_t *location, const char *call) {
    if (mi_world_resolve(world, entity, location, call) != MICA_OK ||
        mi_world_check_access(world, component, writes, entity, call) != MICA_OK) {
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    return type != NULL && check_copy(world, type, value, call) == MICA_OK ? type : NULL;
}

bool mica_entity_load(const mica_world *world, mica_entity entity, mica_component component, void *value) {
    uint32_t location = 0;
    const mi_type *type = find_type(world, entity, component, false, value, &location, "mica_entity_load");
    if (type == NULL) {
        return false;
    }
    if (mi_type_in_lanes(type)) {
        const mi_table *table = mi_store_table_at(&world->store, location);
        if (mi_table_has(table, component)) {
            mi_store_read_lanes(&world->store, table, location, component, value);
            return true;
        }
        return false;
    }
    const void *from = mica_entity_get(world, entity, component);
    if (from != NULL) {
        memcpy(value, from, type->info.size);
    }
    return from != NULL;
}

mica_result mica_entity_store(mica_world *world, mica_entity entity, mica_component component, const void *value) {
    static const char call[] = "mica_entity_store";
    uint32_t location = 0;
    const mi_type *type = find_type(world, entity, component, true, value, &location, call);
    if (type == NULL) {
        return mica_last_result();
    }
    if (!mi_world_has(world, entity, location, component)) {
        return mi_fail(&world->log, MICA_ABSENT, call, "{} does not have {}", MI_ENTITY(entity),
                       MI_TEXT(type->info.name));
    }
    if (mi_type_in_lanes(type)) {
        mi_world_write_lanes(world, entity, location, component, value);
        mi_world_written(world, component, &entity, 1);
        return MICA_OK;
    }
    void *to = mica_entity_get_write(world, entity, component);
    if (to == NULL) {
        return mica_last_result();
    }
    memmove(to, value, type->info.size);
    return MICA_OK;
}
