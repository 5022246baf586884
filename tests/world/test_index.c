// Indexes: who is found and in which order, against a scan of everybody; what is found when, by verbs, commands, spans
// and addresses; keys of all kinds; refusals; failing memory; a model of random operations. All of it with the
// component in a table, in a pool and in a stable pool.
#include "world_fixture.h"

#include "world/world.h"

#include <math.h>

MICA_STRUCT_WITH(Unit, (.indexes = {{"team", MICA_HASH}, {"hp", MICA_ORDERED}}), {
    int32_t team;
    int32_t hp;
});
MICA_TAG(Away);

enum { ENTITY_MAX = 600 };

typedef struct storage_case {
    const char *name;
    mica_storage storage;
    bool stable;
} storage_case;

static const storage_case storages[] = {
    {"in a table", MICA_TABLE, false}, {"in a pool", MICA_POOL, false}, {"in a stable pool", MICA_POOL, true}};

typedef struct fixture {
    watched_world watched;
    mica_world *world;
    mica_index *by_team;
    mica_index *by_hp;
    mica_entity entities[ENTITY_MAX]; // that the case has made, dead ones included
    int32_t count;
} fixture;

static void ask(fixture *f) {
    f->by_team = mica_index_of(f->world, Unit, "team");
    f->by_hp = mica_index_of(f->world, Unit, "hp");
    assert_non_null(f->by_team);
    assert_non_null(f->by_hp);
}

static void begin_without_indexes(fixture *f, const storage_case *storage) {
    memset(f, 0, sizeof(*f));
    mica_type_of(Unit)->traits.storage = storage->storage;
    mica_type_of(Unit)->traits.stable = storage->stable;
    watched_begin(&f->watched);
    f->world = f->watched.world;
    mica_register(f->world, Unit);
}

static void begin(fixture *f, void **state) {
    begin_without_indexes(f, *state);
    ask(f);
}

static void end(fixture *f) {
    assert_valid(f->world);
    watched_end(&f->watched);
}

static mica_entity keep(fixture *f, mica_entity entity) {
    assert_true(f->count < ENTITY_MAX);
    assert_false(mica_entity_is_null(entity));
    f->entities[f->count++] = entity;
    return entity;
}

static mica_entity spawn(fixture *f, int32_t team, int32_t hp) {
    return keep(f, mica_spawn(f->world, mica_value_of(Unit, {team, hp})));
}

// Scans

typedef struct found_unit {
    mica_entity entity;
    int32_t value;
} found_unit;

static bool is_before(const found_unit *a, const found_unit *b) {
    return a->value != b->value ? a->value < b->value : mica_entity_index(a->entity) < mica_entity_index(b->entity);
}

// Everybody with `low` to `high`, sorted.
static int32_t scan(const fixture *f, bool by_hp, int32_t low, int32_t high, found_unit *found) {
    int32_t count = 0;
    for (int32_t i = 0; i < f->count; i++) {
        const Unit *unit =
            mica_alive(f->world, f->entities[i]) ? mica_get(f->world, f->entities[i], Unit) : (const Unit *)NULL;
        const int32_t value = unit == NULL ? 0 : by_hp ? unit->hp : unit->team;
        if (unit == NULL || value < low || value > high) {
            continue;
        }
        const found_unit one = {f->entities[i], value};
        int32_t place = count++;
        for (; place > 0 && is_before(&one, &found[place - 1]); place--) {
            found[place] = found[place - 1];
        }
        found[place] = one;
    }
    return count;
}

static void assert_found(const found_unit *expected, int32_t expected_count, const mica_entity *entities, int32_t count,
                         int32_t capacity) {
    assert_int_equal(count, expected_count);
    for (int32_t i = 0; i < count && i < capacity; i++) {
        assert_entity_equal(entities[i], expected[i].entity);
    }
}

static void assert_team(const fixture *f, int32_t team, int32_t capacity) {
    static found_unit expected[ENTITY_MAX];
    static mica_entity entities[ENTITY_MAX];
    const int32_t expected_count = scan(f, false, team, team, expected);
    const int32_t count = mica_index_find_value(f->by_team, int32_t, team, entities, capacity);
    assert_found(expected, expected_count, entities, count, capacity);
}

static void assert_hp(const fixture *f, int32_t low, int32_t high, int32_t capacity) {
    static found_unit expected[ENTITY_MAX];
    static mica_entity entities[ENTITY_MAX];
    const int32_t expected_count = scan(f, true, low, high, expected);
    int32_t count = mica_index_range_values(f->by_hp, int32_t, low, high, entities, capacity);
    assert_found(expected, expected_count, entities, count, capacity);
    if (low == high) {
        count = mica_index_find_value(f->by_hp, int32_t, low, entities, capacity);
        assert_found(expected, expected_count, entities, count, capacity);
    }
}

// Both indexes say what a scan says.
static void assert_as_scanned(const fixture *f) {
    static found_unit expected[ENTITY_MAX];
    static mica_entity entities[ENTITY_MAX];
    for (int32_t team = -1; team < 8; team++) {
        assert_team(f, team, ENTITY_MAX);
    }
    const int32_t all = scan(f, true, INT32_MIN, INT32_MAX, expected);
    assert_found(expected, all, entities, mica_index_range(f->by_hp, NULL, NULL, entities, ENTITY_MAX), ENTITY_MAX);
    assert_int_equal(mica_index_count(f->by_hp), all);
    assert_int_equal(mica_index_count(f->by_team), all);
    assert_entity_equal(mica_index_first(f->by_hp), all == 0 ? MICA_NULL : expected[0].entity);
    assert_entity_equal(mica_index_last(f->by_hp), all == 0 ? MICA_NULL : expected[all - 1].entity);
    assert_hp(f, 10, 50, ENTITY_MAX);
    assert_hp(f, 7, 7, ENTITY_MAX);
}

