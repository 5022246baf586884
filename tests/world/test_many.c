// Verbs on many entities, gathering and scattering: what is refused and how that is said, and what the model beside the
// single verbs does not ask for.
#include "many_world.h"
#include "support/test_said.h"

#include <stdio.h>

MICA_TAG(Marked);
MICA_STRUCT(Load, { int32_t number, rest[6]; }); // of the size of Long

enum { COUNT = 6 };

// A world with entities that have Health with their number, every second one Position too.
typedef struct crowd {
    fixture f;
    mica_world *world;
    mica_entity entities[COUNT];
    Position positions[COUNT];
    Health healths[COUNT];
} crowd;

static void begin_crowd(crowd *c) {
    begin(&c->f);
    c->world = c->f.world;
    for (int32_t i = 0; i < COUNT; i++) {
        c->entities[i] = mica_spawn(c->world, mica_value_of(Health, {i}));
        c->positions[i] = (Position){(float)i, 0, (float)-i};
        c->healths[i] = (Health){100 + i};
        if (i % 2 != 0) {
            assert_int_equal(mica_set_from(c->world, c->entities[i], Position, &c->positions[i]), MICA_OK);
        }
    }
    mica_error_clear();
}

static void end_crowd(crowd *c) {
    end(&c->f);
}

static int32_t count_of(const crowd *c, mica_type *type) {
    int32_t count = 0;
    for (int32_t i = 0; i < COUNT; i++) {
        count += mica_entity_has(c->world, c->entities[i], mica_world_component(c->world, type));
    }
    return count;
}

static void arrays_and_counts_are_checked(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    const mica_component health = mica_register(c.world, Health);
    assert_int_equal(mica_add_many(c.world, NULL, COUNT, Position, c.positions), MICA_INVALID);
    assert_int_equal(mica_add_many(c.world, c.entities, -1, Position, c.positions), MICA_INVALID);
    assert_int_equal(mica_set_many(c.world, NULL, COUNT, Health, c.healths), MICA_INVALID);
    assert_int_equal(mica_set_many(c.world, c.entities, -1, Health, c.healths), MICA_INVALID);
    assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Health, NULL), MICA_INVALID);
    assert_int_equal(mica_remove_many(c.world, NULL, COUNT, Health), MICA_INVALID);
    assert_int_equal(mica_remove_many(c.world, c.entities, -1, Health), MICA_INVALID);
    assert_int_equal(mica_gather(c.world, NULL, COUNT, Health, c.healths, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_gather(c.world, c.entities, COUNT, Health, NULL, NULL), -1);
    assert_int_equal(mica_gather(c.world, c.entities, -1, Health, c.healths, NULL), -1);
    assert_int_equal(mica_scatter(c.world, c.entities, COUNT, Health, NULL, NULL), -1);
    assert_int_equal(mica_scatter(c.world, c.entities, -1, Health, c.healths, NULL), -1);
    assert_int_equal(mica_entity_add_many(NULL, c.entities, COUNT, health, NULL), MICA_INVALID);
    assert_int_equal(mica_entity_set_many(NULL, c.entities, COUNT, health, c.healths), MICA_INVALID);
    assert_int_equal(mica_entity_remove_many(NULL, c.entities, COUNT, health), MICA_INVALID);
    assert_int_equal(mica_entity_gather(NULL, c.entities, COUNT, health, c.healths, NULL), -1);
    assert_int_equal(mica_entity_scatter(NULL, c.entities, COUNT, health, c.healths, NULL), -1);
    assert_int_equal(count_of(&c, mica_type_of(Health)), COUNT);
    assert_int_equal(count_of(&c, mica_type_of(Position)), COUNT / 2);
    end_crowd(&c);
}

static void of_none_nothing_happens(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    assert_int_equal(mica_add_many(c.world, NULL, 0, Position, NULL), MICA_OK);
    assert_int_equal(mica_set_many(c.world, NULL, 0, Position, NULL), MICA_OK);
    assert_int_equal(mica_remove_many(c.world, NULL, 0, Health), MICA_OK);
    assert_int_equal(mica_gather(c.world, NULL, 0, Health, NULL, NULL), 0);
    assert_int_equal(mica_scatter(c.world, NULL, 0, Health, NULL, NULL), 0);
    assert_int_equal(count_of(&c, mica_type_of(Health)), COUNT);
    end_crowd(&c);
}

