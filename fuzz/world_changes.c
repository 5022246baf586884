// Changes, indexes and subscriptions of the fuzzer of worlds. A follower asks again and again for what has changed, was
// added or was removed since it last asked, outside systems or as a system, and must be given what observers have heard
// and what was handed out for writing meanwhile. Indexes are compared with a look at every entity; a subscription's
// list with what it has told before.
#include "fuzz_world.h"

static const char *const follower_names[FOLLOWER_COUNT] = {"f0", "f1", "f2", "f3"};

// What a follower must find

static void expect(fuzz_follower *follower, mica_entity entity) {
    if (follower->count == FOLLOWED_MAX) {
        follower->is_lost = true;
        return;
    }
    follower->entities[follower->count++] = entity;
}

static void forget_expected(fuzz_follower *follower) {
    follower->count = 0;
    follower->is_lost = false;
    follower->fail_count = count_failures(follower->f);
}

void note_written(fuzz *f, mica_entity entity, uint32_t component) {
    for (uint32_t i = 0; i < FOLLOWER_COUNT; i++) {
        fuzz_follower *follower = &f->followers[i];
        if (follower->query != NULL && follower->use == MICA_USE_CHANGED && follower->component == component &&
            !mica_entity_is_placeholder(entity)) { // tombstones
            expect(follower, entity);
        }
    }
}

static void hear_change(const mica_signal *signal) {
    expect(signal->user, signal->entity);
}

static int by_handle(const void *a, const void *b) {
    const mica_entity *left = a;
    const mica_entity *right = b;
    const uint32_t keys[2][2] = {{mica_entity_index(*left), mica_entity_generation(*left)},
                                 {mica_entity_index(*right), mica_entity_generation(*right)}};
    const uint32_t part = keys[0][0] == keys[1][0];
    return (keys[0][part] > keys[1][part]) - (keys[0][part] < keys[1][part]);
}

static bool is_shown(const fuzz *f, const fuzz_follower *follower, mica_entity entity) {
    return follower->use == MICA_USE_REMOVED ||
           (mica_entity_alive(f->world, entity) && !mica_entity_killed(f->world, entity) &&
            mica_entity_enabled(f->world, entity) &&
            mica_entity_component_enabled(f->world, entity, f->ids[follower->component]));
}

// Sorts what must be found, once each, without those who cannot be seen any more.
static void settle_expected(const fuzz *f, fuzz_follower *follower) {
    int32_t kept_count = 0;
    qsort(follower->entities, (size_t)follower->count, sizeof(mica_entity), by_handle);
    for (int32_t i = 0; i < follower->count; i++) {
        const mica_entity entity = follower->entities[i];
        const bool is_first = kept_count == 0 || !mica_entity_equal(follower->entities[kept_count - 1], entity);
        if (is_first && is_shown(f, follower, entity)) {
            follower->entities[kept_count++] = entity;
        }
    }
    follower->count = kept_count;
}

// Sorts what was found.
static void compare(const fuzz *f, fuzz_follower *follower, mica_entity *found, int32_t found_count) {
    const bool is_exact = follower->use != MICA_USE_CHANGED || component_types[follower->component]->traits.track_rows;
    qsort(found, (size_t)found_count, sizeof(mica_entity), by_handle);
    for (int32_t i = 1; i < found_count; i++) {
        FUZZ_CHECK(!mica_entity_equal(found[i - 1], found[i]), "found twice");
    }
    if (follower->is_lost || count_failures(f) != follower->fail_count) {
        return;
    }
    settle_expected(f, follower);
    int32_t at = 0;
    for (int32_t i = 0; i < follower->count; i++, at++) {
        while (at < found_count && by_handle(&found[at], &follower->entities[i]) < 0) {
            FUZZ_CHECK(!is_exact, "found although nothing happened to it");
            at++;
        }
        FUZZ_CHECK(at < found_count && mica_entity_equal(found[at], follower->entities[i]), "a change that is lost");
    }
    FUZZ_CHECK(!is_exact || at == found_count, "found although nothing happened to it");
}

