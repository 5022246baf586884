// Traits: what defaults come to, what contradicts is refused with its reason, descriptors of one name agree in all of
// them; and components that take over from another type.
#include "store/schema_fixture.h"
#include "store/traits.h"

#include <pthread.h>
#include <stdio.h>

#include <mica/hierarchy.h>

MICA_STRUCT(Place, { float x, y, z; });
MICA_STRUCT_WITH(Contact, (.storage = MICA_POOL, .toggle = true), { float depth; });
MICA_ENUM(Mood, {CALM, ANGRY});
MICA_TAG(Frozen);
MICA_NAMED(Home, Place);
MICA_NAMED_WITH(Goal, Place, (.storage = MICA_POOL, .stable = true));
MICA_NAMED(Touch, Contact);
MICA_NAMED_WITH(Graze, Touch, (.storage = MICA_TABLE));
MICA_NAMED(Temper, Mood);

static mica_type type_with(const char *name, uint32_t size, mica_traits traits) {
    return (mica_type){.name = name,
                       .size = size,
                       .align = size == 0 ? 0 : 1,
                       .traits = traits,
                       .kind = size == 0 ? MICA_KIND_TAG : MICA_KIND_STRUCT};
}

static bool construct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 1, (size_t)count * 4);
    return true;
}
static void destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    memset(values, 0, (size_t)count * 4);
}
static void move_hook(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * 4);
}
static bool attach(struct mica_world *world) {
    return world != NULL;
}

// Resolving

static void defaults_become_what_they_stand_for(void **state) {
    const fixture *f = *state;
    static const struct {
        uint32_t size;
        mica_traits traits;
        mica_layout layout;
        uint32_t page_size;
    } cases[] = {
        {4, {.storage = MICA_TABLE}, MICA_LAYOUT_DEFAULT, 0},
        {1000, {.storage = MICA_TABLE}, MICA_LAYOUT_DEFAULT, 0},
        {0, {.storage = MICA_TABLE}, MICA_LAYOUT_DEFAULT, 0},
        {0, {.storage = MICA_POOL}, MICA_LAYOUT_DEFAULT, 0},
        {1, {.storage = MICA_POOL}, MICA_PACKED, 0},
        {32, {.storage = MICA_POOL}, MICA_PACKED, 0},
        {33, {.storage = MICA_POOL}, MICA_PAGED, 1024},
        {65536, {.storage = MICA_POOL}, MICA_PAGED, 1024},
        {4, {.storage = MICA_POOL, .layout = MICA_PAGED}, MICA_PAGED, 1024},
        {1000, {.storage = MICA_POOL, .layout = MICA_PACKED}, MICA_PACKED, 0},
        {4, {.storage = MICA_POOL, .stable = true}, MICA_PAGED, 1024},
        {4, {.storage = MICA_POOL, .stable = true, .layout = MICA_PAGED}, MICA_PAGED, 1024},
        {4, {.storage = MICA_POOL, .page_size = 1}, MICA_PAGED, 1},
        {4, {.storage = MICA_POOL, .page_size = 65536}, MICA_PAGED, 65536},
        {1024, {.storage = MICA_POOL, .page_size = 65536}, MICA_PAGED, 65536},
    };
    char names[sizeof(cases) / sizeof(cases[0])][24];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(names[i], sizeof(names[i]), "case %zu", i);
        mica_type type = type_with(names[i], cases[i].size, cases[i].traits);
        const mica_component id = mica_schema_register(f->schema, &type);
        assert_int_equal(mica_last_result(), MICA_OK);
        const mica_component_info *info = mica_schema_info(f->schema, id);
        assert_int_equal(info->storage, cases[i].traits.storage);
        assert_int_equal(info->stable, cases[i].traits.stable);
        assert_int_equal(info->layout, cases[i].layout);
        assert_int_equal(info->page_size, cases[i].page_size);
        assert_int_equal(mi_schema_type(f->schema, id)->in_pool, cases[i].traits.storage == MICA_POOL);
    }
}

