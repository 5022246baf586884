// Folding: a buffer ends as its commands would one by one. Scripts are run twice, recorded in one world and by the
// verbs in another, and both worlds are compared: handles, components, values, what is disabled or killed, skips.
#include <mica/verbs.h>
#include <mica/visibility.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/test_allocator.h"
#include "support/test_random.h"
#include "world/follows.h"
#include "world/ledger.h"
#include "world/storages.h"

MICA_STRUCT_WITH(Position, (.toggle = true), { int32_t x, y; });
MICA_STRUCT(Target, {
    int32_t weight;
    mica_entity who[2];
});
MICA_TAG_WITH(Frozen, (.toggle = true));
MICA_STRUCT_WITH(Needy, (.required = {mica_type_of(Owned), mica_type_of(Frozen)}), { int32_t number; });

// The components of scripts. Follows comes last: the failure sweep leaves it out, since a spawn that is linked may need
// a second handle when it is tried again.
enum { POSITION, TARGET, FROZEN, OWNED, SOLE, NEEDY, FOLLOWS, KIND_COUNT };

// Those that may live anywhere, by kind.
static mica_type *const placed_types[FOLLOWS] = {mica_type_of(Position), mica_type_of(Target), mica_type_of(Frozen),
                                                 mica_type_of(Owned),    mica_type_of(Sole),   mica_type_of(Needy)};
// Those that can be disabled.
static const uint32_t toggled_kinds[] = {POSITION, FROZEN};

static storage_mix mix_running;

typedef enum script_verb {
    SPAWN,
    ADD,
    ADD_VALUE,
    SET,
    REMOVE,
    CLONE,
    DESTROY,
    DESTROY_MANY,
    ENABLE,
    ENABLE_COMPONENT,
    KILL,
    REFRESH,
    VERB_COUNT
} script_verb;

typedef struct script_step {
    script_verb verb;
    uint32_t kind;    // of a spawn: a set of kinds
    uint32_t subject; // numbers of names
    uint32_t other;
    int32_t number;
} script_step;

enum { NAME_MAX = 256, STEP_MAX = 24, START_COUNT = 6 };

// One of the two worlds with what its script knows. `commands` NULL: the verbs are called.
typedef struct script_world {
    mica_world *world;
    mica_commands *commands;
    mica_component ids[KIND_COUNT];
    mica_entity names[NAME_MAX];
    uint32_t name_count;
    uint64_t applied_count, skipped_count;
} script_world;

typedef struct world_pair {
    test_allocator *allocator;
    mica_schema *schema;
    script_world recorded, direct;
} world_pair;

static void start_side(script_world *side, const world_pair *pair, bool records) {
    *side = (script_world){.world = mica_world_create(&(mica_world_def){
                               .allocator = test_allocator_hooks(pair->allocator), .schema = pair->schema})};
    assert_non_null(side->world);
    side->commands = records ? mica_commands_create(side->world) : NULL;
    side->ids[POSITION] = mica_register(side->world, Position);
    side->ids[TARGET] = mica_register(side->world, Target);
    side->ids[FROZEN] = mica_register(side->world, Frozen);
    side->ids[OWNED] = mica_register(side->world, Owned);
    side->ids[SOLE] = mica_register(side->world, Sole);
    side->ids[NEEDY] = mica_register(side->world, Needy);
    side->ids[FOLLOWS] = mica_register(side->world, Follows);
}

static void start_pair(world_pair *pair, test_allocator *allocator) {
    pair->allocator = allocator;
    pair->schema = mica_schema_create(NULL);
    start_side(&pair->recorded, pair, true);
    start_side(&pair->direct, pair, false);
}

static void end_pair(world_pair *pair) {
    mica_commands_destroy(pair->recorded.commands);
    mica_world_destroy(pair->recorded.world);
    mica_world_destroy(pair->direct.world);
    mica_schema_release(pair->schema);
}

// A value of any kind, with room for all of them.
typedef union any_value {
    Position position;
    Target target;
    Owned owned;
    Sole sole;
    Needy needy;
    Follows follows;
} any_value;

