// Every value that comes to be ends exactly once, where it lives: under all sets of hooks, in all storages, with an
// allocation or a hook that fails at every number, and while observers do what they should not.
//
// One script of verbs and command buffers runs for each combination. What a verb returns is not looked at beyond
// whether it took the value; the book and the world's own checks are.
#include "book.h"
#include "support/test_allocator.h"

#include <mica/mica.h>

MICA_STRUCT(Number, { int32_t now; });

typedef enum place { IN_TABLES, IN_A_PACKED_POOL, IN_A_PAGED_POOL, IN_A_STABLE_POOL, PLACE_COUNT } place;

static const mica_traits place_traits[PLACE_COUNT] = {
    {.storage = MICA_TABLE},
    {.storage = MICA_POOL, .layout = MICA_PACKED},
    {.storage = MICA_POOL, .page_size = 4},
    {.storage = MICA_POOL, .stable = true, .page_size = 4},
};

typedef enum manners {
    NOBODY_LISTENS,
    ONLY_LOOKS,
    CALLS_LOCKED_VERBS,
    RECORDS_ON_WHAT_GOES,
    RECORDS_SPAWNS,
    DISCONNECTS_ITSELF,
    NEVER_ENDS,
    MANNERS_COUNT
} manners;

static const char *const manners_names[MANNERS_COUNT] = {
    "nobody listens", "only looks",         "calls locked verbs", "records on what goes",
    "records spawns", "disconnects itself", "never ends"};

enum { ENTITY_COUNT = 6, FAILURE_MAX = 10 };

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_commands *commands;
    mica_component booked;
    mica_entity entities[ENTITY_COUNT];
    uint32_t subset;
    place where;
    manners manners;
    uint32_t failing; // number of the allocation or the value that fails in every step; 0: none
    bool hooks_fail;
    uint32_t call_count;
} fixture;

// Gives a value that the test holds to `give`; it stays the test's to end if it was copied or refused.
#define GIVE(F, VALUE, NUMBER, RESULT)                               \
    do {                                                             \
        Booked VALUE = {0, 0};                                       \
        VALUE = book_enter((F)->subset, &(VALUE), (NUMBER));         \
        const bool is_taken = (RESULT) && is_move_only((F)->subset); \
        if (!is_taken) {                                             \
            book_end((F)->subset, &(VALUE));                         \
        }                                                            \
    } while (0)

static void connect_all(fixture *f);

// Observers

static void record_value(fixture *f, mica_commands *commands, mica_entity entity, int32_t number) {
    GIVE(f, value, number, mica_commands_set(commands, entity, f->booked, &value) == MICA_OK);
}

static void record_spawn(fixture *f, mica_commands *commands, int32_t number) {
    GIVE(
        f, value, number,
        !mica_entity_is_null(mica_commands_spawn(commands, &(mica_value){.component = f->booked, .value = &value}, 1)));
}

static void call_locked_verbs(fixture *f, mica_entity entity) {
    assert_int_equal(mica_destroy(f->world, entity), MICA_LOCKED);
    assert_int_equal(mica_entity_remove(f->world, entity, f->booked), MICA_LOCKED);
    assert_true(mica_entity_is_null(mica_clone(f->world, entity)));
    assert_int_equal(mica_world_clear(f->world), MICA_LOCKED);
    assert_int_equal(mica_set(f->world, f->entities[0], Number, {1}) != MICA_OUT_OF_MEMORY, true);
    mica_world_destroy(f->world);
}