// Walks to the end and compares. `is_first`: since version 0, where everything counts.
static void follow(fuzz *f, fuzz_follower *follower, mica_iter it, bool is_first) {
    static mica_entity found[FOLLOWED_MAX];
    int32_t count = 0;
    bool is_cut = is_first;
    f->depth++;
    f->walk_count++;
    while (mica_iter_next(&it)) {
        for (int32_t i = 0; i < it.count; i++) {
            FUZZ_CHECK(mica_entity_alive(f->world, it.entities[i]) || follower->use == MICA_USE_REMOVED, "");
            is_cut |= count == FOLLOWED_MAX;
            if (!is_cut) {
                found[count++] = it.entities[i];
            }
        }
    }
    mica_iter_end(&it);
    f->walk_count--;
    f->depth--;
    if (!is_cut && !may_refuse(f)) {
        compare(f, follower, found, count);
    }
    forget_expected(follower);
}

static void run_follower(mica_run *run) {
    fuzz_follower *follower = mica_run_user(run);
    fuzz *f = follower->f;
    f->depth++;
    const mica_iter it = mica_run_begin(run);
    if (it.open) {
        follow(f, follower, it, mica_run_since(run) == 0);
    } else {
        check(f, mica_last_result());
        mica_run_fail(run, mica_last_result(), "cannot walk");
    }
    f->depth--;
}

// Followers come and go

static void drop_follower(fuzz *f, fuzz_follower *follower) {
    for (uint32_t i = 0; i < 2; i++) {
        FUZZ_CHECK(follower->observers[i].id == 0 ||
                       mica_observer_disconnect(f->world, follower->observers[i]) == MICA_OK,
                   mica_last_error());
    }
    FUZZ_CHECK(follower->system.id == 0 || mica_system_remove(f->world, follower->system) == MICA_OK,
               mica_last_error());
    mica_query_release(follower->query);
    *follower = (fuzz_follower){0};
}

static bool make_observers(fuzz *f, fuzz_follower *follower) {
    const bool is_tagged = is_tag(follower->component);
    mica_observer_def def = {.on = follower->use == MICA_USE_REMOVED ? MICA_REMOVED : MICA_ADDED,
                             .component = f->ids[follower->component],
                             .call = hear_change,
                             .user = follower};
    follower->observers[0] = mica_observer_connect(f->world, &def);
    bool is_made = follower->observers[0].id != 0;
    if (is_made && follower->use == MICA_USE_CHANGED && !is_tagged) {
        def.on = MICA_SET;
        follower->observers[1] = mica_observer_connect(f->world, &def);
        is_made = follower->observers[1].id != 0;
    }
    return is_made;
}

static bool make_system(fuzz *f, fuzz_follower *follower, const mica_term *terms, uint32_t place) {
    mica_system_def def = {
        .name = follower_names[place], .run = run_follower, .user = follower, .stage = (mica_stage)pick(f, 9)};
    memcpy(def.query, terms, 2 * sizeof(*terms));
    follower->system = mica_system_add(f->world, &def);
    return follower->system.id != 0;
}

static void make_follower(fuzz *f, fuzz_follower *follower, uint32_t place) {
    const uint32_t component = pick_component(f);
    const mica_use use = (mica_use)(MICA_USE_CHANGED + pick(f, 3));
    const uint32_t options = pick(f, 4);
    const mica_term terms[2] = {
        {.component = f->ids[component], .use = (uint8_t)use},
        {.component = f->ids[component],
         .use = (uint8_t)(use == MICA_USE_REMOVED || (options & 1) == 0 ? MICA_USE_NONE : MICA_USE_WITH)}};
    *follower = (fuzz_follower){.f = f, .component = component, .use = use};
    follower->query = mica_query_create(f->world, terms, terms[1].use == MICA_USE_NONE ? 1 : 2);
    bool is_made = follower->query != NULL && make_observers(f, follower);
    if (is_made && (options & 2) != 0) {
        is_made = make_system(f, follower, terms, place);
    }
    if (is_made) {
        follower->version = mica_world_advance_version(f->world);
        forget_expected(follower);
    } else {
        check(f, mica_last_result());
        drop_follower(f, follower);
    }
}

