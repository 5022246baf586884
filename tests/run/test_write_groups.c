// Write groups: systems that yield leave entities to those whose components say that they write them.
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_shared_world.h"

MICA_STRUCT(Place, { float x; });
MICA_STRUCT(Drift, { float x; });
MICA_STRUCT(Spring, { float length; });
MICA_TAG_WITH(Rail, (.storage = MICA_POOL));

static mica_entity plain, sprung, railed;

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.name = "test"});
    plain = mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Drift, {1}));
    sprung = mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Drift, {1}), mica_value_of(Spring, {2}));
    railed = mica_spawn(world, mica_value_of(Place, {0}), mica_value_of(Drift, {1}), mica_tag(Rail));
    return 0;
}

static void add_one(mica_run *run) {
    mica_each (run, it) {
        Place *place = mica_write_of(it, Place);
        for (int32_t i = 0; i < it.count; i++) {
            place[i].x += 1;
        }
    }
}

static void add(mica_system_def def) {
    def.run = def.run == NULL ? add_one : def.run;
    add_to(world, &def);
}

static void join(mica_type *member) {
    assert_int_equal(mica_write_group_join(world, mica_register(world, Place), mica_world_register(world, member)),
                     MICA_OK);
}

static void step_and_expect(float plain_x, float sprung_x, float railed_x) {
    if (mica_world_step(world, 1) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    assert_true(mica_get(world, plain, Place)->x == plain_x);
    assert_true(mica_get(world, sprung, Place)->x == sprung_x);
    assert_true(mica_get(world, railed, Place)->x == railed_x);
}

static void a_system_that_yields_leaves_members_alone(void **state) {
    (void)state;
    join(mica_type_of(Spring));
    add((mica_system_def){.name = "drift", .query = {mica_write(Place), mica_read(Drift)}, .yields = true});
    step_and_expect(1, 0, 1);
}

static void members_that_join_later_are_left_alone_from_the_next_tick_on(void **state) {
    (void)state;
    add((mica_system_def){.name = "drift", .query = {mica_write(Place), mica_read(Drift)}, .yields = true});
    step_and_expect(1, 1, 1);
    join(mica_type_of(Spring));
    step_and_expect(2, 1, 2);
    join(mica_type_of(Rail));
    join(mica_type_of(Rail)); // once more changes nothing
    step_and_expect(3, 1, 2);
}

static void who_names_a_member_or_does_not_yield_writes_all_the_same(void **state) {
    (void)state;
    join(mica_type_of(Spring));
    join(mica_type_of(Rail));
    add((mica_system_def){
        .name = "springs", .query = {mica_write(Place), mica_read(Drift), mica_read(Spring)}, .yields = true});
    step_and_expect(0, 1, 0);
    add((mica_system_def){.name = "rails too", .query = {mica_write_marked(Place), mica_with(Rail)}, .yields = true});
    step_and_expect(0, 2, 1);
    add((mica_system_def){.name = "all", .query = {mica_write(Place)}});
    step_and_expect(1, 4, 3);
}

static int32_t seen_count;

static void count_seen(mica_run *run) {
    seen_count = 0;
    mica_each (mica_run_query(run, 0), it) {
        seen_count += it.count;
    }
}

static void what_is_only_read_is_left_to_nobody(void **state) {
    (void)state;
    join(mica_type_of(Spring));
    add((mica_system_def){.name = "look",
                          .run = count_seen,
                          .query_count = 1,
                          .queries = {{{mica_read(Place), mica_write(Drift)}}},
                          .yields = true});
    step_and_expect(0, 0, 0);
    assert_int_equal(seen_count, 3);
    assert_int_equal(mica_write_group_join(world, mica_register(world, Drift), mica_register(world, Rail)), MICA_OK);
    step_and_expect(0, 0, 0);
    assert_int_equal(seen_count, 2); // further queries yield as the first one does
}

static void what_the_plan_says_stays(void **state) {
    (void)state;
    add((mica_system_def){.name = "drift", .query = {mica_write(Place)}, .yields = true});
    add((mica_system_def){.name = "springs", .query = {mica_write(Spring)}});
    char before[128];
    char after[128];
    mica_world_plan(world, before, sizeof(before));
    join(mica_type_of(Spring)); // to be without a component is no access to it
    mica_world_plan(world, after, sizeof(after));
    assert_string_equal(after, before);
    assert_string_equal(after, "stage update\n  drift\n  springs\n  barrier\n");
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    const mica_component place = mica_register(world, Place);
    assert_int_equal(mica_write_group_join(world, place, place), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "Place cannot be in its own write group"));
    assert_int_equal(mica_write_group_join(world, place, 999), MICA_UNKNOWN);
    assert_int_equal(mica_write_group_join(world, 999, place), MICA_UNKNOWN);
    assert_int_equal(mica_write_group_join(NULL, place, place), MICA_INVALID);
    mica_system_def def = {.name = "drift", .run = add_one, .query = {mica_write(Place)}, .yields = true};
    def.query[1] = (mica_term){.component = 999, .use = MICA_USE_READ};
    assert_int_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    mica_type other_place = {.name = "Place", .kind = MICA_KIND_TAG};
    def.query[1] = (mica_term){.type = &other_place, .use = MICA_USE_WITH};
    assert_int_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
}

static void too_many_members_refuse_the_tick_with_a_reason(void **state) {
    (void)state;
    static mica_type types[MICA_QUERY_TERM_MAX];
    static char names[MICA_QUERY_TERM_MAX][16];
    add((mica_system_def){.name = "drift", .query = {mica_write(Place)}, .yields = true});
    for (int32_t i = 0; i < MICA_QUERY_TERM_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "M%d", (int)i);
        types[i] = (mica_type){.name = names[i], .kind = MICA_KIND_TAG};
        join(&types[i]);
    }
    assert_int_equal(mica_world_step(world, 1), MICA_LIMIT);
    assert_non_null(strstr(mica_last_error(), "too many members"));
    assert_int_equal(mica_world_tick(world), 0);
}

static void without_memory_the_next_tick_knows_all_members(void **state) {
    (void)state;
    add((mica_system_def){.name = "drift", .query = {mica_write(Place), mica_read(Drift)}, .yields = true});
    add((mica_system_def){.name = "again", .query = {mica_write(Place)}, .yields = true});
    step_and_expect(2, 2, 2);
    const mica_component place = mica_register(world, Place);
    const mica_component rail = mica_register(world, Rail);
    uint32_t refused_count = 0;
    bool has_failed = true;
    for (uint64_t n = 1; has_failed; n++) {
        test_allocator_fail_at(&allocator, n);
        mica_result result = mica_write_group_join(world, place, rail);
        result = result == MICA_OK ? mica_world_step(world, 1) : result;
        has_failed = test_allocator_fail_stop(&allocator);
        assert_true(result == MICA_OK || (result == MICA_OUT_OF_MEMORY && has_failed));
        refused_count += result != MICA_OK;
    }
    assert_true(refused_count > 2);
    const float plain_x = mica_get(world, plain, Place)->x;
    step_and_expect(plain_x + 2, plain_x + 2, 2); // whichever tick came through, none has touched it
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(a_system_that_yields_leaves_members_alone),
        CASE(members_that_join_later_are_left_alone_from_the_next_tick_on),
        CASE(who_names_a_member_or_does_not_yield_writes_all_the_same),
        CASE(what_is_only_read_is_left_to_nobody),
        CASE(what_the_plan_says_stays),
        CASE(what_cannot_be_is_refused),
        CASE(too_many_members_refuse_the_tick_with_a_reason),
        CASE(without_memory_the_next_tick_knows_all_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
