// A walk that goes entity by entity, because pools, hidden entities or a list of entities have a say in it.
//
// It has a *driver*, which yields pieces: entities that follow each other in a chunk, in a pool, among the entities
// without rows (gathered), in a list, or in a log of removals. Of a piece it hands out either a *run*, entities that
// all pass and follow each other in every source of columns, or a *window* of up to 256 entities: those that pass,
// picked one by one, with copies of what lies apart. Runs are tried first, at the start and behind every window.
#pragma once

#include "world/actor.h"
#include "world/filter.h"
#include "world/order.h"
#include "world/pieces.h"

#define MI_WINDOW_SIZE 256u
// Shorter runs are left to windows.
#define MI_RUN_MIN 32u
// In pools of so many elements memory is asked for ahead of its turn.
#define MI_FETCHED_COUNT (1u << 15)

typedef enum mi_driver {
    MI_DRIVER_TABLES,
    MI_DRIVER_ROWLESS,
    MI_DRIVER_POOL,
    MI_DRIVER_LIST,
    MI_DRIVER_REMOVED, // who lost a component, in order of removal
    MI_DRIVER_ROWS,    // some rows of a chunk: a piece of a loop
    MI_DRIVER_END
} mi_driver;

// Entities that follow each other in the driver, and whose values do.
typedef struct mi_piece {
    const mica_entity *entities;
    uint32_t count;
    uint32_t at;           // the first that was not looked at yet
    uint32_t start;        // position or location of the first
    const mi_table *table; // of a chunk's
} mi_piece;

// A column of the current span.
typedef struct mi_walk_column {
    uint8_t *data;  // NULL: not there
    uint8_t *copy;  // room for MI_WINDOW_SIZE values
    uint8_t *taken; // as much: what the copies were when they were asked for to be written
    uint8_t **from; // where each is a copy from, unless that is the one array of a packed pool
    bool is_copy;
    bool is_taken;
    uint64_t marked_version; // what the span's values are stamped with as written; 0: they are not
} mi_walk_column;

typedef struct mi_walk {
    struct mi_walk *next;
    mica_query *query;     // NULL: waits for the next walk
    const mi_actor *actor; // whose it is in a shared world; NULL
    bool wants_columns;
    bool writes_runs; // into the query
    bool reads_runs;
    bool must_follow; // a column's values are never copied
    mi_filter filter;
    uint32_t tests; // of the whole walk; those of the filter are a piece's
    mi_driver driver;
    uint32_t driver_source; // its position among the query's sources; source_count: it is none of them
    mi_piece piece;
    // The driver's place.
    uint32_t table_index;
    uint32_t chunk_index;
    uint32_t slot_index;
    mi_pool *pool;
    uint32_t pool_end;     // positions from here on are left out
    uint32_t position;     // the first that is in no piece yet
    const mi_group *group; // keeps the owned ones of the query's pools in step up to pool_end; NULL: none does
    uint8_t clause;        // any-of clause whose pools are gone through one after the other; 0: none
    uint32_t term_index;   // of that clause: place among the query's terms by name
    uint32_t run_index;    // next record of the query's runs
    uint32_t removed_from; // place in the log of removals where the walk began
    // The window.
    uint32_t window_start; // position or location of its first entity
    const mica_entity *window;
    uint32_t left_count;
    uint16_t left[MI_WINDOW_SIZE];     // numbers of the entities that pass and were not handed out yet, ascending
    uint64_t patterns[MI_WINDOW_SIZE]; // by number: which optional columns are there
    const uint32_t *places[MICA_QUERY_TERM_MAX]; // by source and number: positions or locations
    uint32_t *place_room[MICA_QUERY_TERM_MAX];   // where they are found into; else they are the query's
    mica_entity rowless[MI_WINDOW_SIZE];         // a piece of entities without rows
    // The span.
    uint32_t count;
    const mica_entity *entities;
    uint32_t picked_count;                              // 0: the span is a run
    uint16_t picked[MI_WINDOW_SIZE];                    // their numbers in the window
    const uint32_t *picked_places[MICA_QUERY_TERM_MAX]; // by source and number in the span
    uint32_t *picked_room[MICA_QUERY_TERM_MAX];
    mica_entity picked_entities[MI_WINDOW_SIZE];
    uint32_t first_places[MICA_QUERY_TERM_MAX]; // by source: the place of the first entity
    mi_walk_column columns[MICA_QUERY_TERM_MAX];
    uint8_t *memory; // behind places and copies
    size_t memory_size;
    mi_sorted *sorted; // what is gone through, if it is an order's; NULL
    uint64_t *earlier; // pools of the clause that were gone through: the filter's
} mi_walk;

// Whether a walk over the query, which is up to date, can go from chunk to chunk without looking at entities.
static inline bool mi_walk_is_plain(const mica_query *query) {
    return query->is_simple && query->toggles_active == 0 && !mi_store_hides_any(&query->world->store) &&
           !(query->world->front.watches_writes && query->writes && !query->world->is_shared);
}

// Whether a walk over the query, which is up to date, goes from table to table, and then over the entities without rows
// if it takes those.
bool mi_walk_drives_tables(const mica_query *query);
// Whether it goes along one pool, and then over how many positions.
bool mi_walk_drives_pool(const mica_query *query, uint32_t *position_count);

