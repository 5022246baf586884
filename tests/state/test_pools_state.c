// Pools in snapshots: whatever happens to them, a restore brings back their elements in order, their tombstones, their
// values and versions; what nobody has touched is shared, and is not touched by a restore either.
#include "state/snapshot.h"
#include "support/test_allocator.h"
#include "support/test_random.h"
#include "world/ledger.h"

#include <mica/mica.h>

#include <stdio.h>
#include <string.h>

MICA_STRUCT_WITH(Packed, (.storage = MICA_POOL, .layout = MICA_PACKED), { int32_t number; });
MICA_STRUCT_WITH(Paged, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4), {
    int32_t number;
    int32_t more[15];
});
MICA_STRUCT_WITH(Stable, (.storage = MICA_POOL, .stable = true, .page_size = 4), { int32_t number; });
MICA_STRUCT_WITH(Single, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 1), { int32_t number; });
MICA_STRUCT_WITH(Dirty, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4, .always_dirty = true),
                 { int32_t number; });
MICA_TAG_WITH(Tag, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Passing, (.storage = MICA_POOL, .layout = MICA_PACKED, .transient = true), { int32_t number; });

#define OWNED_HOOKS \
    { .construct = owned_construct, .destruct = owned_destruct, .move = owned_move, .copy = owned_copy }

typedef struct PackedOwned {
    Owned owned;
} PackedOwned;
MICA_COMPONENT_WITH(PackedOwned, (.storage = MICA_POOL, .layout = MICA_PACKED, .hooks = OWNED_HOOKS));
typedef struct StableOwned {
    Owned owned;
} StableOwned;
MICA_COMPONENT_WITH(StableOwned, (.storage = MICA_POOL, .stable = true, .page_size = 4, .hooks = OWNED_HOOKS));
typedef struct PassingOwned {
    Owned owned;
} PassingOwned;
MICA_COMPONENT_WITH(PassingOwned,
                    (.storage = MICA_POOL, .stable = true, .page_size = 4, .transient = true, .hooks = OWNED_HOOKS));
typedef struct PassingSole {
    Owned owned;
} PassingSole;
MICA_COMPONENT_WITH(PassingSole,
                    (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4, .transient = true,
                     .hooks = {.construct = owned_construct, .destruct = owned_destruct, .move = owned_move}));

typedef enum kind {
    KIND_PACKED,
    KIND_PAGED,
    KIND_STABLE,
    KIND_SINGLE,
    KIND_DIRTY,
    KIND_TAG,
    KIND_PACKED_OWNED,
    KIND_STABLE_OWNED,
    KIND_COUNT,
    KIND_PASSING = KIND_COUNT, // those that are asked for by themselves
    KIND_PASSING_OWNED,
    KIND_PASSING_SOLE,
    KIND_ALL_COUNT,
} kind;

typedef struct fixture {
    test_allocator allocator;
    mica_schema *schema;
    mica_world *world;
    mica_component ids[KIND_ALL_COUNT];
} fixture;

static mica_type *type_of(kind of) {
    switch (of) {
    case KIND_PACKED:
        return mica_type_of(Packed);
    case KIND_PAGED:
        return mica_type_of(Paged);
    case KIND_STABLE:
        return mica_type_of(Stable);
    case KIND_SINGLE:
        return mica_type_of(Single);
    case KIND_DIRTY:
        return mica_type_of(Dirty);
    case KIND_TAG:
        return mica_type_of(Tag);
    case KIND_PACKED_OWNED:
        return mica_type_of(PackedOwned);
    case KIND_STABLE_OWNED:
        return mica_type_of(StableOwned);
    case KIND_PASSING:
        return mica_type_of(Passing);
    case KIND_PASSING_OWNED:
        return mica_type_of(PassingOwned);
    default:
        return mica_type_of(PassingSole);
    }
}

static mica_world *create_world(fixture *f) {
    mica_world *world =
        mica_world_create(&(mica_world_def){.schema = f->schema, .allocator = test_allocator_hooks(&f->allocator)});
    assert_non_null(world);
    return world;
}

static void begin(fixture *f) {
    *f = (fixture){.world = NULL};
    ledger_start();
    test_allocator_init(&f->allocator);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    f->world = create_world(f);
    for (kind of = 0; of < KIND_ALL_COUNT; of++) {
        f->ids[of] = mica_schema_register(f->schema, type_of(of));
        assert_string_equal(f->ids[of] != 0 ? "" : mica_last_error(), "");
    }
}

static void assert_valid(mica_world *world) {
    assert_string_equal(mica_world_validate(world) == MICA_OK ? "" : mica_last_error(), "");
    ledger_check();
}

static void end(fixture *f) {
    assert_valid(f->world);
    mica_world_destroy(f->world);
    mica_schema_release(f->schema);
    ledger_finish();
    test_allocator_finish(&f->allocator);
}

// Elements

static bool is_owned(kind of) {
    return of == KIND_PACKED_OWNED || of == KIND_STABLE_OWNED || of == KIND_PASSING_OWNED || of == KIND_PASSING_SOLE;
}

static bool is_tag(kind of) {
    return of == KIND_TAG;
}

static mi_pool *pool_of(const mica_world *world, mica_component id) {
    return mi_store_find_pool(&world->store, id);
}

