// Schemas: what is registered is found again by its name, whatever descriptor it comes from; what cannot be registered
// leaves the schema as it was.
#include "store/schema_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <mica/hierarchy.h>

MICA_STRUCT(Position, { float x, y, z; });
MICA_STRUCT(Velocity, { float x, y, z; });
MICA_STRUCT(Target, { mica_entity who; });
MICA_ENUM(Color, {RED, GREEN, BLUE});
MICA_TAG(Frozen);

// Finding

static void ids_are_dense_and_in_order_of_registration(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Position)), 1);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Frozen)), 2);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Color)), 3);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Position)), 1);
    assert_int_equal(mica_schema_count(f->schema), 3);
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void a_type_is_found_by_its_name(void **state) {
    const fixture *f = *state;
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Velocity));
    assert_int_equal(mica_schema_find(f->schema, "Velocity"), id);
    assert_int_equal(mica_schema_find(f->schema, "Veloc"), 0);
    assert_int_equal(mica_schema_find(f->schema, "Velocity2"), 0);
    assert_int_equal(mica_schema_find(f->schema, ""), 0);
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void info_says_what_was_declared(void **state) {
    const fixture *f = *state;
    const mica_component_info *info =
        mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(Position)));
    assert_int_equal(info->id, 1);
    assert_int_equal(info->kind, MICA_KIND_STRUCT);
    assert_int_equal(info->size, 12);
    assert_int_equal(info->align, 4);
    assert_false(info->transient);
    assert_string_equal(info->name, "Position");
    assert_int_equal(info->required_count, 0);
    const mica_component_info *tag = mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(Frozen)));
    assert_int_equal(tag->kind, MICA_KIND_TAG);
    assert_int_equal(tag->size, 0);
}

static void unknown_ids_are_said_to_be_unknown(void **state) {
    const fixture *f = *state;
    static const mica_component ids[] = {0, 1, 255, 256, 65535};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        mica_error_clear();
        assert_null(mica_schema_info(f->schema, ids[i]));
        assert_int_equal(mica_last_result(), MICA_UNKNOWN);
        assert_null(mi_schema_type(f->schema, ids[i]));
    }
}

