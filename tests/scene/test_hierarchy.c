// The hierarchy: links, their order, and what destroying does with them; by verbs and by commands.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scene/hierarchy.h"
#include "support/test_allocator.h"
#include "support/test_random.h"

#include <mica/mica.h>

MICA_STRUCT(Weight, { int32_t grams; });
MICA_STRUCT_WITH(Ballast, (.storage = MICA_TABLE), { int32_t grams; });
MICA_TAG(Marked);

static mica_world *make_world(void) {
    mica_world *world = mica_world_create(NULL);
    assert_non_null(world);
    return world;
}

static void assert_same(mica_entity a, mica_entity b) {
    assert_true(mica_entity_equal(a, b));
}

static void assert_valid(mica_world *world) {
    if (mica_world_validate(world) != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

// Asserts the children of `parent`, in order, walked from both ends.
static void assert_children(mica_world *world, mica_entity parent, const mica_entity *children, int32_t count) {
    assert_int_equal(mica_child_count(world, parent), count);
    mica_entity forwards = mica_first_child(world, parent);
    mica_entity backwards = mica_last_child(world, parent);
    for (int32_t i = 0; i < count; i++) {
        assert_same(forwards, children[i]);
        assert_same(backwards, children[count - 1 - i]);
        assert_same(mica_parent(world, forwards), parent);
        forwards = mica_next_sibling(world, forwards);
        backwards = mica_previous_sibling(world, backwards);
    }
    assert_true(mica_entity_is_null(forwards));
    assert_true(mica_entity_is_null(backwards));
}

#define ASSERT_CHILDREN(WORLD, PARENT, ...)                                \
    assert_children((WORLD), (PARENT), (const mica_entity[]){__VA_ARGS__}, \
                    (int32_t)(sizeof((mica_entity[]){__VA_ARGS__}) / sizeof(mica_entity)))

static void children_stand_in_the_order_of_linking(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity a = mica_create(world);
    const mica_entity b = mica_create(world);
    const mica_entity c = mica_spawn(world, mica_value_of(Weight, {3}), mica_value_of(mica_child_of, {parent}));
    assert_int_equal(mica_set_parent(world, b, parent), MICA_OK);
    assert_int_equal(mica_set(world, a, mica_child_of, {parent}), MICA_OK);
    ASSERT_CHILDREN(world, parent, c, b, a);
    assert_same(mica_get(world, a, mica_child_of)->parent, parent);
    assert_int_equal(mica_get(world, c, Weight)->grams, 3);
    assert_valid(world);
    mica_world_destroy(world);
}

static void what_was_never_linked_has_nobody(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity lone = mica_create(world);
    mica_error_clear();
    for (int32_t round = 0; round < 2; round++) {
        assert_true(mica_entity_is_null(mica_parent(world, lone)));
        assert_true(mica_entity_is_null(mica_first_child(world, lone)));
        assert_true(mica_entity_is_null(mica_last_child(world, lone)));
        assert_true(mica_entity_is_null(mica_next_sibling(world, lone)));
        assert_true(mica_entity_is_null(mica_previous_sibling(world, lone)));
        assert_int_equal(mica_child_count(world, lone), 0);
        assert_int_equal(mica_unparent(world, lone), MICA_OK);
        // The second time the world has links.
        assert_int_equal(mica_set_parent(world, mica_create(world), mica_create(world)), MICA_OK);
    }
    assert_int_equal(mica_last_result(), MICA_OK);
    mica_world_destroy(world);
}

static void roots_with_children_are_no_siblings(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity parents[3];
    for (int32_t i = 0; i < 3; i++) {
        parents[i] = mica_create(world);
        assert_int_equal(mica_set_parent(world, mica_create(world), parents[i]), MICA_OK);
    }
    assert_true(mica_entity_is_null(mica_next_sibling(world, parents[1])));
    assert_true(mica_entity_is_null(mica_previous_sibling(world, parents[1])));
    assert_true(mica_entity_is_null(mica_parent(world, parents[1])));
    mica_world_destroy(world);
}

static void a_link_that_is_there_keeps_its_place(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity a = mica_create(world);
    const mica_entity b = mica_create(world);
    mica_set_parent(world, a, parent);
    mica_set_parent(world, b, parent);
    assert_int_equal(mica_set_parent(world, a, parent), MICA_OK);
    ASSERT_CHILDREN(world, parent, a, b);
    assert_int_equal(mica_add_value(world, a, mica_child_of, {parent}), MICA_EXISTS);
    mica_world_destroy(world);
}

static void another_parent_ends_the_old_link(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity first = mica_create(world);
    const mica_entity second = mica_create(world);
    const mica_entity child = mica_create(world);
    const mica_entity sibling = mica_create(world);
    mica_set_parent(world, child, first);
    mica_set_parent(world, sibling, first);
    assert_int_equal(mica_set_parent(world, child, second), MICA_OK);
    ASSERT_CHILDREN(world, first, sibling);
    ASSERT_CHILDREN(world, second, child);
    assert_int_equal(mica_destroy(world, first), MICA_OK);
    assert_true(mica_alive(world, child));
    assert_same(mica_parent(world, child), second);
    assert_valid(world);
    mica_world_destroy(world);
}

static void a_null_parent_makes_a_root(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity child = mica_spawn(world, mica_value_of(Weight, {7}));
    for (int32_t round = 0; round < 4; round++) {
        assert_int_equal(mica_set_parent(world, child, parent), MICA_OK);
        assert_true(mica_has(world, child, mica_child_of));
        const mica_result result = round == 0   ? mica_set_parent(world, child, MICA_NULL)
                                   : round == 1 ? mica_set(world, child, mica_child_of, {MICA_NULL})
                                   : round == 2 ? mica_remove(world, child, mica_child_of)
                                                : mica_unparent(world, child);
        assert_int_equal(result, MICA_OK);
        assert_false(mica_has(world, child, mica_child_of));
        assert_true(mica_entity_is_null(mica_parent(world, child)));
        assert_int_equal(mica_child_count(world, parent), 0);
        assert_int_equal(mica_get(world, child, Weight)->grams, 7);
        assert_valid(world);
    }
    assert_int_equal(mica_add(world, child, mica_child_of), MICA_OK);
    assert_false(mica_has(world, child, mica_child_of));
    mica_world_destroy(world);
}

static void cycles_are_refused_and_change_nothing(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity chain[4];
    for (int32_t i = 0; i < 4; i++) {
        chain[i] = mica_create(world);
        if (i > 0) {
            mica_set_parent(world, chain[i], chain[i - 1]);
        }
    }
    assert_int_equal(mica_set_parent(world, chain[0], chain[0]), MICA_CYCLE);
    assert_int_equal(mica_set(world, chain[1], mica_child_of, {chain[1]}), MICA_CYCLE);
    assert_int_equal(mica_set_parent(world, chain[0], chain[3]), MICA_CYCLE);
    char expected[64];
    snprintf(expected, sizeof(expected), "entity %u:%u cannot be the parent of entity %u:%u",
             mica_entity_index(chain[3]), mica_entity_generation(chain[3]), mica_entity_index(chain[0]),
             mica_entity_generation(chain[0]));
    assert_non_null(strstr(mica_last_error(), expected));
    assert_int_equal(mica_set_parent(world, chain[1], chain[2]), MICA_CYCLE);
    for (int32_t i = 1; i < 4; i++) {
        ASSERT_CHILDREN(world, chain[i - 1], chain[i]);
    }
    assert_false(mica_has(world, chain[0], mica_child_of));
    assert_valid(world);
    mica_world_destroy(world);
}

static void misuse_is_refused(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity child = mica_create(world);
    const mica_entity dead = mica_create(world);
    mica_destroy(world, dead);
    assert_int_equal(mica_set_parent(world, dead, parent), MICA_STALE);
    assert_int_equal(mica_set_parent(world, child, dead), MICA_STALE);
    assert_int_equal(mica_set(world, child, mica_child_of, {dead}), MICA_STALE);
    assert_int_equal(mica_set_parent(world, MICA_NULL, parent), MICA_STALE);
    assert_int_equal(mica_entity_set_parent(world, child, parent, (mica_pose)2), MICA_INVALID);
    assert_int_equal(mica_entity_set_parent(NULL, child, parent, MICA_POSE_LOCAL), MICA_INVALID);
    assert_int_equal(mica_destroy_subtree(world, dead), MICA_STALE);
    assert_int_equal(mica_child_count(world, dead), -1);
    mica_error_clear();
    assert_true(mica_entity_is_null(mica_parent(world, dead)));
    assert_int_equal(mica_last_result(), MICA_STALE);
    assert_null(mica_get_write(world, child, mica_child_of));
    assert_false(mica_has(world, child, mica_child_of));
    assert_valid(world);
    mica_world_destroy(world);
}

static void links_are_read_only_to_everything_but_their_verbs(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity child = mica_create(world);
    mica_set_parent(world, child, parent);
    assert_null(mica_get_write(world, child, mica_child_of));
    assert_int_equal(mica_last_result(), MICA_NO_ACCESS);
    assert_null(mica_query_of(world, mica_write(mica_child_of)));
    mica_query *query = mica_query_of(world, mica_read(mica_child_of));
    int32_t count = 0;
    mica_each (query, it) {
        const mica_child_of *links = mica_read_of(it, mica_child_of);
        for (int32_t i = 0; i < it.count; i++) {
            assert_same(links[i].parent, parent);
            count++;
        }
        assert_int_equal(mica_set_parent(world, child, MICA_NULL), MICA_LOCKED);
        assert_int_equal(mica_set(world, child, mica_child_of, {MICA_NULL}), MICA_LOCKED);
        assert_int_equal(mica_destroy_subtree(world, parent), MICA_LOCKED);
        assert_int_equal(mica_set_parent_many(world, &child, &parent, 1), MICA_LOCKED);
        assert_int_equal(mica_unparent(mica_iter_commands(it), child), MICA_OK);
    }
    assert_int_equal(count, 1);
    assert_int_equal(mica_child_count(world, parent), 0);
    mica_world_destroy(world);
}

static void children_of_the_destroyed_move_up_in_its_place(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity root = mica_create(world);
    mica_entity middle[3];
    mica_entity below[3];
    for (int32_t i = 0; i < 3; i++) {
        middle[i] = mica_create(world);
        mica_set_parent(world, middle[i], root);
    }
    for (int32_t i = 0; i < 3; i++) {
        below[i] = mica_spawn(world, mica_value_of(Weight, {i}));
        mica_set_parent(world, below[i], middle[1]);
    }
    assert_int_equal(mica_destroy(world, middle[1]), MICA_OK);
    ASSERT_CHILDREN(world, root, middle[0], below[0], below[1], below[2], middle[2]);
    assert_same(mica_get(world, below[1], mica_child_of)->parent, root);
    assert_valid(world);
    assert_int_equal(mica_destroy(world, root), MICA_OK);
    for (int32_t i = 0; i < 3; i++) {
        assert_true(mica_entity_is_null(mica_parent(world, below[i])));
        assert_true(mica_entity_is_null(mica_next_sibling(world, below[i])));
        assert_false(mica_has(world, below[i], mica_child_of));
        assert_int_equal(mica_get(world, below[i], Weight)->grams, i);
    }
    assert_valid(world);
    mica_world_destroy(world);
}

// Values whose destruction is written down.
static mica_entity destroyed[16];
static int32_t destroyed_count;
static void note_destruct(void *values, int32_t count, const mica_hook_context *context);
MICA_STRUCT_WITH(Diary, (.hooks = {.destruct = note_destruct}), { mica_entity self; });

static void note_destruct(void *values, int32_t count, const mica_hook_context *context) {
    (void)context;
    for (int32_t i = 0; i < count && destroyed_count < 16; i++) {
        destroyed[destroyed_count++] = ((const Diary *)values)[i].self;
    }
}

static void a_subtree_goes_deepest_first_in_order(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity e[7];
    for (int32_t i = 0; i < 7; i++) {
        e[i] = mica_create(world);
        mica_set(world, e[i], Diary, {e[i]});
    }
    // 0 is above 1 (above 3 and 4) and 2 (above 5); 6 stands beside.
    static const int32_t parents[7] = {6, 0, 0, 1, 1, 2, -1};
    for (int32_t i = 0; i < 6; i++) {
        mica_set_parent(world, e[i], e[parents[i]]);
    }
    destroyed_count = 0;
    assert_int_equal(mica_destroy_subtree(world, e[0]), MICA_OK);
    static const int32_t order[6] = {3, 4, 1, 5, 2, 0};
    assert_int_equal(destroyed_count, 6);
    for (int32_t i = 0; i < 6; i++) {
        assert_same(destroyed[i], e[order[i]]);
        assert_false(mica_alive(world, e[i]));
    }
    assert_int_equal(mica_child_count(world, e[6]), 0);
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_valid(world);
    assert_int_equal(mica_destroy_subtree(world, e[6]), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 0);
    mica_world_destroy(world);
}

static void a_subtree_without_links_is_its_root(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity a = mica_create(world);
    const mica_entity b = mica_create(world);
    assert_int_equal(mica_destroy_subtree(world, a), MICA_OK);
    assert_false(mica_alive(world, a));
    assert_true(mica_alive(world, b));
    mica_world_destroy(world);
}

// Both hold the component that decides who goes, and one is the other's parent.
static void many_are_destroyed_whichever_is_the_parent(void **state) {
    (void)state;
    for (int32_t first = 0; first < 2; first++) {
        mica_world *world = make_world();
        const mica_entity parent = mica_spawn(world, mica_value_of(Weight, {1}));
        const mica_entity child = mica_spawn(world, mica_value_of(Weight, {2}), mica_value_of(mica_child_of, {parent}));
        const mica_entity both[2] = {first == 0 ? parent : child, first == 0 ? child : parent};
        assert_int_equal(mica_destroy_many(world, both, 2), MICA_OK);
        assert_int_equal(mica_world_entity_count(world), 0);
        assert_valid(world);
        mica_world_destroy(world);
    }
}

static void a_clone_is_the_last_sibling_of_its_source(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity a = mica_spawn(world, mica_value_of(Weight, {5}));
    const mica_entity b = mica_create(world);
    const mica_entity below = mica_create(world);
    mica_set_parent(world, a, parent);
    mica_set_parent(world, b, parent);
    mica_set_parent(world, below, a);
    const mica_entity clone = mica_clone(world, a);
    ASSERT_CHILDREN(world, parent, a, b, clone);
    assert_int_equal(mica_get(world, clone, Weight)->grams, 5);
    assert_int_equal(mica_child_count(world, clone), 0);
    assert_valid(world);
    mica_world_destroy(world);
}

static void clearing_forgets_all_links(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity parent = mica_create(world);
    mica_set_parent(world, mica_create(world), parent);
    assert_int_equal(mica_world_clear(world), MICA_OK);
    assert_valid(world);
    parent = mica_create(world);
    assert_int_equal(mica_child_count(world, parent), 0);
    const mica_entity child = mica_create(world);
    assert_int_equal(mica_set_parent(world, child, parent), MICA_OK);
    ASSERT_CHILDREN(world, parent, child);
    assert_valid(world);
    mica_world_destroy(world);
}

static void slots_used_again_start_without_links(void **state) {
    (void)state;
    mica_world *world = make_world();
    const mica_entity parent = mica_create(world);
    const mica_entity child = mica_create(world);
    mica_set_parent(world, child, parent);
    mica_destroy(world, child);
    const mica_entity heir = mica_create(world);
    assert_int_equal(mica_entity_index(heir), mica_entity_index(child));
    assert_true(mica_entity_is_null(mica_parent(world, heir)));
    assert_int_equal(mica_child_count(world, parent), 0);
    mica_world_destroy(world);
}

static void two_worlds_of_one_schema_keep_their_own_links(void **state) {
    (void)state;
    mica_world *first = make_world();
    mica_world *second = mica_world_create(&(mica_world_def){.schema = mica_world_schema(first)});
    const mica_entity parent = mica_create(first);
    const mica_entity child = mica_create(first);
    assert_same(mica_create(second), parent);
    assert_same(mica_create(second), child);
    assert_int_equal(mica_set(first, child, mica_child_of, {parent}), MICA_OK);
    assert_true(mica_entity_is_null(mica_parent(second, child)));
    assert_int_equal(mica_set(second, parent, mica_child_of, {child}), MICA_OK);
    assert_same(mica_parent(second, parent), child);
    assert_same(mica_parent(first, child), parent);
    mica_world_destroy(first);
    assert_valid(second);
    mica_world_destroy(second);
}

// Many at once

static void many_are_linked_in_the_order_of_the_call(void **state) {
    (void)state;
    mica_world *world = make_world();
    enum { COUNT = 300 };
    mica_entity parents[2] = {mica_create(world), mica_create(world)};
    mica_entity children[COUNT];
    mica_entity parent_of[COUNT];
    mica_entity of_first[COUNT];
    mica_entity of_second[COUNT];
    int32_t first_count = 0;
    int32_t second_count = 0;
    for (int32_t i = 0; i < COUNT; i++) {
        children[i] = i % 3 == 0 ? mica_create(world) : mica_spawn(world, mica_value_of(Weight, {i}));
        if (i % 7 == 0) {
            mica_set_parent(world, children[i], parents[0]);
        }
    }
    for (int32_t i = 0; i < COUNT; i++) { // those that are there keep their places
        if (i % 7 == 0 && i % 2 == 0) {
            of_first[first_count++] = children[i];
        }
    }
    for (int32_t i = 0; i < COUNT; i++) {
        parent_of[i] = i % 5 == 1 ? MICA_NULL : parents[i % 2];
        if (i % 5 == 1) {
            for (int32_t k = 0; k < first_count; k++) {
                if (mica_entity_equal(of_first[k], children[i])) {
                    memmove(&of_first[k], &of_first[k + 1], sizeof(mica_entity) * (size_t)(first_count - k - 1));
                    first_count--;
                }
            }
        } else if (i % 2 == 1) {
            of_second[second_count++] = children[i];
        } else if (i % 7 != 0) {
            of_first[first_count++] = children[i];
        }
    }
    assert_int_equal(mica_set_parent_many(world, children, parent_of, COUNT), MICA_OK);
    assert_children(world, parents[0], of_first, first_count);
    assert_children(world, parents[1], of_second, second_count);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_int_equal(mica_has(world, children[i], mica_child_of), i % 5 != 1);
        if (i % 3 != 0) {
            assert_int_equal(mica_get(world, children[i], Weight)->grams, i);
        }
    }
    assert_valid(world);
    mica_world_destroy(world);
}

static void many_may_turn_a_chain_over(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity chain[5];
    for (int32_t i = 0; i < 5; i++) {
        chain[i] = mica_create(world);
        if (i > 0) {
            mica_set_parent(world, chain[i], chain[i - 1]);
        }
    }
    const mica_entity children[5] = {chain[0], chain[1], chain[2], chain[3], chain[4]};
    const mica_entity parents[5] = {chain[1], chain[2], chain[3], chain[4], MICA_NULL};
    assert_int_equal(mica_set_parent_many(world, children, parents, 5), MICA_OK);
    for (int32_t i = 0; i < 4; i++) {
        ASSERT_CHILDREN(world, chain[i + 1], chain[i]);
    }
    assert_int_equal(mica_child_count(world, chain[0]), 0);
    assert_false(mica_has(world, chain[4], mica_child_of));
    assert_valid(world);
    mica_world_destroy(world);
}

static void many_are_refused_as_one(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity e[6];
    for (int32_t i = 0; i < 6; i++) {
        e[i] = mica_create(world);
    }
    mica_set_parent(world, e[1], e[0]);
    mica_set_parent(world, e[2], e[1]);
    const mica_entity dead = mica_create(world);
    mica_destroy(world, dead);
    const struct {
        mica_entity children[3];
        mica_entity parents[3];
        mica_result result;
        const char *text;
    } cases[] = {
        {{e[3], dead, e[4]}, {e[0], e[0], e[0]}, MICA_STALE, "children[1]"},
        {{e[3], e[4], e[5]}, {e[0], e[0], dead}, MICA_STALE, "parents[2]"},
        {{e[3], e[4], e[3]}, {e[0], e[0], e[1]}, MICA_INVALID, "children[2]"},
        {{e[3], e[4], e[4]}, {e[0], e[0], e[0]}, MICA_INVALID, "children[2]"},
        {{e[3], e[4], e[5]}, {e[4], e[5], e[3]}, MICA_CYCLE, "children[0]"},
        {{e[3], e[4], e[5]}, {e[0], e[4], e[3]}, MICA_CYCLE, "children[1]"},
        {{e[3], e[0], e[4]}, {e[2], e[3], e[0]}, MICA_CYCLE, "cycle through"},
        {{e[5], e[4], e[0]}, {e[4], e[0], e[2]}, MICA_CYCLE, "cycle through"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mica_set_parent_many(world, cases[i].children, cases[i].parents, 3), cases[i].result);
        assert_non_null(strstr(mica_last_error(), cases[i].text));
        ASSERT_CHILDREN(world, e[0], e[1]);
        ASSERT_CHILDREN(world, e[1], e[2]);
        for (int32_t k = 3; k < 6; k++) {
            assert_false(mica_has(world, e[k], mica_child_of));
        }
        assert_valid(world);
    }
    assert_int_equal(mica_set_parent_many(world, NULL, NULL, 1), MICA_INVALID);
    assert_int_equal(mica_set_parent_many(world, e, e, -1), MICA_INVALID);
    assert_int_equal(mica_set_parent_many(world, NULL, NULL, 0), MICA_OK);
    // After all that the same call still works.
    assert_int_equal(mica_set_parent_many(world, &e[3], (const mica_entity[]){e[2], e[3], e[4]}, 3), MICA_OK);
    ASSERT_CHILDREN(world, e[4], e[5]);
    mica_world_destroy(world);
}

// Large trees

#if defined(MI_MOVE_ALWAYS)
enum { LARGE = 500 }; // each change moves all rows of a table there
#else
enum { LARGE = 50000 };
#endif

static void shuffle(mica_entity *entities, mica_entity *beside, int32_t count, test_random *random) {
    for (int32_t i = count - 1; i > 0; i--) {
        const int32_t k = (int32_t)test_random_below(random, (uint32_t)i + 1);
        const mica_entity swapped = entities[i];
        entities[i] = entities[k];
        entities[k] = swapped;
        if (beside != NULL) {
            const mica_entity other = beside[i];
            beside[i] = beside[k];
            beside[k] = other;
        }
    }
}

// A chain of 200,000 and 300,000 siblings: quadratic work would take minutes, recursion would overflow the stack.
static void large_trees_are_linked_and_torn_down(void **state) {
    (void)state;
    enum { CHAIN = 4 * LARGE, WIDE = 6 * LARGE, COUNT = CHAIN + WIDE };
    mica_world *world = make_world();
    mica_entity *entities = malloc(sizeof(mica_entity) * COUNT);
    mica_entity *children = malloc(sizeof(mica_entity) * COUNT);
    mica_entity *parents = malloc(sizeof(mica_entity) * COUNT);
    assert_true(entities != NULL && children != NULL && parents != NULL);
    assert_int_equal(mica_entity_spawn_many(world, &(mica_column){.type = mica_type_of(Marked)}, 1, COUNT, entities),
                     MICA_OK);
    const mica_entity root = entities[0];
    for (int32_t i = 1; i < COUNT; i++) {
        children[i - 1] = entities[i];
        parents[i - 1] = i < CHAIN ? entities[i - 1] : root;
    }
    test_random random = {7};
    shuffle(children, parents, COUNT - 1, &random);
    assert_int_equal(mica_set_parent_many(world, children, parents, COUNT - 1), MICA_OK);
    assert_int_equal(mica_child_count(world, root), WIDE + 1);
    assert_valid(world);
    // The bottom of the chain above its top: the longest way up.
    assert_int_equal(mica_set_parent(world, root, entities[CHAIN - 1]), MICA_CYCLE);
    // Siblings go from the front, from the back, and at random.
    for (int32_t i = 0; i < LARGE; i++) {
        mica_entity_destroy(world, i % 2 == 0 ? mica_first_child(world, root) : mica_last_child(world, root));
    }
    int32_t left = mica_child_count(world, root);
    for (int32_t i = 0; i < COUNT - 1 && left > 2 * LARGE; i++) {
        if (mica_alive(world, children[i]) && mica_entity_equal(parents[i], root)) {
            assert_int_equal(mica_destroy(world, children[i]), MICA_OK);
            left--;
        }
    }
    assert_valid(world);
    assert_int_equal(mica_destroy_subtree(world, root), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 0);
    assert_valid(world);
    free(entities);
    free(children);
    free(parents);
    mica_world_destroy(world);
}

static void destroying_the_parent_of_many_frees_them_all(void **state) {
    (void)state;
    enum { COUNT = 2 * LARGE };
    mica_world *world = make_world();
    const mica_entity root = mica_create(world);
    const mica_entity parent = mica_create(world);
    mica_set_parent(world, parent, root);
    mica_entity *children = malloc(sizeof(mica_entity) * COUNT);
    mica_entity *parents = malloc(sizeof(mica_entity) * COUNT);
    assert_true(children != NULL && parents != NULL);
    for (int32_t i = 0; i < COUNT; i++) {
        children[i] = mica_create(world);
        parents[i] = parent;
    }
    assert_int_equal(mica_set_parent_many(world, children, parents, COUNT), MICA_OK);
    assert_int_equal(mica_destroy(world, parent), MICA_OK);
    assert_children(world, root, children, COUNT);
    assert_int_equal(mica_destroy(world, root), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        assert_false(mica_has(world, children[i], mica_child_of));
    }
    assert_valid(world);
    free(children);
    free(parents);
    mica_world_destroy(world);
}

// Commands

static void commands_link_in_the_order_of_recording(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_commands *commands = mica_commands_create(world);
    const mica_entity parent = mica_create(commands);
    const mica_entity a = mica_create(commands);
    const mica_entity b = mica_spawn(commands, mica_value_of(Weight, {2}), mica_value_of(mica_child_of, {parent}));
    assert_int_equal(mica_set_parent(commands, a, parent), MICA_OK);
    const mica_entity c = mica_create(commands);
    assert_int_equal(mica_set(commands, c, mica_child_of, {parent}), MICA_OK);
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    const mica_entity made = mica_commands_resolve(commands, parent);
    ASSERT_CHILDREN(world, made, mica_commands_resolve(commands, b), mica_commands_resolve(commands, a),
                    mica_commands_resolve(commands, c));
    const mica_entity root = mica_create(world);
    assert_int_equal(mica_set_parent(commands, made, root), MICA_OK);
    assert_int_equal(mica_destroy_subtree(commands, made), MICA_OK);
    assert_int_equal(mica_unparent(commands, made), MICA_OK); // dead by then
    assert_int_equal(mica_commands_apply(commands), MICA_OK);
    assert_int_equal(mica_world_entity_count(world), 1);
    assert_int_equal(mica_child_count(world, root), 0);
    assert_int_equal(mica_commands_statistics(commands).skipped_count, 1);
    assert_int_equal(mica_entity_set_parent(world, root, root, MICA_POSE_LOCAL), MICA_CYCLE);
    assert_int_equal(mica_commands_set_parent(commands, root, root, (mica_pose)9), MICA_INVALID);
    assert_int_equal(mica_commands_set_parent(NULL, root, root, MICA_POSE_LOCAL), MICA_INVALID);
    assert_int_equal(mica_commands_destroy_subtree(NULL, root), MICA_INVALID);
    mica_commands_destroy(commands);
    assert_valid(world);
    mica_world_destroy(world);
}

// The same operations on a tree of plain arrays

enum { MODEL_MAX = 64, STEP_COUNT = 6000 };

typedef struct model_node {
    bool alive;
    mica_entity entity;
    int32_t parent; // -1: none
    int32_t children[MODEL_MAX];
    int32_t child_count;
} model_node;

typedef struct model {
    model_node nodes[MODEL_MAX];
    mica_world *world;
    mica_commands *commands;
    test_random random;
} model;

static void model_take_out(model *of, int32_t child) {
    model_node *node = &of->nodes[child];
    if (node->parent < 0) {
        return;
    }
    model_node *parent = &of->nodes[node->parent];
    int32_t kept = 0;
    for (int32_t i = 0; i < parent->child_count; i++) {
        if (parent->children[i] != child) {
            parent->children[kept++] = parent->children[i];
        }
    }
    parent->child_count = kept;
    node->parent = -1;
}

static bool model_is_below(const model *of, int32_t node, int32_t above) {
    for (; node >= 0; node = of->nodes[node].parent) {
        if (node == above) {
            return true;
        }
    }
    return false;
}

// False: refused.
static bool model_link(model *of, int32_t child, int32_t parent) {
    if (parent >= 0 && model_is_below(of, parent, child)) {
        return false;
    }
    if (of->nodes[child].parent != parent) {
        model_take_out(of, child);
        if (parent >= 0) {
            of->nodes[parent].children[of->nodes[parent].child_count++] = child;
            of->nodes[child].parent = parent;
        }
    }
    return true;
}

static void model_destroy(model *of, int32_t which) {
    model_node *node = &of->nodes[which];
    const int32_t parent = node->parent;
    for (int32_t i = 0; i < node->child_count; i++) {
        of->nodes[node->children[i]].parent = parent;
    }
    if (parent >= 0) {
        model_node *above = &of->nodes[parent];
        int32_t lifted[MODEL_MAX];
        int32_t count = 0;
        for (int32_t i = 0; i < above->child_count; i++) {
            if (above->children[i] != which) {
                lifted[count++] = above->children[i];
                continue;
            }
            memcpy(&lifted[count], node->children, sizeof(int32_t) * (size_t)node->child_count);
            count += node->child_count;
        }
        memcpy(above->children, lifted, sizeof(int32_t) * (size_t)count);
        above->child_count = count;
    }
    node->alive = false;
    node->child_count = 0;
}

static void model_destroy_subtree(model *of, int32_t which) {
    model_take_out(of, which);
    for (bool found = true; found;) {
        found = false;
        for (int32_t i = 0; i < MODEL_MAX; i++) {
            if (of->nodes[i].alive && of->nodes[i].child_count == 0 && model_is_below(of, i, which)) {
                model_take_out(of, i);
                of->nodes[i].alive = false;
                found = i != which;
                break;
            }
        }
    }
}

static int32_t model_pick(model *of, bool alive) {
    const uint32_t start = test_random_below(&of->random, MODEL_MAX);
    for (uint32_t i = 0; i < MODEL_MAX; i++) {
        const uint32_t at = (start + i) % MODEL_MAX;
        if (of->nodes[at].alive == alive) {
            return (int32_t)at;
        }
    }
    return -1;
}

static void model_compare(model *of) {
    assert_valid(of->world);
    int32_t count = 0;
    for (int32_t i = 0; i < MODEL_MAX; i++) {
        const model_node *node = &of->nodes[i];
        assert_int_equal(mica_alive(of->world, node->entity), node->alive);
        if (!node->alive) {
            continue;
        }
        count++;
        const mica_entity parent = node->parent < 0 ? MICA_NULL : of->nodes[node->parent].entity;
        assert_same(mica_parent(of->world, node->entity), parent);
        const mica_child_of *link = mica_get(of->world, node->entity, mica_child_of);
        assert_int_equal(link != NULL, node->parent >= 0);
        if (link != NULL) {
            assert_same(link->parent, parent);
        }
        mica_entity children[MODEL_MAX];
        for (int32_t k = 0; k < node->child_count; k++) {
            children[k] = of->nodes[node->children[k]].entity;
        }
        assert_children(of->world, node->entity, children, node->child_count);
    }
    assert_int_equal(mica_world_entity_count(of->world), count);
}

static void model_add(model *of, int32_t which, mica_entity entity) {
    of->nodes[which] = (model_node){.alive = true, .entity = entity, .parent = -1};
}

static void step_make(model *of) {
    const int32_t which = model_pick(of, false);
    const int32_t parent = model_pick(of, true);
    if (which < 0) {
        return;
    }
    const bool linked = parent >= 0 && test_random_below(&of->random, 2) == 0;
    model_add(of, which,
              linked ? mica_spawn(of->world, mica_value_of(mica_child_of, {of->nodes[parent].entity}),
                                  mica_value_of(Weight, {which}))
                     : mica_create(of->world));
    if (linked) {
        model_link(of, which, parent);
    }
}

static void step_link(model *of, bool by_commands) {
    const int32_t child = model_pick(of, true);
    const int32_t parent = test_random_below(&of->random, 6) == 0 ? -1 : model_pick(of, true);
    if (child < 0) {
        return;
    }
    const mica_entity entity = of->nodes[child].entity;
    const mica_entity to = parent < 0 ? MICA_NULL : of->nodes[parent].entity;
    const bool through_set = test_random_below(&of->random, 2) == 0;
    const bool possible = model_link(of, child, parent);
    mica_result result;
    if (by_commands) {
        result = through_set ? mica_set(of->commands, entity, mica_child_of, {to})
                             : mica_set_parent(of->commands, entity, to);
        assert_int_equal(result, MICA_OK);
        assert_int_equal(mica_commands_apply(of->commands), MICA_OK);
        return;
    }
    result = through_set ? mica_set(of->world, entity, mica_child_of, {to}) : mica_set_parent(of->world, entity, to);
    assert_int_equal(result, possible ? MICA_OK : MICA_CYCLE);
}

static void step_unlink(model *of) {
    const int32_t child = model_pick(of, true);
    if (child >= 0) {
        assert_int_equal(mica_remove(of->world, of->nodes[child].entity, mica_child_of), MICA_OK);
        model_take_out(of, child);
    }
}

static void step_destroy(model *of, bool subtree, bool by_commands) {
    const int32_t which = model_pick(of, true);
    if (which < 0) {
        return;
    }
    const mica_entity entity = of->nodes[which].entity;
    if (by_commands) {
        assert_int_equal(subtree ? mica_destroy_subtree(of->commands, entity) : mica_destroy(of->commands, entity),
                         MICA_OK);
        assert_int_equal(mica_commands_apply(of->commands), MICA_OK);
    } else {
        assert_int_equal(subtree ? mica_destroy_subtree(of->world, entity) : mica_destroy(of->world, entity), MICA_OK);
    }
    if (subtree) {
        model_destroy_subtree(of, which);
    } else {
        model_destroy(of, which);
    }
}

static void step_clone(model *of) {
    const int32_t source = model_pick(of, true);
    const int32_t which = model_pick(of, false);
    if (source >= 0 && which >= 0) {
        model_add(of, which, mica_clone(of->world, of->nodes[source].entity));
        model_link(of, which, of->nodes[source].parent);
    }
}

// Links up to 12 at once. The model decides by trying on a copy.
static void step_link_many(model *of) {
    mica_entity children[12];
    mica_entity parents[12];
    int32_t child_of[12];
    int32_t parent_of[12];
    bool taken[MODEL_MAX] = {false};
    int32_t count = 0;
    for (int32_t i = 0; i < 12; i++) {
        const int32_t child = model_pick(of, true);
        if (child < 0 || taken[child]) {
            continue;
        }
        taken[child] = true;
        child_of[count] = child;
        parent_of[count] = test_random_below(&of->random, 3) == 0 ? -1 : model_pick(of, true);
        children[count] = of->nodes[child].entity;
        parents[count] = parent_of[count] < 0 ? MICA_NULL : of->nodes[parent_of[count]].entity;
        count++;
    }
    static model_node before[MODEL_MAX];
    memcpy(before, of->nodes, sizeof(before));
    // Links are taken apart first, so that only what the end looks like counts; those that stay are left alone.
    for (int32_t i = 0; i < count; i++) {
        if (of->nodes[child_of[i]].parent != parent_of[i]) {
            model_take_out(of, child_of[i]);
        }
    }
    bool possible = true;
    for (int32_t i = 0; i < count && possible; i++) {
        possible = model_link(of, child_of[i], parent_of[i]);
    }
    if (!possible) {
        memcpy(of->nodes, before, sizeof(before));
    }
    assert_int_equal(mica_set_parent_many(of->world, children, parents, count), possible ? MICA_OK : MICA_CYCLE);
}

static void model_step(model *of) {
    switch (test_random_below(&of->random, 40)) {
    case 0:
        step_destroy(of, true, false);
        break;
    case 1:
        step_destroy(of, true, true);
        break;
    case 2:
    case 3:
        step_destroy(of, false, false);
        break;
    case 4:
        step_destroy(of, false, true);
        break;
    case 5:
    case 6:
        step_clone(of);
        break;
    case 7:
    case 8:
    case 9:
        step_unlink(of);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
        step_link_many(of);
        break;
    case 15:
    case 16:
    case 17:
    case 18:
    case 19:
        step_link(of, true);
        break;
    case 20:
    case 21:
    case 22:
    case 23:
    case 24:
    case 25:
        step_make(of);
        break;
    default:
        step_link(of, false);
    }
}

static void random_operations_agree_with_plain_arrays(void **state) {
    (void)state;
    static model of;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        print_message("seed %d\n", (int)seed);
        of = (model){.world = make_world(), .random = {seed}};
        of.commands = mica_commands_create(of.world);
        for (int32_t step = 0; step < STEP_COUNT; step++) {
            if (step % 1500 == 1499) {
                assert_int_equal(mica_world_clear(of.world), MICA_OK);
                memset(of.nodes, 0, sizeof(of.nodes));
            } else {
                model_step(&of);
            }
            model_compare(&of);
        }
        mica_commands_destroy(of.commands);
        mica_world_destroy(of.world);
    }
}