static int32_t count_team(const fixture *f, int32_t team) {
    return mica_index_find_value(f->by_team, int32_t, team, NULL, 0);
}

// Finding

static void an_empty_index_finds_nobody(void **state) {
    fixture f;
    begin(&f, state);
    assert_as_scanned(&f);
    assert_null_entity(mica_index_first(f.by_hp));
    assert_int_equal(mica_index_count(f.by_hp), 0);
    end(&f);
}

static void entities_are_found_in_order_of_their_indices_whatever_their_history(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 100; i++) {
        spawn(&f, 0, 0);
    }
    for (int32_t i = 0; i < 100; i++) { // into teams in another order
        mica_set(f.world, f.entities[i * 37 % 100], Unit, {i % 3, i * 13 % 40});
    }
    for (int32_t team = 0; team < 3; team++) {
        for (int32_t capacity = 0; capacity < 40; capacity++) {
            assert_team(&f, team, capacity);
        }
    }
    assert_as_scanned(&f);
    end(&f);
}

static void a_range_includes_both_ends_and_may_be_open(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 200; i++) {
        spawn(&f, 0, i * 7 % 50 - 25);
    }
    for (int32_t low = -27; low < 27; low += 3) {
        for (int32_t high = low - 2; high < 27; high += 5) {
            assert_hp(&f, low, high, ENTITY_MAX);
            assert_hp(&f, low, high, 5);
        }
    }
    static found_unit expected[ENTITY_MAX];
    static mica_entity entities[ENTITY_MAX];
    const int32_t bound = 3;
    int32_t count = scan(&f, true, bound, INT32_MAX, expected);
    assert_found(expected, count, entities, mica_index_range(f.by_hp, &bound, NULL, entities, ENTITY_MAX), ENTITY_MAX);
    count = scan(&f, true, INT32_MIN, bound, expected);
    assert_found(expected, count, entities, mica_index_range(f.by_hp, NULL, &bound, entities, ENTITY_MAX), ENTITY_MAX);
    end(&f);
}

static void an_index_that_nobody_asks_for_has_no_memory(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    spawn(&f, 1, 2);
    assert_int_equal(mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES], 0);
    ask(&f);
    assert_true(mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES] > 0);
    end(&f);
}

static void an_index_is_made_of_what_is_there_and_given_again(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, i % 5, i * 11 % 60);
        if (i % 4 == 0) {
            mica_add(f.world, f.entities[i], Away); // in another table
        }
    }
    mica_destroy(f.world, f.entities[20]);
    mica_remove(f.world, f.entities[21], Unit);
    ask(&f);
    assert_as_scanned(&f);
    assert_ptr_equal(mica_index_of(f.world, Unit, "team"), f.by_team);
    assert_ptr_equal(mica_index_of(f.world, Unit, "hp"), f.by_hp);
    assert_ptr_not_equal(f.by_team, f.by_hp);
    end(&f);
}

// Verbs

static void heal(void *value, void *user) {
    ((Unit *)value)->hp += *(const int32_t *)user;
}

static void what_a_verb_did_is_found_when_it_returns(void **state) {
    fixture f;
    begin(&f, state);
    const mica_entity one = spawn(&f, 1, 10);
    assert_as_scanned(&f);
    mica_set(f.world, one, Unit, {2, 20});
    assert_int_equal(count_team(&f, 1), 0);
    assert_int_equal(count_team(&f, 2), 1);
    assert_as_scanned(&f);
    int32_t more = 7;
    mica_patch(f.world, one, Unit, heal, &more);
    assert_hp(&f, 27, 27, 4);
    const mica_entity two = keep(&f, mica_clone(f.world, one));
    assert_as_scanned(&f);
    mica_remove(f.world, one, Unit);
    assert_as_scanned(&f);
    mica_add(f.world, one, Unit); // constructed
    assert_int_equal(count_team(&f, 0), 1);
    assert_as_scanned(&f);
    mica_destroy(f.world, two);
    assert_as_scanned(&f);
    mica_world_clear(f.world);
    assert_int_equal(mica_index_count(f.by_hp), 0);
    assert_as_scanned(&f);
    end(&f);
}

static void many_at_once_are_found(void **state) {
    fixture f;
    begin(&f, state);
    Unit units[200];
    for (int32_t i = 0; i < 200; i++) {
        units[i] = (Unit){i % 6, 100 - i};
    }
    assert_int_equal(mica_spawn_many(f.world, 200, f.entities, mica_column_of(Unit, units)), MICA_OK);
    f.count = 200;
    assert_as_scanned(&f);
    assert_int_equal(mica_destroy_many(f.world, f.entities + 50, 100), MICA_OK);
    assert_as_scanned(&f);
    end(&f);
}

static void a_slot_that_is_used_again_is_another_entity(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t round = 0; round < 20; round++) {
        const mica_entity first = spawn(&f, 1, round);
        const mica_entity second = spawn(&f, 2, round);
        mica_destroy(f.world, first);
        assert_as_scanned(&f);
        mica_destroy(f.world, second);
    }
    spawn(&f, 3, 3);
    assert_as_scanned(&f);
    end(&f);
}

