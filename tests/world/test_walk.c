// Queries over tables and pools alike against a plain search through all entities: who is visited and how often, what
// columns hold, where writes land, and that runs and copies make no difference.
#include "world_fixture.h"

#include "world/query.h"
#include "world/walk.h"

#include <stdlib.h>

MICA_STRUCT_WITH(TableNumber, (.storage = MICA_TABLE), { int32_t number; });
MICA_STRUCT_WITH(TableToggle, (.storage = MICA_TABLE, .toggle = true), { int32_t number; });
MICA_TAG_WITH(TableTag, (.storage = MICA_TABLE));
MICA_STRUCT_WITH(PackedNumber, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(PagedNumber, (.storage = MICA_POOL, .layout = MICA_PAGED, .page_size = 16), { int32_t number; });
MICA_STRUCT_WITH(StableNumber, (.storage = MICA_POOL, .stable = true, .page_size = 64), { int32_t number; });
MICA_STRUCT_WITH(LargeNumber, (.storage = MICA_POOL), {
    int32_t number;
    int32_t pad[79];
});
MICA_STRUCT_WITH(DirtyNumber, (.storage = MICA_POOL, .always_dirty = true), { int32_t number; });
MICA_STRUCT_WITH(PoolToggle, (.storage = MICA_POOL, .toggle = true), { int32_t number; });
MICA_TAG_WITH(PoolTag, (.storage = MICA_POOL));

enum { KIND_COUNT = 10, ENTITY_MAX = 1500, TABLE_TAG = 2, POOL_TAG = 9 };

static mica_type *const kinds[KIND_COUNT] = {
    mica_type_of(TableNumber), mica_type_of(TableToggle),  mica_type_of(TableTag),    mica_type_of(PackedNumber),
    mica_type_of(PagedNumber), mica_type_of(StableNumber), mica_type_of(LargeNumber), mica_type_of(DirtyNumber),
    mica_type_of(PoolToggle),  mica_type_of(PoolTag)};

typedef struct model {
    mica_world *world;
    test_random random;
    mica_component ids[KIND_COUNT];
    uint32_t count;
    mica_entity entities[ENTITY_MAX];
    uint32_t has[ENTITY_MAX]; // a bit a kind
    uint32_t off[ENTITY_MAX];
    bool disabled[ENTITY_MAX];
    bool killed[ENTITY_MAX];
    int32_t numbers[ENTITY_MAX][KIND_COUNT];
    uint32_t visits[ENTITY_MAX];
    uint32_t index_to_number[4 * ENTITY_MAX];
    int32_t next_number;
    mica_group *group;
} model;

static uint32_t below(model *m, uint32_t limit) {
    return test_random_below(&m->random, limit);
}

static bool is_tag(uint32_t kind) {
    return kind == TABLE_TAG || kind == POOL_TAG;
}

static bool can_toggle(uint32_t kind) {
    return kinds[kind]->traits.toggle;
}

static const void *value_of(uint32_t kind, int32_t number) {
    static LargeNumber large;
    large.number = number;
    return is_tag(kind) ? NULL : &large; // all values begin with the number
}

static void add(model *m, uint32_t i, uint32_t kind) {
    const int32_t number = m->next_number++;
    if ((m->has[i] >> kind & 1) == 0) {
        assert_int_equal(mica_entity_add(m->world, m->entities[i], m->ids[kind], value_of(kind, number)), MICA_OK);
        m->has[i] |= 1u << kind;
        m->numbers[i][kind] = number;
    }
}

static void create(model *m, uint32_t kinds_of_it) {
    const uint32_t i = m->count++;
    m->entities[i] = mica_entity_create(m->world);
    assert_false(mica_entity_is_null(m->entities[i]));
    m->index_to_number[mica_entity_index(m->entities[i])] = i;
    m->has[i] = m->off[i] = 0;
    m->disabled[i] = m->killed[i] = false;
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if ((kinds_of_it >> kind & 1) != 0) {
            add(m, i, kind);
        }
    }
}

// The last entity takes the number of one that is gone.
static void forget(model *m, uint32_t i) {
    const uint32_t last = --m->count;
    m->entities[i] = m->entities[last];
    m->has[i] = m->has[last];
    m->off[i] = m->off[last];
    m->disabled[i] = m->disabled[last];
    m->killed[i] = m->killed[last];
    memcpy(m->numbers[i], m->numbers[last], sizeof(m->numbers[i]));
    m->index_to_number[mica_entity_index(m->entities[i])] = i;
}

