// Components in lanes through every verb, walk and observer: mostly beside a component of the same C type that lies in
// whole values, which must come to the same.
#include "world_fixture.h"

#include "store/table.h"
#include "world/world.h"

MICA_STRUCT(Corner, {
    int32_t at;
    uint8_t edge;
});
// Has padding, and fields of all sizes; the nested type and the entity are found in lanes too.
MICA_STRUCT_WITH(Whole, (.toggle = true), {
    uint8_t flag;
    double weight;
    char text[5];
    float pair[2];
    Corner corner;
    mica_entity who;
    int16_t small;
});
MICA_NAMED_WITH(Split, Whole, (.layout = MICA_LANES, .toggle = true));
MICA_NAMED_WITH(SplitPosition, Position, (.layout = MICA_LANES));
MICA_NAMED_WITH(SplitVelocity, Position, (.layout = MICA_LANES));
MICA_NAMED_WITH(SplitTracked, Position, (.layout = MICA_LANES, .track_rows = true));
MICA_NAMED_WITH(InPool, Health, (.storage = MICA_POOL));
MICA_NAMED_WITH(InTable, Health, (.storage = MICA_TABLE));

// A component with the value that a pointer points to, as an argument of mica_spawn.
#define GIVEN(T, VALUE_PTR) ((mica_value){.type = mica_type_of(T), .value = (VALUE_PTR)})

static Whole value_of(uint32_t number) {
    Whole value;
    memset(&value, 0, sizeof value); // what is between the fields counts when bytes are compared
    value.flag = (uint8_t)number;
    value.weight = number * 0.5;
    value.text[0] = (char)('a' + number % 26);
    value.pair[0] = (float)number;
    value.pair[1] = -(float)number;
    value.corner.at = (int32_t)number * 7;
    value.corner.edge = (uint8_t)(number >> 3);
    value.who = mica_entity_make(number + 1, 3);
    value.small = (int16_t)number;
    return value;
}

static void begin(watched_world *f) {
    watched_begin(f);
    mica_register(f->world, Corner);
    assert_int_not_equal(mica_register(f->world, Whole), 0);
    assert_int_not_equal(mica_register(f->world, Split), 0);
    mica_error_clear();
}

static void assert_is(mica_world *world, mica_entity entity, const Whole *expected) {
    Split value;
    memset(&value, 0x55, sizeof value);
    assert_true(mica_load_of(world, entity, Split, &value));
    assert_memory_equal(&value, expected, sizeof value);
}

// Verbs

static void values_come_back_from_every_verb(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    Whole value = value_of(1);
    const mica_entity spawned = mica_spawn(f.world, mica_value_of(Health, {1}), GIVEN(Split, &value));
    assert_is(f.world, spawned, &value);
    value = value_of(2);
    assert_int_equal(mica_set_from(f.world, spawned, Split, &value), MICA_OK);
    assert_is(f.world, spawned, &value);
    const mica_entity clone = mica_clone(f.world, spawned);
    assert_is(f.world, clone, &value);
    value = value_of(3);
    assert_int_equal(mica_store_of(f.world, clone, Split, &value), MICA_OK);
    assert_is(f.world, clone, &value);
    assert_int_equal(mica_remove(f.world, clone, Health), MICA_OK); // to another table
    assert_is(f.world, clone, &value);
    assert_int_equal(mica_remove(f.world, clone, Split), MICA_OK);
    assert_false(mica_has(f.world, clone, Split));
    assert_false(mica_load_of(f.world, clone, Split, &value));
    assert_int_equal(mica_add(f.world, clone, Split), MICA_OK);
    assert_true(mica_has(f.world, clone, Split));
    memset(&value, 0, sizeof value);
    assert_is(f.world, clone, &value);
    assert_int_equal(mica_add(f.world, clone, Split), MICA_EXISTS);
    value = value_of(2);
    assert_is(f.world, spawned, &value);
    assert_valid(f.world);
    watched_end(&f);
}

