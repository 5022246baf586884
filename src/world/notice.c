// What an operation tells of one entity, and in which order.
//
// The components concerned are found by words: those of one table that the other lacks and that somebody is told of. A
// query that observers wait for is tried on what the entity is and on what it will be, before the operation and without
// it having happened, so that both ends are told from the same answer.
//
// Invariants: while observers are called structure is locked, so that nothing below is called from within itself but
// for values that are set, which use none of what is shared (`listed`, the answers in mi_query_watch).
#include "world/notice.h"

#include "store/visibility.h"
#include "world/query.h"

static void tell_entity(mica_world *world, uint32_t kind, mica_entity entity) {
    mi_signals *signals = &world->signals;
    if (mi_signals_hear(signals, kind, 0)) {
        mi_tell_of(world, &signals->watches.data[0]->channels[kind], kind, entity, 0, NULL);
    }
}

// Tells the observers of all components, then those of this one.
static void tell_one(mica_world *world, uint32_t kind, mica_entity entity, mica_component component) {
    const mi_signals *signals = &world->signals;
    if (MICA_UNLIKELY(signals->watches_all) && mi_signals_hear(signals, kind, 0)) {
        mi_tell_component(world, kind, entity, component, 0);
    }
    if (mi_signals_hear(signals, kind, component)) {
        mi_tell_component(world, kind, entity, component, component);
    }
}

void mi_tell_set(mica_world *world, mica_entity entity, mica_component component) {
    tell_one(world, MICA_SET, entity, component);
}

void mi_tell_resource(mica_world *world, mica_signal_kind kind, mica_component component, const void *value) {
    mi_signals *signals = &world->signals;
    if (mi_signals_hear(signals, kind, component)) {
        mi_tell_of(world, &signals->watches.data[component]->channels[kind], kind, MICA_NULL, component, value);
    }
}

mi_told mi_world_told(const mica_world *world, const mi_notice *notice) {
    const mi_signals *signals = &world->signals;
    const mi_table *from = notice->from;
    const mi_table *to = notice->to;
    mi_told told = {.before = false};
    bool is_set = false;
    for (uint32_t i = 0; i < notice->change_count; i++) {
        is_set |= mi_signals_hear(signals, MICA_SET, notice->changes[i].component);
    }
    is_set |= mi_signals_hear(signals, MICA_SET, 0);
    uint64_t changed = 0;
    uint64_t added = 0;
    uint32_t added_word = 0;
    uint64_t removed = 0;
    bool is_single = !is_set && signals->queries.count == 0 && !signals->watches_all;
    for (uint32_t i = 0; i < signals->word_count; i++) {
        const uint64_t before = i < from->bit_words ? from->bits[i] : 0;
        const uint64_t after = i < to->bit_words ? to->bits[i] : 0;
        const uint64_t told_added = after & ~before & signals->bits[MICA_ADDED][i];
        changed |= (before ^ after) & signals->heard_bits[i];
        removed |= before & ~after & signals->bits[MICA_REMOVED][i];
        is_single &= told_added == 0 || (added == 0 && (told_added & (told_added - 1)) == 0);
        added_word = told_added != 0 ? i : added_word;
        added |= told_added;
    }
    if (is_single && added != 0) {
        told.component = (mica_component)(added_word * 64 + (uint32_t)__builtin_ctzll(added));
    }
    // Who is told of a value alone is told after all queries have been looked at as well.
    told.before = removed != 0 || (world->front.is_wide && (changed != 0 || is_set || signals->watches_all));
    told.after = is_set || added != 0 || told.before;
    return told;
}

// The components that a signal of one kind is about

// A search for them: those that somebody is told of are listed, or the observers of all components are told at once.
typedef struct component_search {
    mica_world *world;
    const mi_notice *notice;
    uint32_t kind;
    bool tells_all;
} component_search;

static void find(const component_search *search, mica_component component) {
    mi_signals *signals = &search->world->signals;
    if (search->tells_all) {
        mi_tell_component(search->world, search->kind, search->notice->entity, component, 0);
    } else if (mi_signals_hear(signals, search->kind, component)) {
        MI_ASSERT(signals->listed.count < signals->listed.capacity);
        signals->listed.data[signals->listed.count++] = component;
    }
}

