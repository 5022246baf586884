// Comparisons: the first entity, component and field in which two states differ, and nothing where they are equal.
#include "state/checksum_world.h"

static const recipe plain = {.mix = ALL_IN_TABLES, .type_stride = 1, .entity_stride = 1, .padding = 0};
static const recipe other = {.mix = EVEN_IN_POOLS, .type_stride = 4, .entity_stride = 7, .padding = 0x5A};

typedef struct fixture {
    mica_world *a, *b;
    mica_difference found;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f.a = make_world(&plain);
    f.b = make_world(&other);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_world_destroy(f->a);
    mica_world_destroy(f->b);
    return 0;
}

static void compare_with(fixture *f, const mica_checksum_options *options) {
    assert_int_equal(mica_world_compare(f->a, f->b, options, &f->found), MICA_OK);
}

// Compares both ways: what is found is the same, seen from the other side.
static void compare(fixture *f) {
    mica_difference swapped;
    compare_with(f, NULL);
    assert_int_equal(mica_world_compare(f->b, f->a, NULL, &swapped), MICA_OK);
    assert_int_equal(swapped.kind, f->found.kind);
    assert_int_equal(mica_entity_index(swapped.entity), mica_entity_index(f->found.entity));
    assert_string_equal(swapped.path, f->found.path);
}

static void expect(const fixture *f, mica_difference_kind kind, mica_entity entity, const char *path,
                   const char *text) {
    assert_int_equal(f->found.kind, kind);
    assert_true(mica_entity_equal(f->found.entity, entity));
    assert_string_equal(f->found.path, path);
    assert_string_equal(f->found.text, text);
}

static void equal_states_have_no_difference_however_they_were_made(void **state) {
    fixture *f = *state;
    compare(f);
    expect(f, MICA_DIFFERENCE_NONE, MICA_NULL, "", "");
    assert_int_equal(f->found.component, 0);
}

static void a_field_is_named_with_both_values(void **state) {
    fixture *f = *state;
    const mica_entity entity = owner_of(1, 20);
    Padded value;
    char text[160];
    assert_true(mica_entity_load(f->b, entity, component_of(f->b, 1), &value));
    value.place.z = 0.1f;
    mica_entity_store(f->b, entity, component_of(f->b, 1), &value);
    compare(f);
    snprintf(text, sizeof(text), "entity %u:0: Padded.place.z is %u in the first and 0.100000001 in the second",
             mica_entity_index(entity), mica_entity_index(entity) - 1);
    expect(f, MICA_DIFFERENCE_VALUE, entity, "place.z", text);
    assert_int_equal(f->found.component, component_of(f->a, 1));
}

static void fields_of_lanes_and_arrays_are_named_too(void **state) {
    fixture *f = *state;
    const mica_entity lanes = owner_of(6, 30);
    Split split;
    assert_true(mica_entity_load(f->b, lanes, component_of(f->b, 6), &split));
    split.whole.number++;
    mica_entity_store(f->b, lanes, component_of(f->b, 6), &split);
    compare(f);
    assert_true(mica_entity_equal(f->found.entity, lanes));
    assert_string_equal(f->found.path, "whole.number");
    const mica_entity array = owner_of(4, 0);
    Long words;
    assert_true(mica_entity_load(f->b, array, component_of(f->b, 4), &words));
    words.words[7]--;
    words.words[8]--;
    mica_entity_store(f->b, array, component_of(f->b, 4), &words);
    compare(f);
    assert_true(mica_entity_equal(f->found.entity, array));
    assert_string_equal(f->found.path, "words[7]");
}

static void the_lowest_index_comes_first_and_of_it_the_first_name(void **state) {
    fixture *f = *state;
    const mica_entity late = owner_of(0, 30);
    const mica_entity early = owner_of(3, 5);
    mica_destroy(f->b, late);
    compare(f);
    expect(f, MICA_DIFFERENCE_ENTITY, late, "", f->found.text);
    mica_entity_remove(f->b, early, component_of(f->b, 3));
    compare(f);
    char text[80];
    snprintf(text, sizeof(text), "entity %u:0 has Small in the first alone", mica_entity_index(early));
    expect(f, MICA_DIFFERENCE_COMPONENT, early, "", text);
    assert_int_equal(f->found.component, component_of(f->a, 3));
    // Another component of the same entity whose name comes before.
    if (mica_entity_has(f->a, early, component_of(f->a, 8))) {
        mica_entity_remove(f->b, early, component_of(f->b, 8));
    } else {
        mica_entity_add(f->b, early, component_of(f->b, 8), NULL);
    }
    compare(f);
    assert_int_equal(f->found.component, component_of(f->a, 8));
    assert_true(mica_entity_equal(f->found.entity, early));
}

