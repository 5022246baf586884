// Pools through their public face: arrays, positions, room, order, groups, and what is refused.
#include "world/world_fixture.h"

#include "world/world.h"

#include <stdlib.h>

MICA_STRUCT_WITH(Mass, (.storage = MICA_POOL, .layout = MICA_PACKED), { int32_t kilograms; });
MICA_STRUCT_WITH(Shape, (.storage = MICA_POOL, .page_size = 8), { int32_t corners[20]; });
MICA_STRUCT_WITH(Contact, (.storage = MICA_POOL, .stable = true, .page_size = 8), { int32_t depth; });
MICA_TAG_WITH(Awake, (.storage = MICA_POOL));
MICA_TAG_WITH(Hit, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Room, (.storage = MICA_TABLE), { int32_t number; });

static int32_t moved_count; // of values of Parcel

static void parcel_move(void *to, void *from, int32_t count, const mica_hook_context *context) {
    (void)context;
    memcpy(to, from, (size_t)count * sizeof(int32_t));
    moved_count += count;
}

typedef struct Parcel {
    int32_t number;
} Parcel;
MICA_COMPONENT_WITH(Parcel, (.storage = MICA_POOL, .hooks = {.move = parcel_move}));

#define ID(T) mica_world_register(w.world, mica_type_of(T))

static mica_entity create_with_mass(mica_world *world, int32_t kilograms) {
    const mica_entity entity = mica_create(world);
    assert_int_equal(mica_set(world, entity, Mass, {kilograms}), MICA_OK);
    return entity;
}

static void create_masses(mica_world *world, const int32_t *kilograms, mica_entity *entities, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        entities[i] = create_with_mass(world, kilograms[i]);
    }
}

static int32_t mass_at(const mica_pool_view *view, int32_t position) {
    return ((const Mass *)mica_pool_at(view, position))->kilograms;
}

static int compare_masses(const mica_element *a, const mica_element *b, void *user) {
    int32_t *compared_count = user;
    if (compared_count != NULL) {
        ++*compared_count;
    }
    const int32_t mass_a = ((const Mass *)a->value)->kilograms;
    const int32_t mass_b = ((const Mass *)b->value)->kilograms;
    return (mass_a > mass_b) - (mass_a < mass_b);
}

static int compare_entities(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return (a->entity.bits > b->entity.bits) - (a->entity.bits < b->entity.bits);
}

// Arrays

static void a_view_shows_the_arrays_of_a_packed_pool(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {5, 6, 7};
    mica_entity entities[3];
    create_masses(w.world, masses, entities, 3);
    const mica_pool_view view = mica_pool_read(w.world, ID(Mass));
    assert_int_equal(view.count, 3);
    assert_int_equal(view.live_count, 3);
    assert_int_equal(view.value_size, sizeof(Mass));
    assert_int_equal(view.page_count, 1);
    assert_true(view.contiguous);
    assert_memory_equal(view.entities, entities, sizeof(entities));
    assert_memory_equal(view.pages[0], masses, sizeof(masses));
    assert_int_equal(mica_pool_count(w.world, ID(Mass)), 3);
    watched_end(&w);
}

static void a_view_shows_the_pages_of_a_paged_pool(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 20; i++) {
        const mica_entity entity = mica_create(w.world);
        assert_int_equal(mica_set(w.world, entity, Shape, {{i}}), MICA_OK);
    }
    const mica_pool_view view = mica_pool_read(w.world, ID(Shape));
    assert_int_equal(view.count, 20);
    assert_int_equal(view.page_size, 8);
    assert_int_equal(view.page_count, 3);
    assert_false(view.contiguous);
    for (int32_t i = 0; i < view.count; i++) {
        const Shape *page = view.pages[(uint32_t)i / view.page_size];
        const Shape *value = &page[(uint32_t)i % view.page_size];
        assert_int_equal(value->corners[0], i);
        assert_ptr_equal(mica_pool_at(&view, i), value);
        assert_ptr_equal(mica_get(w.world, view.entities[i], Shape), value);
    }
    watched_end(&w);
}

static void a_view_of_a_tag_has_entities_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    assert_int_equal(mica_add(w.world, entity, Awake), MICA_OK);
    const mica_pool_view view = mica_pool_read(w.world, ID(Awake));
    assert_int_equal(view.count, 1);
    assert_entity_equal(view.entities[0], entity);
    assert_null(view.pages);
    assert_int_equal(view.page_count, 0);
    assert_int_equal(view.value_size, 0);
    assert_false(view.contiguous);
    assert_int_equal(mica_pool_write(w.world, ID(Awake)).count, 1);
    watched_end(&w);
}

static void a_view_of_a_stable_pool_shows_its_tombstones(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[3];
    for (int32_t i = 0; i < 3; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Contact, {i}));
    }
    assert_int_equal(mica_remove(w.world, entities[1], Contact), MICA_OK);
    const mica_pool_view view = mica_pool_read(w.world, ID(Contact));
    assert_int_equal(view.count, 3);
    assert_int_equal(view.live_count, 2);
    assert_entity_equal(view.entities[0], entities[0]);
    assert_true(mica_entity_is_placeholder(view.entities[1]));
    assert_entity_equal(view.entities[2], entities[2]);
    assert_int_equal(mica_pool_count(w.world, ID(Contact)), 2);
    watched_end(&w);
}