static int32_t number_at(const mi_pool *pool, uint32_t position) {
    const void *value = mi_pool_value(pool, position);
    if (!pool->type->has_destruct) {
        int32_t number = 0;
        memcpy(&number, value, sizeof(number));
        return number;
    }
    const Owned *owned = value;
    assert_ptr_equal(owned->self, owned);
    return *owned->number;
}

static mica_result try_put(const fixture *f, kind of, mica_entity entity, int32_t number) {
    if (is_tag(of)) {
        return mica_entity_has(f->world, entity, f->ids[of]) ? MICA_OK
                                                             : mica_entity_add(f->world, entity, f->ids[of], NULL);
    }
    if (is_owned(of)) {
        Owned owned;
        const mica_hook_context context = {.allocator = &f->world->store.values};
        if (!owned_make(&owned, number, &context)) {
            return MICA_OUT_OF_MEMORY;
        }
        const mica_result result = mica_entity_set(f->world, entity, f->ids[of], &owned);
        owned_drop(&owned, f->world);
        return result;
    }
    Paged value = {.number = number};
    return mica_entity_set(f->world, entity, f->ids[of], &value);
}

static void put(const fixture *f, kind of, mica_entity entity, int32_t number) {
    assert_int_equal(try_put(f, of, entity, number), MICA_OK);
}

static void take_out(const fixture *f, kind of, mica_entity entity) {
    assert_int_equal(mica_entity_remove(f->world, entity, f->ids[of]), MICA_OK);
}

static void create(const fixture *f, mica_entity *entities, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        entities[i] = mica_create(f->world);
        assert_false(mica_entity_is_null(entities[i]));
    }
}

// Entities with elements whose numbers follow each other.
static void fill(const fixture *f, kind of, mica_entity *entities, uint32_t count) {
    create(f, entities, count);
    for (uint32_t i = 0; i < count; i++) {
        put(f, of, entities[i], (int32_t)i);
    }
}

static mica_snapshot *take(const fixture *f) {
    mica_snapshot *snapshot = mica_snapshot_take(f->world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

static void restore(const fixture *f, mica_snapshot *snapshot) {
    assert_int_equal(mica_snapshot_restore(snapshot, f->world, NULL), MICA_OK);
    assert_valid(f->world);
}

// Deep copies

enum { POSITION_LIMIT = 4096 };

typedef struct pool_copy {
    uint32_t count;
    uint32_t dead_count;
    uint32_t dead_head;
    mica_entity *entities;
    int32_t *numbers;   // of live elements
    uint64_t *versions; // by position: of its page
} pool_copy;

static void copy_pool(pool_copy *copy, const mi_pool *pool) {
    *copy = (pool_copy){.dead_head = MI_POSITION_NONE};
    if (pool == NULL) {
        return;
    }
    copy->count = pool->count;
    copy->dead_count = pool->dead_count;
    copy->dead_head = pool->dead_head;
    copy->entities = calloc(pool->count + 1u, sizeof(mica_entity));
    copy->numbers = calloc(pool->count + 1u, sizeof(int32_t));
    copy->versions = calloc(pool->count + 1u, sizeof(uint64_t));
    for (uint32_t position = 0; position < pool->count; position++) {
        copy->entities[position] = pool->entities[position];
        if (pool->size > 0) {
            copy->versions[position] = mi_pool_version(pool, position);
            copy->numbers[position] = mi_pool_is_live(pool, position) ? number_at(pool, position) : 0;
        }
    }
}

static void free_copy(pool_copy *copy) {
    free(copy->entities);
    free(copy->numbers);
    free(copy->versions);
}

static void assert_copies_equal(const pool_copy *a, const pool_copy *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->dead_count, b->dead_count);
    assert_int_equal(a->dead_head, b->dead_head);
    if (a->count > 0) {
        assert_memory_equal(a->entities, b->entities, a->count * sizeof(mica_entity));
        assert_memory_equal(a->numbers, b->numbers, a->count * sizeof(int32_t));
        assert_memory_equal(a->versions, b->versions, a->count * sizeof(uint64_t));
    }
}

static void copy_all(const fixture *f, pool_copy copies[KIND_COUNT]) {
    for (kind of = 0; of < KIND_COUNT; of++) {
        copy_pool(&copies[of], pool_of(f->world, f->ids[of]));
    }
}

static void free_all(pool_copy copies[KIND_COUNT]) {
    for (kind of = 0; of < KIND_COUNT; of++) {
        free_copy(&copies[of]);
    }
}

static void assert_as_copied(const fixture *f, const pool_copy copies[KIND_COUNT]) {
    for (kind of = 0; of < KIND_COUNT; of++) {
        pool_copy now;
        copy_pool(&now, pool_of(f->world, f->ids[of]));
        assert_copies_equal(&now, &copies[of]);
        free_copy(&now);
    }
}

// What has happened so far to a world, by chance.
enum { HANDLE_COUNT = 24 };

typedef struct history {
    test_random random;
    mica_entity entities[HANDLE_COUNT]; // null: none at this place
} history;

static int compare_numbers(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    int32_t number_a = 0;
    int32_t number_b = 0;
    memcpy(&number_a, a->value, sizeof(number_a));
    memcpy(&number_b, b->value, sizeof(number_b));
    return (number_a > number_b) - (number_a < number_b);
}

static void happen_to_pools(const fixture *f, uint32_t choice) {
    if (choice == 0) {
        assert_int_equal(mica_pool_sort(f->world, f->ids[KIND_PAGED], compare_numbers, NULL), MICA_OK);
    } else if (choice == 1) {
        assert_int_equal(mica_pool_compact(f->world, f->ids[KIND_STABLE_OWNED]), MICA_OK);
    } else if (choice == 2) {
        assert_int_equal(mica_pool_compact(f->world, f->ids[KIND_STABLE]), MICA_OK);
    } else if (choice == 3) {
        assert_true(mica_world_advance_version(f->world) > 0);
    } else {
        assert_int_equal(mica_world_trim(f->world), MICA_OK);
    }
}

// One step. Nothing depends on addresses or on what was before the history.
static void happen(const fixture *f, history *of) {
    test_random *random = &of->random;
    mica_entity *entity = &of->entities[test_random_below(random, HANDLE_COUNT)];
    const kind component = (kind)test_random_below(random, KIND_COUNT);
    const uint32_t choice = test_random_below(random, 40);
    const int32_t number = (int32_t)test_random_below(random, 1000);
    if (mica_entity_is_null(*entity)) {
        *entity = mica_create(f->world);
    }
    if (choice < 2) {
        assert_int_equal(mica_destroy(f->world, *entity), MICA_OK);
        *entity = MICA_NULL;
    } else if (choice < 7) {
        happen_to_pools(f, choice - 2);
    } else if (choice < 17 && mica_entity_has(f->world, *entity, f->ids[component])) {
        take_out(f, component, *entity);
    } else {
        put(f, component, *entity, number);
    }
}

static void happen_often(const fixture *f, history *of, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        happen(f, of);
    }
}

