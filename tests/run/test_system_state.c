// Systems as a part of a world's state: what each of them keeps, the clock, starting and stopping, and worlds with
// other systems than the state knows.
#include "run/system.h"
#include "world/part_fixture.h"

#include <mica/snapshot.h>

#include "support/test_notes.h"
#include "support/test_shared_world.h"

MICA_STRUCT(Tally, { uint64_t number; });
MICA_STRUCT(Beep, { int32_t number; });
MICA_STRUCT(Alarm, { int32_t number; });

static bool construct_ready(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        ((Tally *)values)[i].number = 42;
    }
    return true;
}
typedef Tally Ready;
MICA_COMPONENT_WITH(Ready, (.hooks = {.construct = construct_ready}));

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){0});
    notes[0] = 0;
    return 0;
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static void step(int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(mica_world_step(world, 0.5f), MICA_OK);
    }
}

static mica_snapshot *take(void) {
    mica_snapshot *snapshot = mica_snapshot_take(world, NULL);
    if (snapshot == NULL) {
        fail_msg("%s", mica_last_error());
    }
    return snapshot;
}

static void restore_into(mica_snapshot *snapshot, mica_world *to) {
    if (mica_snapshot_restore(snapshot, to, NULL) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
    assert_valid(to);
}

static mica_world *world_beside(void) {
    mica_world *other = mica_world_create(&(mica_world_def){.schema = mica_world_schema(world)});
    assert_non_null(other);
    return other;
}

// The clock

static void ticks_and_the_time_that_is_due_come_back(void **state) {
    (void)state;
    assert_int_equal(mica_world_advance(world, 2.25 / 60), 2);
    mica_snapshot *snapshot = take();
    const double alpha = mica_world_alpha(world);
    assert_int_equal(mica_world_advance(world, 1.5 / 60), 1);
    restore_into(snapshot, world);
    assert_int_equal(mica_world_tick(world), 2);
    assert_true(mica_world_alpha(world) == alpha);
    mica_world *other = world_beside();
    restore_into(snapshot, other);
    assert_int_equal(mica_world_tick(other), 2);
    assert_true(mica_world_alpha(other) == alpha);
    mica_world_destroy(other);
    mica_snapshot_release(snapshot);
}

static void a_state_without_systems_begins_the_clock_again(void **state) {
    (void)state;
    mica_world *fresh = world_beside();
    step(3);
    assert_int_equal(mica_world_copy(world, fresh), MICA_OK);
    assert_int_equal(mica_world_tick(world), 0);
    mica_world_destroy(fresh);
}

// What systems keep

static void count_on(mica_run *run) {
    Tally *tally = mica_run_state(run, Tally);
    tally->number = tally->number * 3 + mica_random_next(mica_run_random(run));
}

static void own_on(mica_run *run) {
    ++*mica_run_state(run, Owned)->number;
}

static void values_and_random_numbers_come_back_where_they_are(void **state) {
    (void)state;
    const mica_system plain =
        add_to(world, &(mica_system_def){.name = "plain", .run = count_on, .state = mica_type_of(Tally)});
    const mica_system owning =
        add_to(world, &(mica_system_def){.name = "owning", .run = own_on, .state = mica_type_of(Owned)});
    Tally *tally = mica_system_state(world, plain);
    Owned *owned = mica_system_state(world, owning);
    step(5);
    mica_snapshot *snapshot = take();
    step(3);
    const uint64_t expected = tally->number;
    assert_int_equal(*owned->number, 8);
    for (int32_t round = 0; round < 2; round++) {
        restore_into(snapshot, world);
        assert_ptr_equal(mica_system_state(world, plain), tally);
        assert_ptr_equal(mica_system_state(world, owning), owned);
        assert_ptr_equal(owned->self, owned);
        assert_int_equal(*owned->number, 5);
        step(3);
        assert_int_equal(tally->number, expected);
        assert_int_equal(*owned->number, 8);
    }
    mica_snapshot_release(snapshot);
}

static void whether_systems_are_enabled_comes_back(void **state) {
    (void)state;
    const mica_system a = add_to(world, &(mica_system_def){.name = "a", .run = do_nothing});
    const mica_system b = add_to(world, &(mica_system_def){.name = "b", .run = do_nothing, .disabled = true});
    mica_snapshot *snapshot = take();
    mica_system_enable(world, a, false);
    mica_system_enable(world, b, true);
    restore_into(snapshot, world);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, a, &stats), MICA_OK);
    assert_true(stats.enabled);
    assert_int_equal(mica_system_statistics(world, b, &stats), MICA_OK);
    assert_false(stats.enabled);
    mica_snapshot_release(snapshot);
}

