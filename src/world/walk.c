// Walks that look at entities: choosing what drives, opening and closing, pieces. See walk.h; runs and windows are in
// runs.c, copies in copies.c.
//
// What drives is decided when the walk opens, from live counts alone, so that it is the same for equal worlds. Every
// entity is in one piece at most: tables and the entities without rows share none, and the pools of an any-of clause
// leave out who was in an earlier one.
#include "world/walk.h"

#include "world/index.h"
#include "world/since.h"
#include "world/tracker.h"

#include <string.h>

#define COPY_ALIGN 256u // no copied value is aligned to more

static size_t align_copy(size_t size) {
    return (size + COPY_ALIGN - 1) & ~(size_t)(COPY_ALIGN - 1);
}

// What drives

static bool has_table_terms(const mica_query *query) {
    return query->term_count > query->pool_term_count;
}

// Of equal ones the first by name.
static mi_pool *smallest_required(const mica_query *query) {
    mi_pool *smallest = NULL;
    for (uint32_t i = 0; i < query->required_count; i++) {
        mi_pool *pool = query->required[i];
        if (smallest == NULL || mi_pool_live_count(pool) < mi_pool_live_count(smallest)) {
            smallest = pool;
        }
    }
    return smallest;
}

// The first any-of clause with all members in pools; 0: there is none.
static uint8_t pool_clause(const mica_query *query) {
    for (uint8_t any = 1; any <= query->any_count; any++) {
        bool all_in_pools = (query->pool_clauses >> (any - 1) & 1) != 0;
        for (uint32_t i = 0; i < query->term_count; i++) {
            all_in_pools &= (mi_term_clauses(&query->terms[i]) >> (any - 1) & 1) == 0 ||
                            mi_store_find_pool(&query->world->store, query->terms[i].component) != NULL;
        }
        if (all_in_pools) {
            return any;
        }
    }
    return 0;
}

static bool masks_equal(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count) {
    return mi_bits_contain(a, a_count, b, b_count) && mi_bits_contain(b, b_count, a, a_count);
}

// The group whose members are just those that match as far as pools are concerned; of several, the one that owns the
// first pool by name.
static const mi_group *find_group(const mica_query *query) {
    for (uint32_t i = 0; i < query->required_count && query->any_count == 0 && query->toggles_active == 0; i++) {
        const mi_group *group = query->required[i]->owner;
        if (group != NULL && masks_equal(group->all, group->word_count, query->mask_all, query->mask_word_count) &&
            masks_equal(group->none, group->word_count, query->mask_none, query->mask_word_count)) {
            return group;
        }
    }
    return NULL;
}

static uint32_t source_of(const mica_query *query, const mi_pool *pool) {
    uint32_t source = 0;
    while (source < query->source_count && query->sources[source].pool != pool) {
        source++;
    }
    return source;
}

