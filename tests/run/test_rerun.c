// Ticks after a restore do what they did the first time, to the last bit: in the world itself, in another one whose
// systems were added in another order, and in one that has never run.
#include "world/world_fixture.h"

MICA_STRUCT(Speed, { float x, y, z; });
MICA_STRUCT_WITH(Shield, (.storage = MICA_POOL), { int32_t power; });
MICA_TAG_WITH(Hot, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Mood, (.toggle = true), { int32_t number; });
MICA_STRUCT(Hit, {
    mica_entity who;
    uint32_t power;
});
MICA_STRUCT(Sum, { uint64_t number; });

static uint64_t mix(uint64_t sum, uint64_t number) {
    sum = (sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static void add_up(mica_run *run, uint64_t number) {
    Sum *sum = mica_run_state(run, Sum);
    sum->number = mix(sum->number, number);
}

// Makes entities with what chance wants, below each other now and then.
static void run_spawn(mica_run *run) {
    mica_commands *commands = mica_run_commands(run);
    mica_random *random = mica_run_random(run);
    const uint32_t count = mica_random_below(random, 4);
    mica_entity last = MICA_NULL;
    for (uint32_t i = 0; i < count; i++) {
        const mica_entity made = mica_spawn(
            commands, mica_value_of(Position, {mica_random_unitf(random), 0, 0}),
            mica_value_of(Speed, {mica_random_unitf(random), mica_random_unitf(random), 1}),
            mica_value_of(mica_lifetime, {.left_seconds = mica_random_unit(random) * 8, .takes_subtree = i == 1}));
        if (mica_random_chance(random, 0.5)) {
            mica_add_value(commands, made, Shield, {(int32_t)i});
        }
        if (mica_random_chance(random, 0.3)) {
            mica_add_value(commands, made, mica_timer, {.left_seconds = 0.7, .period_seconds = 0.9});
        }
        if (mica_random_chance(random, 0.4) && !mica_entity_is_null(last)) {
            mica_set_parent(commands, made, last);
        }
        last = made;
    }
    add_up(run, count);
}

// Moves everybody, and changes what some of them have.
static void run_move(mica_run *run) {
    mica_commands *commands = mica_run_commands(run);
    mica_random *random = mica_run_random(run);
    const float seconds = mica_delta_time(run);
    mica_entity parent = MICA_NULL;
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        const Speed *speed = mica_read_of(it, Speed);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += speed[i].x * seconds;
            position[i].y += speed[i].y * seconds;
            switch (mica_random_below(random, 60)) {
            case 0:
                mica_add(commands, it.entities[i], Hot);
                break;
            case 1:
                mica_remove(commands, it.entities[i], Hot);
                break;
            case 2:
                mica_remove(commands, it.entities[i], Shield);
                break;
            case 3:
                mica_set_parent(commands, it.entities[i], parent);
                break;
            case 4:
                mica_add_value(commands, it.entities[i], Mood, {i});
                break;
            case 5:
                mica_send(mica_run_world(run), Hit, {it.entities[i], (uint32_t)i});
                break;
            case 6:
                mica_commands_destroy_subtree(commands, it.entities[i]);
                break;
            default:
                break;
            }
            parent = it.entities[i];
        }
    }
}

// Reads a few events a tick, and leaves the rest.
static void run_listen(mica_run *run) {
    mica_event_reader *hits = mica_run_events(run, Hit);
    mica_event_reader *timers = mica_run_events(run, mica_timer_fired);
    const Hit *hit;
    for (int32_t i = 0; i < 2 && (hit = mica_next_event(hits, Hit)) != NULL; i++) {
        add_up(run, hit->who.bits ^ hit->power);
    }
    for (const mica_timer_fired *fired; (fired = mica_next_event(timers, mica_timer_fired)) != NULL;) {
        add_up(run, fired->timer.bits + fired->count);
    }
}

// Looks at what has changed, come and gone.
static void run_watch(mica_run *run) {
    mica_each (run, changed) {
        for (int32_t i = 0; i < changed.count; i++) {
            add_up(run, changed.entities[i].bits);
        }
    }
    mica_each (mica_run_query(run, 0), added) {
        for (int32_t i = 0; i < added.count; i++) {
            add_up(run, added.entities[i].bits * 3);
        }
    }
    mica_each (mica_run_query(run, 1), removed) {
        for (int32_t i = 0; i < removed.count; i++) {
            add_up(run, removed.entities[i].bits * 5);
        }
    }
}

