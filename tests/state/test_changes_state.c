// What a restore is to those who ask what has changed: systems see in a re-run what they saw the first time; whoever
// looks from outside sees what really differs; indexes, orders and subscriptions are right; observers are told on
// request.
#include "world/changes_world.h"

MICA_STRUCT_WITH(Keyed, (.indexes = {{"team", MICA_HASH}, {"level", MICA_ORDERED}}), { int32_t team, level; });
MICA_STRUCT(Score, { int32_t points; });

static mica_snapshot *take(mica_world *world) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_string_equal(snapshot != NULL ? "" : mica_last_error(), "");
    return snapshot;
}

static void restore(mica_snapshot *snapshot, mica_world *world) {
    assert_string_equal(mica_snapshot_restore(snapshot, world, NULL) == MICA_OK ? "" : mica_last_error(), "");
    assert_valid(world);
}

// Those who look from outside

static void a_value_that_a_restore_brings_back_has_changed(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    const mica_entity other = mica_spawn(world, mica_value_of(Other, {1}));
    mica_query *plain = CHANGED(world, Plain);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *others = CHANGED(world, Other);
    mica_snapshot *snapshot = take(world);
    const uint64_t early = mica_world_advance_version(world);
    mica_set(world, fifth, Plain, {50});
    mica_set(world, fifth, Exact, {50});
    const uint64_t late = mica_world_advance_version(world);
    restore(snapshot, world);
    assert_true(has(ask(plain, late), fifth));
    assert_only(exact, late, fifth);
    assert_nobody(others, early);
    assert_true(mica_entity_component_version(world, fifth, mica_register(world, Plain)) > late);
    assert_true(mica_entity_version(world, fifth) > late);
    assert_true(mica_entity_component_version(world, other, mica_register(world, Other)) <= early);
    const uint64_t now = mica_world_advance_version(world);
    assert_nobody(plain, now);
    assert_nobody(exact, now);
    mica_set(world, fifth, Plain, {5});
    assert_true(has(ask(plain, now), fifth));
    mica_snapshot_release(snapshot);
}

static void what_nothing_has_happened_to_has_not_changed(mica_world *world) {
    spawn_ten(world);
    mica_query *plain = CHANGED(world, Plain);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *added = ADDED(world, Plain);
    mica_snapshot *snapshot = take(world);
    for (uint32_t i = 0; i < 5; i++) {
        const uint64_t since = mica_world_advance_version(world);
        restore(snapshot, world);
        assert_nobody(plain, since);
        assert_nobody(exact, since);
        assert_nobody(added, since);
        assert_true(mica_world_version(world) > since);
    }
    mica_snapshot_release(snapshot);
}

static void who_comes_and_goes_by_a_restore_is_added_and_removed(mica_world *world) {
    const mica_entity gone = mica_spawn(world, mica_value_of(Plain, {1}), mica_value_of(Exact, {1}));
    const mica_entity bare = mica_spawn(world, mica_value_of(Plain, {2}));
    const mica_entity same = mica_spawn(world, mica_value_of(Plain, {3}));
    mica_query *added = ADDED(world, Plain);
    mica_query *removed = REMOVED(world, Plain);
    mica_snapshot *snapshot = take(world);
    mica_destroy(world, gone);
    mica_remove(world, bare, Plain);
    const mica_entity fresh = mica_spawn(world, mica_value_of(Plain, {4})); // in the slot of the one that is gone
    const uint64_t since = mica_world_advance_version(world);
    restore(snapshot, world);
    const found *all = ask(added, since);
    assert_int_equal(all->count, 2);
    assert_true(has(all, gone) && has(all, bare) && !has(all, same));
    assert_only(removed, since, fresh);
    mica_snapshot_release(snapshot);
}

static void removals_of_discarded_ticks_are_history(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *removed = REMOVED(world, Plain);
    mica_snapshot *snapshot = take(world);
    const uint64_t since = mica_world_advance_version(world);
    mica_remove(world, fifth, Plain);
    restore(snapshot, world);
    assert_non_null(mica_get(world, fifth, Plain));
    assert_only(removed, since, fifth); // it was, for a while
    assert_nobody(removed, mica_world_advance_version(world));
    mica_snapshot_release(snapshot);
}

// The value is carried to a place that the restore has not exchanged.
static void a_value_that_moves_after_a_restore_has_changed_all_the_same(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_spawn(world, mica_value_of(Plain, {1}), mica_value_of(Exact, {1}), mica_value_of(Other, {1}));
    mica_query *plain = CHANGED(world, Plain);
    mica_snapshot *snapshot = take(world);
    mica_world_advance_version(world);
    mica_set(world, fifth, Plain, {50});
    const uint64_t since = mica_world_advance_version(world);
    restore(snapshot, world);
    mica_world_advance_version(world);
    mica_set(world, fifth, Other, {7});
    assert_true(has(ask(plain, since), fifth));
    assert_true(mica_entity_component_version(world, fifth, mica_register(world, Plain)) > since);
    mica_snapshot *later = take(world);
    restore(later, world);
    assert_true(has(ask(plain, since), fifth));
    assert_nobody(plain, mica_world_version(world));
    mica_snapshot_release(later);
    mica_snapshot_release(snapshot);
}

