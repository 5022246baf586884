// Resources: their address stays, hooks see each value exactly once, and what is held by pointer is left alone.
#include <mica/verbs.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "world/ledger.h"
#include "world/world.h"

MICA_STRUCT(Gravity, { float x, y; });
MICA_STRUCT(Score, { int64_t points; });
MICA_TAG(Marker);
typedef struct Wide {
    _Alignas(4096) unsigned char bytes[4096];
} Wide;
MICA_COMPONENT(Wide);

typedef struct fixture {
    test_allocator allocator;
    mica_allocator hooks;
    mica_world *world;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.hooks = test_allocator_hooks(&f.allocator);
    ledger_start();
    f.world = mica_world_create(&(mica_world_def){.allocator = f.hooks});
    assert_non_null(f.world);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

static mica_component id_of(const fixture *f, mica_type *type) {
    const mica_component component = mica_world_register(f->world, type);
    assert_int_not_equal(component, 0);
    return component;
}

static void absence_is_no_error(void **state) {
    const fixture *f = *state;
    assert_null(mica_resource(f->world, Gravity));
    assert_null(mica_resource_write(f->world, Gravity));
    assert_int_equal(mica_resource_version(f->world, id_of(f, mica_type_of(Gravity))), 0);
    assert_int_equal(mica_remove_resource(f->world, Gravity), MICA_OK);
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void a_value_is_kept_and_replaced_at_its_address(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_set_resource(f->world, Gravity, {0, -10}), MICA_OK);
    const Gravity *gravity = mica_resource(f->world, Gravity);
    assert_non_null(gravity);
    assert_true(gravity->y == -10);
    assert_int_equal(mica_set_resource(f->world, Gravity, {1, 2}), MICA_OK);
    assert_ptr_equal(mica_resource(f->world, Gravity), gravity);
    assert_true(gravity->x == 1 && gravity->y == 2);
}

static void an_address_stays_while_other_resources_come_and_go(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_set_resource(f->world, Score, {7}), MICA_OK);
    const Score *score = mica_resource(f->world, Score);
    static mica_type types[200];
    static char names[200][24];
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof(names[i]), "Other%d", i);
        types[i] = (mica_type){.name = names[i], .size = 8, .align = 8};
        const uint64_t value = (uint64_t)i;
        assert_int_equal(mica_resource_set(f->world, id_of(f, &types[i]), &value), MICA_OK);
    }
    for (int i = 0; i < 200; i++) {
        const mica_component component = id_of(f, &types[i]);
        assert_int_equal(*(const uint64_t *)mica_resource_get(f->world, component), i);
        assert_int_equal(mica_resource_remove(f->world, component), MICA_OK);
        assert_null(mica_resource_get(f->world, component));
    }
    assert_ptr_equal(mica_resource(f->world, Score), score);
    assert_int_equal(score->points, 7);
}

static void a_resource_set_to_itself_stays(void **state) {
    const fixture *f = *state;
    Owned value;
    owned_hold(&value, 5, f->world);
    assert_int_equal(mica_set_resource(f->world, Score, {9}), MICA_OK);
    const mica_component score = id_of(f, mica_type_of(Score));
    assert_int_equal(mica_resource_set(f->world, score, mica_resource(f->world, Score)), MICA_OK);
    assert_int_equal(mica_resource(f->world, Score)->points, 9);
    const mica_component owned = id_of(f, mica_type_of(Owned));
    assert_int_equal(mica_resource_set(f->world, owned, &value), MICA_OK);
    assert_int_equal(mica_resource_set(f->world, owned, mica_resource(f->world, Owned)), MICA_OK);
    assert_int_equal(*mica_resource(f->world, Owned)->number, 5);
    *mica_ensure_resource(f->world, Sole)->owned.number = 6;
    const mica_component sole = id_of(f, mica_type_of(Sole));
    assert_int_equal(mica_resource_set(f->world, sole, mica_resource(f->world, Sole)), MICA_OK);
    assert_int_equal(*mica_resource(f->world, Sole)->owned.number, 6);
    owned_drop(&value, f->world);
}