// Runs now and then, and changes the world at once.
static void run_rule(mica_run *run) {
    mica_world *world = mica_run_world(run);
    const uint64_t tick = mica_run_tick(run);
    const mica_entity made = mica_spawn(world, mica_value_of(Position, {(float)tick, 1, 1}),
                                        mica_value_of(mica_lifetime, {.left_seconds = 3}));
    if (tick % 2 == 0) {
        mica_disable(world, made);
    }
    const Sum *sum = mica_resource(world, Sum);
    mica_set_resource(world, Sum, {mix(sum == NULL ? 1 : sum->number, tick)});
    add_up(run, made.bits + mica_random_next(mica_world_random(world)));
}

static void start_rule(mica_run *run) {
    mica_spawn(mica_run_world(run), mica_value_of(Position, {-1, -1, -1}), mica_value_of(Mood, {77}));
    add_up(run, 1);
}

// Enables and disables the others.
static void run_switch(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_system_enable(world, mica_system_find(world, "rule"), mica_random_chance(mica_run_random(run), 0.6));
    mica_system_enable(world, mica_system_find(world, "listen"), mica_run_tick(run) % 7 != 3);
}

enum { SYSTEM_COUNT = 6, TICKS = 1000 };

static const char *const names[SYSTEM_COUNT] = {"switch", "spawn", "move", "listen", "watch", "rule"};

static void add_one(mica_world *world, int32_t number) {
    const mica_system_def defs[SYSTEM_COUNT] = {
        {.name = "switch", .stage = MICA_FIRST, .run = run_switch, .query = {mica_with(Hot)}},
        {.name = "spawn", .stage = MICA_INPUT, .run = run_spawn, .query = {mica_with(Hot)}, .state = mica_type_of(Sum)},
        {.name = "move",
         .run = run_move,
         .query = {mica_write(Position), mica_read(Speed)},
         .access = {mica_writes(Hit)},
         .priority = 2},
        {.name = "listen",
         .run = run_listen,
         .query = {mica_with(Hot)},
         .access = {mica_reads(Hit), mica_reads(mica_timer_fired)},
         .state = mica_type_of(Sum),
         .priority = 1},
        {.name = "watch",
         .stage = MICA_POST_UPDATE,
         .run = run_watch,
         .query = {mica_changed(Position), mica_read_optional(Shield)},
         .query_count = 2,
         .queries = {{{mica_added(Shield)}}, {{mica_removed(Shield)}}},
         .state = mica_type_of(Sum)},
        {.name = "rule", .stage = MICA_LAST, .run = run_rule, .start = start_rule, .state = mica_type_of(Sum)},
    };
    if (mica_system_add(world, &defs[number]).id == 0) {
        fail_msg("%s", mica_last_error());
    }
}

// A world that is ready to run. Its systems were added in the order of their numbers times `factor`, 1 or 5.
static mica_world *make_world(mica_schema *schema, int32_t factor) {
    mica_world *world = mica_world_create(&(mica_world_def){.schema = schema, .seed = 5});
    assert_non_null(world);
    if (factor == 1) {
        assert_true(mica_timer_system_add(world).id != 0);
    }
    for (int32_t i = 0; i < SYSTEM_COUNT; i++) {
        add_one(world, i * factor % SYSTEM_COUNT);
    }
    if (factor != 1) {
        assert_true(mica_timer_system_add(world).id != 0);
    }
    assert_true(mica_lifetime_system_add(world).id != 0);
    return world;
}

// Handles and values in the order of rows, and what systems have added up.
static uint64_t digest_of(mica_world *world, mica_query *query) {
    uint64_t digest = mica_world_tick(world);
    mica_each (query, it) {
        const Position *position = mica_read_of(it, Position);
        const Shield *shield = mica_read_of(it, Shield);
        for (int32_t i = 0; i < it.count; i++) {
            const mica_entity entity = it.entities[i];
            digest = mix(digest, entity.bits);
            digest = mix(digest, bits_of(position[i].x) << 32 | bits_of(position[i].y));
            digest = mix(digest, shield == NULL ? 3 : (uint64_t)shield[i].power);
            digest = mix(digest, mica_parent(world, entity).bits);
            digest = mix(digest, mica_last_child(world, entity).bits);
            digest = mix(digest, mica_has(world, entity, Hot));
        }
    }
    for (int32_t i = 0; i < SYSTEM_COUNT; i++) {
        const mica_system system = mica_system_find(world, names[i]);
        const Sum *sum = mica_system_state(world, system);
        mica_system_stats stats;
        assert_int_equal(mica_system_statistics(world, system, &stats), MICA_OK);
        digest = mix(digest, (sum == NULL ? 0 : sum->number) * 2 + stats.enabled);
    }
    const Sum *sum = mica_resource(world, Sum);
    return mix(digest, sum == NULL ? 0 : sum->number);
}

// A world and the query that it is looked at with.
typedef struct player {
    mica_world *world;
    mica_query *query;
} player;

