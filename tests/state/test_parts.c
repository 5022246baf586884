// What a world has beside its entities comes back with a snapshot: a world goes on with its events, messages, resources
// and random numbers as it did the first time, and so does another world that is made a copy.
#include "state/snapshot.h"
#include "support/test_allocator.h"
#include "world/event.h"

#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

MICA_STRUCT(Score, { int32_t points; });
MICA_STRUCT(Map, { int32_t tiles[2000]; });
MICA_STRUCT(Hit, { int32_t damage; });
MICA_STRUCT(Order, { int32_t number; });
MICA_STRUCT(Position, { int32_t x; });
MICA_TAG(Alarm);

enum { TICK_COUNT = 40 };

// A world whose systems hand events to each other; what they see goes into `seen`.
typedef struct game {
    test_allocator allocator;
    mica_world *world;
    mica_inbox *inbox;
    uint64_t seen;
    int32_t alarm_count;
} game;

static void mix(game *g, uint64_t number) {
    g->seen = (g->seen ^ number) * UINT64_C(0x9e3779b97f4a7c15) + (g->seen >> 31);
}

// Reads what was sent in the tick before, in spans.
static void count_hits(mica_run *run) {
    game *g = mica_run_user(run);
    mica_event_reader *hits = mica_run_events(run, Hit);
    int32_t count = 0;
    for (const Hit *hit; (hit = mica_next_events(hits, Hit, &count)) != NULL;) {
        mix(g, (uint64_t)count);
        for (int32_t i = 0; i < count; i++) {
            mix(g, (uint64_t)hit[i].damage);
            mica_resource_write(mica_run_world(run), Score)->points += hit[i].damage;
        }
    }
    mix(g, (uint64_t)mica_resource(mica_run_world(run), Score)->points);
}

// Asks for its reader late, and then reads seldom.
static void read_orders(mica_run *run) {
    game *g = mica_run_user(run);
    const uint64_t tick = mica_world_tick(mica_run_world(run));
    if (tick % 4 != 3) {
        return;
    }
    mica_event_reader *orders = mica_run_events(run, Order);
    for (const Order *order; (order = mica_next_event(orders, Order)) != NULL;) {
        mix(g, (uint64_t)order->number);
    }
}

static void send(mica_run *run) {
    game *g = mica_run_user(run);
    mica_world *world = mica_run_world(run);
    const uint32_t count = mica_random_below(mica_run_random(run), 300);
    for (uint32_t i = 0; i < count; i++) {
        mica_send(world, Hit, {(int32_t)mica_random_below(mica_world_random(world), 1000)});
    }
    if (count % 3 == 0) {
        mica_send_tag(world, Alarm);
    }
    mix(g, (uint64_t)mica_deliver(world, Alarm));
}

static void hear_alarm(const mica_event *event) {
    ((game *)event->user)->alarm_count++;
}

static void begin(game *g, mica_schema *schema) {
    *g = (game){.world = NULL};
    test_allocator_init(&g->allocator);
    g->world = mica_world_create(&(mica_world_def){
        .allocator = test_allocator_hooks(&g->allocator), .schema = schema, .inbox_message_limit = 8});
    assert_non_null(g->world);
    mica_register(g->world, Order);
    g->inbox = mica_world_inbox(g->world);
    mica_set_resource(g->world, Score, {0});
    assert_non_null(mica_ensure_resource(g->world, Map));
    mica_on_event(g->world, Alarm, hear_alarm, g);
    mica_system_add(g->world, &(mica_system_def){.name = "count", .run = count_hits, .user = g});
    mica_system_add(g->world, &(mica_system_def){.name = "orders", .run = read_orders, .user = g});
    mica_system_add(g->world, &(mica_system_def){.name = "send", .run = send, .user = g});
}

static void end(game *g) {
    assert_string_equal(mica_world_validate(g->world) == MICA_OK ? "" : mica_last_error(), "");
    mica_world_destroy(g->world);
    test_allocator_finish(&g->allocator);
}

// Runs ticks; messages come in between. What was seen.
static uint64_t play(game *g, int32_t tick_count) {
    g->seen = 0;
    for (int32_t i = 0; i < tick_count; i++) {
        assert_int_equal(mica_world_step(g->world, 1), MICA_OK);
        mica_post(g->inbox, Order, {(int32_t)mica_world_tick(g->world)});
    }
    mix(g, (uint64_t)g->alarm_count);
    return g->seen;
}