static void a_type_that_asks_for_no_storage_gets_that_of_the_build(void **state) {
    const fixture *f = *state;
    enum { COUNT = 200 };
    char names[COUNT][24];
    int pool_count = 0;
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        mica_type type = data_type(names[i], 4, 4);
        const mica_component id = mica_schema_register(f->schema, &type);
        pool_count += mica_schema_info(f->schema, id)->storage == MICA_POOL;
        type.cache = 0;
        assert_int_equal(mica_schema_register(f->schema, &type), id);
    }
    switch (MI_DEFAULT_STORAGE) {
    case MI_DEFAULT_POOL:
        assert_int_equal(pool_count, COUNT);
        break;
    case MI_DEFAULT_MIXED:
        assert_in_range(pool_count, COUNT / 4, COUNT * 3 / 4);
        break;
    default:
        assert_int_equal(pool_count, 0);
    }
}

static void relations_live_in_tables_whatever_the_default(void **state) {
    const fixture *f = *state;
    mica_type type = type_with("Linked", 4, (mica_traits){.hooks.attach = attach});
    const mica_component id = mica_schema_register(f->schema, &type);
    assert_int_equal(mica_schema_info(f->schema, id)->storage, MICA_TABLE);
    assert_int_equal(mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(mica_child_of)))->storage,
                     MICA_TABLE);
}

static void flags_stand_in_the_info(void **state) {
    const fixture *f = *state;
    mica_type plain = type_with("Plain", 4, (mica_traits){0});
    mica_type flagged =
        type_with("Flagged", 4, (mica_traits){.always_dirty = true, .toggle = true, .track_rows = true});
    mica_type tag = type_with("Tag", 0, (mica_traits){.toggle = true});
    const mica_component_info *info = mica_schema_info(f->schema, mica_schema_register(f->schema, &plain));
    assert_true(!info->always_dirty && !info->toggle && !info->stable && !info->track_rows);
    info = mica_schema_info(f->schema, mica_schema_register(f->schema, &flagged));
    assert_true(info->always_dirty && info->toggle && !info->stable && info->track_rows);
    info = mica_schema_info(f->schema, mica_schema_register(f->schema, &tag));
    assert_true(!info->always_dirty && info->toggle);
}

static bool copies_rows(const fixture *f, const char *name, uint32_t size, mica_traits traits) {
    mica_type type = type_with(name, size, traits);
    return mi_schema_type(f->schema, mica_schema_register(f->schema, &type))->copies_rows;
}

static void walks_copy_what_is_small_and_moved_by_bytes_and_written_by_the_library_alone(void **state) {
    const fixture *f = *state;
    assert_true(copies_rows(f, "a", MI_COPIED_SIZE_MAX, (mica_traits){0}));
    assert_false(copies_rows(f, "b", MI_COPIED_SIZE_MAX + 1, (mica_traits){0}));
    assert_false(copies_rows(f, "c", 4, (mica_traits){.always_dirty = true}));
    assert_false(copies_rows(f, "d", 4, (mica_traits){.hooks.move = move_hook}));
    assert_true(copies_rows(f, "e", 4, (mica_traits){.hooks.destruct = destruct}));
    assert_true(copies_rows(f, "f", 4, (mica_traits){.storage = MICA_POOL}));
}

static void a_descriptor_remembers_that_its_type_lives_in_a_pool(void **state) {
    const fixture *f = *state;
    mica_type table = type_with("Table", 4, (mica_traits){.storage = MICA_TABLE});
    mica_type pool = type_with("Pool", 4, (mica_traits){.storage = MICA_POOL});
    mica_type top = type_with("Top", 4, (mica_traits){.storage = MICA_TABLE, .required = {&table, &pool}});
    const uint64_t serial = (uint64_t)mi_schema_serial(f->schema) << 32;
    assert_int_equal(mica_schema_register(f->schema, &top), 1);
    assert_true(top.cache == (serial | 1));
    assert_true(table.cache == (serial | 2));
    assert_true(pool.cache == (serial | MICA_HEAD_POOL_BIT | 3));
    assert_int_equal(mica_schema_register(f->schema, &pool), 3);
    mica_type again = copy_of(&pool);
    assert_int_equal(mica_schema_register(f->schema, &again), 3);
    assert_true(again.cache == pool.cache);
}