static void listen(const mica_signal *signal) {
    fixture *f = signal->user;
    f->call_count++;
    const Booked *value = mica_entity_get(f->world, signal->entity, f->booked);
    if (value != NULL) {
        book_find(f->subset, value);
    }
    if (signal->component == f->booked) {
        assert_ptr_equal(signal->value, value);
    }
    const bool is_going = signal->kind == MICA_REMOVED || signal->kind == MICA_DESTROYED || signal->kind == MICA_LEFT;
    switch (f->manners) {
    case CALLS_LOCKED_VERBS:
        call_locked_verbs(f, signal->entity);
        break;
    case RECORDS_ON_WHAT_GOES:
        if (is_going) {
            record_value(f, signal->commands, signal->entity, 70);
            mica_commands_remove(signal->commands, signal->entity, f->booked);
            record_value(f, signal->commands, signal->entity, 71);
            mica_destroy(signal->commands, signal->entity);
        }
        break;
    case RECORDS_SPAWNS:
        if (signal->kind == MICA_REMOVED) {
            record_spawn(f, signal->commands, 80);
            mica_commands_clone(signal->commands, signal->entity);
        }
        break;
    case DISCONNECTS_ITSELF:
        assert_int_equal(mica_observer_disconnect(f->world, signal->observer), MICA_OK);
        mica_observer_connect_to(f->world, MICA_ADDED, mica_type_of(Number), listen, f);
        break;
    case NEVER_ENDS:
        if (signal->kind == MICA_SET) {
            record_value(f, signal->commands, signal->entity, 90);
        } else if (signal->kind == MICA_REMOVED) {
            record_value(f, signal->commands, f->entities[1], 91);
        }
        break;
    default:
        break;
    }
}

static void connect_all(fixture *f) {
    if (f->manners == NOBODY_LISTENS) {
        return;
    }
    const mica_signal_kind kinds[] = {MICA_ADDED, MICA_SET, MICA_REMOVED, MICA_CREATED, MICA_DESTROYED};
    for (uint32_t i = 0; i < 5; i++) {
        const mica_observer_def def = {.on = kinds[i], .component = i < 3 ? f->booked : 0, .call = listen, .user = f};
        assert_int_not_equal(mica_observer_connect(f->world, &def).id, 0);
    }
    const mica_term term = {.component = f->booked, .use = MICA_USE_READ};
    const mica_signal_kind of_queries[] = {MICA_ENTERED, MICA_LEFT};
    for (uint32_t i = 0; i < 2; i++) {
        const mica_observer_def def = {.on = of_queries[i], .query = {term}, .call = listen, .user = f};
        assert_int_not_equal(mica_observer_connect(f->world, &def).id, 0);
    }
}

// Steps of the script. What a step cannot do without memory the next ones do without.

static void spawn_some(fixture *f) {
    for (int32_t i = 0; i < 4; i++) {
        GIVE(f, value, i,
             !mica_entity_is_null(f->entities[i] = mica_entity_spawn(
                                      f->world, &(mica_value){.component = f->booked, .value = &value}, 1)));
    }
    f->entities[4] = mica_create(f->world);
    f->entities[5] = mica_entity_spawn(f->world, &(mica_value){.component = f->booked}, 1);
}

static void change_tables(fixture *f) {
    mica_set(f->world, f->entities[1], Number, {1});
    mica_set(f->world, f->entities[2], Number, {2});
    mica_remove(f->world, f->entities[1], Number);
}

static void set_again(fixture *f) {
    GIVE(f, value, 10, mica_entity_set(f->world, f->entities[0], f->booked, &value) == MICA_OK);
    GIVE(f, refused, 11, mica_entity_add(f->world, f->entities[0], f->booked, &refused) == MICA_OK);
    mica_entity_set(f->world, f->entities[0], f->booked, mica_entity_get(f->world, f->entities[0], f->booked));
}

static void add_and_remove(fixture *f) {
    GIVE(f, value, 12, mica_entity_add(f->world, f->entities[4], f->booked, &value) == MICA_OK);
    mica_entity_remove(f->world, f->entities[0], f->booked);
    mica_entity_remove(f->world, f->entities[5], f->booked);
    mica_entity_add(f->world, f->entities[5], f->booked, NULL);
}

static void clone_one(fixture *f) {
    mica_clone(f->world, f->entities[2]);
}

