// Subscriptions: who is listed, with which flags, in which order, how often; what is lost when there is no memory.
#include "world/world_fixture.h"

#include "world/world.h"

MICA_STRUCT_WITH(Shield, (.toggle = true), { int32_t now; });
MICA_STRUCT_WITH(Ore, (.storage = MICA_POOL), { int32_t grams; });

enum {
    CREATED = MICA_CHANGE_CREATED,
    DESTROYED = MICA_CHANGE_DESTROYED,
    ADDED = MICA_CHANGE_ADDED,
    REMOVED = MICA_CHANGE_REMOVED,
    VALUE = MICA_CHANGE_VALUE,
    VISIBILITY = MICA_CHANGE_VISIBILITY,
    CHANGE_MAX = 256
};

typedef struct fixture {
    watched_world w;
    mica_world *world;
    mica_entity a, b, c; // Position and Health; there before anybody subscribes
    mica_subscription *all;
    int32_t count; // of what was collected last
    mica_change changes[CHANGE_MAX];
} fixture;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.count = 0};
    watched_begin(&f.w);
    f.world = f.w.world;
    f.a = mica_spawn(f.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {1}));
    f.b = mica_spawn(f.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {2}));
    f.c = mica_spawn(f.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {3}));
    f.all = mica_subscribe(f.world, NULL);
    assert_non_null(f.all);
    mica_error_clear();
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    if (f->world != NULL) {
        assert_valid(f->world);
    }
    mica_world_destroy(f->world);
    test_allocator_finish(&f->w.allocator);
    return 0;
}

static void collect(fixture *f, mica_subscription *subscription) {
    const int32_t listed = mica_subscription_count(subscription);
    f->count = mica_subscription_collect(subscription, f->changes, CHANGE_MAX);
    assert_int_equal(f->count, listed);
    assert_int_equal(mica_subscription_count(subscription), 0);
}

// What was collected last has this entity with these flags at a place.
static void assert_change(const fixture *f, int32_t place, mica_entity entity, uint32_t flags) {
    assert_true(place < f->count);
    assert_entity_equal(f->changes[place].entity, entity);
    assert_int_equal(f->changes[place].flags, flags);
}

// The subscription lists just this, or, without flags, nothing.
static void assert_collects(fixture *f, mica_subscription *subscription, mica_entity entity, uint32_t flags) {
    collect(f, subscription);
    assert_int_equal(f->count, flags != 0);
    if (flags != 0) {
        assert_change(f, 0, entity, flags);
    }
}

// Who is listed

static void what_is_there_already_is_not_listed(void **state) {
    fixture *f = *state;
    assert_collects(f, f->all, f->a, 0);
    assert_non_null(mica_get(f->world, f->a, Health));
    assert_int_equal(mica_query_count(mica_query_of(f->world, mica_read(Health))), 3);
    assert_collects(f, f->all, f->a, 0); // looking is no change
}

static void each_verb_lists_its_entity_with_its_flag(void **state) {
    fixture *f = *state;
    const mica_entity bare = mica_create(f->world);
    assert_collects(f, f->all, bare, CREATED);
    const mica_entity made = mica_spawn(f->world, mica_value_of(Health, {1}), mica_tag(Frozen));
    assert_collects(f, f->all, made, CREATED | ADDED | VALUE);
    assert_int_equal(mica_add(f->world, f->a, Frozen), MICA_OK);
    assert_collects(f, f->all, f->a, ADDED);
    assert_int_equal(mica_remove(f->world, f->a, Frozen), MICA_OK);
    assert_collects(f, f->all, f->a, REMOVED);
    assert_int_equal(mica_set(f->world, f->a, Ore, {1}), MICA_OK);
    assert_collects(f, f->all, f->a, ADDED | VALUE);
    assert_int_equal(mica_set(f->world, f->a, Ore, {2}), MICA_OK);
    assert_collects(f, f->all, f->a, VALUE);
    assert_int_equal(mica_remove(f->world, f->a, Ore), MICA_OK);
    assert_collects(f, f->all, f->a, REMOVED);
    assert_int_equal(mica_disable(f->world, f->a), MICA_OK);
    assert_collects(f, f->all, f->a, VISIBILITY);
    assert_int_equal(mica_enable(f->world, f->a), MICA_OK);
    assert_collects(f, f->all, f->a, VISIBILITY);
    assert_int_equal(mica_kill(f->world, f->b), MICA_OK);
    assert_collects(f, f->all, f->b, VISIBILITY);
    assert_int_equal(mica_refresh(f->world), 1);
    assert_collects(f, f->all, f->b, DESTROYED | REMOVED);
    assert_int_equal(mica_set(f->world, f->a, Shield, {1}), MICA_OK);
    assert_collects(f, f->all, f->a, ADDED | VALUE);
    assert_int_equal(mica_disable_component(f->world, f->a, Shield), MICA_OK);
    assert_collects(f, f->all, f->a, VISIBILITY);
}

