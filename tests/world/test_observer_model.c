// Random verbs and buffers in a world full of observers, against a naive world that says what each of them must have
// been told, in the same order, after every operation. Some observers set values at once, some record commands: the
// naive world reacts alike. A failure prints its seed and step.
#include "observer_world.h"
#include "support/test_random.h"

enum { HEALTH, OWNED, SPEED, FROZEN, ARMOUR, KIND_COUNT }; // as placed_types
enum { SLOT_COUNT = 48, QUERY_COUNT = 4, EVENT_MAX = 4096, STEP_MAX = 256, MANY_MAX = 5 };

static const uint32_t by_name[KIND_COUNT] = {ARMOUR, FROZEN, HEALTH, OWNED, SPEED};
static const uint32_t of_armour = 1u << FROZEN | 1u << HEALTH;
static const uint32_t with_data = 1u << HEALTH | 1u << OWNED | 1u << SPEED | 1u << ARMOUR;

// What the naive world knows of an entity.
typedef struct naive_entity {
    mica_entity handle;
    bool alive;
    bool reserved; // a buffer that is recorded will make it
    bool disabled;
    bool killed;
    uint32_t has;
    uint32_t off; // components that are disabled
    int32_t numbers[KIND_COUNT];
} naive_entity;

typedef struct naive_query {
    uint32_t all, none, any;
    bool sees_enabled, sees_disabled;
} naive_query;

typedef struct event {
    mica_signal_kind kind;
    uint32_t subject; // a component, or a query
    mica_entity entity;
    int32_t number;
} event;

typedef struct event_list {
    event events[EVENT_MAX];
    uint32_t count;
} event_list;

typedef enum verb {
    SPAWN,
    ADD,
    SET,
    REMOVE,
    CLONE,
    DESTROY,
    ENABLE,
    DISABLE,
    ENABLE_COMPONENT,
    DISABLE_COMPONENT,
    KILL,
    REFRESH,
    VERB_COUNT
} verb;

typedef struct step {
    verb verb;
    uint32_t slot;   // of the target, or of what is made
    uint32_t source; // of a clone
    uint32_t kind;   // of a spawn: a set of them
    uint32_t given;  // a set of kinds that come with a value
    int32_t number;
    mica_entity placeholder; // of what is made
} step;

typedef struct step_list {
    step steps[STEP_MAX];
    uint32_t count;
} step_list;

typedef struct model model;

typedef struct ear {
    model *m;
    mica_signal_kind kind;
    uint32_t subject;
    mica_observer observer; // 0: not connected
} ear;

enum { EAR_COUNT = 3 * KIND_COUNT + 2 + 2 * QUERY_COUNT };

struct model {
    fixture f;
    uint64_t seed;
    uint32_t step_number;
    test_random random;
    mica_component ids[KIND_COUNT];
    naive_entity entities[SLOT_COUNT];
    naive_query queries[QUERY_COUNT];
    mica_query *compiled[QUERY_COUNT];
    ear ears[EAR_COUNT];
    event_list told, expected;
    step_list recorded; // by the naive observers
    int32_t next_number;
};

static uint32_t pick(model *m, uint32_t limit) {
    return test_random_below(&m->random, limit);
}

static int32_t number_of(uint32_t kind, const void *value) {
    return value == NULL ? 0 : kind == OWNED ? *((const Owned *)value)->number : *(const int32_t *)value;
}

static int32_t constructed(uint32_t kind) {
    return kind == OWNED ? -1 : 0;
}

// A value for a component that stands for `number`; drop_value must follow.
typedef struct held_value {
    int32_t number;
    Owned owned;
} held_value;

static const void *hold_value(const model *m, held_value *held, uint32_t kind, int32_t number) {
    held->number = number;
    if (kind == OWNED) {
        owned_hold(&held->owned, number, m->f.world);
        return &held->owned;
    }
    return &held->number;
}

static void drop_value(const model *m, held_value *held, uint32_t kind) {
    if (kind == OWNED) {
        owned_drop(&held->owned, m->f.world);
    }
}

// Rules that observers of both worlds follow

static int32_t value_set_at_once(int32_t armour) {
    return armour + 1;
}

