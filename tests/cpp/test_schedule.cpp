// Systems on several threads from C++17: how they are declared, looked at, timed and shared out.
#include <mica/mica.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
extern "C" {
#include <cmocka.h>
}

namespace {

MICA_STRUCT_WITH(Position, (.storage = MICA_TABLE), { float x; });
MICA_STRUCT_WITH(Velocity, (.storage = MICA_TABLE), { float x; });
MICA_STRUCT(Contact, { float depth; });
MICA_STRUCT(Score, { int32_t contacts; });
MICA_ENUM(Phase, {WAITING, PLAYING});

struct sprite {
    float x;
};

mica_world_def on_threads(int32_t count) {
    mica_world_def def = {};
    def.thread_count = count;
    def.always_parallel = true;
    return def;
}

int make_world(void **state) {
    const mica_world_def def = on_threads(3);
    mica_world *world = mica_world_create(&def);
    for (int32_t i = 0; world != nullptr && i < 3000; i++) {
        mica_spawn(world, mica_value_of(Position, {static_cast<float>(i)}), mica_value_of(Velocity, {1}));
    }
    *state = world;
    return world == nullptr ? 1 : 0;
}

int end_world(void **state) {
    mica_world_destroy(static_cast<mica_world *>(*state));
    return 0;
}

void pull(mica_run *run, mica_iter *span, void *user) {
    Position *position = mica_write_of(*span, Position);
    const Velocity *velocity = mica_read_of(*span, Velocity);
    for (int32_t i = 0; i < span->count; i++) {
        position[i].x += velocity[i].x * *static_cast<const float *>(user);
    }
    if (position[0].x == 2) {
        mica_spawn(mica_run_commands(run), mica_value_of(Velocity, {7}));
    }
}

void move(mica_run *run) {
    float step = 2;
    if (mica_parallel_for(run, nullptr, pull, &step) != MICA_OK) {
        mica_run_fail(run, mica_last_result(), mica_last_error());
    }
}

void touch(mica_run *run) {
    if (mica_send(mica_run_world(run), Contact, {0.5F}) != MICA_OK) {
        mica_run_fail(run, mica_last_result(), mica_last_error());
    }
}

void count_contacts(mica_run *run) {
    mica_event_reader *contacts = mica_run_events(run, Contact);
    while (mica_next_event(contacts, Contact) != nullptr) {
        mica_resource_write(mica_run_world(run), Score)->contacts++;
    }
}

mica_system_def moves() {
    mica_system_def def = {};
    def.name = "move";
    def.run = move;
    def.query[0] = mica_write(Position);
    def.query[1] = mica_read(Velocity);
    return def;
}

mica_system_def touches() {
    mica_system_def def = {};
    def.name = "touch";
    def.run = touch;
    def.access[0] = mica_writes(Contact);
    return def;
}

mica_system_def counts_contacts() {
    mica_system_def def = {};
    def.name = "count";
    def.run = count_contacts;
    def.access[0] = mica_reads(Contact);
    def.access[1] = mica_writes(Score);
    return def;
}

void add(mica_world *world, const mica_system_def &def) {
    assert_int_not_equal(mica_system_add(world, &def).id, 0);
}

void add_all(mica_world *world) {
    assert_int_equal(mica_set_resource(world, Score, {0}), MICA_OK);
    add(world, moves());
    add(world, touches());
    add(world, counts_contacts());
}

void systems_and_loops_run_on_several_threads(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    add_all(world);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    assert_int_equal(mica_resource(world, Score)->contacts, 2); // the first was sent before anybody listened
    assert_int_equal(mica_world_entity_count(world), 3001);
    mica_system_stats stats;
    assert_int_equal(mica_system_statistics(world, mica_system_find(world, "move"), &stats), MICA_OK);
    assert_int_equal(stats.run_count, 3);
    assert_int_equal(stats.entity_count, 9000);
}

void a_tick_is_the_same_on_one_thread(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    add_all(world);
    for (int32_t i = 0; i < 3; i++) {
        mica_thread_difference difference;
        assert_int_equal(mica_world_check_threads(world, 1, &difference), MICA_OK);
    }
    assert_int_equal(mica_world_tick(world), 3);
}

void the_schedule_says_who_waits_for_whom(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    add_all(world);
    char text[1024];
    assert_true(mica_world_plan(world, text, sizeof(text)) < sizeof(text));
    assert_non_null(strstr(text, "count (waits for touch)"));
    assert_true(mica_world_plan_explain(world, text, sizeof(text)) < sizeof(text));
    assert_non_null(strstr(text, "move: conflicts with nobody"));
    assert_true(mica_world_plan_graph(world, text, sizeof(text)) > 0);
    assert_true(mica_world_ambiguities(world, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "touch, count: Contact"));
}

void states_and_conditions_gate_systems(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    assert_int_equal(mica_set_resource(world, Phase, {WAITING}), MICA_OK);
    assert_int_equal(mica_set_resource(world, Score, {0}), MICA_OK);
    mica_system_def def = {};
    def.name = "play";
    def.run = [](mica_run *run) { mica_resource_write(mica_run_world(run), Score)->contacts += 10; };
    def.condition = [](mica_run *run) { return mica_run_tick(run) != 2; };
    def.access[0] = mica_writes(Score);
    def.gates[0] = mica_while(Phase, PLAYING);
    add(world, def);
    def.name = "begin";
    def.run = [](mica_run *run) { mica_resource_write(mica_run_world(run), Score)->contacts += 1; };
    def.condition = nullptr;
    def.gates[0] = mica_on_enter(Phase, PLAYING);
    add(world, def);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    assert_int_equal(mica_set_resource(world, Phase, {PLAYING}), MICA_OK);
    for (int32_t i = 0; i < 3; i++) { // ticks 1 to 3
        assert_int_equal(mica_world_step(world, 1), MICA_OK);
    }
    assert_int_equal(mica_resource(world, Score)->contacts, 21);
}

struct seen_events {
    int32_t ticks, systems;
};

void see_event(const mica_trace_event *event, void *user) {
    seen_events *seen = static_cast<seen_events *>(user);
    seen->ticks += event->kind == MICA_TRACE_TICK ? 1 : 0;
    seen->systems += event->kind == MICA_TRACE_SYSTEM ? 1 : 0;
}

void a_trace_tells_what_ran(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    add_all(world);
    assert_int_equal(mica_trace_begin(world, 0), MICA_OK);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    seen_events seen = {0, 0};
    assert_int_equal(mica_trace_take(world, see_event, &seen), 0);
    assert_int_equal(seen.ticks, 1);
    assert_int_equal(seen.systems, 3);
    assert_int_equal(mica_trace_end(world), MICA_OK);
}

void a_pool_runs_jobs_and_worlds(void **state) {
    (void)state;
    mica_jobs_def jobs_def = {};
    jobs_def.thread_count = 2;
    mica_jobs *jobs = mica_jobs_create(&jobs_def);
    assert_non_null(jobs);
    int32_t value = 1;
    const mica_job job = mica_job_start(
        jobs, [](void *data) { *static_cast<int32_t *>(data) += 41; }, &value);
    assert_int_equal(mica_job_wait(jobs, job), MICA_OK);
    assert_true(mica_job_done(jobs, job));
    assert_int_equal(value, 42);
    mica_world_def def = {};
    def.jobs = jobs;
    mica_world *world = mica_world_create(&def);
    assert_non_null(world);
    mica_jobs_release(jobs);
    add_all(world);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    mica_world_destroy(world);
}

void worlds_are_advanced_in_their_places(void **state) {
    (void)state;
    mica_worlds *worlds = mica_worlds_create(nullptr);
    assert_non_null(worlds);
    mica_place_def place = {};
    place.name = "game";
    mica_world_def def = {};
    def.kind = MICA_WORLD_SIMULATION;
    def.net_mode = MICA_NET_SERVER;
    def.fixed_delta_seconds = 0.25;
    place.world = mica_world_create(&def);
    const mica_place game = mica_worlds_add(worlds, &place);
    assert_int_not_equal(game.id, 0);
    assert_int_equal(mica_worlds_advance(worlds, 0.5), MICA_OK);
    assert_int_equal(mica_worlds_describe(worlds, game).tick_count, 2);
    assert_int_equal(mica_world_kind_of(mica_worlds_world(worlds, game)), MICA_WORLD_SIMULATION);
    assert_int_equal(mica_world_net_mode(mica_worlds_world(worlds, game)), MICA_NET_SERVER);
    mica_worlds_destroy(worlds);
}

mica_extract *screen;

void draw(mica_run *run) {
    mica_frame *frame = mica_run_frame(run, screen);
    mica_each (run, it) {
        const Position *position = mica_read_of(it, Position);
        sprite *sprites = mica_frame_add(frame, 0, sprite, it.count);
        for (int32_t i = 0; sprites != nullptr && i < it.count; i++) {
            sprites[i].x = position[i].x;
        }
    }
}

void a_frame_is_extracted(void **state) {
    mica_world *world = static_cast<mica_world *>(*state);
    mica_extract_def extract_def = {};
    extract_def.lists[0] = mica_list_of(sprite, 16);
    screen = mica_extract_create(world, &extract_def);
    assert_non_null(screen);
    mica_system_def def = {};
    def.name = "draw";
    def.run = draw;
    def.stage = MICA_EXTRACT;
    def.query[0] = mica_read(Position);
    add(world, def);
    assert_int_equal(mica_world_step(world, 1), MICA_OK);
    int32_t count = 0;
    const mica_frame *frame = mica_extract_latest(screen);
    const sprite *sprites = mica_frame_list(frame, 0, sprite, &count);
    assert_int_equal(count, 3000);
    assert_true(sprites[2999].x == 2999);
    assert_int_equal(mica_frame_describe(frame).tick, 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(systems_and_loops_run_on_several_threads, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_tick_is_the_same_on_one_thread, make_world, end_world),
        cmocka_unit_test_setup_teardown(the_schedule_says_who_waits_for_whom, make_world, end_world),
        cmocka_unit_test_setup_teardown(states_and_conditions_gate_systems, make_world, end_world),
        cmocka_unit_test_setup_teardown(a_trace_tells_what_ran, make_world, end_world),
        cmocka_unit_test(a_pool_runs_jobs_and_worlds),
        cmocka_unit_test(worlds_are_advanced_in_their_places),
        cmocka_unit_test_setup_teardown(a_frame_is_extracted, make_world, end_world),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
