// Systems that touch through pointers what they have not declared are found, and nothing else changes.
#define _GNU_SOURCE // anonymous mappings
#include "run/cheat_world.h"
#include "run/tick_world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

MICA_STRUCT_WITH(Wide, (.storage = MICA_TABLE), { int32_t number, rest[1023]; });
MICA_STRUCT_WITH(Spread, (.storage = MICA_TABLE, .layout = MICA_LANES), { int32_t rest, number; });
MICA_STRUCT_WITH(Seen, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(Chest, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 16, .stable = true),
                 { int32_t number; });
MICA_STRUCT(Law, { int32_t number; });

enum { ENTITIES = 40, TARGET = 37 };

// Addresses that were got when everything could be touched.
static struct { volatile int32_t *secret, *wide, *lane, *loot, *seen, *chest, *rule, *law, *own; } at;

static mica_world *inner;      // that a system steps
static volatile int32_t *page; // of the test's own
static volatile int32_t sink;

// The world

static mica_system_def cheating(scene *test) {
    mica_system_def def = cheat_system(test);
    def.query[1] = mica_read(Other);
    def.access[0] = mica_reads(Seen);
    def.access[1] = mica_reads(Law);
    return def;
}

static mica_world_def definition(scene *test) {
    return (mica_world_def){.name = "guarded",
                            .allocator = test_allocator_hooks(&test->allocator),
                            .thread_count = 3, // one is enough for it
                            .always_parallel = true,
                            .validate = MICA_VALIDATE_PAGES};
}

static void fill(mica_world *world, mica_entity *target) {
    for (int32_t i = 0; i < ENTITIES; i++) {
        const mica_entity made =
            mica_spawn(world, mica_value_of(Own, {i}), mica_value_of(Other, {VALUE}), mica_value_of(Secret, {VALUE}),
                       mica_value_of(Wide, {.number = VALUE}), mica_value_of(Spread, {VALUE, VALUE}));
        assert_int_equal(mica_set(world, made, Loot, {VALUE}), MICA_OK);
        assert_int_equal(mica_set(world, made, Seen, {VALUE}), MICA_OK);
        assert_int_equal(mica_set(world, made, Chest, {VALUE}), MICA_OK);
        *target = i == TARGET ? made : *target;
    }
    assert_int_equal(mica_set_resource(world, Rule, {VALUE}), MICA_OK);
    assert_int_equal(mica_set_resource(world, Law, {VALUE}), MICA_OK);
}

static void keep_lane(scene *test) {
    mica_query *query = mica_query_of(test->world, mica_write(Spread));
    mica_each (query, it) {
        for (int32_t i = 0; i < it.count; i++) {
            if (mica_entity_equal(it.entities[i], test->target)) {
                at.lane = mica_lane(it, Spread, number) + i;
            }
        }
    }
}

static void keep_addresses(scene *test) {
    mica_world *world = test->world;
    at.own = &mica_get_write(world, test->target, Own)->number;
    at.secret = &mica_get_write(world, test->target, Secret)->number;
    at.wide = &mica_get_write(world, test->target, Wide)->rest[1000];
    at.loot = &mica_get_write(world, test->target, Loot)->number;
    at.seen = &mica_get_write(world, test->target, Seen)->number;
    at.chest = &mica_get_write(world, test->target, Chest)->number;
    at.rule = &mica_resource_write(world, Rule)->number;
    at.law = &mica_resource_write(world, Law)->number;
    keep_lane(test);
}

static void add_systems(scene *test, mica_world *world, const mica_system_def *def) {
    mica_system_def other = other_system(test);
    other.after[0] = def->name;
    assert_int_not_equal(mica_system_add(world, def).id, 0);
    assert_int_not_equal(mica_system_add(world, &other).id, 0);
}

static void begin(scene *test, const mica_world_def *world_def, const mica_system_def *def,
                  void (*what)(mica_run *run)) {
    test->world = mica_world_create(world_def);
    assert_non_null(test->world);
    test->act = what;
    test->is_armed = false;
    fill(test->world, &test->target);
    add_systems(test, test->world, def);
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    keep_addresses(test);
    test->is_armed = true;
    test->end_count = 0;
    test->other_runs = 0;
}

static void end(scene *test) {
    assert_int_equal(mica_world_validate(test->world), MICA_OK);
    mica_world_destroy(test->world);
}

typedef struct cheat {
    void (*act)(mica_run *run);
    const char *touch; // what of it the error says, the target's entity behind it,
    bool is_of_none;   // unless it is a resource
    bool is_declared;  // to be read
} cheat;