static void generations_and_who_is_alive_are_told_apart(void **state) {
    fixture *f = *state;
    const mica_entity entity = entity_at(9);
    char text[80];
    mica_destroy(f->b, entity);
    compare(f);
    expect(f, MICA_DIFFERENCE_ENTITY, entity, "", "entity 10:0 is alive in the first alone");
    mica_entity_create(f->b);
    compare(f);
    snprintf(text, sizeof(text), "entity 10:0 is alive in the first, and 10:1 in the second");
    expect(f, MICA_DIFFERENCE_ENTITY, entity, "", text);
    mica_destroy(f->a, entity);
    compare(f);
    expect(f, MICA_DIFFERENCE_ENTITY, mica_entity_make(10, 1), "", "entity 10:1 is alive in the second alone");
}

static void marks_are_compared(void **state) {
    fixture *f = *state;
    const mica_entity entity = entity_at(3);
    mica_entity_enable(f->b, entity, false);
    compare(f);
    expect(f, MICA_DIFFERENCE_MARK, entity, "", "entity 4:0 is disabled in the second alone");
    mica_entity_enable(f->b, entity, true);
    mica_entity_kill(f->a, entity);
    compare(f);
    expect(f, MICA_DIFFERENCE_MARK, entity, "", "entity 4:0 is killed in the first alone");
    const mica_entity toggled = owner_of(5, 0);
    const bool is_enabled = mica_entity_component_enabled(f->a, toggled, component_of(f->a, 5));
    mica_entity_enable_component(f->a, toggled, component_of(f->a, 5), !is_enabled);
    compare(f);
    if (mica_entity_index(toggled) <= mica_entity_index(entity)) {
        assert_int_equal(f->found.component, component_of(f->a, 5));
        assert_non_null(strstr(f->found.text, ": Switch is disabled in the"));
    }
}

static void texts_are_compared_up_to_their_ends(void **state) {
    fixture *f = *state;
    const mica_entity entity = owner_of(2, 0);
    Label label;
    assert_true(mica_entity_load(f->b, entity, component_of(f->b, 2), &label));
    label.text[12] = '!';
    mica_entity_store(f->b, entity, component_of(f->b, 2), &label);
    compare(f);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    memcpy(label.text, "else", 5);
    mica_entity_store(f->b, entity, component_of(f->b, 2), &label);
    compare(f);
    assert_string_equal(f->found.path, "text");
    assert_non_null(strstr(f->found.text, "\"else\" in the second"));
}

static void names_are_compared_by_their_texts(void **state) {
    fixture *f = *state;
    mica_set_name(f->a, entity_at(2), "lamp");
    mica_set_name(f->b, entity_at(2), "lamp");
    compare(f);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    mica_set_name(f->b, entity_at(2), "moon");
    compare(f);
    expect(f, MICA_DIFFERENCE_VALUE, entity_at(2), "",
           "entity 3:0: Name is \"lamp\" in the first and \"moon\" in the second");
}

static void resources_are_compared_after_entities(void **state) {
    fixture *f = *state;
    mica_set_resource(f->b, Score, {61});
    compare(f);
    expect(f, MICA_DIFFERENCE_PART, MICA_NULL, f->found.path,
           "the resource Score.points is 60 in the first and 61 in the second");
    compare_with(f, &(mica_checksum_options){.entities_only = true});
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    mica_resource_remove(f->a, component_of(f->a, 0)); // nothing
    mica_resource_remove(f->a, mica_schema_find(mica_world_schema(f->a), "Score"));
    compare(f);
    expect(f, MICA_DIFFERENCE_PART, MICA_NULL, "resources", "there is a resource Score in the second alone");
}

static void other_parts_are_named(void **state) {
    fixture *f = *state;
    (void)mica_random_next(mica_world_random(f->b));
    compare(f);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_PART);
    assert_string_equal(f->found.path, "random");
}

