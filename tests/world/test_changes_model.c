// Queries for changes against plain arrays, under random operations: who was added, who was removed, and whose tracked
// values have changed must agree exactly, whoever asks and whenever; of values that are not tracked, all that have
// changed are reported, and nobody if none was written.
#include "storages.h"
#include "world_fixture.h"

MICA_STRUCT(Plain, { int32_t number; });
MICA_STRUCT_WITH(Exact, (.track_rows = true), { int32_t number; });
MICA_TAG(Sign);

enum { PLAIN, EXACT, SIGN, KIND_COUNT, THING_MAX = 1200, ASKER_COUNT = 4, REMOVAL_MAX = 8000 };

// One entity that ever was.
typedef struct thing {
    mica_entity entity;
    bool is_alive;
    bool has[KIND_COUNT];
    uint64_t changed[KIND_COUNT];
    uint64_t added[KIND_COUNT];
} thing;

typedef struct removal {
    uint32_t thing;
    uint32_t operation; // what is removed by one, by a clear, comes in an order that is its own
    uint64_t version;
} removal;

typedef struct model {
    watched_world w;
    test_random random;
    mica_type *types[KIND_COUNT];
    mica_component ids[KIND_COUNT];
    mica_query *changed[KIND_COUNT]; // none of SIGN
    mica_query *added[KIND_COUNT];
    mica_query *removed[KIND_COUNT];
    mica_query *beside; // removed EXACT, and there again
    mica_query *any;    // changed EXACT, or a SIGN
    mica_query *writes;
    mica_query *marks;
    thing things[THING_MAX];
    uint32_t thing_count;
    uint64_t plain_written; // version of the latest write of any PLAIN
    removal removals[KIND_COUNT][REMOVAL_MAX];
    uint32_t removal_counts[KIND_COUNT];
    uint32_t operation;
    uint64_t askers[ASKER_COUNT]; // since when they ask
} model;

static uint32_t below(model *m, uint32_t limit) {
    return test_random_below(&m->random, limit);
}

static uint64_t now(const model *m) {
    return mica_world_version(m->w.world);
}

// What happened to a thing

static void note_changed(model *m, thing *t, uint32_t kind) {
    t->changed[kind] = now(m);
    m->plain_written = kind == PLAIN ? now(m) : m->plain_written;
}

static void note_set(model *m, thing *t, uint32_t kind) {
    if (!t->has[kind]) {
        t->has[kind] = true;
        t->added[kind] = now(m);
    }
    note_changed(m, t, kind);
}

static void note_removed(model *m, thing *t, uint32_t kind) {
    if (t->has[kind]) {
        t->has[kind] = false;
        assert_true(m->removal_counts[kind] < REMOVAL_MAX);
        m->removals[kind][m->removal_counts[kind]++] =
            (removal){.thing = (uint32_t)(t - m->things), .operation = m->operation, .version = now(m)};
    }
}

static void note_destroyed(model *m, thing *t) {
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        note_removed(m, t, kind);
    }
    t->is_alive = false;
}

static thing *new_thing(model *m, mica_entity entity) {
    assert_true(m->thing_count < THING_MAX);
    thing *t = &m->things[m->thing_count++];
    *t = (thing){.entity = entity, .is_alive = true};
    return t;
}

// A living thing, or NULL.
static thing *pick(model *m) {
    for (uint32_t tries = 0; tries < 30 && m->thing_count > 0; tries++) {
        thing *t = &m->things[below(m, m->thing_count)];
        if (t->is_alive) {
            return t;
        }
    }
    return NULL;
}

static thing *thing_of(model *m, mica_entity entity) {
    for (uint32_t i = 0; i < m->thing_count; i++) {
        if (mica_entity_equal(m->things[i].entity, entity)) {
            return &m->things[i];
        }
    }
    fail();
    return NULL;
}

// Operations

// Gives a thing a value, or the tag.
static void set(model *m, thing *t, uint32_t kind) {
    const int32_t number = (int32_t)below(m, 100);
    if (kind != SIGN) {
        assert_int_equal(mica_entity_set(m->w.world, t->entity, m->ids[kind], &number), MICA_OK);
        note_set(m, t, kind);
    } else if (!t->has[kind]) {
        assert_int_equal(mica_entity_add(m->w.world, t->entity, m->ids[kind], NULL), MICA_OK);
        note_set(m, t, kind);
    }
}

static void spawn(model *m) {
    if (m->thing_count == THING_MAX) {
        return;
    }
    thing *t = new_thing(m, mica_create(m->w.world));
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if (below(m, 2) == 0) {
            set(m, t, kind);
        }
    }
}

static void clone(model *m, const thing *source) {
    if (m->thing_count == THING_MAX) {
        return;
    }
    const thing copied = *source;
    thing *t = new_thing(m, mica_clone(m->w.world, source->entity));
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if (copied.has[kind]) {
            note_set(m, t, kind);
        }
    }
}