static void ask_outside(fuzz *f, fuzz_follower *follower) {
    const uint64_t version = mica_world_advance_version(f->world);
    const mica_iter it = mica_query_begin_since(follower->query, follower->version);
    FUZZ_CHECK(version >= follower->version && version < mica_world_version(f->world), "");
    if (it.open) {
        follow(f, follower, it, false);
    } else {
        check(f, mica_last_result()); // with MICA_LIMIT after many ticks
        forget_expected(follower);
    }
    follower->version = version;
}

// Inside walks and callbacks a change may have been told and not be made yet, or the other way round: nothing is
// compared there.
static void ask_inside(const fuzz *f, const fuzz_follower *follower) {
    mica_iter it = mica_query_begin_since(follower->query, follower->version);
    while (mica_iter_next(&it)) {
        FUZZ_CHECK(it.count > 0, "a span without rows");
        FUZZ_CHECK(mica_entity_alive(f->world, it.entities[0]) || follower->use == MICA_USE_REMOVED, "");
    }
    mica_iter_end(&it);
}

void do_follow(fuzz *f) {
    const uint32_t place = pick(f, FOLLOWER_COUNT);
    fuzz_follower *follower = &f->followers[place];
    if (f->depth > 0) {
        if (follower->query != NULL) {
            ask_inside(f, follower);
        }
    } else if (follower->query == NULL) {
        make_follower(f, follower, place);
    } else if (pick(f, 8) == 7) {
        drop_follower(f, follower);
    } else if (follower->system.id == 0) {
        ask_outside(f, follower);
    } else {
        check(f, mica_system_enable(f->world, follower->system, pick(f, 4) != 0));
    }
}

// Writes some rows of each span, and marks these.
void do_mark(fuzz *f) {
    const uint32_t component = pick_component(f);
    const uint32_t step = 1 + pick(f, 4);
    const mica_term term = {.component = f->ids[component], .use = MICA_USE_WRITE_MARKED};
    mica_query *query = mica_query_find(f->world, &term, 1);
    mica_iter it = mica_query_begin(query);
    if (!is_numbered(component) || !it.open) {
        mica_iter_end(&it);
        return;
    }
    f->walk_count++;
    const size_t size = mica_schema_info(mica_world_schema(f->world), term.component)->size;
    while (mica_iter_next(&it)) {
        uint8_t *column = is_laned(component) ? NULL : mica_iter_write_id(&it, term.component);
        for (int32_t i = 0; i < it.count && (column != NULL || is_laned(component)); i += (int32_t)step) {
            const int32_t number = ++f->stamp % 8;
            if (is_laned(component)) {
                any_value value = {.spread = {.who = MICA_NULL}};
                number_value(component, &value, number);
                FUZZ_CHECK(mica_iter_store_id(&it, term.component, i, &value) == MICA_OK, mica_last_error());
            } else {
                memcpy(column + (size_t)i * size, &number, sizeof(number));
                FUZZ_CHECK(mica_iter_mark_id(&it, term.component, i) == MICA_OK, mica_last_error());
            }
            note_written(f, it.entities[i], component);
            remember_written(f, it.entities[i], component, number);
        }
        FUZZ_CHECK(mica_iter_mark_id(&it, term.component, it.count) == MICA_INVALID, "");
    }
    f->walk_count--;
    mica_iter_end(&it);
    if (f->walk_count == 0) { // commands of earlier walks, too, have been applied
        forget_all_written(f);
    }
}