static void what_has_no_address_is_refused_by_address(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const Whole value = value_of(5);
    const mica_entity entity = mica_create(f.world);
    assert_null(mica_get(f.world, entity, Split)); // it is not there: no error
    assert_int_equal(mica_last_result(), MICA_OK);
    mica_set_from(f.world, entity, Split, &value);
    mica_set_from(f.world, entity, Whole, &value);
    for (int32_t i = 0; i < 2; i++) { // the second time the descriptor is known to inline functions
        mica_error_clear();
        assert_null(mica_get(f.world, entity, Split));
        assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
        assert_said("mica_entity_get: Split lies in lanes, an array a field, and has no address: mica_entity_load");
    }
    assert_null(mica_get_write(f.world, entity, Split));
    assert_said("mica_entity_get_write: Split lies in lanes");
    mica_query *query = mica_query_of(f.world, mica_write(Split), mica_read(Whole));
    mica_each (query, it) {
        mica_error_clear();
        assert_null(mica_write_of(it, Split));
        assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
        assert_said("Split lies in lanes, an array a field: mica_lane and mica_lane_read hand those out");
        assert_null(mica_read_of(it, Split));
        assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
        assert_null(mica_lane_read(it, Whole, weight));
        assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
        assert_said("Whole does not lie in lanes: mica_write_of and mica_read_of hand out its values");
        assert_null(mica_lane(it, Whole, weight));
        assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
        assert_null(mica_lane(it, SplitPosition, x));
        assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
        assert_null(mica_iter_read_lane(&it, mica_type_of(Split), 9, 4));
        assert_int_equal(mica_last_result(), MICA_INVALID);
        assert_said("Split has no field of 4 bytes that begins at byte 9");
        assert_int_equal(mica_iter_load(&it, mica_type_of(Split), 1, &(Split){0}), MICA_INVALID);
        assert_said("the span has 1 rows, and no row 1");
        assert_int_equal(mica_iter_load(&it, mica_type_of(Split), 0, NULL), MICA_INVALID);
        assert_int_equal(mica_iter_store(&it, mica_type_of(Whole), 0, &value), MICA_NO_ACCESS);
    }
    mica_iter closed = mica_query_begin(query);
    mica_iter_end(&closed);
    assert_null(mica_lane_read(closed, Split, weight));
    assert_said("the walk is not open");
    watched_end(&f);
}

static int compare_nothing(const mica_element *a, const mica_element *b, void *user) {
    (void)a;
    (void)b;
    (void)user;
    return 0;
}

static void an_order_takes_no_key_in_lanes(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_query *query = mica_query_of(f.world, mica_read(Split));
    assert_null(mica_order_create(query, mica_register(f.world, Split), compare_nothing, NULL));
    assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
    assert_said("Split lies in lanes and has no values at addresses to be compared");
    watched_end(&f);
}

static void loads_and_stores_work_for_whole_values_too(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_value_of(Position, {1, 2, 3}));
    Position value = {0, 0, 0};
    assert_true(mica_load_of(f.world, entity, Position, &value));
    assert_true(value.x == 1 && value.y == 2 && value.z == 3);
    assert_int_equal(mica_store_of(f.world, entity, Position, &((Position){4, 5, 6})), MICA_OK);
    assert_true(mica_get(f.world, entity, Position)->y == 5);
    assert_int_equal(mica_store_of(f.world, entity, Health, &((Health){1})), MICA_ABSENT);
    assert_false(mica_load_of(f.world, entity, Health, &((Health){1})));
    mica_query *query = mica_query_of(f.world, mica_write(Position));
    mica_each (query, it) {
        assert_true(mica_load(it, Position, 0).z == 6);
        assert_int_equal(mica_store(it, Position, 0, {7, 8, 9}), MICA_OK);
        assert_true(mica_load(it, Position, 0).x == 7);
    }
    int32_t *number = NULL;
    Owned owned = {.number = number};
    mica_add(f.world, entity, Owned);
    assert_false(mica_load_of(f.world, entity, Owned, &owned));
    assert_int_equal(mica_last_result(), MICA_NO_COPY);
    assert_int_equal(mica_store_of(f.world, entity, Owned, &owned), MICA_NO_COPY);
    assert_false(mica_entity_load(f.world, entity, mica_register(f.world, Frozen), &value));
    mica_destroy(f.world, entity);
    assert_false(mica_load_of(f.world, entity, Position, &value));
    assert_int_equal(mica_last_result(), MICA_STALE);
    watched_end(&f);
}

typedef struct patching {
    Whole seen;
    Whole given;
} patching;

static void patch_value(void *value, void *user) {
    patching *about = user;
    assert_int_equal((uintptr_t)value % _Alignof(Whole), 0);
    memcpy(&about->seen, value, sizeof about->seen);
    memcpy(value, &about->given, sizeof about->given);
}

static void a_patch_sees_and_leaves_a_whole_value(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const Whole first = value_of(8);
    const mica_entity entity = mica_spawn(f.world, GIVEN(Split, &first));
    patching about = {.given = value_of(9)};
    assert_int_equal(mica_patch(f.world, entity, Split, patch_value, &about), MICA_OK);
    assert_memory_equal(&about.seen, &first, sizeof first);
    assert_is(f.world, entity, &about.given);
    watched_end(&f);
}

// Many

enum { MANY = 20000 };

static Whole many_values[MANY];