static mica_snapshot *take(const game *g) {
    mica_snapshot *snapshot = mica_snapshot_take(g->world, NULL);
    assert_string_equal(snapshot != NULL ? "" : mica_last_error(), "");
    return snapshot;
}

static void restore(const game *g, mica_snapshot *snapshot) {
    assert_string_equal(mica_snapshot_restore(snapshot, g->world, NULL) == MICA_OK ? "" : mica_last_error(), "");
}

static void a_world_goes_on_as_it_did_the_first_time(void **state) {
    (void)state;
    game g;
    begin(&g, NULL);
    for (int32_t start = 0; start < 6; start++) { // at first a system has not asked for its reader yet
        play(&g, 1);
        mica_snapshot *snapshot = take(&g);
        g.alarm_count = 0;
        const uint64_t first = play(&g, TICK_COUNT);
        for (int32_t i = 0; i < 2; i++) {
            restore(&g, snapshot);
            g.alarm_count = 0;
            assert_true(play(&g, TICK_COUNT) == first);
        }
        restore(&g, snapshot);
        mica_snapshot_release(snapshot);
    }
    end(&g);
}

static void a_copy_goes_on_as_its_original(void **state) {
    (void)state;
    for (int32_t start = 0; start < 8; start++) {
        mica_schema *schema = mica_schema_create(NULL);
        game original;
        game copy;
        begin(&original, schema);
        begin(&copy, schema);
        play(&original, start);
        play(&copy, 3);
        assert_int_equal(mica_world_copy(copy.world, original.world), MICA_OK);
        original.alarm_count = 0;
        copy.alarm_count = 0;
        assert_true(play(&original, TICK_COUNT) == play(&copy, TICK_COUNT));
        end(&original);
        end(&copy);
        mica_schema_release(schema);
    }
}

// Of a world that knows neither systems nor events nor an inbox yet.
static void a_copy_of_everything_can_be_made_into_a_bare_world(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    game original;
    begin(&original, schema);
    play(&original, 5);
    mica_world *bare = mica_world_create(&(mica_world_def){.schema = schema});
    assert_int_equal(mica_world_copy(bare, original.world), MICA_OK);
    assert_int_equal(mica_resource(bare, Score)->points, mica_resource(original.world, Score)->points);
    assert_int_equal(mica_inbox_statistics(mica_world_inbox(bare)).waiting_count, 1);
    assert_int_equal(mica_world_validate(bare), MICA_OK);
    mica_world_destroy(bare);
    end(&original);
    mica_schema_release(schema);
}

static const mi_part_image *image_of(const mica_snapshot *snapshot, const char *name) {
    for (uint32_t i = 0; i < snapshot->part_count; i++) {
        if (strcmp(snapshot->parts[i]->part->name, name) == 0) {
            return snapshot->parts[i];
        }
    }
    fail_msg("there is no part \"%s\"", name);
    return NULL;
}

static void what_has_not_changed_is_shared(void **state) {
    (void)state;
    game g;
    begin(&g, NULL);
    play(&g, 3);
    mica_snapshot *first = take(&g);
    mica_resource_write(g.world, Score)->points++;
    mica_snapshot *second = take(&g);
    assert_ptr_equal(image_of(first, "heavy resources"), image_of(second, "heavy resources"));
    assert_ptr_equal(image_of(first, "events"), image_of(second, "events"));
    assert_ptr_not_equal(image_of(first, "resources"), image_of(second, "resources"));
    restore(&g, first);
    mica_snapshot *third = take(&g);
    assert_ptr_equal(image_of(first, "resources"), image_of(third, "resources"));
    assert_ptr_equal(image_of(first, "events"), image_of(third, "events"));
    mica_snapshot_release(first);
    mica_snapshot_release(second);
    mica_snapshot_release(third);
    end(&g);
}

static void a_resource_has_changed_for_who_looks_if_it_differs(void **state) {
    (void)state;
    game g;
    begin(&g, NULL);
    const mica_component score = mica_world_component(g.world, mica_type_of(Score));
    const mica_component map = mica_world_component(g.world, mica_type_of(Map));
    play(&g, 1);
    mica_snapshot *snapshot = take(&g);
    play(&g, 3);
    const uint64_t score_version = mica_resource_version(g.world, score);
    const uint64_t map_version = mica_resource_version(g.world, map);
    restore(&g, snapshot);
    assert_true(mica_resource_version(g.world, score) > score_version);
    assert_int_equal(mica_resource_version(g.world, map), map_version);
    mica_snapshot_release(snapshot);
    end(&g);
}

