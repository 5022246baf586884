// Counters and random numbers as state: what programs can count, and what placeholders and generators give next.
#include "world/part_world.h"

MICA_STRUCT(Position, { int32_t x; });

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_world *world;
    mi_record record;
    mica_entity entity; // dead
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_heap_begin(&f.allocator, &f.heap);
    f.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.world);
    f.record = part_record(&f.heap);
    f.entity = mica_spawn(f.world, mica_value_of(Position, {1}));
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_record_free(&f->record);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_world_destroy(f->world);
    test_allocator_finish(&f->allocator);
    return 0;
}

static void save(fixture *f, const mi_part *part) {
    mi_record_free(&f->record);
    assert_int_equal(part_save(f->world, part, &f->record), MICA_OK);
}

// The placeholder that a walk is given.
static mica_entity walk_and_spawn(const fixture *f) {
    mica_query *query = mica_query_of(f->world, mica_read(Position));
    mica_entity made = MICA_NULL;
    mica_each (query, it) {
        made = mica_spawn(mica_iter_commands(it), mica_value_of(Position, {2}));
        mica_destroy(mica_iter_commands(it), it.entities[0]);
        mica_destroy(mica_iter_commands(it), it.entities[0]); // is skipped
        break;
    }
    mica_query_release(query);
    return made;
}

static void skipped_commands_are_counted_once(void **state) {
    fixture *f = *state;
    walk_and_spawn(f);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 1);
    save(f, &mi_counters_part);
    walk_and_spawn(f);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 2);
    assert_int_equal(part_load(f->world, &mi_counters_part, &f->record), MICA_OK);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 1);
    assert_int_equal(part_load(f->world, &mi_counters_part, NULL), MICA_OK);
    assert_int_equal(mica_world_statistics(f->world).command_skipped_count, 0);
}

static void placeholders_of_walks_are_the_same_again(void **state) {
    fixture *f = *state;
    const mica_entity first = walk_and_spawn(f);
    save(f, &mi_counters_part);
    const mica_entity second = walk_and_spawn(f);
    assert_false(mica_entity_equal(first, second));
    walk_and_spawn(f);
    assert_int_equal(part_load(f->world, &mi_counters_part, &f->record), MICA_OK);
    assert_true(mica_entity_equal(walk_and_spawn(f), second));
}

static void a_world_that_never_recorded_gives_them_too(void **state) {
    fixture *f = *state;
    walk_and_spawn(f);
    save(f, &mi_counters_part);
    const mica_entity second = walk_and_spawn(f);
    fixture other = {.world = mica_world_create(NULL)};
    mica_spawn(other.world, mica_value_of(Position, {1}));
    assert_int_equal(part_load(other.world, &mi_counters_part, &f->record), MICA_OK);
    assert_true(mica_entity_equal(walk_and_spawn(&other), second));
    mica_world_destroy(other.world);
}

// Commands that memory was too short to apply wait, and are no state that can be saved; restoring drops them.
static void a_world_whose_commands_wait_for_memory_is_not_saved(void **state) {
    fixture *f = *state;
    save(f, &mi_counters_part);
    mica_query *query = mica_query_of(f->world, mica_read(Position));
    mica_each (query, it) {
        for (int32_t i = 0; i < 5000; i++) {
            mica_spawn(mica_iter_commands(it), mica_value_of(Position, {2}));
        }
        test_allocator_fail_from(&f->allocator, 1);
        break;
    }
    assert_true(test_allocator_fail_stop(&f->allocator));
    mica_query_release(query);
    assert_true(mica_commands_count(f->world->walk_commands) > 0);
    mi_record record = part_record(&f->heap);
    assert_int_equal(part_save(f->world, &mi_counters_part, &record), MICA_OUT_OF_MEMORY);
    mi_record_free(&record);
    assert_int_equal(part_load(f->world, &mi_counters_part, &f->record), MICA_OK);
    assert_int_equal(mica_commands_count(f->world->walk_commands), 0);
}

static void random_numbers_are_the_same_again(void **state) {
    fixture *f = *state;
    mica_random *random = mica_world_random(f->world);
    const uint64_t first = mica_random_next(random);
    save(f, &mi_random_part);
    const uint64_t second = mica_random_next(random);
    mica_random_next(random);
    assert_int_equal(part_load(f->world, &mi_random_part, &f->record), MICA_OK);
    assert_true(mica_random_next(mica_world_random(f->world)) == second);
    assert_int_equal(part_load(f->world, &mi_random_part, NULL), MICA_OK);
    assert_true(mica_random_next(mica_world_random(f->world)) == first);
}

static void records_from_outside_stand_every_cut_and_change(void **state) {
    fixture *f = *state;
    walk_and_spawn(f);
    mica_random_next(mica_world_random(f->world));
    save(f, &mi_counters_part);
    part_assert_stands_all(&(part_outside){.world = f->world, .part = &mi_counters_part, .record = &f->record});
    save(f, &mi_random_part);
    part_assert_stands_all(&(part_outside){.world = f->world, .part = &mi_random_part, .record = &f->record});
}

static void every_lack_of_memory_leaves_everything_as_it_was(void **state) {
    fixture *f = *state;
    fixture other = {.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)})};
    walk_and_spawn(f);
    save(f, &mi_counters_part);
    part_assert_stands_lack(other.world, &mi_counters_part, &f->record, &f->allocator);
    save(f, &mi_random_part);
    part_assert_stands_lack(other.world, &mi_random_part, &f->record, &f->allocator);
    mica_world_destroy(other.world);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(skipped_commands_are_counted_once),
        CASE(placeholders_of_walks_are_the_same_again),
        CASE(a_world_that_never_recorded_gives_them_too),
        CASE(a_world_whose_commands_wait_for_memory_is_not_saved),
        CASE(random_numbers_are_the_same_again),
        CASE(records_from_outside_stand_every_cut_and_change),
        CASE(every_lack_of_memory_leaves_everything_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