static void rows_that_move_stay_found(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 50; i++) {
        spawn(&f, i % 3, i);
    }
    for (int32_t i = 0; i < 50; i += 3) {
        mica_add_value(f.world, f.entities[i], Health, {i});
        mica_add(f.world, f.entities[i], Away);
    }
    mica_world_trim(f.world);
    assert_as_scanned(&f);
    end(&f);
}

static void disabled_and_killed_entities_are_found(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    spawn(&f, 1, 2);
    mica_disable(f.world, f.entities[0]);
    mica_kill(f.world, f.entities[1]);
    assert_as_scanned(&f);
    assert_int_equal(count_team(&f, 1), 2);
    mica_refresh(f.world);
    assert_int_equal(count_team(&f, 1), 1);
    assert_as_scanned(&f);
    end(&f);
}

static void commands_are_found_once_they_are_applied(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 20; i++) {
        spawn(&f, 0, i);
    }
    mica_commands *commands = mica_commands_create(f.world);
    const mica_entity made = mica_spawn(commands, mica_value_of(Unit, {4, 44}));
    mica_set(commands, f.entities[1], Unit, {5, 55});
    mica_set(commands, f.entities[1], Unit, {6, 66}); // folds
    mica_remove(commands, f.entities[2], Unit);
    mica_remove(commands, f.entities[3], Unit);
    mica_add_value(commands, f.entities[3], Unit, {7, 77});
    mica_destroy(commands, f.entities[4]);
    const mica_entity clone = mica_clone(commands, f.entities[5]);
    assert_int_equal(count_team(&f, 0), 20);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    keep(&f, mica_commands_resolve(commands, made));
    keep(&f, mica_commands_resolve(commands, clone));
    assert_int_equal(count_team(&f, 6), 1);
    assert_as_scanned(&f);
    mica_commands_destroy(commands);
    end(&f);
}

// Values written through addresses

static void what_spans_write_is_found_when_the_walk_has_ended(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 400; i++) {
        spawn(&f, i % 2, i % 50);
    }
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    mica_each (query, it) {
        Unit *units = mica_write_of(it, Unit);
        for (int32_t i = 0; i < it.count; i++) {
            units[i].team += 3;
            units[i].hp = 50 - units[i].hp;
        }
        assert_int_equal(count_team(&f, 3), 0);
        assert_int_equal(count_team(&f, 0), 200);
    }
    assert_int_equal(count_team(&f, 3), 200);
    assert_as_scanned(&f);
    end(&f);
}

static void spans_of_copies_are_found_as_well(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, 0, i);
        if (i % 3 == 0) {
            mica_disable(f.world, f.entities[i]);
        }
    }
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    mica_each_row (query, it) {
        mica_row_write(it, Unit)->team = 1;
    }
    assert_int_equal(count_team(&f, 1), 200);
    assert_as_scanned(&f);
    end(&f);
}

static void a_walk_inside_a_walk_waits_for_the_outer_one(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    spawn(&f, 2, 2);
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    mica_query *other = mica_query_of(f.world, mica_read(Unit));
    mica_each (other, outer) {
        mica_each (query, inner) {
            mica_write_of(inner, Unit)[0].team = 5;
        }
        assert_int_equal(count_team(&f, 5), 0);
    }
    assert_int_equal(count_team(&f, 5), 1);
    assert_as_scanned(&f);
    end(&f);
}

static void add_to_count(mica_world *world, mica_component component, const mica_entity *entities, uint32_t count,
                         void *user) {
    (void)world;
    (void)component;
    (void)entities;
    *(uint32_t *)user += count;
}

static void a_walk_by_rows_tells_of_each_entity_once(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 400; i++) {
        spawn(&f, 0, i);
    }
    uint32_t told_count = 0;
    const mica_component unit = mica_register(f.world, Unit);
    assert_true(mi_written_connect(f.world, unit, add_to_count, &told_count));
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    for (uint32_t walk = 1; walk <= 3; walk++) {
        mica_each_row (query, it) {
            mica_row_write(it, Unit)->team = (int32_t)walk;
        }
        assert_int_equal(told_count, walk * 400);
        assert_int_equal(count_team(&f, (int32_t)walk), 400);
    }
    mi_written_disconnect(f.world, unit, add_to_count, &told_count);
    end(&f);
}

static void write_and_leave_open(mica_run *run) {
    fixture *f = mica_run_user(run);
    mica_iter it = mica_begin(mica_query_of(f->world, mica_write(Unit)));
    while (mica_iter_next(&it)) {
        mica_write_of(it, Unit)[0].team = 6;
    }
    it = mica_begin(mica_query_of(f->world, mica_write(Unit)));
    assert_true(mica_iter_next(&it));
    mica_write_of(it, Unit)[0].team = 7;
}

static void what_a_walk_that_is_left_open_wrote_is_found(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    mica_system_add(f.world, &(mica_system_def){.name = "careless", .run = write_and_leave_open, .user = &f});
    for (int32_t tick = 0; tick < 3; tick++) {
        mica_set(f.world, f.entities[0], Unit, {tick, 1});
        assert_int_equal(mica_world_step(f.world, 0.5f), MICA_LOCKED);
        assert_int_equal(count_team(&f, 7), 1);
        assert_as_scanned(&f);
    }
    end(&f);
}

static void a_verb_during_a_walk_is_found_at_once(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    spawn(&f, 2, 2);
    mica_query *query = mica_query_of(f.world, mica_read(Unit));
    mica_each (query, it) {
        assert_int_equal(mica_set(f.world, f.entities[0], Unit, {7, 7}), MICA_OK);
        assert_int_equal(count_team(&f, 7), 1);
        assert_int_equal(count_team(&f, 1), 0);
    }
    assert_as_scanned(&f);
    end(&f);
}