static void an_inbox_without_room_refuses_the_whole_state(void **state) {
    (void)state;
    mica_schema *schema = mica_schema_create(NULL);
    game original;
    begin(&original, schema);
    for (int32_t i = 0; i < 8; i++) {
        mica_post(original.inbox, Order, {i});
    }
    mica_world *small = mica_world_create(&(mica_world_def){.schema = schema, .inbox_message_limit = 7});
    mica_spawn(small, mica_value_of(Position, {1}));
    assert_int_equal(mica_world_copy(small, original.world), MICA_LIMIT);
    assert_non_null(strstr(mica_last_error(), "inbox"));
    assert_int_equal(mica_world_entity_count(small), 1);
    assert_null(mica_resource(small, Score));
    mica_world_destroy(small);
    end(&original);
    mica_schema_release(schema);
}

MICA_STRUCT(Fresh, { int32_t number; });

// Does to the world whatever may be done to it meanwhile.
static void meddle(const mica_signal *signal) {
    mica_send(signal->world, Hit, {-1000});
    mica_send(signal->world, Fresh, {1});
    mica_set_resource(signal->world, Score, {-1000});
    mica_random_next(mica_world_random(signal->world));
    mica_spawn(signal->commands, mica_value_of(Order, {1}));
}

static void what_observers_do_who_are_told_of_what_goes_is_not_in_the_restored_state(void **state) {
    (void)state;
    game g;
    begin(&g, NULL);
    play(&g, 3);
    mica_snapshot *snapshot = take(&g);
    const int32_t points = mica_resource(g.world, Score)->points;
    g.alarm_count = 0;
    const uint64_t first = play(&g, TICK_COUNT);
    restore(&g, snapshot);
    mica_spawn(g.world, mica_value_of(Position, {1}));
    assert_int_not_equal(mica_on_removed(g.world, Position, meddle, NULL).id, 0);
    mica_event_reader *fresh = mica_reader_of(g.world, Fresh, NULL);
    assert_int_equal(mica_snapshot_restore(snapshot, g.world, &(mica_restore_options){.tell = true}), MICA_OK);
    assert_int_equal(mica_resource(g.world, Score)->points, points);
    assert_null(mica_next_event(fresh, Fresh));
    assert_int_equal(mica_world_entity_count(g.world), 1); // what was recorded is done to the restored world
    assert_int_equal(mica_world_validate(g.world), MICA_OK);
    g.alarm_count = 0;
    assert_true(play(&g, TICK_COUNT) == first);
    mica_snapshot_release(snapshot);
    end(&g);
}

// Commands that walks have recorded and memory was too short for are applied before a snapshot is taken.
static void commands_that_wait_for_memory_are_applied_first(void **state) {
    (void)state;
    game g;
    begin(&g, NULL);
    mica_spawn(g.world, mica_value_of(Position, {1}));
    mica_query *query = mica_query_of(g.world, mica_read(Position));
    mica_each (query, it) {
        for (int32_t i = 0; i < 5000; i++) {
            mica_spawn(mica_iter_commands(it), mica_value_of(Position, {2}));
        }
        test_allocator_fail_from(&g.allocator, 1);
        break;
    }
    assert_null(mica_snapshot_take(g.world, NULL));
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&g.allocator));
    mica_snapshot *snapshot = take(&g);
    assert_int_equal(mica_snapshot_entity_count(snapshot), 5001);
    mica_query_release(query);
    mica_snapshot_release(snapshot);
    end(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_goes_on_as_it_did_the_first_time),
        cmocka_unit_test(a_copy_goes_on_as_its_original),
        cmocka_unit_test(a_copy_of_everything_can_be_made_into_a_bare_world),
        cmocka_unit_test(what_has_not_changed_is_shared),
        cmocka_unit_test(a_resource_has_changed_for_who_looks_if_it_differs),
        cmocka_unit_test(an_inbox_without_room_refuses_the_whole_state),
        cmocka_unit_test(what_observers_do_who_are_told_of_what_goes_is_not_in_the_restored_state),
        cmocka_unit_test(commands_that_wait_for_memory_are_applied_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