// Exactness

static void a_restore_brings_back_every_kind_of_pool(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        fixture f;
        begin(&f);
        history of = {.random = {seed}};
        happen_often(&f, &of, 200);
        pool_copy copies[KIND_COUNT];
        copy_all(&f, copies);
        mica_snapshot *snapshot = take(&f);
        assert_as_copied(&f, copies);
        happen_often(&f, &of, 100);
        restore(&f, snapshot);
        assert_as_copied(&f, copies);
        mica_snapshot_release(snapshot);
        free_all(copies);
        end(&f);
    }
}

static void what_follows_a_restore_goes_as_it_went_the_first_time(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 108; seed++) {
        fixture f;
        begin(&f);
        history of = {.random = {seed}};
        happen_often(&f, &of, 150);
        mica_snapshot *snapshot = take(&f);
        history again = of;
        happen_often(&f, &of, 150);
        pool_copy copies[KIND_COUNT];
        copy_all(&f, copies);
        restore(&f, snapshot);
        happen_often(&f, &again, 150);
        assert_as_copied(&f, copies);
        assert_memory_equal(of.entities, again.entities, sizeof(of.entities));
        mica_snapshot_release(snapshot);
        free_all(copies);
        end(&f);
    }
}

enum { RING_COUNT = 5 };

typedef struct moment {
    mica_snapshot *snapshot; // NULL: none
    history of;
    pool_copy copies[KIND_COUNT];
} moment;

static void forget(moment *at) {
    if (at->snapshot != NULL) {
        mica_snapshot_release(at->snapshot);
        free_all(at->copies);
        at->snapshot = NULL;
    }
}

static void snapshots_are_restored_in_any_order(void **state) {
    (void)state;
    for (uint64_t seed = 1000; seed < 1006; seed++) {
        fixture f;
        begin(&f);
        test_random random = {seed};
        moment ring[RING_COUNT] = {{.snapshot = NULL}};
        history of = {.random = {seed}};
        for (uint32_t step = 0; step < 60; step++) {
            moment *at = &ring[test_random_below(&random, RING_COUNT)];
            if (at->snapshot != NULL && test_random_below(&random, 2) == 0) {
                restore(&f, at->snapshot);
                assert_as_copied(&f, at->copies);
                const test_random ahead = of.random;
                of = at->of;
                of.random = ahead; // something else happens this time
            } else {
                forget(at);
                at->of = of;
                copy_all(&f, at->copies);
                at->snapshot = take(&f);
            }
            happen_often(&f, &of, test_random_below(&random, 30));
        }
        for (uint32_t i = 0; i < RING_COUNT; i++) {
            forget(&ring[i]);
        }
        end(&f);
    }
}

static void a_pool_that_the_snapshot_does_not_know_becomes_empty(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_snapshot *before = take(&f);
    mica_entity entities[9];
    create(&f, entities, 9);
    for (kind of = 0; of < KIND_COUNT; of++) {
        for (uint32_t i = 0; i < 9; i++) {
            put(&f, of, entities[i], (int32_t)i);
        }
    }
    restore(&f, before);
    for (kind of = 0; of < KIND_COUNT; of++) {
        assert_int_equal(mica_pool_count(f.world, f.ids[of]), 0);
        assert_int_equal(pool_of(f.world, f.ids[of])->count, 0);
    }
    assert_int_equal(ledger_live_count(), 0);
    mica_snapshot_release(before);
    end(&f);
}

static void a_pool_that_the_world_does_not_know_comes_to_be(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    history of = {.random = {7}};
    happen_often(&f, &of, 200);
    pool_copy copies[KIND_COUNT];
    copy_all(&f, copies);
    mica_snapshot *snapshot = take(&f);
    mica_world_destroy(f.world);
    f.world = create_world(&f);
    restore(&f, snapshot);
    assert_as_copied(&f, copies);
    mica_snapshot_release(snapshot);
    free_all(copies);
    end(&f);
}

