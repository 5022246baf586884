// Worlds: making and ending them, the structure lock, and what the parts further up attach (relations, extensions).
//
// Structure is locked while a walk is open or while a system that declared its access runs. Every structural verb asks
// mi_world_check_structure first; commands are applied by parts that have seen to it themselves.
#include "world/actor.h"

#include "base/assert.h"
#include "store/visibility.h"
#include "world/commands.h"
#include "world/guard.h"
#include "world/notice.h"
#include "world/query.h"
#include "world/rewind.h"

#include <mica/capacity.h>

#include <float.h>
#include <string.h>

_Static_assert(offsetof(mica_world, front) == 0 && offsetof(mica_world, store) == sizeof(struct mica_front), "front");

static mica_result check_def(const mica_world_def *def) {
    const mica_log_handler *log = &def->log;
    if ((def->allocator.allocate == NULL) != (def->allocator.release == NULL)) {
        return mi_fail_plain(log, MICA_INVALID, "mica_world_create", "an allocator needs both functions");
    }
    // Systems are given the length as a float.
    const double fixed_delta_seconds = def->fixed_delta_seconds;
    if (fixed_delta_seconds != 0 &&
        !(fixed_delta_seconds >= (double)FLT_MIN && fixed_delta_seconds <= (double)FLT_MAX)) {
        return mi_fail_plain(log, MICA_INVALID, "mica_world_create",
                             "fixed_delta_seconds must be 0, or positive and in the range of a float");
    }
    if (def->budget.bytes[MICA_MEMORY_SCHEMA] != 0) {
        return mi_fail_plain(log, MICA_INVALID, "mica_world_create", "a world's budget does not count its schema");
    }
    if (def->fixed_memory != NULL && def->fixed_byte_size == 0) {
        return mi_fail_plain(log, MICA_INVALID, "mica_world_create", "fixed_memory needs its size in fixed_byte_size");
    }
    if (def->room_count < 0 || (def->room_count > 0 && def->rooms == NULL)) {
        return mi_fail(log, MICA_INVALID, "mica_world_create", "room_count is {}, {}", MI_INT(def->room_count),
                       MI_TEXT(def->room_count < 0 ? "which is no number of rooms" : "and rooms is NULL"));
    }
    if (def->advance_tick_limit < 0 || def->reaction_limit < 0) {
        return mi_fail(log, MICA_INVALID, "mica_world_create", "{} must not be negative",
                       MI_TEXT(def->advance_tick_limit < 0 ? "advance_tick_limit" : "reaction_limit"));
    }
    if ((uint32_t)def->net_mode > MICA_NET_LISTEN_SERVER) {
        return mi_fail(log, MICA_INVALID, "mica_world_create", "there is no net mode {}", MI_INT(def->net_mode));
    }
    if ((uint32_t)def->validate > MICA_VALIDATE_PAGES) {
        return mi_fail(log, MICA_INVALID, "mica_world_create", "there is no validation {}", MI_INT(def->validate));
    }
    if (def->validate == MICA_VALIDATE_PAGES && !mi_pages_can_protect()) {
        return mi_fail(log, MICA_UNSUPPORTED, "mica_world_create",
                       "the operating system does not protect pages of {} bytes", MI_UINT(MI_HEAP_PAGE));
    }
    return MICA_OK;
}

static mica_world *fail_create(mica_world *world) {
    mi_fail_memory(&world->log, "mica_world_create", sizeof(mica_world));
    mica_world_destroy(world);
    return NULL;
}

// A world in memory of its own, without schema and store; NULL: out of memory.
static mica_world *begin_world(const mica_world_def *def) {
    static const char call[] = "mica_world_create";
    mi_heap heap;
    mi_heap_init(&heap, &def->allocator);
    heap.budget = def->budget;
    if (def->fixed_byte_size > 0 && !mi_heap_fix(&heap, def->fixed_memory, def->fixed_byte_size)) {
        mi_fail(&def->log, MICA_OUT_OF_MEMORY, call,
                "a fixed size of {} bytes is too little for a world, or more than there is",
                MI_UINT(def->fixed_byte_size));
        return NULL;
    }
    mica_world *world = mi_heap_allocate_zeroed(&heap, MICA_MEMORY_WORLD, sizeof(mica_world), _Alignof(mica_world));
    if (world == NULL) {
        mi_fail_memory(&def->log, call, sizeof(mica_world));
        mi_heap_unfix(&heap);
        return NULL;
    }
    world->heap = heap;
    world->log = def->log;
    world->def = *def;
    world->heap.parts_values = def->validate == MICA_VALIDATE_PAGES;
    world->validates = def->validate == MICA_VALIDATE_DEFAULT ? MI_IS_DEBUG : def->validate >= MICA_VALIDATE_ACCESS;
    // What belongs to the caller.
    world->def.name = NULL;
    world->def.schema = NULL;
    world->def.fixed_memory = NULL;
    world->def.jobs = NULL;
    world->def.rooms = NULL;
    world->def.room_count = 0;
    world->random = mi_world_seeded(world);
    return world;
}