static void refresh(model *m) {
    int32_t killed = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        killed += m->killed[i];
    }
    assert_int_equal(mica_world_refresh(m->world), killed);
    for (uint32_t i = m->count; i-- > 0;) {
        if (m->killed[i]) {
            assert_false(mica_entity_alive(m->world, m->entities[i]));
            forget(m, i);
        }
    }
}

static void clone(model *m, uint32_t i) {
    const uint32_t n = m->count++;
    m->entities[n] = mica_entity_clone(m->world, m->entities[i]);
    assert_false(mica_entity_is_null(m->entities[n]));
    m->index_to_number[mica_entity_index(m->entities[n])] = n;
    m->has[n] = m->has[i];
    m->off[n] = m->off[i];
    m->disabled[n] = m->disabled[i];
    m->killed[n] = false;
    memcpy(m->numbers[n], m->numbers[i], sizeof(m->numbers[n]));
}

// Makes a group over some pools, or ends the one that there is.
static void regroup(model *m) {
    mica_group_def def = {.owned = {NULL}};
    if (m->group != NULL) {
        assert_int_equal(mica_group_destroy(m->group), MICA_OK);
        m->group = NULL;
        return;
    }
    def.owned[0] = mica_type_of(PackedNumber);
    def.owned[1] = below(m, 2) == 0 ? mica_type_of(PagedNumber) : NULL;
    def.with[0] = below(m, 2) == 0 ? mica_type_of(StableNumber) : NULL;
    def.without[0] = below(m, 2) == 0 ? mica_type_of(PoolTag) : NULL;
    m->group = mica_group_create(m->world, &def);
    assert_non_null(m->group);
}

static void toggle(model *m, uint32_t i) {
    const uint32_t kind = below(m, KIND_COUNT);
    if (can_toggle(kind) && (m->has[i] >> kind & 1) != 0) {
        m->off[i] ^= 1u << kind;
        assert_int_equal(
            mica_entity_enable_component(m->world, m->entities[i], m->ids[kind], (m->off[i] >> kind & 1) == 0),
            MICA_OK);
    }
}

// One random change. `hides` allows what leaves entities and components out of queries.
static void change(model *m, bool hides) {
    if (m->count == 0 || (m->count < ENTITY_MAX && below(m, 5) == 0)) {
        create(m, below(m, 1u << KIND_COUNT));
        return;
    }
    const uint32_t i = below(m, m->count);
    const uint32_t kind = below(m, KIND_COUNT);
    switch (below(m, hides ? 9 : 4)) {
    case 0:
        assert_int_equal(mica_entity_destroy(m->world, m->entities[i]), MICA_OK);
        forget(m, i);
        break;
    case 1:
        assert_int_equal(mica_entity_remove(m->world, m->entities[i], m->ids[kind]), MICA_OK);
        m->has[i] &= ~(1u << kind);
        m->off[i] &= ~(1u << kind);
        break;
    case 4:
        m->disabled[i] = !m->disabled[i];
        assert_int_equal(mica_entity_enable(m->world, m->entities[i], !m->disabled[i]), MICA_OK);
        break;
    case 5:
        m->killed[i] = true;
        assert_int_equal(mica_entity_kill(m->world, m->entities[i]), MICA_OK);
        break;
    case 6:
    case 7:
        toggle(m, i);
        break;
    case 8:
        if (m->count < ENTITY_MAX) {
            clone(m, i);
        }
        break;
    default:
        add(m, i, kind);
    }
}

// Many entities alike in one go: rows and elements that follow each other.
static void create_alike(model *m) {
    const uint32_t kinds_of_them = below(m, 1u << KIND_COUNT);
    for (uint32_t left = below(m, 300); left > 0 && m->count < ENTITY_MAX; left--) {
        create(m, kinds_of_them);
    }
}

// A query for just the members of the group, now and then.
static bool asks_for_group(model *m, mica_term *terms, int32_t *count) {
    if (m->group == NULL || below(m, 3) != 0) {
        return false;
    }
    const uint32_t packed = 3;
    const uint32_t paged = 4;
    terms[(*count)++] = (mica_term){.component = m->ids[packed], .use = MICA_USE_WRITE};
    terms[(*count)++] = (mica_term){.component = m->ids[paged], .use = MICA_USE_READ};
    return true;
}