// Whether an event makes its observer record something, and what. The target is the event's entity.
static bool find_reaction(const event *heard, step *reaction) {
    if (heard->kind == MICA_ADDED && heard->subject == ARMOUR) {
        *reaction = (step){.verb = SET, .kind = SPEED, .given = 1u << SPEED, .number = heard->number + 2};
        return true;
    }
    if (heard->kind == MICA_REMOVED && heard->subject == SPEED) {
        *reaction = (step){.verb = REMOVE, .kind = FROZEN};
        return true;
    }
    if (heard->kind == MICA_SET && heard->subject == HEALTH && heard->number % 7 == 0) {
        *reaction = (step){.verb = DESTROY};
        return true;
    }
    if (heard->kind == MICA_LEFT && heard->subject == 0) {
        *reaction = (step){.verb = SET, .kind = OWNED, .given = 1u << OWNED, .number = 5};
        return true;
    }
    return false;
}

// What is told

static void record_step(const model *m, mica_commands *commands, mica_entity target, const step *what) {
    held_value held;
    const mica_component id = m->ids[what->kind < KIND_COUNT ? what->kind : 0];
    const bool has_value = (what->given >> what->kind & 1) != 0;
    mica_result result = MICA_OK;
    switch (what->verb) {
    case ADD:
        result =
            mica_commands_add(commands, target, id, has_value ? hold_value(m, &held, what->kind, what->number) : NULL);
        break;
    case SET:
        result = mica_commands_set(commands, target, id, hold_value(m, &held, what->kind, what->number));
        break;
    case REMOVE:
        result = mica_commands_remove(commands, target, id);
        break;
    case DESTROY:
        result = mica_destroy(commands, target);
        break;
    case ENABLE:
    case DISABLE:
        result = mica_commands_enable(commands, target, what->verb == ENABLE);
        break;
    case ENABLE_COMPONENT:
    case DISABLE_COMPONENT:
        result = mica_commands_enable_component(commands, target, id, what->verb == ENABLE_COMPONENT);
        break;
    case KILL:
        result = mica_kill(commands, target);
        break;
    default:
        result = mica_refresh(commands);
        break;
    }
    assert_int_equal(result, MICA_OK);
    if (has_value) {
        drop_value(m, &held, what->kind);
    }
}

static void hear(const mica_signal *signal) {
    const ear *on = signal->user;
    model *m = on->m;
    const event heard = {on->kind, on->subject, signal->entity, number_of(on->subject, signal->value)};
    assert_int_equal(signal->kind, on->kind);
    assert_int_equal(signal->observer.id, on->observer.id);
    assert_true(mica_alive(m->f.world, signal->entity));
    assert_true(m->told.count < EVENT_MAX);
    m->told.events[m->told.count++] = heard;
    if (signal->component != 0) {
        assert_int_equal(signal->component, m->ids[on->subject]);
        assert_ptr_equal(signal->value, mica_entity_get(m->f.world, signal->entity, signal->component));
    } else if (on->kind == MICA_ENTERED || on->kind == MICA_LEFT) {
        assert_true(mica_query_contains(m->compiled[on->subject], signal->entity));
    }
    step reaction;
    if (heard.kind == MICA_SET && heard.subject == ARMOUR && mica_has(m->f.world, signal->entity, Health)) {
        assert_int_equal(mica_set(m->f.world, signal->entity, Health, {value_set_at_once(heard.number)}), MICA_OK);
    } else if (find_reaction(&heard, &reaction)) {
        record_step(m, signal->commands, signal->entity, &reaction);
    }
}

// What must have been told

static bool is_heard(const model *m, mica_signal_kind kind, uint32_t subject) {
    for (uint32_t i = 0; i < EAR_COUNT; i++) {
        if (m->ears[i].kind == kind && m->ears[i].subject == subject) {
            return m->ears[i].observer.id != 0;
        }
    }
    return false;
}

// False: nobody listens.
static bool expect_call(model *m, mica_signal_kind kind, uint32_t subject, const naive_entity *entity, int32_t number) {
    if (!is_heard(m, kind, subject)) {
        return false;
    }
    assert_true(m->expected.count < EVENT_MAX);
    m->expected.events[m->expected.count++] = (event){kind, subject, entity->handle, number};
    return true;
}

static void expect_record(model *m, mica_signal_kind kind, uint32_t subject, const naive_entity *entity,
                          int32_t number) {
    step reaction;
    if (expect_call(m, kind, subject, entity, number) &&
        find_reaction(&m->expected.events[m->expected.count - 1], &reaction)) {
        assert_true(m->recorded.count < STEP_MAX);
        reaction.slot = (uint32_t)(entity - m->entities);
        reaction.placeholder = entity->handle; // whom it is about, should the slot have a new owner
        m->recorded.steps[m->recorded.count++] = reaction;
    }
}

