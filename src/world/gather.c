// Values of many entities, copied from where they stand and back.
//
// Entities lie anywhere, so what costs is waiting for memory. They are taken in blocks: the slots of the next block are
// asked for while the places of this one are found, each place is asked for when it is found, and only when all of them
// are on their way are the values copied. A block's places fit in the nearest cache. The values of a component stand
// one whole value a row, or a position of a pool; that is known to find_rows and find_elements alone.
#include "world/world.h"

#include "store/fetch.h"

#include <string.h>

#define BLOCK_SIZE 32u

// What is copied.
typedef struct value_search {
    const mi_store *store;
    const mi_pool *pool; // NULL: the component lives in tables
    mica_component component;
    uint32_t size;
    uint64_t version; // what is written is stamped with
    bool writes;      // columns and pages that a value is found in are stamped
    bool in_lanes;
} value_search;

// Where the values of a block stand; NULL: there is none.
typedef struct value_places {
    uint8_t *at[BLOCK_SIZE];
} value_places;

// Asks for a value; one that reaches over the edge of a line of the cache is in two of them.
static inline void fetch_place(const uint8_t *place, size_t last_byte, bool writes) {
    if (writes) {
        __builtin_prefetch(place, 1);
        __builtin_prefetch(place + last_byte, 1);
    } else {
        __builtin_prefetch(place);
        __builtin_prefetch(place + last_byte);
    }
}

static size_t column_offset(const value_search *search, const mi_table *table) {
    return mi_table_has(table, search->component) ? (size_t)table->offset_of[search->component] * MI_COLUMN_ALIGN : 0;
}

// Finds the places of a block in tables and asks for them: how many there are. `writes` is the search's, and known
// where this is inlined.
static inline uint32_t find_rows(const value_search *search, const mica_entity *entities, uint32_t count,
                                 value_places *places, bool writes) {
    const mi_slots slots = search->store->slots;
    const mi_chunk *chunks = search->store->chunks;
    const uint64_t version = search->version;
    const size_t size = search->size;
    const mi_table *known = NULL; // the table of the last row, and the offset of the column there, 0: it has none
    size_t offset = 0;
    uint32_t missing_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t location = 0;
        if (MICA_UNLIKELY(!mi_slots_resolve(&slots, entities[i], &location) || location == 0)) {
            places->at[i] = NULL;
            missing_count++;
            continue;
        }
        const mi_chunk *chunk = &chunks[location >> MI_ROW_BITS];
        if (MICA_UNLIKELY(chunk->of.table != known)) {
            known = chunk->of.table;
            offset = column_offset(search, known);
        }
        if (MICA_UNLIKELY(offset == 0)) {
            places->at[i] = NULL;
            missing_count++;
            continue;
        }
        uint8_t *column = chunk->base + offset;
        if (writes) {
            mi_column_mark(column, version);
        }
        places->at[i] = column + mi_row_of(location) * size;
        fetch_place(places->at[i], search->size - 1, writes);
    }
    return count - missing_count;
}

// The same in a pool.
static inline uint32_t find_elements(const value_search *search, const mica_entity *entities, uint32_t count,
                                     value_places *places, bool writes) {
    const mi_pool *pool = search->pool;
    uint32_t found_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t position = mi_pool_find(pool, entities[i]);
        places->at[i] = NULL;
        if (MICA_UNLIKELY(position == MI_POSITION_NONE)) {
            continue;
        }
        uint64_t *stamp = &pool->stamps[position >> pool->page_shift];
        if (writes) {
            mi_stamp_mark(stamp, search->version);
        }
        places->at[i] = mi_pool_value(pool, position);
        fetch_place(places->at[i], search->size - 1, writes);
        found_count++;
    }
    return found_count;
}

// Asks for what finding the places of a block looks at.
static void fetch_entities(const value_search *search, const mica_entity *entities, uint32_t count) {
    if (search->pool != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            mi_pool_fetch_slot(search->pool, entities[i]);
        }
        return;
    }
    // What is asked for in vain does no harm, wherever a handle of nobody points.
    const uintptr_t slots = (uintptr_t)search->store->slots.data;
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch((const void *)(slots + (uintptr_t)mica_entity_index(entities[i]) * sizeof(uint64_t)));
    }
}

static uint32_t find_places(const value_search *search, const mica_entity *entities, uint32_t count,
                            value_places *places) {
    if (search->pool != NULL) {
        return search->writes ? find_elements(search, entities, count, places, true)
                              : find_elements(search, entities, count, places, false);
    }
    return search->writes ? find_rows(search, entities, count, places, true)
                          : find_rows(search, entities, count, places, false);
}