// The same within a pool, or a table: the last one fills the hole that another one leaves.
static void a_value_that_fills_a_hole_after_a_restore_has_changed_all_the_same(mica_world *world) {
    mica_entity entities[12];
    for (int32_t i = 0; i < 12; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Plain, {i}));
    }
    mica_query *plain = CHANGED(world, Plain);
    mica_snapshot *snapshot = take(world);
    mica_world_advance_version(world);
    mica_set(world, entities[11], Plain, {50});
    const uint64_t since = mica_world_advance_version(world);
    restore(snapshot, world);
    mica_world_advance_version(world);
    mica_remove(world, entities[0], Plain);
    assert_true(has(ask(plain, since), entities[11]));
    assert_true(mica_entity_component_version(world, entities[11], mica_register(world, Plain)) > since);
    mica_snapshot *later = take(world);
    mica_world_advance_version(world);
    mica_set(world, entities[5], Plain, {50});
    restore(later, world);
    assert_true(has(ask(plain, since), entities[11]));
    mica_snapshot_release(later);
    mica_snapshot_release(snapshot);
}

static void a_resource_that_differs_has_changed(mica_world *world) {
    const mica_component score = mica_register(world, Score);
    assert_int_equal(mica_resource_set(world, score, &(Score){1}), MICA_OK);
    mica_snapshot *snapshot = take(world);
    mica_world_advance_version(world);
    assert_int_equal(mica_resource_set(world, score, &(Score){2}), MICA_OK);
    const uint64_t since = mica_world_advance_version(world);
    restore(snapshot, world);
    assert_int_equal(((const Score *)mica_resource_get(world, score))->points, 1);
    assert_true(mica_resource_version(world, score) > since);
    mica_snapshot_release(snapshot);
}

// Trackers that came after the snapshot

static void who_asks_for_the_first_time_after_the_snapshot_misses_nothing(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_snapshot *snapshot = take(world);
    const uint64_t early = mica_world_advance_version(world);
    mica_query *exact = CHANGED(world, Exact);
    mica_set(world, fifth, Exact, {50});
    const uint64_t since = mica_world_advance_version(world);
    restore(snapshot, world);
    assert_only(exact, since, fifth);
    assert_true(has(ask(exact, early), fifth));
    mica_set(world, fifth, Exact, {60});
    assert_only(exact, mica_world_version(world) - 1, fifth);
    mica_snapshot_release(snapshot);
}

// A model: when something happened to each entity's Exact, in outside versions. What is asked is exact for it; Plain is
// asked for by columns and pages, and never misses what differs from what was seen.
enum { THING_COUNT = 48, SNAPSHOT_COUNT = 5, LOOK_COUNT = 6 };

typedef struct thing {
    bool has_exact, has_plain;
    int32_t exact, plain;
    uint64_t changed; // Exact
    uint64_t added;
    uint64_t removed;
} thing;

typedef struct look {
    uint64_t version;
    bool has_plain[THING_COUNT];
    int32_t plain[THING_COUNT];
} look;

typedef struct model {
    mica_world *world;
    mica_entity entities[THING_COUNT];
    thing things[THING_COUNT];
    mica_snapshot *snapshots[SNAPSHOT_COUNT];
    thing saved[SNAPSHOT_COUNT][THING_COUNT];
    look looks[LOOK_COUNT];
    test_random random;
} model;

static uint32_t below(model *m, uint32_t limit) {
    return test_random_below(&m->random, limit);
}

static void change_thing(model *m) {
    const uint32_t number = below(m, THING_COUNT);
    thing *t = &m->things[number];
    const mica_entity entity = m->entities[number];
    const int32_t value = (int32_t)below(m, 1000);
    const uint64_t now = mica_world_version(m->world);
    switch (below(m, 6)) {
    case 0:
        assert_int_equal(mica_set(m->world, entity, Plain, {value}), MICA_OK);
        t->has_plain = true;
        t->plain = value;
        break;
    case 1:
        mica_remove(m->world, entity, Plain);
        t->has_plain = false;
        break;
    case 2:
        mica_remove(m->world, entity, Exact);
        t->removed = t->has_exact ? now : t->removed;
        t->has_exact = false;
        break;
    case 3:
        mica_set(m->world, entity, Other, {value});
        break;
    case 4:
        mica_remove(m->world, entity, Other);
        break;
    default:
        assert_int_equal(mica_set(m->world, entity, Exact, {value}), MICA_OK);
        t->added = t->has_exact ? t->added : now;
        t->changed = now;
        t->has_exact = true;
        t->exact = value;
        break;
    }
}

static void restore_model(model *m, uint32_t number) {
    restore(m->snapshots[number], m->world);
    const uint64_t now = mica_world_version(m->world);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        thing *t = &m->things[i];
        const thing *then = &m->saved[number][i];
        const bool comes = then->has_exact && !t->has_exact;
        t->removed = t->has_exact && !then->has_exact ? now : t->removed;
        t->added = comes ? now : t->added;
        t->changed = comes || (then->has_exact && then->exact != t->exact) ? now : t->changed;
        t->has_exact = then->has_exact;
        t->has_plain = then->has_plain;
        t->exact = then->exact;
        t->plain = then->plain;
    }
}

static void look_at_model(model *m, look *l) {
    l->version = mica_world_advance_version(m->world);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        l->has_plain[i] = m->things[i].has_plain;
        l->plain[i] = m->things[i].plain;
    }
}