static void make_many(fixture *f) {
    Booked values[5];
    for (int32_t i = 0; i < 5; i++) {
        values[i] = book_enter(f->subset, &values[i], 20 + i);
    }
    const mica_column column = {.component = f->booked, .value = values};
    const mica_result result = mica_entity_spawn_many(f->world, &column, 1, 5, NULL);
    for (int32_t i = 0; i < 5; i++) {
        if (result != MICA_OK || !is_move_only(f->subset)) {
            book_end(f->subset, &values[i]);
        }
    }
    mica_entity_spawn_many(f->world, &(mica_column){.component = f->booked}, 1, 3, NULL);
}

static void fold(fixture *f) {
    record_value(f, f->commands, f->entities[0], 30); // gone by now
    record_value(f, f->commands, f->entities[1], 31);
    record_value(f, f->commands, f->entities[1], 32);
    mica_commands_remove(f->commands, f->entities[2], f->booked);
    record_value(f, f->commands, f->entities[2], 33);
    record_value(f, f->commands, f->entities[3], 34);
    mica_commands_remove(f->commands, f->entities[3], f->booked);
    record_spawn(f, f->commands, 35);
    mica_commands_apply(f->commands);
    mica_commands_clone(f->commands, f->entities[1]);
    mica_destroy(f->commands, f->entities[2]);
    record_value(f, f->commands, f->entities[2], 36);
    mica_commands_apply(f->commands);
}

static void apply_the_rest(fixture *f) {
    mica_commands_apply(f->commands);
    record_value(f, f->commands, f->entities[1], 37);
    mica_commands_clear(f->commands);
}

static void walk_and_record(fixture *f) {
    const mica_term term = {.component = f->booked, .use = MICA_USE_READ};
    mica_query *query = mica_query_find(f->world, &term, 1);
    mica_each_row (query, it) {
        const mica_entity entity = mica_row_entity(it);
        mica_commands *commands = mica_iter_commands(it);
        if (commands != NULL && mica_entity_index(entity) % 3 == 0) {
            record_value(f, commands, entity, 40);
        } else if (commands != NULL && mica_entity_index(entity) % 3 == 1) {
            mica_commands_remove(commands, entity, f->booked);
        }
        GIVE(f, value, 41, mica_entity_set(f->world, entity, f->booked, &value) == MICA_OK);
    }
}

static void destroy_some(fixture *f) {
    mica_destroy(f->world, f->entities[1]);
    mica_destroy_many(f->world, &f->entities[4], 1);
    mica_kill(f->world, f->entities[5]);
    mica_refresh(f->world);
}

static void destroy_a_family(fixture *f) {
    mica_entity family[3];
    for (int32_t i = 0; i < 3; i++) {
        family[i] = mica_entity_spawn(f->world, &(mica_value){.component = f->booked}, 1);
        if (i > 0) {
            mica_set_parent(f->world, family[i], family[i - 1]);
        }
    }
    mica_destroy(f->world, family[1]);
    mica_destroy_subtree(f->world, family[0]);
}

static void set_a_resource(fixture *f) {
    GIVE(f, value, 50, mica_resource_set(f->world, f->booked, &value) == MICA_OK);
    GIVE(f, other, 51, mica_resource_set(f->world, f->booked, &other) == MICA_OK);
}

static void clear_and_spawn(fixture *f) {
    mica_world_clear(f->world);
    mica_world_trim(f->world);
    spawn_some(f);
}

static void (*const steps[])(fixture *f) = {
    spawn_some,     change_tables,   set_again,    add_and_remove,   clone_one,      make_many,       fold,
    apply_the_rest, walk_and_record, destroy_some, destroy_a_family, set_a_resource, clear_and_spawn,
};

static void begin(fixture *f) {
    book_start();
    test_allocator_init(&f->allocator);
    f->world =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f->allocator), .reaction_limit = 3});
    assert_non_null(f->world);
    mica_type type = {.name = "Booked", .size = sizeof(Booked), .align = _Alignof(Booked)};
    type.traits = place_traits[f->where];
    type.traits.hooks = book_hooks(&f->subset);
    f->booked = mica_world_register(f->world, &type);
    assert_int_not_equal(f->booked, 0);
    assert_int_not_equal(mica_register(f->world, Number), 0);
    f->commands = mica_commands_create(f->world);
    assert_non_null(f->commands);
    connect_all(f);
}