// NULL for the tag.
static const void *make_value(const script_world *side, const script_step *step, uint32_t kind, any_value *value) {
    switch (kind) {
    case POSITION:
        value->position = (Position){step->number, -step->number};
        return value;
    case TARGET:
        value->target = (Target){step->number, {side->names[step->other], side->names[step->subject]}};
        return value;
    case OWNED:
    case SOLE:
        owned_hold(&value->owned, step->number, side->world);
        return value;
    case NEEDY:
        value->needy = (Needy){step->number};
        return value;
    case FOLLOWS:
        value->follows = (Follows){side->names[step->other]};
        return value;
    default:
        return NULL;
    }
}

static void end_value(const script_world *side, uint32_t kind, any_value *value) {
    if (kind == OWNED || kind == SOLE) {
        owned_drop(&value->owned, side->world);
    }
}

static void count_result(script_world *side, bool is_applied) {
    side->applied_count += is_applied;
    side->skipped_count += !is_applied;
}

static void name_entity(script_world *side, mica_entity entity) {
    assert_true(side->name_count < NAME_MAX);
    side->names[side->name_count++] = entity;
}

static void run_spawn(script_world *side, const script_step *step) {
    any_value values[KIND_COUNT];
    mica_value list[KIND_COUNT];
    uint32_t kinds[KIND_COUNT];
    int32_t count = 0;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const uint32_t kind = (i + step->other) % KIND_COUNT; // any order
        if ((step->kind >> kind & 1) != 0) {
            kinds[count] = kind;
            list[count] = (mica_value){.component = side->ids[kind]};
            list[count].value = make_value(side, step, kind, &values[count]);
            count++;
        }
    }
    const mica_entity entity = side->commands != NULL ? mica_commands_spawn(side->commands, list, count)
                                                      : mica_entity_spawn(side->world, list, count);
    if (side->commands != NULL) {
        assert_false(mica_entity_is_null(entity));
    } else {
        count_result(side, !mica_entity_is_null(entity));
    }
    name_entity(side, entity);
    for (int32_t i = 0; i < count; i++) {
        end_value(side, kinds[i], &values[i]);
    }
}

static mica_result run_component(const script_world *side, const script_step *step) {
    any_value value;
    const mica_entity entity = side->names[step->subject];
    const mica_component component = side->ids[step->kind];
    if (step->verb == REMOVE) {
        return side->commands != NULL ? mica_commands_remove(side->commands, entity, component)
                                      : mica_entity_remove(side->world, entity, component);
    }
    const void *given = step->verb == ADD ? NULL : make_value(side, step, step->kind, &value);
    mica_result result;
    if (step->verb == SET && given != NULL) {
        result = side->commands != NULL ? mica_commands_set(side->commands, entity, component, given)
                                        : mica_entity_set(side->world, entity, component, given);
    } else {
        result = side->commands != NULL ? mica_commands_add(side->commands, entity, component, given)
                                        : mica_entity_add(side->world, entity, component, given);
    }
    if (given != NULL) {
        end_value(side, step->kind, &value);
    }
    return result;
}

static void run_destroy_many(script_world *side, const script_step *step) {
    const mica_entity list[] = {side->names[step->subject], side->names[step->other], side->names[step->subject]};
    if (side->commands != NULL) {
        assert_int_equal(mica_commands_destroy_many(side->commands, list, 3), MICA_OK);
        return;
    }
    for (int i = 0; i < 3; i++) {
        count_result(side, mica_entity_destroy(side->world, list[i]) == MICA_OK);
    }
}

// Odd numbers enable.
static mica_result run_visibility(const script_world *side, const script_step *step) {
    const mica_entity entity = side->names[step->subject];
    const bool enabled = step->number % 2 != 0;
    switch (step->verb) {
    case ENABLE:
        return side->commands != NULL ? mica_commands_enable(side->commands, entity, enabled)
                                      : mica_entity_enable(side->world, entity, enabled);
    case ENABLE_COMPONENT: {
        const mica_component component = side->ids[step->kind];
        return side->commands != NULL ? mica_commands_enable_component(side->commands, entity, component, enabled)
                                      : mica_entity_enable_component(side->world, entity, component, enabled);
    }
    case KILL:
        return side->commands != NULL ? mica_commands_kill(side->commands, entity)
                                      : mica_entity_kill(side->world, entity);
    default:
        if (side->commands != NULL) {
            return mica_commands_refresh(side->commands);
        }
        return mica_world_refresh(side->world) >= 0 ? MICA_OK : mica_last_result();
    }
}

