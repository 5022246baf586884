// The generators of a world and of its systems: what they begin with, what they depend on, and who may draw from them.
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_shared_world.h"

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT(Dice, {
    mica_random random;
    int32_t sides;
});

// What a system drew last.
typedef struct drawn {
    uint64_t bits;
    int32_t count;
} drawn;

static mica_world *make_world(uint64_t seed) {
    mica_world *made =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator), .seed = seed});
    assert_non_null(made);
    return made;
}

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.seed = 7});
    return 0;
}

static void draw(mica_run *run) {
    drawn *last = mica_run_user(run);
    last->bits = mica_random_next(mica_run_random(run));
    last->count++;
}

static mica_system add_drawing(mica_world *to, const char *name, drawn *last) {
    return add_to(to, &(mica_system_def){.name = name, .run = draw, .user = last, .query = {mica_read(Position)}});
}

static void step(mica_world *stepped) {
    assert_int_equal(mica_world_step(stepped, 0.5f), MICA_OK);
}

static void assert_generator_of(uint64_t seed, const mica_random *random) {
    const mica_random expected = mica_random_seeded(seed);
    assert_memory_equal(random->words, expected.words, sizeof(expected.words));
}

static void worlds_begin_with_their_seed(void **state) {
    (void)state;
    mica_world *other = make_world(0);
    assert_generator_of(7, mica_world_random(world));
    assert_generator_of(MICA_RANDOM_SEED, mica_world_random(other));
    mica_world_destroy(other);
    other = mica_world_create(NULL);
    assert_generator_of(MICA_RANDOM_SEED, mica_world_random(other));
    mica_world_destroy(other);
}

static void a_worlds_generator_goes_on_and_may_be_assigned_to(void **state) {
    (void)state;
    mica_random like_it = mica_random_seeded(7);
    for (int i = 0; i < 3; i++) {
        assert_true(mica_random_next(mica_world_random(world)) == mica_random_next(&like_it));
        step(world);
    }
    *mica_world_random(world) = mica_random_seeded(8);
    assert_generator_of(8, mica_world_random(world));
}

static void systems_begin_with_the_worlds_seed_and_their_names(void **state) {
    (void)state;
    drawn last = {0};
    add_drawing(world, "scatter", &last);
    const mica_random whole = mica_random_seeded(7);
    mica_random expected = mica_random_split_named(&whole, "scatter");
    mica_random_next(mica_world_random(world)); // which is another one
    for (int i = 0; i < 3; i++) {
        step(world);
        assert_true(last.bits == mica_random_next(&expected));
    }
}

static void what_systems_draw_does_not_depend_on_the_order_of_adding_them(void **state) {
    (void)state;
    static const char *const names[3] = {"one", "two", "three"};
    static const char *const more[3] = {"a", "b", "c"};
    drawn ignored = {0};
    drawn last[2][3] = {{{0}}};
    mica_world *other = make_world(7);
    for (int i = 0; i < 3; i++) {
        add_drawing(world, names[i], &last[0][i]);
        add_drawing(other, names[2 - i], &last[1][2 - i]);
        // Systems that the other world does not have.
        assert_int_not_equal(
            mica_system_add(other, &(mica_system_def){.name = more[i], .run = draw, .user = &ignored}).id, 0);
    }
    for (int tick = 0; tick < 3; tick++) {
        step(world);
        step(other);
        for (int i = 0; i < 3; i++) {
            assert_true(last[0][i].bits == last[1][i].bits);
            assert_true(last[0][i].bits != last[0][(i + 1) % 3].bits);
        }
    }
    mica_world_destroy(other);
}

static void worlds_of_other_seeds_draw_otherwise(void **state) {
    (void)state;
    drawn last[2] = {{0}};
    mica_world *other = make_world(8);
    add_drawing(world, "scatter", &last[0]);
    add_drawing(other, "scatter", &last[1]);
    step(world);
    step(other);
    assert_true(last[0].bits != last[1].bits);
    mica_world_destroy(other);
}

static void a_system_that_does_not_run_does_not_draw(void **state) {
    (void)state;
    drawn last = {0};
    const mica_system system = add_drawing(world, "scatter", &last);
    step(world);
    mica_system_enable(world, system, false);
    step(world);
    mica_system_enable(world, system, true);
    step(world);
    const mica_random whole = mica_random_seeded(7);
    mica_random expected = mica_random_split_named(&whole, "scatter");
    mica_random_next(&expected);
    assert_true(last.bits == mica_random_next(&expected));
    assert_int_equal(last.count, 2);
}