// Versions say when a value may have changed last, and never anything that is yet to come.
void do_versions(fuzz *f) {
    const mica_entity entity = pick_target(f);
    const uint32_t component = pick_component(f);
    const bool has = mica_entity_has(f->world, entity, f->ids[component]);
    const uint64_t version = mica_entity_component_version(f->world, entity, f->ids[component]);
    FUZZ_CHECK((version != 0) == (has && !is_tag(component)), component_types[component]->name);
    FUZZ_CHECK(version <= mica_entity_version(f->world, entity), "");
    FUZZ_CHECK(mica_entity_version(f->world, entity) <= mica_world_version(f->world) || f->depth > 0, "");
}

// Indexes

static const struct {
    uint32_t component;
    const char *field;
    size_t offset;
    bool is_entity;
    bool is_ordered;
} fields[] = {{NOTED, "now", offsetof(Noted, now), false, true},
              {NOTED, "who", offsetof(Noted, who), true, false},
              {LISTED, "now", offsetof(Listed, now), false, false},
              {LISTED, "level", offsetof(Listed, level), false, true}};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]), FOUND_MAX = 1024 };

static const void *field_of(const fuzz *f, uint32_t field, mica_entity entity) {
    const uint8_t *value = mica_entity_get(f->world, entity, f->ids[fields[field].component]);
    return value == NULL ? NULL : value + fields[field].offset;
}

static bool is_between(uint32_t field, const void *value, const void *low, const void *high) {
    if (fields[field].is_entity) {
        return mica_entity_equal(*(const mica_entity *)value, *(const mica_entity *)low);
    }
    return (low == NULL || number_of(value) >= number_of(low)) && (high == NULL || number_of(value) <= number_of(high));
}

// All that were found are right, once each and in order; how many of them queries do not show.
static int32_t check_found(const fuzz *f, uint32_t field, const mica_entity *found, int32_t count, const void *low,
                           const void *high) {
    int32_t killed_count = 0;
    for (int32_t i = 0; i < count; i++) {
        const void *value = field_of(f, field, found[i]);
        FUZZ_CHECK(value != NULL && is_between(field, value, low, high), "found by a value that it does not have");
        killed_count += mica_entity_killed(f->world, found[i]);
        if (i > 0) {
            const void *last = field_of(f, field, found[i - 1]);
            const int32_t rise = fields[field].is_entity ? 0 : number_of(value) - number_of(last);
            FUZZ_CHECK(rise > 0 || (rise == 0 && mica_entity_index(found[i - 1]) < mica_entity_index(found[i])),
                       "not in order");
        }
    }
    return killed_count;
}

static int32_t count_by_scan(const fuzz *f, uint32_t field, const void *low, const void *high) {
    static mica_entity entities[FOUND_MAX];
    const mica_term everybody = {.use = MICA_USE_DISABLED_TOO};
    const int32_t count = mica_query_entities(mica_query_find(f->world, &everybody, 1), entities, FOUND_MAX);
    int32_t match_count = 0;
    for (int32_t i = 0; i < count && count <= FOUND_MAX; i++) {
        const void *value = field_of(f, field, entities[i]);
        match_count += value != NULL && is_between(field, value, low, high);
    }
    return count <= FOUND_MAX ? match_count : -1;
}

// A look-up during a walk finds what was there when the walk began, and is not compared.
void do_index(fuzz *f) {
    static mica_entity found[FOUND_MAX];
    const uint32_t field = pick(f, FIELD_COUNT);
    const bool is_range = fields[field].is_ordered && pick(f, 2) == 1;
    const mica_entity who = fields[field].is_entity ? pick_target(f) : MICA_NULL;
    const int32_t numbers[2] = {(int32_t)pick(f, 8), (int32_t)pick(f, 16)};
    const void *low = fields[field].is_entity ? (const void *)&who : &numbers[0];
    const void *high = is_range ? (numbers[1] == 15 ? NULL : &numbers[1]) : low;
    mica_index *index = mica_index_of_id(f->world, f->ids[fields[field].component], fields[field].field);
    if (index == NULL) {
        check(f, mica_last_result());
        return;
    }
    mica_error_clear();
    const int32_t count =
        is_range ? mica_index_range(index, low, high, found, FOUND_MAX) : mica_index_find(index, low, found, FOUND_MAX);
    check(f, mica_last_result());
    if (f->walk_count > 0 || mica_last_result() != MICA_OK || may_refuse(f)) {
        return;
    }
    const int32_t expected_count = count_by_scan(f, field, low, high);
    if (expected_count >= 0 && count <= FOUND_MAX) {
        const int32_t killed_count = check_found(f, field, found, count, low, high);
        FUZZ_CHECK(count - killed_count == expected_count, "an index finds more or fewer than a scan");
    }
}