static void a_type_knows_which_storages_come_along(void **state) {
    const fixture *f = *state;
    mica_type table = type_with("Table", 4, (mica_traits){.storage = MICA_TABLE});
    mica_type pool = type_with("Pool", 4, (mica_traits){.storage = MICA_POOL});
    mica_type over_pool = type_with("OverPool", 4, (mica_traits){.storage = MICA_TABLE, .required = {&pool}});
    mica_type over_table = type_with("OverTable", 4, (mica_traits){.storage = MICA_POOL, .required = {&table}});
    mica_type over_both = type_with("OverBoth", 4, (mica_traits){.required = {&over_pool}});
    const mi_type *type = mi_schema_type(f->schema, mica_schema_register(f->schema, &table));
    assert_true(!type->brings_table && !type->brings_pool);
    type = mi_schema_type(f->schema, mica_schema_register(f->schema, &over_table));
    assert_true(type->in_pool && type->brings_table && !type->brings_pool);
    type = mi_schema_type(f->schema, mica_schema_register(f->schema, &over_both));
    assert_true(type->brings_table && type->brings_pool);
    type = mi_schema_type(f->schema, mica_schema_find(f->schema, "OverPool"));
    assert_true(!type->in_pool && !type->brings_table && type->brings_pool);
}

// Refusing