static void calls_without_a_schema_or_type_are_refused(void **state) {
    const fixture *f = *state;
    assert_int_equal(mica_schema_register(NULL, mica_type_of(Position)), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_int_equal(mica_schema_register(f->schema, NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_int_equal(mica_schema_find(f->schema, NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_null(mica_schema_info(NULL, 1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_int_equal(mica_schema_count(NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_null(mica_schema_retain(NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_schema_release(NULL);
}

static void half_an_allocator_is_refused(void **state) {
    const fixture *f = *state;
    mica_schema_def def = {.allocator = test_allocator_hooks((test_allocator *)(uintptr_t)&f->allocator)};
    def.allocator.release = NULL;
    assert_null(mica_schema_create(&def));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void a_schema_lives_until_its_last_reference(void **state) {
    const fixture *f = *state;
    assert_ptr_equal(mica_schema_retain(f->schema), f->schema);
    mica_schema_release(f->schema);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Position)), 1);
}

static void serials_differ_from_schema_to_schema(void **state) {
    const fixture *f = *state;
    mica_schema *other = mica_schema_create(NULL);
    const uint32_t serial = mi_schema_serial(other);
    assert_int_not_equal(serial, 0);
    assert_int_not_equal(serial, mi_schema_serial(f->schema));
    mica_schema_release(other);
    other = mica_schema_create(NULL);
    assert_int_not_equal(mi_schema_serial(other), serial);
    mica_schema_release(other);
}

static void serials_end_before_they_repeat(void **state) {
    (void)state;
    uint32_t last = UINT32_MAX - 1;
    assert_int_equal(mi_next_serial(&last), UINT32_MAX);
    assert_int_equal(mi_next_serial(&last), 0);
    assert_int_equal(mi_next_serial(&last), 0);
}

// Names

static void names_of_up_to_1023_bytes_are_taken(void **state) {
    const fixture *f = *state;
    char name[MICA_NAME_MAX + 2] = "";
    for (uint32_t length = 1; length <= MICA_NAME_MAX; length++) {
        name[length - 1] = 'n';
        name[length] = '\0';
        mica_type type = data_type(name, 4, 4);
        assert_int_equal(mica_schema_register(f->schema, &type), length);
    }
    for (uint32_t length = 1; length <= MICA_NAME_MAX; length++) {
        assert_int_equal(strlen(mica_schema_info(f->schema, (mica_component)length)->name), length);
    }
    name[255] = '\0';
    assert_int_equal(mica_schema_find(f->schema, name), 255);
}

static void a_name_of_1024_bytes_is_refused(void **state) {
    const fixture *f = *state;
    char name[MICA_NAME_MAX + 2];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    mica_type type = data_type(name, 4, 4);
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "1023");
}

static void a_type_without_a_name_is_refused(void **state) {
    const fixture *f = *state;
    mica_type type = data_type("", 4, 4);
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "no name");
    type.name = NULL;
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "no name");
}

static void names_are_compared_by_their_bytes(void **state) {
    const fixture *f = *state;
    // In canonical order; some differ behind the eight bytes that are compared first, one has a byte over 127.
    static const char *const names[] = {"A", "Aa", "Position", "Position2", "PositionA", "Positioo", "a", "\xc3\xa4"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    for (size_t i = COUNT; i-- > 0;) {
        mica_type type = data_type(names[i], 4, 4);
        assert_int_not_equal(mica_schema_register(f->schema, &type), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            const int order = mi_type_compare_names(mi_schema_type(f->schema, mica_schema_find(f->schema, names[i])),
                                                    mi_schema_type(f->schema, mica_schema_find(f->schema, names[k])));
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
}

// Sizes and kinds

static void sizes_and_alignments_out_of_range_are_refused(void **state) {
    const fixture *f = *state;
    const struct {
        uint32_t size, align;
        const char *text;
    } cases[] = {{0, 1, "no data"},      {MICA_SIZE_MAX + 1, 1, "65537"},
                 {4, 0, "aligned to 0"}, {12, 3, "aligned to 3"},
                 {8192, 8192, "8192"},   {6, 4, "no multiple"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mica_type type = data_type("Odd", cases[i].size, cases[i].align);
        assert_refused(f->schema, &type, MICA_BAD_TYPE, cases[i].text);
        assert_non_null(strstr(mica_last_error(), "Odd"));
    }
    mica_type largest = data_type("Largest", MICA_SIZE_MAX, MICA_ALIGN_MAX);
    assert_int_equal(mica_schema_register(f->schema, &largest), 1);
}

static void an_enumeration_has_the_size_of_an_integer(void **state) {
    const fixture *f = *state;
    mica_type type = {.name = "Odd", .size = 12, .align = 4, .kind = MICA_KIND_ENUM};
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "12");
    type.size = 8;
    assert_int_equal(mica_schema_register(f->schema, &type), 1);
}

static void a_tag_with_data_or_hooks_is_refused(void **state) {
    const fixture *f = *state;
    mica_type type = {.name = "Odd", .size = 4, .align = 4, .kind = MICA_KIND_TAG};
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "tag");
    type = (mica_type){.name = "Odd", .kind = MICA_KIND_TAG};
    type.traits.hooks.destruct = (void (*)(void *, int32_t, const mica_hook_context *))(uintptr_t)8;
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "hooks");
}

static void an_unknown_kind_is_refused(void **state) {
    const fixture *f = *state;
    mica_type type = data_type("Odd", 4, 4);
    type.kind = (mica_type_kind)3;
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "kind");
}

// Two descriptors of one name

static void the_same_type_of_two_libraries_is_one(void **state) {
    const fixture *f = *state;
    mica_type other = copy_of(mica_type_of(Position));
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Position));
    assert_int_equal(mica_schema_register(f->schema, &other), id);
    assert_int_equal(mica_schema_count(f->schema), 1);
    other = copy_of(mica_type_of(Position));
    other.fields = "{float x,y ; float\tz;}";
    assert_int_equal(mica_schema_register(f->schema, &other), id);
}

static void a_descriptor_may_vanish_afterwards(void **state) {
    const fixture *f = *state;
    char name[] = "Passing";
    char fields[] = "{ int a; }";
    mica_type *type = malloc(sizeof(*type));
    *type = (mica_type){.name = name, .fields = fields, .size = 4, .align = 4, .kind = MICA_KIND_STRUCT};
    const mica_component id = mica_schema_register(f->schema, type);
    memset(name, 'x', sizeof(name) - 1);
    memset(fields, 'x', sizeof(fields) - 1);
    free(type);
    assert_string_equal(mica_schema_info(f->schema, id)->name, "Passing");
    int32_t count;
    assert_string_equal(mica_schema_fields(f->schema, id, &count)[0].name, "a");
    assert_int_equal(count, 1);
}

static void other_properties_under_a_known_name_are_refused_with_both(void **state) {
    const fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Position));
    mica_type other = data_type("Position", 16, 4);
    assert_refused(f->schema, &other, MICA_MISMATCH, "12");
    assert_non_null(strstr(mica_last_error(), "16"));
    other = data_type("Position", 12, 2);
    assert_refused(f->schema, &other, MICA_MISMATCH, "aligned to 4");
    assert_non_null(strstr(mica_last_error(), "to 2"));
    other = (mica_type){.name = "Position", .kind = MICA_KIND_TAG};
    assert_refused(f->schema, &other, MICA_MISMATCH, "a struct");
    assert_non_null(strstr(mica_last_error(), "a tag"));
    other = (mica_type){.name = "Position", .size = 12, .align = 4, .kind = MICA_KIND_ENUM};
    assert_refused(f->schema, &other, MICA_MISMATCH, "an enumeration");
    other = copy_of(mica_type_of(Position));
    other.fields = "{ float x, y, w; }";
    assert_refused(f->schema, &other, MICA_MISMATCH, "z;");
    assert_non_null(strstr(mica_last_error(), "w;"));
    other = copy_of(mica_type_of(Position));
    other.fields = "{ float x, y; int z; }";
    assert_refused(f->schema, &other, MICA_MISMATCH, "int z;");
}

static void a_known_tag_with_an_alignment_is_refused(void **state) {
    const fixture *f = *state;
    mica_type tag = {.name = "Odd", .kind = MICA_KIND_TAG};
    assert_int_equal(mica_schema_register(f->schema, &tag), 1);
    mica_type other = {.name = "Odd", .align = 1, .kind = MICA_KIND_TAG};
    assert_int_equal(mica_schema_register(f->schema, &other), 1);
    other = (mica_type){.name = "Odd", .align = 16, .kind = MICA_KIND_TAG};
    assert_refused(f->schema, &other, MICA_MISMATCH, "declared to 16");
}

static void fields_of_other_words_for_the_same_are_accepted(void **state) {
    const fixture *f = *state;
    mica_type type = {.name = "Same", .fields = "{ _Bool on; unsigned n; }", .size = 8, .align = 4};
    mica_type other = {.name = "Same", .fields = "{ bool on; unsigned n; }", .size = 8, .align = 4};
    mica_type more = {.name = "Same", .fields = "{ bool on; unsigned int n; }", .size = 8, .align = 4};
    assert_int_equal(mica_schema_register(f->schema, &type), 1);
    assert_int_equal(mica_schema_register(f->schema, &other), 1);
    assert_int_equal(mica_schema_register(f->schema, &more), 1);
}

static void other_names_of_an_enumeration_are_refused(void **state) {
    const fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Color));
    mica_type other = copy_of(mica_type_of(Color));
    other.fields = "{ RED, BLUE, GREEN }";
    assert_refused(f->schema, &other, MICA_MISMATCH, "GREEN");
    other.fields = "{ RED, GREEN, BLUE, }";
    assert_int_not_equal(mica_schema_register(f->schema, &other), 0);
}

