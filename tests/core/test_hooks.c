// All sixteen sets of hooks that a type can have, through every verb: each value that came to be ends exactly once, and
// at the address where it lives.
#include "book.h"
#include "support/test_allocator.h"

#include <mica/mica.h>

MICA_STRUCT(Number, { int32_t now; });

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_component booked;
    uint32_t subset;
} fixture;

static void begin(fixture *f, uint32_t subset) {
    book_start();
    f->subset = subset;
    test_allocator_init(&f->allocator);
    f->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator)});
    mica_type type = {.name = "Booked",
                      .size = sizeof(Booked),
                      .align = _Alignof(Booked),
                      .traits = {.hooks = book_hooks(&f->subset)}};
    f->booked = mica_world_register(f->world, &type);
    assert_int_not_equal(f->booked, 0);
}

static void check_book(const fixture *f) {
    if (book.fault != NULL) {
        fail_msg("hooks %u: %s", f->subset, book.fault);
    }
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
}

static void end(fixture *f) {
    check_book(f);
    mica_world_destroy(f->world);
    if (book.fault != NULL || ((f->subset & HAS_DESTRUCT) != 0 && book.live != 0)) {
        fail_msg("hooks %u: %s, %u values live on", f->subset, book.fault == NULL ? "" : book.fault, book.live);
    }
    test_allocator_finish(&f->allocator);
}

// A value in the test's hands. It is still there after a call that failed, or copied it; then it must be dropped.
static void hold(const fixture *f, Booked *value, int32_t number) {
    *value = book_enter(f->subset, value, number);
}

static void drop(const fixture *f, Booked *value) {
    book_end(f->subset, value);
}

// After a call that took the value.
static void taken(const fixture *f, Booked *value) {
    if (!is_move_only(f->subset)) {
        drop(f, value);
    }
}

static void assert_number(const fixture *f, mica_entity entity, int32_t number) {
    const Booked *value = mica_entity_get(f->world, entity, f->booked);
    assert_non_null(value);
    book_find(f->subset, value);
    assert_int_equal(value->number, number);
}

static int32_t constructed(const fixture *f) {
    return (f->subset & HAS_CONSTRUCT) != 0 ? -1 : 0;
}

static mica_entity spawn(const fixture *f, int32_t number) {
    Booked value;
    hold(f, &value, number);
    const mica_entity entity = mica_entity_spawn(f->world, &(mica_value){.component = f->booked, .value = &value}, 1);
    assert_false(mica_entity_is_null(entity));
    taken(f, &value);
    return entity;
}

static void verbs_on_one_entity(const fixture *f) {
    const mica_entity entity = mica_create(f->world);
    Booked value;
    assert_int_equal(mica_entity_add(f->world, entity, f->booked, NULL), MICA_OK);
    assert_number(f, entity, constructed(f));
    hold(f, &value, 7);
    assert_int_equal(mica_entity_set(f->world, entity, f->booked, &value), MICA_OK);
    taken(f, &value);
    assert_int_equal(mica_set(f->world, entity, Number, {1}), MICA_OK);
    assert_int_equal(mica_remove(f->world, entity, Number), MICA_OK);
    assert_number(f, entity, 7);
    // Replaced by itself, and refused: the value stays whose it was.
    assert_int_equal(mica_entity_set(f->world, entity, f->booked, mica_entity_get(f->world, entity, f->booked)),
                     MICA_OK);
    assert_number(f, entity, 7);
    hold(f, &value, 8);
    assert_int_equal(mica_entity_add(f->world, entity, f->booked, &value), MICA_EXISTS);
    assert_int_equal(mica_entity_set(f->world, MICA_NULL, f->booked, &value), MICA_STALE);
    drop(f, &value);
    assert_int_equal(mica_entity_remove(f->world, entity, f->booked), MICA_OK);
    hold(f, &value, 9);
    assert_int_equal(mica_entity_add(f->world, entity, f->booked, &value), MICA_OK);
    taken(f, &value);
    assert_number(f, entity, 9);
    check_book(f);
}