static void run_step(script_world *side, const script_step *step) {
    mica_result result;
    switch (step->verb) {
    case SPAWN:
        run_spawn(side, step);
        return;
    case DESTROY_MANY:
        run_destroy_many(side, step);
        return;
    case CLONE: {
        const mica_entity source = side->names[step->subject];
        const mica_entity clone = side->commands != NULL ? mica_commands_clone(side->commands, source)
                                                         : mica_entity_clone(side->world, source);
        name_entity(side, clone);
        result = mica_entity_is_null(clone) ? mica_last_result() : MICA_OK;
        break;
    }
    case DESTROY:
        result = side->commands != NULL ? mica_commands_destroy_entity(side->commands, side->names[step->subject])
                                        : mica_entity_destroy(side->world, side->names[step->subject]);
        break;
    case ENABLE:
    case ENABLE_COMPONENT:
    case KILL:
    case REFRESH:
        result = run_visibility(side, step);
        break;
    default:
        result = run_component(side, step);
        break;
    }
    if (side->commands != NULL) {
        assert_int_equal(result, MICA_OK);
    } else {
        count_result(side, result == MICA_OK);
    }
}

// Replaces placeholders by what they got, and null by a stale handle, which can be recorded.
static void settle_names(script_world *side) {
    for (uint32_t i = 0; i < side->name_count; i++) {
        if (mica_entity_is_placeholder(side->names[i])) {
            side->names[i] = mica_commands_resolve(side->commands, side->names[i]);
        }
        if (mica_entity_is_null(side->names[i])) {
            side->names[i] = mica_entity_make(MICA_INDEX_MAX, 1);
        }
    }
}

static void compare_values(const world_pair *pair, uint32_t kind, mica_entity entity) {
    const mica_component component = pair->direct.ids[kind];
    const void *a = mica_entity_get(pair->recorded.world, entity, component);
    const void *b = mica_entity_get(pair->direct.world, entity, component);
    switch (kind) {
    case POSITION:
        assert_memory_equal(a, b, sizeof(Position));
        break;
    case TARGET: {
        const Target *left = a;
        const Target *right = b;
        assert_int_equal(left->weight, right->weight);
        assert_true(mica_entity_equal(left->who[0], right->who[0]));
        assert_true(mica_entity_equal(left->who[1], right->who[1]));
        break;
    }
    case OWNED:
    case SOLE:
        assert_ptr_equal(((const Owned *)a)->self, a);
        assert_int_equal(*((const Owned *)a)->number, *((const Owned *)b)->number);
        break;
    case NEEDY:
        assert_int_equal(((const Needy *)a)->number, ((const Needy *)b)->number);
        break;
    case FOLLOWS:
        assert_true(mica_entity_equal(((const Follows *)a)->whom, ((const Follows *)b)->whom));
        break;
    default:
        break;
    }
}

static void compare_pair(world_pair *pair) {
    assert_int_equal(mica_world_validate(pair->recorded.world), MICA_OK);
    settle_names(&pair->recorded);
    settle_names(&pair->direct);
    assert_int_equal(mica_world_entity_count(pair->recorded.world), mica_world_entity_count(pair->direct.world));
    assert_int_equal(pair->recorded.name_count, pair->direct.name_count);
    for (uint32_t i = 0; i < pair->direct.name_count; i++) {
        const mica_entity entity = pair->direct.names[i];
        assert_true(mica_entity_equal(pair->recorded.names[i], entity));
        assert_int_equal(mica_alive(pair->recorded.world, entity), mica_alive(pair->direct.world, entity));
        assert_int_equal(mica_entity_enabled(pair->recorded.world, entity),
                         mica_entity_enabled(pair->direct.world, entity));
        assert_int_equal(mica_entity_killed(pair->recorded.world, entity),
                         mica_entity_killed(pair->direct.world, entity));
        for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
            const mica_component component = pair->direct.ids[kind];
            const bool has = mica_entity_has(pair->direct.world, entity, component);
            assert_int_equal(mica_entity_has(pair->recorded.world, entity, component), has);
            assert_int_equal(mica_entity_component_enabled(pair->recorded.world, entity, component),
                             mica_entity_component_enabled(pair->direct.world, entity, component));
            if (has) {
                compare_values(pair, kind, entity);
            }
        }
    }
    const mica_commands_stats stats = mica_commands_statistics(pair->recorded.commands);
    assert_int_equal(stats.applied_count, pair->direct.applied_count);
    assert_int_equal(stats.skipped_count, pair->direct.skipped_count);
    ledger_check();
}

