// Snapshots: exact in all that a world's store holds, whatever happened before and after; shared where nothing was
// written; all or nothing.
#include "state/state.h"
#include "state/state_world.h"

#include <stdlib.h>

// A world is as it was, and goes on as it went on then: the dump of after `count` more steps is the same, too.
typedef struct moment {
    mica_snapshot *snapshot;
    state_dump dump;
    state_dump later; // after 1,000 steps more
} moment;

static void take_moment(state_world *w, moment *m, uint64_t seed) {
    m->snapshot = mica_snapshot_take(w->world, NULL);
    assert_non_null(m->snapshot);
    m->dump = dump_world(w->world);
    state_go_on(w, seed, 1000);
    m->later = dump_world(w->world);
}

static void check_moment(state_world *w, moment *m, uint64_t seed) {
    assert_int_equal(mica_snapshot_restore(m->snapshot, w->world, NULL), MICA_OK);
    state_dump dump = dump_world(w->world);
    assert_dumps_equal(&dump, &m->dump);
    dump_free(&dump);
    state_go_on(w, seed, 1000);
    dump = dump_world(w->world);
    assert_dumps_equal(&dump, &m->later);
    dump_free(&dump);
}

static void free_moment(moment *m) {
    mica_snapshot_release(m->snapshot);
    dump_free(&m->dump);
    dump_free(&m->later);
}

enum { MOMENT_COUNT = 6 };

static void what_follows_a_restore_is_what_followed_the_snapshot(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        owned_alive = 0;
        state_world w;
        state_world_open(&w, NULL);
        test_random random = {.state = seed};
        moment moments[MOMENT_COUNT];
        for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
            state_go_on(&w, test_random_next(&random), test_random_below(&random, 1500));
            take_moment(&w, &moments[i], seed * 100 + i);
        }
        for (uint32_t i = 0; i < 3 * MOMENT_COUNT; i++) {
            const uint32_t chosen = test_random_below(&random, MOMENT_COUNT);
            check_moment(&w, &moments[chosen], seed * 100 + chosen);
        }
        for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
            free_moment(&moments[i]);
        }
        mica_world_destroy(w.world);
        assert_int_equal(owned_alive, 0);
    }
}

// Refusals

// A snapshot's version is later than all stamps: the first one of a state may raise the world's.
static void settle_version(state_world *w) {
    mica_snapshot_release(mica_snapshot_take(w->world, NULL));
}

static void a_snapshot_that_finds_no_memory_leaves_the_world_as_it_was(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    state_world w;
    state_world_open(&w, &(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    state_go_on(&w, 5, 600);
    settle_version(&w);
    state_dump before = dump_world(w.world);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&allocator, n);
        mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
        const bool has_failed = test_allocator_fail_stop(&allocator);
        state_dump after = dump_world(w.world);
        assert_dumps_equal(&before, &after);
        dump_free(&after);
        if (!has_failed) {
            assert_non_null(snapshot);
            mica_snapshot_release(snapshot);
            break;
        }
        assert_null(snapshot);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
    dump_free(&before);
    mica_world_destroy(w.world);
    test_allocator_finish(&allocator);
}

static void a_restore_that_finds_no_memory_leaves_the_world_as_it_was(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    state_world w;
    state_world_open(&w, &(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
    state_go_on(&w, 6, 600);
    mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
    state_dump then = dump_world(w.world);
    state_go_on(&w, 7, 200);
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_world_trim(w.world), MICA_OK);
    state_go_on(&w, 8, 20);
    state_dump before = dump_world(w.world);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_snapshot_restore(snapshot, w.world, NULL);
        const bool has_failed = test_allocator_fail_stop(&allocator);
        state_dump after = dump_world(w.world);
        assert_dumps_equal(has_failed ? &before : &then, &after);
        dump_free(&after);
        if (!has_failed) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
    }
    dump_free(&before);
    dump_free(&then);
    mica_snapshot_release(snapshot);
    mica_world_destroy(w.world);
    test_allocator_finish(&allocator);
}

static void a_copy_hook_that_fails_leaves_the_world_as_it_was(void **state) {
    (void)state;
    owned_alive = 0;
    state_world w;
    state_world_open(&w, NULL);
    state_go_on(&w, 9, 800);
    mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
    state_go_on(&w, 10, 800);
    state_dump before = dump_world(w.world);
    const int32_t alive = owned_alive;
    bool is_through = false;
    for (int32_t n = 1; !is_through; n++) {
        owned_fails_in = n;
        is_through = mica_snapshot_restore(snapshot, w.world, NULL) == MICA_OK;
        const bool was_reached = owned_fails_in == 0;
        owned_fails_in = 0;
        assert_true(is_through != was_reached);
        if (!is_through) {
            state_dump after = dump_world(w.world);
            assert_dumps_equal(&before, &after);
            dump_free(&after);
            assert_int_equal(owned_alive, alive);
        }
    }
    dump_free(&before);
    mica_snapshot_release(snapshot);
    mica_world_destroy(w.world);
    assert_int_equal(owned_alive, 0);
}

static void sole_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)values;
    (void)count;
    (void)context;
}