// Whether whoever is in the driver's pool and in those of all required sources is in all pools that the query requires,
// and none are excluded: then finding places is test enough.
static bool covers_pools(const mi_walk *walk, const mi_pool *driver) {
    const mica_query *query = walk->query;
    for (uint32_t i = 0; i < query->mask_word_count; i++) {
        if (query->mask_none[i] != 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < query->required_count; i++) {
        const uint32_t source = source_of(query, query->required[i]);
        if (query->required[i] != driver && (!walk->wants_columns || source == query->source_count)) {
            return false;
        }
    }
    return true;
}

static void drive_pool(mi_walk *walk, mi_pool *pool) {
    walk->driver = MI_DRIVER_POOL;
    walk->pool = pool;
    walk->pool_end = pool->count;
    walk->position = 0;
    walk->driver_source = source_of(walk->query, pool);
}

static void drive_group(mi_walk *walk, const mi_group *group) {
    mi_pool *first = group->owned[0];
    for (uint32_t i = 1; i < group->owned_count; i++) {
        if (mi_type_compare_names(group->owned[i]->type, first->type) < 0) {
            first = group->owned[i];
        }
    }
    drive_pool(walk, first);
    walk->group = group;
    walk->pool_end = group->count;
    walk->tests &= ~MI_TEST_MASK;
}

static void drive_tables(mi_walk *walk) {
    walk->driver = MI_DRIVER_TABLES;
    walk->driver_source = source_of(walk->query, NULL);
    walk->tests &= ~MI_TEST_TABLE;
}

// The next pool of the clause that is gone through; false: there is none.
static bool drive_clause(mi_walk *walk) {
    const mica_query *query = walk->query;
    if (walk->pool != NULL) {
        mi_bit_set(walk->earlier, walk->pool->index);
        walk->filter.earlier = walk->earlier;
    }
    while (walk->term_index < query->term_count) {
        const mi_term *term = &query->terms[query->by_name[walk->term_index++]];
        if ((mi_term_clauses(term) >> (walk->clause - 1) & 1) != 0) {
            drive_pool(walk, mi_store_find_pool(&query->world->store, term->component));
            return true;
        }
    }
    return false;
}

// Runs are kept where pools alone decide.
static void use_runs(mi_walk *walk) {
    mica_query *query = walk->query;
    if (walk->driver != MI_DRIVER_POOL || walk->clause != 0 || (walk->tests & ~MI_TEST_MASK) != 0 ||
        query->change_count > 0) {
        return;
    }
    if (query->runs_driver == walk->pool && query->runs_structure == mi_query_structure(query)) {
        walk->reads_runs = true;
    } else if (walk->wants_columns && query->open_count == 0 && walk->actor == NULL) {
        query->runs_driver = NULL;
        query->runs.count = 0;
        query->run_count = 0;
        walk->writes_runs = true;
    }
}

static void drive_removed(mi_walk *walk) {
    const mica_query *query = walk->query;
    walk->driver = MI_DRIVER_REMOVED;
    walk->driver_source = query->source_count;
    walk->removed_from = mi_removals_find(mi_filter_removals(&walk->filter), walk->filter.tracked_since);
    walk->position = walk->removed_from;
    walk->tests = query->removed_alone ? 0 : walk->tests;
}

bool mi_walk_drives_tables(const mica_query *query) {
    const mi_pool *smallest = smallest_required(query);
    if (query->removed != NULL) {
        return false;
    }
    return smallest == NULL ? query->requires_table || pool_clause(query) == 0
                            : query->requires_table && mi_query_rows(query) <= mi_pool_live_count(smallest);
}

bool mi_walk_drives_pool(const mica_query *query, uint32_t *position_count) {
    const mi_pool *smallest = smallest_required(query);
    if (query->removed != NULL || smallest == NULL || mi_walk_drives_tables(query)) {
        return false;
    }
    const mi_group *group = find_group(query);
    *position_count = group != NULL ? group->count : smallest->count;
    return true;
}

static void choose_driver(mi_walk *walk) {
    const mica_query *query = walk->query;
    if (query->removed != NULL) {
        drive_removed(walk);
        return;
    }
    if (!has_table_terms(query)) {
        walk->tests &= ~MI_TEST_TABLE;
    }
    if (mi_walk_drives_tables(query)) {
        drive_tables(walk);
        return;
    }
    mi_pool *smallest = smallest_required(query);
    if (smallest == NULL) {
        walk->clause = pool_clause(query);
        memset(walk->earlier, 0, query->mask_word_count * sizeof(uint64_t));
        drive_clause(walk);
        return;
    }
    const mi_group *group = find_group(query);
    if (group != NULL) {
        drive_group(walk, group);
    } else {
        drive_pool(walk, smallest);
    }
    use_runs(walk);
    if (covers_pools(walk, walk->pool)) {
        walk->tests &= ~MI_TEST_MASK;
    }
}

// Opening and closing

// Bytes that the copies of a window take, and the addresses that they are from; 0: there are none.
static size_t copies_size(const mi_walk *walk, const mi_type *type) {
    return walk->wants_columns && type->copies_rows ? align_copy((size_t)type->info.size * MI_WINDOW_SIZE) : 0;
}
static size_t from_size(const mi_walk *walk, const mi_type *type) {
    return walk->wants_columns && type->copies_rows ? MI_WINDOW_SIZE * sizeof(uint8_t *) : 0;
}

// Makes room for places and copies.
static bool reserve_memory(mi_walk *walk) {
    const mica_query *query = walk->query;
    mi_heap *heap = &query->world->heap;
    const size_t place_size = align_copy(MI_WINDOW_SIZE * sizeof(uint32_t));
    const size_t mask_size = align_copy(query->mask_word_count * sizeof(uint64_t));
    const uint32_t source_count = walk->wants_columns ? query->source_count : 0;
    size_t need = mask_size + 2 * source_count * place_size;
    for (uint32_t i = 0; i < query->column_count; i++) {
        need += 2 * copies_size(walk, query->columns[i].type) + from_size(walk, query->columns[i].type);
    }
    need = need == 0 ? COPY_ALIGN : need; // so that there is an address to count from
    if (need > walk->memory_size) {
        uint8_t *memory = mi_heap_allocate(heap, MICA_MEMORY_QUERIES, need, COPY_ALIGN);
        if (memory == NULL) {
            return false;
        }
        mi_heap_release(heap, MICA_MEMORY_QUERIES, walk->memory, walk->memory_size, COPY_ALIGN);
        walk->memory = memory;
        walk->memory_size = need;
    }
    uint8_t *at = walk->memory;
    walk->earlier = (uint64_t *)(void *)at;
    at += mask_size;
    for (uint32_t i = 0; i < source_count; i++, at += 2 * place_size) {
        walk->place_room[i] = (uint32_t *)(void *)at;
        walk->picked_room[i] = (uint32_t *)(void *)(at + place_size);
    }
    walk->must_follow = false;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_type *type = query->columns[i].type;
        const size_t size = copies_size(walk, type);
        walk->columns[i] =
            (mi_walk_column){.copy = at, .taken = at + size, .from = (uint8_t **)(void *)(at + 2 * size)};
        walk->must_follow |= !type->copies_rows;
        at += 2 * size + from_size(walk, type);
    }
    return true;
}

