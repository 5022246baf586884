// Systems of a world through the public face: who sees which commands, refusals, failures, changes from inside a tick,
// owned state, and that the outcome depends on nothing but what was added.
#include <mica/mica.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_notes.h"
#include "support/test_random.h"
#include "support/test_said.h"
#include "support/test_shared_world.h"

MICA_STRUCT(Position, { float x, y; });
MICA_STRUCT(Count, { int32_t value; });
MICA_TAG(Marked);
MICA_TAG(Fresh);
MICA_TAG(Unseen);

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.name = "test"});
    notes[0] = 0;
    return 0;
}

static void note_number(const char *word, int64_t number) {
    char text[64];
    snprintf(text, sizeof(text), "%s=%lld", word, (long long)number);
    note(text);
}

static const char *name_of(const mica_run *run) {
    mica_system_stats stats = {0};
    assert_int_equal(mica_system_statistics(mica_run_world(run), mica_run_system(run), &stats), MICA_OK);
    return stats.name;
}

static void note_name(mica_run *run) {
    note(name_of(run));
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static mica_system add(const mica_system_def *def) {
    return add_to(world, def);
}

static mica_system add_named(const char *name) {
    return add(&(mica_system_def){.name = name, .run = note_name});
}

static void step(void) {
    if (mica_world_step(world, 0.5f) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static void assert_refused(mica_system system, mica_result code, const char *words) {
    assert_int_equal(system.id, 0);
    assert_int_equal(mica_last_result(), code);
    assert_said(words);
}

static const char *plan_text(void) {
    static char text[2048];
    assert_true(mica_world_plan(world, text, sizeof(text)) < sizeof(text));
    return text;
}

// Running

static void check_run(mica_run *run) {
    assert_ptr_equal(mica_run_world(run), world);
    assert_true(mica_delta_time(run) == 0.25f);
    assert_int_equal(mica_run_stage(run), MICA_PHYSICS);
    assert_ptr_equal(mica_run_user(run), &allocator);
    assert_non_null(mica_run_commands(run));
    assert_null(mica_run_state_of(run));
    note_number(name_of(run), (int64_t)mica_run_tick(run));
}

static void a_system_is_told_where_it_runs(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "check", .run = check_run, .stage = MICA_PHYSICS, .user = &allocator});
    assert_int_equal(mica_world_tick(world), 0);
    assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
    assert_int_equal(mica_world_step(world, 0.25f), MICA_OK);
    assert_int_equal(mica_world_tick(world), 2);
    assert_string_equal(take_notes(), "check=0 check=1");
}

static void a_world_without_systems_can_be_stepped(void **state) {
    (void)state;
    assert_int_equal(mica_world_systems(world, NULL, 0), 0);
    step();
    assert_int_equal(mica_world_tick(world), 1);
    assert_int_equal(mica_world_systems(world, NULL, 0), 0);
    assert_string_equal(plan_text(), "");
}

static void ask_for_version(mica_run *run) {
    assert_int_equal(mica_world_advance_version(mica_run_world(run)), 0);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    note("asked");
}

static void versions_of_a_tick_are_those_of_its_plan(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "ask", .run = ask_for_version});
    step();
    assert_string_equal(take_notes(), "asked");
    assert_int_equal(mica_world_advance_version(NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void built_in_stages_run_in_their_order(void **state) {
    (void)state;
    static const char *const names[] = {"update",      "first",   "input", "pre-update", "physics",
                                        "post-update", "resolve", "last",  "extract"};
    for (mica_stage stage = 0; stage < MICA_STAGE_OWN; stage++) {
        assert_string_equal(mica_stage_name(world, stage), names[stage]);
        add(&(mica_system_def){.name = names[stage], .run = note_name, .stage = stage});
    }
    step();
    assert_string_equal(take_notes(), "first input pre-update update physics post-update resolve last extract");
}

static void own_stages_stand_beside_their_neighbours(void **state) {
    (void)state;
    const mica_stage before = mica_stage_add_before(world, "before first", MICA_FIRST);
    const mica_stage after = mica_stage_add_after(world, "after extract", MICA_EXTRACT);
    const mica_stage middle = mica_stage_add_after(world, "after update", MICA_UPDATE);
    const mica_stage nearer = mica_stage_add_before(world, "before after update", middle);
    assert_int_equal(before, MICA_STAGE_OWN);
    assert_string_equal(mica_stage_name(world, nearer), "before after update");
    const mica_stage stages[] = {after, MICA_EXTRACT, MICA_PHYSICS, middle, nearer, MICA_UPDATE, MICA_FIRST, before};
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        char name[8];
        snprintf(name, sizeof(name), "s%d", (int)i);
        add(&(mica_system_def){.name = name, .run = note_name, .stage = stages[i]});
    }
    step();
    assert_string_equal(take_notes(), "s7 s6 s5 s4 s3 s2 s1 s0");
}

static void bad_stages_are_refused(void **state) {
    (void)state;
    assert_int_equal(mica_stage_add_before(world, "update", MICA_FIRST), -1);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
    assert_int_equal(mica_stage_add_after(world, "x", MICA_STAGE_OWN), -1);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_stage_add_after(world, "x", -1), -1);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_stage_add_after(world, "", MICA_FIRST), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_stage_add_after(world, NULL, MICA_FIRST), -1);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_stage_name(world, MICA_STAGE_OWN));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_stage_add_after(world, "x", MICA_FIRST), MICA_STAGE_OWN);
    assert_int_equal(mica_stage_add_after(world, "x", MICA_FIRST), -1);
    assert_int_equal(mica_last_result(), MICA_EXISTS);
}

static void one_system_runs_in_each_of_its_stages(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "update", .run = note_name});
    const mica_system both = add(&(mica_system_def){.name = "both",
                                                    .run = note_name,
                                                    .stage = MICA_PHYSICS,
                                                    .also_count = 1,
                                                    .also = {{.stage = MICA_UPDATE, .priority = 1}}});
    add(&(mica_system_def){.name = "physics", .run = note_name, .stage = MICA_PHYSICS, .priority = 1});
    step();
    assert_string_equal(take_notes(), "both update physics both");
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, both, &stats), MICA_OK);
    assert_int_equal(stats.run_count, 2);
    assert_int_equal(stats.stage, MICA_PHYSICS);
    mica_system listed[3];
    assert_int_equal(mica_world_systems(world, listed, 3), 3);
    assert_int_equal(listed[0].id, both.id);
}

static void the_plan_can_be_read(void **state) {
    (void)state;
    add_named("a");
    const mica_system b = add(&(mica_system_def){.name = "b", .run = note_name, .after = {"a"}});
    add(&(mica_system_def){.name = "c", .run = note_name, .stage = MICA_FIRST});
    mica_system_enable(world, b, false);
    const char *const expected = "stage first\n"
                                 "  c (exclusive)\n"
                                 "  barrier\n"
                                 "stage update\n"
                                 "  a (exclusive)\n"
                                 "  barrier\n"
                                 "  b (disabled, exclusive)\n"
                                 "  barrier\n";
    assert_string_equal(plan_text(), expected);
    char cut[16];
    memset(cut, 'x', sizeof(cut));
    assert_int_equal(mica_world_plan(world, cut, 10), strlen(expected));
    assert_string_equal(cut, "stage fir");
    assert_int_equal(cut[10], 'x');
    assert_int_equal(mica_world_plan(world, NULL, 0), strlen(expected));
    assert_int_equal(mica_world_plan(world, NULL, 10), strlen(expected));
}

// Who sees which commands

static void spawn_marked(mica_run *run) {
    mica_query *query = mica_query_of(mica_run_world(run), mica_with(Marked));
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    note_number(name_of(run), mica_query_count(query)); // its own commands are not seen
}

static void count_marked(mica_run *run) {
    note_number(name_of(run), mica_query_count(mica_query_of(mica_run_world(run), mica_with(Marked))));
}