// A walk over the entities in blocks: the places of one block are found, and those who will be looked at next are asked
// for, before the values of the block in front of it are copied.
typedef struct block_walk {
    const value_search *search;
    const mica_entity *entities;
    uint32_t count;
    uint32_t found_count;
    value_places places[2]; // of the block found last and of the one in front, by number
} block_walk;

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t block_count(const block_walk *walk, uint32_t first) {
    return first < walk->count ? least(walk->count - first, BLOCK_SIZE) : 0;
}

static void find_block(block_walk *walk, uint32_t first) {
    if (first >= walk->count) {
        return;
    }
    const uint32_t next = first + BLOCK_SIZE;
    if (next < walk->count) {
        fetch_entities(walk->search, walk->entities + next, block_count(walk, next));
    }
    walk->found_count += find_places(walk->search, walk->entities + first, block_count(walk, first),
                                     &walk->places[first / BLOCK_SIZE % 2]);
}

// Copies the values of a block, zeros where there are none. Inlined once for each of the common sizes.
static inline void gather_values(uint8_t *const *places, uint32_t count, uint8_t *values, uint32_t size) {
    for (uint32_t i = 0; i < count; i++) {
        if (MICA_LIKELY(places[i] != NULL)) {
            memcpy(values + (size_t)i * size, places[i], size);
        } else {
            memset(values + (size_t)i * size, 0, size);
        }
    }
}

static void gather_block(uint8_t *const *places, uint32_t count, uint8_t *values, uint32_t size) {
    switch (size) {
    case 4:
        gather_values(places, count, values, 4);
        break;
    case 8:
        gather_values(places, count, values, 8);
        break;
    case 12:
        gather_values(places, count, values, 12);
        break;
    case 16:
        gather_values(places, count, values, 16);
        break;
    default:
        gather_values(places, count, values, size);
    }
}

static inline void scatter_values(uint8_t *const *places, uint32_t count, const uint8_t *values, uint32_t size) {
    for (uint32_t i = 0; i < count; i++) {
        if (MICA_LIKELY(places[i] != NULL)) {
            memcpy(places[i], values + (size_t)i * size, size);
        }
    }
}

static void scatter_block(uint8_t *const *places, uint32_t count, const uint8_t *values, uint32_t size) {
    switch (size) {
    case 4:
        scatter_values(places, count, values, 4);
        break;
    case 8:
        scatter_values(places, count, values, 8);
        break;
    case 12:
        scatter_values(places, count, values, 12);
        break;
    case 16:
        scatter_values(places, count, values, 16);
        break;
    default:
        scatter_values(places, count, values, size);
    }
}

// Begins with the first block, if there is one.
static void begin_blocks(block_walk *walk, const value_search *search, const mica_entity *entities, uint32_t count) {
    walk->search = search;
    walk->entities = entities;
    walk->count = count;
    walk->found_count = 0;
    fetch_entities(search, entities, block_count(walk, 0));
    find_block(walk, 0);
}

// The places of the block from `first` on, after those of the next one are found; `found`, unless NULL, is told of
// them.
static uint8_t *const *take_block(block_walk *walk, uint32_t first, bool *found) {
    find_block(walk, first + BLOCK_SIZE);
    uint8_t *const *places = walk->places[first / BLOCK_SIZE % 2].at;
    const uint32_t count = block_count(walk, first);
    for (uint32_t i = 0; found != NULL && i < count; i++) {
        found[first + i] = places[i] != NULL;
    }
    return places;
}

static uint32_t gather_all(const value_search *search, const mica_entity *entities, uint32_t count, uint8_t *values,
                           bool *found) {
    block_walk walk;
    begin_blocks(&walk, search, entities, count);
    for (uint32_t first = 0; first < count; first += BLOCK_SIZE) {
        uint8_t *const *places = take_block(&walk, first, found);
        gather_block(places, block_count(&walk, first), values + (size_t)first * search->size, search->size);
    }
    return walk.found_count;
}

// Tells of the entities of a block that have been written to, runs of them at once.
static void tell_written(mica_world *world, mica_component component, const mica_entity *entities,
                         uint8_t *const *places, uint32_t count) {
    uint32_t first = 0;
    for (uint32_t i = 0; i <= count; i++) {
        if (i == count || places[i] == NULL) {
            if (i > first) {
                mi_world_written(world, component, entities + first, i - first);
            }
            first = i + 1;
        }
    }
}