static void writing_counts_every_page_as_changed_and_reading_none(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 20; i++) {
        mica_spawn(w.world, mica_value_of(Shape, {{i}}));
    }
    const mi_pool *pool = mi_store_find_pool(&w.world->store, ID(Shape));
    const uint64_t before = w.world->store.version++;
    mica_pool_read(w.world, ID(Shape));
    for (uint32_t page = 0; page < 3; page++) {
        assert_true(pool->stamps[page] == before);
    }
    const mica_pool_view view = mica_pool_write(w.world, ID(Shape));
    ((Shape *)mica_pool_at(&view, 13))->corners[0] = 99;
    for (uint32_t page = 0; page < 3; page++) {
        assert_true(pool->stamps[page] == before + 1);
    }
    assert_int_equal(mica_get(w.world, view.entities[13], Shape)->corners[0], 99);
    watched_end(&w);
}

static void a_view_does_not_show_whether_a_pool_was_in_use_before(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_type *const types[] = {mica_type_of(Mass), mica_type_of(Shape), mica_type_of(Contact), mica_type_of(Awake)};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const mica_component component = mica_world_register(w.world, types[i]);
        for (int32_t use = 0; use < 3; use++) {
            const mica_pool_view view =
                use == 0 ? mica_pool_write(w.world, component) : mica_pool_read(w.world, component);
            assert_int_equal(view.count | view.live_count | view.page_count, 0);
            assert_int_equal(view.page_size | view.value_size, 0);
            assert_true(view.entities == NULL && view.pages == NULL && !view.contiguous);
            if (use == 0) {
                const mica_term term = {.component = component, .use = MICA_USE_WITH};
                assert_int_equal(mica_query_count(mica_query_find(w.world, &term, 1)), 0); // makes it
            } else {
                const mica_entity entity = mica_create(w.world);
                assert_int_equal(mica_entity_add(w.world, entity, component, NULL), MICA_OK);
                assert_int_equal(mica_pool_read(w.world, component).count, 1);
                assert_int_equal(mica_entity_remove(w.world, entity, component), MICA_OK);
            }
        }
    }
    watched_end(&w);
}

static void a_pool_that_nobody_is_in_is_empty_everywhere(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    mica_error_clear();
    assert_int_equal(mica_pool_read(w.world, ID(Mass)).count, 0);
    assert_null(mica_pool_write(w.world, ID(Mass)).entities);
    assert_int_equal(mica_pool_count(w.world, ID(Mass)), 0);
    assert_int_equal(mica_pool_position(w.world, ID(Mass), entity), -1);
    assert_null_entity(mica_pool_entity_of(w.world, ID(Mass), &w));
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_int_equal(mica_pool_shrink(w.world, ID(Mass)), MICA_OK);
    assert_int_equal(mica_pool_compact(w.world, ID(Mass)), MICA_OK);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_OK);
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Shape)), MICA_OK);
    watched_end(&w);
}