static void expect(model *m, mica_signal_kind kind, uint32_t subject, naive_entity *entity, int32_t number) {
    if (kind != MICA_SET || subject != ARMOUR || (entity->has & 1u << HEALTH) == 0) {
        expect_record(m, kind, subject, entity, number);
    } else if (expect_call(m, kind, subject, entity, number)) {
        entity->numbers[HEALTH] = value_set_at_once(number);
        expect_record(m, MICA_SET, HEALTH, entity, entity->numbers[HEALTH]);
    }
}

static bool matches(const naive_query *query, const naive_entity *entity) {
    const uint32_t present = entity->has & ~entity->off;
    return entity->alive && !entity->killed && (entity->disabled ? query->sees_disabled : query->sees_enabled) &&
           (present & query->all) == query->all && (present & query->none) == 0 &&
           (query->any == 0 || (present & query->any) != 0);
}

// `now` was `before` and has been given the values of `set`.
static void expect_change(model *m, const naive_entity *before, naive_entity *now, uint32_t set) {
    const naive_entity is = *now;
    naive_entity was = *before;
    for (uint32_t i = 0; i < QUERY_COUNT; i++) {
        if (matches(&m->queries[i], &was) && !matches(&m->queries[i], &is)) {
            expect(m, MICA_LEFT, i, now, 0);
        }
    }
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const uint32_t kind = by_name[i];
        const bool has = is.alive && (is.has >> kind & 1) != 0;
        if (was.alive && (was.has >> kind & 1) != 0 && !has) {
            expect(m, MICA_REMOVED, kind, now, was.numbers[kind]);
        }
    }
    if (was.alive && !is.alive) {
        expect(m, MICA_DESTROYED, 0, now, 0);
        return;
    }
    if (!was.alive) {
        was.has = 0;
        expect(m, MICA_CREATED, 0, now, 0);
    }
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const uint32_t kind = by_name[i];
        if ((is.has & ~was.has & 1u << kind) != 0) {
            expect(m, MICA_ADDED, kind, now, now->numbers[kind]);
        }
    }
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const uint32_t kind = by_name[i];
        if ((set & is.has & with_data & 1u << kind) != 0) {
            expect(m, MICA_SET, kind, now, now->numbers[kind]);
        }
    }
    for (uint32_t i = 0; i < QUERY_COUNT; i++) {
        if (!matches(&m->queries[i], &was) && matches(&m->queries[i], &is)) {
            expect(m, MICA_ENTERED, i, now, 0);
        }
    }
}

// The naive world

static void naive_add(naive_entity *entity, uint32_t kind) {
    uint32_t added = (kind == ARMOUR && (entity->has & 1u << ARMOUR) == 0 ? of_armour : 0) | 1u << kind;
    added &= ~entity->has;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((added >> i & 1) != 0) {
            entity->numbers[i] = i == FROZEN ? 0 : constructed(i);
        }
    }
    entity->has |= added;
    entity->off &= ~added;
}

static void naive_remove(naive_entity *entity, uint32_t kind) {
    entity->has &= ~(1u << kind);
    entity->off &= ~(1u << kind);
}

static void naive_spawn(naive_entity *entity, const step *what) {
    const mica_entity handle = entity->handle;
    *entity = (naive_entity){.handle = handle, .alive = true};
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((what->kind >> i & 1) != 0) {
            naive_add(entity, i);
        }
    }
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((what->given >> i & 1) != 0) {
            entity->numbers[i] = what->number + (int32_t)i;
        }
    }
}

static void naive_destroy(model *m, naive_entity *entity) {
    const naive_entity before = *entity;
    entity->alive = false;
    expect_change(m, &before, entity, 0);
}

static void naive_refresh(model *m) {
    for (;;) {
        naive_entity *first = NULL;
        for (uint32_t i = 0; i < SLOT_COUNT; i++) {
            naive_entity *entity = &m->entities[i];
            if (entity->alive && entity->killed &&
                (first == NULL || mica_entity_index(entity->handle) < mica_entity_index(first->handle))) {
                first = entity;
            }
        }
        if (first == NULL) {
            return;
        }
        naive_destroy(m, first);
    }
}

// What a fold has changed so far, in the order of the entities' first records.
typedef struct naive_fold {
    uint32_t slots[STEP_MAX];
    naive_entity before[STEP_MAX];
    uint32_t set[STEP_MAX];
    uint32_t count;
} naive_fold;

