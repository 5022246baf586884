// Every exported function without memory.
//
// `operations` are those that allocate. For every n the n-th allocation of the operation fails, alone and with all
// after it: the operation says MICA_OUT_OF_MEMORY and has changed nothing, or could do without; then it succeeds, and
// in the end everything has come back. `needs_nothing` are those that work although no memory can be had at all.
// test_sweep_reach.py compares both tables with what the library exports.
#include "world/world_fixture.h"

#include "world/world.h"

#include <mica/journal.h>
#include <mica/plugin.h>
#include <mica/synctest.h>
#include <mica/thread_check.h>
#include <mica/undo.h>

#include <unistd.h>

MICA_STRUCT(Fresh, { int32_t a, b; }); // not registered before an operation does it
MICA_ENUM(Colour, {RED, GREEN});
MICA_STRUCT(Mass, { float kilograms; });
MICA_STRUCT_WITH(Ore, (.storage = MICA_POOL), { int32_t grams; });
MICA_STRUCT_WITH(Gem, (.storage = MICA_POOL, .stable = true), { int32_t carats; });
MICA_STRUCT_WITH(Sand, (.storage = MICA_TABLE), { int32_t grams; });
MICA_TAG_WITH(Wet, (.storage = MICA_TABLE));
MICA_STRUCT_WITH(Rank, (.indexes = {{"number", MICA_ORDERED}, {"house", MICA_HASH}}), {
    int32_t number;
    int32_t house;
});
MICA_STRUCT_WITH(Shield, (.toggle = true), { int32_t now; });
MICA_STRUCT_WITH(Course, (.layout = MICA_LANES), { float x, y; });

typedef struct sweep {
    watched_world w;
    mica_world *other; // a second world of the same memory, made for those who need one
    mica_entity plain; // Position, Health
    mica_entity owner; // Owned, a name
    mica_entity parent, child, sibling;
    mica_entity bare;
    mica_entity hidden; // made by those who need it: Shield, which is disabled; disabled and killed
    mica_query *query;
    mica_order *order;                // of the query by index, made by those who need it
    mica_index *by_number, *by_house; // made by those who need them, of entities with Rank; nobody is in them yet
    mica_commands *commands;
    mica_entity placeholder;
    mica_slot_map *map;
    mica_spawner spawner;
    mica_catalog *catalog; // made by those who need it
    mica_group *group;     // made by those who need it
    mica_entity stone;     // as well: Ore and Gem
    mica_observer observer;
    mica_entity dune;                // as well: Sand and Wet
    mica_entity boat;                // as well: Course, which `query` is about then
    mica_subscription *subscription; // has listed `plain`
    mica_event_handler handler;      // of events of Position, counts them in heard_count; made by those who need it
    mica_event_reader *reader;       // as well
    mica_inbox *inbox;               // as well
    mica_snapshot *snapshot;         // made by those who need it
    mica_delta *delta;               // likewise: leads from `snapshot` to a later state
    mica_delta *back;                // the way back
    mica_ring *ring;                 // as well
    int32_t heard_count;
    mica_key key;
    mica_history *history;        // as well
    mica_journal *journal;        // as well
    mica_journal_reader *reading; // as well
    mica_synctest *synctest;      // as well
    mica_jobs *jobs;              // as well: of one thread
    int32_t job_count;            // of its jobs that have run
    mica_extract *extract;        // as well: one list of int32_t
    mica_worlds *worlds;          // as well; what it holds is its own, and not `other` any more
    mica_place place;             // of it
    mica_system system;
    void (*inside)(struct sweep *sweep, mica_run *run);
    bool inside_worked;
} sweep;

static void probe(mica_run *run) {
    sweep *s = mica_run_user(run);
    if (s->inside != NULL) {
        s->inside(s, run);
    }
}

static mica_component id_of(sweep *s, mica_type *type) {
    return mica_world_component(s->w.world, type);
}
#define ID(T) id_of(s, mica_type_of(T))

static void begin(sweep *s) {
    *s = (sweep){.inside_worked = true};
    watched_begin(&s->w);
    mica_world *world = s->w.world;
    mica_register(world, Colour);
    mica_register(world, Mass);
    s->plain = mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {4}));
    s->owner = mica_spawn(world, mica_tag(Owned));
    assert_int_equal(mica_set_name(world, s->owner, "owner"), MICA_OK);
    s->parent = mica_spawn(world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY));
    s->child = mica_spawn(world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY));
    s->sibling = mica_create(world);
    s->bare = mica_create(world);
    assert_int_equal(mica_set_parent(world, s->child, s->parent), MICA_OK);
    assert_int_equal(mica_set_parent(world, s->sibling, s->parent), MICA_OK);
    s->query = mica_query_create(world, (const mica_term[]){mica_write(Position)}, 1);
    s->commands = mica_commands_create(world);
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    s->map = mica_slot_map_create(sizeof(int32_t), _Alignof(int32_t), &hooks);
    assert_non_null(s->map);
    assert_int_equal(mica_set_resource(world, Mass, {70}), MICA_OK);
    s->system = mica_system_add(world, &(mica_system_def){.name = "probe",
                                                          .run = probe,
                                                          .user = s,
                                                          .state = mica_type_of(Health),
                                                          .query = {mica_without(Frozen)},
                                                          .access = {mica_writes(Owned)},
                                                          .query_count = 1,
                                                          .queries = {{.terms = {mica_read(Position)}}}});
    assert_int_not_equal(s->system.id, 0);
    assert_int_equal(mica_world_step(world, 0.5f), MICA_OK);
    mica_error_clear();
}

static const char *journal_path(void) {
    static char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/mica-sweep-%ld.journal", (long)getpid());
    return path;
}

static void end(sweep *s) {
    s->inside = NULL;
    mica_commands_destroy(s->commands);
    mica_slot_map_destroy(s->map);
    mica_jobs_release(s->jobs);
    mica_catalog_destroy(s->catalog);
    mica_snapshot_release(s->snapshot);
    mica_delta_release(s->delta);
    mica_delta_release(s->back);
    mica_ring_destroy(s->ring);
    mica_history_destroy(s->history);
    (void)mica_journal_close(s->journal);
    (void)remove(journal_path());
    mica_journal_reader_close(s->reading);
    mica_synctest_destroy(s->synctest);
    mica_worlds_destroy(s->worlds);
    mica_world_destroy(s->other);
    mica_world_destroy(s->w.world);
    test_allocator_finish(&s->w.allocator);
}

// What a failed operation must leave alone, as one number. Memory that is merely there (tables without rows, queries
// that nobody holds, room) and the version of the next change do not count.

static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
    const uint8_t *rest = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ rest[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number) {
    return mix(hash, &number, sizeof(number));
}

static uint64_t mix_value(uint64_t hash, mica_world *world, mica_entity entity, mica_component component) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(world), component);
    if (info->size == 0) {
        return hash;
    }
    const void *value = mica_entity_get(world, entity, component);
    if (component == mica_world_component(world, mica_type_of(Owned))) {
        return mix_number(hash, (uint64_t) * ((const Owned *)value)->number);
    }
    if (component == mica_world_component(world, mica_type_of(mica_name))) {
        return mix(hash, ((const mica_name *)value)->text, strlen(((const mica_name *)value)->text));
    }
    return mix(hash, value, info->size);
}

static uint64_t mix_entity(uint64_t hash, mica_world *world, mica_entity entity) {
    mica_component components[64];
    const int32_t count = mica_entity_components(world, entity, components, 64);
    hash = mix_number(hash, entity.bits);
    for (int32_t i = 0; i < count; i++) {
        hash = mix_value(mix_number(hash, components[i]), world, entity, components[i]);
        hash = mix_number(hash, mica_entity_component_enabled(world, entity, components[i]));
    }
    hash = mix_number(hash, mica_entity_enabled(world, entity));
    hash = mix_number(hash, mica_entity_killed(world, entity));
    hash = mix_number(hash, mica_parent(world, entity).bits);
    for (mica_entity child = mica_first_child(world, entity); !mica_entity_is_null(child);
         child = mica_next_sibling(world, child)) {
        hash = mix_number(hash, child.bits);
    }
    return mix_number(hash, (uint64_t)mica_child_count(world, entity));
}

static uint64_t mix_events(uint64_t hash, sweep *s) {
    mica_event_stats stats;
    assert_int_equal(mica_event_statistics(s->w.world, ID(Position), &stats), MICA_OK);
    hash = mix_number(hash, stats.sent_count);
    hash = mix_number(hash, stats.triggered_count);
    hash = mix_number(hash, stats.delivered_count);
    hash = mix_number(hash, stats.waiting_count);
    hash = mix_number(hash, stats.reader_count);
    hash = mix_number(hash, stats.handler_count);
    return mix_number(hash, s->inbox == NULL ? 0 : mica_inbox_statistics(s->inbox).waiting_count);
}

static uint64_t fingerprint(sweep *s) {
    mica_world *world = s->w.world;
    const mi_slots *slots = &world->store.slots;
    const mica_world_stats stats = mica_world_statistics(world);
    uint64_t hash = mix_number(0, (uint64_t)stats.entity_count);
    hash = mix_number(hash, (uint64_t)stats.entity_empty_count);
    hash = mix_number(hash, stats.handle_left_count);
    hash = mix_number(hash, stats.command_skipped_count);
    hash = mix_number(hash, mica_world_tick(world));
    hash = mix_number(hash, slots->free_head != 0 ? slots->free_head : slots->used); // the next index
    for (uint32_t index = 1; index < slots->used; index++) {
        const mica_entity entity = mi_slots_handle(slots, index);
        if (mica_entity_alive(world, entity)) {
            hash = mix_entity(hash, world, entity);
        }
    }
    for (uint32_t i = 0; i < world->store.pool_list.count; i++) {
        const mi_pool *pool = world->store.pool_list.data[i];
        hash = pool->count == 0 ? hash : mix(hash, pool->entities, pool->count * sizeof(mica_entity));
    }
    for (uint32_t i = 0; i < world->resources.count; i++) {
        hash = world->resources.data[i].value == NULL ? hash : mix_number(hash, i);
    }
    hash = mix(hash, mica_resource(world, Mass), sizeof(Mass));
    hash = mix_number(hash, (uint64_t)mica_schema_count(mica_world_schema(world)));
    hash = mix_events(hash, s);
    hash = mix_number(hash, (uint64_t)mica_commands_count(s->commands));
    hash = mix_number(hash, mica_slot_map_count(s->map));
    hash = mix_number(hash, (uint64_t)mica_catalog_count(s->catalog));
    hash = mix_number(hash, mica_system_find(world, "probe").id);
    return mix_number(hash, mica_system_find(world, "late").id);
}

// Preparations

static void fill_slots(sweep *s) {
    while (s->w.world->store.slots.used < s->w.world->store.slots.capacity) {
        mica_create(s->w.world);
    }
}

static void make_catalog(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    s->catalog = mica_catalog_create(&hooks);
}

static void fill_catalog(sweep *s) {
    make_catalog(s);
    mica_catalog_enter(s->catalog, &(mica_system_def){.name = "late", .run = probe, .user = s});
}

// A type that becomes known stays so.
static void know_timers(sweep *s) {
    mica_register(s->w.world, mica_lifetime);
    mica_register(s->w.world, mica_timer);
    mica_register(s->w.world, mica_timer_fired);
}

// Fills the first chunk of plain entities, which grows for the next one, beyond what the first block of chunk memory
// has room for.
static void fill_chunk(sweep *s) {
    for (int32_t i = 1; i < 1 << 10; i++) {
        mica_spawn(s->w.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {i}));
    }
}

// Makes more tables than the query had room for.
static void make_tables(sweep *s) {
    static const char *const names[] = {"T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "T10", "T11"};
    const mica_entity entity = mica_spawn(s->w.world, mica_value_of(Position, {0, 0, 0}));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mica_type tag = {.name = names[i], .kind = MICA_KIND_TAG};
        assert_int_equal(mica_entity_add(s->w.world, entity, mica_world_register(s->w.world, &tag), NULL), MICA_OK);
    }
}

static void give_shield(sweep *s) {
    assert_int_equal(mica_set(s->w.world, s->bare, Shield, {1}), MICA_OK);
}

static void know_ore(sweep *s) {
    assert_int_not_equal(mica_register(s->w.world, Ore), 0);
}

static void hide_one(sweep *s) {
    s->hidden = mica_spawn(s->w.world, mica_value_of(Shield, {1}));
    assert_int_equal(mica_disable_component(s->w.world, s->hidden, Shield), MICA_OK);
    assert_int_equal(mica_disable(s->w.world, s->hidden), MICA_OK);
    assert_int_equal(mica_kill(s->w.world, s->hidden), MICA_OK);
}

// Two pools in different orders, one with a tombstone.
static void fill_pools(sweep *s) {
    mica_entity stones[8];
    for (int32_t i = 0; i < 8; i++) {
        stones[i] = mica_spawn(s->w.world, mica_value_of(Ore, {i ^ 5}));
    }
    for (int32_t i = 8; i-- > 0;) {
        assert_int_equal(mica_set(s->w.world, stones[i], Gem, {i}), MICA_OK);
    }
    assert_int_equal(mica_remove(s->w.world, stones[3], Gem), MICA_OK);
    s->stone = stones[4];
}

static void fill_table(sweep *s) {
    s->dune = mica_spawn(s->w.world, mica_value_of(Sand, {1}), mica_tag(Wet));
}

static void know_courses(sweep *s) {
    mica_register(s->w.world, Course);
}

static void launch_boat(sweep *s) {
    s->boat = mica_spawn(s->w.world, mica_value_of(Course, {1, 2}));
    mica_query_release(s->query);
    s->query = mica_query_create(s->w.world, (const mica_term[]){mica_write(Course)}, 1);
    mica_iter it = mica_query_begin(s->query); // tables are listed
    assert_true(mica_iter_next(&it));
    mica_iter_end(&it);
}

static void fill_pools_widely(sweep *s) {
    fill_pools(s);
    assert_int_equal(mica_pool_reserve(s->w.world, ID(Ore), 3000), MICA_OK);
}

static void group_pools(sweep *s) {
    fill_pools(s);
    s->group =
        mica_group_create(s->w.world, &(mica_group_def){.owned = {mica_type_of(Ore)}, .with = {mica_type_of(Gem)}});
    assert_non_null(s->group);
}

static void record_all_sorts(sweep *s) {
    const mica_value values[] = {{.type = mica_type_of(Owned), .value = mica_get(s->w.world, s->owner, Owned)},
                                 mica_tag(Wide)};
    s->placeholder = mica_commands_spawn(s->commands, values, 2);
    mica_set(s->commands, s->plain, Target, {s->placeholder});
    mica_set_parent(s->commands, s->bare, s->placeholder);
    mica_clone(s->commands, s->owner);
    mica_destroy(s->commands, s->sibling);
    assert_int_equal(mica_commands_count(s->commands), 5);
}

