// Queries for what has changed or was added: what counts and what does not, for every storage; refusals and words. Who
// was removed, and systems as askers, are in test_changes_since.c, a model with random operations in
// test_changes_model.c.
#include "changes_world.h"

// Changed

static void from_zero_everything_has_changed(mica_world *world) {
    spawn_ten(world);
    assert_int_equal(ask(CHANGED(world, Plain), 0)->count, 10);
    assert_int_equal(ask(CHANGED(world, Exact), 0)->count, 10);
    assert_int_equal(ask(ADDED(world, Plain), 0)->count, 10);
    assert_int_equal(mica_query_count(CHANGED(world, Exact)), 10);
}

static void what_nobody_touches_is_not_reported(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *changed = CHANGED(world, Plain);
    mica_query *exact = CHANGED(world, Exact);
    const uint64_t since = mica_world_advance_version(world);
    assert_non_null(mica_get(world, fifth, Plain));
    mica_each (mica_query_of(world, mica_read(Plain), mica_read(Exact)), it) {
        assert_non_null(mica_read_of(it, Plain));
        assert_non_null(mica_read_of(it, Exact));
    }
    assert_nobody(changed, since);
    assert_nobody(exact, since);
}

static void double_number(void *value, void *user) {
    (void)user;
    ((Plain *)value)->number *= 2;
}

// Every way to write one value.
static void write_one(mica_world *world, mica_entity entity, int32_t way) {
    switch (way) {
    case 0:
        assert_int_equal(mica_set(world, entity, Plain, {1}), MICA_OK);
        assert_int_equal(mica_set(world, entity, Exact, {1}), MICA_OK);
        break;
    case 1:
        mica_get_write(world, entity, Plain)->number = 2;
        mica_get_write(world, entity, Exact)->number = 2;
        break;
    case 2:
        assert_int_equal(mica_entity_patch(world, entity, mica_register(world, Plain), double_number, NULL), MICA_OK);
        assert_int_equal(mica_entity_patch(world, entity, mica_register(world, Exact), double_number, NULL), MICA_OK);
        break;
    case 3: {
        mica_commands *commands = mica_commands_create(world);
        mica_set(commands, entity, Plain, {3});
        mica_set(commands, entity, Exact, {3});
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        mica_commands_destroy(commands);
        break;
    }
    default:
        mica_each (mica_query_of(world, mica_write_marked(Plain), mica_write_marked(Exact)), it) {
            Plain *plain = mica_write_of(it, Plain);
            Exact *exact = mica_write_of(it, Exact);
            for (int32_t i = 0; i < it.count; i++) {
                if (mica_entity_equal(it.entities[i], entity)) {
                    plain[i].number = 5;
                    exact[i].number = 5;
                    assert_int_equal(mica_mark(it, Plain, i), MICA_OK);
                    assert_int_equal(mica_mark(it, Exact, i), MICA_OK);
                }
            }
        }
    }
}

static void a_written_value_is_reported_once_whichever_way_it_was_written(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *changed = CHANGED(world, Plain);
    mica_query *exact = CHANGED(world, Exact);
    for (int32_t way = 0; way < 5; way++) {
        const uint64_t since = mica_world_advance_version(world);
        write_one(world, fifth, way);
        assert_true(has(ask(changed, since), fifth));
        assert_only(exact, since, fifth);
        const uint64_t later = mica_world_advance_version(world);
        assert_nobody(changed, later);
        assert_nobody(exact, later);
    }
    assert_int_equal(mica_get(world, fifth, Plain)->number, 5);
    assert_int_equal(mica_get(world, fifth, Exact)->number, 5);
}

static void a_span_that_is_asked_for_to_be_written_counts_as_a_whole(mica_world *world) {
    spawn_ten(world);
    mica_query *changed = CHANGED(world, Plain);
    mica_query *exact = CHANGED(world, Exact);
    const uint64_t since = mica_world_advance_version(world);
    mica_each (mica_query_of(world, mica_write(Plain), mica_write(Exact)), it) {
        assert_non_null(mica_write_of(it, Plain));
        assert_non_null(mica_write_of(it, Exact));
    }
    assert_int_equal(ask(changed, since)->count, 10);
    assert_int_equal(ask(exact, since)->count, 10);
}

