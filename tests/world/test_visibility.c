// Disabled entities, disabled components, killed entities: the verbs, what they refuse, what ends a mark, and
// recording. What queries make of it is in test_visibility_queries.c.
#include "toggles.h"

// Entities

static void a_disabled_entity_is_alive_and_keeps_what_it_has(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {5}), mica_tag(Frozen));
    const mica_entity bare = mica_create(w.world);
    assert_true(mica_is_enabled(w.world, entity));
    assert_int_equal(mica_disable(w.world, entity), MICA_OK);
    assert_int_equal(mica_disable(w.world, bare), MICA_OK);
    assert_int_equal(mica_disable(w.world, entity), MICA_OK);
    assert_false(mica_is_enabled(w.world, entity));
    assert_false(mica_is_enabled(w.world, bare));
    assert_true(mica_alive(w.world, entity));
    assert_int_equal(mica_world_entity_count(w.world), 2);
    assert_true(mica_has(w.world, entity, Frozen));
    assert_int_equal(mica_get(w.world, entity, Health)->now, 5);
    assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_OK);
    assert_false(mica_is_enabled(w.world, entity));
    assert_valid(w.world);
    assert_int_equal(mica_enable(w.world, entity), MICA_OK);
    assert_int_equal(mica_enable(w.world, entity), MICA_OK);
    assert_true(mica_is_enabled(w.world, entity));
    assert_false(mica_is_enabled(w.world, bare));
    watched_end(&w);
}

static void who_is_not_alive_is_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_component shield = mica_register(w.world, Shield);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Shield, {1}));
    assert_int_equal(mica_destroy(w.world, entity), MICA_OK);
    const mica_entity handles[] = {entity, MICA_NULL, mica_entity_make(1, MICA_GENERATION_MAX)};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_disable(w.world, handles[i]), MICA_STALE);
        assert_said("mica_entity_enable");
        assert_int_equal(mica_enable(w.world, handles[i]), MICA_STALE);
        assert_int_equal(mica_entity_enable_component(w.world, handles[i], shield, false), MICA_STALE);
        assert_said("mica_entity_enable_component");
        assert_int_equal(mica_kill(w.world, handles[i]), MICA_STALE);
        assert_said("mica_entity_kill");
        assert_false(mica_is_enabled(w.world, handles[i]));
        assert_false(mica_is_component_enabled(w.world, handles[i], Shield));
        assert_false(mica_is_killed(w.world, handles[i]));
    }
    assert_int_equal(mica_entity_enable(NULL, entity, false), MICA_INVALID);
    assert_int_equal(mica_entity_enable_component(NULL, entity, shield, false), MICA_INVALID);
    assert_int_equal(mica_entity_kill(NULL, entity), MICA_INVALID);
    assert_int_equal(mica_world_refresh(NULL), -1);
    assert_false(mica_entity_enabled(NULL, entity));
    assert_false(mica_entity_component_enabled(NULL, entity, shield));
    assert_false(mica_entity_killed(NULL, entity));
    watched_end(&w);
}

static void an_open_walk_locks_all_of_it(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Shield, {1}));
    mica_each (mica_query_of(w.world, mica_read(Shield)), it) {
        assert_int_equal(mica_disable(w.world, entity), MICA_LOCKED);
        assert_int_equal(mica_disable_component(w.world, entity, Shield), MICA_LOCKED);
        assert_int_equal(mica_kill(w.world, entity), MICA_LOCKED);
        assert_int_equal(mica_refresh(w.world), -1);
        assert_int_equal(mica_last_result(), MICA_LOCKED);
        assert_said("mica_world_refresh");
    }
    assert_true(mica_is_enabled(w.world, entity));
    assert_true(mica_is_component_enabled(w.world, entity, Shield));
    assert_false(mica_is_killed(w.world, entity));
    watched_end(&w);
}

// Components