// Finds those of table `whole` that `part` (NULL: none) lacks.
static void find_difference(const component_search *search, const mi_table *whole, const mi_table *part) {
    const mi_signals *signals = &search->world->signals;
    const uint64_t *told = signals->bits[search->kind];
    for (uint32_t i = 0; i < whole->bit_words; i++) {
        uint64_t rest = whole->bits[i];
        rest &= part != NULL && i < part->bit_words ? ~part->bits[i] : UINT64_MAX;
        rest &= search->tells_all ? UINT64_MAX : i < signals->word_count ? told[i] : 0;
        for (; rest != 0; rest &= rest - 1) {
            find(search, (mica_component)(i * 64 + (uint32_t)__builtin_ctzll(rest)));
        }
    }
}

// Finds those of all pools that the entity is in.
static void find_in_pools(const component_search *search) {
    const mi_store *store = &search->world->store;
    const uint64_t *mask = store->pool_list.count == 0 ? NULL : mi_store_mask(store, search->notice->entity);
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        find(search, store->pool_list.data[number]->type->info.id);
    }
}

static void find_elements(const component_search *search, mi_element_change change) {
    const mi_notice *notice = search->notice;
    for (uint32_t i = 0; i < notice->element_count; i++) {
        if (notice->elements[i].change == change) {
            find(search, notice->elements[i].pool->type->info.id);
        }
    }
}

static void find_removed(const component_search *search) {
    const mi_notice *notice = search->notice;
    find_difference(search, notice->from, notice->to);
    if (notice->to == NULL) {
        find_in_pools(search);
    } else {
        find_elements(search, MI_ELEMENT_REMOVE);
    }
}

static void find_added(const component_search *search) {
    const mi_notice *notice = search->notice;
    find_difference(search, notice->to, notice->from);
    if (notice->from == NULL && notice->elements == NULL) {
        find_in_pools(search);
    } else {
        find_elements(search, MI_ELEMENT_ADD);
    }
}

// Finds all that the entity has with data.
static void find_values(const component_search *search) {
    const mi_store *store = &search->world->store;
    const mi_notice *notice = search->notice;
    for (uint32_t i = 0; i < notice->to->column_count; i++) {
        find(search, notice->to->columns[i].type->info.id);
    }
    const uint64_t *mask = store->pool_list.count == 0 ? NULL : mi_store_mask(store, notice->entity);
    for (uint32_t number = 0; (number = mi_store_next_pool(store, mask, number)) != MI_POOL_NONE; number++) {
        if (store->pool_list.data[number]->size > 0) {
            find(search, store->pool_list.data[number]->type->info.id);
        }
    }
}

// What is constructed is given no value, unless it takes the place of one.
static void find_set(const component_search *search) {
    const mi_notice *notice = search->notice;
    if (notice->all_given) {
        find_values(search);
        return;
    }
    for (uint32_t i = 0; i < notice->change_count; i++) {
        const mi_change *change = &notice->changes[i];
        if (change->value != NULL || (notice->from != NULL && mi_table_has(notice->from, change->component))) {
            find(search, change->component);
        }
    }
    for (uint32_t i = 0; i < notice->element_count; i++) {
        const mi_element *element = &notice->elements[i];
        if (element->change == MI_ELEMENT_SET || (element->change == MI_ELEMENT_ADD && element->value != NULL)) {
            find(search, element->pool->type->info.id);
        }
    }
    for (uint32_t i = 0; i < notice->given_count; i++) {
        const mica_value *value = &notice->given[i];
        const mica_component component =
            value->type != NULL ? mica_world_component(search->world, value->type) : value->component;
        if (value->value != NULL &&
            mica_entity_has(search->world, notice->entity, component)) { // nobody's child has no link
            find(search, component);
        }
    }
}

static void find_kind(const component_search *search) {
    switch (search->kind) {
    case MICA_ADDED:
        find_added(search);
        break;
    case MICA_SET:
        find_set(search);
        break;
    default:
        find_removed(search);
        break;
    }
}

// Puts what is listed in the order of names, so that the order of registration does not show.
static void sort_listed(const mica_world *world) {
    mica_component *listed = world->signals.listed.data;
    for (uint32_t i = 1; i < world->signals.listed.count; i++) {
        const mica_component component = listed[i];
        const mi_type *type = mi_schema_type(world->schema, component);
        uint32_t place = i;
        while (place > 0 && mi_type_compare_names(mi_schema_type(world->schema, listed[place - 1]), type) > 0) {
            listed[place] = listed[place - 1];
            place--;
        }
        listed[place] = component;
    }
}