static void what_is_refused_or_changes_nothing_lists_nobody(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_add(f->world, f->a, Health), MICA_EXISTS);
    assert_int_equal(mica_remove(f->world, f->a, Frozen), MICA_OK);
    assert_int_equal(mica_enable(f->world, f->a), MICA_OK);
    assert_collects(f, f->all, f->a, 0);
}

static void what_may_be_written_through_addresses_is_listed(void **state) {
    fixture *f = *state;
    assert_non_null(mica_get_write(f->world, f->b, Health));
    assert_collects(f, f->all, f->b, VALUE);
    mica_each (mica_query_of(f->world, mica_write(Health), mica_read(Position)), it) {
        assert_non_null(mica_write_of(it, Health));
        assert_non_null(mica_read_of(it, Position));
    }
    collect(f, f->all);
    assert_int_equal(f->count, 3);
    assert_change(f, 0, f->a, VALUE);
    assert_change(f, 1, f->b, VALUE);
    assert_change(f, 2, f->c, VALUE);
    assert_int_equal(mica_set(f->world, f->c, Ore, {1}), MICA_OK);
    collect(f, f->all);
    assert_int_equal(mica_pool_write(f->world, mica_register(f->world, Ore)).count, 1);
    assert_collects(f, f->all, f->c, VALUE);
}

static void rows_that_are_marked_by_hand_are_listed_alone(void **state) {
    fixture *f = *state;
    mica_each (mica_query_of(f->world, mica_write_marked(Health)), it) {
        assert_int_equal(it.count, 3);
        assert_non_null(mica_write_of(it, Health));
        assert_int_equal(mica_mark(it, Health, 1), MICA_OK);
    }
    assert_collects(f, f->all, f->b, VALUE);
}

static void spans_of_copies_list_their_entities(void **state) {
    fixture *f = *state;
    const mica_entity entities[] = {f->c, f->a, f->b}; // in the pool in another order than in the table
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_set(f->world, entities[i], Ore, {i}), MICA_OK);
    }
    collect(f, f->all);
    mica_each (mica_query_of(f->world, mica_write(Ore), mica_read(Health)), it) {
        assert_non_null(mica_write_of(it, Ore));
    }
    collect(f, f->all);
    assert_int_equal(f->count, 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(f->changes[i].flags, VALUE);
        assert_true(mica_has(f->world, f->changes[i].entity, Ore));
    }
}

