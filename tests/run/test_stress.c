// Random plans of systems, on more threads than there are cores, that give the processor away at random: after each
// tick a world on several threads is the same as on one, down to the order of its rows.
//
// A plan is a function of its seed: which systems there are, what they declare, and what they do with it. All that they
// write is mixed from all that they read, so that another order of two systems in conflict shows. A failure prints its
// seed; `test_run_stress SEED COUNT` runs the plans of other seeds.
#include <mica/checksum.h>
#include <mica/mica.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_random.h"
#include "support/test_run.h"

enum {
    SEED_COUNT = 24,
    TICK_COUNT = 10,
    ENTITY_COUNT = 300,
    ENTITY_LIMIT = 500, // of those made in commands
    CELL_COUNT = 10,
    SYSTEM_MAX = 16,
    ATTEMPTS_A_FAILURE = 4,
    YIELD_SYSTEM = 3, // one in so many times
    YIELD_SPAN = 40
};

MICA_STRUCT_WITH(Cell0, (.storage = MICA_TABLE), { uint64_t value; });
MICA_NAMED(Cell1, Cell0);
MICA_NAMED(Cell2, Cell0);
MICA_NAMED(Cell3, Cell0);
MICA_NAMED_WITH(Cell4, Cell0, (.storage = MICA_TABLE, .track_rows = true));
MICA_NAMED_WITH(Cell5, Cell0, (.storage = MICA_TABLE, .track_rows = true));
MICA_NAMED_WITH(Cell6, Cell0, (.storage = MICA_POOL));
MICA_NAMED_WITH(Cell7, Cell0, (.storage = MICA_POOL));
MICA_NAMED_WITH(Cell8, Cell0, (.storage = MICA_POOL, .track_rows = true));
MICA_NAMED_WITH(Cell9, Cell0, (.storage = MICA_POOL, .stable = true));
MICA_TAG_WITH(Marked, (.storage = MICA_POOL));
MICA_STRUCT_WITH(Follow, (.storage = MICA_TABLE), { mica_entity who; });
MICA_STRUCT(Ping, { uint64_t value; });
MICA_STRUCT(Sum, { uint64_t value; });    // a resource that systems read and write
MICA_STRUCT(Memory, { uint64_t value; }); // systems' own

static mica_type *const cells[CELL_COUNT] = {
    mica_type_of(Cell0), mica_type_of(Cell1), mica_type_of(Cell2), mica_type_of(Cell3), mica_type_of(Cell4),
    mica_type_of(Cell5), mica_type_of(Cell6), mica_type_of(Cell7), mica_type_of(Cell8), mica_type_of(Cell9),
};

// What a system does.
enum {
    LOOPS = 1 << 0,    // goes over its query in a parallel loop
    NESTS = 1 << 1,    // and in each span over its second query
    CHANGES = 1 << 2,  // records structural changes of what it visits
    DRAWS = 1 << 3,    // mixes random numbers in
    SENDS = 1 << 4,    // events
    HEARS = 1 << 5,    // these
    SUMS = 1 << 6,     // writes the resource
    LOOKS = 1 << 7,    // reads the resource, also in its condition
    TOUCHES = 1 << 8,  // writes a cell by handle
    SWITCHES = 1 << 9, // enables or disables another system
    REMOVES = 1 << 10, // a cell of all that match, now and then
};

typedef struct plan plan;

typedef struct stress_system {
    mica_system_def def;
    const plan *plan;
    char name[20];
    uint32_t number;
    uint32_t acts;
    uint32_t fails_at;  // of ATTEMPTS_A_FAILURE attempts at a tick; that many: never
    mica_type *touched; // with TOUCHES
} stress_system;

struct plan {
    uint64_t seed;
    stress_system systems[SYSTEM_MAX];
    uint32_t system_count;
    bool observes;
    bool fails;
    uint64_t attempt;      // ticks that were begun
    uint64_t failed_count; // of them
    uint64_t last_checksum;
    uint64_t changed_count; // ticks that left another checksum behind
};

// Draws from a generator of the thread's own, which says nothing to what a system does.
static void yield_sometimes(uint32_t one_in) {
    static _Thread_local test_random own;
    if (own.state == 0) {
        own.state = (uintptr_t)&own;
    }
    if (test_random_below(&own, one_in) == 0) {
        sched_yield();
    }
}