static void tags_have_no_values(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    const mica_component frozen = mica_register(c.world, Frozen);
    assert_int_equal(mica_entity_add_many(c.world, c.entities, COUNT, frozen, c.healths), MICA_NO_VALUE);
    assert_int_equal(mica_entity_set_many(c.world, c.entities, COUNT, frozen, NULL), MICA_NO_VALUE);
    assert_int_equal(mica_entity_gather(c.world, c.entities, COUNT, frozen, c.healths, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    assert_int_equal(mica_entity_scatter(c.world, c.entities, COUNT, frozen, c.healths, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_NO_VALUE);
    assert_int_equal(mica_tag_many(c.world, c.entities, COUNT, Frozen), MICA_OK);
    assert_int_equal(count_of(&c, mica_type_of(Frozen)), COUNT);
    assert_int_equal(mica_entity_add_many(c.world, c.entities, COUNT, 999, NULL), MICA_UNKNOWN);
    assert_int_equal(mica_entity_gather(c.world, c.entities, COUNT, 999, c.healths, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    end_crowd(&c);
}

// Wherever the one that is refused stands, it is named, and nobody has changed.
static void one_that_is_stale_is_named_and_nobody_changes(void **state) {
    (void)state;
    for (int32_t at = 0; at < COUNT; at++) {
        crowd c;
        begin_crowd(&c);
        char index[32];
        snprintf(index, sizeof(index), "entities[%d]", (int)at);
        mica_entity named[COUNT];
        memcpy(named, c.entities, sizeof(named));
        named[at] = mica_create(c.world);
        assert_int_equal(mica_destroy(c.world, named[at]), MICA_OK);
        assert_int_equal(mica_tag_many(c.world, named, COUNT, Frozen), MICA_STALE);
        assert_said(index);
        assert_int_equal(mica_set_many(c.world, named, COUNT, Health, c.healths), MICA_STALE);
        assert_said(index);
        assert_int_equal(mica_remove_many(c.world, named, COUNT, Health), MICA_STALE);
        assert_said(index);
        assert_int_equal(count_of(&c, mica_type_of(Frozen)), 0);
        assert_int_equal(count_of(&c, mica_type_of(Health)), COUNT);
        for (int32_t i = 0; i < COUNT; i++) {
            assert_int_equal(mica_get(c.world, c.entities[i], Health)->now, i);
        }
        end_crowd(&c);
    }
}

static void an_add_of_what_is_there_is_named(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    assert_int_equal(mica_add_many(c.world, c.entities, COUNT, Position, c.positions), MICA_EXISTS);
    assert_said("entities[1]");
    assert_said("has Position already");
    assert_int_equal(count_of(&c, mica_type_of(Position)), COUNT / 2);
    end_crowd(&c);
}

static void an_add_to_one_that_is_named_twice_is_refused(void **state) {
    (void)state;
    for (int32_t at = 1; at < COUNT; at++) {
        crowd c;
        begin_crowd(&c);
        char index[32];
        snprintf(index, sizeof(index), "entities[%d]", (int)at);
        c.entities[at] = c.entities[0];
        assert_int_equal(mica_tag_many(c.world, c.entities, COUNT, Frozen), MICA_EXISTS);
        assert_said(index);
        assert_said("twice");
        assert_int_equal(count_of(&c, mica_type_of(Frozen)), 0);
        end_crowd(&c);
    }
}

static void one_alone_is_not_named_any_more_when_memory_was_out(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    mica_result result = MICA_OUT_OF_MEMORY;
    for (uint64_t n = 1; result != MICA_OK && n < 50; n++) {
        test_allocator_fail_at(&c.f.allocator, n);
        result = mica_tag_many(c.world, c.entities, 1, Marked);
        test_allocator_fail_stop(&c.f.allocator);
        assert_true(result == MICA_OK || result == MICA_OUT_OF_MEMORY);
    }
    assert_int_equal(result, MICA_OK);
    assert_int_equal(count_of(&c, mica_type_of(Marked)), 1);
    end_crowd(&c);
}

static void the_last_value_of_one_that_is_named_twice_stays(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    const mica_entity twice[] = {c.entities[0], c.entities[1], c.entities[0]};
    assert_int_equal(mica_set_many(c.world, twice, 3, Position, c.positions), MICA_OK);
    assert_true(mica_get(c.world, c.entities[0], Position)->x == 2);
    assert_int_equal(mica_remove_many(c.world, twice, 3, Position), MICA_OK);
    assert_int_equal(count_of(&c, mica_type_of(Position)), COUNT / 2 - 1);
    assert_int_equal(mica_scatter(c.world, twice, 3, Health, c.healths, NULL), 3);
    assert_int_equal(mica_get(c.world, c.entities[0], Health)->now, 102);
    end_crowd(&c);
}

static void structure_that_is_locked_stays(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    mica_query *query = mica_query_create(c.world, (const mica_term[]){mica_read(Position)}, 1);
    const int32_t table_count = mica_world_statistics(c.world).table_count;
    mica_iter it = mica_query_begin(query);
    assert_int_equal(mica_tag_many(c.world, c.entities, COUNT, Frozen), MICA_LOCKED);
    assert_int_equal(mica_remove_many(c.world, c.entities, COUNT, Health), MICA_LOCKED);
    assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Position, c.positions), MICA_LOCKED);
    assert_int_equal(mica_world_statistics(c.world).table_count, table_count);
    assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Health, c.healths), MICA_OK);
    assert_int_equal(mica_scatter(c.world, c.entities, 1, Health, &(Health){7}, NULL), 1);
    Health values[COUNT];
    assert_int_equal(mica_gather(c.world, c.entities, COUNT, Health, values, NULL), COUNT);
    assert_int_equal(values[0].now, 7);
    assert_int_equal(values[1].now, 101);
    mica_iter_end(&it);
    assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Position, c.positions), MICA_OK);
    assert_int_equal(count_of(&c, mica_type_of(Position)), COUNT);
    mica_query_release(query);
    end_crowd(&c);
}

