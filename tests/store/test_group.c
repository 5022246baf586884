// Groups against a model: after every operation the first elements of every owned pool are exactly those who match, in
// the same order.
#include "store/pools_fixture.h"

enum { ENTITY_COUNT = 50, GROUP_COUNT = 3 };

#define BIT(KIND) (1u << (KIND))

// What a group asks for, as sets of kinds.
typedef struct rule {
    uint32_t owned;
    uint32_t with;
    uint32_t without;
} rule;

static const rule rules[GROUP_COUNT] = {
    {BIT(KIND_PACKED) | BIT(KIND_HOOKS), BIT(KIND_STABLE), BIT(KIND_TAG)}, // full, with, without
    {BIT(KIND_PAGED), BIT(KIND_PACKED), 0},                                // needs a pool that another group owns
    {BIT(KIND_OTHER_PACKED) | BIT(KIND_TAG), 0, BIT(KIND_OTHER_TAG)},      // owns a tag
};

typedef struct model {
    fixture f;
    mica_entity entities[ENTITY_COUNT];
    uint32_t kinds[ENTITY_COUNT]; // of each entity
    mi_group *groups[GROUP_COUNT];
} model;

static uint32_t list_kinds(fixture *f, uint32_t kinds, mi_pool **pools) {
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        if ((kinds & BIT(kind)) != 0) {
            pools[count++] = f->pools[kind];
        }
    }
    return count;
}

static mi_group *add_group(fixture *f, const rule *asked, const char *name, const mi_group **rival) {
    mi_pool *pools[KIND_COUNT * 3];
    const uint32_t owned_count = list_kinds(f, asked->owned, pools);
    const uint32_t all_count = owned_count + list_kinds(f, asked->with, pools + owned_count);
    const uint32_t none_count = list_kinds(f, asked->without, pools + all_count);
    return mi_store_add_group(&f->store, pools, owned_count, all_count, none_count, name, rival);
}

static bool is_right(const rule *asked, uint32_t kinds) {
    const uint32_t all = asked->owned | asked->with;
    return (kinds & all) == all && (kinds & asked->without) == 0;
}

static void check_group(const model *m, const rule *asked, const mi_group *group) {
    uint32_t expected_count = 0;
    const mi_pool *first = group->owned[0];
    for (uint32_t i = 0; i < ENTITY_COUNT; i++) {
        const bool belongs = is_right(asked, m->kinds[i]);
        expected_count += belongs;
        assert_int_equal(mi_pool_find(first, m->entities[i]) < group->count, belongs);
    }
    assert_int_equal(group->count, expected_count);
    for (uint32_t i = 0; i < group->owned_count; i++) {
        assert_ptr_equal(group->owned[i]->owner, group);
        for (uint32_t position = 0; position < group->count; position++) {
            assert_true(mica_entity_equal(group->owned[i]->entities[position], first->entities[position]));
        }
    }
}

static void check_model(const model *m) {
    for (uint32_t i = 0; i < GROUP_COUNT; i++) {
        if (m->groups[i] != NULL) {
            check_group(m, &rules[i], m->groups[i]);
        }
    }
    check_values(&m->f);
    assert_pools_valid(&m->f);
}

static void begin_model(model *m) {
    *m = (model){.groups = {NULL}};
    begin(&m->f);
    for (uint32_t i = 0; i < ENTITY_COUNT; i++) {
        m->entities[i] = create(&m->f);
    }
}

static void add_groups(model *m) {
    for (uint32_t i = 0; i < GROUP_COUNT; i++) {
        const mi_group *rival = NULL;
        m->groups[i] = add_group(&m->f, &rules[i], "some group", &rival);
        assert_non_null(m->groups[i]);
    }
}

static void flip(model *m, uint32_t who, uint32_t kind) {
    if ((m->kinds[who] & BIT(kind)) != 0) {
        remove_from(&m->f, kind, m->entities[who]);
    } else {
        add(&m->f, kind, m->entities[who]);
    }
    m->kinds[who] ^= BIT(kind);
}

static void flip_at_random(model *m, test_random *random, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        flip(m, test_random_below(random, ENTITY_COUNT), test_random_below(random, KIND_COUNT));
    }
}

static void replace(model *m, uint32_t who) {
    destroy(&m->f, m->entities[who]);
    m->entities[who] = create(&m->f);
    m->kinds[who] = 0;
}

static void random_changes_keep_members_in_front_and_alike(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        model m;
        begin_model(&m);
        test_random random = {.state = seed};
        flip_at_random(&m, &random, 150);
        add_groups(&m);
        check_model(&m);
        for (uint32_t step = 0; step < 1500; step++) {
            const uint32_t dice = test_random_below(&random, 1000);
            if (dice < 40) {
                replace(&m, test_random_below(&random, ENTITY_COUNT));
            } else if (dice == 40) {
                mi_store_clear_pools(&m.f.store);
                memset(m.kinds, 0, sizeof(m.kinds));
            } else if (dice < 45) {
                const uint32_t which = test_random_below(&random, GROUP_COUNT);
                mi_store_drop_group(&m.f.store, m.groups[which]);
                m.groups[which] = NULL;
                flip_at_random(&m, &random, 5);
                const mi_group *rival = NULL;
                m.groups[which] = add_group(&m.f, &rules[which], "again", &rival);
                assert_non_null(m.groups[which]);
            } else {
                flip_at_random(&m, &random, 1);
            }
            check_model(&m);
        }
        end(&m.f);
    }
}

