// Validation of whole worlds: what is sound passes, and placeholders that left their command buffer are found. Broken
// invariants are for the tests of the parts that hold them.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_said.h"

#include <mica/mica.h>

MICA_STRUCT(Target, { mica_entity who; });
MICA_STRUCT(Squad, {
    Target leader;
    mica_entity members[3];
});
MICA_NAMED_WITH(TableSquad, Squad, (.storage = MICA_TABLE));
MICA_NAMED_WITH(PackedSquad, Squad, (.storage = MICA_POOL));
MICA_NAMED_WITH(StableSquad, Squad, (.storage = MICA_POOL, .stable = true));
typedef struct Hidden {
    mica_entity who;
} Hidden;
MICA_COMPONENT(Hidden);

typedef struct fixture {
    test_allocator allocator;
    mica_world *world;
    mica_commands *commands;
    mica_entity placeholder;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.world = mica_world_create(&(mica_world_def){.name = "game", .allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.world);
    mica_register(f.world, Target);
    f.commands = mica_commands_create(f.world);
    f.placeholder = mica_create(f.commands);
    assert_true(mica_entity_is_placeholder(f.placeholder));
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_commands_destroy(f->commands);
    mica_world_destroy(f->world);
    test_allocator_finish(&f->allocator);
    return 0;
}

static void assert_fault(mica_world *world, const char *words) {
    assert_int_equal(mica_world_validate(world), MICA_INVALID);
    assert_said(words);
}

static void a_world_is_sound_whatever_is_in_use(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    const mica_entity parent = mica_spawn(f->world, mica_value_of(Target, {MICA_NULL}));
    const mica_entity child = mica_spawn(f->world, mica_value_of(Target, {parent}));
    assert_int_equal(mica_set_parent(f->world, child, parent), MICA_OK);
    assert_int_equal(mica_set_resource(f->world, Target, {child}), MICA_OK);
    assert_int_equal(mica_world_step(f->world, 0), MICA_OK);
    mica_each (mica_query_of(f->world, mica_read(Target)), it) {
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
    }
    // A handle that is stale is the program's to deal with: it names nobody, and no one else.
    assert_int_equal(mica_destroy(f->world, child), MICA_OK);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    assert_int_equal(mica_world_validate(NULL), MICA_INVALID);
}

static void a_placeholder_in_a_component_is_found(void **state) {
    const fixture *f = *state;
    mica_entity last = MICA_NULL;
    for (int i = 0; i < 100; i++) {
        last = mica_spawn(f->world, mica_value_of(Squad, {.leader = {MICA_NULL}}));
    }
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_get_write(f->world, last, Squad)->members[2] = f->placeholder;
    assert_fault(f->world, "game: Squad.members[2] of entity 100:0 names placeholder 1");
    mica_get_write(f->world, last, Squad)->members[2] = last;
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_get_write(f->world, last, Squad)->leader.who = f->placeholder;
    assert_fault(f->world, "game: Squad.leader.who of entity 100:0 names placeholder 1");
}

static void a_placeholder_is_found_in_either_storage(void **state) {
    const fixture *f = *state;
    mica_type *const types[] = {mica_type_of(TableSquad), mica_type_of(PackedSquad), mica_type_of(StableSquad)};
    for (int32_t t = 0; t < 3; t++) {
        const mica_component component = mica_world_register(f->world, types[t]);
        const Squad squad = {.leader = {MICA_NULL}};
        const mica_entity first = mica_create(f->world);
        const mica_entity second = mica_create(f->world);
        assert_int_equal(mica_entity_add(f->world, first, component, &squad), MICA_OK);
        assert_int_equal(mica_entity_add(f->world, second, component, &squad), MICA_OK);
        ((Squad *)mica_entity_get_write(f->world, first, component))->members[1] = f->placeholder;
        assert_fault(f->world, types[t]->name);
        // Where nobody is any more, nothing is looked at.
        assert_int_equal(mica_entity_remove(f->world, first, component), MICA_OK);
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
        ((Squad *)mica_entity_get_write(f->world, second, component))->leader.who = f->placeholder;
        assert_fault(f->world, types[t]->name);
        assert_int_equal(mica_destroy(f->world, second), MICA_OK);
        assert_int_equal(mica_world_validate(f->world), MICA_OK);
    }
}

static void a_placeholder_that_a_span_wrote_to_a_copy_is_found(void **state) {
    const fixture *f = *state;
    mica_entity entities[3];
    for (int32_t i = 0; i < 3; i++) {
        entities[i] = mica_spawn(f->world, mica_value_of(PackedSquad, {.leader = {MICA_NULL}}));
    }
    for (int32_t i = 3; i-- > 0;) {
        assert_int_equal(mica_add(f->world, entities[i], StableSquad), MICA_OK);
    }
    mica_each (mica_query_of(f->world, mica_write(PackedSquad), mica_write(StableSquad)), it) {
        assert_int_equal(it.count, 3);
        mica_write_of(it, PackedSquad)[1].leader.who = f->placeholder;
        assert_fault(f->world, "PackedSquad");
        mica_write_of(it, PackedSquad)[1].leader.who = MICA_NULL;
        mica_write_of(it, StableSquad)[1].leader.who = f->placeholder;
        assert_fault(f->world, "StableSquad");
    }
}

static void a_placeholder_in_a_resource_is_found(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_set_resource(f->world, Target, {f->placeholder}), MICA_OK);
    assert_fault(f->world, "game: the resource Target.who names placeholder 1");
    assert_int_equal(mica_remove_resource(f->world, Target), MICA_OK);
    Target held = {f->placeholder};
    assert_int_equal(mica_set_resource_pointer(f->world, Target, &held), MICA_OK);
    assert_fault(f->world, "game: the resource Target.who names placeholder 1");
}

static void what_is_not_reflected_is_not_looked_into(void **state) {
    const fixture *f = *state;
    mica_spawn(f->world, mica_value_of(Hidden, {f->placeholder}));
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
}

static void placeholders_that_were_applied_are_gone(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_set(f->commands, f->placeholder, Target, {f->placeholder}), MICA_OK);
    assert_int_equal(mica_commands_apply(f->commands), MICA_OK);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
}

static void a_failed_allocation_is_said(void **state) {
    fixture *f = *state;
    mica_spawn(f->world, mica_value_of(Squad, {.leader = {MICA_NULL}}));
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_result result = mica_world_validate(f->world);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
    }
    assert_true(n > 1);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_world_is_sound_whatever_is_in_use),      CASE(a_placeholder_in_a_component_is_found),
        CASE(a_placeholder_is_found_in_either_storage), CASE(a_placeholder_that_a_span_wrote_to_a_copy_is_found),
        CASE(a_placeholder_in_a_resource_is_found),     CASE(what_is_not_reflected_is_not_looked_into),
        CASE(placeholders_that_were_applied_are_gone),  CASE(a_failed_allocation_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
