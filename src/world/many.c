// Adding one component to many entities, setting it, and removing it: checks, room, and the way by columns.
//
// Invariants: until all that can fail is done nothing of it shows in the world; counts of rows that are to be opened,
// and marks of entities that are named, are there while entities are looked at, and gone between calls.
#include "world/many.h"

#include "store/fetch.h"
#include "store/row_batch.h"
#include "store/visibility.h"
#include "world/notice.h"

#include <string.h>

// What is wrong

mica_result mi_many_fail_stale(const mi_many *many, uint32_t number) {
    return mi_fail(&many->world->log, MICA_STALE, many->call, "entities[{}]: {} is not alive in {}", MI_UINT(number),
                   MI_ENTITY(many->entities[number]), MI_TEXT(many->world->name));
}

mica_result mi_many_fail_exists(const mi_many *many, uint32_t number, bool is_twice) {
    return mi_fail(&many->world->log, MICA_EXISTS, many->call,
                   is_twice ? "entities[{}]: {} is named twice, and would get a second {}"
                            : "entities[{}]: {} has {} already",
                   MI_UINT(number), MI_ENTITY(many->entities[number]), MI_TEXT(many->type->info.name));
}

static mica_result check_arguments(const mi_many *many, int32_t count) {
    const mica_log_handler *log = &many->world->log;
    const mica_component_info *info = &many->type->info;
    if (count < 0 || (count > 0 && many->entities == NULL)) {
        return mi_fail_plain(log, MICA_INVALID, many->call, "needs an array of handles and how many they are");
    }
    if (info->hooks.attach != NULL) {
        return mi_fail(log, MICA_NO_ACCESS, many->call, "{} is a relation: its own verbs link many",
                       MI_TEXT(info->name));
    }
    if (info->size == 0 && (many->values != NULL || many->verb == MI_MANY_SET)) {
        return mi_fail(log, MICA_NO_VALUE, many->call, "{} is a tag", MI_TEXT(info->name));
    }
    if (many->verb == MI_MANY_SET && many->values == NULL && count > 0) {
        return mi_fail(log, MICA_INVALID, many->call, "needs values of {}", MI_TEXT(info->name));
    }
    return MICA_OK;
}

// Looking at the entities

// Asks for what lies ahead of entity `number`: its slot, then the handle of its row.
static inline void fetch_ahead(const mi_many *many, uint32_t number) {
    const mi_store *store = &many->world->store;
    if (number + MI_SLOTS_AHEAD < many->count) {
        mi_fetch_slot(&store->slots, many->entities[number + MI_SLOTS_AHEAD]);
    }
    if (number + MI_ROWS_AHEAD < many->count) {
        const uint32_t index = mica_entity_index(many->entities[number + MI_ROWS_AHEAD]);
        const uint32_t location = mi_slots_location(&store->slots, index);
        if (location != 0) {
            __builtin_prefetch(mi_store_base(store, location) + mi_row_of(location) * sizeof(mica_entity), 1);
        }
    }
}

// What is known of entities of a table: those that follow are often of the same one.
typedef struct route {
    mi_table *from; // NULL: nothing yet
    mi_table *to;   // where they come to; NULL: not known yet
    bool has;       // the component is in the table
    uint32_t count; // that come there and are not counted yet
} route;

static inline route route_from(const mi_many *many, mi_table *from) {
    return (route){.from = from, .has = mi_table_has(from, many->type->info.id)};
}

// Finds out where a route leads; false: store->failure says why not.
static inline bool find_end(const mi_many *many, route *known) {
    if (MICA_UNLIKELY(known->to == NULL)) {
        mi_store *store = &many->world->store;
        known->to = many->verb == MI_MANY_REMOVE ? mi_store_table_without(store, known->from, many->type->info.id)
                                                 : mi_store_table_with(store, known->from, many->type->info.id);
    }
    return known->to != NULL;
}

