// Hidden rows and disabled components of a store: the counts in the heads of chunks while rows come, go and move, what
// an end and a clone do to marks, and what validation finds.
#include "store/visibility.h"

#include "store/pools.h"
#include "support/test_heap.h"
#include "support/test_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// Ids in order of registration: two that live in tables, one that lives in a pool, all of them with the trait toggle;
// and one in tables without.
enum { TYPE_A = 1, TYPE_B, TYPE_POOLED, TYPE_FIXED };

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_schema *schema;
    mi_store store;
    mi_table *table; // of A
    mi_table *both;  // of A and B
} fixture;

static void begin(fixture *f) {
    memset(f, 0, sizeof(*f));
    test_heap_begin(&f->allocator, &f->heap);
    f->schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f->allocator)});
    mica_type types[] = {
        {.name = "A", .size = 4, .align = 4, .traits = {.storage = MICA_TABLE, .toggle = true}},
        {.name = "B", .size = 4, .align = 4, .traits = {.storage = MICA_TABLE, .toggle = true}},
        {.name = "Pooled", .kind = MICA_KIND_TAG, .traits = {.storage = MICA_POOL, .toggle = true}},
        {.name = "Fixed", .size = 4, .align = 4, .traits = {.storage = MICA_TABLE}},
    };
    for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_equal(mica_schema_register(f->schema, &types[i]), i + 1);
    }
    assert_true(mi_store_init(&f->store, &f->heap, f->schema));
    static const mica_component components[] = {TYPE_A, TYPE_B};
    f->table = mi_store_table(&f->store, components, 1);
    f->both = mi_store_table(&f->store, components, 2);
    assert_non_null(f->table);
    assert_non_null(f->both);
}

static void assert_consistent(const fixture *f) {
    assert_null(mi_store_validate(&f->store));
    assert_null(mi_store_validate_visibility(&f->store));
}

static void end(fixture *f) {
    assert_consistent(f);
    mi_store_free(&f->store);
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
}

static void fill_row(fixture *f, const mi_table *table, uint32_t place) {
    for (uint32_t i = 0; i < table->column_count; i++) {
        memset(mi_store_value(&f->store, table, place, table->columns[i].type->info.id, 4), 0, 4);
    }
}

static mica_entity add_row(fixture *f, mi_table *table) {
    assert_int_equal(mi_slots_reserve(&f->store.slots, &f->heap, 1), MICA_OK);
    assert_true(mi_store_open_rows(&f->store, table, 1));
    const uint32_t place = mi_store_location(table, table->row_count);
    fill_row(f, table, place);
    const mica_entity entity = mi_slots_take(&f->store.slots, place);
    mi_store_publish_at(&f->store, table, entity, place);
    return entity;
}

static uint32_t location_of(const fixture *f, mica_entity entity) {
    uint32_t location = 0;
    assert_true(mi_slots_resolve(&f->store.slots, entity, &location));
    return location;
}

// Brings an entity into another table, as structural changes do.
static void move_row(fixture *f, mica_entity entity, mi_table *to) {
    const uint32_t old = location_of(f, entity);
    mi_table *from = mi_store_table_at(&f->store, old);
    assert_true(mi_store_open_rows(&f->store, to, 1));
    const uint32_t place = mi_store_location(to, to->row_count);
    fill_row(f, to, place);
    mi_slots_move(&f->store.slots, mica_entity_index(entity), place);
    mi_store_publish_at(&f->store, to, entity, place);
    if (mi_store_hides_any(&f->store)) {
        mi_store_count_hidden_row(&f->store, entity, place, true);
    }
    if (old != 0) {
        mi_store_close_hole(&f->store, from, old);
    }
}

static void destroy(fixture *f, mica_entity entity) {
    mi_store_forget_marks(&f->store, entity);
    mi_store_remove_elements(&f->store, entity);
    const uint32_t location = location_of(f, entity);
    if (location != 0) {
        mi_store_close_hole(&f->store, mi_store_table_at(&f->store, location), location);
        mi_slots_move(&f->store.slots, mica_entity_index(entity), 0);
    }
    mi_slots_give(&f->store.slots, mica_entity_index(entity));
}