static void rows_of_many_chunks_grow_and_close_their_holes(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_entity *entities = test_allocator_hooks(&f.allocator).allocate(&f.allocator, MANY * sizeof(mica_entity), 8);
    for (uint32_t i = 0; i < MANY; i++) {
        many_values[i] = value_of(i);
    }
    for (uint32_t i = 0; i < 100; i++) { // the first chunk grows
        entities[i] = mica_spawn(f.world, GIVEN(Split, &many_values[i]));
    }
    assert_int_equal(mica_spawn_many(f.world, MANY - 100, entities + 100, mica_column_of(Split, many_values + 100)),
                     MICA_OK);
    for (uint32_t i = 0; i < MANY; i += 7) {
        assert_is(f.world, entities[i], &many_values[i]);
    }
    for (uint32_t i = 0; i < MANY; i += 2) {
        assert_int_equal(mica_destroy(f.world, entities[i]), MICA_OK);
    }
    for (uint32_t i = 1; i < MANY; i += 2) {
        assert_is(f.world, entities[i], &many_values[i]);
    }
    assert_valid(f.world);
    assert_int_equal(mica_world_trim(f.world), MICA_OK);
    assert_is(f.world, entities[MANY - 1], &many_values[MANY - 1]);
    assert_int_equal(mica_world_clear(f.world), MICA_OK);
    assert_valid(f.world);
    test_allocator_hooks(&f.allocator).release(&f.allocator, entities, MANY * sizeof(mica_entity), 8);
    watched_end(&f);
}

static void fill_values(void *user, const mica_spawn_span *span) {
    uint32_t *total = user;
    Split *splits = span->columns[1];
    const Position *split_positions = span->columns[2];
    Whole *wholes = span->columns[0];
    const Whole zero = {0};
    assert_int_equal((uintptr_t)splits % _Alignof(Split), 0);
    for (int32_t i = 0; i < span->count; i++) {
        assert_true(splits[i].weight == zero.weight && splits[i].small == 0 && split_positions[i].y == 0);
        splits[i] = value_of((uint32_t)(span->first + i));
        wholes[i] = splits[i];
    }
    *total += (uint32_t)span->count;
}

static void many_are_filled_in_by_a_callback(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const mica_component components[] = {mica_register(f.world, Whole), mica_register(f.world, Split),
                                         mica_register(f.world, SplitPosition)};
    uint32_t total = 0;
    assert_int_equal(mica_entity_spawn_fill(f.world, components, 3, 9000, fill_values, &total), MICA_OK);
    assert_int_equal(total, 9000);
    uint32_t seen = 0;
    mica_each (mica_query_of(f.world, mica_read(Whole), mica_read(Split)), it) {
        for (int32_t i = 0; i < it.count; i++) {
            const Split split = mica_load(it, Split, i);
            const Whole whole = mica_load(it, Whole, i);
            assert_true(split.weight == whole.weight && split.corner.at == whole.corner.at);
            assert_true(split.who.bits == whole.who.bits && split.small == whole.small);
            seen++;
        }
    }
    assert_int_equal(seen, 9000);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&f.allocator, n);
        const mica_result result = mica_entity_spawn_fill(f.world, components, 3, 3, fill_values, &total);
        if (!test_allocator_fail_stop(&f.allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(mica_world_entity_count(f.world), 9000);
    }
    watched_end(&f);
}

// Walks

static void lanes_are_aligned_and_written_at_full_width(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    for (int32_t i = 0; i < MANY; i++) {
        const float at = (float)i;
        mica_spawn(f.world, mica_value_of(SplitPosition, {at, at + 0.25f, at + 0.5f}),
                   mica_value_of(SplitVelocity, {1, 2, 3}));
    }
    mica_query *query = mica_query_of(f.world, mica_write(SplitPosition), mica_read(SplitVelocity));
    mica_each (query, it) {
        float *x = mica_lane(it, SplitPosition, x);
        float *y = mica_lane(it, SplitPosition, y);
        float *z = mica_lane(it, SplitPosition, z);
        const float *speed = mica_lane_read(it, SplitVelocity, z);
        assert_int_equal((uintptr_t)x % 64 + (uintptr_t)y % 64 + (uintptr_t)z % 64 + (uintptr_t)speed % 64, 0);
        assert_ptr_equal(mica_lane_read(it, SplitPosition, y), y); // who writes may read
        for (int32_t i = 0; i < it.count; i++) {
            x[i] += mica_lane_read(it, SplitVelocity, x)[i];
            y[i] -= 1;
            z[i] += speed[i];
        }
    }
    int32_t count = 0;
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++, count++) {
            const SplitPosition position = mica_load(it, SplitPosition, i);
            assert_true(position.x == (float)count + 1 && position.y == (float)count - 0.75f);
            assert_true(position.z == (float)count + 3.5f);
        }
    }
    assert_int_equal(count, MANY);
    watched_end(&f);
}

