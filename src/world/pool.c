// Pools seen as such: their arrays, room in them, and their order. Putting elements in and out is the verbs' business.
//
// What moves elements is refused like structural verbs while structure is locked. A compare function runs with
// structure locked, before anything has moved; whatever can fail is done by then.
#include "base/sort.h"
#include "base/text.h"
#include "world/world.h"

#include <mica/pool.h>

#include <string.h>

// The type of a component that lives in a pool, or NULL with the error set.
static const mi_type *find_type(const mica_world *world, mica_component component, const char *call) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
        return NULL;
    }
    const mi_type *type = mi_world_type(world, component, call);
    if (type != NULL && !type->in_pool) {
        mi_fail(&world->log, MICA_INVALID, call, "{} lives in tables and has no pool", MI_TEXT(type->info.name));
        return NULL;
    }
    return type;
}

// The pool of a component; NULL with the error set, or, without one, while nobody has been in it.
static mi_pool *find_pool(const mica_world *world, mica_component component, const char *call) {
    return find_type(world, component, call) == NULL ? NULL : mi_store_find_pool(&world->store, component);
}

// The type for verbs that move elements.
static mica_result find_movable(mica_world *world, mica_component component, const mi_type **type, const char *call) {
    const mica_result result = mi_world_check_structure(world, call);
    if (result != MICA_OK) {
        return result;
    }
    *type = find_type(world, component, call);
    return *type == NULL ? mica_last_result() : MICA_OK;
}

// The same for those that change an order; `pool` NULL: nobody has been in it.
static mica_result find_sortable(mica_world *world, mica_component component, mi_pool **pool, const char *call) {
    const mi_type *type = NULL;
    const mica_result result = find_movable(world, component, &type, call);
    if (result != MICA_OK) {
        return result;
    }
    if (type->info.stable) {
        return mi_fail(&world->log, MICA_INVALID, call, "{} is stable: its elements keep their places",
                       MI_TEXT(type->info.name));
    }
    *pool = mi_store_find_pool(&world->store, component);
    if (*pool != NULL && (*pool)->owner != NULL) {
        return mi_fail(&world->log, MICA_INVALID, call, "the order of {} is that of the group ({})",
                       MI_TEXT(type->info.name), MI_TEXT((*pool)->owner->name));
    }
    return MICA_OK;
}

// Arrays

static uint32_t page_count_of(const mi_pool *pool) {
    return pool->size == 0 ? 0 : mi_pool_pages_for(pool, pool->count);
}

static mica_pool_view view_of(const mi_pool *pool) {
    if (pool == NULL || pool->count == 0) { // whether it is there already is nobody's business
        return (mica_pool_view){.count = 0};
    }
    return (mica_pool_view){
        .count = (int32_t)pool->count,
        .live_count = (int32_t)mi_pool_live_count(pool),
        .entities = pool->entities,
        .pages = pool->size == 0 ? NULL : (void *const *)pool->pages,
        .page_count = (int32_t)page_count_of(pool),
        .page_size = 1u << pool->page_shift,
        .value_size = pool->size,
        .contiguous = pool->type->info.layout == MICA_PACKED,
    };
}

mica_pool_view mica_pool_read(const mica_world *world, mica_component component) {
    static const char call[] = "mica_pool_read";
    const mi_pool *pool = find_pool(world, component, call);
    if (pool == NULL || mi_world_check_access(world, component, false, MICA_NULL, call) != MICA_OK) {
        return view_of(NULL);
    }
    mi_world_settle_all(world);
    return view_of(pool);
}

// Tells of the elements between tombstones.
static void tell_written(mica_world *world, const mi_pool *pool) {
    uint32_t first = 0;
    for (uint32_t position = 0; pool->dead_count > 0 && position < pool->count; position++) {
        if (!mi_pool_is_live(pool, position)) {
            mi_world_written(world, pool->type->info.id, pool->entities + first, position - first);
            first = position + 1;
        }
    }
    if (first < pool->count) {
        mi_world_written(world, pool->type->info.id, pool->entities + first, pool->count - first);
    }
}