// Steps a world whose system cheats.
static void catch_cheat(scene *test, mica_world *world, const cheat *what, const char *call) {
    char entity[64] = "";
    if (!what->is_of_none) {
        snprintf(entity, sizeof(entity), " of entity %" PRIu32 ":%" PRIu32, mica_entity_index(test->target),
                 mica_entity_generation(test->target));
    }
    char expected[256];
    snprintf(expected, sizeof(expected), ": %s: system \"cheat\" %s%s, which it has %s", call, what->touch, entity,
             what->is_declared ? "declared to read alone" : "not declared");
    test->act = what->act;
    test->end_count = 0;
    test->other_runs = 0;
    assert_int_equal(mica_world_step(world, 1), MICA_NO_ACCESS);
    if (strstr(mica_last_error(), expected) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", expected, mica_last_error());
    }
    assert_int_equal(test->end_count, test->in_condition ? 0 : 1);
    assert_int_equal(test->other_runs, 0);
    test->is_armed = false;
    assert_int_equal(mica_world_step(world, 1), MICA_OK); // nothing is left of it
    assert_int_equal(test->other_runs, 1);
    test->is_armed = true;
}

// Cheats

static void write_what_is_read(mica_run *run) {
    mica_each (run, it) {
        const Other *other = mica_read_of(it, Other);
        for (int32_t i = 0; i < it.count; i++) {
            if (mica_entity_equal(it.entities[i], shared.target)) {
                *(volatile int32_t *)(uintptr_t)&other[i].number = 1;
            }
        }
    }
}

static void write_secret(mica_run *run) {
    (void)run;
    *at.secret = 1;
}

static void read_secret(mica_run *run) {
    (void)run;
    sink = *at.secret;
}

static void add_to_secret(mica_run *run) {
    (void)run;
    *at.secret += 1;
}

static void read_wide(mica_run *run) {
    (void)run;
    sink = *at.wide;
}

static void write_lane(mica_run *run) {
    (void)run;
    *at.lane = 1;
}

static void write_loot(mica_run *run) {
    (void)run;
    *at.loot = 1;
}

static void read_loot(mica_run *run) {
    (void)run;
    sink = *at.loot;
}

static void write_seen(mica_run *run) {
    (void)run;
    sink = *at.seen;
    *at.seen = 1;
}

static void read_chest(mica_run *run) {
    (void)run;
    sink = *at.chest;
}

static void read_rule(mica_run *run) {
    (void)run;
    sink = *at.rule;
}

static void write_law(mica_run *run) {
    (void)run;
    sink = *at.law;
    *at.law = 1;
}

static void touch_several(mica_run *run) {
    (void)run;
    sink = *at.loot;
    *at.secret = 1;
    *at.secret = 2;
    sink = *at.rule;
}

static const cheat cheats[] = {
    {.act = write_what_is_read, .touch = "writes Other", .is_declared = true},
    {.act = write_secret, .touch = "writes Secret"},
    {.act = read_secret, .touch = "reads Secret"},
    {.act = read_wide, .touch = "reads Wide"},
    {.act = write_lane, .touch = "writes Spread"},
    {.act = read_loot, .touch = "reads Loot"},
    {.act = write_loot, .touch = "writes Loot"},
    {.act = write_seen, .touch = "writes Seen", .is_declared = true},
    {.act = read_chest, .touch = "reads Chest"},
    {.act = read_rule, .touch = "reads Rule", .is_of_none = true},
    {.act = write_law, .touch = "writes Law", .is_of_none = true, .is_declared = true},
    {.act = touch_several, .touch = "reads Loot"},
};

enum { CHEATS = sizeof(cheats) / sizeof(cheats[0]) };

static void catch_all(scene *test, mica_world *world) {
    for (int32_t i = 0; i < CHEATS; i++) {
        catch_cheat(test, world, &cheats[i], "a raw pointer");
    }
}

// Cases

static void each_cheat_fails_its_tick_and_is_named(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    catch_all(test, test->world);
    end(test);
}

static void what_was_written_was_written(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, add_to_secret);
    assert_int_equal(mica_world_step(test->world, 1), MICA_NO_ACCESS);
    assert_int_equal(mica_get(test->world, test->target, Secret)->number, VALUE + 1);
    end(test);
}

static void what_was_written_is_taken_back_with_its_tick(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    assert_int_equal(mica_world_restore_failed_ticks(test->world, true, NULL), MICA_OK);
    const uint64_t before = tick_checksum(test->world);
    for (int32_t i = 0; i < CHEATS; i++) {
        test->act = cheats[i].act;
        assert_int_equal(mica_world_step(test->world, 1), MICA_NO_ACCESS);
        assert_int_equal(tick_checksum(test->world), before);
    }
    end(test);
}