static void arrays_and_structs_are_one_lane(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    for (uint32_t i = 0; i < 30; i++) {
        const Whole value = value_of(i);
        mica_spawn(f.world, GIVEN(Split, &value));
    }
    mica_each (mica_query_of(f.world, mica_write(Split)), it) {
        const Corner *corner = mica_lane_read(it, Split, corner);
        const mica_entity *who = mica_lane_read(it, Split, who);
        float(*pair)[2] = mica_lane(it, Split, pair);
        char(*text)[5] = mica_lane(it, Split, text);
        for (int32_t i = 0; i < it.count; i++) {
            assert_int_equal(corner[i].at, i * 7);
            assert_int_equal(mica_entity_index(who[i]), i + 1);
            assert_true(pair[i][1] == -(float)i);
            pair[i][0] = 100;
            text[i][4] = 'z';
        }
        assert_true(mica_load(it, Split, 29).pair[0] == 100 && mica_load(it, Split, 29).text[4] == 'z');
        assert_true(mica_load(it, Split, 29).pair[1] == -29 && mica_load(it, Split, 28).corner.at == 28 * 7);
    }
    watched_end(&f);
}

static void optional_and_any_of_terms_hand_out_lanes_where_they_are(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_spawn(f.world, mica_value_of(InTable, {1}), mica_value_of(SplitPosition, {1, 2, 3}));
    mica_spawn(f.world, mica_value_of(InTable, {2}));
    mica_spawn(f.world, mica_value_of(InTable, {3}), mica_value_of(SplitVelocity, {4, 5, 6}));
    int32_t without = 0;
    mica_each (mica_query_of(f.world, mica_read(InTable), mica_write_optional(SplitPosition)), it) {
        mica_error_clear();
        float *y = mica_lane(it, SplitPosition, y);
        assert_int_equal(y != NULL, mica_read_of(it, InTable)->now == 1);
        without += y == NULL;
        assert_int_equal(mica_last_result(), MICA_OK);
        assert_int_equal(mica_iter_load(&it, mica_type_of(SplitPosition), 0, &(Position){0}),
                         y == NULL ? MICA_ABSENT : MICA_OK);
    }
    assert_int_equal(without, 2);
    int32_t seen = 0;
    mica_each (mica_query_of(f.world, mica_any_read(1, SplitPosition), mica_any_read(1, SplitVelocity)), it) {
        const float *position = mica_lane_read(it, SplitPosition, x);
        const float *velocity = mica_lane_read(it, SplitVelocity, x);
        assert_true((position == NULL) != (velocity == NULL));
        assert_true(position != NULL ? *position == 1 : *velocity == 4);
        seen += it.count;
    }
    assert_int_equal(seen, 2);
    watched_end(&f);
}

// The entities of a pool stand in another order than their rows: spans end where rows do not follow each other.
static void spans_of_walks_that_a_pool_drives_follow_the_rows(void **state) {
    (void)state;
    enum { COUNT = 600 };
    watched_world f;
    begin(&f);
    mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(f.world, mica_value_of(SplitPosition, {(float)i, 0, 0}));
    }
    test_random random = {.state = 7};
    for (uint32_t i = COUNT; i-- > 1;) {
        const uint32_t k = i > 400 ? i : test_random_below(&random, i); // some in order, some not
        const mica_entity other = entities[k];
        entities[k] = entities[i];
        entities[i] = other;
    }
    for (int32_t i = 0; i < COUNT; i++) {
        mica_set(f.world, entities[i], InPool, {i});
    }
    mica_query *query = mica_query_of(f.world, mica_read(InPool), mica_write(SplitPosition));
    int32_t seen = 0;
    mica_each (query, it) {
        const InPool *numbers = mica_read_of(it, InPool);
        const float *x = mica_lane_read(it, SplitPosition, x);
        float *y = mica_lane(it, SplitPosition, y);
        for (int32_t i = 0; i < it.count; i++, seen++) {
            SplitPosition value;
            assert_true(mica_load_of(f.world, it.entities[i], SplitPosition, &value));
            assert_true(x[i] == value.x);
            y[i] = (float)numbers[i].now;
        }
    }
    assert_int_equal(seen, COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        SplitPosition value;
        assert_true(mica_load_of(f.world, entities[i], SplitPosition, &value));
        assert_true(value.y == (float)i);
    }
    watched_end(&f);
}