static void check_look(model *m, const look *l) {
    found all = *ask(CHANGED(m->world, Exact), l->version);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        const thing *t = &m->things[i];
        assert_int_equal(has(&all, m->entities[i]), t->has_exact && t->changed > l->version);
    }
    all = *ask(ADDED(m->world, Exact), l->version);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        const thing *t = &m->things[i];
        assert_int_equal(has(&all, m->entities[i]), t->has_exact && t->added > l->version);
    }
    all = *ask(CHANGED(m->world, Plain), l->version);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        const thing *t = &m->things[i];
        const bool differs = t->has_plain && (!l->has_plain[i] || l->plain[i] != t->plain);
        assert_true(!differs || has(&all, m->entities[i]));
    }
}

static void check_removed(model *m, uint64_t since) {
    const found *all = ask(REMOVED(m->world, Exact), since);
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        assert_int_equal(has(all, m->entities[i]), m->things[i].removed > since);
    }
}

static void run_model(mica_world *world, uint64_t seed) {
    static model m;
    m = (model){.world = world, .random = {.state = seed}};
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        m.entities[i] = mica_entity_create(world);
    }
    mica_query *kept[] = {CHANGED(world, Exact), CHANGED(world, Plain), ADDED(world, Exact), REMOVED(world, Exact)};
    for (uint32_t i = 0; i < SNAPSHOT_COUNT; i++) {
        m.snapshots[i] = take(world);
    }
    for (uint32_t i = 0; i < LOOK_COUNT; i++) {
        look_at_model(&m, &m.looks[i]);
    }
    for (uint32_t step = 0; step < 600; step++) {
        const uint32_t what = below(&m, 40);
        if (what == 0) {
            const uint32_t number = below(&m, SNAPSHOT_COUNT);
            mica_snapshot_release(m.snapshots[number]);
            m.snapshots[number] = take(world);
            memcpy(m.saved[number], m.things, sizeof(m.things));
        } else if (what == 1) {
            restore_model(&m, below(&m, SNAPSHOT_COUNT));
        } else if (what < 4) {
            const uint64_t since = mica_world_advance_version(world);
            change_thing(&m);
            check_removed(&m, since);
        } else if (what < 7) {
            look *l = &m.looks[below(&m, LOOK_COUNT)];
            check_look(&m, l);
            look_at_model(&m, l);
        } else {
            change_thing(&m);
        }
    }
    for (uint32_t i = 0; i < LOOK_COUNT; i++) {
        check_look(&m, &m.looks[i]);
    }
    for (uint32_t i = 0; i < SNAPSHOT_COUNT; i++) {
        mica_snapshot_release(m.snapshots[i]);
    }
    (void)kept;
}

static void an_asker_from_outside_sees_what_differs_through_all_restores(mica_world *world) {
    run_model(world, 1);
    run_model(world, 2);
    run_model(world, 3);
}

// Systems

enum { TICK_COUNT = 60, WORD_COUNT = 4096 };

// What systems have seen, by tick.
typedef struct diary {
    uint32_t counts[TICK_COUNT];
    uint64_t words[TICK_COUNT][WORD_COUNT];
} diary;

static void write_down(diary *d, uint64_t tick, uint64_t word) {
    assert_true(tick < TICK_COUNT && d->counts[tick] < WORD_COUNT);
    d->words[tick][d->counts[tick]++] = word;
}

static uint64_t word_of(mica_entity entity) {
    return (uint64_t)mica_entity_generation(entity) << 32 | mica_entity_index(entity);
}

static void watch(mica_run *run) {
    diary *d = mica_run_user(run);
    const uint64_t tick = mica_run_tick(run);
    for (int32_t i = 0; i < 5; i++) {
        write_down(d, tick, UINT64_MAX - (uint64_t)i);
        mica_each (mica_run_query(run, i), it) {
            for (int32_t k = 0; k < it.count; k++) {
                write_down(d, tick, word_of(it.entities[k]));
            }
        }
    }
    // The same, by the version that the system is given.
    write_down(d, tick, UINT64_MAX - 9);
    mica_each_since(mica_run_query(run, 0), mica_run_since(run), it) {
        write_down(d, tick, (uint64_t)it.count);
    }
}

static void add_watchers(mica_world *world, diary *d) {
    const mica_system_def def = {.name = "watch",
                                 .run = watch,
                                 .user = d,
                                 .query = {mica_with(Other)},
                                 .query_count = 5,
                                 .queries = {{.terms = {mica_changed(Plain)}},
                                             {.terms = {mica_changed(Exact)}},
                                             {.terms = {mica_added(Plain)}},
                                             {.terms = {mica_removed(Exact)}},
                                             {.terms = {mica_changed(Other), mica_read(Plain)}}}};
    assert_string_equal(mica_system_add(world, &def).id != 0 ? "" : mica_last_error(), "");
}

// What happens between two ticks, which the tick's number decides.
static void disturb(mica_world *world, const mica_entity *entities, uint64_t tick) {
    test_random random = {.state = tick + 1};
    for (uint32_t i = 0; i < 12; i++) {
        const mica_entity entity = entities[test_random_below(&random, THING_COUNT)];
        const int32_t value = (int32_t)test_random_below(&random, 1000);
        switch (test_random_below(&random, 6)) {
        case 0:
            mica_set(world, entity, Plain, {value});
            break;
        case 1:
            mica_set(world, entity, Exact, {value});
            break;
        case 2:
            mica_set(world, entity, Other, {value});
            break;
        case 3:
            mica_remove(world, entity, Exact);
            break;
        case 4:
            mica_remove(world, entity, Plain);
            break;
        default:
            mica_destroy(world, mica_spawn(world, mica_value_of(Exact, {value})));
            break;
        }
    }
}