static uint64_t mix(uint64_t value, uint64_t with) {
    return test_random_next(&(test_random){value * 3 + with});
}

// What systems do

static void change(mica_run *run, mica_entity entity, uint64_t number) {
    mica_commands *commands = mica_run_commands(run);
    mica_type *type = cells[number / 8 % CELL_COUNT];
    const mica_component cell = mica_commands_component(commands, type);
    const mica_value value = {type, &number, 0, sizeof(number)};
    const bool has_room = mica_world_entity_count(mica_run_world(run)) < ENTITY_LIMIT;
    bool worked = true;
    switch (number % 8) {
    case 0:
        worked = mica_destroy(commands, entity) == MICA_OK;
        break;
    case 1:
        worked = !has_room || !mica_entity_is_null(mica_clone(commands, entity));
        break;
    case 2: {
        const mica_entity made = has_room ? mica_commands_spawn(commands, &value, 1) : entity;
        worked = !mica_entity_is_null(made) && mica_set(commands, entity, Follow, {made}) == MICA_OK &&
                 mica_set(commands, made, Follow, {entity}) == MICA_OK;
        break;
    }
    case 3:
        worked = mica_commands_remove(commands, entity, cell) == MICA_OK;
        break;
    case 4:
        worked = (number / 64 % 4 != 0 ? mica_enable(commands, entity) : mica_disable(commands, entity)) == MICA_OK;
        break;
    case 5:
        worked = mica_add(commands, entity, Marked) == MICA_OK;
        break;
    default:
        worked = mica_commands_set(commands, entity, cell, &number) == MICA_OK;
        break;
    }
    must(run, worked);
}

static void add_nested(mica_run *run, mica_iter *span, void *user) {
    const stress_system *system = mica_run_user(run);
    uint64_t *sum = user;
    const Cell0 *cell = mica_iter_read(span, system->def.queries[0].terms[0].type);
    for (int32_t i = 0; i < span->count; i++) {
        *sum = mix(*sum, cell[i].value);
    }
}

// Columns of a span, as the system's query uses them.
typedef struct columns {
    const Cell0 *read[MICA_TERM_MAX];
    Cell0 *written[MICA_TERM_MAX];
    int32_t read_count;
    int32_t written_count;
} columns;

static columns columns_of(const mica_iter *span, const mica_term *terms) {
    columns all = {.read_count = 0};
    for (int32_t i = 0; terms[i].use != MICA_USE_NONE; i++) {
        if (terms[i].use == MICA_USE_READ || terms[i].use == MICA_USE_OPTIONAL_READ) {
            const Cell0 *column = mica_iter_read(span, terms[i].type);
            all.read[all.read_count] = column;
            all.read_count += column != NULL;
        } else if (terms[i].use == MICA_USE_WRITE || terms[i].use == MICA_USE_OPTIONAL_WRITE) {
            Cell0 *column = mica_iter_write(span, terms[i].type);
            all.written[all.written_count] = column;
            all.written_count += column != NULL;
        }
    }
    return all;
}

static uint64_t visit_row(const columns *all, int32_t row, uint64_t salt) {
    for (int32_t i = 0; i < all->read_count; i++) {
        salt = mix(salt, all->read[i][row].value);
    }
    for (int32_t i = 0; i < all->written_count; i++) {
        salt = mix(salt, all->written[i][row].value);
        all->written[i][row].value = salt;
    }
    return salt;
}

static void touch(mica_run *run, mica_entity entity, mica_type *type, uint64_t number) {
    mica_world *world = mica_run_world(run);
    Cell0 *cell = mica_entity_get_write(world, entity, mica_world_component(world, type));
    if (cell != NULL) {
        cell->value = mix(cell->value, number);
    }
}

static bool fails_now(const stress_system *system) {
    return system->plan->attempt % ATTEMPTS_A_FAILURE == system->fails_at;
}