static void add_element(fixture *f, mica_entity entity) {
    mi_pool *pool = mi_store_pool(&f->store, mi_schema_type(f->schema, TYPE_POOLED));
    mi_pool_moved moved = {0};
    assert_non_null(pool);
    assert_true(mi_store_open_element(&f->store, pool, mica_entity_index(entity), &moved));
    mi_store_publish_element(&f->store, pool, entity);
}

// Hidden rows of the chunk that an entity's row is in.
static uint64_t hidden_beside(const fixture *f, mica_entity entity) {
    return mi_column_head_of(mi_store_base(&f->store, location_of(f, entity)))->hidden_count;
}

static bool is_toggled(const fixture *f, mica_entity entity, mica_component component) {
    const mi_marks *toggled = mi_store_toggled(&f->store, component);
    return toggled != NULL && mi_marks_has(toggled, mica_entity_index(entity));
}

static void a_row_is_hidden_once_however_many_reasons_there_are(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    const mica_entity other = add_row(&f, f.table);
    assert_false(mi_store_hides_any(&f.store));
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    assert_int_equal(hidden_beside(&f, other), 1);
    assert_true(mi_store_set_killed(&f.store, entity, true));
    assert_int_equal(hidden_beside(&f, other), 1);
    assert_true(mi_store_set_disabled(&f.store, entity, false));
    assert_int_equal(hidden_beside(&f, other), 1);
    assert_true(mi_store_hides(&f.store, mica_entity_index(entity)));
    assert_false(mi_store_hides(&f.store, mica_entity_index(other)));
    assert_true(mi_store_set_killed(&f.store, entity, false));
    assert_int_equal(hidden_beside(&f, other), 0);
    assert_false(mi_store_hides_any(&f.store));
    end(&f);
}

static void who_has_no_row_is_counted_once_it_has_one(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    assert_int_equal(mi_slots_reserve(&f.store.slots, &f.heap, 1), MICA_OK);
    const mica_entity entity = mi_slots_take(&f.store.slots, 0);
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    assert_true(mi_store_hides(&f.store, mica_entity_index(entity)));
    assert_consistent(&f);
    move_row(&f, entity, f.table);
    assert_int_equal(hidden_beside(&f, entity), 1);
    end(&f);
}

static void counts_follow_the_row_into_another_table(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    const mica_entity left = add_row(&f, f.table);
    const mica_entity there = add_row(&f, f.both);
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    move_row(&f, entity, f.both);
    assert_int_equal(hidden_beside(&f, left), 0);
    assert_int_equal(hidden_beside(&f, there), 1);
    assert_consistent(&f);
    end(&f);
}

static void counts_follow_the_last_row_into_a_hole_of_another_chunk(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity first = add_row(&f, f.table);
    const mica_entity second = add_row(&f, f.table);
    mica_entity last = second;
    while (f.table->chunk_count < 2) {
        last = add_row(&f, f.table);
    }
    const mica_entity before_last = last;
    last = add_row(&f, f.table);
    assert_true(mi_store_set_killed(&f.store, last, true));
    assert_int_equal(hidden_beside(&f, before_last), 1);
    assert_int_equal(hidden_beside(&f, second), 0);
    destroy(&f, first); // the last row takes its place
    assert_int_equal(hidden_beside(&f, before_last), 0);
    assert_int_equal(hidden_beside(&f, second), 1);
    assert_true(location_of(&f, last) >> MI_ROW_BITS == location_of(&f, second) >> MI_ROW_BITS);
    end(&f);
}

static void counts_stay_when_chunks_grow_move_and_go(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity first = add_row(&f, f.table);
    assert_true(mi_store_set_disabled(&f.store, first, true));
    const uint32_t room = f.table->room;
    mica_entity entity = first;
    while (f.table->room == room) {
        entity = add_row(&f, f.table);
    }
    assert_int_equal(hidden_beside(&f, entity), 1);
    mi_store_shake(&f.store, f.table);
    assert_int_equal(hidden_beside(&f, entity), 1);
    while (f.table->chunk_count < 3) {
        entity = add_row(&f, f.table);
    }
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    mi_store_shake(&f.store, f.table);
    assert_consistent(&f);
    destroy(&f, entity);
    mi_store_trim(&f.store);
    assert_int_equal(f.table->chunk_count, 2);
    assert_int_equal(hidden_beside(&f, first), 1);
    end(&f);
}