static void tick_once(mica_world *world, const mica_entity *entities) {
    disturb(world, entities, mica_world_tick(world));
    assert_string_equal(mica_world_step(world, 0.1f) == MICA_OK ? "" : mica_last_error(), "");
}

static void systems_see_in_a_rerun_what_they_saw_the_first_time(mica_world *world) {
    static diary first;
    static diary again;
    diary *const diaries[2] = {&first, &again};
    static diary seen;
    first = (diary){.counts = {0}};
    seen = (diary){.counts = {0}};
    mica_entity entities[THING_COUNT];
    mica_snapshot *snapshots[TICK_COUNT];
    for (uint32_t i = 0; i < THING_COUNT; i++) {
        entities[i] = mica_entity_create(world);
    }
    add_watchers(world, &seen);
    for (uint32_t i = 0; i < TICK_COUNT; i++) {
        snapshots[i] = take(world);
        tick_once(world, entities);
    }
    *diaries[0] = seen;
    test_random random = {.state = 3};
    for (uint32_t round = 0; round < 30; round++) {
        const uint32_t from = test_random_below(&random, TICK_COUNT);
        const uint32_t count = 1 + test_random_below(&random, TICK_COUNT - from);
        restore(snapshots[from], world);
        assert_int_equal(mica_world_tick(world), from);
        seen = (diary){.counts = {0}};
        for (uint32_t i = 0; i < count; i++) {
            tick_once(world, entities);
        }
        *diaries[1] = seen;
        for (uint32_t i = from; i < from + count; i++) {
            assert_int_equal(diaries[1]->counts[i], diaries[0]->counts[i]);
            assert_memory_equal(diaries[1]->words[i], diaries[0]->words[i], diaries[0]->counts[i] * sizeof(uint64_t));
        }
    }
    for (uint32_t i = 0; i < TICK_COUNT; i++) {
        mica_snapshot_release(snapshots[i]);
    }
}

// What is kept of entities

static int by_level(const mica_element *a, const mica_element *b, void *user) {
    ++*(uint32_t *)user;
    const Keyed *one = a->value;
    const Keyed *other = b->value;
    return (one->level > other->level) - (one->level < other->level);
}

static void spawn_keyed(mica_world *world, mica_entity *entities, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Keyed, {i % 3, (i * 7) % 50}));
    }
}

static void check_index(mica_world *world) {
    mica_index *teams = mica_index_of(world, Keyed, "team");
    mica_index *levels = mica_index_of(world, Keyed, "level");
    mica_query *query = mica_query_of(world, mica_read(Keyed));
    mica_entity listed[128];
    int32_t counts[3] = {0};
    mica_each (query, it) {
        const Keyed *keyed = mica_read_of(it, Keyed);
        for (int32_t i = 0; i < it.count; i++) {
            counts[keyed[i].team]++;
        }
    }
    for (int32_t team = 0; team < 3; team++) {
        const int32_t count = mica_index_find(teams, &team, listed, 128);
        assert_int_equal(count, counts[team]);
        for (int32_t i = 0; i < count; i++) {
            assert_int_equal(mica_get(world, listed[i], Keyed)->team, team);
            assert_true(i == 0 || mica_entity_index(listed[i - 1]) < mica_entity_index(listed[i]));
        }
    }
    const int32_t count = mica_index_range(levels, NULL, NULL, listed, 128);
    assert_int_equal(count, mica_query_count(query));
    for (int32_t i = 1; i < count; i++) {
        assert_true(mica_get(world, listed[i - 1], Keyed)->level <= mica_get(world, listed[i], Keyed)->level);
    }
}

static void indexes_are_right_after_a_restore(mica_world *world) {
    mica_entity entities[60];
    spawn_keyed(world, entities, 60);
    check_index(world);
    mica_snapshot *snapshot = take(world);
    for (int32_t i = 0; i < 60; i += 3) {
        mica_set(world, entities[i], Keyed, {(i + 1) % 3, 90 - i});
        mica_destroy(world, entities[i + 1]);
        mica_spawn(world, mica_value_of(Keyed, {2, i}));
    }
    mica_snapshot *later = take(world);
    check_index(world);
    for (uint32_t i = 0; i < 3; i++) {
        restore(snapshot, world);
        check_index(world);
        restore(later, world);
        check_index(world);
    }
    mica_snapshot_release(later);
    mica_snapshot_release(snapshot);
}

static void check_order(mica_order *order, mica_world *world, int32_t count) {
    int32_t seen = 0;
    int32_t last = INT32_MIN;
    for (mica_iter it = mica_order_begin(order); mica_iter_next(&it) || (mica_iter_end(&it), false);) {
        for (int32_t i = 0; i < it.count; i++, seen++) {
            const int32_t level = mica_get(world, it.entities[i], Keyed)->level;
            assert_true(last <= level);
            last = level;
        }
    }
    assert_int_equal(seen, count);
}

