// Fields that are found out when they are asked for: nested types in any order of registration, and the entities inside
// of values.
#include "store/reflect.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_allocator.h"

MICA_ENUM(Mood, {CALM, ANGRY});
MICA_STRUCT(Link, {
    float weight;
    mica_entity who;
});
MICA_STRUCT(Pair, {
    Link ends[2];
    enum Mood mood;
});
MICA_STRUCT(Group, {
    mica_entity leader;
    struct Pair pairs[2][3];
    uint8_t count;
    Mood moods[2];
});

typedef struct fixture {
    test_allocator allocator;
    mica_schema *schema;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_allocator_init(&f.allocator);
    f.schema = mica_schema_create(&(mica_schema_def){.allocator = test_allocator_hooks(&f.allocator)});
    assert_non_null(f.schema);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mica_schema_release(f->schema);
    test_allocator_finish(&f->allocator);
    return 0;
}

static mica_type struct_type(const char *name, const char *fields, uint32_t size, uint32_t align) {
    return (mica_type){.name = name, .fields = fields, .size = size, .align = align, .kind = MICA_KIND_STRUCT};
}

static mica_type *const family[] = {mica_type_of(Mood), mica_type_of(Link), mica_type_of(Pair), mica_type_of(Group)};
enum { FAMILY_COUNT = 4 };

static void check_group(const mica_schema *schema) {
    int32_t count;
    const mica_field *fields = mica_schema_fields(schema, mica_schema_find(schema, "Group"), &count);
    assert_non_null(fields);
    assert_int_equal(count, 4);
    assert_int_equal(fields[0].kind, MICA_FIELD_ENTITY);
    assert_int_equal(fields[1].kind, MICA_FIELD_STRUCT);
    assert_int_equal(fields[1].type, mica_schema_find(schema, "Pair"));
    assert_int_equal(fields[1].offset, offsetof(Group, pairs));
    assert_int_equal(fields[1].size, sizeof(Pair));
    assert_int_equal(fields[1].count, 6);
    assert_true(fields[1].is_array);
    assert_int_equal(fields[2].offset, offsetof(Group, count));
    assert_int_equal(fields[3].kind, MICA_FIELD_ENUM);
    assert_int_equal(fields[3].type, mica_schema_find(schema, "Mood"));
    assert_int_equal(fields[3].offset, offsetof(Group, moods));
    assert_int_equal(fields[3].size, sizeof(Mood));
    assert_int_equal(fields[3].count, 2);
}

static void the_order_of_registration_does_not_show(void **state) {
    (void)state;
    int orders = 0;
    for (int a = 0; a < FAMILY_COUNT; a++) {
        for (int b = 0; b < FAMILY_COUNT; b++) {
            for (int c = 0; c < FAMILY_COUNT; c++) {
                const int d = 6 - a - b - c;
                if (a == b || a == c || b == c) {
                    continue;
                }
                const int order[FAMILY_COUNT] = {a, b, c, d};
                mica_schema *schema = mica_schema_create(NULL);
                for (int i = 0; i < FAMILY_COUNT; i++) {
                    assert_int_not_equal(mica_schema_register(schema, family[order[i]]), 0);
                    // Asked for too early, which must not be remembered for longer than it is true.
                    const mica_component group = mica_schema_find(schema, "Group");
                    const bool is_whole = i == FAMILY_COUNT - 1;
                    assert_true(group == 0 || (mica_schema_fields(schema, group, NULL) != NULL) == is_whole);
                }
                check_group(schema);
                mica_schema_release(schema);
                orders++;
            }
        }
    }
    assert_int_equal(orders, 24);
}

static void a_nested_type_that_is_missing_is_named(void **state) {
    const fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Pair));
    const mica_component group = mica_schema_register(f->schema, mica_type_of(Group));
    mica_schema_register(f->schema, mica_type_of(Mood));
    assert_null(mica_schema_fields(f->schema, mica_schema_find(f->schema, "Pair"), NULL));
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    assert_non_null(strstr(mica_last_error(), "Link ends[2]"));
    assert_null(mica_schema_fields(f->schema, group, NULL));
    assert_non_null(strstr(mica_last_error(), "Pair pairs"));
}

static void a_struct_around_one_without_fields_is_unreflected_until_they_are_known(void **state) {
    const fixture *f = *state;
    mica_type bare = struct_type("Body", NULL, 4, 4);
    const uint32_t size = 2 * sizeof(mica_entity); // the body takes as much as an entity is aligned to
    mica_type around = struct_type("Around", "{ Body body; mica_entity who; }", size, _Alignof(mica_entity));
    mica_schema_register(f->schema, &bare);
    const mica_component id = mica_schema_register(f->schema, &around);
    assert_null(mica_schema_fields(f->schema, id, NULL));
    assert_non_null(strstr(mica_last_error(), "Body body;"));
    assert_false(mi_type_has_entities(f->schema, id));
    mica_type full = struct_type("Body", "{ int32_t n; }", 4, 4);
    mica_schema_register(f->schema, &full);
    assert_non_null(mica_schema_fields(f->schema, id, NULL));
    assert_true(mi_type_has_entities(f->schema, id));
}