// `user` is a number that the span mixes in.
static void visit_span(mica_run *run, mica_iter *span, void *user) {
    const stress_system *system = mica_run_user(run);
    const uint32_t acts = system->acts;
    uint64_t salt = *(const uint64_t *)user;
    yield_sometimes(YIELD_SPAN);
    if ((acts & NESTS) != 0) {
        must(run, mica_parallel_for(run, mica_run_query(run, 0), add_nested, &salt) == MICA_OK);
    }
    if ((acts & DRAWS) != 0) {
        salt = mix(salt, mica_random_next(mica_run_random(run)));
    }
    const columns all = columns_of(span, system->def.query);
    for (int32_t i = 0; i < span->count; i++) {
        const uint64_t number = visit_row(&all, i, mix(salt, span->entities[i].bits));
        if ((acts & TOUCHES) != 0 && number % 4 == 0) {
            touch(run, span->entities[i], system->touched, number);
        }
        if ((acts & CHANGES) != 0 && number / 4 % 16 == 0) {
            change(run, span->entities[i], number / 64);
        }
        if ((acts & (SENDS | LOOPS)) == SENDS && number / 4 % 16 == 1) {
            must(run, mica_send(mica_run_world(run), Ping, {number}) == MICA_OK);
        }
    }
    yield_sometimes(YIELD_SPAN);
    if ((acts & LOOPS) != 0 && fails_now(system)) {
        mica_run_fail(run, MICA_IO, "as asked, in a loop");
    }
}

// What the system's spans mix in.
static uint64_t salt_of(mica_run *run) {
    const stress_system *system = mica_run_user(run);
    Memory *memory = mica_run_state(run, Memory);
    uint64_t salt = mix(memory->value, system->number);
    if ((system->acts & LOOKS) != 0) {
        salt = mix(salt, mica_resource(mica_run_world(run), Sum)->value);
    }
    if ((system->acts & HEARS) != 0) {
        mica_event_reader *reader = mica_run_events(run, Ping);
        must(run, reader != NULL);
        for (const Ping *ping; reader != NULL && (ping = mica_next_event(reader, Ping)) != NULL;) {
            salt = mix(salt, ping->value);
        }
    }
    memory->value = salt;
    return salt;
}

static void take_turn(mica_run *run) {
    const stress_system *system = mica_run_user(run);
    mica_world *world = mica_run_world(run);
    mica_error_clear();
    yield_sometimes(YIELD_SYSTEM);
    uint64_t salt = salt_of(run);
    if ((system->acts & LOOPS) != 0) {
        must(run, mica_parallel_for(run, NULL, visit_span, &salt) == MICA_OK);
    } else {
        mica_each (run, it) {
            visit_span(run, &it, &salt);
        }
    }
    if ((system->acts & SUMS) != 0) {
        Sum *sum = mica_resource_write(world, Sum);
        sum->value = mix(sum->value, salt);
    }
    if ((system->acts & REMOVES) != 0 && salt % 4 == 0) {
        must(run, mica_commands_remove_matching(mica_run_commands(run), mica_run_query(run, 0),
                                                mica_world_component(world, mica_type_of(Marked))) == MICA_OK);
    }
    if ((system->acts & SWITCHES) != 0) {
        const char *name = system->plan->systems[salt % system->plan->system_count].name;
        must(run, mica_system_enable(world, mica_system_find(world, name), salt / 64 % 4 != 0) == MICA_OK);
    }
    yield_sometimes(YIELD_SYSTEM);
    if (fails_now(system)) {
        mica_run_fail(run, MICA_FAILED, "as asked");
    }
}

// Changes some entities by the world's verbs.
static void take_turn_alone(mica_run *run) {
    mica_world *world = mica_run_world(run);
    uint64_t salt = salt_of(run);
    mica_entity entities[8];
    const int32_t count = mica_query_entities(mica_run_query(run, 0), entities, 8);
    for (int32_t i = 0; i < count && i < 8; i++) {
        salt = mix(salt, (uint64_t)i);
        const mica_component cell = mica_world_component(world, cells[salt / 4 % CELL_COUNT]);
        must(run, salt % 4 == 0 ? mica_destroy(world, entities[i]) == MICA_OK
                                : mica_entity_set(world, entities[i], cell, &salt) == MICA_OK);
    }
    must(run, mica_world_entity_count(world) >= ENTITY_LIMIT ||
                  !mica_entity_is_null(mica_spawn(world, mica_value_of(Cell0, {salt}))));
}

static bool holds(mica_run *run) {
    yield_sometimes(YIELD_SYSTEM);
    return mica_resource(mica_run_world(run), Sum)->value % 4 != 0;
}

// What is observed, and what that causes.
static void hear_signal(const mica_signal *signal) {
    mica_set(signal->commands, signal->entity, Cell1, {((const Cell0 *)signal->value)->value});
}

// Plans

static mica_type *draw_cell(test_random *random) {
    return cells[test_random_below(random, CELL_COUNT)];
}

