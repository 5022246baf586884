// Resources as state: values come back at their addresses, with their versions, and pointers stay the program's.
#include "world/ledger.h"
#include "world/part_world.h"

#include <mica/resource.h>

MICA_STRUCT(Score, {
    uint8_t level;
    int32_t points;
});
MICA_STRUCT(Alpha, { int32_t number; });
MICA_STRUCT(Shared, { int32_t number; });
MICA_STRUCT(Map, { uint8_t tiles[5000]; });
static bool born(void *values, int32_t count, const mica_hook_context *context);
MICA_STRUCT_WITH(Born, (.hooks = {.construct = born}), { int32_t number; });
MICA_STRUCT_WITH(Restless, (.always_dirty = true), { int32_t number; });

static const mi_part *const parts[] = {&mi_resources_part, &mi_heavy_resources_part};

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mica_world *world;
    mi_record records[2]; // of `parts`
    mica_component score, alpha, shared, owned;
} fixture;

static int set_up(void **state) {
    static fixture f;
    ledger_start();
    test_heap_begin(&f.allocator, &f.heap);
    f.world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.world);
    f.records[0] = part_record(&f.heap);
    f.records[1] = part_record(&f.heap);
    f.score = mica_register(f.world, Score);
    f.alpha = mica_register(f.world, Alpha);
    f.shared = mica_register(f.world, Shared);
    f.owned = mica_register(f.world, Owned);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mi_record_free(&f->records[0]);
    mi_record_free(&f->records[1]);
    assert_int_equal(mica_world_validate(f->world), MICA_OK);
    mica_world_destroy(f->world);
    ledger_finish();
    test_allocator_finish(&f->allocator);
    return 0;
}

static void set_score(const fixture *f, int32_t points) {
    assert_int_equal(mica_resource_set(f->world, f->score, &(Score){.level = 1, .points = points}), MICA_OK);
}

static int32_t score_of(const fixture *f) {
    const Score *score = mica_resource_get(f->world, f->score);
    return score != NULL ? score->points : -1;
}

static void set_owned(const fixture *f, int32_t number) {
    Owned value;
    owned_hold(&value, number, f->world);
    assert_int_equal(mica_resource_set(f->world, f->owned, &value), MICA_OK);
    owned_drop(&value, f->world);
}

static int32_t owned_number(const fixture *f) {
    const Owned *value = mica_resource_get(f->world, f->owned);
    return value != NULL ? *value->number : -1;
}

static void save(fixture *f) {
    for (int32_t i = 0; i < 2; i++) {
        mi_record_free(&f->records[i]);
        assert_int_equal(part_save(f->world, parts[i], &f->records[i]), MICA_OK);
    }
}

static void load(const fixture *f) {
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(part_load(f->world, parts[i], &f->records[i]), MICA_OK);
    }
}

static void values_come_back_where_they_are(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    set_owned(f, 6);
    const void *score = mica_resource_get(f->world, f->score);
    const void *owned = mica_resource_get(f->world, f->owned);
    save(f);
    set_score(f, 50);
    set_owned(f, 60);
    load(f);
    assert_int_equal(score_of(f), 5);
    assert_int_equal(owned_number(f), 6);
    assert_ptr_equal(mica_resource_get(f->world, f->score), score);
    assert_ptr_equal(mica_resource_get(f->world, f->owned), owned);
    assert_int_equal(ledger_live_count(), 2);
}

static void what_came_later_goes_and_what_went_comes_back(void **state) {
    fixture *f = *state;
    set_owned(f, 6);
    save(f);
    assert_int_equal(mica_resource_remove(f->world, f->owned), MICA_OK);
    set_score(f, 5);
    load(f);
    assert_int_equal(owned_number(f), 6);
    assert_null(mica_resource_get(f->world, f->score));
    assert_int_equal(mica_resource_version(f->world, f->score), 0);
}

static void the_initial_state_has_no_values(void **state) {
    fixture *f = *state;
    Shared mine = {9};
    set_score(f, 5);
    set_owned(f, 6);
    assert_int_equal(mica_resource_set_pointer(f->world, f->shared, &mine), MICA_OK);
    assert_int_equal(part_load(f->world, &mi_resources_part, NULL), MICA_OK);
    assert_int_equal(score_of(f), -1);
    assert_int_equal(owned_number(f), 6);
    assert_int_equal(part_load(f->world, &mi_heavy_resources_part, NULL), MICA_OK);
    assert_int_equal(owned_number(f), -1);
    assert_ptr_equal(mica_resource_get(f->world, f->shared), &mine);
}

static void versions_come_back(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    f->world->store.version += 10;
    set_owned(f, 6);
    save(f);
    f->world->store.version += 10;
    set_score(f, 50);
    load(f);
    assert_int_equal(f->world->resources.data[f->owned].version - f->world->resources.data[f->score].version, 10);
}