static void what_contradicts_is_refused_with_its_reason(void **state) {
    const fixture *f = *state;
    static const struct {
        uint32_t size;
        mica_traits traits;
        const char *reason;
    } cases[] = {
        {4, {.storage = (mica_storage)3}, "\"Odd\" asks for a storage that is not known (3)"},
        {0, {.storage = (mica_storage)77}, "\"Odd\" asks for a storage that is not known (77)"},
        {4, {.storage = MICA_TABLE, .layout = (mica_layout)4}, "\"Odd\" asks for a layout that is not known (4)"},
        {4, {.storage = MICA_POOL, .layout = (mica_layout)4}, "\"Odd\" asks for a layout that is not known (4)"},
        {4, {.storage = MICA_TABLE, .stable = true}, "\"Odd\" lives in tables: the trait stable is for pools"},
        {4, {.storage = MICA_TABLE, .page_size = 64}, "lives in tables: the trait page_size is for pools"},
        {4, {.storage = MICA_TABLE, .layout = MICA_PACKED}, "in tables: the trait layout MICA_PACKED is for pools"},
        {4, {.storage = MICA_TABLE, .layout = MICA_PAGED}, "in tables: the trait layout MICA_PAGED is for pools"},
        {4,
         {.storage = MICA_TABLE, .layout = MICA_LANES, .stable = true},
         "lives in tables: the trait stable is for pools"},
        {4,
         {.storage = MICA_POOL, .stable = true, .layout = MICA_PACKED},
         "\"Odd\" is stable and packed: packed values move when their array grows"},
        {4,
         {.storage = MICA_POOL, .layout = MICA_PACKED, .page_size = 64},
         "\"Odd\" is packed and has no pages for the trait page_size (64)"},
        {4, {.storage = MICA_POOL, .page_size = 3}, "\"Odd\" has pages of 3 values, which is no power of two"},
        {4, {.storage = MICA_POOL, .page_size = UINT32_MAX}, "pages of 4294967295 values, which is no power of two"},
        {1, {.storage = MICA_POOL, .page_size = 131072}, "has pages of 131072 values; a page has at most 65536"},
        {1, {.storage = MICA_POOL, .page_size = 1u << 31}, "pages of 2147483648 values; a page has at most 65536"},
        {1025,
         {.storage = MICA_POOL, .page_size = 65536},
         "has pages of 65536 values of 1025 bytes; a page has at most 67108864"},
        {0, {.storage = MICA_POOL, .stable = true}, "\"Odd\" is a tag and has no values for the trait stable"},
        {0, {.storage = MICA_TABLE, .stable = true}, "is a tag and has no values for the trait stable"},
        {0, {.storage = MICA_POOL, .layout = MICA_PACKED}, "is a tag and has no values for the trait layout"},
        {0, {.storage = MICA_POOL, .layout = MICA_PAGED}, "is a tag and has no values for the trait layout"},
        {0, {.storage = MICA_TABLE, .layout = MICA_LANES}, "is a tag and has no values for the trait layout"},
        {0, {.storage = MICA_POOL, .page_size = 64}, "is a tag and has no values for the trait page_size"},
        {0, {.always_dirty = true}, "is a tag and has no values for the trait always_dirty"},
        {0, {.track_rows = true}, "is a tag and has no values for the trait track_rows"},
        {4, {.storage = MICA_POOL, .layout = MICA_LANES}, "lives in a pool: the layout MICA_LANES is for tables"},
        {4,
         {.storage = MICA_TABLE, .layout = MICA_LANES, .hooks = {.construct = construct}},
         "has hooks, which work on whole values: the layout MICA_LANES splits them"},
        {4, {.layout = MICA_LANES, .hooks = {.attach = attach}}, "has hooks, which work on whole values"},
        {4,
         {.storage = MICA_POOL, .hooks = {.attach = attach}},
         "\"Odd\" is a relation and cannot have the trait storage MICA_POOL"},
        {4, {.toggle = true, .hooks = {.attach = attach}}, "is a relation and cannot have the trait toggle"},
        {4,
         {.always_dirty = true, .hooks = {.attach = attach}},
         "is a relation and cannot have the trait always_dirty"},
        {4, {.stable = true, .hooks = {.attach = attach}}, "lives in tables: the trait stable is for pools"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mica_type type = type_with("Odd", cases[i].size, cases[i].traits);
        assert_refused(f->schema, &type, MICA_BAD_TYPE, cases[i].reason);
    }
}

static void lanes_are_for_structs(void **state) {
    const fixture *f = *state;
    mica_type type = type_with("Split", 4, (mica_traits){.storage = MICA_TABLE, .layout = MICA_LANES});
    type.kind = MICA_KIND_ENUM;
    assert_refused(f->schema, &type, MICA_BAD_TYPE, "the layout MICA_LANES is for structs, an array a field");
}

static void a_required_type_is_refused_for_its_traits_too(void **state) {
    const fixture *f = *state;
    mica_type bad = type_with("Bad", 4, (mica_traits){.storage = MICA_POOL, .page_size = 5});
    mica_type top = type_with("Top", 4, (mica_traits){.required = {&bad}});
    assert_refused(f->schema, &top, MICA_BAD_TYPE, "\"Bad\" has pages of 5 values");
}

// Agreeing

static void descriptors_of_one_name_agree_in_every_trait(void **state) {
    const fixture *f = *state;
    static const struct {
        mica_traits one, other;
        const char *trait;
    } cases[] = {
        {{.storage = MICA_TABLE}, {.storage = MICA_TABLE, .transient = true}, "transient"},
        {{.storage = MICA_TABLE}, {.storage = MICA_POOL}, "storage"},
        {{.storage = MICA_POOL, .layout = MICA_PAGED}, {.storage = MICA_POOL, .stable = true}, "stable"},
        {{.storage = MICA_POOL}, {.storage = MICA_POOL, .layout = MICA_PAGED}, "layout"},
        {{.storage = MICA_POOL, .page_size = 64}, {.storage = MICA_POOL, .page_size = 128}, "page_size"},
        {{.storage = MICA_POOL, .layout = MICA_PAGED}, {.storage = MICA_POOL, .page_size = 512}, "page_size"},
        {{.storage = MICA_TABLE}, {.storage = MICA_TABLE, .always_dirty = true}, "always_dirty"},
        {{.storage = MICA_TABLE}, {.storage = MICA_TABLE, .toggle = true}, "toggle"},
        {{.storage = MICA_TABLE}, {.storage = MICA_TABLE, .track_rows = true}, "track_rows"},
    };
    char names[2 * sizeof(cases) / sizeof(cases[0])][24];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const bool swapped = i % 2 != 0;
        snprintf(names[i], sizeof(names[i]), "case %zu", i);
        mica_type first = type_with(names[i], 4, swapped ? cases[i / 2].other : cases[i / 2].one);
        mica_type second = type_with(names[i], 4, swapped ? cases[i / 2].one : cases[i / 2].other);
        char expected[80];
        snprintf(expected, sizeof(expected), "\"%s\" is known and declared with different traits: %s", names[i],
                 cases[i / 2].trait);
        assert_int_not_equal(mica_schema_register(f->schema, &first), 0);
        assert_refused(f->schema, &second, MICA_MISMATCH, expected);
    }
}