static void what_an_address_wrote_is_found_by_the_next_look_up(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 10; i++) {
        spawn(&f, 0, i);
    }
    mica_get_write(f.world, f.entities[3], Unit)->team = 6;
    mica_get_write(f.world, f.entities[3], Unit)->hp = 60;
    assert_int_equal(count_team(&f, 6), 1);
    assert_as_scanned(&f);
    mica_get_write(f.world, f.entities[4], Unit)->team = 6;
    mica_destroy(f.world, f.entities[4]); // before anybody looked
    mica_get_write(f.world, f.entities[5], Unit)->team = 6;
    mica_remove(f.world, f.entities[5], Unit);
    mica_add_value(f.world, f.entities[5], Unit, {2, 2});
    spawn(&f, 5, 5); // in the slot of the one that is gone
    assert_as_scanned(&f);
    end(&f);
}

static void a_look_up_during_a_walk_sees_what_was_written_before_it_began(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 6; i++) {
        spawn(&f, 0, i);
    }
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    mica_get_write(f.world, f.entities[2], Unit)->team = 6;
    mica_get_write(f.world, f.entities[3], Unit)->hp = 60;
    mica_each (query, it) {
        Unit *units = mica_write_of(it, Unit);
        for (int32_t i = 0; i < it.count; i++) {
            units[i].team = 7;
        }
        assert_int_equal(count_team(&f, 6), 1);
        assert_int_equal(mica_index_find_value(f.by_hp, int32_t, 60, NULL, 0), 1);
        assert_int_equal(count_team(&f, 7), 0);
    }
    assert_int_equal(count_team(&f, 7), 6);
    assert_as_scanned(&f);
    end(&f);
}

static void an_index_that_is_asked_for_during_a_walk_knows_what_spans_wrote_when_that_has_ended(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    for (int32_t i = 0; i < 6; i++) {
        spawn(&f, 0, i);
    }
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    mica_each (query, it) {
        Unit *units = mica_write_of(it, Unit);
        ask(&f);
        for (int32_t i = 0; i < it.count; i++) {
            units[i].team = 7;
        }
        assert_int_equal(mica_index_count(f.by_team), 6);
    }
    assert_int_equal(count_team(&f, 7), 6);
    assert_as_scanned(&f);
    end(&f);
}

static void an_index_that_is_asked_for_during_walks_alone_is_made_once(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, i % 3, i);
    }
    mica_query *query = mica_query_of(f.world, mica_with(Unit));
    uint64_t calls = 0;
    for (int32_t i = 0; i < 5; i++) {
        mica_each (query, it) {
            ask(&f);
            assert_team(&f, 2, ENTITY_MAX);
        }
        calls = i == 0 ? f.watched.allocator.call_count : calls;
        assert_int_equal(f.watched.allocator.call_count, calls);
    }
    end(&f);
}

static void the_arrays_of_a_pool_are_looked_at_by_the_next_look_up(void **state) {
    fixture f;
    begin(&f, state);
    const storage_case *storage = *state;
    for (int32_t i = 0; i < 10; i++) {
        spawn(&f, 0, i);
    }
    if (storage->storage == MICA_POOL) {
        const mica_pool_view view = mica_pool_write(f.world, mica_register(f.world, Unit));
        ((Unit *)mica_pool_at(&view, 4))->team = 3;
        ((Unit *)mica_pool_at(&view, 9))->hp = 33;
        assert_int_equal(count_team(&f, 3), 1);
    }
    assert_as_scanned(&f);
    end(&f);
}

// Observers

typedef struct watcher {
    const fixture *f;
    int32_t added_count, removed_count;
} watcher;

static void look_when_added(const mica_signal *signal) {
    watcher *seen = signal->user;
    seen->added_count += count_team(seen->f, mica_signal_value(signal, Unit)->team);
}

static void look_when_removed(const mica_signal *signal) {
    watcher *seen = signal->user;
    seen->removed_count += count_team(seen->f, mica_signal_value(signal, Unit)->team);
}

static void observers_find_what_has_come_and_no_longer_what_goes(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    watcher seen = {.f = &f};
    mica_on_added(f.world, Unit, look_when_added, &seen); // connected before the index is
    mica_on_removed(f.world, Unit, look_when_removed, &seen);
    ask(&f);
    spawn(&f, 3, 3);
    assert_int_equal(seen.added_count, 1);
    mica_destroy(f.world, f.entities[0]);
    assert_int_equal(seen.removed_count, 0);
    end(&f);
}

// Keys

MICA_ENUM(Mood, {ANGRY = -1, CALM, GLAD});
MICA_STRUCT(Spot, { float x, y; });
MICA_STRUCT_WITH(
    Person,
    (.indexes = {{"name", MICA_ORDERED}, {"spot.x", MICA_ORDERED}, {"friend_of", MICA_HASH}, {"mood", MICA_ORDERED}}), {
        char name[12];
        Spot spot;
        mica_entity friend_of;
        Mood mood;
    });
MICA_STRUCT_WITH(Label, (.indexes = {{"text", MICA_HASH}, {"is_new", MICA_HASH}}), {
    char text[20];
    bool is_new;
});

static int32_t range_of(mica_index *index, const void *low, const void *high, mica_entity *entities) {
    return mica_index_range(index, low, high, entities, 16);
}