static void a_subscription_to_components_hears_of_these_alone(void **state) {
    fixture *f = *state;
    const mica_subscription_def def = {.components = {mica_type_of(Health), NULL},
                                       .component_ids = {0, mica_register(f->world, Shield)}};
    mica_subscription *some = mica_subscribe(f->world, &def);
    assert_non_null(some);
    const mica_entity other = mica_spawn(f->world, mica_value_of(Position, {1, 2, 3}));
    assert_int_equal(mica_set(f->world, f->a, Position, {4, 5, 6}), MICA_OK);
    assert_non_null(mica_get_write(f->world, f->a, Position));
    assert_int_equal(mica_disable(f->world, other), MICA_OK);
    assert_int_equal(mica_destroy(f->world, other), MICA_OK);
    assert_collects(f, some, f->a, 0);
    assert_int_equal(mica_set(f->world, f->a, Health, {4}), MICA_OK);
    assert_collects(f, some, f->a, VALUE);
    assert_non_null(mica_get_write(f->world, f->a, Health));
    assert_collects(f, some, f->a, VALUE);
    const mica_entity made = mica_spawn(f->world, mica_value_of(Shield, {1}));
    assert_collects(f, some, made, CREATED | ADDED | VALUE);
    assert_int_equal(mica_disable_component(f->world, made, Shield), MICA_OK);
    assert_collects(f, some, made, VISIBILITY);
    assert_int_equal(mica_disable(f->world, made), MICA_OK);
    assert_collects(f, some, made, VISIBILITY);
    assert_int_equal(mica_remove(f->world, made, Shield), MICA_OK);
    assert_collects(f, some, made, REMOVED);
    assert_int_equal(mica_enable(f->world, made), MICA_OK);
    assert_int_equal(mica_destroy(f->world, made), MICA_OK); // it has none of them any more
    assert_collects(f, some, made, 0);
    assert_int_equal(mica_destroy(f->world, f->a), MICA_OK);
    assert_collects(f, some, f->a, DESTROYED | REMOVED);
}

static void a_buffer_lists_what_it_changed_as_a_whole(void **state) {
    fixture *f = *state;
    mica_commands *commands = mica_commands_create(f->world);
    mica_add(commands, f->a, Frozen);
    mica_remove(commands, f->a, Frozen);
    mica_set(commands, f->b, Health, {9});
    assert_collects(f, f->all, f->a, 0); // not yet
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_collects(f, f->all, f->b, VALUE);
    mica_commands_destroy(commands);
}

// Order, once each

static void each_is_listed_once_in_the_order_of_first_changes(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set(f->world, f->c, Health, {1}), MICA_OK);
    assert_int_equal(mica_add(f->world, f->a, Frozen), MICA_OK);
    assert_int_equal(mica_remove(f->world, f->c, Position), MICA_OK);
    assert_int_equal(mica_set(f->world, f->b, Health, {1}), MICA_OK);
    assert_int_equal(mica_disable(f->world, f->a), MICA_OK);
    collect(f, f->all);
    assert_int_equal(f->count, 3);
    assert_change(f, 0, f->c, VALUE | REMOVED);
    assert_change(f, 1, f->a, ADDED | VISIBILITY);
    assert_change(f, 2, f->b, VALUE);
    assert_collects(f, f->all, f->a, 0); // they are forgotten
}

static void a_list_is_collected_in_parts(void **state) {
    fixture *f = *state;
    const mica_entity entities[] = {f->a, f->b, f->c};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_set(f->world, entities[i], Health, {1}), MICA_OK);
    }
    assert_int_equal(mica_subscription_collect(f->all, f->changes, 0), 0);
    assert_int_equal(mica_subscription_collect(f->all, NULL, 0), 0);
    assert_int_equal(mica_subscription_count(f->all), 3);
    f->count = mica_subscription_collect(f->all, f->changes, 2);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, f->a, VALUE);
    assert_change(f, 1, f->b, VALUE);
    assert_int_equal(mica_subscription_count(f->all), 1);
    assert_int_equal(mica_add(f->world, f->a, Frozen), MICA_OK); // listed anew, behind the others
    assert_int_equal(mica_add(f->world, f->c, Frozen), MICA_OK); // is listed still
    collect(f, f->all);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, f->c, VALUE | ADDED);
    assert_change(f, 1, f->a, ADDED);
}

// Entities that come and go