static void a_system_added_again_begins_anew(void **state) {
    (void)state;
    drawn last = {0};
    const mica_system system = add_drawing(world, "scatter", &last);
    step(world);
    const uint64_t first = last.bits;
    step(world);
    assert_true(last.bits != first);
    assert_int_equal(mica_system_remove(world, system), MICA_OK);
    add_drawing(world, "scatter", &last);
    step(world);
    assert_true(last.bits == first);
}

// Draws from the world's generator as often as it may; `user` counts.
static void draw_from_world(mica_run *run) {
    int32_t *count = mica_run_user(run);
    mica_random *random = mica_world_random(mica_run_world(run));
    if (random != NULL) {
        mica_random_next(random);
        (*count)++;
    }
}

static void a_system_that_declared_its_access_may_not_draw_from_the_world(void **state) {
    (void)state;
    int32_t count = 0;
    mica_system_add(world, &(mica_system_def){.name = "greedy",
                                              .start = draw_from_world,
                                              .run = draw_from_world,
                                              .stop = draw_from_world,
                                              .user = &count,
                                              .query = {mica_read(Position)}});
    step(world);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_non_null(strstr(mica_last_error(), "mica_world_random"));
    assert_non_null(strstr(mica_last_error(), "greedy"));
    assert_int_equal(count, 1); // in its start function
    assert_int_equal(mica_system_remove(world, mica_system_find(world, "greedy")), MICA_OK);
    assert_int_equal(count, 2); // in its stop function
}

static void an_exclusive_system_may_draw_from_the_world(void **state) {
    (void)state;
    int32_t count = 0;
    mica_system_add(world, &(mica_system_def){.name = "alone", .run = draw_from_world, .user = &count});
    step(world);
    assert_int_equal(count, 1);
    mica_random expected = mica_random_seeded(7);
    mica_random_next(&expected);
    assert_true(mica_random_next(mica_world_random(world)) == mica_random_next(&expected));
}

static void a_walk_does_not_stand_in_the_way(void **state) {
    (void)state;
    mica_spawn(world, mica_value_of(Position, {1, 2}));
    int32_t drawn_count = 0;
    mica_each (mica_query_of(world, mica_read(Position)), it) {
        drawn_count += mica_world_random(world) != NULL ? it.count : 0;
    }
    assert_int_equal(drawn_count, 1);
}

static void generators_may_be_components_and_fields_of_components(void **state) {
    (void)state;
    assert_int_not_equal(mica_register(world, mica_random), 0);
    assert_int_not_equal(mica_register(world, Dice), 0);
    const mica_entity entity =
        mica_spawn(world, mica_tag(mica_random), mica_value_of(Dice, {mica_random_seeded(3), 6}));
    mica_random expected = mica_random_seeded(3);
    Dice *dice = mica_get_write(world, entity, Dice);
    assert_int_equal(mica_random_below(&dice->random, 6), mica_random_below(&expected, 6));
    // One that was given no value is of zeros, which stand for the default seed.
    mica_random fallback = mica_random_seeded(MICA_RANDOM_SEED);
    assert_true(mica_random_next(mica_get_write(world, entity, mica_random)) == mica_random_next(&fallback));
    // Its fields are known, for files and checksums.
    int32_t count = 0;
    const mica_field *fields =
        mica_schema_fields(mica_world_schema(world), mica_world_component(world, mica_type_of(Dice)), &count);
    assert_non_null(fields);
    assert_int_equal(count, 2);
    assert_string_equal(fields[0].name, "random");
}

static void no_world_and_no_run_are_refused(void **state) {
    (void)state;
    assert_null(mica_world_random(NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_null(mica_run_random(NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

#define TEST(F) cmocka_unit_test_setup_teardown(F, set_up, end_world)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(worlds_begin_with_their_seed),
        TEST(a_worlds_generator_goes_on_and_may_be_assigned_to),
        TEST(systems_begin_with_the_worlds_seed_and_their_names),
        TEST(what_systems_draw_does_not_depend_on_the_order_of_adding_them),
        TEST(worlds_of_other_seeds_draw_otherwise),
        TEST(a_system_that_does_not_run_does_not_draw),
        TEST(a_system_added_again_begins_anew),
        TEST(a_system_that_declared_its_access_may_not_draw_from_the_world),
        TEST(an_exclusive_system_may_draw_from_the_world),
        TEST(a_walk_does_not_stand_in_the_way),
        TEST(generators_may_be_components_and_fields_of_components),
        TEST(no_world_and_no_run_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
