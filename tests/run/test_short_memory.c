// Ticks whose systems ask for what needs memory and do not look whether they got it: a tick does all, or says who had
// none.
#include <mica/checksum.h>
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/churn_world.h"
#include "support/test_shared_allocator.h"

enum { COUNT = 300 };

MICA_STRUCT_WITH(Unit, (.storage = MICA_TABLE, .indexes = {{"team", MICA_HASH}}), { int32_t team; });
MICA_STRUCT(Sum, { uint64_t number; });

static mica_order *order;

static void note(mica_run *run, int64_t number) {
    Sum *sum = mica_resource_write(mica_run_world(run), Sum);
    sum->number = sum->number * 31 + (uint64_t)number;
}

// Systems. What they ask for lies in both storages, so that walks need memory.

#define POOLS mica_read(Heat), mica_read(Place)

static void walk(mica_run *run) {
    mica_each (run, it) {
        const Heat *heat = mica_read_of(it, Heat);
        for (int32_t i = 0; i < it.count; i++) {
            note(run, (int64_t)heat[i].degrees);
        }
    }
}

static void walk_in_order(mica_run *run) {
    mica_each (order, it) {
        note(run, it.count);
    }
}

static void walk_what_is_found(mica_run *run) {
    mica_each (mica_query_of(mica_run_world(run), mica_read(Shot), mica_without(Life)), it) {
        note(run, it.count);
    }
}

static void count(mica_run *run) {
    note(run, mica_query_count(mica_run_query(run, 0)));
}

static void take_first(mica_run *run) {
    note(run, mica_entity_index(mica_query_first(mica_run_query(run, 0))));
}

static void list(mica_run *run) {
    mica_entity entities[4];
    note(run, mica_query_entities(mica_run_query(run, 0), entities, 4));
}

static void note_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    note(run, span->count);
}

static void loop(mica_run *run) {
    mica_parallel_for(run, mica_run_query(run, 0), note_span, NULL);
}

static void walk_in_span(mica_run *run, mica_iter *span, void *user) {
    (void)user;
    mica_each (mica_run_query(run, 0), it) {
        mica_write_of(*span, Place)[0].x += (float)it.count;
    }
}

static void loop_over_walks(mica_run *run) {
    mica_parallel_for(run, NULL, walk_in_span, NULL);
}

static void look_up(mica_run *run) {
    const int32_t team = 3;
    note(run, mica_index_find(mica_index_of(mica_run_world(run), Unit, "team"), &team, NULL, 0));
}

static void read_events(mica_run *run) {
    const Hit *hit;
    while ((hit = mica_next_event(mica_run_events(run, Hit), Hit)) != NULL) {
        note(run, hit->power);
    }
}

static void record(mica_run *run) {
    must(run,
         mica_set(mica_run_commands(run), mica_query_first(mica_run_query(run, 0)), Follow, {MICA_NULL}) == MICA_OK);
}

static void walk_when_told(const mica_signal *signal) {
    mica_each (mica_query_of(signal->world, POOLS), it) {
        mica_resource_write(signal->world, Sum)->number += (uint64_t)it.count;
    }
}

// A system, and what its message says when it had no memory.
typedef struct asking {
    mica_system_def def;
    const char *text;
} asking;

static const asking *all_asking(size_t *count_out) {
    static asking all[16];
    const asking made[] = {
        {{.name = "walk", .run = walk, .query = {POOLS}, .access = {mica_writes(Sum)}},
         "mica_query_begin: out of memory for a walk over the query (Heat, Place)"},
        {{.name = "order", .run = walk_in_order, .query = {POOLS}, .access = {mica_writes(Sum)}},
         "mica_order_begin: out of memory"},
        {{.name = "find", .run = walk_what_is_found}, "mica_query_find: out of memory"},
        {{.name = "count", .run = count, .query_count = 1, .queries = {{{POOLS}}}, .access = {mica_writes(Sum)}},
         "mica_query_count: out of memory for a walk"},
        {{.name = "first", .run = take_first, .query_count = 1, .queries = {{{POOLS}}}, .access = {mica_writes(Sum)}},
         "mica_query_first: out of memory for a walk"},
        {{.name = "list", .run = list, .query_count = 1, .queries = {{{POOLS}}}, .access = {mica_writes(Sum)}},
         "mica_query_entities: out of memory for a walk"},
        {{.name = "loop", .run = loop, .query_count = 1, .queries = {{{POOLS}}}, .access = {mica_writes(Sum)}},
         "mica_query_begin: out of memory for a walk"},
        {{.name = "walk in span",
          .run = loop_over_walks,
          .query = {mica_write(Place)},
          .query_count = 1,
          .queries = {{{mica_read(Heat), mica_read(Life)}}}},
         "mica_query_begin: out of memory for a walk"},
        {{.name = "look up", .run = look_up}, "mica_index_of: out of memory"},
        {{.name = "read", .run = read_events, .access = {mica_reads(Hit), mica_writes(Sum)}},
         "mica_run_event_reader: out of memory"},
        {{.name = "tell", .run = record, .query_count = 2, .queries = {{{POOLS}}, {{mica_with(Place)}}}},
         "mica_query_begin: out of memory for a walk"},
    };
    memcpy(all, made, sizeof(made));
    *count_out = sizeof(made) / sizeof(made[0]);
    return all;
}

