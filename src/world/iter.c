// What is asked of a query: walks, and counts and lists of entities.
//
// A query over tables alone goes from table to table in canonical order, a span a chunk, with all its state in the
// caller's mica_iter. Everything else (pools, hidden entities, entities without rows) is a mi_walk's, which the
// mica_iter then refers to. A walk that is open counts in its query and its world; the structure lock is that count.
#include "world/commands.h"
#include "world/index.h"
#include "world/rewind.h"
#include "world/tracker.h"
#include "world/walk.h"

#include <mica/system.h>

#include <string.h>

static mica_iter begin(mica_query *query, uint64_t since, const char *call) {
    mica_iter iter = mi_iter_closed(query);
    if (query == NULL) {
        // The query was refused, most likely, and that is what the caller wants to read.
        mi_fail(NULL, MICA_INVALID, call, "needs a query; the last error was \"{}\"", MI_TEXT(mica_last_error()));
        return iter;
    }
    mica_world *world = query->world;
    if (mi_query_update(query, call) != MICA_OK) {
        mi_world_fail_unheard(world);
        return iter;
    }
    if (mi_query_check_since(query, since, call) != MICA_OK) {
        return iter;
    }
    if (MICA_UNLIKELY(world->store.copied_count > 0)) {
        if (mi_access_check_query(query, call) != MICA_OK) {
            return iter;
        }
        mi_walks_settle(world);
    }
    if (!mi_walk_is_plain(query)) {
        iter.walk = mi_walk_open_since(query, true, since);
        if (iter.walk == NULL) {
            mi_query_fail_walk(query, call);
            return iter;
        }
    }
    mi_iter_open(&iter);
    return iter;
}

mica_iter mica_query_begin(mica_query *query) {
    return begin(query, query == NULL ? 0 : mi_world_since(query->world), "mica_query_begin");
}

mica_iter mica_query_begin_since(mica_query *query, uint64_t version) {
    uint64_t since = query == NULL ? 0 : mi_since_outside(query->world, version);
    if (MICA_UNLIKELY(since >= MI_SINCE_OUTSIDE) && mi_world_run(query->world) != NULL &&
        version == mi_outside_version(query->world, mi_world_since(query->world))) {
        since = mi_world_since(query->world); // as what the system asks anyway
    }
    return begin(query, since, "mica_query_begin_since");
}

// Whether the walk was closed with a system that left it open: nothing that it refers to may be there any more.
static inline bool is_abandoned(const mica_iter *iter) {
    return iter->epoch != iter->query->world->walk_epoch;
}

// As mica_iter_next, for a walk that stands in a table with several chunks or without rows, or at its end. One that was
// abandoned ends here, since tables may have changed and it would stand anywhere.
MI_APART static bool next_chunk(mica_iter *iter) {
    const mica_query *query = iter->query;
    for (; !is_abandoned(iter) && iter->table_index < query->tables.count; iter->table_index++) {
        const mi_table *table = query->tables.data[iter->table_index];
        const uint32_t chunk_index = iter->chunk_index;
        const uint32_t full = mi_table_full_room(table);
        const uint32_t rest = table->row_count - (chunk_index << table->shift);
        if (rest == 0) {
            continue; // a walk never stands behind the last of several chunks
        }
        const bool is_last = rest <= full;
        iter->table_index += is_last;
        iter->chunk_index = is_last ? 0 : chunk_index + 1;
        uint8_t *base = query->world->store.chunks[table->chunk_ids[chunk_index]].base;
        mi_iter_set_chunk(iter, table, base, is_last ? rest : full);
        return true;
    }
    iter->ready_count = 0;
    iter->count = 0;
    iter->entities = NULL;
    iter->base = NULL;
    return false;
}