// Counts the rows that are to be opened at the end of a route.
static bool count_rows(mi_many *many, const route *known) {
    mica_world *world = many->world;
    const mi_table *to = known->to;
    if (known->count == 0 || known->from == to) {
        return true;
    }
    many->is_plain = many->is_plain && known->from->is_plain && to->is_plain;
    if (to == mi_store_root(&world->store)) {
        return true;
    }
    if (MICA_UNLIKELY(to->id >= world->opening.count)) {
        const uint32_t count = world->opening.count;
        const uint32_t need = world->store.tables.count;
        if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->opening, need) ||
            !MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->opening_ids, need)) {
            world->store.failure = MICA_OUT_OF_MEMORY;
            return false;
        }
        memset(world->opening.data + count, 0, (need - count) * sizeof(uint32_t));
        world->opening.count = need;
    }
    if (world->opening.data[to->id] == 0) {
        world->opening_ids.data[world->opening_ids.count++] = to->id;
    }
    world->opening.data[to->id] += known->count;
    return true;
}

// An observer may set many while structure is locked, and then opens no rows: those that are noted are of the verb that
// tells it.
static void forget_rows(mica_world *world) {
    if (mi_world_is_locked(world)) {
        return;
    }
    for (uint32_t i = 0; i < world->opening_ids.count; i++) {
        world->opening.data[world->opening_ids.data[i]] = 0;
    }
    world->opening_ids.count = 0;
}

// Notes that an entity is named: MICA_OK, MICA_EXISTS if it was named before, or MICA_OUT_OF_MEMORY.
static inline mica_result name_entity(mica_world *world, mica_entity entity) {
    const uint32_t index = mica_entity_index(entity);
    mi_marks *named = &world->named;
    const uint32_t page = index >> MI_MARKS_SHIFT;
    if (MICA_UNLIKELY(page >= named->page_count || named->pages[page] == NULL) &&
        !mi_marks_open(named, &world->heap, index)) {
        return MICA_OUT_OF_MEMORY;
    }
    const uint32_t bit = index & ((1u << MI_MARKS_SHIFT) - 1);
    uint64_t *word = &named->pages[page][bit / 64];
    const uint64_t mask = UINT64_C(1) << bit % 64;
    if (MICA_UNLIKELY((*word & mask) != 0)) {
        return MICA_EXISTS;
    }
    *word |= mask;
    return MICA_OK;
}

// Forgets that the first `count` entities were named.
static void forget_names(const mi_many *many, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = mica_entity_index(many->entities[i]);
        const uint32_t bit = index & ((1u << MI_MARKS_SHIFT) - 1);
        many->world->named.pages[index >> MI_MARKS_SHIFT][bit / 64] = 0;
    }
}

// Looks at an entity: what it lacks, and where that leads. Sets no error.
static inline mica_result look_at(mi_many *many, uint32_t number, mi_many_verb verb, route *known) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    uint32_t location = 0;
    if (MICA_UNLIKELY(!mi_slots_resolve(&world->store.slots, entity, &location))) {
        return MICA_STALE;
    }
    mi_table *from = mi_store_table_at(&world->store, location);
    if (MICA_UNLIKELY(from != known->from)) {
        if (!count_rows(many, known)) {
            return MICA_OUT_OF_MEMORY;
        }
        *known = route_from(many, from);
    }
    const bool is_there = many->pool != NULL ? mi_pool_has(many->pool, entity) : known->has;
    if (is_there != (verb == MI_MANY_REMOVE)) {
        return verb == MI_MANY_ADD ? MICA_EXISTS : MICA_OK;
    }
    if (verb == MI_MANY_SET && mi_world_is_locked(world)) {
        return MICA_LOCKED;
    }
    if (!find_end(many, known)) {
        return world->store.failure;
    }
    known->count++;
    many->absent_count += !is_there;
    return verb == MI_MANY_ADD ? name_entity(world, entity) : MICA_OK;
}

// Says what was wrong with an entity.
MI_COLD static mica_result fail_look(const mi_many *many, uint32_t number, mica_result result) {
    mica_world *world = many->world;
    const mica_entity entity = many->entities[number];
    switch (result) {
    case MICA_STALE:
        return mi_many_fail_stale(many, number);
    case MICA_EXISTS: {
        const uint32_t location = mi_slots_location(&world->store.slots, mica_entity_index(entity));
        return mi_many_fail_exists(many, number, !mi_many_has(many, entity, location));
    }
    case MICA_LOCKED:
        return mi_world_fail_structure(world, many->call);
    default:
        world->store.failure = result;
        return mi_world_fail_store(world, many->call);
    }
}

