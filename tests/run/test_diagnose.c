// Diagnoses: each kind is found where there is reason to, not where there is none, with names and what to do.
#include "world/world_fixture.h"

#include "run/system.h"

MICA_STRUCT_WITH(Gem, (.storage = MICA_POOL, .stable = true), { int32_t carats; });
MICA_STRUCT_WITH(Amber, (.storage = MICA_POOL, .stable = true), { int32_t grams; });
MICA_STRUCT_WITH(Ghost, (.storage = MICA_POOL), { int32_t age; });
MICA_STRUCT_WITH(Ore, (.storage = MICA_TABLE), { int32_t grams; });
MICA_TAG_WITH(Lost, (.storage = MICA_TABLE));

enum { FINDING_MAX = 8 };

typedef struct findings {
    int32_t count;
    mica_diagnosis_kind kinds[FINDING_MAX];
    char subjects[FINDING_MAX][64];
    char texts[FINDING_MAX][768];
} findings;

static void note(const mica_diagnosis *diagnosis, void *user) {
    findings *found = user;
    assert_true(found->count < FINDING_MAX);
    found->kinds[found->count] = diagnosis->kind;
    snprintf(found->subjects[found->count], sizeof(found->subjects[0]), "%s", diagnosis->subject);
    snprintf(found->texts[found->count], sizeof(found->texts[0]), "%s", diagnosis->text);
    found->count++;
}

static findings diagnose(const mica_world *world) {
    findings found = {0};
    const int32_t count = mica_world_diagnose(world, note, &found);
    assert_int_equal(count, found.count);
    assert_int_equal(mica_world_diagnose(world, NULL, NULL), count);
    return found;
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static void fail_always(mica_run *run) {
    mica_run_fail(run, MICA_FAILED, "no fuel");
}

static mica_system add_system(mica_world *world, const char *name, void (*run)(mica_run *run)) {
    const mica_system system = mica_system_add(world, &(mica_system_def){.name = name, .run = run});
    assert_int_not_equal(system.id, 0);
    return system;
}

// Makes `removed` tombstones behind the first of `made` elements.
static void bury(mica_world *world, mica_type *type, int32_t made, int32_t removed) {
    const mica_component component = mica_world_register(world, type);
    mica_entity entities[256];
    assert_true(made <= 256);
    const mica_column column = {.component = component};
    assert_int_equal(mica_entity_spawn_many(world, &column, 1, made, entities), MICA_OK);
    for (int32_t i = 0; i < removed; i++) {
        assert_int_equal(mica_entity_remove(world, entities[i + 1], component), MICA_OK);
    }
}

static void a_world_in_order_has_no_findings(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {4}));
    mica_system_add(w.world, &(mica_system_def){.name = "move", .run = do_nothing, .query = {mica_write(Position)}});
    assert_int_equal(mica_query_count(mica_query_of(w.world, mica_read(Health), mica_without(Frozen))), 1);
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    assert_int_equal(mica_destroy(w.world, entity), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0); // somebody had what the queries ask for
    watched_end(&w);
}

static void tombstones_are_found_by_name_with_number_and_share(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    bury(w.world, mica_type_of(Gem), 200, 100);
    bury(w.world, mica_type_of(Amber), 256, 64);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_TOMBSTONES);
    assert_string_equal(found.subjects[0], "Amber"); // in order of names, not of registration
    assert_says(found.texts[0], "64 of the 256 positions of pool Amber");
    assert_says(found.texts[0], "25 %");
    assert_says(found.texts[0], "mica_pool_compact");
    assert_string_equal(found.subjects[1], "Gem");
    assert_says(found.texts[1], "100 of the 200 positions of pool Gem");
    assert_says(found.texts[1], "50 %");
    assert_int_equal(mica_pool_compact(w.world, mica_register(w.world, Gem)), MICA_OK);
    assert_int_equal(mica_pool_compact(w.world, mica_register(w.world, Amber)), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void few_tombstones_or_a_small_share_are_left_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    bury(w.world, mica_type_of(Gem), 100, 63); // one less than is worth a word
    for (int32_t i = 0; i < 2; i++) {
        bury(w.world, mica_type_of(Amber), 256, 32); // 64 in all, an eighth
    }
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void a_query_for_what_nobody_has_had_names_the_component(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_query_of(w.world, mica_read(Position), mica_with(Lost));
    mica_query_of(w.world, mica_read(Ghost), mica_read(Position));
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_QUERY);
    assert_string_equal(found.subjects[0], "Ghost, Position");
    assert_says(found.texts[0], "no entity has had Ghost so far");
    assert_says(found.texts[1], "no entity has had Lost so far");
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Ghost, {1}), mica_tag(Lost));
    assert_int_equal(mica_destroy(w.world, entity), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void what_a_query_does_not_require_may_be_unknown(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_query_of(w.world, mica_read(Position), mica_without(Lost), mica_read_optional(Ghost));
    mica_query_of(w.world, mica_any_read(1, Position), mica_any_with(1, Lost));
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void the_queries_of_systems_are_named_with_the_system(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}));
    mica_system_add(w.world, &(mica_system_def){.name = "haunt",
                                                .run = do_nothing,
                                                .query = {mica_read(Position)},
                                                .query_count = 1,
                                                .queries = {{.terms = {mica_read(Ore), mica_write(Ghost)}}}});
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1); // once, not again as a query of the world
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_QUERY);
    assert_says(found.texts[0], "([write] Ghost, Ore)");
    assert_says(found.texts[0], "system \"haunt\"");
    assert_says(found.texts[0], "no entity has had Ghost so far");
    watched_end(&w);
}

