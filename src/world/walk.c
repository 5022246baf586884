// Walks that look at entities: choosing what drives, pieces, runs and windows. See walk.h; copies are in copies.c.
//
// What drives is decided when the walk opens, from live counts alone, so that it is the same for equal worlds. Every
// entity is in one piece at most: tables and the entities without rows share none, and the pools of an any-of clause
// leave out who was in an earlier one.
//
// Runs between pools cost a comparison an entity to find. A walk over pools alone that comes to its end leaves what it
// found in the query, and the next ones read it as long as none of the pools has changed.
#include "world/walk.h"

#include "store/fetch.h"

#include <string.h>

#define COPY_ALIGN 256u // no copied value is aligned to more
#define FROM_SIZE (MI_WINDOW_SIZE * sizeof(uint8_t *))

// Slots of large pools are asked for so many entities ahead.
#define SLOTS_AHEAD 16u

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
            all_in_pools &= query->terms[i].any != any ||
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
    mi_pool *first = NULL;
    for (uint32_t i = 0; i < group->owned_count; i++) {
        if (first == NULL || mi_type_compare_names(group->owned[i]->type, first->type) < 0) {
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
        if (term->any == walk->clause) {
            drive_pool(walk, mi_store_find_pool(&query->world->store, term->component));
            return true;
        }
    }
    return false;
}

// Runs are kept where pools alone decide.
static void use_runs(mi_walk *walk) {
    mica_query *query = walk->query;
    if (walk->driver != MI_DRIVER_POOL || walk->clause != 0 || (walk->tests & ~MI_TEST_MASK) != 0) {
        return;
    }
    if (query->runs_driver == walk->pool && query->runs_structure == mi_query_structure(query)) {
        walk->reads_runs = true;
    } else if (walk->wants_columns && query->open_count == 0) {
        query->runs_driver = NULL;
        query->runs.count = 0;
        query->run_count = 0;
        walk->writes_runs = true;
    }
}

static void choose_driver(mi_walk *walk) {
    const mica_query *query = walk->query;
    mi_pool *smallest = smallest_required(query);
    if (!has_table_terms(query)) {
        walk->tests &= ~MI_TEST_TABLE;
    }
    if (smallest == NULL) {
        walk->clause = query->requires_table ? 0 : pool_clause(query);
        if (walk->clause == 0 || !drive_clause(walk)) {
            drive_tables(walk);
        }
        return;
    }
    if (query->requires_table && mi_query_rows(query) <= mi_pool_live_count(smallest)) {
        drive_tables(walk);
        return;
    }
    const mi_group *group = find_group(query);
    if (group != NULL) {
        drive_group(walk, group);
    } else {
        drive_pool(walk, smallest);
    }
    use_runs(walk);
    walk->covers = walk->clause == 0 && covers_pools(walk, walk->pool);
    if (walk->covers) {
        walk->tests &= ~MI_TEST_MASK;
    }
}

// Opening and closing

bool mi_walk_is_plain(const mica_query *query) {
    const mi_store *store = &query->world->store;
    return query->pool_term_count == 0 && query->toggles_active == 0 && !query->requires_nothing &&
           query->disabled != MI_DISABLED_ONLY && !mi_store_hides_any(store);
}

// Bytes that the copies of a window take; 0: there are none.
static size_t copies_size(const mi_type *type) {
    return type->copies_rows ? align_copy((size_t)type->info.size * MI_WINDOW_SIZE) : 0;
}

// Makes room for places and copies.
static bool reserve_memory(mi_walk *walk) {
    const mica_query *query = walk->query;
    mi_heap *heap = &query->world->heap;
    const size_t place_size = align_copy(MI_WINDOW_SIZE * sizeof(uint32_t));
    const size_t mask_size = align_copy(query->mask_word_count * sizeof(uint64_t));
    size_t need = mask_size + 2 * query->source_count * place_size;
    for (uint32_t i = 0; i < query->column_count; i++) {
        need += 2 * copies_size(query->columns[i].type) + (query->columns[i].type->copies_rows ? FROM_SIZE : 0);
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
    for (uint32_t i = 0; i < query->source_count; i++, at += 2 * place_size) {
        walk->place_room[i] = (uint32_t *)(void *)at;
        walk->picked_room[i] = (uint32_t *)(void *)(at + place_size);
    }
    walk->must_follow = false;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_type *type = query->columns[i].type;
        const size_t size = copies_size(type);
        walk->columns[i] =
            (mi_walk_column){.copy = at, .taken = at + size, .from = (uint8_t **)(void *)(at + 2 * size)};
        walk->must_follow |= !type->copies_rows;
        at += 2 * size + (type->copies_rows ? FROM_SIZE : 0);
    }
    if (mask_size > 0) {
        memset(walk->earlier, 0, mask_size);
    }
    return true;
}