mica_pool_view mica_pool_write(mica_world *world, mica_component component) {
    static const char call[] = "mica_pool_write";
    mi_pool *pool = find_pool(world, component, call);
    if (pool == NULL || mi_world_check_access(world, component, true, MICA_NULL, call) != MICA_OK) {
        return view_of(NULL);
    }
    mi_world_settle_all(world);
    const uint32_t page_count = page_count_of(pool);
    const uint64_t version = mi_world_version(world);
    for (uint32_t page = 0; page < page_count; page++) {
        mi_stamp_mark(&pool->stamps[page], version);
    }
    if (MICA_UNLIKELY(world->front.watches_writes) && !world->is_shared) {
        tell_written(world, pool);
    }
    return view_of(pool);
}

int32_t mica_pool_count(const mica_world *world, mica_component component) {
    const mi_pool *pool = find_pool(world, component, "mica_pool_count");
    return pool == NULL ? 0 : (int32_t)mi_pool_live_count(pool);
}

uint64_t mica_pool_byte_size(const mica_world *world, mica_component component) {
    const mi_pool *pool = find_pool(world, component, "mica_pool_byte_size");
    return pool == NULL ? 0 : mi_pool_byte_size(pool);
}

int32_t mica_pool_position(const mica_world *world, mica_component component, mica_entity entity) {
    static const char call[] = "mica_pool_position";
    const mi_type *type = find_type(world, component, call);
    if (type == NULL) {
        return -1;
    }
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    const uint32_t position = pool == NULL ? MI_POSITION_NONE : mi_pool_find(pool, entity);
    if (position != MI_POSITION_NONE) {
        return (int32_t)position;
    }
    uint32_t location = 0;
    mi_world_resolve(world, entity, &location, call); // says so if the handle is stale
    return -1;
}

mica_entity mica_pool_entity_of(const mica_world *world, mica_component component, const void *address) {
    const mi_pool *pool = find_pool(world, component, "mica_pool_entity_of");
    const uint32_t position = pool == NULL ? MI_POSITION_NONE : mi_pool_position_of(pool, address);
    return position == MI_POSITION_NONE ? MICA_NULL : pool->entities[position];
}

// Room

mica_result mica_pool_reserve(mica_world *world, mica_component component, int32_t count) {
    static const char call[] = "mica_pool_reserve";
    const mi_type *type = NULL;
    const mica_result result = find_movable(world, component, &type, call);
    if (result != MICA_OK) {
        return result;
    }
    if (count < 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "needs how many elements of {} there will be, not {}",
                       MI_TEXT(type->info.name), MI_INT(count));
    }
    const uint32_t need = (uint32_t)count;
    if (need > MICA_INDEX_MAX) {
        return mi_fail(&world->log, MICA_LIMIT, call, "no room for {} elements of {}: a world holds {} entities",
                       MI_UINT(need), MI_TEXT(type->info.name), MI_UINT(MICA_INDEX_MAX));
    }
    mi_pool *pool = mi_world_pool(world, type, call);
    if (pool == NULL) {
        return mica_last_result();
    }
    // Tombstones are room as well: they are filled before anything is put behind the last position.
    mi_pool_moved moved;
    if (need > pool->count && !mi_pool_reserve(pool, &world->heap, &world->store.values, need - pool->count, &moved)) {
        return mi_fail_memory(&world->log, call, (size_t)need * (sizeof(mica_entity) + pool->size));
    }
    return MICA_OK;
}

mica_result mica_pool_shrink(mica_world *world, mica_component component) {
    static const char call[] = "mica_pool_shrink";
    const mi_type *type = NULL;
    const mica_result result = find_movable(world, component, &type, call);
    mi_pool *pool = result == MICA_OK ? mi_store_find_pool(&world->store, component) : NULL;
    return pool == NULL || mi_pool_shrink(pool, &world->heap, &world->store.values)
               ? result
               : mi_fail_memory(&world->log, call, 0);
}

mica_result mica_pool_compact(mica_world *world, mica_component component) {
    const mi_type *type = NULL;
    const mica_result result = find_movable(world, component, &type, "mica_pool_compact");
    mi_pool *pool = result == MICA_OK ? mi_store_find_pool(&world->store, component) : NULL;
    if (pool != NULL) {
        mi_pool_compact(pool, &world->store.values);
    }
    return result;
}

// Order

// What elements are compared by.
typedef struct element_order {
    const mi_pool *pool;
    mica_compare_function compare;
    void *user;
} element_order;

static mica_element element_at(const mi_pool *pool, uint32_t position) {
    return (mica_element){.entity = pool->entities[position],
                          .value = pool->size == 0 ? NULL : mi_pool_value(pool, position)};
}