// A walk that waits, or a new one.
static mi_walk *take_walk(mica_world *world) {
    mi_walk **walks = mi_world_walks(world);
    mi_walk *walk = *walks;
    while (walk != NULL && walk->query != NULL) {
        walk = walk->next;
    }
    if (walk == NULL) {
        walk = mi_heap_allocate(&world->heap, MICA_MEMORY_QUERIES, sizeof(*walk), _Alignof(mi_walk));
        if (walk == NULL) {
            return NULL;
        }
        walk->memory = NULL;
        walk->memory_size = 0;
        walk->query = NULL;
        walk->next = *walks;
        *walks = walk;
    }
    return walk;
}

static mi_walk *start_walk(mica_query *query, bool wants_columns, uint64_t since) {
    mi_walk *walk = take_walk(query->world);
    if (walk == NULL) {
        return NULL;
    }
    walk->query = query;
    walk->actor = query->world->is_shared ? mi_actor_of(query->world) : NULL;
    walk->wants_columns = wants_columns;
    if (!reserve_memory(walk)) {
        walk->query = NULL;
        return NULL;
    }
    walk->writes_runs = false;
    walk->reads_runs = false;
    walk->filter = mi_filter_make(query, since);
    walk->tests = walk->filter.tests;
    walk->piece = (mi_piece){0};
    walk->table_index = 0;
    walk->chunk_index = 0;
    walk->slot_index = 1;
    walk->pool = NULL;
    walk->group = NULL;
    walk->clause = 0;
    walk->term_index = 0;
    walk->run_index = 0;
    walk->left_count = 0;
    walk->count = 0;
    walk->entities = NULL;
    walk->picked_count = 0;
    walk->sorted = NULL;
    return walk;
}