static void commands_are_seen_behind_the_next_barrier(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "spawn", .run = spawn_marked, .priority = 5});
    add(&(mica_system_def){.name = "beside", .run = count_marked, .priority = 4});
    add(&(mica_system_def){.name = "behind", .run = count_marked, .priority = 3, .after = {"spawn"}});
    add(&(mica_system_def){.name = "later", .run = count_marked, .priority = 2});
    step();
    assert_string_equal(take_notes(), "spawn=0 beside=0 behind=1 later=1");
    step();
    assert_string_equal(take_notes(), "spawn=1 beside=1 behind=2 later=2");
}

static void commands_are_seen_in_the_next_stage(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "spawn", .run = spawn_marked, .stage = MICA_INPUT});
    add(&(mica_system_def){.name = "beside", .run = count_marked, .stage = MICA_INPUT});
    add(&(mica_system_def){.name = "next", .run = count_marked, .stage = MICA_PRE_UPDATE});
    step();
    assert_string_equal(take_notes(), "spawn=0 beside=0 next=1");
    assert_int_equal(mica_world_entity_count(world), 1);
}

static void a_barrier_applies_what_all_systems_before_it_recorded(void **state) {
    (void)state;
    // Nothing orders "other" against "behind"; it is planned earlier, so the barrier takes its commands along.
    add(&(mica_system_def){.name = "other", .run = spawn_marked, .priority = 5});
    add(&(mica_system_def){.name = "spawn", .run = spawn_marked, .priority = 4});
    add(&(mica_system_def){.name = "behind", .run = count_marked, .after = {"spawn"}});
    step();
    assert_string_equal(take_notes(), "other=0 spawn=0 behind=2");
}

static mica_entity target;

static void set_count_by_user(mica_run *run) {
    const Count count = *(const Count *)mica_run_user(run);
    mica_set_from(mica_run_commands(run), target, Count, &count);
}

static void buffers_are_applied_in_the_order_of_the_plan(void **state) {
    (void)state;
    Count one = {1};
    Count two = {2};
    target = mica_create(world);
    add(&(mica_system_def){.name = "added first", .run = set_count_by_user, .user = &one});
    add(&(mica_system_def){.name = "runs first", .run = set_count_by_user, .user = &two, .priority = 1});
    step();
    assert_int_equal(mica_get(world, target, Count)->value, 1);
}

static void destroy_target(mica_run *run) {
    mica_destroy(mica_run_commands(run), target);
}

static void a_skipped_command_is_counted_for_its_system(void **state) {
    (void)state;
    target = mica_create(world);
    const mica_system first = add(&(mica_system_def){.name = "first", .run = destroy_target});
    const mica_system second = add(&(mica_system_def){.name = "second", .run = destroy_target});
    step();
    assert_false(mica_alive(world, target));
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, first, &stats), MICA_OK);
    assert_int_equal(stats.command_count, 1);
    assert_int_equal(stats.command_skipped_count, 0);
    assert_int_equal(mica_system_statistics(world, second, &stats), MICA_OK);
    assert_int_equal(stats.command_count, 0);
    assert_int_equal(stats.command_skipped_count, 1);
}

static void change_in_walk(mica_run *run) {
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += mica_delta_time(run);
            if (position[i].x > 1) {
                mica_destroy(mica_iter_commands(it), it.entities[i]);
            }
        }
    }
}

static void a_walk_in_a_system_records_into_its_buffer(void **state) {
    (void)state;
    const mica_entity slow = mica_spawn(world, mica_value_of(Position, {0, 0}));
    const mica_entity fast = mica_spawn(world, mica_value_of(Position, {0.9f, 0}));
    add(&(mica_system_def){.name = "change", .run = change_in_walk, .query = {mica_write(Position)}});
    add(&(mica_system_def){.name = "count", .run = count_marked});
    step();
    assert_true(mica_get(world, slow, Position)->x == 0.5f);
    assert_false(mica_alive(world, fast));
}

static void remove_then_add(mica_run *run) {
    mica_remove(mica_run_commands(run), target, Count);
    mica_add(mica_run_commands(run), target, Count);
}

static void removing_and_adding_in_one_system_keeps_queries_right(void **state) {
    (void)state;
    target = mica_spawn(world, mica_value_of(Count, {7}), mica_tag(Marked));
    mica_query *with = mica_query_of(world, mica_with(Count));
    mica_query *without = mica_query_of(world, mica_with(Marked), mica_without(Count));
    assert_int_equal(mica_query_count(with), 1);
    assert_int_equal(mica_query_count(without), 0);
    add(&(mica_system_def){.name = "change", .run = remove_then_add, .query = {mica_with(Marked)}});
    step();
    assert_int_equal(mica_query_count(with), 1);
    assert_int_equal(mica_query_count(without), 0);
    assert_true(mica_query_contains(with, target));
    assert_int_equal(mica_get(world, target, Count)->value, 0);
}

// Structure inside systems

static mica_result seen_result;
static char seen_error[512];

static void create_directly(mica_run *run) {
    mica_error_clear();
    mica_create(mica_run_world(run));
    seen_result = mica_last_result();
    snprintf(seen_error, sizeof(seen_error), "%s", mica_last_error());
}

static void declared_access_locks_structure(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "declared", .run = create_directly, .query = {mica_read(Position)}});
    step();
    assert_int_equal(seen_result, MICA_LOCKED);
    assert_non_null(strstr(seen_error, "declared"));
    assert_int_equal(mica_world_entity_count(world), 0);
    assert_true(mica_alive(world, mica_create(world)));
}

static void a_further_query_alone_is_declared_access_too(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "declared", .run = create_directly, .query_count = 1});
    step();
    assert_int_equal(seen_result, MICA_LOCKED);
}

static void listed_access_alone_is_declared_access_too(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "declared", .run = create_directly, .access = {mica_reads(Count)}});
    step();
    assert_int_equal(seen_result, MICA_LOCKED);
}

static void what_access_names_is_registered(void **state) {
    (void)state;
    assert_int_equal(mica_schema_find(mica_world_schema(world), "Unseen"), 0);
    add(&(mica_system_def){
        .name = "unseen", .run = create_directly, .access = {mica_writes(Unseen), mica_reads(Marked)}});
    const mica_component unseen = mica_schema_find(mica_world_schema(world), "Unseen");
    assert_int_not_equal(unseen, 0);
    add(&(mica_system_def){.name = "by id", .run = create_directly, .access = {{.component = unseen}}});
}

static void access_to_an_unknown_component_is_refused(void **state) {
    (void)state;
    mica_error_clear();
    const mica_system_def def = {
        .name = "unknown", .run = create_directly, .access = {mica_reads(Count), {.component = 999, .writes = true}}};
    assert_int_equal(mica_system_add(world, &def).id, 0);
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_system_find(world, "unknown").id, 0);
}

static void exclusive_systems_change_the_world_at_once(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "no query", .run = create_directly});
    step();
    assert_int_equal(seen_result, MICA_OK);
    add(&(mica_system_def){
        .name = "exclusive", .run = create_directly, .query = {mica_read(Position)}, .exclusive = true});
    step();
    assert_int_equal(seen_result, MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 3);
}

static void step_again(mica_run *run) {
    mica_error_clear();
    seen_result = mica_world_step(mica_run_world(run), 0);
    snprintf(seen_error, sizeof(seen_error), "%s", mica_last_error());
    assert_int_equal(mica_world_advance(mica_run_world(run), 1), -1);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
}

static void a_tick_inside_a_tick_is_refused(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "again", .run = step_again});
    step();
    assert_int_equal(seen_result, MICA_LOCKED);
    assert_non_null(strstr(seen_error, "again"));
    assert_int_equal(mica_world_tick(world), 1);
}