// Out of memory

typedef struct failing_world {
    test_allocator allocator;
    mica_world *world;
    mica_entity entities[6];
} failing_world;

// 0 is above 1 and 2, 1 is above 3; 4 and 5 are by themselves. Far slots need pages of their own.
static void make_failing_world(failing_world *of) {
    test_allocator_init(&of->allocator);
    of->world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&of->allocator)});
    for (int32_t i = 0; i < 6; i++) {
        of->entities[i] = mica_entity_make(1 + 2000 * (uint32_t)i, 0);
    }
    assert_int_equal(mica_entity_create_at(of->world, of->entities, 6), MICA_OK);
    mica_set(of->world, of->entities[3], Ballast, {3}); // a row also without a link
    mica_set(of->world, of->entities[4], mica_transform, MICA_TRANSFORM_IDENTITY);
    mica_set_parent(of->world, of->entities[1], of->entities[0]);
    mica_set_parent(of->world, of->entities[2], of->entities[0]);
    mica_set_parent(of->world, of->entities[3], of->entities[1]);
    mica_world_trim(of->world); // so that no table is left over from before
}

static void assert_unchanged(failing_world *of) {
    const mica_entity *e = of->entities;
    ASSERT_CHILDREN(of->world, e[0], e[1], e[2]);
    ASSERT_CHILDREN(of->world, e[1], e[3]);
    for (int32_t i = 4; i < 6; i++) {
        assert_int_equal(mica_child_count(of->world, e[i]), 0);
        assert_false(mica_has(of->world, e[i], mica_child_of));
    }
    assert_valid(of->world);
}