static void note_changed(mica_run *run) {
    int32_t count = 0;
    mica_each (run, it) {
        count += it.count;
    }
    char text[32];
    snprintf(text, sizeof(text), "%d", count);
    note(text);
}

static void what_has_changed_is_what_had_changed(void **state) {
    (void)state;
    add_to(world, &(mica_system_def){.name = "watch", .run = note_changed, .query = {mica_changed(Position)}});
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {1, 2, 3}));
    mica_snapshot *before = take();
    step(2);
    mica_set(world, entity, Position, {4, 5, 6});
    mica_snapshot *between = take();
    step(2);
    assert_string_equal(take_notes(), "1 0 1 0");
    restore_into(between, world);
    step(2);
    assert_string_equal(take_notes(), "1 0");
    restore_into(before, world);
    step(2);
    assert_string_equal(take_notes(), "1 0");
    restore_into(between, world);
    step(1);
    assert_string_equal(take_notes(), "1");
    mica_snapshot_release(between);
    mica_snapshot_release(before);
}

// Readers of events

static void read_beeps(mica_run *run) {
    mica_event_reader *reader = mica_run_events(run, Beep);
    assert_non_null(reader);
    char text[32];
    for (const Beep *beep; (beep = mica_next_event(reader, Beep)) != NULL;) {
        snprintf(text, sizeof(text), "%d", beep->number);
        note(text);
        if (beep->number % 3 == 0) {
            break; // the rest waits for the next tick
        }
    }
}

static void readers_of_systems_stand_where_they_stood(void **state) {
    (void)state;
    add_to(world, &(mica_system_def){.name = "reader", .run = read_beeps});
    mica_snapshot *unread = take();
    step(1);
    for (int32_t i = 1; i <= 5; i++) {
        mica_send(world, Beep, {i});
    }
    step(1);
    assert_string_equal(take_notes(), "1 2 3");
    part_record kept;
    part_begin_saved(&kept, world, &mi_systems_part);
    step(1);
    assert_string_equal(take_notes(), "4 5");
    // Events are still there: the record of systems alone is enough.
    mica_send(world, Beep, {7});
    mica_send(world, Beep, {8});
    assert_int_equal(part_restore(&kept, world, &mi_systems_part), MICA_OK);
    step(1);
    assert_string_equal(take_notes(), "7 8"); // the last two, as it was then
    part_end(&kept);
    restore_into(unread, world); // nobody had asked for a reader
    mica_event_stats stats;
    assert_int_equal(mica_event_statistics(world, mica_register(world, Beep), &stats), MICA_OK);
    assert_int_equal(stats.reader_count, 0);
    mica_snapshot_release(unread);
}

static void read_two_types(mica_run *run) {
    if (mica_run_user(run) != NULL) {
        assert_non_null(mica_run_events(run, Alarm));
    }
    assert_non_null(mica_run_events(run, Beep));
    assert_non_null(mica_run_events(run, Alarm));
}

static void records_depend_on_no_order_of_adding_or_asking(void **state) {
    (void)state;
    mica_world *other = world_beside();
    const mica_system_def defs[] = {
        {.name = "b", .run = read_two_types, .user = notes, .priority = 3},
        {.name = "a", .run = count_on, .state = mica_type_of(Tally), .priority = 2},
        {.name = "ab", .run = do_nothing, .priority = 1},
    };
    mica_system_def reads = defs[0];
    reads.user = NULL; // asks for the readers the other way round
    for (int32_t i = 0; i < 3; i++) {
        add_to(world, &defs[i]);
        add_to(other, i == 2 ? &reads : &defs[2 - i]);
    }
    part_record kept;
    step(1);
    assert_int_equal(mica_world_step(other, 0.5f), MICA_OK);
    part_begin_saved(&kept, world, &mi_systems_part);
    assert_true(part_is_as_saved(&kept, other, &mi_systems_part));
    part_end(&kept);
    mica_world_destroy(other);
}

