// Pools of every kind against plain arrays, under random changes.
#include "store/pool_fixture.h"
#include "support/test_random.h"

#define ENTITY_MAX 64u

// The model: plain arrays by position, with the stamp that each value had when it was written.

typedef struct model {
    int32_t at[2 * ENTITY_MAX]; // number of the entity, -1: a tombstone
    int32_t value[ENTITY_MAX];
    uint64_t written[ENTITY_MAX];
    bool is_there[ENTITY_MAX];
    uint32_t dead[2 * ENTITY_MAX];
    uint32_t count, dead_count;
} model;

static void model_put(model *m, uint32_t number, int32_t value, uint64_t version) {
    const uint32_t position = m->dead_count > 0 ? m->dead[--m->dead_count] : m->count++;
    m->at[position] = (int32_t)number;
    m->value[number] = value;
    m->written[number] = version;
    m->is_there[number] = true;
}

static void model_take(model *m, uint32_t number, bool is_stable) {
    uint32_t position = 0;
    while (m->at[position] != (int32_t)number) {
        position++;
    }
    m->is_there[number] = false;
    if (!is_stable) {
        m->at[position] = m->at[--m->count];
        return;
    }
    m->at[position] = -1;
    m->dead[m->dead_count++] = position;
    if (m->dead_count == m->count) {
        m->count = 0;
        m->dead_count = 0;
    }
}

static void model_compact(model *m) {
    uint32_t to = 0;
    for (uint32_t from = 0; from < m->count; from++) {
        if (m->at[from] >= 0) {
            m->at[to++] = m->at[from];
        }
    }
    m->count = to;
    m->dead_count = 0;
}

static void assert_model(const fixture *f, const model *m) {
    assert_int_equal(f->pool->count, m->count);
    assert_int_equal(f->pool->dead_count, m->dead_count);
    for (uint32_t position = 0; position < m->count; position++) {
        const int32_t number = m->at[position];
        assert_int_equal(mi_pool_is_live(f->pool, position), number >= 0);
        if (number < 0) {
            continue;
        }
        assert_true(mica_entity_equal(f->pool->entities[position], entity_of((uint32_t)number)));
        if (f->pool->size != 0) {
            assert_int_equal(number_at(f, position), m->value[number]);
            assert_true(f->pool->stamps[position >> f->pool->page_shift] >= m->written[number]);
        }
    }
    for (uint32_t number = 0; number < ENTITY_MAX; number++) {
        const uint32_t position = mi_pool_find(f->pool, entity_of(number));
        assert_int_equal(position != MI_POSITION_NONE, m->is_there[number]);
        assert_true(position == MI_POSITION_NONE || m->at[position] == (int32_t)number);
    }
}

// Puts up to 5 absent entities past all tombstones at once.
static void put_many(fixture *f, model *m, uint32_t first) {
    mica_entity entities[5];
    uint32_t count = 0;
    mi_pool_moved moved;
    assert_true(mi_pool_reserve(f->pool, &f->heap, &f->values, 5, &moved));
    for (uint32_t number = first; number < ENTITY_MAX && count < 5; number++) {
        if (m->is_there[number]) {
            continue;
        }
        assert_true(make_value(f, f->pool->count + count, (int32_t)number));
        assert_true(mi_pool_open_index(f->pool, &f->heap, mica_entity_index(entity_of(number))));
        m->at[m->count++] = (int32_t)number;
        m->value[number] = (int32_t)number;
        m->written[number] = f->version;
        m->is_there[number] = true;
        entities[count++] = entity_of(number);
    }
    mi_pool_publish_many(f->pool, entities, count, f->version);
}

static void shuffle(fixture *f, model *m, test_random *random) {
    const uint32_t first = test_random_below(random, m->count);
    const uint32_t count = test_random_below(random, m->count - first + 1);
    uint32_t order[2 * ENTITY_MAX];
    int32_t at[2 * ENTITY_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t other = test_random_below(random, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        at[i] = m->at[first + order[i]];
    }
    if (count > 0) {
        memcpy(&m->at[first], at, count * sizeof(at[0]));
    }
    mi_pool_permute(f->pool, &f->values, first, count, order, f->spare);
}

// One of the changes that concern more than one element.
static void change_many(fixture *f, model *m, test_random *random) {
    switch (test_random_below(random, 6)) {
    case 0:
        if (m->count + 5 <= ENTITY_MAX) {
            put_many(f, m, test_random_below(random, ENTITY_MAX));
        }
        return;
    case 1:
        assert_true(mi_pool_shrink(f->pool, &f->heap, &f->values));
        return;
    case 2:
        mi_pool_compact(f->pool, &f->values);
        model_compact(m);
        return;
    case 3:
        if (test_random_below(random, 8) == 0) {
            mi_pool_clear(f->pool, &f->heap, &f->values);
            *m = (model){.count = 0};
        }
        return;
    case 4:
        if (m->count > 0 && m->dead_count == 0) {
            const uint32_t a = test_random_below(random, m->count);
            const uint32_t b = test_random_below(random, m->count);
            const int32_t at = m->at[a];
            m->at[a] = m->at[b];
            m->at[b] = at;
            mi_pool_swap(f->pool, &f->values, a, b, f->spare);
        }
        return;
    default:
        if (m->count > 0 && m->dead_count == 0) {
            shuffle(f, m, random);
        }
    }
}

static void run_model(const pool_kind *kind, uint64_t seed) {
    fixture f;
    begin(&f, kind);
    model m = {.count = 0};
    test_random random = {.state = seed};
    for (int32_t step = 0; step < 1500; step++) {
        f.version += test_random_below(&random, 4) == 0;
        const uint32_t number = test_random_below(&random, ENTITY_MAX);
        if (test_random_below(&random, 8) == 0) {
            change_many(&f, &m, &random);
        } else if (m.is_there[number]) {
            take(&f, entity_of(number));
            model_take(&m, number, kind->info.stable);
        } else if ((int32_t)test_random_below(&random, 4) > step / 300 % 3) { // fuller and emptier in turns
            put(&f, entity_of(number), step);
            model_put(&m, number, step, f.version);
        }
        assert_model(&f, &m);
        if (step % 16 == 0) {
            assert_valid(&f);
        }
    }
    end(&f);
}

static void a_pool_is_as_plain_arrays_after_any_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            print_message("%s, seed %d\n", kinds[i].name, (int)seed);
            run_model(&kinds[i], seed);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_as_plain_arrays_after_any_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