// Terms over different cells, the first of which is read or written, and a cell for the second query that none of them
// names: where spans go over all of it, others may not write it.
static void draw_queries(test_random *random, mica_system_def *def) {
    static const uint8_t uses[] = {
        MICA_USE_READ,           MICA_USE_WRITE,   MICA_USE_WRITE,   MICA_USE_OPTIONAL_READ,
        MICA_USE_OPTIONAL_WRITE, MICA_USE_WITHOUT, MICA_USE_CHANGED,
    };
    const uint32_t first = test_random_below(random, CELL_COUNT);
    const uint32_t step = 1 + test_random_below(random, 3);
    const uint32_t count = 1 + test_random_below(random, 3);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t use = uses[test_random_below(random, i == 0 ? 3 : sizeof(uses))];
        def->query[i] = (mica_term){.type = cells[(first + i * step) % CELL_COUNT], .use = use};
    }
    def->query_count = 1;
    def->queries[0].terms[0] = (mica_term){.type = cells[(first + CELL_COUNT - 1) % CELL_COUNT], .use = MICA_USE_READ};
}

static void add_access(mica_system_def *def, int32_t *count, mica_type *type, bool writes) {
    def->access[(*count)++] = (mica_access){.type = type, .writes = writes};
}

static void draw_system(plan *all, test_random *random) {
    static const mica_stage stages[] = {MICA_PRE_UPDATE, MICA_UPDATE, MICA_UPDATE, MICA_POST_UPDATE};
    const uint32_t number = all->system_count++;
    stress_system *system = &all->systems[number];
    const uint32_t often = (uint32_t)test_random_next(random) & (LOOPS | CHANGES);
    *system = (stress_system){.plan = all,
                              .number = number,
                              .acts = often | (uint32_t)(test_random_next(random) & test_random_next(random)),
                              .fails_at = all->fails && test_random_below(random, 4) == 0
                                              ? test_random_below(random, ATTEMPTS_A_FAILURE)
                                              : ATTEMPTS_A_FAILURE,
                              .touched = draw_cell(random)};
    snprintf(system->name, sizeof(system->name), "system %u", (unsigned)number);
    mica_system_def *def = &system->def;
    def->name = system->name;
    def->run = take_turn;
    def->stage = stages[test_random_below(random, 4)];
    def->priority = (int32_t)test_random_below(random, 2);
    def->state = mica_type_of(Memory);
    def->user = system;
    draw_queries(random, def);
    if (system->touched == def->queries[0].terms[0].type) {
        system->acts &= ~(uint32_t)NESTS;
    }
    if (number > 0 && test_random_below(random, 4) == 0) {
        def->after[0] = all->systems[test_random_below(random, number)].name;
    }
    if (test_random_below(random, 5) == 0) {
        def->every = 2;
    }
    const uint32_t kind = test_random_below(random, 12);
    def->exclusive = kind == 0;
    def->main_thread = kind == 1;
    if (def->exclusive) {
        def->run = take_turn_alone;
    } else if ((system->acts & LOOKS) != 0) {
        def->condition = holds;
    }
    int32_t count = 0;
    add_access(def, &count, system->touched, (system->acts & TOUCHES) != 0);
    add_access(def, &count, mica_type_of(Ping), (system->acts & SENDS) != 0);
    add_access(def, &count, mica_type_of(Sum), (system->acts & SUMS) != 0);
}

static void draw_plan(plan *all, uint64_t seed) {
    test_random random = {seed};
    *all = (plan){.seed = seed};
    all->observes = test_random_below(&random, 4) == 0;
    all->fails = test_random_below(&random, 3) == 0;
    for (uint32_t count = 4 + test_random_below(&random, SYSTEM_MAX - 3); count > 0; count--) {
        draw_system(all, &random);
    }
}

// Worlds

static void fill_world(mica_world *world, uint64_t seed) {
    test_random random = {~seed};
    for (int32_t i = 0; i < ENTITY_COUNT; i++) {
        const mica_entity entity = mica_create(world);
        for (uint32_t count = test_random_below(&random, 5); count > 0; count--) {
            const mica_component cell = mica_world_component(world, draw_cell(&random));
            const uint64_t value = test_random_next(&random);
            assert_int_equal(mica_entity_set(world, entity, cell, &value), MICA_OK);
        }
    }
}

