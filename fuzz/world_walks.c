// Queries, orders and walks of the fuzzer of worlds. What a query says is checked against a naive look at every entity;
// what is written through spans is remembered, and must be read everywhere afterwards.
#include "fuzz_world.h"

// Naive answers

static bool is_there(const fuzz *f, const mica_term *term, mica_entity entity) {
    return mica_entity_component_enabled(f->world, entity, term->component);
}

static bool matches(const fuzz *f, const fuzz_query *asked, mica_entity entity) {
    bool is_shown = mica_entity_enabled(f->world, entity);
    uint32_t clauses = 0;
    uint32_t kept_clauses = 0;
    for (int32_t i = 0; i < asked->term_count; i++) {
        const mica_term *term = &asked->terms[i];
        if (term->use == MICA_USE_DISABLED_TOO || term->use == MICA_USE_DISABLED_ONLY) {
            is_shown = term->use == MICA_USE_DISABLED_TOO || !mica_entity_enabled(f->world, entity);
            continue;
        }
        const bool there = is_there(f, term, entity);
        if (term->any != 0) {
            clauses |= 1u << term->any;
            kept_clauses |= (uint32_t)there << term->any;
        } else if (term->use == MICA_USE_WITHOUT ? there : term->use <= MICA_USE_WITH && !there) {
            return false;
        }
    }
    return mica_entity_alive(f->world, entity) && !mica_entity_killed(f->world, entity) && is_shown &&
           clauses == kept_clauses;
}

void check_queries(fuzz *f) {
    static mica_entity entities[ENTITY_LIMIT + 2048];
    const mica_term everybody = {.use = MICA_USE_DISABLED_TOO};
    if (may_refuse(f)) { // in a world of fixed capacity
        return;
    }
    const int32_t count = mica_query_entities(mica_query_find(f->world, &everybody, 1), entities,
                                              (int32_t)(sizeof(entities) / sizeof(entities[0])));
    FUZZ_CHECK(count <= mica_world_entity_count(f->world), "");
    for (uint32_t place = 0; place < QUERY_COUNT && count <= 1000; place++) {
        fuzz_query *asked = &f->queries[place];
        int32_t expected = 0;
        for (int32_t i = 0; i < count && asked->query != NULL; i++) {
            const bool does_match = matches(f, asked, entities[i]);
            FUZZ_CHECK(mica_query_contains(asked->query, entities[i]) == does_match, mica_query_text(asked->query));
            expected += does_match;
        }
        FUZZ_CHECK(asked->query == NULL || mica_query_count(asked->query) == expected, mica_query_text(asked->query));
    }
    for (uint32_t i = 0; i < HANDLE_COUNT; i++) {
        const bool is_seen = mica_entity_alive(f->world, f->handles[i]) && !mica_entity_killed(f->world, f->handles[i]);
        FUZZ_CHECK(mica_query_contains(mica_query_find(f->world, &everybody, 1), f->handles[i]) == is_seen, "");
    }
}

// Making queries

int32_t make_terms(fuzz *f, mica_term *terms) {
    const int32_t count = (int32_t)pick(f, BATCH_MAX);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t number = pick(f, 256);
        const bool is_in_lanes = number >= LANED + 2 && number < LANED + 8; // 'R' to 'W'; 'P' and 'Q': who is seen
        const uint32_t component = is_in_lanes ? LANED + number % 2 : number % (LANED + 2);
        const uint32_t use = pick(f, 32);
        if (component >= LANED && !is_in_lanes) {
            terms[i] =
                (mica_term){.use = (uint8_t)(component == LANED ? MICA_USE_DISABLED_TOO : MICA_USE_DISABLED_ONLY)};
            continue;
        }
        terms[i] = (mica_term){.component = f->ids[component],
                               .use = (uint8_t)(1 + use % MICA_USE_OPTIONAL_WRITE),
                               .any = (uint8_t)(use < 24 ? 0 : 1 + use % 2)};
    }
    return count;
}

// Puts a query into its place unless one is walked.
static void place_query(fuzz *f, uint32_t place, const fuzz_query *made) {
    if (made->query == NULL) {
        check(f, mica_last_result());
        return;
    }
    const fuzz_query left = f->walk_count == 0 ? f->queries[place] : *made;
    if (f->walk_count == 0) {
        f->queries[place] = *made;
    }
    mica_query_release(left.query);
}