static void what_was_made_and_destroyed_in_between_is_not_reported(void **state) {
    fixture *f = *state;
    const mica_entity first = mica_spawn(f->world, mica_value_of(Health, {1}));
    const mica_entity second = mica_create(f->world);
    assert_int_equal(mica_set(f->world, f->a, Health, {5}), MICA_OK);
    assert_int_equal(mica_destroy(f->world, first), MICA_OK);
    assert_int_equal(mica_subscription_count(f->all), 2);
    collect(f, f->all);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, second, CREATED);
    assert_change(f, 1, f->a, VALUE);
    assert_int_equal(mica_destroy(f->world, second), MICA_OK); // its making was handed out
    assert_collects(f, f->all, second, DESTROYED);
}

static void the_dead_and_the_new_owner_of_a_slot_are_two(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set(f->world, f->b, Health, {1}), MICA_OK);
    assert_int_equal(mica_destroy(f->world, f->b), MICA_OK);
    const mica_entity next = mica_create(f->world);
    assert_int_equal(mica_entity_index(next), mica_entity_index(f->b));
    assert_int_equal(mica_add(f->world, next, Frozen), MICA_OK);
    collect(f, f->all);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, f->b, VALUE | REMOVED | DESTROYED);
    assert_change(f, 1, next, CREATED | ADDED);
    assert_int_equal(mica_destroy(f->world, next), MICA_OK);
    const mica_entity last = mica_create(f->world);
    assert_int_equal(mica_entity_index(last), mica_entity_index(f->b));
    assert_int_equal(mica_destroy(f->world, last), MICA_OK);
    assert_collects(f, f->all, next, DESTROYED | REMOVED);
}

static void clearing_lists_everybody_who_is_known_as_destroyed(void **state) {
    fixture *f = *state;
    mica_create(f->world);
    assert_int_equal(mica_world_clear(f->world), MICA_OK);
    collect(f, f->all);
    assert_int_equal(f->count, 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(f->changes[i].flags, DESTROYED | REMOVED);
    }
}

static void a_list_that_is_never_collected_does_not_grow_with_those_who_are_gone(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set(f->world, f->c, Health, {1}), MICA_OK);
    for (int32_t i = 0; i < 64; i++) {
        assert_int_equal(mica_destroy(f->world, mica_create(f->world)), MICA_OK);
    }
    const uint64_t call_count = f->w.allocator.call_count;
    const mica_entity kept = mica_create(f->world);
    for (int32_t i = 0; i < 10000; i++) {
        assert_int_equal(mica_destroy(f->world, mica_create(f->world)), MICA_OK);
    }
    assert_int_equal(f->w.allocator.call_count, call_count);
    assert_int_equal(mica_set(f->world, kept, Health, {2}), MICA_OK); // is found although the list was closed up
    collect(f, f->all);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, f->c, VALUE);
    assert_change(f, 1, kept, CREATED | ADDED | VALUE);
}

static void steady_frames_allocate_nothing(void **state) {
    fixture *f = *state;
    mica_entity entities[100];
    const mica_column column = {.type = mica_type_of(Health)};
    assert_int_equal(mica_entity_spawn_many(f->world, &column, 1, 100, entities), MICA_OK);
    uint64_t call_count = 0;
    for (int32_t frame = 0; frame < 10; frame++) {
        for (int32_t i = 0; i < 100; i++) {
            assert_int_equal(mica_set(f->world, entities[i], Health, {frame}), MICA_OK);
        }
        call_count = frame == 0 ? f->w.allocator.call_count : call_count;
        // In parts, so that the list is never empty.
        assert_int_equal(mica_subscription_collect(f->all, f->changes, 100), 100);
    }
    assert_int_equal(f->w.allocator.call_count, call_count);
}

// Memory