static void nested_types_of_another_kind_are_refused(void **state) {
    const fixture *f = *state;
    mica_type tag = {.name = "Tag", .kind = MICA_KIND_TAG};
    mica_type cases[] = {struct_type("a", "{ struct Mood m; }", 4, 4), struct_type("b", "{ enum Inner m; }", 4, 4),
                         struct_type("c", "{ Tag t; }", 4, 4)};
    mica_type inner = struct_type("Inner", "{ int n; }", 4, 4);
    mica_schema_register(f->schema, &tag);
    mica_schema_register(f->schema, &inner);
    mica_schema_register(f->schema, mica_type_of(Mood));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(mica_schema_fields(f->schema, mica_schema_register(f->schema, &cases[i]), NULL));
        assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
        assert_non_null(strstr(mica_last_error(), "something else"));
    }
}

static void sizes_that_disagree_through_nested_types_are_named_when_asked(void **state) {
    const fixture *f = *state;
    mica_type inner = struct_type("Inner", "{ int n[3]; }", 12, 4);
    mica_type outer = struct_type("Outer", "{ Inner inner; int n; }", 20, 4);
    const mica_component before = mica_schema_register(f->schema, &outer);
    assert_int_not_equal(before, 0);
    mica_schema_register(f->schema, &inner);
    assert_null(mica_schema_fields(f->schema, before, NULL));
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    assert_non_null(strstr(mica_last_error(), "20"));
    assert_non_null(strstr(mica_last_error(), "16"));
}

static void alignments_that_disagree_through_nested_types_are_named_when_asked(void **state) {
    const fixture *f = *state;
    mica_type inner = struct_type("Inner", "{ int n[2]; }", 8, 8);
    mica_type outer = struct_type("Outer", "{ Inner inner; }", 8, 4);
    mica_schema_register(f->schema, &inner);
    assert_null(mica_schema_fields(f->schema, mica_schema_register(f->schema, &outer), NULL));
    assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    assert_non_null(strstr(mica_last_error(), "aligned"));
}

static void types_that_hold_themselves_are_unreflected(void **state) {
    const fixture *f = *state;
    mica_type self = struct_type("Self", "{ Self self; }", 8, 8);
    mica_type a = struct_type("A", "{ B b; }", 8, 8);
    mica_type b = struct_type("B", "{ C c; }", 8, 8);
    mica_type c = struct_type("C", "{ A a; }", 8, 8);
    mica_type *types[] = {&self, &a, &b, &c};
    for (size_t i = 0; i < 4; i++) {
        mica_schema_register(f->schema, types[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_null(mica_schema_fields(f->schema, mica_schema_find(f->schema, types[i]->name), NULL));
        assert_int_equal(mica_last_result(), MICA_UNREFLECTED);
    }
    assert_null(mica_schema_fields(f->schema, mica_schema_find(f->schema, "Self"), NULL));
    assert_non_null(strstr(mica_last_error(), "hold itself"));
}

static void a_chain_of_twenty_thousand_nested_types_is_resolved_without_recursion(void **state) {
    const fixture *f = *state;
    enum { COUNT = 20000 };
    char name[16];
    char fields[32];
    for (int i = COUNT - 1; i >= 0; i--) {
        snprintf(name, sizeof(name), "t%d", i);
        snprintf(fields, sizeof(fields), i > 0 ? "{ t%d inner; }" : "{ mica_entity who; }", i - 1);
        mica_type type = struct_type(name, fields, sizeof(mica_entity), _Alignof(mica_entity));
        assert_int_not_equal(mica_schema_register(f->schema, &type), 0);
    }
    assert_true(mi_type_has_entities(f->schema, 1));
    snprintf(name, sizeof(name), "t%d", COUNT - 1);
    assert_string_equal(mica_schema_info(f->schema, 1)->name, name);
}

// Entities in values

typedef struct visits {
    mica_entity *seen[64];
    int count, stop_after;
} visits;

static bool visit(void *user, mica_entity *entity) {
    visits *v = user;
    v->seen[v->count++] = entity;
    *entity = mica_entity_make((uint32_t)v->count, 1);
    return v->count != v->stop_after;
}

static void every_entity_inside_a_value_is_patched(void **state) {
    const fixture *f = *state;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        mica_schema_register(f->schema, family[i]);
    }
    const mica_component id = mica_schema_find(f->schema, "Group");
    Group group = {.count = 9, .moods = {ANGRY, CALM}};
    visits v = {.count = 0};
    assert_true(mi_type_has_entities(f->schema, id));
    assert_true(mi_type_patch_entities(f->schema, id, &group, visit, &v));
    assert_int_equal(v.count, 13);
    assert_ptr_equal(v.seen[0], &group.leader);
    int n = 1;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            assert_ptr_equal(v.seen[n++], &group.pairs[i][k].ends[0].who);
            assert_ptr_equal(v.seen[n++], &group.pairs[i][k].ends[1].who);
        }
    }
    assert_int_equal(mica_entity_index(group.pairs[1][2].ends[1].who), 13);
    assert_int_equal(group.count, 9);
    assert_int_equal(group.moods[0], ANGRY);
}