typedef struct Sole {
    int32_t file;
} Sole;
MICA_COMPONENT_WITH(Sole, (.hooks = {.destruct = sole_destruct}));

static void a_type_that_cannot_be_copied_is_named(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_entity_create(world);
    assert_int_equal(mica_entity_add(world, entity, mica_register(world, Sole), NULL), MICA_OK);
    assert_null(mica_snapshot_take(world, NULL));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_non_null(strstr(mica_last_error(), "Sole"));
    assert_int_equal(mica_entity_remove(world, entity, mica_register(world, Sole)), MICA_OK);
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

static void structure_must_not_be_locked(void **state) {
    (void)state;
    state_world w;
    state_world_open(&w, NULL);
    state_go_on(&w, 11, 100);
    mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
    mica_query *query = mica_query_of(w.world, mica_read(Position));
    mica_iter iter = mica_query_begin(query);
    assert_null(mica_snapshot_take(w.world, NULL));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_snapshot_restore(snapshot, w.world, NULL), MICA_LOCKED);
    mica_iter_end(&iter);
    assert_int_equal(mica_snapshot_restore(snapshot, w.world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
    mica_world_destroy(w.world);
}

static void a_world_of_another_schema_is_refused(void **state) {
    (void)state;
    mica_world *a = mica_world_create(NULL);
    mica_world *b = mica_world_create(&(mica_world_def){.name = "other"});
    mica_snapshot *snapshot = mica_snapshot_take(a, NULL);
    assert_int_equal(mica_snapshot_restore(snapshot, b, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "other"));
    assert_int_equal(mica_world_copy(b, a), MICA_MISMATCH);
    assert_int_equal(mica_world_swap(a, b), MICA_MISMATCH);
    assert_int_equal(mica_snapshot_restore(NULL, a, NULL), MICA_INVALID);
    assert_int_equal(mica_snapshot_restore(snapshot, NULL, NULL), MICA_INVALID);
    assert_null(mica_snapshot_take(NULL, NULL));
    mica_snapshot_release(NULL);
    mica_snapshot_release(snapshot);
    mica_world_destroy(a);
    mica_world_destroy(b);
}

// Sharing

MICA_STRUCT_WITH(Block, (.storage = MICA_TABLE), { float values[4]; });
MICA_STRUCT_WITH(Other, (.storage = MICA_TABLE), { float values[4]; });

enum { BLOCK_COUNT = 20000 };

static mica_world *world_of_blocks(void) {
    mica_world *world = mica_world_create(NULL);
    const mica_column columns[] = {{.type = mica_type_of(Block)}, {.type = mica_type_of(Other)}};
    assert_int_equal(mica_entity_spawn_many(world, columns, 2, BLOCK_COUNT, NULL), MICA_OK);
    return world;
}

static void a_snapshot_takes_what_was_written_and_no_more(void **state) {
    (void)state;
    mica_world *world = world_of_blocks();
    mica_snapshot *first = mica_snapshot_take(world, NULL);
    const size_t all = mica_snapshot_own_byte_size(first);
    assert_true(all >= BLOCK_COUNT * (sizeof(mica_entity) + sizeof(Block) + sizeof(Other)));
    mica_snapshot *second = mica_snapshot_take(world, NULL);
    assert_true(mica_snapshot_own_byte_size(second) < 1024);

    // One column of one chunk, under the version under which it was written before, too.
    mica_query *query = mica_query_of(world, mica_write(Block), mica_read(Other));
    for (int32_t turn = 0; turn < 3; turn++) {
        mica_iter iter = mica_query_begin(query);
        assert_true(mica_iter_next(&iter));
        Block *blocks = mica_write_of(iter, Block);
        blocks[turn].values[1] = 3;
        const int32_t count = iter.count;
        mica_iter_end(&iter);
        mica_snapshot *third = mica_snapshot_take(world, NULL);
        const size_t own = mica_snapshot_own_byte_size(third);
        assert_true(own > (size_t)count * sizeof(Block) && own < (size_t)count * sizeof(Block) + 2048);
        mica_snapshot_release(second);
        second = third;
    }
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_world_destroy(world);
}

static void a_column_written_without_marks_is_copied(void **state) {
    (void)state;
    mica_world *world = world_of_blocks();
    mica_snapshot *first = mica_snapshot_take(world, NULL);
    mica_query *query = mica_query_of(world, mica_write_marked(Block));
    mica_iter iter = mica_query_begin(query);
    assert_true(mica_iter_next(&iter));
    Block *blocks = mica_write_of(iter, Block);
    const mica_entity entity = iter.entities[0];
    blocks[0].values[2] = 5;
    mica_iter_end(&iter);
    mica_snapshot *second = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_snapshot_restore(first, world, NULL), MICA_OK);
    assert_true(mica_get(world, entity, Block)->values[2] == 0);
    assert_int_equal(mica_snapshot_restore(second, world, NULL), MICA_OK);
    assert_true(mica_get(world, entity, Block)->values[2] == 5);
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_world_destroy(world);
}

// Worlds of many chunks: destroying in between moves rows from the end.
static void many_chunks_are_restored(void **state) {
    (void)state;
    mica_world *world = world_of_blocks();
    test_random random = {.state = 3};
    enum { COUNT = 5 };
    mica_snapshot *snapshots[COUNT];
    state_dump dumps[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        snapshots[i] = mica_snapshot_take(world, NULL);
        dumps[i] = dump_world(world);
        for (uint32_t k = 0; k < 300; k++) {
            const uint32_t index = 1 + test_random_below(&random, BLOCK_COUNT - 1);
            const mica_entity entity = mi_slots_handle(&world->store.slots, index);
            if (test_random_below(&random, 2) == 0) {
                (void)mica_entity_destroy(world, entity);
            } else {
                (void)mica_set(world, entity, Block, {{(float)k}});
            }
        }
    }
    for (uint32_t i = 0; i < 4 * COUNT; i++) {
        const uint32_t chosen = test_random_below(&random, COUNT);
        assert_int_equal(mica_snapshot_restore(snapshots[chosen], world, NULL), MICA_OK);
        state_dump dump = dump_world(world);
        assert_dumps_equal(&dump, &dumps[chosen]);
        dump_free(&dump);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        mica_snapshot_release(snapshots[i]);
        dump_free(&dumps[i]);
    }
    mica_world_destroy(world);
}

// A slot that was destroyed and taken again between two snapshots has left no trace in rows or in the free list.
static void entities_that_came_and_went_are_not_forgotten(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_entity_create(world);
    mica_snapshot *first = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_entity_destroy(world, entity), MICA_OK);
    const mica_entity again = mica_entity_create(world);
    assert_int_equal(mica_entity_index(again), mica_entity_index(entity));
    mica_snapshot *second = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_snapshot_restore(first, world, NULL), MICA_OK);
    assert_true(mica_entity_alive(world, entity) && !mica_entity_alive(world, again));
    assert_int_equal(mica_snapshot_restore(second, world, NULL), MICA_OK);
    assert_true(!mica_entity_alive(world, entity) && mica_entity_alive(world, again));
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_world_destroy(world);
}