static void changes_that_could_not_be_listed_are_told_of(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set(f->world, f->a, Health, {1}), MICA_OK);
    mica_entity entities[64];
    const mica_column column = {.type = mica_type_of(Health)};
    mica_subscription *none = mica_subscribe(f->world, &(mica_subscription_def){.components = {mica_type_of(Owned)}});
    assert_int_equal(mica_entity_spawn_many(f->world, &column, 1, 64, entities), MICA_OK);
    assert_int_equal(mica_subscription_count(f->all), 65);
    mica_subscription *late = mica_subscribe(f->world, NULL);
    test_allocator_fail_from(&f->w.allocator, 1);
    assert_int_equal(mica_set(f->world, f->b, Health, {1}), MICA_OK); // the verb does not fail with it
    assert_true(test_allocator_fail_stop(&f->w.allocator));
    assert_int_equal(mica_subscription_count(late), -1);
    assert_int_equal(mica_set(f->world, f->c, Health, {1}), MICA_OK);
    assert_int_equal(mica_subscription_collect(late, f->changes, CHANGE_MAX), -1);
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_said("look at everything");
    assert_collects(f, late, f->a, 0); // told once
    assert_int_equal(mica_set(f->world, f->c, Health, {2}), MICA_OK);
    assert_collects(f, late, f->c, VALUE);
    collect(f, f->all); // the others have lost nothing
    assert_int_equal(f->count, 67);
    assert_change(f, 65, f->b, VALUE);
    assert_collects(f, none, f->a, 0);
}

static void a_list_that_cannot_grow_is_lost_as_a_whole(void **state) {
    fixture *f = *state;
    mica_entity entities[64];
    const mica_column column = {.type = mica_type_of(Health)};
    assert_int_equal(mica_entity_spawn_many(f->world, &column, 1, 64, entities), MICA_OK);
    collect(f, f->all);
    mica_world_trim(f->world);
    mica_subscription *fresh = mica_subscribe(f->world, NULL);
    assert_int_equal(mica_set(f->world, entities[0], Health, {1}), MICA_OK);
    test_allocator_fail_from(&f->w.allocator, 1);
    int32_t listed = 1;
    while (listed < 64 && mica_subscription_count(fresh) >= 0) {
        assert_int_equal(mica_set(f->world, entities[listed++], Health, {1}), MICA_OK);
    }
    assert_true(test_allocator_fail_stop(&f->w.allocator));
    assert_int_equal(mica_subscription_count(fresh), -1);
    assert_int_equal(mica_subscription_collect(fresh, f->changes, CHANGE_MAX), -1);
    assert_int_equal(mica_set(f->world, entities[0], Health, {2}), MICA_OK);
    assert_collects(f, fresh, entities[0], VALUE);
}

// Beginning and ending

static void subscriptions_end_alone_or_with_their_world(void **state) {
    fixture *f = *state;
    mica_subscription *second = mica_subscribe(f->world, &(mica_subscription_def){.components = {mica_type_of(Ore)}});
    mica_subscription *third = mica_subscribe(f->world, NULL);
    assert_non_null(second);
    assert_non_null(third);
    mica_subscription_destroy(second);
    mica_subscription_destroy(NULL);
    assert_int_equal(mica_set(f->world, f->a, Ore, {1}), MICA_OK);
    assert_collects(f, third, f->a, ADDED | VALUE);
    mica_subscription_destroy(f->all);
    assert_int_equal(mica_set(f->world, f->a, Ore, {2}), MICA_OK);
    assert_collects(f, third, f->a, VALUE); // the last one ends with the world, in tear_down
}

static void end_subscription(const mica_signal *signal) {
    fixture *f = signal->user;
    if (f->all != NULL) {
        mica_subscription_destroy(f->all);
        f->all = NULL;
    }
}

static void collect_at_the_end(const mica_signal *signal) {
    fixture *f = signal->user;
    f->count += mica_subscription_collect(f->all, f->changes, CHANGE_MAX);
    assert_non_null(mica_subscribe(signal->world, NULL)); // ends with the world as well
}

static void observers_may_collect_and_subscribe_while_the_world_ends(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_set(f->world, f->b, Health, {7}), MICA_OK);
    mica_on_removed(f->world, Health, collect_at_the_end, f);
    f->count = 0;
    mica_world_destroy(f->world);
    f->world = NULL;
    assert_int_equal(f->count, 1); // who goes with the world is not listed
    assert_change(f, 0, f->b, VALUE);
}