static void hidden_rows_are_left_out_of_spans(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_entity entities[40];
    for (int32_t i = 0; i < 40; i++) {
        entities[i] = mica_spawn(f.world, mica_value_of(SplitPosition, {(float)i, 0, 0}));
    }
    mica_disable(f.world, entities[3]);
    mica_kill(f.world, entities[20]);
    int32_t seen = 0;
    mica_each (mica_query_of(f.world, mica_write(SplitPosition)), it) {
        const float *x = mica_lane(it, SplitPosition, x);
        for (int32_t i = 0; i < it.count; i++, seen++) {
            assert_entity_equal(it.entities[i], entities[(int32_t)x[i]]);
            assert_false(x[i] == 3 || x[i] == 20);
        }
    }
    assert_int_equal(seen, 38);
    watched_end(&f);
}

static void disabled_components_are_handed_out_to_nobody(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const mica_entity on = mica_spawn(f.world, mica_value_of(InTable, {1}), mica_tag(Split));
    const mica_entity off = mica_spawn(f.world, mica_value_of(InTable, {2}), mica_tag(Split));
    assert_int_equal(mica_disable_component(f.world, off, Split), MICA_OK);
    assert_int_equal(mica_query_count(mica_query_of(f.world, mica_read(Split))), 1);
    assert_entity_equal(mica_query_first(mica_query_of(f.world, mica_read(Split))), on);
    mica_each (mica_query_of(f.world, mica_read(InTable), mica_read_optional(Split)), it) {
        assert_int_equal(it.count, 1);
        assert_int_equal(mica_lane_read(it, Split, weight) != NULL, mica_read_of(it, InTable)->now == 1);
    }
    watched_end(&f);
}

// Changes

static int32_t changed_since(mica_query *query, uint64_t version) {
    int32_t count = 0;
    mica_each_since(query, version, it) {
        count += it.count;
    }
    return count;
}

static void writing_a_lane_marks_the_component(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const mica_entity entity = mica_spawn(f.world, mica_tag(SplitPosition), mica_tag(SplitVelocity));
    mica_query *changed = mica_query_of(f.world, mica_changed(SplitPosition));
    mica_query *walked = mica_query_of(f.world, mica_write(SplitPosition), mica_write(SplitVelocity));
    uint64_t version = mica_world_advance_version(f.world);
    mica_each (walked, it) {
        assert_non_null(mica_lane_read(it, SplitPosition, y));
        assert_non_null(mica_lane(it, SplitVelocity, y));
    }
    assert_int_equal(changed_since(changed, version), 0);
    mica_each (walked, it) {
        assert_non_null(mica_lane(it, SplitPosition, y));
    }
    assert_int_equal(changed_since(changed, version), 1);
    const mica_component component = mica_register(f.world, SplitPosition);
    assert_true(mica_entity_component_version(f.world, entity, component) > version);
    version = mica_world_advance_version(f.world);
    assert_true(mica_entity_component_version(f.world, entity, component) <= version);
    mica_set(f.world, entity, SplitPosition, {1, 2, 3});
    assert_true(mica_entity_component_version(f.world, entity, component) > version);
    assert_int_equal(changed_since(changed, version), 1);
    version = mica_world_advance_version(f.world);
    mica_store_of(f.world, entity, SplitPosition, &((Position){4, 5, 6}));
    assert_int_equal(changed_since(changed, version), 1);
    version = mica_world_advance_version(f.world);
    mica_add(f.world, entity, InTable); // takes the stamp along
    assert_int_equal(changed_since(changed, version), 0);
    watched_end(&f);
}

static void rows_are_tracked_one_by_one(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_entity entities[10];
    for (int32_t i = 0; i < 10; i++) {
        entities[i] = mica_spawn(f.world, mica_value_of(SplitTracked, {(float)i, 0, 0}));
    }
    mica_query *changed = mica_query_of(f.world, mica_changed(SplitTracked), mica_read(SplitTracked));
    uint64_t version = mica_world_advance_version(f.world);
    mica_each (mica_query_of(f.world, mica_write_marked(SplitTracked)), it) {
        float *x = mica_lane(it, SplitTracked, x);
        x[2] = 20;
        assert_int_equal(mica_mark(it, SplitTracked, 2), MICA_OK);
        assert_int_equal(mica_store(it, SplitTracked, 7, {70, 0, 0}), MICA_OK);
        assert_int_equal(mica_mark(it, SplitTracked, 10), MICA_INVALID);
    }
    int32_t seen = 0;
    mica_each_since(changed, version, it) {
        for (int32_t i = 0; i < it.count; i++, seen++) {
            assert_true(mica_lane_read(it, SplitTracked, x)[i] == (seen == 0 ? 20 : 70));
        }
    }
    assert_int_equal(seen, 2);
    version = mica_world_advance_version(f.world);
    mica_set(f.world, entities[4], SplitTracked, {1, 1, 1});
    assert_int_equal(changed_since(changed, version), 1);
    version = mica_world_advance_version(f.world);
    mica_each (mica_query_of(f.world, mica_write(SplitTracked)), it) {
        assert_non_null(mica_lane(it, SplitTracked, x));
    }
    assert_int_equal(changed_since(changed, version), 10);
    watched_end(&f);
}