static uint32_t open_group(model *m, naive_fold *fold, uint32_t slot) {
    for (uint32_t i = 0; i < fold->count; i++) {
        if (fold->slots[i] == slot) {
            return i;
        }
    }
    fold->slots[fold->count] = slot;
    fold->before[fold->count] = m->entities[slot];
    fold->set[fold->count] = 0;
    return fold->count++;
}

static void end_fold(model *m, naive_fold *fold) {
    for (uint32_t i = 0; i < fold->count; i++) {
        expect_change(m, &fold->before[i], &m->entities[fold->slots[i]], fold->set[i]);
    }
    fold->count = 0;
}

// Spawns, adds, sets and removes.
static void play_in_fold(model *m, naive_fold *fold, const step *what) {
    naive_entity *entity = &m->entities[what->slot];
    const uint32_t bit = 1u << what->kind;
    const uint32_t group = open_group(m, fold, what->slot);
    uint32_t *set = &fold->set[group];
    if (what->verb == SPAWN) {
        naive_spawn(entity, what);
        *set = what->given;
    } else if (what->verb == REMOVE) {
        naive_remove(entity, what->kind);
        *set &= ~bit;
    } else if (what->verb == SET || (entity->has & bit) == 0) {
        const uint32_t had = entity->has;
        naive_add(entity, what->kind);
        // What was there before, was removed and has come again is a new value.
        *set |= entity->has & ~had & fold->before[group].has;
        if (!fold->before[group].alive) {
            *set &= ~(entity->has & ~had);
        }
        if ((what->given & bit) != 0) {
            entity->numbers[what->kind] = what->number;
            *set |= bit;
        }
    }
}

// Commands that end a fold. A target that is not there is skipped.
static void play_alone(model *m, const step *what) {
    naive_entity *entity = &m->entities[what->slot];
    const naive_entity before = *entity;
    const bool is_clone = what->verb == CLONE;
    if (what->verb == REFRESH) {
        naive_refresh(m);
        return;
    }
    if (!is_clone && !entity->alive) {
        return;
    }
    uint32_t set = 0;
    switch (what->verb) {
    case CLONE:
        if (!m->entities[what->source].alive) {
            return;
        }
        *entity = m->entities[what->source];
        entity->handle = before.handle;
        entity->killed = false;
        set = entity->has;
        break;
    case DESTROY:
        entity->alive = false;
        break;
    case ENABLE:
    case DISABLE:
        entity->disabled = what->verb == DISABLE;
        break;
    case ENABLE_COMPONENT:
        entity->off &= ~(1u << what->kind);
        break;
    case DISABLE_COMPONENT:
        entity->off |= entity->has & 1u << what->kind;
        break;
    default:
        entity->killed = true;
        break;
    }
    expect_change(m, &before, entity, set);
}

static void play(model *m, const step_list *list) {
    static naive_fold fold;
    fold.count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const step *what = &list->steps[i];
        if (what->verb > REMOVE) {
            end_fold(m, &fold);
            play_alone(m, what);
        } else if (what->verb == SPAWN || m->entities[what->slot].alive) {
            play_in_fold(m, &fold, what);
        }
    }
    end_fold(m, &fold);
}

// The rounds of reactions to what has been played.
static void play_reactions(model *m) {
    static step_list round;
    while (m->recorded.count > 0) {
        round.count = 0;
        for (uint32_t i = 0; i < m->recorded.count; i++) {
            const step *what = &m->recorded.steps[i];
            // Its target may be gone, and another entity in its slot.
            if (mica_entity_equal(m->entities[what->slot].handle, what->placeholder)) {
                round.steps[round.count++] = *what;
            }
        }
        m->recorded.count = 0;
        play(m, &round);
    }
}

// Operations

// A place for what is about to be made; its old handle stays until then, for what refers to it.
static uint32_t pick_free(model *m) {
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (!m->entities[i].alive && !m->entities[i].reserved) {
            m->entities[i] = (naive_entity){.reserved = true};
            return i;
        }
    }
    return SLOT_COUNT;
}

// A slot with somebody who lives, or SLOT_COUNT.
static uint32_t pick_alive(model *m) {
    const uint32_t start = pick(m, SLOT_COUNT);
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (m->entities[(start + i) % SLOT_COUNT].alive) {
            return (start + i) % SLOT_COUNT;
        }
    }
    return SLOT_COUNT;
}

static uint32_t count_free(const model *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        count += !m->entities[i].alive && !m->entities[i].reserved;
    }
    return count;
}

// Values of a spawn; the same ones for a world and for a buffer.
typedef struct spawn_values {
    mica_value values[KIND_COUNT];
    held_value held[KIND_COUNT];
    int32_t count;
} spawn_values;