static void a_default_agrees_with_what_it_stands_for(void **state) {
    const fixture *f = *state;
    static const struct {
        uint32_t size;
        mica_traits one, other;
    } cases[] = {
        {4, {.storage = MICA_POOL}, {.storage = MICA_POOL, .layout = MICA_PACKED}},
        {64, {.storage = MICA_POOL}, {.storage = MICA_POOL, .layout = MICA_PAGED}},
        {64, {.storage = MICA_POOL, .page_size = 1024}, {.storage = MICA_POOL}},
        {4, {.storage = MICA_POOL, .stable = true}, {.storage = MICA_POOL, .stable = true, .page_size = 1024}},
#if !MI_DEFAULT_STORAGE
        {4, {.storage = MICA_TABLE}, {0}},
#endif
    };
    char names[sizeof(cases) / sizeof(cases[0])][24];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(names[i], sizeof(names[i]), "case %zu", i);
        mica_type first = type_with(names[i], cases[i].size, cases[i].one);
        mica_type second = type_with(names[i], cases[i].size, cases[i].other);
        const mica_component id = mica_schema_register(f->schema, &first);
        assert_int_not_equal(id, 0);
        assert_int_equal(mica_schema_register(f->schema, &second), id);
    }
}

// Taking over from another type

static void assert_has_fields_of_place(const mica_schema *schema, mica_component id) {
    int32_t count = 0;
    const mica_field *fields = mica_schema_fields(schema, id, &count);
    assert_int_equal(count, 3);
    assert_string_equal(fields[2].name, "z");
    assert_int_equal(fields[2].offset, 8);
}

static void a_named_type_is_a_component_of_its_own(void **state) {
    const fixture *f = *state;
    const mica_component home = mica_schema_register(f->schema, mica_type_of(Home));
    assert_int_equal(mica_schema_count(f->schema), 1);
    const mica_component place = mica_schema_register(f->schema, mica_type_of(Place));
    const mica_component goal = mica_schema_register(f->schema, mica_type_of(Goal));
    assert_true(home != place && place != goal && goal != home);
    assert_int_equal(mica_schema_find(f->schema, "Home"), home);
    assert_int_equal(mica_schema_find(f->schema, "Goal"), goal);
    const Home value = {.z = 3};
    assert_int_equal(mica_schema_info(f->schema, home)->size, sizeof(value));
    assert_int_equal(mica_schema_info(f->schema, home)->align, _Alignof(Place));
    assert_has_fields_of_place(f->schema, home);
    assert_has_fields_of_place(f->schema, goal);
    assert_int_equal(mica_schema_register(f->schema, mica_type_of(Home)), home);
    assert_int_equal(mica_schema_count(f->schema), 3);
}