static void ensure_constructs_once(void **state) {
    const fixture *f = *state;
    Owned *owned = mica_ensure_resource(f->world, Owned);
    assert_non_null(owned);
    assert_int_equal(*owned->number, -1);
    *owned->number = 3;
    assert_ptr_equal(mica_ensure_resource(f->world, Owned), owned);
    assert_int_equal(*owned->number, 3);
    assert_int_equal(ledger.made_count, 1);
    const Score *score = mica_ensure_resource(f->world, Score);
    assert_int_equal(score->points, 0);
}

static void a_copy_is_taken_of_what_can_be_copied(void **state) {
    const fixture *f = *state;
    Owned value;
    owned_hold(&value, 4, f->world);
    const mica_component owned = id_of(f, mica_type_of(Owned));
    assert_int_equal(mica_resource_set(f->world, owned, &value), MICA_OK);
    assert_int_equal(mica_resource_set(f->world, owned, &value), MICA_OK);
    assert_ptr_equal(value.self, &value);
    assert_ptr_not_equal(mica_resource(f->world, Owned)->number, value.number);
    assert_int_equal(ledger_live_count(), 2);
    assert_int_equal(mica_resource_remove(f->world, owned), MICA_OK);
    assert_int_equal(ledger_live_count(), 1);
    owned_drop(&value, f->world);
}

static void a_move_only_value_is_moved_out_of_the_callers(void **state) {
    const fixture *f = *state;
    const mica_component sole = id_of(f, mica_type_of(Sole));
    for (int32_t i = 0; i < 2; i++) {
        Sole value;
        owned_hold(&value.owned, i, f->world);
        assert_int_equal(mica_resource_set(f->world, sole, &value), MICA_OK);
        assert_null(value.owned.self);
        assert_int_equal(*mica_resource(f->world, Sole)->owned.number, i);
    }
    assert_int_equal(ledger_live_count(), 1);
}

static void a_failed_set_leaves_value_and_resource(void **state) {
    fixture *f = *state;
    const mica_component owned = id_of(f, mica_type_of(Owned));
    for (int32_t round = 0; round < 2; round++) { // first when there is none yet, then when there is one
        Owned value;
        owned_hold(&value, round, f->world);
        for (uint64_t n = 1;; n++) {
            const Owned *before = mica_resource(f->world, Owned);
            test_allocator_fail_at(&f->allocator, n);
            const mica_result result = mica_resource_set(f->world, owned, &value);
            if (!test_allocator_fail_stop(&f->allocator)) {
                assert_int_equal(result, MICA_OK);
                assert_true(n > 1);
                break;
            }
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_ptr_equal(mica_resource(f->world, Owned), before);
            assert_true(before == NULL || *before->number == round - 1);
        }
        assert_int_equal(*mica_resource(f->world, Owned)->number, round);
        owned_drop(&value, f->world);
    }
    mica_remove_resource(f->world, Owned);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const Owned *made = mica_ensure_resource(f->world, Owned);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_non_null(made);
            break;
        }
        assert_null(made);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
}

static void replacing_plain_and_move_only_values_allocates_nothing(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set_resource(f->world, Score, {1}), MICA_OK);
    assert_non_null(mica_ensure_resource(f->world, Sole));
    const mica_component sole = id_of(f, mica_type_of(Sole));
    Sole value;
    owned_hold(&value.owned, 2, f->world);
    const uint64_t before = f->allocator.call_count;
    assert_int_equal(mica_set_resource(f->world, Score, {2}), MICA_OK);
    assert_int_equal(mica_resource_set(f->world, sole, &value), MICA_OK);
    assert_int_equal(f->allocator.call_count, before);
}

static void a_pointer_stays_the_callers(void **state) {
    const fixture *f = *state;
    Owned first, second;
    owned_hold(&first, 1, f->world);
    owned_hold(&second, 2, f->world);
    assert_int_equal(mica_set_resource_pointer(f->world, Owned, &first), MICA_OK);
    assert_ptr_equal(mica_resource(f->world, Owned), &first);
    assert_int_equal(mica_set_resource_pointer(f->world, Owned, &second), MICA_OK);
    assert_ptr_equal(mica_resource_write(f->world, Owned), &second);
    assert_ptr_equal(mica_ensure_resource(f->world, Owned), &second);
    assert_int_equal(mica_remove_resource(f->world, Owned), MICA_OK);
    assert_null(mica_resource(f->world, Owned));
    assert_int_equal(mica_set_resource_pointer(f->world, Owned, &first), MICA_OK);
    assert_int_equal(ledger.moved_count + ledger.ended_count, 0);
    mica_world *other = mica_world_create(&(mica_world_def){.allocator = f->hooks});
    assert_int_equal(mica_set_resource_pointer(other, Owned, &first), MICA_OK);
    mica_world_destroy(other);
    assert_ptr_equal(first.self, &first);
    assert_int_equal(mica_remove_resource(f->world, Owned), MICA_OK);
    owned_drop(&first, f->world);
    owned_drop(&second, f->world);
}