static inline mica_result look_at_all(mi_many *many, mi_many_verb verb) {
    const bool fetches = mi_fetches(&many->world->store);
    route known = {0};
    mica_result result = MICA_OK;
    uint32_t number = 0;
    while (result == MICA_OK && number < many->count) {
        if (fetches && number + MI_SLOTS_AHEAD < many->count) {
            mi_fetch_slot(&many->world->store.slots, many->entities[number + MI_SLOTS_AHEAD]);
        }
        result = look_at(many, number++, verb, &known);
    }
    if (verb == MI_MANY_ADD) {
        forget_names(many, result == MICA_OK ? number : number - 1);
    }
    if (result == MICA_OK && !count_rows(many, &known)) {
        result = MICA_OUT_OF_MEMORY;
    }
    if (MICA_LIKELY(result == MICA_OK)) {
        return MICA_OK;
    }
    forget_rows(many->world);
    return fail_look(many, number - 1, result);
}

// Looks at all entities.
static mica_result look(mi_many *many) {
    many->is_plain = true;
    switch (many->verb) {
    case MI_MANY_ADD:
        return look_at_all(many, MI_MANY_ADD);
    case MI_MANY_SET:
        return look_at_all(many, MI_MANY_SET);
    default:
        return look_at_all(many, MI_MANY_REMOVE);
    }
}

// Room

// Gives back what was opened and not used.
static void close_rows(const mi_many *many) {
    mica_world *world = many->world;
    if (mi_world_is_locked(world)) {
        return;
    }
    for (uint32_t i = 0; i < world->opening_ids.count; i++) {
        mi_store_close_rows(&world->store, world->store.tables.data[world->opening_ids.data[i]]);
    }
    forget_rows(world);
}

static bool open_rows(const mi_many *many) {
    mica_world *world = many->world;
    for (uint32_t i = 0; i < world->opening_ids.count && !mi_world_is_locked(world); i++) {
        const uint32_t id = world->opening_ids.data[i];
        if (!mi_store_open_rows(&world->store, world->store.tables.data[id], world->opening.data[id])) {
            close_rows(many);
            mi_world_fail_store(world, many->call);
            return false;
        }
    }
    return true;
}

// Whether an entity will come into a pool: that of the component, or one that comes along.
static bool will_come(const mi_many *many, const mi_pool *pool, mica_entity entity) {
    const uint32_t location = mi_slots_location(&many->world->store.slots, mica_entity_index(entity));
    return !mi_pool_has(pool, entity) && !mi_many_has(many, entity, location);
}

static void close_pool(const mi_many *many, mi_pool *pool, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        mi_pool_close_index(pool, &many->world->heap, mica_entity_index(many->entities[i]));
    }
}

// Makes room in a pool for those that will come into it.
static bool open_pool(const mi_many *many, mi_pool *pool) {
    mica_world *world = many->world;
    mi_store *store = &world->store;
    uint32_t extra = 0;
    for (uint32_t i = 0; i < many->count; i++) {
        const uint32_t index = mica_entity_index(many->entities[i]);
        if (!will_come(many, pool, many->entities[i])) {
            continue;
        }
        if (!mi_masks_open(&store->masks, &world->heap, index) || !mi_pool_open_index(pool, &world->heap, index)) {
            close_pool(many, pool, i);
            return false;
        }
        extra++;
    }
    mi_pool_moved moved;
    extra = extra > pool->dead_count ? extra - pool->dead_count : 0;
    if (!mi_pool_reserve(pool, &world->heap, &store->values, extra, &moved)) {
        close_pool(many, pool, many->count);
        return false;
    }
    return true;
}

// The pool of a type that comes along as number `i`, or with -1 of the component itself; NULL: it lives in tables.
static mi_pool *pool_along(const mi_many *many, int32_t i) {
    return i < 0 ? many->pool : mi_store_find_pool(&many->world->store, many->type->info.required[i]);
}

static void close_pools(const mi_many *many, int32_t end) {
    for (int32_t i = -1; i < end; i++) {
        mi_pool *pool = pool_along(many, i);
        if (pool != NULL) {
            close_pool(many, pool, many->count);
        }
    }
}

