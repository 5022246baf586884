// What a walk makes of a piece: runs, windows, and what a query keeps of both; see walk.h.
//
// Runs between pools cost a comparison an entity to find. A walk over pools alone that comes to its end leaves what it
// found in the query, and the next ones read it as long as none of the pools has changed.
#include "world/since.h"
#include "world/walk.h"

#include "store/fetch.h"

#include <string.h>

// Slots of large pools are asked for so many entities ahead.
#define SLOTS_AHEAD 16u

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
    enum { STEP = 64 };
    uint32_t count = 0;
    while (count + STEP <= limit && memcmp(a + count, b + count, STEP * sizeof(*a)) == 0) {
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
    const uint32_t room = (is_last ? mi_table_chunk_rows(table, last) : mi_table_full_room(table)) - row;
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
    if (walk->filter.tests == MI_TEST_CHANGES) {
        piece->at = mi_since_skip(&walk->filter, piece->entities, piece->at, piece->count);
        return piece->at < piece->count;
    }
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
        if (i == walk->driver_source) {
            continue;
        }
        if (words == 0) {
            memcpy(to, walk->places[i], kept * sizeof(uint32_t));
        }
        for (uint32_t k = 0; words > 0 && k < kept; k++) {
            to[k] = walk->places[i][walk->left[k]];
        }
        to += kept;
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
    if (walk->filter.tests == MI_TEST_CHANGES) {
        for (uint32_t i = 0; (i = mi_since_skip(&walk->filter, walk->window, i, size)) < size; i++) {
            walk->left[count++] = (uint16_t)i;
        }
        walk->left_count = count;
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

// Finds the places of a whole window in a pool; false: somebody is not in it.
static bool place_all_in_pool(const mi_walk *walk, const mi_pool *pool, uint32_t *places) {
    const mica_entity *entities = walk->window;
    const bool fetches = pool->count >= MI_FETCHED_COUNT;
    const uint32_t count = walk->left_count;
    uint32_t missing = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (fetches && k + SLOTS_AHEAD < count) {
            mi_pool_fetch_slot(pool, entities[k + SLOTS_AHEAD]);
        }
        places[k] = mi_pool_find(pool, entities[k]);
        missing += places[k] == MI_POSITION_NONE;
    }
    return missing == 0;
}

// Finds the places of those left in a pool. Who is not in it though it must be drops out.
static void place_in_pool(mi_walk *walk, const mi_pool *pool, uint32_t *places, bool is_optional) {
    const mica_entity *entities = walk->window;
    const bool fetches = pool->count >= MI_FETCHED_COUNT;
    const uint32_t count = walk->left_count;
    if (count > 0 && walk->left[count - 1] == count - 1 && place_all_in_pool(walk, pool, places)) {
        return; // all of them are left, and stay
    }
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

// Picks all that have the same optional columns as the first; of a list or log, those that follow it.
static void pick_alike(mi_walk *walk) {
    const uint64_t pattern = walk->patterns[walk->left[0]];
    const bool keeps_order = walk->driver == MI_DRIVER_LIST || walk->driver == MI_DRIVER_REMOVED;
    uint32_t picked = 0;
    uint32_t left = 0;
    for (uint32_t k = 0; k < walk->left_count; k++) {
        const uint16_t number = walk->left[k];
        if (walk->patterns[number] == pattern && (!keeps_order || left == 0)) {
            walk->picked[picked++] = number;
        } else {
            walk->left[left++] = number;
        }
    }
    walk->picked_count = picked;
    walk->left_count = left;
}

void mi_walk_yield_picked(mi_walk *walk) {
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

bool mi_walk_next_record(mi_walk *walk) {
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

// Whether a short run stands so far from the next entity that passes, which comes at `next`, that a window would hold
// little else. All columns are the driver's.
static bool stands_apart(const mi_walk *walk, uint32_t run, uint32_t *next) {
    const uint32_t source_count = walk->query->source_count;
    if (walk->filter.tests != MI_TEST_CHANGES || run == 0 || source_count > 1 ||
        (source_count == 1 && walk->driver_source != 0)) {
        return false;
    }
    const uint32_t end = walk->piece.at + run;
    *next = mi_since_skip(&walk->filter, walk->piece.entities, end, walk->piece.count);
    return *next - end >= MI_RUN_MIN;
}

void mi_walk_next_run(mi_walk *walk) {
    mi_piece *piece = &walk->piece;
    if (!skip_failing(walk)) {
        return;
    }
    const uint32_t first = piece->start + piece->at;
    const uint32_t run = find_run(walk);
    uint32_t next = 0;
    if (run >= MI_RUN_MIN || (run > 0 && run == piece->count - piece->at)) {
        note_run(walk, first, run);
        yield_run(walk, piece->entities + piece->at, run);
        piece->at += run;
    } else if (stands_apart(walk, run, &next)) {
        yield_run(walk, piece->entities + piece->at, run);
        piece->at = next;
    } else {
        fill_window(walk);
        note_window(walk, first, piece->start + piece->at - first);
    }
}