static void a_value_and_a_pointer_do_not_replace_each_other(void **state) {
    const fixture *f = *state;
    Score mine = {3};
    assert_int_equal(mica_set_resource(f->world, Score, {1}), MICA_OK);
    assert_int_equal(mica_set_resource_pointer(f->world, Score, &mine), MICA_EXISTS);
    assert_int_equal(mica_resource(f->world, Score)->points, 1);
    assert_int_equal(mica_remove_resource(f->world, Score), MICA_OK);
    assert_int_equal(mica_set_resource_pointer(f->world, Score, &mine), MICA_OK);
    assert_int_equal(mica_set_resource(f->world, Score, {2}), MICA_EXISTS);
    assert_int_equal(mine.points, 3);
}

static void refusals_name_what_is_wrong(void **state) {
    const fixture *f = *state;
    const mica_component score = id_of(f, mica_type_of(Score));
    const mica_component marker = id_of(f, mica_type_of(Marker));
    Score value = {1};
    assert_int_equal(mica_resource_set(f->world, 999, &value), MICA_UNKNOWN);
    assert_int_equal(mica_resource_set_pointer(f->world, 0, &value), MICA_UNKNOWN);
    assert_int_equal(mica_resource_remove(f->world, 999), MICA_UNKNOWN);
    mica_error_clear();
    assert_null(mica_resource_get(f->world, 999));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    mica_error_clear();
    assert_null(mica_resource_get_write(f->world, 999));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null(mica_resource_ensure(f->world, 999));
    assert_int_equal(mica_resource_set(f->world, score, NULL), MICA_INVALID);
    assert_int_equal(mica_resource_set_pointer(f->world, score, NULL), MICA_INVALID);
    assert_int_equal(mica_resource_set(f->world, marker, &value), MICA_NO_VALUE);
    assert_non_null(strstr(mica_last_error(), "Marker"));
    assert_int_equal(mica_resource_set_pointer(f->world, marker, &value), MICA_NO_VALUE);
    mica_error_clear();
    assert_null(mica_resource_ensure(f->world, marker));
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    assert_int_equal(mica_resource_set(NULL, score, &value), MICA_INVALID);
    assert_int_equal(mica_resource_remove(NULL, score), MICA_INVALID);
    assert_null(mica_resource_get(NULL, score));
    assert_null(mica_resource_ensure(NULL, score));
    assert_null(mica_resource(f->world, Score));
}

static void a_change_takes_the_worlds_version(void **state) {
    const fixture *f = *state;
    const mica_component score = id_of(f, mica_type_of(Score));
    assert_int_equal(mica_set_resource(f->world, Score, {1}), MICA_OK);
    const uint64_t first = mica_resource_version(f->world, score);
    assert_int_equal(first, mica_world_version(f->world));
    f->world->store.version += 5;
    assert_non_null(mica_resource(f->world, Score));
    assert_int_equal(mica_resource_version(f->world, score), first);
    assert_non_null(mica_resource_write(f->world, Score));
    assert_int_equal(mica_resource_version(f->world, score), first + 5);
    f->world->store.version += 5;
    assert_int_equal(mica_set_resource(f->world, Score, {1}), MICA_OK);
    assert_int_equal(mica_resource_version(f->world, score), first + 10);
}

// Later changes get a later version. The new one.
static uint64_t go_on(const fixture *f) {
    return ++f->world->store.version;
}