static void relations_have_verbs_of_their_own(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    const mica_component child_of = mica_register(c.world, mica_child_of);
    const mica_child_of links[COUNT] = {{.parent = c.entities[0]}};
    assert_int_equal(mica_entity_scatter(c.world, c.entities, COUNT, child_of, links, NULL),
                     -1); // nobody is linked yet
    assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    assert_int_equal(mica_set_parent(c.world, c.entities[1], c.entities[0]), MICA_OK);
    assert_int_equal(mica_entity_add_many(c.world, c.entities, COUNT, child_of, links), MICA_NO_ACCESS);
    assert_said("relation");
    assert_int_equal(mica_entity_set_many(c.world, c.entities, COUNT, child_of, links), MICA_NO_ACCESS);
    assert_int_equal(mica_entity_remove_many(c.world, c.entities, COUNT, child_of), MICA_NO_ACCESS);
    assert_int_equal(mica_entity_scatter(c.world, c.entities, COUNT, child_of, links, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    mica_commands *commands = mica_commands_create(c.world);
    assert_int_equal(mica_commands_set_many(commands, c.entities, COUNT, child_of, links), MICA_NO_ACCESS);
    mica_commands_destroy(commands);
    mica_child_of read[COUNT];
    assert_int_equal(mica_gather(c.world, c.entities, COUNT, mica_child_of, read, NULL), 1);
    assert_true(mica_entity_equal(read[1].parent, c.entities[0]));
    end_crowd(&c);
}

// The values of one component, where they stand in rows that are about to move or in a pool.
static void values_may_lie_in_the_world(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    enum { MANY = 40 };
    mica_entity entities[MANY];
    for (int32_t i = 0; i < MANY; i++) {
        entities[i] = mica_spawn(c.world, mica_value_of(Long, {.number = i}));
    }
    const mica_component long_id = mica_register(c.world, Long);
    const mica_component load_id = mica_register(c.world, Load);
    const void *values = mica_entity_get(c.world, entities[0], long_id);
    assert_int_equal(mica_entity_add_many(c.world, entities, MANY, load_id, values), MICA_OK);
    for (int32_t i = 0; i < MANY; i++) {
        assert_int_equal(mica_get(c.world, entities[i], Load)->number, i);
        assert_int_equal(mica_get(c.world, entities[i], Long)->number, i);
    }
    values = mica_entity_get(c.world, entities[1], long_id); // each gets what the next one has
    assert_int_equal(mica_entity_set_many(c.world, entities, MANY - 1, long_id, values), MICA_OK);
    for (int32_t i = 0; i < MANY; i++) {
        assert_int_equal(mica_get(c.world, entities[i], Long)->number, i < MANY - 1 ? i + 1 : i);
    }
    end_crowd(&c);
}

static void move_only_values_are_moved_from_on_success_alone(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    Sole values[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        owned_hold(&values[i].owned, i, c.world);
    }
    const mica_entity stale[] = {c.entities[0], c.entities[1], MICA_NULL};
    assert_int_equal(mica_add_many(c.world, stale, 3, Sole, values), MICA_STALE);
    assert_ptr_equal(values[0].owned.self, &values[0].owned);
    mica_commands *commands = mica_commands_create(c.world);
    assert_int_equal(mica_add_many(commands, stale, 3, Sole, values), MICA_STALE);
    assert_ptr_equal(values[0].owned.self, &values[0].owned);
    assert_int_equal(mica_add_many(commands, c.entities, 2, Sole, values), MICA_OK);
    assert_null(values[0].owned.self);
    assert_int_equal(mica_add_many(c.world, c.entities + 2, COUNT - 2, Sole, values + 2), MICA_OK);
    assert_null(values[2].owned.self);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(*mica_get(c.world, c.entities[i], Sole)->owned.number, i);
    }
    mica_commands_destroy(commands);
    end_crowd(&c);
}

static void mark(const mica_signal *signal) {
    int32_t *count = signal->user;
    ++*count;
    mica_add(signal->commands, signal->entity, Marked);
    assert_int_equal(mica_tag_many(signal->world, &signal->entity, 1, Marked), MICA_LOCKED);
}

static void what_observers_record_is_applied_in_the_end(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    int32_t count = 0;
    const mica_observer_def def = {.on = MICA_ADDED, .type = mica_type_of(Long), .call = mark, .user = &count};
    assert_int_not_equal(mica_observer_connect(c.world, &def).id, 0);
    assert_int_equal(mica_tag_many(c.world, c.entities, COUNT, Long), MICA_OK);
    assert_int_equal(count, COUNT);
    assert_int_equal(count_of(&c, mica_type_of(Marked)), COUNT);
    end_crowd(&c);
}

enum { BUFFER_MAX = 100000 };

typedef struct setter {
    mica_entity entity;
    int32_t count;
    mica_commands *buffers[BUFFER_MAX];
    int32_t buffer_count;
} setter;

static void set_and_fill_memory(const mica_signal *signal) {
    setter *s = signal->user;
    if (s->count++ > 0) {
        return;
    }
    const Health health = {7};
    assert_int_equal(mica_set_many(signal->world, &s->entity, 1, Health, &health), MICA_OK);
    while (s->buffer_count < BUFFER_MAX) {
        mica_commands *buffer = mica_commands_create(signal->world);
        if (buffer == NULL) {
            return;
        }
        s->buffers[s->buffer_count++] = buffer;
    }
}

static void an_observer_that_sets_many_leaves_the_room_that_others_come_to(void **state) {
    (void)state;
    enum { MANY = 20000 }; // rows of several chunks
    static mica_entity entities[MANY];
    static const Position positions[MANY];
    mica_world *world = mica_world_create(&(mica_world_def){.fixed_byte_size = (size_t)8 << 20});
    assert_non_null(world);
    static setter s;
    s = (setter){.entity = mica_spawn(world, mica_value_of(Health, {1}))};
    assert_int_equal(mica_spawn_many(world, MANY, entities, mica_tag(Marked)), MICA_OK);
    mica_on_added(world, Position, set_and_fill_memory, &s);
    assert_int_equal(mica_add_many(world, entities, MANY, Position, positions), MICA_OK);
    assert_int_equal(s.count, MANY);
    assert_int_equal(mica_get(world, s.entity, Health)->now, 7);
    assert_int_equal(mica_world_validate(world), MICA_OK);
    while (s.buffer_count > 0) {
        mica_commands_destroy(s.buffers[--s.buffer_count]);
    }
    mica_world_destroy(world);
}

static void count_calls(const mica_signal *signal) {
    ++*(int32_t *)signal->user;
}

static void scattering_counts_as_a_write_and_tells_no_set(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    int32_t count = 0;
    const mica_observer_def def = {.on = MICA_SET, .type = mica_type_of(Health), .call = count_calls, .user = &count};
    assert_int_not_equal(mica_observer_connect(c.world, &def).id, 0);
    const mica_component health = mica_register(c.world, Health);
    const uint64_t since = mica_world_advance_version(c.world);
    assert_true(mica_entity_component_version(c.world, c.entities[0], health) < mica_world_version(c.world));
    assert_int_equal(mica_scatter(c.world, c.entities, COUNT, Health, c.healths, NULL), COUNT);
    assert_int_equal(count, 0);
    assert_true(mica_entity_component_version(c.world, c.entities[0], health) >= since);
    assert_int_equal(mica_entity_component_version(c.world, c.entities[0], health), mica_world_version(c.world));
    assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Health, c.healths), MICA_OK);
    assert_int_equal(count, COUNT);
    end_crowd(&c);
}

