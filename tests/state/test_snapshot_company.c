// Snapshots in company: of systems that come and go, of budgets and fixed capacity, of those who listen, and of calls
// that have the world in their hands.
#include "state/delta_world.h"

#include <mica/checksum.h>
#include <mica/snapshot.h>
#include <mica/subscription.h>

static uint64_t checksum_of(mica_world *world) {
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, &(mica_checksum_options){.exact = true}, &checksum), MICA_OK);
    return checksum;
}

static mica_snapshot *take(mica_world *world) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

static void restore(mica_snapshot *snapshot, mica_world *world) {
    assert_string_equal(mica_snapshot_restore(snapshot, world, NULL) == MICA_OK ? "" : mica_last_error(), "");
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

// Systems

MICA_STRUCT(Runs, { int32_t count; });

static void count_run(mica_run *run) {
    mica_run_state(run, Runs)->count++;
}

enum { SYSTEM_COUNT = 4 };
static const char *const system_names[SYSTEM_COUNT] = {"a", "b", "c", "d"};

// How often each has run; -1: it is not there.
static void count_runs(mica_world *world, int32_t counts[SYSTEM_COUNT]) {
    for (uint32_t i = 0; i < SYSTEM_COUNT; i++) {
        const mica_system system = mica_system_find(world, system_names[i]);
        const Runs *runs = system.id == 0 ? NULL : mica_system_state(world, system);
        counts[i] = runs == NULL ? -1 : runs->count;
    }
}

// A system that was there then and is now has what it had; one that came since then begins anew; none comes or goes.
static void systems_that_come_and_go_keep_what_the_state_knows_of_them(void **state) {
    (void)state;
    enum { MOMENT_COUNT = 24 };
    mica_world *world = mica_world_create(NULL);
    test_random random = {.state = 11};
    mica_snapshot *snapshots[MOMENT_COUNT];
    int32_t known[MOMENT_COUNT][SYSTEM_COUNT];
    for (uint32_t moment = 0; moment < MOMENT_COUNT; moment++) {
        const char *name = system_names[test_random_below(&random, SYSTEM_COUNT)];
        const mica_system there = mica_system_find(world, name);
        if (there.id != 0) {
            assert_int_equal(mica_system_remove(world, there), MICA_OK);
        } else {
            const mica_system_def def = {.name = name, .run = count_run, .state = mica_type_of(Runs)};
            assert_int_not_equal(mica_system_add(world, &def).id, 0);
        }
        for (uint32_t i = test_random_below(&random, 3); i > 0; i--) {
            assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
        }
        snapshots[moment] = take(world);
        count_runs(world, known[moment]);
        int32_t before[SYSTEM_COUNT];
        int32_t after[SYSTEM_COUNT];
        count_runs(world, before);
        const uint32_t back = test_random_below(&random, moment + 1);
        restore(snapshots[back], world);
        count_runs(world, after);
        for (uint32_t i = 0; i < SYSTEM_COUNT; i++) {
            const int32_t then = known[back][i] < 0 ? 0 : known[back][i];
            assert_int_equal(after[i], before[i] < 0 ? -1 : then);
        }
        if (test_random_below(&random, 2) == 0) {
            restore(snapshots[moment], world);
        }
    }
    for (uint32_t moment = 0; moment < MOMENT_COUNT; moment++) {
        mica_snapshot_release(snapshots[moment]);
    }
    mica_world_destroy(world);
}

// Memory

// Snapshots take nothing of what the world may hold; a restore that would take too much leaves it as it was.
static void check_capacity(const mica_world_def *def) {
    state_world w;
    delta_world_open(&w, def);
    state_world roomy;
    mica_schema *schema = def->schema;
    delta_world_open(&roomy, &(mica_world_def){.schema = schema});
    state_go_on(&roomy, 3, 4000);
    for (uint32_t i = 0; i < 60000; i++) {
        assert_false(mica_entity_is_null(mica_spawn(roomy.world, mica_value_of(Position, {1, 2, 3}))));
    }
    mica_snapshot *large = take(roomy.world);
    mica_snapshot *snapshots[8];
    uint64_t checksums[8];
    for (uint32_t i = 0; i < 8; i++) {
        state_go_on(&w, 20 + i, 100);
        snapshots[i] = take(w.world);
        checksums[i] = checksum_of(w.world);
        assert_int_equal(mica_snapshot_restore(large, w.world, NULL), MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_world_validate(w.world), MICA_OK);
        assert_true(checksum_of(w.world) == checksums[i]);
    }
    for (uint32_t i = 0; i < 32; i++) {
        restore(snapshots[i * 5 % 8], w.world);
        assert_true(checksum_of(w.world) == checksums[i * 5 % 8]);
    }
    for (uint32_t i = 0; i < 8; i++) {
        mica_snapshot_release(snapshots[i]);
    }
    mica_snapshot_release(large);
    mica_world_destroy(roomy.world);
    mica_world_destroy(w.world);
}

static void a_world_of_fixed_capacity_goes_back_and_stays_within_it(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    check_capacity(&(mica_world_def){.schema = schema, .fixed_byte_size = (size_t)1 << 20});
    mica_schema_release(schema);
}

static void a_world_with_a_budget_goes_back_and_stays_within_it(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    check_capacity(&(mica_world_def){.schema = schema, .budget.total = (size_t)1 << 20});
    mica_schema_release(schema);
}

// Numbers come in any order, some of them again; a restore goes to any that is there.
static void a_ring_goes_round_many_times(void **state) {
    (void)state;
    enum { CAPACITY = 5, TURNS = 600 };
    state_world w;
    delta_world_open(&w, NULL);
    mica_ring *ring = mica_ring_create(w.world, &(mica_ring_def){.capacity = CAPACITY});
    struct {
        uint64_t number;
        uint64_t checksum;
    } known[CAPACITY + 1];
    uint32_t count = 0;
    uint64_t number = 0;
    test_random random = {.state = 17};
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        state_go_on(&w, turn, 8);
        number += 1 + test_random_below(&random, 3);
        while (count > 0 && known[count - 1].number >= number) {
            count--;
        }
        assert_int_equal(mica_ring_take(ring, number), MICA_OK);
        known[count].number = number;
        known[count++].checksum = checksum_of(w.world);
        if (count > CAPACITY) {
            memmove(known, known + 1, --count * sizeof(known[0]));
        }
        const mica_ring_stats stats = mica_ring_statistics(ring);
        assert_int_equal(stats.count, count);
        assert_true(stats.first_number == known[0].number && stats.last_number == number);
        assert_int_equal(mica_ring_restore(ring, known[0].number - 1, NULL), MICA_ABSENT);
        if (test_random_below(&random, 3) == 0) {
            const uint32_t to = test_random_below(&random, count);
            assert_int_equal(mica_ring_restore(ring, known[to].number, NULL), MICA_OK);
            assert_true(checksum_of(w.world) == known[to].checksum);
            number = known[to].number;
        }
    }
    mica_ring_destroy(ring);
    mica_world_destroy(w.world);
}