static void apply_all_sorts(sweep *s) {
    record_all_sorts(s);
    assert_int_equal(mica_commands_apply(s->commands), MICA_OK);
}

static void apply_and_record_one(sweep *s) {
    apply_all_sorts(s);
    mica_destroy(s->commands, s->sibling);
}

static void make_other(sweep *s) {
    s->other = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator)});
    assert_non_null(s->other);
    mica_register(s->other, mica_child_of);
}

static void spawn_in_system(sweep *s, mica_run *run) {
    const mica_value value = {.type = mica_type_of(Owned), .value = mica_get(s->w.world, s->owner, Owned)};
    s->inside_worked = !mica_entity_is_null(mica_commands_spawn(mica_run_commands(run), &value, 1));
    if (!s->inside_worked) {
        mica_run_fail(run, MICA_OUT_OF_MEMORY, "no memory to record");
    }
}
static void let_system_spawn(sweep *s) {
    s->inside = spawn_in_system;
}

static void make_extract(sweep *s, uint32_t capacity) {
    s->extract = mica_extract_create(s->w.world, &(mica_extract_def){.lists = {mica_list_of(int32_t, capacity)}});
    assert_non_null(s->extract);
}
static void extract_in_system(sweep *s, mica_run *run) {
    int32_t *numbers = mica_frame_add(mica_run_frame(run, s->extract), 0, int32_t, 9);
    s->inside_worked = numbers != NULL;
    if (numbers == NULL) {
        mica_run_fail(run, MICA_OUT_OF_MEMORY, "no memory to extract");
        return;
    }
    for (int32_t i = 0; i < 9; i++) {
        numbers[i] = i;
    }
}
static void let_system_extract(sweep *s) {
    make_extract(s, 0);
    s->inside = extract_in_system;
}
static void let_system_extract_with_room(sweep *s) {
    make_extract(s, 9);
    s->inside = extract_in_system;
}

static void make_manager(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    make_other(s);
    s->worlds = mica_worlds_create(&hooks);
    assert_non_null(s->worlds);
}
static bool worlds_add(sweep *s) {
    s->place = mica_worlds_add(s->worlds, &(mica_place_def){.name = "place", .world = s->other});
    s->other = s->place.id != 0 ? NULL : s->other;
    return s->place.id != 0;
}
static void fill_manager(sweep *s) {
    make_manager(s);
    assert_true(worlds_add(s));
}
static void fill_manager_and_make_other(sweep *s) {
    fill_manager(s);
    make_other(s);
}

static void begin_in_system(sweep *s, mica_run *run) {
    mica_iter it = mica_run_begin(run);
    s->inside_worked = it.open;
    mica_iter_end(&it);
}
static void let_system_begin(sweep *s) {
    s->inside = begin_in_system;
}

// Operations. Each says whether it succeeded.

static bool made(mica_entity entity) {
    return !mica_entity_is_null(entity);
}

// A hook says no by its value alone.
static bool fail_hook(const char *call) {
    mi_fail_memory(NULL, call, 0);
    return false;
}

