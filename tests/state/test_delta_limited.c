// Limited deltas: what they name becomes as it is at the other end, whatever else there is stays as it was.
#include "state/delta_world.h"

// What is seen of an entity by verbs: for each kind the value, as bytes.
typedef struct sight {
    bool has;
    uint8_t bytes[32];
} sight;

typedef struct view {
    uint32_t count;
    mica_entity *entities; // alive ones
    sight (*sights)[KIND_MAX];
} view;

static view look(const state_world *w) {
    const mi_slots *slots = &w->world->store.slots;
    view v = {.entities = calloc(slots->used + 1, sizeof(mica_entity)),
              .sights = calloc(slots->used + 1, sizeof(*v.sights))};
    assert_non_null(v.entities);
    assert_non_null(v.sights);
    for (uint32_t index = 1; index < mi_slots_end(slots); index++) {
        const mica_entity entity = mi_slots_handle(slots, index);
        if (!mica_entity_alive(w->world, entity)) {
            continue;
        }
        for (uint32_t kind = 0; kind < w->kind_count; kind++) {
            sight *seen = &v.sights[v.count][kind];
            seen->has = mica_entity_has(w->world, entity, w->kinds[kind]);
            const mica_component_info *info = mica_schema_info(mica_world_schema(w->world), w->kinds[kind]);
            if (seen->has && info->hooks.destruct != NULL) {
                memcpy(seen->bytes, *(int32_t *const *)mica_entity_get(w->world, entity, w->kinds[kind]),
                       sizeof(int32_t));
            } else if (seen->has && info->size > 0) {
                assert_true(mica_entity_load(w->world, entity, w->kinds[kind], seen->bytes));
            }
        }
        v.entities[v.count++] = entity;
    }
    return v;
}

static void free_view(view *v) {
    free(v->entities);
    free(v->sights);
}

static const sight *find_sight(const view *v, mica_entity entity, uint32_t kind) {
    for (uint32_t i = 0; i < v->count; i++) {
        if (mica_entity_equal(v->entities[i], entity)) {
            return &v->sights[i][kind];
        }
    }
    return NULL;
}

// What a delta is limited to, as bits of kinds; and whether an entity is one of those.
typedef struct limits {
    uint32_t kinds;
    bool of_entities;
    uint32_t divisor; // entities whose index is a multiple of it
} limits;

static bool is_chosen(const limits *l, mica_entity entity) {
    return !l->of_entities || mica_entity_index(entity) % l->divisor == 0;
}

static mica_delta *make_limited(const state_world *w, const limits *l, const view *from, const view *to,
                                const mica_snapshot *a, const mica_snapshot *b) {
    mica_component components[KIND_MAX];
    mica_delta_options options = {.components = l->kinds == UINT32_MAX ? NULL : components};
    for (uint32_t kind = 0; kind < w->kind_count; kind++) {
        if ((l->kinds >> kind & 1) != 0 && options.components != NULL) {
            components[options.component_count++] = w->kinds[kind];
        }
    }
    mica_entity *chosen = calloc(from->count + to->count + 1, sizeof(mica_entity));
    assert_non_null(chosen);
    options.entities = l->of_entities ? chosen : NULL;
    const view *const views[2] = {from, to};
    for (uint32_t side = 0; side < 2 && l->of_entities; side++) {
        for (uint32_t i = 0; i < views[side]->count; i++) {
            if (is_chosen(l, views[side]->entities[i])) {
                chosen[options.entity_count++] = views[side]->entities[i];
            }
        }
    }
    mica_delta *delta = mica_delta_make(a, b, &options);
    free(chosen);
    return delta;
}