// Opens a walk over a query that is up to date, of which later changes than `since` count, and removals are known
// (mi_query_check_since); NULL: out of memory. Without `wants_columns` spans have entities alone.
mi_walk *mi_walk_open_since(mica_query *query, bool wants_columns, uint64_t since);
// The same for who is asking.
mi_walk *mi_walk_open(mica_query *query, bool wants_columns);
// The same over those entities of a list that match, in the list's order in every span and from span to span; all of
// them are alive.
mi_walk *mi_walk_open_list(mica_query *query, const mica_entity *list, uint32_t count);
// Writes up to `capacity` entities that match, in order of visit; how many match. The query is up to date. -1:
// MICA_OUT_OF_MEMORY, set for `call`.
int32_t mi_query_list(mica_query *query, mica_entity *entities, int32_t capacity, const char *call);
// Goes to the next span; false at the end.
bool mi_walk_next(mi_walk *walk);
// Goes to the first span of a loop's piece, at whose end mi_walk_next ends: tables or one pool drive the walk. False:
// nobody there passes.
bool mi_walk_enter(mi_walk *walk, const mi_cut_place *place);
void mi_walk_close(mi_walk *walk);

// Where walks and what the caller sees of them meet (iter.c): a mica_iter that is not open, and opening it.
static inline mica_iter mi_iter_closed(mica_query *query) {
    mica_iter iter;
    // Not all members at once: a walk over few rows should cost little.
    iter.count = 0;
    iter.row = 0;
    iter.entities = NULL;
    iter.open = false;
    iter.ready_count = 0;
    iter.access = NULL;
    iter.offset_count = 0;
    iter.offsets = NULL;
    iter.base = NULL;
    iter.key = 0;
    iter.world = NULL;
    iter.version = NULL;
    iter.query = query;
    iter.run = NULL;
    iter.walk = NULL;
    iter.table_index = 0;
    iter.chunk_index = 0;
    iter.epoch = 0;
    return iter;
}
static inline void mi_iter_open(mica_iter *iter) {
    mica_world *world = iter->query->world;
    if (MICA_UNLIKELY(world->is_shared)) {
        mi_actor_open_walk(iter);
        return;
    }
    iter->run = world->running;
    iter->open = true;
    iter->access = iter->query->access;
    iter->key = world->store.key;
    iter->world = &world->front;
    iter->version = &world->store.version;
    iter->epoch = world->walk_epoch;
    iter->query->open_count++;
    world->front.walk_count++;
}

// Makes the first rows of a table's chunk the span.
static inline void mi_iter_set_chunk(mica_iter *iter, const mi_table *table, uint8_t *base, uint32_t rows) {
    iter->base = base;
    iter->entities = (const mica_entity *)(const void *)base;
    iter->offsets = table->offset_of;
    iter->offset_count = table->offset_count;
    iter->ready_count = iter->query->access_count;
    iter->count = (int32_t)rows;
}
// Makes a piece of rows the span of a plain walk, at whose end mica_iter_next ends.
static inline void mi_iter_enter_rows(mica_iter *iter, const mi_cut_place *place) {
    const mica_query *query = iter->query;
    mi_world_settle_all(query->world);
    mi_iter_set_chunk(iter, place->table, place->base, place->row_count);
    if (place->first_row > 0) {
        iter->entities += place->first_row;
        iter->ready_count = 0; // columns are found by calls alone, which add the first row
    }
    iter->table_index = query->tables.count;
}
// Goes to the first span of a piece of any other walk, at whose end mica_iter_next ends; false: nobody there passes.
// The walk is open, and pieces are entered in their order.
bool mi_iter_enter(mica_iter *iter, const mi_cut *cut, const mi_cut_place *place);

// Says, with the error set, why a walk's component cannot be had; NULL.
void *mi_iter_fail_access(const mica_iter *iter, mica_component component, uint32_t access, const char *call);
// Whether the query of a walk may use a component so (MI_ACCESS_…).
bool mi_iter_has_access(const mica_iter *iter, mica_component component, uint32_t access);
// The id of a descriptor; 0 with the error set if the walk is not open or the descriptor is refused.
mica_component mi_iter_component(const mica_iter *iter, mica_type *type, uint32_t access, const char *call);
// Says that the span's column of a component is about to be written.
void mi_iter_wrote(const mica_iter *iter, mica_component component, uint8_t *column);
// Finds the span's rows in the column of a component in lanes that the query uses; false: the span does not have it.
bool mi_iter_find_lanes(const mica_iter *iter, mica_component component, mi_lanes_rows *rows);

// Runs and windows (runs.c)

// Makes the front of the piece the span if it is a run, or a window to be picked from, unless nobody there passes.
void mi_walk_next_run(mi_walk *walk);
// Makes the span of entities that are left of the window: there are some.
void mi_walk_yield_picked(mi_walk *walk);
// Does as mi_walk_next_run by the next record of the query's runs; false: there is none.
bool mi_walk_next_record(mi_walk *walk);

// The value that a column has at a place; of one in lanes, which has none, where the column starts.
static inline uint8_t *mi_walk_value(const mi_walk *walk, const mi_query_column *column, uint32_t place) {
    if (column->pool != NULL) {
        return mi_pool_value(column->pool, place);
    }
    const mi_store *store = walk->filter.store;
    if (MICA_UNLIKELY(mi_type_in_lanes(column->type))) {
        return mi_table_any_column(mi_store_table_at(store, place), mi_store_base(store, place), column->type->info.id);
    }
    return mi_store_value(store, mi_store_table_at(store, place), place, column->type->info.id,
                          column->type->info.size);
}

// Copies (copies.c)

// Fills in the columns of a span picked from a window.
void mi_walk_gather(mi_walk *walk);
// Says that a column that is there is about to be written: counts it as changed unless the query marks rows itself, and
// what is written to copies is brought back from now on.
void mi_walk_write_column(mi_walk *walk, uint32_t number);
// Counts a row of a column that is there as changed.
void mi_walk_mark_row(const mi_walk *walk, uint32_t number, uint32_t row);
// Brings back what was written to copies. They may be written to further unless `ends`.
void mi_walk_settle(mi_walk *walk, bool ends);