static void fields_come_from_whichever_descriptor_has_them(void **state) {
    const fixture *f = *state;
    mica_type bare = data_type("Position", 12, 4);
    mica_type full = copy_of(mica_type_of(Position));
    int32_t count;
    const mica_component id = mica_schema_register(f->schema, &bare);
    assert_null(mica_schema_fields(f->schema, id, &count));
    assert_int_equal(mica_schema_register(f->schema, &full), id);
    assert_non_null(mica_schema_fields(f->schema, id, &count));
    assert_int_equal(count, 3);
    bare.cache = 0;
    assert_int_equal(mica_schema_register(f->schema, &bare), id);
    assert_non_null(mica_schema_fields(f->schema, id, &count));
}

static void adopted_fields_are_checked_too(void **state) {
    const fixture *f = *state;
    mica_type bare = data_type("Position", 16, 4);
    mica_type full = copy_of(mica_type_of(Position));
    full.size = 16;
    const mica_component id = mica_schema_register(f->schema, &bare);
    assert_refused(f->schema, &full, MICA_BAD_TYPE, "16");
    assert_null(mica_schema_fields(f->schema, id, NULL));
}

// Traits

static bool construct_a(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 1, (size_t)count * 4);
    return true;
}
static bool construct_b(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 2, (size_t)count * 4);
    return true;
}
static void destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 0, (size_t)count * 4);
}
static bool copy(void *to, const void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * 4);
    return true;
}