void do_query(fuzz *f) {
    const uint32_t place = pick(f, QUERY_COUNT);
    fuzz_query made = {0};
    made.term_count = make_terms(f, made.terms);
    made.query = mica_query_create(f->world, made.terms, made.term_count);
    place_query(f, place, &made);
}

// Forms of a term in a text, and what they mean.
static const struct {
    const char *pattern; // of the name
    uint8_t use;
    uint8_t any;
} text_forms[] = {
    {"%s", MICA_USE_READ, 0},
    {"[write] %s", MICA_USE_WRITE, 0},
    {" [with]%s ", MICA_USE_WITH, 0},
    {"!%s", MICA_USE_WITHOUT, 0},
    {"?%s", MICA_USE_OPTIONAL_READ, 0},
    {"[write] ? \"%s\"", MICA_USE_OPTIONAL_WRITE, 0},
    {"[any 1] %s", MICA_USE_READ, 1},
    {"[any 2] [write] %s", MICA_USE_WRITE, 2},
    {"[any 1] [with] %s", MICA_USE_WITH, 1},
    {"[read] \"%s\"", MICA_USE_READ, 0},
    {"[disabled too]", MICA_USE_DISABLED_TOO, 0},
    {"[disabled only]", MICA_USE_DISABLED_ONLY, 0},
};

void do_query_text(fuzz *f) {
    enum { FORM_COUNT = sizeof(text_forms) / sizeof(text_forms[0]), TERM_BYTES = 64 };
    char text[BATCH_MAX * TERM_BYTES] = "";
    size_t length = 0;
    const uint32_t place = pick(f, QUERY_COUNT);
    fuzz_query made = {.term_count = (int32_t)pick(f, BATCH_MAX)};
    for (int32_t i = 0; i < made.term_count; i++) {
        const uint32_t component = pick_component(f);
        const uint32_t form = pick(f, FORM_COUNT);
        const uint8_t use = text_forms[form].use;
        made.terms[i] = (mica_term){.use = use};
        if (use < MICA_USE_DISABLED_TOO) {
            const bool is_plain_tag = (form == 0 || form == 6) && is_tag(component); // no word in front of its name
            made.terms[i] = (mica_term){.component = f->ids[component],
                                        .use = is_plain_tag ? (uint8_t)MICA_USE_WITH : use,
                                        .any = text_forms[form].any};
        }
        char name[TERM_BYTES];
        (void)snprintf(name, sizeof(name), "%s", component_types[component]->name);
        length += (size_t)snprintf(text + length, sizeof(text) - length, i == 0 ? "" : ",");
        length += (size_t)snprintf(text + length, sizeof(text) - length, text_forms[form].pattern, name);
    }
    made.query = mica_query_create_text(f->world, text);
    if (made.query != NULL && !may_refuse(f)) {
        FUZZ_CHECK(mica_query_find(f->world, made.terms, made.term_count) == made.query, text);
        mica_query *again = mica_query_create_text(f->world, mica_query_text(made.query));
        FUZZ_CHECK(again == made.query, mica_query_text(made.query));
        mica_query_release(again);
    }
    place_query(f, place, &made);
}

// A query that has to look at new tables needs memory, and knows of nothing without.
void do_ask(fuzz *f) {
    const fuzz_query *asked = &f->queries[pick(f, QUERY_COUNT)];
    mica_query *query = asked->query;
    const mica_entity entity = pick_target(f);
    if (query == NULL) {
        return;
    }
    char text[64];
    mica_entity entities[BATCH_MAX] = {MICA_NULL};
    const bool may_fail = may_refuse(f);
    const size_t length = mica_query_explain(query, entity, text, sizeof(text));
    const bool contains = mica_query_contains(query, entity);
    const int32_t count = mica_query_count(query);
    const int32_t hint = mica_query_size_hint(query);
    const int32_t listed_count = mica_query_entities(query, entities, BATCH_MAX);
    const mica_entity first = mica_query_first(query);
    FUZZ_CHECK(memchr(text, '\0', sizeof(text)) != NULL, "");
    FUZZ_CHECK(contains == matches(f, asked, entity) || may_fail, mica_query_text(query));
    FUZZ_CHECK(!contains || matches(f, asked, entity), mica_query_text(query));
    FUZZ_CHECK(count <= mica_world_entity_count(f->world), "");
    if (may_fail) {
        return;
    }
    FUZZ_CHECK(length > 0 && count <= hint && count >= contains && listed_count == count, "");
    FUZZ_CHECK(mica_entity_equal(entities[0], first) && mica_entity_is_null(first) == (count == 0), "");
    for (int32_t i = 0; i < listed_count && i < BATCH_MAX; i++) {
        FUZZ_CHECK(mica_query_contains(query, entities[i]), "a query lists what it does not contain");
    }
}