static bool commands_add(sweep *s) {
    return mica_add(s->commands, s->bare, Owned) == MICA_OK;
}
static bool commands_add_many(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    return mica_tag_many(s->commands, entities, 2, Owned) == MICA_OK;
}
static bool commands_add_matching(sweep *s) {
    mica_query *query = mica_query_of(s->w.world, mica_read(Position));
    return query != NULL && mica_commands_add_matching(s->commands, query, ID(Owned), NULL) == MICA_OK;
}
static bool commands_destroy_matching(sweep *s) {
    mica_query *query = mica_query_of(s->w.world, mica_read(Position));
    return query != NULL && mica_commands_destroy_matching(s->commands, query) == MICA_OK;
}
static bool commands_remove_matching(sweep *s) {
    mica_query *query = mica_query_of(s->w.world, mica_read(Position));
    return query != NULL && mica_commands_remove_matching(s->commands, query, ID(Position)) == MICA_OK;
}
static bool commands_apply(sweep *s) {
    return mica_commands_apply(s->commands) == MICA_OK;
}
static bool commands_clone(sweep *s) {
    return made(mica_clone(s->commands, s->owner));
}
static bool commands_create(sweep *s) {
    mica_commands *commands = mica_commands_create(s->w.world);
    mica_commands_destroy(commands);
    return commands != NULL;
}
static bool commands_destroy_entity(sweep *s) {
    return mica_destroy(s->commands, s->plain) == MICA_OK;
}
static bool commands_destroy_many(sweep *s) {
    return mica_destroy_many(s->commands, &s->plain, 1) == MICA_OK;
}
static bool commands_destroy_subtree(sweep *s) {
    return mica_destroy_subtree(s->commands, s->parent) == MICA_OK;
}
static bool commands_enable(sweep *s) {
    return mica_commands_enable(s->commands, s->plain, false) == MICA_OK;
}
static bool commands_enable_component(sweep *s) {
    return mica_commands_enable_component(s->commands, s->plain, ID(Shield), false) == MICA_OK;
}
static bool commands_kill(sweep *s) {
    return mica_commands_kill(s->commands, s->plain) == MICA_OK;
}
static bool commands_refresh(sweep *s) {
    return mica_commands_refresh(s->commands) == MICA_OK;
}
static bool commands_remove(sweep *s) {
    return mica_remove(s->commands, s->plain, Position) == MICA_OK;
}
static bool commands_set(sweep *s) {
    return mica_set_from(s->commands, s->plain, Owned, mica_get(s->w.world, s->owner, Owned)) == MICA_OK;
}
static bool commands_remove_many(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    return mica_remove_many(s->commands, entities, 2, Position) == MICA_OK;
}
static bool commands_set_many(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    const Health values[] = {{1}, {2}};
    return mica_set_many(s->commands, entities, 2, Health, values) == MICA_OK;
}
static bool commands_set_parent(sweep *s) {
    return mica_set_parent(s->commands, s->bare, s->plain) == MICA_OK;
}
static bool commands_spawn(sweep *s) {
    const mica_value values[] = {{.type = mica_type_of(Owned), .value = mica_get(s->w.world, s->owner, Owned)},
                                 mica_tag(Frozen)};
    return made(mica_commands_spawn(s->commands, values, 2));
}
static bool child_of_attach(sweep *s) {
    return mica_child_of_attach(s->other) || fail_hook("mica_child_of_attach");
}
static bool entity_add(sweep *s) {
    return mica_add_value(s->w.world, s->plain, Target, {s->bare}) == MICA_OK;
}
static bool entity_add_owned(sweep *s) {
    return mica_add(s->w.world, s->plain, Owned) == MICA_OK;
}
static bool entity_add_many(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    const Target values[] = {{s->owner}, {s->bare}};
    return mica_add_many(s->w.world, entities, 2, Target, values) == MICA_OK;
}
static bool entity_add_many_owned(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    return mica_tag_many(s->w.world, entities, 2, Owned) == MICA_OK;
}
static bool entity_add_many_requiring(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    return mica_tag_many(s->w.world, entities, 2, Armour) == MICA_OK;
}
static bool entity_add_many_in_pool(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    const Ore values[] = {{1}, {2}};
    return mica_add_many(s->w.world, entities, 2, Ore, values) == MICA_OK;
}
static bool entity_set_many(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain};
    const Mass values[] = {{1}, {2}};
    return mica_set_many(s->w.world, entities, 2, Mass, values) == MICA_OK;
}
static bool entity_remove_many(sweep *s) {
    const mica_entity entities[] = {s->plain, s->dune, s->owner};
    return mica_remove_many(s->w.world, entities, 3, Wet) == MICA_OK;
}
static bool entity_clone(sweep *s) {
    return made(mica_clone(s->w.world, s->owner));
}
static bool entity_clone_plain(sweep *s) {
    return made(mica_clone(s->w.world, s->plain));
}
static bool entity_clone_child(sweep *s) {
    return made(mica_clone(s->w.world, s->child));
}
static bool entity_create(sweep *s) {
    return made(mica_create(s->w.world));
}
static bool entity_create_at(sweep *s) {
    const mica_entity far = mica_entity_make(5000, 3);
    return mica_entity_create_at(s->w.world, &far, 1) == MICA_OK;
}
static bool entity_enable(sweep *s) {
    return mica_disable(s->w.world, s->plain) == MICA_OK;
}
static bool entity_enable_component(sweep *s) {
    return mica_disable_component(s->w.world, s->bare, Shield) == MICA_OK;
}
static bool entity_kill(sweep *s) {
    return mica_kill(s->w.world, s->plain) == MICA_OK;
}
static bool entity_remove(sweep *s) {
    return mica_remove(s->w.world, s->dune, Wet) == MICA_OK;
}
static bool entity_set(sweep *s) {
    return mica_set(s->w.world, s->plain, Target, {s->plain}) == MICA_OK;
}
static bool entity_set_in_place(sweep *s) {
    int32_t number = 9;
    return mica_set(s->w.world, s->owner, Owned, {.number = &number}) == MICA_OK;
}
static bool entity_set_parent(sweep *s) {
    return mica_entity_set_parent(s->w.world, s->owner, s->plain, MICA_POSE_WORLD) == MICA_OK;
}
static bool entity_set_parent_null(sweep *s) {
    return mica_entity_set_parent(s->w.world, s->child, MICA_NULL, MICA_POSE_WORLD) == MICA_OK;
}
static bool entity_set_parent_many(sweep *s) {
    const mica_entity children[] = {s->plain, s->owner, s->child};
    const mica_entity parents[] = {s->owner, s->bare, MICA_NULL};
    return mica_entity_set_parent_many(s->w.world, children, parents, 3) == MICA_OK;
}
static bool entity_spawn(sweep *s) {
    int32_t number = 9;
    return made(mica_spawn(s->w.world, mica_value_of(Owned, {.number = &number}), mica_value_of(Target, {s->bare}),
                           mica_tag(Armour)));
}
static bool entity_spawn_child(sweep *s) {
    int32_t number = 9;
    return made(mica_spawn(s->w.world, mica_value_of(Owned, {.number = &number}),
                           mica_value_of(mica_child_of, {s->plain}), mica_tag(Frozen)));
}
static bool spawner_make(sweep *s) {
    const mica_spawner spawner =
        mica_spawner_of(s->w.world, mica_type_of(Health), mica_type_of(Colour), mica_type_of(Frozen));
    return spawner.world != NULL;
}
static void make_spawner(sweep *s) {
    s->spawner = mica_spawner_of(s->w.world, mica_type_of(Health), mica_type_of(Frozen));
    fill_slots(s);
}
static bool spawner_spawn(sweep *s) {
    return made(mica_spawn(&s->spawner, mica_value_of(Health, {3}), mica_tag(Frozen)));
}
static bool entity_spawn_many(sweep *s) {
    int32_t number = 9;
    Owned values[20];
    mica_entity entities[20];
    for (int32_t i = 0; i < 20; i++) {
        values[i] = (Owned){.number = &number};
    }
    return mica_spawn_many(s->w.world, 20, entities, mica_column_of(Owned, values), mica_tag(Frozen)) == MICA_OK;
}
static void count_rows(void *user, const mica_spawn_span *span) {
    *(int32_t *)user += span->count;
}
static bool entity_spawn_fill(sweep *s) {
    int32_t count = 0;
    const mica_component components[] = {ID(Owned), ID(Frozen)};
    const mica_result result = mica_entity_spawn_fill(s->w.world, components, 2, 20, count_rows, &count);
    assert_int_equal(count, result == MICA_OK ? 20 : 0);
    return result == MICA_OK;
}
static bool iter_commands(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const bool worked = it.open && mica_iter_commands(it) != NULL;
    mica_iter_end(&it);
    return worked;
}
static bool iter_end(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    mica_commands *commands = it.open ? mica_iter_commands(it) : NULL;
    if (commands == NULL || mica_set(commands, s->plain, Target, {s->bare}) != MICA_OK) {
        mica_iter_end(&it);
        return false;
    }
    mica_error_clear();
    mica_iter_end(&it);
    return mica_last_result() == MICA_OK;
}
static bool iter_read(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const void *column = mica_iter_next(&it) ? mica_iter_read(&it, mica_type_of(Fresh)) : NULL;
    mica_iter_end(&it);
    return column == NULL && mica_last_result() == MICA_NO_ACCESS;
}
static bool iter_read_lane(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const void *lane = mica_iter_next(&it) ? mica_lane_read(it, Fresh, a) : NULL;
    mica_iter_end(&it);
    return lane == NULL && mica_last_result() == MICA_NO_ACCESS;
}
static bool iter_write_lane(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const void *lane = mica_iter_next(&it) ? mica_lane(it, Fresh, a) : NULL;
    mica_iter_end(&it);
    return lane == NULL && mica_last_result() == MICA_NO_ACCESS;
}
static bool iter_load(sweep *s) {
    Fresh value;
    mica_iter it = mica_query_begin(s->query);
    const mica_result result = mica_iter_next(&it) ? mica_iter_load(&it, mica_type_of(Fresh), 0, &value) : MICA_OK;
    mica_iter_end(&it);
    return result == MICA_NO_ACCESS;
}
static bool iter_store(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const mica_result result = mica_iter_next(&it) ? mica_store(it, Fresh, 0, {1, 2}) : MICA_OK;
    mica_iter_end(&it);
    return result == MICA_NO_ACCESS;
}
static bool entity_spawn_fill_lanes(sweep *s) {
    int32_t count = 0;
    const mica_component component = ID(Course);
    const mica_result result = mica_entity_spawn_fill(s->w.world, &component, 1, 20, count_rows, &count);
    assert_int_equal(count, result == MICA_OK ? 20 : 0);
    return result == MICA_OK;
}
static bool iter_mark(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const mica_result result = mica_iter_next(&it) ? mica_iter_mark(&it, mica_type_of(Fresh), 0) : MICA_OK;
    mica_iter_end(&it);
    return result == MICA_NO_ACCESS;
}
static bool iter_write(sweep *s) {
    mica_iter it = mica_query_begin(s->query);
    const void *column = mica_iter_next(&it) ? mica_iter_write(&it, mica_type_of(Fresh)) : NULL;
    mica_iter_end(&it);
    return column == NULL && mica_last_result() == MICA_NO_ACCESS;
}
static bool lifetime_system_add(sweep *s) {
    return mica_lifetime_system_add(s->w.world).id != 0;
}
static bool name_copy(sweep *s) {
    const mica_hook_context context = {.allocator = &s->w.world->store.values};
    mica_name copy = {NULL};
    const mica_name from = {"a text of its own"};
    if (!mica_name_copy(&copy, &from, 1, &context)) {
        return fail_hook("mica_name_copy");
    }
    assert_string_equal(copy.text, from.text);
    mica_name_destruct(&copy, 1, &context);
    return true;
}
static bool name_read(sweep *s) {
    const mica_hook_context context = {.allocator = &s->w.world->store.values};
    mica_name name = {NULL};
    const mica_result result = mica_name_read(&name, "a text, and what is behind it", 6, &context);
    if (result != MICA_OK) {
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        return fail_hook("mica_name_read");
    }
    assert_string_equal(name.text, "a text");
    mica_name_destruct(&name, 1, &context);
    return true;
}
static int compare_ores(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return ((const Ore *)a->value)->grams - ((const Ore *)b->value)->grams;
}
static bool group_create(sweep *s) {
    const mica_group_def def = {.owned = {mica_type_of(Ore)}, .with = {mica_type_of(Gem)}};
    return mica_group_create(s->w.world, &def) != NULL;
}
static bool group_sort(sweep *s) {
    return mica_group_sort(s->group, ID(Ore), compare_ores, NULL) == MICA_OK;
}
static void ignore_signal(const mica_signal *signal) {
    assert_non_null(signal->commands);
}
static bool observer_connect(sweep *s) {
    const mica_observer_def def = {.on = MICA_ENTERED,
                                   .query = {mica_read(Ore), mica_without(Fresh)},
                                   .existing = true,
                                   .name = "comes",
                                   .call = ignore_signal};
    return mica_observer_connect(s->w.world, &def).id != 0;
}
// The query and what it names stay with the world, whether or not somebody gets to wait for it.
static void find_observed(sweep *s) {
    fill_pools(s);
    assert_non_null(mica_query_of(s->w.world, mica_read(Ore), mica_without(Fresh)));
}
static bool observer_connect_to(sweep *s) {
    return mica_on_added(s->w.world, Gem, ignore_signal, NULL).id != 0;
}
static void observe_gems(sweep *s) {
    s->observer = mica_on_added(s->w.world, Gem, ignore_signal, NULL);
    assert_int_not_equal(s->observer.id, 0);
}
static void hear(const mica_event *event) {
    ((sweep *)event->user)->heard_count++;
}
static bool event_bind(sweep *s) {
    return mica_on_event(s->w.world, Position, hear, s).id != 0;
}
static void bind_handler(sweep *s) {
    s->handler = mica_on_event(s->w.world, Position, hear, s);
    assert_int_not_equal(s->handler.id, 0);
}
static bool event_trigger(sweep *s) {
    return mica_trigger(s->w.world, Position, {1, 2, 3}) == MICA_OK && s->heard_count == 1;
}
static bool event_send(sweep *s) {
    return mica_send(s->w.world, Position, {1, 2, 3}) == MICA_OK && mica_event_reader_count(s->reader) == 1;
}
static void make_reader(sweep *s) {
    s->reader = mica_reader_of(s->w.world, Position, "sweep");
    assert_non_null(s->reader);
}
static bool event_deliver(sweep *s) {
    return mica_deliver(s->w.world, Position) == 1 && s->heard_count == 1;
}
static void send_to_handler(sweep *s) {
    bind_handler(s);
    assert_int_equal(mica_send(s->w.world, Position, {1, 2, 3}), MICA_OK);
}
static bool event_reader_create(sweep *s) {
    mica_event_reader *reader = mica_reader_of(s->w.world, Position, NULL);
    const bool worked = reader != NULL;
    mica_event_reader_destroy(reader);
    return worked;
}
static bool event_set_limits(sweep *s) {
    return mica_event_set_limits(s->w.world, ID(Position), 20, 5) == MICA_OK;
}
static void read_in_system(sweep *s, mica_run *run) {
    s->inside_worked = mica_run_events(run, Position) != NULL;
    if (!s->inside_worked) {
        mica_run_fail(run, mica_last_result(), "no reader");
    }
}
static void let_system_read(sweep *s) {
    s->inside = read_in_system;
}
static bool inbox_drain(sweep *s) {
    return mica_inbox_drain(s->w.world) == 1 && mica_event_reader_count(s->reader) == 1;
}
static void post_position(sweep *s) {
    make_reader(s);
    s->inbox = mica_world_inbox(s->w.world);
    assert_int_equal(mica_post(s->inbox, Position, {1, 2, 3}), MICA_OK);
}
static bool snapshot_take(sweep *s) {
    mica_snapshot *snapshot = mica_snapshot_take(s->w.world, NULL);
    mica_snapshot_release(snapshot);
    return snapshot != NULL;
}
// Takes a snapshot, after which entities come, go and change.
static void take_snapshot(sweep *s) {
    mica_world *world = s->w.world;
    s->snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(s->snapshot);
    assert_int_equal(mica_entity_destroy(world, s->owner), MICA_OK);
    assert_int_equal(mica_set(world, s->plain, Health, {9}), MICA_OK);
    mica_spawn(world, mica_value_of(Health, {1}));
}
// Values of Owned have hooks, unknown fields, and nothing that says what they hold.
static mica_checksum_options leave_owned(const sweep *s, mica_component *owned) {
    *owned = mica_schema_find(mica_world_schema(s->w.world), "Owned");
    return (mica_checksum_options){.leave = owned, .leave_count = 1};
}
static bool world_checksum(sweep *s) {
    mica_component owned;
    const mica_checksum_options options = leave_owned(s, &owned);
    uint64_t checksum = 0;
    return mica_world_checksum(s->w.world, &options, &checksum) == MICA_OK && checksum != 0;
}
static bool world_component_checksum(sweep *s) {
    const mica_component component = mica_schema_find(mica_world_schema(s->w.world), "Position");
    uint64_t checksum = 0;
    return mica_world_component_checksum(s->w.world, component, &checksum) == MICA_OK && checksum != 0;
}
static bool entity_checksum(sweep *s) {
    uint64_t checksum = 0;
    return mica_entity_checksum(s->w.world, s->plain, NULL, &checksum) == MICA_OK && checksum != 0;
}
static bool snapshot_checksum(sweep *s) {
    mica_component owned;
    const mica_checksum_options options = leave_owned(s, &owned);
    uint64_t checksum = 0;
    return mica_snapshot_checksum(s->snapshot, &options, &checksum) == MICA_OK && checksum != 0;
}
static bool snapshot_component_checksum(sweep *s) {
    const mica_component component = mica_schema_find(mica_world_schema(s->w.world), "Position");
    uint64_t checksum = 0;
    return mica_snapshot_component_checksum(s->snapshot, component, &checksum) == MICA_OK && checksum != 0;
}
static bool world_compare(sweep *s) {
    mica_component owned;
    const mica_checksum_options options = leave_owned(s, &owned);
    mica_difference difference;
    return mica_world_compare(s->w.world, s->w.world, &options, &difference) == MICA_OK &&
           difference.kind == MICA_DIFFERENCE_NONE;
}
static bool snapshot_compare(sweep *s) {
    mica_component owned;
    const mica_checksum_options options = leave_owned(s, &owned);
    mica_difference difference;
    return mica_snapshot_compare(s->snapshot, s->snapshot, &options, &difference) == MICA_OK &&
           difference.kind == MICA_DIFFERENCE_NONE;
}
static bool snapshot_compare_world(sweep *s) {
    mica_component owned;
    const mica_checksum_options options = leave_owned(s, &owned);
    mica_difference difference;
    return mica_snapshot_compare_world(s->snapshot, s->w.world, &options, &difference) == MICA_OK &&
           difference.kind != MICA_DIFFERENCE_NONE;
}
static bool snapshot_restore(sweep *s) {
    return mica_snapshot_restore(s->snapshot, s->w.world, NULL) == MICA_OK && mica_alive(s->w.world, s->owner) &&
           mica_get(s->w.world, s->plain, Health)->now == 4;
}
static void make_twin(sweep *s) {
    s->other = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator), .schema = mica_world_schema(s->w.world)});
    assert_non_null(s->other);
}
// In a world aside, which nobody else looks at: from one entity to two.
static void make_delta(sweep *s) {
    make_twin(s);
    mica_spawn(s->other, mica_value_of(Health, {4}));
    s->snapshot = mica_snapshot_take(s->other, NULL);
    mica_spawn(s->other, mica_value_of(Health, {1}));
    mica_snapshot *now = mica_snapshot_take(s->other, NULL);
    s->delta = mica_delta_make(s->snapshot, now, NULL);
    s->back = mica_delta_make(now, s->snapshot, NULL);
    assert_non_null(s->delta);
    assert_non_null(s->back);
    mica_snapshot_release(now);
}
static bool delta_make(sweep *s) {
    mica_delta *delta = mica_delta_make(NULL, s->snapshot, NULL);
    mica_delta_release(delta);
    return delta != NULL;
}
static bool delta_apply(sweep *s) {
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(s->delta, &byte_size);
    return mica_delta_apply(s->other, bytes, byte_size, MICA_DELTA_BACKWARDS, NULL) == MICA_OK &&
           mica_world_entity_count(s->other) == 1;
}
static bool delta_compose(sweep *s) {
    size_t byte_sizes[2] = {0};
    const void *first = mica_delta_bytes(s->delta, &byte_sizes[0]);
    const void *second = mica_delta_bytes(s->back, &byte_sizes[1]);
    const mica_allocator allocator = test_allocator_hooks(&s->w.allocator);
    mica_delta *joined = mica_delta_compose(first, byte_sizes[0], second, byte_sizes[1], &allocator);
    mica_delta_release(joined);
    return joined != NULL;
}
static bool world_copy(sweep *s) {
    return mica_world_copy(s->other, s->w.world) == MICA_OK && mica_alive(s->other, s->plain);
}
static bool world_swap(sweep *s) {
    return mica_world_swap(s->other, s->w.world) == MICA_OK && mica_world_entity_count(s->w.world) == 0 &&
           mica_alive(s->other, s->plain);
}
static bool ring_create(sweep *s) {
    mica_ring *ring = mica_ring_create(s->w.world, NULL);
    mica_ring_destroy(ring);
    return ring != NULL;
}
static void make_ring(sweep *s) {
    s->ring = mica_ring_create(s->w.world, NULL);
    assert_non_null(s->ring);
}
static bool ring_take(sweep *s) {
    return mica_ring_take(s->ring, 1) == MICA_OK && mica_ring_statistics(s->ring).count == 1;
}
static void fill_ring(sweep *s) {
    make_ring(s);
    assert_int_equal(mica_ring_take(s->ring, 1), MICA_OK);
    assert_int_equal(mica_entity_destroy(s->w.world, s->owner), MICA_OK);
}
static bool ring_restore(sweep *s) {
    return mica_ring_restore(s->ring, 1, NULL) == MICA_OK && mica_alive(s->w.world, s->owner);
}
static bool world_inbox(sweep *s) {
    return mica_world_inbox(s->w.world) != NULL;
}
static bool pool_follow(sweep *s) {
    return mica_pool_follow(s->w.world, ID(Ore), ID(Gem)) == MICA_OK;
}
static bool pool_reserve(sweep *s) {
    return mica_pool_reserve(s->w.world, ID(Ore), 3000) == MICA_OK;
}
static bool pool_shrink(sweep *s) {
    return mica_pool_shrink(s->w.world, ID(Ore)) == MICA_OK;
}
static bool pool_sort(sweep *s) {
    return mica_pool_sort(s->w.world, ID(Ore), compare_ores, NULL) == MICA_OK;
}
static void find_rowless(sweep *s) {
    assert_non_null(mica_query_of(s->w.world, mica_without(Marked)));
}
static int compare_indices(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return (int)mica_entity_index(a->entity) - (int)mica_entity_index(b->entity);
}
static bool order_create(sweep *s) {
    mica_order *order = mica_order_create(s->query, ID(Position), compare_indices, NULL);
    const bool worked = order != NULL;
    mica_order_destroy(order);
    return worked;
}
static bool subscribe(sweep *s) {
    const mica_subscription_def def = {.components = {mica_type_of(Health), mica_type_of(Position)}};
    mica_subscription *subscription = mica_subscribe(s->w.world, &def);
    mica_subscription_destroy(subscription);
    return subscription != NULL;
}
static void make_order(sweep *s) {
    s->order = mica_order_create(s->query, ID(Position), compare_indices, NULL);
    assert_non_null(s->order);
}
static void spawn_ranks(sweep *s) {
    for (int32_t i = 0; i < 100; i++) {
        mica_spawn(s->w.world, mica_value_of(Rank, {i % 10, i % 3}));
    }
}
// Asked for during a walk that ends without memory, they are made once more by the first look-up behind it.
static void make_indexes(sweep *s) {
    spawn_ranks(s);
    mica_iter it = mica_query_begin(s->query);
    s->by_number = mica_index_of(s->w.world, Rank, "number");
    s->by_house = mica_index_of(s->w.world, Rank, "house");
    test_allocator_fail_from(&s->w.allocator, 1);
    mica_iter_end(&it);
    test_allocator_fail_stop(&s->w.allocator);
    assert_true(s->by_number != NULL && s->by_house != NULL);
}
static bool index_of(sweep *s) {
    mica_index *index = mica_index_of_id(s->w.world, ID(Rank), "number");
    return index != NULL && index == mica_index_of_id(s->w.world, ID(Rank), "number");
}
static bool index_count(sweep *s) {
    return mica_index_count(s->by_house) == 100;
}
static bool index_find(sweep *s) {
    const int32_t house = 2;
    return mica_index_find(s->by_house, &house, NULL, 0) == 33;
}
static bool index_range(sweep *s) {
    const int32_t low = 8;
    return mica_index_range(s->by_number, &low, NULL, NULL, 0) == 20;
}
static bool index_first(sweep *s) {
    return made(mica_index_first(s->by_number));
}
static bool index_last(sweep *s) {
    return made(mica_index_last(s->by_number));
}
static bool order_begin(sweep *s) {
    mica_iter it = mica_order_begin(s->order);
    const bool worked = mica_iter_next(&it) && mica_entity_equal(it.entities[0], s->plain);
    mica_iter_end(&it);
    return worked;
}
static bool query_begin_since(sweep *s) {
    mica_query *query = mica_query_of(s->w.world, mica_removed(Health), mica_added(Position));
    mica_iter it = query == NULL ? (mica_iter){0} : mica_query_begin_since(query, 1);
    const bool worked = it.open;
    mica_iter_end(&it);
    return worked;
}
static bool query_begin(sweep *s) {
    mica_iter it = mica_query_begin(mica_query_of(s->w.world, mica_without(Marked)));
    const bool worked = it.open;
    mica_iter_end(&it);
    return worked;
}
static bool query_count(sweep *s) {
    return mica_query_count(s->query) > 0;
}
static bool query_size_hint(sweep *s) {
    return mica_query_size_hint(s->query) > 0;
}
static bool query_first(sweep *s) {
    return made(mica_query_first(s->query));
}
static bool query_entities(sweep *s) {
    mica_entity entities[4];
    return mica_query_entities(s->query, entities, 4) > 0;
}
static bool query_explain(sweep *s) {
    char text[64];
    return mica_query_explain(s->query, s->plain, text, sizeof(text)) > 0;
}
static bool query_create(sweep *s) {
    mica_query *query = mica_query_create(s->w.world, (const mica_term[]){mica_read(Health), mica_with(Frozen)}, 2);
    mica_query_release(query);
    return query != NULL;
}
static bool query_create_text(sweep *s) {
    mica_query *query = mica_query_create_text(s->w.world, "Health, [write] \"Position\", !Frozen");
    mica_query_release(query);
    return query != NULL;
}
static bool query_find(sweep *s) {
    return mica_query_of(s->w.world, mica_read(Health), mica_with(Frozen)) != NULL;
}
static bool resource_ensure(sweep *s) {
    return mica_ensure_resource(s->w.world, Owned) != NULL;
}
static bool resource_set(sweep *s) {
    return mica_set_resource(s->w.world, Target, {s->plain}) == MICA_OK;
}
static void register_many(sweep *s) {
    for (int32_t i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof(name), "R%d", i);
        mica_type type = {.name = name, .size = 4, .align = 4};
        assert_int_not_equal(mica_world_register(s->w.world, &type), 0);
    }
}
// The list of resources has no room yet for an id as high as this.
static bool resource_set_pointer(sweep *s) {
    static int32_t value;
    const mica_component last = mica_schema_find(mica_world_schema(s->w.world), "R63");
    return mica_resource_set_pointer(s->w.world, last, &value) == MICA_OK;
}
static bool schema_create(sweep *s) {
    mica_schema *schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&s->w.allocator)});
    mica_schema_release(schema);
    return schema != NULL;
}
static bool schema_fields(sweep *s) {
    int32_t count = 0;
    return mica_schema_fields(mica_world_schema(s->w.world), ID(Position), &count) != NULL && count == 3;
}
static bool schema_enumerators(sweep *s) {
    int32_t count = 0;
    return mica_schema_enumerators(mica_world_schema(s->w.world), ID(Colour), &count) != NULL && count == 2;
}
static bool schema_register(sweep *s) {
    return mica_schema_register(mica_world_schema(s->w.world), mica_type_of(Fresh)) != 0;
}
static bool schema_register_named(sweep *s) {
    mica_schema *schema = mica_world_schema(s->w.world);
    return mica_schema_register_named(schema, mica_type_of(Fresh), "Fresher", NULL) != 0;
}
static bool set_name(sweep *s) {
    return mica_set_name(s->w.world, s->plain, "plain") == MICA_OK;
}
static bool set_name_again(sweep *s) {
    return mica_set_name(s->w.world, s->owner, "another") == MICA_OK;
}
static bool catalog_create(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    mica_catalog *catalog = mica_catalog_create(&hooks);
    mica_catalog_destroy(catalog);
    return catalog != NULL;
}
static bool catalog_enter(sweep *s) {
    return mica_catalog_enter(
               s->catalog, &(mica_system_def){.name = "late", .run = probe, .user = s, .after = {"probe"}}) == MICA_OK;
}
static bool system_add_named(sweep *s) {
    return mica_system_add_named(s->w.world, s->catalog, "late").id != 0;
}
static mica_jobs *create_jobs(sweep *s) {
    return mica_jobs_create(&(mica_jobs_def){.thread_count = 1, .allocator = test_allocator_hooks(&s->w.allocator)});
}
static void make_jobs(sweep *s) {
    s->jobs = create_jobs(s);
    assert_non_null(s->jobs);
}
static void count_job(void *data) {
    ((sweep *)data)->job_count++;
}
static bool jobs_create(sweep *s) {
    mica_jobs *jobs = create_jobs(s);
    mica_jobs_release(jobs);
    return jobs != NULL;
}
static bool job_start(sweep *s) {
    return mica_job_start(s->jobs, count_job, s).generation != 0;
}
static bool slot_map_create(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    mica_slot_map *map = mica_slot_map_create(8, 8, &hooks);
    mica_slot_map_destroy(map);
    return map != NULL;
}
static bool slot_map_insert(sweep *s) {
    const int32_t value = 7;
    return mica_slot_map_find(s->map, mica_slot_map_insert(s->map, &value)) != NULL;
}
static bool slot_map_reserve(sweep *s) {
    return mica_slot_map_reserve(s->map, 100) == MICA_OK;
}
static bool worlds_create(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    mica_worlds *worlds = mica_worlds_create(&hooks);
    mica_worlds_destroy(worlds);
    return worlds != NULL;
}
static bool worlds_advance(sweep *s) {
    return mica_worlds_advance(s->worlds, 0.02) == MICA_OK;
}
static bool extract_create(sweep *s) {
    mica_extract *extract = mica_extract_create(
        s->w.world, &(mica_extract_def){.lists = {mica_list_of(int32_t, 7), mica_list_of(double, 3)}});
    mica_extract_destroy(extract);
    return extract != NULL;
}
static bool stage_add_after(sweep *s) {
    return mica_stage_add_after(s->w.world, "netcode", MICA_UPDATE) >= 0;
}
static bool stage_add_before(sweep *s) {
    return mica_stage_add_before(s->w.world, "netcode", MICA_UPDATE) >= 0;
}
static bool system_add(sweep *s) {
    return mica_system_add(s->w.world, &(mica_system_def){.name = "late",
                                                          .run = probe,
                                                          .user = s,
                                                          .state = mica_type_of(Owned),
                                                          .after = {"probe"},
                                                          .query = {mica_write(Position)}})
               .id != 0;
}
static bool timer_system_add(sweep *s) {
    return mica_timer_system_add(s->w.world).id != 0;
}
static bool transform_resolve(sweep *s) {
    return mica_transform_resolve(s->w.world) == MICA_OK;
}
static void add_rival(sweep *s) {
    const mica_system_def def = {.name = "rival", .run = probe, .user = s, .query = {mica_write(Position)}};
    assert_int_not_equal(mica_system_add(s->w.world, &def).id, 0);
}
static bool world_ambiguities(sweep *s) {
    char text[256];
    return mica_world_ambiguities(s->w.world, text, sizeof(text)) > 0 && strstr(text, "rival: Position") != NULL;
}
static bool write_group_join(sweep *s) {
    return mica_write_group_join(s->w.world, id_of(s, mica_type_of(Position)), id_of(s, mica_type_of(Health))) ==
           MICA_OK;
}
static bool world_validate(sweep *s) {
    return mica_world_validate(s->w.world) == MICA_OK;
}
static bool transform_system_add(sweep *s) {
    return mica_transform_system_add(s->w.world).id != 0;
}
static bool world_advance(sweep *s) {
    return mica_world_advance(s->w.world, 0.02) >= 1 && s->inside_worked; // the time of a failed tick stays due
}
static bool world_step_paused(sweep *s) {
    return mica_stage_run_while_paused(s->w.world, MICA_UPDATE, true) == MICA_OK &&
           mica_world_step_paused(s->w.world, 1) == MICA_OK && s->inside_worked;
}
static bool world_step_system(sweep *s) {
    return mica_world_step_system(s->w.world, s->system, 1) == MICA_OK && s->inside_worked;
}
static bool world_create(sweep *s) {
    mica_world *world = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator), .name = "third", .entity_capacity = 10});
    mica_world_destroy(world);
    return world != NULL;
}
static bool world_create_with_rooms(sweep *s) {
    const mica_room room = {.types = {mica_type_of(Position), mica_type_of(Ore)}, .count = 10};
    mica_world *world = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator), .rooms = &room, .room_count = 1});
    mica_world_destroy(world);
    return world != NULL;
}
static bool world_create_fixed(sweep *s) {
    mica_world *world = mica_world_create(
        &(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator), .fixed_byte_size = 100000});
    mica_world_destroy(world);
    return world != NULL;
}
static bool world_fixed_size(sweep *s) {
    return mica_world_fixed_size(&(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator)}) > 0;
}
static bool world_keep_chunks(sweep *s) {
    return mica_world_keep_chunks(s->w.world, 1000000) == MICA_OK;
}
static bool world_make_room(sweep *s) {
    const mica_room room = {.types = {mica_type_of(Mass), mica_type_of(Position)}, .count = 1000};
    return mica_world_make_room(s->w.world, &room) == MICA_OK;
}
static bool world_make_room_in_pool(sweep *s) {
    return mica_world_make_room(s->w.world, &(mica_room){.types = {mica_type_of(Ore)}, .count = 100}) == MICA_OK;
}
static void count_tables(const mica_table_stats *table, void *user) {
    *(int32_t *)user += table->component_count > 0;
}
static bool world_visit_tables(sweep *s) {
    int32_t count = 0;
    return mica_world_visit_tables(s->w.world, count_tables, &count) == count && count > 0;
}
static void make_a_table(sweep *s) {
    assert_true(made(mica_spawn(s->w.world, mica_value_of(Sand, {1}))));
}
static bool world_has_types(sweep *s) {
    assert_false(mica_has_any(s->w.world, s->plain, mica_type_of(Fresh)));
    return mica_last_result() == MICA_OK;
}
static bool world_register(sweep *s) {
    return mica_register(s->w.world, Fresh) != 0;
}
static bool world_reserve(sweep *s) {
    return mica_world_reserve(s->w.world, 1000) == MICA_OK;
}
static bool world_step(sweep *s) {
    return mica_world_step(s->w.world, 1) == MICA_OK && s->inside_worked;
}