static void pointers_are_the_programs(void **state) {
    fixture *f = *state;
    Shared first = {1};
    Shared second = {2};
    assert_int_equal(mica_resource_set_pointer(f->world, f->shared, &first), MICA_OK);
    save(f);
    first.number = 10;
    assert_int_equal(mica_resource_set_pointer(f->world, f->shared, &second), MICA_OK);
    load(f);
    assert_ptr_equal(mica_resource_get(f->world, f->shared), &second);
    assert_int_equal(first.number, 10);
    assert_int_equal(second.number, 2);
}

static void a_pointer_stays_where_a_value_was(void **state) {
    fixture *f = *state;
    Owned mine;
    owned_hold(&mine, 9, f->world);
    set_owned(f, 6);
    save(f);
    assert_int_equal(mica_resource_remove(f->world, f->owned), MICA_OK);
    assert_int_equal(mica_resource_set_pointer(f->world, f->owned, &mine), MICA_OK);
    load(f);
    assert_ptr_equal(mica_resource_get(f->world, f->owned), &mine);
    assert_int_equal(owned_number(f), 9);
    assert_int_equal(mica_resource_remove(f->world, f->owned), MICA_OK);
    owned_drop(&mine, f->world);
}

static void a_value_goes_where_there_was_a_pointer(void **state) {
    fixture *f = *state;
    Score mine = {.points = 3};
    assert_int_equal(mica_resource_set_pointer(f->world, f->score, &mine), MICA_OK);
    save(f);
    assert_int_equal(mica_resource_remove(f->world, f->score), MICA_OK);
    set_score(f, 5);
    load(f);
    assert_int_equal(score_of(f), -1);
}

static void count_told(const mica_signal *signal) {
    ++*(int32_t *)signal->user;
}

static void observers_hear_nothing(void **state) {
    fixture *f = *state;
    int32_t told_count = 0;
    mica_observer_connect_to(f->world, MICA_RESOURCE_SET, mica_type_of(Score), count_told, &told_count);
    mica_observer_connect_to(f->world, MICA_RESOURCE_REMOVED, mica_type_of(Score), count_told, &told_count);
    set_score(f, 5);
    save(f);
    assert_int_equal(mica_resource_remove(f->world, f->score), MICA_OK);
    assert_int_equal(told_count, 2);
    load(f);
    assert_int_equal(part_load(f->world, &mi_resources_part, NULL), MICA_OK);
    assert_int_equal(told_count, 2);
}

static void bytes_depend_neither_on_padding_nor_on_the_order_of_registration(void **state) {
    fixture *f = *state;
    mica_world *other = mica_world_create(NULL);
    mica_component ids[2] = {mica_register(other, Alpha), mica_register(other, Score)};
    assert_true(f->score < f->alpha && ids[0] < ids[1]);
    Score score;
    memset(&score, 0x11, sizeof(score));
    score.level = 1;
    score.points = 2;
    assert_int_equal(mica_resource_set(f->world, f->score, &score), MICA_OK);
    assert_int_equal(mica_resource_set(f->world, f->alpha, &(Alpha){3}), MICA_OK);
    memset(&score, 0xee, sizeof(score));
    score.level = 1;
    score.points = 2;
    assert_int_equal(mica_resource_set(other, ids[0], &(Alpha){3}), MICA_OK);
    assert_int_equal(mica_resource_set(other, ids[1], &score), MICA_OK);
    save(f);
    assert_true(part_is(other, &mi_resources_part, &f->records[0]));
    mica_world_destroy(other);
}

static void a_record_is_good_for_another_world(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    save(f);
    mica_world *other = mica_world_create(NULL);
    assert_int_equal(part_load(other, &mi_resources_part, &f->records[0]), MICA_UNKNOWN);
    const mica_component score = mica_register(other, Score);
    assert_int_equal(part_load(other, &mi_resources_part, &f->records[0]), MICA_OK);
    assert_int_equal(((const Score *)mica_resource_get(other, score))->points, 5);
    mica_world_destroy(other);
}

static void a_value_that_can_only_move_cannot_be_saved(void **state) {
    fixture *f = *state;
    Sole value;
    const mica_component sole = mica_register(f->world, Sole);
    owned_hold(&value.owned, 7, f->world);
    assert_int_equal(mica_resource_set(f->world, sole, &value), MICA_OK);
    mi_writer writer = {.schema = f->world->schema, .record = &f->records[1]};
    mi_heavy_resources_part.save(f->world, &writer);
    assert_int_equal(writer.result, MICA_NO_COPY);
    assert_string_equal(writer.type->info.name, "Sole");
}