// Gives both worlds an entity with the same components, by the verbs.
static void start_entity(world_pair *pair, uint32_t kinds, int32_t number) {
    mica_commands *commands = pair->recorded.commands;
    const uint64_t applied_count = pair->direct.applied_count;
    const script_step step = {.verb = SPAWN, .kind = kinds, .number = number};
    pair->recorded.commands = NULL;
    run_step(&pair->recorded, &step);
    pair->recorded.commands = commands;
    run_step(&pair->direct, &step);
    pair->direct.applied_count = applied_count;
}

static void run_script(world_pair *pair, const script_step *steps, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        run_step(&pair->recorded, &steps[i]);
        run_step(&pair->direct, &steps[i]);
    }
}

// A script over the names there are and those that it makes itself; half its steps are about the last few.
static uint32_t make_script(test_random *random, uint32_t name_count, uint32_t kind_count, script_step *steps) {
    static const script_verb usual[] = {SPAWN, ADD, ADD, ADD_VALUE, ADD_VALUE, SET, SET, SET, REMOVE, REMOVE, REMOVE};
    const uint32_t count = 1 + test_random_below(random, STEP_MAX);
    const bool rarely_ends = test_random_below(random, 2) == 0; // longer folds
    for (uint32_t i = 0; i < count; i++) {
        script_step *step = &steps[i];
        const bool any = test_random_below(random, rarely_ends ? 12 : 3) == 0;
        step->verb = any ? (script_verb)test_random_below(random, VERB_COUNT)
                         : usual[test_random_below(random, sizeof(usual) / sizeof(*usual))];
        const uint32_t recent = name_count < 4 ? name_count : 4;
        step->subject = test_random_below(random, 2) == 0 ? name_count - 1 - test_random_below(random, recent)
                                                          : test_random_below(random, name_count);
        step->other = test_random_below(random, name_count);
        step->number = (int32_t)test_random_below(random, 1000);
        step->kind = step->verb == SPAWN              ? test_random_below(random, 1u << kind_count)
                     : step->verb == ENABLE_COMPONENT ? toggled_kinds[test_random_below(random, 2)]
                                                      : test_random_below(random, kind_count);
        name_count += step->verb == SPAWN || step->verb == CLONE;
    }
    return count;
}

static uint64_t seed_running; // of a random script, 0: none

static int set_up(void **state) {
    static test_allocator allocator;
    test_allocator_init(&allocator);
    ledger_start();
    *state = &allocator;
    return 0;
}

static int tear_down(void **state) {
    if (seed_running != 0) {
        print_error("failed with seed %llu, %s\n", (unsigned long long)seed_running, storage_mix_names[mix_running]);
        seed_running = 0;
        return 0;
    }
    ledger_finish();
    test_allocator_finish(*state);
    return 0;
}

static void random_buffers_end_as_their_commands_one_by_one(void **state) {
    for (uint64_t seed = 1; seed <= 150; seed++) {
        test_random random = {seed_running = seed};
        world_pair pair;
        start_pair(&pair, *state);
        for (uint32_t i = 0; i < START_COUNT; i++) {
            start_entity(&pair, test_random_below(&random, 1u << FOLLOWS), (int32_t)i);
        }
        for (int round = 0; round < 8; round++) {
            script_step steps[STEP_MAX];
            const uint32_t count = make_script(&random, pair.direct.name_count, KIND_COUNT, steps);
            run_script(&pair, steps, count);
            assert_int_equal(mica_commands_count(pair.recorded.commands), count);
            assert_int_equal(mica_commands_apply(pair.recorded.commands), MICA_OK);
            compare_pair(&pair);
        }
        end_pair(&pair);
        ledger_finish();
    }
    seed_running = 0;
}