static void hold_spawn(const model *m, spawn_values *values, const step *what) {
    values->count = 0;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((what->kind >> i & 1) != 0) {
            const bool is_given = (what->given >> i & 1) != 0;
            const void *value = is_given ? hold_value(m, &values->held[i], i, what->number + (int32_t)i) : NULL;
            values->values[values->count++] = (mica_value){.component = m->ids[i], .value = value};
        }
    }
}

static void drop_spawn(const model *m, spawn_values *values, const step *what) {
    if ((what->given >> OWNED & 1) != 0) {
        drop_value(m, &values->held[OWNED], OWNED);
    }
}

// A random step on those who live, and on those who are reserved in a buffer.
static step pick_step(model *m, bool in_buffer) {
    step what = {.verb = (verb)pick(m, VERB_COUNT), .number = m->next_number};
    m->next_number += KIND_COUNT;
    if (pick(m, 3) != 0) {
        what.verb = (verb)(ADD + pick(m, 3));
    }
    const uint32_t target = pick(m, SLOT_COUNT);
    what.slot = in_buffer && (m->entities[target].alive || m->entities[target].reserved) ? target : pick_alive(m);
    if (what.slot == SLOT_COUNT) {
        what.verb = SPAWN;
    }
    if (what.verb == SPAWN || what.verb == CLONE) {
        what.source = what.slot;
        what.slot = pick_free(m);
        if (what.slot == SLOT_COUNT) {
            return (step){.verb = REFRESH};
        }
    }
    if (what.verb == SPAWN) {
        what.kind = pick(m, 1u << KIND_COUNT);
        what.given = what.kind & with_data & pick(m, 1u << KIND_COUNT);
    } else if (what.verb == ADD || what.verb == REMOVE) {
        what.kind = pick(m, KIND_COUNT);
        what.given = what.verb == ADD && pick(m, 2) == 0 ? with_data & 1u << what.kind : 0;
    } else if (what.verb == SET) {
        const uint32_t kinds[] = {HEALTH, OWNED, SPEED, ARMOUR};
        what.kind = kinds[pick(m, 4)];
        what.given = 1u << what.kind;
    } else {
        const uint32_t kinds[] = {SPEED, FROZEN};
        what.kind = kinds[pick(m, 2)];
    }
    return what;
}

static mica_entity do_make(model *m, const step *what) {
    spawn_values values;
    hold_spawn(m, &values, what);
    const mica_entity made = what->verb == CLONE ? mica_clone(m->f.world, m->entities[what->source].handle)
                                                 : mica_entity_spawn(m->f.world, values.values, values.count);
    drop_spawn(m, &values, what);
    assert_false(mica_entity_is_null(made));
    return made;
}

static mica_result do_verb_on(const model *m, const step *what, mica_entity target) {
    mica_world *world = m->f.world;
    const mica_component id = m->ids[what->kind];
    held_value held;
    mica_result result = MICA_OK;
    switch (what->verb) {
    case ADD:
        result = mica_entity_add(world, target, id,
                                 what->given != 0 ? hold_value(m, &held, what->kind, what->number) : NULL);
        break;
    case SET:
        result = mica_entity_set(world, target, id, hold_value(m, &held, what->kind, what->number));
        break;
    case REMOVE:
        return mica_entity_remove(world, target, id);
    case DESTROY:
        return mica_destroy(world, target);
    case ENABLE:
    case DISABLE:
        return mica_entity_enable(world, target, what->verb == ENABLE);
    case ENABLE_COMPONENT:
    case DISABLE_COMPONENT:
        return mica_entity_enable_component(world, target, id, what->verb == ENABLE_COMPONENT);
    case KILL:
        return mica_kill(world, target);
    default:
        return mica_refresh(world) < 0 ? MICA_LOCKED : MICA_OK;
    }
    if (what->given != 0) {
        drop_value(m, &held, what->kind);
    }
    return result;
}

static void do_verb(model *m) {
    static step_list one;
    one.steps[0] = pick_step(m, false);
    one.count = 1;
    step *what = &one.steps[0];
    if (what->verb == SPAWN || what->verb == CLONE) {
        m->entities[what->slot].handle = do_make(m, what);
        m->entities[what->slot].reserved = false;
    } else {
        const naive_entity *entity = &m->entities[what->slot < SLOT_COUNT ? what->slot : 0];
        const bool has = (entity->has >> what->kind & 1) != 0;
        const mica_result result = do_verb_on(m, what, entity->handle);
        const bool is_toggled = what->verb == ENABLE_COMPONENT || what->verb == DISABLE_COMPONENT;
        const mica_result expected = what->verb == ADD && has ? MICA_EXISTS
                                     : is_toggled && !has     ? MICA_ABSENT
                                                              : MICA_OK;
        assert_int_equal(result, expected);
        if (expected != MICA_OK) {
            one.count = 0;
        }
    }
    play(m, &one);
}