static mica_result link_one(failing_world *of) {
    return mica_set_parent_keep_pose(of->world, of->entities[4], of->entities[5]);
}
static mica_result link_by_set(failing_world *of) {
    return mica_set(of->world, of->entities[4], mica_child_of, {of->entities[5]});
}
static mica_result unlink_one(failing_world *of) {
    return mica_unparent(of->world, of->entities[3]);
}
static mica_result link_several(failing_world *of) {
    const mica_entity *e = of->entities;
    return mica_set_parent_many(of->world, (const mica_entity[]){e[4], e[3], e[0], e[1]},
                                (const mica_entity[]){e[5], e[4], e[3], MICA_NULL}, 4);
}

static void a_link_without_memory_changes_nothing(void **state) {
    (void)state;
    mica_result (*const operations[])(failing_world *) = {link_one, link_by_set, unlink_one, link_several};
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        uint64_t failures = 0;
        for (uint64_t n = 1;; n++) {
            failing_world of;
            make_failing_world(&of);
            test_allocator_fail_at(&of.allocator, n);
            const mica_result result = operations[i](&of);
            const bool failed = test_allocator_fail_stop(&of.allocator);
            if (result != MICA_OK) {
                assert_true(failed);
                assert_int_equal(result, MICA_OUT_OF_MEMORY);
                assert_unchanged(&of);
                assert_int_equal(operations[i](&of), MICA_OK);
                failures++;
            }
            assert_valid(of.world);
            mica_world_destroy(of.world);
            test_allocator_finish(&of.allocator);
            if (!failed) {
                break;
            }
        }
        assert_true(failures > 0);
    }
}