static void a_disabled_component_is_there_and_keeps_its_value(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = spawn_toggles(w.world, 3);
    const mica_entity other = spawn_toggles(w.world, 4);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        const mica_component id = mica_world_component(w.world, toggle_types[i]);
        assert_true(mica_entity_component_enabled(w.world, entity, id));
        assert_int_equal(mica_entity_enable_component(w.world, entity, id, false), MICA_OK);
        assert_int_equal(mica_entity_enable_component(w.world, entity, id, false), MICA_OK);
        assert_false(mica_entity_component_enabled(w.world, entity, id));
        assert_true(mica_entity_component_enabled(w.world, other, id));
        assert_true(mica_entity_has(w.world, entity, id));
        assert_valid(w.world);
    }
    assert_true(mica_is_enabled(w.world, entity));
    assert_int_equal(mica_get(w.world, entity, Shield)->now, 3);
    assert_int_equal(mica_set(w.world, entity, Glow, {9}), MICA_OK); // replacing a value enables nothing
    assert_int_equal(mica_get(w.world, entity, Glow)->now, 9);
    assert_false(mica_is_component_enabled(w.world, entity, Glow));
    assert_int_equal(mica_enable_component(w.world, entity, Glow), MICA_OK);
    assert_true(mica_is_component_enabled(w.world, entity, Glow));
    assert_false(mica_is_component_enabled(w.world, entity, Shield));
    watched_end(&w);
}

static void only_what_can_be_disabled_and_is_there_is(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    assert_int_equal(mica_disable_component(w.world, entity, Health), MICA_INVALID);
    assert_said("Health has no trait toggle");
    assert_int_equal(mica_disable_component(w.world, entity, Shield), MICA_ABSENT);
    assert_said("does not have Shield");
    assert_int_equal(mica_enable_component(w.world, entity, Glow), MICA_ABSENT);
    assert_said("does not have Glow");
    assert_int_equal(mica_entity_enable_component(w.world, entity, 5000, false), MICA_UNKNOWN);
    assert_said("5000");
    assert_int_equal(mica_entity_enable_component(w.world, entity, 0, false), MICA_UNKNOWN);
    assert_true(mica_is_component_enabled(w.world, entity, Health));
    assert_false(mica_is_component_enabled(w.world, entity, Shield));
    assert_valid(w.world);
    watched_end(&w);
}

static void a_component_that_is_removed_and_added_is_enabled(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = spawn_toggles(w.world, 1);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        const mica_component id = mica_world_component(w.world, toggle_types[i]);
        assert_int_equal(mica_entity_enable_component(w.world, entity, id, false), MICA_OK);
        assert_int_equal(mica_entity_remove(w.world, entity, id), MICA_OK);
        assert_valid(w.world);
        assert_int_equal(mica_entity_add(w.world, entity, id, NULL), MICA_OK);
        assert_true(mica_entity_component_enabled(w.world, entity, id));
    }
    watched_end(&w);
}

static void other_components_come_and_go_beside_a_disabled_one(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = spawn_toggles(w.world, 1);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        assert_int_equal(
            mica_entity_enable_component(w.world, entity, mica_world_component(w.world, toggle_types[i]), false),
            MICA_OK);
    }
    assert_int_equal(mica_add(w.world, entity, Frozen), MICA_OK);
    assert_int_equal(mica_remove(w.world, entity, Health), MICA_OK);
    assert_int_equal(mica_remove(w.world, entity, Hostile), MICA_OK);
    assert_int_equal(mica_remove(w.world, entity, Noisy), MICA_OK);
    assert_false(mica_is_component_enabled(w.world, entity, Shield));
    assert_false(mica_is_component_enabled(w.world, entity, Glow));
    assert_valid(w.world);
    watched_end(&w);
}