static void orders_are_not_fooled_by_versions_that_come_again(mica_world *world) {
    mica_entity entities[60];
    spawn_keyed(world, entities, 60);
    uint32_t comparisons = 0;
    mica_query *query = mica_query_of(world, mica_read(Keyed));
    mica_order *order = mica_order_create(query, mica_register(world, Keyed), by_level, &comparisons);
    check_order(order, world, 60);
    mica_snapshot *snapshot = take(world);
    for (int32_t round = 0; round < 4; round++) {
        for (int32_t i = 0; i < 40; i++) {
            mica_world_advance_version(world);
            mica_set(world, entities[i], Keyed, {0, (i * 13 + round) % 70});
        }
        check_order(order, world, 60);
        restore(snapshot, world);
        mica_set(world, entities[round], Keyed, {0, 500}); // under a version that the order has seen
        check_order(order, world, 60);
    }
    restore(snapshot, world);
    check_order(order, world, 60);
    comparisons = 0;
    restore(snapshot, world); // exchanges nothing
    check_order(order, world, 60);
    assert_int_equal(comparisons, 0);
    mica_order_destroy(order);
    mica_snapshot_release(snapshot);
}

static void subscriptions_list_those_who_differ(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    const mica_entity gone = mica_spawn(world, mica_value_of(Other, {1}));
    const mica_entity same = mica_spawn(world, mica_value_of(Other, {2}));
    mica_snapshot *snapshot = take(world);
    mica_set(world, fifth, Plain, {50});
    mica_destroy(world, gone);
    mica_remove(world, fifth, Exact);
    mica_entity_enable(world, same, false);
    const mica_entity fresh = mica_entity_create(world);
    mica_subscription *subscription = mica_subscribe(world, NULL);
    restore(snapshot, world);
    mica_change changes[16];
    const int32_t count = mica_subscription_collect(subscription, changes, 16);
    assert_int_equal(count, 4);
    uint32_t seen = 0;
    for (int32_t i = 0; i < count; i++) {
        if (mica_entity_equal(changes[i].entity, fifth)) {
            assert_int_equal(changes[i].flags, MICA_CHANGE_VALUE | MICA_CHANGE_ADDED);
            seen |= 1;
        } else if (mica_entity_equal(changes[i].entity, gone)) {
            assert_int_equal(changes[i].flags, MICA_CHANGE_CREATED | MICA_CHANGE_ADDED | MICA_CHANGE_VALUE);
            seen |= 2;
        } else if (mica_entity_equal(changes[i].entity, fresh)) {
            assert_int_equal(changes[i].flags, MICA_CHANGE_DESTROYED);
            seen |= 4;
        } else {
            assert_entity_equal(changes[i].entity, same);
            assert_int_equal(changes[i].flags, MICA_CHANGE_VISIBILITY);
            seen |= 8;
        }
    }
    assert_int_equal(seen, 15);
    restore(snapshot, world);
    assert_int_equal(mica_subscription_collect(subscription, changes, 16), 0);
    mica_subscription_destroy(subscription);
    mica_snapshot_release(snapshot);
}

// Observers

typedef struct heard_log {
    uint32_t count;
    struct {
        mica_signal_kind kind;
        mica_entity entity;
        mica_component component;
        int32_t value; // 0: none
    } heard[64];
} heard_log;

static void hear(const mica_signal *signal) {
    heard_log *log = signal->user;
    assert_true(log->count < 64);
    log->heard[log->count].kind = signal->kind;
    log->heard[log->count].entity = signal->entity;
    log->heard[log->count].component = signal->component;
    log->heard[log->count].value = signal->value == NULL ? 0 : *(const int32_t *)signal->value;
    log->count++;
    assert_int_equal(mica_destroy(signal->world, signal->entity), MICA_LOCKED);
    mica_error_clear();
    if (signal->kind != MICA_CREATED && signal->component != 0 && signal->kind != MICA_REMOVED) {
        assert_true(mica_entity_has(signal->world, signal->entity, signal->component));
    }
}

static void connect_all(mica_world *world, heard_log *log) {
    for (mica_signal_kind kind = MICA_ADDED; kind <= MICA_REMOVED; kind++) {
        assert_int_not_equal(mica_observer_connect_to(world, kind, mica_type_of(Plain), hear, log).id, 0);
        assert_int_not_equal(mica_observer_connect_to(world, kind, mica_type_of(Exact), hear, log).id, 0);
    }
    for (mica_signal_kind kind = MICA_CREATED; kind <= MICA_DESTROYED; kind++) {
        const mica_observer_def def = {.on = kind, .call = hear, .user = log};
        assert_int_not_equal(mica_observer_connect(world, &def).id, 0);
    }
    for (mica_signal_kind kind = MICA_ENTERED; kind <= MICA_LEFT; kind++) {
        const mica_observer_def def = {
            .on = kind, .query = {mica_with(Plain), mica_without(Exact)}, .call = hear, .user = log};
        assert_int_not_equal(mica_observer_connect(world, &def).id, 0);
    }
}

static void check_heard(const heard_log *log, uint32_t *at, mica_signal_kind kind, mica_entity entity,
                        mica_component component, int32_t value) {
    assert_true(*at < log->count);
    assert_int_equal(log->heard[*at].kind, kind);
    assert_entity_equal(log->heard[*at].entity, entity);
    assert_int_equal(log->heard[*at].component, component);
    assert_int_equal(log->heard[*at].value, value);
    ++*at;
}