// More than a few blocks, so that every place in one is asked for; some are dead, some lack the component.
static void gathering_zeroes_what_is_not_there(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    enum { MANY = 301 };
    static mica_entity entities[MANY];
    static Position values[MANY];
    static bool found[MANY];
    for (int32_t i = 0; i < MANY; i++) {
        const float number = (float)(i + 1);
        entities[i] =
            i % 5 == 0 ? mica_create(c.world) : mica_spawn(c.world, mica_value_of(Position, {number, 0, -number}));
        if (i % 3 == 0) {
            mica_set(c.world, entities[i], Health, {i});
        }
        if (i % 7 == 0) {
            mica_destroy(c.world, entities[i]);
        }
    }
    entities[MANY - 1] = MICA_NULL;
    memset(values, 0xff, sizeof(values));
    const int32_t count = mica_gather(c.world, entities, MANY, Position, values, found);
    int32_t expected_count = 0;
    for (int32_t i = 0; i < MANY; i++) {
        const bool is_there = i % 5 != 0 && i % 7 != 0 && i != MANY - 1;
        expected_count += is_there;
        assert_int_equal(found[i], is_there);
        assert_true(values[i].x == (is_there ? (float)(i + 1) : 0) && values[i].y == 0);
        values[i].x *= 2;
        values[i].z *= 2;
    }
    assert_int_equal(count, expected_count);
    memset(found, 0xff, sizeof(found));
    assert_int_equal(mica_scatter(c.world, entities, MANY, Position, values, found), expected_count);
    for (int32_t i = 0; i < MANY - 1; i++) {
        assert_int_equal(found[i], i % 5 != 0 && i % 7 != 0);
        const Position *position = found[i] ? mica_get(c.world, entities[i], Position) : NULL;
        assert_true(position == NULL || position->x == (float)(2 * (i + 1)));
    }
    mica_error_clear();
    end_crowd(&c);
}