static void rows_moved_in_bulk_take_their_marks_along(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 500 };
    static mica_entity entities[COUNT], parents[COUNT];
    const mica_entity root = mica_create(w.world);
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Health, {i}), mica_value_of(Shield, {i}));
        parents[i] = root;
        assert_int_equal(mica_entity_enable(w.world, entities[i], i % 3 != 0), MICA_OK);
        assert_int_equal(i % 7 == 0 ? mica_kill(w.world, entities[i]) : MICA_OK, MICA_OK);
        assert_int_equal(i % 5 == 0 ? mica_disable_component(w.world, entities[i], Shield) : MICA_OK, MICA_OK);
    }
    assert_int_equal(mica_set_parent_many(w.world, entities, parents, COUNT), MICA_OK);
    assert_valid(w.world);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_is_enabled(w.world, entities[i]), i % 3 != 0);
        assert_int_equal(mica_is_killed(w.world, entities[i]), i % 7 == 0);
        assert_int_equal(mica_is_component_enabled(w.world, entities[i], Shield), i % 5 != 0);
    }
    assert_int_equal(mica_refresh(w.world), (COUNT + 6) / 7);
    assert_int_equal(mica_child_count(w.world, root), COUNT - (COUNT + 6) / 7);
    assert_valid(w.world);
    watched_end(&w);
}

// What ends marks

static void a_slots_next_entity_is_not_marked(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity first = spawn_toggles(w.world, 1);
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        assert_int_equal(
            mica_entity_enable_component(w.world, first, mica_world_component(w.world, toggle_types[i]), false),
            MICA_OK);
    }
    assert_int_equal(mica_disable(w.world, first), MICA_OK);
    assert_int_equal(mica_kill(w.world, first), MICA_OK);
    assert_int_equal(mica_destroy(w.world, first), MICA_OK);
    assert_valid(w.world);
    const mica_entity next = spawn_toggles(w.world, 2);
    assert_int_equal(mica_entity_index(next), mica_entity_index(first));
    assert_true(mica_is_enabled(w.world, next));
    assert_false(mica_is_killed(w.world, next));
    for (int32_t i = 0; i < TOGGLE_COUNT; i++) {
        assert_true(mica_entity_component_enabled(w.world, next, mica_world_component(w.world, toggle_types[i])));
    }
    assert_int_equal(mica_refresh(w.world), 0);
    assert_true(mica_alive(w.world, next));
    watched_end(&w);
}

static void clearing_the_world_takes_all_marks_away(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 100; i++) {
        const mica_entity entity = spawn_toggles(w.world, i);
        assert_int_equal(i % 2 == 0 ? mica_disable(w.world, entity) : mica_kill(w.world, entity), MICA_OK);
        assert_int_equal(mica_disable_component(w.world, entity, Shield), MICA_OK);
        assert_int_equal(mica_disable_component(w.world, entity, Glow), MICA_OK);
    }
    assert_int_equal(mica_world_clear(w.world), MICA_OK);
    assert_valid(w.world);
    assert_int_equal(mica_refresh(w.world), 0);
    const mica_entity entity = spawn_toggles(w.world, 1);
    assert_true(mica_is_enabled(w.world, entity));
    assert_true(mica_is_component_enabled(w.world, entity, Shield));
    assert_true(mica_is_component_enabled(w.world, entity, Glow));
    assert_valid(w.world);
    watched_end(&w);
}

static void a_clone_is_disabled_as_its_source_and_not_killed(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity source = spawn_toggles(w.world, 1);
    assert_int_equal(mica_disable(w.world, source), MICA_OK);
    assert_int_equal(mica_kill(w.world, source), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, source, Shield), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, source, Noisy), MICA_OK);
    const mica_entity clone = mica_clone(w.world, source);
    assert_false(mica_is_enabled(w.world, clone));
    assert_false(mica_is_killed(w.world, clone));
    assert_false(mica_is_component_enabled(w.world, clone, Shield));
    assert_true(mica_is_component_enabled(w.world, clone, Hostile));
    assert_true(mica_is_component_enabled(w.world, clone, Glow));
    assert_false(mica_is_component_enabled(w.world, clone, Noisy));
    assert_valid(w.world);
    watched_end(&w);
}