// The world

static int compare_places(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    const float left = ((const Place *)a->value)->x;
    const float right = ((const Place *)b->value)->x;
    return (left > right) - (left < right);
}

// Each system for the first time asks in the second tick: in the first one they have the world to themselves.
static bool is_second_tick(mica_run *run) {
    return mica_run_tick(run) == 1;
}

static mica_world *begin(const asking *asks, int32_t thread_count) {
    mica_world *world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&allocator), .thread_count = thread_count, .always_parallel = true});
    assert_non_null(world);
    assert_int_equal(mica_set_resource(world, Sum, {0}), MICA_OK);
    for (int32_t i = 0; i < COUNT; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(Place, {(float)(i * 7 % 11), 0}));
        mica_set(world, entity, Unit, {i % 5});
        if (i % 3 == 0) {
            mica_set(world, entity, Heat, {(float)i});
        }
        if (i % 4 == 0) {
            mica_set(world, entity, Shot, {i});
        }
    }
    mica_system_def def = asks->def;
    def.condition = is_second_tick;
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "cool",
                                                                   .run = churn_cool,
                                                                   .query = {mica_write(Group)},
                                                                   .state = mica_type_of(Count)})
                             .id,
                         0);
    mica_query *query = mica_query_create(world, (const mica_term[]){mica_read(Place), mica_with(Unit)}, 2);
    order = mica_order_create(query, mica_register(world, Place), compare_places, NULL);
    mica_query_release(query);
    assert_non_null(order);
    assert_int_not_equal(mica_observer_connect_to(world, MICA_ADDED, mica_type_of(Follow), walk_when_told, NULL).id, 0);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_send(world, Hit, {5});
    return world;
}

static uint64_t checksum_of(mica_world *world) {
    uint64_t sum_of_all = 0;
    assert_int_equal(mica_world_validate(world), MICA_OK);
    assert_int_equal(mica_world_checksum(world, NULL, &sum_of_all), MICA_OK);
    return sum_of_all;
}

// The second tick, with the n-th allocation refused; false: it was never asked for. Notes in `is_said` whether somebody
// said that it had none.
static bool step_without(const asking *asks, int32_t thread_count, uint64_t n, uint64_t expected, bool *is_said) {
    mica_world *world = begin(asks, thread_count);
    test_allocator_fail_at(&allocator, n);
    const mica_result result = mica_world_step(world, 1);
    const bool failed = test_allocator_fail_stop(&allocator);
    const bool is_short = result == MICA_OUT_OF_MEMORY;
    if (is_short) {
        char named[64];
        snprintf(named, sizeof(named), "system \"%s\" failed in stage \"update\" of tick 1: ", asks->def.name);
        *is_said |= strstr(mica_last_error(), named) != NULL && strstr(mica_last_error(), asks->text) != NULL;
        assert_int_equal(mica_world_tick(world), 1);
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
        (void)checksum_of(world);
    } else {
        assert_int_equal(result, MICA_OK);
        assert_int_equal(checksum_of(world), expected);
    }
    mica_order_destroy(order);
    mica_world_destroy(world);
    return failed;
}

static void a_tick_does_all_or_says_who_had_no_memory(void **state) {
    (void)state;
    size_t asking_count = 0;
    const asking *asks = all_asking(&asking_count);
    for (size_t i = 0; i < asking_count; i++) {
        for (int32_t threads = 1; threads <= 3; threads += 2) {
            mica_world *world = begin(&asks[i], 1);
            assert_int_equal(mica_world_step(world, 1), MICA_OK);
            const uint64_t expected = checksum_of(world);
            mica_order_destroy(order);
            mica_world_destroy(world);
            bool is_said = false;
            uint64_t n = 1;
            while (step_without(&asks[i], threads, n, expected, &is_said)) {
                n++;
            }
            if (!is_said) {
                fail_msg("system \"%s\" did not say that it had no memory, on %d threads", asks[i].def.name, threads);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tick_does_all_or_says_who_had_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