static void what_has_no_pool_is_refused_by_name(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_component room = ID(Room);
    const mica_component unknown = 999;
    const mica_component mass = ID(Mass);
    mica_entity entity = mica_create(w.world);

    assert_int_equal(mica_pool_read(w.world, room).count, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("Room lives in tables");
    assert_int_equal(mica_pool_write(w.world, unknown).count, 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_said("999");
    mica_error_clear();
    assert_int_equal(mica_pool_count(w.world, room), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_pool_byte_size(w.world, room), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_pool_position(w.world, unknown, entity), -1);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_null_entity(mica_pool_entity_of(w.world, room, &entity));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_pool_reserve(w.world, room, 1), MICA_INVALID);
    assert_int_equal(mica_pool_reserve(w.world, unknown, 1), MICA_UNKNOWN);
    assert_int_equal(mica_pool_shrink(w.world, room), MICA_INVALID);
    assert_int_equal(mica_pool_compact(w.world, unknown), MICA_UNKNOWN);
    assert_int_equal(mica_pool_sort(w.world, room, compare_masses, NULL), MICA_INVALID);
    assert_int_equal(mica_pool_follow(w.world, mass, room), MICA_INVALID);
    assert_int_equal(mica_pool_follow(w.world, mass, unknown), MICA_UNKNOWN);
    assert_int_equal(mica_pool_follow(w.world, 0, mass), MICA_UNKNOWN);

    assert_int_equal(mica_pool_read(NULL, mass).count, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_pool_sort(NULL, mass, compare_masses, NULL), MICA_INVALID);
    assert_int_equal(mica_pool_reserve(NULL, mass, 1), MICA_INVALID);
    assert_int_equal(mica_pool_position(NULL, mass, entity), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    watched_end(&w);
}

// Positions and addresses

static void arrays_show_what_an_open_walk_has_written_to_copies(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[3];
    create_masses(w.world, (const int32_t[]){1, 2, 3}, entities, 3);
    assert_int_equal(mica_set(w.world, entities[2], Shape, {{0}}), MICA_OK);
    assert_int_equal(mica_set(w.world, entities[0], Shape, {{0}}), MICA_OK);
    mica_each (mica_query_of(w.world, mica_write(Mass), mica_read(Shape)), it) {
        Mass *masses = mica_write_of(it, Mass);
        const mica_pool_view before = mica_pool_read(w.world, ID(Mass));
        assert_ptr_not_equal(&masses[0], mica_pool_at(&before, 2));
        masses[0].kilograms = 30;
        const mica_pool_view read = mica_pool_read(w.world, ID(Mass));
        assert_int_equal(mass_at(&read, 2), 30);
        masses[1].kilograms = 10;
        const mica_pool_view written = mica_pool_write(w.world, ID(Mass));
        assert_int_equal(mass_at(&written, 0), 10);
        ((Mass *)mica_pool_at(&written, 0))->kilograms = 100;
    }
    assert_int_equal(mica_get(w.world, entities[0], Mass)->kilograms, 100); // no older copy comes over it
    watched_end(&w);
}

static void positions_are_those_of_the_arrays(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {5, 6, 7};
    mica_entity entities[3];
    create_masses(w.world, masses, entities, 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_pool_position(w.world, ID(Mass), entities[i]), i);
    }
    assert_int_equal(mica_remove(w.world, entities[0], Mass), MICA_OK);
    assert_int_equal(mica_pool_position(w.world, ID(Mass), entities[2]), 0); // the last filled the hole
    mica_error_clear();
    assert_int_equal(mica_pool_position(w.world, ID(Mass), entities[0]), -1);
    assert_int_equal(mica_last_result(), MICA_OK);
    mica_destroy(w.world, entities[2]);
    assert_int_equal(mica_pool_position(w.world, ID(Mass), entities[2]), -1);
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_said("mica_pool_position");
    watched_end(&w);
}

static void an_address_leads_to_its_entity_after_others_were_erased(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity first = create_with_mass(w.world, 1);
    const mica_entity second = create_with_mass(w.world, 2);
    const Mass *end = mica_get(w.world, second, Mass) + 1;
    assert_int_equal(mica_remove(w.world, first, Mass), MICA_OK);
    assert_entity_equal(mica_pool_entity_of(w.world, ID(Mass), mica_get(w.world, second, Mass)), second);
    mica_error_clear();
    // Where the last one stood there is nobody now.
    assert_null_entity(mica_pool_entity_of(w.world, ID(Mass), end - 1));
    assert_null_entity(mica_pool_entity_of(w.world, ID(Mass), end));
    assert_null_entity(mica_pool_entity_of(w.world, ID(Mass), NULL));
    assert_int_equal(mica_last_result(), MICA_OK);

    mica_entity contacts[3];
    for (int32_t i = 0; i < 3; i++) {
        contacts[i] = mica_spawn(w.world, mica_value_of(Contact, {i}));
    }
    const Contact *values[3] = {mica_get(w.world, contacts[0], Contact), mica_get(w.world, contacts[1], Contact),
                                mica_get(w.world, contacts[2], Contact)};
    assert_int_equal(mica_remove(w.world, contacts[0], Contact), MICA_OK);
    assert_null_entity(mica_pool_entity_of(w.world, ID(Contact), values[0]));
    assert_entity_equal(mica_pool_entity_of(w.world, ID(Contact), values[1]), contacts[1]);
    assert_entity_equal(mica_pool_entity_of(w.world, ID(Contact), values[2]), contacts[2]);
    watched_end(&w);
}

static void every_address_in_a_value_leads_to_its_entity_after_random_changes(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    test_random random = {.state = 77};
    mica_entity entities[60];
    for (int32_t i = 0; i < 60; i++) {
        entities[i] = mica_create(w.world);
    }
    for (int32_t step = 0; step < 600; step++) {
        const mica_entity entity = entities[test_random_below(&random, 60)];
        if (mica_has(w.world, entity, Shape)) {
            mica_remove(w.world, entity, Shape);
            mica_remove(w.world, entity, Contact);
        } else {
            mica_set(w.world, entity, Shape, {{step}});
            mica_set(w.world, entity, Contact, {step});
        }
        if (step % 10 != 0) {
            continue;
        }
        for (int32_t i = 0; i < 60; i++) {
            const Shape *shape = mica_has(w.world, entities[i], Shape) ? mica_get(w.world, entities[i], Shape) : NULL;
            if (shape != NULL) {
                const uint8_t *inside = (const uint8_t *)shape + sizeof(Shape) - 1;
                assert_entity_equal(mica_pool_entity_of(w.world, ID(Shape), inside), entities[i]);
                const Contact *contact = mica_get(w.world, entities[i], Contact);
                assert_entity_equal(mica_pool_entity_of(w.world, ID(Contact), contact), entities[i]);
            }
        }
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void a_stable_value_keeps_its_address_until_it_is_removed(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 200 };
    mica_entity entities[COUNT];
    const Contact *addresses[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Contact, {i}));
        addresses[i] = mica_get(w.world, entities[i], Contact);
    }
    for (int32_t i = 0; i < COUNT; i += 3) {
        mica_destroy(w.world, entities[i]);
    }
    for (int32_t i = 0; i < COUNT; i++) {
        if (i % 3 != 0) {
            assert_ptr_equal(mica_get(w.world, entities[i], Contact), addresses[i]);
            assert_int_equal(addresses[i]->depth, i);
        }
    }
    // The newest tombstone is filled first.
    const int32_t newest = (COUNT - 1) / 3 * 3;
    const mica_entity next = mica_spawn(w.world, mica_value_of(Contact, {-1}));
    assert_ptr_equal(mica_get(w.world, next, Contact), addresses[newest]);
    assert_valid(w.world);
    watched_end(&w);
}

static void compacting_closes_gaps_and_keeps_the_order(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 50 };
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Contact, {i}));
    }
    for (int32_t i = 0; i < COUNT; i++) {
        if (i % 3 != 1) {
            mica_destroy(w.world, entities[i]);
        }
    }
    assert_int_equal(mica_pool_compact(w.world, ID(Contact)), MICA_OK);
    const mica_pool_view view = mica_pool_read(w.world, ID(Contact));
    assert_int_equal(view.count, view.live_count);
    for (int32_t i = 0; i < view.count; i++) {
        assert_entity_equal(view.entities[i], entities[3 * i + 1]);
        assert_int_equal(((const Contact *)mica_pool_at(&view, i))->depth, 3 * i + 1);
    }
    assert_valid(w.world);
    watched_end(&w);
}

// Room