static void values_with_hooks_are_not_gathered(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    Owned values[COUNT];
    memset(values, 0, sizeof(values));
    assert_int_equal(mica_gather(c.world, c.entities, COUNT, Owned, values, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_said("Owned");
    assert_int_equal(mica_scatter(c.world, c.entities, COUNT, Owned, values, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    end_crowd(&c);
}

static void buffers_record_many_and_skip_one_by_one(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    mica_commands *commands = mica_commands_create(c.world);
    assert_int_equal(mica_add_many(commands, c.entities, COUNT, Position, c.positions), MICA_OK);
    assert_int_equal(mica_commands_count(commands), COUNT);
    assert_int_equal(mica_set_many(commands, c.entities, COUNT, Health, c.healths), MICA_OK);
    assert_int_equal(mica_tag_many(commands, c.entities, COUNT, Frozen), MICA_OK);
    assert_int_equal(mica_remove_many(commands, c.entities, 2, Frozen), MICA_OK);
    assert_int_equal(mica_destroy(c.world, c.entities[COUNT - 1]), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    // Position was there on the other odd ones; three commands came for the dead one.
    assert_int_equal(mica_commands_statistics(commands).skipped_count, COUNT / 2 - 1 + 3);
    assert_int_equal(count_of(&c, mica_type_of(Position)), COUNT - 1);
    assert_int_equal(count_of(&c, mica_type_of(Frozen)), COUNT - 3);
    for (int32_t i = 0; i < COUNT - 1; i++) {
        assert_int_equal(mica_get(c.world, c.entities[i], Health)->now, 100 + i);
    }
    mica_commands_destroy(commands);
    end_crowd(&c);
}

static void buffers_record_many_as_a_whole(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    mica_commands *commands = mica_commands_create(c.world);
    const mica_entity named[] = {c.entities[0], MICA_NULL};
    assert_int_equal(mica_add_many(commands, named, 2, Position, c.positions), MICA_STALE);
    assert_said("index 1");
    assert_int_equal(mica_add_many(commands, NULL, 1, Position, c.positions), MICA_INVALID);
    assert_int_equal(mica_add_many(commands, named, -1, Position, c.positions), MICA_INVALID);
    assert_int_equal(mica_set_many(commands, c.entities, 2, Position, NULL), MICA_INVALID);
    assert_int_equal(mica_commands_set_many(commands, c.entities, 2, mica_register(c.world, Frozen), c.healths),
                     MICA_NO_VALUE);
    assert_int_equal(mica_commands_remove_many(commands, c.entities, 2, 999), MICA_UNKNOWN);
    assert_int_equal(mica_commands_remove_many(NULL, c.entities, 2, 1), MICA_INVALID);
    assert_int_equal(mica_commands_count(commands), 0);
    // A new entity of the buffer may be among them.
    const mica_entity made = mica_create(commands);
    const mica_entity both[] = {c.entities[0], made};
    assert_int_equal(mica_set_many(commands, both, 2, Health, c.healths), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_get(c.world, mica_commands_resolve(commands, made), Health)->now, 101);
    mica_commands_destroy(commands);
    end_crowd(&c);
}

// A frame like the one before takes no memory.
static void rounds_alike_allocate_nothing(void **state) {
    (void)state;
    crowd c;
    begin_crowd(&c);
    Health values[COUNT];
    for (int32_t round = 0; round < 4; round++) {
        const uint64_t before = c.f.allocator.call_count;
        assert_int_equal(mica_tag_many(c.world, c.entities, COUNT, Marked), MICA_OK);
        assert_int_equal(mica_set_many(c.world, c.entities, COUNT, Health, c.healths), MICA_OK);
        assert_int_equal(mica_gather(c.world, c.entities, COUNT, Health, values, NULL), COUNT);
        assert_int_equal(mica_remove_many(c.world, c.entities, COUNT, Marked), MICA_OK);
        assert_true(round < 2 || c.f.allocator.call_count == before);
    }
    end_crowd(&c);
}

int main(void) {
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(arrays_and_counts_are_checked),
        cmocka_unit_test(of_none_nothing_happens),
        cmocka_unit_test(tags_have_no_values),
        cmocka_unit_test(one_that_is_stale_is_named_and_nobody_changes),
        cmocka_unit_test(an_add_of_what_is_there_is_named),
        cmocka_unit_test(an_add_to_one_that_is_named_twice_is_refused),
        cmocka_unit_test(one_alone_is_not_named_any_more_when_memory_was_out),
        cmocka_unit_test(the_last_value_of_one_that_is_named_twice_stays),
        cmocka_unit_test(structure_that_is_locked_stays),
        cmocka_unit_test(relations_have_verbs_of_their_own),
        cmocka_unit_test(values_may_lie_in_the_world),
        cmocka_unit_test(move_only_values_are_moved_from_on_success_alone),
        cmocka_unit_test(what_observers_record_is_applied_in_the_end),
        cmocka_unit_test(an_observer_that_sets_many_leaves_the_room_that_others_come_to),
        cmocka_unit_test(scattering_counts_as_a_write_and_tells_no_set),
        cmocka_unit_test(gathering_zeroes_what_is_not_there),
        cmocka_unit_test(values_with_hooks_are_not_gathered),
        cmocka_unit_test(buffers_record_many_and_skip_one_by_one),
        cmocka_unit_test(buffers_record_many_as_a_whole),
        cmocka_unit_test(rounds_alike_allocate_nothing),
    };
    int failed_count = 0;
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_types(mix);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], cases, NULL, NULL);
    }
    return failed_count;
}