// Those who listen

typedef struct listening {
    mica_subscription *subscription;
    mica_entity holders[4096]; // by index: who has a position, as far as was heard
} listening;

// Looks at those alone who are listed.
static void collect(listening *l, mica_world *world) {
    mica_change changes[64];
    int32_t count;
    while ((count = mica_subscription_collect(l->subscription, changes, 64)) > 0) {
        for (int32_t i = 0; i < count; i++) {
            const mica_entity entity = changes[i].entity;
            assert_true(mica_entity_index(entity) < 4096);
            mica_entity *holder = &l->holders[mica_entity_index(entity)];
            if (mica_entity_alive(world, entity) && mica_has(world, entity, Position)) {
                *holder = entity;
            } else if (mica_entity_equal(*holder, entity)) {
                *holder = MICA_NULL;
            }
        }
    }
    assert_int_equal(count, 0);
}

static void assert_heard_of_all(const listening *l, mica_world *world) {
    const mi_slots *slots = &world->store.slots;
    for (uint32_t index = 1; index < mi_slots_end(slots); index++) {
        const mica_entity entity = mi_slots_handle(slots, index);
        const bool holds = mica_entity_alive(world, entity) && mica_has(world, entity, Position);
        assert_true(mica_entity_equal(l->holders[index], holds ? entity : MICA_NULL));
    }
}