static void adding_to_reserved_room_allocates_nothing(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 1000 };
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_create(w.world);
    }
    assert_int_equal(mica_set(w.world, entities[0], Mass, {0}), MICA_OK); // the page of its index, and of masks
    assert_int_equal(mica_set(w.world, entities[0], Contact, {0}), MICA_OK);
    assert_int_equal(mica_set(w.world, entities[1], Contact, {0}), MICA_OK);
    assert_int_equal(mica_remove(w.world, entities[0], Contact), MICA_OK); // a tombstone is room as well
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), COUNT), MICA_OK);
    assert_int_equal(mica_pool_reserve(w.world, ID(Contact), COUNT), MICA_OK);
    const uint64_t calls = w.allocator.call_count;
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_set(w.world, entities[i], Mass, {i}), MICA_OK);
        assert_int_equal(mica_set(w.world, entities[i], Contact, {i}), MICA_OK);
    }
    assert_true(w.allocator.call_count == calls);
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), 3), MICA_OK); // is there
    assert_true(w.allocator.call_count == calls);
    watched_end(&w);
}

static void room_that_cannot_be_is_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), -1), MICA_INVALID);
    assert_said("Mass");
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), INT32_MAX), MICA_LIMIT);
    assert_said("Mass");
    const mica_entity entity = create_with_mass(w.world, 3);
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), 100000), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&w.allocator));
    assert_int_equal(mica_get(w.world, entity, Mass)->kilograms, 3);
    assert_valid(w.world);
    watched_end(&w);
}

static void shrinking_gives_back_and_keeps_values(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = create_with_mass(w.world, 3);
    const size_t before = mica_world_memory(w.world).bytes[MICA_MEMORY_POOLS];
    const uint64_t own_before = mica_pool_byte_size(w.world, ID(Mass));
    assert_true(own_before > 0 && own_before <= before);
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), 100000), MICA_OK);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_POOLS] > before + 100000 * sizeof(Mass));
    assert_int_equal(mica_pool_byte_size(w.world, ID(Mass)) - own_before,
                     mica_world_memory(w.world).bytes[MICA_MEMORY_POOLS] - before);
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(mica_pool_shrink(w.world, ID(Mass)), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&w.allocator));
    assert_int_equal(mica_get(w.world, entity, Mass)->kilograms, 3);
    assert_valid(w.world);
    assert_int_equal(mica_pool_shrink(w.world, ID(Mass)), MICA_OK);
    assert_true(mica_world_memory(w.world).bytes[MICA_MEMORY_POOLS] <= before);
    assert_int_equal(mica_get(w.world, entity, Mass)->kilograms, 3);
    assert_valid(w.world);
    watched_end(&w);
}

// Order

typedef struct keyed {
    int32_t key;
    int32_t place; // before sorting
    mica_entity entity;
} keyed;

static int compare_keyed(const void *a, const void *b) {
    const keyed *first = a;
    const keyed *second = b;
    if (first->key != second->key) {
        return first->key < second->key ? -1 : 1;
    }
    return first->place < second->place ? -1 : 1;
}

static int compare_shapes(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return ((const Shape *)a->value)->corners[0] - ((const Shape *)b->value)->corners[0];
}

static void sorting_agrees_with_a_model_and_keeps_equals_in_order(void **state) {
    (void)state;
    test_random random = {.state = 5};
    for (int32_t count = 0; count < 120; count += 7) {
        watched_world w;
        watched_begin(&w);
        keyed model[120];
        for (int32_t i = 0; i < count; i++) {
            const int32_t key = (int32_t)test_random_below(&random, 12);
            const mica_entity entity = create_with_mass(w.world, key);
            mica_set(w.world, entity, Shape, {{key}});
            model[i] = (keyed){.key = key, .place = i, .entity = entity};
        }
        qsort(model, (size_t)count, sizeof(keyed), compare_keyed);
        assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_OK);
        assert_int_equal(mica_pool_sort(w.world, ID(Shape), compare_shapes, NULL), MICA_OK);
        const mica_pool_view masses = mica_pool_read(w.world, ID(Mass));
        const mica_pool_view shapes = mica_pool_read(w.world, ID(Shape));
        for (int32_t i = 0; i < count; i++) {
            assert_entity_equal(masses.entities[i], model[i].entity);
            assert_entity_equal(shapes.entities[i], model[i].entity);
            assert_int_equal(mass_at(&masses, i), model[i].key);
            assert_int_equal(mica_get(w.world, model[i].entity, Shape)->corners[0], model[i].key);
            assert_int_equal(mica_pool_position(w.world, ID(Mass), model[i].entity), i);
        }
        assert_valid(w.world);
        watched_end(&w);
    }
}

static void tags_are_sorted_by_their_entities(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[5];
    for (int32_t i = 0; i < 5; i++) {
        entities[i] = mica_create(w.world);
    }
    for (int32_t i = 5; i-- > 0;) {
        mica_add(w.world, entities[i], Awake);
    }
    assert_int_equal(mica_pool_sort(w.world, ID(Awake), compare_entities, NULL), MICA_OK);
    assert_memory_equal(mica_pool_read(w.world, ID(Awake)).entities, entities, sizeof(entities));
    watched_end(&w);
}

static int compare_parcels(const mica_element *a, const mica_element *b, void *user) {
    ++*(int32_t *)user;
    return ((const Parcel *)a->value)->number - ((const Parcel *)b->value)->number;
}