// Parts around

static void commands_give_values_and_resolve_placeholders(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_commands *commands = mica_commands_create(f.world);
    const mica_entity old = mica_spawn(f.world, mica_tag(Split));
    Whole value = value_of(11);
    const mica_entity first = mica_commands_spawn(commands, &GIVEN(Split, &value), 1);
    value.who = first;
    assert_int_equal(mica_set_from(commands, old, Split, &value), MICA_OK);
    const mica_entity second = mica_commands_clone(commands, old);
    mica_add(commands, first, InTable);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    const mica_entity made = mica_commands_resolve(commands, first);
    const mica_entity cloned = mica_commands_resolve(commands, second);
    value = value_of(11);
    assert_is(f.world, made, &value);
    value.who = made;
    assert_is(f.world, old, &value);
    assert_is(f.world, cloned, &value);
    assert_valid(f.world);
    // Gone and back within one fold: constructed anew, in the same table.
    mica_remove(commands, old, Split);
    mica_add(commands, old, Split);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    memset(&value, 0, sizeof value);
    assert_is(f.world, old, &value);
    mica_commands_destroy(commands);
    watched_end(&f);
}

static void an_escaped_placeholder_is_found_in_a_lane(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    mica_commands *commands = mica_commands_create(f.world);
    mica_spawn(f.world, mica_tag(Split));
    const mica_entity owner = mica_spawn(f.world, mica_tag(Split));
    assert_valid(f.world);
    Split value = value_of(1);
    value.who = mica_create(commands);
    mica_store_of(f.world, owner, Split, &value);
    assert_int_equal(mica_world_validate(f.world), MICA_INVALID);
    assert_said("Split.who of ");
    assert_said("which has left its command buffer");
    mica_commands_destroy(commands);
    watched_end(&f);
}

static void links_of_many_move_lanes_along(void **state) {
    (void)state;
    enum { COUNT = 300 };
    watched_world f;
    begin(&f);
    mica_entity children[COUNT];
    mica_entity parents[COUNT];
    const mica_entity parent = mica_create(f.world);
    Whole values[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = value_of(i);
        children[i] = mica_spawn(f.world, GIVEN(Split, &values[i]));
        parents[i] = i % 5 == 0 ? children[0] : parent;
    }
    parents[0] = parent;
    assert_int_equal(mica_set_parent_many(f.world, children, parents, COUNT), MICA_OK);
    assert_int_equal(mica_child_count(f.world, parent) + mica_child_count(f.world, children[0]), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_is(f.world, children[i], &values[i]);
    }
    const mica_entity clone = mica_clone(f.world, children[7]);
    assert_is(f.world, clone, &values[7]);
    assert_entity_equal(mica_parent(f.world, clone), parent);
    assert_valid(f.world);
    watched_end(&f);
}

static void handle_event(const mica_event *event) {
    memcpy(event->user, event->value, sizeof(Split));
}

static void resources_and_events_of_such_a_type_are_whole(void **state) {
    (void)state;
    watched_world f;
    begin(&f);
    const Whole value = value_of(77);
    assert_int_equal(mica_resource_set(f.world, mica_register(f.world, Split), &value), MICA_OK);
    assert_memory_equal(mica_resource(f.world, Split), &value, sizeof value);
    Split heard;
    mica_on_event(f.world, Split, handle_event, &heard);
    assert_int_equal(mica_event_trigger(f.world, mica_register(f.world, Split), &value), MICA_OK);
    assert_memory_equal(&heard, &value, sizeof value);
    watched_end(&f);
}

// The model: whatever happens to the one component happens to the other, and both, and what observers of each are told,
// are compared after every step.

enum { CROWD = 48, STEPS = 4000, TEXT_SIZE = 4096 };

typedef struct model {
    watched_world watched;
    test_random random;
    mica_entity crowd[CROWD];
    mica_commands *commands;
    char told[2][TEXT_SIZE]; // of Whole and of Split
    bool sets_another;       // an observer sets a value inside
} model;