// What testing tables needs; NULL, with the walk waiting again: out of memory.
static mi_walk *note_tables(mi_walk *walk) {
    if (walk != NULL && (walk->filter.tests & MI_TEST_TABLE) != 0 && !mi_query_note_tables(walk->query)) {
        walk->query = NULL;
        return NULL;
    }
    return walk;
}

mi_walk *mi_walk_open_since(mica_query *query, bool wants_columns, uint64_t since) {
    mi_walk *walk = start_walk(query, wants_columns, since);
    if (walk != NULL) {
        choose_driver(walk);
        walk->filter.tests = walk->tests;
    }
    return note_tables(walk);
}

mi_walk *mi_walk_open(mica_query *query, bool wants_columns) {
    return mi_walk_open_since(query, wants_columns, mi_world_since(query->world));
}

mi_walk *mi_walk_open_list(mica_query *query, const mica_entity *list, uint32_t count) {
    mi_walk *walk = start_walk(query, true, mi_world_since(query->world));
    if (walk != NULL) {
        walk->driver = MI_DRIVER_LIST;
        walk->driver_source = query->source_count;
        walk->piece = (mi_piece){.entities = list, .count = count};
    }
    return note_tables(walk);
}

void mi_walk_close(mi_walk *walk) {
    mica_world *world = walk->query->world;
    mi_walk_settle(walk, true);
    if (walk->sorted != NULL) {
        mi_world_lock(world);
        mi_sorted_release(walk->sorted, &world->heap);
        mi_world_unlock(world);
    }
    walk->sorted = NULL;
    walk->query = NULL;
}

// Frees what the walks of a list keep, of those that are not open, or of all.
static void free_walks(mica_world *world, mi_walk **link, bool all) {
    while (*link != NULL) {
        mi_walk *walk = *link;
        if (walk->query != NULL && !all) {
            link = &walk->next;
            continue;
        }
        *link = walk->next;
        if (walk->query != NULL) {
            mi_sorted_release(walk->sorted, &world->heap);
        }
        mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, walk->memory, walk->memory_size, COPY_ALIGN);
        mi_heap_release(&world->heap, MICA_MEMORY_QUERIES, walk, sizeof(*walk), _Alignof(mi_walk));
    }
}

void mi_world_free_walks(mica_world *world, bool all) {
    free_walks(world, &world->walks, all);
    for (uint32_t i = 0; i < world->sharing.seat_count; i++) {
        free_walks(world, &world->sharing.seats[i].walks, all);
    }
}

void mi_world_close_walks(mica_world *world) {
    for (mi_walk *walk = world->walks; walk != NULL; walk = walk->next) {
        if (walk->query != NULL) {
            mi_walk_close(walk);
        }
    }
    world->front.walk_count = 0;
    world->walk_epoch++;
    for (uint32_t i = 0; i < world->queries.count; i++) {
        world->queries.data[i]->open_count = 0;
    }
    if (MICA_UNLIKELY(world->front.watches_writes)) {
        mi_world_walk_ended(world);
    }
}

// Pieces

// Makes the rows at a place the piece; false: none of them passes.
static bool take_rows(mi_walk *walk, const mi_cut_place *place) {
    const bool hides = mi_column_head_of(place->base)->hidden_count > 0;
    if (!hides && walk->query->disabled == MI_DISABLED_ONLY) {
        return false;
    }
    const bool asks = (walk->tests & MI_TEST_CHANGES) != 0;
    const mi_verdict verdict = asks ? mi_since_chunk(&walk->filter, place->table, place->base) : MI_VERDICT_ALL;
    if (verdict == MI_VERDICT_NONE) {
        return false;
    }
    walk->filter.tests =
        walk->tests & ~(hides ? 0 : MI_TEST_HIDDEN) & ~(verdict == MI_VERDICT_ALL ? MI_TEST_CHANGES : 0);
    walk->piece = (mi_piece){.entities = (const mica_entity *)(const void *)place->base + place->first_row,
                             .count = place->row_count,
                             .start = place->table->chunk_ids[place->chunk_index] << MI_ROW_BITS | place->first_row,
                             .table = place->table};
    return true;
}