static void add_one(void *value, void *user) {
    (void)user;
    ++*(int32_t *)value;
}

static void write_value(model *m, thing *t, uint32_t kind) {
    if (kind == SIGN || !t->has[kind]) {
        return;
    }
    if (below(m, 2) == 0) {
        ++*(int32_t *)mica_entity_get_write(m->w.world, t->entity, m->ids[kind]);
    } else {
        assert_int_equal(mica_entity_patch(m->w.world, t->entity, m->ids[kind], add_one, NULL), MICA_OK);
    }
    note_changed(m, t, kind);
}

// A few commands about one thing, which come to what it is afterwards.
static void command(model *m, thing *t) {
    mica_commands *commands = mica_commands_create(m->w.world);
    bool will_have[KIND_COUNT];
    bool is_set[KIND_COUNT] = {false};
    memcpy(will_have, t->has, sizeof(will_have));
    bool is_destroyed = false;
    const uint32_t count = 1 + below(m, 6);
    for (uint32_t i = 0; i < count && !is_destroyed; i++) {
        const uint32_t kind = below(m, KIND_COUNT);
        const int32_t number = (int32_t)below(m, 100);
        if (below(m, 20) == 0) {
            mica_commands_destroy_entity(commands, t->entity);
            is_destroyed = true;
        } else if (below(m, 2) == 0) {
            if (kind == SIGN) {
                mica_commands_add(commands, t->entity, m->ids[kind], NULL);
            } else {
                mica_commands_set(commands, t->entity, m->ids[kind], &number);
            }
            will_have[kind] = true;
            is_set[kind] = true;
        } else {
            mica_commands_remove(commands, t->entity, m->ids[kind]);
            will_have[kind] = false;
            is_set[kind] = false;
        }
    }
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    mica_commands_destroy(commands);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if (!will_have[kind]) {
            note_removed(m, t, kind);
        } else if (is_set[kind]) {
            note_set(m, t, kind);
        }
    }
    if (is_destroyed) { // by itself, behind what the others came to
        note_destroyed(m, t);
    }
}

// Writes EXACT of all that have a SIGN, by spans as a whole or by marks.
static void write_spans(model *m) {
    const bool marks = below(m, 2) == 0;
    mica_each (marks ? m->marks : m->writes, it) {
        Exact *exact = mica_write_of(it, Exact);
        for (int32_t i = 0; i < it.count; i++) {
            const bool is_written = !marks || below(m, 3) == 0;
            exact[i].number += is_written;
            if (marks && is_written) {
                assert_int_equal(mica_mark(it, Exact, i), MICA_OK);
            }
            if (is_written) {
                note_changed(m, thing_of(m, it.entities[i]), EXACT);
            }
        }
    }
}

static void operate(model *m) {
    thing *t = pick(m);
    const uint32_t kind = below(m, KIND_COUNT);
    const uint32_t choice = below(m, 24);
    if (t == NULL || choice < 4) {
        spawn(m);
    } else if (choice < 6) {
        assert_int_equal(mica_destroy(m->w.world, t->entity), MICA_OK);
        note_destroyed(m, t);
    } else if (choice < 7) {
        clone(m, t);
    } else if (choice < 12) {
        set(m, t, kind);
    } else if (choice < 15) {
        if (t->has[kind]) {
            assert_int_equal(mica_entity_remove(m->w.world, t->entity, m->ids[kind]), MICA_OK);
        }
        note_removed(m, t, kind);
    } else if (choice < 18) {
        write_value(m, t, kind);
    } else if (choice < 22) {
        command(m, t);
    } else if (choice < 23) {
        write_spans(m);
    } else if (below(m, 40) == 0) {
        assert_int_equal(mica_world_clear(m->w.world), MICA_OK);
        m->plain_written = now(m);
        for (uint32_t i = 0; i < m->thing_count; i++) {
            if (m->things[i].is_alive) {
                note_destroyed(m, &m->things[i]);
            }
        }
    }
}

// Asking

// Marks those that a query yields, each once; how many.
static uint32_t ask(model *m, mica_query *query, uint64_t since, bool is_named[THING_MAX]) {
    uint32_t count = 0;
    memset(is_named, 0, THING_MAX * sizeof(bool));
    mica_error_clear();
    mica_each_since(query, since, it) {
        for (int32_t i = 0; i < it.count; i++) {
            const uint32_t number = (uint32_t)(thing_of(m, it.entities[i]) - m->things);
            assert_false(is_named[number]);
            is_named[number] = true;
            count++;
        }
    }
    assert_string_equal(mica_last_error(), "");
    return count;
}

static bool counts(uint64_t version, uint64_t since) {
    return version > since || since == 0;
}