static void order_is_compared_on_request(void **state) {
    fixture *f = *state;
    const mica_checksum_options exact = {.exact = true};
    mica_world *worlds[2] = {f->a, f->b};
    for (uint32_t i = 0; i < 2; i++) {
        mica_world_destroy(worlds[i]);
        worlds[i] = mica_world_create(NULL);
        mica_entity first = mica_spawn(worlds[i], mica_value_of(Score, {1}));
        mica_spawn(worlds[i], mica_value_of(Score, {2}));
        const mica_entity ended[2] = {mica_entity_create(worlds[i]), mica_entity_create(worlds[i])};
        mica_destroy(worlds[i], ended[i]);
        mica_destroy(worlds[i], ended[1 - i]);
        if (i == 1) {
            first = mica_entity_make(1, 0);
        }
        assert_int_equal(mica_entity_index(first), 1);
    }
    f->a = worlds[0];
    f->b = worlds[1];
    compare(f);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    compare_with(f, &exact);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_ORDER);
    assert_non_null(strstr(f->found.text, "free handles differ, first of all that of index 3"));
}

MICA_STRUCT_WITH(Row, (.storage = MICA_TABLE), { int32_t number; });

static void rows_out_of_order_are_named(void **state) {
    fixture *f = *state;
    const mica_checksum_options exact = {.exact = true};
    mica_world *worlds[2] = {mica_world_create(NULL), mica_world_create(NULL)};
    for (uint32_t i = 0; i < 2; i++) {
        const mica_entity entities[2] = {mica_entity_create(worlds[i]), mica_entity_create(worlds[i])};
        mica_set(worlds[i], entities[i], Row, {1});
        mica_set(worlds[i], entities[1 - i], Row, {1});
    }
    assert_int_equal(mica_world_compare(worlds[0], worlds[1], NULL, &f->found), MICA_OK);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    assert_int_equal(mica_world_compare(worlds[0], worlds[1], &exact, &f->found), MICA_OK);
    expect(f, MICA_DIFFERENCE_ORDER, mica_entity_make(1, 0), "",
           "row 0 of the table {Row} is entity 2:0 in the second and entity 1:0 in the first");
    mica_world_destroy(worlds[0]);
    mica_world_destroy(worlds[1]);
}

static void snapshots_are_compared_with_each_other_and_with_worlds(void **state) {
    fixture *f = *state;
    const mica_checksum_options exact = {.exact = true};
    mica_snapshot *before = mica_snapshot_take(f->a, NULL);
    const mica_entity entity = owner_of(3, 10);
    assert_int_equal(mica_snapshot_compare_world(before, f->a, &exact, &f->found), MICA_OK);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    mica_set(f->a, entity, Small, {201});
    mica_snapshot *after = mica_snapshot_take(f->a, NULL);
    assert_int_equal(mica_snapshot_compare(before, after, &exact, &f->found), MICA_OK);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_VALUE);
    assert_true(mica_entity_equal(f->found.entity, entity));
    assert_string_equal(f->found.path, "level");
    assert_int_equal(mica_snapshot_compare_world(after, f->b, NULL, &f->found), MICA_OK);
    assert_true(mica_entity_equal(f->found.entity, entity));
    assert_int_equal(mica_snapshot_compare(after, after, &exact, &f->found), MICA_OK);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    mica_snapshot_release(before);
    mica_snapshot_release(after);
}

static void what_is_left_out_is_not_compared(void **state) {
    fixture *f = *state;
    const mica_component small = component_of(f->a, 3);
    mica_set(f->a, owner_of(3, 0), Small, {201});
    compare_with(f, &(mica_checksum_options){.leave = &small, .leave_count = 1});
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    compare(f);
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_VALUE);
}

static void types_that_disagree_are_refused_by_name(void **state) {
    fixture *f = *state;
    mica_type longer = {.name = "Odd", .fields = "{ int32_t a, b; }", .size = 8, .align = 4};
    mica_type shorter = {.name = "Odd", .fields = "{ int32_t a; }", .size = 4, .align = 4};
    const mica_component a = mica_schema_register(mica_world_schema(f->a), &longer);
    const mica_component b = mica_schema_register(mica_world_schema(f->b), &shorter);
    compare(f); // nobody has them
    assert_int_equal(f->found.kind, MICA_DIFFERENCE_NONE);
    mica_entity_add(f->a, entity_at(1), a, NULL);
    mica_entity_add(f->b, entity_at(1), b, NULL);
    assert_int_equal(mica_world_compare(f->a, f->b, NULL, &f->found), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "Odd has 8 bytes in one schema and 4"));
}