// Tells of all components that a signal of this kind is about.
static void tell_components(mica_world *world, const mi_notice *notice, uint32_t kind) {
    mi_signals *signals = &world->signals;
    if ((signals->kinds >> kind & 1) == 0) {
        return;
    }
    component_search search = {.world = world, .notice = notice, .kind = kind};
    if (MICA_UNLIKELY(signals->watches_all && mi_signals_hear(signals, kind, 0))) {
        search.tells_all = true;
        find_kind(&search);
        search.tells_all = false;
    }
    signals->listed.count = 0;
    find_kind(&search);
    sort_listed(world);
    for (uint32_t i = 0; i < signals->listed.count; i++) {
        mi_tell_component(world, kind, notice->entity, signals->listed.data[i], signals->listed.data[i]);
    }
}

// Queries

// An entity as it is, or as it will be.
typedef struct entity_state {
    const mica_world *world;
    mica_entity entity;
    const mi_table *table;
    const mi_element *elements; // that will have come or gone
    uint32_t element_count;
    const mica_component *renewed; // that will be enabled
    uint32_t renewed_count;
    const mi_marking *markings; // what it will be marked with; of a component, or of the entity, one at most
    uint32_t marking_count;
} entity_state;

// What becomes of the marks of a component, or, with 0, of the entity; NULL: they stay.
static const mi_marking *find_marking(const entity_state *state, mica_component component) {
    for (uint32_t i = 0; i < state->marking_count; i++) {
        if (state->markings[i].component == component) {
            return &state->markings[i];
        }
    }
    return NULL;
}

static bool state_has(const entity_state *state, mica_component component) {
    const mi_store *store = &state->world->store;
    const mi_pool *pool = mi_store_find_pool(store, component);
    bool is_there = pool != NULL ? mi_pool_has(pool, state->entity) : mi_table_has(state->table, component);
    for (uint32_t i = 0; pool != NULL && i < state->element_count; i++) {
        if (state->elements[i].pool == pool) {
            is_there = state->elements[i].change != MI_ELEMENT_REMOVE;
        }
    }
    if (!is_there) {
        return false;
    }
    const mi_marking *marking = find_marking(state, component);
    if (marking != NULL) {
        return !marking->hides;
    }
    for (uint32_t i = 0; i < state->renewed_count; i++) {
        if (state->renewed[i] == component) {
            return true;
        }
    }
    const mi_marks *toggled = mi_store_toggled(store, component);
    return toggled == NULL || !mi_marks_has(toggled, mica_entity_index(state->entity));
}

static bool state_is_shown(const entity_state *state, mi_disabled disabled) {
    const mi_store *store = &state->world->store;
    const uint32_t index = mica_entity_index(state->entity);
    const mi_marking *marking = find_marking(state, 0);
    const bool is_killed = mi_marks_has(&store->killed, index) && (marking == NULL || !marking->revives);
    if ((marking != NULL && marking->kills) || is_killed) {
        return false;
    }
    const bool is_disabled = marking != NULL ? marking->hides : mi_marks_has(&store->disabled, index);
    return disabled == MI_DISABLED_TOO || is_disabled == (disabled == MI_DISABLED_ONLY);
}

static bool state_matches(const entity_state *state, const mica_query *query) {
    if (!state_is_shown(state, query->disabled)) {
        return false;
    }
    uint32_t open_clauses = (1u << query->any_count) - 1;
    uint32_t used_clauses = 0;
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mi_term *term = &query->terms[i];
        const bool is_there = state_has(state, term->component);
        if (term->any > 0) {
            used_clauses |= 1u << (term->any - 1);
            open_clauses &= is_there ? ~(1u << (term->any - 1)) : UINT32_MAX;
        } else if (term->use == MICA_USE_WITHOUT ? is_there : mi_term_is_required(term) && !is_there) {
            return false;
        }
    }
    return (open_clauses & used_clauses) == 0;
}