static bool next_chunk(mi_walk *walk) {
    const mica_query *query = walk->query;
    while (walk->table_index < query->tables.count) {
        const mi_table *table = query->tables.data[walk->table_index];
        const uint32_t chunk_index = walk->chunk_index++;
        if ((uint64_t)chunk_index << table->shift >= table->row_count) {
            walk->table_index++;
            walk->chunk_index = 0;
            continue;
        }
        const mi_cut_place place = {.table = table,
                                    .base = walk->filter.store->chunks[table->chunk_ids[chunk_index]].base,
                                    .chunk_index = chunk_index,
                                    .row_count = mi_table_chunk_rows(table, chunk_index)};
        if (take_rows(walk, &place)) {
            return true;
        }
    }
    return false;
}

// Gathers the next entities without rows.
static bool next_rowless(mi_walk *walk) {
    const mi_slots *slots = &walk->filter.store->slots;
    uint32_t count = 0;
    while (walk->slot_index < mi_slots_end(slots) && count < MI_WINDOW_SIZE) {
        if (mi_slots_location(slots, walk->slot_index) == 0) {
            walk->rowless[count++] = mi_slots_handle(slots, walk->slot_index);
        }
        walk->slot_index++;
    }
    walk->piece = (mi_piece){.entities = walk->rowless, .count = count};
    return count > 0;
}

// The first position from `first` on, below `end`, whose element lives as `lives` says; `end` if there is none.
static uint32_t find_live(const mi_pool *pool, uint32_t first, uint32_t end, bool lives) {
    while (first < end) {
        const uint64_t word = pool->live[first / 64] ^ (lives ? 0 : UINT64_MAX);
        const uint64_t rest = word >> (first % 64);
        if (rest != 0) {
            first += (uint32_t)__builtin_ctzll(rest);
            return first < end ? first : end;
        }
        first = (first / 64 + 1) * 64;
    }
    return end;
}

// Where elements that may have changed begin and end, from `first` on; what nobody of has changed is left out page by
// page.
static uint32_t find_changed(mi_walk *walk, uint32_t first, uint32_t *end) {
    const mi_pool *pool = walk->pool;
    while (first < walk->pool_end) {
        const uint32_t next_page = ((first >> pool->page_shift) + 1) << pool->page_shift;
        const mi_verdict verdict = mi_since_page(&walk->filter, pool, first);
        if (verdict != MI_VERDICT_NONE) {
            walk->filter.tests = walk->tests & ~(verdict == MI_VERDICT_ALL ? MI_TEST_CHANGES : 0);
            *end = next_page < walk->pool_end ? next_page : walk->pool_end;
            return first;
        }
        first = next_page;
    }
    *end = walk->pool_end;
    return walk->pool_end;
}

static bool next_elements(mi_walk *walk) {
    const mi_pool *pool = walk->pool;
    uint32_t first = walk->position;
    uint32_t end = walk->pool_end;
    walk->filter.tests = walk->tests;
    do {
        if ((walk->tests & MI_TEST_CHANGES) != 0 && pool->size > 0) {
            first = find_changed(walk, first, &end);
        }
        if (pool->dead_count > 0) {
            first = find_live(pool, first, end, true);
        }
    } while (first == end && end < walk->pool_end);
    if (pool->dead_count > 0) {
        end = find_live(pool, first, end, false);
    }
    if (first >= end) {
        return false;
    }
    const uint32_t room = mi_pool_room(pool, first);
    if (walk->driver_source < walk->query->source_count && room < end - first) {
        end = first + room;
    }
    walk->piece = (mi_piece){.entities = pool->entities + first, .count = end - first, .start = first};
    walk->position = end;
    return true;
}