static void find_when_cleared(const mica_signal *signal) {
    watcher *seen = signal->user;
    seen->removed_count += mica_index_count(seen->f->by_hp) + mica_index_count(seen->f->by_team);
    assert_valid(signal->world);
}

static void observers_of_what_is_cleared_find_nobody(void **state) {
    fixture f;
    begin(&f, state);
    watcher seen = {.f = &f};
    const mica_observer observer = mica_on_removed(f.world, Unit, find_when_cleared, &seen);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, i % 3, i);
    }
    mica_get_write(f.world, f.entities[5], Unit)->hp = 1;
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    mica_observer_stats stats;
    assert_int_equal(mica_observer_statistics(f.world, observer, &stats), MICA_OK);
    assert_int_equal(stats.call_count, 300);
    assert_int_equal(seen.removed_count, 0);
    assert_int_equal(mica_index_count(f.by_hp), 0);
    spawn(&f, 1, 1);
    assert_team(&f, 1, ENTITY_MAX);
    assert_hp(&f, 0, 5, ENTITY_MAX);
    end(&f);
}

static void observers_may_validate_while_a_component_goes(void **state) {
    fixture f;
    begin(&f, state);
    watcher seen = {.f = &f};
    mica_on_removed(f.world, Unit, find_when_cleared, &seen);
    spawn(&f, 1, 1);
    spawn(&f, 1, 2);
    assert_int_equal(mica_destroy(f.world, f.entities[0]), MICA_OK);
    assert_int_equal(seen.removed_count, 2); // the other one, in both
    end(&f);
}

static void set_what_goes(const mica_signal *signal) {
    assert_int_equal(mica_set(signal->world, signal->entity, Unit, {7, 7}), MICA_OK);
}

static void a_value_that_is_set_while_it_goes_leaves_nobody_behind(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 3, 3);
    spawn(&f, 4, 4);
    mica_on_removed(f.world, Unit, set_what_goes, NULL);
    assert_int_equal(mica_remove(f.world, f.entities[0], Unit), MICA_OK);
    assert_int_equal(mica_destroy(f.world, f.entities[1]), MICA_OK);
    assert_int_equal(mica_index_count(f.by_team), 0);
    assert_int_equal(mica_index_count(f.by_hp), 0);
    end(&f);
}

static void ask_when_removed(const mica_signal *signal) {
    fixture *f = signal->user;
    assert_null(mica_index_of(signal->world, Unit, "team")); // nobody has asked for it before
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_said("the index of \"team\" of Unit has to be made");
    f->by_team = mica_index_of(signal->world, Unit, "team");
    mica_error_clear();
    assert_int_equal(count_team(f, 3), 0);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
}

static void observers_make_no_index_of_what_goes(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    spawn(&f, 3, 3);
    spawn(&f, 3, 4);
    const mica_observer observer = mica_on_removed(f.world, Unit, ask_when_removed, &f);
    assert_int_equal(mica_destroy(f.world, f.entities[0]), MICA_OK);
    assert_int_equal(mica_observer_disconnect(f.world, observer), MICA_OK);
    assert_team(&f, 3, ENTITY_MAX);
    end(&f);
}

static void ask_when_set(const mica_signal *signal) {
    fixture *f = signal->user;
    f->by_team = mica_index_of(signal->world, Unit, "team"); // the first time the index has to wait
    f->count = f->by_team == NULL ? -1 : count_team(f, mica_signal_value(signal, Unit)->team);
}

static void an_index_asked_for_in_an_observer_is_brought_up_to_date_before_later_observers(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Unit, {1, 1}));
    mica_on_set(f.world, Unit, ask_when_set, &f);
    assert_int_equal(mica_set(f.world, entity, Unit, {2, 2}), MICA_OK);
    assert_int_equal(f.count, -1);
    assert_non_null(f.by_team = mica_index_of(f.world, Unit, "team"));
    assert_int_equal(count_team(&f, 2), 1);
    assert_int_equal(mica_set(f.world, entity, Unit, {3, 3}), MICA_OK);
    assert_int_equal(f.count, 1);
    f.count = 0;
    end(&f);
}

static void trimming_gives_back_what_nobody_is_in(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    const size_t bytes = mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES];
    for (int32_t i = 0; i < 580; i++) {
        spawn(&f, i, i);
    }
    for (int32_t i = 1; i < 581; i++) {
        mica_get_write(f.world, f.entities[i], Unit)->hp = 7;
        assert_int_equal(mica_destroy(f.world, f.entities[i]), MICA_OK);
    }
    assert_int_equal(mica_index_count(f.by_hp), 1);
    const size_t before = mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES];
    assert_int_equal(mica_world_trim(f.world), MICA_OK);
    // Two pages of 256 records with one word and the list of those written, each twice.
    assert_true(mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES] + 4 * 256 * 24 <= before);
    assert_team(&f, 1, ENTITY_MAX);
    assert_int_equal(mica_destroy(f.world, f.entities[0]), MICA_OK);
    assert_int_equal(mica_world_trim(f.world), MICA_OK);
    assert_true(mica_world_memory(f.world).bytes[MICA_MEMORY_INDEXES] < bytes);
    f.count = 0;
    spawn(&f, 2, 2);
    assert_team(&f, 2, ENTITY_MAX);
    assert_hp(&f, 1, 3, ENTITY_MAX);
    end(&f);
}