static mica_world *begin_world(const plan *all, const mica_world_def *def) {
    mica_world *world = mica_world_create(def);
    assert_non_null(world);
    for (int32_t i = 0; i < CELL_COUNT; i++) { // in the same order in all worlds
        assert_int_not_equal(mica_world_register(world, cells[i]), 0);
    }
    assert_int_equal(mica_set_resource(world, Sum, {1}), MICA_OK);
    fill_world(world, all->seed);
    if (all->observes) {
        assert_int_not_equal(mica_on_set(world, Cell6, hear_signal, NULL).id, 0);
    }
    for (uint32_t i = 0; i < all->system_count; i++) {
        if (mica_system_add(world, &all->systems[i].def).id == 0) {
            fail_msg("seed %llu, system %u: %s", (unsigned long long)all->seed, i, mica_last_error());
        }
    }
    assert_int_equal(mica_world_restore_failed_ticks(world, all->fails, NULL), MICA_OK);
    return world;
}

enum { WORLD_COUNT = 3, ERROR_SIZE = 256 };
static const int32_t thread_counts[WORLD_COUNT] = {1, 3, 8};

// Steps the worlds, which are all to do the same: to complete the tick, or to fail alike.
static void step_worlds(plan *all, mica_world *const *worlds) {
    const mica_checksum_options exactly = {.exact = true};
    mica_result expected = MICA_OK;
    char error[ERROR_SIZE] = "";
    uint64_t checksums[WORLD_COUNT];
    for (int32_t i = 0; i < WORLD_COUNT; i++) {
        const mica_result result = mica_world_step(worlds[i], 1);
        if (i == 0) {
            expected = result;
            snprintf(error, sizeof(error), "%s", result == MICA_OK ? "" : mica_last_error());
        }
        if (result != expected || (result != MICA_OK && strcmp(error, mica_last_error()) != 0)) {
            fail_msg("seed %llu, attempt %llu on %d threads: %d, %s; on one: %d, %s", (unsigned long long)all->seed,
                     (unsigned long long)all->attempt, thread_counts[i], result, mica_last_error(), expected, error);
        }
        if (result != MICA_OK && strstr(error, "as asked") == NULL) {
            fail_msg("seed %llu, attempt %llu: %s", (unsigned long long)all->seed, (unsigned long long)all->attempt,
                     error);
        }
        assert_int_equal(mica_world_checksum(worlds[i], &exactly, &checksums[i]), MICA_OK);
        mica_difference difference;
        if (checksums[i] != checksums[0]) {
            assert_int_equal(mica_world_compare(worlds[0], worlds[i], &exactly, &difference), MICA_OK);
            fail_msg("seed %llu, attempt %llu on %d threads: %s", (unsigned long long)all->seed,
                     (unsigned long long)all->attempt, thread_counts[i], difference.text);
        }
    }
    all->failed_count += expected != MICA_OK;
    all->changed_count += checksums[0] != all->last_checksum;
    all->last_checksum = checksums[0];
    all->attempt++;
}

// Returns how many ticks have failed.
static uint64_t run_plan(uint64_t seed) {
    test_allocator allocators[WORLD_COUNT];
    mica_world *worlds[WORLD_COUNT];
    plan all;
    draw_plan(&all, seed);
    for (int32_t i = 0; i < WORLD_COUNT; i++) {
        test_allocator_init(&allocators[i]);
        worlds[i] = begin_world(&all, &(mica_world_def){.allocator = test_allocator_hooks(&allocators[i]),
                                                        .seed = seed,
                                                        .thread_count = thread_counts[i],
                                                        .always_parallel = true});
    }
    for (int32_t i = 0; i < TICK_COUNT; i++) {
        step_worlds(&all, worlds);
    }
    assert_true(all.changed_count + all.failed_count >= TICK_COUNT);
    for (int32_t i = 0; i < WORLD_COUNT; i++) {
        assert_int_equal(mica_world_validate(worlds[i]), MICA_OK);
        mica_world_destroy(worlds[i]);
        test_allocator_finish(&allocators[i]);
    }
    return all.failed_count;
}

static uint64_t first_seed = 1;
static uint64_t seed_count = SEED_COUNT;

static void random_plans_do_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    uint64_t failed_count = 0;
    for (uint64_t i = 0; i < seed_count; i++) {
        failed_count += run_plan(first_seed + i);
    }
    assert_true(failed_count > 0 || seed_count < SEED_COUNT);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_plans_do_the_same_on_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