static mica_query *random_query(model *m, mica_term *terms, int32_t *count) {
    *count = 0;
    for (uint32_t kind = asks_for_group(m, terms, count) ? KIND_COUNT : 0; kind < KIND_COUNT; kind++) {
        static const uint8_t uses[] = {MICA_USE_READ,    MICA_USE_WRITE,         MICA_USE_WITH,
                                       MICA_USE_WITHOUT, MICA_USE_OPTIONAL_READ, MICA_USE_OPTIONAL_WRITE};
        if (below(m, 3) != 0) {
            continue;
        }
        mica_term term = {.component = m->ids[kind], .use = uses[below(m, 6)]};
        if (is_tag(kind) && term.use != MICA_USE_WITHOUT) {
            term.use = MICA_USE_WITH;
        }
        if (term.use <= MICA_USE_WITH && below(m, 3) == 0) {
            term.any = (uint8_t)(1 + below(m, 2));
        }
        terms[(*count)++] = term;
    }
    if (below(m, 6) == 0) {
        terms[(*count)++] = (mica_term){.use = below(m, 2) == 0 ? MICA_USE_DISABLED_TOO : MICA_USE_DISABLED_ONLY};
    }
    mica_query *query = mica_query_create(m->world, terms, *count);
    assert_non_null(query);
    return query;
}

static uint32_t kind_of(const model *m, mica_component component) {
    uint32_t kind = 0;
    while (m->ids[kind] != component) {
        kind++;
    }
    return kind;
}

static bool has_on(const model *m, uint32_t i, mica_component component) {
    return ((m->has[i] & ~m->off[i]) >> kind_of(m, component) & 1) != 0;
}

static bool clause_holds(const model *m, uint32_t i, const mica_term *terms, int32_t count, uint8_t any) {
    for (int32_t k = 0; k < count; k++) {
        if (terms[k].any == any && has_on(m, i, terms[k].component)) {
            return true;
        }
    }
    return false;
}

static bool matches(const model *m, uint32_t i, const mica_term *terms, int32_t count) {
    mica_use disabled = MICA_USE_NONE;
    for (int32_t k = 0; k < count; k++) {
        const mica_term *term = &terms[k];
        if (term->component == 0) {
            disabled = (mica_use)term->use;
        } else if (term->any > 0) {
            if (!clause_holds(m, i, terms, count, term->any)) {
                return false;
            }
        } else if (term->use <= MICA_USE_WITHOUT && has_on(m, i, term->component) != (term->use != MICA_USE_WITHOUT)) {
            return false;
        }
    }
    return !m->killed[i] &&
           (disabled == MICA_USE_DISABLED_TOO || m->disabled[i] == (disabled == MICA_USE_DISABLED_ONLY));
}

static bool writes(const mica_term *term) {
    return term->use == MICA_USE_WRITE || term->use == MICA_USE_OPTIONAL_WRITE;
}

static bool reads(const mica_term *term) {
    return writes(term) || term->use == MICA_USE_READ || term->use == MICA_USE_OPTIONAL_READ;
}

// Compares a column with the model, and gives it new numbers if it may be written.
static void check_column(model *m, const mica_iter *it, const mica_term *term) {
    const uint32_t kind = kind_of(m, term->component);
    const size_t size = kinds[kind]->size;
    uint8_t *column = writes(term) ? mica_iter_write_id(it, term->component)
                                   : (uint8_t *)(uintptr_t)mica_iter_read_id(it, term->component);
    for (int32_t row = 0; row < it->count; row++) {
        const uint32_t i = m->index_to_number[mica_entity_index(it->entities[row])];
        assert_int_equal(column != NULL, has_on(m, i, term->component));
        if (column == NULL) {
            continue;
        }
        int32_t *number = (int32_t *)(void *)(column + (size_t)row * size);
        assert_int_equal(*number, m->numbers[i][kind]);
        if (writes(term) && below(m, 4) != 0) {
            *number = m->numbers[i][kind] = m->next_number++;
        }
    }
}

// A verb or an inner walk in the middle of a span sees what the span has written by then.
static void look_from_outside(model *m, const mica_iter *it) {
    const mica_entity entity = it->entities[below(m, (uint32_t)it->count)];
    const uint32_t i = m->index_to_number[mica_entity_index(entity)];
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if (!is_tag(kind) && (m->has[i] >> kind & 1) != 0) {
            const int32_t *number = mica_entity_get(m->world, entity, m->ids[kind]);
            assert_non_null(number);
            assert_int_equal(*number, m->numbers[i][kind]);
        }
    }
}