static void texts_are_found_by_their_bytes(void **state) {
    fixture f;
    begin(&f, state);
    static const char *const names[] = {"eve", "", "adam", "eve", "abcdefghijkl", "abcdefghijk"};
    mica_entity people[6];
    mica_index *by_name = mica_index_of(f.world, Person, "name");
    assert_null(by_name); // a nested type is not known yet
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    mica_register(f.world, Spot);
    mica_register(f.world, Mood);
    by_name = mica_index_of(f.world, Person, "name");
    assert_non_null(by_name);
    for (int32_t i = 0; i < 6; i++) {
        Person person = {.name = ""};
        memcpy(person.name, names[i], strlen(names[i]));
        people[i] = mica_spawn(f.world, mica_tag(Person));
        mica_set_from(f.world, people[i], Person, &person);
    }
    mica_entity found[16];
    assert_int_equal(mica_index_find(by_name, "eve", found, 16), 2);
    assert_entity_equal(found[0], people[0]);
    assert_entity_equal(found[1], people[3]);
    assert_int_equal(mica_index_find(by_name, "ev", found, 16), 0);
    assert_int_equal(mica_index_find(by_name, "abcdefghijkl", found, 16), 1);
    assert_int_equal(mica_index_find(by_name, "abcdefghijklm", found, 16), 0);
    assert_int_equal(range_of(by_name, "abcdefghijkl", "eve", found), 4);
    assert_entity_equal(found[0], people[4]);
    assert_entity_equal(found[1], people[2]);
    assert_int_equal(range_of(by_name, "abcdefghijklm", NULL, found), 3);
    assert_int_equal(range_of(by_name, NULL, "abcdefghijklm", found), 3);
    assert_entity_equal(mica_index_first(by_name), people[1]);
    assert_entity_equal(mica_index_last(by_name), people[3]);
    end(&f);
}

static void numbers_that_are_none_are_equal_and_above_all_others(void **state) {
    fixture f;
    begin(&f, state);
    mica_register(f.world, Spot);
    mica_register(f.world, Mood);
    static const float numbers[] = {NAN, -1.0f, 0.0f, -0.0f, INFINITY, -INFINITY, -NAN, 2.5f};
    static const int32_t sorted[] = {5, 1, 2, 3, 7, 4, 0, 6};
    mica_index *by_x = mica_index_of(f.world, Person, "spot.x");
    mica_entity people[8];
    mica_entity found[16];
    for (int32_t i = 0; i < 8; i++) {
        people[i] = mica_spawn(f.world, mica_value_of(Person, {.spot = {numbers[i], (float)-i}}));
    }
    assert_int_equal(range_of(by_x, NULL, NULL, found), 8);
    for (int32_t i = 0; i < 8; i++) {
        assert_entity_equal(found[i], people[sorted[i]]);
    }
    assert_int_equal(mica_index_find_value(by_x, float, NAN, found, 16), 2);
    assert_int_equal(mica_index_find_value(by_x, float, -0.0f, found, 16), 2);
    assert_int_equal(mica_index_range_values(by_x, float, -1.0f, 2.5f, found, 16), 4);
    end(&f);
}

static void entities_and_enumerations_are_keys(void **state) {
    fixture f;
    begin(&f, state);
    mica_register(f.world, Spot);
    mica_register(f.world, Mood);
    mica_index *by_friend = mica_index_of(f.world, Person, "friend_of");
    mica_index *by_mood = mica_index_of(f.world, Person, "mood");
    const mica_entity one = mica_spawn(f.world, mica_value_of(Person, {.mood = GLAD}));
    const mica_entity two = mica_spawn(f.world, mica_value_of(Person, {.friend_of = one, .mood = ANGRY}));
    const mica_entity three = mica_spawn(f.world, mica_value_of(Person, {.friend_of = one, .mood = CALM}));
    mica_entity found[16];
    assert_int_equal(mica_index_find(by_friend, &one, found, 16), 2);
    assert_entity_equal(found[0], two);
    assert_entity_equal(found[1], three);
    mica_destroy(f.world, one);
    assert_int_equal(mica_index_find(by_friend, &one, found, 16), 2); // by the handle, which nobody has any more
    assert_entity_equal(mica_index_first(by_mood), two);
    assert_int_equal(mica_index_range_values(by_mood, Mood, CALM, GLAD, found, 16), 1);
    end(&f);
}

static void long_texts_and_flags_are_hashed(void **state) {
    fixture f;
    begin(&f, state);
    mica_index *by_text = mica_index_of(f.world, Label, "text");
    mica_index *by_flag = mica_index_of(f.world, Label, "is_new");
    for (int32_t i = 0; i < 100; i++) {
        Label label = {.is_new = i % 4 == 0};
        snprintf(label.text, sizeof(label.text), "a long text %d", (int)i % 10);
        keep(&f, mica_spawn(f.world, mica_tag(Label)));
        mica_set_from(f.world, f.entities[i], Label, &label);
    }
    mica_entity found[16];
    assert_int_equal(mica_index_find(by_text, "a long text 7", found, 16), 10);
    assert_entity_equal(found[9], f.entities[97]);
    assert_int_equal(mica_index_find(by_text, "a long text ", found, 16), 0);
    assert_int_equal(mica_index_find_value(by_flag, bool, true, found, 16), 25);
    for (int32_t i = 0; i < 100; i += 2) {
        mica_destroy(f.world, f.entities[i]);
    }
    assert_int_equal(mica_index_find(by_text, "a long text 7", found, 16), 10);
    assert_int_equal(mica_index_find(by_text, "a long text 6", found, 16), 0);
    end(&f);
}

// Refusals