static void a_tick_inside_a_walk_is_refused(void **state) {
    (void)state;
    add_named("a");
    mica_spawn(world, mica_tag(Marked));
    int32_t refused_count = 0;
    mica_each (mica_query_of(world, mica_with(Marked)), it) {
        refused_count += mica_world_step(world, 0) == MICA_LOCKED;
        refused_count += mica_world_advance(world, 1) == -1;
    }
    assert_int_equal(refused_count, 2);
    assert_string_equal(take_notes(), "");
    assert_int_equal(mica_world_tick(world), 0);
    step();
    assert_string_equal(take_notes(), "a");
}

static void bad_lengths_of_ticks_are_refused(void **state) {
    (void)state;
    add_named("a");
    const float lengths[] = {-1, -0x1p-149f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        assert_int_equal(mica_world_step(world, lengths[i]), MICA_INVALID);
    }
    assert_int_equal(mica_world_step(NULL, 0), MICA_INVALID);
    assert_string_equal(take_notes(), "");
    assert_int_equal(mica_world_step(world, 0), MICA_OK);
}

static void step_other_world(mica_run *run) {
    mica_world *other = mica_run_user(run);
    assert_int_equal(mica_world_step(other, 1), MICA_OK);
    note_number("other", (int64_t)mica_world_tick(other));
}

static void another_world_may_be_stepped_inside_a_system(void **state) {
    (void)state;
    mica_world *other = mica_world_create(NULL);
    assert_int_not_equal(mica_system_add(other, &(mica_system_def){.name = "inner", .run = note_name}).id, 0);
    add(&(mica_system_def){.name = "outer", .run = step_other_world, .user = other, .query = {mica_read(Position)}});
    step();
    step();
    assert_string_equal(take_notes(), "inner other=1 inner other=2");
    mica_world_destroy(other);
}

static void leave_walk_open(mica_run *run) {
    mica_iter iter = mica_run_begin(run);
    assert_true(mica_iter_next(&iter));
}

static void a_walk_left_open_fails_the_system_and_locks_nothing(void **state) {
    (void)state;
    mica_spawn(world, mica_value_of(Position, {0, 0}));
    const mica_system leaves =
        add(&(mica_system_def){.name = "leaves", .run = leave_walk_open, .query = {mica_read(Position)}});
    add(&(mica_system_def){.name = "later", .run = note_name});
    assert_int_equal(mica_world_step(world, 0), MICA_LOCKED);
    assert_non_null(strstr(mica_last_error(), "leaves"));
    assert_non_null(strstr(mica_last_error(), "walk"));
    assert_string_equal(take_notes(), "");
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_system_enable(world, leaves, false);
    step();
    assert_string_equal(take_notes(), "later");
}

MICA_STRUCT_WITH(InTable, (.storage = MICA_TABLE), { float x, y; });

static void keep_walk(mica_run *run) {
    mica_iter *iter = mica_run_user(run);
    *iter = mica_run_begin(run);
    assert_true(mica_iter_next(iter));
    assert_true(mica_iter_next(iter)); // the second of three chunks
}

static void a_walk_that_was_kept_open_does_not_go_on(void **state) {
    (void)state;
    enum { COUNT = 12000, LEFT = 6000 };
    static mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(world, mica_value_of(InTable, {(float)i, 0}));
    }
    mica_iter iter = {.count = 0};
    add(&(mica_system_def){.name = "keeps", .run = keep_walk, .user = &iter, .query = {mica_read(InTable)}});
    assert_int_equal(mica_world_step(world, 0), MICA_LOCKED);
    assert_int_equal(mica_destroy_many(world, entities + LEFT, COUNT - LEFT), MICA_OK);
    assert_false(mica_iter_next(&iter));
    assert_int_equal(iter.count, 0);
    assert_null(mica_read_of(iter, InTable));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

// Queries of systems

static void count_queries(mica_run *run) {
    note_number("first", mica_query_count(mica_run_query(run, 0)));
    note_number("second", mica_query_count(mica_run_query(run, 1)));
    assert_null(mica_run_query(run, 2));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_null(mica_run_query(run, -1));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    const mica_iter iter = mica_run_begin(run);
    assert_false(iter.open);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), "counts"));
}

static void further_queries_are_numbered_from_zero(void **state) {
    (void)state;
    mica_spawn(world, mica_value_of(Position, {0, 0}));
    mica_spawn(world, mica_tag(Marked));
    add(&(mica_system_def){
        .name = "counts", .run = count_queries, .query_count = 2, .queries = {{{mica_read(Position)}}, {{{0}}}}});
    step();
    assert_string_equal(take_notes(), "first=1 second=2"); // no terms: all that live
}

static void walk_positions(mica_run *run) {
    int32_t count = 0;
    mica_each (run, it) {
        count += it.count;
    }
    note_number("walked", count);
}

static void queries_of_systems_outlive_trimming(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "walk", .run = walk_positions, .query = {mica_read(Position)}});
    mica_spawn(world, mica_value_of(Position, {0, 0}));
    step();
    assert_int_equal(mica_world_trim(world), MICA_OK);
    assert_int_equal(mica_world_statistics(world).query_count, 1);
    step();
    assert_string_equal(take_notes(), "walked=1 walked=1");
}

static void removing_a_system_gives_its_queries_back(void **state) {
    (void)state;
    const mica_system walk = add(&(mica_system_def){.name = "walk",
                                                    .run = walk_positions,
                                                    .query = {mica_read(Position)},
                                                    .query_count = 1,
                                                    .queries = {{{mica_read(Count)}}}});
    assert_int_equal(mica_world_statistics(world).query_count, 2);
    assert_int_equal(mica_system_remove(world, walk), MICA_OK);
    assert_int_equal(mica_world_trim(world), MICA_OK);
    assert_int_equal(mica_world_statistics(world).query_count, 0);
}

static void spawn_unseen_set(mica_run *run) {
    if (mica_run_tick(run) == 0) {
        mica_spawn(mica_run_commands(run), mica_value_of(Position, {3, 4}), mica_value_of(Count, {5}), mica_tag(Fresh));
    }
    mica_each (mica_run_query(run, 0), it) {
        for (int32_t i = 0; i < it.count; i++) {
            const Count *count = mica_get(mica_run_world(run), it.entities[i], Count);
            note_number("count", count->value);
        }
    }
}

static void sets_of_components_that_come_up_later_are_reached(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "walk",
                           .run = spawn_unseen_set,
                           .query = {mica_write(Position)},
                           .query_count = 1,
                           .queries = {{{mica_read(Position), mica_read(Count)}}}});
    step();
    step();
    assert_string_equal(take_notes(), "count=5");
}

static void types_registered_after_churn_work_in_systems(void **state) {
    (void)state;
    // In some libraries components are entities, and a reused slot broke queries. Here they are not.
    char names[300][16];
    for (int32_t i = 0; i < 300; i++) {
        snprintf(names[i], sizeof(names[i]), "T%d", (int)i);
        mica_type type = {.name = names[i], .size = 4, .align = 4, .kind = MICA_KIND_STRUCT};
        assert_int_not_equal(mica_world_register(world, &type), 0);
    }
    assert_int_equal(mica_destroy(world, mica_create(world)), MICA_OK);
    mica_type last = {.name = "Last", .size = 4, .align = 4, .kind = MICA_KIND_STRUCT};
    const mica_component component = mica_world_register(world, &last);
    const int32_t value = 1;
    const mica_value values[] = {{NULL, &value, component, 0}};
    assert_false(mica_entity_is_null(mica_entity_spawn(world, values, 1)));
    add(&(mica_system_def){
        .name = "walk", .run = walk_positions, .query = {{.component = component, .use = MICA_USE_WRITE}}});
    step();
    assert_string_equal(take_notes(), "walked=1");
}

static void end_own_world(mica_run *run) {
    mica_error_clear();
    mica_world_destroy(mica_run_world(run));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_non_null(strstr(mica_last_error(), "system \"ender\" of test is running"));
    note("ended");
}