static void walk(model *m, mica_query *query, const mica_term *terms, int32_t count) {
    memset(m->visits, 0, sizeof(m->visits));
    mica_each (query, it) {
        assert_true(it.count > 0);
        for (int32_t row = 0; row < it.count; row++) {
            assert_true(mica_entity_alive(m->world, it.entities[row]));
            m->visits[m->index_to_number[mica_entity_index(it.entities[row])]]++;
        }
        for (int32_t k = 0; k < count; k++) {
            if (reads(&terms[k])) {
                check_column(m, &it, &terms[k]);
            }
        }
        look_from_outside(m, &it);
    }
    for (uint32_t i = 0; i < m->count; i++) {
        assert_int_equal(m->visits[i], matches(m, i, terms, count));
    }
}

static void check_values(model *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
            assert_int_equal(mica_entity_has(m->world, m->entities[i], m->ids[kind]), m->has[i] >> kind & 1);
            if (!is_tag(kind) && (m->has[i] >> kind & 1) != 0) {
                const int32_t *number = mica_entity_get(m->world, m->entities[i], m->ids[kind]);
                assert_non_null(number);
                assert_int_equal(*number, m->numbers[i][kind]);
            }
        }
    }
}

static void check_answers(model *m, mica_query *query, const mica_term *terms, int32_t count) {
    static mica_entity found[ENTITY_MAX];
    uint32_t expected = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const bool is_match = matches(m, i, terms, count);
        assert_int_equal(mica_query_contains(query, m->entities[i]), is_match);
        expected += is_match;
    }
    assert_int_equal(mica_query_count(query), expected);
    assert_true(mica_query_size_hint(query) >= (int32_t)expected);
    assert_int_equal(mica_query_entities(query, found, ENTITY_MAX), expected);
    const mica_entity first = mica_query_first(query);
    assert_true(mica_entity_equal(first, expected == 0 ? MICA_NULL : found[0]));
    for (uint32_t k = 0; k < expected; k++) {
        assert_true(mica_query_contains(query, found[k]));
    }
}

// The spans of two walks over an unchanged world are the same, whether runs were known or not.
static void check_order(mica_query *query) {
    static mica_entity first[ENTITY_MAX];
    uint32_t count = 0;
    mica_each (query, it) {
        memcpy(first + count, it.entities, (size_t)it.count * sizeof(mica_entity));
        count += (uint32_t)it.count;
    }
    uint32_t again = 0;
    mica_each (query, it) {
        assert_memory_equal(first + again, it.entities, (size_t)it.count * sizeof(mica_entity));
        again += (uint32_t)it.count;
    }
    assert_int_equal(again, count);
}

static void start(model *m, uint64_t seed) {
    memset(m, 0, sizeof(*m));
    m->random.state = seed;
    m->next_number = 1;
    m->world = mica_world_create(NULL);
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        m->ids[kind] = mica_world_register(m->world, kinds[kind]);
        assert_int_not_equal(m->ids[kind], 0);
    }
}

static void run_model(uint64_t seed, bool hides) {
    static model m;
    start(&m, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t round = 0; round < 24; round++) {
        if (below(&m, 3) == 0) {
            create_alike(&m);
        }
        if (below(&m, 4) == 0) {
            regroup(&m);
        }
        if (below(&m, 4) == 0) {
            refresh(&m);
        }
        for (uint32_t k = below(&m, 200); k > 0; k--) {
            change(&m, hides);
        }
        mica_term terms[KIND_COUNT + 1];
        int32_t count = 0;
        mica_query *query = random_query(&m, terms, &count);
        check_answers(&m, query, terms, count);
        walk(&m, query, terms, count);
        walk(&m, query, terms, count);
        check_order(query);
        check_values(&m);
        assert_int_equal(mica_world_validate(m.world), MICA_OK);
        mica_query_release(query);
        if (below(&m, 6) == 0) {
            assert_int_equal(mica_world_trim(m.world), MICA_OK);
        }
    }
    mica_world_destroy(m.world);
}

static void walks_visit_what_matches_once(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        run_model(seed, false);
    }
}

static void walks_leave_out_what_is_hidden(void **state) {
    (void)state;
    for (uint64_t seed = 101; seed <= 112; seed++) {
        run_model(seed, true);
    }
}

// Two pools in different orders, so that spans over both are copies.
static mica_query *shuffled(mica_world *world, mica_entity *entities, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        entities[i] = mica_create(world);
        assert_int_equal(mica_add_value(world, entities[i], PackedNumber, {(int32_t)i}), MICA_OK);
    }
    for (uint32_t i = 0; i < count; i++) { // 7 and the counts used have no common factor
        const uint32_t k = i * 7 % count;
        assert_int_equal(mica_add_value(world, entities[k], PagedNumber, {(int32_t)k}), MICA_OK);
    }
    return mica_query_of(world, mica_read(PackedNumber), mica_write(PagedNumber));
}