// A walk that waits, or a new one.
static mi_walk *take_walk(mica_world *world) {
    mi_walk *walk = world->walks;
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
        walk->next = world->walks;
        world->walks = walk;
    }
    return walk;
}

static mi_walk *start_walk(mica_query *query, bool wants_columns) {
    mi_walk *walk = take_walk(query->world);
    if (walk == NULL) {
        return NULL;
    }
    walk->query = query;
    if (!reserve_memory(walk)) {
        walk->query = NULL;
        return NULL;
    }
    walk->wants_columns = wants_columns;
    walk->writes_runs = false;
    walk->reads_runs = false;
    walk->covers = false;
    walk->filter = mi_filter_make(query);
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

mi_walk *mi_walk_open(mica_query *query, bool wants_columns) {
    mi_walk *walk = start_walk(query, wants_columns);
    if (walk != NULL) {
        choose_driver(walk);
        walk->filter.tests = walk->tests;
    }
    return walk;
}

mi_walk *mi_walk_open_list(mica_query *query, const mica_entity *list, uint32_t count) {
    mi_walk *walk = start_walk(query, true);
    if (walk != NULL) {
        walk->driver = MI_DRIVER_LIST;
        walk->driver_source = query->source_count;
        walk->piece = (mi_piece){.entities = list, .count = count};
    }
    return walk;
}

void mi_walk_close(mi_walk *walk) {
    mi_walk_settle(walk, true);
    mi_sorted_release(walk->sorted, &walk->query->world->heap);
    walk->sorted = NULL;
    walk->query = NULL;
}

void mi_world_free_walks(mica_world *world, bool all) {
    mi_walk **link = &world->walks;
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

void mi_world_close_walks(mica_world *world) {
    for (mi_walk *walk = world->walks; walk != NULL; walk = walk->next) {
        if (walk->query != NULL) {
            mi_walk_close(walk);
        }
    }
    world->walk_count = 0;
    world->walk_epoch++;
    for (uint32_t i = 0; i < world->queries.count; i++) {
        world->queries.data[i]->open_count = 0;
    }
}

// Pieces

static bool next_chunk(mi_walk *walk) {
    const mica_query *query = walk->query;
    const mi_store *store = walk->filter.store;
    while (walk->table_index < query->tables.count) {
        const mi_table *table = query->tables.data[walk->table_index];
        const uint32_t chunk_index = walk->chunk_index++;
        if ((uint64_t)chunk_index << table->shift >= table->row_count) {
            walk->table_index++;
            walk->chunk_index = 0;
            continue;
        }
        const uint32_t id = table->chunk_ids[chunk_index];
        uint8_t *base = store->chunks[id].base;
        const bool hides = mi_column_head_of(base)->hidden_count > 0;
        if (!hides && query->disabled == MI_DISABLED_ONLY) {
            continue;
        }
        walk->filter.tests = hides ? walk->tests : walk->tests & ~MI_TEST_HIDDEN;
        walk->piece = (mi_piece){.entities = (const mica_entity *)(const void *)base,
                                 .count = mi_table_chunk_rows(table, chunk_index),
                                 .start = id << MI_ROW_BITS,
                                 .table = table};
        return true;
    }
    return false;
}

// Gathers the next entities without rows.
static bool next_rowless(mi_walk *walk) {
    const mi_slots *slots = &walk->filter.store->slots;
    uint32_t count = 0;
    while (walk->slot_index < slots->used && count < MI_WINDOW_SIZE) {
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

static bool next_elements(mi_walk *walk) {
    const mi_pool *pool = walk->pool;
    uint32_t first = walk->position;
    uint32_t end = walk->pool_end;
    if (pool->dead_count > 0) {
        first = find_live(pool, first, end, true);
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

static bool next_piece(mi_walk *walk) {
    switch (walk->driver) {
    case MI_DRIVER_TABLES:
        if (next_chunk(walk)) {
            return true;
        }
        if (walk->query->requires_table) {
            break;
        }
        walk->driver = MI_DRIVER_ROWLESS;
        walk->driver_source = walk->query->source_count;
        walk->filter.tests = walk->tests;
        return next_piece(walk);
    case MI_DRIVER_ROWLESS:
        if (next_rowless(walk)) {
            return true;
        }
        break;
    case MI_DRIVER_POOL:
        if (next_elements(walk)) {
            return true;
        }
        if (walk->clause != 0 && drive_clause(walk)) {
            return next_piece(walk);
        }
        break;
    case MI_DRIVER_LIST:
    case MI_DRIVER_END:
        break;
    }
    walk->driver = MI_DRIVER_END;
    return false;
}

// Places

static uint32_t locate(const mi_walk *walk, uint32_t source, mica_entity entity) {
    const mi_pool *pool = walk->query->sources[source].pool;
    return pool != NULL ? mi_pool_find(pool, entity)
                        : mi_slots_location(&walk->filter.store->slots, mica_entity_index(entity));
}

// Whether a place of a source has the column's component.
static bool has_column(const mi_walk *walk, const mi_query_column *column, uint32_t place) {
    return column->pool != NULL ? place != MI_POSITION_NONE
                                : mi_table_has(mi_store_table_at(walk->filter.store, place), column->type->info.id);
}

static bool is_toggled_off(const mi_walk *walk, const mi_query_column *column, mica_entity entity) {
    const mi_marks *toggled = mi_store_toggled(walk->filter.store, column->type->info.id);
    return toggled != NULL && mi_marks_has(toggled, mica_entity_index(entity));
}

// Which of the optional columns an entity has, a bit each.
static uint64_t pattern_of(const mi_walk *walk, mica_entity entity, const uint32_t *places) {
    const mica_query *query = walk->query;
    uint64_t pattern = 0;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        const bool is_there = column->is_optional && has_column(walk, column, places[column->source]) &&
                              !(column->may_be_toggled && is_toggled_off(walk, column, entity));
        pattern |= (uint64_t)is_there << i;
    }
    return pattern;
}

// Runs

// How many of the first `limit` handles are the same.
static uint32_t match_entities(const mica_entity *a, const mica_entity *b, uint32_t limit) {
    enum { STEP = 8 };
    uint32_t count = 0;
    while (count + STEP <= limit) {
        mica_entity_bits difference = 0;
        for (uint32_t i = 0; i < STEP; i++) {
            difference |= a[count + i].bits ^ b[count + i].bits;
        }
        if (difference != 0) {
            break;
        }
        count += STEP;
    }
    while (count < limit && a[count].bits == b[count].bits) {
        count++;
    }
    return count;
}

// How many entities, `limit` at most, follow each other in a source from a place on as they do in `entities`.
static uint32_t match_source(const mi_walk *walk, uint32_t source, uint32_t place, const mica_entity *entities,
                             uint32_t limit) {
    const mi_pool *pool = walk->query->sources[source].pool;
    if (pool != NULL) {
        const uint32_t room = mi_pool_room(pool, place);
        limit = room < limit ? room : limit;
        return walk->group != NULL && pool->owner == walk->group
                   ? limit
                   : match_entities(entities, pool->entities + place, limit);
    }
    const mi_store *store = walk->filter.store;
    const mi_table *table = mi_store_table_at(store, place);
    const uint32_t row = mi_row_of(place);
    const uint32_t last = (table->row_count - 1) >> table->shift;
    const bool is_last = table->chunk_ids[last] == place >> MI_ROW_BITS;
    const uint32_t room = (is_last ? mi_table_chunk_rows(table, last) : 1u << table->shift) - row;
    const mica_entity *beside = (const mica_entity *)(const void *)mi_store_base(store, place) + row;
    return match_entities(entities, beside, room < limit ? room : limit);
}

// Cuts a run to the entities that have the same optional columns as the first.
static uint32_t match_patterns(mi_walk *walk, const mica_entity *entities, uint32_t limit) {
    const mica_query *query = walk->query;
    const uint64_t pattern = pattern_of(walk, entities[0], walk->first_places);
    uint32_t count = 1;
    for (; count < limit; count++) {
        uint32_t places[MICA_QUERY_TERM_MAX];
        for (uint32_t i = 0; i < query->source_count; i++) {
            places[i] = i == walk->driver_source ? walk->first_places[i] : locate(walk, i, entities[count]);
        }
        if (pattern_of(walk, entities[count], places) != pattern) {
            break;
        }
    }
    return count;
}

// Leaves out those at the front of the piece that do not pass; false: nobody does.
static bool skip_failing(mi_walk *walk) {
    mi_piece *piece = &walk->piece;
    while (walk->filter.tests != 0 && piece->at < piece->count &&
           !mi_filter_passes(&walk->filter, piece->entities[piece->at])) {
        piece->at++;
    }
    return piece->at < piece->count;
}

// How long a run from the piece's next entity on is, which passes; 0: it is not in all pools that it must be in.
static uint32_t find_run(mi_walk *walk) {
    const mica_query *query = walk->query;
    const mi_piece *piece = &walk->piece;
    const mica_entity *entities = piece->entities + piece->at;
    uint32_t limit = piece->count - piece->at;
    bool has_gaps = query->optional_count > 0 && query->toggles_active != 0;
    for (uint32_t i = 0; walk->wants_columns && i < query->source_count; i++) {
        if (i == walk->driver_source) {
            walk->first_places[i] = piece->start + piece->at;
            continue;
        }
        const uint32_t place = locate(walk, i, entities[0]);
        const bool is_there = query->sources[i].pool != NULL ? place != MI_POSITION_NONE : place != 0;
        walk->first_places[i] = place;
        if (!is_there && !query->sources[i].is_optional) {
            return 0; // places are test enough
        }
        has_gaps |= !is_there;
        limit = is_there ? match_source(walk, i, place, entities, limit) : limit;
    }
    if (has_gaps && walk->wants_columns) {
        limit = match_patterns(walk, entities, limit);
    }
    uint32_t count = limit;
    if (walk->filter.tests != 0) {
        for (count = 1; count < limit && mi_filter_passes(&walk->filter, entities[count]); count++) {
        }
    }
    return count;
}

// Makes the next `count` entities, whose places are known, the span.
static void yield_run(mi_walk *walk, const mica_entity *entities, uint32_t count) {
    const mica_query *query = walk->query;
    walk->entities = entities;
    walk->count = count;
    walk->picked_count = 0;
    for (uint32_t i = 0; walk->wants_columns && i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        const uint32_t place = walk->first_places[column->source];
        const bool is_there =
            !column->is_optional ||
            (has_column(walk, column, place) && !(column->may_be_toggled && is_toggled_off(walk, column, entities[0])));
        walk->columns[i].is_copy = false;
        walk->columns[i].marked_version = 0;
        walk->columns[i].data = is_there ? mi_walk_value(walk, column, place) : NULL;
    }
}

// Makes room for a record of the query's runs, if they are being written down; NULL: they are not, or not any more.
static uint32_t *add_record(mi_walk *walk, uint32_t width) {
    mica_query *query = walk->query;
    if (!walk->writes_runs) {
        return NULL;
    }
    if (!MI_RESERVE(&query->world->heap, MICA_MEMORY_QUERIES, &query->runs, (size_t)query->runs.count + width)) {
        walk->writes_runs = false;
        return NULL;
    }
    uint32_t *record = query->runs.data + query->runs.count;
    query->runs.count += width;
    query->run_count++;
    return record;
}

static void note_run(mi_walk *walk, uint32_t first, uint32_t count) {
    const uint32_t source_count = walk->query->source_count;
    uint32_t *record = add_record(walk, 2 + source_count);
    if (record != NULL) {
        record[0] = first;
        record[1] = count;
        memcpy(record + 2, walk->first_places, source_count * sizeof(uint32_t));
    }
}

// Words that the numbers of `kept` entities of a window of `size` take in a record.
static uint32_t number_words(uint32_t size, uint32_t kept) {
    return kept == size ? 0 : (kept + 1) / 2;
}

static void note_window(mi_walk *walk, uint32_t first, uint32_t size) {
    const uint32_t source_count = walk->query->source_count;
    const uint32_t kept = walk->left_count;
    const uint32_t words = number_words(size, kept);
    const uint32_t placed_count = source_count - (walk->driver_source < source_count);
    uint32_t *record = add_record(walk, 3 + words + placed_count * kept);
    if (record == NULL) {
        return;
    }
    record[0] = first;
    record[1] = size | MI_RUN_WINDOW;
    record[2] = kept;
    if (words > 0) {
        record[2 + words] = 0; // the last word may be filled by half
        memcpy(record + 3, walk->left, kept * sizeof(uint16_t));
    }
    uint32_t *to = record + 3 + words;
    for (uint32_t i = 0; i < source_count; i++) {
        for (uint32_t k = 0; i != walk->driver_source && k < kept; k++) {
            *to++ = walk->places[i][walk->left[k]];
        }
    }
}

// Windows

static void leave_all(mi_walk *walk, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        walk->left[i] = (uint16_t)i;
    }
    walk->left_count = size;
}

// Takes those into the window that pass.
static void filter_window(mi_walk *walk, uint32_t size) {
    uint32_t count = 0;
    if (walk->filter.tests == 0) {
        leave_all(walk, size);
        return;
    }
    const mi_slots *slots = &walk->filter.store->slots;
    const bool fetches = (walk->filter.tests & MI_TEST_TABLE) != 0 && mi_fetches(walk->filter.store);
    for (uint32_t i = 0; i < size; i++) {
        if (fetches && i + SLOTS_AHEAD < size) {
            mi_fetch_slot(slots, walk->window[i + SLOTS_AHEAD]);
        }
        walk->left[count] = (uint16_t)i;
        count += mi_filter_passes(&walk->filter, walk->window[i]);
    }
    walk->left_count = count;
}

// Finds the places of those left in a pool. Who is not in it though it must be drops out.
static void place_in_pool(mi_walk *walk, const mi_pool *pool, uint32_t *places, bool is_optional) {
    const mica_entity *entities = walk->window;
    const bool fetches = pool->count >= MI_FETCHED_COUNT;
    const uint32_t count = walk->left_count;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (fetches && k + SLOTS_AHEAD < count) {
            mi_pool_fetch_slot(pool, entities[walk->left[k + SLOTS_AHEAD]]);
        }
        const uint16_t number = walk->left[k];
        const uint32_t place = mi_pool_find(pool, entities[number]);
        places[number] = place;
        walk->left[kept] = number;
        kept += is_optional | (place != MI_POSITION_NONE);
    }
    walk->left_count = kept;
}

static void place_in_rows(const mi_walk *walk, uint32_t *places) {
    const mi_slots *slots = &walk->filter.store->slots;
    for (uint32_t k = 0; k < walk->left_count; k++) {
        const uint16_t number = walk->left[k];
        places[number] = mi_slots_location(slots, mica_entity_index(walk->window[number]));
    }
}

// The places of the window in its driver.
static void place_in_driver(mi_walk *walk, uint32_t size) {
    if (walk->driver_source < walk->query->source_count) {
        uint32_t *places = walk->place_room[walk->driver_source];
        for (uint32_t i = 0; i < size; i++) {
            places[i] = walk->window_start + i;
        }
        walk->places[walk->driver_source] = places;
    }
}

static void find_places(mi_walk *walk, uint32_t size) {
    const mica_query *query = walk->query;
    for (uint32_t i = 0; i < query->source_count; i++) {
        if (i != walk->driver_source && query->sources[i].pool != NULL) {
            place_in_pool(walk, query->sources[i].pool, walk->place_room[i], query->sources[i].is_optional);
            walk->places[i] = walk->place_room[i];
        }
    }
    for (uint32_t i = 0; i < query->source_count; i++) {
        if (i != walk->driver_source && query->sources[i].pool == NULL) {
            place_in_rows(walk, walk->place_room[i]);
            walk->places[i] = walk->place_room[i];
        }
    }
    place_in_driver(walk, size);
}

static void find_patterns(mi_walk *walk) {
    const mica_query *query = walk->query;
    for (uint32_t k = 0; k < walk->left_count; k++) {
        uint32_t places[MICA_QUERY_TERM_MAX];
        const uint32_t number = walk->left[k];
        for (uint32_t i = 0; i < query->source_count; i++) {
            places[i] = walk->places[i][number];
        }
        walk->patterns[number] = pattern_of(walk, walk->window[number], places);
    }
}

// Takes the next entities of the piece as the window.
static void fill_window(mi_walk *walk) {
    mi_piece *piece = &walk->piece;
    const uint32_t rest = piece->count - piece->at;
    const uint32_t size = rest < MI_WINDOW_SIZE ? rest : MI_WINDOW_SIZE;
    walk->window = piece->entities + piece->at;
    walk->window_start = piece->start + piece->at;
    piece->at += size;
    filter_window(walk, size);
    if (walk->wants_columns) {
        find_places(walk, size);
        if (walk->query->optional_count > 0) {
            find_patterns(walk);
        }
    }
}

// How many of the first `count` entities that are left have values that follow each other in a column.
static uint32_t count_following(const mi_walk *walk, const mi_query_column *column, uint32_t count) {
    const uint32_t *places = walk->places[column->source];
    const uint32_t first = places[walk->left[0]];
    uint32_t room = MI_ROW_MAX - mi_row_of(first);
    if (column->pool != NULL) {
        room = mi_pool_room(column->pool, first);
    }
    uint32_t following = 1;
    while (following < count && following < room && places[walk->left[following]] == first + following) {
        following++;
    }
    return following;
}

// The same in all columns that are never copied, either those of the driver or the others.
static uint32_t count_uncopied(const mi_walk *walk, uint64_t pattern, bool of_driver, uint32_t count) {
    const mica_query *query = walk->query;
    for (uint32_t i = 0; i < query->column_count; i++) {
        const mi_query_column *column = &query->columns[i];
        const bool is_there = !column->is_optional || (pattern >> i & 1) != 0;
        if (is_there && !column->type->copies_rows && (column->source == walk->driver_source) == of_driver) {
            count = count_following(walk, column, count);
        }
    }
    return count;
}

// Picks what follows each other in all columns that are never copied. The driver's come last, where the walk goes
// along: by then others have mostly ended the span.
static void pick_following(mi_walk *walk) {
    const bool has_patterns = walk->query->optional_count > 0;
    const uint64_t pattern = has_patterns ? walk->patterns[walk->left[0]] : 0;
    uint32_t count = count_uncopied(walk, pattern, false, walk->left_count);
    count = count_uncopied(walk, pattern, true, count);
    uint32_t alike = has_patterns ? 1 : count;
    while (alike < count && walk->patterns[walk->left[alike]] == pattern) {
        alike++;
    }
    memcpy(walk->picked, walk->left, alike * sizeof(uint16_t));
    walk->picked_count = alike;
    walk->left_count -= alike;
    memmove(walk->left, walk->left + alike, walk->left_count * sizeof(uint16_t));
}

// Picks all that have the same optional columns as the first; of a list, those that follow it.
static void pick_alike(mi_walk *walk) {
    const uint64_t pattern = walk->patterns[walk->left[0]];
    uint32_t picked = 0;
    uint32_t left = 0;
    for (uint32_t k = 0; k < walk->left_count; k++) {
        const uint16_t number = walk->left[k];
        if (walk->patterns[number] == pattern && (walk->driver != MI_DRIVER_LIST || left == 0)) {
            walk->picked[picked++] = number;
        } else {
            walk->left[left++] = number;
        }
    }
    walk->picked_count = picked;
    walk->left_count = left;
}

// Makes a span of entities that are left of the window.
static void yield_picked(mi_walk *walk) {
    const mica_query *query = walk->query;
    if (walk->wants_columns && walk->must_follow) {
        pick_following(walk);
    } else if (walk->wants_columns && query->optional_count > 0) {
        pick_alike(walk);
    } else {
        memcpy(walk->picked, walk->left, walk->left_count * sizeof(uint16_t));
        walk->picked_count = walk->left_count;
        walk->left_count = 0;
    }
    const uint32_t count = walk->picked_count;
    const uint16_t first = walk->picked[0];
    walk->count = count;
    walk->entities = walk->window + first;
    const bool follows = walk->picked[count - 1] == first + count - 1;
    for (uint32_t k = 0; !follows && k < count; k++) {
        walk->picked_entities[k] = walk->window[walk->picked[k]];
    }
    if (!follows) {
        walk->entities = walk->picked_entities;
    }
    for (uint32_t i = 0; walk->wants_columns && i < query->source_count; i++) {
        for (uint32_t k = 0; !follows && k < count; k++) {
            walk->picked_room[i][k] = walk->places[i][walk->picked[k]];
        }
        walk->picked_places[i] = follows ? walk->places[i] + first : walk->picked_room[i];
    }
    if (walk->wants_columns) {
        mi_walk_gather(walk);
    }
}

// Takes a window as its record has it.
static void read_window(mi_walk *walk, const uint32_t *record, uint32_t size) {
    const mica_query *query = walk->query;
    const uint32_t kept = record[2];
    const uint32_t words = number_words(size, kept);
    const uint32_t *from = record + 3 + words;
    walk->window = walk->pool->entities + record[0];
    walk->window_start = record[0];
    leave_all(walk, kept);
    if (words > 0) {
        memcpy(walk->left, record + 3, kept * sizeof(uint16_t));
    }
    for (uint32_t i = 0; walk->wants_columns && i < query->source_count; i++) {
        if (i == walk->driver_source) {
            continue;
        }
        for (uint32_t k = 0; words > 0 && k < kept; k++) {
            walk->place_room[i][walk->left[k]] = from[k];
        }
        walk->places[i] = words > 0 ? walk->place_room[i] : from;
        from += kept;
    }
    if (walk->wants_columns) {
        place_in_driver(walk, size);
        if (query->optional_count > 0) {
            find_patterns(walk);
        }
    }
}

// Reads the next record of the query's runs; false: there is none. A window is left to be picked from.
static bool next_record(mi_walk *walk) {
    const mica_query *query = walk->query;
    if (walk->run_index >= query->runs.count) {
        return false;
    }
    const uint32_t *record = query->runs.data + walk->run_index;
    const uint32_t count = record[1] & ~MI_RUN_WINDOW;
    if (record[1] != count) {
        const uint32_t placed_count = query->source_count - (walk->driver_source < query->source_count);
        walk->run_index += 3 + number_words(count, record[2]) + placed_count * record[2];
        read_window(walk, record, count);
        return true;
    }
    walk->run_index += 2 + query->source_count;
    memcpy(walk->first_places, record + 2, query->source_count * sizeof(uint32_t));
    yield_run(walk, walk->pool->entities + record[0], count);
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

// Makes the front of the piece a run, or a window to be picked from.
static void next_run(mi_walk *walk) {
    mi_piece *piece = &walk->piece;
    if (!skip_failing(walk)) {
        return;
    }
    const uint32_t first = piece->start + piece->at;
    const uint32_t run = find_run(walk);
    if (run >= MI_RUN_MIN || (run > 0 && run == piece->count - piece->at)) {
        note_run(walk, first, run);
        yield_run(walk, piece->entities + piece->at, run);
        piece->at += run;
    } else {
        fill_window(walk);
        note_window(walk, first, piece->start + piece->at - first);
    }
}

bool mi_walk_next(mi_walk *walk) {
    mi_walk_settle(walk, true);
    mi_world_settle_all(walk->query->world); // what is about to be copied may be in another walk's hands
    walk->count = 0;
    while (walk->count == 0) {
        if (walk->left_count > 0) {
            yield_picked(walk);
        } else if (walk->reads_runs) {
            if (!next_record(walk)) {
                break;
            }
        } else if (walk->piece.at < walk->piece.count || next_piece(walk)) {
            next_run(walk);
        } else {
            break;
        }
    }
    if (walk->count == 0) {
        finish(walk);
    }
    return walk->count > 0;
}