// What hands a value out for writing counts as a change, whether anything is written or not.
static void the_stamp_tells_of_every_change(void **state) {
    fixture *f = *state;
    uint64_t last = mi_resources_part.stamp(f->world);
#define CHANGES(CALL, EXPECTED)                                   \
    do {                                                          \
        CALL;                                                     \
        const uint64_t stamp = mi_resources_part.stamp(f->world); \
        assert_true((EXPECTED) ? stamp > last : stamp == last);   \
        last = stamp;                                             \
    } while (false)
    CHANGES(set_score(f, 5), true);
    CHANGES(mica_resource_get(f->world, f->score), false);
    CHANGES(set_score(f, 5), true);
    CHANGES(mica_resource_get_write(f->world, f->score), true);
    CHANGES(mica_resource_ensure(f->world, f->score), true);
    CHANGES(save(f), false);
    CHANGES(load(f), true);
    CHANGES(mica_resource_remove(f->world, f->score), true);
    CHANGES(mica_resource_remove(f->world, f->score), false);
    CHANGES(mica_resource_ensure(f->world, f->alpha), true);
    CHANGES(mica_resource_ensure(f->world, mica_register(f->world, Restless)), true);
    CHANGES((void)0, true); // somebody may have written it
    CHANGES(mica_resource_remove(f->world, mica_register(f->world, Restless)), true);
    CHANGES((void)0, false);
#undef CHANGES
}

// What is large or owns something is not copied because something else has changed.
static void heavy_ones_have_a_stamp_of_their_own(void **state) {
    fixture *f = *state;
    const mica_component map = mica_register(f->world, Map);
    set_score(f, 5);
    set_owned(f, 6);
    assert_non_null(mica_resource_ensure(f->world, map));
    const uint64_t light = mi_resources_part.stamp(f->world);
    const uint64_t heavy = mi_heavy_resources_part.stamp(f->world);
    set_score(f, 5);
    assert_true(mi_resources_part.stamp(f->world) > light);
    assert_int_equal(mi_heavy_resources_part.stamp(f->world), heavy);
    ((Map *)mica_resource_get_write(f->world, map))->tiles[4999] = 1;
    const uint64_t later = mi_heavy_resources_part.stamp(f->world);
    assert_true(later > heavy);
    set_owned(f, 7);
    assert_true(mi_heavy_resources_part.stamp(f->world) > later);
    save(f);
    ((Map *)mica_resource_get_write(f->world, map))->tiles[4999] = 2;
    load(f);
    assert_int_equal(((const Map *)mica_resource_get(f->world, map))->tiles[4999], 1);
}

static bool born(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        ((Born *)values)[i].number = 1;
    }
    return true;
}

// A value that is made by a hook and owns nothing is its bytes.
static void a_hook_that_constructs_alone_keeps_nothing_from_coming_back(void **state) {
    fixture *f = *state;
    const mica_component component = mica_register(f->world, Born);
    assert_int_equal(((const Born *)mica_resource_ensure(f->world, component))->number, 1);
    ((Born *)mica_resource_get_write(f->world, component))->number = 5;
    save(f);
    ((Born *)mica_resource_get_write(f->world, component))->number = 6;
    load(f);
    assert_int_equal(((const Born *)mica_resource_get(f->world, component))->number, 5);
}

static void a_resource_is_in_one_part_only(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    set_owned(f, 6);
    save(f);
    assert_int_equal(part_load(f->world, &mi_resources_part, &f->records[1]), MICA_FORMAT);
    assert_int_equal(part_load(f->world, &mi_heavy_resources_part, &f->records[0]), MICA_FORMAT);
    assert_int_equal(score_of(f), 5);
}

static void records_from_outside_stand_every_cut_and_change(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    set_owned(f, 6);
    assert_int_equal(mica_resource_set(f->world, f->alpha, &(Alpha){3}), MICA_OK);
    save(f);
    for (int32_t i = 0; i < 2; i++) {
        part_assert_stands_all(&(part_outside){.world = f->world, .part = parts[i], .record = &f->records[i]});
    }
}

static void every_lack_of_memory_leaves_everything_as_it_was(void **state) {
    fixture *f = *state;
    set_score(f, 5);
    set_owned(f, 6);
    save(f);
    set_owned(f, 60);
    assert_int_equal(mica_resource_remove(f->world, f->score), MICA_OK);
    assert_int_equal(mica_resource_set(f->world, f->alpha, &(Alpha){3}), MICA_OK);
    for (int32_t i = 0; i < 2; i++) {
        part_assert_stands_lack(f->world, parts[i], &f->records[i], &f->allocator);
    }
    assert_int_equal(owned_number(f), 6);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(values_come_back_where_they_are),
        CASE(what_came_later_goes_and_what_went_comes_back),
        CASE(the_initial_state_has_no_values),
        CASE(versions_come_back),
        CASE(pointers_are_the_programs),
        CASE(a_pointer_stays_where_a_value_was),
        CASE(a_value_goes_where_there_was_a_pointer),
        CASE(observers_hear_nothing),
        CASE(bytes_depend_neither_on_padding_nor_on_the_order_of_registration),
        CASE(a_record_is_good_for_another_world),
        CASE(a_value_that_can_only_move_cannot_be_saved),
        CASE(the_stamp_tells_of_every_change),
        CASE(heavy_ones_have_a_stamp_of_their_own),
        CASE(a_hook_that_constructs_alone_keeps_nothing_from_coming_back),
        CASE(a_resource_is_in_one_part_only),
        CASE(records_from_outside_stand_every_cut_and_change),
        CASE(every_lack_of_memory_leaves_everything_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