// Every sequence of up to three of these on one entity, from every start.
static void all_short_sequences_end_as_one_by_one(void **state) {
    static const script_step alphabet[] = {
        {.verb = ADD, .kind = OWNED},
        {.verb = ADD_VALUE, .kind = OWNED, .number = 1},
        {.verb = SET, .kind = OWNED, .number = 2},
        {.verb = REMOVE, .kind = OWNED},
        {.verb = ADD, .kind = NEEDY},
        {.verb = SET, .kind = NEEDY, .number = 3},
        {.verb = REMOVE, .kind = NEEDY},
        {.verb = ADD_VALUE, .kind = POSITION, .number = 4},
        {.verb = REMOVE, .kind = POSITION},
        {.verb = ENABLE_COMPONENT, .kind = POSITION},
        {.verb = DESTROY},
        {.verb = CLONE},
    };
    enum { LETTERS = sizeof(alphabet) / sizeof(*alphabet) };
    static const uint32_t starts[] = {0, 1u << OWNED, 1u << NEEDY, 1u << POSITION, 1u << OWNED | 1u << POSITION};
    world_pair pair;
    start_pair(&pair, *state);
    for (uint32_t start = 0; start < sizeof(starts) / sizeof(*starts); start++) {
        for (uint32_t code = 0; code < LETTERS * LETTERS * LETTERS; code++) {
            const script_step steps[] = {alphabet[code % LETTERS], alphabet[code / LETTERS % LETTERS],
                                         alphabet[code / LETTERS / LETTERS]};
            for (uint32_t length = code < LETTERS * LETTERS ? 2 : 3; length <= 3; length++) { // each pair once
                pair.recorded.name_count = pair.direct.name_count = 0;
                start_entity(&pair, starts[start], 50);
                run_script(&pair, steps, length);
                assert_int_equal(mica_commands_apply(pair.recorded.commands), MICA_OK);
                compare_pair(&pair);
            }
        }
        assert_int_equal(mica_world_clear(pair.recorded.world), MICA_OK);
        assert_int_equal(mica_world_clear(pair.direct.world), MICA_OK);
    }
    end_pair(&pair);
}

// Failing allocations

typedef enum after_failure { TRIED_AGAIN, FAILS_ON, DROPPED } after_failure;

// Applies one script with the n-th allocation failing. False: it was never reached.
static bool apply_failing(test_allocator *allocator, uint64_t seed, uint64_t n, after_failure after) {
    test_random random = {seed};
    world_pair pair;
    start_pair(&pair, allocator);
    for (uint32_t i = 0; i < 3; i++) {
        start_entity(&pair, test_random_below(&random, 1u << FOLLOWS), (int32_t)i);
    }
    script_step steps[STEP_MAX];
    const uint32_t count = make_script(&random, pair.direct.name_count, FOLLOWS, steps);
    run_script(&pair, steps, count);
    if (after == FAILS_ON) {
        test_allocator_fail_from(allocator, n);
    } else {
        test_allocator_fail_at(allocator, n);
    }
    mica_result result = mica_commands_apply(pair.recorded.commands);
    if (after == FAILS_ON && result != MICA_OK) {
        assert_int_equal(mica_commands_apply(pair.recorded.commands), MICA_OUT_OF_MEMORY);
    }
    const bool was_reached = test_allocator_fail_stop(allocator);
    if (result != MICA_OK) {
        assert_true(was_reached);
        assert_int_equal(result, MICA_OUT_OF_MEMORY);
        assert_true(mica_commands_count(pair.recorded.commands) > 0);
        assert_int_equal(mica_world_validate(pair.recorded.world), MICA_OK);
        const mica_commands_stats stats = mica_commands_statistics(pair.recorded.commands);
        assert_true(stats.applied_count + stats.skipped_count < pair.direct.applied_count + pair.direct.skipped_count);
    }
    if (after == DROPPED) {
        mica_commands_clear(pair.recorded.commands);
    } else {
        assert_int_equal(mica_commands_apply(pair.recorded.commands), MICA_OK);
        compare_pair(&pair);
    }
    end_pair(&pair);
    ledger_finish();
    return was_reached;
}