static void a_world_is_not_ended_by_its_own_system(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "ender", .start = end_own_world, .run = end_own_world, .stop = end_own_world});
    step();
    assert_string_equal(take_notes(), "ended ended");
    mica_world_destroy(world); // runs the stop function, inside which it refuses to begin again
    world = NULL;
    assert_string_equal(take_notes(), "ended");
}

static void assert_no_run(const char *call) {
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_non_null(strstr(mica_last_error(), call));
    mica_error_clear();
}

static void no_run_is_refused(void **state) {
    (void)state;
    assert_null(mica_run_world(NULL));
    assert_no_run("mica_run_world");
    assert_true(mica_delta_time(NULL) == 0);
    assert_no_run("mica_delta_time");
    assert_int_equal(mica_run_tick(NULL), 0);
    assert_no_run("mica_run_tick");
    assert_int_equal(mica_run_stage(NULL), -1);
    assert_no_run("mica_run_stage");
    assert_int_equal(mica_run_system(NULL).id, 0);
    assert_no_run("mica_run_system");
    assert_null(mica_run_commands(NULL));
    assert_no_run("mica_run_commands");
    assert_null(mica_run_state_of(NULL));
    assert_no_run("mica_run_state_of");
    assert_null(mica_run_user(NULL));
    assert_no_run("mica_run_user");
    assert_null(mica_run_query(NULL, 0));
    assert_no_run("mica_run_query");
    assert_false(mica_run_begin(NULL).open);
    assert_no_run("mica_run_begin");
    mica_run_fail(NULL, MICA_FAILED, "nobody");
    assert_no_run("mica_run_fail");
}

// Failing

static void fail_always(mica_run *run) {
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    mica_run_fail(run, MICA_IO, "the disk is gone");
    mica_run_fail(run, MICA_LIMIT, "a later failure does not count");
    note(name_of(run)); // it returns by itself
}

static void a_failure_ends_the_tick_and_drops_what_was_not_applied(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "early", .run = spawn_marked, .stage = MICA_FIRST});
    add(&(mica_system_def){.name = "beside", .run = spawn_marked, .priority = 1});
    const mica_system fails = add(&(mica_system_def){.name = "fails", .run = fail_always, .disabled = true});
    add(&(mica_system_def){.name = "after", .run = note_name});
    add(&(mica_system_def){.name = "late", .run = note_name, .stage = MICA_LAST});
    step();
    assert_string_equal(take_notes(), "early=0 beside=1 after late");
    mica_system_enable(world, fails, true);
    assert_int_equal(mica_world_step(world, 0), MICA_IO);
    assert_int_equal(mica_last_result(), MICA_IO);
    assert_string_equal(mica_last_error(), "mica_world_step: system \"fails\" failed in stage \"update\" of tick 1: "
                                           "the disk is gone");
    assert_string_equal(take_notes(), "early=2 beside=3 fails");
    assert_int_equal(mica_world_tick(world), 1);
    assert_int_equal(mica_world_entity_count(world), 3);
    mica_system_enable(world, fails, false);
    step();
    assert_string_equal(take_notes(), "early=3 beside=4 after late");
    assert_int_equal(mica_world_entity_count(world), 5);
    assert_int_equal(mica_world_tick(world), 2);
}

static void fail_by_user(mica_run *run) {
    const mica_result *code = mica_run_user(run);
    mica_run_fail(run, *code, NULL);
}

static void a_failure_without_a_code_has_one_all_the_same(void **state) {
    (void)state;
    mica_result code = MICA_OK;
    add(&(mica_system_def){.name = "fails", .run = fail_by_user, .user = &code});
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    code = MICA_RESULT_COUNT;
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    code = MICA_FORMAT;
    assert_int_equal(mica_world_step(world, 0), MICA_FORMAT);
}

static void fail_at_length(mica_run *run) {
    char text[400];
    memset(text, 'x', 248);
    snprintf(text + 248, sizeof(text) - 248, "the end, and what there is no room for");
    mica_run_fail(run, MICA_FAILED, text);
}

static void the_first_255_bytes_of_a_failure_are_said(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "fails", .run = fail_at_length});
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    const char *text = strstr(mica_last_error(), "tick 0: ");
    assert_non_null(text);
    assert_int_equal(strlen(text), strlen("tick 0: ") + 248 + strlen("the end"));
    assert_string_equal(text + strlen("tick 0: ") + 248, "the end");
}

static void fail_if_asked(mica_run *run) {
    note("start");
    if (*(bool *)mica_run_user(run)) {
        mica_run_fail(run, MICA_FAILED, "not yet");
    } else {
        mica_create(mica_run_world(run)); // allowed: nothing is walked yet
    }
}

static void note_stop(mica_run *run) {
    assert_true(mica_delta_time(run) == 0);
    char text[64];
    snprintf(text, sizeof(text), "stop-%s", (const char *)mica_run_user(run));
    note(text);
}

static void note_stop_plainly(mica_run *run) {
    (void)run;
    note("stop");
}

static void a_start_that_fails_is_called_again_in_the_next_tick(void **state) {
    (void)state;
    bool fails = true;
    const mica_system system = add(&(mica_system_def){.name = "run",
                                                      .run = note_name,
                                                      .start = fail_if_asked,
                                                      .stop = note_stop_plainly,
                                                      .user = &fails,
                                                      .query = {mica_read(Position)}});
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    assert_string_equal(take_notes(), "start start");
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, system, &stats), MICA_OK);
    assert_int_equal(stats.run_count, 0);
    fails = false;
    step();
    step();
    assert_string_equal(take_notes(), "start run run");
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_int_equal(mica_system_remove(world, system), MICA_OK);
    assert_string_equal(take_notes(), "stop");
}

static void a_system_that_never_started_is_not_stopped(void **state) {
    (void)state;
    bool fails = true;
    const mica_system failed = add(&(mica_system_def){
        .name = "failed", .run = note_name, .start = fail_if_asked, .stop = note_stop, .user = &fails});
    const mica_system disabled = add(&(mica_system_def){
        .name = "disabled", .run = note_name, .stop = note_stop, .user = "disabled", .disabled = true});
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    take_notes();
    assert_int_equal(mica_system_remove(world, failed), MICA_OK);
    step();
    assert_int_equal(mica_system_remove(world, disabled), MICA_OK);
    assert_string_equal(take_notes(), "");
}

static void count_and_spawn(mica_run *run) {
    note_stop(run);
    mica_world *stopped = mica_run_world(run);
    note_number("entities", mica_world_entity_count(stopped));
    mica_create(stopped);
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    assert_int_equal(mica_world_step(stopped, 0), MICA_LOCKED);
}

static void stop_functions_run_in_reverse_order_of_start_with_the_world_whole(void **state) {
    (void)state;
    mica_create(world);
    add(&(mica_system_def){.name = "a", .run = note_name, .stop = count_and_spawn, .user = "a"});
    add(&(mica_system_def){.name = "b", .run = note_name, .stop = note_stop, .user = "b", .priority = 1});
    add(&(mica_system_def){
        .name = "c", .run = note_name, .stop = count_and_spawn, .user = "c", .query = {mica_with(Marked)}});
    step();
    assert_string_equal(take_notes(), "b a c");
    mica_world_destroy(world);
    world = NULL;
    // c's verb and its commands are there when a stops.
    assert_string_equal(take_notes(), "stop-c entities=1 stop-a entities=3 stop-b");
}

static void fail_in_stop(mica_run *run) {
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    mica_run_fail(run, MICA_IO, "cannot close the file");
}

static char logged[512];

static void keep_line(void *user, mica_log_level level, const char *text) {
    (void)user;
    assert_int_equal(level, MICA_LOG_WARNING);
    snprintf(logged, sizeof(logged), "%s", text);
}