static void an_end_takes_all_marks_along(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.both);
    const mica_entity other = add_row(&f, f.both);
    add_element(&f, entity);
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    assert_true(mi_store_set_killed(&f.store, entity, true));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_A, true));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_POOLED, true));
    assert_true(mi_store_set_toggled(&f.store, other, TYPE_B, true));
    assert_int_equal(f.store.toggle_count, 3);
    assert_consistent(&f);
    destroy(&f, entity);
    assert_int_equal(f.store.toggle_count, 1);
    assert_consistent(&f);
    const mica_entity next = add_row(&f, f.both);
    assert_int_equal(mica_entity_index(next), mica_entity_index(entity));
    assert_false(mi_store_hides(&f.store, mica_entity_index(next)));
    assert_false(is_toggled(&f, next, TYPE_A));
    end(&f);
}

static void a_component_that_is_lost_is_disabled_no_more(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.both);
    assert_null(mi_store_toggled(&f.store, TYPE_B));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_B, true));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_B, true));
    assert_true(is_toggled(&f, entity, TYPE_B));
    assert_false(is_toggled(&f, entity, TYPE_A));
    assert_int_equal(f.store.toggle_count, 1);
    mi_store_forget_toggle(&f.store, entity, TYPE_FIXED);
    mi_store_forget_toggle(&f.store, entity, TYPE_A);
    assert_true(is_toggled(&f, entity, TYPE_B));
    mi_store_forget_toggle(&f.store, entity, TYPE_B);
    assert_null(mi_store_toggled(&f.store, TYPE_B));
    assert_int_equal(f.store.toggle_count, 0);
    end(&f);
}

static void a_clone_is_disabled_as_its_source_and_not_killed(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity source = add_row(&f, f.both);
    const mica_entity clone = add_row(&f, f.both);
    add_element(&f, source);
    add_element(&f, clone);
    assert_true(mi_store_set_disabled(&f.store, source, true));
    assert_true(mi_store_set_killed(&f.store, source, true));
    assert_true(mi_store_set_toggled(&f.store, source, TYPE_B, true));
    assert_true(mi_store_set_toggled(&f.store, source, TYPE_POOLED, true));
    assert_true(mi_store_copy_marks(&f.store, source, clone));
    assert_true(mi_marks_has(&f.store.disabled, mica_entity_index(clone)));
    assert_false(mi_marks_has(&f.store.killed, mica_entity_index(clone)));
    assert_false(is_toggled(&f, clone, TYPE_A));
    assert_true(is_toggled(&f, clone, TYPE_B));
    assert_true(is_toggled(&f, clone, TYPE_POOLED));
    assert_int_equal(hidden_beside(&f, clone), 2);
    end(&f);
}

static void marks_without_memory_change_nothing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    for (int32_t kind = 0; kind < 3; kind++) {
        uint64_t failures = 0;
        for (uint64_t n = 1;; n++) {
            f.store.failure = MICA_OK;
            test_allocator_fail_at(&f.allocator, n);
            const bool done = kind == 0   ? mi_store_set_disabled(&f.store, entity, true)
                              : kind == 1 ? mi_store_set_killed(&f.store, entity, true)
                                          : mi_store_set_toggled(&f.store, entity, TYPE_A, true);
            if (!test_allocator_fail_stop(&f.allocator)) {
                assert_true(done);
                break;
            }
            failures++;
            assert_false(done);
            assert_int_equal(f.store.failure, MICA_OUT_OF_MEMORY);
            assert_false(mi_store_hides_any(&f.store));
            assert_int_equal(f.store.toggle_count, 0);
            assert_consistent(&f);
            mi_store_trim_visibility(&f.store); // so that the next try needs all of it again
        }
        assert_int_equal(failures, kind == 2 ? 3 : 2);
        mi_store_forget_marks(&f.store, entity);
    }
    end(&f);
}