static void move_hook(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * 4);
}

static void the_first_hooks_stay(void **state) {
    const fixture *f = *state;
    mica_type first = data_type("Owner", 4, 4);
    first.traits.hooks.construct = construct_a;
    mica_type second = data_type("Owner", 4, 4);
    second.traits.hooks.construct = construct_b;
    const mica_component id = mica_schema_register(f->schema, &first);
    assert_int_equal(mica_schema_register(f->schema, &second), id);
    assert_true(mica_schema_info(f->schema, id)->hooks.construct == construct_a);
}

static void a_type_with_destruct_and_without_copy_is_move_only(void **state) {
    const fixture *f = *state;
    mica_type type = data_type("Owner", 4, 4);
    type.traits.hooks.destruct = destruct;
    const mi_type *owner = mi_schema_type(f->schema, mica_schema_register(f->schema, &type));
    assert_true(owner->has_destruct && owner->movable_only && !owner->has_copy && !owner->has_construct);
    type = data_type("Copied", 4, 4);
    type.traits.hooks = (mica_hooks){.destruct = destruct, .copy = copy};
    const mi_type *copied = mi_schema_type(f->schema, mica_schema_register(f->schema, &type));
    assert_true(copied->has_destruct && copied->has_copy && !copied->movable_only);
}

static void different_traits_under_one_name_are_refused_in_either_order(void **state) {
    (void)state;
    mica_type plain = data_type("Thing", 4, 4);
    enum { COUNT = 6 };
    mica_type with[COUNT] = {plain, plain, plain, plain, plain, plain};
    with[0].traits.transient = true;
    with[1].traits.hooks.destruct = destruct;
    with[2].traits.required[0] = mica_type_of(Frozen);
    with[3].traits.hooks.construct = construct_a;
    with[4].traits.hooks.move = move_hook;
    with[5].traits.hooks.copy = copy;
    static const char *const texts[COUNT] = {"transient",       "hooks.destruct", "required",
                                             "hooks.construct", "hooks.move",     "hooks.copy"};
    for (size_t i = 0; i < COUNT; i++) {
        mica_schema *schema = mica_schema_create(NULL);
        assert_int_equal(mica_schema_register(schema, &plain), 1);
        assert_refused(schema, &with[i], MICA_MISMATCH, texts[i]);
        mica_schema_release(schema);
        schema = mica_schema_create(NULL);
        assert_int_equal(mica_schema_register(schema, &with[i]), 1);
        assert_refused(schema, &plain, MICA_MISMATCH, texts[i]);
        mica_schema_release(schema);
    }
}

static void a_relation_is_marked(void **state) {
    const fixture *f = *state;
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Target));
    assert_false(mi_schema_type(f->schema, id)->is_relation);
    mi_schema_mark_relation(f->schema, id);
    mi_schema_mark_relation(f->schema, 999);
    assert_true(mi_schema_type(f->schema, id)->is_relation);
}

// Required types

static bool brings(const mica_schema *schema, const char *name, const char *other) {
    const mica_component_info *info = mica_schema_info(schema, mica_schema_find(schema, name));
    const mica_component id = mica_schema_find(schema, other);
    int32_t found = 0;
    for (int32_t i = 0; i < info->required_count; i++) {
        found += info->required[i] == id;
    }
    assert_in_range(found, 0, 1);
    return found == 1;
}

static void required_types_come_along_directly_or_not(void **state) {
    const fixture *f = *state;
    mica_type c = data_type("C", 4, 4);
    mica_type b = data_type("B", 4, 4);
    mica_type a = data_type("A", 4, 4);
    a.traits.required[0] = &b;
    b.traits.required[0] = &c;
    assert_int_equal(mica_schema_register(f->schema, &a), 1);
    assert_int_equal(mica_schema_count(f->schema), 3);
    assert_int_equal(mica_schema_info(f->schema, 1)->required_count, 2);
    assert_true(brings(f->schema, "A", "B") && brings(f->schema, "A", "C") && brings(f->schema, "B", "C"));
    assert_int_equal(mica_schema_info(f->schema, mica_schema_find(f->schema, "C"))->required_count, 0);
    // A type that comes later takes what those that were known bring.
    mica_type d = data_type("D", 4, 4);
    d.traits.required[0] = &c;
    d.traits.required[1] = &a;
    assert_int_equal(mica_schema_register(f->schema, &d), 4);
    assert_int_equal(mica_schema_info(f->schema, 4)->required_count, 3);
}

