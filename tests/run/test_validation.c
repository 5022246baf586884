// Systems that touch by calls what they have not declared are found, on one thread and on several.
#include "run/cheat_world.h"

#include <string.h>

MICA_STRUCT_WITH(Spread, (.storage = MICA_TABLE, .layout = MICA_LANES), { int32_t number, rest; });
MICA_STRUCT_WITH(Listed, (.storage = MICA_TABLE, .indexes = {{"number", MICA_ORDERED}}), { int32_t number; });

enum { ENTITIES = 5 };

typedef struct cheat {
    const char *name;
    // Does what was not declared; what of it was got, if it was got.
    const void *(*act)(mica_run *run);
    const char *type; // that the error names
    const char *call;
    bool names_entity;
} cheat;

// What is tried, by what, and with what outcome; made new for each world.
static struct {
    cheat what;
    mica_query *secrets;
    mica_query *changed; // those whose Secret has
    mica_order *order;
    mica_index *index;
    mica_event_reader *reader;
    const void *got;
    mica_result result;
} tried;

// Cheats

static const void *if_done(mica_result result) {
    return result == MICA_OK ? &shared : NULL;
}

static const void *get(mica_run *run) {
    return mica_get(mica_run_world(run), shared.target, Secret);
}

static const void *get_of_pool(mica_run *run) {
    return mica_get(mica_run_world(run), shared.target, Loot);
}

static const void *get_write(mica_run *run) {
    return mica_get_write(mica_run_world(run), shared.target, Secret);
}

static const void *get_write_of_read(mica_run *run) {
    return mica_get_write(mica_run_world(run), shared.target, Other);
}

static const void *set(mica_run *run) {
    return if_done(mica_set(mica_run_world(run), shared.target, Secret, {1}));
}

static const void *set_of_pool(mica_run *run) {
    return if_done(mica_set(mica_run_world(run), shared.target, Loot, {1}));
}

static void change(void *value, void *user) {
    (void)user;
    ((Secret *)value)->number = 1;
}

static const void *patch(mica_run *run) {
    return if_done(mica_patch(mica_run_world(run), shared.target, Secret, change, NULL));
}

static const void *patch_lanes(mica_run *run) {
    return if_done(mica_patch(mica_run_world(run), shared.target, Spread, change, NULL));
}

static void peek(void *value, void *user) {
    (void)value;
    *(const void **)user = mica_get(shared.world, shared.target, Secret);
}

// Functions that a call is given are held to it as well.
static const void *patch_and_peek(mica_run *run) {
    const void *seen = NULL;
    mica_patch(mica_run_world(run), shared.target, Own, peek, &seen);
    return seen;
}

static const void *set_many(mica_run *run) {
    return if_done(mica_set_many(mica_run_world(run), &shared.target, 1, Secret, (&(Secret){1})));
}

static const void *gather(mica_run *run) {
    Secret value;
    return mica_gather(mica_run_world(run), &shared.target, 1, Secret, &value, NULL) >= 0 ? &shared : NULL;
}

static const void *scatter(mica_run *run) {
    const Secret value = {1};
    return mica_scatter(mica_run_world(run), &shared.target, 1, Secret, &value, NULL) >= 0 ? &shared : NULL;
}

static const void *load_lanes(mica_run *run) {
    Spread value;
    return mica_load_of(mica_run_world(run), shared.target, Spread, &value) ? &shared : NULL;
}

static const void *store_lanes(mica_run *run) {
    const Spread value = {1, 1};
    return if_done(mica_store_of(mica_run_world(run), shared.target, Spread, &value));
}

static const void *ask_version(mica_run *run) {
    mica_world *world = mica_run_world(run);
    return mica_entity_component_version(world, shared.target, mica_world_component(world, mica_type_of(Secret))) != 0
               ? &shared
               : NULL;
}

static const void *walk(mica_run *run) {
    (void)run;
    mica_iter it = mica_query_begin(tried.secrets);
    const void *got = mica_iter_next(&it) ? &shared : NULL;
    mica_iter_end(&it);
    return got;
}

static const void *walk_order(mica_run *run) {
    (void)run;
    mica_iter it = mica_order_begin(tried.order);
    const void *got = mica_iter_next(&it) ? &shared : NULL;
    mica_iter_end(&it);
    return got;
}

// Of several spans, which may be visited side by side, one writes down what it found.
static bool holds_target(const mica_iter *span) {
    for (int32_t i = 0; i < span->count; i++) {
        if (mica_entity_equal(span->entities[i], shared.target)) {
            return true;
        }
    }
    return false;
}