static void trimming_gives_back_the_room_of_lists_that_are_empty(void **state) {
    fixture *f = *state;
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    const size_t bytes = mica_world_memory(f->world).total;
    assert_int_equal(mica_set(f->world, f->a, Health, {7}), MICA_OK);
    assert_int_equal(mica_set(f->world, f->b, Health, {7}), MICA_OK);
    assert_int_equal(mica_subscription_collect(f->all, f->changes, 1), 1);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    assert_true(mica_world_memory(f->world).total > bytes);
    assert_int_equal(mica_set(f->world, f->b, Health, {8}), MICA_OK);
    assert_collects(f, f->all, f->b, VALUE);
    assert_int_equal(mica_world_trim(f->world), MICA_OK);
    const size_t queries = mica_world_memory(f->world).bytes[MICA_MEMORY_QUERIES]; // pages of places
    assert_int_equal(mica_set(f->world, f->b, Health, {9}), MICA_OK);
    assert_true(mica_world_memory(f->world).bytes[MICA_MEMORY_QUERIES] > queries);
    assert_collects(f, f->all, f->b, VALUE);
}

static void a_subscription_may_end_and_be_collected_in_an_observer(void **state) {
    fixture *f = *state;
    mica_subscription *other = mica_subscribe(f->world, NULL);
    assert_int_not_equal(mica_on_set(f->world, Health, end_subscription, f).id, 0);
    assert_int_equal(mica_set(f->world, f->a, Health, {1}), MICA_OK);
    assert_null(f->all);
    assert_int_equal(mica_set(f->world, f->b, Health, {1}), MICA_OK);
    collect(f, other);
    assert_int_equal(f->count, 2);
    assert_change(f, 0, f->a, VALUE);
    assert_change(f, 1, f->b, VALUE);
}

