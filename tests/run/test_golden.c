// Golden checksums: worlds that come to the same, bit by bit, on any number of threads and in every build.
//
// Of builds with handles of 32 bits the checksums are others: values that hold handles are of another size there.
#include "run/churn_world.h"
#include "support/test_allocator.h"

#include <mica/checksum.h>
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { GOLDEN_TICKS = 40 };

#if MICA_ENTITY_BITS == 64
#define GOLDEN(WIDE, NARROW) UINT64_C(WIDE)
#else
#define GOLDEN(WIDE, NARROW) UINT64_C(NARROW)
#endif

// Turning arms: a hierarchy whose joints are turned by a parallel loop, with what comes of that in floating point

MICA_STRUCT_WITH(Joint, (.storage = MICA_TABLE), {
    float angle;
    float speed;
});
MICA_STRUCT_WITH(Reach, (.storage = MICA_TABLE), { float farthest; });

enum { ARM_COUNT = 150, ARM_JOINTS = 8 };

static void turn_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    const float seconds = mica_delta_time(run);
    Joint *joint = mica_write_of(*span, Joint);
    mica_transform *transform = mica_write_of(*span, mica_transform);
    for (int32_t i = 0; i < span->count; i++) {
        joint[i].angle += joint[i].speed * seconds + mica_random_unitf(mica_run_random(run)) * 0.001f;
        const mica_sine_cosinef half = mica_sincosf(joint[i].angle * 0.5f);
        transform[i].rotation[2] = half.sine;
        transform[i].rotation[3] = half.cosine;
    }
}

static void turn(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, turn_span, NULL) == MICA_OK);
}

static void reach(mica_run *run) {
    mica_each (run, it) {
        const mica_world_transform *placed = mica_read_of(it, mica_world_transform);
        Reach *reached = mica_write_of(it, Reach);
        for (int32_t i = 0; i < it.count; i++) {
            const float x = placed[i].m[12];
            const float y = placed[i].m[13];
            const float distance = x * x + y * y;
            reached[i].farthest = distance > reached[i].farthest ? distance : reached[i].farthest;
        }
    }
}

static void fill_arms(mica_world *world) {
    churn_add(world, &(mica_system_def){
                         .name = "turn", .run = turn, .query = {mica_write(Joint), mica_write(mica_transform)}});
    assert_int_not_equal(mica_transform_system_add(world).id, 0);
    churn_add(world, &(mica_system_def){.name = "reach",
                                        .run = reach,
                                        .stage = MICA_LAST,
                                        .query = {mica_read(mica_world_transform), mica_write(Reach)}});
    for (int32_t arm = 0; arm < ARM_COUNT; arm++) {
        mica_entity inner = MICA_NULL;
        for (int32_t i = 0; i < ARM_JOINTS; i++) {
            mica_transform transform = MICA_TRANSFORM_IDENTITY;
            transform.position[0] = 1;
            const mica_entity joint =
                mica_spawn(world, mica_value_of(Joint, {(float)arm * 0.1f, (float)(i + 1)}), mica_value_of(Reach, {0}));
            assert_int_equal(mica_set_from(world, joint, mica_transform, &transform), MICA_OK);
            assert_int_equal(mica_set_parent(world, joint, inner), MICA_OK);
            inner = joint;
        }
    }
}

// A market: turns, states of the program, conditions, events both ways, random numbers, tables beside stable pools

MICA_ENUM(Season, {CALM, WILD});
MICA_STRUCT_WITH(Purse, (.storage = MICA_TABLE), { int64_t coins; });
MICA_STRUCT_WITH(Stall, (.storage = MICA_POOL, .stable = true), {
    int32_t price;
    mica_entity owner;
});
MICA_STRUCT_WITH(Mood, (.storage = MICA_TABLE), { double value; });
MICA_STRUCT(Offer, {
    mica_entity stall;
    int32_t price;
});
MICA_STRUCT(Sale, { int32_t price; });
MICA_STRUCT(Till, { int64_t coins, sales; });

enum { TRADER_COUNT = 800 };

static void offer(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_random *random = mica_run_random(run);
    mica_each (run, it) {
        Stall *stall = mica_write_of(it, Stall);
        for (int32_t i = 0; i < it.count; i++) {
            stall[i].price += (int32_t)mica_random_below(random, 7) - 3;
            if (mica_random_chance(random, 0.1)) {
                must(run, mica_send(world, Offer, {it.entities[i], stall[i].price}) == MICA_OK);
            }
        }
    }
}

static void muse_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    Mood *mood = mica_write_of(*span, Mood);
    for (int32_t i = 0; i < span->count; i++) {
        mood[i].value = mica_sin(mood[i].value + mica_random_unit(mica_run_random(run)));
        if (mood[i].value < -0.95) { // closes for good, and another one opens
            must(run, mica_destroy(mica_run_commands(run), span->entities[i]) == MICA_OK);
            const mica_entity owner =
                mica_spawn(mica_run_commands(run), mica_value_of(Purse, {50}), mica_value_of(Mood, {0.5}));
            must(run, mica_set(mica_run_commands(run), owner, Stall, {20, owner}) == MICA_OK);
        }
    }
}

static void muse(mica_run *run) {
    must(run, mica_parallel_for(run, NULL, muse_span, NULL) == MICA_OK);
}