static void two_worlds_exchange_their_pools(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_world *worlds[2] = {f.world, create_world(&f)};
    pool_copy copies[2][KIND_COUNT];
    for (uint32_t i = 0; i < 2; i++) {
        history of = {.random = {i + 70}};
        f.world = worlds[i];
        happen_often(&f, &of, 200);
        copy_all(&f, copies[i]);
    }
    for (uint32_t round = 1; round <= 2; round++) {
        assert_int_equal(mica_world_swap(worlds[0], worlds[1]), MICA_OK);
        for (uint32_t i = 0; i < 2; i++) {
            f.world = worlds[i];
            assert_valid(f.world);
            assert_as_copied(&f, copies[(i + round) % 2]);
        }
    }
    mica_world_destroy(worlds[0]);
    free_all(copies[0]);
    free_all(copies[1]);
    end(&f);
}

static void the_tombstone_that_is_used_next_is_the_same(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[8];
    fill(&f, KIND_STABLE, entities, 8);
    take_out(&f, KIND_STABLE, entities[2]);
    take_out(&f, KIND_STABLE, entities[5]);
    mica_snapshot *snapshot = take(&f);
    put(&f, KIND_STABLE, entities[2], 20); // into the hole made last
    put(&f, KIND_STABLE, entities[5], 50);
    take_out(&f, KIND_STABLE, entities[0]);
    restore(&f, snapshot);
    put(&f, KIND_STABLE, entities[5], 51);
    assert_int_equal(mica_pool_position(f.world, f.ids[KIND_STABLE], entities[5]), 5);
    put(&f, KIND_STABLE, entities[2], 21);
    assert_int_equal(mica_pool_position(f.world, f.ids[KIND_STABLE], entities[2]), 2);
    mica_snapshot_release(snapshot);
    end(&f);
}

static void an_entity_whose_slot_was_used_again_is_the_old_one(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity old;
    fill(&f, KIND_PACKED, &old, 1);
    mica_snapshot *snapshot = take(&f);
    assert_int_equal(mica_destroy(f.world, old), MICA_OK);
    const mica_entity young = mica_create(f.world);
    assert_int_equal(mica_entity_index(young), mica_entity_index(old));
    put(&f, KIND_PACKED, young, 77);
    restore(&f, snapshot);
    assert_int_equal(mica_get(f.world, old, Packed)->number, 0);
    assert_int_equal(mica_pool_position(f.world, f.ids[KIND_PACKED], young), -1);
    mica_snapshot_release(snapshot);
    end(&f);
}

static void a_value_that_went_from_the_end_of_an_untouched_page_comes_back(void **state) {
    (void)state;
    static const kind kinds[] = {KIND_PACKED, KIND_PAGED, KIND_STABLE, KIND_PACKED_OWNED, KIND_STABLE_OWNED};
    for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fixture f;
        begin(&f);
        mica_entity entities[6];
        fill(&f, kinds[i], entities, 6);
        mi_pool *pool = pool_of(f.world, f.ids[kinds[i]]);
        mica_snapshot *snapshot = take(&f);
        take_out(&f, kinds[i], entities[5]);
        // A tombstone tells; else the page names its image, or the case is another.
        assert_int_equal(mi_stamp_is_named(pool->stamps[5 >> pool->page_shift]), !pool->type->info.stable);
        memset(mi_pool_value(pool, 5), 0x5a, pool->size); // as a verb that fails may leave it
        restore(&f, snapshot);
        assert_int_equal(number_at(pool, 5), 5);
        mica_snapshot_release(snapshot);
        end(&f);
    }
}

// Sharing

static const mi_rows_image *rows_of(const mica_snapshot *snapshot, mica_component component) {
    for (uint32_t i = 0; i < snapshot->pool_count; i++) {
        if (snapshot->pools[i]->components[0] == component) {
            return snapshot->pools[i];
        }
    }
    fail_msg("the snapshot lacks the pool");
    return NULL;
}

static void what_nobody_touched_is_shared_whole(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    history of = {.random = {3}};
    happen_often(&f, &of, 300);
    mica_snapshot *first = take(&f);
    mica_snapshot *second = take(&f);
    assert_int_equal(first->pool_count, second->pool_count);
    for (uint32_t i = 0; i < first->pool_count; i++) {
        const bool is_dirty = first->pools[i]->components[0] == f.ids[KIND_DIRTY];
        assert_int_equal(first->pools[i] == second->pools[i], !is_dirty);
    }
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    end(&f);
}

static void a_written_page_alone_is_copied(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[12];
    fill(&f, KIND_PAGED, entities, 12);
    mica_snapshot *first = take(&f);
    mica_get_write(f.world, entities[6], Paged)->number = 60;
    mica_snapshot *second = take(&f);
    const mi_rows_image *before = rows_of(first, f.ids[KIND_PAGED]);
    const mi_rows_image *after = rows_of(second, f.ids[KIND_PAGED]);
    assert_ptr_equal(before->chunks[0], after->chunks[0]);
    assert_ptr_equal(before->chunks[2], after->chunks[2]);
    assert_ptr_not_equal(before->chunks[1]->columns[0].image, after->chunks[1]->columns[0].image);
    assert_ptr_equal(before->chunks[1]->handles.image, after->chunks[1]->handles.image);
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    end(&f);
}