// What stands on snapshots. Values with hooks have no bytes that deltas and checksums could hold.

static void without_hooks(sweep *s) {
    assert_int_equal(mica_destroy(s->w.world, s->owner), MICA_OK);
}

static void make_history(sweep *s) {
    without_hooks(s);
    s->history = mica_history_create(s->w.world, NULL);
    assert_non_null(s->history);
}

static void begin_step(sweep *s) {
    make_history(s);
    assert_int_equal(mica_history_begin(s->history, "step"), MICA_OK);
    assert_int_equal(mica_set(s->w.world, s->plain, Position, {7, 8, 9}), MICA_OK);
    assert_false(mica_entity_is_null(mica_create(s->w.world)));
}

static void take_step(sweep *s) {
    begin_step(s);
    assert_int_equal(mica_history_end(s->history), MICA_OK);
}

static void take_step_back(sweep *s) {
    take_step(s);
    assert_int_equal(mica_history_undo(s->history), MICA_OK);
}

static bool history_create(sweep *s) {
    mica_history *history = mica_history_create(s->w.world, NULL);
    mica_history_destroy(history);
    return history != NULL;
}
static bool history_begin(sweep *s) {
    return mica_history_begin(s->history, "step") == MICA_OK;
}
static bool history_end(sweep *s) {
    return mica_history_end(s->history) == MICA_OK;
}
static bool history_cancel(sweep *s) {
    return mica_history_cancel(s->history) == MICA_OK;
}
static bool history_undo(sweep *s) {
    return mica_history_undo(s->history) == MICA_OK;
}
static bool history_redo(sweep *s) {
    return mica_history_redo(s->history) == MICA_OK;
}

static void make_journal(sweep *s) {
    without_hooks(s);
    s->journal = mica_journal_create(s->w.world, journal_path(), NULL);
    assert_non_null(s->journal);
}

static void change_under_journal(sweep *s) {
    make_journal(s);
    assert_false(mica_entity_is_null(mica_create(s->w.world)));
}

static void write_journal(sweep *s) {
    make_journal(s);
    assert_int_equal(mica_journal_step(s->journal, 0.5f), MICA_OK);
    assert_int_equal(mica_journal_close(s->journal), MICA_OK);
    s->journal = NULL;
}

static void open_reading(sweep *s) {
    write_journal(s);
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    s->reading = mica_journal_open(journal_path(), &hooks);
    assert_non_null(s->reading);
}

static bool journal_create(sweep *s) {
    s->journal = mica_journal_create(s->w.world, journal_path(), NULL);
    return s->journal != NULL;
}
static bool journal_resume(sweep *s) {
    s->journal = mica_journal_resume(s->w.world, journal_path(), NULL);
    return s->journal != NULL;
}
static bool journal_advance(sweep *s) {
    return mica_journal_advance(s->journal, 0.02) >= 1; // the time of a failed tick stays due
}
static bool journal_step(sweep *s) {
    return mica_journal_step(s->journal, 0.5f) == MICA_OK;
}
static bool journal_write(sweep *s) {
    return mica_journal_write(s->journal) == MICA_OK;
}
static bool journal_open(sweep *s) {
    const mica_allocator hooks = test_allocator_hooks(&s->w.allocator);
    s->reading = mica_journal_open(journal_path(), &hooks);
    return s->reading != NULL;
}
static bool journal_restore(sweep *s) {
    return mica_journal_restore(s->reading, s->w.world, 1) == MICA_OK;
}
static bool journal_replay(sweep *s) {
    return mica_journal_replay(s->reading, s->w.world, 1, 2, NULL) == MICA_OK;
}

static void count_health(mica_run *run) {
    mica_each (run, it) {
        mica_write_of(it, Health)[0].now++;
    }
}
static void make_threads(sweep *s) {
    s->other =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&s->w.allocator), .thread_count = 2});
    assert_non_null(s->other);
    mica_spawn(s->other, mica_value_of(Health, {4}));
    const mica_system_def defs[] = {{.name = "count", .run = count_health, .query = {mica_write(Health)}},
                                    {.name = "look", .run = probe, .query = {mica_read(Position)}, .user = s}};
    for (int32_t i = 0; i < 2; i++) {
        assert_int_not_equal(mica_system_add(s->other, &defs[i]).id, 0);
    }
    assert_int_equal(mica_world_step(s->other, 0.5f), MICA_OK);
}
static bool trace_begin(sweep *s) {
    return mica_trace_begin(s->w.world, 8) == MICA_OK;
}
static void trace_world(sweep *s) {
    assert_true(trace_begin(s));
    assert_int_equal(mica_world_step(s->w.world, 0.5f), MICA_OK);
}
static void see_event(const mica_trace_event *event, void *user) {
    *(bool *)user |= event->kind == MICA_TRACE_TICK;
}
static bool the_trace_is_told(sweep *s) {
    bool has_tick = false;
    return mica_trace_take(s->w.world, see_event, &has_tick) >= 0 && has_tick;
}
static bool the_trace_ends(sweep *s) {
    return mica_trace_end(s->w.world) == MICA_OK;
}
// Few machines have counters; what memory they take is run/test_hardware.c's business.
static bool hardware_is_asked_for(sweep *s) {
    const mica_result result = mica_hardware_begin(s->w.world);
    return (result == MICA_UNSUPPORTED || result == MICA_OUT_OF_MEMORY) && !mica_hardware_is_counted(s->w.world);
}
static bool hardware_ends(sweep *s) {
    mica_hardware_counts counts;
    return mica_hardware_end(s->w.world) == MICA_OK && !mica_hardware_is_counted(s->w.world) &&
           mica_hardware_statistics(s->w.world, s->system, &counts) == MICA_OK;
}
static bool world_check_threads(sweep *s) {
    return mica_world_check_threads(s->other, 0.5f, NULL) == MICA_OK;
}