static void what_cannot_be_applied_waits_and_nothing_is_lost(void **state) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        for (after_failure after = TRIED_AGAIN; after <= DROPPED; after++) {
            uint64_t n = 1;
            seed_running = seed;
            while (apply_failing(*state, seed, n, after)) {
                n++;
            }
            assert_true(n > 1);
        }
    }
    seed_running = 0;
}

static mica_world *start_world(void **state) {
    mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(*state)});
    assert_non_null(world);
    return world;
}

// Values that are replaced where they are by constructed ones: when a constructor fails, none is replaced.
static void values_constructed_anew_in_place_are_all_or_none(void **state) {
    for (uint64_t n = 1;; n++) {
        mica_world *world = start_world(state);
        mica_commands *commands = mica_commands_create(world);
        const mica_entity entity = mica_spawn(world, mica_tag(Owned), mica_tag(Sole), mica_value_of(Position, {1, 1}));
        *mica_get_write(world, entity, Owned)->number = 5;
        *mica_get_write(world, entity, Sole)->owned.number = 6;
        mica_set(commands, entity, Position, {2, 2});
        mica_remove(commands, entity, Owned);
        mica_remove(commands, entity, Sole);
        mica_add(commands, entity, Sole);
        mica_add(commands, entity, Owned);
        test_allocator_fail_at(*state, n);
        mica_result result = mica_commands_apply(commands);
        const bool was_reached = test_allocator_fail_stop(*state);
        if (result != MICA_OK) {
            assert_int_equal(mica_commands_count(commands), 5);
            assert_int_equal(*mica_get(world, entity, Owned)->number, 5);
            assert_int_equal(*mica_get(world, entity, Sole)->owned.number, 6);
            assert_int_equal(mica_get(world, entity, Position)->x, 1);
            assert_int_equal(ledger_live_count(), 2);
            result = mica_commands_apply(commands);
        }
        assert_int_equal(result, MICA_OK);
        assert_int_equal(*mica_get(world, entity, Owned)->number, -1);
        assert_int_equal(*mica_get(world, entity, Sole)->owned.number, -1);
        assert_int_equal(mica_get(world, entity, Position)->x, 2);
        mica_commands_destroy(commands);
        mica_world_destroy(world);
        ledger_finish();
        if (!was_reached) {
            assert_true(n > 2);
            break;
        }
    }
}

// A linked spawn is one command: when its components cannot be made, its link goes as well.
static void a_linked_spawn_is_applied_as_a_whole_or_not_at_all(void **state) {
    for (uint64_t n = 1;; n++) {
        mica_world *world = start_world(state);
        mica_commands *commands = mica_commands_create(world);
        const mica_entity leader = mica_create(world);
        Sole sole;
        owned_hold(&sole.owned, 6, world);
        const Follows follows = {leader};
        const mica_value values[] = {{.type = mica_type_of(Sole), .value = &sole},
                                     {.type = mica_type_of(Follows), .value = &follows},
                                     {.type = mica_type_of(Needy)}};
        const mica_entity placeholder = mica_commands_spawn(commands, values, 3);
        test_allocator_fail_at(*state, n);
        mica_result result = mica_commands_apply(commands);
        const bool was_reached = test_allocator_fail_stop(*state);
        if (result != MICA_OK) {
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_int_equal(mica_commands_count(commands), 1);
            assert_int_equal(mica_world_entity_count(world), 1);
            assert_true(mica_entity_is_null(mica_commands_resolve(commands, placeholder)));
            result = mica_commands_apply(commands);
        }
        assert_int_equal(result, MICA_OK);
        const mica_entity made = mica_commands_resolve(commands, placeholder);
        assert_true(mica_entity_equal(mica_get(world, made, Follows)->whom, leader));
        assert_int_equal(*mica_get(world, made, Sole)->owned.number, 6);
        assert_int_equal(*mica_get(world, made, Owned)->number, -1);
        assert_true(mica_has(world, made, Needy) && mica_has(world, made, Frozen));
        assert_int_equal(mica_commands_statistics(commands).applied_count, 1);
        mica_commands_destroy(commands);
        mica_world_destroy(world);
        ledger_finish();
        if (!was_reached) {
            break;
        }
    }
}