static void the_first_link_of_a_world_is_all_or_nothing(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        test_allocator allocator;
        test_allocator_init(&allocator);
        mica_world *world = mica_world_create(&(mica_world_def){.allocator = test_allocator_hooks(&allocator)});
        const mica_entity parent = mica_create(world);
        const mica_entity child = mica_create(world);
        test_allocator_fail_at(&allocator, n);
        const mica_result result = mica_set_parent(world, child, parent);
        const bool failed = test_allocator_fail_stop(&allocator);
        if (result != MICA_OK) { // a cache that could not grow is no failure
            assert_true(failed);
            assert_int_equal(result, MICA_OUT_OF_MEMORY);
            assert_false(mica_has(world, child, mica_child_of));
            assert_int_equal(mica_child_count(world, parent), 0);
            assert_int_equal(mica_set_parent(world, child, parent), MICA_OK);
        }
        ASSERT_CHILDREN(world, parent, child);
        assert_valid(world);
        mica_world_destroy(world);
        test_allocator_finish(&allocator);
        if (!failed) {
            break;
        }
    }
}

static void destroying_without_memory_leaves_roots_that_name_null(void **state) {
    (void)state;
    failing_world of;
    make_failing_world(&of);
    const mica_entity *e = of.entities;
    mica_error_clear();
    test_allocator_fail_from(&of.allocator, 1);
    assert_int_equal(mica_destroy(of.world, e[1]), MICA_OK); // moves 3 up to 0
    ASSERT_CHILDREN(of.world, e[0], e[3], e[2]);
    assert_int_equal(mica_destroy(of.world, e[0]), MICA_OK);
    assert_true(test_allocator_fail_stop(&of.allocator));
    assert_int_equal(mica_last_result(), MICA_OK);
    assert_valid(of.world);
    bool kept = false;
    for (int32_t i = 2; i < 4; i++) {
        assert_true(mica_alive(of.world, e[i]));
        assert_true(mica_entity_is_null(mica_parent(of.world, e[i])));
        const mica_child_of *link = mica_get(of.world, e[i], mica_child_of);
        assert_true(link == NULL || mica_entity_is_null(link->parent));
        kept = kept || link != NULL;
    }
    assert_true(kept);
    // They can be linked, unlinked, cloned and destroyed like other roots.
    assert_int_equal(mica_set_parent(of.world, e[4], e[3]), MICA_OK);
    assert_valid(of.world);
    const mica_entity clone = mica_clone(of.world, e[3]);
    assert_false(mica_has(of.world, clone, mica_child_of));
    assert_int_equal(mica_set_parent(of.world, e[2], e[5]), MICA_OK);
    assert_valid(of.world);
    assert_int_equal(mica_unparent(of.world, e[3]), MICA_OK);
    assert_false(mica_has(of.world, e[3], mica_child_of));
    assert_valid(of.world);
    assert_int_equal(mica_destroy(of.world, e[3]), MICA_OK);
    assert_valid(of.world);
    mica_world_destroy(of.world);
    test_allocator_finish(&of.allocator);
}

