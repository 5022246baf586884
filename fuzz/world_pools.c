// Pools, groups and visibility of the fuzzer of worlds. The arrays of a pool are compared with what verbs say of single
// entities; groups with a naive look at their pools.
#include "fuzz_world.h"

static bool is_in_pool(const fuzz *f, uint32_t component) {
    return mica_schema_info(mica_world_schema(f->world), f->ids[component])->storage == MICA_POOL;
}

// Checks of pools

// Looks at the arrays first: what walks hold copies of must have been brought back for them.
static void check_pool(const fuzz *f, uint32_t component) {
    const mica_component id = f->ids[component];
    const mica_pool_view view = mica_pool_read(f->world, id);
    int32_t live_count = 0;
    for (int32_t i = 0; i < view.count; i++) {
        const mica_entity entity = view.entities[i];
        if (mica_entity_is_placeholder(entity)) {
            continue;
        }
        live_count++;
        FUZZ_CHECK(mica_pool_position(f->world, id, entity) == i, "");
        FUZZ_CHECK(mica_entity_has(f->world, entity, id), "a pool holds an entity that does not have the component");
        if (view.pages == NULL) {
            continue;
        }
        const uint8_t *value = mica_pool_at(&view, i);
        FUZZ_CHECK(mica_entity_get(f->world, entity, id) == value, "");
        FUZZ_CHECK(i % 7 != 0 ||
                       mica_entity_equal(mica_pool_entity_of(f->world, id, value + view.value_size - 1), entity),
                   "");
    }
    FUZZ_CHECK(live_count == view.live_count && live_count == mica_pool_count(f->world, id), "");
}

static bool is_member(const fuzz *f, const mica_group_def *def, mica_entity entity) {
    bool is_one = !mica_entity_is_placeholder(entity);
    for (uint32_t i = 0; i < MICA_GROUP_MAX; i++) {
        is_one &= def->owned_ids[i] == 0 || mica_entity_has(f->world, entity, def->owned_ids[i]);
        is_one &= def->with_ids[i] == 0 || mica_entity_has(f->world, entity, def->with_ids[i]);
        is_one &= def->without_ids[i] == 0 || !mica_entity_has(f->world, entity, def->without_ids[i]);
    }
    return is_one;
}

static void check_group(const fuzz *f, const fuzz_group *made) {
    const int32_t count = mica_group_count(made->group);
    const mica_pool_view first = mica_pool_read(f->world, made->def.owned_ids[0]);
    FUZZ_CHECK(count <= first.count, "");
    for (int32_t i = 0; i < first.count; i++) {
        FUZZ_CHECK(is_member(f, &made->def, first.entities[i]) == (i < count),
                   "a group that misses or has one too many");
    }
    for (uint32_t i = 1; i < MICA_GROUP_MAX && made->def.owned_ids[i] != 0; i++) {
        const mica_pool_view other = mica_pool_read(f->world, made->def.owned_ids[i]);
        FUZZ_CHECK(count <= other.count, "");
        for (int32_t j = 0; j < count; j++) {
            FUZZ_CHECK(mica_entity_equal(first.entities[j], other.entities[j]), "pools of a group in different order");
        }
    }
}

// A value of a stable pool that still has its serial number stands where it stood.
static void check_placed(const fuzz *f) {
    for (uint32_t i = 0; i < PLACED_COUNT; i++) {
        const fuzz_placed *known = &f->placed[i];
        const Fixed *value = known->address == NULL ? NULL : mica_entity_get(f->world, known->entity, f->ids[FIXED]);
        FUZZ_CHECK(value == NULL || value->serial != known->serial || value == known->address,
                   "a value in a stable pool has moved");
    }
}

void check_pools(fuzz *f) {
    uint64_t element_count = 0;
    uint64_t tombstone_count = 0;
    for (uint32_t i = 0; i < COMPONENT_COUNT; i++) {
        if (is_in_pool(f, i)) {
            const mica_pool_view view = mica_pool_read(f->world, f->ids[i]);
            check_pool(f, i);
            element_count += (uint64_t)view.live_count;
            tombstone_count += (uint64_t)(view.count - view.live_count);
        }
    }
    const mica_world_stats stats = mica_world_statistics(f->world);
    FUZZ_CHECK(stats.element_count == element_count && stats.tombstone_count == tombstone_count, "");
    for (uint32_t i = 0; i < GROUP_COUNT; i++) {
        if (f->groups[i].group != NULL) {
            check_group(f, &f->groups[i]);
        }
    }
    check_placed(f);
}