static void conditions_are_held_to_it_as_well(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    test->in_condition = true;
    catch_all(test, test->world);
    end(test);
}

static void touch_by_call(mica_run *run) {
    assert_null(mica_get(mica_run_world(run), shared.target, Secret));
}

static void calls_are_checked_as_well(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    const cheat what = {.act = touch_by_call, .touch = "reads Secret"};
    catch_cheat(test, test->world, &what, "mica_entity_get");
    end(test);
}

static void double_own(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    Own *own = mica_write_of(*span, Own);
    const Other *other = mica_read_of(*span, Other);
    for (int32_t i = 0; i < span->count; i++) {
        own[i].number += other[i].number;
    }
}

static void keep_to_what_is_declared(mica_run *run) {
    mica_world *world = mica_run_world(run);
    *at.own += *at.seen;
    mica_set(world, shared.target, Own, {mica_get(world, shared.target, Seen)->number});
    sink = *at.law;
    mica_spawn(mica_run_commands(run), mica_value_of(Own, {*at.law}));
    mica_remove(mica_run_commands(run), shared.target, Secret);
    assert_int_equal(mica_parallel_for(run, NULL, double_own, NULL), MICA_OK);
}

static void what_is_declared_is_no_cheat(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, keep_to_what_is_declared);
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    assert_int_equal(mica_get(test->world, test->target, Own)->number, 2 * VALUE);
    assert_false(mica_has(test->world, test->target, Secret));
    end(test);
}

static void what_is_declared_to_be_written_may_be(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    mica_system_def def = cheating(test);
    const mica_access access[] = {mica_writes(Other),  mica_writes(Secret), mica_writes(Wide),
                                  mica_writes(Spread), mica_writes(Loot),   mica_writes(Seen),
                                  mica_writes(Chest),  mica_writes(Rule),   mica_writes(Law)};
    memcpy(def.access, access, sizeof(access));
    begin(test, &world_def, &def, NULL);
    for (int32_t i = 0; i < CHEATS; i++) {
        test->act = cheats[i].act;
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    }
    end(test);
}

static void exclusive_systems_may_touch_everything(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    mica_system_def def = cheating(test);
    def.exclusive = true;
    begin(test, &world_def, &def, NULL);
    for (int32_t i = 0; i < CHEATS; i++) {
        test->act = cheats[i].act;
        assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    }
    end(test);
}

static void a_copy_and_a_restored_world_are_guarded(void **state) {
    scene *test = *state;
    const mica_system_def def = cheating(test);
    mica_world_def world_def = definition(test);
    begin(test, &world_def, &def, NULL);
    mica_snapshot *snapshot = mica_snapshot_take(test->world, NULL);
    assert_non_null(snapshot);
    catch_all(test, test->world);
    assert_int_equal(mica_snapshot_restore(snapshot, test->world, NULL), MICA_OK);
    keep_addresses(test);
    assert_int_equal(*at.secret, VALUE);
    catch_all(test, test->world);

    mica_world *original = test->world;
    world_def.schema = mica_world_schema(original);
    test->world = mica_world_create(&world_def);
    add_systems(test, test->world, &def);
    assert_int_equal(mica_snapshot_restore(snapshot, test->world, NULL), MICA_OK);
    mica_snapshot_release(snapshot);
    keep_addresses(test);
    catch_all(test, test->world);
    test->is_armed = false;
    end(test);
    test->world = original;
    end(test);
}

static void a_world_of_fixed_size_is_guarded(void **state) {
    scene *test = *state;
    mica_world_def world_def = definition(test);
    world_def.fixed_byte_size = (size_t)4 << 20;
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    catch_all(test, test->world);
    end(test);
}

// Who is told

static void write_secret_when_told(const mica_signal *signal) {
    (void)signal;
    *at.secret = 2;
}

static void write_secret_when_called(const mica_event *event) {
    (void)event;
    *at.secret = 3;
}

static void cause_calls(mica_run *run) {
    mica_world *world = mica_run_world(run);
    mica_set(world, shared.target, Own, {7});
    assert_int_equal(mica_trigger(world, Alarm, {1}), MICA_OK);
}

static void cause_calls_and_write(mica_run *run) {
    cause_calls(run);
    *at.secret = 4;
}