static void a_span_that_is_only_read_counts_not(mica_world *world) {
    spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *changed = CHANGED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    mica_each (mica_query_of(world, mica_write(Plain), mica_write(Exact)), it) {
        assert_non_null(mica_read_of(it, Plain));
        assert_non_null(mica_read_of(it, Exact));
    }
    assert_nobody(changed, since);
    assert_nobody(exact, since);
}

static void writing_that_marks_by_hand_marks_nothing_else(mica_world *world) {
    spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *changed = CHANGED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    mica_each (mica_query_of(world, mica_write_marked(Plain), mica_write_marked(Exact)), it) {
        Plain *plain = mica_write_of(it, Plain);
        Exact *exact_values = mica_write_of(it, Exact);
        for (int32_t i = 0; i < it.count; i++) {
            plain[i].number = exact_values[i].number = 77;
        }
    }
    assert_nobody(changed, since);
    assert_nobody(exact, since);
    mica_each (mica_query_of(world, mica_read(Plain), mica_read(Exact)), it) {
        for (int32_t i = 0; i < it.count; i++) {
            assert_int_equal(mica_read_of(it, Plain)[i].number, 77);
            assert_int_equal(mica_read_of(it, Exact)[i].number, 77);
        }
    }
}

static void walks_by_rows_mark_their_spans(mica_world *world) {
    spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    const uint64_t since = mica_world_advance_version(world);
    mica_each_row (mica_query_of(world, mica_write(Exact), mica_write(Plain)), it) {
        mica_row_write(it, Exact)->number++;
        mica_row_write(it, Plain)->number++;
    }
    assert_int_equal(ask(exact, since)->count, 10);
}

static void a_row_is_marked_only_if_it_is_there_and_written(mica_world *world) {
    spawn_ten(world);
    mica_each (mica_query_of(world, mica_read(Plain), mica_write_marked(Exact), mica_write_optional(Other)), it) {
        assert_int_equal(mica_mark(it, Exact, it.count), MICA_INVALID);
        assert_int_equal(mica_mark(it, Exact, -1), MICA_INVALID);
        assert_int_equal(mica_mark(it, Plain, 0), MICA_NO_ACCESS);
        assert_said("does not write Plain");
        assert_int_equal(mica_mark(it, Other, 0), MICA_ABSENT);
    }
    mica_iter closed = mica_query_begin(mica_query_of(world, mica_write(Plain)));
    mica_iter_end(&closed);
    assert_int_equal(mica_mark(closed, Plain, 0), MICA_INVALID);
}

static void what_was_added_has_changed(mica_world *world) {
    spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *changed = CHANGED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    const mica_entity fresh = mica_spawn(world, mica_value_of(Plain, {1}), mica_value_of(Exact, {1}));
    assert_true(has(ask(changed, since), fresh));
    assert_only(exact, since, fresh);
}

static void a_move_between_tables_is_no_change_and_loses_none(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    mica_query *changed = CHANGED(world, Plain);
    mica_query *added = ADDED(world, Exact);
    const uint64_t before = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {9});
    mica_set(world, fifth, Plain, {9});
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, fifth, Other, {1}); // moves its row, and another one into the hole
    mica_add(world, fifth, Sign);
    assert_nobody(exact, since);
    assert_nobody(changed, since);
    assert_nobody(added, since);
    assert_true(has(ask(changed, before), fifth));
    assert_only(exact, before, fifth);
}

static void rows_that_take_a_hole_keep_what_is_known_of_them(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *exact = CHANGED(world, Exact);
    const mica_entity last = mica_spawn(world, mica_value_of(Exact, {1}), mica_value_of(Plain, {1}));
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, last, Exact, {2});
    mica_destroy(world, fifth);
    assert_only(exact, since, last);
}

static void what_was_written_before_rows_are_tracked_is_known_by_the_column(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {2});
    mica_query *exact = CHANGED(world, Exact); // the first one that asks
    assert_true(has(ask(exact, since), fifth));
    const uint64_t later = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {3});
    assert_only(exact, later, fifth);
}

static void what_is_always_dirty_has_always_changed(mica_world *world) {
    const mica_entity entity = mica_spawn(world, mica_value_of(Loose, {1}));
    mica_query *changed = CHANGED(world, Loose);
    assert_only(changed, mica_world_advance_version(world), entity);
    assert_only(changed, mica_world_advance_version(world), entity);
}