static void a_failure_in_a_stop_function_is_logged(void **state) {
    (void)state;
    mica_world *logging = mica_world_create(&(mica_world_def){.log = {.function = keep_line}});
    const mica_system system =
        mica_system_add(logging, &(mica_system_def){.name = "closes", .run = do_nothing, .stop = fail_in_stop});
    assert_int_equal(mica_world_step(logging, 0), MICA_OK);
    assert_int_equal(mica_system_remove(logging, system), MICA_OK);
    assert_string_equal(logged, "system \"closes\" failed when it was stopped: cannot close the file");
    assert_int_equal(mica_world_entity_count(logging), 0);
    mica_world_destroy(logging);
}

// Enabling, adding and removing

static void systems_behind_a_disabled_one_run(void **state) {
    (void)state;
    add_named("s1");
    const mica_system s2 = add(&(mica_system_def){.name = "s2", .run = note_name, .disabled = true});
    add_named("s3");
    step();
    assert_string_equal(take_notes(), "s1 s3");
    assert_int_equal(mica_system_enable(world, s2, true), MICA_OK);
    step();
    assert_string_equal(take_notes(), "s1 s2 s3");
    assert_int_equal(mica_system_enable(world, s2, false), MICA_OK);
    step();
    assert_string_equal(take_notes(), "s1 s3");
}

static void a_disabled_system_keeps_its_barriers(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "spawn", .run = spawn_marked});
    add(&(mica_system_def){.name = "disabled", .run = note_name, .after = {"spawn"}, .disabled = true});
    add(&(mica_system_def){.name = "count", .run = count_marked, .priority = -1});
    step();
    assert_string_equal(take_notes(), "spawn=0 count=1");
}

static void change_systems(mica_run *run) {
    mica_world *changed = mica_run_world(run);
    note_name(run);
    if (mica_run_tick(run) > 0) {
        return;
    }
    assert_int_not_equal(
        mica_system_add(changed, &(mica_system_def){.name = "added", .run = note_name, .priority = 10}).id, 0);
    const mica_system removed = mica_system_find(changed, "removed");
    assert_int_equal(mica_system_remove(changed, removed), MICA_OK);
    assert_int_equal(mica_system_enable(changed, mica_system_find(changed, "disabled"), false), MICA_OK);
    assert_int_equal(mica_system_enable(changed, mica_system_find(changed, "enabled"), true), MICA_OK);
    assert_int_equal(mica_system_enable(changed, mica_run_system(run), false), MICA_OK);
    // What can be asked changes at once, what runs does not.
    assert_int_equal(mica_system_find(changed, "removed").id, 0);
    assert_int_equal(mica_system_remove(changed, removed), MICA_UNKNOWN);
    assert_int_equal(mica_system_enable(changed, removed, true), MICA_UNKNOWN);
    assert_null(strstr(plan_text(), "added"));
    mica_system listed[8];
    assert_int_equal(mica_world_systems(changed, listed, 8), 3);
}

static void spawn_unnamed(mica_run *run) {
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    note("spawn");
}

static void changes_from_inside_a_tick_take_effect_at_the_next(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "changes", .run = change_systems});
    add(&(mica_system_def){.name = "removed", .run = spawn_unnamed, .stop = note_stop_plainly});
    add_named("disabled");
    add(&(mica_system_def){.name = "enabled", .run = note_name, .disabled = true});
    step();
    // The removed one still records, its commands are applied, and it is stopped when the tick is over.
    assert_string_equal(take_notes(), "changes spawn disabled stop");
    assert_int_equal(mica_world_entity_count(world), 1);
    step();
    assert_string_equal(take_notes(), "added enabled");
}

static void remove_self(mica_run *run) {
    const Count *before = mica_run_state(run, Count);
    assert_int_equal(mica_system_remove(mica_run_world(run), mica_run_system(run)), MICA_OK);
    assert_ptr_equal(mica_run_state(run, Count), before);
    mica_spawn(mica_run_commands(run), mica_tag(Marked));
    // Its name is free: a new version takes its place.
    assert_int_not_equal(mica_system_add(mica_run_world(run), &(mica_system_def){.name = "self", .run = note_name}).id,
                         0);
    note("old");
}

static void a_system_may_replace_itself(void **state) {
    (void)state;
    const mica_system old = add(&(mica_system_def){.name = "self", .run = remove_self, .state = mica_type_of(Count)});
    step();
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_int_not_equal(mica_system_find(world, "self").id, old.id);
    step();
    assert_string_equal(take_notes(), "old self");
}

static void remove_self_and_fail(mica_run *run) {
    mica_system_remove(mica_run_world(run), mica_run_system(run));
    mica_run_fail(run, MICA_FAILED, "gone");
}

static void a_system_that_removes_itself_and_fails_is_named(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "self", .run = remove_self_and_fail, .stop = note_stop_plainly});
    assert_int_equal(mica_world_step(world, 0), MICA_FAILED);
    assert_string_equal(take_notes(), "stop"); // no step is needed for that
    assert_non_null(strstr(mica_last_error(), "\"self\""));
    assert_int_equal(mica_system_find(world, "self").id, 0);
    step();
}

static void remove_by_name(mica_run *run) {
    note("stop");
    mica_world *stopped = mica_run_world(run);
    assert_int_equal(mica_system_remove(stopped, mica_system_find(stopped, mica_run_user(run))), MICA_OK);
}

static void a_stop_function_may_remove_further_systems(void **state) {
    (void)state;
    const mica_system a = add(&(mica_system_def){.name = "a", .run = note_name, .stop = remove_by_name, .user = "c"});
    add_named("b");
    add(&(mica_system_def){.name = "c", .run = note_name, .stop = note_stop, .user = "c"});
    step();
    take_notes();
    assert_int_equal(mica_system_remove(world, a), MICA_OK);
    assert_string_equal(take_notes(), "stop stop-c");
    step();
    assert_string_equal(take_notes(), "b");
}

static void removing_while_a_walk_is_open_is_refused(void **state) {
    (void)state;
    const mica_system system = add_named("a");
    mica_spawn(world, mica_tag(Marked));
    mica_each (mica_query_of(world, mica_with(Marked)), it) {
        assert_int_equal(mica_system_remove(world, system), MICA_LOCKED);
    }
    step();
    assert_string_equal(take_notes(), "a");
    assert_int_equal(mica_system_remove(world, system), MICA_OK);
}

static void numbers_of_systems_are_not_used_again(void **state) {
    (void)state;
    const mica_system a = add_named("a");
    const mica_system b = add_named("b");
    assert_int_equal(mica_system_remove(world, b), MICA_OK);
    const mica_system c = add_named("b");
    assert_true(c.id != a.id && c.id != b.id);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, b, &stats), MICA_UNKNOWN);
    assert_int_equal(mica_system_remove(world, b), MICA_UNKNOWN);
    assert_null(mica_system_state(world, b));
    assert_int_equal(mica_last_result(), MICA_UNKNOWN);
    assert_int_equal(mica_system_find(world, "b").id, c.id);
    assert_int_equal(mica_system_find(world, "nobody").id, 0);
    assert_int_equal(mica_system_statistics(world, (mica_system){0}, &stats), MICA_UNKNOWN);
    assert_int_equal(mica_system_statistics(world, a, NULL), MICA_INVALID);
}