// Other systems than the state knows

static void systems_that_are_gone_are_passed_over(void **state) {
    (void)state;
    const mica_system gone =
        add_to(world, &(mica_system_def){.name = "b gone", .run = own_on, .state = mica_type_of(Owned), .every = 2});
    const mica_system stays =
        add_to(world, &(mica_system_def){.name = "c stays", .run = own_on, .state = mica_type_of(Owned)});
    const mica_system reads = add_to(world, &(mica_system_def){.name = "a gone too", .run = read_beeps});
    step(2);
    mica_snapshot *snapshot = take();
    assert_int_equal(mica_system_remove(world, gone), MICA_OK);
    assert_int_equal(mica_system_remove(world, reads), MICA_OK);
    step(3);
    restore_into(snapshot, world);
    assert_int_equal(mica_world_tick(world), 2);
    assert_int_equal(*((Owned *)mica_system_state(world, stays))->number, 2);
    mica_snapshot_release(snapshot);
}

static void note_start(mica_run *run) {
    mica_system_stats stats;
    mica_system_statistics(mica_run_world(run), mica_run_system(run), &stats);
    note(stats.name);
}

static void note_stop(mica_run *run) {
    note("not");
    note_start(run);
}

static void systems_that_have_come_begin_as_they_were_added(void **state) {
    (void)state;
    mica_snapshot *snapshot = take();
    const mica_system early = add_to(
        world,
        &(mica_system_def){
            .name = "early", .run = count_on, .start = note_start, .state = mica_type_of(Tally), .disabled = true});
    const mica_system ready =
        add_to(world, &(mica_system_def){.name = "ready", .run = do_nothing, .state = mica_type_of(Ready)});
    const mica_system owning =
        add_to(world, &(mica_system_def){.name = "owning", .run = own_on, .state = mica_type_of(Owned)});
    mica_system_enable(world, early, true);
    step(2);
    ((Ready *)mica_system_state(world, ready))->number = 7;
    const uint64_t expected = ((Tally *)mica_system_state(world, early))->number;
    assert_string_equal(take_notes(), "early");
    restore_into(snapshot, world);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, early, &stats), MICA_OK);
    assert_false(stats.enabled);
    assert_int_equal(((Tally *)mica_system_state(world, early))->number, 0);
    assert_int_equal(((Ready *)mica_system_state(world, ready))->number, 42);
    assert_int_equal(*((Owned *)mica_system_state(world, owning))->number, 0);
    mica_system_enable(world, early, true);
    step(2);
    assert_string_equal(take_notes(), "early");
    assert_int_equal(((Tally *)mica_system_state(world, early))->number, expected); // its random numbers as well
    mica_snapshot_release(snapshot);
}

static void a_value_of_another_type_is_refused(void **state) {
    (void)state;
    const mica_system first =
        add_to(world, &(mica_system_def){.name = "one", .run = count_on, .state = mica_type_of(Tally)});
    mica_snapshot *snapshot = take();
    mica_system_remove(world, first);
    const mica_system second =
        add_to(world, &(mica_system_def){.name = "one", .run = own_on, .state = mica_type_of(Owned)});
    step(1);
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_MISMATCH);
    assert_said("systems");
    assert_int_equal(*((Owned *)mica_system_state(world, second))->number, 1);
    mica_system_remove(world, second);
    add_to(world, &(mica_system_def){.name = "one", .run = do_nothing});
    assert_int_equal(mica_snapshot_restore(snapshot, world, NULL), MICA_MISMATCH);
    mica_snapshot_release(snapshot);
}

// Starting and stopping

static void spawn_one(mica_run *run) {
    assert_false(mica_entity_is_null(mica_entity_create(mica_run_world(run))));
    note_start(run);
}