static void rows_come_and_go(const fixture *f) {
    enum { COUNT = 30 };
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) { // the first chunk grows twice
        entities[i] = spawn(f, 100 + i);
        if (i % 3 == 0) {
            assert_int_equal(mica_set(f->world, entities[i], Number, {i}), MICA_OK);
        }
    }
    assert_int_equal(mica_destroy(f->world, entities[4]), MICA_OK);
    assert_int_equal(mica_destroy(f->world, entities[COUNT - 1]), MICA_OK);
    assert_int_equal(mica_destroy_many(f->world, entities + 10, 5), MICA_OK);
    for (int32_t i = 0; i < COUNT - 1; i++) {
        if (i != 4 && (i < 10 || i >= 15)) {
            assert_number(f, entities[i], 100 + i);
        }
    }
    const mica_entity clone = mica_clone(f->world, entities[3]);
    if (is_move_only(f->subset)) {
        assert_true(mica_entity_is_null(clone));
        assert_int_equal(mica_last_result(), MICA_NO_COPY);
    } else {
        assert_number(f, clone, 103);
    }
    check_book(f);
}

static void leave_as_made(void *user, const mica_spawn_span *span) {
    const fixture *f = user;
    for (int32_t i = 0; i < span->count; i++) {
        assert_int_equal(((const Booked *)span->columns[0])[i].number, constructed(f));
    }
}

static void many_at_once(fixture *f) {
    enum { COUNT = 30 };
    Booked values[COUNT];
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        hold(f, &values[i], 200 + i);
    }
    const mica_column column = {.component = f->booked, .value = values};
    assert_int_equal(mica_entity_spawn_many(f->world, &column, 1, COUNT, entities), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        taken(f, &values[i]);
        assert_number(f, entities[i], 200 + i);
    }
    assert_int_equal(mica_entity_spawn_fill(f->world, &f->booked, 1, COUNT, leave_as_made, f), MICA_OK);
    check_book(f);
}

static void record(const fixture *f, mica_commands *commands, mica_entity entity, int32_t number) {
    Booked value;
    hold(f, &value, number);
    assert_int_equal(mica_commands_set(commands, entity, f->booked, &value), MICA_OK);
    taken(f, &value);
}

static void commands(const fixture *f) {
    mica_commands *recorded = mica_commands_create(f->world);
    const mica_entity there = spawn(f, 1);
    const mica_entity bare = mica_create(f->world);
    const mica_entity doomed = spawn(f, 2);
    record(f, recorded, there, 300);
    record(f, recorded, there, 301); // folded: the first is never seen
    record(f, recorded, bare, 302);
    record(f, recorded, doomed, 303);
    assert_int_equal(mica_destroy(recorded, doomed), MICA_OK);
    record(f, recorded, doomed, 304); // its target is dead by then
    const mica_entity placeholder = mica_create(recorded);
    assert_int_equal(mica_commands_add(recorded, placeholder, f->booked, NULL), MICA_OK);
    record(f, recorded, placeholder, 305);
    assert_int_equal(mica_commands_apply(recorded), MICA_OK);
    assert_number(f, there, 301);
    assert_number(f, bare, 302);
    assert_number(f, mica_commands_resolve(recorded, placeholder), 305);
    record(f, recorded, there, 306);
    assert_int_equal(mica_commands_remove(recorded, there, f->booked), MICA_OK);
    assert_int_equal(mica_commands_apply(recorded), MICA_OK);
    assert_null(mica_entity_get(f->world, there, f->booked));
    record(f, recorded, bare, 307);
    mica_commands_clear(recorded);
    record(f, recorded, bare, 308);
    mica_commands_destroy(recorded);
    assert_number(f, bare, 302);
    check_book(f);
}

static void resources(const fixture *f) {
    Booked value;
    for (int32_t i = 0; i < 2; i++) {
        hold(f, &value, 400 + i);
        assert_int_equal(mica_resource_set(f->world, f->booked, &value), MICA_OK);
        taken(f, &value);
        assert_int_equal(((const Booked *)mica_resource_get(f->world, f->booked))->number, 400 + i);
    }
    assert_int_equal(mica_resource_remove(f->world, f->booked), MICA_OK);
    assert_int_equal(((const Booked *)mica_resource_ensure(f->world, f->booked))->number, constructed(f));
    check_book(f);
}