static int compare_elements(const void *context, uint32_t a, uint32_t b) {
    const element_order *order = context;
    const mica_element element_a = element_at(order->pool, a);
    const mica_element element_b = element_at(order->pool, b);
    return order->compare(&element_a, &element_b, order->user);
}

// Lets the first elements of pools stand in the order of the positions in `order`; `spare` has room for as many.
static void permute_alike(mica_world *world, mi_pool *const *pools, uint32_t pool_count, const uint32_t *order,
                          uint32_t *spare, uint32_t count) {
    for (uint32_t i = 0; i < pool_count; i++) {
        memcpy(spare, order, count * sizeof(uint32_t)); // is used up
        mi_pool_permute(pools[i], &world->store.values, 0, count, spare, world->store.spare);
    }
}

// Memory for two lists of `count` positions, with room to swap values of the pools beside; NULL with the error set.
static uint32_t *take_lists(mica_world *world, mi_pool *const *pools, uint32_t pool_count, uint32_t count,
                            const char *call) {
    const size_t byte_size = (size_t)2 * count * sizeof(uint32_t);
    bool has_room = true;
    for (uint32_t i = 0; i < pool_count; i++) {
        has_room = has_room && mi_store_reserve_spare(&world->store, pools[i]->type);
    }
    uint32_t *lists =
        has_room ? mi_heap_allocate(&world->heap, MICA_MEMORY_POOLS, byte_size, _Alignof(max_align_t)) : NULL;
    if (lists == NULL) {
        mi_fail_memory(&world->log, call, byte_size);
    }
    return lists;
}

static void give_lists(mica_world *world, uint32_t *lists, uint32_t count) {
    mi_heap_release(&world->heap, MICA_MEMORY_POOLS, lists, (size_t)2 * count * sizeof(uint32_t),
                    _Alignof(max_align_t));
}

// Sorts the first `count` elements of `by`, and with them those of all `pools`, which have the same entities there.
static mica_result sort_alike(mica_world *world, const element_order *order, mi_pool *const *pools, uint32_t pool_count,
                              uint32_t count, const char *call) {
    if (count < 2) {
        return MICA_OK;
    }
    uint32_t *positions = take_lists(world, pools, pool_count, count, call);
    if (positions == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        positions[i] = i;
    }
    const mi_callback callback = {.call = call, .outer = world->front.callback};
    world->front.callback = &callback; // what is compared must not move
    const bool is_changed = mi_sort(positions, positions + count, count, compare_elements, order);
    world->front.callback = callback.outer;
    if (is_changed) {
        permute_alike(world, pools, pool_count, positions, positions + count, count);
    }
    give_lists(world, positions, count);
    return MICA_OK;
}

mica_result mica_pool_sort(mica_world *world, mica_component component, mica_compare_function compare, void *user) {
    static const char call[] = "mica_pool_sort";
    mi_pool *pool = NULL;
    const mica_result result = find_sortable(world, component, &pool, call);
    if (result != MICA_OK) {
        return result;
    }
    if (compare == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs a function that compares");
    }
    const element_order order = {.pool = pool, .compare = compare, .user = user};
    return pool == NULL ? MICA_OK : sort_alike(world, &order, &pool, 1, pool->count, call);
}

// Lists the positions of a pool: those of the leader's entities in its order, then the others. `is_listed` is zeroed
// and has room for as many. False: that is how they stand.
static bool list_as(const mi_pool *pool, const mi_pool *leader, uint32_t *positions, uint32_t *is_listed) {
    uint32_t listed_count = 0;
    for (uint32_t i = 0; i < leader->count; i++) {
        const uint32_t position =
            mi_pool_is_live(leader, i) ? mi_pool_find(pool, leader->entities[i]) : MI_POSITION_NONE;
        if (position != MI_POSITION_NONE) {
            positions[listed_count++] = position;
            is_listed[position] = true;
        }
    }
    bool is_changed = false;
    for (uint32_t i = 0; i < listed_count; i++) {
        is_changed = is_changed || positions[i] != i;
    }
    for (uint32_t i = 0; is_changed && i < pool->count; i++) {
        if (!is_listed[i]) {
            positions[listed_count++] = i;
        }
    }
    return is_changed;
}