static player begin_player(mica_schema *schema, int32_t factor) {
    player p = {.world = make_world(schema, factor)};
    p.query = mica_query_create(p.world,
                                (mica_term[]){mica_read(Position), mica_read_optional(Shield), mica_disabled_too()}, 3);
    assert_non_null(p.query);
    return p;
}

static void end_player(player *p) {
    assert_valid(p->world);
    mica_query_release(p->query);
    mica_world_destroy(p->world);
}

static void play(player *p, uint64_t *digests) {
    for (int32_t i = 0; i < TICKS; i++) {
        if (mica_world_step(p->world, 0.25f) != MICA_OK) {
            fail_msg("%s", mica_last_error());
        }
        digests[i] = digest_of(p->world, p->query);
    }
}

static void play_again(player *p, const uint64_t *digests) {
    static uint64_t again[TICKS];
    play(p, again);
    for (int32_t i = 0; i < TICKS; i++) {
        if (again[i] != digests[i]) {
            fail_msg("tick %d differs", i);
        }
    }
}

static void restore_into(mica_snapshot *snapshot, mica_world *world) {
    if (mica_snapshot_restore(snapshot, world, NULL) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    assert_valid(world);
}

static void the_next_thousand_ticks_are_as_the_first_time(void **state) {
    (void)state;
    static uint64_t digests[TICKS];
    player first = begin_player(NULL, 1);
    mica_snapshot *snapshots[3];
    for (int32_t round = 0; round < 3; round++) { // of a world that never ran, and of one that has
        snapshots[round] = mica_snapshot_take(first.world, NULL);
        assert_non_null(snapshots[round]);
        play(&first, digests);
        restore_into(snapshots[round], first.world);
        play_again(&first, digests);
        player other = begin_player(mica_world_schema(first.world), 5);
        restore_into(snapshots[round], other.world);
        play_again(&other, digests);
        end_player(&other);
    }
    assert_in_range(mica_world_entity_count(first.world), 20, 2000);
    // Back and forth over all of them, and on from the last one.
    restore_into(snapshots[0], first.world);
    restore_into(snapshots[2], first.world);
    restore_into(snapshots[1], first.world);
    restore_into(snapshots[2], first.world);
    play_again(&first, digests);
    for (int32_t round = 0; round < 3; round++) {
        mica_snapshot_release(snapshots[round]);
    }
    end_player(&first);
}

static void two_worlds_that_are_exchanged_go_on_as_each_other(void **state) {
    (void)state;
    static uint64_t one_digests[TICKS];
    static uint64_t two_digests[TICKS];
    player one = begin_player(NULL, 1);
    player two = begin_player(mica_world_schema(one.world), 5);
    for (int32_t i = 0; i < 10; i++) {
        assert_int_equal(mica_world_step(two.world, 0.25f), MICA_OK);
    }
    mica_snapshot *of_one = mica_snapshot_take(one.world, NULL);
    mica_snapshot *of_two = mica_snapshot_take(two.world, NULL);
    play(&one, one_digests);
    play(&two, two_digests);
    restore_into(of_one, one.world);
    restore_into(of_two, two.world);
    assert_int_equal(mica_world_swap(one.world, two.world), MICA_OK);
    play_again(&one, two_digests);
    play_again(&two, one_digests);
    mica_snapshot_release(of_one);
    mica_snapshot_release(of_two);
    end_player(&two);
    end_player(&one);
}

static void each_tick_rolled_back_and_run_again_is_the_same(void **state) {
    (void)state;
    enum { BACK = 5, COUNT = 200 };
    uint64_t digests[COUNT];
    player p = begin_player(NULL, 1);
    mica_ring *ring = mica_ring_create(p.world, &(mica_ring_def){.capacity = BACK + 1});
    assert_non_null(ring);
    for (int32_t tick = 0; tick < COUNT; tick++) {
        assert_int_equal(mica_ring_take(ring, mica_world_tick(p.world)), MICA_OK);
        assert_int_equal(mica_world_step(p.world, 0.25f), MICA_OK);
        digests[tick] = digest_of(p.world, p.query);
        const int32_t from = tick + 1 < BACK ? 0 : tick + 1 - BACK;
        assert_int_equal(mica_ring_restore(ring, (uint64_t)from, NULL), MICA_OK);
        for (int32_t again = from; again <= tick; again++) {
            assert_int_equal(mica_world_step(p.world, 0.25f), MICA_OK);
            if (digest_of(p.world, p.query) != digests[again]) {
                fail_msg("tick %d differs after a restore from %d to %d", again, tick + 1, from);
            }
        }
    }
    mica_ring_destroy(ring);
    end_player(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_thousand_ticks_are_as_the_first_time),
        cmocka_unit_test(two_worlds_that_are_exchanged_go_on_as_each_other),
        cmocka_unit_test(each_tick_rolled_back_and_run_again_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