// `now` is what came of `before` when a delta was applied that leads to `wanted` in what it is limited to.
static void check_view(const state_world *w, const limits *l, const view *before, const view *now, const view *wanted) {
    for (uint32_t i = 0; i < now->count; i++) {
        const mica_entity entity = now->entities[i];
        const view *expected = is_chosen(l, entity) ? wanted : before;
        assert_non_null(find_sight(expected, entity, 0));
        for (uint32_t kind = 0; kind < w->kind_count; kind++) {
            const bool is_named = l->kinds == UINT32_MAX || (l->kinds >> kind & 1) != 0;
            const sight *should = find_sight(is_named && is_chosen(l, entity) ? wanted : before, entity, kind);
            const sight *seen = &now->sights[i][kind];
            const sight none = {.has = false};
            should = should == NULL ? &none : should; // it came, and nothing else was said of it
            assert_int_equal(seen->has, should->has);
            assert_memory_equal(seen->bytes, should->bytes, sizeof(seen->bytes));
        }
    }
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (is_chosen(l, wanted->entities[i])) {
            assert_non_null(find_sight(now, wanted->entities[i], 0));
        }
    }
}

static void check_limits(uint64_t seed, const limits *l) {
    state_world w;
    delta_world_open(&w, NULL);
    test_random random = {.state = seed};
    state_go_on(&w, test_random_next(&random), 50 + test_random_below(&random, 400));
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    view at_a = look(&w);
    state_go_on(&w, test_random_next(&random), test_random_below(&random, seed % 2 == 0 ? 30 : 400));
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    view at_b = look(&w);
    delta_bytes delta = delta_bytes_of(make_limited(&w, l, &at_a, &at_b, a, b));
    assert_applies(w.world, &delta, MICA_DELTA_BACKWARDS);
    state_dump dump = dump_world(w.world);
    dump_free(&dump);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    view now = look(&w);
    check_view(&w, l, &at_b, &now, &at_a);
    free_view(&now);
    assert_int_equal(mica_snapshot_restore(a, w.world, NULL), MICA_OK);
    assert_applies(w.world, &delta, MICA_DELTA_FORWARDS);
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    now = look(&w);
    check_view(&w, l, &at_a, &now, &at_b);
    free_view(&now);
    state_go_on(&w, 7, 200); // and it goes on
    assert_int_equal(mica_world_validate(w.world), MICA_OK);
    mica_delta_release(delta.delta);
    free_view(&at_a);
    free_view(&at_b);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

static void what_is_named_changes_and_nothing_else(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        check_limits(seed, &(limits){.kinds = UINT32_MAX, .of_entities = true, .divisor = 1});
        check_limits(seed, &(limits){.kinds = UINT32_MAX, .of_entities = true, .divisor = 3});
        check_limits(seed, &(limits){.kinds = 0x1ff});
        check_limits(seed, &(limits){.kinds = (uint32_t)(seed * 37 % 511) + 1});
        check_limits(seed, &(limits){.kinds = (uint32_t)(seed * 91 % 511) + 1, .of_entities = true, .divisor = 2});
    }
}

static void what_a_limited_delta_does_not_name_may_be_anything(void **state) {
    (void)state;
    state_world w;
    delta_world_open(&w, NULL);
    const mica_entity entity = mica_entity_create(w.world);
    assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 3}), MICA_OK);
    assert_int_equal(mica_set(w.world, entity, Pooled, {4}), MICA_OK);
    mica_snapshot *a = mica_snapshot_take(w.world, NULL);
    assert_int_equal(mica_set(w.world, entity, Position, {1, 2, 4}), MICA_OK);
    mica_snapshot *b = mica_snapshot_take(w.world, NULL);
    const mica_component position = mica_register(w.world, Position);
    delta_bytes delta =
        delta_bytes_of(mica_delta_make(a, b, &(mica_delta_options){.components = &position, .component_count = 1}));
    mica_delta_info info;
    assert_int_equal(mica_delta_describe(delta.data, delta.byte_size, &info, NULL, 0), MICA_OK);
    assert_true(info.is_limited);
    assert_int_equal(info.component_count, 1);
    assert_int_equal(mica_set(w.world, entity, Pooled, {5}), MICA_OK);
    (void)mica_entity_create(w.world);
    const uint64_t version = mica_world_version(w.world);
    assert_applies(w.world, &delta, MICA_DELTA_BACKWARDS);
    assert_true(mica_get(w.world, entity, Position)->z == 3);
    assert_int_equal(mica_get(w.world, entity, Pooled)->value, 5);
    assert_int_equal(mica_world_entity_count(w.world), 2);
    assert_true(mica_entity_component_version(w.world, entity, position) >= version); // counts as changed
    assert_int_equal(mica_delta_apply(w.world, delta.data, delta.byte_size, MICA_DELTA_BACKWARDS, NULL), MICA_MISMATCH);
    assert_non_null(strstr(mica_last_error(), "Position"));
    mica_delta_release(delta.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(w.world);
}