static void what_is_sorted_already_is_compared_once_and_not_moved(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 1000 };
    for (int32_t i = 0; i < COUNT; i++) {
        mica_spawn(w.world, mica_value_of(Parcel, {i / 2}));
    }
    const mi_pool *pool = mi_store_find_pool(&w.world->store, ID(Parcel));
    const uint64_t structure = pool->structure;
    int32_t compared_count = 0;
    moved_count = 0;
    assert_int_equal(mica_pool_sort(w.world, ID(Parcel), compare_parcels, &compared_count), MICA_OK);
    assert_int_equal(compared_count, COUNT - 1);
    assert_int_equal(moved_count, 0);
    assert_true(pool->structure == structure); // what walks remember of it stands
    watched_end(&w);
}

static void pools_whose_order_is_not_free_are_not_sorted(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {3, 2, 1};
    mica_entity entities[3];
    create_masses(w.world, masses, entities, 3);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), NULL, NULL), MICA_INVALID);
    assert_int_equal(mica_pool_sort(w.world, ID(Contact), compare_masses, NULL), MICA_INVALID);
    assert_said("Contact is stable");
    assert_int_equal(mica_pool_follow(w.world, ID(Contact), ID(Mass)), MICA_INVALID);
    mica_group *group = mica_group_create(
        w.world, &(mica_group_def){.owned = {mica_type_of(Mass), mica_type_of(Shape)}, .without = {mica_type_of(Hit)}});
    assert_non_null(group);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_INVALID);
    assert_said("the order of Mass is that of the group ([own] Mass, [own] Shape, !Hit)");
    assert_int_equal(mica_pool_follow(w.world, ID(Shape), ID(Awake)), MICA_INVALID);
    assert_int_equal(mica_group_destroy(group), MICA_OK);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_OK);
    assert_entity_equal(mica_pool_read(w.world, ID(Mass)).entities[0], entities[2]);
    watched_end(&w);
}

static void pools_do_not_move_while_structure_is_locked(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    create_with_mass(w.world, 2);
    create_with_mass(w.world, 1);
    mica_group *group = mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Shape)}});
    mica_query *query = mica_query_of(w.world, mica_read(Position));
    mica_iter it = mica_query_begin(query);
    assert_true(it.open);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_LOCKED);
    assert_said("Position");
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Shape)), MICA_LOCKED);
    assert_int_equal(mica_pool_reserve(w.world, ID(Mass), 10), MICA_LOCKED);
    assert_int_equal(mica_pool_shrink(w.world, ID(Mass)), MICA_LOCKED);
    assert_int_equal(mica_pool_compact(w.world, ID(Contact)), MICA_LOCKED);
    assert_null(mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Mass)}}));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_group_destroy(group), MICA_LOCKED);
    assert_int_equal(mica_group_sort(group, ID(Shape), compare_shapes, NULL), MICA_LOCKED);
    assert_int_equal(mica_pool_read(w.world, ID(Mass)).count, 2); // looking is free
    mica_iter_end(&it);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_masses, NULL), MICA_OK);
    watched_end(&w);
}

// A compare function that tries everything that would move what is being compared.
static int compare_and_meddle(const mica_element *a, const mica_element *b, void *user) {
    mica_world *world = user;
    assert_int_equal(mica_set(world, a->entity, Shape, {{1}}), MICA_LOCKED);
    assert_said("mica_pool_sort");
    assert_int_equal(mica_destroy(world, b->entity), MICA_LOCKED);
    assert_int_equal(mica_pool_sort(world, mica_world_register(world, mica_type_of(Mass)), compare_masses, NULL),
                     MICA_LOCKED);
    mica_world_destroy(world); // refused as well
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    return compare_masses(a, b, NULL);
}

static void what_is_compared_does_not_move_under_the_comparison(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {3, 1, 2};
    mica_entity entities[3];
    create_masses(w.world, masses, entities, 3);
    assert_int_equal(mica_pool_sort(w.world, ID(Mass), compare_and_meddle, w.world), MICA_OK);
    const mica_pool_view view = mica_pool_read(w.world, ID(Mass));
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mass_at(&view, i), i + 1);
    }
    assert_int_equal(mica_set(w.world, entities[0], Shape, {{1}}), MICA_OK); // free again
    watched_end(&w);
}

typedef struct sort_attempt {
    mica_world *world;
    mica_result result;
} sort_attempt;

static void sort_and_write(void *value, void *user) {
    sort_attempt *attempt = user;
    attempt->result =
        mica_pool_sort(attempt->world, mica_world_register(attempt->world, mica_type_of(Mass)), compare_masses, NULL);
    ((Mass *)value)->kilograms = 0;
}

// What a callback is given is the value of its entity for as long as it runs.
static void a_callback_that_holds_a_value_cannot_sort_it_away(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {3, 2, 1};
    mica_entity entities[3];
    create_masses(w.world, masses, entities, 3);
    sort_attempt attempt = {.world = w.world};
    assert_int_equal(mica_patch(w.world, entities[2], Mass, sort_and_write, &attempt), MICA_OK);
    assert_int_equal(attempt.result, MICA_LOCKED);
    assert_int_equal(mica_get(w.world, entities[0], Mass)->kilograms, 3);
    assert_int_equal(mica_get(w.world, entities[2], Mass)->kilograms, 0);
    watched_end(&w);
}