static void a_system_that_is_disabled_from_the_start_is_found(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_system_add(w.world, &(mica_system_def){.name = "asleep", .run = do_nothing, .disabled = true});
    assert_int_equal(diagnose(w.world).count, 0); // there was no tick yet
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_SYSTEM);
    assert_string_equal(found.subjects[0], "asleep");
    assert_says(found.texts[0], "has not run in any of 2 ticks");
    assert_says(found.texts[0], "it is disabled; mica_system_enable");
    assert_int_equal(mica_system_enable(w.world, mica_system_find(w.world, "asleep"), true), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0); // it will run in the next one
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(mica_system_enable(w.world, mica_system_find(w.world, "asleep"), false), MICA_OK);
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0); // it has run
    watched_end(&w);
}

static void a_system_behind_one_that_fails_names_that_one(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    add_system(w.world, "drive", fail_always);
    add_system(w.world, "steer", do_nothing);
    assert_int_equal(mica_world_step(w.world, 1), MICA_FAILED);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.subjects[0], "steer");
    assert_says(found.texts[0], "system \"drive\" fails in stage \"update\": no fuel");
    assert_int_equal(mica_system_enable(w.world, mica_system_find(w.world, "drive"), false), MICA_OK);
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void a_start_function_that_fails_is_named(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_system_add(w.world, &(mica_system_def){.name = "drive", .run = do_nothing, .start = fail_always});
    assert_int_equal(mica_world_step(w.world, 1), MICA_FAILED);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.subjects[0], "drive");
    assert_says(found.texts[0], "its start function fails: no fuel");
    watched_end(&w);
}

static void systems_are_told_of_in_the_order_of_addition(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    for (int32_t i = 0; i < 3; i++) {
        const char *const names[] = {"late", "early", "middle"};
        mica_system_add(w.world, &(mica_system_def){.name = names[i], .run = do_nothing, .disabled = true});
    }
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.subjects[0], "late");
    assert_string_equal(found.subjects[1], "early");
    assert_string_equal(found.subjects[2], "middle");
    watched_end(&w);
}

static void removals_that_wait_for_a_disabled_system_are_found(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    const mica_system system = mica_system_add(
        w.world, &(mica_system_def){.name = "bury", .run = do_nothing, .query = {mica_removed(Health)}});
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(mica_system_enable(w.world, system, false), MICA_OK);
    for (int32_t i = 0; i < 4096; i++) {
        assert_int_equal(diagnose(w.world).count, 0);
        assert_int_equal(mica_remove(w.world, entity, Health), MICA_OK);
        assert_int_equal(mica_set(w.world, entity, Health, {1}), MICA_OK);
    }
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_REMOVALS);
    assert_string_equal(found.subjects[0], "bury");
    assert_says(found.texts[0], "4096 removals of Health are kept for system \"bury\", which is disabled");
    assert_int_equal(mica_system_enable(w.world, system, true), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(mica_system_enable(w.world, system, false), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0); // it has seen them
    watched_end(&w);
}

static void say_nothing(const mica_signal *signal) {
    (void)signal;
}

// Times are not the tests' business: what was measured is put in place of what a clock said.
// As if the next call to be measured were ages ahead.
static void measure_no_more(mi_observer *observer) {
    observer->next_sample += UINT32_MAX;
    observer->until_sample += UINT32_MAX;
}