static void several_conditions_must_all_hold(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *both = mica_query_of(world, mica_changed(Exact), mica_added(Sign), mica_read(Plain));
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {2});
    assert_nobody(both, since);
    mica_add(world, fifth, Sign);
    assert_only(both, since, fifth);
    const uint64_t later = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {3});
    assert_nobody(both, later);
}

static void of_an_any_of_clause_one_must_have_changed(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    const mica_entity lamp = mica_spawn(world, mica_value_of(Lamp, {40}));
    const mica_entity both = mica_spawn(world, mica_value_of(Lamp, {60}), mica_value_of(Exact, {1}));
    mica_query *any = mica_query_of(world, mica_any_changed(1, Exact), mica_any_changed(1, Lamp));
    assert_int_equal(ask(any, 0)->count, 12);
    uint64_t since = mica_world_advance_version(world);
    assert_nobody(any, since);
    mica_set(world, fifth, Exact, {2});
    assert_only(any, since, fifth);
    since = mica_world_advance_version(world);
    mica_set(world, lamp, Lamp, {41});
    assert_only(any, since, lamp);
    since = mica_world_advance_version(world);
    mica_set(world, both, Lamp, {61});
    assert_only(any, since, both);
    assert_true(mica_query_count(any) == 12);
}

static void in_a_mixed_clause_being_there_is_enough_for_the_others(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    const mica_entity lamp = mica_spawn(world, mica_value_of(Lamp, {40}));
    mica_query *any = mica_query_of(world, mica_any_changed(3, Exact), mica_any_with(3, Lamp));
    const uint64_t since = mica_world_advance_version(world);
    assert_only(any, since, lamp);
    mica_set(world, fifth, Exact, {2});
    assert_int_equal(ask(any, since)->count, 2);
}

static void a_changed_member_of_a_clause_may_be_read_as_well(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *any = mica_query_of(world, mica_read(Exact), mica_read_optional(Lamp), mica_any_changed(1, Exact),
                                    mica_any_changed(1, Lamp));
    const mica_entity lamp = mica_spawn(world, mica_value_of(Exact, {1}), mica_value_of(Lamp, {40}));
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, fifth, Exact, {2});
    mica_set(world, lamp, Lamp, {7});
    int32_t count = 0;
    mica_each_since(any, since, it) {
        const Exact *exact = mica_read_of(it, Exact);
        const Lamp *lamps = mica_read_of(it, Lamp);
        for (int32_t i = 0; i < it.count; i++, count++) {
            assert_true(mica_entity_equal(it.entities[i], fifth) ? exact[i].number == 2 && lamps == NULL
                                                                 : lamps[i].watts == 7);
        }
    }
    assert_int_equal(count, 2);
}

static void a_disabled_component_is_not_there_and_enabling_is_no_change(mica_world *world) {
    const mica_entity lamp = mica_spawn(world, mica_value_of(Lamp, {40}));
    mica_query *changed = CHANGED(world, Lamp);
    mica_query *any = mica_query_of(world, mica_any_changed(1, Lamp), mica_any_changed(1, Exact));
    const mica_component id = mica_register(world, Lamp);
    const uint64_t since = mica_world_advance_version(world);
    mica_set(world, lamp, Lamp, {41});
    assert_int_equal(mica_entity_enable_component(world, lamp, id, false), MICA_OK);
    assert_nobody(changed, since);
    assert_nobody(any, since);
    assert_nobody(any, 0);
    const uint64_t later = mica_world_advance_version(world);
    assert_int_equal(mica_entity_enable_component(world, lamp, id, true), MICA_OK);
    assert_nobody(changed, later);
    assert_only(changed, since, lamp);
    assert_only(any, since, lamp);
}

static void what_is_written_in_a_walk_over_changes_arrives(mica_world *world) {
    mica_entity entities[200];
    for (int32_t i = 0; i < 200; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Exact, {i}), mica_value_of(Plain, {i}));
    }
    mica_query *query = mica_query_of(world, mica_changed(Exact), mica_write(Exact), mica_write(Plain));
    const uint64_t since = mica_world_advance_version(world);
    for (int32_t i = 0; i < 200; i += 3) {
        mica_set(world, entities[i], Exact, {1000 + i});
    }
    mica_each_since(query, since, it) {
        for (int32_t i = 0; i < it.count; i++) {
            assert_true(mica_read_of(it, Exact)[i].number >= 1000);
            mica_write_of(it, Exact)[i].number += 1000;
            mica_write_of(it, Plain)[i].number = -1;
        }
    }
    for (int32_t i = 0; i < 200; i++) {
        assert_int_equal(mica_get(world, entities[i], Exact)->number, i % 3 == 0 ? 2000 + i : i);
        assert_int_equal(mica_get(world, entities[i], Plain)->number, i % 3 == 0 ? -1 : i);
    }
}