static void refusals_name_what_is_wrong(void **state) {
    fixture *f = *state;
    assert_null(mica_subscribe(NULL, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const mica_component health = mica_register(f->world, Health);
    assert_null(mica_subscribe(f->world, &(mica_subscription_def){.component_ids = {health, 9999}}));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_said("9999");
    assert_null(mica_subscribe(
        f->world, &(mica_subscription_def){.components = {mica_type_of(Health)}, .component_ids = {0, health}}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("Health is named twice");
    assert_null(mica_subscribe(
        f->world, &(mica_subscription_def){.components = {mica_type_of(Health)}, .component_ids = {health}}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_subscription_count(NULL), 0);
    assert_int_equal(mica_subscription_collect(NULL, f->changes, 1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_int_equal(mica_subscription_collect(f->all, f->changes, -1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_error_clear();
    assert_int_equal(mica_subscription_collect(f->all, NULL, 1), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

// Against a model that knows what every entity was like when it was last collected.

enum { MODEL_MAX = 40, MODEL_STEPS = 4000 };

typedef struct model_entity {
    mica_entity entity;
    uint32_t flags; // expected; 0: not listed
    uint32_t order; // of its first change
} model_entity;

typedef struct model {
    fixture *f;
    test_random random;
    uint32_t count;
    model_entity entities[CHANGE_MAX]; // living ones, and dead ones that are listed
    uint32_t last_order;
} model;

static void model_expect(model *m, model_entity *known, uint32_t flags) {
    if (known->flags == 0) {
        known->order = ++m->last_order;
    }
    known->flags |= flags;
}

static void model_step(model *m) {
    mica_world *world = m->f->world;
    model_entity *known = m->count > 0 ? &m->entities[test_random_below(&m->random, m->count)] : NULL;
    const bool is_alive = known != NULL && mica_entity_alive(world, known->entity);
    const uint32_t choice = test_random_below(&m->random, 8);
    if (choice == 0 && m->count < MODEL_MAX) {
        model_entity *made = &m->entities[m->count++];
        *made = (model_entity){.entity = mica_create(world)};
        model_expect(m, made, CREATED);
    } else if (choice == 1 && is_alive) {
        const bool has_components = mica_entity_components(world, known->entity, NULL, 0) > 0;
        assert_int_equal(mica_destroy(world, known->entity), MICA_OK);
        if ((known->flags & CREATED) != 0) {
            *known = m->entities[--m->count];
        } else {
            model_expect(m, known, DESTROYED | (has_components ? (uint32_t)REMOVED : 0));
        }
    } else if (choice <= 4 && is_alive) {
        const bool has = mica_has(world, known->entity, Ore);
        assert_int_equal(mica_set(world, known->entity, Ore, {(int32_t)choice}), MICA_OK);
        model_expect(m, known, has ? (uint32_t)VALUE : ADDED | VALUE);
    } else if (choice == 5 && is_alive) {
        const bool has = mica_has(world, known->entity, Frozen);
        assert_int_equal(has ? mica_remove(world, known->entity, Frozen) : mica_add(world, known->entity, Frozen),
                         MICA_OK);
        model_expect(m, known, has ? REMOVED : ADDED);
    } else if (choice == 6 && is_alive) {
        if (mica_get_write(world, known->entity, Ore) != NULL) {
            model_expect(m, known, VALUE);
        }
    }
}

// The listed entity with the lowest order; NULL: none.
static model_entity *model_next(model *m) {
    model_entity *next = NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        model_entity *known = &m->entities[i];
        if (known->flags != 0 && (next == NULL || known->order < next->order)) {
            next = known;
        }
    }
    return next;
}

static void model_collect(model *m) {
    fixture *f = m->f;
    f->count = mica_subscription_collect(f->all, f->changes, (int32_t)test_random_below(&m->random, MODEL_MAX));
    for (int32_t i = 0; i < f->count; i++) {
        model_entity *next = model_next(m);
        assert_non_null(next);
        assert_change(f, i, next->entity, next->flags);
        if ((next->flags & DESTROYED) != 0) {
            *next = m->entities[--m->count];
        } else {
            next->flags = 0;
        }
    }
}

static void random_changes_are_listed_as_the_model_says(void **state) {
    fixture *f = *state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        static model m;
        m = (model){.f = f, .random = {.state = seed}};
        for (uint32_t step = 0; step < MODEL_STEPS; step++) {
            model_step(&m);
            if (test_random_below(&m.random, 20) == 0) {
                model_collect(&m);
            }
        }
        assert_valid(f->world);
        assert_int_equal(mica_world_clear(f->world), MICA_OK);
        assert_true(mica_subscription_collect(f->all, f->changes, CHANGE_MAX) >= 0);
        assert_int_equal(mica_subscription_count(f->all), 0);
    }
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_is_there_already_is_not_listed),
        CASE(each_verb_lists_its_entity_with_its_flag),
        CASE(what_is_refused_or_changes_nothing_lists_nobody),
        CASE(what_may_be_written_through_addresses_is_listed),
        CASE(rows_that_are_marked_by_hand_are_listed_alone),
        CASE(spans_of_copies_list_their_entities),
        CASE(a_subscription_to_components_hears_of_these_alone),
        CASE(a_buffer_lists_what_it_changed_as_a_whole),
        CASE(each_is_listed_once_in_the_order_of_first_changes),
        CASE(a_list_is_collected_in_parts),
        CASE(what_was_made_and_destroyed_in_between_is_not_reported),
        CASE(the_dead_and_the_new_owner_of_a_slot_are_two),
        CASE(clearing_lists_everybody_who_is_known_as_destroyed),
        CASE(a_list_that_is_never_collected_does_not_grow_with_those_who_are_gone),
        CASE(steady_frames_allocate_nothing),
        CASE(changes_that_could_not_be_listed_are_told_of),
        CASE(a_list_that_cannot_grow_is_lost_as_a_whole),
        CASE(subscriptions_end_alone_or_with_their_world),
        CASE(observers_may_collect_and_subscribe_while_the_world_ends),
        CASE(trimming_gives_back_the_room_of_lists_that_are_empty),
        CASE(a_subscription_may_end_and_be_collected_in_an_observer),
        CASE(refusals_name_what_is_wrong),
        CASE(random_changes_are_listed_as_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