static void do_buffer(model *m) {
    static step_list list;
    mica_commands *commands = m->f.commands;
    list.count = 0;
    const uint32_t count = 1 + pick(m, 10);
    for (uint32_t i = 0; i < count; i++) {
        step *what = &list.steps[list.count++];
        *what = pick_step(m, true);
        const mica_entity target = m->entities[what->slot].handle;
        spawn_values values;
        if (what->verb == SPAWN) {
            hold_spawn(m, &values, what);
            what->placeholder = mica_commands_spawn(commands, values.values, values.count);
            drop_spawn(m, &values, what);
        } else if (what->verb == CLONE) {
            what->placeholder = mica_clone(commands, m->entities[what->source].handle);
        } else {
            record_step(m, commands, target, what);
            continue;
        }
        assert_true(mica_entity_is_placeholder(what->placeholder));
        m->entities[what->slot].handle = what->placeholder;
    }
    assert_int_equal(m->told.count, 0);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    for (uint32_t i = 0; i < list.count; i++) {
        if (!mica_entity_is_null(list.steps[i].placeholder)) {
            naive_entity *entity = &m->entities[list.steps[i].slot];
            entity->handle = mica_commands_resolve(commands, list.steps[i].placeholder);
            entity->reserved = false;
        }
    }
    play(m, &list);
}

static void do_spawn_many(model *m) {
    enum { COUNT = MANY_MAX };
    if (count_free(m) < COUNT) {
        return;
    }
    static step_list list;
    int32_t healths[COUNT];
    mica_entity made[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        list.steps[i] = (step){.verb = SPAWN,
                               .slot = pick_free(m),
                               .kind = 1u << HEALTH | 1u << SPEED | 1u << OWNED | 1u << FROZEN,
                               .given = 1u << HEALTH,
                               .number = m->next_number++};
        healths[i] = list.steps[i].number;
    }
    list.count = COUNT;
    const mica_column columns[] = {{.component = m->ids[SPEED]},
                                   {.component = m->ids[HEALTH], .value = healths},
                                   {.component = m->ids[FROZEN]},
                                   {.component = m->ids[OWNED]}};
    assert_int_equal(mica_entity_spawn_many(m->f.world, columns, 4, COUNT, made), MICA_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        naive_entity *entity = &m->entities[list.steps[i].slot];
        entity->handle = made[i];
        entity->reserved = false;
    }
    play(m, &list);
}

static void do_destroy_many(model *m) {
    static step_list list;
    mica_entity handles[MANY_MAX];
    list.count = 0;
    for (uint32_t i = 0; i < MANY_MAX; i++) {
        const uint32_t slot = pick_alive(m);
        if (slot < SLOT_COUNT) {
            handles[list.count] = m->entities[slot].handle;
            list.steps[list.count++] = (step){.verb = DESTROY, .slot = slot}; // maybe twice
        }
    }
    assert_int_equal(mica_destroy_many(m->f.world, handles, (int32_t)list.count), MICA_OK);
    play(m, &list);
}

// Values that are set in a walk are told of at once; what is recorded waits for its end.
static void do_walk(model *m) {
    static step_list list;
    list.count = 0;
    mica_each_row (mica_query_of(m->f.world, mica_read(Health), mica_disabled_too()), it) {
        if (list.count == 8) {
            break;
        }
        const int32_t number = m->next_number++;
        assert_int_equal(mica_set(m->f.world, mica_row_entity(it), Health, {number}), MICA_OK);
        for (uint32_t i = 0; i < SLOT_COUNT; i++) {
            if (m->entities[i].alive && mica_entity_equal(m->entities[i].handle, mica_row_entity(it))) {
                list.steps[list.count++] =
                    (step){.verb = SET, .slot = i, .kind = HEALTH, .given = 1u << HEALTH, .number = number};
            }
        }
    }
    play(m, &list);
}

static void add_one(void *value, void *user) {
    (void)user;
    ++*(int32_t *)value;
}