static void questions_without_a_walk_agree_with_it(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *queries[] = {CHANGED(world, Plain), ADDED(world, Exact), REMOVED(world, Exact)};
    mica_remove(world, fifth, Exact);
    for (int32_t i = 0; i < 3; i++) {
        static mica_entity entities[32];
        const found *all = ask(queries[i], 0);
        assert_true(all->count > 0);
        assert_int_equal(mica_query_count(queries[i]), all->count);
        assert_true(mica_query_size_hint(queries[i]) >= all->count);
        assert_int_equal(mica_query_entities(queries[i], entities, 32), all->count);
        assert_entity_equal(mica_query_first(queries[i]), all->entities[0]);
        for (int32_t k = 0; k < all->count; k++) {
            assert_entity_equal(entities[k], all->entities[k]);
            assert_true(mica_query_contains(queries[i], entities[k]));
        }
    }
    assert_false(mica_query_contains(queries[1], fifth));
    assert_false(mica_query_contains(queries[2], mica_query_first(queries[0])));
}

// Chunks and pages

MICA_STRUCT_WITH(Row, (.storage = MICA_TABLE), { int32_t numbers[16]; });
MICA_STRUCT_WITH(Element, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 64), { int32_t numbers[16]; });

static void of_many_chunks_and_pages_only_those_that_changed_are_reported(void **state) {
    (void)state;
    watched_world w;
    watched_begin(&w);
    enum { COUNT = 6000 };
    static mica_entity entities[COUNT];
    for (int32_t i = 0; i < COUNT; i++) {
        entities[i] = mica_spawn(w.world, mica_value_of(Row, {{i}}), mica_value_of(Element, {{i}}));
    }
    mica_query *rows = CHANGED(w.world, Row);
    mica_query *elements = CHANGED(w.world, Element);
    uint64_t since = mica_world_advance_version(w.world);
    assert_nobody(rows, since);
    assert_nobody(elements, since);
    mica_set(w.world, entities[3000], Row, {{1}});
    mica_set(w.world, entities[3000], Element, {{1}});
    const found *all = ask(rows, since);
    assert_true(all->count < COUNT / 2);
    assert_true(has(all, entities[3000]));
    all = ask(elements, since);
    assert_int_equal(all->count, 64);
    assert_true(has(all, entities[3000]));
    since = mica_world_advance_version(w.world);
    mica_set(w.world, entities[0], Element, {{1}});
    mica_set(w.world, entities[COUNT - 1], Element, {{1}});
    assert_int_equal(ask(elements, since)->count, 64 + (COUNT % 64 == 0 ? 64 : COUNT % 64));
    watched_end(&w);
}

static void a_pools_arrays_that_are_written_count_as_a_whole(void **state) {
    (void)state;
    for (int32_t stable = 0; stable < 2; stable++) {
        watched_world w;
        watched_begin(&w);
        mica_type_of(Exact)->traits.storage = MICA_POOL;
        mica_type_of(Exact)->traits.stable = stable != 0;
        mica_type_of(Exact)->traits.page_size = 0;
        mica_entity entities[10];
        for (int32_t i = 0; i < 10; i++) {
            entities[i] = mica_spawn(w.world, mica_value_of(Exact, {i}));
        }
        for (int32_t i = 0; i < 3; i++) {
            mica_destroy(w.world, entities[2 + i * 3]);
        }
        mica_query *exact = CHANGED(w.world, Exact);
        const uint64_t since = mica_world_advance_version(w.world);
        mica_pool_write(w.world, mica_register(w.world, Exact));
        assert_int_equal(ask(exact, since)->count, 7);
        watched_end(&w);
    }
}

// Added

static void what_was_added_is_named_exactly(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *plain = ADDED(world, Plain);
    mica_query *sign = ADDED(world, Sign);
    const uint64_t since = mica_world_advance_version(world);
    assert_nobody(plain, since);
    mica_add(world, fifth, Sign);
    const mica_entity fresh = mica_spawn(world, mica_value_of(Plain, {1}));
    assert_only(plain, since, fresh);
    assert_only(sign, since, fifth);
    const uint64_t later = mica_world_advance_version(world);
    mica_set(world, fresh, Plain, {2});
    assert_nobody(plain, later);
    assert_nobody(sign, later);
}