static void marks_count_how_often_they_change(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    uint64_t changes = f.store.mark_changes;
    for (int32_t i = 0; i < 2; i++) { // the second time nothing changes
        assert_true(mi_store_set_disabled(&f.store, entity, true));
        assert_true(mi_store_set_killed(&f.store, entity, true));
        assert_true(mi_store_set_toggled(&f.store, entity, TYPE_A, true));
        assert_int_equal(f.store.mark_changes, changes + 3);
    }
    changes = f.store.mark_changes;
    mi_store_forget_marks(&f.store, entity);
    assert_int_equal(f.store.mark_changes, changes + 3);
    mi_store_forget_marks(&f.store, entity);
    assert_int_equal(f.store.mark_changes, changes + 3);
    mi_store_clear_visibility(&f.store);
    assert_true(f.store.mark_changes > changes + 3);
    end(&f);
}

static void taking_marks_away_needs_no_memory(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    const uint64_t calls = f.allocator.call_count;
    assert_true(mi_store_set_disabled(&f.store, entity, false));
    assert_true(mi_store_set_killed(&f.store, entity, false));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_A, false));
    assert_int_equal(f.allocator.call_count, calls);
    end(&f);
}

static void clearing_takes_all_marks_and_counts_away(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (int32_t i = 0; i < 20; i++) {
        const mica_entity entity = add_row(&f, i % 2 == 0 ? f.table : f.both);
        assert_true(mi_store_set_disabled(&f.store, entity, i % 3 == 0));
        assert_true(mi_store_set_toggled(&f.store, entity, TYPE_A, i % 4 == 0));
    }
    assert_consistent(&f);
    mi_store_clear_rows(&f.store);
    mi_store_clear_visibility(&f.store);
    mi_slots_clear(&f.store.slots);
    assert_false(mi_store_hides_any(&f.store));
    assert_int_equal(f.store.toggle_count, 0);
    assert_consistent(&f);
    assert_int_equal(hidden_beside(&f, add_row(&f, f.table)), 0);
    end(&f);
}

static void trimming_frees_what_nobody_is_marked_in(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.both);
    const size_t before = f.heap.bytes[MICA_MEMORY_ENTITIES];
    assert_true(mi_store_set_disabled(&f.store, entity, true));
    assert_true(mi_store_set_killed(&f.store, entity, true));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_A, true));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_B, true));
    mi_store_trim_visibility(&f.store);
    assert_true(mi_marks_has(&f.store.disabled, mica_entity_index(entity)));
    assert_true(mi_marks_has(&f.store.killed, mica_entity_index(entity)));
    assert_true(is_toggled(&f, entity, TYPE_A) && is_toggled(&f, entity, TYPE_B));
    mi_store_forget_toggle(&f.store, entity, TYPE_A);
    mi_store_trim_visibility(&f.store);
    assert_true(is_toggled(&f, entity, TYPE_B));
    mi_store_forget_marks(&f.store, entity);
    mi_store_trim_visibility(&f.store);
    assert_true(f.heap.bytes[MICA_MEMORY_ENTITIES] == before);
    end(&f);
}