mica_result mica_pool_follow(mica_world *world, mica_component component, mica_component leader) {
    static const char call[] = "mica_pool_follow";
    mi_pool *pool = NULL;
    const mica_result result = find_sortable(world, component, &pool, call);
    if (result != MICA_OK) {
        return result;
    }
    if (find_type(world, leader, call) == NULL) {
        return mica_last_result();
    }
    const mi_pool *ahead = mi_store_find_pool(&world->store, leader);
    if (pool == NULL || ahead == NULL || pool->count < 2) {
        return MICA_OK;
    }
    const uint32_t count = pool->count;
    uint32_t *positions = take_lists(world, &pool, 1, count, call);
    if (positions == NULL) {
        return MICA_OUT_OF_MEMORY;
    }
    memset(positions + count, 0, count * sizeof(uint32_t));
    if (list_as(pool, ahead, positions, positions + count)) {
        permute_alike(world, &pool, 1, positions, positions + count, count);
    }
    give_lists(world, positions, count);
    return MICA_OK;
}

// Groups

struct mica_group {
    mica_world *world;
    mi_group *group;
    mica_group *next; // of its world
};

// What a definition asks for: types that members must have, owned ones first, then those that they must not have.
typedef struct group_terms {
    const mi_type *types[3 * MICA_GROUP_MAX];
    uint32_t count;
    uint32_t owned_count;
    uint32_t all_count;
} group_terms;

static mica_result add_term(mica_world *world, group_terms *terms, mica_type *descriptor, mica_component component,
                            const char *call) {
    if (descriptor != NULL && component != 0) {
        return mi_fail(&world->log, MICA_INVALID, call, "an entry names {} and the id {}: one of them is enough",
                       MI_TEXT(descriptor->name), MI_UINT(component));
    }
    const mica_component id = descriptor == NULL ? component : mica_schema_register(world->schema, descriptor);
    const mi_type *type = id == 0 ? NULL : find_type(world, id, call);
    if (type == NULL) {
        return mica_last_result();
    }
    for (uint32_t i = 0; i < terms->count; i++) {
        if (terms->types[i] == type) {
            return mi_fail(&world->log, MICA_INVALID, call, "{} is named twice", MI_TEXT(type->info.name));
        }
    }
    terms->types[terms->count++] = type;
    return MICA_OK;
}

static mica_result add_terms(mica_world *world, group_terms *terms, mica_type *const *descriptors,
                             const mica_component *components, const char *call) {
    mica_result result = MICA_OK;
    for (int32_t i = 0; i < MICA_GROUP_MAX && (descriptors[i] != NULL || components[i] != 0) && result == MICA_OK;
         i++) {
        result = add_term(world, terms, descriptors[i], components[i], call);
    }
    return result;
}

static mica_result read_def(mica_world *world, const mica_group_def *def, group_terms *terms, const char *call) {
    mica_result result = add_terms(world, terms, def->owned, def->owned_ids, call);
    terms->owned_count = terms->count;
    if (result == MICA_OK) {
        result = add_terms(world, terms, def->with, def->with_ids, call);
    }
    terms->all_count = terms->count;
    if (result == MICA_OK) {
        result = add_terms(world, terms, def->without, def->without_ids, call);
    }
    if (result == MICA_OK && terms->owned_count == 0) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "a group owns one component at least");
    }
    for (uint32_t i = 0; result == MICA_OK && i < terms->owned_count; i++) {
        if (terms->types[i]->info.stable) {
            result = mi_fail(&world->log, MICA_INVALID, call,
                             "{} is stable: its elements keep their places, so no group can own it",
                             MI_TEXT(terms->types[i]->info.name));
        }
    }
    return result;
}

static void write_name(mi_text_out *out, const group_terms *terms) {
    for (uint32_t i = 0; i < terms->count; i++) {
        mi_text_add(out, "%s%s%s", i == 0 ? "" : ", ",
                    i < terms->owned_count ? "[own] "
                    : i < terms->all_count ? ""
                                           : "!",
                    terms->types[i]->info.name);
    }
}

static mica_result fail_group(mica_world *world, const group_terms *terms, const char *name, const mi_group *rival,
                              const char *call) {
    if (world->store.failure != MICA_EXISTS) {
        return mi_world_fail_store(world, call);
    }
    uint32_t fought = 0;
    while (mi_store_find_pool(&world->store, terms->types[fought]->info.id)->owner != rival) {
        fought++;
    }
    return mi_fail(&world->log, MICA_EXISTS, call, "({}) cannot own {}: the group ({}) does", MI_TEXT(name),
                   MI_TEXT(terms->types[fought]->info.name), MI_TEXT(rival->name));
}

