// The schedule in words: the plan with who waits for whom, what keeps systems apart, the graph, and what is ambiguous.
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/test_random.h"
#include "support/test_shared_world.h"

// Registered in an order that is not that of their names.
MICA_STRUCT(Velocity, { float x; });
MICA_STRUCT(Position, { float x; });
MICA_STRUCT(Health, { float points; });
MICA_TAG(Sounds);

static int set_up(void **state) {
    (void)state;
    begin_world((mica_world_def){.name = "test"});
    mica_register(world, Velocity);
    mica_register(world, Position);
    mica_register(world, Health);
    return 0;
}

static void do_nothing(mica_run *run) {
    (void)run;
}

static mica_system add(mica_system_def def) {
    def.run = do_nothing;
    return add_to(world, &def);
}

typedef size_t (*text_function)(mica_world *world, char *text, size_t capacity);

// The text must be the same whether there is room for it or not.
static const char *text_of(text_function function) {
    static char text[4096];
    const size_t length = function(world, text, sizeof(text));
    assert_true(length < sizeof(text));
    assert_int_equal(strlen(text), length);
    assert_int_equal(function(world, NULL, 0), length);
    if (length > 8) {
        char cut[8];
        assert_int_equal(function(world, cut, sizeof(cut)), length);
        assert_memory_equal(cut, text, 7);
        assert_int_equal(cut[7], 0);
    }
    return text;
}

static void without_systems_all_texts_are_empty(void **state) {
    (void)state;
    const text_function functions[] = {mica_world_plan, mica_world_plan_explain, mica_world_plan_graph,
                                       mica_world_ambiguities};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        assert_string_equal(text_of(functions[i]), "");
        char text[4] = "abc";
        assert_int_equal(functions[i](NULL, text, sizeof(text)), 0);
        assert_string_equal(text, "");
    }
}

static void the_plan_says_who_waits_for_whom(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position), mica_read(Velocity)}});
    add((mica_system_def){.name = "heal", .query = {mica_write(Health)}, .main_thread = true});
    add((mica_system_def){.name = "draw", .query = {mica_read(Position), mica_read(Health)}});
    add((mica_system_def){.name = "load"});
    add((mica_system_def){.name = "hear", .access = {mica_reads(Sounds)}, .main_thread = true, .disabled = true});
    add((mica_system_def){.name = "end", .query = {mica_read(Position)}, .after = {"hear"}});
    assert_string_equal(text_of(mica_world_plan), "stage update\n"
                                                  "  move\n"
                                                  "  heal (main thread)\n"
                                                  "  draw (waits for move, heal)\n"
                                                  "  load (exclusive)\n"
                                                  "  hear (disabled, main thread)\n"
                                                  "  barrier\n"
                                                  "  end\n"
                                                  "  barrier\n");
}

static void what_keeps_systems_apart_is_explained(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position), mica_write(Velocity)}});
    add((mica_system_def){.name = "heal", .query = {mica_write(Health)}});
    add((mica_system_def){.name = "draw", .query = {mica_read(Position), mica_read(Velocity)}, .main_thread = true});
    add((mica_system_def){.name = "trace", .query = {mica_read(Position)}});
    add((mica_system_def){.name = "hear", .access = {mica_reads(Sounds)}, .main_thread = true});
    add((mica_system_def){.name = "watch", .query = {mica_write(Velocity)}, .main_thread = true});
    add((mica_system_def){.name = "load"});
    add((mica_system_def){.name = "save", .query = {mica_read(Position)}, .exclusive = true});
    add((mica_system_def){.name = "end", .query = {mica_write(Position)}, .after = {"heal"}});
    add((mica_system_def){.name = "late", .stage = MICA_LAST, .query = {mica_write(Position)}});
    assert_string_equal(text_of(mica_world_plan_explain),
                        "stage update\n"
                        "  move: conflicts with draw (Position, Velocity), trace (Position), watch (Velocity)\n"
                        "  heal: conflicts with nobody\n"
                        "  draw: belongs to the main thread, conflicts with move (Position, Velocity), "
                        "hear (main thread), watch (Velocity, main thread)\n"
                        "  trace: conflicts with move (Position)\n"
                        "  hear: belongs to the main thread, conflicts with draw (main thread), watch (main thread)\n"
                        "  watch: belongs to the main thread, conflicts with move (Velocity), "
                        "draw (Velocity, main thread), hear (main thread)\n"
                        "  load: is exclusive, for it has neither a query nor access\n"
                        "  save: is exclusive\n"
                        "  barrier: end comes after heal\n"
                        "  end: conflicts with nobody\n"
                        "  barrier: the stage ends\n"
                        "stage last\n"
                        "  late: conflicts with nobody\n"
                        "  barrier: the stage ends\n");
}