static void what_start_did_is_done_again_after_a_restore_to_before_it(void **state) {
    (void)state;
    add_to(world, &(mica_system_def){.name = "a", .run = do_nothing, .start = spawn_one, .stop = note_stop});
    mica_snapshot *before = take();
    step(1);
    mica_snapshot *after = take();
    assert_int_equal(mica_world_entity_count(world), 1);
    restore_into(before, world);
    assert_int_equal(mica_world_entity_count(world), 0);
    step(1);
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_string_equal(take_notes(), "a a");
    restore_into(after, world);
    step(1);
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_string_equal(take_notes(), "");
    restore_into(before, world);
    mica_snapshot_release(after);
    mica_snapshot_release(before);
    mica_world_destroy(world);
    world = NULL;
    assert_string_equal(take_notes(), "not a"); // it was started once at least, so it is stopped, and once
}

static void a_world_that_is_given_a_started_state_stops_its_systems_in_order(void **state) {
    (void)state;
    mica_world *other = world_beside();
    const mica_system_def defs[] = {
        {.name = "first", .run = do_nothing, .start = note_start, .stop = note_stop, .disabled = true},
        {.name = "second", .run = do_nothing, .start = note_start, .stop = note_stop},
        {.name = "third", .run = do_nothing, .start = note_start, .stop = note_stop, .disabled = true},
        {.name = "fourth", .run = do_nothing, .start = note_start, .stop = note_stop, .disabled = true},
    };
    for (int32_t i = 0; i < 4; i++) {
        add_to(world, &defs[i]);
        add_to(other, &defs[i]);
    }
    mica_system_enable(other, mica_system_find(other, "fourth"), true);
    mica_system_enable(other, mica_system_find(other, "second"), false);
    assert_int_equal(mica_world_step(other, 0.5f), MICA_OK);
    step(1);
    mica_system_enable(world, mica_system_find(world, "first"), true);
    step(1);
    assert_string_equal(take_notes(), "fourth second first");
    assert_int_equal(mica_world_copy(other, world), MICA_OK);
    assert_valid(other);
    mica_world_destroy(other);
    assert_string_equal(take_notes(), "not fourth not first not second");
}

static void take_snapshot(mica_run *run) {
    assert_null(mica_snapshot_take(mica_run_world(run), NULL));
    note(mica_last_result() == MICA_LOCKED ? "locked" : "taken");
}

static void a_snapshot_inside_a_tick_is_refused(void **state) {
    (void)state;
    add_to(world, &(mica_system_def){.name = "a", .run = take_snapshot, .stop = take_snapshot});
    step(1);
    assert_int_equal(mica_system_remove(world, mica_system_find(world, "a")), MICA_OK);
    assert_string_equal(take_notes(), "locked locked");
}

// Memory that runs out

static void add_all_kinds(mica_world *to) {
    add_to(to, &(mica_system_def){.name = "owning", .run = own_on, .state = mica_type_of(Owned)});
    add_to(to, &(mica_system_def){.name = "plain", .run = count_on, .state = mica_type_of(Tally)});
    add_to(to, &(mica_system_def){.name = "reading", .run = read_two_types});
    add_to(to, &(mica_system_def){.name = "slow", .run = own_on, .state = mica_type_of(Owned), .interval_seconds = 8});
}