static void cycles_of_required_types_end(void **state) {
    const fixture *f = *state;
    mica_type a = data_type("A", 4, 4);
    mica_type b = data_type("B", 4, 4);
    mica_type c = data_type("C", 4, 4);
    a.traits.required[0] = &a;
    a.traits.required[1] = &b;
    b.traits.required[0] = &c;
    c.traits.required[0] = &a;
    c.traits.required[1] = &a;
    assert_int_equal(mica_schema_register(f->schema, &b), 1);
    static const char *const names[] = {"A", "B", "C"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(brings(f->schema, names[i], names[k]), i != k);
        }
    }
    mica_type again = copy_of(&a);
    assert_int_equal(mica_schema_register(f->schema, &again), mica_schema_find(f->schema, "A"));
}

static void eight_required_types_are_taken(void **state) {
    const fixture *f = *state;
    char names[MICA_REQUIRED_MAX][2];
    mica_type types[MICA_REQUIRED_MAX];
    mica_type all = data_type("All", 4, 4);
    for (uint32_t i = 0; i < MICA_REQUIRED_MAX; i++) {
        names[i][0] = (char)('a' + i);
        names[i][1] = '\0';
        types[i] = data_type(names[i], 4, 4);
        all.traits.required[i] = &types[i];
    }
    assert_int_equal(mica_schema_register(f->schema, &all), 1);
    assert_int_equal(mica_schema_info(f->schema, 1)->required_count, MICA_REQUIRED_MAX);
}

static void a_long_chain_of_required_types_is_closed(void **state) {
    const fixture *f = *state;
    enum { COUNT = 1000 };
    static char names[COUNT][16];
    static mica_type types[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        types[i] = data_type(names[i], 4, 4);
        types[i].traits.required[0] = i > 0 ? &types[i - 1] : NULL;
    }
    assert_int_equal(mica_schema_register(f->schema, &types[COUNT - 1]), 1);
    assert_int_equal(mica_schema_count(f->schema), COUNT);
    assert_int_equal(mica_schema_info(f->schema, 1)->required_count, COUNT - 1);
    assert_true(brings(f->schema, "t999", "t0"));
}

static void a_refused_required_type_leaves_nothing_behind(void **state) {
    const fixture *f = *state;
    mica_type bad = data_type("Bad", 6, 4);
    mica_type good = data_type("Good", 4, 4);
    mica_type top = data_type("Top", 4, 4);
    top.traits.required[0] = &good;
    top.traits.required[1] = &bad;
    assert_refused(f->schema, &top, MICA_BAD_TYPE, "Bad");
    assert_int_equal(mica_schema_find(f->schema, "Top"), 0);
    assert_int_equal(mica_schema_find(f->schema, "Good"), 0);
    assert_int_equal(top.cache, 0);
    assert_int_equal(mica_schema_register(f->schema, &good), 1);
}

static void a_required_type_without_a_name_is_refused(void **state) {
    const fixture *f = *state;
    mica_type bad = data_type(NULL, 4, 4);
    mica_type top = data_type("Top", 4, 4);
    mica_type plain = top;
    top.traits.required[0] = &bad;
    assert_refused(f->schema, &top, MICA_BAD_TYPE, "no name");
    assert_int_equal(mica_schema_register(f->schema, &plain), 1);
    assert_refused(f->schema, &top, MICA_MISMATCH, "required");
}

static void required_types_are_compared_with_what_is_known(void **state) {
    const fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Position));
    mica_type other = data_type("Position", 16, 4);
    mica_type top = data_type("Top", 4, 4);
    top.traits.required[0] = &other;
    assert_refused(f->schema, &top, MICA_MISMATCH, "Position");
    assert_int_equal(mica_schema_find(f->schema, "Top"), 0);
}

static void two_descriptors_of_one_required_type_are_compared(void **state) {
    const fixture *f = *state;
    mica_type one = data_type("Shared", 4, 4);
    mica_type two = data_type("Shared", 8, 4);
    mica_type middle = data_type("Middle", 4, 4);
    mica_type top = data_type("Top", 4, 4);
    top.traits.required[0] = &one;
    top.traits.required[1] = &middle;
    middle.traits.required[0] = &two;
    assert_refused(f->schema, &top, MICA_MISMATCH, "Shared");
    two = data_type("Shared", 4, 4);
    two.fields = "{ int n; }";
    assert_int_equal(mica_schema_register(f->schema, &top), 1);
    assert_non_null(mica_schema_fields(f->schema, mica_schema_find(f->schema, "Shared"), NULL));
}

