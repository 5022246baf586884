// Deltas of values that own something: what hooks write and read comes along, both ways; what is transient stays out.
#include "state/delta_world.h"

#include "state/delta.h"

static void name(mica_world *world, mica_entity entity, const char *text) {
    assert_int_equal(mica_set_name(world, entity, text), MICA_OK);
}

static mica_snapshot *take(mica_world *world) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    assert_non_null(snapshot);
    return snapshot;
}

static void assert_named(const mica_world *world, mica_entity entity, const char *text) {
    assert_true(mica_entity_alive(world, entity));
    assert_string_equal(mica_name_of(world, entity), text);
}

static bool has_name(mica_world *world, mica_entity entity) {
    return mica_entity_has(world, entity, mica_register(world, mica_name));
}

// Names

enum { PEOPLE = 6 };

static void name_all(mica_world *world, mica_entity people[PEOPLE]) {
    static const char *const names[PEOPLE] = {"Anna", "Bertram", "", "Dora", "Emil", "Friederike the Second"};
    for (uint32_t i = 0; i < PEOPLE; i++) {
        people[i] = mica_spawn(world, mica_value_of(Position, {(float)i, 0, 0}));
        name(world, people[i], names[i]);
    }
}

// The first goes, so that the last one takes its row; the others change in all ways there are.
static mica_entity change_names(mica_world *world, const mica_entity people[PEOPLE]) {
    assert_int_equal(mica_destroy(world, people[0]), MICA_OK);
    name(world, people[1], "Bert, now with a name that is longer");
    name(world, people[2], "Carla");
    name(world, people[3], NULL);
    name(world, people[4], "");
    const mica_entity heir = mica_spawn(world, mica_value_of(Position, {9, 9, 9})); // in the slot of the first
    assert_int_equal(mica_entity_index(heir), mica_entity_index(people[0]));
    name(world, heir, "Anna the Second");
    return heir;
}