enum { SHUFFLED_COUNT = 1000 };

static void orders_that_differ_are_walked_in_batches(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    int32_t spans = 0;
    mica_each (query, it) {
        spans++;
    }
    assert_int_equal(spans, (SHUFFLED_COUNT + MI_WINDOW_SIZE - 1) / MI_WINDOW_SIZE);
    mica_world_destroy(world);
}

MICA_STRUCT_WITH(Driver, (.storage = MICA_POOL), { int32_t number; });
MICA_STRUCT_WITH(Words1, (.storage = MICA_POOL), { int32_t words[1]; });
MICA_STRUCT_WITH(Words2, (.storage = MICA_POOL), { int32_t words[2]; });
MICA_STRUCT_WITH(Words3, (.storage = MICA_POOL), { int32_t words[3]; });
MICA_STRUCT_WITH(Words4, (.storage = MICA_POOL), { int32_t words[4]; });
MICA_STRUCT_WITH(Words6, (.storage = MICA_POOL), { int32_t words[6]; });

// Doubles all words of a column, each of which has to be `number` of its entity's Driver and its own place more.
static void double_words(const mica_iter *it, mica_component component, uint32_t word_count) {
    const Driver *drivers = mica_read_of(*it, Driver);
    int32_t *words = mica_iter_write_id(it, component);
    assert_non_null(words);
    for (int32_t i = 0; i < it->count; i++) {
        for (uint32_t k = 0; k < word_count; k++) {
            int32_t *word = &words[(uint32_t)i * word_count + k];
            assert_int_equal(*word, drivers[i].number + (int32_t)k);
            *word *= 2;
        }
    }
}

// Walks two pools of `count` elements in different orders, one of them with values of `type`.
static void walk_words(mica_type *type, uint32_t count) {
    mica_world *world = mica_world_create(NULL);
    mica_entity *entities = calloc(count, sizeof(*entities));
    const mica_component component = mica_world_register(world, type);
    const uint32_t word_count = type->size / 4;
    int32_t words[6];
    for (uint32_t i = 0; i < count; i++) {
        entities[i] = mica_spawn(world, mica_value_of(Driver, {(int32_t)i}));
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = i * 7 % count;
        for (uint32_t k = 0; k < word_count; k++) {
            words[k] = (int32_t)(number + k);
        }
        assert_int_equal(mica_entity_add(world, entities[number], component, words), MICA_OK);
    }
    mica_query *query = mica_query_create(
        world, (const mica_term[]){mica_read(Driver), {.component = component, .use = MICA_USE_WRITE}}, 2);
    mica_each (query, it) {
        double_words(&it, component, word_count);
    }
    for (uint32_t i = 0; i < count; i++) {
        const int32_t *value = mica_entity_get(world, entities[i], component);
        for (uint32_t k = 0; k < word_count; k++) {
            assert_int_equal(value[k], 2 * (i + k));
        }
    }
    mica_query_release(query);
    mica_world_destroy(world);
    free(entities);
}

static void values_of_every_size_are_copied_and_brought_back(void **state) {
    (void)state;
    mica_type *const types[] = {mica_type_of(Words1), mica_type_of(Words2), mica_type_of(Words3), mica_type_of(Words4),
                                mica_type_of(Words6)};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        walk_words(types[i], SHUFFLED_COUNT);
    }
    walk_words(mica_type_of(Words3), MI_FETCHED_COUNT + 1); // large enough for memory to be asked for ahead
}

// The pool drives, and the tables of its entities are asked for one by one.
static void a_small_pool_beside_a_large_table_is_walked(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    int32_t expected = 0;
    for (int32_t i = 0; i < 40000; i++) {
        const mica_entity entity = mica_spawn(world, mica_value_of(TableNumber, {i}));
        if (i % 50 == 0) {
            assert_int_equal(mica_add_value(world, entity, Words1, {{i}}), MICA_OK);
            expected++;
        }
    }
    int32_t count = 0;
    mica_each (mica_query_of(world, mica_write(TableNumber), mica_read(Words1)), it) {
        TableNumber *numbers = mica_write_of(it, TableNumber);
        const Words1 *words = mica_read_of(it, Words1);
        for (int32_t i = 0; i < it.count; i++, count++) {
            assert_int_equal(numbers[i].number, words[i].words[0]);
            numbers[i].number = -1;
        }
    }
    assert_int_equal(count, expected);
    mica_each (mica_query_of(world, mica_read(TableNumber), mica_with(Words1)), it) {
        const TableNumber *numbers = mica_read_of(it, TableNumber);
        for (int32_t i = 0; i < it.count; i++) {
            assert_int_equal(numbers[i].number, -1);
        }
    }
    mica_world_destroy(world);
}