// Limits

static void type_65536_is_refused_with_limit_count_and_name(void **state) {
    const fixture *f = *state;
    char name[16];
    for (uint32_t i = 1; i <= MICA_COMPONENT_MAX; i++) {
        snprintf(name, sizeof(name), "type%u", (unsigned)i);
        mica_type type = data_type(name, 4, 4);
        if (mica_schema_register(f->schema, &type) != i) {
            fail_msg("type %u: %s", (unsigned)i, mica_last_error());
        }
    }
    mica_type more = data_type("OneMore", 4, 4);
    assert_refused(f->schema, &more, MICA_LIMIT, "65535");
    assert_non_null(strstr(mica_last_error(), "65536"));
    assert_non_null(strstr(mica_last_error(), "OneMore"));
    assert_int_equal(mica_schema_find(f->schema, "type65535"), 65535);
    assert_string_equal(mi_schema_type(f->schema, 65535)->info.name, "type65535");
    assert_string_equal(mi_schema_type(f->schema, 256)->info.name, "type256");
}

// Two schemas, threads

static void two_schemas_with_opposite_orders_are_kept_apart(void **state) {
    (void)state;
    mica_schema *one = mica_schema_create(NULL);
    mica_schema *two = mica_schema_create(NULL);
    assert_int_equal(mica_schema_register(one, mica_type_of(Position)), 1);
    assert_int_equal(mica_schema_register(two, mica_type_of(Velocity)), 1);
    assert_int_equal(mica_schema_register(one, mica_type_of(Velocity)), 2);
    assert_int_equal(mica_schema_register(two, mica_type_of(Position)), 2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(mica_schema_register(one, mica_type_of(Position)), 1);
        assert_int_equal(mica_schema_register(two, mica_type_of(Position)), 2);
        assert_int_equal(mica_schema_register(two, mica_type_of(Velocity)), 1);
        assert_int_equal(mica_schema_register(one, mica_type_of(Velocity)), 2);
    }
    mica_schema_release(one);
    mica_schema_release(two);
}

static void a_new_schema_is_not_taken_for_one_that_is_gone(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    mica_schema_register(schema, mica_type_of(Velocity));
    assert_int_equal(mica_schema_register(schema, mica_type_of(Position)), 2);
    mica_schema_release(schema);
    schema = mica_schema_create(NULL);
    assert_int_equal(mica_schema_register(schema, mica_type_of(Position)), 1);
    mica_schema_release(schema);
}

typedef struct worker {
    mica_schema *schema;
    mica_type *first, *second;
    uint32_t wrong_count;
} worker;

static void *use_two_types(void *argument) {
    worker *work = argument;
    for (int i = 0; i < 20000; i++) {
        work->wrong_count += mica_schema_register(work->schema, work->first) != 1;
        work->wrong_count += mica_schema_register(work->schema, work->second) != 2;
    }
    return NULL;
}

static void two_threads_with_a_schema_each_share_descriptors(void **state) {
    (void)state;
    worker one = {mica_schema_create(NULL), mica_type_of(Position), mica_type_of(Velocity), 0};
    worker two = {mica_schema_create(NULL), mica_type_of(Velocity), mica_type_of(Position), 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_two_types, &one), 0);
    use_two_types(&two);
    pthread_join(thread, NULL);
    assert_int_equal(one.wrong_count, 0);
    assert_int_equal(two.wrong_count, 0);
    mica_schema_release(one.schema);
    mica_schema_release(two.schema);
}

enum { SHARED_TYPE_COUNT = 600 };

typedef struct sharer {
    mica_schema *schema;
    mica_type *types;
    bool backwards;
    uint32_t wrong_count;
} sharer;

// Registers types that another thread registers too, and looks each up by what it got, without waiting.
static void *register_shared(void *argument) {
    sharer *work = argument;
    for (uint32_t n = 0; n < SHARED_TYPE_COUNT; n++) {
        mica_type *type = &work->types[work->backwards ? SHARED_TYPE_COUNT - 1 - n : n];
        const mica_component id = mica_schema_register(work->schema, type);
        const mi_type *found = mi_schema_type(work->schema, id);
        work->wrong_count += found == NULL || strcmp(found->info.name, type->name) != 0;
        const mica_field *fields = mica_schema_fields(work->schema, id, NULL);
        work->wrong_count += fields == NULL || strcmp(fields->name, "n") != 0;
    }
    return NULL;
}