// Walks

// What a span hands out for reading is what the entity has. A copy that was taken before may show what was there then,
// so this is asked of new spans alone.
static void check_column(fuzz *f, const mica_iter *it, uint32_t component) {
    const uint8_t *column = mica_iter_read_id(it, f->ids[component]);
    if (column == NULL) {
        return;
    }
    const size_t size = mica_schema_info(mica_world_schema(f->world), f->ids[component])->size;
    const int32_t rows[] = {0, it->count / 2, it->count - 1};
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint8_t *value = column + (size_t)rows[i] * size;
        const mica_entity entity = it->entities[rows[i]];
        volatile uint8_t last = value[size - 1];
        (void)last;
        // Asking brings back what other walks hold, so that this is left out at times.
        if (f->stamp % 3 != 0) {
            const void *own = mica_entity_get(f->world, entity, f->ids[component]);
            FUZZ_CHECK(own != NULL && memcmp(own, value, size) == 0,
                       mica_schema_info(mica_world_schema(f->world), f->ids[component])->name);
        }
    }
}

static void write_column(fuzz *f, const mica_iter *it, uint32_t component) {
    const mica_component_info *info = mica_schema_info(mica_world_schema(f->world), f->ids[component]);
    uint8_t *column = mica_iter_write_id(it, f->ids[component]);
    const int32_t step = 1 + f->stamp % 3;
    for (int32_t i = 0; i < it->count && column != NULL; i++) {
        note_written(f, it->entities[i], component);
    }
    for (int32_t i = 0; i < it->count && column != NULL; i += step) {
        const int32_t number = ++f->stamp;
        memcpy(column + (size_t)i * info->size, &number, sizeof(number));
        remember_written(f, it->entities[i], component, number);
    }
}

// A field of a span: what its lane holds are the fields of the values that its entities have.
static void check_lane(fuzz *f, const mica_iter *it, uint32_t component, size_t offset, size_t size) {
    const uint8_t *lane = mica_iter_read_lane_id(it, f->ids[component], (uint32_t)offset, (uint32_t)size);
    const int32_t rows[] = {0, it->count / 2, it->count - 1};
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && lane != NULL; i++) {
        any_value own;
        any_value loaded;
        FUZZ_CHECK(mica_entity_load(f->world, it->entities[rows[i]], f->ids[component], &own), mica_last_error());
        FUZZ_CHECK(mica_iter_load_id(it, f->ids[component], rows[i], &loaded) == MICA_OK, mica_last_error());
        check_value(component, &own);
        FUZZ_CHECK(memcmp(&own, &loaded, component_types[component]->size) == 0, component_types[component]->name);
        FUZZ_CHECK(memcmp((const uint8_t *)&own + offset, lane + (size_t)rows[i] * size, size) == 0,
                   component_types[component]->name);
    }
}

static void *write_lane(const fuzz *f, const mica_iter *it, uint32_t component, size_t offset, size_t size) {
    return mica_iter_write_lane_id(it, f->ids[component], (uint32_t)offset, (uint32_t)size);
}

#define LANE_OF(T, FIELD) offsetof(T, FIELD), sizeof(((T *)NULL)->FIELD)