static void many_that_are_published_at_once_enter(void **state) {
    (void)state;
    model m;
    begin_model(&m);
    add_groups(&m);
    static const uint32_t kinds[] = {KIND_STABLE, KIND_HOOKS, KIND_PACKED};
    for (uint32_t k = 0; k < 3; k++) {
        mi_pool *pool = m.f.pools[kinds[k]];
        mi_pool_moved moved;
        assert_true(mi_pool_reserve(pool, &m.f.heap, &m.f.store.values, ENTITY_COUNT, &moved));
        for (uint32_t i = 0; i < ENTITY_COUNT; i++) {
            const uint32_t index = mica_entity_index(m.entities[i]);
            assert_true(mi_store_open_element(&m.f.store, pool, index, &moved));
            make_value(&m.f, pool, pool->count + i, m.entities[i]);
            m.kinds[i] |= BIT(kinds[k]);
        }
        mi_store_put_elements(&m.f.store, pool, m.entities, ENTITY_COUNT);
        mi_store_settle_elements(&m.f.store, pool, m.entities, ENTITY_COUNT);
        check_model(&m);
    }
    assert_int_equal(m.groups[0]->count, ENTITY_COUNT);
    end(&m.f);
}

// The order of members after an entity came or went does not hang on the order in which its elements do.
static void an_edit_in_steps_shows_groups_the_result_alone(void **state) {
    (void)state;
    const rule asked = {BIT(KIND_PACKED), 0, BIT(KIND_TAG)};
    for (uint32_t tag_first = 0; tag_first < 2; tag_first++) {
        fixture f;
        begin(&f);
        const mi_group *rival = NULL;
        mi_group *group = add_group(&f, &asked, "[own] Packed, !Tag", &rival);
        assert_non_null(group);
        mica_entity entities[4];
        for (uint32_t i = 0; i < 4; i++) {
            entities[i] = create(&f);
            add(&f, KIND_TAG, entities[i]);
            add(&f, KIND_PACKED, entities[i]);
        }
        mi_pool *leaving[2] = {f.pools[tag_first ? KIND_TAG : KIND_PACKED],
                               f.pools[tag_first ? KIND_PACKED : KIND_TAG]};
        uint64_t *mask = mi_store_mask(&f.store, entities[1]);
        for (uint32_t i = 0; i < 2; i++) {
            mi_bit_clear(mask, leaving[i]->index);
        }
        for (uint32_t i = 0; i < 2; i++) {
            mi_store_settle_groups(&f.store, leaving[i], entities[1]);
        }
        for (uint32_t i = 0; i < 2; i++) {
            mi_store_take_element(&f.store, leaving[i], entities[1]);
        }
        const mica_entity expected[] = {entities[0], entities[3], entities[2]};
        assert_int_equal(group->count, 0);
        assert_memory_equal(f.pools[KIND_PACKED]->entities, expected, sizeof(expected));
        end(&f);
    }
}

// As above for an entity that ends: pools made in either order are left alike.
static void the_end_of_an_entity_does_not_let_it_into_a_group(void **state) {
    (void)state;
    for (uint32_t tag_is_excluded = 0; tag_is_excluded < 2; tag_is_excluded++) {
        fixture f;
        begin(&f);
        // The excluded pool has a lower number than the owned one, then a higher one.
        const uint32_t owned = tag_is_excluded ? KIND_PACKED : KIND_HOOKS;
        const uint32_t excluded = tag_is_excluded ? KIND_TAG : KIND_PACKED;
        const rule asked = {BIT(owned), 0, BIT(excluded)};
        const mi_group *rival = NULL;
        assert_non_null(add_group(&f, &asked, "a group", &rival));
        mica_entity entities[4];
        for (uint32_t i = 0; i < 4; i++) {
            entities[i] = create(&f);
            add(&f, excluded, entities[i]);
            add(&f, owned, entities[i]);
        }
        destroy(&f, entities[1]);
        const mica_entity expected[] = {entities[0], entities[3], entities[2]};
        assert_memory_equal(f.pools[owned]->entities, expected, sizeof(expected));
        end(&f);
    }
}

static void a_pool_has_one_owner(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    const mi_group *rival = NULL;
    const rule first_rule = {BIT(KIND_PACKED), BIT(KIND_PAGED), 0};
    mi_group *first = add_group(&f, &first_rule, "the first", &rival);
    const rule second_rule = {BIT(KIND_PAGED) | BIT(KIND_PACKED), 0, 0};
    assert_null(add_group(&f, &second_rule, "the second", &rival));
    assert_int_equal(f.store.failure, MICA_EXISTS);
    assert_ptr_equal(rival, first);
    assert_string_equal(rival->name, "the first");
    assert_null(f.pools[KIND_PAGED]->owner);
    assert_int_equal(f.pools[KIND_PAGED]->groups.count, 1);
    assert_pools_valid(&f);
    mi_store_drop_group(&f.store, first);
    assert_null(f.pools[KIND_PACKED]->owner);
    assert_int_equal(f.pools[KIND_PAGED]->groups.count, 0);
    assert_non_null(add_group(&f, &second_rule, "the second", &rival));
    end(&f);
}