static void sorting_without_memory_leaves_the_order(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const int32_t masses[] = {4, 1, 3, 2};
    mica_entity entities[4];
    create_masses(w.world, masses, entities, 4);
    for (int32_t i = 0; i < 4; i++) {
        mica_set(w.world, entities[3 - i], Shape, {{i}});
    }
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&w.allocator, n);
        const mica_result sorted = mica_pool_sort(w.world, ID(Mass), compare_masses, NULL);
        if (!test_allocator_fail_stop(&w.allocator)) {
            assert_int_equal(sorted, MICA_OK);
            break;
        }
        assert_int_equal(sorted, MICA_OUT_OF_MEMORY);
        assert_memory_equal(mica_pool_read(w.world, ID(Mass)).entities, entities, sizeof(entities));
    }
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&w.allocator, n);
        const mica_result followed = mica_pool_follow(w.world, ID(Shape), ID(Mass));
        if (!test_allocator_fail_stop(&w.allocator)) {
            assert_int_equal(followed, MICA_OK);
            break;
        }
        assert_int_equal(followed, MICA_OUT_OF_MEMORY);
        assert_entity_equal(mica_pool_read(w.world, ID(Shape)).entities[0], entities[3]);
    }
    assert_memory_equal(mica_pool_read(w.world, ID(Shape)).entities, mica_pool_read(w.world, ID(Mass)).entities,
                        sizeof(entities));
    watched_end(&w);
}

static void followers_stand_in_front_in_the_leaders_order(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[8];
    for (int32_t i = 0; i < 8; i++) {
        entities[i] = create_with_mass(w.world, i);
    }
    static const int32_t leaders[] = {6, 1, 7, 4};
    for (int32_t i = 0; i < 4; i++) {
        mica_set(w.world, entities[leaders[i]], Contact, {i});
    }
    mica_remove(w.world, entities[7], Contact); // leaves a tombstone
    mica_set(w.world, mica_create(w.world), Shape, {{0}});
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Contact)), MICA_OK);
    static const int32_t expected[] = {6, 1, 4, 0, 2, 3, 5, 7};
    const mica_pool_view view = mica_pool_read(w.world, ID(Mass));
    for (int32_t i = 0; i < 8; i++) {
        assert_entity_equal(view.entities[i], entities[expected[i]]);
        assert_int_equal(mass_at(&view, i), expected[i]);
    }
    const mi_pool *pool = mi_store_find_pool(&w.world->store, ID(Mass));
    const uint64_t structure = pool->structure;
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Contact)), MICA_OK); // stands so already
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Shape)), MICA_OK);   // nobody in common
    assert_int_equal(mica_pool_follow(w.world, ID(Mass), ID(Mass)), MICA_OK);
    assert_true(pool->structure == structure);
    assert_valid(w.world);
    watched_end(&w);
}

// Groups

static mica_group *create_group(mica_world *world) {
    mica_group *group = mica_group_create(world, &(mica_group_def){.owned = {mica_type_of(Mass), mica_type_of(Shape)},
                                                                   .with = {mica_type_of(Awake)},
                                                                   .without = {mica_type_of(Hit)}});
    assert_non_null(group);
    return group;
}

static void assert_alike(watched_world w, const mica_group *group) {
    const mica_pool_view masses = mica_pool_read(w.world, ID(Mass));
    const mica_pool_view shapes = mica_pool_read(w.world, ID(Shape));
    for (int32_t i = 0; i < mica_group_count(group); i++) {
        assert_entity_equal(masses.entities[i], shapes.entities[i]);
        assert_int_equal(((const Shape *)mica_pool_at(&shapes, i))->corners[0], mass_at(&masses, i));
        assert_true(mica_has(w.world, masses.entities[i], Awake));
        assert_false(mica_has(w.world, masses.entities[i], Hit));
    }
    assert_valid(w.world);
}

static void a_group_keeps_its_members_in_front(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[12];
    for (int32_t i = 0; i < 12; i++) {
        entities[i] = create_with_mass(w.world, i);
    }
    for (int32_t i = 12; i-- > 0;) {
        mica_set(w.world, entities[i], Shape, {{i}});
        if (i % 2 == 0) {
            mica_add(w.world, entities[i], Awake);
        }
    }
    mica_add(w.world, entities[4], Hit);
    mica_group *group = create_group(w.world);
    assert_int_equal(mica_group_count(group), 5);
    assert_alike(w, group);
    mica_remove(w.world, entities[4], Hit);
    mica_add(w.world, entities[5], Awake);
    assert_int_equal(mica_group_count(group), 7);
    assert_alike(w, group);
    mica_remove(w.world, entities[0], Mass);
    mica_add(w.world, entities[2], Hit);
    mica_destroy(w.world, entities[8]);
    assert_int_equal(mica_group_count(group), 4);
    assert_alike(w, group);
    const mica_entity clone = mica_clone(w.world, entities[6]);
    assert_int_equal(mica_group_count(group), 5);
    assert_true(mica_pool_position(w.world, ID(Mass), clone) < 5);
    assert_alike(w, group);
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_int_equal(mica_group_count(group), 0);
    mica_spawn(w.world, mica_value_of(Mass, {1}), mica_value_of(Shape, {{1}}), mica_tag(Awake));
    assert_int_equal(mica_group_count(group), 1);
    assert_alike(w, group);
    watched_end(&w); // ends the group
}

static void groups_take_components_by_id(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_group *group = mica_group_create(w.world, &(mica_group_def){.owned = {NULL, mica_type_of(Shape)},
                                                                     .owned_ids = {ID(Mass)},
                                                                     .with_ids = {ID(Awake)},
                                                                     .without_ids = {ID(Hit)}});
    assert_non_null(group);
    mica_spawn(w.world, mica_value_of(Mass, {1}), mica_value_of(Shape, {{1}}), mica_tag(Awake));
    mica_spawn(w.world, mica_value_of(Mass, {1}), mica_value_of(Shape, {{1}}), mica_tag(Awake), mica_tag(Hit));
    assert_int_equal(mica_group_count(group), 1);
    watched_end(&w);
}