// The next entries of the log whose entities were not named yet and, if anything else is asked of them, are alive.
static bool next_removed(mi_walk *walk) {
    const mica_query *query = walk->query;
    const mi_removals *removals = mi_filter_removals(&walk->filter);
    const uint32_t end = removals->entries.count;
    uint32_t first = end;
    uint32_t at = walk->position;
    for (; at < end; at++) {
        const bool is_named = mi_removals_is_first(removals, at, walk->removed_from) &&
                              (query->removed_alone || mica_entity_alive(query->world, removals->entities.data[at]));
        if (is_named && first == end) {
            first = at;
        } else if (!is_named && first < end) {
            break;
        }
    }
    walk->position = at;
    if (first == end) { // the log may have no memory yet
        return false;
    }
    walk->piece = (mi_piece){.entities = removals->entities.data + first, .count = at - first};
    return true;
}

static bool has_piece(mi_walk *walk) {
    switch (walk->driver) {
    case MI_DRIVER_TABLES:
        return next_chunk(walk);
    case MI_DRIVER_ROWLESS:
        return next_rowless(walk);
    case MI_DRIVER_POOL:
        return next_elements(walk);
    case MI_DRIVER_REMOVED:
        return next_removed(walk);
    case MI_DRIVER_LIST: // is one piece
    case MI_DRIVER_ROWS:
    case MI_DRIVER_END:
        return false;
    }
    return false;
}

static void drive_rowless(mi_walk *walk) {
    walk->driver = MI_DRIVER_ROWLESS;
    walk->driver_source = walk->query->source_count;
    walk->filter.tests = walk->tests;
}

// What drives when the driver has come to its end; false: nothing does any more.
static bool drive_next(mi_walk *walk) {
    if (walk->driver == MI_DRIVER_TABLES && !walk->query->requires_table) {
        drive_rowless(walk);
        return true;
    }
    return walk->driver == MI_DRIVER_POOL && walk->clause != 0 && drive_clause(walk);
}

static bool next_piece(mi_walk *walk) {
    while (!has_piece(walk)) {
        if (!drive_next(walk)) {
            walk->driver = MI_DRIVER_END;
            return false;
        }
    }
    return true;
}

static void finish(mi_walk *walk) {
    mica_query *query = walk->query;
    if (walk->writes_runs) {
        query->runs_driver = walk->pool;
        query->runs_structure = mi_query_structure(query);
        walk->writes_runs = false;
    }
    walk->count = 0;
    walk->entities = NULL;
}

bool mi_walk_next(mi_walk *walk) {
    mi_walk_settle(walk, true);
    mi_world_settle_all(walk->query->world); // what is about to be copied may be in another walk's hands
    walk->count = 0;
    while (walk->count == 0) {
        if (walk->left_count > 0) {
            mi_walk_yield_picked(walk);
        } else if (walk->reads_runs) {
            if (!mi_walk_next_record(walk)) {
                break;
            }
        } else if (walk->piece.at < walk->piece.count || next_piece(walk)) {
            mi_walk_next_run(walk);
        } else {
            break;
        }
    }
    if (walk->count == 0) {
        finish(walk);
    }
    return walk->count > 0;
}

bool mi_walk_enter(mi_walk *walk, const mi_cut_place *place) {
    mi_walk_settle(walk, true);
    walk->left_count = 0;
    walk->piece = (mi_piece){0};
    if (walk->pool != NULL) {
        walk->driver = MI_DRIVER_POOL;
        walk->position = place->first_row;
        walk->pool_end = place->first_row + place->row_count;
        walk->reads_runs = false; // of whole walks
        walk->writes_runs = false;
    } else if (place->table == NULL) {
        drive_rowless(walk);
    } else {
        walk->driver = MI_DRIVER_ROWS;
        take_rows(walk, place);
    }
    return mi_walk_next(walk);
}