// Subscriptions

static void check_change(const fuzz *f, fuzz_subscription *place, const mica_change *change) {
    const uint32_t both = MICA_CHANGE_CREATED | MICA_CHANGE_DESTROYED;
    const uint32_t index = mica_entity_index(change->entity);
    FUZZ_CHECK(change->flags != 0 && (change->flags & both) != both, "");
    FUZZ_CHECK(f->depth > 0 ||
                   mica_entity_alive(f->world, change->entity) == ((change->flags & MICA_CHANGE_DESTROYED) == 0),
               "");
    if (index >= BOOK_SLOT_COUNT) {
        place->is_complete = false;
        return;
    }
    const bool is_known = mica_entity_equal(place->known[index], change->entity);
    if ((change->flags & MICA_CHANGE_CREATED) != 0) {
        FUZZ_CHECK(!is_known, "told of twice as made");
        place->known[index] = change->entity;
        place->known_count++;
    } else {
        FUZZ_CHECK(is_known || !place->is_complete, "told of somebody that it has not said was made");
        if ((change->flags & MICA_CHANGE_DESTROYED) != 0 && is_known) {
            place->known[index] = MICA_NULL;
            place->known_count--;
        }
    }
}

static void collect(fuzz *f, fuzz_subscription *place) {
    enum { CHANGE_MAX = 256 };
    mica_change changes[CHANGE_MAX];
    const int32_t capacity = 1 + (int32_t)pick(f, 256) % CHANGE_MAX;
    const int32_t listed_count = mica_subscription_count(place->subscription);
    const int32_t count = mica_subscription_collect(place->subscription, changes, capacity);
    if (count < 0) { // lost, maybe long ago: all that it has told means nothing any more
        FUZZ_CHECK(listed_count < 0 && mica_last_result() == MICA_OUT_OF_MEMORY, mica_last_error());
        *place = (fuzz_subscription){.subscription = place->subscription};
        return;
    }
    FUZZ_CHECK(count <= capacity && count <= listed_count, "");
    for (int32_t i = 0; i < count; i++) {
        check_change(f, place, &changes[i]);
    }
    if (place->is_complete && f->depth == 0 && mica_subscription_count(place->subscription) == 0) {
        FUZZ_CHECK(place->known_count == mica_world_entity_count(f->world), "somebody came or went unlisted");
    }
}

void do_subscription(fuzz *f) {
    fuzz_subscription *place = &f->subscriptions[pick(f, SUBSCRIPTION_COUNT)];
    const uint32_t choice = pick(f, 8);
    if (place->subscription == NULL) {
        const uint32_t component = pick_component(f);
        const mica_subscription_def def = {.component_ids = {f->ids[component]}};
        place->subscription = mica_subscribe(f->world, choice < 4 ? NULL : &def);
        check(f, place->subscription == NULL ? mica_last_result() : MICA_OK);
        place->is_complete = choice < 4 && f->depth == 0 && mica_world_entity_count(f->world) == 0;
    } else if (choice == 7) {
        mica_subscription_destroy(place->subscription);
        *place = (fuzz_subscription){0};
    } else {
        collect(f, place);
    }
}

void release_changes(fuzz *f) {
    for (uint32_t i = 0; i < FOLLOWER_COUNT; i++) {
        mica_query_release(f->followers[i].query);
    }
    mica_subscription_destroy(f->subscriptions[0].subscription); // the other one ends with the world
}