static void destroying_roots_that_name_null_keeps_count_of_them(void **state) {
    (void)state;
    failing_world of;
    make_failing_world(&of);
    test_allocator_fail_from(&of.allocator, 1);
    mica_destroy(of.world, of.entities[1]);
    mica_destroy(of.world, of.entities[0]);
    assert_int_equal(mica_destroy(of.world, of.entities[3]), MICA_OK);
    assert_int_equal(mica_destroy_subtree(of.world, of.entities[2]), MICA_OK);
    assert_true(test_allocator_fail_stop(&of.allocator));
    assert_valid(of.world);
    assert_int_equal(mica_world_entity_count(of.world), 2);
    mica_world_destroy(of.world);
    test_allocator_finish(&of.allocator);
}

// Records that were damaged from outside

static void a_corrupt_hierarchy_is_diagnosed(void **state) {
    (void)state;
    mica_world *world = make_world();
    mica_entity e[5];
    for (int32_t i = 0; i < 5; i++) {
        e[i] = mica_spawn(world, mica_value_of(mica_transform, MICA_TRANSFORM_IDENTITY));
        if (i > 0) {
            mica_set_parent(world, e[i], e[i - 1]);
        }
    }
    const mi_nodes *nodes = &mi_hierarchy_find(world)->nodes;
    mi_node *top = mi_nodes_at(nodes, mica_entity_index(e[1]));
    // A cycle of 1 and 2 that does not contain 3 and 4, which hang below it.
    top->parent = mica_entity_index(e[2]);
    const mica_entity lone = mica_create(world);
    mica_set_parent(world, mica_create(world), lone);
    assert_int_equal(mica_set_parent(world, lone, e[4]), MICA_CYCLE);
    assert_non_null(strstr(mica_last_error(), "corrupt"));
    assert_int_equal(mica_set_parent_many(world, &lone, &e[4], 1), MICA_CYCLE);
    assert_int_equal(mica_world_validate(world), MICA_INVALID);
    float matrix[16];
    assert_int_equal(mica_transform_world_of(world, e[4], matrix), MICA_OK); // ends
    top->parent = mica_entity_index(e[0]);
    assert_valid(world);
    // A list of siblings that leads back to itself.
    top->next = mica_entity_index(e[1]);
    assert_int_equal(mica_transform_resolve(world), MICA_CYCLE);
    assert_int_equal(mica_world_validate(world), MICA_INVALID);
    top->next = 0;
    assert_int_equal(mica_transform_resolve(world), MICA_OK);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_stand_in_the_order_of_linking),
        cmocka_unit_test(what_was_never_linked_has_nobody),
        cmocka_unit_test(roots_with_children_are_no_siblings),
        cmocka_unit_test(a_link_that_is_there_keeps_its_place),
        cmocka_unit_test(another_parent_ends_the_old_link),
        cmocka_unit_test(a_null_parent_makes_a_root),
        cmocka_unit_test(cycles_are_refused_and_change_nothing),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(links_are_read_only_to_everything_but_their_verbs),
        cmocka_unit_test(children_of_the_destroyed_move_up_in_its_place),
        cmocka_unit_test(a_subtree_goes_deepest_first_in_order),
        cmocka_unit_test(a_subtree_without_links_is_its_root),
        cmocka_unit_test(many_are_destroyed_whichever_is_the_parent),
        cmocka_unit_test(a_clone_is_the_last_sibling_of_its_source),
        cmocka_unit_test(clearing_forgets_all_links),
        cmocka_unit_test(slots_used_again_start_without_links),
        cmocka_unit_test(two_worlds_of_one_schema_keep_their_own_links),
        cmocka_unit_test(many_are_linked_in_the_order_of_the_call),
        cmocka_unit_test(many_may_turn_a_chain_over),
        cmocka_unit_test(many_are_refused_as_one),
        cmocka_unit_test(large_trees_are_linked_and_torn_down),
        cmocka_unit_test(destroying_the_parent_of_many_frees_them_all),
        cmocka_unit_test(commands_link_in_the_order_of_recording),
        cmocka_unit_test(random_operations_agree_with_plain_arrays),
        cmocka_unit_test(a_link_without_memory_changes_nothing),
        cmocka_unit_test(the_first_link_of_a_world_is_all_or_nothing),
        cmocka_unit_test(destroying_without_memory_leaves_roots_that_name_null),
        cmocka_unit_test(destroying_roots_that_name_null_keeps_count_of_them),
        cmocka_unit_test(a_corrupt_hierarchy_is_diagnosed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