static void what_is_lost_and_regained_was_added_again(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *plain = ADDED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    mica_remove(world, fifth, Plain);
    assert_nobody(plain, since);
    mica_set(world, fifth, Plain, {2});
    assert_only(plain, since, fifth);
}

static void who_came_and_went_between_two_looks_was_not_added(mica_world *world) {
    mica_query *plain = ADDED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    const mica_entity gone = mica_spawn(world, mica_value_of(Plain, {1}));
    mica_destroy(world, gone);
    assert_nobody(plain, since);
    const mica_entity next = mica_spawn(world, mica_value_of(Exact, {1})); // most likely in the same slot
    assert_nobody(plain, since);
    assert_true(mica_alive(world, next));
}

static void every_way_to_add_counts(mica_world *world) {
    mica_query *plain = ADDED(world, Plain);
    const uint64_t since = mica_world_advance_version(world);
    const mica_entity a = mica_spawn(world, mica_value_of(Plain, {1}));
    const mica_entity b = mica_create(world);
    mica_set(world, b, Plain, {1});
    const mica_entity c = mica_entity_clone(world, a);
    mica_commands *commands = mica_commands_create(world);
    mica_spawn(commands, mica_value_of(Plain, {1}));
    const mica_entity d = mica_create(world);
    mica_set(commands, d, Plain, {1});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    const found *all = ask(plain, since);
    assert_int_equal(all->count, 5);
    assert_true(has(all, a) && has(all, b) && has(all, c) && has(all, d));
}

static void commands_count_by_what_they_come_to(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    mica_query *added = ADDED(world, Other);
    mica_query *removed = REMOVED(world, Other);
    const uint64_t since = mica_world_advance_version(world);
    mica_commands *commands = mica_commands_create(world);
    mica_set(commands, fifth, Other, {1});
    mica_remove(commands, fifth, Other);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    assert_nobody(added, since);
    assert_nobody(removed, since);
}

// Refusals and words

#define assert_refused(WORLD, PART, ...)                    \
    do {                                                    \
        assert_null(mica_query_of((WORLD), __VA_ARGS__));   \
        assert_int_equal(mica_last_result(), MICA_INVALID); \
        assert_said(PART);                                  \
    } while (0)

static void terms_that_contradict_each_other_are_refused(mica_world *world) {
    assert_refused(world, "term 0: Sign is a tag: it has no value that changes", mica_changed(Sign));
    assert_refused(world, "term 1: Plain is named twice", mica_changed(Plain), mica_changed(Plain));
    assert_refused(world, "term 2: Plain is named twice", mica_read(Plain), mica_changed(Plain), mica_write(Plain));
    assert_refused(world, "term 1: Plain is named twice", mica_any_changed(1, Plain), mica_any_changed(2, Plain));
    assert_refused(world, "term 1: Plain has to be there to be changed or added", mica_without(Plain),
                   mica_added(Plain));
    assert_refused(world, "term 1: Plain has to be there to be changed or added", mica_changed(Plain),
                   mica_read_optional(Plain));
    assert_refused(world, "term 1: Plain has to be there to be changed", mica_any_changed(1, Plain),
                   mica_without(Plain));
    assert_refused(world, "term 1: Exact is a second component", mica_removed(Plain), mica_removed(Exact));
    assert_refused(world, "without being read, written, with or changed", MICA_TERM(Plain, MICA_USE_ADDED, 1));
    assert_refused(world, "is a relation", mica_write_marked(mica_child_of));
}

static int equal(const mica_element *a, const mica_element *b, void *user) {
    (void)a;
    (void)b;
    (void)user;
    return 0;
}

static void never_called(const mica_signal *signal) {
    (void)signal;
    fail();
}