// Whether an operation changes anything that a query asks about.
static bool concerns(const mi_notice *notice, const mica_query *query) {
    if (notice->from == NULL || notice->to == NULL) {
        return true;
    }
    for (uint32_t i = 0; i < query->term_count; i++) {
        const mica_component component = query->terms[i].component;
        if (notice->from != notice->to &&
            mi_table_has(notice->from, component) != mi_table_has(notice->to, component)) {
            return true;
        }
        for (uint32_t k = 0; k < notice->element_count; k++) {
            if (notice->elements[k].change != MI_ELEMENT_SET && notice->elements[k].pool->type->info.id == component) {
                return true;
            }
        }
        for (uint32_t k = 0; k < notice->renewed_count; k++) {
            if (notice->renewed[k] == component) {
                return true;
            }
        }
    }
    return false;
}

static void tell_query(mica_world *world, mi_query_watch *watch, uint32_t kind, mica_entity entity) {
    mi_channel *channel = kind == MICA_ENTERED ? &watch->entered : &watch->left;
    if (channel->observers.count > 0) {
        mi_tell_of(world, channel, kind, entity, 0, NULL);
    }
}

// Tells those queries that the entity ceases to match, or has come to.
static void tell_queries(mica_world *world, uint32_t kind, mica_entity entity) {
    const uint32_t count = world->signals.queries.count;
    for (uint32_t i = 0; i < count; i++) {
        mi_query_watch *watch = world->signals.queries.data[i];
        if (kind == MICA_LEFT ? watch->did_match && !watch->will_match : !watch->did_match && watch->will_match) {
            tell_query(world, watch, kind, entity);
        }
    }
}

// Finds out which queries the entity matches now, and which it will.
static void match_queries(mica_world *world, const mi_notice *notice) {
    const entity_state before = {.world = world, .entity = notice->entity, .table = notice->from};
    entity_state after = before;
    after.table = notice->to;
    after.elements = notice->elements;
    after.element_count = notice->element_count;
    after.renewed = notice->renewed;
    after.renewed_count = notice->renewed_count;
    for (uint32_t i = 0; i < world->signals.queries.count; i++) {
        mi_query_watch *watch = world->signals.queries.data[i];
        const bool is_concerned = concerns(notice, watch->query);
        watch->did_match = is_concerned && notice->from != NULL && state_matches(&before, watch->query);
        watch->will_match = is_concerned && notice->to != NULL && state_matches(&after, watch->query);
    }
}

// Operations

// Whether components come, go or are enabled, and not values alone.
static bool changes_components(const mi_notice *notice) {
    return notice->from != notice->to || notice->element_count > 0 || notice->renewed_count > 0;
}

void mi_tell_before(mica_world *world, const mi_notice *notice) {
    const bool has_queries = world->signals.queries.count > 0;
    if (has_queries) {
        match_queries(world, notice);
        tell_queries(world, MICA_LEFT, notice->entity);
    }
    tell_components(world, notice, MICA_REMOVED);
    if (notice->to == NULL) {
        tell_entity(world, MICA_DESTROYED, notice->entity);
    }
}

void mi_tell_after(mica_world *world, const mi_notice *notice) {
    const bool has_queries = world->signals.queries.count > 0;
    if (has_queries && (notice->from == NULL || notice->is_late)) {
        match_queries(world, notice);
    }
    if (notice->from == NULL) {
        tell_entity(world, MICA_CREATED, notice->entity);
    }
    tell_components(world, notice, MICA_ADDED);
    tell_components(world, notice, MICA_SET);
    if (has_queries && changes_components(notice)) {
        tell_queries(world, MICA_ENTERED, notice->entity);
    }
}

void mi_world_release_made(mica_world *world, mica_entity entity, const mica_value *given, uint32_t given_count) {
    mi_signals *signals = &world->signals;
    signals->holds_made = false;
    signals->silent = MICA_NULL;
    if (!world->front.is_watched || mica_entity_is_null(entity)) {
        return;
    }
    const mi_store *store = &world->store;
    const mi_notice notice = {.entity = entity,
                              .to =
                                  mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity))),
                              .given = given,
                              .given_count = given_count,
                              .all_given = given == NULL};
    mi_tell_after(world, &notice);
}

// What an element that comes or goes alone is.
static mi_notice element_notice(const mica_world *world, mica_entity entity, const mi_element *element) {
    const mi_store *store = &world->store;
    const mi_table *table = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)));
    return (mi_notice){.entity = entity, .from = table, .to = table, .elements = element, .element_count = 1};
}