static void threads_that_share_a_schema_agree_on_ids(void **state) {
    (void)state;
    static char names[SHARED_TYPE_COUNT][16];
    static mica_type types[SHARED_TYPE_COUNT];
    for (int i = 0; i < SHARED_TYPE_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        types[i] = data_type(names[i], 4, 4);
        types[i].fields = "{ int n; }";
    }
    mica_schema *schema = mica_schema_create(NULL);
    sharer one = {schema, types, false, 0};
    sharer two = {schema, types, true, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, register_shared, &one), 0);
    register_shared(&two);
    pthread_join(thread, NULL);
    assert_int_equal(one.wrong_count, 0);
    assert_int_equal(two.wrong_count, 0);
    assert_int_equal(mica_schema_count(schema), SHARED_TYPE_COUNT);
    mica_schema_release(schema);
}

static void registering_again_takes_no_lock_and_no_memory(void **state) {
    fixture *f = *state;
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Position));
    const uint64_t calls = f->allocator.call_count;
    mi_lock_take(&f->schema->lock);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Position)), id);
    assert_ptr_equal(&mi_schema_type(f->schema, id)->info, mica_schema_info(f->schema, id));
    mi_lock_give(&f->schema->lock);
    assert_int_equal(f->allocator.call_count, calls);
}

// Failing memory

static void a_schema_that_cannot_be_made_leaves_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_schema_def def = {.allocator = test_allocator_hooks(&allocator)};
    test_allocator_fail_at(&allocator, 1);
    assert_null(mica_schema_create(&def));
    assert_true(test_allocator_fail_stop(&allocator));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    test_allocator_finish(&allocator);
}

static void every_failing_allocation_leaves_the_schema_as_it_was(void **state) {
    fixture *f = *state;
    mica_type bottom = {.name = "Bottom", .fields = "{ int32_t a[4], b; }", .size = 20, .align = 4};
    mica_type middle = {.name = "Middle", .fields = "{ A = 1, B }", .size = 4, .align = 4, .kind = MICA_KIND_ENUM};
    mica_type top = data_type("Top", 4, 4);
    middle.traits.required[0] = &bottom;
    top.traits.required[0] = &middle;
    top.traits.required[1] = mica_type_of(Frozen);
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_component id = mica_schema_register(f->schema, &top);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(id, 1);
            break;
        }
        assert_int_equal(id, 0);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_schema_count(f->schema), 0);
        assert_int_equal(mica_schema_find(f->schema, "Top"), 0);
        assert_int_equal(mica_schema_find(f->schema, "Bottom"), 0);
    }
    assert_true(n > 10);
    assert_int_equal(mica_schema_count(f->schema), 4);
    assert_int_equal(mica_schema_info(f->schema, 1)->required_count, 3);
}

static void failing_memory_does_not_half_adopt_fields(void **state) {
    fixture *f = *state;
    mica_type bare = data_type("Position", 12, 4);
    mica_type full = copy_of(mica_type_of(Position));
    const mica_component id = mica_schema_register(f->schema, &bare);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_component again = mica_schema_register(f->schema, &full);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(again, id);
            break;
        }
        assert_int_equal(again, 0);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_null(mica_schema_fields(f->schema, id, NULL));
    }
    assert_non_null(mica_schema_fields(f->schema, id, NULL));
}

static void failing_memory_is_told_from_other_fields(void **state) {
    fixture *f = *state;
    mica_type other = copy_of(mica_type_of(Position));
    other.fields = "{ float x; float y; float z; }";
    const mica_component id = mica_schema_register(f->schema, mica_type_of(Position));
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        const mica_component again = mica_schema_register(f->schema, &other);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(again, id);
            break;
        }
        assert_int_equal(again, 0);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
    assert_true(n > 2);
}

static void memory_is_counted(void **state) {
    fixture *f = *state;
    mica_schema_register(f->schema, mica_type_of(Position));
    const mica_memory_usage usage = mi_schema_memory(f->schema);
    assert_int_equal(usage.total, f->allocator.live_bytes);
    assert_int_equal(usage.bytes[MICA_MEMORY_SCHEMA], usage.total);
}