// Sorting

static int by_head(const mica_element *a, const mica_element *b, void *user) {
    const bool *is_by_number = user;
    const uint32_t left = *is_by_number ? (uint32_t)number_of(a->value) : mica_entity_index(a->entity) / 2;
    const uint32_t right = *is_by_number ? (uint32_t)number_of(b->value) : mica_entity_index(b->entity) / 2;
    return (left > right) - (left < right);
}

// `count` elements in front are sorted.
static void check_head_sorted(const fuzz *f, mica_component id, bool is_by_number, int32_t count) {
    const mica_pool_view view = mica_pool_read(f->world, id);
    for (int32_t i = 1; i < count; i++) {
        const mica_element last = {view.entities[i - 1], is_by_number ? mica_pool_at(&view, i - 1) : NULL};
        const mica_element next = {view.entities[i], is_by_number ? mica_pool_at(&view, i) : NULL};
        FUZZ_CHECK(by_head(&last, &next, &is_by_number) <= 0, "not sorted");
    }
}

static void sort_pool(fuzz *f, uint32_t component) {
    bool is_by_number = is_numbered(component) && pick(f, 2) == 0;
    if (check(f, mica_pool_sort(f->world, f->ids[component], by_head, &is_by_number)) == MICA_OK) {
        FUZZ_CHECK(f->walk_count == 0, "elements moved during a walk");
        check_head_sorted(f, f->ids[component], is_by_number, mica_pool_count(f->world, f->ids[component]));
    }
}

static void follow_pool(fuzz *f, uint32_t component) {
    const uint32_t leader = pick_component(f);
    if (check(f, mica_pool_follow(f->world, f->ids[component], f->ids[leader])) != MICA_OK) {
        return;
    }
    const mica_pool_view led = mica_pool_read(f->world, f->ids[component]);
    const mica_pool_view leading = mica_pool_read(f->world, f->ids[leader]);
    int32_t place = 0;
    for (int32_t i = 0; i < leading.count; i++) {
        if (mica_entity_has(f->world, leading.entities[i], f->ids[component])) {
            FUZZ_CHECK(mica_entity_equal(led.entities[place], leading.entities[i]), "a pool that does not follow");
            place++;
        }
    }
}

// Pools

static void write_pool(fuzz *f, uint32_t component) {
    const mica_pool_view view = mica_pool_write(f->world, f->ids[component]);
    for (int32_t i = 0; i < view.count; i++) {
        note_written(f, view.entities[i], component);
    }
    for (int32_t i = 0; i < view.count && is_numbered(component); i += 1 + f->stamp % 3) {
        if (!mica_entity_is_placeholder(view.entities[i])) {
            *(int32_t *)mica_pool_at(&view, i) = ++f->stamp;
            remember_written(f, view.entities[i], component, f->stamp);
        }
    }
}

// Remembers where a value of the stable pool stands.
static void mark_place(fuzz *f) {
    const mica_entity entity = pick_target(f);
    Fixed *value = mica_entity_get_write(f->world, entity, f->ids[FIXED]);
    if (value != NULL) {
        value->serial = ++f->serial;
        f->placed[f->placed_count++ % PLACED_COUNT] = (fuzz_placed){entity, value, value->serial};
    }
}

static void compact_pool(fuzz *f, uint32_t component) {
    if (check(f, mica_pool_compact(f->world, f->ids[component])) == MICA_OK) {
        const mica_pool_view view = mica_pool_read(f->world, f->ids[component]);
        FUZZ_CHECK(view.count == view.live_count, "");
        memset(f->placed, 0, sizeof(f->placed));
    }
}

void do_pool(fuzz *f) {
    const uint32_t component = pick_component(f);
    switch (pick(f, 8)) {
    case 0:
        sort_pool(f, component);
        break;
    case 1:
        follow_pool(f, component);
        break;
    case 2:
        compact_pool(f, component);
        break;
    case 3:
        check(f, mica_pool_reserve(f->world, f->ids[component], (int32_t)pick(f, 256)));
        break;
    case 4:
        check(f, mica_pool_shrink(f->world, f->ids[component]));
        break;
    case 5:
        check_pool(f, component);
        break;
    case 6:
        write_pool(f, component);
        break;
    default:
        mark_place(f);
    }
}