static void every_way_to_change_a_resource_takes_the_worlds_version(void **state) {
    const fixture *f = *state;
    const mica_component score = id_of(f, mica_type_of(Score));
    uint64_t now = go_on(f);
    assert_non_null(mica_ensure_resource(f->world, Score));
    assert_int_equal(mica_resource_version(f->world, score), now);
    now = go_on(f);
    assert_non_null(mica_ensure_resource(f->world, Score)); // it is there, and handed out for writing
    assert_int_equal(mica_resource_version(f->world, score), now);
    now = go_on(f);
    assert_non_null(mica_resource_get_write(f->world, score));
    assert_int_equal(mica_resource_version(f->world, score), now);
    now = go_on(f);
    assert_int_equal(mica_remove_resource(f->world, Score), MICA_OK);
    assert_int_equal(mica_resource_version(f->world, score), 0);
    now = go_on(f);
    assert_int_equal(mica_set_resource(f->world, Score, {0}), MICA_OK);
    assert_int_equal(mica_resource_version(f->world, score), now);
    assert_int_equal(mica_remove_resource(f->world, Score), MICA_OK);
    Score own = {1};
    for (int i = 0; i < 2; i++) { // the same pointer again counts as a change of what it points to
        now = go_on(f);
        assert_int_equal(mica_resource_set_pointer(f->world, score, &own), MICA_OK);
        assert_int_equal(mica_resource_version(f->world, score), now);
    }
    now = go_on(f);
    assert_ptr_equal(mica_resource_get_write(f->world, score), &own);
    assert_int_equal(mica_resource_version(f->world, score), now);
}

static void what_is_refused_or_fails_leaves_the_version(void **state) {
    fixture *f = *state;
    const mica_component score = id_of(f, mica_type_of(Score));
    const mica_component owned = id_of(f, mica_type_of(Owned));
    assert_non_null(mica_ensure_resource(f->world, Score));
    assert_non_null(mica_ensure_resource(f->world, Owned));
    const uint64_t before = mica_world_version(f->world);
    go_on(f);
    Score own = {1};
    assert_int_equal(mica_resource_set_pointer(f->world, score, &own), MICA_EXISTS);
    assert_int_equal(mica_resource_set(f->world, score, NULL), MICA_INVALID);
    assert_int_equal(mica_resource_version(f->world, score), before);
    Owned value;
    owned_hold(&value, 5, f->world);
    test_allocator_fail_from(&f->allocator, 1);
    assert_int_equal(mica_resource_set(f->world, owned, &value), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&f->allocator));
    owned_drop(&value, f->world);
    assert_int_equal(mica_resource_version(f->world, owned), before);
}

static void alignment_is_honoured(void **state) {
    const fixture *f = *state;
    static Wide value;
    value.bytes[4095] = 77;
    assert_int_equal(mica_resource_set(f->world, id_of(f, mica_type_of(Wide)), &value), MICA_OK);
    const Wide *held = mica_resource(f->world, Wide);
    assert_int_equal((uintptr_t)held % 4096, 0);
    assert_int_equal(held->bytes[4095], 77);
}

static void setting_is_no_structural_change(void **state) {
    const fixture *f = *state;
    f->world->front.walk_count++; // as if a walk were open
    assert_int_equal(mica_set_resource(f->world, Score, {1}), MICA_OK);
    assert_int_equal(mica_remove_resource(f->world, Score), MICA_OK);
    f->world->front.walk_count--;
}

static void resources_outlive_the_clearing_of_entities(void **state) {
    const fixture *f = *state;
    assert_non_null(mica_ensure_resource(f->world, Owned));
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    assert_non_null(mica_resource(f->world, Owned));
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest cases[] = {
        CASE(absence_is_no_error),
        CASE(a_value_is_kept_and_replaced_at_its_address),
        CASE(an_address_stays_while_other_resources_come_and_go),
        CASE(a_resource_set_to_itself_stays),
        CASE(ensure_constructs_once),
        CASE(a_copy_is_taken_of_what_can_be_copied),
        CASE(a_move_only_value_is_moved_out_of_the_callers),
        CASE(a_failed_set_leaves_value_and_resource),
        CASE(replacing_plain_and_move_only_values_allocates_nothing),
        CASE(a_pointer_stays_the_callers),
        CASE(a_value_and_a_pointer_do_not_replace_each_other),
        CASE(refusals_name_what_is_wrong),
        CASE(a_change_takes_the_worlds_version),
        CASE(every_way_to_change_a_resource_takes_the_worlds_version),
        CASE(what_is_refused_or_fails_leaves_the_version),
        CASE(alignment_is_honoured),
        CASE(setting_is_no_structural_change),
        CASE(resources_outlive_the_clearing_of_entities),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