static void pages_that_an_element_neither_leaves_nor_enters_are_shared(void **state) {
    (void)state;
    static const kind kinds[] = {KIND_PAGED, KIND_STABLE};
    for (uint32_t i = 0; i < 2; i++) {
        fixture f;
        begin(&f);
        mica_entity entities[12];
        fill(&f, kinds[i], entities, 12);
        mica_snapshot *first = take(&f);
        take_out(&f, kinds[i], entities[5]); // the last one takes its place, or nobody does
        mica_snapshot *second = take(&f);
        const mi_rows_image *before = rows_of(first, f.ids[kinds[i]]);
        const mi_rows_image *after = rows_of(second, f.ids[kinds[i]]);
        assert_ptr_equal(before->chunks[0], after->chunks[0]);
        assert_ptr_not_equal(before->chunks[1], after->chunks[1]);
        assert_ptr_equal(before->chunks[2]->columns[0].image, after->chunks[2]->columns[0].image);
        assert_int_equal(after->chunks[2]->row_count, kinds[i] == KIND_STABLE ? 4 : 3);
        restore(&f, first);
        mica_snapshot *third = take(&f);
        assert_ptr_equal(rows_of(third, f.ids[kinds[i]]), before);
        mica_snapshot_release(first);
        mica_snapshot_release(second);
        mica_snapshot_release(third);
        end(&f);
    }
}

static void a_restored_state_is_shared_with_its_snapshot(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    history of = {.random = {11}};
    happen_often(&f, &of, 300);
    mica_snapshot *first = take(&f);
    happen_often(&f, &of, 50);
    mica_snapshot *second = take(&f);
    restore(&f, first);
    mica_snapshot *third = take(&f);
    for (uint32_t i = 0; i < first->pool_count; i++) {
        if (first->pools[i]->components[0] != f.ids[KIND_DIRTY]) {
            assert_ptr_equal(first->pools[i], third->pools[i]);
        }
    }
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_snapshot_release(third);
    end(&f);
}

static void a_restore_touches_no_page_that_names_its_image(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[12];
    fill(&f, KIND_PAGED, entities, 12);
    mica_snapshot *snapshot = take(&f);
    mica_get_write(f.world, entities[6], Paged)->number = 60;
    Paged *behind_the_back = mi_pool_value(pool_of(f.world, f.ids[KIND_PAGED]), 1);
    behind_the_back->number = -1;
    restore(&f, snapshot);
    assert_int_equal(mica_get(f.world, entities[6], Paged)->number, 6);
    assert_int_equal(behind_the_back->number, -1);
    mica_snapshot_release(snapshot);
    end(&f);
}

static void pages_that_a_restore_exchanges_count_as_changed_for_those_outside(void **state) {
    (void)state;
    static const kind kinds[] = {KIND_PAGED, KIND_STABLE};
    for (uint32_t i = 0; i < 2; i++) {
        fixture f;
        begin(&f);
        mica_entity entities[12];
        fill(&f, kinds[i], entities, 12);
        mica_snapshot *snapshot = take(&f);
        put(&f, kinds[i], entities[6], 60);
        take_out(&f, kinds[i], entities[11]);
        const uint64_t seen = mica_world_version(f.world);
        restore(&f, snapshot);
        for (uint32_t k = 0; k < 12; k++) {
            const bool is_new = mica_entity_component_version(f.world, entities[k], f.ids[kinds[i]]) > seen;
            assert_int_equal(is_new, k >= 4);
        }
        mica_snapshot_release(snapshot);
        end(&f);
    }
}

static void what_is_written_behind_the_back_of_an_always_dirty_pool_is_seen(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entity;
    fill(&f, KIND_DIRTY, &entity, 1);
    mica_snapshot *first = take(&f);
    Dirty *value = mi_pool_value(pool_of(f.world, f.ids[KIND_DIRTY]), 0);
    value->number = 5;
    mica_snapshot *second = take(&f);
    value->number = 6;
    restore(&f, second);
    assert_int_equal(mica_get(f.world, entity, Dirty)->number, 5);
    restore(&f, first);
    assert_int_equal(mica_get(f.world, entity, Dirty)->number, 0);
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    end(&f);
}

static void addresses_in_stable_pools_stay(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[9];
    fill(&f, KIND_STABLE, entities, 9);
    const Stable *addresses[9];
    for (uint32_t i = 0; i < 9; i++) {
        addresses[i] = mica_get(f.world, entities[i], Stable);
    }
    mica_snapshot *snapshot = take(&f);
    put(&f, KIND_STABLE, entities[4], 44);
    take_out(&f, KIND_STABLE, entities[7]);
    assert_int_equal(mica_destroy(f.world, entities[1]), MICA_OK);
    restore(&f, snapshot);
    for (uint32_t i = 0; i < 9; i++) {
        assert_ptr_equal(mica_get(f.world, entities[i], Stable), addresses[i]);
        assert_int_equal(addresses[i]->number, i);
    }
    mica_snapshot_release(snapshot);
    end(&f);
}