static void a_named_type_has_the_traits_of_the_other_or_its_own(void **state) {
    const fixture *f = *state;
    const mica_component_info *info = mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(Touch)));
    assert_true(info->storage == MICA_POOL && info->toggle && info->layout == MICA_PACKED);
    info = mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(Graze)));
    assert_true(info->storage == MICA_TABLE && !info->toggle && info->size == sizeof(Contact));
    info = mica_schema_info(f->schema, mica_schema_register(f->schema, mica_type_of(Goal)));
    assert_true(info->storage == MICA_POOL && info->stable && info->layout == MICA_PAGED);
}

static void an_enumeration_goes_by_several_names(void **state) {
    const fixture *f = *state;
    int32_t count = 0;
    const mica_component temper = mica_schema_register(f->schema, mica_type_of(Temper));
    const mica_enumerator *names = mica_schema_enumerators(f->schema, temper, &count);
    assert_int_equal(count, 2);
    assert_string_equal(names[ANGRY].name, "ANGRY");
}

static void a_named_type_agrees_with_one_that_spells_it_out(void **state) {
    const fixture *f = *state;
    const mica_component home = mica_schema_register(f->schema, mica_type_of(Home));
    mica_type spelled = copy_of(mica_type_of(Place));
    spelled.name = "Home";
    assert_int_equal(mica_schema_register(f->schema, &spelled), home);
    spelled.cache = 0;
    spelled.traits.transient = true;
    assert_refused(f->schema, &spelled, MICA_MISMATCH,
                   "\"Home\" is known and declared with different traits: transient");
    mica_type other = {.name = "Home", .same_as = mica_type_of(Contact), .same_traits = true};
    assert_refused(f->schema, &other, MICA_MISMATCH, "\"Home\" is known with 12 bytes and declared with 4");
}

static void a_type_can_require_a_named_one(void **state) {
    const fixture *f = *state;
    mica_type top = type_with("Top", 4, (mica_traits){.required = {mica_type_of(Touch), mica_type_of(Home)}});
    const mica_component id = mica_schema_register(f->schema, &top);
    assert_int_equal(mica_schema_info(f->schema, id)->required_count, 2);
    assert_true(mi_schema_type(f->schema, id)->brings_pool);
    assert_has_fields_of_place(f->schema, mica_schema_find(f->schema, "Home"));
    assert_int_equal(mica_schema_find(f->schema, "Place"), 0);
}

static void types_that_are_the_same_in_a_circle_are_refused(void **state) {
    const fixture *f = *state;
    mica_type a = {.name = "A"};
    mica_type b = {.name = "B", .same_as = &a};
    a.same_as = &b;
    assert_refused(f->schema, &a, MICA_BAD_TYPE, "\"A\" is the same as another type over more than 64 types");
    mica_type chain[65];
    chain[0] = *mica_type_of(Place);
    for (int i = 1; i < 65; i++) {
        chain[i] = (mica_type){.name = "Last", .same_as = &chain[i - 1], .same_traits = true};
    }
    const mica_component last = mica_schema_register(f->schema, &chain[64]);
    assert_int_equal(mica_schema_info(f->schema, last)->size, sizeof(Place));
}

// Names that come up at run time

static void a_name_makes_a_component_in_either_storage(void **state) {
    const fixture *f = *state;
    mica_type *place = mica_type_of(Place);
    place->cache = 0;
    char name[] = "Spawn";
    const mica_component spawn =
        mica_schema_register_named(f->schema, place, name, &(mica_traits){.storage = MICA_TABLE});
    name[0] = '?';
    const mica_component exit_id =
        mica_schema_register_named(f->schema, place, "Exit", &(mica_traits){.storage = MICA_POOL, .transient = true});
    assert_true(spawn != 0 && exit_id != 0 && spawn != exit_id);
    assert_int_equal(mica_schema_find(f->schema, "Spawn"), spawn);
    assert_int_equal(mica_schema_find(f->schema, "Place"), 0);
    assert_int_equal(mica_schema_info(f->schema, spawn)->storage, MICA_TABLE);
    assert_int_equal(mica_schema_info(f->schema, exit_id)->storage, MICA_POOL);
    assert_true(mica_schema_info(f->schema, exit_id)->transient);
    assert_has_fields_of_place(f->schema, spawn);
    assert_has_fields_of_place(f->schema, exit_id);
    assert_true(place->cache == 0);
}

