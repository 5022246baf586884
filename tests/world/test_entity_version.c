// Versions of entities and components: what raises them, what does not, and how far they say too much.
#include "world/world_fixture.h"

#include "world/world.h"

MICA_STRUCT_WITH(Ore, (.storage = MICA_TABLE), { int32_t grams; });
MICA_STRUCT_WITH(Sand, (.storage = MICA_TABLE), { int32_t grams; });
MICA_STRUCT_WITH(Gem, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 4), { int32_t carats; });
MICA_STRUCT_WITH(Clock, (.always_dirty = true), { int32_t now; });
MICA_TAG_WITH(Wet, (.storage = MICA_TABLE));
MICA_TAG_WITH(Dry, (.storage = MICA_POOL));

typedef struct fixture {
    watched_world w;
    mica_world *world;
    mica_component ore, sand, gem, wet, dry;
} fixture;

static int set_up(void **state) {
    static fixture f;
    watched_begin(&f.w);
    f.world = f.w.world;
    f.ore = mica_register(f.world, Ore);
    f.sand = mica_register(f.world, Sand);
    f.gem = mica_register(f.world, Gem);
    f.wet = mica_register(f.world, Wet);
    f.dry = mica_register(f.world, Dry);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    watched_end(&f->w);
    return 0;
}

// Later changes get a later version. The new one.
static uint64_t go_on(fixture *f) {
    assert_int_equal(mica_world_step(f->world, 1), MICA_OK);
    return mica_world_version(f->world);
}

static void a_component_has_the_version_of_its_last_change(void **state) {
    fixture *f = *state;
    const uint64_t made = go_on(f);
    const mica_entity entity =
        mica_spawn(f->world, mica_value_of(Ore, {1}), mica_value_of(Sand, {1}), mica_value_of(Gem, {1}));
    const mica_component components[] = {f->ore, f->sand, f->gem};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_entity_component_version(f->world, entity, components[i]), made);
    }
    for (int32_t i = 0; i < 3; i++) {
        const uint64_t set = go_on(f);
        const int32_t value = i;
        assert_int_equal(mica_entity_set(f->world, entity, components[i], &value), MICA_OK);
        assert_int_equal(mica_entity_component_version(f->world, entity, components[i]), set);
        assert_int_equal(mica_entity_version(f->world, entity), set);
        const uint64_t written = go_on(f);
        assert_non_null(mica_entity_get(f->world, entity, components[i]));
        assert_int_equal(mica_entity_version(f->world, entity), set);
        assert_non_null(mica_entity_get_write(f->world, entity, components[i]));
        assert_int_equal(mica_entity_component_version(f->world, entity, components[i]), written);
        assert_int_equal(mica_entity_version(f->world, entity), written);
    }
}

static void a_span_that_writes_raises_it(void **state) {
    fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Ore, {1}), mica_value_of(Gem, {1}));
    const uint64_t made = mica_world_version(f->world);
    const uint64_t written = go_on(f);
    mica_each (mica_query_of(f->world, mica_read(Ore), mica_write(Gem)), it) {
        assert_non_null(mica_read_of(it, Ore));
        assert_non_null(mica_write_of(it, Gem));
    }
    assert_int_equal(mica_entity_component_version(f->world, entity, f->ore), made);
    assert_int_equal(mica_entity_component_version(f->world, entity, f->gem), written);
    assert_int_equal(mica_entity_version(f->world, entity), written);
}

static void coming_to_a_table_raises_it_and_keeps_the_versions_of_values(void **state) {
    fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Ore, {1}));
    const uint64_t made = mica_world_version(f->world);
    const uint64_t tagged = go_on(f);
    assert_int_equal(mica_add(f->world, entity, Wet), MICA_OK);
    assert_int_equal(mica_entity_version(f->world, entity), tagged);
    assert_int_equal(mica_entity_component_version(f->world, entity, f->ore), made);
    const uint64_t removed = go_on(f);
    assert_int_equal(mica_remove(f->world, entity, Wet), MICA_OK);
    assert_int_equal(mica_entity_version(f->world, entity), removed);
    assert_int_equal(mica_entity_component_version(f->world, entity, f->ore), made);
}

static void neighbours_share_versions_by_chunk_and_by_page(void **state) {
    fixture *f = *state;
    const mica_column columns[] = {{.component = f->gem}, {.component = f->ore}};
    mica_entity entities[6];
    assert_int_equal(mica_entity_spawn_many(f->world, columns, 2, 6, entities), MICA_OK);
    const uint64_t made = mica_world_version(f->world);
    const uint64_t set = go_on(f);
    assert_int_equal(mica_set(f->world, entities[0], Gem, {2}), MICA_OK);
    assert_int_equal(mica_set(f->world, entities[0], Ore, {2}), MICA_OK);
    assert_int_equal(mica_entity_component_version(f->world, entities[3], f->gem), set);
    assert_int_equal(mica_entity_component_version(f->world, entities[4], f->gem), made); // on the next page
    assert_int_equal(mica_entity_component_version(f->world, entities[5], f->ore), set);  // in the same chunk
}

static void tags_and_entities_without_components_have_no_stamp(void **state) {
    fixture *f = *state;
    go_on(f);
    const mica_entity bare = mica_create(f->world);
    assert_int_equal(mica_entity_version(f->world, bare), 0);
    assert_int_equal(mica_entity_component_version(f->world, bare, f->ore), 0);
    const mica_entity tagged = mica_spawn(f->world, mica_tag(Wet), mica_tag(Dry));
    assert_int_equal(mica_entity_component_version(f->world, tagged, f->wet), 0);
    assert_int_equal(mica_entity_component_version(f->world, tagged, f->dry), 0);
    assert_int_equal(mica_entity_version(f->world, tagged), mica_world_version(f->world)); // it has a row
    assert_int_equal(mica_last_result(), MICA_OK);
}

static void what_is_always_dirty_has_just_changed(void **state) {
    fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Clock, {1}));
    const uint64_t now = go_on(f);
    assert_int_equal(mica_entity_component_version(f->world, entity, mica_register(f->world, Clock)), now);
    assert_int_equal(mica_entity_version(f->world, entity), now);
}

static void refusals_give_0_and_an_error(void **state) {
    fixture *f = *state;
    const mica_entity entity = mica_spawn(f->world, mica_value_of(Ore, {1}));
    assert_int_equal(mica_entity_component_version(f->world, entity, 9999), 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_destroy(f->world, entity), MICA_OK);
    mica_error_clear();
    assert_int_equal(mica_entity_version(f->world, entity), 0);
    assert_int_equal(mica_last_result(), MICA_STALE);
    mica_error_clear();
    assert_int_equal(mica_entity_component_version(f->world, entity, f->ore), 0);
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_int_equal(mica_entity_version(NULL, entity), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_component_has_the_version_of_its_last_change),
        CASE(a_span_that_writes_raises_it),
        CASE(coming_to_a_table_raises_it_and_keeps_the_versions_of_values),
        CASE(neighbours_share_versions_by_chunk_and_by_page),
        CASE(tags_and_entities_without_components_have_no_stamp),
        CASE(what_is_always_dirty_has_just_changed),
        CASE(refusals_give_0_and_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