// Whoever is listed as destroyed and comes back is another one to who listens.
static void subscriptions_hear_that_those_who_came_back_end_again(mica_world *world) {
    const mica_entity known = mica_spawn(world, mica_value_of(Other, {1}));
    mica_snapshot *snapshot = take(world);
    mica_subscription *subscription = mica_subscribe(world, NULL);
    mica_change changes[8];
    for (uint32_t turn = 0; turn < 2; turn++) {
        mica_destroy(world, known);
        const mica_entity next = turn == 0 ? MICA_NULL : mica_entity_create(world); // in its slot
        restore(snapshot, world);
        assert_int_equal(mica_subscription_count(subscription), 2);
        mica_destroy(world, known);
        assert_valid(world);
        const int32_t count = mica_subscription_collect(subscription, changes, 8);
        assert_int_equal(count, 1); // of what came in between nobody has to hear
        assert_entity_equal(changes[0].entity, known);
        assert_int_equal(changes[0].flags, MICA_CHANGE_DESTROYED | MICA_CHANGE_REMOVED);
        restore(snapshot, world);
        assert_int_equal(mica_subscription_collect(subscription, changes, 8), 1);
        assert_int_equal(changes[0].flags, MICA_CHANGE_CREATED | MICA_CHANGE_ADDED | MICA_CHANGE_VALUE);
        assert_false(mica_alive(world, next));
    }
    mica_destroy(world, known);
    restore(snapshot, world);
    assert_int_equal(mica_subscription_collect(subscription, changes, 8), 2); // first that it ended, then that it came
    assert_int_equal(changes[0].flags, MICA_CHANGE_DESTROYED | MICA_CHANGE_REMOVED);
    assert_int_equal(changes[1].flags, MICA_CHANGE_CREATED | MICA_CHANGE_ADDED | MICA_CHANGE_VALUE);
    mica_subscription_destroy(subscription);
    mica_snapshot_release(snapshot);
}

static void set_keyed(const mica_signal *signal) {
    const mica_entity *keyed = signal->user;
    assert_int_equal(mica_set(signal->world, *keyed, Keyed, {7, 70}), MICA_OK);
}

// What they set before a restore does not outlast it.
static void indexes_do_not_keep_what_observers_set_before_a_restore(mica_world *world) {
    mica_entity keyed = mica_spawn(world, mica_value_of(Keyed, {1, 10}));
    mica_snapshot *snapshot = take(world);
    mica_spawn(world, mica_value_of(Other, {1}));
    mica_index *teams = mica_index_of(world, Keyed, "team");
    mica_index *levels = mica_index_of(world, Keyed, "level");
    assert_int_equal(mica_index_find_value(teams, int32_t, 1, NULL, 0), 1);
    assert_int_equal(mica_index_find_value(levels, int32_t, 10, NULL, 0), 1);
    mica_on_removed(world, Other, set_keyed, &keyed);
    assert_int_equal(mica_snapshot_restore(snapshot, world, &(mica_restore_options){.tell = true}), MICA_OK);
    assert_int_equal(mica_get(world, keyed, Keyed)->team, 1);
    assert_int_equal(mica_index_find_value(teams, int32_t, 1, NULL, 0), 1);
    assert_int_equal(mica_index_find_value(teams, int32_t, 7, NULL, 0), 0);
    assert_int_equal(mica_index_find_value(levels, int32_t, 10, NULL, 0), 1);
    assert_valid(world);
    mica_snapshot_release(snapshot);
}

static void observers_hear_nothing_unless_asked(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_snapshot *snapshot = take(world);
    mica_set(world, fifth, Plain, {50});
    mica_destroy(world, mica_spawn(world, mica_value_of(Plain, {1})));
    mica_remove(world, fifth, Exact);
    mica_query *exact = CHANGED(world, Exact); // a listener of the library's own
    assert_non_null(exact);
    static heard_log log; // the world's end is told of as well
    log.count = 0;
    connect_all(world, &log);
    restore(snapshot, world);
    assert_int_equal(log.count, 0);
    mica_set(world, fifth, Plain, {51});
    assert_int_equal(log.count, 1); // and everything later
    mica_snapshot_release(snapshot);
}

static void observers_hear_the_net_difference_on_request(mica_world *world) {
    const mica_component plain = mica_register(world, Plain);
    const mica_component exact = mica_register(world, Exact);
    const mica_entity gone = mica_spawn(world, mica_value_of(Plain, {10}), mica_value_of(Exact, {11}));
    const mica_entity changed = mica_spawn(world, mica_value_of(Plain, {20}), mica_value_of(Exact, {21}));
    const mica_entity bare = mica_spawn(world, mica_value_of(Plain, {30}));
    mica_spawn(world, mica_value_of(Plain, {40}), mica_value_of(Exact, {41}));
    mica_snapshot *snapshot = take(world);
    mica_destroy(world, gone);
    const mica_entity fresh = mica_spawn(world, mica_value_of(Exact, {12}));
    assert_int_equal(mica_entity_index(fresh), mica_entity_index(gone));
    mica_set(world, changed, Plain, {22});
    mica_remove(world, changed, Exact);
    mica_set(world, bare, Exact, {31});
    mica_remove(world, bare, Exact);
    mica_set(world, bare, Plain, {30}); // as it was
    static heard_log log;               // the world's end is told of as well
    log.count = 0;
    connect_all(world, &log);
    const mica_restore_options options = {.tell = true};
    assert_int_equal(mica_snapshot_restore(snapshot, world, &options), MICA_OK);
    assert_valid(world);
    uint32_t at = 0;
    check_heard(&log, &at, MICA_REMOVED, fresh, exact, 12);
    check_heard(&log, &at, MICA_DESTROYED, fresh, 0, 0);
    check_heard(&log, &at, MICA_LEFT, changed, 0, 0);
    check_heard(&log, &at, MICA_CREATED, gone, 0, 0);
    check_heard(&log, &at, MICA_ADDED, gone, exact, 11);
    check_heard(&log, &at, MICA_ADDED, gone, plain, 10);
    check_heard(&log, &at, MICA_SET, gone, exact, 11);
    check_heard(&log, &at, MICA_SET, gone, plain, 10);
    check_heard(&log, &at, MICA_ADDED, changed, exact, 21);
    check_heard(&log, &at, MICA_SET, changed, exact, 21);
    check_heard(&log, &at, MICA_SET, changed, plain, 20);
    assert_int_equal(log.count, at);
    log.count = 0;
    assert_int_equal(mica_snapshot_restore(snapshot, world, &options), MICA_OK);
    assert_int_equal(log.count, 0);
    mica_snapshot_release(snapshot);
}