static void every_value_ends_once_whatever_hooks_there_are(void **state) {
    (void)state;
    for (uint32_t subset = 0; subset < SUBSET_COUNT; subset++) {
        fixture f;
        begin(&f, subset);
        verbs_on_one_entity(&f);
        rows_come_and_go(&f);
        many_at_once(&f);
        commands(&f);
        resources(&f);
        assert_int_equal(mica_world_clear(f.world), MICA_OK);
        spawn(&f, 500);
        assert_int_equal(mica_world_trim(f.world), MICA_OK);
        spawn(&f, 501);
        end(&f);
    }
}

static void clearing_ends_all_values_and_a_type_removed_alone_only_its_own(void **state) {
    (void)state;
    fixture f;
    begin(&f, HAS_CONSTRUCT | HAS_DESTRUCT | HAS_COPY);
    mica_entity entities[20];
    for (int32_t i = 0; i < 20; i++) {
        entities[i] = spawn(&f, i);
        mica_set(f.world, entities[i], Number, {i});
    }
    assert_int_equal(book.live, 20);
    for (int32_t i = 0; i < 10; i++) {
        assert_int_equal(mica_entity_remove(f.world, entities[i], f.booked), MICA_OK);
    }
    assert_int_equal(book.live, 10);
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    assert_int_equal(book.live, 0);
    end(&f);
}

// A hook that cannot make its k-th value: nothing is made, and what was there is as it was.
static void a_hook_that_fails_at_any_value_leaves_no_trace(void **state) {
    (void)state;
    for (uint32_t subset = 0; subset < SUBSET_COUNT; subset++) {
        for (int32_t k = 1; k <= 12; k++) {
            fixture f;
            begin(&f, subset);
            const mica_entity there = spawn(&f, 3);
            Booked values[12];
            for (int32_t i = 0; i < 12; i++) {
                hold(&f, &values[i], i);
            }
            const uint32_t live = book.live;
            const mica_column given = {.component = f.booked, .value = values};
            book.fail_at = (subset & HAS_COPY) != 0 ? k : 0;
            const mica_result copied = mica_entity_spawn_many(f.world, &given, 1, 12, NULL);
            assert_int_equal(copied, (subset & HAS_COPY) != 0 ? MICA_OUT_OF_MEMORY : MICA_OK);
            for (int32_t i = 0; i < 12; i++) {
                copied == MICA_OK ? taken(&f, &values[i]) : drop(&f, &values[i]);
            }
            book.fail_at = (subset & HAS_CONSTRUCT) != 0 ? k : 0;
            const mica_result made =
                mica_entity_spawn_many(f.world, &(mica_column){.component = f.booked}, 1, 12, NULL);
            assert_int_equal(made, (subset & HAS_CONSTRUCT) != 0 ? MICA_OUT_OF_MEMORY : MICA_OK);
            book.fail_at = 0;
            if (copied != MICA_OK && made != MICA_OK) {
                assert_int_equal(mica_world_entity_count(f.world), 1);
                assert_int_equal(book.live, live - 12);
            }
            assert_number(&f, there, 3);
            Booked value;
            hold(&f, &value, 4);
            book.fail_at = (subset & HAS_COPY) != 0 ? 1 : 0;
            const mica_result replaced = mica_entity_set(f.world, there, f.booked, &value);
            book.fail_at = 0;
            assert_number(&f, there, replaced == MICA_OK ? 4 : 3);
            replaced == MICA_OK ? taken(&f, &value) : drop(&f, &value);
            end(&f);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_ends_once_whatever_hooks_there_are),
        cmocka_unit_test(clearing_ends_all_values_and_a_type_removed_alone_only_its_own),
        cmocka_unit_test(a_hook_that_fails_at_any_value_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