// NULL with the error set.
static mi_group *make_group(mica_world *world, const group_terms *terms, const char *call) {
    mi_pool *pools[3 * MICA_GROUP_MAX] = {NULL};
    for (uint32_t i = 0; i < terms->count; i++) {
        pools[i] = mi_world_pool(world, terms->types[i], call);
        if (pools[i] == NULL) {
            return NULL;
        }
    }
    mi_text_out counted = mi_text_begin(NULL, 0);
    write_name(&counted, terms);
    char *name = mi_heap_allocate(&world->heap, MICA_MEMORY_POOLS, counted.length + 1, 1);
    if (name == NULL) {
        mi_fail_memory(&world->log, call, counted.length + 1);
        return NULL;
    }
    mi_text_out written = mi_text_begin(name, counted.length + 1);
    write_name(&written, terms);
    const mi_group *rival = NULL;
    mi_group *group = mi_store_add_group(&world->store, pools, terms->owned_count, terms->all_count,
                                         terms->count - terms->all_count, name, &rival);
    if (group == NULL) {
        fail_group(world, terms, name, rival, call);
    }
    mi_heap_release(&world->heap, MICA_MEMORY_POOLS, name, counted.length + 1, 1);
    return group;
}

mica_group *mica_group_create(mica_world *world, const mica_group_def *def) {
    static const char call[] = "mica_group_create";
    group_terms terms = {.count = 0};
    if (mi_world_check_structure(world, call) != MICA_OK) {
        return NULL;
    }
    if (def == NULL) {
        mi_fail_plain(&world->log, MICA_INVALID, call, "needs a definition");
        return NULL;
    }
    if (read_def(world, def, &terms, call) != MICA_OK) {
        return NULL;
    }
    mica_group *handle = mi_heap_allocate(&world->heap, MICA_MEMORY_POOLS, sizeof(mica_group), _Alignof(mica_group));
    if (handle == NULL) {
        mi_fail_memory(&world->log, call, sizeof(mica_group));
        return NULL;
    }
    *handle = (mica_group){.world = world, .group = make_group(world, &terms, call), .next = world->groups};
    if (handle->group == NULL) {
        mi_heap_release(&world->heap, MICA_MEMORY_POOLS, handle, sizeof(mica_group), _Alignof(mica_group));
        return NULL;
    }
    world->groups = handle;
    return handle;
}

mica_result mica_group_destroy(mica_group *group) {
    mica_world *world = group == NULL ? NULL : group->world;
    const mica_result result = group == NULL ? MICA_OK : mi_world_check_structure(world, "mica_group_destroy");
    if (group == NULL || result != MICA_OK) {
        return result;
    }
    mica_group **link = &world->groups;
    while (*link != group) {
        link = &(*link)->next;
    }
    *link = group->next;
    mi_store_drop_group(&world->store, group->group);
    mi_heap_release(&world->heap, MICA_MEMORY_POOLS, group, sizeof(mica_group), _Alignof(mica_group));
    return MICA_OK;
}

void mi_world_free_groups(mica_world *world) {
    while (world->groups != NULL) {
        mica_group *group = world->groups;
        world->groups = group->next;
        mi_heap_release(&world->heap, MICA_MEMORY_POOLS, group, sizeof(mica_group), _Alignof(mica_group));
    }
}

int32_t mica_group_count(const mica_group *group) {
    if (group == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_group_count", "needs a group");
        return 0;
    }
    return (int32_t)group->group->count;
}

mica_result mica_group_sort(mica_group *group, mica_component component, mica_compare_function compare, void *user) {
    static const char call[] = "mica_group_sort";
    if (group == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a group");
    }
    mica_world *world = group->world;
    const mi_type *type = NULL;
    const mica_result result = find_movable(world, component, &type, call);
    if (result != MICA_OK) {
        return result;
    }
    const mi_pool *pool = mi_store_find_pool(&world->store, component);
    if (pool == NULL || pool->owner != group->group) {
        return mi_fail(&world->log, MICA_INVALID, call, "the group ({}) does not own {}", MI_TEXT(group->group->name),
                       MI_TEXT(type->info.name));
    }
    if (compare == NULL) {
        return mi_fail_plain(&world->log, MICA_INVALID, call, "needs a function that compares");
    }
    const element_order order = {.pool = pool, .compare = compare, .user = user};
    return sort_alike(world, &order, group->group->owned, group->group->owned_count, group->group->count, call);
}