// As mica_iter_next, for all but plain walks while nothing is copied.
MI_APART static bool next_slowly(mica_iter *iter) {
    if (iter == NULL || !iter->open) {
        return false;
    }
    if (iter->walk == NULL) {
        mi_world_settle_all(iter->query->world);
        return next_chunk(iter);
    }
    if (MICA_UNLIKELY(is_abandoned(iter))) {
        iter->count = 0;
        return false;
    }
    const bool found = mi_walk_next(iter->walk);
    iter->count = (int32_t)iter->walk->count;
    iter->entities = iter->walk->entities;
    return found;
}

// Short, and without calls: where tables are many and small it is what a walk costs, and much of that is waiting for
// the tables themselves, which are therefore asked for ahead.
bool mica_iter_next(mica_iter *iter) {
    if (MICA_UNLIKELY(iter == NULL || !iter->open || iter->walk != NULL)) {
        return next_slowly(iter);
    }
    const mica_query *query = iter->query;
    if (MICA_UNLIKELY(query->world->store.copied_count > 0)) {
        return next_slowly(iter);
    }
    const uint32_t index = iter->table_index;
    if (MICA_UNLIKELY(index >= query->tables.count)) {
        return next_chunk(iter);
    }
    mi_table *const *place = &query->tables.data[index];
    const mi_table *table = *place;
    if (MICA_UNLIKELY((table->row_count - 1) >> table->shift != 0)) { // no rows, or several chunks
        return next_chunk(iter);
    }
    mi_query_fetch_table(query, place);
    mi_iter_set_chunk(iter, table, table->first_base, table->row_count);
    iter->table_index = index + 1;
    return true;
}

bool mi_iter_enter(mica_iter *iter, const mi_cut *cut, const mi_cut_place *place) {
    if (cut->piece_rows == 0) {
        return mica_iter_next(iter);
    }
    const bool found = mi_walk_enter(iter->walk, place);
    iter->count = (int32_t)iter->walk->count;
    iter->entities = iter->walk->entities;
    return found;
}

void mi_world_apply_walk_commands(mica_world *world, const char *call) {
    if (!mi_world_is_locked(world) && world->running == NULL && world->walk_commands != NULL &&
        mica_commands_count(world->walk_commands) > 0) {
        mi_commands_apply(world->walk_commands, call);
    }
}

void mica_iter_end(mica_iter *iter) {
    if (iter == NULL || !iter->open) {
        return;
    }
    iter->open = false;
    iter->ready_count = 0;
    iter->count = 0;
    mica_query *query = iter->query;
    mica_world *world = query->world;
    if (MICA_UNLIKELY(world->is_shared)) {
        mi_actor_end_walk(iter);
        return;
    }
    if (!is_abandoned(iter)) {
        if (iter->walk != NULL) {
            mi_walk_close(iter->walk);
            iter->walk = NULL;
        }
        query->open_count--;
        world->front.walk_count--;
        if (MICA_UNLIKELY(world->front.walk_count == 0 && world->front.watches_writes)) {
            mi_world_walk_ended(world);
        }
    }
    mi_world_apply_walk_commands(world, "mica_iter_end");
}

// Columns

MI_COLD void *mi_iter_fail_access(const mica_iter *iter, mica_component component, uint32_t access, const char *call) {
    const mica_query *query = iter == NULL ? NULL : iter->query;
    if (query == NULL || !iter->open || is_abandoned(iter)) {
        mi_fail_plain(query == NULL ? NULL : &query->world->log, MICA_INVALID, call, "the walk is not open");
        return NULL;
    }
    const mi_type *type = mi_world_type(query->world, component, call);
    const bool writes = (access & (MI_ACCESS_WRITE | MI_ACCESS_WRITE_LANES)) != 0;
    const bool has_other = component < query->access_count &&
                           (query->access[component] & (writes ? MI_ACCESS_WRITE | MI_ACCESS_WRITE_LANES
                                                               : MI_ACCESS_READ | MI_ACCESS_READ_LANES)) != 0;
    if (type == NULL) {
        return NULL;
    }
    if (has_other) {
        mi_fail(&query->world->log, MICA_UNSUPPORTED, call,
                mi_type_in_lanes(type)
                    ? "{} lies in lanes, an array a field: mica_lane and mica_lane_read hand those out"
                    : "{} does not lie in lanes: mica_write_of and mica_read_of hand out its values",
                MI_TEXT(type->info.name));
    } else {
        mi_fail(&query->world->log, MICA_NO_ACCESS, call, "the query ({}) does not {} {}", MI_TEXT(query->text),
                MI_TEXT(writes ? "write" : "read"), MI_TEXT(type->info.name));
    }
    return NULL;
}