static void do_patch(model *m) {
    const uint32_t slot = pick_alive(m);
    if (slot == SLOT_COUNT) {
        return;
    }
    naive_entity *entity = &m->entities[slot];
    const bool has = (entity->has >> SPEED & 1) != 0;
    assert_int_equal(mica_entity_patch(m->f.world, entity->handle, m->ids[SPEED], add_one, NULL),
                     has ? MICA_OK : MICA_ABSENT);
    if (has) {
        entity->numbers[SPEED]++;
        const naive_entity before = *entity;
        expect_change(m, &before, entity, 1u << SPEED);
    }
}

static void connect_ear(model *m, ear *on) {
    mica_observer_def def = {.on = on->kind, .call = hear, .user = on};
    if (on->kind <= MICA_REMOVED) {
        def.component = m->ids[on->subject];
    } else if (on->kind == MICA_ENTERED || on->kind == MICA_LEFT) {
        def.of = m->compiled[on->subject];
    }
    on->observer = mica_observer_connect(m->f.world, &def);
    assert_int_not_equal(on->observer.id, 0);
}

// Some stop listening, some begin to. Those of queries stay: they say in which order queries are told.
static void do_connect(model *m) {
    ear *on = &m->ears[pick(m, 3 * KIND_COUNT + 2)];
    if (on->kind == MICA_SET && on->subject == FROZEN) {
        return;
    }
    if (on->observer.id == 0) {
        connect_ear(m, on);
    } else {
        assert_int_equal(mica_observer_disconnect(m->f.world, on->observer), MICA_OK);
        on->observer.id = 0;
    }
}

// Comparing

static void fail_at(const model *m, const char *what) {
    for (uint32_t i = 0; i < m->told.count || i < m->expected.count; i++) {
        const event none = {0};
        const event *told = i < m->told.count ? &m->told.events[i] : &none;
        const event *expected = i < m->expected.count ? &m->expected.events[i] : &none;
        print_message("%s %s.%u=%d    %s %s.%u=%d\n", signal_words[told->kind], name_entity(told->entity).text,
                      told->subject, told->number, signal_words[expected->kind], name_entity(expected->entity).text,
                      expected->subject, expected->number);
    }
    fail_msg("seed %llu, step %u: %s (told on the left, expected on the right)", (unsigned long long)m->seed,
             m->step_number, what);
}

static bool is_equal(const event *a, const event *b) {
    return a->kind == b->kind && a->subject == b->subject && mica_entity_equal(a->entity, b->entity) &&
           a->number == b->number;
}

static void compare_events(model *m) {
    bool agree = m->told.count == m->expected.count;
    for (uint32_t i = 0; agree && i < m->told.count; i++) {
        agree = is_equal(&m->told.events[i], &m->expected.events[i]);
    }
    if (!agree) {
        fail_at(m, "observers were told something else");
    }
    m->told.count = 0;
    m->expected.count = 0;
}

// Brings events together by entity, those of one in their order: where all go at once, entities go in no order.
static void sort_by_entity(event_list *list) {
    for (uint32_t i = 1; i < list->count; i++) {
        const event moved = list->events[i];
        uint32_t place = i;
        while (place > 0 && list->events[place - 1].entity.bits > moved.entity.bits) {
            list->events[place] = list->events[place - 1];
            place--;
        }
        list->events[place] = moved;
    }
}

static void end_all(model *m) {
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        if (m->entities[i].alive) {
            naive_destroy(m, &m->entities[i]);
        }
    }
    m->recorded.count = 0; // about nobody who is there
    sort_by_entity(&m->told);
    sort_by_entity(&m->expected);
    compare_events(m);
}

static void compare(model *m) {
    compare_events(m);
    int32_t alive_count = 0;
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        const naive_entity *entity = &m->entities[i];
        assert_false(entity->reserved);
        if (!entity->alive) {
            continue;
        }
        alive_count++;
        assert_true(mica_alive(m->f.world, entity->handle));
        assert_int_equal(mica_entity_enabled(m->f.world, entity->handle), !entity->disabled);
        for (uint32_t k = 0; k < KIND_COUNT; k++) {
            const bool has = (entity->has >> k & 1) != 0;
            const bool is_enabled = has && (entity->off >> k & 1) == 0;
            if (mica_entity_has(m->f.world, entity->handle, m->ids[k]) != has ||
                mica_entity_component_enabled(m->f.world, entity->handle, m->ids[k]) != is_enabled ||
                (has && k != FROZEN &&
                 number_of(k, mica_entity_get(m->f.world, entity->handle, m->ids[k])) != entity->numbers[k])) {
                fail_at(m, "the worlds differ");
            }
        }
    }
    assert_int_equal(mica_world_entity_count(m->f.world), alive_count);
}