static void without_traits_a_name_has_those_of_the_type(void **state) {
    const fixture *f = *state;
    mica_type need = data_type("Need", 4, 4);
    mica_type type = type_with(
        "Type", 4,
        (mica_traits){.storage = MICA_POOL, .stable = true, .required = {&need}, .hooks = {.destruct = destruct}});
    const mica_component id = mica_schema_register_named(f->schema, &type, "Other", NULL);
    const mica_component_info *info = mica_schema_info(f->schema, id);
    assert_true(info->storage == MICA_POOL && info->stable && info->hooks.destruct == destruct);
    assert_int_equal(info->required_count, 1);
}

static void hooks_come_along_unless_others_are_given(void **state) {
    const fixture *f = *state;
    const mica_type type = type_with("Type", 4, (mica_traits){.transient = true, .hooks = {.destruct = destruct}});
    const mica_component_info *info =
        mica_schema_info(f->schema, mica_schema_register_named(f->schema, &type, "A", &(mica_traits){.toggle = true}));
    assert_true(info->hooks.destruct == destruct && info->toggle && !info->transient);
    info = mica_schema_info(f->schema, mica_schema_register_named(f->schema, &type, "B",
                                                                  &(mica_traits){.hooks = {.construct = construct}}));
    assert_true(info->hooks.destruct == NULL && info->hooks.construct == construct);
}

static void one_tag_makes_many(void **state) {
    const fixture *f = *state;
    for (int i = 0; i < 1000; i++) {
        char name[24];
        snprintf(name, sizeof(name), "team %d", i);
        const mica_traits traits = {.storage = i % 2 == 0 ? MICA_TABLE : MICA_POOL};
        assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Frozen), name, &traits), i + 1);
    }
    const mica_component_info *info = mica_schema_info(f->schema, mica_schema_find(f->schema, "team 501"));
    assert_true(info->kind == MICA_KIND_TAG && info->size == 0 && info->storage == MICA_POOL);
}

static void a_name_that_is_known_must_agree(void **state) {
    const fixture *f = *state;
    const mica_traits in_pool = {.storage = MICA_POOL};
    const mica_traits in_table = {.storage = MICA_TABLE};
    const mica_component id = mica_schema_register_named(f->schema, mica_type_of(Place), "Exit", &in_pool);
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Place), "Exit", &in_pool), id);
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Goal), "Exit", &in_pool), id);
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Place), "Exit", &in_table), 0);
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "\"Exit\" is known and declared with different traits: storage"));
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Frozen), "Exit", &in_pool), 0);
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
    assert_int_equal(mica_schema_count(f->schema), 1);
}

static void what_cannot_be_named_is_refused(void **state) {
    const fixture *f = *state;
    const mica_traits odd = {.storage = MICA_POOL, .page_size = 7};
    static const char *const call = "mica_schema_register_named";
    assert_int_equal(mica_schema_register_named(NULL, mica_type_of(Place), "A", NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_schema_register_named(f->schema, NULL, "A", NULL), 0);
    assert_non_null(strstr(mica_last_error(), "no type is given"));
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Place), NULL, NULL), 0);
    assert_non_null(strstr(mica_last_error(), "no name is given"));
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Place), "", NULL), 0);
    assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
    assert_non_null(strstr(mica_last_error(), "a type that is the same as \"Place\" has no name"));
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(Place), "A", &odd), 0);
    assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
    assert_non_null(strstr(mica_last_error(), "\"A\" has pages of 7 values"));
    assert_non_null(strstr(mica_last_error(), call));
    assert_int_equal(mica_schema_register_named(f->schema, mica_type_of(mica_child_of), "A", NULL), 0);
    assert_int_equal(mica_last_result(), MICA_BAD_TYPE);
    assert_non_null(strstr(mica_last_error(), "\"A\" would be a second name for a relation"));
    assert_int_equal(mica_schema_count(f->schema), 0);
}