// Makes room in all pools that entities come into, and in the world's scratch memory for one entity.
static mica_result open_pools(mi_many *many) {
    mica_world *world = many->world;
    if (many->absent_count == 0 || many->verb == MI_MANY_REMOVE) {
        return MICA_OK;
    }
    const size_t need = 1u + (size_t)many->type->info.required_count;
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->changes, need) ||
        !MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->elements, need)) {
        return mi_fail_memory(&world->log, many->call, need * (sizeof(mi_change) + sizeof(mi_element)));
    }
    for (int32_t i = -1; i < many->type->info.required_count; i++) {
        const mi_type *type = i < 0 ? many->type : mi_schema_type(world->schema, many->type->info.required[i]);
        mi_pool *pool = type->in_pool ? mi_world_pool(world, type, many->call) : NULL;
        many->pool = i < 0 ? pool : many->pool;
        if (type->in_pool && (pool == NULL || !open_pool(many, pool))) {
            close_pools(many, i);
            return mi_fail_memory(&world->log, many->call,
                                  (size_t)many->count * (sizeof(mica_entity) + type->info.size));
        }
    }
    return MICA_OK;
}

// By columns

// Replaces the value that an entity at a location has in a table.
static void replace_value(const mi_many *many, uint32_t number, uint32_t location, const mi_table *table) {
    const mi_store *store = &many->world->store;
    uint8_t *column = mi_table_column(table, mi_store_base(store, location), many->type->info.id);
    const uint32_t size = many->type->info.size;
    mi_value_copy_bytes(column + (size_t)mi_row_of(location) * size, mi_many_value(many, number), size);
    mi_column_mark(column, store->version);
}

// Moves the rows of all entities, of plain tables alone.
static void move_rows(const mi_many *many) {
    mi_store *store = &many->world->store;
    const bool fetches = mi_fetches(store);
    const bool removes = many->verb == MI_MANY_REMOVE;
    mi_row_batch batch;
    mi_row_batch_begin(&batch, store, many->type->info.id);
    route known = {0};
    for (uint32_t i = 0; i < many->count; i++) {
        if (fetches) {
            fetch_ahead(many, i);
        }
        const mica_entity entity = many->entities[i];
        const uint32_t location = mi_slots_location(&store->slots, mica_entity_index(entity));
        mi_table *from = mi_store_table_at(store, location);
        MICA_ASSUME(from != NULL); // all are alive, which analysers cannot follow
        if (MICA_UNLIKELY(from != known.from)) {
            known = route_from(many, from);
        }
        if (MICA_UNLIKELY(known.has != removes)) {
            if (!removes) { // a value to be replaced, maybe one that the batch has yet to move
                mi_row_batch_flush(&batch);
                replace_value(many, i, location, from);
            }
            continue;
        }
        if (batch.count == MI_ROW_BATCH) {
            mi_row_batch_flush(&batch);
        }
        if (batch.count == 0) {
            batch.values = mi_many_value(many, i);
        }
        if (find_end(many, &known)) { // it was found before
            mi_row_batch_add(&batch, entity, location, from, known.to);
        }
    }
    mi_row_batch_flush(&batch);
}

// Whether nobody is told, and nothing but rows of plain tables is concerned.
static bool moves_rows_alone(const mi_many *many) {
    const mica_world *world = many->world;
    const mi_type *type = many->type;
    if (type->in_pool || !many->is_plain || mi_world_hears_of(world, type->info.id)) {
        return false;
    }
    switch (many->verb) {
    case MI_MANY_REMOVE:
        return mi_store_toggled(&world->store, type->info.id) == NULL;
    case MI_MANY_SET:
        if (type->has_destruct || type->has_move || mi_type_in_lanes(type)) { // of those that are replaced
            return false;
        }
        break;
    default:
        break;
    }
    return !type->brings_pool && (type->info.required_count == 0 || !world->front.is_watched);
}

static mica_result move_all_rows(const mi_many *many) {
    if (!open_rows(many)) {
        return mica_last_result();
    }
    move_rows(many);
    close_rows(many);
    return MICA_OK;
}