static void visit(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    if (holds_target(span)) {
        *(const void **)user = span->entities;
    }
}

static const void *loop(mica_run *run) {
    const void *visited = NULL;
    mica_parallel_for(run, tried.secrets, visit, &visited);
    return visited;
}

static void get_in_span(mica_run *run, mica_iter *span, void *user) {
    if (holds_target(span)) {
        *(const void **)user = mica_get(mica_run_world(run), shared.target, Secret);
        tried.result = mica_last_result(); // of the thread that visits the span
    }
}

static const void *get_in_loop(mica_run *run) {
    const void *got = NULL;
    mica_parallel_for(run, NULL, get_in_span, &got);
    return got;
}

static const void *read_pool(mica_run *run) {
    mica_world *world = mica_run_world(run);
    return mica_pool_read(world, mica_world_component(world, mica_type_of(Loot))).pages;
}

static const void *write_pool(mica_run *run) {
    mica_world *world = mica_run_world(run);
    return mica_pool_write(world, mica_world_component(world, mica_type_of(Loot))).pages;
}

static const void *find_in_index(mica_run *run) {
    (void)run;
    mica_entity found;
    return mica_index_find_value(tried.index, int32_t, VALUE, &found, 1) > 0 ? &shared : NULL;
}

static const void *first_of_index(mica_run *run) {
    (void)run;
    return mica_entity_is_null(mica_index_first(tried.index)) ? NULL : &shared;
}

static const void *resource(mica_run *run) {
    return mica_resource(mica_run_world(run), Rule);
}

static const void *resource_write(mica_run *run) {
    return mica_resource_write(mica_run_world(run), Rule);
}

static const void *resource_set(mica_run *run) {
    return if_done(mica_set_resource(mica_run_world(run), Rule, {1}));
}

static const void *resource_ensure(mica_run *run) {
    return mica_ensure_resource(mica_run_world(run), Rule);
}

static const void *resource_remove(mica_run *run) {
    return if_done(mica_remove_resource(mica_run_world(run), Rule));
}

static const void *resource_version(mica_run *run) {
    mica_world *world = mica_run_world(run);
    return mica_resource_version(world, mica_world_component(world, mica_type_of(Rule))) != 0 ? &shared : NULL;
}

static const void *send(mica_run *run) {
    return if_done(mica_send(mica_run_world(run), Alarm, {1}));
}

static const void *trigger(mica_run *run) {
    return if_done(mica_trigger(mica_run_world(run), Alarm, {1}));
}

static const void *deliver(mica_run *run) {
    return mica_deliver(mica_run_world(run), Alarm) >= 0 ? &shared : NULL;
}

static const void *make_reader(mica_run *run) {
    return mica_run_events(run, Alarm);
}

static const void *read_event(mica_run *run) {
    (void)run;
    return mica_next_event(tried.reader, Alarm);
}

static const void *count_events(mica_run *run) {
    (void)run;
    return mica_event_reader_count(tried.reader) > 0 ? &shared : NULL;
}

static const void *ask_whole_version(mica_run *run) {
    return mica_entity_version(mica_run_world(run), shared.target) != 0 ? &shared : NULL;
}

static const void *count_changed(mica_run *run) {
    (void)run;
    mica_query_count(tried.changed);
    return if_done(mica_last_result());
}

static const void *find_changed(mica_run *run) {
    (void)run;
    mica_query_contains(tried.changed, shared.target);
    return if_done(mica_last_result());
}

static const void *resolve_matrices(mica_run *run) {
    return if_done(mica_transform_resolve(mica_run_world(run)));
}

static const void *ask_matrix(mica_run *run) {
    float matrix[16];
    return if_done(mica_transform_world_of(mica_run_world(run), shared.target, matrix));
}