// The schema that the definition names, or one of the world's own, which is as fixed as the world is.
static bool find_schema(mica_world *world, const mica_world_def *def) {
    if (def->schema != NULL) {
        world->schema = mica_schema_retain(def->schema);
        return true;
    }
    world->owns_schema = true;
    world->schema = mica_schema_create(
        &(mica_schema_def){.allocator = def->allocator,
                           .log = def->log,
                           .fixed_byte_size = def->fixed_byte_size > 0 ? MICA_FIXED_SCHEMA_BYTES : 0});
    return world->schema != NULL;
}

// Makes the room that the definition asks for; the error is set.
static bool make_first_room(mica_world *world, const mica_world_def *def) {
    if (def->entity_capacity > 0 && mica_world_reserve(world, def->entity_capacity) != MICA_OK) {
        return false;
    }
    for (int32_t i = 0; i < def->room_count; i++) {
        if (mica_world_make_room(world, &def->rooms[i]) != MICA_OK) {
            return false;
        }
    }
    return true;
}

// Takes the pool of threads that the definition names, or makes one; the error is set.
static bool take_jobs(mica_world *world, const mica_world_def *def) {
    if (def->jobs != NULL) {
        world->jobs = mica_jobs_retain(def->jobs);
    } else if (def->thread_count != 0 && def->thread_count != 1) {
        world->jobs = mica_jobs_create(
            &(mica_jobs_def){.thread_count = def->thread_count, .allocator = def->allocator, .log = def->log});
        if (world->jobs == NULL) {
            return false;
        }
    }
    world->def.jobs = world->jobs; // worlds that are made like this one share it
    return true;
}

mica_world *mica_world_create(const mica_world_def *def) {
    const mica_world_def defaults = {0};
    if (def == NULL) {
        def = &defaults;
    }
    if (check_def(def) != MICA_OK) {
        return NULL;
    }
    mica_world *world = begin_world(def);
    if (world == NULL) {
        return NULL;
    }
    if (!find_schema(world, def)) {
        return fail_create(world);
    }
    world->name = mi_heap_copy_text(&world->heap, MICA_MEMORY_WORLD, def->name == NULL ? "world" : def->name);
    if (world->name == NULL || !mi_store_init(&world->store, &world->heap, world->schema) ||
        (world->heap.parts_values && (world->guard = mi_guard_create(&world->heap)) == NULL)) {
        return fail_create(world);
    }
    // What is guarded is so against one system at a time.
    if (!make_first_room(world, def) || (world->guard == NULL && !take_jobs(world, def))) {
        mica_world_destroy(world);
        return NULL;
    }
    return world;
}

// Frees what verbs keep for the next time.
static void free_scratch(mica_world *world) {
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->changes);
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->elements);
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->handles);
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->fill_asked);
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->fill_columns);
    mi_array_free(&world->heap, MICA_MEMORY_WORLD, &world->fill_room, sizeof(mi_lanes_value), _Alignof(mi_lanes_value));
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->opening);
    MI_FREE(&world->heap, MICA_MEMORY_WORLD, &world->opening_ids);
    mi_marks_free(&world->named, &world->heap);
}