static void validation_finds_what_does_not_fit(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mica_entity entity = add_row(&f, f.table);
    const uint32_t index = mica_entity_index(entity);
    mi_column_head *head = mi_column_head_of(mi_store_base(&f.store, location_of(&f, entity)));
    head->hidden_count = 1;
    assert_string_equal(mi_store_validate_visibility(&f.store),
                        "visibility: a chunk has another number of hidden rows than it says");
    head->hidden_count = 0;
    static const char not_alive[] = "visibility: an entity that is not alive is marked";
    assert_true(mi_marks_open(&f.store.killed, &f.heap, index + 1));
    mi_marks_put(&f.store.killed, index + 1, true);
    assert_string_equal(mi_store_validate_visibility(&f.store), not_alive);
    mi_marks_put(&f.store.killed, index + 1, false);
    static const char not_there[] =
        "visibility: a component is disabled on an entity that does not have it, or cannot be";
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_B, true));
    assert_string_equal(mi_store_validate_visibility(&f.store), not_there);
    mi_store_forget_toggle(&f.store, entity, TYPE_B);
    static const mica_component fixed[] = {TYPE_FIXED};
    move_row(&f, entity, mi_store_table(&f.store, fixed, 1));
    assert_true(mi_store_set_toggled(&f.store, entity, TYPE_FIXED, true));
    assert_string_equal(mi_store_validate_visibility(&f.store), not_there);
    mi_store_forget_toggle(&f.store, entity, TYPE_FIXED);
    f.store.toggle_count = 1;
    assert_string_equal(mi_store_validate_visibility(&f.store),
                        "visibility: disabled components are another number than the store says");
    f.store.toggle_count = 0;
    f.store.extras = MI_EXTRA_MARKS;
    assert_string_equal(mi_store_validate_visibility(&f.store),
                        "visibility: the store says wrongly whether anything is marked");
    f.store.extras = 0;
    f.store.disabled.count = 1;
    assert_string_equal(mi_store_validate_visibility(&f.store),
                        "visibility: a set of entities has another number of members than it says");
    f.store.disabled.count = 0;
    end(&f);
}

// Rows come, go and move at random while entities are hidden and shown; every count is right all the time.
static void counts_are_right_under_random_churn(void **state) {
    (void)state;
    enum { LIMIT = 12000 };
    static mica_entity entities[LIMIT];
    fixture f;
    begin(&f);
    test_random random = {77};
    uint32_t count = 0;
    add_row(&f, f.table); // trimming leaves tables with rows
    add_row(&f, f.both);
    for (int32_t step = 0; step < 60000; step++) {
        const uint32_t i = count == 0 ? 0 : test_random_below(&random, count);
        const uint32_t choice = test_random_below(&random, 10);
        if (count == 0 || (choice < 4 && count < LIMIT)) {
            entities[count++] = add_row(&f, choice % 2 == 0 ? f.table : f.both);
        } else if (choice == 4) {
            destroy(&f, entities[i]);
            entities[i] = entities[--count];
        } else if (choice == 5) {
            const bool is_in_both = mi_store_table_at(&f.store, location_of(&f, entities[i])) == f.both;
            move_row(&f, entities[i], is_in_both ? f.table : f.both);
            mi_store_forget_toggle(&f.store, entities[i], TYPE_B);
        } else if (choice == 6) {
            assert_true(mi_store_set_killed(&f.store, entities[i], test_random_below(&random, 2) == 0));
        } else if (choice == 7) {
            assert_true(mi_store_set_toggled(&f.store, entities[i], TYPE_A, test_random_below(&random, 2) == 0));
        } else {
            assert_true(mi_store_set_disabled(&f.store, entities[i], test_random_below(&random, 2) == 0));
        }
        if (step % 997 == 0) {
            mi_store_trim(&f.store);
            mi_store_trim_visibility(&f.store);
            assert_consistent(&f);
        }
        if (step % 20011 == 20010) { // down to few rows, so that chunks go
            while (count > 50) {
                destroy(&f, entities[--count]);
            }
            assert_consistent(&f);
        }
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_hidden_once_however_many_reasons_there_are),
        cmocka_unit_test(who_has_no_row_is_counted_once_it_has_one),
        cmocka_unit_test(counts_follow_the_row_into_another_table),
        cmocka_unit_test(counts_follow_the_last_row_into_a_hole_of_another_chunk),
        cmocka_unit_test(counts_stay_when_chunks_grow_move_and_go),
        cmocka_unit_test(an_end_takes_all_marks_along),
        cmocka_unit_test(a_component_that_is_lost_is_disabled_no_more),
        cmocka_unit_test(a_clone_is_disabled_as_its_source_and_not_killed),
        cmocka_unit_test(marks_without_memory_change_nothing),
        cmocka_unit_test(marks_count_how_often_they_change),
        cmocka_unit_test(taking_marks_away_needs_no_memory),
        cmocka_unit_test(clearing_takes_all_marks_and_counts_away),
        cmocka_unit_test(trimming_frees_what_nobody_is_marked_in),
        cmocka_unit_test(validation_finds_what_does_not_fit),
        cmocka_unit_test(counts_are_right_under_random_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