static void who_listens_on_both_sides_hears_of_a_swap(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    state_world w[2];
    static listening l[2];
    for (uint32_t i = 0; i < 2; i++) {
        delta_world_open(&w[i], &(mica_world_def){.schema = schema});
        l[i] = (listening){.subscription = mica_subscribe(
                               w[i].world, &(mica_subscription_def){.components = {mica_type_of(Position)}})};
        assert_non_null(l[i].subscription);
    }
    for (uint32_t turn = 0; turn < 30; turn++) {
        const uint64_t before[2] = {checksum_of(w[0].world), checksum_of(w[1].world)};
        assert_int_equal(mica_world_swap(w[0].world, w[1].world), MICA_OK);
        for (uint32_t i = 0; i < 2; i++) {
            assert_true(checksum_of(w[i].world) == before[1 - i]);
            collect(&l[i], w[i].world);
            assert_heard_of_all(&l[i], w[i].world);
            assert_int_equal(mica_world_validate(w[i].world), MICA_OK);
            state_go_on(&w[i], turn * 2 + i, 40);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        mica_subscription_destroy(l[i].subscription);
        mica_world_destroy(w[i].world);
    }
    mica_schema_release(schema);
}

// Calls that have the world in their hands

typedef struct refusals {
    mica_world *world;
    mica_world *other;
    mica_snapshot *snapshot;
    uint32_t count;
} refusals;

static void try_all(refusals *r) {
    assert_null(mica_snapshot_take(r->world, NULL));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_snapshot_restore(r->snapshot, r->world, NULL), MICA_LOCKED);
    assert_int_equal(mica_world_copy(r->world, r->other), MICA_LOCKED);
    assert_int_equal(mica_world_copy(r->other, r->world), MICA_LOCKED);
    assert_int_equal(mica_world_swap(r->world, r->other), MICA_LOCKED);
    assert_int_equal(mica_world_swap(r->other, r->world), MICA_LOCKED);
    r->count++;
}

static void try_in_system(mica_run *run) {
    try_all(mica_run_user(run));
}

static void try_in_patch(void *value, void *user) {
    (void)value;
    try_all(user);
}

static void no_call_takes_the_state_from_under_another(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    refusals r = {.world = mica_world_create(&(mica_world_def){.schema = schema}),
                  .other = mica_world_create(&(mica_world_def){.schema = schema})};
    const mica_entity entity = mica_spawn(r.world, mica_value_of(Position, {1, 2, 3}));
    r.snapshot = take(r.world);
    const mica_system_def def = {.name = "try",
                                 .start = try_in_system,
                                 .run = try_in_system,
                                 .stop = try_in_system,
                                 .exclusive = true,
                                 .user = &r};
    const mica_system system = mica_system_add(r.world, &def);
    assert_int_not_equal(system.id, 0);
    assert_int_equal(mica_world_step(r.world, 0), MICA_OK);
    assert_int_equal(r.count, 2);
    assert_int_equal(mica_system_remove(r.world, system), MICA_OK);
    assert_int_equal(r.count, 3);
    assert_int_equal(mica_patch(r.world, entity, Position, try_in_patch, &r), MICA_OK);
    assert_int_equal(r.count, 4);
    restore(r.snapshot, r.world);
    mica_snapshot_release(r.snapshot);
    mica_world_destroy(r.world);
    mica_world_destroy(r.other);
    mica_schema_release(schema);
}

// Without transient values, and with them

MICA_STRUCT_WITH(Cache, (.transient = true, .storage = MICA_TABLE), { int32_t value; });

static void snapshots_with_and_without_transient_values_may_follow_each_other(void **state) {
    (void)state;
    enum { MOMENT_COUNT = 40 };
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {0, 0, 0}), mica_value_of(Cache, {0}));
    mica_snapshot *snapshots[MOMENT_COUNT];
    test_random random = {.state = 23};
    int32_t cached = 0; // what the cache holds
    for (int32_t moment = 0; moment < MOMENT_COUNT; moment++) {
        assert_int_equal(mica_set(world, entity, Position, {(float)moment, 0, 0}), MICA_OK);
        if (test_random_below(&random, 2) == 0) {
            cached = moment;
            assert_int_equal(mica_set(world, entity, Cache, {moment}), MICA_OK);
        }
        const bool leaves = moment % 2 == 1;
        snapshots[moment] = mica_snapshot_take(world, &(mica_snapshot_options){.leave_transient = leaves});
        assert_non_null(snapshots[moment]);
        static int32_t taken[MOMENT_COUNT];
        taken[moment] = cached;
        const uint32_t back = test_random_below(&random, (uint32_t)moment + 1);
        restore(snapshots[back], world);
        cached = back % 2 == 1 ? cached : taken[back];
        assert_int_equal(mica_get(world, entity, Position)->x, back);
        assert_int_equal(mica_get(world, entity, Cache)->value, cached);
    }
    for (uint32_t moment = 0; moment < MOMENT_COUNT; moment++) {
        mica_snapshot_release(snapshots[moment]);
    }
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_that_come_and_go_keep_what_the_state_knows_of_them),
        cmocka_unit_test(a_world_of_fixed_capacity_goes_back_and_stays_within_it),
        cmocka_unit_test(a_world_with_a_budget_goes_back_and_stays_within_it),
        cmocka_unit_test(a_ring_goes_round_many_times),
        cmocka_unit_test(who_listens_on_both_sides_hears_of_a_swap),
        cmocka_unit_test(no_call_takes_the_state_from_under_another),
        cmocka_unit_test(snapshots_with_and_without_transient_values_may_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