bool mi_iter_has_access(const mica_iter *iter, mica_component component, uint32_t access) {
    return iter != NULL && iter->open && !is_abandoned(iter) && component < iter->query->access_count &&
           (iter->query->access[component] & access) != 0;
}

// The column that the span's rows stand in if the query may use it so: its start of a chunk's, which knows its stamp.
static inline uint8_t *find_column(const mica_iter *iter, mica_component component, uint32_t access, const char *call) {
    const mica_query *query = iter == NULL || !iter->open ? NULL : iter->query;
    if (MICA_UNLIKELY(query == NULL || component >= query->access_count || (query->access[component] & access) == 0 ||
                      is_abandoned(iter))) {
        return mi_iter_fail_access(iter, component, access, call);
    }
    if (MICA_UNLIKELY(iter->walk != NULL)) {
        return iter->walk->count == 0 ? NULL : iter->walk->columns[query->column_of[component]].data;
    }
    const uint32_t offset = component < iter->offset_count ? iter->offsets[component] : 0;
    return offset == 0 || iter->base == NULL ? NULL : iter->base + (size_t)offset * MI_COLUMN_ALIGN;
}

// Where the span's rows begin in it.
static inline uint8_t *find_rows(const mica_iter *iter, mica_component component, uint8_t *column) {
    if (MICA_LIKELY(column == NULL || iter->ready_count != 0 || iter->walk != NULL)) {
        return column;
    }
    const mica_query *query = iter->query;
    const size_t first = (size_t)(iter->entities - (const mica_entity *)(const void *)iter->base);
    return column + first * query->columns[query->column_of[component]].type->info.size;
}

const void *mica_iter_read_id(const mica_iter *iter, mica_component component) {
    return find_rows(iter, component, find_column(iter, component, MI_ACCESS_READ, "mica_iter_read"));
}

// Once a chunk's column: walks by rows come here for every row.
MI_APART static void tell_column(const mica_iter *iter, mica_component component, const void *column) {
    mica_world *world = iter->query->world;
    mi_signals *signals = &world->signals;
    if (signals->written_column != column || signals->written_version != world->store.version) {
        signals->written_column = column;
        signals->written_version = world->store.version;
        mi_tell_written(world, component, iter->entities, (uint32_t)iter->count);
    }
}

static inline void wrote(const mica_iter *iter, mica_component component, uint8_t *column) {
    const mica_query *query = iter->query;
    if (MICA_UNLIKELY(iter->walk != NULL)) {
        mi_walk_write_column(iter->walk, query->column_of[component]);
    } else if (MICA_UNLIKELY((query->access[component] & MI_ACCESS_MARKED) != 0)) {
        mi_stamp_unname(&mi_column_head_of(column)->stamp);
    } else {
        mica_world *world = query->world;
        mi_column_mark(column, mi_world_version(world));
        if (MICA_UNLIKELY(world->front.watches_writes) && !world->is_shared) {
            tell_column(iter, component, column);
        }
    }
}

void mi_iter_wrote(const mica_iter *iter, mica_component component, uint8_t *column) {
    wrote(iter, component, column);
}

void *mica_iter_write_id(const mica_iter *iter, mica_component component) {
    uint8_t *column = find_column(iter, component, MI_ACCESS_WRITE, "mica_iter_write");
    if (column != NULL) {
        wrote(iter, component, column);
    }
    return find_rows(iter, component, column);
}