static void saving_without_memory_changes_nothing(void **state) {
    (void)state;
    add_all_kinds(world);
    step(2);
    uint64_t n = 1;
    for (mica_result result = MICA_OUT_OF_MEMORY; result != MICA_OK; n++) {
        part_record kept;
        part_begin(&kept);
        test_allocator_fail_at(&kept.allocator, n);
        result = part_save(&kept, world, &mi_systems_part);
        assert_int_equal(result, test_allocator_fail_stop(&kept.allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        part_end(&kept);
    }
    assert_true(n > 4);
}

static void restoring_without_memory_changes_nothing(void **state) {
    (void)state;
    add_all_kinds(world);
    step(2);
    part_record kept;
    part_record before;
    part_begin_saved(&kept, world, &mi_systems_part);
    step(3);
    mica_system_remove(world, mica_system_find(world, "reading"));
    add_to(world, &(mica_system_def){.name = "reading", .run = read_two_types}); // without readers yet
    add_to(world, &(mica_system_def){.name = "new", .run = own_on, .state = mica_type_of(Owned)});
    part_begin_saved(&before, world, &mi_systems_part);
    uint64_t n = 1;
    for (mica_result result = MICA_OUT_OF_MEMORY; result != MICA_OK; n++) {
        assert_true(part_is_as_saved(&before, world, &mi_systems_part));
        test_allocator_fail_at(&allocator, n);
        result = part_restore(&kept, world, &mi_systems_part);
        assert_int_equal(result, test_allocator_fail_stop(&allocator) ? MICA_OUT_OF_MEMORY : MICA_OK);
        assert_valid(world);
    }
    assert_true(n > 8);
    assert_int_equal(*((Owned *)mica_system_state(world, mica_system_find(world, "owning")))->number, 2);
    part_end(&before);
    part_end(&kept);
}

// Hostile records

static void every_cut_and_every_flipped_bit_is_refused_or_a_valid_state(void **state) {
    (void)state;
    add_all_kinds(world);
    step(2);
    part_record kept;
    const char *fault = NULL;
    uint32_t refused_count = 0;
    part_begin_saved(&kept, world, &mi_systems_part);
    for (size_t cut = 1; cut < kept.record.bytes.count; cut++) {
        assert_int_equal(part_restore_some(&kept, cut, world, &mi_systems_part, &fault), MICA_FORMAT);
        assert_true(part_is_as_saved(&kept, world, &mi_systems_part));
    }
    for (size_t bit = 0; bit < (size_t)kept.record.bytes.count * 8; bit++) {
        uint8_t *byte = &kept.record.bytes.data[bit / 8];
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
        const mica_result result = part_restore(&kept, world, &mi_systems_part);
        assert_true(result == MICA_OK || result == MICA_FORMAT || result == MICA_UNKNOWN || result == MICA_MISMATCH);
        refused_count += result != MICA_OK;
        assert_valid(world);
        step(1);
        *byte = (uint8_t)(*byte ^ 1u << bit % 8);
    }
    assert_true(refused_count > kept.record.bytes.count);
    assert_int_equal(part_restore(&kept, world, &mi_systems_part), MICA_OK);
    part_end(&kept);
}

static void a_value_with_hooks_that_is_missing_is_refused(void **state) {
    (void)state;
    add_all_kinds(world);
    part_record kept;
    part_begin_saved(&kept, world, &mi_systems_part);
    mi_reader reader = mi_reader_of(world->schema, &kept.record);
    reader.value_count = 0;
    void *prepared = NULL;
    assert_int_equal(mi_systems_part.prepare(world, &reader, &prepared), MICA_FORMAT);
    mica_system_remove(world, mica_system_find(world, "owning"));
    reader = mi_reader_of(world->schema, &kept.record);
    reader.value_count = 0;
    assert_int_equal(mi_systems_part.prepare(world, &reader, &prepared), MICA_FORMAT);
    assert_null(prepared);
    part_end(&kept);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(ticks_and_the_time_that_is_due_come_back),
        CASE(a_state_without_systems_begins_the_clock_again),
        CASE(values_and_random_numbers_come_back_where_they_are),
        CASE(whether_systems_are_enabled_comes_back),
        CASE(what_has_changed_is_what_had_changed),
        CASE(readers_of_systems_stand_where_they_stood),
        CASE(records_depend_on_no_order_of_adding_or_asking),
        CASE(systems_that_are_gone_are_passed_over),
        CASE(systems_that_have_come_begin_as_they_were_added),
        CASE(a_value_of_another_type_is_refused),
        CASE(what_start_did_is_done_again_after_a_restore_to_before_it),
        CASE(a_world_that_is_given_a_started_state_stops_its_systems_in_order),
        CASE(a_snapshot_inside_a_tick_is_refused),
        CASE(saving_without_memory_changes_nothing),
        CASE(restoring_without_memory_changes_nothing),
        CASE(every_cut_and_every_flipped_bit_is_refused_or_a_valid_state),
        CASE(a_value_with_hooks_that_is_missing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