static void limited_deltas_of_the_same_make_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        state_world w;
        delta_world_open(&w, NULL);
        mica_snapshot *snapshots[3];
        delta_bytes deltas[2];
        const mica_delta_options options = {.components = w.kinds, .component_count = 9};
        for (uint32_t i = 0; i < 3; i++) {
            state_go_on(&w, seed * 10 + i, 200);
            snapshots[i] = mica_snapshot_take(w.world, NULL);
        }
        view wanted = look(&w);
        for (uint32_t i = 0; i < 2; i++) {
            deltas[i] = delta_bytes_of(mica_delta_make(snapshots[i], snapshots[i + 1], &options));
        }
        delta_bytes joined = delta_bytes_of(
            mica_delta_compose(deltas[0].data, deltas[0].byte_size, deltas[1].data, deltas[1].byte_size, NULL));
        assert_int_equal(mica_snapshot_restore(snapshots[0], w.world, NULL), MICA_OK);
        view before = look(&w);
        assert_applies(w.world, &joined, MICA_DELTA_FORWARDS);
        view now = look(&w);
        assert_int_equal(now.count, wanted.count);
        check_view(&w, &(limits){.kinds = 0x1ff}, &before, &now, &wanted);
        free_view(&before);
        free_view(&now);
        free_view(&wanted);
        mica_delta_release(joined.delta);
        for (uint32_t i = 0; i < 3; i++) {
            mica_snapshot_release(snapshots[i]);
        }
        mica_delta_release(deltas[0].delta);
        mica_delta_release(deltas[1].delta);
        mica_world_destroy(w.world);
    }
}

static void links_are_left_to_exact_deltas(void **state) {
    (void)state;
    mica_world *world = mica_world_create(NULL);
    const mica_entity parent = mica_entity_create(world);
    const mica_entity child = mica_entity_create(world);
    mica_snapshot *a = mica_snapshot_take(world, NULL);
    assert_int_equal(mica_set_parent(world, child, parent), MICA_OK);
    mica_snapshot *b = mica_snapshot_take(world, NULL);
    delta_bytes limited =
        delta_bytes_of(mica_delta_make(a, b, &(mica_delta_options){.entities = &child, .entity_count = 1}));
    delta_bytes exact = delta_between(a, b);
    assert_int_equal(mica_delta_apply(world, limited.data, limited.byte_size, MICA_DELTA_BACKWARDS, NULL),
                     MICA_UNSUPPORTED);
    assert_true(mica_entity_equal(mica_parent(world, child), parent));
    assert_applies(world, &exact, MICA_DELTA_BACKWARDS);
    assert_true(mica_entity_is_null(mica_parent(world, child)));
    assert_applies(world, &exact, MICA_DELTA_FORWARDS);
    assert_true(mica_entity_equal(mica_parent(world, child), parent));
    assert_int_equal(mica_world_validate(world), MICA_OK);
    mica_delta_release(limited.delta);
    mica_delta_release(exact.delta);
    mica_snapshot_release(a);
    mica_snapshot_release(b);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_changes_and_nothing_else),
        cmocka_unit_test(what_a_limited_delta_does_not_name_may_be_anything),
        cmocka_unit_test(limited_deltas_of_the_same_make_one),
        cmocka_unit_test(links_are_left_to_exact_deltas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