// Spread lane by lane.
static void write_spread(fuzz *f, const mica_iter *it) {
    int32_t *now = write_lane(f, it, SPREAD, LANE_OF(Spread, now));
    float *half = write_lane(f, it, SPREAD, LANE_OF(Spread, half));
    int32_t *turned = write_lane(f, it, SPREAD, LANE_OF(Spread, turned));
    int16_t(*low)[2] = write_lane(f, it, SPREAD, LANE_OF(Spread, low));
    for (int32_t i = 0; i < it->count && low != NULL; i++) {
        Spread value;
        number_value(SPREAD, &value, ++f->stamp);
        now[i] = value.now;
        half[i] = value.half;
        turned[i] = value.turned;
        memcpy(low[i], value.low, sizeof(value.low));
        note_written(f, it->entities[i], SPREAD);
        remember_written(f, it->entities[i], SPREAD, value.now);
    }
}

// Strewn value by value, of which some are left alone; the span is marked as a whole.
static void write_strewn(fuzz *f, const mica_iter *it) {
    const int32_t step = 1 + f->stamp % 3;
    bool is_written = false;
    for (int32_t i = 0; i < it->count; i += step) {
        any_value value;
        number_value(STREWN, &value, ++f->stamp);
        if (mica_iter_store_id(it, f->ids[STREWN], i, &value) == MICA_OK) {
            remember_written(f, it->entities[i], STREWN, value.strewn.now);
            is_written = true;
        }
    }
    for (int32_t i = 0; i < it->count && is_written; i++) {
        note_written(f, it->entities[i], STREWN);
    }
}

static void touch_lanes(fuzz *f, const mica_iter *it) {
    check_lane(f, it, SPREAD, LANE_OF(Spread, now));
    check_lane(f, it, SPREAD, LANE_OF(Spread, who));
    check_lane(f, it, SPREAD, LANE_OF(Spread, low));
    check_lane(f, it, STREWN, LANE_OF(Strewn, turned));
    write_spread(f, it);
    write_strewn(f, it);
}

static void touch_span(fuzz *f, const mica_iter *it) {
    FUZZ_CHECK(it->count > 0, "a span without rows");
    for (int32_t i = 0; i < it->count; i++) {
        FUZZ_CHECK(mica_entity_alive(f->world, it->entities[i]), "a walk over the dead");
    }
    FUZZ_CHECK(mica_query_contains(it->query, it->entities[0]) || may_refuse(f), mica_query_text(it->query));
    f->stamp++;
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        check_column(f, it, i);
    }
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        if (is_numbered(i) && !is_laned(i)) {
            write_column(f, it, i);
        }
    }
    touch_lanes(f, it);
}

// Neither structure nor what is seen changes during a walk: one that goes to the end visits what is counted before.
void walk(fuzz *f, mica_iter it) {
    if (!it.open) {
        return;
    }
    f->depth++;
    f->walk_count++;
    const int32_t count = mica_query_count(it.query);
    const bool is_counted = !may_refuse(f);
    int32_t visited = 0;
    const uint32_t limit = 1 + pick(f, 64);
    bool is_at_end = false;
    for (uint32_t i = 0; i < limit && !is_at_end; i++) {
        is_at_end = !mica_iter_next(&it);
        if (is_at_end) {
            break;
        }
        visited += it.count;
        touch_span(f, &it);
        if (i < 3) {
            run_inside(f, mica_iter_commands(it));
        }
    }
    FUZZ_CHECK(!is_at_end || !is_counted || may_refuse(f) || visited == count,
               "a walk does not visit what its query counts");
    f->walk_count--;
    if (f->walk_count == 0) {
        check_written(f);
    }
    mica_iter_end(&it);
    if (f->walk_count == 0) { // commands have been applied
        forget_all_written(f);
    }
    f->depth--;
}

void do_walk(fuzz *f) {
    mica_query *query = f->queries[pick(f, QUERY_COUNT)].query;
    if (query == NULL) {
        query = mica_query_find(f->world, NULL, 0);
    }
    walk(f, mica_query_begin(query));
}