// Groups

static void create_group(fuzz *f, fuzz_group *place) {
    mica_group_def def = {0};
    for (uint32_t i = 0, count = pick(f, 4); i < count; i++) {
        def.owned_ids[i] = f->ids[pick_component(f)];
    }
    for (uint32_t i = 0, count = pick(f, 3); i < count; i++) {
        def.with_ids[i] = f->ids[pick_component(f)];
    }
    for (uint32_t i = 0, count = pick(f, 3); i < count; i++) {
        def.without_ids[i] = f->ids[pick_component(f)];
    }
    if (place->group != NULL) {
        return;
    }
    mica_group *group = mica_group_create(f->world, &def);
    check(f, group == NULL ? mica_last_result() : MICA_OK);
    if (group != NULL) {
        *place = (fuzz_group){group, def};
        check_group(f, place);
    }
}

static void sort_group(fuzz *f, fuzz_group *made) {
    const uint32_t component = pick_component(f);
    bool is_by_number = is_numbered(component) && pick(f, 2) == 0;
    if (made->group != NULL &&
        check(f, mica_group_sort(made->group, f->ids[component], by_head, &is_by_number)) == MICA_OK) {
        FUZZ_CHECK(f->walk_count == 0, "elements moved during a walk");
        check_group(f, made);
        check_head_sorted(f, f->ids[component], is_by_number, mica_group_count(made->group));
    }
}

void do_group(fuzz *f) {
    fuzz_group *place = &f->groups[pick(f, GROUP_COUNT)];
    switch (pick(f, 4)) {
    case 3:
        if (check(f, mica_group_destroy(place->group)) == MICA_OK) {
            *place = (fuzz_group){0};
        }
        break;
    case 2:
        sort_group(f, place);
        break;
    default:
        create_group(f, place);
    }
}

// Visibility

static void enable_component(fuzz *f, mica_entity entity, bool enabled) {
    const mica_component id = f->ids[pick_component(f)];
    const bool has = mica_entity_has(f->world, entity, id);
    if (check(f, mica_entity_enable_component(f->world, entity, id, enabled)) == MICA_OK) {
        FUZZ_CHECK(f->is_reacted || (has && mica_entity_component_enabled(f->world, entity, id) == enabled), "");
    }
    FUZZ_CHECK(f->is_reacted || mica_entity_has(f->world, entity, id) == has, "");
}

static void refresh(fuzz *f) {
    const mica_term everybody = {.use = MICA_USE_DISABLED_TOO};
    mica_query *query = mica_query_find(f->world, &everybody, 1);
    const bool is_sure = query != NULL && !may_refuse(f);
    const int32_t entity_count = mica_world_entity_count(f->world);
    const int32_t shown_count = query == NULL ? 0 : mica_query_count(query);
    const int32_t count = mica_world_refresh(f->world);
    check(f, count < 0 ? mica_last_result() : MICA_OK);
    FUZZ_CHECK(f->is_reacted || mica_world_entity_count(f->world) == entity_count - (count < 0 ? 0 : count), "");
    FUZZ_CHECK(count < 0 || !is_sure || shown_count == entity_count - count, "queries show killed ones or hide others");
}

void do_visibility(fuzz *f) {
    const uint32_t verb = pick(f, 8);
    const mica_entity entity = pick_target(f);
    switch (verb) {
    case 0:
    case 1:
        if (check(f, mica_entity_enable(f->world, entity, verb == 1)) == MICA_OK) {
            FUZZ_CHECK(f->walk_count == 0, "");
            FUZZ_CHECK(f->is_reacted || mica_entity_enabled(f->world, entity) == (verb == 1), "");
        }
        break;
    case 6:
        if (check(f, mica_entity_kill(f->world, entity)) == MICA_OK) {
            FUZZ_CHECK(f->walk_count == 0, "");
            FUZZ_CHECK(f->is_reacted || mica_entity_killed(f->world, entity), "");
        }
        break;
    case 7:
        refresh(f);
        break;
    default:
        enable_component(f, entity, verb % 2 == 1);
    }
}