static void orders_and_observers_do_not_take_changes(mica_world *world) {
    mica_query *changed = mica_query_of(world, mica_changed(Plain), mica_read(Plain));
    assert_null(mica_order_create(changed, 0, equal, NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("asks for changes");
    const mica_observer_def def = {.on = MICA_ENTERED, .of = changed, .call = never_called};
    assert_int_equal(mica_observer_connect(world, &def).id, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_said("asks for changes");
}

static void the_same_terms_in_any_order_are_the_same_query(mica_world *world) {
    mica_query *query = mica_query_of(world, mica_changed(Plain), mica_read(Plain), mica_added(Exact));
    assert_ptr_equal(mica_query_of(world, mica_added(Exact), mica_read(Plain), mica_changed(Plain)), query);
    assert_ptr_not_equal(mica_query_of(world, mica_added(Exact), mica_read(Plain)), query);
    assert_ptr_equal(mica_query_of(world, mica_with(Plain), mica_changed(Plain)), CHANGED(world, Plain));
    assert_ptr_not_equal(mica_query_of(world, mica_write_marked(Plain)), mica_query_of(world, mica_write(Plain)));
}

static void explaining_says_by_which_versions(mica_world *world) {
    const mica_entity fifth = spawn_ten(world);
    char text[1024];
    mica_query *query = mica_query_of(world, mica_changed(Exact), mica_added(Sign), mica_removed(Other));
    mica_set(world, fifth, Exact, {1});
    assert_true(mica_query_explain(query, fifth, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "does not match ([changed] Exact, [removed] Other, [added] Sign)"));
    assert_non_null(strstr(text, "changed Exact: holds: its "));
    assert_non_null(strstr(text, "added Sign: fails: it is not there"));
    assert_non_null(strstr(text, "removed Other: fails: it was not removed since version 0"));
    mica_add(world, fifth, Sign);
    mica_set(world, fifth, Other, {1});
    mica_remove(world, fifth, Other);
    assert_true(mica_query_explain(query, fifth, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "matches ("));
    assert_null(strstr(text, "does not match"));
    assert_non_null(strstr(text, "added Sign: holds: it was added at version"));
    mica_destroy(world, fifth);
    assert_true(mica_query_explain(REMOVED(world, Other), fifth, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "matches ([removed] Other)"));
    assert_null(strstr(text, "does not match"));
    assert_non_null(strstr(text, "removed Other: holds: it was removed since version 0"));
    assert_true(mica_query_explain(REMOVED(world, Other), MICA_NULL, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "driven by the removals of Other"));
}

#define CASES(X)                                                       \
    X(from_zero_everything_has_changed)                                \
    X(what_nobody_touches_is_not_reported)                             \
    X(a_written_value_is_reported_once_whichever_way_it_was_written)   \
    X(a_span_that_is_asked_for_to_be_written_counts_as_a_whole)        \
    X(a_span_that_is_only_read_counts_not)                             \
    X(writing_that_marks_by_hand_marks_nothing_else)                   \
    X(walks_by_rows_mark_their_spans)                                  \
    X(a_row_is_marked_only_if_it_is_there_and_written)                 \
    X(what_was_added_has_changed)                                      \
    X(a_move_between_tables_is_no_change_and_loses_none)               \
    X(rows_that_take_a_hole_keep_what_is_known_of_them)                \
    X(what_was_written_before_rows_are_tracked_is_known_by_the_column) \
    X(what_is_always_dirty_has_always_changed)                         \
    X(several_conditions_must_all_hold)                                \
    X(of_an_any_of_clause_one_must_have_changed)                       \
    X(in_a_mixed_clause_being_there_is_enough_for_the_others)          \
    X(a_changed_member_of_a_clause_may_be_read_as_well)                \
    X(a_disabled_component_is_not_there_and_enabling_is_no_change)     \
    X(what_is_written_in_a_walk_over_changes_arrives)                  \
    X(questions_without_a_walk_agree_with_it)                          \
    X(what_was_added_is_named_exactly)                                 \
    X(what_is_lost_and_regained_was_added_again)                       \
    X(who_came_and_went_between_two_looks_was_not_added)               \
    X(every_way_to_add_counts)                                         \
    X(commands_count_by_what_they_come_to)                             \
    X(terms_that_contradict_each_other_are_refused)                    \
    X(orders_and_observers_do_not_take_changes)                        \
    X(the_same_terms_in_any_order_are_the_same_query)                  \
    X(explaining_says_by_which_versions)
CASES(EVERY_STORAGE)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASES(TEST_OF) cmocka_unit_test(of_many_chunks_and_pages_only_those_that_changed_are_reported),
        cmocka_unit_test(a_pools_arrays_that_are_written_count_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