static bool synctest_create(sweep *s) {
    s->synctest = mica_synctest_create(s->w.world, 2);
    return s->synctest != NULL;
}
static void make_synctest(sweep *s) {
    without_hooks(s);
    assert_true(synctest_create(s));
}
static bool synctest_step(sweep *s) {
    return mica_synctest_step(s->synctest, 0.5f, NULL) == MICA_OK;
}

typedef struct sweep_operation {
    const char *name;
    bool (*run)(sweep *s);
    void (*prepare)(sweep *s); // may be NULL
    bool in_parts;             // what was done before memory ran out stays done, as its documentation says
} sweep_operation;

static const sweep_operation operations[] = {
    {"mica_catalog_create", catalog_create, NULL, false},
    {"mica_catalog_enter", catalog_enter, make_catalog, false},
    {"mica_child_of_attach", child_of_attach, make_other, false},
    {"mica_commands_add", commands_add, NULL, false},
    {"mica_commands_add_many", commands_add_many, NULL, false},
    {"mica_commands_add_matching", commands_add_matching, NULL, false},
    {"mica_commands_apply", commands_apply, record_all_sorts, true},
    {"mica_commands_clone", commands_clone, NULL, false},
    {"mica_commands_create", commands_create, NULL, false},
    {"mica_commands_destroy_entity", commands_destroy_entity, NULL, false},
    {"mica_commands_destroy_many", commands_destroy_many, NULL, false},
    {"mica_commands_destroy_matching", commands_destroy_matching, NULL, false},
    {"mica_commands_destroy_subtree", commands_destroy_subtree, NULL, false},
    {"mica_commands_enable", commands_enable, NULL, false},
    {"mica_commands_enable_component", commands_enable_component, give_shield, false},
    {"mica_commands_kill", commands_kill, NULL, false},
    {"mica_commands_refresh", commands_refresh, NULL, false},
    {"mica_commands_remove", commands_remove, NULL, false},
    {"mica_commands_remove_many", commands_remove_many, NULL, false},
    {"mica_commands_remove_matching", commands_remove_matching, NULL, false},
    {"mica_commands_set", commands_set, NULL, false},
    {"mica_commands_set_many", commands_set_many, NULL, false},
    {"mica_commands_set_parent", commands_set_parent, NULL, false},
    {"mica_commands_spawn", commands_spawn, NULL, false},
    {"mica_delta_apply", delta_apply, make_delta, false},
    {"mica_delta_compose", delta_compose, make_delta, false},
    {"mica_delta_make", delta_make, make_delta, false},
    {"mica_entity_add", entity_add, NULL, false},
    {"mica_entity_add", entity_add_owned, NULL, false},
    {"mica_entity_add_many", entity_add_many, NULL, false},
    {"mica_entity_add_many", entity_add_many_owned, NULL, false},
    {"mica_entity_add_many", entity_add_many_requiring, NULL, false},
    {"mica_entity_add_many", entity_add_many_in_pool, know_ore, false},
    {"mica_entity_checksum", entity_checksum, NULL, false},
    {"mica_entity_clone", entity_clone, NULL, false},
    {"mica_entity_clone", entity_clone_child, fill_slots, false},
    {"mica_entity_clone", entity_clone_plain, fill_chunk, false},
    {"mica_entity_create", entity_create, fill_slots, false},
    {"mica_entity_create_at", entity_create_at, NULL, false},
    {"mica_entity_enable", entity_enable, NULL, false},
    {"mica_entity_enable_component", entity_enable_component, give_shield, false},
    {"mica_entity_kill", entity_kill, NULL, false},
    {"mica_entity_remove", entity_remove, fill_table, false},
    {"mica_entity_remove_many", entity_remove_many, fill_table, false},
    {"mica_entity_set", entity_set, NULL, false},
    {"mica_entity_set", entity_set_in_place, NULL, false},
    {"mica_entity_set_many", entity_set_many, NULL, false},
    {"mica_entity_set_parent", entity_set_parent, NULL, false},
    {"mica_entity_set_parent", entity_set_parent_null, NULL, false},
    {"mica_entity_set_parent_many", entity_set_parent_many, NULL, false},
    {"mica_entity_spawn", entity_spawn, fill_slots, false},
    {"mica_entity_spawn", entity_spawn_child, fill_slots, false},
    {"mica_entity_spawn_fill", entity_spawn_fill, fill_slots, false},
    {"mica_entity_spawn_fill", entity_spawn_fill_lanes, know_courses, false},
    {"mica_entity_spawn_many", entity_spawn_many, fill_slots, false},
    {"mica_event_bind", event_bind, NULL, false},
    {"mica_event_deliver", event_deliver, send_to_handler, false},
    {"mica_event_reader_create", event_reader_create, NULL, false},
    {"mica_event_send", event_send, make_reader, false},
    {"mica_event_set_limits", event_set_limits, NULL, false},
    {"mica_event_trigger", event_trigger, bind_handler, false},
    {"mica_extract_create", extract_create, NULL, false},
    {"mica_frame_add_items", world_step, let_system_extract, true},
    {"mica_group_create", group_create, fill_pools, false},
    {"mica_group_sort", group_sort, group_pools, false},
    {"mica_history_begin", history_begin, make_history, false},
    {"mica_history_cancel", history_cancel, begin_step, false},
    {"mica_history_create", history_create, without_hooks, false},
    {"mica_history_end", history_end, begin_step, false},
    {"mica_history_redo", history_redo, take_step_back, false},
    {"mica_history_undo", history_undo, take_step, false},
    {"mica_inbox_drain", inbox_drain, post_position, false},
    {"mica_index_count", index_count, make_indexes, false},
    {"mica_index_find", index_find, make_indexes, false},
    {"mica_index_first", index_first, make_indexes, false},
    {"mica_index_last", index_last, make_indexes, false},
    {"mica_index_of_id", index_of, spawn_ranks, false},
    {"mica_index_range", index_range, make_indexes, false},
    {"mica_iter_commands_of", iter_commands, NULL, false},
    {"mica_iter_end", iter_end, NULL, true},
    {"mica_iter_load", iter_load, NULL, false},
    {"mica_iter_mark", iter_mark, NULL, false},
    {"mica_iter_read", iter_read, NULL, false},
    {"mica_iter_read_lane", iter_read_lane, NULL, false},
    {"mica_iter_store", iter_store, NULL, false},
    {"mica_iter_write", iter_write, NULL, false},
    {"mica_iter_write_lane", iter_write_lane, NULL, false},
    {"mica_job_start", job_start, make_jobs, false},
    {"mica_jobs_create", jobs_create, NULL, false},
    {"mica_journal_advance", journal_advance, make_journal, true},
    {"mica_journal_create", journal_create, without_hooks, false},
    {"mica_journal_open", journal_open, write_journal, false},
    {"mica_journal_replay", journal_replay, open_reading, true},
    {"mica_journal_restore", journal_restore, open_reading, false},
    {"mica_journal_resume", journal_resume, write_journal, false},
    {"mica_journal_step", journal_step, make_journal, true},
    {"mica_journal_write", journal_write, change_under_journal, false},
    {"mica_lifetime_system_add", lifetime_system_add, know_timers, false},
    {"mica_name_copy", name_copy, NULL, false},
    {"mica_name_read", name_read, NULL, false},
    {"mica_observer_connect", observer_connect, find_observed, false},
    {"mica_observer_connect_to", observer_connect_to, fill_pools, false},
    {"mica_order_begin", order_begin, make_order, false},
    {"mica_order_create", order_create, NULL, false},
    {"mica_pool_follow", pool_follow, fill_pools, false},
    {"mica_pool_reserve", pool_reserve, fill_pools, false},
    {"mica_pool_shrink", pool_shrink, fill_pools_widely, false},
    {"mica_pool_sort", pool_sort, fill_pools, false},
    {"mica_query_begin", query_begin, find_rowless, false},
    {"mica_query_begin_since", query_begin_since, NULL, false},
    {"mica_query_count", query_count, make_tables, false},
    {"mica_query_create", query_create, NULL, false},
    {"mica_query_create_text", query_create_text, NULL, false},
    {"mica_query_entities", query_entities, make_tables, false},
    {"mica_query_explain", query_explain, make_tables, false},
    {"mica_query_find", query_find, NULL, false},
    {"mica_query_first", query_first, make_tables, false},
    {"mica_query_size_hint", query_size_hint, make_tables, false},
    {"mica_resource_ensure", resource_ensure, NULL, false},
    {"mica_resource_set", resource_set, NULL, false},
    {"mica_resource_set_pointer", resource_set_pointer, register_many, false},
    {"mica_ring_create", ring_create, NULL, false},
    {"mica_ring_restore", ring_restore, fill_ring, false},
    {"mica_ring_take", ring_take, make_ring, false},
    {"mica_run_begin", world_step, let_system_begin, true},
    {"mica_run_event_reader", world_step, let_system_read, true},
    {"mica_schema_create", schema_create, NULL, false},
    {"mica_schema_enumerators", schema_enumerators, NULL, false},
    {"mica_schema_fields", schema_fields, NULL, false},
    {"mica_schema_register", schema_register, NULL, false},
    {"mica_schema_register_named", schema_register_named, NULL, false},
    {"mica_set_name", set_name, NULL, false},
    {"mica_set_name", set_name_again, NULL, false},
    {"mica_slot_map_create", slot_map_create, NULL, false},
    {"mica_slot_map_insert", slot_map_insert, NULL, false},
    {"mica_slot_map_reserve", slot_map_reserve, NULL, false},
    {"mica_snapshot_checksum", snapshot_checksum, take_snapshot, false},
    {"mica_snapshot_compare", snapshot_compare, take_snapshot, false},
    {"mica_snapshot_compare_world", snapshot_compare_world, take_snapshot, false},
    {"mica_snapshot_component_checksum", snapshot_component_checksum, take_snapshot, false},
    {"mica_snapshot_restore", snapshot_restore, take_snapshot, false},
    {"mica_snapshot_take", snapshot_take, NULL, false},
    {"mica_spawner_make", spawner_make, NULL, false},
    {"mica_spawner_spawn_apart", spawner_spawn, make_spawner, false},
    {"mica_stage_add_after", stage_add_after, NULL, false},
    {"mica_stage_add_before", stage_add_before, NULL, false},
    {"mica_subscribe", subscribe, NULL, false},
    {"mica_synctest_create", synctest_create, NULL, false},
    {"mica_synctest_step", synctest_step, make_synctest, true},
    {"mica_system_add", system_add, NULL, false},
    {"mica_system_add_named", system_add_named, fill_catalog, false},
    {"mica_timer_system_add", timer_system_add, know_timers, false},
    {"mica_trace_begin", trace_begin, NULL, false},
    {"mica_transform_resolve", transform_resolve, NULL, false},
    {"mica_transform_system_add", transform_system_add, NULL, false},
    {"mica_world_advance", world_advance, let_system_spawn, true},
    {"mica_world_ambiguities", world_ambiguities, add_rival, false},
    {"mica_world_check_threads", world_check_threads, make_threads, true},
    {"mica_world_checksum", world_checksum, NULL, false},
    {"mica_world_compare", world_compare, NULL, false},
    {"mica_world_component_checksum", world_component_checksum, NULL, false},
    {"mica_world_copy", world_copy, make_twin, false},
    {"mica_world_create", world_create, NULL, false},
    {"mica_world_create", world_create_fixed, NULL, false},
    {"mica_world_create", world_create_with_rooms, NULL, false},
    {"mica_world_fixed_size", world_fixed_size, NULL, false},
    {"mica_world_has_types", world_has_types, NULL, false},
    {"mica_world_inbox", world_inbox, NULL, false},
    {"mica_world_keep_chunks", world_keep_chunks, NULL, false},
    {"mica_world_make_room", world_make_room, NULL, false},
    {"mica_world_make_room", world_make_room_in_pool, fill_pools, false},
    {"mica_world_register", world_register, NULL, false},
    {"mica_world_reserve", world_reserve, NULL, false},
    {"mica_world_step", world_step, let_system_spawn, true},
    {"mica_world_step_paused", world_step_paused, let_system_spawn, true},
    {"mica_world_step_system", world_step_system, let_system_spawn, true},
    {"mica_world_swap", world_swap, make_twin, false},
    {"mica_world_validate", world_validate, NULL, false},
    {"mica_world_visit_tables", world_visit_tables, make_a_table, false},
    {"mica_worlds_add", worlds_add, make_manager, false},
    {"mica_worlds_advance", worlds_advance, fill_manager, true},
    {"mica_worlds_create", worlds_create, NULL, false},
    {"mica_write_group_join", write_group_join, NULL, false},
};

// Does it again with memory, after a failure of allocation `n`.
static void try_again(sweep *s, const sweep_operation *operation, uint64_t n) {
    s->inside_worked = true;
    mica_error_clear();
    if (!operation->run(s)) {
        fail_msg("%s, allocation %d: does not work afterwards: %s", operation->name, (int)n, mica_last_error());
    }
}

// One round: the n-th allocation fails, alone or with all after it. True while there is such an allocation.
static bool sweep_round(const sweep_operation *operation, uint64_t n, bool and_all_after) {
    sweep s;
    begin(&s);
    if (operation->prepare != NULL) {
        operation->prepare(&s);
    }
    const uint64_t before = fingerprint(&s);
    mica_error_clear();
    if (and_all_after) {
        test_allocator_fail_from(&s.w.allocator, n);
    } else {
        test_allocator_fail_at(&s.w.allocator, n);
    }
    const bool worked = operation->run(&s);
    const mica_result result = mica_last_result();
    const bool failed = test_allocator_fail_stop(&s.w.allocator);
    if (!worked && !failed) {
        fail_msg("%s does not work: %s", operation->name, mica_last_error());
    }
    if (!worked) {
        if (result != MICA_OUT_OF_MEMORY) {
            fail_msg("%s, allocation %d: says %s", operation->name, (int)n, mica_last_error());
        }
        if (!operation->in_parts && fingerprint(&s) != before) {
            fail_msg("%s, allocation %d: failed and changed the world", operation->name, (int)n);
        }
        assert_valid(s.w.world);
        try_again(&s, operation, n);
    }
    assert_valid(s.w.world);
    end(&s);
    return failed;
}

static void operations_without_memory_change_nothing_and_work_afterwards(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        for (int32_t all = 0; all < 2; all++) {
            uint64_t n = 1;
            while (sweep_round(&operations[i], n, all == 1)) {
                n++;
            }
            if (n == 1) {
                fail_msg("%s allocates nothing: it belongs into the other table", operations[i].name);
            }
        }
    }
}

// Functions that need no memory