void mica_world_destroy(mica_world *world) {
    if (world == NULL) {
        return;
    }
    if (world->running != NULL || world->front.callback != NULL) { // whoever called the program goes on in this world
        mi_fail(&world->log, MICA_LOCKED, "mica_world_destroy",
                world->running != NULL ? "system \"{}\" of {} is running" : "the callback of {} runs in {}",
                MI_TEXT(world->running != NULL ? world->running_system : world->front.callback->call),
                MI_TEXT(world->name));
        return;
    }
    for (uint32_t i = world->extensions.count; i-- > 0;) {
        if (world->extensions.data[i].stop != NULL) {
            world->extensions.data[i].stop(world, world->extensions.data[i].state);
        }
    }
    if (world->schema != NULL) {
        mi_tell_end_of_all(world);
        mi_world_tell_end_of_resources(world);
    }
    for (uint32_t i = world->extensions.count; i-- > 0;) {
        world->extensions.data[i].destroy(world, world->extensions.data[i].state);
    }
    mi_world_free_signals(world);
    mi_commands_destroy(world->walk_commands);
    mi_world_free_walks(world, true);
    mi_world_free_seats(world);
    mi_world_free_orders(world);
    for (uint32_t i = 0; i < world->queries.count; i++) {
        mi_query_free(world->queries.data[i]);
    }
    mi_world_free_resources(world);
    mi_world_free_groups(world);
    mi_store_free(&world->store);
    mi_heap *heap = &world->heap;
    MI_FREE(heap, MICA_MEMORY_QUERIES, &world->queries);
    mi_map_free(&world->query_map, heap, MICA_MEMORY_QUERIES);
    MI_FREE(heap, MICA_MEMORY_RELATIONS, &world->relations);
    MI_FREE(heap, MICA_MEMORY_WORLD, &world->extensions);
    free_scratch(world);
    mi_guard_destroy(world->guard, heap);
    mi_heap_release_text(heap, MICA_MEMORY_WORLD, world->name);
    mica_schema_release(world->schema);
    mica_jobs_release(world->jobs);
    mi_heap last = world->heap;
    mi_heap_release(&last, MICA_MEMORY_WORLD, world, sizeof(mica_world), _Alignof(mica_world));
    mi_heap_unfix(&last);
}

mica_schema *mica_world_schema(const mica_world *world) {
    return world == NULL ? NULL : world->schema;
}

const char *mica_world_name(const mica_world *world) {
    return world == NULL ? "" : world->name;
}

int32_t mica_world_entity_count(const mica_world *world) {
    return world == NULL ? 0 : (int32_t)world->store.slots.alive;
}

uint64_t mica_world_version(const mica_world *world) {
    return world == NULL ? 0 : mi_outside_version(world, world->store.version);
}

mica_random *mica_world_random(mica_world *world) {
    if (world == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, __func__, "needs a world");
        return NULL;
    }
    if (world->front.running_locks) {
        mi_fail(&world->log, MICA_LOCKED, __func__, "system \"{}\" runs, which has a generator of its own",
                MI_TEXT(mi_world_system(world)));
        return NULL;
    }
    return &world->random;
}

mica_component mica_world_register(mica_world *world, mica_type *type) {
    if (world == NULL || type == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_world_register", "needs a world and a type");
        return 0;
    }
    return mica_schema_register(world->schema, type);
}

mica_result mica_world_reserve(mica_world *world, uint32_t count) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, "mica_world_reserve", "needs a world");
    }
    if (mi_world_check_making(world, "room for entities", "mica_world_reserve") != MICA_OK) {
        return MICA_LOCKED;
    }
    const uint32_t alive = world->store.slots.alive;
    const mica_result result = mi_slots_reserve(&world->store.slots, &world->heap, count > alive ? count - alive : 0);
    if (result == MICA_OK) {
        world->store.slots.kept = count == 0 ? 0 : world->store.slots.capacity;
        return MICA_OK;
    }
    if (result == MICA_LIMIT) {
        return mi_fail(&world->log, result, "mica_world_reserve", "no room for {} entities: a world holds {} at most",
                       MI_UINT(count), MI_UINT(MICA_INDEX_MAX));
    }
    return mi_fail_memory(&world->log, "mica_world_reserve", count * sizeof(uint64_t));
}

mica_result mica_world_clear(mica_world *world) {
    const mica_result result = mi_world_check_structure(world, "mica_world_clear");
    if (result != MICA_OK) {
        return result;
    }
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        const mi_extension *extension = &world->extensions.data[i];
        if (extension->clear != NULL) {
            extension->clear(world, extension->state);
        }
    }
    mi_tell_end_of_all(world);
    mi_store_clear_pools(&world->store);
    mi_store_clear_rows(&world->store);
    mi_store_clear_visibility(&world->store);
    mi_slots_clear(&world->store.slots);
    for (uint32_t i = 0; i < world->relations.count; i++) {
        world->relations.data[i].clear(world);
    }
    mi_world_finish(world, "mica_world_clear");
    return MICA_OK;
}

// Frees the queries that nobody holds.
static void trim_queries(mica_world *world) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->queries.count; i++) {
        mica_query *query = world->queries.data[i];
        mi_map_remove(&world->query_map, query->hash, i);
        if (query->reference_count == 0) {
            mi_query_free(query);
        } else {
            mi_query_forget_runs(query);
            world->queries.data[kept] = query;
            mi_map_insert(&world->query_map, query->hash, kept);
            kept++;
        }
    }
    world->queries.count = kept;
}