static void an_observer_that_takes_a_quarter_of_the_ticks_is_found(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    const mica_observer_def defs[] = {
        {.name = "slow", .on = MICA_SET, .type = mica_type_of(Health), .call = say_nothing},
        {.name = "fast", .on = MICA_SET, .type = mica_type_of(Health), .call = say_nothing}};
    for (int32_t i = 0; i < 2; i++) {
        assert_int_not_equal(mica_observer_connect(w.world, &defs[i]).id, 0);
        assert_int_equal(mica_set(w.world, entity, Health, {2}), MICA_OK);
    }
    mi_observer **observers = w.world->signals.observers.data;
    assert_int_equal(w.world->signals.observers.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        observers[i]->sampled_count = 1;
        observers[i]->sampled_nanoseconds = i == 0 ? 3000000 : 2000000;
        measure_no_more(observers[i]);
    }
    mi_observers_begin_tick(w.world);
    assert_int_equal(mica_set(w.world, entity, Health, {3}), MICA_OK); // a call each in the tick
    mi_observers_end_tick(w.world, 10000000);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_OBSERVER);
    assert_string_equal(found.subjects[0], "slow");
    assert_says(found.texts[0], "about 30 % of the ticks' time (3 calls in all)");
    for (int32_t i = 0; i < 20; i++) { // ticks in which nobody called it: its share fades
        mi_observers_begin_tick(w.world);
        mi_observers_end_tick(w.world, 10000000);
    }
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void what_an_observer_takes_of_short_ticks_is_left_alone(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_entity entity = mica_spawn(w.world, mica_value_of(Health, {1}));
    mica_on_set(w.world, Health, say_nothing, NULL);
    mi_observer *observer = w.world->signals.observers.data[0];
    observer->sampled_count = 1;
    observer->sampled_nanoseconds = 900;
    measure_no_more(observer);
    for (int32_t i = 0; i < 300; i++) { // all but the whole of each tick
        mi_observers_begin_tick(w.world);
        assert_int_equal(mica_set(w.world, entity, Health, {3}), MICA_OK);
        mi_observers_end_tick(w.world, 1000);
    }
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

static void spawn_again(const mica_signal *signal) {
    mica_spawn(signal->commands, mica_value_of(Health, {1}));
}

static void reactions_that_were_dropped_are_found(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    const mica_observer observer = mica_on_added(w.world, Health, spawn_again, NULL);
    assert_int_not_equal(observer.id, 0);
    assert_false(mica_entity_is_null(mica_spawn(w.world, mica_value_of(Health, {1}))));
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_REACTIONS);
    assert_says(found.texts[0], "dropped 1 times");
    watched_end(&w);
}

static void say_no_more(const mica_event *event) {
    (void)event;
}

static void events_that_somebody_missed_are_found(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    assert_int_equal(mica_event_set_limits(w.world, mica_register(w.world, Target), 0, 2), MICA_OK);
    mica_event_reader *idle = mica_event_reader_create(w.world, mica_register(w.world, Target), "idle");
    mica_event_reader *busy = mica_event_reader_create(w.world, mica_register(w.world, Target), "busy");
    assert_non_null(idle);
    assert_non_null(busy);
    assert_int_equal(mica_event_set_limits(w.world, mica_register(w.world, Health), 0, 1), MICA_OK);
    assert_int_not_equal(mica_on_event(w.world, Health, say_no_more, NULL).id, 0);
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(mica_send(w.world, Target, {MICA_NULL}), MICA_OK);
        assert_non_null(mica_next_event(busy, Target));
    }
    assert_int_equal(mica_send(w.world, Health, {1}), MICA_OK);
    assert_int_equal(mica_send(w.world, Health, {2}), MICA_OK);
    const findings found = diagnose(w.world);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_EVENTS);
    assert_string_equal(found.subjects[0], "Health"); // in order of names
    assert_says(found.texts[0], "1 events of Health were dropped before they were delivered");
    assert_string_equal(found.subjects[1], "Target");
    assert_says(found.texts[1], "reader \"idle\" has missed 3 events of Target");
    watched_end(&w);
}

static void messages_that_were_refused_are_found(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_world *world =
        mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator), .inbox_message_limit = 2});
    mica_inbox *inbox = mica_world_inbox(world);
    assert_int_not_equal(mica_register(world, Health), 0);
    assert_int_equal(mica_post(inbox, Health, {1}), MICA_OK);
    assert_int_equal(mica_post(inbox, Health, {2}), MICA_OK);
    assert_int_equal(diagnose(world).count, 0);
    assert_int_equal(mica_post(inbox, Health, {3}), MICA_LIMIT);
    const findings found = diagnose(world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_INBOX);
    assert_says(found.texts[0], "1 messages were refused, because the inbox was full (2 messages");
    mica_world_destroy(world);
    test_allocator_finish(&allocator);
}