static void what_is_no_index_is_refused(void **state) {
    fixture f;
    begin(&f, state);
    assert_null(mica_index_of(f.world, Unit, "nothing"));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_said("Unit does not ask for an index of \"nothing\" by its trait indexes");
    assert_null(mica_index_of(f.world, Health, "now"));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_index_of_id(f.world, 9999, "now"));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_index_of(f.world, Unit, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_index_of((mica_world *)NULL, Unit, "hp"));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    end(&f);
}

static void look_ups_that_make_no_sense_are_refused(void **state) {
    fixture f;
    begin(&f, state);
    spawn(&f, 1, 1);
    mica_entity found[2];
    const int32_t key = 1;
    assert_int_equal(mica_index_find(NULL, &key, found, 2), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_index_find(f.by_team, NULL, found, 2), 0);
    assert_said("needs a key");
    assert_int_equal(mica_index_find(f.by_team, &key, NULL, 2), 0);
    assert_said("needs an array");
    assert_int_equal(mica_index_range(f.by_team, &key, &key, found, 2), 0);
    assert_said("the index of \"team\" of Unit is MICA_HASH and has no order");
    assert_null_entity(mica_index_first(f.by_team));
    assert_null_entity(mica_index_last(f.by_team));
    assert_int_equal(mica_index_range(f.by_hp, &key, &key, NULL, 2), 0);
    assert_said("needs an array");
    assert_int_equal(mica_index_count(NULL), 0);
    mica_error_clear();
    assert_int_equal(mica_index_find_value(f.by_team, int16_t, 1, found, 2), 0);
    assert_said("a key of the index of \"team\" of Unit has 4 bytes, not 2");
    mica_error_clear();
    assert_int_equal(mica_index_find(f.by_team, &key, NULL, -5), 1);
    assert_int_equal(mica_last_result(), MICA_OK);
    end(&f);
}

// Memory

static void an_index_without_memory_is_refused_and_can_be_asked_for_again(void **state) {
    fixture f;
    begin_without_indexes(&f, *state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, i % 5, i % 40);
    }
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.watched.allocator, n);
        mica_index *index = mica_index_of(f.world, Unit, "hp");
        if (!test_allocator_fail_stop(&f.watched.allocator)) {
            assert_non_null(index);
            break;
        }
        failures++;
        assert_null(index);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_valid(f.world);
    }
    assert_true(failures > 5);
    ask(&f);
    assert_as_scanned(&f);
    end(&f);
}

static void verbs_do_not_fail_for_an_index_and_look_ups_are_right_or_refused(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, i % 5, i % 40);
    }
    for (uint64_t n = 1; n < 40; n++) {
        for (int32_t i = 0; i < 300; i++) {
            // The new value needs no memory; what the index needs for it is not there.
            if ((uint64_t)i % 7 == n % 7) {
                test_allocator_fail_from(&f.watched.allocator, 1);
            }
            const int32_t hp = (int32_t)(n * 1000) + i;
            const mica_result result = mica_set(f.world, f.entities[i], Unit, {hp % 6, hp});
            test_allocator_fail_stop(&f.watched.allocator);
            assert_int_equal(result, MICA_OK);
        }
        mica_get_write(f.world, f.entities[n], Unit)->team = 7;
        test_allocator_fail_at(&f.watched.allocator, n % 4 + 1);
        mica_error_clear();
        const int32_t count = mica_index_count(f.by_hp);
        if (test_allocator_fail_stop(&f.watched.allocator)) {
            assert_int_equal(count, 0);
            assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
            assert_said("the index of \"hp\" of Unit has no memory");
        } else {
            assert_int_equal(count, 300);
        }
        assert_valid(f.world);
        assert_team(&f, (int32_t)n % 6, ENTITY_MAX);
        assert_hp(&f, (int32_t)(n * 1000), (int32_t)(n * 1000) + 150, ENTITY_MAX);
    }
    end(&f);
}

static void what_spans_write_without_memory_is_found_later(void **state) {
    fixture f;
    begin(&f, state);
    for (int32_t i = 0; i < 300; i++) {
        spawn(&f, 0, i);
    }
    mica_query *query = mica_query_of(f.world, mica_write(Unit));
    for (uint64_t n = 1; n < 12; n++) {
        mica_iter it = mica_begin(query);
        assert_true(it.open);
        while (mica_iter_next(&it)) {
            test_allocator_fail_at(&f.watched.allocator, n);
            Unit *units = mica_write_of(it, Unit);
            for (int32_t i = 0; i < it.count; i++) {
                units[i].team = (int32_t)n % 8;
                units[i].hp = units[i].hp * 7 % 300;
            }
        }
        mica_iter_end(&it);
        test_allocator_fail_stop(&f.watched.allocator);
        assert_as_scanned(&f);
        assert_valid(f.world);
    }
    end(&f);
}

// Model

static void change_by_span(fixture *f, test_random *random) {
    mica_query *query = mica_query_of(f->world, mica_write(Unit));
    const uint32_t chance = test_random_below(random, 10) + 1;
    mica_each (query, it) {
        if (test_random_below(random, 3) == 0) {
            continue;
        }
        Unit *units = mica_write_of(it, Unit);
        for (int32_t i = 0; i < it.count; i++) {
            if (test_random_below(random, chance) == 0) {
                units[i] = (Unit){(int32_t)test_random_below(random, 7), (int32_t)test_random_below(random, 60)};
            }
        }
    }
}