mica_result mica_world_trim(mica_world *world) {
    const mica_result result = mi_world_check_structure(world, "mica_world_trim");
    if (result != MICA_OK) {
        return result;
    }
    trim_queries(world);
    mi_world_free_walks(world, false);
    mi_world_free_sorter(world);
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        const mi_extension *extension = &world->extensions.data[i];
        if (extension->trim != NULL) {
            extension->trim(world, extension->state);
        }
    }
    mi_store_trim(&world->store);
    for (uint32_t i = 0; i < world->queries.count; i++) {
        mi_query_forget_tables(world->queries.data[i]);
    }
    free_scratch(world);
    MI_SHRINK(&world->heap, MICA_MEMORY_QUERIES, &world->queries);
    mi_map_shrink(&world->query_map, &world->heap, MICA_MEMORY_QUERIES);
    return MICA_OK;
}

mica_memory_usage mica_world_memory(const mica_world *world) {
    if (world == NULL) {
        return (mica_memory_usage){0};
    }
    mica_memory_usage usage = mi_heap_usage(&world->heap);
    if (world->owns_schema) {
        const mica_memory_usage schema = mi_schema_memory(world->schema);
        for (int32_t i = 0; i < MICA_MEMORY_PURPOSE_COUNT; i++) {
            usage.bytes[i] += schema.bytes[i];
        }
        usage.total += schema.total;
        usage.peak += schema.peak;
    }
    return usage;
}

// How many entities are alive and neither in a table nor in a pool, `unplaced` of those alive having no row.
static uint32_t count_empty(const mi_store *store, uint32_t unplaced) {
    if (store->pool_list.count == 0 || unplaced == 0) {
        return unplaced;
    }
    uint32_t count = 0;
    for (uint32_t index = 1; index < mi_slots_end(&store->slots); index++) {
        if (mi_slots_location(&store->slots, index) == 0) {
            const uint64_t *mask = mi_masks_of(&store->masks, index);
            count += mi_store_next_pool(store, mask, 0) == MI_POOL_NONE;
        }
    }
    return count;
}

mica_world_stats mica_world_statistics(const mica_world *world) {
    mica_world_stats stats = {0};
    if (world == NULL) {
        return stats;
    }
    const mi_store *store = &world->store;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < store->ordered.count; i++) {
        const mi_table *table = store->ordered.data[i];
        rows += table->row_count;
        stats.table_empty_count += table->row_count == 0;
        stats.chunk_count += (int32_t)table->chunk_count;
    }
    stats.entity_count = (int32_t)store->slots.alive;
    stats.entity_empty_count = (int32_t)count_empty(store, store->slots.alive - rows);
    stats.slot_count = store->slots.used == 0 ? 0 : store->slots.used - 1;
    stats.slot_retired_count = store->slots.retired;
    stats.handle_left_count = mi_slots_left(&store->slots);
    stats.table_count = (int32_t)store->ordered.count;
    for (uint32_t i = 0; i < store->pool_list.count; i++) {
        stats.element_count += mi_pool_live_count(store->pool_list.data[i]);
        stats.tombstone_count += store->pool_list.data[i]->dead_count;
    }
    stats.pool_count = (int32_t)store->pool_list.count;
    stats.query_count = (int32_t)world->queries.count;
    for (uint32_t i = 0; i < world->signals.observers.count; i++) {
        stats.observer_count += !world->signals.observers.data[i]->is_own;
    }
    stats.reaction_dropped_count = world->signals.dropped_count;
    stats.command_skipped_count = world->command_skipped_count;
    return stats;
}

// Locks and look-ups that all verbs share

static mica_result fail_locked(mica_world *world, const char *call) {
    for (uint32_t i = 0; i < world->queries.count; i++) {
        if (world->queries.data[i]->open_count > 0) {
            return mi_fail(&world->log, MICA_LOCKED, call,
                           "structure is locked by a walk over the query ({}); meanwhile changes of entities are "
                           "recorded into mica_iter_commands",
                           MI_TEXT(mica_query_text(world->queries.data[i])));
        }
    }
    const mi_callback *callback = world->front.callback;
    if (callback != NULL && callback->observer != NULL) {
        return mi_fail(
            &world->log, MICA_LOCKED, call,
            "structure is locked while observer \"{}\" runs; meanwhile changes of entities are recorded into "
            "the signal's commands",
            MI_TEXT(callback->observer->name == NULL ? "" : callback->observer->name));
    }
    if (callback != NULL && callback->commands != NULL) {
        return mi_fail(&world->log, MICA_LOCKED, call,
                       "structure is locked while a handler that {} calls runs; meanwhile changes of entities are "
                       "recorded into the event's commands",
                       MI_TEXT(callback->call));
    }
    if (callback != NULL) {
        return mi_fail(&world->log, MICA_LOCKED, call, "structure is locked while the callback of {} runs",
                       MI_TEXT(callback->call));
    }
    return mi_fail(&world->log, MICA_LOCKED, call,
                   "structure is locked while system \"{}\" runs; meanwhile changes of entities are recorded into "
                   "mica_run_commands",
                   MI_TEXT(mi_world_system(world) == NULL ? "" : mi_world_system(world)));
}