// Placeholders keep what they got when applying stops half-way, and commands recorded then join those that wait. False:
// the n-th allocation is not the one that stops the second of two folds.
static bool record_after_failure(void **state, uint64_t n) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_entity first = mica_spawn(commands, mica_value_of(Position, {1, 1}));
    mica_destroy(commands, mica_create(commands));
    const mica_entity second = mica_spawn(commands, mica_tag(Owned));
    mica_set(commands, second, Target, {1, {first, second}});
    test_allocator_fail_at(*state, n);
    mica_commands_apply(commands);
    assert_true(test_allocator_fail_stop(*state));
    const bool is_half_way = mica_commands_count(commands) == 2;
    if (is_half_way) {
        const mica_entity made = mica_commands_resolve(commands, first);
        assert_true(mica_alive(world, made));
        assert_int_equal(mica_set(commands, made, Position, {2, 2}), MICA_OK);
        assert_int_equal(mica_set(commands, first, Position, {3, 3}), MICA_OK);
        assert_int_equal(mica_set(commands, made, Position, {4, 4}), MICA_OK);
        const mica_entity third = mica_spawn(commands, mica_value_of(Target, {2, {first, second}}));
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        assert_true(mica_entity_equal(mica_commands_resolve(commands, first), made));
        assert_int_equal(mica_get(world, made, Position)->x, 4);
        const Target *target = mica_get(world, mica_commands_resolve(commands, third), Target);
        assert_true(mica_entity_equal(target->who[0], made));
        assert_true(mica_entity_equal(target->who[1], mica_commands_resolve(commands, second)));
        assert_int_equal(mica_commands_statistics(commands).applied_count, 9);
    }
    mica_commands_destroy(commands);
    mica_world_destroy(world);
    return is_half_way;
}

static void recording_goes_on_after_a_failure(void **state) {
    uint64_t n = 1;
    while (!record_after_failure(state, n)) {
        n++;
    }
    assert_true(n > 1);
}

// One move

static void all_changes_of_an_entity_are_one_move(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_entity entity = mica_spawn(world, mica_tag(Owned));
    const int64_t moved_count = ledger.moved_count;
    mica_add(commands, entity, Frozen);
    mica_set(commands, entity, Position, {1, 1});
    mica_set(commands, entity, Target, {1, {MICA_NULL, MICA_NULL}});
    mica_set(commands, entity, Position, {2, 2});
    mica_remove(commands, entity, Target);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(!LEDGER_COUNTS_MOVES || ledger.moved_count == moved_count + 1);
    assert_int_equal(mica_get(world, entity, Position)->x, 2);
    assert_false(mica_has(world, entity, Target));
    const Owned *before = mica_get(world, entity, Owned);
    mica_remove(commands, entity, Position);
    mica_set(commands, entity, Position, {3, 3});
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_ptr_equal(mica_get(world, entity, Owned), before); // ended where it began: no move
    assert_int_equal(mica_get(world, entity, Position)->x, 3);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

static void entities_change_in_the_order_of_their_first_record(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    mica_entity entities[3];
    for (int i = 0; i < 3; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Position, {i, i}));
    }
    mica_add(commands, entities[2], Frozen);
    const mica_entity made = mica_spawn(commands, mica_value_of(Position, {3, 3}));
    mica_set(commands, entities[0], Position, {9, 9});
    mica_add(commands, entities[1], Frozen);
    mica_add(commands, entities[0], Frozen);
    mica_set(commands, entities[2], Position, {8, 8});
    mica_add(commands, made, Frozen);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    const mica_entity order[] = {entities[2], mica_commands_resolve(commands, made), entities[0], entities[1]};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t location = 0;
        assert_true(mi_slots_resolve(&world->store.slots, order[i], &location));
        assert_int_equal(mi_row_of(location), i);
    }
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