void mi_tell_before_element(mica_world *world, mica_entity entity, const mi_element *element) {
    if (mi_world_tells(world, entity)) {
        const mi_notice notice = element_notice(world, entity, element);
        mi_tell_before(world, &notice);
    }
}

void mi_tell_after_element(mica_world *world, mica_entity entity, const mi_element *element) {
    if (mi_world_tells(world, entity)) {
        const mi_notice notice = element_notice(world, entity, element);
        mi_tell_after(world, &notice);
    }
}

// Marks

void mi_tell_before_marking(mica_world *world, const mi_marking *marking) {
    const mi_store *store = &world->store;
    const entity_state before = {
        .world = world,
        .entity = marking->entity,
        .table = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(marking->entity)))};
    entity_state after = before;
    after.markings = marking;
    after.marking_count = 1;
    for (uint32_t i = 0; i < world->signals.queries.count; i++) {
        mi_query_watch *watch = world->signals.queries.data[i];
        watch->did_match = state_matches(&before, watch->query);
        watch->will_match = state_matches(&after, watch->query);
    }
    tell_queries(world, MICA_LEFT, marking->entity);
}

void mi_tell_after_marking(mica_world *world, const mi_marking *marking) {
    mi_signals *signals = &world->signals;
    if (mi_signals_hear(signals, MI_SIGNAL_MARKED, 0)) {
        mi_tell_of(world, &signals->watches.data[0]->channels[MI_SIGNAL_MARKED], MI_SIGNAL_MARKED, marking->entity,
                   marking->component, NULL);
    }
    tell_queries(world, MICA_ENTERED, marking->entity);
}

// Restores

void mi_match_restored(mica_world *world, const mi_notice *notice, const mi_marking *markings, uint32_t marking_count) {
    const entity_state before = {.world = world, .entity = notice->entity, .table = notice->from};
    const entity_state after = {.world = world,
                                .entity = notice->entity,
                                .table = notice->to,
                                .elements = notice->elements,
                                .element_count = notice->element_count,
                                .markings = markings,
                                .marking_count = marking_count};
    for (uint32_t i = 0; i < world->signals.queries.count; i++) {
        mi_query_watch *watch = world->signals.queries.data[i];
        watch->did_match = notice->from != NULL && state_matches(&before, watch->query);
        watch->will_match = notice->to != NULL && state_matches(&after, watch->query);
    }
}

void mi_tell_restored(mica_world *world, uint32_t kind, mica_entity entity, uint32_t number) {
    mi_signals *signals = &world->signals;
    switch (kind) {
    case MICA_CREATED:
    case MICA_DESTROYED:
        tell_entity(world, kind, entity);
        break;
    case MICA_ENTERED:
    case MICA_LEFT:
        tell_query(world, signals->queries.data[number], kind, entity);
        break;
    case MI_SIGNAL_MARKED:
        if (mi_signals_hear(signals, kind, 0)) {
            mi_tell_of(world, &signals->watches.data[0]->channels[kind], kind, entity, (mica_component)number, NULL);
        }
        break;
    default:
        tell_one(world, kind, entity, (mica_component)number);
        break;
    }
}

// The end of all

static void tell_end(mica_world *world, mica_entity entity) {
    const mi_store *store = &world->store;
    const mi_notice notice = {
        .entity = entity,
        .from = mi_store_table_at(store, mi_slots_location(&store->slots, mica_entity_index(entity)))};
    mi_tell_before(world, &notice);
}

// An entity that hangs below another one by a relation is told of with that one.
static void tell_end_from(mica_world *world, mica_entity entity) {
    if (world->relations.count == 0) {
        tell_end(world, entity);
    } else {
        world->relations.data[0].visit_tree(world, entity, tell_end);
    }
}

void mi_tell_end_of_all(mica_world *world) {
    if (!world->front.is_watched) {
        return;
    }
    const mi_store *store = &world->store;
    // Structure is locked for observers, so that slots and their number stand.
    for (uint32_t index = 1; index < mi_slots_end(&store->slots); index++) {
        if ((mi_slots_location(&store->slots, index) & MI_SLOT_FREE) == 0) {
            tell_end_from(world, mi_slots_handle(&store->slots, index));
        }
    }
}