mica_result mi_world_fail_structure(mica_world *world, const char *call) {
    return world == NULL ? mi_fail_plain(NULL, MICA_INVALID, call, "needs a world") : fail_locked(world, call);
}

mica_result mi_world_check_making(const mica_world *world, const char *made, const char *call) {
    return MICA_LIKELY(!world->front.running_locks)
               ? MICA_OK
               : mi_fail(&world->log, MICA_LOCKED, call,
                         "system \"{}\" runs, maybe beside others, and {} concerns them all: let one do it that is "
                         "exclusive",
                         MI_TEXT(mi_world_system(world)), MI_TEXT(made));
}

mica_result mi_world_fail_stale(const mica_world *world, mica_entity entity, const char *call) {
    if (world == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "needs a world");
    }
    if (mica_entity_is_null(entity)) {
        return mi_fail_plain(&world->log, MICA_STALE, call, "the handle is null");
    }
    if (mica_entity_is_placeholder(entity)) {
        return mi_fail(&world->log, MICA_STALE, call,
                       "{} has no entity yet: it is good in its command buffer alone, until that is applied",
                       MI_ENTITY(entity));
    }
    return mi_fail(&world->log, MICA_STALE, call, "{} is not alive in {}", MI_ENTITY(entity), MI_TEXT(world->name));
}

const mi_type *mi_world_fail_type(const mica_world *world, mica_component component, const char *call) {
    mi_fail(&world->log, MICA_UNKNOWN, call, "there is no component with id {}", MI_UINT(component));
    return NULL;
}

MI_COLD void mi_world_fail_unheard(const mica_world *world) {
    mica_run *run = mi_world_run(world);
    run = run == NULL ? world->applied_run : run;
    if (run != NULL && mica_last_result() == MICA_OUT_OF_MEMORY) {
        world->run_face->fail(run, MICA_OUT_OF_MEMORY, mica_last_error());
    }
}

mica_result mi_world_fail_store(const mica_world *world, const char *call) {
    if (world->store.failure == MICA_LIMIT) {
        return mi_fail(&world->log, MICA_LIMIT, call, "{} has no room: {}", MI_TEXT(world->name),
                       MI_TEXT(world->store.limit));
    }
    return mi_fail_memory(&world->log, call, 0);
}

// Parts further up

const mi_relation *mi_world_relation(const mica_world *world, mica_component component) {
    for (uint32_t i = 0; i < world->relations.count; i++) {
        if (world->relations.data[i].component == component) {
            return &world->relations.data[i];
        }
    }
    return NULL;
}

mica_result mi_world_attach(mica_world *world, const mi_type *type, const char *call) {
    if (type->info.hooks.attach == NULL || mi_world_relation(world, type->info.id) != NULL ||
        type->info.hooks.attach(world)) {
        return MICA_OK;
    }
    return mi_fail_memory(&world->log, call, sizeof(mi_relation));
}

bool mi_world_add_relation(mica_world *world, const mi_relation *relation) {
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_RELATIONS, &world->relations, world->relations.count + 1)) {
        return false;
    }
    mi_schema_mark_relation(world->schema, relation->component);
    world->relations.data[world->relations.count++] = *relation;
    world->store.extras |= MI_EXTRA_RELATIONS;
    return true;
}

void *mi_world_extension(const mica_world *world, const void *key) {
    for (uint32_t i = 0; i < world->extensions.count; i++) {
        if (world->extensions.data[i].key == key) {
            return world->extensions.data[i].state;
        }
    }
    return NULL;
}

bool mi_world_add_extension(mica_world *world, const mi_extension *extension) {
    if (!MI_RESERVE(&world->heap, MICA_MEMORY_WORLD, &world->extensions, world->extensions.count + 1)) {
        return false;
    }
    world->extensions.data[world->extensions.count++] = *extension;
    return true;
}