static void record_mark(const mica_signal *signal) {
    mica_set(signal->commands, signal->entity, Other, {99});
}

static void what_observers_record_is_applied_to_the_restored_world(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_snapshot *snapshot = take(world);
    mica_remove(world, fifth, Plain);
    assert_int_not_equal(mica_on_added(world, Plain, record_mark, NULL).id, 0);
    assert_int_equal(mica_snapshot_restore(snapshot, world, &(mica_restore_options){.tell = true}), MICA_OK);
    assert_non_null(mica_get(world, fifth, Other));
    assert_int_equal(mica_get(world, fifth, Other)->number, 99);
    assert_valid(world);
    mica_snapshot_release(snapshot);
}

static void who_is_disabled_by_a_restore_leaves_queries(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    assert_int_equal(mica_entity_enable(world, fifth, false), MICA_OK);
    mica_snapshot *hidden = take(world);
    assert_int_equal(mica_entity_enable(world, fifth, true), MICA_OK);
    mica_snapshot *shown = take(world);
    static heard_log log; // the world's end is told of as well
    log.count = 0;
    for (mica_signal_kind kind = MICA_ENTERED; kind <= MICA_LEFT; kind++) {
        const mica_observer_def def = {.on = kind, .query = {mica_with(Plain)}, .call = hear, .user = &log};
        assert_int_not_equal(mica_observer_connect(world, &def).id, 0);
    }
    const mica_restore_options options = {.tell = true};
    uint32_t at = 0;
    assert_int_equal(mica_snapshot_restore(hidden, world, &options), MICA_OK);
    check_heard(&log, &at, MICA_LEFT, fifth, 0, 0);
    assert_int_equal(mica_snapshot_restore(shown, world, &options), MICA_OK);
    check_heard(&log, &at, MICA_ENTERED, fifth, 0, 0);
    assert_int_equal(log.count, at);
    mica_snapshot_release(hidden);
    mica_snapshot_release(shown);
}

// Memory, and the field's cases

static void a_restore_that_fails_tells_nothing_and_changes_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity fifth = spawn_ten(w.world);
    mica_query *exact = CHANGED(w.world, Exact);
    mica_query *removed = REMOVED(w.world, Plain);
    mica_subscription *subscription = mica_subscribe(w.world, NULL);
    static heard_log log; // the world's end is told of as well
    log.count = 0;
    mica_snapshot *snapshot = take(w.world);
    mica_set(w.world, fifth, Exact, {50});
    mica_destroy(w.world, mica_spawn(w.world, mica_value_of(Plain, {1})));
    mica_remove(w.world, fifth, Plain);
    connect_all(w.world, &log);
    mica_change changes[16];
    mica_subscription_collect(subscription, changes, 16);
    const uint64_t since = mica_world_advance_version(w.world);
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&w.allocator, n);
        const mica_result result = mica_snapshot_restore(snapshot, w.world, &(mica_restore_options){.tell = true});
        const bool has_failed = test_allocator_fail_stop(&w.allocator);
        assert_valid(w.world);
        if (!has_failed) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        if (result == MICA_OK) {
            break; // what failed was a listener's, who says so himself
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(log.count, 0);
        assert_int_equal(mica_subscription_count(subscription), 0);
        assert_int_equal(mica_get(w.world, fifth, Exact)->number, 50);
        assert_nobody(exact, since);
        assert_nobody(removed, since);
    }
    assert_true(n > 5);
    assert_int_equal(mica_get(w.world, fifth, Exact)->number, 4);
    assert_only(exact, since, fifth);
    assert_int_not_equal(log.count, 0);
    mica_snapshot_release(snapshot);
    watched_end(&w);
}

static void an_observer_of_what_comes_sees_the_restored_value(mica_world *world) {
    const mica_entity entity = mica_spawn(world, mica_value_of(Plain, {7}));
    mica_snapshot *snapshot = take(world);
    mica_destroy(world, entity);
    static heard_log log; // the world's end is told of as well
    log.count = 0;
    assert_int_not_equal(mica_on_added(world, Plain, hear, &log).id, 0);
    assert_int_equal(mica_snapshot_restore(snapshot, world, &(mica_restore_options){.tell = true}), MICA_OK);
    assert_int_equal(log.count, 1);
    assert_entity_equal(log.heard[0].entity, entity);
    assert_int_equal(log.heard[0].value, 7);
    mica_snapshot_release(snapshot);
}

static void an_entity_that_was_restored_is_in_the_next_snapshot(mica_world *world) {
    const mica_entity entity = mica_spawn(world, mica_value_of(Plain, {7}));
    mica_snapshot *first = take(world);
    mica_destroy(world, entity);
    restore(first, world);
    mica_snapshot *second = take(world);
    mica_destroy(world, entity);
    mica_world_advance_version(world);
    restore(second, world);
    assert_int_equal(mica_get(world, entity, Plain)->number, 7);
    mica_destroy(world, entity);
    restore(first, world);
    assert_int_equal(mica_get(world, entity, Plain)->number, 7);
    mica_snapshot_release(first);
    mica_snapshot_release(second);
}