static void a_clone_without_memory_for_its_marks_is_not_made(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    // The last entity of a page of marks; its clone is the first one of the next.
    enum { COUNT = (1 << 15) - 1 };
    assert_int_equal(mica_spawn_many(w.world, COUNT, NULL, mica_column_of(Health, NULL)), MICA_OK);
    const mica_entity source = mica_entity_make(COUNT, 0);
    assert_true(mica_alive(w.world, source));
    assert_int_equal(mica_set(w.world, source, Shield, {1}), MICA_OK);
    assert_int_equal(mica_disable(w.world, source), MICA_OK);
    assert_int_equal(mica_disable_component(w.world, source, Shield), MICA_OK);
    mica_entity clone = MICA_NULL;
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&w.allocator, n);
        clone = mica_clone(w.world, source);
        if (!test_allocator_fail_stop(&w.allocator)) {
            break;
        }
        failures++;
        assert_null_entity(clone);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_world_entity_count(w.world), COUNT);
        assert_valid(w.world);
    }
    assert_true(failures >= 2); // a page for the entity and one for its component
    assert_int_equal(mica_entity_index(clone), COUNT + 1);
    assert_false(mica_is_enabled(w.world, clone));
    assert_false(mica_is_component_enabled(w.world, clone, Shield));
    watched_end(&w);
}

// Killing

static int32_t ended[16];
static int32_t ended_count;

typedef struct Numbered {
    int32_t number;
} Numbered;

static void numbered_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        ended[ended_count++] = ((const Numbered *)values)[i].number;
    }
}

MICA_COMPONENT_WITH(Numbered, (.hooks = {.destruct = numbered_destruct}));

static void killed_ones_end_by_ascending_index(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[6];
    ended_count = 0;
    for (int32_t i = 0; i < 6; i++) {
        Numbered value = {i};
        entities[i] = mica_create(w.world);
        assert_int_equal(mica_set_from(w.world, entities[i], Numbered, &value), MICA_OK);
    }
    static const int32_t order[] = {4, 1, 3, 4};
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(mica_kill(w.world, entities[order[i]]), MICA_OK); // the last one a second time
    }
    assert_true(mica_is_killed(w.world, entities[4]));
    assert_true(mica_alive(w.world, entities[4]));
    assert_true(mica_is_enabled(w.world, entities[4]));
    assert_int_equal(mica_get(w.world, entities[4], Numbered)->number, 4);
    assert_int_equal(ended_count, 0);
    assert_valid(w.world);
    assert_int_equal(mica_refresh(w.world), 3);
    assert_int_equal(ended_count, 3);
    assert_int_equal(ended[0], 1);
    assert_int_equal(ended[1], 3);
    assert_int_equal(ended[2], 4);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(mica_alive(w.world, entities[i]), i != 1 && i != 3 && i != 4);
        assert_false(mica_is_killed(w.world, entities[i]));
    }
    assert_int_equal(mica_refresh(w.world), 0);
    assert_valid(w.world);
    watched_end(&w);
}

static void enabling_does_not_bring_the_killed_back(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_create(w.world);
    assert_int_equal(mica_kill(w.world, entity), MICA_OK);
    assert_int_equal(mica_disable(w.world, entity), MICA_OK);
    assert_int_equal(mica_enable(w.world, entity), MICA_OK);
    assert_true(mica_is_killed(w.world, entity));
    assert_int_equal(mica_refresh(w.world), 1);
    assert_false(mica_alive(w.world, entity));
    watched_end(&w);
}

static void killed_ones_of_every_page_end(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 100000 };
    static mica_entity entities[COUNT];
    assert_int_equal(mica_spawn_many(w.world, COUNT, entities, mica_column_of(Health, NULL)), MICA_OK);
    for (int32_t i = 0; i < COUNT; i += 3) {
        assert_int_equal(mica_kill(w.world, entities[i]), MICA_OK);
    }
    assert_int_equal(mica_refresh(w.world), (COUNT + 2) / 3);
    assert_int_equal(mica_world_entity_count(w.world), COUNT - (COUNT + 2) / 3);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_alive(w.world, entities[i]), i % 3 != 0);
    }
    assert_valid(w.world);
    watched_end(&w);
}