static void a_group_that_cannot_be_made_leaves_everything_as_it_was(void **state) {
    (void)state;
    model m;
    begin_model(&m);
    test_random random = {.state = 21};
    flip_at_random(&m, &random, 200);
    mica_entity before[ENTITY_COUNT];
    const mi_pool *pool = m.f.pools[KIND_PACKED];
    const uint32_t count = pool->count;
    memcpy(before, pool->entities, count * sizeof(mica_entity));
    for (uint64_t n = 1;; n++) {
        const mi_group *rival = NULL;
        test_allocator_fail_at(&m.f.allocator, n);
        m.groups[0] = add_group(&m.f, &rules[0], "a group", &rival);
        if (!test_allocator_fail_stop(&m.f.allocator)) {
            break;
        }
        assert_null(m.groups[0]);
        assert_int_equal(m.f.store.failure, MICA_OUT_OF_MEMORY);
        assert_null(rival);
        assert_memory_equal(pool->entities, before, count * sizeof(mica_entity));
        check_model(&m);
    }
    assert_non_null(m.groups[0]);
    check_model(&m);
    // From then on nothing that a group does needs memory.
    const uint64_t calls = m.f.allocator.call_count;
    for (uint32_t i = 0; i < ENTITY_COUNT; i++) {
        if ((m.kinds[i] & BIT(KIND_PACKED)) != 0) {
            flip(&m, i, KIND_PACKED);
            check_model(&m);
        }
    }
    assert_int_equal(m.f.allocator.call_count, calls);
    end(&m.f);
}

static void pools_made_later_are_no_part_of_a_group(void **state) {
    (void)state;
    model m;
    begin_model(&m);
    add_groups(&m);
    mi_pool *later[70];
    for (uint32_t i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof(name), "Later%u", (unsigned)i);
        later[i] = mi_store_pool(&m.f.store, add_type(&m.f, name, 0, (mica_traits){.toggle = false}));
        assert_true(try_add(&m.f, later[i], m.entities[i % ENTITY_COUNT]));
    }
    test_random random = {.state = 5};
    for (uint32_t i = 0; i < 300; i++) {
        flip_at_random(&m, &random, 1);
        check_model(&m);
    }
    // And a group of pools beyond the first word of masks.
    const mi_group *rival = NULL;
    mi_pool *pools[] = {later[68], later[2]};
    const mi_group *group = mi_store_add_group(&m.f.store, pools, 1, 2, 0, "late", &rival);
    assert_non_null(group);
    assert_int_equal(group->count, 0);
    assert_true(try_add(&m.f, later[2], m.entities[18]));
    assert_int_equal(group->count, 1);
    check_model(&m);
    end(&m.f);
}

static void validation_finds_members_out_of_place(void **state) {
    (void)state;
    model m;
    begin_model(&m);
    add_groups(&m);
    for (uint32_t i = 0; i < 4; i++) {
        flip(&m, i, KIND_STABLE);
        flip(&m, i, KIND_PACKED);
        flip(&m, i, KIND_HOOKS);
    }
    flip(&m, 4, KIND_PACKED);
    mi_store *store = &m.f.store;
    mi_pool *pool = m.f.pools[KIND_PACKED];
    mi_pool_swap(pool, &store->values, 0, 3, store->spare);
    assert_string_equal(mi_store_validate_pools(store),
                        "groups: two pools of a group have its members in different orders");
    mi_pool_swap(pool, &store->values, 0, 3, store->spare);
    m.groups[0]->count--;
    assert_string_equal(mi_store_validate_pools(store),
                        "groups: a member does not match, or somebody who matches is no member");
    m.groups[0]->count++;
    pool->owner = NULL;
    assert_string_equal(mi_store_validate_pools(store), "groups: a pool is not owned as it should be");
    pool->owner = m.groups[0];
    m.f.pools[KIND_TAG]->groups.count--;
    assert_string_equal(mi_store_validate_pools(store), "groups: a pool and a group disagree about each other");
    m.f.pools[KIND_TAG]->groups.count++;
    check_model(&m);
    end(&m.f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_keep_members_in_front_and_alike),
        cmocka_unit_test(many_that_are_published_at_once_enter),
        cmocka_unit_test(an_edit_in_steps_shows_groups_the_result_alone),
        cmocka_unit_test(the_end_of_an_entity_does_not_let_it_into_a_group),
        cmocka_unit_test(a_pool_has_one_owner),
        cmocka_unit_test(a_group_that_cannot_be_made_leaves_everything_as_it_was),
        cmocka_unit_test(pools_made_later_are_no_part_of_a_group),
        cmocka_unit_test(validation_finds_members_out_of_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