static void a_verb_sees_what_a_span_wrote_before(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    mica_each (query, it) {
        PagedNumber *numbers = mica_write_of(it, PagedNumber);
        for (int32_t i = 0; i < it.count; i++) {
            numbers[i].number += 5000;
            const PagedNumber *seen = mica_get(world, it.entities[i], PagedNumber);
            assert_int_equal(seen->number, numbers[i].number);
        }
    }
    mica_world_destroy(world);
}

static void what_a_verb_writes_into_a_span_stays(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    mica_each (query, it) {
        PagedNumber *numbers = mica_write_of(it, PagedNumber);
        for (int32_t i = 0; i < it.count; i++) {
            if (i % 2 == 0) {
                numbers[i].number = 1;
            } else {
                assert_int_equal(mica_set(world, it.entities[i], PagedNumber, {2}), MICA_OK);
            }
        }
    }
    uint32_t sums[3] = {0};
    mica_each (mica_query_of(world, mica_read(PagedNumber)), it) {
        const PagedNumber *numbers = mica_read_of(it, PagedNumber);
        for (int32_t i = 0; i < it.count; i++) {
            sums[numbers[i].number]++;
        }
    }
    assert_int_equal(sums[1], SHUFFLED_COUNT / 2);
    assert_int_equal(sums[2], SHUFFLED_COUNT / 2);
    mica_world_destroy(world);
}

static void an_inner_walk_sees_what_the_outer_wrote(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    mica_query *inner = mica_query_of(world, mica_write(PagedNumber));
    int32_t spans = 0;
    mica_each (query, it) {
        PagedNumber *numbers = mica_write_of(it, PagedNumber);
        numbers[0].number = -1 - spans++;
        mica_each (inner, at) {
            PagedNumber *all = mica_write_of(at, PagedNumber);
            for (int32_t i = 0; i < at.count; i++) {
                if (mica_entity_equal(at.entities[i], it.entities[0])) {
                    assert_int_equal(all[i].number, -spans);
                } else if (mica_entity_equal(at.entities[i], it.entities[1])) {
                    all[i].number = -1000;
                }
            }
        }
    }
    int32_t found = 0;
    mica_each (inner, it) {
        const PagedNumber *numbers = mica_read_of(it, PagedNumber);
        for (int32_t i = 0; i < it.count; i++) {
            found += numbers[i].number == -1000;
        }
    }
    assert_int_equal(found, spans);
    mica_world_destroy(world);
}

// Goes on with a walk, which then shows nothing but `expected`.
static void assert_goes_on_with(mica_iter *it, mica_type *type, int32_t expected) {
    assert_true(mica_iter_next(it));
    const int32_t *numbers = mica_iter_read(it, type); // all values are just a number
    assert_non_null(numbers);
    for (int32_t i = 0; i < it->count; i++) {
        assert_int_equal(numbers[i], expected);
    }
}

static void a_walk_that_goes_on_sees_what_another_wrote(void **state) {
    (void)state;
    enum { COUNT = 200 }; // one span
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[COUNT];
    shuffled(world, entities, COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_add_value(world, entities[i * 11 % COUNT], TableNumber, {i}), MICA_OK);
    }
    mica_query *query =
        mica_query_of(world, mica_write(PackedNumber), mica_write(PagedNumber), mica_write(TableNumber));
    mica_iter in_table = mica_query_begin(mica_query_of(world, mica_read(TableNumber)));
    mica_iter in_pool = mica_query_begin(mica_query_of(world, mica_read(PackedNumber)));
    mica_iter copied = mica_query_begin(mica_query_of(world, mica_with(PackedNumber), mica_read(PagedNumber)));
    mica_each (query, it) {
        PackedNumber *packed = mica_write_of(it, PackedNumber);
        PagedNumber *paged = mica_write_of(it, PagedNumber);
        TableNumber *table = mica_write_of(it, TableNumber);
        for (int32_t i = 0; i < it.count; i++) {
            packed[i].number = paged[i].number = table[i].number = -7;
        }
        assert_int_equal(it.count, COUNT);
        assert_goes_on_with(&in_table, mica_type_of(TableNumber), -7);
        assert_goes_on_with(&in_pool, mica_type_of(PackedNumber), -7);
        assert_goes_on_with(&copied, mica_type_of(PagedNumber), -7);
    }
    mica_iter_end(&in_table);
    mica_iter_end(&in_pool);
    mica_iter_end(&copied);
    mica_world_destroy(world);
}