static void a_list_may_be_full(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_group_def def = {.without = {mica_type_of(Hit)}};
    const mica_entity entity = mica_create(w.world);
    for (int32_t i = 0; i < MICA_GROUP_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Part%d", (int)i);
        def.owned_ids[i] = mica_schema_register_named(mica_world_schema(w.world), mica_type_of(Awake), name, NULL);
        assert_int_equal(mica_entity_add(w.world, entity, def.owned_ids[i], NULL), MICA_OK);
    }
    mica_group *group = mica_group_create(w.world, &def);
    assert_int_equal(mica_group_count(group), 1);
    assert_int_equal(mica_entity_remove(w.world, entity, def.owned_ids[MICA_GROUP_MAX - 1]), MICA_OK);
    assert_int_equal(mica_group_count(group), 0);
    watched_end(&w);
}

static void groups_that_cannot_be_are_refused_by_name(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const struct {
        mica_group_def def;
        mica_result result;
        const char *said;
    } cases[] = {
        {{.with = {mica_type_of(Mass)}}, MICA_INVALID, "owns one component at least"},
        {{.owned = {mica_type_of(Contact)}}, MICA_INVALID, "Contact is stable"},
        {{.owned = {mica_type_of(Mass), mica_type_of(Mass)}}, MICA_INVALID, "Mass is named twice"},
        {{.owned = {mica_type_of(Mass)}, .without = {mica_type_of(Mass)}}, MICA_INVALID, "Mass is named twice"},
        {{.owned = {mica_type_of(Mass)}, .with = {mica_type_of(Room)}}, MICA_INVALID, "Room lives in tables"},
        {{.owned = {mica_type_of(Mass)}, .without_ids = {999}}, MICA_UNKNOWN, "999"},
        {{.owned = {mica_type_of(Mass)}, .owned_ids = {ID(Shape)}}, MICA_INVALID, "Mass"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(mica_group_create(w.world, &cases[i].def));
        assert_int_equal(mica_last_result(), cases[i].result);
        assert_said(cases[i].said);
        assert_said("mica_group_create");
    }
    assert_null(mica_group_create(w.world, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_group_create(NULL, &cases[0].def));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_group_destroy(NULL), MICA_OK);
    assert_int_equal(mica_group_count(NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_group_sort(NULL, ID(Mass), compare_masses, NULL), MICA_INVALID);
    assert_non_null(mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Mass)}})); // nothing is left
    watched_end(&w);
}

static void groups_that_fight_over_a_pool_are_named_both(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_group *group = create_group(w.world);
    assert_null(mica_group_create(
        w.world, &(mica_group_def){.owned = {mica_type_of(Parcel), mica_type_of(Shape)}, .with = {mica_type_of(Hit)}}));
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_said("([own] Parcel, [own] Shape, Hit) cannot own Shape");
    assert_said("the group ([own] Mass, [own] Shape, Awake, !Hit)");
    assert_int_equal(mica_group_destroy(group), MICA_OK);
    assert_non_null(mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Shape)}}));
    assert_valid(w.world);
    watched_end(&w);
}

static void groups_that_overlap_leave_what_they_do_not_own_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_group *first =
        mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Parcel)}, .with = {mica_type_of(Mass)}});
    mica_group *second =
        mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Mass)}, .with = {mica_type_of(Contact)}});
    assert_non_null(first);
    assert_non_null(second);
    mica_entity entities[20];
    for (int32_t i = 0; i < 20; i++) {
        entities[i] = i % 2 == 0 ? mica_spawn(w.world, mica_value_of(Parcel, {i}), mica_value_of(Mass, {i}))
                                 : mica_spawn(w.world, mica_value_of(Mass, {i}), mica_value_of(Contact, {i}));
    }
    assert_int_equal(mica_group_count(first), 10);
    assert_int_equal(mica_group_count(second), 10);
    assert_valid(w.world);
    for (int32_t i = 0; i < 20; i++) {
        mica_destroy(w.world, entities[i]);
        assert_int_equal(mica_group_count(first), 10 - (i / 2 + 1));
        assert_int_equal(mica_group_count(second), 10 - (i + 1) / 2);
        for (int32_t k = i + 1; k < 20; k++) {
            assert_int_equal(mica_get(w.world, entities[k], Mass)->kilograms, k);
        }
        assert_valid(w.world);
    }
    watched_end(&w);
}

static void more_members_than_there_are_indices_are_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_group *group =
        mica_group_create(w.world, &(mica_group_def){.owned = {mica_type_of(Mass), mica_type_of(Shape)}});
    mica_spawn(w.world, mica_value_of(Mass, {1}), mica_value_of(Shape, {{1}}));
    const mica_column columns[] = {mica_column_of(Mass, NULL), mica_column_of(Shape, NULL)};
    const int32_t count = MICA_INDEX_MAX < INT32_MAX - 1 ? (int32_t)MICA_INDEX_MAX : INT32_MAX;
    assert_int_equal(mica_entity_spawn_many(w.world, columns, 2, count, NULL), MICA_LIMIT);
    assert_int_equal(mica_group_count(group), 1);
    assert_int_equal(mica_world_entity_count(w.world), 1);
    assert_valid(w.world);
    watched_end(&w);
}