static void observers_and_handlers_may_touch_everything_and_nobody_else(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    mica_system_def def = cheating(test);
    def.access[2] = mica_writes(Alarm);
    begin(test, &world_def, &def, cause_calls);
    const mica_observer_def observer = {
        .on = MICA_SET, .type = mica_type_of(Own), .call = write_secret_when_told, .user = test};
    assert_int_not_equal(mica_observer_connect(test->world, &observer).id, 0);
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    assert_int_equal(*at.secret, 2);
    const mica_component alarm = mica_register(test->world, Alarm);
    assert_int_not_equal(mica_event_bind(test->world, alarm, write_secret_when_called, test).id, 0);
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    assert_int_equal(*at.secret, 3);
    const cheat what = {.act = cause_calls_and_write, .touch = "writes Secret"};
    catch_cheat(test, test->world, &what, "a raw pointer");
    end(test);
}

// Several worlds

static void step_inner(mica_run *run) {
    (void)run;
    assert_int_equal(mica_world_step(inner, 1), MICA_OK);
}

static void write_outer_secret(mica_run *run) {
    (void)run;
    *at.secret = 5;
}

static void worlds_that_systems_step_are_part_of_them(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, NULL);
    inner = mica_world_create(&world_def);
    const mica_system_def inner_def = {
        .name = "inner", .run = write_outer_secret, .user = test, .query = {mica_write(Own)}};
    assert_int_not_equal(mica_system_add(inner, &inner_def).id, 0);
    const cheat what = {.act = step_inner, .touch = "writes Secret"};
    catch_cheat(test, test->world, &what, "a raw pointer");
    mica_world_destroy(inner);
    end(test);
}

// Handlers of signals

static volatile sig_atomic_t mended_count;

static void mend(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    if (info->si_addr == (void *)(uintptr_t)page) {
        mended_count++;
        mprotect(info->si_addr, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
    }
}

static void mend_simply(int signal) {
    (void)signal;
    mended_count++;
    mprotect((void *)(uintptr_t)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
}

static void touch_page(mica_run *run) {
    (void)run;
    *page = 1;
}

static void touch_page_and_secret(mica_run *run) {
    touch_page(run);
    *at.secret = 1;
}

static void open_page(void) {
    void *opened = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(opened, MAP_FAILED);
    page = opened;
}

static void close_page(void) {
    munmap((void *)(uintptr_t)page, (size_t)sysconf(_SC_PAGESIZE));
}

static void other_faults_are_left_to_the_handler_that_was_there(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, touch_page);
    struct sigaction own = {.sa_flags = SA_SIGINFO};
    own.sa_sigaction = mend;
    struct sigaction before;
    assert_int_equal(sigaction(SIGSEGV, &own, &before), 0);
    mended_count = 0;
    open_page();
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    assert_int_equal(mended_count, 1);
    close_page();
    open_page();
    const cheat what = {.act = touch_page_and_secret, .touch = "writes Secret"};
    catch_cheat(test, test->world, &what, "a raw pointer");
    assert_int_equal(mended_count, 2);
    close_page();

    struct sigaction after;
    own.sa_flags = 0;
    own.sa_handler = mend_simply;
    assert_int_equal(sigaction(SIGSEGV, &own, &after), 0);
    assert_true(after.sa_sigaction == mend); // the library's is there during systems alone
    open_page();
    test->act = touch_page;
    assert_int_equal(mica_world_step(test->world, 1), MICA_OK);
    assert_int_equal(mended_count, 3);
    close_page();
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    end(test);
}

static void faults_that_nobody_handles_end_the_program(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, touch_page);
    open_page();
    const pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        mica_world_step(test->world, 1);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    close_page();
    end(test);
}

// Sameness

static void states_are_those_of_a_world_without_it(void **state) {
    scene *test = *state;
    mica_world_def world_def = definition(test);
    mica_world *guarded = tick_world_open(&world_def);
    world_def.validate = MICA_VALIDATE_OFF;
    mica_world *other = tick_world_open(&world_def);
    for (int32_t tick = 0; tick < 30; tick++) {
        tick_post(guarded);
        tick_post(other);
        assert_int_equal(mica_world_step(guarded, 0.25f), MICA_OK);
        assert_int_equal(mica_world_step(other, 0.25f), MICA_OK);
        assert_int_equal(tick_checksum(guarded), tick_checksum(other));
    }
    tick_assert_equal(guarded, other);
    mica_world_destroy(other);
    mica_world_destroy(guarded);
}