static bool children_are_found(sweep *s) {
    const mica_world *world = s->w.world;
    return mica_child_count(world, s->parent) == 2 && mica_entity_equal(mica_parent(world, s->child), s->parent) &&
           mica_entity_equal(mica_first_child(world, s->parent), s->child) &&
           mica_entity_equal(mica_last_child(world, s->parent), s->sibling) &&
           mica_entity_equal(mica_next_sibling(world, s->child), s->sibling) &&
           mica_entity_equal(mica_previous_sibling(world, s->sibling), s->child);
}
static bool a_buffer_tells(sweep *s) {
    const mica_commands_stats stats = mica_commands_statistics(s->commands);
    return mica_commands_count(s->commands) == 1 && stats.applied_count == 5 && stats.skipped_count == 0 &&
           mica_commands_world(s->commands) == s->w.world;
}
static bool a_buffer_is_cleared(sweep *s) {
    mica_commands_clear(s->commands);
    return mica_commands_count(s->commands) == 0;
}
static bool a_placeholder_is_resolved(sweep *s) {
    return mica_alive(s->w.world, mica_commands_resolve(s->commands, s->placeholder));
}
static bool a_full_buffer_is_dropped(sweep *s) {
    mica_commands_destroy(s->commands);
    s->commands = NULL;
    return true;
}
static bool values_are_read_and_written(sweep *s) {
    mica_world *world = s->w.world;
    const mica_component both[] = {ID(Position), ID(Health)};
    mica_component components[4];
    ((Health *)mica_entity_get_write(world, s->plain, ID(Health)))->now = 5;
    return mica_entity_alive(world, s->plain) && mica_entity_has(world, s->plain, ID(Health)) &&
           mica_entity_has_all(world, s->plain, both, 2) && mica_entity_has_any(world, s->plain, both, 2) &&
           mica_entity_components(world, s->plain, components, 4) == 2 &&
           ((const Health *)mica_entity_get(world, s->plain, ID(Health)))->now == 5;
}
static void multiply_health(void *value, void *user) {
    ((Health *)value)->now *= *(int32_t *)user;
}
static bool a_patch_changes_the_value(sweep *s) {
    int32_t factor = 3;
    return mica_patch(s->w.world, s->plain, Health, multiply_health, &factor) == MICA_OK &&
           mica_get(s->w.world, s->plain, Health)->now == 12;
}
static bool a_parent_is_destroyed(sweep *s) {
    return mica_destroy(s->w.world, s->parent) == MICA_OK && !mica_alive(s->w.world, s->parent) &&
           mica_alive(s->w.world, s->child) && mica_entity_is_null(mica_parent(s->w.world, s->child));
}
static bool many_are_destroyed(sweep *s) {
    const mica_entity entities[] = {s->parent, s->owner, s->plain};
    return mica_destroy_many(s->w.world, entities, 3) == MICA_OK && !mica_alive(s->w.world, s->owner);
}
static bool values_are_gathered_and_scattered(sweep *s) {
    const mica_entity entities[] = {s->bare, s->plain, MICA_NULL};
    const Health others[] = {{7}, {8}, {9}};
    Health values[3] = {{1}, {2}, {3}};
    bool found[3] = {true, false, true};
    const int32_t gathered = mica_gather(s->w.world, entities, 3, Health, values, found);
    return gathered == 1 && values[0].now == 0 && values[1].now == 4 && values[2].now == 0 && !found[0] && found[1] &&
           !found[2] && mica_scatter(s->w.world, entities, 3, Health, others, NULL) == 1 &&
           mica_get(s->w.world, s->plain, Health)->now == 8;
}
static bool what_is_hidden_is_told_and_shown(sweep *s) {
    mica_world *world = s->w.world;
    const bool told = !mica_entity_enabled(world, s->hidden) && mica_entity_killed(world, s->hidden) &&
                      !mica_entity_component_enabled(world, s->hidden, ID(Shield));
    return told && mica_enable(world, s->hidden) == MICA_OK && mica_entity_enabled(world, s->hidden) &&
           mica_enable_component(world, s->hidden, Shield) == MICA_OK &&
           mica_entity_component_enabled(world, s->hidden, ID(Shield));
}
static bool killed_ones_are_destroyed(sweep *s) {
    return mica_world_refresh(s->w.world) == 1 && !mica_alive(s->w.world, s->hidden);
}
static bool a_subtree_is_destroyed(sweep *s) {
    return mica_entity_destroy_subtree(s->w.world, s->parent) == MICA_OK && !mica_alive(s->w.world, s->sibling);
}
static bool a_known_query_is_walked(sweep *s) {
    int32_t rows = 0;
    mica_iter it = mica_query_begin(s->query);
    while (mica_iter_next(&it)) {
        const Position *written = mica_iter_write_id(&it, ID(Position));
        const bool is_marked = mica_iter_mark_id(&it, ID(Position), 0) == MICA_OK;
        rows += is_marked && written != NULL && written == mica_iter_read_id(&it, ID(Position)) ? it.count : 0;
    }
    mica_iter_end(&it);
    return rows == 1;
}
static bool lanes_are_walked(sweep *s) {
    const mica_component course = ID(Course);
    const uint32_t y = (uint32_t)offsetof(Course, y);
    Course value;
    float sum = 0;
    mica_iter it = mica_query_begin(s->query);
    while (mica_iter_next(&it)) {
        float *written = mica_iter_write_lane_id(&it, course, y, sizeof(float));
        written[0] += 1;
        sum += *(const float *)mica_iter_read_lane_id(&it, course, y, sizeof(float));
        sum += mica_iter_load_id(&it, course, 0, &value) == MICA_OK ? value.y : 0;
        sum += mica_iter_store_id(&it, course, 0, &((Course){7, 8})) == MICA_OK ? written[0] : 0;
    }
    mica_iter_end(&it);
    sum += mica_entity_load(s->w.world, s->boat, course, &value) ? value.y : 0;
    return sum == 3 + 3 + 8 + 8 && mica_entity_store(s->w.world, s->boat, course, &((Course){1, 2})) == MICA_OK;
}
static void walk_once(sweep *s) {
    assert_true(a_known_query_is_walked(s));
}
static bool an_index_knows_its_keys(sweep *s) {
    return mica_index_accepts(s->by_house, sizeof(int32_t));
}
static bool an_order_ends(sweep *s) {
    mica_order_destroy(s->order);
    return mica_last_result() == MICA_OK;
}
static bool a_known_query_answers(sweep *s) {
    const bool answers = mica_query_contains(s->query, s->plain) && !mica_query_contains(s->query, s->bare) &&
                         mica_query_retain(s->query) == s->query &&
                         strcmp(mica_query_text(s->query), "[write] Position") == 0;
    mica_query_release(s->query);
    return answers;
}
static bool names_are_read(sweep *s) {
    return strcmp(mica_name_of(s->w.world, s->owner), "owner") == 0 && mica_name_of(s->w.world, s->bare)[0] == '\0';
}
static void count_bytes(void *user, const void *bytes, size_t byte_size) {
    (void)bytes;
    *(size_t *)user += byte_size;
}
static bool a_name_is_written(sweep *s) {
    (void)s;
    size_t byte_size = 0;
    const mica_name name = {.text = "name"};
    const mica_sink sink = {.put = count_bytes, .user = &byte_size};
    mica_name_write(&name, &sink, NULL);
    return byte_size == 4;
}
static bool a_name_is_ended(sweep *s) {
    const mica_hook_context context = {.allocator = &s->w.world->store.values};
    mica_name none = {NULL};
    mica_name_destruct(&none, 1, &context);
    return mica_destroy(s->w.world, s->owner) == MICA_OK;
}
static bool errors_are_told_and_forgotten(sweep *s) {
    const bool refused = mica_destroy(s->w.world, MICA_NULL) == MICA_STALE;
    const bool told = mica_last_result() == MICA_STALE && strstr(mica_last_error(), "null") != NULL;
    mica_error_clear();
    return refused && told && mica_last_result() == MICA_OK && mica_last_error()[0] == '\0' &&
           strcmp(mica_result_name(MICA_STALE), "MICA_STALE") == 0 && mica_result_text(MICA_STALE)[0] != '\0' &&
           strcmp(mica_memory_purpose_name(MICA_MEMORY_CHUNKS), "chunks") == 0 && mica_version() == MICA_VERSION;
}
static bool hosts_are_compared(sweep *s) {
    (void)s;
    const mica_plugin_host host = mica_plugin_host_here();
    return mica_plugin_check(&host) == MICA_OK &&
           mica_plugin_compare(&host, MICA_VERSION, 96 - MICA_ENTITY_BITS, MICA_INDEX_BITS) == MICA_INCOMPATIBLE;
}
static void send_three(sweep *s) {
    bind_handler(s);
    make_reader(s);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_send(s->w.world, Position, {(float)i, 0, 0}), MICA_OK);
    }
}
static bool events_are_read(sweep *s) {
    int32_t count;
    const bool waited = mica_event_reader_count(s->reader) == 3;
    const bool read = mica_next_event(s->reader, Position)->x == 0 &&
                      mica_next_events(s->reader, Position, &count)[1].x == 2 && count == 2;
    const mica_event_reader_stats stats = mica_event_reader_statistics(s->reader);
    const bool named = strcmp(stats.name, "sweep") == 0;
    mica_event_reader_destroy(s->reader);
    return waited && read && named && stats.seen_count == 3;
}
static bool a_handler_ends(sweep *s) {
    mica_event_stats stats;
    return mica_event_unbind(s->w.world, s->handler) == MICA_OK &&
           mica_event_statistics(s->w.world, ID(Position), &stats) == MICA_OK && stats.handler_count == 0 &&
           stats.sent_count == 3 && mica_event_deliver(s->w.world, ID(Position)) == 0 && s->heard_count == 0;
}
static bool messages_are_posted(sweep *s) {
    const Position position = {1, 2, 3};
    return mica_inbox_post(s->inbox, ID(Position), &position) == MICA_OK &&
           mica_inbox_post_type(s->inbox, mica_type_of(Position), &position) == MICA_OK &&
           mica_inbox_statistics(s->inbox).waiting_count == 3;
}
static bool an_observer_is_asked_and_ends(sweep *s) {
    mica_observer_stats stats;
    return mica_observer_statistics(s->w.world, s->observer, &stats) == MICA_OK && stats.call_count == 0 &&
           mica_observer_disconnect(s->w.world, s->observer) == MICA_OK &&
           mica_observer_disconnect(s->w.world, s->observer) == MICA_UNKNOWN;
}
static bool a_group_is_counted_and_ends(sweep *s) {
    return mica_group_count(s->group) == 7 && mica_group_destroy(s->group) == MICA_OK &&
           mica_pool_count(s->w.world, ID(Ore)) == 8;
}
static bool pools_are_looked_at_and_compacted(sweep *s) {
    mica_world *world = s->w.world;
    const mica_pool_view before = mica_pool_read(world, ID(Gem));
    const int32_t position = mica_pool_position(world, ID(Gem), s->stone);
    const bool found =
        before.count == 8 && before.live_count == 7 && position == 3 &&
        mica_entity_equal(mica_pool_entity_of(world, ID(Gem), mica_pool_at(&before, position)), s->stone);
    const bool compacted = mica_pool_compact(world, ID(Gem)) == MICA_OK && mica_pool_write(world, ID(Gem)).count == 7;
    return found && compacted && mica_pool_byte_size(world, ID(Gem)) > 7 * sizeof(Gem) &&
           mica_pool_count(world, ID(Gem)) == 7;
}
static bool resources_are_used_and_removed(sweep *s) {
    mica_world *world = s->w.world;
    ((Mass *)mica_resource_get_write(world, ID(Mass)))->kilograms = 80;
    const bool used = ((const Mass *)mica_resource_get(world, ID(Mass)))->kilograms == 80 &&
                      mica_resource_version(world, ID(Mass)) == mica_world_version(world);
    return used && mica_resource_remove(world, ID(Mass)) == MICA_OK && mica_resource_get(world, ID(Mass)) == NULL;
}
static void ask_the_run(sweep *s, mica_run *run) {
    s->inside_worked = mica_run_world(run) == s->w.world && mica_delta_time(run) == 2.0f && mica_run_tick(run) == 1 &&
                       mica_run_stage(run) == MICA_UPDATE && !mica_run_is_paused(run) &&
                       mica_run_system(run).id == s->system.id && mica_run_commands(run) != NULL &&
                       mica_run_state(run, Health)->now == 0 && mica_run_user(run) == s && mica_run_since(run) > 0 &&
                       mica_random_next(mica_run_random(run)) != mica_random_next(mica_run_random(run)) &&
                       mica_query_count(mica_run_query(run, 0)) == 1;
}
static void let_system_ask(sweep *s) {
    s->inside = ask_the_run;
    mica_query_count(mica_query_of(s->w.world, mica_read(Position))); // brought up to date
}
static void see_span(mica_run *run, mica_iter *span, void *user) {
    sweep *s = user;
    s->inside_worked = mica_run_world(run) == s->w.world && span->count > 0;
}
static void loop_in_the_run(sweep *s, mica_run *run) {
    s->inside_worked = false;
    s->inside_worked = mica_parallel_for(run, mica_run_query(run, 0), see_span, s) == MICA_OK && s->inside_worked;
}
static void let_system_loop(sweep *s) {
    s->inside = loop_in_the_run;
    mica_query *query = mica_query_of(s->w.world, mica_read(Position));
    mica_each (query, it) { // a walk over pools keeps its memory for the next one
    }
}
static bool a_tick_runs(sweep *s) {
    return mica_world_step(s->w.world, 2) == MICA_OK && s->inside_worked && mica_world_tick(s->w.world) == 2;
}
static bool the_clock_is_set(sweep *s) {
    mica_world *world = s->w.world;
    return mica_world_pause(world, true) == MICA_OK && mica_world_is_paused(world) &&
           mica_world_pause(world, false) == MICA_OK && mica_world_set_time_scale(world, 2) == MICA_OK &&
           mica_world_time_scale(world) == 2 && mica_stage_run_while_paused(world, MICA_UPDATE, true) == MICA_OK;
}
static bool a_frame_is_handed_over(sweep *s) {
    int32_t count = 0;
    if (mica_world_step(s->w.world, 1) != MICA_OK || !s->inside_worked) {
        return false;
    }
    const mica_frame *frame = mica_extract_latest(s->extract);
    const int32_t *numbers = mica_frame_list(frame, 0, int32_t, &count);
    const bool worked = mica_frame_describe(frame).number == 1 && count == 9 && numbers[8] == 8;
    mica_extract_destroy(s->extract);
    return worked;
}
static bool a_failed_tick_is_asked_back(sweep *s) {
    return mica_world_restore_failed_ticks(s->w.world, true, NULL) == MICA_OK &&
           mica_world_restore_failed_ticks(s->w.world, false, NULL) == MICA_OK;
}
static bool a_manager_answers(sweep *s) {
    mica_place place = {0};
    mica_world *world = mica_worlds_world(s->worlds, s->place);
    return mica_worlds_find(s->worlds, "place").id == s->place.id &&
           mica_worlds_place_of(s->worlds, world).id == s->place.id && mica_worlds_list(s->worlds, &place, 1) == 1 &&
           place.id == s->place.id && mica_worlds_enable(s->worlds, place, false) == MICA_OK &&
           mica_worlds_set_order(s->worlds, place, 3) == MICA_OK && mica_worlds_describe(s->worlds, place).order == 3;
}
static bool a_manager_ends(sweep *s) {
    s->other = mica_worlds_take(s->worlds, s->place);
    const bool was_taken = s->other != NULL;
    s->other = was_taken && mica_worlds_add(s->worlds, &(mica_place_def){.world = s->other}).id != 0 ? NULL : s->other;
    mica_worlds_destroy(s->worlds);
    s->worlds = NULL;
    return was_taken;
}
static bool a_world_is_replaced(sweep *s) {
    const bool worked = mica_worlds_replace(s->worlds, s->place, s->other) == MICA_OK;
    s->other = worked ? NULL : s->other;
    return worked;
}
static bool a_world_is_removed(sweep *s) {
    return mica_worlds_remove(s->worlds, s->place) == MICA_OK && mica_worlds_list(s->worlds, NULL, 0) == 0;
}
static bool a_world_says_what_it_is(sweep *s) {
    return mica_world_kind_of(s->w.world) == MICA_WORLD_GAME &&
           mica_world_set_net_mode(s->w.world, MICA_NET_SERVER) == MICA_OK &&
           mica_world_net_mode(s->w.world) == MICA_NET_SERVER;
}
static bool numbers_are_drawn(sweep *s) {
    mica_random *random = mica_world_random(s->w.world);
    mica_random seeded = mica_random_seeded(MICA_RANDOM_SEED);
    if (mica_random_next(random) != mica_random_next(&seeded)) {
        return false;
    }
    mica_random_jump(random);
    mica_random part = mica_random_split(random, 1);
    mica_random named = mica_random_split_named(random, "name");
    int32_t items[2] = {1, 2};
    return mica_random_below(random, 5) < 5 && mica_random_range(&part, -1, -1) == -1 && mica_random_unit(&named) < 1 &&
           mica_random_unitf(random) < 1 && mica_random_chance(random, 1) &&
           mica_random_shuffle(random, items, 2, sizeof(items[0])) == MICA_OK && items[0] + items[1] == 3;
}
static bool angles_are_computed(sweep *s) {
    (void)s;
    return mica_sin(1) == mica_sincos(1).sine && mica_cos(1) == mica_sincos(1).cosine && mica_atan2(0, 1) == 0 &&
           mica_sinf(1) == mica_sincosf(1).sine && mica_cosf(1) == mica_sincosf(1).cosine && mica_atan2f(0, 1) == 0;
}
static void fail_the_run(sweep *s, mica_run *run) {
    (void)s;
    mica_run_fail(run, MICA_IO, "the disk is full");
}
static void let_system_fail(sweep *s) {
    s->inside = fail_the_run;
}
static bool a_failing_tick_says_so(sweep *s) {
    return mica_world_step(s->w.world, 1) == MICA_IO && strstr(mica_last_error(), "the disk is full") != NULL;
}
static bool a_schema_answers(sweep *s) {
    mica_schema *schema = mica_schema_retain(mica_world_schema(s->w.world));
    const mica_component id = mica_schema_find(schema, "Position");
    const bool answers = id == ID(Position) && mica_schema_count(schema) > 8 &&
                         strcmp(mica_schema_info(schema, id)->name, "Position") == 0;
    mica_schema_release(schema);
    return answers;
}
static void fill_map(sweep *s) {
    const int32_t values[] = {3, 4};
    s->key = mica_slot_map_insert(s->map, &values[0]);
    mica_slot_map_insert(s->map, &values[1]);
}
static bool a_map_is_used_up(sweep *s) {
    const bool found = *(int32_t *)mica_slot_map_find(s->map, s->key) == 3 && mica_slot_map_count(s->map) == 2 &&
                       ((int32_t *)mica_slot_map_values(s->map))[1] == 4 &&
                       mica_slot_map_key_at(s->map, 0).index == s->key.index;
    const bool removed = mica_slot_map_remove(s->map, s->key) == MICA_OK && mica_slot_map_count(s->map) == 1;
    mica_slot_map_clear(s->map);
    const bool cleared = mica_slot_map_count(s->map) == 0;
    mica_slot_map_destroy(s->map);
    s->map = NULL;
    return found && removed && cleared;
}
static void start_job(sweep *s) {
    make_jobs(s);
    assert_true(job_start(s));
}
static bool jobs_are_used_up(sweep *s) {
    mica_job first = {0, 1}; // of the pool's first slot
    const bool is_known = mica_jobs_thread_count(mica_jobs_retain(s->jobs)) == 1;
    mica_jobs_release(s->jobs);
    const bool has_run = mica_job_wait(s->jobs, first) == MICA_OK && mica_job_done(s->jobs, first);
    mica_jobs_release(s->jobs);
    s->jobs = NULL;
    return is_known && has_run && s->job_count == 1;
}
static bool a_catalog_is_used_up(sweep *s) {
    const mica_system_def *def = mica_catalog_find(s->catalog, "late");
    const bool found = def != NULL && mica_catalog_count(s->catalog) == 1 && mica_catalog_at(s->catalog, 0) == def;
    mica_catalog_destroy(s->catalog);
    s->catalog = NULL;
    return found;
}
static bool systems_answer(sweep *s) {
    mica_system_stats stats;
    return strcmp(mica_stage_name(s->w.world, MICA_UPDATE), "update") == 0 &&
           mica_system_find(s->w.world, "probe").id == s->system.id &&
           mica_system_state(s->w.world, s->system) != NULL &&
           mica_system_statistics(s->w.world, s->system, &stats) == MICA_OK && stats.run_count == 1;
}
static bool the_plan_is_told(sweep *s) {
    mica_system systems[4];
    char plan[256];
    return mica_world_systems(s->w.world, systems, 4) == 1 && systems[0].id == s->system.id &&
           mica_world_plan(s->w.world, plan, sizeof(plan)) > 0 && strstr(plan, "probe") != NULL &&
           mica_world_plan_explain(s->w.world, plan, sizeof(plan)) > 0 && strstr(plan, "nobody") != NULL &&
           mica_world_plan_graph(s->w.world, plan, sizeof(plan)) > sizeof(plan) && strstr(plan, "probe") != NULL;
}
static void count_step(mica_world *world, const mica_plan_step *step, void *user) {
    (void)world;
    *(int32_t *)user += step->system != NULL;
}
static bool steps_are_watched(sweep *s) {
    int32_t count = 0;
    return mica_world_watch_steps(s->w.world, count_step, &count) == MICA_OK &&
           mica_world_step(s->w.world, 1) == MICA_OK && count == 1 &&
           mica_world_watch_steps(s->w.world, NULL, NULL) == MICA_OK;
}
static bool a_system_is_disabled(sweep *s) {
    mica_system_stats stats;
    return mica_system_enable(s->w.world, s->system, false) == MICA_OK && mica_world_step(s->w.world, 1) == MICA_OK &&
           mica_system_statistics(s->w.world, s->system, &stats) == MICA_OK && stats.run_count == 1;
}
static bool a_system_is_removed(sweep *s) {
    return mica_system_remove(s->w.world, s->system) == MICA_OK && mica_system_find(s->w.world, "probe").id == 0;
}
static bool poses_are_computed(sweep *s) {
    mica_transform pose, back;
    float matrix[16];
    const mica_hook_context context = {.allocator = &s->w.world->store.values};
    const bool constructed = mica_transform_construct(&pose, 1, &context) && pose.rotation[3] == 1;
    pose.position[0] = 5;
    mica_transform_matrix(&pose, matrix);
    const bool there_and_back = mica_transform_from_matrix(matrix, &back) && back.position[0] == 5;
    return constructed && there_and_back && mica_transform_world_of(s->w.world, s->child, matrix) == MICA_OK &&
           matrix[15] == 1;
}
static void list_one(sweep *s) {
    s->subscription = mica_subscribe(s->w.world, NULL);
    assert_non_null(s->subscription);
    assert_int_equal(mica_set(s->w.world, s->plain, Health, {5}), MICA_OK);
}
static bool changes_are_collected(sweep *s) {
    mica_change change = {.flags = 0};
    return mica_subscription_count(s->subscription) == 1 &&
           mica_subscription_collect(s->subscription, &change, 1) == 1 && mica_entity_equal(change.entity, s->plain) &&
           change.flags == MICA_CHANGE_VALUE && mica_subscription_count(s->subscription) == 0;
}
static bool a_snapshot_tells(sweep *s) {
    mica_snapshot_release(mica_snapshot_retain(s->snapshot));
    return mica_snapshot_entity_count(s->snapshot) == mica_world_entity_count(s->w.world) &&
           mica_snapshot_own_byte_size(s->snapshot) > 0;
}
static bool a_delta_tells(sweep *s) {
    size_t byte_size = 0;
    const void *bytes = mica_delta_bytes(s->delta, &byte_size);
    mica_delta_info info;
    return mica_delta_describe(bytes, byte_size, &info, NULL, 0) == MICA_OK && info.created_count == 1;
}
static bool a_ring_tells(sweep *s) {
    return mica_ring_find(s->ring, 1) != NULL && mica_ring_find(s->ring, 2) == NULL &&
           mica_ring_statistics(s->ring).last_number == 1;
}
static bool a_ring_ends(sweep *s) {
    mica_ring_destroy(s->ring);
    s->ring = NULL;
    return mica_last_result() == MICA_OK;
}
static bool a_reference_is_followed(sweep *s) {
    const mica_ref ref = mica_ref_of(s->w.world, s->plain);
    return mica_entity_equal(mica_ref_entity(s->w.world, ref), s->plain);
}
static bool a_subscription_ends(sweep *s) {
    mica_subscription_destroy(s->subscription);
    return mica_last_result() == MICA_OK;
}
static bool versions_are_told(sweep *s) {
    const uint64_t now = mica_world_version(s->w.world);
    return mica_set(s->w.world, s->plain, Health, {5}) == MICA_OK && mica_entity_version(s->w.world, s->plain) == now &&
           mica_entity_component_version(s->w.world, s->plain, ID(Health)) == now;
}
static void count_findings(const mica_diagnosis *diagnosis, void *user) {
    *(int32_t *)user += diagnosis->kind == MICA_DIAGNOSIS_SYSTEM && strstr(diagnosis->text, "idle") != NULL;
}
static void add_idle_system(sweep *s) {
    const mica_system_def def = {.name = "idle", .run = probe, .disabled = true};
    assert_int_not_equal(mica_system_add(s->w.world, &def).id, 0);
    assert_int_equal(mica_world_step(s->w.world, 1), MICA_OK);
}
static bool findings_are_told(sweep *s) {
    int32_t count = 0;
    return mica_world_diagnose(s->w.world, count_findings, &count) == 1 && count == 1 &&
           strcmp(mica_diagnosis_name(MICA_DIAGNOSIS_SYSTEM), "system") == 0;
}
static bool a_world_answers(sweep *s) {
    const mica_world *world = s->w.world;
    return strcmp(mica_world_name(world), "world") == 0 && mica_world_entity_count(world) == 6 &&
           mica_world_statistics(world).entity_count == 6 && mica_world_memory(world).total > 0 &&
           mica_world_schema(world) != NULL && mica_world_tick(world) == 1 && mica_world_alpha(world) == 0 &&
           mica_world_advance_version(s->w.world) > 0 && mica_world_version(world) > 1;
}
static bool figures_are_told(sweep *s) {
    const mica_memory_budget budget = {.total = 1};
    return mica_entity_byte_size(s->w.world, s->bare) > 0 && mica_world_fragmentation(s->w.world).slot_count > 0 &&
           mica_world_set_budget(s->w.world, &budget) == MICA_OK && mica_world_budget(s->w.world).total == 1 &&
           mica_world_set_budget(s->w.world, NULL) == MICA_OK;
}
static bool a_world_is_cleared_and_trimmed(sweep *s) {
    return mica_world_clear(s->w.world) == MICA_OK && mica_world_trim(s->w.world) == MICA_OK &&
           mica_world_entity_count(s->w.world) == 0 && mica_world_statistics(s->w.world).table_count == 0;
}
static void fill_other(sweep *s) {
    make_other(s);
    const mica_entity parent = mica_spawn(s->other, mica_tag(Owned));
    assert_true(made(mica_spawn(s->other, mica_tag(Owned), mica_value_of(mica_child_of, {parent}))));
    mica_set_resource(s->other, Position, {1, 2, 3});
}
static bool another_world_ends(sweep *s) {
    mica_world_destroy(s->other);
    s->other = NULL;
    return true;
}