// Every value that an entity has lives where it is.
static void check_values(fixture *f) {
    const mica_term term = {.component = f->booked, .use = MICA_USE_READ};
    mica_query *query = mica_query_find(f->world, &term, 1);
    mica_each (query, it) {
        const Booked *values = mica_iter_read_id(&it, f->booked);
        for (int32_t i = 0; i < it.count; i++) {
            book_find(f->subset, &values[i]);
        }
    }
    if (mica_world_validate(f->world) != MICA_OK) {
        book_note(mica_last_error());
    }
}

static void check_book(const fixture *f, bool has_ended) {
    const bool is_balanced = !has_ended || (f->subset & HAS_DESTRUCT) == 0 || book.live == 0;
    if (book.fault != NULL || !is_balanced) {
        fail_msg("hooks %u, storage %d, an observer that %s, %s %u fails: %s, %u values live", f->subset, (int)f->where,
                 manners_names[f->manners], f->hooks_fail ? "value" : "allocation", f->failing,
                 book.fault == NULL ? "" : book.fault, book.live);
    }
}

// False if nothing failed.
static bool run(fixture *f) {
    bool has_failed = false;
    begin(f);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (f->failing != 0 && f->hooks_fail) {
            book.fail_at = (int32_t)f->failing;
        } else if (f->failing != 0) {
            test_allocator_fail_at(&f->allocator, f->failing);
        }
        steps[i](f);
        has_failed |= f->hooks_fail ? book.fail_at == 0 : test_allocator_fail_stop(&f->allocator);
        book.fail_at = 0;
        if (f->failing <= 1) {
            check_values(f);
        }
        check_book(f, false);
    }
    check_values(f);
    check_book(f, false);
    assert_int_equal(f->call_count > 0, f->manners != NOBODY_LISTENS);
    mica_commands_destroy(f->commands);
    mica_world_destroy(f->world);
    check_book(f, true);
    test_allocator_finish(&f->allocator);
    return has_failed;
}

static void every_value_ends_once_whoever_listens(void **state) {
    (void)state;
    for (uint32_t subset = 0; subset < SUBSET_COUNT; subset++) {
        for (place where = IN_TABLES; where < PLACE_COUNT; where++) {
            for (manners how = NOBODY_LISTENS; how < MANNERS_COUNT; how++) {
                run(&(fixture){.subset = subset, .where = where, .manners = how});
            }
        }
    }
}

static void every_value_ends_once_whichever_allocation_fails(void **state) {
    (void)state;
    bool has_failed = false;
    for (uint32_t subset = 0; subset < SUBSET_COUNT; subset++) {
        for (place where = IN_TABLES; where < PLACE_COUNT; where++) {
            for (manners how = NOBODY_LISTENS; how < MANNERS_COUNT; how++) {
                for (uint32_t n = 1; n <= FAILURE_MAX; n++) {
                    has_failed |= run(&(fixture){.subset = subset, .where = where, .manners = how, .failing = n});
                }
            }
        }
    }
    assert_true(has_failed);
}

static void every_value_ends_once_whichever_value_cannot_be_made(void **state) {
    (void)state;
    for (uint32_t subset = 0; subset < SUBSET_COUNT; subset++) {
        const bool can_fail = (subset & (HAS_CONSTRUCT | HAS_COPY)) != 0;
        for (place where = IN_TABLES; can_fail && where < PLACE_COUNT; where++) {
            for (manners how = NOBODY_LISTENS; how < MANNERS_COUNT; how++) {
                for (uint32_t n = 1; n <= FAILURE_MAX; n++) {
                    const bool has_failed = run(
                        &(fixture){.subset = subset, .where = where, .manners = how, .failing = n, .hooks_fail = true});
                    assert_true(has_failed || n > 1);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_ends_once_whoever_listens),
        cmocka_unit_test(every_value_ends_once_whichever_allocation_fails),
        cmocka_unit_test(every_value_ends_once_whichever_value_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