// Setting up

static void pick_query(model *m, uint32_t number) {
    naive_query *query = &m->queries[number];
    bool is_new = false;
    while (!is_new) {
        *query = (naive_query){.sees_enabled = true};
        mica_term terms[KIND_COUNT + 1];
        int32_t count = 0;
        for (uint32_t i = 0; i < KIND_COUNT; i++) {
            const uint32_t role = pick(m, 8);
            mica_term term = {.component = m->ids[i], .use = MICA_USE_WITH};
            if (role < 2) {
                query->all |= 1u << i;
            } else if (role < 4) {
                query->any |= 1u << i;
                term.any = 1;
            } else if (role == 4) {
                query->none |= 1u << i;
                term.use = MICA_USE_WITHOUT;
            } else if (role == 5 && i != FROZEN) {
                term.use = MICA_USE_OPTIONAL_READ;
            } else {
                continue;
            }
            terms[count++] = term;
        }
        const uint32_t sight = pick(m, 6);
        if (sight < 2) {
            terms[count++] = sight == 0 ? mica_disabled_too() : mica_disabled_only();
            query->sees_disabled = true;
            query->sees_enabled = sight == 0;
        }
        m->compiled[number] = mica_query_create(m->f.world, terms, count);
        assert_non_null(m->compiled[number]);
        is_new = true;
        for (uint32_t i = 0; i < number; i++) {
            is_new &= m->compiled[i] != m->compiled[number];
        }
        if (!is_new) {
            mica_query_release(m->compiled[number]);
        }
    }
}

static void begin_model(model *m, uint64_t seed) {
    memset(m, 0, sizeof(*m));
    begin_limited(&m->f, 0);
    m->seed = seed;
    m->random.state = seed;
    m->next_number = 1;
    uint32_t ear_count = 0;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        m->ids[i] = mica_world_register(m->f.world, placed_types[i]);
        for (mica_signal_kind kind = MICA_ADDED; kind <= MICA_REMOVED; kind++) {
            m->ears[ear_count++] = (ear){.m = m, .kind = kind, .subject = i};
        }
    }
    m->ears[ear_count++] = (ear){.m = m, .kind = MICA_CREATED};
    m->ears[ear_count++] = (ear){.m = m, .kind = MICA_DESTROYED};
    for (uint32_t i = 0; i < QUERY_COUNT; i++) {
        pick_query(m, i);
        m->ears[ear_count++] = (ear){.m = m, .kind = MICA_ENTERED, .subject = i};
        m->ears[ear_count++] = (ear){.m = m, .kind = MICA_LEFT, .subject = i};
    }
    for (uint32_t i = ear_count; i-- > 0;) {
        const bool is_of_tag = m->ears[i].kind == MICA_SET && m->ears[i].subject == FROZEN;
        if (i < 3 * KIND_COUNT + 2 && !is_of_tag && pick(m, 8) != 0) {
            connect_ear(m, &m->ears[i]);
        }
    }
    for (uint32_t i = 3 * KIND_COUNT + 2; i < ear_count; i++) {
        connect_ear(m, &m->ears[i]);
    }
}

static void do_step(model *m) {
    const uint32_t what = pick(m, 100);
    if (what < 45) {
        do_verb(m);
    } else if (what < 80) {
        do_buffer(m);
    } else if (what < 84) {
        do_spawn_many(m);
    } else if (what < 88) {
        do_destroy_many(m);
    } else if (what < 92) {
        do_walk(m);
    } else if (what < 95) {
        do_patch(m);
    } else if (what < 98) {
        do_connect(m);
    } else if (what < 99) {
        assert_int_equal(mica_world_trim(m->f.world), MICA_OK);
    } else {
        assert_int_equal(mica_world_clear(m->f.world), MICA_OK);
        end_all(m);
    }
    play_reactions(m);
}

static void run_model(uint64_t seed, uint32_t step_count) {
    static model m;
    begin_model(&m, seed);
    for (m.step_number = 0; m.step_number < step_count; m.step_number++) {
        do_step(&m);
        compare(&m);
    }
    for (uint32_t i = 0; i < QUERY_COUNT; i++) {
        mica_query_release(m.compiled[i]);
    }
    end_world(&m.f);
    end_all(&m);
}

static void observers_are_told_exactly_what_the_naive_world_says(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_model(seed, 400);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(observers_are_told_exactly_what_the_naive_world_says)};
    return run_in_all_storages(tests, sizeof(tests) / sizeof(tests[0]));
}