static void sorting_a_group_moves_all_that_it_owns_alike(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    test_random random = {.state = 9};
    mica_group *group = create_group(w.world);
    keyed model[40];
    for (int32_t i = 0; i < 40; i++) {
        const int32_t key = (int32_t)test_random_below(&random, 7);
        const mica_entity entity =
            mica_spawn(w.world, mica_value_of(Mass, {key}), mica_value_of(Shape, {{key}}), mica_tag(Awake));
        model[i] = (keyed){.key = key, .place = i, .entity = entity};
    }
    const mica_entity outside = create_with_mass(w.world, -1);
    qsort(model, 40, sizeof(keyed), compare_keyed);
    assert_int_equal(mica_group_sort(group, ID(Shape), compare_shapes, NULL), MICA_OK);
    const mica_pool_view view = mica_pool_read(w.world, ID(Mass));
    for (int32_t i = 0; i < 40; i++) {
        assert_entity_equal(view.entities[i], model[i].entity);
    }
    assert_entity_equal(view.entities[40], outside); // no member: stays behind them
    assert_alike(w, group);
    int32_t compared_count = 0;
    assert_int_equal(mica_group_sort(group, ID(Mass), compare_masses, &compared_count), MICA_OK);
    assert_int_equal(compared_count, 39); // it is in order

    assert_int_equal(mica_group_sort(group, ID(Awake), compare_entities, NULL), MICA_INVALID);
    assert_said("does not own Awake");
    assert_int_equal(mica_group_sort(group, ID(Parcel), compare_parcels, NULL), MICA_INVALID);
    assert_int_equal(mica_group_sort(group, ID(Room), compare_masses, NULL), MICA_INVALID);
    assert_int_equal(mica_group_sort(group, 999, compare_masses, NULL), MICA_UNKNOWN);
    assert_int_equal(mica_group_sort(group, ID(Mass), NULL, NULL), MICA_INVALID);
    watched_end(&w);
}

static void a_group_without_memory_is_not_made_or_sorted(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[6];
    for (int32_t i = 0; i < 6; i++) {
        entities[i] =
            mica_spawn(w.world, mica_value_of(Mass, {6 - i}), mica_value_of(Shape, {{6 - i}}), mica_tag(Awake));
    }
    const mica_group_def def = {.owned = {mica_type_of(Mass), mica_type_of(Shape)},
                                .with = {mica_type_of(Awake)},
                                .without = {mica_type_of(Hit)}};
    ID(Hit); // schemas have memory of their own
    mica_group *group = NULL;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&w.allocator, n);
        group = mica_group_create(w.world, &def);
        if (!test_allocator_fail_stop(&w.allocator)) {
            break;
        }
        assert_null(group);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_valid(w.world);
    }
    assert_int_equal(mica_group_count(group), 6);
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(mica_group_sort(group, ID(Mass), compare_masses, NULL), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&w.allocator));
    assert_memory_equal(mica_pool_read(w.world, ID(Mass)).entities, entities, sizeof(entities));
    // Members come and go without any.
    test_allocator_fail_from(&w.allocator, 1);
    mica_destroy(w.world, entities[1]);
    assert_int_equal(mica_group_count(group), 5);
    assert_false(test_allocator_fail_stop(&w.allocator));
    assert_alike(w, group);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_shows_the_arrays_of_a_packed_pool),
        cmocka_unit_test(a_view_shows_the_pages_of_a_paged_pool),
        cmocka_unit_test(a_view_of_a_tag_has_entities_alone),
        cmocka_unit_test(a_view_of_a_stable_pool_shows_its_tombstones),
        cmocka_unit_test(writing_counts_every_page_as_changed_and_reading_none),
        cmocka_unit_test(a_view_does_not_show_whether_a_pool_was_in_use_before),
        cmocka_unit_test(a_pool_that_nobody_is_in_is_empty_everywhere),
        cmocka_unit_test(what_has_no_pool_is_refused_by_name),
        cmocka_unit_test(arrays_show_what_an_open_walk_has_written_to_copies),
        cmocka_unit_test(positions_are_those_of_the_arrays),
        cmocka_unit_test(an_address_leads_to_its_entity_after_others_were_erased),
        cmocka_unit_test(every_address_in_a_value_leads_to_its_entity_after_random_changes),
        cmocka_unit_test(a_stable_value_keeps_its_address_until_it_is_removed),
        cmocka_unit_test(compacting_closes_gaps_and_keeps_the_order),
        cmocka_unit_test(adding_to_reserved_room_allocates_nothing),
        cmocka_unit_test(room_that_cannot_be_is_refused),
        cmocka_unit_test(shrinking_gives_back_and_keeps_values),
        cmocka_unit_test(sorting_agrees_with_a_model_and_keeps_equals_in_order),
        cmocka_unit_test(tags_are_sorted_by_their_entities),
        cmocka_unit_test(what_is_sorted_already_is_compared_once_and_not_moved),
        cmocka_unit_test(pools_whose_order_is_not_free_are_not_sorted),
        cmocka_unit_test(pools_do_not_move_while_structure_is_locked),
        cmocka_unit_test(what_is_compared_does_not_move_under_the_comparison),
        cmocka_unit_test(a_callback_that_holds_a_value_cannot_sort_it_away),
        cmocka_unit_test(sorting_without_memory_leaves_the_order),
        cmocka_unit_test(followers_stand_in_front_in_the_leaders_order),
        cmocka_unit_test(a_group_keeps_its_members_in_front),
        cmocka_unit_test(groups_take_components_by_id),
        cmocka_unit_test(a_list_may_be_full),
        cmocka_unit_test(groups_that_cannot_be_are_refused_by_name),
        cmocka_unit_test(groups_that_fight_over_a_pool_are_named_both),
        cmocka_unit_test(groups_that_overlap_leave_what_they_do_not_own_alone),
        cmocka_unit_test(more_members_than_there_are_indices_are_refused),
        cmocka_unit_test(sorting_a_group_moves_all_that_it_owns_alike),
        cmocka_unit_test(a_group_without_memory_is_not_made_or_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