static void pages_of_packed_values_are_restored_one_by_one(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    fixture f;
    begin(&f);
    mica_entity *entities = calloc(COUNT, sizeof(mica_entity));
    fill(&f, KIND_PACKED, entities, COUNT);
    mica_snapshot *first = take(&f);
    mica_get_write(f.world, entities[1500], Packed)->number = -7;
    take_out(&f, KIND_PACKED, entities[2999]);
    mica_snapshot *second = take(&f);
    const mi_rows_image *before = rows_of(first, f.ids[KIND_PACKED]);
    const mi_rows_image *after = rows_of(second, f.ids[KIND_PACKED]);
    assert_int_equal(before->chunk_count, 3);
    assert_ptr_equal(before->chunks[0], after->chunks[0]);
    assert_ptr_equal(before->chunks[1]->handles.image, after->chunks[1]->handles.image);
    assert_ptr_equal(before->chunks[2]->columns[0].image, after->chunks[2]->columns[0].image);
    restore(&f, first);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_get(f.world, entities[i], Packed)->number, i);
    }
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    free(entities);
    end(&f);
}

// Hooks

static void a_type_that_cannot_be_copied_is_refused_by_name(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = mica_create(f.world);
    assert_int_equal(mica_entity_add(f.world, entity, f.ids[KIND_PASSING_SOLE], NULL), MICA_OK);
    assert_null(mica_snapshot_take(f.world, NULL));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_non_null(strstr(mica_last_error(), "PassingSole"));
    take_out(&f, KIND_PASSING_SOLE, entity);
    mica_snapshot *snapshot = take(&f);
    mica_snapshot_release(snapshot);
    end(&f);
}

static void copies_outlive_the_values_and_the_world(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[6];
    fill(&f, KIND_STABLE_OWNED, entities, 6);
    take_out(&f, KIND_STABLE_OWNED, entities[3]);
    mica_snapshot *first = take(&f);
    assert_int_equal(ledger_live_count(), 10);
    take_out(&f, KIND_STABLE_OWNED, entities[0]);
    mica_snapshot *second = take(&f); // has copies of the first page's values alone
    assert_int_equal(ledger_live_count(), 11);
    mica_world_destroy(f.world);
    assert_int_equal(ledger_live_count(), 7);
    f.world = create_world(&f);
    restore(&f, second);
    assert_int_equal(ledger_live_count(), 11);
    assert_int_equal(mica_pool_count(f.world, f.ids[KIND_STABLE_OWNED]), 4);
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    assert_int_equal(ledger_live_count(), 4);
    end(&f);
}

// Groups

static mica_group *create_group(const fixture *f) {
    mica_group *group =
        mica_group_create(f->world, &(mica_group_def){.owned_ids = {f->ids[KIND_PAGED], f->ids[KIND_PACKED_OWNED]},
                                                      .with_ids = {f->ids[KIND_STABLE]},
                                                      .without_ids = {f->ids[KIND_TAG]}});
    assert_non_null(group);
    return group;
}

static void a_group_has_its_members_back(void **state) {
    (void)state;
    for (uint64_t seed = 50; seed < 56; seed++) {
        fixture f;
        begin(&f);
        history of = {.random = {seed}};
        const mica_group *group = create_group(&f);
        // Nobody may sort what a group owns: the paged pool is left to the group.
        mica_entity entities[10];
        create(&f, entities, 10);
        for (uint32_t i = 0; i < 10; i++) {
            put(&f, KIND_PAGED, entities[i], (int32_t)i);
            put(&f, KIND_STABLE, entities[i], (int32_t)i);
        }
        for (uint32_t i = 0; i < 200; i++) {
            const mica_entity entity = entities[test_random_below(&of.random, 10)];
            static const kind kinds[] = {KIND_PAGED, KIND_PACKED_OWNED, KIND_STABLE, KIND_TAG};
            const kind component = kinds[test_random_below(&of.random, 4)];
            if (mica_entity_has(f.world, entity, f.ids[component])) {
                take_out(&f, component, entity);
            } else {
                put(&f, component, entity, (int32_t)i);
            }
            if (i % 20 == 10) {
                pool_copy copies[KIND_COUNT];
                copy_all(&f, copies);
                const int32_t member_count = mica_group_count(group);
                mica_snapshot *snapshot = take(&f);
                put(&f, KIND_PACKED_OWNED, entities[0], 1);
                put(&f, KIND_PAGED, entities[1], 1);
                take_out(&f, KIND_PAGED, entities[1]);
                assert_int_equal(mica_destroy(f.world, entities[2]), MICA_OK);
                restore(&f, snapshot);
                assert_as_copied(&f, copies);
                assert_int_equal(mica_group_count(group), member_count);
                mica_snapshot_release(snapshot);
                free_all(copies);
            }
        }
        end(&f);
    }
}

// What a group made right after a restore would have found.
static void a_group_made_since_then_holds_again(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[10];
    create(&f, entities, 10);
    for (uint32_t i = 0; i < 10; i++) {
        put(&f, KIND_PAGED, entities[9 - i], (int32_t)i);
        put(&f, KIND_STABLE, entities[i], (int32_t)i);
        if (i % 2 == 1) {
            put(&f, KIND_PACKED_OWNED, entities[i], (int32_t)i);
        }
    }
    mica_snapshot *snapshot = take(&f);
    mica_group *group = create_group(&f);
    assert_int_equal(mica_group_count(group), 5);
    pool_copy settled[KIND_COUNT];
    copy_all(&f, settled);
    take_out(&f, KIND_STABLE, entities[3]);
    put(&f, KIND_TAG, entities[7], 0);
    assert_int_equal(mica_group_count(group), 3);
    restore(&f, snapshot);
    assert_int_equal(mica_group_count(group), 5);
    assert_as_copied(&f, settled);
    assert_int_equal(mica_group_destroy(group), MICA_OK);
    restore(&f, snapshot);
    const Paged *first = mi_pool_value(pool_of(f.world, f.ids[KIND_PAGED]), 0);
    assert_int_equal(first->number, 0); // as it was without a group
    mica_snapshot_release(snapshot);
    free_all(settled);
    end(&f);
}