mica_result mica_iter_mark_id(const mica_iter *iter, mica_component component, int32_t row) {
    static const char call[] = "mica_iter_mark";
    const bool in_lanes = mi_iter_has_access(iter, component, MI_ACCESS_WRITE_LANES);
    if (!in_lanes && !mi_iter_has_access(iter, component, MI_ACCESS_WRITE)) {
        mi_iter_fail_access(iter, component, MI_ACCESS_WRITE, call);
        return mica_last_result();
    }
    const mica_query *query = iter->query;
    mi_lanes_rows rows = {.column = NULL};
    uint8_t *column = !in_lanes                                    ? find_column(iter, component, MI_ACCESS_WRITE, call)
                      : mi_iter_find_lanes(iter, component, &rows) ? rows.column
                                                                   : NULL;
    if (row < 0 || row >= iter->count) {
        return mi_fail(&query->world->log, MICA_INVALID, call, "the span has {} rows, and no row {}",
                       MI_INT(iter->count), MI_INT(row));
    }
    if (column == NULL) {
        return mi_fail(&query->world->log, MICA_ABSENT, call, "the span does not have {}",
                       MI_TEXT(mi_schema_type(query->world->schema, component)->info.name));
    }
    if (MICA_UNLIKELY(iter->walk != NULL)) {
        mi_walk_mark_row(iter->walk, query->column_of[component], (uint32_t)row);
    } else {
        mi_column_mark(column, mi_world_version(query->world));
        mi_world_written(query->world, component, iter->entities + row, 1);
    }
    return MICA_OK;
}

mica_component mi_iter_component(const mica_iter *iter, mica_type *type, uint32_t access, const char *call) {
    if (MICA_UNLIKELY(iter == NULL || !iter->open)) {
        mi_iter_fail_access(iter, 0, access, call);
        return 0;
    }
    return mica_world_component(iter->query->world, type);
}

const void *mica_iter_read(const mica_iter *iter, mica_type *type) {
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_READ, "mica_iter_read");
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_read_id(iter, component);
}

void *mica_iter_write(const mica_iter *iter, mica_type *type) {
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_WRITE, "mica_iter_write");
    return MICA_UNLIKELY(component == 0) ? NULL : mica_iter_write_id(iter, component);
}

mica_result mica_iter_mark(const mica_iter *iter, mica_type *type, int32_t row) {
    const mica_component component = mi_iter_component(iter, type, MI_ACCESS_WRITE, "mica_iter_mark");
    return MICA_UNLIKELY(component == 0) ? mica_last_result() : mica_iter_mark_id(iter, component, row);
}

mica_commands *mica_iter_commands_of(mica_iter *iter) {
    if (iter == NULL || !iter->open) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_iter_commands", "the walk is not open");
        return NULL;
    }
    if (iter->run != NULL) {
        return mica_run_commands(iter->run);
    }
    mica_world *world = iter->query->world;
    mica_commands *outer = mi_callback_commands(world);
    if (MICA_UNLIKELY(outer != NULL)) {
        return outer; // the observer that walks is not done when its walk ends
    }
    if (world->walk_commands == NULL) {
        world->walk_commands = mi_commands_create(world, true);
        if (world->walk_commands == NULL) {
            mi_fail_memory(&world->log, "mica_iter_commands", 0);
        }
    }
    return world->walk_commands;
}

// Asking without a walk of one's own

// Living entities without components in tables.
static uint64_t count_rowless(const mica_world *world) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < world->store.ordered.count; i++) {
        rows += world->store.ordered.data[i]->row_count;
    }
    return world->store.slots.alive - rows;
}

// Whether everybody in the tables that match does, and with `requires_nothing` those without rows.
static bool is_counted(const mica_query *query) {
    return query->pool_term_count == 0 && query->toggles_active == 0 && query->disabled != MI_DISABLED_ONLY &&
           !mi_store_hides_any(&query->world->store) && !mi_query_asks_changes(query);
}