static void bad_definitions_are_refused(void **state) {
    (void)state;
    add_named("there");
    const mica_system_def good = {.name = "x", .run = note_name};
    mica_system_def bad = good;
    bad.name = NULL;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "name");
    bad.name = "";
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "name");
    assert_refused(mica_system_add(world, NULL), MICA_INVALID, "name");
    assert_refused(mica_system_add(NULL, &good), MICA_INVALID, "world");
    bad = good;
    bad.name = "there";
    assert_refused(mica_system_add(world, &bad), MICA_EXISTS, "there");
    bad = good;
    bad.run = NULL;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "\"x\"");
    bad = good;
    bad.stage = MICA_STAGE_OWN;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "stage 9");
    bad.stage = -1;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "stage -1");
    bad = good;
    bad.also_count = 1;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "twice");
    bad.also_count = 2;
    bad.also[0].stage = MICA_LAST;
    bad.also[1].stage = MICA_LAST;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "names stage \"last\" twice");
    bad.also_count = MICA_SYSTEM_STAGE_MAX + 1;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "5 further stages");
    bad.also_count = -1;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "further stages");
    bad = good;
    bad.query_count = MICA_SYSTEM_QUERY_MAX + 1;
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "9 further queries");
    bad = good;
    bad.query[0] = mica_read(Marked);
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "Marked");
    bad = good;
    bad.query_count = 1;
    bad.queries[0].terms[0] = mica_write(Marked);
    assert_refused(mica_system_add(world, &bad), MICA_INVALID, "Marked");
    bad = good;
    bad.state = mica_type_of(Marked);
    assert_refused(mica_system_add(world, &bad), MICA_NO_VALUE, "Marked");
    assert_int_equal(mica_world_systems(world, NULL, 0), 1);
    assert_int_not_equal(mica_system_add(world, &good).id, 0);
}

// Cycles

static void a_cycle_is_refused_when_it_closes(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "a", .run = note_name, .before = {"b"}});
    add(&(mica_system_def){.name = "b", .run = note_name, .before = {"c"}});
    add_named("bystander");
    char before[2048];
    snprintf(before, sizeof(before), "%s", plan_text());
    mica_system_def closing = {.name = "c", .run = note_name, .before = {"a"}};
    assert_refused(mica_system_add(world, &closing), MICA_CYCLE, "\"a\"");
    assert_non_null(strstr(mica_last_error(), "\"b\""));
    assert_non_null(strstr(mica_last_error(), "\"c\""));
    assert_null(strstr(mica_last_error(), "bystander"));
    assert_string_equal(plan_text(), before);
    step();
    assert_string_equal(take_notes(), "a b bystander");
    // In another stage nothing is wrong with it.
    closing.stage = MICA_LAST;
    add(&closing);
    step();
    assert_string_equal(take_notes(), "a b bystander c");
}

static void a_cycle_through_a_name_known_later_is_refused(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "a", .run = note_name, .before = {"later"}, .after = {"later"}});
    assert_refused(mica_system_add(world, &(mica_system_def){.name = "later", .run = note_name}), MICA_CYCLE, "later");
    assert_refused(mica_system_add(world, &(mica_system_def){.name = "self", .run = note_name, .after = {"self"}}),
                   MICA_CYCLE, "\"self\" before \"self\"");
    step();
    assert_string_equal(take_notes(), "a");
}

static void removing_a_system_opens_a_cycle(void **state) {
    (void)state;
    const mica_system a = add(&(mica_system_def){.name = "a", .run = note_name, .before = {"b"}});
    const mica_system_def b = {.name = "b", .run = note_name, .before = {"a"}};
    assert_refused(mica_system_add(world, &b), MICA_CYCLE, "\"b\" before \"a\"");
    assert_int_equal(mica_system_remove(world, a), MICA_OK);
    add(&b);
    step();
    assert_string_equal(take_notes(), "b");
}

// Owned state

static int32_t alive_count;
static bool construct_fails;

static bool construct_owned(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    if (construct_fails) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        ((Count *)values)[i].value = 42;
    }
    alive_count += count;
    return true;
}

static void destruct_owned(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    assert_in_range(((const Count *)values)->value, 42, 43); // constructed, and not destructed yet
    ((Count *)values)->value = 0;
    alive_count -= count;
    note("destructed");
}

typedef struct owned_value {
    _Alignas(64) Count count;
} Owned;
MICA_COMPONENT_WITH(Owned, (.hooks = {.construct = construct_owned, .destruct = destruct_owned}));

static void use_state(mica_run *run) {
    Owned *owned = mica_run_state(run, Owned);
    assert_int_equal((uintptr_t)owned % 64, 0);
    assert_ptr_equal(owned, mica_system_state(mica_run_world(run), mica_run_system(run)));
    note_number("state", owned->count.value);
    owned->count.value = 43;
}

static void note_state(mica_run *run) {
    note_number("stop", mica_run_state(run, Owned)->count.value);
}

static void state_lives_as_long_as_its_system(void **state) {
    (void)state;
    alive_count = 0;
    const mica_system_def def = {
        .name = "a", .run = use_state, .stop = note_state, .state = mica_type_of(Owned), .query = {mica_read(Count)}};
    const mica_system a = add(&def);
    assert_int_equal(alive_count, 1);
    assert_int_equal(((const Count *)mica_system_state(world, a))->value, 42);
    step();
    step();
    assert_int_equal(mica_system_remove(world, a), MICA_OK);
    assert_string_equal(take_notes(), "state=42 state=43 stop=43 destructed");
    assert_int_equal(alive_count, 0);
    add(&def);
    step();
    mica_world_destroy(world);
    world = NULL;
    assert_string_equal(take_notes(), "state=42 stop=43 destructed");
    assert_int_equal(alive_count, 0);
}

static void step_in_hook(void *values, int32_t count, const mica_hook_context *context) {
    (void)values, (void)count, (void)context;
    seen_result = mica_world_step(world, 0);
}

MICA_STRUCT_WITH(Meddler, (.hooks = {.destruct = step_in_hook}), { int32_t value; });

static void a_tick_inside_a_hook_of_a_state_is_refused(void **state) {
    (void)state;
    const mica_system system =
        add(&(mica_system_def){.name = "meddler", .run = do_nothing, .state = mica_type_of(Meddler)});
    step();
    assert_int_equal(mica_system_remove(world, system), MICA_OK);
    assert_int_equal(seen_result, MICA_LOCKED);
    assert_int_equal(mica_world_tick(world), 1);
}

static void state_that_cannot_be_constructed_refuses_the_system(void **state) {
    (void)state;
    alive_count = 0;
    construct_fails = true;
    const mica_system_def def = {.name = "a", .run = do_nothing, .state = mica_type_of(Owned)};
    assert_refused(mica_system_add(world, &def), MICA_OUT_OF_MEMORY, "\"a\"");
    construct_fails = false;
    assert_int_equal(mica_system_find(world, "a").id, 0);
    assert_int_equal(alive_count, 0);
}

// Versions

static uint64_t seen_versions[8];
static int32_t seen_version_count;

static void see_version(mica_run *run) {
    seen_versions[seen_version_count++] = mica_world_version(mica_run_world(run));
}

static void versions_are_places_in_the_plan(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "a", .run = see_version});
    add(&(mica_system_def){.name = "b", .run = see_version, .after = {"a"}});
    const mica_system skipped = add(&(mica_system_def){.name = "c", .run = see_version, .priority = 1});
    add(&(mica_system_def){.name = "d", .run = see_version, .stage = MICA_LAST});
    seen_version_count = 0;
    const uint64_t before = mica_world_version(world);
    step();
    const uint64_t after = mica_world_version(world);
    // c a | b | / d |
    const uint64_t places[] = {0, 1, 3, 5};
    assert_int_equal(seen_version_count, 4);
    assert_true(seen_versions[0] > before);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(seen_versions[i] - seen_versions[0], places[i]);
    }
    assert_int_equal(after - seen_versions[0], 7);
    // A system that does not run leaves the stamps of the others alone.
    mica_system_enable(world, skipped, false);
    seen_version_count = 0;
    step();
    assert_int_equal(seen_versions[0] - after, 2);
    assert_int_equal(seen_versions[1] - after, 4);
}

// Memory

static void move_positions(mica_run *run) {
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += position[i].y * mica_delta_time(run);
        }
    }
}