static void the_graph_has_all_steps_and_arrows(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position), mica_read(Velocity)}});
    add((mica_system_def){.name = "heal", .query = {mica_write(Health)}, .main_thread = true, .disabled = true});
    add((mica_system_def){.name = "say \"\\\"", .query = {mica_read(Position)}, .main_thread = true});
    add((mica_system_def){.name = "load", .disabled = true});
    add((mica_system_def){.name = "late", .stage = MICA_LAST, .query = {mica_write(Position)}});
    static const char bar[] = "label=\"\", tooltip=\"barrier\", style=filled, fillcolor=black, fixedsize=true, "
                              "width=0.06, height=0.6";
    char expected[2048];
    snprintf(expected, sizeof(expected),
             "digraph plan {\n"
             "    rankdir=LR;\n"
             "    node [shape=box];\n"
             "    subgraph cluster_0 {\n"
             "        label=\"update\";\n"
             "        s0 [label=\"move\"];\n"
             "        s1 [label=\"heal\", style=\"dashed,bold\"];\n"
             "        s2 [label=\"say \\\"\\\\\\\"\", style=\"bold\"];\n"
             "        s3 [label=\"load\", peripheries=2, style=\"dashed\"];\n"
             "        s4 [%s];\n"
             "    }\n"
             "    subgraph cluster_7 {\n"
             "        label=\"last\";\n"
             "        s5 [label=\"late\"];\n"
             "        s6 [%s];\n"
             "    }\n"
             "    s0 -> s2 [label=\"Position\"];\n"
             "    s1 -> s2 [label=\"main thread\"];\n"
             "    s2 -> s3;\n"
             "    s3 -> s4;\n"
             "    s4 -> s5;\n"
             "    s5 -> s6;\n"
             "}\n",
             bar, bar);
    assert_string_equal(text_of(mica_world_plan_graph), expected);
}

static void who_waits_for_whom_does_not_hang_on_entities(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position), mica_with(Velocity)}});
    add((mica_system_def){.name = "mend", .query = {mica_write(Health), mica_with(Position)}});
    char before[256];
    snprintf(before, sizeof(before), "%s", text_of(mica_world_plan));
    assert_string_equal(before, "stage update\n  move\n  mend\n  barrier\n");
    const mica_entity both =
        mica_spawn(world, mica_value_of(Position, {1}), mica_value_of(Velocity, {1}), mica_value_of(Health, {1}));
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_string_equal(text_of(mica_world_plan), before);
    assert_int_equal(mica_destroy(world, both), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_string_equal(text_of(mica_world_plan), before);
}

static void conflicts_ordered_by_addition_alone_are_ambiguous(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position), mica_write(Velocity)}});
    add((mica_system_def){.name = "draw", .query = {mica_read(Position), mica_read(Velocity)}});
    add((mica_system_def){.name = "trace", .query = {mica_read(Position)}});
    add((mica_system_def){.name = "load", .stage = MICA_LAST});
    add((mica_system_def){.name = "store", .stage = MICA_LAST});
    add((mica_system_def){.name = "look", .stage = MICA_LAST, .query = {mica_read(Position)}});
    assert_string_equal(text_of(mica_world_ambiguities), "stage update\n"
                                                         "  move, draw: Position, Velocity\n"
                                                         "  move, trace: Position\n"
                                                         "stage last\n"
                                                         "  load, store: both are exclusive\n"
                                                         "  load, look: load is exclusive\n"
                                                         "  store, look: store is exclusive\n");
}

static void whatever_says_an_order_ends_an_ambiguity(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position)}});
    add((mica_system_def){.name = "bounce", .query = {mica_write(Position)}, .after = {"step between"}});
    assert_string_equal(text_of(mica_world_ambiguities), "stage update\n  move, bounce: Position\n");
    add((mica_system_def){.name = "step between", .query = {mica_read(Health)}, .after = {"move"}});
    assert_string_equal(text_of(mica_world_ambiguities), "");
    add((mica_system_def){.name = "first", .query = {mica_write(Position)}, .priority = 1});
    assert_string_equal(text_of(mica_world_ambiguities), "");
    add((mica_system_def){.name = "reader", .query = {mica_read(Health)}});
    assert_string_equal(text_of(mica_world_ambiguities), "");
}

static void removed_systems_are_in_no_ambiguity(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position)}});
    const mica_system bounce = add((mica_system_def){.name = "bounce", .query = {mica_write(Position)}});
    assert_string_equal(text_of(mica_world_ambiguities), "stage update\n  move, bounce: Position\n");
    assert_int_equal(mica_system_remove(world, bounce), MICA_OK);
    assert_string_equal(text_of(mica_world_ambiguities), "");
}