static uint32_t scatter_all(mica_world *world, const value_search *search, const mica_entity *entities, uint32_t count,
                            const uint8_t *values, bool *found) {
    block_walk walk;
    begin_blocks(&walk, search, entities, count);
    for (uint32_t first = 0; first < count; first += BLOCK_SIZE) {
        uint8_t *const *places = take_block(&walk, first, found);
        const uint32_t block = block_count(&walk, first);
        scatter_block(places, block, values + (size_t)first * search->size, search->size);
        if (MICA_UNLIKELY(world->front.watches_writes)) {
            tell_written(world, search->component, entities + first, places, block);
        }
    }
    return walk.found_count;
}

// Values in lanes
//
// They are in as many places as they have fields: one after the other, without places.

// Finds an entity's row; NULL: it has none with the component.
static const mi_table *find_lanes(const value_search *search, mica_entity entity, uint32_t *location) {
    if (!mi_slots_resolve(&search->store->slots, entity, location) || *location == 0) {
        return NULL;
    }
    const mi_table *table = mi_store_table_at(search->store, *location);
    return mi_table_has(table, search->component) ? table : NULL;
}

static uint32_t gather_lanes(const value_search *search, const mica_entity *entities, uint32_t count, uint8_t *values,
                             bool *found) {
    uint32_t found_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t location = 0;
        const mi_table *table = find_lanes(search, entities[i], &location);
        uint8_t *value = values + (size_t)i * search->size;
        if (table != NULL) {
            mi_store_read_lanes(search->store, table, location, search->component, value);
        } else {
            memset(value, 0, search->size);
        }
        if (found != NULL) {
            found[i] = table != NULL;
        }
        found_count += table != NULL;
    }
    return found_count;
}

static uint32_t scatter_lanes(mica_world *world, const value_search *search, const mica_entity *entities,
                              uint32_t count, const uint8_t *values, bool *found) {
    uint32_t found_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t location = 0;
        const mi_table *table = find_lanes(search, entities[i], &location);
        if (table != NULL) {
            mi_store_write_lanes(search->store, table, location, search->component, values + (size_t)i * search->size,
                                 search->version);
            mi_world_written(world, search->component, &entities[i], 1);
        }
        if (found != NULL) {
            found[i] = table != NULL;
        }
        found_count += table != NULL;
    }
    return found_count;
}

// Checks what is asked for, and begins the search; false with the error set.
static bool begin_search(const mica_world *world, const mica_entity *entities, int32_t count, mica_component component,
                         bool writes, const void *values, value_search *search, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return false;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type == NULL) {
        return false;
    }
    if (count < 0 || (count > 0 && (entities == NULL || values == NULL))) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs arrays of handles and values, and how many they are");
        return false;
    }
    if (type->info.size == 0) {
        mi_fail(&world->log, MICA_NO_VALUE, call, "{} is a tag", MI_TEXT(type->info.name));
        return false;
    }
    if (type->has_destruct || type->has_move || type->has_copy) {
        mi_fail(&world->log, MICA_NO_COPY, call, "{} has hooks: its values are more than their bytes",
                MI_TEXT(type->info.name));
        return false;
    }
    if (mi_world_check_access(world, component, writes, MICA_NULL, call) != MICA_OK) {
        return false;
    }
    mi_world_settle_all(world);
    *search = (value_search){.store = &world->store,
                             .pool = mi_store_find_pool(&world->store, component),
                             .component = component,
                             .size = type->info.size,
                             .version = mi_world_version(world),
                             .in_lanes = mi_type_in_lanes(type)};
    return true;
}

int32_t mica_entity_gather(const mica_world *world, const mica_entity *entities, int32_t count,
                           mica_component component, void *values, bool *found) {
    value_search search;
    if (!begin_search(world, entities, count, component, false, values, &search, "mica_entity_gather")) {
        return -1;
    }
    return (int32_t)(MICA_UNLIKELY(search.in_lanes) ? gather_lanes(&search, entities, (uint32_t)count, values, found)
                                                    : gather_all(&search, entities, (uint32_t)count, values, found));
}

int32_t mica_entity_scatter(mica_world *world, const mica_entity *entities, int32_t count, mica_component component,
                            const void *values, bool *found) {
    static const char call[] = "mica_entity_scatter";
    value_search search;
    if (!begin_search(world, entities, count, component, true, values, &search, call)) {
        return -1;
    }
    const mica_component_info *info = &mi_schema_type(world->schema, component)->info;
    if (MICA_UNLIKELY(info->hooks.attach != NULL)) {
        mi_fail(&world->log, MICA_NO_ACCESS, call, "{} is a relation: it changes through its link verbs alone",
                MI_TEXT(info->name));
        return -1;
    }
    search.writes = true;
    return (int32_t)(MICA_UNLIKELY(search.in_lanes)
                         ? scatter_lanes(world, &search, entities, (uint32_t)count, values, found)
                         : scatter_all(world, &search, entities, (uint32_t)count, values, found));
}