// Who buys is chosen by what the walk meets: the order of offers is that of the plan and of its walks.
static void buy(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_event_reader *offers = mica_run_events(run, Offer);
    mica_each (run, it) {
        Purse *purse = mica_write_of(it, Purse);
        for (int32_t i = 0; i < it.count; i++) {
            const Offer *next = purse[i].coins > 30 ? mica_next_event(offers, Offer) : NULL;
            if (next != NULL) {
                purse[i].coins -= next->price;
                must(run, mica_send(world, Sale, {next->price}) == MICA_OK);
                must(run, mica_set(mica_run_commands(run), next->stall, Stall, {next->price + 1, it.entities[i]}) ==
                              MICA_OK);
            }
        }
    }
}

static void count_sales(mica_run *run) {
    Till *till = mica_resource_write(mica_run_world(run), Till);
    mica_event_reader *sales = mica_run_events(run, Sale);
    for (const Sale *sale; (sale = mica_next_event(sales, Sale)) != NULL;) {
        till->coins += sale->price;
        till->sales++;
    }
}

static void pay_wages(mica_run *run) {
    mica_each (run, it) {
        Purse *purse = mica_write_of(it, Purse);
        for (int32_t i = 0; i < it.count; i++) {
            purse[i].coins += 5;
        }
    }
}

static bool has_sold(mica_run *run) {
    return mica_resource(mica_run_world(run), Till)->sales % 2 == 1;
}

static void change_season(mica_run *run) {
    must(run, mica_set_resource(mica_run_world(run), Season, {mica_run_tick(run) % 20 < 10 ? CALM : WILD}) == MICA_OK);
}

static void fill_market(mica_world *world) {
    assert_int_equal(mica_set_resource(world, Till, {0, 0}), MICA_OK);
    assert_int_equal(mica_set_resource(world, Season, {CALM}), MICA_OK);
    churn_add(world, &(mica_system_def){
                         .name = "offer", .run = offer, .query = {mica_write(Stall)}, .access = {mica_writes(Offer)}});
    churn_add(world,
              &(mica_system_def){
                  .name = "muse", .run = muse, .query = {mica_write(Mood)}, .gates = {mica_while(Season, WILD)}});
    churn_add(world, &(mica_system_def){.name = "buy",
                                        .run = buy,
                                        .stage = MICA_POST_UPDATE,
                                        .query = {mica_write(Purse)},
                                        .access = {mica_reads(Offer), mica_writes(Sale)}});
    churn_add(world, &(mica_system_def){
                         .name = "count sales", .run = count_sales, .access = {mica_reads(Sale), mica_writes(Till)}});
    churn_add(world, &(mica_system_def){.name = "wages",
                                        .run = pay_wages,
                                        .every = 3,
                                        .query = {mica_write(Purse)},
                                        .access = {mica_reads(Till)},
                                        .condition = has_sold});
    churn_add(world, &(mica_system_def){.name = "season", .run = change_season, .exclusive = true, .stage = MICA_LAST});
    for (int32_t i = 0; i < TRADER_COUNT; i++) {
        const mica_entity trader = mica_spawn(world, mica_value_of(Purse, {100}), mica_value_of(Mood, {(double)i}));
        if (i % 4 == 0) {
            assert_int_equal(mica_set(world, trader, Stall, {20 + i % 5, trader}), MICA_OK);
        }
    }
}

// The tests

static uint64_t checksum_after(void (*fill)(mica_world *world), int32_t thread_count) {
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator),
                                                            .thread_count = thread_count,
                                                            .always_parallel = true,
                                                            .seed = 7});
    assert_non_null(world);
    fill(world);
    for (int32_t i = 0; i < GOLDEN_TICKS; i++) {
        assert_int_equal(mica_world_step(world, 1.0f / 60), MICA_OK);
    }
    uint64_t checksum = 0;
    assert_int_equal(mica_world_checksum(world, NULL, &checksum), MICA_OK);
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
    return checksum;
}

static void check(void (*fill)(mica_world *world), uint64_t golden) {
    static const int32_t thread_counts[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < sizeof(thread_counts) / sizeof(thread_counts[0]); i++) {
        const uint64_t checksum = checksum_after(fill, thread_counts[i]);
        if (checksum != golden) {
            fail_msg("%d threads come to %016llx, expected %016llx", thread_counts[i], (unsigned long long)checksum,
                     (unsigned long long)golden);
        }
    }
}

static void churn_comes_to_the_golden_checksum(void **state) {
    (void)state;
    check(churn_fill, GOLDEN(0x7b07fb3dbf8ad656, 0xc835bec584d6e9ef));
}

static void turning_arms_come_to_the_golden_checksum(void **state) {
    (void)state;
    check(fill_arms, GOLDEN(0x29f0e3071351aea7, 0x29f0e3071351aea7));
}

static void a_market_comes_to_the_golden_checksum(void **state) {
    (void)state;
    check(fill_market, GOLDEN(0xddaa41b2f1bdc747, 0xf69c11ee4705d24a));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(churn_comes_to_the_golden_checksum),
        cmocka_unit_test(turning_arms_come_to_the_golden_checksum),
        cmocka_unit_test(a_market_comes_to_the_golden_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