static void ambiguities_need_memory_and_leave_nothing_behind(void **state) {
    (void)state;
    add((mica_system_def){.name = "move", .query = {mica_write(Position)}});
    add((mica_system_def){.name = "bounce", .query = {mica_write(Position)}});
    char text[256];
    for (uint64_t n = 1;; n++) {
        mica_error_clear();
        test_allocator_fail_at(&allocator, n);
        const size_t length = mica_world_ambiguities(world, text, sizeof(text));
        if (!test_allocator_fail_stop(&allocator)) {
            assert_true(n > 3);
            assert_true(length > 0);
            break;
        }
        assert_int_equal(length, 0);
        assert_string_equal(text, "");
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    }
}

// Random systems of one stage, with constraints that are closed over by hand.
static void random_ambiguities_are_those_of_the_rule(void **state) {
    (void)state;
    enum { COUNT = 9 };
    static const char *const names[COUNT] = {"e", "a", "i", "c", "g", "b", "h", "d", "f"};
    test_random numbers = {5};
    uint32_t pair_count = 0;
    for (uint32_t round = 0; round < 300; round++) {
        bool before[COUNT][COUNT] = {{false}};
        mica_system systems[COUNT];
        int32_t priorities[COUNT];
        bool writes[COUNT];
        bool reads[COUNT];
        for (uint32_t i = 0; i < COUNT; i++) {
            priorities[i] = (int32_t)test_random_below(&numbers, 2);
            writes[i] = test_random_below(&numbers, 2) == 0;
            reads[i] = test_random_below(&numbers, 2) == 0;
            mica_system_def def = {.name = names[i], .priority = priorities[i], .access = {mica_reads(Sounds)}};
            def.access[1] = writes[i] ? mica_writes(Position) : reads[i] ? mica_reads(Position) : mica_reads(Sounds);
            if (i > 0 && test_random_below(&numbers, 2) == 0) {
                const uint32_t earlier = test_random_below(&numbers, i);
                def.after[0] = names[earlier];
                before[earlier][i] = true;
            }
            systems[i] = add(def);
        }
        for (uint32_t k = 0; k < COUNT; k++) {
            for (uint32_t a = 0; a < COUNT; a++) {
                for (uint32_t b = 0; b < COUNT; b++) {
                    before[a][b] = before[a][b] || (before[a][k] && before[k][b]);
                }
            }
        }
        char expected[1024] = "";
        for (uint32_t a = 0; a < COUNT; a++) {
            for (uint32_t b = a + 1; b < COUNT; b++) {
                const bool meets = (writes[a] && (writes[b] || reads[b])) || (writes[b] && (writes[a] || reads[a]));
                if (meets && priorities[a] == priorities[b] && !before[a][b] && !before[b][a]) {
                    const size_t length = strlen(expected);
                    snprintf(expected + length, sizeof(expected) - length, "%s  %s, %s: Position\n",
                             length == 0 ? "stage update\n" : "", names[a], names[b]);
                    pair_count++;
                }
            }
        }
        assert_string_equal(text_of(mica_world_ambiguities), expected);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(mica_system_remove(world, systems[i]), MICA_OK);
        }
    }
    assert_true(pair_count > 500);
}

static void ask_inside(mica_run *run) {
    char *text = mica_run_user(run);
    mica_system_enable(mica_run_world(run), mica_system_find(mica_run_world(run), "other"), false);
    mica_system_remove(mica_run_world(run), mica_system_find(mica_run_world(run), "gone"));
    mica_world_plan(mica_run_world(run), text, 256);
}

static void inside_a_system_the_plan_is_that_of_the_running_tick(void **state) {
    (void)state;
    char text[256] = "";
    const mica_system_def def = {.name = "asks", .run = ask_inside, .user = text};
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    add((mica_system_def){.name = "gone", .query = {mica_read(Position)}});
    add((mica_system_def){.name = "other", .query = {mica_write(Position)}});
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_string_equal(text, "stage update\n  asks (exclusive)\n  gone\n  other (waits for gone)\n  barrier\n");
    assert_string_equal(text_of(mica_world_plan), "stage update\n  asks (exclusive)\n  other (disabled)\n  barrier\n");
}

int main(void) {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, end_world)
    const struct CMUnitTest tests[] = {
        CASE(without_systems_all_texts_are_empty),
        CASE(the_plan_says_who_waits_for_whom),
        CASE(what_keeps_systems_apart_is_explained),
        CASE(the_graph_has_all_steps_and_arrows),
        CASE(who_waits_for_whom_does_not_hang_on_entities),
        CASE(conflicts_ordered_by_addition_alone_are_ambiguous),
        CASE(whatever_says_an_order_ends_an_ambiguity),
        CASE(removed_systems_are_in_no_ambiguity),
        CASE(ambiguities_need_memory_and_leave_nothing_behind),
        CASE(random_ambiguities_are_those_of_the_rule),
        CASE(inside_a_system_the_plan_is_that_of_the_running_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