static const cheat cheats[] = {
    {"get", get, "reads Secret", "mica_entity_get:", true},
    {"get of a pool", get_of_pool, "reads Loot", "mica_entity_get:", true},
    {"get_write", get_write, "writes Secret", "mica_entity_get_write:", true},
    {"get_write of what is read", get_write_of_read, "writes Other", "mica_entity_get_write:", true},
    {"set", set, "writes Secret", "mica_entity_set:", true},
    {"set of a pool", set_of_pool, "writes Loot", "mica_entity_set:", true},
    {"patch", patch, "writes Secret", "mica_entity_patch:", true},
    {"patch of lanes", patch_lanes, "writes Spread", "mica_entity_patch:", true},
    {"get in a patch", patch_and_peek, "reads Secret", "mica_entity_get:", true},
    {"load", load_lanes, "reads Spread", "mica_entity_load:", true},
    {"store", store_lanes, "writes Spread", "mica_entity_store:", true},
    {"version", ask_version, "reads Secret", "mica_entity_component_version:", true},
    {"set_many", set_many, "writes Secret", "mica_entity_set_many:", false},
    {"gather", gather, "reads Secret", "mica_entity_gather:", false},
    {"scatter", scatter, "writes Secret", "mica_entity_scatter:", false},
    {"walk", walk, "reads Secret", "mica_query_begin:", false},
    {"walk in order", walk_order, "reads Secret", "mica_order_begin:", false},
    {"loop", loop, "reads Secret", "mica_parallel_for:", false},
    {"get in a loop", get_in_loop, "reads Secret", "mica_entity_get:", true},
    {"pool for reading", read_pool, "reads Loot", "mica_pool_read:", false},
    {"pool for writing", write_pool, "writes Loot", "mica_pool_write:", false},
    {"index", find_in_index, "reads Listed", "mica_index_find:", false},
    {"index, first", first_of_index, "reads Listed", "mica_index_first:", false},
    {"resource", resource, "reads Rule", "mica_resource_get:", false},
    {"resource for writing", resource_write, "writes Rule", "mica_resource_get_write:", false},
    {"resource, set", resource_set, "writes Rule", "mica_resource_set:", false},
    {"resource, ensured", resource_ensure, "writes Rule", "mica_resource_ensure:", false},
    {"resource, removed", resource_remove, "writes Rule", "mica_resource_remove:", false},
    {"resource, version", resource_version, "reads Rule", "mica_resource_version:", false},
    {"event, sent", send, "writes Alarm", "mica_event_send:", false},
    {"event, triggered", trigger, "writes Alarm", "mica_event_trigger:", false},
    {"event, delivered", deliver, "writes Alarm", "mica_event_deliver:", false},
    {"reader", make_reader, "reads Alarm", "mica_run_event_reader:", false},
    {"event, read", read_event, "reads Alarm", "mica_event_reader_next:", false},
    {"version of all", ask_whole_version, "reads Secret", "mica_entity_version:", true},
    {"changed, counted", count_changed, "reads Secret", "mica_query_count:", false},
    {"changed, one of them", find_changed, "reads Secret", "mica_query_contains:", false},
    {"matrices", resolve_matrices, "reads Transform", "mica_transform_resolve:", false},
    {"matrix of one", ask_matrix, "reads Transform", "mica_transform_world_of:", true},
    {"events, counted", count_events, "reads Alarm", "mica_event_reader_count:", false},
};

enum { CHEATS = sizeof(cheats) / sizeof(cheats[0]) };

// The world

static void try(mica_run *run) {
    mica_error_clear();
    tried.got = tried.what.act(run);
    tried.result = tried.result == MICA_OK ? mica_last_result() : tried.result;
}

static mica_system_def cheating(scene *test) {
    mica_system_def def = cheat_system(test);
    def.access[0] = mica_reads(Other);
    return def;
}

static int by_number(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    return ((const Secret *)a->value)->number - ((const Secret *)b->value)->number;
}