static void a_mirror_that_is_copied_to_again_and_again_has_as_many_entities(mica_world *world) {
    mica_world *mirror = mica_world_create(&(mica_world_def){.schema = mica_world_schema(world)});
    assert_non_null(mirror);
    mica_query *query = mica_query_retain(mica_query_of(mirror, mica_changed(Plain)));
    mica_entity kept[4] = {MICA_NULL, MICA_NULL, MICA_NULL, MICA_NULL};
    for (int32_t i = 0; i < 40; i++) {
        for (int32_t k = 0; k < 20; k++) {
            const mica_entity entity = mica_spawn(world, mica_value_of(Plain, {k}), mica_value_of(Exact, {k}));
            if (k == i % 20) {
                mica_destroy(world, kept[i % 4]);
                mica_error_clear();
                kept[i % 4] = entity;
            } else {
                mica_destroy(world, entity);
            }
        }
        const uint64_t since = mica_world_advance_version(mirror);
        assert_int_equal(mica_world_copy(mirror, world), MICA_OK);
        assert_int_equal(mica_world_trim(mirror), MICA_OK);
        assert_int_equal(mica_world_entity_count(mirror), mica_world_entity_count(world));
        assert_true(has(ask(query, since), kept[i % 4]));
        assert_valid(mirror);
    }
    mica_query_release(query);
    mica_world_destroy(mirror);
}

EVERY_STORAGE(a_value_that_a_restore_brings_back_has_changed)
EVERY_STORAGE(what_nothing_has_happened_to_has_not_changed)
EVERY_STORAGE(who_comes_and_goes_by_a_restore_is_added_and_removed)
EVERY_STORAGE(removals_of_discarded_ticks_are_history)
EVERY_STORAGE(a_value_that_moves_after_a_restore_has_changed_all_the_same)
EVERY_STORAGE(a_value_that_fills_a_hole_after_a_restore_has_changed_all_the_same)
EVERY_STORAGE(a_resource_that_differs_has_changed)
EVERY_STORAGE(who_asks_for_the_first_time_after_the_snapshot_misses_nothing)
EVERY_STORAGE(an_asker_from_outside_sees_what_differs_through_all_restores)
EVERY_STORAGE(systems_see_in_a_rerun_what_they_saw_the_first_time)
EVERY_STORAGE(indexes_are_right_after_a_restore)
EVERY_STORAGE(orders_are_not_fooled_by_versions_that_come_again)
EVERY_STORAGE(indexes_do_not_keep_what_observers_set_before_a_restore)
EVERY_STORAGE(subscriptions_list_those_who_differ)
EVERY_STORAGE(subscriptions_hear_that_those_who_came_back_end_again)
EVERY_STORAGE(observers_hear_nothing_unless_asked)
EVERY_STORAGE(observers_hear_the_net_difference_on_request)
EVERY_STORAGE(what_observers_record_is_applied_to_the_restored_world)
EVERY_STORAGE(who_is_disabled_by_a_restore_leaves_queries)
EVERY_STORAGE(an_observer_of_what_comes_sees_the_restored_value)
EVERY_STORAGE(an_entity_that_was_restored_is_in_the_next_snapshot)
EVERY_STORAGE(a_mirror_that_is_copied_to_again_and_again_has_as_many_entities)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OF(a_value_that_a_restore_brings_back_has_changed) TEST_OF(what_nothing_has_happened_to_has_not_changed)
            TEST_OF(who_comes_and_goes_by_a_restore_is_added_and_removed) TEST_OF(
                removals_of_discarded_ticks_are_history)
                TEST_OF(a_value_that_moves_after_a_restore_has_changed_all_the_same) TEST_OF(
                    a_value_that_fills_a_hole_after_a_restore_has_changed_all_the_same)
                    TEST_OF(a_resource_that_differs_has_changed) TEST_OF(
                        who_asks_for_the_first_time_after_the_snapshot_misses_nothing)
                        TEST_OF(an_asker_from_outside_sees_what_differs_through_all_restores) TEST_OF(
                            systems_see_in_a_rerun_what_they_saw_the_first_time)
                            TEST_OF(indexes_do_not_keep_what_observers_set_before_a_restore) TEST_OF(
                                indexes_are_right_after_a_restore)
                                TEST_OF(orders_are_not_fooled_by_versions_that_come_again) TEST_OF(
                                    subscriptions_list_those_who_differ)
                                    TEST_OF(subscriptions_hear_that_those_who_came_back_end_again) TEST_OF(
                                        observers_hear_nothing_unless_asked)
                                        TEST_OF(observers_hear_the_net_difference_on_request) TEST_OF(
                                            what_observers_record_is_applied_to_the_restored_world)
                                            TEST_OF(who_is_disabled_by_a_restore_leaves_queries) TEST_OF(
                                                an_observer_of_what_comes_sees_the_restored_value)
                                                TEST_OF(an_entity_that_was_restored_is_in_the_next_snapshot) TEST_OF(
                                                    a_mirror_that_is_copied_to_again_and_again_has_as_many_entities)
                                                    cmocka_unit_test(
                                                        a_restore_that_fails_tells_nothing_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