static void compare_living(model *m, uint64_t since) {
    bool is_named[THING_MAX];
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        ask(m, m->added[kind], since, is_named);
        for (uint32_t i = 0; i < m->thing_count; i++) {
            const thing *t = &m->things[i];
            assert_int_equal(is_named[i], t->has[kind] && counts(t->added[kind], since));
        }
    }
    ask(m, m->changed[EXACT], since, is_named);
    for (uint32_t i = 0; i < m->thing_count; i++) {
        assert_int_equal(is_named[i], m->things[i].has[EXACT] && counts(m->things[i].changed[EXACT], since));
    }
    const uint32_t count = ask(m, m->changed[PLAIN], since, is_named);
    for (uint32_t i = 0; i < m->thing_count; i++) {
        const bool has_changed = m->things[i].has[PLAIN] && counts(m->things[i].changed[PLAIN], since);
        assert_true(!has_changed || is_named[i]);
        assert_true(!is_named[i] || m->things[i].has[PLAIN]);
    }
    assert_true(count == 0 || counts(m->plain_written, since));
    ask(m, m->any, since, is_named);
    for (uint32_t i = 0; i < m->thing_count; i++) {
        const thing *t = &m->things[i];
        assert_int_equal(is_named[i],
                         t->is_alive && (t->has[SIGN] || (t->has[EXACT] && counts(t->changed[EXACT], since))));
    }
}

// The entities that lost a component since, each once; `again`: those that are alive and have it.
static void compare_removed(model *m, mica_query *query, uint32_t kind, uint64_t since, bool again) {
    static uint32_t operations[REMOVAL_MAX]; // of those that are expected, in order
    uint32_t operation_of[THING_MAX];
    uint32_t expected_count = 0;
    bool is_listed[THING_MAX] = {false};
    for (uint32_t i = 0; i < m->removal_counts[kind]; i++) {
        const removal *r = &m->removals[kind][i];
        if (counts(r->version, since) && !is_listed[r->thing] && (!again || m->things[r->thing].has[kind])) {
            is_listed[r->thing] = true;
            operation_of[r->thing] = r->operation;
            operations[expected_count++] = r->operation;
        }
    }
    uint32_t at = 0;
    mica_each_since(query, since, it) {
        for (int32_t i = 0; i < it.count; i++, at++) {
            assert_true(at < expected_count);
            const uint32_t number = (uint32_t)(thing_of(m, it.entities[i]) - m->things);
            assert_true(is_listed[number]);
            assert_int_equal(operation_of[number], operations[at]);
            is_listed[number] = false;
        }
    }
    assert_int_equal(at, expected_count);
}

static void run_model(storage_mix mix, uint64_t seed) {
    static model m;
    m = (model){.random = {seed}};
    m.types[PLAIN] = mica_type_of(Plain);
    m.types[EXACT] = mica_type_of(Exact);
    m.types[SIGN] = mica_type_of(Sign);
    watched_begin(&m.w);
    mica_world *world = m.w.world;
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        place_type(m.types[kind], mix, kind + (uint32_t)seed);
        m.ids[kind] = mica_world_register(world, m.types[kind]);
        m.changed[kind] =
            kind == SIGN ? NULL
                         : mica_query_create(world, &(mica_term){.component = m.ids[kind], .use = MICA_USE_CHANGED}, 1);
        m.added[kind] = mica_query_create(world, &(mica_term){.component = m.ids[kind], .use = MICA_USE_ADDED}, 1);
        m.removed[kind] = mica_query_create(world, &(mica_term){.component = m.ids[kind], .use = MICA_USE_REMOVED}, 1);
    }
    m.beside = mica_query_retain(mica_query_of(world, mica_removed(Exact), mica_read(Exact)));
    m.any = mica_query_retain(mica_query_of(world, mica_any_changed(1, Exact), mica_any_with(1, Sign)));
    m.writes = mica_query_retain(mica_query_of(world, mica_write(Exact), mica_with(Sign)));
    m.marks = mica_query_retain(mica_query_of(world, mica_write_marked(Exact), mica_with(Sign)));
    for (uint32_t step = 0; step < 2000; step++) {
        m.operation = step;
        operate(&m);
        if (below(&m, 8) == 0) {
            uint64_t *since = &m.askers[below(&m, ASKER_COUNT)];
            compare_living(&m, *since);
            for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
                compare_removed(&m, m.removed[kind], kind, *since, false);
            }
            compare_removed(&m, m.beside, EXACT, *since, true);
            *since = mica_world_advance_version(world);
        }
    }
    assert_true(m.removal_counts[EXACT] > 50);
    assert_valid(world);
    watched_end(&m.w);
}

static void what_queries_report_is_what_the_model_says(void **state) {
    (void)state;
    for (storage_mix mix = 0; mix < MIX_COUNT; mix++) {
        for (uint64_t seed = 1; seed <= 6; seed++) {
            run_model(mix, seed);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_queries_report_is_what_the_model_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