static void a_refresh_needs_no_memory(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_entity entities[50];
    for (int32_t i = 0; i < 50; i++) {
        entities[i] = spawn_toggles(w.world, i);
        assert_int_equal(mica_disable_component(w.world, entities[i], Glow), MICA_OK);
        assert_int_equal(mica_kill(w.world, entities[i]), MICA_OK);
    }
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(mica_refresh(w.world), 50);
    test_allocator_fail_stop(&w.allocator);
    assert_valid(w.world);
    watched_end(&w);
}

static void children_of_the_killed_move_up_and_killed_ones_end_in_their_turn(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity root = mica_create(w.world);
    const mica_entity parent = mica_create(w.world);
    const mica_entity child = mica_create(w.world);
    const mica_entity grandchild = mica_create(w.world);
    assert_int_equal(mica_set_parent(w.world, parent, root), MICA_OK);
    assert_int_equal(mica_set_parent(w.world, child, parent), MICA_OK);
    assert_int_equal(mica_set_parent(w.world, grandchild, child), MICA_OK);
    assert_int_equal(mica_kill(w.world, child), MICA_OK);
    assert_int_equal(mica_kill(w.world, parent), MICA_OK);
    assert_entity_equal(mica_parent(w.world, grandchild), child);
    assert_int_equal(mica_refresh(w.world), 2);
    assert_entity_equal(mica_parent(w.world, grandchild), root);
    assert_int_equal(mica_world_entity_count(w.world), 2);
    assert_valid(w.world);
    watched_end(&w);
}

// Recording; more of it is in test_commands_visibility.c

static void recorded_marks_stand_in_the_order_of_recording(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity marked = mica_create(w.world);
    const mica_entity cleared = mica_create(w.world);
    mica_commands *commands = mica_commands_create(w.world);
    // What is added in the same buffer can be disabled; what is removed and added again is enabled.
    assert_int_equal(mica_set(commands, marked, Shield, {1}), MICA_OK);
    assert_int_equal(mica_add(commands, marked, Noisy), MICA_OK);
    assert_int_equal(mica_disable_component(commands, marked, Shield), MICA_OK);
    assert_int_equal(mica_disable_component(commands, marked, Noisy), MICA_OK);
    assert_int_equal(mica_set(commands, marked, Health, {1}), MICA_OK);
    assert_int_equal(mica_set(commands, cleared, Shield, {1}), MICA_OK);
    assert_int_equal(mica_set(commands, cleared, Glow, {1}), MICA_OK);
    assert_int_equal(mica_disable_component(commands, cleared, Shield), MICA_OK);
    assert_int_equal(mica_disable_component(commands, cleared, Glow), MICA_OK);
    assert_int_equal(mica_remove(commands, cleared, Shield), MICA_OK);
    assert_int_equal(mica_remove(commands, cleared, Glow), MICA_OK);
    assert_int_equal(mica_set(commands, cleared, Shield, {2}), MICA_OK);
    assert_int_equal(mica_set(commands, cleared, Glow, {2}), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 0);
    assert_false(mica_is_component_enabled(w.world, marked, Shield));
    assert_false(mica_is_component_enabled(w.world, marked, Noisy));
    assert_true(mica_is_component_enabled(w.world, cleared, Shield));
    assert_true(mica_is_component_enabled(w.world, cleared, Glow));
    assert_int_equal(mica_get(w.world, cleared, Glow)->now, 2);
    assert_valid(w.world);
    mica_commands_destroy(commands);
    watched_end(&w);
}