static void a_component_that_only_one_schema_knows_is_a_difference(void **state) {
    fixture *f = *state;
    mica_type unknown = {.name = "Unknown", .fields = "{ int32_t a; }", .size = 4, .align = 4};
    const mica_component b = mica_schema_register(mica_world_schema(f->b), &unknown);
    mica_entity_add(f->b, entity_at(1), b, NULL);
    compare(f);
    expect(f, MICA_DIFFERENCE_COMPONENT, entity_at(1), "", "entity 2:0 has Unknown in the second alone");
    assert_int_equal(f->found.component, b);
}

static void misuse_is_refused(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_world_compare(f->a, NULL, NULL, &f->found), MICA_INVALID);
    assert_int_equal(mica_world_compare(NULL, f->b, NULL, &f->found), MICA_INVALID);
    assert_int_equal(mica_world_compare(f->a, f->b, NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_snapshot_compare(NULL, NULL, NULL, &f->found), MICA_INVALID);
    assert_int_equal(mica_snapshot_compare_world(NULL, f->b, NULL, &f->found), MICA_INVALID);
    assert_int_equal(mica_world_compare(f->a, f->b, &(mica_checksum_options){.leave_count = -1}, &f->found),
                     MICA_INVALID);
}

// Whatever random thing happens to one of two equal worlds: if checksums differ, a difference is found, and only then.
static void checksums_and_comparisons_agree(void **state) {
    fixture *f = *state;
    test_random random = {7};
    uint32_t different_count = 0;
    for (uint32_t i = 0; i < 200; i++) {
        mica_world *world = test_random_below(&random, 2) == 0 ? f->a : f->b;
        const mica_entity entity = entity_at(test_random_below(&random, ENTITY_COUNT));
        const mica_component component = component_of(world, test_random_below(&random, 2) == 0 ? 3 : 7);
        if (mica_entity_has(world, entity, component)) {
            mica_entity_remove(world, entity, component);
        } else {
            mica_entity_add(world, entity, component, NULL);
        }
        if (i % 3 == 0) { // the same for the other one
            mica_world *second = world == f->a ? f->b : f->a;
            const mica_component same = mica_schema_find(mica_world_schema(second),
                                                         mica_schema_info(mica_world_schema(world), component)->name);
            if (mica_entity_has(second, entity, same) != mica_entity_has(world, entity, component)) {
                if (mica_entity_has(second, entity, same)) {
                    mica_entity_remove(second, entity, same);
                } else {
                    mica_entity_add(second, entity, same, NULL);
                }
            }
        }
        uint64_t checksums[2];
        assert_int_equal(mica_world_checksum(f->a, NULL, &checksums[0]), MICA_OK);
        assert_int_equal(mica_world_checksum(f->b, NULL, &checksums[1]), MICA_OK);
        compare(f);
        assert_int_equal(checksums[0] != checksums[1], f->found.kind != MICA_DIFFERENCE_NONE);
        different_count += checksums[0] != checksums[1];
        if (f->found.kind == MICA_DIFFERENCE_NONE) {
            continue;
        }
        // Up to the entity that was named, entities come to the same; it does not.
        for (uint32_t n = 0; n + 1 <= mica_entity_index(f->found.entity); n++) {
            assert_int_equal(mica_entity_checksum(f->a, entity_at(n), NULL, &checksums[0]), MICA_OK);
            assert_int_equal(mica_entity_checksum(f->b, entity_at(n), NULL, &checksums[1]), MICA_OK);
            assert_int_equal(checksums[0] != checksums[1], n + 1 == mica_entity_index(f->found.entity));
        }
    }
    assert_true(different_count > 50);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(equal_states_have_no_difference_however_they_were_made),
        CASE(a_field_is_named_with_both_values),
        CASE(fields_of_lanes_and_arrays_are_named_too),
        CASE(the_lowest_index_comes_first_and_of_it_the_first_name),
        CASE(generations_and_who_is_alive_are_told_apart),
        CASE(marks_are_compared),
        CASE(texts_are_compared_up_to_their_ends),
        CASE(names_are_compared_by_their_texts),
        CASE(resources_are_compared_after_entities),
        CASE(other_parts_are_named),
        CASE(order_is_compared_on_request),
        CASE(rows_out_of_order_are_named),
        CASE(snapshots_are_compared_with_each_other_and_with_worlds),
        CASE(what_is_left_out_is_not_compared),
        CASE(types_that_disagree_are_refused_by_name),
        CASE(a_component_that_only_one_schema_knows_is_a_difference),
        CASE(misuse_is_refused),
        CASE(checksums_and_comparisons_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