static void the_arrays_of_a_pool_show_what_a_span_wrote(void **state) {
    (void)state;
    enum { COUNT = 200 }; // one span
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[COUNT];
    mica_query *query = shuffled(world, entities, COUNT);
    const mica_component paged = mica_register(world, PagedNumber);
    mica_each (query, it) {
        PagedNumber *numbers = mica_write_of(it, PagedNumber);
        for (int32_t i = 0; i < it.count; i++) {
            numbers[i].number = -7;
        }
        const mica_pool_view seen = mica_pool_read(world, paged);
        assert_int_equal(seen.count, COUNT);
        for (int32_t i = 0; i < COUNT; i++) {
            assert_int_equal(((PagedNumber *)mica_pool_at(&seen, i))->number, -7);
        }
        numbers[0].number = -8;
        const mica_pool_view written = mica_pool_write(world, paged);
        const int32_t position = mica_pool_position(world, paged, it.entities[0]);
        assert_int_equal(((PagedNumber *)mica_pool_at(&written, position))->number, -8);
        ((PagedNumber *)mica_pool_at(&written, position))->number = -9;
    }
    assert_int_equal(mica_get(world, entities[0], PagedNumber)->number, -9);
    mica_world_destroy(world);
}

static void leaving_a_walk_early_keeps_what_was_written(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    mica_entity last = MICA_NULL;
    mica_each (query, it) {
        mica_write_of(it, PagedNumber)[it.count - 1].number = 77;
        last = it.entities[it.count - 1];
        break;
    }
    assert_int_equal(mica_get(world, last, PagedNumber)->number, 77);
    mica_world_destroy(world);
}

static void values_that_are_always_dirty_are_handed_out_in_place(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[64];
    for (int32_t i = 0; i < 64; i++) {
        entities[i] = mica_spawn(world, mica_value_of(PackedNumber, {i}));
    }
    for (int32_t i = 64; i-- > 0;) {
        assert_int_equal(mica_add_value(world, entities[i], DirtyNumber, {i}), MICA_OK);
    }
    int32_t count = 0;
    mica_each (mica_query_of(world, mica_read(PackedNumber), mica_read(DirtyNumber)), it) {
        const DirtyNumber *numbers = mica_read_of(it, DirtyNumber);
        for (int32_t i = 0; i < it.count; i++, count++) {
            assert_ptr_equal(&numbers[i], mica_get(world, it.entities[i], DirtyNumber));
        }
    }
    assert_int_equal(count, 64);
    mica_world_destroy(world);
}

static void the_smaller_pool_drives_and_of_equal_ones_the_first_by_name(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[10];
    for (int32_t i = 0; i < 10; i++) {
        entities[i] = mica_spawn(world, mica_value_of(PagedNumber, {i}));
    }
    for (int32_t i = 10; i-- > 5;) {
        assert_int_equal(mica_add_value(world, entities[i], PackedNumber, {i}), MICA_OK);
    }
    mica_query *query = mica_query_of(world, mica_read(PackedNumber), mica_read(PagedNumber));
    assert_true(mica_entity_equal(mica_query_first(query), entities[9])); // the order of the pool of five
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(mica_add_value(world, entities[i], PackedNumber, {i}), MICA_OK);
    }
    assert_true(mica_entity_equal(mica_query_first(query), entities[9])); // PackedNumber comes first
    assert_int_equal(mica_remove(world, entities[4], PagedNumber), MICA_OK);
    assert_true(mica_entity_equal(mica_query_first(query), entities[0])); // PagedNumber is the smaller one now
    mica_world_destroy(world);
}