static void removing_and_adding_again_leaves_queries_right(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    const mica_term with[] = {mica_with(Position)};
    const mica_term without[] = {mica_without(Position)};
    mica_query *has = mica_query_create(world, with, 1);
    mica_query *lacks = mica_query_create(world, without, 1);
    const mica_entity entity = mica_spawn(world, mica_value_of(Position, {1, 1}), mica_tag(Frozen));
    assert_int_equal(mica_query_count(has), 1);
    mica_remove(commands, entity, Position);
    mica_add(commands, entity, Position);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_true(mica_query_contains(has, entity));
    assert_false(mica_query_contains(lacks, entity));
    assert_int_equal(mica_query_count(has), 1);
    assert_int_equal(mica_get(world, entity, Position)->x, 0); // a new value, constructed
    mica_query_release(has);
    mica_query_release(lacks);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

static void rounds_of_create_then_add_keep_rows_right(void **state) {
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    for (int32_t i = 0; i < 50; i++) {
        const mica_entity entity = mica_spawn(commands, mica_value_of(Position, {i, i}));
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        const mica_entity made = mica_commands_resolve(commands, entity);
        mica_add(commands, made, Frozen);
        assert_int_equal(mica_commands_apply(commands), MICA_OK);
        assert_int_equal(mica_get(world, made, Position)->x, i);
        assert_true(mica_has(world, made, Frozen));
        assert_int_equal(mica_world_validate(world), MICA_OK);
    }
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

// More components than are put in order by insertion, recorded in a shuffled order.
static void many_components_of_one_entity(void **state) {
    enum { TYPE_COUNT = 300 };
    static mica_type types[TYPE_COUNT];
    static char names[TYPE_COUNT][24];
    mica_world *world = start_world(state);
    mica_commands *commands = mica_commands_create(world);
    mica_component ids[TYPE_COUNT];
    for (int32_t i = 0; i < TYPE_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "Many%d", i);
        types[i] = (mica_type){.name = names[i], .size = i % 7 == 0 ? 0 : 8, .align = i % 7 == 0 ? 0 : 8};
        types[i].kind = i % 7 == 0 ? MICA_KIND_TAG : MICA_KIND_STRUCT;
        place_type(&types[i], mix_running, (uint32_t)i);
        ids[i] = mica_world_register(world, &types[i]);
        assert_int_not_equal(ids[i], 0);
    }
    const mica_entity entity = mica_create(commands);
    for (int64_t i = 0; i < TYPE_COUNT; i++) {
        const int64_t at = i * 7919 % TYPE_COUNT;
        const int64_t value = at + 1;
        const void *given = at % 7 == 0 ? NULL : &value;
        assert_int_equal(mica_commands_add(commands, entity, ids[at], given), MICA_OK);
    }
    mica_commands_remove(commands, entity, ids[100]);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    const mica_entity made = mica_commands_resolve(commands, entity);
    assert_int_equal(mica_entity_components(world, made, NULL, 0), TYPE_COUNT - 1);
    for (int64_t i = 0; i < TYPE_COUNT; i++) {
        if (i % 7 != 0 && i != 100) {
            assert_int_equal(*(const int64_t *)mica_entity_get(world, made, ids[i]), i + 1);
        }
    }
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_commands_destroy(commands);
    mica_world_destroy(world);
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

static void place_types(storage_mix mix) {
    mix_running = mix;
    for (uint32_t kind = 0; kind < FOLLOWS; kind++) {
        place_type(placed_types[kind], mix, kind);
    }
}

int main(void) {
    const struct CMUnitTest anywhere[] = {
        CASE(random_buffers_end_as_their_commands_one_by_one),
        CASE(all_short_sequences_end_as_one_by_one),
        CASE(what_cannot_be_applied_waits_and_nothing_is_lost),
        CASE(values_constructed_anew_in_place_are_all_or_none),
        CASE(a_linked_spawn_is_applied_as_a_whole_or_not_at_all),
        CASE(recording_goes_on_after_a_failure),
        CASE(removing_and_adding_again_leaves_queries_right),
        CASE(rounds_of_create_then_add_keep_rows_right),
        CASE(many_components_of_one_entity),
    };
    const struct CMUnitTest in_tables[] = {
        CASE(all_changes_of_an_entity_are_one_move),
        CASE(entities_change_in_the_order_of_their_first_record),
    };
    place_types(ALL_IN_TABLES);
    int failed_count = cmocka_run_group_tests_name("in tables", in_tables, NULL, NULL);
    for (storage_mix mix = ALL_IN_TABLES; mix < MIX_COUNT; mix++) {
        place_types(mix);
        failed_count += cmocka_run_group_tests_name(storage_mix_names[mix], anywhere, NULL, NULL);
    }
    return failed_count;
}