static bool a_history_answers(sweep *s) {
    return mica_history_statistics(s->history).redo_count == 1 && mica_history_undo_name(s->history) == NULL &&
           strcmp(mica_history_redo_name(s->history), "step") == 0;
}
static bool a_reader_answers(sweep *s) {
    uint64_t checksum = 0;
    return mica_journal_reader_info(s->reading).tick_count == 1 && mica_journal_checksum(s->reading, 2, &checksum) &&
           !mica_journal_checksum(s->reading, 3, &checksum);
}
static bool nothing_is_ended(sweep *s) {
    mica_history_destroy(s->history);
    mica_journal_reader_close(s->reading);
    mica_synctest_destroy(s->synctest);
    return mica_journal_close(s->journal) == MICA_OK;
}

static const sweep_operation needs_nothing[] = {
    {"mica_atan2", angles_are_computed, NULL, false},
    {"mica_atan2f", angles_are_computed, NULL, false},
    {"mica_catalog_at", a_catalog_is_used_up, fill_catalog, false},
    {"mica_catalog_count", a_catalog_is_used_up, fill_catalog, false},
    {"mica_catalog_destroy", a_catalog_is_used_up, fill_catalog, false},
    {"mica_catalog_find", a_catalog_is_used_up, fill_catalog, false},
    {"mica_child_count", children_are_found, NULL, false},
    {"mica_commands_clear", a_buffer_is_cleared, apply_and_record_one, false},
    {"mica_commands_count", a_buffer_tells, apply_and_record_one, false},
    {"mica_commands_destroy", a_full_buffer_is_dropped, record_all_sorts, false},
    {"mica_commands_resolve", a_placeholder_is_resolved, apply_all_sorts, false},
    {"mica_commands_statistics", a_buffer_tells, apply_and_record_one, false},
    {"mica_commands_world", a_buffer_tells, apply_and_record_one, false},
    {"mica_cos", angles_are_computed, NULL, false},
    {"mica_cosf", angles_are_computed, NULL, false},
    {"mica_delta_bytes", a_delta_tells, make_delta, false},
    {"mica_delta_describe", a_delta_tells, make_delta, false},
    {"mica_delta_release", a_delta_tells, make_delta, false},
    {"mica_delta_time", a_tick_runs, let_system_ask, false},
    {"mica_diagnosis_name", findings_are_told, add_idle_system, false},
    {"mica_entity_alive", values_are_read_and_written, NULL, false},
    {"mica_entity_byte_size", figures_are_told, NULL, false},
    {"mica_entity_component_enabled", what_is_hidden_is_told_and_shown, hide_one, false},
    {"mica_entity_component_version", versions_are_told, NULL, false},
    {"mica_entity_components", values_are_read_and_written, NULL, false},
    {"mica_entity_destroy", a_parent_is_destroyed, NULL, false},
    {"mica_entity_destroy_many", many_are_destroyed, NULL, false},
    {"mica_entity_destroy_subtree", a_subtree_is_destroyed, NULL, false},
    {"mica_entity_enabled", what_is_hidden_is_told_and_shown, hide_one, false},
    {"mica_entity_gather", values_are_gathered_and_scattered, NULL, false},
    {"mica_entity_get", values_are_read_and_written, NULL, false},
    {"mica_entity_get_write", values_are_read_and_written, NULL, false},
    {"mica_entity_has", values_are_read_and_written, NULL, false},
    {"mica_entity_has_all", values_are_read_and_written, NULL, false},
    {"mica_entity_has_any", values_are_read_and_written, NULL, false},
    {"mica_entity_killed", what_is_hidden_is_told_and_shown, hide_one, false},
    {"mica_entity_load", lanes_are_walked, launch_boat, false},
    {"mica_entity_patch", a_patch_changes_the_value, NULL, false},
    {"mica_entity_scatter", values_are_gathered_and_scattered, NULL, false},
    {"mica_entity_store", lanes_are_walked, launch_boat, false},
    {"mica_entity_version", versions_are_told, NULL, false},
    {"mica_error_clear", errors_are_told_and_forgotten, NULL, false},
    {"mica_event_reader_count", events_are_read, send_three, false},
    {"mica_event_reader_destroy", events_are_read, send_three, false},
    {"mica_event_reader_next", events_are_read, send_three, false},
    {"mica_event_reader_span", events_are_read, send_three, false},
    {"mica_event_reader_statistics", events_are_read, send_three, false},
    {"mica_event_statistics", a_handler_ends, send_three, false},
    {"mica_event_unbind", a_handler_ends, send_three, false},
    {"mica_extract_destroy", a_frame_is_handed_over, let_system_extract_with_room, false},
    {"mica_extract_latest", a_frame_is_handed_over, let_system_extract_with_room, false},
    {"mica_first_child", children_are_found, NULL, false},
    {"mica_frame_describe", a_frame_is_handed_over, let_system_extract_with_room, false},
    {"mica_frame_items", a_frame_is_handed_over, let_system_extract_with_room, false},
    {"mica_group_count", a_group_is_counted_and_ends, group_pools, false},
    {"mica_group_destroy", a_group_is_counted_and_ends, group_pools, false},
    {"mica_hardware_begin", hardware_is_asked_for, NULL, false},
    {"mica_hardware_end", hardware_ends, NULL, false},
    {"mica_hardware_is_counted", hardware_ends, NULL, false},
    {"mica_hardware_statistics", hardware_ends, NULL, false},
    {"mica_history_destroy", nothing_is_ended, NULL, false},
    {"mica_history_redo_name", a_history_answers, take_step_back, false},
    {"mica_history_statistics", a_history_answers, take_step_back, false},
    {"mica_history_undo_name", a_history_answers, take_step_back, false},
    {"mica_inbox_post", messages_are_posted, post_position, false},
    {"mica_inbox_post_type", messages_are_posted, post_position, false},
    {"mica_inbox_statistics", messages_are_posted, post_position, false},
    {"mica_index_accepts", an_index_knows_its_keys, make_indexes, false},
    {"mica_iter_load_id", lanes_are_walked, launch_boat, false},
    {"mica_iter_mark_id", a_known_query_is_walked, walk_once, false},
    {"mica_iter_next", a_known_query_is_walked, walk_once, false},
    {"mica_iter_read_id", a_known_query_is_walked, walk_once, false},
    {"mica_iter_read_lane_id", lanes_are_walked, launch_boat, false},
    {"mica_iter_store_id", lanes_are_walked, launch_boat, false},
    {"mica_iter_write_id", a_known_query_is_walked, walk_once, false},
    {"mica_iter_write_lane_id", lanes_are_walked, launch_boat, false},
    {"mica_job_done", jobs_are_used_up, start_job, false},
    {"mica_job_wait", jobs_are_used_up, start_job, false},
    {"mica_jobs_release", jobs_are_used_up, start_job, false},
    {"mica_jobs_retain", jobs_are_used_up, start_job, false},
    {"mica_jobs_thread_count", jobs_are_used_up, start_job, false},
    {"mica_journal_checksum", a_reader_answers, open_reading, false},
    {"mica_journal_close", nothing_is_ended, NULL, false},
    {"mica_journal_reader_close", nothing_is_ended, NULL, false},
    {"mica_journal_reader_info", a_reader_answers, open_reading, false},
    {"mica_last_child", children_are_found, NULL, false},
    {"mica_last_error", errors_are_told_and_forgotten, NULL, false},
    {"mica_last_result", errors_are_told_and_forgotten, NULL, false},
    {"mica_memory_purpose_name", errors_are_told_and_forgotten, NULL, false},
    {"mica_name_destruct", a_name_is_ended, NULL, false},
    {"mica_name_of", names_are_read, NULL, false},
    {"mica_name_write", a_name_is_written, NULL, false},
    {"mica_next_sibling", children_are_found, NULL, false},
    {"mica_observer_disconnect", an_observer_is_asked_and_ends, observe_gems, false},
    {"mica_observer_statistics", an_observer_is_asked_and_ends, observe_gems, false},
    {"mica_order_destroy", an_order_ends, make_order, false},
    {"mica_parallel_for", a_tick_runs, let_system_loop, false},
    {"mica_parent", children_are_found, NULL, false},
    {"mica_plugin_compare", hosts_are_compared, NULL, false},
    {"mica_pool_byte_size", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_compact", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_count", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_entity_of", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_position", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_read", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_pool_write", pools_are_looked_at_and_compacted, fill_pools, false},
    {"mica_previous_sibling", children_are_found, NULL, false},
    {"mica_query_contains", a_known_query_answers, NULL, false},
    {"mica_query_release", a_known_query_answers, NULL, false},
    {"mica_query_retain", a_known_query_answers, NULL, false},
    {"mica_query_text", a_known_query_answers, NULL, false},
    {"mica_random_below", numbers_are_drawn, NULL, false},
    {"mica_random_chance", numbers_are_drawn, NULL, false},
    {"mica_random_jump", numbers_are_drawn, NULL, false},
    {"mica_random_next", numbers_are_drawn, NULL, false},
    {"mica_random_range", numbers_are_drawn, NULL, false},
    {"mica_random_seeded", numbers_are_drawn, NULL, false},
    {"mica_random_shuffle", numbers_are_drawn, NULL, false},
    {"mica_random_split", numbers_are_drawn, NULL, false},
    {"mica_random_split_named", numbers_are_drawn, NULL, false},
    {"mica_random_unit", numbers_are_drawn, NULL, false},
    {"mica_random_unitf", numbers_are_drawn, NULL, false},
    {"mica_ref_entity", a_reference_is_followed, NULL, false},
    {"mica_ref_of", a_reference_is_followed, NULL, false},
    {"mica_resource_get", resources_are_used_and_removed, NULL, false},
    {"mica_resource_get_write", resources_are_used_and_removed, NULL, false},
    {"mica_resource_remove", resources_are_used_and_removed, NULL, false},
    {"mica_resource_version", resources_are_used_and_removed, NULL, false},
    {"mica_result_name", errors_are_told_and_forgotten, NULL, false},
    {"mica_result_text", errors_are_told_and_forgotten, NULL, false},
    {"mica_ring_destroy", a_ring_ends, fill_ring, false},
    {"mica_ring_find", a_ring_tells, fill_ring, false},
    {"mica_ring_statistics", a_ring_tells, fill_ring, false},
    {"mica_run_commands", a_tick_runs, let_system_ask, false},
    {"mica_run_fail", a_failing_tick_says_so, let_system_fail, false},
    {"mica_run_frame", a_frame_is_handed_over, let_system_extract_with_room, false},
    {"mica_run_is_paused", a_tick_runs, let_system_ask, false},
    {"mica_run_query", a_tick_runs, let_system_ask, false},
    {"mica_run_random", a_tick_runs, let_system_ask, false},
    {"mica_run_since", a_tick_runs, let_system_ask, false},
    {"mica_run_stage", a_tick_runs, let_system_ask, false},
    {"mica_run_state_of", a_tick_runs, let_system_ask, false},
    {"mica_run_system", a_tick_runs, let_system_ask, false},
    {"mica_run_tick", a_tick_runs, let_system_ask, false},
    {"mica_run_user", a_tick_runs, let_system_ask, false},
    {"mica_run_world", a_tick_runs, let_system_ask, false},
    {"mica_schema_count", a_schema_answers, NULL, false},
    {"mica_schema_find", a_schema_answers, NULL, false},
    {"mica_schema_info", a_schema_answers, NULL, false},
    {"mica_schema_release", a_schema_answers, NULL, false},
    {"mica_schema_retain", a_schema_answers, NULL, false},
    {"mica_sin", angles_are_computed, NULL, false},
    {"mica_sincos", angles_are_computed, NULL, false},
    {"mica_sincosf", angles_are_computed, NULL, false},
    {"mica_sinf", angles_are_computed, NULL, false},
    {"mica_slot_map_clear", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_count", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_destroy", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_find", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_key_at", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_remove", a_map_is_used_up, fill_map, false},
    {"mica_slot_map_values", a_map_is_used_up, fill_map, false},
    {"mica_snapshot_entity_count", a_snapshot_tells, take_snapshot, false},
    {"mica_snapshot_own_byte_size", a_snapshot_tells, take_snapshot, false},
    {"mica_snapshot_release", a_snapshot_tells, take_snapshot, false},
    {"mica_snapshot_retain", a_snapshot_tells, take_snapshot, false},
    {"mica_stage_name", systems_answer, NULL, false},
    {"mica_stage_run_while_paused", the_clock_is_set, NULL, false},
    {"mica_subscription_collect", changes_are_collected, list_one, false},
    {"mica_subscription_count", changes_are_collected, list_one, false},
    {"mica_subscription_destroy", a_subscription_ends, list_one, false},
    {"mica_synctest_destroy", nothing_is_ended, NULL, false},
    {"mica_system_enable", a_system_is_disabled, NULL, false},
    {"mica_system_find", systems_answer, NULL, false},
    {"mica_system_remove", a_system_is_removed, NULL, false},
    {"mica_system_state", systems_answer, NULL, false},
    {"mica_system_statistics", systems_answer, NULL, false},
    {"mica_trace_end", the_trace_ends, trace_world, false},
    {"mica_trace_take", the_trace_is_told, trace_world, false},
    {"mica_transform_construct", poses_are_computed, NULL, false},
    {"mica_transform_from_matrix", poses_are_computed, NULL, false},
    {"mica_transform_matrix", poses_are_computed, NULL, false},
    {"mica_transform_world_of", poses_are_computed, NULL, false},
    {"mica_version", errors_are_told_and_forgotten, NULL, false},
    {"mica_world_advance_version", a_world_answers, NULL, false},
    {"mica_world_alpha", a_world_answers, NULL, false},
    {"mica_world_budget", figures_are_told, NULL, false},
    {"mica_world_clear", a_world_is_cleared_and_trimmed, NULL, false},
    {"mica_world_destroy", another_world_ends, fill_other, false},
    {"mica_world_diagnose", findings_are_told, add_idle_system, false},
    {"mica_world_entity_count", a_world_answers, NULL, false},
    {"mica_world_fragmentation", figures_are_told, NULL, false},
    {"mica_world_is_paused", the_clock_is_set, NULL, false},
    {"mica_world_kind_of", a_world_says_what_it_is, NULL, false},
    {"mica_world_memory", a_world_answers, NULL, false},
    {"mica_world_name", a_world_answers, NULL, false},
    {"mica_world_net_mode", a_world_says_what_it_is, NULL, false},
    {"mica_world_pause", the_clock_is_set, NULL, false},
    {"mica_world_plan", the_plan_is_told, NULL, false},
    {"mica_world_plan_explain", the_plan_is_told, NULL, false},
    {"mica_world_plan_graph", the_plan_is_told, NULL, false},
    {"mica_world_random", numbers_are_drawn, NULL, false},
    {"mica_world_refresh", killed_ones_are_destroyed, hide_one, false},
    {"mica_world_restore_failed_ticks", a_failed_tick_is_asked_back, NULL, false},
    {"mica_world_schema", a_world_answers, NULL, false},
    {"mica_world_set_budget", figures_are_told, NULL, false},
    {"mica_world_set_net_mode", a_world_says_what_it_is, NULL, false},
    {"mica_world_set_time_scale", the_clock_is_set, NULL, false},
    {"mica_world_statistics", a_world_answers, NULL, false},
    {"mica_world_systems", the_plan_is_told, NULL, false},
    {"mica_world_time_scale", the_clock_is_set, NULL, false},
    {"mica_world_tick", a_world_answers, NULL, false},
    {"mica_world_trim", a_world_is_cleared_and_trimmed, NULL, false},
    {"mica_world_version", a_world_answers, NULL, false},
    {"mica_world_watch_steps", steps_are_watched, NULL, false},
    {"mica_worlds_describe", a_manager_answers, fill_manager, false},
    {"mica_worlds_destroy", a_manager_ends, fill_manager, false},
    {"mica_worlds_enable", a_manager_answers, fill_manager, false},
    {"mica_worlds_find", a_manager_answers, fill_manager, false},
    {"mica_worlds_list", a_manager_answers, fill_manager, false},
    {"mica_worlds_place_of", a_manager_answers, fill_manager, false},
    {"mica_worlds_remove", a_world_is_removed, fill_manager, false},
    {"mica_worlds_replace", a_world_is_replaced, fill_manager_and_make_other, false},
    {"mica_worlds_set_order", a_manager_answers, fill_manager, false},
    {"mica_worlds_take", a_manager_ends, fill_manager, false},
    {"mica_worlds_world", a_manager_answers, fill_manager, false},
};

static void the_rest_works_without_any_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(needs_nothing) / sizeof(needs_nothing[0]); i++) {
        sweep s;
        begin(&s);
        if (needs_nothing[i].prepare != NULL) {
            needs_nothing[i].prepare(&s);
        }
        test_allocator_fail_from(&s.w.allocator, 1);
        const bool worked = needs_nothing[i].run(&s);
        test_allocator_fail_stop(&s.w.allocator);
        if (!worked) {
            fail_msg("%s does not work without memory: %s", needs_nothing[i].name, mica_last_error());
        }
        assert_valid(s.w.world);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_without_memory_change_nothing_and_work_afterwards),
        cmocka_unit_test(the_rest_works_without_any_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