// A handler may ask the schema about what it was told.
static void look_up_in_handler(void *user, mica_log_level level, const char *text) {
    mica_schema **schema = user;
    (void)text;
    assert_int_equal(level, MICA_LOG_ERROR);
    assert_int_equal(mica_schema_find(*schema, "Position"), 1);
    *schema = NULL;
}

static void the_log_handler_is_called_without_the_lock(void **state) {
    (void)state;
    mica_schema *seen = NULL;
    mica_schema *schema = mica_schema_create(&(mica_schema_def){.log = {look_up_in_handler, &seen}});
    seen = schema;
    mica_schema_register(schema, mica_type_of(Position));
    mica_type other = data_type("Position", 16, 4);
    assert_int_equal(mica_schema_register(schema, &other), 0);
    assert_null(seen);
    assert_ptr_equal(schema->log.user, &seen);
    mica_schema_release(schema);
}

// Nothing says whom an entity that gets a required relation would be linked to.
static void a_relation_is_not_required(void **state) {
    fixture *f = *state;
    static mica_type follower = {.name = "Follower", .size = 4, .align = 4};
    follower.traits.required[0] = mica_type_of(mica_child_of);
    assert_int_equal(mica_schema_register(f->schema, &follower), 0);
    assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
    assert_non_null(strstr(mica_last_error(), "\"Follower\" requires \"ChildOf\""));
    assert_int_equal(mica_schema_count(f->schema), 0);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_relation_is_not_required),
        CASE(ids_are_dense_and_in_order_of_registration),
        CASE(a_type_is_found_by_its_name),
        CASE(info_says_what_was_declared),
        CASE(unknown_ids_are_said_to_be_unknown),
        CASE(calls_without_a_schema_or_type_are_refused),
        CASE(half_an_allocator_is_refused),
        CASE(a_schema_lives_until_its_last_reference),
        CASE(serials_differ_from_schema_to_schema),
        CASE(serials_end_before_they_repeat),
        CASE(names_of_up_to_1023_bytes_are_taken),
        CASE(a_name_of_1024_bytes_is_refused),
        CASE(a_type_without_a_name_is_refused),
        CASE(names_are_compared_by_their_bytes),
        CASE(sizes_and_alignments_out_of_range_are_refused),
        CASE(an_enumeration_has_the_size_of_an_integer),
        CASE(a_tag_with_data_or_hooks_is_refused),
        CASE(an_unknown_kind_is_refused),
        CASE(the_same_type_of_two_libraries_is_one),
        CASE(a_descriptor_may_vanish_afterwards),
        CASE(other_properties_under_a_known_name_are_refused_with_both),
        CASE(a_known_tag_with_an_alignment_is_refused),
        CASE(fields_of_other_words_for_the_same_are_accepted),
        CASE(other_names_of_an_enumeration_are_refused),
        CASE(fields_come_from_whichever_descriptor_has_them),
        CASE(adopted_fields_are_checked_too),
        CASE(the_first_hooks_stay),
        CASE(a_type_with_destruct_and_without_copy_is_move_only),
        CASE(different_traits_under_one_name_are_refused_in_either_order),
        CASE(a_relation_is_marked),
        CASE(required_types_come_along_directly_or_not),
        CASE(cycles_of_required_types_end),
        CASE(eight_required_types_are_taken),
        CASE(a_long_chain_of_required_types_is_closed),
        CASE(a_refused_required_type_leaves_nothing_behind),
        CASE(a_required_type_without_a_name_is_refused),
        CASE(required_types_are_compared_with_what_is_known),
        CASE(two_descriptors_of_one_required_type_are_compared),
        CASE(type_65536_is_refused_with_limit_count_and_name),
        CASE(two_schemas_with_opposite_orders_are_kept_apart),
        CASE(a_new_schema_is_not_taken_for_one_that_is_gone),
        CASE(two_threads_with_a_schema_each_share_descriptors),
        CASE(threads_that_share_a_schema_agree_on_ids),
        CASE(registering_again_takes_no_lock_and_no_memory),
        CASE(a_schema_that_cannot_be_made_leaves_nothing),
        CASE(every_failing_allocation_leaves_the_schema_as_it_was),
        CASE(failing_memory_does_not_half_adopt_fields),
        CASE(failing_memory_is_told_from_other_fields),
        CASE(memory_is_counted),
        CASE(the_log_handler_is_called_without_the_lock),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