// Transient values that are left out

static mica_snapshot *take_lasting(const fixture *f) {
    mica_snapshot *snapshot = mica_snapshot_take(f->world, &(mica_snapshot_options){.leave_transient = true});
    assert_non_null(snapshot);
    return snapshot;
}

static int32_t number_of(const fixture *f, kind of, mica_entity entity) {
    const mi_pool *pool = pool_of(f->world, f->ids[of]);
    const uint32_t position = mi_pool_find(pool, entity);
    assert_int_not_equal(position, MI_POSITION_NONE);
    return number_at(pool, position);
}

static void transient_values_stay_with_their_entities(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[10];
    fill(&f, KIND_PASSING, entities, 10);
    mica_snapshot *snapshot = take_lasting(&f);
    for (uint32_t i = 0; i < 10; i++) {
        put(&f, KIND_PASSING, entities[i], (int32_t)i + 100);
    }
    take_out(&f, KIND_PASSING, entities[0]); // the last one moves into the hole
    const mica_entity stranger = mica_create(f.world);
    put(&f, KIND_PASSING, stranger, 999);
    assert_int_equal(mica_destroy(f.world, entities[4]), MICA_OK);
    restore(&f, snapshot);
    const mi_pool *pool = pool_of(f.world, f.ids[KIND_PASSING]);
    assert_int_equal(pool->count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(mica_entity_equal(pool->entities[i], entities[i]));
        assert_int_equal(number_at(pool, i), i == 0 || i == 4 ? 0 : (int32_t)i + 100);
    }
    mica_snapshot_release(snapshot);
    end(&f);
}

static void transient_values_of_another_generation_do_not_stay(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity old;
    fill(&f, KIND_PASSING_OWNED, &old, 1);
    mica_snapshot *snapshot = take_lasting(&f);
    assert_int_equal(mica_destroy(f.world, old), MICA_OK);
    const mica_entity young = mica_create(f.world);
    assert_int_equal(mica_entity_index(young), mica_entity_index(old));
    put(&f, KIND_PASSING_OWNED, young, 77);
    restore(&f, snapshot);
    assert_int_equal(number_of(&f, KIND_PASSING_OWNED, old), -1); // constructed
    mica_snapshot_release(snapshot);
    end(&f);
}

static void transient_values_that_nobody_can_copy_are_carried(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[10];
    create(&f, entities, 10);
    for (uint32_t i = 0; i < 10; i++) {
        for (kind of = KIND_PASSING_OWNED; of <= KIND_PASSING_SOLE; of++) {
            assert_int_equal(mica_entity_add(f.world, entities[i], f.ids[of], NULL), MICA_OK);
            *((Owned *)mica_entity_get_write(f.world, entities[i], f.ids[of]))->number = (int32_t)i;
        }
    }
    mica_snapshot *snapshot = take_lasting(&f);
    assert_int_equal(ledger_live_count(), 20);
    for (kind of = KIND_PASSING_OWNED; of <= KIND_PASSING_SOLE; of++) {
        take_out(&f, of, entities[2]);
        take_out(&f, of, entities[6]);
        assert_int_equal(mica_entity_add(f.world, entities[6], f.ids[of], NULL), MICA_OK);
    }
    assert_int_equal(mica_destroy(f.world, entities[8]), MICA_OK);
    restore(&f, snapshot);
    assert_int_equal(ledger_live_count(), 20);
    for (kind of = KIND_PASSING_OWNED; of <= KIND_PASSING_SOLE; of++) {
        const mi_pool *pool = pool_of(f.world, f.ids[of]);
        for (uint32_t i = 0; i < 10; i++) {
            assert_true(mica_entity_equal(pool->entities[i], entities[i]));
            assert_int_equal(number_at(pool, i), i == 2 || i == 6 || i == 8 ? -1 : (int32_t)i);
        }
    }
    mica_snapshot_release(snapshot);
    end(&f);
}

static void a_snapshot_without_transient_values_shares_nothing_wrong_with_one_that_has_them(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[6];
    fill(&f, KIND_PASSING, entities, 6);
    mica_snapshot *whole = take(&f);
    mica_snapshot *lasting = take_lasting(&f);
    mica_snapshot *again = take(&f);
    assert_int_equal(rows_of(whole, f.ids[KIND_PASSING])->column_count, 1);
    assert_int_equal(rows_of(lasting, f.ids[KIND_PASSING])->column_count, 0);
    assert_int_equal(rows_of(again, f.ids[KIND_PASSING])->column_count, 1);
    put(&f, KIND_PASSING, entities[3], 33);
    restore(&f, lasting);
    assert_int_equal(number_of(&f, KIND_PASSING, entities[3]), 33);
    restore(&f, again);
    assert_int_equal(number_of(&f, KIND_PASSING, entities[3]), 3);
    mica_snapshot_release(whole);
    mica_snapshot_release(lasting);
    mica_snapshot_release(again);
    end(&f);
}

// Memory that is not to be had