// Goes over the entities that match, up to `capacity` of them into `entities`; how many match, or how many were written
// if `stops` at the capacity. -1: out of memory.
static int32_t list_entities(mica_query *query, mica_entity *entities, int32_t capacity, bool stops, const char *call) {
    mi_walk *walk = mi_walk_open(query, false);
    if (walk == NULL) {
        mi_query_fail_walk(query, call);
        return -1;
    }
    uint32_t count = 0;
    while (!(stops && count >= (uint32_t)capacity) && mi_walk_next(walk)) {
        const uint32_t room = count < (uint32_t)capacity ? (uint32_t)capacity - count : 0;
        const uint32_t take = walk->count < room ? walk->count : room;
        if (take > 0) {
            memcpy(entities + count, walk->entities, take * sizeof(mica_entity));
        }
        count += stops ? take : walk->count;
    }
    mi_walk_close(walk);
    return (int32_t)count;
}

int32_t mi_query_list(mica_query *query, mica_entity *entities, int32_t capacity, const char *call) {
    return list_entities(query, entities, capacity, false, call);
}

// MICA_OK, or MICA_NO_ACCESS: the query asks for stamps that are another system's to write. What entities have is no
// access.
static mica_result check_stamps(const mica_query *query, const char *call) {
    return MICA_LIKELY(query->world->store.copied_count == 0) || !mi_query_asks_changes(query)
               ? MICA_OK
               : mi_access_check_query(query, call);
}

// The same, or as mi_query_check.
static mica_result check_question(mica_query *query, const char *call) {
    const mica_result result = mi_query_check(query, call);
    return result == MICA_OK ? check_stamps(query, call) : result;
}

int32_t mica_query_count(mica_query *query) {
    static const char call[] = "mica_query_count";
    if (check_question(query, call) != MICA_OK) {
        return 0;
    }
    if (is_counted(query)) {
        return (int32_t)(mi_query_rows(query) + (query->requires_nothing ? count_rowless(query->world) : 0));
    }
    const int32_t count = list_entities(query, NULL, 0, false, call);
    return count < 0 ? 0 : count;
}

int32_t mica_query_size_hint(mica_query *query) {
    if (check_question(query, "mica_query_size_hint") != MICA_OK) {
        return 0;
    }
    uint64_t hint = mi_query_rows(query) + (query->requires_table ? 0 : count_rowless(query->world));
    for (uint32_t i = 0; i < query->required_count; i++) {
        const uint32_t live = mi_pool_live_count(query->required[i]);
        hint = live < hint ? live : hint;
    }
    if (query->removed != NULL) {
        const mi_filter filter = mi_filter_make(query, mi_world_since(query->world));
        const mi_removals *removals = mi_filter_removals(&filter);
        const uint32_t noted = removals->entries.count - mi_removals_find(removals, filter.tracked_since);
        hint = query->removed_alone || noted < hint ? noted : hint;
    }
    return (int32_t)hint;
}

mica_entity mica_query_first(mica_query *query) {
    static const char call[] = "mica_query_first";
    mica_entity first = MICA_NULL;
    if (check_question(query, call) == MICA_OK) {
        list_entities(query, &first, 1, true, call);
    }
    return first;
}

int32_t mica_query_entities(mica_query *query, mica_entity *entities, int32_t capacity) {
    static const char call[] = "mica_query_entities";
    if (check_question(query, call) != MICA_OK) {
        return 0;
    }
    if (capacity > 0 && entities == NULL) {
        mi_fail_plain(&query->world->log, MICA_INVALID, call, "needs an array of handles of its capacity");
        return 0;
    }
    const int32_t count = list_entities(query, entities, capacity < 0 ? 0 : capacity, false, call);
    return count < 0 ? 0 : count;
}

bool mica_query_contains(mica_query *query, mica_entity entity) {
    if (query == NULL || check_stamps(query, "mica_query_contains") != MICA_OK) {
        return false;
    }
    if (query->removed_alone) { // whether it is alive is not asked
        const mi_filter filter = mi_filter_make(query, mi_world_since(query->world));
        return mi_removals_has(mi_filter_removals(&filter), entity, filter.tracked_since);
    }
    return mica_entity_alive(query->world, entity) && mi_query_passes(query, entity);
}