static void begin(scene *test, const cheat *what, int32_t thread_count, mica_validation validate,
                  const mica_system_def *def) {
    mica_world *world = mica_world_create(&(mica_world_def){.name = "guarded",
                                                            .allocator = test_allocator_hooks(&test->allocator),
                                                            .thread_count = thread_count,
                                                            .always_parallel = true,
                                                            .validate = validate});
    assert_non_null(world);
    test->world = world;
    test->act = try;
    tried.what = *what;
    test->is_armed = false;
    tried.got = NULL;
    tried.result = MICA_OK;
    for (int32_t i = 0; i < ENTITIES; i++) {
        test->target = mica_spawn(world, mica_value_of(Own, {i}), mica_value_of(Other, {VALUE}),
                                  mica_value_of(Secret, {VALUE}), mica_value_of(Loot, {VALUE}),
                                  mica_value_of(Spread, {VALUE, VALUE}), mica_value_of(Listed, {VALUE}));
    }
    assert_int_equal(mica_add(world, test->target, mica_transform), MICA_OK);
    mica_set_resource(world, Rule, {VALUE});
    tried.reader = mica_reader_of(world, Alarm, "outside");
    mica_send(world, Alarm, {VALUE});
    tried.secrets = mica_query_retain(mica_query_of(world, mica_read(Secret)));
    tried.changed = mica_query_retain(mica_query_of(world, mica_changed(Secret)));
    tried.order = mica_order_create(tried.secrets, mica_register(world, Secret), by_number, NULL);
    tried.index = mica_index_of(world, Listed, "number");
    assert_non_null(tried.index);
    assert_non_null(tried.order);
    // Two that touch nothing of it, so that there are some to run beside.
    assert_int_not_equal(mica_system_add(world, def).id, 0);
    const mica_system_def other = other_system(test);
    assert_int_not_equal(mica_system_add(world, &other).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // systems that start run alone
    test->is_armed = true;
}

static void end(scene *test) {
    mica_event_reader_destroy(tried.reader);
    mica_order_destroy(tried.order);
    mica_query_release(tried.secrets);
    mica_query_release(tried.changed);
    assert_int_equal(mica_world_validate(test->world), MICA_OK);
    mica_world_destroy(test->world);
}

static void assert_unchanged(const scene *test) {
    mica_world *world = test->world;
    Spread spread = {0};
    assert_int_equal(mica_get(world, test->target, Secret)->number, VALUE);
    assert_int_equal(mica_get(world, test->target, Other)->number, VALUE);
    assert_int_equal(mica_get(world, test->target, Loot)->number, VALUE);
    assert_true(mica_load_of(world, test->target, Spread, &spread));
    assert_int_equal(spread.number, VALUE);
    assert_int_equal(mica_resource(world, Rule)->number, VALUE);
    assert_int_equal(mica_event_reader_count(tried.reader), 1);
}

// Lets a system cheat; the error of the tick goes to `text`.
static void catch_cheat(scene *test, const cheat *what, int32_t thread_count, char *text, size_t capacity) {
    const mica_system_def def = cheating(test);
    begin(test, what, thread_count, MICA_VALIDATE_ACCESS, &def);
    const mica_result result = mica_world_step(test->world, 1);
    if (result != MICA_NO_ACCESS) {
        fail_msg("%s on %d threads: %s", what->name, thread_count, mica_result_name(result));
    }
    assert_true(strlen(mica_last_error()) < capacity);
    strcpy(text, mica_last_error());
    assert_null(tried.got);
    assert_int_equal(tried.result, MICA_NO_ACCESS);
    const bool is_named = strstr(text, "system \"cheat\"") != NULL && strstr(text, what->type) != NULL &&
                          strstr(text, what->call) != NULL &&
                          (strstr(text, " of entity ") != NULL) == what->names_entity;
    if (!is_named) {
        fail_msg("%s: %s", what->name, text);
    }
    assert_unchanged(test);
    test->is_armed = false;
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK); // nothing is left of it
    end(test);
}

// Cases

static void each_cheat_fails_its_tick_and_is_named_on_any_number_of_threads(void **state) {
    scene *test = *state;
    for (int32_t i = 0; i < CHEATS; i++) {
        char alone[512];
        char beside[512];
        catch_cheat(test, &cheats[i], 1, alone, sizeof(alone));
        catch_cheat(test, &cheats[i], 3, beside, sizeof(beside));
        assert_string_equal(alone, beside);
    }
}

static void conditions_are_held_to_the_access_of_their_systems(void **state) {
    scene *test = *state;
    test->in_condition = true;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        char text[512];
        catch_cheat(test, &cheats[0], threads, text, sizeof(text));
    }
}

// What all of them touch.
static mica_system_def declaring(scene *test) {
    mica_system_def def = cheating(test);
    const mica_access access[] = {mica_writes(Other),  mica_writes(Secret),        mica_writes(Loot),
                                  mica_writes(Spread), mica_writes(Listed),        mica_writes(Rule),
                                  mica_writes(Alarm),  mica_reads(mica_transform), mica_writes(mica_world_transform)};
    memcpy(def.access, access, sizeof(access));
    return def;
}

static void what_is_declared_is_no_cheat(void **state) {
    scene *test = *state;
    for (int32_t i = 0; i < CHEATS; i++) {
        const mica_system_def def = declaring(test);
        begin(test, &cheats[i], 1 + 2 * (i % 2), MICA_VALIDATE_ACCESS, &def);
        const mica_result result = mica_world_step(test->world, 1);
        if (result != MICA_OK) {
            fail_msg("%s: %s", cheats[i].name, mica_last_error());
        }
        assert_true(cheats[i].act == make_reader || cheats[i].act == loop || tried.got != NULL);
        end(test);
    }
}