static void note(const mica_signal *signal) {
    model *m = signal->user;
    const bool is_split = signal->component == mica_register(signal->world, Split);
    char *text = m->told[is_split];
    const size_t length = strlen(text);
    Whole value;
    assert_non_null(signal->value);
    assert_int_equal((uintptr_t)signal->value % _Alignof(Whole), 0);
    memcpy(&value, signal->value, sizeof value);
    Whole same;
    assert_true(mica_entity_load(signal->world, signal->entity, signal->component, &same));
    assert_memory_equal(&value, &same, sizeof value);
    snprintf(text + length, TEXT_SIZE - length, "%d %u %u %g %d %d;", (int)signal->kind,
             (unsigned)mica_entity_index(signal->entity), (unsigned)value.flag, value.weight, value.corner.at,
             value.small);
    if (m->sets_another && signal->kind == MICA_ADDED) {
        Whole next = value_of((uint32_t)value.flag + 1);
        assert_int_equal(mica_entity_set(signal->world, signal->entity, signal->component, &next), MICA_OK);
        assert_true(mica_entity_load(signal->world, signal->entity, signal->component, &same));
        assert_memory_equal(&same, &next, sizeof next);
        assert_memory_equal(signal->value, &next, sizeof next); // what is told is what can be read
    }
}

static void connect(model *m, mica_type *type) {
    static const mica_signal_kind kinds[] = {MICA_ADDED, MICA_SET, MICA_REMOVED};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_not_equal(mica_observer_connect_to(m->watched.world, kinds[i], type, note, m).id, 0);
    }
}

static void put_value(void *value, void *user) {
    memcpy(value, user, sizeof(Whole));
}

static void fill_both(void *user, const mica_spawn_span *span) {
    model *m = user;
    for (int32_t i = 0; i < span->count; i++) {
        const Whole value = value_of((uint32_t)(span->first + i) + 5);
        memcpy((Whole *)span->columns[0] + i, &value, sizeof value);
        memcpy((Whole *)span->columns[1] + i, &value, sizeof value);
        m->crowd[(uint32_t)(span->first + i) % 4] = span->entities[i];
    }
}

static void walk_both(const model *m, float number) {
    mica_query *query = mica_query_of(m->watched.world, mica_write(Whole), mica_write(Split));
    mica_each (query, it) {
        Whole *wholes = mica_write_of(it, Whole);
        double *weight = mica_lane(it, Split, weight);
        float(*pair)[2] = mica_lane(it, Split, pair);
        for (int32_t i = 0; i < it.count; i++) {
            assert_true(wholes[i].weight == weight[i]);
            wholes[i].weight += (double)number;
            wholes[i].pair[1] = number;
            weight[i] += (double)number;
            pair[i][1] = number;
        }
    }
}

// Something happens to both components of an entity, one after the other: each time a verb of the caller's world, or
// recorded.
static void change_one(model *m, mica_entity *entity, mica_type *type, uint32_t what, const Whole *value) {
    mica_world *world = m->watched.world;
    const mica_component component = mica_world_component(world, type);
    switch (what) {
    case 0:
        mica_entity_add(world, *entity, component, value);
        break;
    case 1:
        mica_entity_add(world, *entity, component, NULL);
        break;
    case 2:
        mica_entity_set(world, *entity, component, value);
        break;
    case 3:
        mica_entity_remove(world, *entity, component);
        break;
    case 4:
        mica_entity_patch(world, *entity, component, put_value, (void *)(uintptr_t)value);
        break;
    case 5:
        mica_entity_store(world, *entity, component, value);
        break;
    case 6:
        mica_commands_set(m->commands, *entity, component, value);
        break;
    case 7:
        mica_commands_add(m->commands, *entity, component, NULL);
        break;
    case 8:
        mica_commands_remove(m->commands, *entity, component);
        break;
    default:
        mica_entity_enable_component(world, *entity, component, what == 9);
        break;
    }
}

static void change_whole(model *m, mica_entity *entity, uint32_t what, const Whole *value) {
    mica_world *world = m->watched.world;
    switch (what) {
    case 0:
        mica_destroy(world, *entity);
        *entity = mica_spawn(world, GIVEN(Whole, value), GIVEN(Split, value));
        break;
    case 1:
        mica_destroy(world, *entity);
        *entity = mica_clone(world, m->crowd[test_random_below(&m->random, CROWD)]);
        break;
    case 2:
        if (mica_has(world, *entity, InTable)) {
            mica_remove(world, *entity, InTable);
        } else {
            mica_add(world, *entity, InTable);
        }
        break;
    case 3:
        mica_set(world, *entity, InPool, {value->small});
        break;
    case 4:
        mica_commands_apply(m->commands);
        break;
    case 5:
        walk_both(m, (float)value->small);
        break;
    case 6:
        mica_world_trim(world);
        break;
    case 7: {
        const mica_component both[] = {mica_register(world, Whole), mica_register(world, Split)};
        for (uint32_t i = 0; i < 4; i++) {
            mica_destroy(world, m->crowd[i]);
        }
        assert_int_equal(mica_entity_spawn_fill(world, both, 2, 4, fill_both, m), MICA_OK);
        break;
    }
    case 8: {
        const Whole values[] = {*value, value_of(3), value_of(4)};
        for (uint32_t i = 4; i < 7; i++) {
            mica_destroy(world, m->crowd[i]);
        }
        assert_int_equal(mica_spawn_many(world, 3, m->crowd + 4, mica_column_of(Split, values),
                                         mica_column_of(Whole, values), mica_tag(InTable)),
                         MICA_OK);
        break;
    }
    default:
        mica_commands_clone(m->commands, *entity);
        mica_commands_destroy_entity(m->commands, *entity);
        break;
    }
}