static void rows_of_full_chunks_are_as_many_as_without_it(void **state) {
    scene *test = *state;
    mica_world_def world_def = definition(test);
    int32_t counts[2] = {0};
    for (int32_t i = 0; i < 2; i++) {
        mica_world *world = mica_world_create(&world_def);
        for (int32_t k = 0; k < ENTITIES; k++) {
            mica_spawn(world, mica_value_of(Own, {k}), mica_value_of(Wide, {.number = k}));
        }
        mica_query *query = mica_query_of(world, mica_read(Wide));
        mica_each (query, it) {
            counts[i] = counts[i] * 100 + it.count;
        }
        assert_int_equal(mica_world_validate(world), MICA_OK);
        mica_world_destroy(world);
        world_def.validate = MICA_VALIDATE_OFF;
    }
    assert_int_equal(counts[0], counts[1]);
    assert_true(counts[0] > ENTITIES); // several chunks
}

// Limits

static mica_component register_another(mica_world *world, int32_t number) {
    char name[16];
    snprintf(name, sizeof(name), "Own%d", number);
    return mica_schema_register_named(mica_world_schema(world), mica_type_of(Own), name, NULL);
}

static void an_entity_of_too_many_components_is_refused(void **state) {
    enum { FINE = 500, TOO_MANY = 520 };
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    mica_world *world = mica_world_create(&world_def);
    mica_value values[TOO_MANY];
    for (int32_t i = 0; i < TOO_MANY; i++) {
        values[i] = (mica_value){.component = register_another(world, i)};
    }
    assert_false(mica_entity_is_null(mica_entity_spawn(world, values, FINE)));
    assert_true(mica_entity_is_null(mica_entity_spawn(world, values, TOO_MANY)));
    assert_int_equal(mica_last_result(), MICA_LIMIT);
    assert_non_null(strstr(mica_last_error(), "too many components for columns with pages of their own"));
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_world_destroy(world);
}

// The system's map of a process has a length.
static void a_system_that_cannot_be_guarded_does_not_run(void **state) {
    enum { PARTS_MOST = 40000 };
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, write_secret);
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * PARTS_MOST * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    size_t count = 0;
    while (count < PARTS_MOST && mprotect(pages + 2 * count * page_size, page_size, PROT_READ) == 0) {
        count++;
    }
    const mica_result result = mica_world_step(test->world, 1);
    const int32_t end_count = test->end_count;
    mprotect(pages, 2 * PARTS_MOST * page_size, PROT_NONE); // one part again
    munmap(pages, 2 * PARTS_MOST * page_size);
    if (count == PARTS_MOST) {
        end(test);
        skip(); // it is longer here
    }
    assert_int_equal(result, MICA_LIMIT);
    assert_non_null(strstr(mica_last_error(), "of guarded: there are too many"));
    assert_int_equal(end_count, 0);
    assert_int_equal(*at.secret, VALUE);
    assert_int_equal(mica_world_step(test->world, 1), MICA_NO_ACCESS);
    end(test);
}

static void a_world_without_memory_is_none(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    uint64_t n = 1;
    for (mica_world *world = NULL; world == NULL; n++) {
        test_allocator_fail_at(&test->allocator, n);
        world = mica_world_create(&world_def);
        if (!test_allocator_fail_stop(&test->allocator)) {
            assert_non_null(world);
        }
        mica_world_destroy(world);
    }
    assert_true(n > 3);
}

static void a_tick_without_memory_for_the_guard_fails(void **state) {
    scene *test = *state;
    const mica_world_def world_def = definition(test);
    const mica_system_def def = cheating(test);
    begin(test, &world_def, &def, write_secret);
    // Columns that there were not in the tick before.
    assert_int_equal(mica_set(test->world, test->target, Alarm, {1}), MICA_OK);
    for (int32_t i = 0; i < 20; i++) {
        assert_int_equal(mica_entity_set(test->world, test->target, register_another(test->world, i), &i), MICA_OK);
    }
    keep_addresses(test);
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&test->allocator, n);
        const mica_result result = mica_world_step(test->world, 1);
        if (!test_allocator_fail_stop(&test->allocator)) {
            assert_int_equal(result, MICA_NO_ACCESS);
            assert_true(n > 1);
            break;
        }
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_int_equal(*at.secret, VALUE);
    }
    end(test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_cheat_fails_its_tick_and_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_written_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_written_is_taken_back_with_its_tick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions_are_held_to_it_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_are_checked_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_declared_is_no_cheat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_declared_to_be_written_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exclusive_systems_may_touch_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_and_a_restored_world_are_guarded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_world_of_fixed_size_is_guarded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(observers_and_handlers_may_touch_everything_and_nobody_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(worlds_that_systems_step_are_part_of_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_faults_are_left_to_the_handler_that_was_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_that_nobody_handles_end_the_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_are_those_of_a_world_without_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_full_chunks_are_as_many_as_without_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_entity_of_too_many_components_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_system_that_cannot_be_guarded_does_not_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_world_without_memory_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tick_without_memory_for_the_guard_fails, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