// Whether the pool alone is concerned, by bytes, and nobody is told.
static bool is_pool_alone(const mi_many *many) {
    return many->pool != NULL && many->pool->is_simple && many->pool->groups.count == 0 &&
           !mi_world_hears_of(many->world, many->type->info.id);
}

// The general way

// Makes sure of all that can fail; or undoes it.
static mica_result prepare(mi_many *many) {
    mica_result result = mi_many_make_apart(many); // first: what is copied may lie where room is made
    if (result == MICA_OK && !open_rows(many)) {
        result = mica_last_result();
    }
    if (result == MICA_OK) {
        result = open_pools(many);
    }
    return result;
}

static mica_result change(mi_many *many) {
    const mica_result result = prepare(many);
    if (result == MICA_OK) {
        mi_many_change(many);
    }
    close_rows(many);
    mi_many_end_apart(many);
    mi_world_finish(many->world, many->call);
    return result;
}

// Verbs

// Checks what is asked for and finds the component; `many` says the rest.
static mica_result begin(mi_many *many, mica_component component, int32_t count) {
    mica_world *world = many->world;
    if (world == NULL) {
        mi_world_fail_structure(world, many->call);
        return MICA_INVALID;
    }
    if (many->verb != MI_MANY_SET && mi_world_is_locked(world)) {
        mi_world_fail_structure(world, many->call);
        return MICA_LOCKED;
    }
    many->type = mi_world_type(world, component, many->call);
    if (many->type == NULL) {
        return MICA_UNKNOWN;
    }
    many->count = count < 0 ? 0 : (uint32_t)count;
    many->pool = mi_store_find_pool(&world->store, component);
    return check_arguments(many, count);
}

// Does what has been looked at: in one pass over the rows where nothing else changes.
static mica_result carry_out(mi_many *many) {
    const bool makes_apart = mi_many_finds_apart(many);
    return !makes_apart && moves_rows_alone(many) ? move_all_rows(many) : change(many);
}

mica_result mica_entity_add_many(mica_world *world, const mica_entity *entities, int32_t count,
                                 mica_component component, const void *values) {
    mi_many many = {
        .world = world, .entities = entities, .values = values, .verb = MI_MANY_ADD, .call = "mica_entity_add_many"};
    mica_result result = begin(&many, component, count);
    if (result != MICA_OK || count == 0) {
        return result;
    }
    if (many.type->in_pool && mi_world_pool(world, many.type, many.call) == NULL) {
        return mica_last_result();
    }
    many.pool = mi_store_find_pool(&world->store, component);
    if (is_pool_alone(&many)) {
        return mi_many_put(&many);
    }
    result = look(&many);
    if (result != MICA_OK) {
        return result;
    }
    return carry_out(&many);
}

mica_result mica_entity_set_many(mica_world *world, const mica_entity *entities, int32_t count,
                                 mica_component component, const void *values) {
    mi_many many = {
        .world = world, .entities = entities, .values = values, .verb = MI_MANY_SET, .call = "mica_entity_set_many"};
    mica_result result = begin(&many, component, count);
    if (result != MICA_OK || count == 0) {
        return result;
    }
    result = mi_world_check_access(world, component, true, MICA_NULL, many.call);
    if (result != MICA_OK) {
        return result;
    }
    mi_world_settle_all(world);
    result = look(&many);
    if (result == MICA_OK && many.absent_count < many.count && world->front.is_watched) {
        result = mi_tell_check_depth(world, MICA_SET, component, many.call);
    }
    if (result != MICA_OK) {
        forget_rows(world);
        return result;
    }
    return carry_out(&many);
}

mica_result mica_entity_remove_many(mica_world *world, const mica_entity *entities, int32_t count,
                                    mica_component component) {
    mi_many many = {.world = world, .entities = entities, .verb = MI_MANY_REMOVE, .call = "mica_entity_remove_many"};
    mica_result result = begin(&many, component, count);
    if (result != MICA_OK || count == 0) {
        return result;
    }
    if (is_pool_alone(&many)) {
        return mi_many_take(&many);
    }
    result = look(&many);
    if (result != MICA_OK) {
        return result;
    }
    return moves_rows_alone(&many) ? move_all_rows(&many) : change(&many);
}