static void a_tick_without_changes_allocates_nothing(void **state) {
    (void)state;
    for (int32_t i = 0; i < 1000; i++) {
        mica_spawn(world, mica_value_of(Position, {0, 1}));
    }
    target = mica_create(world);
    Count count = {1};
    add(&(mica_system_def){.name = "move", .run = move_positions, .query = {mica_write(Position)}});
    add(&(mica_system_def){.name = "set", .run = set_count_by_user, .user = &count, .after = {"move"}});
    const mica_system nothing = add(&(mica_system_def){.name = "nothing", .run = do_nothing});
    step();
    step();
    const uint64_t calls = allocator.call_count;
    for (int32_t i = 0; i < 100; i++) {
        mica_system_enable(world, nothing, i % 2 == 0);
        step();
    }
    assert_int_equal(allocator.call_count, calls);
}

static void an_allocation_that_fails_while_adding_changes_nothing(void **state) {
    (void)state;
    alive_count = 0;
    add_named("b");
    mica_world_register(world, mica_type_of(Position));
    mica_world_register(world, mica_type_of(Owned));
    const mica_system_def def = {.name = "a",
                                 .run = use_state,
                                 .before = {"b", "c"},
                                 .after = {"d"},
                                 .query = {mica_write(Position)},
                                 .query_count = 1,
                                 .queries = {{{mica_with(Marked)}}},
                                 .access = {mica_writes(Unseen)},
                                 .state = mica_type_of(Owned)};
    uint64_t n = 1;
    mica_system system;
    for (;; n++) {
        mica_world_trim(world); // queries that an earlier round left behind would hide allocations
        test_allocator_fail_at(&allocator, n);
        system = mica_system_add(world, &def);
        if (!test_allocator_fail_stop(&allocator)) {
            break;
        }
        assert_refused(system, MICA_OUT_OF_MEMORY, "memory");
        assert_int_equal(mica_system_find(world, "a").id, 0);
        assert_int_equal(alive_count, 0);
        take_notes();
        assert_string_equal(plan_text(), "stage update\n  b (exclusive)\n  barrier\n");
        assert_int_equal(mica_world_validate(world), MICA_OK);
        step();
        assert_string_equal(take_notes(), "b");
    }
    assert_int_not_equal(system.id, 0);
    assert_true(n > 10);
    step();
    assert_string_equal(take_notes(), "state=42 b");
}

static void an_allocation_that_fails_in_a_tick_ends_it(void **state) {
    (void)state;
    uint32_t refused_count = 0;
    for (uint64_t n = 1;; n++) {
        mica_world *fresh = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
        assert_non_null(fresh);
        mica_system_add(fresh, &(mica_system_def){.name = "spawn", .run = spawn_marked});
        assert_non_null(mica_query_create(fresh, (mica_term[]){mica_with(Marked)}, 1));
        assert_true(mica_world_plan(fresh, NULL, 0) > 0); // so that the plan is there already
        const mica_entity first = mica_create(fresh);
        test_allocator_fail_from(&allocator, n);
        const mica_result result = mica_world_step(fresh, 0);
        const bool failed = test_allocator_fail_stop(&allocator);
        if (result != MICA_OK) {
            assert_true(failed);
            refused_count++;
            assert_non_null(strstr(mica_last_error(), "\"spawn\" failed")); // at the barrier
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_world_tick(fresh), 0);
            assert_int_equal(mica_world_entity_count(fresh), 1);
            assert_true(mica_alive(fresh, first));
            assert_int_equal(mica_world_validate(fresh), MICA_OK);
            assert_int_equal(mica_world_step(fresh, 0), MICA_OK);
        }
        // A system whose recording fails may go on; nothing is half recorded.
        assert_in_range(mica_world_entity_count(fresh), failed && result == MICA_OK ? 1 : 2, 2);
        assert_int_equal(mica_world_tick(fresh), 1);
        mica_world_destroy(fresh);
        if (!failed) {
            break;
        }
    }
    assert_true(refused_count > 2);
}

static void a_plan_that_cannot_be_made_runs_nothing(void **state) {
    (void)state;
    add_named("a");
    const mica_system b = add_named("b");
    step();
    take_notes();
    assert_int_equal(mica_system_remove(world, b), MICA_OK);
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_world_step(world, 0);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(result, MICA_OK);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_string_equal(take_notes(), "");
        assert_int_equal(mica_world_tick(world), 1);
    }
    assert_true(n > 1);
    assert_string_equal(take_notes(), "a");
    assert_int_equal(mica_world_tick(world), 2);
}

static void stages_survive_failed_allocations(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&allocator, n);
        const mica_stage stage = mica_stage_add_after(world, "own", MICA_UPDATE);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_int_equal(stage, MICA_STAGE_OWN);
            break;
        }
        assert_int_equal(stage, -1);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
    assert_true(n > 3);
    assert_string_equal(mica_stage_name(world, MICA_STAGE_OWN), "own");
}

// Replay

typedef struct Sim {
    test_random random;
} Sim;
MICA_COMPONENT(Sim);

static void churn(mica_run *run) {
    test_random *random = &mica_run_state(run, Sim)->random;
    mica_each (run, it) {
        Position *position = mica_write_of(it, Position);
        for (int32_t i = 0; i < it.count; i++) {
            position[i].x += position[i].y * mica_delta_time(run);
            switch (test_random_below(random, 8)) {
            case 0:
                mica_destroy(mica_iter_commands(it), it.entities[i]);
                break;
            case 1:
                mica_spawn(mica_iter_commands(it), mica_value_of(Position, {position[i].x, 2}));
                break;
            case 2:
                mica_set(mica_iter_commands(it), it.entities[i], Count, {(int32_t)mica_run_tick(run)});
                break;
            case 3:
                mica_add(mica_iter_commands(it), it.entities[i], Marked);
                break;
            default:
                break;
            }
        }
    }
}

static void settle(mica_run *run) {
    mica_each (run, it) {
        for (int32_t i = 0; i < it.count; i++) {
            mica_remove(mica_iter_commands(it), it.entities[i], Marked);
        }
        mica_spawn(mica_iter_commands(it), mica_value_of(Position, {0, 1}), mica_value_of(Count, {it.count}));
    }
}

// A walk over everything, in order, with handles and values; and what the systems counted.
static uint64_t digest_of(mica_world *played) {
    uint64_t digest = (uint64_t)mica_world_entity_count(played) ^ mica_world_version(played) << 32;
    mica_each (mica_query_of(played, mica_read(Position), mica_read_optional(Count)), it) {
        const Position *position = mica_read_of(it, Position);
        const Count *count = mica_read_of(it, Count);
        for (int32_t i = 0; i < it.count; i++) {
            uint32_t bits[2];
            memcpy(bits, &position[i], sizeof(bits));
            const uint64_t words[] = {mica_entity_index(it.entities[i]), mica_entity_generation(it.entities[i]),
                                      bits[0], bits[1], count != NULL ? (uint32_t)count[i].value : 77};
            for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
                digest = (digest ^ words[k]) * UINT64_C(0x9e3779b97f4a7c15);
                digest ^= digest >> 29;
            }
        }
    }
    return digest;
}

static uint64_t play(bool other_order_of_types) {
    mica_world *played = mica_world_create(NULL);
    if (other_order_of_types) {
        mica_register(played, Fresh);
        mica_register(played, Marked);
        mica_register(played, Count);
    }
    const mica_system system = mica_system_add(played, &(mica_system_def){.name = "churn",
                                                                          .run = churn,
                                                                          .query = {mica_write(Position)},
                                                                          .state = mica_type_of(Sim),
                                                                          .also_count = 1,
                                                                          .also = {{.stage = MICA_LAST}}});
    ((Sim *)mica_system_state(played, system))->random.state = 99;
    mica_system_add(
        played, &(mica_system_def){.name = "settle", .run = settle, .query = {mica_with(Marked)}, .after = {"churn"}});
    for (int32_t i = 0; i < 100; i++) {
        mica_spawn(played, mica_value_of(Position, {(float)i, 1}));
    }
    for (int32_t i = 0; i < 60; i++) {
        assert_int_equal(mica_world_step(played, 0.125f), MICA_OK);
    }
    assert_int_equal(mica_world_validate(played), MICA_OK);
    assert_in_range(mica_world_entity_count(played), 50, 5000);
    const uint64_t digest = digest_of(played);
    mica_world_destroy(played);
    return digest;
}