// Copies of worlds

static void a_copy_goes_on_as_its_original(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    const mica_world_def def = {.schema = schema};
    for (uint64_t seed = 20; seed < 24; seed++) {
        state_world from;
        state_world to;
        state_world_open(&from, &def);
        state_world_open(&to, &def);
        state_go_on(&from, seed, 700);
        state_go_on(&to, seed + 50, 500);
        assert_int_equal(mica_world_copy(to.world, from.world), MICA_OK);
        for (uint32_t turn = 0; turn < 2; turn++) {
            state_dump a = dump_world(from.world);
            state_dump b = dump_world(to.world);
            assert_dumps_equal(&a, &b);
            dump_free(&a);
            dump_free(&b);
            state_go_on(&from, seed + 9, 900);
            state_go_on(&to, seed + 9, 900);
        }
        mica_world_destroy(from.world);
        mica_world_destroy(to.world);
    }
    mica_schema_release(schema);
}

static void two_worlds_change_places(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_world_def def = {.schema = schema, .allocator = test_allocator_hooks(&allocator)};
    state_world w[2];
    state_dump dumps[2];
    for (uint32_t i = 0; i < 2; i++) {
        state_world_open(&w[i], &def);
        state_go_on(&w[i], 30 + i, 400 + 200 * i);
        settle_version(&w[i]);
        dumps[i] = dump_world(w[i].world);
    }
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_world_swap(w[0].world, w[1].world);
        const bool has_failed = test_allocator_fail_stop(&allocator);
        assert_int_equal(result, has_failed ? MICA_OUT_OF_MEMORY : MICA_OK);
        for (uint32_t i = 0; i < 2; i++) {
            state_dump dump = dump_world(w[i].world);
            assert_dumps_equal(&dump, &dumps[has_failed ? i : 1 - i]);
            dump_free(&dump);
        }
        if (!has_failed) {
            break;
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        dump_free(&dumps[i]);
        mica_world_destroy(w[i].world);
    }
    mica_schema_release(schema);
    test_allocator_finish(&allocator);
}