static void compare(const model *m, uint32_t step) {
    mica_world *world = m->watched.world;
    if (strcmp(m->told[0], m->told[1]) != 0) {
        fail_msg("step %u: observers were told \"%s\" and \"%s\"", (unsigned)step, m->told[0], m->told[1]);
    }
    for (uint32_t i = 0; i < CROWD; i++) {
        const mica_entity entity = m->crowd[i];
        assert_int_equal(mica_has(world, entity, Whole), mica_has(world, entity, Split));
        if (mica_has(world, entity, Whole)) {
            assert_is(world, entity, mica_get(world, entity, Whole));
            assert_int_equal(mica_is_component_enabled(world, entity, Whole),
                             mica_is_component_enabled(world, entity, Split));
        }
    }
}

static void run_model(uint64_t seed, bool sets_another) {
    static model m;
    memset(&m, 0, sizeof m);
    begin(&m.watched);
    m.random.state = seed;
    m.sets_another = sets_another;
    m.commands = mica_commands_create(m.watched.world);
    connect(&m, mica_type_of(Whole));
    connect(&m, mica_type_of(Split));
    for (uint32_t i = 0; i < CROWD; i++) {
        m.crowd[i] = mica_create(m.watched.world);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        mica_entity *entity = &m.crowd[test_random_below(&m.random, CROWD)];
        const Whole value = value_of(test_random_below(&m.random, 1000));
        const uint32_t what = test_random_below(&m.random, 21);
        if (what < 11) {
            change_one(&m, entity, mica_type_of(Whole), what, &value);
            change_one(&m, entity, mica_type_of(Split), what, &value);
        } else {
            change_whole(&m, entity, what - 11, &value);
        }
        compare(&m, step);
        m.told[0][0] = '\0';
        m.told[1][0] = '\0';
        if (step % 500 == 0) {
            assert_valid(m.watched.world);
        }
    }
    assert_int_equal(mica_world_clear(m.watched.world), MICA_OK);
    compare(&m, STEPS);
    assert_valid(m.watched.world);
    mica_commands_destroy(m.commands);
    watched_end(&m.watched);
}

static void lanes_and_whole_values_come_to_the_same(void **state) {
    (void)state;
    run_model(1, false);
    run_model(2, false);
}

static void observers_may_set_what_they_are_told_of(void **state) {
    (void)state;
    run_model(3, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back_from_every_verb),
        cmocka_unit_test(what_has_no_address_is_refused_by_address),
        cmocka_unit_test(an_order_takes_no_key_in_lanes),
        cmocka_unit_test(loads_and_stores_work_for_whole_values_too),
        cmocka_unit_test(a_patch_sees_and_leaves_a_whole_value),
        cmocka_unit_test(rows_of_many_chunks_grow_and_close_their_holes),
        cmocka_unit_test(many_are_filled_in_by_a_callback),
        cmocka_unit_test(lanes_are_aligned_and_written_at_full_width),
        cmocka_unit_test(arrays_and_structs_are_one_lane),
        cmocka_unit_test(optional_and_any_of_terms_hand_out_lanes_where_they_are),
        cmocka_unit_test(spans_of_walks_that_a_pool_drives_follow_the_rows),
        cmocka_unit_test(hidden_rows_are_left_out_of_spans),
        cmocka_unit_test(disabled_components_are_handed_out_to_nobody),
        cmocka_unit_test(writing_a_lane_marks_the_component),
        cmocka_unit_test(rows_are_tracked_one_by_one),
        cmocka_unit_test(commands_give_values_and_resolve_placeholders),
        cmocka_unit_test(an_escaped_placeholder_is_found_in_a_lane),
        cmocka_unit_test(links_of_many_move_lanes_along),
        cmocka_unit_test(resources_and_events_of_such_a_type_are_whole),
        cmocka_unit_test(lanes_and_whole_values_come_to_the_same),
        cmocka_unit_test(observers_may_set_what_they_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