static void patching_stops_when_told(void **state) {
    const fixture *f = *state;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        mica_schema_register(f->schema, family[i]);
    }
    Group group = {.count = 0};
    visits v = {.stop_after = 3};
    assert_true(mi_type_patch_entities(f->schema, mica_schema_find(f->schema, "Group"), &group, visit, &v));
    assert_int_equal(v.count, 3);
}

static void values_without_known_entities_are_not_touched(void **state) {
    const fixture *f = *state;
    mica_type plain = struct_type("Plain", "{ uint64_t n; }", 8, 8);
    mica_type bare = struct_type("Bare", NULL, 8, 8);
    const mica_component known = mica_schema_register(f->schema, &plain);
    const mica_component unknown = mica_schema_register(f->schema, &bare);
    uint64_t value = 1;
    visits v = {.count = 0};
    assert_true(mi_type_patch_entities(f->schema, known, &value, visit, &v));
    assert_false(mi_type_patch_entities(f->schema, unknown, &value, visit, &v));
    assert_false(mi_type_patch_entities(f->schema, 99, &value, visit, &v));
    assert_int_equal(v.count, 0);
    assert_false(mi_type_has_entities(f->schema, known));
    assert_false(mi_type_has_entities(f->schema, unknown));
    assert_false(mi_type_has_entities(f->schema, 99));
    assert_int_equal(mi_type_reflect(f->schema, known), MICA_OK);
    assert_int_equal(mi_type_reflect(f->schema, unknown), MICA_UNREFLECTED);
    assert_int_equal(mi_type_reflect(f->schema, 99), MICA_UNKNOWN);
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void what_is_known_is_read_without_lock_and_memory(void **state) {
    fixture *f = *state;
    mica_type bare = struct_type("Bare", NULL, 8, 8);
    for (int i = 0; i < FAMILY_COUNT; i++) {
        mica_schema_register(f->schema, family[i]);
    }
    const mica_component unknown = mica_schema_register(f->schema, &bare);
    const mica_component group = mica_schema_find(f->schema, "Group");
    assert_int_equal(mi_type_reflect(f->schema, group), MICA_OK);
    assert_int_equal(mi_type_reflect(f->schema, unknown), MICA_UNREFLECTED);
    const mica_field *fields = mica_schema_fields(f->schema, group, NULL);
    const uint64_t calls = f->allocator.call_count;
    mi_lock_take(&f->schema->lock);
    assert_ptr_equal(mica_schema_fields(f->schema, group, NULL), fields);
    assert_int_equal(mi_type_reflect(f->schema, unknown), MICA_UNREFLECTED);
    assert_true(mi_type_has_entities(f->schema, group));
    mi_lock_give(&f->schema->lock);
    assert_int_equal(f->allocator.call_count, calls);
}

static void every_failing_allocation_leaves_fields_to_be_asked_for_again(void **state) {
    fixture *f = *state;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        mica_schema_register(f->schema, family[i]);
    }
    const mica_component group = mica_schema_find(f->schema, "Group");
    // A nested type that was found out before the failure stays so; n goes on as if it had not been.
    uint64_t failed = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_field *fields = mica_schema_fields(f->schema, group, NULL);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_non_null(fields);
            break;
        }
        assert_null(fields);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        failed++;
    }
    assert_true(failed > 4);
    check_group(f->schema);
}

static void *ask_for_fields(void *schema) {
    for (int i = 0; i < 1000; i++) {
        const mica_field *fields = mica_schema_fields(schema, mica_schema_find(schema, "Group"), NULL);
        if (fields == NULL || fields[1].count != 6) {
            return schema;
        }
    }
    return NULL;
}

static void two_threads_find_the_same_fields(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    for (int i = 0; i < FAMILY_COUNT; i++) {
        mica_schema_register(schema, family[i]);
    }
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_fields, schema), 0);
    assert_null(ask_for_fields(schema));
    pthread_join(thread, &failed);
    assert_null(failed);
    mica_schema_release(schema);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_registration_does_not_show),
        CASE(a_nested_type_that_is_missing_is_named),
        CASE(a_struct_around_one_without_fields_is_unreflected_until_they_are_known),
        CASE(nested_types_of_another_kind_are_refused),
        CASE(sizes_that_disagree_through_nested_types_are_named_when_asked),
        CASE(alignments_that_disagree_through_nested_types_are_named_when_asked),
        CASE(types_that_hold_themselves_are_unreflected),
        CASE(a_chain_of_twenty_thousand_nested_types_is_resolved_without_recursion),
        CASE(every_entity_inside_a_value_is_patched),
        CASE(patching_stops_when_told),
        CASE(values_without_known_entities_are_not_touched),
        CASE(what_is_known_is_read_without_lock_and_memory),
        CASE(every_failing_allocation_leaves_fields_to_be_asked_for_again),
        cmocka_unit_test(two_threads_find_the_same_fields),
    };
    return cmocka_run_group_tests_name("reflect", tests, NULL, NULL);
}