static void the_same_systems_and_inputs_give_the_same_world(void **state) {
    (void)state;
    const uint64_t digest = play(false);
    assert_int_equal(play(false), digest);
    assert_int_equal(play(true), digest);
}

static void times_are_counted(void **state) {
    (void)state;
    const mica_system a = add(&(mica_system_def){.name = "a", .run = do_nothing});
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, a, &stats), MICA_OK);
    assert_true(stats.total_seconds == 0 && stats.last_seconds == 0);
    step();
    step();
    assert_int_equal(mica_system_statistics(world, a, &stats), MICA_OK);
    assert_string_equal(stats.name, "a");
    assert_true(stats.enabled);
    assert_int_equal(stats.run_count, 2);
    assert_true(stats.last_seconds >= 0 && stats.total_seconds >= stats.last_seconds);
}

// Notes each step that is watched, and that nothing can be changed meanwhile.
static void note_step(mica_world *watched, const mica_plan_step *taken, void *user) {
    char text[64];
    snprintf(text, sizeof(text), "%d:%s", taken->index, taken->system == NULL ? "-" : taken->system);
    note(text);
    assert_ptr_equal(user, notes);
    assert_int_equal(taken->tick, mica_world_tick(watched));
    assert_int_equal(taken->stage, MICA_UPDATE);
    assert_true(mica_entity_is_null(mica_entity_create(watched)));
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    assert_int_equal(mica_world_step(watched, 1), MICA_LOCKED);
}

static void each_step_of_the_plan_is_told_to_who_watches(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "first", .run = do_nothing});
    const mica_system second = add(&(mica_system_def){.name = "second", .run = do_nothing, .after = {"first"}});
    assert_int_equal(mica_world_watch_steps(world, note_step, notes), MICA_OK);
    step();
    assert_string_equal(take_notes(), "0:first 1:- 2:second 3:-");
    assert_int_equal(mica_system_enable(world, second, false), MICA_OK);
    step();
    assert_string_equal(take_notes(), "0:first 1:- 3:-");
    assert_int_equal(mica_world_watch_steps(world, NULL, NULL), MICA_OK);
    step();
    assert_string_equal(take_notes(), "");
    assert_int_equal(mica_world_watch_steps(NULL, note_step, NULL), MICA_INVALID);
}

static void fail_at_once(mica_run *run) {
    mica_run_fail(run, MICA_FAILED, "on purpose");
}

static void a_step_that_fails_is_the_last_one_to_be_told(void **state) {
    (void)state;
    add(&(mica_system_def){.name = "failing", .run = fail_at_once});
    add(&(mica_system_def){.name = "late", .run = do_nothing});
    assert_int_equal(mica_world_watch_steps(world, note_step, notes), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_FAILED);
    assert_string_equal(take_notes(), "0:failing");
}

static void leave_a_walk_open(mica_world *watched, const mica_plan_step *taken, void *user) {
    (void)watched;
    (void)taken;
    const mica_iter iter = mica_query_begin(user);
    assert_int_equal(iter.count, 0);
}

static void walks_left_open_by_who_watches_steps_lock_nothing(void **state) {
    (void)state;
    mica_query *query = mica_query_create(world, (mica_term[]){mica_with(Marked)}, 1);
    assert_non_null(query);
    add(&(mica_system_def){.name = "idle", .run = do_nothing});
    assert_int_equal(mica_world_watch_steps(world, leave_a_walk_open, query), MICA_OK);
    step();
    assert_false(mica_entity_is_null(mica_entity_create(world)));
    mica_query_release(query);
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(a_system_is_told_where_it_runs),
        CASE(a_world_without_systems_can_be_stepped),
        CASE(versions_of_a_tick_are_those_of_its_plan),
        CASE(built_in_stages_run_in_their_order),
        CASE(own_stages_stand_beside_their_neighbours),
        CASE(bad_stages_are_refused),
        CASE(one_system_runs_in_each_of_its_stages),
        CASE(the_plan_can_be_read),
        CASE(commands_are_seen_behind_the_next_barrier),
        CASE(commands_are_seen_in_the_next_stage),
        CASE(a_barrier_applies_what_all_systems_before_it_recorded),
        CASE(buffers_are_applied_in_the_order_of_the_plan),
        CASE(a_skipped_command_is_counted_for_its_system),
        CASE(a_walk_in_a_system_records_into_its_buffer),
        CASE(removing_and_adding_in_one_system_keeps_queries_right),
        CASE(declared_access_locks_structure),
        CASE(a_further_query_alone_is_declared_access_too),
        CASE(listed_access_alone_is_declared_access_too),
        CASE(what_access_names_is_registered),
        CASE(access_to_an_unknown_component_is_refused),
        CASE(exclusive_systems_change_the_world_at_once),
        CASE(a_tick_inside_a_tick_is_refused),
        CASE(a_tick_inside_a_walk_is_refused),
        CASE(bad_lengths_of_ticks_are_refused),
        CASE(another_world_may_be_stepped_inside_a_system),
        CASE(a_walk_left_open_fails_the_system_and_locks_nothing),
        CASE(a_walk_that_was_kept_open_does_not_go_on),
        CASE(further_queries_are_numbered_from_zero),
        CASE(a_world_is_not_ended_by_its_own_system),
        CASE(no_run_is_refused),
        CASE(queries_of_systems_outlive_trimming),
        CASE(removing_a_system_gives_its_queries_back),
        CASE(sets_of_components_that_come_up_later_are_reached),
        CASE(types_registered_after_churn_work_in_systems),
        CASE(a_failure_ends_the_tick_and_drops_what_was_not_applied),
        CASE(a_failure_without_a_code_has_one_all_the_same),
        CASE(the_first_255_bytes_of_a_failure_are_said),
        CASE(a_start_that_fails_is_called_again_in_the_next_tick),
        CASE(a_system_that_never_started_is_not_stopped),
        CASE(stop_functions_run_in_reverse_order_of_start_with_the_world_whole),
        CASE(a_failure_in_a_stop_function_is_logged),
        CASE(systems_behind_a_disabled_one_run),
        CASE(a_disabled_system_keeps_its_barriers),
        CASE(changes_from_inside_a_tick_take_effect_at_the_next),
        CASE(a_system_may_replace_itself),
        CASE(a_system_that_removes_itself_and_fails_is_named),
        CASE(a_stop_function_may_remove_further_systems),
        CASE(removing_while_a_walk_is_open_is_refused),
        CASE(numbers_of_systems_are_not_used_again),
        CASE(bad_definitions_are_refused),
        CASE(a_cycle_is_refused_when_it_closes),
        CASE(a_cycle_through_a_name_known_later_is_refused),
        CASE(removing_a_system_opens_a_cycle),
        CASE(state_lives_as_long_as_its_system),
        CASE(a_tick_inside_a_hook_of_a_state_is_refused),
        CASE(state_that_cannot_be_constructed_refuses_the_system),
        CASE(versions_are_places_in_the_plan),
        CASE(a_tick_without_changes_allocates_nothing),
        CASE(an_allocation_that_fails_while_adding_changes_nothing),
        CASE(an_allocation_that_fails_in_a_tick_ends_it),
        CASE(a_plan_that_cannot_be_made_runs_nothing),
        CASE(stages_survive_failed_allocations),
        CASE(the_same_systems_and_inputs_give_the_same_world),
        CASE(times_are_counted),
        CASE(each_step_of_the_plan_is_told_to_who_watches),
        CASE(a_step_that_fails_is_the_last_one_to_be_told),
        CASE(walks_left_open_by_who_watches_steps_lock_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