static void assert_first_names(mica_world *world, const mica_entity people[PEOPLE], mica_entity heir) {
    assert_named(world, people[0], "Anna");
    assert_named(world, people[1], "Bertram");
    assert_named(world, people[2], "");
    assert_true(has_name(world, people[2]));
    assert_named(world, people[3], "Dora");
    assert_named(world, people[4], "Emil");
    assert_named(world, people[5], "Friederike the Second");
    assert_false(mica_entity_alive(world, heir));
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void assert_second_names(mica_world *world, const mica_entity people[PEOPLE], mica_entity heir) {
    assert_false(mica_entity_alive(world, people[0]));
    assert_named(world, people[1], "Bert, now with a name that is longer");
    assert_named(world, people[2], "Carla");
    assert_false(has_name(world, people[3]));
    assert_named(world, people[4], "");
    assert_true(has_name(world, people[4]));
    assert_named(world, people[5], "Friederike the Second");
    assert_named(world, heir, "Anna the Second");
    assert_int_equal(mica_world_validate(world), MICA_OK);
}

static void names_come_change_and_go_both_ways(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity people[PEOPLE];
    name_all(world, people);
    mica_snapshot *a = take(world);
    const mica_entity heir = change_names(world, people);
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    for (int32_t turn = 0; turn < 2; turn++) {
        assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
        assert_first_names(world, people, heir);
        assert_applies(world, &delta, MICA_DELTA_FORWARDS);
        assert_second_names(world, people, heir);
    }
    mica_delta_info info;
    mica_delta_component_info components[2];
    assert_int_equal(mica_delta_describe(delta.data, delta.byte_size, &info, components, 2), MICA_OK);
    assert_string_equal(components[0].name, "Name");
    assert_int_equal(components[0].byte_size, 0);
    assert_int_equal(components[0].added_count, 0); // the heir has its slot's name
    assert_int_equal(components[0].removed_count, 1);
    assert_int_equal(components[0].changed_count, 4);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

static void a_name_that_did_not_change_takes_no_bytes(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity people[PEOPLE];
    name_all(world, people);
    mica_snapshot *a = take(world);
    name(world, people[1], "Bertram");                                  // the same text in other memory
    assert_int_equal(mica_remove(world, people[5], Position), MICA_OK); // comes into another table
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    mica_delta_info info;
    mica_delta_component_info components[2];
    assert_int_equal(mica_delta_describe(delta.data, delta.byte_size, &info, components, 2), MICA_OK);
    assert_int_equal(info.component_count, 1);
    assert_string_equal(components[0].name, "Position");
    assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    assert_named(world, people[5], "Friederike the Second");
    assert_applies(world, &delta, MICA_DELTA_FORWARDS);
    assert_named(world, people[5], "Friederike the Second");
    assert_named(world, people[1], "Bertram");
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

static void deltas_with_names_make_one_or_are_refused(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity people[PEOPLE];
    name_all(world, people);
    mica_snapshot *a = take(world);
    const mica_entity heir = change_names(world, people);
    mica_snapshot *b = take(world);
    name(world, people[2], ""); // as it was at first
    name(world, people[3], "Dorothea");
    assert_int_equal(mica_destroy(world, people[4]), MICA_OK);
    mica_snapshot *c = take(world);
    delta_bytes ab = delta_between(a, b);
    delta_bytes bc = delta_between(b, c);
    delta_bytes joined = delta_bytes_of(mica_delta_compose(ab.data, ab.byte_size, bc.data, bc.byte_size, NULL));
    delta_bytes direct = delta_between(a, c);
    assert_int_equal(joined.byte_size, direct.byte_size); // nothing is said of the third one's name
    assert_memory_equal(joined.data, direct.data, direct.byte_size);
    assert_applies(world, &joined, MICA_DELTA_BACKWARDS);
    assert_first_names(world, people, heir);
    assert_applies(world, &joined, MICA_DELTA_FORWARDS);
    assert_named(world, people[3], "Dorothea");
    assert_false(mica_entity_alive(world, people[4]));
    assert_null(mica_delta_compose(bc.data, bc.byte_size, ab.data, ab.byte_size, NULL));
    assert_int_equal(mica_last_result(), MICA_MISMATCH);
    mica_delta_release(ab.delta);
    mica_delta_release(bc.delta);
    mica_delta_release(joined.delta);
    mica_delta_release(direct.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_snapshot_release(c);
    mica_world_destroy(world);
}

static void a_whole_state_brings_names_into_any_world(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity people[PEOPLE];
    name_all(world, people);
    const mica_entity heir = change_names(world, people);
    mica_snapshot *snapshot = take(world);
    delta_bytes whole = delta_between(NULL, snapshot);
    mica_world *other = mica_world_create(NULL);
    assert_int_not_equal(mica_register(other, Position), 0);
    const mica_entity stranger = mica_create(other);
    name(other, stranger, "somebody else");
    assert_applies(other, &whole, MICA_DELTA_FORWARDS);
    assert_second_names(other, people, heir);
    mica_world_destroy(other);
    mica_delta_release(whole.delta);
    mica_snapshot_release(snapshot);
    mica_world_destroy(world);
}

static void a_world_with_other_names_is_refused(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity people[PEOPLE];
    name_all(world, people);
    mica_snapshot *a = take(world);
    const mica_entity heir = change_names(world, people);
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    name(world, heir, "Anna the Third");
    assert_int_equal(mica_delta_apply(world, delta.data, delta.byte_size, MICA_DELTA_BACKWARDS, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "Name"));
    assert_named(world, heir, "Anna the Third");
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

// Bytes from anywhere

static uint8_t *find_text(const mi_bytes *bytes, const char *text) {
    const size_t length = strlen(text);
    for (size_t at = 0; at + length <= bytes->array.count; at++) {
        if (memcmp(bytes->array.data + at, text, length) == 0) {
            return bytes->array.data + at;
        }
    }
    return NULL;
}

static void bytes_that_tell_of_no_name_are_refused(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity entity = mica_create(world);
    name(world, entity, "Anna");
    mica_snapshot *a = take(world);
    name(world, entity, "Bertram");
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    mi_bytes bytes = mi_bytes_in(&heap);
    mi_bytes_put(&bytes, delta.data, delta.byte_size);
    uint8_t *text = find_text(&bytes, "Bertram");
    assert_non_null(text);
    text[3] = 0; // no text has a zero inside
    assert_int_equal(mi_delta_finish(&bytes), MICA_OK);
    assert_int_equal(mica_delta_apply(world, bytes.array.data, bytes.array.count, MICA_DELTA_FORWARDS, NULL),
                     MICA_FORMAT);
    assert_non_null(strstr(mica_last_error(), "Name"));
    assert_named(world, entity, "Anna");
    text[3] = 'X'; // a text, and none that leads to the target
    assert_int_equal(mi_delta_finish(&bytes), MICA_OK);
    assert_int_equal(mica_delta_apply(world, bytes.array.data, bytes.array.count, MICA_DELTA_FORWARDS, NULL),
                     MICA_FORMAT);
    assert_named(world, entity, "Anna");
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mi_bytes_free(&bytes);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

// Reads values by place out of a set with the single place 7 and three streams; whether they are some.
static bool reads_told(const char *lengths, size_t length_count, const char *base, const char *target) {
    mi_heap heap;
    assert_true(mi_heap_init(&heap, NULL));
    mi_bytes bytes = mi_bytes_in(&heap);
    mi_set_writer set = mi_set_writer_in(&heap);
    mi_set_add(&set, 7);
    mi_set_finish(&set, &bytes);
    const char *const streams[] = {lengths, base, target};
    const size_t sizes[] = {length_count, strlen(base), strlen(target)};
    for (uint32_t i = 0; i < 3; i++) {
        mi_bytes_put_varint(&bytes, sizes[i]);
        mi_bytes_put(&bytes, streams[i], sizes[i]);
    }
    mi_source source = mi_source_of(bytes.array.data, bytes.array.count);
    const mi_told_values told = mi_source_told(&source);
    const bool is_fine = mi_source_at_end(&source);
    assert_int_equal(told.places.count, is_fine);
    mi_bytes_free(&bytes);
    mi_set_writer_free(&set);
    return is_fine;
}

static void values_by_place_are_read_as_they_are_written_alone(void **state) {
    (void)state;
    assert_true(reads_told("\x03\x04", 2, "ab", "xyz"));
    assert_true(reads_told("\x00\x01", 2, "", "")); // an empty value comes
    assert_true(reads_told("\x03\x00", 2, "ab", ""));
    assert_false(reads_told("\x00\x00", 2, "", ""));     // nothing comes from nothing
    assert_false(reads_told("\x03\x03", 2, "ab", "ab")); // nothing changes
    assert_false(reads_told("\x03", 1, "ab", ""));
    assert_false(reads_told("\x03\x04\x01", 3, "ab", "xyz"));
    assert_false(reads_told("\x03\x04", 2, "a", "xyz"));
    assert_false(reads_told("\x03\x04", 2, "ab", "xyzz"));
    assert_false(reads_told("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x04", 11, "ab", "xyz"));
}

MICA_STRUCT_NAMED_WITH(Mute, "Told", (.storage = MICA_TABLE, .hooks = OWNED_HOOKS), { int32_t *number; });

static void a_type_whose_values_nobody_reads_here_is_refused(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    const mica_entity holder = mica_create(w.world);
    assert_int_equal(mica_entity_add(w.world, holder, w.kinds[6], NULL), MICA_OK);
    mica_snapshot *snapshot = take(w.world);
    delta_bytes whole = delta_between(NULL, snapshot);
    mica_world *other = mica_world_create(NULL);
    assert_int_not_equal(mica_register(other, Mute), 0);
    assert_int_equal(mica_delta_apply(other, whole.data, whole.byte_size, MICA_DELTA_FORWARDS, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "Told"));
    assert_int_equal(mica_world_entity_count(other), 0);
    mica_world_destroy(other);
    mica_delta_release(whole.delta);
    mica_snapshot_release(snapshot);
    mica_world_destroy(w.world);
}

// What is transient

MICA_NAMED_WITH(Handle, Owned, (.transient = true, .storage = MICA_TABLE, .hooks = OWNED_HOOKS));
MICA_NAMED_WITH(PoolHandle, Owned, (.transient = true, .storage = MICA_POOL, .hooks = OWNED_HOOKS));

static int32_t handle_of(mica_world *world, mica_entity entity) {
    const int32_t number = *mica_get(world, entity, Handle)->number;
    assert_int_equal(*mica_get(world, entity, PoolHandle)->number, number);
    return number;
}

static void set_handle(mica_world *world, mica_entity entity, int32_t number) {
    *mica_get_write(world, entity, Handle)->number = number;
    *mica_get_write(world, entity, PoolHandle)->number = number;
}

static mica_entity spawn_handle(mica_world *world, int32_t number) {
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {(float)number, 0, 0}));
    assert_int_equal(mica_add(world, entity, Handle), MICA_OK);
    assert_int_equal(mica_add(world, entity, PoolHandle), MICA_OK);
    set_handle(world, entity, number);
    return entity;
}

static void transient_values_stay_as_they_are(void **state) {
    (void)state;
    owned_alive = 0;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[4];
    for (int32_t i = 0; i < 4; i++) {
        entities[i] = spawn_handle(world, i + 1);
    }
    mica_snapshot *a = take(world);
    assert_int_equal(mica_destroy(world, entities[0]), MICA_OK); // the last one takes its rows
    set_handle(world, entities[1], 22);
    const mica_entity fresh = spawn_handle(world, 55);
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    delta_bytes whole = delta_between(NULL, a);
    assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    assert_int_equal(handle_of(world, entities[0]), 0); // made anew
    assert_int_equal(handle_of(world, entities[1]), 22);
    assert_int_equal(handle_of(world, entities[2]), 3);
    assert_int_equal(handle_of(world, entities[3]), 4);
    set_handle(world, entities[3], 44);
    assert_applies(world, &whole, MICA_DELTA_FORWARDS);
    assert_int_equal(handle_of(world, entities[1]), 22);
    assert_int_equal(handle_of(world, entities[3]), 44);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_delta_release(delta.delta);
    mica_delta_release(whole.delta);
    assert_false(mica_entity_alive(world, fresh));
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
    assert_int_equal(owned_alive, 0);
}

static void another_entity_in_the_same_row_has_a_transient_value_of_its_own(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity first = spawn_handle(world, 1);
    mica_snapshot *a = take(world);
    assert_int_equal(mica_destroy(world, first), MICA_OK);
    const mica_entity second = spawn_handle(world, 2);
    assert_int_equal(mica_entity_index(first), mica_entity_index(second));
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    assert_int_equal(handle_of(world, first), 0);
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

static void count_run(mica_run *run) {
    ++*mica_run_state(run, Handle)->number;
}

static void a_system_keeps_what_is_transient_of_its_own(void **state) {
    (void)state;
    owned_alive = 0;
    mica_world *world = mica_world_create(NULL);
    const mica_system system =
        mica_system_add(world, &(mica_system_def){.name = "draw", .run = count_run, .state = mica_type_of(Handle)});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_snapshot *a = take(world);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_snapshot *b = take(world);
    delta_bytes delta = delta_between(a, b);
    delta_bytes whole = delta_between(NULL, a);
    const Handle *kept = mica_system_state(world, system);
    assert_applies(world, &delta, MICA_DELTA_BACKWARDS);
    assert_int_equal(mica_world_tick(world), 1);
    assert_int_equal(*kept->number, 2);
    assert_applies(world, &delta, MICA_DELTA_FORWARDS);
    assert_int_equal(mica_world_tick(world), 2);
    assert_int_equal(*kept->number, 2);
    assert_applies(world, &whole, MICA_DELTA_FORWARDS);
    assert_int_equal(mica_world_tick(world), 1);
    assert_int_equal(*kept->number, 2);
    assert_int_equal(mica_snapshot_restore(a, world, NULL), MICA_OK); // which has it all the same
    assert_int_equal(*kept->number, 1);
    mica_delta_release(delta.delta);
    mica_delta_release(whole.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
    assert_int_equal(owned_alive, 0);
}

static void a_system_without_transient_state_is_refused_by_its_part(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_system_add(world, &(mica_system_def){.name = "own", .run = count_run, .state = mica_type_of(Owned)});
    mica_snapshot *a = take(world);
    assert_null(mica_delta_make(NULL, a, NULL));
    assert_int_equal(mica_last_result(), MICA_UNSUPPORTED);
    assert_non_null(strstr(mica_last_error(), "systems"));
    mica_snapshot_release(a);
    mica_world_destroy(world);
}

static void checksums_without_transient_values_know_nothing_of_a_systems_own(void **state) {
    (void)state;
    const mica_checksum_options covered = {.leave_transient = true};
    mica_world *worlds[2];
    for (uint32_t i = 0; i < 2; i++) {
        worlds[i] = mica_world_create(NULL);
        const mica_system system = mica_system_add(
            worlds[i], &(mica_system_def){.name = "draw", .run = count_run, .state = mica_type_of(Handle)});
        *((const Handle *)mica_system_state(worlds[i], system))->number = (int32_t)i;
    }
    uint64_t checksums[2];
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(mica_world_checksum(worlds[i], NULL, &checksums[i]), MICA_UNREFLECTED);
        assert_int_equal(mica_world_checksum(worlds[i], &covered, &checksums[i]), MICA_OK);
    }
    assert_true(checksums[0] == checksums[1]);
    mica_difference difference;
    assert_int_equal(mica_world_compare(worlds[0], worlds[1], &covered, &difference), MICA_OK);
    assert_int_equal(difference.kind, MICA_DIFFERENCE_NONE);
    mica_world_destroy(worlds[0]);
    mica_world_destroy(worlds[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_change_and_go_both_ways),
        cmocka_unit_test(a_name_that_did_not_change_takes_no_bytes),
        cmocka_unit_test(deltas_with_names_make_one_or_are_refused),
        cmocka_unit_test(a_whole_state_brings_names_into_any_world),
        cmocka_unit_test(a_world_with_other_names_is_refused),
        cmocka_unit_test(bytes_that_tell_of_no_name_are_refused),
        cmocka_unit_test(values_by_place_are_read_as_they_are_written_alone),
        cmocka_unit_test(a_type_whose_values_nobody_reads_here_is_refused),
        cmocka_unit_test(transient_values_stay_as_they_are),
        cmocka_unit_test(another_entity_in_the_same_row_has_a_transient_value_of_its_own),
        cmocka_unit_test(a_system_keeps_what_is_transient_of_its_own),
        cmocka_unit_test(a_system_without_transient_state_is_refused_by_its_part),
        cmocka_unit_test(checksums_without_transient_values_know_nothing_of_a_systems_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