static void a_name_that_finds_no_memory_leaves_the_schema_as_it_was(void **state) {
    fixture *f = *state;
    mica_type need = data_type("Need", 4, 4);
    mica_type type = {.name = "Type", .fields = "{ int32_t a; }", .size = 4, .align = 4, .traits.required = {&need}};
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&f->allocator, n);
        mica_error_clear();
        const mica_component id = mica_schema_register_named(f->schema, &type, "Other", NULL);
        if (!test_allocator_fail_stop(&f->allocator)) {
            assert_int_equal(id, 1);
            break;
        }
        assert_int_equal(id, 0);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_schema_count(f->schema), 0);
        assert_int_equal(mica_schema_find(f->schema, "Other"), 0);
    }
    assert_true(n > 4);
}

enum { SHARED_NAME_COUNT = 300 };

// Both threads come up with the same names.
static void *register_names(void *argument) {
    mica_schema *schema = argument;
    uintptr_t wrong_count = 0;
    for (int i = 0; i < SHARED_NAME_COUNT; i++) {
        char name[24];
        snprintf(name, sizeof(name), "n%d", i);
        const mica_component id = mica_schema_register_named(schema, mica_type_of(Contact), name, NULL);
        wrong_count += id == 0 || strcmp(mica_schema_info(schema, id)->name, name) != 0;
        wrong_count += mica_schema_register(schema, mica_type_of(Contact)) == 0;
    }
    return (void *)wrong_count;
}

static void threads_agree_on_names(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, register_names, schema), 0);
    assert_null(register_names(schema));
    void *wrong = NULL;
    pthread_join(thread, &wrong);
    assert_null(wrong);
    assert_int_equal(mica_schema_count(schema), SHARED_NAME_COUNT + 1);
    mica_schema_release(schema);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(defaults_become_what_they_stand_for),
        CASE(a_type_that_asks_for_no_storage_gets_that_of_the_build),
        CASE(relations_live_in_tables_whatever_the_default),
        CASE(flags_stand_in_the_info),
        CASE(walks_copy_what_is_small_and_moved_by_bytes_and_written_by_the_library_alone),
        CASE(a_descriptor_remembers_that_its_type_lives_in_a_pool),
        CASE(a_type_knows_which_storages_come_along),
        CASE(what_contradicts_is_refused_with_its_reason),
        CASE(lanes_are_for_structs),
        CASE(a_required_type_is_refused_for_its_traits_too),
        CASE(descriptors_of_one_name_agree_in_every_trait),
        CASE(a_default_agrees_with_what_it_stands_for),
        CASE(a_named_type_is_a_component_of_its_own),
        CASE(a_named_type_has_the_traits_of_the_other_or_its_own),
        CASE(an_enumeration_goes_by_several_names),
        CASE(a_named_type_agrees_with_one_that_spells_it_out),
        CASE(a_type_can_require_a_named_one),
        CASE(types_that_are_the_same_in_a_circle_are_refused),
        CASE(a_name_makes_a_component_in_either_storage),
        CASE(without_traits_a_name_has_those_of_the_type),
        CASE(hooks_come_along_unless_others_are_given),
        CASE(one_tag_makes_many),
        CASE(a_name_that_is_known_must_agree),
        CASE(what_cannot_be_named_is_refused),
        CASE(a_name_that_finds_no_memory_leaves_the_schema_as_it_was),
        CASE(threads_agree_on_names),
    };
    return cmocka_run_group_tests_name("traits", tests, NULL, NULL);
}