static void exclusive_systems_may_touch_everything(void **state) {
    scene *test = *state;
    for (int32_t i = 0; i < CHEATS; i++) {
        mica_system_def def = cheating(test);
        def.exclusive = true;
        begin(test, &cheats[i], 3, MICA_VALIDATE_ACCESS, &def);
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
        end(test);
    }
}

static void start_functions_may_touch_everything(void **state) {
    scene *test = *state;
    mica_system_def def = cheating(test);
    def.start = act;
    test->is_armed = true;
    test->act = try;
    tried.what = cheats[0];
    tried.got = NULL;
    mica_world *world = mica_world_create(&(mica_world_def){.validate = MICA_VALIDATE_ACCESS});
    test->world = world;
    test->target = mica_spawn(world, mica_value_of(Secret, {VALUE}));
    def.run = count_other;
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_non_null(tried.got);
    mica_world_destroy(world);
}

static void nothing_is_checked_where_that_is_off(void **state) {
    scene *test = *state;
    for (int32_t i = 0; i < CHEATS; i++) {
        const mica_system_def def = cheating(test);
        begin(test, &cheats[i], 1, MICA_VALIDATE_OFF, &def);
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
        end(test);
    }
}

static void look_at_secret(const mica_signal *signal) {
    scene *test = signal->user;
    tried.got = mica_get(test->world, test->target, Secret);
}

static const void *set_own(mica_run *run) {
    mica_set(mica_run_world(run), shared.target, Own, {7});
    return tried.got;
}

// It is no part of the system, which runs alone because of it.
static void observers_are_not_held_to_what_the_system_has_declared(void **state) {
    scene *test = *state;
    const cheat what = {.name = "set", .act = set_own};
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        const mica_system_def def = cheating(test);
        begin(test, &what, threads, MICA_VALIDATE_ACCESS, &def);
        const mica_observer_def observer = {
            .on = MICA_SET, .type = mica_type_of(Own), .call = look_at_secret, .user = test};
        assert_int_not_equal(mica_observer_connect(test->world, &observer).id, 0);
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
        assert_non_null(tried.got);
        end(test);
    }
}

static const void *has_and_count(mica_run *run) {
    mica_world *world = mica_run_world(run);
    return mica_alive(world, shared.target) && mica_has(world, shared.target, Secret) &&
                   mica_query_count(tried.secrets) == ENTITIES
               ? &shared
               : NULL;
}

static void who_is_there_needs_no_declaration(void **state) {
    scene *test = *state;
    const cheat what = {.name = "has", .act = has_and_count};
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        const mica_system_def def = cheating(test);
        begin(test, &what, threads, MICA_VALIDATE_ACCESS, &def);
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
        assert_non_null(tried.got);
        end(test);
    }
}

static void count_rows(mica_run *run) {
    mica_each (run, it) {
        ((scene *)mica_run_user(run))->other_runs += it.count;
    }
}

static void a_system_that_is_run_by_hand_sees_new_tables(void **state) {
    scene *test = *state;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        mica_world *world = mica_world_create(
            &(mica_world_def){.thread_count = threads, .always_parallel = true, .validate = MICA_VALIDATE_ACCESS});
        const mica_system_def def = {.name = "count", .run = count_rows, .user = test, .query = {mica_read(Own)}};
        const mica_system system = mica_system_add(world, &def);
        mica_spawn(world, mica_value_of(Own, {1}));
        test->other_runs = 0;
        assert_int_equal(mica_world_step_system(world, system, 1), MICA_OK);
        assert_int_equal(test->other_runs, 1);
        mica_spawn(world, mica_value_of(Own, {1}), mica_value_of(Other, {1}));
        assert_int_equal(mica_world_step_system(world, system, 1), MICA_OK);
        assert_int_equal(test->other_runs, 3);
        mica_world_destroy(world);
    }
}

static void a_validation_that_there_is_not_is_refused(void **state) {
    (void)state;
    assert_null(mica_world_create(&(mica_world_def){.validate = (mica_validation)4}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_cheat_fails_its_tick_and_is_named_on_any_number_of_threads, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(conditions_are_held_to_the_access_of_their_systems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_declared_is_no_cheat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exclusive_systems_may_touch_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(start_functions_may_touch_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_checked_where_that_is_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(observers_are_not_held_to_what_the_system_has_declared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_there_needs_no_declaration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_system_that_is_run_by_hand_sees_new_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_validation_that_there_is_not_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