static void what_a_buffer_makes_can_be_marked_in_it(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_commands *commands = mica_commands_create(w.world);
    const mica_entity disabled = mica_spawn(commands, mica_value_of(Shield, {1}), mica_tag(Noisy));
    assert_int_equal(mica_disable(commands, disabled), MICA_OK);
    assert_int_equal(mica_disable_component(commands, disabled, Shield), MICA_OK);
    const mica_entity copy = mica_clone(commands, disabled);
    const mica_entity killed = mica_create(commands);
    assert_int_equal(mica_kill(commands, killed), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 0);
    assert_false(mica_is_enabled(w.world, mica_commands_resolve(commands, disabled)));
    assert_false(mica_is_component_enabled(w.world, mica_commands_resolve(commands, disabled), Shield));
    assert_true(mica_is_component_enabled(w.world, mica_commands_resolve(commands, disabled), Noisy));
    assert_false(mica_is_enabled(w.world, mica_commands_resolve(commands, copy)));
    assert_false(mica_is_component_enabled(w.world, mica_commands_resolve(commands, copy), Shield));
    assert_true(mica_is_killed(w.world, mica_commands_resolve(commands, killed)));
    assert_valid(w.world);
    mica_commands_destroy(commands);
    watched_end(&w);
}

// Systems: what one disables is left out of what the next one walks, and nothing stays locked.

typedef struct system_plan {
    mica_entity target;
    int32_t seen_before;
    int32_t seen_after;
} system_plan;

static void hide_target(mica_run *run) {
    system_plan *plan = mica_run_user(run);
    mica_commands *commands = mica_run_commands(run);
    assert_int_equal(mica_disable_component(mica_run_world(run), plan->target, Shield), MICA_LOCKED);
    assert_int_equal(mica_disable_component(commands, plan->target, Shield), MICA_OK);
    mica_each (run, it) {
        plan->seen_before += it.count;
    }
}

static void count_rows(mica_run *run) {
    system_plan *plan = mica_run_user(run);
    mica_each (run, it) {
        plan->seen_after += it.count;
    }
}

static void a_component_disabled_in_a_system_is_absent_after_the_barrier(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    system_plan plan = {.target = spawn_toggles(w.world, 1)};
    spawn_toggles(w.world, 2);
    mica_system_add(w.world, &(mica_system_def){.name = "hide",
                                                .run = hide_target,
                                                .user = &plan,
                                                .query = {mica_read(Shield), mica_read(Health)}});
    mica_system_add(w.world, &(mica_system_def){.name = "count",
                                                .run = count_rows,
                                                .user = &plan,
                                                .after = {"hide"},
                                                .query = {mica_read(Shield), mica_with(Health)}});
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(plan.seen_before, 2);
    assert_int_equal(plan.seen_after, 1);
    assert_false(mica_is_component_enabled(w.world, plan.target, Shield));
    assert_int_equal(mica_enable_component(w.world, plan.target, Shield), MICA_OK); // not locked any more
    assert_int_equal(mica_add(w.world, plan.target, Frozen), MICA_OK);
    assert_valid(w.world);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disabled_entity_is_alive_and_keeps_what_it_has),
        cmocka_unit_test(who_is_not_alive_is_refused),
        cmocka_unit_test(an_open_walk_locks_all_of_it),
        cmocka_unit_test(a_disabled_component_is_there_and_keeps_its_value),
        cmocka_unit_test(only_what_can_be_disabled_and_is_there_is),
        cmocka_unit_test(a_component_that_is_removed_and_added_is_enabled),
        cmocka_unit_test(other_components_come_and_go_beside_a_disabled_one),
        cmocka_unit_test(rows_moved_in_bulk_take_their_marks_along),
        cmocka_unit_test(a_slots_next_entity_is_not_marked),
        cmocka_unit_test(clearing_the_world_takes_all_marks_away),
        cmocka_unit_test(a_clone_is_disabled_as_its_source_and_not_killed),
        cmocka_unit_test(a_clone_without_memory_for_its_marks_is_not_made),
        cmocka_unit_test(killed_ones_end_by_ascending_index),
        cmocka_unit_test(enabling_does_not_bring_the_killed_back),
        cmocka_unit_test(killed_ones_of_every_page_end),
        cmocka_unit_test(a_refresh_needs_no_memory),
        cmocka_unit_test(children_of_the_killed_move_up_and_killed_ones_end_in_their_turn),
        cmocka_unit_test(recorded_marks_stand_in_the_order_of_recording),
        cmocka_unit_test(what_a_buffer_makes_can_be_marked_in_it),
        cmocka_unit_test(a_component_disabled_in_a_system_is_absent_after_the_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