static void of_groups_alike_the_first_by_name_drives_whatever_was_registered_first(void **state) {
    (void)state;
    for (int32_t order = 0; order < 2; order++) {
        mica_world *world = mica_world_create(NULL);
        mica_world_register(world, order == 0 ? mica_type_of(PackedNumber) : mica_type_of(PagedNumber));
        mica_entity entities[2];
        for (int32_t i = 0; i < 2; i++) {
            entities[i] = mica_spawn(world, mica_value_of(PackedNumber, {i}));
        }
        for (int32_t i = 2; i-- > 0;) {
            assert_int_equal(mica_add_value(world, entities[i], PagedNumber, {i}), MICA_OK);
        }
        assert_non_null(mica_group_create(
            world, &(mica_group_def){.owned = {mica_type_of(PagedNumber)}, .with = {mica_type_of(PackedNumber)}}));
        assert_non_null(mica_group_create(
            world, &(mica_group_def){.owned = {mica_type_of(PackedNumber)}, .with = {mica_type_of(PagedNumber)}}));
        mica_query *query = mica_query_of(world, mica_read(PackedNumber), mica_read(PagedNumber));
        assert_true(mica_entity_equal(mica_query_first(query), entities[0]));
        mica_world_destroy(world);
    }
}

static void an_any_of_clause_of_pools_walks_those_pools_alone(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    for (int32_t i = 0; i < 100; i++) {
        mica_spawn(world, mica_value_of(TableNumber, {i}));
    }
    const mica_entity both = mica_spawn(world, mica_value_of(PackedNumber, {1}), mica_value_of(PagedNumber, {2}));
    const mica_entity second = mica_spawn(world, mica_value_of(PagedNumber, {3}));
    mica_query *query = mica_query_of(world, mica_any_read(1, PackedNumber), mica_any_read(1, PagedNumber));
    mica_entity found[4];
    assert_int_equal(mica_query_entities(query, found, 4), 2);
    assert_true(mica_entity_equal(found[0], both));
    assert_true(mica_entity_equal(found[1], second));
    mica_world_destroy(world);
}

static void a_walk_allocates_nothing_the_second_time(void **state) {
    (void)state;
    watched_world watched;
    watched_begin(&watched);
    mica_world *world = watched.world;
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = shuffled(world, entities, SHUFFLED_COUNT);
    mica_each (query, it) {
        assert_non_null(mica_write_of(it, PagedNumber));
    }
    const uint64_t count = watched.allocator.call_count;
    mica_each (query, it) {
        assert_non_null(mica_write_of(it, PagedNumber));
    }
    assert_int_equal(watched.allocator.call_count, count);
    watched_end(&watched);
}

static void trimming_frees_what_a_query_remembers_of_walks(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    mica_entity entities[SHUFFLED_COUNT];
    mica_query *query = mica_query_retain(shuffled(world, entities, SHUFFLED_COUNT));
    assert_int_equal(mica_query_count(query), SHUFFLED_COUNT);
    assert_int_equal(mica_world_trim(world), MICA_OK);
    const uint64_t before = mica_world_memory(world).bytes[MICA_MEMORY_QUERIES];
    for (int32_t i = 0; i < 3; i++) { // finds runs, reads them, and finds them again
        mica_each (query, it) {
            assert_non_null(mica_write_of(it, PagedNumber));
        }
        assert_true(mica_world_memory(world).bytes[MICA_MEMORY_QUERIES] > before);
        if (i == 1) {
            assert_int_equal(mica_world_trim(world), MICA_OK);
            assert_int_equal(mica_world_memory(world).bytes[MICA_MEMORY_QUERIES], before);
        }
    }
    mica_query_release(query);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_visit_what_matches_once),
        cmocka_unit_test(walks_leave_out_what_is_hidden),
        cmocka_unit_test(orders_that_differ_are_walked_in_batches),
        cmocka_unit_test(values_of_every_size_are_copied_and_brought_back),
        cmocka_unit_test(a_small_pool_beside_a_large_table_is_walked),
        cmocka_unit_test(a_verb_sees_what_a_span_wrote_before),
        cmocka_unit_test(what_a_verb_writes_into_a_span_stays),
        cmocka_unit_test(an_inner_walk_sees_what_the_outer_wrote),
        cmocka_unit_test(a_walk_that_goes_on_sees_what_another_wrote),
        cmocka_unit_test(the_arrays_of_a_pool_show_what_a_span_wrote),
        cmocka_unit_test(leaving_a_walk_early_keeps_what_was_written),
        cmocka_unit_test(values_that_are_always_dirty_are_handed_out_in_place),
        cmocka_unit_test(the_smaller_pool_drives_and_of_equal_ones_the_first_by_name),
        cmocka_unit_test(of_groups_alike_the_first_by_name_drives_whatever_was_registered_first),
        cmocka_unit_test(an_any_of_clause_of_pools_walks_those_pools_alone),
        cmocka_unit_test(a_walk_allocates_nothing_the_second_time),
        cmocka_unit_test(trimming_frees_what_a_query_remembers_of_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