static void nothing_is_allocated_and_no_world_is_refused(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    bury(w.world, mica_type_of(Gem), 200, 100);
    mica_query_of(w.world, mica_with(Lost));
    mica_system_add(w.world, &(mica_system_def){.name = "asleep", .run = do_nothing, .disabled = true});
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    test_allocator_fail_from(&w.allocator, 1);
    assert_int_equal(diagnose(w.world).count, 3);
    assert_false(test_allocator_fail_stop(&w.allocator));
    assert_int_equal(mica_world_diagnose(NULL, NULL, NULL), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    watched_end(&w);
}

static void kinds_have_names(void **state) {
    (void)state;
    assert_string_equal(mica_diagnosis_name(MICA_DIAGNOSIS_TOMBSTONES), "tombstones");
    assert_string_equal(mica_diagnosis_name(MICA_DIAGNOSIS_REACTIONS), "reactions");
    assert_string_equal(mica_diagnosis_name(MICA_DIAGNOSIS_INBOX), "inbox");
    assert_string_equal(mica_diagnosis_name(MICA_DIAGNOSIS_KIND_COUNT), "");
}

// Seven systems that write the same, one of them exclusive.
static void add_rivals(mica_world *world) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    for (size_t i = 0; i < 7; i++) {
        const mica_system_def def = {
            .name = names[i], .run = do_nothing, .query = {mica_write(Health)}, .exclusive = i == 3};
        assert_int_not_equal(mica_system_add(world, &def).id, 0);
    }
}

// A world in which systems may run side by side.
static mica_world *make_threaded(void) {
    mica_world *world = mica_world_create(&(mica_world_def){.name = "threaded", .thread_count = 2});
    assert_non_null(world);
    mica_spawn(world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {4}));
    add_rivals(world);
    return world;
}

static void a_schedule_without_two_systems_side_by_side_is_found(void **state) {
    (void)state;
    mica_world *world = make_threaded();
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(diagnose(world).count, 0); // seven are too few
    mica_system_add(world, &(mica_system_def){.name = "h", .run = do_nothing, .query = {mica_read(Health)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    const findings found = diagnose(world);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.kinds[0], MICA_DIAGNOSIS_SCHEDULE);
    assert_string_equal(mica_diagnosis_name(found.kinds[0]), "schedule");
    assert_string_equal(found.subjects[0], "");
    assert_says(found.texts[0], "1 systems are exclusive, and of 7 others no two may run side by side");
    assert_says(found.texts[0], "mica_world_plan_explain");
    mica_world_destroy(world);
}

static void two_systems_side_by_side_are_enough_for_a_schedule(void **state) {
    (void)state;
    mica_world *world = make_threaded();
    mica_system_add(world, &(mica_system_def){.name = "h", .run = do_nothing, .query = {mica_write(Position)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(diagnose(world).count, 0);
    mica_world_destroy(world);
}

static void a_world_with_one_thread_has_nothing_to_run_side_by_side(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    mica_spawn(w.world, mica_value_of(Position, {1, 2, 3}), mica_value_of(Health, {4}));
    add_rivals(w.world);
    mica_system_add(w.world, &(mica_system_def){.name = "h", .run = do_nothing, .query = {mica_read(Health)}});
    assert_int_equal(mica_world_step(w.world, 1), MICA_OK);
    assert_int_equal(diagnose(w.world).count, 0);
    watched_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_in_order_has_no_findings),
        cmocka_unit_test(tombstones_are_found_by_name_with_number_and_share),
        cmocka_unit_test(few_tombstones_or_a_small_share_are_left_alone),
        cmocka_unit_test(a_query_for_what_nobody_has_had_names_the_component),
        cmocka_unit_test(what_a_query_does_not_require_may_be_unknown),
        cmocka_unit_test(the_queries_of_systems_are_named_with_the_system),
        cmocka_unit_test(a_system_that_is_disabled_from_the_start_is_found),
        cmocka_unit_test(a_system_behind_one_that_fails_names_that_one),
        cmocka_unit_test(a_start_function_that_fails_is_named),
        cmocka_unit_test(systems_are_told_of_in_the_order_of_addition),
        cmocka_unit_test(a_schedule_without_two_systems_side_by_side_is_found),
        cmocka_unit_test(two_systems_side_by_side_are_enough_for_a_schedule),
        cmocka_unit_test(a_world_with_one_thread_has_nothing_to_run_side_by_side),
        cmocka_unit_test(removals_that_wait_for_a_disabled_system_are_found),
        cmocka_unit_test(an_observer_that_takes_a_quarter_of_the_ticks_is_found),
        cmocka_unit_test(what_an_observer_takes_of_short_ticks_is_left_alone),
        cmocka_unit_test(reactions_that_were_dropped_are_found),
        cmocka_unit_test(events_that_somebody_missed_are_found),
        cmocka_unit_test(messages_that_were_refused_are_found),
        cmocka_unit_test(nothing_is_allocated_and_no_world_is_refused),
        cmocka_unit_test(kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