static void a_snapshot_outlives_its_world(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    const mica_world_def def = {.schema = schema};
    state_world w;
    state_world_open(&w, &def);
    state_go_on(&w, 40, 600);
    mica_snapshot *snapshot = mica_snapshot_take(w.world, NULL);
    state_dump then = dump_world(w.world);
    mica_world_destroy(w.world);
    state_world_open(&w, &def);
    assert_int_equal(mica_snapshot_restore(snapshot, w.world, NULL), MICA_OK);
    state_dump now = dump_world(w.world);
    assert_dumps_equal(&then, &now);
    mica_snapshot *own = mica_snapshot_take(w.world, NULL);
    mica_snapshot_release(snapshot);
    state_go_on(&w, 41, 100);
    assert_int_equal(mica_snapshot_restore(own, w.world, NULL), MICA_OK);
    dump_free(&now);
    now = dump_world(w.world);
    assert_dumps_equal(&then, &now);
    dump_free(&now);
    dump_free(&then);
    mica_snapshot_release(own);
    mica_world_destroy(w.world);
    mica_schema_release(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_a_restore_is_what_followed_the_snapshot),
        cmocka_unit_test(a_snapshot_that_finds_no_memory_leaves_the_world_as_it_was),
        cmocka_unit_test(a_restore_that_finds_no_memory_leaves_the_world_as_it_was),
        cmocka_unit_test(a_copy_hook_that_fails_leaves_the_world_as_it_was),
        cmocka_unit_test(a_type_that_cannot_be_copied_is_named),
        cmocka_unit_test(structure_must_not_be_locked),
        cmocka_unit_test(a_world_of_another_schema_is_refused),
        cmocka_unit_test(a_snapshot_takes_what_was_written_and_no_more),
        cmocka_unit_test(a_column_written_without_marks_is_copied),
        cmocka_unit_test(many_chunks_are_restored),
        cmocka_unit_test(entities_that_came_and_went_are_not_forgotten),
        cmocka_unit_test(a_copy_goes_on_as_its_original),
        cmocka_unit_test(two_worlds_change_places),
        cmocka_unit_test(a_snapshot_outlives_its_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