static void change_one(fixture *f, test_random *random, mica_entity entity) {
    const int32_t team = (int32_t)test_random_below(random, 7);
    const int32_t hp = (int32_t)test_random_below(random, 60);
    mica_commands *commands = NULL;
    switch (test_random_below(random, 9)) {
    case 0:
        mica_destroy(f->world, entity);
        break;
    case 1:
        mica_remove(f->world, entity, Unit);
        break;
    case 2:
        mica_has(f->world, entity, Away) ? mica_remove(f->world, entity, Away) : mica_add(f->world, entity, Away);
        break;
    case 3:
        if (mica_has(f->world, entity, Unit)) {
            *mica_get_write(f->world, entity, Unit) = (Unit){team, hp};
        }
        break;
    case 4:
        commands = mica_commands_create(f->world);
        mica_set(commands, entity, Unit, {team, hp});
        mica_remove(commands, entity, Unit);
        mica_set(commands, entity, Unit, {hp % 7, team});
        mica_commands_apply(commands);
        mica_commands_destroy(commands);
        break;
    case 5:
        if (f->count < ENTITY_MAX) {
            keep(f, mica_clone(f->world, entity));
        }
        break;
    case 6:
        change_by_span(f, random);
        break;
    default:
        mica_set(f->world, entity, Unit, {team, hp});
        break;
    }
}

static void forget_dead(fixture *f) {
    int32_t kept = 0;
    for (int32_t i = 0; i < f->count; i++) {
        if (mica_alive(f->world, f->entities[i])) {
            f->entities[kept++] = f->entities[i];
        }
    }
    f->count = kept;
}

static void random_operations_find_what_a_scan_finds(void **state) {
    const storage_case *storage = *state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        fixture f;
        begin(&f, state);
        test_random random = {.state = seed};
        for (int32_t step = 0; step < 500; step++) {
            if (f.count < 20 || (f.count < ENTITY_MAX && test_random_below(&random, 3) == 0)) {
                spawn(&f, (int32_t)test_random_below(&random, 7), (int32_t)test_random_below(&random, 60));
            } else {
                change_one(&f, &random, f.entities[test_random_below(&random, (uint32_t)f.count)]);
            }
            forget_dead(&f);
            if (test_random_below(&random, 400) == 0) {
                mica_world_clear(f.world);
                forget_dead(&f);
            }
            if (step % 3 == 0) {
                assert_as_scanned(&f);
            }
            if (mica_world_validate(f.world) != MICA_OK) {
                fail_msg("%s, seed %d, step %d: %s", storage->name, (int)seed, (int)step, mica_last_error());
            }
        }
        end(&f);
    }
}

#define CASE(NAME) cmocka_unit_test_prestate(NAME, (void *)(uintptr_t)&storages[i])

int main(void) {
    int failed_count = 0;
    for (size_t i = 0; i < sizeof(storages) / sizeof(storages[0]); i++) {
        const struct CMUnitTest tests[] = {
            CASE(an_empty_index_finds_nobody),
            CASE(entities_are_found_in_order_of_their_indices_whatever_their_history),
            CASE(a_range_includes_both_ends_and_may_be_open),
            CASE(an_index_that_nobody_asks_for_has_no_memory),
            CASE(an_index_is_made_of_what_is_there_and_given_again),
            CASE(what_a_verb_did_is_found_when_it_returns),
            CASE(many_at_once_are_found),
            CASE(a_slot_that_is_used_again_is_another_entity),
            CASE(rows_that_move_stay_found),
            CASE(disabled_and_killed_entities_are_found),
            CASE(commands_are_found_once_they_are_applied),
            CASE(what_spans_write_is_found_when_the_walk_has_ended),
            CASE(spans_of_copies_are_found_as_well),
            CASE(a_walk_inside_a_walk_waits_for_the_outer_one),
            CASE(a_walk_by_rows_tells_of_each_entity_once),
            CASE(what_a_walk_that_is_left_open_wrote_is_found),
            CASE(a_verb_during_a_walk_is_found_at_once),
            CASE(what_an_address_wrote_is_found_by_the_next_look_up),
            CASE(a_look_up_during_a_walk_sees_what_was_written_before_it_began),
            CASE(an_index_that_is_asked_for_during_a_walk_knows_what_spans_wrote_when_that_has_ended),
            CASE(an_index_that_is_asked_for_during_walks_alone_is_made_once),
            CASE(the_arrays_of_a_pool_are_looked_at_by_the_next_look_up),
            CASE(observers_find_what_has_come_and_no_longer_what_goes),
            CASE(observers_of_what_is_cleared_find_nobody),
            CASE(observers_may_validate_while_a_component_goes),
            CASE(a_value_that_is_set_while_it_goes_leaves_nobody_behind),
            CASE(observers_make_no_index_of_what_goes),
            CASE(an_index_asked_for_in_an_observer_is_brought_up_to_date_before_later_observers),
            CASE(trimming_gives_back_what_nobody_is_in),
            CASE(texts_are_found_by_their_bytes),
            CASE(numbers_that_are_none_are_equal_and_above_all_others),
            CASE(entities_and_enumerations_are_keys),
            CASE(long_texts_and_flags_are_hashed),
            CASE(what_is_no_index_is_refused),
            CASE(look_ups_that_make_no_sense_are_refused),
            CASE(an_index_without_memory_is_refused_and_can_be_asked_for_again),
            CASE(verbs_do_not_fail_for_an_index_and_look_ups_are_right_or_refused),
            CASE(what_spans_write_without_memory_is_found_later),
            CASE(random_operations_find_what_a_scan_finds),
        };
        failed_count += cmocka_run_group_tests_name(storages[i].name, tests, NULL, NULL);
    }
    return failed_count;
}