// Two walks that go on by turns.
void do_walk_two(fuzz *f) {
    mica_iter walks[2] = {{0}};
    f->depth++;
    for (uint32_t i = 0; i < 2; i++) {
        mica_query *query = f->queries[pick(f, QUERY_COUNT)].query;
        walks[i] = query == NULL ? (mica_iter){0} : mica_query_begin(query);
        f->walk_count += walks[i].open;
    }
    for (uint32_t left = pick(f, 32); left > 0; left--) {
        mica_iter *it = &walks[pick(f, 2)];
        if (it->open && mica_iter_next(it)) {
            touch_span(f, it);
        } else {
            f->walk_count -= it->open;
            mica_iter_end(it);
            check_written(f);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        f->walk_count -= walks[i].open;
        mica_iter_end(&walks[i]);
    }
    if (f->walk_count == 0) { // commands of earlier walks, too, have been applied
        forget_all_written(f);
    }
    f->depth--;
}

// Orders

static int by_number(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    const int32_t left = number_of(a->value) / 4; // with equal ones
    const int32_t right = number_of(b->value) / 4;
    return (left > right) - (left < right);
}

static int by_index(const mica_element *a, const mica_element *b, void *user) {
    (void)user;
    const uint32_t left = mica_entity_index(a->entity) / 2;
    const uint32_t right = mica_entity_index(b->entity) / 2;
    return (left < right) - (left > right);
}

static const void *key_of(const fuzz *f, const fuzz_order *sorted, mica_entity entity) {
    return sorted->key < COMPONENT_COUNT ? mica_entity_get(f->world, entity, f->ids[sorted->key]) : NULL;
}

static int32_t place_of(const mica_entity *entities, int32_t count, mica_entity entity) {
    int32_t place = 0;
    while (place < count && !mica_entity_equal(entities[place], entity)) {
        place++;
    }
    return place;
}

// Sorted and complete; equal ones in the query's order, where that is not too much to ask.
static void check_sorted(fuzz *f, const fuzz_order *sorted) {
    enum { LOOKED_UP_MAX = 128 };
    mica_entity entities[LOOKED_UP_MAX];
    const int32_t count = mica_query_entities(sorted->query, entities, LOOKED_UP_MAX);
    const mica_compare_function compare = sorted->key < COMPONENT_COUNT ? by_number : by_index;
    int32_t visited = 0;
    mica_entity last = MICA_NULL;
    f->depth++;
    f->walk_count++;
    mica_each (sorted->order, it) {
        for (int32_t i = 0; i < it.count; i++, visited++) {
            const mica_entity entity = it.entities[i];
            const mica_element left = {last, visited == 0 ? NULL : key_of(f, sorted, last)};
            const mica_element right = {entity, key_of(f, sorted, entity)};
            const int difference = visited == 0 ? -1 : compare(&left, &right, NULL);
            FUZZ_CHECK(difference <= 0, "not in order");
            FUZZ_CHECK(difference < 0 || count > LOOKED_UP_MAX ||
                           place_of(entities, count, last) < place_of(entities, count, entity),
                       "equal ones are not in the query's order");
            last = entity;
        }
    }
    f->walk_count--;
    f->depth--;
    FUZZ_CHECK(visited == count, "an order does not visit what its query counts");
}

void do_order(fuzz *f) {
    fuzz_order *place = &f->orders[pick(f, ORDER_COUNT)];
    const fuzz_query *asked = &f->queries[pick(f, QUERY_COUNT)];
    fuzz_order made = {.key = pick(f, LANED + 1)};
    if (made.key == LANED) {
        made.key = COMPONENT_COUNT;
    } else if (!is_numbered(made.key)) {
        made.key = SPEED;
    }
    const bool has_key = made.key < COMPONENT_COUNT;
    made.order = mica_order_create(asked->query, has_key ? f->ids[made.key] : 0, has_key ? by_number : by_index, NULL);
    if (made.order == NULL) {
        check(f, mica_last_result());
        return;
    }
    made.query = mica_query_retain(asked->query);
    mica_order_destroy(place->order);
    mica_query_release(place->query);
    *place = made;
}

void do_order_walk(fuzz *f) {
    const fuzz_order *sorted = &f->orders[pick(f, ORDER_COUNT)];
    if (sorted->order == NULL) {
        return;
    }
    if (pick(f, 2) == 0) {
        walk(f, mica_order_begin(sorted->order));
    } else if (f->walk_count == 0 && !may_refuse(f)) {
        check_sorted(f, sorted);
    }
}