static void a_snapshot_that_lacks_memory_leaves_all_as_it_was(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    history of = {.random = {21}};
    happen_often(&f, &of, 150);
    mica_snapshot *base = take(&f);
    happen_often(&f, &of, 30);
    pool_copy copies[KIND_COUNT];
    copy_all(&f, copies);
    mica_snapshot *snapshot = NULL;
    for (uint64_t n = 1; snapshot == NULL; n++) {
        const size_t live_bytes = f.allocator.live_bytes;
        test_allocator_fail_at(&f.allocator, n);
        snapshot = mica_snapshot_take(f.world, NULL);
        if (test_allocator_fail_stop(&f.allocator) && snapshot == NULL) {
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            assert_true(f.allocator.live_bytes <= live_bytes + 4096 * n); // lists may have grown
        } else {
            assert_non_null(snapshot);
        }
        assert_valid(f.world);
        assert_as_copied(&f, copies);
    }
    happen_often(&f, &of, 50);
    restore(&f, snapshot);
    assert_as_copied(&f, copies);
    mica_snapshot_release(base);
    mica_snapshot_release(snapshot);
    free_all(copies);
    end(&f);
}

static void a_restore_that_lacks_memory_leaves_all_as_it_was(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    history of = {.random = {22}};
    happen_often(&f, &of, 150);
    mica_snapshot *snapshot = take(&f);
    pool_copy then[KIND_COUNT];
    copy_all(&f, then);
    happen_often(&f, &of, 100);
    assert_int_equal(mica_world_trim(f.world), MICA_OK);
    pool_copy now[KIND_COUNT];
    copy_all(&f, now);
    uint32_t failed_count = 0;
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK; n++) {
        test_allocator_fail_at(&f.allocator, n);
        result = mica_snapshot_restore(snapshot, f.world, NULL);
        const bool has_failed = test_allocator_fail_stop(&f.allocator);
        assert_valid(f.world);
        if (result != MICA_OK) {
            assert_true(has_failed);
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_as_copied(&f, now);
            failed_count++;
        }
    }
    assert_true(failed_count > 20);
    assert_as_copied(&f, then);
    mica_snapshot_release(snapshot);
    free_all(then);
    free_all(now);
    end(&f);
}

static void a_restore_that_cannot_construct_transient_values_leaves_all_as_it_was(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    mica_entity entities[6];
    fill(&f, KIND_PASSING_OWNED, entities, 6);
    mica_snapshot *snapshot = take_lasting(&f);
    take_out(&f, KIND_PASSING_OWNED, entities[1]);
    take_out(&f, KIND_PASSING_OWNED, entities[4]);
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK; n++) {
        test_allocator_fail_at(&f.allocator, n);
        result = mica_snapshot_restore(snapshot, f.world, NULL);
        test_allocator_fail_stop(&f.allocator);
        assert_valid(f.world);
        assert_int_equal(mica_pool_count(f.world, f.ids[KIND_PASSING_OWNED]), result == MICA_OK ? 6 : 4);
    }
    assert_int_equal(number_of(&f, KIND_PASSING_OWNED, entities[0]), 0);
    assert_int_equal(number_of(&f, KIND_PASSING_OWNED, entities[1]), -1);
    mica_snapshot_release(snapshot);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restore_brings_back_every_kind_of_pool),
        cmocka_unit_test(what_follows_a_restore_goes_as_it_went_the_first_time),
        cmocka_unit_test(snapshots_are_restored_in_any_order),
        cmocka_unit_test(a_pool_that_the_snapshot_does_not_know_becomes_empty),
        cmocka_unit_test(a_pool_that_the_world_does_not_know_comes_to_be),
        cmocka_unit_test(two_worlds_exchange_their_pools),
        cmocka_unit_test(the_tombstone_that_is_used_next_is_the_same),
        cmocka_unit_test(an_entity_whose_slot_was_used_again_is_the_old_one),
        cmocka_unit_test(a_value_that_went_from_the_end_of_an_untouched_page_comes_back),
        cmocka_unit_test(what_nobody_touched_is_shared_whole),
        cmocka_unit_test(a_written_page_alone_is_copied),
        cmocka_unit_test(pages_that_an_element_neither_leaves_nor_enters_are_shared),
        cmocka_unit_test(a_restored_state_is_shared_with_its_snapshot),
        cmocka_unit_test(a_restore_touches_no_page_that_names_its_image),
        cmocka_unit_test(pages_that_a_restore_exchanges_count_as_changed_for_those_outside),
        cmocka_unit_test(what_is_written_behind_the_back_of_an_always_dirty_pool_is_seen),
        cmocka_unit_test(addresses_in_stable_pools_stay),
        cmocka_unit_test(pages_of_packed_values_are_restored_one_by_one),
        cmocka_unit_test(a_type_that_cannot_be_copied_is_refused_by_name),
        cmocka_unit_test(copies_outlive_the_values_and_the_world),
        cmocka_unit_test(a_group_has_its_members_back),
        cmocka_unit_test(a_group_made_since_then_holds_again),
        cmocka_unit_test(transient_values_stay_with_their_entities),
        cmocka_unit_test(transient_values_of_another_generation_do_not_stay),
        cmocka_unit_test(transient_values_that_nobody_can_copy_are_carried),
        cmocka_unit_test(a_snapshot_without_transient_values_shares_nothing_wrong_with_one_that_has_them),
        cmocka_unit_test(a_snapshot_that_lacks_memory_leaves_all_as_it_was),
        cmocka_unit_test(a_restore_that_lacks_memory_leaves_all_as_it_was),
        cmocka_unit_test(a_restore_that_cannot_construct_transient_values_leaves_all_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
